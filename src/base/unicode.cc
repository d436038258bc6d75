#include "base/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <optional>

namespace weir {
namespace {

struct Free {
  void operator()(utf8proc_uint8_t* bytes) const { std::free(bytes); }
};

std::optional<std::string> mapped(std::string_view text, int options) {
  utf8proc_uint8_t* bytes = nullptr;
  const auto* from = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const auto size = utf8proc_map(from, static_cast<utf8proc_ssize_t>(text.size()), &bytes, static_cast<utf8proc_option_t>(options));
  if (size < 0) return std::nullopt;
  const std::unique_ptr<utf8proc_uint8_t, Free> owned(bytes);
  return std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

std::string to_nfd(std::string_view text) {
  auto nfd = mapped(text, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
  return nfd ? *std::move(nfd) : std::string(text);
}

std::string fold_name(std::string_view text) {
  auto folded = mapped(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
  return folded ? *std::move(folded) : ascii_lower(text);
}

}  // namespace weir
