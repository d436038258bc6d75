#include "readcache/file_content.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>

#include "base/read_door.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::must;

// A file that exists only as a function that fills a buffer from an offset, and so can change between any two reads.
class SimulatedFile : public ReadableFile {
 public:
  using Fill = std::function<std::size_t(std::uint64_t offset, std::span<char> room)>;
  explicit SimulatedFile(Fill fill) : fill_(std::move(fill)) {}
  explicit SimulatedFile(std::string text)
      : fill_([text](std::uint64_t at, std::span<char> room) { return at < text.size() ? text.copy(room.data(), room.size(), at) : 0; }) {}

  Result<std::size_t> read(char* buffer, std::size_t size) override {
    const std::size_t n = fill_(offset_, {buffer, size});
    offset_ += n;
    return n;
  }
  Result<void> seek(std::uint64_t offset) override {
    offset_ = offset;
    return {};
  }
  Result<FileStat> stat() override { return FileStat{}; }

 private:
  Fill fill_;
  std::uint64_t offset_ = 0;
};

std::size_t fill(std::span<char> room, std::size_t most, char c) {
  const std::size_t n = std::min(room.size(), most);
  std::memset(room.data(), c, n);
  return n;
}

FileContent read(const std::string& text, const LineRequest& request = {}, const ContentLimits& limits = {}) {
  SimulatedFile file(text);
  return must(read_content(file, text.size(), request, limits));
}
TextContent read_text(const std::string& text, const LineRequest& request = {}, const ContentLimits& limits = {}) {
  return std::get<TextContent>(read(text, request, limits));
}

TEST(FileContentTest, TheExampleOfTheContract) {
  const TextContent content = read_text("alpha\nbeta\ngamma\n");
  EXPECT_EQ(content.version.hex(), "4fdbc441ea7b546100e086ac1e4fc5ae6749b7314311c99db05be450eca12996");
  EXPECT_EQ(content.bytes, 17u);
  EXPECT_EQ(content.selection.total_lines, 4u);
  EXPECT_EQ(content.text, "alpha\nbeta\ngamma\n");
}

TEST(FileContentTest, AnEmptyFileIsOneEmptyLine) {
  const TextContent content = read_text("");
  EXPECT_EQ(content.version, sha256(""));
  EXPECT_EQ(content.selection.total_lines, 1u);
  EXPECT_EQ(content.text, "");
}

TEST(FileContentTest, BomAndNulAreText) {
  const std::string text(
      "\xef\xbb\xbf"
      "one\0two\r\n",
      12);
  const TextContent content = read_text(text, {1, 1});
  EXPECT_EQ(content.selection.head, text.substr(0, 11));
  EXPECT_EQ(content.version, sha256(text));
}

TEST(FileContentTest, ImagesAndInvalidUtf8AreNotText) {
  const auto mime = [](const std::string& bytes) { return std::get<NotText>(read(bytes)); };
  const NotText png = mime(std::string("\x89PNG\r\n\x1a\n", 8) + std::string(61, '\0'));
  EXPECT_EQ(png.mime, "image/png");
  EXPECT_EQ(png.bytes, 69u);
  EXPECT_EQ(mime("abc\xff").mime, "application/octet-stream");
  EXPECT_EQ(mime("cut \xe2\x82").mime, "application/octet-stream");
  EXPECT_EQ(mime(std::string(300000, 'x') + "\xc0\x80").mime, "application/octet-stream");
}

TEST(FileContentTest, CharactersAcrossPartsAreWhole) {
  std::string text;
  while (text.size() < 400000) text += "\u20ac\U0001f600x";
  for (int shift = 0; shift < 4; ++shift) EXPECT_EQ(read_text(std::string(shift, ' ') + text).text->size(), text.size() + shift);
}

TEST(FileContentTest, AboveStoreMaxOnlyTheWindowIsKept) {
  std::string text;
  for (int i = 1; text.size() < 500000; ++i) text += "line " + std::to_string(i) + "\n";
  const ContentLimits small{.store_max_bytes = 100000, .max_bytes = 1000};
  for (const LineRequest& request : {LineRequest{}, LineRequest{20000, 3}, LineRequest{30000, {}}}) {
    const TextContent streamed = read_text(text, request, small), whole = read_text(text, request, {.max_bytes = 1000});
    EXPECT_EQ(streamed.text, std::nullopt);
    EXPECT_EQ(whole.text, text);
    EXPECT_EQ(streamed.version, sha256(text));
    EXPECT_EQ(streamed.version, whole.version);
    EXPECT_EQ(streamed.selection.head, whole.selection.head);
    EXPECT_LE(streamed.selection.head.size(), 1001u);
    EXPECT_EQ(streamed.selection.bytes, whole.selection.bytes);
    EXPECT_EQ(streamed.selection.total_lines, whole.selection.total_lines);
  }
  EXPECT_EQ(read_text(text, {20000, 3}, small).selection.head, "line 20000\nline 20001\nline 20002");
}

TEST(FileContentTest, ALineOf200MegabytesIsNotBuffered) {
  constexpr std::uint64_t kSize = 200'000'000;
  SimulatedFile file([](std::uint64_t at, std::span<char> room) { return fill(room, kSize - at, 'x'); });
  const auto peak_kib = [] {
    struct rusage usage;
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const long before = peak_kib();
  const TextContent content = std::get<TextContent>(must(read_content(file, kSize, {}, {})));
  EXPECT_LT(peak_kib() - before, 16 * 1024);
  EXPECT_EQ(content.selection.first_line_bytes, kSize);
  EXPECT_EQ(content.selection.head.size(), 51201u);
}

TEST(FileContentTest, ASparseFileOf3GigabytesIsTooLarge) {
  const testing::TempDir dir;
  testing::write_file(dir / "hole", "");
  ASSERT_EQ(::truncate((dir / "hole").c_str(), off_t{3} << 30), 0);
  const ReadDoor door = must(ReadDoor::make({dir.path()}));
  OpenedFile opened = must(door.open(dir / "hole"));
  const auto refused = read_content(*opened.file, opened.stat.size, {}, {});
  ASSERT_EQ(code(refused), "TOO_LARGE");
  EXPECT_EQ(refused.error().message(), "the file has 3221225472 bytes, the limit is 268435456");
  EXPECT_EQ(testing::detail(refused.error(), "value"), "3221225472");
}

TEST(FileContentTest, AtTheLimitsAFileIsStillReadAndStillKept) {
  EXPECT_EQ(read_text("12345678", {}, {.max_file_bytes = 8, .store_max_bytes = 8}).text, "12345678");
  EXPECT_EQ(read_text("12345678", {}, {.max_file_bytes = 8, .store_max_bytes = 7}).text, std::nullopt);
  SimulatedFile file("12345678");
  EXPECT_EQ(code(read_content(file, 8, {}, {.max_file_bytes = 7})), "TOO_LARGE");
}

TEST(FileContentTest, AnOffsetBehindTheEndIsRefused) {
  SimulatedFile file("a\nb\n");
  EXPECT_EQ(code(read_content(file, 4, {4, {}}, {})), "OFFSET_BEYOND_END");
}

// A writer between any two system calls: whatever mixture was read, text, hash, size and lines are of the same bytes.
TEST(FileContentTest, AWriterBetweenReadsCannotSplitTextAndHash) {
  int version = 0;
  const auto rewritten = [&](std::uint64_t, std::span<char> room) {
    ++version;
    return fill(room, 1000, version % 7 == 0 ? '\n' : static_cast<char>('a' + version % 26));
  };
  for (const std::uint64_t store_max : {std::uint64_t{1} << 20, std::uint64_t{1}}) {
    SimulatedFile file(rewritten);
    const TextContent content =
        std::get<TextContent>(must(read_content(file, 400000, {}, {.store_max_bytes = store_max, .max_bytes = 1 << 20})));
    EXPECT_EQ(content.version, sha256(content.selection.head));
    EXPECT_EQ(content.selection.total_lines, 1 + count_newlines(content.selection.head));
    EXPECT_EQ(content.bytes, 400000u);
    EXPECT_EQ(content.text.value_or(content.selection.head), content.selection.head);
  }
}

TEST(FileContentTest, AGrowingFileStopsAtItsSizeAndAShrunkOneAtItsEnd) {
  SimulatedFile growing([](std::uint64_t, std::span<char> room) { return fill(room, room.size(), 'x'); });
  EXPECT_EQ(std::get<TextContent>(must(read_content(growing, 1000, {}, {}))).text, std::string(1000, 'x'));
  SimulatedFile shrunk("only this");
  const TextContent content = std::get<TextContent>(must(read_content(shrunk, 300000, {}, {})));
  EXPECT_EQ(content.text, "only this");
  EXPECT_EQ(content.bytes, 9u);
  EXPECT_EQ(content.version, sha256("only this"));
}

}  // namespace
}  // namespace weir
