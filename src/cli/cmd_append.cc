#include <fmt/format.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "service/append.h"

namespace weir::cli {
namespace {

using json::Value;

constexpr std::size_t kMostInputBytes = std::size_t{1} << 30;

Error at_line(Error error, std::size_t line) { return std::move(error).with("line", static_cast<std::int64_t>(line)); }

Result<void> add_checked(AppendCall& call, const Value& entry, std::size_t bytes, std::size_t index, json::Arena& arena) {
  if (bytes > limits::kAppendEntryBytes) return over_limit("bytes of an entry", limits::kAppendEntryBytes, bytes);
  if (index >= limits::kAppendEntries) return over_limit("entries of one append", limits::kAppendEntries, index + 1);
  return call.add(entry, fmt::format("/{}", index), arena);
}

// One entry a line; all wrong fields are named, and the line of the first.
Result<void> add_lines(AppendCall& call, std::string_view text) {
  json::Parser parser;
  std::size_t line_no = 0, index = 0, wrong_line = 0;
  while (!text.empty()) {
    const std::size_t feed = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, feed);
    text.remove_prefix(std::min(feed + 1, text.size()));
    ++line_no;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto value = parser.parse(line);
    if (!value.ok()) {
      // The parser's own line is that of the text it was given: always 1.
      Error error = value.error().code() == ErrorCode::INVALID_JSON ? Error(ErrorCode::INVALID_JSON, "") : Error(value.error());
      return at_line(std::move(error).with_message(fmt::format("line {}: {}", line_no, value.error().message())), line_no);
    }
    auto added = add_checked(call, *value, line.size(), index++, parser.arena());
    if (!added.ok()) return at_line(std::move(added).error(), line_no);
    if (!call.ok() && wrong_line == 0) wrong_line = line_no;
  }
  if (wrong_line == 0) return {};
  const auto failed = call.commit();
  return at_line(Error(failed.error()).with_message(fmt::format("line {}: {}", wrong_line, failed.error().message())), wrong_line);
}

Result<void> add_input(Run& run, AppendCall& call, const std::string& text) {
  json::Parser parser;
  if (const auto type = run.option("type")) {
    if (text.size() > limits::kAppendEntryBytes) return over_limit("bytes of an entry", limits::kAppendEntryBytes, text.size());
    TRY(const Value body, parser.parse(text));
    return call.add_body(*type, body, run.option("id"), run.option("parent"), parser.arena());
  }
  if (run.flag("id") || run.flag("parent"))
    return Error(ErrorCode::USAGE, "--id and --parent go with --type; an entry has its own").with("help", "weir help append");
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return Error(ErrorCode::INVALID_JSON, "the input is empty");
  const auto whole = parser.parse(text);
  if (whole.ok() && whole->is_array()) {
    const auto items = whole->items();
    const bool may_hold_long_ones = text.size() > limits::kAppendEntryBytes;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::size_t bytes = may_hold_long_ones ? json::canonical(items[i]).size() : 0;
      TRY_DO(add_checked(call, items[i], bytes, i, parser.arena()));
    }
    return {};
  }
  if (whole.ok()) {
    if (text.size() > limits::kAppendEntryBytes) return over_limit("bytes of an entry", limits::kAppendEntryBytes, text.size());
    return call.add(*whole, "", parser.arena());
  }
  // Not one value: lines, unless it is an array that is broken.
  if (text[first] == '[') return whole.error();
  const std::size_t feed = text.find('\n', first);
  const bool one_line = feed == std::string::npos || text.find_first_not_of(" \t\r\n", feed) == std::string::npos;
  const bool opens_object = text.substr(first, std::min(feed, text.size()) - first).find_first_not_of(" \t\r{") == std::string::npos;
  if (one_line || opens_object) return whole.error();
  return add_lines(call, text);
}

}  // namespace

Result<int> run_append(Run& run) {
  TRY(const std::string text, run.read_input(run.word(0).value_or("-"), kMostInputBytes));
  TRY(const SessionId session, run.session(Store::Access::write));
  TRY(const HeadName head, run.head());
  std::optional<Expect> expect;
  if (const auto expected = run.option("expect")) expect = Expect{*expected, true};
  const auto append_to = [&](Service& service, bool dry_run) -> Result<AppendAnswer> {
    AppendCall call(service, session, head, expect, dry_run, {.lenient = run.flag("lenient")});
    TRY_DO(add_input(run, call, text));
    return call.commit();
  };
  if (run.store_missing()) {
    TRY(const auto trial, run.trial_service());
    TRY_DO(append_to(*trial, true));
  }
  TRY(Service* const service, run.service(Store::Access::write));
  TRY(const AppendAnswer answer, append_to(*service, run.dry_run()));
  if (run.json()) {
    json::Arena arena;
    run.object(answer.to_json(arena));
    return 0;
  }
  for (const auto& item : answer.result.entries) {
    run.line(fmt::format("{:>6}  {}  {}{}", item.seq, run.paint()(Style::cyan, printable(item.id.str())), item.digest.hex(),
                         item.known ? run.paint()(Style::dim, "  (known)") : ""));
  }
  if (answer.due) run.note("a compaction is due");
  for (const std::string& warning : answer.warnings) run.note("warning: " + printable(warning));
  std::uint64_t masked = 0;
  for (const auto& [family, count] : answer.masked) masked += count;
  if (masked > 0) run.note(fmt::format("{} secret{} masked", masked, masked == 1 ? "" : "s"));
  return 0;
}

}  // namespace weir::cli
