#include "testing/rows.h"

#include <fmt/format.h>

#include "testing/log_access.h"
#include "testing/results.h"

namespace weir::testing {
namespace {

Result<std::string> dump_session(LogReader& reader, const SessionRow& session) {
  std::string out = fmt::format("session {} created {} source '{}'\n", session.id.str(), session.created.ms, session.source);
  TRY(const auto heads, reader.heads(session.no));
  for (const HeadRow& head : heads) out += fmt::format("  head {} at {}\n", head.name.str(), head.seq);
  TRY(const Seq last, reader.last_seq(session.no));
  TRY_DO(reader.scan(session.no, 1, last, Order::forward, Columns::all, [&](Entry& entry) -> Result<bool> {
    out += "  " + show(entry) + "\n";
    return true;
  }));
  for (const std::string_view fold : {"a", "b"}) {
    TRY(const auto seqs, reader.checkpoints(session.no, fold));
    for (const Seq seq : seqs) {
      TRY(const auto row, reader.checkpoint(session.no, fold, seq));
      out += fmt::format("  checkpoint {} at {}: {}\n", fold, seq, row ? row->state : "(damaged)");
    }
  }
  for (const std::uint64_t path : {std::uint64_t{77}}) {
    TRY(const auto undelivered, reader.undelivered(session.no, path));
    for (const Seq seq : undelivered) out += fmt::format("  undelivered {} at {}\n", path, seq);
  }
  TRY(const auto masked, reader.masked(session.no));
  for (const auto& [family, count] : masked) out += fmt::format("  masked {} {}\n", family, count);
  return out;
}

}  // namespace

Entry make_row(Seq seq, const Entry* parent, std::string_view type, std::string_view body, std::string_view id) {
  Entry entry;
  entry.seq = seq;
  entry.parent = parent == nullptr ? 0 : parent->seq;
  entry.barrier = type == "compaction" ? seq : parent == nullptr ? 0 : parent->barrier;
  entry.depth = parent == nullptr ? 1 : parent->depth + 1;
  entry.type = type;
  entry.body = body;
  entry.at = TimeMs{1700000000000 + static_cast<std::int64_t>(seq)};
  entry.digest = entry_digest(parent == nullptr ? std::nullopt : std::optional(parent->digest), type, body);
  entry.id = EntryId::trusted(id.empty() ? entry_pointer(entry.digest, 8) : std::string(id));
  return entry;
}

std::string show(const Entry& entry) {
  return fmt::format("{} under {} id {} type {} body {} at {} imported {} barrier {} depth {} digest {}", entry.seq, entry.parent,
                     entry.id.str(), entry.type, entry.body, entry.at.ms, entry.imported, entry.barrier, entry.depth, entry.digest.hex());
}

std::string dump(Log& log) {
  return must(read_from(log, [](LogReader& reader) -> Result<std::string> {
    std::string out;
    TRY(const auto sessions, reader.sessions());
    for (const SessionRow& session : sessions) {
      TRY(const std::string text, dump_session(reader, session));
      out += text;
    }
    TRY(const auto gone, reader.purged_sessions());
    for (const PurgedSession& row : gone)
      out += fmt::format("purged session {} {} {} {} {}\n", row.no.value, row.name.hex(), row.entries, row.last.hex(), row.at.ms);
    TRY(const auto purged, reader.purged_blobs());
    for (const Digest& digest : purged) out += "purged " + digest.hex() + "\n";
    return out;
  }));
}

}  // namespace weir::testing
