// Does one kind of operation in a loop in one store, and writes "ACK <token>" with one write(2) for each that the
// library acknowledged. Started again it goes on after what is there. Exit: 0 all done, 1 an operation failed, 2 usage.
//
//   weir_workload DIRECTORY [--kind append|branch|import|upkeep|mix] [--count N] [--threads T] [--writer W]
//                 [--durability full|normal] [--bytes B] [--stubborn] [--reopen]
//
// --stubborn: an operation that failed is tried again a few times before the program ends.
// --reopen:   before it is tried again the store is closed and opened, which is what a failed sync asks for.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "importers/import.h"
#include "script.h"
#include "service/append.h"
#include "service/import.h"
#include "service/objects.h"
#include "service/sessions.h"
#include "service/upkeep.h"
#include "session/address.h"

namespace weir::faults {
namespace {

struct Options {
  std::string directory, kind = "append";
  std::uint64_t count = 100, threads = 1, writer = 0, bytes = 1024;
  Durability durability = Durability::full;
  bool stubborn = false, reopen = false;
};

void acknowledge(const std::string& token) {
  const std::string line = "ACK " + token + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(1);
}

Result<std::unique_ptr<Service>> open_service(const Options& options) {
  ServiceSettings settings;
  settings.store_directory = options.directory;
  settings.durability = options.durability;
  // Many writers wait for each other; one that is tried again may be locked out by its own failed unlock, and says BUSY.
  settings.busy_timeout_ms = options.stubborn ? 500 : 60000;
  return Service::open(settings, Store::Access::write, {});
}

// The store, and what is done when it fails.
class Target {
 public:
  explicit Target(const Options& options) : options_(options) {}

  Result<void> open() {
    TRY(service_, open_service(options_));
    return {};
  }
  Service& service() { return *service_; }
  bool failed() const { return failed_; }

  // Runs one operation until it succeeds or has failed too often; only a success is acknowledged.
  bool run(const std::string& token, FunctionRef<Result<void>(Service&)> operation) {
    const int tries = options_.stubborn || options_.reopen ? 3 : 1;
    for (int i = 0; i < tries; ++i) {
      // A collection of garbage may take a blob between its writing and the entry that names it; BUSY says so.
      Result<void> done = operation(*service_);
      for (int again = 0; again < (options_.stubborn ? 2 : 100) && !done.ok() && done.error().code() == ErrorCode::BUSY; ++again)
        done = operation(*service_);
      if (done.ok()) {
        acknowledge(token);
        return true;
      }
      failed_ = true;
      std::fprintf(stderr, "%s: %s %s\n", token.c_str(), std::string(info(done.error().code()).name).c_str(),
                   done.error().message().c_str());
      if (options_.reopen && !reopen()) return false;
    }
    return false;
  }

 private:
  bool reopen() {
    service_.reset();
    auto opened = open_service(options_);
    if (!opened.ok()) {
      std::fprintf(stderr, "reopen: %s\n", opened.error().message().c_str());
      return false;
    }
    service_ = std::move(opened).value();
    return true;
  }

  const Options& options_;
  std::unique_ptr<Service> service_;
  std::atomic<bool> failed_ = false;
};

Result<void> append_one(Service& service, std::string_view session, std::string_view head, const std::string& id,
                        const std::string& content) {
  json::Arena arena;
  AppendCall call(service, SessionId::trusted(session), HeadName::trusted(head), std::nullopt, false);
  TRY_DO(call.add_body("message", json::make_object(arena, {{"role", "user"}, {"content", content}}), id, std::nullopt, arena));
  TRY_DO(call.commit());
  return {};
}

Result<std::optional<Entry>> find(Service& service, std::string_view session, const std::string& id) {
  std::optional<Entry> found;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto row, reader.session(SessionId::trusted(session)));
    if (!row) return {};
    TRY(found, reader.find(row->no, EntryId::trusted(id), Columns::without_body));
    return {};
  }));
  return found;
}

// The largest n of which `there` says yes, given that it says yes to all before it.
Result<std::uint64_t> last_there(FunctionRef<Result<bool>(std::uint64_t)> there) {
  std::uint64_t low = 0, high = 1;
  for (;; high *= 2) {
    TRY(const bool found, there(high));
    if (!found) break;
    low = high;
  }
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    TRY(const bool found, there(middle));
    (found ? low : high) = middle;
  }
  return low;
}

Result<void> run_appends(Target& target, const Options& options, std::uint64_t thread) {
  TRY(const std::uint64_t done, last_there([&](std::uint64_t n) -> Result<bool> {
        TRY(const auto entry, find(target.service(), kAppendSession, AppendStep{options.writer, thread, n, 0}.id()));
        return entry.has_value();
      }));
  for (std::uint64_t n = done + 1; n <= done + options.count; ++n) {
    const AppendStep step{options.writer, thread, n, append_bytes(n, options.bytes)};
    const std::string content = step.content();
    if (!target.run(step.token(), [&](Service& service) { return append_one(service, kAppendSession, "main", step.id(), content); }))
      return {};
  }
  return {};
}

Result<bool> has_head(Service& service, const std::string& name) {
  TRY(const auto heads, list_heads(service, SessionId::trusted(kBranchSession)));
  return std::any_of(heads.begin(), heads.end(), [&](const HeadAnswer& head) { return head.name.str() == name; });
}

Result<void> fork_at(Service& service, const std::string& name, const std::string& id) {
  // Tried again after an unknown outcome, the head may be there already.
  TRY(const bool there, has_head(service, name));
  if (there) return {};
  TRY_DO(fork_head(service, {SessionId::trusted(kBranchSession), HeadName(), id, false}, HeadName::trusted(name), false));
  return {};
}

Result<void> branch_step(Service& service, std::uint64_t c, std::uint64_t step) {
  const SessionId session = SessionId::trusted(kBranchSession);
  switch (step) {
    case 1:
      return append_one(service, kBranchSession, "main", branch_id(c, 1), filled(branch_id(c, 1), 300));
    case 2:
      return fork_at(service, branch_head(c), branch_id(c, 1));
    case 3:
      return append_one(service, kBranchSession, branch_head(c), branch_id(c, 2), filled(branch_id(c, 2), 300));
    case 4: {
      TRY(const bool there, has_head(service, "walker"));
      if (!there) return fork_at(service, "walker", branch_id(c, 2));
      TRY_DO(move_head(service, {session, HeadName::trusted("walker"), branch_id(c, 2), false, std::nullopt}, false, false));
      return {};
    }
    default: {
      TRY(const bool there, has_head(service, branch_head(c - 2)));
      return there ? delete_head(service, session, HeadName::trusted(branch_head(c - 2)), false) : Result<void>();
    }
  }
}

// Cycles of steps from the first that may be missing. A step that was done already changes nothing and is acknowledged.
Result<void> run_cycles(Target& target, const Options& options, char kind, std::uint64_t steps, std::uint64_t first_cycle,
                        FunctionRef<bool(std::uint64_t, std::uint64_t)> skip, Result<void> (*act)(Service&, std::uint64_t, std::uint64_t)) {
  std::uint64_t done = 0;
  for (std::uint64_t c = first_cycle; done < options.count; ++c) {
    for (std::uint64_t step = 1; step <= steps && done < options.count; ++step) {
      if (skip(c, step)) continue;
      ++done;
      if (!target.run(CycleToken{kind, c, step}.text(), [&](Service& service) { return act(service, c, step); })) return {};
    }
  }
  return {};
}

Result<void> run_branches(Target& target, const Options& options) {
  TRY(const std::uint64_t last, last_there([&](std::uint64_t n) -> Result<bool> {
        TRY(const auto entry, find(target.service(), kBranchSession, branch_id(n, 1)));
        return entry.has_value();
      }));
  const auto skip = [](std::uint64_t c, std::uint64_t step) { return step == 5 && c <= 2; };
  // The steps of a cycle are idempotent while no later cycle has begun.
  return run_cycles(target, options, 'b', kBranchSteps, std::max<std::uint64_t>(last, 1), skip, branch_step);
}

// The host's file, kept in memory and regrown from nothing at each start: only its name and bytes matter.
class PiFile {
 public:
  PiFile() : fd_(::memfd_create("pi", MFD_CLOEXEC)) {}
  ~PiFile() { ::close(fd_); }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

  // Lines 1..lines and half of the next.
  bool grow_to(std::uint64_t lines) {
    std::string bytes = lines_ == 0 ? pi_header() + "\n" : "";
    for (std::uint64_t n = lines_ + 1; n <= lines; ++n) bytes += pi_line(n) + "\n";
    lines_ = lines;
    const std::size_t whole = bytes.size();
    const std::string next = pi_line(lines + 1);
    bytes += next.substr(0, next.size() / 2);
    if (::pwrite(fd_, bytes.data(), bytes.size(), whole_) != static_cast<ssize_t>(bytes.size())) return false;
    whole_ += static_cast<off_t>(whole);
    return true;
  }

 private:
  int fd_;
  std::uint64_t lines_ = 0;
  off_t whole_ = 0;
};

Result<std::uint64_t> imported_bursts(Service& service) {
  std::uint64_t lines = 0;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto row, reader.session(SessionId::trusted(kImportSession)));
    if (!row) return {};
    TRY(lines, reader.last_seq(row->no));
    return {};
  }));
  return lines / kBurstLines;
}

Result<void> run_imports(Target& target, const Options& options) {
  TRY(const std::uint64_t done, imported_bursts(target.service()));
  PiFile file;
  for (std::uint64_t burst = done + 1; burst <= done + options.count; ++burst) {
    if (!file.grow_to(burst * kBurstLines)) return Error(ErrorCode::STORAGE, "the workload cannot write its own file");
    const auto import = [&](Service& service) -> Result<void> {
      TRY(const ImportAnswer answer,
          import_file(service, {"pi", file.path(), std::nullopt, false, false}, [](const ImportProgress&) { return true; }));
      if (answer.report.torn != 1 || !answer.report.clean()) return Error(ErrorCode::CORRUPT, "the import did not see the file as it is");
      return {};
    };
    if (!target.run(CycleToken{'i', burst, 1}.text(), import)) return {};
  }
  return {};
}

Result<void> upkeep_append(Service& service, std::uint64_t c) {
  json::Arena arena;
  const std::string a = upkeep_blob(c, 'A'), b = upkeep_blob(c, 'B'), shared = upkeep_shared(), small = upkeep_small(c);
  const auto text = [&](std::string_view content) { return json::make_object(arena, {{"type", "text"}, {"text", content}}); };
  const json::Value both[] = {text(a), text(b)};
  AppendCall call(service, SessionId::trusted(upkeep_session(c)), main_head(), std::nullopt, false);
  const auto add = [&](json::Value content, const char* id) {
    return call.add_body("message", json::make_object(arena, {{"role", "user"}, {"content", content}}), id, std::nullopt, arena);
  };
  TRY_DO(add(small, "small"));
  TRY_DO(add(json::make_array(arena, both), "own"));
  TRY_DO(add(shared, "shared"));
  TRY_DO(call.commit());
  return {};
}

Result<void> collect(Service& service) {
  TRY_DO(collect_garbage(service, false, [](std::uint64_t) { return true; }));
  return {};
}

Result<void> upkeep_step(Service& service, std::uint64_t c, std::uint64_t step) {
  // What is gone already was purged by an earlier try; that it lasts is for the store to say, not for us.
  const auto unless_gone = [&](const Result<PurgeAnswer>& purged) -> Result<void> {
    if (purged.ok()) return {};
    return purged.error().code() == ErrorCode::NOT_FOUND ? collect(service) : Result<void>(purged.error());
  };
  switch (step) {
    case 1:
      return upkeep_append(service, c);
    case 2:
      return unless_gone(purge_blob(service, sha256(upkeep_blob(c - 1, 'A')), c % 5 == 0, false));
    case 3:
      return unless_gone(purge_session(service, SessionId::trusted(upkeep_session(c - 2)), false));
    default:
      return collect(service);
  }
}

Result<void> run_upkeep(Target& target, const Options& options) {
  std::uint64_t last = 1;
  TRY(const auto sessions, list_sessions(target.service()));
  for (const SessionSummary& session : sessions) last = std::max(last, upkeep_cycle(session.id.str()).value_or(1));
  const auto skip = [](std::uint64_t c, std::uint64_t step) { return (step == 2 && c <= 1) || (step == 3 && c <= 2); };
  return run_cycles(target, options, 'u', kUpkeepSteps, last, skip, upkeep_step);
}

int report(const Result<void>& done, const Target& target) {
  if (!done.ok())
    std::fprintf(stderr, "weir_workload: %s %s\n", std::string(info(done.error().code()).name).c_str(), done.error().message().c_str());
  return done.ok() && !target.failed() ? 0 : 1;
}

int run(const Options& options) {
  Target target(options);
  if (auto opened = target.open(); !opened.ok()) return report(opened, target);
  if (options.kind == "branch") return report(run_branches(target, options), target);
  if (options.kind == "import") return report(run_imports(target, options), target);
  if (options.kind == "upkeep") return report(run_upkeep(target, options), target);
  // Threads share one store and its commits; in a mix the first one purges and collects under the others' feet.
  std::vector<Result<void>> results(options.threads);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < options.threads; ++thread) {
    const bool upkeep = options.kind == "mix" && thread == 0;
    threads.emplace_back(
        [&, thread, upkeep] { results[thread] = upkeep ? run_upkeep(target, options) : run_appends(target, options, thread); });
  }
  for (std::thread& thread : threads) thread.join();
  int code = 0;
  for (const Result<void>& result : results) code = std::max(code, report(result, target));
  return code;
}

bool parse(int argc, char** argv, Options& options) {
  std::map<std::string, std::function<bool(const std::string&)>> valued;
  const auto number = [](std::uint64_t& target) {
    return [&target](const std::string& text) {
      const auto value = parse_number(text);
      target = value.value_or(0);
      return value.has_value();
    };
  };
  valued["--kind"] = [&](const std::string& text) {
    options.kind = text;
    return text == "append" || text == "branch" || text == "import" || text == "upkeep" || text == "mix";
  };
  valued["--durability"] = [&](const std::string& text) {
    options.durability = text == "normal" ? Durability::normal : Durability::full;
    return text == "full" || text == "normal";
  };
  valued["--count"] = number(options.count);
  valued["--threads"] = number(options.threads);
  valued["--writer"] = number(options.writer);
  valued["--bytes"] = number(options.bytes);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--stubborn") {
      options.stubborn = true;
    } else if (word == "--reopen") {
      options.reopen = true;
    } else if (const auto it = valued.find(word); it != valued.end()) {
      if (++i >= argc || !it->second(argv[i])) return false;
    } else if (!word.starts_with("-") && options.directory.empty()) {
      options.directory = word;
    } else {
      return false;
    }
  }
  const bool one_thread = options.kind == "append" || options.kind == "mix" || options.threads == 1;
  return !options.directory.empty() && options.threads >= 1 && options.threads <= 64 && one_thread &&
         !(options.reopen && options.threads > 1);
}

}  // namespace
}  // namespace weir::faults

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  weir::faults::Options options;
  if (!weir::faults::parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: weir_workload DIRECTORY [--kind append|branch|import|upkeep|mix] [--count N] [--threads T] [--writer W]\n"
                 "                     [--durability full|normal] [--bytes B] [--stubborn] [--reopen]\n");
    return 2;
  }
  return weir::faults::run(options);
}
