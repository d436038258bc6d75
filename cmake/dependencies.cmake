# Third-party libraries. Debian's packages, but for SQLite, which is built from the pinned amalgamation: Debian 12 has a
# version whose WAL can be corrupted by two connections.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL 3 REQUIRED)
pkg_check_modules(SIMDJSON REQUIRED IMPORTED_TARGET simdjson)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(FMT REQUIRED IMPORTED_TARGET fmt)

add_library(weir_sqlite STATIC ${WEIR_DEPS}/sqlite3/sqlite3.c)
target_include_directories(weir_sqlite SYSTEM PUBLIC ${WEIR_DEPS}/sqlite3)
target_compile_definitions(weir_sqlite PRIVATE
  SQLITE_THREADSAFE=2 SQLITE_DQS=0 SQLITE_DEFAULT_MEMSTATUS=0 SQLITE_OMIT_DEPRECATED SQLITE_OMIT_LOAD_EXTENSION
  SQLITE_OMIT_SHARED_CACHE SQLITE_LIKE_DOESNT_MATCH_BLOBS SQLITE_USE_ALLOCA SQLITE_ENABLE_FTS5
  SQLITE_DEFAULT_FILE_PERMISSIONS=0600 HAVE_FDATASYNC=1 HAVE_USLEEP=1 SQLITE_MAX_EXPR_DEPTH=0
  # Every sync goes through us, so that a failed one is never forgotten (base/sync_watch.h).
  fsync=weir_watched_fsync fdatasync=weir_watched_fdatasync)
target_compile_options(weir_sqlite PRIVATE -w)
target_link_libraries(weir_sqlite PUBLIC Threads::Threads m)

# The URL Standard, for research runs: a citation's id is the hash of what it makes of a URL.
add_library(weir_ada STATIC ${WEIR_DEPS}/ada/ada.cpp)
target_include_directories(weir_ada SYSTEM PUBLIC ${WEIR_DEPS}/ada)
target_compile_options(weir_ada PRIVATE -w)

# Beast's parser of HTTP, and nothing that has to be linked. Its headers are heavy: only src/http/ sees them.
find_path(WEIR_BOOST_INCLUDE boost/beast/http/parser.hpp REQUIRED)
add_library(weir_boost INTERFACE)
target_include_directories(weir_boost SYSTEM INTERFACE ${WEIR_BOOST_INCLUDE})
