#include "http/doors.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "http/text.h"

namespace weir::http {
namespace {

constexpr std::string_view kThisMachine[] = {"localhost", "127.0.0.1", "[::1]"};

bool is_port(std::string_view text) {
  return text.size() <= 5 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// host[:port] without the port; empty for anything else.
std::string_view without_port(std::string_view host) {
  const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  if (bracket == std::string_view::npos) return {};
  const std::size_t colon = host.find(':', bracket);
  if (colon == std::string_view::npos) return host;
  return is_port(host.substr(colon + 1)) ? host.substr(0, colon) : std::string_view();
}

bool one_of(std::string_view name, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& one) { return same_name(one, name); });
}

bool same_digest(const Digest& a, const Digest& b) { return CRYPTO_memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0; }

// q of one range of an Accept header; 1 unless it says another. Only whether it is 0 matters here.
bool refused(const std::vector<std::string_view>& parts) {
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = trimmed(parts[i]);
    if (part.size() < 3 || (part[0] != 'q' && part[0] != 'Q') || part[1] != '=') continue;
    return part.find_first_not_of("0.", 2) == std::string_view::npos;
  }
  return false;
}

// How closely a range of an Accept header names the type: 0 not at all, 1 by */*, 2 by its family, 3 itself.
int closeness(std::string_view range, std::string_view type) {
  if (range == "*/*") return 1;
  const std::size_t slash = type.find('/');
  if (range.ends_with("/*") && same_name(range.substr(0, range.size() - 2), type.substr(0, slash))) return 2;
  return same_name(range, type) ? 3 : 0;
}

}  // namespace

bool host_allowed(std::string_view host, const Guests& guests) {
  const std::string_view name = without_port(host);
  if (name.empty()) return false;
  for (const std::string_view own : kThisMachine)
    if (same_name(name, own)) return true;
  return one_of(name, guests.hosts) || one_of(host, guests.hosts);
}

bool origin_allowed(std::string_view origin, const Guests& guests) {
  if (one_of(origin, guests.origins)) return true;
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.size() > scheme.size() && same_name(origin.substr(0, scheme.size()), scheme))
      return host_allowed(origin.substr(scheme.size()), guests);
  return false;
}

Right right_of(std::string_view authorization, const Guests& guests) {
  if (!guests.token) return Right::full;
  constexpr std::string_view kScheme = "bearer ";
  const bool bearer = authorization.size() > kScheme.size() && same_name(authorization.substr(0, kScheme.size()), kScheme);
  const Digest given = sha256(bearer ? trimmed(authorization.substr(kScheme.size())) : std::string_view());
  // Both are compared whatever the first says.
  const bool full = same_digest(given, *guests.token);
  const bool read = guests.read_token && same_digest(given, *guests.read_token);
  if (!bearer) return Right::none;
  return full ? Right::full : read ? Right::read : Right::none;
}

bool is_media_type(std::string_view content_type, std::string_view type) {
  const auto parts = split(content_type, ';');
  if (!same_name(trimmed(parts[0]), type)) return false;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = trimmed(parts[i]);
    if (!part.empty() && !same_name(part, "charset=utf-8") && !same_name(part, "charset=\"utf-8\"")) return false;
  }
  return true;
}

bool accepts(std::string_view accept, std::string_view type) {
  if (trimmed(accept).empty()) return true;
  int closest = 0;
  bool taken = false;
  for (const std::string_view range : split(accept, ',')) {
    const auto parts = split(range, ';');
    const int close = closeness(trimmed(parts[0]), type);
    if (close == 0 || close < closest) continue;
    taken = !refused(parts) || (close == closest && taken);
    closest = close;
  }
  return taken;
}

}  // namespace weir::http
