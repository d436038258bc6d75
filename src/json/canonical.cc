#include "json/canonical.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace weir::json {
namespace {

// Escape letter for bytes that have one, 'u' for other control characters, 0 for bytes written as they are.
constexpr auto kEscape = [] {
  struct {
    char of[256]{};
  } table;
  for (int i = 0; i < 0x20; ++i) table.of[i] = 'u';
  table.of['\b'] = 'b';
  table.of['\t'] = 't';
  table.of['\n'] = 'n';
  table.of['\f'] = 'f';
  table.of['\r'] = 'r';
  table.of['"'] = '"';
  table.of['\\'] = '\\';
  return table;
}();

// Bit 7 of the first of eight bytes that needs an escape, and maybe of later ones; 0 for none. Bytes above 0x7F never do.
std::uint64_t escapes(std::uint64_t w) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  const auto zero_byte = [](std::uint64_t v) { return (v - kOnes) & ~v; };
  return (((w - kOnes * 0x20) & ~w) | zero_byte(w ^ (kOnes * '"')) | zero_byte(w ^ (kOnes * '\\'))) & kHigh;
}

void write_integer(std::int64_t i, std::string& out) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, i).ptr;
  out.append(buffer, end);
}

void indent(std::string& out, int depth) { out.append(1, '\n').append(static_cast<std::size_t>(depth) * 2, ' '); }

void write_pretty(const Value& value, std::string& out, int depth) {
  if (value.is_array() && !value.items().empty()) {
    out += '[';
    const char* comma = "";
    for (const Value& item : value.items()) {
      out += comma;
      comma = ",";
      indent(out, depth + 1);
      write_pretty(item, out, depth + 1);
    }
    indent(out, depth);
    out += ']';
  } else if (value.is_object() && !value.members().empty()) {
    out += '{';
    const char* comma = "";
    for (const Member& member : value.members()) {
      out += comma;
      comma = ",";
      indent(out, depth + 1);
      write_string(member.key, out);
      out += ": ";
      write_pretty(member.value, out, depth + 1);
    }
    indent(out, depth);
    out += '}';
  } else {
    write_canonical(value, out);
  }
}

}  // namespace

// By way of a small buffer: eight bytes at a time are copied and looked at, and the string grows in few steps.
void write_string(std::string_view text, std::string& out) {
  static_assert(std::endian::native == std::endian::little);
  char buffer[512];
  std::size_t have = 0;
  buffer[have++] = '"';
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p < end) {
    if (have > sizeof buffer - 16) {
      out.append(buffer, have);
      have = 0;
    }
    if (end - p >= 8) {
      std::uint64_t word;
      std::memcpy(&word, p, 8);
      std::memcpy(buffer + have, &word, 8);
      const std::uint64_t found = escapes(word);
      const int plain = found == 0 ? 8 : std::countr_zero(found) / 8;
      p += plain;
      have += static_cast<std::size_t>(plain);
      if (found == 0) continue;
    }
    const char c = *p++;
    const char escape = kEscape.of[static_cast<unsigned char>(c)];
    if (escape == 0) {
      buffer[have++] = c;
      continue;
    }
    buffer[have++] = '\\';
    buffer[have++] = escape;
    if (escape != 'u') continue;
    static constexpr char kHex[] = "0123456789abcdef";
    for (const char digit : {'0', '0', kHex[c >> 4], kHex[c & 15]}) buffer[have++] = digit;
  }
  buffer[have++] = '"';
  out.append(buffer, have);
}

void write_number(double number, std::string& out) {
  WEIR_CHECK(std::isfinite(number));
  if (number == 0) {
    out += '0';  // also for -0
    return;
  }
  // Shortest digits in scientific form, then laid out as ECMAScript's Number::toString does.
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  const char* p = buffer;
  if (*p == '-') {
    out += '-';
    ++p;
  }
  char digits[24];
  int count = 0;
  for (; *p != 'e'; ++p) {
    if (*p != '.') digits[count++] = *p;
  }
  int exponent = 0;
  ++p;
  if (*p == '+') ++p;
  std::from_chars(p, end, exponent);
  const int point = exponent + 1;  // the decimal point stands after this many digits
  if (point > 21 || point < -5) {
    out += digits[0];
    if (count > 1) out.append(1, '.').append(digits + 1, digits + count);
    out.append(exponent < 0 ? "e-" : "e+");
    write_integer(std::abs(exponent), out);
  } else if (point <= 0) {
    out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits, digits + count);
  } else if (point >= count) {
    out.append(digits, digits + count).append(static_cast<std::size_t>(point - count), '0');
  } else {
    out.append(digits, digits + point).append(1, '.').append(digits + point, digits + count);
  }
}

void write_canonical(const Value& value, std::string& out) {
  switch (value.kind()) {
    case Kind::null:
      out += "null";
      break;
    case Kind::boolean:
      out += value.boolean() ? "true" : "false";
      break;
    case Kind::integer:
      write_integer(value.integer(), out);
      break;
    case Kind::real:
      write_number(value.real(), out);
      break;
    case Kind::big_integer:
    case Kind::raw:
      out += value.text();
      break;
    case Kind::string:
      write_string(value.text(), out);
      break;
    case Kind::array: {
      char before = '[';
      for (const Value& item : value.items()) {
        out += before;
        before = ',';
        write_canonical(item, out);
      }
      out += before == '[' ? "[]" : "]";
      break;
    }
    case Kind::object: {
      char before = '{';
      for (const Member& member : value.members()) {
        out += before;
        before = ',';
        write_string(member.key, out);
        out += ':';
        write_canonical(member.value, out);
      }
      out += before == '{' ? "{}" : "}";
      break;
    }
  }
}

std::string canonical(const Value& value) {
  std::string out;
  write_canonical(value, out);
  return out;
}

std::string pretty(const Value& value) {
  std::string out;
  write_pretty(value, out, 0);
  return out;
}

}  // namespace weir::json
