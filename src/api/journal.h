// What a server says about itself while it runs: one line an event, to whoever was given (standard error). Secrets are
// masked and nothing in a line can steer a terminal or look like another line.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/doors.h"

namespace weir::api {

enum class Level { error, warn, info, debug };

class Journal {
 public:
  enum class Format { text, json };
  using Sink = std::function<void(std::string_view line)>;  // the line ends with its line feed
  using Field = std::pair<std::string_view, std::variant<std::string_view, std::int64_t>>;

  Journal(Level level, Format format, Clock& clock, Sink sink);

  // text: 2026-11-16T10:00:00.000Z info request method=GET path="/v1/sessions" status=200
  void write(Level level, std::string_view event, std::initializer_list<Field> fields = {});
  bool wants(Level level) const { return level <= level_; }

 private:
  const Level level_;
  const Format format_;
  Clock& clock_;
  const Sink sink_;
  std::mutex mutex_;
};

}  // namespace weir::api
