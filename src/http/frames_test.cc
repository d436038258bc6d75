#include "http/frames.h"

#include <gtest/gtest.h>

#include "testing/results.h"

namespace weir::http {
namespace {

using testing::code;

TEST(FramesTest, AnEventIsLinesAndAnEmptyOne) {
  EXPECT_EQ(sse_frame("entry", 7, "{}"), "id: 7\nevent: entry\ndata: {}\n\n");
  EXPECT_EQ(sse_frame("head", std::nullopt, "{}"), "event: head\ndata: {}\n\n");
  EXPECT_EQ(sse_frame("x", std::nullopt, "a\nb"), "event: x\ndata: a\ndata: b\n\n");
}

TEST(FramesTest, TheLastEventOfAnEntryHasItsId) {
  const std::vector<Happened> all = {{1, "E1", "N1", "H1", ""}, {2, "E2", "", "", "S2"}};
  EXPECT_EQ(frames_of(all, 1, {}), sse_frame("entry", 1, "E1") + sse_frame("entry", 2, "E2"));
  EXPECT_EQ(frames_of(all, 2, {}), sse_frame("entry", 2, "E2"));
  EXPECT_EQ(frames_of(all, 0, {true, true, true, true, false}), sse_frame("ctree_node", std::nullopt, "N1") + sse_frame("entry", 1, "E1") +
                                                                    sse_frame("ctree_snapshot", std::nullopt, "S2") +
                                                                    sse_frame("entry", 2, "E2"));
  EXPECT_EQ(frames_of(all, 0, {false, false, true, false, true}), sse_frame("ctree_node", 1, "H1"));
}

TEST(FramesTest, TypesAreNamesOfEvents) {
  EXPECT_EQ(*parse_wanted(std::nullopt, std::nullopt), Wanted{});
  EXPECT_EQ(*parse_wanted("", std::nullopt), Wanted{});
  EXPECT_EQ(*parse_wanted("ctree_node,bye", "hash"), (Wanted{false, false, true, false, true}));
  EXPECT_EQ(*parse_wanted("entry,head,ctree_snapshot", "sanitised"), (Wanted{true, true, false, true, false}));
  for (const char* types : {"entries", "entry,,head", "entry, head", ",", "ENTRY"})
    EXPECT_EQ(code(parse_wanted(types, std::nullopt)), "INVALID_FIELD") << types;
  EXPECT_EQ(code(parse_wanted(std::nullopt, "raw")), "DENIED");
  EXPECT_EQ(code(parse_wanted(std::nullopt, "all")), "INVALID_FIELD");
}

TEST(FramesTest, AnIdIsANumber) {
  EXPECT_EQ(*parse_last_event_id(""), 0u);
  EXPECT_EQ(*parse_last_event_id("12"), 12u);
  for (const char* id : {"x", "-1", "1 ", " 1", "1.0", "99999999999999999999999", "+1"})
    EXPECT_EQ(code(parse_last_event_id(id)), "INVALID_FIELD") << id;
}

}  // namespace
}  // namespace weir::http
