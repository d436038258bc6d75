// due, compact, snapshot: when a compaction is needed, making one, and looking at those that are there.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/limits.h"
#include "base/secrets.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "json/parse.h"
#include "service/compact.h"
#include "service/run.h"
#include "service/snapshots.h"

namespace weir::cli {
namespace {

using json::Value;

constexpr std::size_t kMostSnapshotBytes = 64 * limits::kMiB;

std::optional<std::int64_t> integer(Run& run, std::string_view name) {
  const auto number = run.number(name);
  return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

Result<std::optional<std::uint64_t>> max_bytes(Run& run) {
  const auto given = run.option("max-bytes");
  if (!given) return std::optional<std::uint64_t>();
  TRY(const std::int64_t bytes, parse_size(*given));
  return std::optional(static_cast<std::uint64_t>(bytes));
}

std::int64_t number_in(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value != nullptr && value->is_integer() ? value->integer() : 0;
}

// How far a count is from its threshold, as a bar.
std::string gauge(Run& run, std::string_view label, std::int64_t count, std::int64_t threshold) {
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(threshold, 1));
  const auto part = std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0)), most);
  const Style style = part == most ? Style::red : 10 * part >= 7 * most ? Style::yellow : Style::green;
  return fmt::format("  {:<16} {}  {} of {}", label, run.paint()(style, share_bar(part, most, 18)), count, threshold);
}

void print_due(Run& run, const Value& answer) {
  const bool due = answer.find("due")->boolean();
  const Value& thresholds = *answer.find("thresholds");
  const std::string why = due ? "due: " + std::string(answer.text_or("trigger", "")) : "not due";
  run.line(run.paint()(due ? Style::yellow : Style::green, why) + (answer.find("at_boundary")->boolean() ? "" : ", inside a step"));
  run.line(
      gauge(run, "counted events", number_in(answer, "counted_events_since_last_compaction"), number_in(thresholds, "event_threshold")));
  run.line(gauge(run, "steps", number_in(answer, "steps_since_last_compaction"), number_in(thresholds, "n_step_fallback")));
  const std::int64_t bytes = number_in(answer, "message_bytes_since_last_compaction");
  if (const std::int64_t most = number_in(thresholds, "plain_bytes_threshold"); most > 0) {
    run.line(gauge(run, "message bytes", bytes, most));
  } else {
    run.line(fmt::format("  {:<16} {}", "message bytes",
                         grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0))) +
                             run.paint()(Style::dim, "  (no threshold: plain_bytes_threshold is 0)")));
  }
  const auto place = [&](std::string_view label, std::string_view key, std::string_view hint) {
    const std::string_view pointer = answer.text_or(key, "");
    if (!pointer.empty()) run.line(fmt::format("  {:<16} {}{}", label, pointer, run.paint()(Style::dim, hint)));
  };
  place("barrier", "barrier", "");
  place("bare barrier", "bare_barrier", "  without a snapshot: weir snapshot attach");
  place("stopped", "stopped", "  weir show says why; weir resume opens the run again");
}

void print_checks(Run& run, const std::vector<compaction::Check>& failed) {
  for (const compaction::Check& check : failed)
    run.line(fmt::format("  {} {}  {}", run.paint()(Style::red, "FAIL"), run.paint()(Style::bold, check.name), printable(check.message)));
}

void print_compacted(Run& run, const CompactAnswer& answer) {
  if (!answer.due) return run.line("not due; nothing was done");
  const std::string what =
      answer.snapshot_id.empty() ? std::string("no snapshot") : fmt::format("snapshot {}  {}", answer.sequence, answer.snapshot_id);
  const std::string_view note = answer.already ? "  already there" : answer.entry.empty() ? "  not written" : "";
  run.line(fmt::format("{}  {}{}{}", run.paint()(answer.pass ? Style::green : Style::red, answer.pass ? "PASS" : "FAIL"), what,
                       answer.entry.empty() ? "" : "  in entry " + printable(answer.entry), run.paint()(Style::dim, note)));
  if (answer.attempts > 1) run.line(fmt::format("  {} attempts; the first failed and is in the log", answer.attempts));
  print_checks(run, answer.failed);
  for (const std::string& advice : answer.advice) run.line(run.paint()(Style::dim, "  " + printable(advice)));
  if (answer.narrative.empty()) return;
  run.line("");
  run.print(printable(answer.narrative, true));
}

Result<int> finish(Run& run, const CompactAnswer& answer) {
  json::Arena arena;
  if (run.json()) {
    run.object(answer.to_json(arena));
  } else {
    print_compacted(run, answer);
  }
  return answer.pass ? 0 : info(ErrorCode::GATE_FAILED).exit;
}

}  // namespace

Result<int> run_due(Run& run) {
  TRY(const Address address, run.address());
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const DueAnswer answer, ask_due(*service, {address, integer(run, "event-threshold"), integer(run, "n-step-fallback")}));
  json::Parser parser;
  TRY(const Value value, parser.parse_stored(answer.text));
  if (run.json()) {
    run.object(value);
  } else {
    print_due(run, value);
  }
  return answer.due ? 0 : 1;
}

Result<int> run_compact(Run& run) {
  TRY(const SessionId session, run.session(Store::Access::read));
  CompactRequest request;
  request.session = session;
  TRY(request.head, run.head());
  if (const auto expected = run.option("expect")) request.expect = Expect{*expected, true};
  request.if_due = run.flag("if-due");
  request.dry_run = run.dry_run();
  TRY(request.max_bytes, max_bytes(run));
  request.reason = run.option("reason").value_or("");
  request.first_kept = run.option("first-kept");
  request.tokens_before = integer(run, "tokens-before");
  request.people = true;
  TRY(Service* const service, run.service(run.dry_run() ? Store::Access::read : Store::Access::write));
  TRY(const CompactAnswer answer, compact(*service, request));
  return finish(run, answer);
}

Result<int> run_snapshot_list(Run& run) {
  TRY(const Address address, run.address());
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const auto rows, list_snapshots(*service, address));
  if (run.json()) {
    json::Arena arena;
    std::vector<Value> items;
    for (const SnapshotRow& row : rows) items.push_back(snapshot_row_json(row, arena));
    run.object(json::make_object(arena, {{"session", address.session.str()}, {"snapshots", json::make_array(arena, items)}}));
    return 0;
  }
  if (rows.empty()) run.note("no snapshot on this path; 'weir compact' makes one");
  for (const SnapshotRow& row : rows) {
    run.line(fmt::format("{:>4}  {}  {}  positions {} to {}  {}{}", row.accepted.sequence,
                         run.paint()(Style::cyan, row.accepted.snapshot_id), format_time(row.at), row.accepted.first.pos,
                         row.accepted.last_pos, printable(row.accepted.holder.id),
                         row.attached ? run.paint()(Style::dim, "  attached to a host's compaction") : ""));
  }
  return 0;
}

Result<int> run_snapshot_show(Run& run) {
  TRY(const Address address, run.address());
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const ShownSnapshot shown, show_snapshot(*service, address, run.word(0).value_or("last")));
  if (run.json()) {
    run.object(shown.shown);
  } else {
    run.data(json::pretty(shown.shown));
  }
  return 0;
}

Result<int> run_snapshot_check(Run& run) {
  const std::string which = run.word(0).value_or("");
  const bool number = !which.empty() && which.size() < 10 && which.find_first_not_of("0123456789") == std::string::npos;
  TRY(const HeadName head, run.head());
  std::string bytes;
  std::optional<SessionId> session;
  Service* service = nullptr;
  if (number || which == "last") {
    TRY(const Address address, run.address());
    TRY(service, run.service(Store::Access::read));
    TRY(const ShownSnapshot shown, show_snapshot(*service, address, which));
    bytes = json::canonical(shown.shown);
    session = address.session;
  } else {
    TRY(bytes, run.read_input(which, kMostSnapshotBytes));
    TRY(session, run.named_session());
    TRY(service, run.service(Store::Access::read));
  }
  TRY(const compaction::Verdict verdict, check_snapshot(*service, bytes, session, head));
  json::Arena arena;
  if (run.json()) {
    run.object(verdict.to_json(compaction::Action::none, arena));
  } else {
    for (const compaction::Check& check : verdict.checks) {
      run.line(fmt::format("{}  {:<30} {}", run.paint()(check.pass ? Style::green : Style::red, check.pass ? "PASS" : "FAIL"), check.name,
                           printable(check.message)));
    }
    const std::size_t failed = verdict.failed().size(), all = verdict.checks.size();
    run.line(run.paint()(failed == 0 ? Style::green : Style::red, failed == 0 ? fmt::format("sound: {} checks passed", all)
                                                                  : all == 1  ? "no snapshot: the other checks need one"
                                                                              : fmt::format("{} of {} checks failed", failed, all)));
  }
  return verdict.pass() ? 0 : info(ErrorCode::GATE_FAILED).exit;
}

Result<int> run_snapshot_attach(Run& run) {
  TRY(const SessionId session, run.session(Store::Access::read));
  AttachRequest request;
  request.session = session;
  TRY(request.head, run.head());
  request.entry = run.word(0).value_or("");
  TRY(request.max_bytes, max_bytes(run));
  request.dry_run = run.dry_run();
  request.people = true;
  TRY(Service* const service, run.service(Store::Access::write));
  TRY(const CompactAnswer answer, attach_snapshot(*service, request));
  return finish(run, answer);
}

Result<int> run_snapshot_narrative(Run& run) {
  TRY(const Address address, run.address());
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const auto bound, max_bytes(run));
  const std::string which = run.word(0).value_or("last");
  TRY(const std::string text, snapshot_narrative(*service, address, which, bound));
  if (run.json()) {
    json::Arena arena;
    TRY(const ShownSnapshot shown, show_snapshot(*service, address, which));
    run.object(json::make_object(arena, {{"snapshot_id", shown.row.accepted.snapshot_id}, {"bytes", text.size()}, {"narrative", text}}));
  } else {
    // Elsewhere than on a terminal its bytes are its bytes.
    run.print(is_terminal(STDOUT_FILENO) ? printable(text, true) : text);
  }
  return 0;
}

}  // namespace weir::cli
