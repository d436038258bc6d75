// weir_read_suite DIR: the far end of a shim in place of pi-readcache's sources, over HTTP on loopback. Stores are made below
// DIR. Prints its port.
#include "suite/http.h"
#include "suite/methods.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  weir::suite::Methods methods(argv[1]);
  return weir::suite::serve([&](const std::string& body) { return methods.call(body); });
}
