#include "ctree/breadboard_read.h"

#include <charconv>
#include <limits>

#include "base/limits.h"
#include "base/utf8.h"

namespace weir::breadboard {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Would this number, which no double holds, be infinite? Otherwise it is too close to zero. Decided by the place of its
// first digit that is not zero, which is far from the limits of int in any text worth reading.
bool overflows(std::string_view token) {
  const std::size_t e = token.find_first_of("eE");
  const std::string_view mantissa = token.substr(0, e);
  std::int64_t exponent = 0;
  if (e != std::string_view::npos) {
    const std::string_view digits = token.substr(e + (token[e + 1] == '+' ? 2 : 1));
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (read.ec != std::errc()) return digits[0] != '-';
  }
  const std::size_t first = mantissa.find_first_of("123456789"), point = std::min(mantissa.find('.'), mantissa.size());
  const std::int64_t place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return exponent > -place;
}

double read_double(std::string_view token) {
  double number = 0;
  if (std::from_chars(token.data(), token.data() + token.size(), number).ec != std::errc::result_out_of_range) return number;
  const double size = overflows(token) ? std::numeric_limits<double>::infinity() : 0.0;
  return token[0] == '-' ? -size : size;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Value> document() {
    TRY(Value value, parse_value(0));
    skip_space();
    if (at_ != text_.size()) return fail("something follows the value");
    return value;
  }

 private:
  Error fail(std::string_view what) const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) {
      column = text_[i] == '\n' ? 1 : column + 1;
      if (text_[i] == '\n') ++line;
    }
    const bool one_line = text_.find('\n') == std::string_view::npos;  // perhaps of a file, whose lines are others
    const std::string place = one_line ? "" : "line " + std::to_string(line) + " ";
    return Error(ErrorCode::INVALID_JSON, std::string(what) + ", at " + place + "column " + std::to_string(column))
        .with("line", static_cast<std::int64_t>(line))
        .with("column", static_cast<std::int64_t>(column));
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void skip_space() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }

  Result<Value> parse_value(std::size_t depth) {
    skip_space();
    const char c = peek();
    if (c == '{' || c == '[') {
      if (depth == limits::kBreadboardDepth) return fail("nested deeper than " + std::to_string(limits::kBreadboardDepth) + " levels");
      ++at_;
      return c == '{' ? object(depth) : array(depth);
    }
    if (c == '"') {
      TRY(std::string text, string());
      return Value(std::move(text));
    }
    if (take_word("null")) return Value();
    if (take_word("true")) return Value(true);
    if (take_word("false")) return Value(false);
    if (take_word("NaN")) return Value(std::numeric_limits<double>::quiet_NaN());
    if (take_word("Infinity")) return Value(std::numeric_limits<double>::infinity());
    if (take_word("-Infinity")) return Value(-std::numeric_limits<double>::infinity());
    return number();
  }

  Result<Value> array(std::size_t depth) {
    std::vector<Value> items;
    skip_space();
    if (take(']')) return Value::array({});
    for (;;) {
      TRY(Value item, parse_value(depth + 1));
      items.push_back(std::move(item));
      skip_space();
      if (take(']')) return Value::array(std::move(items));
      if (!take(',')) return fail("a comma or ] is missing");
    }
  }

  Result<Value> object(std::size_t depth) {
    std::vector<Member> members;
    skip_space();
    if (take('}')) return Value::object({});
    for (;;) {
      skip_space();
      if (peek() != '"') return fail("a key in quotes is missing");
      TRY(std::string key, string());
      skip_space();
      if (!take(':')) return fail("a colon is missing after the key");
      TRY(Value value, parse_value(depth + 1));
      members.push_back({std::move(key), std::move(value)});
      skip_space();
      if (take('}')) return Value::object(std::move(members));
      if (!take(',')) return fail("a comma or } is missing");
    }
  }

  Result<std::string> string() {
    ++at_;
    std::string out;
    for (;;) {
      const std::size_t start = at_;
      while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
      out.append(text_.substr(start, at_ - start));
      if (at_ == text_.size()) return fail("a string does not end");
      if (take('"')) return out;
      if (text_[at_] == '\\') {
        TRY_DO(escape(out));
        continue;
      }
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return fail("a control character stands bare in a string");
      std::size_t next = at_;
      if (!decode_utf8(text_, next)) return fail("the text is not UTF-8");
      out.append(text_.substr(at_, next - at_));
      at_ = next;
    }
  }

  static bool is_plain(char c) { return static_cast<signed char>(c) >= 0x20 && c != '"' && c != '\\'; }

  Result<void> escape(std::string& out) {
    static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
    ++at_;
    if (take('u')) return unicode_escape(out);
    const std::size_t letter = at_ < text_.size() ? kLetters.find(text_[at_]) : std::string_view::npos;
    if (letter == std::string_view::npos) return fail("no escape is written like this");
    out += kMeaning[letter];
    ++at_;
    return {};
  }

  Result<void> unicode_escape(std::string& out) {
    TRY(char32_t c, hex4());
    // A low half right behind a high one makes one character of both; any other half stays what it is.
    if (c >= 0xD800 && c < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      const std::size_t second = at_;
      at_ += 2;
      TRY(const char32_t low, hex4());
      if (low >= 0xDC00 && low < 0xE000) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
      } else {
        at_ = second;
      }
    }
    append_utf8(out, c);
    return {};
  }

  Result<char32_t> hex4() {
    std::uint32_t c = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), c, 16);
    if (digits.size() < 4 || digits[0] == '-' || read.ptr != digits.data() + 4) return fail("four hex digits are missing after \\u");
    at_ += 4;
    return static_cast<char32_t>(c);
  }

  void skip_digits() {
    while (is_digit(peek())) ++at_;
  }

  // A fraction or exponent without a digit is no part of the number, so something follows the value.
  bool take_fraction() {
    const std::size_t next = at_ + 1;
    if (peek() != '.' || next >= text_.size() || !is_digit(text_[next])) return false;
    ++at_;
    skip_digits();
    return true;
  }
  bool take_exponent() {
    std::size_t next = at_ + 1;
    if (peek() != 'e' && peek() != 'E') return false;
    if (next < text_.size() && (text_[next] == '+' || text_[next] == '-')) ++next;
    if (next >= text_.size() || !is_digit(text_[next])) return false;
    at_ = next;
    skip_digits();
    return true;
  }

  Result<Value> number() {
    const std::size_t start = at_;
    take('-');
    const std::size_t first_digit = at_;
    if (!is_digit(peek())) return fail("no value begins like this");
    if (!take('0')) skip_digits();
    const std::size_t digits = at_ - first_digit;
    const bool fraction = take_fraction(), exponent = take_exponent();
    const std::string_view token = text_.substr(start, at_ - start);
    if (fraction || exponent) return Value(read_double(token));
    if (digits > limits::kBreadboardIntegerDigits) {
      return fail("an integer has " + std::to_string(digits) + " digits, the limit is " + std::to_string(limits::kBreadboardIntegerDigits));
    }
    return Value::integer(token == "-0" ? "0" : std::string(token));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Value> read_json(std::string_view text) { return Reader(text).document(); }

}  // namespace weir::breadboard
