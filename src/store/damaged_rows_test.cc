// Rows that were changed behind the log's back are CORRUPT with their place, whichever way they are asked for.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "store/seal.h"
#include "testing/damaged_store.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"

namespace weir {
namespace {

using testing::code;
using testing::DamagedStore;
using testing::must;
using testing::read_from;

// "SESSION/ENTRY/SEQ" of a CORRUPT error, or its code.
template <typename T>
std::string place(const Result<T>& result) {
  if (result.ok() || result.error().code() != ErrorCode::CORRUPT) return code(result);
  std::string session, entry, seq;
  for (const auto& [name, value] : result.error().details()) {
    if (name == "session") session = std::get<std::string>(value);
    if (name == "entry") entry = std::get<std::string>(value);
    if (name == "seq") seq = std::to_string(std::get<std::int64_t>(value));
  }
  return session + "/" + entry + "/" + seq;
}

constexpr SessionNo kS{1};

class DamagedRowsTest : public ::testing::Test {
 protected:
  template <typename Body>
  std::string read(Body&& body) {
    const auto store = must(damaged_.open());
    return place(read_from(store->log(), body));
  }
  std::string scan(Order order, Columns columns, Seq first = 1, Seq last = limits::kSeq) {
    return read(
        [&](LogReader& reader) { return reader.scan(kS, first, last, order, columns, [](Entry&) -> Result<bool> { return true; }); });
  }
  // Every way to the entry n4, at seq 4.
  std::vector<std::string> ways(Columns columns) {
    return {read([&](LogReader& reader) { return reader.entry(kS, 4, columns); }),
            read([&](LogReader& reader) { return reader.find(kS, EntryId::trusted("n4"), columns); }), scan(Order::forward, columns),
            scan(Order::forward, columns, 4, 4), scan(Order::backward, columns)};
  }
  DamagedStore damaged_;
};

TEST_F(DamagedRowsTest, ASoundStoreIsReadInEveryWay) {
  EXPECT_EQ(ways(Columns::all), std::vector<std::string>(5, "OK"));
  EXPECT_EQ(ways(Columns::without_body), std::vector<std::string>(5, "OK"));
}

TEST_F(DamagedRowsTest, ABodyThatIsNotItsDigestsIsNoData) {
  damaged_.damage("UPDATE entry SET body = replace(body, 'go on', 'go in') WHERE id = 'n4'");
  EXPECT_EQ(ways(Columns::all), std::vector<std::string>(5, "s/n4/4"));
  EXPECT_EQ(ways(Columns::without_body), std::vector<std::string>(5, "OK"));
}

TEST_F(DamagedRowsTest, ATypeIsNoDataEvenWithoutItsBody) {
  damaged_.damage("UPDATE entry SET type = 'messagf' WHERE id = 'n4'");
  EXPECT_EQ(ways(Columns::all), std::vector<std::string>(5, "s/n4/4"));
  EXPECT_EQ(ways(Columns::without_body), std::vector<std::string>(5, "s/n4/4"));
}

TEST_F(DamagedRowsTest, RowsOfTheFirstVersionAreReadAndTheirTypesChecked) {
  const auto store = must(damaged_.open());
  std::vector<std::string> old_seals;
  must(store->log().read([&](LogReader& reader) {
    return reader.scan(kS, 1, limits::kSeq, Order::forward, Columns::all, [&](Entry& entry) -> Result<bool> {
      old_seals.push_back("UPDATE entry SET seal = " + std::to_string(seal_of(kS, entry)) + " WHERE id = '" + entry.id.str() + "'");
      return true;
    });
  }));
  ASSERT_EQ(old_seals.size(), 5U);
  for (const std::string& sql : old_seals) damaged_.damage(sql);
  damaged_.damage("DROP TABLE purged_session; DROP TABLE undelivered; PRAGMA user_version=1");
  EXPECT_EQ(ways(Columns::all), std::vector<std::string>(5, "OK"));
  EXPECT_EQ(ways(Columns::without_body), std::vector<std::string>(5, "OK"));
  EXPECT_TRUE(damaged_.findings().empty());
  damaged_.damage("UPDATE entry SET type = 'messagf' WHERE id = 'n4'");
  EXPECT_EQ(ways(Columns::without_body), std::vector<std::string>(5, "s/n4/4"));
}

TEST_F(DamagedRowsTest, AnEntryMissingInTheMiddleEndsEveryScan) {
  damaged_.damage("DELETE FROM entry WHERE id = 'n3'");
  for (const Columns columns : {Columns::all, Columns::without_body}) {
    EXPECT_EQ(scan(Order::forward, columns), "s//3");
    EXPECT_EQ(scan(Order::backward, columns), "s//3");
    EXPECT_EQ(scan(Order::forward, columns, 3, 3), "s//3");
  }
  EXPECT_EQ(read([](LogReader& reader) { return reader.entry(kS, 4, Columns::all); }), "s//3");
}

TEST_F(DamagedRowsTest, LastEntriesThatAreMissingAreMissedByTheirHead) {
  damaged_.damage("DELETE FROM entry WHERE id = 'n5'");
  EXPECT_EQ(read([](LogReader& reader) { return reader.last_seq(kS); }), "s//5");
  EXPECT_EQ(scan(Order::forward, Columns::all), "s//5");
}

TEST_F(DamagedRowsTest, AnIdThatOnlyTheIndexKnowsIsDamage) {
  damaged_.damage("UPDATE entry SET id = 'nx' WHERE id = 'n4'");
  EXPECT_EQ(read([](LogReader& reader) { return reader.find(kS, EntryId::trusted("nx"), Columns::without_body); }), "s/nx/4");
  EXPECT_EQ(read([](LogReader& reader) { return reader.with_id_prefix(kS, "nx", 9); }), "s/nx/4");
}

}  // namespace
}  // namespace weir
