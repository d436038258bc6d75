#include "context/prompt.h"

#include <algorithm>

#include "json/canonical.h"

namespace weir::context {
namespace {

using json::Arena;
using json::Value;

Value items_json(const AnswerInput& in, Arena& arena) {
  const ctree::NodesFold::State& state = in.of.state;
  const ctree::Compiled& compiled = in.prompt.compiled;
  std::vector<Value> out;
  for (const Item& item : in.prompt.context.items) {
    const std::uint64_t bytes = ctree::cost_bytes(state, item.node, compiled.config.selection.max_item_bytes);
    const std::string_view role = state.words.text(state.nodes[item.node].role);
    out.push_back(json::make_object(arena, {{"bytes", bytes},
                                            {"item_id", arena.copy(state.id(item.node))},
                                            {"reason", name(compiled.selection.reason(state, item.node))},
                                            {"role", role.empty() ? role_name(Role::user) : role},
                                            {"section", name(item.section)},
                                            {"tokens", ctree::node_tokens(bytes)}}));
  }
  return json::make_array(arena, out);
}

std::string_view changed_since(const AnswerInput& in) {
  const Prompt& now = in.prompt;
  if (!in.previous) return "first";
  if (in.previous->prompt != nullptr)
    return prefix_changed(&in.previous->prompt->context.messages, in.previous->prefix_hash, now.context.messages, now.hashes.prefix);
  if (in.previous->prefix_hash == now.hashes.prefix.hex()) return "";
  PrefixMark mark;
  for (const Item& item : now.context.items)
    mark.add(name(now.compiled.selection.reason(in.of.state, item.node)), in.of.state.id(item.node));
  return prefix_changed(in.previous->mark, mark);
}

Value warnings_json(const Prompt& prompt, Arena& arena) {
  std::vector<Value> out(prompt.compiled.warnings.begin(), prompt.compiled.warnings.end());
  if (prompt.context.unanswered_call) out.emplace_back("unanswered_call");
  const auto& over = prompt.compiled.selection.over_budget;
  if (std::any_of(over.begin(), over.end(), is_size)) out.emplace_back("over_budget");
  return json::make_array(arena, out);
}

}  // namespace

Result<Prompt> make_prompt(const PromptInput& in) {
  Prompt out;
  const ctree::CompileConfig compile_config = in.config.compile_config();
  const auto no_previews = [](ctree::Ordinal) { return std::optional<ctree::Preview>(); };
  ctree::CompileMemo* const memo = in.memo ? in.memo(compile_config) : nullptr;
  TRY(out.compiled, ctree::compile(in.fold, in.state, {.config = compile_config, .previews = no_previews, .memo = memo}));
  TRY(out.context, assemble({in.fold, in.state, out.compiled, in.config, in.source, in.allow_over_budget, in.mark_holes}));
  out.rendered = render(out.context.messages, in.config, out.arena);
  out.hashes = hash_messages(out.context.messages, in.request.tools, in.fold.hasher());
  ManifestInput manifest{in.fold, in.state, out.compiled, in.config, out.context, out.hashes, in.request, in.step_id, in.thresholds};
  std::string rendered;
  if (in.capture || in.config.capture) {
    rendered = json::canonical(out.rendered.to_json(out.arena));
    manifest.prompt = rendered;
  }
  out.manifest = make_manifest(manifest);
  return out;
}

Value answer_json(const AnswerInput& in, Arena& arena) {
  const Prompt& prompt = in.prompt;
  const Rendered& rendered = prompt.rendered;
  const ctree::Usage& used = prompt.compiled.selection.used;
  const std::string_view changed = changed_since(in);
  const Value breakpoints[] = {rendered.prefix_messages, rendered.kept_messages};
  json::ObjectBuilder out(arena);
  out.add("profile", ctree::kProfile)
      .add("session", in.session)
      .add("entry", in.entry)
      .add("format", name(in.of.config.format))
      .add("messages", json::make_array(arena, rendered.messages))
      .add("items", items_json(in, arena))
      .add("exclusion", Value::raw(prompt.manifest.exclusion))
      .add("prefix_hash", arena.copy(prompt.hashes.prefix.hex()))
      .add("prefix_length", prompt.hashes.prefix_length)
      .add("prefix_changed", changed.empty() ? Value() : Value(changed))
      .add("breakpoints", json::make_array(arena, breakpoints))
      .add("context_sha256", arena.copy(prompt.hashes.context.hex()))
      .add("reused_messages", in.previous && in.previous->prompt != nullptr ? reused_messages(in.previous->prompt->rendered, rendered) : 0)
      .add("used", json::make_object(arena, {{"bytes", used.bytes}, {"tokens", used.tokens}}))
      .add("manifest_id", prompt.manifest.id)
      .add("warnings", warnings_json(prompt, arena));
  if (rendered.system) out.add("system", *rendered.system);
  return out.build();
}

}  // namespace weir::context
