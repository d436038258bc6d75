// The view as text: what the model holds at each line, as far as the versions it was shown in can still be read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "readcache/decide.h"

namespace weir {

class HeldText {
 public:
  HeldText(const View& view, const CurrentFile& file, std::uint64_t most_versions, LoadVersion load)
      : view_(view), file_(file), most_versions_(most_versions), load_(load) {}

  // How the view stands to the file as it is now.
  struct Sameness {
    bool same = false;         // every line is in the view and has the text of the file at that line
    bool all_current = false;  // because it was shown in this very version
  };
  Sameness compare(LineRange lines);

  // The version's text, loaded once; at most so many for one answer.
  LoadedVersion version(const std::string& name);

  // What is held at a line; nothing if that is not known.
  std::optional<std::string_view> at(LineNo line);

 private:
  const LineTable* table(const std::string& name);

  const View& view_;
  const CurrentFile& file_;
  const std::uint64_t most_versions_;
  LoadVersion load_;
  std::map<std::string, LoadedVersion> loaded_;
  View::Interval near_;  // met last
  const LineTable* near_table_ = nullptr;
};

}  // namespace weir
