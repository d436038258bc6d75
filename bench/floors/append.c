// The least that an append of one entry to a branching log in SQLite can cost: one row, one index entry, one head, one
// transaction; nothing is parsed, masked, hashed or checked.
//   floor_append DIR COUNT BYTES normal|full
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static sqlite3* db;

static double wall_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double cpu_us(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void check(int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  fprintf(stderr, "floor: %s\n", sqlite3_errmsg(db));
  exit(1);
}

static void run(sqlite3_stmt* statement) {
  check(sqlite3_step(statement));
  check(sqlite3_reset(statement));
}

static sqlite3_stmt* prepare(const char* sql) {
  sqlite3_stmt* statement = NULL;
  check(sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
  return statement;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const long count = atol(argv[2]), bytes = atol(argv[3]);
  char path[4096];
  snprintf(path, sizeof path, "%s/floor.db", argv[1]);
  check(sqlite3_open(path, &db));
  check(sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL));
  check(sqlite3_exec(db, strcmp(argv[4], "full") == 0 ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", NULL, NULL, NULL));
  check(sqlite3_exec(db,
                     "CREATE TABLE entry(key INTEGER PRIMARY KEY, session INTEGER, seq INTEGER, parent INTEGER, at INTEGER, digest BLOB, body BLOB);"
                     "CREATE UNIQUE INDEX entry_seq ON entry(session, seq);"
                     "CREATE TABLE head(name TEXT PRIMARY KEY, seq INTEGER); INSERT INTO head VALUES('main', 0)",
                     NULL, NULL, NULL));
  sqlite3_stmt* begin = prepare("BEGIN IMMEDIATE");
  sqlite3_stmt* insert = prepare("INSERT INTO entry(session, seq, parent, at, digest, body) VALUES(1, ?1, ?2, ?3, ?4, ?5)");
  sqlite3_stmt* move = prepare("UPDATE head SET seq = ?1 WHERE name = 'main' AND seq = ?2");
  sqlite3_stmt* commit = prepare("COMMIT");
  char* body = malloc((size_t)bytes);
  char digest[32];
  for (long i = 0; i < bytes; ++i) body[i] = (char)('a' + i * 7 % 26);
  memset(digest, 7, sizeof digest);
  const double wall = wall_us(), cpu = cpu_us();
  for (long seq = 1; seq <= count; ++seq) {
    run(begin);
    sqlite3_bind_int64(insert, 1, seq);
    sqlite3_bind_int64(insert, 2, seq - 1);
    sqlite3_bind_int64(insert, 3, seq);
    sqlite3_bind_blob(insert, 4, digest, sizeof digest, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 5, body, (int)bytes, SQLITE_STATIC);
    run(insert);
    sqlite3_bind_int64(move, 1, seq);
    sqlite3_bind_int64(move, 2, seq - 1);
    run(move);
    if (sqlite3_changes(db) != 1) return 1;
    run(commit);
  }
  printf("put_ops_s %.6g 1/s\ncpu_us_per_put %.6g us\n", (double)count / (wall_us() - wall) * 1e6, (cpu_us() - cpu) / (double)count);
  return 0;
}
