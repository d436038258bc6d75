#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "api/call.h"
#include "api/cursor.h"
#include "json/parse.h"
#include "testing/api_world.h"
#include "testing/results.h"

namespace weir::api {
namespace {

using json::Value;
using testing::ApiWorld;
using testing::must;

std::string in_quotes(const std::string& text) {
  std::string out;
  json::write_string(text, out);
  return out;
}

class PagingTest : public ::testing::Test {
 protected:
  // Entries under the head, or under a parent that is named.
  void append(int count, const std::string& type = "note", const std::string& parent = "") {
    std::string body;
    for (int i = 0; i < count; ++i) {
      body +=
          std::string(body.empty() ? "" : ",") + R"({"type":")" + type + R"(","body":{"text":"owl","n":)" + std::to_string(next_++) + "}";
      if (i == 0 && !parent.empty()) body += R"(,"parent":)" + in_quotes(parent);
      body += "}";
      if ((i + 1) % 1000 != 0 && i + 1 != count) continue;
      world_.answer("appendEntries", R"({"session":"s","entries":[)" + body + "]}");
      body.clear();
    }
  }
  std::string page(const std::string& operation, const std::string& arguments, const std::string& cursor) {
    return world_.answer(operation, R"({"session":"s")" + arguments + (cursor.empty() ? "" : R"(,"cursor":)" + in_quotes(cursor)) + "}");
  }
  // The seqs of all pages of entries; `between` is done after each.
  template <typename Between>
  std::vector<Seq> seqs(const std::string& arguments, Between&& between) {
    std::vector<Seq> out;
    std::string cursor;
    do {
      json::Parser parser;
      const std::string text = page("listEntries", arguments, cursor);
      const Value answer = must(parser.parse(text));
      for (const Value& item : answer.find("items")->items()) out.push_back(static_cast<Seq>(item.find("seq")->integer()));
      cursor = answer.text_or("next", "");
      between();
    } while (!cursor.empty());
    return out;
  }
  std::vector<Seq> seqs(const std::string& arguments) {
    return seqs(arguments, [] {});
  }
  std::string id_of(Seq seq) {
    json::Parser parser;
    const std::string text = world_.answer("listEntries", R"({"session":"s","scope":"all","limit":500})");
    return std::string(must(parser.parse(text)).find("items")->items()[seq - 1].text_or("id", ""));
  }

  ApiWorld world_;
  int next_ = 0;
};

std::vector<Seq> counted(Seq first, Seq last) {
  std::vector<Seq> out;
  for (Seq seq = first; seq <= last; ++seq) out.push_back(seq);
  return out;
}

TEST_F(PagingTest, TenThousandEntriesPagedWhileAThousandAreAppendedComeOnceEach) {
  append(10000);
  for (const std::string scope : {"path", "all"}) {
    const Seq last = static_cast<Seq>(next_);
    int appended = 0;
    const auto all = seqs(R"(,"limit":500,"scope":")" + scope + "\"", [&] {
      if (appended < 1000) append(50);
      appended += 50;
    });
    EXPECT_EQ(all, counted(1, last)) << scope;
    EXPECT_GE(appended, 1000);
  }
}

TEST_F(PagingTest, APathStaysThePathItWasWhereverItsHeadGoes) {
  append(5);
  append(3, "note", id_of(2));  // 6 to 8 under 2
  append(4, "note", id_of(4));  // 9 to 12 under 4
  EXPECT_EQ(seqs(R"(,"limit":2)"), (std::vector<Seq>{1, 2, 3, 4, 9, 10, 11, 12}));
  int pages = 0;
  const auto all = seqs(R"(,"limit":2)", [&] {
    if (++pages == 1) world_.answer("putHead", R"({"session":"s","head":"main","entry":)" + in_quotes(id_of(8)) + "}");
    if (pages == 2) append(2);
  });
  EXPECT_EQ(all, (std::vector<Seq>{1, 2, 3, 4, 9, 10, 11, 12}));
  EXPECT_EQ(seqs(R"(,"limit":3)"), (std::vector<Seq>{1, 2, 6, 7, 8, 13, 14}));
  EXPECT_EQ(seqs(R"(,"at":)" + in_quotes(id_of(5))), counted(1, 5));
}

TEST_F(PagingTest, ManyBranchesGiveTheSamePagesAsOneLook) {
  // Two branches that grow in turns: the path is a run of single entries, more than a cursor carries.
  append(1);
  std::string left = id_of(1), right = left;
  for (int i = 0; i < 100; ++i) {
    append(1, "note", left);
    left = id_of(static_cast<Seq>(next_));
    append(1, "note", right);
    right = id_of(static_cast<Seq>(next_));
  }
  const auto whole = seqs(R"(,"limit":500)");
  EXPECT_EQ(whole.size(), 101u);
  for (const int limit : {1, 7, 50}) EXPECT_EQ(seqs(R"(,"limit":)" + std::to_string(limit)), whole);
}

TEST_F(PagingTest, FiltersHoldAcrossPages) {
  for (int i = 0; i < 40; ++i) append(1, i % 4 == 0 ? "mark" : "note");
  std::vector<Seq> marks;
  for (Seq seq = 1; seq <= 40; seq += 4) marks.push_back(seq);
  EXPECT_EQ(seqs(R"(,"limit":3,"type":["mark"])"), marks);
  EXPECT_EQ(seqs(R"(,"limit":3,"type":["mark","note"])"), counted(1, 40));
  EXPECT_TRUE(seqs(R"(,"type":["label"])").empty());
  EXPECT_TRUE(seqs(R"(,"since":"2999-01-01T00:00:00Z")").empty());
  EXPECT_EQ(seqs(R"(,"since":"1999-01-01T00:00:00Z","limit":7)"), counted(1, 40));
}

TEST_F(PagingTest, ACursorIsGoodForItsOwnListAlone) {
  append(20);
  json::Parser parser;
  const std::string text = world_.answer("listEntries", R"({"session":"s","limit":5})");
  const std::string cursor(must(parser.parse(text)).text_or("next", ""));
  const auto code = [&](const std::string& operation, const std::string& arguments) {
    return world_.code(operation, "{" + arguments + R"("cursor":)" + in_quotes(cursor) + "}");
  };
  EXPECT_EQ(code("listEntries", R"("session":"s",)"), "OK");
  EXPECT_EQ(code("listEntries", R"("session":"s","limit":7,)"), "OK");  // pages may be of another length
  EXPECT_EQ(code("listEntries", R"("session":"s","scope":"all",)"), "INVALID_FIELD");
  EXPECT_EQ(code("listEntries", R"("session":"s","type":["note"],)"), "INVALID_FIELD");
  EXPECT_EQ(code("listEntries", R"("session":"s","head":"main",)"), "INVALID_FIELD");
  EXPECT_EQ(code("listHeads", R"("session":"s",)"), "INVALID_FIELD");
  EXPECT_EQ(code("listSessions", ""), "INVALID_FIELD");
  EXPECT_EQ(world_.wrong("listEntries", R"({"session":"s","cursor":"none"})"), "/cursor");
  EXPECT_EQ(world_.wrong("history", R"({"session":"s","q":"x","cursor":"s5"})"), "/cursor");
  world_.world().cursor_key = new_cursor_key(system_random());  // another server
  EXPECT_EQ(code("listEntries", R"("session":"s",)"), "INVALID_FIELD");
}

TEST_F(PagingTest, AListOfASessionThatIsGoneEnds) {
  append(20);
  json::Parser parser;
  const std::string text = world_.answer("listEntries", R"({"session":"s","limit":5})");
  const std::string more =
      R"({"session":"s","limit":5,"cursor":)" + in_quotes(std::string(must(parser.parse(text)).text_or("next", ""))) + "}";
  world_.answer("deleteSession", R"({"session":"s","confirm":"s"})");
  EXPECT_EQ(world_.code("listEntries", more), "NOT_FOUND");
  append(20);
  EXPECT_EQ(world_.code("listEntries", more), "NOT_FOUND");  // another one of that name
}

TEST_F(PagingTest, SessionsHeadsAndMatchesHavePagesToo) {
  append(30);
  for (int i = 0; i < 7; ++i) {
    world_.answer("createSession", R"({"id":"t)" + std::to_string(i) + "\"}");
    world_.answer("putHead", R"({"session":"s","head":"h)" + std::to_string(i) + R"(","entry":null})");
  }
  const auto names = [&](const std::string& operation, const std::string& arguments, const std::string& list, const std::string& key) {
    std::string out, cursor;
    do {
      json::Parser parser;
      const std::string text =
          world_.answer(operation, "{" + arguments + (cursor.empty() ? "" : R"(,"cursor":)" + in_quotes(cursor)) + "}");
      const Value answer = must(parser.parse(text));
      for (const Value& item : answer.find(list)->items()) out += json::canonical(*item.find(key)) + " ";
      cursor = answer.text_or("next", "");
      // Made meanwhile, and not in this list.
      if (operation == "listSessions") world_.answer("createSession", R"({"id":"t)" + std::to_string(next_++) + "\"}");
      if (operation == "history") append(1);
    } while (!cursor.empty());
    return out;
  };
  EXPECT_EQ(names("listSessions", R"("limit":3)", "items", "id"), R"("s" "t0" "t1" "t2" "t3" "t4" "t5" "t6" )");
  EXPECT_EQ(names("listHeads", R"("session":"s","limit":3)", "items", "name"), R"("main" "h0" "h1" "h2" "h3" "h4" "h5" "h6" )");
  std::string newest_first;
  for (int seq = 30; seq > 0; --seq) newest_first += std::to_string(seq) + " ";
  EXPECT_EQ(names("history", R"("session":"s","q":"owl","limit":7)", "matches", "seq"), newest_first);
}

TEST_F(PagingTest, ASearchGoesOnBehindABarrierThatCameMeanwhile) {
  for (int i = 0; i < 5; ++i)
    world_.answer("appendEntries",
                  R"({"session":"s","entries":[{"type":"message","body":{"role":"user","content":"owl )" + std::to_string(i) + "\"}}]}");
  json::Parser parser;
  const std::string first = world_.answer("history", R"({"session":"s","q":"owl","where":"after","limit":2})");
  const Value answer = must(parser.parse(first));
  world_.answer("compact", R"({"session":"s"})");
  json::Parser rest_parser;
  const std::string rest = world_.answer("history", R"({"session":"s","q":"owl","where":"after","limit":9,"cursor":)" +
                                                        in_quotes(std::string(answer.text_or("next", ""))) + "}");
  // The arguments but limit are those of the first page, so it is the same list.
  const Value more = must(rest_parser.parse(rest));
  ASSERT_EQ(more.find("matches")->items().size(), 3u);
  EXPECT_EQ(more.find("matches")->items()[0].find("seq")->integer(), 3);
}

TEST_F(PagingTest, SnapshotsArePagedAlongThePathTheyWereListedOn) {
  const auto say = [&](int i) {
    world_.answer("appendEntries",
                  R"({"session":"s","entries":[{"type":"message","body":{"role":"user","content":"part )" + std::to_string(i) + "\"}}]}");
    world_.answer("compact", R"({"session":"s"})");
  };
  for (int i = 0; i < 5; ++i) say(i);
  std::vector<std::int64_t> numbers;
  std::string cursor;
  do {
    json::Parser parser;
    const std::string text = page("listSnapshots", R"(,"limit":2)", cursor);
    const Value answer = must(parser.parse(text));
    for (const Value& item : answer.find("items")->items()) numbers.push_back(item.find("sequence")->integer());
    cursor = answer.text_or("next", "");
    say(10 + static_cast<int>(numbers.size()));
  } while (!cursor.empty());
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace weir::api
