// citation.v1: a line of citations.jsonl, by the rules for reading.
#include "research/schema_kit.h"
#include "research/url.h"

namespace weir::research {
namespace {

constexpr std::size_t kSnippetBytes = 2048, kFoundBy = 20;

void check_found_by(const Spot& found) {
  if (!found.need(found.is_array() && found.size() <= kFoundBy, "citation.found_by invalid")) return;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Spot place = found.at(i);
    if (!place.need(place.is_object(), "citation.found_by invalid")) continue;
    // Upstream calls a wave by its folder, Weir by its number.
    const Spot wave = place["wave"];
    wave.need(!wave.there() || wave.integer_from(1) || wave.says(), "found_by.wave invalid");
    place["perspective_id"].need(place["perspective_id"].says(), "found_by.perspective_id invalid");
    for (const std::string_view key : {"agent_type", "artifact_path", "source_line"}) {
      place[key].need(!place[key].there() || place[key].is_text(), "found_by." + std::string(key) + " invalid");
    }
  }
}

void check_optional(const Spot& record) {
  const Spot http = record["http_status"];
  http.need(!http.there() || http.is_null() || http.integer_from(0), "citation.http_status invalid");
  for (const std::string_view key : {"title", "publisher", "evidence_snippet", "checked_by"}) {
    const Spot text = record[key];
    const bool short_enough = key != "evidence_snippet" || text.text().size() <= kSnippetBytes;
    text.need(!text.there() || (text.is_text() && short_enough), "citation." + std::string(key) + " invalid");
  }
}

}  // namespace

void check_citation(const json::Value& record, const std::string& path, SchemaErrors& errors) {
  const Spot root(&record, path, errors);
  if (!root.need(root.is_object(), "citation must be an object")) return;
  root["schema_version"].need(root["schema_version"].says("citation.v1"), "citation.schema_version must be citation.v1");
  const Spot normal = root["normalized_url"], cid = root["cid"];
  const bool hashed = normal.need(normal.says(), "citation.normalized_url invalid");
  if (cid.need(cid.says(), "citation.cid invalid") && hashed) {
    cid.need(cid.text() == cid_of(normal.text()), "citation.cid is not the hash of its normalized_url", ErrorCode::CID_MISMATCH);
  }
  root["url"].need(root["url"].says(), "citation.url invalid");
  root["url_original"].need(root["url_original"].says(), "citation.url_original invalid");
  root["status"].need(root["status"].one_of({"valid", "paywalled", "blocked", "mismatch", "invalid"}), "citation.status invalid");
  root["checked_at"].need(root["checked_at"].says(), "citation.checked_at invalid");
  check_found_by(root["found_by"]);
  root["notes"].need(root["notes"].is_text(), "citation.notes invalid");
  check_optional(root);
}

}  // namespace weir::research
