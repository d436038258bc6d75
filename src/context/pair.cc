#include "context/pair.h"

#include <algorithm>
#include <map>

namespace weir::context {
namespace {

Message placeholder(const Message& caller, std::size_t call, json::Arena& arena) {
  json::ObjectBuilder payload(arena);
  payload.add("content", kNoResult).add("is_error", true).add("role", role_name(Role::tool));
  if (const std::string_view id = caller.calls[call].id; !id.empty()) payload.add("tool_call_id", id);
  Message out = make_message(payload.build(), arena);
  out.node = caller.node;
  out.call = call;
  out.placeholder = true;
  return out;
}

}  // namespace

std::vector<Message> pair_results(std::vector<Message> messages, json::Arena& arena, bool& unanswered) {
  std::map<std::string_view, std::size_t> callers;                 // call -> the last message that made it
  std::vector<std::vector<std::size_t>> answers(messages.size());  // by caller: its results
  std::vector<std::vector<bool>> answered(messages.size());        // by caller and call
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Message& message = messages[i];
    answered[i].resize(message.calls.size());
    for (const Call& call : message.calls) {
      if (!call.id.empty()) callers[call.id] = i;
    }
    if (message.role != Role::tool) continue;
    const auto caller = callers.find(message.answers);
    if (caller == callers.end()) continue;
    // Of several calls with one id the first that waits; what comes after the last one is more of the same answer.
    const auto& calls = messages[caller->second].calls;
    auto& done = answered[caller->second];
    for (std::size_t call = 0; call < calls.size(); ++call) {
      if (calls[call].id != message.answers) continue;
      message.call = call;
      if (!done[call]) break;
    }
    done[message.call] = true;
    answers[caller->second].push_back(i);
  }
  std::vector<Message> out;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == Role::tool) continue;
    const std::size_t at = out.size();
    out.push_back(messages[i]);
    for (std::size_t call = 0; call < answered[i].size(); ++call) {
      for (const std::size_t result : answers[i]) {
        if (messages[result].call == call) out.push_back(messages[result]);
      }
      if (answered[i][call]) continue;
      out.push_back(placeholder(messages[i], call, arena));
      unanswered = true;
    }
    for (std::size_t j = at; j < out.size(); ++j) out[j].section = messages[i].section;
  }
  return out;
}

}  // namespace weir::context
