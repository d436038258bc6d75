// What the validators share: a place in a document, and the questions asked of a value that may not be there.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"
#include "research/schema.h"

namespace weir::research {

// A value (null: nothing is there), where it stands, and the errors that a check of it may add to.
class Spot {
 public:
  Spot(const json::Value* value, std::string path, SchemaErrors& errors) : value_(value), path_(std::move(path)), errors_(&errors) {}

  const json::Value* value() const { return value_; }
  const std::string& path() const { return path_; }
  Spot operator[](std::string_view key) const;   // null below a value that is no object
  Spot at(std::size_t index) const;              // of an array's items
  Spot named(const json::Member& member) const;  // a member whose key somebody else chose
  std::size_t size() const { return value_ == nullptr ? 0 : value_->items().size(); }

  bool there() const { return value_ != nullptr; }
  bool is_object() const { return there() && value_->is_object(); }
  bool is_array() const { return there() && value_->is_array(); }
  bool is_null() const { return there() && value_->is_null(); }
  bool is_text() const { return there() && value_->is_string(); }
  bool says() const;                                               // a string that is not blank
  bool says(std::string_view text) const;                          // exactly this one
  bool one_of(std::initializer_list<std::string_view> any) const;  // exactly one of these
  std::optional<double> number() const;                            // a number that a double holds
  bool is_integer() const;                                         // a number without a fraction, 1.0 included
  bool integer_from(double least) const { return is_integer() && *number() >= least; }
  bool all_text() const;  // an array of strings

  // What it says, where it is a string.
  std::string_view text() const { return is_text() ? value_->text() : std::string_view(); }

  // Adds an error here unless `ok`; answers `ok`.
  bool need(bool ok, std::string_view message, ErrorCode code = ErrorCode::SCHEMA_VALIDATION_FAILED) const {
    if (!ok) errors_->add(path_, std::string(message), code);
    return ok;
  }

 private:
  const json::Value* value_;
  std::string path_;
  SchemaErrors* errors_;
};

// Any number that a double holds.
std::optional<double> number_of(const json::Value& value);

}  // namespace weir::research
