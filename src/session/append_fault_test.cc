// Blobs and an append on files that fail one call after another: nothing acknowledged is lost, nothing refused is stored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "session/append.h"
#include "store/store.h"
#include "store/verify.h"
#include "testing/doors.h"
#include "testing/fault_files.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/session_calls.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::FaultFiles;
using testing::must;

// Two large strings of their own for every n, and a small one.
std::string body_of(int n) {
  const std::string tag = std::to_string(n) + " ";
  return R"({"content":[{"text":")" + tag + std::string(70000, 'a') + R"("},{"text":")" + tag + std::string(70000, 'b') +
         R"("}],"role":"user"})";
}

// One call as the service makes it: blobs, flush, then the entry that names them.
Result<AppendResult> record(Store& store, int n) {
  json::Parser parser;
  json::Arena arena;
  Preparer preparer(Masker::standard(), &store.blobs());
  NewEntry entry;
  entry.type = "message";
  entry.id = EntryId::trusted("n" + std::to_string(n));
  TRY(entry.body, preparer.prepare("message", must(parser.parse(body_of(n))), arena));
  TRY_DO(store.blobs().flush());
  return testing::SessionCalls(store.log()).append({entry});
}

std::string resolved(Store& store, const Entry& entry) {
  json::Parser parser;
  json::Arena arena;
  return json::canonical(must(resolve_blobs(must(parser.parse(entry.body)), store.blobs(), arena)));
}

// Exactly these entries are there, whole, and the store is sound: seen by somebody who opens it afresh.
void expect_exactly(const std::string& directory, const std::vector<int>& acknowledged) {
  const auto store = must(Store::open(directory, Store::Access::read, {}, {}));
  testing::SessionCalls session(store->log());
  ASSERT_EQ(session.last(), acknowledged.size());
  for (std::size_t i = 0; i < acknowledged.size(); ++i) {
    EXPECT_EQ(session.at(i + 1).id.str(), "n" + std::to_string(acknowledged[i]));
    EXPECT_EQ(resolved(*store, session.at(i + 1)), body_of(acknowledged[i]));
  }
  const VerifyReport report = must(verify(*store, {}, [](const VerifyProgress&) { return true; }));
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.blobs, 2 * acknowledged.size());
}

void fail_every_call(FaultFiles::Lasting lasting) {
  const testing::TempDir dir;
  FaultFiles files;
  testing::SeededRandom random(1);
  const Doors doors{files, system_clock(), random};
  auto store = must(Store::open(dir / "store", Store::Access::write, {}, doors));
  must(record(*store, 0));
  std::vector<int> acknowledged = {0};
  int refused = 0;
  for (int k = 1;; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    files.fail(static_cast<std::uint64_t>(k), lasting);
    const auto done = record(*store, k);
    const bool failed = files.failed();
    files.work();
    if (done.ok()) {
      acknowledged.push_back(k);
    } else {
      EXPECT_EQ(code(done), "STORAGE");
      ++refused;
    }
    if (k % 2 == 0) store = must(Store::open(dir / "store", Store::Access::write, {}, doors));  // as after a crash
    expect_exactly(dir / "store", acknowledged);
    if (!failed) break;
  }
  EXPECT_GE(refused, 6);  // writes, renames and syncs at the least
  // Every refused call may be made again, and then it counts.
  for (int n = 0; n <= acknowledged.back(); ++n) {
    const bool known = must(record(*store, n)).entries[0].known;
    EXPECT_EQ(known, std::find(acknowledged.begin(), acknowledged.end(), n) != acknowledged.end());
  }
  EXPECT_EQ(testing::SessionCalls(store->log()).last(), static_cast<Seq>(acknowledged.back()) + 1);
}

TEST(AppendFaultTest, AnyOneFailingFileCallLosesNothing) { fail_every_call(FaultFiles::Lasting::once); }
TEST(AppendFaultTest, DiskThatFailsFromAnyCallOnLosesNothing) { fail_every_call(FaultFiles::Lasting::for_ever); }

}  // namespace
}  // namespace weir
