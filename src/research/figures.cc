#include "research/figures.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/sha256.h"
#include "json/canonical.h"
#include "research/t_order.h"

namespace weir::research {
namespace {

constexpr double kMillion = 1e6;

// A key that an ECMAScript object takes for an index: no sign, no zero in front, below 2^32 - 1.
bool is_index(std::string_view key, std::uint64_t& index) {
  if (key.empty() || key.size() > 10 || (key[0] == '0' && key.size() > 1)) return false;
  index = 0;
  for (const char c : key) {
    if (c < '0' || c > '9') return false;
    index = index * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return index < 0xFFFFFFFFu;
}

bool upstream_before(const json::Member& a, const json::Member& b) {
  std::uint64_t i = 0, j = 0;
  const bool a_index = is_index(a.key, i), b_index = is_index(b.key, j);
  if (a_index != b_index) return a_index;
  return a_index ? i < j : compare_t(a.key, b.key) < 0;
}

void write_upstream(const json::Value& value, std::string& out) {
  if (value.is_array()) {
    out += '[';
    const char* comma = "";
    for (const json::Value& item : value.items()) {
      out += comma;
      comma = ",";
      write_upstream(item, out);
    }
    out += ']';
  } else if (value.is_object()) {
    std::vector<json::Member> members(value.members().begin(), value.members().end());
    std::sort(members.begin(), members.end(), upstream_before);
    out += '{';
    const char* comma = "";
    for (const json::Member& member : members) {
      out += comma;
      comma = ",";
      json::write_string(member.key, out);
      out += ':';
      write_upstream(member.value, out);
    }
    out += '}';
  } else {
    json::write_canonical(value, out);
  }
}

}  // namespace

// value x 10^6 is taken apart into the product that a double holds and what that lost, which fma gives exactly; so a tie is
// known to be one, and what is a little below a tie is not rounded up to it.
double rounded(double value) {
  WEIR_CHECK(std::isfinite(value));
  const double size = std::abs(value), product = size * kMillion;
  if (product >= 4503599627370496.0) return value;  // 2^52: there doubles lie further apart than millionths
  const double lost = std::fma(size, kMillion, -product);
  const double whole = std::floor(product), rest = product - whole;
  const bool tie_goes_out = value >= 0;  // up, which below zero is towards it
  const bool out = rest > 0.5 || (rest == 0.5 && (lost > 0 || (lost == 0 && tie_goes_out)));
  const double millionths = whole + (out ? 1 : 0);
  return millionths == 0 ? 0 : std::copysign(millionths / kMillion, value);
}

double kb_figure(std::uint64_t bytes) {
  // In two parts, so that no file's size overflows: 1,024 bytes are a million millionths.
  if (bytes >= std::uint64_t{1} << 53) return static_cast<double>(bytes) / 1024;
  const std::uint64_t millionths = bytes / 1024 * 1000000 + (bytes % 1024 * 1000000 + 512) / 1024;
  return static_cast<double>(millionths) / kMillion;
}

double ratio_figure(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : rounded(static_cast<double>(part) / static_cast<double>(whole));
}

std::uint64_t cap_bytes(double kb) {
  WEIR_CHECK(!std::isnan(kb));
  if (kb <= 0) return 0;
  const double bytes = std::floor(kb * 1024);  // exact: only the exponent changes
  return bytes < 9007199254740992.0 ? static_cast<std::uint64_t>(bytes) : std::uint64_t{1} << 53;
}

std::string upstream_text(const json::Value& value) {
  std::string out;
  write_upstream(value, out);
  return out;
}

std::string digest_upstream(const json::Value& value) { return "sha256:" + sha256(upstream_text(value)).hex(); }

}  // namespace weir::research
