// The core over two pipes, as a client sees it.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "api/cursor.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "mcp/server.h"
#include "service/read_settings.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir::mcp {
namespace {

using json::Value;
using testing::must;

class McpLinesTest : public ::testing::Test {
 protected:
  McpLinesTest() {
    ServiceSettings settings;
    service_ = must(Service::open(settings, Store::Access::write, Doors{}));
    config_ = must(Config::load(Doors{}.files, {}));
    ReadOptions options;
    options.roots = {dir_.path()};
    options.refuse_denied = true;
    source_ = must(ReadSource::open(options, ""));
    feed_ = std::make_unique<Feed>(*service_);
    world_ = std::unique_ptr<api::World>(new api::World{*service_, *config_, *source_, *feed_});
    world_->working_directory = dir_.path();
    world_->cursor_key = api::new_cursor_key(system_random());
  }
  void start(Options options = {}) {
    int in[2], out[2];
    ASSERT_EQ(::pipe(in), 0);
    ASSERT_EQ(::pipe(out), 0);
    to_ = in[1];
    from_ = out[0];
    server_ = std::make_unique<Server>(*world_, lanes_, journal_, std::move(options));
    thread_ = std::thread([this, reads = in[0], writes = out[1]] {
      must(server_->serve_lines(reads, writes, [this] { return stop_.load(); }));
      ::close(reads);
      ::close(writes);
    });
  }
  ~McpLinesTest() override {
    finish();
    server_.reset();
  }
  void finish() {
    if (!thread_.joinable()) return;
    ::close(to_);
    thread_.join();
    ::close(from_);
  }

  void send(std::string line) {
    line += '\n';
    ASSERT_EQ(::write(to_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  // The next message; fails after ten seconds.
  Value receive() {
    for (;;) {
      const std::size_t feed = got_.find('\n');
      if (feed != std::string::npos) {
        const std::string_view line = arena_.copy(std::string_view(got_).substr(0, feed));
        got_.erase(0, feed + 1);
        return must(json::parse_stored(line, arena_));
      }
      pollfd waiting{.fd = from_, .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 10000) <= 0) {
        ADD_FAILURE() << "nothing came";
        return {};
      }
      char buffer[65536];
      const ssize_t n = ::read(from_, buffer, sizeof buffer);
      if (n <= 0) {
        ADD_FAILURE() << "the server has gone";
        return {};
      }
      got_.append(buffer, static_cast<std::size_t>(n));
    }
  }
  Value ask(const std::string& line) {
    send(line);
    return receive();
  }
  void initialize(const std::string& revision = "2025-06-18", const std::string& capabilities = "{}") {
    ask(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + revision + R"(","capabilities":)" +
        capabilities + R"(,"clientInfo":{"name":"t","version":"1"}}})");
  }
  static std::string modern(const std::string& method, const std::string& members = "") {
    return R"({"jsonrpc":"2.0","id":7,"method":")" + method + R"(","params":{)" + members + (members.empty() ? "" : ",") +
           R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})";
  }
  static std::int64_t code_of(const Value& message) {
    const Value* const error = message.find("error");
    return error == nullptr ? 0 : error->find("code")->integer();
  }

  testing::TempDir dir_;
  json::Arena arena_;
  std::unique_ptr<Service> service_;
  std::optional<Config> config_;
  std::unique_ptr<ReadSource> source_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<api::World> world_;
  api::Lanes lanes_{2};
  api::Journal journal_{api::Level::error, api::Journal::Format::text, system_clock(), [](std::string_view) {}};
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::atomic<bool> stop_ = false;
  int to_ = -1, from_ = -1;
  std::string got_;
};

TEST_F(McpLinesTest, EveryBrokenEnvelopeIsAnsweredAndTheNextRequestToo) {
  start();
  initialize();
  const std::pair<std::string, std::int64_t> kCases[] = {
      {"hello", -32700},
      {"42", -32600},
      {"[]", -32600},
      {R"({"id":7,"method":"ping"})", -32600},
      {R"({"jsonrpc":"1.0","id":7,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":true,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":7,"method":7})", -32600},
      {R"({"jsonrpc":"2.0","id":7})", -32600},
      {R"({"jsonrpc":"2.0","id":7,"Method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":7,"method":"ping","params":"x"})", -32600},
      {R"({"jsonrpc":"2.0","id":7,"method":"nope","method":"ping"})", -32700},
      {R"({"jsonrpc":"2.0","id":7,"method":"nope"})", -32601},
      {R"({"jsonrpc":"2.0","id":7,"method":"tools/call"})", -32602},
      {R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"none"}})", -32602},
      {R"({"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"weir://session/x/entry/none"}})", -32002},
  };
  for (const auto& [line, code] : kCases) EXPECT_EQ(code_of(ask(line)), code) << line;
  EXPECT_NE(ask(R"({"jsonrpc":"2.0","id":8,"method":"ping"})").find("result"), nullptr);
}

TEST_F(McpLinesTest, TheErasStandSideBySide) {
  start();
  EXPECT_EQ(code_of(ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})")), -32600);
  const Value before = ask(modern("server/discover"));
  ASSERT_NE(before.find("result"), nullptr);
  EXPECT_EQ(before.find("result")->text_or("resultType", ""), "complete");
  initialize();
  const Value after = ask(modern("server/discover"));
  EXPECT_TRUE(*before.find("result") == *after.find("result"));
  EXPECT_EQ(code_of(ask(modern("ping"))), -32601);
  EXPECT_EQ(code_of(ask(modern("resources/read", R"("uri":"weir://session/x/entry/none")"))), -32602);
  EXPECT_NE(ask(R"({"jsonrpc":"2.0","id":1,"method":"ping"})").find("result"), nullptr);
}

TEST_F(McpLinesTest, WrongArgumentsAreAResultThatNamesAllOfThem) {
  start();
  initialize();
  const Value answer =
      ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"offset":0,"limit":"x","more":1}}})");
  const Value* const result = answer.find("result");
  ASSERT_NE(result, nullptr);
  EXPECT_TRUE(result->find("isError")->boolean());
  const Value error = must(json::parse_stored(result->find("content")->items()[0].text_or("text", ""), arena_));
  EXPECT_EQ(error.text_or("code", ""), "INVALID_FIELD");
  EXPECT_EQ(error.find("details")->find("errors")->items().size(), 4U);
}

TEST_F(McpLinesTest, AReadWithoutASessionIsFullEveryTimeAndStoresNothing) {
  testing::write_file(dir_ / "a.txt", "one\ntwo\n");
  start();
  initialize();
  for (int i = 0; i < 2; ++i) {
    const Value answer = ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a.txt"}}})");
    EXPECT_EQ(answer.find("result")->find("content")->items()[0].text_or("text", ""), "one\ntwo\n");
    EXPECT_EQ(answer.find("result")->find("structuredContent"), nullptr);
  }
  must(service_->log().read([](LogReader& reader) -> Result<void> {
    EXPECT_TRUE(must(reader.sessions()).empty());
    return {};
  }));
}

TEST_F(McpLinesTest, TheListingIsSmallAndFollowsTheRevision) {
  start();
  initialize("2024-11-05");
  const Value oldest = ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  EXPECT_EQ(oldest.find("result")->find("tools")->items().size(), 7U);
  for (const Value& tool : oldest.find("result")->find("tools")->items()) {
    EXPECT_EQ(tool.find("annotations"), nullptr);
    EXPECT_EQ(tool.find("outputSchema"), nullptr);
    EXPECT_LT(tool.text_or("description", "").size(), 200U);
  }
  EXPECT_LE(json::canonical(*ask(modern("tools/list")).find("result")->find("tools")).size(), 6144U);
}

TEST_F(McpLinesTest, AClientsRootsOnlyNarrow) {
  testing::write_file(dir_ / "a.txt", "outside\n");
  ::mkdir((dir_ / "sub").c_str(), 0700);
  testing::write_file(dir_ / "sub/b.txt", "inside\n");
  start();
  initialize("2025-06-18", R"({"roots":{"listChanged":true}})");
  send(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a.txt"}}})");
  const Value asked = receive();
  EXPECT_EQ(asked.text_or("method", ""), "roots/list");
  send(R"({"jsonrpc":"2.0","id":)" + json::canonical(*asked.find("id")) + R"(,"result":{"roots":[{"uri":"file://)" + (dir_ / "sub") +
       R"("},{"uri":"file:///etc"}]}})");
  const Value refused = receive();
  EXPECT_NE(refused.find("result")->find("content")->items()[0].text_or("text", "").find("OUTSIDE_ROOTS"), std::string_view::npos);
  const Value served = ask(R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{"path":"sub/b.txt"}}})");
  EXPECT_EQ(served.find("result")->find("content")->items()[0].text_or("text", ""), "inside\n");
  const Value etc = ask(R"({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read","arguments":{"path":"/etc/hostname"}}})");
  EXPECT_TRUE(etc.find("result")->find("isError")->boolean());
}

TEST_F(McpLinesTest, RootsThatAreNotAnsweredAgainStayWhatTheyWere) {
  testing::write_file(dir_ / "a.txt", "outside\n");
  ::mkdir((dir_ / "sub").c_str(), 0700);
  start();
  initialize("2025-06-18", R"({"roots":{"listChanged":true}})");
  const std::string read = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a.txt"}}})";
  const auto is_refused = [](const Value& answer) {
    return answer.find("result")->find("content")->items()[0].text_or("text", "").find("OUTSIDE_ROOTS") != std::string_view::npos;
  };
  const auto answer_roots = [this](const Value& asked, const std::string& answer) {
    send(R"({"jsonrpc":"2.0","id":)" + json::canonical(*asked.find("id")) + "," + answer + "}");
  };
  answer_roots(ask(read), R"("result":{"roots":[{"uri":"file://)" + (dir_ / "sub") + R"("}]})");
  EXPECT_TRUE(is_refused(receive()));
  // An error, and roots that are none, change nothing; roots that lead elsewhere leave nothing.
  for (const std::string answer :
       {R"("error":{"code":-32601,"message":"no"})", R"("result":{"roots":7})", R"("result":{"roots":[{"uri":"https://x/"}]})"}) {
    send(R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})");
    answer_roots(ask(read), answer);
    EXPECT_TRUE(is_refused(receive())) << answer;
  }
}

TEST_F(McpLinesTest, ACancelledRequestDoesNotTakeItsBatchWithIt) {
  start();
  initialize("2025-03-26", R"({"roots":{}})");
  send(
      R"([{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a.txt"}}},{"jsonrpc":"2.0","id":2,"method":"ping"}])");
  EXPECT_EQ(receive().text_or("method", ""), "roots/list");
  const Value batch = ask(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  ASSERT_EQ(batch.items().size(), 1U);
  EXPECT_EQ(batch.items()[0].find("id")->integer(), 2);
}

TEST_F(McpLinesTest, ManyListenersStopNobody) {
  start();
  initialize();
  for (int i = 0; i < 256; ++i) {
    std::string line = modern("subscriptions/listen", R"("notifications":{"resourcesListChanged":true})");
    line.replace(line.find("\"id\":7"), 6, "\"id\":" + std::to_string(1000 + i));
    EXPECT_EQ(ask(line).text_or("method", ""), "notifications/subscriptions/acknowledged");
  }
  EXPECT_NE(ask(R"({"jsonrpc":"2.0","id":8,"method":"ping"})").find("result"), nullptr);
}

TEST_F(McpLinesTest, ALineThatIsTooLongIsAnsweredOnceAndForgotten) {
  start();
  initialize();
  std::thread writer([this] {
    const std::string part(1 << 20, 'x');
    for (int i = 0; i < 12; ++i) {
      std::string_view rest = part;
      while (!rest.empty()) {
        const ssize_t n = ::write(to_, rest.data(), rest.size());
        if (n <= 0) return;
        rest.remove_prefix(static_cast<std::size_t>(n));
      }
    }
    send("");
    send(R"({"jsonrpc":"2.0","id":8,"method":"ping"})");
  });
  EXPECT_EQ(code_of(receive()), -32600);
  EXPECT_EQ(receive().find("id")->integer(), 8);
  writer.join();
}

TEST_F(McpLinesTest, AListenerIsAcknowledgedFirstAndEndsWithAResult) {
  start();
  send(modern("subscriptions/listen", R"("notifications":{"toolsListChanged":true,"resourceSubscriptions":["weir://session/s"]})"));
  const Value first = receive();
  EXPECT_EQ(first.text_or("method", ""), "notifications/subscriptions/acknowledged");
  EXPECT_EQ(json::canonical(*first.find("params")->find("notifications")), R"({"resourceSubscriptions":["weir://session/s"]})");
  must(service_->write([](LogTxn& txn) -> Result<void> {
    TRY_DO(txn.create_session(SessionId::trusted("s"), TimeMs{1}));
    return {};
  }));
  const Value updated = receive();
  EXPECT_EQ(updated.text_or("method", ""), "notifications/resources/updated");
  EXPECT_EQ(updated.find("params")->find("_meta")->find("io.modelcontextprotocol/subscriptionId")->integer(), 7);
  stop_ = true;
  const Value last = receive();
  ASSERT_NE(last.find("result"), nullptr);
  EXPECT_EQ(last.find("id")->integer(), 7);
}

}  // namespace
}  // namespace weir::mcp
