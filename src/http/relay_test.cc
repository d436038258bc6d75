#include "http/relay.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace weir::http {
namespace {

using std::chrono::milliseconds;

// Turns that wait until they are woken, as a loop does; what each of them does is a test's.
struct Case {
  explicit Case(std::function<bool()> act) : act_(std::move(act)), relay([this] { return turn(); }, [this] { wake(); }) {}

  bool turn() {
    {
      std::unique_lock lock(mutex);
      woken.wait_for(lock, milliseconds(20), [&] { return called; });
      called = false;
    }
    threads.push_back(std::this_thread::get_id());
    return act_();
  }
  void wake() {
    const std::lock_guard lock(mutex);
    called = true;
    woken.notify_one();
  }

  std::function<bool()> act_;
  std::mutex mutex;
  std::condition_variable woken;
  bool called = false;
  std::vector<std::thread::id> threads;  // of the turns
  Relay relay;
};

TEST(RelayTest, QuickWorkIsDoneByTheThreadOfTheLoop) {
  Case* self = nullptr;
  std::vector<std::thread::id> worked;
  Case one([&] {
    EXPECT_TRUE(self->relay.lend([&] { worked.push_back(std::this_thread::get_id()); }));
    return worked.size() < 100;
  });
  self = &one;
  one.relay.run();
  EXPECT_EQ(worked, std::vector(100, std::this_thread::get_id()));
  EXPECT_EQ(one.threads, worked);
}

TEST(RelayTest, TheOtherThreadGoesOnWhileWorkTakesLong) {
  Case* self = nullptr;
  const auto here = std::this_thread::get_id();
  std::atomic<int> others{0};
  int turns = 0;
  Case one([&] {
    if (std::this_thread::get_id() != here) {
      EXPECT_FALSE(self->relay.lend([] { ADD_FAILURE() << "it is lent already"; }));
      self->wake();
      ++others;
      return true;
    }
    if (++turns == 3) return false;
    return self->relay.lend([&] {
      while (others < 5 * turns) std::this_thread::sleep_for(milliseconds(1));
    });
  });
  self = &one;
  one.relay.run();
  EXPECT_GE(others, 10);
  EXPECT_EQ(one.threads.back(), here) << "who worked has the lead again";
}

TEST(RelayTest, ItIsCalledOutOfItsSleep) {
  Case* self = nullptr;
  const auto here = std::this_thread::get_id();
  std::atomic<bool> other{false};
  int turns = 0;
  Case one([&] {
    if (std::this_thread::get_id() != here) return other = true;
    if (++turns == 2) return false;
    std::this_thread::sleep_for(milliseconds(300));  // nothing was lent for that long
    return self->relay.lend([&] {
      while (!other) std::this_thread::sleep_for(milliseconds(1));
    });
  });
  self = &one;
  one.relay.run();
  EXPECT_TRUE(other);
}

TEST(RelayTest, TheLastTurnMayBeTheOtherThreads) {
  Case* self = nullptr;
  const auto here = std::this_thread::get_id();
  std::atomic<bool> over{false};
  Case one([&] {
    if (std::this_thread::get_id() != here) return !(over = true);
    return self->relay.lend([&] {
      while (!over) std::this_thread::sleep_for(milliseconds(1));
    });
  });
  self = &one;
  one.relay.run();
  EXPECT_NE(one.threads.back(), here);
}

}  // namespace
}  // namespace weir::http
