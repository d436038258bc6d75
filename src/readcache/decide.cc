#include "readcache/decide.h"

#include <algorithm>
#include <set>

#include "base/sha256.h"
#include "readcache/held_text.h"
#include "readcache/line_diff.h"
#include "readcache/markers.h"

namespace weir {
namespace {

const PathTrust kNothing;

const PathTrust& trust_in(const TrustFold::State& state, const std::string& path) {
  const PathTrust* trust = state.paths.find(path);
  return trust == nullptr || !trust->proven ? kNothing : *trust;
}

bool is_digest(const std::string& version) { return Digest::parse(version).ok(); }

void fill_text(ReadAnswer& answer, std::string text, const CurrentFile& file) {
  answer.text = std::move(text);
  answer.record.text_sha256 = sha256(answer.text).hex();
  answer.record.sent = answer.text.size();
  answer.record.baseline = file.baseline.size();
}

// What the answer says of the file and of the request; its text is for the caller to fill in.
ReadAnswer about(const CurrentFile& file, LineRange lines, ReadMode mode, std::string_view reason) {
  ReadAnswer answer;
  ReadRecord& record = answer.record;
  record.mode = mode;
  record.path = file.path;
  if (file.name != file.path) record.name = file.name;
  record.full_scope = lines == LineRange{1, file.total};
  record.range = lines;
  record.total_lines = file.total;
  record.bytes = file.bytes;
  record.served = file.version;
  record.reason = reason;
  return answer;
}

// The plain read, for whatever reason.
ReadAnswer plain_answer(const CurrentFile& file, LineRange lines, ReadMode mode, std::string_view reason) {
  ReadAnswer answer = about(file, lines, mode, reason);
  if (!file.window.empty()) answer.record.shown = {file.window};
  fill_text(answer, std::string(file.baseline), file);
  return answer;
}

class Decision {
 public:
  Decision(const TrustFold::State& state, const CurrentFile& file, const ReadQuestion& question, const ReadOptions& options,
           LoadVersion load, FunctionRef<bool()> stop)
      : state_(state),
        trust_(trust_in(state, file.path)),
        file_(file),
        question_(question),
        options_(options),
        stop_(stop),
        full_(question.lines == LineRange{1, file.total}),
        scope_{full_, full_ ? LineRange{} : question.lines},
        base_(trust_.base(scope_)),
        held_(trust_.view, file, options.versions_per_read, load) {}

  ReadAnswer run() {
    if (!question_.followed) return plain(ReadMode::full, "not_followed");
    debug_.base_found = base_ != nullptr;
    if (question_.bypass) return plain(ReadMode::full, "bypass_cache");
    if (!full_ && trust_.blocked.touches(question_.lines)) {
      debug_.base_found = false;
      return plain(ReadMode::full, "blocked_by_refresh");
    }
    if ((base_ != nullptr || !trust_.view.empty()) && name_moved(asked_lines())) return plain(ReadMode::full_fallback, "name_moved");
    if (auto answer = claim()) return settled(std::move(*answer));
    if (auto answer = diff()) return settled(std::move(*answer));
    if (auto answer = window_claim()) return settled(std::move(*answer));
    return fallback();
  }

 private:
  bool name_moved(LineRange lines) const { return state_.name_moved(file_.name, file_.path, lines); }
  // Of the whole file also those that it had when it was told last, because a diff starts from them.
  LineRange asked_lines() const {
    if (!full_) return question_.lines;
    return {1, std::max(file_.total, base_ == nullptr ? file_.total : trust_.total_of(base_->version))};
  }

  // ---- the plain read ----

  ReadAnswer plain(ReadMode mode, std::string_view reason) {
    ReadAnswer answer = plain_answer(file_, question_.lines, mode, reason);
    if (mode == ReadMode::full_fallback && base_ != nullptr && is_digest(base_->version)) answer.record.base = base_->version;
    // Said where pi-readcache says it.
    if (reason.starts_with("base_object_")) debug_.base_object_found = false;
    if (reason == "range_slice_changed") debug_.outside_range_changed = true;
    answer.debug = debug_;
    return answer;
  }

  ReadAnswer fallback() {
    if (base_ == nullptr) return plain(ReadMode::full, "no_base_hash");
    const bool covered = trust_.view.covers(question_.lines);
    if (base_->version == file_.version)
      return covered ? plain(ReadMode::full_fallback, "view_differs") : plain(ReadMode::full, "lines_not_shown");
    if (full_) return plain(ReadMode::full_fallback, no_diff_);
    const LoadedVersion base = held_.version(base_->version);
    if (base.text == nullptr) return plain(ReadMode::full_fallback, base.damaged ? "base_object_damaged" : "base_object_missing");
    const bool slice_equal = file_.text != nullptr && base.text->lines().count() >= question_.lines.last &&
                             base.text->lines().text(question_.lines) == file_.text->lines().text(question_.lines);
    if (!slice_equal) return plain(ReadMode::full_fallback, no_diff_.empty() ? "range_slice_changed" : no_diff_);
    return covered ? plain(ReadMode::full_fallback, "view_differs") : plain(ReadMode::full, "lines_not_shown");
  }

  // ---- "you have it" ----

  ReadAnswer marker(ReadMode mode, LineRange lines, std::string_view reason, std::string base, const std::vector<View::Interval>& shown,
                    std::string text) {
    ReadAnswer answer = about(file_, lines, mode, reason);
    answer.record.base = std::move(base);
    answer.debug = debug_;
    if (options_.located) text = with_place(std::move(text), shown, state_.turn);
    fill_text(answer, std::move(text), file_);
    return answer;
  }

  // Of what the lines are said to be the same: the request's base if all of them are of it, else what was shown last.
  std::string claimed_base(const std::vector<View::Interval>& shown, const Slot* base) const {
    if (base != nullptr &&
        std::all_of(shown.begin(), shown.end(), [&](const auto& interval) { return interval.value->version == base->version; }))
      return base->version;
    return (*std::max_element(shown.begin(), shown.end(), [](const auto& a, const auto& b) { return a.value->seq < b.value->seq; }))
        .value->version;
  }

  std::optional<ReadAnswer> claim() {
    const auto standing = held_.compare(question_.lines);
    if (!standing.same) return full_ ? std::nullopt : shifted_claim();
    const auto shown = trust_.view.in(question_.lines);
    const std::string base = claimed_base(shown, base_);
    if (!full_) {
      if (!standing.all_current) debug_.outside_range_changed = true;
      return marker(ReadMode::unchanged_range, question_.lines, standing.all_current ? "hash_match" : "range_slice_unchanged", base, shown,
                    unchanged_range_marker(question_.lines, file_.total, standing.all_current));
    }
    // If it was longer when its end was shown, it lost its tail, whatever markers have told since: they show nothing. The
    // same if lines behind the end were shown after that.
    if (shown.back().value->total != file_.total || trust_.view.touches({file_.total + 1, kLastLine})) return std::nullopt;
    return marker(ReadMode::unchanged, question_.lines, "hash_match", base, shown, unchanged_marker(file_.total));
  }

  // The requested text as one block of a version whose lines there are held: the newest such version.
  std::optional<ReadAnswer> shifted_claim() {
    if (!options_.shift_map || file_.text == nullptr) return std::nullopt;
    std::vector<std::pair<std::uint64_t, std::string>> versions;
    trust_.view.each([&](LineRange, const auto& showing) { versions.push_back({showing->seq, showing->version}); });
    std::sort(versions.rbegin(), versions.rend());
    std::set<std::string> tried;
    for (const auto& [seq, version] : versions) {
      if (!tried.insert(version).second) continue;
      const LoadedVersion loaded = held_.version(version);
      const auto from = loaded.text == nullptr ? std::nullopt : find_block(*loaded.text, version);
      if (!from || name_moved(*from)) continue;
      ReadAnswer answer = marker(ReadMode::unchanged_range, question_.lines, "shifted", version, trust_.view.in(*from),
                                 shifted_marker(question_.lines, file_.total, *from));
      answer.record.from = *from;
      return answer;
    }
    return std::nullopt;
  }

  // Lines that are held in this version, and were not withdrawn.
  std::vector<LineRange> held_in(const std::string& version) const {
    std::vector<LineRange> runs;
    trust_.view.each([&](LineRange lines, const auto& showing) {
      if (showing->version != version) return;
      for (const auto& blocked : trust_.blocked.in(lines)) {
        append_range(runs, {lines.first, blocked.lines.first - 1});
        lines.first = blocked.lines.last + 1;
      }
      append_range(runs, lines);
    });
    return runs;
  }

  std::optional<LineRange> find_block(const VersionText& then, const std::string& version) const {
    const LineNo count = question_.lines.count();
    const auto wanted = [&](LineNo k) { return file_.text->lines().text(question_.lines.first + k); };
    // As Knuth, Morris and Pratt do, so that a file of equal lines costs no more than another: how long a beginning of the
    // block ends with its line k.
    std::vector<LineNo> border(count, 0);
    for (LineNo k = 1, length = 0; k < count; ++k) {
      while (length > 0 && wanted(k) != wanted(length)) length = border[length - 1];
      if (wanted(k) == wanted(length)) ++length;
      border[k] = length;
    }
    for (const LineRange run : held_in(version)) {
      const LineNo last = std::min(run.last, then.lines().count());
      LineNo length = 0;
      for (LineNo line = run.first; line <= last; ++line) {
        while (length > 0 && then.lines().text(line) != wanted(length)) length = border[length - 1];
        if (then.lines().text(line) == wanted(length)) ++length;
        if (length == count) return LineRange{line + 1 - count, line};
      }
    }
    return std::nullopt;
  }

  // The part of the request that a plain read would deliver may be held although the rest was never shown.
  std::optional<ReadAnswer> window_claim() {
    const LineRange window = file_.window;
    if (window.empty() || window == question_.lines) return std::nullopt;
    const auto standing = held_.compare(window);
    if (!standing.same) return std::nullopt;
    const auto shown = trust_.view.in(window);
    std::string text = unchanged_range_marker(window, file_.total, standing.all_current);
    if (options_.located) text = with_place(std::move(text), shown, state_.turn);
    text += "\n" + rest_notice(window.last + 1, question_.lines.last);
    ReadAnswer answer = marker(ReadMode::unchanged_range, window, standing.all_current ? "hash_match" : "range_slice_unchanged",
                               claimed_base(shown, trust_.base({false, window})), {}, std::move(text));
    if (!standing.all_current) answer.debug.outside_range_changed = true;
    return answer;
  }

  // ---- "this changed" ----

  // Nothing, with the first test that failed in `no_diff_`.
  std::optional<ReadAnswer> diff() {
    std::string base_version;
    if (full_ ? base_ == nullptr || base_->version == file_.version : !options_.range_diff) return std::nullopt;
    if (base_ != nullptr) base_version = base_->version;
    if (!full_ && base_ == nullptr) {
      const auto shown = trust_.view.in(question_.lines);
      if (shown.empty()) return std::nullopt;
      base_version = claimed_base(shown, nullptr);
    }
    if (base_version == file_.version) return std::nullopt;
    const auto no = [&](std::string_view why) {
      no_diff_ = why;
      return std::nullopt;
    };
    const LoadedVersion loaded = held_.version(base_version);
    if (loaded.text == nullptr) return no(loaded.damaged ? "base_object_damaged" : "base_object_missing");
    const LineTable& base = loaded.text->lines();
    const std::uint64_t largest_bytes = std::max<std::uint64_t>(loaded.text->bytes.size(), file_.bytes),
                        largest_lines = std::max(base.count(), file_.total);
    debug_.diff_attempted = true;
    if (largest_bytes > options_.diff_max_bytes || file_.text == nullptr) {
      debug_.largest_bytes = largest_bytes;
      return no("diff_file_too_large_bytes");
    }
    if (largest_lines > options_.diff_max_lines) {
      debug_.max_lines = largest_lines;
      return no("diff_file_too_large_lines");
    }

    const LineRange base_lines = full_ ? LineRange{1, base.count()} : common(question_.lines, {1, base.count()});
    if (!trust_.view.covers(base_lines)) return no("base_not_shown");
    if (!holds_base_or_current(base, base_lines)) return no("view_differs");
    const LineSlice old_side(base, base_lines), new_side(file_.text->lines(), question_.lines);
    const LineDiff edits = diff_lines(old_side, new_side, options_.diff_max_cost, stop_);
    if (edits.outcome != DiffOutcome::ok) return no("diff_deadline");
    const UnifiedDiff unified = unified_diff(file_.given, old_side, new_side, edits.edits);
    if (unified.hunks.empty()) return no("diff_unavailable_or_empty");
    debug_.diff_bytes = unified.text.size();
    debug_.diff_changed_lines = unified.changed_lines();
    const std::size_t base_bytes = full_ ? loaded.text->bytes.size() : base_lines.empty() ? 0 : base.text(base_lines).size();
    const std::size_t bytes = full_ ? file_.bytes : file_.text->lines().text(question_.lines).size();
    if (!is_useful(unified, base_bytes, bytes, question_.lines.count(), options_.diff_ratios)) return no("diff_not_useful");
    const AnswerLimits limits{options_.answer.max_bytes, options_.answer.max_lines};
    const auto sent = full_ ? cut_diff(unified, file_.total, limits) : whole_range_diff(unified, question_.lines, file_.total, limits);
    if (!sent) return no("diff_payload_truncated");
    if (!holds_the_rest(base, *sent, kept_lines(old_side, new_side, edits.edits))) return no("view_differs");

    const bool cut = sent->hunks < unified.hunks.size();
    ReadAnswer answer = about(file_, question_.lines, full_ ? ReadMode::diff : ReadMode::range_diff, cut ? "diff_cut" : "diff_emitted");
    answer.record.base = base_version;
    answer.record.shown = sent->shown;
    if (cut) answer.record.known = sent->known;
    answer.debug = debug_;
    fill_text(answer, sent->text, file_);
    return answer;
  }

  // D1: nothing else was shown at the base's lines since.
  bool holds_base_or_current(const LineTable& base, LineRange lines) {
    for (LineNo line = lines.first; line <= lines.last; ++line) {
      const auto held = held_.at(line);
      if (!held) return false;
      if (*held != base.text(line) && (line > file_.total || *held != file_.text->lines().text(line))) return false;
    }
    return true;
  }

  // D2: every line that is neither sent nor named is held, at its old place or at its new one.
  bool holds_the_rest(const LineTable& base, const DiffAnswer& sent, const std::vector<KeptLines>& kept) {
    std::vector<bool> needed(file_.total + 1, false);
    for (const LineRange lines : sent.known) std::fill(needed.begin() + lines.first, needed.begin() + lines.last + 1, true);
    for (const LineRange lines : sent.shown) std::fill(needed.begin() + lines.first, needed.begin() + lines.last + 1, false);
    for (const KeptLines& block : kept) {
      for (LineNo k = 0; k < block.count; ++k) {
        const LineNo now = block.b_first + k, then = block.a_first + k;
        if (!needed[now]) continue;
        if (held_.at(then) != base.text(then) && held_.at(now) != file_.text->lines().text(now)) return false;
        needed[now] = false;
      }
    }
    return std::none_of(needed.begin(), needed.end(), [](bool left) { return left; });
  }

  // ---- what may still replace a marker or diff ----

  ReadAnswer settled(ReadAnswer answer) {
    if (is_marker(answer.record.mode) && options_.marker_repeat > 0) {
      const auto& repeat = state_.repeat;
      const bool same = repeat.path == file_.path && repeat.scope == answer.record.scope().text() && repeat.version == file_.version;
      if (same && repeat.count >= options_.marker_repeat) return replaced(answer, "repeat_escape");
    }
    if (options_.never_inflate && answer.text.size() >= file_.baseline.size()) return replaced(answer, "marker_not_smaller");
    return answer;
  }

  ReadAnswer replaced(const ReadAnswer& by, std::string_view reason) {
    ReadAnswer answer = plain_answer(file_, question_.lines, ReadMode::full_fallback, reason);
    answer.record.base = by.record.base;
    answer.debug = debug_;
    return answer;
  }

  const TrustFold::State& state_;
  const PathTrust& trust_;
  const CurrentFile& file_;
  const ReadQuestion& question_;
  const ReadOptions& options_;
  FunctionRef<bool()> stop_;
  const bool full_;
  const ReadScope scope_;
  const Slot* const base_;
  HeldText held_;
  ReadDebug debug_;
  std::string_view no_diff_;
};

}  // namespace

ReadAnswer decide_read(const TrustFold::State& state, const CurrentFile& file, const ReadQuestion& question, const ReadOptions& options,
                       LoadVersion load, FunctionRef<bool()> stop) {
  return Decision(state, file, question, options, load, stop).run();
}

}  // namespace weir
