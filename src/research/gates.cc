#include "research/gates.h"

#include <algorithm>

#include "json/canonical.h"
#include "json/digest.h"
#include "json/parse.h"
#include "research/figures.h"
#include "research/wave_output.h"

namespace weir::research {

using json::Value;

namespace {

std::string digest_of(json::Domain domain, const Value& inputs) { return "sha256:" + json::digest(domain, inputs).hex(); }

}  // namespace

Result<std::vector<OutputText>> output_texts(const State& state, const Perspectives& perspectives, RunFiles& files) {
  std::vector<OutputText> out;
  for (const Perspective& one : perspectives.all()) {
    const auto* known = state.outputs.find(std::string(one.id));
    if (known == nullptr || (*known)->wave != one.wave) continue;
    TRY(RunFile file, files.read((*known)->path));
    if (file.kind != RunFile::Kind::file)
      return Error(ErrorCode::MISSING_ARTIFACT,
                   "the wave output '" + (*known)->path + "' is gone; `weir research verify` lists what is missing")
          .with("path", (*known)->path);
    if (sha256_name(file.bytes) != (*known)->sha256)
      return Error(ErrorCode::ARTIFACT_CHANGED, "'" + (*known)->path + "' is not what the log holds: it was changed by hand")
          .with("path", (*known)->path);
    out.push_back({&one, std::move(file.bytes)});
  }
  return out;
}

Result<GateAnswer> gate_b(const GateInputs& in, json::Arena& arena) {
  TRY(const std::vector<OutputText> outputs, output_texts(in.state, in.perspectives, in.files));
  GateAnswer out;
  std::size_t invalid = 0, with_sources = 0;
  std::vector<Value> rows;
  for (const OutputText& output : outputs) {
    const Output& known = **in.state.outputs.find(std::string(output.perspective->id));
    json::Parser parser;
    TRY(const Value meta, parser.parse_stored(known.meta));
    const Value* usage = meta.find("tool_usage");
    const OutputCheck check =
        check_output(output.text, output.perspective->contract, usage == nullptr || usage->is_null() ? nullptr : usage);
    invalid += check.failures.empty() ? 0 : 1;
    with_sources += check.sources > 0 ? 1 : 0;
    rows.push_back(json::make_object(arena, {{"perspective_id", output.perspective->id}, {"sha256", known.sha256}}));
  }
  const std::size_t expected = in.perspectives.all().size(), accepted = outputs.size();
  const double rate = expected == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(expected);
  if (expected == 0 || rate < in.limits.min_wave_rate) out.reasons.emplace_back("WAVE_RATE_BELOW_MIN");
  if (invalid > 0) out.reasons.emplace_back("OUTPUT_INVALID");
  out.pass = out.reasons.empty();
  out.metrics = json::make_object(arena, {{"wave_output_rate", ratio_figure(accepted, expected)},
                                          {"sources_rate", ratio_figure(with_sources, accepted)},
                                          {"missing_count", expected - accepted}});
  std::vector<Value> documents;
  for (const auto& document : in.state.perspectives) {
    if (document) documents.emplace_back(document->sha256);
  }
  out.inputs = json::make_object(arena, {{"min_wave_rate", in.limits.min_wave_rate},
                                         {"outputs", json::make_array(arena, rows)},
                                         {"perspectives", json::make_array(arena, documents)}});
  out.inputs_digest = digest_of(json::Domain::gate_b, out.inputs);
  return out;
}

Result<GateAnswer> gate_c(const GateInputs& in, json::Arena& arena) {
  TRY(const std::vector<OutputText> outputs, output_texts(in.state, in.perspectives, in.files));
  const std::vector<std::string> urls = extract(outputs).normal();
  std::size_t validated = 0, invalid = 0;
  for (const std::string& url : urls) {
    const auto* record = in.state.records.find(std::string_view(url));
    if (record == nullptr) continue;
    ((*record)->citation.validated() ? validated : invalid) += 1;
  }
  const std::size_t all = urls.size(), unknown = all - validated - invalid;
  GateAnswer out;
  if (all == 0) out.reasons.emplace_back("NO_URLS_EXTRACTED");
  if (10 * validated < 9 * all) out.reasons.emplace_back("VALIDATED_RATE_LOW");
  if (10 * invalid > all) out.reasons.emplace_back("INVALID_RATE_HIGH");
  if (unknown > 0) out.reasons.emplace_back("UNCATEGORIZED_URLS");
  out.pass = out.reasons.empty();
  out.metrics = json::make_object(arena, {{"validated_url_rate", ratio_figure(validated, all)},
                                          {"invalid_url_rate", ratio_figure(invalid, all)},
                                          {"uncategorized_url_rate", ratio_figure(unknown, all)},
                                          {"url_count", all}});
  std::vector<Value> shown, records;
  for (const std::string& url : urls) shown.emplace_back(arena.copy(url));
  in.state.records.each([&](const TKey& url, const std::shared_ptr<const Record>& record) {
    const Value pair[] = {arena.copy(url.text), arena.copy(record->citation.status)};
    records.push_back(json::make_array(arena, pair));
  });
  out.inputs = json::make_object(arena, {{"records", json::make_array(arena, records)}, {"urls", json::make_array(arena, shown)}});
  out.inputs_digest = digest_of(json::Domain::gate_c, out.inputs);
  return out;
}

std::vector<std::string> changed_members(const Value& recorded, const Value& today) {
  std::vector<std::string> out;
  const auto differ = [&](std::string_view key, const Value* a, const Value* b) {
    if (a != nullptr && b != nullptr && *a == *b) return;
    if (a != nullptr && b != nullptr && a->is_array() && b->is_array() && a->items().size() == b->items().size()) {
      for (std::size_t i = 0; i < a->items().size(); ++i) {
        if (!(a->items()[i] == b->items()[i])) out.push_back(std::string(key) + "[" + std::to_string(i) + "]");
      }
      return;
    }
    out.emplace_back(key);
  };
  for (const json::Member& member : recorded.members()) differ(member.key, &member.value, today.find(member.key));
  for (const json::Member& member : today.members()) {
    if (recorded.find(member.key) == nullptr) out.emplace_back(member.key);
  }
  return out;
}

}  // namespace weir::research
