#include "compaction/evidence.h"

#include <algorithm>

#include "base/limits.h"
#include "compaction/snapshot.h"
#include "json/decode.h"

namespace weir::compaction {
namespace {

using json::Arena;
using json::Value;

// The first member of a key stays, so what is added here wins over what the body has.
class Changes {
 public:
  Changes(const Value& body, Arena& arena) : body_(body), arena_(arena), out_(arena) {}
  void set(std::string_view key, Value value) {
    out_.add(key, value);
    changed_ = true;
  }
  void set_text(std::string_view key, const std::string& text) { set(key, arena_.copy(text)); }
  void drop(std::string_view key) {
    dropped_.push_back(key);
    changed_ = true;
  }
  bool changed() const { return changed_; }
  Value build() {
    for (const json::Member& member : body_.members()) {
      if (std::find(dropped_.begin(), dropped_.end(), member.key) == dropped_.end()) out_.add(member.key, member.value);
    }
    return out_.build();
  }

 private:
  const Value& body_;
  Arena& arena_;
  json::ObjectBuilder out_;
  std::vector<std::string_view> dropped_;
  bool changed_ = false;
};

bool absent(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  return value == nullptr || value->is_null();
}

using Bytes = std::optional<std::string>;

// Nothing: it is not stored, or damaged. That the system has run out of descriptors says neither.
Result<Bytes> blob_bytes(const std::optional<std::string>& name, Blobs& blobs) {
  if (!name || !name->starts_with("sha256:")) return Bytes();
  const auto digest = Digest::parse(std::string_view(*name).substr(7));
  if (!digest.ok()) return Bytes();
  auto bytes = blobs.get(*digest);
  if (bytes.ok()) return Bytes(std::move(bytes).value());
  if (bytes.error().code() == ErrorCode::BUSY) return bytes.error();
  return Bytes();
}

Bytes cut_out(const Bytes& bytes, const Span& span) {
  if (!bytes || !span.counts_bytes() || span.start < 0 || span.end < span.start || static_cast<std::uint64_t>(span.end) > bytes->size())
    return std::nullopt;
  return bytes->substr(static_cast<std::size_t>(span.start), static_cast<std::size_t>(span.end - span.start));
}

Result<Bytes> source_bytes(const RunState& state, std::string_view source_id, Blobs& blobs) {
  const Source* source = state.sources.find(source_id);
  if (source == nullptr) return Bytes();
  return blob_bytes(source->blob, blobs);
}

bool has_span(const Value& body) {
  const Value* span = body.find("span");
  return span != nullptr && span->find("unit") != nullptr && span->find("unit")->is_string() && span->find("start") != nullptr &&
         span->find("start")->is_integer() && span->find("end") != nullptr && span->find("end")->is_integer();
}

Error field_error(Event event, const std::string& field, const std::string& problem) {
  return wrong_field_error(event, {{field, problem}}, "/body");
}

Error quote_mismatch(const std::string& found, std::string_view said) {
  return Error(ErrorCode::QUOTE_MISMATCH, "quote hashes to " + found + ", event says " + std::string(said));
}

Result<Value> take_quote(const Value& body, bool strict, Arena& arena) {
  const Value* quote = body.find("quote");
  Changes out(body, arena);
  out.drop("quote");
  if (quote != nullptr && quote->is_string()) {
    const std::string hash = sha256(quote->text()).hex();
    if (absent(body, "quote_sha256")) {
      out.set_text("quote_sha256", hash);
    } else if (strict && body.text_or("quote_sha256", "") != hash) {
      return quote_mismatch(hash, body.text_or("quote_sha256", ""));
    }
    if (absent(body, "quote_bytes")) out.set("quote_bytes", quote->text().size());
  }
  return out.build();
}

constexpr std::string_view kFileChunk = "file:";

class Completing {
 public:
  Completing(const Value& body, const RunState& state, Blobs& blobs, Arena& arena)
      : body_(body), state_(state), blobs_(blobs), arena_(arena), out_(body, arena) {}

  void run_started(const Thresholds& defaults) {
    if (absent(body_, "config")) out_.set("config", thresholds_json(defaults, arena_));
  }

  Result<void> chunk() {
    if (!has_span(body_) || (!absent(body_, "sha256") && !absent(body_, "bytes"))) return {};
    TRY(const Bytes source, source_bytes(state_, body_.text_or("source_id", ""), blobs_));
    const Bytes bytes = cut_out(source, span_in(body_));
    if (!bytes) return {};
    if (absent(body_, "sha256")) out_.set_text("sha256", sha256(*bytes).hex());
    if (absent(body_, "bytes")) out_.set("bytes", bytes->size());
    return {};
  }

  Result<void> evidence() {
    const std::string chunk_id(body_.text_or("chunk_id", ""));
    const Chunk* chunk = state_.chunks.find(chunk_id);
    Evidence evidence;
    evidence.chunk_id = chunk_id;
    evidence.source_id = body_.text_or("source_id", "");
    if (evidence.source_id.empty()) {
      if (chunk != nullptr) evidence.source_id = chunk->source_id;
      if (chunk == nullptr && chunk_id.starts_with(kFileChunk)) evidence.source_id = chunk_id.substr(0, chunk_id.rfind('#'));
      if (!evidence.source_id.empty()) out_.set_text("source_id", evidence.source_id);
    }
    evidence.index_id = text_in(body_, "index_id");
    evidence.corpus_id = text_in(body_, "corpus_id");
    if (!evidence.index_id && !evidence.corpus_id) find_namespace(evidence);
    if (!has_span(body_) || chunk_id.empty()) return {};
    evidence.span = span_in(body_);
    if (absent(body_, "evidence_id")) {
      if (const std::string id = derive_evidence_id(evidence); !id.empty()) out_.set_text("evidence_id", id);
    }
    if (!absent(body_, "quote_sha256") && !absent(body_, "quote_bytes")) return {};
    TRY(const Bytes bytes, chunk_bytes(state_, chunk_id, blobs_));
    const Bytes quote = cut_out(bytes, evidence.span);
    if (!quote) return {};
    if (absent(body_, "quote_sha256")) out_.set_text("quote_sha256", sha256(*quote).hex());
    if (absent(body_, "quote_bytes")) out_.set("quote_bytes", quote->size());
    return {};
  }

  std::optional<Value> done() { return out_.changed() ? std::optional(out_.build()) : std::nullopt; }

 private:
  // The source's, else the run's, else that of files.
  void find_namespace(Evidence& evidence) {
    const auto take = [&](const std::optional<std::string>& index, const std::optional<std::string>& corpus) {
      if (!index && !corpus) return false;
      evidence.index_id = index;
      evidence.corpus_id = index ? std::nullopt : corpus;
      return true;
    };
    const Source* source = state_.sources.find(evidence.source_id);
    const Run* run = state_.run.get();
    const bool found = (source != nullptr && take(source->index_id, source->corpus_id)) ||
                       (run != nullptr && take(run->index_id, run->corpus_id)) ||
                       (evidence.chunk_id.starts_with(kFileChunk) && take(std::nullopt, "files"));
    if (!found) return;
    const auto set = [&](std::string_view key, const std::optional<std::string>& id) {
      out_.set(key, id ? Value(arena_.copy(*id)) : Value());
    };
    set("index_id", evidence.index_id);
    set("corpus_id", evidence.corpus_id);
  }

  const Value& body_;
  const RunState& state_;
  Blobs& blobs_;
  Arena& arena_;
  Changes out_;
};

Result<void> check_span(Event event, const Span& span, std::optional<std::int64_t> bytes, std::string_view of) {
  if (!bytes || !span.counts_bytes() || span.end <= *bytes) return {};
  return field_error(event, "span",
                     "ends at " + std::to_string(span.end) + ", the " + std::string(of) + " has " + std::to_string(*bytes) + " bytes");
}

}  // namespace

Result<std::optional<std::string>> chunk_bytes(const RunState& state, const std::string& chunk_id, Blobs& blobs) {
  const Chunk* chunk = state.chunks.find(chunk_id);
  if (chunk == nullptr) return Bytes();
  TRY(Bytes bytes, chunk->blob ? blob_bytes(chunk->blob, blobs) : source_bytes(state, chunk->source_id, blobs));
  if (!chunk->blob) bytes = cut_out(bytes, chunk->span);
  return bytes && sha256(*bytes).hex() == chunk->sha256 ? std::move(bytes) : Bytes();
}

Result<Value> take_texts(Event event, const Value& body, const Masker& masker, Blobs& blobs, bool strict, Arena& arena) {
  if (event == Event::EVIDENCE_REGISTERED && body.find("quote") != nullptr) return take_quote(body, strict, arena);
  const Value* text = body.find("text");
  if ((event != Event::SOURCE_REGISTERED && event != Event::CHUNK_REGISTERED) || text == nullptr) return body;
  if (text->is_null()) {
    Changes out(body, arena);
    out.drop("text");
    return out.build();
  }
  if (!text->is_string() && !strict) return body;
  if (!text->is_string()) return field_error(event, "text", "is " + std::string(json::kind_name(*text)) + ", expected string");
  const std::string hash = sha256(text->text()).hex();
  if (strict && !absent(body, "sha256") && body.text_or("sha256", "") != hash)
    return field_error(event, "sha256", "is " + std::string(body.text_or("sha256", "")) + ", the text gives " + hash);
  Changes out(body, arena);
  out.drop("text");
  out.set_text("sha256", hash);
  out.set("bytes", text->text().size());
  MaskCounts found;
  if (masker.mask(text->text(), found)) {
    out.set("blob", nullptr);
  } else {
    TRY(const Digest digest, blobs.put(text->text()));
    out.set_text("blob", "sha256:" + digest.hex());
  }
  return out.build();
}

bool is_completed(Event event) {
  return event == Event::RUN_STARTED || event == Event::CHUNK_REGISTERED || event == Event::EVIDENCE_REGISTERED;
}

Result<std::optional<Value>> complete(Event event, const Value& body, const RunState& state, const Thresholds& defaults, Blobs& blobs,
                                      Arena& arena) {
  Completing completing(body, state, blobs, arena);
  if (event == Event::RUN_STARTED) completing.run_started(defaults);
  if (event == Event::CHUNK_REGISTERED) TRY_DO(completing.chunk());
  if (event == Event::EVIDENCE_REGISTERED) TRY_DO(completing.evidence());
  return completing.done();
}

Result<void> check_evidence(Event event, const Value& body, const RunState& state, Blobs& blobs) {
  if (event == Event::CONTEXT_MANIFEST_WRITTEN) {
    const std::string derived = derive_manifest_id(*body.find("manifest"));
    if (body.text_or("manifest_id", "") == derived) return {};
    return field_error(event, "manifest_id", "is " + std::string(body.text_or("manifest_id", "")) + ", manifest gives " + derived);
  }
  if (event == Event::CHUNK_REGISTERED) {
    const Source* source = state.sources.find(body.text_or("source_id", ""));
    return check_span(event, span_in(body), source == nullptr ? std::nullopt : std::optional(source->bytes), "source");
  }
  if (event != Event::EVIDENCE_REGISTERED) return {};
  const Evidence evidence = evidence_in(body);
  const std::string derived = derive_evidence_id(evidence);
  if (body.text_or("evidence_id", "") != derived)
    return Error(ErrorCode::EVIDENCE_ID_MISMATCH,
                 "evidence_id is " + std::string(body.text_or("evidence_id", "")) + ", derivation gives " + derived);
  const Chunk* chunk = state.chunks.find(evidence.chunk_id);
  TRY_DO(check_span(event, evidence.span, chunk == nullptr ? std::nullopt : std::optional(chunk->bytes), "chunk"));
  TRY(const Bytes bytes, chunk_bytes(state, evidence.chunk_id, blobs));
  const Bytes quote = cut_out(bytes, evidence.span);
  if (quote && sha256(*quote).hex() != evidence.quote_sha256) return quote_mismatch(sha256(*quote).hex(), evidence.quote_sha256);
  return {};
}

Result<void> explain_missing(Event event, const Value& body, const RunState& state, std::vector<WrongField>& wrong) {
  const auto missing = [&](std::string_view field) {
    return std::find_if(wrong.begin(), wrong.end(), [&](const WrongField& w) { return w.field == field && w.problem == "is missing"; });
  };
  const bool only_missing = std::all_of(wrong.begin(), wrong.end(), [](const WrongField& w) { return w.problem == "is missing"; });
  if (!only_missing || !has_span(body)) return {};
  if (event == Event::CHUNK_REGISTERED && missing("source_id") == wrong.end()) {
    const std::string source_id(body.text_or("source_id", ""));
    const Source* source = state.sources.find(source_id);
    if (source == nullptr) return Error(ErrorCode::ILLEGAL_TRANSITION, "CHUNK_REGISTERED names unknown source " + source_id);
    TRY_DO(check_span(event, span_in(body), source->bytes, "source"));
  }
  if (event != Event::EVIDENCE_REGISTERED) return {};
  const std::string chunk_id(body.text_or("chunk_id", ""));
  const Chunk* chunk = state.chunks.find(chunk_id);
  if (chunk != nullptr) TRY_DO(check_span(event, span_in(body), chunk->bytes, "chunk"));
  if (const auto ns = missing("index_id"); ns != wrong.end()) {
    ns->problem = "is missing: give index_id or corpus_id, here, with the source or as the namespace of RUN_STARTED";
    // It would follow from the namespace.
    if (const auto id = missing("evidence_id"); id != wrong.end()) wrong.erase(id);
  }
  const std::string why = chunk == nullptr ? ": chunk " + chunk_id + " is not registered" : ": chunk " + chunk_id + " has no stored bytes";
  for (const std::string_view field : {"quote_sha256", "quote_bytes"}) {
    if (const auto quote = missing(field); quote != wrong.end()) quote->problem += why + ", so give the quote";
  }
  return {};
}

Error wrong_field_error(Event event, const std::vector<WrongField>& wrong, const std::string& path) {
  const std::string type(event_name(event));
  const auto named = [&](const WrongField& field) { return type + "." + field.field + " " + field.problem; };
  for (const WrongField& field : wrong) {
    if (field.limit == 0) continue;
    return Error(ErrorCode::LIMIT_EXCEEDED, named(field))
        .with("name", type + "." + field.field)
        .with("limit", static_cast<std::int64_t>(field.limit))
        .with("value", static_cast<std::int64_t>(field.value));
  }
  std::vector<FieldError> fields;
  for (const WrongField& field : wrong) {
    std::string at = path + "/" + field.field;  // config.event_threshold, actions[0]
    std::replace(at.begin() + static_cast<std::ptrdiff_t>(path.size()), at.end(), '.', '/');
    std::replace(at.begin() + static_cast<std::ptrdiff_t>(path.size()), at.end(), '[', '/');
    std::erase(at, ']');
    fields.push_back({at, named(field)});
  }
  std::string message = fields.front().message;
  if (fields.size() > 1) message += " (and " + std::to_string(fields.size() - 1) + " more)";
  return Error(ErrorCode::INVALID_FIELD, std::move(message)).with_fields(std::move(fields));
}

}  // namespace weir::compaction
