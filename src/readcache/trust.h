// What the model on one path has been shown since the last compaction: the fold behind every answer of the read cache.
// docs/readcache.md has the state machine as a table. Trust is kept per line: in which version it was shown last, and by
// which entry. A record that only claims (a marker, a diff) counts if what it claims was there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "json/value.h"
#include "readcache/interval_map.h"
#include "session/plist.h"
#include "session/pmap.h"
#include "session/read_record.h"
#include "store/entry.h"

namespace weir {

// Somebody put lines before the model.
struct Showing {
  std::string version;
  std::uint64_t seq = 0;        // of the record that said so last
  EntryId entry;                // that delivered the text
  std::uint64_t shown_seq = 0;  // of that entry's record
  std::uint64_t turn = 0;       // assistant messages before it
  LineNo total = 0;             // lines the file had then
};
using View = IntervalMap<std::shared_ptr<const Showing>>;

// What somebody was shown under a name, of which file and in which version.
struct Named {
  std::string path;  // empty: nobody can say
  std::string version;
  std::uint64_t seq = 0;  // of the record that said so last
};
using NamedLines = IntervalMap<std::shared_ptr<const Named>>;

struct Slot {
  std::string version;
  std::uint64_t seq = 0;
};

// A record or a refresh of one path, in the order of the log.
struct Evidence {
  std::shared_ptr<const ReadRecord> record;  // null: a refresh
  ReadScope refresh;
  EntryId entry;
  std::uint64_t seq = 0, turn = 0;
  bool withdrawn = false;  // its entry was taken out of the context, or replaced
  bool uprooted = false;   // a marker or diff: what it stood on is not, or not any more, what was shown
};

// What was answered last.
struct Told {
  std::string name;  // under which it was asked for
  std::string version;
  EntryId entry;
};

struct PathTrust {
  // False: it was shown while nobody told of compactions. It is known what was sent, and nothing can be claimed from it.
  bool proven = true;
  PMap<std::string, Slot> slots;     // scope -> the version answered last
  PMap<std::string, LineNo> totals;  // version -> how many lines it has
  View view;
  IntervalMap<bool> blocked;  // lines withdrawn by a refresh of a range
  PList<Evidence> evidence;   // since the barrier, in order
  Told told;

  const Slot* slot(const ReadScope& scope) const { return slots.find(scope.text()); }
  const Slot* full_slot() const { return slots.find(std::string_view("full")); }
  // What a request is answered against: the newer of its own slot and that of the whole file.
  const Slot* base(const ReadScope& scope) const;
  LineNo total_of(const std::string& version) const;  // 0 if unknown
  std::size_t bytes() const;
};

// Which record an entry carried. Entries are added far more often than looked for: so they lie in buckets.
class RecordsByEntry {
 public:
  void add(const EntryId& entry, std::shared_ptr<const ReadRecord> record);
  // Null if there is none.
  std::shared_ptr<const ReadRecord> find(std::string_view entry) const;
  std::size_t size() const { return size_; }

 private:
  struct Carried {
    EntryId entry;
    std::shared_ptr<const ReadRecord> record;
  };
  PMap<std::uint32_t, PList<Carried>> buckets_;
  std::size_t size_ = 0;
};

struct TrustFold {
  static constexpr std::string_view kName = "trust.v1";
  static constexpr bool kStartsAtBarrier = true;  // what stood before the barrier has no part in it

  struct State {
    // So many maps are copied and destroyed in code that is compiled once, in the .cc.
    State();
    State(const State&);
    State(State&&) noexcept;
    State& operator=(const State&);
    State& operator=(State&&) noexcept;
    ~State();

    std::string boundary = "root";  // or `compaction:<id>`
    std::uint64_t entries = 0;      // since the barrier
    std::uint64_t seq = 0;          // valid records since then
    std::uint64_t turn = 0;         // assistant messages
    std::uint64_t not_evidence = 0, malformed = 0;
    PMap<std::string, PathTrust> paths;
    // What was told last under each name that was asked for. A link may lead elsewhere by now, and a file may have been shown in another
    // version under another of its names: then whoever asks for this name holds other text under it.
    struct Name {
      NamedLines lines;
      EntryId last;  // the entry that told something under it last
    };
    PMap<std::string, Name> names;
    // Is any of these lines held as something else under this name than it is as part of the file?
    bool name_moved(const std::string& name, const std::string& path, LineRange lines) const;
    RecordsByEntry records;
    std::size_t path_bytes = 0;  // what `paths` and `names` hold, about

    // The marker that was answered last, and how often in a row.
    struct Repeat {
      std::string path, scope, version;
      std::uint64_t count = 0;
    } repeat;
  };

  // The most intervals remembered for one path; those shown longest ago are forgotten first.
  std::size_t view_intervals = 4096;

  static State initial() { return {}; }
  Result<void> step(State& state, const Entry& entry) const;
  static std::size_t bytes(const State& state);

  // A record that is not in the log yet, as if it had just been appended.
  void take_record(State& state, const EntryId& entry, ReadRecord record) const;
  void take_refresh(State& state, const EntryId& entry, const RefreshBody& refresh) const;
  // What this entry delivered was edited away: it is not in the context. Nothing if it delivered nothing.
  void withdraw(State& state, std::string_view entry) const;
  // Perhaps this entry's answer was seen, and perhaps not: so neither it nor what was shown of its file before can be counted on.
  void doubt(State& state, std::string_view entry) const;

 private:
  void add(State& state, const std::string& path, Evidence evidence) const;
  void take_out(State& state, std::string_view entry, bool doubted) const;
};

// Nobody can say any more what was shown under this name.
void forget_name(TrustFold::State& state, const std::string& name);

// What a marker or diff stands on: which version each of the lines it speaks of is held in, as a hash.
std::string held_under(const PathTrust& trust, const ReadRecord& record);

// Where replay starts on a path of n entries, and its name.
struct ReplayWindow {
  std::size_t start = 0;
  std::string key = "root";
};
ReplayWindow replay_window(std::size_t entries, std::optional<std::size_t> latest_compaction, std::string_view compaction_id);

}  // namespace weir
