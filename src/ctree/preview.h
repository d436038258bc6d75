// A preview: the beginning of a node's text for people, masked before it is cut.
#pragma once

#include <cstddef>
#include <optional>

#include "ctree/sanitise.h"
#include "ctree/stages.h"
#include "json/value.h"
#include "store/entry.h"

namespace weir::ctree {

// The content of the node that this entry makes, or the one it gives another node, as it is stored; null if there is none.
const json::Value* stored_content(const Entry& entry, const json::Value& body);

std::optional<Preview> make_preview(const json::Value& content, std::size_t most_code_points, const Sanitiser& sanitiser);

}  // namespace weir::ctree
