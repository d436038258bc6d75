// init, doctor, verify, gc, purge, backup: commands about the store as a whole.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/sandbox.h"
#include "base/utf8.h"
#include "cli/cmd_anchor.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "service/objects.h"
#include "service/render.h"
#include "service/token.h"
#include "service/upkeep.h"
#include "store/schema.h"

namespace weir::cli {

using json::Value;

Result<int> run_init(Run& run) {
  TRY(const ServiceSettings settings, run.settings());
  const bool there = run.doors().files.stat(settings.store_directory + "/weir.db").ok();
  TRY_DO(run.service(Store::Access::write));
  if (run.json()) {
    json::Arena arena;
    run.object(json::make_object(arena, {{"store", settings.store_directory}, {"made", !there}, {"schema", kSchemaVersion}}));
  } else {
    run.line(fmt::format("{} {}", there ? "store is there already:" : "made store", printable(settings.store_directory)));
  }
  return 0;
}

// A kernel that lacks it is no fault of the store.
static DoctorCheck examine_sandbox() {
  const SandboxSupport support = sandbox_support();
  const std::string files = support.landlock > 0 ? fmt::format("files by Landlock {}", support.landlock) : "no Landlock";
  return {"sandbox", true, fmt::format("{}, {}", files, support.seccomp ? "calls by seccomp" : "no seccomp"), ""};
}

Result<int> run_doctor(Run& run) {
  auto settings = run.settings();
  std::vector<DoctorCheck> checks;
  checks.push_back({"config", settings.ok(), settings.ok() ? "files are well formed" : masked_text(settings.error().message()),
                    "see 'weir config path'"});
  if (settings.ok()) {
    for (DoctorCheck& check : examine(settings->store_directory, settings->durability, run.doors(), run.flag("fix")))
      checks.push_back(std::move(check));
    if (const auto token = run.token_file(); token.ok()) {
      for (DoctorCheck& check : examine_tokens(run.doors().files, *token, run.flag("fix"))) checks.push_back(std::move(check));
    }
    checks.push_back(examine_sandbox());
    TRY(const Config* const config, run.config());
    for (const ConfigFinding& finding : config->findings()) {
      checks.push_back({"project config", false, fmt::format("{}:{}: {} {}", finding.file, finding.line, finding.key, finding.why),
                        "see 'weir config check'"});
    }
  }
  const bool healthy = std::all_of(checks.begin(), checks.end(), [](const DoctorCheck& check) { return check.ok; });
  if (run.json()) {
    json::Arena arena;
    std::vector<Value> items;
    for (const DoctorCheck& check : checks) {
      items.push_back(json::make_object(
          arena, {{"name", check.name}, {"ok", check.ok}, {"detail", check.detail}, {"fix", check.ok ? Value() : Value(check.fix)}}));
    }
    run.object(json::make_object(arena, {{"ok", healthy}, {"checks", json::make_array(arena, items)}}));
  } else {
    for (const DoctorCheck& check : checks) {
      run.line(fmt::format("{} {:<14} {}", check.ok ? run.paint()(Style::green, "✓") : run.paint()(Style::red, "✗"), check.name,
                           printable(check.detail)));
      if (!check.ok) run.line(fmt::format("  {}", run.paint()(Style::yellow, "→ " + check.fix)));
    }
  }
  return healthy ? 0 : 3;
}

static void print_finding(Run& run, const Finding& finding, bool damage, json::Arena& arena) {
  if (run.json()) return run.object(finding_json(damage ? "damage" : "note", finding, arena));
  run.line(fmt::format("{} {}{}{}: {}", damage ? run.paint()(Style::red, "damaged") : run.paint()(Style::yellow, "note"),
                       finding.session.empty() ? "" : printable("session " + finding.session + " "),
                       finding.entry.empty() ? "" : printable("entry " + finding.entry + " "), printable(finding.object),
                       printable(finding.what)));
}

static Result<VerifyOptions> verify_options(Run& run) {
  VerifyOptions options;
  options.quick = run.flag("quick");
  if (const auto sample = run.option("sample")) {
    double percent = 0;
    const std::string text = sample->ends_with("%") ? sample->substr(0, sample->size() - 1) : *sample;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
    if (error != std::errc() || end != text.data() + text.size() || !(percent > 0) || percent > 100) {
      return Error(ErrorCode::USAGE, "--sample takes a share such as 5%, not '" + *sample + "'").with("help", "weir help verify");
    }
    options.sample = percent / 100;
  }
  if (options.quick && run.option("sample"))
    return Error(ErrorCode::USAGE, "--quick and --sample exclude each other").with("help", "weir help verify");
  for (const char* option : {"key", "unsigned"}) {
    if (run.flag(option) && !run.flag("anchor"))
      return Error(ErrorCode::USAGE, fmt::format("--{} belongs to --anchor", option)).with("help", "weir help verify");
  }
  if (run.flag("anchor") && run.flag("session"))
    return Error(ErrorCode::USAGE, "--anchor is about the whole store, --session about one of it").with("help", "weir help verify");
  return options;
}

Result<int> run_verify(Run& run) {
  TRY(VerifyOptions options, verify_options(run));
  TRY(const auto session, run.named_session());
  if (run.flag("session") && session) options.only_session = session->str();
  TRY(Service* const service, run.service(Store::Access::examine));
  if (!options.only_session.empty())
    TRY_DO(service->log().read([&](LogReader& reader) -> Result<void> {
      TRY(const auto row, reader.session(*session));
      if (!row) return Error(ErrorCode::NOT_FOUND, "no session '" + session->str() + "'").with("session", session->str());
      return {};
    }));
  std::optional<ParsedAnchor> anchor;
  if (run.flag("anchor")) {
    TRY(anchor, read_anchor(run, *service));
  }
  json::Arena arena;
  if (run.json()) {
    json::ObjectBuilder begin(arena);
    begin.add("store", service->store().directory()).add("quick", options.quick).add("sample", options.sample);
    run.stream_begin(begin, arena);
  }
  VerifyReport report;
  {
    const auto bar = run.progress("verify");
    const std::uint64_t total = service->store().database_bytes();
    TRY(report, verify_all(*service, options, [&](const VerifyProgress& progress) {
          bar->update(std::min(progress.bytes, total), total, progress.bytes);
          return run.keep_going();
        }));
  }
  for (const Finding& finding : report.findings) print_finding(run, finding, true, arena);
  for (const Finding& note : report.notes) print_finding(run, note, false, arena);
  AnchorReport anchored;
  if (anchor) {
    TRY(anchored, compare_with_anchor(*service, anchor->anchor));
    if (anchored.verdict == AnchorReport::Verdict::consistent && !report.findings.empty())
      anchored.verdict = AnchorReport::Verdict::damaged;
    print_anchor_report(run, *anchor, anchored);
  }
  if (run.json()) {
    run.object(summary_json(report, arena));
    run.stream_end(report.findings.size() + anchored.findings.size());
  } else {
    const std::string extent = options.quick        ? " (rows only)"
                               : options.sample < 1 ? fmt::format(" (sample of {:.3g} %)", options.sample * 100)
                                                    : "";
    run.line(fmt::format("{}: {} sessions, {} entries, {} blobs, {} read{}{}",
                         report.findings.empty() ? run.paint()(Style::green, "sound")
                                                 : run.paint()(Style::red, fmt::format("{} damaged places", report.findings.size())),
                         report.sessions, grouped(report.entries), grouped(report.blobs), human_bytes(report.bytes),
                         report.purged > 0 ? fmt::format(", {} purged", report.purged) : "", extent));
  }
  const bool bad = anchored.verdict == AnchorReport::Verdict::removed || anchored.verdict == AnchorReport::Verdict::damaged;
  if (!report.findings.empty() || bad) return 3;
  return anchored.verdict == AnchorReport::Verdict::undecided ? 1 : 0;
}

Result<int> run_gc(Run& run) {
  TRY(Service* const service, run.service(Store::Access::write));
  GcAnswer answer;
  {
    const auto bar = run.progress("gc");
    TRY(answer, collect_garbage(*service, run.dry_run(), [&](std::uint64_t entries) {
          bar->update(entries, 0, 0);
          return run.keep_going();
        }));
  }
  if (run.json()) {
    json::Arena arena;
    run.object(json::make_object(arena, {{"objects", answer.objects},
                                         {"bytes", answer.bytes},
                                         {"temporary", answer.temporary},
                                         {"kept_bytes", answer.kept_bytes},
                                         {"dry_run", run.dry_run()}}));
  } else {
    run.line(fmt::format("{} {} objects ({}), {} temporary files{}", run.dry_run() ? "would remove" : "removed", answer.objects,
                         human_bytes(answer.bytes), answer.temporary,
                         answer.kept_bytes > 0 ? "; versions of files that were read keep " + human_bytes(answer.kept_bytes) : ""));
  }
  return 0;
}

Result<int> run_purge(Run& run) {
  PurgeAnswer answer;
  std::string what;
  if (const auto blob = run.option("blob")) {
    const std::string hex = blob->starts_with("sha256:") ? blob->substr(7) : *blob;
    TRY(const Digest digest, Digest::parse(hex));
    what = "blob sha256:" + hex;
    TRY_DO(run.service(Store::Access::read));
    TRY(Service* const service, run.service(Store::Access::write));
    TRY_DO(run.confirm("remove the bytes of " + what + " for good"));
    TRY(answer, purge_blob(*service, digest, run.flag("vacuum"), run.dry_run()));
  } else {
    // A session is never guessed where it is about to be destroyed.
    TRY(const auto session, run.named_session());
    if (!session) return Error(ErrorCode::INVALID_FIELD, "name the session with --session").with_fields({{"/session", "is missing"}});
    what = "session " + session->str();
    TRY_DO(run.service(Store::Access::read));
    TRY(Service* const service, run.service(Store::Access::write));
    TRY_DO(run.confirm("remove " + what + " and everything in it for good"));
    const auto bar = run.progress("purge");
    TRY(answer, purge_session(*service, *session, run.dry_run()));
  }
  if (run.json()) {
    json::Arena arena;
    run.object(
        json::make_object(arena, {{"purged", what}, {"entries", answer.entries}, {"objects", answer.objects}, {"dry_run", run.dry_run()}}));
  } else {
    run.line(fmt::format("{} {}: {} entries, {} objects", run.dry_run() ? "would purge" : "purged", what, grouped(answer.entries),
                         answer.objects));
  }
  return 0;
}

Result<int> run_backup(Run& run) {
  const std::string directory = *run.word(0);
  if (run.dry_run()) {
    TRY_DO(run.service(Store::Access::read));
    if (const auto listed = run.doors().files.list(directory); listed.ok() && !listed->empty()) {
      return Error(ErrorCode::INVALID_FIELD, "'" + directory + "' is not empty").with("path", directory);
    }
    if (run.json()) {
      json::Arena arena;
      run.object(json::make_object(arena, {{"directory", directory}, {"dry_run", true}}));
    } else {
      run.line("would back up to " + printable(directory));
    }
    return 0;
  }
  TRY(Service* const service, run.service(Store::Access::examine));
  BackupAnswer answer;
  {
    const auto bar = run.progress("backup");
    TRY(answer, back_up(*service, directory, [&](const VerifyProgress& progress) {
          bar->update(progress.entries, 0, progress.bytes);
          return run.keep_going();
        }));
  }
  if (run.json()) {
    json::Arena arena;
    run.object(json::make_object(arena, {{"directory", answer.directory},
                                         {"sessions", answer.sessions},
                                         {"entries", answer.entries},
                                         {"objects", answer.objects},
                                         {"bytes", answer.bytes},
                                         {"verified", true}}));
  } else {
    run.line(fmt::format("backed up to {}: {} sessions, {} entries, {} objects, {}, verified", printable(answer.directory), answer.sessions,
                         grouped(answer.entries), answer.objects, human_bytes(answer.bytes)));
  }
  return 0;
}

}  // namespace weir::cli
