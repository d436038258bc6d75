// Typed views of the bodies that more than one contract reads. A view points into the value it was taken from.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/decode.h"
#include "json/parse.h"
#include "json/value.h"
#include "store/entry.h"

namespace weir {

// The body of an entry as the log holds it, alive until the parser's next use; CORRUPT if it is no JSON.
Result<json::Value> stored_body(json::Parser& parser, const Entry& entry);

enum class Role { user, assistant, tool, system };

std::optional<Role> parse_role(std::string_view text);
std::string_view role_name(Role role);

struct MessageBody {
  Role role = Role::user;
  const json::Value* content = nullptr;  // a string, or an array of blocks
  const json::Value* tool_calls = nullptr;
  std::optional<std::string_view> tool_call_id, name;
  bool is_error = false;
  std::optional<std::int64_t> turn;
  const json::Value* read = nullptr;
  bool text_masked = false;

  // A user message made only of tool results is a host's way to hand them in, not a person's turn.
  bool begins_turn() const;
};

struct CompactionBody {
  std::optional<std::string_view> summary, narrative, first_kept, reason;
  const json::Value* snapshot = nullptr;
  const json::Value* replacement = nullptr;  // messages, or a blob of them
  std::vector<std::string_view> kept;
  bool has_kept = false;
  bool opaque = false;
  std::optional<std::int64_t> tokens_before;
};

struct LabelBody {
  std::string_view target;
  std::optional<std::string_view> label;
};

struct ContextEditBody {
  std::string_view target;
  const json::Value* replacement = nullptr;  // null: taken out
};

struct BranchSummaryBody {
  std::string_view summary;
  std::optional<std::string_view> from;
};

struct SessionInfoBody {
  std::optional<std::string_view> name, cwd;
  const json::Value* tools = nullptr;
  std::optional<bool> barrier_feed;
};

struct CtreeNodeBody {
  std::string_view kind;
  const json::Value* payload = nullptr;
  std::optional<std::int64_t> turn;
  std::optional<std::string_view> node_id;  // a name of the caller's
  std::optional<std::string_view> raw;      // exact text of an imported record; nothing if it is a blob
};

// Each adds what is wrong to `errors` and answers what it could read.
MessageBody decode_message(const json::Value& body, const std::string& path, json::FieldErrors& errors);
CompactionBody decode_compaction(const json::Value& body, const std::string& path, json::FieldErrors& errors);
LabelBody decode_label(const json::Value& body, const std::string& path, json::FieldErrors& errors);
ContextEditBody decode_context_edit(const json::Value& body, const std::string& path, json::FieldErrors& errors);
BranchSummaryBody decode_branch_summary(const json::Value& body, const std::string& path, json::FieldErrors& errors);
SessionInfoBody decode_session_info(const json::Value& body, const std::string& path, json::FieldErrors& errors);
CtreeNodeBody decode_ctree_node(const json::Value& body, const std::string& path, json::FieldErrors& errors);

// Is this a body that an entry of this type may have? Types without a rule here take any object.
void check_body(std::string_view type, const json::Value& body, const std::string& path, json::FieldErrors& errors);

}  // namespace weir
