// The use case behind `weir history`: search a whole session, also what lies before a compaction and on other branches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "json/value.h"
#include "service/service.h"
#include "store/history.h"

namespace weir {

enum class HistoryWhere {
  all,     // every branch
  before,  // on the path to the address, before its barrier
  after,   // on the path, the barrier and what follows it; the whole path if there is none
};

struct HistoryRequest {
  Address address;
  std::string query;
  bool regex = false;
  HistoryWhere where = HistoryWhere::all;
  std::vector<std::string> types;  // empty: all
  std::uint64_t limit = 20;
  std::string cursor;  // `next` of the answer before; empty: from the newest
};

struct HistoryMatch {
  EntryId entry;
  Seq seq = 0;
  std::string type;
  bool before_barrier = false, on_path = false;
  Excerpt excerpt;

  // {"entry","seq","type","before_barrier","on_path","text"}; must outlive the value.
  json::Value to_json(json::Arena& arena) const;
};

struct HistoryAnswer {
  std::vector<HistoryMatch> matches;  // newest first
  std::string next;                   // empty: there is no more

  // {"matches":[...],"next"}, `next` only if there is more.
  json::Value to_json(json::Arena& arena) const;
};

// INVALID_FIELD, LIMIT_EXCEEDED, NOT_FOUND; CANCELLED when `watch` says so.
Result<HistoryAnswer> search_session(Service& service, const HistoryRequest& request, HistoryWatch watch);

// `all`, `before`, `after`.
Result<HistoryWhere> parse_where(std::string_view text);

}  // namespace weir
