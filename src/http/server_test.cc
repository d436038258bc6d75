// The server as its clients see it: doors, limits, order, time.
#include "http/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fstream>

#include "http/listener.h"
#include "testing/http_case.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir::http {
namespace {

using testing::eventually;
using testing::HttpAnswer;
using testing::HttpCase;
using testing::HttpClient;

class ServerTest : public ::testing::Test {
 protected:
  HttpCase::How how_ = HttpCase::how();
  HttpCase& served() {
    if (!case_) {
      case_ = std::make_unique<HttpCase>(how_);
      case_->append("s", 3);
    }
    return *case_;
  }
  Limits& limits() { return how_.options.limits; }

 private:
  std::unique_ptr<HttpCase> case_;
};

TEST_F(ServerTest, AnOperationIsAnsweredWithItsJson) {
  const HttpAnswer answer = served().get("/v1/sessions/s");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.member("id"), "s");
  EXPECT_EQ(answer.member("entries"), "3");
  EXPECT_EQ(answer.header("content-type"), "application/json");
  EXPECT_EQ(answer.header("cache-control"), "no-store");
  EXPECT_EQ(answer.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer.headers.count("access-control-allow-origin"), 0u);
  EXPECT_EQ(answer.header("date").size(), 29u);
}

TEST_F(ServerTest, AnErrorIsAProblem) {
  const HttpAnswer answer = served().get("/v1/sessions/none");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  EXPECT_EQ(answer.member("type"), "urn:weir:error:NOT_FOUND");
  EXPECT_EQ(answer.member("code"), "NOT_FOUND");
  EXPECT_EQ(answer.member("status"), "404");
  EXPECT_EQ(answer.member("instance"), "/v1/sessions/none");
  EXPECT_EQ(answer.member("details"), R"({"session":"none"})");
  EXPECT_NE(answer.member("title"), "(none)");
  EXPECT_NE(answer.member("detail"), "(none)");
}

TEST_F(ServerTest, HeadHasTheHeadersOfGetAndNoBody) {
  HttpClient client(served().port());
  client.send(served().request("HEAD", "/v1/sessions/s") + served().request("GET", "/v1/sessions/s"));
  const HttpAnswer head = client.answer(true), got = client.answer();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("content-length"), got.header("content-length"));
  EXPECT_EQ(got.member("id"), "s");
}

struct Door {
  const char* why;
  const char *method, *target;
  HttpCase::Extra headers;
  int status;
  const char* code;
};

TEST_F(ServerTest, DoorsInTheirOrder) {
  const std::string token = std::string("Bearer ") + HttpCase::kToken, reading = std::string("Bearer ") + HttpCase::kReadToken;
  const Door doors[] = {
      {"all is well", "GET", "/v1/sessions/s", {}, 200, "(none)"},
      {"no host", "GET", "/v1/sessions/s", {{"Host", "(none)"}}, 403, "DENIED"},
      {"foreign host", "GET", "/v1/sessions/s", {{"Host", "evil.example"}}, 403, "DENIED"},
      {"foreign host before a missing token",
       "GET",
       "/v1/sessions/s",
       {{"Host", "evil.example"}, {"Authorization", "(none)"}},
       403,
       "DENIED"},
      {"foreign host of the health", "GET", "/healthz", {{"Host", "evil.example"}}, 403, "DENIED"},
      {"foreign origin", "GET", "/v1/sessions/s", {{"Origin", "https://evil.example"}}, 403, "DENIED"},
      {"foreign origin before a missing token", "GET", "/nothing", {{"Origin", "null"}, {"Authorization", "(none)"}}, 403, "DENIED"},
      {"own origin", "GET", "/v1/sessions/s", {{"Origin", "http://localhost:5173"}}, 200, "(none)"},
      {"no token", "GET", "/v1/sessions/s", {{"Authorization", "(none)"}}, 401, "UNAUTHENTICATED"},
      {"wrong token", "GET", "/v1/sessions/s", {{"Authorization", "Bearer x"}}, 401, "UNAUTHENTICATED"},
      {"no token and no such path", "GET", "/nothing", {{"Authorization", "(none)"}}, 401, "UNAUTHENTICATED"},
      {"no token for metrics", "GET", "/metrics", {{"Authorization", "(none)"}}, 401, "UNAUTHENTICATED"},
      {"no token for mcp", "POST", "/mcp", {{"Authorization", "(none)"}}, 401, "UNAUTHENTICATED"},
      {"health needs none", "GET", "/healthz", {{"Authorization", "(none)"}}, 200, "(no JSON)"},
      {"readiness needs none", "GET", "/readyz", {{"Authorization", "(none)"}}, 200, "(none)"},
      {"the reading token reads", "GET", "/v1/sessions/s", {{"Authorization", reading}}, 200, "(none)"},
      {"no such path", "GET", "/nothing", {}, 404, "NOT_FOUND"},
      {"no such method", "PATCH", "/v1/sessions/s", {}, 405, "USAGE"},
      {"another type", "POST", "/mcp", {{"Content-Type", "text/plain"}}, 415, "UNSUPPORTED_FORMAT"},
      {"no type", "POST", "/mcp", {{"Content-Type", "(none)"}}, 415, "UNSUPPORTED_FORMAT"},
      {"an encoding", "POST", "/mcp", {{"Content-Encoding", "gzip"}}, 415, "UNSUPPORTED_FORMAT"},
      {"a body of a GET", "GET", "/v1/sessions/s", {{"Content-Length", "0"}}, 200, "(none)"},
      {"not accepted", "GET", "/v1/sessions/s", {{"Accept", "text/html"}}, 406, "UNSUPPORTED_FORMAT"},
      {"accepted among others", "GET", "/v1/sessions/s", {{"Accept", "text/html, */*;q=0.1"}}, 200, "(none)"},
      {"unknown parameter", "GET", "/v1/sessions/s?x=1", {}, 400, "USAGE"},
      {"unknown parameter of the health", "GET", "/healthz?x=1", {}, 400, "USAGE"},
      {"unknown expectation", "GET", "/v1/sessions/s", {{"Expect", "wonders"}}, 417, "USAGE"},
  };
  for (const Door& door : doors) {
    const HttpAnswer answer = served().ask(door.method, door.target, {}, door.headers);
    EXPECT_EQ(answer.status, door.status) << door.why;
    EXPECT_EQ(answer.member("code"), door.code) << door.why;
    EXPECT_EQ(answer.header("www-authenticate"), door.status == 401 ? "Bearer" : "") << door.why;
    EXPECT_EQ(answer.header("allow"), door.status == 405 ? "GET, HEAD, DELETE" : "") << door.why;
  }
}

TEST_F(ServerTest, WithoutATokenToAskForNoneIsAsked) {
  how_.options.token.reset();
  EXPECT_EQ(served().ask("GET", "/v1/sessions/s", {}, {{"Authorization", "(none)"}}).status, 200);
}

TEST_F(ServerTest, HealthIsOk) {
  const HttpAnswer answer = served().get("/healthz");
  EXPECT_EQ(answer.body, "ok");
  EXPECT_EQ(served().get("/readyz").body, R"({"reasons":[]})");
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  HttpClient client(served().port());
  std::string all;
  for (int i = 0; i < 50; ++i) all += served().request("GET", i % 3 == 0 ? "/v1/sessions/s" : i % 3 == 1 ? "/nothing" : "/healthz");
  client.send(all);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.answer().status, i % 3 == 1 ? 404 : 200) << i;
}

TEST_F(ServerTest, ABodyNobodyWantsIsSwallowedAndTheConnectionGoesOn) {
  HttpClient client(served().port());
  client.send(served().request("POST", "/nothing", "{\"a\":1}") + served().request("GET", "/healthz"));
  EXPECT_EQ(client.answer().status, 404);
  EXPECT_EQ(client.answer().body, "ok");
}

TEST_F(ServerTest, HttpOneZeroIsAnsweredAndClosed) {
  HttpClient client(served().port());
  client.send("GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n");
  const HttpAnswer answer = client.answer();
  EXPECT_EQ(answer.body, "ok");
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_TRUE(client.closed());
}

TEST_F(ServerTest, WhoStoppedSendingIsStillAnswered) {
  HttpClient client(served().port());
  client.send(served().request("GET", "/v1/sessions/s") + served().request("GET", "/healthz"));
  client.stop_sending();
  EXPECT_EQ(client.answer().member("id"), "s");
  EXPECT_EQ(client.answer().body, "ok");
  EXPECT_TRUE(client.closed());
}

TEST_F(ServerTest, ContinueIsSaidOnlyToWhomMayGoOn) {
  const HttpCase::Extra expect = {{"Expect", "100-continue"}};
  HttpClient client(served().port());
  std::string head = served().request("POST", "/mcp", "{}", expect);
  client.send(head.substr(0, head.size() - 2));
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("{}");
  EXPECT_NE(client.answer().status, 0);

  HttpClient other(served().port());
  head = served().request("POST", "/mcp", "{}", {{"Expect", "100-continue"}, {"Authorization", "(none)"}});
  other.send(head.substr(0, head.size() - 2));
  EXPECT_EQ(other.answer().status, 401);
  EXPECT_TRUE(other.closed());
}

TEST_F(ServerTest, LimitsHaveTheirStatus) {
  limits().body_bytes = 1000;
  limits().url_bytes = 300;
  limits().header_bytes = 2000;
  limits().headers = 20;
  const auto& one = served();
  const auto ask = [&](const std::string& bytes) {
    HttpClient client(one.port());
    client.try_send(bytes);
    const HttpAnswer answer = client.answer();
    EXPECT_TRUE(client.closed());
    return std::to_string(answer.status) + " " + answer.member("code");
  };
  EXPECT_EQ(ask(one.request("GET", "/" + std::string(400, 'a'))), "414 LIMIT_EXCEEDED");
  EXPECT_EQ(ask("GET /" + std::string(400, 'a')), "414 LIMIT_EXCEEDED");
  EXPECT_EQ(ask(one.request("GET", "/healthz", "", {{"X", std::string(2500, 'a')}})), "431 LIMIT_EXCEEDED");
  HttpCase::Extra many;
  for (int i = 0; i < 21; ++i) many.emplace_back("x" + std::to_string(i), "1");
  EXPECT_EQ(ask(one.request("GET", "/healthz", "", many)), "431 LIMIT_EXCEEDED");
  EXPECT_EQ(ask(one.request("POST", "/mcp", std::string(1001, ' '))), "413 LIMIT_EXCEEDED");
  EXPECT_EQ(ask(one.request("POST", "/mcp", "7d0\r\n" + std::string(2000, ' ') + "\r\n0\r\n\r\n",
                            {{"Content-Length", "(none)"}, {"Transfer-Encoding", "chunked"}})),
            "413 LIMIT_EXCEEDED");
}

TEST_F(ServerTest, WhatIsMalformedIsRefusedAndClosed) {
  const std::string rest = std::string("Host: localhost\r\nAuthorization: Bearer ") + HttpCase::kToken + "\r\n";
  const std::string smuggled = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string& bytes : {
           "GET /healthz HTTP/1.1\n" + rest + "\r\n",
           "GET http://localhost/healthz HTTP/1.1\r\n" + rest + "\r\n",
           "CONNECT localhost:80 HTTP/1.1\r\n" + rest + "\r\n",
           "POST /mcp HTTP/1.1\r\n" + rest + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
           "POST /mcp HTTP/1.1\r\n" + rest + "Content-Length: 0\r\nContent-Length: 44\r\n\r\n" + smuggled,
           "GET /healthz HTTP/1.1\r\n" + rest + "Host: localhost\r\n\r\n",
           "GET /healthz HTTP/1.1\r\n" + rest + "X : y\r\n\r\n",
           "GET /healthz HTTP/1.1\r\n" + rest + "X: y\r\n z\r\n\r\n",
           "POST /mcp HTTP/1.1\r\n" + rest + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + smuggled,
       }) {
    HttpClient client(served().port());
    client.try_send(bytes);
    const HttpAnswer answer = client.answer();
    EXPECT_EQ(answer.status, 400) << bytes;
    EXPECT_EQ(answer.header("connection"), "close") << bytes;
    EXPECT_EQ(client.read_until("never"), "") << bytes;  // nothing of what was smuggled
  }
  EXPECT_EQ(served().get("/healthz").body, "ok");
}

TEST_F(ServerTest, ConnectionsBeyondTheLimitAreTurnedAway) {
  limits().connections = 6;
  limits().strangers = 2;
  limits().slow_ms = 100000;
  std::vector<std::unique_ptr<HttpClient>> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(std::make_unique<HttpClient>(served().port()));
    held.back()->send(served().request("GET", "/healthz"));
    EXPECT_EQ(held.back()->answer().body, "ok");
    held.back()->send("GET /healthz HTTP/1.1\r\n");  // and asks the next question
  }
  EXPECT_EQ(served().get("/healthz").status, 503);
  HttpClient fifth(served().port());
  fifth.send(served().request("GET", "/healthz"));
  const HttpAnswer answer = fifth.answer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.member("code"), "BUSY");
  EXPECT_EQ(answer.header("retry-after"), "1");
  EXPECT_TRUE(fifth.closed());
  held.pop_back();
  EXPECT_TRUE(eventually([&] { return served().get("/healthz").status == 200; }));
}

TEST_F(ServerTest, WhoAsksNothingGivesWayAfterAWhile) {
  limits().connections = 6;
  limits().strangers = 2;
  limits().slow_ms = 300;
  std::vector<std::unique_ptr<HttpClient>> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(std::make_unique<HttpClient>(served().port()));
    held.back()->send(served().request("GET", "/healthz"));
    EXPECT_EQ(held.back()->answer().body, "ok");
  }
  EXPECT_EQ(served().get("/healthz").status, 503) << "one that was just answered may ask again";
  EXPECT_TRUE(eventually([&] { return served().get("/healthz").status == 200; }));
}

TEST_F(ServerTest, WhoIsKnownAndSlowGivesWayToHisKind) {
  limits().connections = 5;
  limits().strangers = 2;
  limits().slow_ms = 20;
  std::vector<std::unique_ptr<HttpClient>> slow;
  for (int i = 0; i < 3; ++i) {
    slow.push_back(std::make_unique<HttpClient>(served().port()));
    slow.back()->send(served().request("GET", "/healthz"));
    EXPECT_EQ(slow.back()->answer().body, "ok");
    slow.back()->send("GET /heal");
  }
  EXPECT_TRUE(eventually([&] { return served().get("/healthz").status == 200; }));
}

TEST_F(ServerTest, OfStrangersTheOldestGoesAndWhoShowedTheTokenStays) {
  limits().connections = 6;
  limits().strangers = 2;
  limits().slow_ms = 0;
  HttpClient owner(served().port());
  owner.send(served().request("GET", "/v1/sessions/s"));
  EXPECT_EQ(owner.answer().status, 200);
  HttpClient silent(served().port()), half(served().port()), wrong(served().port()), last(served().port());
  half.send("GET /heal");
  wrong.send(served().request("GET", "/v1/sessions/s", "", {{"Authorization", "Bearer wrong"}}));
  EXPECT_EQ(wrong.answer().status, 401);
  EXPECT_EQ(silent.answer().member("code"), "BUSY");
  EXPECT_TRUE(silent.closed());
  EXPECT_EQ(half.answer().status, 503);
  owner.send(served().request("GET", "/v1/sessions/s"));
  EXPECT_EQ(owner.answer().status, 200);
  EXPECT_EQ(served().get("/v1/sessions/s").status, 200);
  EXPECT_TRUE(wrong.closed()) << "it was answered and is the oldest now";
}

TEST_F(ServerTest, WhereNoTokenIsAskedForOneGoodRequestMakesAClientKnown) {
  how_.options.token = {};
  limits().connections = 4;
  limits().strangers = 2;
  HttpClient owner(served().port()), foreign(served().port());
  foreign.send("GET /v1/sessions HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(foreign.answer().status, 403);
  owner.send(served().request("GET", "/v1/sessions/s"));
  EXPECT_EQ(owner.answer().status, 200);
  HttpClient silent(served().port()), more(served().port());
  EXPECT_EQ(foreign.read_until("never"), "");
  EXPECT_TRUE(foreign.closed());
  owner.send(served().request("GET", "/v1/sessions/s"));
  EXPECT_EQ(owner.answer().status, 200);
}

TEST_F(ServerTest, SilentAndSlowClientsAreClosed) {
  limits().header_ms = limits().idle_ms = 60;
  limits().body_ms = 60;
  HttpClient silent(served().port()), slow(served().port()), lazy(served().port()), idle(served().port());
  slow.send("GET /healthz HTTP/1.1\r\nHost: l");
  lazy.send(served().request("POST", "/mcp", "12345", {{"Content-Length", "10"}}));
  idle.send(served().request("GET", "/healthz"));
  EXPECT_EQ(idle.answer().body, "ok");
  EXPECT_EQ(silent.read_until("never"), "");
  EXPECT_EQ(slow.answer().status, 408);
  EXPECT_EQ(lazy.answer().status, 408);
  EXPECT_EQ(idle.read_until("never"), "");
  EXPECT_TRUE(silent.closed() && slow.closed() && lazy.closed() && idle.closed());
}

TEST_F(ServerTest, AClientThatDoesNotReadIsClosed) {
  limits().stalled_ms = 100;
  limits().idle_ms = 600000;
  HttpClient client(served().port());
  const std::string asked = served().request("GET", "/metrics");
  // So many answers that no buffer of the system holds them.
  std::string many;
  for (int i = 0; i < 200; ++i) many += asked;
  const int small = 4096;
  ::setsockopt(client.descriptor(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  EXPECT_TRUE(eventually(
      [&] { return ::send(client.descriptor(), many.data(), many.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN; }));
}

TEST_F(ServerTest, ARequestHasALineInTheJournal) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  served().get("/v1/sessions/s?nothing=of-this", {{"traceparent", trace}});
  served().get("/v1/sessions/s");
  EXPECT_TRUE(eventually([&] { return served().journal().find("status=200") != std::string::npos; }));
  const std::string journal = served().journal();
  EXPECT_NE(journal.find(R"(info request method="GET" route="/v1/sessions/{session}" status=400)"), std::string::npos) << journal;
  EXPECT_NE(journal.find(trace), std::string::npos);
  EXPECT_EQ(journal.find("of-this"), std::string::npos);
  EXPECT_EQ(journal.find(HttpCase::kToken), std::string::npos);
}

TEST_F(ServerTest, AnAnswerThatIsTooLargeForAnyClientIsNotCalledBusy) {
  limits().unsent_bytes = 10000;
  const HttpAnswer answer = served().get("/openapi.json");
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.member("code"), "LIMIT_EXCEEDED");
  EXPECT_EQ(answer.headers.count("retry-after"), 0u);
  EXPECT_NE(answer.member("detail").find("ask for less"), std::string::npos) << answer.member("detail");
  EXPECT_EQ(served().get("/v1/sessions/s").status, 200);
}

TEST_F(ServerTest, ShutdownIsSaidBeforeThePortCloses) {
  limits().show_drain_ms = 2000;
  HttpClient held(served().port());
  served().signal(15);
  EXPECT_TRUE(eventually([&] { return served().get("/readyz").body == R"({"reasons":["draining"]})"; }));
  EXPECT_EQ(served().get("/readyz").status, 503);
  held.send(served().request("GET", "/v1/sessions/s"));
  EXPECT_EQ(held.answer().status, 200);
  EXPECT_TRUE(served().ended());
  EXPECT_FALSE(HttpClient(served().port()).connected());
}

TEST_F(ServerTest, ASocketInTheFileSystemIsItsOwnersAndGoesWithIt) {
  testing::TempDir dir;
  const std::string path = dir / "socket";
  how_.options.listen = "unix:" + path;
  const mode_t before = ::umask(0);
  EXPECT_EQ(served().server().url(), "unix:" + path);
  ::umask(before);
  struct stat st{};
  ASSERT_EQ(::lstat(path.c_str(), &st), 0);
  EXPECT_TRUE(S_ISSOCK(st.st_mode));
  EXPECT_EQ(st.st_mode & 07777, 0600u);
  EXPECT_EQ(testing::code(Listener::open("unix:" + path)), "BUSY");  // somebody answers there
  served().stop();
  EXPECT_NE(::lstat(path.c_str(), &st), 0);
}

TEST_F(ServerTest, AnAddressThatIsNoneIsRefused) {
  for (const char* listen : {"", "localhost", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "nobody.example:80", "[::1:80", "unix:"})
    EXPECT_EQ(testing::code(Listener::open(listen)), "INVALID_FIELD") << listen;
  EXPECT_EQ(testing::code(Listener::open("127.0.0.1:" + std::to_string(served().port()))), "BUSY");
  EXPECT_EQ(testing::code(Listener::open("192.0.2.1:0")), "INVALID_FIELD") << "an address of another machine";
  testing::TempDir dir;
  std::ofstream(dir / "file") << "not a socket";
  EXPECT_EQ(testing::code(Listener::open("unix:" + (dir / "file"))), "BUSY");
  EXPECT_EQ(testing::code(Listener::open("unix:" + (dir / "nowhere/socket"))), "NOT_FOUND");
}

TEST_F(ServerTest, ASecondSignalEndsAtOnce) {
  limits().show_drain_ms = 100000;
  served().signal(15);
  EXPECT_TRUE(eventually([&] { return served().get("/readyz").status == 503; }));
  served().signal(2);
  EXPECT_TRUE(served().ended());
}

}  // namespace
}  // namespace weir::http
