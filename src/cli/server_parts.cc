#include "cli/server_parts.h"

#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "api/cursor.h"
#include "service/read_settings.h"

namespace weir::cli {
namespace {

// One write a line, so that lines of several processes stay whole. Nobody may be there to read them.
// A log that nobody reads must not stop a server: what cannot be written at once is left out.
void write_to_stderr(std::string_view line) {
  pollfd room{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&room, 1, 0) <= 0 || (room.revents & POLLOUT) == 0) return;
  while (!line.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    line.remove_prefix(static_cast<std::size_t>(n));
  }
}

api::Level level_of(Run& run, const Config& config) {
  if (run.flag("quiet")) return api::Level::error;
  const std::string& name = config.text("log.level");
  const api::Level level = name == "error"   ? api::Level::error
                           : name == "info"  ? api::Level::info
                           : name == "debug" ? api::Level::debug
                                             : api::Level::warn;
  return run.flag("verbose") ? std::max(level, api::Level::info) : level;
}

std::unique_ptr<api::Journal> open_journal(Run& run, const Config& config) {
  const auto format = config.text("log.format") == "json" ? api::Journal::Format::json : api::Journal::Format::text;
  return std::make_unique<api::Journal>(level_of(run, config), format, run.doors().clock, write_to_stderr);
}

std::string runs_root(const Config& config, const std::string& home) {
  const std::string& configured = config.text("research.runs_root");
  return !configured.empty() || home.empty() ? configured : home + "/.config/opencode/research-runs";
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// As little as goes on working: the roots, the store, runs, and what SQLite takes its chance from.
SandboxFiles needed_files(Run& run, const ServerParts& parts, const ServerKind& kind) {
  SandboxFiles out;
  out.read = parts.source->options().roots;
  out.read.emplace_back("/dev/urandom");
  if (!kind.conformance) out.write.push_back(parts.service->store().directory());
  const std::string runs = kind.research ? runs_root(*parts.config, parts.world->home) : "";
  // Made now: later there is no way to. Where it cannot be, a run that is begun says why.
  if (!runs.empty() && run.doors().files.make_directories(runs).ok()) out.write.push_back(runs);
  if (!kind.socket.empty()) out.socket_directory = directory_of(kind.socket);
  out.listens = kind.listens;
  return out;
}

Result<void> open_store(Run& run, const ServerKind& kind, ServerParts& parts) {
  if (kind.conformance) {
    TRY(parts.memory, run.memory_service());
    parts.service = parts.memory.get();
    return {};
  }
  keep_temporary_files_in(parts.config->text("store.path"));
  TRY(parts.service, run.service(kind.read_only ? Store::Access::read : Store::Access::write));
  return {};
}

// Memory that is given back after each answer is asked for again by the next one, page by page.
void keep_memory() {
  constexpr int kMost = 4 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kMost);
  ::mallopt(M_MMAP_THRESHOLD, kMost);
}

}  // namespace

Result<ServerParts> open_server_parts(Run& run, const ServerKind& kind) {
  keep_memory();
  const std::string command(run.arguments().command->name);
  if (kind.conformance && run.option("store"))
    return Error(ErrorCode::USAGE, "--conformance has an empty store in memory and takes no --store").with("help", "weir help " + command);
  ServerParts out;
  TRY(out.config, run.config());
  out.journal = open_journal(run, *out.config);
  TRY(ReadOptions options, read_options(*out.config, true));
  if (!kind.files && out.config->entry("read.roots").origin == "default") options.roots.clear();
  if (kind.conformance && kind.listens) options.roots.clear();  // no token is asked for there
  TRY_DO(open_store(run, kind, out));
  TRY(out.source, ReadSource::open(std::move(options), out.service->store().directory(), run.own_files()));
  out.feed = std::make_unique<Feed>(*out.service);
  const Config::Sources sources = run.config_sources();
  // What a client over HTTP calls relative is relative to something of its own.
  out.world = std::make_unique<api::World>(api::World{*out.service, *out.config, *out.source, *out.feed, sources.home,
                                                      kind.listens ? "" : sources.working_directory, kind.read_only,
                                                      api::new_cursor_key(run.doors().random)});
  out.sandbox = needed_files(run, out, kind);
  return out;
}

Result<void> confine_server_files(ServerParts& parts) {
  TRY(const bool confined, confine_files(parts.sandbox));
  if (confined) {
    parts.journal->write(api::Level::info, "sandbox", {{"landlock", std::int64_t{sandbox_support().landlock}}});
  } else {
    parts.journal->write(api::Level::warn, "sandbox", {{"landlock", "not available: files are confined by the program alone"}});
  }
  return {};
}

Result<void> confine_server_calls(ServerParts& parts) {
  TRY(const bool confined, confine_calls());
  if (confined) {
    parts.journal->write(api::Level::info, "sandbox", {{"seccomp", "on"}});
  } else {
    parts.journal->write(api::Level::warn, "sandbox", {{"seccomp", "not available: system calls are not confined"}});
  }
  return {};
}

}  // namespace weir::cli
