// The words of a text as the full-text index sees them: SQLite's own tokenizer (unicode61, diacritics removed), so that
// a text that is searched without an index gives the same answer. Not for several threads at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/function_ref.h"
#include "base/result.h"

namespace weir {

inline constexpr const char* kTokenizer = "unicode61 remove_diacritics 2";

class WordBreaker {
 public:
  static Result<WordBreaker> make();
  ~WordBreaker();
  WordBreaker(WordBreaker&&) noexcept;
  WordBreaker& operator=(WordBreaker&&) noexcept;

  // Calls `visit` with each word, folded, and the bytes first..last (half open) it stands for in the text, until it
  // answers false. The word lives until the call returns.
  Result<void> each(std::string_view text, FunctionRef<bool(std::string_view word, std::size_t first, std::size_t last)> visit);

 private:
  struct Tokenizer;
  explicit WordBreaker(std::unique_ptr<Tokenizer> tokenizer);
  std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace weir
