#include <charconv>
#include <cmath>

#include "base/limits.h"
#include "base/utf8.h"
#include "json/parse.h"
#include "json/sort_members.h"

namespace weir::json {
namespace {

constexpr std::int64_t kMaxSafe = (std::int64_t{1} << 53) - 1;

class ExactParser {
 public:
  ExactParser(std::string_view text, Arena& arena, Parser::Options options) : text_(text), arena_(arena), options_(options) {}

  Result<Value> document() {
    if (text_.starts_with("\xEF\xBB\xBF")) return fail("a byte order mark stands before the value");
    TRY(const Value value, parse_value(0));
    skip_space();
    if (at_ != text_.size()) return fail("something follows the value");
    return value;
  }

  bool repaired() const { return repaired_; }

 private:
  Error fail(std::string_view what) const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) {
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      } else {
        ++column;
      }
    }
    const std::string place = options_.one_line ? "" : "line " + std::to_string(line) + " ";
    return Error(ErrorCode::INVALID_JSON, std::string(what) + ", at " + place + "column " + std::to_string(column))
        .with("line", static_cast<std::int64_t>(line))
        .with("column", static_cast<std::int64_t>(column));
  }

  bool more() const { return at_ < text_.size(); }
  char peek() const { return more() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (!more() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (more() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++at_;
  }

  Result<Value> parse_value(std::size_t depth) {
    skip_space();
    if (!more()) return fail("the text ends where a value should be");
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"': {
        TRY(const std::string_view text, string());
        return Value(text);
      }
      case 't':
        return word("true", Value(true));
      case 'f':
        return word("false", Value(false));
      case 'n':
        return word("null", Value());
      default:
        return number();
    }
  }

  Result<Value> word(std::string_view expected, Value value) {
    if (text_.substr(at_, expected.size()) != expected) return fail("no JSON value begins like this");
    at_ += expected.size();
    return value;
  }

  Result<Value> array(std::size_t depth) {
    if (depth == options_.depth) return fail(too_deep(options_.depth).message());
    ++at_;
    std::vector<Value> items;
    skip_space();
    if (take(']')) return make_array(arena_, items);
    for (;;) {
      TRY(const Value item, parse_value(depth + 1));
      items.push_back(item);
      skip_space();
      if (take(']')) return make_array(arena_, items);
      if (!take(',')) return fail("a comma or ] is missing");
    }
  }

  Result<Value> object(std::size_t depth) {
    if (depth == options_.depth) return fail(too_deep(options_.depth).message());
    ++at_;
    std::vector<Member> members;
    skip_space();
    if (!take('}')) {
      for (;;) {
        skip_space();
        if (peek() != '"') return fail("a key in quotes is missing");
        TRY(const std::string_view key, string());
        skip_space();
        if (!take(':')) return fail("a colon is missing after the key");
        TRY(const Value value, parse_value(depth + 1));
        members.push_back({key, value});
        skip_space();
        if (take('}')) break;
        if (!take(',')) return fail("a comma or } is missing");
      }
    }
    Member* out = arena_.make<Member>(members.size());
    std::copy(members.begin(), members.end(), out);
    if (const auto sorted = sort_members({out, members.size()}); !sorted.ok()) return fail(sorted.error().message());
    return Value::object({out, members.size()});
  }

  Result<std::string_view> string() {
    ++at_;
    std::string out;
    for (;;) {
      if (!more()) return fail("a string does not end");
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return arena_.copy(out);
      }
      if (c == '\\') {
        TRY_DO(escape(out));
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control character stands bare in a string");
      const std::size_t start = at_;
      std::size_t next = at_;
      if (!decode_utf8(text_, next)) return fail("the text is not UTF-8");
      at_ = next;
      out.append(text_.substr(start, next - start));
    }
  }

  Result<void> escape(std::string& out) {
    ++at_;
    static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = more() ? kLetters.find(peek()) : std::string_view::npos; i != std::string_view::npos) {
      out += kMeaning[i];
      ++at_;
      return {};
    }
    if (!take('u')) return fail("an escape JSON does not know");
    TRY(char32_t c, hex4());
    if (c >= 0xD800 && c <= 0xDBFF && text_.substr(at_, 2) == "\\u") {
      const std::size_t before = at_;
      at_ += 2;
      TRY(const char32_t low, hex4());
      if (low >= 0xDC00 && low <= 0xDFFF) {
        append_utf8(out, 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00));
        return {};
      }
      at_ = before;
    }
    if (c >= 0xD800 && c <= 0xDFFF) {
      if (!options_.repair_surrogates) return fail("a surrogate stands alone");
      repaired_ = true;
      c = 0xFFFD;
    }
    append_utf8(out, c);
    return {};
  }

  Result<char32_t> hex4() {
    std::uint32_t c = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), c, 16);
    if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4) return fail("\\u needs four hex digits");
    at_ += 4;
    return c;
  }

  Result<Value> number() {
    const std::size_t start = at_;
    take('-');
    const std::size_t first = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    const std::size_t whole = at_ - first;
    if (whole == 0) return fail("no JSON value begins like this");
    if (whole > 1 && text_[first] == '0') return fail("a number begins with 0");
    bool integer = true;
    if (take('.')) {
      integer = false;
      if (!digits()) return fail("digits are missing after the point");
    }
    if (take('e') || take('E')) {
      integer = false;
      if (!take('+')) take('-');
      if (!digits()) return fail("digits are missing in the exponent");
    }
    const std::string_view token = text_.substr(start, at_ - start);
    if (integer) {
      std::int64_t i = 0;
      const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), i);
      if (error == std::errc() && i >= -kMaxSafe && i <= kMaxSafe) return Value(i);
      if (whole > limits::kBigIntegerDigits) return over_limit("digits of an integer", limits::kBigIntegerDigits, whole);
      return Value::big_integer(arena_.copy(token));
    }
    double d = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), d);
    if (error == std::errc::result_out_of_range && underflows(token)) return Value(0.0);
    if (error != std::errc() || !std::isfinite(d)) return fail("no double holds this number");
    return Value(d);
  }

  bool digits() {
    const std::size_t start = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > start;
  }

  // from_chars says "out of range" both ways; a number too small for a double is 0, as in every JSON reader. Which way
  // it is the power of ten of the first digit says.
  static bool underflows(std::string_view token) {
    const std::size_t e = std::min(token.find_first_of("eE"), token.size());
    const std::string_view mantissa = token.substr(0, e);
    const std::size_t first = mantissa.find_first_of("123456789");
    if (first == std::string_view::npos) return true;
    const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
    std::int64_t power = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
    if (e == token.size()) return power < 0;
    const bool negative = token[e + 1] == '-';
    const std::string_view digits = token.substr(e + (negative || token[e + 1] == '+' ? 2 : 1));
    std::int32_t exponent = 0;  // one that does not fit outweighs any mantissa
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc()) return negative;
    power += negative ? -exponent : exponent;
    return power < 0;
  }

  std::string_view text_;
  Arena& arena_;
  Parser::Options options_;
  std::size_t at_ = 0;
  bool repaired_ = false;
};

}  // namespace

Result<Value> parse_exact(std::string_view text, Arena& arena, Parser::Options options, bool& repaired) {
  ExactParser parser(text, arena, options);
  auto value = parser.document();
  repaired = parser.repaired();
  return value;
}

}  // namespace weir::json
