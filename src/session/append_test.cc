// The rules of append, one by one.
#include "session/append.h"

#include <gtest/gtest.h>

#include "store/memory_log.h"
#include "testing/doors.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/session_calls.h"

namespace weir {
namespace {

using testing::code;
using testing::detail;
using testing::entry;
using testing::message;
using testing::must;
using testing::named;
using testing::root;
using testing::under;

// Digests of {"content":"hello","role":"user"} as a root, {"content":"hi there","role":"assistant"} under it and
// {"summary":"greeted"} under that, from Python's hashlib.
constexpr const char* kHello = "14a5c6e80eaaab735ef460c9aab52a087ec64c8a6d7b8b12123e040a33d8c36e";
constexpr const char* kHiThere = "6e6995441f38522eba990908ebcc565fbb21d77c2c4a05ca6699a67e72bb5292";
constexpr const char* kGreeted = "e749f3a699be6c04be07f3d0cf716c70d53fead6931e928a207b2517a6ed1141";

NewEntry hi_there() { return entry("message", R"({"content":"hi there","role":"assistant"})"); }
NewEntry greeted() { return entry("compaction", R"({"summary":"greeted"})"); }

class AppendTest : public ::testing::Test {
 protected:
  std::unique_ptr<Log> log_ = make_memory_log();
  testing::SessionCalls session_{*log_};
};

TEST_F(AppendTest, FirstEntryIsARootAndTheHeadStandsAtIt) {
  const AppendResult result = must(session_.append({message("hello")}));
  ASSERT_EQ(result.entries.size(), 1u);
  EXPECT_EQ(result.entries[0].seq, 1u);
  EXPECT_EQ(result.entries[0].id.str(), "e14a5c6e8");
  EXPECT_EQ(result.entries[0].digest.hex(), kHello);
  EXPECT_FALSE(result.entries[0].known);
  EXPECT_TRUE(result.session_made);
  EXPECT_EQ(result.head.str(), "e14a5c6e8");
  EXPECT_EQ(session_.head(), "e14a5c6e8");
  EXPECT_EQ(session_.row().created.ms, 1000);
}

TEST_F(AppendTest, EntriesOfACallGoUnderOneAnotherAndTheNextCallUnderTheHead) {
  const AppendResult first = must(session_.append({message("hello"), hi_there()}));
  EXPECT_EQ(first.entries[1].digest.hex(), kHiThere);
  const AppendResult second = must(session_.append({greeted(), message("go on")}));
  EXPECT_FALSE(second.session_made);
  EXPECT_EQ(second.entries[0].digest.hex(), kGreeted);
  EXPECT_EQ(second.entries[0].seq, 3u);
  for (Seq seq = 1; seq <= 4; ++seq) {
    EXPECT_EQ(session_.at(seq).parent, seq - 1);
    EXPECT_EQ(session_.at(seq).depth, seq);
    EXPECT_EQ(session_.at(seq).barrier, seq < 3 ? 0u : 3u);
  }
  EXPECT_EQ(session_.head(), second.entries[1].id.str());
}

TEST_F(AppendTest, ParentIsAnIdAPointerOrTheRoot) {
  session_.grow({"a", "b", "c"});
  must(session_.append({under("a", named("d", message("by id")))}));
  EXPECT_EQ(session_.at(4).parent, 1u);
  must(session_.append({under(entry_pointer(session_.at(2).digest), named("e", message("by pointer"))), named("f", message("follows"))}));
  EXPECT_EQ(session_.at(5).parent, 2u);
  EXPECT_EQ(session_.at(6).parent, 5u);
  must(session_.append({root(named("g", message("another root")))}));
  EXPECT_EQ(session_.at(7).parent, 0u);
  EXPECT_EQ(session_.at(7).depth, 1u);
  EXPECT_EQ(session_.head(), "g");
}

TEST_F(AppendTest, ParentMayBeAnEarlierEntryOfTheCallButNoLaterOne) {
  must(session_.append({named("a", message("1")), named("b", message("2")), under("a", named("c", message("3")))}));
  EXPECT_EQ(session_.at(3).parent, 1u);
  const auto refused = session_.append({under("y", named("x", message("4"))), named("y", message("5"))});
  ASSERT_EQ(code(refused), "NOT_FOUND");
  EXPECT_EQ(detail(refused.error(), "index"), "0");
  EXPECT_EQ(detail(refused.error(), "entry"), "y");
  EXPECT_EQ(session_.last(), 3u);
}

TEST_F(AppendTest, AllEntriesOfACallOrNone) {
  const auto refused = session_.append({message("1"), message("2"), under("nobody", message("3"))});
  ASSERT_EQ(code(refused), "NOT_FOUND");
  EXPECT_EQ(detail(refused.error(), "index"), "2");
  EXPECT_EQ(detail(refused.error(), "session"), "s");
  EXPECT_FALSE(session_.there());
  session_.grow({"a"});
  for (const char* prefix_or_ancestor : {"a~0", "main", ""}) {
    EXPECT_EQ(code(session_.append({message("1"), under(prefix_or_ancestor, message("2"))})), "NOT_FOUND") << prefix_or_ancestor;
  }
  EXPECT_EQ(session_.last(), 1u);
  EXPECT_EQ(session_.head(), "a");
}

TEST_F(AppendTest, SameIdWithSameContentIsTheFirstEntry) {
  session_.grow({"a", "b"});
  const std::string before = testing::dump(*log_);
  for (const NewEntry& again : {named("b", message("b")), under("a", named("b", message("b"))),
                                under(entry_pointer(session_.at(1).digest), named("b", message("b")))}) {
    const AppendResult result = must(session_.append({again}));
    EXPECT_TRUE(result.entries[0].known);
    EXPECT_EQ(result.entries[0].seq, 2u);
    EXPECT_EQ(result.entries[0].id.str(), "b");
    EXPECT_EQ(result.entries[0].digest, session_.at(2).digest);
    EXPECT_EQ(testing::dump(*log_), before);
  }
}

TEST_F(AppendTest, SameIdWithOtherContentIsRefused) {
  session_.grow({"a", "b", "c"});
  const std::string before = testing::dump(*log_);
  for (const NewEntry& other : {named("b", message("other body")), named("b", entry("custom", R"({"content":"b","role":"user"})")),
                                under("c", named("b", message("b"))), root(named("b", message("b")))}) {
    const auto refused = session_.append({message("new"), other});
    ASSERT_EQ(code(refused), "ID_REUSED");
    EXPECT_EQ(refused.error().message(), "the id 'b' belongs to entry 2 with other content");
    EXPECT_EQ(detail(refused.error(), "id"), "b");
    EXPECT_EQ(detail(refused.error(), "seq"), "2");
    EXPECT_EQ(detail(refused.error(), "index"), "1");
    EXPECT_EQ(testing::dump(*log_), before);
  }
}

TEST_F(AppendTest, TimeOfARepeatedEntryIsNotCompared) {
  NewEntry first = named("a", message("a"));
  first.at = TimeMs{5};
  must(session_.append({first}));
  first.at = TimeMs{6};
  EXPECT_TRUE(must(session_.append({first})).entries[0].known);
  EXPECT_EQ(session_.at(1).at.ms, 5);
}

TEST_F(AppendTest, DerivedIdThatTheSameDigestHasIsThatEntry) {
  must(session_.append({message("hello"), hi_there()}));
  const AppendResult again = must(session_.append({root(message("hello"))}));
  EXPECT_TRUE(again.entries[0].known);
  EXPECT_EQ(again.entries[0].seq, 1u);
  // Under another parent it has another digest and is another entry.
  const AppendResult other = must(session_.append({message("hello")}));
  EXPECT_FALSE(other.entries[0].known);
  EXPECT_EQ(other.entries[0].seq, 3u);
  // So is the same digest under an id of the caller's own.
  const AppendResult twin = must(session_.append({root(named("twin", message("hello")))}));
  EXPECT_FALSE(twin.entries[0].known);
  EXPECT_EQ(twin.entries[0].digest.hex(), kHello);
}

TEST_F(AppendTest, DerivedIdIsLengthenedWhileAnotherDigestHasIt) {
  must(session_.append({named("e14a5c6e8", message("taken")), named("e14a5c6e80", message("taken too"))}));
  const AppendResult result = must(session_.append({root(message("hello"))}));
  EXPECT_FALSE(result.entries[0].known);
  EXPECT_EQ(result.entries[0].id.str(), "e14a5c6e80e");
  EXPECT_EQ(result.entries[0].digest.hex(), kHello);
  const AppendResult again = must(session_.append({root(message("hello"))}));
  EXPECT_TRUE(again.entries[0].known);
  EXPECT_EQ(again.entries[0].id.str(), "e14a5c6e80e");
  EXPECT_EQ(session_.last(), 3u);
}

TEST_F(AppendTest, CallersIdMayLookLikeADerivedOneOfTheSameContent) {
  must(session_.append({named("e14a5c6e8", message("hello"))}));
  EXPECT_TRUE(must(session_.append({root(message("hello"))})).entries[0].known);
}

TEST_F(AppendTest, SameConversationHasTheSameDigestsWhereverAndWheneverItIsRecorded) {
  testing::SessionCalls other(*log_, "other");
  testing::SteppingClock backwards(9999999, -1000);
  must(session_.append({message("hello"), hi_there(), greeted()}));
  for (NewEntry each : {named("x", message("hello")), named("y", hi_there()), named("z", greeted())}) {
    each.at = backwards.now();
    each.imported = true;
    must(other.append({each}));
  }
  for (Seq seq = 1; seq <= 3; ++seq) {
    EXPECT_EQ(other.at(seq).digest, session_.at(seq).digest);
    EXPECT_NE(other.at(seq).at, session_.at(seq).at);
    EXPECT_TRUE(other.at(seq).imported);
  }
  EXPECT_EQ(other.at(3).digest.hex(), kGreeted);
}

TEST_F(AppendTest, ClockThatGoesBackwardsChangesNoOrder) {
  testing::SteppingClock backwards(3000, -1000);
  for (const char* text : {"a", "b", "c"}) {
    session_.now = backwards.now();
    must(session_.append({named(text, message(text))}));
  }
  EXPECT_EQ(session_.at(1).at.ms, 3000);
  EXPECT_EQ(session_.at(3).at.ms, 1000);
  EXPECT_EQ(session_.at(3).parent, 2u);
  EXPECT_EQ(session_.head(), "c");
}

TEST_F(AppendTest, MaskedSpansAreCountedOnlyOfEntriesThatAreNew) {
  const auto masked = [](std::string_view id, MaskCounts counts) {
    NewEntry entry = named(id, message(id));
    entry.body.masked = std::move(counts);
    return entry;
  };
  const NewEntry first = masked("a", {{"jwt", 2}}), second = masked("b", {{"jwt", 1}, {"url_password", 1}});
  must(session_.append({first}));
  must(session_.append({first}));
  must(session_.append({first, second}));
  const SessionNo no = session_.row().no;
  EXPECT_EQ(must(testing::read_from(*log_, [&](LogReader& reader) { return reader.masked(no); })),
            (MaskCounts{{"jwt", 3}, {"url_password", 1}}));
}

}  // namespace
}  // namespace weir
