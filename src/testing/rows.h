// Rows as the session layer would make them, and a whole log as text.
#pragma once

#include <string>
#include <string_view>

#include "store/log.h"

namespace weir::testing {

// An entry under `parent` (null: a root). Without an id: `e` + 8 hex digits of its digest.
Entry make_row(Seq seq, const Entry* parent, std::string_view type, std::string_view body, std::string_view id = "");

// Every field of an entry on one line.
std::string show(const Entry& entry);

// Everything a log answers, session numbers aside; checkpoints of the folds "a" and "b" only.
std::string dump(Log& log);

}  // namespace weir::testing
