#include "readcache/deny_list.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/read_door.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::must;

const char* const kDenied[] = {
    ".env",
    ".env.local",
    ".envrc",
    ".environment",
    "prod.env",
    "server.pem",
    "server.pem.bak",
    "x.key",
    "x.key.old",
    "x.p12",
    "x.pfx",
    "x.crt",
    "x.cer",
    "x.der",
    "x.pk8",
    "x.ppk",
    "x.jks",
    "x.keystore",
    "x.kdbx",
    "id_work",
    "id_rsa",
    "id_rsa.pub",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ed25519.bak",
    ".npmrc",
    ".netrc",
    "_netrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    "credentials",
    "credentials.json",
    "secrets.yaml",
    "kubeconfig",
    "kubeconfig-prod",
    "terraform.tfstate",
    "terraform.tfstate.backup",
    ".vault-token",
    ".vault_pass.txt",
    ".s3cfg",
    ".boto",
    ".terraformrc",
    ".erlang.cookie",
    ".Xauthority",
    "fish_history",
    "terraform.rc",
    ".netrc.gpg",
    ".authinfo",
    ".authinfo.gpg",
    ".mylogin.cnf",
    ".credentials.json",
    "application_default_credentials.json",
    "client_secret_7.json",
    "service-account-prod.json",
    "oauth_creds.json",
    ".databrickscfg",
    ".rclone.conf",
    ".msmtprc",
    "wp-config.php",
    "wallet.dat",
    "kaggle.json",
    ".claude.json",
    ".bash_history",
    ".psql_history",
    "login.keychain-db",
    "office.ovpn",
    ".sentryclirc",
    ".Renviron",
    ".lesshst",
    ".viminfo",
    ".wgetrc",
    ".curlrc",
    ".ansible_vault_pass",
    "krb5.keytab",
    "prod.tfvars",
    ".vault-token.bak",
    ".netrc~",
    "server.key.old",
    "rclone.conf",
    "service_account.json",
    "service_account-prod.json",
    "service-account.json",
    "serviceAccount.json",
    "serviceAccountKey.json",
    "firebase-adminsdk-a1b2.json",
    "shop-firebase-adminsdk-a1b2-3c4d.json",
    "ssh_host_ed25519_key",
    "ssh_host_rsa_key.bak",
    ".secrets",
    ".secrets.toml",
    "secret.yaml",
    "secret.yml",
    "secret.json",
    "secret.toml",
    "vault.yml",
    "vault.yaml",
    ".smbcredentials",
    ".yarnrc.yml",
    ".saml2aws",
    "jfrog-cli.conf",
    "jfrog-cli.conf.v6",
    ".zhistory",
    ".histfile",
    "logins.json",
    "key4.db",
    "cookies.sqlite",
    "cookies.sqlite-wal",
};

// Denied where they stand, served elsewhere.
const char* const kPlaced[] = {
    ".config/gh/hosts.yml",
    ".config/hub",
    ".config/glab-cli/config.yml",
    ".config/gcloud/access_tokens.db",
    ".config/gcloud/legacy/x/adc.json",
    ".config/doctl/config.yaml",
    ".config/ngrok/ngrok.yml",
    ".ngrok2/ngrok.yml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".config/NuGet/NuGet.Config",
    ".nuget/NuGet.Config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/containers/auth.json",
    ".codex/auth.json",
    ".local/share/opencode/auth.json",
    ".local/share/com.vercel.cli/auth.json",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".snowflake/connections.toml",
    ".snowsql/config",
    ".fly/config.yml",
    ".cf/config.json",
    ".config/sops/age/keys.txt",
    ".local/share/keyrings/login",
    "etc/shadow",
    ".azure/msal_token_cache.json",
    ".oci/config",
    ".password-store/mail.gpg",
    ".terraform.d/credentials.tfrc.json",
    ".claude/.credentials.json",
    ".gemini/oauth_creds.json",
    ".gem/credentials",
    ".cargo/credentials.toml",
    ".config/github-copilot/apps.json",
    ".config/github-copilot/hosts.json",
    ".config/stripe/config.toml",
    ".config/hcloud/cli.toml",
    ".netlify/config.json",
    ".bundle/config",
    ".config/pip/pip.conf",
    ".dbt/profiles.yml",
    ".config/solana/id.json",
    ".config/gh/hosts.yml.bak",
    ".pi/agent/auth.json",
    ".config/configstore/firebase-tools.json",
    ".circleci/cli.yml",
    ".config/helm/registry/config.json",
    ".ethereum/keystore/UTC--a",
    ".electrum/wallets/default_wallet",
    ".mozilla/firefox/x.default/logins.json",
    ".config/google-chrome/Default/Login Data",
    ".config/op/config",
    ".supabase/access-token",
    ".config/tea/config.yml",
    ".jfrog/jfrog-cli.conf.v5",
    ".config/fly/config.yml",
};

const char* const kServed[] = {
    "a.txt",
    ".env.example",
    ".env.sample",
    ".env.template",
    "environment",
    "env",
    "keys",
    "key.txt",
    "my.keys",
    "id_card.txt",
    "id",
    "grid_rsa",
    "npmrc",
    "secrets",
    "ssh",
    "tfstate",
    "crt",
    "monkey",
    "auth.json",
    "hosts.yml",
    "settings.xml",
    "config.yml",
    "token",
    "hub",
    "shadow",
    "history",
    "keys.txt",
    "gradle.properties",
    "NuGet.Config",
    "yarnrc.yml",
    ".gitconfig",
    "wp-config-sample.php",
    "HISTORY",
    "history.md",
    "secret.md",
    "vault.go",
    "accounts.json",
    "ssh_host_rsa_key.pub",
    ".secrets.baseline",
    "access-token",
    "cookies.js",
};

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

TEST(DenyListTest, EveryNameIsDeniedPlainInOtherCaseAndWithDotsAndSpacesBehind) {
  const DenyList list({}, "");
  for (const std::string name : kDenied) {
    EXPECT_TRUE(list.denies("/r/" + name)) << name;
    EXPECT_TRUE(list.denies("/r/" + upper(name))) << name;
    EXPECT_TRUE(list.denies("/r/" + name + ". .")) << name;
  }
}

TEST(DenyListTest, NamesThatOnlyLookAlikeAreServed) {
  const DenyList list({}, "");
  for (const std::string name : kServed) EXPECT_FALSE(list.denies("/r/" + name)) << name;
  EXPECT_FALSE(list.denies("/r/credentials/a.txt"));
  EXPECT_FALSE(list.denies("/r/..."));
}

TEST(DenyListTest, NamesThatSayNothingAreDeniedInTheirPlaceOnly) {
  const DenyList list({}, "");
  for (const std::string path : kPlaced) {
    EXPECT_TRUE(list.denies("/h/" + path)) << path;
    EXPECT_TRUE(list.denies("/h/" + upper(path))) << path;
    EXPECT_TRUE(list.denies("/h//" + path + ". ")) << path;
  }
  for (const char* path :
       {"/r/high/hosts.yml", "/r/gh/hosts.yml/a", "/r/gh/x/hosts.yml", "/r/locales/en/auth.json", "/r/xcomposer/auth.json",
        "/r/config/gcloud.md", "/r/.config/gcloud", "/r/docs/m2/settings.xml", "/r/.git/config", "/r/share/keyrings"})
    EXPECT_FALSE(list.denies(path)) << path;
}

TEST(DenyListTest, WhatLooksLikeALetterCountsAsIt) {
  const DenyList list({}, "");
  EXPECT_TRUE(list.denies("/r/x.\u212aey"));
  EXPECT_TRUE(list.denies("/r/\u017fecrets.txt"));
  EXPECT_TRUE(list.denies("/r/\xff.PEM"));
}

TEST(DenyListTest, EverythingBelowADeniedDirectoryIsDenied) {
  const DenyList list({}, "");
  for (const char* path : {"/h/.ssh/config", "/h/.SSH/config", "/h/.gnupg/a/b", "/h/.aws/config", "/h/.kube/cache/x",
                           "/h/.docker/config.json", "/h/.ssh./.env.example"}) {
    EXPECT_TRUE(list.denies(path)) << path;
  }
  EXPECT_FALSE(list.denies("/h/.ssh"));
  EXPECT_FALSE(list.denies("/h/.sshd/config"));
}

TEST(DenyListTest, TheStoreAndNamesOfTheConfigurationAreAdded) {
  const DenyList list({"*.SECRET", "E\u0301cole.txt", ".env.example", "*.bak"}, "/home/u/weir");
  EXPECT_TRUE(list.denies("/r/a.bak"));
  EXPECT_TRUE(list.denies("/r/plan.secret"));
  EXPECT_TRUE(list.denies("/r/\u00e9COLE.txt"));
  EXPECT_TRUE(list.denies("/r/.env.example"));
  EXPECT_TRUE(list.denies("/home/u/weir/log.db"));
  EXPECT_FALSE(list.denies("/home/u/weird/log.db"));
  EXPECT_FALSE(list.denies("/r/a.txt"));
}

TEST(DenyListTest, OtherFilesOfItsOwnAreOnItByTheirPath) {
  const DenyList list({}, "", {"/home/u/state/token"});
  EXPECT_TRUE(list.denies("/home/u/state/token"));
  EXPECT_FALSE(list.denies("/home/u/state/token.h"));
  EXPECT_FALSE(list.denies("/home/u/token"));
}

TEST(DenyListTest, LinksDoNotWalkAroundIt) {
  const testing::TempDir dir;
  std::filesystem::create_directory(dir / "d");
  std::filesystem::create_directory_symlink("d", dir / "folder");
  const DenyList list({}, "");
  const ReadDoor door = must(ReadDoor::make({dir.path()}));
  for (const std::string name : kDenied) {
    testing::write_file(dir / ("d/" + name), "x");
    std::filesystem::create_symlink("d/" + name, dir / "innocent");
    for (const std::string& way : {std::string("innocent"), "folder/" + name, "d/../folder/" + name}) {
      EXPECT_TRUE(list.denies(must(door.open(dir / way)).path)) << way << " to " << name;
    }
    std::filesystem::remove(dir / "innocent");
  }
}

}  // namespace
}  // namespace weir
