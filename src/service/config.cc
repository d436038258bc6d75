#include "service/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/open_beneath.h"
#include "base/paths.h"
#include "base/secrets.h"
#include "service/render.h"
#include "service/toml.h"

namespace weir {
namespace {

using Type = ConfigKey::Type;

constexpr ConfigKey kKeys[] = {
    {"store.path", Type::path, "", "", false, "WEIR_STORE", "directory of the store"},
    {"store.url", Type::text, "", "", false, "", "a PostgreSQL store instead; not built yet"},
    {"store.durability", Type::choice, "full", "full|normal", false, "", "normal: a power cut may lose the last acknowledged entries"},
    {"read.roots", Type::paths, "[\".\"]", "", true, "WEIR_ROOTS", "directories that may be read"},
    {"read.deny", Type::texts, "[]", "", true, "", "names that are never served"},
    {"read.hard_links", Type::choice, "allow", "allow|refuse", false, "", "files with a second name"},
    {"read.denied", Type::choice, "", "serve|refuse", false, "", "files on the deny list: served without a trace, or refused"},
    {"read.enabled", Type::boolean, "true", "", true, "", "off: plain reads, nothing recorded"},
    {"read.range_diff", Type::boolean, "false", "", true, "", "a changed range may be answered as a diff"},
    {"read.never_inflate", Type::boolean, "false", "", true, "", "a marker or diff gives way to content that is not longer"},
    {"read.shift_map", Type::boolean, "false", "", true, "", "a range shown under other line numbers may be unchanged"},
    {"read.markers", Type::choice, "plain", "plain|located", true, "", "located: markers say where the content was shown"},
    {"read.marker_repeat", Type::integer, "2", "", true, "", "the same marker in a row before content is sent; 0: no limit"},
    {"read.max_lines", Type::integer, "2000", "", true, "", "lines of one answer"},
    {"read.max_bytes", Type::size, "50kib", "", true, "", "bytes of one answer"},
    {"read.line_count", Type::choice, "current", "current|legacy", true, "", "legacy: an empty last line counts, as in pi up to 0.73"},
    {"read.max_file_bytes", Type::size, "256mib", "", false, "", "larger files are refused"},
    {"read.store_max_bytes", Type::size, "8mib", "", false, "", "larger files are compared by version only"},
    {"read.diff_max_bytes", Type::size, "2mib", "", true, "", "larger versions are not compared line by line"},
    {"read.diff_max_lines", Type::integer, "12000", "", true, "", "the same in lines"},
    {"read.diff_bytes_ratio", Type::ratio, "0.9", "", true, "", "a diff must be smaller than this share of the file"},
    {"read.diff_lines_ratio", Type::ratio, "0.85", "", true, "", "the same in lines"},
    {"read.diff_max_cost", Type::integer, "20000000", "", false, "", "comparisons of lines before a diff is given up"},
    {"read.diff_deadline_ms", Type::integer, "250", "", false, "", "the same in time"},
    {"read.versions_per_read", Type::integer, "8", "", false, "", "earlier versions loaded for one answer"},
    {"read.view_intervals", Type::integer, "4096", "", false, "", "stretches of lines remembered of one file"},
    {"read.blob_budget_bytes", Type::size, "1gib", "", false, "", "bytes of earlier versions that gc leaves"},
    {"mask.enabled", Type::boolean, "true", "", false, "", "mask secrets before anything is stored"},
    {"mask.off", Type::texts, "[]", "", false, "", "families of secrets that are left alone"},
    {"mask.extra", Type::mask_rules, "[]", "", false, "", "families of your own: [{name, pattern}]"},
    {"compile.profile", Type::choice, "weir-1", "weir-1|breadboard-0.1", true, "", "profile of the context compiler"},
    {"compile.secret_keys", Type::texts, "[]", "", true, "", "keys besides the table's whose values are secrets"},
    {"compile.volatile_keys", Type::texts, "[]", "", true, "", "keys besides the table's that change from run to run"},
    {"compile.hash_key_id", Type::text, "", "", true, "", "name of the key for keyed hashes"},
    {"compile.hash_key_file", Type::path, "", "", true, "", "file that holds it"},
    {"context.budget", Type::size, "", "", true, "", "bytes of the next prompt"},
    {"context.format", Type::choice, "anthropic", "anthropic|openai|plain", true, "", "form of the next prompt"},
    {"compaction.event_threshold", Type::integer, "18", "", true, "", "events after which a compaction is due"},
    {"compaction.n_step_fallback", Type::integer, "8", "", true, "", "steps after which a compaction is due"},
    {"compaction.plain_bytes_threshold", Type::integer, "0", "", true, "", "bytes after which one is due in a plain session"},
    {"research.runs_root", Type::path, "", "", true, "WEIR_RUNS_ROOT", "directory of research runs"},
    {"research.agents", Type::texts, "[]", "", true, "", "names of research agents"},
    {"http.listen", Type::text, "127.0.0.1:7717", "", false, "WEIR_LISTEN", "address of the server"},
    {"http.allow_hosts", Type::texts, "[]", "", false, "", "hosts besides localhost"},
    {"http.allow_origins", Type::texts, "[]", "", false, "", "origins besides localhost"},
    {"http.token_file", Type::path, "", "", false, "WEIR_TOKEN_FILE", "file with the bearer token"},
    {"import.roots", Type::paths, R"(["~/.pi", "~/.claude", "~/.codex", "~/.gemini", "~/.local/share/opencode"])", "", false, "",
     "where agents keep their sessions"},
    {"handover.max_bytes", Type::size, "16kib", "", true, "", "bytes a hook hands over"},
    {"limits.store_bytes", Type::size, "0", "", false, "", "most bytes of the store, objects included; 0: no limit"},
    {"limits.session_entries", Type::integer, "0", "", false, "", "most entries of one session; 0: no limit"},
    {"log.level", Type::choice, "warn", "error|warn|info|debug", true, "WEIR_LOG", "what goes to stderr"},
    {"log.format", Type::choice, "text", "text|json", true, "", "how it looks"},
};

const ConfigKey* find_key(std::string_view name) {
  const auto it = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const ConfigKey& key) { return key.name == name; });
  return it == std::end(kKeys) ? nullptr : it;
}

Error invalid(std::string_view place, std::string_view key, std::string message) {
  std::string text = fmt::format("{}: {}: {}", place, key, message);
  return Error(ErrorCode::INVALID_FIELD, text).with_fields({{std::string(key), std::move(message)}}).with("origin", std::string(place));
}

bool under(const std::string& path, const std::string& directory) { return path == directory || path.starts_with(directory + "/"); }

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// What a value is relative to, and how it is shown.
struct Place {
  std::string origin;     // of the entry
  std::string directory;  // relative paths start here
};

class Loader {
 public:
  Loader(const Config::Sources& sources, std::map<std::string, ConfigEntry, std::less<>>& entries) : sources_(sources), entries_(entries) {}

  std::string absolute(std::string_view path, const std::string& directory) const {
    if (path == "~" || path.starts_with("~/")) return clean_path(sources_.home + std::string(path.substr(1)));
    if (path.starts_with("/")) return clean_path(path);
    return clean_path(directory + "/" + std::string(path));
  }

  // Without a home or a working directory, what starts there would start at the root of everything.
  bool leads_nowhere(std::string_view path, const std::string& directory) const {
    if (path.starts_with('/')) return false;
    return path == "~" || path.starts_with("~/") ? sources_.home.empty() : directory.empty();
  }

  // A value in TOML's types.
  Result<void> set(const ConfigKey& key, const toml::Item& item, const Place& place) {
    TRY(ConfigValue value, convert(key, item, place));
    entries_[std::string(key.name)] = {std::move(value), place.origin};
    return {};
  }

  // The same from a project's file: paths that are or lead outside `place.directory` are left out, and a value of nothing
  // else is not taken at all. Answers what was left out.
  Result<std::vector<std::string>> set_inside(const ConfigKey& key, const toml::Item& item, const Place& place) {
    TRY(ConfigValue value, convert(key, item, place));
    std::vector<std::string> outside;
    const auto is_outside = [&](const std::string& path) {
      if (under(path, place.directory) && under(follow_links(path), follow_links(place.directory))) return false;
      outside.push_back(path);
      return true;
    };
    if (key.type == Type::path && is_outside(std::get<std::string>(value))) return outside;
    if (key.type == Type::paths) {
      auto& paths = std::get<std::vector<std::string>>(value);
      std::erase_if(paths, is_outside);
      if (paths.empty() && !outside.empty()) return outside;
    }
    ConfigEntry& entry = entries_[std::string(key.name)];
    if (key.name == "read.deny" || key.name == "compile.secret_keys") {  // what the user closed stays closed
      auto& texts = std::get<std::vector<std::string>>(value);
      if (const auto* had = std::get_if<std::vector<std::string>>(&entry.value)) texts.insert(texts.begin(), had->begin(), had->end());
    }
    entry = {std::move(value), place.origin};
    return outside;
  }

  // A value as typed in a flag or variable, or in the table of defaults.
  Result<void> set_text(const ConfigKey& key, std::string_view text, const Place& place) {
    toml::Item item;
    const bool list = key.type == Type::texts || key.type == Type::paths;
    if (text.starts_with("[") && (list || key.type == Type::mask_rules)) {
      TRY(item, toml::parse_value(text));
    } else if (list) {
      // PATH style: colons between.
      std::vector<std::string> parts;
      for (std::size_t at = 0; at <= text.size();) {
        const std::size_t colon = std::min(text.find(':', at), text.size());
        if (colon > at) parts.emplace_back(text.substr(at, colon - at));
        at = colon + 1;
      }
      item.value = std::move(parts);
    } else if (key.type == Type::boolean) {
      if (text != "true" && text != "false") return invalid(place.origin, key.name, "must be true or false");
      item.value = text == "true";
    } else if (key.type == Type::ratio) {
      double real = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
      if (error != std::errc() || end != text.data() + text.size()) return invalid(place.origin, key.name, "must be a number");
      item.value = real;
    } else if (key.type == Type::integer) {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || end != text.data() + text.size()) return invalid(place.origin, key.name, "must be an integer");
      item.value = number;
    } else {
      item.value = std::string(text);
    }
    return set(key, item, place);
  }

 private:
  Result<ConfigValue> convert(const ConfigKey& key, const toml::Item& item, const Place& place) const {
    const auto wrong = [&](std::string_view expected) { return invalid(place.origin, key.name, "must be " + std::string(expected)); };
    const auto* text = std::get_if<std::string>(&item.value);
    const auto* number = std::get_if<std::int64_t>(&item.value);
    switch (key.type) {
      case Type::text:
        if (text == nullptr) return wrong("a string");
        return ConfigValue(*text);
      case Type::path:
        if (text == nullptr || text->empty()) return wrong("a path");
        if (leads_nowhere(*text, place.directory)) return wrong("an absolute path: there is no directory to start from");
        return ConfigValue(absolute(*text, place.directory));
      case Type::boolean:
        if (!std::holds_alternative<bool>(item.value)) return wrong("true or false");
        return ConfigValue(std::get<bool>(item.value));
      case Type::integer:
        if (number == nullptr || *number < 0) return wrong("an integer of 0 or more");
        return ConfigValue(*number);
      case Type::size: {
        if (number != nullptr && *number >= 0) return ConfigValue(*number);
        if (text == nullptr) return wrong("a size such as \"60kib\"");
        auto size = parse_size(*text);
        if (!size.ok()) return wrong("a size such as \"60kib\"");
        return ConfigValue(*size);
      }
      case Type::ratio: {
        const auto* real = std::get_if<double>(&item.value);
        const double value = real != nullptr ? *real : number != nullptr ? static_cast<double>(*number) : -1;
        if (!(value >= 0 && value <= 1)) return wrong("a number from 0 to 1");
        return ConfigValue(value);
      }
      case Type::choice: {
        const std::string wanted = "one of " + std::string(key.choices);
        if (text == nullptr || text->find('|') != std::string::npos || text->empty()) return wrong(wanted);
        if (("|" + std::string(key.choices) + "|").find("|" + *text + "|") == std::string::npos)
          return wrong(wanted + did_you_mean(*text, key.choices));
        return ConfigValue(*text);
      }
      case Type::texts:
      case Type::paths: {
        const auto* list = std::get_if<std::vector<std::string>>(&item.value);
        if (list == nullptr) return wrong("an array of strings");
        std::vector<std::string> out;
        const auto nowhere = [&](const std::string& part) { return key.type == Type::paths && leads_nowhere(part, place.directory); };
        if (std::any_of(list->begin(), list->end(), nowhere)) return wrong("absolute paths: there is no directory to start from");
        for (const std::string& part : *list) out.push_back(key.type == Type::paths ? absolute(part, place.directory) : part);
        return ConfigValue(std::move(out));
      }
      case Type::mask_rules: {
        if (const auto* none = std::get_if<std::vector<std::string>>(&item.value); none != nullptr && none->empty())
          return ConfigValue(std::vector<Masker::Extra>());
        const auto* tables = std::get_if<std::vector<toml::Table>>(&item.value);
        if (tables == nullptr) return wrong("an array of {name, pattern}");
        std::vector<Masker::Extra> out;
        for (const toml::Table& table : *tables) {
          const auto name = table.find("name"), pattern = table.find("pattern");
          if (table.size() != 2 || name == table.end() || pattern == table.end()) return wrong("an array of {name, pattern}");
          out.push_back({name->second, pattern->second});
        }
        return ConfigValue(std::move(out));
      }
    }
    return wrong("something else");
  }

  const Config::Sources& sources_;
  std::map<std::string, ConfigEntry, std::less<>>& entries_;
};

Error unknown_key(const std::string& place, const std::string& key) {
  std::vector<std::string_view> names;
  for (const ConfigKey& known : kKeys) names.push_back(known.name);
  return invalid(place, key, "is not a known key" + did_you_mean(key, names));
}

// Families that are there and patterns that can be used: else nothing runs.
Result<void> check_masks(const Config& config) {
  const Masker::Options given = config.mask_options();
  Masker::Options only_extra;
  std::vector<std::string_view> names;
  for (const SecretFamily& family : secret_families()) {
    names.push_back(family.name);
    only_extra.off.emplace_back(family.name);
  }
  for (const std::string& name : given.off) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return invalid(config.entry("mask.off").origin, "mask.off",
                   fmt::format("no family of secrets is called '{}'{}", name, did_you_mean(name, names)));
  }
  only_extra.extra = given.extra;
  if (const auto made = Masker::make(only_extra); !made.ok())
    return invalid(config.entry("mask.extra").origin, "mask.extra", made.error().message());
  return {};
}

}  // namespace

std::span<const ConfigKey> config_keys() { return kKeys; }

Result<Config> Config::load(Files& files, const Sources& sources) {
  Config config;
  Loader loader(sources, config.entries_);
  for (const ConfigKey& key : kKeys) {
    config.entries_[std::string(key.name)];
    if (key.fallback.empty()) continue;
    auto set = loader.set_text(key, key.fallback, {"default", sources.working_directory});
    if (!set.ok() && key.type != Type::paths) return std::move(set).error();
    if (!set.ok()) config.entries_[std::string(key.name)].value = std::vector<std::string>();  // they lead nowhere
  }
  config.entries_["store.path"].value = sources.data_home + "/weir";

  const auto load_file = [&](const std::string& path, std::string_view kind, bool required) -> Result<void> {
    auto content = files.read(path, limits::kConfigBytes);
    if (!content.ok() && content.error().code() == ErrorCode::NOT_FOUND && !required) return {};
    TRY_DO(content);
    TRY(const auto items, toml::parse_file(*content, path));
    const bool project = kind == "project";
    // A project's settings are about the project: the directory that holds .weir/.
    std::string root = project ? directory_of(directory_of(path)) : directory_of(path);
    if (!root.starts_with('/') && !sources.working_directory.empty()) root = clean_path(sources.working_directory + "/" + root);
    if (!root.starts_with('/')) root.clear();
    for (const toml::Item& item : items) {
      const std::string place = fmt::format("{}:{}", path, item.line);
      const ConfigKey* key = find_key(item.key);
      if (key == nullptr) return unknown_key(place, item.key);
      if (project && !key->project) {
        config.findings_.push_back({path, item.line, item.key, "a project's file cannot set it"});
        continue;
      }
      const Place from{fmt::format("{} {}", kind, place), root};
      if (!project) {
        TRY_DO(loader.set(*key, item, from));
        continue;
      }
      TRY(const auto outside, loader.set_inside(*key, item, from));
      for (const std::string& one : outside)
        config.findings_.push_back({path, item.line, item.key, "'" + masked_text(one) + "' is outside the project"});
    }
    return {};
  };
  if (!sources.user_file.empty()) TRY_DO(load_file(sources.user_file, "user", sources.user_file_required));
  if (!sources.project_file.empty()) TRY_DO(load_file(sources.project_file, "project", false));
  for (const ConfigKey& key : kKeys) {
    const auto variable = sources.environment.find(std::string(key.environment));
    if (key.environment.empty() || variable == sources.environment.end() || variable->second.empty()) continue;
    TRY_DO(loader.set_text(key, variable->second, {"env " + std::string(key.environment), sources.working_directory}));
  }
  for (const auto& [name, value] : sources.flags) {
    const ConfigKey* key = find_key(name);
    WEIR_CHECK(key != nullptr);
    TRY_DO(loader.set_text(*key, value, {"flag", sources.working_directory}));
  }
  TRY_DO(check_masks(config));
  return config;
}

const ConfigEntry& Config::entry(std::string_view key) const {
  const auto it = entries_.find(key);
  WEIR_CHECK(it != entries_.end());
  return it->second;
}

const std::string& Config::text(std::string_view key) const {
  static const std::string kNone;
  const auto* text = std::get_if<std::string>(&entry(key).value);
  return text == nullptr ? kNone : *text;
}

bool Config::boolean(std::string_view key) const {
  const auto* value = std::get_if<bool>(&entry(key).value);
  return value != nullptr && *value;
}

std::int64_t Config::integer(std::string_view key) const {
  const auto* value = std::get_if<std::int64_t>(&entry(key).value);
  return value == nullptr ? 0 : *value;
}

double Config::ratio(std::string_view key) const {
  const auto* value = std::get_if<double>(&entry(key).value);
  return value == nullptr ? 0 : *value;
}

const std::vector<std::string>& Config::texts(std::string_view key) const {
  static const std::vector<std::string> kNone;
  const auto* value = std::get_if<std::vector<std::string>>(&entry(key).value);
  return value == nullptr ? kNone : *value;
}

Masker::Options Config::mask_options() const {
  Masker::Options options;
  options.enabled = boolean("mask.enabled");
  options.off = texts("mask.off");
  if (const auto* extra = std::get_if<std::vector<Masker::Extra>>(&entry("mask.extra").value)) options.extra = *extra;
  return options;
}

json::Value Config::to_json(std::string_view key, json::Arena& arena) const {
  const ConfigValue& value = entry(key).value;
  if (const auto* text = std::get_if<std::string>(&value)) return arena.copy(*text);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  std::vector<json::Value> items;
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& item : *list) items.push_back(arena.copy(item));
    return json::make_array(arena, items);
  }
  if (const auto* rules = std::get_if<std::vector<Masker::Extra>>(&value)) {
    for (const Masker::Extra& rule : *rules)
      items.push_back(json::make_object(arena, {{"name", arena.copy(rule.name)}, {"pattern", arena.copy(rule.pattern)}}));
    return json::make_array(arena, items);
  }
  return {};
}

Result<std::int64_t> parse_size(std::string_view text) {
  const Error bad(ErrorCode::INVALID_FIELD, "a size is a number and kb, mb, gb, kib, mib or gib, not '" + masked_excerpt(text, 40) + "'");
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return bad;
  std::string unit(end, text.data() + text.size());
  std::transform(unit.begin(), unit.end(), unit.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  static constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"", 1}, {"b", 1}, {"kb", 1000}, {"mb", 1000000}, {"gb", 1000000000}, {"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}};
  for (const auto& [name, factor] : kUnits) {
    if (unit != name) continue;
    if (number > ((std::int64_t{1} << 53) - 1) / factor) return bad;
    return number * factor;
  }
  return bad;
}

}  // namespace weir
