// The one table of commands.
#pragma once

#include <vector>

#include "cli/spec.h"

namespace weir::cli {

const std::vector<CommandSpec>& commands();
const std::vector<OptionSpec>& common_options();

// Options every command of that kind has: --dry-run where it writes, --yes where it destroys, and so on.
std::vector<OptionSpec> all_options(const CommandSpec& command);

// Why the command refuses this common option; empty if it takes it.
std::string_view refusal(const CommandSpec& command, std::string_view option);

// The command of that exact name; null if there is none.
const CommandSpec* find_command(std::string_view name);

// First words of two-word commands, with what they are when nothing follows ("head" -> "head list").
const CommandSpec* default_command(std::string_view first_word);

}  // namespace weir::cli
