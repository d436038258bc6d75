// Taking over a run that another tool made: everything is validated as if it were handed in today, then recorded, one entry
// per artifact. What its gates said is not believed: they are evaluated again.
#include <algorithm>
#include <set>

#include "json/canonical.h"
#include "json/layout.h"
#include "json/parse.h"
#include "research/figures.h"
#include "research/schema.h"
#include "research/url.h"
#include "service/research.h"
#include "service/research_text.h"

namespace weir {

using json::Value;
using research::RunFile;
using research::SchemaErrors;

namespace {

class Adoption {
 public:
  Adoption(ResearchRun& run, json::Arena& arena) : run_(run), arena_(arena) {}

  Result<ResearchAnswer> step() {
    TRY(const bool there, run_.dir().open());
    if (run_.state().started)
      return Error(ErrorCode::ALREADY_EXISTS_CONFLICT, "the run '" + run_.call().run.str() + "' is in the log already")
          .with("run_id", run_.call().run.str());
    if (!there)
      return Error(ErrorCode::NOT_FOUND, "there is no directory '" + run_.call().root + "' to adopt").with("path", run_.call().root);
    TRY_DO(manifest());
    TRY_DO(perspectives());
    TRY_DO(outputs());
    TRY_DO(citations());
    TRY_DO(summaries());
    TRY_DO(pack());
    TRY_DO(gates());
    run_.adopt_files();
    TRY(const auto now, run_.commit(entries_, arena_));
    json::ObjectBuilder counts(arena_);
    for (const auto& [name, count] : counts_) counts.add(name, count);
    const Value out = json::make_object(arena_, {{"ok", true},
                                                 {"created", true},
                                                 {"run_id", run_.call().run.str()},
                                                 {"root", run_.call().root},
                                                 {"adopted", counts.build()},
                                                 {"upstream_digests", json::make_array(arena_, digests_)},
                                                 {"revision", now.revision},
                                                 {"status", arena_.copy(now.status)},
                                                 {"stage", arena_.copy(now.stage)},
                                                 {"warnings", texts_value(warnings_, arena_)}});
    return ResearchAnswer{json::canonical(out), true};
  }

 private:
  Result<std::optional<std::string>> text(const std::string& path) {
    TRY(RunFile file, run_.dir().read(path));
    if (file.kind != RunFile::Kind::file) return std::optional<std::string>();
    return std::optional(std::move(file.bytes));
  }

  Result<std::optional<Value>> document(const std::string& path) {
    TRY(const auto bytes, text(path));
    if (!bytes) return std::optional<Value>();
    TRY(const Value value, take_document(run_.service(), *bytes, path, arena_));
    return std::optional(value);
  }

  void add(std::string_view type, std::string_view counted, Value body) {
    entries_.push_back({type, body});
    ++counts_[counted];
  }

  Result<void> manifest() {
    TRY(const auto found, document("manifest.json"));
    if (!found)
      return Error(ErrorCode::NOT_FOUND, "required file missing: there is no manifest.json to adopt").with("path", "manifest.json");
    SchemaErrors errors;
    check_manifest(*found, errors);
    TRY_DO(errors.result());
    manifest_ = *found;
    TRY_DO(check_strings(manifest_, "the manifest"));
    TRY_DO(check_run(manifest_, "manifest.json"));
    json::ObjectBuilder rest(arena_), body(arena_), extra(arena_);
    for (const json::Member& member : manifest_.members()) {
      constexpr std::string_view kOwn[] = {"schema_version", "run_id", "updated_at", "revision", "stage",
                                           "artifacts",      "query",  "mode",       "limits",   "status"};
      if (std::find(std::begin(kOwn), std::end(kOwn), member.key) == std::end(kOwn)) rest.add(member.key, member.value);
    }
    if (const Value* history = manifest_.find("stage")->find("history"))
      rest.add("stage", json::make_object(arena_, {{"history", *history}}));
    TRY_DO(take_paths());
    extra.add("head", run_.head().str()).add("manifest", rest.build()).add("adopted", true);
    body.add("run_id", run_.call().run.str());
    for (const std::string_view key : {"query", "mode", "limits"}) body.add(key, *manifest_.find(key));
    add("RESEARCH_STARTED", "manifest", body.add("extra", extra.build()).build());
    limits_ = research::limits_of(manifest_);
    return {};
  }

  // Where its artifacts lie: that tool lets the manifest say so.
  Result<void> take_paths() {
    const Value* paths = manifest_.find("artifacts")->find("paths");
    for (const json::Member& member : paths->members()) {
      const std::string path(member.value.is_string() ? member.value.text() : "");
      if (!research::confined_path(path))
        return Error(ErrorCode::PATH_TRAVERSAL, "artifacts.paths." + std::string(member.key) + " leads outside the run's directory")
            .with("path", masked_excerpt(path, 200));
      paths_[std::string(member.key)] = path;
    }
    return {};
  }

  Result<void> check_run(const Value& found, const std::string& path) const {
    if (found.text_or("run_id", "") == run_.call().run.str()) return {};
    return Error(ErrorCode::INVALID_STATE, path + " is of another run")
        .with("path", path)
        .with("expected", run_.call().run.str())
        .with("got", masked_excerpt(found.text_or("run_id", ""), 80));
  }

  Result<void> perspectives() {
    for (const int wave : {1, 2}) {
      const std::string path = wave == 1 ? paths_["perspectives_file"] : paths_["wave2_dir"] + "/wave2-perspectives.json";
      TRY(const auto found, document(path));
      if (!found) continue;
      SchemaErrors errors;
      check_perspectives(*found, research::Pass::read, {run_.call().run.str(), nullptr}, errors, warnings_);
      TRY_DO(errors.result());
      TRY_DO(check_run(*found, path));
      perspectives_.add(*found, wave);
      std::set<std::string> ids;
      for (const research::Perspective& one : perspectives_.all()) {
        if (!ids.insert(research::folded_id(one.id)).second)
          return Error(ErrorCode::DUPLICATE_PERSPECTIVE_ID, "the perspective id '" + std::string(one.id) + "' stands twice")
              .with("perspective_id", std::string(one.id));
        if (!research::perspective_id_ok(one.id))
          return Error(ErrorCode::PATH_TRAVERSAL, "'" + masked_excerpt(one.id, 80) + "' is no id of a perspective")
              .with("perspective_id", masked_excerpt(one.id, 80));
      }
      const std::string file = json::write_document(*found, research::layout_of(research::Document::perspectives));
      add("PERSPECTIVES_WRITTEN", "perspectives",
          json::make_object(
              arena_,
              {{"wave", wave}, {"document", *found}, {"sha256", arena_.copy(research::sha256_name(file))}, {"bytes", file.size()}}));
    }
    return {};
  }

  Result<void> outputs() {
    for (const research::Perspective& one : perspectives_.all()) {
      const std::string path = research::output_path(one.wave, one.id);
      const std::string below = paths_[one.wave == 2 ? "wave2_dir" : "wave1_dir"] + "/" + std::string(one.id);
      TRY(const auto bytes, text(below + ".md"));
      if (!bytes) continue;
      TRY(const std::string masked, take_text(run_.service(), *bytes, path));
      TRY(const auto meta, document(below + ".meta.json"));
      const Value* usage = meta ? meta->find("tool_usage") : nullptr;
      const auto check = research::check_output(masked, one.contract, usage == nullptr || usage->is_null() ? nullptr : usage);
      if (!check.failures.empty()) return named(check.failures.front().error, one.id, path);
      const std::string_view kept = arena_.copy(masked);
      json::ObjectBuilder body(arena_);
      body.add("wave", one.wave).add("perspective_id", one.id).add("path", arena_.copy(path)).add("text", kept);
      body.add("sha256", arena_.copy(research::sha256_name(kept)))
          .add("bytes", kept.size())
          .add("words", check.words)
          .add("sources", check.sources);
      for (const std::string_view key : {"prompt_digest", "agent_run_id", "model", "tool_usage"}) {
        const Value* value = meta ? meta->find(key) : nullptr;
        body.add(key, value == nullptr ? Value() : *value);
      }
      body.add("replaces", Value()).add("warnings", texts_value(check.warnings, arena_));
      add("WAVE_OUTPUT_INGESTED", "outputs", body.build());
      accepted_[std::string(one.id)] = {path, research::sha256_name(kept)};
    }
    return {};
  }

  static Error named(const Error& error, std::string_view id, const std::string& path) {
    Error out(error.code(), path + ": " + error.message());
    for (const auto& [key, value] : error.details()) out = std::move(out).with(key, value);
    return std::move(out).with("path", path).with("adopting", std::string(id));
  }

  Result<void> citations() {
    const std::string path = paths_["citations_file"];
    TRY(const auto bytes, text(path));
    if (!bytes) return {};
    std::vector<Value> records;
    std::vector<research::Citation> pool;
    SchemaErrors errors;
    std::size_t number = 0, at = 0;
    while (at < bytes->size()) {
      const std::size_t feed = std::min(bytes->find('\n', at), bytes->size());
      const std::string line = bytes->substr(at, feed - at);
      at = feed + 1;
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      auto value = take_document(run_.service(), line, path, arena_);
      if (!value.ok()) return std::move(value).error().with("line", static_cast<std::int64_t>(number));
      check_citation(*value, "$[" + std::to_string(records.size()) + "]", errors);
      records.push_back(*value);
      research::Citation one{std::string(value->text_or("cid", "")), std::string(value->text_or("status", "")), {}, {}, {}};
      if (const Value* snippet = value->find("evidence_snippet"); snippet != nullptr && snippet->is_string()) one.snippet = snippet->text();
      pool.push_back(std::move(one));
    }
    TRY_DO(errors.result());
    pool_ = research::Pool(std::move(pool));
    for (std::size_t i = 0; i < records.size(); i += 250) {
      const auto part = std::span(records).subspan(i, std::min<std::size_t>(250, records.size() - i));
      entries_.push_back({"CITATION_RECORDED", json::make_object(arena_, {{"records", json::make_array(arena_, part)}})});
    }
    counts_["citations"] = records.size();
    return {};
  }

  // Where the pack says it is, else at its usual place.
  std::string summary_of(const std::optional<Value>& pack, std::string_view id) {
    const Value* list = pack ? pack->find("summaries") : nullptr;
    for (const Value& entry : list == nullptr ? std::span<const Value>() : list->items()) {
      const std::string_view path = entry.text_or("summary_md", "");
      if (entry.text_or("perspective_id", "") == id && research::confined_path(path) && path.starts_with("summaries/") &&
          path.find('/', 10) == std::string_view::npos && path[10] != '.' && path.ends_with(".md"))
        return std::string(path);
    }
    return research::summary_path(id);
  }

  Result<void> summaries() {
    TRY(pack_, document(paths_["summary_pack_file"]));
    for (const research::Perspective& one : perspectives_.all()) {
      const std::string path = summary_of(pack_, one.id);
      TRY(auto bytes, text(path));
      if (!bytes) {
        TRY(bytes, text(paths_["summaries_dir"] + "/" + std::string(one.id) + ".md"));
      }
      const auto accepted = accepted_.find(one.id);
      if (!bytes || accepted == accepted_.end()) continue;
      TRY(const std::string masked, take_text(run_.service(), *bytes, path));
      const auto check = research::check_summary(masked, one.id, pool_, limits_.max_summary_kb, research::NumberRule::refuse);
      if (!check.failures.empty()) return named(check.failures.front().error, one.id, path);
      const std::string_view kept = arena_.copy(masked);
      add("SUMMARY_INGESTED", "summaries",
          json::make_object(arena_, {{"perspective_id", one.id},
                                     {"path", arena_.copy(path)},
                                     {"text", kept},
                                     {"sha256", arena_.copy(research::sha256_name(kept))},
                                     {"bytes", kept.size()},
                                     {"source_artifact", arena_.copy(accepted->second.first)},
                                     {"source_sha256", arena_.copy(accepted->second.second)},
                                     {"claims", check.claims.size()},
                                     {"truncated", Value()},
                                     {"warnings", texts_value(check.warnings, arena_)}}));
    }
    return {};
  }

  Result<void> pack() {
    if (!pack_) return {};
    SchemaErrors errors;
    check_pack(*pack_, run_.call().run.str(), errors);
    TRY_DO(errors.result());
    const Value kept = research::without_time(*pack_, arena_);
    const std::string file = research::pack_text(kept, format_time(run_.service().now()), arena_);
    const Value meta = json::make_object(arena_, {{"inputs_digest", ""},
                                                  {"claims", json::make_array(arena_, {})},
                                                  {"truncated", json::make_array(arena_, {})},
                                                  {"warnings", json::make_array(arena_, {})}});
    const Value extra = json::make_object(arena_, {{"adopted", true}, {"meta", meta}});
    add("SUMMARY_PACK_BUILT", "pack",
        json::make_object(arena_, {{"pack", kept},
                                   {"digest", arena_.copy(research::pack_digest(kept))},
                                   {"bytes", file.size()},
                                   {"allow_missing", false},
                                   {"extra", extra}}));
    return {};
  }

  // The digest its gate D left, computed again.
  Result<void> gates() {
    TRY(const auto found, document(paths_["gates_file"]));
    if (!found) return {};
    SchemaErrors errors;
    check_gates(*found, errors);
    TRY_DO(errors.result());
    TRY_DO(check_run(*found, "gates.json"));
    ++counts_["gates"];
    const std::string_view recorded = found->text_or("inputs_digest", "");
    const Value* gate = found->find("gates")->find("D");
    const Value* list = pack_ ? pack_->find("summaries") : nullptr;
    if (recorded == "sha256:0") return {};
    std::string verdict = "not recomputable";
    if (gate->text_or("status", "") != "not_run" && list != nullptr) {
      const Value inputs = json::make_object(arena_, {{"schema", "gate_d_evaluate.inputs.v1"},
                                                      {"run_id", run_.call().run.str()},
                                                      {"summary_pack_path", "summaries/summary-pack.json"},
                                                      {"entries", *list},
                                                      {"metrics", *gate->find("metrics")}});
      verdict = research::digest_upstream(inputs) == recorded ? "match" : "mismatch";
      if (verdict == "mismatch") warnings_.emplace_back("UPSTREAM_DIGEST_MISMATCH");
    }
    digests_.push_back(json::make_object(arena_, {{"file", "gates.json"}, {"inputs_digest", recorded}, {"verdict", arena_.copy(verdict)}}));
    return {};
  }

  ResearchRun& run_;
  json::Arena& arena_;
  Value manifest_;
  research::Limits limits_;
  research::Perspectives perspectives_;
  research::Pool pool_;
  std::optional<Value> pack_;
  std::map<std::string, std::string> paths_;
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> accepted_;
  std::map<std::string_view, std::size_t> counts_;
  std::vector<Value> digests_;
  std::vector<std::string> warnings_;
  std::vector<RunEntry> entries_;
};

}  // namespace

Result<ResearchAnswer> research_adopt(Service& service, const RunCall& call) {
  return research_step<ResearchAnswer>(service, call, true, [&](ResearchRun& run) {
    json::Arena arena;
    return Adoption(run, arena).step();
  });
}

}  // namespace weir
