// As much HTTP as clients on loopback need: POST with a length, one answer, next request.
#pragma once

#include <functional>
#include <string>

namespace weir::suite {

// Listens on 127.0.0.1, prints the port as a line of stdout, and answers each body until the process is ended. Clients may
// come at once and stay; `answer` is never called twice at a time.
int serve(const std::function<std::string(const std::string& body)>& answer);

}  // namespace weir::suite
