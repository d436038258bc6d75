#include "compaction/narrative_page.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace weir::compaction {
namespace {

Page page() {
  Page page;
  page.add("# Fruit\n- New: 3");
  page.add_list(kInParentheses, {"fig", "pear", "plum"});
  page.add("\n");
  page.add_list(kLines, {"- fig\n", "- pear\n  - green\n"});
  page.add_list(kNestedLines, {});
  page.add("End.\n");
  return page;
}

TEST(NarrativePageTest, ListsKeepTheirLastItemsAndCountTheRest) {
  EXPECT_EQ(page().str(Page::kAll), "# Fruit\n- New: 3 (fig, pear, plum)\n- fig\n- pear\n  - green\nEnd.\n");
  EXPECT_EQ(page().str(2), "# Fruit\n- New: 3 (pear, plum, and 1 more, ids in JSON)\n- fig\n- pear\n  - green\nEnd.\n");
  EXPECT_EQ(page().str(1), "# Fruit\n- New: 3 (plum, and 2 more, ids in JSON)\n- pear\n  - green\n- and 1 more, ids in JSON\nEnd.\n");
  EXPECT_EQ(page().str(0), "# Fruit\n- New: 3 (and 3 more, ids in JSON)\n- and 2 more, ids in JSON\nEnd.\n");
}

TEST(NarrativePageTest, APageWithFewerItemsMayBeTheLongerOne) {
  Page page;
  page.add_list(kLines, {"- a\n", "- b\n"});
  EXPECT_EQ(page.bytes(2), 8u);
  EXPECT_EQ(page.most_items_within(8), 2u);
  EXPECT_EQ(page.most_items_within(1000), 2u);
  EXPECT_EQ(page.most_items_within(7), std::nullopt);
  EXPECT_EQ(page.least_bytes(), 8u);
}

TEST(NarrativePageTest, WithoutListsThereIsOneLength) {
  Page page;
  page.add("x");
  EXPECT_EQ(page.most_items_within(1), 0u);
  EXPECT_EQ(page.most_items_within(0), std::nullopt);
  EXPECT_EQ(page.least_bytes(), 1u);
}

RC_GTEST_PROP(NarrativePageTest, LengthsAreThoseOfTheTextAndTheMostItemsAreTheMost, ()) {
  const auto lengths = *rc::gen::container<std::vector<std::vector<unsigned char>>>(rc::gen::arbitrary<std::vector<unsigned char>>());
  Page page;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::vector<std::string> items;
    for (const unsigned char length : lengths[i]) items.push_back(std::string(length % 60, 'x'));
    longest = std::max(longest, items.size());
    page.add("t");
    page.add_list(i % 3 == 0 ? kLines : i % 3 == 1 ? kNestedLines : kInParentheses, std::move(items));
  }
  std::size_t least = page.bytes(0);
  for (std::size_t items = 0; items <= longest + 1; ++items) {
    RC_ASSERT(page.bytes(items) == page.str(items).size());
    least = std::min(least, page.bytes(items));
  }
  RC_ASSERT(page.least_bytes() == least);
  const std::size_t bound = least + *rc::gen::inRange<std::size_t>(0, 200);
  const auto most = page.most_items_within(bound);
  RC_ASSERT(most.has_value() && page.bytes(*most) <= bound);
  for (std::size_t items = *most + 1; items <= longest; ++items) RC_ASSERT(page.bytes(items) > bound);
}

}  // namespace
}  // namespace weir::compaction
