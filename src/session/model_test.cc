// Random calls to the SQLite log, the memory log and the model: equal answers, equal logs. RC_PARAMS="max_success=10000"
// makes the run longer; a failure prints the seed and the shortest calls that show it.
#include "testing/model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "session/address.h"
#include "session/append.h"
#include "session/path.h"
#include "store/store.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir::testing {
namespace {

// An operation before names are known: numbers pick among what the model holds at that moment, so that operations can be
// left out while shrinking. Smaller numbers are simpler.
struct EntryOp {
  int type, body, id, parent, pick;
};
struct Op {
  int kind, session, head, expect, pick, before;
  std::vector<EntryOp> entries;
};

std::ostream& operator<<(std::ostream& out, const EntryOp& e) {
  return out << "{" << e.type << "," << e.body << "," << e.id << "," << e.parent << "," << e.pick << "}";
}
std::ostream& operator<<(std::ostream& out, const Op& op) {
  out << "{" << op.kind << "," << op.session << "," << op.head << "," << op.expect << "," << op.pick << "," << op.before << ",{";
  for (const EntryOp& entry : op.entries) out << entry << ",";
  return out << "}}";
}

rc::Gen<int> upto(int most) { return rc::gen::resize(1000, rc::gen::inRange(0, most + 1)); }

rc::Gen<Op> op_gen() {
  const auto entry = rc::gen::build<EntryOp>(rc::gen::set(&EntryOp::type, upto(3)), rc::gen::set(&EntryOp::body, upto(3)),
                                             rc::gen::set(&EntryOp::id, upto(11)), rc::gen::set(&EntryOp::parent, upto(9)),
                                             rc::gen::set(&EntryOp::pick, upto(40)));
  return rc::gen::build<Op>(rc::gen::set(&Op::kind, upto(19)), rc::gen::set(&Op::session, upto(1)), rc::gen::set(&Op::head, upto(3)),
                            rc::gen::set(&Op::expect, upto(9)), rc::gen::set(&Op::pick, upto(40)), rc::gen::set(&Op::before, upto(1)),
                            rc::gen::set(&Op::entries, rc::gen::resize(4, rc::gen::container<std::vector<EntryOp>>(entry))));
}

constexpr const char* kTypes[] = {"message", "custom", "x.y", "compaction"};

// Operations into calls, with names from the model as it stands.
class Caller {
 public:
  Caller(const Model& model, std::string prefix) : model_(model), prefix_(std::move(prefix)) {}

  Call call(const Op& op) {
    if (op.kind >= 18 && !calls_.empty()) return calls_[op.pick % calls_.size()];  // an earlier call again
    calls_.push_back(make(op));
    return calls_.back();
  }

 private:
  Call make(const Op& op) {
    const std::string session = prefix_ + (op.session == 0 ? "a" : "b");
    const std::string head = op.head <= 1 ? "main" : op.head == 2 ? "side" : "other";
    if (op.kind == 17) return DeleteSessionCall{session};
    if (op.kind == 16) return DeleteHeadCall{session, head};
    if (op.kind >= 14) return ForkCall{session, head, entry(session, op.pick, op.before == 0)};
    if (op.kind >= 11)
      return MoveCall{session, head, op.pick == 7 ? "" : entry(session, op.pick, true), op.before == 1, expect(op, session, head)};
    AppendCall call{session, head, expect(op, session, head), {}};
    for (const EntryOp& each : op.entries) call.entries.push_back(make(each, session));
    return call;
  }

  EntryCall make(const EntryOp& op, const std::string& session) {
    EntryCall call{kTypes[op.type], "{\"n\":" + std::to_string(op.body) + "}", std::nullopt, EntryCall::Parent::left_out, ""};
    if (op.id >= 6) call.id = "n" + std::to_string(op.id - 6);
    // An id that other content would derive: with 8 digits or with 9.
    if (op.id >= 10) call.id = "e" + model_digest(digest(session, op.pick), kTypes[op.pick % 4], call.body).substr(0, op.id == 10 ? 8 : 9);
    if (op.parent == 6) call.parent = EntryCall::Parent::root;
    if (op.parent >= 7) {
      call.parent = EntryCall::Parent::named;
      call.parent_name = entry(session, op.pick, op.parent == 7);
    }
    return call;
  }

  // Mostly one that is there, by id or by pointer.
  std::string entry(const std::string& session, int pick, bool by_id) {
    const auto it = model_.sessions().find(session);
    if (it == model_.sessions().end() || it->second.entries.empty() || pick == 40) return "nobody";
    const Model::Entry& found = it->second.entries[pick % it->second.entries.size()];
    return by_id ? found.id : "e" + found.digest.substr(0, 16);
  }
  std::string digest(const std::string& session, int pick) {
    const auto it = model_.sessions().find(session);
    return it == model_.sessions().end() || it->second.entries.empty() || pick % 3 == 0
               ? ""
               : it->second.entries[pick % it->second.entries.size()].digest;
  }
  std::optional<std::string> expect(const Op& op, const std::string& session, const std::string& head) {
    if (op.expect <= 4) return std::nullopt;
    if (op.expect == 8) return "";
    if (op.expect == 9) return entry(session, op.pick, true);
    const auto it = model_.sessions().find(session);
    const std::size_t seq = it == model_.sessions().end() || !it->second.heads.contains(head) ? 0 : it->second.heads.at(head);
    return seq == 0 ? "" : it->second.entries[seq - 1].id;
  }

  const Model& model_;
  const std::string prefix_;
  std::vector<Call> calls_;
};

// The same answers from a real log.
std::string refusal(const Error& error) {
  std::string out(info(error.code()).name);
  const auto add = [&](std::string_view key) {
    if (detail(error, key) != "(none)") out += " " + std::string(key) + "=" + detail(error, key);
  };
  if (error.code() == ErrorCode::CONFLICT) {
    add("head");
    add("expect");
  }
  if (error.code() == ErrorCode::ID_REUSED) {
    add("id");
    add("seq");
  }
  add("index");
  return out;
}

std::string stands(const EntryId& id) { return "head=" + (id.empty() ? "null" : id.str()); }

struct Asker {
  LogTxn& txn;

  static std::optional<Expect> expected(const std::optional<std::string>& expect) {
    return expect ? std::optional(Expect{*expect}) : std::nullopt;
  }

  Result<std::string> operator()(const AppendCall& call) {
    AppendRequest request{SessionId::trusted(call.session), HeadName::trusted(call.head), expected(call.expect), {}};
    for (const EntryCall& e : call.entries) {
      NewEntry entry{
          e.type, {e.body, BodyHash(e.body)}, e.id ? std::optional(EntryId::trusted(*e.id)) : std::nullopt, std::nullopt, std::nullopt};
      if (e.parent != EntryCall::Parent::left_out) entry.parent = NewEntry::Parent{e.parent == EntryCall::Parent::root, e.parent_name};
      request.entries.push_back(std::move(entry));
    }
    TRY(const AppendResult result, append(txn, request, TimeMs{1}));
    std::string out = "OK ";
    for (const auto& item : result.entries)
      out += std::to_string(item.seq) + " " + item.id.str() + " " + item.digest.hex() + (item.known ? " known; " : " new; ");
    return out + stands(result.head) + (result.session_made ? " made" : "");
  }
  Result<std::string> operator()(const MoveCall& call) {
    TRY(const EntryId id,
        move_head(txn, {SessionId::trusted(call.session), HeadName::trusted(call.head), call.entry, call.before, expected(call.expect)},
                  false));
    return "OK " + stands(id);
  }
  Result<std::string> operator()(const ForkCall& call) {
    const SessionId session = SessionId::trusted(call.session);
    TRY(const SessionRow row, need_session(txn, session));
    Seq at = 0;
    if (!call.entry.empty()) {
      TRY(const auto found, find_entry(txn, row, call.entry, Naming::exact));
      at = found.seq;
    }
    TRY(const EntryId id, fork_head(txn, session, HeadName::trusted(call.head), at));
    return "OK " + stands(id);
  }
  Result<std::string> operator()(const DeleteHeadCall& call) {
    TRY_DO(delete_head(txn, SessionId::trusted(call.session), HeadName::trusted(call.head)));
    return std::string("OK");
  }
  Result<std::string> operator()(const DeleteSessionCall& call) {
    TRY(const SessionRow row, need_session(txn, SessionId::trusted(call.session)));
    TRY_DO(txn.delete_session(row.no));
    return std::string("OK");
  }
};

std::string answer(Log& log, const Call& call) {
  const auto answered = write_to(log, [&](LogTxn& txn) { return std::visit(Asker{txn}, call); });
  return answered.ok() ? *answered : refusal(answered.error());
}

Result<std::string> dump_entries(LogReader& reader, const SessionRow& session) {
  std::string out;
  TRY(const Seq last, reader.last_seq(session.no));
  for (Seq seq = 1; seq <= last; ++seq) {
    TRY(const auto entry, reader.entry(session.no, seq, Columns::all));
    if (!entry) return Error(ErrorCode::CORRUPT, "a gap at seq " + std::to_string(seq));
    TRY(const Seq barrier, barrier_at(reader, session.no, seq));
    out += "  " + std::to_string(seq) + " " + entry->id.str() + " " + entry->type + " " + entry->body + " " + entry->digest.hex() +
           " barrier " + std::to_string(barrier) + " path";
    TRY(const auto path, path_to(reader, session.no, seq));
    for (const Seq at : path) out += " " + std::to_string(at);
    out += entry->depth == path.size() ? "\n" : " with another depth\n";
  }
  return out;
}

// The sessions whose name begins with `prefix`, in the words of Model::dump().
std::string dump(Log& log, const std::string& prefix) {
  return must(read_from(log, [&](LogReader& reader) -> Result<std::string> {
    std::string out;
    TRY(const auto sessions, reader.sessions());
    for (const SessionRow& session : sessions) {
      if (!session.id.str().starts_with(prefix)) continue;
      out += "session " + session.id.str() + "\n";
      TRY(const auto heads, reader.heads(session.no));
      for (const HeadRow& head : heads) out += "  head " + head.name.str() + " at " + std::to_string(head.seq) + "\n";
      TRY(const std::string entries, dump_entries(reader, session));
      out += entries;
    }
    return out;
  }));
}

TEST(ModelTest, EveryLogAnswersAsTheModelDoes) {
  const TempDir dir;
  const auto sqlite = must(Store::open(dir / "store", Store::Access::write, {Durability::normal}, {}));
  const auto memory = Store::in_memory({});
  int cases = 0, operations = 0;
  std::map<std::string, int> seen;  // codes, so that a generator gone blind is noticed
  const bool held = rc::check("the SQLite log, the memory log and the model agree", [&] {
    const auto ops = *rc::gen::scale(3.0, rc::gen::container<std::vector<Op>>(op_gen()));
    const std::string prefix = "case" + std::to_string(++cases) + "-";
    Model model;
    Caller caller(model, prefix);
    for (const Op& op : ops) {
      const Call call = caller.call(op);
      RC_LOG() << show(call) << "\n";
      const std::string expected = model.answer(call);
      RC_LOG() << "  " << expected << "\n";
      RC_ASSERT(answer(memory->log(), call) == expected);
      RC_ASSERT(answer(sqlite->log(), call) == expected);
      ++operations;
      ++seen[expected.substr(0, expected.find(' '))];
    }
    RC_ASSERT(dump(memory->log(), prefix) == model.dump());
    RC_ASSERT(dump(sqlite->log(), prefix) == model.dump());
  });
  EXPECT_TRUE(held);
  if (held && std::getenv("RC_PARAMS") == nullptr) {
    EXPECT_GE(operations, 2000);
    for (const char* code : {"OK", "CONFLICT", "ID_REUSED", "NOT_FOUND", "INVALID_FIELD"}) EXPECT_GE(seen[code], 20) << code;
  }
}

}  // namespace
}  // namespace weir::testing
