// session list|new|show and head list|move|fork|delete.
#include <fmt/format.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "json/parse.h"
#include "service/sessions.h"

namespace weir::cli {
namespace {

using json::Value;

std::string source_text(const SessionSummary& summary) {
  if (summary.source.empty()) return "";
  json::Parser parser;
  const auto source = parser.parse_stored(summary.source);
  if (!source.ok()) return "?";
  return fmt::format("{} {}", source->text_or("format", "?"), source->text_or("path", ""));
}

std::string shown(const EntryId& id) { return id.empty() ? "(before the first entry)" : printable(id.str()); }

void print_head(Run& run, const HeadAnswer& answer) {
  if (run.json()) {
    json::Arena arena;
    run.object(answer.to_json(arena));
  } else {
    run.line(fmt::format("{} {}", run.paint()(Style::green, answer.name.str()), shown(answer.entry)));
  }
}

}  // namespace

Result<int> run_session_list(Run& run) {
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const auto sessions, list_sessions(*service));
  if (run.json()) {
    json::Arena arena;
    std::vector<Value> items;
    for (const SessionSummary& session : sessions) items.push_back(session.to_json(arena));
    run.object(json::make_object(arena, {{"sessions", json::make_array(arena, items)}}));
    return 0;
  }
  if (sessions.empty()) {
    run.note("no sessions yet; 'weir append --session NAME' or 'weir import' makes one");
    return 0;
  }
  std::size_t widest = 7;
  for (const SessionSummary& session : sessions) widest = std::max(widest, session.id.str().size());
  run.line(run.paint()(Style::bold,
                       fmt::format("{:<{}}  {:>9}  {:>5}  {:<24}  {}", "SESSION", widest, "ENTRIES", "HEADS", "BARRIER", "SOURCE")));
  for (const SessionSummary& session : sessions) {
    run.line(fmt::format("{}  {:>9}  {:>5}  {:<24}  {}", run.paint()(Style::cyan, fmt::format("{:<{}}", session.id.str(), widest)),
                         grouped(session.entries), session.heads.size(), fitted(session.barrier, 24), fitted(source_text(session), 60)));
  }
  return 0;
}

Result<int> run_session_new(Run& run) {
  std::optional<SessionId> id;
  if (const auto name = run.word(0)) {
    TRY(id, SessionId::parse(*name));
  } else {
    TRY(id, run.named_session());
  }
  TRY(Service* const service, run.service(Store::Access::write));
  TRY(const NewSession made, new_session(*service, id, run.dry_run()));
  if (run.json()) {
    json::Arena arena;
    run.object(json::make_object(arena, {{"id", made.id.str()}, {"made", made.made}}));
  } else {
    run.line(made.id.str());
  }
  return 0;
}

Result<int> run_session_show(Run& run) {
  SessionId id;
  if (const auto name = run.word(0)) {
    TRY(id, SessionId::parse(*name));
  } else {
    TRY(id, run.session(Store::Access::read));
  }
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const SessionSummary summary, show_session(*service, id));
  if (run.json()) {
    json::Arena arena;
    run.object(summary.to_json(arena));
    return 0;
  }
  run.line(run.paint()(Style::bold, summary.id.str()));
  run.line(fmt::format("  entries  {}", grouped(summary.entries)));
  run.line(fmt::format("  created  {}", format_time(summary.created)));
  run.line(fmt::format("  barrier  {}", printable(summary.barrier)));
  for (const auto& [name, entry] : summary.heads)
    run.line(fmt::format("  head     {} {}", run.paint()(Style::green, name.str()), shown(entry)));
  if (!summary.source.empty()) run.line(fmt::format("  source   {}", printable(source_text(summary))));
  return 0;
}

Result<int> run_head_list(Run& run) {
  TRY(const SessionId session, run.session(Store::Access::read));
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const auto heads, list_heads(*service, session));
  if (run.json()) {
    json::Arena arena;
    std::vector<Value> items;
    for (const HeadAnswer& head : heads) items.push_back(head.to_json(arena));
    run.object(json::make_object(arena, {{"session", session.str()}, {"heads", json::make_array(arena, items)}}));
    return 0;
  }
  for (const HeadAnswer& head : heads) print_head(run, head);
  return 0;
}

Result<int> run_head_move(Run& run) {
  HeadMove move;
  TRY(move.session, run.session(Store::Access::write));
  TRY(move.head, HeadName::parse(*run.word(0)));
  move.entry = *run.word(1);
  move.before = run.flag("before");
  if (const auto expect = run.option("expect")) move.expect = Expect{*expect, true};
  TRY(Service* const service, run.service(Store::Access::write));
  TRY(const HeadAnswer answer, move_head(*service, move, true, run.dry_run()));
  print_head(run, answer);
  return 0;
}

Result<int> run_head_fork(Run& run) {
  TRY_DO(run.service(Store::Access::write));
  TRY(const Address from, run.address());
  TRY(const HeadName name, HeadName::parse(*run.word(0)));
  TRY(Service* const service, run.service(Store::Access::write));
  TRY(const HeadAnswer answer, fork_head(*service, from, name, run.dry_run()));
  print_head(run, answer);
  return 0;
}

Result<int> run_head_delete(Run& run) {
  TRY(const SessionId session, run.session(Store::Access::write));
  TRY(const HeadName name, HeadName::parse(*run.word(0)));
  TRY(Service* const service, run.service(Store::Access::write));
  TRY_DO(run.confirm("delete head '" + name.str() + "' of session '" + session.str() + "'"));
  TRY_DO(delete_head(*service, session, name, run.dry_run()));
  if (run.json()) {
    json::Arena arena;
    run.object(json::make_object(arena, {{"deleted", name.str()}}));
  }
  return 0;
}

}  // namespace weir::cli
