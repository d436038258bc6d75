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

std::uint64_t length(const StagePart& part, bool elided, const json::Hasher& hasher) {
  if (part.list == nullptr) return part.text.size();
  return part.text.size() + (elided ? part.list->shown(true, hasher).size() : part.list->bytes);
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

namespace {

// A list on its way into several hashes. Up to its limit it is kept as text; from there on only hashed, with the list's own
// hash among the others.
class ListWriter {
 public:
  ListWriter(const StageList& list, std::vector<Sha256*> hashes, std::uint64_t most, const json::Hasher& hasher)
      : list_(list), hashes_(std::move(hashes)), most_(most), hasher_(hasher), own_(hasher.begin(Domain::list)) {
    out_.count = list.count;
    out_.whole = true;
  }

  ListText run() {
    std::size_t i = take_up();
    for (; i < list_.count; ++i) {
      if (i % kMarkEvery == 0 && list_.memo != nullptr) mark();
      block_ += i == 0 ? '[' : ',';
      list_.item(i, block_);
      if (block_.size() >= kBlock) flush();
    }
    block_ += list_.count == 0 ? "[]" : "]";
    flush();
    if (!out_.whole) out_.sha256 = hasher_.finish(own_);
    return std::move(out_);
  }

 private:
  // The text of what is skipped is not there, so only a list too long to be shown is taken up in its middle.
  std::size_t take_up() {
    ListMemo* const memo = list_.memo;
    if (memo == nullptr || memo->marks.empty()) return 0;
    std::size_t from = 0;
    const std::size_t mark = std::min(list_.same / kMarkEvery, memo->marks.size() - 1);
    if (const ListMemo::Mark& saved = memo->marks[mark]; mark > 0 && saved.bytes > most_ && saved.hashes.size() == hashes_.size() + 1) {
      for (std::size_t i = 0; i < hashes_.size(); ++i) *hashes_[i] = saved.hashes[i];
      own_ = saved.hashes.back();
      out_.bytes = saved.bytes;
      out_.whole = false;
      hashes_.push_back(&own_);
      from = mark * kMarkEvery;
    }
    memo->marks.resize(from / kMarkEvery);
    return from;
  }

  void flush() {
    for (Sha256* hash : hashes_) hash->update(block_);
    out_.bytes += block_.size();
    if (out_.whole) out_.text += block_;
    block_.clear();
    if (!out_.whole || out_.bytes <= most_) return;
    out_.whole = false;
    own_.update(out_.text);
    out_.text = {};
    hashes_.push_back(&own_);
  }

  void mark() {
    flush();
    ListMemo::Mark mark{{}, out_.bytes};
    for (const Sha256* hash : hashes_) mark.hashes.push_back(*hash);
    list_.memo->marks.push_back(std::move(mark));
  }

  const StageList& list_;
  std::vector<Sha256*> hashes_;
  const std::uint64_t most_;
  const json::Hasher& hasher_;
  Sha256 own_;
  std::string block_;
  ListText out_;
};

}  // namespace

ListText write_list(const StageList& list, std::vector<Sha256*> hashes, std::uint64_t most, const json::Hasher& hasher) {
  return ListWriter(list, std::move(hashes), most, hasher).run();
}

std::string ListText::shown(bool elided, const json::Hasher& hasher) const {
  if (!elided) return text;
  std::string out = "{\"count\":";
  write_number(count, out);
  out += ",\"elided\":true,\"sha256\":";
  write_quoted(whole ? hasher.text(Domain::list, text) : sha256, out);
  out += '}';
  return out;
}

std::string shown_stage(const std::vector<StagePart>& parts, std::uint64_t most, const json::Hasher& hasher) {
  std::vector<bool> elided(parts.size());
  const auto total = [&] {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) sum += length(parts[i], elided[i], hasher);
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
    if (parts[i].list != nullptr) out += parts[i].list->shown(elided[i] || !parts[i].list->whole, hasher);
  }
  return out;
}

}  // namespace weir::ctree
