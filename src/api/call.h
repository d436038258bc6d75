// One call of an operation: what it works on, its checked arguments, and its answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/operation.h"
#include "json/canonical.h"
#include "json/decode.h"
#include "json/parse.h"
#include "service/config.h"
#include "service/feed.h"
#include "service/read_source.h"
#include "service/receipt.h"
#include "service/service.h"
#include "session/append.h"

namespace weir::api {

// What a process that answers programs has.
struct World {
  Service& service;
  const Config& config;
  const ReadSource& source;  // the files that may be read
  Feed& feed;
  std::string home, working_directory;  // no working directory: a relative path needs one of the call's or the session's
  bool read_only = false;
  Digest cursor_key = {};  // of this process (api/cursor.h)
};

// Between the one who asks and the one who works. Asked and told from several threads.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual bool cancelled() const { return false; }
  // What was asked for is about to be stored. False: it must not be, because nobody will hear of it; after true it is answered,
  // however long that takes.
  virtual bool commit() { return !cancelled(); }
  virtual void progress(std::uint64_t /*done*/, std::uint64_t /*total*/) {}  // total 0: not known
  // The next line of an answer that is made of lines. False: nobody takes it any more.
  virtual bool line(std::string_view /*text*/) { return true; }
};

struct Reply {
  int status = 200;
  std::string text;  // of Operation::answers' kind; lines went to the watch
  std::string etag;  // of what never changes: its digest
  std::vector<std::pair<std::string, std::string>> headers;
  ReceiptPtr receipt;  // what it told somebody, in case that nobody hears it
};

// Members in one object, as a host method gets them: path, query and body.
class Call {
 public:
  Call(World& on, const Operation& what, Watch& watched) : world(on), operation(what), watch(watched) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Takes the arguments. INVALID_FIELD with every wrong one: unknown, missing, of a wrong type or out of range.
  Result<void> take(const json::Value& arguments);
  // One argument that arrived as text, in a path or a query, as its type; what cannot be one stays text, and take refuses it.
  json::Value from_text(const Parameter& parameter, std::string_view text);

  World& world;
  const Operation& operation;
  Watch& watch;
  bool may_write = true;                           // false: whoever asks may only read
  std::optional<std::vector<std::string>> within;  // directories that narrow where it may look at files
  json::Arena arena;                               // what the arguments and the answer are made of
  std::string body;                                // the body's text, where the operation takes it whole
  std::string body_name;                           // where it came from, for messages
  Reply reply;

  const std::vector<std::string>* narrowed() const { return within ? &*within : nullptr; }

  // ---- arguments; taken, so they are of their type ----
  const json::Value& arguments() const { return arguments_; }
  bool writes() const;                                    // would this call, with these arguments?
  const json::Value* value(std::string_view name) const;  // null: not given, or null
  std::optional<std::string> text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  bool flag(std::string_view name) const;  // false unless given
  std::vector<std::string> texts(std::string_view name) const;
  Result<SessionId> session() const;
  Result<HeadName> head() const;  // main unless given
  Result<Address> address() const;
  std::optional<Expect> expect() const;  // null and empty: before the first entry
  std::optional<TimeMs> time(std::string_view name) const;
  std::optional<Digest> digest(std::string_view name) const;
  std::optional<std::uint64_t> count(std::string_view name) const;

  // ---- lists: `limit`, and `cursor`, which is only good for a list with the same arguments ----
  std::size_t limit() const;
  Result<std::optional<std::string>> cursor() const;  // what next_cursor was given; INVALID_FIELD
  std::string next_cursor(std::string_view payload) const;

  // ---- the answer ----
  Result<void> answer(const json::Value& value, int status = 0);  // 0: the usual one
  Result<void> answer_text(std::string text, int status = 0);     // text that was made already
  Result<void> answer_items(std::span<const json::Value> items, const std::optional<std::string>& next);
  Result<void> cancelled() const;  // CANCELLED if it is

 private:
  std::string list_name() const;

  json::Value arguments_;
};

// INVALID_FIELD about one argument.
Error wrong_argument(std::string_view name, const std::string& why);

// The same error about a field that is called otherwise here.
Error renamed_field(Error error, std::string_view from, std::string_view to);

// The answer of an operation whose answer is no JSON, for those who can only send JSON: {"text"} or {"base64"}; {} for nothing.
// Not for lines: those the watch had.
std::string reply_as_json(const Operation& operation, const Reply& reply);

// Decode, check, run. `arguments` is one object. DENIED if it would write where only reading is allowed.
Result<void> call(Call& call, const json::Value& arguments);

}  // namespace weir::api
