// Event streams as clients see them.
#include "http/events.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <thread>

#include "session/address.h"
#include "testing/http_case.h"
#include "testing/results.h"
#include "testing/session_calls.h"
#include "testing/temp_dir.h"

namespace weir::http {
namespace {

using testing::eventually;
using testing::HttpAnswer;
using testing::HttpCase;
using testing::HttpClient;
using testing::must;

struct Event {
  std::string id, name, data;
};

// A client of one stream. Chunks are taken off by lines: no event of these tests holds a line break.
class EventClient {
 public:
  EventClient(HttpCase& served, const std::string& target, const HttpCase::Extra& headers = {}) : client_(served.port()) {
    client_.send(served.request("GET", target, {}, headers));
    head_ = client_.read_until("\r\n\r\n");
  }
  const std::string& head() const { return head_; }

  // The next event; an empty name if the stream ended or nothing came in time.
  Event next(int ms = 20000) {
    Event out;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    for (;;) {
      const auto left = (until - std::chrono::steady_clock::now()) / std::chrono::milliseconds(1);
      const std::string line = left <= 0 ? "" : client_.read_until("\n", static_cast<int>(left));
      if (!line.ends_with('\n')) return {};
      if (line == ":\n") ++comments;
      if (line.starts_with("id: ")) out.id = line.substr(4, line.size() - 5);
      if (line.starts_with("event: ")) out.name = line.substr(7, line.size() - 8);
      if (line.starts_with("data: ")) out.data = line.substr(6, line.size() - 7);
      if (line == "\n" && !out.name.empty()) return out;
    }
  }
  HttpClient& client() { return client_; }
  int comments = 0;

 private:
  HttpClient client_;
  std::string head_;
};

class EventsTest : public ::testing::Test {
 protected:
  testing::TempDir dir_;
  HttpCase::How how_ = HttpCase::how();
  HttpCase& served() {
    if (!case_) case_ = std::make_unique<HttpCase>(how_);
    return *case_;
  }
  // Appends through the service, which tells the feed.
  void append(int count, const std::string& session = "s") {
    SessionId id = SessionId::trusted(session);
    for (int i = 0; i < count; ++i) {
      int written = written_++;
      must(served().service().write([&](LogTxn& txn) -> Result<void> {
        AppendRequest request;
        request.session = id;
        request.head = main_head();
        const std::string number = std::to_string(++written);
        request.entries.push_back(testing::named("m" + number, testing::message("text " + number)));
        TRY(const auto done, weir::append(txn, request, TimeMs{1000}));
        return {};
      }));
    }
  }

 private:
  int written_ = 0;
  std::unique_ptr<HttpCase> case_;
};

TEST_F(EventsTest, FromTheBeginningThenLive) {
  append(3);
  EventClient client(served(), "/v1/sessions/s/events");
  EXPECT_NE(client.head().find("Content-Type: text/event-stream\r\n"), std::string::npos);
  EXPECT_NE(client.head().find("X-Accel-Buffering: no\r\n"), std::string::npos);
  for (int i = 1; i <= 3; ++i) {
    const Event event = client.next();
    EXPECT_EQ(event.name, "entry");
    EXPECT_EQ(event.id, std::to_string(i));
    EXPECT_NE(event.data.find("\"seq\":" + std::to_string(i)), std::string::npos);
    EXPECT_NE(event.data.find("\"type\":\"message\""), std::string::npos);
    EXPECT_EQ(event.data.find("\"parent\":null") != std::string::npos, i == 1);
  }
  Event head = client.next();
  EXPECT_EQ(head.name, "head");
  EXPECT_EQ(head.id, "");
  EXPECT_NE(head.data.find("\"name\":\"main\""), std::string::npos);
  append(1);
  EXPECT_EQ(client.next().id, "4");
  EXPECT_EQ(client.next().name, "head");
}

TEST_F(EventsTest, HeadsThatComeMoveAndGo) {
  append(2);
  EventClient client(served(), "/v1/sessions/s/events?types=head");
  EXPECT_EQ(client.next().name, "head");
  EXPECT_EQ(served().ask("PUT", "/v1/sessions/s/heads/side", R"({"entry":"m1"})").status, 200);
  EXPECT_EQ(client.next().data, R"({"entry":"m1","name":"side"})");
  served().ask("PUT", "/v1/sessions/s/heads/main", R"({"entry":null})");
  EXPECT_EQ(client.next().data, R"({"entry":null,"name":"main"})");
  served().ask("DELETE", "/v1/sessions/s/heads/side");
  EXPECT_EQ(client.next().data, R"({"entry":null,"name":"side"})");
}

TEST_F(EventsTest, EntriesOfOtherProcessesArriveToo) {
  how_.store = dir_ / "store";
  append(1);
  EventClient client(served(), "/v1/sessions/s/events?types=entry");
  EXPECT_EQ(client.next().id, "1");
  ServiceSettings settings;
  settings.store_directory = how_.store;
  const auto other = must(Service::open(settings, Store::Access::write, {}));
  testing::SessionCalls calls(other->log());
  must(calls.append({testing::message("from elsewhere")}));
  EXPECT_EQ(client.next().id, "2");
}

TEST_F(EventsTest, LastEventIdContinuesFromTheLog) {
  append(10);
  EventClient client(served(), "/v1/sessions/s/events?types=entry", {{"Last-Event-ID", "7"}});
  for (const char* id : {"8", "9", "10"}) EXPECT_EQ(client.next().id, id);
  EventClient end(served(), "/v1/sessions/s/events?types=entry", {{"Last-Event-ID", "10"}});
  append(2);
  EXPECT_EQ(end.next().id, "11");
}

TEST_F(EventsTest, WhatIsWrongIsToldBeforeTheStream) {
  append(1);
  const auto code = [&](const std::string& target, const HttpCase::Extra& headers = {}) {
    const HttpAnswer answer = served().get(target, headers);
    return std::to_string(answer.status) + " " + answer.member("code");
  };
  EXPECT_EQ(code("/v1/sessions/none/events"), "404 NOT_FOUND");
  EXPECT_EQ(code("/v1/sessions/s/events", {{"Last-Event-ID", "x"}}), "422 INVALID_FIELD");
  // Beyond the end: the session was purged and made again, and going on from there would pass over what is new.
  EXPECT_EQ(code("/v1/sessions/s/events", {{"Last-Event-ID", "2"}}), "422 INVALID_FIELD");
  EXPECT_EQ(code("/v1/sessions/s/events?types=x"), "422 INVALID_FIELD");
  EXPECT_EQ(code("/v1/sessions/s/events?last_event_id=1"), "400 USAGE");
  EXPECT_EQ(code("/v1/sessions/s/events", {{"Accept", "application/json"}}), "406 UNSUPPORTED_FORMAT");
  HttpClient client(served().port());
  client.send(served().request("HEAD", "/v1/sessions/s/events") + served().request("GET", "/healthz"));
  EXPECT_EQ(client.answer(true).header("content-type"), "text/event-stream");
  EXPECT_EQ(client.answer().body, "ok");
}

TEST_F(EventsTest, KilledAndResumedAHundredTimesNothingIsLostOrTwice) {
  append(1);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    append(2000);
    done = true;
  });
  std::uint64_t seen = 0;
  testing::SeededRandom random(7);
  int resumed = 0;
  for (; resumed < 100 || seen < 2001; ++resumed) {
    ASSERT_LT(resumed, 10000);
    HttpCase::Extra headers;
    if (seen > 0) headers.emplace_back("Last-Event-ID", std::to_string(seen));
    EventClient client(served(), "/v1/sessions/s/events?types=entry", headers);
    for (std::uint64_t many = random.next() % 40; many > 0 && seen < 2001; --many) {
      const Event event = client.next();
      ASSERT_EQ(event.id, std::to_string(seen + 1));
      ++seen;
    }
  }
  writer.join();
  EXPECT_EQ(seen, 2001u);
}

TEST_F(EventsTest, ManyListenersHearOfAnAppendSoon) {
  append(1);
  std::vector<std::unique_ptr<EventClient>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<EventClient>(served(), "/v1/sessions/s/events?types=entry"));
    EXPECT_EQ(clients.back()->next().id, "1");
  }
  for (int round = 2; round < 7; ++round) {
    const auto begun = std::chrono::steady_clock::now();
    append(1);
    for (const auto& client : clients) EXPECT_EQ(client->next().id, std::to_string(round));
    const auto ms = (std::chrono::steady_clock::now() - begun) / std::chrono::milliseconds(1);
    EXPECT_LT(ms, 1000);  // a machine under load; the bench has the figure
  }
}

TEST_F(EventsTest, ALiveClientThatDoesNotReadIsClosed) {
  how_.options.limits.queue_bytes = 20000;
  append(1);
  EventClient client(served(), "/v1/sessions/s/events?types=entry");
  EXPECT_EQ(client.next().id, "1");
  const int small = 2048;
  ::setsockopt(client.client().descriptor(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  EXPECT_TRUE(eventually(
      [&] {
        append(200);
        return served().get("/metrics").body.find("weir_sse_clients 0\n") != std::string::npos;
      },
      60000));
  std::string last = "1";
  for (Event event = client.next(); !event.name.empty(); event = client.next()) last = event.id;
  EventClient again(served(), "/v1/sessions/s/events?types=entry", {{"Last-Event-ID", last}});
  EXPECT_EQ(again.next().id, std::to_string(std::stoi(last) + 1));
}

TEST_F(EventsTest, WhoCatchesUpSlowlyIsNotClosed) {
  how_.options.limits.queue_bytes = 20000;
  append(3000);
  EventClient client(served(), "/v1/sessions/s/events?types=entry");
  for (int i = 1; i <= 3000; ++i) ASSERT_EQ(client.next().id, std::to_string(i));
}

TEST_F(EventsTest, CommentsKeepAStreamAlive) {
  how_.options.limits.keep_alive_ms = 20;
  append(1);
  EventClient client(served(), "/v1/sessions/s/events?types=entry");
  EXPECT_EQ(client.next().id, "1");
  for (int i = 0; i < 3; ++i) EXPECT_NE(client.client().read_until(":\n\n").find(":\n\n"), std::string::npos);
}

TEST_F(EventsTest, NodesAndSnapshotsAreToldOnRequest) {
  append(2);
  EventClient client(served(), "/v1/sessions/s/events?types=entry,ctree_node");
  const Event node = client.next(), entry = client.next();
  EXPECT_EQ(node.name, "ctree_node");
  EXPECT_EQ(node.id, "");
  EXPECT_NE(node.data.find("\"payload\":{"), std::string::npos);
  EXPECT_NE(node.data.find("\"snapshot\":{"), std::string::npos);
  EXPECT_EQ(entry.id, "1");
  EventClient hashes(served(), "/v1/sessions/s/events?types=ctree_node&payload=hash");
  const Event hash = hashes.next();
  EXPECT_EQ(hash.id, "1");
  EXPECT_EQ(hash.data.find("\"payload\":{"), std::string::npos);
}

TEST_F(EventsTest, APurgedSessionEndsItsStreams) {
  append(1);
  EventClient client(served(), "/v1/sessions/s/events?types=entry");
  EXPECT_EQ(client.next().id, "1");
  EXPECT_EQ(served().ask("DELETE", "/v1/sessions/s?confirm=s").status, 204);
  EXPECT_TRUE(client.client().closed());
}

TEST_F(EventsTest, AtShutdownEverybodyIsToldBye) {
  append(1);
  EventClient client(served(), "/v1/sessions/s/events");
  EXPECT_EQ(client.next().id, "1");
  EXPECT_EQ(client.next().name, "head");
  served().signal(15);
  EXPECT_EQ(client.next().name, "bye");
  EXPECT_TRUE(client.client().read_until("0\r\n\r\n").ends_with("0\r\n\r\n"));
  EXPECT_TRUE(client.client().closed());
  EXPECT_TRUE(served().ended());
}

}  // namespace
}  // namespace weir::http
