#include "session/info_fold.h"

#include <algorithm>

#include "json/canonical.h"
#include "json/parse.h"
#include "session/bodies.h"
#include "session/fold_engine.h"
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
}

constexpr std::string_view kFeeds[] = {"unsaid", "no", "yes"};

}  // namespace

Result<void> InfoFold::step(State& state, const Entry& entry) {
  if (entry.type != types::kSessionInfo) return {};
  thread_local json::Parser parser;
  TRY(const Value body, stored_body(parser, entry));
  take(state, body);
  if (const Value* feed = body.find("barrier_feed"); feed != nullptr && feed->is_boolean() && !entry.imported) {
    state.feed = feed->boolean() ? Feed::yes : Feed::no;
    state.feed_said_at = entry.seq;
  }
  return {};
}

std::string InfoFold::save(const State& state) {
  json::Arena arena;
  return json::canonical(json::make_object(
      arena,
      {{"name", state.name}, {"cwd", state.cwd}, {"feed", kFeeds[static_cast<int>(state.feed)]}, {"feed_said_at", state.feed_said_at}}));
}

Result<InfoFold::State> InfoFold::load(std::string_view text) {
  json::Parser parser;
  TRY(const Value saved, parser.parse(text));
  const auto is = [&](std::string_view key, auto&& kind) { return saved.find(key) != nullptr && (saved.find(key)->*kind)(); };
  const auto feed = std::find(std::begin(kFeeds), std::end(kFeeds), saved.text_or("feed", ""));
  if (!is("name", &Value::is_string) || !is("cwd", &Value::is_string) || feed == std::end(kFeeds) ||
      !is("feed_said_at", &Value::is_integer))
    return Error(ErrorCode::CORRUPT, "a saved state of another shape");
  State state;
  take(state, saved);
  state.feed = static_cast<Feed>(feed - std::begin(kFeeds));
  state.feed_said_at = static_cast<Seq>(saved.find("feed_said_at")->integer());
  return state;
}

template class FoldEngine<InfoFold>;

}  // namespace weir
