#include "store/verify.h"

#include <algorithm>
#include <map>

#include "base/limits.h"
#include "store/blob_refs.h"

namespace weir {
namespace {

// What an error says of its place.
std::string text_detail(const Error& error, std::string_view key) {
  for (const auto& [name, value] : error.details()) {
    if (name == key && std::holds_alternative<std::string>(value)) return std::get<std::string>(value);
  }
  return "";
}
std::optional<Seq> seq_detail(const Error& error) {
  for (const auto& [name, value] : error.details()) {
    if (name == "seq" && std::holds_alternative<std::int64_t>(value)) return static_cast<Seq>(std::get<std::int64_t>(value));
  }
  return std::nullopt;
}

constexpr Seq kGap = 100;  // entries that are named one by one
constexpr const char* kMissing = "the blob is missing";

// The first entry of a session that names an object.
struct Place {
  SessionNo no;
  std::string session, entry;
};
using Places = std::map<Digest, std::vector<Place>>;  // one a session

class Verification {
 public:
  Verification(Store& store, const VerifyOptions& options, FunctionRef<bool(const VerifyProgress&)> progress)
      : store_(store), options_(options), progress_(progress) {}

  Result<VerifyReport> run() {
    TRY(report_.findings, store_.log().check_structure(options_.quick));
    report_.findings.insert(report_.findings.begin(), store_.findings_at_open().begin(), store_.findings_at_open().end());
    auto rows = store_.log().read([&](LogReader& reader) { return check_rows(reader); });
    // A page so damaged that rows cannot be walked is a finding too; CANCELLED is not.
    if (!rows.ok() && rows.error().code() != ErrorCode::CORRUPT) return std::move(rows).error();
    const auto said = [&](const Finding& finding) { return finding.what == rows.error().message(); };
    if (!rows.ok() && std::none_of(report_.findings.begin(), report_.findings.end(), said))
      found("", "", "weir.db", rows.error().message());
    TRY_DO(check_blobs());
    TRY_DO(look_again());
    return std::move(report_);
  }

 private:
  void found(std::string session, std::string entry, std::string object, std::string what) {
    report_.findings.push_back({std::move(session), std::move(entry), std::move(object), std::move(what)});
  }

  // Entries first..end-1. A damaged key may open a gap of any size, which is then one place.
  void missing(const std::string& session, Seq first, Seq end) {
    if (end > first + kGap)
      return found(session, "", "seq " + std::to_string(first) + " to " + std::to_string(end - 1),
                   std::to_string(end - first) + " entries are missing");
    for (; first < end; ++first) found(session, "", "seq " + std::to_string(first), "the entry is missing");
  }

  bool sampled() {
    if (options_.quick) return false;
    return options_.sample >= 1.0 || static_cast<double>(store_.doors().random.next() >> 11) * 0x1p-53 < options_.sample;
  }

  // What could not be looked at, for want of memory or files, is no damage.
  Result<void> damage_of(std::string object, const Error& error) {
    if (error.code() != ErrorCode::CORRUPT) return error;
    found("", "", std::move(object), error.message());
    return {};
  }

  Result<void> check_rows(LogReader& reader) {
    const auto purged = reader.purged_blobs();
    if (purged.ok()) purged_.insert(purged->begin(), purged->end());
    if (!purged.ok()) TRY_DO(damage_of("purged blobs", purged.error()));
    if (const auto gone = reader.purged_sessions(); !gone.ok()) TRY_DO(damage_of("purged sessions", gone.error()));
    std::vector<Error> damaged;
    auto sessions = reader.sessions(&damaged);
    if (!sessions.ok()) return damage_of("sessions", sessions.error());
    for (const Error& error : damaged)
      found(text_detail(error, "session"), "", "session row", error.message() + "; its entries were not checked");
    for (const SessionRow& session : *sessions) {
      report_.sessions_seen.emplace(session.id.str(), session.no);
      if (!options_.only_session.empty() && session.id.str() != options_.only_session) continue;
      ++report_.sessions;
      TRY_DO(check_session(reader, session));
    }
    return check_undelivered(reader, *sessions);
  }

  // A note of an answer on its way speaks of a read, or of a message that holds one. The row of its session need not be sound.
  Result<void> check_undelivered(LogReader& reader, const std::vector<SessionRow>& sessions) {
    std::vector<Error> damaged;
    const auto notes = reader.all_undelivered(&damaged);
    if (!notes.ok()) return damage_of("undelivered", notes.error());
    for (const Error& error : damaged) found(text_detail(error, "session"), "", text_detail(error, "object"), error.message());
    for (const UndeliveredRow& note : *notes) {
      const auto of = std::find_if(sessions.begin(), sessions.end(), [&](const SessionRow& row) { return row.no == note.session; });
      const std::string name = of == sessions.end() ? "" : of->id.str();
      if (!options_.only_session.empty() && name != options_.only_session) continue;
      const auto entry = reader.entry(note.session, note.seq, Columns::without_body);
      if (!entry.ok() && entry.error().code() != ErrorCode::CORRUPT) return entry.error();
      if (!entry.ok()) continue;  // named where it stands
      const bool read = *entry && ((*entry)->type == "read" || (*entry)->type == "message");
      if (!read)
        found(name, *entry ? (*entry)->id.str() : "", "undelivered seq " + std::to_string(note.seq),
              *entry ? "it speaks of an entry that is no read" : "it speaks of an entry that is not there");
    }
    return {};
  }

  Result<void> check_session(LogReader& reader, const SessionRow& session) {
    const std::string& name = session.id.str();
    Seq last = 0;
    const auto last_read =
        reader.scan_unproven(session.no, 1, limits::kSeq, Order::backward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
          last = entry.seq;
          return false;
        });
    if (!last_read.ok() && last_read.error().code() != ErrorCode::CORRUPT) return last_read.error();
    // A damaged last row is met again below, and named there.
    if (!last_read.ok()) last = seq_detail(last_read.error()).value_or(limits::kSeq);
    Entry previous;
    Seq next = 1;
    // One damaged row ends a scan; the rows after it are still worth a look.
    while (next <= last) {
      auto scanned = reader.scan_unproven(session.no, next, last, Order::forward, options_.quick ? Columns::without_body : Columns::all,
                                          [&](Entry& entry) -> Result<bool> {
                                            missing(name, next, entry.seq);
                                            next = entry.seq;
                                            ++next;
                                            TRY_DO(check_entry(reader, session, entry, previous));
                                            previous = std::move(entry);
                                            ++report_.entries;
                                            report_.bytes += previous.body.size();
                                            if (report_.entries % 1024 == 0 && !progress_({report_.entries, report_.bytes}))
                                              return Error(ErrorCode::CANCELLED, "verify was interrupted");
                                            return true;
                                          });
      if (scanned.ok()) break;
      if (scanned.error().code() != ErrorCode::CORRUPT) return scanned;
      previous = Entry();
      if (const auto seq = seq_detail(scanned.error())) {
        missing(name, next, *seq);
        next = std::max(next, *seq);
        found(name, text_detail(scanned.error(), "entry"), "seq " + std::to_string(next), scanned.error().message());
        ++next;
      } else {
        // Not a row but what rows stand on: go on behind it, where reading from the other end came to.
        TRY(const Seq after, first_readable_from_the_end(reader, session, next, last));
        found(name, "",
              after > last ? "seq " + std::to_string(next) + " and what follows"
                           : "seq " + std::to_string(next) + " to " + std::to_string(after - 1),
              scanned.error().message());
        next = after;
      }
    }
    if (last != limits::kSeq) missing(name, next, last + 1);
    check_heads(reader, session, last);
    if (auto masked = reader.masked(session.no); !masked.ok()) found(name, "", "masked counts", masked.error().message());
    return {};
  }

  // last + 1 if nothing can be read backwards either.
  Result<Seq> first_readable_from_the_end(LogReader& reader, const SessionRow& session, Seq first, Seq last) {
    Seq edge = last + 1;
    const auto scanned =
        reader.scan_unproven(session.no, first, last, Order::backward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
          edge = entry.seq;
          return true;
        });
    if (!scanned.ok() && scanned.error().code() != ErrorCode::CORRUPT) return scanned.error();
    return std::max(edge, first + 1);  // whatever is found backwards, the scan goes on
  }

  Result<void> check_entry(LogReader& reader, const SessionRow& session, const Entry& entry, const Entry& previous) {
    const auto bad = [&](std::string what) {
      found(session.id.str(), entry.id.str(), "seq " + std::to_string(entry.seq), std::move(what));
    };
    if (!EntryId::parse(entry.id.str()).ok()) bad("the id is not one");
    std::optional<Entry> parent;
    if (entry.parent != 0) {
      if (entry.parent >= entry.seq) {
        bad("the parent, seq " + std::to_string(entry.parent) + ", is not an earlier entry");
        return {};
      }
      if (entry.parent == previous.seq) {
        parent = previous;
        parent->body.clear();
      } else {
        auto read = reader.entry(session.no, entry.parent, Columns::without_body);
        if (!read.ok() && read.error().code() != ErrorCode::CORRUPT) return std::move(read).error();
        if (!read.ok() || !*read) {
          bad("the parent, seq " + std::to_string(entry.parent) + ", is missing or damaged");
          return {};
        }
        parent = std::move(*read);
      }
    }
    if (entry.depth != (parent ? parent->depth : 0) + 1) bad("the depth is wrong");
    if (entry.barrier != (entry.type == "compaction" ? entry.seq : parent ? parent->barrier : 0)) bad("the barrier is wrong");
    if (sampled()) {
      const std::optional<Digest> parent_digest = parent ? std::optional(parent->digest) : std::nullopt;
      if (entry_digest(parent_digest, entry.type, entry.body) != entry.digest) bad("the digest does not match parent, type and body");
    }
    if (options_.quick) return {};
    auto refs = blob_references(entry.type, entry.body);
    if (!refs.ok()) {
      bad(refs.error().message());
      return {};
    }
    const auto mention = [&](Places& in, const Digest& digest) {
      std::vector<Place>& places = in[digest];
      if (places.empty() || places.back().no != session.no) places.push_back({session.no, session.id.str(), entry.id.str()});
    };
    for (const Digest& digest : *refs) mention(referred_, digest);
    const auto spare = options_.spare ? options_.spare(entry) : std::nullopt;
    if (spare) mention(spare_, *spare);
    return {};
  }

  void check_heads(LogReader& reader, const SessionRow& session, Seq last) {
    auto heads = reader.heads(session.no);
    if (!heads.ok()) {
      const std::string object = text_detail(heads.error(), "object");
      found(session.id.str(), "", object.empty() ? "heads" : object, heads.error().message());
      return;
    }
    for (const HeadRow& head : *heads) {
      if (head.seq > last)
        found(session.id.str(), "", "head " + head.name.str(),
              "it stands at seq " + std::to_string(head.seq) + ", the last is " + std::to_string(last));
      if (!HeadName::parse(head.name.str()).ok()) found(session.id.str(), "", "head " + head.name.str(), "the name is not one");
    }
    const bool main = std::any_of(heads->begin(), heads->end(), [](const HeadRow& head) { return head.name.str() == "main"; });
    if (last > 0 && !main) found(session.id.str(), "", "heads", "there are entries and no head main");
  }

  Result<void> check_blobs() {
    TRY_DO(check_objects(referred_, true));
    for (const auto& [digest, places] : referred_) spare_.erase(digest);
    return check_objects(spare_, false);
  }

  Result<void> check_objects(const Places& objects, bool needed) {
    for (const auto& [digest, places] : objects) {
      TRY(const bool there, store_.blobs().has(digest));
      if (there || needed) ++report_.blobs;
      if (there && sampled()) {
        TRY_DO(check_object(digest, places, needed));
      } else if (!there && needed) {
        bad_objects_.push_back({digest, &places, kMissing});
      }
    }
    return {};
  }

  Result<void> check_object(const Digest& digest, const std::vector<Place>& places, bool needed) {
    auto bytes = store_.blobs().get(digest);
    if (bytes.ok()) {
      report_.bytes += bytes->size();
    } else if (bytes.error().code() == ErrorCode::CORRUPT || bytes.error().code() == ErrorCode::LIMIT_EXCEEDED) {
      bad_objects_.push_back({digest, &places, bytes.error().message()});
    } else if (bytes.error().code() != ErrorCode::NOT_FOUND) {
      return std::move(bytes).error();
    } else if (needed) {
      bad_objects_.push_back({digest, &places, kMissing});
    }
    return progress_({report_.entries, report_.bytes}) ? Result<void>() : Error(ErrorCode::CANCELLED, "verify was interrupted");
  }

  // Rows were read in one moment of the log, objects after it. A purge takes rows away before it removes objects, and
  // marks a blob before it removes that, so a second look at the log tells what was purged meanwhile from damage: what
  // an entry names that is there before and after is missed. Numbers of sessions are never given again.
  Result<void> look_again() {
    if (bad_objects_.empty() && report_.findings.empty()) return {};
    Sessions now;
    const auto looked = store_.log().read([&](LogReader& reader) -> Result<void> {
      TRY(now, sessions_by_id(reader));
      if (auto purged = reader.purged_blobs(); purged.ok()) purged_ = {purged->begin(), purged->end()};
      return {};
    });
    if (!looked.ok() && looked.error().code() != ErrorCode::CORRUPT) return looked;
    if (!looked.ok()) now = report_.sessions_seen;  // it stands as it was found
    drop_purged(report_.sessions_seen, now, report_.findings);
    for (const auto& [digest, places, what] : bad_objects_) {
      const auto living = std::find_if(places->begin(), places->end(), [&](const Place& place) {
        const auto row = now.find(place.session);
        return row != now.end() && row->second == place.no;
      });
      if (living == places->end()) continue;
      const bool missing = what == kMissing;
      const auto there = store_.blobs().has(digest);
      if (missing && there.ok() && *there) continue;  // stored again
      if (missing && purged_.contains(digest)) {
        ++report_.purged;
      } else {
        found(living->session, living->entry, "sha256:" + digest.hex(), what);
      }
    }
    return {};
  }

  Store& store_;
  const VerifyOptions& options_;
  FunctionRef<bool(const VerifyProgress&)> progress_;
  VerifyReport report_;
  Places referred_, spare_;
  struct BadObject {
    Digest digest;
    const std::vector<Place>* places;
    std::string what;
  };
  std::vector<BadObject> bad_objects_;
  std::set<Digest> purged_;
};

}  // namespace

Result<Sessions> sessions_by_id(LogReader& reader) {
  std::vector<Error> damaged;  // named by verify
  TRY(const auto rows, reader.sessions(&damaged));
  Sessions out;
  for (const SessionRow& row : rows) out.emplace(row.id.str(), row.no);
  return out;
}

void drop_purged(const Sessions& before, const Sessions& now, std::vector<Finding>& findings) {
  std::erase_if(findings, [&](const Finding& finding) {
    const auto was = before.find(finding.session);
    if (was == before.end()) return false;
    const auto is = now.find(finding.session);
    return is == now.end() || is->second != was->second;
  });
}

Result<VerifyReport> verify(Store& store, const VerifyOptions& options, FunctionRef<bool(const VerifyProgress&)> progress) {
  return Verification(store, options, progress).run();
}

}  // namespace weir
