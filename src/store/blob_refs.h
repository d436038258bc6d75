// Which blobs an entry's body refers to.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"
#include "json/decode.h"
#include "json/value.h"

namespace weir {

// The digest a {"$blob":"sha256:<hex>",...} object names; nothing for other values. INVALID_FIELD for a "$blob" member
// that is no such name.
Result<std::optional<Digest>> blob_reference(const json::Value& value);

// Do bodies of this type name blobs without $blob objects?
bool names_blobs(std::string_view type);

// All of them in a canonical body, in order, each once: $blob objects anywhere, `blob` of sources and chunks, `rejected`
// of a failed compaction. CORRUPT if the body is not JSON.
Result<std::vector<Digest>> blob_references(std::string_view type, std::string_view body);

// Every $blob in the value that is no name of a blob, with its JSON pointer.
void check_blob_names(const json::Value& value, const std::string& path, json::FieldErrors& errors);

}  // namespace weir
