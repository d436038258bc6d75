// What a person sees: colours, widths, and a bar for long work. All of it off where there is no terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::cli {

enum class Style { plain, bold, dim, red, green, yellow, blue, magenta, cyan };

class Painter {
 public:
  explicit Painter(bool enabled) : enabled_(enabled) {}
  bool enabled() const { return enabled_; }
  std::string operator()(Style style, std::string_view text) const;

 private:
  bool enabled_;
};

bool is_terminal(int fd);
int terminal_width(int fd);  // 80 if nobody knows

// At most `columns` wide, with an ellipsis where it was cut; escaped for a terminal.
std::string fitted(std::string_view text, std::size_t columns);

// JSON text with everything that could steer a terminal or hide from its reader written \u009b: the same value. What is
// not UTF-8 is written \xff.
std::string json_for_terminal(std::string_view text);

// 1234567 -> 1.2 MB
std::string human_bytes(std::uint64_t bytes);
std::string grouped(std::uint64_t number);  // 1,234,567

// `part` of `whole` as a bar of so many cells.
std::string share_bar(std::uint64_t part, std::uint64_t whole, std::size_t cells);

// A bar on standard error, redrawn at most ten times a second and cleared at the end; or JSON Lines; or nothing.
class Progress {
 public:
  enum class Mode { none, bar, json };
  Progress(Mode mode, std::string what, bool color);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // total 0: not known.
  void update(std::uint64_t done, std::uint64_t total, std::uint64_t bytes);

 private:
  void draw(std::uint64_t done, std::uint64_t total, std::uint64_t bytes, double seconds);
  // Takes what was drawn off the line; without control sequences where colours are off too.
  void clear();

  Mode mode_;
  std::string what_;
  bool color_;
  std::size_t drawn_width_ = 0;
  double started_, last_drawn_ = 0;
};

}  // namespace weir::cli
