#include "http/doors.h"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

Guests guests() { return {{"weir.example", "10.0.0.7:7717"}, {"https://app.example"}, sha256("full"), sha256("read")}; }

TEST(DoorsTest, ThisMachineAndNamedHostsAreServedWithAnyPort) {
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:7717", "[::1]", "[::1]:7717", "weir.example",
                           "Weir.Example:1", "10.0.0.7:7717"})
    EXPECT_TRUE(host_allowed(host, guests())) << host;
}

TEST(DoorsTest, OtherHostsAreNot) {
  for (const char* host :
       {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil", "localhost.", "127.0.0.1@evil", "localhost:80:80", "localhost:8x",
        "[::1", "::1", "127.0.0.2", "0.0.0.0", "10.0.0.7", "10.0.0.7:1", "localhost:999999", " localhost"})
    EXPECT_FALSE(host_allowed(host, guests())) << host;
}

TEST(DoorsTest, AnOriginIsOnAServedHostOrNamed) {
  for (const char* origin : {"http://localhost", "https://127.0.0.1:3000", "HTTP://[::1]:1", "https://app.example", "http://weir.example"})
    EXPECT_TRUE(origin_allowed(origin, guests())) << origin;
  for (const char* origin : {"null", "", "http://", "http://evil.example", "http://app.example", "https://app.example.evil",
                             "file://localhost", "localhost", "http://localhost/path", "http://localhost.evil.example"})
    EXPECT_FALSE(origin_allowed(origin, guests())) << origin;
}

TEST(DoorsTest, ATokenIsABearersAndExact) {
  EXPECT_EQ(right_of("Bearer full", guests()), Right::full);
  EXPECT_EQ(right_of("bearer  full ", guests()), Right::full);
  EXPECT_EQ(right_of("Bearer read", guests()), Right::read);
  for (const char* header :
       {"", "full", "Bearer", "Bearer ", "Bearer ful", "Bearer fulll", "Bearer FULL", "Basic full", "Bearer full read"})
    EXPECT_EQ(right_of(header, guests()), Right::none) << header;
  EXPECT_EQ(right_of("", {}), Right::full);  // none is asked for
}

TEST(DoorsTest, AMediaTypeMayOnlyNameUtf8) {
  for (const char* type : {"application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;charset=UTF-8",
                           "application/json; charset=\"utf-8\"", "application/json;"})
    EXPECT_TRUE(is_media_type(type, "application/json")) << type;
  for (const char* type : {"", "text/plain", "application/jsonx", "application/json; charset=latin1", "application/json, text/plain",
                           "application/json; boundary=x", "text/plain; application/json"})
    EXPECT_FALSE(is_media_type(type, "application/json")) << type;
}

TEST(DoorsTest, AcceptLetsThroughWhatItsClosestRangeSays) {
  for (const char* accept : {"", "*/*", "application/*", "application/json", "text/html, application/json;q=0.1", "text/html, */*;q=0.5",
                             "application/json, text/event-stream", "APPLICATION/JSON", "application/*;q=0, application/json",
                             "application/json;q=0, application/json;q=1"})
    EXPECT_TRUE(accepts(accept, "application/json")) << accept;
  for (const char* accept : {"text/html", "application/xml", "application/json;q=0", "*/*, application/json;q=0.000", "text/*", "*/*;q=0",
                             "application/*;q=0, */*"})
    EXPECT_FALSE(accepts(accept, "application/json")) << accept;
}

}  // namespace
}  // namespace weir::http
