// Configuration: one table of keys, five origins (default, user file, project file, environment, flag), each value with
// where it came from. A project's file cannot open doors: keys it may not set are ignored there and reported.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/secrets.h"
#include "json/value.h"

namespace weir {

struct ConfigKey {
  enum class Type { text, path, boolean, integer, size, ratio, choice, texts, paths, mask_rules };
  std::string_view name;
  Type type;
  std::string_view fallback;     // the default, as TOML writes it; empty: none
  std::string_view choices;      // of a choice, with | between
  bool project;                  // may a project's file set it?
  std::string_view environment;  // variable that sets it; empty: none
  std::string_view help;
};
std::span<const ConfigKey> config_keys();

using ConfigValue =
    std::variant<std::monostate, std::string, bool, std::int64_t, std::vector<std::string>, std::vector<Masker::Extra>, double>;

struct ConfigEntry {
  ConfigValue value;
  std::string origin = "default";  // `user FILE:LINE`, `project FILE:LINE`, `env NAME`, `flag`
};

// A key of the project's file that was not obeyed.
struct ConfigFinding {
  std::string file;
  std::int64_t line = 0;
  std::string key, why;
};

class Config {
 public:
  struct Sources {
    std::string user_file;  // may be missing unless `user_file_required`
    bool user_file_required = false;
    std::string project_file;                        // empty: none
    std::map<std::string, std::string> environment;  // what is set of the variables in the table
    std::map<std::string, std::string> flags;        // key -> value as typed
    std::string home, data_home;                     // for ~ and the default store
    std::string working_directory;
  };
  // INVALID_FIELD with file, line and the nearest name for an unknown key or a wrong type.
  static Result<Config> load(Files& files, const Sources& sources);

  const std::string& text(std::string_view key) const;  // empty if there is none
  bool boolean(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;  // also sizes, in bytes; 0 if there is none
  double ratio(std::string_view key) const;
  const std::vector<std::string>& texts(std::string_view key) const;

  const ConfigEntry& entry(std::string_view key) const;
  const std::vector<ConfigFinding>& findings() const { return findings_; }
  Masker::Options mask_options() const;

  json::Value to_json(std::string_view key, json::Arena& arena) const;

 private:
  std::map<std::string, ConfigEntry, std::less<>> entries_;
  std::vector<ConfigFinding> findings_;
};

// 60kb, 60kib, 4mb, 4mib, 1gb or plain bytes.
Result<std::int64_t> parse_size(std::string_view text);

}  // namespace weir
