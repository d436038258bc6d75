#include "cli/research_table.h"

#include "cli/commands.h"

namespace weir::cli {
namespace {

using V = ValueType;

const ExitSpec kBadInput{6, "wrong input; nothing was stored"};
const OptionSpec kRunId{"run", V::text, "ID", "the run: the same as --session"};
const OptionSpec kRunsRoot{"runs-root", V::path, "DIR", "directory of all runs (WEIR_RUNS_ROOT; default ~/.config/opencode/research-runs)"};
const OptionSpec kRunRoot{"run-root", V::path, "DIR", "this run's own directory"};
const OptionSpec kReason{"reason", V::text, "TEXT", "why, for the log", false, true};
const OptionSpec kRevision{"expect-revision", V::integer, "N", "refuse unless the run is at this revision"};
const ExitSpec kGateShut{8, "a gate or check does not hold, or the run is paused, cancelled, failed or completed"};
const ExitSpec kMoved{5, "another revision, or a file that was changed by hand"};
const ExitSpec kNoRun{4, "no such run, or something it needs is missing"};
const ExitSpec kRefusedText{6, "wrong input, or a text that breaks its contract; nothing of it was stored"};

// What every step of a research run takes, after its own.
std::vector<OptionSpec> of_run(std::vector<OptionSpec> own) {
  own.insert(own.end(), {kRunId, kRunsRoot, kRunRoot, kReason, kRevision});
  return own;
}

std::vector<CommandSpec> question_to_citations() {
  return {
      {.name = "research status",
       .summary = "where a research run stands",
       .text = "Stage, gates and whether what they passed on is still so, perspectives, open directives, and the next commands.",
       .options = of_run({}),
       .examples = {{"weir research status --run quic", "what is missing?"}},
       .exits = {kNoRun},
       .run = run_research_status},
      {.name = "research init",
       .summary = "begin a research run, or change its manifest",
       .text =
           "A run is a session; its directory mirrors the log. Doing it again with the same words changes nothing. --patch merges a JSON "
           "object into the manifest (limits, status, constraints); --adopt takes over a directory that another tool made.",
       .options = of_run({{"query", V::text, "TEXT", "what is to be studied", false, true},
                          {"mode", V::text, "MODE", "quick, standard or deep", false, true},
                          {"sensitivity", V::text, "WORD", "normal, restricted or no_web; recorded, it changes no gate", false, true},
                          {"limit", V::text, "NAME=N", "a limit, such as max_summary_kb=5", true, true},
                          {"patch", V::path, "FILE", "merge this into the manifest; - is standard input"},
                          {"adopt", V::none, "", "take over the directory that is there"}}),
       .examples = {{"weir research init --run quic --query 'Does HTTP/3 shorten page loads?'", "begin a run"},
                    {"weir research init --run quic --query 'Does HTTP/3 shorten page loads?'", "again: it is there"}},
       .exits = {{5, "something else is in its place"}, kBadInput, {12, "its directory cannot be written"}},
       .writes = true,
       .run = run_research_init},
      {.name = "research perspectives",
       .summary = "say what each agent is to study",
       .text = "A perspectives.v1 document: one perspective per agent, with the contract its output is held to. Every error is listed.",
       .arguments = {{"FILE", "the document; - is standard input"}},
       .options = of_run({{"wave", V::text, "N", "1 (default) or 2, for gaps that were found", false, true}}),
       .examples = {{"weir research perspectives perspectives.json --run quic", "one per agent"}},
       .exits = {kRefusedText, kMoved, kGateShut, kNoRun},
       .writes = true,
       .run = run_research_perspectives},
      {.name = "research ingest",
       .summary = "hand in what agents wrote",
       .text =
           "All outputs are held to their contracts and stored, or none is; each refused one gets a directive that says what to change.",
       .arguments = {{"ID=FILE", "a perspective and the file with its output", false, true}},
       .options =
           of_run({{"wave", V::text, "N", "1 or 2", false, true}, {"from", V::path, "FILE", "a JSON file {\"outputs\":[...]} instead"}}),
       .examples = {{"weir research ingest --wave 1 p1=p1.md --run quic", "the output of perspective p1"}},
       .exits = {kRefusedText, kMoved, kGateShut, kNoRun},
       .writes = true,
       .progress = true,
       .run = run_research_ingest},
      {.name = "research cite",
       .summary = "list and record citations",
       .text = "--extract lists the URLs of all accepted outputs; a URL with --status, or --from FILE, records what was found behind them; "
               "--list shows the ids that summaries may cite. Weir opens no URL and gives none a status.",
       .arguments = {{"URL", "an address to record", false}},
       .options = of_run({{"extract", V::none, "", "list the URLs of all accepted outputs"},
                          {"from", V::path, "FILE", "records: an array, {\"items\":[...]} or {\"<url>\":\"<status>\"}"},
                          {"list", V::none, "", "the validated pool"},
                          {"status", V::text, "WORD", "valid, paywalled, blocked, mismatch or invalid", false, true},
                          {"title", V::text, "TEXT", "of the page"},
                          {"snippet", V::text, "TEXT", "a quote that claims are held to, at most 2,048 bytes"},
                          {"publisher", V::text, "TEXT", "who publishes it"},
                          {"notes", V::text, "TEXT", "anything else"},
                          {"http-status", V::integer, "N", "what the server said"},
                          {"checked-at", V::text, "TIME", "when it was looked at; default now"},
                          {"checked-by", V::text, "WHO", "who or what looked"}}),
       .examples = {{"weir research cite --extract --run quic", "which URLs are named?"},
                    {"weir research cite https://example.com/study --status valid --title Study --run quic", "what was found behind one"},
                    {"weir research cite --list --run quic", "what may be cited"}},
       .exits = {kRefusedText, kMoved, kGateShut, kNoRun},
       .writes = true,
       .run = run_research_cite},
  };
}

std::vector<CommandSpec> summaries_to_report() {
  return {
      {.name = "research summarize",
       .summary = "hand in the summaries",
       .text = "Each must be bounded in bytes and cite the pool alone; a number must be in a quote it cites. All are stored or none.",
       .arguments = {{"ID=FILE", "a perspective and the file with its summary", false, true}},
       .options = of_run({{"from", V::path, "FILE", "a JSON file {\"outputs\":[...]} instead"},
                          {"truncate", V::none, "", "cut one that is too large, at a sentence or item, and say so in it"},
                          {"numbers", V::choice, "refuse|warn", "what to do about a number that is in no quote"}}),
       .examples = {{"weir research summarize p1=p1.summary.md --run quic", "bounded, and citing the pool alone"}},
       .exits = {kRefusedText, kMoved, kGateShut, kNoRun},
       .writes = true,
       .progress = true,
       .run = run_research_summarize},
      {.name = "research pack",
       .summary = "build the summary pack",
       .text = "Every summary is checked again against today's pool; the pack lists them with their key claims. The same inputs give the "
               "same pack.",
       .options = of_run({{"allow-missing", V::none, "", "leave out perspectives without a summary; gate D judges the coverage"}}),
       .examples = {{"weir research pack --run quic", "all summaries with their key claims"}},
       .exits = {kRefusedText, kMoved, kGateShut, kNoRun},
       .writes = true,
       .run = run_research_pack},
      {.name = "research gate",
       .summary = "evaluate gate B, C or D and record it",
       .text =
           "B: outputs keep their contracts. C: every URL has a status, and most are valid. D: what synthesis reads is bounded in bytes, "
           "complete, and tied to the pool. Gate E is `research check`.",
       .arguments = {{"GATE", "B, C or D"}},
       .options = of_run({}),
       .examples = {{"weir research gate B --run quic", "do outputs keep their contracts?"},
                    {"weir research gate C --run quic", "has every URL a status?"},
                    {"weir research gate D --run quic", "is what synthesis reads bounded?"}},
       .exits = {{8, "the gate fails"}, kRefusedText, kMoved, kNoRun},
       .writes = true,
       .run = run_research_gate},
      {.name = "research bundle",
       .summary = "write exactly what synthesis may read",
       .text = "One stream: the query, the pack, the citations it mentions, and each summary, framed, with lengths and digests. Needs "
               "gates B, C "
               "and D passed, and nothing changed since.",
       .options = of_run({{"out", V::text, "-", "print the stream instead of an answer"}}),
       .examples = {{"weir research bundle --run quic", "what the report may be written from"},
                    {"weir research bundle --run quic --out -", "the bytes themselves"}},
       .exits = {kGateShut, kMoved, kNoRun},
       .writes = true,
       .run = run_research_bundle},
      {.name = "research check",
       .summary = "hold a report against the bundle",
       .text = "Required sections, citations of the bundle and no others, no raw URLs, no number without a citation: gate E. A report that "
               "passes "
               "is stored and the run is completed.",
       .arguments = {{"FILE", "the report; - is standard input"}},
       .options = of_run({{"render", V::none, "", "add a numbered list of the cited URLs to the output"}}),
       .examples = {{"weir research check report.md --run quic", "does it cite what it says?"}},
       .exits = {kGateShut, kRefusedText, kMoved, kNoRun},
       .writes = true,
       .run = run_research_check},
      {.name = "research verify",
       .summary = "replay a run from its log and hold its files against it",
       .text = "Chain and blobs, every file, every pack, gate, bundle and check computed again at the entry that recorded it. --rebuild "
               "writes the "
               "whole directory anew from the log alone.",
       .options = of_run({{"rebuild", V::path, "DIR", "an empty directory to write the run into"}}),
       .examples = {{"weir research verify --run quic", "is it what the log says?"}},
       .exits = {{3, "something is not what the log says"}, kNoRun},
       .progress = true,
       .run = run_research_verify},
  };
}

}  // namespace

std::vector<CommandSpec> research_commands() {
  std::vector<CommandSpec> out = question_to_citations();
  const std::vector<CommandSpec> more = summaries_to_report();
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace weir::cli
