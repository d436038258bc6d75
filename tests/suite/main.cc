// weir_read_suite DIR: the far end of a shim in place of pi-readcache's sources, over HTTP on loopback. Stores are made below
// DIR. Prints its port. ~ is HOME, as it is for the shim.
#include <cstdlib>

#include "suite/http.h"
#include "suite/methods.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* home = std::getenv("HOME");
  weir::suite::Methods methods(argv[1], home == nullptr ? "" : home);
  return weir::suite::serve([&](const std::string& body) { return methods.call(body); });
}
