#include "compaction/run_fold.h"

#include "compaction/apply.h"
#include "compaction/carry.h"
#include "compaction/event_rules.h"
#include "compaction/snapshot.h"
#include "session/types.h"

namespace weir::compaction {
namespace {

using json::Value;

void note(RunState& state, const Illegal& illegal, Pointer entry) {
  std::vector<Anomaly> all = state.anomalies == nullptr ? std::vector<Anomaly>() : *state.anomalies;
  all.push_back({illegal.text, entry, illegal.why == Illegal::Why::ledger});
  state.anomalies = std::make_shared<const std::vector<Anomaly>>(std::move(all));
}

// What a compaction or SNAPSHOT_ATTACHED holds of its snapshot: all of it, or a blob's name with what is needed here.
std::optional<Accepted> accepted_in(const RunState& state, const Value& body, const Place& holder) {
  const Value* snapshot = body.find("snapshot");
  if (snapshot == nullptr || !snapshot->is_object()) return std::nullopt;
  const Value* provenance = snapshot->find("provenance");
  const auto last_pos = integer_in(provenance == nullptr ? *snapshot : *provenance, "last_pos");
  const auto sequence = integer_in(*snapshot, "sequence");
  const std::string_view id = snapshot->text_or("snapshot_id", "");
  if (!last_pos || *last_pos < 1 || !sequence || id.empty()) return std::nullopt;
  return Accepted{std::string(id),           *sequence, static_cast<std::uint64_t>(*last_pos), state.barrier_first, state.barrier_last,
                  state.barrier_first_after, holder};
}

void take_event(RunState& state, Event event, const Value& body, const Place& place) {
  const auto wrong = illegal(state, event, body);
  if (wrong) note(state, *wrong, place.pointer);
  // Bookkeeping of the compactor itself changes nothing that a snapshot holds.
  const bool bookkeeping =
      event == Event::COMPACTION_FAILED || event == Event::RUN_STOPPED || event == Event::RUN_RESUMED || event == Event::SNAPSHOT_ATTACHED;
  if (wrong || !bookkeeping) state.dirty = state.dirty_since_barrier = true;
  if (wrong && !wrong->applies) return;
  if (event == Event::SNAPSHOT_ATTACHED) {
    if (auto accepted = accepted_in(state, body, place)) {
      state.accepted.push_back(std::move(*accepted));
      state.bare_barrier.reset();
      state.dirty = state.dirty_since_barrier;
    }
    return;
  }
  apply(state, event, body, place);
}

void take_compaction(RunState& state, const Value& body, const Place& place) {
  state.barrier = place;
  if (state.cut) {
    state.barrier_first = first_place(state);
    state.barrier_last = *state.cut;
  }
  state.barrier_first_after = state.first_failed ? *state.first_failed : place;
  state.counted = state.steps = 0;
  state.step_types = 0;
  state.message_bytes = 0;
  state.carry.commands = {};
  state.dirty_since_barrier = false;
  if (auto accepted = accepted_in(state, body, place)) {
    state.accepted.push_back(std::move(*accepted));
    state.dirty = false;
  }
  state.bare_barrier = state.dirty ? state.barrier : std::nullopt;
}

}  // namespace

Result<void> RunFold::step(State& state, const Entry& entry) {
  const Place place{++state.pos, Pointer{entry.digest.prefix64()}, entry.seq, entry.id.str()};
  if (!state.first) state.first = place;
  const auto event = parse_event(entry.type);
  if (event || is_carried(entry.type) || entry.type == types::kCompaction) {
    thread_local json::Parser parser;
    TRY(const Value body, stored_body(parser, entry));
    if (event) {
      take_event(state, *event, body, place);
    } else if (entry.type == types::kCompaction) {
      take_compaction(state, body, place);
    } else {
      carry(state, entry, body, place);
      state.dirty = state.dirty_since_barrier = true;
    }
  }
  if (event == Event::COMPACTION_FAILED) {
    if (!state.first_failed) state.first_failed = place;
  } else {
    state.cut = place;
    state.failed.reset();
    state.first_failed.reset();
  }
  return {};
}

}  // namespace weir::compaction
