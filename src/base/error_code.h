// The one closed list of error codes. Every face shows the same name; exit code and HTTP status stand beside it
// and nowhere else. Contracts that add codes add rows here.
#pragma once

#include <string_view>

namespace weir {

// name, exit code, HTTP status, meaning
#define WEIR_ERROR_CODES(X)                                                                             \
  X(USAGE, 2, 400, "unknown command, option or query parameter")                                        \
  X(INVALID_JSON, 6, 400, "not JSON, duplicate key, invalid UTF-8, lone surrogate, or nested too deep") \
  X(INVALID_FIELD, 6, 422, "right syntax, wrong type or value; details list every one")                 \
  X(LIMIT_EXCEEDED, 6, 413, "a limit on size or count; details name it")                                \
  X(UNSUPPORTED_FORMAT, 6, 415, "unknown import format, newer format version or wrong content type")    \
  X(NOT_FOUND, 4, 404, "no such session, head, entry, blob, snapshot or file")                          \
  X(AMBIGUOUS, 4, 400, "a prefix matches several entries")                                              \
  X(CONFLICT, 5, 409, "the head moved; details hold where it stands")                                   \
  X(ID_REUSED, 5, 409, "the id is taken by other content")                                              \
  X(SOURCE_REWRITTEN, 5, 409, "a line imported earlier has changed in its file")                        \
  X(IDEMPOTENCY_MISMATCH, 5, 422, "the same key came with another request")                             \
  X(IS_DIRECTORY, 6, 422, "the path names a directory")                                                 \
  X(TOO_LARGE, 6, 413, "the file is above max_file_bytes")                                              \
  X(OFFSET_BEYOND_END, 6, 422, "the file has fewer lines than the offset")                              \
  X(BAD_RANGE, 6, 422, "offset or limit is no integer from 1")                                          \
  X(BAD_RANGE_SUFFIX, 6, 422, "what follows the last colon of a path is no range of lines")             \
  X(DENIED, 7, 403, "not allowed here")                                                                 \
  X(ACCESS_DENIED, 7, 403, "the system does not let this user read the file")                           \
  X(NOT_REGULAR, 7, 403, "a FIFO, device or socket")                                                    \
  X(OUTSIDE_ROOTS, 7, 403, "the file is below none of the roots")                                       \
  X(DENIED_BY_POLICY, 7, 403, "the file is on the deny list")                                           \
  X(HARD_LINK, 7, 403, "the file has a second name and read.hard_links refuses that")                   \
  X(UNAUTHENTICATED, 7, 401, "no token, or a wrong one")                                                \
  X(CONFIG_INVALID, 6, 422, "a wrong compiler or context setting; details list every one")              \
  X(KIND_INVALID, 6, 422, "a node kind that is empty, too long, unprintable or reserved")               \
  X(PROFILE_MISMATCH, 6, 422, "hashes of two profiles or schema versions cannot be compared")           \
  X(SCHEMA_UNKNOWN, 6, 422, "a schema version that this program does not know")                         \
  X(NOT_REPRODUCIBLE, 6, 422, "a value for which the foreign profile has no defined text")              \
  X(CONTEXT_OVER_BUDGET, 6, 422, "what must be in the context is larger than its budget")               \
  X(NODE_UNKNOWN, 4, 404, "no such node on the path")                                                   \
  X(ILLEGAL_TRANSITION, 6, 422, "a run event that the run's state does not allow")                      \
  X(EVIDENCE_ID_MISMATCH, 6, 422, "an evidence id that does not follow from chunk, span and namespace") \
  X(QUOTE_MISMATCH, 6, 422, "a quote's hash that its text or its chunk does not give")                  \
  X(BUDGET_TOO_SMALL, 6, 422, "the narrative cannot be made that short")                                \
  X(NOTHING_TO_COMPACT, 6, 422, "neither a run nor a request on the path")                              \
  X(NOT_AT_BOUNDARY, 5, 409, "a step is open")                                                          \
  X(GATE_FAILED, 8, 409, "a snapshot fails its checks; details name them")                              \
  X(RUN_STOPPED, 8, 409, "the run has ended")                                                           \
  X(INVALID_ARGS, 6, 422, "an argument is missing, malformed, blank or out of range")                   \
  X(INVALID_UTF8, 6, 422, "a text is not UTF-8 or holds NUL; details say where")                        \
  X(INPUT_TOO_LARGE, 6, 413, "a text is over 1 MiB")                                                    \
  X(SCHEMA_VALIDATION_FAILED, 6, 422, "a document breaks its schema; details list every error")         \
  X(PATH_TRAVERSAL, 6, 422, "a path or id leads outside the run's directory")                           \
  X(INVALID_WAVE_DIR, 6, 422, "a wave directory cannot be used")                                        \
  X(WAVE_DIR_SYMLINK, 6, 422, "a wave directory is a link")                                             \
  X(WRITE_FAILED, 12, 507, "the system refused to write an artifact")                                   \
  X(REVISION_MISMATCH, 5, 409, "the run is not at the revision that was expected")                      \
  X(ALREADY_EXISTS_CONFLICT, 5, 409, "something else is in the place of the run")                       \
  X(IMMUTABLE_FIELD, 6, 422, "a patch touches a field that is fixed")                                   \
  X(INVALID_STATE, 8, 409, "the run's state does not allow this")                                       \
  X(PAUSED, 8, 409, "the run is paused")                                                                \
  X(RUN_CANCELLED, 8, 409, "the run is cancelled")                                                      \
  X(DUPLICATE_PERSPECTIVE_ID, 6, 422, "a perspective's id stands twice")                                \
  X(PERSPECTIVE_NOT_FOUND, 6, 422, "no perspective has that id")                                        \
  X(WAVE_CAP_EXCEEDED, 6, 422, "more perspectives than the limit of the wave")                          \
  X(MISSING_REQUIRED_SECTION, 6, 422, "a required heading is absent")                                   \
  X(TOO_MANY_WORDS, 6, 422, "more words than the contract allows")                                      \
  X(TOO_MANY_SOURCES, 6, 422, "more sources than the contract allows")                                  \
  X(MALFORMED_SOURCES, 6, 422, "a line of the sources is no bullet with a URL")                         \
  X(INVALID_TOOL_BUDGET, 6, 422, "a tool budget is no number from 0")                                   \
  X(INVALID_TOOL_USAGE, 6, 422, "a report of tool usage is malformed")                                  \
  X(TOOL_BUDGET_EXCEEDED, 6, 422, "more tool calls than the budget")                                    \
  X(INVALID_URL, 6, 422, "not an absolute http or https URL")                                           \
  X(CID_MISMATCH, 6, 422, "a citation's id is not the hash of its URL")                                 \
  X(EMPTY_SUMMARY, 6, 422, "a summary is blank")                                                        \
  X(RESERVED_LINE, 6, 422, "a line begins like the frame of the bundle")                                \
  X(INVALID_CONFIDENCE, 6, 422, "a confidence mark outside 0 to 100")                                   \
  X(RAW_URL_NOT_ALLOWED, 6, 422, "a URL where only citation ids may stand")                             \
  X(UNKNOWN_CID, 6, 422, "a citation id that is not in the pool")                                       \
  X(NUMBER_NOT_IN_QUOTE, 6, 422, "a claim's number is in none of its quotes")                           \
  X(SIZE_CAP_EXCEEDED, 6, 422, "a summary, or all of them, over the limit in bytes")                    \
  X(MISSING_ARTIFACT, 6, 422, "what an earlier step makes is absent")                                   \
  X(UNKNOWN_GATE_ID, 6, 422, "no such gate")                                                            \
  X(LIFECYCLE_RULE_VIOLATION, 6, 422, "a status that a gate of its class cannot have")                  \
  X(GATE_BLOCKED, 8, 409, "a gate has not passed")                                                      \
  X(GATE_STALE, 8, 409, "what a gate passed on has changed since")                                      \
  X(BUNDLE_STALE, 8, 409, "what the bundle was made of has changed since")                              \
  X(ARTIFACT_CHANGED, 5, 409, "a file differs from the log")                                            \
  X(REPLAY_MISMATCH, 6, 422, "a recorded result is not what its inputs give")                           \
  X(MISSING_CITATIONS, 6, 422, "a report cites nothing")                                                \
  X(UNCITED_NUMBER, 6, 422, "a number without a citation")                                              \
  X(REVIEW_CAP_EXCEEDED, 8, 409, "the last report that was allowed has failed")                         \
  X(RETRY_EXHAUSTED, 6, 422, "no retry is left for this gate and artifact")                             \
  X(CORRUPT, 9, 500, "damaged data; details say where")                                                 \
  X(STORE_UNUSABLE, 10, 503, "no store, a newer one, another owner's, or an affected SQLite")           \
  X(BUSY, 11, 503, "taken or used up for now: lock, address, descriptors, memory")                      \
  X(TIMEOUT, 11, 504, "the deadline passed")                                                            \
  X(STORAGE, 12, 507, "disk full or I/O error; reads go on")                                            \
  X(CANCELLED, 130, 499, "interrupted; nothing half-written")

enum class ErrorCode {
#define WEIR_X(name, exit, http, meaning) name,
  WEIR_ERROR_CODES(WEIR_X)
#undef WEIR_X
};

struct ErrorCodeInfo {
  ErrorCode code;
  std::string_view name;
  int exit;
  int http;
  std::string_view meaning;
};

inline constexpr ErrorCodeInfo kErrorCodes[] = {
#define WEIR_X(name, exit, http, meaning) {ErrorCode::name, #name, exit, http, meaning},
    WEIR_ERROR_CODES(WEIR_X)
#undef WEIR_X
};

constexpr const ErrorCodeInfo& info(ErrorCode code) { return kErrorCodes[static_cast<int>(code)]; }

}  // namespace weir
