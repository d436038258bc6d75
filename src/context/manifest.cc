#include "context/manifest.h"

#include "base/limits.h"
#include "context/logs.h"
#include "json/canonical.h"
#include "json/digest.h"

namespace weir::context {
namespace {

using json::Arena;
using json::Value;

constexpr std::size_t kMostLogBytes = 64 * limits::kKiB;  // a longer one leaves the manifest for the blob store
constexpr std::size_t kIdDigits = 32;

Value texts(const std::vector<std::string>& list, Arena& arena) {
  const std::vector<Value> items(list.begin(), list.end());
  return json::make_array(arena, items);
}

Value optional_text(const std::optional<std::string>& text) { return text ? Value(*text) : Value(); }

Value limit_json(const ctree::Limit& limit) { return limit ? Value(*limit) : Value(); }

// {"$blob","bytes"}; the bytes are the caller's to store.
json::ObjectBuilder blob_of(std::string bytes, std::vector<std::string>& blobs, Arena& arena) {
  json::ObjectBuilder out(arena);
  out.add("$blob", arena.copy("sha256:" + sha256(bytes).hex())).add("bytes", bytes.size());
  blobs.push_back(std::move(bytes));
  return out;
}

// The log itself, or the name of its blob.
Value log_value(const LogText& log, std::vector<std::string>& blobs, Arena& arena) {
  if (log.text.size() <= kMostLogBytes) return Value::raw(log.text);
  return blob_of(log.text, blobs, arena).add("count", log.count).build();
}

Value budget(const ManifestInput& in, Arena& arena) {
  const auto limits = in.config.compile_config().selection;
  const auto& used = in.compiled.selection.used;
  return json::make_object(arena, {{"estimator", ctree::kEstimator},
                                   {"max_bytes", limit_json(limits.max_bytes)},
                                   {"max_tokens", limit_json(limits.max_tokens)},
                                   {"used_bytes", used.bytes},
                                   {"used_tokens", used.tokens}});
}

void add_request(const Request& request, json::ObjectBuilder& out, Arena& arena) {
  out.add("intent", Value::raw(request.intent))
      .add("retrieval_query", optional_text(request.retrieval_query))
      .add("filters", texts(request.filters, arena))
      .add("candidate_chunk_ids", texts(request.candidate_chunk_ids, arena))
      .add("selected_chunk_ids", texts(request.selected_chunk_ids, arena))
      .add("selected_source_ids", texts(request.selected_source_ids, arena))
      .add("reranker_model", optional_text(request.reranker_model))
      .add("reranker_version", optional_text(request.reranker_version));
}

}  // namespace

std::string manifest_id(std::string_view manifest) {
  return "man1_" + json::digest_text(json::Domain::manifest_id, manifest).hex().substr(0, kIdDigits);
}

Manifest make_manifest(const ManifestInput& in) {
  Manifest out;
  Arena arena;
  json::ObjectBuilder built(arena);
  add_request(in.request, built, arena);
  const auto& checkpoint = in.state.checkpoint;
  const bool snapshot = checkpoint && !checkpoint->snapshot_id.empty();
  const Value thresholds = json::make_object(arena, {{"event_threshold", in.thresholds.event_threshold},
                                                     {"n_step_fallback", in.thresholds.n_step_fallback},
                                                     {"plain_bytes_threshold", in.thresholds.plain_bytes_threshold}});
  const LogInput logs{in.fold, in.state, in.compiled, in.context, in.request};
  const LogText included = inclusion_log(logs), excluded = exclusion_log(logs);
  const Value exclusion = log_value(excluded, out.blobs, arena);
  out.exclusion = json::canonical(exclusion);
  built.add("step_id", in.step_id)
      .add("snapshot_id", snapshot ? Value(checkpoint->snapshot_id) : Value())
      .add("token_budget", budget(in, arena))
      .add("thresholds", thresholds)
      .add("compiler_version", ctree::kProfile)
      .add("config_sha256", arena.copy(in.compiled.config_sha256.hex()))
      .add("format", name(in.config.format))
      .add("prefix_hash", arena.copy(in.hashes.prefix.hex()))
      .add("prefix_length", in.hashes.prefix_length)
      .add("context_sha256", arena.copy(in.hashes.context.hex()))
      .add("hashes", in.compiled.hashes_json(arena))
      .add("inclusion", log_value(included, out.blobs, arena))
      .add("exclusion", exclusion);
  if (in.context.marks_holes) built.add("rules", kRules);
  if (in.prompt) built.add("prompt_blob", blob_of(std::string(*in.prompt), out.blobs, arena).build());
  out.step_id = in.step_id;
  out.text = json::canonical(built.build());
  out.id = manifest_id(out.text);
  return out;
}

Value Manifest::body(Arena& arena) const {
  return json::make_object(arena, {{"manifest", Value::raw(text)}, {"manifest_id", id}, {"step_id", step_id}});
}

}  // namespace weir::context
