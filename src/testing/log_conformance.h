// What every log must do, whatever it keeps its rows in. The tests are in store/log_conformance*_test.cc; a new log
// joins with one more LogFactory there.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "store/log.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/temp_dir.h"

namespace weir::testing {

struct LogFactory {
  std::string name;
  // Opens the log kept in `directory`; makes it if it is missing.
  std::function<std::unique_ptr<Log>(const std::string& directory)> open;
  bool durable = true;             // a second open finds what the first one wrote
  bool readers_never_wait = true;  // a write ends while a read goes on
};
inline void PrintTo(const LogFactory& factory, std::ostream* out) { *out << factory.name; }

class LogConformance : public ::testing::TestWithParam<LogFactory> {
 protected:
  LogConformance() : log_(GetParam().open(dir_.path())) {}

  Log& log() { return *log_; }
  void reopen() {
    log_.reset();
    log_ = GetParam().open(dir_.path());
  }

  SessionRow make_session(std::string_view name, std::int64_t created_ms = 1000) {
    return must(write_to(log(), [&](LogTxn& txn) { return txn.create_session(SessionId::trusted(name), TimeMs{created_ms}); }));
  }
  void insert(SessionNo session, const std::vector<Entry>& entries) {
    must(write_to(log(), [&](LogTxn& txn) -> Result<void> {
      for (const Entry& entry : entries) TRY_DO(txn.insert(session, entry));
      return {};
    }));
  }
  void set_head(SessionNo session, std::string_view name, Seq seq) {
    must(write_to(log(), [&](LogTxn& txn) { return txn.set_head(session, HeadName::trusted(name), seq); }));
  }

  // A session "s" with four entries: 1 <- 2 <- 3 (a compaction), and 4 under 1; one of each other row.
  SessionRow make_furnished_session(std::string_view name) {
    const SessionRow session = make_session(name);
    const Entry first = make_row(1, nullptr, "message", R"({"n":1})");
    const Entry second = make_row(2, &first, "message", R"({"n":2})", "second");
    insert(session.no,
           {first, second, make_row(3, &second, "compaction", R"({"n":3})"), make_row(4, &first, "custom", R"({"n":4})", "fourth")});
    must(write_to(log(), [&](LogTxn& txn) -> Result<void> {
      TRY_DO(txn.set_head(session.no, HeadName::trusted("main"), 3));
      TRY_DO(txn.set_head(session.no, HeadName::trusted("side"), 4));
      TRY_DO(txn.set_source(session.no, R"({"format":"x"})"));
      TRY_DO(txn.save_checkpoint(session.no, "a", {2, "state of a"}));
      TRY_DO(txn.add_undelivered(session.no, 77, 1));
      return txn.add_masked(session.no, {{"jwt", 2}});
    }));
    return session;
  }

 private:
  TempDir dir_;
  std::unique_ptr<Log> log_;
};

}  // namespace weir::testing
