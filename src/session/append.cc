#include "session/append.h"

#include "base/limits.h"
#include "session/address.h"
#include "session/types.h"

namespace weir {
namespace {

Error conflict(const SessionRow& session, const HeadName& head, const EntryId& stands, const std::string& expected) {
  const auto shown = [](const std::string& id) { return id.empty() ? std::string("before the first entry") : "at '" + id + "'"; };
  const auto detail = [](const std::string& id) { return id.empty() ? DetailValue(nullptr) : DetailValue(id); };
  return Error(ErrorCode::CONFLICT,
               "head '" + head.str() + "' of session '" + session.id.str() + "' stands " + shown(stands.str()) + ", not " + shown(expected))
      .with("head", detail(stands.str()))
      .with("expect", detail(expected));
}

Result<void> check_expect_at(LogReader& reader, const SessionRow& session, const HeadName& head, Seq stands, const Expect& expect) {
  TRY(const EntryId stands_id, id_at(reader, session.no, stands));
  const auto expected = find_place(reader, session, expect.entry, expect.people ? Naming::people : Naming::exact);
  if (!expected.ok() && expected.error().code() != ErrorCode::NOT_FOUND) return expected.error();
  if (!expected.ok()) return conflict(session, head, stands_id, expect.entry);
  if (expected->seq == stands) return {};
  return conflict(session, head, stands_id, expected->seq == 0 ? "" : expect.entry);
}

}  // namespace

Result<Appender::Link> Appender::link(Seq seq) {
  if (seq == 0) return Link{};
  if (seq == last_.seq) return last_;
  TRY(const auto entry, txn_.entry(session_.no, seq, Columns::without_body));
  if (!entry) return Error(ErrorCode::NOT_FOUND, "no entry at seq " + std::to_string(seq));
  return Link{entry->seq, entry->barrier, entry->depth, entry->digest};
}

Result<bool> Appender::same(const Entry& there, std::string_view type, const BodyHash& hash, Seq parent) {
  if (there.parent != parent) return false;
  TRY(const Link above, link(parent));
  return hash.finish(above.digest, type) == there.digest;
}

// The entry of that id, if it says the same; ID_REUSED if it says something else.
Result<std::optional<AppendResult::Item>> Appender::known(const NewEntry& entry, Seq parent, bool parent_given) {
  TRY(const auto found, txn_.find(session_.no, *entry.id, Columns::without_body));
  if (!found) return std::optional<AppendResult::Item>();
  TRY(const bool equal, same(*found, entry.type, entry.body.hash, parent_given ? parent : found->parent));
  if (!equal) {
    return Error(ErrorCode::ID_REUSED,
                 "the id '" + entry.id->str() + "' belongs to entry " + std::to_string(found->seq) + " with other content")
        .with("id", entry.id->str())
        .with("seq", static_cast<std::int64_t>(found->seq));
  }
  return std::optional(AppendResult::Item{found->seq, found->id, found->digest, true});
}

// The entry with the body that its type's owner gave it, if it did.
Result<std::optional<NewEntry>> Appender::completed(const NewEntry& entry, Seq parent, bool parent_given, const AppendHooks& hooks) {
  bool known = false;
  if (entry.id) {
    TRY(const auto there, txn_.find(session_.no, *entry.id, Columns::without_body));
    known = there && (!parent_given || there->parent == parent);
    if (known) parent = there->parent;
  }
  TRY(auto body, hooks.complete(session_, entry, parent, known));
  if (!body) return std::optional<NewEntry>();
  std::optional<NewEntry> out(entry);
  out->body = std::move(*body);
  return out;
}

Result<AppendResult::Item> Appender::add(const NewEntry& given, Seq parent, bool parent_given, const AppendHooks* hooks) {
  std::optional<NewEntry> whole;
  if (hooks != nullptr && hooks->owned(given.type)) {
    TRY(whole, completed(given, parent, parent_given, *hooks));
  }
  const NewEntry& entry = whole ? *whole : given;
  if (entry.id && !entry.id_is_free) {
    TRY(auto there, known(entry, parent, parent_given));
    if (there) return std::move(*there);
  }
  TRY(const Link above, link(parent));
  Entry row;
  row.digest = entry.body.hash.finish(above.digest, entry.type);
  if (entry.id) {
    row.id = *entry.id;
  } else {
    // As short as nobody else has it: an id that a caller chose may look like ours.
    for (std::size_t digits = 8;; ++digits) {
      WEIR_CHECK(digits <= 64);
      row.id = EntryId::trusted(entry_pointer(row.digest, digits));
      TRY(const auto other, txn_.find(session_.no, row.id, Columns::without_body));
      if (!other) break;
      if (other->digest == row.digest) return AppendResult::Item{other->seq, other->id, other->digest, true};
    }
  }
  if (!last_seq_) {
    TRY(last_seq_, txn_.last_seq(session_.no));
  }
  row.seq = *last_seq_ + 1;
  if (row.seq > limits::kSeq) return over_limit("entries of a session", limits::kSeq, row.seq);
  row.parent = parent;
  row.depth = above.depth + 1;
  row.barrier = entry.type == types::kCompaction ? row.seq : above.barrier;
  row.type = entry.type;
  row.body = entry.body.canonical;
  row.at = entry.at.value_or(now_);
  row.imported = entry.imported;
  TRY_DO(txn_.insert(session_.no, row));
  if (hooks != nullptr) TRY_DO(hooks->added(session_, row));
  last_seq_ = row.seq;
  last_ = {row.seq, row.barrier, row.depth, row.digest};
  return AppendResult::Item{row.seq, row.id, row.digest, false};
}

Result<SessionRow> ensure_session(LogTxn& txn, const SessionId& id, TimeMs now, bool* made) {
  TRY(auto row, txn.session(id));
  if (made != nullptr) *made = !row.has_value();
  if (row) return std::move(*row);
  return txn.create_session(id, now);
}

Result<void> check_expect(LogReader& reader, const SessionRow& session, const HeadName& head, const Expect& expect) {
  TRY(const Seq stands, need_head(reader, session, head));
  return check_expect_at(reader, session, head, stands, expect);
}

Result<AppendResult> append(LogTxn& txn, const AppendRequest& request, TimeMs now, const AppendHooks* hooks) {
  AppendResult result;
  TRY(SessionRow session, ensure_session(txn, request.session, now, &result.session_made));
  TRY(const auto standing, txn.head(session.no, request.head));
  if (!standing) {
    TRY(const Seq last, txn.last_seq(session.no));
    if (last != 0) TRY_DO(need_head(txn, session, request.head));
  }
  Seq head = standing.value_or(0);
  if (request.expect) TRY_DO(check_expect_at(txn, session, request.head, head, *request.expect));
  Seq before = head;  // the entry before the next one in the call
  Appender appender(txn, session, now);
  MaskCounts masked;  // of what is new: a known entry's were counted when it came
  result.entries.reserve(request.entries.size());
  for (std::size_t i = 0; i < request.entries.size(); ++i) {
    const NewEntry& entry = request.entries[i];
    Seq parent = before;
    if (entry.parent && entry.parent->root) parent = 0;
    if (entry.parent && !entry.parent->root) {
      const auto found = entry.parent->people ? find_place(txn, session, entry.parent->name, Naming::people)
                                              : find_entry(txn, session, entry.parent->name, Naming::exact);
      if (!found.ok()) return Error(found.error()).with("index", static_cast<std::int64_t>(i));
      parent = found->seq;
    }
    auto added = appender.add(entry, parent, entry.parent.has_value(), hooks);
    if (!added.ok()) return std::move(added).error().with("index", static_cast<std::int64_t>(i));
    if (added->known) {
      // A repeated call must not turn a head back: it only follows from the entry's parent to the entry.
      TRY(const auto there, txn.entry(session.no, added->seq, Columns::without_body));
      if (there && there->parent == head) head = added->seq;
    } else {
      head = added->seq;
      for (const auto& [family, count] : entry.body.masked) masked[family] += count;
    }
    before = added->seq;
    result.entries.push_back(std::move(added).value());
  }
  if (request.move_head && (!standing || head != *standing)) TRY_DO(txn.set_head(session.no, request.head, head));
  // Where entries are, main is: one that is missing is damage.
  if (result.session_made && request.head != main_head()) TRY_DO(txn.set_head(session.no, main_head(), 0));
  if (!masked.empty()) TRY_DO(txn.add_masked(session.no, masked));
  if (!result.entries.empty() && result.entries.back().seq == head) {
    result.head = result.entries.back().id;
  } else {
    TRY(result.head, id_at(txn, session.no, head));
  }
  return result;
}

Result<EntryId> move_head(LogTxn& txn, const HeadMove& move, bool people) {
  TRY(const SessionRow session, need_session(txn, move.session));
  TRY(const Seq stands, need_head(txn, session, move.head));
  if (move.expect) TRY_DO(check_expect(txn, session, move.head, *move.expect));
  TRY(const Entry entry, find_place(txn, session, move.entry, people ? Naming::people : Naming::exact));
  const Seq target = move.before ? entry.parent : entry.seq;
  if (target != stands) TRY_DO(txn.set_head(session.no, move.head, target));
  return id_at(txn, session.no, target);
}

Result<EntryId> fork_head(LogTxn& txn, const SessionId& id, const HeadName& name, Seq at) {
  TRY(const SessionRow session, need_session(txn, id));
  TRY(const auto taken, txn.head(session.no, name));
  if (taken) {
    TRY(const EntryId stands, id_at(txn, session.no, *taken));
    return Error(ErrorCode::CONFLICT, "session '" + id.str() + "' has a head '" + name.str() + "' already")
        .with("head", stands.empty() ? DetailValue(nullptr) : DetailValue(stands.str()))
        .with("name", name.str());
  }
  TRY(const auto heads, txn.heads(session.no));
  if (heads.size() >= limits::kHeads) return over_limit("heads of a session", limits::kHeads, heads.size() + 1);
  TRY_DO(txn.set_head(session.no, name, at));
  return id_at(txn, session.no, at);
}

Result<void> delete_head(LogTxn& txn, const SessionId& id, const HeadName& name) {
  TRY(const SessionRow session, need_session(txn, id));
  TRY(const auto there, txn.head(session.no, name));
  if (!there)
    return need_head(txn, session, name).ok() ? Error(ErrorCode::INVALID_FIELD, "head 'main' cannot be deleted")
                                              : need_head(txn, session, name).error();
  if (name == main_head()) return Error(ErrorCode::INVALID_FIELD, "head 'main' cannot be deleted");
  // Without one its entries could be found by nobody, and would be taken for damage.
  TRY(const auto heads, txn.heads(session.no));
  if (heads.size() == 1) return Error(ErrorCode::INVALID_FIELD, "head '" + name.str() + "' is the session's only one: make another first");
  return txn.delete_head(session.no, name);
}

}  // namespace weir
