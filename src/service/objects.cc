#include "service/objects.h"

#include <algorithm>

#include "service/anchor.h"
#include "service/answers.h"
#include "service/read_status.h"
#include "session/address.h"
#include "session/read_versions.h"
#include "store/blob_refs.h"
#include "store/history.h"

namespace weir {
namespace {

constexpr auto go_on = [](std::uint64_t) { return true; };
constexpr auto every = [](const SessionRow&) { return true; };

// Nothing may bring back an entry that refers to one of them, so first what was committed is made to last.
Result<void> remove_objects(Service& service, LogTxn& txn, const std::vector<Digest>& objects) {
  if (objects.empty()) return {};
  TRY_DO(txn.sync_committed());
  for (const Digest& digest : objects) {
    auto removed = service.store().blobs().remove(digest);
    if (!removed.ok() && removed.error().code() != ErrorCode::NOT_FOUND) return removed;
  }
  return {};
}

// Versions that a head of any session may still be asked to compare with, and those of reads in flight.
Result<std::set<Digest>> versions_in_use(Service& service, LogReader& reader) {
  std::set<Digest> out;
  TRY(const auto sessions, reader.sessions());
  for (const SessionRow& session : sessions) {
    TRY(const auto heads, need_heads(reader, session));
    for (const HeadRow& head : heads) {
      TRY(const auto state, service.trust_fold().at(reader, session.no, head.seq));
      live_versions(*state, out);
    }
  }
  for (const std::string& version : service.pending_reads().versions()) {
    if (const auto digest = Digest::parse(version); digest.ok()) out.insert(*digest);
  }
  return out;
}

// Which of the objects that no entry needs have to go.
Result<std::vector<Digest>> dead_objects(Service& service, LogReader& reader, const Mentions& said, GcAnswer& answer) {
  Blobs& blobs = service.store().blobs();
  TRY(const auto listed, blobs.list());
  TRY(const auto in_use, versions_in_use(service, reader));
  std::vector<Digest> dead;
  std::vector<std::pair<TimeMs, Digest>> idle;  // versions nobody can be asked about
  for (const Digest& digest : listed.objects) {
    if (said.needed.contains(digest)) continue;
    const auto version = said.versions.find(digest);
    if (version == said.versions.end() && !in_use.contains(digest)) {
      dead.push_back(digest);
      continue;
    }
    answer.kept_bytes += blobs.stored_bytes(digest);
    if (!in_use.contains(digest)) idle.emplace_back(version->second, digest);
  }
  std::sort(idle.begin(), idle.end());
  for (const auto& [used, digest] : idle) {
    if (answer.kept_bytes <= service.settings().version_budget_bytes) break;
    answer.kept_bytes -= blobs.stored_bytes(digest);
    dead.push_back(digest);
  }
  return dead;
}

}  // namespace

Result<Mentions> mentions(LogReader& reader, FunctionRef<bool(const SessionRow&)> wanted, FunctionRef<bool(std::uint64_t)> progress) {
  Mentions out;
  std::uint64_t seen = 0;
  TRY(const auto sessions, reader.sessions());
  for (const SessionRow& session : sessions) {
    if (!wanted(session)) continue;
    TRY_DO(reader.scan(session.no, 1, UINT64_MAX, Order::forward, Columns::all, [&](Entry& entry) -> Result<bool> {
      TRY(const auto refs, blob_references(entry.type, entry.body));
      out.needed.insert(refs.begin(), refs.end());
      if (const auto version = version_read(entry)) out.versions[*version] = std::max(out.versions[*version], entry.at);
      if (++seen % 4096 == 0 && !progress(seen)) return Error(ErrorCode::CANCELLED, "interrupted; nothing was removed");
      return true;
    }));
  }
  return out;
}

Result<void> refuse_damaged(Log& log, std::string_view spared) {
  TRY(const auto damage, log.check_structure(true));
  if (damage.empty()) return {};
  return Error(ErrorCode::CORRUPT, damage.front().object + ": " + damage.front().what + "; " + std::string(spared))
      .with("object", damage.front().object)
      .with("help", "weir verify says what is damaged");
}

// Objects nothing speaks of, and the words of sessions that are gone. Under the write lock: nobody can commit a reference
// to what is being removed (service/append.cc looks again).
static Result<void> remove_dead(Service& service, bool dry_run, FunctionRef<bool(std::uint64_t)> progress, GcAnswer& answer) {
  return service.write_less(
      [&](LogTxn& txn) -> Result<void> {
        TRY(const Mentions said, mentions(txn, every, progress));
        TRY(const auto dead, dead_objects(service, txn, said, answer));
        answer.objects = dead.size();
        for (const Digest& digest : dead) answer.bytes += service.store().blobs().stored_bytes(digest);
        if (dry_run) return {};
        // Of a session that was purged by somebody who did not get that far.
        TRY(const auto sessions, txn.sessions());
        TRY_DO(remove_history_but(service.store(), sessions));
        return remove_objects(service, txn, dead);
      },
      dry_run);
}

Result<GcAnswer> collect_garbage(Service& service, bool dry_run, FunctionRef<bool(std::uint64_t)> progress) {
  GcAnswer answer;
  Blobs& blobs = service.store().blobs();
  TRY_DO(refuse_damaged(service.log(), "nothing was removed"));
  TRY_DO(remove_dead(service, dry_run, progress, answer));
  if (dry_run) {
    TRY(const auto listed, blobs.list());
    for (const std::string& path : listed.temporary) {
      const auto st = service.store().doors().files.stat(path);
      answer.temporary += st.ok() && service.now().ms - st->modified_ms >= kOldTemporaryMs;
    }
  } else {
    TRY(answer.temporary, blobs.remove_old_temporary(service.now()));
    TRY_DO(finish_purges(service));
  }
  return answer;
}

namespace {

constexpr const char* kPurging = "/purging";  // a session is gone from the log, and something of it may still be on the disk

bool purge_unfinished(Service& service) {
  Store& store = service.store();
  return store.sqlite() != nullptr && store.doors().files.stat(store.directory() + kPurging).ok();
}

Result<void> mark_purge(Service& service) {
  if (service.store().sqlite() == nullptr || purge_unfinished(service)) return {};
  auto marked = service.store().doors().files.write_synced(service.store().directory() + kPurging, "");
  return !marked.ok() && purge_unfinished(service) ? Result<void>() : marked;  // another process may have been quicker
}

Result<void> unmark_purge(Service& service) {
  if (!purge_unfinished(service)) return {};
  auto removed = service.store().doors().files.remove(service.store().directory() + kPurging);
  return !removed.ok() && removed.error().code() == ErrorCode::NOT_FOUND ? Result<void>() : removed;
}

// All of it is tried, whatever fails; the first failure is told. Done, the mark goes.
Result<void> finish_purge(Service& service, std::initializer_list<FunctionRef<Result<void>()>> steps) {
  Result<void> first;
  for (const auto& step : steps) {
    auto done = step();
    if (!done.ok() && first.ok()) first = std::move(done);
  }
  if (first.ok()) return unmark_purge(service);
  // Somebody else's purge may have ended meanwhile, and taken the mark away.
  if (auto marked = mark_purge(service); !marked.ok()) return std::move(first).error();
  return std::move(first).error().with("help", "the session is gone; ask again, or run 'weir gc', to clear what is left of it on disk");
}

// Pages that were split keep copies of what moved, which no deletion overwrites: the file is written anew.
Result<void> rewrite_database(Service& service) {
  SqliteLog* const sqlite = service.store().sqlite();
  return sqlite == nullptr ? Result<void>() : sqlite->compact(true);
}

}  // namespace

Result<void> finish_purges(Service& service) {
  if (!purge_unfinished(service)) return {};
  SqliteLog* const sqlite = service.store().sqlite();
  TRY_DO(sqlite->secure_delete());
  return finish_purge(service, {[&] { return forget_answers(service.store(), std::nullopt); }, [&] { return rewrite_database(service); }});
}

Result<PurgeAnswer> purge_session(Service& service, const SessionId& id, bool dry_run) {
  PurgeAnswer answer;
  SessionNo no;
  std::set<Digest> own;
  const auto is_spoken_of = [](const Mentions& said) {
    return [&](const Digest& digest) { return said.needed.contains(digest) || said.versions.contains(digest); };
  };
  TRY_DO(refuse_damaged(service.log(), "nothing was removed"));
  const bool unfinished = !dry_run && purge_unfinished(service);
  if (SqliteLog* sqlite = service.store().sqlite(); sqlite != nullptr && !dry_run) TRY_DO(sqlite->secure_delete());
  auto deleted = service.write_less(
      [&](LogTxn& txn) -> Result<void> {
        TRY(const SessionRow session, need_session(txn, id));
        no = session.no;
        TRY(answer.entries, txn.last_seq(session.no));
        TRY(const Mentions mine, mentions(txn, [&](const SessionRow& row) { return row.no == session.no; }, go_on));
        TRY(const Mentions others, mentions(txn, [&](const SessionRow& row) { return row.no != session.no; }, go_on));
        own = mine.needed;
        for (const auto& [version, used] : mine.versions) {
          TRY(const bool there, service.store().blobs().has(version));
          if (there) own.insert(version);
        }
        std::erase_if(own, is_spoken_of(others));
        answer.objects = own.size();
        if (!dry_run) TRY_DO(mark_purge(service));
        TRY(const auto last, txn.entry(session.no, answer.entries, Columns::without_body));
        TRY_DO(txn.mark_purged(
            PurgedSession{session.no, anchored_name(id.str()), answer.entries, last ? last->digest : Digest(), service.now()}));
        return txn.delete_session(session.no);
      },
      dry_run);
  if (!deleted.ok() && deleted.error().code() == ErrorCode::NOT_FOUND && unfinished) {
    // Asked for again, because it could not be finished.
    TRY_DO(collect_garbage(service, false, go_on));
    return answer;
  }
  TRY_DO(deleted);
  if (dry_run) return answer;
  service.forget_folds();
  service.pending_reads().purged(id);
  // After the commit: a crash in between leaves objects nothing refers to, which gc removes; never the reverse.
  const auto remove_own = [&]() -> Result<void> {
    // What an earlier purge left goes with it: the mark that is taken away at the end is the only trace of it.
    GcAnswer left;
    if (unfinished) return remove_dead(service, false, go_on, left);
    if (own.empty()) return {};
    return service.write_less(
        [&](LogTxn& txn) -> Result<void> {
          TRY(const Mentions said, mentions(txn, every, go_on));
          std::erase_if(own, is_spoken_of(said));
          return remove_objects(service, txn, std::vector<Digest>(own.begin(), own.end()));
        },
        false);
  };
  TRY_DO(finish_purge(service, {[&] { return remove_history(service.store(), no); }, remove_own,
                                [&] { return forget_answers(service.store(), unfinished ? std::nullopt : std::optional(id)); },
                                [&] { return rewrite_database(service); }}));
  return answer;
}

Result<PurgeAnswer> purge_blob(Service& service, const Digest& digest, bool vacuum, bool dry_run) {
  PurgeAnswer answer;
  TRY(const bool there, service.store().blobs().has(digest));
  if (!there) return Error(ErrorCode::NOT_FOUND, "no blob sha256:" + digest.hex()).with("object", "sha256:" + digest.hex());
  answer.objects = 1;
  if (dry_run) return answer;
  // Marked first: a crash in between must not leave a hole that looks like damage.
  TRY_DO(service.write_less([&](LogTxn& txn) { return txn.mark_purged(digest); }, false));
  TRY_DO(service.write_less([&](LogTxn& txn) { return remove_objects(service, txn, {digest}); }, false));
  // Its words are in the index of every session that has it; all are made again when they are wanted.
  TRY_DO(remove_history_but(service.store(), {}));
  // So may its text be in any answer that is kept for its key.
  TRY_DO(forget_answers(service.store(), std::nullopt));
  if (SqliteLog* sqlite = service.store().sqlite(); sqlite != nullptr && vacuum) TRY_DO(sqlite->compact(true));
  return answer;
}

}  // namespace weir
