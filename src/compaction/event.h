// Run events: their types and what a body of each must look like. One table of fields serves strict append (which names
// every wrong field) and the fold (to which a wrong one is an anomaly).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error_code.h"
#include "compaction/run_state.h"
#include "json/value.h"

namespace weir::compaction {

#define WEIR_RUN_EVENTS(X) \
  X(RUN_STARTED)           \
  X(RUN_STOPPED)           \
  X(RUN_RESUMED)           \
  X(THRESHOLDS_SET)        \
  X(STEP_STARTED)          \
  X(STEP_ABORTED)          \
  X(PLAN_DONE)             \
  X(ACT_DONE)              \
  X(OBSERVE_DONE)          \
  X(PLAN_FAILED)           \
  X(ACT_FAILED)            \
  X(SOURCE_REGISTERED)     \
  X(CHUNK_REGISTERED)      \
  X(EVIDENCE_REGISTERED)   \
  X(EVIDENCE_ATTACHED)     \
  X(EVIDENCE_DETACHED)     \
  X(EVIDENCE_WITHDRAWN)    \
  X(CLAIM_PROPOSED)        \
  X(CLAIM_VERIFIED)        \
  X(CLAIM_DOWNGRADED)      \
  X(CLAIM_RETRACTED)       \
  X(CONFLICT_RECORDED)     \
  X(CONFLICT_CITED)        \
  X(CONFLICT_RESOLVED)     \
  X(QUESTION_OPENED)       \
  X(QUESTION_CLOSED)       \
  X(FAILURE_RECORDED)      \
  X(FAILURE_RESOLVED)      \
  X(NEXT_ACTIONS_SET)      \
  X(COMPACTION_FAILED)     \
  X(SNAPSHOT_ATTACHED)     \
  X(CONTEXT_MANIFEST_WRITTEN)

enum class Event : std::uint8_t {
#define WEIR_X(name) name,
  WEIR_RUN_EVENTS(WEIR_X)
#undef WEIR_X
};

std::optional<Event> parse_event(std::string_view type);
std::string_view event_name(Event event);

// Steps and counted events: their step ids never fall.
bool is_step_event(Event event);
// PLAN_DONE, ACT_DONE, OBSERVE_DONE as bits 0 to 2; nothing for the others.
std::optional<int> counted_bit(Event event);

// A wrong field: where (`config.event_threshold`) and what is wrong (`is missing`).
struct WrongField {
  std::string field;
  std::string problem;
  std::uint64_t limit = 0, value = 0;  // of a limit that is exceeded
};

// In the order of the event's fields. `first_only` stops at the first.
std::vector<WrongField> wrong_fields(Event event, const json::Value& body, bool first_only);

// Readers for bodies that have the right shape. Absent and null are nothing.
std::optional<std::string> text_in(const json::Value& body, std::string_view key);
std::optional<std::int64_t> integer_in(const json::Value& body, std::string_view key);
std::vector<std::string> texts_in(const json::Value& body, std::string_view key);
Span span_in(const json::Value& body);
Source source_in(const json::Value& body);
Chunk chunk_in(const json::Value& body);
Evidence evidence_in(const json::Value& body);
std::string failure_id_in(const json::Value& body);  // of FAILURE_RECORDED

}  // namespace weir::compaction
