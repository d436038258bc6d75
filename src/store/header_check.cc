#include "store/header_check.h"

#include <fmt/format.h>

#include "store/schema.h"

namespace weir {
namespace {

// https://www.sqlite.org/fileformat.html#the_database_header
constexpr std::size_t kHeaderBytes = 100, kWriteVersion = 18, kReadVersion = 19, kApplication = 68;

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// All of the header, or less if the file is shorter.
Result<std::string> first_bytes(Files& files, const std::string& path) {
  TRY(const auto file, files.open(path));
  std::string bytes(kHeaderBytes, '\0');
  std::size_t read = 0;
  while (read < kHeaderBytes) {
    TRY(const std::size_t more, file->read(bytes.data() + read, kHeaderBytes - read));
    if (more == 0) break;
    read += more;
  }
  bytes.resize(read);
  return bytes;
}

}  // namespace

Result<DatabaseHeader> check_header(Files& files, const std::string& database) {
  TRY(const std::string bytes, first_bytes(files, database));
  DatabaseHeader out;
  out.ours = bytes.size() == kHeaderBytes && big_endian(bytes, kApplication) == kApplicationId;
  if (!out.ours) return out;
  const int write = static_cast<unsigned char>(bytes[kWriteVersion]), read = static_cast<unsigned char>(bytes[kReadVersion]);
  // Both change together, when the journal mode does.
  if (write != read) out.damage = fmt::format("its header says version {} for writing and {} for reading, which are one", write, read);
  return out;
}

}  // namespace weir
