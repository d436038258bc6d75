#include "store/wal_check.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <map>

#include "base/limits.h"

namespace weir {
namespace {

// https://www.sqlite.org/walformat.html
constexpr std::size_t kHeaderBytes = 32, kFrameHeaderBytes = 24, kIndexHeaderBytes = 48;
constexpr std::uint32_t kMagic = 0x377f0682, kVersion = 3007000;
constexpr std::uint64_t kFramesAhead = 4096;  // how far behind a broken frame others are looked for
constexpr int kLooks = 3;

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}
std::uint32_t native(std::string_view bytes, std::size_t at) {
  std::uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Checksum {
  bool swap = false;  // words are in the other byte order
  std::uint32_t a = 0, b = 0;

  void add(std::string_view bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      const std::uint32_t first = native(bytes, at), second = native(bytes, at + 4);
      a += (swap ? __builtin_bswap32(first) : first) + b;
      b += (swap ? __builtin_bswap32(second) : second) + a;
    }
  }
  bool operator==(const Checksum&) const = default;
};

// What the index says, if it is whole and belongs to a log with these salts.
struct Index {
  std::string salts;
  std::uint64_t frames = 0;      // published: synced before, if commits are
  std::uint64_t backfilled = 0;  // of them in the database already
};
std::optional<Index> read_index(Files& files, const std::string& path) {
  const auto bytes = files.read(path, std::size_t{64} * limits::kMiB);
  if (!bytes.ok() || bytes->size() < 2 * kIndexHeaderBytes + 4) return std::nullopt;
  const std::string_view header = std::string_view(*bytes).substr(0, kIndexHeaderBytes);
  if (header != std::string_view(*bytes).substr(kIndexHeaderBytes, kIndexHeaderBytes)) return std::nullopt;
  Checksum sum;
  sum.add(header.substr(0, 40));
  if (header[12] == 0 || sum.a != native(header, 40) || sum.b != native(header, 44)) return std::nullopt;
  return Index{std::string(header.substr(32, 8)), native(header, 16), native(*bytes, 2 * kIndexHeaderBytes)};
}

// The log's frames, read one after another.
class Frames {
 public:
  Frames(ReadableFile& file, std::size_t page_bytes) : file_(file), buffer_(kFrameHeaderBytes + page_bytes, '\0') {}

  // The frame at `index`; nothing at the end.
  Result<bool> read(std::uint64_t index, bool header_only = false) {
    TRY_DO(file_.seek(kHeaderBytes + index * buffer_.size()));
    return fill(header_only ? kFrameHeaderBytes : buffer_.size());
  }
  Result<bool> next() { return fill(buffer_.size()); }

  std::string_view salts() const { return std::string_view(buffer_).substr(8, 8); }
  std::uint32_t page() const { return big_endian(buffer_, 0); }
  std::uint32_t commit_pages() const { return big_endian(buffer_, 4); }  // 0: not the last of a commit
  std::string_view content() const { return std::string_view(buffer_).substr(kFrameHeaderBytes); }
  bool matches(Checksum& sum) const {
    sum.add(std::string_view(buffer_).substr(0, 8));
    sum.add(content());
    return sum.a == big_endian(buffer_, 16) && sum.b == big_endian(buffer_, 20);
  }

 private:
  Result<bool> fill(std::size_t bytes) {
    for (std::size_t have = 0; have < bytes;) {
      TRY(const std::size_t n, file_.read(buffer_.data() + have, bytes - have));
      if (n == 0) return false;
      have += n;
    }
    return true;
  }

  ReadableFile& file_;
  std::string buffer_;
};

Result<std::string> read_front(ReadableFile& file, std::size_t bytes) {
  std::string out(bytes, '\0');
  TRY_DO(file.seek(0));
  std::size_t have = 0;
  while (have < bytes) {
    TRY(const std::size_t n, file.read(out.data() + have, bytes - have));
    if (n == 0) break;
    have += n;
  }
  out.resize(have);
  return out;
}

// A header that does not check is torn when the log starts again over frames that are all in the database, and damaged
// when they are not.
Result<std::optional<std::string>> behind_bad_header(Files& files, ReadableFile& wal, const std::string& database) {
  TRY(const auto file, files.open(database));
  TRY(const std::string front, read_front(*file, 100));
  if (front.size() < 100) return std::optional<std::string>();
  const std::size_t named = static_cast<unsigned char>(front[16]) << 8 | static_cast<unsigned char>(front[17]);
  const std::size_t page_bytes = named == 1 ? 65536 : named;
  if (page_bytes < 512 || (page_bytes & (page_bytes - 1)) != 0) return std::optional<std::string>();
  Frames frames(wal, page_bytes);
  // The first frames may have gone with the header: whose salts the next two share is the log's.
  std::string salts;
  std::uint64_t first = 0;
  for (std::string before; first < 3; ++first, before = frames.salts()) {
    TRY(const bool there, frames.read(first, true));
    if (!there) break;
    if (before == frames.salts() && before != std::string(8, '\0')) salts = before;
    if (!salts.empty()) break;
  }
  if (salts.empty()) return std::optional<std::string>();
  std::map<std::uint32_t, std::uint64_t> pages, committed;  // page -> its last frame
  std::uint32_t size = 0;
  for (std::uint64_t i = first - 1;; ++i) {
    TRY(const bool there, frames.read(i, true));
    if (!there || frames.salts() != salts) break;
    pages[frames.page()] = i;
    if (frames.commit_pages() == 0) continue;
    size = frames.commit_pages();
    committed = pages;
  }
  std::size_t lost = 0;
  std::string there(page_bytes, '\0');
  for (const auto& [page, frame] : committed) {
    if (page == 0 || page > size) continue;
    TRY_DO(frames.read(frame));
    TRY_DO(file->seek(std::uint64_t{page - 1} * page_bytes));
    std::size_t have = 0;
    while (have < page_bytes) {
      TRY(const std::size_t n, file->read(there.data() + have, page_bytes - have));
      if (n == 0) break;
      have += n;
    }
    if (have < page_bytes || frames.content() != there) ++lost;
  }
  if (lost == 0) return std::optional<std::string>();
  return std::optional(fmt::format("the header is damaged, and {} pages behind it are not in the database", lost));
}

// Behind the broken frame: does a commit follow the one it broke?
Result<bool> commits_follow(Frames& frames, std::uint64_t broken, std::string_view salts) {
  bool ended = false;  // the broken commit
  for (std::uint64_t i = broken; i < broken + kFramesAhead; ++i) {
    TRY(const bool there, frames.read(i, true));
    if (!there) return false;
    if (frames.salts() != salts) {
      if (i == broken) continue;
      return false;
    }
    if (frames.commit_pages() == 0) continue;
    if (ended) return true;
    ended = true;
  }
  return false;
}

Result<std::optional<std::string>> look(Files& files, const std::string& database, bool commits_synced) {
  // The index first: the log may grow in between, and must not be found shorter than an index that is newer.
  const auto index = read_index(files, database + "-shm");
  const auto opened = files.open(database + "-wal");
  if (!opened.ok() && opened.error().code() != ErrorCode::NOT_FOUND) return opened.error();
  std::string header;
  if (opened.ok()) {
    TRY(header, read_front(**opened, kHeaderBytes));
  }
  if (header.size() < kHeaderBytes) {
    if (!commits_synced || !index || index->frames <= index->backfilled) return std::optional<std::string>();
    return std::optional(fmt::format("it is gone, with {} frames that were synced", index->frames - index->backfilled));
  }
  const std::uint32_t magic = big_endian(header, 0);
  Checksum sum{(magic & 1) == (std::endian::native == std::endian::little)};
  sum.add(std::string_view(header).substr(0, 24));
  const std::size_t page_bytes = big_endian(header, 8);
  if ((magic & ~1U) != kMagic || big_endian(header, 4) != kVersion || page_bytes < 512 || page_bytes > 65536 ||
      sum.a != big_endian(header, 24) || sum.b != big_endian(header, 28)) {
    return behind_bad_header(files, **opened, database);
  }
  if (!commits_synced) return std::optional<std::string>();
  const std::string_view salts = std::string_view(header).substr(16, 8);
  Frames frames(**opened, page_bytes);
  std::uint64_t good = 0;
  for (;; ++good) {
    TRY(const bool there, frames.next());
    if (!there || frames.salts() != salts || !frames.matches(sum)) break;
  }
  if (index && index->salts == salts && good < index->frames) {
    return std::optional(fmt::format("frame {} is damaged; {} frames were synced", good + 1, index->frames));
  }
  TRY(const bool more, commits_follow(frames, good, salts));
  if (!more) return std::optional<std::string>();
  return std::optional(fmt::format("frame {} is damaged, and whole commits follow it", good + 1));
}

}  // namespace

Result<std::optional<std::string>> find_wal_damage(Files& files, const std::string& database, bool commits_synced) {
  // Another process may write while we read: then each look finds the log's end elsewhere, or none.
  std::optional<std::string> before;
  for (int i = 0; i < kLooks; ++i) {
    TRY(auto damage, look(files, database, commits_synced));
    if (!damage || (i > 0 && damage != before)) return std::optional<std::string>();
    before = std::move(damage);
  }
  return before;
}

}  // namespace weir
