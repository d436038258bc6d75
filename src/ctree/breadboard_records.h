// Records of the profile breadboard-0.1 as they come in: parsed values, entries of a log, and record files
// (contract ctree, 12.1 and 12.9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ctree/breadboard_store.h"

namespace weir::breadboard {

// {kind, payload, turn, node_id?}. INVALID_FIELD: no object, or no kind. NOT_REPRODUCIBLE: an array or object for a kind
// or id.
Result<Record> record_of(const Value& value);
// The record of a `ctree_node` body, given as JSON text: of its `raw` text where there is one.
Result<Record> record_of_ctree_node(std::string_view body);
// The record of a `message` body, given as JSON text.
Result<Record> record_of_message(std::string_view body, Value turn);

// What reading a file has to say about a line. All but the last give no record.
enum class LineFinding : std::uint8_t { header, blank, unparsable, torn, not_object, no_kind, duplicate_id };
std::string_view name(LineFinding finding);

struct Finding {
  LineFinding what;
  std::size_t line;            // from 1
  std::size_t other_line = 0;  // duplicate_id: where the id stood first
  std::string message;         // unparsable, torn: why; duplicate_id: the id
};

struct RecordFile {
  Store store;
  std::vector<Finding> findings;              // by line
  std::optional<std::string> schema_version;  // of the header, if that is a text
};

// INVALID_JSON: the file is no UTF-8, unless only its last character is cut. NOT_REPRODUCIBLE, with the line: a record
// whose kind or id has no defined text; leaving it out would change every hash.
Result<RecordFile> read_record_file(std::string_view text);

}  // namespace weir::breadboard
