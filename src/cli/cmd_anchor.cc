// anchor, and what verify says of one.
#include "cli/cmd_anchor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/run.h"
#include "service/render.h"

namespace weir::cli {

using json::Value;

namespace {

constexpr std::size_t kMostAnchorBytes = limits::kGiB;
constexpr std::size_t kMostKeyBytes = 4096;

// --key, else the store's own.
Result<NoteKey> given_key(Run& run, Service& service) {
  const auto file = run.option("key");
  if (!file) return load_anchor_key(service);
  TRY(const std::string text, run.read_input(*file, kMostKeyBytes));
  auto key = NoteKey::parse(text);
  return key.ok() ? std::move(key) : std::move(key).error().with("path", *file);
}

// The key to sign with; nothing with --unsigned, and in a dry run of a store that has none.
Result<std::optional<NoteKey>> signing_key(Run& run, Service& service) {
  if (run.flag("unsigned") && run.option("key"))
    return Error(ErrorCode::USAGE, "--unsigned and --key exclude each other").with("help", "weir help anchor");
  if (run.flag("unsigned")) return std::optional<NoteKey>();
  auto key = given_key(run, service);
  if (!key.ok() && key.error().code() == ErrorCode::NOT_FOUND && !run.option("key")) {
    if (run.dry_run()) {
      run.note("the store has no key yet: one would be made, and the note signed with it");
      return std::optional<NoteKey>();
    }
    key = load_or_make_anchor_key(service);
  }
  TRY_DO(key);
  return std::optional(std::move(key).value());
}

}  // namespace

Result<int> run_anchor(Run& run) {
  TRY(Service* const service, run.service(Store::Access::read));
  const auto out = run.option("out");
  if (out && *out != "-") TRY_DO(check_output(*out));
  TRY(const auto key, signing_key(run, *service));
  json::Arena arena;
  const Value verifier = key ? Value(arena.copy(key->verifier_key())) : Value();
  if (run.flag("verifier-key")) {
    if (!key) return Error(ErrorCode::NOT_FOUND, "there is no key: 'weir anchor' makes the store's, --key names another");
    if (run.json()) {
      run.object(json::make_object(arena, {{"verifier_key", verifier}}));
    } else {
      run.line(key->verifier_key());
    }
    return 0;
  }
  if (key && !key->can_sign())
    return Error(ErrorCode::INVALID_FIELD, "--key names a verifier key, which cannot sign").with_fields({{"/key", "cannot sign"}});
  TRY(const Anchor anchor, take_anchor(*service, key ? key->name() : "weir"));
  const std::string text = anchor.text();
  const std::string note = key ? text + "\n" + key->sign(text) : text;
  const std::string file = note + "\n" + anchor.list_text(run.flag("hide-names"));
  if (out && *out != "-" && !run.dry_run()) {
    TRY(OutputFile to, OutputFile::open(run.doors().files, run.doors().random, *out));
    TRY_DO(to.add(file));
    TRY_DO(to.finish());
  }
  if (run.json()) {
    run.object(json::make_object(arena, {{"origin", anchor.origin},
                                         {"sessions", anchor.sessions},
                                         {"entries", anchor.entries},
                                         {"root", arena.copy(encode_base64(anchor.root.bytes()))},
                                         {"time", arena.copy(format_time(anchor.at))},
                                         {"note", note},
                                         {"verifier_key", verifier},
                                         {"out", out ? Value(*out) : Value()},
                                         {"dry_run", run.dry_run()}}));
  } else if (out && *out != "-") {
    run.line(fmt::format("{} {} sessions, {} entries to {}: root {}", run.dry_run() ? "would anchor" : "anchored", anchor.sessions,
                         grouped(anchor.entries), printable(*out), encode_base64(anchor.root.bytes())));
  } else {
    run.print(out ? file : note);
  }
  return 0;
}

Result<ParsedAnchor> read_anchor(Run& run, Service& service) {
  TRY(const std::string file, run.read_input(*run.option("anchor"), kMostAnchorBytes));
  TRY(ParsedAnchor parsed, parse_anchor(file));
  if (run.flag("unsigned")) return parsed;
  const auto key = given_key(run, service);
  if (!key.ok() && key.error().code() == ErrorCode::NOT_FOUND && !run.option("key")) {
    return Error(ErrorCode::NOT_FOUND,
                 "the store has no key to check the anchor's signature with: --key names the verifier key that was kept with the anchor, "
                 "--unsigned passes over signatures");
  }
  TRY_DO(key);
  TRY_DO(check_signature(parsed, *key));
  return parsed;
}

static bool compared_all(const AnchorReport& report) {
  return std::none_of(report.findings.begin(), report.findings.end(),
                      [](const AnchorFinding& one) { return one.kind == AnchorFinding::Kind::damaged; });
}

void print_anchor_report(Run& run, const ParsedAnchor& parsed, const AnchorReport& report) {
  const auto removed = static_cast<std::uint64_t>(
      std::count_if(report.findings.begin(), report.findings.end(), [](const AnchorFinding& one) { return one.removal(); }));
  const std::string when = format_time(parsed.anchor.at);
  json::Arena arena;
  for (const AnchorFinding& finding : report.findings) {
    const std::string purged = finding.purged ? format_time(*finding.purged) : "";
    if (run.json()) {
      run.object(json::make_object(arena, {{"type", "anchored"},
                                           {"state", name(finding.kind)},
                                           {"session", text_or_null(finding.session)},
                                           {"what", finding.what},
                                           {"purged_at", text_or_null(purged)}}));
    } else {
      const bool moved = finding.kind == AnchorFinding::Kind::head_moved;
      run.line(fmt::format("{} {}{}{}", moved ? "moved" : run.paint()(Style::red, name(finding.kind)),
                           finding.session.empty() ? "" : printable("session " + finding.session) + ": ", printable(finding.what),
                           purged.empty() ? "" : " (" + purged + ")"));
    }
  }
  if (run.json()) {
    run.object(json::make_object(arena, {{"type", "anchor"},
                                         {"verdict", name(report.verdict)},
                                         {"origin", parsed.anchor.origin},
                                         {"time", arena.copy(when)},
                                         {"signature", run.flag("unsigned") ? "unchecked" : "good"},
                                         {"sessions", parsed.anchor.sessions},
                                         {"compared", report.compared},
                                         {"begun_since", report.begun_since},
                                         {"removed", removed}}));
    return;
  }
  switch (report.verdict) {
    case AnchorReport::Verdict::consistent:
      return run.line(fmt::format("{} with the anchor of {}: {} sessions, {} begun since{}", run.paint()(Style::green, "consistent"), when,
                                  report.compared, report.begun_since, run.flag("quick") ? " (digests as they stand in the rows)" : ""));
    case AnchorReport::Verdict::damaged:
      return run.line(fmt::format("{}: nothing of the anchor of {} is {}gone, and the store is damaged, see above",
                                  run.paint()(Style::red, "damaged"), when, compared_all(report) ? "" : "known to be "));
    case AnchorReport::Verdict::removed:
      return run.line(fmt::format("{} with the anchor of {}: {} places", run.paint()(Style::red, "not consistent"), when, removed));
    case AnchorReport::Verdict::undecided:
      return run.line(
          fmt::format("undecided: the store is not what it was at {}, and the note alone does not say whether it only grew; "
                      "verify with the file that 'weir anchor --out' wrote",
                      when));
  }
}

}  // namespace weir::cli
