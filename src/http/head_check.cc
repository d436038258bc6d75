#include "http/head_check.h"

#include <algorithm>

#include "base/limits.h"

namespace weir::http {
namespace {

constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
constexpr std::size_t kBesidesTarget = 32;  // method, version and spaces of a request line

bool token_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kMarks.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), token_char); }

bool is_version(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.size() == 8 && text.starts_with("HTTP/") && digit(text[5]) && text[6] == '.' && digit(text[7]);
}

std::optional<Problem> check_request_line(std::string_view line, const HeadLimits& limits) {
  const std::size_t space = line.find(' '), last = line.rfind(' ');
  if (space == std::string_view::npos || space == last) return malformed("the request line has no method, target and version");
  const std::string_view method = line.substr(0, space), target = line.substr(space + 1, last - space - 1), version = line.substr(last + 1);
  if (!is_token(method)) return malformed("the method is no token");
  if (target.size() > limits.url_bytes) return Problem(414, over_limit("url_bytes", limits.url_bytes, target.size()));
  if (!is_version(version)) return malformed("the request line does not end with a version of HTTP");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return Problem(505, Error(ErrorCode::USAGE, "this server speaks HTTP/1.1"));
  if (!target.starts_with('/')) return malformed("the target is no path");
  const bool plain = std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < 0x7F && c != '#'; });
  if (!plain) return malformed("the target holds bytes that have to be escaped");
  return std::nullopt;
}

std::optional<Problem> check_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return malformed("a header has no name, or a space in it");
  for (const char c : line.substr(colon + 1))
    if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7F) return malformed("a header holds a control character");
  return std::nullopt;
}

Problem too_many_bytes(const HeadLimits& limits, std::size_t bytes) {
  return Problem(431, over_limit("header_bytes", limits.header_bytes, bytes));
}

}  // namespace

Problem malformed(std::string message) { return Problem(400, Error(ErrorCode::USAGE, "malformed request: " + std::move(message))); }

std::optional<Problem> check_partial_head(std::string_view begin, const HeadLimits& limits) {
  const std::size_t line = begin.find('\n');
  if (line == std::string_view::npos) {
    if (begin.size() > limits.url_bytes + kBesidesTarget) return Problem(414, over_limit("url_bytes", limits.url_bytes, begin.size()));
    return std::nullopt;
  }
  if (begin.size() - line > limits.header_bytes) return too_many_bytes(limits, begin.size() - line);
  return std::nullopt;
}

std::optional<Problem> check_head(std::string_view head, const HeadLimits& limits) {
  bool first = true;
  std::size_t fields = 0;
  const std::size_t whole = head.size();
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos || end == 0 || head[end - 1] != '\r') return malformed("a line ends without a carriage return");
    const std::string_view line = head.substr(0, end - 1);
    if (line.find('\r') != std::string_view::npos) return malformed("a carriage return stands within a line");
    head.remove_prefix(end + 1);
    if (line.empty()) break;
    if (first) {
      if (auto wrong = check_request_line(line, limits)) return wrong;
      if (whole - line.size() > limits.header_bytes) return too_many_bytes(limits, whole - line.size());
    } else {
      if (++fields > limits.headers) return Problem(431, over_limit("headers", limits.headers, fields));
      if (auto wrong = check_field(line)) return wrong;
    }
    first = false;
  }
  if (first) return malformed("the request line is empty");
  return std::nullopt;
}

}  // namespace weir::http
