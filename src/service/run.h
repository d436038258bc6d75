// Use cases of a run besides compaction: is one due, notes (claims, evidence, conflicts, questions, failures, next actions),
// stop and resume.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compaction/trigger.h"
#include "json/value.h"
#include "service/append.h"
#include "service/service.h"

namespace weir {

struct DueQuery {
  Address address;
  std::optional<std::int64_t> event_threshold, n_step_fallback;  // what would be, with these
};
struct DueAnswer {
  bool due = false;
  std::string text;  // the answer as canonical JSON
};
Result<DueAnswer> ask_due(Service& service, const DueQuery& query);

// A note as the MCP tool takes it: one kind, one operation, and few fields whose meaning follows from both.
struct Note {
  std::string kind;  // claim, evidence, conflict, question, failure, next
  std::string op = "add";
  std::optional<std::string> id, text, category, where;
  std::vector<std::string> refs, other;
  struct Span {
    std::string chunk;
    std::int64_t start = 0, end = 0;
  };
  std::optional<Span> span;
};
struct NoteAnswer {
  AppendAnswer appended;
  std::string type, id;
  json::Value to_json(json::Arena& arena) const;  // {entry,type,id,due,warnings}
};
Result<NoteAnswer> take_note(Service& service, const SessionId& session, const HeadName& head, const Note& note, bool dry_run);

// Ends the run on this path; a person opens it again.
Result<AppendAnswer> stop_run(Service& service, const SessionId& session, const HeadName& head, const std::string& reason, bool dry_run);
Result<AppendAnswer> resume_run(Service& service, const SessionId& session, const HeadName& head, const std::optional<std::string>& note,
                                const std::vector<std::string>& forgive, bool dry_run);

}  // namespace weir
