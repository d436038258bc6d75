#include "json/error_value.h"

#include "base/utf8.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace weir::json {

Value detail_value(const DetailValue& detail, Arena& arena) {
  return std::visit(
      [&](const auto& held) -> Value {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::string>) {
          return Value(arena.copy(as_utf8(held)));
        } else if constexpr (std::is_same_v<Held, JsonText>) {
          bool repaired = false;
          auto parsed = parse_exact(held.text, arena, Parser::kStored, repaired);
          return parsed.ok() ? std::move(parsed).value() : Value(arena.copy(held.text));
        } else {
          return Value(held);
        }
      },
      detail);
}

Value details_value(const Error& error, Arena& arena) {
  ObjectBuilder out(arena);
  for (const auto& [key, value] : error.details()) out.add(arena.copy(key), detail_value(value, arena));
  return out.build();
}

JsonText json_detail(const Value& value) { return {canonical(value)}; }

}  // namespace weir::json
