// The validators, one per document, each with two passes: first what the tool Weir's runs follow would say, in its order and
// words, then Weir's stricter rules. Reading runs the first, writing both; both collect every error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/layout.h"
#include "json/value.h"

namespace weir::research {

class SchemaErrors {
 public:
  struct One {
    std::string path, message;  // `$.a[0].b`
    ErrorCode code;
  };
  void add(std::string path, std::string message, ErrorCode code = ErrorCode::SCHEMA_VALIDATION_FAILED) {
    errors_.push_back({std::move(path), std::move(message), code});
  }
  bool empty() const { return errors_.empty(); }
  const std::vector<One>& list() const { return errors_; }
  // Code, message and path of the first, with details {path, errors: the first 100, error_count}.
  Result<void> result() const;

 private:
  std::vector<One> errors_;
};

enum class Pass { read, write };

struct PerspectiveRules {
  std::string_view run_id;                           // of the run it is for
  const std::vector<std::string>* agents = nullptr;  // those there are, if anybody said; else one warning
};
void check_perspectives(const json::Value& document, Pass pass, const PerspectiveRules& rules, SchemaErrors& errors,
                        std::vector<std::string>& warnings);
void check_manifest(const json::Value& document, SchemaErrors& errors);
void check_gates(const json::Value& document, SchemaErrors& errors);
// A line of citations.jsonl, cid included (CID_MISMATCH). `path` is put before what it says.
void check_citation(const json::Value& record, const std::string& path, SchemaErrors& errors);
// `run_id`: the manifest's.
void check_pack(const json::Value& document, std::string_view run_id, SchemaErrors& errors);

// May a file of the run have this path? Relative, no `..`, empty or `.` part, no backslash.
bool confined_path(std::string_view path);
// May a perspective have this id?
bool perspective_id_ok(std::string_view id);
// RFC 3339, UTC.
bool utc_time_ok(std::string_view text);

// Limits of a manifest: every one that is out of its range, INVALID_ARGS.
void check_limits(const json::Value& limits, SchemaErrors& errors);

// How each document's members are laid out.
enum class Document {
  manifest,
  gates,
  perspectives,
  citation,
  pack,
  pack_meta,
  output_meta,
  directives,
  bundle_index,
  found_by,
  url_map,
  terminal
};
std::span<const json::Layout> layout_of(Document document);

}  // namespace weir::research
