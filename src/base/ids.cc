#include "base/ids.h"

#include <algorithm>

#include "base/secrets.h"
#include "base/utf8.h"

namespace weir {
namespace {

bool alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

}  // namespace

Error wrong_name(std::string_view what, std::string_view form, std::string_view text) {
  return Error(ErrorCode::INVALID_FIELD, std::string(what) + " is " + std::string(form) + ", not '" + masked_excerpt(text, 80) + "'");
}

bool SessionRule::valid(std::string_view text) {
  if (text.empty() || text.size() > 128 || !alnum(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return alnum(c) || c == '.' || c == '_' || c == '-'; });
}

bool EntryRule::valid(std::string_view text) {
  if (text.empty() || text.size() > 256) return false;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode_utf8(text, at);
    if (!c || is_space(*c) || is_control(*c)) return false;
  }
  return true;
}

bool TypeRule::valid(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return alnum(c) || c == '.' || c == '_' || c == '-' || c == ':'; });
}

}  // namespace weir
