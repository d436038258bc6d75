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

using Place = std::pair<std::string, std::string>;  // session and entry

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
    if (!rows.ok()) found("", "", "weir.db", rows.error().message());
    TRY_DO(check_blobs());
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

  Result<void> check_rows(LogReader& reader) {
    auto purged = reader.purged_blobs();
    if (purged.ok()) {
      purged_.insert(purged->begin(), purged->end());
    } else {
      found("", "", "purged blobs", purged.error().message());
    }
    std::vector<Error> damaged;
    auto sessions = reader.sessions(&damaged);
    if (!sessions.ok()) {
      found("", "", "sessions", sessions.error().message());
      return {};
    }
    for (const Error& error : damaged)
      found(text_detail(error, "session"), "", "session row", error.message() + "; its entries were not checked");
    for (const SessionRow& session : *sessions) {
      if (!options_.only_session.empty() && session.id.str() != options_.only_session) continue;
      ++report_.sessions;
      TRY_DO(check_session(reader, session));
    }
    return {};
  }

  Result<void> check_session(LogReader& reader, const SessionRow& session) {
    const std::string& name = session.id.str();
    auto last_read = reader.last_seq(session.no);
    if (!last_read.ok() && last_read.error().code() != ErrorCode::CORRUPT) return std::move(last_read).error();
    // A damaged last row is met again below, and named there.
    const Seq last = last_read.ok() ? *last_read : seq_detail(last_read.error()).value_or(limits::kSeq);
    Entry previous;
    Seq next = 1;
    // One damaged row ends a scan; the rows after it are still worth a look.
    while (next <= last) {
      auto scanned = reader.scan(session.no, next, last, Order::forward, options_.quick ? Columns::without_body : Columns::all,
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
    const auto scanned = reader.scan(session.no, first, last, Order::backward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
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
    const auto mention = [&](std::map<Digest, Place>& in, const Digest& digest) {
      in.emplace(digest, Place(session.id.str(), entry.id.str()));
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
    if (last > 0 && heads->empty()) found(session.id.str(), "", "heads", "there are entries and no head");
  }

  Result<void> check_blobs() {
    TRY_DO(check_objects(referred_, true));
    for (const auto& [digest, place] : referred_) spare_.erase(digest);
    return check_objects(spare_, false);
  }

  Result<void> check_objects(const std::map<Digest, Place>& objects, bool needed) {
    for (const auto& [digest, place] : objects) {
      const std::string object = "sha256:" + digest.hex();
      TRY(const bool there, store_.blobs().has(digest));
      if (there || needed) ++report_.blobs;
      if (!there && needed) {
        if (purged_.contains(digest)) {
          ++report_.purged;
        } else {
          found(place.first, place.second, object, "the blob is missing");
        }
      }
      if (!there || !sampled()) continue;
      auto bytes = store_.blobs().get(digest);
      if (bytes.ok()) {
        report_.bytes += bytes->size();
      } else if (bytes.error().code() == ErrorCode::CORRUPT || bytes.error().code() == ErrorCode::LIMIT_EXCEEDED) {
        found(place.first, place.second, object, bytes.error().message());
      } else {
        return std::move(bytes).error();
      }
      if (!progress_({report_.entries, report_.bytes})) return Error(ErrorCode::CANCELLED, "verify was interrupted");
    }
    return {};
  }

  Store& store_;
  const VerifyOptions& options_;
  FunctionRef<bool(const VerifyProgress&)> progress_;
  VerifyReport report_;
  std::map<Digest, Place> referred_, spare_;  // blob -> what names it first
  std::set<Digest> purged_;
};

}  // namespace

Result<VerifyReport> verify(Store& store, const VerifyOptions& options, FunctionRef<bool(const VerifyProgress&)> progress) {
  return Verification(store, options, progress).run();
}

}  // namespace weir
