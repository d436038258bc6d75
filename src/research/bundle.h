// The bundle: one stream of exactly the bytes that synthesis may read, and its index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "research/citations.h"

namespace weir::research {

struct BundlePart {
  std::string name, source;  // source: a path of the run
  std::string_view bytes;
};

struct BundleIndex {
  struct Part {
    std::string name, source, sha256;
    std::uint64_t offset = 0, bytes = 0;
  };
  std::vector<Part> parts;
};

struct Bundle {
  std::string stream, sha256;
  BundleIndex index;
  std::vector<std::string> cids;  // T-order
};

struct BundleSummary {
  std::string_view id, path, text;
};

// `pack_text`: the pack's file without its time. Mentioned cids that are not in the pool are left out.
Bundle make_bundle(std::string_view query, std::string_view pack_text, const std::vector<BundleSummary>& summaries, const Pool& pool);

json::Value parts_value(const BundleIndex& index, json::Arena& arena);

}  // namespace weir::research
