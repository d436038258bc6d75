// What a compilation is asked for. A closed object: every wrong member is named, nothing is silently a default. With all
// members filled in it is the effective configuration, which the output echoes and hashes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ctree/sanitise.h"
#include "json/decode.h"
#include "json/value.h"

namespace weir::ctree {

inline constexpr std::string_view kProfile = "weir-1";
inline constexpr std::string_view kForeignProfile = "breadboard-0.1";

// Kinds of nodes, sorted and each once.
struct KindSet {
  std::vector<std::string> names;
  bool has(std::string_view kind) const;
  bool operator==(const KindSet&) const = default;
};

using Limit = std::optional<std::uint64_t>;

struct CompileConfig {
  bool whole_path = false;  // scope `path`

  struct Selection {
    KindSet kinds{{"branch_summary", "checkpoint", "message"}};
    Limit max_nodes, max_turns, max_message_chars, max_bytes, max_tokens, max_item_bytes;
    bool stop_at_first_miss = false;  // fill `stop`
    bool pin_first_system = true, pin_latest_system = true, pin_latest_user_assistant = true, pin_labels = true;
    std::vector<std::string> pin_ids;
    bool operator==(const Selection&) const = default;
  } selection;

  struct Collapse {
    Limit target;
    bool all_but_last = false;
    std::optional<KindSet> kinds;  // nothing: all
    bool operator==(const Collapse&) const = default;
  } collapse;

  bool previews = false;  // header mode `sanitized_content`
  std::uint64_t preview_chars = 160;
  bool frozen_previews = false;
  Limit max_stage_bytes = 1048576;
  Sanitiser::Options sanitise;  // these two decide digests: settings of the store
  std::string hash_key_id;      // empty: none

  bool operator==(const CompileConfig&) const = default;

  // Wrong members go to `errors` under `path`. What is not said is taken from `defaults`.
  static CompileConfig decode(const json::Value& value, const CompileConfig& defaults, const std::string& path, json::FieldErrors& errors);
  // CONFIG_INVALID with every fault and its pointer.
  static Result<CompileConfig> parse(const json::Value& value, const CompileConfig& defaults);
  static Result<CompileConfig> parse(const json::Value& value) { return parse(value, CompileConfig()); }

  json::Value to_json(json::Arena& arena) const;              // the effective configuration
  json::Value selection_json(json::Arena& arena) const;       // {"collapse","scope","selection"}, as SPEC shows it
  json::Value collapse_kinds_json(json::Arena& arena) const;  // null: all
};

}  // namespace weir::ctree
