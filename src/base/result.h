// Result<T>: a value or an Error. Bad input and damaged data travel as Results; a bug is a WEIR_CHECK.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/error_code.h"

namespace weir {

// One wrong field of a request: where (a JSON pointer) and what is wrong with it.
struct FieldError {
  std::string path;
  std::string message;
  bool operator==(const FieldError&) const = default;
};

// JSON, already written: for details that are lists or objects.
struct JsonText {
  std::string text;
  bool operator==(const JsonText&) const = default;
};

// A detail's value; null stands for "nothing there", such as a head before the first entry.
using DetailValue = std::variant<std::nullptr_t, std::string, std::int64_t, bool, double, JsonText>;

// What went wrong: a code, a message with both values in it, and details. Every function that can fail has one on its way out, so
// all that it does with one is compiled once, in the .cc.
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message);
  Error(const Error& other);
  Error(Error&& other) noexcept : info_(std::exchange(other.info_, nullptr)) {}
  Error& operator=(const Error& other);
  Error& operator=(Error&& other) noexcept {
    std::swap(info_, other.info_);
    return *this;
  }
  ~Error() {
    if (info_ != nullptr) [[unlikely]]
      drop(info_);
  }

  ErrorCode code() const;
  const std::string& message() const;
  const std::vector<std::pair<std::string, DetailValue>>& details() const;
  const std::vector<FieldError>& fields() const;

  Error&& with(std::string key, DetailValue value) &&;
  Error&& with_fields(std::vector<FieldError> fields) &&;
  Error&& with_message(std::string message) &&;

 private:
  struct Info;
  static void drop(Info* info) noexcept;
  Info* info_;  // null once it was moved from
};

template <typename T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    WEIR_CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    WEIR_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    WEIR_CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& {
    WEIR_CHECK(!ok());
    return std::get<1>(state_);
  }
  Error&& error() && {
    WEIR_CHECK(!ok());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    WEIR_CHECK(!ok());
    return *error_;
  }
  Error&& error() && {
    WEIR_CHECK(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

#define WEIR_CONCAT_(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_(a, b)

// TRY(auto x, f()): x is f()'s value, or the caller returns f()'s error.
#define TRY(decl, ...) WEIR_TRY_(WEIR_CONCAT(try_, __COUNTER__), decl, __VA_ARGS__)
#define WEIR_TRY_(tmp, decl, ...)               \
  auto tmp = (__VA_ARGS__);                     \
  if (!tmp.ok()) return std::move(tmp).error(); \
  decl = std::move(tmp).value()

// TRY_DO(f()): goes on if f() succeeded, or the caller returns its error.
#define TRY_DO(...) WEIR_TRY_DO_(WEIR_CONCAT(try_do_, __COUNTER__), __VA_ARGS__)
#define WEIR_TRY_DO_(tmp, ...)                                                \
  do {                                                                        \
    if (auto&& tmp = (__VA_ARGS__); !tmp.ok()) return std::move(tmp).error(); \
  } while (0)

}  // namespace weir
