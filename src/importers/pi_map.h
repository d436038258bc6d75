// One line of a pi session file as an entry, and back. Lossless: what has no place of its own in the body goes to
// `extra`; what could not be given back exactly that way is kept there whole. pi's formats 1 and 2 are brought to the
// shape of 3 first, so that there is one mapping.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "json/value.h"

namespace weir::pi {

inline constexpr std::int64_t kNewestVersion = 3;

// A line as an entry, before it has a place in the tree.
struct Mapped {
  std::string_view type;
  json::Value body;
  std::optional<std::string_view> id;  // the source's own
  bool has_parent = false;             // it names one (else it is a root)
  std::string_view parent;             // the one it names
  bool side = false;                   // outside the tree: nothing can descend from it
  std::optional<TimeMs> at;
  std::string_view unknown;  // the type, if it is not one we know; else empty
  bool native = false;       // an entry of Weir's own that was exported to pi earlier
};

// A line of format 1 has neither id nor parent: the index is its id, the line before its parent.
json::Value upgrade_v1(const json::Value& line, std::size_t index, std::string_view previous_id, json::Arena& arena);

// Format 2 called custom messages hookMessage.
json::Value upgrade_v2(const json::Value& line, json::Arena& arena);

// `line` must be an object with a string `type`.
Mapped map_line(const json::Value& line, json::Arena& arena);

// A line that is no such object, kept with its text (base64 if it is not UTF-8).
Mapped map_malformed(std::string_view text, json::Arena& arena);

// A line that can be read but not stored as what it is: its text, where it stood in the tree, so that no path is cut.
Mapped keep_as_text(const Mapped& line, std::string_view text, json::Arena& arena);

// Is this stored body one that the importer put beside the tree?
bool is_side(std::string_view type, std::string_view body);

// The body with what the importer decided against the source: another id, no parent although one was named.
json::Value note_in_extra(const json::Value& body, std::string_view key, json::Value value, json::Arena& arena);

// How an entry is written as a line of pi's format 3.
struct Placed {
  std::string_view id;
  std::optional<std::string_view> parent;
  TimeMs at;
};
// The line as JSON; for a malformed one the text it had, in `text`.
struct Line {
  json::Value value;
  std::optional<std::string> text;
};
Line unmap(std::string_view type, const json::Value& body, const Placed& placed, json::Arena& arena);

// An entry that never was a line of pi's: a `custom` line of type `weir:<type>`, which map_line turns back.
json::Value native_line(std::string_view type, const json::Value& body, const Placed& placed, json::Arena& arena);

}  // namespace weir::pi
