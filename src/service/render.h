// Answers as JSON: one place, so that every face shows the same value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secrets.h"
#include "json/value.h"
#include "store/entry.h"

namespace weir {

// {"seq","id","parent","type","body","at","digest"}; the entry must outlive the value.
json::Value entry_json(const Entry& entry, const EntryId& parent, json::Arena& arena);

// {"code","message","details"}, with secrets masked: an error may quote what was sent.
json::Value error_json(const Error& error, json::Arena& arena);

// The text with its secrets masked, for what is shown besides answers and errors.
std::string masked_text(std::string_view text);

json::Value counts_json(const MaskCounts& counts, json::Arena& arena);

// A string, or null if it is empty.
json::Value text_or_null(const std::string& text);

}  // namespace weir
