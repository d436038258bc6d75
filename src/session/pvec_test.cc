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

void encode(std::string& out, int item) { put_plain(out, item); }
bool decode(std::string_view& in, int& item) { return take_plain(in, item); }

// A list that was saved and loaded goes on like the one it was saved from, and saving it again puts nothing that is there.
RC_GTEST_PROP(PVecTest, ALoadedListIsTheSavedOneAndGoesOn, (const std::vector<int>& before, const std::vector<int>& after)) {
  List list;
  for (const int value : before) list.push_back(value);
  MapPartSink sink;
  std::string saved;
  list.save(saved, &sink, encode);
  RC_ASSERT(sink.parts.size() <= before.size() / 4);
  List loaded;
  std::string_view in = saved;
  RC_ASSERT(loaded.load(in, std::make_shared<PartMap>(sink.parts), decode));
  RC_ASSERT(in.empty());
  const List copy = loaded;
  std::vector<int> model = before;
  for (const int value : after) {
    loaded.push_back(value);
    list.push_back(value);
    model.push_back(value);
  }
  RC_ASSERT(all(copy) == before);
  RC_ASSERT(all(loaded) == model);
  List::Cursor cursor(loaded);
  for (std::size_t i = 0; i < model.size(); ++i) RC_ASSERT(loaded[i] == model[i] && cursor[i] == model[i]);
  MapPartSink again = sink, fresh;
  std::string one, other, whole;
  loaded.save(one, &again, encode);
  list.save(other, &fresh, encode);
  RC_ASSERT(one == other);
  loaded.save(whole, nullptr, encode);
  in = whole;
  List inline_one;
  RC_ASSERT(inline_one.load(in, nullptr, decode) && all(inline_one) == model);
}

TEST(PVecTest, AListOfAnotherShapeOrWithoutItsPartsIsNotLoaded) {
  List list;
  for (int i = 0; i < 11; ++i) list.push_back(i);
  MapPartSink sink;
  std::string saved;
  list.save(saved, &sink, encode);
  ASSERT_EQ(sink.parts.size(), 2u);
  const auto loads = [&](std::string_view in, const std::shared_ptr<Parts>& parts) {
    List out;
    return out.load(in, parts, decode);
  };
  EXPECT_TRUE(loads(saved, std::make_shared<PartMap>(sink.parts)));
  for (std::size_t cut = 0; cut < saved.size(); ++cut)
    EXPECT_FALSE(loads(std::string_view(saved).substr(0, cut), std::make_shared<PartMap>(sink.parts))) << cut;
  EXPECT_FALSE(loads(saved, nullptr));
  sink.parts.erase(sink.parts.begin());
  EXPECT_FALSE(loads(saved, std::make_shared<PartMap>(sink.parts)));
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
