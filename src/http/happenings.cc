#include "http/happenings.h"

#include "json/canonical.h"
#include "service/compile.h"
#include "service/render.h"
#include "session/address.h"
#include "session/types.h"

namespace weir::http {
namespace {

std::string entry_event(const Entry& entry, const std::string& parent) {
  json::Arena arena;
  const std::string digest = entry.digest.hex();
  return json::canonical(json::make_object(
      arena, {{"seq", entry.seq}, {"id", entry.id.str()}, {"parent", text_or_null(parent)}, {"type", entry.type}, {"digest", digest}}));
}

// What the compiler makes of an entry. One it cannot compile has no such event, unless that is because of damage: CORRUPT. A node
// is there once its entry is folded; only a snapshot has to be compiled, which takes the whole path.
Result<void> add_compiled(Service& service, LogReader& reader, const SessionRow& session, const Entry& entry, const Wanted& made,
                          Happened& out) {
  const auto unless_damaged = [](const auto& result) -> Result<void> {
    return result.ok() || result.error().code() != ErrorCode::CORRUPT ? Result<void>() : result.error();
  };
  CompileQuery query;
  query.config = compile_defaults(service);
  json::Arena arena;
  const auto nodes = nodes_at(service, reader, {session, entry.seq}, query.config);
  if (!nodes.ok()) return unless_damaged(nodes);
  const Compilation at{{session, entry.seq}, entry.id, nodes->fold, nodes->state, {}};
  const auto node = at.state->of_entry(entry.id.str());
  if (made.node && node) {
    const auto event = node_event(service, at, *node, PayloadForm::sanitised, arena);
    TRY_DO(unless_damaged(event));
    if (event.ok()) out.node = json::canonical(*event);
    const auto hashes = node_event(service, at, *node, PayloadForm::hash, arena);
    TRY_DO(unless_damaged(hashes));
    if (hashes.ok()) out.node_hash = json::canonical(*hashes);
  }
  if (!made.snapshot || (entry.type != types::kCompaction && entry.type != types::kRunStopped)) return {};
  const auto compiled = compile_in(service, reader, {session, entry.seq}, query);
  if (compiled.ok()) out.snapshot = json::canonical(snapshot_event(*compiled, arena));
  return unless_damaged(compiled);
}

Result<void> add_heads(LogReader& reader, const SessionRow& session, const Heads& known, Page& page) {
  TRY(const auto heads, reader.heads(session.no));
  page.heads.emplace();
  for (const HeadRow& head : heads) {
    page.heads->emplace(head.name.str(), head.seq);
    const auto before = known.find(head.name.str());
    if (before != known.end() && before->second == head.seq) continue;
    TRY(const EntryId id, id_at(reader, session.no, head.seq));
    page.ids[head.name.str()] = id.str();
  }
  for (const auto& [name, seq] : known)
    if (!page.heads->contains(name)) page.ids[name] = "";
  return {};
}

}  // namespace

std::string head_json(const std::string& name, const std::string& entry) {
  json::Arena arena;
  return json::canonical(json::make_object(arena, {{"name", name}, {"entry", text_or_null(entry)}}));
}

Result<Page> read_page(Service& service, const SessionRow& session, Seq first, std::size_t most, const Wanted& made, const Heads& known) {
  Page page;
  const auto look = [&](LogReader& reader) -> Result<void> {
    page = {};
    TRY(const auto there, reader.session(session.id));
    if (!there || there->no != session.no) return Error(ErrorCode::NOT_FOUND, "the session is gone");
    TRY(page.last, reader.last_seq(session.no));
    const Seq end = page.last - std::min<Seq>(page.last, first - 1) > most ? first + most - 1 : page.last;
    std::vector<Entry> entries;
    if (first <= end) {
      TRY_DO(reader.scan(session.no, first, end, Order::forward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
        entries.push_back(std::move(entry));
        return true;
      }));
    }
    for (const Entry& entry : entries) {
      const bool here = entry.parent >= first && entry.parent - first < entries.size() && entries[entry.parent - first].seq == entry.parent;
      std::string parent;
      if (here) {
        parent = entries[entry.parent - first].id.str();
      } else {
        TRY(const EntryId id, id_at(reader, session.no, entry.parent));
        parent = id.str();
      }
      Happened one{entry.seq, entry_event(entry, parent), {}, {}, {}};
      if (made.node || made.snapshot) TRY_DO(add_compiled(service, reader, session, entry, made, one));
      page.happened.push_back(std::move(one));
    }
    return end >= page.last ? add_heads(reader, session, known, page) : Result<void>();
  };
  TRY_DO(service.log().read(look));
  return page;
}

}  // namespace weir::http
