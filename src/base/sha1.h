// SHA-1, for a foreign profile whose hashes are to be reproduced. Nothing of Weir's own is hashed with it.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace weir {

// A running hash. Copying one forks it.
class Sha1 {
 public:
  Sha1();
  Sha1& update(std::string_view bytes);
  std::string finish_hex();  // 40 hex digits; the hash starts again afterwards

 private:
  alignas(8) std::array<unsigned char, 96> state_;
};

std::string sha1_hex(std::string_view bytes);

}  // namespace weir
