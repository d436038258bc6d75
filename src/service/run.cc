#include "service/run.h"

#include <algorithm>

#include "base/nearest.h"
#include "base/secrets.h"
#include "compaction/event.h"
#include "compaction/evidence.h"
#include "json/canonical.h"
#include "session/address.h"
#include "session/types.h"

namespace weir {

using compaction::RunState;
using json::Arena;
using json::Value;

Result<DueAnswer> ask_due(Service& service, const DueQuery& query) {
  DueAnswer answer;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located at, locate(reader, query.address));
    TRY(const auto state, service.run_fold().at(reader, at.session.no, at.seq));
    compaction::Thresholds thresholds = state->thresholds;
    thresholds.event_threshold = query.event_threshold.value_or(thresholds.event_threshold);
    thresholds.n_step_fallback = query.n_step_fallback.value_or(thresholds.n_step_fallback);
    Arena arena;
    answer.due = compaction::due(*state, thresholds).has_value();
    answer.text = json::canonical(compaction::due_json(*state, thresholds, arena));
    return {};
  }));
  return answer;
}

namespace {

// Where a field of a note goes in the event it becomes.
struct Mapping {
  std::string_view kind, op;
  std::string_view event;
  std::string_view id, text, refs, other;  // names of the event's fields; empty: not taken
  std::string_view prefix;                 // of an id that Weir chooses
};

constexpr Mapping kNotes[] = {
    {"claim", "add", "CLAIM_PROPOSED", "claim_id", "statement", "", "", "c"},
    {"claim", "verify", "CLAIM_VERIFIED", "claim_id", "", "*", "", ""},
    {"claim", "downgrade", "CLAIM_DOWNGRADED", "claim_id", "reason", "", "", ""},
    {"claim", "retract", "CLAIM_RETRACTED", "claim_id", "reason", "", "", ""},
    {"evidence", "add", "EVIDENCE_REGISTERED", "evidence_id", "quote", "", "", ""},
    {"evidence", "attach", "EVIDENCE_ATTACHED", "evidence_id", "", "*", "", ""},
    {"evidence", "detach", "EVIDENCE_DETACHED", "evidence_id", "", "*", "", ""},
    {"evidence", "withdraw", "EVIDENCE_WITHDRAWN", "evidence_id", "reason", "", "", ""},
    {"conflict", "add", "CONFLICT_RECORDED", "conflict_id", "description", "side_a", "side_b", "k"},
    {"conflict", "resolve", "CONFLICT_RESOLVED", "conflict_id", "resolution", "", "", ""},
    {"question", "add", "QUESTION_OPENED", "question_id", "text", "", "", "q"},
    {"question", "close", "QUESTION_CLOSED", "question_id", "reason", "", "", ""},
    {"failure", "add", "FAILURE_RECORDED", "", "why", "", "", ""},
    {"failure", "resolve", "FAILURE_RESOLVED", "failure_id", "", "", "", ""},
    {"next", "add", "NEXT_ACTIONS_SET", "", "", "actions", "", ""},
};

Error wrong(std::string_view field, const std::string& problem) {
  const std::string path = "/" + std::string(field);
  return Error(ErrorCode::INVALID_FIELD, path + ": " + problem).with_fields({{path, problem}});
}

constexpr int kMostAttempts = 100;  // each lost one means that somebody else's note was stored

// What is wrong with the event, told by the fields of the note it came from.
Error in_words_of_note(const Mapping& m, Error error) {
  const std::pair<std::string_view, std::string_view> kFields[] = {{m.id, "id"}, {m.text, "text"}, {m.refs, "refs"}, {m.other, "other"}};
  std::vector<FieldError> fields = error.fields();
  for (FieldError& field : fields) {
    if (field.path == "/body/chunk_id") field.path = "/body/span/chunk";
    for (const auto& [event_field, note_field] : kFields)
      if (!event_field.empty() && field.path.starts_with("/body/" + std::string(event_field)))
        field.path.replace(0, std::string_view("/body/").size() + event_field.size(), "/" + std::string(note_field));
    if (field.path.starts_with("/body/")) field.path.erase(0, std::string_view("/body").size());
  }
  return fields.empty() ? std::move(error) : std::move(error).with_fields(std::move(fields));
}

// The same error with the fields that only another kind of note takes, whatever is done with it.
Error with_kind_fields(const Note& note, const Error& error) {
  json::FieldErrors errors;
  for (const FieldError& field : error.fields()) errors.add(field.path, field.message);
  const bool kind_known = error.fields().front().path != "/kind";
  const auto only = [&](bool given, std::string_view kind, std::string_view field) {
    if (kind_known && given && note.kind != kind) errors.add(json::pointer("", field), "is of " + std::string(kind) + " alone");
  };
  only(note.span.has_value(), "evidence", "span");
  only(note.category.has_value(), "failure", "category");
  only(note.where.has_value(), "failure", "where");
  only(!note.other.empty(), "conflict", "other");
  return errors.result().error();
}

Result<const Mapping*> mapping_of(const Note& note) {
  std::string ops;
  std::vector<std::string_view> choices;
  for (const Mapping& mapping : kNotes) {
    if (mapping.kind != note.kind) continue;
    if (mapping.op == note.op) return &mapping;
    ops += (ops.empty() ? "" : ", ") + std::string(mapping.op);
    choices.push_back(mapping.op);
  }
  if (ops.empty())
    return wrong("kind", "must be claim, evidence, conflict, question, failure or next, is '" + masked_excerpt(note.kind, 40) + "'" +
                             did_you_mean(note.kind, "claim|evidence|conflict|question|failure|next"));
  return wrong("op", "of " + note.kind + " must be " + ops + ", is '" + masked_excerpt(note.op, 40) + "'" + did_you_mean(note.op, choices));
}

// c1, c2, ...: the first that is free on the path.
template <typename IsTaken>
std::string free_id(std::string_view prefix, IsTaken&& is_taken) {
  for (std::size_t number = 1;; ++number) {
    std::string id = std::string(prefix) + std::to_string(number);
    if (!is_taken(id)) return id;
  }
}

class Noting {
 public:
  Noting(Service& service, const SessionId& session, const HeadName& head, const Note& note)
      : service_(service), session_(session), head_(head), note_(note) {}

  Result<NoteAnswer> run(bool dry_run) {
    const auto found = mapping_of(note_);
    if (!found.ok()) return with_kind_fields(note_, found.error());
    const Mapping* const mapping = *found;
    TRY_DO(check_fields(*mapping));
    // An id that Weir chooses holds where it was chosen: if somebody else takes it meanwhile, another is chosen.
    for (int attempt = 1;; ++attempt) {
      auto answer = once(*mapping, dry_run);
      if (!answer.ok() && answer.error().code() == ErrorCode::CONFLICT && attempt < kMostAttempts) continue;
      return answer.ok() ? std::move(answer) : Result<NoteAnswer>(in_words_of_note(*mapping, std::move(answer).error()));
    }
  }

 private:
  Result<void> check_fields(const Mapping& m) const {
    json::FieldErrors errors;
    const auto wrong = [&](std::string_view field, std::string problem) { errors.add(json::pointer("", field), std::move(problem)); };
    const auto refuse = [&](bool given, bool taken, std::string_view field) {
      if (given && !taken) wrong(field, "is not taken by " + note_.kind + " " + note_.op);
    };
    const bool evidence = m.event == "EVIDENCE_REGISTERED", failure = m.event == "FAILURE_RECORDED";
    const bool chosen = !m.prefix.empty() || evidence;
    if (!m.id.empty() && !note_.id && !chosen) wrong("id", "is missing");
    refuse(note_.id.has_value(), !m.id.empty(), "id");
    refuse(note_.text.has_value(), !m.text.empty(), "text");
    refuse(!note_.refs.empty(), !m.refs.empty(), "refs");
    refuse(!note_.other.empty(), !m.other.empty(), "other");
    refuse(note_.span.has_value(), evidence, "span");
    refuse(note_.category.has_value(), failure, "category");
    refuse(note_.where.has_value(), failure, "where");
    if (evidence && !note_.span) wrong("span", "is missing");
    for (const std::string& ref : note_.other) {
      if (std::find(note_.refs.begin(), note_.refs.end(), ref) != note_.refs.end())
        wrong("other", "cites " + ref + " as refs does: a conflict has two sides");
    }
    if ((m.op == "attach" || m.op == "detach") && note_.refs.empty()) wrong("refs", "is missing: the claims");
    return errors.result();
  }

  Result<NoteAnswer> once(const Mapping& m, bool dry_run) {
    std::optional<Expect> expect;
    std::string id = note_.id.value_or("");
    if (id.empty() && !m.prefix.empty()) {
      TRY(id, choose_id(m, expect));
    }
    Arena arena;
    AppendCall call(service_, session_, head_, expect, dry_run, {.note = true});
    NoteAnswer answer;
    answer.type = m.event;
    if (m.refs == "*") {
      // One event for each of a list, and the note's own behind them.
      const bool verify = m.op == "verify";
      for (const std::string& ref : note_.refs) {
        const Value link = json::make_object(arena, {{"claim_id", verify ? id : ref}, {"evidence_id", verify ? ref : id}});
        TRY_DO(call.add_body(verify ? "EVIDENCE_ATTACHED" : m.event, link, std::nullopt, std::nullopt, arena));
      }
      if (verify) TRY_DO(call.add_body(m.event, json::make_object(arena, {{"claim_id", id}}), std::nullopt, std::nullopt, arena));
    } else {
      TRY_DO(call.add_body(m.event, body(m, id, arena), std::nullopt, std::nullopt, arena));
    }
    TRY(answer.appended, call.commit());
    TRY(answer.id, id_of(m, id, answer, dry_run));
    return answer;
  }

  Result<std::string> choose_id(const Mapping& m, std::optional<Expect>& expect) {
    std::string id;
    TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
      TRY(const auto session, reader.session(session_));
      std::shared_ptr<const RunState> state = std::make_shared<const RunState>();
      expect = Expect{};  // one that is not there yet stands before its first entry
      if (session) {
        TRY(const Seq head, need_head(reader, *session, head_));
        TRY(const EntryId stands, id_at(reader, session->no, head));
        expect = Expect{stands.str()};
        TRY(state, service_.run_fold().at(reader, session->no, head));
      }
      // Claims and conflicts share their ids.
      const auto named = [&](const std::string& taken) {
        return state->claims.find(taken) != nullptr || state->conflicts.find(taken) != nullptr;
      };
      const auto asked = [&](const std::string& taken) { return state->question_ids.find(taken).has_value(); };
      id = m.prefix == "q" ? free_id(m.prefix, asked) : free_id(m.prefix, named);
      return {};
    }));
    return id;
  }

  Value body(const Mapping& m, const std::string& id, Arena& arena) const {
    json::ObjectBuilder out(arena);
    const auto list = [&](const std::vector<std::string>& items) {
      return json::make_array(arena, std::vector<Value>(items.begin(), items.end()));
    };
    if (!m.id.empty() && !id.empty()) out.add(m.id, id);
    if (!m.text.empty() && note_.text) out.add(m.text, *note_.text);
    if (!m.refs.empty()) out.add(m.refs, list(note_.refs));
    if (!m.other.empty()) out.add(m.other, list(note_.other));
    if (note_.category) out.add("category", *note_.category);
    if (note_.where) out.add("where", *note_.where);
    if (m.event == "FAILURE_RESOLVED") out.add("status", "resolved");
    if (note_.span) {
      out.add("chunk_id", note_.span->chunk)
          .add("span", json::make_object(arena, {{"unit", "utf8"}, {"start", note_.span->start}, {"end", note_.span->end}}));
    }
    return out.build();
  }

  // What Weir derived stands in the entry.
  Result<std::string> id_of(const Mapping& m, const std::string& id, const NoteAnswer& answer, bool dry_run) {
    if (m.event == "NEXT_ACTIONS_SET") return std::string("next");
    const bool failure = m.event == "FAILURE_RECORDED";
    if (!failure && (m.event != "EVIDENCE_REGISTERED" || !id.empty())) return id;
    if (dry_run) {
      Arena arena;
      return failure ? compaction::failure_id_in(body(m, id, arena)) : id;
    }
    std::string derived;
    TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
      TRY(const SessionRow session, need_session(reader, session_));
      TRY(const auto entry, reader.entry(session.no, answer.appended.result.entries.back().seq, Columns::all));
      json::Parser parser;
      TRY(const Value stored, stored_body(parser, *entry));
      derived = failure ? compaction::failure_id_in(stored) : std::string(stored.text_or("evidence_id", ""));
      return {};
    }));
    return derived;
  }

  Service& service_;
  const SessionId& session_;
  const HeadName& head_;
  const Note& note_;
};

Result<AppendAnswer> append_one(Service& service, const SessionId& session, const HeadName& head, std::string_view type, const Value& body,
                                bool dry_run, Arena& arena) {
  AppendCall call(service, session, head, std::nullopt, dry_run);
  TRY_DO(call.add_body(type, body, std::nullopt, std::nullopt, arena));
  return call.commit();
}

// A run's end or new beginning needs a session that is there.
Result<void> need_one(Service& service, const SessionId& session) {
  return service.log().read([&](LogReader& reader) -> Result<void> {
    TRY_DO(need_session(reader, session));
    return {};
  });
}

}  // namespace

Result<NoteAnswer> take_note(Service& service, const SessionId& session, const HeadName& head, const Note& note, bool dry_run) {
  return Noting(service, session, head, note).run(dry_run);
}

Value NoteAnswer::to_json(Arena& arena) const {
  std::vector<Value> notes(appended.warnings.begin(), appended.warnings.end());
  return json::make_object(arena, {{"entry", appended.result.entries.back().id.str()},
                                   {"type", type},
                                   {"id", id},
                                   {"due", appended.due},
                                   {"warnings", json::make_array(arena, notes)}});
}

Result<AppendAnswer> stop_run(Service& service, const SessionId& session, const HeadName& head, const std::string& reason, bool dry_run) {
  TRY_DO(need_one(service, session));
  Arena arena;
  return append_one(service, session, head, types::kRunStopped,
                    json::make_object(arena, {{"actor", "HUMAN"}, {"limit_type", "N/A"}, {"stop_reason", reason}}), dry_run, arena);
}

Result<AppendAnswer> resume_run(Service& service, const SessionId& session, const HeadName& head, const std::optional<std::string>& note,
                                const std::vector<std::string>& forgive, bool dry_run) {
  // A person names an entry as entries are named; the log holds its pointer.
  std::vector<std::string> pointers;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const SessionRow row, need_session(reader, session));
    for (const std::string& name : forgive) {
      TRY(const Entry entry, find_entry(reader, row, name, Naming::people));
      pointers.push_back(entry_pointer(entry.digest));
    }
    return {};
  }));
  Arena arena;
  json::ObjectBuilder body(arena);
  body.add("actor", "HUMAN").add("forgive", json::make_array(arena, std::vector<Value>(pointers.begin(), pointers.end())));
  if (note) body.add("note", *note);
  return append_one(service, session, head, types::kRunResumed, body.build(), dry_run, arena);
}

}  // namespace weir
