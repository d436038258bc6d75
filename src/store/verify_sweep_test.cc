// One flipped bit at a time, all over the file: what verify calls sound reads as it did before.
#include <gtest/gtest.h>

#include "testing/damaged_store.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"

namespace weir {
namespace {

using testing::must;

// Every answer of the store, by scan and by index; nothing if it cannot be read.
std::optional<std::string> everything(Store& store) {
  try {
    std::string out = testing::dump(store.log());
    must(store.log().read([&](LogReader& reader) -> Result<void> {
      for (const std::string_view name : {"s", "t"}) {
        TRY(const auto session, reader.session(SessionId::trusted(name)));
        if (!session) continue;
        TRY(const auto seqs, reader.with_id_prefix(session->no, "", 100));
        for (const Seq seq : seqs) {
          TRY(const auto entry, reader.entry(session->no, seq, Columns::all));
          if (!entry) return Error(ErrorCode::CORRUPT, "an index names an entry that is not there");
          TRY(const auto found, reader.find(session->no, entry->id, Columns::without_body));
          TRY(const auto pointed, reader.with_digest(session->no, entry->digest.prefix64()));
          out += std::to_string(seq) + " found at " + std::to_string(found ? found->seq : 0) + " pointed at " +
                 std::to_string(pointed.empty() ? 0 : pointed[0]) + "\n";
        }
      }
      return {};
    }));
    return out;
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

TEST(VerifySweepTest, NoFlippedBitPassesAsData) {
  testing::DamagedStore store;
  const std::string sound = testing::read_file(store.database());
  const std::string expected = everything(*must(store.open())).value();
  const std::size_t stride = 67;  // prime, so that every column's bytes have their turn
  int trials = 0, harmless = 0;
  for (std::size_t at = 0; at < sound.size(); at += stride) {
    std::string bytes = sound;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    testing::write_file(store.database(), bytes);
    ++trials;
    const auto opened = store.open();
    if (!opened.ok()) continue;  // refused as a whole
    const auto report = verify(**opened, {}, [](const VerifyProgress&) { return true; });
    if (!report.ok() || !report->findings.empty()) continue;
    EXPECT_EQ(everything(**opened), std::optional(expected)) << "bit " << at % 8 << " of byte " << at;
    ++harmless;
  }
  EXPECT_GT(trials, 500);
  EXPECT_LT(harmless, trials);
}

}  // namespace
}  // namespace weir
