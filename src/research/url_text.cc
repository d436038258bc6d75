// URLs in running text: where they are, and which values in their queries must not be kept.
#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "research/url.h"
#include "research/url_query.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

// Bytes of `http://` or `https://` at `at` in lower case, or in any; 0 if neither stands there.
std::size_t scheme_at(std::string_view text, std::size_t at, bool any_case) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    const std::string_view there = text.substr(at, scheme.size());
    if (there.size() < scheme.size()) continue;
    const bool same = std::equal(scheme.begin(), scheme.end(), there.begin(), [&](char wanted, char c) {
      return c == wanted || (any_case && c >= 'A' && c <= 'Z' && c + 32 == wanted);
    });
    if (same) return scheme.size();
  }
  return 0;
}

// Where the next URL begins, and how long its scheme is.
std::pair<std::size_t, std::size_t> find_scheme(std::string_view text, std::size_t from, bool any_case) {
  for (std::size_t mark = from; (mark = text.find("://", mark)) != std::string_view::npos; ++mark) {
    for (const std::size_t letters : {4, 5}) {
      if (mark < from + letters) continue;
      if (const std::size_t length = scheme_at(text, mark - letters, any_case); length == letters + 3) return {mark - letters, length};
    }
  }
  return {std::string_view::npos, 0};
}

// Bytes of the white space at `at`; 0 if there is none.
std::size_t space_at(std::string_view text, std::size_t at) {
  if (static_cast<unsigned char>(text[at]) < 0x80) return is_blank_char(static_cast<unsigned char>(text[at])) ? 1 : 0;
  const std::size_t start = at;
  return is_blank_char(decode_utf8(text, at).value_or(0)) ? at - start : 0;
}

bool ends_any_url(std::string_view text, std::size_t at) {
  const char c = text[at];
  return c == '<' || c == '>' || c == '"' || c == '`' || space_at(text, at) > 0;
}

bool ends_url(std::string_view text, std::size_t at) {
  const char c = text[at];
  return c == '[' || c == ']' || c == '\'' || ends_any_url(text, at);
}

// A value that was masked belongs to its URL, brackets and all.
bool masked_at(std::string_view text, std::size_t at) {
  return at > 0 && text[at - 1] == '=' && text.substr(at, kRedactedValue.size()) == kRedactedValue;
}

std::size_t without_punctuation(std::string_view text, std::size_t begin, std::size_t end) {
  while (end > begin && std::string_view(",.;:!?").find(text[end - 1]) != std::string_view::npos) --end;
  return end;
}

// Counts parentheses: one that closes nothing is no part of a URL.
struct Parentheses {
  std::size_t open = 0;
  bool closes_nothing(char c) {
    if (c == '(') ++open;
    if (c != ')') return false;
    if (open == 0) return true;
    --open;
    return false;
  }
};

// Bytes that may say something about a URL; all others are passed over.
constexpr std::array<bool, 256> make_telling() {
  std::array<bool, 256> table{};
  for (int c = 0; c <= 0x20; ++c) table[c] = true;
  for (int c = 0x80; c < 256; ++c) table[c] = true;
  for (const char c : std::string_view("hH?&#<>\"`()")) table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr auto kTelling = make_telling();

// One pass over a text. A URL may stand in the query of another: a pair of either may hold a secret.
class QueryMask {
 public:
  explicit QueryMask(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (!before_query_ && !in_query_ && !next_url()) break;
      if (at_ < text_.size()) step();
    }
    out_.append(text_.substr(copied_));
    return std::move(out_);
  }

 private:
  bool next_url() {
    const auto [begin, length] = find_scheme(text_, at_, true);
    if (begin == std::string_view::npos) return false;
    at_ = begin + length;
    before_query_ = true;
    parentheses_ = {};
    return true;
  }

  void step() {
    while (at_ < text_.size() && !kTelling[static_cast<unsigned char>(text_[at_])]) ++at_;
    if (at_ == text_.size()) return;
    const char c = text_[at_];
    if (const std::size_t length = c == 'h' || c == 'H' ? scheme_at(text_, at_, true) : 0; length > 0) {
      before_query_ = true;
      at_ += length;
    } else if (c == '#' || ends_any_url(text_, at_) || parentheses_.closes_nothing(c)) {
      before_query_ = in_query_ = false;
      ++at_;
    } else {
      ++at_;
      if (c == '?' && before_query_) {
        before_query_ = false;
        in_query_ = true;
        pair();
      } else if (c == '&' && in_query_) {
        pair();
      }
    }
  }

  // Masks the value of the pair that begins here if its key is a secret's; else goes on behind the separator.
  void pair() {
    if (key_end_ < at_) find_key_end();
    if (key_end_ == text_.size() || text_[key_end_] != '=') return;
    if (!secret_key()) return;
    const std::size_t value = key_end_ + 1;
    const auto [end, next] = value_end(value);
    const std::string_view held = text_.substr(value, end - value);
    if (!held.empty() && held != kRedactedValue) {
      out_.append(text_.substr(copied_, value - copied_)).append(kRedactedValue);
      copied_ = end;
    }
    at_ = next;
  }

  // Pairs of nested URLs may share the end of their keys, so it is looked for once.
  void find_key_end() {
    key_end_ = at_;
    while (key_end_ < text_.size() && std::string_view("=&#").find(text_[key_end_]) == std::string_view::npos &&
           !ends_url(text_, key_end_)) {
      ++key_end_;
    }
    const std::size_t part = last_secret_part(text_.substr(at_, key_end_ - at_));
    secret_part_ = part == std::string_view::npos ? part : at_ + part;
  }

  bool secret_key() const {
    if (secret_part_ != std::string_view::npos && secret_part_ >= at_) return true;
    return first_part_is_secret(text_.substr(at_, key_end_ - at_));
  }

  // Where the value that begins here ends, and where to go on.
  std::pair<std::size_t, std::size_t> value_end(std::size_t begin) {
    std::size_t end = masked_at(text_, begin) ? begin + kRedactedValue.size() : begin;
    for (; end < text_.size(); ++end) {
      if (text_[end] == '&' || text_[end] == '#') return {end, end};
      Parentheses ahead = parentheses_;
      if (ends_url(text_, end) || ahead.closes_nothing(text_[end])) break;
      parentheses_ = ahead;
    }
    return {without_punctuation(text_, begin, end), end};
  }

  std::string_view text_;
  std::string out_;
  std::size_t at_ = 0, copied_ = 0;
  bool before_query_ = false;  // a URL has begun whose query may still come
  bool in_query_ = false;      // of that URL, or of one around it
  Parentheses parentheses_;
  std::size_t key_end_ = 0;                           // of the key looked at last
  std::size_t secret_part_ = std::string_view::npos;  // the last secret part in it
};

}  // namespace

std::vector<std::string_view> urls_in(std::string_view line) {
  std::vector<std::string_view> found;
  std::size_t at = 0;
  for (;;) {
    const auto [begin, length] = find_scheme(line, at, false);
    if (begin == std::string_view::npos) return found;
    Parentheses parentheses;
    std::size_t end = begin + length;
    while (end < line.size()) {
      if (masked_at(line, end)) {
        end += kRedactedValue.size();
      } else if (ends_url(line, end) || parentheses.closes_nothing(line[end])) {
        break;
      } else {
        ++end;
      }
    }
    at = end;
    found.push_back(line.substr(begin, without_punctuation(line, begin, end) - begin));
  }
}

std::string mask_queries(std::string_view text) { return QueryMask(text).run(); }

}  // namespace weir::research
