#include "json/layout.h"

#include <algorithm>

#include "json/canonical.h"

namespace weir::json {
namespace {

class Writer {
 public:
  Writer(bool indented, std::string& out) : indented_(indented), out_(out) {}

  void write(const Value& value, std::span<const Layout> layout, std::size_t depth) {
    if (value.is_array()) {
      write_array(value, layout, depth);
    } else if (value.is_object()) {
      write_object(value, layout, depth);
    } else {
      write_canonical(value, out_);
    }
  }

 private:
  void write_array(const Value& value, std::span<const Layout> layout, std::size_t depth) {
    out_ += '[';
    bool first = true;
    for (const Value& item : value.items()) {
      begin_item(first, depth + 1);
      write(item, layout, depth + 1);
    }
    if (!first) new_line(depth);
    out_ += ']';
  }

  void write_object(const Value& value, std::span<const Layout> layout, std::size_t depth) {
    out_ += '{';
    bool first = true;
    std::span<const Layout> of_others;
    for (const Layout& row : layout) {
      if (row.key == "*") {
        of_others = row.members;
      } else if (const Value* member = value.find(row.key)) {
        write_member({row.key, *member}, row.members, first, depth + 1);
      }
    }
    for (const Member& member : value.members()) {
      if (!names(layout, member.key)) write_member(member, of_others, first, depth + 1);
    }
    if (!first) new_line(depth);
    out_ += '}';
  }

  void write_member(const Member& member, std::span<const Layout> layout, bool& first, std::size_t depth) {
    begin_item(first, depth);
    write_string(member.key, out_);
    out_ += indented_ ? ": " : ":";
    write(member.value, layout, depth);
  }

  void begin_item(bool& first, std::size_t depth) {
    if (!first) out_ += ',';
    first = false;
    new_line(depth);
  }

  void new_line(std::size_t depth) {
    if (indented_) out_.append(1, '\n').append(2 * depth, ' ');
  }

  // A member may really be called `*`; it then is one of the others.
  static bool names(std::span<const Layout> layout, std::string_view key) {
    return key != "*" && std::any_of(layout.begin(), layout.end(), [&](const Layout& row) { return row.key == key; });
  }

  const bool indented_;
  std::string& out_;
};

}  // namespace

std::string write_document(const Value& value, std::span<const Layout> layout) {
  std::string out;
  Writer(true, out).write(value, layout, 0);
  out += '\n';
  return out;
}

std::string write_line(const Value& value, std::span<const Layout> layout) {
  std::string out;
  Writer(false, out).write(value, layout, 0);
  return out;
}

}  // namespace weir::json
