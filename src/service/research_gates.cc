// Steps from the summaries to the report: pack, gates, bundle, check.
#include <fmt/format.h>

#include <algorithm>

#include "json/canonical.h"
#include "json/digest.h"
#include "json/error_value.h"
#include "research/gate_update.h"
#include "research/report.h"
#include "service/research.h"
#include "service/research_text.h"
#include "session/path.h"

namespace weir {

using json::Value;
using research::GateAnswer;
using research::RunFile;

namespace {

constexpr std::string_view kCitations = "citations/citations.jsonl";
constexpr std::string_view kReport = "synthesis/final-synthesis.md";

// The files a gate believes: what was changed by hand is no input.
Result<void> check_documents(ResearchRun& run, bool citations) {
  TRY_DO(run.check_unchanged("perspectives.json"));
  TRY_DO(run.check_unchanged("wave-2/wave2-perspectives.json"));
  if (citations) TRY_DO(run.check_unchanged(std::string(kCitations)));
  return {};
}

Result<void> need_perspectives(ResearchRun& run) {
  if (run.state().perspectives[0] || run.state().perspectives[1]) return {};
  return Error(ErrorCode::NOT_FOUND, "required file missing: there are no perspectives; write them with `weir research perspectives`")
      .with("path", "perspectives.json");
}

// What a gate looked at when it was recorded.
Result<Value> recorded_inputs(ResearchRun& run, char gate, json::Arena& arena) {
  const auto& result = run.state().gates[gate - 'A'];
  if (!result) return Value();
  return run.contents().member(result->place.entry, "inputs", arena);
}

}  // namespace

namespace {

// Documents that a gate reads, and the member of its inputs that each stands behind.
struct GateDocument {
  std::string_view gates, path, member;
};
constexpr GateDocument kDocuments[] = {
    {"B", "perspectives.json", "perspectives"},
    {"B", "wave-2/wave2-perspectives.json", "perspectives"},
    {"C", "perspectives.json", "urls"},
    {"C", "wave-2/wave2-perspectives.json", "urls"},
    {"C", kCitations, "records"},
    {"D", "perspectives.json", "expected"},
    {"D", "wave-2/wave2-perspectives.json", "expected"},
    {"D", kCitations, "pool"},
};

}  // namespace

// Whether a gate that passed would look at the same today; what of it changed.
Result<GateFreshness> gate_freshness(ResearchRun& run, char gate) {
  const auto& result = run.state().gates[gate - 'A'];
  GateFreshness out;
  if (!result) return out;
  out.status = result->status;
  json::Arena arena;
  TRY(const Value recorded, recorded_inputs(run, gate, arena));
  if (gate == 'E') {
    TRY(const RunFile bundle, run.dir().read("synthesis/input-bundle.txt"));
    const Value* was = recorded.find("bundle");
    const bool same_bundle = was != nullptr && was->is_string() && was->text() == research::sha256_name(bundle.bytes);
    if (!same_bundle) out.changed.emplace_back("bundle");
    if (result->status == "pass") {
      TRY(const RunFile report, run.dir().read(std::string(kReport)));
      const Value* text = recorded.find("synthesis");
      if (text == nullptr || !text->is_string() || text->text() != research::sha256_name(report.bytes))
        out.changed.emplace_back("synthesis");
    }
  } else {
    for (const GateDocument& document : kDocuments) {
      if (document.gates.front() != gate) continue;
      TRY(const bool same, run.is_logged(std::string(document.path)));
      if (!same && std::find(out.changed.begin(), out.changed.end(), document.member) == out.changed.end())
        out.changed.emplace_back(document.member);
    }
    const auto today = run.evaluate(gate, run.dir(), arena);
    if (!out.changed.empty()) {
      // What it would say of other documents than the log's does not matter.
    } else if (!today.ok()) {
      std::string what = std::string(info(today.error().code()).name);
      for (const auto& [key, value] : today.error().details()) {
        if (const auto* path = std::get_if<std::string>(&value); key == "path" && path != nullptr) what = *path;
      }
      out.changed.push_back(what);
    } else if (today->inputs_digest != result->inputs_digest) {
      out.changed = research::changed_members(recorded, today->inputs);
      if (out.changed.empty()) out.changed.emplace_back("inputs_digest");
    } else if (result->status == "pass" && !today->pass) {
      out.changed = today->reasons;  // what it looks at is the same, what that means is not
    }
    out.passes_today = today.ok() && today->pass;
  }
  out.fresh = out.changed.empty();
  return out;
}

namespace {

// GATE_BLOCKED, GATE_STALE unless all of them have passed and are fresh.
Result<void> need_gates(ResearchRun& run, std::string_view gates) {
  json::Arena arena;
  std::vector<std::string> blocked;
  for (const char gate : gates) {
    const auto& result = run.state().gates[gate - 'A'];
    if (!result || result->status != "pass") blocked.emplace_back(1, gate);
  }
  const auto refuse = [&] {
    std::string list;
    for (const std::string& gate : blocked) list += (list.empty() ? "" : ", ") + gate;
    return Error(ErrorCode::GATE_BLOCKED,
                 "not passed: gate " + list + "; `weir research gate " + blocked.front() + " --run " + run.call().run.str() + "` says why")
        .with("gates", json::json_detail(texts_value(blocked, arena)));
  };
  if (!blocked.empty()) return refuse();
  for (const char gate : gates) {
    TRY(const GateFreshness fresh, gate_freshness(run, gate));
    if (!fresh.fresh)
      return Error(ErrorCode::GATE_STALE, "what gate " + std::string(1, gate) + " passed on has changed since: " + fresh.changed.front() +
                                              "; mend it and run `weir research gate " + std::string(1, gate) + "` again")
          .with("gate", std::string(1, gate))
          .with("changed", json::json_detail(texts_value(fresh.changed, arena)));
    // Believed only as far as it can be computed again.
    if (!fresh.passes_today) blocked.emplace_back(1, gate);
  }
  if (!blocked.empty()) return refuse();
  return {};
}

// What would let gate C pass.
std::string note_of_c(const ResearchRun& run, const GateAnswer& answer) {
  std::size_t unknown = 0, dead = 0;
  std::string first;
  for (const Value& url : answer.inputs.find("urls")->items()) {
    const auto* record = run.state().records.find(url.text());
    if (record == nullptr && unknown++ == 0) first = url.text();
    if (record != nullptr && !(*record)->citation.validated() && dead++ == 0 && unknown == 0) first = url.text();
  }
  if (answer.inputs.find("urls")->items().empty()) return "No output names a URL under its Sources heading";
  if (unknown > 0) return fmt::format("Record a status for {} URL(s), first {}", unknown, first);
  return fmt::format("Replace {} source(s) that are not valid, first {}", dead, first);
}

// An evaluation as gates.json will show it, held to the lifecycle of its gate.
Result<void> check_update(ResearchRun& run, char gate, const GateAnswer& answer, json::Arena& arena) {
  const Value update = json::make_object(arena, {{"status", answer.pass ? "pass" : "fail"},
                                                 {"checked_at", arena.copy(format_time(run.service().now()))},
                                                 {"metrics", answer.metrics},
                                                 {"warnings", texts_value(answer.warnings, arena)},
                                                 {"inputs_digest", arena.copy(answer.inputs_digest)}});
  const std::string name(1, gate);
  return research::check_gate_update(research::gates_value(run.state(), arena), json::make_object(arena, {{arena.copy(name), update}}));
}

Value gate_body(char gate, const GateAnswer& answer, json::Arena& arena) {
  return json::make_object(arena, {{"gate", arena.copy(std::string(1, gate))},
                                   {"status", answer.pass ? "pass" : "fail"},
                                   {"checks", answer.checks},
                                   {"reasons", texts_value(answer.reasons, arena)},
                                   {"metrics", answer.metrics},
                                   {"warnings", texts_value(answer.warnings, arena)},
                                   {"inputs", answer.inputs},
                                   {"inputs_digest", arena.copy(answer.inputs_digest)}});
}

}  // namespace

Result<ResearchAnswer> research_pack(Service& service, const RunCall& call, bool allow_missing) {
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) -> Result<ResearchAnswer> {
    TRY_DO(run.check_open());
    TRY_DO(run.settle());
    json::Arena arena;
    TRY_DO(need_perspectives(run));
    TRY_DO(check_documents(run, true));
    TRY(const RunFile citations, run.dir().read(std::string(kCitations)));
    if (citations.kind != RunFile::Kind::file)
      return Error(ErrorCode::NOT_FOUND, "required file missing: no citation is recorded; `weir research cite` records them")
          .with("path", std::string(kCitations));
    TRY(const research::Perspectives* perspectives, run.perspectives());
    const research::PackInputs in{run.state(), run.limits(), *perspectives, run.pool(), run.dir(), allow_missing};
    TRY(const research::Pack pack, research::build_pack(in, arena));
    if (!pack.changed.empty()) {
      for (const std::string& path : pack.changed) TRY_DO(run.check_unchanged(path));
      if (!call.dry_run) return Error(ErrorCode::CONFLICT, "summaries were brought up to date; look again");
    }
    if (!pack.refused.empty()) {
      std::vector<Refused> refused;
      for (const research::PackRefusal& one : pack.refused)
        refused.push_back({'D', one.perspective_id, one.artifact, one.sha256, one.failures});
      return refuse(run, refused, arena);
    }
    const std::string digest = research::pack_digest(pack.value);
    const Value meta = research::pack_meta_value(pack, in, arena);
    const auto& had = run.state().pack;
    bool built = !had || had->digest != digest || had->allow_missing != allow_missing;
    if (!built) {
      TRY(const Value before, run.contents().member(had->place.entry, "extra.meta", arena));
      built = !(before == meta);
    }
    auto now = run.as_it_is();
    std::uint64_t bytes = built ? 0 : had->bytes;
    if (built) {
      bytes = research::pack_text(pack.value, format_time(service.now()), arena).size();
      const Value body = json::make_object(arena, {{"pack", pack.value},
                                                   {"digest", digest},
                                                   {"bytes", bytes},
                                                   {"allow_missing", allow_missing},
                                                   {"extra", json::make_object(arena, {{"meta", meta}})}});
      TRY(now, run.commit({{"SUMMARY_PACK_BUILT", body}}, arena));
    } else {
      TRY_DO(run.restore({"summaries/summary-pack.json", "summaries/summary-pack.meta.json"}));
    }
    const Value out = json::make_object(arena, {{"ok", true},
                                                {"run_id", run.state().run_id},
                                                {"built", built},
                                                {"path", "summaries/summary-pack.json"},
                                                {"summary_count", pack.entries.size()},
                                                {"bytes", bytes},
                                                {"digest", digest},
                                                {"inputs_digest", *meta.find("inputs_digest")},
                                                {"total_estimated_tokens", *pack.value.find("total_estimated_tokens")},
                                                {"warnings", texts_value(pack.warnings, arena)},
                                                {"revision", now.revision},
                                                {"stage", arena.copy(now.stage)}});
    return ResearchAnswer{json::canonical(out), true};
  });
}

Result<ResearchAnswer> research_gate(Service& service, const RunCall& call, const std::string& gate) {
  if (gate.size() != 1 || gate[0] < 'A' || gate[0] > 'F')
    return Error(ErrorCode::UNKNOWN_GATE_ID,
                 "there is no gate '" + masked_excerpt(gate, 40) + "'; gates that can be evaluated are B, C and D")
        .with("gate_id", masked_excerpt(gate, 40));
  if (gate[0] < 'B' || gate[0] > 'D')
    return Error(ErrorCode::INVALID_ARGS,
                 gate == "E" ? "gate E is what `weir research check` evaluates" : "gate " + gate + " is not evaluated: it blocks nothing")
        .with("gate_id", gate);
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) -> Result<ResearchAnswer> {
    TRY_DO(run.check_open());
    TRY_DO(run.settle());
    json::Arena arena;
    if (gate == "D") TRY_DO(need_perspectives(run));
    TRY_DO(check_documents(run, gate != "B" && gate != "D"));
    if (gate == "D") {
      TRY(const RunFile citations, run.dir().read(std::string(kCitations)));
      if (citations.kind == RunFile::Kind::file) TRY_DO(run.check_unchanged(std::string(kCitations)));
      if (citations.kind == RunFile::Kind::absent) run.without_citations();
    }
    auto evaluated = run.evaluate(gate[0], run.dir(), arena);
    if (!evaluated.ok()) TRY_DO(run.check_still());
    TRY(const GateAnswer answer, std::move(evaluated));
    TRY_DO(check_update(run, gate[0], answer, arena));
    std::vector<RunEntry> entries = {{"GATE_EVALUATED", gate_body(gate[0], answer, arena)}};
    Value retry;
    if (gate == "C" && !answer.pass) {
      TRY(const RunFile file, run.dir().read(std::string(kCitations)));
      std::vector<research::Failure> failures;
      failures.push_back({Error(ErrorCode::GATE_BLOCKED, "gate C fails: " + answer.reasons.front()), note_of_c(run, answer)});
      for (RunEntry& entry :
           retry_entries(run, {{'C', "", std::string(kCitations), research::sha256_name(file.bytes), failures}}, retry, arena))
        entries.push_back(entry);
    }
    TRY(const auto now, run.commit(entries, arena));
    json::ObjectBuilder out(arena);
    out.add("ok", true).add("run_id", run.state().run_id);
    for (const json::Member& member : entries.front().body.members()) {
      if (member.key != "checks" || !member.value.is_null()) out.add(member.key, member.value);
    }
    if (!retry.is_null()) out.add("retry", retry);
    out.add("revision", now.revision).add("gates_revision", now.gates_revision).add("stage", arena.copy(now.stage));
    return ResearchAnswer{json::canonical(out.build()), answer.pass};
  });
}

Result<ResearchAnswer> research_bundle(Service& service, const RunCall& call, std::string* stream) {
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) -> Result<ResearchAnswer> {
    TRY_DO(run.check_open());
    TRY_DO(run.settle());
    json::Arena arena;
    TRY_DO(check_documents(run, true));
    TRY_DO(need_gates(run, "BCD"));
    research::Bundle bundle;
    TRY_DO(run.evaluate('D', run.dir(), arena, &bundle));
    const std::string& digest = run.state().gates[3]->inputs_digest;
    const auto& had = run.state().bundle;
    const bool changed = !had || had->sha256 != bundle.sha256 || had->gate_d_digest != digest;
    const Value parts = research::parts_value(bundle.index, arena);
    auto now = run.as_it_is();
    if (changed) {
      const Value body = json::make_object(
          arena, {{"sha256", bundle.sha256}, {"bytes", bundle.stream.size()}, {"parts", parts}, {"gate_d_digest", digest}});
      TRY(now, run.commit({{"BUNDLE_WRITTEN", body}}, arena));
    } else {
      TRY_DO(run.restore({"synthesis/input-bundle.txt", "synthesis/input-bundle.json"}));
    }
    const Value out = json::make_object(arena, {{"ok", true},
                                                {"run_id", run.state().run_id},
                                                {"path", "synthesis/input-bundle.txt"},
                                                {"bytes", bundle.stream.size()},
                                                {"sha256", bundle.sha256},
                                                {"limit_kb", run.limits().max_synthesis_input_kb()},
                                                {"parts", parts},
                                                {"cids", texts_value(bundle.cids, arena)},
                                                {"gate_d_digest", digest},
                                                {"changed", changed},
                                                {"revision", now.revision},
                                                {"stage", arena.copy(now.stage)}});
    if (stream != nullptr) *stream = std::move(bundle.stream);
    return ResearchAnswer{json::canonical(out), true};
  });
}

namespace {

// The report's check, which is gate E.
class Check {
 public:
  Check(ResearchRun& run, const std::string& report, json::Arena& arena) : run_(run), report_(report), arena_(arena) {}

  Result<ResearchAnswer> step(bool render) {
    TRY_DO(run_.check_open());
    TRY_DO(run_.settle());
    TRY_DO(need_bundle());
    sha256_ = research::sha256_name(report_);
    check_ = research::check_report(report_, bundle_.cids, bundle_.stream, run_.pool());
    TRY_DO(warn_of_barrier());
    TRY(const RunFile there, run_.dir().read(std::string(kReport)));
    if (there.kind != RunFile::Kind::file || there.bytes != report_) TRY_DO(run_.check_unchanged(std::string(kReport)));
    const auto& failed = run_.state().failed_reports;
    const auto before = std::find(failed.begin(), failed.end(), sha256_);
    const bool again = before != failed.end();
    iteration_ = again ? before - failed.begin() + 1 : static_cast<std::int64_t>(failed.size()) + 1;
    return check_.findings.empty() ? passed(render) : refused(again);
  }

 private:
  // A bundle that equals what today's inputs give.
  Result<void> need_bundle() {
    const auto& written = run_.state().bundle;
    if (!written)
      return Error(ErrorCode::MISSING_ARTIFACT, "there is no bundle yet; `weir research bundle` writes what a report may be made of")
          .with("path", "synthesis/input-bundle.txt");
    TRY_DO(check_documents(run_, true));
    TRY_DO(need_gates(run_, "BC"));
    const auto stale = [&](const std::string& what) {
      return Error(ErrorCode::BUNDLE_STALE,
                   "the bundle is not what today's inputs give: " + what + "; run gate D and `weir research bundle` again")
          .with("changed", what);
    };
    TRY(const RunFile file, run_.dir().read("synthesis/input-bundle.txt"));
    if (file.kind != RunFile::Kind::file) return stale("synthesis/input-bundle.txt is gone");
    if (research::sha256_name(file.bytes) != written->sha256) return stale("synthesis/input-bundle.txt was changed");
    TRY(const GateFreshness fresh, gate_freshness(run_, 'D'));
    if (!fresh.fresh) return stale(fresh.changed.front());
    const auto today = run_.evaluate('D', run_.dir(), arena_, &bundle_);
    if (!today.ok() || !today->pass || bundle_.sha256 != written->sha256 || today->inputs_digest != written->gate_d_digest)
      return stale("gate D");
    return {};
  }

  Result<void> warn_of_barrier() {
    Seq barrier = 0;
    TRY_DO(run_.service().log().read([&](LogReader& reader) -> Result<void> {
      TRY(barrier, barrier_at(reader, run_.session(), run_.head_seq()));
      return {};
    }));
    if (barrier > run_.state().bundle->place.entry) check_.warnings.emplace_back("BUNDLE_BEFORE_BARRIER");
    return {};
  }

  Value metrics() {
    return json::make_object(arena_, {{"report_sections_present", check_.sections_present},
                                      {"uncited_numeric_claims", check_.uncited_numbers},
                                      {"citation_utilization_rate", check_.utilization},
                                      {"duplicate_citation_rate", check_.duplication},
                                      {"numbers_not_in_input", check_.numbers_not_in_input}});
  }

  Value findings() {
    std::vector<Value> out;
    for (const Error& finding : check_.findings) out.push_back(finding_value(finding, arena_));
    return json::make_array(arena_, out);
  }

  GateAnswer gate(bool pass) {
    GateAnswer out;
    out.pass = pass;
    std::set<std::string> reasons;
    for (const Error& finding : check_.findings) reasons.insert(std::string(info(finding.code()).name));
    out.reasons.assign(reasons.begin(), reasons.end());
    out.warnings = check_.warnings;
    out.metrics = metrics();
    out.inputs = json::make_object(arena_, {{"bundle", arena_.copy(bundle_.sha256)}, {"synthesis", arena_.copy(sha256_)}});
    out.inputs_digest = "sha256:" + json::digest(json::Domain::gate_e, out.inputs).hex();
    return out;
  }

  Result<ResearchAnswer> passed(bool render) {
    const Value body = json::make_object(arena_, {{"sha256", sha256_},
                                                  {"bytes", report_.size()},
                                                  {"status", "pass"},
                                                  {"findings", json::make_array(arena_, {})},
                                                  {"iteration", iteration_},
                                                  {"text", report_}});
    const Value gate_entry = gate_body('E', gate(true), arena_);
    TRY(const auto now, run_.commit({{"SYNTHESIS_CHECKED", body}, {"GATE_EVALUATED", gate_entry}}, arena_));
    json::ObjectBuilder out(arena_);
    answer(out, "pass", now);
    out.add("path", kReport);
    if (render) out.add("rendered", arena_.copy(rendered()));
    return ResearchAnswer{json::canonical(out.build()), true};
  }

  Result<ResearchAnswer> refused(bool again) {
    const std::int64_t most = run_.limits().most_reports();
    const bool last = iteration_ >= most;
    Value retry;
    std::vector<research::Failure> failures;
    for (const Error& finding : check_.findings) failures.push_back({finding, note_of(finding)});
    std::vector<RunEntry> directed;
    if (!last) directed = retry_entries(run_, {{'E', "", std::string(kReport), sha256_, failures}}, retry, arena_);
    json::ObjectBuilder body(arena_);
    body.add("sha256", sha256_).add("bytes", report_.size()).add("status", "fail").add("findings", findings()).add("iteration", iteration_);
    if (last) body.add("extra", json::make_object(arena_, {{"terminal", true}}));
    std::vector<RunEntry> entries = {{"SYNTHESIS_CHECKED", body.build()}, {"GATE_EVALUATED", gate_body('E', gate(false), arena_)}};
    entries.insert(entries.end(), directed.begin(), directed.end());
    auto now = run_.as_it_is();
    if (!again || last) {
      TRY(now, run_.commit(entries, arena_));
    }
    if (last)
      return Error(ErrorCode::REVIEW_CAP_EXCEEDED,
                   fmt::format("report {} of {} fails too, and it was the last: the run is failed; --patch may raise "
                               "limits.max_review_iterations and set the status to running",
                               iteration_, most))
          .with("iteration", iteration_)
          .with("max_iterations", most)
          .with("findings", json::json_detail(findings()));
    json::ObjectBuilder out(arena_);
    answer(out, "fail", now);
    if (!retry.is_null()) out.add("retry", retry);
    if (const Value* made = retry.find("directives"); made != nullptr && !made->items().empty())
      out.add("directive", made->items().front());
    return ResearchAnswer{json::canonical(out.build()), false};
  }

  // What the author is to do about it.
  std::string note_of(const Error& finding) const {
    const auto detail = [&](std::string_view key) -> std::string {
      for (const auto& [name, value] : finding.details()) {
        if (name != key) continue;
        if (const auto* text = std::get_if<std::string>(&value)) return *text;
        if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
      }
      return "";
    };
    switch (finding.code()) {
      case ErrorCode::MISSING_REQUIRED_SECTION: {
        std::string all;
        for (const Error& one : check_.findings) {
          for (const auto& [name, value] : one.details()) {
            const auto* section = std::get_if<std::string>(&value);
            if (one.code() == finding.code() && name == "section" && section != nullptr) all += (all.empty() ? "" : ", ") + *section;
          }
        }
        return "Add the missing section(s): " + all;
      }
      case ErrorCode::UNKNOWN_CID:
        return "Cite only pool ids; unknown: " + detail("cid");
      case ErrorCode::RAW_URL_NOT_ALLOWED:
        return "Replace the raw URL on line " + detail("line") + " by [@cid]";
      case ErrorCode::MISSING_CITATIONS:
        return "Cite the bundle: no [@cid] is mentioned";
      case ErrorCode::UNCITED_NUMBER:
        return detail("number") + " on line " + detail("line") + " has no citation";
      default:
        return finding.message();
    }
  }

  void answer(json::ObjectBuilder& out, std::string_view status, const ResearchRun::Committed& now) {
    out.add("ok", true)
        .add("run_id", run_.state().run_id)
        .add("status", status)
        .add("findings", findings())
        .add("metrics", metrics())
        .add("warnings", texts_value(check_.warnings, arena_))
        .add("iteration", iteration_)
        .add("max_iterations", run_.limits().most_reports())
        .add("sha256", sha256_)
        .add("bytes", report_.size())
        .add("revision", now.revision)
        .add("gates_revision", now.gates_revision)
        .add("stage", arena_.copy(now.stage))
        .add("run_status", arena_.copy(now.status));
  }

  // The report with a numbered list of the URLs it cites.
  std::string rendered() {
    std::string out = report_;
    if (!out.ends_with('\n')) out += '\n';
    out += "\n## Citations\n\n";
    std::map<std::string, Value> urls;
    run_.state().records.each([&](const research::TKey& url, const std::shared_ptr<const research::Record>& record) {
      urls[record->citation.cid] = Value(arena_.copy(url.text));
    });
    std::size_t number = 0;
    for (const std::string& cid : check_.cited)
      out += fmt::format("{}. [@{}] {}\n", ++number, cid, urls[cid].is_string() ? urls[cid].text() : "");
    return out;
  }

  ResearchRun& run_;
  const std::string& report_;
  json::Arena& arena_;
  std::string sha256_;
  research::Bundle bundle_;
  research::ReportCheck check_;
  std::int64_t iteration_ = 1;
};

}  // namespace

Result<ResearchAnswer> research_check(Service& service, const RunCall& call, const std::string& report, bool render) {
  TRY(const std::string text, take_text(service, report, "the report"));
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) {
    json::Arena arena;
    return Check(run, text, arena).step(render);
  });
}

}  // namespace weir
