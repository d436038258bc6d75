#include "service/context.h"

#include <algorithm>

#include "context/prompt.h"
#include "json/canonical.h"
#include "json/digest.h"
#include "json/parse.h"
#include "service/append.h"
#include "service/compile.h"
#include "session/address.h"
#include "session/bodies.h"
#include "session/prepare.h"
#include "session/types.h"

namespace weir {
namespace {

using json::Arena;
using json::Value;

// The log and the blobs, for assembling.
class StoreSource final : public context::Source {
 public:
  StoreSource(LogReader& reader, SessionNo session, Blobs& blobs) : reader_(reader), session_(session), blobs_(blobs) {}
  Result<Entry> entry(Seq seq) override {
    TRY(auto found, reader_.entry(session_, seq, Columns::all));
    if (!found)
      return Error(ErrorCode::CORRUPT, "the entry at seq " + std::to_string(seq) + " is missing")
          .with("seq", static_cast<std::int64_t>(seq));
    return std::move(*found);
  }
  Result<std::string> blob(const Digest& digest) override { return blobs_.get(digest); }

 private:
  LogReader& reader_;
  const SessionNo session_;
  Blobs& blobs_;
};

// The compiler's settings are a member of ours.
Error under_compile(const Error& error) {
  std::vector<FieldError> fields = error.fields();
  for (FieldError& field : fields) field.path = "/compile" + field.path;
  return Error(error.code(), "/compile" + error.message()).with_fields(std::move(fields));
}

struct At {
  Located located;
  EntryId entry;
  NodesAt nodes;
  context::ContextConfig config;
};

Result<At> stand_at(Service& service, LogReader& reader, const Located& located, const context::ContextConfig& config) {
  At at{located, {}, {}, config};
  TRY(at.entry, id_at(reader, located.session.no, located.seq));
  auto nodes = nodes_at(service, reader, located, config.compile);
  if (!nodes.ok() && nodes.error().code() == ErrorCode::CONFIG_INVALID) return under_compile(nodes.error());
  TRY(at.nodes, std::move(nodes));
  TRY_DO(name_pins(*at.nodes.state, at.config.compile));
  return at;
}

Result<context::Prompt> prompt_at(Service& service, LogReader& reader, const At& at, const ContextQuery& query, bool allow_over_budget,
                                  ctree::CompileMemo* memo = nullptr) {
  StoreSource source(reader, at.located.session.no, service.store().blobs());
  return context::make_prompt({.fold = *at.nodes.fold,
                               .state = *at.nodes.state,
                               .config = at.config,
                               .request = query.request,
                               .source = source,
                               .thresholds = query.thresholds,
                               .capture = at.nodes.state->failed_since_manifest,
                               .allow_over_budget = allow_over_budget,
                               .memo = memo});
}

void read_mark(Service& service, const Value& manifest, context::PrefixMark& mark) {
  const Value* inclusion = manifest.find("inclusion");
  if (inclusion == nullptr) return;
  Arena arena;
  Value list = *inclusion;
  // A long log is a blob; without it nothing is known of the pins.
  if (auto resolved = resolve_blobs(list, service.store().blobs(), arena); resolved.ok()) list = *resolved;
  for (const Value& record : list.items()) mark.add(record.text_or("included_reason", ""), record.text_or("item_id", ""));
}

// The prompt of the last manifest on the path, made again: what of it stays the same is what a provider's cache can reuse.
struct Before {
  context::PreviousPrompt told;
  std::optional<context::Prompt> prompt;
};
Result<std::optional<Before>> prompt_before(Service& service, LogReader& reader, const At& now, const ContextQuery& query) {
  const Seq seq = now.nodes.state->manifest;
  if (seq == 0) return std::optional<Before>();
  TRY(const auto entry, reader.entry(now.located.session.no, seq, Columns::all));
  if (!entry) return Error(ErrorCode::CORRUPT, "the entry at seq " + std::to_string(seq) + " is missing");
  json::Parser parser;
  TRY(const Value body, stored_body(parser, *entry));
  const Value* manifest = body.find("manifest");
  // A host's own manifest tells nothing of a prefix.
  if (manifest == nullptr || manifest->text_or("prefix_hash", "").empty()) return std::optional<Before>();
  Before out{{std::string(manifest->text_or("prefix_hash", "")), {}, nullptr}, std::nullopt};
  read_mark(service, *manifest, out.told.mark);
  // Only its hash says which configuration it had; made again under another one it would be another prompt.
  Arena arena;
  const std::string config = now.nodes.fold->hasher().value(json::Domain::config, now.config.compile_config().to_json(arena)).hex();
  if (manifest->text_or("config_sha256", "") != config || manifest->text_or("format", "") != context::name(now.config.format))
    return std::optional(std::move(out));
  // What it needed may be gone since: a purged blob must not stand in the way of the next prompt.
  const auto then = stand_at(service, reader, {now.located.session, entry->parent}, query.config);
  if (!then.ok()) return std::optional(std::move(out));
  if (auto prompt = prompt_at(service, reader, *then, query, true); prompt.ok()) out.prompt = std::move(prompt).value();
  return std::optional(std::move(out));
}

struct Made {
  At at;
  context::Prompt prompt;
  std::string text;
};

Result<Made> make(Service& service, const ContextQuery& query) {
  std::optional<Made> out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located located, locate(reader, query.address));
    TRY(At at, stand_at(service, reader, located, query.config));
    Arena arena;
    const std::string config = json::canonical(at.config.compile_config().to_json(arena));
    auto memo = service.compile_memos().take(located.session.no, config);
    auto made = prompt_at(service, reader, at, query, query.allow_over_budget, memo.get());
    service.compile_memos().give_back(located.session.no, config, std::move(memo));
    TRY(context::Prompt prompt, std::move(made));
    TRY(const auto before, prompt_before(service, reader, at, query));
    std::optional<context::PreviousPrompt> previous;
    if (before) {
      previous = before->told;
      if (before->prompt) previous->prompt = &*before->prompt;
    }
    StoreSource source(reader, located.session.no, service.store().blobs());
    const context::PromptInput of{*at.nodes.fold, *at.nodes.state, at.config, query.request, source, 0, query.thresholds};
    std::string text =
        json::canonical(context::answer_json({of, prompt, located.session.id.str(), at.entry.str(), std::move(previous)}, arena));
    out.emplace(Made{std::move(at), std::move(prompt), std::move(text)});
    return {};
  }));
  return std::move(*out);
}

// Another process starts from here instead of from the root. A large state is kept once, and not for every few entries.
Result<void> save_nodes(Service& service, const At& at) {
  constexpr Seq kLeast = 4096;
  if (at.nodes.fold != service.nodes_fold_of_store()) return {};
  Seq saved = 0;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto all, reader.checkpoints(at.located.session.no, ctree::NodesFold::kName));
    if (!all.empty()) saved = all.back();
    return {};
  }));
  if (at.located.seq < saved || at.located.seq - saved < std::max(kLeast, at.located.seq / 8)) return {};
  return service.write([&](LogTxn& txn) { return service.nodes_fold().save_only(txn, at.located.session.no, at.located.seq); });
}

Result<EntryId> append_manifest(Service& service, const ContextQuery& query, const Made& made) {
  TRY_DO(save_nodes(service, made.at));
  AppendCall call(service, query.address.session, query.address.head, Expect{made.at.entry.str()}, false);
  Arena arena;
  for (const std::string& blob : made.prompt.manifest.blobs) TRY_DO(call.keep(blob));
  TRY_DO(call.add_own(types::kManifestWritten, made.prompt.manifest.body(arena), arena));
  TRY(const AppendAnswer answer, call.commit());
  return answer.result.entries.back().id;
}

// The configuration a manifest was made with, if it is the store's own with that budget: the manifest keeps only its hash.
std::optional<context::ContextConfig> config_of(const Service& service, const Value& manifest, const ctree::NodesFold& fold) {
  context::ContextConfig config;
  config.compile = compile_defaults(service);
  if (const auto format = context::parse_format(manifest.text_or("format", ""))) config.format = *format;
  const Value* budget = manifest.find("token_budget");
  const auto limit = [&](std::string_view key, ctree::Limit& out) {
    const Value* given = budget == nullptr ? nullptr : budget->find(key);
    if (given != nullptr && given->is_integer() && given->integer() >= 0) out = static_cast<std::uint64_t>(given->integer());
  };
  limit("max_bytes", config.max_bytes);
  limit("max_tokens", config.max_tokens);
  Arena arena;
  const std::string hash = fold.hasher().value(json::Domain::config, config.compile_config().to_json(arena)).hex();
  if (hash != manifest.text_or("config_sha256", "")) return std::nullopt;
  return config;
}

// The fold without what it saved: every node from its entry.
struct AfreshFold {
  using State = ctree::NodesFold::State;
  ctree::NodesFold inner;
  static State initial() { return {}; }
  Result<void> step(State& state, const Entry& entry) const { return inner.step(state, entry); }
  static std::size_t bytes(const State& state) { return ctree::NodesFold::bytes(state); }
};

// A saved state must be the one the entries give.
Result<void> check_saved_nodes(Service& service, LogReader& reader, const SessionRow& session, std::vector<Finding>& out) {
  const ctree::NodesFold& fold = service.nodes_fold().fold();
  TRY(const auto saved, reader.checkpoints(session.no, ctree::NodesFold::kName));
  for (const Seq seq : saved) {
    TRY(const auto row, reader.checkpoint(session.no, ctree::NodesFold::kName, seq));
    if (!row) continue;
    const auto state = fold.load(row->state);
    if (!state.ok()) continue;  // of other options: nobody uses it
    FoldEngine<AfreshFold> afresh{AfreshFold{fold}};
    TRY(const auto found, afresh.at(reader, session.no, seq));
    if (fold.node_hash(*found) == fold.node_hash(*state) && found->size() == state->size()) continue;
    TRY(const EntryId entry, id_at(reader, session.no, seq));
    out.push_back({session.id.str(), entry.str(), "", "saved nodes: node_hash is not the one the entries give"});
  }
  return {};
}

// The hashes of messages. What they were made with besides is not in the manifest: ids and masking are tried, and with tools
// nothing can be told.
Result<std::string> message_fault(Service& service, LogReader& reader, const Located& at, const Value& manifest,
                                  context::ContextConfig config) {
  std::string found;
  for (const bool original : {false, true}) {
    for (const bool mask : {true, false}) {
      config.original_ids = original;
      config.mask = mask;
      TRY(const At place, stand_at(service, reader, at, config));
      auto prompt = prompt_at(service, reader, place, {.address = {}, .config = config}, true);
      if (!prompt.ok() && prompt.error().code() == ErrorCode::NOT_FOUND) return std::string();  // a blob was purged
      TRY_DO(prompt);
      if (manifest.text_or("prefix_hash", "") != prompt->hashes.prefix.hex()) continue;
      found = prompt->hashes.context.hex();
      if (manifest.text_or("context_sha256", "") == found) return std::string();
    }
  }
  if (found.empty()) return std::string();
  return "context_sha256 is " + std::string(manifest.text_or("context_sha256", "nothing")) + ", the entries give " + found;
}

// What is wrong with a manifest; empty if nothing is.
Result<std::string> manifest_fault(Service& service, LogReader& reader, const SessionRow& session, const Entry& entry) {
  json::Parser parser;
  TRY(const Value body, stored_body(parser, entry));
  const Value* manifest = body.find("manifest");
  if (manifest == nullptr || !manifest->is_object()) return std::string("a manifest entry without its manifest");
  const std::string id = context::manifest_id(json::canonical(*manifest));
  if (id != body.text_or("manifest_id", ""))
    return "manifest_id is " + std::string(body.text_or("manifest_id", "nothing")) + ", the manifest gives " + id;
  // A host's own manifest says nothing of the compiler.
  const Value* hashes = manifest->find("hashes");
  if (hashes == nullptr) return std::string();
  const Located at{session, entry.parent};
  TRY(const NodesAt nodes, nodes_at(service, reader, at, compile_defaults(service)));
  const auto wrong = [](std::string_view what, std::string_view stored, const std::string& found) {
    return std::string(what) + " is " + std::string(stored) + ", the entries give " + found;
  };
  const auto config = config_of(service, *manifest, *nodes.fold);
  if (!config) return std::string();
  TRY(const ctree::Compiled compiled,
      ctree::compile(*nodes.fold, *nodes.state,
                     {.config = config->compile_config(), .previews = [](ctree::Ordinal) { return std::nullopt; }}));
  Arena arena;
  const Value found = compiled.hashes_json(arena);
  for (const json::Member& member : found.members()) {
    if (hashes->text_or(member.key, "") != member.value.text())
      return wrong(member.key, hashes->text_or(member.key, "nothing"), std::string(member.value.text()));
  }
  return message_fault(service, reader, at, *manifest, *config);
}

}  // namespace

context::ContextConfig context_defaults(const Service& service, const Config& config) {
  context::ContextConfig out;
  out.compile = compile_defaults(service);
  if (const auto format = context::parse_format(config.text("context.format"))) out.format = *format;
  if (const std::int64_t budget = config.integer("context.budget"); budget > 0) out.max_bytes = static_cast<std::uint64_t>(budget);
  return out;
}

context::Thresholds thresholds_of(const Config& config) {
  const auto number = [&](std::string_view key) { return static_cast<std::uint64_t>(std::max<std::int64_t>(config.integer(key), 0)); };
  return {number("compaction.event_threshold"), number("compaction.n_step_fallback"), number("compaction.plain_bytes_threshold")};
}

Result<ContextAnswer> next_context(Service& service, const ContextQuery& query) {
  const bool dry = query.dry_run || !query.address.at.empty();
  for (int attempt = 1;; ++attempt) {
    TRY(Made made, make(service, query));
    ContextAnswer answer{std::move(made.text), made.prompt.manifest.id, {}};
    if (dry) return answer;
    if (made.at.nodes.state->stopped)
      return Error(ErrorCode::RUN_STOPPED, "the run has ended; --dry-run shows the context without recording it");
    auto entry = append_manifest(service, query, made);
    if (entry.ok()) {
      answer.entry = std::move(entry).value();
      return answer;
    }
    // Somebody appended meanwhile: what was compiled is not what the head holds now.
    if (entry.error().code() != ErrorCode::CONFLICT || attempt == 2) return std::move(entry).error();
  }
}

Result<ContextDiff> diff_contexts(Service& service, const Address& a, const Address& b, const context::ContextConfig& config) {
  std::optional<context::Prompt> prompts[2];
  for (int i = 0; i < 2; ++i) {
    const ContextQuery query{.address = i == 0 ? a : b, .config = config};
    TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
      TRY(const Located located, locate(reader, query.address));
      TRY(const At at, stand_at(service, reader, located, config));
      TRY(prompts[i], prompt_at(service, reader, at, query, true));
      return {};
    }));
  }
  Arena arena;
  const auto& in_a = prompts[0]->context.messages;
  const auto& in_b = prompts[1]->context.messages;
  std::size_t same = 0;
  while (same < in_a.size() && same < in_b.size() && in_a[same].neutral == in_b[same].neutral) ++same;
  const auto side = [&](const std::vector<context::Message>& list) {
    if (same >= list.size()) return Value::object({});
    const std::string text = json::canonical(list[same].neutral);
    return json::make_object(arena, {{"role", role_name(list[same].role)},
                                     {"hash", arena.copy(json::digest_text(json::Domain::value, text).hex())},
                                     {"len", text.size()}});
  };
  const bool equal = same == in_a.size() && same == in_b.size();
  const Value first = equal ? Value() : json::make_object(arena, {{"message", same}, {"a", side(in_a)}, {"b", side(in_b)}});
  const Value hashes =
      json::make_object(arena, {{"a", arena.copy(prompts[0]->hashes.context.hex())}, {"b", arena.copy(prompts[1]->hashes.context.hex())}});
  return ContextDiff{equal,
                     json::canonical(json::make_object(arena, {{"equal", equal},
                                                               {"common_messages", same},
                                                               {"context_sha256", hashes},
                                                               {"prefix_equal", prompts[0]->hashes.prefix == prompts[1]->hashes.prefix},
                                                               {"first_difference", first}}))};
}

namespace {

Result<void> verify_session(Service& service, LogReader& reader, const SessionRow& session, std::vector<Finding>& out) {
  TRY(const Seq last, reader.last_seq(session.no));
  std::vector<Seq> manifests;
  TRY_DO(reader.scan(session.no, 1, last, Order::forward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
    if (entry.type == types::kManifestWritten) manifests.push_back(entry.seq);
    return true;
  }));
  for (const Seq seq : manifests) {
    TRY(const auto entry, reader.entry(session.no, seq, Columns::all));
    auto fault = manifest_fault(service, reader, session, *entry);
    const std::string what = fault.ok() ? *fault : fault.error().message();
    if (!what.empty()) out.push_back({session.id.str(), entry->id.str(), "", "manifest: " + what});
  }
  return check_saved_nodes(service, reader, session, out);
}

}  // namespace

Result<void> verify_contexts(Service& service, const std::string& only, VerifyReport& report) {
  if (service.settings().nodes_error) return {};  // without the key nothing can be recomputed
  return service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto sessions, reader.sessions());
    for (const SessionRow& session : sessions) {
      if (only.empty() || session.id.str() == only) TRY_DO(verify_session(service, reader, session, report.findings));
    }
    return {};
  });
}

}  // namespace weir
