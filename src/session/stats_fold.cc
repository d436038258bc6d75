#include "session/stats_fold.h"

#include "json/canonical.h"
#include "json/parse.h"
#include "session/bodies.h"
#include "session/fold_engine.h"
#include "session/types.h"

namespace weir {
namespace {

using json::Value;

std::uint64_t blob_bytes_in(const Value& value) {
  std::uint64_t bytes = 0;
  for (const Value& item : value.items()) bytes += blob_bytes_in(item);
  const Value* size = value.find("$blob") == nullptr ? nullptr : value.find("bytes");
  if (size != nullptr && size->is_integer()) return static_cast<std::uint64_t>(size->integer());
  for (const json::Member& member : value.members()) bytes += blob_bytes_in(member.value);
  return bytes;
}

Value counts_value(const PMap<std::string, StatsFold::Count>& counts, json::Arena& arena) {
  json::ObjectBuilder builder(arena);
  counts.each([&](const std::string& key, const StatsFold::Count& count) {
    const Value pair[] = {count.entries, count.bytes};
    builder.add(key, json::make_array(arena, pair));
  });
  return builder.build();
}

bool load_counts(const Value* value, PMap<std::string, StatsFold::Count>& out) {
  if (value == nullptr || !value->is_object()) return false;
  for (const json::Member& member : value->members()) {
    const auto pair = member.value.items();
    if (pair.size() != 2 || !pair[0].is_integer() || !pair[1].is_integer()) return false;
    out.set(std::string(member.key), {static_cast<std::uint64_t>(pair[0].integer()), static_cast<std::uint64_t>(pair[1].integer())});
  }
  return true;
}

// The plain numbers of a state under their saved names: one list for saving and loading.
struct Number {
  std::string_view name;
  std::uint64_t StatsFold::State::* field;
};
constexpr Number kNumbers[] = {
    {"entries", &StatsFold::State::entries},         {"body_bytes", &StatsFold::State::body_bytes},
    {"blob_bytes", &StatsFold::State::blob_bytes},   {"turns", &StatsFold::State::turns},
    {"tool_calls", &StatsFold::State::tool_calls},   {"tool_errors", &StatsFold::State::tool_errors},
    {"compactions", &StatsFold::State::compactions}, {"bytes_since_barrier", &StatsFold::State::bytes_since_barrier},
};

}  // namespace

Result<void> StatsFold::step(State& state, const Entry& entry) {
  ++state.entries;
  state.body_bytes += entry.body.size();
  Count& type = state.types[entry.type];
  ++type.entries;
  type.bytes += entry.body.size();
  if (entry.type == types::kCompaction) {
    ++state.compactions;
    state.bytes_since_barrier = 0;
  }
  const bool has_blobs = entry.body.find("\"$blob\"") != std::string::npos;
  if (entry.type != types::kMessage && !has_blobs) return {};

  thread_local json::Parser parser;
  TRY(const Value body, stored_body(parser, entry));
  const std::uint64_t blob_bytes = has_blobs ? blob_bytes_in(body) : 0;
  state.blob_bytes += blob_bytes;
  if (entry.type != types::kMessage) return {};
  json::FieldErrors ignored;  // checked when it was appended
  const MessageBody message = decode_message(body, "", ignored);
  Count& role = state.roles[std::string(role_name(message.role))];
  ++role.entries;
  role.bytes += entry.body.size();
  state.turns += message.begins_turn();
  state.tool_calls += message.tool_calls == nullptr ? 0 : message.tool_calls->items().size();
  state.tool_errors += message.is_error;
  state.bytes_since_barrier += entry.body.size() + blob_bytes;
  return {};
}

std::size_t StatsFold::bytes(const State& state) { return sizeof state + state.types.bytes() + state.roles.bytes(); }

std::string StatsFold::save(const State& state) {
  json::Arena arena;
  json::ObjectBuilder builder(arena);
  for (const Number& number : kNumbers) builder.add(number.name, state.*number.field);
  builder.add("types", counts_value(state.types, arena)).add("roles", counts_value(state.roles, arena));
  return json::canonical(builder.build());
}

Result<StatsFold::State> StatsFold::load(std::string_view text) {
  json::Parser parser;
  TRY(const Value value, parser.parse(text));
  State state;
  const Error bad(ErrorCode::CORRUPT, "a saved state of another shape");
  for (const Number& number : kNumbers) {
    const Value* field = value.find(number.name);
    if (field == nullptr || !field->is_integer()) return bad;
    state.*number.field = static_cast<std::uint64_t>(field->integer());
  }
  if (!load_counts(value.find("types"), state.types) || !load_counts(value.find("roles"), state.roles)) return bad;
  return state;
}

template class FoldEngine<StatsFold>;

}  // namespace weir
