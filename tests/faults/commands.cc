// weir_commands FILE: runs the program's commands one after another in one process, each on a store it opens anew, and prints
// for each "EXIT BYTES", a line feed, and its output. A line of FILE is a command, its words separated by tabs. Starting the
// program forty times costs more than what the commands do, and a damaged place is asked about by all of them.
#include "cli/commands.h"

#include <cstdio>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "cli/arguments.h"
#include "cli/run.h"

namespace {

using weir::Result;

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// The exit code; the output goes to `out`.
int run(const std::vector<std::string>& words, std::string& out) {
  auto arguments = weir::cli::parse_arguments(words);
  if (!arguments.ok()) return weir::info(arguments.error().code()).exit;
  weir::cli::Run inner(std::move(arguments).value(), weir::Doors{});
  inner.capture(0);
  const Result<int> code = inner.arguments().command->run(inner);
  out = inner.captured();
  return code.ok() ? *code : weir::info(code.error().code()).exit;
}

}  // namespace

int main(int argc, char** argv) {
  const auto script = argc == 2 ? weir::Doors{}.files.read(argv[1], 1 << 20) : Result<std::string>(std::string());
  if (argc != 2 || !script.ok()) {
    std::fputs("usage: weir_commands FILE\n", stderr);
    return 2;
  }
  for (const std::string& line : split(*script, '\n')) {
    std::string out;
    const int code = run(split(line, '\t'), out);
    std::printf("%d %zu\n", code, out.size());
    std::fwrite(out.data(), 1, out.size(), stdout);
    std::fflush(stdout);
  }
  return 0;
}
