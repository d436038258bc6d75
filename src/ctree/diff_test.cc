#include "ctree/diff.h"

#include <gtest/gtest.h>

#include <bit>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/ctree_path.h"

namespace weir::ctree {
namespace {

using weir::testing::CtreePath;

CtreePath numbered(std::size_t count, std::size_t changed, std::string_view role = "user", std::string_view extra = "") {
  CtreePath path;
  for (std::size_t i = 0; i < count; ++i) {
    const bool other = i == changed;
    path.message("{\"role\":\"" + std::string(other ? role : "user") + "\",\"content\":\"" + std::to_string(i) + (other ? "!" : "") + "\"" +
                 (other ? std::string(extra) : "") + "}");
  }
  return path;
}

TEST(DiffTest, TheChangedNodeIsFoundByHalving) {
  const std::size_t count = 1000;
  const CtreePath a = numbered(count, count);
  for (const std::size_t changed : {0u, 1u, 31u, 32u, 33u, 500u, 998u, 999u}) {
    const CtreePath b = numbered(count, changed);
    const Divergence where = diverge({a.fold, a.state}, {b.fold, b.state});
    EXPECT_FALSE(where.equal);
    EXPECT_EQ(where.common, changed);
    EXPECT_LE(where.comparisons, std::bit_width(count - 1) + 1);
    EXPECT_EQ(causes({a.fold, a.state}, {b.fold, b.state}, where), (std::vector<std::string_view>{"payload"}));
  }
  EXPECT_TRUE(diverge({a.fold, a.state}, {a.fold, a.state}).equal);
}

TEST(DiffTest, CausesAreToldApart) {
  const auto told = [](const CtreePath& a, const CtreePath& b) {
    const PathOf x{a.fold, a.state}, y{b.fold, b.state};
    return causes(x, y, diverge(x, y));
  };
  const CtreePath five = numbered(5, 5), six = numbered(6, 6);
  EXPECT_EQ(told(five, six), (std::vector<std::string_view>{"missing_in_a"}));
  EXPECT_EQ(told(six, five), (std::vector<std::string_view>{"missing_in_b"}));
  CtreePath kind, turn;
  kind.add("ctree_node", R"({"kind":"a","payload":1,"turn":1})");
  turn.add("ctree_node", R"({"kind":"b","payload":1,"turn":2})");
  EXPECT_EQ(told(kind, turn), (std::vector<std::string_view>{"kind", "turn"}));
}

TEST(DiffTest, FieldsShowHashAndLengthAndTextOnlyOnRequest) {
  json::Parser one, two;
  json::Arena arena;
  const json::Value a = one.parse(R"({"content":"abc","list":[1,2],"only":1})").value(),
                    b = two.parse(R"({"content":"abcd","list":[1,3]})").value();
  const std::string plain = json::canonical(field_differences(a, b, json::Hasher(), false, arena));
  EXPECT_EQ(plain.find("abcd"), std::string::npos);
  EXPECT_NE(plain.find(R"("path":"/content")"), std::string::npos);
  EXPECT_NE(plain.find(R"("path":"/list/1")"), std::string::npos);
  EXPECT_NE(plain.find(R"("b":{},"path":"/only")"), std::string::npos);
  EXPECT_NE(json::canonical(field_differences(a, b, json::Hasher(), true, arena)).find("abcd"), std::string::npos);
}

}  // namespace
}  // namespace weir::ctree
