#include <algorithm>

#include "ctree/stages.h"
#include "json/canonical.h"

namespace weir::ctree {
namespace {

using json::Domain;

class ItemWriter {
 public:
  ItemWriter(const StageInput& in, PreviewSource previews)
      : in_(in), previews_(previews), nodes_(in.state.nodes), hashes_(in.state.hashes), calls_(in.state.calls) {}

  // One kept node. Members stand in key order; what is null or false is left out.
  void write(Ordinal ordinal, bool with_preview, std::string& out) {
    const Node& node = nodes_[ordinal];
    const NodeHashes& hashes = hashes_[ordinal];
    const Overlay* over = in_.state.overlay(ordinal);
    const std::uint64_t bytes = over != nullptr ? over->bytes : node.bytes;
    const std::uint32_t chars = over != nullptr ? over->chars : node.chars;
    out += "{\"bytes\":";
    write_number(bytes, out);
    if (over != nullptr ? over->has_content : node.has_content) {
      out += ",\"content_hash\":";
      write_quoted(over != nullptr ? over->content : hashes.content, out);
    }
    if (chars != kNoChars) {
      out += ",\"content_len\":";
      write_number(chars, out);
    }
    if (over != nullptr && over->edited) out += ",\"edited\":true";
    if (node.is_error) out += ",\"is_error\":true";
    out.append(",\"kind\":").append(in_.words.quoted(node.kind));
    if (hashes.name != 0) out.append(",\"name\":").append(in_.words.short_quoted(hashes.name));
    out += ",\"node_id\":\"";
    write_node_id(ordinal, hashes.digest, out);
    out += "\",\"payload_hash\":";
    write_quoted(hashes.payload, out);
    if (with_preview) write_preview(ordinal, out);
    if (node.role != 0) out.append(",\"role\":").append(in_.words.short_quoted(node.role));
    if (const Limit& most = in_.config.selection.max_item_bytes; most && bytes > *most) {
      if (const std::uint64_t shown = cost_bytes(in_.state, ordinal, most); shown != bytes) {
        out += ",\"shown_bytes\":";
        write_number(shown, out);
      }
    }
    write_calls(hashes, out);
    if (node.turn != kNoTurn) {
      out += ",\"turn\":";
      write_turn(node.turn, out);
    }
    out += '}';
  }

 private:
  void write_calls(const NodeHashes& hashes, std::string& out) {
    const CallList* calls = hashes.calls == 0 ? nullptr : &calls_[hashes.calls - 1];
    if (calls != nullptr && calls->count > 0) {
      out += ",\"tool_call_count\":";
      write_number(calls->count, out);
    }
    if (hashes.alias != 0) out.append(",\"tool_call_id\":\"").append(alias_name("call", hashes.alias)).append("\"");
    if (calls != nullptr) {
      out += ",\"tool_calls_hash\":";
      write_quoted(calls->hash, out);
    }
  }

  void write_preview(Ordinal ordinal, std::string& out) {
    const auto preview = previews_(ordinal);
    if (!preview) return;
    out += ",\"preview\":";
    json::write_string(preview->text, out);
    out += preview->redacted ? ",\"preview_redacted\":true" : ",\"preview_redacted\":false";
    out += preview->truncated ? ",\"preview_truncated\":true" : ",\"preview_truncated\":false";
  }

  const StageInput& in_;
  PreviewSource previews_;
  PVec<Node>::Cursor nodes_;
  PVec<NodeHashes>::Cursor hashes_;
  PVec<CallList>::Cursor calls_;
};

}  // namespace

std::vector<HeaderItem> header_items(const Selection& selection) {
  std::vector<HeaderItem> out;
  out.reserve(selection.kept.size());
  auto next = selection.collapsed.begin();
  for (std::size_t i = 0; i < selection.kept.size(); ++i) {
    const bool collapsed = next != selection.collapsed.end() && *next == selection.kept[i];
    if (collapsed) ++next;
    if (collapsed && !out.empty() && out.back().collapsed) {
      ++out.back().count;
    } else {
      out.push_back({i, 1, collapsed});
    }
  }
  return out;
}

std::string collapsed_ids_sha256(const StageInput& in, const HeaderItem& item) {
  std::string ids;
  for (std::size_t i = item.first; i < item.first + item.count; ++i) {
    ids += ids.empty() ? "[\"" : ",\"";
    ids += in.state.id(in.selection.kept[i]) + '"';
  }
  return in.fold.hasher().text(Domain::ids, ids + "]").hex();
}

std::pair<std::int64_t, std::int64_t> collapsed_turns(const StageInput& in, const HeaderItem& item) {
  std::pair<std::int64_t, std::int64_t> out{kNoTurn, kNoTurn};
  for (std::size_t i = item.first; i < item.first + item.count; ++i) {
    const std::int64_t turn = in.state.nodes[in.selection.kept[i]].turn;
    if (turn == kNoTurn) continue;
    out.first = out.first == kNoTurn ? turn : std::min(out.first, turn);
    out.second = std::max(out.second, turn);
  }
  return out;
}

void write_collapsed(const StageInput& in, const HeaderItem& item, std::string& out) {
  std::uint64_t bytes = 0;
  for (std::size_t i = item.first; i < item.first + item.count; ++i) bytes += in.state.bytes(in.selection.kept[i]);
  const auto turns = collapsed_turns(in, item);
  out += "{\"bytes\":";
  write_number(bytes, out);
  out += ",\"count\":";
  write_number(item.count, out);
  out.append(",\"first_id\":\"").append(in.state.id(in.selection.kept[item.first]));
  out.append("\",\"ids_sha256\":\"").append(collapsed_ids_sha256(in, item));
  out.append("\",\"kind\":\"collapsed\",\"last_id\":\"").append(in.state.id(in.selection.kept[item.first + item.count - 1]));
  out += '"';
  if (turns.first != kNoTurn) {
    out += ",\"turns\":[";
    write_turn(turns.first, out);
    out += ',';
    write_turn(turns.second, out);
    out += ']';
  }
  out += '}';
}

// HEADER, and FROZEN from the same items: they differ only where previews are asked for.
HeaderResult write_header(const StageInput& in, const Digest& selection_sha256, PreviewSource previews, StageMemos& memos) {
  const json::Hasher& hasher = in.fold.hasher();
  const std::vector<HeaderItem> items = header_items(in.selection);
  ItemWriter writer(in, previews);
  std::string tail = ",\"node_hash\":";
  write_quoted(in.fold.node_hash(in.state), tail);
  tail.append(",\"policy\":\"selected_nodes\",\"schema_version\":\"").append(in.fold.schema_version()).append("\",\"selection_sha256\":");
  write_quoted(selection_sha256, tail);
  tail += '}';
  const auto write = [&](bool with_previews, ListMemo* memo, std::size_t same, Sha256& hash) {
    const std::string head =
        with_previews ? "{\"header_mode\":\"sanitized_content\",\"messages\":" : "{\"header_mode\":\"hash_only\",\"messages\":";
    const auto item = [&](std::size_t i, std::string& out) {
      if (items[i].collapsed) {
        write_collapsed(in, items[i], out);
      } else {
        writer.write(in.selection.kept[items[i].first], with_previews, out);
      }
    };
    hash = begin_stage(hasher);
    hash.update(head);
    const ListText list = write_list({items.size(), item, memo, same}, {&hash}, in.most_bytes, hasher);
    hash.update(tail);
    return shown_stage({{head, &list, 1}, {tail}}, in.most_bytes, hasher);
  };
  HeaderResult out;
  Sha256 header, frozen;
  const bool frozen_differs = in.config.previews && !in.config.frozen_previews;
  out.header.text = write(in.config.previews, in.config.previews ? nullptr : &memos.messages, memos.same_messages, header);
  out.frozen.text = frozen_differs ? write(false, &memos.messages, memos.same_messages, frozen) : out.header.text;
  if (!frozen_differs) frozen = header;
  out.header.z = finish_stage(header, Stage::HEADER, hasher);
  out.frozen.z = finish_stage(frozen, Stage::FROZEN, hasher);
  return out;
}

}  // namespace weir::ctree
