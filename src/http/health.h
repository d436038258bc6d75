// Whether a server can do its work now.
#pragma once

#include <string>
#include <vector>

#include "service/service.h"

namespace weir::http {

// Why it cannot: store, disk. Looks at both.
std::vector<std::string> reasons_not_ready(Service& service);

// {"reasons":[...]}
std::string reasons_json(const std::vector<std::string>& reasons);

}  // namespace weir::http
