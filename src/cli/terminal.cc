#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "base/utf8.h"

namespace weir::cli {
namespace {

double now_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr std::string_view kCodes[] = {"", "1", "2", "31", "32", "33", "34", "35", "36"};

}  // namespace

std::string Painter::operator()(Style style, std::string_view text) const {
  if (!enabled_ || style == Style::plain || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<int>(style)], text);
}

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

int terminal_width(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string fitted(std::string_view text, std::size_t columns) {
  const std::string clean = printable(text);
  if (display_width(clean) <= columns) return clean;
  std::string out;
  std::size_t width = 0;
  for (std::size_t at = 0; at < clean.size();) {
    const std::size_t start = at;
    decode_utf8(clean, at);
    const std::string_view piece = std::string_view(clean).substr(start, at - start);
    if (width + display_width(piece) + 1 > columns) break;
    width += display_width(piece);
    out += piece;
  }
  return out + "…";
}

std::string json_for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const auto c = decode_utf8(text, at);
    if (!c) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[start]));
    } else if (!is_control(*c) && !is_invisible(*c)) {
      out.append(text.substr(start, at - start));
    } else if (*c < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(*c));
    } else {
      const unsigned beyond = static_cast<unsigned>(*c) - 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (beyond >> 10), 0xDC00 + (beyond & 0x3FF));
    }
  }
  return out;
}

std::string human_bytes(std::uint64_t bytes) {
  static constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string share_bar(std::uint64_t part, std::uint64_t whole, std::size_t cells) {
  const std::size_t full = whole == 0 ? 0 : static_cast<std::size_t>((part * cells + whole / 2) / whole);
  std::string out;
  for (std::size_t i = 0; i < cells; ++i) out += i < full ? "█" : "·";
  return out;
}

Progress::Progress(Mode mode, std::string what, bool color) : mode_(mode), what_(std::move(what)), color_(color), started_(now_seconds()) {}

Progress::~Progress() {
  clear();
  std::fflush(stderr);
}

void Progress::clear() {
  if (drawn_width_ == 0) return;
  std::fputs((color_ ? "\r\x1b[K" : "\r" + std::string(drawn_width_, ' ') + "\r").c_str(), stderr);
  drawn_width_ = 0;
}

void Progress::update(std::uint64_t done, std::uint64_t total, std::uint64_t bytes) {
  if (mode_ == Mode::none) return;
  const double now = now_seconds();
  if (now - last_drawn_ < 0.1) return;
  last_drawn_ = now;
  draw(done, total, bytes, now - started_);
}

void Progress::draw(std::uint64_t done, std::uint64_t total, std::uint64_t bytes, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  // Seconds, as far as anybody can tell.
  const bool known = total > 0 && done > 0;
  const double left = known ? seconds * static_cast<double>(total - std::min(done, total)) / static_cast<double>(done) : 0;
  if (mode_ == Mode::json) {
    const std::string remaining = known ? fmt::format("{:.0f}", left) : "null";
    const std::string line =
        fmt::format("{{\"bytes\":{},\"done\":{},\"rate\":{:.0f},\"remaining\":{},\"total\":{},\"type\":\"progress\",\"what\":\"{}\"}}\n",
                    bytes, done, rate, remaining, total, what_);
    std::fputs(line.c_str(), stderr);
    return;
  }
  std::string bar;
  if (total > 0) {
    constexpr int kCells = 24;
    const int full = static_cast<int>(kCells * std::min(1.0, static_cast<double>(done) / static_cast<double>(total)));
    for (int i = 0; i < kCells; ++i) bar += i < full ? "█" : "░";
    bar = fmt::format(" {} {:3.0f} %  {} left", bar, 100.0 * static_cast<double>(done) / static_cast<double>(total),
                      fmt::format("{:.0f} s", left));
  }
  const std::string text = fmt::format("{}{}  {}  {}/s", what_, bar, human_bytes(bytes), human_bytes(static_cast<std::uint64_t>(rate)));
  const std::string shown = fitted(text, static_cast<std::size_t>(terminal_width(STDERR_FILENO)) - 1);
  clear();
  drawn_width_ = display_width(shown);
  std::fputs(Painter(color_)(Style::cyan, shown).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace weir::cli
