// The perspectives of a run, both waves, out of documents that can be read.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace weir::research {

struct Perspective {
  std::string_view id, title, agent_type;
  int wave = 1;
  json::Value contract;
  std::string source_artifact;  // the document's own, else wave-N/<id>.md
};

class Perspectives {
 public:
  // `document`: of that wave, checked already. It must outlive this.
  void add(const json::Value& document, int wave);

  const std::vector<Perspective>& all() const { return all_; }  // in file order
  const Perspective* find(std::string_view id) const;
  bool has_wave(int wave) const;

 private:
  std::vector<Perspective> all_;
  std::vector<std::pair<std::string_view, std::size_t>> by_id_;  // sorted
};

// Equal for ids that differ in case alone.
std::string folded_id(std::string_view id);

std::string output_path(int wave, std::string_view id);
std::string output_meta_path(int wave, std::string_view id);
std::string summary_path(std::string_view id);
std::string perspectives_path(int wave);

}  // namespace weir::research
