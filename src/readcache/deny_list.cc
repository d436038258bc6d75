#include "readcache/deny_list.h"

#include <algorithm>

#include "base/paths.h"
#include "base/unicode.h"

namespace weir {
namespace {

// clang-format off
constexpr std::string_view kNames[] = {
    ".env*", "*.env", "*.pem*", "*.key", "*.key.*", "*.p12", "*.pfx", "*.crt", "*.cer", "*.der", "*.pk8", "*.ppk", "*.jks", "*.keystore",
    "*.kdbx", "*.keychain", "*.keychain-db", "*.ovpn", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "kubeconfig*", "*.tfstate*",
    "credentials*", ".credentials*", "*_credentials.json", "client_secret*.json", "service-account*.json", "oauth_creds.json", "secrets.*",
    "service_account*.json", "serviceaccount*.json", "*firebase-adminsdk*.json", "ssh_host_*_key", ".secrets", ".secrets.toml", ".secrets.yaml",
    ".secrets.yml", ".secrets.json", "secret.yaml", "secret.yml", "secret.json", "secret.toml", "vault.yml", "vault.yaml",
    ".npmrc", ".netrc*", "_netrc", ".authinfo*", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".git-credentials", ".htpasswd", ".dockercfg",
    ".vault-token*", ".vault_pass*", ".s3cfg", ".boto", ".terraformrc", "terraform.rc", ".databrickscfg", ".rclone.conf", ".msmtprc",
    "wp-config.php", "wallet.dat", "kaggle.json", ".claude.json", ".*_history", ".sentryclirc", ".renviron", ".lesshst", ".viminfo",
    ".wgetrc", ".curlrc", ".ansible_vault_pass*", "*.keytab", "rclone.conf", "*.tfvars", "*.tfvars.json", "fish_history",
    ".erlang.cookie", ".passwd-s3fs", ".xauthority", ".smbcredentials", ".yarnrc.yml", ".saml2aws", "jfrog-cli.conf*", ".zhistory", ".histfile",
    "logins.json", "key3.db", "key4.db", "cookies.sqlite*",
};
// Names that say nothing by themselves, with the directories they stand in; a slash at the end means everything below.
constexpr std::string_view kPlaces[] = {
    "gh/hosts.yml", ".config/hub", "glab-cli/config.yml", ".config/gcloud/", "doctl/config.yaml", "ngrok/ngrok.yml", ".ngrok2/ngrok.yml",
    ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", "nuget/nuget.config", ".nuget/nuget.config",
    ".composer/auth.json", "composer/auth.json", "containers/auth.json", ".codex/auth.json", "opencode/auth.json", "com.vercel.cli/auth.json",
    "huggingface/token", ".huggingface/token", ".snowflake/connections.toml", ".snowsql/config", ".fly/config.yml", ".cf/config.json",
    "sops/age/keys.txt", "share/keyrings/", "etc/shadow", "etc/gshadow",
    "github-copilot/apps.json", "github-copilot/hosts.json", "stripe/config.toml", "hcloud/cli.toml", ".netlify/config.json", "netlify/config.json",
    ".bundle/config", "pip/pip.conf", ".pip/pip.conf", ".dbt/profiles.yml", "solana/id.json", ".ethereum/keystore/", ".electrum/wallets/",
    ".mozilla/", "google-chrome/", ".config/chromium/", ".pi/agent/auth.json", ".config/configstore/", ".circleci/cli.yml", ".mc/config.json",
    "helm/registry/config.json", ".config/linode-cli", ".subversion/auth/", "pypoetry/auth.toml", ".ansible/vault_pass",
    "age/keys.txt", ".vercel/auth.json", ".config/op/config", ".op/config", ".supabase/access-token", ".config/tea/config.yml",
    ".config/fly/config.yml",
};
// clang-format on
constexpr std::string_view kNamesWithoutDot[] = {"id_*"};
constexpr std::string_view kHarmless[] = {".env.example", ".env.sample", ".env.template"};
constexpr std::string_view kDirectories[] = {".ssh", ".gnupg", ".aws", ".kube", ".docker", ".azure", ".oci", ".password-store"};

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

// What editors and people put behind the name of a copy.
constexpr std::string_view kCopies[] = {"~", ".bak", ".old", ".orig", ".save", ".swp"};
std::string_view without_copy(std::string_view name) {
  for (const std::string_view end : kCopies) {
    if (name.size() > end.size() && name.ends_with(end)) return name.substr(0, name.size() - end.size());
  }
  return name;
}

// Of a path whose names are folded, as "/a/b/c".
bool in_place(std::string_view path, std::string_view place) {
  if (place.back() != '/') return path.size() > place.size() && path.ends_with(place) && path[path.size() - place.size() - 1] == '/';
  return path.find("/" + std::string(place)) != std::string_view::npos;
}

}  // namespace

DenyList::DenyList(const std::vector<std::string>& names, std::string store, std::vector<std::string> own)
    : store_(std::move(store)), own_(std::move(own)) {
  for (const std::string& name : names) names_.push_back(folded(name));
}

bool DenyList::denies(std::string_view path) const {
  if (!store_.empty() && path_below(path, store_)) return true;
  if (std::find(own_.begin(), own_.end(), path) != own_.end()) return true;
  std::string whole;
  for (std::size_t slash; (slash = path.find('/')) != std::string_view::npos; path.remove_prefix(slash + 1)) {
    const std::string directory = folded(path.substr(0, slash));
    if (matches_any(directory, kDirectories)) return true;
    if (!directory.empty()) whole += "/" + directory;
  }
  const std::string name = folded(path);
  return denies(whole, name) || denies(whole, without_copy(name));
}

bool DenyList::denies(const std::string& directory, std::string_view name) const {
  const std::string path = directory + "/" + std::string(name);
  if (std::any_of(std::begin(kPlaces), std::end(kPlaces), [&](std::string_view place) { return in_place(path, place); })) return true;
  if (matches_any(name, names_)) return true;
  if (name.find('.') == std::string_view::npos && matches_any(name, kNamesWithoutDot)) return true;
  return matches_any(name, kNames) && !matches_any(name, kHarmless);
}

}  // namespace weir
