// Compaction: whether one is due, making one, snapshots, notes of a run.
#include "api/call.h"
#include "api/parameters.h"
#include "json/decode.h"
#include "service/compact.h"
#include "service/run.h"
#include "service/snapshots.h"

namespace weir::api {
namespace {

using json::Value;

constexpr Parameter kNumber{.name = "n", .in = In::path, .help = "its number, its id, the entry that holds it, or last", .required = true};
constexpr std::string_view kCompactShape =
    "{status:\"PASS\"|\"FAIL\", action:\"NONE\"|\"RETRY\"|\"SYSTEM_ERROR\", already:boolean, attempts:integer, "
    "failed:[{name:string, message:string}], run:boolean, diagnostic:string|null, advice:[string], due?:boolean, snapshot_id?:string, "
    "sequence?:integer, entry?:string, narrative?:string}";
constexpr std::string_view kRowShape =
    "{sequence:integer, snapshot_id:string, entry:string, pointer:string, created_at:string, first_pos:integer, last_pos:integer, "
    "attached:boolean}";

Result<void> due(Call& call) {
  TRY(const Address address, call.address());
  TRY(DueAnswer answer, ask_due(call.world.service, {address, call.integer("event_threshold"), call.integer("n_step_fallback")}));
  return call.answer_text(std::move(answer.text));
}

Result<void> compact(Call& call) {
  CompactRequest request;
  TRY(request.session, call.session());
  TRY(request.head, call.head());
  request.expect = call.expect();
  request.if_due = call.flag("if_due");
  request.dry_run = call.flag("dry_run");
  request.max_bytes = call.count("max_bytes");
  request.reason = call.text("reason").value_or("");
  request.first_kept = call.text("first_kept");
  request.tokens_before = call.integer("tokens_before");
  TRY(const CompactAnswer answer, weir::compact(call.world.service, request));
  const bool written = !request.dry_run && !answer.already && !answer.entry.empty();
  return call.answer(answer.to_json(call.arena), written ? 201 : 200);
}

// Numbered along one path: the cursor pins its end.
Result<void> list_snapshots(Call& call) {
  TRY(Address address, call.address());
  TRY(const auto cursor, call.cursor());
  std::size_t from = 0;
  if (cursor) {
    const std::size_t space = cursor->find(' ');
    from = std::strtoull(cursor->c_str(), nullptr, 10);
    address.at = cursor->substr(space + 1);
  }
  TRY(const auto rows, weir::list_snapshots(call.world.service, address));
  std::vector<Value> items;
  const std::size_t to = std::min(rows.size(), from + call.limit());
  for (std::size_t i = from; i < to; ++i) items.push_back(snapshot_row_json(rows[i], call.arena));
  std::optional<std::string> next;
  // What the last one is held by has all of them on its path.
  if (to < rows.size()) next = call.next_cursor(std::to_string(to) + " " + rows.back().accepted.holder.id);
  return call.answer_items(items, next);
}

// `last` is another one tomorrow.
bool stays(std::string_view which) { return which != "last"; }

Result<void> get_snapshot(Call& call) {
  TRY(const Address address, call.address());
  const std::string which = call.text("n").value_or("");
  TRY(const ShownSnapshot shown, show_snapshot(call.world.service, address, which));
  if (stays(which)) call.reply.etag = shown.row.accepted.snapshot_id;
  return call.answer(shown.shown);
}

Result<void> get_narrative(Call& call) {
  TRY(const Address address, call.address());
  const std::string which = call.text("n").value_or("");
  const auto bound = call.count("max_bytes");
  TRY(const ShownSnapshot shown, show_snapshot(call.world.service, address, which));
  TRY(std::string text, snapshot_narrative(call.world.service, address, which, bound));
  if (stays(which)) call.reply.etag = shown.row.accepted.snapshot_id + (bound ? "-" + std::to_string(*bound) : "");
  return call.answer_text(std::move(text));
}

// Any bytes in, a verdict out: they are taken as they came.
Result<void> check_snapshot(Call& call) {
  TRY(const SessionId session, call.session());
  TRY(const HeadName head, call.head());
  const Value* given = call.value("snapshot");
  const std::string bytes = call.body.empty() && given != nullptr ? json::canonical(*given) : call.body;
  TRY(const compaction::Verdict verdict, weir::check_snapshot(call.world.service, bytes, session, head));
  return call.answer(verdict.to_json(compaction::Action::none, call.arena));
}

std::optional<Note::Span> span_of(const Call& call, json::FieldErrors& errors) {
  const Value* given = call.value("span");
  if (given == nullptr || !given->is_object()) return std::nullopt;
  json::ObjectDecoder in(*given, "/span", errors);
  Note::Span span;
  span.chunk = in.need_text("chunk");
  const auto number = [&](std::string_view key, std::int64_t least) {
    const auto read = in.integer(key, least, INT64_MAX);
    if (!read && given->find(key) == nullptr) in.wrong(key, "is missing");
    return read.value_or(0);
  };
  span.start = number("start", 0);
  span.end = number("end", 1);
  in.close();
  return span;
}

void look_at_span(Call& call, json::FieldErrors& errors) { span_of(call, errors); }

Result<void> note(Call& call) {
  TRY(const SessionId session, call.session());
  TRY(const HeadName head, call.head());
  Note taken;
  taken.kind = call.text("kind").value_or("");
  taken.op = call.text("op").value_or("add");
  taken.id = call.text("id");
  taken.text = call.text("text");
  taken.category = call.text("category");
  taken.where = call.text("where");
  taken.refs = call.texts("refs");
  taken.other = call.texts("other");
  json::FieldErrors errors;
  taken.span = span_of(call, errors);
  TRY_DO(errors.result());
  TRY(const NoteAnswer answer, take_note(call.world.service, session, head, taken, false));
  return call.answer(answer.to_json(call.arena));
}

Result<void> stop(Call& call) {
  TRY(const SessionId session, call.session());
  TRY(const HeadName head, call.head());
  TRY(const AppendAnswer answer, stop_run(call.world.service, session, head, call.text("reason").value_or("HUMAN_REQUESTED"), false));
  return call.answer(answer.to_json(call.arena));
}

Result<void> resume(Call& call) {
  TRY(const SessionId session, call.session());
  TRY(const HeadName head, call.head());
  TRY(const AppendAnswer answer, resume_run(call.world.service, session, head, call.text("note"), call.texts("forgive"), false));
  return call.answer(answer.to_json(call.arena));
}

std::vector<Operation> of_compaction() {
  return {
      {.id = "due",
       .method = "GET",
       .path = "/sessions/{session}/due",
       .summary = "Whether a compaction is due, and the counts that say so.",
       .parameters = of_state({{.name = "event_threshold", .type = Type::integer, .help = "what would be with this one", .least = 1},
                               {.name = "n_step_fallback", .type = Type::integer, .help = "what would be with this one", .least = 1}}),
       .schema = schema_of("{due:boolean, trigger:string|null, at_boundary:boolean, counted_events_since_last_compaction:integer, "
                           "steps_since_last_compaction:integer, message_bytes_since_last_compaction:integer, thresholds:{*:integer}, "
                           "barrier:string|null, bare_barrier:string|null, stopped:string|null}"),
       .example = R"({"session":"demo"})",
       .run = due},
      {.id = "compact",
       .method = "POST",
       .path = "/sessions/{session}/compact",
       .summary = "Build a snapshot, hold it to its checks, make it the barrier. 200 if nothing was written; 409 GATE_FAILED.",
       .parameters =
           {said_again(kSession),
            said_again(kHead),
            {.name = "dry_run", .in = In::body, .type = Type::flag, .help = "build and check, write nothing"},
            {.name = "if_due", .in = In::body, .type = Type::flag, .help = "do nothing unless it is due"},
            {.name = "max_bytes", .in = In::body, .type = Type::integer, .help = "of the narrative; 0: no bound"},
            {.name = "reason", .in = In::body, .type = Type::choice, .help = "the trigger, if none is due", .choices = "egress|manual"},
            kExpect,
            {.name = "first_kept", .in = In::body, .help = "of a host that compacts: the first entry it keeps"},
            {.name = "tokens_before", .in = In::body, .type = Type::integer, .help = "of a host that compacts"}},
       .writes = true,
       .status = 201,
       .more_statuses = {200},
       .schema = schema_of(kCompactShape),
       .example = R"({"session":"demo","dry_run":true})",
       .run = compact},
      {.id = "listSnapshots",
       .method = "GET",
       .path = "/sessions/{session}/snapshots",
       .summary = "The snapshots on the path, oldest first.",
       .parameters = of_state({kLimit, kCursor}),
       .schema = schema_of(page_of(std::string(kRowShape))),
       .example = R"({"session":"demo"})",
       .run = list_snapshots},
  };
}

std::vector<Operation> of_snapshots() {
  return {
      {.id = "getSnapshot",
       .method = "GET",
       .path = "/sessions/{session}/snapshots/{n}",
       .summary = "One snapshot of the path.",
       .parameters = {kSession, kNumber, kHead, kAt},
       .schema =
           schema_of("{snapshot_id:string, schema_version:integer, sequence:integer, run_id:string, created_at:string, objective:string, "
                     "done_definition:string, state:object, deltas:object, counts:{*:integer}, provenance:object, validation:object, "
                     "previous_snapshot_id:string|null, ...}"),
       .example = R"({"session":"demo","n":"1"})",
       .immutable = true,
       .run = get_snapshot},
      {.id = "getSnapshotNarrative",
       .method = "GET",
       .path = "/sessions/{session}/snapshots/{n}/narrative",
       .summary = "What a snapshot says, as a text for a model.",
       .parameters = {kSession,
                      kNumber,
                      kHead,
                      kAt,
                      {.name = "max_bytes", .type = Type::integer, .help = "rendered within this bound; 0: without one"}},
       .answers = Answers::markdown,
       .example = R"({"session":"demo","n":"1"})",
       .immutable = true,
       .run = get_narrative},
      {.id = "checkSnapshot",
       .method = "POST",
       .path = "/sessions/{session}/snapshots/check",
       .summary = "Hold any JSON to the checks of a snapshot of this session.",
       .parameters = {kSession,
                      kHead,
                      {.name = "snapshot", .in = In::body, .type = Type::any, .help = "the snapshot, where it is not the body itself"}},
       .takes = Takes::any,
       .schema = schema_of(
           "{status:\"PASS\"|\"FAIL\", checks:[{name:string, status:\"PASS\"|\"FAIL\", message:string}], failure_action_taken:string}"),
       .example = R"({"session":"demo","snapshot":{"snapshot_id":"none"}})",
       .run = check_snapshot},
  };
}

std::vector<Operation> of_notes() {
  return {
      {.id = "note",
       .method = "POST",
       .path = "/sessions/{session}/notes",
       .summary = "Record a claim, evidence, conflict, open question, failure or the next actions in the run's log.",
       .parameters = {said_again(kSession),
                      said_again(kHead),
                      {.name = "kind",
                       .in = In::body,
                       .type = Type::choice,
                       .help = "what it is about",
                       .required = true,
                       .choices = "claim|evidence|conflict|question|failure|next"},
                      {.name = "op",
                       .in = In::body,
                       .type = Type::choice,
                       .help = "what happens to it; add if nothing is said",
                       .choices = "add|verify|downgrade|retract|attach|detach|withdraw|resolve|close"},
                      {.name = "id", .in = In::body, .help = "its id; the first free one if nothing is said"},
                      {.name = "text", .in = In::body, .help = "statement, quote, description, question, reason or resolution"},
                      {.name = "refs", .in = In::body, .type = Type::texts, .help = "evidence, claims, side A, or the next actions"},
                      {.name = "other", .in = In::body, .type = Type::texts, .help = "side B of a conflict"},
                      {.name = "category", .in = In::body, .help = "of a failure"},
                      {.name = "where", .in = In::body, .help = "of a failure"},
                      {.name = "span",
                       .in = In::body,
                       .type = Type::object,
                       .help = "of evidence, in bytes",
                       .shape = "{chunk:string, start:integer, end:integer}"}},
       .writes = true,
       .status = 201,
       .schema = schema_of("{entry:string, type:string, id:string, due:boolean, warnings:[string]}"),
       .example = R"({"session":"demo","kind":"question","text":"Is the cache warm?"})",
       .pace = Pace::brief,
       .look = look_at_span,
       .run = note},
  };
}

// For hosts with a person in front of them: no tool of a model leads here.
std::vector<Operation> of_runs() {
  return {
      {.id = "stop",
       .method = "POST",
       .path = "/sessions/{session}/stop",
       .summary = "End the run on this path, for a person: RUN_STOPPED until it is resumed.",
       .parameters = {said_again(kSession),
                      said_again(kHead),
                      {.name = "reason",
                       .in = In::body,
                       .type = Type::choice,
                       .help = "why; HUMAN_REQUESTED if nothing is said",
                       .choices = "OBJECTIVE_ACHIEVED|BUDGET_EXCEEDED|NO_EVIDENCE|HUMAN_REQUESTED|SYSTEM_ERROR"}},
       .writes = true,
       .status = 201,
       .schema = schema_of(kAppendShape),
       .example = R"({"session":"demo","reason":"HUMAN_REQUESTED"})",
       .pace = Pace::brief,
       .run = stop},
      {.id = "resume",
       .method = "POST",
       .path = "/sessions/{session}/resume",
       .summary = "Reopen a stopped run. Whoever calls this says that a person decided it.",
       .parameters = {said_again(kSession),
                      said_again(kHead),
                      {.name = "note", .in = In::body, .help = "why it may go on"},
                      {.name = "forgive", .in = In::body, .type = Type::texts, .help = "entries whose anomalies no longer count"}},
       .writes = true,
       .status = 201,
       .schema = schema_of(kAppendShape),
       .example = R"({"session":"demo","note":"mended"})",
       .pace = Pace::brief,
       .run = resume},
  };
}

}  // namespace

std::vector<Operation> compaction_operations() {
  std::vector<Operation> all = of_compaction();
  for (auto& group : {of_snapshots(), of_notes(), of_runs()}) all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace weir::api
