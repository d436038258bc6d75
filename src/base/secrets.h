// The one table of secret keys and secret spans, and the masking of text with it. Masking replaces the span, not the
// string, with the same mark everywhere, and doing it twice changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

inline constexpr std::string_view kRedacted = "***REDACTED***";

struct SecretFamily {
  std::string_view name;
  std::string_view pattern;  // see secret_patterns(); the span is group 1 if there is one
  bool mixed;                // only if the span has an ASCII letter and a digit
};

// The 31 families, in table order. They decide hashes: a change makes a new version of the rules (base/secret_rules.h).
std::span<const SecretFamily> secret_families();

// Masked spans by family ("secret_key" for values under a secret key).
using MaskCounts = std::map<std::string, std::uint64_t, std::less<>>;

class Masker {
 public:
  struct Extra {
    std::string name, pattern;
  };
  struct Options {
    bool enabled = true;
    std::vector<std::string> off;          // names of families left out
    std::vector<Extra> extra;              // families of the user's own
    std::vector<std::string> secret_keys;  // keys besides the table's
  };

  // INVALID_FIELD for an unknown family in `off`, or a pattern RE2 refuses.
  static Result<Masker> make(const Options& options);
  // Everything in the table, nothing else.
  static const Masker& standard();

  bool enabled() const { return enabled_; }

  // Is the value under this key a secret whatever it is? (null, true and false are not.)
  bool secret_key(std::string_view key) const;

  // The text with its secrets masked; nothing if it holds none. Adds to `counts` what it found.
  std::optional<std::string> mask(std::string_view text, MaskCounts& counts) const;

 private:
  struct Rules;
  bool enabled_ = true;
  std::shared_ptr<const Rules> rules_;
};

// For messages that quote what was sent: masked, then cut to so many code points, and safe to print.
std::string masked_excerpt(std::string_view text, std::size_t count);

// What messages are masked with: the table, and the families of the user's own once they are known.
const Masker& message_masker();
void mask_messages_also(const std::vector<Masker::Extra>& extra);

}  // namespace weir
