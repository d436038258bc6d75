// Every kind of damage is found and named by session, entry and object.
#include "store/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/damaged_store.h"
#include "testing/log_access.h"
#include "testing/results.h"

namespace weir {
namespace {

using testing::code;
using ::testing::Contains;
using testing::DamagedStore;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::must;
using testing::read_file;
using ::testing::StartsWith;
using testing::write_file;

TEST(VerifyTest, SoundStoreHasNoFindings) {
  DamagedStore store;
  const VerifyReport report = store.verify();
  EXPECT_THAT(store.findings(), IsEmpty());
  EXPECT_EQ(report.sessions, 2u);
  EXPECT_EQ(report.entries, 6u);
  EXPECT_EQ(report.blobs, 1u);
  EXPECT_EQ(report.purged, 0u);
  EXPECT_GT(report.bytes, 70000u);
  EXPECT_THAT(store.findings({.quick = true}), IsEmpty());
  EXPECT_THAT(store.findings({.sample = 0.5}), IsEmpty());
  const VerifyReport only = store.verify({.only_session = "t"});
  EXPECT_EQ(only.sessions, 1u);
  EXPECT_EQ(only.entries, 1u);
  EXPECT_EQ(only.blobs, 0u);
}

struct Damage {
  std::string name, sql;
  std::vector<std::string> findings;  // how each begins, in order
};
void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.sql; }

class VerifyDamageTest : public ::testing::TestWithParam<Damage> {};

TEST_P(VerifyDamageTest, IsNamed) {
  DamagedStore store;
  store.damage(GetParam().sql);
  const std::vector<std::string> found = store.findings();
  ASSERT_EQ(found.size(), GetParam().findings.size()) << ::testing::PrintToString(found);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_THAT(found[i], StartsWith(GetParam().findings[i]));
}

const std::string kN1 = "s/n1/seq 1: ", kN2 = "s/n2/seq 2: ", kN3 = "s/n3/seq 3: ", kN4 = "s/n4/seq 4: ", kN5 = "s/n5/seq 5: ";
const std::string kRow = "damaged entry row", kDigest = "the digest does not match", kParent2 = "the parent, seq 2, is missing or damaged";

INSTANTIATE_TEST_SUITE_P(
    Columns, VerifyDamageTest,
    ::testing::Values(
        Damage{"Body", "UPDATE entry SET body = replace(body, 'go on', 'gp on') WHERE id = 'n4'", {kN4 + kDigest}},
        Damage{"BodyThatIsNoJsonAnyMore",
               "UPDATE entry SET body = replace(body, '}', '') WHERE id = 'n2'",
               {kN2 + kDigest, kN2 + "the body is not JSON"}},
        Damage{"EmptyBody", "UPDATE entry SET body = '' WHERE id = 'n4'", {kN4 + kDigest}},
        Damage{"BlobName", "UPDATE entry SET body = replace(body, '$blob', '$blub') WHERE id = 'n2'", {kN2 + kDigest}},
        Damage{"Type", "UPDATE entry SET type = 'messagf' WHERE id = 'n4'", {kN4 + kRow}},
        Damage{"TypeOfACompaction",
               "UPDATE entry SET type = 'compactiom' WHERE id = 'n3'",
               {kN3 + kRow, kN4 + "the parent, seq 3, is missing or damaged"}},
        Damage{"Id", "UPDATE entry SET id = 'n0' WHERE id = 'n4'", {"s/n0/seq 4: " + kRow}},
        Damage{"At", "UPDATE entry SET at = at + 1 WHERE id = 'n4'", {kN4 + kRow}},
        Damage{"Imported", "UPDATE entry SET imported = 1 WHERE id = 'n4'", {kN4 + kRow}},
        Damage{"Parent", "UPDATE entry SET parent = 2 WHERE id = 'n4'", {kN4 + kRow}},
        Damage{"ParentThatOthersNeed", "UPDATE entry SET parent = 0 WHERE id = 'n2'", {kN2 + kRow, kN3 + kParent2, kN5 + kParent2}},
        Damage{"Barrier", "UPDATE entry SET barrier = 0 WHERE id = 'n4'", {kN4 + kRow}},
        Damage{"Depth", "UPDATE entry SET depth = 9 WHERE id = 'n4'", {kN4 + kRow}},
        Damage{"Digest", "UPDATE entry SET digest = randomblob(32) WHERE id = 'n5'", {kN5 + kRow}},
        Damage{"ShortDigest", "UPDATE entry SET digest = x'00' WHERE id = 'n5'", {kN5 + kRow}},
        Damage{"Seal", "UPDATE entry SET seal = seal + 1 WHERE id = 'n5'", {kN5 + kRow}},
        Damage{"Pointer", "UPDATE entry SET pointer = pointer + 1 WHERE id = 'n5'", {kN5 + kRow}},
        Damage{"MissingPointer", "UPDATE entry SET pointer = NULL WHERE id = 'n5'", {kN5 + kRow}},
        Damage{"SessionOfAnEntry", "UPDATE entry SET session = 2 WHERE id = 'n4'", {kN4 + kRow}},
        Damage{"SessionOfAnEntryThatIsNone", "UPDATE entry SET session = 9 WHERE id = 'n4'", {"//session number 9: ", kN4 + kRow}},
        Damage{"Key", "UPDATE entry SET key = key + 100 WHERE id = 'n5'",
               [] {
                 std::vector<std::string> findings;
                 for (int seq = 5; seq < 105; ++seq) findings.push_back("s//seq " + std::to_string(seq) + ": the entry is missing");
                 findings.push_back("s/n5/seq 105: " + kRow);
                 return findings;
               }()}),
    [](const auto& instance) { return instance.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Rows, VerifyDamageTest,
    ::testing::Values(
        Damage{"EntryGone", "DELETE FROM entry WHERE id = 'n4'", {"s//seq 4: the entry is missing"}},
        Damage{"LastEntryGone", "DELETE FROM entry WHERE id = 'n5'", {"s//head side: it stands at seq 5, the last is 4"}},
        Damage{"ParentGone", "DELETE FROM entry WHERE id = 'n2'", {"s//seq 2: the entry is missing", kN3 + kParent2, kN5 + kParent2}},
        Damage{"FirstGoneAndSecondDamaged",
               "DELETE FROM entry WHERE id = 'n1'; UPDATE entry SET at = 0 WHERE id = 'n2'",
               {"s//seq 1: the entry is missing", kN2 + kRow, kN3 + kParent2, kN5 + kParent2}},
        Damage{"TwoApart",
               "UPDATE entry SET at = 0 WHERE id IN ('n1', 'n4')",
               {kN1 + kRow, kN2 + "the parent, seq 1, is missing or damaged", kN4 + kRow}},
        Damage{"Head", "UPDATE head SET seq = 3 WHERE session = 1 AND name = 'main'", {"s//head main: damaged head row main"}},
        Damage{"HeadName", "UPDATE head SET name = 'maim' WHERE session = 1 AND name = 'main'", {"s//head maim: damaged head row maim"}},
        Damage{"HeadsGone", "DELETE FROM head WHERE session = 1", {"s//heads: there are entries and no head main"}},
        Damage{"HeadOfNoSession",
               "UPDATE head SET session = 7 WHERE name = 'side'",
               {"//session number 7: it has entries or heads and no session row"}},
        Damage{"SessionCreated",
               "UPDATE session SET created = 1001 WHERE id = 's'",
               {"s//session row: damaged session row s; its entries were not checked"}},
        Damage{"SessionId", "UPDATE session SET id = 'r' WHERE id = 's'", {"r//session row: damaged session row r"}},
        Damage{"SessionSource", "UPDATE session SET source = '{}' WHERE id = 's'", {"s//session row: "}},
        Damage{"SessionGone", "DELETE FROM session WHERE id = 's'", {"//session number 1: it has entries or heads and no session row"}},
        Damage{"MaskedCount", "UPDATE masked SET count = 2", {"s//masked counts: damaged masked row jwt"}},
        Damage{"PurgedBlob", "INSERT INTO purged_blob(digest, seal) VALUES(randomblob(32), 0)", {"//purged blobs: "}}),
    [](const auto& instance) { return instance.param.name; });

TEST(VerifyTest, DamageInOneSessionHidesNoneInAnother) {
  DamagedStore store;
  store.damage("UPDATE session SET created = 0 WHERE id = 's'; UPDATE entry SET at = 0 WHERE session = 2");
  EXPECT_THAT(store.findings(),
              ElementsAre(StartsWith("s//session row: "), StartsWith("t/" + store.id_in_t() + "/seq 1: damaged entry row")));
}

TEST(VerifyTest, ANoteThatIsDamagedOrSpeaksOfNoReadIsNamed) {
  DamagedStore store;
  {
    const auto writer = must(store.open(Store::Access::write));
    must(testing::write_to(writer->log(), [](LogTxn& txn) -> Result<void> {
      for (const Seq seq : {3, 4, 5, 9}) TRY_DO(txn.add_undelivered(SessionNo{1}, 77, seq));
      return {};
    }));
  }
  store.damage("UPDATE undelivered SET path = 78 WHERE seq = 5");
  const auto found =
      ElementsAre("s//undelivered seq 5: damaged undelivered row seq 5", "s/n3/undelivered seq 3: it speaks of an entry that is no read",
                  "s//undelivered seq 9: it speaks of an entry that is not there");
  EXPECT_THAT(store.findings(), found);
  EXPECT_THAT(store.findings({.quick = true}), found);
  EXPECT_THAT(store.findings({.only_session = "s"}), found);
}

TEST(VerifyTest, DamagedCheckpointIsNoDamage) {
  DamagedStore store;
  {
    const auto writer = must(store.open(Store::Access::write));
    must(testing::write_to(writer->log(), [](LogTxn& txn) { return txn.save_checkpoint(SessionNo{1}, "a", {2, "state"}); }));
  }
  store.damage("UPDATE checkpoint SET state = 'other'");
  EXPECT_THAT(store.findings(), IsEmpty());
  EXPECT_EQ(
      must(testing::read_from(must(store.open())->log(), [](LogReader& r) { return r.checkpoint(SessionNo{1}, "a", 2); })).has_value(),
      false);
}

TEST(VerifyTest, QuickLooksAtRowsAndHeadsButReHashesNothing) {
  DamagedStore store;
  store.damage("UPDATE entry SET body = '{}' WHERE id = 'n4'");
  std::filesystem::remove(store.blob_path());
  EXPECT_THAT(store.findings({.quick = true}), IsEmpty());
  EXPECT_THAT(store.findings({.sample = 0.0}), ElementsAre("s/n2/sha256:" + store.blob().hex() + ": the blob is missing"));
  EXPECT_EQ(store.findings().size(), 2u);
  store.damage("UPDATE entry SET at = 0 WHERE id = 'n1'");
  EXPECT_THAT(store.findings({.quick = true}), Contains(StartsWith(kN1 + kRow)));
}

TEST(VerifyTest, MissingBlobIsNamedAndAPurgedOneIsNoDamage) {
  DamagedStore store;
  std::filesystem::remove(store.blob_path());
  EXPECT_THAT(store.findings(), ElementsAre("s/n2/sha256:" + store.blob().hex() + ": the blob is missing"));
  {
    const auto writer = must(store.open(Store::Access::write));
    must(testing::write_to(writer->log(), [&](LogTxn& txn) { return txn.mark_purged(store.blob()); }));
  }
  EXPECT_THAT(store.findings(), IsEmpty());
  EXPECT_EQ(store.verify().purged, 1u);
  EXPECT_EQ(store.verify().blobs, 1u);
}

TEST(VerifyTest, DamagedBlobIsNamed) {
  DamagedStore store;
  const std::string frame = read_file(store.blob_path());
  for (const std::string& damaged : {std::string(), frame.substr(0, frame.size() - 1), "x" + frame, std::string(100, '\0')}) {
    write_file(store.blob_path(), damaged);
    EXPECT_THAT(store.findings(),
                ElementsAre(StartsWith("s/n2/sha256:" + store.blob().hex() + ": blob sha256:" + store.blob().hex() + " is damaged")));
  }
}

TEST(VerifyTest, FlippedByteOfABodyInTheFileIsNamed) {
  DamagedStore store;
  std::string bytes = read_file(store.database());
  const std::size_t at = bytes.find("another way");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  write_file(store.database(), bytes);
  EXPECT_THAT(store.findings(), ElementsAre(StartsWith(kN5 + kDigest)));
}

TEST(VerifyTest, StopsWhenToldTo) {
  DamagedStore store;
  const auto opened = must(store.open());
  EXPECT_EQ(code(verify(*opened, {}, [](const VerifyProgress&) { return false; })), "CANCELLED");
}

}  // namespace
}  // namespace weir
