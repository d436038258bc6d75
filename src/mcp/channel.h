// Where the messages of one request go: a line of standard output, a JSON body, an event stream.
#pragma once

#include <string>
#include <string_view>

#include "service/receipt.h"

namespace weir::mcp {

class Channel {
 public:
  virtual ~Channel() = default;
  // A message before the answer: progress, a log line, a request to the client. Nobody may hear it.
  virtual void tell(std::string_view message) = 0;
  // Would it be heard?
  virtual bool hears() const = 0;
  // The answer, the last message. `http` is its status where there is one. `receipt`: of one that proves something.
  virtual void finish(std::string_view message, int http, ReceiptPtr receipt) = 0;
  void finish(std::string_view message, int http) { finish(message, http, nullptr); }
  // There will be no answer: the request was cancelled.
  virtual void skip() {}
  // The answer is far away, and nobody is to be kept waiting for it.
  virtual void rest() {}
  // The client has gone: whatever is done for it is done for nobody.
  virtual bool gone() const { return false; }
  // What was asked for is about to be stored. False: the client was told already that it took too long.
  virtual bool commit() { return true; }
};

}  // namespace weir::mcp
