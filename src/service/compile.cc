#include "service/compile.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/limits.h"
#include "base/secrets.h"
#include "ctree/payload.h"
#include "ctree/preview.h"
#include "ctree/tree_view.h"
#include "json/canonical.h"
#include "service/render.h"
#include "session/address.h"
#include "session/bodies.h"
#include "session/path.h"

namespace weir {
namespace {

using ctree::CompileConfig;
using ctree::NodesFold;
using ctree::Ordinal;
using json::Arena;
using json::Value;

// The beginning of what nodes say, read from the log.
class LogPreviews {
 public:
  LogPreviews(LogReader& reader, SessionNo session, const NodesAt& nodes, std::size_t most)
      : reader_(reader), session_(session), nodes_(nodes), most_(most) {}

  std::optional<ctree::Preview> operator()(Ordinal node) {
    auto preview = read(node);
    if (preview.ok()) return std::move(preview).value();
    if (!error_) error_ = preview.error();
    return std::nullopt;
  }
  Result<void> result() const { return error_ ? Result<void>(*error_) : Result<void>(); }

 private:
  Result<std::optional<ctree::Preview>> read(Ordinal node) {
    const ctree::Overlay* over = nodes_.state->overlay(node);
    const Seq seq = over != nullptr ? over->by : nodes_.state->nodes[node].seq;
    TRY(const auto entry, reader_.entry(session_, seq, Columns::all));
    if (!entry) return missing_entry(reader_, session_, seq);
    TRY(const Value body, stored_body(parser_, *entry));
    const Value* content = ctree::stored_content(*entry, body);
    if (content == nullptr) return std::optional<ctree::Preview>();
    return ctree::make_preview(*content, most_, nodes_.fold->sanitiser());
  }

  LogReader& reader_;
  const SessionNo session_;
  const NodesAt& nodes_;
  const std::size_t most_;
  json::Parser parser_;
  std::optional<Error> error_;
};

Result<Entry> entry_of(LogReader& reader, const Compilation& at, Ordinal node) {
  const Seq seq = at.state->nodes[node].seq;
  TRY(auto entry, reader.entry(at.located.session.no, seq, Columns::all));
  if (!entry) return missing_entry(reader, at.located.session.no, seq);
  return std::move(*entry);
}

// The sanitised payload of a node, in the arena.
Result<Value> payload_of(LogReader& reader, const Compilation& at, Ordinal node, Arena& arena) {
  TRY(const Entry entry, entry_of(reader, at, node));
  bool repaired = false;
  TRY(const Value body, json::parse_exact(arena.copy(entry.body), arena, json::Parser::kStored, repaired));
  const auto draft = ctree::draft_again(*at.fold, *at.state, node, entry, body, arena);
  if (!draft) return Error(ErrorCode::CORRUPT, "the entry of node '" + at.state->id(node) + "' makes no node");
  return draft->payload;
}

Value turn_json(std::int64_t turn) { return turn == ctree::kNoTurn ? Value() : Value(turn); }

}  // namespace

Result<Ordinal> need_node(const NodesFold::State& state, std::string_view name) {
  if (const auto node = state.find(name)) return *node;
  if (const auto node = state.of_entry(name)) return *node;
  const std::string shown = masked_excerpt(name, 80);
  return Error(ErrorCode::NODE_UNKNOWN, "no node '" + shown + "' is on the path").with("node", shown);
}

Result<void> name_pins(const NodesFold::State& state, CompileConfig& config) {
  for (std::string& id : config.selection.pin_ids) {
    TRY(const Ordinal node, need_node(state, id));
    id = state.id(node);
  }
  return {};
}

CompileConfig compile_defaults(const Service& service) {
  const NodesFold::Options& options = service.settings().nodes;
  CompileConfig out;
  out.sanitise = options.sanitise;
  out.hash_key_id = options.key_id;
  return out;
}

Result<NodesAt> nodes_at(Service& service, LogReader& reader, const Located& located, const CompileConfig& config) {
  if (service.settings().nodes_error) return *service.settings().nodes_error;
  const NodesFold::Options& ours = service.settings().nodes;
  NodesFold::Options wanted{.sanitise = config.sanitise, .key_id = config.hash_key_id};
  if (!wanted.key_id.empty()) {
    if (wanted.key_id != ours.key_id) {
      const std::string why = "no key of that name is configured (compile.hash_key_id, compile.hash_key_file)";
      return Error(ErrorCode::CONFIG_INVALID, "/hash/key_id: " + why).with_fields({{"/hash/key_id", why}});
    }
    wanted.key = ours.key;
  }
  if (wanted == ours) {
    TRY(auto state, service.nodes_fold().at(reader, located.session.no, located.seq));
    return NodesAt{service.nodes_fold_of_store(), std::move(state)};
  }
  FoldEngine<NodesFold> anew{NodesFold(wanted)};
  TRY(auto state, anew.at(reader, located.session.no, located.seq));
  return NodesAt{std::make_shared<const NodesFold>(wanted), std::move(state)};
}

Result<void> save_nodes(Service& service, const Located& located) {
  constexpr Seq kLeast = 1024;
  constexpr std::size_t kBytesAnEntry = 512;  // that saving may cost
  if (service.settings().nodes_error || located.seq == 0) return {};
  const SessionNo session = located.session.no;
  std::shared_ptr<const NodesFold::State> state;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto all, reader.checkpoints(session, NodesFold::kName));
    const Seq saved = all.empty() ? 0 : all.back();
    if (located.seq < saved + kLeast) return {};
    TRY(state, service.nodes_fold().at(reader, session, located.seq));
    if (located.seq - saved < NodesFold::root_bytes(*state) / kBytesAnEntry) state = nullptr;
    return {};
  }));
  if (state == nullptr) return {};
  return service.write([&](LogTxn& txn) { return service.nodes_fold().save(txn, session, located.seq, *state); });
}

Result<Compilation> compile_in(Service& service, LogReader& reader, const Located& located, const CompileQuery& query) {
  TRY(NodesAt nodes, nodes_at(service, reader, located, query.config));
  CompileConfig config = query.config;
  TRY_DO(name_pins(*nodes.state, config));
  Arena arena;
  const std::string config_text = json::canonical(config.to_json(arena));
  auto memo = service.compile_memos().take(located.session.no, config_text);
  LogPreviews previews(reader, located.session.no, nodes, config.preview_chars);
  const bool prompted = query.prompt_summary && !query.prompt_summary->is_null();
  auto compiled = ctree::compile(*nodes.fold, *nodes.state,
                                 {.config = config,
                                  .prompt_summary = prompted ? query.prompt_summary : std::nullopt,
                                  .full = query.full,
                                  .previews = previews,
                                  .memo = memo.get()});
  service.compile_memos().give_back(located.session.no, config_text, std::move(memo));
  TRY_DO(compiled);
  TRY_DO(previews.result());
  TRY(EntryId entry, id_at(reader, located.session.no, located.seq));
  return Compilation{located, std::move(entry), std::move(nodes.fold), std::move(nodes.state), std::move(compiled).value()};
}

Result<Compilation> compile_at(Service& service, const CompileQuery& query) {
  std::optional<Compilation> out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located located, locate(reader, query.address));
    TRY(out, compile_in(service, reader, located, query));
    return {};
  }));
  return std::move(*out);
}

Result<std::vector<std::string>> entry_ids(Service& service, const Compilation& at) {
  std::vector<std::string> out;
  std::vector<Seq> seqs;
  at.state->nodes.each(0, at.state->size(), [&](std::size_t, const ctree::Node& node) { seqs.push_back(node.seq); });
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    return walk(reader, at.located.session.no, seqs, Columns::without_body, [&](Entry& entry) -> Result<bool> {
      out.push_back(entry.id.str());
      return true;
    });
  }));
  return out;
}

Result<ctree::ExplainTotals> explain_at(Service& service, const Compilation& at, const std::vector<std::string>& nodes,
                                        ExplainVisit visit) {
  constexpr std::size_t kAtOnce = 1024;
  ctree::ExplainTotals totals;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    std::vector<Ordinal> named;
    for (const std::string& name : nodes) {
      TRY(const Ordinal node, need_node(*at.state, name));
      named.push_back(node);
    }
    const std::size_t count = nodes.empty() ? at.state->size() : named.size();
    ctree::Explaining explaining(*at.state, at.compiled.selection);
    for (std::size_t from = 0; from < count; from += kAtOnce) {
      std::vector<ctree::Explained> rows;
      std::map<Seq, std::string> ids;
      for (std::size_t i = from; i < std::min(count, from + kAtOnce); ++i) {
        rows.push_back(explaining.row(nodes.empty() ? static_cast<Ordinal>(i) : named[i]));
        ids[rows.back().seq];
      }
      std::vector<Seq> seqs;
      for (const auto& [seq, id] : ids) seqs.push_back(seq);
      TRY_DO(walk(reader, at.located.session.no, seqs, Columns::without_body, [&](Entry& entry) -> Result<bool> {
        ids[entry.seq] = entry.id.str();
        return true;
      }));
      for (const ctree::Explained& row : rows) {
        totals.add(row);
        TRY_DO(visit(row, ids[row.seq]));
      }
    }
    return {};
  }));
  return totals;
}

Result<void> explain_text(Service& service, const Compilation& at, const std::vector<std::string>& nodes,
                          FunctionRef<Result<void>(std::string_view)> out) {
  Arena arena;
  // Nothing is said before the nodes that were asked for are known to be there.
  std::string before = "{\"entry\":" + json::canonical(text_or_null(at.entry.str())) + ",\"nodes\":[";
  TRY(const ctree::ExplainTotals totals,
      explain_at(service, at, nodes, [&](const ctree::Explained& row, std::string_view entry) -> Result<void> {
        Arena own;
        return out(std::exchange(before, ",") + json::canonical(row.to_json(entry, own)));
      }));
  return out((before == "," ? "" : before) + "],\"profile\":" + json::canonical(Value(ctree::kProfile)) + ",\"session\":" +
             json::canonical(at.located.session.id.str()) + ",\"totals\":" + json::canonical(totals.to_json(arena)) + "}");
}

Value stage_json(const Compilation& at, ctree::Stage stage, Arena& arena) {
  const std::string_view name = ctree::kStageNames[static_cast<int>(stage)];
  const Value output = at.compiled.to_json(arena);
  json::ObjectBuilder out(arena);
  for (const json::Member& member : output.members()) {
    if (member.key != "stages") out.add(member.key, member.value);
  }
  return out.add("stages", json::make_object(arena, {{name, *output.find("stages")->find(name)}})).build();
}

Result<Value> node_json(Service& service, const Compilation& at, Ordinal node, PayloadForm form, Arena& arena) {
  const ctree::NodeHashes& hashes = at.state->hashes[node];
  json::ObjectBuilder out(arena);
  out.add("bytes", at.state->nodes[node].bytes)
      .add("digest", arena.copy(hashes.digest.hex()))
      .add("id", arena.copy(at.state->id(node)))
      .add("kind", at.state->words.text(at.state->nodes[node].kind))
      .add("payload_hash", arena.copy(hashes.payload.hex()))
      .add("payload_shape", Value::raw(at.state->words.text(hashes.shape)))
      .add("turn", turn_json(at.state->nodes[node].turn));
  if (form == PayloadForm::hash) return out.build();
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Value payload, payload_of(reader, at, node, arena));
    out.add("payload", payload);
    return {};
  }));
  return out.build();
}

Result<Value> node_event(Service& service, const Compilation& at, Ordinal node, PayloadForm form, Arena& arena) {
  TRY(const Value shown, node_json(service, at, node, form, arena));
  const Value snapshot = json::make_object(arena, {{"event_count", node + 1},
                                                   {"last_id", arena.copy(at.state->id(node))},
                                                   {"node_count", node + 1},
                                                   {"node_hash", arena.copy(at.fold->node_hash(*at.state, node + 1).hex())},
                                                   {"schema_version", at.fold->schema_version()}});
  return json::make_object(arena, {{"node", shown}, {"snapshot", snapshot}});
}

Value snapshot_event(const Compilation& at, Arena& arena) {
  return json::make_object(arena, {{"snapshot", at.compiled.snapshot_json(arena)},
                                   {"compiler", at.compiled.to_json(arena)},
                                   {"collapse", Value::raw(at.compiled.collapse_text)},
                                   {"runner", Value()},
                                   {"hash_summary", Value::raw(at.compiled.summary_text)},
                                   {"context_engine", Value()}});
}

Result<Value> ctrees_json(Service& service, const Compilation& at, Arena& arena) {
  json::ObjectBuilder out(arena);
  const Value event = snapshot_event(at, arena);
  for (const json::Member& member : event.members()) out.add(member.key, member.value);
  Value last;
  if (at.state->size() > 0) {
    TRY(last, node_json(service, at, static_cast<Ordinal>(at.state->size() - 1), PayloadForm::sanitised, arena));
  }
  return out.add("profile", ctree::kProfile)
      .add("schema_version", at.compiled.schema_version)
      .add("session", at.located.session.id.str())
      .add("entry", text_or_null(at.entry.str()))
      .add("last_node", last)
      .add("truncated", false)
      .build();
}

Result<Value> ctrees_tree(Service& service, const Compilation& at, std::string_view stage, std::string_view show, Arena& arena) {
  json::FieldErrors errors;
  const auto wanted = ctree::parse_stage(stage);
  if (!wanted) errors.add("/stage", "must be RAW, SPEC, HEADER or FROZEN, is '" + masked_excerpt(stage, 40) + "'");
  if (show != "selected" && show != "all") errors.add("/show", "must be selected or all, is '" + masked_excerpt(show, 40) + "'");
  TRY_DO(errors.result());
  TRY(const std::vector<std::string> ids, entry_ids(service, at));
  Value out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    const NodesAt nodes{at.fold, at.state};
    LogPreviews previews(reader, at.located.session.no, nodes, at.compiled.config.preview_chars);
    const auto payload = [&](Ordinal node) { return payload_of(reader, at, node, arena); };
    const auto entry_id = [&](Ordinal node) -> Result<std::string> { return ids[node]; };
    TRY(out, ctree::tree_view(*at.fold, *at.state, at.compiled,
                              {.stage = *wanted, .show_all = show == "all", .previews = previews, .payload = payload, .entry_id = entry_id},
                              arena));
    return previews.result();
  }));
  return out;
}

Result<Value> ctrees_events(Service& service, const Compilation& at, std::uint64_t offset, std::uint64_t limit, Arena& arena) {
  constexpr std::uint64_t kMost = 1000;
  if (limit > kMost) {
    const std::string why = "must be at most 1000, is " + std::to_string(limit);
    return Error(ErrorCode::INVALID_FIELD, "/limit: " + why).with_fields({{"/limit", why}});
  }
  const std::uint64_t all = at.state->size(), from = std::min(offset, all), to = std::min(all, from + limit);
  std::vector<Value> events;
  std::size_t bytes = 0;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    for (std::uint64_t i = from; i < to && bytes < limits::kPageBytes; ++i) {
      const auto node = static_cast<Ordinal>(i);
      TRY(const Value sanitised, payload_of(reader, at, node, arena));
      const Value payload = Value::raw(arena.copy(json::canonical(sanitised)));
      bytes += payload.text().size();
      events.push_back(json::make_object(arena, {{"kind", at.state->words.text(at.state->nodes[node].kind)},
                                                 {"node_id", arena.copy(at.state->id(node))},
                                                 {"payload", payload},
                                                 {"turn", turn_json(at.state->nodes[node].turn)}}));
    }
    return {};
  }));
  const Value header = json::make_object(arena, {{"profile", ctree::kProfile}, {"schema_version", at.fold->schema_version()}});
  return json::make_object(arena, {{"source", "log"},
                                   {"offset", offset},
                                   {"limit", limit},
                                   {"has_more", from + events.size() < all},
                                   {"truncated", from + events.size() < to},
                                   {"header", header},
                                   {"events", json::make_array(arena, events)}});
}

}  // namespace weir
