#include "service/toml.h"

#define TOML_EXCEPTIONS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

namespace weir::toml {
namespace {

Item item_of(std::string key, const ::toml::node& node) {
  Item item;
  item.key = std::move(key);
  item.line = static_cast<std::int64_t>(node.source().begin.line);
  if (const auto* text = node.as_string()) {
    item.value = text->get();
  } else if (const auto* flag = node.as_boolean()) {
    item.value = flag->get();
  } else if (const auto* real = node.as_floating_point()) {
    item.value = real->get();
  } else if (const auto* number = node.as_integer()) {
    item.value = number->get();
  } else if (const auto* array = node.as_array()) {
    std::vector<std::string> texts;
    std::vector<Table> tables;
    for (const ::toml::node& element : *array) {
      if (const auto* element_text = element.as_string()) texts.push_back(element_text->get());
      if (const auto* element_table = element.as_table()) {
        Table table;
        for (const auto& [name, value] : *element_table) {
          if (const auto* value_text = value.as_string()) table[std::string(name.str())] = value_text->get();
        }
        tables.push_back(std::move(table));
      }
    }
    if (texts.size() == array->size()) {
      item.value = std::move(texts);
    } else if (tables.size() == array->size()) {
      item.value = std::move(tables);
    }
  }
  return item;
}

void flatten(const ::toml::table& table, const std::string& prefix, std::vector<Item>& out) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const auto* inner = node.as_table()) {
      flatten(*inner, key + ".", out);
    } else {
      out.push_back(item_of(key, node));
    }
  }
}

}  // namespace

Result<std::vector<Item>> parse_file(std::string_view text, const std::string& path) {
  const auto parsed = ::toml::parse(text, path);
  if (!parsed) {
    const auto& error = parsed.error();
    const std::string place = fmt::format("{}:{}", path, error.source().begin.line);
    return Error(ErrorCode::INVALID_FIELD, fmt::format("{}: not TOML: {}", place, error.description())).with("origin", place);
  }
  std::vector<Item> out;
  flatten(parsed.table(), "", out);
  // As they stand in the file, not as the table sorts them.
  std::stable_sort(out.begin(), out.end(), [](const Item& a, const Item& b) { return a.line < b.line; });
  return out;
}

Result<Item> parse_value(std::string_view text) {
  TRY(auto items, parse_file("value = " + std::string(text), "value"));
  return std::move(items.front());
}

}  // namespace weir::toml
