// log, tree, show, stats: commands that show what is there.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/base64.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "cli/tree_view.h"
#include "json/parse.h"
#include "service/reading.h"
#include "service/render.h"
#include "service/sessions.h"
#include "service/upkeep.h"

namespace weir::cli {
namespace {

using json::Value;

constexpr useconds_t kPollUs = 100000;

void print_entry_line(Run& run, const Entry& entry) {
  const std::string id = fitted(entry.id.str(), 20);
  const bool barrier = entry.type == "compaction";
  const std::string head =
      fmt::format("{:>7}  {}  {}  ", entry.seq, run.paint()(barrier ? Style::yellow : Style::cyan, fmt::format("{:<10}", id)),
                  run.paint()(Style::dim, format_time(entry.at).substr(0, 19)));
  const std::size_t taken = 7 + 2 + std::max<std::size_t>(10, id.size()) + 2 + 19 + 2;
  const std::string text = (entry.type == "message" ? "" : entry.type + " ") + preview_of(entry, 300);
  const std::size_t room = run.width() > taken + 20 ? run.width() - taken : 40;
  run.line(head + (barrier ? run.paint()(Style::yellow, fitted("══ " + text, room)) : fitted(text, room)));
}

void print_counts(Run& run, std::string_view title, const PMap<std::string, StatsFold::Count>& counts, std::uint64_t total) {
  run.line("  " + run.paint()(Style::bold, title));
  counts.each([&](const std::string& name, const StatsFold::Count& count) {
    run.line(fmt::format("    {:<26} {:>9}  {:>10}  {}", fitted(name, 26), grouped(count.entries), human_bytes(count.bytes),
                         run.paint()(Style::blue, share_bar(count.entries, total, 20))));
  });
}

Result<int> show_blob_command(Run& run, const std::string& name) {
  TRY(const Digest digest, Digest::parse(name.substr(7)));
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const std::string bytes, show_blob(*service, digest));
  if (run.json()) {
    json::Arena arena;
    json::ObjectBuilder out(arena);
    out.add("digest", name).add("bytes", bytes.size());
    if (valid_utf8(bytes)) {
      out.add("text", bytes);
    } else {
      out.add("base64", arena.copy(encode_base64(bytes)));
    }
    run.object(out.build());
  } else if (is_terminal(STDOUT_FILENO)) {
    run.line(printable(bytes, true));
  } else {
    run.print(bytes);
  }
  return 0;
}

// As the tree would be with the head there.
void place_head(Tree& tree, const HeadAnswer& answer) {
  const auto node = std::find_if(tree.nodes.begin(), tree.nodes.end(), [&](const TreeNode& one) { return one.id == answer.entry; });
  const Seq seq = node == tree.nodes.end() ? 0 : node->seq;
  const auto head = std::find_if(tree.heads.begin(), tree.heads.end(), [&](const auto& one) { return one.first == answer.name; });
  if (head != tree.heads.end()) {
    head->second = seq;
  } else {
    tree.heads.emplace_back(answer.name, seq);
  }
}

}  // namespace

Result<int> run_log(Run& run) {
  LogQuery query;
  TRY(query.address, run.address());
  query.types = run.arguments().values("type");
  if (const auto since = run.option("since")) {
    TRY(query.since, parse_time(*since));
  }
  query.limit = run.number("limit").value_or(0);
  query.oldest_first = run.flag("reverse") || run.flag("follow");
  TRY(Service* const service, run.service(Store::Access::read));
  std::uint64_t count = 0;
  Seq seen = 0;
  const auto show = [&](const Entry& entry, const EntryId& parent) -> Result<bool> {
    seen = std::max(seen, entry.seq);
    ++count;
    if (run.json()) {
      json::Arena arena;
      run.object(entry_json(entry, parent, arena));
    } else {
      print_entry_line(run, entry);
    }
    if (!run.keep_going()) return Error(ErrorCode::CANCELLED, "interrupted");
    return true;
  };
  // The session is looked up before anything is printed.
  Located located;
  TRY_DO(service->log().read([&](LogReader& reader) -> Result<void> {
    TRY(located, locate(reader, query.address));
    return need_types(reader, located.session.no, query.types);
  }));
  if (run.json()) {
    json::Arena arena;
    json::ObjectBuilder members(arena);
    members.add("session", located.session.id.str()).add("head", query.address.at.empty() ? query.address.head.str() : query.address.at);
    run.stream_begin(members, arena);
  }
  if (run.flag("limit") && query.limit == 0) {
    query.after = located.seq;
  } else if (query.limit == 0 || !run.flag("follow")) {
    TRY_DO(read_log(*service, query, show));
  } else {
    // The last N, then what follows them.
    LogQuery last = query;
    last.oldest_first = false;
    Seq first = 0;
    TRY_DO(read_log(*service, last, [&](const Entry& entry, const EntryId&) -> Result<bool> {
      first = entry.seq;
      return true;
    }));
    query.after = first == 0 ? 0 : first - 1;
    query.limit = 0;
    TRY_DO(read_log(*service, query, show));
  }
  while (run.flag("follow") && run.keep_going()) {
    TRY_DO(run.flush());
    ::usleep(kPollUs);
    query.limit = 0;
    query.after = std::max(query.after, seen);
    TRY_DO(read_log(*service, query, show));
  }
  if (run.json()) run.stream_end(count);
  if (run.flag("follow") && pending_signal() != 0) return 128 + pending_signal();
  return 0;
}

Result<int> run_tree(Run& run) {
  const auto target = run.option("goto");
  const Store::Access access = target ? Store::Access::write : Store::Access::read;
  if (target) TRY_DO(run.service(Store::Access::write));
  TRY(const SessionId session, run.session(access));
  TRY(Service* const service, run.service(access));
  std::optional<HeadAnswer> moved;
  if (target) {
    HeadMove move;
    move.session = session;
    TRY(move.head, run.head());
    move.entry = *target;
    TRY(moved, move_head(*service, move, true, run.dry_run()));
  }
  TRY(Tree tree, read_tree(*service, session));
  if (moved && run.dry_run()) place_head(tree, *moved);
  if (!run.json()) {
    for (const std::string& line : draw_tree(tree, run.paint(), {run.flag("all-types"), run.width()})) run.line(line);
    return 0;
  }
  json::Arena arena;
  std::vector<Value> heads;
  for (const auto& [name, seq] : tree.heads) {
    heads.push_back(json::make_object(arena, {{"name", name.str()}, {"entry", seq == 0 ? Value() : Value(tree.nodes[seq - 1].id.str())}}));
  }
  json::ObjectBuilder begin(arena);
  begin.add("session", session.str()).add("heads", json::make_array(arena, heads));
  run.stream_begin(begin, arena);
  for (const TreeNode& node : tree.nodes) {
    json::Arena line_arena;
    run.object(node_json(node, node.parent == 0 ? EntryId() : tree.nodes[node.parent - 1].id, line_arena));
  }
  run.stream_end(tree.nodes.size());
  return 0;
}

Result<int> run_show(Run& run) {
  const std::string name = *run.word(0);
  if (name.starts_with("sha256:")) return show_blob_command(run, name);
  TRY(const Address address, run.address());
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(Shown shown, show_entry(*service, address, name));
  if (run.flag("resolve")) {
    TRY(shown.entry.body, resolved_body(*service, shown.session, shown.entry));
  }
  if (run.json()) {
    json::Arena arena;
    run.object(entry_json(shown.entry, shown.parent, arena));
    return 0;
  }
  if (run.flag("raw")) {
    run.data(shown.entry.body);
    return 0;
  }
  json::Parser parser;
  TRY(const Value body, parser.parse_stored(shown.entry.body));
  const auto field = [&](std::string_view key, const std::string& value) {
    run.line(fmt::format("{} {}", run.paint()(Style::dim, fmt::format("{:<8}", key)), value));
  };
  field("entry", run.paint()(Style::cyan, printable(shown.entry.id.str())));
  field("seq", std::to_string(shown.entry.seq));
  field("parent", shown.parent.empty() ? "(root)" : printable(shown.parent.str()));
  field("type", run.paint()(Style::bold, shown.entry.type));
  field("at", format_time(shown.entry.at));
  field("digest", shown.entry.digest.hex());
  run.line(printable(json::pretty(body), true));
  return 0;
}

Result<int> run_stats(Run& run) {
  TRY(const Address address, run.address());
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const StatsAnswer stats, session_stats(*service, address));
  const StatsFold::State& path = stats.path;
  if (run.json()) {
    json::Arena arena;
    run.object(stats.to_json(arena));
    return 0;
  }
  run.line(run.paint()(Style::bold, stats.session.str()));
  const auto field = [&](std::string_view name, const std::string& value) { run.line(fmt::format("  {:<22} {}", name, value)); };
  field("entries on the path", fmt::format("{} of {}", grouped(path.entries), grouped(stats.all_entries)));
  field("turns", grouped(path.turns));
  field("tool calls", fmt::format("{}, {} failed", grouped(path.tool_calls), grouped(path.tool_errors)));
  field("compactions", grouped(path.compactions));
  field("bytes", fmt::format("{} in entries, {} in blobs", human_bytes(path.body_bytes), human_bytes(path.blob_bytes)));
  field("since the barrier", fmt::format("{}, about {} tokens (estimated)", human_bytes(path.bytes_since_barrier),
                                         grouped(estimated_tokens(path.bytes_since_barrier))));
  field("all", fmt::format("about {} tokens (estimated)", grouped(stats.tokens())));
  field("store", fmt::format("{} database, {} objects with {}", human_bytes(stats.database_bytes), grouped(stats.objects),
                             human_bytes(stats.object_bytes)));
  print_counts(run, "by type", path.types, path.entries);
  print_counts(run, "by role", path.roles, path.entries);
  if (!stats.masked.empty()) {
    run.line("  " + run.paint()(Style::bold, "masked secrets"));
    for (const auto& [family, count] : stats.masked) run.line(fmt::format("    {:<26} {:>9}", family, count));
  }
  return 0;
}

}  // namespace weir::cli
