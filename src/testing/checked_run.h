// A path with its snapshots and blobs, and what a validator is told about it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compaction/validate.h"
#include "testing/run_path.h"

namespace weir::testing {

// Of the contract's full example: the blob of its source, and the snapshot in its shown form.
extern const std::string_view kGaugeSource, kGaugeSnapshot;

class CheckedRun {
 public:
  explicit CheckedRun(RunPath start = gauge_example());

  CheckedRun& add(std::string_view type, std::string_view body) {
    path.add(type, body);
    return *this;
  }

  // The shown form of the snapshot that the path gives at its end.
  std::string snapshot(compaction::Trigger trigger = compaction::Trigger::manual) const;
  // Appends it as a compaction, without asking.
  CheckedRun& compact(compaction::Trigger trigger = compaction::Trigger::manual);
  // It is the last one now, by an entry added already.
  CheckedRun& accepted(std::string_view shown);

  compaction::LogFacts facts() const;
  compaction::Verdict check(std::string_view shown) const;

  RunPath path;
  std::map<std::string, std::string> blobs;  // `sha256:<hex>` -> bytes
  std::shared_ptr<json::Value> previous;     // the accepted snapshot; null: none
  mutable std::size_t chunks_read = 0;

 private:
  std::optional<std::string> chunk_bytes(const compaction::RunState& at, const std::string& id) const;

  std::shared_ptr<json::Parser> parser_;
};

}  // namespace weir::testing
