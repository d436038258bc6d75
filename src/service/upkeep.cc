#include "service/upkeep.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "service/anchor.h"
#include "service/context.h"
#include "service/objects.h"
#include "service/place.h"
#include "service/render.h"
#include "service/snapshots.h"
#include "session/address.h"
#include "session/read_versions.h"
#include "store/sqlite.h"

namespace weir {
using json::Value;

Result<VerifyReport> verify_store(Store& store, VerifyOptions options, FunctionRef<bool(const VerifyProgress&)> progress) {
  options.spare = version_read;
  return verify(store, options, progress);
}

static Result<Sessions> sessions_now(Service& service) {
  Sessions out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(out, sessions_by_id(reader));
    return {};
  }));
  return out;
}

Result<VerifyReport> verify_all(Service& service, const VerifyOptions& options, FunctionRef<bool(const VerifyProgress&)> progress) {
  if (!options.only_session.empty()) {
    TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
      TRY_DO(need_session(reader, SessionId::trusted(options.only_session)));
      return {};
    }));
  }
  TRY(VerifyReport report, verify_store(service.store(), options, progress));
  if (options.quick || !report.findings.empty()) return report;
  // They read objects beside the log, which a purge may take away. So what is found while others commit is looked at once
  // more: a blob that was purged is marked by then, and a session that was purged is gone.
  for (int looks = 0; looks < 2; ++looks) {
    TRY(const std::uint64_t version, service.log().version());
    TRY(const Sessions before, sessions_now(service));
    report.findings.clear();
    TRY_DO(verify_contexts(service, options.only_session, report));
    TRY_DO(verify_snapshots(service, options.only_session, report));
    if (report.findings.empty()) break;
    TRY(const Sessions now, sessions_now(service));
    drop_purged(before, now, report.findings);
    TRY(const std::uint64_t version_now, service.log().version());
    if (version_now == version) break;
  }
  return report;
}

Value summary_json(const VerifyReport& report, json::Arena& arena) {
  return json::make_object(arena, {{"type", "summary"},
                                   {"sessions", report.sessions},
                                   {"entries", report.entries},
                                   {"bytes", report.bytes},
                                   {"blobs", report.blobs},
                                   {"purged", report.purged},
                                   {"damaged", report.findings.size()}});
}

Value finding_json(std::string_view type, const Finding& finding, json::Arena& arena) {
  return json::make_object(arena, {{"type", type},
                                   {"session", text_or_null(finding.session)},
                                   {"entry", text_or_null(finding.entry)},
                                   {"object", text_or_null(finding.object)},
                                   {"what", finding.what}});
}

namespace {

// What is in a directory, as far as it can be removed.
void clear_directory(Files& files, const std::string& directory) {
  const auto names = files.list(directory);
  // Without a descriptor left nothing can be listed; that early, these are all there is.
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>{"weir.db", "objects"}) {
    const std::string path = directory + "/" + name;
    if (const auto st = files.stat(path); st.ok() && st->kind == FileStat::Kind::directory) clear_directory(files, path);
    if (auto removed = files.remove(path); !removed.ok()) return;
  }
}

// What the copy's log speaks of; where it cannot be read to its end, or entries have no session, every object there is.
Result<std::set<Digest>> objects_of(Store& copy, Blobs& blobs) {
  Mentions said;
  auto read = refuse_damaged(copy.log(), "");
  if (read.ok())
    read = copy.log().read([&](LogReader& reader) -> Result<void> {
      TRY(said, mentions(reader, [](const SessionRow&) { return true; }, [](std::uint64_t) { return true; }));
      return {};
    });
  if (!read.ok() && read.error().code() != ErrorCode::CORRUPT) return read.error();
  if (!read.ok()) {
    TRY(const auto listed, blobs.list());
    return std::set<Digest>(listed.objects.begin(), listed.objects.end());
  }
  std::set<Digest> out = std::move(said.needed);
  for (const auto& [version, used] : said.versions) out.insert(version);
  return out;
}

// What was purged from the store while it was copied is purged from the copy: some of its objects are missing there, and
// whoever purges wants it to be nowhere.
Result<void> purge_as(Store& store, Store& copy) {
  Sessions now;
  std::vector<Digest> purged;
  std::vector<PurgedSession> gone;
  const auto looked = store.log().read([&](LogReader& reader) -> Result<void> {
    TRY(now, sessions_by_id(reader));
    TRY(purged, reader.purged_blobs());
    TRY(gone, reader.purged_sessions());
    return {};
  });
  // A store that cannot be read to its end is copied as it is.
  if (!looked.ok()) return looked.error().code() == ErrorCode::CORRUPT ? Result<void>() : looked;
  bool less = false;
  TRY_DO(copy.sqlite()->secure_delete());
  TRY_DO(copy.log().write(
      [&](LogTxn& txn) -> Result<void> {
        TRY(const auto copied, sessions_by_id(txn));
        for (const auto& [id, no] : copied) {
          const auto row = now.find(id);
          if (row != now.end() && row->second == no) continue;
          for (const PurgedSession& record : gone) {
            if (record.no == no) TRY_DO(txn.mark_purged(record));
          }
          TRY_DO(txn.delete_session(no));
          less = true;
        }
        TRY(const auto marked, txn.purged_blobs());
        for (const Digest& blob : purged) {
          if (std::binary_search(marked.begin(), marked.end(), blob)) continue;
          TRY_DO(txn.mark_purged(blob));
          less = true;
        }
        return {};
      },
      Log::Grouping::alone));
  if (!less) return {};
  TRY(auto kept, objects_of(copy, copy.blobs()));
  for (const Digest& blob : purged) kept.erase(blob);
  TRY(const auto listed, copy.blobs().list());
  for (const Digest& digest : listed.objects) {
    if (!kept.contains(digest)) TRY_DO(copy.blobs().remove(digest));
  }
  return copy.sqlite()->compact(true);
}

Result<BackupAnswer> copy_store(Service& service, const std::string& directory, FunctionRef<bool(const VerifyProgress&)> progress) {
  Files& files = service.store().doors().files;
  TRY_DO(take_place(files, directory));
  TRY_DO(files.make_directories(directory));
  TRY_DO(files.make_directory(directory + "/objects"));
  TRY_DO(files.write_synced(directory + "/weir.db", ""));
  BackupAnswer answer;
  answer.directory = directory;
  // The database first. Objects are never changed and written before what refers to them, so copying them afterwards
  // finds every one the copy needs, or it was purged meanwhile.
  TRY_DO(service.store().sqlite()->backup_to(directory + "/weir.db"));
  TRY(auto copy, Store::open(directory, Store::Access::write, {}, service.store().doors()));
  TRY(const std::set<Digest> objects, objects_of(*copy, service.store().blobs()));
  for (const Digest& digest : objects) {
    auto bytes = service.store().blobs().get(digest);
    // What is missing or damaged does not keep the rest from being saved; verify below knows whether it is needed.
    const bool unread = !bytes.ok() && (bytes.error().code() == ErrorCode::STORAGE || bytes.error().code() == ErrorCode::BUSY);
    if (unread) return std::move(bytes).error();
    if (!bytes.ok()) continue;
    TRY_DO(copy->blobs().put(*bytes));
  }
  TRY_DO(purge_as(service.store(), *copy));
  // A store that is put back from its copy signs its anchors as before.
  if (const auto key = load_anchor_key(service); key.ok())
    TRY_DO(files.write_synced(directory + "/" + std::string(kAnchorKeyName), key->signer_key() + "\n"));
  TRY_DO(copy->blobs().flush());
  TRY_DO(copy->sqlite()->compact(false));
  TRY(const VerifyReport report, verify_store(*copy, {}, progress));
  if (!report.findings.empty()) {
    const Finding& first = report.findings.front();
    return Error(ErrorCode::CORRUPT, fmt::format("the copy does not verify: {} ({} places)", first.what, report.findings.size()))
        .with("session", first.session)
        .with("entry", first.entry)
        .with("object", first.object);
  }
  answer.sessions = report.sessions;
  answer.entries = report.entries;
  TRY(const auto listed, copy->blobs().list());
  answer.objects = listed.objects.size();
  answer.bytes = report.bytes;
  return answer;
}

}  // namespace

Result<BackupAnswer> back_up(Service& service, const std::string& directory, FunctionRef<bool(const VerifyProgress&)> progress) {
  Files& files = service.store().doors().files;
  if (service.store().sqlite() == nullptr) return Error(ErrorCode::STORE_UNUSABLE, "a store in memory cannot be backed up");
  const auto listed = files.list(directory);
  if (!listed.ok() && listed.error().code() != ErrorCode::NOT_FOUND) return listed.error();
  if (listed.ok() && !listed->empty()) {
    return Error(ErrorCode::INVALID_FIELD, "'" + directory + "' is not empty").with("path", directory);
  }
  auto answer = copy_store(service, directory, progress);
  // Half a copy must not look like one. A whole copy of damaged data stays: it may be all there is.
  if (!answer.ok() && answer.error().code() != ErrorCode::CORRUPT) clear_directory(files, directory);
  return answer;
}

namespace {

void count_objects(Service& service, const Blobs::Listed& listed, auto& out) {
  out.database_bytes = service.store().database_bytes();
  out.objects = listed.objects.size();
  for (const Digest& digest : listed.objects) out.object_bytes += service.store().blobs().stored_bytes(digest);
}

Value store_json(const auto& stats, json::Arena& arena) {
  return json::make_object(arena,
                           {{"database_bytes", stats.database_bytes}, {"objects", stats.objects}, {"object_bytes", stats.object_bytes}});
}

Value counts_value(const PMap<std::string, StatsFold::Count>& counts, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  counts.each([&](const std::string& name, const StatsFold::Count& count) {
    out.add(arena.copy(name), json::make_object(arena, {{"entries", count.entries}, {"bytes", count.bytes}}));
  });
  return out.build();
}

}  // namespace

std::uint64_t StatsAnswer::tokens() const { return estimated_tokens(path.body_bytes + path.blob_bytes); }

Value StatsAnswer::to_json(json::Arena& arena) const {
  return json::make_object(arena, {{"session", session.str()},
                                   {"entries", path.entries},
                                   {"all_entries", all_entries},
                                   {"bytes", path.body_bytes},
                                   {"blob_bytes", path.blob_bytes},
                                   {"tokens_estimated", tokens()},
                                   {"turns", path.turns},
                                   {"tool_calls", path.tool_calls},
                                   {"tool_errors", path.tool_errors},
                                   {"compactions", path.compactions},
                                   {"bytes_since_barrier", path.bytes_since_barrier},
                                   {"types", counts_value(path.types, arena)},
                                   {"roles", counts_value(path.roles, arena)},
                                   {"masked", counts_json(masked, arena)},
                                   {"store", store_json(*this, arena)}});
}

Value StoreStats::to_json(json::Arena& arena) const {
  return json::make_object(
      arena, {{"sessions", sessions}, {"entries", entries}, {"masked", counts_json(masked, arena)}, {"store", store_json(*this, arena)}});
}

Result<StoreStats> store_stats(Service& service) {
  StoreStats out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto rows, reader.sessions());
    out.sessions = rows.size();
    for (const SessionRow& row : rows) {
      TRY(const Seq last, reader.last_seq(row.no));
      out.entries += last;
      TRY(const MaskCounts counts, reader.masked(row.no));
      for (const auto& [rule, count] : counts) out.masked[rule] += count;
    }
    return {};
  }));
  TRY(const auto listed, service.store().blobs().list());
  count_objects(service, listed, out);
  return out;
}

Result<StatsAnswer> session_stats(Service& service, const Address& address) {
  StatsAnswer out;
  out.session = address.session;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located located, locate(reader, address));
    TRY(const auto state, service.stats_fold().at(reader, located.session.no, located.seq));
    out.path = *state;
    TRY(out.all_entries, reader.last_seq(located.session.no));
    TRY(out.masked, reader.masked(located.session.no));
    return {};
  }));
  TRY(const auto listed, service.store().blobs().list());
  count_objects(service, listed, out);
  return out;
}

namespace {

struct Modes {
  std::vector<std::string> wrong, foreign;
};

// `own`: which names under it are looked at, too.
void examine_modes(const std::string& path, Files& files, bool fix, FunctionRef<bool(std::string_view)> own, Modes& out) {
  const auto st = files.stat(path);
  if (!st.ok() || st->kind == FileStat::Kind::other) return;
  const unsigned right = st->kind == FileStat::Kind::directory ? 0700 : 0600;
  const bool ours = st->uid == ::geteuid();
  if (!ours) out.foreign.push_back(path);
  if (st->mode != right) {
    if (!fix || !ours || !files.change_mode(path, right).ok()) out.wrong.push_back(fmt::format("{} is {:04o}", path, st->mode));
  }
  if (st->kind != FileStat::Kind::directory) return;
  const auto names = files.list(path);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (own(name)) examine_modes(path + "/" + name, files, fix, [](std::string_view) { return true; }, out);
  }
}

// Where only the system ran out of something, the store needs nothing.
std::string remedy(const auto& result, const char* usual) {
  const bool busy = !result.ok() && result.error().code() == ErrorCode::BUSY;
  return busy ? "try again when fewer files are open and more memory is free, or with higher limits (ulimit)" : usual;
}

}  // namespace

std::vector<DoctorCheck> examine(const std::string& directory, Durability durability, Doors doors, bool fix) {
  std::vector<DoctorCheck> out;
  const int version = sqlite::linked_version();
  out.push_back({"sqlite", version >= sqlite::kLeastVersion,
                 fmt::format("SQLite {}.{}.{}", version / 1000000, version / 1000 % 1000, version % 1000),
                 "build with SQLite 3.51.3 or newer"});
  // What is no store is left alone: its modes are somebody else's business.
  if (!is_store(doors.files, directory)) {
    const bool other = doors.files.stat(directory + "/weir.db").ok();
    out.push_back({"store", false, other ? "'" + directory + "/weir.db' is no store of Weir" : "no store at '" + directory + "'",
                   other ? "name another directory with --store" : "run 'weir init'"});
    return out;
  }
  Modes modes;
  examine_modes(directory, doors.files, fix, [](std::string_view name) { return is_store_name(name); }, modes);
  const auto& [wrong, foreign] = modes;
  out.push_back({"modes", wrong.empty(),
                 wrong.empty() ? "directories 0700, files 0600"
                               : fmt::format("{}{}", wrong[0], wrong.size() > 1 ? fmt::format(" and {} more", wrong.size() - 1) : ""),
                 "run 'weir doctor --fix'"});
  out.push_back({"owner", foreign.empty(), foreign.empty() ? fmt::format("user {}", ::geteuid()) : foreign[0] + " belongs to another user",
                 "change its owner"});
  auto store = Store::open(directory, Store::Access::examine, {durability}, doors);
  out.push_back({"store", store.ok(), store.ok() ? directory : store.error().message(), remedy(store, "see 'weir help init'")});
  for (const Finding& finding : store.ok() ? (*store)->findings_at_open() : std::vector<Finding>()) {
    out.push_back({finding.object, false, finding.what, "run 'weir backup' to save what can be read"});
  }
  if (store.ok() && (*store)->suspect())
    out.push_back({"sync", false, "a sync to disk failed earlier", "run 'weir verify'; the next write verifies first"});
  if (store.ok()) {
    auto findings = (*store)->log().check_structure(true);
    const bool sound = findings.ok() && findings->empty();
    out.push_back({"structure", sound,
                   sound           ? "quick check passed"
                   : findings.ok() ? findings->front().what
                                   : findings.error().message(),
                   remedy(findings, "run 'weir verify'")});
  }
  const auto percent = doors.files.percent_full(directory);
  const bool room = percent.ok() && *percent < limits::kDiskFullPercent;
  out.push_back(
      {"disk", room, percent.ok() ? fmt::format("{} % full", *percent) : percent.error().message(), "make room: writes stop at 95 %"});
  return out;
}

}  // namespace weir
