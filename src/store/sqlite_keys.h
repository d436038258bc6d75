// What the files of SqliteRows share: the keys of entries, and the error of a damaged row.
#pragma once

#include <string>
#include <string_view>

#include "base/limits.h"
#include "store/log.h"

namespace weir {

inline constexpr int kSeqBits = 40;

inline std::uint64_t key_of(SessionNo session, Seq seq) { return session.value << kSeqBits | seq; }
inline Seq seq_of(std::uint64_t key) { return key & limits::kSeq; }
inline SessionNo session_of(std::uint64_t key) { return SessionNo{key >> kSeqBits}; }

inline Error damaged_row(std::string_view what, std::string_view place) {
  return Error(ErrorCode::CORRUPT, "damaged " + std::string(what) + " row " + std::string(place))
      .with("object", std::string(what) + " " + std::string(place));
}

}  // namespace weir
