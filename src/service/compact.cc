#include "service/compact.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "compaction/carry.h"
#include "compaction/narrative.h"
#include "compaction/snapshot.h"
#include "compaction/trigger.h"
#include "json/canonical.h"
#include "service/append.h"
#include "service/compile.h"
#include "service/replay.h"
#include "service/snapshots.h"
#include "session/address.h"
#include "session/types.h"

namespace weir {

using compaction::Action;
using compaction::RunState;
using compaction::Trigger;
using json::Arena;
using json::Value;

namespace {

constexpr int kMostStarts = 5;  // when other writers move the head meanwhile

// One candidate and what became of it.
struct Attempt {
  std::string id;
  std::int64_t sequence = 0;
  std::shared_ptr<const RunState> state;
  compaction::Verdict verdict;
  Arena arena;
  GatheredFacts facts;
  Value hashed;   // points into state and facts
  Value written;  // the same with its large members written out: once, and not again for every form of it

  void write_out() {
    json::ObjectBuilder out(arena);
    for (const json::Member& member : hashed.members()) {
      const bool changes = member.key == "provenance";  // shown, it says where the snapshot stands
      out.add(member.key, changes ? member.value : Value::raw(arena.copy(json::canonical(member.value))));
    }
    written = out.build();
    id = compaction::snapshot_id(written);
  }
  Value stored_value(Action action) { return compaction::stored_form(written, id, verdict.to_json(action, arena), arena); }
  std::string stored(Action action) { return json::canonical(stored_value(action)); }
};

// Builds from the state and validates what it built: the bytes are parsed again, so what is checked is what is kept.
Result<std::unique_ptr<Attempt>> attempt_on(Service& service, LogReader& reader, const SessionRow& session,
                                            std::shared_ptr<const RunState> built_from, Replay replayed, Trigger trigger, Blobs& blobs) {
  auto out = std::make_unique<Attempt>();
  out->state = std::move(built_from);
  const RunState& state = *out->state;
  const Digest cut_digest = replayed.cut.digest;
  // One that cannot be read fails its checks, like any other fault.
  TRY(out->facts, gather_facts(reader, session, std::move(replayed), blobs));
  const compaction::LogFacts& facts = out->facts.facts;
  out->hashed = compaction::build({state, cut_digest, facts.pins, facts.previous, trigger}, out->arena);
  out->write_out();
  out->sequence = out->hashed.find("sequence")->integer();
  const compaction::ShownOnly shown{session.id.str(), format_time(service.now()), compaction::first_place(state), *state.cut};
  compaction::Candidate candidate(json::canonical(compaction::shown_form(out->stored_value(Action::none), shown, out->arena)));
  TRY(out->verdict, compaction::validate(candidate, facts));
  return out;
}

Result<std::unique_ptr<Attempt>> attempt_at(Service& service, LogReader& reader, const SessionRow& session, Seq cut, Trigger trigger,
                                            ReplayFrom from) {
  TRY(Replay replayed, replay(reader, session.no, cut, from));
  std::shared_ptr<const RunState> state = replayed.state;
  if (from != ReplayFrom::root) {
    TRY(state, service.run_fold().at(reader, session.no, cut));
  } else if (state == nullptr) {
    return std::move(*replayed.damage);
  }
  TRY(auto out, attempt_on(service, reader, session, std::move(state), std::move(replayed), trigger, service.store().blobs()));
  for (const compaction::Check* check : out->verdict.failed()) service.counters().add(Metric::check_failures, check->name);
  return out;
}

// The members of a compaction or SNAPSHOT_ATTACHED body that hold a snapshot.
struct SnapshotMembers {
  Value snapshot;
  compaction::BoundNarrative narrative;
  std::string stored_text;
};
Result<std::unique_ptr<SnapshotMembers>> members_of(Attempt& attempt, Action action, std::optional<std::uint64_t> max_bytes,
                                                    FunctionRef<Result<void>(std::string_view)> keep, Arena& arena) {
  auto out = std::make_unique<SnapshotMembers>();
  out->stored_text = attempt.stored(action);
  const Value stored = compaction::stored_form(attempt.hashed, attempt.id, Value(), attempt.arena);
  out->narrative = compaction::narrative_or_shortest(stored, max_bytes.value_or(compaction::kNarrativeBytes));
  TRY(out->snapshot, snapshot_member(out->stored_text, attempt.id, attempt.sequence, attempt.state->cut->pos, keep, arena));
  return out;
}

class Compacting {
 public:
  Compacting(Service& service, const CompactRequest& request) : service_(service), request_(request) {}

  Result<CompactAnswer> run() {
    for (int start = 1;; ++start) {
      auto answer = from_the_start();
      if (answer.ok() || answer.error().code() != ErrorCode::CONFLICT || own_conflict_ || start == kMostStarts) return answer;
    }
  }

 private:
  // One moment of the log: everything up to the first append.
  Result<CompactAnswer> from_the_start() {
    std::optional<CompactAnswer> done;
    std::unique_ptr<Attempt> first;
    int number = 1;
    TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
      TRY_DO(freeze(reader));
      TRY(done, nothing_to_do(reader));
      if (done) return {};
      number = head_state_->failed && head_state_->failed->cut == head_state_->cut->pointer.str()
                   ? static_cast<int>(std::clamp<std::int64_t>(head_state_->failed->attempt, 1, 2)) + 1
                   : 1;
      if (number > 2)
        return Error(ErrorCode::GATE_FAILED, "compaction at " + head_state_->cut->pointer.str() + " failed twice already")
            .with("help", "mend what its checks name, then compact again");
      TRY(first,
          attempt_at(service_, reader, session_, head_state_->cut->seq, trigger_, number == 1 ? ReplayFrom::checkpoint : ReplayFrom::root));
      return {};
    }));
    if (done) return std::move(*done);
    if (request_.dry_run) return dry_answer(*first, number);
    if (first->verdict.pass()) return accept(*first, number);
    if (number == 2) return stop(*first, "");
    TRY_DO(reject(*first, 1, Action::retry, false, ""));
    std::unique_ptr<Attempt> second;
    TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
      TRY(second, attempt_at(service_, reader, session_, head_state_->cut->seq, trigger_, ReplayFrom::root));
      return {};
    }));
    return second->verdict.pass() ? accept(*second, 2) : stop(*second, first->id);
  }

  Result<void> freeze(LogReader& reader) {
    TRY(session_, need_session(reader, request_.session));
    TRY(const Seq head, need_head(reader, session_, request_.head));
    head_ = head;
    if (request_.expect) {
      auto as_expected = check_expect(reader, session_, request_.head, *request_.expect);
      own_conflict_ = !as_expected.ok();
      TRY_DO(as_expected);
    }
    TRY(head_id_, id_at(reader, session_.no, head));
    TRY(head_state_, service_.run_fold().at(reader, session_.no, head));
    first_kept_.clear();
    if (request_.first_kept && head != 0) {
      TRY(const Entry kept, find_entry(reader, session_, *request_.first_kept, request_.people ? Naming::people : Naming::exact));
      first_kept_ = kept.id.str();
    }
    return {};
  }

  Result<std::optional<CompactAnswer>> nothing_to_do(LogReader& reader) {
    const RunState& state = *head_state_;
    if (state.stop) return run_stopped(*state.stop, "compaction", session_.id, request_.head);
    if (state.run == nullptr && !state.has_request())
      return Error(ErrorCode::NOTHING_TO_COMPACT, "no RUN_STARTED and no user message on the path");
    const auto due = compaction::due(state);
    const bool host = request_.first_kept || request_.tokens_before;
    trigger_ = host ? Trigger::host_barrier : due.value_or(request_.reason == "egress" ? Trigger::egress : Trigger::manual);
    if (request_.if_due && !due) {
      CompactAnswer answer = plain_answer();
      answer.due = false;
      answer.attempts = 0;
      return std::optional(std::move(answer));
    }
    if (!state.dirty && state.last_accepted() != nullptr) {
      TRY(CompactAnswer answer, already(reader, *state.last_accepted()));
      return std::optional(std::move(answer));
    }
    if (state.open_step && !host) {
      return Error(ErrorCode::NOT_AT_BOUNDARY, fmt::format("step {} is open since {}: compact after OBSERVE_DONE or STEP_ABORTED",
                                                           state.open_step->step_id, state.open_step->entry.str()))
          .with("step_id", state.open_step->step_id)
          .with("entry", state.open_step->entry.str());
    }
    return std::optional<CompactAnswer>();
  }

  CompactAnswer plain_answer() const {
    CompactAnswer answer;
    answer.run = head_state_->run != nullptr;
    return answer;
  }

  Result<CompactAnswer> already(LogReader& reader, const compaction::Accepted& accepted) {
    CompactAnswer answer = plain_answer();
    answer.already = true;
    answer.snapshot_id = accepted.snapshot_id;
    answer.sequence = accepted.sequence;
    answer.entry = accepted.holder.id;
    TRY(const auto entry, reader.entry(session_.no, accepted.holder.seq, Columns::all));
    json::Parser parser;
    TRY(const Value body, stored_body(parser, *entry));
    TRY(const Value whole,
        resolve_blobs(
            json::make_object(parser.arena(), {{"narrative", body.find("narrative") == nullptr ? Value() : *body.find("narrative")}}),
            service_.store().blobs(), parser.arena()));
    answer.narrative = whole.text_or("narrative", "");
    return answer;
  }

  CompactAnswer answer_of(Attempt& attempt, int number, Action action) {
    CompactAnswer answer = plain_answer();
    answer.pass = attempt.verdict.pass();
    answer.action = action;
    answer.attempts = number;
    answer.snapshot_id = attempt.id;
    answer.sequence = attempt.sequence;
    for (const compaction::Check* check : attempt.verdict.failed()) answer.failed.push_back(*check);
    const std::string stored = attempt.stored(action);
    answer.advice = compaction::advice(attempt.hashed, *attempt.state, stored.size());
    return answer;
  }

  Result<CompactAnswer> dry_answer(Attempt& attempt, int number) {
    CompactAnswer answer = answer_of(attempt, number, Action::none);
    if (!answer.pass) {
      answer.diagnostic = gate_failed(attempt.verdict.failed()).message();
      return answer;
    }
    Arena arena;
    TRY(const auto members, members_of(attempt, Action::none, request_.max_bytes, [](std::string_view) { return Result<void>(); }, arena));
    answer.narrative = members->narrative.text;
    return answer;
  }

  Result<CompactAnswer> accept(Attempt& attempt, int number) {
    const Action action = number == 1 ? Action::none : Action::retry;
    CompactAnswer answer = answer_of(attempt, number, action);
    // The next prompt begins at this entry, and whoever makes it should not have to fold what came before.
    TRY_DO(save_nodes(service_, {session_, head_}));
    Arena arena;
    AppendCall append(service_, session_.id, request_.head, Expect{head_id_.str()}, false, {.trusted = true, .save = true});
    TRY(const auto members,
        members_of(attempt, action, request_.max_bytes, [&](std::string_view bytes) { return append.keep(bytes); }, arena));
    json::ObjectBuilder body(arena);
    body.add("narrative", members->narrative.text)
        .add("narrative_max_bytes", members->narrative.max_bytes)
        .add("snapshot", members->snapshot);
    if (!first_kept_.empty()) body.add("first_kept", first_kept_);
    if (request_.tokens_before) body.add("tokens_before", *request_.tokens_before);
    TRY_DO(append.add_own(types::kCompaction, body.build(), arena));
    TRY(const AppendAnswer appended, append.commit());
    answer.entry = appended.result.entries.front().id.str();
    answer.narrative = members->narrative.text;
    if (request_.max_bytes && *request_.max_bytes != 0 && members->narrative.max_bytes > *request_.max_bytes) {
      answer.advice.push_back(fmt::format("the narrative needs {} bytes: the bound of {} was raised to that", members->narrative.max_bytes,
                                          *request_.max_bytes));
    }
    return answer;
  }

  // Records a failed attempt; the second one also stops the run, in the same append.
  Result<void> reject(Attempt& attempt, int number, Action action, bool stop, const std::string& diagnostic) {
    Arena arena;
    AppendCall append(service_, session_.id, request_.head, Expect{head_id_.str()}, false, {.lenient = true});
    const std::string rejected = attempt.stored(action);
    TRY_DO(append.keep(rejected));
    std::vector<Value> failed;
    for (const compaction::Check* check : attempt.verdict.failed())
      failed.push_back(json::make_object(arena, {{"message", check->message}, {"name", check->name}}));
    const Value body = json::make_object(arena, {{"actor", "COMPACTOR"},
                                                 {"attempt", number},
                                                 {"cut", arena.copy(attempt.state->cut->pointer.str())},
                                                 {"failed", json::make_array(arena, failed)},
                                                 {"rejected", arena.copy("sha256:" + sha256(rejected).hex())},
                                                 {"sequence", attempt.sequence},
                                                 {"trigger", trigger_name(trigger_)}});
    TRY_DO(append.add_own(types::kCompactionFailed, body, arena));
    if (stop) {
      const Value stopped = json::make_object(
          arena, {{"actor", "COMPACTOR"}, {"diagnostic", diagnostic}, {"limit_type", "N/A"}, {"stop_reason", "SYSTEM_ERROR"}});
      TRY_DO(append.add_own(types::kRunStopped, stopped, arena));
    }
    TRY(const AppendAnswer appended, append.commit());
    head_id_ = appended.result.head;
    return {};
  }

  Result<CompactAnswer> stop(Attempt& attempt, const std::string& first_id) {
    TRY(const std::string before, first_id.empty() ? rejected_id() : Result<std::string>(first_id));
    std::string diagnostic = fmt::format("compaction sequence {} failed validation twice ({})", attempt.sequence,
                                         before == attempt.id ? "same candidate both times" : "candidates differ");
    char mark = ':';
    for (const compaction::Check* check : attempt.verdict.failed()) {
      diagnostic += fmt::format("{} {}: {}", mark, check->name, check->message);
      mark = ';';
    }
    // A string of a run event has its limit, too.
    diagnostic = std::string(compaction::whole_prefix(diagnostic, compaction::kMostText));
    TRY_DO(reject(attempt, 2, Action::system_error, true, diagnostic));
    return gate_failed(attempt.verdict.failed(), diagnostic).with("help", resume_help(session_.id, request_.head));
  }

  // Of the candidate that the first attempt left in the log, before a crash.
  Result<std::string> rejected_id() {
    std::string id;
    TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
      TRY(const Entry entry, find_entry(reader, session_, head_id_.str(), Naming::exact, Columns::all));
      json::Parser parser;
      TRY(const Value body, stored_body(parser, entry));
      const auto digest =
          Digest::parse(std::string(body.text_or("rejected", "")).substr(std::min<std::size_t>(7, body.text_or("rejected", "").size())));
      if (!digest.ok()) return {};
      const auto bytes = service_.store().blobs().get(*digest);
      if (!bytes.ok()) return {};
      json::Parser candidate;
      const auto snapshot = candidate.parse_stored(*bytes);
      if (snapshot.ok()) id = snapshot->text_or("snapshot_id", "");
      return {};
    }));
    return id;
  }

  Service& service_;
  const CompactRequest& request_;
  SessionRow session_;
  Seq head_ = 0;
  EntryId head_id_;
  std::shared_ptr<const RunState> head_state_;
  std::string first_kept_;
  Trigger trigger_ = Trigger::manual;
  bool own_conflict_ = false;  // the head is not where the caller expects it
};

}  // namespace

Result<CompactAnswer> compact(Service& service, const CompactRequest& request) {
  auto answer = Compacting(service, request).run();
  if (request.dry_run) return answer;
  Counters& counters = service.counters();
  if (!answer.ok()) {
    counters.add(Metric::compactions, answer.error().code() == ErrorCode::GATE_FAILED ? "failed" : "refused");
  } else {
    counters.add(Metric::compactions, !answer->due ? "not_due" : answer->already ? "already" : "passed");
  }
  return answer;
}

Value CompactAnswer::to_json(Arena& arena) const {
  std::vector<Value> wrong, notes(advice.begin(), advice.end());
  for (const compaction::Check& check : failed)
    wrong.push_back(json::make_object(arena, {{"name", check.name}, {"message", check.message}}));
  json::ObjectBuilder out(arena);
  out.add("status", pass ? "PASS" : "FAIL")
      .add("action", action_name(action))
      .add("already", already)
      .add("attempts", attempts)
      .add("failed", json::make_array(arena, wrong))
      .add("run", run)
      .add("diagnostic", diagnostic ? Value(*diagnostic) : Value())
      .add("advice", json::make_array(arena, notes));
  if (!due) out.add("due", false);
  if (!snapshot_id.empty()) out.add("snapshot_id", snapshot_id).add("sequence", sequence);
  if (!entry.empty()) out.add("entry", entry);
  if (!narrative.empty()) out.add("narrative", narrative);
  return out.build();
}

Result<compaction::Verdict> verdict_on(Service& service, LogReader& reader, const SessionRow& session,
                                       std::shared_ptr<const RunState> state, Entry cut, Blobs& blobs) {
  Replay held{std::move(cut), state->cut->pos, {}, state};
  TRY(const auto attempt, attempt_on(service, reader, session, std::move(state), std::move(held), Trigger::host_barrier, blobs));
  return attempt->verdict;
}

Result<CompactAnswer> attach_snapshot(Service& service, const AttachRequest& request) {
  SessionRow session;
  EntryId head_id;
  std::shared_ptr<const RunState> state;
  std::unique_ptr<Attempt> attempt;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(session, need_session(reader, request.session));
    TRY(const Seq head, need_head(reader, session, request.head));
    TRY(head_id, id_at(reader, session.no, head));
    TRY(state, service.run_fold().at(reader, session.no, head));
    if (state->stop) return run_stopped(*state->stop, types::kSnapshotAttached, session.id, request.head);
    const auto& bare = state->bare_barrier;
    if (!request.entry.empty()) {
      TRY(const Entry named, find_entry(reader, session, request.entry, request.people ? Naming::people : Naming::exact));
      if (!bare || named.seq != bare->seq)
        return Error(ErrorCode::ILLEGAL_TRANSITION,
                     "'" + named.id.str() + "' is not the nearest compaction without a snapshot; 'weir due' names that one");
    }
    if (!bare) return Error(ErrorCode::NOT_FOUND, "no compaction on the path is without a snapshot");
    TRY(const auto barrier, reader.entry(session.no, bare->seq, Columns::without_body));
    TRY(const auto before, service.run_fold().at(reader, session.no, barrier->parent));
    if (before->run == nullptr && !before->has_request())
      return Error(ErrorCode::NOTHING_TO_COMPACT, "no RUN_STARTED and no user message on the path");
    TRY(attempt, attempt_at(service, reader, session, before->cut->seq, Trigger::host_barrier, ReplayFrom::root));
    return {};
  }));
  if (!attempt->verdict.pass()) return gate_failed(attempt->verdict.failed());
  Arena arena;
  AppendCall append(service, session.id, request.head, Expect{head_id.str()}, request.dry_run, {.trusted = true, .save = true});
  TRY(const auto members,
      members_of(*attempt, Action::none, request.max_bytes, [&](std::string_view bytes) { return append.keep(bytes); }, arena));
  TRY_DO(append.add_own(types::kSnapshotAttached,
                        json::make_object(arena, {{"narrative", members->narrative.text},
                                                  {"narrative_max_bytes", members->narrative.max_bytes},
                                                  {"snapshot", members->snapshot},
                                                  {"target", arena.copy(state->bare_barrier->pointer.str())}}),
                        arena));
  TRY(const AppendAnswer appended, append.commit());
  CompactAnswer answer;
  answer.run = state->run != nullptr;
  answer.snapshot_id = attempt->id;
  answer.sequence = attempt->sequence;
  if (!request.dry_run) answer.entry = appended.result.entries.front().id.str();
  answer.narrative = members->narrative.text;
  answer.advice = compaction::advice(attempt->hashed, *attempt->state, members->stored_text.size());
  return answer;
}

Result<Value> with_host_snapshot(Service& service, LogReader& reader, const SessionRow& session, Seq parent, const Value& body,
                                 std::string_view snapshot_id, Blobs& blobs, Arena& arena) {
  json::ObjectBuilder out(arena);
  std::unique_ptr<Attempt> attempt;
  if (parent != 0) {
    TRY(const auto before, service.run_fold().at(reader, session.no, parent));
    if (before->cut && (before->run != nullptr || before->has_request())) {
      TRY(attempt, attempt_at(service, reader, session, before->cut->seq, Trigger::host_barrier, ReplayFrom::checkpoint));
    }
  }
  if (attempt != nullptr && attempt->id == snapshot_id && attempt->verdict.pass()) {
    TRY(const auto members, members_of(
                                *attempt, Action::none, std::nullopt,
                                [&](std::string_view bytes) -> Result<void> {
                                  TRY_DO(blobs.put(bytes));
                                  return {};
                                },
                                arena));
    json::Parser parser;
    out.add("narrative", arena.copy(members->narrative.text)).add("narrative_max_bytes", members->narrative.max_bytes);
    const std::string_view text = arena.copy(members->stored_text);
    bool repaired = false;
    if (members->snapshot.kind() == json::Kind::raw) {
      TRY(const Value snapshot, json::parse_exact(text, arena, json::Parser::kStored, repaired));
      out.add("snapshot", snapshot);
    } else {
      out.add("snapshot", members->snapshot);
    }
  } else {
    out.add("snapshot_mismatch", true);
  }
  for (const json::Member& member : body.members()) out.add(member.key, member.value);
  return out.build();
}

}  // namespace weir
