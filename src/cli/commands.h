// One function per command, each in a file of its own or with its siblings.
#pragma once

#include <string>

#include "base/result.h"

namespace weir {
struct DiffSide;
}

namespace weir::cli {

class Run;

Result<int> run_anchor(Run& run);
Result<int> run_append(Run& run);
Result<int> run_backup(Run& run);
Result<int> run_compact(Run& run);
Result<int> run_compile(Run& run);
Result<int> run_compile_foreign(Run& run, const std::string& profile);
Result<int> run_completions(Run& run);
Result<int> run_config_check(Run& run);
Result<int> run_config_path(Run& run);
Result<int> run_config_show(Run& run);
Result<int> run_context(Run& run);
Result<int> run_demo(Run& run);
Result<int> run_diff(Run& run);
Result<int> run_diff_contexts(Run& run, const DiffSide& a, const DiffSide& b);
Result<int> run_doctor(Run& run);
Result<int> run_due(Run& run);
Result<int> run_explain(Run& run);
Result<int> run_export(Run& run);
Result<int> run_gc(Run& run);
Result<int> run_head_delete(Run& run);
Result<int> run_head_fork(Run& run);
Result<int> run_head_list(Run& run);
Result<int> run_head_move(Run& run);
Result<int> run_help(Run& run);
Result<int> run_history(Run& run);
Result<int> run_import(Run& run);
Result<int> run_init(Run& run);
Result<int> run_log(Run& run);
Result<int> run_mcp(Run& run);
Result<int> run_note(Run& run);
Result<int> run_purge(Run& run);
Result<int> run_read(Run& run);
Result<int> run_reads(Run& run);
Result<int> run_reads_digest(Run& run);
Result<int> run_refresh(Run& run);
Result<int> run_research_bundle(Run& run);
Result<int> run_research_check(Run& run);
Result<int> run_research_cite(Run& run);
Result<int> run_research_gate(Run& run);
Result<int> run_research_ingest(Run& run);
Result<int> run_research_init(Run& run);
Result<int> run_research_pack(Run& run);
Result<int> run_research_perspectives(Run& run);
Result<int> run_research_status(Run& run);
Result<int> run_research_summarize(Run& run);
Result<int> run_research_verify(Run& run);
Result<int> run_resume(Run& run);
Result<int> run_serve(Run& run);
Result<int> run_session_list(Run& run);
Result<int> run_session_new(Run& run);
Result<int> run_session_show(Run& run);
Result<int> run_show(Run& run);
Result<int> run_snapshot_attach(Run& run);
Result<int> run_snapshot_check(Run& run);
Result<int> run_snapshot_list(Run& run);
Result<int> run_snapshot_narrative(Run& run);
Result<int> run_snapshot_show(Run& run);
Result<int> run_stats(Run& run);
Result<int> run_stop(Run& run);
Result<int> run_sync(Run& run);
Result<int> run_token_rotate(Run& run);
Result<int> run_token_show(Run& run);
Result<int> run_tree(Run& run);
Result<int> run_verify(Run& run);

}  // namespace weir::cli
