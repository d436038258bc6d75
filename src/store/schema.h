// The tables of weir.db, their version, and how an older store becomes a newer one.
#pragma once

#include "base/result.h"
#include "store/sqlite.h"

namespace weir {

inline constexpr std::int64_t kApplicationId = 0x57454952;  // "WEIR"
inline constexpr std::int64_t kSchemaVersion = 1;

// Brings the database to kSchemaVersion in one transaction; an empty one is filled. STORE_UNUSABLE for a newer store
// and for a database that is not ours.
Result<void> migrate(sqlite::Connection& connection);

// The same checks without changing anything; a store that would have to be migrated is refused too.
Result<void> check_schema(sqlite::Connection& connection);

}  // namespace weir
