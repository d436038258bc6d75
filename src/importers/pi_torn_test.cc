// A session file cut at every byte, as a reader meets it while the host is writing: no crash, at most one torn line,
// what is there is a prefix of the whole, and the rest added later gives the whole.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "importers/pi.h"
#include "store/memory_log.h"
#include "testing/effort.h"
#include "testing/results.h"
#include "testing/source_dir.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::must;

// Under the sanitizers every byte would take minutes; a prime step still meets every place of a line.
constexpr std::size_t kEvery = testing::one_in(13);

class TextFile final : public ReadableFile {
 public:
  explicit TextFile(std::string_view text) : text_(text) {}
  Result<std::size_t> read(char* buffer, std::size_t size) override {
    const std::size_t n = std::min(size, text_.size() - at_);
    std::memcpy(buffer, text_.data() + at_, n);
    at_ += n;
    return n;
  }
  Result<void> seek(std::uint64_t offset) override {
    at_ = std::min<std::size_t>(offset, text_.size());
    return {};
  }
  Result<FileStat> stat() override {
    FileStat st;
    st.kind = FileStat::Kind::regular;
    st.size = text_.size();
    st.inode = 1;
    return st;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

struct Row {
  Seq seq, parent;
  std::string id, type, digest;
  bool operator==(const Row&) const = default;
};

// One session that a file is imported into, as often as a test likes.
class Imported {
 public:
  pi::ImportResult import_text(std::string_view text) {
    TextFile file(text);
    pi::ImportResult result;
    const auto body = [&](LogTxn& txn) -> Result<void> {
      const pi::ImportContext context{Masker::standard(), blobs_.get(), TimeMs{0}};
      TRY(result, pi::import_file(txn, file, {"cut.jsonl", SessionId::trusted("s"), false, false}, std::nullopt, context,
                                  [](const ImportProgress&) { return true; }));
      if (!result.session) return Error(ErrorCode::CANCELLED, "nothing yet");
      return {};
    };
    auto done = log_->write(body, Log::Grouping::alone);
    if (!done.ok() && done.error().code() != ErrorCode::CANCELLED) testing::fail_with(done.error());
    return result;
  }

  std::vector<Row> rows() {
    std::vector<Row> out;
    must(log_->read([&](LogReader& reader) -> Result<void> {
      TRY(const auto session, reader.session(SessionId::trusted("s")));
      if (!session) return {};
      return reader.scan(session->no, 1, UINT64_MAX, Order::forward, Columns::all, [&](Entry& entry) -> Result<bool> {
        out.push_back({entry.seq, entry.parent, entry.id.str(), entry.type, entry.digest.hex()});
        return true;
      });
    }));
    return out;
  }

 private:
  std::unique_ptr<Log> log_ = make_memory_log();
  std::unique_ptr<Blobs> blobs_ = make_memory_blobs();
};

std::string data(const std::string& name) { return testing::source_dir() + "/tests/data/" + name; }

void cut_everywhere(const std::string& text, std::size_t step) {
  Imported full;
  ASSERT_EQ(full.import_text(text).report.torn, 0u);
  const std::vector<Row> whole = full.rows();
  ASSERT_FALSE(whole.empty());
  std::size_t most_seen = 0;
  for (std::size_t cut = 0; cut <= text.size(); cut += cut + step <= text.size() || cut == text.size() ? step : text.size() - cut) {
    Imported part;
    const auto first = part.import_text(std::string_view(text).substr(0, cut));
    ASSERT_LE(first.report.torn, 1u) << "cut at " << cut;
    const std::vector<Row> seen = part.rows();
    ASSERT_LE(seen.size(), whole.size()) << "cut at " << cut;
    ASSERT_TRUE(std::equal(seen.begin(), seen.end(), whole.begin())) << "cut at " << cut << ": not a prefix of the whole";
    // Every whole line is there: a later cut never shows less.
    ASSERT_GE(seen.size(), most_seen) << "cut at " << cut;
    most_seen = seen.size();
    const auto rest = part.import_text(text);
    ASSERT_EQ(rest.report.torn, 0u) << "cut at " << cut;
    ASSERT_EQ(rest.report.entries, whole.size() - seen.size()) << "cut at " << cut;
    ASSERT_EQ(part.rows(), whole) << "cut at " << cut;
  }
  ASSERT_EQ(most_seen, whole.size());
}

TEST(PiTornTest, TheSampleCutAtEveryByteIsAPrefixAndBecomesTheWhole) {
  cut_everywhere(testing::read_file(data("pi-1.5.0-session.jsonl")), kEvery);
}
TEST(PiTornTest, EveryKindOfLineCutAtEveryByteIsAPrefixAndBecomesTheWhole) {
  cut_everywhere(testing::read_file(data("pi-v3.jsonl")), kEvery);
}
TEST(PiTornTest, Version2CutAtEveryByteIsAPrefixAndBecomesTheWhole) { cut_everywhere(testing::read_file(data("pi-v2.jsonl")), kEvery); }
TEST(PiTornTest, Version1CutAtEveryByteIsAPrefixAndBecomesTheWhole) { cut_everywhere(testing::read_file(data("pi-v1.jsonl")), kEvery); }

// A line cut short may be whole JSON with nothing after it yet ("{}" of "{}}"); the messy session has them all.
TEST(PiTornTest, TheMessySessionCutAtEveryByteIsAPrefixAndBecomesTheWhole) {
  cut_everywhere(testing::read_file(data("pi-messy.jsonl")), kEvery);
}

// Long sessions beside the project, when they are there.
TEST(PiTornTest, LongSessionsCutInStepsArePrefixesAndBecomeTheWhole) {
  const std::string folder = testing::source_dir() + "/../shared/data/agent-sessions/pi/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no sample sessions beside the project";
  for (const std::string name : {"before-compaction.jsonl", "large-session.jsonl"}) {
    const std::string text = testing::read_file(folder + name);
    cut_everywhere(text, text.size() / 23);
  }
}

}  // namespace
}  // namespace weir
