// Strong names: a SessionId is never taken for a HeadName or an EntryId. One that exists is valid.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

// INVALID_FIELD: a `what` is of this form, and this text is not.
Error wrong_name(std::string_view what, std::string_view form, std::string_view text);

// Rule has: static constexpr std::string_view kWhat, kForm; static bool valid(std::string_view);
template <typename Rule>
class Name {
 public:
  Name() = default;

  static Result<Name> parse(std::string_view text) {
    if (Rule::valid(text)) return Name(text);
    return wrong_name(Rule::kWhat, Rule::kForm, text);
  }
  // For text that was valid when it was stored, and literals in tests.
  static Name trusted(std::string_view text) { return Name(text); }

  const std::string& str() const { return text_; }
  bool empty() const { return text_.empty(); }
  auto operator<=>(const Name&) const = default;

 private:
  explicit Name(std::string_view text) : text_(text) {}
  std::string text_;
};

struct SessionRule {
  static constexpr std::string_view kWhat = "a session id";
  static constexpr std::string_view kForm = "a letter or digit, then at most 127 of A-Z a-z 0-9 . _ -";
  static bool valid(std::string_view text);
};
struct HeadRule {
  static constexpr std::string_view kWhat = "a head name";
  static constexpr std::string_view kForm = SessionRule::kForm;
  static bool valid(std::string_view text) { return SessionRule::valid(text); }
};
struct EntryRule {
  static constexpr std::string_view kWhat = "an entry id";
  static constexpr std::string_view kForm = "1 to 256 bytes of UTF-8 without white space or control characters";
  static bool valid(std::string_view text);
};
struct TypeRule {
  static constexpr std::string_view kWhat = "an entry type";
  static constexpr std::string_view kForm = "1 to 64 of A-Z a-z 0-9 . _ : -";
  static bool valid(std::string_view text);
};

using SessionId = Name<SessionRule>;
using HeadName = Name<HeadRule>;
using EntryId = Name<EntryRule>;
using EntryType = Name<TypeRule>;

}  // namespace weir

template <typename Rule>
struct std::hash<weir::Name<Rule>> {
  std::size_t operator()(const weir::Name<Rule>& name) const noexcept { return std::hash<std::string>{}(name.str()); }
};
