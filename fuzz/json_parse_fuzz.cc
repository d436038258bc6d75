// The fast parser and the exact one agree on every text: read or refused, why and where, and the canonical bytes.
// Canonical text is its own canonical text.
#include "fuzz.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace weir {
namespace {

std::string outcome(const Result<json::Value>& result) {
  return result.ok() ? json::canonical(*result) : std::string(info(result.error().code()).name) + ": " + result.error().message();
}

void check(std::string_view text, json::Parser::Options options) {
  json::Parser fast, again;
  json::Arena arena;
  bool repaired = false;
  const auto value = fast.parse(text, options);
  const std::string once = outcome(value);
  fuzz::expect_equal("fast and exact parser differ", once, outcome(json::parse_exact(text, arena, options, repaired)));
  fuzz::expect_equal("repaired or not", fast.repaired() ? "yes" : "no", repaired ? "yes" : "no");
  if (value.ok()) fuzz::expect_equal("canonical text is no fixed point", once, outcome(again.parse(once)));
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = weir::fuzz::text_of(data, size);
  weir::check(text, {});
  weir::check(text, {.repair_surrogates = true});
  return 0;
}
