// What verify needs of anchors.
#pragma once

#include "service/anchor.h"

namespace weir::cli {

class Run;

// The file of --anchor, whose signature holds by --key or the store's own key; with --unsigned nobody asks.
Result<ParsedAnchor> read_anchor(Run& run, Service& service);

void print_anchor_report(Run& run, const ParsedAnchor& parsed, const AnchorReport& report);

}  // namespace weir::cli
