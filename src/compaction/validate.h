// The validator: any bytes in, a verdict out. It trusts nobody: what a snapshot says is held against the log, named check by
// named check. The checks stand in files of one group each (checks_*.cc); their order is the table in validate.cc.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "compaction/run_state.h"
#include "json/parse.h"
#include "json/value.h"

namespace weir::compaction {

struct Check {
  std::string_view name;
  bool pass = true;
  std::string message;
};

enum class Action { none, retry, system_error };
std::string_view action_name(Action action);

struct Verdict {
  std::vector<Check> checks;

  bool pass() const;
  std::vector<const Check*> failed() const;
  // {"status","checks":[{"name","status","message"}],"failure_action_taken"}
  json::Value to_json(Action action, json::Arena& arena) const;
};

// A snapshot in its shown form as it came, and what of it says where to look in the log.
class Candidate {
 public:
  // Never fails: what is wrong with it is check 1's.
  explicit Candidate(std::string_view bytes);

  // Of keys and types; empty: check 1 passes. Of a great many only the first are told.
  const std::vector<std::string>& problems() const { return problems_; }
  std::size_t problem_count() const { return problem_count_; }
  // These only without problems.
  const json::Value& shown() const { return shown_; }
  std::string_view run_id() const;
  std::string_view log_digest() const;
  json::Arena& arena() { return parser_.arena(); }

 private:
  json::Parser parser_;
  json::Value shown_;
  std::vector<std::string> problems_;
  std::size_t problem_count_ = 0;
};

// What the log says about the entry a snapshot claims to be cut at, folded again for this purpose.
struct LogFacts {
  std::string session;                    // its id
  bool session_found = true;              // false: nothing below is there
  bool cut_found = true;                  // false: log_digest is no entry of the session, and the head serves as the cut
  std::vector<std::string> log_problems;  // `digest broken at position 16`, in path order
  std::uint64_t entries = 0;              // on the path to the cut
  Digest cut;                             // its digest
  std::string cut_type;                   // its entry type
  std::shared_ptr<const RunState> state;  // at the cut; null where the log cannot be folded
  std::vector<Pin> pins;
  const json::Value* previous = nullptr;  // the accepted snapshot before the cut, stored form; null: none
  // Bytes of a registered chunk, re-hashed: its blob, else its span of its source's blob. Nothing: none stored.
  std::function<Result<std::optional<std::string>>(const RunState&, const std::string& chunk_id)> chunk_bytes;
};

// BUSY: for want of descriptors nobody can say whether a quote is there.
Result<Verdict> validate(Candidate& candidate, const LogFacts& facts);

// Information beside a verdict, never a check.
std::vector<std::string> advice(const json::Value& stored, const RunState& state, std::size_t stored_bytes);

}  // namespace weir::compaction
