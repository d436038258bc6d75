// One JSON line {"kind","pass","run_id","value","agents"?} in, one line {"errors":[{"code","message","path"}]} out: the
// verdict of Weir's validators. The far end of tests/schemas_test.mjs.
#include <iostream>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "research/schema.h"

namespace {

using weir::json::Value;
using namespace weir::research;

bool check(const Value& request, SchemaErrors& errors) {
  const std::string_view kind = request.text_or("kind", ""), run_id = request.text_or("run_id", "");
  const Value* value = request.find("value");
  if (value == nullptr) return false;
  if (kind == "perspectives") {
    std::vector<std::string> agents, warnings;
    const Value* listed = request.find("agents");
    for (const Value& agent : listed == nullptr ? std::span<const Value>() : listed->items()) agents.emplace_back(agent.text());
    const Pass pass = request.text_or("pass", "") == "read" ? Pass::read : Pass::write;
    check_perspectives(*value, pass, {.run_id = run_id, .agents = listed == nullptr ? nullptr : &agents}, errors, warnings);
  } else if (kind == "summary_pack") {
    check_pack(*value, run_id, errors);
  } else if (kind == "manifest") {
    check_manifest(*value, errors);
  } else if (kind == "gates") {
    check_gates(*value, errors);
  } else if (kind == "citation") {
    check_citation(*value, "$", errors);
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  weir::json::Parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = parser.parse(line);
    SchemaErrors errors;
    if (!request.ok() || !check(*request, errors)) {
      std::cerr << "cannot check " << line.substr(0, 400) << '\n';
      return 2;
    }
    weir::json::Arena arena;
    std::vector<Value> list;
    for (const auto& error : errors.list()) {
      list.push_back(
          weir::json::make_object(arena, {{"code", weir::info(error.code).name}, {"message", error.message}, {"path", error.path}}));
    }
    std::cout << weir::json::canonical(weir::json::make_object(arena, {{"errors", Value::array(list)}})) << '\n';
  }
  return 0;
}
