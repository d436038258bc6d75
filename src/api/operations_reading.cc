// The read cache: read a file, withdraw trust in one, what is trusted.
#include "api/call.h"
#include "api/parameters.h"
#include "service/read_status.h"
#include "service/reads.h"
#include "session/address.h"

namespace weir::api {
namespace {

using json::Value;

constexpr Parameter kPath{.name = "path", .in = In::body, .help = "the file, as a reader names it", .required = true};
constexpr Parameter kCwd{.name = "cwd", .in = In::body, .help = "where relative paths begin; else where the session says it works"};
constexpr std::string_view kReadsShape =
    "{followed:boolean, reason?:string, help?:string, host_followed?:boolean, boundary:string, entries:integer, paths:integer, "
    "scopes:integer, "
    "blocked_ranges:integer, pending:integer, undelivered:integer, reads:{*:integer}, bytes:{baseline:integer, sent:integer, "
    "saved:integer, inflated:integer, net:integer, estimated:boolean}, saved_by:{*:integer}, resent_by:{*:integer}, "
    "tokens_net:integer, blobs:{objects:integer, bytes:integer, live_bytes:integer, over_budget?:boolean}}";
constexpr std::string_view kPathShape =
    "{path:string, slots:[{scope:string, version:string, seq:integer}], "
    "view:[{lines:[integer], version:string, seq:integer, entry:string}], blocked:[[integer]]}";
constexpr std::string_view kRecordShape =
    "{v:integer, mode:string, path:string, scope:string, start:integer, end:integer, total_lines:integer, bytes:integer, served:string, "
    "base?:string, shown?:[[integer]], known?:[[integer]], from?:[integer], held?:string, text_sha256:string, reason:string, "
    "sent:integer, baseline:integer, ...}";

// Behind the record of a text, and of what has none.
constexpr std::string_view kOtherShapes =
    ", details?:object, warnings:[string]}|{kind:\"uncached\", text:string, reason:string, warnings:[string]}|"
    "{kind:\"not_text\", mime:string, bytes:integer, path:string, warnings?:[string]}";

// Where a relative path begins: what the call says, then the session, then the process. A path that is not relative needs none.
Result<std::string> directory_of(const Call& call, const SessionId& session, const HeadName& head, std::string_view path) {
  if (const auto cwd = call.text("cwd")) {
    if (!cwd->starts_with('/')) return wrong_argument("cwd", "is an absolute path");
    return *cwd;
  }
  // The log is asked for a head that may not be there, or for a place that is needed.
  const bool absolute = path.starts_with('/') || path.starts_with("@/");
  if (absolute && head == main_head()) return std::string("/");
  TRY(const std::string cwd, session_directory(call.world.service, session, head));
  if (!cwd.empty()) return cwd;
  if (!call.world.working_directory.empty()) return call.world.working_directory;
  if (path.starts_with('@')) path.remove_prefix(1);
  if (path.starts_with('/') || path.starts_with('~')) return std::string("/");
  return wrong_argument("path", kNoDirectory);
}

ReadCall::Record record_of(const Call& call) {
  const std::string record = call.text("record").value_or("log");
  return record == "host" ? ReadCall::Record::host : record == "none" ? ReadCall::Record::none : ReadCall::Record::log;
}

Result<void> read(Call& call) {
  ReadCall request;
  TRY(request.session, call.session());
  TRY(request.head, call.head());
  request.path = call.text("path").value_or("");
  TRY(request.lines, parse_lines(call.value("offset"), call.value("limit")));
  request.bypass = call.flag("bypass_cache");
  request.record = record_of(call);
  if (const auto id = call.text("request_id")) request.request_id = EntryId::trusted(*id);
  request.turn = call.text("turn").value_or("");
  request.call_id = call.text("call_id").value_or("");
  TRY(request.cwd, directory_of(call, *request.session, request.head, request.path));
  request.home = call.world.home;
  request.within = call.within;
  TRY(const ReadReply answer, read_file(call.world.service, call.world.source, request, [&] { return call.watch.cancelled(); }));
  call.reply.receipt = answer.receipt;
  return call.answer(answer.to_json(call.arena));
}

Result<void> refresh(Call& call) {
  RefreshCall request;
  TRY(request.session, call.session());
  TRY(request.head, call.head());
  request.path = call.text("path").value_or("");
  const auto start = call.count("start"), end = call.count("end");
  if (start && end && *end < *start) return wrong_argument("end", "is before start");
  if (start || end) request.lines.offset = start.value_or(1);
  if (end) request.lines.limit = *end - start.value_or(1) + 1;
  TRY(request.cwd, directory_of(call, request.session, request.head, request.path));
  request.home = call.world.home;
  request.within = call.within;
  TRY(const RefreshReply answer, refresh_file(call.world.service, call.world.source, request));
  return call.answer(answer.to_json(call.arena));
}

Result<void> get_reads(Call& call) {
  TRY(const Address address, call.address());
  TRY(const ReadStatus status, read_status(call.world.service, address, call.world.source.options()));
  const auto path = call.text("path");
  if (!path) return call.answer(status.to_json(call.arena));
  TRY(const std::string cwd, directory_of(call, address.session, address.head, *path));
  TRY(const RefreshPlan plan,
      plan_refresh(call.world.source, *path, {}, {cwd, call.world.home}, call.world.service.masker(), call.narrowed()));
  const PathTrust* known = status.trust.paths.find(plan.body.path);
  const PathTrust none;
  return call.answer(path_json(plan.body.path, known == nullptr ? none : *known, call.arena));
}

Result<void> get_read_digest(Call& call) {
  TRY(const Address address, call.address());
  TRY(const ReadDigest digest, read_digest(call.world.service, address, call.world.source, call.world.working_directory, call.narrowed()));
  return call.answer(digest.to_json(call.arena));
}

}  // namespace

std::vector<Operation> reading_operations() {
  return {
      {.id = "read",
       .method = "POST",
       .path = "/sessions/{session}/read",
       .summary = "Read a file. What the conversation still holds is answered by a short marker or a diff.",
       .parameters =
           {said_again(kSession),
            said_again(kHead),
            kPath,
            {.name = "offset", .in = In::body, .type = Type::any, .help = "the first line, from 1", .shape = "integer"},
            {.name = "limit", .in = In::body, .type = Type::any, .help = "how many lines, from 1", .shape = "integer"},
            {.name = "bypass_cache", .in = In::body, .type = Type::flag, .help = "send the text whatever is held"},
            {.name = "request_id", .in = In::body, .type = Type::entry, .help = "the entry's id: the same call again appends nothing"},
            {.name = "record",
             .in = In::body,
             .type = Type::choice,
             .help = "log: append it (as if nothing is said); host: the host's log will say; none: nothing is known and nothing kept",
             .choices = "log|host|none"},
            {.name = "turn", .in = In::body, .help = "of a host: the assistant's message that made the call"},
            {.name = "call_id", .in = In::body, .help = "of a host: the tool call's id"},
            kCwd},
       .writes = true,
       .files = true,
       .schema = schema_of("{kind:\"text\", text:string, record:" + std::string(kRecordShape) + std::string(kOtherShapes)),
       .example = R"({"session":"demo","path":"notes.txt"})",
       .momentary = true,
       .pace = Pace::brief,
       .run = read},
      {.id = "refresh",
       .method = "POST",
       .path = "/sessions/{session}/refresh",
       .summary = "Withdraw trust in a file, or in some of its lines: the next read sends them.",
       .parameters = {said_again(kSession),
                      said_again(kHead),
                      kPath,
                      {.name = "start", .in = In::body, .type = Type::integer, .help = "the first line, from 1", .least = 1},
                      {.name = "end", .in = In::body, .type = Type::integer, .help = "the last line", .least = 1},
                      kCwd},
       .writes = true,
       .files = true,
       .schema = schema_of("{entry:string, path:string, scope:string, text:string}"),
       .example = R"({"session":"demo","path":"notes.txt","start":1,"end":2})",
       .run = refresh},
      {.id = "getReads",
       .method = "GET",
       .path = "/sessions/{session}/reads",
       .summary = "What of the files read is trusted, and what that saved; or what is known of one file.",
       .parameters = of_state({{.name = "path", .help = "one file"}}),
       .files = true,
       .schema = schema_of(std::string(kReadsShape) + "|" + std::string(kPathShape)),
       .example = R"({"session":"demo"})",
       .run = get_reads},
      {.id = "getReadDigest",
       .method = "GET",
       .path = "/sessions/{session}/reads/digest",
       .summary = "The files that had been read before the last compaction, and whether they have changed since.",
       .parameters = of_state(),
       .files = true,
       .schema = schema_of(
           "{files:[{path:string, lines:[[integer]], total_lines:integer, state:string, version:string}], more:integer, text:string}"),
       .example = R"({"session":"demo"})",
       .run = get_read_digest},
  };
}

}  // namespace weir::api
