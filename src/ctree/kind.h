// The kinds of nodes: what a caller may name one, and the names that are the compiler's own.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/utf8.h"

namespace weir::ctree {

inline constexpr std::string_view kMessage = "message";
inline constexpr std::string_view kCheckpoint = "checkpoint";
inline constexpr std::string_view kBranchSummary = "branch_summary";
inline constexpr std::string_view kContextEdit = "context_edit";
inline constexpr std::string_view kSnapshotAttached = "snapshot_attached";
inline constexpr std::string_view kCollapsed = "collapsed";
inline constexpr std::string_view kTaskEvent = "task_event";
inline constexpr std::string_view kSubagent = "subagent";

// Control nodes change what others say and are never selected.
constexpr bool is_control(std::string_view kind) { return kind == kContextEdit || kind == kSnapshotAttached; }

// KIND_INVALID: 1 to 64 code points, no control characters, none of the compiler's own names.
Result<void> check_kind(std::string_view kind);

}  // namespace weir::ctree
