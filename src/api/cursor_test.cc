#include "api/cursor.h"

#include <gtest/gtest.h>

#include "testing/doors.h"
#include "testing/results.h"

namespace weir::api {
namespace {

using testing::code;
using testing::must;

TEST(CursorTest, ItComesBackAndNothingElseDoes) {
  testing::SeededRandom random(7);
  const Digest key = new_cursor_key(random), other = new_cursor_key(random);
  for (const std::string payload : {"", "1", "a b c", "\xff\xfe any bytes \n"}) {
    const std::string cursor = make_cursor("list", payload, key);
    EXPECT_EQ(cursor.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), std::string::npos);
    EXPECT_EQ(must(read_cursor("list", cursor, key)), payload);
    EXPECT_EQ(code(read_cursor("list", cursor, other)), "INVALID_FIELD");
    EXPECT_EQ(code(read_cursor("lists", cursor, key)), "INVALID_FIELD");
    EXPECT_EQ(code(read_cursor("", cursor, key)), "INVALID_FIELD");
  }
}

TEST(CursorTest, EveryCharacterCounts) {
  testing::SeededRandom random(7);
  const Digest key = new_cursor_key(random);
  const std::string cursor = make_cursor("list", "12 34", key);
  for (std::size_t i = 0; i < cursor.size(); ++i) {
    for (const char c : {'A', 'z', '-', '=', '/', '\0'}) {
      std::string changed = cursor;
      if (changed[i] == c) continue;
      changed[i] = c;
      EXPECT_EQ(code(read_cursor("list", changed, key)), "INVALID_FIELD") << i;
    }
    EXPECT_EQ(code(read_cursor("list", cursor.substr(0, i), key)), "INVALID_FIELD");
    EXPECT_EQ(code(read_cursor("list", cursor.substr(i + 1), key)), "INVALID_FIELD");
  }
  EXPECT_EQ(code(read_cursor("list", cursor + "A", key)), "INVALID_FIELD");
  const auto refused = read_cursor("list", "none", key);
  ASSERT_EQ(refused.error().fields().size(), 1u);
  EXPECT_EQ(refused.error().fields()[0].path, "/cursor");
}

}  // namespace
}  // namespace weir::api
