#include "ctree/breadboard_config.h"

#include "ctree/breadboard_python.h"

namespace weir::breadboard {
namespace {

// A block of the settings; a key in it wins over the same one on the top level, even when it is null.
class Block {
 public:
  Block(const Value& config, std::string_view name) : config_(config), block_(config.get(name)) {}

  Value here(std::string_view key) const { return block_.get(key); }
  Value here_or_above(std::string_view key, std::string_view above) const {
    const Value* found = block_.find(key);
    return found == nullptr ? config_.get(above) : *found;
  }
  Value here_or_above(std::string_view key) const { return here_or_above(key, key); }

 private:
  const Value& config_;
  Value block_;  // nothing is found in one that is no object
};

Result<std::vector<std::string>> kinds_of(const Value& given) {
  const Value list = given.is_string() ? Value::array({given}) : given;
  std::vector<std::string> kinds;
  for (const Value& item : list.items()) {
    TRY(std::string kind, to_str(item, "an entry of kind_allowlist"));
    if (!is_blank(kind)) kinds.push_back(std::move(kind));
  }
  if (kinds.empty()) kinds.emplace_back("message");
  return kinds;
}

Value limit_of(const Value& given, bool zero_is_none) {
  const auto number = to_int(given);
  if (!number || is_negative(*number) || (zero_is_none && !is_true(*number))) return {};
  return *number;
}

bool flag_of(const Value& given, bool otherwise) { return given.is_null() ? otherwise : is_true(given); }

}  // namespace

Result<Value> object_or_empty(const Value& value, std::string_view what) {
  if (value.is_object()) return value;
  if (!is_true(value)) return Value::object({});
  return Error(ErrorCode::CONFIG_INVALID, std::string(what) + " is no object");
}

Result<Config> read_config(const Value& given) {
  TRY(const Value config, object_or_empty(given, "the compiler's config"));
  const Block selection(config, "selection"), header(config, "header");
  Config out;
  TRY(out.kinds, kinds_of(selection.here_or_above("kind_allowlist")));
  out.max_nodes = limit_of(selection.here_or_above("max_nodes"), false);
  out.max_turns = limit_of(selection.here_or_above("max_turns"), false);
  out.max_message_chars = limit_of(selection.here("max_message_chars"), true);
  out.pin_latest = flag_of(selection.here("pin_latest_user_assistant"), true);
  out.pin_first_system = flag_of(selection.here("pin_first_system"), false);
  const Value mode = header.here_or_above("mode", "header_mode");
  out.previews = mode.is_string() && lower(strip(mode.text())) == "sanitized_content";
  if (const auto chars = to_int(header.here_or_above("preview_chars"))) out.preview_chars = is_negative(*chars) ? 0 : nearest_int64(*chars);
  out.redact_secret_like = flag_of(header.here_or_above("redact_secret_like"), true);
  return out;
}

}  // namespace weir::breadboard
