#include "research/state.h"

#include <cmath>

#include "json/parse.h"

namespace weir::research {

using json::Value;

int gate_index(std::string_view gate) { return gate.size() == 1 && gate[0] >= 'A' && gate[0] <= 'F' ? gate[0] - 'A' : -1; }

Value merge_patch(const Value& target, const Value& patch, json::Arena& arena) {
  if (!patch.is_object()) return patch;
  json::ObjectBuilder out(arena);
  for (const json::Member& member : patch.members()) {
    if (member.value.is_null()) continue;
    const Value* old = target.find(member.key);
    out.add(member.key, merge_patch(old == nullptr ? Value() : *old, member.value, arena));
  }
  if (target.is_object()) {
    for (const json::Member& member : target.members()) {
      if (patch.find(member.key) == nullptr) out.add(member.key, member.value);
    }
  }
  return out.build();
}

std::string status_of(const State& state) {
  json::Parser parser;
  const auto manifest = parser.parse_stored(state.manifest);
  return manifest.ok() ? std::string(manifest->text_or("status", "created")) : "created";
}

namespace {

std::optional<double> number(const Value* limits, std::string_view key) {
  const Value* value = limits == nullptr ? nullptr : limits->find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_integer()) return static_cast<double>(value->integer());
  if (value->kind() == json::Kind::real) return value->real();
  return std::nullopt;
}

}  // namespace

Limits limits_of(const Value& manifest) {
  const Value* given = manifest.find("limits");
  Limits out;
  const auto whole = [&](std::string_view key, std::int64_t& into) {
    if (const auto value = number(given, key)) into = static_cast<std::int64_t>(std::floor(*value));
  };
  whole("max_wave1_agents", out.max_wave1_agents);
  whole("max_wave2_agents", out.max_wave2_agents);
  whole("max_review_iterations", out.max_review_iterations);
  out.max_summary_kb = number(given, "max_summary_kb").value_or(out.max_summary_kb);
  out.max_total_summary_kb = number(given, "max_total_summary_kb").value_or(out.max_total_summary_kb);
  out.pack_json_kb = number(given, "max_pack_json_kb");
  out.synthesis_input_kb = number(given, "max_synthesis_input_kb");
  out.min_wave_rate = number(given, "min_wave_rate").value_or(out.min_wave_rate);
  return out;
}

State::State() = default;
State::State(const State&) = default;
State::State(State&&) noexcept = default;
State& State::operator=(const State&) = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

}  // namespace weir::research
