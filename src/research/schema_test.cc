#include "research/schema.h"

#include <gtest/gtest.h>

#include "base/error_code.h"
#include "json/canonical.h"
#include "json/digest.h"
#include "json/parse.h"
#include "testing/results.h"

namespace weir::research {
namespace {

using testing::code;
using testing::detail;
using testing::must;

using Lines = std::vector<std::string>;

constexpr std::string_view kSeedPerspectives = R"({
  "schema_version": "perspectives.v1",
  "run_id": "dr_20260213_001",
  "created_at": "2026-02-13T12:05:00Z",
  "perspectives": [
    {
      "id": "p1",
      "title": "Technical overview",
      "track": "standard",
      "agent_type": "ClaudeResearcher",
      "prompt_contract": {
        "max_words": 900,
        "max_sources": 12,
        "tool_budget": { "search_calls": 4, "fetch_calls": 6 },
        "must_include_sections": ["Findings", "Sources", "Gaps"]
      },
      "expected_platforms": ["docs", "github", "blog"]
    }
  ]
})";

constexpr std::string_view kSeedPack = R"({
  "schema_version": "summary_pack.v1",
  "run_id": "dr_20260213_001",
  "generated_at": "2026-02-13T12:40:00Z",
  "limits": { "max_summary_kb": 5, "max_total_summary_kb": 60 },
  "summaries": [
    {
      "perspective_id": "p1",
      "source_artifact": "wave-1/p1.md",
      "summary_md": "summaries/p1.summary.md",
      "key_claims": [
        { "claim": "X uses Y for Z.", "citation_cids": ["cid_abc"], "confidence": 85 }
      ]
    }
  ],
  "total_estimated_tokens": 4200
})";

// A text with one piece of it replaced by another.
std::string with(std::string_view text, std::string_view piece, std::string_view other) {
  std::string out(text);
  const auto at = out.find(piece);
  EXPECT_NE(at, std::string::npos) << piece;
  return out.replace(at, piece.size(), other);
}

// Every error as `code path message`, the code left out where it is the plain one.
Lines lines(const SchemaErrors& errors) {
  Lines out;
  for (const auto& error : errors.list()) {
    const bool plain = error.code == ErrorCode::SCHEMA_VALIDATION_FAILED;
    out.push_back((plain ? "" : std::string(info(error.code).name) + " ") + error.path + " " + error.message);
  }
  return out;
}

struct Checked {
  SchemaErrors errors;
  Lines warnings;
};

Checked perspectives(std::string_view text, Pass pass = Pass::write, const Lines* agents = nullptr) {
  json::Parser parser;
  Checked out;
  check_perspectives(must(parser.parse(text)), pass, {.run_id = "dr_20260213_001", .agents = agents}, out.errors, out.warnings);
  return out;
}

Lines write_errors(std::string_view text) { return lines(perspectives(text).errors); }
Lines read_errors(std::string_view text) { return lines(perspectives(text, Pass::read).errors); }

Lines pack_errors(std::string_view text) {
  json::Parser parser;
  SchemaErrors errors;
  check_pack(must(parser.parse(text)), "dr_20260213_001", errors);
  return lines(errors);
}

// A document of perspectives with these ids.
std::string with_ids(const Lines& ids) {
  const std::string text(kSeedPerspectives);
  const auto begin = text.find("    {\n      \"id\""), end = text.find("\n  ]");
  std::string list;
  for (const std::string& id : ids) {
    list += (list.empty() ? "" : ",\n") + with(text.substr(begin, end - begin), "\"p1\"", json::canonical(json::Value(id)));
  }
  return text.substr(0, begin) + list + text.substr(end);
}

// ---- the seed ----
TEST(SchemaTest, TheSeedsExamplesPassUnchanged) {
  EXPECT_EQ(write_errors(kSeedPerspectives), Lines());
  EXPECT_EQ(pack_errors(kSeedPack), Lines());
}

// ---- how errors are told ----
TEST(SchemaTest, AnErrorHasTheFirstOnesCodeMessageAndPathAndListsAll) {
  const auto result = perspectives(with(with(kSeedPerspectives, "\"standard\"", "7"), "900", "null")).errors.result();
  ASSERT_EQ(code(result), "SCHEMA_VALIDATION_FAILED");
  EXPECT_EQ(result.error().message(), "perspective.track invalid");
  EXPECT_EQ(detail(result.error(), "path"), "$.perspectives[0].track");
  EXPECT_EQ(detail(result.error(), "error_count"), "2");
  EXPECT_EQ(detail(result.error(), "errors"),
            R"([{"code":"SCHEMA_VALIDATION_FAILED","message":"perspective.track invalid","path":"$.perspectives[0].track"},)"
            R"({"code":"SCHEMA_VALIDATION_FAILED","message":"prompt_contract.max_words invalid",)"
            R"("path":"$.perspectives[0].prompt_contract.max_words"}])");
}

TEST(SchemaTest, OfManyErrorsAHundredAreListedAndAllCounted) {
  const auto result = perspectives(with_ids(Lines(250, "a/b"))).errors.result();
  EXPECT_EQ(detail(result.error(), "error_count"), "250");
  json::Parser parser;
  EXPECT_EQ(must(parser.parse(detail(result.error(), "errors"))).items().size(), 100u);
}

TEST(SchemaTest, NoErrorsAreNoError) { EXPECT_EQ(code(SchemaErrors().result()), "OK"); }

// ---- perspectives ----
TEST(PerspectivesSchemaTest, ADocumentWithFiveErrorsListsFiveInUpstreamsOrder) {
  EXPECT_EQ(read_errors(R"({"schema_version":"v0","run_id":"\u00a0\ufeff","created_at":"x","perspectives":[
                        7,{"id":"p","title":"t","track":"STANDARD","agent_type":"a","prompt_contract":[]}]})"),
            (Lines{"$.schema_version perspectives.schema_version must be perspectives.v1", "$.run_id perspectives.run_id missing",
                   "$.perspectives[0] perspective must be object", "$.perspectives[1].track perspective.track invalid",
                   "$.perspectives[1].prompt_contract perspective.prompt_contract must be object"}));
}

TEST(PerspectivesSchemaTest, StricterRulesComeAfterAllThatUpstreamSaysAndNameNothingTwice) {
  const std::string text = R"({"schema_version":"perspectives.v1","run_id":"other","created_at":"yesterday","perspectives":[
      {"id":"a/b","title":"","track":"standard","agent_type":"a","prompt_contract":
        {"max_words":1.5,"max_sources":-1,"tool_budget":{"x":-1,"y":"1","z":2},"must_include_sections":["a"," ",3]}}]})";
  EXPECT_EQ(
      write_errors(text),
      (Lines{"$.perspectives[0].title perspective.title missing",
             "$.perspectives[0].prompt_contract.must_include_sections[1] prompt_contract.must_include_sections entries must be "
             "non-empty strings",
             "$.perspectives[0].prompt_contract.must_include_sections[2] prompt_contract.must_include_sections entries must be "
             "non-empty strings",
             "INVALID_STATE $.run_id perspectives.run_id invalid", "$.created_at perspectives.created_at invalid",
             "$.perspectives[0].id perspective.id invalid", "$.perspectives[0].prompt_contract.max_words prompt_contract.max_words invalid",
             "$.perspectives[0].prompt_contract.max_sources prompt_contract.max_sources invalid",
             "$.perspectives[0].prompt_contract.tool_budget.x prompt_contract.tool_budget invalid",
             "$.perspectives[0].prompt_contract.tool_budget.y prompt_contract.tool_budget invalid"}));
}

TEST(PerspectivesSchemaTest, WhatIsNoObjectIsNotDescendedInto) {
  for (const char* text : {"null", "[]", "\"x\"", "3"}) EXPECT_EQ(write_errors(text), Lines{"$ perspectives must be an object"}) << text;
  EXPECT_EQ(write_errors("{}"),
            (Lines{"$.schema_version perspectives.schema_version must be perspectives.v1", "$.run_id perspectives.run_id missing",
                   "$.created_at perspectives.created_at missing", "$.perspectives perspectives.perspectives must be array"}));
}

TEST(PerspectivesSchemaTest, IdsThatAreNoFileNamesAreRefused) {
  for (const std::string& id :
       Lines{"../../evil", "a/b", ".x", "p1.", "a..b", "-x", "_x", "p 1", "é", "p\x01", "a\\b", std::string(65, 'a')}) {
    EXPECT_EQ(write_errors(with_ids({id})), Lines{"$.perspectives[0].id perspective.id invalid"}) << id;
    EXPECT_EQ(read_errors(with_ids({id})), Lines()) << id;
  }
  for (const std::string& id : Lines{"p1", "P.1-x_y", "0", std::string(64, 'a')}) EXPECT_EQ(write_errors(with_ids({id})), Lines()) << id;
}

TEST(PerspectivesSchemaTest, IdsAreUniqueWithoutRegardToCase) {
  const auto result = perspectives(with_ids({"p1", "P1", "p2", "p1"})).errors;
  EXPECT_EQ(lines(result), (Lines{"DUPLICATE_PERSPECTIVE_ID $.perspectives[1].id perspective.id invalid",
                                  "DUPLICATE_PERSPECTIVE_ID $.perspectives[3].id perspective.id invalid"}));
  EXPECT_EQ(code(result.result()), "DUPLICATE_PERSPECTIVE_ID");
  EXPECT_EQ(read_errors(with_ids({"p1", "P1"})), Lines());
}

TEST(PerspectivesSchemaTest, AForeignRunIdIsAnInvalidState) {
  const auto result = perspectives(with(kSeedPerspectives, "dr_20260213_001", "dr_other")).errors.result();
  EXPECT_EQ(code(result), "INVALID_STATE");
  EXPECT_EQ(detail(result.error(), "path"), "$.run_id");
}

TEST(PerspectivesSchemaTest, OnWriteListContractAndTimeMustMakeSense) {
  EXPECT_EQ(write_errors(with_ids({})), Lines{"$.perspectives perspectives list is empty"});
  for (const char* words : {"0", "1.5", "-3"}) {
    EXPECT_EQ(write_errors(with(kSeedPerspectives, "900", words)),
              Lines{"$.perspectives[0].prompt_contract.max_words prompt_contract.max_words invalid"});
  }
  EXPECT_EQ(write_errors(with(kSeedPerspectives, "900", "900.0")), Lines());
  EXPECT_EQ(write_errors(with(kSeedPerspectives, "12,", "0,")), Lines());
  EXPECT_EQ(write_errors(with(kSeedPerspectives, "{ \"search_calls\": 4, \"fetch_calls\": 6 }", "{}")), Lines());
  for (const char* time : {"yesterday", "2026-02-13", "2026-02-13 12:05:00Z", "2026-02-13T12:05:00", "2026-02-13T12:05:00+02:00",
                           "2026-02-30T12:05:00Z", "2026-02-13T25:05:00Z"}) {
    EXPECT_EQ(write_errors(with(kSeedPerspectives, "2026-02-13T12:05:00Z", time)), Lines{"$.created_at perspectives.created_at invalid"})
        << time;
  }
  for (const char* time : {"2026-02-13T12:05:00.123456Z", "2026-02-13T12:05:00+00:00", "2026-02-13t12:05:00z"}) {
    EXPECT_EQ(write_errors(with(kSeedPerspectives, "2026-02-13T12:05:00Z", time)), Lines()) << time;
  }
}

TEST(PerspectivesSchemaTest, FilesThatAlreadyHoldSuchValuesStillGiveUpstreamsLaterErrors) {
  const std::string odd = with(with(with_ids({"../../evil", "p1", "P1"}), "900", "1.5"), "2026-02-13T12:05:00Z", "yesterday");
  EXPECT_EQ(read_errors(odd), Lines());
  EXPECT_EQ(read_errors(with(odd, "ClaudeResearcher", "")), Lines{"$.perspectives[0].agent_type perspective.agent_type missing"});
}

TEST(PerspectivesSchemaTest, AgentTypesAreCheckedAgainstAListIfThereIsOneElseOneWarningSaysNot) {
  const std::string text = with_ids({"p1", "p2"});
  EXPECT_EQ(perspectives(text).warnings, Lines{"AGENT_TYPE_UNCHECKED"});
  const Lines agents = {"ClaudeResearcher"}, others = {"claudeResearcher"};
  EXPECT_EQ(lines(perspectives(text, Pass::write, &agents).errors), Lines());
  EXPECT_EQ(perspectives(text, Pass::write, &agents).warnings, Lines());
  EXPECT_EQ(lines(perspectives(text, Pass::write, &others).errors), (Lines{"$.perspectives[0].agent_type perspective.agent_type unknown",
                                                                           "$.perspectives[1].agent_type perspective.agent_type unknown"}));
  EXPECT_EQ(perspectives(text, Pass::read).warnings, Lines());
}

TEST(PerspectivesSchemaTest, OptionalMembersAreCheckedIfTheyAreThere) {
  const auto option = [](std::string_view members) {
    return with(kSeedPerspectives, "\"expected_platforms\": [\"docs\", \"github\", \"blog\"]", members);
  };
  EXPECT_EQ(write_errors(option(R"("platform_requirements":[{"name":"n","reason":"r"}],"source_artifact":"wave-2/x/y.md",
                                   "tool_policy":{"primary":["a"],"secondary":[],"forbidden":[""]})")),
            Lines());
  EXPECT_EQ(write_errors(option(R"("expected_platforms":["a"," ",1],"platform_requirements":[{"name":"n"},1],
                                   "tool_policy":{"primary":"a","secondary":[1]},"source_artifact":"wave-3/p1.md")")),
            (Lines{"$.perspectives[0].expected_platforms[1] perspective.expected_platforms invalid",
                   "$.perspectives[0].expected_platforms[2] perspective.expected_platforms invalid",
                   "$.perspectives[0].platform_requirements[0].reason platform_requirements.reason invalid",
                   "$.perspectives[0].platform_requirements[1] perspective.platform_requirements invalid",
                   "$.perspectives[0].tool_policy.primary tool_policy.primary invalid",
                   "$.perspectives[0].tool_policy.secondary tool_policy.secondary invalid",
                   "$.perspectives[0].tool_policy.forbidden tool_policy.forbidden invalid",
                   "$.perspectives[0].source_artifact perspective.source_artifact invalid"}));
  EXPECT_EQ(write_errors(option(R"("expected_platforms":"docs","platform_requirements":{},"tool_policy":[],"source_artifact":3)")),
            (Lines{"$.perspectives[0].expected_platforms perspective.expected_platforms invalid",
                   "$.perspectives[0].platform_requirements perspective.platform_requirements invalid",
                   "$.perspectives[0].tool_policy perspective.tool_policy invalid",
                   "$.perspectives[0].source_artifact perspective.source_artifact invalid"}));
  for (const char* path : {"wave-1/../x", "/wave-1/x", "wave-1//x", "wave-1/./x", "wave-1/", "wave-1\\\\x", ""}) {
    EXPECT_EQ(write_errors(option("\"source_artifact\":\"" + std::string(path) + "\"")),
              Lines{"PATH_TRAVERSAL $.perspectives[0].source_artifact perspective.source_artifact invalid"})
        << path;
  }
}

TEST(PerspectivesSchemaTest, UnknownMembersSurviveWritingAndChangeTheDigest) {
  json::Parser parser, again;
  const std::string text =
      with(with(kSeedPerspectives, "\"run_id\"", "\"zz\":{\"b\":1,\"a\":[]},\"run_id\""), "\"title\"", "\"note\":null,\"title\"");
  EXPECT_EQ(write_errors(text), Lines());
  const json::Value value = must(parser.parse(text));
  const std::string written = json::write_document(value, layout_of(Document::perspectives));
  EXPECT_NE(written.find("  ],\n  \"zz\": {\n    \"a\": [],\n    \"b\": 1\n  }\n}\n"), std::string::npos) << written;
  EXPECT_NE(written.find("      \"note\": null\n"), std::string::npos) << written;
  EXPECT_EQ(must(again.parse(written)), value);
  json::Parser plain;
  EXPECT_NE(json::digest(json::Domain::value, value).hex(), json::digest(json::Domain::value, must(plain.parse(kSeedPerspectives))).hex());
}

// ---- manifest ----
constexpr std::string_view kManifest = R"({"schema_version":"manifest.v1","run_id":"r","created_at":"c","updated_at":"u","revision":1,
  "mode":"standard","status":"running","query":{"text":"Q"},"stage":{"current":"init","started_at":"s","history":[]},
  "limits":{"max_wave1_agents":6,"max_wave2_agents":6,"max_review_iterations":4,"max_summary_kb":5,"max_total_summary_kb":60},
  "artifacts":{"root":"/r","paths":{"wave1_dir":"a","wave2_dir":"a","citations_dir":"a","summaries_dir":"a","synthesis_dir":"a",
  "logs_dir":"a","gates_file":"a","perspectives_file":"a","citations_file":"a","summary_pack_file":"a","pivot_file":"a"}},
  "metrics":{},"failures":[],"agents":{}})";

Lines manifest_errors(std::string_view text) {
  json::Parser parser;
  SchemaErrors errors;
  check_manifest(must(parser.parse(text)), errors);
  return lines(errors);
}

TEST(ManifestSchemaTest, AnEmptyOneLacksEverythingInOrder) {
  EXPECT_EQ(manifest_errors(kManifest), Lines());
  EXPECT_EQ(manifest_errors("[]"), Lines{"$ manifest must be an object"});
  EXPECT_EQ(
      manifest_errors("{}"),
      (Lines{"$.schema_version manifest.schema_version must be manifest.v1", "$.run_id manifest.run_id missing",
             "$.created_at manifest.created_at missing", "$.updated_at manifest.updated_at missing", "$.revision manifest.revision invalid",
             "$.mode manifest.mode invalid", "$.status manifest.status invalid", "$.query manifest.query missing",
             "$.stage manifest.stage missing", "$.limits manifest.limits missing", "$.artifacts manifest.artifacts missing",
             "$.metrics manifest.metrics must be object", "$.failures manifest.failures must be array"}));
}

TEST(ManifestSchemaTest, InnerPartsLackEverythingInOrder) {
  EXPECT_EQ(manifest_errors(R"({"schema_version":"manifest.v1","run_id":"r","created_at":"c","updated_at":"u","revision":0,"mode":"slow",
              "status":"","query":{"constraints":[],"sensitivity":null},"stage":{"last_progress_at":" ","history":[1,{"gates_revision":1.5}]},
              "limits":{"max_summary_kb":"5","min_wave_rate":"1"},"artifacts":{"root":"r","paths":{"wave1_dir":" "}},"metrics":null,
              "failures":{}})"),
            (Lines{"$.revision manifest.revision invalid",
                   "$.mode manifest.mode invalid",
                   "$.status manifest.status invalid",
                   "$.query.text manifest.query.text missing",
                   "$.query.constraints manifest.query.constraints must be object",
                   "$.query.sensitivity manifest.query.sensitivity invalid",
                   "$.stage.current manifest.stage.current invalid",
                   "$.stage.started_at manifest.stage.started_at missing",
                   "$.stage.last_progress_at manifest.stage.last_progress_at must be non-empty string",
                   "$.stage.history[0] manifest.stage.history entry must be object",
                   "$.stage.history[1].from stage.history.from missing",
                   "$.stage.history[1].to stage.history.to missing",
                   "$.stage.history[1].ts stage.history.ts missing",
                   "$.stage.history[1].reason stage.history.reason missing",
                   "$.stage.history[1].inputs_digest stage.history.inputs_digest missing",
                   "$.stage.history[1].gates_revision stage.history.gates_revision invalid",
                   "$.limits.max_wave1_agents manifest.limits.max_wave1_agents invalid",
                   "$.limits.max_wave2_agents manifest.limits.max_wave2_agents invalid",
                   "$.limits.max_summary_kb manifest.limits.max_summary_kb invalid",
                   "$.limits.max_total_summary_kb manifest.limits.max_total_summary_kb invalid",
                   "$.limits.max_review_iterations manifest.limits.max_review_iterations invalid",
                   "$.artifacts.root manifest.artifacts.root must be absolute path",
                   "$.artifacts.paths.wave1_dir manifest.artifacts.paths.wave1_dir missing",
                   "$.artifacts.paths.wave2_dir manifest.artifacts.paths.wave2_dir missing",
                   "$.artifacts.paths.citations_dir manifest.artifacts.paths.citations_dir missing",
                   "$.artifacts.paths.summaries_dir manifest.artifacts.paths.summaries_dir missing",
                   "$.artifacts.paths.synthesis_dir manifest.artifacts.paths.synthesis_dir missing",
                   "$.artifacts.paths.logs_dir manifest.artifacts.paths.logs_dir missing",
                   "$.artifacts.paths.gates_file manifest.artifacts.paths.gates_file missing",
                   "$.artifacts.paths.perspectives_file manifest.artifacts.paths.perspectives_file missing",
                   "$.artifacts.paths.citations_file manifest.artifacts.paths.citations_file missing",
                   "$.artifacts.paths.summary_pack_file manifest.artifacts.paths.summary_pack_file missing",
                   "$.artifacts.paths.pivot_file manifest.artifacts.paths.pivot_file missing",
                   "$.metrics manifest.metrics must be object",
                   "$.failures manifest.failures must be array",
                   "$.limits.min_wave_rate manifest.limits.min_wave_rate invalid"}));
}

TEST(ManifestSchemaTest, ATimeOfProgressIsAnyDateOfEcmaScript) {
  const auto progress = [](std::string_view time) {
    return manifest_errors(with(kManifest, "\"history\"", "\"last_progress_at\":\"" + std::string(time) + "\",\"history\""));
  };
  for (const char* time : {"2026", "2026-02", "2026-02-13", "2026-02-13T12:00", "2026-02-13T12:00:00", "2026-02-13T12:00:00.5Z",
                           "2026-02-13T12:00:00.000+02:00"}) {
    EXPECT_EQ(progress(time), Lines()) << time;
  }
  for (const char* time : {"nope", "26", "2026-13", "2026-02-32", "2026-02-13T", "2026-02-13T12", "2026-02-13T12:60", "2026-02-13Z",
                           "2026-02-13T12:00:00.Z", "2026-02-13T12:00:00Zx"}) {
    EXPECT_EQ(progress(time), Lines{"$.stage.last_progress_at manifest.stage.last_progress_at must be valid ISO timestamp"}) << time;
  }
}

TEST(ManifestSchemaTest, WholeNumbersMayBeWrittenAsFractionsAndHugeOnesAreNoNumbers) {
  EXPECT_EQ(manifest_errors(with(kManifest, "\"revision\":1", "\"revision\":3.0")), Lines());
  EXPECT_EQ(manifest_errors(with(kManifest, "\"revision\":1", "\"revision\":123456789012345678901")), Lines());
  EXPECT_EQ(manifest_errors(with(kManifest, "\"revision\":1", "\"revision\":1" + std::string(400, '0'))),
            Lines{"$.revision manifest.revision invalid"});
}

// ---- limits ----
Lines limit_errors(std::string_view text) {
  json::Parser parser;
  SchemaErrors errors;
  check_limits(must(parser.parse(text)), errors);
  return lines(errors);
}

TEST(LimitsTest, ValuesWithinTheirRangesPass) {
  EXPECT_EQ(limit_errors("{}"), Lines());
  EXPECT_EQ(limit_errors(R"({"max_wave1_agents":1,"max_wave2_agents":1000.0,"max_review_iterations":0,"max_summary_kb":1.5,
                             "max_total_summary_kb":100000,"max_pack_json_kb":1,"max_synthesis_input_kb":2.25,"min_wave_rate":0.8,"x":"y"})"),
            Lines());
}

TEST(LimitsTest, EveryOneOutOfItsRangeIsNamedWithTheRange) {
  EXPECT_EQ(
      limit_errors(R"({"max_wave1_agents":0,"max_wave2_agents":1.5,"max_review_iterations":51,"max_summary_kb":0.999,
                             "max_total_summary_kb":100000.5,"max_pack_json_kb":"1","max_synthesis_input_kb":null,"min_wave_rate":1.01})"),
      (Lines{"INVALID_ARGS $.limits.max_wave1_agents manifest.limits.max_wave1_agents must be an integer from 1 to 1000, not 0",
             "INVALID_ARGS $.limits.max_wave2_agents manifest.limits.max_wave2_agents must be an integer from 1 to 1000, not 1.5",
             "INVALID_ARGS $.limits.max_review_iterations manifest.limits.max_review_iterations must be an integer from 0 to 50, not 51",
             "INVALID_ARGS $.limits.max_summary_kb manifest.limits.max_summary_kb must be a number from 1 to 1000, not 0.999",
             "INVALID_ARGS $.limits.max_total_summary_kb manifest.limits.max_total_summary_kb must be a number from 1 to 100000, not "
             "100000.5",
             "INVALID_ARGS $.limits.max_pack_json_kb manifest.limits.max_pack_json_kb must be a number from 1 to 100000, not \"1\"",
             "INVALID_ARGS $.limits.max_synthesis_input_kb manifest.limits.max_synthesis_input_kb must be a number from 1 to 100000, "
             "not null",
             "INVALID_ARGS $.limits.min_wave_rate manifest.limits.min_wave_rate must be a number from 0.8 to 1, not 1.01"}));
  EXPECT_EQ(limit_errors("[]"), Lines{"INVALID_ARGS $.limits manifest.limits must be an object"});
}

// ---- gates ----
std::string gate(std::string_view id, std::string_view members = "") {
  return "\"" + std::string(id) + "\":{\"id\":\"" + std::string(id) +
         R"(","name":"n","class":"hard","status":"not_run","checked_at":null,)" +
         R"("metrics":{},"artifacts":[],"warnings":[],"notes":"")" + std::string(members) + "}";
}

std::string gates(std::string_view last) {
  std::string out = R"({"schema_version":"gates.v1","run_id":"r","revision":1,"updated_at":"u","inputs_digest":"sha256:0","gates":{)";
  for (const char* id : {"A", "B", "C", "D", "E"}) out += gate(id) + ",";
  return out + std::string(last) + "}}";
}

Lines gate_errors(std::string_view text) {
  json::Parser parser;
  SchemaErrors errors;
  check_gates(must(parser.parse(text)), errors);
  return lines(errors);
}

TEST(GatesSchemaTest, AnEmptyDocumentAndAnEmptyGateLackEverythingInOrder) {
  EXPECT_EQ(gate_errors(gates(gate("F"))), Lines());
  EXPECT_EQ(gate_errors("1"), Lines{"$ gates must be an object"});
  EXPECT_EQ(gate_errors("{}"), (Lines{"$.schema_version gates.schema_version must be gates.v1", "$.run_id gates.run_id missing",
                                      "$.revision gates.revision invalid", "$.updated_at gates.updated_at missing",
                                      "$.inputs_digest gates.inputs_digest missing", "$.gates gates.gates missing"}));
  EXPECT_EQ(gate_errors(gates("\"F\":{}")),
            (Lines{"$.gates.F.id gate.id must match key", "$.gates.F.name gate.name missing", "$.gates.F.class gate.class invalid",
                   "$.gates.F.status gate.status invalid", "$.gates.F.checked_at gate.checked_at must be string or null",
                   "$.gates.F.metrics gate.metrics must be object", "$.gates.F.artifacts gate.artifacts must be string[]",
                   "$.gates.F.warnings gate.warnings must be string[]", "$.gates.F.notes gate.notes must be string"}));
}

TEST(GatesSchemaTest, ARequiredGateThatIsFalseIsMissingAndNothingMoreIsSaidOfIt) {
  for (const char* value : {"null", "0", "false", "\"\""}) {
    EXPECT_EQ(gate_errors(gates("\"F\":" + std::string(value))), Lines{"$.gates.F missing required gate"}) << value;
  }
  EXPECT_EQ(gate_errors(gates("\"F\":[],\"G\":null")), (Lines{"$.gates.F gate must be object", "$.gates.G gate must be object"}));
}

TEST(GatesSchemaTest, OnlyASoftGateMayWarnAndAGateThatRanHasATime) {
  const auto ran = [](std::string_view kind, std::string_view status, std::string_view time) {
    std::string text = with(with(gate("F"), "not_run", status), "\"checked_at\":null", "\"checked_at\":" + std::string(time));
    return gate_errors(gates(with(text, "hard", kind)));
  };
  EXPECT_EQ(ran("soft", "warn", "\"t\""), Lines());
  EXPECT_EQ(ran("hard", "warn", "\"t\""), Lines{"$.gates.F.status gate.status invalid"});
  EXPECT_EQ(ran("hard", "pass", "null"), Lines{"$.gates.F.checked_at gate.checked_at required when status != not_run"});
  EXPECT_EQ(ran("hard", "fail", "\" \""), Lines{"$.gates.F.checked_at gate.checked_at must be string or null"});
  EXPECT_EQ(ran("hard", "not_run", "\"t\""), Lines());
}

TEST(GatesSchemaTest, WhatWeirAddedIsCheckedAfterAllThatUpstreamSays) {
  EXPECT_EQ(gate_errors(gates(gate("F", R"(,"checks":{"bounds":"pass"},"reasons":["X"],"inputs_digest":"sha256:1")"))), Lines());
  EXPECT_EQ(gate_errors(gates(gate("AA", R"(,"checks":[],"reasons":"X","inputs_digest":7)") + "," + with(gate("F"), "\"n\"", "\"\""))),
            (Lines{"$.gates.F.name gate.name missing", "$.gates.AA.checks gate.checks invalid", "$.gates.AA.reasons gate.reasons invalid",
                   "$.gates.AA.inputs_digest gate.inputs_digest invalid"}));
}

// ---- pack ----
TEST(PackSchemaTest, AnEmptyPackLacksEverythingInOrder) {
  const std::string version = "summary-pack schema_version must be summary_pack.v1";
  for (const char* text : {"[]", "null", "3"}) EXPECT_EQ(pack_errors(text), Lines{"$.schema_version " + version}) << text;
  EXPECT_EQ(pack_errors("{}"),
            (Lines{"$.schema_version " + version, "$.run_id summary-pack.run_id invalid",
                   "$.generated_at summary-pack.generated_at invalid", "$.limits summary-pack.limits invalid",
                   "$.summaries summary-pack.summaries invalid", "$.total_estimated_tokens summary-pack.total_estimated_tokens invalid"}));
}

TEST(PackSchemaTest, AForeignRunIdAWildConfidenceAndNullsAreAllNamed) {
  EXPECT_EQ(pack_errors(R"({"schema_version":"summary_pack.v1","run_id":"other","generated_at":"2026-02-13T12:40:00Z",
              "limits":{"max_summary_kb":5,"max_pack_json_kb":null},"total_estimated_tokens":-1,"summaries":[null,
              {"perspective_id":"","source_artifact":"../x","summary_md":"wave-1/p1.md","key_claims":[null,
                {"claim":" ","citation_cids":[],"confidence":900},{"claim":"c","citation_cids":["a","a"," ",1],"confidence":null}]},
              {"perspective_id":"p","source_artifact":7,"summary_md":null,"key_claims":{}}]})"),
            (Lines{"$.run_id summary-pack.run_id invalid", "$.limits.max_total_summary_kb summary-pack.limits.max_total_summary_kb invalid",
                   "$.limits.max_pack_json_kb summary-pack.limits.max_pack_json_kb invalid",
                   "$.summaries[0] summary-pack.summaries invalid", "$.summaries[1].perspective_id summary.perspective_id invalid",
                   "PATH_TRAVERSAL $.summaries[1].source_artifact summary.source_artifact invalid",
                   "$.summaries[1].summary_md summary.summary_md invalid", "$.summaries[1].key_claims[0] summary.key_claims invalid",
                   "$.summaries[1].key_claims[1].claim key_claim.claim invalid",
                   "$.summaries[1].key_claims[1].citation_cids key_claim.citation_cids invalid",
                   "$.summaries[1].key_claims[1].confidence key_claim.confidence invalid",
                   "$.summaries[1].key_claims[2].citation_cids[1] key_claim.citation_cids invalid",
                   "$.summaries[1].key_claims[2].citation_cids[2] key_claim.citation_cids invalid",
                   "$.summaries[1].key_claims[2].citation_cids[3] key_claim.citation_cids invalid",
                   "$.summaries[1].key_claims[2].confidence key_claim.confidence invalid",
                   "$.summaries[2].source_artifact summary.source_artifact invalid", "$.summaries[2].summary_md summary.summary_md invalid",
                   "$.summaries[2].key_claims summary.key_claims invalid",
                   "$.total_estimated_tokens summary-pack.total_estimated_tokens invalid"}));
}

TEST(PackSchemaTest, NoClaimsABlankSummaryAndAnyOrderAreForTheGateToJudge) {
  EXPECT_EQ(pack_errors(with(kSeedPack, "summaries/p1.summary.md", " ")), Lines());
  EXPECT_EQ(pack_errors(with(kSeedPack, "{ \"claim\": \"X uses Y for Z.\", \"citation_cids\": [\"cid_abc\"], \"confidence\": 85 }", "")),
            Lines());
  EXPECT_EQ(pack_errors(with(kSeedPack, "\"confidence\": 85", "\"confidence\": 99.5, \"x\": 1")), Lines());
}

// ---- small rules ----
TEST(ConfinedPathTest, OnlyRelativePathsOfPlainPartsAreConfined) {
  for (const char* path : {"a", "a/b", "wave-1/p1.md", "...", "a/.b", "é"}) EXPECT_TRUE(confined_path(path)) << path;
  for (const char* path : {"", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/..", "a/../b", "a\\b", "..\\a"})
    EXPECT_FALSE(confined_path(path)) << path;
  EXPECT_FALSE(confined_path(std::string_view("a\0b", 3)));
}

TEST(LayoutsTest, EveryDocumentHasALayoutThatBeginsWithItsVersion) {
  for (int i = 0; i <= static_cast<int>(Document::terminal); ++i) {
    const auto layout = layout_of(static_cast<Document>(i));
    ASSERT_FALSE(layout.empty()) << i;
    EXPECT_EQ(layout[0].key, "schema_version") << i;
  }
}

}  // namespace
}  // namespace weir::research
