#include "ctree/breadboard_summary.h"

#include "ctree/breadboard_collapse.h"
#include "ctree/breadboard_text.h"

namespace weir::breadboard {
namespace {

Value pick(const Value& from, std::initializer_list<const char*> keys) {
  std::vector<Member> members;
  for (const char* key : keys) members.push_back({key, from.get(key)});
  return Value::object(std::move(members));
}

}  // namespace

Result<Value> hash_summary(const Store& store, const SummaryArgs& args) {
  TRY(const Compiled compiled, compile_stages(store, args.config, args.prompt_summary));
  TRY(const Value collapse, collapse_ctree(store));
  const Value policy = collapse.get("policy");
  std::vector<Member> members{
      {"schema_version", kSchemaVersion},
      {"snapshot", pick(snapshot(store, args.backfilled), {"node_count", "event_count", "last_id", "node_hash"})},
      {"compiler", pick(compiled.hashes, {"z1", "z2", "z3"})},
      {"selection", pick(compiled.selection_summary,
                         {"selection_sha256", "candidate_count", "kept_count", "dropped_count", "collapsed_count", "selected_count"})},
      {"collapse", Value::object({{"stage", collapse.get("stage")},
                                  {"policy_kind", policy.get("kind")},
                                  {"target", policy.get("target")},
                                  {"dropped", policy.get("dropped")},
                                  {"collapsed", policy.get("collapsed")},
                                  {"ordering", policy.get("ordering")}})},
  };
  if (args.backfilled) members.push_back({"backfilled_from_eventlog", true});
  if (args.runner.is_object()) members.push_back({"runner", pick(args.runner, {"enabled", "branches"})});
  const Value summary = Value::object(std::move(members));
  return with_member(summary, "summary_sha256", sha256_of_plain(summary));
}

std::string note_line(const Value& hash_summary) {
  const Value snapshot = hash_summary.get("snapshot"), compiler = hash_summary.get("compiler");
  std::string out = "C-TREES:";
  const auto add = [&](const char* name, const Value& value) {
    if (!value.is_null()) out.append(" ").append(name).append("=").append(value.text());
  };
  add("sha256", hash_summary.get("summary_sha256"));
  add("node_hash", snapshot.get("node_hash"));
  for (const char* z : {"z1", "z2", "z3"}) add(z, compiler.get(z));
  add("nodes", snapshot.get("node_count"));
  add("events", snapshot.get("event_count"));
  return out;
}

}  // namespace weir::breadboard
