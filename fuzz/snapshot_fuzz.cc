// Any JSON as entries of a run, and any bytes as a snapshot: the fold, the builder, the validator and the narrative answer,
// and never differ from themselves: folded step by step or loaded in the middle.
#include <string>

#include "compaction/narrative.h"
#include "compaction/run_fold.h"
#include "compaction/snapshot.h"
#include "compaction/trigger.h"
#include "compaction/validate.h"
#include "entries.h"
#include "fuzz.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace weir {
namespace {

using compaction::RunFold;
using compaction::RunState;
using json::Value;

compaction::LogFacts facts_of(const std::vector<Entry>& entries, const std::shared_ptr<const RunState>& state) {
  compaction::LogFacts facts;
  facts.session = "s";
  facts.entries = entries.size();
  facts.cut = entries.back().digest;
  facts.cut_type = entries.back().type;
  facts.state = state;
  facts.chunk_bytes = [](const RunState&, const std::string&) { return std::optional<std::string>(); };
  return facts;
}

void check_built(const std::vector<Entry>& entries, const std::shared_ptr<const RunState>& state) {
  json::Arena arena;
  const std::vector<compaction::Pin> pins;
  const Value hashed = compaction::build({*state, entries.back().digest, pins, nullptr, compaction::Trigger::manual}, arena);
  const std::string id = compaction::snapshot_id(hashed);
  const Value stored = compaction::stored_form(hashed, id, compaction::Verdict().to_json(compaction::Action::none, arena), arena);
  const Value shown = compaction::shown_form(stored, {"s", "2026-01-01T00:00:00.000Z", *state->first, *state->cut}, arena);
  fuzz::expect_equal("the hashed form of the shown one", json::canonical(compaction::hashed_form(shown, arena)), json::canonical(hashed));
  compaction::Candidate candidate(json::canonical(shown));
  const compaction::Verdict verdict = compaction::validate(candidate, facts_of(entries, state)).value();
  // What Weir builds has its keys and types, its own id, and is what a replay gives, whatever the log holds.
  for (const compaction::Check& check : verdict.checks) {
    const bool own =
        check.name == "schema_keys_and_types" || check.name == "snapshot_id_deterministic" || check.name == "deltas_match_previous";
    if (own && !check.pass && state->accepted.empty()) fuzz::expect_equal(check.name.data(), check.message, "PASS");
  }
  const auto whole = compaction::narrative(stored, 0);
  if (!whole.ok()) fuzz::expect_equal("a narrative without a bound", whole.error().message(), "");
  const auto bound = compaction::narrative_or_shortest(stored, 600);
  if (bound.text.size() > bound.max_bytes) fuzz::expect_equal("a bound narrative is longer than its bound", bound.text, "");
}

void check(std::string_view text) {
  compaction::Candidate candidate(text);
  compaction::LogFacts nowhere;
  nowhere.session_found = false;
  (void)compaction::validate(candidate, nowhere);
  json::Parser parser;
  const auto input = parser.parse(text);
  if (!input.ok()) return;
  (void)compaction::narrative_or_shortest(*input, 500);
  const Value* list = input->find("entries");
  if (list == nullptr) return;
  const std::vector<Entry> entries = fuzz::entries_of(*list);
  if (entries.empty()) return;
  RunState state;
  for (const Entry& entry : entries) {
    if (!RunFold::step(state, entry).ok()) return;
  }
  RunState halfway;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i == entries.size() / 2) halfway = RunFold::load(RunFold::save(halfway)).value();
    (void)RunFold::step(halfway, entries[i]);
  }
  const auto shared = std::make_shared<const RunState>(state);
  json::Arena arena;
  fuzz::expect_equal("due after loading in the middle", json::canonical(compaction::due_json(state, state.thresholds, arena)),
                     json::canonical(compaction::due_json(halfway, halfway.thresholds, arena)));
  if (const Value* snapshot = input->find("snapshot")) {
    compaction::Candidate other(json::canonical(*snapshot));
    (void)compaction::validate(other, facts_of(entries, shared));
  }
  if (state.run != nullptr || state.has_request()) check_built(entries, shared);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::check(weir::fuzz::text_of(data, size));
  return 0;
}
