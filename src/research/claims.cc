#include "research/claims.h"

#include <algorithm>

#include "base/utf8.h"
#include "research/t_order.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

// In T-order, each once.
void make_distinct(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end(), TLess());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

// White space collapsed, none at the ends and none before a stop.
std::string tidy(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool gap = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && text[at] > ' ' && text[at] < 0x7F) ++at;  // a word at once
    if (at == begin) {
      const auto c = text[at] == ' ' ? std::optional<char32_t>(text[at++]) : decode_utf8(text, at);
      if (c && is_blank_char(*c)) {
        gap = true;
        continue;
      }
    }
    const bool stop = std::string_view(".,;:!?").find(text[begin]) != std::string_view::npos;
    if (gap && !stop && !out.empty()) out += ' ';
    gap = false;
    out.append(text.substr(begin, at - begin));
  }
  return out;
}

// A unit's marks, handed out piece by piece from left to right.
class PieceReader {
 public:
  PieceReader(std::string_view text, const Marks& marks) : text_(text), marks_(marks) {}

  // The claim that [begin, end) of the text makes; nothing if it cites nothing.
  std::optional<FoundClaim> read(std::size_t begin, std::size_t end) {
    FoundClaim found;
    std::string words;
    std::size_t said = begin;
    const auto leave_out = [&](std::size_t from, std::size_t to) {
      words.append(text_.substr(said, from - said));
      said = std::min(to, end);
    };
    for (;;) {
      const bool mention = mention_ < marks_.mentions.size() && marks_.mentions[mention_].begin < end;
      const bool confidence = confidence_ < marks_.confidences.size() && marks_.confidences[confidence_].begin < end;
      if (!mention && !confidence) break;
      if (mention && (!confidence || marks_.mentions[mention_].begin < marks_.confidences[confidence_].begin)) {
        const Mention& one = marks_.mentions[mention_++];
        leave_out(one.begin, one.end);
        found.claim.cids.insert(found.claim.cids.end(), one.ids.begin(), one.ids.end());
      } else {
        const ConfidenceMark& one = marks_.confidences[confidence_++];
        leave_out(one.begin, one.end);
        take_confidence(found.claim, one);
      }
    }
    if (found.claim.cids.empty()) return std::nullopt;
    words.append(text_.substr(said, end - said));
    found.claim.claim = tidy(words);
    make_distinct(found.claim.cids);
    for (Number& number : find_numbers(text_.substr(begin, end - begin))) found.numbers.push_back(std::move(number.normal));
    return found;
  }

 private:
  static void take_confidence(Claim& claim, const ConfidenceMark& mark) {
    if (claim.confidence_given || !mark.value) return;
    claim.confidence = *mark.value;
    claim.confidence_given = true;
  }

  std::string_view text_;
  const Marks& marks_;
  std::size_t mention_ = 0, confidence_ = 0;
};

// The pieces of a unit that may each be a claim, as ends in its text.
std::vector<std::size_t> piece_ends(const std::vector<Line>& lines, const Unit& unit, const Marks& marks) {
  if (unit.kind == UnitKind::paragraph) return sentence_ends(unit.text, marks);
  std::vector<std::size_t> ends;
  if (unit.kind == UnitKind::item) ends.push_back(unit.text.size());
  if (unit.kind == UnitKind::table) {
    std::size_t end = 0;
    for (std::size_t i = unit.first; i <= unit.last; ++i) {
      end += lines[i].text.size();
      ends.push_back(end++);
    }
  }
  return ends;
}

std::size_t skip_blanks(std::string_view text, std::size_t from) {
  const std::string_view rest = trimmed(text.substr(from));
  return rest.empty() ? text.size() : static_cast<std::size_t>(rest.data() - text.data());
}

void add_unit(const std::vector<Line>& lines, const Unit& unit, const Marks& marks, Claims& claims) {
  PieceReader reader(unit.text, marks);
  UnitPlaces places(lines, unit);
  std::size_t begin = unit.kind == UnitKind::item ? item_marker(unit.text) : 0;
  for (const std::size_t end : piece_ends(lines, unit, marks)) {
    if (auto found = reader.read(begin, end)) {
      found->claim.line = places.at(skip_blanks(std::string_view(unit.text).substr(0, end), begin)).line + 1;
      if (unit.kind == UnitKind::item) found->claim.line = unit.first + 1;
      if (found->claim.claim.empty()) {
        claims.without_words = true;
      } else {
        claims.found.push_back(*std::move(found));
      }
    }
    begin = end;
  }
}

}  // namespace

Claims claims_of(const std::vector<Line>& lines, const std::vector<Unit>& units) {
  Claims claims;
  for (const Unit& unit : units) {
    const Marks marks = marks_in(unit.text);
    claims.malformed += marks.malformed;
    for (const Mention& mention : marks.mentions) claims.mentioned.insert(claims.mentioned.end(), mention.ids.begin(), mention.ids.end());
    if (unit.kind == UnitKind::heading || unit.kind == UnitKind::fence) continue;
    UnitPlaces places(lines, unit);
    for (const ConfidenceMark& mark : marks.confidences) {
      if (!mark.value) claims.bad_confidences.push_back({places.at(mark.begin).line + 1, std::string(mark.written)});
    }
    if (!marks.mentions.empty()) add_unit(lines, unit, marks, claims);
  }
  make_distinct(claims.mentioned);
  return claims;
}

}  // namespace weir::research
