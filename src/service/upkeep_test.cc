// verify and backup while another process purges: what goes on purpose is no damage, and damage is still told.
#include "service/upkeep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "json/parse.h"
#include "service/append.h"
#include "service/objects.h"
#include "session/address.h"
#include "store/sqlite.h"
#include "testing/damaged_store.h"
#include "testing/fault_files.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::must;

// Something happens when the first object is about to be read.
class MeanwhileFiles : public testing::FaultFiles {
 public:
  std::function<void()> meanwhile;
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    if (meanwhile && path.find("/objects/") != std::string::npos) std::exchange(meanwhile, nullptr)();
    return FaultFiles::open(path);
  }
};

class UpkeepTest : public ::testing::Test {
 protected:
  UpkeepTest() {
    settings_.store_directory = dir_ / "store";
    settings_.durability = Durability::normal;
    other_ = must(Service::open(settings_, Store::Access::write, Doors{}));
    for (const char* session : {"gone", "stays"}) {
      for (int i = 0; i < 4; ++i) say(session, session + std::to_string(i));
    }
    service_ = must(Service::open(settings_, Store::Access::read, Doors{files_}));
  }

  // A message that is a blob.
  void say(const std::string& session, const std::string& text) {
    json::Parser parser;
    AppendCall call(*other_, SessionId::trusted(session), main_head(), std::nullopt, false);
    const std::string body = R"({"role":"user","content":")" + blob(text) + R"("})";
    must(call.add_body("message", must(parser.parse(body)), std::nullopt, std::nullopt, parser.arena()));
    must(call.commit());
  }
  static std::string blob(const std::string& text) { return text + std::string(70000, 'x'); }
  std::string path_of(const std::string& text) const {
    const std::string hex = sha256(blob(text)).hex();
    return settings_.store_directory + "/objects/" + hex.substr(0, 2) + "/" + hex.substr(2);
  }
  void purge_meanwhile(const std::string& session) {
    files_.meanwhile = [this, session] { must(purge_session(*other_, SessionId::trusted(session), false)); };
  }
  static VerifyReport verified(Service& service) {
    return must(verify_all(service, {}, [](const VerifyProgress&) { return true; }));
  }
  std::vector<std::string> findings() {
    std::vector<std::string> out;
    for (const Finding& finding : verified(*service_).findings) out.push_back(testing::show(finding));
    EXPECT_EQ(files_.meanwhile, nullptr) << "nothing happened meanwhile";
    return out;
  }
  Result<BackupAnswer> backed_up() {
    return back_up(*service_, dir_ / "copy", [](const VerifyProgress&) { return true; });
  }
  VerifyReport copy_verified() {
    ServiceSettings settings = settings_;
    settings.store_directory = dir_ / "copy";
    return verified(*must(Service::open(settings, Store::Access::read, Doors{})));
  }

  // Its entries stay, and nobody can say whose they are.
  void lose_row(const std::string& session) {
    const auto connection =
        must(sqlite::Connection::open(settings_.store_directory + "/weir.db", sqlite::Connection::Mode::read_write, 1000));
    must(connection->execute(("DELETE FROM session WHERE id = '" + session + "'").c_str()));
  }

  testing::TempDir dir_;
  MeanwhileFiles files_;
  ServiceSettings settings_;
  std::unique_ptr<Service> other_, service_;
};

TEST_F(UpkeepTest, SessionThatIsPurgedWhileItIsVerifiedIsNoDamage) {
  purge_meanwhile("gone");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(UpkeepTest, SessionThatIsPurgedAndBegunAnewWhileItIsVerifiedIsNoDamage) {
  files_.meanwhile = [this] {
    must(purge_session(*other_, SessionId::trusted("gone"), false));
    say("gone", "another");
  };
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(UpkeepTest, BlobThatIsPurgedWhileItIsVerifiedIsPurged) {
  files_.meanwhile = [this] {
    for (int i = 0; i < 4; ++i) must(purge_blob(*other_, sha256(blob("gone" + std::to_string(i))), false, false));
  };
  EXPECT_EQ(verified(*service_).purged, 4u);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(UpkeepTest, DamageIsStillNamedWhileAnotherSessionIsPurged) {
  std::filesystem::remove(path_of("stays2"));
  purge_meanwhile("gone");
  const std::vector<std::string> found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], ::testing::StartsWith("stays/"));
  EXPECT_THAT(found[0], ::testing::EndsWith("the blob is missing"));
}

TEST_F(UpkeepTest, MissingBlobOfTwoSessionsIsNamedWithTheOneThatIsLeft) {
  say("stays", "gone1");
  std::filesystem::remove(path_of("gone1"));
  purge_meanwhile("gone");
  EXPECT_THAT(findings(), ElementsAre(::testing::StartsWith("stays/")));
}

TEST_F(UpkeepTest, CopyThatIsMadeDuringAPurgeHoldsNothingOfTheSession) {
  purge_meanwhile("gone");
  const BackupAnswer answer = must(backed_up());
  EXPECT_EQ(answer.sessions, 1u);
  EXPECT_EQ(answer.objects, 4u);
  const VerifyReport copy = copy_verified();
  EXPECT_THAT(copy.findings, IsEmpty());
  EXPECT_EQ(copy.sessions, 1u);
  for (const auto& file : std::filesystem::recursive_directory_iterator(dir_ / "copy")) {
    if (file.is_regular_file()) {
      EXPECT_EQ(testing::read_file(file.path()).find("gone1"), std::string::npos) << file.path();
    }
  }
}

TEST_F(UpkeepTest, CopyThatIsMadeDuringAPurgeOfABlobKnowsThatItWasPurged) {
  files_.meanwhile = [this] { must(purge_blob(*other_, sha256(blob("stays1")), false, false)); };
  EXPECT_EQ(must(backed_up()).objects, 7u);
  EXPECT_THAT(copy_verified().findings, IsEmpty());
  EXPECT_EQ(copy_verified().purged, 1u);
}

TEST_F(UpkeepTest, CopyOfADamagedStoreHoldsEverythingElseAndSaysSo) {
  std::filesystem::remove(path_of("stays1"));
  testing::write_file(path_of("stays2"), "damaged");
  purge_meanwhile("gone");
  const auto answer = backed_up();
  ASSERT_EQ(code(answer), "CORRUPT");
  const VerifyReport copy = copy_verified();
  EXPECT_EQ(copy.findings.size(), 2u);
  EXPECT_EQ(copy.entries, 4u);
}

TEST_F(UpkeepTest, APurgeRemovesNothingThatEntriesWithoutASessionNeed) {
  say("stays", "gone1");
  lose_row("stays");
  for (const bool dry_run : {true, false}) {
    const auto refused = purge_session(*other_, SessionId::trusted("gone"), dry_run);
    ASSERT_EQ(code(refused), "CORRUPT");
    EXPECT_EQ(testing::detail(refused.error(), "object"), "session number 2");
  }
  EXPECT_TRUE(std::filesystem::exists(path_of("gone1")));
  EXPECT_FALSE(std::filesystem::exists(settings_.store_directory + "/purging"));
  must(other_->log().read([](LogReader& reader) -> Result<void> {
    TRY_DO(need_session(reader, SessionId::trusted("gone")));
    return {};
  }));
}

TEST_F(UpkeepTest, ACopyHasTheObjectsOfEntriesWithoutASession) {
  lose_row("stays");
  EXPECT_EQ(code(backed_up()), "CORRUPT");
  const std::string hex = sha256(blob("stays1")).hex();
  EXPECT_TRUE(std::filesystem::exists(dir_ / "copy/objects/" + hex.substr(0, 2) + "/" + hex.substr(2)));
}

TEST_F(UpkeepTest, PurgeAlsoFinishesAnEarlierOneThatCouldNotBeFinished) {
  // Left by a purge that ended between its commit and its end: the mark, and an object nobody speaks of.
  must(purge_session(*other_, SessionId::trusted("gone"), false));
  must(other_->store().blobs().put(blob("gone1")));
  testing::write_file(settings_.store_directory + "/purging", "");
  must(purge_session(*other_, SessionId::trusted("stays"), false));
  EXPECT_FALSE(std::filesystem::exists(path_of("gone1")));
  EXPECT_FALSE(std::filesystem::exists(settings_.store_directory + "/purging"));
}

}  // namespace
}  // namespace weir
