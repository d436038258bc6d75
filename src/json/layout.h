// JSON for people with members in an order of their own: those a layout names first, in its order, the others after them in
// canonical order. Strings and numbers are written as in canonical text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "json/value.h"

namespace weir::json {

struct Layout {
  std::string_view key;               // `*`: every member that no other row names
  std::span<const Layout> members{};  // of the object there, or of each object in the array there
};

// Indented by two, with a line feed at the end.
std::string write_document(const Value& value, std::span<const Layout> layout);

// On one line, without spaces and without the line feed.
std::string write_line(const Value& value, std::span<const Layout> layout);

}  // namespace weir::json
