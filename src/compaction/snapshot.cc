#include "compaction/snapshot.h"

#include <set>

#include "compaction/carry.h"
#include "json/canonical.h"
#include "json/digest.h"

namespace weir::compaction {
namespace {

using json::Arena;
using json::make_array;
using json::make_object;
using json::ObjectBuilder;
using json::Value;

class Building {
 public:
  Building(const SnapshotInput& input, Arena& arena) : in_(input), state_(input.state), arena_(arena) {}

  Value run() {
    const Accepted* before = state_.last_accepted();
    const Value state = state_json();
    const Value* previous_state = in_.previous == nullptr ? nullptr : in_.previous->find("state");
    ObjectBuilder out(arena_);
    out.add("schema_version", 1)
        .add("sequence", before == nullptr ? 1 : before->sequence + 1)
        .add("previous_snapshot_id", before == nullptr ? Value() : Value(before->snapshot_id))
        .add("provenance_mode", state_.run != nullptr && state_.run->quotes_checked ? "quotes_checked" : "audit_only")
        .add("counts",
             make_object(arena_, {{"steps_since_last_compaction", state_.steps}, {"counted_events_since_last_compaction", state_.counted}}))
        .add("latest_context_manifest_ids", manifests_since(before == nullptr ? 0 : before->last_pos))
        .add("state", state)
        .add("retrieval_diagnostics", diagnostics())
        .add("deltas", deltas(state, previous_state, arena_))
        .add("provenance", provenance(before));
    add_objective(out);
    return out.build();
  }

 private:
  Value text(std::string_view text) const { return text; }
  Value own(const std::string& text) { return arena_.copy(text); }
  Value pointer(Pointer p) { return own(p.str()); }
  Value pointer(const std::optional<Pointer>& p) { return p ? pointer(*p) : Value(); }
  Value optional(const std::optional<std::string>& t) { return t ? Value(*t) : Value(); }
  template <typename List, typename Make>
  Value list(const List& items, Make&& make) {
    std::vector<Value> out;
    out.reserve(items.size());
    for (const auto& item : items) out.push_back(make(item));
    return make_array(arena_, out);
  }
  Value texts(const TextSet& set) {
    std::vector<Value> out;
    set.each([&](const std::string& item, bool) { out.push_back(item); });
    return make_array(arena_, out);
  }

  void add_objective(ObjectBuilder& out) {
    if (const Run* run = state_.run.get()) {
      out.add("objective", run->objective)
          .add("done_definition", raw(run->done_definition))
          .add("policy_snapshot_ref", optional(run->policy_snapshot_ref))
          .add("budgets", raw(run->budgets))
          .add("objective_source", source("declared", run->entry, false));
      return;
    }
    const Request* first = state_.carry.first_request.get();
    out.add("objective", first == nullptr ? Value("") : Value(first->text.opening))
        .add("done_definition", "not declared")
        .add("policy_snapshot_ref", nullptr)
        .add("budgets", make_object(arena_, {}))
        .add("objective_source", source("derived", first == nullptr ? Pointer() : first->entry, first != nullptr && !first->text.whole));
  }
  Value source(std::string_view kind, Pointer entry, bool cut) {
    return make_object(arena_, {{"kind", kind}, {"entry", pointer(entry)}, {"cut", cut}});
  }
  // Canonical text as a value that can be looked into.
  Value raw(const std::string& canonical) {
    auto value = parse_exact(canonical, arena_, json::Parser::kStored, repaired_);
    return value.ok() ? *value : Value();
  }

  Value evidence(const std::vector<std::string>& ids) {
    return list(ids, [&](const std::string& id) { return evidence_pointer(id, *state_.evidence.find(id), arena_); });
  }

  Value state_json() {
    ObjectBuilder out(arena_);
    out.add("claims", list(state_.claims.in_order(), [&](const auto& item) { return claim(*item.first, *item.second); }))
        .add("conflicts", list(state_.conflicts.in_order(), [&](const auto& item) { return conflict(*item.first, *item.second); }))
        .add("failures", list(state_.failures.in_order(), [&](const auto& item) { return failure(*item.first, *item.second); }))
        .add("source_coverage", coverage())
        .add("carry", carry());
    const auto questions = state_.open_questions.in_order();
    out.add("open_questions", list(questions, [&](const auto& item) { return Value(item.second->text); }))
        .add("open_question_refs", list(questions, [&](const auto& item) {
               return make_object(arena_, {{"question_id", *item.first}, {"entry", pointer(item.second->entry)}});
             }));
    add_next_actions(out);
    return out.build();
  }

  Value claim(const std::string& id, const Claim& c) {
    return make_object(arena_, {{"claim_id", id},
                                {"status", status_name(c.status)},
                                {"status_reason", c.status_reason},
                                {"statement", c.statement},
                                {"evidence_refs", evidence(c.refs)},
                                {"withdrawn_refs", evidence(c.withdrawn)},
                                {"first_entry", pointer(c.first_entry)},
                                {"verified_entry", pointer(c.verified_entry)}});
  }
  Value conflict(const std::string& id, const Conflict& c) {
    return make_object(arena_, {{"conflict_id", id},
                                {"description", c.description},
                                {"status", c.resolved ? "resolved" : "open"},
                                {"resolution", optional(c.resolution)},
                                {"side_a_refs", evidence(c.side_a)},
                                {"side_b_refs", evidence(c.side_b)},
                                {"first_entry", pointer(c.first_entry)}});
  }
  Value failure(const std::string& id, const Failure& f) {
    return make_object(arena_, {{"failure_id", id},
                                {"category", f.category},
                                {"where", f.where},
                                {"why", f.why},
                                {"status", status_name(f.status)},
                                {"occurrence_count", f.occurrence_count},
                                {"last_seen_step_id", f.last_seen_step_id},
                                {"first_entry", pointer(f.first_entry)},
                                {"last_entry", pointer(f.last_entry)}});
  }

  void add_next_actions(ObjectBuilder& out) {
    std::vector<Value> actions;
    Value entry;
    if (const NextActions* next = state_.next_actions.get()) {
      actions.assign(next->actions.begin(), next->actions.end());
      entry = pointer(next->entry);
    } else if (const Todos* todos = state_.carry.todos.get()) {
      for (const std::string_view status : {"in_progress", "pending"}) {
        for (const Todo& todo : todos->items) {
          if (todo.status == status && actions.size() < 3) actions.push_back(todo.item);
        }
      }
      if (!actions.empty()) entry = pointer(todos->entry);
    }
    out.add("next_actions", make_array(arena_, actions)).add("next_actions_entry", entry);
  }

  Value coverage() {
    TextSet cited;
    const auto cite = [&](const std::vector<std::string>& ids) {
      for (const std::string& id : ids) cited.set(state_.evidence.find(id)->chunk_id, true);
    };
    for (const auto& [id, claim] : state_.claims.in_order()) cite(claim->refs);
    for (const auto& [id, conflict] : state_.conflicts.in_order()) {
      cite(conflict->side_a);
      cite(conflict->side_b);
    }
    std::vector<Value> cited_ids;
    cited.each([&](const std::string& id, bool) { cited_ids.push_back(own(id)); });
    return make_object(arena_, {{"source_ids_seen", texts(state_.source_ids_seen)},
                                {"chunk_ids_seen", texts(state_.chunk_ids_seen)},
                                {"chunk_ids_cited", make_array(arena_, cited_ids)}});
  }

  Value opening(const Request& r) {
    return make_object(arena_, {{"entry", pointer(r.entry)}, {"bytes", r.text.bytes}, {"opening", whole_prefix(r.text.opening, kOpening)}});
  }
  static Value verbatim(const Text& text) { return text.whole ? Value(text.opening) : Value(); }

  Value carry() {
    const Carry& c = state_.carry;
    ObjectBuilder out(arena_);
    Value latest;
    if (const Request* r = c.latest_request.get()) {
      latest = make_object(
          arena_, {{"entry", pointer(r->entry)}, {"bytes", r->text.bytes}, {"verbatim", verbatim(r->text)}, {"answered", c.answered}});
    }
    out.add("latest_request", latest)
        .add("requests", list(c.requests.in_order(), [&](const auto& item) { return opening(*item.second); }))
        .add("requests_omitted", c.request_count == 0 ? 0 : c.request_count - 1 - c.requests.size())
        .add("last_reply", c.last_reply == nullptr ? Value() : opening(*c.last_reply))
        .add("pinned", pinned())
        .add("files", list(c.files.in_order(), [&](const auto& item) { return file(*item.first, *item.second); }));
    auto commands = c.commands.in_order();
    const std::size_t omitted = commands.size() > kMostListed ? commands.size() - kMostListed : 0;
    commands.erase(commands.begin(), commands.begin() + static_cast<std::ptrdiff_t>(omitted));
    out.add("commands", list(commands, [&](const auto& item) { return command(*item.second); })).add("commands_omitted", omitted);
    Value todos;
    if (c.todos != nullptr) {
      todos = make_object(arena_, {{"entry", pointer(c.todos->entry)}, {"items", list(c.todos->items, [&](const Todo& todo) {
                                                                          return make_object(
                                                                              arena_, {{"item", todo.item}, {"status", todo.status}});
                                                                        })}});
    }
    std::vector<Value> calls;
    for (const auto& [id, call] : c.calls.in_order()) {
      if (call->request != c.request_count) continue;
      calls.push_back(
          make_object(arena_, {{"entry", pointer(call->entry)}, {"tool", call->tool}, {"call_id", whole_prefix(*id, kMostText)}}));
    }
    return out.add("todos", todos).add("pending_calls", make_array(arena_, calls)).build();
  }

  Value pinned() {
    std::vector<Value> out;
    std::set<Pointer> listed;
    const auto add = [&](Pointer entry, Role role, std::string_view reason, std::uint64_t bytes, Value verbatim) {
      if (!listed.insert(entry).second) return;
      out.push_back(make_object(
          arena_, {{"entry", pointer(entry)}, {"role", role_name(role)}, {"reason", reason}, {"bytes", bytes}, {"verbatim", verbatim}}));
    };
    for (const auto& [key, message] : state_.carry.system.in_order())
      add(message->entry, Role::system, "system", message->text.bytes, verbatim(message->text));
    for (const Pin& pin : in_.pins) add(pin.entry, pin.role, "pin", pin.bytes, optional(pin.verbatim));
    return make_array(arena_, out);
  }

  Value file(const std::string& path, const File& f) {
    return make_object(arena_, {{"path", path},
                                {"reads", f.reads},
                                {"changes", f.changes},
                                {"last_read", pointer(f.last_read)},
                                {"last_change", pointer(f.last_change)},
                                {"sha256", f.sha256.empty() ? Value() : Value(f.sha256)}});
  }
  Value command(const Command& c) {
    return make_object(arena_, {{"tool", c.tool},
                                {"command", c.command},
                                {"bytes", c.bytes},
                                {"runs", c.runs},
                                {"errors", c.errors},
                                {"last_entry", pointer(c.last_entry)}});
  }

  // In order, once each.
  Value manifests_since(std::uint64_t pos) {
    std::vector<Value> out;
    std::set<std::string_view> listed;
    for (std::size_t i = manifests_from(pos); i < state_.manifests.size(); ++i) {
      if (listed.insert(state_.manifests[i].id).second) out.push_back(own(state_.manifests[i].id));
    }
    return make_array(arena_, out);
  }
  // The first behind a position: they are in order.
  std::size_t manifests_from(std::uint64_t pos) const {
    std::size_t low = 0, high = state_.manifests.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      state_.manifests[middle].pos <= pos ? low = middle + 1 : high = middle;
    }
    return low;
  }

  Value diagnostics() {
    const Retrieval& r = state_.retrieval;
    return make_object(arena_, {{"queries", r.queries},
                                {"zero_result_queries", r.zero_result_queries},
                                {"candidates", r.candidates},
                                {"selected", r.selected},
                                {"excluded", r.excluded},
                                {"filters", texts(r.filters)},
                                {"manifest_ids", manifests_since(0)}});
  }

  Value provenance(const Accepted* before) {
    const Place& last = *state_.cut;
    return make_object(arena_, {{"first_pos", before == nullptr ? 1 : before->last_pos + 1},
                                {"last_pos", last.pos},
                                {"first_entry", pointer(first_place(state_).pointer)},
                                {"last_entry", pointer(last.pointer)},
                                {"log_digest", own(in_.cut.hex())},
                                {"ledger_digest", own(ledger_digest(state_).hex())},
                                {"trigger", trigger_name(in_.trigger)},
                                {"thresholds", thresholds_json(state_.thresholds, arena_)},
                                {"compactor_version", kCompactorVersion}});
  }

  const SnapshotInput& in_;
  const RunState& state_;
  Arena& arena_;
  bool repaired_ = false;
};

// The object without some members.
template <typename Keep>
Value filtered(const Value& object, Arena& arena, Keep&& keep) {
  ObjectBuilder out(arena);
  for (const json::Member& member : object.members()) {
    if (keep(member.key)) out.add(member.key, member.value);
  }
  return out.build();
}

Value with_provenance(const Value& snapshot, const Value& provenance, Arena& arena) {
  ObjectBuilder out(arena);
  out.add("provenance", provenance);
  for (const json::Member& member : snapshot.members()) out.add(member.key, member.value);
  return out.build();
}

std::string derive(std::string_view prefix, json::Domain domain, const Value& value) {
  return std::string(prefix) + json::digest(domain, value).hex().substr(0, 32);
}

}  // namespace

Value build(const SnapshotInput& input, Arena& arena) { return Building(input, arena).run(); }

const Place& first_place(const RunState& state) {
  const Accepted* before = state.last_accepted();
  return before == nullptr ? *state.first : before->first_after;
}

Digest ledger_digest(const RunState& state) {
  Arena arena;
  const auto nullable = [](const std::optional<std::string>& text) { return text ? Value(*text) : Value(); };
  const auto array = [&](const auto& ids) { return make_array(arena, std::vector<Value>(ids.begin(), ids.end())); };
  std::vector<Value> claims, evidence, withdrawn;
  for (const auto& [id, claim] : state.claims.in_order()) {
    claims.push_back(make_object(arena, {{"claim_id", *id},
                                         {"status", status_name(claim->status)},
                                         {"statement", claim->statement},
                                         {"evidence_ids", array(claim->refs)}}));
  }
  for (const auto& [id, e] : state.evidence.in_order()) {
    evidence.push_back(make_object(arena, {{"evidence_id", *id},
                                           {"index_id", nullable(e->index_id)},
                                           {"corpus_id", nullable(e->corpus_id)},
                                           {"source_id", e->source_id},
                                           {"chunk_id", e->chunk_id},
                                           {"span", span_json(e->span, arena)},
                                           {"quote_sha256", e->quote_sha256},
                                           {"quote_bytes", e->quote_bytes}}));
  }
  for (const auto& [id, gone] : state.withdrawn.in_order()) withdrawn.push_back(*id);
  return json::digest(json::Domain::ledger, make_object(arena, {{"claims", make_array(arena, claims)},
                                                                {"evidence", make_array(arena, evidence)},
                                                                {"withdrawn", make_array(arena, withdrawn)}}));
}

Value hashed_form(const Value& snapshot, Arena& arena) {
  const Value kept = filtered(snapshot, arena, [](std::string_view key) {
    return key != "snapshot_id" && key != "validation" && key != "run_id" && key != "created_at";
  });
  const Value* provenance = kept.find("provenance");
  if (provenance == nullptr || provenance->find("located") == nullptr) return kept;
  return with_provenance(kept, filtered(*provenance, arena, [](std::string_view key) { return key != "located"; }), arena);
}

std::string snapshot_id(const Value& hashed) { return derive("snap1_", json::Domain::snapshot_id, hashed); }

Value stored_form(const Value& hashed, std::string_view id, const Value& validation, Arena& arena) {
  ObjectBuilder out(arena);
  out.add("snapshot_id", arena.copy(id)).add("validation", validation);
  for (const json::Member& member : hashed.members()) out.add(member.key, member.value);
  return out.build();
}

// What the snapshot itself says comes first: a foreign one may be shown already, and is held to what it says.
Value shown_form(const Value& stored, const ShownOnly& shown, Arena& arena) {
  ObjectBuilder provenance(arena), out(arena);
  if (const Value* there = stored.find("provenance")) {
    for (const json::Member& member : there->members()) provenance.add(member.key, member.value);
  }
  provenance.add("located", make_object(arena, {{"first_seq", shown.first.seq},
                                                {"first_id", arena.copy(shown.first.id)},
                                                {"last_seq", shown.last.seq},
                                                {"last_id", arena.copy(shown.last.id)}}));
  const Value* there = stored.find("provenance");
  if (there != nullptr && there->is_object()) out.add("provenance", provenance.build());
  for (const json::Member& member : stored.members()) out.add(member.key, member.value);
  return out.add("run_id", arena.copy(shown.run_id)).add("created_at", arena.copy(shown.created_at)).build();
}

Value span_json(const Span& span, Arena& arena) {
  return make_object(arena, {{"unit", arena.copy(span.unit)}, {"start", span.start}, {"end", span.end}});
}

Value evidence_pointer(std::string_view evidence_id, const Evidence& evidence, Arena& arena) {
  return make_object(arena, {{"evidence_id", evidence_id}, {"chunk_id", evidence.chunk_id}, {"span", span_json(evidence.span, arena)}});
}

std::string derive_evidence_id(const Evidence& evidence) {
  const auto& ns = evidence.index_id ? evidence.index_id : evidence.corpus_id;
  if (!ns) return {};
  Arena arena;
  const Value space = make_object(arena, {{"id", *ns}, {"kind", evidence.index_id ? "index" : "corpus"}});
  return derive("ev1_", json::Domain::evidence_id,
                make_object(arena, {{"chunk_id", evidence.chunk_id}, {"ns", space}, {"span", span_json(evidence.span, arena)}}));
}

std::string derive_manifest_id(const Value& manifest) { return derive("man1_", json::Domain::manifest_id, manifest); }

std::string derive_failure_id(std::string_view category, std::string_view where, const std::optional<std::string>& error_code,
                              const std::optional<std::string>& tool_name) {
  Arena arena;
  const auto nullable = [](const std::optional<std::string>& text) { return text ? Value(*text) : Value(); };
  return derive(
      "fail1_", json::Domain::failure_id,
      make_object(arena,
                  {{"category", category}, {"where", where}, {"error_code", nullable(error_code)}, {"tool_name", nullable(tool_name)}}));
}

}  // namespace weir::compaction
