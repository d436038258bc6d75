// A row's seal: 64 bits over every column the entry digest does not cover. SQLite finds few flipped bits by itself;
// a flipped time, id or head must not pass as data.
#pragma once

#include <algorithm>
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
    if (field.size() > sizeof gathered_ - used_) flush();
    if (field.size() > sizeof gathered_) {
      hash_.update(field);
    } else {
      std::copy(field.begin(), field.end(), gathered_ + used_);
      used_ += field.size();
    }
    return *this;
  }
  Seal& number(std::uint64_t value) {
    if (sizeof gathered_ - used_ < 8) flush();
    for (int i = 0; i < 8; ++i) gathered_[used_++] = static_cast<char>(value >> (8 * i));
    return *this;
  }
  std::int64_t value() {
    flush();
    return static_cast<std::int64_t>(hash_.finish().prefix64());
  }

 private:
  void flush() {
    hash_.update({gathered_, used_});
    used_ = 0;
  }
  Sha256 hash_;
  // Most columns are a few bytes, and a row is sealed whenever it is read: hashed in one go they cost half.
  char gathered_[256];
  std::size_t used_ = 0;
};

inline Seal& add_place(Seal& seal, SessionNo session, const Entry& entry) {
  return seal.number(session.value)
      .number(entry.seq)
      .number(entry.parent)
      .number(entry.barrier)
      .number(entry.depth)
      .number(static_cast<std::uint64_t>(entry.at.ms))
      .number(entry.imported)
      .text(entry.id.str())
      .text(entry.digest.bytes());
}
// As schema version 1 sealed entries. It says nothing of the type, which only the digest covers, together with the body.
inline std::int64_t seal_of(SessionNo session, const Entry& entry) {
  Seal seal("entry");
  return add_place(seal, session, entry).value();
}
// As entries are sealed since: the type of a row that is read without its body is known to be the one that was stored.
inline std::int64_t typed_seal_of(SessionNo session, const Entry& entry) {
  Seal seal("entry");
  return add_place(seal, session, entry).text(entry.type).value();
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
