// The log read again for a snapshot's sake: every entry on the way to the cut is hashed and folded anew, nothing is taken from
// memory. And what a snapshot needs besides: the one before it, the texts of pins, the bytes of chunks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compaction/validate.h"
#include "service/service.h"

namespace weir {

enum class ReplayFrom {
  checkpoint,  // the state saved last on the path
  root,
};

struct Replay {
  Entry cut;                                          // without its body
  std::uint64_t entries = 0;                          // on the path to it
  std::vector<std::string> problems;                  // `digest broken at position 16`
  std::shared_ptr<const compaction::RunState> state;  // null where the log cannot be folded
  std::optional<Error> damage;                        // why, with its place
};
Result<Replay> replay(LogReader& reader, SessionNo session, Seq cut, ReplayFrom from);

// A snapshot as an entry holds it: in its body, or in a blob.
struct StoredSnapshot {
  json::Parser parser;
  json::Value stored;
};
Result<std::unique_ptr<StoredSnapshot>> stored_snapshot(const json::Value& body, Blobs& blobs);
Result<std::unique_ptr<StoredSnapshot>> stored_snapshot(LogReader& reader, SessionNo session, Seq holder, Blobs& blobs);

Result<std::vector<compaction::Pin>> pinned_texts(LogReader& reader, SessionNo session, const compaction::RunState& state);

// All that a candidate is held against. Owns what the facts point to.
struct GatheredFacts {
  compaction::LogFacts facts;
  std::unique_ptr<StoredSnapshot> previous;
};
Result<GatheredFacts> gather_facts(LogReader& reader, const SessionRow& session, Replay replayed, Blobs& blobs);

// A stored snapshot as the validator takes it: with what is shown of it in this session.
compaction::Candidate shown_candidate(const json::Value& stored, const std::string& session, TimeMs at, const compaction::Place& first,
                                      const compaction::Place& last);

}  // namespace weir
