#include "store/history.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "store/entry_text.h"

namespace weir {
namespace {

constexpr Seq kReadRather = 64;               // so few entries are read faster than indexed
constexpr std::size_t kBatchEntries = 65536;  // of one transaction of the index, or
constexpr std::size_t kBatchBytes = 16 * limits::kMiB;
constexpr std::uint64_t kWatchEvery = 256;
constexpr int kWaitMs = 10000;  // for another process that extends the index

std::string directory_of(Store& store) { return store.directory() + "/" + std::string(kHistoryDirectory); }
std::string path_of(Store& store, SessionNo session) { return directory_of(store) + "/" + std::to_string(session.value) + ".db"; }

Error stopped() { return Error(ErrorCode::CANCELLED, "interrupted"); }

bool ours(Files& files, const std::string& path, FileStat::Kind kind) {
  const auto st = files.stat(path);
  return st.ok() && st->kind == kind && st->uid == ::geteuid() && (st->mode & 022) == 0;
}

Result<void> remove_file(Files& files, const std::string& path) {
  for (const char* suffix : {"", "-journal"}) {
    auto removed = files.remove(path + suffix);
    if (!removed.ok() && removed.error().code() != ErrorCode::NOT_FOUND) return removed;
  }
  return {};
}

// To be written if that is possible, else to be read; null if neither.
std::unique_ptr<HistoryIndex> open_file(Store& store, const SessionRow& session, bool& writable) {
  Files& files = store.doors().files;
  const std::string path = path_of(store, session.no);
  const bool there = files.stat(path).ok();
  if (there && !(ours(files, directory_of(store), FileStat::Kind::directory) && ours(files, path, FileStat::Kind::regular))) return nullptr;
  writable = store.writable().ok();
  if (writable && !there) {
    writable = files.make_directory(directory_of(store)).ok() && ours(files, directory_of(store), FileStat::Kind::directory);
  }
  for (int tries = 0; writable && tries < 2; ++tries) {
    auto index = HistoryIndex::open(path, session, HistoryIndex::Access::write, kWaitMs);
    if (index.ok()) return std::move(index).value();
    if (index.error().code() != ErrorCode::CORRUPT) break;
    if (auto removed = remove_file(files, path); !removed.ok()) break;
  }
  writable = false;
  if (!there) return nullptr;
  auto index = HistoryIndex::open(path, session, HistoryIndex::Access::read, kWaitMs);
  return index.ok() ? std::move(index).value() : nullptr;
}

// The log must have the entry the index ends with, or it is an index of something else.
Result<bool> agrees(LogReader& reader, SessionNo session, const HistoryIndex::Mark& mark) {
  if (mark.seq == 0) return true;
  TRY(const auto entry, reader.entry(session, mark.seq, Columns::without_body));
  return entry && entry->digest == mark.digest;
}

struct Extended {
  bool whole = false, stopped = false;
};

// One transaction's worth.
Result<Extended> extend(Store& store, HistoryIndex& index, SessionNo session, HistoryProgress& progress, HistoryWatch watch) {
  Extended out;
  TRY_DO(index.extend([&](HistoryIndex::Batch& batch) {
    return store.log().read([&](LogReader& reader) -> Result<void> {
      out = {};
      TRY(const bool sound, agrees(reader, session, batch.mark()));
      if (!sound) TRY_DO(batch.clear());
      TRY(progress.total, reader.last_seq(session));
      EntryText text(store, reader, session);
      std::size_t entries = 0, bytes = 0;
      TRY_DO(reader.scan(session, batch.mark().seq + 1, progress.total, Order::forward, Columns::all, [&](Entry& entry) -> Result<bool> {
        TRY(const auto strings, text.of(entry));
        for (const std::string_view one : strings) bytes += one.size();
        TRY_DO(batch.add(entry, strings));
        progress.bytes += entry.body.size();
        progress.done = entry.seq;
        // What is done stays done when it is interrupted.
        if (++entries % kWatchEvery == 0) out.stopped = !watch(progress);
        return !out.stopped && entries < kBatchEntries && bytes < kBatchBytes;
      }));
      out.whole = batch.mark().seq >= progress.total;
      // Whoever calls goes on until it is whole, so it must have come nearer.
      if (!out.whole && entries == 0) {
        return Error(ErrorCode::CORRUPT, "the entry at seq " + std::to_string(batch.mark().seq + 1) + " is missing")
            .with("seq", static_cast<std::int64_t>(batch.mark().seq + 1));
      }
      return {};
    });
  }));
  return out;
}

Result<void> catch_up(Store& store, HistoryIndex& index, SessionNo session, HistoryWatch watch) {
  HistoryProgress progress;
  progress.indexing = true;
  for (;;) {
    TRY(const Extended extended, extend(store, index, session, progress, watch));
    if (extended.stopped || !watch(progress)) return stopped();
    if (extended.whole) return {};
  }
}

}  // namespace

Result<std::unique_ptr<HistoryIndex>> open_history(Store& store, const SessionRow& session, HistoryWatch watch) {
  std::unique_ptr<HistoryIndex> none;
  if (store.sqlite() == nullptr) return none;
  Seq last = 0;
  const auto look = [&](LogReader& reader) -> Result<void> {
    TRY(last, reader.last_seq(session.no));
    return {};
  };
  TRY_DO(store.log().read(look));
  if (last <= kReadRather) return none;
  for (int tries = 0; tries < 2; ++tries) {
    bool writable = false;
    auto index = open_file(store, session, writable);
    if (index == nullptr) return none;
    const auto mark = index->mark();
    bool sound = mark.ok();
    if (sound) {
      TRY_DO(store.log().read([&](LogReader& reader) -> Result<void> {
        TRY(sound, agrees(reader, session.no, *mark));
        return {};
      }));
    }
    if (!writable) return sound ? std::move(index) : std::move(none);
    Result<void> done;
    if (!sound || last > mark->seq + kReadRather) done = catch_up(store, *index, session.no, watch);
    if (done.ok() || !index->failed()) {
      TRY_DO(done);
      return index;
    }
    // A full disk or a lock that stays: what is in it already may still serve, and the rest is read.
    if (done.error().code() != ErrorCode::CORRUPT) return sound ? std::move(index) : std::move(none);
    index.reset();
    if (auto removed = remove_file(store.doors().files, path_of(store, session.no)); !removed.ok()) return none;
  }
  return none;
}

Result<void> search_history(Store& store, LogReader& reader, SessionNo session, HistoryIndex* index, HistoryQuery& query,
                            const HistoryScope& scope, FunctionRef<bool(Seq)> wanted, HistoryWatch watch,
                            FunctionRef<Result<bool>(const Entry&, Excerpt&)> visit) {
  EntryText text(store, reader, session);
  HistoryProgress progress;
  progress.total = scope.last;
  const auto of_type = [&](const Entry& entry) {
    return scope.types.empty() || std::find(scope.types.begin(), scope.types.end(), entry.type) != scope.types.end();
  };
  const auto look_at = [&](const Entry& entry) -> Result<bool> {
    if (++progress.done % kWatchEvery == 0 && !watch(progress)) return stopped();
    progress.bytes += entry.body.size();
    if (!of_type(entry) || !wanted(entry.seq)) return true;
    TRY(const auto strings, text.of(entry));
    Excerpt excerpt;
    TRY(const bool found, query.matches(strings, &excerpt));
    return found ? visit(entry, excerpt) : Result<bool>(true);
  };
  Seq indexed = 0;
  if (index != nullptr && !query.expression().empty()) {
    TRY(const HistoryIndex::Mark mark, index->mark());
    indexed = mark.seq;
  }
  bool go_on = true;
  TRY_DO(reader.scan(session, std::max(scope.first, indexed + 1), scope.last, Order::backward, Columns::all,
                     [&](Entry& entry) -> Result<bool> {
                       TRY(go_on, look_at(entry));
                       return go_on;
                     }));
  if (!go_on || indexed < scope.first) return {};
  return index->candidates(query.expression(), scope.types, scope.first, std::min(indexed, scope.last), [&](Seq seq) -> Result<bool> {
    if (++progress.done % kWatchEvery == 0 && !watch(progress)) return stopped();
    if (!wanted(seq)) return true;
    TRY(const auto entry, reader.entry(session, seq));
    if (!entry) {
      index->distrust();
      return Error(ErrorCode::CORRUPT, "the index names an entry that is not there");
    }
    return look_at(*entry);
  });
}

Result<void> remove_history(Store& store, SessionNo session) {
  return store.sqlite() == nullptr ? Result<void>() : remove_file(store.doors().files, path_of(store, session));
}

Result<void> remove_history_but(Store& store, const std::vector<SessionRow>& sessions) {
  if (store.sqlite() == nullptr) return {};
  Files& files = store.doors().files;
  std::set<std::string> kept;
  for (const SessionRow& session : sessions) {
    const std::string name = std::to_string(session.no.value) + ".db";
    kept.insert({name, name + "-journal"});
  }
  const auto names = files.list(directory_of(store));
  if (!names.ok()) return names.error().code() == ErrorCode::NOT_FOUND ? Result<void>() : names.error();
  for (const std::string& name : *names) {
    if (kept.contains(name)) continue;
    auto removed = files.remove(directory_of(store) + "/" + name);
    if (!removed.ok() && removed.error().code() != ErrorCode::NOT_FOUND) return removed;
  }
  return {};
}

}  // namespace weir
