// What of a payload may be shown and hashed: volatile members go, secrets are masked, blobs lose their preview. Doing it
// twice changes nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/secrets.h"
#include "json/value.h"

namespace weir::ctree {

class Sanitiser {
 public:
  struct Options {
    std::vector<std::string> secret_keys, volatile_keys;  // besides the tables'
    bool operator==(const Options&) const = default;
  };
  explicit Sanitiser(const Options& options = {});

  // Without the members that say when, not what. Of a payload that is no message.
  json::Value without_volatile(const json::Value& payload, json::Arena& arena) const;
  // Without signatures and cache marks, which providers make anew each time. Of the blocks of a message.
  static json::Value without_marks(const json::Value& block, json::Arena& arena);
  // Secrets masked, blobs without their preview.
  json::Value masked(const json::Value& value, json::Arena& arena) const;
  std::string masked_text(std::string_view text) const;

 private:
  std::vector<std::string> volatile_keys_;
  Masker masker_;
};

// Is this {"$blob",...}?
bool is_blob(const json::Value& value);

}  // namespace weir::ctree
