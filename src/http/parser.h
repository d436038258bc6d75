// Bytes of a connection to one request after another. Boost.Beast reads them; what it would forgive is refused before
// (http/head_check.h), and nothing is kept beyond a limit.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "http/head_check.h"
#include "http/request.h"

namespace weir::http {

class Parser {
 public:
  explicit Parser(const HeadLimits& limits);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  enum class State { head, body, done, failed };
  State state() const;

  // Takes bytes from the front and says how many; 0: more are needed. Stops after the head, and when the request is done.
  std::size_t feed(std::string_view bytes);

  // Between head and body: how large the body may be. Without it there may be none.
  void limit_body(std::size_t bytes);

  Request& request();
  const Problem& problem() const;  // of State::failed

  // For the next request of the connection.
  void restart();

 private:
  class Machine;
  std::size_t feed_head(std::string_view bytes);
  void fail(Problem problem);

  const HeadLimits limits_;
  std::unique_ptr<Machine> machine_;
  std::size_t searched_ = 0;  // bytes of an unfinished head without its end
  std::optional<Problem> problem_;
};

}  // namespace weir::http
