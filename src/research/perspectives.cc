#include "research/perspectives.h"

#include <algorithm>

namespace weir::research {

using json::Value;

void Perspectives::add(const Value& document, int wave) {
  const Value* list = document.find("perspectives");
  if (list == nullptr) return;
  for (const Value& item : list->items()) {
    Perspective one{item.text_or("id", ""), item.text_or("title", ""), item.text_or("agent_type", ""), wave, {}, {}};
    if (const Value* contract = item.find("prompt_contract")) one.contract = *contract;
    one.source_artifact = item.text_or("source_artifact", "");
    if (one.source_artifact.empty()) one.source_artifact = output_path(wave, one.id);
    const auto at =
        std::upper_bound(by_id_.begin(), by_id_.end(), one.id, [](std::string_view id, const auto& have) { return id < have.first; });
    by_id_.insert(at, {one.id, all_.size()});
    all_.push_back(std::move(one));
  }
}

const Perspective* Perspectives::find(std::string_view id) const {
  const auto at =
      std::lower_bound(by_id_.begin(), by_id_.end(), id, [](const auto& have, std::string_view wanted) { return have.first < wanted; });
  return at == by_id_.end() || at->first != id ? nullptr : &all_[at->second];
}

bool Perspectives::has_wave(int wave) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Perspective& one) { return one.wave == wave; });
}

std::string folded_id(std::string_view id) {
  std::string out(id);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

std::string output_path(int wave, std::string_view id) { return (wave == 2 ? "wave-2/" : "wave-1/") + std::string(id) + ".md"; }
std::string output_meta_path(int wave, std::string_view id) { return (wave == 2 ? "wave-2/" : "wave-1/") + std::string(id) + ".meta.json"; }
std::string summary_path(std::string_view id) { return "summaries/" + std::string(id) + ".md"; }
std::string perspectives_path(int wave) { return wave == 2 ? "wave-2/wave2-perspectives.json" : "perspectives.json"; }

}  // namespace weir::research
