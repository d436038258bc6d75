#include "research/wave_output.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "base/utf8.h"
#include "json/canonical.h"
#include "json/error_value.h"
#include "research/letters.h"
#include "research/markdown.h"
#include "research/schema_kit.h"
#include "research/url.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

std::string quoted(std::string_view text) { return std::string(utf8_prefix(text, kQuoted)); }

// As agents report it: also digits in a string.
std::optional<double> reported_number(const json::Value& value) {
  if (!value.is_string()) return number_of(value);
  const std::string_view digits = value.text();
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  double number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

bool usable(const std::optional<double>& number) { return number && std::isfinite(*number) && *number >= 0; }

std::string written(double number) {
  std::string out;
  json::write_number(number, out);
  return out;
}

DetailValue number_detail(double number) {
  if (std::floor(number) == number && std::abs(number) < 9007199254740992.0) return static_cast<std::int64_t>(number);
  return number;
}

double limit_of(const json::Value& contract, std::string_view name) {
  const json::Value* limit = contract.find(name);
  return limit == nullptr ? 0 : number_of(*limit).value_or(0);
}

std::vector<std::string_view> required_sections(const json::Value& contract) {
  std::vector<std::string_view> names;
  const json::Value* sections = contract.find("must_include_sections");
  if (sections == nullptr) return names;
  for (const json::Value& section : sections->items()) {
    if (section.is_string()) names.push_back(trimmed(section.text()));
  }
  return names;
}

bool names_sources(std::string_view section) {
  constexpr std::string_view kSources = "sources";
  if (section.size() != kSources.size()) return false;
  for (std::size_t i = 0; i < section.size(); ++i) {
    if ((section[i] | 0x20) != kSources[i]) return false;
  }
  return true;
}

// The lines of the sources as [first, end), behind their heading.
struct Section {
  std::size_t first, end;
};

std::optional<Section> sources_section(const std::vector<Line>& lines, std::string_view name, Case letters) {
  const std::size_t heading = find_section(lines, name, letters);
  if (heading == kNoLine) return std::nullopt;
  Section section{heading + 1, heading + 1};
  while (section.end < lines.size() && !is_heading(lines[section.end])) ++section.end;
  return section;
}

std::optional<std::string_view> named_sources(const json::Value& contract) {
  for (const std::string_view name : required_sections(contract)) {
    if (names_sources(name)) return name;
  }
  return std::nullopt;
}

// `-`, `*`, `+` or a number and a full stop, then white space. Of a trimmed line.
bool is_bullet(std::string_view line) {
  std::size_t at = 0;
  if (line.starts_with('-') || line.starts_with('*') || line.starts_with('+')) {
    at = 1;
  } else {
    while (at < line.size() && is_digit(static_cast<unsigned char>(line[at]))) ++at;
    if (at == 0 || at == line.size() || line[at] != '.') return false;
    ++at;
  }
  if (at == line.size()) return false;
  const auto next = decode_utf8(line, at);
  return next && is_blank_char(*next);
}

bool has_url(std::string_view line) {
  return line.find("http://") != std::string_view::npos || line.find("https://") != std::string_view::npos;
}

class OutputChecker {
 public:
  OutputChecker(std::string_view text, const json::Value& contract) : text_(text), contract_(contract), lines_(lines_of(text)) {}

  OutputCheck run(const json::Value* tool_usage) && {
    check_budget();
    check_sections();
    check_words();
    check_sources();
    check_usage(tool_usage);
    return std::move(check_);
  }

 private:
  void fail(Error error, std::string note) { check_.failures.push_back({std::move(error), std::move(note)}); }

  void check_budget() {
    const json::Value* budget = contract_.find("tool_budget");
    if (budget == nullptr) return;
    for (const json::Member& tool : budget->members()) {
      if (usable(number_of(tool.value))) continue;
      fail(Error(ErrorCode::INVALID_TOOL_BUDGET, "prompt_contract.tool_budget entries must be non-negative numbers")
               .with("tool", std::string(tool.key))
               .with("limit", json::json_detail(tool.value)),
           fmt::format("The tool budget of {} must be a number from 0", quoted(tool.key)));
    }
  }

  void check_sections() {
    for (const std::string_view name : required_sections(contract_)) {
      if (find_section(lines_, name) == kNoLine) check_.missing_sections.emplace_back(name);
    }
    if (check_.missing_sections.empty()) return;
    std::vector<json::Value> missing(check_.missing_sections.begin(), check_.missing_sections.end());
    fail(Error(ErrorCode::MISSING_REQUIRED_SECTION, "Missing section: " + check_.missing_sections.front())
             .with("section", check_.missing_sections.front())
             .with("missing_sections", json::json_detail(json::Value::array(missing))),
         fmt::format("Add the missing section(s): {}", fmt::join(check_.missing_sections, ", ")));
  }

  void check_words() {
    check_.words = count_words(text_);
    const double most = limit_of(contract_, "max_words"), excess = static_cast<double>(check_.words) - most;
    if (excess <= 0) return;
    fail(Error(ErrorCode::TOO_MANY_WORDS, "word count exceeds max_words")
             .with("max_words", number_detail(most))
             .with("words", check_.words)
             .with("excess", number_detail(excess)),
         fmt::format("Use at most {} words; this has {} ({} too many)", written(most), check_.words, written(excess)));
  }

  void check_sources() {
    const auto name = named_sources(contract_);
    if (!name) return;
    const auto section = sources_section(lines_, *name, Case::exact);
    if (!section) return;  // said by check_sections
    std::int64_t entries = 0;
    std::size_t malformed = 0;
    std::set<std::string_view> seen;
    std::set<std::string, std::less<>> distinct;
    for (std::size_t i = section->first; i < section->end; ++i) {
      const std::string_view line = trimmed(lines_[i].text);
      if (line.empty()) continue;
      if (is_bullet(line) && has_url(line)) {
        ++entries;
      } else if (malformed++ < kListed) {
        malformed_source(line, i + 1, is_bullet(line) ? "MISSING_URL" : "NOT_BULLET");
      }
      for (const std::string_view url : urls_in(line)) {
        if (!seen.insert(url).second) continue;
        if (auto cited = normalise_url(url); cited.ok()) distinct.insert(std::move(cited->normal));
      }
    }
    check_.sources = std::max(entries, static_cast<std::int64_t>(distinct.size()));
    if (check_.sources == 0) check_.warnings.emplace_back("SOURCES_EMPTY");
    too_many_sources();
  }

  void malformed_source(std::string_view line, std::size_t number, const char* reason) {
    fail(Error(ErrorCode::MALFORMED_SOURCES, "sources section has malformed entries")
             .with("line", quoted(line))
             .with("line_number", static_cast<std::int64_t>(number))
             .with("reason", reason),
         fmt::format("Sources line {} is not a bullet with a URL", number));
  }

  void too_many_sources() {
    const double most = limit_of(contract_, "max_sources");
    if (static_cast<double>(check_.sources) <= most) return;
    fail(Error(ErrorCode::TOO_MANY_SOURCES, "sources exceed max_sources")
             .with("max_sources", number_detail(most))
             .with("sources", check_.sources),
         fmt::format("Keep at most {} sources; found {}", written(most), check_.sources));
  }

  void check_usage(const json::Value* usage) {
    if (usage == nullptr || usage->is_null()) {
      check_.warnings.emplace_back("TOOL_USAGE_MISSING");
      return;
    }
    if (!usage->is_object()) {
      fail(Error(ErrorCode::INVALID_TOOL_USAGE, "tool_usage must be an object").with("recorded", json::json_detail(*usage)),
           "Report tool_usage as an object: tool and number of calls");
      return;
    }
    for (const json::Member& tool : usage->members()) {
      if (usable(reported_number(tool.value))) continue;
      fail(Error(ErrorCode::INVALID_TOOL_USAGE, "tool_usage entries must be non-negative numbers")
               .with("tool", std::string(tool.key))
               .with("recorded", json::json_detail(tool.value)),
           fmt::format("Report the calls of {} as a number from 0", quoted(tool.key)));
    }
    const json::Value* budget = contract_.find("tool_budget");
    bool unbudgeted = false;
    for (const json::Member& tool : usage->members()) {
      const json::Value* limit = budget == nullptr ? nullptr : budget->find(tool.key);
      if (limit == nullptr) unbudgeted = true;
      if (limit != nullptr) check_tool(tool, *limit);
    }
    if (unbudgeted) check_.warnings.emplace_back("UNBUDGETED_TOOL");
  }

  void check_tool(const json::Member& tool, const json::Value& limit) {
    const auto used = reported_number(tool.value), most = number_of(limit);
    if (!usable(used) || !usable(most) || *used <= *most) return;
    const std::string note = fmt::format("{}: {} used, {} allowed", quoted(tool.key), written(*used), written(*most));
    fail(Error(ErrorCode::TOOL_BUDGET_EXCEEDED, note)
             .with("tool", std::string(tool.key))
             .with("limit", number_detail(*most))
             .with("recorded", number_detail(*used)),
         note);
  }

  std::string_view text_;
  const json::Value& contract_;
  std::vector<Line> lines_;
  OutputCheck check_;
};

}  // namespace

OutputCheck check_output(std::string_view text, const json::Value& contract, const json::Value* tool_usage) {
  return OutputChecker(text, contract).run(tool_usage);
}

std::vector<SourceUrl> source_urls(std::string_view text, const json::Value& contract) {
  std::vector<SourceUrl> urls;
  const std::vector<Line> lines = lines_of(text);
  const auto name = named_sources(contract);
  const auto section = name ? sources_section(lines, *name, Case::exact) : sources_section(lines, "sources", Case::any);
  if (!section) return urls;
  std::int64_t bullets = 0;
  for (std::size_t i = section->first; i < section->end; ++i) {
    const std::string_view line = trimmed(lines[i].text);
    if (is_bullet(line)) ++bullets;
    for (const std::string_view url : urls_in(line)) urls.push_back({url, line, std::max<std::int64_t>(bullets, 1)});
  }
  return urls;
}

}  // namespace weir::research
