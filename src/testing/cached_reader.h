// The read cache without disk or service: files and earlier versions in memory, a tree of entries folded one by one, reads
// as decide_read answers them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "readcache/decide.h"
#include "store/entry.h"

namespace weir::testing {

struct ReadAsk {
  std::optional<std::uint64_t> offset, limit;
  bool bypass = false;
};
inline ReadAsk lines(std::uint64_t first, std::uint64_t last) { return {first, last - first + 1}; }

class CachedReader {
 public:
  ReadOptions options;
  std::map<std::string, std::string> files;     // path -> bytes
  std::map<std::string, std::string> links;     // name -> the path it leads to
  std::map<std::string, std::string> versions;  // version -> bytes: the blobs
  std::set<std::string> damaged;                // versions whose blob no longer has their hash
  bool keep_versions = true;                    // store a blob at every read
  Seq head = 0;

  explicit CachedReader(ReadOptions chosen = {}) : options(std::move(chosen)) {}

  using Ask = ReadAsk;
  // The answer at the head, and nothing more.
  ReadAnswer decide(const std::string& path, const Ask& ask = {});
  // The answer, its record appended as a `read` entry.
  ReadAnswer read(const std::string& path, const Ask& ask = {});
  // The same, appended as the tool's message: `changes` are put over its members.
  ReadAnswer read_by_message(const std::string& path, const Ask& ask = {}, std::string_view changes = "{}");
  void store_version(const std::string& path);

  const Entry& append(std::string_view type, std::string_view body);
  const Entry& append_record(const ReadRecord& record);
  const Entry& refresh(const std::string& path, std::string_view scope = "full");
  const Entry& compact() { return append("compaction", R"({"summary":"s"})"); }
  const Entry& edit_context(const EntryId& target, bool removal = true);

  const std::vector<Entry>& entries() const { return entries_; }  // entries()[seq - 1]
  const Entry& last() const { return entries_.back(); }
  const TrustFold::State& state() const { return state(head); }
  const TrustFold::State& state(Seq seq) const { return states_[seq]; }
  const PathTrust* trust(const std::string& path) const { return state().paths.find(path); }
  std::vector<Seq> path() const;  // from the root to the head

 private:
  std::vector<Entry> entries_;
  std::vector<TrustFold::State> states_{TrustFold::initial()};
};

// Of one file, for tests that need no more.
inline const std::string kFile = "/f";
CachedReader reader_of(std::string bytes, ReadOptions options = {});

// Mode, scope and reason: "full r:2:9 no_base_hash".
std::string brief(const ReadAnswer& answer);

// Lines made by a format from 1, 2, 3, ..., joined by line feeds, without one at the end.
std::string numbered(int count, std::string_view format = "line {}");
// A text with one line exchanged.
std::string with_line(std::string_view text, std::size_t line, std::string_view by);

// The view as text: "1-4 V2 by e1; 7-7 V1 by e3", versions by the names given for them.
std::string show_view(const View& view, const std::map<std::string, std::string>& names = {});

// "1-4 7-7"
std::string show_ranges(const std::vector<LineRange>& ranges);

}  // namespace weir::testing
