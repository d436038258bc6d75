// The lines of a pi file, mapped and prepared: the half of an import that asks nothing of the log. For a large file it
// runs ahead in a thread of its own, while the caller stores what came before.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/function_ref.h"
#include "base/sha256.h"
#include "importers/pi_map.h"
#include "json/parse.h"
#include "session/prepare.h"

namespace weir::pi {

// A line, ready to be stored; owns what it holds.
struct Milled {
  std::string text;
  std::uint64_t line_no = 0;
  std::uint64_t offset = 0;  // after the line
  std::string malformed;     // why it is; the body then holds its text

  std::string type;
  std::optional<std::string> id;  // the source's own
  bool has_parent = false;
  std::string parent;
  bool side = false, native = false;
  std::optional<TimeMs> at;
  std::string unknown;

  PreparedBody body;
  MaskCounts masked;
};

// For a line of a file: its errors need no line number.
inline constexpr json::Parser::Options kLine{.repair_surrogates = true, .one_line = true};

// Turns one line after another, of the format's version `version`.
class LineMapper {
 public:
  LineMapper(const Masker& masker, Blobs* blobs, std::int64_t version) : preparer_(masker, blobs), version_(version) {}

  // Format 1 has neither ids nor parents: what it needs to know of the lines before.
  struct Before {
    std::size_t* index;
    std::string_view last_id;
  };
  // Fills everything from `out.text`. `revise` may change the mapped line before it is prepared.
  Result<void> turn(Milled& out, const std::optional<Before>& before, FunctionRef<void(Mapped&, json::Arena&)> revise);
  Result<void> turn(Milled& out) {
    return turn(out, std::nullopt, [](Mapped&, json::Arena&) {});
  }

 private:
  std::string map(std::string_view text, const std::optional<Before>& before, Mapped& mapped);
  Result<json::Value> parse(std::string_view text, bool& only_own);
  Result<void> prepare(const Mapped& mapped, Milled& out);

  json::Parser parser_;
  Preparer preparer_;
  std::int64_t version_;
};

class LineMill {
 public:
  struct Start {
    std::uint64_t offset = 0, line_no = 0;
    Sha256 before;  // the hash of what stands before the offset
  };
  // With `only_read` lines come as they are, to be turned by the caller.
  LineMill(ReadableFile& file, Start start, LineMapper& mapper, bool only_read, std::uint64_t bytes_left);
  ~LineMill();

  // The next line that is not blank; nothing at the end.
  Result<std::optional<Milled>> next();

  // Once next() gave nothing: how far the file was read, and whether a last line was left because it is not whole yet.
  struct End {
    std::uint64_t offset = 0, line_no = 0;
    Sha256 hash;
    bool torn = false;
  };
  const End& end() const;

 private:
  class Source;
  class Ahead;
  std::unique_ptr<Source> source_;
  std::unique_ptr<Ahead> ahead_;  // null: lines are turned when they are asked for
};

}  // namespace weir::pi
