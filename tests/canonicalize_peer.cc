// One JSON text per line of stdin; for each a line `ok <canonical text>` or `refused`. The far end of
// tests/canonicalize_oracle.mjs.
#include <iostream>
#include <string>

#include "json/canonical.h"
#include "json/parse.h"

int main() {
  std::ios::sync_with_stdio(false);
  weir::json::Parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    const auto value = parser.parse(line);
    std::cout << (value.ok() ? "ok " + weir::json::canonical(*value) : "refused") << '\n';
  }
  return 0;
}
