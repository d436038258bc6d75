// The slow, obviously right answer to "what does the model hold?": for every line the text delivered last by an entry that is
// still in the context. It looks at the text of the answers, not at the trust that is folded from their records.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "readcache/decide.h"
#include "store/entry.h"

namespace weir::testing {

using Texts = std::vector<std::string>;  // Texts[line - 1]
Texts split_lines(std::string_view text);
std::string join_lines(const Texts& lines);

// What one entry did to the model's context.
struct Delivery {
  enum class Kind {
    nothing,  // no text, as a marker or any other entry
    anchor,   // lines
    diff,     // lines, and where the others came from
    moved,    // a marker that says where lines stood before
    barrier,
    withdrawal,  // of another entry
  };
  Kind kind = Kind::nothing;
  std::string path;
  std::shared_ptr<const Texts> current;  // the file it speaks of
  LineRange range;
  std::map<LineNo, std::string> lines;  // whose text is in it
  std::map<LineNo, LineNo> partner;     // of a diff: line -> line it was before
  LineRange from;
  Seq target = 0;
};

// From an answer, by its text. `base`: of a diff, the text it was made against.
Delivery delivered_by(const ReadAnswer& answer, std::shared_ptr<const Texts> current, const std::string& base_text,
                      const std::string& current_text);

class HeldOracle {
 public:
  using Held = std::map<LineNo, std::string>;

  // Entries come as the log has them: 1, 2, 3, ...
  void add(Seq parent, Delivery delivery);
  const Held& held(Seq seq, const std::string& path) const;

  // What is false in the answer to a reader who stands at `seq`; empty: nothing.
  std::string lies(Seq seq, const ReadAnswer& answer, const Delivery& delivery) const;

 private:
  using Memory = std::map<std::string, Held>;
  static void apply(Memory& memory, const Delivery& delivery);
  static bool holds(const Held& held, const Delivery& diff, LineNo line);
  Memory without_withdrawn(Seq seq) const;

  std::vector<Seq> parents_{0};
  std::vector<Delivery> deliveries_{{}};
  std::vector<Memory> memories_{{}};
};

}  // namespace weir::testing
