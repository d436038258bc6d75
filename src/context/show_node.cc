#include "context/show_node.h"

#include <algorithm>
#include <limits>
#include <map>

#include "context/pair.h"
#include "ctree/draft.h"
#include "ctree/kind.h"
#include "ctree/projection.h"
#include "ctree/select.h"
#include "json/canonical.h"
#include "session/types.h"

namespace weir::context {
namespace {

using ctree::Ordinal;
using json::Arena;
using json::Value;

constexpr std::uint64_t kWhole = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kMostId = 128;

const Value* present(const Value& body, std::string_view key) {
  const Value* found = body.find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string_view type_of(const Value& block) { return block.text_or("type", ""); }
bool is_result_block(const Value& block) { return type_of(block) == "tool_result"; }

// What a model thought, and what only its provider can read.
bool is_provider_block(const Value& block) {
  const std::string_view type = type_of(block);
  return type == "thinking" || type == "redacted_thinking" || type == "reasoning" || block.find("encrypted_content") != nullptr;
}

// As Anthropic takes its blocks back: a thought with its signature, or one that was never readable.
bool is_anthropic(const Value& block) {
  if (type_of(block) == "redacted_thinking") return !block.text_or("data", "").empty();
  return type_of(block) == "thinking" && !block.text_or("signature", "").empty() && !block.text_or("thinking", "").empty();
}

// Is anything said besides what was thought? A provider takes no message that ends in a thought.
bool speaks(const Value& payload) {
  if (const Value* calls = payload.find("tool_calls"); calls != nullptr && !calls->items().empty()) return true;
  const Value* content = payload.find("content");
  return content != nullptr && std::any_of(content->items().begin(), content->items().end(), [](const Value& block) {
           if (type_of(block) == "text") return !is_blank(block.text_or("text", "x"));
           return !is_provider_block(block) && !is_result_block(block);
         });
}

// The names that folding gave out.
class KnownNames : public ctree::Names {
 public:
  KnownNames(const ctree::NodesFold::State& state, Arena& arena) : state_(state), arena_(arena) {}
  std::string_view call(std::string_view id) override { return known(state_.call_aliases, "call", id); }
  std::string_view task(std::string_view id) override { return known(state_.task_aliases, "task", id); }
  std::optional<Place> entry(std::string_view id) override {
    const auto found = state_.entries.find(id);
    if (!found) return std::nullopt;
    return Place{*found / 2, *found % 2 != 0};
  }
  std::optional<Ordinal> compaction(std::string_view) override { return std::nullopt; }
  std::string_view node_id(Ordinal ordinal) override { return arena_.copy(state_.id(ordinal)); }

 private:
  std::string_view known(const IdIndex& index, std::string_view stem, std::string_view id) {
    const auto number = index.find(id);
    return number ? arena_.copy(ctree::alias_name(stem, *number)) : id;
  }

  const ctree::NodesFold::State& state_;
  Arena& arena_;
};

}  // namespace

NodeShow::NodeShow(const Input& input)
    : in_(input),
      most_item_(input.config.compile_config().selection.max_item_bytes),
      loading_(input.source, input.config.mask ? &input.fold.sanitiser() : nullptr, input.arena, input.texts) {}

Result<Value> NodeShow::body(Seq seq, Entry& entry) {
  TRY(entry, in_.source.entry(seq));
  TRY(const Value parsed, stored_body(parser_, entry));
  return copied(parsed, in_.arena);
}

Result<std::optional<Value>> NodeShow::overlay(Ordinal ordinal, bool edits) {
  const auto& map = edits ? in_.state.edits : in_.state.attached;
  const ctree::Overlay* over = map.empty() ? nullptr : map.find(ordinal);
  if (over == nullptr || over->removed) return std::optional<Value>();
  Entry entry;
  TRY(const Value by, body(over->by, entry));
  const Value* content = present(by, edits ? "replacement" : "narrative");
  return content == nullptr ? std::optional<Value>() : std::optional<Value>(*content);
}

Result<ShownNode> NodeShow::show(Ordinal ordinal, bool in_last_unit) {
  ShownNode out;
  Entry entry;
  TRY(const Value source, body(in_.state.nodes[ordinal].seq, entry));
  const Value* payload = source.find("payload");
  const std::string_view kind = in_.state.words.text(in_.state.nodes[ordinal].kind);
  if (entry.type == types::kMessage) {
    TRY_DO(message(source, false, ordinal, in_last_unit, out));
  } else if (entry.type == types::kCtreeNode && kind == ctree::kMessage && payload != nullptr && payload->is_object()) {
    TRY_DO(message(*payload, true, ordinal, in_last_unit, out));
  } else if (entry.type == types::kCompaction) {
    TRY_DO(checkpoint(source, ordinal, out));
  } else if (entry.type == types::kBranchSummary) {
    TRY(const auto edited, overlay(ordinal, true));
    const Value* summary = present(source, "summary");
    TRY_DO(line("[weir: summary of another branch]", edited ? *edited : summary != nullptr ? *summary : Value(), out));
  } else {
    TRY_DO(event(entry, source, ordinal, out));
  }
  for (Message& each : out.messages) each.node = ordinal;
  return out;
}

Result<void> NodeShow::message(const Value& source, bool text_fallback, Ordinal ordinal, bool in_last_unit, ShownNode& out) {
  TRY(auto content, overlay(ordinal, true));
  const Value* text = text_fallback && present(source, "content") == nullptr ? present(source, "text") : nullptr;
  if (!content && text != nullptr) content = *text;
  const Value body = content ? with_member(source, "content", *content, in_.arena) : source;
  KnownNames names(in_.state, in_.arena);
  const auto alias = [&](std::string_view id) { return in_.config.original_ids ? id : names.call(id); };
  const Value payload = loading_.masked(ctree::project_message(body, false, alias, in_.arena).payload);
  const bool over = most_item_ && ctree::cost_bytes(in_.state, ordinal, most_item_) != in_.state.bytes(ordinal);
  const bool keep = in_last_unit && in_.config.format == Format::anthropic && payload.text_or("role", "") == role_name(Role::assistant) &&
                    speaks(payload);
  return add(body, payload, {over ? *most_item_ : kWhole, keep, ""}, out);
}

// A projected payload, and the body it is of, as messages.
Result<void> NodeShow::add(const Value& body, Value payload, const Bounds& bounds, ShownNode& out) {
  // A result is cut before it is kept; everything else is loaded as it is.
  if (payload.text_or("role", "") == role_name(Role::tool) && !payload.text_or("tool_call_id", "").empty()) {
    if (const Value* content = payload.find("content")) {
      TRY(const Value shown, fitted(*content, bounds.most_bytes, out));
      payload = with_member(payload, "content", shown, in_.arena);
    }
    Message message = make_message(payload, in_.arena);
    message.calls.clear();
    out.messages.push_back(std::move(message));
    return {};
  }
  const Value* content = payload.find("content");
  const Value* original = body.find("content");
  std::vector<Value> shown;
  if (content != nullptr && content->is_array() && original != nullptr && original->is_array()) {
    payload = with_member(payload, "content", own_blocks(*original, *content, bounds, out, shown), in_.arena);
    const std::size_t before = out.messages.size();
    TRY_DO(results(payload, bounds.most_bytes, out));
    const Value left = without_blocks(*payload.find("content"), "tool_result", in_.arena);
    // What was nothing but results is told by them.
    if (left.items().empty() && out.messages.size() > before && payload.find("tool_calls") == nullptr) return {};
    payload = with_member(payload, "content", left, in_.arena);
  }
  TRY(payload, loading_.load(payload));
  Message message = make_message(payload, in_.arena, body.find("tool_calls"));
  message.answers = {};
  if (message.role == Role::tool) {  // of no call: it speaks as whoever hands it in
    message.role = Role::user;
    message.neutral = with_member(message.neutral, "role", role_name(Role::user), in_.arena);
  }
  // What goes back to its provider goes as it was recorded, and first.
  if (!shown.empty()) std::erase_if(message.blocks, is_provider_block);
  message.blocks.insert(message.blocks.begin(), shown.begin(), shown.end());
  add_message(std::move(message), out.messages, in_.arena);
  return {};
}

// The content without the blocks of a provider. Those that go back to it stay, and stand in `shown` as they were recorded,
// with the signatures that differ from run to run.
Value NodeShow::own_blocks(const Value& original, const Value& content, const Bounds& bounds, ShownNode& out, std::vector<Value>& shown) {
  std::vector<Value> left;
  for (std::size_t i = 0; i < content.items().size(); ++i) {
    const Value& recorded = original.items()[i];
    if (!is_provider_block(recorded)) {
      left.push_back(content.items()[i]);
    } else if (bounds.keep_own && is_anthropic(recorded) && loading_.masked(recorded) == recorded) {
      left.push_back(content.items()[i]);
      shown.push_back(without_member(recorded, "cache_control", in_.arena));
    } else {
      out.provider_blocks.push_back(bounds.place + std::to_string(i));
    }
  }
  return json::make_array(in_.arena, left);
}

// The result blocks of a message, each a message of its own.
Result<void> NodeShow::results(const Value& payload, std::uint64_t most_bytes, ShownNode& out) {
  const auto blocks = payload.find("content")->items();
  const auto count = static_cast<std::uint64_t>(std::count_if(blocks.begin(), blocks.end(), is_result_block));
  for (const Value& block : blocks) {
    if (!is_result_block(block)) continue;
    json::ObjectBuilder result(in_.arena);
    result.add("role", role_name(Role::tool)).add_if("tool_call_id", block.find("tool_use_id"));
    const Value* error = block.find("is_error");
    if (error != nullptr && error->is_boolean() && error->boolean()) result.add("is_error", true);
    if (const Value* content = present(block, "content")) {
      TRY(const Value shown, fitted(*content, most_bytes == kWhole ? kWhole : most_bytes / count, out));
      result.add("content", shown);
    }
    out.messages.push_back(make_message(result.build(), in_.arena));
  }
  return {};
}

Result<Value> NodeShow::fitted(const Value& content, std::uint64_t most_bytes, ShownNode& out) {
  if (most_bytes == kWhole) return loading_.load(content);
  TRY(const CutContent cut, loading_.cut(content, most_bytes));
  // Of several that were cut no single blob is the whole.
  if (cut.cut) out.blob = out.cut ? std::nullopt : cut.blob;
  out.cut |= cut.cut;
  return cut.content;
}

Result<void> NodeShow::checkpoint(const Value& body, Ordinal ordinal, ShownNode& out) {
  TRY(const auto edited, overlay(ordinal, true));
  TRY(const auto attached, overlay(ordinal, false));
  const Value* own = present(body, "narrative");
  const Value* summary = present(body, "summary");
  const Value* opaque = present(body, "opaque");
  const bool readable = summary != nullptr && !(opaque != nullptr && opaque->is_boolean() && opaque->boolean());
  std::optional<Value> narrative = edited ? edited : attached;
  if (!narrative && own != nullptr) narrative = *own;
  const auto& last = in_.state.checkpoint;
  std::string snapshot_id;
  if (last && last->ordinal == ordinal) {
    snapshot_id = last->snapshot_id;
  } else if (const Value* snapshot = present(body, "snapshot")) {
    snapshot_id = snapshot->text_or("snapshot_id", "");
  }
  const std::string head = "[weir: carried over a compaction; source: ";
  if (narrative) {
    const std::string source = snapshot_id.empty() ? "host summary" : "snapshot " + masked_excerpt(snapshot_id, kMostId);
    TRY_DO(line(head + source + "]", *narrative, out));
  }
  const Value* list = present(body, "replacement");
  if (list != nullptr && !edited) return replacement(*list, out);
  if (narrative) return {};
  return readable ? line(head + "host summary]", *summary, out) : line(head + "host, not readable]", Value(), out);
}

// The messages the host went on with. Calls and results are paired among themselves; nothing outside answers them.
Result<void> NodeShow::replacement(const Value& list, ShownNode& out) {
  const bool stored = ctree::is_blob(list);
  Value messages = list;
  if (stored) {
    TRY(messages, loading_.load_list(list));
  }
  KnownNames names(in_.state, in_.arena);
  // Folding never saw what is in a blob: its ids count for themselves, so that they stay what they are.
  std::map<std::string_view, std::string_view> own;
  const auto alias = [&](std::string_view id) {
    if (in_.config.original_ids) return id;
    if (!stored) return names.call(id);
    auto& known = own[id];
    if (known.empty()) known = in_.arena.copy(ctree::alias_name("carried", static_cast<std::uint32_t>(own.size())));
    return known;
  };
  ShownNode each;
  for (std::size_t i = 0; i < messages.items().size(); ++i) {
    const Value& body = messages.items()[i];
    if (!body.is_object()) continue;
    const Value payload = loading_.masked(ctree::project_message(body, false, alias, in_.arena).payload);
    TRY_DO(add(body, payload, {kWhole, false, std::to_string(i) + "."}, each));
  }
  out.provider_blocks.insert(out.provider_blocks.end(), each.provider_blocks.begin(), each.provider_blocks.end());
  for (Message& message : pair_results(std::move(each.messages), in_.arena, out.unanswered)) out.messages.push_back(std::move(message));
  return {};
}

Result<void> NodeShow::line(std::string head, const Value& content, ShownNode& out) {
  TRY(const Value loaded, loading_.load(loading_.masked(content)));
  const std::string text = text_of(blocks_of(loaded));
  if (!text.empty()) head.append("\n").append(text);
  out.messages.push_back(make_line(head, in_.arena));
  return {};
}

Result<void> NodeShow::event(const Entry& entry, const Value& body, Ordinal ordinal, ShownNode& out) {
  TRY(const auto edited, overlay(ordinal, true));
  const std::string head = "[weir: event " + std::string(in_.state.words.text(in_.state.nodes[ordinal].kind)) + "]";
  if (edited) return line(head, *edited, out);
  KnownNames names(in_.state, in_.arena);
  const auto draft = ctree::draft_node(entry, body, 0, ordinal, names, in_.fold.sanitiser(), in_.arena);
  if (!draft) return Error(ErrorCode::CORRUPT, "entry " + entry.id.str() + " makes no node");
  TRY(const Value payload, loading_.load(draft->payload));
  out.messages.push_back(make_line(head + "\n" + json::canonical(payload), in_.arena));
  return {};
}

}  // namespace weir::context
