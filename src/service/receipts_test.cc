#include "service/receipts.h"

#include <gtest/gtest.h>

#include "service/answers_in_flight.h"
#include "store/sqlite_log.h"
#include "store/store.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::must;
using testing::read_from;
using testing::write_to;

constexpr std::string_view kPath = "/repo/a.txt";

class ReceiptsTest : public ::testing::Test {
 protected:
  ReceiptsTest() : store_(must(Store::open(dir_.path(), Store::Access::write, {}, Doors{}))) {
    session_ = must(write_to(log(), [&](LogTxn& txn) { return txn.create_session(SessionId::trusted("s"), TimeMs{1}); })).no;
    const Entry entry = testing::make_row(1, nullptr, "read", "{}");
    must(write_to(log(), [&](LogTxn& txn) -> Result<void> {
      TRY_DO(txn.insert(session_, entry));
      return txn.add_undelivered(session_, Receipts::hash_of(kPath), 1);
    }));
  }
  Log& log() { return store_->log(); }
  Receipts::Read read() const { return {session_, Receipts::hash_of(kPath), 1}; }
  std::vector<Seq> undelivered(Receipts& receipts) {
    for (;;) {
      const std::uint64_t moment = receipts.moment();
      bool of_now = false;
      auto out = must(read_from(log(), [&](LogReader& reader) { return receipts.undelivered(reader, session_, kPath, moment, of_now); }));
      if (of_now) return out;
    }
  }
  std::uint64_t noted() {
    return must(read_from(log(), [&](LogReader& reader) { return reader.count_undelivered(session_); }));
  }

  testing::TempDir dir_;
  std::unique_ptr<Store> store_;
  SessionNo session_;
};

TEST_F(ReceiptsTest, AReadCountsForNobodyUntilItsAnswerIsReceived) {
  Receipts here(log()), there(log());
  const ReceiptPtr receipt = here.receipt(read());
  EXPECT_EQ(undelivered(here), std::vector<Seq>{1});
  EXPECT_EQ(undelivered(there), std::vector<Seq>{1});
  receipt->received();
  EXPECT_EQ(undelivered(here), std::vector<Seq>{});  // at once in this process
  here.close();
  EXPECT_EQ(noted(), 0u);
  EXPECT_EQ(undelivered(there), std::vector<Seq>{});
}

TEST_F(ReceiptsTest, AnAnswerThatIsLostStaysNotedForGood) {
  {
    Receipts receipts(log());
    receipts.receipt(read())->lost();
  }
  Receipts later(log());
  EXPECT_EQ(undelivered(later), std::vector<Seq>{1});
}

TEST_F(ReceiptsTest, AnAnswerToARequestThatWasTakenBackIsNeverReceived) {
  Receipts receipts(log());
  const ReceiptPtr receipt = receipts.receipt(read());
  receipt->lost();
  receipt->received();
  EXPECT_EQ(undelivered(receipts), std::vector<Seq>{1});
  receipts.close();
  EXPECT_EQ(noted(), 1u);
}

TEST_F(ReceiptsTest, AnAnswerThatTurnsOutToBeLostIsNotedAgain) {
  Receipts receipts(log());
  const ReceiptPtr receipt = receipts.receipt(read());
  receipt->received();
  receipt->lost();
  EXPECT_EQ(undelivered(receipts), std::vector<Seq>{1});
  receipts.close();
  EXPECT_EQ(noted(), 1u);
}

TEST_F(ReceiptsTest, EveryAnswerOfARepeatedReadIsCounted) {
  must(write_to(log(), [&](LogTxn& txn) { return txn.add_undelivered(session_, Receipts::hash_of(kPath), 1); }));
  Receipts receipts(log());
  EXPECT_EQ(undelivered(receipts), (std::vector<Seq>{1, 1}));
  receipts.receipt(read())->received();
  EXPECT_EQ(undelivered(receipts), std::vector<Seq>{1});
  receipts.close();
  EXPECT_EQ(undelivered(receipts), std::vector<Seq>{1});
  EXPECT_EQ(noted(), 1u);
}

TEST_F(ReceiptsTest, WhatIsKnownOfAMomentThatHasPassedIsNotUsed) {
  Receipts receipts(log());
  const std::uint64_t before = receipts.moment();
  receipts.receipt(read())->received();
  bool of_now = true;
  must(log().read([&](LogReader& reader) -> Result<void> {
    TRY_DO(reader.session(SessionId::trusted("s")));  // its moment begins
    receipts.close();                                 // and meanwhile the note is taken away
    TRY(const auto seen, receipts.undelivered(reader, session_, kPath, before, of_now));
    EXPECT_EQ(seen, std::vector<Seq>{1});
    return {};
  }));
  EXPECT_FALSE(of_now);
  EXPECT_EQ(undelivered(receipts), std::vector<Seq>{});
}

TEST_F(ReceiptsTest, WhatTurnsOutToBeLostAfterAPurgeLeavesNothing) {
  Receipts receipts(log());
  const ReceiptPtr receipt = receipts.receipt(read());
  receipt->received();
  must(write_to(log(), [&](LogTxn& txn) { return txn.delete_session(session_); }));
  receipt->lost();
  receipts.close();
  EXPECT_EQ(noted(), 0u);
}

struct Counted final : Receipt {
  explicit Counted(std::string& told) : told_(told) {}
  void received() override { told_ += "r"; }
  void lost() override { told_ += "l"; }
  std::string& told_;
};

TEST(AnswersInFlightTest, AClientThatGoesOnHasWhatItWasSentBefore) {
  std::string first, second;
  {
    AnswersInFlight answers;
    answers.add(std::make_shared<Counted>(first));
    const std::uint64_t until = answers.last();
    answers.add(std::make_shared<Counted>(second));
    answers.receive_until(until);
    EXPECT_EQ(first + "/" + second, "r/");
  }
  EXPECT_EQ(first + "/" + second, "r/l");
}

TEST(AnswersInFlightTest, AConnectionThatBreaksMayHaveLostWhatSeemedReceived) {
  std::string first, second;
  AnswersInFlight answers;
  answers.add(std::make_shared<Counted>(first));
  answers.receive_all();
  answers.add(std::make_shared<Counted>(second));
  answers.lose_all();
  EXPECT_EQ(first + "/" + second, "rl/l");
}

}  // namespace
}  // namespace weir
