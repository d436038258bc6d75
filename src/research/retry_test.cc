#include "research/retry.h"

#include <gtest/gtest.h>

#include "json/canonical.h"
#include "testing/results.h"
#include "testing/upstream_cases.h"

namespace weir::research {
namespace {

using testing::upstream_cases;
using testing::UpstreamCase;

void refuse(State& state, char gate, const std::string& artifact, const std::string& sha256) {
  state.retries[std::string(1, gate) + " " + artifact].given.push_back({sha256, std::make_shared<Directive>()});
}

TEST(RetryTest, Case43RecordedCasesCountAlike) {
  int compared = 0;
  for (const UpstreamCase& one : upstream_cases("retry_record")) {
    SCOPED_TRACE(one.id);
    ASSERT_TRUE(one.same());
    ++compared;
    json::Parser parser;
    const json::Value manifest = testing::must(parser.parse(one.at("files").text_or("manifest.json", "")));
    const char gate = one.at("args.gate_id").text()[0];
    State state;
    const json::Value* metrics = manifest.find("metrics");
    const json::Value* counts = metrics == nullptr ? nullptr : metrics->find("retry_counts");
    const json::Value* had = counts == nullptr ? nullptr : counts->find(std::string(1, gate));
    for (std::int64_t i = 0; had != nullptr && i < had->integer(); ++i) refuse(state, gate, "x", "sha256:" + std::to_string(i));
    const Retry got = next_retry(state, limits_of(manifest), gate, "x", "sha256:new");
    const json::Value& error = one.at("result.error");
    if (error.is_null()) {
      EXPECT_EQ(got.attempt, one.at("result.attempt").integer());
      EXPECT_EQ(got.count + 1, one.at("result.retry_count").integer());
      EXPECT_EQ(got.most, one.at("result.max_retries").integer());
    } else {
      EXPECT_TRUE(got.exhausted());
      EXPECT_EQ(error.text_or("code", ""), "RETRY_EXHAUSTED");
      EXPECT_EQ(got.count, one.at("result.error.details.retry_count").integer());
      EXPECT_EQ(got.most, one.at("result.error.details.max_retries").integer());
    }
  }
  EXPECT_EQ(compared, 4);
}

TEST(RetryTest, EveryGateHasItsCapAndReportsTheirLimit) {
  Limits limits;
  std::string caps;
  for (const char gate : {'A', 'B', 'C', 'D', 'E', 'F'}) caps += std::to_string(most_retries(gate, limits)) + " ";
  EXPECT_EQ(caps, "0 2 1 1 3 0 ");
  limits.max_review_iterations = 0;  // counts as 1
  EXPECT_EQ(most_retries('E', limits), 0);
  limits.max_review_iterations = 9;
  EXPECT_EQ(most_retries('E', limits), 8);
}

TEST(RetryTest, TheSameBytesAgainAreTheSameAttemptAlsoAtTheCap) {
  State state;
  refuse(state, 'B', "wave-1/p1.md", "sha256:1");
  refuse(state, 'B', "wave-1/p1.md", "sha256:2");
  const Retry again = next_retry(state, {}, 'B', "wave-1/p1.md", "sha256:1");
  EXPECT_EQ(again.attempt, 1);
  EXPECT_NE(again.again, nullptr);
  EXPECT_EQ(again.count, 2);
  EXPECT_TRUE(next_retry(state, {}, 'B', "wave-1/p1.md", "sha256:3").exhausted());
  EXPECT_EQ(next_retry(state, {}, 'B', "wave-1/p2.md", "sha256:3").attempt, 1);
  EXPECT_EQ(next_retry(state, {}, 'D', "wave-1/p1.md", "sha256:3").attempt, 1);
}

}  // namespace
}  // namespace weir::research
