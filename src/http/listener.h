// The socket a server listens on: an address of TCP, or a name in the file system that only its owner may use.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace weir::http {

class Listener {
 public:
  // "127.0.0.1:7717", "[::1]:0", "localhost:0", "unix:/path". BUSY for an address that is taken, DENIED for one
  // this user may not have, INVALID_FIELD for none, or none of this machine.
  static Result<std::unique_ptr<Listener>> open(const std::string& listen);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int descriptor() const { return descriptor_; }
  const std::string& url() const { return url_; }
  static constexpr int kNone = -1, kExhausted = -2;
  // The next connection, set up; kNone: there is none now; kExhausted: this process may have no more descriptors.
  int accept();
  void close();  // nobody is taken any more

 private:
  Listener() = default;
  int descriptor_ = -1;
  bool tcp_ = true;
  std::string url_, path_;  // the path of a socket to be removed
};

}  // namespace weir::http
