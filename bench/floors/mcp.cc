// The least that a read over MCP's lines can cost: find the id and the path in the line, open, read, escape, write. Nothing is
// parsed, checked, confined, masked or remembered.
//   floor_mcp DIR
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace {

// What stands between `mark` and one of `ends`.
std::string_view between(std::string_view line, std::string_view mark, std::string_view ends) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + mark.size());
  return rest.substr(0, rest.find_first_of(ends));
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(1, text.data(), text.size());
    if (n <= 0) ::_exit(1);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void read_file(int directory, const std::string& path, std::string& out) {
  const int fd = ::openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about{};
  ::fstat(fd, &about);
  out.resize(static_cast<std::size_t>(about.st_size));
  if (::read(fd, out.data(), out.size()) != about.st_size) ::_exit(1);
  ::close(fd);
}

void escape(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
}

void answer(int directory, std::string_view line) {
  static std::string text, out;
  const std::string_view id = between(line, "\"id\":", ",}");
  if (id.empty()) return;
  out.assign("{\"jsonrpc\":\"2.0\",\"id\":").append(id).append(",\"result\":{");
  if (const std::string_view path = between(line, "\"path\":\"", "\""); !path.empty()) {
    read_file(directory, std::string(path), text);
    out += "\"content\":[{\"type\":\"text\",\"text\":\"";
    escape(text, out);
    out += "\"}]}}\n";
  } else if (line.find("\"initialize\"") != std::string_view::npos) {
    out += "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"floor\",\"version\":\"1\"}}}\n";
  } else {
    out += "\"tools\":[]}}\n";
  }
  write_all(out);
}

}  // namespace

int main(int count, char** words) {
  const int directory = ::open(count > 1 ? words[1] : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  std::string buffer;
  char piece[65536];
  for (ssize_t n; (n = ::read(0, piece, sizeof piece)) > 0;) {
    buffer.append(piece, static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1)
      answer(directory, std::string_view(buffer).substr(begin, end - begin));
    buffer.erase(0, begin);
  }
}
