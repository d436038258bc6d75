#include "research/citations.h"

#include <algorithm>

#include "base/utf8.h"
#include "research/letters.h"
#include "research/t_order.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

bool is_alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_id_char(char c) { return is_alnum(c) || c == '_' || c == ':' || c == '-'; }
bool is_scheme_char(char c) { return is_alnum(c) || c == '+' || c == '.' || c == '-'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// The mention that begins at `begin`, where `[@` stands.
std::optional<Mention> mention_at(std::string_view text, std::size_t begin) {
  Mention mention{begin, 0, {}};
  for (std::size_t at = begin + 2;;) {
    const std::size_t id = at;
    while (at < text.size() && is_id_char(text[at])) ++at;
    if (at == id || at == text.size()) return std::nullopt;
    mention.ids.push_back(text.substr(id, at - id));
    if (text[at] == ']') {
      mention.end = at + 1;
      return mention;
    }
    const std::size_t gap = ++at;
    if (text[gap - 1] != ';') return std::nullopt;
    while (at < text.size() && is_space(text[at])) ++at;
    if (at == gap || at == text.size() || text[at] != '@') return std::nullopt;
    ++at;
  }
}

// Does a name go on at `at`? Punctuation and white space beyond ASCII do not.
bool name_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  const char32_t c = decode_utf8(text, at).value_or(' ');
  if (c < 0x80) return is_letter(c) || is_digit(c);
  return !is_blank_char(c) && c >= 0xAA && !(c >= 0x2000 && c <= 0x206F) && !(c >= 0x3000 && c <= 0x303F);
}

bool www_at(std::string_view text, std::size_t at) {
  return text.size() - at > 4 && lower(text[at]) == 'w' && lower(text[at + 1]) == 'w' && lower(text[at + 2]) == 'w' &&
         text[at + 3] == '.' && name_at(text, at + 4);
}

// Without these no URL can stand there; looking for them alone is quick.
bool may_hold_url(std::string_view text) {
  if (text.find("://") != std::string_view::npos) return true;
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.', dot + 1)) {
    if (dot >= 3 && lower(text[dot - 1]) == 'w') return true;
  }
  return false;
}

}  // namespace

Pool::Pool(std::vector<Citation> records) : records_(std::move(records)) {
  std::sort(records_.begin(), records_.end(), [](const Citation& a, const Citation& b) { return TLess()(a.cid, b.cid); });
}

const Citation* Pool::find(std::string_view cid) const {
  const auto at =
      std::lower_bound(records_.begin(), records_.end(), cid, [](const Citation& c, std::string_view id) { return TLess()(c.cid, id); });
  return at != records_.end() && at->cid == cid ? &*at : nullptr;
}

bool Pool::validated(std::string_view cid) const {
  const Citation* record = find(cid);
  return record != nullptr && record->validated();
}

Mentions mentions_in(std::string_view text) {
  Mentions mentions;
  for (std::size_t at = text.find("[@"); at != std::string_view::npos; at = text.find("[@", at)) {
    if (auto mention = mention_at(text, at)) {
      at = mention->end;
      mentions.found.push_back(*std::move(mention));
    } else {
      at += 2;
      ++mentions.malformed;
    }
  }
  return mentions;
}

std::size_t find_raw_url(std::string_view text, std::size_t from) {
  if (from >= text.size() || !may_hold_url(text.substr(from))) return std::string_view::npos;
  std::size_t scheme = std::string_view::npos;  // where one may have begun: the first letter since the last other character
  for (std::size_t at = from; at < text.size(); ++at) {
    const char c = text[at];
    if (is_scheme_char(c)) {
      if (scheme == std::string_view::npos && is_letter(static_cast<unsigned char>(c))) scheme = at;
      if (www_at(text, at)) return at;
      continue;
    }
    if (c == ':' && scheme != std::string_view::npos && text.substr(at).starts_with("://")) return scheme;
    scheme = std::string_view::npos;
  }
  return std::string_view::npos;
}

}  // namespace weir::research
