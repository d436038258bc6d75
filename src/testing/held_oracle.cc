#include "testing/held_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "readcache/line_diff.h"

namespace weir::testing {
namespace {

// The plain read's lines: what stands before its notice.
void take_lines(Delivery& out, std::string_view text) {
  if (text.starts_with("[Line ")) return;
  text = text.substr(0, text.find("\n\n["));
  LineNo line = out.range.first;
  for (const std::string& each : split_lines(text)) out.lines[line++] = each;
}

// The hunks' new lines. Where lines stood before is counted from the hunks' headers.
void take_hunks(Delivery& out, const Texts& diff) {
  long shift = 0;                 // new minus old, after the hunks so far
  LineNo next = out.range.first;  // the first new line without a partner yet
  const auto pair_until = [&](LineNo end) {
    for (; next < end; ++next) out.partner[next] = static_cast<LineNo>(next - shift);
  };
  for (std::size_t i = 3; i < diff.size();) {  // after the marker line and two headers
    unsigned long old_first, old_count, new_first, new_count;
    if (std::sscanf(diff[i].c_str(), "@@ -%lu,%lu +%lu,%lu @@", &old_first, &old_count, &new_first, &new_count) != 4) break;
    LineNo line = static_cast<LineNo>(new_count == 0 ? new_first + 1 : new_first);
    pair_until(line);
    char sign = 0;
    bool old_end_without_feed = false, new_end_without_feed = false;
    for (++i;
         i < diff.size() && (diff[i].starts_with(' ') || diff[i].starts_with('-') || diff[i].starts_with('+') || diff[i].starts_with('\\'));
         ++i) {
      if (diff[i][0] == '\\') {
        old_end_without_feed |= sign != '+';
        new_end_without_feed |= sign != '-';
        continue;
      }
      sign = diff[i][0];
      if (sign != '-') out.lines[line++] = diff[i].substr(1);
    }
    // A line feed that only the new text ends with makes one more, empty line: the last, as the marker says.
    if (old_end_without_feed && !new_end_without_feed && line == out.current->size() && line <= out.range.last) out.lines[line++] = "";
    next = line;
    shift += static_cast<long>(new_count) - static_cast<long>(old_count);
  }
  pair_until(out.range.last + 1);
}

void pair_by_script(Delivery& out, const std::string& base_text, const std::string& current_text) {
  const LineTable base(base_text), current(current_text);
  out.partner.clear();
  const LineDiff script = diff_lines(base, current, 1'000'000, [] { return false; });
  for (const KeptLines& block : kept_lines(base, current, script.edits)) {
    for (LineNo k = 0; k < block.count; ++k) out.partner[block.b_first + k] = block.a_first + k;
  }
}

}  // namespace

Texts split_lines(std::string_view text) {
  Texts lines;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find('\n', at);
    lines.emplace_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return lines;
    at = end + 1;
  }
}

std::string join_lines(const Texts& lines) { return fmt::format("{}", fmt::join(lines, "\n")); }

Delivery delivered_by(const ReadAnswer& answer, std::shared_ptr<const Texts> current, const std::string& base_text,
                      const std::string& current_text) {
  const ReadRecord& record = answer.record;
  Delivery out{.path = record.path, .current = std::move(current), .range = record.range};
  if (is_anchor(record.mode)) {
    out.kind = Delivery::Kind::anchor;
    take_lines(out, answer.text);
  } else if (is_diff(record.mode)) {
    out.kind = Delivery::Kind::diff;
    take_hunks(out, split_lines(answer.text));
    // Hunks that were not sent shift lines too; the reader has only their numbers.
    if (record.known) {
      pair_by_script(out, base_text, current_text);
      std::erase_if(out.partner, [&](const auto& pair) {
        return std::none_of(record.known->begin(), record.known->end(), [&](LineRange lines) { return lines.contains(pair.first); });
      });
    }
  } else if (record.from) {
    out.kind = Delivery::Kind::moved;
    out.from = *record.from;
  }
  return out;
}

bool HeldOracle::holds(const Held& held, const Delivery& diff, LineNo line) {
  const std::string& text = (*diff.current)[line - 1];
  const auto has = [&](LineNo at) {
    const auto it = held.find(at);
    return it != held.end() && it->second == text;
  };
  const auto partner = diff.partner.find(line);
  return (partner != diff.partner.end() && has(partner->second)) || has(line);
}

void HeldOracle::apply(Memory& memory, const Delivery& delivery) {
  if (delivery.kind == Delivery::Kind::barrier) memory.clear();
  if (delivery.path.empty()) return;
  Held& held = memory[delivery.path];
  if (delivery.kind == Delivery::Kind::moved) {
    const Held was = held;
    for (LineNo k = 0; k < delivery.range.count(); ++k) {
      const LineNo line = delivery.range.first + k;
      const auto it = was.find(delivery.from.first + k);
      held.erase(line);
      if (it != was.end() && it->second == (*delivery.current)[line - 1]) held[line] = it->second;
    }
  }
  if (delivery.kind != Delivery::Kind::anchor && delivery.kind != Delivery::Kind::diff) return;
  Held next = held;
  if (delivery.kind == Delivery::Kind::diff) {
    for (LineNo line = delivery.range.first; line <= delivery.range.last; ++line) {
      next.erase(line);
      if (delivery.partner.contains(line) && holds(held, delivery, line)) next[line] = (*delivery.current)[line - 1];
    }
  }
  for (const auto& [line, text] : delivery.lines) next[line] = text;
  next.erase(next.upper_bound(static_cast<LineNo>(delivery.current->size())), next.end());
  held = std::move(next);
}

HeldOracle::Memory HeldOracle::without_withdrawn(Seq seq) const {
  std::vector<Seq> path;
  std::set<Seq> withdrawn;
  for (Seq at = seq; at != 0; at = parents_[at]) {
    path.push_back(at);
    if (deliveries_[at].kind == Delivery::Kind::withdrawal) withdrawn.insert(deliveries_[at].target);
  }
  Memory memory;
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    if (!withdrawn.contains(*it)) apply(memory, deliveries_[*it]);
  }
  return memory;
}

void HeldOracle::add(Seq parent, Delivery delivery) {
  parents_.push_back(parent);
  deliveries_.push_back(std::move(delivery));
  memories_.push_back(memories_[parent]);
  if (deliveries_.back().kind == Delivery::Kind::withdrawal) {
    memories_.back() = without_withdrawn(deliveries_.size() - 1);
  } else {
    apply(memories_.back(), deliveries_.back());
  }
}

const HeldOracle::Held& HeldOracle::held(Seq seq, const std::string& path) const {
  static const Held kNone;
  const auto it = memories_[seq].find(path);
  return it == memories_[seq].end() ? kNone : it->second;
}

std::string HeldOracle::lies(Seq seq, const ReadAnswer& answer, const Delivery& delivery) const {
  const ReadRecord& record = answer.record;
  const Held& now = held(seq, record.path);
  const Texts& file = *delivery.current;
  std::vector<LineRange> sent;
  for (const auto& [line, text] : delivery.lines) {
    if (line > file.size() || text != file[line - 1]) return fmt::format("line {} is sent as '{}'", line, text);
    append_range(sent, {line, line});
  }
  if (sent != record.shown) return "the record's `shown` is not what the answer shows";
  if (is_anchor(record.mode)) return "";
  const auto has = [&](LineNo at, LineNo line) {
    const auto it = now.find(at);
    return it != now.end() && it->second == file[line - 1];
  };
  if (record.full_scope && is_marker(record.mode) && now.upper_bound(record.total_lines) != now.end())
    return "the file lost its tail since it was shown";
  for (LineNo line = record.range.first; line <= record.range.last; ++line) {
    if (is_marker(record.mode)) {
      const LineNo at = record.from ? record.from->first + (line - record.range.first) : line;
      if (!has(at, line)) return fmt::format("line {} ('{}') is not held", line, file[line - 1]);
    } else if (!delivery.lines.contains(line)) {
      const bool named =
          record.known && std::none_of(record.known->begin(), record.known->end(), [&](LineRange r) { return r.contains(line); });
      if (!named && !holds(now, delivery, line)) return fmt::format("line {} ('{}') is not in the diff and not held", line, file[line - 1]);
    }
  }
  return "";
}

}  // namespace weir::testing
