// What crosses to other formats, searches, and the store as a whole.
#include "api/call.h"
#include "api/parameters.h"
#include "json/decode.h"
#include "service/history.h"
#include "service/import.h"
#include "service/reading.h"
#include "service/sessions.h"
#include "service/upkeep.h"
#include "session/address.h"

namespace weir::api {
namespace {

using json::Value;

constexpr std::string_view kImportShape =
    "{session:string|null, file:string, refused:boolean, lines:integer, entries:integer, known:integer, messages:integer, side:integer, "
    "orphans:integer, branches:integer, compactions:integer, torn:integer, held:integer, unknown:{*:integer}, "
    "malformed:[{line:integer, reason:string}], requests:{resolved:integer, unresolved:integer}, masked:{*:integer}}";
constexpr std::string_view kStoreShape = "{database_bytes:integer, objects:integer, object_bytes:integer}";

// ---- other formats ----

Result<void> import(Call& call) {
  ImportInput input;
  input.format = call.text("format").value_or("");
  TRY(input.session, call.session());
  input.path = "-";  // as what comes through a pipe: there is no file
  input.strict = call.flag("strict");
  input.dry_run = call.flag("dry_run");
  input.text = call.text("text").value_or("");
  if (!call.body.empty()) input.text = std::move(call.body);
  const std::uint64_t total = input.text->size();
  if (total > kMostPipedBytes) return over_limit("bytes of an import", kMostPipedBytes, total);
  TRY(const ImportAnswer answer, import_file(call.world.service, input, [&](const ImportProgress& progress) {
        call.watch.progress(progress.bytes, total);
        return !call.watch.cancelled();
      }));
  return call.answer(answer.to_json(call.arena));
}

Result<void> sync(Call& call) {
  TRY(const SyncAnswer answer, sync_session(call.world.service, call.arguments(), std::nullopt, false, call.arena));
  return call.answer(answer.to_json(call.arena));
}

void look_at_sync(Call& call, json::FieldErrors& errors) {
  if (const Value* const entries = call.value("entries")) pi::check_sync_entries(entries->items(), call.world.service.masker(), errors);
}

Result<void> export_lines(Call& call) {
  ExportInput input;
  TRY(input.address, call.address());
  input.format = call.text("format").value_or("jsonl");
  const bool at = !input.address.at.empty();
  const std::string scope = call.text("scope").value_or(at ? "path" : "all");
  if (at && scope == "all") return wrong_argument("scope", "is every branch, and at names one path");
  input.all = scope == "all";
  const auto line = [&](std::string_view text) -> Result<bool> {
    TRY_DO(call.cancelled());
    return call.watch.line(text);
  };
  TRY_DO(export_session(call.world.service, input, line));
  return call.answer_text("");
}

// ---- search ----

// `below at`: the service's own cursor, and the entry the search began at.
Result<void> history(Call& call) {
  HistoryRequest request;
  TRY(request.address, call.address());
  request.query = call.text("q").value_or("");
  request.regex = call.flag("regex");
  TRY(request.where, parse_where(call.text("where").value_or("all")));
  request.types = call.texts("type");
  request.limit = call.limit();
  TRY(const auto cursor, call.cursor());
  if (cursor) {
    const std::size_t space = cursor->find(' ');
    request.cursor = cursor->substr(0, space);
    request.address.at = cursor->substr(space + 1);
  } else if (request.address.at.empty()) {
    // What is appended meanwhile must not change what was asked for.
    TRY_DO(call.world.service.log().read([&](LogReader& reader) -> Result<void> {
      TRY(const Located located, locate(reader, request.address));
      TRY(const EntryId entry, id_at(reader, located.session.no, located.seq));
      request.address.at = entry.str();
      return {};
    }));
  }
  auto found = search_session(call.world.service, request, [&](const HistoryProgress& progress) {
    call.watch.progress(progress.done, progress.total);
    return !call.watch.cancelled();
  });
  if (!found.ok()) return renamed_field(std::move(found).error(), "query", "q");
  HistoryAnswer answer = std::move(found).value();
  if (!answer.next.empty()) answer.next = call.next_cursor(answer.next + " " + request.address.at);
  return call.answer(answer.to_json(call.arena));
}

// ---- the store ----

Result<void> get_blob(Call& call) {
  const Digest digest = call.digest("sha256").value_or(Digest());
  TRY(std::string bytes, show_blob(call.world.service, digest));
  call.reply.etag = digest.hex();
  return call.answer_text(std::move(bytes));
}

Result<void> verify(Call& call) {
  VerifyOptions options;
  options.quick = call.flag("quick");
  options.only_session = call.text("session").value_or("");
  if (const auto percent = call.integer("sample")) {
    if (options.quick) return wrong_argument("sample", "is a share of what is hashed again; quick hashes nothing");
    options.sample = static_cast<double>(*percent) / 100;
  }
  Service& service = call.world.service;
  // Before the first line: what is not there is an error, not an answer that breaks off.
  if (call.text("session")) {
    TRY(const SessionId session, call.session());
    TRY_DO(show_session(service, session));
  }
  const auto line = [&](const Value& value) { return call.watch.line(json::canonical(value)); };
  line(json::make_object(
      call.arena, {{"type", "begin"}, {"store", service.store().directory()}, {"quick", options.quick}, {"sample", options.sample}}));
  const std::uint64_t total = service.store().database_bytes();
  TRY(const VerifyReport report, verify_all(service, options, [&](const VerifyProgress& progress) {
        call.watch.progress(std::min(progress.bytes, total), total);
        return !call.watch.cancelled();
      }));
  for (const Finding& finding : report.findings) line(finding_json("damage", finding, call.arena));
  for (const Finding& note : report.notes) line(finding_json("note", note, call.arena));
  line(summary_json(report, call.arena));
  line(json::make_object(call.arena, {{"type", "end"}, {"count", report.findings.size()}, {"complete", true}}));
  return call.answer_text("");
}

Result<void> stats(Call& call) {
  if (!call.value("session")) {
    if (call.value("head") || call.value("at")) return wrong_argument("session", "is missing: heads and entries are a session's");
    TRY(const StoreStats store, store_stats(call.world.service));
    return call.answer(store.to_json(call.arena));
  }
  TRY(const Address address, call.address());
  TRY(const StatsAnswer session, session_stats(call.world.service, address));
  return call.answer(session.to_json(call.arena));
}

// ---- the table ----

constexpr std::string_view kSyncExample =
    R"({"session":"hosted","format":"pi","since":null,"entries":[{"type":"message","id":"m1","parentId":null,)"
    R"("timestamp":"2026-02-13T09:30:00.000Z","message":{"role":"user","content":"Hello"}}],"leaf":"m1"})";
constexpr std::string_view kLeafHelp =
    "where the host stands; null: before its first entry; not given: main stays, and a new session's is at the last";
constexpr std::string_view kImportExample =
    R"({"session":"imported","format":"pi","text":"{\"type\":\"session\",\"version\":3,\"id\":\"p1\",\"timestamp\":\"2026-02-13T09:30:00.000Z\",\"cwd\":\"/\"}\n"})";

std::vector<Operation> of_formats() {
  return {
      {.id = "import",
       .method = "POST",
       .path = "/sessions/{session}/import",
       .summary = "Import the lines of another program's session file into this session, all or none.",
       .parameters = {kSession,
                      {.name = "format", .help = "whose file it is: pi", .required = true},
                      {.name = "strict", .type = Type::flag, .help = "store nothing if something is unknown, malformed or orphaned"},
                      {.name = "dry_run", .type = Type::flag, .help = "count, and store nothing"},
                      {.name = "text", .in = In::body, .help = "the lines, where they are not the body itself"}},
       .writes = true,
       .takes = Takes::lines,
       .long_body = true,
       .schema = schema_of(kImportShape),
       .example = kImportExample,
       .run = import},
      {.id = "sync",
       .method = "POST",
       .path = "/sessions/{session}/sync",
       .summary = "Take over what a host that owns its log has appended since, and where it stands.",
       .parameters = {said_again(kSession),
                      {.name = "format", .in = In::body, .help = "the host's: pi", .required = true},
                      {.name = "header", .in = In::body, .type = Type::object, .help = "the first line of its file", .shape = "object"},
                      {.name = "since", .in = In::body, .help = "the last entry both know", .nullable = true},
                      {.name = "entries",
                       .in = In::body,
                       .type = Type::list,
                       .help = "the host's own, parents first",
                       .required = true,
                       .shape = "[object]"},
                      {.name = "leaf", .in = In::body, .help = kLeafHelp, .nullable = true},
                      {.name = "aborted", .in = In::body, .type = Type::texts, .help = "calls it gave up"}},
       .writes = true,
       .long_body = true,
       .schema = schema_of("{accepted:integer, known:integer, last:string|null, leaf:string|null, due:boolean, pending:integer}"),
       .example = kSyncExample,
       .look = look_at_sync,
       .run = sync},
      {.id = "history",
       .method = "GET",
       .path = "/sessions/{session}/history",
       .summary = "Search a session's whole log, also what lies before a compaction; newest first.",
       .parameters = of_state({{.name = "q", .help = "words and \"phrases\" that must all be there", .required = true},
                               {.name = "where",
                                .type = Type::choice,
                                .help = "every branch, or the path before or after its barrier",
                                .choices = "all|before|after"},
                               {.name = "regex", .type = Type::flag, .help = "q is a regular expression"},
                               {.name = "type", .type = Type::texts, .help = "only entries of these types"},
                               kLimit,
                               kCursor}),
       .schema = schema_of("{matches:[{entry:string, seq:integer, type:string, before_barrier:boolean, on_path:boolean, text:string}], "
                           "next?:string}"),
       .example = R"({"session":"demo","q":"cache"})",
       .run = history},
      {.id = "export",
       .method = "GET",
       .path = "/sessions/{session}/export",
       .summary = "A session as lines: Weir's entries, or pi's JSONL.",
       .parameters = of_state(
           {{.name = "format", .help = "jsonl (as if nothing is said) or pi"},
            {.name = "scope", .type = Type::choice, .help = "every branch (as if nothing is said), or the path", .choices = "path|all"}}),
       .answers = Answers::lines,
       .schema = schema_of("{...}"),
       .example = R"({"session":"demo","format":"jsonl"})",
       .run = export_lines},
  };
}

std::vector<Operation> of_store() {
  return {
      {.id = "getBlob",
       .method = "GET",
       .path = "/blobs/{sha256}",
       .summary = "The bytes of an object.",
       .parameters = {{.name = "sha256", .in = In::path, .type = Type::digest, .help = "its digest", .required = true}},
       .answers = Answers::bytes,
       .example = R"({"sha256":"87aec907d2ed79e246c9480a40bb01ec3a31b2a7e078378e13ffdde39d993398"})",
       .immutable = true,
       .run = get_blob},
      {.id = "verify",
       .method = "POST",
       .path = "/verify",
       .summary = "Read the store again and name every damaged place.",
       .parameters = {{.name = "quick", .in = In::body, .type = Type::flag, .help = "rows, parents and heads only"},
                      {.name = "sample",
                       .in = In::body,
                       .type = Type::integer,
                       .help = "percent of bodies and objects that are hashed again",
                       .least = 1,
                       .most = 100},
                      {.name = "session", .in = In::body, .type = Type::session, .help = "only this one"}},
       .answers = Answers::lines,
       .schema =
           schema_of("{type:\"begin\", store:string, quick:boolean, sample:number|integer}|"
                     "{type:\"damage\"|\"note\", session:string|null, entry:string|null, object:string|null, what:string}|"
                     "{type:\"summary\", sessions:integer, entries:integer, bytes:integer, blobs:integer, purged:integer, damaged:integer}|"
                     "{type:\"end\", count:integer, complete:boolean}"),
       .example = R"({"quick":true})",
       .run = verify},
      {.id = "stats",
       .method = "GET",
       .path = "/stats",
       .summary = "Figures of a session's path, or of the store.",
       .parameters = {{.name = "session", .type = Type::session, .help = "of this one; else of the whole store"}, kHead, kAt},
       .schema = schema_of(
           "{session:string, entries:integer, all_entries:integer, bytes:integer, blob_bytes:integer, tokens_estimated:integer, "
           "turns:integer, tool_calls:integer, tool_errors:integer, compactions:integer, bytes_since_barrier:integer, "
           "types:{*:{entries:integer, bytes:integer}}, roles:{*:{entries:integer, bytes:integer}}, masked:{*:integer}, store:" +
           std::string(kStoreShape) + "}|{sessions:integer, entries:integer, masked:{*:integer}, store:" + std::string(kStoreShape) + "}"),
       .example = R"({"session":"demo"})",
       .run = stats},
  };
}

}  // namespace

std::vector<Operation> store_operations() {
  std::vector<Operation> all = of_formats();
  const std::vector<Operation> more = of_store();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace weir::api
