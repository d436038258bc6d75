// URLs of citations: found in a text, made one form by the URL Standard and the rules of docs/research.md, and named by their hash.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir::research {

struct CitedUrl {
  std::string shown;   // as the URL Standard writes it; without user info, values of secret keys masked
  std::string normal;  // the form that is hashed
  std::string cid;
  bool user_info = false;  // it had some
};

// INVALID_URL for anything but an absolute http or https URL.
Result<CitedUrl> normalise_url(std::string_view url);

// `cid_` and the hash of a normalised URL, as it stands.
std::string cid_of(std::string_view normal);

// URLs of one line, as they stand there.
std::vector<std::string_view> urls_in(std::string_view line);

// The text with the values of secret keys in the queries of its URLs replaced by `[REDACTED]`; itself where there is none.
std::string mask_queries(std::string_view text);

}  // namespace weir::research
