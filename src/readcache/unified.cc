#include "readcache/unified.h"

#include <fmt/format.h>

#include <iterator>
#include <span>
#include <utility>

namespace weir {
namespace {

constexpr LineNo kContext = 3;
constexpr std::size_t kTrailerRanges = 64;

std::string patch_name(std::string_view path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  if (path.empty()) return "unknown";
  std::string name(path);
  for (char& c : name) {
    if (c == '\t' || c == '\r' || c == '\n') c = '_';
  }
  if (name.find(' ') != std::string::npos) name += '\t';  // else patch takes the name to end at the space
  return name;
}

class Writer {
 public:
  Writer(std::string_view path, const LineSlice& base, const LineSlice& current) : base_(base), current_(current) {
    const std::string name = patch_name(path);
    diff_.text = fmt::format("--- a/{}\n+++ b/{}", name, name);
    lines_ = 2;
  }

  // The edits of one hunk: so close that their contexts meet.
  void hunk(std::span<const Edit> edits) {
    const Edit& first = edits.front();
    const Edit& last = edits.back();
    const LineNo before = std::min(kContext, first.b_first - current_.range.first);
    const LineNo after = std::min(kContext, current_.patch_end() - (last.b_first + last.b_count));
    const LineRange old_lines{first.a_first - before, last.a_first + last.a_count + after - 1};
    const LineRange new_lines{first.b_first - before, last.b_first + last.b_count + after - 1};

    Hunk hunk{.begin = diff_.text.size() + 1, .shown = new_lines};
    start(old_lines, new_lines);
    LineNo next = new_lines.first;
    for (const Edit& edit : edits) {
      put(' ', current_, {next, edit.b_first - 1});
      put('-', base_, {edit.a_first, edit.a_first + edit.a_count - 1});
      put('+', current_, {edit.b_first, edit.b_first + edit.b_count - 1});
      next = edit.b_first + edit.b_count;
      diff_.removed += edit.a_count;
      diff_.added += edit.b_count;
      append_range(hunk.changed, changed_by(edit));
      hunk.shifts |= edit.a_count != edit.b_count;
    }
    put(' ', current_, {next, new_lines.last});
    const bool at_end = old_lines.last + 1 == base_.patch_end() && new_lines.last + 1 == current_.patch_end();
    if (at_end && current_.has_empty_end() && base_.ends_without_feed()) {
      const LineNo empty_line = ++hunk.shown.last;
      append_range(hunk.changed, {empty_line, empty_line});
    }
    hunk.end = diff_.text.size();
    hunk.diff_lines = lines_;
    diff_.hunks.push_back(std::move(hunk));
  }

  UnifiedDiff finish() && { return std::move(diff_); }

 private:
  void start(LineRange old_lines, LineRange new_lines) {
    const auto shown_first = [](LineRange lines) { return lines.empty() ? lines.last : lines.first; };
    fmt::format_to(std::back_inserter(diff_.text), "\n@@ -{},{} +{},{} @@", shown_first(old_lines), old_lines.count(),
                   shown_first(new_lines), new_lines.count());
    ++lines_;
  }

  void put(char sign, const LineSlice& side, LineRange lines) {
    for (LineNo line = lines.first; line <= lines.last; ++line) {
      diff_.text += '\n';
      diff_.text += sign;
      diff_.text += side.table.text(line);
      ++lines_;
      if (side.table.has_end(line)) continue;
      diff_.text += "\n\\ No newline at end of file";
      ++lines_;
    }
  }

  LineRange changed_by(const Edit& edit) const {
    if (edit.b_count > 0) return {edit.b_first, edit.b_first + edit.b_count - 1};
    const LineRange all = current_.range;
    return {std::max(edit.b_first - 1, all.first), std::min(edit.b_first, all.last)};
  }

  const LineSlice& base_;
  const LineSlice& current_;
  UnifiedDiff diff_;
  std::size_t lines_;
};

std::vector<LineRange> shown_by(std::span<const Hunk> hunks) {
  std::vector<LineRange> shown;
  for (const Hunk& hunk : hunks) append_range(shown, hunk.shown);
  return shown;
}

// What the trailer names for hunks that are not sent.
std::vector<LineRange> changed_by(std::span<const Hunk> hunks) {
  std::vector<LineRange> changed;
  for (const Hunk& hunk : hunks) {
    for (const LineRange range : hunk.changed) append_range(changed, range);
  }
  if (changed.size() > kTrailerRanges) {
    changed[kTrailerRanges - 1].last = changed.back().last;
    changed.resize(kTrailerRanges);
  }
  return changed;
}

// The last line whose number a reader can know who is not shown these hunks.
LineNo last_countable(std::span<const Hunk> hunks, LineNo total) {
  const auto shift = std::find_if(hunks.begin(), hunks.end(), [](const Hunk& hunk) { return hunk.shifts; });
  if (shift == hunks.end()) return total;
  return (shift->changed.empty() ? shift->shown : shift->changed.front()).first - 1;
}

std::vector<LineRange> all_but(const std::vector<LineRange>& holes, LineNo total) {
  std::vector<LineRange> rest;
  LineNo next = 1;
  for (const LineRange hole : holes) {
    append_range(rest, {next, std::min(hole.first - 1, total)});
    next = hole.last + 1;
  }
  append_range(rest, {next, total});
  return rest;
}

std::string trailer(std::size_t sent, std::size_t hunks, const std::vector<LineRange>& changed) {
  std::string text = fmt::format("\n[readcache: {} of {} hunks shown; also changed: lines ", sent, hunks);
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const auto [first, last] = changed[i];
    fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : ", ", first);
    if (last > first) fmt::format_to(std::back_inserter(text), "-{}", last);
  }
  return text + ". Use offset and limit to read them.]";
}

std::optional<DiffAnswer> whole(const UnifiedDiff& diff, const std::string& marker, LineRange range, AnswerLimits limits) {
  if (diff.hunks.empty() || marker.size() + diff.text.size() > limits.max_bytes || 1 + diff.lines() > limits.max_lines) return std::nullopt;
  return DiffAnswer{marker + diff.text, diff.hunks.size(), shown_by(diff.hunks), {range}};
}

}  // namespace

UnifiedDiff unified_diff(std::string_view path, const LineSlice& base, const LineSlice& current, const std::vector<Edit>& edits) {
  if (edits.empty()) return {};
  Writer writer(path, base, current);
  for (std::size_t first = 0, end = 0; first < edits.size(); first = end) {
    const auto kept_before = [&](std::size_t i) { return edits[i].b_first - (edits[i - 1].b_first + edits[i - 1].b_count); };
    for (end = first + 1; end < edits.size() && kept_before(end) <= 2 * kContext;) ++end;
    writer.hunk(std::span(edits).subspan(first, end - first));
  }
  return std::move(writer).finish();
}

bool is_useful(const UnifiedDiff& diff, std::size_t base_bytes, std::size_t current_bytes, LineNo current_lines, DiffRatios ratios) {
  return static_cast<double>(diff.text.size()) < ratios.bytes * static_cast<double>(std::max(base_bytes, current_bytes)) &&
         static_cast<double>(diff.lines()) <= ratios.lines * static_cast<double>(current_lines);
}

std::optional<DiffAnswer> cut_diff(const UnifiedDiff& diff, LineNo total, AnswerLimits limits) {
  const std::string marker = fmt::format("[readcache: {} lines changed of {}]\n", diff.changed_lines(), total);
  if (auto answer = whole(diff, marker, {1, total}, limits)) return answer;
  const std::span<const Hunk> hunks = diff.hunks;
  // From the end: the trailer has a length of its own for each number of hunks, and the largest number is wanted.
  for (std::size_t sent = hunks.empty() ? 0 : hunks.size() - 1; sent > 0; --sent) {
    const Hunk& last = hunks[sent - 1];
    if (marker.size() + last.end > limits.max_bytes || 2 + last.diff_lines > limits.max_lines) continue;
    const std::vector<LineRange> unsent = changed_by(hunks.subspan(sent));
    std::string text = marker;
    text.append(diff.text, 0, last.end).append(trailer(sent, hunks.size(), unsent));
    if (text.size() > limits.max_bytes) continue;
    return DiffAnswer{std::move(text), sent, shown_by(hunks.first(sent)), all_but(unsent, last_countable(hunks.subspan(sent), total))};
  }
  return std::nullopt;
}

std::optional<DiffAnswer> whole_range_diff(const UnifiedDiff& diff, LineRange range, LineNo total, AnswerLimits limits) {
  const std::string marker =
      fmt::format("[readcache: {} lines changed in lines {}-{} of {}]\n", diff.changed_lines(), range.first, range.last, total);
  return whole(diff, marker, range, limits);
}

}  // namespace weir
