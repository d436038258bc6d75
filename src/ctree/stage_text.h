// The canonical text of a stage, hashed as it is written. A stage is text with lists in it; lists may be long, so a stage
// over its limit is hashed whole, shown with its lists elided, and never held whole in memory. What was hashed up to a list
// item is remembered, so that a list which only grew is not hashed again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/sha256.h"
#include "ctree/node.h"
#include "json/digest.h"

namespace weir::ctree {

// Lower-case hex of a digest, with its quotes.
void write_quoted(const Digest& digest, std::string& out);
void write_number(std::uint64_t number, std::string& out);
void write_turn(std::int64_t turn, std::string& out);  // null for none

// The states of all hashes that a list goes into, before the items 0, 256, 512, ...; from one compilation to the next.
struct ListMemo {
  struct Mark {
    std::vector<Sha256> hashes;
    std::uint64_t bytes = 0;  // of the items before
  };
  std::vector<Mark> marks;
};

struct StageList {
  std::size_t count = 0;
  FunctionRef<void(std::size_t, std::string&)> item;  // writes one item
  ListMemo* memo = nullptr;
  std::size_t same = 0;  // so many items are the ones the memo saw
};

// What came of one list: its text if it is short enough to be shown, else its length and hash.
struct ListText {
  std::string text;
  bool whole = false;
  std::uint64_t bytes = 0;
  Digest sha256;  // of the list alone, if it is not whole
  std::size_t count = 0;
  std::string shown(bool elided, const json::Hasher& hasher) const;
};

// Writes the list into all of these hashes. Of one that is longer than `most` the text is not kept.
ListText write_list(const StageList& list, std::vector<Sha256*> hashes, std::uint64_t most, const json::Hasher& hasher);

// Parts of a stage in order: text, then a list. `rank` says which lists are elided first; the last part has none.
struct StagePart {
  std::string text;
  const ListText* list = nullptr;
  int rank = 0;
};
// The stage as it is shown: whole if it fits, else with lists elided by rank until it does.
std::string shown_stage(const std::vector<StagePart>& parts, std::uint64_t most, const json::Hasher& hasher);

}  // namespace weir::ctree
