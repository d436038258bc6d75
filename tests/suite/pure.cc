#include <sys/stat.h>

#include <algorithm>

#include "base/paths.h"
#include "json/canonical.h"
#include "readcache/baseline.h"
#include "readcache/line_diff.h"
#include "readcache/open_request.h"
#include "readcache/unified.h"
#include "service/call_objects.h"
#include "session/pi_read.h"
#include "suite/methods.h"

namespace weir::suite {
namespace {

using json::Value;
using Args = std::span<const Value>;

Error thrown(std::string message) { return Error(ErrorCode::INVALID_FIELD, std::move(message)); }

const Value& at(Args args, std::size_t i) {
  static const Value kNone;
  return i < args.size() ? args[i] : kNone;
}

Value number_or_null(const std::optional<std::uint64_t>& number) { return number ? Value(*number) : Value(); }

// ---- lines ----

Result<LineRange> lines_of(Args args, std::size_t first) {
  const Value& start = at(args, first);
  const Value& end = at(args, first + 1);
  const auto positive = [](const Value& value) { return value.is_integer() && value.integer() > 0; };
  const auto invalid = [](std::string_view which, const Value& value) {
    return thrown("Invalid " + std::string(which) + " line \"" + json::canonical(value) + "\". Line numbers must be positive integers.");
  };
  if (!positive(start)) return invalid("start", start);
  if (!positive(end)) return invalid("end", end);
  if (end.integer() < start.integer()) {
    return thrown("Invalid range " + json::canonical(start) + "-" + json::canonical(end) +
                  ". End line must be greater than or equal to start line.");
  }
  return LineRange{static_cast<LineNo>(start.integer()), static_cast<LineNo>(end.integer())};
}

std::string slice(std::string_view text, LineRange lines) {
  const LineTable table(text);
  if (lines.first > table.count()) return {};
  return std::string(table.text({lines.first, std::min(lines.last, table.count())}));
}

Value split_lines(std::string_view text, json::Arena& arena) {
  const LineTable table(text);
  std::vector<Value> lines;
  for (LineNo line = 1; line <= table.count(); ++line) lines.push_back(table.text(line));
  return json::make_array(arena, lines);
}

Result<Value> normalize(Args args, json::Arena& arena) {
  const std::int64_t total = std::max<std::int64_t>(1, at(args, 2).integer());
  LineRequest lines;
  if (!at(args, 0).is_null()) {
    TRY(lines.offset, parse_offset(json::canonical(args[0])));
  }
  if (!at(args, 1).is_null()) {
    TRY(lines.limit, parse_limit(json::canonical(args[1])));
  }
  const auto start = static_cast<std::int64_t>(lines.offset.value_or(1));
  if (start > total) {
    return thrown("Offset " + std::to_string(start) + " is beyond end of file (" + std::to_string(total) + " lines total)");
  }
  const std::int64_t end = lines.limit ? std::min(start + static_cast<std::int64_t>(*lines.limit) - 1, total) : total;
  return json::make_object(arena, {{"start", start}, {"end", end}, {"totalLines", total}});
}

Value scope_key(Args args, json::Arena& arena) {
  const std::int64_t start = at(args, 0).integer(), end = at(args, 1).integer();
  if (start == 1 && end == at(args, 2).integer()) return "full";
  return arena.copy("r:" + std::to_string(start) + ":" + std::to_string(end));
}

Result<Value> truncate(Args args, json::Arena& arena) {
  BaselineLimits limits;
  if (const Value* lines = at(args, 1).find("maxLines")) limits.max_lines = static_cast<std::uint64_t>(lines->integer());
  if (const Value* bytes = at(args, 1).find("maxBytes")) limits.max_bytes = static_cast<std::uint64_t>(bytes->integer());
  const std::string_view text = at(args, 0).text();
  LineWindow window({}, limits.max_bytes + 1);
  window.add(text);
  TRY(Selection selection, window.finish());
  const std::uint64_t lines = selection.total_lines;
  const Baseline baseline = make_baseline(std::move(selection), limits, "");
  if (baseline.truncation)
    return truncation_to_pi(*baseline.truncation, arena.copy(baseline.content()), limits.max_lines, limits.max_bytes, arena);
  return json::make_object(arena, {{"content", text},
                                   {"truncated", false},
                                   {"truncatedBy", nullptr},
                                   {"totalLines", lines},
                                   {"totalBytes", text.size()},
                                   {"outputLines", lines},
                                   {"outputBytes", text.size()},
                                   {"lastLinePartial", false},
                                   {"firstLineExceedsLimit", false},
                                   {"maxLines", limits.max_lines},
                                   {"maxBytes", limits.max_bytes}});
}

// ---- diffs ----

Value compute_diff(Args args, json::Arena& arena) {
  const LineTable base(at(args, 0).text()), current(at(args, 1).text());
  const LineDiff edits = diff_lines(base, current, 20'000'000, [] { return false; });
  const UnifiedDiff diff = unified_diff(at(args, 2).text(), base, current, edits.edits);
  if (diff.hunks.empty()) return {};
  return json::make_object(arena, {{"diffText", arena.copy(diff.text)},
                                   {"changedLines", diff.changed_lines()},
                                   {"addedLines", diff.added},
                                   {"removedLines", diff.removed},
                                   {"diffBytes", diff.text.size()}});
}

double limit_of(const Value& limits, std::string_view key, double other) {
  const Value* value = limits.find(key);
  if (value == nullptr) return other;
  return value->is_integer() ? static_cast<double>(value->integer()) : value->real();
}

bool is_useful_text(Args args) {
  const std::string_view diff = at(args, 0).text(), base = at(args, 1).text(), current = at(args, 2).text();
  const Value& limits = at(args, 3);
  const auto lines = [](std::string_view text) { return static_cast<double>(std::count(text.begin(), text.end(), '\n') + 1); };
  const auto bytes = static_cast<double>(std::max(base.size(), current.size()));
  if (diff.find("@@") == std::string_view::npos || bytes == 0 || bytes > limit_of(limits, "maxFileBytes", 2.0 * 1024 * 1024)) return false;
  if (std::max(lines(base), lines(current)) > limit_of(limits, "maxFileLines", 12000)) return false;
  if (static_cast<double>(diff.size()) >= bytes * limit_of(limits, "maxDiffToBaseRatio", 0.9)) return false;
  const Value* line_ratio = limits.find("maxDiffToBaseLineRatio");
  const double most =
      line_ratio == nullptr && limits.is_object() ? lines(diff) : lines(current) * limit_of(limits, "maxDiffToBaseLineRatio", 0.85);
  return lines(diff) <= most;
}

// ---- metadata ----

bool is_invalidation(const Value& data) {
  const Value* when = data.find("at");
  return refresh_from_pi(data).has_value() && when != nullptr && when->is_integer() && when->integer() > 0;
}

// The members that a strict reader of version 1 takes over.
Value strict_meta(const Value& meta, json::Arena& arena) {
  if (!is_strict_pi_record(meta)) return {};
  json::ObjectBuilder out(arena);
  for (const std::string_view key :
       {"v", "pathKey", "scopeKey", "servedHash", "baseHash", "mode", "totalLines", "rangeStart", "rangeEnd", "bytes", "debug"}) {
    out.add_if(key, meta.find(key));
  }
  return out.build();
}

Value extract_meta(const Value& entry, json::Arena& arena) {
  const Value* message = entry.find("message");
  if (entry.text_or("type", "") != "message" || message == nullptr || message->text_or("role", "") != "toolResult" ||
      message->text_or("toolName", "") != "read") {
    return {};
  }
  const Value* details = message->find("details");
  const Value* meta = details == nullptr ? nullptr : details->find("readcache");
  return meta == nullptr ? Value() : strict_meta(*meta, arena);
}

Value extract_invalidation(const Value& entry) {
  const Value* data = entry.find("data");
  const bool ours = entry.text_or("type", "") == "custom" && entry.text_or("customType", "") == kPiReadcache;
  return ours && data != nullptr && is_invalidation(*data) ? *data : Value();
}

Value with_version(const Value& meta, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  out.add("v", 1);
  for (const json::Member& member : meta.members()) out.add(member.key, member.value);
  return out.build();
}

Value replay_start(const Value& branch, json::Arena& arena) {
  std::optional<std::size_t> latest;
  std::string_view id;
  for (std::size_t i = 0; i < branch.items().size(); ++i) {
    if (branch.items()[i].text_or("type", "") != "compaction") continue;
    latest = i;
    id = branch.items()[i].text_or("id", "");
  }
  const ReplayWindow window = replay_window(branch.items().size(), latest, id);
  return json::make_object(arena, {{"startIndex", window.start}, {"boundaryKey", arena.copy(window.key)}});
}

// ---- objects ----

Result<Digest> hash_in(Args args) {
  const auto digest = Digest::parse(at(args, 1).text());
  if (!digest.ok()) return thrown("Invalid sha256 hash \"" + std::string(at(args, 1).text()) + "\".");
  return *digest;
}

Result<Value> persist(Host& host, Args args, json::Arena& arena) {
  TRY(const Digest digest, hash_in(args));
  TRY(const bool there, host.service->store().blobs().has(digest));
  if (!there) {
    TRY_DO(host.service->write([&](LogTxn&) -> Result<void> {
      TRY_DO(host.service->store().blobs().put(at(args, 2).text()));
      return {};
    }));
  }
  return json::make_object(arena, {{"hash", args[1]}, {"path", arena.copy(host.object_path(digest))}, {"written", !there}});
}

Result<Value> load(Host& host, Args args, json::Arena& arena) {
  TRY(const Digest digest, hash_in(args));
  auto bytes = host.service->store().blobs().get(digest);
  if (!bytes.ok() && bytes.error().code() == ErrorCode::NOT_FOUND) return Value();
  TRY_DO(bytes);
  return Value(arena.copy(*bytes));
}

Result<Value> store_stats(Host& host, json::Arena& arena) {
  Blobs& blobs = host.service->store().blobs();
  TRY(const auto listed, blobs.list());
  std::uint64_t bytes = 0;
  for (const Digest& digest : listed.objects) bytes += blobs.stored_bytes(digest);
  return json::make_object(arena, {{"objects", listed.objects.size()}, {"bytes", bytes}});
}

// Weir's own collection never goes by age; this is pi-readcache's, which its suite calls by name.
Result<Value> prune(Host& host, Args args, json::Arena& arena) {
  constexpr std::int64_t kDayMs = 24 * 60 * 60 * 1000;
  const std::int64_t age = at(args, 1).is_null() ? kDayMs : at(args, 1).is_integer() ? at(args, 1).integer() : -1;
  if (age < 0) return thrown("Invalid maxAgeMs \"" + json::canonical(at(args, 1)) + "\".");
  const std::int64_t cutoff = (at(args, 2).is_integer() ? at(args, 2).integer() : host.service->now().ms) - age;
  Blobs& blobs = host.service->store().blobs();
  TRY(const auto listed, blobs.list());
  std::uint64_t deleted = 0;
  for (const Digest& digest : listed.objects) {
    struct stat there{};
    if (::stat(host.object_path(digest).c_str(), &there) != 0) continue;
    if (there.st_mtim.tv_sec * 1000 + there.st_mtim.tv_nsec / 1'000'000 > cutoff) continue;
    TRY_DO(host.service->write([&](LogTxn&) { return blobs.remove(digest); }));
    ++deleted;
  }
  return json::make_object(arena, {{"scanned", listed.objects.size()}, {"deleted", deleted}, {"cutoffMs", cutoff}});
}

// ---- paths ----

Result<PathRequest> resolve(std::string_view words, const LineRequest& lines, const PathContext& context) {
  TRY(const ReadDoor door, ReadDoor::make({"/"}));
  TRY(PathRequest request, resolve_request(words, lines, context, [&](const std::string& path) { return door.open(path).ok(); }));
  request.absolute = clean_path(request.absolute);
  return request;
}

Result<Value> read_path(Args args, const std::string& home, json::Arena& arena) {
  LineRequest lines;
  lines.offset = 1;  // lines are given: what follows a colon is no range
  TRY(const PathRequest request, resolve(at(args, 0).text(), lines, {std::string(at(args, 1).text()), home}));
  return Value(arena.copy(request.absolute));
}

Result<Value> trailing_range(Args args, const std::string& home, json::Arena& arena) {
  LineRequest lines;
  if (at(args, 1).is_integer()) lines.offset = static_cast<std::uint64_t>(at(args, 1).integer());
  if (at(args, 2).is_integer()) lines.limit = static_cast<std::uint64_t>(at(args, 2).integer());
  TRY(const PathRequest request, resolve(at(args, 0).text(), lines, {std::string(at(args, 3).text()), home}));
  json::ObjectBuilder out(arena);
  out.add("pathInput", arena.copy(request.given)).add("absolutePath", arena.copy(request.absolute));
  out.add("parsedFromPath", request.given != at(args, 0).text());
  if (request.lines.offset) out.add("offset", number_or_null(request.lines.offset));
  if (request.lines.limit) out.add("limit", number_or_null(request.lines.limit));
  return out.build();
}

}  // namespace

Result<Value> pure(std::string_view name, Args args, const std::string& home, FunctionRef<Result<Host*>(const std::string&)> host,
                   json::Arena& arena) {
  if (name == "splitLines") return split_lines(at(args, 0).text(), arena);
  if (name == "sliceByLineRange") {
    TRY(const LineRange lines, lines_of(args, 1));
    return Value(arena.copy(slice(at(args, 0).text(), lines)));
  }
  if (name == "compareSlices") {
    TRY(const LineRange lines, lines_of(args, 2));
    return Value(slice(at(args, 0).text(), lines) == slice(at(args, 1).text(), lines));
  }
  if (name == "estimateTokens") return Value((at(args, 0).text().size() + 3) / 4);
  if (name == "truncateForReadcache") return truncate(args, arena);
  if (name == "normalizeOffsetLimit") return normalize(args, arena);
  if (name == "scopeKeyForRange") return scope_key(args, arena);
  if (name == "expandPath") return Value(arena.copy(expand_path(at(args, 0).text(), home)));
  if (name == "resolveReadPath") return read_path(args, home, arena);
  if (name == "computeUnifiedDiff") return compute_diff(args, arena);
  if (name == "isDiffUseful") return Value(is_useful_text(args));
  if (name == "isScopeKey") return Value(at(args, 0).is_string() && ReadScope::parse(at(args, 0).text()).has_value());
  if (name == "isReadCacheMetaV1") return Value(is_strict_pi_record(at(args, 0)));
  if (name == "isReadCacheInvalidationV1") return Value(is_invalidation(at(args, 0)));
  if (name == "buildReadCacheMetaV1") return with_version(at(args, 0), arena);
  if (name == "buildInvalidationV1") {
    return json::make_object(arena,
                             {{"v", 1}, {"kind", "invalidate"}, {"pathKey", at(args, 0)}, {"scopeKey", at(args, 1)}, {"at", at(args, 2)}});
  }
  if (name == "extractReadMetaFromSessionEntry") return extract_meta(at(args, 0), arena);
  if (name == "extractInvalidationFromSessionEntry") return extract_invalidation(at(args, 0));
  if (name == "findReplayStartIndex") return replay_start(at(args, 0), arena);
  if (name == "hashText") return Value(arena.copy(sha256(at(args, 0).text()).hex()));
  if (name == "parseTrailingRangeIfNeeded") return trailing_range(args, home, arena);

  // The rest is about the store of a directory, the first argument.
  TRY(Host* const on, host(std::string(at(args, 0).text())));
  if (name == "persistObjectIfAbsent") return persist(*on, args, arena);
  if (name == "loadObject") return load(*on, args, arena);
  if (name == "getStoreStats") return store_stats(*on, arena);
  if (name == "pruneObjectsOlderThan") return prune(*on, args, arena);
  if (name == "objectPathForHash") {
    TRY(const Digest digest, hash_in(args));
    return Value(arena.copy(on->object_path(digest)));
  }
  return Error(ErrorCode::NOT_FOUND, "no function " + std::string(name));
}

}  // namespace weir::suite
