// The guided tour: the program's own commands, run one after another on a store made for it.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/utf8.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/demo_session.h"
#include "cli/run.h"

namespace weir::cli {
namespace {

using json::Value;

constexpr std::string_view kSession = "demo-ledger-port";
constexpr std::size_t kShortened = 8;  // lines of a long output

// A directory that goes when the tour ends, unless it is to be kept.
class Workshop {
 public:
  explicit Workshop(std::optional<std::string> keep) : keep_(keep.has_value()) {
    if (keep) {
      path_ = *keep;
      return;
    }
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-demo-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Workshop() {
    std::error_code ignored;
    if (!keep_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  const std::string& path() const { return path_; }

 private:
  bool keep_;
  std::string path_;
};

class Tour {
 public:
  Tour(Run& run, const std::string& directory) : run_(run), directory_(directory), store_(directory + "/store") {}

  void say(std::string_view text) {
    if (!run_.json()) run_.line("\n" + run_.paint()(Style::bold, text));
  }

  enum class Shown { whole, shortened };

  // Shows the command and runs it; `wanted` is the exit code it must have.
  Result<void> step(std::vector<std::string> words, int wanted = 0, Shown how = Shown::whole) {
    if (!run_.keep_going()) return Error(ErrorCode::CANCELLED, "interrupted");
    std::string shown = "weir";
    for (const std::string& word : words) shown += " " + (word.find_first_of(" '\"{") == std::string::npos ? word : "'" + word + "'");
    words.insert(words.end(), {"--store", store_});
    if (words.front() == "research") words.insert(words.end(), {"--runs-root", directory_ + "/runs"});
    if (run_.json()) words.push_back("--json");
    if (const auto color = run_.option("color")) words.insert(words.end(), {"--color", *color});
    TRY(Arguments arguments, parse_arguments(words));
    Run inner(std::move(arguments), run_.doors());
    inner.capture(4);
    auto code = inner.arguments().command->run(inner);
    std::string output = inner.captured();
    if (!code.ok()) {
      const ErrorCodeInfo& failed = info(code.error().code());
      if (failed.exit != wanted) return std::move(code).error();
      output += fmt::format("weir: {}: {}\n", failed.name, printable(code.error().message()));
      code = failed.exit;
    }
    if (run_.json()) {
      steps_.push_back(json::make_object(arena_, {{"command", arena_.copy(shown)}, {"exit", *code}, {"output", arena_.copy(output)}}));
    } else {
      run_.line(run_.paint()(Style::green, "  $ " + shown));
      std::string_view rest = output;
      for (std::size_t lines = 0; !rest.empty(); ++lines) {
        if (how == Shown::shortened && lines == kShortened) {
          run_.line(run_.paint()(Style::dim, fmt::format("    ... ({} lines more)", std::count(rest.begin(), rest.end(), '\n') + 1)));
          break;
        }
        const std::size_t feed = std::min(rest.find('\n'), rest.size());
        run_.line("    " + std::string(rest.substr(0, feed)));
        rest.remove_prefix(std::min(feed + 1, rest.size()));
      }
    }
    if (*code != wanted) return Error(ErrorCode::CORRUPT, fmt::format("'{}' ended with {}, not {}", shown, *code, wanted));
    return {};
  }

  // A file beside the store, for a step to read.
  Result<std::string> file(const std::string& name, std::string_view content) {
    const std::string path = directory_ + "/" + name;
    if (run_.doors().files.stat(path).ok()) TRY_DO(run_.doors().files.remove(path));
    TRY_DO(run_.doors().files.write_synced(path, content));
    return path;
  }

  void finish() {
    if (run_.json()) run_.object(json::make_object(arena_, {{"session", kSession}, {"steps", json::make_array(arena_, steps_)}}));
  }

 private:
  Run& run_;
  std::string directory_, store_;
  json::Arena arena_;
  std::vector<Value> steps_;
};

// What a read may answer, before and after a compaction.
Result<void> tour_of_reads(Tour& tour, const std::string& directory) {
  const std::string session(kSession);
  tour.say(
      "Read a file. Whether the model still has it only its host can know: a host that appends the conversation, compactions and all, says "
      "so. Then a marker is enough the second time, and a diff after an edit. In any other session the text goes out every time.");
  TRY(const std::string feed, tour.file("feed.json", "{\"barrier_feed\":true}"));
  TRY_DO(tour.step({"append", feed, "--type", "session_info", "--session", session}));
  std::string notes;
  for (int i = 1; i <= 40; ++i) notes += fmt::format("{:02} the rounding rule of step {} stays as it was agreed\n", i, i);
  TRY(const std::string file, tour.file("notes.md", notes));
  const std::vector<std::string> read = {"read", file, "--root", directory, "--session", session};
  TRY_DO(tour.step(read, 0, Tour::Shown::shortened));
  TRY_DO(tour.step(read));
  notes.replace(notes.find("stays", notes.find("20 the")), 5, "moves");
  TRY_DO(tour.file("notes.md", notes));
  TRY_DO(tour.step(read));
  TRY_DO(tour.step({"reads", "--session", session}));
  tour.say("After a compaction nothing is held any more, whatever is on disk: content again, and a list of what had been read.");
  TRY(const std::string compaction, tour.file("compaction.json", "{\"summary\":\"Rounding agreed; notes.md holds the rules.\"}"));
  TRY_DO(tour.step({"append", compaction, "--type", "compaction", "--session", session}));
  TRY_DO(tour.step({"reads", "digest", "--root", directory, "--session", session}));
  TRY_DO(tour.step(read, 0, Tour::Shown::shortened));
  return {};
}

// Which entries the next prompt is made of, and why.
Result<void> tour_of_contexts(Tour& tour) {
  const std::string session(kSession);
  tour.say("Compile the path: which nodes make up the context and for what reason, with hashes that are the same on every machine.");
  TRY_DO(tour.step({"compile", "--session", session}));
  TRY_DO(tour.step({"explain", "--session", session}, 0, Tour::Shown::shortened));
  tour.say("Where the two heads part, found by halving on chain values.");
  TRY_DO(tour.step({"diff", session + "@main", session + "@second-thoughts"}, 1));
  tour.say(
      "The next prompt within 12 kB: pins first, calls with their results, the rest newest first. The manifest is in the log before "
      "anybody sees a message.");
  TRY_DO(tour.step({"context", "--budget", "12kb", "--session", session}, 0, Tour::Shown::shortened));
  TRY_DO(tour.step({"log", "--limit", "1", "--session", session}));
  return {};
}

// What a run carries over a compaction, and what is refused.
Result<void> tour_of_snapshots(Tour& tour) {
  constexpr std::string_view kRun =
      R"({"type":"RUN_STARTED","body":{"objective":"Which readings of gauge 7 can be trusted?","done_definition":"every reading judged","provenance_mode":"quotes_checked","namespace":{"index_id":"river"},"config":{"event_threshold":3,"require_manifests":false}}}
{"type":"message","body":{"role":"user","content":"Check gauge 7. Report only what the logs show."}}
{"type":"SOURCE_REGISTERED","body":{"source_id":"log","title":"Station log","text":"Gauge 7 read 4 cm above the staff on all nine dry days."}}
{"type":"CHUNK_REGISTERED","body":{"chunk_id":"log#1","source_id":"log","span":{"unit":"utf8","start":0,"end":55},"delivered":true}}
{"type":"PLAN_DONE","body":{"step_id":1}}
{"type":"ACT_DONE","body":{"step_id":1}}
{"type":"OBSERVE_DONE","body":{"step_id":1}}
)";
  const std::string session = "gauge";
  tour.say("A run with claims. A claim counts as verified only with evidence, and evidence is a span of a source whose bytes are kept.");
  TRY(const std::string file, tour.file("run.jsonl", kRun));
  TRY_DO(tour.step({"append", file, "--session", session}, 0, Tour::Shown::shortened));
  TRY_DO(tour.step({"note", "claim", "Gauge 7 reads 4 cm high in dry weather", "--session", session}));
  TRY_DO(tour.step({"note", "evidence", "--span", "log#1:0-54", "--session", session}));
  TRY_DO(tour.step({"note", "claim", "verify", "c1", "ev1_92453709d4023c79471e5e89decf032d", "--session", session}));
  TRY_DO(tour.step({"note", "question", "Was the staff moved on 3 May?", "--session", session}));
  tour.say(
      "Three counted events, so a compaction is due. 25 checks hold the snapshot against the log; the page below is all a model needs.");
  TRY_DO(tour.step({"due", "--session", session}));
  TRY_DO(tour.step({"compact", "--session", session}));
  tour.say("A note that no compaction could pass is refused.");
  TRY_DO(tour.step({"note", "claim", "The float is stuck", "--session", session}));
  TRY_DO(tour.step({"note", "claim", "verify", "c2", "--session", session}, info(ErrorCode::ILLEGAL_TRANSITION).exit));
  tour.say("A host that appends the event itself is warned: the gate fails twice, the run stops, and a person opens it again.");
  TRY(const std::string claimed, tour.file("claimed.jsonl", "{\"type\":\"CLAIM_VERIFIED\",\"body\":{\"claim_id\":\"c2\"}}\n"));
  TRY_DO(tour.step({"append", claimed, "--session", session}));
  TRY_DO(tour.step({"compact", "--session", session}, info(ErrorCode::GATE_FAILED).exit));
  TRY_DO(tour.step({"resume", "--note", "no evidence for the float", "--session", session}));
  TRY_DO(tour.step({"note", "claim", "downgrade", "c2", "no evidence", "--session", session}));
  TRY_DO(tour.step({"compact", "--session", session}, 0, Tour::Shown::shortened));
  tour.say("What lies before a barrier stays in the log, and can be found.");
  TRY_DO(tour.step({"history", "dry weather", "--session", session}));
  return {};
}

// From a question to a report that may say nothing its sources do not.
Result<void> tour_of_research(Tour& tour) {
  constexpr std::string_view kPerspectives =
      R"({"schema_version":"perspectives.v1","run_id":"salmon","created_at":"2026-02-13T12:05:00Z","perspectives":[
{"id":"p1","title":"Counts at the ladder","track":"standard","agent_type":"Researcher","prompt_contract":{"max_words":300,"max_sources":5,"tool_budget":{},"must_include_sections":["Findings","Sources"]}},
{"id":"p2","title":"Contrary evidence","track":"contrarian","agent_type":"Researcher","prompt_contract":{"max_words":300,"max_sources":5,"tool_budget":{},"must_include_sections":["Findings","Sources"]}}]})";
  constexpr std::string_view kCitations =
      R"([{"url":"https://example.org/salmon-counts","status":"valid","title":"Counts at the ladder","evidence_snippet":"Over five years the count rose by 40% above the ladder."},
{"url":"https://example.net/dry-years","status":"valid","title":"Dry years","evidence_snippet":"No change was found in the dry years."}])";
  const std::string counts = "[@cid_d8822c9dd984648579741d0be4fe23abbfd509771c9d129522f58d61058f734e]";
  const std::string dry_years = "[@cid_c166d5319fc0b955f14fb2a4b9e675ba9dbbdc783c83cc29c30378e892033651]";
  const std::string first = "## Findings\n- The count rose by 40% above the ladder " + counts + ". (confidence: 80)\n";
  const std::string rest = "\n## Key Findings\n- In dry years there was no change " + dry_years +
                           ".\n\n## Evidence\nFive years of counts.\n\n## Caveats\nTwo rivers only.\n";
  const auto step = [&](std::vector<std::string> words, int wanted = 0) {
    words.insert(words.begin(), "research");
    words.insert(words.end(), {"--run", "salmon"});
    return tour.step(std::move(words), wanted);
  };

  tour.say("A research run: agents study a question, each under a contract. What breaks its contract is not taken.");
  TRY_DO(step({"init", "--query", "Do fish ladders bring salmon back?"}));
  TRY(const std::string perspectives, tour.file("perspectives.json", kPerspectives));
  TRY_DO(step({"perspectives", perspectives}));
  TRY(const std::string p1,
      tour.file("p1.md", "## Findings\n- Counts rose by 40%.\n\n## Sources\n- https://example.org/salmon-counts?utm_source=feed\n"));
  TRY(const std::string p2, tour.file("p2.md", "## Findings\n- Dry years: no change.\n\n## Sources\n- https://example.net/dry-years\n"));
  TRY_DO(step({"ingest", "--wave", "1", "p1=" + p1, "p2=" + p2, "--no-progress"}));
  tour.say("What was found behind the URLs is the caller's to say; a source is named by the hash of its URL. Two gates look at it.");
  TRY(const std::string checked, tour.file("checked.json", kCitations));
  TRY_DO(step({"cite", "--from", checked}));
  TRY_DO(step({"gate", "B"}));
  TRY_DO(step({"gate", "C"}));
  tour.say("A summary over its 5 KB is refused, with a directive that says by how much. Nothing is cut in silence.");
  std::string much = first;
  while (much.size() <= 5120) much += "It was counted again in the year after. ";
  TRY(const std::string too_large, tour.file("s1-long.md", much + "\n"));
  TRY_DO(step({"summarize", "p1=" + too_large, "--no-progress"}, info(ErrorCode::SIZE_CAP_EXCEEDED).exit));
  TRY_DO(step({"status"}));
  TRY(const std::string s1, tour.file("s1.md", first));
  TRY(const std::string s2, tour.file("s2.md", "## Findings\nIn dry years nothing changed " + dry_years + ".\n"));
  TRY_DO(step({"summarize", "p1=" + s1, "p2=" + s2, "--no-progress"}));
  tour.say("Pack, gate D, bundle: the bytes that gate D measured are the bytes that synthesis reads, and all it may read.");
  TRY_DO(step({"pack"}));
  TRY_DO(step({"gate", "D"}));
  TRY_DO(step({"bundle"}));
  tour.say("A report with a number that cites nothing fails; the one that cites the bundle passes, and the run is done.");
  TRY(const std::string draft, tour.file("draft.md", "## Summary\nCounts rose by 40%.\n" + rest));
  TRY_DO(step({"check", draft}, info(ErrorCode::GATE_BLOCKED).exit));
  TRY(const std::string report, tour.file("report.md", "## Summary\nCounts rose by 40% " + counts + ".\n" + rest));
  TRY_DO(step({"check", report}));
  TRY_DO(step({"status"}));
  return {};
}

}  // namespace

Result<int> run_demo(Run& run) {
  const auto keep = run.option("keep");
  if (keep) {
    if (const auto listed = run.doors().files.list(*keep); listed.ok() && !listed->empty())
      return Error(ErrorCode::INVALID_FIELD, "'" + *keep + "' is not empty: the tour writes files of its own there").with("path", *keep);
    TRY_DO(run.doors().files.make_directories(*keep));
  }
  const Workshop workshop(keep);
  if (workshop.path().empty()) return Error(ErrorCode::STORAGE, "cannot make a directory for the tour");
  Tour tour(run, workshop.path());
  const std::string session(kSession);

  if (!run.json()) run.line(run.paint()(Style::cyan, "A tour of Weir, on a throw-away store. Nothing of yours is touched."));
  tour.say("A long session of a coding agent, taken over whole: branches, compactions, failures and all.");
  TRY(const std::string source, tour.file("demo-session.jsonl", demo_session()));
  TRY_DO(tour.step({"import", "pi", source, "--no-progress"}));
  tour.say("Its tree. ◆ is a compaction: a barrier, behind which the model no longer sees anything. ◀ is a head.");
  TRY_DO(tour.step({"tree", "--session", session}));
  tour.say("What it is made of.");
  TRY_DO(tour.step({"stats", "--session", session}));

  tour.say("Append. The entry is chained to its parent by SHA-256; the password in it never reaches the disk.");
  const std::string password = std::string("hunter") + "2-but-" + "longer9";
  TRY(const std::string message, tour.file("message.json", "{\"role\":\"user\",\"content\":\"Deploy it. The database is postgres://app:" +
                                                               password + "@db/ledger\"}"));
  TRY_DO(tour.step({"append", message, "--type", "message", "--session", session}));
  TRY_DO(tour.step({"show", "main", "--session", session}));

  tour.say("Fork: a second head, to try something else from ten entries back.");
  TRY_DO(tour.step({"head", "fork", "second-thoughts", "--at", "main~10", "--session", session}));
  TRY(const std::string other,
      tour.file("other.json", "{\"role\":\"user\",\"content\":\"What if we keep the old rounding behind a flag?\"}"));
  TRY_DO(tour.step({"append", other, "--type", "message", "--session", session, "--head", "second-thoughts"}));
  TRY_DO(tour.step({"log", "--head", "second-thoughts", "--limit", "3", "--session", session}));

  tour.say("Move a head: navigation appends nothing and loses nothing.");
  TRY_DO(tour.step({"head", "move", "main", "main~1", "--session", session}));
  TRY_DO(tour.step({"head", "list", "--session", session}));

  TRY_DO(tour_of_contexts(tour));
  TRY_DO(tour_of_reads(tour, workshop.path()));
  TRY_DO(tour_of_snapshots(tour));
  TRY_DO(tour_of_research(tour));

  tour.say("Verify: every row, every digest of the chain, every blob, read back and hashed again.");
  TRY_DO(tour.step({"verify", "--no-progress"}));

  tour.say("The same content has the same digests, wherever and whenever it was recorded: import the file again under another name.");
  TRY_DO(tour.step({"import", "pi", source, "--as", "copy", "--no-progress"}));
  TRY_DO(tour.step({"session", "list"}));
  tour.finish();
  if (run.json()) return 0;

  run.line("\n" + run.paint()(Style::bold, "Your turn:"));
  for (const auto& [command, what] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"weir init", "make your own store"},
           {"weir import pi ~/.pi/agent/sessions/*/*.jsonl", "take over your sessions"},
           {"weir session list", "see them"},
           {"weir tree --session ID", "and look at one"},
           {"echo '{\"role\":\"user\",\"content\":\"hello\"}' | weir append --session notes --type message", "write one yourself"},
           {"weir serve", "let agents and programs in, and see how each agent is connected"},
           {"weir help", "everything else"},
       }) {
    run.line(fmt::format("  {}\n      {}", run.paint()(Style::green, command), what));
  }
  if (keep) run.line(fmt::format("\nThe store of the tour is at {}/store.", *keep));
  return 0;
}

}  // namespace weir::cli
