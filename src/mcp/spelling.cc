#include "mcp/spelling.h"

#include <algorithm>
#include <span>

#include "mcp/protocol.h"

namespace weir::mcp {
namespace {

using json::Value;
using Names = std::span<const std::string_view>;

constexpr std::string_view kEnvelope[] = {"jsonrpc", "id", "method", "params", "result", "error"};
constexpr std::string_view kParams[] = {"_meta",         "name",           "arguments",   "uri",    "cursor", "level",    "protocolVersion",
                                        "capabilities",  "clientInfo",     "requestId",   "reason", "ref",    "argument", "context",
                                        "notifications", "inputResponses", "requestState"};
constexpr std::string_view kMeta[] = {"progressToken", kMetaVersion, kMetaClient, kMetaCapabilities, kMetaLogLevel, kMetaSubscription};
constexpr std::string_view kInner[] = {
    "type", "name", "uri", "value", "arguments", "resourceSubscriptions", "toolsListChanged", "promptsListChanged", "resourcesListChanged"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// The name that is meant; empty: it is one, or none.
std::string_view meant_by(std::string_view key, Names names) {
  const auto like = [&](std::string_view name) {
    return name.size() == key.size() &&
           std::equal(name.begin(), name.end(), key.begin(), [](char a, char b) { return lower(a) == lower(b); });
  };
  if (std::find(names.begin(), names.end(), key) != names.end()) return {};
  const auto found = std::find_if(names.begin(), names.end(), like);
  return found == names.end() ? std::string_view() : *found;
}

void check_members(const Value& object, const std::string& path, Names names, json::FieldErrors& errors) {
  for (const json::Member& member : object.members())
    if (const std::string_view meant = meant_by(member.key, names); !meant.empty())
      errors.add(json::pointer(path, member.key), "is written " + std::string(meant));
}

}  // namespace

std::string misspelt_member(const Value& message) {
  for (const json::Member& member : message.members())
    if (const std::string_view meant = meant_by(member.key, kEnvelope); !meant.empty()) return std::string(meant);
  return {};
}

void check_spelling(const Value& params, json::FieldErrors& errors) {
  check_members(params, "", kParams, errors);
  for (const json::Member& member : params.members()) {
    if (member.key == "_meta") check_members(member.value, "/_meta", kMeta, errors);
    if (member.key == "ref" || member.key == "argument" || member.key == "context" || member.key == "notifications")
      check_members(member.value, json::pointer("", member.key), kInner, errors);
  }
}

}  // namespace weir::mcp
