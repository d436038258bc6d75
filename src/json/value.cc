#include "json/value.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weir::json {
namespace {

constexpr std::size_t kChunkBytes = 16 * 1024, kLargestChunkBytes = 4 << 20;

}  // namespace

Arena& Arena::operator=(Arena&& other) noexcept {
  chunks_ = std::exchange(other.chunks_, {});
  first_chunk_bytes_ = other.first_chunk_bytes_;
  free_ = std::exchange(other.free_, nullptr);
  end_ = std::exchange(other.end_, nullptr);
  return *this;
}

void* Arena::allocate(std::size_t bytes) {
  bytes = (bytes + 7) & ~std::size_t{7};
  if (static_cast<std::size_t>(end_ - free_) < bytes) {
    const std::size_t size = std::max(bytes, chunks_.size() < 8 ? kChunkBytes << chunks_.size() : kLargestChunkBytes);
    chunks_.push_back(std::unique_ptr<char[]>(new char[size]));
    if (chunks_.size() == 1) first_chunk_bytes_ = size;
    free_ = chunks_.back().get();
    end_ = free_ + size;
  }
  void* out = free_;
  free_ += bytes;
  return out;
}

std::string_view Arena::copy(std::string_view text) {
  if (text.empty()) return {};
  char* out = make<char>(text.size());
  std::memcpy(out, text.data(), text.size());
  return {out, text.size()};
}

void Arena::reset() {
  if (chunks_.empty()) return;
  chunks_.resize(1);
  free_ = chunks_[0].get();
  end_ = free_ + first_chunk_bytes_;
}

Value Value::array(std::span<const Value> items) { return Value(Kind::array, items.data(), items.size()); }
Value Value::object(std::span<const Member> sorted) { return Value(Kind::object, sorted.data(), sorted.size()); }

std::span<const Value> Value::items() const {
  if (kind_ != Kind::array) return {};
  return {static_cast<const Value*>(pointer_), static_cast<std::size_t>(size_)};
}

std::span<const Member> Value::members() const {
  if (kind_ != Kind::object) return {};
  return {static_cast<const Member*>(pointer_), static_cast<std::size_t>(size_)};
}

const Value* Value::find(std::string_view key) const {
  for (const Member& member : members()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

std::string_view Value::text_or(std::string_view key, std::string_view other) const {
  const Value* value = find(key);
  return value != nullptr && value->is_string() ? value->text() : other;
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) {
    const auto number = [](const Value& v) { return v.kind() == Kind::integer ? static_cast<double>(v.integer()) : v.real(); };
    const auto plain = [](const Value& v) { return v.kind() == Kind::integer || v.kind() == Kind::real; };
    return plain(a) && plain(b) && number(a) == number(b);
  }
  switch (a.kind()) {
    case Kind::null:
      return true;
    case Kind::boolean:
    case Kind::integer:
      return a.integer() == b.integer();
    case Kind::real:
      return a.real() == b.real();
    case Kind::big_integer:
    case Kind::string:
    case Kind::raw:
      // Values made from one another share their text; comparing it byte by byte is then a waste.
      return a.text().size() == b.text().size() && (a.text().data() == b.text().data() || a.text() == b.text());
    case Kind::array: {
      const auto x = a.items(), y = b.items();
      return x.size() == y.size() && (x.data() == y.data() || std::equal(x.begin(), x.end(), y.begin()));
    }
    case Kind::object: {
      const auto x = a.members(), y = b.members();
      return x.size() == y.size() &&
             (x.data() == y.data() || std::equal(x.begin(), x.end(), y.begin(),
                                                 [](const Member& m, const Member& n) { return m.key == n.key && m.value == n.value; }));
    }
  }
  return false;
}

int compare_keys(std::string_view a, std::string_view b) {
  const std::size_t common = std::min(a.size(), b.size());
  std::size_t i = 0;
  while (i < common && a[i] == b[i]) ++i;
  if (i == common) return a.size() < b.size() ? -1 : a.size() > b.size();
  const auto x = static_cast<unsigned char>(a[i]), y = static_cast<unsigned char>(b[i]);
  // The first differing byte decides as in UTF-8, but for one pair of classes: a lead byte of an astral character
  // (a high surrogate, 0xD800.., in UTF-16) sorts below the leads 0xEE and 0xEF of U+E000..U+FFFF.
  const bool x_astral = x >= 0xF0, y_astral = y >= 0xF0;
  if (x_astral != y_astral) {
    if (x_astral && y >= 0xEE) return -1;
    if (y_astral && x >= 0xEE) return 1;
  }
  return x < y ? -1 : 1;
}

Value ObjectBuilder::build() {
  std::stable_sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) { return compare_keys(a.key, b.key) < 0; });
  const auto end = std::unique(members_.begin(), members_.end(), [](const Member& a, const Member& b) { return a.key == b.key; });
  const auto count = static_cast<std::size_t>(end - members_.begin());
  Member* out = arena_.make<Member>(count);
  std::copy(members_.begin(), end, out);
  return Value::object({out, count});
}

Value make_object(Arena& arena, std::initializer_list<Member> members) {
  ObjectBuilder builder(arena);
  for (const Member& member : members) builder.add(member.key, member.value);
  return builder.build();
}

Value make_array(Arena& arena, std::span<const Value> items) {
  Value* out = arena.make<Value>(items.size());
  std::copy(items.begin(), items.end(), out);
  return Value::array({out, items.size()});
}

}  // namespace weir::json
