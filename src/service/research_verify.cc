// Verify: a run replayed from its log, and its directory held against that.
#include <fmt/format.h>

#include <algorithm>

#include "json/canonical.h"
#include "json/digest.h"
#include "json/layout.h"
#include "json/parse.h"
#include "research/figures.h"
#include "research/report.h"
#include "research/schema.h"
#include "research/url.h"
#include "service/research.h"
#include "service/research_text.h"
#include "session/bodies.h"
#include "session/path.h"
#include "store/blob_refs.h"
#include "store/verify.h"

namespace weir {

using json::Value;
using research::FileSpec;
using research::GateAnswer;
using research::RunFile;
using research::State;

namespace {

class Verify {
 public:
  Verify(ResearchRun& run, json::Arena& arena, ResearchProgress progress) : run_(run), arena_(arena), progress_(progress) {}

  Result<ResearchAnswer> answer(const std::string& rebuild) {
    // What a crash left is made good first, as before every step; what somebody changed stays and is found below.
    if (auto settled = run_.settle_known(); !settled.ok() && settled.error().code() != ErrorCode::ARTIFACT_CHANGED)
      return std::move(settled).error();
    TRY_DO(check_chain());
    TRY_DO(check_replay());
    const std::size_t of_the_log = findings_.size();
    if (run_.at_home()) TRY_DO(check_files(run_.dir()));
    if (!findings_.empty()) TRY_DO(run_.check_still());
    json::ObjectBuilder out(arena_);
    if (!rebuild.empty()) {
      TRY(const Value rebuilt, rebuild_into(rebuild));
      out.add("rebuilt", rebuilt);
      if (run_.at_home() && is_own(rebuild)) TRY_DO(check_files_again(of_the_log));
    }
    const bool fine = findings_.empty();
    out.add("ok", fine)
        .add("run_id", run_.state().run_id)
        .add("root", run_.call().root)
        .add("findings", json::make_array(arena_, findings_))
        .add("warnings", texts_value(warnings_, arena_))
        .add("unknown_files", texts_value(unknown_, arena_))
        .add("checked",
             json::make_object(
                 arena_, {{"entries", entries_}, {"results", results_}, {"files", files_}, {"citations", run_.state().records.size()}}));
    return ResearchAnswer{json::canonical(out.build()), fine};
  }

 private:
  void find(ErrorCode code, std::string_view key, const std::string& where, const std::string& message,
            json::ObjectBuilder* more = nullptr) {
    json::ObjectBuilder row(arena_);
    row.add("code", info(code).name).add(key, arena_.copy(where)).add("message", arena_.copy(message));
    if (more != nullptr) {
      const Value extra = more->build();
      for (const json::Member& member : extra.members()) row.add(member.key, member.value);
    }
    findings_.push_back(row.build());
  }

  // The path of the run: digests, parents, and the blobs its entries name.
  Result<void> check_chain() {
    return run_.service().log().read([&](LogReader& reader) -> Result<void> {
      TRY(const auto path, path_to(reader, run_.session(), run_.head_seq()));
      std::optional<Digest> parent;
      return walk(reader, run_.session(), path, Columns::all, [&](Entry& entry) -> Result<bool> {
        ++entries_;
        progress_(entries_, path.size());
        if (entry_digest(parent, entry.type, entry.body) != entry.digest)
          find(ErrorCode::CORRUPT, "entry", entry.id.str(), "the entry's digest is not that of its content");
        parent = entry.digest;
        auto refs = blob_references(entry.type, entry.body);
        if (!refs.ok()) {
          find(ErrorCode::CORRUPT, "entry", entry.id.str(), refs.error().message());
          return true;
        }
        for (const Digest& blob : *refs) {
          if (auto bytes = run_.service().store().blobs().get(blob); !bytes.ok())
            find(ErrorCode::CORRUPT, "entry", entry.id.str(),
                 "the blob sha256:" + blob.hex() + " cannot be read: " + bytes.error().message());
        }
        if (research::is_research_type(entry.type)) steps_.push_back(entry);
        return true;
      });
    });
  }

  void mismatch(const Entry& entry, std::string_view field, const Value& recorded, const Value& computed) {
    json::ObjectBuilder more(arena_);
    more.add("field", arena_.copy(field)).add("recorded", recorded).add("computed", computed);
    find(ErrorCode::REPLAY_MISMATCH, "entry", entry.id.str(), fmt::format("{} of {} is not what its inputs give", field, entry.type),
         &more);
  }

  void compare(const Entry& entry, const Value& body, std::string_view field, const Value& computed) {
    const Value* recorded = body.find(field);
    if (recorded != nullptr && *recorded == computed) return;
    mismatch(entry, field, recorded == nullptr ? Value() : *recorded, computed);
  }

  // Each result, computed again from the state before its entry.
  Result<void> check_replay() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Entry& entry = steps_[i];
      progress_(i + 1, steps_.size());
      TRY(const Value body, json::parse_stored(entry.body, arena_));
      // What a call appended before this entry is part of what it looked at only for a gate after a check.
      TRY(const auto before, run_.contents().state_at(entry.parent));
      auto checked = check_entry(entry, body, *before);
      if (!checked.ok()) find(checked.error().code(), "entry", entry.id.str(), checked.error().message());
    }
    return {};
  }

  Result<void> check_entry(const Entry& entry, const Value& body, const State& before) {
    if (entry.type == "WAVE_OUTPUT_INGESTED" || entry.type == "SUMMARY_INGESTED") {
      ++results_;
      TRY(const Value text, run_.contents().member(entry.seq, "text", arena_));
      compare(entry, body, "sha256", arena_.copy(research::sha256_name(text.text())));
      compare(entry, body, "bytes", Value(text.text().size()));
    } else if (entry.type == "PERSPECTIVES_WRITTEN") {
      ++results_;
      TRY(const Value document, run_.contents().member(entry.seq, "document", arena_));
      const std::string file = json::write_document(document, research::layout_of(research::Document::perspectives));
      compare(entry, body, "sha256", arena_.copy(research::sha256_name(file)));
      compare(entry, body, "bytes", Value(file.size()));
    } else if (entry.type == "RESEARCH_PATCHED") {
      return check_patch(entry, body, before);
    } else if (entry.type == "CITATION_RECORDED") {
      return check_records(entry, body);
    } else if (entry.type == "SUMMARY_PACK_BUILT") {
      return check_pack_entry(entry, body, before);
    } else if (entry.type == "GATE_EVALUATED") {
      return check_gate(entry, body, before);
    } else if (entry.type == "BUNDLE_WRITTEN") {
      return check_bundle(entry, body);
    } else if (entry.type == "SYNTHESIS_CHECKED") {
      return check_report_entry(entry, body, before);
    }
    return {};
  }

  // What the manifest became must be one.
  Result<void> check_patch(const Entry& entry, const Value& body, const State& before) {
    ++results_;
    TRY(const auto after, run_.contents().state_at(entry.seq));
    TRY(const Value manifest, research::manifest_value(*after, "/", arena_));
    research::SchemaErrors errors;
    check_manifest(manifest, errors);
    const Value* patch = body.find("patch");
    const Value* limits = patch == nullptr ? nullptr : patch->find("limits");
    if (limits != nullptr && limits->is_object()) check_limits(*limits, errors);
    if (!errors.empty()) mismatch(entry, "patch", arena_.copy(errors.list().front().path), arena_.copy(errors.list().front().message));
    const bool completes = research::status_of(*after) == "completed" && research::status_of(before) != "completed";
    if (completes && !before.report) mismatch(entry, "patch", "completed", arena_.copy(research::status_of(before)));
    return {};
  }

  Result<void> check_records(const Entry& entry, const Value& body) {
    const Value* records = body.find("records");
    if (records == nullptr) return {};
    for (const Value& record : records->items()) {
      const std::string cid = research::cid_of(record.text_or("normalized_url", ""));
      if (record.text_or("cid", "") != cid)
        find(ErrorCode::CID_MISMATCH, "entry", entry.id.str(), "a citation's id is not the hash of its URL: " + cid);
    }
    return {};
  }

  // What rules and documents say at a state.
  struct View {
    json::Arena arena;
    research::Limits limits;
    research::Perspectives perspectives;
    research::Pool pool;
  };
  Result<void> view_at(const State& state, View& out) {
    json::Parser parser;
    TRY(const Value manifest, parser.parse_stored(state.manifest));
    out.limits = research::limits_of(manifest);
    TRY(out.perspectives, research::load_perspectives(state.perspectives, run_.contents(), out.arena));
    out.pool = research::pool_of(state);
    return {};
  }

  Result<void> check_pack_entry(const Entry& entry, const Value& body, const State& before) {
    ++results_;
    View view;
    if (const Value* extra = body.find("extra"); extra != nullptr && extra->find("adopted") != nullptr) {
      TRY(const Value adopted, run_.contents().member(entry.seq, "pack", view.arena));
      compare(entry, body, "digest", arena_.copy(research::pack_digest(adopted)));
      return {};
    }
    TRY_DO(view_at(before, view));
    LoggedFiles files(before, run_.contents());
    const Value* allow = body.find("allow_missing");
    const research::PackInputs in{before, view.limits, view.perspectives, view.pool, files, allow != nullptr && allow->boolean()};
    auto pack = research::build_pack(in, view.arena);
    if (!pack.ok() || !pack->refused.empty()) {
      mismatch(entry, "pack", Value("built"), Value("refused"));
      return {};
    }
    TRY(const Value recorded, run_.contents().member(entry.seq, "pack", view.arena));
    if (!(recorded == pack->value))
      mismatch(entry, "pack", arena_.copy(research::pack_digest(recorded)), arena_.copy(research::pack_digest(pack->value)));
    compare(entry, body, "digest", arena_.copy(research::pack_digest(pack->value)));
    const std::string text = research::pack_text(pack->value, format_time(entry.at), view.arena);
    compare(entry, body, "bytes", Value(text.size()));
    return {};
  }

  Result<void> check_gate(const Entry& entry, const Value& body, const State& before) {
    ++results_;
    const std::string_view gate = body.text_or("gate", "");
    View view;
    TRY_DO(view_at(before, view));
    LoggedFiles files(before, run_.contents());
    if (gate == "E") return check_gate_e(entry, body, before);
    if (gate != "B" && gate != "C" && gate != "D") {
      mismatch(entry, "gate", arena_.copy(gate), Value());
      return {};
    }
    const research::GateInputs in{before, view.limits, view.perspectives, view.pool, files, run_.contents()};
    auto today = gate == "B" ? gate_b(in, view.arena) : gate == "C" ? gate_c(in, view.arena) : gate_d(in, view.arena);
    if (!today.ok()) {
      mismatch(entry, "status", body.find("status") == nullptr ? Value() : *body.find("status"), info(today.error().code()).name);
      return {};
    }
    const bool same = body.text_or("inputs_digest", "") == today->inputs_digest;
    // A gate may have looked at files that somebody had changed: then it failed, and says so.
    const Value* reasons = body.find("reasons");
    const bool fails = body.text_or("status", "") == "fail";
    if (!same && fails && reasons != nullptr) return check_own_inputs(entry, body);
    compare(entry, body, "status", Value(today->pass ? "pass" : "fail"));
    compare(entry, body, "inputs_digest", arena_.copy(today->inputs_digest));
    TRY(const Value metrics, copied(today->metrics));
    compare(entry, body, "metrics", metrics);
    compare(entry, body, "reasons", texts_value(today->reasons, arena_));
    compare(entry, body, "warnings", texts_value(today->warnings, arena_));
    TRY(const Value checks, copied(today->checks));
    compare(entry, body, "checks", checks);
    return {};
  }

  // At least the digest must be that of the inputs that are recorded.
  Result<void> check_own_inputs(const Entry& entry, const Value& body) {
    const std::string_view gate = body.text_or("gate", "");
    TRY(const Value inputs, run_.contents().member(entry.seq, "inputs", arena_));
    const json::Domain domain = gate == "B"   ? json::Domain::gate_b
                                : gate == "C" ? json::Domain::gate_c
                                : gate == "D" ? json::Domain::gate_d
                                              : json::Domain::gate_e;
    compare(entry, body, "inputs_digest", arena_.copy("sha256:" + json::digest(domain, inputs).hex()));
    return {};
  }

  Result<void> check_gate_e(const Entry& entry, const Value& body, const State& before) {
    TRY_DO(check_own_inputs(entry, body));
    // It says what the check before it in the same call found.
    const bool failed =
        std::find(before.failed_reports.begin(), before.failed_reports.end(), e_report(body)) != before.failed_reports.end();
    const bool passed = before.report && before.report_sha256 == e_report(body);
    const std::string_view status = body.text_or("status", "");
    if ((status == "pass") != (passed && !failed) && !(status == "fail" && failed))
      mismatch(entry, "status", arena_.copy(status), passed ? "pass" : "fail");
    return {};
  }
  static std::string e_report(const Value& body) {
    const Value* inputs = body.find("inputs");
    return inputs == nullptr ? "" : std::string(inputs->text_or("synthesis", ""));
  }

  Result<void> check_bundle(const Entry& entry, const Value& body) {
    ++results_;
    TRY(const auto state, run_.contents().state_at(entry.seq));
    LoggedFiles files(*state, run_.contents());
    TRY(const RunFile file, files.read("synthesis/input-bundle.txt"));
    compare(entry, body, "sha256", arena_.copy(research::sha256_name(file.bytes)));
    compare(entry, body, "bytes", Value(file.bytes.size()));
    const auto& gate = state->gates[3];
    compare(entry, body, "gate_d_digest", gate && gate->status == "pass" ? Value(arena_.copy(gate->inputs_digest)) : Value());
    return {};
  }

  Result<void> check_report_entry(const Entry& entry, const Value& body, const State& before) {
    ++results_;
    if (body.text_or("status", "") != "pass") return {};
    TRY(const Value text, run_.contents().member(entry.seq, "text", arena_));
    if (!text.is_string() || !before.bundle) {
      mismatch(entry, "status", "pass", "fail");
      return {};
    }
    compare(entry, body, "sha256", arena_.copy(research::sha256_name(text.text())));
    LoggedFiles files(before, run_.contents());
    TRY(const RunFile stream, files.read("synthesis/input-bundle.txt"));
    TRY(const RunFile index, files.read("synthesis/input-bundle.json"));
    json::Parser parser;
    TRY(const Value parsed, parser.parse(index.bytes));
    std::vector<std::string> cids;
    for (const Value& cid : parsed.find("cids")->items()) cids.emplace_back(cid.text());
    const auto check = research::check_report(text.text(), cids, stream.bytes, research::pool_of(before));
    if (!check.findings.empty()) mismatch(entry, "status", "pass", "fail");
    return {};
  }

  Result<Value> copied(const Value& value) { return json::parse_stored(json::canonical(value), arena_); }

  Result<void> check_files(RunDir& dir) {
    std::set<std::string, std::less<>> known;
    TRY(const RunFile manifest, dir.read("manifest.json"));
    const std::string root = run_.root_in(manifest.bytes);
    if (manifest.kind == RunFile::Kind::file && root != run_.call().root) warnings_.emplace_back("ROOT_MOVED");
    const auto specs = research::files_of(run_.state());
    for (const FileSpec& spec : specs) {
      ++files_;
      progress_(files_, specs.size());
      known.insert(spec.path);
      auto file = dir.read(spec.path);
      if (!file.ok()) {
        find(file.error().code(), "path", spec.path, file.error().message());
        continue;
      }
      if (file->kind == RunFile::Kind::absent) {
        find(ErrorCode::MISSING_ARTIFACT, "path", spec.path, "'" + spec.path + "' is missing");
        continue;
      }
      auto bytes = research::render(run_.state(), spec, run_.contents(), root);
      if (!bytes.ok()) {
        find(bytes.error().code(), "path", spec.path, bytes.error().message());
        continue;
      }
      if (file->kind != RunFile::Kind::file || file->bytes != *bytes)
        find(ErrorCode::ARTIFACT_CHANGED, "path", spec.path, "'" + spec.path + "' is not what the log holds");
    }
    TRY(const auto files, dir.list());
    for (const std::string& path : files) {
      if (!known.contains(path)) unknown_.push_back(path);
    }
    return {};
  }

  bool is_own(const std::string& directory) {
    Files& files = run_.service().store().doors().files;
    const auto own = files.stat(run_.call().root), other = files.stat(directory);
    return own.ok() && other.ok() && own->device == other->device && own->inode == other->inode;
  }

  // The run's own directory was just written: what was missing there is there, and only what is wrong now is told.
  Result<void> check_files_again(std::size_t of_the_log) {
    findings_.resize(of_the_log);
    unknown_.clear();
    files_ = 0;
    RunDir written(run_.service().store().doors().files, run_.service().store().doors().random, run_.call().root);
    TRY_DO(written.open());
    return check_files(written);
  }

  Result<Value> rebuild_into(const std::string& directory) {
    RunDir out(run_.service().store().doors().files, run_.service().store().doors().random, directory);
    TRY(const bool there, out.open());
    if (there) {
      TRY(const auto names, run_.service().store().doors().files.list(directory));
      if (!names.empty())
        return Error(ErrorCode::ALREADY_EXISTS_CONFLICT, "the directory '" + directory + "' is not empty").with("path", directory);
    }
    std::vector<RunDir::NewFile> batch;
    std::uint64_t bytes = 0;
    for (const FileSpec& spec : research::files_of(run_.state())) {
      TRY(std::string text, research::render(run_.state(), spec, run_.contents(), directory));
      bytes += text.size();
      batch.push_back({spec.path, std::move(text)});
    }
    const std::size_t count = batch.size();
    if (!run_.call().dry_run) {
      TRY_DO(out.stage(std::move(batch)));
      TRY_DO(out.publish());
    }
    return json::make_object(arena_, {{"directory", arena_.copy(directory)}, {"files", count}, {"bytes", bytes}});
  }

  ResearchRun& run_;
  json::Arena& arena_;
  ResearchProgress progress_;
  std::vector<Entry> steps_;
  std::vector<Value> findings_;
  std::vector<std::string> warnings_, unknown_;
  std::uint64_t entries_ = 0, results_ = 0, files_ = 0;
};

// With a damaged entry on the path there is no state that anything could be held against: the entry is what was found.
ResearchAnswer damaged_answer(const RunCall& call, const Error& error) {
  std::string entry;
  for (const auto& [name, value] : error.details()) {
    if (name == "entry" && std::holds_alternative<std::string>(value)) entry = std::get<std::string>(value);
  }
  json::Arena arena;
  const Value found[] = {
      json::make_object(arena, {{"code", info(ErrorCode::CORRUPT).name}, {"entry", entry}, {"message", error.message()}})};
  const Value none = json::make_array(arena, {});
  return {json::canonical(json::make_object(
              arena, {{"ok", false},
                      {"run_id", call.run.str()},
                      {"root", call.root},
                      {"findings", json::make_array(arena, found)},
                      {"warnings", none},
                      {"unknown_files", none},
                      {"checked", json::make_object(arena, {{"entries", 0}, {"results", 0}, {"files", 0}, {"citations", 0}})}})),
          false};
}

}  // namespace

Result<ResearchAnswer> research_verify(Service& service, const RunCall& call, const std::string& rebuild, ResearchProgress progress) {
  auto done = research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) -> Result<ResearchAnswer> {
    TRY_DO(run.check_revision());
    json::Arena arena;
    return Verify(run, arena, progress).answer(rebuild);
  });
  if (!done.ok() && done.error().code() == ErrorCode::CORRUPT && rebuild.empty()) return damaged_answer(call, done.error());
  return done;
}

}  // namespace weir
