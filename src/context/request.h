// What the caller says about the prompt it asks for: why, what it searched for, what it found and chose, and which tools the
// model will have. It goes into the manifest; of the tools only a hash.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/secrets.h"
#include "json/value.h"

namespace weir::context {

struct Request {
  std::string intent = "{}";  // canonical, an object
  std::optional<std::string> retrieval_query, reranker_model, reranker_version;
  std::vector<std::string> filters;  // sorted, each once
  std::vector<std::string> candidate_chunk_ids, selected_chunk_ids, selected_source_ids;
  std::map<std::string, std::string, std::less<>> excluded_reasons;  // chunk -> the caller's word for leaving it out
  std::string tools = "null";                                        // canonical, as given

  // INVALID_FIELD with every fault. Masked first, all but the tools: the manifest's id covers what is stored.
  static Result<Request> parse(const json::Value& value, const Masker& masker);
};

}  // namespace weir::context
