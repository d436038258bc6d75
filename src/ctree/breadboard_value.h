// A JSON value of Python's kind, for the profile breadboard-0.1: integers keep all their digits, doubles may be NaN or
// infinite, strings may hold lone surrogates (kept as WTF-8). It cannot change, and copying one shares what it holds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace weir::breadboard {

enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };

struct Member;

class Value {
 public:
  Value() = default;
  Value(std::nullptr_t) {}                                           // NOLINT: values convert
  Value(bool b) : kind_(Kind::boolean), data_(b) {}                  // NOLINT
  Value(double d) : kind_(Kind::real), data_(d) {}                   // NOLINT
  Value(std::string text) : Value(Kind::string, std::move(text)) {}  // NOLINT
  Value(std::string_view text) : Value(std::string(text)) {}         // NOLINT
  Value(const char* text) : Value(std::string(text)) {}              // NOLINT
  template <typename Int>
    requires(std::is_integral_v<Int> && !std::is_same_v<Int, bool>)
  Value(Int i) : Value(Kind::integer, std::to_string(i)) {}  // NOLINT

  // Decimal digits with at most a minus before them: no leading zero, no "-0".
  static Value integer(std::string digits) { return Value(Kind::integer, std::move(digits)); }
  static Value array(std::vector<Value> items);
  // Members come in any order; of equal keys the last wins.
  static Value object(std::vector<Member> members);

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }

  bool boolean() const { return std::get<bool>(data_); }
  double real() const { return std::get<double>(data_); }
  const std::string& text() const { return *std::get<Text>(data_); }  // of a string; the digits of an integer
  std::span<const Value> items() const;                               // array, else empty
  std::span<const Member> members() const;                            // object, else empty; sorted by code points

  // The member of that name; null if there is none or this is no object.
  const Value* find(std::string_view key) const;
  // The same, a null value where there is none.
  Value get(std::string_view key) const;

 private:
  using Text = std::shared_ptr<const std::string>;
  using Items = std::shared_ptr<const std::vector<Value>>;
  using Members = std::shared_ptr<const std::vector<Member>>;
  Value(Kind kind, std::string text) : kind_(kind), data_(std::make_shared<const std::string>(std::move(text))) {}

  Kind kind_ = Kind::null;
  std::variant<std::monostate, bool, double, Text, Items, Members> data_;
};

struct Member {
  std::string key;
  Value value;
};

// The object with this member put in or replaced.
Value with_member(const Value& object, std::string key, Value value);
// The object without this member.
Value without_member(const Value& object, std::string_view key);

}  // namespace weir::breadboard
