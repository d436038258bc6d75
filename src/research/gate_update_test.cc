#include "research/gate_update.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "research/mirror.h"

namespace weir::research {
namespace {

ErrorCode verdict(std::string_view update) {
  json::Arena arena;
  json::Parser parser;
  State state;
  state.run_id = "run";
  const auto parsed = parser.parse(update);
  const auto result = check_gate_update(gates_value(state, arena), parsed.value());
  return result.ok() ? ErrorCode::USAGE : result.error().code();
}

TEST(GateUpdateTest, AHardGatePassesOrFailsAndIsNeverAWarning) {
  EXPECT_EQ(
      verdict(
          R"({"D":{"status":"pass","checked_at":"2026-02-13T12:00:00.000Z","metrics":{"a":1},"artifacts":["x"],"warnings":[],"notes":"n"}})"),
      ErrorCode::USAGE);
  EXPECT_EQ(verdict(R"({"D":{"status":"warn","checked_at":"2026-02-13T12:00:00.000Z"}})"), ErrorCode::LIFECYCLE_RULE_VIOLATION);
}

TEST(GateUpdateTest, EveryOtherMistakeHasItsOwnCode) {
  EXPECT_EQ(verdict(R"({"D":{"status":"pass"}})"), ErrorCode::LIFECYCLE_RULE_VIOLATION);
  EXPECT_EQ(verdict(R"({"Z":{"status":"pass","checked_at":"2026-02-13T12:00:00.000Z"}})"), ErrorCode::UNKNOWN_GATE_ID);
  EXPECT_EQ(verdict(R"({"D":{"status":"pass","checked_at":"2026-02-13T12:00:00.000Z","class":"soft"}})"), ErrorCode::INVALID_ARGS);
  EXPECT_EQ(verdict(R"({"D":{"status":"pass","checked_at":"2026-02-13T12:00:00.000Z","metrics":[]}})"),
            ErrorCode::SCHEMA_VALIDATION_FAILED);
  EXPECT_EQ(verdict("{}"), ErrorCode::INVALID_ARGS);
}

}  // namespace
}  // namespace weir::research
