#include "research/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/utf8.h"
#include "json/error_value.h"
#include "research/claims.h"
#include "research/figures.h"
#include "research/markdown.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

constexpr std::string_view kFrame = "<<<weir:";

std::string quoted(std::string_view text) { return std::string(utf8_prefix(text, kQuoted)); }

template <typename Text>
JsonText names_detail(const std::vector<Text>& names) {
  const std::vector<json::Value> values(names.begin(), names.end());
  return json::json_detail(json::Value::array(values));
}

// The numbers of each record's snippet, read once.
class Quotes {
 public:
  explicit Quotes(const Pool& pool) : pool_(pool) {}

  // Nothing if there is no such record or it has no snippet.
  const std::vector<std::string>* of(const std::string& cid) {
    const auto [at, fresh] = read_.try_emplace(cid);
    if (fresh) {
      const Citation* record = pool_.find(cid);
      if (record != nullptr && record->snippet) {
        at->second = numbers_in(*record->snippet);
        std::sort(at->second->begin(), at->second->end());
      }
    }
    return at->second ? &*at->second : nullptr;
  }

 private:
  const Pool& pool_;
  std::map<std::string, std::optional<std::vector<std::string>>> read_;
};

// Numbers of the claim that none of its quotes has; `complete`: every record it cites has a quote.
std::vector<std::string_view> numbers_without_quote(const FoundClaim& found, Quotes& quotes, bool& complete) {
  std::vector<std::string_view> left(found.numbers.begin(), found.numbers.end());
  complete = true;
  for (const std::string& cid : found.claim.cids) {
    const std::vector<std::string>* quote = quotes.of(cid);
    complete &= quote != nullptr;
    if (quote == nullptr) continue;
    std::erase_if(left, [&](std::string_view number) { return std::binary_search(quote->begin(), quote->end(), number, std::less<>()); });
  }
  return left;
}

class SummaryChecker {
 public:
  SummaryChecker(std::string_view text, std::string_view id, const Pool& pool)
      : text_(text), id_(id), pool_(pool), lines_(lines_of(text)) {}

  SummaryCheck run(double max_summary_kb, NumberRule rule) && {
    Claims claims = claims_of(lines_, units_of(lines_));
    check_lines();
    check_cids(claims.mentioned);
    check_confidences(claims);
    check_numbers(claims, rule);
    check_size(max_summary_kb);
    if (claims.malformed > 0) check_.warnings.emplace_back("MALFORMED_MENTION");
    if (claims.without_words) check_.warnings.emplace_back("EMPTY_CLAIM");
    if (claims.found.empty()) check_.warnings.emplace_back("NO_KEY_CLAIMS");
    for (FoundClaim& found : claims.found) check_.claims.push_back(std::move(found.claim));
    check_.mentioned = std::move(claims.mentioned);
    return std::move(check_);
  }

 private:
  Error error(ErrorCode code, std::string message) const {
    return Error(code, std::move(message)).with("perspective_id", std::string(id_));
  }
  void fail(Error error, std::string note) { check_.failures.push_back({std::move(error), std::move(note)}); }

  void check_lines() {
    if (is_blank(text_)) {
      fail(error(ErrorCode::EMPTY_SUMMARY, "the summary is blank: say what the output found"),
           "The summary is blank: say what the output found");
    }
    std::size_t listed = 0;
    for (std::size_t i = 0; i < lines_.size() && listed < kListed; ++i) {
      if (!lines_[i].text.starts_with(kFrame)) continue;
      ++listed;
      fail(error(ErrorCode::RESERVED_LINE, fmt::format("line {} begins with {}, which only the bundle's frame may", i + 1, kFrame))
               .with("line", static_cast<std::int64_t>(i + 1)),
           fmt::format("Begin line {} with something other than {}", i + 1, kFrame));
    }
    listed = 0;
    for (std::size_t i = 0; i < lines_.size() && listed < kListed; ++i) {
      const std::size_t at = find_raw_url(lines_[i].text);
      if (at == std::string_view::npos) continue;
      ++listed;
      fail(error(ErrorCode::RAW_URL_NOT_ALLOWED, fmt::format("a raw URL stands on line {}: cite it as [@cid]", i + 1))
               .with("line", static_cast<std::int64_t>(i + 1)),
           fmt::format("Replace the raw URL on line {} by [@cid]", i + 1));
    }
  }

  void check_cids(const std::vector<std::string>& mentioned) {
    std::vector<std::string> unknown;
    std::copy_if(mentioned.begin(), mentioned.end(), std::back_inserter(unknown),
                 [&](const std::string& cid) { return !pool_.validated(cid); });
    if (unknown.empty()) return;
    fail(error(ErrorCode::UNKNOWN_CID, "summary references cid not present in validated pool")
             .with("cid", unknown.front())
             .with("cids", names_detail(unknown)),
         quoted(fmt::format("Cite only pool ids; unknown: {}", fmt::join(unknown, ", "))));
  }

  void check_confidences(const Claims& claims) {
    for (const auto& [line, written] : claims.bad_confidences) {
      if (full(ErrorCode::INVALID_CONFIDENCE)) return;
      fail(error(ErrorCode::INVALID_CONFIDENCE, fmt::format("the confidence on line {} is not from 0 to 100: {}", line, quoted(written)))
               .with("line", static_cast<std::int64_t>(line))
               .with("value", quoted(written)),
           fmt::format("Give the confidence on line {} as a number from 0 to 100", line));
    }
  }

  void check_numbers(Claims& claims, NumberRule rule) {
    Quotes quotes(pool_);
    bool warned = false;
    for (FoundClaim& found : claims.found) {
      bool complete = false;
      const auto left = numbers_without_quote(found, quotes, complete);
      if (left.empty()) continue;
      found.claim.numbers = complete ? NumberCheck::warned : NumberCheck::unchecked;
      warned |= complete;
      if (complete && rule == NumberRule::refuse) numbers_not_in_quote(found.claim, left);
    }
    if (warned && rule == NumberRule::warn) check_.warnings.emplace_back("NUMBER_NOT_IN_QUOTE");
  }

  // One failure for each of them, in their order.
  void numbers_not_in_quote(const Claim& claim, const std::vector<std::string_view>& left) {
    std::set<std::string_view> said;
    for (const std::string_view number : left) {
      if (full(ErrorCode::NUMBER_NOT_IN_QUOTE)) return;
      if (!said.insert(number).second) continue;
      const std::string say = quoted(fmt::format("{} is not in the quoted evidence of {}", quoted(number), fmt::join(claim.cids, ", ")));
      fail(error(ErrorCode::NUMBER_NOT_IN_QUOTE, say)
               .with("claim", quoted(claim.claim))
               .with("number", quoted(number))
               .with("cids", names_detail(claim.cids))
               .with("line", static_cast<std::int64_t>(claim.line)),
           say);
    }
  }

  void check_size(double max_summary_kb) {
    const std::uint64_t bytes = text_.size(), cap = cap_bytes(max_summary_kb);
    if (bytes <= cap) return;
    fail(error(ErrorCode::SIZE_CAP_EXCEEDED, "summary exceeds max_summary_kb")
             .with("summary_kb", kb_figure(bytes))
             .with("max_summary_kb", max_summary_kb)
             .with("bytes", static_cast<std::int64_t>(bytes))
             .with("cap_bytes", static_cast<std::int64_t>(cap))
             .with("excess_bytes", static_cast<std::int64_t>(bytes - cap)),
         fmt::format("Summary is {} bytes, cap {}: cut at least {} bytes", bytes, cap, bytes - cap));
  }

  // Failures of one code stand together: is the list of them full?
  bool full(ErrorCode code) const {
    const auto& list = check_.failures;
    return list.size() >= kListed && list[list.size() - kListed].error.code() == code;
  }

  std::string_view text_, id_;
  const Pool& pool_;
  std::vector<Line> lines_;
  SummaryCheck check_;
};

}  // namespace

SummaryCheck check_summary(std::string_view text, std::string_view perspective_id, const Pool& pool, double max_summary_kb,
                           NumberRule numbers) {
  return SummaryChecker(text, perspective_id, pool).run(max_summary_kb, numbers);
}

}  // namespace weir::research
