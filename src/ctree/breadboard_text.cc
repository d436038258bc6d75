#include "ctree/breadboard_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/sha1.h"
#include "base/sha256.h"
#include "ctree/breadboard_python.h"

namespace weir::breadboard {
namespace {

constexpr std::string_view kSecretKeys[] = {"api_key", "authorization", "openai_api_key", "openrouter_api_key", "anthropic_api_key"};
constexpr std::string_view kVolatileKeys[] = {"seq", "timestamp", "timestamp_ms"};

template <std::size_t N>
bool is_one_of(std::string_view key, const std::string_view (&keys)[N]) {
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

bool is_secret_key(std::string_view key) {
  constexpr std::size_t kShortest = sizeof("api_key") - 1;
  constexpr std::size_t kLongest = sizeof("openrouter_api_key") + 1;  // a Kelvin sign for the k takes two bytes more
  return key.size() >= kShortest && key.size() <= kLongest && is_one_of(lower(key), kSecretKeys);
}

void write_escape(char32_t unit, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[unit >> shift & 15];
}

void write_scalar(const Value& value, std::string& out) {
  switch (value.kind()) {
    case Kind::boolean:
      out += value.boolean() ? "true" : "false";
      break;
    case Kind::integer:
      out += value.text();
      break;
    case Kind::real:
      out += number_text(value.real());
      break;
    case Kind::string:
      write_string(value.text(), out);
      break;
    default:
      out += "null";
  }
}

template <bool kSanitise>
void write(const Value& value, std::string& out) {
  if (value.is_array()) {
    out += '[';
    const char* comma = "";
    for (const Value& item : value.items()) {
      out += comma;
      comma = ",";
      write<kSanitise>(item, out);
    }
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    const char* comma = "";
    for (const Member& member : value.members()) {
      if (kSanitise && is_one_of(member.key, kVolatileKeys)) continue;
      out += comma;
      comma = ",";
      write_string(member.key, out);
      out += ':';
      if (kSanitise && is_secret_key(member.key)) {
        out += "\"***REDACTED***\"";
      } else {
        write<kSanitise>(member.value, out);
      }
    }
    out += '}';
  } else {
    write_scalar(value, out);
  }
}

void new_line(std::string& out, std::size_t depth) { out.append(1, '\n').append(depth * 2, ' '); }

void write_indented(const Value& value, std::string& out, std::size_t depth) {
  const bool array = value.is_array();
  if (value.items().empty() && value.members().empty()) return write<false>(value, out);
  out += array ? '[' : '{';
  const char* comma = "";
  for (const Value& item : value.items()) {
    out += comma;
    comma = ",";
    new_line(out, depth + 1);
    write_indented(item, out, depth + 1);
  }
  for (const Member& member : value.members()) {
    out += comma;
    comma = ",";
    new_line(out, depth + 1);
    write_string(member.key, out);
    out += ": ";
    write_indented(member.value, out, depth + 1);
  }
  new_line(out, depth);
  out += array ? ']' : '}';
}

}  // namespace

void write_string(std::string_view text, std::string& out) {
  static constexpr std::string_view kShort = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    while (at < text.size() && text[at] >= 0x20 && text[at] < 0x7F && text[at] != '"' && text[at] != '\\') ++at;
    out.append(text, start, at - start);
    if (at == text.size()) break;
    if (const std::size_t letter = kShort.find(text[at]); letter != std::string_view::npos) {
      out.append(1, '\\').append(1, kLetters[letter]);
      ++at;
    } else if (const char32_t point = next_code_point(text, at); point < 0x10000) {
      write_escape(point, out);
    } else {
      write_escape(0xD800 + ((point - 0x10000) >> 10), out);
      write_escape(0xDC00 + (point & 0x3FF), out);
    }
  }
  out += '"';
}

std::string number_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  // Shortest digits in scientific form, laid out as Python's repr does.
  char buffer[40];
  const char* const end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  const char* p = buffer;
  std::string out, digits;
  if (*p == '-') out += *p++;
  for (; *p != 'e'; ++p) {
    if (*p != '.') digits += *p;
  }
  int exponent = 0;
  std::from_chars(p + (p[1] == '+' ? 2 : 1), end, exponent);
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1) out.append(".").append(digits, 1);
    const std::string size = std::to_string(std::abs(exponent));
    return out.append(exponent < 0 ? "e-" : "e+").append(size.size() < 2 ? "0" : "").append(size);
  }
  if (exponent < 0) return out.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
  const std::size_t point = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= point) return out.append(digits).append(point - digits.size(), '0').append(".0");
  return out.append(digits, 0, point).append(".").append(digits, point);
}

std::string plain(const Value& value) {
  std::string out;
  write<false>(value, out);
  return out;
}

std::string canonical(const Value& value) {
  std::string out;
  write<true>(value, out);
  return out;
}

std::string indented(const Value& value) {
  std::string out;
  write_indented(value, out, 0);
  return out;
}

std::string sha1_of_plain(const Value& value) { return sha1_hex(plain(value)); }
std::string sha1_of_canonical(const Value& value) { return sha1_hex(canonical(value)); }
std::string sha256_of_plain(const Value& value) { return sha256(plain(value)).hex(); }
std::string sha256_of_canonical(const Value& value) { return sha256(canonical(value)).hex(); }

}  // namespace weir::breadboard
