// Recorded answers of the tool Weir's research runs follow: the lines of a file in tests/data/research-cases/.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/parse.h"

namespace weir::testing {

struct UpstreamCase {
  std::string id;
  json::Value line;                      // the whole of it
  std::shared_ptr<json::Parser> parser;  // keeps it alive

  const json::Value& at(std::string_view path) const;  // "result.error.code"; null if it is not there
  bool same() const { return line.text_or("weir", "") == "same"; }
};

// `run_root` stands for `$RUN`. Throws if there is no such file or nothing in it.
std::vector<UpstreamCase> upstream_cases(std::string_view family, std::string_view run_root = "/run/root");

}  // namespace weir::testing
