// What of a session's log is told as events: entries with what the compiler makes of them, and heads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "http/frames.h"
#include "service/service.h"

namespace weir::http {

using Heads = std::map<std::string, Seq>;

struct Page {
  std::vector<Happened> happened;
  Seq last = 0;                            // of the session, at that moment
  std::optional<Heads> heads;              // at that moment; only of a page that reaches the end
  std::map<std::string, std::string> ids;  // of heads that stand elsewhere than `known` says, by name; empty: before the first
};

// The entries from `first` on, at most `most`, in one look at the log. `made` says which of the compiler's events are wanted.
Result<Page> read_page(Service& service, const SessionRow& session, Seq first, std::size_t most, const Wanted& made, const Heads& known);

// {"name","entry"}
std::string head_json(const std::string& name, const std::string& entry);

}  // namespace weir::http
