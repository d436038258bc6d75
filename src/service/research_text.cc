#include "service/research_text.h"

#include <algorithm>

#include "base/utf8.h"
#include "json/canonical.h"
#include "json/error_value.h"
#include "json/mask.h"
#include "json/parse.h"
#include "research/markdown.h"
#include "research/retry.h"
#include "research/schema.h"
#include "research/url.h"

namespace weir {

using json::Value;
using research::Failure;

namespace {

constexpr std::size_t kMostNote = 200;               // code points
constexpr std::size_t kMostDirectiveBytes = 200000;  // in one entry
constexpr std::size_t kMostFailures = 20;            // listed in one directive

Result<void> check_text(std::string_view text, const std::string& what) {
  if (text.size() > limits::kMiB)
    return Error(ErrorCode::INPUT_TOO_LARGE, what + " is " + std::to_string(text.size()) + " bytes, at most 1048576 are taken")
        .with("what", what)
        .with("bytes", static_cast<std::int64_t>(text.size()))
        .with("limit", static_cast<std::int64_t>(limits::kMiB));
  const auto at = research::not_text_at(text);
  if (!at) return {};
  return Error(ErrorCode::INVALID_UTF8, what + (text[*at] == 0 ? " holds NUL" : " is not UTF-8") + " at byte " + std::to_string(*at))
      .with("what", what)
      .with("offset", static_cast<std::int64_t>(*at));
}

Value masked_queries(const Value& value, json::Arena& arena) {
  if (value.is_string()) {
    const std::string text = research::mask_queries(value.text());
    return text == value.text() ? value : Value(arena.copy(text));
  }
  if (value.is_array()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(masked_queries(item, arena));
    return json::make_array(arena, items);
  }
  if (!value.is_object()) return value;
  json::ObjectBuilder out(arena);
  for (const json::Member& member : value.members())
    out.add(arena.copy(research::mask_queries(member.key)), masked_queries(member.value, arena));
  return out.build();
}

}  // namespace

Result<void> check_short(std::string_view text, const std::string& what) {
  if (text.size() <= limits::kBlobStringBytes) return {};
  return Error(ErrorCode::INPUT_TOO_LARGE, what + " is " + std::to_string(text.size()) + " bytes, at most 65536 are taken")
      .with("what", what)
      .with("bytes", static_cast<std::int64_t>(text.size()))
      .with("limit", static_cast<std::int64_t>(limits::kBlobStringBytes));
}

Result<void> check_strings(const Value& value, const std::string& what) {
  if (value.is_string()) return check_short(value.text(), "a text of " + what);
  for (const Value& item : value.items()) TRY_DO(check_strings(item, what));
  for (const json::Member& member : value.members()) TRY_DO(check_strings(member.value, what));
  return {};
}

std::string mask_text(const Service& service, std::string_view text) {
  if (!service.masker().enabled()) return std::string(text);
  std::string out = research::mask_queries(text);
  MaskCounts counts;
  if (auto again = service.masker().mask(out, counts)) out = std::move(*again);
  return out;
}

Result<std::string> take_text(const Service& service, std::string_view text, const std::string& what) {
  TRY_DO(check_text(text, what));
  return mask_text(service, text);
}

namespace {

// A reference to a blob is Weir's own to make: taken from a caller it would fetch somebody else's text.
bool names_blob(const Value& value) {
  if (value.find("$blob") != nullptr) return true;
  const auto items = value.items();
  const auto members = value.members();
  return std::any_of(items.begin(), items.end(), names_blob) ||
         std::any_of(members.begin(), members.end(), [](const json::Member& member) { return names_blob(member.value); });
}

}  // namespace

Result<Value> take_document(const Service& service, std::string_view text, const std::string& what, json::Arena& arena) {
  TRY_DO(check_text(text, what));
  json::Parser parser;
  auto value = parser.parse(text);
  if (!value.ok()) {
    Error error = std::move(value).error();
    std::string said = what + ": " + error.message();
    return std::move(error).with_message(std::move(said));
  }
  bool repaired = false;
  TRY(const Value kept, json::parse_exact(arena.copy(text), arena, {}, repaired));
  if (names_blob(kept)) return Error(ErrorCode::INVALID_ARGS, what + " has a member named $blob, which is Weir's own").with("what", what);
  if (!service.masker().enabled()) return kept;
  MaskCounts counts;
  return json::mask(masked_queries(kept, arena), service.masker(), arena, counts);
}

Value texts_value(const std::vector<std::string>& texts, json::Arena& arena) {
  std::vector<Value> items;
  for (const std::string& text : texts) items.emplace_back(arena.copy(text));
  return json::make_array(arena, items);
}

Value failure_value(const Error& error, json::Arena& arena) {
  return json::make_object(
      arena, {{"code", info(error.code()).name}, {"message", arena.copy(error.message())}, {"details", json::details_value(error, arena)}});
}

Value finding_value(const Error& error, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  out.add("code", info(error.code()).name).add("message", arena.copy(error.message()));
  for (const auto& [key, value] : error.details()) out.add(arena.copy(key), json::detail_value(value, arena));
  return out.build();
}

namespace {

std::string note_of(const std::vector<Failure>& failures) {
  std::string more = failures.size() > 1 ? " (+" + std::to_string(failures.size() - 1) + " more)" : "";
  return std::string(utf8_prefix(failures.front().note, kMostNote - more.size())) + more;
}

// With no string longer than people read.
Value bounded(const Value& value, json::Arena& arena) {
  constexpr std::size_t kMost = 400;
  if (value.is_string())
    return value.text().size() <= kMost ? value : Value(arena.copy(std::string(utf8_prefix(value.text().substr(0, kMost), 100)) + "..."));
  if (value.is_array()) {
    std::vector<Value> items;
    for (const Value& item : value.items().subspan(0, std::min<std::size_t>(value.items().size(), 100)))
      items.push_back(bounded(item, arena));
    return json::make_array(arena, items);
  }
  if (!value.is_object()) return value;
  json::ObjectBuilder out(arena);
  for (const json::Member& member : value.members()) out.add(member.key, bounded(member.value, arena));
  return out.build();
}

Value directive_of(const Refused& one, std::int64_t attempt, std::int64_t most, json::Arena& arena) {
  std::vector<Value> failures;
  for (std::size_t i = 0; i < std::min(one.failures.size(), kMostFailures); ++i)
    failures.push_back(bounded(failure_value(one.failures[i].error, arena), arena));
  const Error& first = one.failures.front().error;
  return json::make_object(arena, {{"perspective_id", one.perspective_id.empty() ? Value() : Value(arena.copy(one.perspective_id))},
                                   {"action", "retry"},
                                   {"change_note", arena.copy(note_of(one.failures))},
                                   {"blocking_error_code", info(first.code()).name},
                                   {"gate", arena.copy(std::string(1, one.gate))},
                                   {"artifact", arena.copy(one.artifact)},
                                   {"attempt", attempt},
                                   {"max_retries", most},
                                   {"failures", json::make_array(arena, failures)},
                                   {"details", bounded(json::details_value(first, arena), arena)},
                                   {"refused_sha256", arena.copy(one.sha256)}});
}

}  // namespace

std::vector<RunEntry> retry_entries(ResearchRun& run, const std::vector<Refused>& refused, Value& retry, json::Arena& arena) {
  std::vector<Value> fresh, shown;
  Value exhausted;
  for (const Refused& one : refused) {
    const research::Retry turn = research::next_retry(run.state(), run.limits(), one.gate, one.artifact, one.sha256);
    if (turn.again != nullptr) {
      shown.push_back(research::directive_value(*turn.again, arena));
    } else if (!turn.exhausted()) {
      fresh.push_back(directive_of(one, turn.attempt, turn.most, arena));
      json::ObjectBuilder open(arena);
      open.add("consumed", false);
      for (const json::Member& member : fresh.back().members()) open.add(member.key, member.value);
      shown.push_back(open.build());
    } else if (exhausted.is_null()) {
      const std::string gate(1, one.gate);
      exhausted = json::make_object(
          arena, {{"code", "RETRY_EXHAUSTED"}, {"gate_id", arena.copy(gate)}, {"retry_count", turn.count}, {"max_retries", turn.most}});
    }
  }
  json::ObjectBuilder out(arena);
  if (!exhausted.is_null()) {
    for (const json::Member& member : exhausted.members()) out.add(member.key, member.value);
  }
  if (exhausted.is_null() || !shown.empty()) out.add("directives", json::make_array(arena, shown));
  retry = out.build();
  std::vector<RunEntry> entries;
  // An entry goes on in a further one before it would need a blob: the fold reads them.
  std::vector<Value> part;
  std::size_t bytes = 0;
  const auto flush = [&] {
    if (!part.empty()) entries.push_back({"RETRY_DIRECTED", json::make_object(arena, {{"directives", json::make_array(arena, part)}})});
    part.clear();
    bytes = 0;
  };
  for (const Value& directive : fresh) {
    const std::size_t size = json::canonical(directive).size();
    if (bytes + size > kMostDirectiveBytes) flush();
    part.push_back(directive);
    bytes += size;
  }
  flush();
  return entries;
}

Error refuse(ResearchRun& run, const std::vector<Refused>& refused, json::Arena& arena) {
  Value retry;
  const auto entries = retry_entries(run, refused, retry, arena);
  if (!entries.empty() && !run.call().dry_run) {
    if (auto recorded = run.commit(entries, arena); !recorded.ok()) return std::move(recorded).error();
  }
  const Refused& first = refused.front();
  const Error& cause = first.failures.front().error;
  Error out(cause.code(), cause.message());
  bool named = false;
  for (const auto& [key, value] : cause.details()) {
    named = named || key == "perspective_id";
    out = std::move(out).with(key, value);
  }
  if (!named && !first.perspective_id.empty()) out = std::move(out).with("perspective_id", first.perspective_id);
  std::vector<Value> all;
  for (const Refused& one : refused) {
    for (const Failure& failure : one.failures) {
      if (all.size() == 100) break;
      json::ObjectBuilder row(arena);
      if (!one.perspective_id.empty()) row.add("perspective_id", arena.copy(one.perspective_id));
      const Value shown = failure_value(failure.error, arena);
      for (const json::Member& member : shown.members()) row.add(member.key, member.value);
      all.push_back(row.build());
    }
  }
  out = std::move(out).with("failures", json::json_detail(json::make_array(arena, all)));
  return std::move(out).with("retry", json::json_detail(retry));
}

Result<ResearchRun::Committed> store_all(ResearchRun& run, const std::vector<Refused>& refused, const std::vector<RunEntry>& entries,
                                         json::Arena& arena) {
  if (!refused.empty()) return refuse(run, refused, arena);
  if (entries.empty()) return run.as_it_is();
  return run.commit(entries, arena);
}

}  // namespace weir
