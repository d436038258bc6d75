#include "ctree/breadboard_python.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/limits.h"
#include "base/utf8.h"
#include "ctree/breadboard_text.h"

namespace weir::breadboard {
namespace {

// The zeros of the rows of decimal digits beyond ASCII, as of Unicode 14.
constexpr char32_t kZeros[] = {
    0x660,   0x6F0,   0x7C0,   0x966,   0x9E6,   0xA66,   0xAE6,   0xB66,   0xBE6,   0xC66,   0xCE6,   0xD66,   0xDE6,
    0xE50,   0xED0,   0xF20,   0x1040,  0x1090,  0x17E0,  0x1810,  0x1946,  0x19D0,  0x1A80,  0x1A90,  0x1B50,  0x1BB0,
    0x1C40,  0x1C50,  0xA620,  0xA8D0,  0xA900,  0xA9D0,  0xA9F0,  0xAA50,  0xABF0,  0xFF10,  0x104A0, 0x10D30, 0x11066,
    0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0, 0x11950, 0x11C50, 0x11D50,
    0x11DA0, 0x16A60, 0x16AC0, 0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0,
};

// The text with digits and spaces of other scripts as ASCII ones, and '?' for anything int() cannot take.
std::string ascii_digits(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    const auto* zero = std::upper_bound(std::begin(kZeros), std::end(kZeros), c);
    if (c < 0x7F) {
      out += static_cast<char>(c);
    } else if (is_space(c)) {
      out += ' ';
    } else if (zero != std::begin(kZeros) && c - *(zero - 1) < 10) {
      out += static_cast<char>('0' + (c - *(zero - 1)));
    } else {
      out += '?';
    }
  }
  return out;
}

Value integer_of(bool negative, std::string_view digits) {
  const std::size_t first = digits.find_first_not_of('0');
  if (first == std::string_view::npos) return Value(0);
  return Value::integer((negative ? "-" : "") + std::string(digits.substr(first)));
}

std::optional<Value> parse_int(std::string_view written) {
  const std::string ascii = ascii_digits(written);
  std::string_view text = ascii;
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  std::string digits;
  bool digit_before = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c == '_' && digit_before)) return std::nullopt;
    if (digit) digits += c;
    digit_before = digit;
  }
  if (!digit_before || digits.size() > limits::kBreadboardIntegerDigits) return std::nullopt;
  return integer_of(negative, digits);
}

std::optional<Value> cut_to_int(double number) {
  if (!std::isfinite(number)) return std::nullopt;
  char buffer[std::numeric_limits<double>::max_exponent10 + 4];  // sign, 309 digits
  const double cut = std::trunc(std::abs(number));
  const auto* end = std::to_chars(buffer, buffer + sizeof buffer, cut, std::chars_format::fixed, 0).ptr;
  return integer_of(number < 0, {buffer, static_cast<std::size_t>(end - buffer)});
}

// An integer or boolean as digits.
std::string_view digits_of(const Value& value) {
  if (value.kind() == Kind::integer) return value.text();
  return value.boolean() ? "1" : "0";
}

template <typename Map>
std::string mapped(std::string_view text, Map map) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) append_utf8(out, map(next_code_point(text, at)));
  return out;
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0xC0) return first;
  char32_t c = first >= 0xF0 ? first & 0x07 : first >= 0xE0 ? first & 0x0F : first & 0x1F;
  while (at < text.size() && (text[at] & 0xC0) == 0x80) c = c << 6 | (text[at++] & 0x3F);
  return c;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string_view first_code_points(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; count > 0 && at < text.size(); --count) next_code_point(text, at);
  return text.substr(0, at);
}

bool is_space(char32_t c) { return weir::is_space(c) || (c >= 0x1C && c <= 0x1F); }

std::string_view strip(std::string_view text) {
  std::size_t begin = 0, end = 0;
  bool started = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    if (is_space(next_code_point(text, at))) continue;
    if (!started) begin = start;
    started = true;
    end = at;
  }
  return text.substr(begin, end - begin);
}

// Of all characters beyond ASCII only the Kelvin sign has a lower case that is one ASCII letter, and only the long s and
// the dotless i such an upper case.
std::string lower(std::string_view text) {
  return mapped(text, [](char32_t c) { return c >= 'A' && c <= 'Z' ? c + 32 : c == 0x212A ? U'k' : c; });
}

std::string upper(std::string_view text) {
  return mapped(text, [](char32_t c) { return c >= 'a' && c <= 'z' ? c - 32 : c == 0x17F ? U'S' : c == 0x131 ? U'I' : c; });
}

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return false;
    case Kind::boolean:
      return value.boolean();
    case Kind::integer:
      return value.text() != "0";
    case Kind::real:
      return value.real() != 0;
    case Kind::string:
      return !value.text().empty();
    case Kind::array:
      return !value.items().empty();
    case Kind::object:
      return !value.members().empty();
  }
  return false;
}

bool is_int(const Value& value) { return value.kind() == Kind::integer || value.kind() == Kind::boolean; }

bool is_negative(const Value& integer) { return digits_of(integer).starts_with('-'); }

int compare_ints(const Value& a, const Value& b) {
  const std::string_view x = digits_of(a), y = digits_of(b);
  const bool negative = is_negative(a);
  if (negative != is_negative(b)) return negative ? -1 : 1;
  const int sizes = x.size() == y.size() ? x.compare(y) : x.size() < y.size() ? -1 : 1;
  return negative ? -sizes : sizes;
}

std::int64_t nearest_int64(const Value& integer) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::string_view digits = digits_of(integer);
  std::int64_t out = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (read.ec == std::errc()) return out;
  return is_negative(integer) ? Limits::min() : Limits::max();
}

std::optional<Value> to_int(const Value& value) {
  switch (value.kind()) {
    case Kind::integer:
      return value;
    case Kind::boolean:
      return Value(value.boolean() ? 1 : 0);
    case Kind::real:
      return cut_to_int(value.real());
    case Kind::string:
      return parse_int(value.text());
    default:
      return std::nullopt;
  }
}

Result<std::string> to_str(const Value& value, std::string_view what) {
  switch (value.kind()) {
    case Kind::null:
      return std::string("None");
    case Kind::boolean:
      return std::string(value.boolean() ? "True" : "False");
    case Kind::integer:
    case Kind::string:
      return value.text();
    case Kind::real:
      if (std::isnan(value.real())) return std::string("nan");
      if (std::isinf(value.real())) return std::string(value.real() < 0 ? "-inf" : "inf");
      return number_text(value.real());
    default:
      return Error(ErrorCode::NOT_REPRODUCIBLE,
                   std::string(what) + " is " + (value.is_array() ? "an array" : "an object") + ", which has no defined text")
          .with("what", std::string(what));
  }
}

Result<std::vector<Value>> iterate(const Value& value, std::string_view what) {
  std::vector<Value> out(value.items().begin(), value.items().end());
  for (const Member& member : value.members()) out.emplace_back(member.key);
  if (value.is_array() || value.is_object()) return out;
  if (!value.is_string()) return Error(ErrorCode::INVALID_FIELD, std::string(what) + " is no list").with("what", std::string(what));
  for (std::size_t at = 0; at < value.text().size();) {
    const std::size_t start = at;
    next_code_point(value.text(), at);
    out.emplace_back(value.text().substr(start, at - start));
  }
  return out;
}

}  // namespace weir::breadboard
