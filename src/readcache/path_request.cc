#include "readcache/path_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/paths.h"
#include "base/secrets.h"
#include "base/unicode.h"
#include "base/utf8.h"
#include "json/canonical.h"

namespace weir {
namespace {

constexpr std::size_t kShown = 80;  // of a caller's words, in a message
constexpr std::string_view kNarrowSpace = "\u202f", kCurlyQuote = "\u2019";

bool is_path_space(char32_t c) { return c == 0xA0 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F || c == 0x3000; }

std::string plain_spaces(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const auto c = decode_utf8(text, at);
    if (c && is_path_space(*c)) {
      out += ' ';
    } else {
      out += text.substr(from, at - from);
    }
  }
  return out;
}

// macOS names screenshots with a narrow space before AM and PM.
std::string narrow_before_am_pm(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    const bool found = rest.size() >= 4 && rest[0] == ' ' && (rest[1] == 'A' || rest[1] == 'a' || rest[1] == 'P' || rest[1] == 'p') &&
                       (rest[2] == 'M' || rest[2] == 'm') && rest[3] == '.';
    if (found) {
      out += kNarrowSpace;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string curly_quotes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += kCurlyQuote;
    } else {
      out += c;
    }
  }
  return out;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::uint64_t parse_digits(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc::result_out_of_range ? UINT64_MAX : value;
}

Error bad_count(std::string_view given, std::string_view name, std::string_view title) {
  return Error(ErrorCode::BAD_RANGE,
               fmt::format("Invalid {} \"{}\". {} must be a positive integer.", name, masked_excerpt(given, kShown), title));
}

Result<std::uint64_t> parse_count(std::string_view number, std::string_view name, std::string_view title) {
  // Canonical JSON writes integers from 10^21 as 1e+21.
  const bool huge = number.find("e+") != std::string_view::npos && !number.starts_with('-');
  const std::uint64_t value = huge ? UINT64_MAX : all_digits(number) ? parse_digits(number) : 0;
  if (value > 0) return value;
  return bad_count(number, name, title);
}

// Text is no number, whatever it says.
Result<std::optional<std::uint64_t>> parse_value(const json::Value* given, std::string_view name, std::string_view title) {
  if (given == nullptr) return std::optional<std::uint64_t>();
  if (given->is_string()) return bad_count(given->text(), name, title);
  TRY(const std::uint64_t count, parse_count(json::canonical(*given), name, title));
  return std::optional(count);
}

}  // namespace

Result<LineRequest> parse_line_range(std::string_view suffix) {
  const auto bad = [](std::string message) { return Error(ErrorCode::BAD_RANGE_SUFFIX, std::move(message)); };
  const std::size_t dash = suffix.find('-');
  const bool ranged = dash != std::string_view::npos;
  const std::string_view first = suffix.substr(0, dash), last = ranged ? suffix.substr(dash + 1) : first;
  if (!all_digits(first) || !all_digits(last))
    return bad(fmt::format("Invalid range suffix \"{}\". Use :<start> or :<start>-<end>.", suffix));
  const std::uint64_t start = parse_digits(first), end = parse_digits(last);
  if (start == 0) return bad("Invalid start line number \"0\". Line numbers must be positive integers.");
  if (end == 0) return bad("Invalid end line number \"0\". Line numbers must be positive integers.");
  if (end < start) return bad(fmt::format("Invalid range \"{}\": end line must be greater than or equal to start line.", suffix));
  LineRequest lines;
  lines.offset = start;
  if (ranged) lines.limit = end - start + 1;
  return lines;
}

std::string expand_path(std::string_view given, std::string_view home) {
  if (given.starts_with('@')) given.remove_prefix(1);
  std::string path = plain_spaces(given);
  if (!home.empty() && (path == "~" || path.starts_with("~/"))) path.replace(0, 1, home);
  return path;
}

std::string absolute_path(std::string_view given, const PathContext& context) {
  std::string path = expand_path(given, context.home);
  if (!path.starts_with('/')) path = path.empty() ? context.cwd : context.cwd + "/" + path;
  return collapse_path(path);
}

std::vector<std::string> path_variants(const std::string& absolute) {
  const std::string nfd = to_nfd(absolute);
  std::vector<std::string> out;
  for (std::string variant : {narrow_before_am_pm(absolute), nfd, curly_quotes(absolute), curly_quotes(nfd)}) {
    if (variant != absolute && std::find(out.begin(), out.end(), variant) == out.end()) out.push_back(std::move(variant));
  }
  return out;
}

Result<std::uint64_t> parse_offset(std::string_view number) { return parse_count(number, "offset", "Offset"); }
Result<std::uint64_t> parse_limit(std::string_view number) { return parse_count(number, "limit", "Limit"); }

Result<LineRequest> parse_lines(const json::Value* offset, const json::Value* limit) {
  LineRequest lines;
  TRY(lines.offset, parse_value(offset, "offset", "Offset"));
  TRY(lines.limit, parse_value(limit, "limit", "Limit"));
  return lines;
}

Result<PathRequest> resolve_request(std::string_view given, const LineRequest& lines, const PathContext& context,
                                    FunctionRef<bool(const std::string&)> exists) {
  const auto find = [&](std::string_view words) -> std::optional<std::string> {
    std::string absolute = absolute_path(words, context);
    if (exists(absolute)) return absolute;
    // Where the caller works is spelled as it is; what lies below may be stored in another way.
    const std::size_t kept = path_below(absolute, context.cwd) ? context.cwd.size() : 0;
    for (const std::string& variant : path_variants(absolute.substr(kept))) {
      std::string whole = absolute.substr(0, kept) + variant;
      if (exists(whole)) return whole;
    }
    return std::nullopt;
  };

  if (auto found = find(given)) return PathRequest{std::string(given), *std::move(found), lines};
  const std::size_t colon = given.rfind(':');
  const bool suffixed = !lines.offset && !lines.limit && colon != std::string_view::npos && colon > 0 && colon + 1 < given.size();
  if (suffixed) {
    if (auto found = find(given.substr(0, colon))) {
      TRY(const LineRequest range, parse_line_range(given.substr(colon + 1)));
      return PathRequest{std::string(given.substr(0, colon)), *std::move(found), range};
    }
  }
  return PathRequest{std::string(given), absolute_path(given, context), lines};
}

}  // namespace weir
