#include "session/id_index.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
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
  MapPartSink sink;
  std::string saved;
  index.save(saved, *rc::gen::arbitrary<bool>() ? &sink : nullptr);
  IdIndex loaded;
  std::string_view in = saved;
  RC_ASSERT(loaded.load(in, std::make_shared<PartMap>(sink.parts)));
  RC_ASSERT(in.empty());
  RC_ASSERT(loaded.size() == index.size());
  for (int i = 0; i < 256; ++i) {
    const std::string name = "n" + std::to_string(i);
    const auto expected = model.find(name);
    const auto wanted = expected == model.end() ? std::nullopt : std::optional(expected->second);
    RC_ASSERT(copy.find(name) == wanted);
    RC_ASSERT(index.find(name) == wanted);
    RC_ASSERT(loaded.find(name) == wanted);
  }
  RC_ASSERT(!copy.find("later1").has_value());
  RC_ASSERT(other == 0 || loaded.find("other0") == 0u);
}

TEST(IdIndexTest, AnIndexOfAnotherShapeOrWithoutItsPartsIsNotLoaded) {
  IdIndex index;
  for (int i = 0; i < 5000; ++i) index.set(std::to_string(i), static_cast<std::uint32_t>(i));
  MapPartSink sink;
  std::string saved;
  index.save(saved, &sink);
  EXPECT_FALSE(sink.parts.empty());
  EXPECT_LT(saved.size(), 12000u);  // most of 60,000 bytes is in the parts
  const auto load = [&](std::string_view in, const std::shared_ptr<Parts>& parts) {
    IdIndex out;
    return out.load(in, parts);
  };
  EXPECT_TRUE(load(saved, std::make_shared<PartMap>(sink.parts)));
  EXPECT_FALSE(load(saved, nullptr));
  EXPECT_FALSE(load(std::string_view(saved).substr(0, saved.size() - 1), std::make_shared<PartMap>(sink.parts)));
  sink.parts.erase(sink.parts.begin());
  EXPECT_FALSE(load(saved, std::make_shared<PartMap>(sink.parts)));
}

TEST(IdIndexTest, SavingAgainPutsOnlyWhatIsNew) {
  IdIndex index;
  for (int i = 0; i < 5000; ++i) index.set(std::to_string(i), static_cast<std::uint32_t>(i));
  MapPartSink sink;
  std::string saved;
  index.save(saved, &sink);
  const std::size_t parts = sink.parts.size();
  index.set("one more", 7);
  std::string again;
  index.save(again, &sink);
  EXPECT_EQ(sink.parts.size(), parts);
  IdIndex loaded;
  std::string_view in = again;
  ASSERT_TRUE(loaded.load(in, std::make_shared<PartMap>(sink.parts)));
  EXPECT_EQ(loaded.find("one more"), 7u);
  std::string third;
  loaded.save(third, &sink);
  EXPECT_EQ(third, again);
  EXPECT_EQ(sink.parts.size(), parts);
}

}  // namespace
}  // namespace weir
