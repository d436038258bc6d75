#include "ctree/nodes_fold.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "ctree/draft.h"
#include "ctree/kind.h"
#include "ctree/values.h"
#include "json/canonical.h"
#include "session/bodies.h"
#include "session/types.h"

namespace weir::ctree {
namespace {

using json::Arena;
using json::Domain;
using json::Member;
using json::Value;

constexpr std::size_t kMarkEvery = 32;
constexpr std::size_t kShapeKeys = 32, kShapeKeyCodePoints = 64;

// What blobs hold beyond what naming them costs; a blob counts as its bytes and two quotes.
std::int64_t blob_surplus(const Value& value) {
  std::int64_t sum = 0;
  if (value.is_array()) {
    for (const Value& item : value.items()) sum += blob_surplus(item);
  } else if (is_blob(value)) {
    const Value* bytes = value.find("bytes");
    const std::int64_t held = bytes != nullptr && bytes->is_integer() ? bytes->integer() : 0;
    sum = held + 2 - static_cast<std::int64_t>(json::canonical(value).size());
  } else {
    for (const Member& member : value.members()) sum += blob_surplus(member.value);
  }
  return sum;
}

std::uint64_t measure(const Value& value, std::size_t text_bytes) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(text_bytes) + blob_surplus(value));
}

std::string_view type_word(const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "boolean";
  return value.is_string() ? "string" : "number";
}

std::string shape_of(const Value& payload, const json::Hasher& hasher) {
  std::string out;
  if (payload.is_array()) return "[" + std::to_string(payload.items().size()) + "]";
  if (!payload.is_object()) return '"' + std::string(type_word(payload)) + '"';
  bool small = payload.members().size() <= kShapeKeys;
  char before = '[';
  for (const Member& member : payload.members()) {
    small &= member.key.size() <= kShapeKeyCodePoints || code_points(member.key) <= kShapeKeyCodePoints;
    out += before;
    before = ',';
    json::write_string(member.key, out);
  }
  out += before == '[' ? "[]" : "]";
  if (small) return out;
  return "{\"count\":" + std::to_string(payload.members().size()) + ",\"sha256\":\"" + hasher.text(Domain::list, out).hex() + "\"}";
}

// Gives aliases out as ids are met.
class FoldingNames : public Names {
 public:
  FoldingNames(NodesFold::State& state, Arena& arena) : state_(state), arena_(arena) {}
  std::string_view call(std::string_view id) override {
    return arena_.copy(alias_name("call", number(state_.call_aliases, state_.call_count, id)));
  }
  std::string_view task(std::string_view id) override {
    return arena_.copy(alias_name("task", number(state_.task_aliases, state_.task_count, id)));
  }
  std::optional<Place> entry(std::string_view id) override {
    const auto found = state_.entries.find(id);
    if (!found) return std::nullopt;
    return Place{*found / 2, *found % 2 != 0};
  }
  std::optional<Ordinal> compaction(std::string_view pointer) override {
    const auto found = state_.compactions.find(pointer);
    return found ? std::optional<Ordinal>(*found) : std::nullopt;
  }
  std::string_view node_id(Ordinal ordinal) override { return arena_.copy(state_.id(ordinal)); }

 private:
  static std::uint32_t number(IdIndex& index, std::uint32_t& count, std::string_view id) {
    if (const auto known = index.find(id)) return *known;
    index.set(id, ++count);
    return count;
  }

  NodesFold::State& state_;
  Arena& arena_;
};

// The unit that a node joins, and every unit it brings together, under one first node.
void join_units(NodesFold::State& state, const Draft& draft, Ordinal own, Node& node) {
  std::vector<Ordinal> callers;
  for (const std::string_view id : draft.message.results) {
    if (const auto caller = state.callers.find(id)) callers.push_back(*caller);
  }
  node.unit = own;
  if (!callers.empty()) node.call = callers.front();
  std::sort(callers.begin(), callers.end());
  callers.erase(std::unique(callers.begin(), callers.end()), callers.end());
  if (callers.empty()) return;
  std::vector<Ordinal> units;
  for (const Ordinal caller : callers) units.push_back(state.unit_of(caller));
  node.unit = *std::min_element(units.begin(), units.end());
  for (const Ordinal unit : units) {
    if (unit != node.unit) state.joined.set(unit, node.unit);
  }
  if (callers.size() > 1) state.more_calls.set(own, std::move(callers));
}

void write_chain(const Digest& before, const Digest& digest, std::string& out) {
  out.append("[\"").append(before.hex()).append("\",\"").append(digest.hex()).append("\"]");
}

struct Scratch {
  json::Parser parser;
  std::string text, chain;
};

class Stepping {
 public:
  Stepping(const NodesFold& fold, NodesFold::State& state, const Entry& entry, Arena& arena, Scratch& scratch)
      : fold_(fold), state_(state), entry_(entry), arena_(arena), scratch_(scratch) {}

  // True if the entry made a node.
  bool run(const Value& body) {
    FoldingNames names(state_, arena_);
    const Ordinal own = static_cast<Ordinal>(state_.size());
    const auto draft = draft_node(entry_, body, state_.turns, own, names, fold_.sanitiser(), arena_);
    if (!draft) return false;
    if (draft->begins_turn) ++state_.turns;
    Node node{.seq = entry_.seq, .turn = draft->turn, .kind = state_.words.of(draft->kind)};
    NodeHashes hashes;
    write_payload(*draft, node, hashes);
    if (draft->is_message)
      take_message(*draft, own, node, hashes);
    else
      node.unit = own;
    node.control = draft->control;
    hash_node(*draft, node, hashes);
    state_.nodes.push_back(node);
    state_.hashes.push_back(hashes);
    ++state_.kind_counts[node.kind];
    if (!draft->given_id.empty() && state_.given_ids.find(draft->given_id) == nullptr) state_.given_ids.set(draft->given_id, own);
    if (draft->control) take_overlay(*draft);
    if (entry_.type == types::kCompaction) take_checkpoint(*draft, own);
    return true;
  }

 private:
  // The canonical payload, and of it what is measured and hashed on its own.
  void write_payload(const Draft& draft, Node& node, NodeHashes& hashes) {
    std::string& text = scratch_.text;
    text.clear();
    std::string_view content_text, calls_text;
    std::size_t content_at = 0, content_end = 0, calls_at = 0, calls_end = 0;
    if (draft.payload.is_object() && !draft.payload.members().empty()) {
      char before = '{';
      for (const Member& member : draft.payload.members()) {
        text += before;
        before = ',';
        json::write_string(member.key, text);
        text += ':';
        const std::size_t at = text.size();
        json::write_canonical(member.value, text);
        if (draft.is_message && member.key == "content") content_at = at, content_end = text.size();
        if (draft.is_message && member.key == "tool_calls") calls_at = at, calls_end = text.size();
      }
      text += '}';
    } else {
      json::write_canonical(draft.payload, text);
    }
    content_text = std::string_view(text).substr(content_at, content_end - content_at);
    calls_text = std::string_view(text).substr(calls_at, calls_end - calls_at);
    node.bytes = measure(draft.payload, text.size());
    hashes.shape = state_.words.of(shape_of(draft.payload, fold_.hasher()));
    std::string other;
    if (draft.content && content_text.empty()) {
      json::write_canonical(*draft.content, other);
      content_text = other;
    }
    if (draft.content) {
      node.has_content = true;
      hashes.content = fold_.hasher().text(Domain::value, content_text);
      hashes.content_bytes = measure(*draft.content, content_text.size());
      if (draft.content->is_string()) node.chars = code_points(draft.content->text());
    }
    if (!calls_text.empty()) {
      const Value& calls = *draft.payload.find("tool_calls");
      state_.calls.push_back({fold_.hasher().text(Domain::value, calls_text), static_cast<std::uint32_t>(calls.items().size())});
      hashes.calls = static_cast<std::uint32_t>(state_.calls.size());
    }
  }

  void take_message(const Draft& draft, Ordinal own, Node& node, NodeHashes& hashes) {
    const std::string_view role = draft.payload.text_or("role", "");
    node.role = state_.words.of(role);
    node.result = draft.message.only_results;
    node.makes_calls = !draft.message.calls.empty();
    const Value* error = draft.payload.find("is_error");
    node.is_error = error != nullptr && error->is_boolean() && error->boolean();
    hashes.name = state_.words.of(draft.payload.text_or("name", ""));
    if (const std::string_view alias = draft.payload.text_or("tool_call_id", ""); alias.starts_with("call_")) {
      std::from_chars(alias.data() + 5, alias.data() + alias.size(), hashes.alias);
    }
    if (role == role_name(Role::system)) state_.systems.push_back(own);
    join_units(state_, draft, own, node);
    for (const std::string_view id : draft.message.calls) state_.callers.set(id, own);
  }

  void hash_node(const Draft& draft, const Node& node, NodeHashes& hashes) {
    const json::Hasher& hasher = fold_.hasher();
    hashes.payload = hasher.text(Domain::value, scratch_.text);
    std::string& frame = scratch_.chain;
    frame = "{\"kind\":";
    json::write_string(draft.kind, frame);
    frame += ",\"payload\":";
    Sha256 hash = hasher.begin(Domain::node);
    hash.update(frame).update(scratch_.text).update(",\"turn\":");
    hash.update(node.turn == kNoTurn ? "null" : std::to_string(node.turn)).update("}");
    hashes.digest = hasher.finish(hash);
    const Digest before = fold_.node_hash(state_);
    if (state_.size() % kMarkEvery == 0) state_.marks.push_back(before);
    frame.clear();
    write_chain(before, hashes.digest, frame);
    state_.last = hasher.text(Domain::nodes, frame);
  }

  void take_overlay(const Draft& draft) {
    const bool edit = entry_.type == types::kContextEdit;
    if (!draft.target) {
      if (edit) ++state_.edits_without_target;
      return;
    }
    Overlay overlay{.by = entry_.seq, .removed = edit && !draft.replacement, .edited = edit, .has_content = draft.replacement.has_value()};
    const Node& node = state_.nodes[*draft.target];
    overlay.bytes = node.bytes;
    if (draft.replacement) {
      const std::string text = json::canonical(*draft.replacement);
      overlay.content = fold_.hasher().text(Domain::value, text);
      if (draft.replacement->is_string()) overlay.chars = code_points(draft.replacement->text());
      // The content takes the place of the old one, or of none: then it brings its key and a comma.
      const std::uint64_t old = node.has_content ? state_.hashes[*draft.target].content_bytes : 0;
      overlay.bytes = node.bytes - old + measure(*draft.replacement, text.size()) + (node.has_content ? 0 : 11);
    }
    if (edit) {
      state_.edits.set(*draft.target, overlay);
      return;
    }
    if (draft.replacement) state_.attached.set(*draft.target, overlay);
    if (state_.checkpoint && state_.checkpoint->ordinal == *draft.target) {
      if (draft.carried) state_.checkpoint->snapshot_id = draft.carried->snapshot_id;
      if (draft.replacement) state_.checkpoint->narrative_by = entry_.seq;
    }
  }

  void take_checkpoint(const Draft& draft, Ordinal own) {
    const Draft::Carried& carried = *draft.carried;
    state_.compactions.set(entry_pointer(entry_.digest), own);
    state_.checkpoints.push_back(own);
    Checkpoint checkpoint{.ordinal = own};
    checkpoint.has_replacement = carried.replacement;
    checkpoint.has_kept = carried.kept;
    checkpoint.has_narrative = carried.narrative;
    checkpoint.opaque = carried.opaque;
    checkpoint.snapshot_id = carried.snapshot_id;
    checkpoint.first_kept = carried.first_kept;
    checkpoint.kept = std::make_shared<const std::vector<Ordinal>>(carried.kept_nodes);
    state_.checkpoint = std::move(checkpoint);
  }

  const NodesFold& fold_;
  NodesFold::State& state_;
  const Entry& entry_;
  Arena& arena_;
  Scratch& scratch_;
};

void take_label(NodesFold::State& state, const Value& body) {
  const auto found = state.entries.find(body.text_or("target", ""));
  if (!found || *found % 2 == 0) return;
  if (body.text_or("label", "") == "pin") {
    state.pins.set(*found / 2, true);
  } else {
    state.pins.erase(*found / 2);
  }
}

void take_run_event(NodesFold::State& state, const Entry& entry) {
  if (entry.type == types::kManifestWritten) {
    state.manifest = entry.seq;
    state.failed_since_manifest = false;
  } else if (entry.type == types::kFailureRecorded || entry.type == types::kCompactionFailed) {
    state.failed_since_manifest = true;
  }
}

}  // namespace

Word Words::of(std::string_view text) {
  if (text.empty()) return 0;
  if (const Word* known = index_.find(text)) return *known;
  texts_.push_back(std::string(text));
  index_.set(text, static_cast<Word>(texts_.size()));
  return static_cast<Word>(texts_.size());
}

Word Words::find(std::string_view text) const {
  const Word* known = index_.find(text);
  return text.empty() ? 0 : known == nullptr ? kUnknown : *known;
}

NodesFold::NodesFold(Options options)
    : options_(std::move(options)),
      sanitiser_(options_.sanitise),
      hasher_(options_.key.empty() ? json::Hasher() : json::Hasher(options_.key)) {}

Result<void> NodesFold::step(State& state, const Entry& entry) const {
  const bool label = entry.type == types::kLabel;
  take_run_event(state, entry);
  bool made = false;
  if (label || makes_node(entry.type)) {
    thread_local Scratch scratch;
    TRY(const Value body, stored_body(scratch.parser, entry));
    if (label) {
      take_label(state, body);
    } else {
      made = Stepping(*this, state, entry, scratch.parser.arena(), scratch).run(body);
    }
  }
  state.entries.set(entry.id.str(), static_cast<std::uint32_t>(made ? 2 * (state.size() - 1) + 1 : 2 * state.size()));
  return {};
}

Digest NodesFold::node_hash(const State& state, std::size_t count) const {
  if (count == 0) return hasher_.text(Domain::nodes, "[]");
  if (count == state.size()) return state.last;
  std::size_t at = count / kMarkEvery * kMarkEvery;
  if (at == state.marks.size() * kMarkEvery) at -= kMarkEvery;
  Digest hash = state.marks[at / kMarkEvery];
  std::string text;
  for (; at < count; ++at) {
    text.clear();
    write_chain(hash, state.hashes[at].digest, text);
    hash = hasher_.text(Domain::nodes, text);
  }
  return hash;
}

std::size_t NodesFold::bytes(const State& state) {
  return sizeof(State) + state.size() * (sizeof(Node) + sizeof(NodeHashes)) + state.calls.size() * sizeof(CallList) +
         state.entries.bytes() + state.callers.bytes() + state.call_aliases.bytes() + state.words.bytes();
}

std::size_t NodesFold::root_bytes(const State& state) {
  constexpr std::size_t kChunk = 128;  // of each list and index, a key for so many
  return sizeof(State) + state.words.bytes() + 5 * sizeof(PartKey) * state.entries.size() / kChunk + 4 * state.systems.size() +
         state.given_ids.bytes() + state.joined.bytes() + state.more_calls.bytes() + state.edits.bytes() + state.attached.bytes() +
         state.pins.bytes();
}

Ordinal NodesFold::State::unit_of(const Node& node) const {
  Ordinal unit = node.unit;
  if (joined.empty()) return unit;
  while (const Ordinal* up = joined.find(unit)) unit = *up;
  return unit;
}

const Overlay* NodesFold::State::overlay(Ordinal ordinal) const {
  if (const Overlay* edit = edits.empty() ? nullptr : edits.find(ordinal); edit != nullptr && !edit->removed) return edit;
  return attached.empty() ? nullptr : attached.find(ordinal);
}

bool NodesFold::State::removed(Ordinal ordinal) const {
  const Overlay* edit = edits.empty() ? nullptr : edits.find(ordinal);
  return edit != nullptr && edit->removed;
}

std::uint64_t NodesFold::State::bytes(Ordinal ordinal) const {
  const Overlay* over = overlay(ordinal);
  return over != nullptr ? over->bytes : nodes[ordinal].bytes;
}

std::uint32_t NodesFold::State::chars(Ordinal ordinal) const {
  const Overlay* over = overlay(ordinal);
  return over != nullptr ? over->chars : nodes[ordinal].chars;
}

std::optional<Ordinal> NodesFold::State::find(std::string_view id) const {
  if (const Ordinal* given = given_ids.find(id)) return *given;
  const std::size_t line = id.find('_');
  Ordinal ordinal = 0;
  if (!id.starts_with('n') || line == std::string_view::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(id.data() + 1, id.data() + line, ordinal);
  if (error != std::errc() || end != id.data() + line || ordinal >= size() || this->id(ordinal) != id) return std::nullopt;
  return ordinal;
}

std::optional<Ordinal> NodesFold::State::of_entry(std::string_view entry) const {
  const auto found = entries.find(entry);
  if (!found || *found % 2 == 0) return std::nullopt;
  return *found / 2;
}

NodesFold::State::State() = default;
NodesFold::State::State(const State&) = default;
NodesFold::State::State(State&&) noexcept = default;
NodesFold::State& NodesFold::State::operator=(const State&) = default;
NodesFold::State& NodesFold::State::operator=(State&&) noexcept = default;
NodesFold::State::~State() = default;

}  // namespace weir::ctree
