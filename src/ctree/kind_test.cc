#include "ctree/kind.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::ctree {
namespace {

TEST(KindTest, OneTo64CodePointsAreAKind) {
  EXPECT_TRUE(check_kind("message").ok());
  EXPECT_TRUE(check_kind("é").ok());
  std::string wide;
  for (int i = 0; i < 64; ++i) wide += "é";
  EXPECT_TRUE(check_kind(wide).ok());
  EXPECT_EQ(check_kind(wide + "x").error().code(), ErrorCode::KIND_INVALID);
  EXPECT_EQ(check_kind("").error().code(), ErrorCode::KIND_INVALID);
}

TEST(KindTest, ControlCharactersAndTheCompilersOwnNamesAreNoKinds) {
  for (const std::string_view kind :
       {"a\nb", "a\x7f", "\xc2\x85", "checkpoint", "context_edit", "snapshot_attached", "collapsed", "root", "turn", "*"}) {
    EXPECT_EQ(check_kind(kind).error().code(), ErrorCode::KIND_INVALID) << kind;
  }
  EXPECT_TRUE(check_kind("branch_summary").ok());
}

}  // namespace
}  // namespace weir::ctree
