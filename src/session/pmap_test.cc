#include "session/pmap.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

namespace weir {
namespace {

template <typename Key, typename Value>
std::map<Key, Value> content(const PMap<Key, Value>& map) {
  std::map<Key, Value> out;
  std::vector<Key> order;
  map.each([&](const Key& key, const Value& value) {
    out[key] = value;
    order.push_back(key);
  });
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order.size(), out.size());
  return out;
}

TEST(PMapTest, EmptyMapHoldsNothing) {
  PMap<int, int> map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.size(), 0u);
  EXPECT_EQ(map.bytes(), 0u);
  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_FALSE(map.erase(1));
}

TEST(PMapTest, SetFindsReplacesAndErases) {
  PMap<std::string, int> map;
  map.set(std::string("b"), 2);
  map.set(std::string("a"), 1);
  map[std::string("b")] += 10;
  EXPECT_EQ(*map.find(std::string_view("b")), 12);
  EXPECT_EQ(map[std::string("new")], 0);
  EXPECT_EQ(content(map), (std::map<std::string, int>{{"a", 1}, {"b", 12}, {"new", 0}}));
  EXPECT_TRUE(map.erase(std::string_view("a")));
  EXPECT_FALSE(map.erase(std::string_view("a")));
  EXPECT_EQ(map.size(), 2u);
  EXPECT_GT(map.bytes(), 0u);
}

TEST(PMapTest, CopyStaysWhatItWas) {
  PMap<int, std::string> map;
  for (int i = 0; i < 100; ++i) map.set(i, std::to_string(i));
  const PMap<int, std::string> kept = map;
  const auto before = content(kept);
  for (int i = 0; i < 100; i += 2) map.erase(i);
  map[1] = "changed";
  map.set(1000, "new");
  EXPECT_EQ(content(kept), before);
  EXPECT_EQ(map.size(), 51u);
  EXPECT_EQ(*map.find(1), "changed");
  EXPECT_EQ(*kept.find(1), "1");
}

TEST(PMapTest, ChangingACopySharesAllButTheWayToTheChange) {
  PMap<int, std::string> map;
  for (int i = 0; i < 1000; ++i) map.set(i, "v");
  PMap<int, std::string> copy = map;
  copy.set(500, "other");
  int shared = 0;
  for (int i = 0; i < 1000; ++i) shared += map.find(i) == copy.find(i);
  EXPECT_GE(shared, 980);  // an AVL tree of 1,000 is at most 14 high
  EXPECT_LT(shared, 1000);
}

TEST(PMapTest, MapThatNobodyElseHoldsChangesInPlace) {
  PMap<int, int> map;
  for (int i = 0; i < 1000; ++i) map.set(i, i);
  const int* before = map.find(500);
  map[500] = 7;
  EXPECT_EQ(map.find(500), before);
  EXPECT_EQ(*before, 7);
}

TEST(PMapTest, KeyTakenFromTheMapItselfMayBeErased) {
  PMap<std::string, int> map;
  for (int i = 0; i < 50; ++i) map.set("key" + std::to_string(i), i);
  while (!map.empty()) {
    const std::string* some = nullptr;
    map.each([&](const std::string& key, int) { some = &key; });
    const std::size_t size = map.size();
    ASSERT_TRUE(map.erase(*some));
    ASSERT_EQ(map.size(), size - 1);
  }
}

TEST(PMapTest, SortedInsertionStaysBalanced) {
  PMap<int, int> map;
  for (int i = 0; i < 100000; ++i) map.set(i, i);
  EXPECT_EQ(map.size(), 100000u);
  EXPECT_EQ(*map.find(99999), 99999);
  for (int i = 0; i < 100000; ++i) ASSERT_TRUE(map.erase(i));
  EXPECT_TRUE(map.empty());
}

TEST(PMapTest, CopiesMayBeChangedInDifferentThreads) {
  PMap<int, int> map;
  for (int i = 0; i < 1000; ++i) map.set(i, 0);
  std::vector<PMap<int, int>> copies(4, map);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) copies[t][i] = t;
      for (int i = 0; i < 1000; i += 3) copies[t].erase(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) {
    EXPECT_EQ(copies[t].size(), 666u);
    EXPECT_EQ(*copies[t].find(1), t);
  }
  EXPECT_EQ(map.size(), 1000u);
  EXPECT_EQ(*map.find(1), 0);
}

TEST(PMapTest, WalkFromAKeyStopsWhenItIsTold) {
  PMap<int, int> map;
  for (int i = 0; i < 100; i += 10) map.set(i, i);
  std::vector<int> seen;
  map.each_from(35, [&](int key, int) {
    seen.push_back(key);
    return key < 60;
  });
  EXPECT_EQ(seen, (std::vector<int>{40, 50, 60}));
  EXPECT_EQ(map.floor(-1).first, nullptr);
  EXPECT_EQ(*map.floor(0).first, 0);
  EXPECT_EQ(*map.floor(39).second, 30);
  EXPECT_EQ(*map.floor(1000).first, 90);
}

RC_GTEST_PROP(PMapPropertyTest, FloorAndWalkFromAKeyFindWhatStdMapFinds, ()) {
  const auto keys = *rc::gen::scale(2.0, rc::gen::arbitrary<std::vector<std::uint8_t>>());
  PMap<int, int> map;
  std::map<int, int> model;
  for (const std::uint8_t key : keys) {
    if (key % 3 == 0) {
      map.erase(key / 2);
      model.erase(key / 2);
    } else {
      map.set(key, key + 1);
      model[key] = key + 1;
    }
  }
  for (int key = -1; key <= 257; ++key) {
    const auto [found, value] = map.floor(key);
    const auto after = model.upper_bound(key);
    RC_ASSERT((found != nullptr) == (after != model.begin()));
    if (found != nullptr) RC_ASSERT(std::pair(*found, *value) == std::pair(std::prev(after)->first, std::prev(after)->second));
    std::vector<std::pair<int, int>> seen;
    map.each_from(key, [&](int k, int v) {
      seen.emplace_back(k, v);
      return true;
    });
    RC_ASSERT(seen == (std::vector<std::pair<int, int>>(model.lower_bound(key), model.end())));
  }
}

// Small keys, so that they meet; every version kept on the way stays what it was.
RC_GTEST_PROP(PMapPropertyTest, DoesWhatStdMapDoesAndKeptVersionsStay, ()) {
  const auto steps = *rc::gen::scale(3.0, rc::gen::arbitrary<std::vector<std::pair<std::uint8_t, int>>>());
  PMap<int, int> map;
  std::map<int, int> model;
  std::vector<std::pair<PMap<int, int>, std::map<int, int>>> kept;
  for (const auto& [what, value] : steps) {
    const int key = what % 32;
    switch (what / 32) {
      case 0:
        kept.emplace_back(map, model);
        break;
      case 1:
      case 2:
        RC_ASSERT(map.erase(key) == (model.erase(key) == 1));
        break;
      case 3:
        map[key] += value % 1000;
        model[key] += value % 1000;
        break;
      case 4:
        if (!kept.empty()) std::tie(map, model) = kept[static_cast<std::size_t>(key) % kept.size()];
        break;
      default:
        map.set(key, value);
        model[key] = value;
    }
    RC_ASSERT(map.size() == model.size());
    const int* found = map.find(key);
    RC_ASSERT((found != nullptr) == model.contains(key));
    if (found != nullptr) RC_ASSERT(*found == model.at(key));
  }
  RC_ASSERT(content(map) == model);
  for (const auto& [version, expected] : kept) RC_ASSERT(content(version) == expected);
}

}  // namespace
}  // namespace weir
