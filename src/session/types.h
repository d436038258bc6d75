// The entry types Weir knows (DESIGN section 4). Others are stored and no fold reads them.
#pragma once

#include <string_view>

namespace weir::types {

inline constexpr std::string_view kMessage = "message";
inline constexpr std::string_view kRead = "read";
inline constexpr std::string_view kRefresh = "refresh";
inline constexpr std::string_view kContextEdit = "context_edit";
inline constexpr std::string_view kCompaction = "compaction";
inline constexpr std::string_view kBranchSummary = "branch_summary";
inline constexpr std::string_view kLabel = "label";
inline constexpr std::string_view kSessionInfo = "session_info";
inline constexpr std::string_view kCustom = "custom";
inline constexpr std::string_view kCtreeNode = "ctree_node";
inline constexpr std::string_view kSnapshotAttached = "SNAPSHOT_ATTACHED";
inline constexpr std::string_view kManifestWritten = "CONTEXT_MANIFEST_WRITTEN";
inline constexpr std::string_view kRunStopped = "RUN_STOPPED";
inline constexpr std::string_view kRunResumed = "RUN_RESUMED";
inline constexpr std::string_view kFailureRecorded = "FAILURE_RECORDED";
inline constexpr std::string_view kCompactionFailed = "COMPACTION_FAILED";

// What of an agent's run is recorded: claims, evidence, steps. Stored as they come; their contract checks them.
inline constexpr std::string_view kRunEvents[] = {
    "RUN_STARTED",        "RUN_STOPPED",         "RUN_RESUMED",       "THRESHOLDS_SET",
    "STEP_STARTED",       "STEP_ABORTED",        "PLAN_DONE",         "ACT_DONE",
    "OBSERVE_DONE",       "PLAN_FAILED",         "ACT_FAILED",        "SOURCE_REGISTERED",
    "CHUNK_REGISTERED",   "EVIDENCE_REGISTERED", "EVIDENCE_ATTACHED", "EVIDENCE_DETACHED",
    "EVIDENCE_WITHDRAWN", "CLAIM_PROPOSED",      "CLAIM_VERIFIED",    "CLAIM_DOWNGRADED",
    "CLAIM_RETRACTED",    "CONFLICT_RECORDED",   "CONFLICT_CITED",    "CONFLICT_RESOLVED",
    "QUESTION_OPENED",    "QUESTION_CLOSED",     "FAILURE_RECORDED",  "FAILURE_RESOLVED",
    "NEXT_ACTIONS_SET",   "COMPACTION_FAILED",   "SNAPSHOT_ATTACHED", "CONTEXT_MANIFEST_WRITTEN",
};

inline constexpr std::string_view kResearchEvents[] = {
    "RESEARCH_STARTED", "RESEARCH_PATCHED",   "PERSPECTIVES_WRITTEN", "WAVE_OUTPUT_INGESTED", "CITATION_RECORDED", "SUMMARY_INGESTED",
    "RETRY_DIRECTED",   "SUMMARY_PACK_BUILT", "GATE_EVALUATED",       "BUNDLE_WRITTEN",       "SYNTHESIS_CHECKED",
};

}  // namespace weir::types
