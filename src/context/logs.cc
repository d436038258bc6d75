#include "context/logs.h"

#include <algorithm>
#include <set>

#include "ctree/kind.h"
#include "json/canonical.h"

namespace weir::context {
namespace {

using ctree::Ordinal;
using ctree::Reason;
constexpr std::string_view kCollapsedReason = "collapse:all_but_last", kEvidence = "evidence", kMemory = "memory";
constexpr std::string_view kEmpty = "empty";  // of a message nothing is left to show

std::string_view item_type(const ctree::NodesFold::State& state, Ordinal i, Reason reason) {
  const ctree::Node& node = state.nodes[i];
  const std::string_view kind = state.words.text(node.kind), role = state.words.text(node.role);
  if (role == role_name(Role::system) || reason == Reason::pin_label || reason == Reason::pin_id) return "policy";
  if (node.result) return "tool_output";
  if (role == role_name(Role::user)) return "user_input";
  if (kind == ctree::kCheckpoint || kind == ctree::kBranchSummary) return "summary";
  return kind.starts_with("evidence_") ? kEvidence : kMemory;
}

std::string source_ref(const LogInput& in, const Item& item) {
  const auto& checkpoint = in.state.checkpoint;
  if (checkpoint && checkpoint->ordinal == item.node && !checkpoint->snapshot_id.empty()) return "snapshot:" + checkpoint->snapshot_id;
  return item.blob ? "blob:sha256:" + item.blob->hex() : "node:" + in.state.id(item.node);
}

// Adds records to a log. Members are given in key order.
class LogWriter {
 public:
  LogWriter() { out_.text.clear(); }

  LogWriter& begin() {
    out_.text += out_.count++ == 0 ? "[{" : ",{";
    first_ = true;
    return *this;
  }
  // Words of ours, which need no escapes.
  LogWriter& plain(std::string_view key, std::string_view value) {
    open(key);
    out_.text.append("\"").append(value).append("\"");
    return *this;
  }
  LogWriter& text(std::string_view key, std::string_view value) {
    open(key);
    json::write_string(value, out_.text);
    return *this;
  }
  LogWriter& raw(std::string_view key, std::string_view value) {
    open(key);
    out_.text += value;
    return *this;
  }
  void end() { out_.text += '}'; }

  LogText finish() {
    out_.text += out_.count == 0 ? "[]" : "]";
    return std::move(out_);
  }

 private:
  void open(std::string_view key) {
    if (!first_) out_.text += ',';
    first_ = false;
    out_.text.append("\"").append(key).append("\":");
  }

  LogText out_;
  bool first_ = true;
};

class Excluding {
 public:
  explicit Excluding(const LogInput& in) : in_(in), selection_(in.compiled.selection) {}

  LogText run() {
    before_scope();
    for (std::size_t i = 0; i < selection_.reasons.size(); ++i) node(selection_.first + static_cast<Ordinal>(i), selection_.reasons[i]);
    close();
    for (const LeftOutBlock& block : in_.context.left_out) {
      record("provider_block", in_.state.id(block.node) + "#" + block.place, type(block.node));
    }
    chunks();
    return out_.finish();
  }

 private:
  std::string_view type(Ordinal i) const { return item_type(in_.state, i, selection_.reason(in_.state, i)); }

  // Most of what lies there is one stretch; only candidates and older compactions break it.
  void before_scope() {
    std::vector<std::pair<Ordinal, Reason>> stops = selection_.earlier;
    for (const Ordinal i : older_checkpoints()) stops.emplace_back(i, Reason::superseded_checkpoint);
    std::sort(stops.begin(), stops.end());
    Ordinal at = 0;
    for (const auto& [ordinal, reason] : stops) {
      stretch(at, ordinal, Reason::before_barrier);
      node(ordinal, reason);
      at = ordinal + 1;
    }
    stretch(at, selection_.first, Reason::before_barrier);
  }

  std::vector<Ordinal> older_checkpoints() const {
    std::vector<Ordinal> out;
    in_.state.checkpoints.each(0, in_.state.checkpoints.size(), [&](std::size_t, Ordinal i) {
      if (i < selection_.first && selection_.reason(in_.state, i) == Reason::superseded_checkpoint) out.push_back(i);
    });
    return out;
  }

  void stretch(Ordinal from, Ordinal to, Reason reason) {
    if (from >= to) return;
    if (open_ && (open_reason_ != reason || open_to_ != from)) close();
    if (!open_) open_from_ = from;
    open_ = true;
    open_reason_ = reason;
    open_to_ = to;
  }

  void node(Ordinal i, Reason reason) {
    if (!is_candidate(reason)) {
      stretch(i, i + 1, reason);
      return;
    }
    close();
    if (is_dropped(reason)) {
      record(name(reason), in_.state.id(i), item_type(in_.state, i, reason));
    } else if (std::binary_search(selection_.collapsed.begin(), selection_.collapsed.end(), i)) {
      record(kCollapsedReason, in_.state.id(i), item_type(in_.state, i, reason));
    } else if (std::binary_search(in_.context.orphans.begin(), in_.context.orphans.end(), i)) {
      record(name(Reason::orphan_result), in_.state.id(i), item_type(in_.state, i, reason));
    } else if (std::binary_search(in_.context.empty.begin(), in_.context.empty.end(), i)) {
      record(kEmpty, in_.state.id(i), item_type(in_.state, i, reason));
    }
  }

  void close() {
    if (!open_) return;
    open_ = false;
    const Ordinal last = open_to_ - 1;
    if (last == open_from_) {
      record(name(open_reason_), in_.state.id(last), item_type(in_.state, last, open_reason_));
      return;
    }
    out_.begin()
        .raw("count", std::to_string(open_to_ - open_from_))
        .plain("excluded_reason", name(open_reason_))
        .plain("item_id", in_.state.id(open_from_) + ".." + in_.state.id(last))
        .plain("item_type", kMemory)
        .plain("node_hash", in_.fold.node_hash(in_.state, open_to_).hex())
        .end();
  }

  void chunks() {
    const std::set<std::string_view> selected(in_.request.selected_chunk_ids.begin(), in_.request.selected_chunk_ids.end());
    for (const std::string& chunk : in_.request.candidate_chunk_ids) {
      if (selected.contains(chunk)) continue;
      const auto word = in_.request.excluded_reasons.find(chunk);
      record(word == in_.request.excluded_reasons.end() ? "not_selected" : std::string_view(word->second), chunk, kEvidence);
    }
  }

  void record(std::string_view reason, std::string_view id, std::string_view type) {
    out_.begin().text("excluded_reason", reason).text("item_id", id).plain("item_type", type).end();
  }

  const LogInput& in_;
  const ctree::Selection& selection_;
  bool open_ = false;
  Ordinal open_from_ = 0, open_to_ = 0;
  Reason open_reason_ = Reason::kind;
  LogWriter out_;
};

}  // namespace

LogText inclusion_log(const LogInput& in) {
  LogWriter out;
  const auto record = [&](std::string_view reason, std::string_view id, std::string_view type, std::string_view source, bool cut) {
    out.begin();
    if (cut) out.raw("cut", "true");
    out.plain("included_reason", reason).text("item_id", id).plain("item_type", type).text("source_ref", source).end();
  };
  for (const Item& item : in.context.items) {
    const Reason reason = in.compiled.selection.reason(in.state, item.node);
    const std::string id = in.state.id(item.node);
    record(name(reason), id, item_type(in.state, item.node, reason), source_ref(in, item), item.cut);
    for (const std::string& call : item.placeholders) record("placeholder", id + "#" + call, "tool_output", "node:" + id, false);
  }
  for (const std::string& chunk : in.request.selected_chunk_ids) record("retrieval", chunk, kEvidence, "chunk:" + chunk, false);
  return out.finish();
}

LogText exclusion_log(const LogInput& in) { return Excluding(in).run(); }

}  // namespace weir::context
