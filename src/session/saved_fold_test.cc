// States saved beside the log: a cache that other processes start from, and that may be damaged without harm.
#include <gtest/gtest.h>

#include "session/fold_engine.h"
#include "store/sqlite.h"
#include "store/store.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/session_calls.h"
#include "testing/temp_dir.h"
#include "testing/trail_fold.h"

namespace weir {
namespace {

using testing::make_chain;
using testing::must;
using testing::stepwise;
using testing::store_rows;
using testing::trail_at;
using testing::TrailEngine;

class SavedFoldTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open() { return must(Store::open(dir_ / "store", Store::Access::write, {}, {})); }
  testing::TempDir dir_;
};

TEST_F(SavedFoldTest, SavedStateIsWhereAnotherProcessStarts) {
  const std::vector<Entry> chain = make_chain(60);
  {
    const auto store = open();
    store_rows(store->log(), chain);
    TrailEngine engine;
    for (const Seq seq : {20, 50}) must(testing::write_to(store->log(), [&](LogTxn& txn) { return engine.save(txn, SessionNo{1}, seq); }));
  }
  const auto store = open();
  TrailEngine engine;
  EXPECT_EQ(trail_at(engine, store->log(), 60), stepwise(chain, 60));
  EXPECT_EQ(engine.steps(), 10u);
  EXPECT_EQ(trail_at(engine, store->log(), 20), stepwise(chain, 20));
  EXPECT_EQ(engine.steps(), 10u);
  EXPECT_EQ(trail_at(engine, store->log(), 49), stepwise(chain, 49));
  EXPECT_EQ(engine.steps(), 10u + 29);
}

TEST_F(SavedFoldTest, DamagedOrUnreadableSavedStateIsComputedAgain) {
  const std::vector<Entry> chain = make_chain(60);
  {
    const auto store = open();
    store_rows(store->log(), chain);
    TrailEngine engine;
    must(testing::write_to(store->log(), [&](LogTxn& txn) -> Result<void> {
      TRY_DO(engine.save(txn, SessionNo{1}, 20));
      TRY_DO(engine.save(txn, SessionNo{1}, 40));
      return txn.save_checkpoint(SessionNo{1}, "trail", {50, "of an older version"});
    }));
  }
  {
    const auto connection = must(sqlite::Connection::open(dir_ / "store/weir.db", sqlite::Connection::Mode::read_write, 1000));
    must(connection->execute("UPDATE checkpoint SET state = '999 999 n999' WHERE seq = 40"));
  }
  const auto store = open();
  TrailEngine engine;
  EXPECT_EQ(trail_at(engine, store->log(), 60), stepwise(chain, 60));
  EXPECT_EQ(engine.steps(), 40u);
}

TEST_F(SavedFoldTest, SavedStateOfAnotherBranchIsNotUsed) {
  const auto store = open();
  testing::SessionCalls session(store->log());
  session.grow({"a", "b", "x<a", "y"});
  const SessionNo no = session.row().no;
  TrailEngine saver, engine;
  must(testing::write_to(store->log(), [&](LogTxn& txn) { return saver.save(txn, no, 2); }));
  EXPECT_EQ(trail_at(engine, store->log(), 4, no).count, 3u);
  EXPECT_EQ(engine.steps(), 3u);
}

}  // namespace
}  // namespace weir
