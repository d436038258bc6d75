#include "readcache/markers.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

View::Interval shown_by(const char* entry, std::uint64_t seq, std::uint64_t turn, LineRange lines = {1, 1}) {
  Showing showing;
  showing.entry = EntryId::trusted(entry);
  showing.shown_seq = seq;
  showing.turn = turn;
  return {lines, std::make_shared<const Showing>(showing)};
}

TEST(MarkersTest, PlainTexts) {
  EXPECT_EQ(unchanged_marker(4), "[readcache: unchanged, 4 lines]");
  EXPECT_EQ(unchanged_marker(1), "[readcache: unchanged, 1 lines]");
  EXPECT_EQ(unchanged_range_marker({3, 9}, 40, true), "[readcache: unchanged in lines 3-9 of 40]");
  EXPECT_EQ(unchanged_range_marker({3, 9}, 40, false), "[readcache: unchanged in lines 3-9; changes exist outside this range]");
  EXPECT_EQ(shifted_marker({101, 201}, 301, {100, 200}), "[readcache: unchanged in lines 101-201 of 301; shown before as lines 100-200]");
  EXPECT_EQ(rest_notice(2001, 5000), "[Lines 2001-5000 are not in this answer. Use offset=2001 to continue.]");
}

TEST(MarkersTest, APlaceStandsBeforeTheFirstClosingBracket) {
  EXPECT_EQ(with_place("[a]", {shown_by("e1", 1, 0)}, 0), "[a; shown at e1; bypass_cache=true sends it again]");
  EXPECT_EQ(with_place("[a]\n[b]", {shown_by("e1", 1, 0)}, 0), "[a; shown at e1; bypass_cache=true sends it again]\n[b]");
  EXPECT_EQ(with_place("[a]", {}, 5), "[a]");
}

TEST(MarkersTest, TurnsAreCountedFromTheNewestPlaceAndLeftOutAtNone) {
  EXPECT_EQ(with_place("[a]", {shown_by("e1", 1, 2)}, 3), "[a; shown at e1, 1 turn ago; bypass_cache=true sends it again]");
  EXPECT_EQ(with_place("[a]", {shown_by("e1", 1, 2)}, 5), "[a; shown at e1, 3 turns ago; bypass_cache=true sends it again]");
  EXPECT_EQ(with_place("[a]", {shown_by("e1", 1, 0), shown_by("e2", 2, 5)}, 5), "[a; shown at e2, e1; bypass_cache=true sends it again]");
}

TEST(MarkersTest, EveryEntryIsNamedOnceNewestFirstAndThreeAtMost) {
  const std::vector<View::Interval> three = {shown_by("e1", 1, 0), shown_by("e9", 9, 0), shown_by("e1", 1, 0), shown_by("e4", 4, 0)};
  EXPECT_EQ(with_place("[a]", three, 0), "[a; shown at e9, e4, e1; bypass_cache=true sends it again]");
  const std::vector<View::Interval> five = {shown_by("e1", 1, 0), shown_by("e2", 2, 0), shown_by("e3", 3, 0), shown_by("e4", 4, 0),
                                            shown_by("e5", 5, 1)};
  EXPECT_EQ(with_place("[a]", five, 3), "[a; shown at e5, e4, e3 and 2 more, 2 turns ago; bypass_cache=true sends it again]");
}

}  // namespace
}  // namespace weir
