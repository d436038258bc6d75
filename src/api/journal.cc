#include "api/journal.h"

#include "base/time.h"
#include "base/utf8.h"
#include "json/canonical.h"
#include "service/render.h"

namespace weir::api {
namespace {

constexpr std::string_view kNames[] = {"error", "warn", "info", "debug"};

std::string shown(std::string_view text) { return printable(masked_text(as_utf8(text))); }

}  // namespace

Journal::Journal(Level level, Format format, Clock& clock, Sink sink)
    : level_(level), format_(format), clock_(clock), sink_(std::move(sink)) {}

void Journal::write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (!wants(level)) return;
  const std::string at = format_time(clock_.now());
  const std::string_view name = kNames[static_cast<int>(level)];
  std::string line;
  if (format_ == Format::json) {
    json::Arena arena;
    json::ObjectBuilder out(arena);
    out.add("at", at).add("level", name).add("event", event);
    for (const auto& [key, value] : fields) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        out.add(key, *number);
      } else {
        out.add(key, json::Value(arena.copy(shown(std::get<std::string_view>(value)))));
      }
    }
    line = json::canonical(out.build());
  } else {
    line = at + " " + std::string(name) + " " + std::string(event);
    for (const auto& [key, value] : fields) {
      line += " " + std::string(key) + "=";
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        line += std::to_string(*number);
      } else {
        json::write_string(shown(std::get<std::string_view>(value)), line);
      }
    }
  }
  const std::lock_guard lock(mutex_);
  sink_(line + "\n");
}

}  // namespace weir::api
