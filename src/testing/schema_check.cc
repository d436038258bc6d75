#include "testing/schema_check.h"

#include <algorithm>
#include <cmath>

#include "json/canonical.h"

namespace weir::testing {
namespace {

using json::Kind;
using json::Value;

bool is_of(std::string_view type, const Value& value) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_integer();
  if (type == "number") return value.is_integer() || value.kind() == Kind::real;
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

std::string type_fault(const Value& type, const Value& value, const std::string& path) {
  bool met = type.is_string() && is_of(type.text(), value);
  for (const Value& one : type.items()) met = met || is_of(one.text(), value);
  return met ? "" : path + " is not " + json::canonical(type) + ": " + json::canonical(value).substr(0, 60);
}

std::string member_faults(const Value& schema, const Value& value, const std::string& path) {
  if (const Value* required = schema.find("required"))
    for (const Value& key : required->items())
      if (value.is_object() && value.find(key.text()) == nullptr) return path + "/" + std::string(key.text()) + " is missing";
  const Value* properties = schema.find("properties");
  const Value* others = schema.find("additionalProperties");
  for (const json::Member& member : value.members()) {
    const std::string at = path + "/" + std::string(member.key);
    const Value* known = properties == nullptr ? nullptr : properties->find(member.key);
    const Value* rule = known != nullptr ? known : others;
    if (rule == nullptr) continue;
    if (std::string fault = schema_fault(*rule, member.value, at); !fault.empty()) return fault;
  }
  return "";
}

}  // namespace

std::string schema_fault(const Value& schema, const Value& value, const std::string& path) {
  if (schema.is_boolean()) return schema.boolean() ? "" : path + " is not known";
  for (const json::Member& word : schema.members()) {
    std::string fault;
    if (word.key == "type") {
      fault = type_fault(word.value, value, path);
    } else if (word.key == "enum") {
      const auto all = word.value.items();
      if (std::find(all.begin(), all.end(), value) == all.end()) fault = path + " is none of " + json::canonical(word.value);
    } else if (word.key == "anyOf") {
      for (const Value& one : word.value.items()) {
        const std::string why = schema_fault(one, value, path);
        if (why.empty()) {
          fault.clear();
          break;
        }
        fault += (fault.empty() ? "none of: " : "; ") + why;
      }
    } else if (word.key == "items") {
      for (std::size_t i = 0; i < value.items().size() && fault.empty(); ++i)
        fault = schema_fault(word.value, value.items()[i], path + "/" + std::to_string(i));
    } else if (word.key == "required") {
      fault = member_faults(schema, value, path);
    } else if (word.key != "properties" && word.key != "additionalProperties") {
      fault = path + ": the schema says '" + std::string(word.key) + "'";
    } else if (schema.find("required") == nullptr) {
      fault = member_faults(schema, value, path);
    }
    if (!fault.empty()) return fault;
  }
  return "";
}

}  // namespace weir::testing
