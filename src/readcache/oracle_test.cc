// Random readers of random files against a plain model of what they hold: no answer may claim a line the reader has not got.
// A failure names the session's seed; WEIR_SEED=<that> runs it alone and tells its story.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/sha256.h"
#include "testing/cached_reader.h"
#include "testing/effort.h"
#include "testing/held_oracle.h"

namespace weir::testing {
namespace {

constexpr std::uint64_t kSessions = 2000 / testing::one_in(8);
constexpr int kSteps = 50;
const std::string kPaths[] = {"/r/a.txt", "/r/b.txt"};

struct Tally {
  std::map<std::string, int> modes, reasons;
};

class World {
 public:
  World(std::uint64_t seed, Tally& tally) : seed_(seed), random_(seed), tally_(tally), reader_(some_options()) {
    for (const std::string& path : kPaths) put(path, join_lines(some_lines(upto(40))));
  }

  void run() {
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) {
      take_step();
      check_views();
    }
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "WEIR_SEED=" << seed_ << " range_diff " << reader_.options.range_diff << " shift_map " << reader_.options.shift_map
                    << " max_lines " << reader_.options.answer.max_lines << " max_bytes " << reader_.options.answer.max_bytes << "\n"
                    << story_;
    }
  }

 private:
  std::uint64_t upto(std::uint64_t most) { return random_() % (most + 1); }
  bool chance(int percent) { return upto(99) < static_cast<std::uint64_t>(percent); }

  ReadOptions some_options() {
    ReadOptions options;
    options.range_diff = chance(60);
    options.shift_map = chance(50);
    options.never_inflate = chance(15);
    options.located = chance(30);
    options.marker_repeat = upto(3);
    options.answer = {4 + upto(20), 60 + upto(500), chance(30) ? LineCount::legacy : LineCount::current};
    if (chance(30)) options.answer = {60, 220 + upto(150)};  // a whole file fits, a diff of three hunks does not
    if (chance(70)) options.diff_ratios = {20.0, 20.0};
    if (chance(10)) options.view_intervals = 1 + upto(3);
    if (chance(10)) options.versions_per_read = 1 + upto(1);
    return options;
  }

  // Few different lines, so that the same text stands in many places.
  std::string some_line() {
    static const char* const kLines[] = {"", "a", "b", "c", "d", "same", "a line of some length here", "cr\r", "+x", "- y"};
    return chance(30) ? fmt::format("n{}", upto(30)) : kLines[upto(std::size(kLines) - 1)];
  }
  Texts some_lines(std::uint64_t count) {
    Texts lines;
    for (std::uint64_t i = 0; i < count; ++i) lines.push_back(some_line());
    return lines;
  }

  void put(const std::string& path, std::string bytes) {
    reader_.files[path] = bytes;
    past_[path].push_back(bytes);
    known_[sha256(bytes).hex()] = bytes;
    story_ += fmt::format("{} = \"{}\"\n", path, join_with(split_lines(bytes), "|"));
  }
  static std::string join_with(const Texts& lines, std::string_view by) { return fmt::format("{}", fmt::join(lines, by)); }

  void edit_file(const std::string& path) {
    Texts lines = split_lines(reader_.files[path]);
    const auto at = [&] { return lines.begin() + static_cast<long>(upto(lines.size() - 1)); };
    switch (upto(9)) {
      case 0:
        return put(path, past_[path][upto(past_[path].size() - 1)]);
      case 1:
        return put(path, join_lines(some_lines(upto(40))));
      case 2:
        lines.resize(1 + upto(lines.size() - 1));
        break;
      case 3:
        for (const std::string& line : some_lines(1 + upto(3))) lines.push_back(line);
        break;
      case 4:
      case 5:
        for (const std::string& line : some_lines(1 + upto(2))) lines.insert(at(), line);
        break;
      case 6:
        if (lines.size() > 1) lines.erase(at());
        break;
      case 7:
        lines.back().empty() && lines.size() > 1 ? lines.pop_back() : lines.push_back("");
        break;
      default:
        for (std::uint64_t n = 1 + upto(4); n > 0; --n) *at() = some_line();
    }
    if (lines.size() > 45) lines.resize(45);
    put(path, join_lines(lines));
  }

  CachedReader::Ask some_ask(const std::string& path) {
    const std::uint64_t total = split_lines(reader_.files[path]).size();
    if (const auto asked = asked_.find(path); asked != asked_.end() && asked->second.offset.value_or(1) <= total && chance(30))
      return asked->second;
    CachedReader::Ask& ask = asked_[path] = {.bypass = chance(4)};
    if (chance(40)) return ask;
    ask.offset = 1 + upto(total - 1);
    if (chance(80)) ask.limit = 1 + upto(chance(50) ? 5 : 40);
    return ask;
  }

  void take_step() {
    const std::string& path = kPaths[chance(20)];
    switch (upto(19)) {
      case 0:
        return note("compaction", reader_.compact(), {.kind = Delivery::Kind::barrier});
      case 1:
        if (!reader_.entries().empty()) reader_.head = chance(5) ? 0 : 1 + upto(reader_.entries().size() - 1);
        story_ += fmt::format("head -> {}\n", reader_.head);
        return;
      case 2: {
        if (chance(30)) return note("refresh " + path, reader_.refresh(path), {.kind = Delivery::Kind::nothing});
        const std::uint64_t first = 1 + upto(20), last = first + upto(10);
        const std::string scope = fmt::format("r:{}:{}", first, last);
        return note("refresh " + path + " " + scope, reader_.refresh(path, scope), {});
      }
      case 3:
      case 4:
        return edit_context();
      case 5:
        if (chance(50)) return note("turn", reader_.append("message", R"({"content":"x","role":"assistant"})"), {});
        return note("label", reader_.append("label", R"({"label":"l","target":"e1"})"), {});
      case 6:
        if (!known_.empty() && chance(30)) lose_version();
        return edit_file(path);
      case 7:
      case 8:
      case 9:
        return edit_file(path);
      default:
        return read(path, some_ask(path));
    }
  }

  void lose_version() {
    auto it = known_.begin();
    std::advance(it, static_cast<long>(upto(known_.size() - 1)));
    if (chance(30)) {
      reader_.damaged.insert(it->first);
    } else {
      reader_.versions.erase(it->first);
    }
    story_ += "lost " + it->first.substr(0, 6) + "\n";
  }

  void edit_context() {
    const std::vector<Seq> path = reader_.path();
    if (path.empty()) return;
    const Seq target = path[path.size() - 1 - std::min(upto(8), path.size() - 1)];
    if (target == reader_.head && chance(50)) return;
    const EntryId id = reader_.entries()[target - 1].id;
    note("context_edit " + id.str(), reader_.edit_context(id, chance(50)), {.kind = Delivery::Kind::withdrawal, .target = target});
  }

  void note(const std::string& what, const Entry& entry, Delivery delivery) {
    story_ += fmt::format("{} {} under {}\n", entry.id.str(), what, entry.parent);
    oracle_.add(entry.parent, std::move(delivery));
  }

  void read(const std::string& path, const CachedReader::Ask& ask) {
    const bool was_blocked = reader_.trust(path) != nullptr && !reader_.trust(path)->blocked.empty();
    const ReadAnswer first = read_once(path, ask, chance(12));
    if (::testing::Test::HasFailure() || !chance(30) || !last_counts_) return;
    // What was just delivered is held: asked for again, it is not sent again.
    const bool whole = first.record.shown == std::vector<LineRange>{first.record.range} || is_marker(first.record.mode) ||
                       (is_diff(first.record.mode) && !first.record.known);
    if (was_blocked || !(whole || (is_anchor(first.record.mode) && !first.record.shown.empty()))) return;
    if (reader_.options.view_intervals < 100 || reader_.options.versions_per_read < 8) return;
    CachedReader::Ask again = ask;
    again.bypass = false;
    const ReadAnswer second = read_once(path, again, false);
    const std::string& reason = second.record.reason;
    EXPECT_TRUE(is_marker(second.record.mode) || reason == "repeat_escape" || reason == "marker_not_smaller") << reason;
  }

  ReadAnswer read_once(const std::string& path, const CachedReader::Ask& ask, bool lost) {
    reader_.keep_versions = chance(95);
    const Seq before = reader_.head;
    const bool by_message = lost || chance(40);
    const ReadAnswer answer = by_message ? reader_.read_by_message(path, ask,
                                                                   !lost        ? "{}"
                                                                   : chance(50) ? R"({"is_error":true})"
                                                                                : R"({"content":"other"})")
                                         : reader_.read(path, ask);
    const ReadRecord& record = answer.record;
    const auto base = known_.find(record.base);
    Delivery delivery = delivered_by(answer, std::make_shared<const Texts>(split_lines(reader_.files[path])),
                                     base == known_.end() ? "" : base->second, reader_.files[path]);
    EXPECT_EQ(oracle_.lies(before, answer, delivery), "");
    EXPECT_TRUE(is_consistent(record));
    EXPECT_LE(answer.text.size(), reader_.options.answer.max_bytes + 200);
    ++tally_.modes[std::string(mode_name(record.mode))];
    ++tally_.reasons[record.reason];
    last_counts_ = !lost;
    note(fmt::format("{} {} {} {} {}{} shown {}{} base {} served {}", lost ? "(lost)" : "read", path, mode_name(record.mode), record.reason,
                     record.scope().text(), ask.bypass ? " bypass" : "", show_ranges(record.shown),
                     record.from ? " from " + show_ranges({*record.from}) : "", record.base.substr(0, 6), record.served.substr(0, 6)),
         reader_.last(), lost ? Delivery() : std::move(delivery));
    return answer;
  }

  // Every line of a view has the text that is held there.
  void check_views() {
    for (const std::string& path : kPaths) {
      const PathTrust* trust = reader_.trust(path);
      if (trust == nullptr) continue;
      const HeldOracle::Held& held = oracle_.held(reader_.head, path);
      trust->view.each([&](LineRange lines, const std::shared_ptr<const Showing>& showing) {
        const Texts texts = split_lines(known_.at(showing->version));
        for (LineNo line = lines.first; line <= lines.last; ++line) {
          const auto it = held.find(line);
          if (line <= texts.size() && it != held.end() && it->second == texts[line - 1]) continue;
          ADD_FAILURE() << path << " line " << line << " is in the view by " << showing->entry.str() << ", and not held\n"
                        << show_view(trust->view);
          return;
        }
      });
    }
  }

  const std::uint64_t seed_;
  std::mt19937_64 random_;
  Tally& tally_;
  CachedReader reader_;
  HeldOracle oracle_;
  std::map<std::string, std::vector<std::string>> past_;  // path -> contents it had
  std::map<std::string, std::string> known_;              // version -> bytes, none ever lost
  std::map<std::string, CachedReader::Ask> asked_;        // path -> the last request
  bool last_counts_ = true;
  std::string story_;
};

// Case 50.
TEST(OracleTest, NoAnswerClaimsALineTheReaderDoesNotHold) {
  Tally tally;
  if (const char* seed = std::getenv("WEIR_SEED")) {
    World(std::strtoull(seed, nullptr, 10), tally).run();
    return;
  }
  for (std::uint64_t session = 0; session < kSessions && !HasFailure(); ++session) World(7'000'000 + session, tally).run();
  if (HasFailure()) return;
  // A generator gone blind would find nothing.
  if (testing::kSanitized) return;  // too few of each kind
  for (const char* mode : {"full", "full_fallback", "unchanged", "unchanged_range", "diff", "range_diff"})
    EXPECT_GE(tally.modes[mode], 300) << mode;
  for (const char* reason :
       {"hash_match", "range_slice_unchanged", "shifted", "diff_cut", "view_differs", "base_not_shown", "lines_not_shown",
        "blocked_by_refresh", "base_object_missing", "base_object_damaged", "repeat_escape", "marker_not_smaller"})
    EXPECT_GE(tally.reasons[reason], 20) << reason;
}

}  // namespace
}  // namespace weir::testing
