// The table of operations as an OpenAPI 3.1 document, with the few routes of the server that are not in it.
#pragma once

#include <string>
#include <string_view>

namespace weir::api {

// The same bytes for the same version.
std::string openapi_document(std::string_view version);

}  // namespace weir::api
