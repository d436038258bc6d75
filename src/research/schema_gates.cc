// gates.v1: what each gate said last, by the rules for reading.
#include "research/schema_kit.h"

namespace weir::research {
namespace {

constexpr std::string_view kRequired[] = {"A", "B", "C", "D", "E", "F"};

// Upstream takes every false value of a required gate for a missing one.
bool missing(const Spot& gate) {
  if (!gate.there() || gate.is_null()) return true;
  const json::Value& value = *gate.value();
  return (value.is_boolean() && !value.boolean()) || (gate.is_text() && gate.text().empty()) || gate.number() == 0.0;
}

bool required(std::string_view key) { return std::find(std::begin(kRequired), std::end(kRequired), key) != std::end(kRequired); }

void check_time(const Spot& gate) {
  const Spot time = gate["checked_at"];
  if (!time.need(time.is_null() || time.says(), "gate.checked_at must be string or null")) return;
  time.need(gate["status"].says("not_run") || time.says(), "gate.checked_at required when status != not_run");
}

void check_gate(const Spot& gate, std::string_view key) {
  if (!gate.need(gate.is_object(), "gate must be object")) return;
  gate["id"].need(gate["id"].says(key), "gate.id must match key");
  gate["name"].need(gate["name"].says(), "gate.name missing");
  gate["class"].need(gate["class"].one_of({"hard", "soft"}), "gate.class invalid");
  const Spot status = gate["status"];
  const bool warns = status.says("warn") && !gate["class"].says("hard");
  status.need(warns || status.one_of({"not_run", "pass", "fail"}), "gate.status invalid");
  check_time(gate);
  gate["metrics"].need(gate["metrics"].is_object(), "gate.metrics must be object");
  gate["artifacts"].need(gate["artifacts"].all_text(), "gate.artifacts must be string[]");
  gate["warnings"].need(gate["warnings"].all_text(), "gate.warnings must be string[]");
  gate["notes"].need(gate["notes"].is_text(), "gate.notes must be string");
}

// What Weir added comes last: what upstream would say stands before it.
void check_added(const Spot& gate) {
  const Spot checks = gate["checks"], reasons = gate["reasons"], digest = gate["inputs_digest"];
  checks.need(!checks.there() || checks.is_null() || checks.is_object(), "gate.checks invalid");
  reasons.need(!reasons.there() || reasons.all_text(), "gate.reasons invalid");
  digest.need(!digest.there() || digest.is_null() || digest.says(), "gate.inputs_digest invalid");
}

}  // namespace

void check_gates(const json::Value& document, SchemaErrors& errors) {
  const Spot root(&document, "$", errors);
  if (!root.need(root.is_object(), "gates must be an object")) return;
  root["schema_version"].need(root["schema_version"].says("gates.v1"), "gates.schema_version must be gates.v1");
  root["run_id"].need(root["run_id"].says(), "gates.run_id missing");
  root["revision"].need(root["revision"].integer_from(1), "gates.revision invalid");
  root["updated_at"].need(root["updated_at"].says(), "gates.updated_at missing");
  root["inputs_digest"].need(root["inputs_digest"].says(), "gates.inputs_digest missing");
  const Spot gates = root["gates"];
  if (!gates.need(gates.is_object(), "gates.gates missing")) return;
  for (const std::string_view key : kRequired) gates[key].need(!missing(gates[key]), "missing required gate");
  for (const json::Member& member : gates.value()->members()) {
    const Spot gate = gates.named(member);
    if (!required(member.key) || !missing(gate)) check_gate(gate, member.key);
  }
  for (const json::Member& member : gates.value()->members()) {
    if (member.value.is_object()) check_added(gates.named(member));
  }
}

}  // namespace weir::research
