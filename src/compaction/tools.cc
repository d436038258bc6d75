#include "compaction/tools.h"

#include <algorithm>

#include "base/paths.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "compaction/carry.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace weir::compaction {
namespace {

using json::Value;

struct NamedClass {
  std::string_view name;
  ToolClass kind;
};
constexpr NamedClass kTools[] = {
    {"read", ToolClass::read},           {"read_file", ToolClass::read},       {"view", ToolClass::read},
    {"write", ToolClass::write},         {"write_file", ToolClass::write},     {"create_file", ToolClass::write},
    {"edit", ToolClass::edit},           {"multiedit", ToolClass::edit},       {"notebookedit", ToolClass::edit},
    {"replace", ToolClass::edit},        {"str_replace", ToolClass::edit},     {"patch", ToolClass::edit},
    {"apply_patch", ToolClass::edit},    {"bash", ToolClass::command},         {"shell", ToolClass::command},
    {"local_shell", ToolClass::command}, {"exec_command", ToolClass::command}, {"run_shell_command", ToolClass::command},
    {"terminal", ToolClass::command},    {"todowrite", ToolClass::todo},       {"todo_write", ToolClass::todo},
    {"update_plan", ToolClass::todo},
};
constexpr NamedClass kClasses[] = {{"read", ToolClass::read},
                                   {"write", ToolClass::write},
                                   {"edit", ToolClass::edit},
                                   {"command", ToolClass::command},
                                   {"todo", ToolClass::todo}};
constexpr std::string_view kPathKeys[] = {"path", "file_path", "filePath", "absolute_path", "notebook_path"};
constexpr std::string_view kPatchKeys[] = {"input", "patch", "patchText"};
constexpr std::string_view kPatchLines[] = {"*** Add File: ", "*** Update File: ", "*** Delete File: "};
constexpr std::string_view kCommandKeys[] = {"command", "cmd"};

void add_path(Call& call, std::string_view path) {
  // What a snapshot could not carry names no file.
  if (path.empty() || path.size() > kMostText) return;
  if (std::find(call.paths.begin(), call.paths.end(), path) == call.paths.end()) call.paths.emplace_back(path);
}

void add_patched(Call& call, std::string_view patch) {
  while (!patch.empty()) {
    const std::size_t end = patch.find('\n');
    std::string_view line = patch.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (const std::string_view mark : kPatchLines) {
      if (line.starts_with(mark)) add_path(call, line.substr(mark.size()));
    }
    patch = end == std::string_view::npos ? std::string_view() : patch.substr(end + 1);
  }
}

void read_paths(Call& call, const Value& arguments) {
  for (const std::string_view key : kPathKeys) {
    const Value* path = arguments.find(key);
    if (path != nullptr && path->is_string() && !path->text().empty()) return add_path(call, path->text());
  }
  for (const std::string_view key : kPatchKeys) {
    const Value* patch = arguments.find(key);
    if (patch != nullptr && patch->is_string()) add_patched(call, patch->text());
    if (!call.paths.empty()) return;
  }
}

// A string's text, or its preview and its name where it is a blob; other values as canonical JSON.
struct Argument {
  std::string text;
  std::uint64_t bytes = 0;
  std::string identity;
};
std::optional<Argument> argument(const Value* value) {
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (value->is_string()) return Argument{std::string(value->text()), value->text().size(), std::string(value->text())};
  if (const Value* bytes = value->find("bytes"); value->find("$blob") != nullptr && bytes != nullptr && bytes->is_integer()) {
    return Argument{std::string(value->text_or("preview", "")), static_cast<std::uint64_t>(std::max<std::int64_t>(bytes->integer(), 0)),
                    std::string(value->text_or("$blob", ""))};
  }
  if (!value->is_array()) return std::nullopt;
  std::string text = json::canonical(*value);
  return Argument{text, text.size(), text};
}

void read_command(Call& call, const Value& arguments) {
  for (const std::string_view key : kCommandKeys) {
    const auto command = argument(arguments.find(key));
    if (!command) continue;
    call.command_opening = whole_prefix(command->text, kOpening);
    call.command_bytes = command->bytes;
    call.command_key = sha256(call.tool + std::string(1, '\0') + command->identity).hex();
    call.command_line = utf8_prefix(first_line(command->text), 120);
    return;
  }
}

void read_todos(Call& call, const Value& arguments) {
  const auto read = [&](std::string_view list_key, std::string_view item_key) {
    const Value* list = arguments.find(list_key);
    if (list == nullptr || !list->is_array()) return false;
    for (const Value& item : list->items()) {
      const Value* text = item.find(item_key);
      if (text == nullptr || !text->is_string()) continue;
      call.todos.push_back(
          {std::string(whole_prefix(text->text(), kOpening)), std::string(whole_prefix(item.text_or("status", "pending"), kOpening))});
    }
    return true;
  };
  call.has_todos = read("todos", "content") || read("plan", "step");
}

void read_content(Call& call, const Value& arguments) {
  const Value* content = arguments.find("content");
  if (content == nullptr) return;
  if (content->is_string()) call.sha256 = sha256(content->text()).hex();
  if (const std::string_view blob = content->text_or("$blob", ""); blob.starts_with("sha256:")) call.sha256 = blob.substr(7);
}

}  // namespace

std::optional<ToolClass> parse_tool_class(std::string_view name) {
  const auto it = std::find_if(std::begin(kClasses), std::end(kClasses), [&](const NamedClass& c) { return c.name == name; });
  return it == std::end(kClasses) ? std::nullopt : std::optional(it->kind);
}

std::string plain_tool_name(std::string_view name) {
  if (const std::size_t at = name.rfind("__"); at != std::string_view::npos) name.remove_prefix(at + 2);
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

Call read_call(std::string_view name, const Value* arguments, const PMap<std::string, ToolClass>& more_names) {
  Call call;
  call.tool = whole_prefix(name, kMostId);
  const std::string plain = plain_tool_name(name);
  const ToolClass* given = more_names.find(name);
  if (given == nullptr) given = more_names.find(plain);
  if (given != nullptr) {
    call.kind = *given;
  } else {
    const auto it = std::find_if(std::begin(kTools), std::end(kTools), [&](const NamedClass& tool) { return tool.name == plain; });
    if (it != std::end(kTools)) call.kind = it->kind;
  }
  std::optional<json::Parser> parser;
  Value parsed;
  if (arguments != nullptr && arguments->is_string()) {  // as some providers send them
    const auto value = parser.emplace().parse(arguments->text());
    if (value.ok()) parsed = *value;
    arguments = &parsed;
  }
  if (arguments == nullptr || !arguments->is_object()) return call;
  read_paths(call, *arguments);
  read_command(call, *arguments);
  if (call.kind == ToolClass::todo) read_todos(call, *arguments);
  if (call.kind == ToolClass::write) read_content(call, *arguments);
  return call;
}

std::string carried_path(std::string_view cwd, std::string_view path) {
  if (!cwd.starts_with('/')) cwd = {};
  const bool absolute = path.starts_with('/');
  if (!absolute && cwd.empty()) return std::string(path);
  const std::string clean = clean_path(absolute ? std::string(path) : std::string(cwd) + "/" + std::string(path));
  if (cwd.empty()) return clean;
  const auto below = path_below(clean, clean_path(cwd));
  return below && !below->empty() ? std::string(*below) : clean;
}

}  // namespace weir::compaction
