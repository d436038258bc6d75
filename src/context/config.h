// What the next prompt is to be made of: how to compile, for which provider, within how many bytes. A closed object: every
// wrong member is named, nothing is silently a default (docs/ctree.md, context assembly).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "ctree/config.h"
#include "json/value.h"

namespace weir::context {

enum class Format { anthropic, openai, plain };
inline constexpr std::string_view kFormatNames[] = {"anthropic", "openai", "plain"};
constexpr std::string_view name(Format format) { return kFormatNames[static_cast<int>(format)]; }
std::optional<Format> parse_format(std::string_view text);

struct ContextConfig {
  ctree::CompileConfig compile;
  Format format = Format::anthropic;
  ctree::Limit max_bytes, max_tokens, max_item_bytes;  // where given, in the place of those of `compile`
  std::uint64_t reserve_bytes = 0;                     // of max_bytes, for what the host adds
  bool original_ids = false;                           // ids of calls as recorded instead of aliases
  bool mask = true;                                    // secrets once more, whatever append did
  bool cache_marks = false;                            // for anthropic
  bool capture = false;                                // the rendered bytes go into a blob

  bool operator==(const ContextConfig&) const = default;

  // CONFIG_INVALID with every fault and its pointer; those of the compiler under /compile.
  static Result<ContextConfig> parse(const json::Value& value, const ContextConfig& defaults);
  static Result<ContextConfig> parse(const json::Value& value) { return parse(value, ContextConfig()); }

  // `compile` with the budgets put in.
  ctree::CompileConfig compile_config() const;
  json::Value to_json(json::Arena& arena) const;
};

}  // namespace weir::context
