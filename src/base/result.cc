#include "base/result.h"

namespace weir {

struct Error::Info {
  ErrorCode code;
  std::string message;
  std::vector<std::pair<std::string, DetailValue>> details;
  std::vector<FieldError> fields;
};

Error::Error(ErrorCode code, std::string message) : info_(new Info{code, std::move(message), {}, {}}) {}

Error::Error(const Error& other) : info_(new Info(*other.info_)) {}

Error& Error::operator=(const Error& other) { return *this = Error(other); }

void Error::drop(Info* info) noexcept { delete info; }

ErrorCode Error::code() const { return info_->code; }
const std::string& Error::message() const { return info_->message; }
const std::vector<std::pair<std::string, DetailValue>>& Error::details() const { return info_->details; }
const std::vector<FieldError>& Error::fields() const { return info_->fields; }

Error&& Error::with(std::string key, DetailValue value) && {
  info_->details.emplace_back(std::move(key), std::move(value));
  return std::move(*this);
}

Error&& Error::with_fields(std::vector<FieldError> fields) && {
  info_->fields = std::move(fields);
  return std::move(*this);
}

Error&& Error::with_message(std::string message) && {
  info_->message = std::move(message);
  return std::move(*this);
}

}  // namespace weir
