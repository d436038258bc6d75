#include "research/pack.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/sha256.h"
#include "json/canonical.h"
#include "json/digest.h"
#include "json/error_value.h"
#include "json/layout.h"
#include "research/figures.h"
#include "research/markdown.h"
#include "research/schema.h"

namespace weir::research {

using json::Value;

std::string sha256_name(std::string_view bytes) { return "sha256:" + sha256(bytes).hex(); }

namespace {

Result<void> check_limit(double value, std::string_view name) {
  if (value > 0) return {};
  return Error(ErrorCode::INVALID_STATE, "manifest.limits." + std::string(name) + " invalid").with("value", value);
}

Result<void> check_ids(const Perspectives& perspectives) {
  std::set<std::string> seen;
  for (const Perspective& one : perspectives.all()) {
    if (seen.insert(folded_id(one.id)).second) continue;
    return Error(ErrorCode::DUPLICATE_PERSPECTIVE_ID, "the perspective id '" + std::string(one.id) + "' stands twice")
        .with("perspective_id", std::string(one.id));
  }
  return {};
}

// What 5.9 would not even look at: a file that is no text.
std::optional<Failure> not_text(std::string_view bytes, std::string_view id) {
  const auto at = not_text_at(bytes);
  if (!at) return std::nullopt;
  return Failure{Error(ErrorCode::INVALID_UTF8, "the summary is not UTF-8 or holds NUL at byte " + std::to_string(*at))
                     .with("perspective_id", std::string(id))
                     .with("offset", static_cast<std::int64_t>(*at)),
                 "Write the summary as UTF-8 without NUL"};
}

Value claims_value(const std::vector<Claim>& claims, json::Arena& arena) {
  std::vector<Value> items;
  for (const Claim& claim : claims) {
    std::vector<Value> cids(claim.cids.begin(), claim.cids.end());
    items.push_back(json::make_object(
        arena, {{"claim", claim.claim}, {"citation_cids", json::make_array(arena, cids)}, {"confidence", claim.confidence}}));
  }
  return json::make_array(arena, items);
}

Value pack_value_of(const Pack& pack, const PackInputs& in, json::Arena& arena) {
  std::vector<Value> entries;
  for (const PackEntry& entry : pack.entries) {
    entries.push_back(json::make_object(arena, {{"perspective_id", entry.perspective->id},
                                                {"source_artifact", entry.perspective->source_artifact},
                                                {"summary_md", entry.path},
                                                {"key_claims", claims_value(entry.check.claims, arena)}}));
  }
  const auto tokens = std::max<std::int64_t>(1, static_cast<std::int64_t>((pack.total_bytes + 2) / 4));
  return json::make_object(arena, {{"schema_version", "summary_pack.v1"},
                                   {"run_id", in.state.run_id},
                                   {"limits", kb_limits_value(in.limits, arena)},
                                   {"summaries", json::make_array(arena, entries)},
                                   {"total_estimated_tokens", tokens}});
}

// All summaries together are too large: the largest is to shrink.
void check_total(Pack& pack, const PackInputs& in) {
  const double cap = in.limits.max_total_summary_kb;
  if (static_cast<double>(pack.total_bytes) / 1024 <= cap || pack.entries.empty()) return;
  const PackEntry& largest = *std::max_element(pack.entries.begin(), pack.entries.end(),
                                               [](const PackEntry& a, const PackEntry& b) { return a.text.size() < b.text.size(); });
  const std::uint64_t excess = pack.total_bytes - cap_bytes(cap);
  Error error = Error(ErrorCode::SIZE_CAP_EXCEEDED, "total summaries exceed max_total_summary_kb")
                    .with("total_summary_kb", kb_figure(pack.total_bytes))
                    .with("max_total_summary_kb", cap)
                    .with("excess_bytes", static_cast<std::int64_t>(excess))
                    .with("largest", std::string(largest.perspective->id));
  const std::string note = "All summaries together are " + std::to_string(pack.total_bytes) + " bytes, cap " +
                           std::to_string(cap_bytes(cap)) + ": cut at least " + std::to_string(excess) + " bytes; this one is the largest";
  pack.refused.push_back({std::string(largest.perspective->id), largest.path, largest.sha256, {{std::move(error), note}}});
}

void note_warnings(Pack& pack) {
  std::set<std::string> warnings;
  for (const PackEntry& entry : pack.entries) warnings.insert(entry.check.warnings.begin(), entry.check.warnings.end());
  if (!pack.truncated.empty()) warnings.insert("TRUNCATED");
  pack.warnings.assign(warnings.begin(), warnings.end());
}

}  // namespace

const Output* accepted_output(const State& state, const Perspective& perspective) {
  const auto* found = state.outputs.find(std::string(perspective.id));
  return found == nullptr || (*found)->wave != perspective.wave ? nullptr : found->get();
}

std::vector<const Perspective*> expected_perspectives(const State& state, const Perspectives& perspectives) {
  std::vector<const Perspective*> out;
  for (const Perspective& one : perspectives.all()) {
    if (one.wave == 1 || accepted_output(state, one) != nullptr) out.push_back(&one);
  }
  std::stable_sort(out.begin(), out.end(), [](const Perspective* a, const Perspective* b) { return compare_t(a->id, b->id) < 0; });
  return out;
}

Result<Pack> build_pack(const PackInputs& in, json::Arena& arena) {
  TRY_DO(check_limit(in.limits.max_summary_kb, "max_summary_kb"));
  TRY_DO(check_limit(in.limits.max_total_summary_kb, "max_total_summary_kb"));
  if (in.perspectives.all().empty()) {
    SchemaErrors errors;
    errors.add("$.perspectives", "perspectives list is empty");
    TRY_DO(errors.result());
  }
  TRY_DO(check_ids(in.perspectives));
  Pack pack;
  for (const Perspective* perspective : expected_perspectives(in.state, in.perspectives)) {
    const std::string id(perspective->id);
    const auto* known = in.state.summaries.find(id);
    const std::string path = known == nullptr ? summary_path(id) : (*known)->path;
    TRY(RunFile file, in.files.read(path));
    if (file.kind == RunFile::Kind::absent) {
      if (in.allow_missing) continue;
      return Error(ErrorCode::NOT_FOUND, "required file missing: the summary of '" + id + "'; hand it in with `weir research summarize`")
          .with("perspective_id", id)
          .with("path", path);
    }
    PackEntry entry{perspective, path, std::move(file.bytes), "", {}};
    entry.sha256 = sha256_name(entry.text);
    if (known == nullptr || (*known)->sha256 != entry.sha256) pack.changed.push_back(path);
    const auto unreadable = not_text(entry.text, id);
    if (!unreadable) {
      const bool warn = known != nullptr && (*known)->numbers_warn;
      entry.check = check_summary(entry.text, id, in.pool, in.limits.max_summary_kb, warn ? NumberRule::warn : NumberRule::refuse);
    } else {
      entry.check.failures.push_back(*unreadable);
    }
    if (!entry.check.failures.empty()) pack.refused.push_back({id, path, entry.sha256, entry.check.failures});
    if (known != nullptr && (*known)->truncated) pack.truncated.push_back(id);
    pack.total_bytes += entry.text.size();
    pack.entries.push_back(std::move(entry));
  }
  if (pack.refused.empty()) check_total(pack, in);
  note_warnings(pack);
  pack.value = pack_value_of(pack, in, arena);
  return pack;
}

std::string pack_text(const Value& pack, const std::string& generated_at, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  if (!generated_at.empty()) out.add("generated_at", arena.copy(generated_at));
  for (const json::Member& member : pack.members()) out.add(member.key, member.value);
  return json::write_document(out.build(), layout_of(Document::pack));
}

Value without_time(const Value& pack, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  for (const json::Member& member : pack.members()) {
    if (member.key != "generated_at") out.add(member.key, member.value);
  }
  return out.build();
}

std::string pack_digest(const Value& pack) { return "sha256:" + json::digest(json::Domain::pack, pack).hex(); }

Value kb_limits_value(const Limits& limits, json::Arena& arena) {
  return json::make_object(arena, {{"max_summary_kb", limits.max_summary_kb},
                                   {"max_total_summary_kb", limits.max_total_summary_kb},
                                   {"max_pack_json_kb", limits.max_pack_json_kb()},
                                   {"max_synthesis_input_kb", limits.max_synthesis_input_kb()}});
}

std::string pool_digest(const Pool& pool) {
  json::Arena arena;
  std::vector<Value> pairs;
  for (const Citation& record : pool.records()) {
    const Value pair[] = {record.cid, record.status};
    pairs.push_back(json::make_array(arena, pair));
  }
  return "sha256:" + json::digest(json::Domain::pool, json::make_array(arena, pairs)).hex();
}

Value pack_meta_value(const Pack& pack, const PackInputs& in, json::Arena& arena) {
  static constexpr std::string_view kChecks[] = {"pass", "unchecked", "warned"};
  std::vector<Value> claims, sources;
  for (const PackEntry& entry : pack.entries) {
    sources.push_back(json::make_object(arena, {{"perspective_id", entry.perspective->id}, {"sha256", entry.sha256}}));
    for (std::size_t i = 0; i < entry.check.claims.size(); ++i) {
      const Claim& claim = entry.check.claims[i];
      claims.push_back(json::make_object(arena, {{"perspective_id", entry.perspective->id},
                                                 {"index", i},
                                                 {"line", claim.line},
                                                 {"confidence_source", claim.confidence_given ? "author" : "default"},
                                                 {"number_check", kChecks[static_cast<int>(claim.numbers)]}}));
    }
  }
  const Value inputs = json::make_object(arena, {{"allow_missing", in.allow_missing},
                                                 {"limits", kb_limits_value(in.limits, arena)},
                                                 {"pool", arena.copy(pool_digest(in.pool))},
                                                 {"summaries", json::make_array(arena, sources)}});
  std::vector<Value> truncated(pack.truncated.begin(), pack.truncated.end()), warnings(pack.warnings.begin(), pack.warnings.end());
  return json::make_object(arena, {{"inputs_digest", arena.copy(pack_digest(inputs))},
                                   {"claims", json::make_array(arena, claims)},
                                   {"truncated", json::make_array(arena, truncated)},
                                   {"warnings", json::make_array(arena, warnings)}});
}

}  // namespace weir::research
