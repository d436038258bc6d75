#include "mcp/client_roots.h"

#include "base/open_beneath.h"
#include "json/parse.h"
#include "mcp/peer.h"
#include "mcp/resources.h"

namespace weir::mcp {
namespace {

using json::Value;

constexpr auto kPatience = std::chrono::seconds(2);

// What an answer to roots/list names; nothing for one that is none, or names none at all. Roots that are no directories of ours
// narrow too: to nothing.
std::optional<std::vector<std::string>> named_roots(const std::optional<Peer::Answer>& answer, json::Arena& arena) {
  if (!answer) return std::nullopt;
  const auto parsed = json::parse_stored(arena.copy(answer->result), arena);
  const Value* const roots = parsed.ok() ? parsed->find("roots") : nullptr;
  if (roots == nullptr || !roots->is_array() || roots->items().empty()) return std::nullopt;
  std::vector<std::string> out;
  for (const Value& root : roots->items())
    if (const std::string path = path_of_uri(root.text_or("uri", "")); !path.empty()) out.push_back(follow_links(path));
  return out;
}

}  // namespace

std::string path_of_uri(std::string_view uri) {
  constexpr std::string_view kScheme = "file://";
  if (!uri.starts_with(kScheme)) return {};
  uri.remove_prefix(kScheme.size());
  // An authority: only this machine's own.
  if (uri.starts_with("localhost/")) uri.remove_prefix(std::string_view("localhost").size());
  if (!uri.starts_with('/')) return {};
  auto path = percent_decoded(uri).value_or("");
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  // A root that climbs is no root.
  return (path + "/").find("/../") == std::string::npos ? path : "";
}

bool must_ask_roots(const Task& task) {
  return task.peer != nullptr && !task.modern() && task.capabilities.find("roots") != nullptr && !task.peer->knows_roots();
}

std::optional<std::vector<std::string>> client_roots(Asked& asked) {
  Task& task = asked.task;
  if (task.peer == nullptr || task.modern()) return std::nullopt;
  if (must_ask_roots(task) && task.channel->hears()) {
    // Others wait for the one who asks.
    const std::lock_guard asking(task.peer->asking_roots());
    if (must_ask_roots(task))
      task.peer->set_roots(named_roots(task.peer->ask(task, "roots/list", Value::object({}), kPatience), asked.arena));
  }
  return task.peer->roots();
}

}  // namespace weir::mcp
