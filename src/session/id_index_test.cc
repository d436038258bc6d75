#include "session/id_index.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

namespace weir {
namespace {

RC_GTEST_PROP(IdIndexTest, TheNumberSetLastIsFoundHoweverManyCameBefore, (const std::vector<std::pair<unsigned char, unsigned>>& given)) {
  IdIndex index;
  std::map<std::string, std::uint32_t> model;
  // Few names often, and between them enough others that runs are merged.
  std::uint32_t other = 0;
  for (const auto& [name, number] : given) {
    index.set("n" + std::to_string(name), number);
    model["n" + std::to_string(name)] = number;
    for (int i = 0; i < 30; ++i, ++other) index.set("other" + std::to_string(other), other);
  }
  const IdIndex copy = index;
  for (int i = 0; i < 100; ++i) index.set("later" + std::to_string(i), 7);
  const auto loaded = IdIndex::load(index.save());
  RC_ASSERT(loaded.has_value());
  for (int i = 0; i < 256; ++i) {
    const std::string name = "n" + std::to_string(i);
    const auto expected = model.find(name);
    const auto wanted = expected == model.end() ? std::nullopt : std::optional(expected->second);
    RC_ASSERT(copy.find(name) == wanted);
    RC_ASSERT(index.find(name) == wanted);
    RC_ASSERT(loaded->find(name) == wanted);
  }
  RC_ASSERT(!copy.find("later1").has_value());
  RC_ASSERT(other == 0 || loaded->find("other0") == 0u);
}

TEST(IdIndexTest, WhatWasNotSavedIsNotLoaded) {
  EXPECT_FALSE(IdIndex::load("12345").has_value());
  EXPECT_FALSE(IdIndex::load("")->find("a").has_value());
}

}  // namespace
}  // namespace weir
