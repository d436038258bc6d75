#include "cli/tree_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "session/types.h"

namespace weir::cli {
namespace {

class Drawing {
 public:
  Drawing(const Tree& tree, const Painter& paint, const TreeViewOptions& options) : tree_(tree), paint_(paint), options_(options) {
    children_.resize(tree.nodes.size() + 1);
    for (const TreeNode& node : tree.nodes) {
      if (!node.side || options.all_types) children_[node.parent].push_back(node.seq);
      sides_ += node.side;
    }
    for (const auto& [name, seq] : tree.heads) heads_[seq].push_back(name.str());
    // The way to main is drawn straight down; everything else is a branch beside it.
    on_main_.resize(tree.nodes.size() + 1);
    for (const auto& [name, seq] : tree.heads) {
      if (name.str() != "main") continue;
      for (Seq at = seq; at != 0; at = node(at).parent) on_main_[at] = true;
    }
    size_.assign(tree.nodes.size() + 1, 1);
    for (std::size_t i = tree.nodes.size(); i-- > 0;) size_[tree.nodes[i].parent] += size_[tree.nodes[i].seq];
  }

  std::vector<std::string> draw() {
    title();
    if (const auto it = heads_.find(0); it != heads_.end()) lines_.push_back(head_marks(0) + paint_(Style::dim, " before the first entry"));
    std::vector<Seq> roots = children_[0];
    order(roots);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      if (i > 0) lines_.push_back("");
      chain(roots[i], "");
    }
    return std::move(lines_);
  }

 private:
  const TreeNode& node(Seq seq) const { return tree_.nodes[seq - 1]; }

  void title() {
    std::size_t branches = 0, barriers = 0;
    for (const auto& list : children_) branches += list.size() > 1 ? list.size() - 1 : 0;
    for (const TreeNode& n : tree_.nodes) barriers += n.barrier;
    std::string text =
        fmt::format("{} · {} entries · {} branches · {} barriers", tree_.session.id.str(), tree_.nodes.size(), branches, barriers);
    if (sides_ > 0 && !options_.all_types) text += fmt::format(" · {} beside the tree", sides_);
    lines_.push_back(paint_(Style::bold, text));
  }

  // Branches first, smallest first; the way to main last, so that it goes on straight down.
  void order(std::vector<Seq>& seqs) const {
    std::stable_sort(seqs.begin(), seqs.end(), [&](Seq a, Seq b) {
      return std::pair<bool, std::size_t>(on_main_[a], size_[a]) < std::pair<bool, std::size_t>(on_main_[b], size_[b]);
    });
  }

  bool special(Seq seq) const {
    const TreeNode& n = node(seq);
    return options_.all_types || n.barrier || !n.label.empty() || heads_.contains(seq) || children_[seq].size() != 1 || n.parent == 0 ||
           n.type == types::kBranchSummary;
  }

  // A node and what hangs under it. `prefix` stands before every line.
  void chain(Seq seq, const std::string& prefix) {
    std::vector<Seq> hidden;
    for (;;) {
      if (special(seq)) {
        flush(hidden, prefix);
        lines_.push_back(prefix + node_line(seq, prefix));
      } else {
        hidden.push_back(seq);
      }
      std::vector<Seq> next = children_[seq];
      if (next.empty()) break;
      order(next);
      for (std::size_t i = 0; i + 1 < next.size(); ++i) {
        lines_.push_back(prefix + paint_(Style::dim, "├─╮"));
        chain(next[i], prefix + paint_(Style::dim, "│ "));
      }
      seq = next.back();
    }
    flush(hidden, prefix);
  }

  void flush(std::vector<Seq>& hidden, const std::string& prefix) {
    if (hidden.empty()) return;
    if (hidden.size() <= 2) {
      for (const Seq seq : hidden) lines_.push_back(prefix + node_line(seq, prefix));
    } else {
      std::map<std::string, std::size_t> kinds;
      std::size_t errors = 0;
      for (const Seq seq : hidden) {
        ++kinds[node(seq).type == types::kMessage ? node(seq).preview.substr(0, node(seq).preview.find_first_of(": ")) : node(seq).type];
        errors += node(seq).error;
      }
      std::string text;
      for (const auto& [kind, count] : kinds) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
      std::string line = prefix + paint_(Style::dim, fmt::format("⋮ {} entries: {}", hidden.size(), text));
      if (errors > 0) line += paint_(Style::red, fmt::format(", {} failed", errors));
      lines_.push_back(line);
    }
    hidden.clear();
  }

  std::string head_marks(Seq seq) const {
    std::string out;
    const auto it = heads_.find(seq);
    if (it == heads_.end()) return out;
    for (const std::string& name : it->second) out += (out.empty() ? "" : " ") + paint_(Style::green, "◀ " + name);
    return out;
  }

  std::string node_line(Seq seq, const std::string& prefix) const {
    const TreeNode& n = node(seq);
    const std::string marks = head_marks(seq);
    const std::string label = n.label.empty() ? "" : " " + paint_(Style::magenta, "[" + fitted(n.label, 24) + "]");
    const std::string id = fitted(n.id.str(), 20);
    // The prefix is two columns a level; colour codes do not count.
    const std::size_t level = static_cast<std::size_t>(std::count(prefix.begin(), prefix.end(), ' '));
    const std::size_t taken = 2 * level + 2 + id.size() + 1 + (n.label.empty() ? 0 : n.label.size() + 3) + (marks.empty() ? 0 : 12);
    const std::size_t room = options_.width > taken + 20 ? options_.width - taken - (n.barrier ? 12 : 0) : 20;
    std::string text;
    if (n.barrier) {
      text = paint_(Style::yellow, "◆ " + id + " ══ barrier ══ ") + paint_(Style::dim, fitted(n.preview, room));
    } else {
      const std::string said = n.type == types::kMessage ? n.preview : n.type + " " + n.preview;
      text = (n.error                     ? paint_(Style::red, "✗ ")
              : children_[seq].size() > 1 ? paint_(Style::cyan, "● ")
                                          : "○ ") +
             paint_(Style::cyan, id) + " " +
             (n.error                     ? paint_(Style::red, fitted(said, room))
              : n.type == types::kMessage ? fitted(said, room)
                                          : paint_(Style::dim, fitted(said, room)));
    }
    return text + label + (marks.empty() ? "" : " " + marks);
  }

  const Tree& tree_;
  const Painter& paint_;
  const TreeViewOptions& options_;
  std::vector<std::vector<Seq>> children_;
  std::map<Seq, std::vector<std::string>> heads_;
  std::vector<bool> on_main_;
  std::vector<std::size_t> size_;
  std::size_t sides_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> draw_tree(const Tree& tree, const Painter& paint, const TreeViewOptions& options) {
  return Drawing(tree, paint, options).draw();
}

}  // namespace weir::cli
