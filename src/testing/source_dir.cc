#include "testing/source_dir.h"

namespace weir::testing {

std::string source_dir() { return WEIR_SOURCE_DIR; }

}  // namespace weir::testing
