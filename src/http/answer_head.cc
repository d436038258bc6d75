#include "http/answer_head.h"

#include <fmt/format.h>

#include <chrono>

#include "http/problem.h"
#include "http/text.h"

namespace weir::http {
namespace {

// A value never ends its line.
void add(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) out += static_cast<unsigned char>(c) < ' ' || c == 0x7F ? ' ' : c;
  out += "\r\n";
}

}  // namespace

std::string http_date(TimeMs time) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::chrono::sys_seconds at(std::chrono::seconds(time.ms / 1000));
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(at - day);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[std::chrono::weekday(day).c_encoding()],
                     static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string answer_head(const AnswerHead& head, const api::Headers& headers, std::string_view date) {
  std::string out;
  out.reserve(320);
  out += "HTTP/1.1 ";
  out += std::to_string(head.status);
  out += ' ';
  out += reason_phrase(head.status);
  out += "\r\n";
  add(out, "Date", date);
  bool cache = false;
  for (const auto& [name, value] : headers) {
    cache = cache || same_name(name, "cache-control");
    add(out, name, value);
  }
  if (!cache) add(out, "Cache-Control", "no-store");
  add(out, "X-Content-Type-Options", "nosniff");
  const bool never_a_body = head.status == 204 || head.status == 304;
  if (head.chunked) {
    add(out, "Transfer-Encoding", "chunked");
  } else if (head.content_length && !never_a_body) {
    add(out, "Content-Length", std::to_string(*head.content_length));
  }
  if (head.close) add(out, "Connection", "close");
  out += "\r\n";
  return out;
}

}  // namespace weir::http
