#include "cli/arguments.h"

#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "base/time.h"
#include "cli/command_table.h"
#include "service/config.h"

namespace weir::cli {
namespace {

Error usage(std::string message, const CommandSpec* command) {
  const std::string hint = command == nullptr ? "weir help" : "weir help " + std::string(command->name);
  return Error(ErrorCode::USAGE, std::move(message)).with("help", hint);
}

bool one_of(std::string_view choices, std::string_view value) {
  return !value.empty() && value.find('|') == std::string_view::npos &&
         ("|" + std::string(choices) + "|").find("|" + std::string(value) + "|") != std::string::npos;
}

bool is_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

Result<void> check_value(const OptionSpec& option, const std::string& value, const CommandSpec* command) {
  const std::string name = "--" + std::string(option.name);
  switch (option.type) {
    case ValueType::integer:
      if (!is_number(value)) return usage(name + " takes a whole number, not '" + value + "'", command);
      break;
    case ValueType::size:
      if (!parse_size(value).ok()) return usage(name + " takes a size such as 60kb, not '" + value + "'", command);
      break;
    case ValueType::time:
      if (!parse_time(value).ok()) return usage(name + " takes a time such as 2026-01-31T12:00:00Z, not '" + value + "'", command);
      break;
    case ValueType::duration:
      if (!is_number(value)) return usage(name + " takes whole seconds, not '" + value + "'", command);
      break;
    case ValueType::choice:
      if (!one_of(option.value, value))
        return usage(name + " takes one of " + std::string(option.value) + ", not '" + value + "'" + did_you_mean(value, option.value),
                     command);
      break;
    case ValueType::text:
    case ValueType::path:
      if (value.empty() && !option.blank) return usage(name + " needs a value", command);
      break;
    case ValueType::none:
      break;
  }
  return {};
}

const OptionSpec* find_option(const std::vector<OptionSpec>& options, std::string_view name) {
  const auto it = std::find_if(options.begin(), options.end(), [&](const OptionSpec& option) { return option.name == name; });
  return it == options.end() ? nullptr : &*it;
}

Error unknown_option(std::string_view name, const std::vector<OptionSpec>& options, const CommandSpec* command) {
  std::vector<std::string_view> names;
  for (const OptionSpec& option : options) names.push_back(option.name);
  const std::string_view near = nearest(name, names);
  std::string message = "no option --" + std::string(name) + (command == nullptr ? "" : " of '" + std::string(command->name) + "'");
  if (!near.empty()) message += "; did you mean --" + std::string(near) + "?";
  return usage(std::move(message), command);
}

Result<const OptionSpec*> taken_option(const std::string& name, const std::vector<OptionSpec>& options, const CommandSpec& command) {
  const OptionSpec* option = find_option(options, name);
  if (option == nullptr) return unknown_option(name, options, &command);
  const std::string_view why = refusal(command, name);
  if (!why.empty()) return usage("'" + std::string(command.name) + "' does not take --" + name + ": " + std::string(why), &command);
  return option;
}

// Takes the command's words off the front; `words` then holds its arguments. `first` stays for options before it.
Result<const CommandSpec*> take_command(std::vector<std::string>& words) {
  if (words.size() >= 2) {
    if (const CommandSpec* two = find_command(words[0] + " " + words[1])) {
      words.erase(words.begin(), words.begin() + 2);
      return two;
    }
  }
  if (const CommandSpec* one = find_command(words[0])) {
    words.erase(words.begin());
    return one;
  }
  const CommandSpec* fallback = default_command(words[0]);
  if (fallback != nullptr && words.size() == 1) {
    words.clear();
    return fallback;
  }
  std::vector<std::string_view> names;
  for (const CommandSpec& command : commands()) {
    if (fallback == nullptr || command.name.starts_with(words[0] + " ")) names.push_back(command.name);
  }
  const std::string typed = fallback == nullptr ? words[0] : words[0] + " " + words[1];
  return usage("no command '" + typed + "'" + did_you_mean(typed, names, "'"), nullptr);
}

Result<void> check_words(const CommandSpec& command, const std::vector<std::string>& words) {
  std::size_t i = 0;
  for (const ArgumentSpec& argument : command.arguments) {
    if (i == words.size()) {
      if (argument.required)
        return usage("'" + std::string(command.name) + "' needs " + std::string(argument.name) + ": " + std::string(argument.help),
                     &command);
      break;
    }
    if (!argument.choices.empty() && !argument.others && !one_of(argument.choices, words[i])) {
      return usage(std::string(argument.name) + " is one of " + std::string(argument.choices) + ", not '" + words[i] + "'" +
                       did_you_mean(words[i], argument.choices),
                   &command);
    }
    i = argument.repeat ? words.size() : i + 1;
  }
  if (i < words.size()) return usage("'" + std::string(command.name) + "' does not take '" + words[i] + "'", &command);
  return {};
}

}  // namespace

std::optional<std::string> Arguments::value(std::string_view option) const {
  const auto it = options.find(option);
  return it == options.end() || it->second.empty() ? std::nullopt : std::optional(it->second.back());
}

const std::vector<std::string>& Arguments::values(std::string_view option) const {
  static const std::vector<std::string> kNone;
  const auto it = options.find(option);
  return it == options.end() ? kNone : it->second;
}

Result<Arguments> parse_arguments(const std::vector<std::string>& typed) {
  // Options may stand before the command, and their values must not be taken for it: find the words first.
  Arguments out;
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::optional<std::string>>> given;  // option, value
  std::vector<OptionSpec> every = common_options();
  for (const CommandSpec& command : commands()) {
    for (const OptionSpec& option : all_options(command)) every.push_back(option);
  }
  bool options_end = false;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    std::string word = typed[i];
    if (options_end || word == "-" || !word.starts_with("-")) {
      words.push_back(word);
      continue;
    }
    if (word == "--") {
      options_end = true;
      continue;
    }
    if (word == "-h") word = "--help";
    if (word == "-o") word = "--output";
    if (!word.starts_with("--")) return usage("no option " + word, nullptr);
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    const OptionSpec* option = find_option(every, name);
    if (option == nullptr) {
      given.emplace_back(name, std::nullopt);
      continue;
    }
    if (option->type == ValueType::none) {
      if (equals != std::string::npos) return usage("--" + name + " takes no value", nullptr);
      given.emplace_back(name, std::nullopt);
    } else if (equals != std::string::npos) {
      given.emplace_back(name, word.substr(equals + 1));
    } else if (i + 1 < typed.size()) {
      given.emplace_back(name, typed[++i]);
    } else {
      return usage("--" + name + " needs a value", nullptr);
    }
  }
  const auto flagged = [&](std::string_view name) {
    return std::any_of(given.begin(), given.end(), [&](const auto& g) { return g.first == name; });
  };
  if (flagged("version")) {
    out.options["version"];
    return out;
  }
  // Help about it, whatever else is wrong; only how it is to look is taken from what was typed.
  const auto show_help = [&]() -> Result<Arguments> {
    out.command = find_command("help");
    for (const auto& [name, value] : given) {
      if (name != "json" && name != "color") continue;
      if (value) TRY_DO(check_value(*find_option(every, name), *value, nullptr));
      out.options[name] = {value.value_or("")};
    }
    return std::move(out);
  };
  if (words.empty()) {
    if (!flagged("help") && !given.empty() && find_option(every, given[0].first) == nullptr)
      return unknown_option(given[0].first, every, nullptr);
    return show_help();
  }
  TRY(out.command, take_command(words));
  if (flagged("help")) {
    out.words = {std::string(out.command->name)};
    return show_help();
  }
  const std::vector<OptionSpec> options = all_options(*out.command);
  for (auto& [name, value] : given) {
    TRY(const OptionSpec* const option, taken_option(name, options, *out.command));
    auto& values = out.options[name];
    if (value) TRY_DO(check_value(*option, *value, out.command));
    if (!values.empty() && !option->repeat) values.clear();
    values.push_back(value.value_or(""));
  }
  TRY_DO(check_words(*out.command, words));
  out.words = std::move(words);
  return out;
}

}  // namespace weir::cli
