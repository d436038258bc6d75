// What every session carries over a compaction, run or not: requests, pins, files, commands, todos, open calls. Folded from
// messages, reads, labels and session_info.
#pragma once

#include "compaction/run_state.h"
#include "json/value.h"
#include "store/entry.h"

namespace weir::compaction {

bool is_carried(std::string_view type);

void carry(RunState& state, const Entry& entry, const json::Value& body, const Place& place);

// The text of a message: its string, or its text blocks joined by a newline. `most` bytes of it at most are kept.
Text message_text(const json::Value* content, std::size_t most);
// What tells texts apart that are too long to compare: a hash, of a blob's name where a text is one.
std::string text_identity(const json::Value* content);
// The first line that is not blank, without its end; empty if all are.
std::string_view first_line(std::string_view text);
// Only space, tab, CR, LF.
bool is_blank(std::string_view text);

// The longest beginning of whole code points within `bytes`.
std::string_view whole_prefix(std::string_view text, std::size_t bytes);

}  // namespace weir::compaction
