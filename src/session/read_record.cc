#include "session/read_record.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/paths.h"

namespace weir {
namespace {

using json::Value;

constexpr std::string_view kModes[] = {"full", "full_fallback", "unchanged", "unchanged_range", "diff", "range_diff"};
constexpr std::string_view kPiFallback = "baseline_fallback";

std::optional<std::uint64_t> natural(const Value* value, std::uint64_t least, std::uint64_t most) {
  if (value == nullptr || !value->is_integer() || value->integer() < 0) return std::nullopt;
  const auto n = static_cast<std::uint64_t>(value->integer());
  return n < least || n > most ? std::nullopt : std::optional(n);
}

std::optional<LineNo> line_no(const Value* value) {
  const auto n = natural(value, 1, std::numeric_limits<LineNo>::max() - 1);
  return n ? std::optional(static_cast<LineNo>(*n)) : std::nullopt;
}

std::optional<LineRange> line_range(const Value& value) {
  if (!value.is_array() || value.items().size() != 2) return std::nullopt;
  const auto first = line_no(&value.items()[0]), last = line_no(&value.items()[1]);
  if (!first || !last || *first > *last) return std::nullopt;
  return LineRange{*first, *last};
}

std::optional<std::vector<LineRange>> line_ranges(const Value* value) {
  if (value == nullptr || !value->is_array() || value->items().size() > kMostShownRanges) return std::nullopt;
  std::vector<LineRange> ranges;
  ranges.reserve(value->items().size());
  for (const Value& item : value->items()) {
    const auto range = line_range(item);
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

bool hex_digest(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<LineNo> decimal(std::string_view text) {
  if (text.empty() || text[0] == '0') return std::nullopt;
  LineNo n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n == std::numeric_limits<LineNo>::max()) return std::nullopt;
  return n;
}

bool ranges_fit(const std::vector<LineRange>& ranges, LineRange within) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].empty() || ranges[i].first < within.first || ranges[i].last > within.last) return false;
    if (i > 0 && ranges[i].first <= ranges[i - 1].last + 1) return false;
  }
  return true;
}

// Absolute, and without what a canonical path cannot have.
bool usable_path(std::string_view path) {
  if (path.size() > kMostPathBytes || path.find('\0') != std::string_view::npos) return false;
  return path == "/" || (path.starts_with('/') && clean_path(path) == path);
}

// As somebody asked for it: where `..` leads behind a link, only the kernel knows.
bool usable_name(std::string_view name) {
  if (name.size() > kMostPathBytes || name.find('\0') != std::string_view::npos) return false;
  return name.starts_with('/') && collapse_path(name) == name;
}

bool absent(const Value* value) { return value == nullptr || value->is_null(); }

// False if there is a name, and it is none.
bool take_name(const Value& value, std::string& out) {
  const Value* name = value.find("name");
  if (absent(name)) return true;
  if (!name->is_string() || !usable_name(name->text())) return false;
  out = name->text();
  return true;
}

Value ranges_json(const std::vector<LineRange>& ranges, json::Arena& arena) {
  std::vector<Value> items;
  items.reserve(ranges.size());
  for (const LineRange range : ranges) items.push_back(json::make_array(arena, std::vector<Value>{range.first, range.last}));
  return json::make_array(arena, items);
}

}  // namespace

std::string_view mode_name(ReadMode mode) { return kModes[static_cast<int>(mode)]; }

std::optional<ReadMode> parse_mode(std::string_view name) {
  if (name == kPiFallback) return ReadMode::full_fallback;
  const auto it = std::find(std::begin(kModes), std::end(kModes), name);
  return it == std::end(kModes) ? std::nullopt : std::optional(static_cast<ReadMode>(it - std::begin(kModes)));
}

std::optional<ReadScope> ReadScope::parse(std::string_view text) {
  if (text == "full") return ReadScope{};
  if (!text.starts_with("r:")) return std::nullopt;
  text.remove_prefix(2);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto first = decimal(text.substr(0, colon)), last = decimal(text.substr(colon + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return ReadScope{false, {*first, *last}};
}

std::string ReadScope::text() const { return full ? "full" : "r:" + std::to_string(lines.first) + ":" + std::to_string(lines.last); }

bool is_consistent(const ReadRecord& record) {
  const LineRange whole{1, record.total_lines};
  if (record.range.empty() || record.range.first < 1 || record.range.last > record.total_lines) return false;
  if (record.full_scope && record.range != whole) return false;
  if (!record.foreign && ((!record.full_scope && record.range == whole) || (record.mode == ReadMode::full && !record.base.empty())))
    return false;
  if (record.served.empty() || (!is_anchor(record.mode) && record.base.empty())) return false;
  const bool whole_file_mode = record.mode == ReadMode::unchanged || record.mode == ReadMode::diff;
  if (!is_anchor(record.mode) && whole_file_mode != record.full_scope) return false;
  if (is_marker(record.mode) && !record.shown.empty()) return false;
  if (!ranges_fit(record.shown, record.range)) return false;
  if (record.known && (!is_diff(record.mode) || !ranges_fit(*record.known, record.range))) return false;
  return !record.from || (record.mode == ReadMode::unchanged_range && record.from->count() == record.range.count());
}

std::optional<ReadRecord> parse_read_record(const Value& value) {
  ReadRecord record;
  const auto version = natural(value.find("v"), 1, 1);
  const auto mode = parse_mode(value.text_or("mode", ""));
  const auto scope = ReadScope::parse(value.text_or("scope", ""));
  const auto start = line_no(value.find("start")), end = line_no(value.find("end")), total = line_no(value.find("total_lines"));
  const auto bytes = natural(value.find("bytes"), 0, std::numeric_limits<std::int64_t>::max());
  auto shown = line_ranges(value.find("shown"));
  if (!version || !mode || !scope || !start || !end || !total || !bytes || !shown) return std::nullopt;
  record.mode = *mode;
  record.path = value.text_or("path", "");
  if (!take_name(value, record.name)) return std::nullopt;
  record.full_scope = scope->full;
  record.range = {*start, *end};
  if (!scope->full && scope->lines != record.range) return std::nullopt;
  record.total_lines = *total;
  record.bytes = *bytes;
  record.served = value.text_or("served", "");
  record.base = value.text_or("base", "");
  record.foreign = value.text_or("form", "") == "pi";
  if (!absent(value.find("base")) && record.base.empty()) return std::nullopt;
  record.shown = std::move(*shown);
  if (const Value* known = value.find("known"); !absent(known)) {
    record.known = line_ranges(known);
    if (!record.known) return std::nullopt;
  }
  if (const Value* from = value.find("from"); !absent(from)) {
    record.from = line_range(*from);
    if (!record.from) return std::nullopt;
  }
  if (const Value* held = value.find("held"); !absent(held)) {
    if (!held->is_string() || !hex_digest(held->text())) return std::nullopt;
    record.held = held->text();
  }
  record.text_sha256 = value.text_or("text_sha256", "");
  record.reason = value.text_or("reason", "");
  const bool exact = hex_digest(record.served) && (record.base.empty() || hex_digest(record.base)) && hex_digest(record.text_sha256);
  if (!usable_path(record.path) || (!exact && !record.foreign)) return std::nullopt;
  if (value.find("reason") == nullptr || !value.find("reason")->is_string()) return std::nullopt;
  for (const auto& [key, field] : {std::pair{"sent", &record.sent}, std::pair{"baseline", &record.baseline}}) {
    if (absent(value.find(key))) continue;
    *field = natural(value.find(key), 0, std::numeric_limits<std::int64_t>::max());
    if (!*field) return std::nullopt;
  }
  return is_consistent(record) ? std::optional(std::move(record)) : std::nullopt;
}

Value to_json(const ReadRecord& record, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  out.add("v", 1).add("mode", mode_name(record.mode)).add("path", arena.copy(record.path)).add("scope", arena.copy(record.scope().text()));
  if (!record.name.empty()) out.add("name", arena.copy(record.name));
  out.add("start", record.range.first).add("end", record.range.last).add("total_lines", record.total_lines).add("bytes", record.bytes);
  out.add("served", arena.copy(record.served)).add("shown", ranges_json(record.shown, arena));
  if (!record.base.empty()) out.add("base", arena.copy(record.base));
  if (record.known) out.add("known", ranges_json(*record.known, arena));
  if (record.from) out.add("from", json::make_array(arena, std::vector<Value>{record.from->first, record.from->last}));
  if (!record.held.empty()) out.add("held", arena.copy(record.held));
  if (!record.text_sha256.empty()) out.add("text_sha256", arena.copy(record.text_sha256));
  out.add("reason", arena.copy(record.reason));
  if (record.sent) out.add("sent", *record.sent);
  if (record.baseline) out.add("baseline", *record.baseline);
  if (record.foreign) out.add("form", "pi");
  return out.build();
}

std::optional<RefreshBody> parse_refresh(const Value& value) {
  const auto scope = ReadScope::parse(value.text_or("scope", ""));
  RefreshBody refresh{std::string(value.text_or("path", "")), scope.value_or(ReadScope{})};
  if (!natural(value.find("v"), 1, 1) || !scope || !usable_path(refresh.path) || !take_name(value, refresh.name)) return std::nullopt;
  return refresh;
}

Value to_json(const RefreshBody& refresh, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  out.add("v", 1).add("path", arena.copy(refresh.path)).add("scope", arena.copy(refresh.scope.text()));
  if (!refresh.name.empty()) out.add("name", arena.copy(refresh.name));
  return out.build();
}

}  // namespace weir
