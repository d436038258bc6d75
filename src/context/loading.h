// What a body only names is loaded here: each blob once, in the place of its name, masked again where that is asked for. A
// long tool result is cut before it is kept, so that it is in memory only while it is cut.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/result.h"
#include "context/source.h"
#include "ctree/sanitise.h"
#include "json/value.h"

namespace weir::context {

struct CutContent {
  json::Value content;
  bool cut = false;
  std::optional<Digest> blob;  // the whole is this blob
};

class Loading {
 public:
  // Without a sanitiser nothing is masked. What is loaded lives in `texts` and `arena`.
  Loading(Source& source, const ctree::Sanitiser* sanitiser, json::Arena& arena, std::deque<std::string>& texts)
      : source_(source), sanitiser_(sanitiser), arena_(arena), texts_(texts) {}

  // The value with every blob in the place of its name; itself if it names none.
  Result<json::Value> load(const json::Value& value);
  // The content of a tool result in at most so many bytes.
  Result<CutContent> cut(const json::Value& content, std::uint64_t most_bytes);

  // The stored list of messages that a blob names.
  Result<json::Value> load_list(const json::Value& blob);

  json::Value masked(const json::Value& value) { return sanitiser_ == nullptr ? value : sanitiser_->masked(value, arena_); }

 private:
  Result<std::string> bytes(const json::Value& blob, Digest& digest);

  Source& source_;
  const ctree::Sanitiser* sanitiser_;
  json::Arena& arena_;
  std::deque<std::string>& texts_;
};

}  // namespace weir::context
