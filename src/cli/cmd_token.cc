// token: the bearer token of the server.
#include <fmt/format.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "service/token.h"

namespace weir::cli {
namespace {

Result<std::string> token_file(Run& run) {
  TRY(const std::string path, run.token_file());
  return run.flag("read") ? read_token_file(path) : path;
}

// To a person, or to whoever knows what it is.
Result<void> may_show(Run& run) {
  if (run.flag("yes") || is_terminal(STDOUT_FILENO)) return {};
  return Error(ErrorCode::DENIED, "the token is shown on a terminal only: add --yes to print it anywhere else");
}

void print_token(Run& run, const std::string& path, const std::string& token) {
  if (run.json()) {
    json::Arena arena;
    run.object(json::make_object(arena, {{"token_file", path}, {"token", token.empty() ? json::Value() : json::Value(token)}}));
  } else {
    run.line(token.empty() ? "would put a new token into " + printable(path) : token);
  }
}

}  // namespace

Result<int> run_token_show(Run& run) {
  TRY(const std::string path, token_file(run));
  TRY_DO(may_show(run));
  auto token = load_token(run.doors().files, path);
  if (!token.ok() && token.error().code() == ErrorCode::NOT_FOUND)
    return Error(ErrorCode::NOT_FOUND, fmt::format("no token at '{}': {}", path,
                                                   run.flag("read") ? "'weir token rotate --read' makes one"
                                                                    : "the first 'weir serve' makes one, or 'weir token rotate'"))
        .with("path", path);
  TRY_DO(token);
  print_token(run, path, *token);
  return 0;
}

Result<int> run_token_rotate(Run& run) {
  TRY(const std::string path, token_file(run));
  if (run.dry_run()) {
    print_token(run, path, "");
    return 0;
  }
  TRY_DO(may_show(run));
  if (run.doors().files.stat(path).ok())
    TRY_DO(run.confirm("replace the token in " + printable(path) + "; who has the old one is refused from the next 'weir serve' on"));
  TRY(const std::string token, rotate_token(run.doors().files, run.doors().random, path));
  print_token(run, path, token);
  return 0;
}

}  // namespace weir::cli
