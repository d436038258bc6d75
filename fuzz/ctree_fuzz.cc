// Any JSON as entries and as configurations: the compiler and the context answer or refuse, and never differ from themselves:
// folded step by step or loaded in the middle, compiled with a memo or without.
#include <string>

#include "context/prompt.h"
#include "ctree/compile.h"
#include "ctree/payload.h"
#include "entries.h"
#include "fuzz.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace weir {
namespace {

using ctree::NodesFold;
using json::Value;

class Entries final : public context::Source {
 public:
  explicit Entries(const std::vector<Entry>& entries) : entries_(entries) {}
  Result<Entry> entry(Seq seq) override { return entries_[seq - 1]; }
  Result<std::string> blob(const Digest&) override { return Error(ErrorCode::NOT_FOUND, "no blobs here"); }

 private:
  const std::vector<Entry>& entries_;
};

std::string output(const NodesFold& fold, const NodesFold::State& state, const ctree::CompileConfig& config, ctree::CompileMemo* memo) {
  const auto compiled =
      ctree::compile(fold, state, {.config = config, .previews = [](ctree::Ordinal) { return std::nullopt; }, .memo = memo});
  json::Arena arena;
  return compiled.ok() ? json::canonical(compiled->to_json(arena)) : compiled.error().message();
}

void check(const Value& input) {
  const Value* list = input.find("entries");
  const std::vector<Entry> entries = fuzz::entries_of(list == nullptr ? Value::array({}) : *list);
  const Value* given = input.find("config");
  const auto parsed = ctree::CompileConfig::parse(given == nullptr ? Value::object({}) : *given);
  const ctree::CompileConfig config = parsed.ok() ? *parsed : ctree::CompileConfig();
  const NodesFold fold({.sanitise = config.sanitise});
  NodesFold::State state;
  ctree::CompileMemo memo;
  json::Parser parser;
  for (const Entry& entry : entries) {
    if (!fold.step(state, entry).ok()) return;
    output(fold, state, config, &memo);
  }
  fuzz::expect_equal("a memo changes the answer", output(fold, state, config, nullptr), output(fold, state, config, &memo));
  const auto loaded = fold.load(fold.save(state));
  fuzz::expect_equal("a saved state is another one", output(fold, state, config, nullptr), output(fold, *loaded, config, nullptr));
  for (ctree::Ordinal i = 0; i < state.size(); ++i) {
    const Entry& entry = entries[state.nodes[i].seq - 1];
    const auto draft = ctree::draft_again(fold, state, i, entry, parser.parse_stored(entry.body).value(), parser.arena());
    fuzz::expect_equal("a payload made again", fold.hasher().value(json::Domain::value, draft->payload).hex(),
                       state.hashes[i].payload.hex());
  }
  const Value* wanted = input.find("context");
  const auto context_config = context::ContextConfig::parse(wanted == nullptr ? Value::object({}) : *wanted);
  if (!context_config.ok()) return;
  Entries source(entries);
  const Value* asked = input.find("request");
  const auto parsed_request = context::Request::parse(asked == nullptr ? Value::object({}) : *asked, Masker::standard());
  const context::Request request = parsed_request.ok() ? *parsed_request : context::Request();
  (void)context::make_prompt(
      {.fold = fold, .state = state, .config = *context_config, .request = request, .source = source, .allow_over_budget = true});
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::json::Parser parser;
  const auto input = parser.parse(weir::fuzz::text_of(data, size));
  if (input.ok()) weir::check(*input);
  return 0;
}
