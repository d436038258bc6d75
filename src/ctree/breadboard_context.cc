#include "ctree/breadboard_context.h"

#include <algorithm>
#include <set>

#include "ctree/breadboard_collapse.h"
#include "ctree/breadboard_python.h"
#include "ctree/breadboard_text.h"
#include "ctree/kind.h"

namespace weir::breadboard {
namespace {

struct Pins {
  Ordinals known;
  std::size_t count = 0;  // with those that no node has
};

Result<Pins> pins_of(const Store& store, const ContextArgs& args) {
  Pins out;
  if (args.pin_latest) out.known = latest_messages(store);
  out.count = out.known.size();
  std::vector<Value> extras;
  if (is_true(args.extra_pin_ids)) {
    TRY(extras, iterate(args.extra_pin_ids, "extra_pin_ids"));
  }
  std::set<std::string, std::less<>> seen;
  for (const std::size_t first : out.known) seen.insert(store[first].id);
  for (const Value& extra : extras) {
    if (!extra.is_string() || extra.text().empty() || !seen.insert(extra.text()).second) continue;
    ++out.count;
    if (const auto first = store.find(extra.text())) out.known.push_back(*first);
  }
  std::sort(out.known.begin(), out.known.end());
  return out;
}

// The selected ids whose last node is a message.
Ordinals candidates_of(const Store& store, const Compiled& compiled) {
  Ordinals out;
  for (const std::size_t first : compiled.selection.selected_ids) {
    if (store.last_of(first).kind == ctree::kMessage) out.push_back(first);
  }
  return out;
}

Value summary_of(const Store& store, const Context& context, const Pins& pins) {
  const Value summary = Value::object({{"stage", context.stage},
                                       {"candidate_count", context.candidates.size()},
                                       {"kept_count", context.kept.size()},
                                       {"dropped_count", context.dropped.size()},
                                       {"collapsed_count", context.collapsed.size()},
                                       {"pinned_count", pins.count},
                                       {"candidate_ids", store.ids(context.candidates)},
                                       {"kept_ids", store.ids(context.kept)},
                                       {"dropped_ids", store.ids(context.dropped)},
                                       {"collapsed_ids", store.ids(context.collapsed)},
                                       {"pinned_ids", store.ids(pins.known)}});
  return with_member(summary, "selection_sha256", sha256_of_plain(summary));
}

// What the stage takes of the plan, less the pins.
void apply(const Store& store, const CollapsePlan& plan, const Pins& pins, Context& context) {
  const std::vector<bool> pinned = marks(store, pins.known);
  const auto unpinned = [&](std::size_t id) { return !pinned[id]; };
  const bool drops = context.stage != "RAW", collapses = drops && context.stage != "SPEC";
  if (drops) std::copy_if(plan.drop.begin(), plan.drop.end(), std::back_inserter(context.dropped), unpinned);
  const std::vector<bool> dropped = marks(store, context.dropped);
  std::copy_if(context.candidates.begin(), context.candidates.end(), std::back_inserter(context.kept),
               [&](std::size_t id) { return !dropped[id]; });
  context.kept.insert(context.kept.end(), pins.known.begin(), pins.known.end());
  std::sort(context.kept.begin(), context.kept.end());
  context.kept.erase(std::unique(context.kept.begin(), context.kept.end()), context.kept.end());
  if (collapses) std::copy_if(plan.collapse.begin(), plan.collapse.end(), std::back_inserter(context.collapsed), unpinned);
}

std::string line_of(const Value& item, bool preview) {
  std::string out = "-";
  const auto add = [&](const char* name, const Value& value) {
    if (!value.is_null()) out.append(" ").append(name).append("=").append(value.text());
  };
  add("role", item.get("role"));
  add("id", item.get("node_id"));
  if (const Value* text = preview ? item.find("content_preview") : nullptr) {
    out += " preview=";
    write_string(text->text(), out);
  }
  add("content_hash", item.get("content_hash"));
  add("len", item.get("content_len"));
  add("tool_calls", item.get("tool_call_count"));
  return out;
}

void add_section(const char* title, const std::vector<std::string>& lines, std::string& out) {
  if (lines.empty()) return;
  out.append("\n").append(title);
  for (const std::string& line : lines) out.append("\n").append(line);
}

}  // namespace

std::string stage_of(const Value& given, std::string_view otherwise) {
  if (given.is_string()) {
    const std::string stage = upper(strip(given.text()));
    if (stage == "RAW" || stage == "SPEC" || stage == "HEADER" || stage == "FROZEN") return stage;
  }
  return std::string(otherwise);
}

Result<Context> select_context(const Store& store, const ContextArgs& args) {
  TRY(const Value selection, object_or_empty(args.selection_config, "the selection config"));
  TRY(const Value header, object_or_empty(args.header_config, "the header config"));
  Context out;
  TRY(out.compiled, compile_stages(store, Value::object({{"selection", selection}, {"header", header}}), {}));
  out.stage = stage_of(args.stage, "SPEC");
  out.candidates = candidates_of(store, out.compiled);
  TRY(const CollapsePlan plan, plan_collapse(store, out.candidates, args.collapse_target, args.collapse_mode));
  TRY(const Pins pins, pins_of(store, args));
  apply(store, plan, pins, out);
  out.selection = summary_of(store, out, pins);
  return out;
}

std::string injected_text(const Store& store, const Context& context) {
  const Value& selection = context.selection;
  const auto count = [&](const char* key) { return selection.get(key).text(); };
  std::string out = "C-TREES CONTEXT (deterministic)\nmode=prepend_system stage=" + context.stage;
  out += "\nselection_sha256=" + selection.get("selection_sha256").text();
  out += "\nselected=" + count("candidate_count") + " kept=" + count("kept_count");
  out += " dropped=" + count("dropped_count") + " collapsed=" + count("collapsed_count");
  const char* before = "\npinned=";
  const Value pinned = selection.get("pinned_ids");
  for (const Value& id : pinned.items()) {
    out.append(before).append(id.text());
    before = ",";
  }
  const std::vector<bool> kept = marks(store, context.kept), dropped = marks(store, context.dropped),
                          collapsed = marks(store, context.collapsed);
  std::vector<std::string> kept_lines, collapsed_lines;
  const Value messages = context.compiled.header.get("messages");
  for (const Value& item : messages.items()) {
    const std::size_t id = *store.find(item.get("node_id").text());
    if (dropped[id]) continue;
    if (collapsed[id]) {
      collapsed_lines.push_back(line_of(item, false));
    } else if (kept[id]) {
      kept_lines.push_back(line_of(item, context.compiled.config.previews));
    }
  }
  add_section("kept_messages:", kept_lines, out);
  add_section("collapsed_messages:", collapsed_lines, out);
  return std::string(strip(out)) + "\n";
}

}  // namespace weir::breadboard
