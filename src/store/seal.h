// A row's seal: 64 bits over every column the entry digest does not cover. SQLite finds few flipped bits by itself;
// a flipped time, id or head must not pass as data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "store/entry.h"
#include "store/log.h"

namespace weir {

class Seal {
 public:
  explicit Seal(std::string_view table) { text(table); }
  Seal& text(std::string_view field) {
    number(field.size());
    hash_.update(field);
    return *this;
  }
  Seal& number(std::uint64_t value) {
    char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
    hash_.update({bytes, sizeof bytes});
    return *this;
  }
  std::int64_t value() { return static_cast<std::int64_t>(hash_.finish().prefix64()); }

 private:
  Sha256 hash_;
};

inline std::int64_t seal_of(SessionNo session, const Entry& entry) {
  return Seal("entry")
      .number(session.value)
      .number(entry.seq)
      .number(entry.parent)
      .number(entry.barrier)
      .number(entry.depth)
      .number(static_cast<std::uint64_t>(entry.at.ms))
      .number(entry.imported)
      .text(entry.id.str())
      .text(entry.digest.bytes())
      .value();
}

inline std::int64_t seal_of(const SessionRow& row) {
  return Seal("session")
      .number(row.no.value)
      .number(static_cast<std::uint64_t>(row.created.ms))
      .text(row.id.str())
      .text(row.source)
      .value();
}

inline std::int64_t seal_of(SessionNo session, const HeadRow& head) {
  return Seal("head").number(session.value).text(head.name.str()).number(head.seq).value();
}

}  // namespace weir
