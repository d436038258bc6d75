#include "compaction/event.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "compaction/snapshot.h"
#include "json/canonical.h"
#include "json/decode.h"

namespace weir::compaction {
namespace {

using json::Value;

constexpr std::string_view kNames[] = {
#define WEIR_X(name) #name,
    WEIR_RUN_EVENTS(WEIR_X)
#undef WEIR_X
};

enum class Kind {
  id,         // 1 to 256 bytes, no control characters
  text,       // not empty
  any_text,   // may be empty
  from_one,   // integer >= 1
  from_zero,  // integer >= 0
  flag,
  object,
  small_object,
  text_or_object,
  ids,      // array of ids
  texts,    // array of strings
  actions,  // 1 to 3 texts
  span,
  hash,      // 64 hex digits
  blob,      // sha256:<hash>
  one_of,    // a word of a list
  config,    // of RUN_STARTED
  names,     // namespace of RUN_STARTED
  manifest,  // of CONTEXT_MANIFEST_WRITTEN
};

struct Field {
  std::string_view name;
  Kind kind;
  bool required = false;
  std::string_view words = {};  // of one_of, each with a space behind it
};

constexpr Field kCommon[] = {
    {"step_id", Kind::from_zero},
    {"attempt", Kind::from_one},
    {"phase", Kind::one_of, false, "COMPILE PLAN ACT OBSERVE CHECKPOINT EGRESS "},
    {"actor", Kind::one_of, false, "RUNTIME PLANNER EXECUTOR HUMAN COMPACTOR "},
};
constexpr Field kConfig[] = {{"event_threshold", Kind::from_one},
                             {"n_step_fallback", Kind::from_one},
                             {"plain_bytes_threshold", Kind::from_zero},
                             {"require_manifests", Kind::flag}};
constexpr Field kNamespace[] = {{"index_id", Kind::id}, {"corpus_id", Kind::id}};
constexpr Field kManifest[] = {{"retrieval_query", Kind::any_text},
                               {"candidate_chunk_ids", Kind::texts},
                               {"selected_chunk_ids", Kind::texts},
                               {"selected_source_ids", Kind::texts},
                               {"filters", Kind::texts}};
constexpr Field kSpan[] = {{"unit", Kind::text, true}, {"start", Kind::from_zero, true}, {"end", Kind::from_zero, true}};

constexpr Field kRunStarted[] = {{"objective", Kind::text, true},
                                 {"done_definition", Kind::text_or_object, true},
                                 {"provenance_mode", Kind::one_of, false, "audit_only quotes_checked "},
                                 {"policy_snapshot_ref", Kind::any_text},
                                 {"budgets", Kind::small_object},
                                 {"config", Kind::config},
                                 {"namespace", Kind::names}};
constexpr Field kRunStopped[] = {
    {"stop_reason", Kind::one_of, true, "OBJECTIVE_ACHIEVED BUDGET_EXCEEDED NO_EVIDENCE HUMAN_REQUESTED SYSTEM_ERROR "},
    {"limit_type", Kind::one_of, false, "HARD SOFT N/A "},
    {"diagnostic", Kind::any_text}};
constexpr Field kRunResumed[] = {{"note", Kind::any_text}, {"forgive", Kind::ids}};
constexpr Field kThresholdsSet[] = {{"event_threshold", Kind::from_one},
                                    {"n_step_fallback", Kind::from_one},
                                    {"plain_bytes_threshold", Kind::from_zero},
                                    {"reason", Kind::any_text}};
constexpr Field kStepStarted[] = {{"step_id", Kind::from_zero, true}};
constexpr Field kReasonOnly[] = {{"reason", Kind::any_text}};
constexpr Field kErrorCode[] = {{"error_code", Kind::any_text}};
constexpr Field kSource[] = {{"source_id", Kind::id, true}, {"title", Kind::any_text},        {"uri", Kind::any_text},
                             {"sha256", Kind::hash, true},  {"bytes", Kind::from_zero, true}, {"blob", Kind::blob},
                             {"index_id", Kind::id},        {"corpus_id", Kind::id}};
constexpr Field kChunk[] = {{"chunk_id", Kind::id, true}, {"source_id", Kind::id, true},    {"span", Kind::span, true},
                            {"sha256", Kind::hash, true}, {"bytes", Kind::from_zero, true}, {"blob", Kind::blob},
                            {"delivered", Kind::flag}};
constexpr Field kEvidence[] = {{"evidence_id", Kind::id, true},
                               {"index_id", Kind::id},
                               {"corpus_id", Kind::id},
                               {"source_id", Kind::id, true},
                               {"chunk_id", Kind::id, true},
                               {"span", Kind::span, true},
                               {"quote_sha256", Kind::hash, true},
                               {"quote_bytes", Kind::from_zero, true}};
constexpr Field kLink[] = {{"claim_id", Kind::id, true}, {"evidence_id", Kind::id, true}};
constexpr Field kWithdrawn[] = {{"evidence_id", Kind::id, true}, {"reason", Kind::any_text}};
constexpr Field kProposed[] = {{"claim_id", Kind::id, true}, {"statement", Kind::text, true}};
constexpr Field kClaim[] = {{"claim_id", Kind::id, true}, {"reason", Kind::any_text}};
constexpr Field kConflict[] = {
    {"conflict_id", Kind::id, true}, {"description", Kind::text, true}, {"side_a", Kind::ids, true}, {"side_b", Kind::ids, true}};
constexpr Field kCited[] = {{"conflict_id", Kind::id, true}, {"side", Kind::one_of, true, "a b "}, {"evidence_id", Kind::id, true}};
constexpr Field kResolved[] = {{"conflict_id", Kind::id, true}, {"resolution", Kind::any_text}};
constexpr Field kOpened[] = {{"question_id", Kind::id, true}, {"text", Kind::text, true}};
constexpr Field kClosed[] = {{"question_id", Kind::id, true}, {"answer_claim_id", Kind::id}, {"reason", Kind::any_text}};
constexpr Field kFailure[] = {{"category", Kind::text, true},
                              {"where", Kind::text, true},
                              {"why", Kind::text, true},
                              {"error_code", Kind::any_text},
                              {"tool_name", Kind::any_text}};
constexpr Field kMended[] = {{"failure_id", Kind::id, true}, {"status", Kind::one_of, true, "resolved superseded "}};
constexpr Field kNext[] = {{"actions", Kind::actions, true}};
constexpr Field kAttached[] = {{"target", Kind::id, true}, {"snapshot", Kind::object, true}};
constexpr Field kWrittenManifest[] = {{"manifest_id", Kind::id, true}, {"manifest", Kind::manifest, true}};

// In the order of the events.
constexpr std::span<const Field> kFields[] = {
    /*RUN_STARTED*/ kRunStarted,
    /*RUN_STOPPED*/ kRunStopped,
    /*RUN_RESUMED*/ kRunResumed,
    /*THRESHOLDS_SET*/ kThresholdsSet,
    /*STEP_STARTED*/ kStepStarted,
    /*STEP_ABORTED*/ kReasonOnly,
    /*PLAN_DONE*/ std::span<const Field>(),
    /*ACT_DONE*/ std::span<const Field>(),
    /*OBSERVE_DONE*/ std::span<const Field>(),
    /*PLAN_FAILED*/ kErrorCode,
    /*ACT_FAILED*/ kErrorCode,
    /*SOURCE_REGISTERED*/ kSource,
    /*CHUNK_REGISTERED*/ kChunk,
    /*EVIDENCE_REGISTERED*/ kEvidence,
    /*EVIDENCE_ATTACHED*/ kLink,
    /*EVIDENCE_DETACHED*/ kLink,
    /*EVIDENCE_WITHDRAWN*/ kWithdrawn,
    /*CLAIM_PROPOSED*/ kProposed,
    /*CLAIM_VERIFIED*/ kClaim,
    /*CLAIM_DOWNGRADED*/ kClaim,
    /*CLAIM_RETRACTED*/ kClaim,
    /*CONFLICT_RECORDED*/ kConflict,
    /*CONFLICT_CITED*/ kCited,
    /*CONFLICT_RESOLVED*/ kResolved,
    /*QUESTION_OPENED*/ kOpened,
    /*QUESTION_CLOSED*/ kClosed,
    /*FAILURE_RECORDED*/ kFailure,
    /*FAILURE_RESOLVED*/ kMended,
    /*NEXT_ACTIONS_SET*/ kNext,
    /*COMPACTION_FAILED*/ std::span<const Field>(),
    /*SNAPSHOT_ATTACHED*/ kAttached,
    /*CONTEXT_MANIFEST_WRITTEN*/ kWrittenManifest,
};
static_assert(std::size(kFields) == std::size(kNames));

bool has_control(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode_utf8(text, at);
    if (!c || is_control(*c)) return true;
  }
  return false;
}

bool is_hash(std::string_view text) { return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

// Where a field stands; put together only when it is wrong.
struct FieldPath {
  const FieldPath* in = nullptr;
  std::string_view name;
  std::size_t index = 0;
  bool item = false;

  std::string str() const {
    const std::string above = in == nullptr ? "" : in->str();
    if (item) return above + "[" + std::to_string(index) + "]";
    return above.empty() ? std::string(name) : above + "." + std::string(name);
  }
};

class Shape {
 public:
  Shape(bool first_only, std::vector<WrongField>& out) : first_only_(first_only), out_(out) {}

  void all(std::span<const Field> fields, const Value& body, const FieldPath* in = nullptr) {
    for (const Field& field : fields) {
      if (first_only_ && !out_.empty()) return;
      const Value* value = body.find(field.name);
      const bool there = value != nullptr && !value->is_null();
      const FieldPath path{in, field.name};
      if (!there && field.required) wrong(path, "is missing");
      if (there) one(field, *value, path);
    }
  }

 private:
  void wrong(const FieldPath& path, std::string problem) { out_.push_back({path.str(), std::move(problem)}); }
  void type(const FieldPath& path, const Value& value, std::string_view expected) {
    wrong(path, "is " + std::string(json::kind_name(value)) + ", expected " + std::string(expected));
  }
  void too_long(const FieldPath& path, std::uint64_t bytes, std::uint64_t most) {
    out_.push_back({path.str(), "is " + std::to_string(bytes) + " bytes, at most " + std::to_string(most), most, bytes});
  }

  bool string(const FieldPath& path, const Value& value, std::size_t most, bool may_be_empty) {
    // A string so long that it left for a blob.
    if (const Value* bytes = value.find("bytes"); value.find("$blob") != nullptr && bytes != nullptr && bytes->is_integer()) {
      too_long(path, static_cast<std::uint64_t>(bytes->integer()), most);
      return false;
    }
    if (!value.is_string()) {
      type(path, value, "string");
      return false;
    }
    if (!may_be_empty && value.text().empty()) {
      wrong(path, "is empty");
      return false;
    }
    if (value.text().size() > most) {
      too_long(path, value.text().size(), most);
      return false;
    }
    return true;
  }
  void id(const FieldPath& path, const Value& value) {
    if (string(path, value, kMostId, false) && has_control(value.text())) wrong(path, "has a control character");
  }
  void integer(const FieldPath& path, const Value& value, std::int64_t least) {
    if (value.kind() == json::Kind::big_integer) return wrong(path, "is out of range");
    if (!value.is_integer()) return type(path, value, "integer");
    if (value.integer() < least) wrong(path, "is " + std::to_string(value.integer()) + ", at least " + std::to_string(least));
  }
  void list(const FieldPath& path, const Value& value, bool ids, bool may_be_empty) {
    if (!value.is_array()) return type(path, value, "array");
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      const FieldPath at{&path, {}, i, true};
      if (ids) {
        id(at, value.items()[i]);
      } else {
        string(at, value.items()[i], kMostText, may_be_empty);
      }
      if (first_only_ && !out_.empty()) return;
    }
  }
  void object(const FieldPath& path, const Value& value, std::span<const Field> fields) {
    if (!value.is_object()) return type(path, value, "object");
    all(fields, value, &path);
  }
  void span(const FieldPath& path, const Value& value) {
    const std::size_t before = out_.size();
    object(path, value, kSpan);
    if (out_.size() != before || !value.is_object()) return;
    const std::int64_t start = value.find("start")->integer(), end = value.find("end")->integer();
    if (start >= end) wrong(path, "is " + std::to_string(start) + " to " + std::to_string(end) + ", start must be before end");
  }
  void one_of(const FieldPath& path, const Value& value, std::string_view words) {
    if (!value.is_string()) return type(path, value, "string");
    const std::string word = std::string(value.text()) + " ";
    const std::size_t at =
        value.text().empty() || value.text().find(' ') != std::string_view::npos ? std::string_view::npos : words.find(word);
    if (at != std::string_view::npos && (at == 0 || words[at - 1] == ' ')) return;
    std::string list(words.substr(0, words.size() - 1));
    std::replace(list.begin(), list.end(), ' ', '|');
    wrong(path, "is " + json::canonical(utf8_prefix(value.text(), 80)) + ", expected " + list);
  }
  void large(const FieldPath& path, const Value& value) {
    const std::size_t bytes = json::canonical(value).size();
    if (bytes > kMostText) too_long(path, bytes, kMostText);
  }

  void one(const Field& field, const Value& value, const FieldPath& path) {
    switch (field.kind) {
      case Kind::id:
        return id(path, value);
      case Kind::text:
        return void(string(path, value, kMostText, false));
      case Kind::any_text:
        return void(string(path, value, kMostText, true));
      case Kind::from_one:
        return integer(path, value, 1);
      case Kind::from_zero:
        return integer(path, value, 0);
      case Kind::flag:
        return value.is_boolean() ? void() : type(path, value, "boolean");
      case Kind::object:
        return value.is_object() ? void() : type(path, value, "object");
      case Kind::small_object:
        return value.is_object() ? large(path, value) : type(path, value, "object");
      case Kind::text_or_object:
        return value.is_string() || value.is_object() ? large(path, value) : type(path, value, "object or string");
      case Kind::ids:
        return list(path, value, true, false);
      case Kind::texts:
        return list(path, value, false, true);
      case Kind::actions:
        list(path, value, false, false);
        if (value.is_array() && (value.items().empty() || value.items().size() > 3))
          wrong(path, "has " + std::to_string(value.items().size()) + " items, expected 1 to 3");
        return;
      case Kind::span:
        return span(path, value);
      case Kind::hash:
        return value.is_string() && is_hash(value.text()) ? void() : wrong(path, "is not a SHA-256 in hex");
      case Kind::blob:
        return value.is_string() && value.text().starts_with("sha256:") && is_hash(value.text().substr(7))
                   ? void()
                   : wrong(path, "is not sha256:<hex>");
      case Kind::one_of:
        return one_of(path, value, field.words);
      case Kind::config:
        return object(path, value, kConfig);
      case Kind::names:
        return object(path, value, kNamespace);
      case Kind::manifest:
        return object(path, value, kManifest);
    }
  }

  const bool first_only_;
  std::vector<WrongField>& out_;
};

bool none_of(const Value& body, std::initializer_list<std::string_view> keys) {
  return std::none_of(keys.begin(), keys.end(), [&](std::string_view key) {
    const Value* value = body.find(key);
    return value != nullptr && !value->is_null();
  });
}

}  // namespace

std::optional<Event> parse_event(std::string_view type) {
  // Sorted once: every entry asks.
  static const auto sorted = [] {
    std::array<std::pair<std::string_view, Event>, std::size(kNames)> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = {kNames[i], static_cast<Event>(i)};
    std::sort(all.begin(), all.end());
    return all;
  }();
  const auto it = std::lower_bound(sorted.begin(), sorted.end(), type, [](const auto& item, std::string_view t) { return item.first < t; });
  return it == sorted.end() || it->first != type ? std::nullopt : std::optional(it->second);
}

std::string_view event_name(Event event) { return kNames[static_cast<int>(event)]; }

std::optional<int> counted_bit(Event event) {
  if (event < Event::PLAN_DONE || event > Event::OBSERVE_DONE) return std::nullopt;
  return static_cast<int>(event) - static_cast<int>(Event::PLAN_DONE);
}

bool is_step_event(Event event) { return event >= Event::STEP_STARTED && event <= Event::OBSERVE_DONE; }

std::vector<WrongField> wrong_fields(Event event, const Value& body, bool first_only) {
  std::vector<WrongField> out;
  Shape shape(first_only, out);
  shape.all(kFields[static_cast<int>(event)], body);
  shape.all(kCommon, body);
  if (event == Event::EVIDENCE_REGISTERED && none_of(body, {"index_id", "corpus_id"})) out.push_back({"index_id", "is missing"});
  // A field that is both the event's own and common is named once.
  const auto same = [](const WrongField& a, const WrongField& b) { return a.field == b.field; };
  for (std::size_t i = 1; i < out.size();) {
    const bool twice =
        std::any_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(i), [&](const WrongField& w) { return same(w, out[i]); });
    twice ? void(out.erase(out.begin() + static_cast<std::ptrdiff_t>(i))) : void(++i);
  }
  return out;
}

std::optional<std::string> text_in(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  return value != nullptr && value->is_string() ? std::optional(std::string(value->text())) : std::nullopt;
}

std::optional<std::int64_t> integer_in(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  return value != nullptr && value->is_integer() ? std::optional(value->integer()) : std::nullopt;
}

std::vector<std::string> texts_in(const Value& body, std::string_view key) {
  std::vector<std::string> out;
  if (const Value* list = body.find(key)) {
    for (const Value& item : list->items()) {
      if (item.is_string()) out.emplace_back(item.text());
    }
  }
  return out;
}

Span span_in(const Value& body) {
  const Value& span = *body.find("span");
  return {std::string(span.text_or("unit", "")), span.find("start")->integer(), span.find("end")->integer()};
}

Source source_in(const Value& body) {
  return {std::string(body.text_or("title", "")),
          text_in(body, "uri"),
          text_in(body, "blob"),
          text_in(body, "index_id"),
          text_in(body, "corpus_id"),
          std::string(body.text_or("sha256", "")),
          integer_in(body, "bytes").value_or(0)};
}

Chunk chunk_in(const Value& body) {
  const Value* delivered = body.find("delivered");
  return {std::string(body.text_or("source_id", "")), span_in(body),         std::string(body.text_or("sha256", "")),
          integer_in(body, "bytes").value_or(0),      text_in(body, "blob"), delivered != nullptr && delivered->boolean()};
}

Evidence evidence_in(const Value& body) {
  return {text_in(body, "index_id"),
          text_in(body, "corpus_id"),
          std::string(body.text_or("source_id", "")),
          std::string(body.text_or("chunk_id", "")),
          span_in(body),
          std::string(body.text_or("quote_sha256", "")),
          integer_in(body, "quote_bytes").value_or(0)};
}

std::string failure_id_in(const Value& body) {
  return derive_failure_id(body.text_or("category", ""), body.text_or("where", ""), text_in(body, "error_code"),
                           text_in(body, "tool_name"));
}

}  // namespace weir::compaction
