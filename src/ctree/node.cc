#include "ctree/node.h"

#include <charconv>

namespace weir::ctree {
namespace {

void write_padded(std::uint64_t number, std::size_t digits, std::string& out) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  const std::size_t length = static_cast<std::size_t>(end - buffer);
  if (length < digits) out.append(digits - length, '0');
  out.append(buffer, end);
}

}  // namespace

void write_node_id(Ordinal ordinal, const Digest& digest, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  char text[18] = "n";
  if (ordinal > 99999999) {
    out.append("n").append(std::to_string(ordinal));
  } else {
    for (int i = 8; i > 0; --i, ordinal /= 10) text[i] = static_cast<char>('0' + ordinal % 10);
    out.append(text, 9);
  }
  text[0] = '_';
  for (std::size_t i = 0; i < 4; ++i) {
    const auto byte = static_cast<unsigned char>(digest.bytes()[i]);
    text[1 + 2 * i] = kHex[byte >> 4];
    text[2 + 2 * i] = kHex[byte & 15];
  }
  out.append(text, 9);
}

std::string node_id(Ordinal ordinal, const Digest& digest) {
  std::string out;
  write_node_id(ordinal, digest, out);
  return out;
}

std::string alias_name(std::string_view stem, std::uint32_t number) {
  std::string out(stem);
  out += '_';
  write_padded(number, 4, out);
  return out;
}

}  // namespace weir::ctree
