// What a command is, as data. The one table (command_table.cc) is made of these; parser, help, man pages, completions
// and docs/cli.md all come from it.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir::cli {

class Run;

enum class ValueType { none, text, integer, size, time, duration, path, choice };

struct OptionSpec {
  std::string_view name;  // without the dashes
  ValueType type = ValueType::none;
  std::string_view value;  // its name in help; of a choice, the choices with | between
  std::string_view help;
  bool repeat = false;
  bool blank = false;  // an empty value is for the command to refuse
};

struct ArgumentSpec {
  std::string_view name;
  std::string_view help;
  bool required = true;
  bool repeat = false;
  std::string_view choices;  // with | between; empty: anything
  bool others = false;       // the command itself says what is wrong with anything else
};

struct ExampleSpec {
  std::string_view command;
  std::string_view what;
};

struct ExitSpec {
  int code;
  std::string_view when;
};

struct CommandSpec {
  std::string_view name;   // one word, or two: "head move"
  std::string_view alias;  // another name for it
  std::string_view summary;
  std::string_view text;
  std::vector<ArgumentSpec> arguments;
  std::vector<OptionSpec> options;
  std::vector<ExampleSpec> examples;
  std::vector<ExitSpec> exits;
  bool stream = false;       // --json prints lines, not one object
  bool writes = false;       // has --dry-run
  bool destructive = false;  // asks, or needs --yes
  bool progress = false;     // shows progress on a terminal
  Result<int> (*run)(Run&) = nullptr;
};

}  // namespace weir::cli
