// Sessions, their entries, tree and heads.
#include "api/call.h"
#include "api/parameters.h"
#include "base/limits.h"
#include "service/append.h"
#include "service/objects.h"
#include "service/reading.h"
#include "service/render.h"
#include "service/sessions.h"
#include "session/address.h"

namespace weir::api {
namespace {

using json::Value;

constexpr std::string_view kSummaryShape =
    "{id:string, created:string, entries:integer, head:string|null, heads:[{name:string, entry:string|null}], barrier:string, "
    "source:object|null}";
constexpr std::string_view kEntryShape = "{seq:integer, id:string, parent:string|null, type:string, body:object, at:string, digest:string}";
constexpr std::string_view kHeadShape = "{name:string, entry:string|null}";
constexpr std::string_view kNewEntriesShape = "[{type:string, body:object, id?:string, parent?:string|null, at?:string}]";

constexpr Parameter kHeadName{.name = "head", .in = In::path, .type = Type::head, .help = "the head's name", .required = true};

// ---- sessions ----

// `newest after`: the number of the newest session at the first page, and the id shown last.
Result<void> list_sessions(Call& call) {
  TRY(const auto cursor, call.cursor());
  std::optional<std::uint64_t> newest;
  std::string after;
  if (cursor) {
    newest = std::strtoull(cursor->c_str(), nullptr, 10);
    after = cursor->substr(cursor->find(' ') + 1);
  }
  TRY(const SessionsPage page, weir::list_sessions(call.world.service, after, newest, call.limit()));
  std::vector<Value> items;
  std::size_t bytes = 0;
  for (const SessionSummary& session : page.sessions) {
    items.push_back(Value::raw(call.arena.copy(json::canonical(session.to_json(call.arena)))));
    bytes += items.back().text().size();
    if (bytes >= limits::kPageBytes) break;
  }
  std::optional<std::string> next;
  if (page.more || items.size() < page.sessions.size())
    next = call.next_cursor(std::to_string(page.newest) + " " + page.sessions[items.size() - 1].id.str());
  return call.answer_items(items, next);
}

Result<void> create_session(Call& call) {
  std::optional<SessionId> id;
  if (const auto name = call.text("id")) id = SessionId::trusted(*name);
  TRY(const NewSession made, new_session(call.world.service, id, false));
  return call.answer(json::make_object(call.arena, {{"id", made.id.str()}, {"made", made.made}}), made.made ? 201 : 200);
}

Result<void> get_session(Call& call) {
  TRY(const SessionId id, call.session());
  TRY(const SessionSummary summary, show_session(call.world.service, id));
  return call.answer(summary.to_json(call.arena));
}

Result<void> delete_session(Call& call) {
  TRY(const SessionId id, call.session());
  if (call.text("confirm").value_or("") != id.str()) return wrong_argument("confirm", "repeats the session's id: what is deleted is gone");
  TRY_DO(purge_session(call.world.service, id, false));
  return call.answer_text("");
}

// ---- entries ----

void look_at_entries(Call& call, json::FieldErrors& errors) {
  const Value* const entries = call.value("entries");
  if (entries == nullptr || entries->items().size() > limits::kRequestEntries) return;
  AppendCall append(call.world.service, SessionId(), main_head(), std::nullopt, false);
  // What is no wrong field is told when these are mended.
  for (std::size_t i = 0; i < entries->items().size(); ++i)
    if (!append.add(entries->items()[i], "/entries/" + std::to_string(i), call.arena).ok()) break;
  errors.add_all(append.wrong_fields());
}

Result<void> append_entries(Call& call) {
  TRY(const SessionId session, call.session());
  TRY(const HeadName head, call.head());
  const auto entries = call.value("entries")->items();
  if (entries.size() > limits::kRequestEntries) return over_limit("entries of one append", limits::kRequestEntries, entries.size());
  AppendCall append(call.world.service, session, head, call.expect(), false, {.lenient = call.flag("lenient")});
  for (std::size_t i = 0; i < entries.size(); ++i) TRY_DO(append.add(entries[i], "/entries/" + std::to_string(i), call.arena));
  TRY_DO(call.cancelled());
  TRY(const AppendAnswer answer, append.commit());
  bool all_known = true;
  for (const auto& item : answer.result.entries) all_known = all_known && item.known;
  return call.answer(answer.to_json(call.arena), all_known ? 200 : 201);
}

Result<void> list_entries(Call& call) {
  PageQuery query;
  TRY(query.address, call.address());
  query.all = call.text("scope").value_or("path") == "all";
  query.types = call.texts("type");
  query.since = call.time("since");
  query.limit = call.limit();
  TRY(const auto cursor, call.cursor());
  if (cursor) query.from = PagePlace::decode(*cursor);
  std::string text = "{\"items\":[";
  bool first = true;
  TRY(const auto next, read_page(call.world.service, query, [&](const Entry& entry, const EntryId& parent) -> Result<bool> {
        json::Arena arena;
        if (!std::exchange(first, false)) text += ',';
        json::write_canonical(entry_json(entry, parent, arena), text);
        TRY_DO(call.cancelled());
        return text.size() < limits::kPageBytes;
      }));
  text += ']';
  if (next) text += ",\"next\":\"" + call.next_cursor(next->encode()) + "\"";
  return call.answer_text(text + "}");
}

Result<void> get_entry(Call& call) {
  TRY(const SessionId session, call.session());
  const std::string name = call.text("entry").value_or("");
  TRY(Shown shown, show_entry(call.world.service, {.session = session, .head = main_head()}, name));
  const bool resolve = call.flag("resolve");
  if (resolve) {
    TRY(shown.entry.body, resolved_body(call.world.service, shown.session, shown.entry));
  }
  call.reply.etag = shown.entry.digest.hex() + (resolve ? "-resolved" : "");
  return call.answer(entry_json(shown.entry, shown.parent, call.arena));
}

Result<void> get_tree(Call& call) {
  TRY(const SessionId session, call.session());
  TRY(const Tree tree, read_tree(call.world.service, session));
  TRY_DO(call.cancelled());
  std::vector<Value> nodes, heads;
  const auto id_of = [&](Seq seq) { return seq == 0 ? EntryId() : tree.nodes[seq - 1].id; };
  for (const TreeNode& node : tree.nodes) nodes.push_back(node_json(node, id_of(node.parent), call.arena));
  for (const auto& [name, seq] : tree.heads) {
    const Value entry = seq == 0 ? Value() : Value(tree.nodes[seq - 1].id.str());
    heads.push_back(json::make_object(call.arena, {{"name", name.str()}, {"entry", entry}}));
  }
  return call.answer(json::make_object(call.arena, {{"nodes", Value::array(nodes)}, {"heads", Value::array(heads)}}));
}

// ---- heads ----

Result<void> list_heads(Call& call) {
  TRY(const SessionId session, call.session());
  TRY(const auto cursor, call.cursor());
  TRY(const auto heads, weir::list_heads(call.world.service, session));
  // `main` comes first, the others by name.
  const auto is_behind = [&](const HeadName& name) {
    return !cursor || (name != main_head() && (*cursor == main_head().str() || name.str() > *cursor));
  };
  std::vector<Value> items;
  std::optional<std::string> next;
  std::string last;
  for (const HeadAnswer& head : heads) {
    if (!is_behind(head.name)) continue;
    if (items.size() == call.limit()) {
      next = call.next_cursor(last);
      break;
    }
    items.push_back(head.to_json(call.arena));
    last = head.name.str();
  }
  return call.answer_items(items, next);
}

Result<void> put_head(Call& call) {
  HeadMove move;
  TRY(move.session, call.session());
  TRY(move.head, call.head());
  move.entry = call.text("entry").value_or("");
  move.before = call.flag("before");
  move.expect = call.expect();
  TRY(const HeadAnswer answer, weir::put_head(call.world.service, move));
  return call.answer(answer.to_json(call.arena));
}

Result<void> delete_head(Call& call) {
  TRY(const SessionId session, call.session());
  TRY(const HeadName head, call.head());
  TRY_DO(weir::delete_head(call.world.service, session, head, false, call.expect()));
  return call.answer(json::make_object(call.arena, {{"deleted", head.str()}}));
}

Result<void> events(Call& /*call*/) {
  const std::string why = "events are a stream, only over HTTP";
  return Error(ErrorCode::INVALID_FIELD, why).with_fields({{"", why}});
}

// ---- the table ----

std::vector<Operation> of_sessions() {
  return {
      {.id = "listSessions",
       .method = "GET",
       .path = "/sessions",
       .summary = "All sessions, by id.",
       .parameters = {kLimit, kCursor},
       .schema = schema_of(page_of(std::string(kSummaryShape))),
       .example = R"({"limit":10})",
       .run = list_sessions},
      {.id = "createSession",
       .method = "POST",
       .path = "/sessions",
       .summary = "Make a session; without an id it gets one. 200 if it is there already.",
       .parameters = {{.name = "id", .in = In::body, .type = Type::session, .help = "its id"}},
       .writes = true,
       .status = 201,
       .more_statuses = {200},
       .schema = schema_of("{id:string, made:boolean}"),
       .example = R"({"id":"another"})",
       .pace = Pace::brief,
       .run = create_session},
      {.id = "getSession",
       .method = "GET",
       .path = "/sessions/{session}",
       .summary = "A session with its heads, barrier, count of entries and source.",
       .parameters = {kSession},
       .schema = schema_of(kSummaryShape),
       .example = R"({"session":"demo"})",
       .pace = Pace::quick,
       .run = get_session},
      {.id = "deleteSession",
       .method = "DELETE",
       .path = "/sessions/{session}",
       .summary = "Remove a session and every object only it speaks of, for good.",
       .parameters = {kSession, {.name = "confirm", .help = "the session's id once more", .required = true}},
       .writes = true,
       .answers = Answers::nothing,
       .status = 204,
       .example = R"({"session":"spare","confirm":"spare"})",
       .run = delete_session},
  };
}

std::vector<Operation> of_entries() {
  return {
      {.id = "appendEntries",
       .method = "POST",
       .path = "/sessions/{session}/entries",
       .summary = "Append entries, all or none, at most 1,000. 200 if all of them were known.",
       .parameters = {kSession,
                      {.name = "entries",
                       .in = In::body,
                       .type = Type::list,
                       .help = "what to append, in order",
                       .required = true,
                       .shape = kNewEntriesShape},
                      {.name = "head", .in = In::body, .type = Type::head, .help = "the head; main if none is named"},
                      kExpect,
                      {.name = "lenient",
                       .in = In::body,
                       .type = Type::flag,
                       .help = "store run events that are malformed or illegal, as anomalies"}},
       .writes = true,
       .status = 201,
       .more_statuses = {200},
       .schema = schema_of(kAppendShape),
       .example = R"({"session":"demo","entries":[{"type":"message","body":{"role":"user","content":"And now?"}}]})",
       .pace = Pace::brief,
       .look = look_at_entries,
       .run = append_entries},
      {.id = "listEntries",
       .method = "GET",
       .path = "/sessions/{session}/entries",
       .summary = "Entries in the order they were appended, of the path to a head or of every branch.",
       .parameters = of_state(
           {{.name = "scope", .type = Type::choice, .help = "the path (as if nothing is said), or every branch", .choices = "path|all"},
            {.name = "type", .type = Type::texts, .help = "only entries of these types"},
            {.name = "since", .type = Type::time, .help = "only entries from then on"},
            kLimit,
            kCursor}),
       .schema = schema_of(page_of(std::string(kEntryShape))),
       .example = R"({"session":"demo","scope":"all","limit":3})",
       .run = list_entries},
      {.id = "getEntry",
       .method = "GET",
       .path = "/sessions/{session}/entries/{entry}",
       .summary = "One entry, by id or entry pointer.",
       .parameters = {kSession,
                      {.name = "entry",
                       .in = In::path,
                       .type = Type::entry,
                       .help = "its id, or `e` and 16 hex digits of its digest",
                       .required = true},
                      {.name = "resolve", .type = Type::flag, .help = "put blobs back in the place of their names"}},
       .schema = schema_of(kEntryShape),
       .example = R"({"session":"demo","entry":"u1"})",
       .immutable = true,
       .pace = Pace::quick,
       .run = get_entry},
      {.id = "getTree",
       .method = "GET",
       .path = "/sessions/{session}/tree",
       .summary = "Every entry with its parent, label and whether it is a barrier; and where the heads stand.",
       .parameters = {kSession},
       .schema = schema_of("{nodes:[{id:string, parent:string|null, seq:integer, type:string, label:string|null, barrier:boolean, "
                           "preview:string}], heads:[" +
                           std::string(kHeadShape) + "]}"),
       .example = R"({"session":"demo"})",
       .run = get_tree},
  };
}

std::vector<Operation> of_heads() {
  return {
      {.id = "listHeads",
       .method = "GET",
       .path = "/sessions/{session}/heads",
       .summary = "The heads of a session, main first, and where they stand.",
       .parameters = {kSession, kLimit, kCursor},
       .schema = schema_of(page_of(std::string(kHeadShape))),
       .example = R"({"session":"demo"})",
       .pace = Pace::quick,
       .run = list_heads},
      {.id = "putHead",
       .method = "PUT",
       .path = "/sessions/{session}/heads/{head}",
       .summary = "Move a head, or make one. Appends nothing.",
       .parameters = {kSession,
                      kHeadName,
                      {.name = "entry",
                       .in = In::body,
                       .help = "where it is to stand, by id or pointer; null: before the first entry",
                       .required = true,
                       .nullable = true},
                      {.name = "before", .in = In::body, .type = Type::flag, .help = "at the parent of that entry"},
                      kExpect},
       .writes = true,
       .schema = schema_of(kHeadShape),
       .example = R"({"session":"demo","head":"try","entry":"u1"})",
       .pace = Pace::brief,
       .run = put_head},
      {.id = "deleteHead",
       .method = "DELETE",
       .path = "/sessions/{session}/heads/{head}",
       .summary = "Remove a head; its entries stay.",
       .parameters = {kSession, kHeadName, {.name = "expect", .help = "where it must stand, or nothing is removed"}},
       .writes = true,
       .schema = schema_of("{deleted:string}"),
       .example = R"({"session":"demo","head":"side"})",
       .run = delete_head},
      {.id = "events",
       .method = "GET",
       .path = "/sessions/{session}/events",
       .summary =
           "What happens in a session as server-sent events, from Last-Event-ID on, or from the session's first entry. Only HTTP has it.",
       .parameters = {kSession,
                      {.name = "types",
                       .type = Type::texts,
                       .help = "of entry, head, ctree_node and ctree_snapshot; the first two if nothing is said"},
                      {.name = "payload",
                       .type = Type::choice,
                       .help = "of ctree_node: sanitised (as if nothing is said) or only its hash",
                       .choices = "sanitised|hash|raw"}},
       .answers = Answers::events,
       .run = events},
  };
}

}  // namespace

std::vector<Operation> session_operations() {
  std::vector<Operation> all = of_sessions();
  for (auto& group : {of_entries(), of_heads()}) all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace weir::api
