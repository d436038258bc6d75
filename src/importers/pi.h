// Import of pi's session files, and sync with a pi that owns its log. Both run inside one write transaction.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/function_ref.h"
#include "importers/import.h"
#include "json/decode.h"
#include "json/value.h"
#include "session/append.h"
#include "store/blobs.h"
#include "store/log.h"

namespace weir::pi {

// What every import needs besides its file. With null `blobs` it is a dry run.
struct ImportContext {
  const Masker& masker;
  Blobs* blobs;
  TimeMs now;
  // What the body of an entry becomes under its parent, where that is not the line's alone to say. May be empty.
  std::function<Result<void>(LogTxn&, const SessionRow&, std::string_view type, PreparedBody&, Seq parent)> complete = {};
};

struct ImportRequest {
  std::string path;                  // for messages and the record of the source
  std::optional<SessionId> session;  // --as; else the header's id
  bool strict = false;
  bool list_added = false;  // fill ImportResult::added
  bool following = false;   // a file shorter than what was imported is one being written again: nothing to take yet
};

// Carried from one burst of --follow to the next, so that what was read is not hashed again.
struct Position {
  SessionId session;
  std::uint64_t offset = 0;
  Sha256 hash;
};

struct ImportResult {
  std::optional<SessionId> session;  // nothing if the file holds no whole line yet
  ImportReport report;
  std::vector<AppendResult::Item> added;
  std::optional<Position> position;
};

// SOURCE_REWRITTEN, UNSUPPORTED_FORMAT, LIMIT_EXCEEDED, CANCELLED (`progress` answered false); the transaction must
// then not be committed.
Result<ImportResult> import_file(LogTxn& txn, ReadableFile& file, const ImportRequest& request, const std::optional<Position>& from,
                                 const ImportContext& context, FunctionRef<bool(const ImportProgress&)> progress);

struct SyncRequest {
  SessionId session;
  const json::Value* header = nullptr;
  std::optional<std::string> since;
  const json::Value* entries = nullptr;  // array
  bool moves_leaf = false;               // else main stays; in a new session it goes to the last entry
  std::optional<std::string> leaf;       // nothing: before the first entry
};

struct SyncResult {
  std::uint64_t accepted = 0, known = 0;
  std::string last;  // the host's last entry that is known; empty for none
  std::string leaf;
  MaskCounts masked;
};

// What is wrong with the lines of a request, whatever is stored; to be asked before sync().
void check_sync_entries(std::span<const json::Value> lines, const Masker& masker, json::FieldErrors& errors);

// NOT_FOUND with `last` for an unknown since, parent or leaf; ID_REUSED where an overlap differs.
Result<SyncResult> sync(LogTxn& txn, const SyncRequest& request, const ImportContext& context, json::Arena& arena);

// Would this value, stored, be taken for a reference to a blob of ours?
bool holds_blob_object(const json::Value& value);

inline constexpr std::string_view kFormat = "pi";

}  // namespace weir::pi
