// What of an entry can be searched: the strings of its body. Keys are left out, and so are the role of a message and
// the types of its blocks, which would make `user` and `text` words of everything. A string that went to the blob store
// is read from there, its first MiB; if it is gone, its preview stands for it. Pictures and other encoded bytes are left out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/parse.h"
#include "store/store.h"

namespace weir {

// Goes up when other strings are taken: an index made with another number is made again.
inline constexpr int kEntryTextVersion = 2;

class EntryText {
 public:
  EntryText(Store& store, LogReader& reader, SessionNo session) : store_(store), reader_(reader), session_(session) {}

  // In the order of the canonical body; valid until the next call. CORRUPT if the body is not JSON or a blob of it is
  // damaged or lost; BUSY or STORAGE if a blob cannot be read for now: only what was purged is left out.
  Result<std::span<const std::string_view>> of(const Entry& entry);

 private:
  enum class Place { elsewhere, message, blocks, block };  // `role` and `type` are no text in a message and its blocks
  void collect(const json::Value& value, Place place);
  void add(std::string_view text);
  bool add_blob(const json::Value& value);

  Store& store_;
  LogReader& reader_;
  const SessionNo session_;
  json::Parser parser_;
  std::vector<std::string_view> pieces_;
  std::vector<std::string> loaded_;  // blobs that pieces point into
  std::optional<Error> unread_;      // why the first blob of the entry was not read that should be there
  std::size_t bytes_ = 0;
};

}  // namespace weir
