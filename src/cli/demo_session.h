// The bundled session that `weir demo` imports: a file of pi's, written for the project (data/demo-session.jsonl).
#pragma once

#include <string_view>

namespace weir::cli {

std::string_view demo_session();

}  // namespace weir::cli
