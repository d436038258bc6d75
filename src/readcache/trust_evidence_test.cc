// Which records count as seen by the model, what falls when one is taken out of its context, and the repeat register.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "base/sha256.h"
#include "readcache/trust.h"
#include "testing/cached_reader.h"
#include "testing/held_oracle.h"
#include "testing/rows.h"

namespace weir {
namespace {

using testing::brief;
using testing::CachedReader;
using testing::lines;
using testing::numbered;
using testing::with_line;

const std::string kFile = "/f";

class EvidenceTest : public ::testing::Test {
 protected:
  EvidenceTest() { log_.files[kFile] = numbered(30); }
  std::string view() const {
    return log_.trust(kFile) == nullptr
               ? ""
               : testing::show_view(log_.trust(kFile)->view, {{sha256(numbered(30)).hex(), "V1"}, {sha256(other()).hex(), "V2"}});
  }
  static std::string other() { return with_line(numbered(30), 15, "other"); }
  void write(const std::string& bytes) { log_.files[kFile] = bytes; }
  EntryId read(const testing::ReadAsk& ask = {}) {
    log_.read(kFile, ask);
    return log_.last().id;
  }

  CachedReader log_;
};

TEST_F(EvidenceTest, TheTextOfAMessageIsComparedHoweverItIsStored) {
  const std::string text = numbered(30);
  const std::string half = numbered(15) + "\n";
  const auto escaped = [](std::string_view raw) {
    std::string out;
    for (const char c : raw) out += c == '\n' ? std::string("\\n") : std::string(1, c);
    return out;
  };
  const auto counts = [&](const std::string& content) {
    CachedReader log;
    log.files[kFile] = text;
    log.read_by_message(kFile, {}, content);
    return log.state().not_evidence == 0;
  };
  EXPECT_TRUE(counts("{}"));
  EXPECT_TRUE(counts(fmt::format(R"({{"content":[{{"type":"text","text":"{}"}}]}})", escaped(text))));
  EXPECT_TRUE(counts(fmt::format(R"({{"content":[{{"type":"text","text":"{}"}},{{"type":"image"}},{{"type":"text","text":"{}"}}]}})",
                                 escaped(half), escaped(text.substr(half.size())))));
  EXPECT_TRUE(counts(fmt::format(R"({{"content":{{"$blob":"sha256:{}","bytes":9}}}})", sha256(text).hex())));
  EXPECT_TRUE(counts(fmt::format(R"({{"content":[{{"type":"text","text":{{"$blob":"sha256:{}","bytes":9}}}}]}})", sha256(text).hex())));
  EXPECT_TRUE(counts(R"({"content":"***REDACTED***","text_masked":true})"));
  EXPECT_FALSE(counts(R"({"content":"***REDACTED***","text_masked":false})"));
  EXPECT_FALSE(counts(R"({"content":""})"));
  EXPECT_FALSE(counts(R"({"content":[]})"));
  EXPECT_FALSE(counts(R"({"is_error":true})"));
  EXPECT_FALSE(counts(R"({"is_error":true,"text_masked":true})"));
  EXPECT_FALSE(counts(fmt::format(R"({{"content":{{"$blob":"sha256:{}","bytes":9}}}})", sha256("x").hex())));
  EXPECT_FALSE(counts(
      fmt::format(R"({{"content":[{{"type":"text","text":{{"$blob":"sha256:{}"}}}},{{"type":"text","text":""}}]}})", sha256(text).hex())));
}

TEST_F(EvidenceTest, AMessageWithoutTextCannotContradict) {
  CachedReader log;
  log.files[kFile] = numbered(3);
  log.read_by_message(kFile, {}, R"({"content":null})");
  EXPECT_EQ(log.state().not_evidence, 0u);
}

TEST_F(EvidenceTest, MutatedRecordsNeverFailAndMalformedOnesLeaveTheStateAsItWas) {
  read();
  read(lines(2, 9));
  write(other());
  read();
  const std::vector<Entry> bodies(log_.entries());
  const std::string before = view();
  const Seq head = log_.head;
  std::mt19937_64 random(5);
  const std::string bytes = "0123456789abr:,[]{}\"-.efulnt/ ";
  int malformed = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string body = bodies[random() % bodies.size()].body;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) body[random() % body.size()] = bytes[random() % bytes.size()];
    TrustFold::State state = log_.state(head);
    const auto step = TrustFold().step(state, testing::make_row(9, nullptr, "read", body, "x"));
    if (!step.ok()) continue;  // no JSON
    if (state.malformed == 0) continue;
    ++malformed;
    ASSERT_EQ(state.seq, log_.state(head).seq);
    ASSERT_EQ(testing::show_view(state.paths.find(kFile)->view), testing::show_view(log_.trust(kFile)->view));
    ASSERT_EQ(state.paths.size(), 1u);
  }
  EXPECT_GT(malformed, 1000);
  EXPECT_EQ(view(), before);
}

// ---- context edits ----

TEST_F(EvidenceTest, WhatAnEntryShowedGoesWithItAndTheNumbersStay) {
  const EntryId first = read(lines(1, 10));
  read(lines(5, 20));
  log_.edit_context(first);
  EXPECT_EQ(view(), "5-20 V1 by e2");
  EXPECT_EQ(log_.trust(kFile)->slots.size(), 1u);
  EXPECT_EQ(log_.trust(kFile)->slots.find(std::string("r:5:20"))->seq, 2u);
  EXPECT_EQ(log_.state().not_evidence, 1u);
  read(lines(25, 26));
  EXPECT_EQ(log_.trust(kFile)->slots.find(std::string("r:25:26"))->seq, 3u);
}

TEST_F(EvidenceTest, WhatWasShownBeforeComesBackWhenALaterAnswerIsTakenOut) {
  read();
  write(other());
  const EntryId later = read(lines(14, 16));
  EXPECT_EQ(view(), "1-13 V1 by e1; 14-16 V2 by e2; 17-30 V1 by e1");
  log_.edit_context(later, false);
  EXPECT_EQ(view(), "1-30 V1 by e1");
}

TEST_F(EvidenceTest, DerivedRecordsFallWithWhatTheyStoodOn) {
  const EntryId first = read();
  read();  // unchanged
  write(other());
  ASSERT_EQ(brief(log_.read(kFile)), "diff full diff_emitted");
  log_.edit_context(first);
  EXPECT_EQ(view(), "");
  EXPECT_EQ(log_.trust(kFile)->slots.size(), 0u);
}

TEST_F(EvidenceTest, AMarkerOverTwoVersionsFallsEvenIfItsGuardWouldHold) {
  read(lines(1, 20));  // e1: V1, and the slot of this range
  write(other());
  read();  // e2: V2, all of it
  write(numbered(30));
  const EntryId back = read(lines(15, 15));  // e3: line 15 as in V1 again
  ASSERT_EQ(brief(log_.read(kFile, lines(1, 20))), "unchanged_range r:1:20 range_slice_unchanged");
  log_.edit_context(back);
  // Without it the model saw V2's line 15 last. The range's slot and the marker's base are V1 all the same.
  EXPECT_EQ(view(), "1-30 V2 by e2");
  EXPECT_TRUE(is_anchor(log_.decide(kFile, lines(1, 20)).record.mode));
  // A second edit does not bring the marker back.
  log_.edit_context(EntryId::trusted("e4"));
  log_.edit_context(EntryId::trusted("e2"));
  EXPECT_EQ(view(), "1-20 V1 by e1");
}

TEST_F(EvidenceTest, ADiffLeftWithoutItsBaseForgetsWhatStoodThereBefore) {
  log_.options.diff_ratios = {9, 9};
  read();  // e1: V1
  write(other());
  const EntryId first = read();  // e2: a diff to V2
  write(with_line(other(), 2, "two"));
  ASSERT_EQ(brief(log_.read(kFile)), "diff full diff_emitted");  // e3: a diff to V3
  log_.edit_context(first);
  // The model still sees e3: the file of e1 is not what it saw last.
  write(numbered(30));
  EXPECT_TRUE(is_anchor(log_.decide(kFile).record.mode));
  EXPECT_TRUE(is_anchor(log_.decide(kFile, lines(2, 2)).record.mode));
}

TEST_F(EvidenceTest, ADiffThatLeftOutALineShownByAnotherEntryHoldsOnlyItsHunksWithoutIt) {
  log_.options.diff_ratios = {9, 9};
  read();  // e1: V1
  testing::Texts text = testing::split_lines(numbered(30));
  text.erase(text.begin() + 19);
  text.insert(text.begin() + 9, "new");
  write(testing::join_lines(text));
  read(lines(12, 14));                        // e2
  const EntryId shown = read(lines(15, 17));  // e3: at its new place, because e2 showed another line at the old one
  ASSERT_EQ(brief(log_.read(kFile)), "diff full diff_emitted");
  EXPECT_EQ(brief(log_.decide(kFile, lines(15, 15))), "unchanged_range r:15:15 hash_match");
  log_.edit_context(shown);
  EXPECT_TRUE(is_anchor(log_.decide(kFile, lines(15, 15)).record.mode));
  EXPECT_EQ(brief(log_.decide(kFile, lines(18, 23))), "unchanged_range r:18:23 hash_match");
}

TEST_F(EvidenceTest, AMarkerTakenOutChangesNothingThatIsHeld) {
  read();
  const EntryId marker = read();
  log_.edit_context(marker);
  EXPECT_EQ(view(), "1-30 V1 by e1");
  EXPECT_EQ(log_.trust(kFile)->full_slot()->seq, 1u);
}

TEST_F(EvidenceTest, RefreshesStayWhenAnEntryIsTakenOut) {
  const EntryId first = read(lines(1, 5));
  log_.refresh(kFile, "r:2:3");
  read(lines(4, 9));
  log_.edit_context(first);
  EXPECT_EQ(view(), "4-9 V1 by e3");
  EXPECT_TRUE(log_.trust(kFile)->blocked.touches({2, 3}));
}

TEST_F(EvidenceTest, OneEditOfAnEntryIsLikeTwo) {
  const EntryId first = read();
  read(lines(3, 4));
  log_.edit_context(first);
  const std::string once = view();
  log_.edit_context(first, false);
  EXPECT_EQ(view(), once);
  EXPECT_EQ(log_.state().not_evidence, 1u);
}

TEST_F(EvidenceTest, AnEditOfAnotherPathOrOfNothingTouchesNothing) {
  log_.files["/g"] = "g";
  read();
  log_.read("/g");
  log_.edit_context(log_.last().id);
  log_.edit_context(EntryId::trusted("nobody"));
  EXPECT_EQ(view(), "1-30 V1 by e1");
  EXPECT_EQ(testing::show_view(log_.trust("/g")->view), "");
}

// ---- the repeat register ----

class RepeatTest : public EvidenceTest {
 protected:
  RepeatTest() {
    log_.options.marker_repeat = 0;
    read();
    read();
  }
  std::uint64_t count() const { return log_.state().repeat.count; }
  std::uint64_t after(std::string_view type, std::string_view body) {
    const Seq head = log_.head;
    log_.append(type, body);
    const std::uint64_t out = count();
    log_.head = head;
    return out;
  }
};

TEST_F(RepeatTest, TheSameMarkerCountsUpAndAnotherStartsAtOne) {
  EXPECT_EQ(count(), 1u);
  read();
  EXPECT_EQ(count(), 2u);
  read(lines(2, 3));
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(log_.state().repeat.scope, "r:2:3");
  read(lines(2, 3));
  EXPECT_EQ(count(), 2u);
  write(other());
  read(lines(2, 3));  // the same lines of another version
  EXPECT_EQ(count(), 1u);
  read({.bypass = true});
  EXPECT_EQ(count(), 0u);
}

TEST_F(RepeatTest, WhatSaysNothingToTheModelLeavesIt) {
  EXPECT_EQ(after("label", R"({"label":"x","target":"e1"})"), 1u);
  EXPECT_EQ(after("session_info", R"({"name":"n"})"), 1u);
  EXPECT_EQ(after("CONTEXT_MANIFEST_WRITTEN", "{}"), 1u);
}

TEST_F(RepeatTest, AssistantMessagesThatOnlyCallReadLeaveIt) {
  for (const char* body : {R"({"role":"assistant","tool_calls":[{"function":{"name":"read"},"id":"1"}]})",
                           R"({"content":"","role":"assistant","tool_calls":[{"id":"1","name":"read"},{"id":"2","name":"read"}]})",
                           R"({"content":[{"name":"read","type":"toolCall"}],"role":"assistant"})",
                           R"({"content":[{"name":"read","type":"tool_use"}],"role":"assistant"})"})
    EXPECT_EQ(after("message", body), 1u) << body;
  for (const char* body :
       {R"({"content":"I see","role":"assistant","tool_calls":[{"id":"1","name":"read"}]})", R"({"content":"","role":"assistant"})",
        R"({"role":"assistant","tool_calls":[{"id":"1","name":"read"},{"id":"2","name":"edit"}]})",
        R"({"content":[{"text":"x","type":"text"},{"name":"read","type":"toolCall"}],"role":"assistant"})",
        R"({"content":[{"name":"bash","type":"toolCall"}],"role":"assistant"})",
        R"({"role":"user","tool_calls":[{"id":"1","name":"read"}]})", R"({"content":"x","role":"user"})"})
    EXPECT_EQ(after("message", body), 0u) << body;
}

TEST_F(RepeatTest, EveryOtherEntryClearsIt) {
  for (const char* type : {"custom", "branch_summary", "x.unknown", "compaction", "PLAN_DONE"}) EXPECT_EQ(after(type, "{}"), 0u) << type;
  EXPECT_EQ(after("refresh", R"({"path":"/other","scope":"full","v":1})"), 0u);
  EXPECT_EQ(after("context_edit", R"({"replacement":null,"target":"nobody"})"), 0u);
  EXPECT_EQ(after("read", "{}"), 0u);
}

}  // namespace
}  // namespace weir
