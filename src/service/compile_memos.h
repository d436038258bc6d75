// What the last compilations left behind for the next of the same session and configuration.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "ctree/compile.h"
#include "store/log.h"

namespace weir {

class CompileMemos {
 public:
  // The memo, out of the list until it is given back: two threads never share one.
  std::unique_ptr<ctree::CompileMemo> take(SessionNo session, const std::string& config);
  void give_back(SessionNo session, const std::string& config, std::unique_ptr<ctree::CompileMemo> memo);
  void forget();

 private:
  static constexpr std::size_t kMost = 8;
  struct Kept {
    SessionNo session;
    std::string config;
    std::unique_ptr<ctree::CompileMemo> memo;
  };
  std::mutex mutex_;
  std::list<Kept> kept_;  // used last first
};

}  // namespace weir
