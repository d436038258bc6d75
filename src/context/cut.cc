#include "context/cut.h"

namespace weir::context {
namespace {

constexpr std::uint64_t kLineRoom = 128;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::optional<std::string> cut_text(std::string_view text, std::uint64_t most_bytes, const Digest& whole) {
  const std::uint64_t shown = most_bytes > kLineRoom ? most_bytes - kLineRoom : 0;
  if (text.size() <= shown) return std::nullopt;
  std::size_t head = shown * 3 / 4, tail = text.size() - shown / 4;
  while (head > 0 && continues(text[head])) --head;
  while (tail < text.size() && continues(text[tail])) ++tail;
  std::string out(text.substr(0, head));
  out.append("\n[weir: ").append(std::to_string(tail - head)).append(" bytes left out, sha256:").append(whole.hex()).append("]\n");
  return out.append(text.substr(tail));
}

}  // namespace weir::context
