// One request per line of stdin, {"text","offset","limit","line_count"}; for each a line of JSON with what a plain read
// delivers: text, window and truncation, or the error. The far end of tests/pi_baseline_oracle.mjs.
#include <iostream>
#include <string>

#include "json/canonical.h"
#include "json/parse.h"
#include "readcache/baseline.h"

using namespace weir;

namespace {

std::optional<std::uint64_t> number(const json::Value& request, std::string_view key) {
  const json::Value* value = request.find(key);
  return value == nullptr ? std::nullopt : std::optional(static_cast<std::uint64_t>(value->integer()));
}

std::string answer(const json::Value& request, json::Arena& arena) {
  const BaselineLimits limits{.line_count = request.text_or("line_count", "") == "legacy" ? LineCount::legacy : LineCount::current};
  LineWindow window({number(request, "offset"), number(request, "limit")}, limits.max_bytes + 1);
  window.add(request.text_or("text", ""));
  const auto selection = window.finish();
  if (!selection.ok()) return json::canonical(json::make_object(arena, {{"error", selection.error().message()}}));
  const Baseline baseline = make_baseline(*selection, limits, "a.txt");
  json::ObjectBuilder out(arena);
  out.add("text", baseline.text);
  if (baseline.truncation) {
    out.add("truncation", truncation_to_pi(*baseline.truncation, baseline.content(), limits.max_lines, limits.max_bytes, arena));
  }
  return json::canonical(out.build());
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  json::Parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = parser.parse(line);
    if (!request.ok()) return 1;
    std::cout << answer(*request, parser.arena()) << '\n';
  }
  return 0;
}
