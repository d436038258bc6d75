// mcp, serve: commands that go on until they are told to end.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "api/workers.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/sandbox_probe.h"
#include "cli/server_parts.h"
#include "cli/snippets.h"
#include "cli/version.h"
#include "http/server.h"
#include "mcp/server.h"
#include "service/token.h"

namespace weir::cli {
namespace {

using json::Value;

constexpr std::string_view kUnix = "unix:";

// ---- where to listen ----

// Without the port and brackets.
std::string host_of(std::string_view listen) {
  std::string_view host = listen.substr(0, listen.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

bool only_this_machine(std::string_view listen) {
  const std::string host = host_of(listen);
  in_addr four;
  in6_addr six;
  if (listen.starts_with(kUnix) || host == "localhost") return true;
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

// An address that stands for all of them is none to ask at.
std::string reachable(std::string url) {
  for (const auto& [all, one] : {std::pair("//0.0.0.0:", "//127.0.0.1:"), std::pair("//[::]:", "//[::1]:")})
    if (const std::size_t at = url.find(all); at != std::string::npos) url.replace(at, std::string_view(all).size(), one);
  return url;
}

Result<std::string> listen_address(Run& run, const Config& config) {
  std::string out = config.text("http.listen");
  if (out.starts_with(kUnix) && out.size() > kUnix.size() && out[kUnix.size()] != '/') {
    const std::string here = run.config_sources().working_directory;
    out = fmt::format("{}{}/{}", kUnix, here, out.substr(kUnix.size()));
  }
  if (run.flag("conformance") && !only_this_machine(out))
    return Error(ErrorCode::USAGE, "--conformance asks for no token and listens on this machine only, not on '" + out + "'")
        .with("help", "weir help serve");
  return out;
}

// Not to be silenced: it is not what anybody should find out later.
void warn_of_others(const std::string& listen, const Config& config) {
  const std::string hosts =
      config.texts("http.allow_hosts").empty() ? "; only requests to localhost are answered until http.allow_hosts names others" : "";
  const std::string text = fmt::format(
      "weir: WARNING: {} can be reached from other machines, and nothing on the way is encrypted: who sees a request has the token{}\n",
      printable(listen), hosts);
  std::fputs(text.c_str(), stderr);
}

// ---- tokens ----

struct Tokens {
  std::string file, read_file;  // of the second, empty: there is none
  std::optional<std::string> all, read;
};

Result<Tokens> open_tokens(Run& run) {
  Tokens out;
  TRY(out.file, run.token_file());
  Files& files = run.doors().files;
  TRY(out.all, load_or_make_token(files, run.doors().random, out.file));
  TRY(out.read, load_token_if_there(files, read_token_file(out.file)));
  if (out.read) out.read_file = read_token_file(out.file);
  if (out.read == out.all)
    return Error(ErrorCode::STORE_UNUSABLE, "'" + out.read_file + "' holds the same token as '" + out.file +
                                                "' and would grant writing: 'weir token rotate --read' makes another")
        .with("path", out.read_file);
  return out;
}

// ---- what is printed ----

struct Announcement {
  std::string url, mcp;
  const Tokens& tokens;
  const ServerParts& parts;
  const ServerKind& kind;
  std::vector<Snippet> snippets;
};

// Agents start `weir mcp` themselves: it must find the same store, where that is not the usual one.
std::vector<std::string> store_arguments(const Config& config) {
  const std::string& origin = config.entry("store.path").origin;
  const bool named = origin == "flag" || origin.starts_with("env ");
  // Agents hand on few variables, and XDG_DATA_HOME is none of them.
  const bool moved = origin == "default" && !environment("XDG_DATA_HOME").empty();
  if (!named && !moved) return {};
  return {"--store", config.text("store.path")};
}

Value announcement_json(const Announcement& it, json::Arena& arena) {
  const auto path = [&](const std::string& text) { return text.empty() ? Value() : Value(arena.copy(text)); };
  std::vector<Value> roots, agents;
  for (const std::string& root : it.parts.source->options().roots) roots.push_back(arena.copy(root));
  for (const Snippet& snippet : it.snippets) {
    agents.push_back(json::make_object(arena, {{"agent", arena.copy(snippet.agent)},
                                               {"transport", arena.copy(snippet.transport)},
                                               {"place", arena.copy(snippet.place)},
                                               {"text", arena.copy(snippet.text)}}));
  }
  return json::make_object(arena, {{"url", arena.copy(it.url)},
                                   {"mcp", arena.copy(it.mcp)},
                                   {"token_file", path(it.tokens.file)},
                                   {"read_token_file", path(it.tokens.read_file)},
                                   {"store", path(it.parts.service->store().directory())},
                                   {"roots", json::make_array(arena, roots)},
                                   {"read_only", it.kind.read_only},
                                   {"conformance", it.kind.conformance},
                                   {"agents", json::make_array(arena, agents)}});
}

void print_announcement(Run& run, const Announcement& it) {
  const Painter& paint = run.paint();
  const auto field = [&](std::string_view name, std::string_view value, std::string_view more = "") {
    run.line(fmt::format("  {} {}{}", paint(Style::dim, fmt::format("{:<6}", name)), printable(value), paint(Style::dim, more)));
  };
  run.line(fmt::format("weir listens on {}", paint(Style::bold, printable(it.url))));
  field("mcp", it.mcp, it.kind.socket.empty() ? "" : "  (through the socket)");
  if (it.tokens.file.empty()) {
    field("token", "none is asked for");
  } else {
    field("token", it.tokens.file, "  ('weir token show' prints it)");
  }
  if (!it.tokens.read_file.empty()) field("", it.tokens.read_file, "  (reading only)");
  field("store", it.kind.conformance ? "in memory" : it.parts.service->store().directory(), it.kind.read_only ? "  (read only)" : "");
  const auto& roots = it.parts.source->options().roots;
  if (roots.empty()) field("files", "none", it.kind.conformance ? "" : "  (--root DIR lets them be read)");
  for (const std::string& root : roots) field(&root == roots.data() ? "files" : "", root);
  if (!it.snippets.empty()) run.line("\nAgents start 'weir mcp' themselves, and need no token for it:");
  for (const Snippet& snippet : it.snippets) {
    run.line("");
    run.line(fmt::format("{} {}", paint(Style::cyan, snippet.name + ":"), snippet.place));
    std::string_view rest = snippet.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      run.line("  " + printable(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
}

Result<void> announce(Run& run, const Announcement& it) {
  if (run.json()) {
    json::Arena arena;
    run.object(announcement_json(it, arena));
  } else {
    print_announcement(run, it);
  }
  return run.flush();
}

}  // namespace

Result<int> run_mcp(Run& run) {
  ServerKind kind;
  kind.conformance = run.flag("conformance");
  kind.research = run.flag("host") && !kind.conformance;
  mcp::Options options;
  TRY(options.session, run.named_session());
  TRY(options.head, run.named_head());
  options.host = run.flag("host");
  options.conformance = kind.conformance;
  TRY(ServerParts parts, open_server_parts(run, kind));
  const bool probing = environment("WEIR_SANDBOX_PROBE") == "1";
  const auto probe = probing ? std::make_unique<SandboxProbe>() : nullptr;
  TRY_DO(confine_server_files(parts));
  TRY_DO(confine_server_calls(parts));
  if (probing) {
    const auto& roots = parts.source->options().roots;
    json::Arena arena;
    run.object(probe->try_all(roots.empty() ? "/" : roots[0], arena));
    return 0;
  }
  if (is_terminal(STDIN_FILENO)) run.note("weir mcp speaks JSON-RPC, a line each; 'weir serve' prints how agents start it");
  ::signal(SIGPIPE, SIG_IGN);  // a client that went away is an end of output like any other
  auto lanes = std::make_unique<api::Lanes>(kServerThreads);
  mcp::Server server(*parts.world, *lanes, *parts.journal, std::move(options));
  const auto served = server.serve_lines(STDIN_FILENO, STDOUT_FILENO, [&] { return run.end_signal() != 0; });
  lanes.reset();  // before what they work for
  TRY_DO(served);
  return 0;
}

Result<int> run_serve(Run& run) {
  TRY(const Config* const config, run.config());
  http::Options options;
  TRY(options.listen, listen_address(run, *config));
  ServerKind kind;
  kind.conformance = run.flag("conformance");
  kind.read_only = run.flag("read-only");
  kind.files = false;
  kind.research = !kind.conformance && !kind.read_only;
  kind.listens = true;
  if (options.listen.starts_with(kUnix)) kind.socket = options.listen.substr(kUnix.size());
  if (kind.conformance && run.flag("root"))
    return Error(ErrorCode::USAGE, "--conformance asks for no token and reads no files: it takes no --root")
        .with("help", "weir help serve");
  TRY(ServerParts parts, open_server_parts(run, kind));
  Tokens tokens;
  if (!kind.conformance) {
    TRY(tokens, open_tokens(run));
  }
  options.version = kVersion;
  options.token = tokens.all;
  options.read_token = tokens.read;
  options.allow_hosts = config->texts("http.allow_hosts");
  options.allow_origins = config->texts("http.allow_origins");
  const std::string listen = options.listen;

  // Files first, before there are threads; calls once the address is bound.
  TRY_DO(confine_server_files(parts));
  ::signal(SIGPIPE, SIG_IGN);
  auto lanes = std::make_unique<api::Lanes>(kServerThreads);
  http::Server* counting = nullptr;
  mcp::Options mcp_options;
  mcp_options.conformance = kind.conformance;
  mcp_options.counted = [&](std::string_view era, std::string_view method, std::string_view result) {
    if (counting != nullptr) counting->count_mcp(era, method, result);
  };
  mcp::Server mcp(*parts.world, *lanes, *parts.journal, std::move(mcp_options));
  TRY(const auto server, http::Server::open(*parts.world, *lanes, mcp, *parts.journal, std::move(options)));
  counting = server.get();
  TRY_DO(confine_server_calls(parts));

  if (!only_this_machine(listen)) warn_of_others(listen, *config);
  const bool over_tcp = kind.socket.empty();
  Announcement it{server->url(), (over_tcp ? reachable(server->url()) : "http://localhost") + "/mcp", tokens, parts, kind, {}};
  if (!kind.conformance) it.snippets = snippets(store_arguments(*config), over_tcp ? it.mcp : "");
  TRY_DO(announce(run, it));
  const auto served = server->run([&] { return run.end_signal(); });
  lanes.reset();  // before what they work for
  TRY_DO(served);
  return 0;
}

}  // namespace weir::cli
