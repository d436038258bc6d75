// Data as it may stand in a narrative: whatever it holds, it begins no line, closes no fence and shows all it has. Total:
// bytes that are no UTF-8 become U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace weir::compaction {

// For running text, behind a label: one line, controls and what hides or reorders text as \u{hex}, Markdown's signs
// behind a backslash.
std::string escaped(std::string_view data);

// An id in backticks: one line, a backtick in it as \u{60}; ? for an empty one.
std::string code_span(std::string_view id);

// A `text` fence, every line of the data behind `| `; only line feeds and tabs are kept of the controls.
std::string fenced(std::string_view data);

}  // namespace weir::compaction
