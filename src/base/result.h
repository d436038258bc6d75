// Result<T>: a value or an Error. Bad input and damaged data travel as Results; a bug is a WEIR_CHECK.
#pragma once

#include <cstdint>
#include <memory>
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

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : info_(new Info{code, std::move(message), {}, {}}) {}
  Error(const Error& other) : info_(new Info(*other.info_)) {}
  Error(Error&&) noexcept = default;
  Error& operator=(const Error& other) {
    info_.reset(new Info(*other.info_));
    return *this;
  }
  Error& operator=(Error&&) noexcept = default;

  ErrorCode code() const { return info_->code; }
  const std::string& message() const { return info_->message; }
  const std::vector<std::pair<std::string, DetailValue>>& details() const { return info_->details; }
  const std::vector<FieldError>& fields() const { return info_->fields; }

  Error&& with(std::string key, DetailValue value) && {
    info_->details.emplace_back(std::move(key), std::move(value));
    return std::move(*this);
  }
  Error&& with_fields(std::vector<FieldError> fields) && {
    info_->fields = std::move(fields);
    return std::move(*this);
  }
  Error&& with_message(std::string message) && {
    info_->message = std::move(message);
    return std::move(*this);
  }

 private:
  struct Info {
    ErrorCode code;
    std::string message;
    std::vector<std::pair<std::string, DetailValue>> details;
    std::vector<FieldError> fields;
  };
  std::unique_ptr<Info> info_;
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
