#include "context/config.h"

#include <algorithm>
#include <string>

#include "ctree/node.h"
#include "json/decode.h"

namespace weir::context {
namespace {

using json::Value;

constexpr std::int64_t kMost = (std::int64_t{1} << 53) - 1, kLeastItemBytes = 256;

// Members of the configuration; null is a fault where it means nothing.
class Members {
 public:
  Members(const Value& value, json::FieldErrors& errors) : value_(value), decoder_(value, "", errors) {}

  void flag(std::string_view key, bool& out) {
    not_null(key);
    out = decoder_.boolean(key).value_or(out);
  }
  void limit(std::string_view key, ctree::Limit& out, std::int64_t least = 0) {
    if (is_null(key)) out.reset();
    if (const auto given = decoder_.integer(key, least, kMost)) out = static_cast<std::uint64_t>(*given);
  }
  std::optional<std::string_view> word(std::string_view key) {
    not_null(key);
    return decoder_.text(key);
  }
  void not_null(std::string_view key) {
    if (is_null(key)) decoder_.wrong(key, "must not be null");
  }
  json::ObjectDecoder& decoder() { return decoder_; }

 private:
  bool is_null(std::string_view key) const { return value_.find(key) != nullptr && value_.find(key)->is_null(); }

  const Value& value_;
  json::ObjectDecoder decoder_;
};

Value limit_json(const ctree::Limit& limit) { return limit ? Value(*limit) : Value(); }

}  // namespace

std::optional<Format> parse_format(std::string_view text) {
  const auto it = std::find(std::begin(kFormatNames), std::end(kFormatNames), text);
  if (it == std::end(kFormatNames)) return std::nullopt;
  return static_cast<Format>(it - std::begin(kFormatNames));
}

Result<ContextConfig> ContextConfig::parse(const Value& value, const ContextConfig& defaults) {
  json::FieldErrors errors;
  ContextConfig out = defaults;
  Members in(value, errors);
  in.not_null("compile");
  if (const Value* compile = in.decoder().any("compile")) {
    out.compile = ctree::CompileConfig::decode(*compile, defaults.compile, "/compile", errors);
  }
  if (const auto word = in.word("format")) {
    const auto format = parse_format(*word);
    if (format) out.format = *format;
    if (!format) in.decoder().wrong("format", "must be anthropic, openai or plain");
  }
  if (const auto word = in.word("ids")) {
    out.original_ids = *word == "original";
    if (*word != "original" && *word != "alias") in.decoder().wrong("ids", "must be alias or original");
  }
  in.limit("max_bytes", out.max_bytes);
  in.limit("max_tokens", out.max_tokens);
  in.limit("max_item_bytes", out.max_item_bytes, kLeastItemBytes);
  in.not_null("reserve_bytes");
  if (const auto bytes = in.decoder().integer("reserve_bytes", 0, kMost)) out.reserve_bytes = static_cast<std::uint64_t>(*bytes);
  in.flag("mask", out.mask);
  in.flag("cache_marks", out.cache_marks);
  in.flag("capture", out.capture);
  in.decoder().close();
  TRY_DO(errors.result(ErrorCode::CONFIG_INVALID));
  return out;
}

ctree::CompileConfig ContextConfig::compile_config() const {
  ctree::CompileConfig out = compile;
  if (max_bytes) out.selection.max_bytes = *max_bytes - std::min(*max_bytes, reserve_bytes);
  if (max_tokens) out.selection.max_tokens = max_tokens;
  if (max_item_bytes) out.selection.max_item_bytes = max_item_bytes;
  return out;
}

Value ContextConfig::to_json(json::Arena& arena) const {
  return json::make_object(arena, {{"compile", compile.to_json(arena)},
                                   {"format", name(format)},
                                   {"max_bytes", limit_json(max_bytes)},
                                   {"max_tokens", limit_json(max_tokens)},
                                   {"reserve_bytes", reserve_bytes},
                                   {"max_item_bytes", limit_json(max_item_bytes)},
                                   {"ids", original_ids ? "original" : "alias"},
                                   {"mask", mask},
                                   {"cache_marks", cache_marks},
                                   {"capture", capture}});
}

}  // namespace weir::context
