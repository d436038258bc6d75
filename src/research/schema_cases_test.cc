// Every recorded answer of upstream's validators: where it refuses, the first error here is its own.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/error_code.h"
#include "json/canonical.h"
#include "research/schema.h"
#include "testing/results.h"
#include "testing/source_dir.h"
#include "testing/upstream_cases.h"

namespace weir::research {
namespace {

using testing::upstream_cases;
using testing::UpstreamCase;

// "ok", or the first error as `code message path`.
std::string verdict(const SchemaErrors& errors) {
  const auto result = errors.result();
  if (result.ok()) return "ok";
  const Error& error = result.error();
  return testing::code(result) + " " + error.message() + " " + testing::detail(error, "path");
}

std::string recorded(const json::Value& error) {
  if (error.is_null()) return "ok";
  return std::string(error.text_or("code", "")) + " " + std::string(error.text_or("message", "")) + " " +
         std::string(error.find("details")->text_or("path", ""));
}

TEST(SchemaCasesTest, PerspectivesAreWrittenOrRefusedAsUpstreamDoes) {
  std::vector<std::string> own;
  for (const UpstreamCase& one : upstream_cases("perspectives")) {
    const json::Value& value = one.at("args.value");
    SchemaErrors errors;
    std::vector<std::string> warnings;
    check_perspectives(value, Pass::write, {.run_id = value.text_or("run_id", "dr_fx")}, errors, warnings);
    if (one.same()) {
      EXPECT_EQ(verdict(errors), recorded(one.at("result.error"))) << one.id;
    } else {
      own.push_back(one.id + ": " + verdict(errors));
    }
  }
  EXPECT_EQ(own, (std::vector<std::string>{
                     "accepted_id_path_traversal: SCHEMA_VALIDATION_FAILED perspective.id invalid $.perspectives[0].id",
                     "accepted_created_at_not_iso: SCHEMA_VALIDATION_FAILED perspectives.created_at invalid $.created_at",
                     "args_relative_path: ok",  // of an argument that Weir does not have
                 }));
}

TEST(SchemaCasesTest, WhatUpstreamWroteIsLaidOutTheSameButForMapsOfTheCaller) {
  int compared = 0;
  for (const UpstreamCase& one : upstream_cases("perspectives")) {
    const json::Value* files = one.line.find("files_written");
    const json::Value* text = files == nullptr ? nullptr : files->find("perspectives.json");
    if (text == nullptr) continue;
    std::string expected(text->text());
    // Upstream keeps the order in which a caller named its tools.
    const std::string_view given = "\"search_calls\": 4,\n          \"fetch_calls\": 6",
                           sorted = "\"fetch_calls\": 6,\n          \"search_calls\": 4";
    if (const auto at = expected.find(given); at != std::string::npos) expected.replace(at, given.size(), sorted);
    EXPECT_EQ(json::write_document(one.at("args.value"), layout_of(Document::perspectives)), expected) << one.id;
    ++compared;
  }
  EXPECT_EQ(compared, 5);
}

template <typename Check>
int compare_readers(std::string_view family, Check check) {
  int compared = 0;
  for (const UpstreamCase& one : upstream_cases(family)) {
    SchemaErrors errors;
    check(one.at("args.value"), errors);
    EXPECT_TRUE(one.same()) << one.id;
    EXPECT_EQ(verdict(errors), recorded(one.at("result.by_validator.schema_v1"))) << family << " " << one.id;
    ++compared;
  }
  return compared;
}

TEST(SchemaCasesTest, ManifestsAreReadOrRefusedAsUpstreamDoes) { EXPECT_EQ(compare_readers("manifest", check_manifest), 12); }

TEST(SchemaCasesTest, GatesAreReadOrRefusedAsUpstreamDoes) { EXPECT_EQ(compare_readers("gates", check_gates), 7); }

std::string example(std::string_view name) {
  std::ifstream file(testing::source_dir() + "/tests/data/research-cases/example/" + std::string(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SchemaCasesTest, TheWorkedExamplesFilesAreLaidOutToTheByte) {
  const std::pair<std::string_view, Document> documents[] = {{"perspectives.json", Document::perspectives},
                                                             {"summaries/summary-pack.json", Document::pack},
                                                             {"synthesis/input-bundle.json", Document::bundle_index}};
  for (const auto& [name, document] : documents) {
    json::Parser parser;
    EXPECT_EQ(json::write_document(testing::must(parser.parse(example(name))), layout_of(document)), example(name)) << name;
  }
  std::string lines;
  std::istringstream citations(example("citations/citations.jsonl"));
  for (std::string line; std::getline(citations, line);) {
    json::Parser parser;
    lines += json::write_line(testing::must(parser.parse(line)), layout_of(Document::citation)) + "\n";
  }
  EXPECT_EQ(lines, example("citations/citations.jsonl"));
}

// `all`: every error as `code path`.
std::string all(const SchemaErrors& errors) {
  std::string out;
  for (const auto& error : errors.list()) out += std::string(info(error.code).name) + " " + error.path + "\n";
  return out;
}

TEST(SchemaCasesTest, PacksThatUpstreamTookWithNonsenseInThemAreRefusedWithEveryPath) {
  const std::string_view expected[][2] = {
      {"quirk_key_claims_unknown_cid",
       "SCHEMA_VALIDATION_FAILED $.summaries[0].key_claims[0].claim\nSCHEMA_VALIDATION_FAILED $.summaries[0].key_claims[0].confidence\n"},
      {"quirk_non_object_entries_skipped",
       "SCHEMA_VALIDATION_FAILED $.summaries[1]\nSCHEMA_VALIDATION_FAILED $.summaries[2]\nSCHEMA_VALIDATION_FAILED $.summaries[3]\n"},
      {"summary_md_is_directory", "SCHEMA_VALIDATION_FAILED $.summaries[0].summary_md\n"},
      {"err_pack_array", "SCHEMA_VALIDATION_FAILED $.schema_version\n"},
  };
  int read = 0;
  for (const UpstreamCase& one : upstream_cases("gate_d_evaluate")) {
    const json::Value* text = one.at("files").find("summaries/summary-pack.json");
    if (text == nullptr) continue;
    json::Parser parser;
    const auto pack = parser.parse(text->text());
    if (!pack.ok()) continue;
    SchemaErrors errors;
    check_pack(*pack, "dr_fx", errors);
    std::string_view wanted;
    for (const auto& [id, list] : expected) wanted = one.id == id ? list : wanted;
    EXPECT_EQ(all(errors), wanted) << one.id;
    ++read;
  }
  EXPECT_EQ(read, 12);
}

}  // namespace
}  // namespace weir::research
