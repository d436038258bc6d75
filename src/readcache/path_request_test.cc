#include "readcache/path_request.h"

#include <gtest/gtest.h>

#include <set>

#include "testing/results.h"

namespace weir {
namespace {

using testing::code;
using testing::must;

const PathContext kContext{"/desk", "/home/u"};

Result<PathRequest> resolve(const std::string& given, const std::set<std::string>& files, const LineRequest& lines = {}) {
  return resolve_request(given, lines, kContext, [&](const std::string& path) { return files.contains(path); });
}

TEST(PathRequestTest, PathsAreMadeAbsolute) {
  const std::pair<const char*, const char*> cases[] = {
      {"a.txt", "/desk/a.txt"},
      {"/x/a.txt", "/x/a.txt"},
      {"@a.txt", "/desk/a.txt"},
      {"@@a.txt", "/desk/@a.txt"},
      {"~", "/home/u"},
      {"~/a", "/home/u/a"},
      {"@~/a", "/home/u/a"},
      {"~x/a", "/desk/~x/a"},
      {"a//b/./c", "/desk/a/b/c"},
      {"./a", "/desk/a"},
      {"../a", "/desk/../a"},
      {"a/../b", "/desk/a/../b"},
      {"a\u00a0b\u2000c\u200ad\u202fe\u205ff\u3000g", "/desk/a b c d e f g"},
      {"a\u200bb", "/desk/a\u200bb"},
      {"", "/desk"},
      {"\xff", "/desk/\xff"},
  };
  for (const auto& [given, absolute] : cases) EXPECT_EQ(absolute_path(given, kContext), absolute) << given;
  EXPECT_EQ(absolute_path("~/a", {"/desk", ""}), "/desk/~/a");
}

TEST(PathRequestTest, VariantsAreTriedInTheirOrder) {
  EXPECT_EQ(path_variants("/d/plain.txt"), std::vector<std::string>{});
  EXPECT_EQ(path_variants("/d/9.41.00 AM.png"), std::vector<std::string>{"/d/9.41.00\u202fAM.png"});
  EXPECT_EQ(path_variants("/d/9 pm.png"), std::vector<std::string>{"/d/9\u202fpm.png"});
  EXPECT_EQ(path_variants("/d/Capture d'\u00e9cran"),
            (std::vector<std::string>{"/d/Capture d'e\u0301cran", "/d/Capture d\u2019\u00e9cran", "/d/Capture d\u2019e\u0301cran"}));
  EXPECT_EQ(path_variants("/d/9 AMP"), std::vector<std::string>{});
}

TEST(PathRequestTest, TheFirstVariantThatExistsIsTaken) {
  const std::string given = "Capture d'\u00e9cran";
  const auto found = [&](const std::string& stored) { return must(resolve(given, {"/desk/" + stored})).absolute; };
  for (const std::string stored :
       {"Capture d'\u00e9cran", "Capture d'e\u0301cran", "Capture d\u2019\u00e9cran", "Capture d\u2019e\u0301cran"})
    EXPECT_EQ(found(stored), "/desk/" + stored);
  EXPECT_EQ(found("something else"), "/desk/" + given);
  EXPECT_EQ(must(resolve("Shot 9.41 AM.png", {"/desk/Shot 9.41\u202fAM.png"})).absolute, "/desk/Shot 9.41\u202fAM.png");
}

TEST(PathRequestTest, ASuffixNamesLinesWhereOnlyThePartBeforeItExists) {
  const std::set<std::string> files = {"/desk/a", "/desk/report:2024.txt", "/desk/b c"};
  const PathRequest range = must(resolve("a:3-6", files));
  EXPECT_EQ(range.given, "a");
  EXPECT_EQ(range.absolute, "/desk/a");
  EXPECT_EQ(range.lines.offset, 3u);
  EXPECT_EQ(range.lines.limit, 4u);
  const PathRequest open_ended = must(resolve("@a:3", files));
  EXPECT_EQ(open_ended.given, "@a");
  EXPECT_EQ(open_ended.lines.offset, 3u);
  EXPECT_EQ(open_ended.lines.limit, std::nullopt);
  EXPECT_EQ(must(resolve("b\u00a0c:7-7", files)).lines.limit, 1u);
  const PathRequest whole = must(resolve("report:2024.txt", files));
  EXPECT_EQ(whole.absolute, "/desk/report:2024.txt");
  EXPECT_EQ(whole.lines.offset, std::nullopt);
  EXPECT_EQ(must(resolve("report:2024.txt:2", files)).absolute, "/desk/report:2024.txt");
}

TEST(PathRequestTest, WithoutThatAColonIsPartOfTheName) {
  const std::set<std::string> files = {"/desk/a"};
  for (const std::string given : {"missing:3", "a:", ":3", "a:3:4"}) {
    const PathRequest request = must(resolve(given, files));
    EXPECT_EQ(request.absolute, "/desk/" + given);
    EXPECT_EQ(request.given, given);
    EXPECT_EQ(request.lines.offset, std::nullopt);
  }
  const PathRequest explicit_offset = must(resolve("a:3", files, {2, {}}));
  EXPECT_EQ(explicit_offset.absolute, "/desk/a:3");
  EXPECT_EQ(explicit_offset.lines.offset, 2u);
  EXPECT_EQ(must(resolve("a:3", files, {{}, 5})).absolute, "/desk/a:3");
}

TEST(PathRequestTest, ABadSuffixIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"3-", "Invalid range suffix \"3-\". Use :<start> or :<start>-<end>."},
      {"abc", "Invalid range suffix \"abc\". Use :<start> or :<start>-<end>."},
      {"-3", "Invalid range suffix \"-3\". Use :<start> or :<start>-<end>."},
      {"1-2-3", "Invalid range suffix \"1-2-3\". Use :<start> or :<start>-<end>."},
      {"3 ", "Invalid range suffix \"3 \". Use :<start> or :<start>-<end>."},
      {"0", "Invalid start line number \"0\". Line numbers must be positive integers."},
      {"0-3", "Invalid start line number \"0\". Line numbers must be positive integers."},
      {"3-0", "Invalid end line number \"0\". Line numbers must be positive integers."},
      {"8-2", "Invalid range \"8-2\": end line must be greater than or equal to start line."},
  };
  for (const auto& [suffix, message] : cases) {
    const auto refused = resolve(std::string("a:") + suffix, {"/desk/a"});
    ASSERT_EQ(code(refused), "BAD_RANGE_SUFFIX") << suffix;
    EXPECT_EQ(refused.error().message(), message);
  }
}

TEST(PathRequestTest, OffsetAndLimitAreIntegersFromOne) {
  EXPECT_EQ(must(parse_offset("1")), 1u);
  EXPECT_EQ(must(parse_limit("9007199254740991")), 9007199254740991u);
  EXPECT_EQ(must(parse_limit("99999999999999999999")), UINT64_MAX);
  EXPECT_EQ(must(parse_limit("1e+21")), UINT64_MAX);
  for (const std::string bad : {"0", "-1", "1.5", "1e-7", "-1e+21", "", "abc", "3x", " 3", "+3", "NaN"}) {
    const auto offset = parse_offset(bad), limit = parse_limit(bad);
    ASSERT_EQ(code(offset), "BAD_RANGE") << bad;
    EXPECT_EQ(offset.error().message(), "Invalid offset \"" + bad + "\". Offset must be a positive integer.");
    EXPECT_EQ(limit.error().message(), "Invalid limit \"" + bad + "\". Limit must be a positive integer.");
  }
}

}  // namespace
}  // namespace weir
