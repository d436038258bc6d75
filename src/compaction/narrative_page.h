// A page whose lists can be shortened: each to its last items, as many in all of them, and a word about the rest. It is
// rendered once; how long it would be with so many items is arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::compaction {

struct ListForm {
  std::string_view open, between, before_rest, after_rest, close;
};
inline constexpr ListForm kLines = {"", "", "- ", "\n", ""};  // the items are whole lines
inline constexpr ListForm kNestedLines = {"", "", "  - ", "\n", ""};
inline constexpr ListForm kInParentheses = {" (", ", ", "", "", ")"};

// What stands for so many items that are left out.
std::string rest_of_list(const ListForm& form, std::size_t items);

class Page {
 public:
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

  void add(std::string_view text);
  void add_list(const ListForm& form, std::vector<std::string> items);  // nothing at all if it is empty

  // The page with the last `items` of each list, and its length.
  std::string str(std::size_t items) const;
  std::size_t bytes(std::size_t items) const;

  // The most items with which it is at most so long; nothing if there is no such number. No bisection: fewer items make a
  // longer page where an item is shorter than the word about the rest.
  std::optional<std::size_t> most_items_within(std::size_t bytes) const;
  std::size_t least_bytes() const;

 private:
  struct List {
    std::size_t at;  // in text_
    ListForm form;
    std::vector<std::string> items;
    std::vector<std::size_t> last_bytes;  // of the last 0, 1, 2 ... items
  };
  std::size_t longest() const;

  std::string text_;  // without the lists
  std::vector<List> lists_;
};

}  // namespace weir::compaction
