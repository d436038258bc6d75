#include "script.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weir::faults {
namespace {

constexpr std::uint64_t kSmallBytes = 200;
constexpr std::uint64_t kBodyBytes = 65536;  // a longer string becomes a blob
constexpr std::uint64_t kLargeBytes = 70000;

std::uint64_t mixed(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

// "17:rest" -> 17, with `text` left at "rest"; nothing if there is no number before the mark.
std::optional<std::uint64_t> number_before(std::string_view& text, std::string_view mark) {
  const std::size_t end = mark.empty() ? text.size() : text.find(mark);
  if (end == std::string_view::npos) return std::nullopt;
  const auto value = parse_number(text.substr(0, end));
  text.remove_prefix(std::min(text.size(), end + mark.size()));
  return value;
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  return value;
}

std::string filled(std::string_view name, std::uint64_t bytes) {
  std::string out(name);
  std::uint64_t state = 0;
  for (const char c : name) state = state * 131 + static_cast<unsigned char>(c);
  while (out.size() < bytes) {
    out += ' ';
    std::uint64_t letters = mixed(state);
    for (int i = 0; i < 7 && out.size() < bytes; ++i, letters >>= 8) out += static_cast<char>('a' + (letters & 0xFF) % 26);
  }
  if (out.back() == ' ') out.back() = '.';
  return out;
}

std::optional<AppendStep> AppendStep::parse(std::string_view token) {
  if (!token.starts_with("w")) return std::nullopt;
  token.remove_prefix(1);
  const auto writer = number_before(token, "t"), thread = number_before(token, "-"), n = number_before(token, ":"),
             bytes = number_before(token, "");
  if (!writer || !thread || !n || !bytes) return std::nullopt;
  return AppendStep{*writer, *thread, *n, *bytes};
}

std::string AppendStep::id() const { return fmt::format("w{}t{}-{}", writer, thread, n); }
std::string AppendStep::token() const { return fmt::format("{}:{}", id(), bytes); }
std::string AppendStep::content() const { return filled(token(), bytes); }

std::uint64_t append_bytes(std::uint64_t n, std::uint64_t most) { return most <= kBodyBytes || n % 4 == 0 ? most : kSmallBytes; }

std::string branch_id(std::uint64_t cycle, int which) { return fmt::format("b{}.{}", cycle, which); }
std::string branch_head(std::uint64_t cycle) { return fmt::format("f{}", cycle); }

std::string pi_header() {
  return R"({"cwd":"/project","id":"import","timestamp":"2026-01-02T03:04:05.000Z","type":"session","version":3})";
}

std::string pi_line(std::uint64_t n) {
  // Every seventh line goes back by two: a branch.
  const std::uint64_t parent = n % 7 == 0 ? n - 3 : n - 1;
  const std::string under = parent == 0 ? "null" : fmt::format("\"m{}\"", parent);
  const std::uint64_t size = n % 5 == 0 ? kLargeBytes : kSmallBytes;
  return fmt::format(
      R"({{"id":"m{}","message":{{"content":"{}","role":"user"}},"parentId":{},"timestamp":"2026-01-02T03:{:02}:{:02}.{:03}Z","type":"message"}})",
      n, filled(fmt::format("line {}", n), size), under, n / 60 % 60, n % 60, n % 1000);
}

std::string upkeep_session(std::uint64_t cycle) { return fmt::format("u{}", cycle); }

std::optional<std::uint64_t> upkeep_cycle(std::string_view session) {
  if (!session.starts_with("u")) return std::nullopt;
  return parse_number(session.substr(1));
}

std::string upkeep_small(std::uint64_t cycle) { return filled(fmt::format("marker of upkeep {}", cycle), kSmallBytes); }
std::string upkeep_blob(std::uint64_t cycle, char which) { return filled(fmt::format("blob {} of upkeep {}", which, cycle), kLargeBytes); }
std::string upkeep_shared() { return filled("blob of all upkeep", kLargeBytes); }

std::optional<CycleToken> CycleToken::parse(std::string_view token) {
  if (token.size() < 5 || token[1] != ':') return std::nullopt;
  CycleToken out{token[0]};
  token.remove_prefix(2);
  const auto cycle = number_before(token, "."), step = number_before(token, "");
  if (!cycle || !step) return std::nullopt;
  out.cycle = *cycle;
  out.step = *step;
  return out;
}

std::string CycleToken::text() const { return fmt::format("{}:{}.{}", kind, cycle, step); }

}  // namespace weir::faults
