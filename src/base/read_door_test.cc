#include "base/read_door.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::must;
using testing::TempDir;

std::string content(const OpenedFile& opened) {
  char buffer[64];
  return std::string(buffer, must(opened.file->read(buffer, sizeof buffer)));
}

enum class Way { openat2, by_component };

// Root `r` with a.txt and d/b.txt, its sibling `rEvil`, and `out`, both with s.txt.
class ReadDoorTest : public ::testing::TestWithParam<Way> {
 protected:
  ReadDoorTest() {
    for (const char* folder : {"r", "r/d", "rEvil", "out"}) std::filesystem::create_directory(dir_ / folder);
    testing::write_file(dir_ / "r/a.txt", "INSIDE a");
    testing::write_file(dir_ / "r/d/b.txt", "INSIDE b");
    for (const char* secret : {"rEvil/s.txt", "out/s.txt"}) testing::write_file(dir_ / secret, "SECRET");
  }

  ReadDoor door(const std::vector<std::string>& roots, bool refuse_hard_links = false) {
    return must(ReadDoor::make(roots, {.refuse_hard_links = refuse_hard_links, .by_component = GetParam() == Way::by_component}));
  }
  ReadDoor door() { return door({dir_ / "r"}); }
  void link(const std::string& target, const std::string& name) { ASSERT_EQ(::symlink(target.c_str(), (dir_ / name).c_str()), 0); }

  // The content, or the code and message of the error with the temporary directory taken out.
  std::string ask(const ReadDoor& door, const std::string& path) {
    const auto opened = door.open(path);
    if (opened.ok()) return content(*opened);
    std::string text = std::string(info(opened.error().code()).name) + " " + opened.error().message();
    for (std::size_t at; (at = text.find(dir_.path())) != std::string::npos;) text.erase(at, dir_.path().size());
    return text;
  }
  std::string ask(const std::string& name) { return ask(door(), dir_ / name); }

  const TempDir dir_;
};

TEST_P(ReadDoorTest, WhatARootContainsIsToldByWholeNames) {
  const ReadDoor one = door();
  EXPECT_TRUE(one.contains(dir_ / "r"));
  EXPECT_TRUE(one.contains(dir_ / "r/none"));
  EXPECT_FALSE(one.contains(dir_ / "rEvil/s.txt"));
  EXPECT_FALSE(door({}).contains(dir_ / "r"));
}

TEST_P(ReadDoorTest, LinksAreFollowedAsFarAsThereIsAnything) {
  link("d/gone.txt", "r/dangling");
  link(dir_ / "r/d", "r/folder");
  link("loop", "r/loop");
  for (const auto& [path, place] : std::vector<std::pair<std::string, std::string>>{{"r/a.txt", "r/a.txt"},
                                                                                    {"r/dangling", "r/d/gone.txt"},
                                                                                    {"r/folder/b.txt", "r/d/b.txt"},
                                                                                    {"r/folder/gone/more", "r/d/gone/more"},
                                                                                    {"r/folder/../a.txt", "r/a.txt"},
                                                                                    {"r/none/../a.txt", "r/a.txt"},
                                                                                    {"r/loop", "r/loop"}})
    EXPECT_EQ(follow_links(dir_ / path), dir_ / place) << path;
  EXPECT_EQ(follow_links("/"), "/");
}

INSTANTIATE_TEST_SUITE_P(BothWays, ReadDoorTest, ::testing::Values(Way::openat2, Way::by_component),
                         [](const auto& test) { return test.param == Way::openat2 ? "Openat2" : "ByComponent"; });

TEST_P(ReadDoorTest, EverySpellingOfAFileHasOneCanonicalPath) {
  link("a.txt", "r/relative");
  link(dir_ / "r/a.txt", "r/absolute");
  link("../a.txt", "r/d/up");
  link("d", "r/folder");
  link(dir_ / "r/d", "r/absolute_folder");
  link("relative", "r/chain");
  const std::string names[] = {"a.txt",    "./a.txt", "/a.txt",    "d/../a.txt",         "d/.././/a.txt", "relative",
                               "absolute", "d/up",    "folder/up", "absolute_folder/up", "chain",         "folder/../a.txt"};
  for (const std::string& name : names) {
    const auto opened = door().open(dir_ / "r/" + name);
    ASSERT_TRUE(opened.ok()) << name << ": " << opened.error().message();
    EXPECT_EQ(opened->path, dir_ / "r/a.txt") << name;
    EXPECT_EQ(content(*opened), "INSIDE a") << name;
    EXPECT_FALSE(opened->deleted);
    EXPECT_EQ(opened->stat.size, 8u);
  }
}

TEST_P(ReadDoorTest, WhatLeadsOutIsOutsideAndNotToldApartFromWhatIsMissing) {
  link("../out/s.txt", "r/link");
  link(dir_ / "out/s.txt", "r/absolute");
  link(dir_ / "out", "r/folder");
  link("../out/missing", "r/dangling");
  link(dir_ / "out/missing", "r/absolute_dangling");
  link("/proc/self/root", "r/magic");
  for (const char* name : {"r/../out/s.txt", "r/d/../../out/s.txt", "r/link", "r/absolute", "r/folder/s.txt", "r/dangling",
                           "r/absolute_dangling", "rEvil/s.txt", "out/s.txt", "out/missing", "r/..", ""}) {
    EXPECT_EQ(ask(name), std::string("OUTSIDE_ROOTS '/") + name + "' is outside the allowed roots") << name;
  }
  EXPECT_EQ(code(door().open(dir_ / "r/magic/etc/passwd")), "OUTSIDE_ROOTS");
  EXPECT_EQ(code(door().open("/etc/passwd")), "OUTSIDE_ROOTS");
  EXPECT_EQ(code(door().open("a.txt")), "OUTSIDE_ROOTS");
  EXPECT_EQ(code(door().open("")), "OUTSIDE_ROOTS");
}

TEST_P(ReadDoorTest, ErrorsSpeakAsPiDoes) {
  link("loop", "r/loop");
  EXPECT_EQ(ask("r/missing"), "NOT_FOUND ENOENT: no such file or directory, access '/r/missing'");
  EXPECT_EQ(ask("r/a.txt/x"), "NOT_FOUND ENOTDIR: not a directory, access '/r/a.txt/x'");
  EXPECT_EQ(ask("r/a.txt/"), "NOT_FOUND ENOTDIR: not a directory, access '/r/a.txt/'");
  EXPECT_EQ(ask("r/a.txt/.."), "NOT_FOUND ENOTDIR: not a directory, access '/r/a.txt/..'");
  EXPECT_EQ(ask("r/loop"), "NOT_FOUND ELOOP: too many symbolic links encountered, access '/r/loop'");
  for (const char* directory : {"r", "r/", "r/d", "r/d/", "r/d/.."})
    EXPECT_EQ(ask(directory), "IS_DIRECTORY EISDIR: illegal operation on a directory, read") << directory;
  EXPECT_EQ(code(door().open(dir_ / "r/" + std::string(300, 'x'))), "NOT_FOUND");
  std::string deep = dir_ / "r/";
  for (int i = 0; i < 3000; ++i) deep += "d/../";
  EXPECT_EQ(code(door().open(deep + "a.txt")), "NOT_FOUND");
  EXPECT_EQ(code(door().open(dir_ / "r/a.txt" + std::string("\0.png", 5))), "INVALID_FIELD");
}

TEST_P(ReadDoorTest, WhatTheUserMayNotReadIsAccessDenied) {
  ASSERT_EQ(::chmod((dir_ / "r/a.txt").c_str(), 0), 0);
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  const ReadDoor opened = door();
  const bool root = ::geteuid() == 0;  // who may read everything
  const bool nobody = root && ::seteuid(65534) == 0;
  const std::string said = ask(opened, dir_ / "r/a.txt");
  ASSERT_TRUE(!nobody || ::seteuid(0) == 0);
  EXPECT_EQ(said, "ACCESS_DENIED EACCES: permission denied, access '/r/a.txt'");
}

TEST_P(ReadDoorTest, FifoSocketAndDeviceAreRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((dir_ / "r/fifo").c_str(), 0600), 0);
  link("/dev/zero", "r/zero");
  const Fd bound(::socket(AF_UNIX, SOCK_STREAM, 0));
  struct sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  (dir_ / "r/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(bound.get(), reinterpret_cast<struct sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(ask("r/fifo"), "NOT_REGULAR '/r/fifo' is no regular file but a FIFO");
  EXPECT_EQ(ask("r/socket"), "NOT_REGULAR '/r/socket' is no regular file but a socket or a device");
  EXPECT_EQ(ask("r/zero"), "OUTSIDE_ROOTS '/r/zero' is outside the allowed roots");
  EXPECT_EQ(ask(door({"/"}), "/dev/zero"), "NOT_REGULAR '/dev/zero' is no regular file but a device");
}

TEST_P(ReadDoorTest, WithoutRootsEverythingIsRefused) {
  EXPECT_EQ(code(door(std::vector<std::string>{}).open(dir_ / "r/a.txt")), "OUTSIDE_ROOTS");
  EXPECT_EQ(code(door(std::vector<std::string>{}).open("/")), "OUTSIDE_ROOTS");
}

TEST_P(ReadDoorTest, TheRootDirectoryIsARootIfSaid) {
  link(dir_ / "out/s.txt", "r/link");
  EXPECT_EQ(ask(door({"/"}), dir_ / "r/a.txt"), "INSIDE a");
  EXPECT_EQ(ask(door({"/"}), dir_ / "r/link"), "SECRET");
  EXPECT_EQ(ask(door({"/"}), "/"), "IS_DIRECTORY EISDIR: illegal operation on a directory, read");
}

TEST_P(ReadDoorTest, ARootReachedByALinkHasTwoSpellings) {
  link("r", "spelled");
  const ReadDoor opened = door({dir_ / "spelled/"});
  for (const char* name : {"spelled/d/b.txt", "r/d/b.txt"}) {
    EXPECT_EQ(ask(opened, dir_ / name), "INSIDE b");
    EXPECT_EQ(must(opened.open(dir_ / name)).path, dir_ / "r/d/b.txt");
  }
  EXPECT_EQ(ask(opened, dir_ / "spelled/missing"), "NOT_FOUND ENOENT: no such file or directory, access '/spelled/missing'");
}

TEST_P(ReadDoorTest, ARelativeRootIsMadeAbsolute) {
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(dir_ / "r");
  const ReadDoor opened = door({"d"});
  std::filesystem::current_path(before);
  EXPECT_EQ(ask(opened, dir_ / "r/d/b.txt"), "INSIDE b");
  EXPECT_EQ(code(opened.open(dir_ / "r/a.txt")), "OUTSIDE_ROOTS");
}

TEST_P(ReadDoorTest, LinksAndDotsMayLeadFromOneRootToAnother) {
  link("../out/s.txt", "r/link");
  link(dir_ / "out", "r/folder");
  const ReadDoor opened = door({dir_ / "r", dir_ / "out"});
  for (const char* name : {"r/link", "r/folder/s.txt", "r/../out/s.txt"}) {
    EXPECT_EQ(ask(opened, dir_ / name), "SECRET") << name;
    EXPECT_EQ(must(opened.open(dir_ / name)).path, dir_ / "out/s.txt") << name;
  }
  EXPECT_EQ(code(opened.open(dir_ / "rEvil/../out/s.txt")), "OUTSIDE_ROOTS");
}

TEST_P(ReadDoorTest, ARootStaysWhatItWasWhenItsNameGoesToAnother) {
  const ReadDoor opened = door();
  std::filesystem::rename(dir_ / "r", dir_ / "moved");
  std::filesystem::rename(dir_ / "out", dir_ / "r");
  EXPECT_EQ(ask(opened, dir_ / "r/a.txt"), "INSIDE a");
  EXPECT_EQ(code(opened.open(dir_ / "r/s.txt")), "NOT_FOUND");
}

TEST_P(ReadDoorTest, AMissingRootIsAnError) {
  EXPECT_EQ(code(ReadDoor::make({dir_ / "missing"})), "NOT_FOUND");
  EXPECT_EQ(code(ReadDoor::make({dir_ / "r/a.txt"})), "NOT_FOUND");
}

TEST_P(ReadDoorTest, ASecondNameIsRefusedWhereThatIsAsked) {
  std::filesystem::create_hard_link(dir_ / "out/s.txt", dir_ / "r/hard");
  EXPECT_EQ(ask("r/hard"), "SECRET");
  EXPECT_EQ(must(door().open(dir_ / "r/hard")).stat.links, 2u);
  EXPECT_EQ(ask(door({dir_ / "r"}, true), dir_ / "r/hard"), "HARD_LINK '/r/hard' has 2 names, 1 is allowed");
  EXPECT_EQ(ask(door({dir_ / "r"}, true), dir_ / "r/a.txt"), "INSIDE a");
}

TEST_P(ReadDoorTest, AFileThatLostItsNameSaysSoAndKeepsTheNameItHad) {
  testing::write_file(dir_ / "r/x.key (deleted)", "key");  // the same text, on purpose: in doubt uncached
  const OpenedFile opened = must(door().open(dir_ / "r/x.key (deleted)"));
  EXPECT_TRUE(opened.deleted);
  EXPECT_EQ(opened.path, dir_ / "r/x.key");
}

// A directory, and a file, exchanged with a link to the outside all the time.
TEST_P(ReadDoorTest, AnExchangedLinkNeverLetsAReadOut) {
  const std::string read = dir_ / "r/d/s.txt";
  testing::write_file(read, "INSIDE s");
  const ReadDoor opened = door();
  for (const auto& [swapped, target] :
       {std::pair("r/d", std::string("../out")), std::pair("r/d", dir_ / "out"), std::pair("r/d/s.txt", std::string("../../out/s.txt")),
        std::pair("r/d/s.txt", dir_ / "out/s.txt")}) {
    const std::string one = dir_ / swapped, two = dir_ / "r/link";
    link(target, "r/link");
    std::atomic<bool> stop = false;
    std::thread swapper([&] {
      const auto swap = [&] { ::syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, two.c_str(), RENAME_EXCHANGE); };
      while (!stop) swap(), swap();
    });
    int inside = 0, refused = 0, escaped = 0;
    for (int i = 0; i < 1500; ++i) {
      const auto file = opened.open(read);
      ++(!file.ok() ? refused : content(*file) == "INSIDE s" ? inside : escaped);
    }
    stop = true;
    swapper.join();
    EXPECT_EQ(escaped, 0) << target;
    EXPECT_GT(inside, 0) << target;
    std::filesystem::remove(two);
  }
}

}  // namespace
}  // namespace weir
