#include "store/entry_text.h"

#include <algorithm>

#include "base/limits.h"
#include "base/utf8.h"
#include "store/blob_refs.h"
#include "store/named_blob.h"

namespace weir {
namespace {

constexpr std::size_t kEncodedRun = 1024;  // so long without a space or a sign of a sentence: no text

bool encoded(std::string_view text) {
  if (text.size() < kEncodedRun) return false;
  return std::all_of(text.begin(), text.begin() + kEncodedRun, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/' || c == '=' || c == '-' ||
           c == '_';
  });
}

// At most so many bytes, and no half character at the end.
std::string_view beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

Result<std::span<const std::string_view>> EntryText::of(const Entry& entry) {
  pieces_.clear();
  loaded_.clear();
  bytes_ = 0;
  unread_.reset();
  auto body = parser_.parse_stored(entry.body);
  if (!body.ok()) return Error(ErrorCode::CORRUPT, "the body of '" + entry.id.str() + "' is not JSON").with("entry", entry.id.str());
  // A vector that grows would move its strings, and with them what the pieces point to.
  loaded_.reserve(limits::kHistoryEntryBytes / limits::kBlobStringBytes + 1);
  collect(*body, entry.type == "message" ? Place::message : Place::elsewhere);
  if (unread_) return std::move(*unread_).with("entry", entry.id.str());
  return std::span<const std::string_view>(pieces_);
}

void EntryText::add(std::string_view text) {
  if (text.empty() || bytes_ >= limits::kHistoryEntryBytes || encoded(text)) return;
  pieces_.push_back(beginning(text, limits::kHistoryEntryBytes - bytes_));
  bytes_ += pieces_.back().size();
}

bool EntryText::add_blob(const json::Value& value) {
  const auto digest = blob_reference(value);
  if (!digest.ok() || !*digest || loaded_.size() == loaded_.capacity()) return false;
  auto bytes = named_blob(store_, reader_, session_, **digest);
  if (!bytes.ok() && bytes.error().code() != ErrorCode::NOT_FOUND && !unread_) unread_ = bytes.error();
  if (!bytes.ok()) return false;  // purged, and its preview is still here
  loaded_.push_back(std::move(bytes).value());
  const std::string_view text = beginning(loaded_.back(), limits::kHistoryBlobBytes);
  if (valid_utf8(text)) add(text);
  return true;
}

void EntryText::collect(const json::Value& value, Place place) {
  if (value.is_string()) return add(value.text());
  for (const json::Value& item : value.items()) collect(item, place == Place::blocks ? Place::block : Place::elsewhere);
  if (!value.is_object()) return;
  if (value.find("$blob") != nullptr && add_blob(value)) return;
  for (const json::Member& member : value.members()) {
    if ((place == Place::message && member.key == "role") || (place == Place::block && member.key == "type")) continue;
    collect(member.value, place == Place::message && member.key == "content" ? Place::blocks : Place::elsewhere);
  }
}

}  // namespace weir
