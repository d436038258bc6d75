#include "json/value.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"
#include "json/canonical.h"

namespace weir::json {
namespace {

TEST(CompareKeysTest, OrderIsThatOfUtf16UnitsNotOfBytes) {
  // Ascending. Astral characters begin with the units D800 to DBFF, so U+E000 to U+FFFF stand behind them.
  const std::string ascending[] = {"",
                                   "\x01",
                                   "\r",
                                   "1",
                                   "10",
                                   "2",
                                   "A",
                                   "a",
                                   "a\xc3\xa4",
                                   "b",
                                   "\x7f",
                                   "\xc2\x80",
                                   "\xc3\xb6",
                                   "\xe2\x82\xac",
                                   "\xed\x9f\xbf",
                                   "\xf0\x90\x80\x80",
                                   "\xf0\x9f\x98\x80",
                                   "\xf0\x9f\x98\x80"
                                   "a",
                                   "\xf4\x8f\xbf\xbf",
                                   "\xee\x80\x80",
                                   "\xef\xac\xb3",
                                   "\xef\xbf\xbd",
                                   "\xef\xbf\xbf"};
  for (std::size_t i = 0; i < std::size(ascending); ++i) {
    for (std::size_t j = 0; j < std::size(ascending); ++j) {
      const int order = compare_keys(ascending[i], ascending[j]);
      EXPECT_EQ((order > 0) - (order < 0), (i > j) - (i < j)) << i << " " << j;
    }
  }
}

std::u16string utf16(const std::vector<char32_t>& characters) {
  std::u16string out;
  for (const char32_t c : characters) {
    if (c >= 0x10000)
      out += {static_cast<char16_t>(0xD800 + ((c - 0x10000) >> 10)), static_cast<char16_t>(0xDC00 + ((c - 0x10000) & 0x3FF))};
    if (c < 0x10000) out += static_cast<char16_t>(c);
  }
  return out;
}

RC_GTEST_PROP(CompareKeysTest, AnyTwoKeysStandAsTheirUtf16UnitsDo, ()) {
  // Around the borders where the two orders part, and short, so that keys share beginnings.
  const auto character = rc::gen::elementOf(
      std::vector<char32_t>{'a', 'b', 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF});
  const auto key = rc::gen::resize(4, rc::gen::container<std::vector<char32_t>>(character));
  const auto a = *key, b = *key;
  std::string x, y;
  for (const char32_t c : a) append_utf8(x, c);
  for (const char32_t c : b) append_utf8(y, c);
  const int order = compare_keys(x, y), expected = utf16(a).compare(utf16(b));
  RC_ASSERT((order > 0) - (order < 0) == (expected > 0) - (expected < 0));
}

TEST(ValueTest, NumbersAreEqualByValueAndStringsByText) {
  EXPECT_EQ(Value(1), Value(1.0));
  EXPECT_EQ(Value(0), Value(-0.0));
  EXPECT_NE(Value(1), Value(1.5));
  EXPECT_NE(Value(1), Value(true));
  EXPECT_NE(Value(0), Value());
  EXPECT_NE(Value("1"), Value(1));
  EXPECT_EQ(Value("a"), Value(std::string("a")));
  EXPECT_NE(Value("a"), Value("b"));
  EXPECT_NE(Value(true), Value(false));
  EXPECT_EQ(Value::big_integer("9007199254740993"), Value::big_integer("9007199254740993"));
  EXPECT_NE(Value::big_integer("9007199254740993"), Value::big_integer("9007199254740992"));
}

TEST(ValueTest, ContainersAreEqualMemberByMember) {
  Arena arena;
  const Value items[] = {1, "a", nullptr}, others[] = {1, "a", false};
  EXPECT_EQ(make_array(arena, items), make_array(arena, items));
  EXPECT_NE(make_array(arena, items), make_array(arena, others));
  EXPECT_NE(make_array(arena, items), make_array(arena, std::span(items, 2)));
  EXPECT_EQ(make_object(arena, {{"a", 1}, {"b", 2}}), make_object(arena, {{"b", 2.0}, {"a", 1}}));
  EXPECT_NE(make_object(arena, {{"a", 1}}), make_object(arena, {{"a", 2}}));
  EXPECT_NE(make_object(arena, {{"a", 1}}), make_object(arena, {{"b", 1}}));
  EXPECT_NE(make_object(arena, {}), make_array(arena, {}));
}

TEST(ValueTest, FindsMembersAndOnlyThose) {
  Arena arena;
  const Value object = make_object(arena, {{"text", "t"}, {"number", 7}});
  ASSERT_NE(object.find("number"), nullptr);
  EXPECT_EQ(object.find("number")->integer(), 7);
  EXPECT_EQ(object.find("Number"), nullptr);
  EXPECT_EQ(Value("text").find("text"), nullptr);
  EXPECT_EQ(object.text_or("text", "other"), "t");
  EXPECT_EQ(object.text_or("number", "other"), "other");
  EXPECT_EQ(object.text_or("missing", "other"), "other");
  EXPECT_TRUE(Value(1).items().empty());
  EXPECT_TRUE(Value("x").members().empty());
}

TEST(ObjectBuilderTest, SortsItsMembersAndOfTwoWithOneKeyKeepsTheFirst) {
  Arena arena;
  const Value there("y");
  const Value object = ObjectBuilder(arena)
                           .add("b", 1)
                           .add("\xee\x80\x80", 2)
                           .add("\xf0\x90\x80\x80", 3)
                           .add("b", 4)
                           .add("a", 5)
                           .add_if("y", &there)
                           .add_if("z", nullptr)
                           .build();
  EXPECT_EQ(canonical(object), "{\"a\":5,\"b\":1,\"y\":\"y\",\"\xf0\x90\x80\x80\":3,\"\xee\x80\x80\":2}");
  EXPECT_EQ(canonical(ObjectBuilder(arena).build()), "{}");
}

TEST(ArenaTest, WhatItHoldsStaysWhileItGrowsAndAfterItMoved) {
  Arena arena;
  std::vector<std::string_view> kept;
  for (int i = 0; i < 20000; ++i) kept.push_back(arena.copy("text " + std::to_string(i)));
  const Arena moved = std::move(arena);
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(kept[static_cast<std::size_t>(i)], "text " + std::to_string(i));
}

TEST(ArenaTest, OneThatWasMovedFromDoesNotWriteIntoTheOther) {
  Arena from;
  (void)from.copy("before");
  Arena to = std::move(from);
  const std::string_view theirs = to.copy("theirs"), ours = from.copy("ours!!");
  EXPECT_EQ(theirs, "theirs");
  EXPECT_EQ(ours, "ours!!");
}

TEST(ArenaTest, StartsAgainAfterAReset) {
  Arena arena;
  const char* const first = arena.copy("first").data();
  (void)arena.copy(std::string(100000, 'x'));
  arena.reset();
  EXPECT_EQ(arena.copy("again").data(), first);
}

TEST(ArenaTest, SmallPiecesStayTogetherHoweverLargeItIs) {
  Arena arena;
  for (int i = 0; i < 60; ++i) (void)arena.allocate(std::size_t{5} << 20);  // each more than a chunk
  int apart = 0;
  const char* last = static_cast<const char*>(arena.allocate(8));
  for (int i = 0; i < 100; ++i) {
    const char* next = static_cast<const char*>(arena.allocate(8));
    apart += next != last + 8;
    last = next;
  }
  EXPECT_EQ(apart, 0);
}

}  // namespace
}  // namespace weir::json
