#include "readcache/open_request.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::must;

class OpenRequestTest : public ::testing::Test {
 protected:
  OpenRequestTest() {
    std::filesystem::create_directory(dir_ / "r");
    for (const char* name : {"r/a", "r/report:2024.txt", "r/e\u0301t\u00e9", "r/Shot 9.41\u202fAM.png", "secret"})
      testing::write_file(dir_ / name, name);
  }
  Result<OpenedRequest> open(const std::string& given, const LineRequest& lines = {}) {
    return open_request(must(ReadDoor::make({dir_ / "r"})), given, lines, {dir_ / "r", dir_ / "r"});
  }

  const testing::TempDir dir_;
};

TEST_F(OpenRequestTest, WordsLeadToTheFileTheyMean) {
  const std::pair<const char*, const char*> cases[] = {
      {"a", "r/a"},
      {"@a", "r/a"},
      {"~/a", "r/a"},
      {"a:3-6", "r/a"},
      {"report:2024.txt", "r/report:2024.txt"},
      {"report:2024.txt:1", "r/report:2024.txt"},
      {"Shot 9.41 AM.png", "r/Shot 9.41\u202fAM.png"},
  };
  for (const auto& [given, name] : cases) {
    const auto opened = open(given);
    ASSERT_TRUE(opened.ok()) << given << ": " << opened.error().message();
    EXPECT_EQ(opened->file.path, dir_ / name) << given;
  }
  EXPECT_EQ(must(open("a:3-6")).request.lines.limit, 4u);
}

TEST_F(OpenRequestTest, TheErrorSpeaksOfThePathAsItWasMeant) {
  EXPECT_EQ(open("it's missing").error().message(), "ENOENT: no such file or directory, access '" + (dir_ / "r/it's missing") + "'");
  EXPECT_EQ(open("missing:3").error().message(), "ENOENT: no such file or directory, access '" + (dir_ / "r/missing:3") + "'");
  EXPECT_EQ(open("a:3", {1, {}}).error().message(), "ENOENT: no such file or directory, access '" + (dir_ / "r/a:3") + "'");
}

TEST_F(OpenRequestTest, EveryOtherErrorEndsTheSearch) {
  EXPECT_EQ(code(open("a:abc")), "BAD_RANGE_SUFFIX");
  EXPECT_EQ(code(open("")), "IS_DIRECTORY");
  EXPECT_EQ(code(open("../secret")), "OUTSIDE_ROOTS");
  EXPECT_EQ(code(open("../secret:1")), "OUTSIDE_ROOTS");
  EXPECT_EQ(code(open("../missing")), "OUTSIDE_ROOTS");
}

}  // namespace
}  // namespace weir
