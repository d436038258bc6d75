#include "service/diff.h"

#include <algorithm>
#include <map>

#include "base/secrets.h"
#include "ctree/diff.h"
#include "ctree/payload.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "service/compile.h"
#include "service/render.h"
#include "session/bodies.h"
#include "session/path.h"

namespace weir {
namespace {

using ctree::Ordinal;
using json::Arena;
using json::Value;

Value ids_only(const Value& list, const Value& other, Arena& arena) {
  std::vector<Value> out;
  for (const Value& id : list.items()) {
    if (std::find(other.items().begin(), other.items().end(), id) == other.items().end()) out.push_back(id);
  }
  return json::make_array(arena, out);
}

// One side, whatever it is: the compiler's output as JSON, and the nodes where it is a place.
struct Side {
  std::optional<Compilation> place;
  json::Parser parser;
  std::string text;
  Value output;
};

Result<void> load(Service* service, const DiffSide& from, const ctree::CompileConfig& config, Side& side) {
  if (!from.address) {
    TRY(side.output, parse_output(from.stored, side.parser));
    return {};
  }
  TRY(side.place, compile_at(*service, {.address = *from.address, .config = config, .full = true}));
  side.text = json::canonical(side.place->compiled.to_json(side.parser.arena()));
  TRY(side.output, side.parser.parse_stored(side.text));
  return {};
}

Result<void> check_comparable(const Value& a, const Value& b) {
  for (const std::string_view key : {"profile", "schema_version"}) {
    const std::string_view in_a = a.text_or(key, ""), in_b = b.text_or(key, "");
    if (in_a == in_b) continue;
    return Error(ErrorCode::PROFILE_MISMATCH,
                 "hashes of " + masked_excerpt(in_a, 40) + " and " + masked_excerpt(in_b, 40) + " cannot be compared")
        .with("a", masked_excerpt(in_a, 40))
        .with("b", masked_excerpt(in_b, 40));
  }
  return {};
}

const Value* at(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* found = &value;
  for (const std::string_view key : path) {
    if (found != nullptr) found = found->find(key);
  }
  return found;
}

// The nodes of two places: where they part, and in what.
class NodeDiff {
 public:
  NodeDiff(Service& service, const Compilation& a, const Compilation& b, Arena& arena) : service_(service), a_(a), b_(b), arena_(arena) {}

  Result<Value> first(const ctree::Divergence& where, bool texts) {
    if (where.equal) return Value();
    const auto node = static_cast<Ordinal>(where.common);
    const ctree::PathOf pa{*a_.fold, *a_.state}, pb{*b_.fold, *b_.state};
    std::vector<Value> words;
    for (const std::string_view word : ctree::causes(pa, pb, where)) words.push_back(word);
    Value fields = Value::array({});
    if (node < a_.state->size() && node < b_.state->size()) {
      TRY(const Value in_a, node_json(service_, a_, node, PayloadForm::sanitised, arena_));
      TRY(const Value in_b, node_json(service_, b_, node, PayloadForm::sanitised, arena_));
      fields = ctree::field_differences(*in_a.find("payload"), *in_b.find("payload"), a_.fold->hasher(), texts, arena_);
    }
    TRY(const Value side_a, side(a_, node));
    TRY(const Value side_b, side(b_, node));
    return json::make_object(
        arena_, {{"ordinal", node}, {"a", side_a}, {"b", side_b}, {"cause", json::make_array(arena_, words)}, {"fields", fields}});
  }

 private:
  Result<Value> side(const Compilation& at, Ordinal node) {
    if (node >= at.state->size()) return Value::object({});
    TRY(const Value shown, node_json(service_, at, node, PayloadForm::hash, arena_));
    std::string_view entry;
    TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
      TRY(const auto found, reader.entry(at.located.session.no, at.state->nodes[node].seq, Columns::without_body));
      if (found) entry = arena_.copy(found->id.str());
      return {};
    }));
    return json::make_object(arena_, {{"digest", *shown.find("digest")},
                                      {"entry_id", entry},
                                      {"kind", *shown.find("kind")},
                                      {"node_id", *shown.find("id")},
                                      {"turn", *shown.find("turn")}});
  }

  Service& service_;
  const Compilation& a_;
  const Compilation& b_;
  Arena& arena_;
};

// What stored outputs tell of the selection, as far as their lists are there.
Value listed_differences(const Value& a, const Value& b, Arena& arena) {
  const Value* in_a = at(a, {"stages", "SPEC", "selection", "selected_ids"});
  const Value* in_b = at(b, {"stages", "SPEC", "selection", "selected_ids"});
  const bool whole = in_a != nullptr && in_b != nullptr && in_a->is_array() && in_b->is_array();
  const Value none = Value::array({});
  std::vector<Value> changed;
  std::map<std::string_view, std::string_view> reasons;
  const Value *items_a = at(a, {"stages", "SPEC", "selected"}), *items_b = at(b, {"stages", "SPEC", "selected"});
  for (const Value& item : items_a == nullptr ? std::span<const Value>() : items_a->items())
    reasons[item.text_or("id", "")] = item.text_or("reason", "");
  for (const Value& item : items_b == nullptr ? std::span<const Value>() : items_b->items()) {
    const auto before = reasons.find(item.text_or("id", ""));
    if (before == reasons.end() || before->second == item.text_or("reason", "")) continue;
    changed.push_back(json::make_object(arena, {{"id", before->first}, {"a", before->second}, {"b", item.text_or("reason", "")}}));
  }
  return json::make_object(arena, {{"only_a", whole ? ids_only(*in_a, *in_b, arena) : none},
                                   {"only_b", whole ? ids_only(*in_b, *in_a, arena) : none},
                                   {"reason_changed", json::make_array(arena, changed)}});
}

Result<Difference> diff_stages(Service* service, const DiffQuery& query) {
  Arena arena;
  Side a, b;
  TRY_DO(load(service, query.a, query.config, a));
  TRY_DO(load(service, query.b, query.config, b));
  TRY_DO(check_comparable(a.output, b.output));
  bool equal = true;
  json::ObjectBuilder stages(arena), out(arena);
  for (int i = 0; i < 4; ++i) {
    const std::string z = "z" + std::to_string(i + 1);
    const Value* in_a = at(a.output, {"hashes", z});
    const Value* in_b = at(b.output, {"hashes", z});
    const bool same = in_a != nullptr && in_b != nullptr && *in_a == *in_b;
    if (in_a != nullptr || in_b != nullptr) stages.add(ctree::kStageNames[i], same);
    equal &= same || (in_a == nullptr && in_b == nullptr);
  }
  const Value *config_a = a.output.find("config"), *config_b = b.output.find("config");
  const Value config =
      config_a != nullptr && config_b != nullptr ? ctree::value_differences(*config_a, *config_b, arena) : Value::array({});
  Value common, first;
  Value selection = listed_differences(a.output, b.output, arena);
  if (a.place && b.place) {
    const ctree::PathOf pa{*a.place->fold, *a.place->state}, pb{*b.place->fold, *b.place->state};
    const ctree::Divergence where = ctree::diverge(pa, pb);
    common = where.common;
    TRY(first, NodeDiff(*service, *a.place, *b.place, arena).first(where, query.texts));
    selection = ctree::selection_differences(pa, a.place->compiled.selection, pb, b.place->compiled.selection, arena);
    equal &= where.equal;
  } else {
    const Value *in_a = at(a.output, {"hashes", "node_hash"}), *in_b = at(b.output, {"hashes", "node_hash"});
    const Value* count = a.output.find("node_count");
    if (count != nullptr && in_a != nullptr && in_b != nullptr && *in_a == *in_b) common = *count;
  }
  out.add("equal", equal).add("common_nodes", common).add("first_divergence", first).add("config", config).add("selection", selection);
  return Difference{equal, json::canonical(out.add("stages", stages.build()).build())};
}

// ---- entries ----

struct EntryPath {
  Located located;
  std::vector<Seq> seqs;
};

Result<Difference> diff_entries(Service& service, const DiffQuery& query) {
  Arena arena;
  bool equal = false;
  std::string text;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    EntryPath a, b;
    for (const auto& [side, path] : {std::pair{&query.a, &a}, std::pair{&query.b, &b}}) {
      if (!side->address) return Error(ErrorCode::INVALID_FIELD, "entries are compared between two places of the log");
      TRY(path->located, locate(reader, *side->address));
      TRY(path->seqs, path_to(reader, path->located.session.no, path->located.seq));
    }
    const auto entry = [&](const EntryPath& path, std::size_t i) -> Result<Entry> {
      TRY(auto found, reader.entry(path.located.session.no, path.seqs[i], Columns::all));
      if (!found) return missing_entry(reader, path.located.session.no, path.seqs[i]);
      return std::move(*found);
    };
    // An entry's digest covers its parent's: so two paths that part never meet again.
    std::size_t low = 0, high = std::min(a.seqs.size(), b.seqs.size());
    while (low < high) {
      const std::size_t middle = low + (high - low + 1) / 2;
      TRY(const Entry in_a, entry(a, middle - 1));
      TRY(const Entry in_b, entry(b, middle - 1));
      if (in_a.digest == in_b.digest) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    equal = low == a.seqs.size() && low == b.seqs.size();
    Value first;
    if (!equal) {
      std::vector<Value> cause;
      Value sides[2] = {Value::object({}), Value::object({})};
      std::optional<Entry> found[2];
      for (int i = 0; i < 2; ++i) {
        const EntryPath& path = i == 0 ? a : b;
        if (low >= path.seqs.size()) {
          cause.push_back(i == 0 ? "missing_in_a" : "missing_in_b");
          continue;
        }
        TRY(found[i], entry(path, low));
        sides[i] = json::make_object(arena, {{"entry_id", arena.copy(found[i]->id.str())},
                                             {"type", arena.copy(found[i]->type)},
                                             {"digest", arena.copy(found[i]->digest.hex())},
                                             {"seq", found[i]->seq}});
      }
      if (found[0] && found[1] && found[0]->type != found[1]->type) cause.push_back("type");
      if (found[0] && found[1] && found[0]->body != found[1]->body) cause.push_back("body");
      first = json::make_object(arena, {{"place", low}, {"a", sides[0]}, {"b", sides[1]}, {"cause", json::make_array(arena, cause)}});
    }
    text = json::canonical(json::make_object(arena, {{"equal", equal}, {"common_entries", low}, {"first_divergence", first}}));
    return {};
  }));
  return Difference{equal, std::move(text)};
}

}  // namespace

Result<Difference> diff(Service* service, const DiffQuery& query) {
  return query.what == DiffWhat::entries ? diff_entries(*service, query) : diff_stages(service, query);
}

Result<Value> parse_output(const std::string& text, json::Parser& parser) {
  TRY(const Value output, parser.parse_stored(text));
  if (!output.is_object() || output.text_or("kind", "") != "ctree_compiler" || output.find("hashes") == nullptr)
    return Error(ErrorCode::INVALID_FIELD, "this is no output of 'weir compile --json'").with_fields({{"/kind", "must be ctree_compiler"}});
  constexpr std::string_view kKnown[] = {"weir-1", "weir-1+hmac", "0.1"};
  const std::string_view version = output.text_or("schema_version", "");
  if (std::find(std::begin(kKnown), std::end(kKnown), version) == std::end(kKnown)) {
    return Error(ErrorCode::SCHEMA_UNKNOWN, "schema version '" + masked_excerpt(version, 40) + "' is not known")
        .with("schema_version", masked_excerpt(version, 40));
  }
  // Without hashes there is nothing to compare, which is not "different".
  json::FieldErrors errors;
  const bool foreign = version == "0.1";
  const std::size_t length = foreign ? 40 : 64;
  for (const std::string_view key : {"node_hash", "selection_sha256", "z1", "z2", "z3", "z4"}) {
    if (foreign && (key == "z4" || key == "selection_sha256")) continue;
    const Value* hash = at(output, {"hashes", key});
    const bool fine = hash != nullptr && hash->is_string() && hash->text().size() == length &&
                      hash->text().find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (!fine) errors.add("/hashes/" + std::string(key), "must be " + std::to_string(length) + " hex digits");
  }
  TRY_DO(errors.result());
  return output;
}

Result<Expectation> compare_with_output(const Compilation& at_place, const std::string& text) {
  json::Parser parser;
  TRY(const Value output, parse_output(text, parser));
  Arena arena;
  TRY_DO(check_comparable(output, at_place.compiled.to_json(arena)));
  const Value found = at_place.compiled.hashes_json(arena);
  json::ObjectBuilder expected(arena), here(arena);
  bool met = true;
  for (const std::string_view key : {"selection_sha256", "z4"}) {
    const Value* wanted = at(output, {"hashes", key});
    expected.add(key, wanted == nullptr ? Value() : *wanted);
    here.add(key, *found.find(key));
    met &= wanted != nullptr && *wanted == *found.find(key);
  }
  return Expectation{met,
                     json::canonical(json::make_object(arena, {{"expected", expected.build()}, {"found", here.build()}, {"match", met}}))};
}

}  // namespace weir
