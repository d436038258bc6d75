#include "cli/run.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/limits.h"
#include "base/unread.h"
#include "service/compile_settings.h"
#include "service/place.h"
#include "service/token.h"
#include "session/address.h"

namespace weir::cli {
namespace {

constexpr std::uint64_t kLongestTimeout = 1000000000;  // seconds: for ever, and nothing overflows

volatile sig_atomic_t signal_seen = 0;

void on_signal(int number) {
  if (signal_seen != 0) ::_exit(128 + number);
  signal_seen = number;
}

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Empty if it is gone: nothing may start there then.
std::string current_directory() {
  char* path = ::get_current_dir_name();
  std::string out = path == nullptr ? "" : path;
  std::free(path);
  return out;
}

// The nearest .weir/config.toml from here upwards.
std::string find_project_file(Files& files, std::string directory) {
  while (!directory.empty()) {
    const std::string file = (directory == "/" ? "" : directory) + "/.weir/config.toml";
    if (files.stat(file).ok()) return file;
    if (directory == "/") break;
    const std::size_t slash = directory.rfind('/');
    directory = slash == 0 ? "/" : directory.substr(0, slash);
  }
  return {};
}

bool has_store(Files& files, const ServiceSettings& settings) { return files.stat(settings.store_directory + "/weir.db").ok(); }

bool want_color(const Arguments& arguments) {
  const std::string choice = arguments.value("color").value_or("auto");
  if (choice == "never" || !environment("NO_COLOR").empty() || environment("TERM") == "dumb") return false;
  return choice == "always" || is_terminal(STDOUT_FILENO);
}

}  // namespace

int pending_signal() { return signal_seen; }

void install_signal_handlers() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void keep_temporary_files_in(const std::string& directory) { ::setenv("SQLITE_TMPDIR", directory.c_str(), 1); }

Run::Run(Arguments arguments, Doors doors)
    : arguments_(std::move(arguments)),
      doors_(doors),
      json_(arguments_.has("json")),
      paint_(!json_ && want_color(arguments_)),
      width_(is_terminal(STDOUT_FILENO) ? static_cast<std::size_t>(terminal_width(STDOUT_FILENO)) : 160),
      terminal_(is_terminal(STDOUT_FILENO)) {
  if (const auto seconds = number("timeout"))
    deadline_ms_ = steady_ms() + static_cast<std::int64_t>(std::min(*seconds, kLongestTimeout)) * 1000;
}

std::optional<std::uint64_t> Run::number(std::string_view name) const {
  const auto text = option(name);
  if (!text) return std::nullopt;
  std::uint64_t value = 0;
  std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

std::optional<std::string> Run::word(std::size_t i) const {
  return i < arguments_.words.size() ? std::optional(arguments_.words[i]) : std::nullopt;
}

Config::Sources Run::config_sources() const {
  Config::Sources sources;
  sources.working_directory = current_directory();
  sources.home = environment("HOME");
  const std::string config_home = environment("XDG_CONFIG_HOME");
  const std::string data_home = environment("XDG_DATA_HOME");
  sources.data_home = data_home.empty() ? sources.home + "/.local/share" : data_home;
  const std::string given = option("config").value_or(environment("WEIR_CONFIG"));
  sources.user_file_required = !given.empty();
  sources.user_file = !given.empty() ? given : (config_home.empty() ? sources.home + "/.config" : config_home) + "/weir/config.toml";
  sources.project_file = find_project_file(doors_.files, sources.working_directory);
  for (const ConfigKey& key : config_keys()) {
    if (key.environment.empty()) continue;
    const std::string value = environment(std::string(key.environment).c_str());
    if (!value.empty()) sources.environment[std::string(key.environment)] = value;
  }
  if (const auto store = option("store")) sources.flags["store.path"] = *store;
  if (flag("root")) {
    const auto& roots = arguments_.values("root");
    weir::json::Arena arena;
    // TOML reads JSON's arrays of strings.
    sources.flags["read.roots"] =
        weir::json::canonical(weir::json::make_array(arena, std::vector<weir::json::Value>(roots.begin(), roots.end())));
  }
  if (const auto listen = option("listen")) sources.flags["http.listen"] = *listen;
  if (flag("no-mask")) sources.flags["mask.enabled"] = "false";
  return sources;
}

Result<const Config*> Run::config() {
  if (!config_) {
    TRY(config_, Config::load(doors_.files, config_sources()));
  }
  return &*config_;
}

Result<ServiceSettings> Run::settings() {
  TRY(const Config* const settings, config());
  ServiceSettings out;
  // A directory named by flag or environment wins, as over any file.
  const std::string& path_origin = settings->entry("store.path").origin;
  if (!settings->text("store.url").empty() && path_origin != "flag" && !path_origin.starts_with("env ")) {
    return Error(ErrorCode::STORE_UNUSABLE,
                 settings->entry("store.url").origin + ": store.url is set, and PostgreSQL stores are not built yet: use store.path")
        .with("key", "store.url");
  }
  out.store_directory = settings->text("store.path");
  out.durability = settings->text("store.durability") == "normal" ? Durability::normal : Durability::full;
  out.mask = settings->mask_options();
  out.limit_store_bytes = static_cast<std::uint64_t>(settings->integer("limits.store_bytes"));
  out.limit_session_entries = static_cast<std::uint64_t>(settings->integer("limits.session_entries"));
  out.version_budget_bytes = static_cast<std::uint64_t>(settings->integer("read.blob_budget_bytes"));
  out.trust.view_intervals = static_cast<std::size_t>(std::max<std::int64_t>(settings->integer("read.view_intervals"), 1));
  out.thresholds = {settings->integer("compaction.event_threshold"), settings->integer("compaction.n_step_fallback"),
                    settings->integer("compaction.plain_bytes_threshold")};
  if (auto nodes = nodes_options(doors_.files, *settings); nodes.ok()) {
    out.nodes = std::move(nodes).value();
  } else {
    out.nodes_error = std::move(nodes).error();
  }
  if (const auto seconds = number("timeout")) out.busy_timeout_ms = static_cast<int>(std::min<std::uint64_t>(*seconds, 3600)) * 1000;
  return out;
}

Result<Service*> Run::service(Store::Access access) {
  if (service_ != nullptr && (access_ == Store::Access::write || access == Store::Access::read)) return service_.get();
  TRY(const ServiceSettings wanted, settings());
  service_.reset();
  if (access == Store::Access::write && dry_run() && !has_store(doors_.files, wanted)) {
    TRY(service_, trial_service());
  } else {
    TRY(service_, Service::open(wanted, access, doors_));
  }
  access_ = access;
  return service_.get();
}

bool Run::store_missing() {
  const auto wanted = settings();
  return !dry_run() && wanted.ok() && !has_store(doors_.files, *wanted);
}

Result<std::unique_ptr<Service>> Run::trial_service() {
  TRY(const ServiceSettings wanted, settings());
  TRY_DO(check_place(doors_.files, wanted.store_directory));
  return memory_service();
}

Result<std::unique_ptr<Service>> Run::memory_service() {
  TRY(ServiceSettings wanted, settings());
  wanted.store_directory.clear();
  return Service::open(wanted, Store::Access::write, doors_);
}

Result<std::string> Run::token_file() {
  TRY(const Config* const settings, config());
  if (const std::string& given = settings->text("http.token_file"); !given.empty()) return given;
  const std::string state = environment("XDG_STATE_HOME"), home = environment("HOME");
  if (state.empty() && home.empty())
    return Error(ErrorCode::STORE_UNUSABLE, "there is no HOME to keep the token in: name a file with http.token_file")
        .with("key", "http.token_file");
  return (state.empty() ? home + "/.local/state" : state) + "/weir/token";
}

std::vector<std::string> Run::own_files() {
  const auto token = token_file();
  return token.ok() ? std::vector{*token, read_token_file(*token)} : std::vector<std::string>();
}

Result<std::optional<SessionId>> Run::named_session() const {
  std::string name = option("session").value_or("");
  if (name.empty()) name = environment("WEIR_SESSION");
  if (name.empty()) return std::optional<SessionId>();
  auto id = SessionId::parse(name);
  if (!id.ok()) return std::move(id).error().with_fields({{"/session", id.error().message()}});
  return std::optional(std::move(id).value());
}

Result<SessionId> Run::session(Store::Access access) {
  TRY(auto named, named_session());
  if (named) return std::move(*named);
  std::vector<SessionRow> rows;
  if (access != Store::Access::write || !store_missing()) {
    TRY(Service* const opened, service(access));
    TRY_DO(opened->log().read([&](LogReader& reader) -> Result<void> {
      TRY(rows, reader.sessions());
      return {};
    }));
  }
  if (rows.size() == 1) return rows[0].id;
  const std::string why =
      rows.empty() ? "the store has no session yet: name one with --session"
                   : fmt::format("the store has {} sessions: name one with --session ('weir session list' shows them)", rows.size());
  return Error(ErrorCode::INVALID_FIELD, why).with_fields({{"/session", "is missing"}});
}

Result<std::optional<HeadName>> Run::named_head() const {
  std::string name = option("head").value_or("");
  if (name.empty()) name = environment("WEIR_HEAD");
  if (name.empty()) return std::optional<HeadName>();
  auto head = HeadName::parse(name);
  if (!head.ok()) return std::move(head).error().with_fields({{"/head", head.error().message()}});
  return std::optional(std::move(head).value());
}

Result<HeadName> Run::head() const {
  TRY(auto named, named_head());
  return named ? std::move(*named) : main_head();
}

Result<Address> Run::address() {
  Address out;
  TRY(out.session, session(Store::Access::read));
  TRY(out.head, head());
  out.at = option("at").value_or("");
  out.people = true;
  return out;
}

void Run::print(std::string_view text) {
  out_ += text;
  if (out_.size() > 64 * limits::kKiB && !capturing_) {
    if (!flush().ok()) write_failed_ = true;
  }
}

void Run::line(std::string_view text) {
  print(text);
  print("\n");
}

void Run::data(std::string_view json) {
  data_piece(json);
  print("\n");
}

void Run::data_piece(std::string_view json) {
  if (terminal_ && !capturing_) {
    print(json_for_terminal(json));
  } else {
    print(json);
  }
}

void Run::object(const json::Value& value) { data(json::canonical(value)); }

void Run::note(std::string_view text) {
  if (flag("quiet") || capturing_) return;
  std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
}

void Run::stream_begin(json::ObjectBuilder& members, json::Arena&) { object(members.add("type", "begin").build()); }
void Run::stream_line(std::string_view text) { data(text); }

void Run::stream_end(std::uint64_t count) {
  json::Arena arena;
  object(json::make_object(arena, {{"type", "end"}, {"count", count}, {"complete", true}}));
}

void Run::capture(std::size_t narrower) {
  capturing_ = true;
  width_ -= std::min(width_, narrower);
}

bool Run::wait_until_read(int most_ms) const { return capturing_ || weir::wait_until_read(STDOUT_FILENO, most_ms); }

Result<void> Run::flush() {
  if (capturing_) return {};
  std::string_view rest = out_;
  while (!rest.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      out_.clear();
      return Error(ErrorCode::STORAGE, std::string("cannot write to standard output: ") + std::strerror(error))
          .with("errno", std::int64_t{error});
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  out_.clear();
  if (write_failed_) return Error(ErrorCode::STORAGE, "cannot write to standard output");
  return {};
}

std::unique_ptr<Progress> Run::progress(std::string what) {
  std::string mode = option("progress").value_or("");
  if (mode.empty()) mode = environment("WEIR_PROGRESS");
  Progress::Mode chosen = Progress::Mode::none;
  if (mode == "json") {
    chosen = Progress::Mode::json;
  } else if (is_terminal(STDERR_FILENO) && !flag("quiet") && environment("TERM") != "dumb" && mode != "none") {
    chosen = Progress::Mode::bar;
  }
  if (flag("no-progress")) chosen = Progress::Mode::none;
  return std::make_unique<Progress>(chosen, std::move(what), paint_.enabled());
}

bool Run::timed_out() const { return deadline_ms_ != 0 && steady_ms() > deadline_ms_; }
bool Run::keep_going() const { return pending_signal() == 0 && !timed_out(); }

int Run::end_signal() const { return pending_signal() == 0 && timed_out() ? SIGTERM : pending_signal(); }

Result<void> Run::confirm(const std::string& what) {
  if (flag("yes") || dry_run()) return {};
  if (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO))
    return Error(ErrorCode::DENIED, what + ": add --yes to do it without being asked");
  std::fprintf(stderr, "%s? [y/N] ", what.c_str());
  std::fflush(stderr);
  char answer[16] = {};
  const ssize_t n = ::read(STDIN_FILENO, answer, sizeof answer - 1);
  if (n > 0 && (answer[0] == 'y' || answer[0] == 'Y')) return {};
  return Error(ErrorCode::DENIED, "not confirmed; nothing was changed");
}

Result<std::string> Run::read_input(const std::string& name, std::size_t most) {
  if (name != "-") return doors_.files.read(name, most);
  std::string out;
  for (;;) {
    const std::size_t have = out.size();
    out.resize(have + 64 * limits::kKiB);
    const ssize_t n = ::read(STDIN_FILENO, out.data() + have, out.size() - have);
    if (n < 0 && errno == EINTR) {
      out.resize(have);
      if (pending_signal() != 0) return Error(ErrorCode::CANCELLED, "interrupted");
      continue;
    }
    if (n < 0) return storage_error("cannot read", "standard input", errno);
    out.resize(have + static_cast<std::size_t>(n));
    if (n == 0) return out;
    if (out.size() > most) return over_limit("bytes of standard input", most, out.size());
  }
}

}  // namespace weir::cli
