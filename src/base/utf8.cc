#include "base/utf8.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

namespace weir {
namespace {

// Bytes of the character that `first` begins; 1 for what begins none.
std::size_t sequence_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
}

// Bytes at the end of `text` that begin a character without ending it.
std::size_t begun_at_end(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const char c = text[text.size() - back];
    if ((c & 0xC0) != 0x80) return sequence_length(c) > back ? back : 0;
  }
  return 0;
}

}  // namespace

std::optional<char32_t> decode_utf8(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) {
    ++at;
    return std::nullopt;
  }
  char32_t c = first & (0xFF >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) {
      ++at;
      return std::nullopt;
    }
    c = c << 6 | (byte(at + i) & 0x3F);
  }
  static constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < kLeast[length] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
    ++at;
    return std::nullopt;
  }
  at += length;
  return c;
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

bool valid_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::string as_utf8(std::string_view text) { return valid_utf8(text) ? std::string(text) : printable(text); }

bool Utf8Check::add(std::string_view part) {
  if (!begun_.empty()) {
    const std::size_t length = sequence_length(begun_[0]), missing = std::min(length - begun_.size(), part.size());
    begun_ += part.substr(0, missing);
    part.remove_prefix(missing);
    if (begun_.size() < length) return true;
    if (!valid_utf8(begun_)) return false;
  }
  const std::string_view begun = part.substr(part.size() - begun_at_end(part));
  begun_ = begun;
  part.remove_suffix(begun.size());
  return valid_utf8(part);
}

std::string_view utf8_prefix(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (count-- > 0 && at < text.size()) decode_utf8(text, at);
  return text.substr(0, at);
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_invisible(char32_t c) {
  return c == 0xAD || c == 0x061C || c == 0x180E || (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) ||
         (c >= 0xE0000 && c <= 0xE007F);
}

std::string printable(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const auto c = decode_utf8(text, at);
    if (!c) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[start]));
    } else if (keep_lines && (*c == '\n' || *c == '\t')) {
      out += static_cast<char>(*c);
    } else if (is_control(*c)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(*c));
    } else if (is_invisible(*c)) {
      out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(*c));
    } else {
      out.append(text.substr(start, at - start));
    }
  }
  return out;
}

std::string excerpt(std::string_view text, std::size_t count) { return printable(utf8_prefix(text, count)); }

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode_utf8(text, at);
    if (!c) {
      ++width;
      continue;
    }
    if ((*c >= 0x300 && *c <= 0x36F) || (*c >= 0xFE00 && *c <= 0xFE0F) || *c == 0x200D) continue;
    const bool wide = (*c >= 0x1100 && *c <= 0x115F) || (*c >= 0x2E80 && *c <= 0xA4CF) || (*c >= 0xAC00 && *c <= 0xD7A3) ||
                      (*c >= 0xF900 && *c <= 0xFAFF) || (*c >= 0xFE30 && *c <= 0xFE6F) || (*c >= 0xFF00 && *c <= 0xFF60) ||
                      (*c >= 0x1F300 && *c <= 0x1FAFF) || (*c >= 0x20000 && *c <= 0x3FFFD);
    width += wide ? 2 : 1;
  }
  return width;
}

}  // namespace weir
