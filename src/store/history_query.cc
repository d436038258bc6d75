#include "store/history_query.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/limits.h"
#include "base/secrets.h"
#include "base/utf8.h"

namespace weir {
namespace {

constexpr std::size_t kExcerptBefore = 60, kExcerptAfter = 100;  // code points around the beginning of the first match
constexpr std::size_t kMostMarks = 64;
constexpr std::int64_t kRegexBytes = 8 << 20;  // RE2's memory for one expression; it gives up beyond, and never runs long

Error invalid(const std::string& why) { return Error(ErrorCode::INVALID_FIELD, "/query: " + why).with_fields({{"/query", why}}); }

Result<void> check_query(std::string_view text) {
  if (text.size() > limits::kHistoryQueryBytes) return over_limit("history.query_bytes", limits::kHistoryQueryBytes, text.size());
  if (!valid_utf8(text)) return invalid("is not UTF-8");
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode_utf8(text, at);
    if (c && !is_space(*c) && *c != 0) return {};
  }
  return invalid("has nothing to search for");
}

Result<std::unique_ptr<re2::RE2>> compile(std::string_view pattern, bool literal) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_case_sensitive(false);
  options.set_literal(literal);
  options.set_max_mem(kRegexBytes);
  auto compiled = std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled->ok()) return invalid("is no regular expression: " + masked_excerpt(compiled->error(), 200));
  return compiled;
}

// In FTS5 a string stands in quotes, with those in it doubled. A NUL would end the whole expression.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c == '\0' ? ' ' : c;
  }
  return out + "\"";
}

std::size_t back(std::string_view text, std::size_t at, std::size_t code_points) {
  for (; at > 0 && code_points > 0; --code_points) {
    do --at;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  }
  return at;
}

// One line of the text around its first span, white space as single spaces, and the spans' new places.
Excerpt excerpt_of(std::string_view text, std::vector<std::pair<std::size_t, std::size_t>> spans) {
  std::sort(spans.begin(), spans.end());
  const std::size_t middle = spans.empty() ? 0 : spans.front().first;
  std::size_t begin = back(text, middle, kExcerptBefore);
  const std::size_t end = middle + utf8_prefix(text.substr(middle), kExcerptAfter).size();
  // Not in the middle of a word, if one ends nearby.
  if (begin > 0) {
    const std::size_t space = text.find_first_of(" \n\t", begin);
    if (space != std::string_view::npos && space < middle && space - begin < 20) begin = space + 1;
  }
  Excerpt out;
  if (begin > 0) out.text = "…";
  auto span = spans.begin();
  std::size_t mark = std::string::npos, mark_end = 0;
  bool spaced = true;
  for (std::size_t at = begin; at < end;) {
    while (span != spans.end() && span->second <= at) ++span;
    if (mark == std::string::npos && span != spans.end() && span->first <= at) {
      mark = out.text.size();
      mark_end = span->second;
    }
    const std::size_t from = at;
    const auto c = decode_utf8(text, at);
    const bool space = !c || is_space(*c);
    if (!space) {
      out.text.append(text.substr(from, at - from));
    } else if (!spaced) {
      out.text += ' ';
    }
    spaced = space;
    if (mark != std::string::npos && (at >= mark_end || at >= end)) {
      if (out.marks.size() < kMostMarks && out.text.size() > mark) out.marks.emplace_back(mark, out.text.size());
      mark = std::string::npos;
    }
  }
  if (end < text.size()) out.text += "…";
  return out;
}

}  // namespace

struct HistoryQuery::Term {
  std::vector<std::string> words;        // one after another; or
  std::unique_ptr<re2::RE2> expression;  // for what is no word, and for a regular expression
  bool prefix = false;                   // the last word is the beginning of one
};

HistoryQuery::HistoryQuery(WordBreaker breaker) : breaker_(std::move(breaker)) {}
HistoryQuery::~HistoryQuery() = default;
HistoryQuery::HistoryQuery(HistoryQuery&&) noexcept = default;
HistoryQuery& HistoryQuery::operator=(HistoryQuery&&) noexcept = default;

Result<HistoryQuery> HistoryQuery::words(std::string_view text) {
  TRY_DO(check_query(text));
  TRY(WordBreaker breaker, WordBreaker::make());
  HistoryQuery query(std::move(breaker));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const auto c = decode_utf8(text, at);
    if (!c || is_space(*c)) continue;
    if (const std::size_t close = *c == '"' ? text.find('"', at) : std::string_view::npos; close != std::string_view::npos) {
      const std::string_view phrase = text.substr(at, close - at);
      at = close + 1;
      const bool prefix = at < text.size() && text[at] == '*';
      if (prefix) ++at;
      if (phrase.find_first_not_of(' ') != std::string_view::npos) TRY_DO(query.add_term(phrase, prefix));
      continue;
    }
    std::size_t end = at;
    while (end < text.size()) {
      std::size_t next = end;
      const auto one = decode_utf8(text, next);
      if (!one || is_space(*one)) break;
      end = next;
    }
    const bool prefix = end - from > 1 && text[end - 1] == '*';
    TRY_DO(query.add_term(text.substr(from, end - from), prefix));
    at = end;
  }
  if (query.terms_.empty()) return invalid("has nothing to search for");
  return query;
}

Result<HistoryQuery> HistoryQuery::regex(std::string_view pattern) {
  TRY_DO(check_query(pattern));
  TRY(WordBreaker breaker, WordBreaker::make());
  HistoryQuery query(std::move(breaker));
  Term term;
  TRY(term.expression, compile(pattern, false));
  query.terms_.push_back(std::move(term));
  return query;
}

Result<void> HistoryQuery::add_term(std::string_view text, bool prefix) {
  Term term;
  TRY_DO(breaker_.each(text, [&](std::string_view word, std::size_t, std::size_t) {
    term.words.emplace_back(word);
    return true;
  }));
  term.prefix = prefix && !term.words.empty();
  const bool known = std::any_of(terms_.begin(), terms_.end(), [&](const Term& other) {
    return !term.words.empty() && other.words == term.words && other.prefix == term.prefix;
  });
  if (known) return {};
  if (terms_.size() == limits::kHistoryTerms) return over_limit("history.terms", limits::kHistoryTerms, limits::kHistoryTerms + 1);
  if (term.words.empty()) {
    TRY(term.expression, compile(text, true));
  } else {
    needs_words_ = true;
    expression_ += (expression_.empty() ? "" : " AND ") + quoted(text) + (term.prefix ? " *" : "");
  }
  terms_.push_back(std::move(term));
  return {};
}

Result<void> HistoryQuery::break_words(std::string_view text) {
  words_.clear();
  folded_.clear();
  return breaker_.each(text, [&](std::string_view word, std::size_t first, std::size_t last) {
    words_.push_back({folded_.size(), word.size(), first, last});
    folded_.append(word);
    return true;
  });
}

bool HistoryQuery::find(const Term& term, std::string_view text, Spans* spans) const {
  if (term.expression != nullptr) {
    const re2::StringPiece whole(text.data(), text.size());
    re2::StringPiece found;
    std::size_t from = 0, count = 0;
    while (from <= text.size() && count < kMostMarks && term.expression->Match(whole, from, text.size(), re2::RE2::UNANCHORED, &found, 1)) {
      ++count;
      const auto first = static_cast<std::size_t>(found.data() - text.data());
      if (spans == nullptr) break;
      spans->emplace_back(first, first + found.size());
      from = first + std::max<std::size_t>(found.size(), 1);
    }
    return count > 0;
  }
  const std::string_view folded = folded_;
  std::size_t count = 0;
  for (std::size_t i = 0; i + term.words.size() <= words_.size() && count < kMostMarks; ++i) {
    bool same = true;
    for (std::size_t j = 0; same && j < term.words.size(); ++j) {
      const std::string_view word = folded.substr(words_[i + j].at, words_[i + j].size);
      same = term.prefix && j + 1 == term.words.size() ? word.starts_with(term.words[j]) : word == term.words[j];
    }
    if (!same) continue;
    ++count;
    if (spans == nullptr) break;
    spans->emplace_back(words_[i].first, words_[i + term.words.size() - 1].last);
  }
  return count > 0;
}

Result<bool> HistoryQuery::matches(std::span<const std::string_view> strings, Excerpt* excerpt) {
  std::vector<bool> found(terms_.size());
  std::size_t missing = terms_.size(), most = 0, best = 0;
  for (std::size_t i = 0; i < strings.size() && (missing > 0 || excerpt != nullptr); ++i) {
    if (needs_words_) TRY_DO(break_words(strings[i]));
    std::size_t here = 0;
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      if (!find(terms_[t], strings[i], nullptr)) continue;
      ++here;
      if (!found[t]) --missing;
      found[t] = true;
    }
    if (here > most) {
      most = here;
      best = i;
    }
  }
  if (missing > 0) return false;
  if (excerpt != nullptr) {
    // Shown is the string that says most of it.
    Spans spans;
    if (needs_words_) TRY_DO(break_words(strings[best]));
    for (const Term& term : terms_) find(term, strings[best], &spans);
    *excerpt = excerpt_of(strings[best], std::move(spans));
  }
  return true;
}

}  // namespace weir
