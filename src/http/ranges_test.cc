#include "http/ranges.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::http {
namespace {

std::string shown(std::string_view header, std::size_t size) {
  const auto range = byte_range(header, size);
  if (!range) return "whole";
  return range->satisfiable ? std::to_string(range->first) + "-" + std::to_string(range->last) : "none";
}

TEST(RangesTest, OneRangeOfBytes) {
  EXPECT_EQ(shown("bytes=0-9", 100), "0-9");
  EXPECT_EQ(shown("bytes=90-", 100), "90-99");
  EXPECT_EQ(shown("bytes=-10", 100), "90-99");
  EXPECT_EQ(shown("bytes=-1000", 100), "0-99");
  EXPECT_EQ(shown("bytes=50-1000", 100), "50-99");
  EXPECT_EQ(shown("bytes=0-0", 1), "0-0");
}

TEST(RangesTest, BeyondTheEndThereIsNone) {
  EXPECT_EQ(shown("bytes=100-", 100), "none");
  EXPECT_EQ(shown("bytes=100-200", 100), "none");
  EXPECT_EQ(shown("bytes=-0", 100), "none");
  EXPECT_EQ(shown("bytes=0-", 0), "none");
}

TEST(RangesTest, WhatIsNoSingleRangeGivesTheWhole) {
  for (const char* header : {"", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=0-1,5-6", "lines=1-2", "bytes=1",
                             "bytes=0x1-2", "bytes=99999999999999999999-", "bytes=+1-2"})
    EXPECT_EQ(shown(header, 100), "whole") << header;
}

TEST(RangesTest, TagsAreComparedWeakly) {
  EXPECT_TRUE(names_tag("\"abc\"", "abc"));
  EXPECT_TRUE(names_tag("\"x\", W/\"abc\"", "abc"));
  EXPECT_TRUE(names_tag("*", "abc"));
  for (const char* header : {"", "abc", "\"abcd\"", "\"ab\"", "\"", "W/abc"}) EXPECT_FALSE(names_tag(header, "abc")) << header;
}

}  // namespace
}  // namespace weir::http
