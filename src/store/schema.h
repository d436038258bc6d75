// The tables of weir.db, their version, and how an older store becomes a newer one.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/log.h"
#include "store/sqlite.h"

namespace weir {

inline constexpr std::int64_t kApplicationId = 0x57454952;  // "WEIR"
inline constexpr std::int64_t kSchemaVersion = 2;
inline constexpr std::int64_t kReadableVersion = 1;  // the oldest that needs no migration to be read

// Brings the database to kSchemaVersion in one transaction; an empty one is filled. STORE_UNUSABLE for a newer store
// and for a database that is not ours. CORRUPT, and nothing is changed, if the database has anything but the tables and indexes
// of its version: a trigger or a column that nobody knows of could keep from the disk what is acknowledged.
Result<void> migrate(sqlite::Connection& connection);

enum class SchemaUse {
  write,    // exactly the tables and indexes of a store
  read,     // those, and whatever else: it does not change what is read
  examine,  // even if they are altered: to say so, and to save what can be read
};
// The same checks without changing anything. CORRUPT for a number of a store beside a version that none ever had.
Result<void> check_schema(sqlite::Connection& connection, SchemaUse use);

// A store that is only read may lack tables, an older one those of later versions, a damaged one any: empty ones of this
// connection alone stand in for them. Whether that is damage, check_schema says.
Result<void> stand_in_for_missing_tables(sqlite::Connection& connection);

// Where the tables, indexes, triggers and views of a database are not those that these scripts make, statements that each
// end a line. `object` of a finding is the kind and the name.
struct SchemaFinding {
  Finding finding;
  bool added = false;  // it is none of the scripts'; else one of theirs is missing or altered
};
Result<std::vector<SchemaFinding>> schema_findings(sqlite::Connection& connection, const std::vector<std::string_view>& scripts);
// The same for a store of the version it says it has.
Result<std::vector<SchemaFinding>> schema_findings(sqlite::Connection& connection);

}  // namespace weir
