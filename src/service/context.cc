#include "service/context.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/secret_rules.h"
#include "context/prompt.h"
#include "json/canonical.h"
#include "json/digest.h"
#include "json/mask.h"
#include "json/parse.h"
#include "service/append.h"
#include "service/compile.h"
#include "service/reads.h"
#include "service/run_gate.h"
#include "session/address.h"
#include "session/bodies.h"
#include "session/path.h"
#include "session/prepare.h"
#include "session/types.h"
#include "store/named_blob.h"

namespace weir {
namespace {

using json::Arena;
using json::Value;

// The log and the blobs, for assembling.
class StoreSource final : public context::Source {
 public:
  StoreSource(Store& store, LogReader& reader, SessionNo session) : store_(store), reader_(reader), session_(session) {}
  Result<Entry> entry(Seq seq) override {
    TRY(auto found, reader_.entry(session_, seq, Columns::all));
    if (!found) return missing_entry(reader_, session_, seq);
    return std::move(*found);
  }
  Result<std::string> blob(const Digest& digest) override { return named_blob(store_, reader_, session_, digest); }

 private:
  Store& store_;
  LogReader& reader_;
  const SessionNo session_;
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
  std::shared_ptr<const compaction::RunState> run;

  std::uint64_t step_id() const { return static_cast<std::uint64_t>(run->step_id); }
  context::Thresholds thresholds() const {
    const compaction::Thresholds& t = run->thresholds;
    return {static_cast<std::uint64_t>(t.event_threshold), static_cast<std::uint64_t>(t.n_step_fallback),
            static_cast<std::uint64_t>(t.plain_bytes_threshold)};
  }
};

Result<At> stand_at(Service& service, LogReader& reader, const Located& located, const context::ContextConfig& config) {
  At at{located, {}, {}, config, {}};
  TRY(at.run, service.run_fold().at(reader, located.session.no, located.seq));
  TRY(at.entry, id_at(reader, located.session.no, located.seq));
  auto nodes = nodes_at(service, reader, located, config.compile);
  if (!nodes.ok() && nodes.error().code() == ErrorCode::CONFIG_INVALID) return under_compile(nodes.error());
  TRY(at.nodes, std::move(nodes));
  TRY_DO(name_pins(*at.nodes.state, at.config.compile));
  return at;
}

struct HowMade {
  bool allow_over_budget = false;
  bool mark_holes = true;
  std::function<ctree::CompileMemo*(const ctree::CompileConfig&)> memo = {};
};
Result<context::Prompt> prompt_at(Service& service, LogReader& reader, const At& at, const ContextQuery& query, const HowMade& how) {
  StoreSource source(service.store(), reader, at.located.session.no);
  return context::make_prompt({.fold = *at.nodes.fold,
                               .state = *at.nodes.state,
                               .config = at.config,
                               .request = query.request,
                               .source = source,
                               .step_id = at.step_id(),
                               .thresholds = at.thresholds(),
                               .capture = at.nodes.state->failed_since_manifest,
                               .allow_over_budget = how.allow_over_budget,
                               .memo = how.memo,
                               .mark_holes = how.mark_holes});
}

// Does a manifest's prompt have lines in the place of holes? Nothing: it was made by rules that are not known here.
std::optional<bool> marks_holes(const Value& manifest) {
  const Value* rules = manifest.find("rules");
  if (rules == nullptr) return false;
  return rules->is_integer() && rules->integer() == context::kRules ? std::optional(true) : std::nullopt;
}

Result<void> read_mark(Service& service, const Value& manifest, context::PrefixMark& mark) {
  const Value* inclusion = manifest.find("inclusion");
  if (inclusion == nullptr) return {};
  Arena arena;
  Value list = *inclusion;
  // A long log is a blob; without it nothing is known of the pins.
  auto resolved = resolve_blobs(list, service.store().blobs(), arena);
  if (!resolved.ok() && resolved.error().code() == ErrorCode::CORRUPT) return std::move(resolved).error();
  if (resolved.ok()) list = *resolved;
  for (const Value& record : list.items()) mark.add(record.text_or("included_reason", ""), record.text_or("item_id", ""));
  return {};
}

// Behind a compaction all but the pins are other messages, and a context of this many entries is not made again to count those.
constexpr std::uint64_t kMostMadeAgain = 10'000;

Result<bool> is_too_far_back(LogReader& reader, const Located& now, const Entry& manifest) {
  TRY(const auto leaf, reader.entry(now.session.no, now.seq, Columns::without_body));
  if (!leaf || leaf->barrier == manifest.barrier) return false;
  std::uint64_t begin = 0;
  if (manifest.barrier != 0) {
    TRY(const auto barrier, reader.entry(now.session.no, manifest.barrier, Columns::without_body));
    if (barrier) begin = barrier->depth;
  }
  return manifest.depth - begin > kMostMadeAgain;
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
  if (!entry) return missing_entry(reader, now.located.session.no, seq);
  json::Parser parser;
  TRY(const Value body, stored_body(parser, *entry));
  const Value* manifest = body.find("manifest");
  // A host's own manifest tells nothing of a prefix.
  if (manifest == nullptr || manifest->text_or("prefix_hash", "").empty()) return std::optional<Before>();
  Before out{{std::string(manifest->text_or("prefix_hash", "")), {}, nullptr}, std::nullopt};
  TRY_DO(read_mark(service, *manifest, out.told.mark));
  // Only its hash says which configuration it had; made again under another one it would be another prompt.
  const auto holes = marks_holes(*manifest);
  Arena arena;
  const std::string hash = now.nodes.fold->hasher().value(json::Domain::config, now.config.compile_config().to_json(arena)).hex();
  if (!holes || manifest->text_or("config_sha256", "") != hash || manifest->text_or("format", "") != context::name(now.config.format))
    return std::optional(std::move(out));
  TRY(const bool too_far, is_too_far_back(reader, now.located, *entry));
  if (too_far) return std::optional(std::move(out));
  // What it needed may be gone since: a purged blob must not stand in the way of the next prompt. What is damaged must.
  const auto then = stand_at(service, reader, {now.located.session, entry->parent}, query.config);
  if (!then.ok() && then.error().code() == ErrorCode::CORRUPT) return then.error();
  if (!then.ok()) return std::optional(std::move(out));
  auto prompt = prompt_at(service, reader, *then, query, {true, *holes});
  if (!prompt.ok() && prompt.error().code() == ErrorCode::CORRUPT) return std::move(prompt).error();
  if (prompt.ok()) out.prompt = std::move(prompt).value();
  return std::optional(std::move(out));
}

// Files of which the model was shown something that this prompt leaves out or cuts: it will not hold that any more, and the read
// cache must not say it does.
Result<std::vector<std::string>> no_longer_held(Service& service, LogReader& reader, const At& at, const context::Prompt& prompt) {
  std::vector<std::string> out;
  TRY(const bool followed, is_followed(service, reader, at.located.session, at.located.seq));
  if (!followed) return out;  // nothing is ever said to be held
  TRY(const auto trust, service.trust_fold().at(reader, at.located.session.no, at.located.seq));
  std::set<Seq> whole;
  for (const context::Item& item : prompt.context.items) {
    if (!item.cut) whole.insert(at.nodes.state->nodes[item.node].seq);
  }
  std::map<EntryId, bool> held;
  Result<void> looked;
  const auto is_held = [&](const EntryId& entry) {
    const auto [it, is_new] = held.emplace(entry, false);
    if (!is_new || !looked.ok()) return it->second;
    const auto found = reader.find(at.located.session.no, entry, Columns::without_body);
    if (!found.ok()) looked = found.error();
    return it->second = found.ok() && *found && whole.contains((*found)->seq);
  };
  trust->paths.each([&](const std::string& path, const PathTrust& known) {
    bool all = true;
    known.view.each([&](LineRange, const auto& showing) { all = all && is_held(showing->entry); });
    if (!all) out.push_back(path);
  });
  TRY_DO(looked);
  return out;
}

struct Made {
  At at;
  context::Prompt prompt;
  std::string text;
  std::vector<std::string> not_held;  // files, by their paths
  std::uint64_t walked = 0;           // entries, to know what the session says of itself
};

Result<Made> make(Service& service, const ContextQuery& query) {
  std::optional<Made> out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located located, locate(reader, query.address));
    TRY(At at, stand_at(service, reader, located, query.config));
    Arena arena;
    std::string config;
    std::unique_ptr<ctree::CompileMemo> memo;
    const auto take_memo = [&](const ctree::CompileConfig& with) {
      config = json::canonical(with.to_json(arena));
      memo = service.compile_memos().take(located.session.no, config);
      return memo.get();
    };
    auto made = prompt_at(service, reader, at, query, {query.allow_over_budget, true, take_memo});
    if (memo != nullptr) service.compile_memos().give_back(located.session.no, config, std::move(memo));
    TRY(context::Prompt prompt, std::move(made));
    TRY(const auto before, prompt_before(service, reader, at, query));
    std::optional<context::PreviousPrompt> previous;
    if (before) {
      previous = before->told;
      if (before->prompt) previous->prompt = &*before->prompt;
    }
    StoreSource source(service.store(), reader, located.session.no);
    const context::PromptInput of{*at.nodes.fold, *at.nodes.state, at.config, query.request, source, at.step_id(), at.thresholds()};
    std::string text =
        json::canonical(context::answer_json({of, prompt, located.session.id.str(), at.entry.str(), std::move(previous)}, arena));
    const std::uint64_t steps = service.info_fold().steps();
    TRY(std::vector<std::string> not_held, no_longer_held(service, reader, at, prompt));
    out.emplace(Made{std::move(at), std::move(prompt), std::move(text), std::move(not_held), service.info_fold().steps() - steps});
    return {};
  }));
  return std::move(*out);
}

Result<EntryId> append_manifest(Service& service, const ContextQuery& query, const Made& made) {
  if (made.at.nodes.fold == service.nodes_fold_of_store()) TRY_DO(save_nodes(service, made.at.located));
  AppendCall call(service, query.address.session, query.address.head, Expect{made.at.entry.str()}, false);
  Arena arena;
  for (const std::string& blob : made.prompt.manifest.blobs) TRY_DO(call.keep(blob));
  TRY_DO(call.add_own(types::kManifestWritten, made.prompt.manifest.body(arena), arena));
  for (const std::string& path : made.not_held) TRY_DO(call.add_own(types::kRefresh, to_json(RefreshBody{path, {}}, arena), arena));
  call.when_placed([&](LogTxn& txn, const SessionRow& session, const AppendResult& placed) -> Result<void> {
    return made.walked < kInfoStride ? Result<void>() : service.info_fold().save(txn, session.no, placed.entries.front().seq);
  });
  TRY(const AppendAnswer answer, call.commit());
  return answer.result.entries.front().id;
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

// A saved state must be the one the entries give.
Result<void> check_saved_nodes(Service& service, LogReader& reader, const SessionRow& session, std::vector<Finding>& out) {
  const ctree::NodesFold& fold = service.nodes_fold().fold();
  TRY(const auto saved, reader.checkpoints(session.no, ctree::NodesFold::kName));
  for (const Seq seq : saved) {
    TRY(const auto row, reader.checkpoint(session.no, ctree::NodesFold::kName, seq));
    if (!row) continue;
    TRY(const auto state, service.nodes_fold().load(reader, session.no, seq));
    if (state == nullptr) continue;  // of other options: nobody uses it
    FoldEngine<AfreshFold<ctree::NodesFold>> afresh{AfreshFold<ctree::NodesFold>{fold}};
    TRY(const auto found, afresh.at(reader, session.no, seq));
    // Parts are named by their bytes: a state with the same names is the same state.
    MapPartSink parts;
    if (fold.save(*found, &parts) == row->state) continue;
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
  const auto holes = marks_holes(manifest);
  if (!holes) return std::string();  // made by rules that are not recomputed here
  for (const bool original : {false, true}) {
    for (const bool mask : {true, false}) {
      config.original_ids = original;
      config.mask = mask;
      TRY(const At place, stand_at(service, reader, at, config));
      auto prompt = prompt_at(service, reader, place, {.address = {}, .config = config}, {true, *holes});
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

// Why the hashes of a manifest are not what the entries give; empty if they are.
Result<std::string> hashes_fault(Service& service, LogReader& reader, const Located& at, const Value& manifest) {
  // A host's own manifest says nothing of the compiler.
  const Value* hashes = manifest.find("hashes");
  if (hashes == nullptr) return std::string();
  TRY(const NodesAt nodes, nodes_at(service, reader, at, compile_defaults(service)));
  const auto wrong = [](std::string_view what, std::string_view stored, const std::string& found) {
    return std::string(what) + " is " + std::string(stored) + ", the entries give " + found;
  };
  const auto config = config_of(service, manifest, *nodes.fold);
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
  return message_fault(service, reader, at, manifest, *config);
}

// Does today's masking find anything in what is stored on the path? If not, earlier rules gave the same hashes.
Result<bool> masking_changes(Service& service, LogReader& reader, const Located& at) {
  json::Parser parser;
  MaskCounts found;
  for (Seq seq = at.seq; seq != 0 && found.empty();) {
    TRY(const auto entry, reader.entry(at.session.no, seq, Columns::all));
    if (!entry) return missing_entry(reader, at.session.no, seq);
    TRY(Value body, stored_body(parser, *entry));
    Arena arena;
    if (auto whole = resolve_blobs(body, service.store().blobs(), arena); whole.ok()) body = *whole;  // a blob may be purged
    (void)json::mask(body, Masker::standard(), arena, found);
    seq = entry->parent;
  }
  return !found.empty();
}

// A manifest that does not hold is damage. One made by other rules of masking, on a path where they differ, is only noted.
Result<void> check_manifest(Service& service, LogReader& reader, const SessionRow& session, const Entry& entry, VerifyReport& report) {
  const auto add = [&](std::vector<Finding>& list, const std::string& what) {
    list.push_back({session.id.str(), entry.id.str(), "", "manifest: " + what});
  };
  json::Parser parser;
  TRY(const Value body, stored_body(parser, entry));
  const Value* manifest = body.find("manifest");
  if (manifest == nullptr || !manifest->is_object()) {
    add(report.findings, "a manifest entry without its manifest");
    return {};
  }
  const std::string id = context::manifest_id(json::canonical(*manifest));
  if (const std::string_view said = body.text_or("manifest_id", ""); id != said) {
    add(report.findings, "manifest_id is " + std::string(said.empty() ? "nothing" : said) + ", the manifest gives " + id);
    return {};
  }
  const Located at{session, entry.parent};
  const auto fault = hashes_fault(service, reader, at, *manifest);
  if (!fault.ok()) return fault.error();
  if (fault->empty()) return {};
  const Value* named = body.find("secret_rules");
  // The body of a manifest has no place for the rules yet. What rules 2 and later store holds nothing they would still mask,
  // unless masking was off, so a manifest that names none, on a path where they find something, is of the first.
  const std::int64_t rules = named != nullptr && named->is_integer() ? named->integer() : 1;
  if (rules != kSecretRules) {
    TRY(const bool differ, masking_changes(service, reader, at));
    if (differ) {
      add(report.notes, "made by rules " + std::to_string(rules) + ", which this version does not recompute");
      return {};
    }
  }
  add(report.findings, *fault);
  return {};
}

}  // namespace

context::ContextConfig context_defaults(const Service& service, const Config& config) {
  context::ContextConfig out;
  out.compile = compile_defaults(service);
  if (const auto format = context::parse_format(config.text("context.format"))) out.format = *format;
  if (const std::int64_t budget = config.integer("context.budget"); budget > 0) out.max_bytes = static_cast<std::uint64_t>(budget);
  return out;
}

Result<ContextAnswer> next_context(Service& service, const ContextQuery& query) {
  const bool dry = query.dry_run || !query.address.at.empty();
  for (int attempt = 1;; ++attempt) {
    TRY(Made made, make(service, query));
    ContextAnswer answer{std::move(made.text), made.prompt.manifest.id, {}};
    if (dry) return answer;
    if (made.at.run->stop) return run_stopped(*made.at.run->stop, types::kManifestWritten, made.at.located.session.id, query.address.head);
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
      TRY(prompts[i], prompt_at(service, reader, at, query, {.allow_over_budget = true}));
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

Result<void> verify_session(Service& service, LogReader& reader, const SessionRow& session, VerifyReport& report) {
  TRY(const Seq last, reader.last_seq(session.no));
  std::vector<Seq> manifests;
  TRY_DO(reader.scan(session.no, 1, last, Order::forward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
    if (entry.type == types::kManifestWritten) manifests.push_back(entry.seq);
    return true;
  }));
  for (const Seq seq : manifests) {
    TRY(const auto entry, reader.entry(session.no, seq, Columns::all));
    const auto checked = check_manifest(service, reader, session, *entry, report);
    if (!checked.ok() && checked.error().code() == ErrorCode::BUSY) return checked.error();  // want of files or memory is no damage
    if (!checked.ok()) report.findings.push_back({session.id.str(), entry->id.str(), "", "manifest: " + checked.error().message()});
  }
  return check_saved_nodes(service, reader, session, report.findings);
}

}  // namespace

Result<void> verify_contexts(Service& service, const std::string& only, VerifyReport& report) {
  if (service.settings().nodes_error) return {};  // without the key nothing can be recomputed
  return service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto sessions, reader.sessions());
    for (const SessionRow& session : sessions) {
      if (only.empty() || session.id.str() == only) TRY_DO(verify_session(service, reader, session, report));
    }
    return {};
  });
}

}  // namespace weir
