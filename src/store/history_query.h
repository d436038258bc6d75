// What is looked for in the history of a session, and where a text says it. Words must all occur, in any order; "a
// phrase" must occur as it stands, within one string; `word*` is the beginning of a word. Case and accents do not
// matter. Nothing else has a meaning: signs that hold no word, such as an emoji, are looked for as they are. Or a regular
// expression (RE2), which does not look at case unless it says (?-i).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/words.h"

namespace weir {

// An excerpt of a text and what to make visible in it, in bytes, first..last half open, rising.
struct Excerpt {
  std::string text;  // one line; an ellipsis where it was cut
  std::vector<std::pair<std::size_t, std::size_t>> marks;
};

class HistoryQuery {
 public:
  // INVALID_FIELD for one that is empty, is not UTF-8 or is no regular expression; LIMIT_EXCEEDED.
  static Result<HistoryQuery> words(std::string_view text);
  static Result<HistoryQuery> regex(std::string_view pattern);
  ~HistoryQuery();
  HistoryQuery(HistoryQuery&&) noexcept;
  HistoryQuery& operator=(HistoryQuery&&) noexcept;

  // The same as an expression of FTS5, which finds every match and perhaps more; empty if no index can help.
  const std::string& expression() const { return expression_; }

  // Does a text of these strings match? Then `excerpt`, if it is asked for, shows where.
  Result<bool> matches(std::span<const std::string_view> strings, Excerpt* excerpt);

 private:
  struct Term;
  struct Word {  // of the text that is looked at
    std::size_t at, size, first, last;
  };
  using Spans = std::vector<std::pair<std::size_t, std::size_t>>;

  explicit HistoryQuery(WordBreaker breaker);
  Result<void> add_term(std::string_view text, bool prefix);
  Result<void> break_words(std::string_view text);
  // Where the term stands in the text whose words were broken last; true if it does.
  bool find(const Term& term, std::string_view text, Spans* spans) const;

  WordBreaker breaker_;
  std::vector<Term> terms_;
  std::string expression_;
  bool needs_words_ = false;
  std::vector<Word> words_;
  std::string folded_;  // all of words_, one after another
};

}  // namespace weir
