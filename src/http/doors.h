// Who may come in: Host, Origin and token, and what a request may be made of. Pure functions, asked in that order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"

namespace weir::http {

// What the operator lets in besides this machine. Tokens are kept as digests: comparing those takes the same time for any.
struct Guests {
  std::vector<std::string> hosts, origins;
  std::optional<Digest> token, read_token;
};

// localhost, 127.0.0.1, [::1], with any port, or one of `hosts`.
bool host_allowed(std::string_view host, const Guests& guests);

// An http or https origin on one of these hosts, or one of `origins`.
bool origin_allowed(std::string_view origin, const Guests& guests);

enum class Right { none, read, full };
// Of an Authorization header. Everything if no token is asked for.
Right right_of(std::string_view authorization, const Guests& guests);

// Is this the media type, with no parameter but charset=utf-8?
bool is_media_type(std::string_view content_type, std::string_view type);

// Does an Accept header let through `type` (a media type without parameters)? An empty one lets everything through.
bool accepts(std::string_view accept, std::string_view type);

}  // namespace weir::http
