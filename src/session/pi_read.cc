#include "session/pi_read.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/paths.h"

namespace weir {
namespace {

using json::Value;

// Our reasons in pi-readcache's words; what is not here has the same name there.
constexpr std::pair<std::string_view, std::string_view> kPiReasons[] = {
    {"lines_not_shown", "no_base_hash"},  {"blocked_by_refresh", "no_base_hash"},
    {"shifted", "range_slice_unchanged"}, {"base_object_damaged", "base_object_missing"},
    {"diff_deadline", "diff_not_useful"}, {"base_not_shown", "no_base_hash"},
    {"view_differs", "no_base_hash"},     {"repeat_escape", "hash_match"},
    {"marker_not_smaller", "hash_match"}, {"diff_cut", "diff_emitted"},
    {"not_followed", "no_base_hash"},     {"name_moved", "no_base_hash"},
};
constexpr std::string_view kStrictReasons[] = {
    "no_base_hash",
    "hash_match",
    "base_object_missing",
    "range_slice_unchanged",
    "range_slice_changed",
    "diff_file_too_large_bytes",
    "diff_file_too_large_lines",
    "diff_unavailable_or_empty",
    "diff_not_useful",
    "diff_payload_truncated",
    "diff_emitted",
    "bypass_cache",
};

std::string_view pi_reason(std::string_view reason) {
  for (const auto& [ours, theirs] : kPiReasons) {
    if (ours == reason) return theirs;
  }
  return reason;
}

std::string_view pi_mode(ReadMode mode) { return mode == ReadMode::full_fallback ? "baseline_fallback" : mode_name(mode); }

Value debug_json(const ReadRecord& record, const ReadDebug& debug, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  out.add("reason", pi_reason(record.reason)).add("scope", record.full_scope ? "full" : "range");
  out.add("baseHashFound", debug.base_found).add("diffAttempted", debug.diff_attempted);
  if (debug.outside_range_changed) out.add("outsideRangeChanged", *debug.outside_range_changed);
  if (debug.base_object_found) out.add("baseObjectFound", *debug.base_object_found);
  if (debug.largest_bytes) out.add("largestBytes", *debug.largest_bytes);
  if (debug.max_lines) out.add("maxLines", *debug.max_lines);
  if (debug.diff_bytes) out.add("diffBytes", *debug.diff_bytes);
  if (debug.diff_changed_lines) out.add("diffChangedLines", *debug.diff_changed_lines);
  return out.build();
}

// The members of a native record that pi's form has no place for.
Value weir_json(const ReadRecord& record, json::Arena& arena) {
  const Value whole = to_json(record, arena);
  json::ObjectBuilder out(arena);
  for (const std::string_view key : {"path", "name", "shown", "known", "from", "held", "text_sha256", "reason", "sent", "baseline", "form"})
    out.add_if(key, whole.find(key));
  return out.build();
}

bool is(const Value* value, bool which) { return value != nullptr && value->is_boolean() && value->boolean() == which; }

// What an anchor of pi-readcache's showed: it does not say, but how the read was cut does.
Value shown_by_truncation(const Value* truncation, const Value& start, const Value& end, json::Arena& arena) {
  const auto one_range = [&](const Value& first, const Value& last) {
    return json::make_array(arena, std::vector<Value>{json::make_array(arena, std::vector<Value>{first, last})});
  };
  if (truncation == nullptr || truncation->is_null() || is(truncation->find("truncated"), false)) return one_range(start, end);
  // If it cannot be told how much went out, nothing is known to have.
  const Value* lines = truncation->find("outputLines");
  if (!is(truncation->find("truncated"), true) || is(truncation->find("firstLineExceedsLimit"), true) || lines == nullptr ||
      !lines->is_integer() || lines->integer() <= 0)
    return json::make_array(arena, {});
  return one_range(start, std::min(start.integer() + lines->integer() - 1, end.integer()));
}

bool is_integer_from(const Value* value, std::int64_t least) {
  return value != nullptr && value->is_integer() && value->integer() >= least;
}
bool is_version(const Value* value) { return value != nullptr && value->is_string() && !value->text().empty(); }

// pi-readcache takes leading zeros, too.
bool is_strict_scope(std::string_view scope) {
  if (scope == "full") return true;
  const std::size_t colon = scope.find(':', 2);
  if (!scope.starts_with("r:") || colon == std::string_view::npos) return false;
  const auto number = [](std::string_view digits) {
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return error == std::errc() && end == digits.data() + digits.size() ? n : 0;
  };
  const std::uint64_t first = number(scope.substr(2, colon - 2)), last = number(scope.substr(colon + 1));
  return first > 0 && last >= first;
}

bool is_strict_debug(const Value& debug) {
  if (std::find(std::begin(kStrictReasons), std::end(kStrictReasons), debug.text_or("reason", "")) == std::end(kStrictReasons))
    return false;
  const std::string_view scope = debug.text_or("scope", "");
  if (scope != "full" && scope != "range") return false;
  for (const std::string_view key : {"baseHashFound", "diffAttempted"}) {
    if (debug.find(key) == nullptr || !debug.find(key)->is_boolean()) return false;
  }
  const auto optional = [&](std::string_view key, auto&& fine) { return debug.find(key) == nullptr || fine(debug.find(key)); };
  const auto boolean = [](const Value* value) { return value->is_boolean(); };
  const auto at_least = [](std::int64_t least) { return [least](const Value* value) { return is_integer_from(value, least); }; };
  return optional("outsideRangeChanged", boolean) && optional("baseObjectFound", boolean) && optional("largestBytes", at_least(1)) &&
         optional("maxLines", at_least(1)) && optional("diffBytes", at_least(0)) && optional("diffChangedLines", at_least(0));
}

}  // namespace

Value truncation_to_pi(const Truncation& cut, std::string_view content, std::uint64_t max_lines, std::uint64_t max_bytes,
                       json::Arena& arena) {
  return json::make_object(arena, {{"content", content},
                                   {"truncated", true},
                                   {"truncatedBy", cut.by == Truncation::By::bytes ? "bytes" : "lines"},
                                   {"totalLines", cut.total_lines},
                                   {"totalBytes", cut.total_bytes},
                                   {"outputLines", cut.output_lines},
                                   {"outputBytes", cut.output_bytes},
                                   {"lastLinePartial", false},
                                   {"firstLineExceedsLimit", cut.first_line_exceeds_limit},
                                   {"maxLines", max_lines},
                                   {"maxBytes", max_bytes}});
}

Value read_to_pi(const ReadRecord& record, std::string_view path_key, const ReadDebug& debug, json::Arena& arena) {
  // Version 1 cannot say that a diff was shown in part, or of a range: pi-readcache must not take it for the whole.
  const bool beyond_v1 = record.mode == ReadMode::range_diff || (record.mode == ReadMode::diff && record.known.has_value());
  json::ObjectBuilder out(arena);
  out.add("v", beyond_v1 ? 2 : 1).add("pathKey", arena.copy(path_key)).add("scopeKey", arena.copy(record.scope().text()));
  out.add("servedHash", arena.copy(record.served)).add("mode", pi_mode(record.mode)).add("totalLines", record.total_lines);
  if (!record.base.empty()) out.add("baseHash", arena.copy(record.base));
  out.add("rangeStart", record.range.first).add("rangeEnd", record.range.last).add("bytes", record.bytes);
  out.add("debug", debug_json(record, debug, arena)).add("weir", weir_json(record, arena));
  return out.build();
}

std::optional<ReadRecord> read_from_pi(const Value& details) {
  const Value* pi = details.find("readcache");
  if (pi == nullptr || !pi->is_object()) return std::nullopt;
  const Value* version = pi->find("v");
  if (version == nullptr || !version->is_integer() || (version->integer() != 1 && version->integer() != 2)) return std::nullopt;
  // The native record this one would be, which then has to keep the native rules.
  json::Arena arena;
  json::ObjectBuilder native(arena);
  native.add("v", 1);
  const std::pair<std::string_view, std::string_view> renamed[] = {
      {"mode", "mode"},        {"scopeKey", "scope"}, {"servedHash", "served"}, {"baseHash", "base"}, {"totalLines", "total_lines"},
      {"rangeStart", "start"}, {"rangeEnd", "end"},   {"bytes", "bytes"}};
  for (const auto& [theirs, ours] : renamed) native.add_if(ours, pi->find(theirs));
  if (const Value* weir = pi->find("weir"); weir != nullptr && weir->is_object()) {
    for (const json::Member& member : weir->members()) native.add(member.key, member.value);
    return parse_read_record(native.build());
  }
  const Value* start = pi->find("rangeStart");
  const Value* end = pi->find("rangeEnd");
  const auto mode = parse_mode(pi->text_or("mode", ""));
  if (!mode || !is_integer_from(start, 1) || !is_integer_from(end, start->integer()) || !pi->text_or("pathKey", "").starts_with('/'))
    return std::nullopt;
  native.add("path", arena.copy(clean_path(pi->text_or("pathKey", ""))));
  // pi-readcache's diffs are whole or not sent; which lines their hunks held is not said, and not needed to be trusted.
  native.add("shown",
             is_anchor(*mode) ? shown_by_truncation(details.find("truncation"), *start, *end, arena) : json::make_array(arena, {}));
  // A diff of version 2 was cut or of a range, and which of its lines are held stood in `weir`.
  if (version->integer() != 1 && is_diff(*mode)) native.add("known", json::make_array(arena, {}));
  const Value* debug = pi->find("debug");
  native.add("reason", debug == nullptr ? std::string_view() : debug->text_or("reason", "")).add("form", "pi");
  return parse_read_record(native.build());
}

Value refresh_to_pi(const RefreshBody& refresh, std::int64_t at_ms, json::Arena& arena) {
  return json::make_object(arena, {{"v", 1},
                                   {"kind", "invalidate"},
                                   {"pathKey", arena.copy(refresh.path)},
                                   {"scopeKey", arena.copy(refresh.scope.text())},
                                   {"at", at_ms}});
}

std::optional<RefreshBody> refresh_from_pi(const Value& data) {
  if (data.text_or("kind", "") != "invalidate" || !data.text_or("pathKey", "").starts_with('/')) return std::nullopt;
  json::Arena arena;
  json::ObjectBuilder native(arena);
  native.add_if("v", data.find("v"))
      .add("path", arena.copy(clean_path(data.text_or("pathKey", ""))))
      .add_if("scope", data.find("scopeKey"));
  return parse_refresh(native.build());
}

bool is_strict_pi_record(const Value& pi) {
  const auto mode = parse_mode(pi.text_or("mode", ""));
  if (!is_integer_from(pi.find("v"), 1) || pi.find("v")->integer() != 1 || pi.text_or("pathKey", "").empty() ||
      !is_strict_scope(pi.text_or("scopeKey", "")))
    return false;
  if (!mode || *mode == ReadMode::range_diff || pi.text_or("mode", "") == mode_name(ReadMode::full_fallback) ||
      !is_version(pi.find("servedHash")))
    return false;
  if (pi.find("baseHash") == nullptr ? !is_anchor(*mode) : !is_version(pi.find("baseHash"))) return false;
  if (!is_integer_from(pi.find("totalLines"), 1) || !is_integer_from(pi.find("rangeStart"), 1) || !is_integer_from(pi.find("bytes"), 0))
    return false;
  if (!is_integer_from(pi.find("rangeEnd"), pi.find("rangeStart")->integer())) return false;
  return pi.find("debug") == nullptr || is_strict_debug(*pi.find("debug"));
}

}  // namespace weir
