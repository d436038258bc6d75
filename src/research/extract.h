// The URLs of all accepted outputs, and the four files that list them for people and tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "research/perspectives.h"
#include "research/url.h"

namespace weir::research {

struct OutputText {
  const Perspective* perspective;
  std::string text;
};

struct Extraction {
  struct Found {
    const Perspective* perspective;
    CitedUrl url;
    std::string line;
    std::int64_t ordinal;
  };
  struct Rejected {
    const Perspective* perspective;
    std::string url;
  };
  // Wave 1 before wave 2, outputs in T-order of id, as they stand in the text. What a bullet says twice it says once.
  std::vector<Found> found;
  std::vector<Rejected> rejected;

  std::vector<std::string> shown() const;   // distinct, T-order
  std::vector<std::string> normal() const;  // distinct, T-order
};
Extraction extract(const std::vector<OutputText>& outputs);

std::string url_lines(const std::vector<std::string>& urls);
json::Value found_by_value(const Extraction& extraction, std::string_view run_id, json::Arena& arena);
json::Value url_map_value(const Extraction& extraction, std::string_view run_id, json::Arena& arena);

}  // namespace weir::research
