#include "ctree/node.h"

#include <charconv>

#include "base/hex.h"

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
  out += 'n';
  write_padded(ordinal, 8, out);
  out += '_';
  out += encode_hex(digest.bytes().substr(0, 4));
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
