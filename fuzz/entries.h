// A path of entries from an input's JSON: [{"type","body","id"?}, ...], chained by their digests.
#pragma once

#include <string>
#include <vector>

#include "json/canonical.h"
#include "json/value.h"
#include "store/entry.h"

namespace weir::fuzz {

inline std::vector<Entry> entries_of(const json::Value& list) {
  std::vector<Entry> out;
  for (const json::Value& item : list.items()) {
    Entry entry;
    entry.seq = out.size() + 1;
    entry.depth = entry.seq;
    const auto id = EntryId::parse(item.text_or("id", ""));
    entry.id = id.ok() ? *id : EntryId::trusted("x" + std::to_string(entry.seq));
    entry.type = item.text_or("type", "message");
    const json::Value* body = item.find("body");
    entry.body = body != nullptr && body->is_object() ? json::canonical(*body) : "{}";
    entry.digest = entry_digest(out.empty() ? std::nullopt : std::optional(out.back().digest), entry.type, entry.body);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace weir::fuzz
