// Resources: parts of the log by URI.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/asked.h"

namespace weir::mcp {

// A weir: URI, taken apart and decoded. `kind` is session, head, entry, snapshot, narrative, stage or blob.
struct ResourceName {
  std::string kind, session, part, at;
};
std::optional<ResourceName> parse_resource(std::string_view uri);

// Nothing for a broken escape, what is no UTF-8, and NUL.
std::optional<std::string> percent_decoded(std::string_view text);

std::string resource_uri(std::string_view session);
std::string resource_uri(std::string_view session, std::string_view kind, std::string_view part);

std::vector<std::string_view> own_templates();  // JSON, as listed

// {"contents":[...]}. NOT_FOUND and INVALID_FIELD: there is no such resource.
Result<json::Value> read_resource(Asked& asked, std::string_view uri);

// {"resources":[...],"nextCursor"?}; `cursor` empty: from the start.
Result<json::Value> list_resources(Asked& asked, std::string_view cursor);

}  // namespace weir::mcp
