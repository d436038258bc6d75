#include "ctree/stage_text.h"

#include <algorithm>
#include <charconv>

namespace weir::ctree {
namespace {

using json::Domain;

constexpr std::size_t kMarkEvery = 256, kBlock = std::size_t{32} << 10;

constexpr auto kHexPairs = [] {
  struct {
    char of[256][2]{};
  } table;
  constexpr char kDigits[] = "0123456789abcdef";
  for (int i = 0; i < 256; ++i) table.of[i][0] = kDigits[i >> 4], table.of[i][1] = kDigits[i & 15];
  return table;
}();

std::uint64_t length(const StagePart& part, bool elided) {
  if (part.list == nullptr) return part.text.size();
  return part.text.size() + (elided ? part.list->shown(true).size() : part.list->bytes);
}

}  // namespace

void write_quoted(const Digest& digest, std::string& out) {
  const std::size_t at = out.size();
  out.resize(at + 66);
  char* p = out.data() + at;
  *p++ = '"';
  for (const char c : digest.bytes()) {
    const char* pair = kHexPairs.of[static_cast<unsigned char>(c)];
    *p++ = pair[0];
    *p++ = pair[1];
  }
  *p = '"';
}

void write_number(std::uint64_t number, std::string& out) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

void write_turn(std::int64_t turn, std::string& out) { out += turn == kNoTurn ? "null" : std::to_string(turn); }

ListText write_list(const StageList& list, std::vector<Sha256*> hashes, std::uint64_t most, const json::Hasher& hasher) {
  ListText out;
  out.count = list.count;
  Sha256 own = hasher.begin(Domain::list);
  hashes.push_back(&own);
  std::size_t from = 0;
  ListMemo* const memo = list.memo;
  // The text of what is skipped is not there, so only a list too long to be shown is taken up in its middle.
  if (memo != nullptr && !memo->marks.empty()) {
    const std::size_t mark = std::min(list.same / kMarkEvery, memo->marks.size() - 1);
    if (const ListMemo::Mark& saved = memo->marks[mark]; mark > 0 && saved.bytes > most && saved.hashes.size() == hashes.size()) {
      for (std::size_t i = 0; i < hashes.size(); ++i) *hashes[i] = saved.hashes[i];
      out.bytes = saved.bytes;
      from = mark * kMarkEvery;
    }
    memo->marks.resize(std::min(memo->marks.size(), from / kMarkEvery));
  }
  out.whole = from == 0;
  std::string block;
  const auto flush = [&] {
    for (Sha256* hash : hashes) hash->update(block);
    out.bytes += block.size();
    if (out.whole) out.text += block;
    if (out.bytes > most) {
      out.whole = false;
      out.text.clear();
      out.text.shrink_to_fit();
    }
    block.clear();
  };
  for (std::size_t i = from; i < list.count; ++i) {
    if (i % kMarkEvery == 0 && memo != nullptr) {
      flush();
      ListMemo::Mark mark{{}, out.bytes};
      for (const Sha256* hash : hashes) mark.hashes.push_back(*hash);
      memo->marks.push_back(std::move(mark));
    }
    block += i == 0 ? '[' : ',';
    list.item(i, block);
    if (block.size() >= kBlock) flush();
  }
  block += list.count == 0 ? "[]" : "]";
  flush();
  out.sha256 = hasher.finish(own);
  return out;
}

std::string ListText::shown(bool elided) const {
  if (!elided) return text;
  std::string out = "{\"count\":";
  write_number(count, out);
  out += ",\"elided\":true,\"sha256\":";
  write_quoted(sha256, out);
  out += '}';
  return out;
}

std::string shown_stage(const std::vector<StagePart>& parts, std::uint64_t most) {
  std::vector<bool> elided(parts.size());
  const auto total = [&] {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) sum += length(parts[i], elided[i]);
    return sum;
  };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].list != nullptr) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return parts[a].rank < parts[b].rank; });
  for (auto it = order.begin(); it != order.end() && total() > most; ++it) elided[*it] = true;
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out += parts[i].text;
    if (parts[i].list != nullptr) out += parts[i].list->shown(elided[i] || !parts[i].list->whole);
  }
  return out;
}

}  // namespace weir::ctree
