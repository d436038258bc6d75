// summary_pack.v1: what a synthesis may read. Whether its ids and cids exist is Gate D's to say.
#include <set>

#include "research/schema_kit.h"

namespace weir::research {
namespace {

void check_cids(const Spot& cids) {
  if (!cids.need(cids.is_array() && cids.size() > 0, "key_claim.citation_cids invalid")) return;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < cids.size(); ++i) {
    const Spot cid = cids.at(i);
    cid.need(cid.says() && seen.insert(cid.text()).second, "key_claim.citation_cids invalid");
  }
}

void check_claim(const Spot& claim) {
  if (!claim.need(claim.is_object(), "summary.key_claims invalid")) return;
  claim["claim"].need(claim["claim"].says(), "key_claim.claim invalid");
  check_cids(claim["citation_cids"]);
  const auto confidence = claim["confidence"].number();
  claim["confidence"].need(confidence && *confidence >= 0 && *confidence <= 100, "key_claim.confidence invalid");
}

// Confined, and below `folder` if one is named.
void check_path(const Spot& path, std::string_view folder, std::string_view message) {
  if (!path.need(path.is_text(), message)) return;
  if (path.need(confined_path(path.text()), message, ErrorCode::PATH_TRAVERSAL)) path.need(path.text().starts_with(folder), message);
}

void check_summary_entry(const Spot& summary) {
  if (!summary.need(summary.is_object(), "summary-pack.summaries invalid")) return;
  summary["perspective_id"].need(summary["perspective_id"].says(), "summary.perspective_id invalid");
  check_path(summary["source_artifact"], "", "summary.source_artifact invalid");
  // A blank path is a summary that is missing, which a gate fails and a schema allows.
  const Spot file = summary["summary_md"];
  if (!file.is_text() || file.says()) check_path(file, "summaries/", "summary.summary_md invalid");
  const Spot claims = summary["key_claims"];
  claims.need(claims.is_array(), "summary.key_claims invalid");
  for (std::size_t i = 0; i < claims.size(); ++i) check_claim(claims.at(i));
}

void check_pack_limits(const Spot& limits) {
  if (!limits.need(limits.is_object(), "summary-pack.limits invalid")) return;
  for (const std::string_view key : {"max_summary_kb", "max_total_summary_kb", "max_pack_json_kb", "max_synthesis_input_kb"}) {
    const bool optional = key == "max_pack_json_kb" || key == "max_synthesis_input_kb";
    const Spot limit = limits[key];
    limit.need((optional && !limit.there()) || limit.number(), "summary-pack.limits." + std::string(key) + " invalid");
  }
}

}  // namespace

void check_pack(const json::Value& document, std::string_view run_id, SchemaErrors& errors) {
  constexpr std::string_view kVersion = "summary-pack schema_version must be summary_pack.v1";
  const Spot root(&document, "$", errors);
  root["schema_version"].need(root["schema_version"].says("summary_pack.v1"), kVersion);
  if (!root.is_object()) return;
  root["run_id"].need(root["run_id"].says(run_id), "summary-pack.run_id invalid");
  root["generated_at"].need(utc_time_ok(root["generated_at"].text()), "summary-pack.generated_at invalid");
  check_pack_limits(root["limits"]);
  const Spot summaries = root["summaries"];
  summaries.need(summaries.is_array(), "summary-pack.summaries invalid");
  for (std::size_t i = 0; i < summaries.size(); ++i) check_summary_entry(summaries.at(i));
  const auto tokens = root["total_estimated_tokens"].number();
  root["total_estimated_tokens"].need(tokens && *tokens >= 0, "summary-pack.total_estimated_tokens invalid");
}

}  // namespace weir::research
