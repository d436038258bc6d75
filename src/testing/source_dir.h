// Where the project's files are, for tests that read them.
#pragma once

#include <string>

namespace weir::testing {

std::string source_dir();

}  // namespace weir::testing
