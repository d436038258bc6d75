#include "service/history.h"

#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "service/append.h"
#include "service/objects.h"
#include "service/sessions.h"
#include "session/address.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::must;

// Each test on a store in memory, which reads, and on one on disk, which indexes.
class HistoryServiceTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) settings_.store_directory = dir_ / "store";
    settings_.durability = Durability::normal;
    service_ = must(Service::open(settings_, Store::Access::write, Doors{}));
  }
  void append(const std::vector<std::pair<std::string, std::string>>& entries, const HeadName& head = main_head()) {
    json::Parser parser;
    AppendCall call(*service_, session_, head, std::nullopt, false);
    for (const auto& [type, body] : entries)
      must(call.add_body(type, must(parser.parse(body)), std::nullopt, std::nullopt, parser.arena()));
    must(call.commit());
  }
  void say(std::size_t count, const std::string& text) {
    append(std::vector<std::pair<std::string, std::string>>(count, {"message", R"({"role":"user","content":")" + text + R"("})"}));
  }
  void compact() { append({{"compaction", R"({"summary":"so far"})"}}); }
  Result<HistoryAnswer> search(HistoryRequest request) {
    request.address = {session_, main_head(), request.address.at, true};
    return search_session(*service_, request, [](const HistoryProgress&) { return true; });
  }
  std::vector<Seq> seqs(HistoryRequest request) {
    std::vector<Seq> out;
    for (const HistoryMatch& match : must(search(std::move(request))).matches) out.push_back(match.seq);
    return out;
  }

  testing::TempDir dir_;
  ServiceSettings settings_;
  const SessionId session_ = SessionId::trusted("s");
  std::unique_ptr<Service> service_;
};

INSTANTIATE_TEST_SUITE_P(Stores, HistoryServiceTest, ::testing::Bool(),
                         [](const auto& instance) { return instance.param ? "disk" : "memory"; });

TEST_P(HistoryServiceTest, PagesFollowEachOtherToTheEndWhateverIsAppendedMeanwhile) {
  say(95, "owl");
  std::vector<Seq> all;
  HistoryRequest request{.query = "owl", .limit = 20};
  for (int page = 0; page < 10; ++page) {
    const HistoryAnswer answer = must(search(request));
    for (const HistoryMatch& match : answer.matches) all.push_back(match.seq);
    if (answer.next.empty()) break;
    request.cursor = answer.next;
    say(1, "owl again");
  }
  ASSERT_EQ(all.size(), 95u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], 95 - i);
  EXPECT_EQ(must(search({.query = "owl", .limit = 99})).next, "");
}

TEST_P(HistoryServiceTest, BeforeAndAfterAreOfThePathToTheAddress) {
  say(70, "owl");
  compact();
  say(2, "owl");
  EXPECT_EQ(seqs({.query = "owl", .where = HistoryWhere::after}), (std::vector<Seq>{73, 72}));
  EXPECT_EQ(seqs({.query = "owl", .where = HistoryWhere::before, .limit = 2}), (std::vector<Seq>{70, 69}));
  must(move_head(*service_, {.session = session_, .head = main_head(), .entry = "main~10"}, true, false));
  say(1, "another owl");
  const HistoryAnswer answer = must(search({.query = "owl", .limit = 4}));
  ASSERT_EQ(answer.matches.size(), 4u);
  EXPECT_TRUE(answer.matches[0].on_path);
  EXPECT_FALSE(answer.matches[1].on_path);
  EXPECT_FALSE(answer.matches[1].before_barrier);
  EXPECT_EQ(seqs({.query = "owl", .where = HistoryWhere::after, .limit = 2}), (std::vector<Seq>{74, 63}));
  EXPECT_EQ(seqs({.query = "owl", .where = HistoryWhere::before}), (std::vector<Seq>{}));
}

TEST_P(HistoryServiceTest, TheAnswerIsWhatTheToolsSchemaAsksFor) {
  append({{"message", R"({"role":"user","content":"one \"owl\" here"})"}});
  json::Arena arena;
  const HistoryAnswer answer = must(search({.query = "owl"}));
  EXPECT_EQ(json::canonical(answer.to_json(arena)), R"({"matches":[{"before_barrier":false,"entry":")" + answer.matches[0].entry.str() +
                                                        R"(","on_path":true,"seq":1,"text":"one \"owl\" here","type":"message"}]})");
  say(1, "owl");
  const HistoryAnswer first = must(search({.query = "owl", .limit = 1}));
  EXPECT_NE(json::canonical(first.to_json(arena)).find(R"("next":")"), std::string::npos);
}

TEST_P(HistoryServiceTest, WrongRequestsAreRefused) {
  say(1, "owl");
  EXPECT_EQ(code(search({.query = ""})), "INVALID_FIELD");
  EXPECT_EQ(code(search({.query = "(", .regex = true})), "INVALID_FIELD");
  EXPECT_EQ(code(search({.query = "owl", .limit = 0})), "INVALID_FIELD");
  EXPECT_EQ(code(search({.query = "owl", .limit = 1000000})), "LIMIT_EXCEEDED");
  for (const char* cursor : {"x", "s", "s0", "s-1", "5", "s5x", "s99999999999999999999"})
    EXPECT_EQ(code(search({.query = "owl", .cursor = cursor})), "INVALID_FIELD") << cursor;
  EXPECT_EQ(code(search({.address = {.at = "nowhere"}, .query = "owl"})), "NOT_FOUND");
  EXPECT_EQ(code(parse_where("there")), "INVALID_FIELD");
}

TEST_P(HistoryServiceTest, ACancelledSearchSaysSo) {
  say(400, "owl");
  const auto answer = search_session(*service_, {.address = {session_, main_head(), "", false}, .query = "absent"},
                                     [](const HistoryProgress&) { return false; });
  EXPECT_EQ(code(answer), "CANCELLED");
  EXPECT_EQ(seqs({.query = "owl", .limit = 1}), (std::vector<Seq>{400}));
}

TEST_P(HistoryServiceTest, APurgedSessionIsNotFoundAndItsNameStartsAfresh) {
  say(100, "owl");
  EXPECT_EQ(seqs({.query = "owl", .limit = 1}), (std::vector<Seq>{100}));
  must(purge_session(*service_, session_, false));
  EXPECT_EQ(code(search({.query = "owl"})), "NOT_FOUND");
  say(100, "crow");
  EXPECT_EQ(seqs({.query = "owl"}), (std::vector<Seq>{}));
  EXPECT_EQ(seqs({.query = "crow", .limit = 1}), (std::vector<Seq>{100}));
}

}  // namespace
}  // namespace weir
