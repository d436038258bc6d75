#include "store/memory_log.h"

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "base/check.h"

namespace weir {
namespace {

struct SessionData {
  SessionRow row;
  std::vector<Entry> entries;  // entries[seq - 1]
  std::map<HeadName, Seq> heads;
  std::map<std::string, Seq, std::less<>> ids;
  std::map<std::pair<std::string, Seq>, std::string> checkpoints;
  std::map<std::pair<std::uint64_t, Seq>, std::uint64_t> undelivered;  // by path and seq
  MaskCounts masked;
};

struct Tables {
  std::map<std::uint64_t, SessionData> sessions;
  std::map<SessionId, std::uint64_t> names;
  std::uint64_t last_no = 0;
  std::set<Digest> purged;
  std::map<std::uint64_t, PurgedSession> purged_sessions;
};

Entry shown(const Entry& entry, Columns columns) {
  Entry out = entry;
  if (columns == Columns::without_body) out.body.clear();
  return out;
}

// Writes go straight in; what takes each back is kept until the end.
class MemoryTxn final : public LogTxn {
 public:
  explicit MemoryTxn(Tables& tables) : tables_(tables) {}

  void undo() {
    for (auto step = undo_.rbegin(); step != undo_.rend(); ++step) (*step)();
    undo_.clear();
  }

  Result<std::vector<SessionRow>> sessions(std::vector<Error>*) override {
    std::vector<SessionRow> out;
    for (const auto& [id, no] : tables_.names) out.push_back(tables_.sessions.at(no).row);
    return out;
  }
  Result<std::optional<SessionRow>> session(const SessionId& id) override {
    const auto it = tables_.names.find(id);
    if (it == tables_.names.end()) return std::optional<SessionRow>();
    return std::optional(tables_.sessions.at(it->second).row);
  }
  Result<Seq> last_seq(SessionNo session) override {
    const SessionData* data = find_session(session);
    return data == nullptr ? 0 : data->entries.size();
  }
  Result<std::vector<HeadRow>> heads(SessionNo session) override {
    std::vector<HeadRow> out;
    if (const SessionData* data = find_session(session)) {
      for (const auto& [name, seq] : data->heads) out.push_back({name, seq});
    }
    return out;
  }
  Result<std::optional<Seq>> head(SessionNo session, const HeadName& name) override {
    const SessionData* data = find_session(session);
    if (data == nullptr || !data->heads.contains(name)) return std::optional<Seq>();
    return std::optional(data->heads.at(name));
  }
  Result<std::optional<Entry>> entry(SessionNo session, Seq seq, Columns columns) override {
    const SessionData* data = find_session(session);
    if (data == nullptr || seq == 0 || seq > data->entries.size()) return std::optional<Entry>();
    return std::optional(shown(data->entries[seq - 1], columns));
  }
  Result<std::optional<Entry>> find(SessionNo session, const EntryId& id, Columns columns) override {
    const SessionData* data = find_session(session);
    if (data == nullptr) return std::optional<Entry>();
    const auto it = data->ids.find(id.str());
    if (it == data->ids.end()) return std::optional<Entry>();
    return entry(session, it->second, columns);
  }
  Result<std::vector<Seq>> with_digest(SessionNo session, std::uint64_t prefix64) override {
    std::vector<Seq> out;
    if (const SessionData* data = find_session(session)) {
      for (const Entry& found : data->entries) {
        if (found.digest.prefix64() == prefix64) out.push_back(found.seq);
      }
    }
    return out;
  }
  Result<std::vector<Seq>> with_id_prefix(SessionNo session, std::string_view prefix, std::size_t most) override {
    std::vector<Seq> out;
    if (const SessionData* data = find_session(session)) {
      for (auto it = data->ids.lower_bound(prefix); it != data->ids.end() && it->first.starts_with(prefix) && out.size() < most; ++it)
        out.push_back(it->second);
    }
    return out;
  }
  Result<void> scan(SessionNo session, Seq first, Seq last, Order order, Columns columns,
                    FunctionRef<Result<bool>(Entry&)> visit) override {
    const SessionData* data = find_session(session);
    if (data == nullptr) return {};
    first = std::max<Seq>(first, 1);
    last = std::min<Seq>(last, data->entries.size());
    for (Seq i = 0; first + i <= last; ++i) {
      Entry copy = shown(data->entries[(order == Order::forward ? first + i : last - i) - 1], columns);
      TRY(const bool go_on, visit(copy));
      if (!go_on) break;
    }
    return {};
  }
  Result<std::optional<CheckpointRow>> checkpoint(SessionNo session, std::string_view fold, Seq seq) override {
    const SessionData* data = find_session(session);
    if (data == nullptr) return std::optional<CheckpointRow>();
    const auto it = data->checkpoints.find({std::string(fold), seq});
    if (it == data->checkpoints.end()) return std::optional<CheckpointRow>();
    return std::optional(CheckpointRow{seq, it->second});
  }
  Result<std::vector<Seq>> checkpoints(SessionNo session, std::string_view fold) override {
    std::vector<Seq> out;
    if (const SessionData* data = find_session(session)) {
      for (const auto& [key, state] : data->checkpoints) {
        if (key.first == fold) out.push_back(key.second);
      }
    }
    return out;
  }
  Result<std::vector<UndeliveredRow>> all_undelivered(std::vector<Error>*) override {
    std::vector<UndeliveredRow> out;
    for (const auto& [no, data] : tables_.sessions) {
      for (const auto& [place, times] : data.undelivered) out.push_back({SessionNo{no}, place.first, place.second, times});
    }
    return out;
  }
  Result<MaskCounts> masked(SessionNo session) override {
    const SessionData* data = find_session(session);
    return data == nullptr ? MaskCounts{} : data->masked;
  }
  Result<std::vector<Digest>> purged_blobs() override { return std::vector<Digest>(tables_.purged.begin(), tables_.purged.end()); }
  Result<std::vector<PurgedSession>> purged_sessions() override {
    std::vector<PurgedSession> out;
    for (const auto& [no, row] : tables_.purged_sessions) out.push_back(row);
    return out;
  }

  Result<SessionRow> create_session(const SessionId& id, TimeMs created) override {
    WEIR_CHECK(!tables_.names.contains(id));
    const SessionRow row{SessionNo{++tables_.last_no}, id, created, ""};
    tables_.names[id] = row.no.value;
    tables_.sessions[row.no.value].row = row;
    undo_.push_back([this, row] {
      tables_.names.erase(row.id);
      tables_.sessions.erase(row.no.value);
    });
    return row;
  }
  Result<void> set_source(SessionNo session, const std::string& source) override {
    TRY(SessionData* const data, need(session));
    undo_.push_back([data, old = data->row.source] { data->row.source = old; });
    data->row.source = source;
    return {};
  }
  Result<void> delete_session(SessionNo session) override {
    TRY(SessionData* const data, need(session));
    tables_.names.erase(data->row.id);
    // The node itself is kept: earlier steps to undo point into it.
    auto node = std::make_shared<std::map<std::uint64_t, SessionData>::node_type>(tables_.sessions.extract(session.value));
    undo_.push_back([this, node] {
      tables_.names[node->mapped().row.id] = node->key();
      tables_.sessions.insert(std::move(*node));
    });
    return {};
  }
  Result<void> insert(SessionNo session, const Entry& entry) override {
    TRY(SessionData* const data, need(session));
    WEIR_CHECK(entry.seq == data->entries.size() + 1);
    WEIR_CHECK(data->ids.emplace(entry.id.str(), entry.seq).second);
    data->entries.push_back(entry);
    undo_.push_back([data, id = entry.id.str()] {
      data->entries.pop_back();
      data->ids.erase(id);
    });
    return {};
  }
  Result<void> set_head(SessionNo session, const HeadName& name, Seq seq) override {
    TRY(SessionData* const data, need(session));
    remember_head(data, name);
    data->heads[name] = seq;
    return {};
  }
  Result<void> delete_head(SessionNo session, const HeadName& name) override {
    TRY(SessionData* const data, need(session));
    remember_head(data, name);
    data->heads.erase(name);
    return {};
  }
  Result<void> save_checkpoint(SessionNo session, std::string_view fold, const CheckpointRow& row) override {
    TRY(SessionData* const data, need(session));
    remember_checkpoint(data, {std::string(fold), row.seq});
    data->checkpoints[{std::string(fold), row.seq}] = row.state;
    return {};
  }
  Result<void> drop_checkpoint(SessionNo session, std::string_view fold, Seq seq) override {
    TRY(SessionData* const data, need(session));
    remember_checkpoint(data, {std::string(fold), seq});
    data->checkpoints.erase({std::string(fold), seq});
    return {};
  }
  Result<void> drop_checkpoints(SessionNo session, std::string_view fold) override {
    TRY(const auto all, checkpoints(session, fold));
    for (const Seq seq : all) TRY_DO(drop_checkpoint(session, fold, seq));
    return {};
  }
  Result<void> add_undelivered(SessionNo session, std::uint64_t path, Seq seq) override {
    TRY(SessionData* const data, need(session));
    undo_.push_back([data, old = data->undelivered] { data->undelivered = old; });
    ++data->undelivered[{path, seq}];
    return {};
  }
  Result<void> drop_undelivered(SessionNo session, std::uint64_t path, Seq seq) override {
    SessionData* const data = find_session(session);
    const auto row = data == nullptr ? decltype(data->undelivered.begin()){} : data->undelivered.find({path, seq});
    if (data == nullptr || row == data->undelivered.end()) return {};
    undo_.push_back([data, old = data->undelivered] { data->undelivered = old; });
    if (--row->second == 0) data->undelivered.erase(row);
    return {};
  }
  Result<void> add_masked(SessionNo session, const MaskCounts& counts) override {
    TRY(SessionData* const data, need(session));
    undo_.push_back([data, old = data->masked] { data->masked = old; });
    for (const auto& [family, count] : counts) data->masked[family] += count;
    return {};
  }
  Result<void> unmark_purged(const Digest& blob) override {
    if (tables_.purged.erase(blob) > 0) {
      undo_.push_back([this, blob] { tables_.purged.insert(blob); });
    }
    return {};
  }
  Result<void> mark_purged(const Digest& blob) override {
    if (tables_.purged.insert(blob).second) {
      undo_.push_back([this, blob] { tables_.purged.erase(blob); });
    }
    return {};
  }
  Result<void> mark_purged(const PurgedSession& session) override {
    undo_.push_back([this, old = tables_.purged_sessions] { tables_.purged_sessions = old; });
    tables_.purged_sessions[session.no.value] = session;
    return {};
  }
  Result<void> sync_committed() override { return {}; }
  Result<std::uint64_t> bytes() override { return std::uint64_t{0}; }

 private:
  void remember_head(SessionData* data, const HeadName& name) {
    const auto it = data->heads.find(name);
    const std::optional<Seq> old = it == data->heads.end() ? std::nullopt : std::optional(it->second);
    undo_.push_back([data, name, old] {
      if (old) {
        data->heads[name] = *old;
      } else {
        data->heads.erase(name);
      }
    });
  }
  void remember_checkpoint(SessionData* data, const std::pair<std::string, Seq>& key) {
    const auto it = data->checkpoints.find(key);
    const std::optional<std::string> old = it == data->checkpoints.end() ? std::nullopt : std::optional(it->second);
    undo_.push_back([data, key, old] {
      if (old) {
        data->checkpoints[key] = *old;
      } else {
        data->checkpoints.erase(key);
      }
    });
  }
  SessionData* find_session(SessionNo no) {
    const auto it = tables_.sessions.find(no.value);
    return it == tables_.sessions.end() ? nullptr : &it->second;
  }
  Result<SessionData*> need(SessionNo no) {
    SessionData* data = find_session(no);
    if (data == nullptr) return Error(ErrorCode::NOT_FOUND, "the session is gone");
    return data;
  }

  Tables& tables_;
  std::vector<std::function<void()>> undo_;
};

class MemoryLog final : public Log {
 public:
  Result<void> read(FunctionRef<Result<void>(LogReader&)> body) override {
    const std::shared_lock lock(mutex_);
    MemoryTxn txn(tables_);
    return body(txn);
  }
  Result<void> write(FunctionRef<Result<void>(LogTxn&)> body, Grouping) override {
    const std::unique_lock lock(mutex_);
    MemoryTxn txn(tables_);
    auto result = body(txn);
    if (!result.ok()) txn.undo();
    if (result.ok()) ++version_;
    return result;
  }
  Result<void> try_write(FunctionRef<Result<void>(LogTxn&)> body) override {
    const std::unique_lock lock(mutex_);
    MemoryTxn txn(tables_);
    auto result = body(txn);
    txn.undo();
    return result;
  }
  Result<std::uint64_t> version() override {
    const std::shared_lock lock(mutex_);
    return version_;
  }
  Result<std::vector<Finding>> check_structure(bool) override { return std::vector<Finding>(); }

 private:
  std::shared_mutex mutex_;
  Tables tables_;
  std::uint64_t version_ = 0;
};

}  // namespace

std::unique_ptr<Log> make_memory_log() { return std::make_unique<MemoryLog>(); }

}  // namespace weir
