// note, stop, resume: what a run's log is told by hand.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "base/secrets.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "service/run.h"

namespace weir::cli {
namespace {

using json::Value;

constexpr std::string_view kOps[] = {"add", "verify", "downgrade", "retract", "attach", "detach", "withdraw", "resolve", "close"};

// CHUNK:START-END, in bytes.
Result<Note::Span> parse_span(const std::string& text) {
  const auto wrong = [&] {
    const std::string why = "must be CHUNK:START-END, is '" + masked_excerpt(text, 80) + "'";
    return Error(ErrorCode::INVALID_FIELD, "--span: " + why).with_fields({{"/span", why}});
  };
  const std::size_t colon = text.rfind(':'), dash = text.rfind('-');
  if (colon == std::string::npos || colon == 0 || dash == std::string::npos || dash < colon) return wrong();
  Note::Span span{text.substr(0, colon), 0, 0};
  const auto number = [&](std::size_t from, std::size_t to, std::int64_t& out) {
    const auto [end, error] = std::from_chars(text.data() + from, text.data() + to, out);
    return error == std::errc() && end == text.data() + to && out >= 0 && to > from;
  };
  if (!number(colon + 1, dash, span.start) || !number(dash + 1, text.size(), span.end)) return wrong();
  return span;
}

// Words in the order a person says them: the operation unless it is `add`, then id and what belongs to it.
Result<void> take_words(Run& run, Note& note) {
  std::vector<std::string> words;
  for (std::size_t i = 1; run.word(i); ++i) words.push_back(*run.word(i));
  if (const auto op = run.option("op")) {
    note.op = *op;
  } else if (!words.empty() && std::find(std::begin(kOps), std::end(kOps), words.front()) != std::end(kOps)) {
    note.op = words.front();
    words.erase(words.begin());
  }
  const auto take = [&](std::optional<std::string>& field) {
    if (field || words.empty()) return;
    field = words.front();
    words.erase(words.begin());
  };
  const bool lists = note.op == "verify" || note.op == "attach" || note.op == "detach";
  if (note.kind == "next" || lists) {
    if (note.kind != "next") take(note.id);
    note.refs.insert(note.refs.end(), words.begin(), words.end());
    return {};
  }
  if (note.op != "add") take(note.id);
  take(note.text);
  if (words.empty()) return {};
  return Error(ErrorCode::USAGE, "one word too many: '" + masked_excerpt(words.front(), 80) +
                                     "'; a text of several words needs quotes, and an operation is add, verify, downgrade, retract, "
                                     "attach, detach, withdraw, resolve or close" +
                                     did_you_mean(note.text.value_or(""), {std::begin(kOps), std::end(kOps)}))
      .with("help", "weir help note");
}

Result<int> answer_append(Run& run, const AppendAnswer& answer, std::string_view what) {
  if (run.json()) {
    json::Arena arena;
    run.object(answer.to_json(arena));
  } else {
    run.line(fmt::format("{}  in entry {}", what, printable(answer.result.entries.back().id.str())));
  }
  return 0;
}

}  // namespace

Result<int> run_note(Run& run) {
  Note note;
  note.kind = run.word(0).value_or("");
  note.id = run.option("id");
  note.text = run.option("text");
  note.category = run.option("category");
  note.where = run.option("where");
  note.refs = run.arguments().values("refs");
  note.other = run.arguments().values("other");
  if (const auto span = run.option("span")) {
    TRY(note.span, parse_span(*span));
  }
  TRY_DO(take_words(run, note));
  TRY(const SessionId session, run.session(Store::Access::write));
  TRY(const HeadName head, run.head());
  if (run.store_missing()) {
    TRY(const auto trial, run.trial_service());
    TRY_DO(take_note(*trial, session, head, note, true));
  }
  TRY(Service* const service, run.service(Store::Access::write));
  TRY(const NoteAnswer answer, take_note(*service, session, head, note, run.dry_run()));
  if (run.json()) {
    json::Arena arena;
    run.object(answer.to_json(arena));
    return 0;
  }
  run.line(fmt::format("{}  {}  in entry {}{}", answer.type, run.paint()(Style::cyan, printable(answer.id)),
                       printable(answer.appended.result.entries.back().id.str()),
                       answer.appended.due ? run.paint()(Style::yellow, "  a compaction is due") : ""));
  for (const std::string& warning : answer.appended.warnings) run.note("warning: " + printable(warning));
  return 0;
}

Result<int> run_stop(Run& run) {
  TRY(const SessionId session, run.session(Store::Access::read));
  TRY(const HeadName head, run.head());
  TRY(Service* const service, run.service(Store::Access::write));
  TRY(const AppendAnswer answer, stop_run(*service, session, head, run.option("reason").value_or("HUMAN_REQUESTED"), run.dry_run()));
  return answer_append(run, answer, "stopped");
}

Result<int> run_resume(Run& run) {
  TRY(const SessionId session, run.session(Store::Access::read));
  TRY(const HeadName head, run.head());
  TRY(Service* const service, run.service(Store::Access::write));
  TRY(const AppendAnswer answer, resume_run(*service, session, head, run.option("note"), run.arguments().values("forgive"), run.dry_run()));
  return answer_append(run, answer, "resumed");
}

}  // namespace weir::cli
