// The far end of tests/oracle/research_oracle_test.py, whose head says what is asked and answered: one JSON request per line of
// stdin, one JSON line each, straight from the functions of src/research.
#include <iostream>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "json/canonical.h"
#include "json/error_value.h"
#include "json/layout.h"
#include "json/parse.h"
#include "research/figures.h"
#include "research/markdown.h"
#include "research/report.h"
#include "research/schema.h"
#include "research/schema_kit.h"
#include "research/summary.h"
#include "research/t_order.h"
#include "research/url.h"
#include "research/wave_output.h"

namespace {

using namespace weir::research;
using weir::json::Arena;
using weir::json::make_object;
using weir::json::Value;

Value array_of(const std::vector<Value>& items, Arena& arena) { return weir::json::make_array(arena, items); }

template <typename Texts>
Value texts_value(const Texts& texts, Arena& arena) {
  std::vector<Value> items;
  for (const auto& text : texts) items.emplace_back(arena.copy(text));
  return array_of(items, arena);
}

std::vector<std::string> texts_of(const Value& ask, std::string_view key) {
  std::vector<std::string> texts;
  if (const Value* list = ask.find(key)) {
    for (const Value& item : list->items()) texts.emplace_back(item.text());
  }
  return texts;
}

double number(const Value& ask, std::string_view key) {
  const Value* value = ask.find(key);
  return value == nullptr ? 0 : number_of(*value).value_or(0);
}

Pool pool_of(const Value& ask) {
  std::vector<Citation> records;
  for (const Value& record : ask.find("pool")->items()) {
    Citation one{std::string(record.text_or("cid", "")), std::string(record.text_or("status", "")), {}, {}, {}};
    if (const Value* snippet = record.find("evidence_snippet")) one.snippet = std::string(snippet->text());
    records.push_back(std::move(one));
  }
  return Pool(std::move(records));
}

Value failures_value(const std::vector<Failure>& failures, Arena& arena) {
  std::vector<Value> items;
  for (const Failure& failure : failures) {
    items.push_back(make_object(
        arena, {{"code", weir::info(failure.error.code()).name}, {"details", weir::json::details_value(failure.error, arena)}}));
  }
  return array_of(items, arena);
}

Value order(const Value& ask, Arena& arena) {
  const int order = compare_t(ask.text_or("a", ""), ask.text_or("b", ""));
  return make_object(arena, {{"order", (order > 0) - (order < 0)}});
}

Value url(const Value& ask, Arena& arena) {
  const auto url = normalise_url(ask.text_or("url", ""));
  if (!url.ok()) return make_object(arena, {{"error", weir::info(url.error().code()).name}});
  return make_object(arena, {{"normalized_url", arena.copy(url->normal)},
                             {"cid", arena.copy(url->cid)},
                             {"shown", arena.copy(url->shown)},
                             {"user_info", url->user_info}});
}

Value units(const Value& ask, Arena& arena) {
  constexpr std::string_view kKinds[] = {"heading", "item", "table", "paragraph", "fence"};
  std::vector<Value> items;
  for (const Unit& unit : units_of(lines_of(ask.text_or("text", "")))) {
    items.push_back(make_object(arena, {{"kind", kKinds[static_cast<std::size_t>(unit.kind)]},
                                        {"first", unit.first + 1},
                                        {"last", unit.last + 1},
                                        {"text", arena.copy(unit.text)}}));
  }
  return make_object(arena, {{"units", array_of(items, arena)}});
}

Value words(const Value& ask, Arena& arena) { return make_object(arena, {{"words", count_words(ask.text_or("text", ""))}}); }

Value output(const Value& ask, Arena& arena) {
  const OutputCheck check = check_output(ask.text_or("text", ""), *ask.find("contract"), ask.find("tool_usage"));
  std::vector<std::string> notes;
  for (const Failure& failure : check.failures) notes.push_back(failure.note);
  return make_object(arena, {{"words", check.words},
                             {"sources", check.sources},
                             {"failures", failures_value(check.failures, arena)},
                             {"warnings", texts_value(check.warnings, arena)},
                             {"notes", texts_value(notes, arena)}});
}

Value sources(const Value& ask, Arena& arena) {
  std::vector<Value> items;
  for (const SourceUrl& source : source_urls(ask.text_or("text", ""), *ask.find("contract"))) {
    items.push_back(make_object(arena, {{"url", source.url}, {"line", source.line}, {"ordinal", source.ordinal}}));
  }
  return make_object(arena, {{"urls", array_of(items, arena)}});
}

Value numbers(const Value& ask, Arena& arena) {
  return make_object(arena, {{"numbers", texts_value(numbers_in(ask.text_or("text", "")), arena)}});
}

Value summary(const Value& ask, Arena& arena) {
  constexpr std::string_view kNumberChecks[] = {"pass", "unchecked", "warned"};
  const NumberRule rule = ask.text_or("numbers", "") == "warn" ? NumberRule::warn : NumberRule::refuse;
  const SummaryCheck check =
      check_summary(ask.text_or("text", ""), ask.text_or("perspective_id", ""), pool_of(ask), number(ask, "max_summary_kb"), rule);
  std::vector<Value> claims;
  for (const Claim& claim : check.claims) {
    claims.push_back(make_object(arena, {{"claim", arena.copy(claim.claim)},
                                         {"citation_cids", texts_value(claim.cids, arena)},
                                         {"confidence", claim.confidence},
                                         {"confidence_source", claim.confidence_given ? "author" : "default"},
                                         {"line", claim.line},
                                         {"number_check", kNumberChecks[static_cast<std::size_t>(claim.numbers)]}}));
  }
  return make_object(arena, {{"claims", array_of(claims, arena)},
                             {"failures", failures_value(check.failures, arena)},
                             {"warnings", texts_value(check.warnings, arena)},
                             {"mentioned", texts_value(check.mentioned, arena)}});
}

Value cut(const Value& ask, Arena& arena) {
  const auto cut = cut_summary(ask.text_or("text", ""), number(ask, "max_summary_kb"));
  return make_object(arena, {{"text", cut ? Value(arena.copy(cut->text)) : Value()}});
}

Value report(const Value& ask, Arena& arena) {
  std::vector<Citation> known;
  for (std::string& cid : texts_of(ask, "pool")) known.push_back({std::move(cid), "valid", {}, {}, {}});
  const ReportCheck check = check_report(ask.text_or("text", ""), texts_of(ask, "cids"), ask.text_or("bundle", ""), Pool(std::move(known)));
  std::vector<Value> findings;
  for (const weir::Error& finding : check.findings) {
    weir::json::ObjectBuilder one(arena);
    one.add("code", weir::info(finding.code()).name);
    for (const auto& [key, value] : finding.details()) one.add(arena.copy(key), weir::json::detail_value(value, arena));
    findings.push_back(one.build());
  }
  const Value metrics = make_object(arena, {{"report_sections_present", check.sections_present},
                                            {"uncited_numeric_claims", check.uncited_numbers},
                                            {"citation_utilization_rate", check.utilization},
                                            {"duplicate_citation_rate", check.duplication},
                                            {"numbers_not_in_input", check.numbers_not_in_input}});
  return make_object(arena,
                     {{"findings", array_of(findings, arena)}, {"metrics", metrics}, {"warnings", texts_value(check.warnings, arena)}});
}

Value document(const Value& ask, Arena& arena) {
  const std::string_view kind = ask.text_or("kind", ""), run_id = ask.text_or("run_id", "");
  const Value& value = *ask.find("value");
  SchemaErrors errors;
  if (kind == "perspectives") {
    const std::vector<std::string> agents = texts_of(ask, "agents");
    const Pass pass = ask.text_or("pass", "") == "read" ? Pass::read : Pass::write;
    std::vector<std::string> warnings;
    check_perspectives(value, pass, {.run_id = run_id, .agents = ask.find("agents") == nullptr ? nullptr : &agents}, errors, warnings);
  } else if (kind == "manifest") {
    check_manifest(value, errors);
  } else if (kind == "gates") {
    check_gates(value, errors);
  } else if (kind == "citation") {
    check_citation(value, "$", errors);
  } else {
    check_pack(value, run_id, errors);
  }
  std::vector<Value> list;
  for (const SchemaErrors::One& error : errors.list()) {
    list.push_back(make_object(
        arena, {{"path", arena.copy(error.path)}, {"code", weir::info(error.code).name}, {"message", arena.copy(error.message)}}));
  }
  return make_object(arena, {{"errors", array_of(list, arena)}});
}

Value layout(const Value& ask, Arena& arena) {
  const std::string_view kind = ask.text_or("kind", "");
  const Value& value = *ask.find("value");
  if (kind == "citation") {
    return make_object(arena, {{"text", arena.copy(weir::json::write_line(value, layout_of(Document::citation)) + "\n")}});
  }
  const Document which = kind == "perspectives" ? Document::perspectives
                         : kind == "manifest"   ? Document::manifest
                         : kind == "gates"      ? Document::gates
                         : kind == "bundle"     ? Document::bundle_index
                                                : Document::pack;
  return make_object(arena, {{"text", arena.copy(weir::json::write_document(value, layout_of(which)))}});
}

Value digest(const Value& ask, Arena& arena) {
  const Value& value = *ask.find("value");
  return make_object(arena, {{"canonical", arena.copy(upstream_text(value))}, {"digest", arena.copy(digest_upstream(value))}});
}

Value rate(const Value& ask, Arena& arena) { return make_object(arena, {{"value", rounded(number(ask, "value"))}}); }

Value kb(const Value& ask, Arena& arena) {
  return make_object(arena, {{"value", kb_figure(static_cast<std::uint64_t>(number(ask, "bytes")))}});
}

struct Question {
  std::string_view name;
  Value (*answer)(const Value& ask, Arena& arena);
};
constexpr Question kQuestions[] = {
    {"t_order", order},   {"url", url}, {"units", units},   {"words", words},     {"output", output},     {"sources", sources},
    {"numbers", numbers}, {"cut", cut}, {"report", report}, {"summary", summary}, {"document", document}, {"digest_upstream", digest},
    {"rate", rate},       {"kb", kb},   {"layout", layout},
};

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  weir::json::Parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    const auto ask = parser.parse(line);
    const Question* question = nullptr;
    for (const Question& one : kQuestions) {
      if (ask.ok() && ask->text_or("do", "") == one.name) question = &one;
    }
    if (question == nullptr) {
      std::cerr << "cannot answer " << line.substr(0, 400) << '\n';
      return 2;
    }
    Arena arena;
    std::cout << weir::json::canonical(question->answer(*ask, arena)) << '\n';
  }
  return 0;
}
