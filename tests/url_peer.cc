// One JSON string per line of stdin, a URL; for each a line `ok {"cid","normal","shown","user_info"}` or `refused`. The far
// end of tests/url_oracle.mjs.
#include <iostream>
#include <string>

#include "json/canonical.h"
#include "json/parse.h"
#include "research/url.h"

int main() {
  std::ios::sync_with_stdio(false);
  weir::json::Parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    const auto value = parser.parse(line);
    if (!value.ok() || !value->is_string()) return 2;
    const auto url = weir::research::normalise_url(value->text());
    if (!url.ok()) {
      std::cout << "refused\n";
      continue;
    }
    weir::json::Arena arena;
    const auto answer =
        weir::json::make_object(arena, {{"cid", url->cid}, {"normal", url->normal}, {"shown", url->shown}, {"user_info", url->user_info}});
    std::cout << "ok " << weir::json::canonical(answer) << '\n';
  }
  return 0;
}
