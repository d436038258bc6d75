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

// An item of an index over entries: its last column, and the key of the entry n4.
std::string item_of_n4(const std::string& column) { return column + std::string("\x01\0\0\0\0\x04", 6); }

class DamagedIndexTest : public DamagedRowsTest {
 protected:
  // Flips the lowest bit of the column's first byte.
  void flip(const std::string& item) {
    std::string bytes = testing::read_file(damaged_.database());
    const std::size_t at = bytes.find(item);
    ASSERT_NE(at, std::string::npos);
    ASSERT_EQ(bytes.find(item, at + 1), std::string::npos);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    testing::write_file(damaged_.database(), bytes);
  }
  std::string find(std::string_view id) {
    return read([&](LogReader& reader) { return reader.find(kS, EntryId::trusted(id), Columns::without_body); });
  }
  std::string begins(std::string_view prefix) {
    return read([&](LogReader& reader) { return reader.with_id_prefix(kS, prefix, 9); });
  }
};

TEST_F(DamagedIndexTest, OfASoundOneNothingIsNotFound) {
  for (const char* id : {"n4", "n3x", "a", "z"}) EXPECT_EQ(find(id), "OK") << id;
  for (const char* prefix : {"n", "n4", "n3x", "a", "z", ""}) EXPECT_EQ(begins(prefix), "OK") << prefix;
}

TEST_F(DamagedIndexTest, AnIdThatItsIndexHidesIsDamageAndNotAbsent) {
  flip(item_of_n4("n4"));
  EXPECT_EQ(find("n4"), "s//4");
  EXPECT_EQ(find("n4x"), "s//4");
  EXPECT_EQ(find("n2"), "OK");
}

TEST_F(DamagedIndexTest, NoPrefixLeavesOutAHiddenId) {
  flip(item_of_n4("n4"));
  EXPECT_EQ(begins("n4"), "s//4");
  EXPECT_EQ(begins("n"), "s//4");
}

TEST_F(DamagedIndexTest, AWriterDoesNotStoreAHiddenIdAgain) {
  flip(item_of_n4("n4"));
  const auto store = must(damaged_.open(Store::Access::write));
  const auto found = [&](std::string_view id) {
    return place(testing::write_to(store->log(), [&](LogTxn& txn) { return txn.find(kS, EntryId::trusted(id), Columns::without_body); }));
  };
  EXPECT_EQ(found("a"), "OK");
  EXPECT_EQ(found("n4"), "s//4");
}

TEST_F(DamagedIndexTest, ADigestThatItsIndexHidesIsDamageAndNotAbsent) {
  std::uint64_t prefix = 0;
  {
    const auto store = must(damaged_.open());
    prefix = must(read_from(store->log(), [](LogReader& reader) { return reader.entry(kS, 4, Columns::without_body); }))->digest.prefix64();
  }
  const auto with_digest = [&] { return read([&](LogReader& reader) { return reader.with_digest(kS, prefix); }); };
  EXPECT_EQ(with_digest(), "OK");
  std::string column;
  for (int shift = 56; shift >= 0; shift -= 8) column += static_cast<char>(prefix >> shift);
  flip(item_of_n4(column));
  EXPECT_EQ(with_digest(), "s//4");
}

class DamagedNotesTest : public DamagedRowsTest {
 protected:
  DamagedNotesTest() {
    const auto store = must(damaged_.open(Store::Access::write));
    must(testing::write_to(store->log(), [](LogTxn& txn) -> Result<void> {
      TRY_DO(txn.add_undelivered(kS, 77, 4));
      return txn.add_undelivered(kS, 78, 2);
    }));
  }
  std::vector<std::string> asked() {
    return {read([](LogReader& reader) { return reader.undelivered(kS, 77); }),
            read([](LogReader& reader) { return reader.count_undelivered(kS); }),
            read([](LogReader& reader) { return reader.all_undelivered(); })};
  }
};

TEST_F(DamagedNotesTest, ANoteWhoseKeyIsDamagedIsMissedByWhoeverAsks) {
  EXPECT_EQ(asked(), std::vector<std::string>(3, "OK"));
  for (const char* change : {"path = path + 256", "session = 2", "seq = 5", "times = 2", "times = 0", "seal = seal + 1"}) {
    damaged_.damage(std::string("CREATE TABLE IF NOT EXISTS kept AS SELECT * FROM undelivered; UPDATE undelivered SET ") + change +
                    " WHERE path = 77");
    for (const std::string& place : asked()) EXPECT_TRUE(place.ends_with("//")) << change << ": " << place;
    damaged_.damage("DELETE FROM undelivered; INSERT INTO undelivered SELECT * FROM kept");
  }
}

TEST_F(DamagedNotesTest, ADamagedNoteIsNotTakenAway) {
  damaged_.damage("UPDATE undelivered SET path = 79 WHERE path = 77");
  const auto store = must(damaged_.open(Store::Access::write));
  EXPECT_EQ(code(testing::write_to(store->log(), [](LogTxn& txn) { return txn.drop_undelivered(kS, 78, 2); })), "CORRUPT");
}

}  // namespace
}  // namespace weir
