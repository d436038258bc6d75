// The tool `status`: where a session stands.
#include "json/canonical.h"
#include "mcp/tools.h"
#include "service/read_settings.h"
#include "service/read_status.h"
#include "service/run.h"
#include "session/address.h"

namespace weir::mcp {
namespace {

using json::Value;

constexpr std::string_view kListing =
    R"({"name":"status","description":"Where this session stands: head, barrier, whether compaction is due, which reads are trusted, bytes saved and spent.","inputSchema":{"type":"object","properties":{"session":{"type":"string"},"head":{"type":"string"}},"additionalProperties":false},"outputSchema":{"type":"object","properties":{"session":{"type":"string"},"head":{"type":"string"},"entry":{"type":"string"},"seq":{"type":"integer"},"barrier":{"type":"string"},"due":{"type":"boolean"},"counts":{"type":"object"},"reads":{"type":"object"}},"required":["session","head","seq","barrier","due","counts","reads"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}})";

Result<Value> status(Asked& asked, const Value& arguments) {
  TRY(const Value addressed, asked.with_session(arguments));
  Address address;
  TRY(address.session, parse_argument<SessionId>("session", addressed.text_or("session", "")));
  address.head = main_head();
  if (const Value* const head = addressed.find("head")) {
    TRY(address.head, parse_argument<HeadName>("head", head->text()));
  }
  TRY(const ReadOptions options, read_options(asked.world.config, true));
  TRY(const ReadStatus reads, read_status(asked.world.service, address, options));
  TRY(const DueAnswer due, ask_due(asked.world.service, {.address = address, .event_threshold = {}, .n_step_fallback = {}}));
  Seq seq = 0;
  EntryId entry;
  TRY_DO(asked.world.service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located at, locate(reader, address));
    seq = at.seq;
    TRY(entry, id_at(reader, at.session.no, at.seq));
    return {};
  }));
  json::ObjectBuilder out(asked.arena);
  out.add("session", asked.arena.copy(address.session.str())).add("head", asked.arena.copy(address.head.str()));
  if (!entry.empty()) out.add("entry", asked.arena.copy(entry.str()));
  out.add("seq", seq).add("barrier", asked.arena.copy(reads.trust.boundary)).add("due", due.due);
  out.add("counts", Value::raw(asked.arena.copy(due.text)));
  out.add("reads", Value::raw(asked.arena.copy(json::canonical(reads.to_json(asked.arena)))));
  return out.build();
}

ToolOutcome run(Asked& asked, const Value& arguments) {
  auto answer = status(asked, arguments);
  if (!answer.ok()) return std::move(answer).error();
  return data_result(asked, asked.arena.copy(json::canonical(*answer)));
}

}  // namespace

const ToolSpec kStatusTool{"status", kListing, run};

}  // namespace weir::mcp
