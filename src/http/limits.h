// What one client may take of a server, and for how long.
#pragma once

#include <cstddef>

namespace weir::http {

struct Limits {
  std::size_t body_bytes = 4 << 20, url_bytes = 8 << 10, header_bytes = 32 << 10, headers = 100;
  std::size_t import_bytes = 256 << 20, imports = 2;  // a body of lines, and how many are taken at a time
  std::size_t connections = 256, queue_bytes = 1 << 20;
  std::size_t strangers = 32;            // of the connections, those that have shown no token yet
  int stranger_ms = 20;                  // what a stranger has for its request, however many knock
  std::size_t unsent_bytes = 256 << 20;  // of answers that wait for all clients together
  int header_ms = 5000, body_ms = 30000, idle_ms = 60000, stalled_ms = 10000, request_ms = 60000;
  int slow_ms = 1000;                           // one that makes the others wait gives way after this
  int drain_ms = 10000, keep_alive_ms = 15000;  // requests under way at shutdown; comments of an event stream
  int show_drain_ms = 250;                      // how long a port that is about to close says so
};

}  // namespace weir::http
