// The far end of tests/oracle/snapshot_oracle_test.py: a service with its store in memory and one session, driven by one JSON
// object per line of stdin; for each a line with the answer, or {"error":CODE,"message":...}.
//
//   {"do":"open","session"}                           everything before is forgotten
//   {"do":"append","lenient","dry_run","entry"}       -> {"due","warnings",...}
//   {"do":"compact","max_bytes","reason","tokens_before","dry_run"}, {"do":"attach"}
//   {"do":"goto","entry"}
//   {"do":"path","after"}                             -> {"entries":[{"seq","id","digest","type","body"}]} behind a position
//   {"do":"blob","sha256"}                            -> {"hex"}
//   {"do":"due","event_threshold","n_step_fallback"}
//   {"do":"show","which"}                             -> the shown form
//   {"do":"narrative","which","max_bytes"}            -> {"text"}
//   {"do":"check","hex"}                              -> the validation object for these bytes
//   {"do":"folds"}                                    -> the run at the head: {"live","replayed","loaded"}, hashes of its saved forms
//   {"do":"forget"}                                   saved states are deleted, remembered ones too
//   {"do":"verify"}                                   -> {"findings":[...]}
#include <algorithm>
#include <iostream>
#include <string>

#include "base/sha256.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "service/append.h"
#include "service/compact.h"
#include "service/replay.h"
#include "service/run.h"
#include "service/sessions.h"
#include "service/snapshots.h"
#include "session/address.h"
#include "session/path.h"

namespace {

using namespace weir;
using json::Arena;
using json::Value;

std::string error_line(const Error& error) {
  Arena arena;
  return json::canonical(json::make_object(arena, {{"error", info(error.code()).name}, {"message", error.message()}}));
}

std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) out += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  return out;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

class Peer {
 public:
  Result<std::string> answer(const Value& ask, Arena& arena) {
    const std::string_view what = ask.text_or("do", "");
    if (what == "open") return open(ask);
    if (what == "append") return append(ask, arena);
    if (what == "compact") return compact(ask, arena);
    if (what == "attach") return attach(arena);
    if (what == "goto") return go_to(ask);
    if (what == "path") return path(ask, arena);
    if (what == "blob") return blob(ask, arena);
    if (what == "due") return due(ask);
    if (what == "show") return show(ask);
    if (what == "narrative") return narrative(ask, arena);
    if (what == "check") return check(ask, arena);
    if (what == "folds") return folds(arena);
    if (what == "forget") return forget();
    if (what == "verify") return verify(arena);
    return Error(ErrorCode::INVALID_FIELD, "do: unknown");
  }

 private:
  static std::optional<std::uint64_t> number(const Value& ask, std::string_view key) {
    const Value* value = ask.find(key);
    return value != nullptr && value->is_integer() ? std::optional(static_cast<std::uint64_t>(value->integer())) : std::nullopt;
  }
  static bool flag(const Value& ask, std::string_view key) {
    const Value* value = ask.find(key);
    return value != nullptr && value->is_boolean() && value->boolean();
  }
  Address here() const { return {session_, head_, "", false}; }

  Result<std::string> open(const Value& ask) {
    service_.reset();
    TRY(session_, SessionId::parse(ask.text_or("session", "run")));
    TRY(service_, Service::open({}, Store::Access::write, Doors{}));
    TRY_DO(new_session(*service_, session_, false));
    return std::string("{}");
  }

  Result<std::string> append(const Value& ask, Arena& arena) {
    AppendCall call(*service_, session_, head_, std::nullopt, flag(ask, "dry_run"), {.lenient = flag(ask, "lenient")});
    TRY_DO(call.add(*ask.find("entry"), "", arena));
    TRY(const AppendAnswer done, call.commit());
    return json::canonical(done.to_json(arena));
  }

  Result<std::string> compact(const Value& ask, Arena& arena) {
    CompactRequest request;
    request.session = session_;
    request.max_bytes = number(ask, "max_bytes");
    request.reason = ask.text_or("reason", "");
    request.dry_run = flag(ask, "dry_run");
    if (const auto tokens = number(ask, "tokens_before")) request.tokens_before = static_cast<std::int64_t>(*tokens);
    TRY(const CompactAnswer done, weir::compact(*service_, request));
    return json::canonical(done.to_json(arena));
  }

  Result<std::string> attach(Arena& arena) {
    AttachRequest request;
    request.session = session_;
    TRY(const CompactAnswer done, attach_snapshot(*service_, request));
    return json::canonical(done.to_json(arena));
  }

  Result<std::string> go_to(const Value& ask) {
    TRY_DO(move_head(*service_, {session_, head_, std::string(ask.text_or("entry", "")), false, std::nullopt}, false, false));
    return std::string("{}");
  }

  Result<std::string> path(const Value& ask, Arena& arena) {
    const std::uint64_t after = number(ask, "after").value_or(0);
    std::vector<Value> entries;
    TRY_DO(service_->log().read([&](LogReader& reader) -> Result<void> {
      TRY(const Located at, locate(reader, here()));
      if (at.seq == 0) return {};
      return walk_back(reader, at.session.no, at.seq, Columns::all, [&](Entry& entry) -> Result<bool> {
        if (entry.depth <= after) return false;
        entries.push_back(json::make_object(arena, {{"seq", entry.seq},
                                                    {"id", arena.copy(entry.id.str())},
                                                    {"digest", arena.copy(entry.digest.hex())},
                                                    {"type", arena.copy(entry.type)},
                                                    {"body", Value::raw(arena.copy(entry.body))}}));
        return true;
      });
    }));
    std::reverse(entries.begin(), entries.end());
    return json::canonical(json::make_object(arena, {{"entries", json::make_array(arena, entries)}}));
  }

  Result<std::string> blob(const Value& ask, Arena& arena) {
    TRY(const Digest digest, Digest::parse(ask.text_or("sha256", "")));
    TRY(const std::string bytes, service_->store().blobs().get(digest));
    return json::canonical(json::make_object(arena, {{"hex", to_hex(bytes)}}));
  }

  Result<std::string> due(const Value& ask) {
    DueQuery query{here(), {}, {}};
    if (const auto n = number(ask, "event_threshold")) query.event_threshold = static_cast<std::int64_t>(*n);
    if (const auto n = number(ask, "n_step_fallback")) query.n_step_fallback = static_cast<std::int64_t>(*n);
    TRY(const DueAnswer answer, ask_due(*service_, query));
    return answer.text;
  }

  Result<std::string> show(const Value& ask) {
    TRY(const ShownSnapshot shown, show_snapshot(*service_, here(), ask.text_or("which", "last")));
    return json::canonical(shown.shown);
  }

  Result<std::string> narrative(const Value& ask, Arena& arena) {
    TRY(const std::string text, snapshot_narrative(*service_, here(), ask.text_or("which", "last"), number(ask, "max_bytes")));
    return json::canonical(json::make_object(arena, {{"text", text}}));
  }

  Result<std::string> check(const Value& ask, Arena& arena) {
    TRY(const auto verdict, check_snapshot(*service_, from_hex(ask.text_or("hex", "")), session_, head_));
    return json::canonical(verdict.to_json(compaction::Action::none, arena));
  }

  // What the engine holds, what a replay from the root gives, and what is read back from its saved form.
  Result<std::string> folds(Arena& arena) {
    std::string live, replayed, loaded;
    TRY_DO(service_->log().read([&](LogReader& reader) -> Result<void> {
      TRY(const Located at, locate(reader, here()));
      TRY(const auto state, service_->run_fold().at(reader, at.session.no, at.seq));
      live = compaction::RunFold::save(*state);
      TRY(const auto again, compaction::RunFold::load(live));
      loaded = compaction::RunFold::save(again);
      TRY(const Replay root, replay(reader, at.session.no, at.seq, ReplayFrom::root));
      replayed = compaction::RunFold::save(*root.state);
      return {};
    }));
    return json::canonical(json::make_object(arena, {{"live", arena.copy(sha256(live).hex())},
                                                     {"replayed", arena.copy(sha256(replayed).hex())},
                                                     {"loaded", arena.copy(sha256(loaded).hex())}}));
  }

  Result<std::string> forget() {
    TRY_DO(service_->write([&](LogTxn& txn) -> Result<void> {
      TRY(const SessionRow session, need_session(txn, session_));
      return txn.drop_checkpoints(session.no, compaction::RunFold::kName);
    }));
    service_->forget_folds();
    return std::string("{}");
  }

  Result<std::string> verify(Arena& arena) {
    VerifyReport report;
    TRY_DO(verify_snapshots(*service_, session_.str(), report));
    std::vector<Value> findings;
    for (const Finding& finding : report.findings) findings.push_back(arena.copy(finding.entry + ": " + finding.what));
    return json::canonical(json::make_object(arena, {{"findings", json::make_array(arena, findings)}}));
  }

  std::unique_ptr<Service> service_;
  SessionId session_;
  HeadName head_;
};

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  Peer peer;
  weir::json::Parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    const auto ask = parser.parse(line, {.depth = 100});
    if (!ask.ok()) {
      std::cout << error_line(ask.error()) << std::endl;
      continue;
    }
    const auto text = peer.answer(*ask, parser.arena());
    std::cout << (text.ok() ? *text : error_line(text.error())) << std::endl;
  }
  return 0;
}
