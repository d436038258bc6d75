#include "cli/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error_code.h"
#include "cli/command_table.h"
#include "cli/version.h"

namespace weir::cli {
namespace {

std::string option_form(const OptionSpec& option) {
  std::string out = "--" + std::string(option.name);
  if (option.type != ValueType::none) out += " " + std::string(option.value);
  return out;
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width = 96) {
  std::string out(indent, ' ');
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (column > indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    at = end + 1;
  }
  return out;
}

std::string traits(const CommandSpec& command) {
  std::vector<std::string_view> parts;
  if (command.stream) parts.push_back("--json prints a stream of JSON Lines that ends with {\"type\":\"end\",...}.");
  if (command.destructive) parts.push_back("Asks on a terminal; elsewhere it needs --yes.");
  std::string out;
  for (const std::string_view part : parts) out += (out.empty() ? "" : " ") + std::string(part);
  return out;
}

bool is_common(const OptionSpec& option) {
  return std::any_of(common_options().begin(), common_options().end(),
                     [&](const OptionSpec& common) { return common.name == option.name; });
}

std::vector<OptionSpec> own_options(const CommandSpec& command) {
  std::vector<OptionSpec> out = all_options(command);
  std::erase_if(out, is_common);
  return out;
}

std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '-') out += '\\';
    out += c;
  }
  if (out.starts_with(".") || out.starts_with("'")) out.insert(0, "\\&");
  return out;
}

std::string dashed(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), ' ', '-');
  return out;
}

}  // namespace

std::string usage_line(const CommandSpec& command) {
  std::string out = "weir " + std::string(command.name);
  for (const ArgumentSpec& argument : command.arguments) {
    std::string name = argument.choices.empty() ? std::string(argument.name) : std::string(argument.choices);
    if (argument.repeat) name += "...";
    out += argument.required ? " " + name : " [" + name + "]";
  }
  for (const OptionSpec& option : command.options) out += " [" + option_form(option) + "]";
  return out;
}

std::string overview(const Painter& paint) {
  std::string out = paint(Style::bold, "weir") + ": the context ledger for long-running AI agents\n\n";
  out += paint(Style::bold, "usage") + "  weir COMMAND [ARGUMENTS] [OPTIONS]\n\n" + paint(Style::bold, "commands") + "\n";
  for (const CommandSpec& command : commands())
    out += fmt::format("  {}  {}\n", paint(Style::green, fmt::format("{:<13}", command.name)), command.summary);
  out += "\n" + paint(Style::bold, "options of every command") + "\n";
  for (const OptionSpec& option : common_options())
    out += fmt::format("  {}  {}\n", paint(Style::cyan, fmt::format("{:<25}", option_form(option))), option.help);
  out += "\nStart with 'weir demo'. 'weir help COMMAND' says all about one.\n";
  return out;
}

std::string help_text(const CommandSpec& command, const Painter& paint) {
  std::string out = fmt::format("{}: {}\n\n", paint(Style::bold, "weir " + std::string(command.name)), command.summary);
  out += paint(Style::bold, "usage") + "  " + usage_line(command) + "\n\n" + wrapped(command.text, 0) + "\n";
  if (const std::string more = traits(command); !more.empty()) out += wrapped(more, 0) + "\n";
  if (!command.arguments.empty()) {
    out += "\n" + paint(Style::bold, "arguments") + "\n";
    for (const ArgumentSpec& argument : command.arguments)
      out += fmt::format("  {}  {}\n", paint(Style::cyan, fmt::format("{:<25}", argument.name)), argument.help);
  }
  if (const auto options = own_options(command); !options.empty()) {
    out += "\n" + paint(Style::bold, "options") + "\n";
    for (const OptionSpec& option : options)
      out += fmt::format("  {}  {}\n", paint(Style::cyan, fmt::format("{:<25}", option_form(option))), option.help);
  }
  out += "\n" + paint(Style::bold, "examples") + "\n";
  for (const ExampleSpec& example : command.examples)
    out += fmt::format("  {}\n      {}\n", paint(Style::green, example.command), example.what);
  out += "\n" + paint(Style::bold, "exit") + "  0 done";
  for (const ExitSpec& exit : command.exits) out += fmt::format(" · {} {}", exit.code, exit.when);
  out += " · 2 wrong usage\n\nOptions of every command: 'weir help'.\n";
  return out;
}

std::string man_page() {
  std::string out = fmt::format(
      ".TH WEIR 1 \"\" \"weir {}\" \"Weir\"\n.SH NAME\nweir \\- the context ledger for long\\-running AI agents\n.SH SYNOPSIS\n.B "
      "weir\nCOMMAND [ARGUMENTS] [OPTIONS]\n",
      kVersion);
  out +=
      ".SH DESCRIPTION\nKeeps one append\\-only, branching, hash\\-chained log per session of an agent and answers from it. Each command "
      "has a page of its own.\n.SH COMMANDS\n";
  for (const CommandSpec& command : commands())
    out += fmt::format(".TP\n.BR weir\\-{} (1)\n{}\n", roff(dashed(command.name)), roff(command.summary));
  out += ".SH OPTIONS\nOf every command:\n";
  for (const OptionSpec& option : common_options()) out += fmt::format(".TP\n.B {}\n{}\n", roff(option_form(option)), roff(option.help));
  out +=
      ".SH EXIT STATUS\n.TP\n.B 0\ndone or yes\n.TP\n.B 1\nthe answer is no\n.TP\n.B 2\nwrong usage\n.TP\n.B 3\ndone, with "
      "findings\n.TP\n.B 4 to 12\nan error, named on standard error\n.TP\n.B 130, 143\nended by a signal\n";
  out += ".SH EXAMPLES\n.TP\n.B weir demo\na guided tour\n.TP\n.B weir help append\nall about one command\n";
  return out;
}

std::string man_page(const CommandSpec& command) {
  std::string name = "weir-" + dashed(command.name);
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  std::string out = fmt::format(".TH {} 1 \"\" \"weir {}\" \"Weir\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n", roff(upper), kVersion,
                                roff(name), roff(command.summary), roff(usage_line(command)));
  out += ".SH DESCRIPTION\n" + roff(command.text) + "\n";
  if (const std::string more = traits(command); !more.empty()) out += ".PP\n" + roff(more) + "\n";
  if (!command.arguments.empty()) {
    out += ".SH ARGUMENTS\n";
    for (const ArgumentSpec& argument : command.arguments) out += fmt::format(".TP\n.B {}\n{}\n", roff(argument.name), roff(argument.help));
  }
  out += ".SH OPTIONS\n";
  for (const OptionSpec& option : all_options(command))
    out += fmt::format(".TP\n.B {}\n{}\n", roff(option_form(option)), roff(option.help));
  out += ".SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 2\nwrong usage\n";
  for (const ExitSpec& exit : command.exits) out += fmt::format(".TP\n.B {}\n{}\n", exit.code, roff(exit.when));
  out += ".SH EXAMPLES\n";
  for (const ExampleSpec& example : command.examples) out += fmt::format(".TP\n.B {}\n{}\n", roff(example.command), roff(example.what));
  return out;
}

std::string reference_page() {
  std::string out =
      "# Command line\n\nThis page is made from the table of commands (`src/cli/command_table.cc`) by `make docs`; edit the table, not the "
      "page.\n\n"
      "## Conventions\n\n"
      "- Data goes to standard output, diagnostics to standard error. Colours only on a terminal, never with `NO_COLOR`, `TERM=dumb` or "
      "`--color never`.\n"
      "- `--json` prints exactly one JSON object; commands marked *stream* print JSON Lines from `{\"type\":\"begin\"}` to "
      "`{\"type\":\"end\",\"count\":n,\"complete\":true}`. Lines of entries alone have a `seq`, and the end alone has `complete`: an entry "
      "of type `end` is not taken for it. An error is one line `{\"error\":{\"code\",\"message\",\"details\"}}` on "
      "standard error.\n"
      "- Every command that writes has `--dry-run`; every one that destroys asks on a terminal and needs `--yes` elsewhere.\n"
      "- Where an entry is named: its id, its pointer (`e` and 16 hex digits of the digest), a head, a unique prefix of at least 4 "
      "characters, or `ID~3` for the third ancestor.\n\n"
      "## Options of every command\n\n| option | meaning |\n| --- | --- |\n";
  const auto cell = [](std::string_view text) {
    std::string escaped;
    for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
    return escaped;
  };
  for (const OptionSpec& option : common_options()) out += fmt::format("| `{}` | {} |\n", cell(option_form(option)), cell(option.help));
  out += "\n## Commands\n\n| command | does |\n| --- | --- |\n";
  for (const CommandSpec& command : commands())
    out += fmt::format("| [`{}`](#weir-{}) | {} |\n", command.name, dashed(command.name), cell(command.summary));
  for (const CommandSpec& command : commands()) {
    out += fmt::format("\n### weir {}\n\n`{}`\n\n{}", command.name, usage_line(command), command.text);
    if (const std::string more = traits(command); !more.empty()) out += " " + more;
    out += "\n";
    const auto options = own_options(command);
    if (!command.arguments.empty() || !options.empty()) {
      out += "\n| | |\n| --- | --- |\n";
      for (const ArgumentSpec& argument : command.arguments) out += fmt::format("| `{}` | {} |\n", argument.name, cell(argument.help));
      for (const OptionSpec& option : options) out += fmt::format("| `{}` | {} |\n", cell(option_form(option)), cell(option.help));
    }
    out += "\n```sh\n";
    for (const ExampleSpec& example : command.examples) out += fmt::format("{}   # {}\n", example.command, example.what);
    out += "```\n";
    if (!command.exits.empty()) {
      out += "\nExit:";
      for (const ExitSpec& exit : command.exits)
        out += fmt::format("{} {} {}", &exit == &command.exits[0] ? "" : " ·", exit.code, exit.when);
      out += ".\n";
    }
  }
  out +=
      "\n## Exit codes\n\n0 done or yes · 1 the answer is no · 2 wrong usage · 3 done, with findings · 130, 143 ended by a signal. "
      "Errors:\n\n| code | exit | meaning |\n| --- | --- | --- |\n";
  for (const ErrorCodeInfo& code : kErrorCodes) out += fmt::format("| `{}` | {} | {} |\n", code.name, code.exit, cell(code.meaning));
  return out;
}

namespace {

// Commands grouped by their first word, in table order.
std::vector<std::string> first_words() {
  std::vector<std::string> out;
  for (const CommandSpec& command : commands()) {
    const std::string first(command.name.substr(0, command.name.find(' ')));
    if (std::find(out.begin(), out.end(), first) == out.end()) out.push_back(first);
  }
  return out;
}

std::vector<std::string> second_words(std::string_view first) {
  std::vector<std::string> out;
  for (const CommandSpec& command : commands()) {
    if (command.name.starts_with(std::string(first) + " ")) out.emplace_back(command.name.substr(first.size() + 1));
  }
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// What may follow a command: its options, and the choices of its arguments.
std::vector<std::string> after(std::string_view first) {
  std::set<std::string> out;
  for (const CommandSpec& command : commands()) {
    if (command.name != first && !command.name.starts_with(std::string(first) + " ")) continue;
    for (const OptionSpec& option : all_options(command)) out.insert("--" + std::string(option.name));
    for (const ArgumentSpec& argument : command.arguments) {
      std::string_view rest = argument.choices;
      while (!rest.empty()) {
        const std::size_t bar = std::min(rest.find('|'), rest.size());
        out.insert(std::string(rest.substr(0, bar)));
        rest.remove_prefix(std::min(bar + 1, rest.size()));
      }
    }
  }
  for (const std::string& word : second_words(first)) out.insert(word);
  return {out.begin(), out.end()};
}

std::string bash_completions() {
  std::string out =
      "# bash completions of weir; source this file.\n_weir() {\n  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words\n  "
      "if [ \"$COMP_CWORD\" = 1 ]; then\n";
  out += fmt::format("    words=\"{}\"\n  else\n    case $command in\n", joined(first_words()));
  for (const std::string& first : first_words()) out += fmt::format("      {}) words=\"{}\" ;;\n", first, joined(after(first)));
  out +=
      "    esac\n  fi\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "
      "\"$word\"))\n}\ncomplete -F _weir weir\n";
  return out;
}

std::string zsh_completions() {
  std::string out =
      "#compdef weir\n# zsh completions of weir; put this file on your fpath as _weir.\n_weir() {\n  if (( CURRENT == 2 )); then\n    "
      "compadd --";
  for (const std::string& first : first_words()) out += " " + first;
  out += "\n    return\n  fi\n  case $words[2] in\n";
  for (const std::string& first : first_words()) out += fmt::format("    {}) compadd -- {} ;;\n", first, joined(after(first)));
  out += "  esac\n  _files\n}\n_weir \"$@\"\n";
  return out;
}

std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_completions() {
  std::string out = "# fish completions of weir; put this file into ~/.config/fish/completions/weir.fish.\n";
  for (const std::string& first : first_words()) {
    const CommandSpec* command = find_command(first) != nullptr ? find_command(first) : default_command(first);
    out += fmt::format("complete -c weir -n __fish_use_subcommand -a {} -d {}\n", first, fish_quoted(command->summary));
    for (const std::string& second : second_words(first)) {
      out += fmt::format("complete -c weir -n '__fish_seen_subcommand_from {}' -a {} -d {}\n", first, second,
                         fish_quoted(find_command(first + " " + second)->summary));
    }
  }
  std::set<std::pair<std::string, std::string>> seen;
  for (const CommandSpec& command : commands()) {
    const std::string first(command.name.substr(0, command.name.find(' ')));
    for (const OptionSpec& option : own_options(command)) {
      if (!seen.insert({first, std::string(option.name)}).second) continue;
      out += fmt::format("complete -c weir -n '__fish_seen_subcommand_from {}' -l {}{} -d {}\n", first, option.name,
                         option.type == ValueType::none ? "" : " -r", fish_quoted(option.help));
    }
  }
  for (const OptionSpec& option : common_options()) {
    out +=
        fmt::format("complete -c weir -l {}{} -d {}\n", option.name, option.type == ValueType::none ? "" : " -r", fish_quoted(option.help));
  }
  return out;
}

}  // namespace

std::string completions(std::string_view shell) {
  if (shell == "bash") return bash_completions();
  if (shell == "zsh") return zsh_completions();
  return fish_completions();
}

}  // namespace weir::cli
