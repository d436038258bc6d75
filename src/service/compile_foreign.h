// Use case: the records of a path, compiled as BreadBoard does at its schema 0.1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ctree/breadboard.h"
#include "service/service.h"

namespace weir {

struct ForeignRecords {
  breadboard::Store store;
  std::vector<std::string> masked;  // ids of nodes whose text was masked when it was stored: their hashes cannot be BreadBoard's
};
// `message` and `ctree_node` entries of the path, blobs resolved; a `ctree_node` by its raw text where it has one.
Result<ForeignRecords> foreign_records(Service& service, const Address& address);

// What faces show of it, as JSON texts. NOT_REPRODUCIBLE for what is no JSON: NaN, lone surrogates.
// GET /sessions/{id}/ctrees
Result<std::string> foreign_ctrees(Service& service, const Address& address, const breadboard::Value& prompt_summary);
// GET /sessions/{id}/ctrees/tree; its own configuration is all that counts.
Result<std::string> foreign_tree(Service& service, const Address& address, breadboard::TreeArgs args);
// The compiler's output with one of its stages.
Result<std::string> foreign_stage(Service& service, const Address& address, std::string_view stage, bool previews,
                                  const breadboard::Value& prompt_summary);

}  // namespace weir
