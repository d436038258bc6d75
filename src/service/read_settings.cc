#include "service/read_settings.h"

#include "base/limits.h"
#include "service/render.h"

namespace weir {
namespace {

constexpr std::int64_t kMostFileBytes = 4095 * std::int64_t{limits::kMiB};  // lines are counted in 32 bits

Result<std::uint64_t> at_least(const Config& config, std::string_view key, std::int64_t least, std::int64_t most = INT64_MAX) {
  const std::int64_t value = config.integer(key);
  if (value >= least && value <= most) return static_cast<std::uint64_t>(value);
  const std::string why = value < least ? "must be at least " + std::to_string(least) : "must be at most " + std::to_string(most);
  return Error(ErrorCode::INVALID_FIELD, config.entry(key).origin + ": " + std::string(key) + ": " + why)
      .with_fields({{std::string(key), why}});
}

}  // namespace

Result<ReadOptions> read_options(const Config& config, bool refuse_denied) {
  ReadOptions out;
  out.enabled = config.boolean("read.enabled");
  out.range_diff = config.boolean("read.range_diff");
  out.never_inflate = config.boolean("read.never_inflate");
  out.shift_map = config.boolean("read.shift_map");
  out.located = config.text("read.markers") == "located";
  TRY(out.marker_repeat, at_least(config, "read.marker_repeat", 0));
  TRY(out.answer.max_lines, at_least(config, "read.max_lines", 1));
  TRY(out.answer.max_bytes, at_least(config, "read.max_bytes", 1));
  out.answer.line_count = config.text("read.line_count") == "legacy" ? LineCount::legacy : LineCount::current;
  TRY(out.max_file_bytes, at_least(config, "read.max_file_bytes", 0, kMostFileBytes));
  TRY(out.store_max_bytes, at_least(config, "read.store_max_bytes", 0, kMostFileBytes));
  TRY(out.diff_max_bytes, at_least(config, "read.diff_max_bytes", 0));
  TRY(out.diff_max_lines, at_least(config, "read.diff_max_lines", 0));
  out.diff_ratios = {config.ratio("read.diff_bytes_ratio"), config.ratio("read.diff_lines_ratio")};
  TRY(out.diff_max_cost, at_least(config, "read.diff_max_cost", 0));
  TRY(out.diff_deadline_ms, at_least(config, "read.diff_deadline_ms", 0));
  TRY(out.versions_per_read, at_least(config, "read.versions_per_read", 0));
  TRY(out.view_intervals, at_least(config, "read.view_intervals", 1));
  TRY(out.blob_budget_bytes, at_least(config, "read.blob_budget_bytes", 0));
  out.roots = config.texts("read.roots");
  out.deny = config.texts("read.deny");
  for (const std::string& name : out.deny) {
    if (!name.empty() && name.find('/') == std::string::npos) continue;
    const std::string why = "must be names of files, with * for anything, not '" + masked_text(name) + "'";
    return Error(ErrorCode::INVALID_FIELD, config.entry("read.deny").origin + ": read.deny: " + why).with_fields({{"read.deny", why}});
  }
  const std::string& denied = config.text("read.denied");
  out.refuse_denied = denied.empty() ? refuse_denied : denied == "refuse";
  out.refuse_hard_links = config.text("read.hard_links") == "refuse";
  return out;
}

}  // namespace weir
