// The conformance suite, last part: many threads at one log.
#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "testing/log_conformance.h"

namespace weir::testing {
namespace {

constexpr int kThreads = 16;

// Runs body(0) .. body(count - 1), each in a thread of its own.
template <typename Body>
void in_threads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

// Under the entry before it, whoever wrote that.
Result<void> append_row(LogTxn& txn, SessionNo session, const std::string& id) {
  TRY(const Seq last, txn.last_seq(session));
  TRY(const auto parent, txn.entry(session, last, Columns::without_body));
  TRY_DO(txn.insert(session, make_row(last + 1, parent ? &*parent : nullptr, "message", "{\"from\":\"" + id + "\"}", id)));
  return txn.set_head(session, HeadName::trusted("main"), last + 1);
}

std::vector<Entry> all_entries(Log& log, SessionNo session) {
  std::vector<Entry> out;
  must(log.read([&](LogReader& r) {
    return r.scan(session, 1, ~Seq{0}, Order::forward, Columns::all, [&](Entry& entry) -> Result<bool> {
      out.push_back(entry);
      return true;
    });
  }));
  return out;
}

// 1, 2, 3 ... in a chain, each with the digest its parent and body give it.
void expect_whole_chain(const std::vector<Entry>& entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ASSERT_EQ(entries[i].seq, i + 1);
    ASSERT_EQ(show(entries[i]), show(make_row(i + 1, i == 0 ? nullptr : &entries[i - 1], "message", entries[i].body, entries[i].id.str())));
  }
}

}  // namespace

TEST_P(LogConformance, SixteenThreadsLoseNothing) {
  constexpr int kEach = 20;
  const SessionRow shared = make_session("shared");
  std::vector<SessionRow> own;
  for (int i = 0; i < kThreads; ++i) own.push_back(make_session("own" + std::to_string(i)));
  std::atomic<int> refused = 0;
  in_threads(kThreads, [&](int thread) {
    for (int i = 0; i < kEach; ++i) {
      const std::string id = "t" + std::to_string(thread) + "-" + std::to_string(i);
      const auto done = log().write([&](LogTxn& txn) -> Result<void> {
        TRY_DO(append_row(txn, shared.no, id));
        return append_row(txn, own[thread].no, id);
      });
      refused += !done.ok();
    }
  });
  EXPECT_EQ(refused, 0);
  const std::vector<Entry> entries = all_entries(log(), shared.no);
  ASSERT_EQ(entries.size(), kThreads * kEach);
  expect_whole_chain(entries);
  std::set<std::string> ids;
  for (const Entry& entry : entries) ids.insert(entry.id.str());
  EXPECT_EQ(ids.size(), kThreads * kEach);
  for (int thread = 0; thread < kThreads; ++thread) {
    const std::vector<Entry> mine = all_entries(log(), own[thread].no);
    ASSERT_EQ(mine.size(), kEach);
    expect_whole_chain(mine);
    for (int i = 0; i < kEach; ++i) EXPECT_EQ(mine[i].id.str(), "t" + std::to_string(thread) + "-" + std::to_string(i));
  }
  EXPECT_EQ(must(read_from(log(), [&](LogReader& r) { return r.head(shared.no, HeadName::trusted("main")); })),
            std::optional<Seq>(kThreads * kEach));
}

TEST_P(LogConformance, BodiesThatFailAmongManyTakeNobodyWithThem) {
  constexpr int kEach = 12;
  const SessionRow session = make_session("s");
  std::atomic<int> wrong_answers = 0;
  in_threads(kThreads, [&](int thread) {
    for (int i = 0; i < kEach; ++i) {
      const bool fails = (thread + i) % 3 == 0;
      const std::string id = (fails ? "bad" : "good") + std::to_string(thread) + "-" + std::to_string(i);
      const auto done = log().write(
          [&](LogTxn& txn) -> Result<void> {
            TRY_DO(append_row(txn, session.no, id));
            if (fails) return Error(ErrorCode::CONFLICT, id);
            return {};
          },
          i % 4 == 0 ? Log::Grouping::alone : Log::Grouping::shared);
      wrong_answers += fails ? done.ok() || done.error().message() != id : !done.ok();
    }
  });
  EXPECT_EQ(wrong_answers, 0);
  const std::vector<Entry> entries = all_entries(log(), session.no);
  EXPECT_EQ(entries.size(), kThreads * kEach * 2 / 3);
  expect_whole_chain(entries);
  for (const Entry& entry : entries) EXPECT_TRUE(entry.id.str().starts_with("good")) << entry.id.str();
}

TEST_P(LogConformance, TriesAmongWritesKeepNothing) {
  const SessionRow session = make_session("s");
  std::atomic<int> refused = 0;
  in_threads(8, [&](int thread) {
    for (int i = 0; i < 10; ++i) {
      const std::string id = (thread % 2 == 0 ? "try" : "write") + std::to_string(thread) + "-" + std::to_string(i);
      const auto body = [&](LogTxn& txn) { return append_row(txn, session.no, id); };
      const auto done = thread % 2 == 0 ? log().try_write(body) : log().write(body);
      refused += !done.ok();
    }
  });
  EXPECT_EQ(refused, 0);
  const std::vector<Entry> entries = all_entries(log(), session.no);
  EXPECT_EQ(entries.size(), 40u);
  for (const Entry& entry : entries) EXPECT_TRUE(entry.id.str().starts_with("write")) << entry.id.str();
}

TEST_P(LogConformance, ReaderSeesOneMomentWhileAWriteGoesOn) {
  const SessionRow session = make_furnished_session("s");
  const auto look = [&](LogReader& r) -> Result<std::string> {
    TRY(const Seq last, r.last_seq(session.no));
    TRY(const auto head, r.head(session.no, HeadName::trusted("main")));
    TRY(const auto sessions, r.sessions());
    return std::to_string(last) + " " + std::to_string(*head) + " " + std::to_string(sessions.size());
  };
  std::future<Result<void>> writer;
  must(log().read([&](LogReader& r) -> Result<void> {
    TRY(const std::string before, look(r));
    EXPECT_EQ(before, "4 3 1");
    writer = std::async(std::launch::async, [&] {
      return log().write([&](LogTxn& txn) -> Result<void> {
        TRY_DO(append_row(txn, session.no, "while you read"));
        TRY_DO(txn.create_session(SessionId::trusted("t"), TimeMs{1}));
        return {};
      });
    });
    const auto ended = writer.wait_for(GetParam().readers_never_wait ? std::chrono::seconds(60) : std::chrono::milliseconds(50));
    EXPECT_EQ(ended == std::future_status::ready, GetParam().readers_never_wait);
    TRY(const std::string after, look(r));
    EXPECT_EQ(after, before);
    return {};
  }));
  EXPECT_EQ(code(writer.get()), "OK");
  EXPECT_EQ(must(read_from(log(), look)), "5 5 2");
}

TEST_P(LogConformance, ReaderNeverSeesHalfAWrite) {
  const SessionRow session = make_session("s");
  std::atomic<bool> done = false;
  std::atomic<int> looks = 0, halves = 0;
  std::thread reader([&] {
    while (!done) {
      const auto counts = read_from(log(), [&](LogReader& r) -> Result<std::pair<Seq, std::optional<Seq>>> {
        TRY(const Seq last, r.last_seq(session.no));
        TRY(const auto head, r.head(session.no, HeadName::trusted("main")));
        return std::pair(last, head);
      });
      ++looks;
      halves += !counts.ok() || counts->first % 3 != 0 || counts->second.value_or(0) != counts->first;
    }
  });
  for (int i = 0; i < 30 || looks < 30; ++i) {
    must(log().write([&](LogTxn& txn) -> Result<void> {
      for (const char* part : {"a", "b", "c"}) TRY_DO(append_row(txn, session.no, part + std::to_string(i)));
      return {};
    }));
  }
  done = true;
  reader.join();
  EXPECT_EQ(halves, 0);
}

}  // namespace weir::testing
