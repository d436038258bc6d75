// The file side of a read: from a caller's words to one read of one file, and whether it may leave a trace.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "base/read_door.h"
#include "base/secrets.h"
#include "readcache/baseline.h"
#include "readcache/decide.h"
#include "readcache/deny_list.h"
#include "readcache/file_content.h"
#include "readcache/options.h"
#include "readcache/path_request.h"

namespace weir {

// A text file, read once. Everything below speaks of the same bytes.
struct ReadText {
  PathRequest request;
  std::string path;             // canonical; printable if it is not UTF-8, and then not traced
  std::string name;             // absolute, as it was asked for: no link followed, no other spelling tried
  std::string untraced_reason;  // why it must leave no record, no hash and no bytes; empty: it may
  LineRange lines;              // what was asked for
  Baseline baseline;
  Digest version;
  std::uint64_t bytes = 0;
  LineNo total = 1;
  std::unique_ptr<VersionText> text;  // null: too large to be kept

  CurrentFile current() const;
};

struct ReadOther {  // no text
  std::string path;
  std::string name;  // under which it was asked for
  std::string_view mime;
  std::uint64_t bytes = 0;
};

using ReadFile = std::variant<ReadText, ReadOther>;

class ReadSource {
 public:
  // Opens the roots, once and for all. `store`: Weir's own directory, which is on the deny list; empty for none. So are the
  // files `own`, there or not.
  static Result<std::unique_ptr<ReadSource>> open(ReadOptions options, const std::string& store, const std::vector<std::string>& own = {});

  // Errors: those of open_request and read_content; DENIED_BY_POLICY.
  // `within`: directories, by their canonical names, that narrow the roots; null: nothing does.
  Result<ReadFile> read(std::string_view given, const LineRequest& lines, const PathContext& context, const Masker& masker,
                        const std::vector<std::string>* within = nullptr) const;

  // The name under which a file that cannot be read would be known: links are followed where they stay inside the roots.
  std::string place_of(const std::string& path, const std::vector<std::string>* within = nullptr) const;

  // The version of a file named by its canonical path, as far as it may be looked at.
  Result<Digest> version_of(const std::string& path, const std::vector<std::string>* within = nullptr) const;

  const ReadOptions& options() const { return options_; }

 private:
  ReadSource(ReadOptions options, ReadDoor door, DenyList deny)
      : options_(std::move(options)), door_(std::move(door)), deny_(std::move(deny)) {}

  const ReadOptions options_;
  const ReadDoor door_;
  const DenyList deny_;
};

}  // namespace weir
