// A line of a pi file comes back from its entry as it was: any JSON object with a string type, and any text at all as
// a malformed line.
#include "fuzz.h"
#include "importers/pi_map.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace weir {
namespace {

void check_line(std::string_view text) {
  json::Parser parser;
  const auto line = parser.parse(text);
  const json::Value* type = line.ok() ? line->find("type") : nullptr;
  if (type == nullptr || !type->is_string()) return;
  json::Arena& arena = parser.arena();
  const pi::Mapped mapped = pi::map_line(*line, arena);
  const pi::Placed placed{mapped.id.value_or(""), mapped.has_parent ? std::optional(mapped.parent) : std::nullopt,
                          mapped.at.value_or(TimeMs{})};
  // An entry of Weir's own is written back as a native line.
  const pi::Line back = mapped.native ? pi::Line{pi::native_line(mapped.type, mapped.body, placed, arena), std::nullopt}
                                      : pi::unmap(mapped.type, mapped.body, placed, arena);
  fuzz::expect_equal("a line came back as text", back.text.value_or(""), "");
  fuzz::expect_equal("a line came back as another", json::canonical(*line), json::canonical(back.value));
}

void check_malformed(std::string_view text) {
  json::Arena arena;
  const pi::Mapped mapped = pi::map_malformed(text, arena);
  const pi::Line back = pi::unmap(mapped.type, mapped.body, {}, arena);
  fuzz::expect_equal("a malformed line came back as another", back.text.value_or("nothing"), text);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::check_line(weir::fuzz::text_of(data, size));
  weir::check_malformed(weir::fuzz::text_of(data, size));
  return 0;
}
