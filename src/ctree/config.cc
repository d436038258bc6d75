#include "ctree/config.h"

#include <algorithm>

namespace weir::ctree {
namespace {

using json::Arena;
using json::Value;

constexpr std::int64_t kMost = (std::int64_t{1} << 53) - 1;
constexpr std::int64_t kLeastBytes = 256, kMostPreview = 4096;

// An object of the configuration: its members, none of them null unless that means something, and no others.
class Block {
 public:
  Block(const Value* value, std::string path, json::FieldErrors& errors)
      : value_(value == nullptr ? Value::object({}) : *value), decoder_(value_, std::move(path), errors), errors_(errors) {}
  ~Block() { decoder_.close(); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const Value* object(std::string_view key) {
    not_null(key);
    return decoder_.object(key);
  }
  std::optional<std::string_view> text(std::string_view key) {
    not_null(key);
    return decoder_.text(key);
  }
  void flag(std::string_view key, bool& out) {
    not_null(key);
    out = decoder_.boolean(key).value_or(out);
  }
  void number(std::string_view key, std::int64_t least, std::int64_t most, std::uint64_t& out) {
    not_null(key);
    if (const auto given = decoder_.integer(key, least, most)) out = static_cast<std::uint64_t>(*given);
  }
  void limit(std::string_view key, Limit& out, std::int64_t least = 0) {
    if (is_null(key)) out.reset();
    if (const auto given = decoder_.integer(key, least, kMost)) out = static_cast<std::uint64_t>(*given);
  }
  // One of two words; true for the second.
  void either(std::string_view key, std::string_view first, std::string_view second, bool& out) {
    not_null(key);
    const auto word = decoder_.text(key);
    if (!word) return;
    if (*word == first || *word == second) {
      out = *word == second;
    } else {
      decoder_.wrong(key, "must be " + std::string(first) + " or " + std::string(second));
    }
  }
  void texts(std::string_view key, std::vector<std::string>& out) {
    not_null(key);
    const Value* list = decoder_.array(key);
    if (list == nullptr) return;
    out.clear();
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      const Value& item = list->items()[i];
      if (item.is_string()) {
        out.emplace_back(item.text());
      } else {
        errors_.add(json::pointer(decoder_.path(), key) + "/" + std::to_string(i),
                    "must be a string, is " + std::string(json::kind_name(item)));
      }
    }
  }
  void kinds(std::string_view key, KindSet& out) {
    texts(key, out.names);
    std::sort(out.names.begin(), out.names.end());
    out.names.erase(std::unique(out.names.begin(), out.names.end()), out.names.end());
  }
  bool has(std::string_view key) const { return value_.find(key) != nullptr; }
  bool is_null(std::string_view key) const { return has(key) && value_.find(key)->is_null(); }
  std::string path(std::string_view key) const { return json::pointer(decoder_.path(), key); }
  json::ObjectDecoder& decoder() { return decoder_; }

 private:
  void not_null(std::string_view key) {
    if (is_null(key)) decoder_.wrong(key, "must not be null");
  }

  const Value value_;
  json::ObjectDecoder decoder_;
  json::FieldErrors& errors_;
};

void decode_selection(Block in, CompileConfig::Selection& out) {
  in.kinds("kind_allowlist", out.kinds);
  in.limit("max_nodes", out.max_nodes);
  in.limit("max_turns", out.max_turns);
  in.limit("max_message_chars", out.max_message_chars);
  in.limit("max_bytes", out.max_bytes);
  in.limit("max_tokens", out.max_tokens);
  in.limit("max_item_bytes", out.max_item_bytes, kLeastBytes);
  in.either("fill", "skip", "stop", out.stop_at_first_miss);
  in.flag("pin_first_system", out.pin_first_system);
  in.flag("pin_latest_system", out.pin_latest_system);
  in.flag("pin_latest_user_assistant", out.pin_latest_user_assistant);
  in.flag("pin_labels", out.pin_labels);
  in.texts("pin_ids", out.pin_ids);
}

void decode_collapse(Block in, CompileConfig::Collapse& out) {
  in.limit("target", out.target);
  in.either("mode", "none", "all_but_last", out.all_but_last);
  if (in.is_null("kind_allowlist")) {
    out.kinds.reset();
    in.decoder().any("kind_allowlist");
  } else if (in.has("kind_allowlist")) {
    out.kinds.emplace();
    in.kinds("kind_allowlist", *out.kinds);
  }
}

void decode_hash(Block in, std::string& key_id) {
  if (in.is_null("key_id")) key_id.clear();
  if (const auto given = in.decoder().text("key_id")) key_id = *given;
}

Value texts_json(const std::vector<std::string>& texts, Arena& arena) {
  const std::vector<Value> items(texts.begin(), texts.end());
  return json::make_array(arena, items);
}

Value limit_json(const Limit& limit) { return limit ? Value(*limit) : Value(); }

Value kinds_json(const std::optional<KindSet>& kinds, Arena& arena) { return kinds ? texts_json(kinds->names, arena) : Value(); }

Value selection_block(const CompileConfig::Selection& s, Arena& arena) {
  return json::make_object(arena, {{"kind_allowlist", texts_json(s.kinds.names, arena)},
                                   {"max_nodes", limit_json(s.max_nodes)},
                                   {"max_turns", limit_json(s.max_turns)},
                                   {"max_message_chars", limit_json(s.max_message_chars)},
                                   {"max_bytes", limit_json(s.max_bytes)},
                                   {"max_tokens", limit_json(s.max_tokens)},
                                   {"max_item_bytes", limit_json(s.max_item_bytes)},
                                   {"fill", s.stop_at_first_miss ? "stop" : "skip"},
                                   {"pin_first_system", s.pin_first_system},
                                   {"pin_latest_system", s.pin_latest_system},
                                   {"pin_latest_user_assistant", s.pin_latest_user_assistant},
                                   {"pin_labels", s.pin_labels},
                                   {"pin_ids", texts_json(s.pin_ids, arena)}});
}

Value collapse_block(const CompileConfig::Collapse& c, Arena& arena) {
  return json::make_object(arena, {{"target", limit_json(c.target)},
                                   {"mode", c.all_but_last ? "all_but_last" : "none"},
                                   {"kind_allowlist", kinds_json(c.kinds, arena)}});
}

}  // namespace

bool KindSet::has(std::string_view kind) const {
  const auto holds = [&](std::string_view name) { return std::binary_search(names.begin(), names.end(), name); };
  return holds(kind) || holds("*");
}

CompileConfig CompileConfig::decode(const Value& value, const CompileConfig& defaults, const std::string& path, json::FieldErrors& errors) {
  CompileConfig out = defaults;
  Block in(&value, path, errors);
  if (const auto profile = in.text("profile"); profile && *profile != kProfile) {
    in.decoder().wrong("profile", "must be weir-1 here; breadboard-0.1 has settings of its own");
  }
  in.either("scope", "barrier", "path", out.whole_path);
  decode_selection({in.object("selection"), in.path("selection"), errors}, out.selection);
  decode_collapse({in.object("collapse"), in.path("collapse"), errors}, out.collapse);
  {
    Block header(in.object("header"), in.path("header"), errors);
    header.either("mode", "hash_only", "sanitized_content", out.previews);
    header.number("preview_chars", 0, kMostPreview, out.preview_chars);
  }
  Block(in.object("frozen"), in.path("frozen"), errors).flag("include_previews", out.frozen_previews);
  Block(in.object("limits"), in.path("limits"), errors).limit("max_stage_bytes", out.max_stage_bytes, kLeastBytes);
  {
    Block sanitise(in.object("sanitize"), in.path("sanitize"), errors);
    sanitise.texts("secret_keys", out.sanitise.secret_keys);
    sanitise.texts("volatile_keys", out.sanitise.volatile_keys);
  }
  decode_hash({in.object("hash"), in.path("hash"), errors}, out.hash_key_id);
  return out;
}

Result<CompileConfig> CompileConfig::parse(const Value& value, const CompileConfig& defaults) {
  json::FieldErrors errors;
  CompileConfig out = decode(value, defaults, "", errors);
  TRY_DO(errors.result(ErrorCode::CONFIG_INVALID));
  return out;
}

Value CompileConfig::selection_json(Arena& arena) const {
  return json::make_object(arena, {{"collapse", collapse_block(collapse, arena)},
                                   {"scope", whole_path ? "path" : "barrier"},
                                   {"selection", selection_block(selection, arena)}});
}

Value CompileConfig::collapse_kinds_json(Arena& arena) const { return kinds_json(collapse.kinds, arena); }

Value CompileConfig::to_json(Arena& arena) const {
  const Value sanitize = json::make_object(
      arena, {{"secret_keys", texts_json(sanitise.secret_keys, arena)}, {"volatile_keys", texts_json(sanitise.volatile_keys, arena)}});
  return json::make_object(
      arena,
      {{"profile", kProfile},
       {"scope", whole_path ? "path" : "barrier"},
       {"selection", selection_block(selection, arena)},
       {"collapse", collapse_block(collapse, arena)},
       {"header", json::make_object(arena, {{"mode", previews ? "sanitized_content" : "hash_only"}, {"preview_chars", preview_chars}})},
       {"frozen", json::make_object(arena, {{"include_previews", frozen_previews}})},
       {"limits", json::make_object(arena, {{"max_stage_bytes", limit_json(max_stage_bytes)}})},
       {"sanitize", sanitize},
       {"hash", json::make_object(arena, {{"key_id", hash_key_id.empty() ? Value() : Value(hash_key_id)}})}});
}

}  // namespace weir::ctree
