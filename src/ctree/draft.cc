#include "ctree/draft.h"

#include <algorithm>
#include <string>

#include "ctree/kind.h"
#include "ctree/values.h"
#include "session/bodies.h"
#include "session/types.h"

namespace weir::ctree {
namespace {

using json::Arena;
using json::Value;

bool is_event(std::string_view type) {
  const auto in = [&](const auto& list) { return std::find(std::begin(list), std::end(list), type) != std::end(list); };
  return in(types::kRunEvents) || in(types::kResearchEvents);
}

std::string_view lower(std::string_view type, Arena& arena) {
  std::string out(type);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return arena.copy(out);
}

class Drafting {
 public:
  Drafting(const Value& body, Ordinal own, Names& names, const Sanitiser& sanitiser, Arena& arena)
      : body_(body), own_(own), names_(names), sanitiser_(sanitiser), arena_(arena) {}

  void message(const Value& source, bool text_fallback, Draft& out) {
    out.kind = kMessage;
    out.is_message = true;
    out.message = project_message(source, text_fallback, [&](std::string_view id) { return names_.call(id); }, arena_);
    out.payload = sanitiser_.masked(out.message.payload, arena_);
    take_content(out, "content");
  }

  void ctree_node(Draft& out) {
    const std::string kind = sanitiser_.masked_text(body_.text_or("kind", ""));
    const Value* payload = body_.find("payload");
    const Value source = payload == nullptr ? Value() : *payload;
    if (kind == kMessage && source.is_object()) {
      message(source, true, out);
    } else {
      out.kind = arena_.copy(kind);
      const bool task = kind == kTaskEvent || kind == kSubagent;
      plain(task ? project_task(source, [&](std::string_view id) { return names_.task(id); }, arena_) : source, out);
    }
    out.given_id = body_.text_or("node_id", "");
    const Value* turn = body_.find("turn");
    out.turn = turn != nullptr && turn->is_integer() ? turn->integer() : kNoTurn;
  }

  void plain(const Value& source, Draft& out) { out.payload = sanitiser_.masked(sanitiser_.without_volatile(source, arena_), arena_); }

  void compaction(Draft& out) {
    out.kind = kCheckpoint;
    Draft::Carried carried;
    json::ObjectBuilder payload(arena_);
    const Value* snapshot = present(body_, "snapshot");
    payload.add("by", snapshot != nullptr ? "weir" : "host");
    if (snapshot != nullptr) carried.snapshot_id = snapshot->text_or("snapshot_id", "");
    if (!carried.snapshot_id.empty()) payload.add("snapshot_id", carried.snapshot_id);
    payload.add_if("narrative", present(body_, "narrative")).add_if("summary", present(body_, "summary"));
    carried.narrative = present(body_, "narrative") != nullptr;
    if (const Value* opaque = present(body_, "opaque"); opaque != nullptr && opaque->is_boolean() && opaque->boolean()) {
      carried.opaque = true;
      payload.add("opaque", true);
    }
    what_was_kept(payload, carried);
    out.payload = sanitiser_.masked(payload.build(), arena_);
    for (const std::string_view key : {"narrative", "replacement", "summary"}) {
      if (!out.content) take_content(out, key);
    }
    out.carried = std::move(carried);
  }

  void branch_summary(Draft& out) {
    out.kind = kBranchSummary;
    json::ObjectBuilder payload(arena_);
    payload.add_if("summary", present(body_, "summary"));
    out.payload = sanitiser_.masked(payload.build(), arena_);
    take_content(out, "summary");
  }

  void context_edit(Draft& out) {
    out.kind = kContextEdit;
    out.control = true;
    if (const auto place = names_.entry(body_.text_or("target", "")); place && place->made) out.target = place->node;
    json::ObjectBuilder payload(arena_);
    const Value* replacement = present(body_, "replacement");
    const Value content = replacement == nullptr ? Value() : replaced(*replacement);
    payload.add("replacement", content).add("target", out.target ? Value(names_.node_id(*out.target)) : Value());
    out.payload = sanitiser_.masked(payload.build(), arena_);
    if (replacement != nullptr) out.replacement = *out.payload.find("replacement");
  }

  void snapshot_attached(Draft& out) {
    out.kind = kSnapshotAttached;
    out.control = true;
    const std::string_view target = body_.text_or("target", "");
    out.target = names_.compaction(target);
    if (!out.target) {
      if (const auto place = names_.entry(target); place && place->made) out.target = place->node;
    }
    Draft::Carried carried;
    json::ObjectBuilder payload(arena_);
    if (const Value* snapshot = present(body_, "snapshot")) carried.snapshot_id = snapshot->text_or("snapshot_id", "");
    if (!carried.snapshot_id.empty()) payload.add("snapshot_id", carried.snapshot_id);
    payload.add_if("narrative", present(body_, "narrative"));
    payload.add("target", out.target ? Value(names_.node_id(*out.target)) : Value());
    out.payload = sanitiser_.masked(payload.build(), arena_);
    if (const Value* narrative = out.payload.find("narrative")) out.replacement = *narrative;
    out.carried = std::move(carried);
  }

 private:
  void take_content(Draft& out, std::string_view key) {
    if (const Value* content = out.payload.find(key)) out.content = *content;
  }

  // The content of an edit is a message's content: its ids are aliased as there.
  Value replaced(const Value& content) {
    if (!content.is_array()) return content;
    json::ObjectBuilder message(arena_);
    const Value body = message.add("content", content).build();
    return *project_message(body, false, [&](std::string_view id) { return names_.call(id); }, arena_).payload.find("content");
  }

  Value replacement_list(const Value& list) {
    if (!list.is_array()) return list;  // a blob
    std::vector<Value> messages;
    for (const Value& body : list.items()) {
      messages.push_back(project_message(body, false, [&](std::string_view id) { return names_.call(id); }, arena_).payload);
    }
    return json::make_array(arena_, messages);
  }

  // Only the first that is there counts.
  void what_was_kept(json::ObjectBuilder& payload, Draft::Carried& carried) {
    if (const Value* replacement = present(body_, "replacement")) {
      carried.replacement = true;
      payload.add("replacement", replacement_list(*replacement));
    } else if (const Value* kept = present(body_, "kept"); kept != nullptr && kept->is_array()) {
      carried.kept = true;
      for (const Value& id : kept->items()) {
        const auto place = id.is_string() ? names_.entry(id.text()) : std::nullopt;
        if (place && place->made && place->node < own_) carried.kept_nodes.push_back(place->node);
      }
      std::sort(carried.kept_nodes.begin(), carried.kept_nodes.end());
      carried.kept_nodes.erase(std::unique(carried.kept_nodes.begin(), carried.kept_nodes.end()), carried.kept_nodes.end());
      std::vector<Value> ids;
      for (const Ordinal node : carried.kept_nodes) ids.push_back(names_.node_id(node));
      payload.add("kept", json::make_array(arena_, ids));
    } else if (const std::string_view first = body_.text_or("first_kept", ""); !first.empty()) {
      const auto place = names_.entry(first);
      if (!place || place->node >= own_) return;
      carried.first_kept = place->node;
      payload.add("first_kept", names_.node_id(place->node));
    }
  }

  const Value& body_;
  const Ordinal own_;
  Names& names_;
  const Sanitiser& sanitiser_;
  Arena& arena_;
};

}  // namespace

bool makes_node(std::string_view type) {
  return type == types::kMessage || type == types::kCtreeNode || type == types::kCompaction || type == types::kBranchSummary ||
         type == types::kContextEdit || (is_event(type) && type != types::kManifestWritten);
}

std::optional<Draft> draft_node(const Entry& entry, const Value& body, std::uint64_t turns, Ordinal own, Names& names,
                                const Sanitiser& sanitiser, Arena& arena) {
  if (!makes_node(entry.type)) return std::nullopt;
  Drafting drafting(body, own, names, sanitiser, arena);
  Draft out;
  out.turn = static_cast<std::int64_t>(turns);
  if (entry.type == types::kMessage) {
    drafting.message(body, false, out);
    out.begins_turn = body.text_or("role", "") == role_name(Role::user) && !out.message.only_results;
    if (out.begins_turn) ++out.turn;
    if (const Value* turn = body.find("turn"); turn != nullptr && turn->is_integer()) out.turn = turn->integer();
  } else if (entry.type == types::kCtreeNode) {
    drafting.ctree_node(out);
  } else if (entry.type == types::kCompaction) {
    drafting.compaction(out);
  } else if (entry.type == types::kBranchSummary) {
    drafting.branch_summary(out);
  } else if (entry.type == types::kContextEdit) {
    drafting.context_edit(out);
  } else if (entry.type == types::kSnapshotAttached) {
    drafting.snapshot_attached(out);
  } else {
    out.kind = lower(entry.type, arena);
    drafting.plain(body, out);
  }
  return out;
}

}  // namespace weir::ctree
