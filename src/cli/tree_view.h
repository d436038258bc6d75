// A session's tree as lines of text: branches, barriers, heads and labels at a glance.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "service/reading.h"

namespace weir::cli {

struct TreeViewOptions {
  bool all_types = false;  // every entry; else runs without anything special are one line
  std::size_t width = 100;
};

std::vector<std::string> draw_tree(const Tree& tree, const Painter& paint, const TreeViewOptions& options);

}  // namespace weir::cli
