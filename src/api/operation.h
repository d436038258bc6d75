// What the faces for programs can be asked, as data. Each operation is one route of HTTP and one host method of MCP; the
// router, the checks of what is sent, the OpenAPI document and docs/http.md all come from the one table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/decode.h"

namespace weir::api {

class Call;

enum class In { path, query, body };

// `any` is taken as it comes; `flag` is a boolean; `texts` a list of strings; in a query, several separated by commas.
// `session`, `head` and `entry` are texts of the form such names have, `time` is of RFC 3339, `digest` 64 hex digits, with or
// without `sha256:` before them.
enum class Type { text, integer, flag, choice, texts, object, list, any, session, head, entry, time, digest };

struct Parameter {
  std::string_view name;
  In in = In::query;
  Type type = Type::text;
  std::string_view help;
  bool required = false;
  std::string_view choices = {};  // of a choice, with | between
  std::int64_t least = 0, most = INT64_MAX;
  bool nullable = false;        // null says something else than nothing
  std::string_view shape = {};  // of an object, a list or any: what it is made of (api/shape.h)
  bool also_in_body = false;    // of path or query: the body may say it, too; in both places it is the same
};

enum class Answers {
  json,      // one JSON value
  lines,     // application/x-ndjson, as it is made
  markdown,  // text/markdown
  bytes,     // application/octet-stream
  nothing,   // 204
  events,    // text/event-stream; only HTTP has it
};

enum class Takes {
  json,   // an object with the members In::body, if there are any
  any,    // any JSON: Call::body is its text
  lines,  // application/x-ndjson of any length: Call::body
};

// How long it takes, for whoever has to find a thread for it.
enum class Pace {
  quick,  // never waits for a disk's sync, never walks a session
  brief,  // waits for one sync at most
  slow,
};

struct Operation {
  std::string_view id;      // operationId; the host method is weir/<id>
  std::string_view method;  // GET, POST, PUT, DELETE
  std::string_view path;    // below /v1; /sessions/{session}/heads/{head}
  std::string_view summary;
  std::vector<Parameter> parameters;
  bool writes = false;  // refused by a read-only server and by a token that only reads, but for dry runs (Call::writes)
  bool files = false;   // looks at files: who asks may be allowed fewer of them (Call::within)
  Takes takes = Takes::json;
  bool long_body = false;  // its body may be longer than those of other operations
  Answers answers = Answers::json;
  int status = 200;                // the usual one
  std::vector<int> more_statuses;  // others that are no errors
  std::string schema;              // JSON Schema of the answer, of lines of each line; empty: there is no JSON
  std::string_view example;        // arguments that are answered so, in one object; empty: none
  bool immutable = false;          // the answer of a name never changes: it has an ETag
  bool momentary = false;          // what it says is true for its reader now: asked again under the same key, it is done again
  Pace pace = Pace::slow;
  // Adds what is wrong inside the arguments, where something else is wrong already: all of it is told at once. Null: nothing has an
  // inside.
  void (*look)(Call&, json::FieldErrors&) = nullptr;
  Result<void> (*run)(Call&);  // leaves its answer in Call::reply
};

// In the order of the contract's table.
std::span<const Operation> operations();
const Operation* find_operation(std::string_view id);

// Routes without /v1 that answer the same bytes as an operation: names by which others know them.
struct Alias {
  std::string_view method, path, operation;
  std::string_view fixed_name = {}, fixed_value = {};  // a path argument that the alias does not have
};
std::span<const Alias> aliases();

// The groups the table is made of, one file each.
std::vector<Operation> session_operations();     // sessions, entries, tree, heads, events
std::vector<Operation> reading_operations();     // read, refresh, reads
std::vector<Operation> context_operations();     // ctrees, stages, explain, diff, context
std::vector<Operation> compaction_operations();  // due, compact, snapshots, notes
std::vector<Operation> research_operations();    // research/{step}
std::vector<Operation> store_operations();       // import, sync, history, export, blobs, verify, stats

}  // namespace weir::api
