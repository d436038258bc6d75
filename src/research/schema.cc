#include "research/schema.h"

#include <fmt/format.h>

#include <cmath>

#include "base/time.h"
#include "base/utf8.h"
#include "json/canonical.h"
#include "json/error_value.h"
#include "research/schema_kit.h"

namespace weir::research {
namespace {

constexpr std::size_t kListedErrors = 100;

struct LimitRange {
  std::string_view name;
  double least, most;
  bool whole;
};
constexpr LimitRange kLimitRanges[] = {
    {"max_wave1_agents", 1, 1000, true},          {"max_wave2_agents", 1, 1000, true},        {"max_review_iterations", 0, 50, true},
    {"max_summary_kb", 1, 1000, false},           {"max_total_summary_kb", 1, 100000, false}, {"max_pack_json_kb", 1, 100000, false},
    {"max_synthesis_input_kb", 1, 100000, false}, {"min_wave_rate", 0.8, 1, false},
};

}  // namespace

Result<void> SchemaErrors::result() const {
  if (errors_.empty()) return {};
  json::Arena arena;
  std::vector<json::Value> listed;
  for (const One& error : std::span(errors_).first(std::min(errors_.size(), kListedErrors))) {
    listed.push_back(json::make_object(arena, {{"path", error.path}, {"code", info(error.code).name}, {"message", error.message}}));
  }
  const One& first = errors_.front();
  return Error(first.code, first.message)
      .with("path", first.path)
      .with("errors", json::json_detail(json::Value::array(listed)))
      .with("error_count", static_cast<std::int64_t>(errors_.size()));
}

bool confined_path(std::string_view path) {
  if (path.find('\\') != std::string_view::npos || path.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

bool perspective_id_ok(std::string_view id) {
  const auto letter_or_digit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (id.empty() || id.size() > 64 || !letter_or_digit(id[0])) return false;
  const bool known = std::all_of(id.begin(), id.end(), [&](char c) { return letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
  return known && id.find("..") == std::string_view::npos && id.back() != '.';
}

bool utc_time_ok(std::string_view text) {
  if (text.size() < 20 || (text[10] != 'T' && text[10] != 't')) return false;
  const bool utc = text.back() == 'Z' || text.back() == 'z' || text.ends_with("+00:00") || text.ends_with("-00:00");
  return utc && parse_time(text).ok();
}

void check_limits(const json::Value& limits, SchemaErrors& errors) {
  const Spot all(&limits, "$.limits", errors);
  if (!all.need(all.is_object(), "manifest.limits must be an object", ErrorCode::INVALID_ARGS)) return;
  for (const LimitRange& range : kLimitRanges) {
    const Spot limit = all[range.name];
    if (!limit.there()) continue;
    const auto number = limit.number();
    const bool ok = number && *number >= range.least && *number <= range.most && (!range.whole || std::trunc(*number) == *number);
    if (ok) continue;
    limit.need(false,
               fmt::format("manifest.limits.{} must be {} from {} to {}, not {}", range.name, range.whole ? "an integer" : "a number",
                           range.least, range.most, excerpt(json::canonical(*limit.value()), 40)),
               ErrorCode::INVALID_ARGS);
  }
}

}  // namespace weir::research
