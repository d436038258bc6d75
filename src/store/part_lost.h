// Around whatever reads states in parts.
#pragma once

#include <type_traits>

#include "store/log.h"

namespace weir {

// What `body` answers, or the error of a part that was lost on the way.
template <typename Body>
std::invoke_result_t<Body&> or_part_lost(Body&& body) {
  try {
    return body();
  } catch (const PartLost& lost) {
    return lost.error;
  }
}

}  // namespace weir
