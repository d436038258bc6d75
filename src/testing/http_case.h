// A server of HTTP in this process, on a port of its own, and clients that send it bytes.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "http/server.h"
#include "json/parse.h"
#include "testing/doors.h"

namespace weir::testing {

struct HttpAnswer {
  int status = 0;                              // 0: the connection was closed without one
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body, raw;

  std::string header(const std::string& name) const;
  // A member of a JSON body: its text, or its JSON.
  std::string member(std::string_view name) const;
};

// One connection. Every wait has a deadline.
class HttpClient {
 public:
  explicit HttpClient(int port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void send(std::string_view bytes);
  bool try_send(std::string_view bytes);  // false: the connection is closed
  void stop_sending();
  void close();
  HttpAnswer answer(bool to_head = false);                       // the next one
  std::string read_until(std::string_view end, int ms = 20000);  // what came up to there; all of it if it never came
  bool closed(int ms = 20000);                                   // by the other side, within that time
  bool connected() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

 private:
  bool fill(int ms);  // false: closed, or nothing came
  int descriptor_ = -1;
  bool end_ = false;
  std::string input_;
};

class HttpCase {
 public:
  struct How {
    std::string store;  // a directory; empty: in memory
    http::Options options;
    std::size_t workers = 4;
    std::vector<std::string> roots;
    bool serving = true;
  };
  HttpCase();
  explicit HttpCase(How how);
  ~HttpCase();

  static constexpr const char* kToken = "a-token-of-the-tests";
  static constexpr const char* kReadToken = "a-token-that-reads";
  static How how();  // with both tokens

  int port() const { return port_; }
  Service& service() { return *service_; }
  http::Server& server() { return *server_; }
  std::string journal();

  using Extra = std::vector<std::pair<std::string, std::string>>;
  // A whole request over a connection of its own, with the token.
  HttpAnswer ask(std::string_view method, std::string_view target, std::string_view body = {}, const Extra& headers = {});
  HttpAnswer get(std::string_view target, const Extra& headers = {}) { return ask("GET", target, {}, headers); }
  // Its bytes.
  std::string request(std::string_view method, std::string_view target, std::string_view body = {}, const Extra& headers = {}) const;

  void append(std::string_view session, int count, std::string_view text = "hello");
  void signal(int number) { signal_ = number; }
  bool ended(int ms = 20000);  // did run() return within that time?
  void stop();

 private:
  std::unique_ptr<Service> service_;
  std::unique_ptr<Config> config_;
  std::unique_ptr<ReadSource> source_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<api::World> world_;
  std::mutex journal_mutex_;
  std::string journal_text_;
  std::unique_ptr<api::Journal> journal_;
  std::unique_ptr<api::Lanes> lanes_;
  std::unique_ptr<mcp::Server> mcp_;
  std::unique_ptr<http::Server> server_;
  std::atomic<int> signal_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
  int port_ = 0;
};

// Asks again and again until it is so; false after that time.
bool eventually(const std::function<bool()>& so, int ms = 20000);

}  // namespace weir::testing
