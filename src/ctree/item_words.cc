#include "ctree/item_words.h"

#include "base/utf8.h"
#include "json/canonical.h"

namespace weir::ctree {
namespace {

constexpr std::size_t kShort = 64;

std::string as_json(std::string_view text) {
  std::string out;
  json::write_string(text, out);
  return out;
}

}  // namespace

ItemWords::ItemWords(const Words& words) {
  for (Word word = 0; word <= words.size(); ++word) {
    quoted_.push_back(as_json(words.text(word)));
    short_.push_back(as_json(utf8_prefix(words.text(word), kShort)));
  }
}

}  // namespace weir::ctree
