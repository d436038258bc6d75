// A damaged first page of weir.db: damage with its place for whoever opens it, and a finding of verify.
#include "store/header_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/damaged_store.h"
#include "testing/results.h"

namespace weir {
namespace {

using testing::code;
using ::testing::Contains;
using testing::DamagedStore;
using testing::detail;
using testing::must;
using ::testing::StartsWith;

void flip(const DamagedStore& store, std::size_t at, int bits) {
  std::string bytes = testing::read_file(store.database());
  bytes[at] = static_cast<char>(bytes[at] ^ bits);
  testing::write_file(store.database(), bytes);
}

std::vector<std::string> examined(DamagedStore& store) {
  const auto opened = must(store.open(Store::Access::examine));
  std::vector<std::string> out;
  for (const Finding& finding : must(verify(*opened, {}, [](const VerifyProgress&) { return true; })).findings)
    out.push_back(testing::show(finding));
  return out;
}

struct Flip {
  const char* name;
  std::size_t at;
  int bits;
};
class DamagedHeaderTest : public ::testing::TestWithParam<Flip> {};

TEST_P(DamagedHeaderTest, IsDamageAndListed) {
  DamagedStore store;
  flip(store, GetParam().at, GetParam().bits);
  for (const auto access : {Store::Access::read, Store::Access::write}) {
    const auto opened = store.open(access);
    ASSERT_EQ(code(opened), "CORRUPT");
    EXPECT_EQ(detail(opened.error(), "object"), "weir.db");
  }
  EXPECT_THAT(examined(store), Contains(StartsWith("//weir.db: ")));
}

INSTANTIATE_TEST_SUITE_P(Places, DamagedHeaderTest,
                         ::testing::Values(Flip{"Magic", 3, 1}, Flip{"PageSize", 16, 1}, Flip{"ReadVersion", 19, 4},
                                           Flip{"PayloadFraction", 21, 1}, Flip{"SchemaFormat", 47, 8}, Flip{"UserVersion", 63, 2}),
                         [](const auto& instance) { return instance.param.name; });

TEST(HeaderTest, ATextOfATableThatIsNoneIsDamageAndListed) {
  DamagedStore store;
  const std::size_t at = testing::read_file(store.database()).find("CREATE TABLE head(");
  ASSERT_NE(at, std::string::npos);
  flip(store, at, 1);
  EXPECT_EQ(code(store.open()), "CORRUPT");
  EXPECT_THAT(examined(store), Contains(StartsWith("//weir.db: SQLite: malformed database schema")));
}

TEST(HeaderTest, AWriteVersionOfNobodyIsDamageForWhoeverWrites) {
  DamagedStore store;
  flip(store, 18, 1);
  EXPECT_EQ(code(store.open(Store::Access::read)), "OK");
  EXPECT_EQ(code(store.open(Store::Access::write)), "CORRUPT");
  EXPECT_THAT(examined(store), ::testing::ElementsAre(StartsWith("//weir.db: its header says version 3 for writing and 2 for reading")));
}

TEST(HeaderTest, OfASoundStoreAndOfNoneNothingIsSaid) {
  DamagedStore store;
  const auto sound = must(check_header(system_files(), store.database()));
  EXPECT_TRUE(sound.ours);
  EXPECT_FALSE(sound.damage);
  testing::write_file(store.database(), "short");
  EXPECT_FALSE(must(check_header(system_files(), store.database())).ours);
}

}  // namespace
}  // namespace weir
