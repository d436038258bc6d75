#include "testing/context_case.h"

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/results.h"

namespace weir::testing {
namespace {

context::ContextConfig config_of(std::string_view text) {
  json::Parser parser;
  return must(context::ContextConfig::parse(must(parser.parse(text))));
}

context::Request request_of(std::string_view text) {
  json::Parser parser;
  return must(context::Request::parse(must(parser.parse(text)), Masker::standard()));
}

}  // namespace

std::string ContextCase::blob_name(std::string text, std::string_view more) {
  const Digest digest = sha256(text);
  std::string out = R"({"$blob":"sha256:)" + digest.hex() + R"(","bytes":)" + std::to_string(text.size()) + std::string(more) + "}";
  blobs[digest] = std::move(text);
  return out;
}

Result<context::Prompt> ContextCase::prompt(std::string_view config, std::string_view request, bool allow_over_budget) {
  const context::ContextConfig parsed = config_of(config);
  const context::Request asked = request_of(request);
  return context::make_prompt({path.fold, path.state, parsed, asked, *this, 0, {}, false, allow_over_budget});
}

std::string ContextCase::answer(std::string_view config, const context::Prompt* previous) {
  const context::ContextConfig parsed = config_of(config);
  const context::Request asked;
  const context::PromptInput input{path.fold, path.state, parsed, asked, *this};
  const context::Prompt now = must(make_prompt(input));
  json::Arena arena;
  const std::string hash = previous == nullptr ? "" : previous->hashes.prefix.hex();
  context::AnswerInput answer{input, now, "demo", path.entries.back().id.str(), std::nullopt};
  if (previous != nullptr) answer.previous.emplace(context::PreviousPrompt{hash, {}, previous});
  return json::canonical(answer_json(answer, arena));
}

Result<Entry> ContextCase::entry(Seq seq) {
  ++entries_read;
  if (seq == 0 || seq > path.entries.size()) return Error(ErrorCode::NOT_FOUND, "no entry " + std::to_string(seq));
  return path.entries[seq - 1];
}

Result<std::string> ContextCase::blob(const Digest& digest) {
  ++blobs_read;
  const auto found = blobs.find(digest);
  if (found == blobs.end()) return Error(ErrorCode::NOT_FOUND, "no blob " + digest.hex());
  return found->second;
}

ContextCase worked_context() {
  ContextCase out(worked_example());
  out.add("compaction", R"({"summary":"Asked for a listing. a.txt and b.txt exist."})");
  out.message(R"({"role":"user","content":"Delete b.txt"})");
  return out;
}

std::string rendered_text(context::Prompt& prompt) { return json::canonical(prompt.rendered.to_json(prompt.arena)); }

std::string neutral_text(const context::Prompt& prompt) {
  std::string out;
  for (const context::Message& message : prompt.context.messages) {
    json::write_canonical(message.neutral, out);
    out += '\n';
  }
  return out;
}

}  // namespace weir::testing
