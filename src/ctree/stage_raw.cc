#include "ctree/stages.h"
#include "json/canonical.h"

namespace weir::ctree {

using json::Domain;

std::optional<Stage> parse_stage(std::string_view text) {
  for (int i = 0; i < 4; ++i) {
    if (text == kStageNames[i]) return static_cast<Stage>(i);
  }
  return std::nullopt;
}

Sha256 begin_stage(const json::Hasher& hasher) {
  Sha256 hash = hasher.begin(Domain::stage);
  hash.update("{\"payload\":");
  return hash;
}

Digest finish_stage(Sha256 hash, Stage stage, const json::Hasher& hasher) {
  hash.update(",\"stage\":\"").update(name(stage)).update("\"}");
  return hasher.finish(hash);
}

namespace {

std::string kind_counts(const NodesFold::State& state) {
  json::Arena arena;
  json::ObjectBuilder counts(arena);
  state.kind_counts.each([&](Word kind, std::uint32_t count) { counts.add(state.words.text(kind), count); });
  return json::canonical(counts.build());
}

}  // namespace

// An inventory of the whole path. The prompt's hash is shown and not hashed: a date in a prompt must not change z1 daily.
StageResult write_raw(const StageInput& in, const std::optional<Digest>& prompt) {
  const json::Hasher& hasher = in.fold.hasher();
  ListText kinds;
  kinds.text = kind_counts(in.state);
  kinds.whole = true;
  kinds.bytes = kinds.text.size();
  kinds.count = in.state.kind_counts.size();
  std::string head = "{\"event_count\":", node_count = ",\"node_count\":", tail = "\"schema_version\":\"";
  write_number(in.state.size(), head);
  head += ",\"kind_counts\":";
  write_number(in.state.size(), node_count);
  node_count += ",\"node_hash\":";
  write_quoted(in.fold.node_hash(in.state), node_count);
  node_count += ',';
  tail.append(in.fold.schema_version()).append("\"}");
  StageResult out;
  Sha256 hash = begin_stage(hasher);
  hash.update(head).update(kinds.text).update(node_count).update(tail);
  out.z = finish_stage(hash, Stage::RAW, hasher);
  std::string shown_tail = node_count;
  if (prompt) {
    shown_tail += "\"prompt_sha256\":";
    write_quoted(*prompt, shown_tail);
    shown_tail += ',';
  }
  out.text = shown_stage({{head, &kinds, 0}, {shown_tail + tail}}, in.most_bytes, hasher);
  return out;
}

}  // namespace weir::ctree
