#include "base/paths.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(PathsTest, DoubledSlashesAndSingleDotsCollapseAndTheRestStays) {
  const std::pair<const char*, const char*> cases[] = {
      {"/a//b", "/a/b"},
      {"/a/./b", "/a/b"},
      {"/.//././a", "/a"},
      {"//", "/"},
      {"/", "/"},
      {"", ""},
      {"/a/", "/a/"},
      {"/a/.", "/a/."},
      {"/a/..", "/a/.."},
      {"/a/.b/..c", "/a/.b/..c"},
      {"/a/../b", "/a/../b"},
      {"a//b", "a/b"},
  };
  for (const auto& [path, collapsed] : cases) EXPECT_EQ(collapse_path(path), collapsed) << path;
}

TEST(PathsTest, BelowIsDecidedByWholeComponents) {
  EXPECT_EQ(path_below("/a/b/c", "/a"), "b/c");
  EXPECT_EQ(path_below("/a/b", "/a/"), "b");
  EXPECT_EQ(path_below("/a", "/a"), "");
  EXPECT_EQ(path_below("/a/", "/a"), "");
  EXPECT_EQ(path_below("/a", "/"), "a");
  EXPECT_EQ(path_below("/", "/"), "");
  EXPECT_EQ(path_below("/ab", "/a"), std::nullopt);
  EXPECT_EQ(path_below("/rEvil/s", "/r"), std::nullopt);
  EXPECT_EQ(path_below("/b", "/a"), std::nullopt);
}

}  // namespace
}  // namespace weir
