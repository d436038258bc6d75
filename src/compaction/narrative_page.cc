#include "compaction/narrative_page.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::compaction {
namespace {

// As long as rest_of_list, which every length of a page asks for.
std::size_t rest_bytes(const ListForm& form, std::size_t items) {
  std::size_t digits = 1;
  while (items /= 10) ++digits;
  return form.before_rest.size() + std::string_view("and  more, ids in JSON").size() + digits + form.after_rest.size();
}

}  // namespace

std::string rest_of_list(const ListForm& form, std::size_t items) {
  return fmt::format("{}and {} more, ids in JSON{}", form.before_rest, items, form.after_rest);
}

void Page::add(std::string_view text) { text_ += text; }

void Page::add_list(const ListForm& form, std::vector<std::string> items) {
  if (items.empty()) return;
  std::vector<std::size_t> last_bytes = {0};
  for (auto item = items.rbegin(); item != items.rend(); ++item) last_bytes.push_back(last_bytes.back() + item->size());
  lists_.push_back({text_.size(), form, std::move(items), std::move(last_bytes)});
}

std::string Page::str(std::size_t items) const {
  std::string out;
  out.reserve(bytes(items));
  std::size_t at = 0;
  for (const List& list : lists_) {
    out.append(text_, at, list.at - at).append(list.form.open);
    at = list.at;
    const std::size_t rest = list.items.size() - std::min(items, list.items.size());
    for (std::size_t i = rest; i < list.items.size(); ++i) out.append(i > rest ? list.form.between : "").append(list.items[i]);
    if (rest > 0) out.append(rest < list.items.size() ? list.form.between : "").append(rest_of_list(list.form, rest));
    out += list.form.close;
  }
  return out.append(text_, at);
}

std::size_t Page::bytes(std::size_t items) const {
  std::size_t sum = text_.size();
  for (const List& list : lists_) {
    const std::size_t shown = std::min(items, list.items.size()), rest = list.items.size() - shown;
    const std::size_t pieces = shown + (rest > 0 ? 1 : 0);
    sum += list.form.open.size() + list.last_bytes[shown] + (pieces - 1) * list.form.between.size() + list.form.close.size();
    if (rest > 0) sum += rest_bytes(list.form, rest);
  }
  return sum;
}

std::size_t Page::longest() const {
  std::size_t most = 0;
  for (const List& list : lists_) most = std::max(most, list.items.size());
  return most;
}

std::optional<std::size_t> Page::most_items_within(std::size_t bytes) const {
  for (std::size_t items = longest() + 1; items-- > 0;) {
    if (this->bytes(items) <= bytes) return items;
  }
  return std::nullopt;
}

std::size_t Page::least_bytes() const {
  std::size_t least = bytes(0);
  for (std::size_t items = longest(); items > 0; --items) least = std::min(least, bytes(items));
  return least;
}

}  // namespace weir::compaction
