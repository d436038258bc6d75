#include "readcache/image_type.h"

#include <cstdint>

namespace weir {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view first;
  std::size_t at;  // where `second` stands
  std::string_view second;
  std::string_view mime;
};

constexpr Magic kMagic[] = {
    {"\x89PNG\r\n\x1a\n"sv, 0, "", "image/png"},
    {"\xff\xd8\xff"sv, 0, "", "image/jpeg"},
    {"GIF87a"sv, 0, "", "image/gif"},
    {"GIF89a"sv, 0, "", "image/gif"},
    {"RIFF"sv, 8, "WEBP", "image/webp"},
};

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

// "BM" alone begins many a text, so the headers must make sense as well: one colour plane behind a header of known size.
bool is_bmp(std::string_view head) {
  if (!head.starts_with("BM") || head.size() < 30) return false;
  const std::uint32_t pixels_at = little_endian(head.substr(10, 4)), header = little_endian(head.substr(14, 4));
  const bool old = header == 12;
  if ((!old && (header < 40 || header > 124)) || pixels_at < 14 + header) return false;
  return little_endian(head.substr(old ? 22 : 26, 2)) == 1;
}

}  // namespace

std::optional<std::string_view> image_type(std::string_view head) {
  for (const Magic& magic : kMagic) {
    const bool second = magic.second.empty() || (head.size() >= magic.at && head.substr(magic.at).starts_with(magic.second));
    if (head.starts_with(magic.first) && second) return magic.mime;
  }
  return is_bmp(head) ? std::optional("image/bmp"sv) : std::nullopt;
}

}  // namespace weir
