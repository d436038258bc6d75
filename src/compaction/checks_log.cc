#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compaction/checks.h"
#include "compaction/trigger.h"
#include "json/canonical.h"

namespace weir::compaction {
namespace {

// A string as JSON, null where there is none.
std::string quoted(const json::Value& text_or_null) {
  return text_or_null.is_string() ? json::canonical(told(text_or_null.text())) : "null";
}

// What must stay as it was: against the entry that set it, then against the snapshot before.
Outcome unchanged(const Examined& it, std::string_view key, std::string_view origin, bool as_at_origin) {
  if (!as_at_origin) return failed(fmt::format("{} differs from {}", key, origin));
  std::string message = fmt::format("{} identical to {}", key, origin);
  if (it.facts.previous == nullptr) return passed(message);
  const std::string before = fmt::format("snapshot {}", member(*it.facts.previous, "sequence").integer());
  if (json::canonical(member(it.shown, key)) != json::canonical(member(*it.facts.previous, key)))
    return failed(fmt::format("{} differs from {}", key, before));
  return passed(message + " and " + before);
}

json::Value counts(std::int64_t steps, std::int64_t counted, json::Arena& arena) {
  return json::make_object(arena, {{"steps_since_last_compaction", steps}, {"counted_events_since_last_compaction", counted}});
}

// What a trigger says about the log. The others say who asked, and anyone may at any time.
bool is_threshold(Trigger trigger) {
  return trigger == Trigger::event_threshold || trigger == Trigger::step_fallback || trigger == Trigger::plain_bytes;
}

// Of a persistent list in path order, the records of this range.
template <typename Record>
std::vector<Record> of_range(const PVec<Record>& list, std::uint64_t first_pos) {
  std::size_t from = list.size();
  while (from > 0 && list[from - 1].pos >= first_pos) --from;
  std::vector<Record> out;
  list.each(from, list.size(), [&](std::size_t, const Record& record) { out.push_back(record); });
  return out;
}

// The manifests of this range, each id once. One that was written again with other content does not hash to its id.
std::vector<Manifest> manifests_of_range(const Examined& it) {
  std::vector<Manifest> out;
  std::map<std::string, std::size_t> places;
  for (Manifest& manifest : of_range(it.state().manifests, it.first_pos())) {
    const auto [place, first] = places.emplace(manifest.id, out.size());
    if (first) {
      out.push_back(std::move(manifest));
    } else {
      out[place->second].hashes = out[place->second].hashes && manifest.hashes;
    }
  }
  return out;
}

}  // namespace

Outcome sequence_contiguous(const Examined& it) {
  const Accepted* before = it.state().last_accepted();
  const std::int64_t sequence = member(it.shown, "sequence").integer(), last = before == nullptr ? 0 : before->sequence;
  if (sequence != last + 1) return failed(fmt::format("sequence {} after {}", sequence, last));
  const json::Value& says = member(it.shown, "previous_snapshot_id");
  const json::Value expected = before == nullptr ? json::Value() : json::Value(before->snapshot_id);
  if (says != expected) return failed(fmt::format("previous_snapshot_id is {}, expected {}", quoted(says), quoted(expected)));
  return passed(fmt::format("sequence {} follows {}", sequence, last));
}

Outcome run_id_stable(const Examined& it) {
  const std::string_view says = it.shown.text_or("run_id", "");
  if (says != it.facts.session) return failed(fmt::format("run_id is {}, session is {}", told(says), it.facts.session));
  return passed("run_id is the session");
}

Outcome objective_unchanged(const Examined& it) {
  const RunState& state = it.state();
  const std::string_view says = it.shown.text_or("objective", "");
  if (state.run != nullptr) return unchanged(it, "objective", "RUN_STARTED", says == state.run->objective);
  const auto& first = state.carry.first_request;
  return unchanged(it, "objective", "the first user message", first != nullptr && says == first->text.opening);
}

Outcome done_definition_unchanged(const Examined& it) {
  const RunState& state = it.state();
  const std::string says = json::canonical(member(it.shown, "done_definition"));
  if (state.run != nullptr) return unchanged(it, "done_definition", "RUN_STARTED", says == state.run->done_definition);
  return unchanged(it, "done_definition", "the plain-session default", says == R"("not declared")");
}

Outcome log_chain_intact(const Examined& it) {
  Findings broken;
  for (const std::string& problem : it.facts.log_problems) broken.add([&] { return problem; });
  return broken.none() ? passed(fmt::format("{} entries, chain intact", it.facts.entries)) : broken.failed("log problems");
}

Outcome event_range_contiguous(const Examined& it) {
  const json::Value& provenance = member(it.shown, "provenance");
  if (!it.facts.cut_found)
    return failed(fmt::format("log_digest {} is not an entry of this session", told(provenance.text_or("log_digest", ""))));
  if (it.facts.state == nullptr) return it.unfolded();
  const auto first = static_cast<std::uint64_t>(member(provenance, "first_pos").integer());
  const auto last = static_cast<std::uint64_t>(member(provenance, "last_pos").integer());
  if (first != it.first_pos()) return failed(fmt::format("first_pos {}, expected {}", first, it.first_pos()));
  if (last != it.facts.entries) return failed(fmt::format("last_pos {}, log_digest is at position {}", last, it.facts.entries));
  if (const auto& open = it.state().open_step; open && it.trigger != Trigger::host_barrier)
    return failed(fmt::format("position {} ({}) is inside step {}", last, it.facts.cut_type, open->step_id));
  return passed(fmt::format("positions {}..{}", first, last));
}

Outcome counts_match_log(const Examined& it) {
  const RunState& state = it.state();
  const std::int64_t steps = member(it.shown, "counts", "steps_since_last_compaction").integer();
  const std::int64_t counted = member(it.shown, "counts", "counted_events_since_last_compaction").integer();
  if (steps != state.steps || counted != state.counted) {
    return failed(fmt::format("counts say {}, log gives {}", json::canonical(counts(steps, counted, it.arena)),
                              json::canonical(counts(state.steps, state.counted, it.arena))));
  }
  const std::optional<Trigger> gives = due(state);
  if (it.trigger && is_threshold(*it.trigger) && it.trigger != gives)
    return failed(fmt::format("trigger is {}, log gives {}", trigger_name(*it.trigger), gives ? trigger_name(*gives) : "none"));
  return passed(fmt::format("{} steps, {} counted events", steps, counted));
}

Outcome manifests_complete(const Examined& it) {
  const RunState& state = it.state();
  const std::vector<Manifest> manifests = manifests_of_range(it);
  const bool required = state.run != nullptr && state.run->require_manifests;
  Findings problems;
  std::set<std::int64_t> steps;
  for (const StepMark& mark : of_range(state.step_marks, it.first_pos())) steps.insert(mark.step_id);
  for (const std::int64_t step : steps) {
    const bool excused = it.trigger == Trigger::host_barrier && state.open_step && state.open_step->step_id == step;
    if (required && !excused && !state.steps_with_manifest.find(std::to_string(step)))
      problems.add([&] { return fmt::format("step {} has no manifest", step); });
  }
  const auto says = member(it.shown, "latest_context_manifest_ids").items();
  if (!std::equal(says.begin(), says.end(), manifests.begin(), manifests.end(),
                  [](const json::Value& id, const Manifest& manifest) { return id.text() == manifest.id; }))
    problems.add([] { return "latest_context_manifest_ids does not list the manifests of this range"; });
  for (const Manifest& manifest : manifests) {
    if (!manifest.hashes) problems.add([&] { return fmt::format("manifest {} does not hash to its id", told(manifest.id)); });
  }
  if (!problems.none()) return problems.failed("manifest problems");
  if (!required) return passed(fmt::format("not required, {} manifests", manifests.size()));
  return passed(fmt::format("{} steps, {} manifests", steps.size(), manifests.size()));
}

}  // namespace weir::compaction
