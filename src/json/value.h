// A JSON value that cannot change: 16 bytes, copied freely, its strings and children in an Arena (or in text that
// outlives it). Transforming one builds a new value that shares what stayed the same. Members of an object are sorted
// by key in UTF-16 code unit order, the order of canonical JSON, and no key is there twice.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::json {

// Bump allocator. Everything in it goes at once, at reset() or when it is destroyed.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena(Arena&& other) noexcept { *this = std::move(other); }
  Arena& operator=(Arena&& other) noexcept;  // the other one is empty afterwards

  void* allocate(std::size_t bytes);
  template <typename T>
  T* make(std::size_t count) {
    return static_cast<T*>(allocate(count * sizeof(T)));
  }
  std::string_view copy(std::string_view text);
  void reset();

 private:
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t first_chunk_bytes_ = 0;
  char* free_ = nullptr;
  char* end_ = nullptr;
};

enum class Kind : std::uint8_t {
  null,
  boolean,
  integer,      // within +-(2^53 - 1)
  real,         // any other number a double holds
  big_integer,  // an integer token beyond that, kept by its digits
  string,
  array,
  object,
  raw,  // canonical text put in as it is, for output only
};

struct Member;

class Value {
 public:
  Value() : kind_(Kind::null), size_(0), integer_(0) {}
  Value(std::nullptr_t) : Value() {}                                                             // NOLINT: values convert
  Value(bool b) : kind_(Kind::boolean), size_(0), integer_(b) {}                                 // NOLINT
  Value(double d) : kind_(Kind::real), size_(0), real_(d) {}                                     // NOLINT
  Value(std::string_view text) : kind_(Kind::string), size_(text.size()), text_(text.data()) {}  // NOLINT
  Value(const std::string& text) : Value(std::string_view(text)) {}                              // NOLINT
  Value(const char* text) : Value(std::string_view(text)) {}                                     // NOLINT
  template <typename Int>
    requires(std::is_integral_v<Int> && !std::is_same_v<Int, bool>)
  Value(Int i) : kind_(Kind::integer), size_(0), integer_(static_cast<std::int64_t>(i)) {}  // NOLINT

  static Value big_integer(std::string_view digits) { return Value(Kind::big_integer, digits.data(), digits.size()); }
  static Value raw(std::string_view canonical) { return Value(Kind::raw, canonical.data(), canonical.size()); }
  static Value array(std::span<const Value> items);     // `items` must outlive the value
  static Value object(std::span<const Member> sorted);  // the same; sorted, keys unique

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_integer() const { return kind_ == Kind::integer; }
  bool is_boolean() const { return kind_ == Kind::boolean; }

  bool boolean() const { return integer_ != 0; }
  std::int64_t integer() const { return integer_; }
  double real() const { return real_; }
  std::string_view text() const { return {text_, size_}; }  // string, big_integer, raw
  std::span<const Value> items() const;                     // array, else empty
  std::span<const Member> members() const;                  // object, else empty

  // The member of that name; null if there is none or this is no object.
  const Value* find(std::string_view key) const;
  // Its text, or the other text if it is no string.
  std::string_view text_or(std::string_view key, std::string_view other) const;

 private:
  Value(Kind kind, const void* data, std::size_t size) : kind_(kind), size_(size), pointer_(data) {}

  Kind kind_;
  std::uint64_t size_ : 56;
  union {
    std::int64_t integer_;
    double real_;
    const char* text_;
    const void* pointer_;
  };
};

struct Member {
  std::string_view key;
  Value value;
};

// Equal values: 1.0 and 1 are, "a" and "\u0061" are.
bool operator==(const Value& a, const Value& b);

// < 0, 0, > 0 in UTF-16 code unit order, which is not byte order where U+E000..U+FFFF meets astral characters.
int compare_keys(std::string_view a, std::string_view b);

// Builds objects into an arena. Members may come in any order; of two with one key the first stays. add_if leaves out
// what is not there.
class ObjectBuilder {
 public:
  explicit ObjectBuilder(Arena& arena) : arena_(arena) {}
  ObjectBuilder& add(std::string_view key, Value value) {
    members_.push_back({key, value});
    return *this;
  }
  ObjectBuilder& add_if(std::string_view key, const Value* value) { return value == nullptr ? *this : add(key, *value); }
  bool empty() const { return members_.empty(); }
  Value build();

 private:
  Arena& arena_;
  std::vector<Member> members_;
};

Value make_object(Arena& arena, std::initializer_list<Member> members);
Value make_array(Arena& arena, std::span<const Value> items);

}  // namespace weir::json
