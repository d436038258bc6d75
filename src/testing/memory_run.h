// A research run without disk and log: its files in a map, and a state that knows of them what a log would.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "json/parse.h"
#include "research/gates.h"
#include "research/pack.h"
#include "testing/upstream_cases.h"

namespace weir::testing {

class MemoryRun : public research::RunFiles, public research::Contents {
 public:
  using Files = std::map<std::string, std::string, std::less<>>;

  // `files` by path: manifest.json, perspectives.json and citations/citations.jsonl are read, if they are there.
  explicit MemoryRun(Files files);

  // The log holds the files of these: every wave-N/<id>.md as an accepted output, every summaries/<id>.md, this pack.
  void log_outputs();
  void log_summaries();
  void log_pack(const json::Value& pack, std::string_view generated_at);

  research::PackInputs pack_inputs() { return {state, limits, perspectives, pool, *this}; }
  research::GateInputs gate_inputs() { return {state, limits, perspectives, pool, *this, *this}; }

  Result<research::RunFile> read(const std::string& path) override;
  Result<json::Value> member(Seq entry, std::string_view path, json::Arena& arena) override;
  Result<std::shared_ptr<const research::State>> state_at(Seq entry) override;

  Files files;
  research::State state;
  research::Limits limits;
  research::Perspectives perspectives;
  research::Pool pool;

 private:
  json::Parser perspectives_text_;  // what the perspectives point into
  std::string pack_;                // canonical
};

// The files of a recorded case.
MemoryRun::Files case_files(const UpstreamCase& one);

}  // namespace weir::testing
