#include "json/parse.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "json/sort_members.h"

namespace weir::json {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t kMaxSafe = (std::int64_t{1} << 53) - 1;

// simdjson's tree into ours. Strings stay in simdjson's buffer, which lives as long as the arena's content.
class Converter {
 public:
  Converter(Arena& arena, std::size_t deepest) : arena_(arena), deepest_(deepest) {}

  Result<Value> convert(dom::element element, std::size_t depth) {
    switch (element.type()) {
      case dom::element_type::NULL_VALUE:
        return Value();
      case dom::element_type::BOOL:
        return Value(bool(element));
      case dom::element_type::STRING:
        return Value(std::string_view(element));
      case dom::element_type::DOUBLE:
        return Value(double(element));
      case dom::element_type::INT64: {
        const std::int64_t i = element;
        return i >= -kMaxSafe && i <= kMaxSafe ? Value(i) : digits(std::to_string(i));
      }
      case dom::element_type::UINT64:
        return digits(std::to_string(std::uint64_t(element)));
      case dom::element_type::ARRAY:
        return array(element, depth);
      case dom::element_type::OBJECT:
        return object(element, depth);
    }
    return Error(ErrorCode::INVALID_JSON, "unknown JSON value");
  }

 private:
  Value digits(const std::string& text) { return Value::big_integer(arena_.copy(text)); }

  Result<Value> array(dom::array from, std::size_t depth) {
    if (depth == deepest_) return too_deep(deepest_);
    const std::size_t count = size_of(from);
    Value* items = arena_.make<Value>(count);
    std::size_t i = 0;
    for (const dom::element element : from) {
      TRY(items[i++], convert(element, depth + 1));
    }
    return Value::array({items, count});
  }

  Result<Value> object(dom::object from, std::size_t depth) {
    if (depth == deepest_) return too_deep(deepest_);
    const std::size_t count = size_of(from);
    Member* members = arena_.make<Member>(count);
    std::size_t i = 0;
    for (const dom::key_value_pair pair : from) {
      members[i].key = pair.key;
      TRY(members[i].value, convert(pair.value, depth + 1));
      ++i;
    }
    TRY_DO(sort_members({members, count}));
    return Value::object({members, count});
  }

  // simdjson stores at most 24 bits of a count.
  template <typename Container>
  static std::size_t size_of(Container from) {
    const std::size_t stored = from.size();
    return stored < 0xFFFFFF ? stored : static_cast<std::size_t>(std::distance(from.begin(), from.end()));
  }

  Arena& arena_;
  const std::size_t deepest_;
};

}  // namespace

struct Parser::Fast {
  dom::parser parser;
  // simdjson reads up to this many bytes past the end.
  const char* padded(std::string_view text) {
    if (buffer.size() < text.size() + simdjson::SIMDJSON_PADDING)
      buffer.resize(text.size() + text.size() / 2 + simdjson::SIMDJSON_PADDING + 1024);
    std::copy(text.begin(), text.end(), buffer.begin());
    return buffer.data();
  }
  std::vector<char> buffer;
};

Parser::Parser() : fast_(std::make_unique<Fast>()) {}
Parser::~Parser() = default;
Parser::Parser(Parser&&) noexcept = default;
Parser& Parser::operator=(Parser&&) noexcept = default;

Result<Value> Parser::parse(std::string_view text, Options options) {
  arena_.reset();
  repaired_ = false;
  dom::element root;
  const auto error = fast_->parser.parse(fast_->padded(text), text.size(), false).get(root);
  if (error == simdjson::SUCCESS) {
    auto value = Converter(arena_, options.depth).convert(root, 0);
    if (value.ok()) return value;
    arena_.reset();
  }
  if (error == simdjson::MEMALLOC) {
    // Its buffers may be there in part, and must not be used again.
    *fast_ = Fast();
    throw std::bad_alloc();
  }
  // Refused: by the exact parser too, with the place and the reason, or one of the few documents only it can read.
  return parse_exact(text, arena_, options, repaired_);
}

namespace {

Value copied(const Value& value, Arena& arena) {
  switch (value.kind()) {
    case Kind::string:
      return Value(arena.copy(value.text()));
    case Kind::big_integer:
      return Value::big_integer(arena.copy(value.text()));
    case Kind::array: {
      const auto from = value.items();
      Value* items = arena.make<Value>(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) items[i] = copied(from[i], arena);
      return Value::array({items, from.size()});
    }
    case Kind::object: {
      const auto from = value.members();
      Member* members = arena.make<Member>(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) members[i] = {arena.copy(from[i].key), copied(from[i].value, arena)};
      return Value::object({members, from.size()});
    }
    default:
      return value;
  }
}

}  // namespace

Result<Value> parse_stored(std::string_view text, Arena& arena) {
  Parser parser;
  TRY(const Value value, parser.parse_stored(text));
  return copied(value, arena);
}

}  // namespace weir::json
