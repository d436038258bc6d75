#include "testing/session_calls.h"

#include "json/canonical.h"
#include "session/address.h"
#include "testing/log_access.h"
#include "testing/results.h"

namespace weir::testing {

NewEntry entry(std::string_view type, std::string_view body) {
  NewEntry out;
  out.type = type;
  out.body = {std::string(body), BodyHash(body)};
  return out;
}

NewEntry message(std::string_view text) {
  std::string body = "{\"content\":";
  json::write_string(text, body);
  return entry("message", body + ",\"role\":\"user\"}");
}

NewEntry named(std::string_view id, NewEntry entry) {
  entry.id = must(EntryId::parse(id));
  return entry;
}

NewEntry under(std::string_view parent, NewEntry entry) {
  entry.parent = NewEntry::Parent{.name = std::string(parent)};
  return entry;
}

NewEntry root(NewEntry entry) {
  entry.parent = NewEntry::Parent{.root = true};
  return entry;
}

Result<AppendResult> SessionCalls::append(std::vector<NewEntry> entries, const How& how) {
  AppendRequest request;
  request.session = id_;
  request.head = HeadName::trusted(how.head);
  if (how.expect) request.expect = Expect{*how.expect, true};
  request.entries = std::move(entries);
  request.move_head = how.move_head;
  return write_to(log_, [&](LogTxn& txn) { return weir::append(txn, request, now); });
}

void SessionCalls::grow(const std::vector<std::string>& entries) {
  for (std::string text : entries) {
    std::optional<std::string> parent;
    if (const auto arrow = text.find('<'); arrow != std::string::npos) {
      parent = text.substr(arrow + 1);
      text.resize(arrow);
    }
    const bool compaction = text.ends_with('!');
    if (compaction) text.pop_back();
    NewEntry made = named(text, compaction ? entry("compaction", "{\"summary\":\"" + text + "\"}") : message(text));
    if (parent) made = parent->empty() ? root(std::move(made)) : under(*parent, std::move(made));
    must(append({std::move(made)}));
  }
}

Result<EntryId> SessionCalls::move(std::string_view head, std::string_view entry, bool before, std::optional<std::string> expect) {
  HeadMove move{id_, HeadName::trusted(head), std::string(entry), before, {}};
  if (expect) move.expect = Expect{*expect, true};
  return write_to(log_, [&](LogTxn& txn) { return weir::move_head(txn, move, false); });
}

Result<EntryId> SessionCalls::fork(std::string_view head, Seq at) {
  return write_to(log_, [&](LogTxn& txn) { return weir::fork_head(txn, id_, HeadName::trusted(head), at); });
}

Result<void> SessionCalls::delete_head(std::string_view head) {
  return write_to(log_, [&](LogTxn& txn) { return weir::delete_head(txn, id_, HeadName::trusted(head)); });
}

bool SessionCalls::there() {
  return must(read_from(log_, [&](LogReader& reader) { return reader.session(id_); })).has_value();
}

SessionRow SessionCalls::row() {
  return must(read_from(log_, [&](LogReader& reader) { return need_session(reader, id_); }));
}

Seq SessionCalls::last() {
  const SessionNo no = row().no;
  return must(read_from(log_, [&](LogReader& reader) { return reader.last_seq(no); }));
}

std::string SessionCalls::head(std::string_view name) {
  const SessionNo no = row().no;
  const auto seq = must(read_from(log_, [&](LogReader& reader) { return reader.head(no, HeadName::trusted(name)); }));
  return !seq ? "(none)" : *seq == 0 ? "null" : at(*seq).id.str();
}

Entry SessionCalls::at(Seq seq) {
  const SessionNo no = row().no;
  const auto entry = must(read_from(log_, [&](LogReader& reader) { return reader.entry(no, seq, Columns::all); }));
  if (!entry) fail_with(Error(ErrorCode::NOT_FOUND, "no entry at seq " + std::to_string(seq)));
  return *entry;
}

}  // namespace weir::testing
