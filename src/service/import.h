// Use cases: import a foreign session file, follow one, sync with a host that owns its log, export.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "importers/import.h"
#include "importers/pi.h"
#include "service/service.h"

namespace weir {

inline constexpr std::size_t kMostPipedBytes = 256 * limits::kMiB;  // what has to be read into memory whole

struct ImportInput {
  std::string format;  // "pi"
  std::string path;
  std::optional<SessionId> session;
  bool strict = false;
  bool dry_run = false;
  std::optional<std::string> text;  // the content, where there is no file to open: standard input
};

struct ImportAnswer {
  std::optional<SessionId> session;
  std::string path;
  ImportReport report;
  bool refused = false;  // --strict found something: nothing was stored

  json::Value to_json(json::Arena& arena) const;
};

// One transaction. UNSUPPORTED_FORMAT, SOURCE_REWRITTEN, NOT_FOUND; INVALID_FIELD for a directory.
Result<ImportAnswer> import_file(Service& service, const ImportInput& input, FunctionRef<bool(const ImportProgress&)> progress);

// Imports again and again as the file grows, one transaction per burst, surviving rotation and late creation, until
// `wait` answers false. `burst` hears of every import that found something.
class Follower {
 public:
  Follower(Service& service, ImportInput input) : service_(service), input_(std::move(input)) {}
  // Nothing if the file is not there, or has not changed since the last poll.
  Result<std::optional<ImportAnswer>> poll(FunctionRef<bool(const ImportProgress&)> progress, std::vector<AppendResult::Item>* added);

 private:
  Service& service_;
  ImportInput input_;
  std::optional<pi::Position> position_;
  std::uint64_t seen_size_ = UINT64_MAX, seen_device_ = 0, seen_inode_ = 0;
};

struct SyncAnswer {
  pi::SyncResult result;
  bool due = false;
  std::uint64_t pending = 0;
  json::Value to_json(json::Arena& arena) const;  // {accepted,known,last,leaf,due,pending}
};
// `request` is {"format","session","header"?,"since"?,"entries","leaf"?,"aborted"?}; without a session in it, `session`.
Result<SyncAnswer> sync_session(Service& service, const json::Value& request, const std::optional<SessionId>& session, bool dry_run,
                                json::Arena& arena);

struct ExportInput {
  std::string format;  // "pi", "jsonl"
  Address address;
  bool all = true;         // every branch; else the path to the address
  bool only_json = false;  // a line that is no JSON becomes {"type":"text","text"}, or with "base64" if it is not UTF-8
};
// Calls `line` with each line of text, without its line feed, until it answers false.
Result<std::uint64_t> export_session(Service& service, const ExportInput& input, FunctionRef<Result<bool>(std::string_view)> line);

}  // namespace weir
