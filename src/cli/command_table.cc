#include "cli/command_table.h"

#include <algorithm>

#include "cli/commands.h"
#include "cli/research_table.h"

namespace weir::cli {
namespace {

using V = ValueType;

const ExitSpec kConflict{5, "the head moved, or an id has other content"};
const ExitSpec kBadInput{6, "wrong input; nothing was stored"};
const ExitSpec kNotFile{4, "no such file, or no such head"};
const ExitSpec kNotThere{4, "no such session, head or entry"};

// A common option that a command would have to pass over in silence.
struct Refusal {
  std::string_view command, option, why;
};
constexpr Refusal kRefusals[] = {
    {"anchor", "session", "it is about the whole store"},
    {"anchor", "head", "it is about the whole store"},
    {"anchor", "at", "it is about the whole store"},
    {"append", "at", "it is for reading; --parent and --head say where to append"},
    {"tree", "at", "the whole session is drawn; --goto moves the head"},
    {"head move", "at", "it is for reading; ENTRY says where to"},
    {"head delete", "at", "it is for reading"},
    {"import", "session", "--as names the session to import into"},
    {"import", "head", "main goes where the file ends"},
    {"import", "at", "it is for reading"},
    {"sync", "head", "main goes to the request's leaf"},
    {"sync", "at", "it is for reading"},
    {"read", "at", "a read is recorded at a head"},
    {"diff", "at", "A and B say where: SESSION@ENTRY"},
    {"diff", "head", "A and B say where: SESSION@HEAD"},
    {"compact", "at", "a compaction is made at a head"},
    {"snapshot attach", "at", "it is for reading; ENTRY names the compaction"},
    {"note", "at", "a note is recorded at a head"},
    {"stop", "at", "a run is stopped at a head"},
    {"resume", "at", "a run is resumed at a head"},
    {"research init", "at", "a step is taken at a head"},
    {"research perspectives", "at", "a step is taken at a head"},
    {"research ingest", "at", "a step is taken at a head"},
    {"research cite", "at", "a step is taken at a head"},
    {"research summarize", "at", "a step is taken at a head"},
    {"research pack", "at", "a step is taken at a head"},
    {"research gate", "at", "a step is taken at a head"},
    {"research bundle", "at", "a step is taken at a head"},
    {"research check", "at", "a step is taken at a head"},
    {"research status", "at", "the directory mirrors a head"},
    {"research verify", "at", "the directory mirrors a head"},
    {"refresh", "at", "it is for looking; a refresh is recorded at a head"},
    {"mcp", "at", "every request says where"},
    {"serve", "session", "every request names its session"},
    {"serve", "head", "every request names its head"},
    {"serve", "at", "every request says where"},
};

const OptionSpec kRoot{"root", V::path, "DIR", "directory that may be read (WEIR_ROOTS; default the working directory)", true};

std::vector<CommandSpec> first_steps() {
  return {
      {.name = "init",
       .summary = "make the store",
       .text = "Makes the store's directory, its database and objects/. A directory that is there must be empty; it is closed to others. "
               "Doing it again changes nothing. Commands that write make a missing store by themselves.",
       .examples = {{"weir init", "make the store at the default place"}},
       .exits = {{10, "the place cannot be used as a store"}},
       .writes = true,
       .run = run_init},
      {.name = "doctor",
       .summary = "check that the store can be used",
       .text = "Looks at the store's modes, owner and structure, the SQLite version, the disk and the configuration, and says what to do "
               "about what is wrong.",
       .options = {{"fix", V::none, "", "mend modes: directories 0700, files 0600"}},
       .examples = {{"weir doctor", "look"}, {"weir doctor --fix", "look and mend"}},
       .exits = {{3, "something is wrong"}},
       .run = run_doctor},
      {.name = "demo",
       .summary = "a guided tour on a throw-away store",
       .text = "Imports a bundled session into a store of its own, shows its tree, appends, forks, moves a head, verifies, and says what "
               "to type next. Touches nothing else.",
       .options = {{"keep", V::path, "DIR", "make the store there and leave it"}},
       .examples = {{"weir demo", "take the tour"}},
       .run = run_demo},
  };
}

std::vector<CommandSpec> sessions() {
  return {
      {.name = "session list",
       .summary = "list sessions",
       .text = "Every session with its entries, heads, barrier and where it was imported from.",
       .examples = {{"weir session list", "all sessions"}},
       .run = run_session_list},
      {.name = "session new",
       .summary = "make a session",
       .text = "Makes an empty session. Without an ID it gets a UUID. One that is there already is left as it is. Appending makes a "
               "session too.",
       .arguments = {{"ID", "name of the session", false}},
       .examples = {{"weir session new notes", "an empty session called notes"}},
       .exits = {kBadInput},
       .writes = true,
       .run = run_session_new},
      {.name = "session show",
       .summary = "show one session",
       .text = "Heads, barrier, number of entries and source of a session.",
       .arguments = {{"ID", "the session; else as --session", false}},
       .examples = {{"weir session show demo", "what is known of demo"}},
       .exits = {kNotThere},
       .run = run_session_show},
      {.name = "append",
       .summary = "append entries, all or none",
       .text = "Reads one entry, an array of entries or JSON Lines. An entry is {\"type\",\"body\",\"id\"?,\"parent\"?,\"at\"?}. With "
               "--type the input is the body itself. An entry goes under its parent, without one under the entry before it, the first "
               "under the head; the head then stands at the last one. The same id with the same content is a no-op. Secrets are masked "
               "before anything is stored.",
       .arguments = {{"FILE", "file to read; - or none: standard input", false}},
       .options = {{"type", V::text, "TYPE", "the input is the body of one entry of this type"},
                   {"id", V::text, "ID", "id of that entry"},
                   {"parent", V::text, "ENTRY", "its parent; 'root' for a new root"},
                   {"expect", V::text, "ENTRY", "append only if the head stands there ('root': before the first entry)"},
                   {"lenient", V::none, "", "store run events that break their rules, with warnings"},
                   {"no-mask", V::none, "", "store secrets as they are"}},
       .examples = {{"echo '{\"role\":\"user\",\"content\":\"hello\"}' | weir append --session demo --type message",
                     "a message from standard input"},
                    {"weir append --session demo entries.jsonl", "all lines of a file, or none"}},
       .exits = {kConflict, kBadInput},
       .writes = true,
       .run = run_append},
  };
}

std::vector<CommandSpec> paths() {
  return {
      {.name = "log",
       .summary = "the path to the head, newest first",
       .text = "The entries from a root to the head, or to --at.",
       .options = {{"type", V::text, "TYPE", "only entries of this type", true},
                   {"since", V::time, "TIME", "only entries at or after this time"},
                   {"limit", V::integer, "N", "at most N entries"},
                   {"reverse", V::none, "", "oldest first"},
                   {"follow", V::none, "", "go on with what is appended"}},
       .examples = {{"weir log --session demo --limit 5", "the last five entries"},
                    {"weir log --session demo --type compaction --json", "all barriers, as JSON Lines"}},
       .exits = {kNotThere},
       .stream = true,
       .run = run_log},
      {.name = "tree",
       .summary = "draw branches, barriers, heads and labels",
       .text = "The whole session as a tree. Runs of entries without a fork, barrier, head or label are drawn as one line. --goto moves "
               "the head, as 'head move' does.",
       .options = {{"all-types", V::none, "", "draw every entry"},
                   {"goto", V::text, "ENTRY", "move the head there first; 'root': before the first entry"}},
       .examples = {{"weir tree --session demo", "the tree at a glance"}},
       .exits = {kNotThere},
       .stream = true,
       .writes = true,
       .run = run_tree},
      {.name = "show",
       .summary = "show an entry or a blob",
       .text = "An entry with its body, or the bytes of a blob. What is shown is checked against its digest first.",
       .arguments = {{"WHAT", "an entry (id, pointer, node id, unique prefix of 4 characters, ID~3, or a head's name), or sha256:HEX"}},
       .options = {{"raw", V::none, "", "only the canonical body"}, {"resolve", V::none, "", "put blobs back in"}},
       .examples = {{"weir show main --session demo", "the entry main stands at"},
                    {"weir show main~1 --session demo --raw", "the body of the one before, as it is hashed"}},
       .exits = {kNotThere, {9, "it is damaged"}},
       .run = run_show},
      {.name = "history",
       .summary = "search before and after barriers",
       .text =
           "Searches the whole session, newest first: what lies before a compaction and on other branches too. All words must occur, "
           "in any order; case and accents do not matter. \"A phrase\" in quotes must occur as it stands, word* is the beginning of a "
           "word, and nothing else has a meaning. Searched are the strings of an entry's body, of a large one the first MiB. A match is "
           "before the barrier if it lies on the path to the head (or --at) and before its last compaction. A long session gets an "
           "index on first use, which later searches bring up to date; it is a cache.",
       .arguments = {{"QUERY", "words, \"a phrase\", a beginning*; or with --regex an expression"}},
       .options = {{"where", V::choice, "all|before|after", "before the barrier, from it on, or everything (default)"},
                   {"regex", V::none, "", "QUERY is a regular expression (RE2), case ignored unless it says (?-i); reads every entry"},
                   {"type", V::text, "TYPE", "only entries of this type", true},
                   {"limit", V::integer, "N", "at most N matches (default 20)"}},
       .examples = {{"weir history one --session demo --where before", "a word from before the barrier"},
                    {"weir history '\"so far\"' --session demo --type compaction", "a phrase, in summaries only"},
                    {"weir history --regex 't(wo|hree)' --session demo --limit 3 --json", "the three newest, as JSON Lines"}},
       .exits = {{1, "nothing matches"}, kNotThere, {6, "nothing to search for, or no regular expression"}},
       .stream = true,
       .progress = true,
       .run = run_history},
      {.name = "stats",
       .summary = "what a session is made of",
       .text = "Entries and bytes by type and role, turns, tool calls, compactions, masked secrets, and the store's size. Tokens are an "
               "estimate: four bytes each.",
       .examples = {{"weir stats --session demo", "figures of the path to main"}},
       .exits = {kNotThere},
       .run = run_stats},
  };
}

std::vector<CommandSpec> heads() {
  return {
      {.name = "head list",
       .summary = "list heads",
       .text = "Every head of the session and where it stands.",
       .examples = {{"weir head list --session demo", "all heads"}},
       .exits = {kNotThere},
       .run = run_head_list},
      {.name = "head move",
       .summary = "move a head",
       .text = "Navigation: the head stands at another entry afterwards and nothing is appended. --before goes to the parent of the entry, "
               "as agents do to rewrite a message.",
       .arguments = {{"NAME", "the head"}, {"ENTRY", "where to; 'root': before the first entry"}},
       .options = {{"before", V::none, "", "to the entry's parent"}, {"expect", V::text, "ENTRY", "only if the head stands there"}},
       .examples = {{"weir head move main main~2 --session demo", "two entries back"}},
       .exits = {kNotThere, kConflict},
       .writes = true,
       .run = run_head_move},
      {.name = "head fork",
       .summary = "make a head",
       .text = "A new head where --head stands, or at --at.",
       .arguments = {{"NAME", "name of the new head"}},
       .examples = {{"weir head fork try-2 --session demo", "a second head where main stands"}},
       .exits = {kNotThere, {5, "the name is taken"}},
       .writes = true,
       .run = run_head_fork},
      {.name = "head delete",
       .summary = "delete a head",
       .text = "Takes the name away; the entries stay. main cannot be deleted, nor can the only head there is.",
       .arguments = {{"NAME", "the head"}},
       .examples = {{"weir head delete try-2 --session demo --yes", "forget the name"}},
       .exits = {kNotThere},
       .writes = true,
       .destructive = true,
       .run = run_head_delete},
  };
}

std::vector<CommandSpec> files() {
  return {
      {.name = "read",
       .summary = "read a file through the cache",
       .text = "Prints the file, or some of its lines. In a session the answer is a short marker or a diff where the reader provably still "
               "holds the text: delivered on this path since the last compaction, and unchanged. What is printed is recorded in the "
               "session. Without a session the plain text, and nothing is recorded.",
       .arguments = {{"PATH", "the file; PATH:A-B for lines of it, PATH:A from there on"}},
       .options = {{"offset", V::text, "LINE", "the first line, from 1"},
                   {"limit", V::text, "N", "how many lines"},
                   {"bypass", V::none, "", "send the text whatever is known"},
                   {"no-record", V::none, "", "send the text and record nothing"},
                   {"request-id", V::text, "ID", "id of the entry; asked again, what it said is said again, or the text is sent"},
                   kRoot,
                   {"no-mask", V::none, "", "keep content with secrets for later diffs"}},
       .examples = {{"weir read src/main.cc --session demo", "a file; the second time a marker"},
                    {"weir read src/main.cc:10-19 --session demo", "ten lines of it"}},
       .exits = {kNotFile, {6, "a directory, too large, or no such lines"}, {7, "outside the roots, denied, or no regular file"}},
       .run = run_read},
      {.name = "refresh",
       .alias = "readcache-refresh",
       .summary = "withdraw trust in a file",
       .text = "The next read of the file sends the text whatever was shown before. With LINES the next read of a range that touches them "
               "does; a read of the whole file may still be a marker. Part of the log: it lasts.",
       .arguments = {{"PATH", "the file"}, {"LINES", "only these: A-B, or A for all from there on", false}},
       .options = {kRoot},
       .examples = {{"weir refresh src/main.cc --session demo", "forget that it was shown"}},
       .exits = {kBadInput},
       .writes = true,
       .run = run_refresh},
      {.name = "reads",
       .alias = "readcache-status",
       .summary = "what is trusted, and what that saved",
       .text = "Reads since the last compaction on the path to the head: counts by kind, bytes sent and saved against plain reads, and why "
               "content had to be sent again. With a PATH: which of its lines are held, in which version, shown by which entry.",
       .arguments = {{"PATH", "only this file", false}},
       .options = {kRoot},
       .examples = {{"weir reads --session demo", "the whole picture"}, {"weir reads src/main.cc --session demo", "one file"}},
       .exits = {kNotThere},
       .run = run_reads},
      {.name = "reads digest",
       .summary = "files read before the last compaction",
       .text = "What the reader held just before the compaction, and whether each file changed since. For a prompt after a compaction: "
               "information, never trust.",
       .options = {kRoot},
       .examples = {{"weir reads digest --session demo", "the list"}},
       .exits = {kNotThere},
       .run = run_reads_digest},
  };
}

const OptionSpec kCompileConfig{"compile-config", V::path, "FILE", "what is selected, limited, collapsed and shown, as JSON"};

std::vector<CommandSpec> compiling() {
  return {
      {.name = "compile",
       .summary = "stages and hashes of the path to the head",
       .text = "Compiles the path in four stages: RAW counts, SPEC says which nodes and why, HEADER shows them by hash and measure, FROZEN "
               "is the HEADER that replays compare. Nothing is written. With --profile breadboard-0.1 everything is computed as "
               "BreadBoard does at its schema 0.1; --records then reads its record file and needs no store.",
       .options = {{"stage", V::text, "STAGE", "only this one: RAW, SPEC, HEADER or FROZEN"},
                   {"profile", V::text, "PROFILE", "weir-1 or breadboard-0.1 (compile.profile)"},
                   kCompileConfig,
                   {"prompt-summary", V::path, "FILE", "what is known of the prompt, as JSON; its hash is in RAW (not with --tree)"},
                   {"tree", V::none, "", "as a tree of turns, tasks and nodes"},
                   {"collapse-target", V::integer, "N", "keep at most N nodes, the oldest are dropped (collapse.target)"},
                   {"collapse-mode", V::choice, "none|all_but_last", "what of them is collapsed (collapse.mode)"},
                   {"previews", V::none, "", "the beginning of each text, masked"},
                   {"full", V::none, "", "long lists whole; with --tree also what was left out"},
                   {"expect", V::path, "FILE", "compare with an output that was kept: exit 1 if it differs"},
                   {"records", V::path, "FILE", "a record file of BreadBoard, with --profile breadboard-0.1"}},
       .examples = {{"weir compile --session demo", "counts, reasons and hashes"},
                    {"weir compile --session demo --stage SPEC", "the selection, node by node"},
                    {"weir compile --session demo --json > kept.json && weir compile --session demo --expect kept.json",
                     "parity of a replay"}},
       .exits = {{1, "with --expect: not the same"}, kNotThere, kBadInput},
       .run = run_compile},
      {.name = "explain",
       .summary = "the rule that kept, dropped, pinned or collapsed each node",
       .text = "Every node of the path with its fate and the reason for it. A node is named by its id or by its entry's.",
       .arguments = {{"NODE", "only these", false, true}},
       .options = {kCompileConfig},
       .examples = {{"weir explain --session demo", "all nodes"}},
       .exits = {kNotThere, kBadInput},
       .run = run_explain},
      {.name = "context",
       .summary = "the next prompt, within a budget, with its manifest",
       .text =
           "The messages of the next model call at the head: system pins first, then what a compaction carried over, what was kept, and "
           "the latest request with what followed it. Tool calls stay with their results. An entry CONTEXT_MANIFEST_WRITTEN records what "
           "was included and what was left out and why; if it cannot be appended, nothing is answered. For people the items are listed; "
           "--json has the messages. --dry-run and --at write nothing.",
       .options = {{"budget", V::size, "SIZE", "bytes of the prompt (context.budget)"},
                   {"format", V::text, "FORMAT", "anthropic, openai or plain (context.format)"},
                   {"context-config", V::path, "FILE", "everything that can be set, as JSON"},
                   {"request", V::path, "FILE", "intent, retrieval, chunks and tools, as JSON"},
                   {"allow-over-budget", V::none, "", "answer even if what must be in is larger than the budget"}},
       .examples = {{"weir context --session demo --budget 60kb --format openai --json", "messages for the next call"},
                    {"weir context --session demo --dry-run", "look, and record nothing"}},
       .exits = {{5, "the head moved twice meanwhile"},
                 {6, "wrong settings, or what must be in is over the budget"},
                 {8, "the run has ended"},
                 kNotThere},
       .writes = true,
       .run = run_context},
      {.name = "diff",
       .summary = "the first difference of two paths, and its cause",
       .text = "A and B are SESSION, SESSION@HEAD or SESSION@ENTRY, or a file that 'weir compile --json' wrote. The first node that "
               "differs is found by halving on chain values. Hashes of two profiles are not comparable, which is an error.",
       .arguments = {{"A", "one side"}, {"B", "the other"}},
       .options = {{"what", V::text, "WHAT", "stages (default), context or entries"},
                   kCompileConfig,
                   {"previews", V::none, "", "also the beginning of texts that differ, masked"}},
       .examples = {{"weir diff demo demo@main --what entries", "two places of the log, entry by entry"},
                    {"weir diff demo kept.json", "now and an output kept earlier"}},
       .exits = {{1, "they differ"}, kNotThere, kBadInput},
       .run = run_diff},
  };
}

const ExitSpec kGate{8, "a snapshot fails its checks, or the run has ended"};
const OptionSpec kNarrativeBytes{"max-bytes", V::size, "SIZE", "bytes of the narrative (32 KiB); 0: no bound"};

std::vector<CommandSpec> runs() {
  return {
      {.name = "note",
       .summary = "record a claim, evidence, conflict, question, failure or the next actions",
       .text =
           "Says it as a run event, so that it survives a compaction: claim add, verify, downgrade, retract; evidence add, attach, detach, "
           "withdraw; conflict add, resolve; question add, close; failure add, resolve; next. The operation is the second word, add if "
           "there is none; then comes the id where one is meant, then the text, or for verify, attach, detach and next the refs. Without "
           "an id a claim is c1, c2, ..., a conflict k1, a question q1. A step the run does not allow is refused, and nothing is stored. "
           "Other run events go through 'weir append'.",
       .arguments = {{"KIND", "claim, evidence, conflict, question, failure or next", true, false,
                      "claim|evidence|conflict|question|failure|next"},
                     {"WORDS", "operation, id, text or refs", false, true}},
       .options = {{"op", V::text, "OP", "the operation, instead of a word"},
                   {"id", V::text, "ID", "of the claim, evidence, conflict, question or failure"},
                   {"text", V::text, "TEXT", "statement, quote, description, question, reason, resolution or why"},
                   {"refs", V::text, "REF", "evidence to verify with or of side A, claims to attach to, or an action; again for more",
                    true},
                   {"other", V::text, "REF", "evidence of side B; again for more", true},
                   {"category", V::text, "WORD", "of a failure, which needs one"},
                   {"where", V::text, "TEXT", "of a failure, which needs one"},
                   {"span", V::text, "CHUNK:A-B", "what evidence quotes, in bytes of the chunk"}},
       .examples = {{"weir note question --session notes 'Which rounding rule holds?'", "an open question"},
                    {"weir note claim --session notes 'Cents round half to even'", "a candidate claim"},
                    {"weir note next --session notes 'Read the order parser' 'Write the test'", "what comes next"}},
       .exits = {kBadInput, {8, "the run has ended"}},
       .writes = true,
       .run = run_note},
      {.name = "due",
       .summary = "is a compaction due?",
       .text = "Counts since the last compaction on the path: finished plans, actions and observations, once per step and kind, and steps. "
               "The thresholds stand in the log (RUN_STARTED, THRESHOLDS_SET); the options only ask what would be.",
       .options = {{"event-threshold", V::integer, "N", "counted events"}, {"n-step-fallback", V::integer, "N", "steps"}},
       .examples = {{"weir due --session demo --event-threshold 1 || echo 'not yet'", "would it be, with another threshold?"}},
       .exits = {{1, "not due"}, kNotThere},
       .run = run_due},
      {.name = "compact",
       .summary = "build and check a snapshot, and make it the barrier",
       .text =
           "Folds the path into a snapshot: objective, claims with their evidence, conflicts, questions, failures, requests, pins, files, "
           "commands. 25 checks hold it against the log, and only one that passes all is kept. One that fails is tried once more from "
           "the root; failing again stops the run until a person resumes it. Nothing is deleted: a head moved before the barrier sees "
           "the earlier context. Doing it again without news answers the snapshot that is there.",
       .options = {{"if-due", V::none, "", "only if 'weir due' says so"},
                   kNarrativeBytes,
                   {"reason", V::choice, "manual|egress", "why, if not because it is due; egress: the last one before the run stops"},
                   {"expect", V::text, "ENTRY", "only if the head stands there"},
                   {"first-kept", V::text, "ENTRY", "a host keeps what follows this entry; may lie inside a step"},
                   {"tokens-before", V::integer, "N", "the host's count, kept with the entry"}},
       .examples = {{"weir compact --session demo --dry-run", "look at the snapshot, write nothing"},
                    {"weir compact --session demo --if-due --json", "make one, where it is time"}},
       .exits = {kConflict, {6, "nothing to compact"}, kGate, kNotThere},
       .writes = true,
       .run = run_compact},
  };
}

std::vector<CommandSpec> snapshots() {
  return {
      {.name = "snapshot list",
       .summary = "the snapshots of a path",
       .text = "Those that are in force on the path to the head, oldest first.",
       .examples = {{"weir snapshot list --session demo", "all of them"}},
       .exits = {kNotThere},
       .run = run_snapshot_list},
      {.name = "snapshot attach",
       .summary = "give a host's compaction a snapshot",
       .text = "A host's summary proves nothing. This builds the snapshot that belongs to it, cut right before it, and records it if it "
               "passes its checks. 'weir due' names the compaction that lacks one.",
       .arguments = {{"ENTRY", "the compaction; default the nearest without a snapshot", false}},
       .options = {kNarrativeBytes},
       .examples = {{"weir snapshot attach --session demo", "to the nearest that has none"}},
       .exits = {kConflict, kBadInput, kGate, kNotThere},
       .writes = true,
       .run = run_snapshot_attach},
      {.name = "snapshot show",
       .summary = "one snapshot, complete",
       .text = "The state as JSON: what is hashed, what the checks said, and where it stands in this log.",
       .arguments = {{"N", "its number, id or entry; default the last", false}},
       .examples = {{"weir snapshot show 1 --session demo --json", "the first"}},
       .exits = {kNotThere},
       .run = run_snapshot_show},
      {.name = "snapshot check",
       .summary = "hold a snapshot against the log",
       .text =
           "Any file in, a verdict out: 25 checks in order, the log replayed from its root. The session is the one named, else the one the "
           "file names.",
       .arguments = {{"FILE", "a file, - for standard input, or a snapshot's number"}},
       .examples = {{"weir snapshot check 1 --session demo", "is it still what the log gives?"}},
       .exits = {kGate, kNotThere},
       .run = run_snapshot_check},
      {.name = "snapshot narrative",
       .summary = "a snapshot as a page to read",
       .text = "Rendered from the snapshot and nothing else; the same snapshot gives the same bytes. Without --max-bytes as it was stored.",
       .arguments = {{"N", "its number, id or entry; default the last", false}},
       .options = {kNarrativeBytes},
       .examples = {{"weir snapshot narrative 1 --session demo --max-bytes 16kib", "at most 16 KiB of it"}},
       .exits = {{6, "it cannot be made that short"}, kNotThere},
       .run = run_snapshot_narrative},
  };
}

std::vector<CommandSpec> stops() {
  return {
      {.name = "stop",
       .summary = "end a run",
       .text = "Run events and compactions are refused on this path from here on, until a person resumes it; messages and reads are still "
               "recorded.",
       .options = {{"reason", V::choice, "OBJECTIVE_ACHIEVED|BUDGET_EXCEEDED|NO_EVIDENCE|HUMAN_REQUESTED|SYSTEM_ERROR",
                    "why (HUMAN_REQUESTED)"}},
       .examples = {{"weir stop --session notes --reason OBJECTIVE_ACHIEVED", "done"}},
       .exits = {{8, "the run has ended already"}, kNotThere},
       .writes = true,
       .run = run_stop},
      {.name = "resume",
       .summary = "open a stopped run again, by a person",
       .text =
           "The way back after 'weir stop' or a compaction that failed twice. --forgive names entries whose illegal events are no longer "
           "counted.",
       .options = {{"note", V::text, "TEXT", "why"}, {"forgive", V::text, "POINTER", "an entry pointer", true}},
       .examples = {{"weir resume --session notes --note 'one more round'", "go on"}},
       .exits = {{6, "there is no stop"}, kNotThere},
       .writes = true,
       .run = run_resume},
  };
}

std::vector<CommandSpec> exchange() {
  return {
      {.name = "import",
       .summary = "import an agent's session file",
       .text = "Reads the file as a stream and adopts it in one transaction: what cannot be read is kept and counted, nothing is lost. "
               "Again: the same file adds nothing, a longer one the rest; a changed old line is refused.",
       .arguments = {{"FORMAT", "whose file it is", true, false, "pi", true}, {"FILE", "the file; -: standard input", true, true}},
       .options = {{"as", V::text, "ID", "session to import into; else the file's own id"},
                   {"follow", V::none, "", "go on as the file grows, until interrupted"},
                   {"strict", V::none, "", "refuse a file with unknown, malformed or orphaned lines"},
                   {"no-mask", V::none, "", "store secrets as they are"}},
       .examples = {{"weir import pi session.jsonl", "a session of pi"},
                    {"weir import pi session.jsonl --as copy --dry-run", "what would come of it"}},
       .exits = {{3, "refused by --strict"}, {5, "a line imported earlier has changed"}, kBadInput},
       .stream = true,
       .writes = true,
       .progress = true,
       .run = run_import},
      {.name = "sync",
       .summary = "take over what a host's own log has new",
       .text = "For a host that owns its log. Reads {\"format\",\"session\",\"since\",\"entries\",\"leaf\"} from a file or standard input; "
               "answers what was accepted and known, and where the host may go on.",
       .options = {{"format", V::text, "pi", "the host's format"},
                   {"file", V::path, "FILE", "read from there; -: standard input"},
                   {"no-mask", V::none, "", "store secrets as they are"}},
       .examples = {{"weir sync --format pi --file sync.json", "hand over new entries"}},
       .exits = {{4, "an unknown since, parent or leaf: send from `last` on"}, kConflict, kBadInput},
       .writes = true,
       .progress = true,
       .run = run_sync},
      {.name = "export",
       .summary = "write a session out",
       .text = "As Weir's entries (jsonl), or as pi's JSON Lines version 3: imported lines are given back whole, others become custom "
               "lines that an import turns back.",
       .options = {{"format", V::choice, "jsonl|pi", "what to write (default jsonl)"},
                   {"path", V::none, "", "only the path to the head"},
                   {"all", V::none, "", "every branch (the default)"},
                   {"output", V::path, "FILE", "write there; -o for short"}},
       .examples = {{"weir export --session demo --format pi --output copy.jsonl", "a file pi can open"}},
       .exits = {kNotThere},
       .stream = true,
       .progress = true,
       .run = run_export},
  };
}

std::vector<CommandSpec> upkeep() {
  return {
      {.name = "verify",
       .summary = "re-read everything and name what is damaged",
       .text = "Checks the database's structure, every row, parent and head, the chain of digests and every blob. Exit 0 if all is sound. "
               "With --anchor it also says whether everything that was anchored is still there, or names what is gone, shorter or changed.",
       .options = {{"quick", V::none, "", "rows, parents and heads only"},
                   {"sample", V::text, "P%", "re-hash that share of bodies and blobs"},
                   {"anchor", V::path, "FILE", "compare with an anchor that was kept; -: standard input"},
                   {"key", V::path, "FILE", "with --anchor, the verifier key it must be signed by (default the store's own)"},
                   {"unsigned", V::none, "", "with --anchor, do not look at signatures"}},
       .examples = {{"weir verify", "everything"},
                    {"weir verify --sample 5%", "a twentieth of it"},
                    {"weir anchor --out today.anchor && weir verify --quick --anchor today.anchor", "nothing of it is gone"}},
       .exits = {{1, "the note alone cannot say"},
                 {3, "something is damaged, or gone since it was anchored"},
                 {6, "no anchor, or its signature does not hold"}},
       .stream = true,
       .progress = true,
       .run = run_verify},
      {.name = "anchor",
       .summary = "sign what the store holds, to be kept elsewhere",
       .text =
           "Prints a checkpoint of a few signed lines: how many sessions there are and a Merkle root over them, their lengths, last "
           "digests "
           "and heads. Kept where the store's owner cannot change it, it shows later that a session was removed, cut or rewritten, which "
           "verify alone cannot see. --out adds the list of sessions by which verify names what is gone. The key is made on first use, in "
           "the store's directory.",
       .options = {{"out", V::path, "FILE", "write the note and its list of sessions there; -: standard output"},
                   {"hide-names", V::none, "", "the list holds hashes instead of the names of sessions and heads"},
                   {"key", V::path, "FILE", "sign with the key in this file"},
                   {"unsigned", V::none, "", "do not sign"},
                   {"verifier-key", V::none, "", "print the key that signatures are checked with, and no anchor"}},
       .examples = {{"weir anchor", "the note alone"},
                    {"weir anchor --out store.anchor", "with the list of sessions"},
                    {"weir anchor --verifier-key", "what to check it with"}},
       .exits = {{6, "no key to sign with"}, {9, "the store is damaged"}},
       .writes = true,
       .run = run_anchor},
      {.name = "gc",
       .summary = "remove objects nothing refers to",
       .text = "Removes blobs that no entry names and temporary files older than an hour.",
       .examples = {{"weir gc --dry-run", "what would go"}},
       .writes = true,
       .progress = true,
       .run = run_gc},
      {.name = "purge",
       .summary = "remove a session, or one blob's bytes, for good",
       .text = "Removes every row of the session and every object only it refers to, and overwrites them on disk. With --blob only those "
               "bytes go: the entry stays, and verify calls the blob purged, not damaged.",
       .options = {{"blob", V::text, "sha256:HEX", "only this blob's bytes"},
                   {"vacuum", V::none, "", "with --blob, rewrite the database too; a purged session always does"}},
       .examples = {{"weir purge --session notes --yes", "remove the session notes"}},
       .exits = {kNotThere},
       .writes = true,
       .destructive = true,
       .progress = true,
       .run = run_purge},
      {.name = "backup",
       .summary = "copy a live store and verify the copy",
       .text = "A consistent copy of the store, made while others write. The directory must be missing or empty.",
       .arguments = {{"DIR", "where to"}},
       .examples = {{"weir backup backup-1", "a verified copy"}},
       .exits = {{9, "the copy does not verify"}},
       .writes = true,
       .progress = true,
       .run = run_backup},
  };
}

const OptionSpec kConformance{"conformance", V::none, "", "an empty store in memory and the fixtures of MCP's public test suite"};
const OptionSpec kReadToken{"read", V::none, "", "the token that grants reading only, in the file beside it"};
const ExitSpec kUnusable{10, "the store, the token file or the address cannot be used"};

std::vector<CommandSpec> servers() {
  return {
      {.name = "mcp",
       .summary = "answer an agent over MCP, on standard input and output",
       .text = "The Model Context Protocol in all its revisions, one JSON object a line; agents start it themselves. Tools that name no "
               "session work in that of --session or WEIR_SESSION. Files are read below the roots only, and none of the deny list. "
               "Standard output carries nothing else; the log goes to standard error (log.level, log.format). Once started it can open "
               "no other files, run no program and connect to nothing, where the kernel can see to that. It ends with its input.",
       .options = {kRoot, {"host", V::none, "", "also answer weir/<operation> for every operation of the HTTP API"}, kConformance},
       .examples = {{"weir mcp --root src", "what an agent's configuration starts"}},
       .exits = {{10, "the store cannot be used"}},
       .run = run_mcp},
      {.name = "serve",
       .summary = "answer programs over HTTP, and agents at /mcp",
       .text = "Prints its address, the file with the token and what agents are to be told, and serves until it is interrupted; what is "
               "under way then gets ten seconds. Every request needs the token, which the first start makes. No file can be read unless "
               "--root, WEIR_ROOTS or read.roots allows it. An address beyond this machine is warned of. Once started it can open no "
               "other files, run no program and connect to nothing, where the kernel can see to that.",
       .options = {{"listen", V::text, "ADDR:PORT|unix:PATH", "where (http.listen, WEIR_LISTEN; default 127.0.0.1:7717)"},
                   {"read-only", V::none, "", "open the store for reading and refuse to write"},
                   {"root", V::path, "DIR", "directory that may be read (WEIR_ROOTS; default none)", true},
                   kConformance},
       .examples = {{"weir serve", "on 127.0.0.1:7717"},
                    {"weir serve --listen unix:weir.sock --root src --read-only", "on a socket, for looking only"}},
       .exits = {{11, "the address is taken"}, kUnusable},
       .run = run_serve},
      {.name = "token show",
       .summary = "print the server's bearer token",
       .text = "To a terminal, or anywhere with --yes. The token stands in http.token_file (WEIR_TOKEN_FILE), by default "
               "$XDG_STATE_HOME/weir/token.",
       .options = {kReadToken, {"yes", V::none, "", "also where no terminal is"}},
       .examples = {{"weir token show --yes", "for a script: WEIR_TOKEN=$(weir token show --yes)"}},
       .exits = {{4, "there is none yet"}, {7, "no terminal and no --yes"}, {10, "the file is open to others, or no token"}},
       .run = run_token_show},
      {.name = "token rotate",
       .summary = "make a new bearer token and print it",
       .text = "Replaces the token, whole or not at all. A server that runs keeps the one it started with. With --read it makes the token "
               "that grants reading only, which nobody has until then.",
       .options = {kReadToken},
       .examples = {{"weir token rotate --yes", "a new token"}, {"weir token rotate --read --yes", "one for those who only look"}},
       .exits = {{7, "no terminal and no --yes"}},
       .writes = true,
       .destructive = true,
       .run = run_token_rotate},
  };
}

std::vector<CommandSpec> settings() {
  return {
      {.name = "config show",
       .summary = "show the configuration",
       .text = "Every key with its value, or one. Flag, then environment, then the project's .weir/config.toml, then the user's, then the "
               "default.",
       .arguments = {{"KEY", "only this key", false}},
       .options = {{"origin", V::none, "", "also where each value comes from"}},
       .examples = {{"weir config show --origin", "everything, with origins"}},
       .exits = {kBadInput},
       .run = run_config_show},
      {.name = "config check",
       .summary = "check the configuration files",
       .text = "Reads the files and names what a project's file may not set and was ignored.",
       .examples = {{"weir config check", "look"}},
       .exits = {{3, "something in a project's file was ignored"}, kBadInput},
       .run = run_config_check},
      {.name = "config path",
       .summary = "show where configuration is read from",
       .text = "The user's file and the project's, and whether they are there.",
       .examples = {{"weir config path", "the places"}},
       .run = run_config_path},
      {.name = "completions",
       .summary = "print shell completions",
       .text = "A script for the shell to source.",
       .arguments = {{"SHELL", "for which shell", true, false, "bash|zsh|fish"}},
       .examples = {{"weir completions bash", "for bash"}},
       .run = run_completions},
      {.name = "help",
       .summary = "show help",
       .text = "All commands, or one in full. --man without a command is the page of weir itself.",
       .arguments = {{"COMMAND", "the command", false, true}},
       .options = {{"man", V::none, "", "as a man page"}, {"markdown", V::none, "", "the reference page of all commands"}},
       .examples = {{"weir help append", "all about append"}},
       .run = run_help},
  };
}

std::vector<CommandSpec> make_table() {
  std::vector<CommandSpec> table;
  for (const auto& group : {first_steps(), sessions(), paths(), heads(), files(), compiling(), runs(), snapshots(), stops(),
                            research_commands(), exchange(), upkeep(), servers(), settings()}) {
    table.insert(table.end(), group.begin(), group.end());
  }
  return table;
}

}  // namespace

const std::vector<CommandSpec>& commands() {
  static const std::vector<CommandSpec> table = make_table();
  return table;
}

const std::vector<OptionSpec>& common_options() {
  static const std::vector<OptionSpec> options = {
      {"store", V::path, "DIR", "directory of the store (WEIR_STORE)"},
      {"session", V::text, "ID", "the session (WEIR_SESSION; else the store's only one)"},
      {"head", V::text, "NAME", "the head (WEIR_HEAD; default main)"},
      {"at", V::text, "ENTRY", "an entry instead of a head, for reading"},
      {"json", V::none, "", "machine-readable output"},
      {"quiet", V::none, "", "no diagnostics below errors"},
      {"verbose", V::none, "", "more diagnostics"},
      {"color", V::choice, "auto|always|never", "colours (NO_COLOR turns them off too)"},
      {"config", V::path, "FILE", "the user's configuration file (WEIR_CONFIG)"},
      {"timeout", V::duration, "SECONDS", "give up after this long"},
      {"help", V::none, "", "this command's help"},
      {"version", V::none, "", "the program's version"},
  };
  return options;
}

std::vector<OptionSpec> all_options(const CommandSpec& command) {
  std::vector<OptionSpec> out = command.options;
  if (command.writes) out.push_back({"dry-run", V::none, "", "all checks and the same output, nothing stored"});
  if (command.destructive) out.push_back({"yes", V::none, "", "do not ask"});
  if (command.progress) {
    out.push_back({"progress", V::choice, "auto|json", "progress as JSON Lines on standard error (WEIR_PROGRESS)"});
    out.push_back({"no-progress", V::none, "", "no progress"});
  }
  out.insert(out.end(), common_options().begin(), common_options().end());
  return out;
}

const CommandSpec* find_command(std::string_view name) {
  const auto& table = commands();
  const auto it = std::find_if(table.begin(), table.end(), [&](const CommandSpec& command) {
    return command.name == name || (!name.empty() && command.alias == name);
  });
  return it == table.end() ? nullptr : &*it;
}

std::string_view refusal(const CommandSpec& command, std::string_view option) {
  const auto it = std::find_if(std::begin(kRefusals), std::end(kRefusals),
                               [&](const Refusal& refusal) { return refusal.command == command.name && refusal.option == option; });
  return it == std::end(kRefusals) ? std::string_view() : it->why;
}

const CommandSpec* default_command(std::string_view first_word) {
  for (const CommandSpec& command : commands()) {
    if (command.name.size() > first_word.size() && command.name.starts_with(first_word) && command.name[first_word.size()] == ' ')
      return &command;
  }
  return nullptr;
}

}  // namespace weir::cli
