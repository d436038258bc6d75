// The door for files that a caller names: part of Files, and the only code that opens them. What is opened lies below one
// of the roots and is a regular file, however the path is spelled and whoever renames what meanwhile. Safe to use from
// several threads.
//
// Errors, in pi's words where pi has them: NOT_FOUND, IS_DIRECTORY, ACCESS_DENIED, NOT_REGULAR, OUTSIDE_ROOTS, HARD_LINK;
// INVALID_FIELD for a path with a NUL; STORAGE with errno for the rest.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/open_beneath.h"

namespace weir {

struct OpenedFile {
  std::unique_ptr<ReadableFile> file;
  FileStat stat;         // when it was opened
  std::string path;      // canonical: without links and dots, one spelling for one place
  bool deleted = false;  // it lost that name while it was opened: serve it uncached
};

class ReadDoor {
 public:
  struct Options {
    bool refuse_hard_links = false;
    bool by_component = false;  // as if the kernel had no openat2
  };

  // Opens the roots, once and for all. No roots: every file is OUTSIDE_ROOTS.
  static Result<ReadDoor> make(const std::vector<std::string>& roots, Options options);
  static Result<ReadDoor> make(const std::vector<std::string>& roots) { return make(roots, Options{}); }

  // `path` must begin with a root, by whole components, and end below one. What lies outside is not told apart from what is
  // missing there, and nothing outside is looked at unless a link or `..` inside a root leads to it.
  Result<OpenedFile> open(const std::string& path) const;

  // Is a path without links and dots below a root?
  bool contains(std::string_view canonical) const;

 private:
  struct Root {
    Fd fd;
    std::string given, canonical;  // two spellings a path may begin with
  };

  explicit ReadDoor(Options options) : options_(options) {}
  Opening reach(const std::string& path) const;

  Options options_;
  std::vector<Root> roots_;
};

}  // namespace weir
