#include "http/problem.h"

#include <gtest/gtest.h>

#include "json/decode.h"

namespace weir::http {
namespace {

TEST(ProblemTest, HasEveryMember) {
  const Problem problem = Error(ErrorCode::NOT_FOUND, "no session 'x'").with("session", "x");
  EXPECT_EQ(problem_json(problem, "/v1/sessions/x"),
            R"({"code":"NOT_FOUND","detail":"no session 'x'","details":{"session":"x"},"instance":"/v1/sessions/x","status":404,)"
            R"("title":"no such session, head, entry, blob, snapshot or file","type":"urn:weir:error:NOT_FOUND"})");
  EXPECT_EQ(problem_headers(problem), (api::Headers{{"Content-Type", "application/problem+json"}}));
}

TEST(ProblemTest, EveryCodeHasAStatusWithAPhrase) {
  for (const ErrorCodeInfo& code : kErrorCodes) {
    const Problem problem = Error(code.code, "x");
    EXPECT_EQ(problem.status, code.http);
    EXPECT_NE(reason_phrase(problem.status), "Unknown") << code.name;
  }
  EXPECT_EQ(reason_phrase(299), "Unknown");
}

TEST(ProblemTest, WhereWaitingHelpsItSaysSo) {
  for (const ErrorCode code : {ErrorCode::BUSY, ErrorCode::TIMEOUT})
    EXPECT_EQ(problem_headers(Problem(Error(code, "x"))).back(), std::pair(std::string("Retry-After"), std::string("1")));
}

TEST(ProblemTest, NoSecretComesBack) {
  json::FieldErrors errors;
  errors.add(json::pointer("", "postgres://bob:Yc6TJz7JuRPC@db/x"), "is not known here");
  const std::string text =
      problem_json(Problem(errors.result().error()), "/v1/sessions/see%20npm_vfrlS4CAQIZpznROcy75lyrv9jxkow40N459%20%22");
  EXPECT_EQ(text.find("Yc6TJz7JuRPC"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("instance":"/v1/sessions/see%20***REDACTED***%20\"")"), std::string::npos) << text;
}

}  // namespace
}  // namespace weir::http
