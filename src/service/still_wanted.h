// Whether what a thread is about to store is still wanted. Asked when all of it is written, as the last thing before the commit: who
// was told that it took too long must not find it stored.
#pragma once

#include <functional>

namespace weir {

// For this thread, as long as this lives. Within another one the inner counts.
class StillWanted {
 public:
  // Called from any thread, maybe more than once; after true it is committed, unless something else fails.
  explicit StillWanted(std::function<bool()> wanted);
  ~StillWanted();
  StillWanted(const StillWanted&) = delete;
  StillWanted& operator=(const StillWanted&) = delete;

  bool ask() const { return wanted_(); }
  static const StillWanted* of_this_thread();  // null: always

  // Another thread's, for one that works for it (commits are shared).
  class Borrowed {
   public:
    explicit Borrowed(const StillWanted* wanted);
    ~Borrowed();
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

   private:
    const StillWanted* const own_;
  };

 private:
  const std::function<bool()> wanted_;
  const StillWanted* const outer_;
};

}  // namespace weir
