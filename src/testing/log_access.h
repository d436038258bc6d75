// A log's read and write as expressions: read_from(log, [](LogReader& r) { return r.last_seq(no); }).
#pragma once

#include <optional>
#include <type_traits>

#include "store/log.h"

namespace weir::testing {

// The body's answer, or the error of the log around it.
template <typename Body>
std::invoke_result_t<Body&, LogReader&> read_from(Log& log, Body&& body) {
  std::optional<std::invoke_result_t<Body&, LogReader&>> answer;
  auto done = log.read([&](LogReader& reader) -> Result<void> {
    answer = body(reader);
    return {};
  });
  if (!done.ok()) return std::move(done).error();
  return std::move(*answer);
}

// The same in a transaction: a body that answers an error leaves nothing behind.
template <typename Body>
std::invoke_result_t<Body&, LogTxn&> write_to(Log& log, Body&& body, Log::Grouping grouping = Log::Grouping::shared) {
  std::optional<std::invoke_result_t<Body&, LogTxn&>> answer;
  auto done = log.write(
      [&](LogTxn& txn) -> Result<void> {
        answer = body(txn);
        if (!answer->ok()) return answer->error();
        return {};
      },
      grouping);
  if (!done.ok()) return std::move(done).error();
  return std::move(*answer);
}

}  // namespace weir::testing
