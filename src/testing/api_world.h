// A world for the faces of programs: a store, files to read, and a few sessions that the examples of the table speak of.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/call.h"
#include "testing/temp_dir.h"

namespace weir::testing {

// A watch that keeps lines and may say that it is cancelled.
class KeptLines final : public api::Watch {
 public:
  bool cancelled() const override { return stop; }
  bool line(std::string_view text) override {
    lines.emplace_back(text);
    return true;
  }
  std::vector<std::string> lines;
  bool stop = false;
};

// What became of a call: its error, or its reply.
struct Answered {
  Result<void> result;
  api::Reply reply;
  std::vector<std::string> lines;
};

class ApiWorld {
 public:
  ApiWorld();
  ~ApiWorld();

  // Session `demo` with two compactions, notes, a label and a head `side`; `spare` and `plain`.
  void fill();

  // By operationId, with its arguments as JSON; a body where the operation takes one whole.
  Answered ask(std::string_view operation, std::string_view arguments, std::string_view body = "");
  // The same, and its answer; ends the test if there is none.
  std::string answer(std::string_view operation, std::string_view arguments);
  // "OK", or the code of the error.
  std::string code(std::string_view operation, std::string_view arguments);
  // The pointers of all wrong arguments, with spaces between.
  std::string wrong(std::string_view operation, std::string_view arguments);

  // What `weir <words> --json` prints about the same store, its line feed left out; or the error's code.
  std::string command(std::vector<std::string> words);

  const std::string& files() const { return files_.path(); }
  Service& service() { return *service_; }
  api::World& world() { return *world_; }
  bool may_write = true, cancelled = false;

 private:
  TempDir store_, files_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Config> config_;
  std::unique_ptr<ReadSource> source_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<api::World> world_;
};

}  // namespace weir::testing
