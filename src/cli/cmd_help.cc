// help, completions, config.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "base/utf8.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/generate.h"
#include "cli/run.h"
#include "json/mask.h"
#include "service/read_settings.h"

namespace weir::cli {
namespace {

using json::Value;

Value command_json(const CommandSpec& command, json::Arena& arena) {
  std::vector<Value> options;
  for (const OptionSpec& option : all_options(command)) {
    options.push_back(
        json::make_object(arena, {{"name", option.name}, {"value", option.value}, {"help", option.help}, {"repeat", option.repeat}}));
  }
  std::vector<Value> arguments, examples, exits;
  for (const ArgumentSpec& argument : command.arguments) {
    arguments.push_back(json::make_object(arena, {{"name", argument.name},
                                                  {"choices", argument.choices},
                                                  {"help", argument.help},
                                                  {"required", argument.required},
                                                  {"repeat", argument.repeat}}));
  }
  for (const ExampleSpec& example : command.examples)
    examples.push_back(json::make_object(arena, {{"command", example.command}, {"what", example.what}}));
  for (const ExitSpec& exit : command.exits) exits.push_back(json::make_object(arena, {{"code", exit.code}, {"when", exit.when}}));
  return json::make_object(arena, {{"name", command.name},
                                   {"usage", arena.copy(usage_line(command))},
                                   {"summary", command.summary},
                                   {"text", command.text},
                                   {"stream", command.stream},
                                   {"writes", command.writes},
                                   {"destructive", command.destructive},
                                   {"progress", command.progress},
                                   {"arguments", json::make_array(arena, arguments)},
                                   {"options", json::make_array(arena, options)},
                                   {"examples", json::make_array(arena, examples)},
                                   {"exits", json::make_array(arena, exits)}});
}

}  // namespace

Result<int> run_help(Run& run) {
  std::string name;
  for (const std::string& word : run.arguments().words) name += (name.empty() ? "" : " ") + word;
  if (run.flag("markdown") && !run.json()) {
    run.print(reference_page());
    return 0;
  }
  std::vector<const CommandSpec*> wanted;
  std::vector<std::string_view> names;
  for (const CommandSpec& command : commands()) {
    names.push_back(command.name);
    if (command.name == name || (!name.empty() && command.name.starts_with(name + " "))) wanted.push_back(&command);
  }
  if (!name.empty() && wanted.empty())
    return Error(ErrorCode::USAGE, "no command '" + name + "'" + did_you_mean(name, names, "'")).with("help", "weir help");
  if (run.json()) {
    json::Arena arena;
    std::vector<Value> items;
    for (const CommandSpec& command : commands()) {
      if (name.empty() || std::find(wanted.begin(), wanted.end(), &command) != wanted.end()) items.push_back(command_json(command, arena));
    }
    run.object(json::make_object(arena, {{"commands", json::make_array(arena, items)}}));
    return 0;
  }
  if (name.empty()) {
    run.print(run.flag("man") ? man_page() : overview(run.paint()));
    return 0;
  }
  for (const CommandSpec* command : wanted) {
    if (command != wanted[0]) run.line("");
    run.print(run.flag("man") ? man_page(*command) : help_text(*command, run.paint()));
  }
  return 0;
}

Result<int> run_completions(Run& run) {
  const std::string script = completions(*run.word(0));
  if (run.json()) {
    json::Arena arena;
    run.object(json::make_object(arena, {{"shell", *run.word(0)}, {"script", script}}));
  } else {
    run.print(script);
  }
  return 0;
}

Result<int> run_config_show(Run& run) {
  TRY(const Config* const config, run.config());
  json::Arena arena;
  MaskCounts counts;
  std::vector<Value> items;
  const auto wanted = run.word(0);
  bool found = false;
  for (const ConfigKey& key : config_keys()) {
    if (wanted && key.name != *wanted) continue;
    found = true;
    const Value value = json::mask(config->to_json(key.name, arena), Masker::standard(), arena, counts);
    const std::string& origin = config->entry(key.name).origin;
    if (run.json()) {
      json::ObjectBuilder item(arena);
      item.add("key", key.name).add("value", value).add("origin", origin);
      items.push_back(item.build());
    } else if (run.flag("origin")) {
      run.line(fmt::format("{} = {}  {}", run.paint()(Style::cyan, key.name), printable(json::canonical(value)),
                           run.paint()(Style::dim, "# " + printable(origin))));
    } else {
      run.line(fmt::format("{} = {}", run.paint()(Style::cyan, key.name), printable(json::canonical(value))));
    }
  }
  if (wanted && !found) {
    std::vector<std::string_view> names;
    for (const ConfigKey& key : config_keys()) names.push_back(key.name);
    return Error(ErrorCode::INVALID_FIELD, "no key '" + *wanted + "'" + did_you_mean(*wanted, names))
        .with_fields({{*wanted, "is not a known key"}});
  }
  if (run.json()) run.object(json::make_object(arena, {{"config", json::make_array(arena, items)}}));
  return 0;
}

Result<int> run_config_check(Run& run) {
  TRY_DO(run.settings());
  TRY(const Config* const config, run.config());
  TRY_DO(read_options(*config, false));
  const auto& findings = config->findings();
  if (run.json()) {
    json::Arena arena;
    std::vector<Value> items;
    for (const ConfigFinding& finding : findings) {
      items.push_back(
          json::make_object(arena, {{"file", finding.file}, {"line", finding.line}, {"key", finding.key}, {"why", finding.why}}));
    }
    run.object(json::make_object(arena, {{"ok", findings.empty()}, {"ignored", json::make_array(arena, items)}}));
  } else {
    for (const ConfigFinding& finding : findings) {
      run.line(fmt::format("{} {}:{}: {}: {}", run.paint()(Style::yellow, "ignored"), printable(finding.file), finding.line, finding.key,
                           printable(finding.why)));
    }
    if (findings.empty()) run.line("configuration is in order");
  }
  return findings.empty() ? 0 : 3;
}

Result<int> run_config_path(Run& run) {
  const Config::Sources sources = run.config_sources();
  const auto there = [&](const std::string& path) { return !path.empty() && run.doors().files.stat(path).ok(); };
  if (run.json()) {
    json::Arena arena;
    const auto item = [&](const std::string& path) {
      return path.empty() ? Value() : json::make_object(arena, {{"path", path}, {"there", there(path)}});
    };
    run.object(json::make_object(arena, {{"user", item(sources.user_file)}, {"project", item(sources.project_file)}}));
    return 0;
  }
  run.line(fmt::format("user     {}{}", printable(sources.user_file), there(sources.user_file) ? "" : "  (not there)"));
  run.line(fmt::format("project  {}", sources.project_file.empty() ? "(none from here upwards)" : printable(sources.project_file)));
  return 0;
}

}  // namespace weir::cli
