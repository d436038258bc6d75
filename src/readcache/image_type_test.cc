#include "readcache/image_type.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

using namespace std::string_literals;

TEST(ImageTypeTest, ImagesAreKnownByTheirFirstBytes) {
  EXPECT_EQ(image_type("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s), "image/png");
  EXPECT_EQ(image_type("\xff\xd8\xff\xe0..JFIF"s), "image/jpeg");
  EXPECT_EQ(image_type("GIF87a"), "image/gif");
  EXPECT_EQ(image_type("GIF89a..."), "image/gif");
  EXPECT_EQ(image_type("RIFF\x10\0\0\0WEBPVP8 "s), "image/webp");
  EXPECT_EQ(image_type("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\x18\0"s), "image/bmp");
  EXPECT_EQ(image_type("BM\x46\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0\x02\0\x02\0\x01\0\x18\0\0\0\0\0"s), "image/bmp");
}

TEST(ImageTypeTest, TextThatBeginsAlikeIsText) {
  for (const char* text :
       {"", "BM", "BMW builds cars, and this line is long enough", "GIF", "GIF90a", "RIFF", "RIFF of the WEBP", "PNG", "\x89PNG"}) {
    EXPECT_EQ(image_type(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace weir
