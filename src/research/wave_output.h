// An agent's output against the contract of its perspective.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace weir::research {

// What breaks a contract: the error, and in words what the agent is to do about it.
struct Failure {
  Error error;
  std::string note;
};

// Of one code so many are listed: nobody mends more at once, and a text of nothing but mistakes must not cost more than its size.
inline constexpr std::size_t kListed = 1000;
// Code points that a detail or note quotes of a line, a claim or a name.
inline constexpr std::size_t kQuoted = 200;

struct OutputCheck {
  std::int64_t words = 0, sources = 0;
  std::vector<std::string> missing_sections;
  std::vector<Failure> failures;  // in the order of the checks: the first is the error
  std::vector<std::string> warnings;
};

// `contract`: a prompt_contract that can be read. `tool_usage`: as the agent reported it; null if it did not.
OutputCheck check_output(std::string_view text, const json::Value& contract, const json::Value* tool_usage);

struct SourceUrl {
  std::string_view url;   // as it stands in the text
  std::string_view line;  // trimmed
  std::int64_t ordinal;   // which of the section's bullets, from 1
};
// The URLs of the output's sources.
std::vector<SourceUrl> source_urls(std::string_view text, const json::Value& contract);

}  // namespace weir::research
