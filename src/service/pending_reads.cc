#include "service/pending_reads.h"

#include <algorithm>
#include <atomic>

#include "json/parse.h"
#include "session/bodies.h"
#include "session/path.h"
#include "session/types.h"

namespace weir {
namespace {

bool same_record(const ReadRecord& a, const ReadRecord& b) {
  return a.path == b.path && a.scope() == b.scope() && a.served == b.served && a.text_sha256 == b.text_sha256;
}

EntryId entry_of(const PendingReads::Read& read) {
  const auto named = EntryId::parse(read.call_id);
  return named.ok() ? *named : EntryId::trusted("pending");
}

}  // namespace

// What the entry says of the reads in flight: confirmed or contradicted, either way they are no longer in flight.
void PendingReads::Place::settle(const Entry& entry) {
  if (entry.type == types::kCompaction || entry.type == types::kRefresh) {
    reads_.clear();
    return;
  }
  if (entry.type != types::kMessage) return;
  json::Parser parser;
  const auto body = parser.parse_stored(entry.body);
  if (!body.ok()) return;
  json::FieldErrors ignored;
  const MessageBody message = decode_message(*body, "", ignored);
  if (message.role != Role::tool) return;
  const auto record = message.read == nullptr ? std::nullopt : parse_read_record(*message.read);
  const auto it = std::find_if(reads_.begin(), reads_.end(), [&](const Read& read) {
    if (!read.call_id.empty() && message.tool_call_id) return read.call_id == *message.tool_call_id;
    return record && same_record(read.record, *record);
  });
  if (it != reads_.end()) {
    reads_.erase(it);
  } else if (!record && (!message.name || *message.name == "read")) {
    // Some read came back without its record, and nobody can say which.
    std::erase_if(reads_, [&](const Read& read) { return read.call_id.empty() || !message.tool_call_id; });
  }
}

Result<void> PendingReads::Place::follow(LogReader& reader, SessionNo session, Seq leaf) {
  // Another session of the same name: the one they were of was purged, maybe by another process.
  if (session != session_ && session_ != SessionNo()) reads_.clear();
  session_ = session;
  TRY(const Seq last, reader.last_seq(session));
  // The same leaf in a longer log: it has been elsewhere, and what was appended there is not on its path.
  if (leaf == leaf_ && last != last_) reads_.clear();
  last_ = last;
  if (leaf == leaf_) return {};
  std::vector<Entry> since;
  bool descends = leaf_ == 0;
  if (!reads_.empty() && leaf > leaf_) {
    TRY_DO(walk_back(reader, session, leaf, Columns::all, [&](Entry& entry) -> Result<bool> {
      if (entry.seq <= leaf_) {
        descends = entry.seq == leaf_;
        return false;
      }
      since.push_back(std::move(entry));
      return true;
    }));
  }
  if (!descends || leaf < leaf_) reads_.clear();
  for (auto entry = since.rbegin(); entry != since.rend(); ++entry) settle(*entry);
  leaf_ = leaf;
  if (turn_.empty()) reads_.clear();
  moved_ = !reads_.empty();
  return {};
}

Result<void> PendingReads::Place::arrive(LogReader& reader, SessionNo session, const Arrival& arrival) {
  // Children that were not there: the host went on from here and came back.
  if (arrival.leaf == leaf_ && arrival.leaf_has_children && !has_children_) reads_.clear();
  has_children_ = arrival.leaf_has_children;
  TRY_DO(follow(reader, session, arrival.leaf));
  if (arrival.turn != turn_ || (moved_ && arrival.turn.empty())) reads_.clear();
  if (reads_.empty()) moved_ = false;
  turn_ = arrival.turn;
  return {};
}

std::uint64_t PendingReads::Place::add(Read read) {
  static std::atomic<std::uint64_t> numbers{0};
  read.number = ++numbers;
  reads_.push_back(std::move(read));
  return reads_.back().number;
}

bool PendingReads::Place::speaks_of(const std::string& path) const {
  return std::any_of(reads_.begin(), reads_.end(), [&](const Read& read) { return read.record.path == path; });
}

void PendingReads::Place::apply(const TrustFold& fold, TrustFold::State& state) const {
  for (const Read& read : reads_) fold.take_record(state, entry_of(read), read.record);
}

PendingReads::Hold PendingReads::hold(const SessionId& session, const HeadName& head) {
  std::shared_ptr<Place> place;
  {
    const std::lock_guard lock(mutex_);
    auto& slot = places_[{session, head}];
    if (slot == nullptr) slot = std::make_shared<Place>();
    place = slot;
  }
  std::unique_lock lock(place->mutex_);
  return {std::move(place), std::move(lock)};
}

std::vector<std::shared_ptr<PendingReads::Place>> PendingReads::places(const SessionId& session) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Place>> out;
  for (const auto& [key, place] : places_) {
    if (key.first == session) out.push_back(place);
  }
  return out;
}

Result<void> PendingReads::follow(LogReader& reader, const SessionRow& session, const HeadName& head, Seq leaf) {
  std::shared_ptr<Place> place;
  {
    const std::lock_guard lock(mutex_);
    const auto it = places_.find({session.id, head});
    if (it == places_.end()) return {};
    place = it->second;
  }
  const std::lock_guard lock(place->mutex_);
  return place->follow(reader, session.no, leaf);
}

void PendingReads::abort(const SessionId& session, const std::vector<std::string>& call_ids) {
  for (const auto& place : places(session)) {
    const std::lock_guard lock(place->mutex_);
    std::erase_if(place->reads_,
                  [&](const Read& read) { return std::find(call_ids.begin(), call_ids.end(), read.call_id) != call_ids.end(); });
  }
}

void PendingReads::forget(const SessionId& session, std::uint64_t number) {
  for (const auto& place : places(session)) {
    const std::lock_guard lock(place->mutex_);
    std::erase_if(place->reads_, [&](const Read& read) { return read.number == number; });
  }
}

void PendingReads::drop(const SessionId& session) {
  for (const auto& place : places(session)) {
    const std::lock_guard lock(place->mutex_);
    place->reads_.clear();
  }
}

void PendingReads::purged(const SessionId& session) {
  drop(session);
  const std::lock_guard lock(mutex_);
  synced_.erase(session);
}

void PendingReads::begin_sync(const SessionId& session) {
  const std::lock_guard lock(mutex_);
  synced_.insert(session);
}

bool PendingReads::is_synced(const SessionId& session) {
  const std::lock_guard lock(mutex_);
  return synced_.contains(session);
}

std::uint64_t PendingReads::count(const SessionId& session) {
  std::uint64_t count = 0;
  for (const auto& place : places(session)) {
    const std::lock_guard lock(place->mutex_);
    count += place->reads_.size();
  }
  return count;
}

bool PendingReads::speaks_of(const SessionId& session, const std::string& path, const std::string& name) {
  for (const auto& place : places(session)) {
    const std::lock_guard lock(place->mutex_);
    const auto speaks = [&](const Read& read) { return read.record.path == path || read.record.asked_as() == name; };
    if (std::any_of(place->reads_.begin(), place->reads_.end(), speaks)) return true;
  }
  return false;
}

std::vector<std::string> PendingReads::versions() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [key, place] : places_) {
    const std::lock_guard place_lock(place->mutex_);
    for (const Read& read : place->reads_) out.push_back(read.record.served);
  }
  return out;
}

}  // namespace weir
