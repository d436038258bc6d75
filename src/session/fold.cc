#include "session/fold.h"

namespace weir {

Result<std::shared_ptr<Parts>> read_parts(LogReader& reader, SessionNo session, std::string_view name) {
  std::map<PartKey, std::string> out;
  TRY(const std::vector<Seq> keys, reader.checkpoints(session, name));
  for (const PartKey key : keys) {
    TRY(auto row, reader.checkpoint(session, name, key));
    if (row && part_key(row->state) == key) out.emplace(key, std::move(row->state));
  }
  return std::shared_ptr<Parts>(std::make_shared<PartMap>(std::move(out)));
}

Result<LogPartSink> LogPartSink::open(LogTxn& txn, SessionNo session, std::string_view name) {
  TRY(std::vector<Seq> there, txn.checkpoints(session, name));
  return LogPartSink(txn, session, name, std::move(there));
}

bool LogPartSink::has(PartKey key) {
  const bool first = used_.insert(key).second;
  return !first || std::binary_search(there_.begin(), there_.end(), key);
}

void LogPartSink::put(PartKey key, std::string_view bytes) {
  if (result_.ok()) result_ = txn_.save_checkpoint(session_, name_, {key, std::string(bytes)});
}

Result<void> LogPartSink::finish() {
  TRY_DO(std::move(result_));
  std::vector<PartKey> left;
  std::set_difference(there_.begin(), there_.end(), used_.begin(), used_.end(), std::back_inserter(left));
  if (left.size() <= used_.size()) return {};
  for (const PartKey key : left) TRY_DO(txn_.drop_checkpoint(session_, name_, key));
  return {};
}

}  // namespace weir
