// The summary pack: every summary checked again, its key claims, and nothing unless all of them pass.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "research/perspectives.h"
#include "research/run_files.h"
#include "research/state.h"
#include "research/summary.h"

namespace weir::research {

// `sha256:` and the hash of these bytes.
std::string sha256_name(std::string_view bytes);

struct PackInputs {
  const State& state;
  const Limits& limits;
  const Perspectives& perspectives;
  const Pool& pool;
  RunFiles& files;
  bool allow_missing = false;
};

struct PackEntry {
  const Perspective* perspective;
  std::string path, text, sha256;
  SummaryCheck check;
};

// A summary that does not pass today.
struct PackRefusal {
  std::string perspective_id, artifact, sha256;
  std::vector<Failure> failures;
};

struct Pack {
  json::Value value;               // without generated_at
  std::vector<PackEntry> entries;  // T-order of id
  std::uint64_t total_bytes = 0;
  std::vector<std::string> truncated, warnings;
  std::vector<PackRefusal> refused;  // if any: there is no pack
  std::vector<std::string> changed;  // summaries whose file is not what the log holds
};

// The accepted output of a perspective, in its own wave.
const Output* accepted_output(const State& state, const Perspective& perspective);

// Perspectives that a pack covers: those of wave 1, and those of wave 2 with an accepted output; T-order.
std::vector<const Perspective*> expected_perspectives(const State& state, const Perspectives& perspectives);

// INVALID_STATE, SCHEMA_VALIDATION_FAILED, DUPLICATE_PERSPECTIVE_ID, NOT_FOUND; what is wrong with a summary is in `refused`.
Result<Pack> build_pack(const PackInputs& in, json::Arena& arena);

// The pack's file: with its time if one is given.
std::string pack_text(const json::Value& pack, const std::string& generated_at, json::Arena& arena);
std::string pack_digest(const json::Value& pack);  // without generated_at
json::Value pack_meta_value(const Pack& pack, const PackInputs& in, json::Arena& arena);
// The four limits in KB that are in force.
json::Value kb_limits_value(const Limits& limits, json::Arena& arena);
json::Value without_time(const json::Value& pack, json::Arena& arena);
std::string pool_digest(const Pool& pool);

}  // namespace weir::research
