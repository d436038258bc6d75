#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/time.h"
#include "compaction/checks.h"
#include "json/canonical.h"

namespace weir::compaction {
namespace {

constexpr std::size_t kProblemsKept = 20;  // of a document that is wrong everywhere, all are counted and few are told

enum Kinds : unsigned { object = 1, array = 2, text = 4, integer = 8, boolean = 16, null = 32, real = 64 };
constexpr std::pair<unsigned, std::string_view> kKindNames[] = {
    {object, "object"}, {array, "array"}, {text, "string"}, {integer, "integer"}, {boolean, "boolean"}, {null, "null"}, {real, "number"}};

enum class Rule { none, non_empty, time, one_of };

// A row stands below the last row before it that is one less deep. `[]`: every item of an array. Integers are never negative.
struct Row {
  int depth;
  std::string_view key;
  unsigned kinds;
  Rule rule = Rule::none;
  std::string_view words = {};  // of one_of, with `|` between them
};

// Evidence pointers are left to the check that names their claim.
constexpr Row kRows[] = {
    {0, "", object},
    {1, "schema_version", integer, Rule::one_of, "1"},
    {1, "snapshot_id", text},
    {1, "run_id", text, Rule::non_empty},
    {1, "sequence", integer},
    {1, "created_at", text, Rule::time},
    {1, "previous_snapshot_id", text | null},
    {1, "objective", text, Rule::non_empty},
    {1, "done_definition", object | text},
    {1, "objective_source", object},
    {2, "kind", text, Rule::one_of, "declared|derived"},
    {2, "entry", text},
    {2, "cut", boolean},
    {1, "provenance_mode", text, Rule::one_of, "audit_only|quotes_checked"},
    {1, "policy_snapshot_ref", text | null},
    {1, "budgets", object},
    {1, "counts", object},
    {2, "steps_since_last_compaction", integer},
    {2, "counted_events_since_last_compaction", integer},
    {1, "latest_context_manifest_ids", array},
    {2, "[]", text},
    {1, "state", object},
    {2, "claims", array},
    {3, "[]", object},
    {4, "claim_id", text, Rule::non_empty},
    {4, "status", text, Rule::one_of, "verified|candidate|retracted"},
    {4, "statement", text},
    {4, "evidence_refs", array},
    {4, "status_reason", text},
    {4, "withdrawn_refs", array},
    {4, "first_entry", text},
    {4, "verified_entry", text | null},
    {2, "conflicts", array},
    {3, "[]", object},
    {4, "conflict_id", text, Rule::non_empty},
    {4, "description", text},
    {4, "side_a_refs", array},
    {4, "side_b_refs", array},
    {4, "status", text, Rule::one_of, "open|resolved"},
    {4, "resolution", text | null},
    {4, "first_entry", text},
    {2, "open_questions", array},
    {3, "[]", text},
    {2, "open_question_refs", array},
    {3, "[]", object},
    {4, "question_id", text},
    {4, "entry", text},
    {2, "failures", array},
    {3, "[]", object},
    {4, "failure_id", text, Rule::non_empty},
    {4, "category", text, Rule::non_empty},
    {4, "where", text, Rule::non_empty},
    {4, "why", text, Rule::non_empty},
    {4, "status", text, Rule::one_of, "active|resolved|superseded"},
    {4, "occurrence_count", integer},
    {4, "last_seen_step_id", integer},
    {4, "first_entry", text},
    {4, "last_entry", text},
    {2, "source_coverage", object},
    {3, "source_ids_seen", array},
    {4, "[]", text},
    {3, "chunk_ids_seen", array},
    {4, "[]", text},
    {3, "chunk_ids_cited", array},
    {4, "[]", text},
    {2, "next_actions", array},
    {3, "[]", text},
    {2, "next_actions_entry", text | null},
    {2, "carry", object},
    {3, "latest_request", object | null},
    {4, "entry", text},
    {4, "bytes", integer},
    {4, "verbatim", text | null},
    {4, "answered", boolean},
    {3, "requests", array},
    {4, "[]", object},
    {5, "entry", text},
    {5, "bytes", integer},
    {5, "opening", text},
    {3, "requests_omitted", integer},
    {3, "last_reply", object | null},
    {4, "entry", text},
    {4, "bytes", integer},
    {4, "opening", text},
    {3, "pinned", array},
    {4, "[]", object},
    {5, "entry", text},
    {5, "role", text},
    {5, "reason", text, Rule::one_of, "system|pin"},
    {5, "bytes", integer},
    {5, "verbatim", text | null},
    {3, "files", array},
    {4, "[]", object},
    {5, "path", text},
    {5, "reads", integer},
    {5, "changes", integer},
    {5, "last_read", text | null},
    {5, "last_change", text | null},
    {5, "sha256", text | null},
    {3, "commands", array},
    {4, "[]", object},
    {5, "tool", text},
    {5, "command", text},
    {5, "bytes", integer},
    {5, "runs", integer},
    {5, "errors", integer},
    {5, "last_entry", text},
    {3, "commands_omitted", integer},
    {3, "todos", object | null},
    {4, "entry", text},
    {4, "items", array},
    {5, "[]", object},
    {6, "item", text},
    {6, "status", text},
    {3, "pending_calls", array},
    {4, "[]", object},
    {5, "entry", text},
    {5, "tool", text},
    {5, "call_id", text},
    {1, "retrieval_diagnostics", object},
    {2, "queries", integer},
    {2, "zero_result_queries", integer},
    {2, "candidates", integer},
    {2, "selected", integer},
    {2, "excluded", integer},
    {2, "filters", array},
    {3, "[]", text},
    {2, "manifest_ids", array},
    {3, "[]", text},
    {1, "deltas", object},
    {2, "claims_added", array},
    {3, "[]", text},
    {2, "claims_newly_verified", array},
    {3, "[]", text},
    {2, "claims_demoted", array},
    {3, "[]", text},
    {2, "claims_retracted", array},
    {3, "[]", text},
    {2, "conflicts_added", array},
    {3, "[]", text},
    {2, "conflicts_resolved", array},
    {3, "[]", text},
    {2, "failures_added", array},
    {3, "[]", text},
    {2, "questions_opened", array},
    {3, "[]", text},
    {2, "questions_closed", array},
    {3, "[]", text},
    {2, "files_changed", array},
    {3, "[]", text},
    {2, "sources_added", integer},
    {2, "chunks_cited_added", integer},
    {1, "provenance", object},
    {2, "first_pos", integer},
    {2, "last_pos", integer},
    {2, "first_entry", text},
    {2, "last_entry", text},
    {2, "log_digest", text},
    {2, "ledger_digest", text},
    {2, "trigger", text, Rule::one_of, "EVENT_THRESHOLD|STEP_FALLBACK|PLAIN_BYTES|MANUAL|EGRESS|HOST_BARRIER"},
    {2, "thresholds", object},
    {3, "event_threshold", integer},
    {3, "n_step_fallback", integer},
    {3, "plain_bytes_threshold", integer},
    {2, "compactor_version", text},
    {2, "located", object},
    {3, "first_seq", integer},
    {3, "first_id", text},
    {3, "last_seq", integer},
    {3, "last_id", text},
    {1, "validation", object},
    {2, "status", text, Rule::one_of, "PASS|FAIL"},
    {2, "checks", array},
    {3, "[]", object},
    {4, "name", text},
    {4, "status", text, Rule::one_of, "PASS|FAIL"},
    {4, "message", text},
    {2, "failure_action_taken", text, Rule::one_of, "NONE|RETRY|SYSTEM_ERROR"},
};

unsigned kind_of(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::null:
      return null;
    case json::Kind::boolean:
      return boolean;
    case json::Kind::integer:
    case json::Kind::big_integer:
      return integer;
    case json::Kind::string:
      return text;
    case json::Kind::array:
      return array;
    case json::Kind::object:
      return object;
    case json::Kind::real:
    case json::Kind::raw:
      break;
  }
  return real;
}

std::string kinds_text(unsigned kinds) {
  std::string out;
  for (const auto& [kind, name] : kKindNames) {
    if ((kinds & kind) == 0) continue;
    if (!out.empty()) out += " or ";
    out += name;
  }
  return out;
}

bool listed(std::string_view words, std::string_view word) {
  while (true) {
    const std::size_t bar = words.find('|');
    if (words.substr(0, bar) == word) return true;
    if (bar == std::string_view::npos) return false;
    words.remove_prefix(bar + 1);
  }
}

class SchemaWalk {
 public:
  void check(const json::Value* value, const Row* row, const Path& path) {
    if (value == nullptr) return problem(path, "missing");
    if ((row->kinds & kind_of(*value)) == 0)
      return problem(path, fmt::format("is {}, expected {}", kinds_text(kind_of(*value)), kinds_text(row->kinds)));
    check_rule(*value, *row, path);
    for (const Row* below = row + 1; below != std::end(kRows) && below->depth > row->depth; below = behind(below)) {
      if (below->key != "[]") {
        if (value->is_object()) check(value->find(below->key), below, path.member(below->key));
        continue;
      }
      std::size_t at = 0;
      for (const json::Value& item : value->items()) check(&item, below, path.element(at++));
    }
  }

  SchemaProblems problems;

 private:
  // The next row that is not deeper.
  static const Row* behind(const Row* row) {
    return std::find_if(row + 1, std::end(kRows), [&](const Row& next) { return next.depth <= row->depth; });
  }

  void check_rule(const json::Value& value, const Row& row, const Path& path) {
    if (kind_of(value) == integer) {
      const bool big = !value.is_integer();
      if (big ? value.text().starts_with('-') : value.integer() < 0) return problem(path, "is negative");
      if (big) return problem(path, "is out of range");
    }
    if (row.rule == Rule::non_empty && value.text().empty()) return problem(path, "is empty");
    if (row.rule == Rule::time && !parse_time(value.text()).ok()) return problem(path, "is not an RFC 3339 time");
    if (row.rule != Rule::one_of) return;
    const bool number = value.is_integer();
    if (!listed(row.words, number ? std::to_string(value.integer()) : value.text()))
      problem(path, fmt::format("is {}, expected {}", json::canonical(number ? value : json::Value(told(value.text()))), row.words));
  }

  void problem(const Path& path, std::string_view what) {
    if (++problems.count <= kProblemsKept) problems.first.push_back(path.str() + " " + std::string(what));
  }
};

bool has_real(const json::Value& value) {
  if (value.kind() == json::Kind::real) return true;
  return std::any_of(value.items().begin(), value.items().end(), has_real) ||
         std::any_of(value.members().begin(), value.members().end(), [](const json::Member& m) { return has_real(m.value); });
}

}  // namespace

SchemaProblems schema_problems(const json::Value& document) {
  SchemaWalk walk;
  walk.check(&document, kRows, Path{});
  return std::move(walk.problems);
}

Candidate::Candidate(std::string_view bytes) {
  auto parsed = parser_.parse(bytes);
  // What is hashed is the canonical form, and there 1.0 is the integer 1.
  if (parsed.ok() && has_real(*parsed)) parsed = parser_.parse(json::canonical(*parsed));
  if (!parsed.ok()) {
    problem_count_ = 1;
    problems_.push_back("not JSON: " + parsed.error().message());
    return;
  }
  shown_ = *parsed;
  SchemaProblems found = schema_problems(shown_);
  problem_count_ = found.count;
  problems_ = std::move(found.first);
}

std::string_view Candidate::run_id() const { return shown_.text_or("run_id", ""); }
std::string_view Candidate::log_digest() const { return member(shown_, "provenance").text_or("log_digest", ""); }

}  // namespace weir::compaction
