#include "research/schema_kit.h"

#include <charconv>
#include <cmath>

#include "base/secrets.h"
#include "research/white_space.h"

namespace weir::research {

std::optional<double> number_of(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::integer:
      return static_cast<double>(value.integer());
    case json::Kind::real:
      return value.real();
    case json::Kind::big_integer: {
      // As many digits as these may have are more than a double can hold.
      double number = 0;
      const std::string_view digits = value.text();
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (read.ec == std::errc()) return number;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

Spot Spot::operator[](std::string_view key) const {
  return Spot(there() ? value_->find(key) : nullptr, path_ + "." + std::string(key), *errors_);
}

Spot Spot::at(std::size_t index) const { return Spot(&value_->items()[index], path_ + "[" + std::to_string(index) + "]", *errors_); }

Spot Spot::named(const json::Member& member) const { return Spot(&member.value, path_ + "." + masked_excerpt(member.key, 80), *errors_); }

bool Spot::says() const { return is_text() && !is_blank(value_->text()); }

bool Spot::says(std::string_view text) const { return is_text() && value_->text() == text; }

bool Spot::one_of(std::initializer_list<std::string_view> any) const {
  return std::any_of(any.begin(), any.end(), [&](std::string_view text) { return says(text); });
}

std::optional<double> Spot::number() const { return there() ? number_of(*value_) : std::nullopt; }

bool Spot::is_integer() const {
  const auto found = number();
  return found && std::trunc(*found) == *found;
}

bool Spot::all_text() const {
  if (!is_array()) return false;
  const auto items = value_->items();
  return std::all_of(items.begin(), items.end(), [](const json::Value& item) { return item.is_string(); });
}

}  // namespace weir::research
