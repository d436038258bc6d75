#include "testing/upstream_cases.h"

#include <fstream>
#include <stdexcept>

#include "testing/results.h"
#include "testing/source_dir.h"

namespace weir::testing {

const json::Value& UpstreamCase::at(std::string_view path) const {
  static const json::Value kNothing;
  const json::Value* found = &line;
  for (std::size_t begin = 0; begin <= path.size() && found != nullptr;) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    found = found->find(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return found == nullptr ? kNothing : *found;
}

std::vector<UpstreamCase> upstream_cases(std::string_view family, std::string_view run_root) {
  const std::string path = source_dir() + "/tests/data/research-cases/" + std::string(family) + ".jsonl";
  std::ifstream file(path, std::ios::binary);
  std::vector<UpstreamCase> cases;
  for (std::string text; std::getline(file, text);) {
    for (std::size_t at = 0; (at = text.find("$RUN", at)) != std::string::npos; at += run_root.size()) text.replace(at, 4, run_root);
    auto parser = std::make_shared<json::Parser>();
    const json::Value line = must(parser->parse(text));
    cases.push_back({std::string(line.text_or("id", "")), line, std::move(parser)});
  }
  if (cases.empty()) throw std::runtime_error("no cases in " + path);
  return cases;
}

}  // namespace weir::testing
