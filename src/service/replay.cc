#include "service/replay.h"

#include <algorithm>

#include "compaction/carry.h"
#include "compaction/evidence.h"
#include "compaction/run_fold.h"
#include "compaction/snapshot.h"
#include "json/canonical.h"
#include "session/bodies.h"
#include "session/fold.h"
#include "session/path.h"
#include "store/blob_refs.h"

namespace weir {

using compaction::RunFold;
using compaction::RunState;
using json::Value;

namespace {

struct Way {
  RunState state;
  std::optional<Digest> before;  // digest of the entry it starts behind
  std::vector<Seq> seqs;
};

Result<bool> start_at(LogReader& reader, SessionNo session, Seq seq, Way& way) {
  TRY(const auto saved, reader.checkpoint(session, RunFold::kName, seq));
  TRY(const auto entry, reader.entry(session, seq, Columns::without_body));
  if (!saved || !entry) return false;
  TRY(auto parts, read_parts(reader, session, RunFold::kParts));
  auto state = RunFold::load(saved->state, std::move(parts));
  if (!state.ok()) return false;
  way.state = std::move(state).value();
  way.before = entry->digest;
  return true;
}

// Back from the cut to the nearest saved state, or to the root.
Result<Way> way_to(LogReader& reader, SessionNo session, const Entry& cut, ReplayFrom from) {
  Way way;
  std::vector<Seq> saved;
  if (from == ReplayFrom::checkpoint) {
    TRY(saved, reader.checkpoints(session, RunFold::kName));
  }
  // A path as long as its last seq holds every entry up to it.
  if (cut.depth == cut.seq) {
    Seq start = 0;
    for (auto it = saved.rbegin(); it != saved.rend() && start == 0; ++it) {
      if (*it > cut.seq) continue;
      TRY(const bool started, start_at(reader, session, *it, way));
      if (started) start = *it;
    }
    for (Seq at = start + 1; at <= cut.seq; ++at) way.seqs.push_back(at);
    return way;
  }
  TRY_DO(walk_back(reader, session, cut.seq, Columns::without_body, [&](Entry& entry) -> Result<bool> {
    if (std::binary_search(saved.begin(), saved.end(), entry.seq)) {
      TRY(const bool started, start_at(reader, session, entry.seq, way));
      if (started) return false;
    }
    way.seqs.push_back(entry.seq);
    return true;
  }));
  std::reverse(way.seqs.begin(), way.seqs.end());
  return way;
}

}  // namespace

Result<Replay> replay(LogReader& reader, SessionNo session, Seq cut, ReplayFrom from) {
  Replay out;
  TRY(const auto entry, reader.entry(session, cut, Columns::without_body));
  if (!entry) return missing_entry(reader, session, cut);
  out.cut = *entry;
  out.entries = entry->depth;
  TRY(Way way, way_to(reader, session, *entry, from));
  std::uint64_t position = entry->depth - way.seqs.size();
  const auto broken = [&](std::uint64_t at) { out.problems.push_back("digest broken at position " + std::to_string(at)); };
  auto walked = walk(reader, session, way.seqs, Columns::all, [&](Entry& row) -> Result<bool> {
    ++position;
    if (entry_digest(way.before, row.type, row.body) != row.digest) broken(position);
    way.before = row.digest;
    TRY_DO(RunFold::step(way.state, row));
    return true;
  });
  if (!walked.ok()) {
    if (walked.error().code() != ErrorCode::CORRUPT) return std::move(walked).error();
    if (out.problems.empty()) broken(position + 1);
    out.damage = std::move(walked).error();
    return out;
  }
  out.state = std::make_shared<const RunState>(std::move(way.state));
  return out;
}

Result<std::unique_ptr<StoredSnapshot>> stored_snapshot(const Value& body, Blobs& blobs) {
  auto out = std::make_unique<StoredSnapshot>();
  const Value* snapshot = body.find("snapshot");
  if (snapshot == nullptr || !snapshot->is_object()) return Error(ErrorCode::NOT_FOUND, "the entry holds no snapshot");
  TRY(const auto blob, blob_reference(*snapshot));
  std::string text;
  if (blob) {
    TRY(text, blobs.get(*blob));
  } else {
    text = json::canonical(*snapshot);
  }
  TRY(out->stored, out->parser.parse_stored(text));
  return out;
}

Result<std::unique_ptr<StoredSnapshot>> stored_snapshot(LogReader& reader, SessionNo session, Seq holder, Blobs& blobs) {
  TRY(const auto entry, reader.entry(session, holder, Columns::all));
  if (!entry) return missing_entry(reader, session, holder);
  json::Parser parser;
  TRY(const Value body, stored_body(parser, *entry));
  return stored_snapshot(body, blobs);
}

Result<std::vector<compaction::Pin>> pinned_texts(LogReader& reader, SessionNo session, const RunState& state) {
  std::vector<Seq> seqs;
  state.carry.pins.each([&](std::uint64_t seq, bool) { seqs.push_back(seq); });
  std::vector<compaction::Pin> out;
  json::Parser parser;
  for (const Seq seq : seqs) {
    TRY(const auto entry, reader.entry(session, seq, Columns::all));
    if (!entry) return missing_entry(reader, session, seq);
    TRY(const Value body, stored_body(parser, *entry));
    compaction::Text text = compaction::message_text(body.find("content"), compaction::kMostText);
    out.push_back({{entry->digest.prefix64()},
                   parse_role(body.text_or("role", "")).value_or(Role::user),
                   text.bytes,
                   text.whole ? std::optional(std::move(text.opening)) : std::nullopt});
  }
  return out;
}

Result<GatheredFacts> gather_facts(LogReader& reader, const SessionRow& session, Replay replayed, Blobs& blobs) {
  GatheredFacts out;
  compaction::LogFacts& facts = out.facts;
  facts.session = session.id.str();
  facts.log_problems = std::move(replayed.problems);
  facts.entries = replayed.entries;
  facts.cut = replayed.cut.digest;
  facts.cut_type = replayed.cut.type;
  facts.state = std::move(replayed.state);
  facts.chunk_bytes = [&blobs](const RunState& state, const std::string& chunk) { return compaction::chunk_bytes(state, chunk, blobs); };
  if (facts.state == nullptr) return out;
  TRY(facts.pins, pinned_texts(reader, session.no, *facts.state));
  if (const compaction::Accepted* before = facts.state->last_accepted()) {
    auto previous = stored_snapshot(reader, session.no, before->holder.seq, blobs);
    if (previous.ok()) {
      out.previous = std::move(previous).value();
      facts.previous = &out.previous->stored;
    } else if (previous.error().code() == ErrorCode::BUSY) {
      return std::move(previous).error();  // that says nothing about the snapshot
    } else {
      facts.log_problems.push_back("snapshot " + std::to_string(before->sequence) + " cannot be read: " + previous.error().message());
    }
  }
  return out;
}

compaction::Candidate shown_candidate(const Value& stored, const std::string& session, TimeMs at, const compaction::Place& first,
                                      const compaction::Place& last) {
  json::Arena arena;
  return compaction::Candidate(json::canonical(compaction::shown_form(stored, {session, format_time(at), first, last}, arena)));
}

}  // namespace weir
