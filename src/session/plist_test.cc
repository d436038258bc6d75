#include "session/plist.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

std::string shown(const PList<std::string>& list) {
  std::string out;
  list.each([&](const std::string& value) { out += value + " "; });
  return out;
}

TEST(PListTest, GrowsAtItsEndAndIsReadFromItsFront) {
  PList<std::string> list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(shown(list), "");
  for (const char* value : {"a", "b", "c"}) list.push_back(value);
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(shown(list), "a b c ");
}

TEST(PListTest, ACopyStaysWhatItWasAndBothGrowOnTheirOwn) {
  PList<std::string> list;
  list.push_back("a");
  PList<std::string> copy = list;
  list.push_back("b");
  copy.push_back("c");
  copy.push_back("d");
  EXPECT_EQ(shown(list), "a b ");
  EXPECT_EQ(shown(copy), "a c d ");
  list = {};
  EXPECT_EQ(shown(copy), "a c d ");
}

TEST(PListTest, AMillionElementsEndWithoutDeepRecursion) {
  PList<int> kept;
  {
    PList<int> list;
    for (int i = 0; i < 1000000; ++i) {
      list.push_back(i);
      if (i == 500000) kept = list;
    }
  }
  std::size_t count = 0;
  kept.each([&](int value) { count += static_cast<std::size_t>(value == static_cast<int>(count)); });
  EXPECT_EQ(count, 500001u);
}

}  // namespace
}  // namespace weir
