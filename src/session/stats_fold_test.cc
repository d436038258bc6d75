#include "session/stats_fold.h"

#include <gtest/gtest.h>

#include "session/fold.h"
#include "testing/results.h"
#include "testing/rows.h"

namespace weir {
namespace {

using testing::code;
using testing::must;

Entry row(std::string_view type, std::string_view body) { return testing::make_row(1, nullptr, type, body); }

StatsFold::State fold(const std::vector<Entry>& entries) {
  StatsFold::State state = StatsFold::initial();
  for (const Entry& entry : entries) must(StatsFold::step(state, entry));
  return state;
}

const std::vector<Entry> kPath = {
    row("message", R"({"content":"hello","role":"user"})"),                                                            // 33 bytes
    row("message", R"({"role":"assistant","tool_calls":[{"id":"1"},{"id":"2"}]})"),                                    // 59
    row("message", R"({"content":[{"type":"tool_result"}],"is_error":true,"role":"user"})"),                           // 66
    row("message", R"({"content":{"$blob":"sha256:00","bytes":70000,"preview":"x"},"is_error":true,"role":"tool"})"),  // 93
    row("compaction", R"({"replacement":{"$blob":"sha256:00","bytes":300000,"count":2}})"),
    row("custom", R"({"text":"\"$blob\" is only text here"})"),
    row("message", R"({"content":"go on","role":"user"})"),  // 33
};

TEST(StatsFoldTest, CountsWhatAPathIsMadeOf) {
  const StatsFold::State state = fold(kPath);
  EXPECT_EQ(state.entries, 7u);
  EXPECT_EQ(state.turns, 2u);
  EXPECT_EQ(state.tool_calls, 2u);
  EXPECT_EQ(state.tool_errors, 2u);
  EXPECT_EQ(state.compactions, 1u);
  EXPECT_EQ(state.blob_bytes, 370000u);
  std::uint64_t bytes = 0;
  for (const Entry& entry : kPath) bytes += entry.body.size();
  EXPECT_EQ(state.body_bytes, bytes);
  EXPECT_EQ(state.types.find(std::string("message"))->entries, 5u);
  EXPECT_EQ(state.types.find(std::string("custom"))->bytes, kPath[5].body.size());
  EXPECT_EQ(state.roles.find(std::string("user"))->entries, 3u);
  EXPECT_EQ(state.roles.find(std::string("tool"))->bytes, kPath[3].body.size());
  EXPECT_EQ(state.roles.find(std::string("system")), nullptr);
}

TEST(StatsFoldTest, BytesSinceTheBarrierStartAgainAtACompaction) {
  EXPECT_EQ(fold({kPath[0], kPath[3]}).bytes_since_barrier, kPath[0].body.size() + kPath[3].body.size() + 70000);
  EXPECT_EQ(fold({kPath[0], kPath[3], kPath[4]}).bytes_since_barrier, 0u);
  EXPECT_EQ(fold(kPath).bytes_since_barrier, kPath[6].body.size());
}

TEST(StatsFoldTest, SavedStateComesBackAndIsPinned) {
  const StatsFold::State state = fold({kPath[0], kPath[4]});
  const std::string saved = StatsFold::save(state);
  EXPECT_EQ(
      saved,
      R"({"blob_bytes":300000,"body_bytes":95,"bytes_since_barrier":0,"compactions":1,"entries":2,"roles":{"user":[1,33]},"tool_calls":0,"tool_errors":0,"turns":1,)"
      R"("types":{"compaction":[1,62],"message":[1,33]}})");
  EXPECT_EQ(StatsFold::save(must(StatsFold::load(saved))), saved);
  EXPECT_EQ(StatsFold::save(must(StatsFold::load(StatsFold::save(fold(kPath))))), StatsFold::save(fold(kPath)));
}

TEST(StatsFoldTest, SavedStateOfAnotherShapeIsRefused) {
  const std::string saved = StatsFold::save(fold(kPath));
  for (const std::string bad : {"", "[]", "{}", "7"}) EXPECT_FALSE(StatsFold::load(bad).ok()) << bad;
  for (const std::string key : {"\"turns\"", "\"types\"", "\"roles\"", "\"entries\""}) {
    std::string other = saved;
    other.replace(other.find(key), key.size(), "\"other\"");
    EXPECT_EQ(code(StatsFold::load(other)), "CORRUPT") << key;
  }
  EXPECT_EQ(code(StatsFold::load(std::string(saved).replace(saved.find("[1,"), 3, "[\"x\","))), "CORRUPT");
}

TEST(StatsFoldTest, BodyThatIsNoJsonIsCorrupt) {
  StatsFold::State state;
  EXPECT_EQ(code(StatsFold::step(state, row("message", "{"))), "CORRUPT");
}

TEST(StatsFoldTest, TokensAreEstimatedAtFourBytesEach) {
  EXPECT_EQ(estimated_tokens(0), 0u);
  EXPECT_EQ(estimated_tokens(1), 1u);
  EXPECT_EQ(estimated_tokens(4), 1u);
  EXPECT_EQ(estimated_tokens(5), 2u);
}

}  // namespace
}  // namespace weir
