#include "context/cut.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace weir::context {
namespace {

TEST(CutTest, TheBeginningAndTheEndStayAndALineNamesTheWhole) {
  const std::string text = std::string(300, 'a') + std::string(300, 'z');
  const Digest whole = sha256(text);
  EXPECT_EQ(cut_text(text, 328, whole),
            std::string(150, 'a') + "\n[weir: 400 bytes left out, sha256:" + whole.hex() + "]\n" + std::string(50, 'z'));
}

TEST(CutTest, WhatFitsBesideTheLineStaysWhole) {
  const std::string text(200, 'a');
  EXPECT_EQ(cut_text(text, 328, sha256(text)), std::nullopt);
  EXPECT_NE(cut_text(text, 327, sha256(text)), std::nullopt);
}

TEST(CutTest, NoCodePointIsCutAndNoLimitIsExceeded) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += i % 3 == 0 ? "é" : i % 3 == 1 ? "漢" : "🜁";
  for (std::uint64_t most = 256; most < 330; ++most) {
    const auto cut = cut_text(text, most, sha256(text));
    ASSERT_TRUE(cut && valid_utf8(*cut)) << most;
    EXPECT_LE(cut->size(), most);
  }
}

TEST(CutTest, WithoutRoomOnlyTheLineIsLeft) {
  const std::string text(50, 'a');
  EXPECT_EQ(cut_text(text, 64, sha256(text)), "\n[weir: 50 bytes left out, sha256:" + sha256(text).hex() + "]\n");
}

}  // namespace
}  // namespace weir::context
