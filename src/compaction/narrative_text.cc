#include "compaction/narrative_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/utf8.h"

namespace weir::compaction {
namespace {

// Controls, and what hides or reorders the text around it. Joiners (U+200C, U+200D) stay: words and emoji need them.
constexpr struct {
  char32_t first, last;
} kShownAsCode[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x061C, 0x061C}, {0x180E, 0x180E},  {0x200B, 0x200B},
                    {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE007F}};

bool shown_as_code(char32_t c) {
  return std::any_of(std::begin(kShownAsCode), std::end(kShownAsCode),
                     [&](const auto& range) { return c >= range.first && c <= range.last; });
}

void append_code(std::string& out, char32_t c) { fmt::format_to(std::back_inserter(out), "\\u{{{:x}}}", static_cast<std::uint32_t>(c)); }

using ByteSet = std::array<bool, 256>;

constexpr ByteSet set_of(std::string_view bytes) {
  ByteSet set{};
  for (const char c : bytes) set[static_cast<unsigned char>(c)] = true;
  return set;
}

// Everything but printable ASCII.
constexpr ByteSet kUnusual = [] {
  ByteSet set{};
  for (std::size_t c = 0; c < set.size(); ++c) set[c] = c < ' ' || c > '~';
  return set;
}();

// Appends the text in runs; at a byte of the set, `put(at)` appends instead and moves on. Most data has none.
template <typename Put>
void append_runs(std::string& out, std::string_view text, const ByteSet& set, Put put) {
  out.reserve(out.size() + text.size() + text.size() / 8);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    while (at < text.size() && !set[static_cast<unsigned char>(text[at])]) ++at;
    out += text.substr(start, at - start);
    if (at < text.size()) put(at);
  }
}

// The data with nothing hidden in it: spaces at its edges count as hidden.
std::string shown(std::string_view data, bool keep_lines) {
  const std::size_t first = std::min(data.find_first_not_of(' '), data.size());
  const std::size_t behind = std::max(data.find_last_not_of(' ') + 1, first);  // npos + 1 is 0
  const std::string_view middle = data.substr(first, behind - first);
  std::string out;
  for (std::size_t i = 0; i < first; ++i) append_code(out, ' ');
  append_runs(out, middle, kUnusual, [&](std::size_t& at) {
    const char32_t c = decode_utf8(middle, at).value_or(0xFFFD);
    if (c == '\n' || c == '\t') {
      out += keep_lines ? middle.substr(at - 1, 1) : c == '\n' ? "\\n" : "\\t";
    } else if (shown_as_code(c)) {
      append_code(out, c);
    } else {
      append_utf8(out, c);
    }
  });
  for (std::size_t i = behind; i < data.size(); ++i) append_code(out, ' ');
  return out;
}

}  // namespace

std::string escaped(std::string_view data) {
  static constexpr ByteSet kSigns = set_of("\\`*_[]<>#|");
  const std::string plain = shown(data, false);
  std::string out;
  append_runs(out, plain, kSigns, [&](std::size_t& at) { (out += '\\') += plain[at++]; });
  return out;
}

std::string code_span(std::string_view id) {
  static constexpr ByteSet kBacktick = set_of("`");
  std::string out = "`";
  append_runs(out, id.empty() ? "?" : shown(id, false), kBacktick, [&](std::size_t& at) { append_code(out, '`'), ++at; });
  out += '`';
  return out;
}

std::string fenced(std::string_view data) {
  static constexpr ByteSet kLineFeed = set_of("\n");
  std::string out = "```text\n| ";
  append_runs(out, shown(data, true), kLineFeed, [&](std::size_t& at) { out += "\n| ", ++at; });
  out += "\n```\n";
  return out;
}

}  // namespace weir::compaction
