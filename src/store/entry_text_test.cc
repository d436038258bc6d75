// A blob that cannot be read for now is no text that is not there.
#include "store/entry_text.h"

#include <gtest/gtest.h>

#include "store/history.h"
#include "testing/fault_files.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::FaultFiles;
using testing::FileCall;
using testing::make_row;
using testing::must;

constexpr auto kGoOn = [](const HistoryProgress&) { return true; };
constexpr std::size_t kEntries = 200;  // more than are read rather than indexed

// Many entries on disk, the last of them with a word that only its blob has.
class EntryTextTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = must(Store::open(dir_ / "store", Store::Access::write, {Durability::normal}, Doors{.files = files_}));
    session_ = must(testing::write_to(store_->log(), [](LogTxn& txn) { return txn.create_session(SessionId::trusted("s"), TimeMs{7}); }));
    const Digest digest = must(store_->blobs().put("much before a zebra"));
    const std::string blob = R"({"$blob":"sha256:)" + digest.hex() + R"(","bytes":19,"preview":"much"})";
    must(store_->log().write([&](LogTxn& txn) -> Result<void> {
      for (std::size_t i = 1; i <= kEntries; ++i) {
        TRY(const auto parent, txn.entry(session_.no, i - 1));
        const std::string body = R"({"content":)" + (i == kEntries ? blob : R"("a line")") + R"(,"role":"user"})";
        TRY_DO(txn.insert(session_.no, make_row(i, parent ? &*parent : nullptr, "message", body, "x" + std::to_string(i))));
      }
      return {};
    }));
  }

  // How many entries have the word.
  Result<std::size_t> search(std::string_view word) {
    TRY(const auto index, open_history(*store_, session_, kGoOn));
    TRY(HistoryQuery query, HistoryQuery::words(word));
    std::size_t found = 0;
    TRY_DO(store_->log().read([&](LogReader& reader) {
      found = 0;
      return search_history(
          *store_, reader, session_.no, index.get(), query, {.last = kEntries}, [](Seq) { return true; }, kGoOn,
          [&](const Entry&, Excerpt&) -> Result<bool> { return ++found > 0; });
    }));
    return found;
  }

  testing::TempDir dir_;
  FaultFiles files_;
  std::unique_ptr<Store> store_;
  SessionRow session_;
};

TEST_F(EntryTextTest, ABlobThatCannotBeReadForNowIsAnErrorAndIsNotIndexedAsIfItHadNoText) {
  files_.fail(1, FaultFiles::Lasting::for_ever, FileCall::open);
  EXPECT_EQ(code(search("zebra")), "STORAGE");
  files_.work();
  EXPECT_EQ(must(search("zebra")), 1u);
}

TEST_F(EntryTextTest, AnIndexedBlobThatCannotBeReadForNowIsAnErrorAndNotNothingFound) {
  EXPECT_EQ(must(search("zebra")), 1u);
  files_.fail(1, FaultFiles::Lasting::for_ever, FileCall::open);
  EXPECT_EQ(code(search("zebra")), "STORAGE");
}

}  // namespace
}  // namespace weir
