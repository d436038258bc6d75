// Where a run stands: stage, gates and whether they still hold, perspectives, open directives, and what to do next.
#include <fmt/format.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "service/research.h"
#include "service/research_text.h"

namespace weir {

using json::Value;

namespace {

struct GateRow {
  char id;
  std::string_view stage;
};

class Status {
 public:
  Status(ResearchRun& run, json::Arena& arena) : run_(run), arena_(arena) {}

  Result<ResearchAnswer> answer() {
    std::vector<std::string> warnings;
    if (auto settled = run_.settle(); !settled.ok()) {
      if (settled.error().code() != ErrorCode::ARTIFACT_CHANGED) return std::move(settled).error();
      warnings.push_back("ARTIFACT_CHANGED: " + settled.error().message());
    }
    TRY(const Value shown, gates());
    TRY(const Value perspectives, perspective_rows());
    TRY_DO(run_.check_still());
    const std::string stage = today(shown);
    const auto now = run_.as_it_is();
    json::Parser parser;
    TRY(const Value manifest, parser.parse_stored(run_.state().manifest));
    const Value* query = manifest.find("query");
    std::vector<Value> directives;
    for (const auto& directive : run_.state().directives) {
      if (!directive->consumed) directives.push_back(research::directive_value(*directive, arena_));
    }
    const Value out = json::make_object(arena_, {{"ok", true},
                                                 {"run_id", run_.state().run_id},
                                                 {"root", run_.call().root},
                                                 {"head", run_.head().str()},
                                                 {"query", query == nullptr ? Value() : Value(query->text_or("text", ""))},
                                                 {"revision", now.revision},
                                                 {"gates_revision", now.gates_revision},
                                                 {"status", arena_.copy(now.status)},
                                                 {"stage", arena_.copy(stage)},
                                                 {"limits", limits(manifest)},
                                                 {"gates", shown},
                                                 {"perspectives", perspectives},
                                                 {"citations", citations()},
                                                 {"directives", json::make_array(arena_, directives)},
                                                 {"next", next(stage, now.status, perspectives, shown)},
                                                 {"warnings", texts_value(warnings, arena_)}});
    return ResearchAnswer{json::canonical(out), true};
  }

 private:
  Result<Value> gates() {
    json::ObjectBuilder out(arena_);
    for (char gate = 'A'; gate <= 'F'; ++gate) {
      const auto& result = run_.state().gates[gate - 'A'];
      json::ObjectBuilder row(arena_);
      if (!result) {
        row.add("status", "not_run")
            .add("fresh", false)
            .add("changed", json::make_array(arena_, {}))
            .add("reasons", json::make_array(arena_, {}));
        row.add("checked_at", Value());
      } else {
        TRY(const GateFreshness fresh, gate_freshness(run_, gate));
        TRY(const Value body, json::parse_stored(result->shown, arena_));
        row.add("status", arena_.copy(result->status))
            .add("fresh", fresh.fresh)
            .add("changed", texts_value(fresh.changed, arena_))
            .add("checked_at", arena_.copy(format_time(result->place.at)));
        for (const json::Member& member : body.members()) row.add(member.key, member.value);
      }
      out.add(arena_.copy(std::string(1, gate)), row.build());
    }
    return out.build();
  }

  Result<Value> perspective_rows() {
    TRY(const research::Perspectives* all, run_.perspectives());
    std::vector<Value> rows;
    for (const research::Perspective& one : all->all()) {
      const research::Output* output = research::accepted_output(run_.state(), one);
      const auto* summary = run_.state().summaries.find(std::string(one.id));
      rows.push_back(json::make_object(
          arena_,
          {{"id", one.id},
           {"wave", one.wave},
           {"title", one.title},
           {"agent_type", one.agent_type},
           {"output", output == nullptr ? Value() : json::make_object(arena_, {{"path", output->path}, {"bytes", output->bytes}})},
           {"summary",
            summary == nullptr ? Value() : json::make_object(arena_, {{"path", (*summary)->path}, {"bytes", (*summary)->bytes}})}}));
    }
    return json::make_array(arena_, rows);
  }

  // A changed file moves the stage back, whatever the log still says; a completed run stays where it is.
  std::string today(const Value& gates) const {
    const std::string& logged = run_.state().stage;
    if (research::status_of(run_.state()) == "completed") return logged;
    constexpr GateRow kRows[] = {{'B', "wave1"}, {'C', "citations"}, {'D', "summaries"}};
    if (logged == "init" || logged == "wave1" || logged == "wave2") return logged;
    for (const GateRow& row : kRows) {
      if (logged == row.stage) return logged;
      const Value* gate = gates.find(std::string_view(&row.id, 1));
      if (gate->text_or("status", "") != "pass" || !gate->find("fresh")->boolean()) return std::string(row.stage);
    }
    return logged;
  }

  Value limits(const Value& manifest) {
    const research::Limits all = research::limits_of(manifest);
    return json::make_object(arena_, {{"max_wave1_agents", all.max_wave1_agents},
                                      {"max_wave2_agents", all.max_wave2_agents},
                                      {"max_review_iterations", all.max_review_iterations},
                                      {"max_summary_kb", all.max_summary_kb},
                                      {"max_total_summary_kb", all.max_total_summary_kb},
                                      {"max_pack_json_kb", all.max_pack_json_kb()},
                                      {"max_synthesis_input_kb", all.max_synthesis_input_kb()},
                                      {"min_wave_rate", all.min_wave_rate}});
  }

  Value citations() {
    std::size_t validated = 0;
    run_.state().records.each([&](const research::TKey&, const std::shared_ptr<const research::Record>& record) {
      validated += record->citation.validated() ? 1 : 0;
    });
    return json::make_object(arena_, {{"recorded", run_.state().records.size()}, {"validated", validated}});
  }

  Value next(const std::string& stage, const std::string& status, const Value& perspectives, const Value& gates) {
    std::vector<std::string> out;
    const auto add = [&](const std::string& command) { out.push_back("weir research " + command + " --run " + run_.state().run_id); };
    const auto missing = [&](std::string_view what, const std::string& command, int wave) {
      std::string list;
      for (const Value& one : perspectives.items()) {
        if (wave != 0 && one.find("wave")->integer() != wave) continue;
        if (one.find(what)->is_null() && (what == "output" || !one.find("output")->is_null()))
          list += " " + std::string(one.text_or("id", "")) + "=FILE";
      }
      if (!list.empty()) add(command + list);
      return !list.empty();
    };
    if (status == "paused" || status == "cancelled" || status == "failed") {
      add("init --patch FILE");
    } else if (stage == "init") {
      add("perspectives FILE");
    } else if (stage == "wave1" || stage == "wave2") {
      const bool first = missing("output", "ingest --wave 1", 1), second = missing("output", "ingest --wave 2", 2);
      if (!first && !second) add("gate B");
    } else if (stage == "citations") {
      if (!run_.state().extracted) add("cite --extract");
      add("cite --from FILE");
      add("gate C");
    } else if (stage == "summaries") {
      if (!missing("summary", "summarize", 0)) {
        add("pack");
        add("gate D");
      }
    } else if (stage == "synthesis") {
      const Value* d = gates.find("D");
      const bool bundled = run_.state().bundle && d != nullptr && run_.state().gates[3] &&
                           run_.state().bundle->gate_d_digest == run_.state().gates[3]->inputs_digest;
      add(bundled ? "check FILE" : "bundle");
    } else {
      add("verify");
    }
    return texts_value(out, arena_);
  }

  ResearchRun& run_;
  json::Arena& arena_;
};

}  // namespace

Result<ResearchAnswer> research_status(Service& service, const RunCall& call) {
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) -> Result<ResearchAnswer> {
    TRY_DO(run.check_revision());
    json::Arena arena;
    return Status(run, arena).answer();
  });
}

}  // namespace weir
