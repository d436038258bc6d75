// What a provider's cache can hold on to: the hash of the messages that stay the same from step to step, and of all of them.
// Neither covers how a format writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "context/neutral.h"
#include "json/digest.h"

namespace weir::context {

struct ContextHashes {
  Digest prefix, context;
  std::uint64_t prefix_length = 0;  // bytes of {"messages","tools"}
};

// `tools`: canonical text, `null` for none.
ContextHashes hash_messages(const std::vector<Message>& messages, std::string_view tools, const json::Hasher& hasher);

// What a manifest tells of its prefix without its messages: which compaction and which pins were in it.
struct PrefixMark {
  std::string checkpoint;
  std::vector<std::string> pins;
  bool operator==(const PrefixMark&) const = default;
  void add(std::string_view included_reason, std::string_view item_id);
};
// Why the prefix is another one, as far as that can be told so.
std::string_view prefix_changed(const PrefixMark& before, const PrefixMark& now);

// Why the prefix is another one than the previous manifest's: `first`, `compaction`, `pins` or `tools`; empty if it is the
// same. `previous`: the messages at the entry that manifest was made for; null if there is no manifest.
std::string_view prefix_changed(const std::vector<Message>* previous, std::string_view previous_hash, const std::vector<Message>& now,
                                const Digest& hash);

}  // namespace weir::context
