// What a loop of connections needs to know about what is served: who may ask what, who answers, who counts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "http/exchange.h"

namespace weir::http {

// A request that is over, for the counts and the journal.
struct Finished {
  std::string_view method, path;  // the route's template
  int status = 0;
  double seconds = 0;
  std::uint64_t bytes = 0;  // sent
  std::string_view trace;   // traceparent
};

class Site {
 public:
  virtual ~Site() = default;
  // The head of a request is there. Does not wait.
  virtual Admission admit(const Request& request) = 0;
  // Answers now or later, from any thread. Does not wait.
  virtual void serve(std::shared_ptr<Exchange> exchange) = 0;
  // Everything that was there to be read is served: what was put together may go. The last act of a turn.
  virtual void turn_over() = 0;
  // Is there something for the next one already?
  virtual bool busy() const = 0;
  virtual void finished(const Finished& request) = 0;
  virtual void event_streams(int change) = 0;  // one more, one less
  virtual TimeMs now() = 0;

  virtual void draining() = 0;     // says no to whoever asks whether it is ready
  virtual void end_streams() = 0;  // tells those who listen that it is over. Does not wait.
};

}  // namespace weir::http
