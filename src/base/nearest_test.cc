#include "base/nearest.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(NearestTest, AFewWrongLettersAreForgivenAndTheirCaseDoesNotCount) {
  const std::vector<std::string_view> names = {"message", "read", "RUN_STARTED"};
  EXPECT_EQ(nearest("mesage", names), "message");
  EXPECT_EQ(nearest("MESSAGE", names), "message");
  EXPECT_EQ(nearest("Mesage", names), "message");
  EXPECT_EQ(nearest("run_startet", names), "RUN_STARTED");
  EXPECT_EQ(nearest("entirely", names), "");
  EXPECT_EQ(nearest(std::string(1 << 20, 'm'), names), "");
}

TEST(NearestTest, AMessageEndsWithTheNameOrWithNothing) {
  EXPECT_EQ(did_you_mean("antropic", "anthropic|openai|plain"), "; did you mean anthropic?");
  EXPECT_EQ(did_you_mean("plian", "anthropic|openai|plain"), "; did you mean plain?");
  EXPECT_EQ(did_you_mean("head mvoe", {"head move", "head list"}, "'"), "; did you mean 'head move'?");
  EXPECT_EQ(did_you_mean("something", "anthropic|openai|plain"), "");
}

}  // namespace
}  // namespace weir
