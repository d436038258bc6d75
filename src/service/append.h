// Use case: append entries.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "json/decode.h"
#include "service/call_objects.h"
#include "service/run_gate.h"
#include "service/service.h"
#include "session/append.h"

namespace weir {

struct AppendAnswer {
  AppendResult result;
  MaskCounts masked;
  bool due = false;  // is a compaction due?
  std::vector<std::string> warnings;

  json::Value to_json(json::Arena& arena) const;  // {entries:[{seq,id,digest}],head,due,warnings}
};

// Takes entries one at a time, so that a long input is held once, in the form it is stored in.
class AppendCall {
 public:
  AppendCall(Service& service, SessionId session, HeadName head, std::optional<Expect> expect, bool dry_run, RunGate::Options gate = {});
  AppendCall(const AppendCall&) = delete;
  AppendCall& operator=(const AppendCall&) = delete;

  // {"type","body","id"?,"parent"?,"at"?}. Wrong fields are collected under `path`; other errors come back at once.
  Result<void> add(const json::Value& entry, const std::string& path, json::Arena& arena);
  // The same from parts: a body on its own. The parent is named as people do.
  Result<void> add_body(std::string_view type, const json::Value& body, std::optional<std::string> id, std::optional<std::string> parent,
                        json::Arena& arena);

  // An entry of Weir's own, made of what the log holds: nothing in it is masked again.
  Result<void> add_own(std::string_view type, const json::Value& body, json::Arena& arena, std::optional<TimeMs> at = std::nullopt);

  // Bytes to be stored with the entries, though none of them names it.
  Result<void> keep(std::string_view bytes);

  // Is called in the transaction, once the entries are placed; what it writes is part of the commit. Maybe more than once.
  using Placed = std::function<Result<void>(LogTxn&, const SessionRow&, const AppendResult&)>;
  void when_placed(Placed placed) { placed_ = std::move(placed); }

  bool ok() const { return errors_.empty(); }
  const json::FieldErrors& wrong_fields() const { return errors_; }
  std::size_t size() const { return request_.entries.size(); }
  const std::vector<NewEntry>& entries() const { return request_.entries; }

  // INVALID_FIELD with every wrong field; else all entries are durable, or none is stored.
  Result<AppendAnswer> commit();

 private:
  Result<json::Value> take_event(compaction::Event event, const json::Value& body, const std::string& path, json::Arena& arena);
  Result<void> take(NewEntry entry, const json::Value& body, const std::string& path, json::Arena& arena);
  Result<void> check_objects();
  Result<void> check_research(LogTxn& txn, const SessionRow& session, const NewEntry& entry, Seq parent);
  Result<void> check_node_ids(LogTxn& txn, const AppendResult& result);
  Result<std::vector<std::string>> name_targets(LogTxn& txn);  // answers warnings
  void check_id(json::ObjectDecoder& in, std::string_view key, std::string_view id);

  Service& service_;
  AppendRequest request_;
  CallObjects objects_;
  Preparer preparer_;
  const bool lenient_;
  bool own_ = false;  // the entries are Weir's own
  Placed placed_;
  RunGate gate_;
  json::FieldErrors errors_;
  const bool dry_run_;
};

}  // namespace weir
