#include "mcp/schema_check.h"

#include <algorithm>

#include "json/canonical.h"

namespace weir::mcp {
namespace {

using json::Kind;
using json::Value;

bool of_type(std::string_view type, const Value& value) {
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_integer() || value.kind() == Kind::big_integer;
  return value.is_integer() || value.kind() == Kind::real || value.kind() == Kind::big_integer;
}

std::string listed(const Value& choices) {
  std::string out;
  for (const Value& choice : choices.items()) out += (out.empty() ? "" : ", ") + std::string(choice.text());
  return out;
}

void check_number(const Value& schema, const Value& value, const std::string& path, json::FieldErrors& errors) {
  const Value* const least = schema.find("minimum");
  const Value* const most = schema.find("maximum");
  // Beyond 64 bits: no range of ours reaches there.
  const bool big = value.kind() == Kind::big_integer, negative = big && value.text().starts_with('-');
  const bool low = least != nullptr && (big ? negative : value.is_integer() && value.integer() < least->integer());
  const bool high = most != nullptr && (big ? !negative : value.is_integer() && value.integer() > most->integer());
  if (low) errors.add(path, "is at least " + json::canonical(*least));
  if (high) errors.add(path, "is at most " + json::canonical(*most));
}

void check_members(const Value& schema, const Value& value, const std::string& path, json::FieldErrors& errors) {
  const Value* const properties = schema.find("properties");
  if (const Value* const required = schema.find("required"))
    for (const Value& name : required->items())
      if (value.find(name.text()) == nullptr) errors.add(json::pointer(path, name.text()), "is missing");
  const Value* const others = schema.find("additionalProperties");
  for (const json::Member& member : value.members()) {
    const Value* const known = properties == nullptr ? nullptr : properties->find(member.key);
    if (known != nullptr) {
      check_schema(*known, member.value, json::pointer(path, member.key), errors);
    } else if (others != nullptr && others->is_boolean() && !others->boolean()) {
      errors.add(json::pointer(path, member.key), "is not known here");
    }
  }
}

}  // namespace

void check_schema(const Value& schema, const Value& value, const std::string& path, json::FieldErrors& errors) {
  if (const Value* const type = schema.find("type"); type != nullptr && type->is_string() && !of_type(type->text(), value)) {
    errors.add(path, "is of type " + std::string(type->text()) + ", not " + std::string(json::kind_name(value)));
    return;
  }
  if (const Value* const choices = schema.find("enum")) {
    const auto items = choices->items();
    if (std::find(items.begin(), items.end(), value) == items.end()) errors.add(path, "is one of " + listed(*choices));
  }
  check_number(schema, value, path, errors);
  if (value.is_object()) check_members(schema, value, path, errors);
  if (const Value* const items = schema.find("items"); items != nullptr && value.is_array())
    for (std::size_t i = 0; i < value.items().size(); ++i) check_schema(*items, value.items()[i], path + "/" + std::to_string(i), errors);
}

}  // namespace weir::mcp
