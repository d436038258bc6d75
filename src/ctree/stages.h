// The four stages, each in a file of its own: RAW counts, SPEC says which nodes and why, HEADER shows them by hash and
// measure, FROZEN is the HEADER that replays compare.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "ctree/config.h"
#include "ctree/item_words.h"
#include "ctree/nodes_fold.h"
#include "ctree/select.h"
#include "ctree/stage_text.h"

namespace weir::ctree {

enum class Stage { RAW, SPEC, HEADER, FROZEN };
inline constexpr std::string_view kStageNames[] = {"RAW", "SPEC", "HEADER", "FROZEN"};
constexpr std::string_view name(Stage stage) { return kStageNames[static_cast<int>(stage)]; }
std::optional<Stage> parse_stage(std::string_view text);

// All that the stages are written from.
struct StageInput {
  const NodesFold& fold;
  const NodesFold::State& state;
  const CompileConfig& config;
  const Selection& selection;
  const ItemWords& words;
  std::uint64_t most_bytes = 0;  // of a stage as it is shown
};

// What lists the last compilation of this configuration wrote; see ListMemo.
struct StageMemos {
  ListMemo dropped, selected, messages;
  std::size_t same_dropped = 0, same_selected = 0, same_messages = 0;
};

struct StageResult {
  std::string text;  // canonical, as it is shown
  Digest z;
};

// A hash that has taken the beginning of {"payload":...,"stage":...}, and its end.
Sha256 begin_stage(const json::Hasher& hasher);
Digest finish_stage(Sha256 hash, Stage stage, const json::Hasher& hasher);

StageResult write_raw(const StageInput& in, const std::optional<Digest>& prompt);

struct SpecResult : StageResult {
  Digest selection_sha256;
  std::string selection_text;  // SPEC.selection, as it is shown
};
SpecResult write_spec(const StageInput& in, StageMemos& memos);

// A preview of a node's content; nothing if it has no text.
struct Preview {
  std::string text;
  bool redacted = false, truncated = false;
};
using PreviewSource = FunctionRef<std::optional<Preview>(Ordinal)>;

struct HeaderResult {
  StageResult header, frozen;
};
HeaderResult write_header(const StageInput& in, const Digest& selection_sha256, PreviewSource previews, StageMemos& memos);

// An item of HEADER's messages: a kept node, or a run of collapsed ones.
struct HeaderItem {
  std::size_t first = 0, count = 1;  // places in Selection::kept
  bool collapsed = false;
};
std::vector<HeaderItem> header_items(const Selection& selection);
// {"bytes","count","first_id","ids_sha256","kind":"collapsed","last_id","turns"}
void write_collapsed(const StageInput& in, const HeaderItem& item, std::string& out);
std::string collapsed_ids_sha256(const StageInput& in, const HeaderItem& item);
std::pair<std::int64_t, std::int64_t> collapsed_turns(const StageInput& in, const HeaderItem& item);  // kNoTurn: none

}  // namespace weir::ctree
