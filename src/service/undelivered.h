// What is known of files without the reads whose answers are not known to have arrived (receipts.h). They are in the log, and so in
// the state that is folded from it; whoever says what a reader holds leaves them out.
#pragma once

#include <cstdint>
#include <string>

#include "service/service.h"

namespace weir {

// `path` is left out of the state, as it is at `leaf`. `moment` and `of_now` are as for
// Receipts::undelivered, but that of_now stays true where nothing is left out.
Result<void> leave_out_undelivered(Service& service, LogReader& reader, SessionNo session, Seq leaf, const std::string& path,
                                   std::uint64_t moment, bool& of_now, TrustFold::State& state);

// The same for every file. An answer that has just arrived may still be left out.
Result<void> leave_out_undelivered(Service& service, LogReader& reader, SessionNo session, Seq leaf, TrustFold::State& state);

}  // namespace weir
