// Use case: the next prompt at a head, within a budget, and the manifest entry that records what it was made of. No manifest,
// no context: if the entry cannot be appended, nothing is answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "context/config.h"
#include "context/manifest.h"
#include "context/request.h"
#include "json/value.h"
#include "service/config.h"
#include "service/service.h"
#include "store/verify.h"

namespace weir {

struct ContextQuery {
  Address address;  // with `at`, nothing is written
  context::ContextConfig config;
  context::Request request;
  bool allow_over_budget = false, dry_run = false;
};

struct ContextAnswer {
  std::string text;  // the answer as canonical JSON
  std::string manifest_id;
  EntryId entry;  // of the manifest; empty: nothing was written
};
// CONTEXT_OVER_BUDGET, RUN_STOPPED, CONFLICT.
Result<ContextAnswer> next_context(Service& service, const ContextQuery& query);

// What is not said in a context configuration: the store's own settings.
context::ContextConfig context_defaults(const Service& service, const Config& config);

// Do two places give the same messages? {"equal","context_sha256","prefix_equal","common_messages","first_difference"}
struct ContextDiff {
  bool equal = false;
  std::string text;
};
Result<ContextDiff> diff_contexts(Service& service, const Address& a, const Address& b, const context::ContextConfig& config);

// Adds to the report of a sound log what does not hold on top of it: manifests (their id, and the hashes they claim for the
// entry they were made for) and saved nodes. `only`: one session; empty: all.
Result<void> verify_contexts(Service& service, const std::string& only, VerifyReport& report);

}  // namespace weir
