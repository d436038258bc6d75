#include "readcache/held_text.h"

namespace weir {

LoadedVersion HeldText::version(const std::string& name) {
  const auto it = loaded_.find(name);
  if (it != loaded_.end()) return it->second;
  if (loaded_.size() >= most_versions_) return {};
  return loaded_.emplace(name, load_(name)).first->second;
}

const LineTable* HeldText::table(const std::string& name) {
  if (name == file_.version) return file_.text == nullptr ? nullptr : &file_.text->lines();
  const LoadedVersion loaded = version(name);
  return loaded.text == nullptr ? nullptr : &loaded.text->lines();
}

HeldText::Sameness HeldText::compare(LineRange lines) {
  if (!view_.covers(lines)) return {};
  Sameness out{.same = true, .all_current = true};
  for (const auto& held : view_.in(lines)) {
    if (held.value->version == file_.version) continue;
    out.all_current = false;
    const LineTable* const then = file_.text == nullptr ? nullptr : table(held.value->version);
    if (then == nullptr || then->count() < held.lines.last || then->text(held.lines) != file_.text->lines().text(held.lines)) {
      out.same = false;
      break;
    }
  }
  return out;
}

std::optional<std::string_view> HeldText::at(LineNo line) {
  if (near_.value == nullptr || !near_.lines.contains(line)) {
    const auto hit = view_.at(line);
    if (!hit) return std::nullopt;
    near_ = *hit;
    near_table_ = table(near_.value->version);
  }
  if (near_table_ == nullptr || line > near_table_->count()) return std::nullopt;
  return near_table_->text(line);
}

}  // namespace weir
