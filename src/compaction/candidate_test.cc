#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "compaction/validate.h"
#include "testing/checked_run.h"
#include "testing/results.h"
#include "testing/snapshot_edit.h"

namespace weir::compaction {
namespace {

using testing::CheckedRun;
using ::testing::HasSubstr;
using testing::kErase;
using testing::kGaugeSnapshot;
using testing::must;
using testing::with;

std::string schema_message(std::string_view bytes) {
  CheckedRun log;
  const Verdict verdict = log.check(bytes);
  EXPECT_EQ(verdict.checks.size() == 1, !verdict.checks[0].pass) << "a failed check 1 stands alone";
  return verdict.checks[0].message;
}

TEST(CandidateTest, SchemaProblemsSayWhereAndWhat) {
  const auto said = [](const std::string& path, const std::string& by) {
    return schema_message(with(kGaugeSnapshot, {{path, by}}, false)).substr(sizeof("1 schema problems; first: ") - 1);
  };
  EXPECT_EQ(said("sequence", "1.5"), "sequence is number, expected integer");
  EXPECT_EQ(said("sequence", "-1"), "sequence is negative");
  EXPECT_EQ(said("sequence", "123456789012345678901234567890"), "sequence is out of range");
  EXPECT_EQ(said("sequence", "-123456789012345678901234567890"), "sequence is negative");
  EXPECT_EQ(said("schema_version", "2"), "schema_version is 2, expected 1");
  EXPECT_EQ(said("objective", R"("")"), "objective is empty");
  EXPECT_EQ(said("done_definition", "[]"), "done_definition is array, expected object or string");
  EXPECT_EQ(said("previous_snapshot_id", "7"), "previous_snapshot_id is integer, expected string or null");
  EXPECT_EQ(said("created_at", R"("yesterday")"), "created_at is not an RFC 3339 time");
  EXPECT_EQ(said("provenance_mode", R"("x")"), R"(provenance_mode is "x", expected audit_only|quotes_checked)");
  EXPECT_EQ(said("state.claims.1.status", R"("proven")"), R"(state.claims[1].status is "proven", expected verified|candidate|retracted)");
  EXPECT_EQ(said("state.claims.1.status", R"("candidate|retracted")"),
            R"(state.claims[1].status is "candidate|retracted", expected verified|candidate|retracted)");
  EXPECT_EQ(said("state.failures.0.why", R"("")"), "state.failures[0].why is empty");
  EXPECT_EQ(said("state.claims.0", "null"), "state.claims[0] is null, expected object");
  EXPECT_EQ(said("state.carry.latest_request", "true"), "state.carry.latest_request is boolean, expected object or null");
  EXPECT_EQ(said("state.carry.latest_request.answered", "1"), "state.carry.latest_request.answered is integer, expected boolean");
  EXPECT_EQ(said("state.carry.files.0.sha256", std::string(kErase)), "state.carry.files[0].sha256 missing");
  EXPECT_EQ(said("deltas.files_changed.0", "{}"), "deltas.files_changed[0] is object, expected string");
  EXPECT_EQ(said("provenance.trigger", R"("LATER")").substr(0, 41), R"(provenance.trigger is "LATER", expected E)");
  EXPECT_EQ(said("validation.checks.24.status", R"("MAYBE")"), R"(validation.checks[24].status is "MAYBE", expected PASS|FAIL)");
}

// Every key the page has, at least once: the example with what it lacks.
std::string with_every_key() {
  return with(kGaugeSnapshot,
              {{"state.carry.requests.0", R"({"entry":"e1","bytes":1,"opening":"a"})"},
               {"state.carry.last_reply", R"({"entry":"e1","bytes":1,"opening":"a"})"},
               {"state.carry.todos", R"({"entry":"e1","items":[{"item":"a","status":"pending"}]})"},
               {"state.carry.pending_calls.0", R"({"entry":"e1","tool":"bash","call_id":"t"})"}},
              false);
}

TEST(CandidateTest, EveryKeyIsRequiredAndOfOneType) {
  const std::string shown = with_every_key();
  ASSERT_EQ(schema_message(shown), "all required keys present with declared types");
  json::Parser parser;
  std::size_t keys = 0;
  const std::function<void(const json::Value&, const std::string&)> each = [&](const json::Value& value, const std::string& path) {
    if (path == "done_definition" || path == "budgets") return;
    for (const json::Member& member : value.members()) {
      const std::string here = path.empty() ? std::string(member.key) : path + "." + std::string(member.key);
      ++keys;
      EXPECT_THAT(schema_message(with(shown, {{here, std::string(kErase)}}, false)), ::testing::EndsWith(" missing")) << here;
      EXPECT_THAT(schema_message(with(shown, {{here, "0.5"}}, false)), HasSubstr(" is number, expected ")) << here;
      // Evidence pointers are another check's.
      if (!here.ends_with("_refs") || here == "state.open_question_refs") each(member.value, here);
    }
    if (!value.items().empty()) each(value.items()[0], path + ".0");
  };
  each(must(parser.parse(shown)), "");
  EXPECT_EQ(keys, 148u);
}

TEST(CandidateTest, ProblemsAreCountedAllAndToldInPart) {
  Candidate candidate(R"({"state":{"claims":[)" + [] {
    std::string items = "{}";
    for (int i = 1; i < 1000; ++i) items += ",{}";
    return items;
  }() + "]}}");
  EXPECT_EQ(candidate.problem_count(), 18u + 8u + 8000u) << "beside `state`, in it, and in its claims";
  EXPECT_EQ(candidate.problems().size(), 20u);
  EXPECT_EQ(candidate.problems()[0], "schema_version missing");
}

TEST(CandidateTest, WhatIsNoJsonIsCheckOne) {
  std::string deep(65, '[');
  deep += std::string(65, ']');
  const std::string_view inputs[] = {"",
                                     "{",
                                     "nul",
                                     "\xff",
                                     R"({"a":1,"a":2})",
                                     R"({"a":"\ud800"})",
                                     "\"\xc3\x28\"",
                                     deep,
                                     "1e999",
                                     "[1] [2]",
                                     std::string_view("{}\0{}", 5)};
  for (const std::string_view input : inputs)
    EXPECT_THAT(schema_message(input), ::testing::StartsWith("1 schema problems; first: not JSON: ")) << input;
  for (const std::string_view input : {"null", "true", "7", "[]", "\"s\""})
    EXPECT_THAT(schema_message(input), ::testing::MatchesRegex("1 schema problems; first: snapshot is [a-z]+, expected object")) << input;
  EXPECT_THAT(schema_message("{}"), HasSubstr("first: schema_version missing"));
}

TEST(CandidateTest, OrderSpaceAndTheSpellingOfNumbersAreNoContent) {
  CheckedRun log;
  std::string spelled(kGaugeSnapshot);
  spelled.replace(spelled.find(R"("sequence":1)"), 12, R"("sequence"  :  1.0)");
  EXPECT_TRUE(log.check(spelled).pass());
}

}  // namespace
}  // namespace weir::compaction
