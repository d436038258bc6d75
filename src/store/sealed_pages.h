// A file system for SQLite in which every page of a database ends with a seal, written with the page and looked at whenever
// the page is read. For files beside the log, whose rows have no seals of their own: a full-text index in which one bit is
// wrong answers as if a word were not there.
#pragma once

namespace weir::sqlite {

// The name to open a database with; null if SQLite did not take it. The file keeps a rollback journal, and kSealBytes of every
// page are reserved before anything is written to it. A page without its seal is SQLITE_IOERR_DATA.
const char* sealed_pages();
inline constexpr int kSealBytes = 8;

}  // namespace weir::sqlite
