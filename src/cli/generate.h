// Everything that is written out from the table of commands.
#pragma once

#include <string>

#include "cli/spec.h"
#include "cli/terminal.h"

namespace weir::cli {

std::string overview(const Painter& paint);
std::string help_text(const CommandSpec& command, const Painter& paint);
std::string man_page();  // of weir itself
std::string man_page(const CommandSpec& command);
std::string reference_page();  // docs/cli.md
std::string completions(std::string_view shell);

// "head move NAME ENTRY [options]"
std::string usage_line(const CommandSpec& command);

}  // namespace weir::cli
