#include <algorithm>
#include <iterator>

#include "api/operation.h"

namespace weir::api {
namespace {

std::vector<Operation> make_operations() {
  std::vector<Operation> all;
  for (auto& group : {session_operations(), reading_operations(), context_operations(), compaction_operations(), research_operations(),
                      store_operations()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

constexpr Alias kAliases[] = {
    {"GET", "/sessions/{session}/ctrees", "getCtrees"},
    {"GET", "/sessions/{session}/ctrees/tree", "getCtreesTree"},
    {"GET", "/sessions/{session}/ctrees/events", "getCtreesEvents"},
    {"GET", "/sessions/{session}/readcache-status", "getReads"},
    {"POST", "/sessions/{session}/readcache-refresh", "refresh"},
    {"POST", "/sessions/{session}/tree", "putHead", "head", "main"},
};

}  // namespace

std::span<const Alias> aliases() { return kAliases; }

std::span<const Operation> operations() {
  static const std::vector<Operation> all = make_operations();
  return all;
}

const Operation* find_operation(std::string_view id) {
  const auto all = operations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Operation& operation) { return operation.id == id; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace weir::api
