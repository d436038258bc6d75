// The fixtures of the conformance suite where the suite itself does not look: the state that a client carries.
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "api/cursor.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "mcp/server.h"
#include "testing/doors.h"
#include "testing/results.h"

namespace weir::mcp {
namespace {

using json::Value;
using testing::must;

constexpr std::int64_t kMinute = 60 * 1000;
constexpr std::string_view kConfirmed = R"("inputResponses":{"confirm":{"action":"accept","content":{"ok":true}}})";

class McpFixtureTest : public ::testing::Test {
 protected:
  McpFixtureTest() {
    service_ = must(Service::open({}, Store::Access::write, Doors{.clock = clock_}));
    config_ = must(Config::load(Doors{}.files, {}));
    source_ = must(ReadSource::open({}, ""));
    feed_ = std::make_unique<Feed>(*service_);
    world_ = std::unique_ptr<api::World>(new api::World{*service_, *config_, *source_, *feed_});
    world_->cursor_key = api::new_cursor_key(system_random());
  }
  ~McpFixtureTest() override {
    if (!thread_.joinable()) return;
    ::close(to_);
    thread_.join();
    ::close(from_);
  }

  void start(bool conformance = true) {
    int in[2], out[2];
    ASSERT_EQ(::pipe(in), 0);
    ASSERT_EQ(::pipe(out), 0);
    to_ = in[1];
    from_ = out[0];
    server_ = std::make_unique<Server>(*world_, lanes_, journal_, Options{.conformance = conformance});
    thread_ = std::thread([this, reads = in[0], writes = out[1]] {
      must(server_->serve_lines(reads, writes, [] { return false; }));
      ::close(reads);
      ::close(writes);
    });
  }

  // The answer to a modern request with these members of params.
  Value ask(std::string_view method, std::string_view members) {
    const std::string line =
        R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) + R"(","params":{)" + std::string(members) +
        (members.empty() ? "" : ",") +
        R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}})"
        "\n";
    EXPECT_EQ(::write(to_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    std::string got;
    char c = 0;
    while (::read(from_, &c, 1) == 1 && c != '\n') got += c;
    return must(json::parse_stored(arena_.copy(got), arena_));
  }
  Value call(std::string_view tool, std::string_view members = "") {
    return ask("tools/call", R"("name":")" + std::string(tool) + R"(")" + (members.empty() ? "" : ",") + std::string(members));
  }
  std::string state_of(std::string_view tool) {
    const Value answer = call(tool);
    EXPECT_EQ(answer.find("result")->text_or("resultType", ""), "input_required") << json::canonical(answer);
    return std::string(answer.find("result")->text_or("requestState", ""));
  }
  Value confirm(std::string_view tool, const std::string& state) {
    return call(tool, std::string(kConfirmed) + R"(,"requestState":")" + state + R"(")");
  }
  static std::int64_t code_of(const Value& message) {
    const Value* const error = message.find("error");
    return error == nullptr ? 0 : error->find("code")->integer();
  }

  testing::FixedClock clock_{1'000'000};
  json::Arena arena_;
  std::unique_ptr<Service> service_;
  std::optional<Config> config_;
  std::unique_ptr<ReadSource> source_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<api::World> world_;
  api::Journal journal_{api::Level::error, api::Journal::Format::text, clock_, [](std::string_view) {}};
  api::Lanes lanes_{2};
  std::unique_ptr<Server> server_;
  std::thread thread_;
  int to_ = -1, from_ = -1;
};

TEST_F(McpFixtureTest, StateIsGoodForItsCallAlone) {
  start();
  const std::string state = state_of("test_input_required_result_request_state");
  EXPECT_EQ(code_of(confirm("test_input_required_result_tampered_state", state)), -32602);
  const Value done = confirm("test_input_required_result_request_state", state);
  EXPECT_EQ(done.find("result")->text_or("resultType", ""), "complete") << json::canonical(done);
}

TEST_F(McpFixtureTest, ChangedStateIsRefused) {
  start();
  std::string state = state_of("test_input_required_result_request_state");
  for (std::size_t at = 0; at < state.size(); at += 7) {
    std::string changed = state;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_EQ(code_of(confirm("test_input_required_result_request_state", changed)), -32602) << at;
  }
  EXPECT_EQ(code_of(confirm("test_input_required_result_request_state", "")), -32602);
}

TEST_F(McpFixtureTest, StateExpires) {
  start();
  const std::string state = state_of("test_input_required_result_request_state");
  clock_.set(1'000'000 + 9 * kMinute);
  EXPECT_EQ(code_of(confirm("test_input_required_result_request_state", state)), 0);
  clock_.set(1'000'000 + 11 * kMinute);
  EXPECT_EQ(code_of(confirm("test_input_required_result_request_state", state)), -32602);
}

TEST_F(McpFixtureTest, StateOfAnotherProcessIsRefused) {
  start();
  const std::string state = state_of("test_input_required_result_request_state");
  world_->cursor_key = api::new_cursor_key(system_random());
  EXPECT_EQ(code_of(confirm("test_input_required_result_request_state", state)), -32602);
}

TEST_F(McpFixtureTest, CapabilityThatIsNotDeclaredIsNamed) {
  start();
  const Value answer = call("test_input_required_result_sampling");
  EXPECT_EQ(code_of(answer), -32021);
  EXPECT_EQ(json::canonical(*answer.find("error")->find("data")), R"({"requiredCapabilities":{"sampling":{}}})");
}

TEST_F(McpFixtureTest, RealServerHasNoneOfThem) {
  start(false);
  const Value listed = ask("tools/list", "");
  EXPECT_EQ(listed.find("result")->find("tools")->items().size(), 7u);
  EXPECT_EQ(json::canonical(listed).find("test_"), std::string::npos);
  EXPECT_EQ(json::canonical(ask("prompts/list", "")).find("test_"), std::string::npos);
  EXPECT_EQ(json::canonical(ask("resources/templates/list", "")).find("test:"), std::string::npos);
  EXPECT_EQ(code_of(call("test_simple_text")), -32602);
  EXPECT_EQ(code_of(ask("prompts/get", R"("name":"test_simple_prompt")")), -32602);
  EXPECT_EQ(code_of(ask("resources/read", R"("uri":"test://static-text")")), -32602);
}

}  // namespace
}  // namespace weir::mcp
