#include "http/problem.h"

#include "base/hex.h"
#include "base/utf8.h"
#include "http/text.h"
#include "json/canonical.h"
#include "service/render.h"

namespace weir::http {
namespace {

struct Phrase {
  int status;
  std::string_view text;
};
constexpr Phrase kPhrases[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

// What stands in a path escaped is looked at as it was meant; the path stays as it is unless that held a secret.
std::string masked_path(std::string_view path) {
  const std::string meant = as_utf8(percent_decoded(path, false).value_or(std::string(path)));
  const std::string masked = masked_text(meant);
  if (masked == meant) return std::string(path);
  std::string out;
  for (const char c : masked) out += c > ' ' && c < 0x7F && c != '%' ? std::string(1, c) : "%" + encode_hex(std::string_view(&c, 1));
  return out;
}

bool waiting_helps(const Error& error) { return error.code() == ErrorCode::BUSY || error.code() == ErrorCode::TIMEOUT; }

}  // namespace

std::string_view reason_phrase(int status) {
  for (const Phrase& phrase : kPhrases)
    if (phrase.status == status) return phrase.text;
  return "Unknown";
}

std::string problem_json(const Problem& problem, std::string_view instance) {
  json::Arena arena;
  const json::Value error = error_json(problem.error, arena);
  const ErrorCodeInfo& code = info(problem.error.code());
  const std::string type = "urn:weir:error:" + std::string(code.name), where = masked_path(instance);
  json::ObjectBuilder out(arena);
  out.add("type", type).add("title", code.meaning).add("status", problem.status).add("instance", where);
  out.add_if("detail", error.find("message")).add_if("code", error.find("code")).add_if("details", error.find("details"));
  return json::canonical(out.build());
}

api::Headers problem_headers(const Problem& problem) {
  api::Headers out = problem.headers;
  out.emplace_back("Content-Type", "application/problem+json");
  if (waiting_helps(problem.error)) out.emplace_back("Retry-After", "1");
  return out;
}

}  // namespace weir::http
