#include "context/layout.h"

#include <algorithm>

namespace weir::context {

using ctree::Ordinal;
using ctree::Reason;

bool Layout::in_scope(Ordinal i) const {
  if (!selection_.barrier || config_.whole_path) return true;
  const ctree::Checkpoint& checkpoint = *state_.checkpoint;
  if (i >= checkpoint.ordinal) return true;
  if (i < selection_.first || checkpoint.has_replacement) return false;
  return !checkpoint.has_kept || std::binary_search(checkpoint.kept->begin(), checkpoint.kept->end(), i);
}

bool Layout::is_system_pin(Ordinal i) const {
  const Reason reason = selection_.reason(state_, i);
  return reason == Reason::pin_first_system || reason == Reason::pin_latest_system;
}

bool Layout::is_collapsed(Ordinal i) const { return std::binary_search(selection_.collapsed.begin(), selection_.collapsed.end(), i); }

std::vector<Hole> Layout::holes(const std::vector<Ordinal>& shown) const {
  std::vector<Hole> out;
  std::size_t behind = 0;  // so many of the shown ones lie before the node looked at
  std::size_t open = 0;    // of the hole that may still grow
  for (const Ordinal i : selection_.dropped) {
    while (behind < shown.size() && shown[behind] < i) ++behind;
    if (behind == 0 || !in_scope(i) || selection_.reason(state_, i) == Reason::edited_out) continue;
    if (open != behind) out.push_back({i, i, 0});
    open = behind;
    out.back().last = i;
    ++out.back().count;
  }
  return out;
}

bool Layout::drops_more_than(const std::vector<Hole>& holes) const {
  std::size_t told = 0, dropped = 0;
  for (const Hole& hole : holes) told += hole.count;
  for (const Ordinal i : selection_.dropped) dropped += in_scope(i) ? 1 : 0;
  return dropped > told;
}

std::string Layout::line(const Hole& hole) const {
  std::string out = "[weir: " + std::to_string(hole.count) + (hole.count == 1 ? " message" : " messages") + " left out here: ";
  out += state_.id(hole.first);
  if (hole.last != hole.first) out += ".." + state_.id(hole.last);
  return out + "; weir show ID]";
}

bool is_size(const ctree::OverBudget& over) {
  return over.limit == "max_bytes" || over.limit == "max_tokens" || over.limit == "max_message_chars";
}

}  // namespace weir::context
