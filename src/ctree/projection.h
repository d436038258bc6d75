// The closed form of a message and of a task: what of a body belongs to the conversation, with the ids that providers make
// up replaced by aliases, because they differ on every run.
#pragma once

#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "json/value.h"

namespace weir::ctree {

// The name an id goes by in payloads. It must outlive the payload.
using Alias = FunctionRef<std::string_view(std::string_view)>;

struct ProjectedMessage {
  json::Value payload;
  std::vector<std::string_view> calls, results;  // ids as recorded, of the calls it makes and of those it answers
  bool only_results = false;                     // nothing else is in it
};

// `role, content, tool_calls, tool_call_id, name, is_error`; what is null, false or an empty list of calls is left out.
// With text_fallback, `text` stands in for a content that is not there.
ProjectedMessage project_message(const json::Value& body, bool text_fallback, Alias alias, json::Arena& arena);

// The members of a task's event, ids aliased; `root` is nobody's id.
json::Value project_task(const json::Value& payload, Alias alias, json::Arena& arena);

}  // namespace weir::ctree
