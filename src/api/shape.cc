#include "api/shape.h"

#include <cctype>
#include <vector>

#include "base/check.h"
#include "json/canonical.h"

namespace weir::api {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::string whole() {
    std::string out = shape();
    skip();
    WEIR_CHECK(rest_.empty());
    return out;
  }

 private:
  // Alternatives: plain types and words are gathered, whatever else there is stands beside them.
  std::string shape() {
    std::vector<std::string> types, words, others;
    do {
      skip();
      WEIR_CHECK(!rest_.empty());
      if (rest_[0] == '{') {
        others.push_back(object());
      } else if (rest_[0] == '[') {
        others.push_back(list());
      } else if (rest_[0] == '"') {
        words.push_back(quoted());
      } else {
        types.push_back(name());
      }
    } while (take('|'));
    if (!types.empty() && types[0] == "any") return "true";
    if (!types.empty()) others.insert(others.begin(), "{\"type\":" + one_or_list(types, true) + "}");
    if (!words.empty()) others.insert(others.begin(), "{\"enum\":" + one_or_list(words, false, true) + ",\"type\":\"string\"}");
    return others.size() == 1 ? others[0] : "{\"anyOf\":" + one_or_list(others, false, true) + "}";
  }

  std::string object() {
    take('{');
    std::vector<std::string> properties, required;
    std::string others = "false";
    while (!take('}')) {
      skip();
      if (rest_.starts_with("...")) {
        rest_.remove_prefix(3);
        others = "true";
      } else if (take('*')) {
        need(':');
        others = shape();
      } else {
        std::string key;
        json::write_string(name(), key);
        if (!take('?')) required.push_back(key);
        need(':');
        properties.push_back(key + ":" + shape());
      }
      take(',');
    }
    std::string out = "{\"type\":\"object\"";
    if (!properties.empty()) out += ",\"properties\":{" + joined(properties) + "}";
    if (!required.empty()) out += ",\"required\":[" + joined(required) + "]";
    return out + ",\"additionalProperties\":" + others + "}";
  }

  std::string list() {
    take('[');
    const std::string items = shape();
    need(']');
    return "{\"type\":\"array\",\"items\":" + items + "}";
  }

  std::string quoted() {
    const std::size_t end = rest_.find('"', 1);
    WEIR_CHECK(end != std::string_view::npos);
    const std::string out(rest_.substr(0, end + 1));
    rest_.remove_prefix(end + 1);
    return out;
  }

  std::string name() {
    skip();
    std::size_t size = 0;
    while (size < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[size])) != 0 || rest_[size] == '_' || rest_[size] == '$'))
      ++size;
    WEIR_CHECK(size > 0);
    const std::string out(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return out;
  }

  static std::string joined(const std::vector<std::string>& items) {
    std::string out;
    for (const std::string& item : items) out += (out.empty() ? "" : ",") + item;
    return out;
  }
  static std::string one_or_list(const std::vector<std::string>& items, bool quote, bool always_list = false) {
    std::vector<std::string> written;
    for (const std::string& item : items) written.push_back(quote ? "\"" + item + "\"" : item);
    return written.size() == 1 && !always_list ? written[0] : "[" + joined(written) + "]";
  }

  void skip() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    const bool there = take(c);
    WEIR_CHECK(there);
  }

  std::string_view rest_;
};

}  // namespace

std::string schema_of(std::string_view shape) { return Reader(shape).whole(); }

}  // namespace weir::api
