#include "readcache/deny_list.h"

#include <algorithm>

#include "base/paths.h"
#include "base/unicode.h"

namespace weir {
namespace {

constexpr std::string_view kNames[] = {
    ".env*",        "*.env",
    "*.pem*",       "*.key",
    "*.key.*",      "*.p12",
    "*.pfx",        "*.crt",
    "*.cer",        "*.der",
    "*.pk8",        "*.ppk",
    "*.jks",        "*.keystore",
    "*.kdbx",       "id_rsa*",
    "id_dsa*",      "id_ecdsa*",
    "id_ed25519*",  ".npmrc",
    ".netrc",       "_netrc",
    ".pypirc",      ".pgpass",
    ".my.cnf",      ".git-credentials",
    ".htpasswd",    ".dockercfg",
    "credentials*", "secrets.*",
    "kubeconfig*",  "*.tfstate*",
};
constexpr std::string_view kNamesWithoutDot[] = {"id_*"};
constexpr std::string_view kHarmless[] = {".env.example", ".env.sample", ".env.template"};
constexpr std::string_view kDirectories[] = {".ssh", ".gnupg", ".aws", ".kube", ".docker"};

// A * stands for anything. Goes back to the last * only, so the time is at most length times length.
bool matches(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0, star = std::string_view::npos, tried = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      tried = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++tried;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool matches_any(std::string_view name, const auto& patterns) {
  return std::any_of(std::begin(patterns), std::end(patterns), [&](std::string_view pattern) { return matches(name, pattern); });
}

std::string folded(std::string_view name) {
  name = name.substr(0, name.find_last_not_of(". ") + 1);
  return fold_name(name);
}

}  // namespace

DenyList::DenyList(const std::vector<std::string>& names, std::string store, std::vector<std::string> own)
    : store_(std::move(store)), own_(std::move(own)) {
  for (const std::string& name : names) names_.push_back(folded(name));
}

bool DenyList::denies(std::string_view path) const {
  if (!store_.empty() && path_below(path, store_)) return true;
  if (std::find(own_.begin(), own_.end(), path) != own_.end()) return true;
  for (std::size_t slash; (slash = path.find('/')) != std::string_view::npos; path.remove_prefix(slash + 1)) {
    if (matches_any(folded(path.substr(0, slash)), kDirectories)) return true;
  }
  const std::string name = folded(path);
  if (matches_any(name, names_)) return true;
  if (name.find('.') == std::string::npos && matches_any(name, kNamesWithoutDot)) return true;
  return matches_any(name, kNames) && !matches_any(name, kHarmless);
}

}  // namespace weir
