#include "base/merkle.h"

namespace weir {

Digest merkle_leaf(std::string_view data) { return Sha256().update(std::string_view("\0", 1)).update(data).finish(); }

// Level by level: a node without a neighbour goes up as it is, which gives the RFC's split at the largest power of two.
Digest merkle_root(std::vector<Digest> nodes) {
  if (nodes.empty()) return sha256("");
  while (nodes.size() > 1) {
    std::size_t above = 0;
    for (std::size_t i = 0; i < nodes.size(); i += 2) {
      nodes[above++] =
          i + 1 == nodes.size() ? nodes[i] : Sha256().update("\1").update(nodes[i].bytes()).update(nodes[i + 1].bytes()).finish();
    }
    nodes.resize(above);
  }
  return nodes.front();
}

}  // namespace weir
