#include "session/info_fold.h"

#include "json/canonical.h"
#include "json/parse.h"
#include "session/bodies.h"
#include "session/types.h"

namespace weir {
namespace {

using json::Value;

void take(InfoFold::State& state, const Value& body) {
  const auto text = [&](std::string_view key, std::string& out) {
    if (const Value* value = body.find(key); value != nullptr && value->is_string()) out = value->text();
  };
  text("name", state.name);
  text("cwd", state.cwd);
  if (const Value* feed = body.find("barrier_feed"); feed != nullptr && feed->is_boolean()) state.barrier_feed &= feed->boolean();
}

}  // namespace

Result<void> InfoFold::step(State& state, const Entry& entry) {
  if (entry.type != types::kSessionInfo) return {};
  thread_local json::Parser parser;
  TRY(const Value body, stored_body(parser, entry));
  take(state, body);
  return {};
}

std::string InfoFold::save(const State& state) {
  json::Arena arena;
  return json::canonical(json::make_object(arena, {{"name", state.name}, {"cwd", state.cwd}, {"barrier_feed", state.barrier_feed}}));
}

Result<InfoFold::State> InfoFold::load(std::string_view text) {
  json::Parser parser;
  TRY(const Value saved, parser.parse(text));
  const auto is = [&](std::string_view key, auto&& kind) { return saved.find(key) != nullptr && (saved.find(key)->*kind)(); };
  if (!is("name", &Value::is_string) || !is("cwd", &Value::is_string) || !is("barrier_feed", &Value::is_boolean))
    return Error(ErrorCode::CORRUPT, "a saved state of another shape");
  State state;
  take(state, saved);
  return state;
}

}  // namespace weir
