// An answer over HTTP, as those see it who make it. The server (src/http/) implements it; what stands below the server
// answers through it without knowing sockets.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/receipt.h"

namespace weir::api {

using Headers = std::vector<std::pair<std::string, std::string>>;

// A body that is written as it is made. From any thread; nothing waits.
class Stream {
 public:
  virtual ~Stream() = default;
  // False: the client has gone, or is further behind than a queue may be and was closed.
  virtual bool send(std::string_view bytes) = 0;
  void end() { end(nullptr); }
  // The same, of an answer that proves something to who gets it.
  virtual void end(ReceiptPtr receipt) = 0;
  virtual bool open() const = 0;
};

// One request and its answer: exactly one of answer and stream, once.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual std::string_view method() const = 0;
  virtual std::string_view header(std::string_view name) const = 0;  // any case; empty if it is not there
  virtual const std::string& body() const = 0;
  virtual const std::string& client() const = 0;  // a name for whose token it was; never the token
  virtual bool may_write() const = 0;
  virtual bool gone() const = 0;  // the client has closed the connection
  // From now on it is answered, however long that takes. False: it was told already that it took too long.
  virtual bool commit() = 0;

  // The answer that the message at this place of a batch had when the batch was sent before, if it was kept for the client's key;
  // and where an answer goes to be kept, or empty if there is none. From any thread.
  virtual std::optional<std::string> kept_part(std::size_t /*place*/) { return std::nullopt; }
  virtual void keep_part(std::size_t /*place*/, std::string_view /*answer*/) {}

  // `receipt`: of one that proves something to who gets it.
  virtual void answer(int status, Headers headers, std::string body, ReceiptPtr receipt) = 0;
  void answer(int status, Headers headers, std::string body) { answer(status, std::move(headers), std::move(body), nullptr); }
  virtual std::shared_ptr<Stream> stream(int status, Headers headers) = 0;
};

}  // namespace weir::api
