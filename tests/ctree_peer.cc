// The far end of tests/oracle/ctree_oracle_test.py: one JSON object per line of stdin, {"entries":[{"id","type","body"}],
// "config","stage","show","full"}; for each a line with what the compiler answers, or {"error":CODE,"paths":[...]}.
#include <iostream>
#include <string>

#include "ctree/compile.h"
#include "ctree/explain.h"
#include "ctree/payload.h"
#include "ctree/preview.h"
#include "ctree/tree_view.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace {

using namespace weir;
using json::Value;

std::vector<Entry> entries_of(const Value& list) {
  std::vector<Entry> out;
  for (const Value& item : list.items()) {
    Entry entry;
    entry.seq = out.size() + 1;
    entry.id = EntryId::parse(item.text_or("id", "")).value();
    entry.type = item.text_or("type", "");
    entry.body = json::canonical(*item.find("body"));
    entry.digest = entry_digest(out.empty() ? std::nullopt : std::optional(out.back().digest), entry.type, entry.body);
    out.push_back(std::move(entry));
  }
  return out;
}

std::string error_line(const Error& error) {
  json::Arena arena;
  std::vector<Value> paths;
  for (const FieldError& field : error.fields()) paths.push_back(field.path);
  return json::canonical(json::make_object(arena, {{"error", info(error.code()).name}, {"paths", json::make_array(arena, paths)}}));
}

Result<std::string> answer(const Value& request, json::Arena& arena) {
  const std::vector<Entry> entries = entries_of(*request.find("entries"));
  const Value* given = request.find("config");
  TRY(ctree::CompileConfig config, ctree::CompileConfig::parse(given == nullptr ? Value::object({}) : *given));
  const ctree::NodesFold fold({.sanitise = config.sanitise});
  ctree::NodesFold::State state;
  for (const Entry& entry : entries) TRY_DO(fold.step(state, entry));
  const auto entry_of = [&](ctree::Ordinal node) -> const Entry& { return entries[state.nodes[node].seq - 1]; };
  const auto previews = [&](ctree::Ordinal node) -> std::optional<ctree::Preview> {
    const ctree::Overlay* over = state.overlay(node);
    const Entry& entry = over != nullptr ? entries[over->by - 1] : entry_of(node);
    json::Parser parser;
    const Value body = parser.parse_stored(entry.body).value();
    const Value* content = ctree::stored_content(entry, body);
    return content == nullptr ? std::nullopt : ctree::make_preview(*content, config.preview_chars, fold.sanitiser());
  };
  const Value* full = request.find("full");
  TRY(const ctree::Compiled compiled,
      ctree::compile(fold, state, {.config = config, .full = full != nullptr && full->boolean(), .previews = previews}));
  std::vector<Value> rows;
  ctree::Explaining explaining(state, compiled.selection);
  std::vector<ctree::Explained> explained;
  for (ctree::Ordinal i = 0; i < state.size(); ++i) explained.push_back(explaining.row(i));
  for (const ctree::Explained& row : explained) rows.push_back(row.to_json(entry_of(row.ordinal).id.str(), arena));
  const auto payload = [&](ctree::Ordinal node) -> Result<Value> {
    bool repaired = false;
    const Value body = json::parse_exact(arena.copy(entry_of(node).body), arena, json::Parser::kStored, repaired).value();
    return ctree::draft_again(fold, state, node, entry_of(node), body, arena)->payload;
  };
  std::vector<Value> payloads;
  for (ctree::Ordinal i = 0; i < state.size(); ++i) {
    TRY(const Value shown, payload(i));
    payloads.push_back(shown);
  }
  const auto entry_id = [&](ctree::Ordinal node) -> Result<std::string> { return entry_of(node).id.str(); };
  ctree::TreeRequest tree{.previews = previews, .payload = payload, .entry_id = entry_id};
  tree.stage = ctree::parse_stage(request.text_or("stage", "FROZEN")).value();
  tree.show_all = request.text_or("show", "selected") == "all";
  TRY(const Value view, ctree::tree_view(fold, state, compiled, tree, arena));
  return json::canonical(json::make_object(arena, {{"output", compiled.to_json(arena)},
                                                   {"explain", json::make_array(arena, rows)},
                                                   {"payloads", json::make_array(arena, payloads)},
                                                   {"hash_summary", Value::raw(compiled.summary_text)},
                                                   {"tree", view}}));
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  weir::json::Parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = parser.parse(line, {.depth = 100});
    if (!request.ok()) {
      std::cout << error_line(request.error()) << std::endl;
      continue;
    }
    const auto text = answer(*request, parser.arena());
    std::cout << (text.ok() ? *text : error_line(text.error())) << std::endl;
  }
  return 0;
}
