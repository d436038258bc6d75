#include "testing/http_case.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "json/canonical.h"
#include "testing/results.h"
#include "testing/session_calls.h"

namespace weir::testing {
namespace {

using Clock = std::chrono::steady_clock;

int left(Clock::time_point until) {
  return static_cast<int>(std::max<std::int64_t>(0, (until - Clock::now()) / std::chrono::milliseconds(1)));
}

std::string lowered(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::string HttpAnswer::member(std::string_view name) const {
  json::Parser parser;
  const auto value = parser.parse(body);
  if (!value.ok()) return "(no JSON)";
  const json::Value* found = value->find(name);
  if (found == nullptr) return "(none)";
  return found->is_string() ? std::string(found->text()) : json::canonical(*found);
}

HttpClient::HttpClient(int port) : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) close();
}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

bool HttpClient::try_send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void HttpClient::send(std::string_view bytes) { EXPECT_TRUE(try_send(bytes)); }
void HttpClient::stop_sending() { ::shutdown(descriptor_, SHUT_WR); }

bool HttpClient::fill(int ms) {
  if (descriptor_ < 0 || end_) return false;
  pollfd one{descriptor_, POLLIN, 0};
  if (::poll(&one, 1, ms) <= 0) return false;
  char buffer[65536];
  const auto got = ::recv(descriptor_, buffer, sizeof buffer, 0);
  if (got <= 0) {
    end_ = true;
    return false;
  }
  input_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

std::string HttpClient::read_until(std::string_view end, int ms) {
  const auto until = Clock::now() + std::chrono::milliseconds(ms);
  std::size_t at = 0;
  while ((at = input_.find(end)) == std::string::npos)
    if (!fill(left(until))) break;
  const std::size_t size = at == std::string::npos ? input_.size() : at + end.size();
  std::string out = input_.substr(0, size);
  input_.erase(0, size);
  return out;
}

bool HttpClient::closed(int ms) {
  const auto until = Clock::now() + std::chrono::milliseconds(ms);
  while (!end_ && left(until) > 0) fill(left(until));
  return end_;
}

HttpAnswer HttpClient::answer(bool to_head) {
  HttpAnswer out;
  out.raw = read_until("\r\n\r\n");
  if (!out.raw.starts_with("HTTP/1.1 ")) return out;
  out.status = std::stoi(out.raw.substr(9, 3));
  for (std::size_t at = out.raw.find("\r\n") + 2; at + 2 < out.raw.size();) {
    const std::size_t end = out.raw.find("\r\n", at), colon = out.raw.find(':', at);
    out.headers[lowered(out.raw.substr(at, colon - at))] = out.raw.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  if (out.status == 100) return answer(to_head);
  if (to_head || out.status == 204 || out.status == 304) return out;
  if (out.header("transfer-encoding") == "chunked") {
    for (;;) {
      const std::string size = read_until("\r\n");
      const std::size_t bytes = size.empty() ? 0 : std::stoul(size, nullptr, 16);
      while (input_.size() < bytes + 2 && fill(20000)) {
      }
      out.body += input_.substr(0, bytes);
      input_.erase(0, std::min(input_.size(), bytes + 2));
      if (bytes == 0) return out;
    }
  }
  const std::size_t bytes = out.headers.contains("content-length") ? std::stoul(out.header("content-length")) : std::string::npos;
  while (input_.size() < bytes && fill(20000)) {
  }
  out.body = input_.substr(0, bytes);
  input_.erase(0, out.body.size());
  return out;
}

HttpCase::How HttpCase::how() {
  How out;
  out.options.listen = "127.0.0.1:0";
  out.options.token = kToken;
  out.options.read_token = kReadToken;
  out.options.version = "0.0.1";
  return out;
}

HttpCase::HttpCase() : HttpCase(how()) {}

HttpCase::HttpCase(How how) {
  ServiceSettings settings;
  settings.store_directory = how.store;
  service_ = must(Service::open(settings, Store::Access::write, {}));
  config_ = std::make_unique<Config>(must(Config::load(system_files(), {})));
  ReadOptions reading;
  reading.roots = how.roots;
  source_ = must(ReadSource::open(reading, how.store));
  feed_ = std::make_unique<Feed>(*service_);
  world_.reset(new api::World{.service = *service_, .config = *config_, .source = *source_, .feed = *feed_});
  journal_ = std::make_unique<api::Journal>(api::Level::info, api::Journal::Format::text, system_clock(), [this](std::string_view line) {
    const std::lock_guard lock(journal_mutex_);
    journal_text_ += line;
  });
  lanes_ = std::make_unique<api::Lanes>(how.workers);
  mcp_ = std::make_unique<mcp::Server>(*world_, *lanes_, *journal_, mcp::Options{});
  server_ = must(http::Server::open(*world_, *lanes_, *mcp_, *journal_, how.options));
  const std::string url = server_->url();
  if (!url.starts_with("unix:")) port_ = std::stoi(url.substr(url.rfind(':') + 1));
  if (!how.serving) return;
  thread_ = std::thread([this] {
    EXPECT_TRUE(server_->run([this] { return signal_.load(); }).ok());
    over_ = true;
  });
}

HttpCase::~HttpCase() { stop(); }

void HttpCase::stop() {
  if (server_ == nullptr) return;
  if (thread_.joinable()) {
    // Two different ones: at once.
    if (signal_ == 0) signal_ = 15;
    while (!ended(30)) signal_ = signal_ == 15 ? 2 : 15;
    thread_.join();
  }
  server_.reset();
  mcp_.reset();
  lanes_.reset();
  feed_.reset();
}

bool HttpCase::ended(int ms) {
  return eventually([this] { return over_.load(); }, ms);
}

std::string HttpCase::journal() {
  const std::lock_guard lock(journal_mutex_);
  return journal_text_;
}

std::string HttpCase::request(std::string_view method, std::string_view target, std::string_view body, const Extra& headers) const {
  std::string out = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\n";
  Extra all = {{"Host", "127.0.0.1"}, {"Authorization", std::string("Bearer ") + kToken}};
  const bool sends = method == "POST" || method == "PUT";
  if (sends) all.emplace_back("Content-Type", "application/json");
  if (sends) all.emplace_back("Content-Length", std::to_string(body.size()));
  for (const auto& [name, value] : headers) {
    std::erase_if(all, [&, key = name](const auto& one) { return one.first == key; });
    if (value != "(none)") all.emplace_back(name, value);
  }
  for (const auto& [name, value] : all) out += name + ": " + value + "\r\n";
  return out + "\r\n" + std::string(body);
}

HttpAnswer HttpCase::ask(std::string_view method, std::string_view target, std::string_view body, const Extra& headers) {
  HttpClient client(port_);
  client.send(request(method, target, body, headers));
  return client.answer(method == "HEAD");
}

void HttpCase::append(std::string_view session, int count, std::string_view text) {
  std::vector<NewEntry> entries;
  for (int i = 0; i < count; ++i) entries.push_back(message(std::string(text) + " " + std::to_string(i)));
  SessionCalls calls(service_->log(), session);
  must(calls.append(std::move(entries)));
}

bool eventually(const std::function<bool()>& so, int ms) {
  const auto until = Clock::now() + std::chrono::milliseconds(ms);
  while (!so()) {
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace weir::testing
