// Use case: the first difference of two places of the log, or of one and an output that was kept, and its cause.
#pragma once

#include <optional>
#include <string>

#include "ctree/config.h"
#include "json/parse.h"
#include "json/value.h"
#include "service/service.h"

namespace weir {

struct DiffSide {
  std::optional<Address> address;
  std::string stored;  // text of a compiler's output, if there is no address
};

enum class DiffWhat { stages, entries };

struct DiffQuery {
  DiffSide a, b;
  DiffWhat what = DiffWhat::stages;
  ctree::CompileConfig config;  // of the sides that are places
  bool texts = false;           // fields that differ also show their beginning, masked
};

struct Difference {
  bool equal = false;
  std::string text;  // the answer as canonical JSON
};
// PROFILE_MISMATCH, SCHEMA_UNKNOWN: not comparable, which is not "different".
Result<Difference> diff(Service* service, const DiffQuery& query);

// An output of the compiler that was kept. INVALID_JSON, INVALID_FIELD, SCHEMA_UNKNOWN.
Result<json::Value> parse_output(const std::string& text, json::Parser& parser);

struct Expectation {
  bool met = false;
  std::string text;  // {"expected","found","match"} as canonical JSON
};
// Does the compilation agree with an output that was kept: the same z4 and selection_sha256?
struct Compilation;
Result<Expectation> compare_with_output(const Compilation& at, const std::string& text);

}  // namespace weir
