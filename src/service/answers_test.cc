#include "service/answers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "store/sqlite.h"
#include "testing/doors.h"
#include "testing/fault_files.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::must;

class AnswersTest : public ::testing::Test {
 protected:
  std::unique_ptr<Answers> open() { return must(Answers::open(*store_, false)); }
  // "kept STATUS BODY", "mine", or an error's code.
  std::string begin(Answers& answers, std::string_view key, std::string_view request) {
    auto begun = answers.begin(key, sha256(request));
    if (!begun.ok()) return code(begun);
    return begun->kept ? "kept " + std::to_string(begun->kept->status) + " " + begun->kept->body : "mine";
  }
  void keep(Answers& answers, std::string_view key, std::string_view request, std::string_view session = "s") {
    auto begun = must(answers.begin(key, sha256(request)));
    must(begun.turn->keep(session, {201, "application/json", "{}"}));
  }

  testing::TempDir dir_;
  testing::FixedClock clock_{1000000};
  std::unique_ptr<Store> store_ = must(Store::open(dir_ / "store", Store::Access::write, {}, {.clock = clock_}));
};

TEST_F(AnswersTest, AnAnswerIsKeptForItsKeyAndRequest) {
  auto answers = open();
  EXPECT_EQ(begin(*answers, "k", "r"), "mine");  // and not kept
  keep(*answers, "k", "r");
  EXPECT_EQ(begin(*answers, "k", "r"), "kept 201 {}");
  EXPECT_EQ(begin(*answers, "k", "other"), "IDEMPOTENCY_MISMATCH");
  EXPECT_EQ(begin(*answers, "K", "other"), "mine");
  answers.reset();
  answers = open();
  EXPECT_EQ(begin(*answers, "k", "r"), "kept 201 {}");
}

TEST_F(AnswersTest, OneUnderWayIsBusy) {
  auto answers = open();
  {
    const auto begun = must(answers->begin("k", sha256("r")));
    EXPECT_EQ(begin(*answers, "k", "r"), "BUSY");
    EXPECT_EQ(begin(*answers, "k", "other"), "IDEMPOTENCY_MISMATCH");
    EXPECT_EQ(begin(*answers, "another", "r"), "mine");
  }
  EXPECT_EQ(begin(*answers, "k", "r"), "mine");
}

TEST_F(AnswersTest, AfterADayItIsForgotten) {
  auto answers = open();
  keep(*answers, "k", "r");
  clock_.set(1000000 + kAnswersKeptMs - 1);
  EXPECT_EQ(begin(*answers, "k", "r"), "kept 201 {}");
  clock_.set(1000000 + kAnswersKeptMs);
  EXPECT_EQ(begin(*answers, "k", "other"), "mine");
  keep(*answers, "k", "other");
  EXPECT_EQ(begin(*answers, "k", "other"), "kept 201 {}");
}

TEST_F(AnswersTest, AnotherProcessSeesWhatWasKept) {
  auto one = open(), other = open();
  auto begun = must(one->begin("k", sha256("r")));
  keep(*other, "k", "r");
  must(begun.turn->keep("s", {500, "", "too late"}));
  EXPECT_EQ(begin(*other, "k", "r"), "kept 201 {}");
}

TEST_F(AnswersTest, AKeyIsNotStored) {
  auto answers = open();
  keep(*answers, "a-key-that-is-a-secret", "r");
  answers.reset();
  EXPECT_EQ(testing::read_file(dir_ / "store/answers.db").find("a-secret"), std::string::npos);
}

TEST_F(AnswersTest, OnlyItsOwnerMayReadTheFile) {
  const mode_t before = ::umask(0);
  auto answers = open();
  keep(*answers, "k", "r");
  for (const char* name : {"answers.db", "answers.db-wal", "answers.db-shm"}) {
    struct stat st{};
    ASSERT_EQ(::stat((dir_ / "store/" + name).c_str(), &st), 0) << name;
    EXPECT_EQ(st.st_mode & 07777, 0600u) << name;
  }
  ::umask(before);
  ASSERT_EQ(::chmod((dir_ / "store/answers.db").c_str(), 0666), 0);
  EXPECT_EQ(code(Answers::open(*store_, false)), "STORE_UNUSABLE");
}

TEST_F(AnswersTest, OfASessionAllIsForgotten) {
  auto answers = open();
  keep(*answers, "k", "r", "s");
  keep(*answers, "k2", "r", "other");
  must(forget_answers(*store_, SessionId::trusted("s")));
  EXPECT_EQ(begin(*answers, "k", "r"), "mine");
  EXPECT_EQ(begin(*answers, "k2", "r"), "kept 201 {}");
  EXPECT_EQ(testing::read_file(dir_ / "store/answers.db-wal"), "");
  must(forget_answers(*store_, std::nullopt));
  EXPECT_EQ(begin(*answers, "k2", "r"), "mine");
}

TEST_F(AnswersTest, AnAnswerThatAPurgeOvertookIsNotKept) {
  auto answers = open();
  auto begun = must(answers->begin("k", sha256("r")));
  must(forget_answers(*store_, SessionId::trusted("s")));
  must(begun.turn->keep("s", {200, "", "purged text"}));
  begun.turn.reset();
  EXPECT_EQ(begin(*answers, "k", "r"), "mine");
  keep(*answers, "k", "r");
  EXPECT_EQ(begin(*answers, "k", "r"), "kept 201 {}");
}

TEST_F(AnswersTest, APurgeOfAnotherSessionLeavesAnAnswerAlone) {
  auto answers = open();
  auto begun = must(answers->begin("k", sha256("r")));
  must(forget_answers(*store_, SessionId::trusted("other")));
  must(begun.turn->keep("s", {200, "", "text"}));
  begun.turn.reset();
  EXPECT_EQ(begin(*answers, "k", "r"), "kept 200 text");
}

TEST_F(AnswersTest, TheOldestGoWhenThereAreTooManyBytes) {
  auto answers = open();
  const std::string body(kAnswersKeptBytes / 4, 'x');
  for (int i = 0; i < 5; ++i) {
    clock_.set(1000000 + i);
    must(must(answers->begin("k" + std::to_string(i), sha256("r"))).turn->keep("s", {200, "", body}));
  }
  EXPECT_EQ(begin(*answers, "k0", "r"), "mine");
  EXPECT_EQ(begin(*answers, "k1", "r"), "mine");
  for (const char* key : {"k2", "k3", "k4"}) EXPECT_TRUE(begin(*answers, key, "r").starts_with("kept 200")) << key;
}

TEST_F(AnswersTest, AFullDiskKeepsNone) {
  testing::FaultFiles files;
  const auto store = must(Store::open(dir_ / "full", Store::Access::write, {}, {.files = files, .clock = clock_}));
  const auto answers = must(Answers::open(*store, false));
  auto begun = must(answers->begin("k", sha256("r")));
  files.pretend_percent_full(95);
  EXPECT_EQ(code(begun.turn->keep("s", {200, "", "{}"})), "STORAGE");
}

TEST_F(AnswersTest, ADamagedAnswerIsNoAnswerAndTheRequestIsNotDoneAgain) {
  auto answers = open();
  keep(*answers, "k", "r");
  {
    const auto connection = must(sqlite::Connection::open(dir_ / "store/answers.db", sqlite::Connection::Mode::read_write, 1000));
    must(connection->execute("UPDATE answer SET body = CAST('[]' AS BLOB)"));
  }
  EXPECT_EQ(begin(*answers, "k", "r"), "CORRUPT");
  EXPECT_EQ(begin(*answers, "other", "r"), "mine");
}

TEST_F(AnswersTest, AnAnswerThatCannotBeFoundForItsDamageIsNotMissed) {
  auto answers = open();
  keep(*answers, "k", "r");
  answers.reset();
  for (const char* damage :
       {"at = at - 86400001", "key = zeroblob(32)", "session = 'x'", "PRAGMA user_version=2", "PRAGMA user_version=7"}) {
    const std::string file = dir_ / "store/answers.db", whole = testing::read_file(file);
    {
      const auto connection = must(sqlite::Connection::open(file, sqlite::Connection::Mode::read_write, 1000));
      const std::string text = damage;
      must(connection->execute((text.starts_with("PRAGMA") ? text : "UPDATE answer SET " + text).c_str()));
    }
    const auto refused = Answers::open(*store_, false);
    ASSERT_EQ(code(refused), "CORRUPT") << damage;
    EXPECT_EQ(testing::detail(refused.error(), "object"), "answers.db");
    testing::write_file(file, whole);
  }
  EXPECT_EQ(begin(*open(), "k", "r"), "kept 201 {}");
}

TEST_F(AnswersTest, AFileOfAnOlderVersionIsMadeAnew) {
  auto answers = open();
  keep(*answers, "k", "r");
  answers.reset();
  {
    const auto connection = must(sqlite::Connection::open(dir_ / "store/answers.db", sqlite::Connection::Mode::read_write, 1000));
    must(connection->execute("DROP TRIGGER answer_in; PRAGMA user_version=2"));
  }
  EXPECT_EQ(begin(*open(), "k", "r"), "mine");
}

TEST_F(AnswersTest, AFileWithATriggerThatIsNotOursIsRefused) {
  open().reset();
  {
    const auto connection = must(sqlite::Connection::open(dir_ / "store/answers.db", sqlite::Connection::Mode::read_write, 1000));
    must(connection->execute("CREATE TRIGGER swallow BEFORE INSERT ON answer BEGIN SELECT raise(ignore); END"));
  }
  const auto refused = Answers::open(*store_, false);
  ASSERT_EQ(code(refused), "CORRUPT");
  EXPECT_NE(refused.error().message().find("trigger swallow"), std::string::npos);
  EXPECT_NE(refused.error().message().find("remove it"), std::string::npos);
}

TEST_F(AnswersTest, AWrongCountOfBytesEndsTheLookForRoom) {
  auto answers = open();
  keep(*answers, "k", "r");
  {
    const auto connection = must(sqlite::Connection::open(dir_ / "store/answers.db", sqlite::Connection::Mode::read_write, 1000));
    must(connection->execute("UPDATE kept SET bytes = 1 << 60"));
  }
  auto begun = must(answers->begin("other", sha256("r")));
  EXPECT_EQ(code(begun.turn->keep("s", {201, "application/json", "{}"})), "CORRUPT");
}

}  // namespace
}  // namespace weir
