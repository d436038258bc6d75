// Pieces of a saved state that never change again. Each is kept once beside the log, under a key made of its bytes, and read
// when somebody asks for it: so saving a state costs what is new in it, and loading one costs what is used of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/sha256.h"
#include "store/log.h"

namespace weir {

using PartKey = std::uint64_t;  // below 2^63: a log keeps it where it keeps a seq
inline PartKey part_key(std::string_view bytes) { return sha256(bytes).prefix64() >> 1; }

class Parts {
 public:
  virtual ~Parts() = default;
  // False if it is known that the part is not there: a state that needs it is not loaded.
  virtual bool may_have(PartKey key) = 0;
  virtual std::string read(PartKey key) = 0;
};

// Parts at hand.
class PartMap final : public Parts {
 public:
  explicit PartMap(std::map<PartKey, std::string> parts) : parts_(std::move(parts)) {}
  bool may_have(PartKey key) override { return parts_.contains(key); }
  std::string read(PartKey key) override {
    const auto it = parts_.find(key);
    if (it == parts_.end()) throw PartLost{Error(ErrorCode::CORRUPT, "a part of a saved state is missing")};
    return it->second;
  }

 private:
  const std::map<PartKey, std::string> parts_;
};

// Where a state that is saved puts its parts.
class PartSink {
 public:
  virtual ~PartSink() = default;
  virtual bool has(PartKey key) = 0;  // the state needs it; false: it must be put
  virtual void put(PartKey key, std::string_view bytes) = 0;
};

// Keeps them at hand.
class MapPartSink final : public PartSink {
 public:
  bool has(PartKey key) override { return parts.contains(key); }
  void put(PartKey key, std::string_view bytes) override { parts.emplace(key, bytes); }
  std::map<PartKey, std::string> parts;
};

// Values as bytes of this machine. `take` leaves `in` as it was and answers false if there is too little.
template <typename T>
  requires std::is_trivially_copyable_v<T>
void put_plain(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <typename T>
  requires std::is_trivially_copyable_v<T>
bool take_plain(std::string_view& in, T& value) {
  if (in.size() < sizeof value) return false;
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return true;
}

}  // namespace weir
