// research: the steps of a research run, from the question to a report that passed its check.
#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/paths.h"
#include "base/secrets.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/research_view.h"
#include "cli/run.h"
#include "json/parse.h"
#include "research/white_space.h"
#include "service/research.h"

namespace weir::cli {
namespace {

using json::Value;

constexpr std::size_t kMostInput = 256 * limits::kMiB;

Error wrong_argument(const std::string& what) { return Error(ErrorCode::INVALID_ARGS, what); }

std::string absolute(const Run& run, const std::string& path) {
  if (path.starts_with("/")) return clean_path(path);
  return clean_path(run.config_sources().working_directory + "/" + path);
}

// --run, --session and WEIR_SESSION name the run; else it is the store's only session, or a new one to begin with.
Result<SessionId> run_id(Run& run, bool begins) {
  const auto named = run.option("run");
  const auto session = run.option("session");
  if (named && session && *named != *session) return Error(ErrorCode::USAGE, "--run and --session name the same thing; give one of them");
  if (named && named->find("..") != std::string::npos)
    return Error(ErrorCode::PATH_TRAVERSAL, "a run id must not hold '..'").with("run_id", masked_excerpt(*named, 80));
  if (named) return SessionId::parse(*named);
  TRY(const auto given, run.named_session());
  if (given && given->str().find("..") != std::string::npos)
    return Error(ErrorCode::PATH_TRAVERSAL, "a run id must not hold '..'").with("run_id", masked_excerpt(given->str(), 80));
  if (given) return *given;
  if (begins) return SessionId::parse(new_run_id(run.doors().clock, run.doors().random));
  return run.session(Store::Access::read);
}

Result<RunCall> call_of(Run& run, bool begins = false) {
  RunCall call;
  TRY(call.run, run_id(run, begins));
  if (run.option("head") || !environment("WEIR_HEAD").empty()) {
    TRY(call.head, run.head());
  }
  if (const auto reason = run.option("reason")) {
    if (research::is_blank(*reason)) return wrong_argument("reason must be non-empty");
    if (reason->size() > limits::kBlobStringBytes)
      return Error(ErrorCode::INPUT_TOO_LARGE, "--reason is over 65536 bytes").with("bytes", static_cast<std::int64_t>(reason->size()));
    call.reason = *reason;
  }
  if (const auto revision = run.number("expect-revision")) call.expect_revision = *revision;
  call.dry_run = run.flag("dry-run");
  TRY(const Config* config, run.config());
  if (const auto root = run.option("run-root")) {
    call.root = absolute(run, *root);
  } else if (const auto runs = run.option("runs-root")) {
    call.root = absolute(run, *runs) + "/" + call.run.str();
  } else if (const std::string& configured = config->text("research.runs_root"); !configured.empty()) {
    call.root = absolute(run, configured) + "/" + call.run.str();
  } else {
    const std::string home = environment("HOME");
    if (home.empty()) return wrong_argument("there is no HOME to keep runs in; --runs-root names a directory for them");
    call.root = home + "/.config/opencode/research-runs/" + call.run.str();
  }
  return call;
}

// The answer as JSON, or drawn; a gate or check that does not hold exits 8, verify 3.
Result<int> show(Run& run, const ResearchAnswer& answer, void (*draw)(Run&, const Value&), int otherwise = 8) {
  if (run.json()) {
    run.object(Value::raw(answer.text));
  } else {
    json::Parser parser;
    TRY(const Value value, parser.parse_stored(answer.text));
    draw(run, value);
  }
  return answer.holds ? 0 : otherwise;
}

Result<Service*> writer(Run& run) { return run.service(Store::Access::write); }

struct Reporter {
  std::unique_ptr<Progress> bar;
  void operator()(std::uint64_t done, std::uint64_t total) const { bar->update(done, total, 0); }
};

// A file's text. One that is no file is a wrong argument, not a fault of the disk.
Result<std::string> input(Run& run, const std::string& name) {
  auto text = run.read_input(name, kMostInput);
  if (!text.ok() && text.error().code() == ErrorCode::STORAGE) return wrong_argument(text.error().message()).with("path", name);
  return text;
}

// ID=FILE ..., or --from FILE.
Result<std::vector<HandedIn>> handed_in(Run& run) {
  if (const auto from = run.option("from")) {
    if (run.word(0)) return Error(ErrorCode::USAGE, "either ID=FILE or --from FILE, not both");
    TRY(const std::string text, input(run, *from));
    return parse_outputs(text);
  }
  std::vector<HandedIn> out;
  for (std::size_t i = 0; run.word(i); ++i) {
    const std::string word = *run.word(i);
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
      return wrong_argument("'" + masked_excerpt(word, 80) + "' must be ID=FILE: a perspective's id and the file with its text");
    HandedIn one;
    one.perspective_id = word.substr(0, equals);
    TRY(one.text, input(run, word.substr(equals + 1)));
    out.push_back(std::move(one));
  }
  return out;
}

Result<int> wave_of(Run& run, int otherwise) {
  const auto wave = run.option("wave");
  if (!wave && otherwise != 0) return otherwise;
  if (wave && (*wave == "1" || *wave == "2")) return *wave == "1" ? 1 : 2;
  return wrong_argument("--wave must be 1 or 2");
}

}  // namespace

Result<int> run_research_init(Run& run) {
  TRY(const RunCall call, call_of(run, !run.flag("adopt") && !run.option("patch")));
  if (const auto patch = run.option("patch")) {
    TRY(const std::string text, input(run, *patch));
    TRY(Service* const service, writer(run));
    TRY(const ResearchAnswer answer, research_patch(*service, call, text));
    return show(run, answer, draw_patched);
  }
  if (run.flag("adopt")) {
    TRY(Service* const service, writer(run));
    TRY(const ResearchAnswer answer, research_adopt(*service, call));
    return show(run, answer, draw_adopted);
  }
  ResearchBegin begin;
  if (!run.option("query")) return wrong_argument("--query says what is to be studied");
  begin.query = *run.option("query");
  begin.mode = run.option("mode");
  begin.sensitivity = run.option("sensitivity");
  for (const std::string& limit : run.arguments().values("limit")) {
    const std::size_t equals = limit.find('=');
    if (equals == std::string::npos) return wrong_argument("--limit must be NAME=NUMBER, is '" + masked_excerpt(limit, 80) + "'");
    begin.limits.emplace_back(limit.substr(0, equals), limit.substr(equals + 1));
  }
  if (run.store_missing()) {
    TRY(const auto trial, run.trial_service());
    RunCall dry = call;
    dry.dry_run = true;
    auto tried = research_init(*trial, dry, begin);
    // Unless somebody made store and run just now: then the files are theirs, and the log says so.
    if (!tried.ok() && (info(tried.error().code()).exit != info(ErrorCode::CONFLICT).exit || run.store_missing()))
      return std::move(tried).error();
  }
  TRY(Service* const service, writer(run));
  TRY(const ResearchAnswer answer, research_init(*service, call, begin));
  return show(run, answer, draw_begun);
}

Result<int> run_research_perspectives(Run& run) {
  TRY(const RunCall call, call_of(run));
  TRY(const int wave, wave_of(run, 1));
  TRY(const std::string text, input(run, run.word(0).value_or("-")));
  TRY(const Config* config, run.config());
  TRY(Service* const service, writer(run));
  TRY(const ResearchAnswer answer, research_perspectives(*service, call, wave, text, config->texts("research.agents")));
  return show(run, answer, draw_perspectives);
}

Result<int> run_research_ingest(Run& run) {
  TRY(const RunCall call, call_of(run));
  TRY(const int wave, wave_of(run, 0));
  TRY(const auto outputs, handed_in(run));
  TRY(Service* const service, writer(run));
  const Reporter reporter{run.progress("ingest")};
  TRY(const ResearchAnswer answer, research_ingest(*service, call, wave, outputs, reporter));
  return show(run, answer, draw_ingested);
}

Result<int> run_research_cite(Run& run) {
  TRY(const RunCall call, call_of(run));
  const int ways = (run.flag("extract") ? 1 : 0) + (run.option("from") ? 1 : 0) + (run.flag("list") ? 1 : 0) + (run.word(0) ? 1 : 0);
  if (ways != 1) return wrong_argument("one of --extract, --from FILE, --list, or a URL with --status");
  if (run.flag("list")) {
    TRY(Service* const service, run.service(Store::Access::read));
    TRY(const ResearchAnswer answer, research_citations(*service, call));
    return show(run, answer, draw_citations);
  }
  if (run.flag("extract")) {
    TRY(Service* const service, writer(run));
    TRY(const ResearchAnswer answer, research_extract(*service, call));
    return show(run, answer, draw_extracted);
  }
  std::string text;
  if (const auto from = run.option("from")) {
    TRY(text, input(run, *from));
  } else {
    if (!run.option("status"))
      return wrong_argument("--status says what was found behind the URL: valid, paywalled, blocked, mismatch or invalid");
    json::Arena arena;
    json::ObjectBuilder record(arena);
    record.add("url", arena.copy(*run.word(0))).add("status", arena.copy(*run.option("status")));
    constexpr std::pair<std::string_view, std::string_view> kMore[] = {{"title", "title"},           {"snippet", "evidence_snippet"},
                                                                       {"publisher", "publisher"},   {"notes", "notes"},
                                                                       {"checked-at", "checked_at"}, {"checked-by", "checked_by"}};
    for (const auto& [option, member] : kMore) {
      if (const auto value = run.option(option)) record.add(member, arena.copy(*value));
    }
    if (const auto status = run.number("http-status")) record.add("http_status", *status);
    const Value one[] = {record.build()};
    text = json::canonical(json::make_array(arena, one));
  }
  TRY(Service* const service, writer(run));
  TRY(const ResearchAnswer answer, research_cite(*service, call, text));
  return show(run, answer, draw_cited);
}

Result<int> run_research_summarize(Run& run) {
  TRY(const RunCall call, call_of(run));
  TRY(const auto summaries, handed_in(run));
  SummaryOptions options;
  options.truncate = run.flag("truncate");
  options.numbers_warn = run.option("numbers").value_or("refuse") == "warn";
  TRY(Service* const service, writer(run));
  const Reporter reporter{run.progress("summarize")};
  TRY(const ResearchAnswer answer, research_summarize(*service, call, summaries, options, reporter));
  return show(run, answer, draw_summaries);
}

Result<int> run_research_pack(Run& run) {
  TRY(const RunCall call, call_of(run));
  TRY(Service* const service, writer(run));
  TRY(const ResearchAnswer answer, research_pack(*service, call, run.flag("allow-missing")));
  return show(run, answer, draw_pack);
}

Result<int> run_research_gate(Run& run) {
  TRY(const RunCall call, call_of(run));
  TRY(Service* const service, writer(run));
  TRY(const ResearchAnswer answer, research_gate(*service, call, run.word(0).value_or("")));
  return show(run, answer, draw_gate);
}

Result<int> run_research_bundle(Run& run) {
  TRY(const RunCall call, call_of(run));
  const auto out = run.option("out");
  if (out && *out != "-") return wrong_argument("--out takes - alone: the bundle itself lies in the run's directory");
  TRY(Service* const service, writer(run));
  std::string stream;
  TRY(const ResearchAnswer answer, research_bundle(*service, call, &stream));
  if (out) {
    run.print(stream);
    return 0;
  }
  return show(run, answer, draw_bundle);
}

Result<int> run_research_check(Run& run) {
  TRY(const RunCall call, call_of(run));
  TRY(const std::string text, input(run, run.word(0).value_or("-")));
  TRY(Service* const service, writer(run));
  TRY(const ResearchAnswer answer, research_check(*service, call, text, run.flag("render")));
  return show(run, answer, draw_check);
}

Result<int> run_research_status(Run& run) {
  TRY(const RunCall call, call_of(run));
  TRY(Service* const service, writer(run));
  TRY(const ResearchAnswer answer, research_status(*service, call));
  return show(run, answer, draw_status);
}

Result<int> run_research_verify(Run& run) {
  TRY(const RunCall call, call_of(run));
  const auto rebuild = run.option("rebuild");
  if (rebuild && rebuild->empty()) return wrong_argument("--rebuild needs a directory");
  TRY(Service* const service, writer(run));
  const Reporter reporter{run.progress("verify")};
  TRY(const ResearchAnswer answer, research_verify(*service, call, rebuild ? absolute(run, *rebuild) : "", reporter));
  return show(run, answer, draw_verified, 3);
}

}  // namespace weir::cli
