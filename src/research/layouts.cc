// The order of members in each file of a run: that of the tables in docs/research.md.
#include "base/check.h"
#include "research/schema.h"

namespace weir::research {
namespace {

using json::Layout;

constexpr Layout kQuery[] = {{"text"}, {"constraints"}, {"sensitivity"}};
constexpr Layout kStep[] = {{"from"}, {"to"}, {"ts"}, {"reason"}, {"inputs_digest"}, {"gates_revision"}};
constexpr Layout kStage[] = {{"current"}, {"started_at"}, {"last_progress_at"}, {"history", kStep}};
constexpr Layout kLimits[] = {{"max_wave1_agents"},     {"max_wave2_agents"}, {"max_review_iterations"},  {"max_summary_kb"},
                              {"max_total_summary_kb"}, {"max_pack_json_kb"}, {"max_synthesis_input_kb"}, {"min_wave_rate"}};
constexpr Layout kPaths[] = {{"wave1_dir"},      {"wave2_dir"},         {"citations_dir"}, {"summaries_dir"},
                             {"synthesis_dir"},  {"logs_dir"},          {"gates_file"},    {"perspectives_file"},
                             {"citations_file"}, {"summary_pack_file"}, {"pivot_file"}};
constexpr Layout kArtifacts[] = {{"root"}, {"paths", kPaths}};
constexpr Layout kRetry[] = {{"ts"}, {"gate_id"}, {"attempt"}, {"change_note"}, {"reason"}};
constexpr Layout kMetrics[] = {{"retry_counts"}, {"retry_history", kRetry}};
constexpr Layout kFailure[] = {{"ts"}, {"stage"}, {"kind"}, {"message"}, {"retryable"}};
constexpr Layout kManifest[] = {{"schema_version"},
                                {"run_id"},
                                {"created_at"},
                                {"updated_at"},
                                {"revision"},
                                {"mode"},
                                {"status"},
                                {"query", kQuery},
                                {"stage", kStage},
                                {"limits", kLimits},
                                {"artifacts", kArtifacts},
                                {"metrics", kMetrics},
                                {"failures", kFailure},
                                {"agents"}};

constexpr Layout kGate[] = {{"id"},        {"name"},     {"class"}, {"status"}, {"checked_at"}, {"metrics"},
                            {"artifacts"}, {"warnings"}, {"notes"}, {"checks"}, {"reasons"},    {"inputs_digest"}};
constexpr Layout kGateMap[] = {{"*", kGate}};
constexpr Layout kGates[] = {{"schema_version"}, {"run_id"}, {"revision"}, {"updated_at"}, {"inputs_digest"}, {"gates", kGateMap}};

constexpr Layout kContract[] = {{"max_words"}, {"max_sources"}, {"tool_budget"}, {"must_include_sections"}};
constexpr Layout kRequirement[] = {{"name"}, {"reason"}};
constexpr Layout kPolicy[] = {{"primary"}, {"secondary"}, {"forbidden"}};
constexpr Layout kPerspective[] = {{"id"},
                                   {"title"},
                                   {"track"},
                                   {"agent_type"},
                                   {"prompt_contract", kContract},
                                   {"expected_platforms"},
                                   {"platform_requirements", kRequirement},
                                   {"tool_policy", kPolicy},
                                   {"source_artifact"}};
constexpr Layout kPerspectives[] = {{"schema_version"}, {"run_id"}, {"created_at"}, {"perspectives", kPerspective}};

constexpr Layout kFound[] = {{"wave"}, {"perspective_id"}, {"agent_type"}, {"artifact_path"}, {"source_line"}};
constexpr Layout kCitation[] = {{"schema_version"},   {"normalized_url"},   {"cid"},   {"url"},         {"url_original"}, {"status"},
                                {"checked_at"},       {"found_by", kFound}, {"notes"}, {"http_status"}, {"title"},        {"publisher"},
                                {"evidence_snippet"}, {"checked_by"}};

constexpr Layout kPackLimits[] = {{"max_summary_kb"}, {"max_total_summary_kb"}, {"max_pack_json_kb"}, {"max_synthesis_input_kb"}};
constexpr Layout kClaim[] = {{"claim"}, {"citation_cids"}, {"confidence"}};
constexpr Layout kSummary[] = {{"perspective_id"}, {"source_artifact"}, {"summary_md"}, {"key_claims", kClaim}};
constexpr Layout kPack[] = {{"schema_version"},        {"run_id"}, {"generated_at"}, {"limits", kPackLimits}, {"summaries", kSummary},
                            {"total_estimated_tokens"}};
constexpr Layout kClaimMeta[] = {{"perspective_id"}, {"index"}, {"line"}, {"confidence_source"}, {"number_check"}};
constexpr Layout kPackMeta[] = {{"schema_version"},     {"generated_at"}, {"inputs_digest"},
                                {"claims", kClaimMeta}, {"truncated"},    {"warnings"}};
constexpr Layout kOutputMeta[] = {{"schema_version"}, {"prompt_digest"}, {"agent_run_id"}, {"ingested_at"}, {"model"}, {"tool_usage"}};

constexpr Layout kProblem[] = {{"code"}, {"message"}, {"line"}, {"details"}};
constexpr Layout kDirective[] = {{"perspective_id"}, {"action"},  {"change_note"}, {"blocking_error_code"}, {"gate"},
                                 {"artifact"},       {"attempt"}, {"max_retries"}, {"failures", kProblem},  {"details"},
                                 {"refused_sha256"}, {"consumed"}};
constexpr Layout kDirectives[] = {{"schema_version"}, {"run_id"},      {"stage"},
                                  {"generated_at"},   {"consumed_at"}, {"retry_directives", kDirective}};

constexpr Layout kPart[] = {{"n"}, {"name"}, {"source"}, {"offset"}, {"bytes"}, {"sha256"}};
constexpr Layout kBundleIndex[] = {{"schema_version"}, {"run_id"}, {"gate_d_digest"},         {"bytes"}, {"sha256"}, {"limit_kb"},
                                   {"parts", kPart},   {"cids"},   {"total_estimated_tokens"}};

constexpr Layout kFoundItem[] = {{"url_original"}, {"wave"}, {"perspective_id"}, {"source_line"}, {"ordinal"}};
constexpr Layout kFoundBy[] = {{"schema_version"}, {"run_id"}, {"items", kFoundItem}};
constexpr Layout kMapItem[] = {{"url_original"}, {"normalized_url"}, {"cid"}};
constexpr Layout kUrlMap[] = {{"schema_version"}, {"run_id"}, {"items", kMapItem}};
constexpr Layout kTerminal[] = {{"schema_version"}, {"run_id"},  {"generated_at"},      {"gate"},
                                {"code"},           {"message"}, {"iteration"},         {"max_review_iterations"},
                                {"sha256"},         {"bytes"},   {"findings", kProblem}};

}  // namespace

std::span<const Layout> layout_of(Document document) {
  switch (document) {
    case Document::manifest:
      return kManifest;
    case Document::gates:
      return kGates;
    case Document::perspectives:
      return kPerspectives;
    case Document::citation:
      return kCitation;
    case Document::pack:
      return kPack;
    case Document::pack_meta:
      return kPackMeta;
    case Document::output_meta:
      return kOutputMeta;
    case Document::directives:
      return kDirectives;
    case Document::bundle_index:
      return kBundleIndex;
    case Document::found_by:
      return kFoundBy;
    case Document::url_map:
      return kUrlMap;
    case Document::terminal:
      return kTerminal;
  }
  WEIR_CHECK(false);
  return {};
}

}  // namespace weir::research
