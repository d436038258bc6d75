// Typed decoding of a JSON object. Every wrong field is collected with its JSON pointer, so a caller hears of all of
// them at once. Getters answer an empty value on error and go on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace weir::json {

class FieldErrors {
 public:
  void add(std::string path, std::string message) { errors_.push_back({std::move(path), std::move(message)}); }
  // A message that names its field itself.
  void add_named(std::string path, std::string message) {
    first_named_ = first_named_ || errors_.empty();
    add(std::move(path), std::move(message));
  }
  // All of another's.
  void add_all(const FieldErrors& other) { errors_.insert(errors_.end(), other.errors_.begin(), other.errors_.end()); }
  bool empty() const { return errors_.empty(); }
  // An error with all of them, if there are any.
  Result<void> result(ErrorCode code = ErrorCode::INVALID_FIELD) const;

 private:
  std::vector<FieldError> errors_;
  bool first_named_ = false;
};

// `prefix` + "/" + key, with the key escaped as RFC 6901 says.
std::string pointer(std::string_view prefix, std::string_view key);

std::string_view kind_name(const Value& value);

class ObjectDecoder {
 public:
  ObjectDecoder(const Value& value, std::string path, FieldErrors& errors);

  // Absent and null give nothing; a wrong type is an error. The need_ forms also miss what is absent.
  std::optional<std::string_view> text(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t least, std::int64_t most);
  std::optional<bool> boolean(std::string_view key);
  const Value* object(std::string_view key);
  const Value* array(std::string_view key);
  const Value* any(std::string_view key);
  std::string_view need_text(std::string_view key);
  const Value* need_object(std::string_view key);
  const Value* need_array(std::string_view key);

  // A strong name: Name::parse decides.
  template <typename Name>
  std::optional<Name> name(std::string_view key) {
    const auto given = text(key);
    if (!given) return std::nullopt;
    auto parsed = Name::parse(*given);
    if (parsed.ok()) return std::move(parsed).value();
    wrong(key, parsed.error().message());
    return std::nullopt;
  }

  void wrong(std::string_view key, std::string message) { errors_.add(pointer(path_, key), std::move(message)); }
  // Every member not asked for so far is an error; for closed objects, called last.
  void close();
  const std::string& path() const { return path_; }

 private:
  const Value* of_kind(std::string_view key, Kind kind, std::string_view expected);
  const Value* required(std::string_view key, const Value* found);

  const Value& value_;
  std::string path_;
  FieldErrors& errors_;
  std::vector<std::string_view> asked_;
};

}  // namespace weir::json
