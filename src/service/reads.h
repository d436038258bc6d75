// Use cases: read a file through the cache, and withdraw trust in one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "readcache/decide.h"
#include "readcache/path_request.h"
#include "service/read_source.h"
#include "service/receipt.h"
#include "service/service.h"

namespace weir {

inline const std::string kNoDirectory = "is relative, and neither the call nor the session says where it begins: send an absolute one";

struct ReadCall {
  std::optional<SessionId> session;  // without one nothing is known and nothing recorded
  HeadName head;
  std::string path;
  LineRequest lines;
  bool bypass = false;  // send the content whatever is known
  enum class Record {
    log,   // the answer is appended to the session
    host,  // the host's log will say what became of it (service/pending_reads.h)
    none,
  } record = Record::log;
  std::optional<EntryId> request_id;  // of the entry: the same call again appends nothing
  std::string turn, call_id;          // of a host
  bool leaf_has_children = false;     // in the host's own log, where the head stands
  std::string cwd;                    // empty: the session's
  std::string home;
  std::optional<std::vector<std::string>> within;  // directories that narrow where may be read

  const std::vector<std::string>* narrowed() const { return within ? &*within : nullptr; }
};

struct ReadReply {
  enum class Kind { text, uncached, not_text } kind = Kind::text;
  std::string text;
  std::string path;                  // canonical
  std::optional<ReadRecord> record;  // of a text
  EntryId entry;                     // that holds it in a log of our own
  std::string reason;                // why it is uncached
  std::string_view mime;             // of what is no text
  std::uint64_t bytes = 0;
  ReceiptPtr receipt;                  // null: it proves nothing
  std::optional<std::string> details;  // for a host: what belongs beside the text in its log, as JSON
  std::vector<std::string> warnings;

  json::Value to_json(json::Arena& arena) const;
};

// Errors are those of the file (readcache.md 6). What fails on the side of the cache ends in the plain read, with a
// warning. CANCELLED if `cancelled` says so: nothing is recorded then.
Result<ReadReply> read_file(Service& service, const ReadSource& source, const ReadCall& call, FunctionRef<bool()> cancelled);

// Do the session's compactions, edits and rewinds reach its log? Only then may a read be answered with less than the text. They do
// where the host that appends the conversation has said so (`barrier_feed` in session_info). What a host's sync says is told apart
// by read_file: it holds for that host's own reads.
Result<bool> is_followed(Service& service, LogReader& reader, const SessionRow& session, Seq leaf);
// Whoever had to walk over this many entries to know that, and may write, saves what the session says of itself (InfoFold).
inline constexpr std::uint64_t kInfoStride = 1024;

// One line for people and models: why every read sends the text, and what to do.
inline constexpr std::string_view kNotFollowed =
    "not_followed: Weir does not see this session's compactions, so every read sends the text. Whoever appends the conversation "
    "says that it does with a session_info entry {\"barrier_feed\":true}";

// Where relative paths of a session begin: what its session_info says at the head; empty if it, or the session, says nothing.
Result<std::string> session_directory(Service& service, const SessionId& session, const HeadName& head);

// The same without any store: the plain read.
Result<ReadReply> read_plain(const ReadSource& source, const ReadCall& call, const Masker& masker);

struct RefreshCall {
  SessionId session;
  HeadName head;
  std::string path;
  LineRequest lines;
  std::string cwd, home;
  std::optional<std::vector<std::string>> within;  // as of a read
  bool dry_run = false;
};
struct RefreshReply {
  EntryId entry;
  RefreshBody refresh;
  std::string text;  // for people
  json::Value to_json(json::Arena& arena) const;
};
// A file that cannot be read may still be refreshed. BAD_RANGE_SUFFIX, and what an append may answer.
Result<RefreshReply> refresh_file(Service& service, const ReadSource& source, const RefreshCall& call);

// What a refresh withdraws, and how it is said.
struct RefreshPlan {
  RefreshBody body;
  std::string text;
};
Result<RefreshPlan> plan_refresh(const ReadSource& source, std::string_view path, const LineRequest& lines, const PathContext& context,
                                 const Masker& masker, const std::vector<std::string>* within = nullptr);

}  // namespace weir
