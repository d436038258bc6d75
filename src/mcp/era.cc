// Which era a request belongs to, and what each asks of it before it is looked at.
#include <algorithm>

#include "base/base64.h"
#include "json/canonical.h"
#include "mcp/core.h"

namespace weir::mcp {
namespace {

using json::Value;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// A header's value; `=?base64?...?=` stands for what cannot be one. Nothing: it is malformed.
std::optional<std::string> header_value(std::string_view raw) {
  constexpr std::string_view kOpens = "=?base64?", kCloses = "?=";
  const std::string_view text = trimmed(raw);
  if (!text.starts_with(kOpens) || !text.ends_with(kCloses) || text.size() < kOpens.size() + kCloses.size()) return std::string(text);
  return decode_base64(text.substr(kOpens.size(), text.size() - kOpens.size() - kCloses.size()));
}

Fault header_fault(std::string_view header, std::string_view why) {
  return {.code = code::kHeader, .message = "the header " + std::string(header) + " " + std::string(why), .http = 400};
}

Fault meta_fault(std::string_view key, std::string_view why) {
  return {.code = code::kParams, .message = "params._meta[\"" + std::string(key) + "\"] " + std::string(why), .http = 400};
}

// Which member of params a method's Mcp-Name repeats.
std::string_view named_by(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  return method == "resources/read" ? "uri" : "";
}

// A value as a header carries it.
std::string as_header(const Value& value) { return value.is_string() ? std::string(value.text()) : json::canonical(value); }

std::optional<Fault> compare_header(const Arrival& arrival, std::string_view name, std::string_view expected) {
  const std::string_view raw = arrival.header(name);
  if (trimmed(raw).empty()) return header_fault(name, "is missing");
  const auto value = header_value(raw);
  if (!value) return header_fault(name, "is no base64");
  if (*value != expected) return header_fault(name, "does not say what the body says");
  return std::nullopt;
}

}  // namespace

bool Core::is_modern_message(const Value& message, const Arrival& arrival) {
  const Value* const params = message.find("params");
  const Value* const meta = params == nullptr ? nullptr : params->find("_meta");
  if (meta != nullptr &&
      (meta->find(kMetaVersion) != nullptr || meta->find(kMetaClient) != nullptr || meta->find(kMetaCapabilities) != nullptr))
    return true;
  if (message.text_or("method", "") == "server/discover") return true;
  if (!arrival.http()) return false;
  const std::string_view version = trimmed(arrival.header("MCP-Protocol-Version"));
  // A legacy date settles it: clients of that era may send Mcp-Method too.
  if (version.empty()) return !arrival.header("Mcp-Method").empty();
  const auto revision = parse_revision(version);
  return !revision || is_modern(*revision);
}

std::optional<Fault> Core::check_modern(Task& task, const Arrival& arrival) const {
  const Value* const version = task.meta.find(kMetaVersion);
  if (version == nullptr || !version->is_string()) return meta_fault(kMetaVersion, "is a string and must be there");
  const Value* const capabilities = task.meta.find(kMetaCapabilities);
  if (capabilities == nullptr || !capabilities->is_object()) return meta_fault(kMetaCapabilities, "is an object and must be there");
  if (const Value* const client = task.meta.find(kMetaClient); client != nullptr && !client->is_object())
    return meta_fault(kMetaClient, "is an object");
  if (const Value* const level = task.meta.find(kMetaLogLevel)) {
    task.level = log_level(level->is_string() ? level->text() : "");
    if (!task.level) return meta_fault(kMetaLogLevel, "is no level");
  }
  task.capabilities = *capabilities;
  if (arrival.http()) {
    if (auto fault = check_headers(task, arrival)) return fault;
  }
  if (version->text() != revision_name(kModern)) {
    json::Arena arena;
    const Value supported[] = {Value(revision_name(kModern))};
    const Value data = json::make_object(arena, {{"supported", Value::array(supported)}, {"requested", *version}});
    return Fault{.code = code::kVersion, .message = "this revision is not spoken here", .data = json::canonical(data), .http = 400};
  }
  return std::nullopt;
}

std::optional<Fault> Core::check_headers(const Task& task, const Arrival& arrival) const {
  if (auto fault = compare_header(arrival, "MCP-Protocol-Version", task.meta.text_or(kMetaVersion, ""))) return fault;
  if (auto fault = compare_header(arrival, "Mcp-Method", task.method)) return fault;
  if (const std::string_view member = named_by(task.method); !member.empty()) {
    const Value* const name = task.params.find(member);
    if (name != nullptr && name->is_string()) {
      if (auto fault = compare_header(arrival, "Mcp-Name", name->text())) return fault;
    } else if (!arrival.header("Mcp-Name").empty()) {
      return header_fault("Mcp-Name", "names what the body does not");
    }
  }
  return task.method == "tools/call" ? check_parameter_headers(task, arrival) : std::nullopt;
}

std::optional<Fault> Core::check_parameter_headers(const Task& task, const Arrival& arrival) const {
  const auto tool =
      std::find_if(tools_.begin(), tools_.end(), [&](const ToolSpec& one) { return one.name == task.params.text_or("name", ""); });
  if (tool == tools_.end()) return std::nullopt;
  const Value* const properties = schemas_[static_cast<std::size_t>(tool - tools_.begin())].find("properties");
  const Value* const arguments = task.params.find("arguments");
  if (properties == nullptr) return std::nullopt;
  for (const json::Member& property : properties->members()) {
    const Value* const header = property.value.find("x-mcp-header");
    if (header == nullptr) continue;
    const std::string name = "Mcp-Param-" + std::string(header->text());
    const Value* const given = arguments == nullptr ? nullptr : arguments->find(property.key);
    if (given == nullptr || given->is_null()) {
      if (!arrival.header(name).empty()) return header_fault(name, "names what the body does not have");
      continue;
    }
    if (auto fault = compare_header(arrival, name, as_header(*given))) return fault;
  }
  return std::nullopt;
}

std::optional<Fault> Core::check_legacy(Task& task) const {
  const auto agreed = task.peer == nullptr ? std::nullopt : task.peer->revision();
  if (!agreed && task.method != "initialize" && task.method != "ping")
    return Fault{.code = code::kRequest, .message = "initialize comes first", .http = 400};
  if (!agreed) return std::nullopt;
  task.revision = *agreed;
  task.level = task.peer->level();
  json::Arena& arena = task.parser->arena();
  if (auto parsed = json::parse_stored(arena.copy(task.peer->capabilities()), arena); parsed.ok()) task.capabilities = *parsed;
  return std::nullopt;
}

}  // namespace weir::mcp
