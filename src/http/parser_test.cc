#include "http/parser.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::http {
namespace {

constexpr HeadLimits kLimits{200, 600, 10};

// Fed in parts of so many bytes: "METHOD target body" of every request, then what is wrong, as its status.
std::string read(std::string_view bytes, std::size_t part, std::size_t most_body = 100) {
  Parser parser(kLimits);
  std::string out, buffer;
  std::size_t given = 0;
  for (;;) {
    const bool was_head = parser.state() == Parser::State::head;
    const std::size_t took = parser.feed(buffer);
    buffer.erase(0, took);
    if (was_head && parser.state() != Parser::State::head && parser.state() != Parser::State::failed) parser.limit_body(most_body);
    if (parser.state() == Parser::State::failed) return out + std::to_string(parser.problem().status);
    if (parser.state() == Parser::State::done) {
      out += parser.request().method + " " + parser.request().target + " " + parser.request().body + "\n";
      parser.restart();
      continue;
    }
    if (took > 0 && !buffer.empty()) continue;
    if (given == bytes.size()) return out + (parser.state() == Parser::State::head && buffer.empty() ? "" : "...");
    const std::string_view more = bytes.substr(given, part);
    buffer += more;
    given += more.size();
  }
}

std::string read_any(std::string_view bytes) {
  const std::string whole = read(bytes, 100000);
  for (const std::size_t part : {1, 2, 3, 7, 64}) EXPECT_EQ(read(bytes, part), whole) << part << "\n" << bytes;
  return whole;
}

TEST(ParserTest, RequestsInARow) {
  EXPECT_EQ(
      read_any("GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b?c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /d HTTP/1.0\r\n\r\n"),
      "GET /a \nPOST /b?c abc\nGET /d \n");
}

TEST(ParserTest, ChunksAreJoinedAndTrailersDropped) {
  EXPECT_EQ(read_any("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nHost: evil\r\n\r\nGET "
                     "/n HTTP/1.1\r\n\r\n"),
            "POST / abc0123456789\nGET /n \n");
}

TEST(ParserTest, HeadersOfOneNameAreJoined) {
  Parser parser(kLimits);
  parser.feed("GET / HTTP/1.1\r\nAccept: a\r\nACCEPT:  b \r\nX-Y: \xff\r\n\r\n");
  ASSERT_EQ(parser.state(), Parser::State::done);
  EXPECT_EQ(parser.request().header("accept"), "a, b");
  EXPECT_EQ(parser.request().header("x-y"), "\xff");
  EXPECT_TRUE(parser.request().keep_alive);
}

TEST(ParserTest, WhatTwoProgramsCouldReadDifferentlyIs400) {
  const std::vector<std::string> wrong = {
      "GET / HTTP/1.1\nHost: x\n\n",
      "GET / HTTP/1.1\r\nHost: x\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\r\n\r\n",
      "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
      "GET / HTTP/1.1\r\n Host: x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\n\tfolded\r\n\r\n",
      "GET / HTTP/1.1\r\nno colon\r\n\r\n",
      "GET / HTTP/1.1\r\n: empty\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
      "GET  / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1 \r\n\r\n",
      " GET / HTTP/1.1\r\n\r\n",
      "GET /a b HTTP/1.1\r\n\r\n",
      "GET /\x01 HTTP/1.1\r\n\r\n",
      "GET /\xc3\xa4 HTTP/1.1\r\n\r\n",
      "GET /a#b HTTP/1.1\r\n\r\n",
      "GET http://localhost/ HTTP/1.1\r\n\r\n",
      "CONNECT localhost:80 HTTP/1.1\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\n\r\n",
      "GET / http/1.1\r\n\r\n",
      "GET /\r\n\r\n",
      "G\"T / HTTP/1.1\r\n\r\n",
      "\r\nGET / HTTP/1.1\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: -3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: 0x3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: 3 3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: \r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\nabc",
      "POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding:\x0b"
      "chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nabc\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n0\r\n\r\n",
      std::string("GET /\0 HTTP/1.1\r\n\r\n", 20),
      std::string("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 27),
      std::string("GET / HTTP/1.1\r\nX\0: ab\r\n\r\n", 27),
      "\x16\x03\x01\x02\n\r\n\r\n",
  };
  for (const std::string& bytes : wrong) EXPECT_EQ(read_any(bytes), "400") << bytes;
}

TEST(ParserTest, OtherVersionsAre505) {
  EXPECT_EQ(read_any("PRI /x HTTP/2.0\r\n\r\nSM\r\n\r\n"), "505");
  EXPECT_EQ(read_any("GET / HTTP/1.2\r\n\r\n"), "505");
}

TEST(ParserTest, LimitsAreToldBeforeTheEndIsThere) {
  EXPECT_EQ(read("GET /" + std::string(300, 'a'), 64), "414");
  EXPECT_EQ(read("GET /" + std::string(200, 'a') + " HTTP/1.1\r\n\r\n", 100000), "414");
  EXPECT_EQ(read("GET / HTTP/1.1\r\nX: " + std::string(700, 'a'), 64), "431");
  EXPECT_EQ(read("GET / HTTP/1.1\r\nX: " + std::string(700, 'a') + "\r\n\r\n", 100000), "431");
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 11; ++i) many += "a" + std::to_string(i) + ": 1\r\n";
  EXPECT_EQ(read(many + "\r\n", 100000), "431");
}

TEST(ParserTest, ABodyIsNeverLongerThanItMayBe) {
  EXPECT_EQ(read("POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", 100000), "413");
  EXPECT_EQ(
      read("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n60\r\n" + std::string(96, 'a') + "\r\n60\r\n" + std::string(96, 'a'), 50),
      "413");
  EXPECT_EQ(read("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na", 100000, 0), "413");
}

TEST(ParserTest, AChunkHeadWithoutEndIsNotWaitedForForever) {
  EXPECT_EQ(read("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;" + std::string(40000, 'x'), 4096), "400");
}

}  // namespace
}  // namespace weir::http
