#include "testing/results.h"

#include <stdexcept>

#include "json/canonical.h"

namespace weir::testing {

void fail_with(const Error& error) {
  std::string text = std::string(info(error.code()).name) + ": " + error.message();
  for (const auto& [key, value] : error.details()) text += " [" + key + "=" + detail(error, key) + "]";
  throw std::runtime_error(text);
}

std::string detail(const Error& error, std::string_view key) {
  for (const auto& [name, value] : error.details()) {
    if (name != key) continue;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
    if (const auto* real = std::get_if<double>(&value)) return json::canonical(*real);
    if (const auto* json = std::get_if<JsonText>(&value)) return json->text;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    return "null";
  }
  return "(none)";
}

}  // namespace weir::testing
