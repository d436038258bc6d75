// What the revisions of the protocol are called, and which fields each of them knows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::mcp {

// In order of age: what one defines, later ones define too, but for batches.
enum class Revision { v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28 };
inline constexpr Revision kNewestLegacy = Revision::v2025_11_25, kModern = Revision::v2026_07_28;

std::string_view revision_name(Revision revision);
std::optional<Revision> parse_revision(std::string_view name);
constexpr bool is_modern(Revision revision) { return revision == kModern; }

enum class Feature {
  annotations,  // of tools
  completions,  // as a capability
  structured,   // structuredContent and outputSchema; _meta of a tool
  result_type,  // resultType and _meta of results, ttlMs, cacheScope
};
bool has(Revision revision, Feature feature);
constexpr bool has_batches(Revision revision) { return revision <= Revision::v2025_03_26; }

inline constexpr std::string_view kMetaVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kMetaClient = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kMetaCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kMetaLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kMetaServer = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view kMetaSubscription = "io.modelcontextprotocol/subscriptionId";

namespace code {
inline constexpr int kParse = -32700, kRequest = -32600, kMethod = -32601, kParams = -32602, kInternal = -32603;
inline constexpr int kResource = -32002;  // legacy only
inline constexpr int kHeader = -32020, kCapability = -32021, kVersion = -32022;
}  // namespace code

// Why a request is not answered with a result. `data` is JSON text; empty: none.
struct Fault {
  int code = 0;
  std::string message;
  std::string data = {};
  int http = 200;
};

// debug .. emergency as 0 .. 7; nothing for any other word.
std::optional<int> log_level(std::string_view name);

}  // namespace weir::mcp
