// JSON text in. Refused with INVALID_JSON, line and reason: anything but one JSON value, duplicate keys, invalid UTF-8,
// lone surrogates, numbers no double can hold, more than 64 levels.
#pragma once

#include <memory>
#include <string_view>

#include "base/limits.h"
#include "base/result.h"
#include "json/value.h"

namespace weir::json {

class Parser {
 public:
  struct Options {
    // For foreign files: a lone surrogate escape becomes U+FFFD instead of an error; `repaired` then says so.
    bool repair_surrogates = false;
    bool one_line = false;  // a line of something larger: its errors name the column only
    std::size_t depth = limits::kDepth;
  };

  Parser();
  ~Parser();
  Parser(Parser&&) noexcept;
  Parser& operator=(Parser&&) noexcept;

  // The value lives until the next parse or the parser's end.
  Result<Value> parse(std::string_view text, Options options);
  Result<Value> parse(std::string_view text) { return parse(text, Options{}); }
  // What the log holds; it may be a little deeper than what an edge takes.
  Result<Value> parse_stored(std::string_view text) { return parse(text, kStored); }
  static const Options kStored;
  bool repaired() const { return repaired_; }

  // Where the value lives; what is built from it may go there too.
  Arena& arena() { return arena_; }

 private:
  struct Fast;
  std::unique_ptr<Fast> fast_;
  Arena arena_;
  bool repaired_ = false;
};

inline constexpr Parser::Options Parser::kStored{.depth = limits::kStoredDepth};

// The same by a plain recursive parser: slower, and exact where simdjson refuses (integers beyond 64 bits, lone
// surrogates to be repaired). Both agree on everything else; a fuzz target holds them to it.
Result<Value> parse_exact(std::string_view text, Arena& arena, Parser::Options options, bool& repaired);

// What the log holds, parsed into an arena.
Result<Value> parse_stored(std::string_view text, Arena& arena);

}  // namespace weir::json
