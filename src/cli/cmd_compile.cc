// compile, explain, diff: what the context compiler makes of a path, and why.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/secrets.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "ctree/reason.h"
#include "json/parse.h"
#include "service/compile.h"
#include "service/diff.h"
#include "service/render.h"

namespace weir::cli {
namespace {

using json::Value;

// Of an option that is one of these, with | between.
Error unknown_word(std::string_view option, std::string_view given, std::string_view choices) {
  std::string list;
  for (const char c : choices) list += c == '|' ? ", " : std::string(1, c);
  const std::string why = "must be one of " + list + ", is '" + masked_excerpt(given, 40) + "'" + did_you_mean(given, choices);
  return Error(ErrorCode::INVALID_FIELD, "--" + std::string(option) + ": " + why).with_fields({{"/" + std::string(option), why}});
}

// The file of --compile-config over the store's own settings; CONFIG_INVALID names every fault.
Result<ctree::CompileConfig> compile_config(Run& run, Service& service) {
  ctree::CompileConfig config = compile_defaults(service);
  if (const auto file = run.option("compile-config")) {
    TRY(const std::string text, run.read_input(*file, limits::kConfigBytes));
    json::Parser parser;
    auto parsed = parser.parse(text);
    if (!parsed.ok()) return std::move(parsed).error().with("file", *file);
    const Value value = *parsed;
    TRY(config, ctree::CompileConfig::parse(value, config));
  }
  if (run.flag("previews")) config.previews = true;
  if (const auto target = run.number("collapse-target")) config.collapse.target = *target;
  if (const auto mode = run.option("collapse-mode")) config.collapse.all_but_last = *mode == "all_but_last";
  return config;
}

Result<std::string> profile_of(Run& run) {
  TRY(const Config* const config, run.config());
  const std::string profile = run.option("profile").value_or(config->text("compile.profile"));
  if (profile != ctree::kProfile && profile != ctree::kForeignProfile) return unknown_word("profile", profile, "weir-1|breadboard-0.1");
  return profile;
}

Style style_of(ctree::Reason reason) {
  if (ctree::is_pin(reason)) return Style::cyan;
  if (ctree::is_kept(reason)) return Style::green;
  return ctree::is_dropped(reason) ? Style::yellow : Style::dim;
}

std::string place_of(const Compilation& at) {
  return printable(at.located.session.id.str()) + (at.entry.str().empty() ? "" : " at " + printable(at.entry.str()));
}

void print_summary(Run& run, const Compilation& at) {
  const ctree::Compiled& compiled = at.compiled;
  const ctree::Selection& s = compiled.selection;
  const auto& paint = run.paint();
  run.line(paint(Style::bold, place_of(at)) + "  " + paint(Style::dim, compiled.schema_version));
  run.line(fmt::format("  {:<10} {:>8}", "nodes", grouped(compiled.nodes)));
  for (std::size_t i = 0; i < ctree::kReasons; ++i) {
    const auto reason = static_cast<ctree::Reason>(i);
    if (s.counts[i] == 0) continue;
    const std::string_view fate = ctree::is_kept(reason) ? "kept" : ctree::is_dropped(reason) ? "dropped" : "outside";
    run.line(fmt::format("  {:<10} {:>8}  {}  {}", fate, grouped(s.counts[i]),
                         paint(style_of(reason), share_bar(s.counts[i], compiled.nodes, 20)), ctree::name(reason)));
  }
  if (!s.collapsed.empty())
    run.line(fmt::format("  {:<10} {:>8}  of the kept ones, {}", "collapsed", grouped(s.collapsed.size()), ctree::kCollapseReason));
  run.line(fmt::format("  {:<10} {:>8}  about {} tokens, {} turns", "used", human_bytes(s.used.bytes), grouped(s.used.tokens),
                       grouped(s.used.turns)));
  for (const ctree::OverBudget& over : s.over_budget) {
    run.line(paint(Style::red, fmt::format("  over {}: pins alone need {}, {} is allowed", over.limit, over.pinned, over.allowed)));
  }
  for (const std::string& warning : compiled.warnings) run.line(paint(Style::yellow, "  warning    " + warning));
  const auto hash = [&](std::string_view name, std::string_view of, const Digest& digest) {
    run.line(fmt::format("  {:<10} {:<9} {}", name, of, digest.hex()));
  };
  hash("node_hash", "", compiled.node_hash);
  hash("selection", "", compiled.selection_sha256);
  for (int i = 0; i < 4; ++i) hash("z" + std::to_string(i + 1), ctree::kStageNames[i], compiled.z[i]);
}

// ---- the tree ----

void draw_view(Run& run, const Value& tree) {
  std::map<std::string_view, std::vector<const Value*>> below;
  std::set<std::string_view> parents;
  for (const Value& node : tree.find("nodes")->items()) parents.insert(node.text_or("parent_id", ""));
  for (const Value& node : tree.find("nodes")->items()) {
    const bool empty_turn = node.text_or("kind", "") == "turn" && !parents.contains(node.text_or("id", ""));
    if (!empty_turn) below[node.text_or("parent_id", "")].push_back(&node);
  }
  const auto& paint = run.paint();
  const auto draw = [&](auto&& self, const Value& node, const std::string& lead, const std::string& next) -> void {
    const Value& meta = *node.find("meta");
    const bool leaf = meta.find("digest") != nullptr;
    std::string text = lead + (leaf ? "" : paint(Style::bold, printable(node.text_or("label", ""))));
    if (leaf) {
      const std::string id(node.text_or("id", ""));
      text += fmt::format("{}  {}  {}", id.substr(std::string_view("ctrees:node:").size()), printable(node.text_or("label", "")),
                          paint(Style::dim, human_bytes(static_cast<std::uint64_t>(meta.find("bytes")->integer())) + "  " +
                                                std::string(meta.text_or("reason", ""))));
      if (const Value* preview = meta.find("preview")) text += "  " + paint(Style::dim, fitted(preview->text(), 60));
    }
    run.line(text);
    const auto children = below.find(node.text_or("id", ""));
    if (children == below.end()) return;
    for (std::size_t i = 0; i < children->second.size(); ++i) {
      const bool last = i + 1 == children->second.size();
      self(self, *children->second[i], next + (last ? "└─ " : "├─ "), next + (last ? "   " : "│  "));
    }
  };
  draw(draw, tree.find("nodes")->items()[0], "", "");
}

Result<int> check_expectation(Run& run, const Compilation& at, const std::string& file) {
  TRY(const std::string text, run.read_input(file, limits::kGiB));
  auto compared = compare_with_output(at, text);
  if (!compared.ok()) return std::move(compared).error().with("file", file);
  const Expectation& expectation = *compared;
  if (run.json()) {
    run.object(Value::raw(expectation.text));
  } else {
    run.line(expectation.met ? run.paint()(Style::green, "the same: z4 and selection_sha256 agree")
                             : run.paint()(Style::red, "not the same") + " " + expectation.text);
  }
  return expectation.met ? 0 : 1;
}

Result<int> compile_own(Run& run) {
  TRY(const Address address, run.address());
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const ctree::CompileConfig config, compile_config(run, *service));
  const auto stage = run.option("stage");
  if (stage && !ctree::parse_stage(*stage)) return unknown_word("stage", *stage, "RAW|SPEC|HEADER|FROZEN");
  json::Parser prompts;
  std::string prompt;
  CompileQuery query{.address = address, .config = config, .full = run.flag("full")};
  if (const auto file = run.option("prompt-summary")) {
    TRY(prompt, run.read_input(*file, limits::kConfigBytes));
    auto parsed = prompts.parse(prompt);
    if (!parsed.ok()) return std::move(parsed).error().with("file", *file);
    query.prompt_summary = *parsed;
  }
  TRY(const Compilation at, compile_at(*service, query));
  if (const auto file = run.option("expect")) return check_expectation(run, at, *file);
  json::Arena arena;
  // Previews are for people to look at: without a stage they are shown where they belong.
  if (run.flag("tree") || (run.flag("previews") && !stage && !run.json())) {
    TRY(const Value tree, ctrees_tree(*service, at, stage.value_or("FROZEN"), run.flag("full") ? "all" : "selected", arena));
    if (run.json()) {
      run.object(tree);
    } else {
      draw_view(run, tree);
    }
  } else if (run.json()) {
    run.object(stage ? stage_json(at, *ctree::parse_stage(*stage), arena) : at.compiled.to_json(arena));
  } else if (stage) {
    json::Parser parser;
    TRY(const Value shown, parser.parse_stored(at.compiled.stages[static_cast<int>(*ctree::parse_stage(*stage))]));
    run.line(printable(json::pretty(shown), true));
  } else {
    print_summary(run, at);
  }
  return 0;
}

// ---- diff ----

// SESSION, SESSION@HEAD or SESSION@ENTRY, or a file that holds an output.
Result<DiffSide> diff_side(Run& run, const std::string& word, bool& store_needed) {
  DiffSide side;
  const std::size_t at = word.find('@');
  if (at == std::string::npos) {
    if (const auto st = run.doors().files.stat(word); st.ok() && st->kind == FileStat::Kind::regular) {
      TRY(side.stored, run.read_input(word, limits::kGiB));
      return side;
    }
  }
  store_needed = true;
  Address address;
  const std::string session = word.substr(0, at);
  if (session.empty()) {
    TRY(address.session, run.session(Store::Access::read));
  } else {
    auto id = SessionId::parse(session);
    if (!id.ok() && session.find('/') != std::string::npos)
      return Error(ErrorCode::NOT_FOUND, "no file '" + printable(word) + "'").with("path", word);
    TRY(address.session, std::move(id));
  }
  TRY(address.head, run.head());
  if (at != std::string::npos) address.at = word.substr(at + 1);
  address.people = true;
  side.address = std::move(address);
  return side;
}

std::string_view word_of(const Value& object, std::string_view key) { return object.text_or(key, "-"); }

void print_node_side(Run& run, std::string_view name, const Value& side) {
  if (side.find("node_id") == nullptr && side.find("entry_id") == nullptr) {
    run.line(fmt::format("  {}  {}", name, run.paint()(Style::dim, "not there")));
  } else if (side.find("node_id") != nullptr) {
    const Value* turn = side.find("turn");
    run.line(fmt::format("  {}  {}  {}{}  {}", name, word_of(side, "node_id"), printable(word_of(side, "kind")),
                         turn != nullptr && turn->is_integer() ? fmt::format("  turn {}", turn->integer()) : "",
                         run.paint()(Style::dim, printable(word_of(side, "entry_id")))));
  } else {
    run.line(fmt::format("  {}  {}  {}", name, printable(word_of(side, "entry_id")), printable(word_of(side, "type"))));
  }
}

void print_diff(Run& run, const Value& answer) {
  const bool equal = answer.find("equal")->boolean();
  run.line(equal ? run.paint()(Style::green, "equal") : run.paint()(Style::red, "different"));
  const Value* common = answer.find("common_nodes") != nullptr ? answer.find("common_nodes") : answer.find("common_entries");
  if (common != nullptr && common->is_integer())
    run.line(fmt::format("  {} {} in common", grouped(static_cast<std::uint64_t>(common->integer())),
                         answer.find("common_nodes") != nullptr ? "nodes" : "entries"));
  if (const Value* first = answer.find("first_divergence"); first != nullptr && first->is_object()) {
    std::string cause;
    for (const Value& word : first->find("cause")->items()) cause += (cause.empty() ? "" : ", ") + std::string(word.text());
    run.line("  first difference: " + run.paint()(Style::yellow, cause));
    print_node_side(run, "a", *first->find("a"));
    print_node_side(run, "b", *first->find("b"));
    for (const Value& field : first->find("fields") == nullptr ? std::span<const Value>() : first->find("fields")->items()) {
      const auto side = [&](std::string_view key) {
        const Value& of = *field.find(key);
        const Value* len = of.find("len");
        if (len == nullptr) return std::string("-");
        const std::string text = of.find("text") == nullptr ? "" : " " + fitted(of.text_or("text", ""), 60);
        return fmt::format("{} ({}){}", word_of(of, "hash").substr(0, 12), len->integer(), text);
      };
      run.line(fmt::format("     {}  {} | {}", printable(word_of(field, "path")), side("a"), side("b")));
    }
  }
  if (const Value* first = answer.find("first_divergence"); !equal && first != nullptr && first->is_null())
    run.line(
        run.paint()(Style::dim, "  a kept output has hashes, not nodes: SESSION@ENTRY on both sides names the first node that differs"));
  if (const Value* config = answer.find("config")) {
    for (const Value& change : config->items()) {
      run.line(fmt::format("  config {}  {} | {}", printable(word_of(change, "path")), printable(json::canonical(*change.find("a"))),
                           printable(json::canonical(*change.find("b")))));
    }
  }
  if (const Value* selection = answer.find("selection")) {
    for (const std::string_view key : {"only_a", "only_b", "reason_changed"}) {
      if (const std::size_t count = selection->find(key)->items().size(); count > 0)
        run.line(fmt::format("  selection {}  {} nodes", key, grouped(count)));
    }
  }
  if (const Value* stages = answer.find("stages")) {
    for (const std::string_view stage : ctree::kStageNames) {
      if (const Value* same = stages->find(stage))
        run.line(
            fmt::format("  {:<7} {}", stage, same->boolean() ? run.paint()(Style::green, "same") : run.paint()(Style::red, "differs")));
    }
  }
}

}  // namespace

Result<int> run_compile(Run& run) {
  TRY(const std::string profile, profile_of(run));
  if (run.flag("tree") && run.option("prompt-summary")) {
    const std::string why = "a tree tells nothing of it; leave out --tree";
    return Error(ErrorCode::INVALID_FIELD, "--prompt-summary: " + why).with_fields({{"/prompt-summary", why}});
  }
  if (profile == ctree::kForeignProfile || run.option("records")) return run_compile_foreign(run, profile);
  return compile_own(run);
}

Result<int> run_explain(Run& run) {
  TRY(const Address address, run.address());
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const ctree::CompileConfig config, compile_config(run, *service));
  TRY(const Compilation at, compile_at(*service, {.address = address, .config = config}));
  if (run.json()) {
    TRY_DO(explain_text(*service, at, run.arguments().words, [&](std::string_view piece) -> Result<void> {
      run.data_piece(piece);
      return {};
    }));
    run.print("\n");
    return 0;
  }
  const auto show = [&](const ctree::Explained& row, std::string_view) -> Result<void> {
    const std::string role = row.role.empty() ? "" : "/" + printable(row.role);
    const std::string turn = row.turn == ctree::kNoTurn ? "turn -" : fmt::format("turn {}", row.turn);
    const std::string_view reason = row.fate == ctree::Fate::collapsed ? ctree::kCollapseReason : ctree::name(row.reason);
    run.line(fmt::format("{}  {}  {}{}  {} B  {}  {}", row.node_id, turn, printable(row.kind), role, row.bytes,
                         run.paint()(style_of(row.reason), ctree::name(row.fate)), reason));
    return {};
  };
  TRY(const ctree::ExplainTotals counted, explain_at(*service, at, run.arguments().words, show));
  json::Arena arena;
  const Value totals = counted.to_json(arena);
  std::string line;
  for (const json::Member& fate : totals.find("fates")->members()) {
    if (fate.value.integer() > 0)
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", grouped(static_cast<std::uint64_t>(fate.value.integer())), fate.key);
  }
  run.note(line.empty() ? "no nodes" : line);
  return 0;
}

Result<int> run_diff(Run& run) {
  DiffQuery query;
  bool store_needed = false;
  TRY(query.a, diff_side(run, *run.word(0), store_needed));
  TRY(query.b, diff_side(run, *run.word(1), store_needed));
  const std::string what = run.option("what").value_or("stages");
  if (what != "stages" && what != "entries" && what != "context") return unknown_word("what", what, "stages|context|entries");
  if (what == "context") return run_diff_contexts(run, query.a, query.b);
  query.what = what == "entries" ? DiffWhat::entries : DiffWhat::stages;
  query.texts = run.flag("previews");
  Service* service = nullptr;
  if (store_needed || query.what == DiffWhat::entries) {
    TRY(service, run.service(Store::Access::read));
    TRY(query.config, compile_config(run, *service));
  }
  auto compared = diff(service, query);
  // A word may be taken for a file: say which were.
  for (const auto& [side, word] : {std::pair{&query.a, 0}, std::pair{&query.b, 1}}) {
    if (!compared.ok() && !side->address) return std::move(compared).error().with("file", *run.word(static_cast<std::size_t>(word)));
  }
  TRY(const Difference answer, std::move(compared));
  if (run.json()) {
    run.object(Value::raw(answer.text));
  } else {
    json::Parser parser;
    TRY(const Value shown, parser.parse_stored(answer.text));
    print_diff(run, shown);
  }
  return answer.equal ? 0 : 1;
}

}  // namespace weir::cli
