// What one entry adds to the compiler. All that the stages show of a node is worked out once, when the entry is folded;
// compiling reads no body. The place of a node on its path, counted from 0, is its ordinal.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/sha256.h"
#include "store/entry.h"

namespace weir::ctree {

using Ordinal = std::uint32_t;
inline constexpr Ordinal kNoNode = std::numeric_limits<Ordinal>::max();
inline constexpr std::int64_t kNoTurn = std::numeric_limits<std::int64_t>::min();
inline constexpr std::uint32_t kNoChars = std::numeric_limits<std::uint32_t>::max();

// A text of which there are few: kinds, roles, names, shapes. Its place in the fold's table; 0 is "none".
using Word = std::uint32_t;

// What selecting looks at.
struct Node {
  Seq seq = 0;
  std::int64_t turn = kNoTurn;
  std::uint64_t bytes = 0;         // canonical length of the sanitised payload, blobs counted as what they hold
  std::uint32_t chars = kNoChars;  // code points of a content that is a string
  Ordinal unit = 0;                // a node of its unit; NodesFold::State::unit_of finds the first
  Ordinal call = kNoNode;          // of a tool result: the message with its (first) call
  Word kind = 0, role = 0;
  bool result : 1 = false;   // nothing but results of tool calls
  bool control : 1 = false;  // never selected
  bool is_error : 1 = false;
  bool has_content : 1 = false;
  bool makes_calls : 1 = false;
};

// What stages show besides.
struct NodeHashes {
  Digest digest, payload, content;
  std::uint64_t content_bytes = 0;  // as bytes, of the content alone
  Word shape = 0, name = 0;
  std::uint32_t alias = 0;  // of tool_call_id; 0: none
  std::uint32_t calls = 0;  // place in the fold's list of call lists, from 1; 0: none
};

struct CallList {
  Digest hash;
  std::uint32_t count = 0;
};

// A context edit or an attached narrative: another content for a node.
struct Overlay {
  Seq by = 0;  // the entry that says so
  bool removed = false, edited = false, has_content = true;
  std::uint32_t chars = kNoChars;
  std::uint64_t bytes = 0;  // of the node with it
  Digest content;
};

// `n`, the ordinal in eight digits, `_`, eight hex digits of the digest.
std::string node_id(Ordinal ordinal, const Digest& digest);
// May it be one? Whether a path has it only its state knows.
constexpr bool is_node_id(std::string_view id) { return id.size() >= 18 && id[0] == 'n' && id[id.size() - 9] == '_'; }
void write_node_id(Ordinal ordinal, const Digest& digest, std::string& out);

// `call_0001`, `task_0001`.
std::string alias_name(std::string_view stem, std::uint32_t number);

// A rough guess, named bytes4.v1: four bytes a token, four tokens of frame.
inline constexpr std::uint64_t kBytesPerToken = 4;
constexpr std::uint64_t node_tokens(std::uint64_t bytes) { return (bytes + kBytesPerToken - 1) / kBytesPerToken + 4; }
inline constexpr std::string_view kEstimator = "bytes4.v1";

}  // namespace weir::ctree
