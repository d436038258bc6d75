// Searching a store on disk, by its index, and a store in memory, by reading, gives the same answers; and an index is
// only ever a cache.
#include "store/history.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/limits.h"
#include "store/entry_text.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::make_row;
using testing::must;

constexpr auto kGoOn = [](const HistoryProgress&) { return true; };

std::string said(const std::string& text) { return R"({"content":")" + text + R"(","role":"user"})"; }

class Archive {  // one session of a store, and searches in it
 public:
  Archive(std::unique_ptr<Store> store, std::string_view name) : store_(std::move(store)) {
    session_ = must(testing::write_to(store_->log(), [&](LogTxn& txn) { return txn.create_session(SessionId::trusted(name), TimeMs{7}); }));
  }

  void add(const std::vector<std::string>& bodies, std::string_view type = "message") {
    must(store_->log().write([&](LogTxn& txn) -> Result<void> {
      for (const std::string& body : bodies) {
        TRY(const Seq last, txn.last_seq(session_.no));
        TRY(const auto parent, txn.entry(session_.no, last));
        TRY_DO(txn.insert(session_.no, make_row(last + 1, parent ? &*parent : nullptr, type, body, "x" + std::to_string(last + 1))));
      }
      return {};
    }));
  }

  std::vector<Seq> search(HistoryQuery query, const std::vector<std::string>& types = {}, Seq first = 1, Seq last = limits::kSeq) {
    auto index = must(open_history(*store_, session_, kGoOn));
    indexed_ = index == nullptr ? 0 : must(index->mark()).seq;
    std::vector<Seq> out;
    const auto look = [&](LogReader& reader) {
      out.clear();
      return search_history(
          *store_, reader, session_.no, index.get(), query, {first, last, types}, [](Seq) { return true; }, kGoOn,
          [&](const Entry& entry, Excerpt&) -> Result<bool> {
            out.push_back(entry.seq);
            return true;
          });
    };
    auto done = store_->log().read(look);
    if (!done.ok() && index != nullptr && index->failed()) {
      ++fallbacks_;
      index.reset();
      done = store_->log().read(look);
    }
    must(done);
    return out;
  }
  std::vector<Seq> words(std::string_view query) { return search(must(HistoryQuery::words(query))); }

  Store& store() { return *store_; }
  const SessionRow& session() const { return session_; }
  Seq indexed() const { return indexed_; }      // by the index the last search used
  int fallbacks() const { return fallbacks_; }  // searches that an index failed
  std::string index_path() { return store_->directory() + "/history/" + std::to_string(session_.no.value) + ".db"; }

 private:
  std::unique_ptr<Store> store_;
  SessionRow session_;
  Seq indexed_ = 0;
  int fallbacks_ = 0;
};

class HistoryTest : public ::testing::Test {
 protected:
  Archive on_disk(const std::string& name = "s") {
    return Archive(must(Store::open(dir_ / "store", Store::Access::write, {Durability::normal}, Doors{})), name);
  }
  static Archive in_memory() { return Archive(Store::in_memory(Doors{}), "s"); }
  static std::vector<std::string> lines(std::size_t count, const std::string& word = "line") {
    std::vector<std::string> out;
    for (std::size_t i = 1; i <= count; ++i) out.push_back(said(word + " " + std::to_string(i)));
    return out;
  }
  testing::TempDir dir_;
};

TEST_F(HistoryTest, IndexAndReadingAgreeOnRandomTextsAndQueries) {
  static const char* const kWords[] = {"alpha", "Beta", "béta", "GAMMA",  "gam",   "x-y",  "src/a.cc", "naïve", "Ärger", "🎉",
                                       "don't", "2.50", "日本", "日本語", "a_b_c", "\\\\", "=>",       "ﬁn",    "ẞ",     "И́мя"};
  std::mt19937 random(20260101);
  const auto pick = [&] { return std::string(kWords[random() % std::size(kWords)]); };
  Archive disk = on_disk(), memory = in_memory();
  std::vector<std::string> bodies;
  for (int i = 0; i < 400; ++i) {
    std::string text;
    for (unsigned n = random() % 6; n > 0; --n) text += pick() + (random() % 3 == 0 ? "\\n" : " ");
    bodies.push_back(random() % 4 == 0 ? R"({"content":[{"text":")" + text + R"(","type":"text"},{"input":{"k":")" + pick() +
                                             R"("},"type":"tool_use"}],"role":"assistant"})"
                                       : said(text));
  }
  disk.add(bodies);
  memory.add(bodies);
  std::size_t found = 0;
  for (int i = 0; i < 600; ++i) {
    std::string query;
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      const unsigned form = random() % 5;
      query += form == 0 ? "\"" + pick() + " " + pick() + "\" " : form == 1 ? pick().substr(0, 3) + "* " : pick() + " ";
    }
    if (!HistoryQuery::words(query).ok()) continue;  // a character cut in two
    const auto by_index = disk.words(query);
    EXPECT_EQ(by_index, memory.words(query)) << query;
    found += by_index.size();
  }
  EXPECT_EQ(disk.indexed(), 400u);
  EXPECT_EQ(disk.fallbacks(), 0);
  EXPECT_EQ(memory.indexed(), 0u);
  EXPECT_GT(found, 1000u);
}

TEST_F(HistoryTest, NoQueryIsASyntaxErrorAndBothWaysAgreeOnOddOnes) {
  static const std::string kParts[] = {"\"",    "*",    "(",     ")",     "^",  ":",   "-",  "+",      "{",      "}",
                                       " AND ", " OR ", " NOT ", "NEAR(", "a",  "b c", "🎉", ".",      ",",      "'",
                                       "%",     "\\",   ";",     "text",  "\n", " ",   "é",  "\u0301", "\uE000", std::string(1, '\0')};
  std::mt19937 random(4711);
  Archive disk = on_disk(), memory = in_memory();
  std::vector<std::string> bodies;
  for (int i = 0; i < 100; ++i) {
    std::string text;
    for (unsigned n = random() % 8; n > 0; --n) {
      const std::string& part = kParts[random() % std::size(kParts)];
      text += part == "\"" || part == "\\" ? "\\" + part : part == "\n" ? "\\n" : part[0] == '\0' ? "\\u0000" : part;
    }
    bodies.push_back(said(text));
  }
  disk.add(bodies);
  memory.add(bodies);
  int searched = 0;
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (unsigned n = 1 + random() % 6; n > 0; --n) text += kParts[random() % std::size(kParts)];
    const auto query = HistoryQuery::words(text);
    if (!query.ok()) {
      EXPECT_EQ(code(query), "INVALID_FIELD") << text;
      continue;
    }
    EXPECT_EQ(disk.words(text), memory.words(text)) << text;
    ++searched;
  }
  EXPECT_EQ(disk.indexed(), 100u);
  EXPECT_EQ(disk.fallbacks(), 0);
  EXPECT_GT(searched, 300);
}

TEST_F(HistoryTest, NewestComeFirstWithinTheScopeAndOfTheTypes) {
  for (const bool disk : {true, false}) {
    Archive archive = disk ? on_disk() : in_memory();
    archive.add(lines(100));
    archive.add({R"({"text":"line of a custom_type"})"}, "custom_message");
    EXPECT_EQ(archive.search(must(HistoryQuery::words("line")), {"custom_message"}), (std::vector<Seq>{101}));
    EXPECT_EQ(archive.search(must(HistoryQuery::words("line")), {"custom"}), (std::vector<Seq>{}));
    EXPECT_EQ(archive.search(must(HistoryQuery::words("line")), {"message"}, 98), (std::vector<Seq>{100, 99, 98}));
    EXPECT_EQ(archive.search(must(HistoryQuery::words("line")), {"message", "custom_message"}, 99), (std::vector<Seq>{101, 100, 99}));
    EXPECT_EQ(archive.search(must(HistoryQuery::words("line")), {}, 2, 4), (std::vector<Seq>{4, 3, 2}));
    EXPECT_EQ(archive.search(must(HistoryQuery::regex("line 10.?$"))), (std::vector<Seq>{100, 10}));
    EXPECT_EQ(archive.words("message"), (std::vector<Seq>{}));
  }
}

TEST_F(HistoryTest, AShortSessionNeedsNoIndexAndALongOneKeepsUpWithTheLog) {
  Archive archive = on_disk();
  archive.add(lines(60));
  EXPECT_EQ(archive.words("60"), (std::vector<Seq>{60}));
  EXPECT_FALSE(std::filesystem::exists(archive.store().directory() + "/history"));
  archive.add(lines(60, "more"));
  EXPECT_EQ(archive.words("more 60"), (std::vector<Seq>{120}));
  EXPECT_EQ(archive.indexed(), 120u);
  archive.add(lines(3, "late"));
  EXPECT_EQ(archive.words("late"), (std::vector<Seq>{123, 122, 121}));
  EXPECT_EQ(archive.indexed(), 120u);  // a few are read rather than indexed
  archive.add(lines(100, "later"));
  EXPECT_EQ(archive.words("later 100"), (std::vector<Seq>{223}));
  EXPECT_EQ(archive.indexed(), 223u);
  EXPECT_EQ(archive.words("late").size(), 3u);
}

TEST_F(HistoryTest, AnIndexThatIsGoneDamagedOrOfAnotherLogIsMadeAgain) {
  Archive archive = on_disk();
  archive.add(lines(200));
  EXPECT_EQ(archive.words("line 7"), (std::vector<Seq>{7}));
  const std::string path = archive.index_path(), good = testing::read_file(path);
  std::filesystem::remove(path);
  EXPECT_EQ(archive.words("line 7"), (std::vector<Seq>{7}));
  EXPECT_EQ(archive.indexed(), 200u);
  testing::write_file(path, "this is no database, however long it may be" + std::string(5000, 'x'));
  EXPECT_EQ(archive.words("line 7"), (std::vector<Seq>{7}));
  EXPECT_EQ(archive.indexed(), 200u);
  // The same session number in another store: its name differs, or its entries do.
  for (const char* name : {"other", "s"}) {
    Archive stranger(must(Store::open(dir_ / ("of_" + std::string(name)), Store::Access::write, {Durability::normal}, Doors{})), name);
    stranger.add(lines(200, "strange"));
    std::filesystem::create_directories(stranger.store().directory() + "/history");
    testing::write_file(stranger.index_path(), good);
    EXPECT_EQ(stranger.words("line"), (std::vector<Seq>{})) << name;
    EXPECT_EQ(stranger.words("strange 7"), (std::vector<Seq>{7})) << name;
    EXPECT_EQ(stranger.indexed(), 200u) << name;
  }
}

TEST_F(HistoryTest, EveryCutAndFlippedPageOfAnIndexGivesNoWrongMatchAndNoError) {
  Archive archive = on_disk();
  archive.add(lines(500));
  ASSERT_EQ(archive.words("line 77"), (std::vector<Seq>{77}));
  const std::string path = archive.index_path(), good = testing::read_file(path);
  for (std::size_t at = 0; at < good.size(); at += 1500) {
    for (const bool cut : {true, false}) {
      std::string bad = cut ? good.substr(0, at) : good;
      for (std::size_t i = at; !cut && i < std::min(at + 64, bad.size()); ++i) bad[i] = static_cast<char>(bad[i] ^ 0x5A);
      testing::write_file(path, bad);
      const auto found = archive.words("line 77");
      EXPECT_TRUE(found.empty() || found == std::vector<Seq>{77}) << at << cut;
    }
  }
  std::filesystem::remove(path);
  EXPECT_EQ(archive.words("line 77"), (std::vector<Seq>{77}));
}

TEST_F(HistoryTest, WhereNoIndexCanBeMadeTheLogIsRead) {
  Archive archive = on_disk();
  archive.add(lines(200));
  testing::write_file(archive.store().directory() + "/history", "not a directory");
  EXPECT_EQ(archive.words("line 7"), (std::vector<Seq>{7}));
  EXPECT_EQ(archive.indexed(), 0u);
}

TEST_F(HistoryTest, AnInterruptedBuildKeepsWhatIsDoneAndIsTakenUpThere) {
  Archive archive = on_disk();
  archive.add(lines(1000));
  int calls = 0;
  EXPECT_EQ(code(open_history(archive.store(), archive.session(), [&](const HistoryProgress&) { return ++calls < 2; })), "CANCELLED");
  const auto index = must(HistoryIndex::open(archive.index_path(), archive.session(), HistoryIndex::Access::read, 1000));
  EXPECT_EQ(must(index->mark()).seq, 512u);
  EXPECT_EQ(archive.words("line").size(), 1000u);
  EXPECT_EQ(archive.indexed(), 1000u);
}

TEST_F(HistoryTest, RemovingTakesTheWordsOfOneSessionOrOfAllThatAreGone) {
  Archive archive = on_disk();
  archive.add(lines(100));
  archive.words("line");
  const std::string path = archive.index_path(), stale = archive.store().directory() + "/history/999.db";
  testing::write_file(stale, "");
  must(remove_history_but(archive.store(), {archive.session()}));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(stale));
  must(remove_history(archive.store(), archive.session().no));
  EXPECT_FALSE(std::filesystem::exists(path));
  must(remove_history(archive.store(), archive.session().no));
  must(remove_history_but(archive.store(), {}));
}

TEST_F(HistoryTest, TextIsEveryStringOfABodyButKeysRolesAndBlockTypes) {
  const auto store = Store::in_memory(Doors{});
  const SessionNo session =
      must(testing::write_to(store->log(), [](LogTxn& txn) { return txn.create_session(SessionId::trusted("s"), TimeMs{7}); })).no;
  const auto strings = [&](std::string_view type, const std::string& body) {
    std::string out;
    must(store->log().read([&](LogReader& reader) -> Result<void> {
      EntryText text(*store, reader, session);
      TRY(const auto pieces, text.of(make_row(1, nullptr, type, body)));
      for (const std::string_view one : pieces) out += std::string(one) + "|";
      return {};
    }));
    return out;
  };
  EXPECT_EQ(strings("message", R"({"content":"hello","role":"user"})"), "hello|");
  EXPECT_EQ(
      strings("message",
              R"({"content":[{"text":"a","type":"text"},{"arguments":{"type":"kept"},"name":"ls","type":"toolCall"}],"role":"assistant"})"),
      "a|kept|ls|");
  EXPECT_EQ(strings("custom", R"({"role":"kept","type":"kept","n":[1,true,null,"deep"],"e":""})"), "deep|kept|kept|");
  EXPECT_EQ(strings("message", R"({"content":[{"data":")" + std::string(2000, 'A') + R"(","type":"image"}],"role":"user"})"), "");
  const std::string large = "the beginning " + std::string(limits::kHistoryBlobBytes, ' ') + "beyond";
  const Digest digest = must(store->blobs().put(large));
  const std::string body = R"({"content":{"$blob":"sha256:)" + digest.hex() + R"(","bytes":70000,"preview":"only this"},"role":"user"})";
  EXPECT_EQ(strings("message", body), large.substr(0, limits::kHistoryBlobBytes) + "|");
  must(store->blobs().remove(digest));
  const auto pieces = [&](const std::string& text) {
    return store->log().read([&](LogReader& reader) -> Result<void> {
      TRY_DO(EntryText(*store, reader, session).of(make_row(1, nullptr, "message", text)));
      return {};
    });
  };
  EXPECT_EQ(code(pieces(body)), "CORRUPT");  // it is gone, and nobody purged it
  must(testing::write_to(store->log(), [&](LogTxn& txn) { return txn.mark_purged(digest); }));
  EXPECT_EQ(strings("message", body), "sha256:" + digest.hex() + "|only this|");
  EXPECT_EQ(code(pieces("{")), "CORRUPT");
}

// One flipped bit in an index of words is a word that is not there.
TEST_F(HistoryTest, AnIndexWithOneWrongBitIsMadeAgainAndNoMatchIsLost) {
  Archive archive = on_disk();
  archive.add(lines(300, "budget"));
  const std::vector<Seq> all = archive.words("budget");
  ASSERT_EQ(all.size(), 300U);
  ASSERT_GE(archive.indexed(), 200U);
  const std::string path = archive.index_path(), whole = testing::read_file(path);
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    std::string damaged = whole;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    testing::write_file(path, damaged);
    EXPECT_EQ(archive.words("budget"), all) << trial;
    EXPECT_EQ(archive.words("\"budget 17\""), std::vector<Seq>{17}) << trial;
    testing::write_file(path, whole);
  }
}

TEST_F(HistoryTest, IndexingEndsWhereEntriesAreMissing) {
  Archive archive = on_disk();
  archive.add(lines(300));
  {
    const auto connection =
        must(sqlite::Connection::open(archive.store().directory() + "/weir.db", sqlite::Connection::Mode::read_write, 1000));
    must(connection->execute("DELETE FROM entry WHERE id IN ('x100', 'x101')"));
  }
  const auto index = open_history(archive.store(), archive.session(), kGoOn);
  ASSERT_EQ(code(index), "CORRUPT");
  EXPECT_EQ(index.error().message(), "the entry at seq 100 is missing");
}

}  // namespace
}  // namespace weir
