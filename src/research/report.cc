#include "research/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "research/figures.h"
#include "research/markdown.h"
#include "research/t_order.h"
#include "research/wave_output.h"

namespace weir::research {
namespace {

constexpr std::array<std::string_view, 4> kSections = {"Summary", "Key Findings", "Evidence", "Caveats"};

std::string quoted(std::string_view text) { return std::string(utf8_prefix(text, kQuoted)); }

using Numbers = std::set<std::string, std::less<>>;
// All numbers there are to be found in what the report was written from. Snippets count as they are, too: in the bundle they are
// JSON, where an escaped line end stands before a number like a letter.
Numbers input_numbers(std::string_view bundle, const std::vector<std::string>& cids, const Pool& pool) {
  Numbers numbers;
  for (std::string& number : numbers_in(bundle)) numbers.insert(std::move(number));
  for (const std::string& cid : cids) {
    const Citation* record = pool.find(cid);
    if (record == nullptr || !record->snippet) continue;
    for (std::string& number : numbers_in(*record->snippet)) numbers.insert(std::move(number));
  }
  return numbers;
}

class ReportChecker {
 public:
  ReportChecker(std::string_view report, const std::vector<std::string>& bundle_cids, const Pool& pool)
      : lines_(lines_of(report)), bundle_cids_(bundle_cids), pool_(pool) {}

  ReportCheck run(std::string_view bundle) && {
    check_sections();
    const Numbers known = input_numbers(bundle, bundle_cids_, pool_);
    for (const Unit& unit : units_of(lines_)) read_unit(unit, known);
    if (mentions_ == 0) add(ErrorCode::MISSING_CITATIONS, "the report cites nothing: cite the bundle's records as [@cid]");
    for (Error& finding : unknown_) check_.findings.push_back(std::move(finding));
    check_urls();
    for (Error& finding : uncited_) check_.findings.push_back(std::move(finding));
    measure();
    return std::move(check_);
  }

 private:
  void add(ErrorCode code, std::string message) { check_.findings.emplace_back(code, std::move(message)); }

  void check_sections() {
    int present = 0;
    for (const std::string_view section : kSections) {
      if (find_section(lines_, section) != kNoLine) {
        ++present;
        continue;
      }
      check_.findings.push_back(
          Error(ErrorCode::MISSING_REQUIRED_SECTION, fmt::format("Missing section: {}", section)).with("section", std::string(section)));
    }
    check_.sections_present = 100 * present / static_cast<int>(kSections.size());
  }

  bool in_bundle(std::string_view cid) const { return std::binary_search(bundle_cids_.begin(), bundle_cids_.end(), cid, TLess()); }

  void read_unit(const Unit& unit, const Numbers& known) {
    const Mentions mentions = mentions_in(unit.text);
    malformed_ += mentions.malformed;
    bool cites = false;
    UnitPlaces places(lines_, unit);
    for (const Mention& mention : mentions.found) {
      const std::size_t line = places.at(mention.begin).line + 1;
      for (const std::string_view cid : mention.ids) cites |= take_mention(cid, line);
    }
    if (unit.kind != UnitKind::heading && unit.kind != UnitKind::fence) read_numbers(unit, cites, known);
  }

  // Is it one of the bundle?
  bool take_mention(std::string_view cid, std::size_t line) {
    ++mentions_;
    const bool inside = in_bundle(cid);
    const auto [seen, fresh] = seen_.try_emplace(std::string(cid), line);
    if (inside) {
      if (fresh) check_.cited.emplace_back(cid);
    } else if (fresh || std::exchange(seen->second, line) != line) {
      unknown_cid(cid, line);
    }
    return inside;
  }

  void unknown_cid(std::string_view cid, std::size_t line) {
    if (unknown_.size() == kListed) return;
    const bool in_pool = pool_.validated(cid);
    unknown_.push_back(
        Error(ErrorCode::UNKNOWN_CID, fmt::format("line {} cites {}, which {}", line, quoted(cid),
                                                  in_pool ? "is in the pool but not in the bundle" : "no validated record of the run has"))
            .with("cid", std::string(cid))
            .with("line", static_cast<std::int64_t>(line))
            .with("in_pool", in_pool));
  }

  void read_numbers(const Unit& unit, bool cites, const Numbers& known) {
    const std::size_t marker = unit.kind == UnitKind::item ? item_marker(unit.text) : 0;
    UnitPlaces places(lines_, unit);
    for (const Number& number : find_numbers(std::string_view(unit.text).substr(marker))) {
      if (!known.contains(number.normal) && new_numbers_.insert(number.normal).second) ++check_.numbers_not_in_input;
      if (cites) continue;
      if (++check_.uncited_numbers > static_cast<std::int64_t>(kListed)) continue;
      const std::size_t line = places.at(marker + number.begin).line + 1;
      uncited_.push_back(
          Error(ErrorCode::UNCITED_NUMBER,
                fmt::format("{} on line {} has no citation: cite a record of the bundle in the same item, table or paragraph",
                            quoted(number.normal), line))
              .with("number", quoted(number.normal))
              .with("line", static_cast<std::int64_t>(line)));
    }
  }

  void check_urls() {
    std::size_t listed = 0;
    for (std::size_t i = 0; i < lines_.size() && listed < kListed; ++i) {
      if (find_raw_url(lines_[i].text) == std::string_view::npos) continue;
      ++listed;
      check_.findings.push_back(
          Error(ErrorCode::RAW_URL_NOT_ALLOWED, fmt::format("a raw URL stands on line {}: cite its record as [@cid]", i + 1))
              .with("line", static_cast<std::int64_t>(i + 1)));
    }
  }

  void measure() {
    const std::uint64_t used = check_.cited.size(), all = bundle_cids_.size();
    check_.utilization = ratio_figure(used, all);
    check_.duplication = ratio_figure(mentions_ - used, mentions_);
    if (10 * used < 6 * all) check_.warnings.emplace_back("LOW_UTILIZATION");
    if (10 * (mentions_ - used) > 2 * mentions_) check_.warnings.emplace_back("HIGH_DUPLICATION");
    if (check_.numbers_not_in_input > 0) check_.warnings.emplace_back("NUMBER_NOT_IN_INPUT");
    if (malformed_ > 0) check_.warnings.emplace_back("MALFORMED_MENTION");
  }

  std::vector<Line> lines_;
  const std::vector<std::string>& bundle_cids_;
  const Pool& pool_;
  ReportCheck check_;
  std::vector<Error> unknown_, uncited_;                  // findings that come after others
  std::map<std::string, std::size_t, std::less<>> seen_;  // cids, and on which line last
  Numbers new_numbers_;                                   // that the bundle does not have
  std::uint64_t mentions_ = 0;
  std::size_t malformed_ = 0;
};

}  // namespace

ReportCheck check_report(std::string_view report, const std::vector<std::string>& bundle_cids, std::string_view bundle, const Pool& pool) {
  return ReportChecker(report, bundle_cids, pool).run(bundle);
}

}  // namespace weir::research
