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
};

const char* const kServed[] = {
    "a.txt",       ".env.example", ".env.sample", ".env.template", "environment", "env", "keys",    "key.txt", "my.keys",
    "id_card.txt", "id",           "grid_rsa",    "npmrc",         "secrets",     "ssh", "tfstate", "crt",     "monkey",
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
  const DenyList list({"*.SECRET", "E\u0301cole.txt", ".env.example"}, "/home/u/weir");
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
