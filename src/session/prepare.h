// From a caller's body to the bytes that are stored: secrets masked, large strings moved to blobs, canonical text, and
// the part of the digest that does not depend on where the entry goes.
#pragma once

#include <string>
#include <utility>

#include "base/function_ref.h"
#include "base/secrets.h"
#include "json/value.h"
#include "store/blobs.h"
#include "store/entry.h"

namespace weir {

struct PreparedBody {
  std::string canonical;
  BodyHash hash{""};
  bool has_blobs = false;
  MaskCounts masked = {};
};

class Preparer {
 public:
  // With a null `blobs` nothing is written: a dry run, for which a blob's name is enough.
  Preparer(const Masker& masker, Blobs* blobs) : masker_(masker), blobs_(blobs) {}

  // NOT_FOUND for a $blob that is not stored, LIMIT_EXCEEDED for a body over 1 MiB after all. `arena` takes what
  // masking builds.
  Result<PreparedBody> prepare(std::string_view type, const json::Value& body, json::Arena& arena);

  // What was masked so far, or since it was taken.
  const MaskCounts& masked() const { return masked_; }
  MaskCounts take_masked() { return std::exchange(masked_, {}); }

 private:
  static json::Value say_text_masked(const json::Value& arrived, const json::Value& masked, json::Arena& arena);
  Result<json::Value> take_out(const json::Value& value, json::Arena& arena);
  Result<json::Value> to_blob(std::string_view bytes, json::Arena& arena, json::Member extra);
  Result<json::Value> shorten_replacement(const json::Value& body, json::Arena& arena);

  const Masker& masker_;
  Blobs* blobs_;
  MaskCounts masked_;
  bool has_blobs_ = false;
};

// The body with every $blob object of a string replaced by the string, every other by the value it names.
Result<json::Value> resolve_blobs(const json::Value& body, FunctionRef<Result<std::string>(const Digest&)> load, json::Arena& arena);
Result<json::Value> resolve_blobs(const json::Value& body, Blobs& blobs, json::Arena& arena);

}  // namespace weir
