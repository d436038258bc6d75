// The directory of a research run on disk. Nothing is read or written outside it, whatever links say: directories are held
// open, and files are named below what is held.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/doors.h"
#include "base/files.h"
#include "base/system_file.h"
#include "research/run_files.h"

namespace weir {

class RunDir final : public research::RunFiles {
 public:
  RunDir(Files& files, Random& random, std::string root) : files_(files), random_(random), root_(std::move(root)) {}
  RunDir(const RunDir&) = delete;
  RunDir& operator=(const RunDir&) = delete;
  ~RunDir() override { discard(); }

  const std::string& root() const { return root_; }
  // Is there a directory? Opens it.
  Result<bool> open();
  // Makes it, and what is above it.
  Result<void> make();

  Result<research::RunFile> read(const std::string& path) override;
  // Paths of everything that is no directory, sorted; names that begin with a dot are left out.
  Result<std::vector<std::string>> list();
  // WAVE_DIR_SYMLINK, INVALID_WAVE_DIR, PATH_TRAVERSAL unless files may be put there, now or once it is made.
  Result<void> check_directory(const std::string& directory);

  // Puts the bytes beside their places, durable, under names of their own. One sync for all if there are many.
  struct NewFile {
    std::string path, bytes;
  };
  Result<void> stage(std::vector<NewFile> batch);
  // Gives them their names, in order, and syncs each directory once.
  Result<void> publish();
  // Takes back what was staged and not published.
  void discard();
  Result<void> remove(const std::string& path);
  // What a run that was killed left staged, or one that is still at work: only under the store's lock may it be removed,
  // and whoever comes to publish it then writes it again.
  Result<std::vector<std::string>> leftovers();

 private:
  struct Staged {
    NewFile file;
    std::string temporary;  // beside it
  };
  // A directory of the run, held open; made if it may be.
  Result<int> directory(const std::string& name, bool make);
  Result<std::string> place(const std::string& path, bool make);
  Result<std::vector<std::string>> directories();

  Files& files_;
  Random& random_;
  std::string root_;
  std::map<std::string, Fd> held_;  // by name; the root's is empty
  std::vector<Staged> staged_;
  std::vector<std::string> made_;  // directories that were made for what is staged
};

}  // namespace weir
