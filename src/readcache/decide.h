// The decision of one read: content, a marker, or a diff. Pure: the file has been read, earlier versions come through
// `Versions`. In doubt it is content.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "readcache/lines.h"
#include "readcache/options.h"
#include "readcache/trust.h"
#include "session/pi_read.h"

namespace weir {

// A version of a file. Its lines are looked for when somebody asks; not by two threads at once.
class VersionText {
 public:
  explicit VersionText(std::string text) : bytes(std::move(text)) {}
  VersionText(const VersionText&) = delete;
  VersionText& operator=(const VersionText&) = delete;

  const LineTable& lines() const {
    if (!lines_) lines_.emplace(bytes);
    return *lines_;
  }

  const std::string bytes;

 private:
  mutable std::optional<LineTable> lines_;
};

struct LoadedVersion {
  std::shared_ptr<const VersionText> text;  // null: not there
  bool damaged = false;
};
using LoadVersion = FunctionRef<LoadedVersion(const std::string& version)>;

// The file as it is now, read once.
struct CurrentFile {
  std::string path;   // canonical
  std::string name;   // absolute, links not followed
  std::string given;  // in the caller's words
  std::string version;
  std::uint64_t bytes = 0;
  LineNo total = 1;
  const VersionText* text = nullptr;  // null: too large to be kept, so compared by version only
  std::string_view baseline;          // what a plain read delivers
  LineRange window;                   // the lines in it; may be none
};

struct ReadQuestion {
  LineRange lines;  // 1..total is a full request
  bool bypass = false;
  bool followed = true;  // do the session's compactions reach the log? If not, nobody can say what the reader still holds
};

struct ReadAnswer {
  ReadRecord record;
  std::string text;
  ReadDebug debug;
};

ReadAnswer decide_read(const TrustFold::State& state, const CurrentFile& file, const ReadQuestion& question, const ReadOptions& options,
                       LoadVersion load, FunctionRef<bool()> stop);

}  // namespace weir
