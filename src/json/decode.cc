#include "json/decode.h"

#include <algorithm>
#include <cmath>

#include "base/secrets.h"
#include "json/canonical.h"

namespace weir::json {

Result<void> FieldErrors::result(ErrorCode code) const {
  if (errors_.empty()) return {};
  std::string message = first_named_ ? errors_[0].message : (errors_[0].path.empty() ? "/" : errors_[0].path) + ": " + errors_[0].message;
  if (errors_.size() > 1) message += " (and " + std::to_string(errors_.size() - 1) + " more)";
  return Error(code, std::move(message)).with_fields(errors_);
}

std::string pointer(std::string_view prefix, std::string_view key) {
  std::string out(prefix);
  out += '/';
  // Escaped, a URL with a password in it would no longer be known for one.
  std::optional<std::string> masked;
  if (MaskCounts ignored; key.find('/') != std::string_view::npos) masked = message_masker().mask(key, ignored);
  for (const char c : masked ? std::string_view(*masked) : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view kind_name(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
    case Kind::big_integer:
      return "an integer";
    case Kind::real:
      return "a number";
    case Kind::string:
      return "a string";
    case Kind::array:
      return "an array";
    case Kind::object:
      return "an object";
    case Kind::raw:
      return "JSON text";
  }
  return "?";
}

ObjectDecoder::ObjectDecoder(const Value& value, std::string path, FieldErrors& errors)
    : value_(value), path_(std::move(path)), errors_(errors) {
  if (!value.is_object()) errors_.add(path_, "must be an object, is " + std::string(kind_name(value)));
}

const Value* ObjectDecoder::any(std::string_view key) {
  asked_.push_back(key);
  const Value* value = value_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const Value* ObjectDecoder::of_kind(std::string_view key, Kind kind, std::string_view expected) {
  const Value* value = any(key);
  if (value == nullptr || value->kind() == kind) return value;
  wrong(key, "must be " + std::string(expected) + ", is " + std::string(kind_name(*value)));
  return nullptr;
}

const Value* ObjectDecoder::required(std::string_view key, const Value* found) {
  const Value* there = value_.find(key);
  if (found == nullptr && value_.is_object() && (there == nullptr || there->is_null())) wrong(key, "is missing");
  return found;
}

std::optional<std::string_view> ObjectDecoder::text(std::string_view key) {
  const Value* value = of_kind(key, Kind::string, "a string");
  return value == nullptr ? std::nullopt : std::optional(value->text());
}

std::optional<std::int64_t> ObjectDecoder::integer(std::string_view key, std::int64_t least, std::int64_t most) {
  const Value* value = any(key);
  if (value == nullptr) return std::nullopt;
  // 5.0 is the same JSON number as 5.
  const bool whole_real = value->kind() == Kind::real && std::trunc(value->real()) == value->real();
  if (!value->is_integer() && !whole_real && value->kind() != Kind::big_integer) {
    wrong(key, "must be an integer, is " + std::string(kind_name(*value)));
    return std::nullopt;
  }
  std::optional<std::int64_t> number;
  if (value->is_integer()) number = value->integer();
  if (whole_real && std::abs(value->real()) < 0x1p63) number = static_cast<std::int64_t>(value->real());
  if (number && *number >= least && *number <= most) return number;
  wrong(key, "must be from " + std::to_string(least) + " to " + std::to_string(most) + ", is " + canonical(*value));
  return std::nullopt;
}

std::optional<bool> ObjectDecoder::boolean(std::string_view key) {
  const Value* value = of_kind(key, Kind::boolean, "true or false");
  return value == nullptr ? std::nullopt : std::optional(value->boolean());
}

const Value* ObjectDecoder::object(std::string_view key) { return of_kind(key, Kind::object, "an object"); }
const Value* ObjectDecoder::array(std::string_view key) { return of_kind(key, Kind::array, "an array"); }

std::string_view ObjectDecoder::need_text(std::string_view key) {
  const Value* value = required(key, of_kind(key, Kind::string, "a string"));
  return value == nullptr ? std::string_view() : value->text();
}
const Value* ObjectDecoder::need_object(std::string_view key) { return required(key, object(key)); }
const Value* ObjectDecoder::need_array(std::string_view key) { return required(key, array(key)); }

void ObjectDecoder::close() {
  for (const Member& member : value_.members()) {
    if (std::find(asked_.begin(), asked_.end(), member.key) == asked_.end()) wrong(member.key, "is not a known field");
  }
}

}  // namespace weir::json
