// Whether an answer has arrived: told by whoever sent it to whom it matters.
#pragma once

#include <memory>

namespace weir {

// Of one answer. Both may be called from any thread, more than once, and do not wait for the store.
class Receipt {
 public:
  virtual ~Receipt() = default;
  // Whoever asked has the answer.
  virtual void received() = 0;
  // Nobody has it; also when that turns out only after received().
  virtual void lost() = 0;
};
using ReceiptPtr = std::shared_ptr<Receipt>;  // null: the answer proves nothing

}  // namespace weir
