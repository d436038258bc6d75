#include "research/url_query.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace weir::research {
namespace {

// A part that makes a key a secret's, found by its length first: most keys are asked about and are none.
bool is_secret_part(std::string_view part) {
  switch (part.size()) {
    case 3:
      return part == "key";
    case 4:
      return part == "auth";
    case 5:
      return part == "token";
    case 6:
      return part == "apikey" || part == "passwd" || part == "secret";
    case 7:
      return part == "session";
    case 8:
      return part == "password";
    case 9:
      return part == "sessionid";
    default:
      return false;
  }
}
constexpr std::size_t kLongestPart = 9;

constexpr std::array<signed char, 256> make_hex() {
  std::array<signed char, 256> table{};
  for (auto& digit : table) digit = -1;
  for (int i = 0; i < 10; ++i) table['0' + i] = static_cast<signed char>(i);
  for (int i = 0; i < 6; ++i) table['a' + i] = table['A' + i] = static_cast<signed char>(10 + i);
  return table;
}
constexpr auto kHex = make_hex();

constexpr std::array<bool, 256> make_plain() {
  std::array<bool, 256> table{};
  for (int c = 0; c < 26; ++c) table['a' + c] = table['A' + c] = true;
  for (int c = 0; c < 10; ++c) table['0' + c] = true;
  for (const char c : std::string_view("-_.!~*'()")) table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr auto kPlain = make_plain();

// The byte that stands at `at`, which moves past it.
unsigned char next_byte(std::string_view raw, std::size_t& at) {
  const char c = raw[at++];
  if (c == '+') return ' ';
  if (c == '%' && raw.size() - at >= 2) {
    const int high = kHex[static_cast<unsigned char>(raw[at])], low = kHex[static_cast<unsigned char>(raw[at + 1])];
    if (high >= 0 && low >= 0) {
      at += 2;
      return static_cast<unsigned char>(high << 4 | low);
    }
  }
  return static_cast<unsigned char>(c);
}

// How many bytes the broken sequence at `at` has for which the Encoding Standard writes one U+FFFD: as many as could
// still have begun a character.
std::size_t broken_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const int lead = byte(at);
  int least = 0x80, most = 0xBF;
  std::size_t length = 0;  // of the whole character
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) least = 0xA0;
    if (lead == 0xED) most = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) least = 0x90;
    if (lead == 0xF4) most = 0x8F;
  }
  std::size_t good = 1;
  for (; good < length && byte(at + good) >= least && byte(at + good) <= most; ++good) least = 0x80, most = 0xBF;
  return good;
}

std::string repaired(std::string text) {
  if (valid_utf8(text)) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    if (decode_utf8(text, at)) {
      out.append(text, start, at - start);
    } else {
      out += "\xEF\xBF\xBD";
      at = start + broken_length(text, start);
    }
  }
  return out;
}

// A part of a key as far as it matters: in lower case, and whether it is longer than any secret one.
struct Part {
  char text[kLongestPart];
  std::size_t size = 0;
  void add(unsigned char c) {
    if (size < kLongestPart) text[size] = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    if (size <= kLongestPart) ++size;
  }
  bool too_long() const { return size > kLongestPart; }
  bool secret() const { return !too_long() && is_secret_part({text, size}); }
};

bool is_separator(unsigned char c) { return c == '_' || c == '-' || c == '.'; }

}  // namespace

std::string form_decoded(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) out += static_cast<char>(next_byte(raw, at));
  return repaired(std::move(out));
}

bool is_form_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return kPlain[static_cast<unsigned char>(c)]; });
}

void append_form_encoded(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain[byte]) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
}

std::size_t last_secret_part(std::string_view raw_key) {
  std::size_t found = std::string_view::npos, begin = 0;
  Part part;
  for (std::size_t at = 0; at < raw_key.size();) {
    const unsigned char c = next_byte(raw_key, at);
    if (!is_separator(c)) {
      part.add(c);
      continue;
    }
    if (part.secret()) found = begin;
    begin = at;
    part = Part();
  }
  return part.secret() ? begin : found;
}

bool first_part_is_secret(std::string_view raw_key) {
  Part part;
  for (std::size_t at = 0; at < raw_key.size() && !part.too_long();) {
    const unsigned char c = next_byte(raw_key, at);
    if (is_separator(c)) break;
    part.add(c);
  }
  return part.secret();
}

}  // namespace weir::research
