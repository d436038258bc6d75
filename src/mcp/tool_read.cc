// The tool `read`: a file through the read cache.
#include "json/canonical.h"
#include "mcp/client_roots.h"
#include "mcp/core.h"
#include "mcp/tools.h"
#include "service/reads.h"
#include "service/still_wanted.h"
#include "session/address.h"

namespace weir::mcp {
namespace {

using json::Value;

constexpr std::string_view kListing =
    R"({"name":"read","description":"Read a text file. In a followed session (see status), text this conversation still holds comes as a short marker or a diff; bypass_cache=true sends it. Else the full text is sent.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1},"bypass_cache":{"type":"boolean"},"session":{"type":"string"},"head":{"type":"string"}},"required":["path"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false},"_meta":{"anthropic/alwaysLoad":true}})";

// A number of lines that is none has a code of its own, if nothing else is wrong.
Error refuse(const Value& arguments, Error wrong) {
  for (const FieldError& field : wrong.fields())
    if (field.path != "/offset" && field.path != "/limit") return wrong;
  auto lines = parse_lines(arguments.find("offset"), arguments.find("limit"));
  return lines.ok() ? wrong : std::move(lines).error();
}

Result<ReadCall> decode(const Asked& asked, const Value& arguments) {
  ReadCall call;
  // An unnamed conversation proves nothing: it gets the text, and nothing is recorded.
  if (const auto session = asked.session_of(arguments)) {
    TRY(call.session, parse_argument<SessionId>("session", *session));
  }
  call.head = asked.core.options().head.value_or(main_head());
  if (const Value* const head = arguments.find("head")) {
    TRY(call.head, parse_argument<HeadName>("head", head->text()));
  }
  call.path = arguments.text_or("path", "");
  TRY(call.lines, parse_lines(arguments.find("offset"), arguments.find("limit")));
  const Value* const bypass = arguments.find("bypass_cache");
  call.bypass = bypass != nullptr && bypass->boolean();
  call.record = call.session && !asked.world.read_only && asked.task.may_write ? ReadCall::Record::log : ReadCall::Record::none;
  call.cwd = asked.world.working_directory;
  call.home = asked.world.home;
  return call;
}

ToolOutcome run(Asked& asked, const Value& arguments) {
  auto call = decode(asked, arguments);
  if (!call.ok()) return std::move(call).error();
  if (call->cwd.empty() && !call->session && !call->path.starts_with('/'))
    return api::wrong_argument("path", "is absolute here: this server has no working directory");
  call->within = client_roots(asked);
  Service& service = asked.world.service;
  const ReadSource& source = asked.world.source;
  const StillWanted wanted([&] { return asked.task.commit(); });
  auto reply = call->session ? read_file(service, source, *call, [&] { return asked.task.cancelled(); })
                             : read_plain(source, *call, service.masker());
  if (!reply.ok()) return std::move(reply).error();
  for (const std::string& warning : reply->warnings) asked.task.log("warning", "read", Value(warning));
  asked.task.receipt = reply->receipt;
  // A picture or other bytes: what it is stands in for what it holds.
  if (reply->kind == ReadReply::Kind::not_text)
    return text_result(asked.arena.copy(json::canonical(reply->to_json(asked.arena))), asked.arena);
  json::ObjectBuilder meta(asked.arena);
  if (reply->record) meta.add("dev.weir/read", to_json(*reply->record, asked.arena));
  const Value beside = meta.build();
  return text_result(asked.arena.copy(reply->text), asked.arena, reply->record ? &beside : nullptr);
}

}  // namespace

const ToolSpec kReadTool{"read", kListing, run, true, refuse};

}  // namespace weir::mcp
