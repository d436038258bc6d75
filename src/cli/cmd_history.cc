// history: search a session, also what lies before a barrier.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "service/history.h"

namespace weir::cli {
namespace {

constexpr std::uint64_t kLongScan = 20000;  // entries; a bar for less would only flicker

// The excerpt, harmless on a terminal, with what matched made visible.
std::string shown(const Run& run, const Excerpt& excerpt) {
  std::string out;
  std::size_t at = 0;
  const std::string_view text = excerpt.text;
  for (const auto& [first, last] : excerpt.marks) {
    out += printable(text.substr(at, first - at));
    out += run.paint()(Style::red, printable(text.substr(first, last - first)));
    at = last;
  }
  return out + printable(text.substr(at));
}

void print_match(Run& run, const HistoryMatch& match) {
  const char* where = match.before_barrier ? "before the barrier" : match.on_path ? "" : "another branch";
  run.line(fmt::format("{:>7}  {}  {}{}", match.seq, run.paint()(Style::cyan, printable(match.entry.str())),
                       run.paint()(Style::bold, printable(match.type)),
                       *where == '\0' ? "" : "  " + run.paint()(match.before_barrier ? Style::yellow : Style::dim, where)));
  run.line("         " + shown(run, match.excerpt));
}

}  // namespace

Result<int> run_history(Run& run) {
  HistoryRequest request;
  request.query = *run.word(0);
  request.regex = run.flag("regex");
  request.types = run.arguments().values("type");
  request.limit = run.number("limit").value_or(request.limit);
  TRY(request.where, parse_where(run.option("where").value_or("all")));
  TRY(request.address, run.address());
  TRY(Service* const service, run.service(Store::Access::read));
  HistoryAnswer answer;
  {
    const auto progress = run.progress("history");
    TRY(answer, search_session(*service, request, [&](const HistoryProgress& now) {
          if (now.indexing || now.done > kLongScan) progress->update(now.done, now.total, now.bytes);
          return run.keep_going();
        }));
  }
  if (run.json()) {
    json::Arena arena;
    json::ObjectBuilder begin(arena);
    begin.add("session", request.address.session.str())
        .add("head", request.address.at.empty() ? request.address.head.str() : request.address.at);
    run.stream_begin(begin, arena);
    for (const HistoryMatch& match : answer.matches)
      run.object(json::make_object(arena, {{"type", "match"}, {"match", match.to_json(arena)}}));
    run.stream_end(answer.matches.size());
  } else {
    for (const HistoryMatch& match : answer.matches) print_match(run, match);
    if (!answer.next.empty()) run.note(fmt::format("there is more; --limit {} shows more of it", request.limit * 5));
  }
  return answer.matches.empty() ? 1 : 0;
}

}  // namespace weir::cli
