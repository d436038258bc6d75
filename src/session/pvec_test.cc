#include "session/pvec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <thread>
#include <vector>

namespace weir {
namespace {

using List = PVec<int, 4>;

std::vector<int> all(const List& list) {
  std::vector<int> out;
  list.each(0, list.size(), [&](std::size_t, int value) { out.push_back(value); });
  return out;
}

// Any number of copies, each going its own way, against plain vectors.
RC_GTEST_PROP(PVecTest, CopiesThatGoTheirOwnWayStayWhatTheyAre, ()) {
  std::vector<List> lists(1);
  std::vector<std::vector<int>> models(1);
  const auto steps =
      *rc::gen::container<std::vector<std::pair<unsigned, int>>>(rc::gen::pair(rc::gen::inRange(0u, 100u), rc::gen::arbitrary<int>()));
  for (const auto& [choice, value] : steps) {
    const std::size_t which = choice % lists.size();
    if (choice < 20 && lists.size() < 8) {
      lists.push_back(lists[which]);
      models.push_back(models[which]);
    } else {
      lists[which].push_back(value);
      models[which].push_back(value);
    }
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    RC_ASSERT(all(lists[i]) == models[i]);
    List::Cursor cursor(lists[i]);
    for (std::size_t j = 0; j < models[i].size(); ++j) RC_ASSERT(lists[i][j] == models[i][j] && cursor[j] == models[i][j]);
  }
}

TEST(PVecTest, TwoThreadsThatAddToTheSameListGetOneEach) {
  List stem;
  for (int i = 0; i < 6; ++i) stem.push_back(i);
  for (int round = 0; round < 200; ++round) {
    List a = stem, b = stem;
    std::thread one([&] {
      for (int i = 0; i < 5; ++i) a.push_back(100 + i);
    });
    for (int i = 0; i < 5; ++i) b.push_back(200 + i);
    one.join();
    ASSERT_EQ(all(a), (std::vector<int>{0, 1, 2, 3, 4, 5, 100, 101, 102, 103, 104}));
    ASSERT_EQ(all(b), (std::vector<int>{0, 1, 2, 3, 4, 5, 200, 201, 202, 203, 204}));
  }
}

}  // namespace
}  // namespace weir
