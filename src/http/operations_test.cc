// Operations over HTTP: what goes in from path, query and body, and how answers are sent.
#include "http/operations.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "store/sqlite.h"
#include "testing/http_case.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir::http {
namespace {

using testing::eventually;
using testing::HttpAnswer;
using testing::HttpCase;
using testing::HttpClient;

std::string entries(std::string_view text, std::string_view more = {}) {
  return R"({"entries":[{"type":"message","body":{"role":"user","content":")" + std::string(text) + "\"}}]" + std::string(more) + "}";
}

class OperationsTest : public ::testing::Test {
 protected:
  testing::TempDir dir_;
  HttpCase::How how_ = HttpCase::how();

  HttpCase& served() {
    if (!case_) case_ = std::make_unique<HttpCase>(how_);
    return *case_;
  }
  void reopen() { case_ = nullptr; }
  // "status CODE"
  std::string code(std::string_view method, std::string_view target, std::string_view body = {}, const HttpCase::Extra& headers = {}) {
    const HttpAnswer answer = served().ask(method, target, body, headers);
    return std::to_string(answer.status) + " " + answer.member("code");
  }
  std::string fields(const HttpAnswer& answer) { return answer.member("details"); }

 private:
  std::unique_ptr<HttpCase> case_;
};

TEST_F(OperationsTest, EntriesGoInAndComeOut) {
  const HttpAnswer made = served().ask("POST", "/v1/sessions/s/entries", entries("hello"));
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(served().get("/v1/sessions/s").member("entries"), "1");
  EXPECT_EQ(served().ask("POST", "/v1/sessions/s/entries", entries("hello"), {{"Content-Type", "application/json; charset=utf-8"}}).status,
            201);
}

TEST_F(OperationsTest, BodiesThatAreNoJsonAre400) {
  for (const char* body : {"{", "{\"entries\":[],\"entries\":[]}", "\"\xff\"", "{\"a\":\"\\ud800\"}", "nothing"})
    EXPECT_EQ(code("POST", "/v1/sessions/s/entries", body), "400 INVALID_JSON") << body;
  std::string deep;
  for (int i = 0; i < 70; ++i) deep = "[" + deep + "]";
  EXPECT_EQ(code("POST", "/v1/sessions/s/entries", "{\"entries\":" + deep + "}"), "400 INVALID_JSON");
}

TEST_F(OperationsTest, AllWrongFieldsAreToldAtOnce) {
  const HttpAnswer answer = served().ask("POST", "/v1/sessions/s/entries", R"({"entries":1,"head":2,"strange":3,"session":"other"})");
  EXPECT_EQ(answer.status, 422);
  for (const char* path : {"\"/entries\"", "\"/head\"", "\"/strange\"", "\"/session\""})
    EXPECT_NE(fields(answer).find(path), std::string::npos) << fields(answer);
  EXPECT_EQ(code("POST", "/v1/sessions/s/entries", "[]"), "422 INVALID_FIELD");
  EXPECT_EQ(code("POST", "/v1/sessions/s/entries", ""), "422 INVALID_FIELD");  // entries is missing
  EXPECT_EQ(code("GET", "/v1/sessions/%ff"), "422 INVALID_FIELD");
}

TEST_F(OperationsTest, WhatNeverChangesHasATag) {
  served().append("s", 1);
  const std::string id = [&] {
    const HttpAnswer tree = served().get("/v1/sessions/s");
    const std::string heads = tree.member("heads");
    const std::size_t at = heads.find("\"entry\":\"") + 9;
    return heads.substr(at, heads.find('"', at) - at);
  }();
  const HttpAnswer entry = served().get("/v1/sessions/s/entries/" + id);
  EXPECT_EQ(entry.status, 200);
  EXPECT_EQ(entry.header("etag"), "\"" + entry.member("digest") + "\"");
  EXPECT_EQ(entry.header("cache-control"), "private, max-age=31536000, immutable");
  const HttpAnswer again = served().get("/v1/sessions/s/entries/" + id, {{"If-None-Match", entry.header("etag")}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.header("etag"), entry.header("etag"));
  EXPECT_EQ(again.headers.count("content-length"), 0u);
  EXPECT_EQ(served().get("/v1/sessions/s/entries/" + id, {{"If-None-Match", "\"other\""}}).status, 200);
  EXPECT_EQ(served().get("/v1/sessions/s/heads").header("cache-control"), "no-store");
}

TEST_F(OperationsTest, ABlobMayBeHadInParts) {
  const std::string large(70000, 'L');
  served().ask("POST", "/v1/sessions/s/entries", entries(large));
  const std::string path = "/v1/blobs/" + sha256(large).hex();
  EXPECT_EQ(served().get(path).body, large);
  const HttpAnswer part = served().get(path, {{"Range", "bytes=10-19"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "LLLLLLLLLL");
  EXPECT_EQ(part.header("content-range"), "bytes 10-19/70000");
  EXPECT_EQ(part.header("accept-ranges"), "bytes");
  const HttpAnswer beyond = served().get(path, {{"Range", "bytes=70000-"}});
  EXPECT_EQ(beyond.status, 416);
  EXPECT_EQ(beyond.header("content-range"), "bytes */70000");
  EXPECT_EQ(served().get(path, {{"Range", "bytes=0-1"}, {"If-Range", "\"other\""}}).status, 200);
}

TEST_F(OperationsTest, AHeadMovesOnlyFromWhereItWasSeen) {
  served().append("s", 2);
  const std::string at =
      served().ask("POST", "/v1/sessions/s/entries", R"({"entries":[{"id":"x1","type":"custom","body":{}}]})").member("head");
  const std::string body = R"({"entry":null})", path = "/v1/sessions/s/heads/main";
  EXPECT_EQ(code("PUT", path, body, {{"If-Match", "\"other\""}}), "412 CONFLICT");
  EXPECT_EQ(code("PUT", path, R"({"entry":null,"expect":"other"})"), "409 CONFLICT");
  EXPECT_EQ(code("PUT", path, body, {{"If-Match", "x1"}}), "422 INVALID_FIELD");
  EXPECT_EQ(code("PUT", path, R"({"entry":null,"expect":"x1"})", {{"If-Match", "\"x1\""}}), "422 INVALID_FIELD");
  EXPECT_EQ(code("PUT", path, body, {{"If-Match", "\"x1\""}}), "200 (none)");
  EXPECT_EQ(served().ask("POST", "/sessions/s/tree", R"({"entry":"x1"})").body, served().ask("PUT", path, R"({"entry":"x1"})").body);
}

TEST_F(OperationsTest, AliasesAnswerTheSameBytes) {
  served().append("s", 5);
  for (const auto& [alias, path] : {std::pair("ctrees", "ctrees"), std::pair("ctrees/tree", "ctrees/tree"),
                                    std::pair("ctrees/events", "ctrees/events"), std::pair("readcache-status", "reads")}) {
    const HttpAnswer one = served().get("/sessions/s/" + std::string(alias)), other = served().get("/v1/sessions/s/" + std::string(path));
    EXPECT_EQ(one.status, 200) << alias;
    EXPECT_EQ(one.body, other.body) << alias;
  }
}

TEST_F(OperationsTest, LinesAreSentAsTheyAreMade) {
  served().append("s", 3000, std::string(500, 'x'));
  HttpClient client(served().port());
  client.send(served().request("GET", "/v1/sessions/s/export?format=jsonl"));
  const HttpAnswer answer = client.answer();
  EXPECT_EQ(answer.header("content-type"), "application/x-ndjson");
  EXPECT_EQ(answer.header("transfer-encoding"), "chunked");
  EXPECT_GE(std::count(answer.body.begin(), answer.body.end(), '\n'), 3000);
  client.send(served().request("GET", "/healthz"));
  EXPECT_EQ(client.answer().body, "ok");
}

TEST_F(OperationsTest, AClientThatTakesNoLinesHoldsNoWorker) {
  how_.options.limits.stalled_ms = 100;
  how_.workers = 1;
  served().append("s", 20000, std::string(1000, 'x'));
  HttpClient client(served().port());
  client.send(served().request("GET", "/v1/sessions/s/export?format=jsonl"));
  client.read_until("\n");
  EXPECT_EQ(served().get("/v1/sessions/s").status, 200);  // the only worker is free again
}

TEST_F(OperationsTest, WhoStoppedSendingGetsAllLines) {
  served().append("s", 3000, std::string(500, 'x'));
  HttpClient client(served().port());
  client.send(served().request("GET", "/v1/sessions/s/export?format=jsonl"));
  client.stop_sending();
  const HttpAnswer answer = client.answer();
  EXPECT_GE(std::count(answer.body.begin(), answer.body.end(), '\n'), 3000);
  EXPECT_TRUE(client.closed());
}

TEST_F(OperationsTest, ARequestThatTakesTooLongIsAnsweredAndStopped) {
  how_.options.limits.request_ms = 5;
  served().append("s", 20000);
  HttpClient client(served().port());
  client.send(served().request("GET", "/v1/sessions/s/ctrees/tree"));
  const HttpAnswer answer = client.answer();
  EXPECT_EQ(answer.status, 504);
  EXPECT_EQ(answer.member("code"), "TIMEOUT");
  EXPECT_EQ(answer.header("retry-after"), "1");
  client.send(served().request("GET", "/healthz"));
  EXPECT_EQ(client.answer().body, "ok");
}

TEST_F(OperationsTest, WhoWasToldThatItTookTooLongDoesNotFindItStored) {
  how_.store = dir_ / "store";
  how_.options.limits.request_ms = 200;
  served().append("s", 1);
  const auto other = testing::must(sqlite::Connection::open(how_.store + "/weir.db", sqlite::Connection::Mode::read_write, 1000));
  testing::must(other->execute("BEGIN IMMEDIATE"));
  const std::string large = entries(std::string(100000, 'x'));
  EXPECT_EQ(code("POST", "/v1/sessions/s/entries", large), "504 TIMEOUT");
  EXPECT_EQ(code("PUT", "/v1/sessions/s/heads/other", R"({"entry":null})"), "504 TIMEOUT");
  testing::must(other->execute("ROLLBACK"));
  served().append("s", 1);  // behind what waited
  EXPECT_EQ(served().get("/v1/sessions/s").member("entries"), "2");
  EXPECT_EQ(served().get("/v1/sessions/s/heads").body.find("other"), std::string::npos);
  EXPECT_TRUE(testing::must(served().service().store().blobs().list()).objects.empty());
}

TEST_F(OperationsTest, HeadOfLinesHasNoBody) {
  served().append("s", 3);
  HttpClient client(served().port());
  client.send(served().request("HEAD", "/v1/sessions/s/export?format=jsonl") + served().request("GET", "/healthz"));
  EXPECT_EQ(client.answer(true).header("content-type"), "application/x-ndjson");
  EXPECT_EQ(client.answer().body, "ok");
}

TEST_F(OperationsTest, ATokenThatReadsWritesNothing) {
  served().append("s", 1);
  const HttpCase::Extra reading = {{"Authorization", std::string("Bearer ") + HttpCase::kReadToken}};
  EXPECT_EQ(code("POST", "/v1/sessions/s/entries", entries("x"), reading), "403 DENIED");
  EXPECT_EQ(code("POST", "/v1/sessions/s/compact", "{}", reading), "403 DENIED");
  EXPECT_EQ(code("DELETE", "/v1/sessions/s?confirm=s", {}, reading), "403 DENIED");
  EXPECT_EQ(served().get("/v1/sessions/s").member("entries"), "1");
}

// ---- Idempotency-Key ----

class KeyedTest : public OperationsTest {
 protected:
  KeyedTest() { how_.store = dir_ / "store"; }
  HttpAnswer put(std::string_view key, std::string_view body, const HttpCase::Extra& more = {}) {
    HttpCase::Extra headers = {{"Idempotency-Key", std::string(key)}};
    headers.insert(headers.end(), more.begin(), more.end());
    return served().ask("POST", "/v1/sessions/s/entries", body, headers);
  }
};

TEST_F(KeyedTest, TheSameRequestIsDoneOnceAlsoAcrossARestart) {
  const HttpAnswer first = put("key-1", entries("a"));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.headers.count("idempotency-replayed"), 0u);
  for (int i = 0; i < 2; ++i) {
    const HttpAnswer again = put("key-1", entries("a"));
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(again.header("content-type"), first.header("content-type"));
    EXPECT_EQ(again.header("idempotency-replayed"), "true");
    reopen();
  }
  EXPECT_EQ(served().get("/v1/sessions/s").member("entries"), "1");
}

TEST_F(KeyedTest, AnotherRequestWithTheKeyIsRefused) {
  put("key-1", entries("a"));
  EXPECT_EQ(put("key-1", entries("b")).member("code"), "IDEMPOTENCY_MISMATCH");
  EXPECT_EQ(put("key-1", entries("b")).status, 422);
  EXPECT_EQ(code("POST", "/v1/sessions/other/entries", entries("a"), {{"Idempotency-Key", "key-1"}}), "422 IDEMPOTENCY_MISMATCH");
  EXPECT_EQ(put("key-2", entries("a")).status, 201);
  EXPECT_EQ(served().get("/v1/sessions/s").member("entries"), "2");
}

TEST_F(KeyedTest, AReadIsDecidedAnewAndItsKeyIsNoOthers) {
  testing::write_file(dir_ / "one.txt", "one\n");
  testing::write_file(dir_ / "two.txt", "two\n");
  how_.roots = {dir_.path()};
  const HttpCase::Extra key = {{"Idempotency-Key", "key-1"}};
  const auto read = [&](const char* name) { return code("POST", "/v1/sessions/s/read", "{\"path\":\"" + (dir_ / name) + "\"}", key); };
  EXPECT_EQ(served().ask("POST", "/v1/sessions/s/read", "{\"path\":\"" + (dir_ / "one.txt") + "\"}", key).status, 200);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(read("two.txt"), "422 IDEMPOTENCY_MISMATCH");
    EXPECT_EQ(put("key-1", entries("a")).member("code"), "IDEMPOTENCY_MISMATCH");
    const HttpAnswer again = served().ask("POST", "/v1/sessions/s/read", "{\"path\":\"" + (dir_ / "one.txt") + "\"}", key);
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.headers.count("idempotency-replayed"), 0u);
    reopen();
  }
}

TEST_F(KeyedTest, AKeyIsVisibleAscii) {
  EXPECT_EQ(put(std::string(128, 'k'), entries("a")).status, 201);
  for (const std::string& key : {std::string(129, 'k'), std::string("two words"), std::string("\xc3\xa4"), std::string()})
    EXPECT_EQ(put(key, entries("a")).member("code"), "INVALID_FIELD") << key;
}

TEST_F(KeyedTest, AnErrorIsNotKept) {
  EXPECT_EQ(put("key-1", R"({"entries":[{"type":"message","body":{}}]})").status, 422);
  EXPECT_EQ(put("key-1", entries("a")).status, 201);
}

TEST_F(KeyedTest, AnAppendWhoseAnswerWasLostIsNotDoneAgain) {
  const HttpAnswer first = put("key-1", entries("a"));
  reopen();
  // As if the process had died before it was written down.
  ASSERT_EQ(::unlink((how_.store + "/answers.db").c_str()), 0);
  const HttpAnswer again = put("key-1", entries("a"));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.member("entries"), first.member("entries"));
  EXPECT_EQ(served().get("/v1/sessions/s").member("entries"), "1");
}

TEST_F(KeyedTest, AnAnswerWithASecretIsNotStored) {
  const std::string secret = "AKIAIOSFODNN7EXAMPLF";
  testing::write_file(dir_ / "file.txt", "key " + secret + "\n");
  how_.roots = {dir_.path()};
  const std::string body = "{\"path\":\"" + (dir_ / "file.txt") + "\"}";
  const HttpCase::Extra key = {{"Idempotency-Key", "key-1"}};
  for (int i = 0; i < 2; ++i) {
    const HttpAnswer answer = served().ask("POST", "/v1/sessions/s/read", body, key);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.headers.count("idempotency-replayed"), 0u);
  }
  reopen();
  EXPECT_EQ(testing::read_file(how_.store + "/answers.db").find(secret), std::string::npos);
}

TEST_F(KeyedTest, APurgeForgetsTheAnswers) {
  const std::string word = "a-word-that-is-nowhere-else";
  EXPECT_EQ(put("key-1", R"({"entries":[{"type":"message","body":{"role":"user","content":")" + word + R"("}}]})").status, 201);
  const auto prompt = [&] { return served().ask("POST", "/v1/sessions/s/context", "{}", {{"Idempotency-Key", "key-2"}}); };
  EXPECT_NE(prompt().body.find(word), std::string::npos);
  const auto kept = [&] {
    return testing::read_file(how_.store + "/answers.db").find(word) != std::string::npos ||
           testing::read_file(how_.store + "/answers.db-wal").find(word) != std::string::npos;
  };
  EXPECT_TRUE(kept());
  EXPECT_EQ(served().ask("DELETE", "/v1/sessions/s?confirm=s").status, 204);
  EXPECT_FALSE(kept());
  EXPECT_EQ(prompt().headers.count("idempotency-replayed"), 0u);
}

TEST_F(KeyedTest, LinesAreKeptWhole) {
  served().append("s", 10);
  const HttpCase::Extra key = {{"Idempotency-Key", "key-1"}};
  const HttpAnswer first = served().ask("POST", "/v1/verify", "{}", key), again = served().ask("POST", "/v1/verify", "{}", key);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.header("content-type"), "application/x-ndjson");
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.header("idempotency-replayed"), "true");
}

TEST_F(KeyedTest, InMemoryTheyAreKeptInMemory) {
  how_.store.clear();
  put("key-1", entries("a"));
  EXPECT_EQ(put("key-1", entries("a")).header("idempotency-replayed"), "true");
  EXPECT_EQ(served().ask("DELETE", "/v1/sessions/s?confirm=s").status, 204);
  EXPECT_EQ(put("key-1", entries("a")).headers.count("idempotency-replayed"), 0u);
}

}  // namespace
}  // namespace weir::http
