// What mentions, numbers and URLs are in a text, and the pool that mentions are held against.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::research {

struct Citation {
  std::string cid, status;
  std::optional<std::string> snippet, title, publisher;
  bool validated() const { return status == "valid" || status == "paywalled"; }
};

// All records of a run, by cid.
class Pool {
 public:
  Pool() = default;
  explicit Pool(std::vector<Citation> records);  // sorts them once
  const Citation* find(std::string_view cid) const;
  bool validated(std::string_view cid) const;
  const std::vector<Citation>& records() const { return records_; }  // in T-order of cid

 private:
  std::vector<Citation> records_;
};

// `[@id]` and `[@id; @id]`: where it stands, and its ids in order. Any other `[@` is malformed.
struct Mention {
  std::size_t begin, end;
  std::vector<std::string_view> ids;
};
struct Mentions {
  std::vector<Mention> found;
  std::size_t malformed = 0;
};
Mentions mentions_in(std::string_view text);

// Where the first URL begins that may not stand in a summary or report; npos for none.
std::size_t find_raw_url(std::string_view text, std::size_t from = 0);

// `(confidence: N)`: where it stands, and N, unless that is no number from 0 to 100. Words instead of N make it plain text.
struct ConfidenceMark {
  std::size_t begin, end;
  std::string_view written;
  std::optional<double> value;
};
std::vector<ConfidenceMark> confidence_marks_in(std::string_view text);

// A number of a text, in normal form: no commas, no zeros that say nothing.
struct Number {
  std::size_t begin;
  std::string normal;
};
// Those of one line or unit, in order; mentions, confidence marks and inline code do not count. A list marker does.
std::vector<Number> find_numbers(std::string_view text);

// Numbers of a text in normal form, in order; list markers at the beginning of its lines do not count either.
std::vector<std::string> numbers_in(std::string_view text);

}  // namespace weir::research
