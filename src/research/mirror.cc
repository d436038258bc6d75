#include "research/mirror.h"

#include <algorithm>
#include <array>

#include "json/canonical.h"
#include "json/layout.h"
#include "json/parse.h"
#include "research/bundle.h"
#include "research/extract.h"
#include "research/pack.h"
#include "research/perspectives.h"
#include "research/schema.h"

namespace weir::research {

using json::Value;
using Kind = FileSpec::Kind;

namespace {

struct GateName {
  std::string_view id, name;
  std::array<std::string_view, 2> artifacts;  // empty: none
};
constexpr GateName kGates[] = {
    {"A", "Planning completeness", {}},
    {"B", "Wave output contract compliance", {"wave-1", "wave-2"}},
    {"C", "Citation validation integrity", {"citations/citations.jsonl"}},
    {"D", "Summary pack boundedness", {"summaries/summary-pack.json", "summaries"}},
    {"E", "Synthesis quality", {"synthesis/final-synthesis.md"}},
    {"F", "Rollout safety", {}},
};

constexpr std::pair<std::string_view, std::string_view> kPaths[] = {
    {"wave1_dir", "wave-1"},
    {"wave2_dir", "wave-2"},
    {"citations_dir", "citations"},
    {"summaries_dir", "summaries"},
    {"synthesis_dir", "synthesis"},
    {"logs_dir", "logs"},
    {"gates_file", "gates.json"},
    {"perspectives_file", "perspectives.json"},
    {"citations_file", "citations/citations.jsonl"},
    {"summary_pack_file", "summaries/summary-pack.json"},
    {"pivot_file", "pivot.json"},
};

Value parsed(const std::string& canonical_text, json::Arena& arena) {
  auto value = json::parse_stored(canonical_text, arena);
  return value.ok() ? std::move(value).value() : Value();
}

Value time_value(TimeMs at, json::Arena& arena) { return arena.copy(format_time(at)); }

std::string seq_key(Seq seq) { return "entry " + std::to_string(seq); }

// What came before, if the run was taken over, and then what the log knows.
Value stage_value(const State& state, const Value* before, json::Arena& arena) {
  std::vector<Value> history;
  if (const Value* list = before == nullptr ? nullptr : before->find("history")) history.assign(list->items().begin(), list->items().end());
  state.stage_history.each([&](const StageMove& move) {
    history.push_back(json::make_object(arena, {{"from", arena.copy(move.from)},
                                                {"to", arena.copy(move.to)},
                                                {"ts", time_value(move.at, arena)},
                                                {"reason", arena.copy(move.reason)},
                                                {"inputs_digest", arena.copy(move.entry_digest)},
                                                {"gates_revision", move.gates_revision}}));
  });
  return json::make_object(arena, {{"current", arena.copy(state.stage)},
                                   {"started_at", time_value(state.stage_started, arena)},
                                   {"history", json::make_array(arena, history)}});
}

Value metrics_value(const State& state, const Value* given, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  if (!state.retry_counts.empty()) {
    json::ObjectBuilder counts(arena);
    state.retry_counts.each([&](const std::string& gate, std::int64_t count) { counts.add(arena.copy(gate), count); });
    std::vector<Value> history;
    state.retry_history.each([&](const RetryNote& note) {
      history.push_back(json::make_object(arena, {{"ts", time_value(note.at, arena)},
                                                  {"gate_id", arena.copy(note.gate)},
                                                  {"attempt", note.attempt},
                                                  {"change_note", arena.copy(note.note)},
                                                  {"reason", arena.copy(note.reason)}}));
    });
    out.add("retry_counts", counts.build()).add("retry_history", json::make_array(arena, history));
  }
  if (given != nullptr) {
    for (const json::Member& member : given->members()) {
      if (member.key != "retry_counts" && member.key != "retry_history") out.add(member.key, member.value);
    }
  }
  return out.build();
}

Value failures_value(const State& state, const Value* given, json::Arena& arena) {
  std::vector<Value> list;
  if (given != nullptr) list.assign(given->items().begin(), given->items().end());
  if (state.terminal) {
    list.push_back(json::make_object(arena, {{"ts", time_value(state.terminal->at, arena)},
                                             {"stage", "synthesis"},
                                             {"kind", "REVIEW_CAP_EXCEEDED"},
                                             {"message", "the last report that was allowed has failed; see review/terminal-failure.json"},
                                             {"retryable", true}}));
  }
  return json::make_array(arena, list);
}

Value artifacts_value(const std::string& root, json::Arena& arena) {
  json::ObjectBuilder paths(arena);
  for (const auto& [key, path] : kPaths) paths.add(key, path);
  return json::make_object(arena, {{"root", arena.copy(root)}, {"paths", paths.build()}});
}

Value directives_value(const State& state, json::Arena& arena) {
  std::vector<Value> list;
  for (const auto& directive : state.directives) list.push_back(directive_value(*directive, arena));
  return json::make_object(arena, {{"schema_version", "retry_directives.v1"},
                                   {"run_id", arena.copy(state.run_id)},
                                   {"stage", arena.copy(state.directives_stage)},
                                   {"generated_at", time_value(state.directives_made.at, arena)},
                                   {"consumed_at", state.directives_consumed ? time_value(*state.directives_consumed, arena) : Value()},
                                   {"retry_directives", json::make_array(arena, list)}});
}

Result<std::string> text_member(Contents& contents, Seq entry, std::string_view path) {
  json::Arena arena;
  TRY(const Value value, contents.member(entry, path, arena));
  if (!value.is_string())
    return Error(ErrorCode::CORRUPT, "an entry of a research run has no " + std::string(path))
        .with("seq", static_cast<std::int64_t>(entry));
  return std::string(value.text());
}

// The derived files, made of the outputs as they were when they were made.
Result<Extraction> extraction_of(const State& state, Contents& contents, Perspectives& perspectives, json::Arena& arena) {
  TRY(perspectives, load_perspectives(state.extracted_perspectives, contents, arena));
  std::vector<OutputText> texts;
  for (const Perspective& one : perspectives.all()) {
    const auto* output = state.extracted_outputs.find(std::string(one.id));
    if (output == nullptr || (*output)->wave != one.wave) continue;
    TRY(std::string text, text_member(contents, (*output)->place.entry, "text"));
    texts.push_back({&one, std::move(text)});
  }
  return extract(texts);
}

Result<std::string> render_derived(const State& state, const FileSpec& spec, Contents& contents) {
  json::Arena arena;
  Perspectives perspectives;
  TRY(const Extraction found, extraction_of(state, contents, perspectives, arena));
  switch (spec.kind) {
    case Kind::extracted_urls:
      return url_lines(found.shown());
    case Kind::normalized_urls:
      return url_lines(found.normal());
    case Kind::found_by:
      return json::write_document(found_by_value(found, state.run_id, arena), layout_of(Document::found_by));
    default:
      return json::write_document(url_map_value(found, state.run_id, arena), layout_of(Document::url_map));
  }
}

std::string citation_file(const State& state) {
  std::string out;
  state.records.each([&](const TKey&, const std::shared_ptr<const Record>& record) { (out += record->line) += '\n'; });
  return out;
}

// The stream as it was: from the state at the entry that recorded it.
Result<Bundle> bundle_of(const State& state, Contents& contents) {
  TRY(const auto then, contents.state_at(state.bundle->place.entry));
  if (!then->pack)
    return Error(ErrorCode::CORRUPT, "a bundle without a pack").with("seq", static_cast<std::int64_t>(state.bundle->place.entry));
  json::Arena arena;
  TRY(const Value pack, pack_value(*then->pack, contents, false, arena));
  std::vector<std::string> texts;
  std::vector<BundleSummary> parts;
  const Value* entries = pack.find("summaries");
  texts.reserve(entries == nullptr ? 0 : entries->items().size());
  for (const Value& entry : entries == nullptr ? std::span<const Value>() : entries->items()) {
    const std::string id(entry.text_or("perspective_id", ""));
    const auto* summary = then->summaries.find(id);
    if (summary == nullptr) continue;
    TRY(std::string text, text_member(contents, (*summary)->place.entry, "text"));
    texts.push_back(std::move(text));
    parts.push_back({entry.text_or("perspective_id", ""), entry.text_or("summary_md", ""), texts.back()});
  }
  const Value manifest = parsed(then->manifest, arena);
  const Value* query = manifest.find("query");
  return make_bundle(query == nullptr ? "" : query->text_or("text", ""), pack_text(pack, "", arena), parts, pool_of(*then));
}

Result<std::string> render_bundle_index(const State& state, Contents& contents) {
  TRY(const Bundle bundle, bundle_of(state, contents));
  TRY(const auto then, contents.state_at(state.bundle->place.entry));
  json::Arena arena;
  TRY(const Value pack, pack_value(*then->pack, contents, false, arena));
  const Value* tokens = pack.find("total_estimated_tokens");
  std::vector<Value> cids(bundle.cids.begin(), bundle.cids.end());
  const Value index = json::make_object(arena, {{"schema_version", "synthesis_input.v1"},
                                                {"run_id", state.run_id},
                                                {"gate_d_digest", state.bundle->gate_d_digest},
                                                {"bytes", bundle.stream.size()},
                                                {"sha256", bundle.sha256},
                                                {"limit_kb", limits_of(parsed(then->manifest, arena)).max_synthesis_input_kb()},
                                                {"parts", parts_value(bundle.index, arena)},
                                                {"cids", json::make_array(arena, cids)},
                                                {"total_estimated_tokens", tokens == nullptr ? Value() : *tokens}});
  return json::write_document(index, layout_of(Document::bundle_index));
}

Result<std::string> render_output_meta(const State& state, const FileSpec& spec) {
  json::Arena arena;
  const Output& output = **state.outputs.find(spec.id);
  json::ObjectBuilder out(arena);
  out.add("schema_version", "wave-output-meta.v1").add("ingested_at", time_value(output.place.at, arena));
  const Value meta = parsed(output.meta, arena);
  for (const json::Member& member : meta.members()) out.add(member.key, member.value);
  return json::write_document(out.build(), layout_of(Document::output_meta));
}

Result<std::string> render_pack_meta(const State& state, Contents& contents) {
  json::Arena arena;
  TRY(const Value meta, contents.member(state.pack->place.entry, "extra.meta", arena));
  json::ObjectBuilder out(arena);
  out.add("schema_version", "summary_pack_meta.v1").add("generated_at", time_value(state.pack->place.at, arena));
  for (const json::Member& member : meta.members()) out.add(member.key, member.value);
  return json::write_document(out.build(), layout_of(Document::pack_meta));
}

Result<std::string> render_terminal(const State& state, Contents& contents) {
  json::Arena arena;
  TRY(const Value findings, contents.member(state.terminal->entry, "findings", arena));
  TRY(const Value sha256, contents.member(state.terminal->entry, "sha256", arena));
  TRY(const Value iteration, contents.member(state.terminal->entry, "iteration", arena));
  const Value out = json::make_object(arena, {{"schema_version", "terminal_failure.v1"},
                                              {"run_id", state.run_id},
                                              {"failed_at", time_value(state.terminal->at, arena)},
                                              {"code", "REVIEW_CAP_EXCEEDED"},
                                              {"iteration", iteration},
                                              {"sha256", sha256},
                                              {"findings", findings}});
  return json::write_document(out, layout_of(Document::terminal));
}

}  // namespace

Result<Perspectives> load_perspectives(const std::optional<PerspectivesFile> (&files)[2], Contents& contents, json::Arena& arena) {
  Perspectives out;
  for (const int wave : {1, 2}) {
    const auto& file = files[wave - 1];
    if (!file) continue;
    TRY(const Value document, contents.member(file->place.entry, "document", arena));
    out.add(document, wave);
  }
  return out;
}

Pool pool_of(const State& state) {
  std::vector<Citation> records;
  records.reserve(state.records.size());
  state.records.each([&](const TKey&, const std::shared_ptr<const Record>& record) { records.push_back(record->citation); });
  return Pool(std::move(records));
}

Value directive_value(const Directive& directive, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  out.add("consumed", directive.consumed);
  const Value value = parsed(directive.text, arena);
  for (const json::Member& member : value.members()) out.add(member.key, member.value);
  return out.build();
}

Result<Value> pack_value(const PackBuilt& pack, Contents& contents, bool timed, json::Arena& arena) {
  TRY(const Value value, contents.member(pack.place.entry, "pack", arena));
  if (!timed) return value;
  json::ObjectBuilder out(arena);
  out.add("generated_at", time_value(pack.place.at, arena));
  for (const json::Member& member : value.members()) out.add(member.key, member.value);
  return out.build();
}

Result<Value> manifest_value(const State& state, const std::string& root, json::Arena& arena) {
  const Value base = parsed(state.manifest, arena);
  json::ObjectBuilder out(arena);
  out.add("schema_version", "manifest.v1")
      .add("run_id", arena.copy(state.run_id))
      .add("created_at", base.find("created_at") == nullptr ? time_value(state.created, arena) : *base.find("created_at"))
      .add("updated_at", time_value(state.updated, arena))
      .add("revision", state.revision)
      .add("stage", stage_value(state, base.find("stage"), arena))
      .add("artifacts", artifacts_value(root, arena))
      .add("metrics", metrics_value(state, base.find("metrics"), arena))
      .add("failures", failures_value(state, base.find("failures"), arena));
  for (const json::Member& member : base.members()) out.add(member.key, member.value);
  out.add("agents", json::make_object(arena, {{"policy", "existing-runtime-only"}}));
  return out.build();
}

Value gates_value(const State& state, json::Arena& arena) {
  json::ObjectBuilder gates(arena);
  for (std::size_t i = 0; i < std::size(kGates); ++i) {
    const GateName& name = kGates[i];
    std::vector<Value> artifacts;
    for (const std::string_view artifact : name.artifacts) {
      if (!artifact.empty()) artifacts.emplace_back(artifact);
    }
    json::ObjectBuilder gate(arena);
    gate.add("id", name.id).add("name", name.name).add("class", "hard").add("notes", "");
    if (const auto& result = state.gates[i]) {
      const Value shown = parsed(result->shown, arena);
      gate.add("status", arena.copy(result->status))
          .add("checked_at", time_value(result->place.at, arena))
          .add("artifacts", json::make_array(arena, artifacts))
          .add("inputs_digest", arena.copy(result->inputs_digest));
      for (const json::Member& member : shown.members()) {
        if (!(member.key == "checks" && member.value.is_null())) gate.add(member.key, member.value);
      }
    } else {
      gate.add("status", "not_run")
          .add("checked_at", Value())
          .add("metrics", json::make_object(arena, {}))
          .add("artifacts", json::make_array(arena, {}))
          .add("warnings", json::make_array(arena, {}));
    }
    gates.add(name.id, gate.build());
  }
  return json::make_object(arena,
                           {{"schema_version", "gates.v1"},
                            {"run_id", arena.copy(state.run_id)},
                            {"revision", state.gates_revision},
                            {"updated_at", time_value(state.gates_updated, arena)},
                            {"inputs_digest", state.newest_inputs_digest.empty() ? "sha256:0" : arena.copy(state.newest_inputs_digest)},
                            {"gates", gates.build()}});
}

std::vector<FileSpec> files_of(const State& state) {
  std::vector<FileSpec> out;
  if (!state.started) return out;
  const auto add = [&](std::string path, Kind kind, Seq entry, std::string sha256 = "", std::string id = "", int wave = 0) {
    out.push_back({std::move(path), kind, sha256.empty() ? seq_key(entry) : sha256, sha256, entry, std::move(id), wave});
  };
  for (const int wave : {1, 2}) {
    if (const auto& file = state.perspectives[wave - 1])
      add(perspectives_path(wave), Kind::perspectives, file->place.entry, file->sha256, "", wave);
  }
  state.outputs.each([&](const std::string& id, const std::shared_ptr<const Output>& output) {
    add(output->path, Kind::output, output->place.entry, output->sha256, id);
    add(output_meta_path(output->wave, id), Kind::output_meta, output->place.entry, "", id);
  });
  if (state.records_changed.entry != 0) add("citations/citations.jsonl", Kind::citations, state.records_changed.entry);
  if (state.extracted) {
    add("citations/extracted-urls.txt", Kind::extracted_urls, state.extracted->entry);
    add("citations/normalized-urls.txt", Kind::normalized_urls, state.extracted->entry);
    add("citations/found-by.json", Kind::found_by, state.extracted->entry);
    add("citations/url-map.json", Kind::url_map, state.extracted->entry);
  }
  state.summaries.each([&](const std::string& id, const std::shared_ptr<const Summary>& summary) {
    add(summary->path, Kind::summary, summary->place.entry, summary->sha256, id);
  });
  if (state.pack) {
    add("summaries/summary-pack.json", Kind::pack, state.pack->place.entry);
    add("summaries/summary-pack.meta.json", Kind::pack_meta, state.pack->place.entry);
  }
  if (state.bundle) {
    add("synthesis/input-bundle.txt", Kind::bundle, state.bundle->place.entry, state.bundle->sha256);
    add("synthesis/input-bundle.json", Kind::bundle_index, state.bundle->place.entry);
  }
  if (state.report) add("synthesis/final-synthesis.md", Kind::report, state.report->entry, state.report_sha256);
  if (!state.directives.empty()) {
    add("retry/retry-directives.json", Kind::directives, state.directives_made.entry);
    const auto done = std::count_if(state.directives.begin(), state.directives.end(), [](const auto& one) { return one->consumed; });
    out.back().key += " " + std::to_string(done);
  }
  if (state.terminal) add("review/terminal-failure.json", Kind::terminal, state.terminal->entry);
  add("gates.json", Kind::gates, state.gates_entry);
  add("manifest.json", Kind::manifest, state.last_entry);
  return out;
}

Result<std::string> render(const State& state, const FileSpec& spec, Contents& contents, const std::string& root) {
  json::Arena arena;
  switch (spec.kind) {
    case Kind::perspectives: {
      TRY(const Value document, contents.member(spec.entry, "document", arena));
      return json::write_document(document, layout_of(Document::perspectives));
    }
    case Kind::output:
    case Kind::summary:
    case Kind::report:
      return text_member(contents, spec.entry, "text");
    case Kind::output_meta:
      return render_output_meta(state, spec);
    case Kind::citations:
      return citation_file(state);
    case Kind::extracted_urls:
    case Kind::normalized_urls:
    case Kind::found_by:
    case Kind::url_map:
      return render_derived(state, spec, contents);
    case Kind::pack: {
      TRY(const Value pack, pack_value(*state.pack, contents, true, arena));
      return json::write_document(pack, layout_of(Document::pack));
    }
    case Kind::pack_meta:
      return render_pack_meta(state, contents);
    case Kind::bundle: {
      TRY(Bundle bundle, bundle_of(state, contents));
      return std::move(bundle.stream);
    }
    case Kind::bundle_index:
      return render_bundle_index(state, contents);
    case Kind::directives:
      return json::write_document(directives_value(state, arena), layout_of(Document::directives));
    case Kind::terminal:
      return render_terminal(state, contents);
    case Kind::gates:
      return json::write_document(gates_value(state, arena), layout_of(Document::gates));
    case Kind::manifest: {
      TRY(const Value manifest, manifest_value(state, root, arena));
      return json::write_document(manifest, layout_of(Document::manifest));
    }
  }
  return std::string();
}

}  // namespace weir::research
