#include "service/sessions.h"

#include <algorithm>

#include "service/render.h"
#include "session/address.h"
#include "session/path.h"

namespace weir {
namespace {

using json::Value;

Result<SessionSummary> summarize(LogReader& reader, const SessionRow& row) {
  SessionSummary out;
  out.id = row.id;
  out.created = row.created;
  out.source = row.source;
  TRY(out.entries, reader.last_seq(row.no));
  TRY(const auto heads, need_heads(reader, row));
  for (const HeadRow& head : heads) {
    TRY(const EntryId id, id_at(reader, row.no, head.seq));
    if (head.name == main_head()) {
      out.head = id;
      TRY(const Seq barrier, barrier_at(reader, row.no, head.seq));
      if (barrier != 0) {
        TRY(const EntryId barrier_id, id_at(reader, row.no, barrier));
        out.barrier = "compaction:" + barrier_id.str();
      }
      out.heads.insert(out.heads.begin(), {head.name, id});
    } else {
      out.heads.emplace_back(head.name, id);
    }
  }
  return out;
}

}  // namespace

Value SessionSummary::to_json(json::Arena& arena) const {
  std::vector<Value> items;
  for (const auto& [name, entry] : heads)
    items.push_back(json::make_object(arena, {{"name", name.str()}, {"entry", text_or_null(entry.str())}}));
  return json::make_object(arena, {{"id", id.str()},
                                   {"created", arena.copy(format_time(created))},
                                   {"entries", entries},
                                   {"head", text_or_null(head.str())},
                                   {"heads", json::make_array(arena, items)},
                                   {"barrier", barrier},
                                   {"source", source.empty() ? Value() : Value::raw(source)}});
}

Value HeadAnswer::to_json(json::Arena& arena) const {
  return json::make_object(arena, {{"name", name.str()}, {"entry", text_or_null(entry.str())}});
}

Result<std::vector<SessionSummary>> list_sessions(Service& service) {
  std::vector<SessionSummary> out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto rows, reader.sessions());
    for (const SessionRow& row : rows) {
      TRY(SessionSummary summary, summarize(reader, row));
      out.push_back(std::move(summary));
    }
    return {};
  }));
  return out;
}

Result<SessionsPage> list_sessions(Service& service, const std::string& after, std::optional<std::uint64_t> newest, std::size_t limit) {
  SessionsPage out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto rows, reader.sessions());
    for (const SessionRow& row : rows) out.newest = std::max(out.newest, row.no.value);
    out.newest = newest.value_or(out.newest);
    for (const SessionRow& row : rows) {
      if (row.id.str() <= after || row.no.value > out.newest) continue;
      out.more = out.sessions.size() == limit;
      if (out.more) break;
      TRY(SessionSummary summary, summarize(reader, row));
      out.sessions.push_back(std::move(summary));
    }
    return {};
  }));
  return out;
}

Result<SessionSummary> show_session(Service& service, const SessionId& id) {
  SessionSummary out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const SessionRow row, need_session(reader, id));
    TRY(out, summarize(reader, row));
    return {};
  }));
  return out;
}

Result<NewSession> new_session(Service& service, const std::optional<SessionId>& id, bool dry_run) {
  NewSession out;
  out.id = id ? *id : SessionId::trusted(uuid_v7(service.store().doors().clock, service.store().doors().random));
  TRY_DO(service.check_name("/id", out.id.str()));
  const TimeMs now = service.now();
  TRY_DO(service.write(
      [&](LogTxn& txn) -> Result<void> {
        TRY_DO(ensure_session(txn, out.id, now, &out.made));
        return {};
      },
      dry_run));
  return out;
}

Result<std::vector<HeadAnswer>> list_heads(Service& service, const SessionId& session) {
  TRY(const SessionSummary summary, show_session(service, session));
  std::vector<HeadAnswer> out;
  for (const auto& [name, entry] : summary.heads) out.push_back({name, entry});
  return out;
}

Result<HeadAnswer> move_head(Service& service, const HeadMove& move, bool people, bool dry_run) {
  HeadAnswer out{move.head, {}};
  TRY_DO(service.write(
      [&](LogTxn& txn) -> Result<void> {
        TRY(out.entry, move_head(txn, move, people));
        return {};
      },
      dry_run));
  return out;
}

Result<HeadAnswer> put_head(Service& service, const HeadMove& move) {
  HeadAnswer out{move.head, {}};
  TRY_DO(service.check_name("/head", move.head.str()));
  TRY_DO(service.write([&](LogTxn& txn) -> Result<void> {
    TRY(const SessionRow session, need_session(txn, move.session));
    const auto stands = need_head(txn, session, move.head);
    if (stands.ok() || stands.error().code() != ErrorCode::NOT_FOUND || move.expect) {
      TRY(out.entry, move_head(txn, move, false));
      return {};
    }
    TRY(const Entry entry, find_place(txn, session, move.entry, Naming::exact));
    TRY(out.entry, fork_head(txn, move.session, move.head, move.before ? entry.parent : entry.seq));
    return {};
  }));
  return out;
}

Result<HeadAnswer> fork_head(Service& service, const Address& from, const HeadName& name, bool dry_run) {
  HeadAnswer out{name, {}};
  TRY_DO(service.check_name("/name", name.str()));
  TRY_DO(service.write(
      [&](LogTxn& txn) -> Result<void> {
        TRY(const Located located, locate(txn, from));
        TRY(out.entry, fork_head(txn, from.session, name, located.seq));
        return {};
      },
      dry_run));
  return out;
}

Result<void> delete_head(Service& service, const SessionId& session, const HeadName& name, bool dry_run,
                         const std::optional<Expect>& expect) {
  return service.write(
      [&](LogTxn& txn) -> Result<void> {
        if (expect) {
          TRY(const SessionRow row, need_session(txn, session));
          TRY_DO(check_expect(txn, row, name, *expect));
        }
        return delete_head(txn, session, name);
      },
      dry_run);
}

}  // namespace weir
