// read, refresh, reads: the read cache.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "service/read_settings.h"
#include "service/read_status.h"
#include "service/reads.h"
#include "service/render.h"

namespace weir::cli {
namespace {

using json::Value;

Result<std::unique_ptr<ReadSource>> open_source(Run& run) {
  TRY(const Config* const config, run.config());
  TRY(ReadOptions options, read_options(*config, false));
  return ReadSource::open(std::move(options), config->text("store.path"), run.own_files());
}

// Never the session's directory, which is for callers that have none.
std::string starting_point(const Config::Sources& sources) { return sources.working_directory.empty() ? "/" : sources.working_directory; }

Result<LineRequest> lines_of(Run& run) {
  LineRequest lines;
  if (const auto offset = run.option("offset")) {
    TRY(lines.offset, parse_offset(*offset));
  }
  if (const auto limit = run.option("limit")) {
    TRY(lines.limit, parse_limit(*limit));
  }
  return lines;
}

// Named, or the store's only one, or none: a reader nobody named proves nothing.
Result<std::optional<SessionId>> reading_session(Run& run, std::vector<std::string>& warnings) {
  TRY(auto named, run.named_session());
  if (named || run.store_missing()) return named;
  const auto only = run.session(Store::Access::read);
  if (only.ok()) return std::optional(*only);
  warnings.push_back("the read is not recorded: " + only.error().message());
  return std::optional<SessionId>();
}

Result<Masker> masker_of(Run& run) {
  TRY(const ServiceSettings settings, run.settings());
  return Masker::make(settings.mask);
}

void print_reply(Run& run, const ReadReply& reply) {
  for (const std::string& warning : reply.warnings) run.note("weir: " + printable(warning));
  if (run.json()) {
    json::Arena arena;
    run.object(reply.to_json(arena));
  } else if (reply.kind == ReadReply::Kind::not_text) {
    run.line(fmt::format("[{} is no text: {}, {} bytes]", printable(reply.path), reply.mime, reply.bytes));
  } else if (is_terminal(STDOUT_FILENO)) {
    run.print(printable(reply.text, true));
    if (!reply.text.ends_with('\n')) run.print("\n");
  } else {
    run.print(reply.text);
  }
}

constexpr int kReadMs = 200;  // in which whoever reads a pipe of ours takes the answer; later it is sent again

// The answer, out of our hands. One that does not get there was not shown.
Result<int> hand_over(Run& run, const ReadReply& reply) {
  ::signal(SIGPIPE, SIG_IGN);
  print_reply(run, reply);
  auto written = run.flush();
  if (reply.receipt && written.ok() && run.wait_until_read(kReadMs)) reply.receipt->received();
  ::signal(SIGPIPE, SIG_DFL);
  if (!written.ok()) return std::move(written).error();
  return 0;
}

void print_status(Run& run, const ReadStatus& status) {
  const ReadSavings& savings = status.savings;
  const auto field = [&](std::string_view name, const std::string& value) { run.line(fmt::format("  {:<22} {}", name, value)); };
  run.line(run.paint()(Style::bold, status.session.str()));
  field("window", fmt::format("{} entries since {}", grouped(status.trust.entries), status.trust.boundary));
  if (!status.followed) run.line("  " + run.paint()(Style::yellow, std::string(kNotFollowed)));
  field("trusted", fmt::format("{} scopes of {} files", grouped(status.scopes), grouped(status.paths)));
  if (status.blocked_ranges > 0) field("withdrawn", fmt::format("{} ranges", grouped(status.blocked_ranges)));
  if (status.pending > 0) field("in flight", grouped(status.pending));
  if (status.undelivered > 0) field("not known to arrive", grouped(status.undelivered));
  run.line("  " + run.paint()(Style::bold, "reads"));
  std::uint64_t all = 0;
  for (const auto& [mode, count] : savings.reads) all += count;
  for (const auto& [mode, count] : savings.reads) {
    const auto saved = savings.saved_by.find(mode);
    run.line(fmt::format("    {:<18} {:>7}  {}  {}", mode_name(mode), grouped(count), run.paint()(Style::blue, share_bar(count, all, 20)),
                         saved == savings.saved_by.end() ? "" : "saved " + human_bytes(saved->second)));
  }
  if (status.trust.not_evidence > 0) run.line(fmt::format("    {:<18} {:>7}", "no evidence", grouped(status.trust.not_evidence)));
  if (status.trust.malformed > 0) run.line(fmt::format("    {:<18} {:>7}", "malformed", grouped(status.trust.malformed)));
  run.line("  " + run.paint()(Style::bold, "bytes"));
  const std::uint64_t most = std::max(savings.baseline, savings.sent);
  run.line(fmt::format("    {:<18} {:>10}  {}", "plain reads", human_bytes(savings.baseline),
                       run.paint()(Style::dim, share_bar(savings.baseline, most, 20))));
  run.line(fmt::format("    {:<18} {:>10}  {}", "sent", human_bytes(savings.sent),
                       run.paint()(Style::green, share_bar(savings.sent, most, 20))));
  const std::int64_t net = savings.net();
  run.line(fmt::format("    {:<18} {:>10}  about {} tokens{}", net >= 0 ? "saved" : "lost",
                       human_bytes(static_cast<std::uint64_t>(net >= 0 ? net : -net)), savings.tokens_net(),
                       savings.estimated ? " (some records do not say: estimated)" : ""));
  const std::pair<std::string_view, std::uint64_t> again[] = {{"a compaction", savings.resent.barrier},
                                                              {"a refresh", savings.resent.refresh},
                                                              {"bypass", savings.resent.bypass},
                                                              {"repeated markers", savings.resent.repeat},
                                                              {"a missing version", savings.resent.blob}};
  for (const auto& [why, bytes] : again) {
    if (bytes > 0) run.line(fmt::format("    {:<18} {:>10}  because of {}", "sent again", human_bytes(bytes), why));
  }
  field("objects", fmt::format("{} with {}, {} of them in use here{}", grouped(status.objects), human_bytes(status.object_bytes),
                               human_bytes(status.live_bytes), status.over_budget ? "; over read.blob_budget_bytes" : ""));
}

void print_path(Run& run, const std::string& path, const PathTrust& trust) {
  run.line(run.paint()(Style::bold, printable(path)));
  // Neighbours that were shown alike are one line.
  std::vector<View::Interval> shown;
  trust.view.each([&](LineRange lines, const std::shared_ptr<const Showing>& showing) {
    const bool same = !shown.empty() && shown.back().lines.last + 1 == lines.first && shown.back().value->version == showing->version &&
                      shown.back().value->entry == showing->entry;
    if (same) {
      shown.back().lines.last = lines.last;
    } else {
      shown.push_back({lines, showing});
    }
  });
  for (const auto& [lines, showing] : shown) {
    run.line(fmt::format("  {:<18} held in {}, by {}", fmt::format("{}-{}", lines.first, lines.last),
                         run.paint()(Style::cyan, showing->version.substr(0, 12)), printable(showing->entry.str())));
  }
  if (trust.view.empty()) run.line("  no line is held");
  trust.blocked.each([&](LineRange lines, bool) {
    run.line(fmt::format("  {:<18} {}", fmt::format("{}-{}", lines.first, lines.last), run.paint()(Style::yellow, "withdrawn")));
  });
}

}  // namespace

Result<int> run_read(Run& run) {
  TRY(const auto source, open_source(run));
  ReadCall call;
  TRY(call.lines, lines_of(run));
  TRY(call.head, run.head());
  call.path = *run.word(0);
  call.bypass = run.flag("bypass");
  const Config::Sources sources = run.config_sources();
  call.cwd = starting_point(sources);
  call.home = sources.home;
  if (const auto id = run.option("request-id")) {
    auto parsed = EntryId::parse(*id);
    if (!parsed.ok()) return std::move(parsed).error().with_fields({{"/request_id", parsed.error().message()}});
    call.request_id = std::move(parsed).value();
  }
  std::vector<std::string> warnings;
  if (!run.flag("no-record")) {
    TRY(call.session, reading_session(run, warnings));
  }
  TRY(const Masker masker, masker_of(run));
  if (call.session) {
    // A read that fails makes no store.
    if (run.store_missing()) TRY_DO(read_plain(*source, call, masker));
    auto service = run.service(Store::Access::write);
    if (service.ok()) {
      TRY(const ReadReply reply, read_file(**service, *source, call, [&] { return !run.keep_going(); }));
      return hand_over(run, reply);
    }
    warnings.push_back("the read is not recorded: " + service.error().message());
  }
  TRY(ReadReply reply, read_plain(*source, call, masker));
  reply.warnings = std::move(warnings);
  print_reply(run, reply);
  return 0;
}

Result<int> run_refresh(Run& run) {
  TRY(const auto source, open_source(run));
  RefreshCall call;
  TRY(call.session, run.session(Store::Access::write));
  TRY(call.head, run.head());
  call.path = *run.word(0);
  if (const auto lines = run.word(1)) {
    TRY(call.lines, parse_line_range(*lines));
  }
  const Config::Sources sources = run.config_sources();
  call.cwd = starting_point(sources);
  call.home = sources.home;
  call.dry_run = run.dry_run();
  if (run.store_missing()) {
    TRY(const Masker masker, masker_of(run));
    TRY_DO(plan_refresh(*source, call.path, call.lines, {call.cwd, call.home}, masker));
  }
  TRY(Service* const service, run.service(Store::Access::write));
  TRY(const RefreshReply reply, refresh_file(*service, *source, call));
  if (run.json()) {
    json::Arena arena;
    run.object(reply.to_json(arena));
  } else {
    run.line(printable(reply.text));
  }
  return 0;
}

Result<int> run_reads(Run& run) {
  TRY(const Address address, run.address());
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const Config* const config, run.config());
  TRY(const ReadOptions options, read_options(*config, false));
  TRY(const ReadStatus status, read_status(*service, address, options));
  json::Arena arena;
  const auto named = run.word(0);
  if (!named) {
    if (run.json()) {
      run.object(status.to_json(arena));
    } else {
      print_status(run, status);
    }
    return 0;
  }
  TRY(const auto source, open_source(run));
  const Config::Sources sources = run.config_sources();
  TRY(const RefreshPlan plan, plan_refresh(*source, *named, {}, {starting_point(sources), sources.home}, service->masker()));
  const PathTrust* known = status.trust.paths.find(plan.body.path);
  const PathTrust none;
  const PathTrust& trust = known == nullptr || !known->proven ? none : *known;
  if (run.json()) {
    run.object(path_json(plan.body.path, trust, arena));
  } else {
    print_path(run, plan.body.path, trust);
    if (!status.followed) run.line("  " + run.paint()(Style::yellow, std::string(kNotFollowed)));
  }
  return 0;
}

Result<int> run_reads_digest(Run& run) {
  TRY(const Address address, run.address());
  TRY(const auto source, open_source(run));
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const ReadDigest digest, read_digest(*service, address, *source, run.config_sources().working_directory));
  if (run.json()) {
    json::Arena arena;
    run.object(digest.to_json(arena));
  } else if (digest.files.empty()) {
    run.note("no file was held when this path was compacted, or it never was");
  } else {
    run.line(printable(digest.text(), true));
  }
  return 0;
}

}  // namespace weir::cli
