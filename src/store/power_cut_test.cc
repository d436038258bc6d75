// Power cuts at every moment of a run: whatever the disk holds then, the store opens, verifies, and has everything that
// was acknowledged. SQLite's writes and the blobs' are recorded (testing/crash_vfs.h), and after each the states that a
// cut could leave are built and opened.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "service/append.h"
#include "service/objects.h"
#include "service/reading.h"
#include "service/sessions.h"
#include "session/address.h"
#include "store/verify.h"
#include "testing/crash_disk.h"
#include "testing/crash_vfs.h"
#include "testing/effort.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::DiskEvent;
using testing::DiskModel;
using testing::DiskRecorder;
using testing::must;
using Cut = DiskModel::Cut;

constexpr std::uint64_t kSeed = 20260117;
constexpr std::size_t kStride = testing::one_in(5);

// In memory where there is such a place: each state is written out in full.
class Scratch {
 public:
  Scratch() {
    std::string pattern = std::filesystem::is_directory("/dev/shm") ? "/dev/shm/weir-cut-XXXXXX"
                                                                    : (std::filesystem::temp_directory_path() / "weir-cut-XXXXXX").string();
    WEIR_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  void empty() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) std::filesystem::remove_all(entry.path());
  }

 private:
  std::string path_;
};

// One step of a run, by its number. Session "s" grows by an entry in each, "t<i>" come and go.
std::string entry_id(int i) { return fmt::format("n{}", i); }
std::string content(int i) {
  return fmt::format("{} of {} ", i % 4 == 0 ? "blob" : "text", i) +
         std::string(i % 4 == 0 ? 66000 : 100 + 37 * i % 1500, static_cast<char>('a' + i % 26));
}
std::string side_session(int i) { return fmt::format("t{}", i); }
bool forks(int i) { return i % 5 == 2; }
bool purges(int i) { return i % 6 == 5 && i > 6; }  // the side session of two steps of this kind before
bool has_side_session(int i) { return i % 6 == 5; }
bool collects(int i) { return i % 7 == 3; }

Result<void> append_to(Service& service, const std::string& session, const std::string& id, const std::string& text) {
  json::Arena arena;
  AppendCall call(service, SessionId::trusted(session), main_head(), std::nullopt, false);
  TRY_DO(call.add_body("message", json::make_object(arena, {{"role", "user"}, {"content", text}}), id, std::nullopt, arena));
  TRY_DO(call.commit());
  return {};
}

// Done again after a kill, what is there stays as it is.
Result<void> unless(ErrorCode code, const Result<void>& done) { return !done.ok() && done.error().code() == code ? Result<void>() : done; }
template <typename T>
Result<void> outcome(const Result<T>& result) {
  return result.ok() ? Result<void>() : Result<void>(result.error());
}

Result<void> step(Service& service, int i) {
  TRY_DO(append_to(service, "s", entry_id(i), content(i)));
  if (forks(i))
    TRY_DO(unless(ErrorCode::CONFLICT, outcome(fork_head(service, {SessionId::trusted("s"), main_head(), entry_id(i), false},
                                                         HeadName::trusted(entry_id(i)), false))));
  if (has_side_session(i))
    TRY_DO(append_to(service, side_session(i), "only", "blob beside " + std::to_string(i) + std::string(70000, 's')));
  if (purges(i)) TRY_DO(unless(ErrorCode::NOT_FOUND, outcome(purge_session(service, SessionId::trusted(side_session(i - 6)), false))));
  if (collects(i)) TRY_DO(collect_garbage(service, false, [](std::uint64_t) { return true; }));
  return {};
}

class Machine {
 public:
  Machine(const std::string& directory, Durability durability, std::uint64_t seed = 7)
      : disk_(directory), files_(disk_), vfs_(disk_), random_(seed) {
    settings_.store_directory = directory + "/store";
    settings_.durability = durability;
  }

  void run(int first, int last) {
    const auto service = must(Service::open(settings_, Store::Access::write, {files_, clock_, random_}));
    for (int i = first; i <= last; ++i) {
      must(step(*service, i));
      disk_.acknowledge(std::to_string(i));
    }
  }
  const std::vector<DiskEvent>& events() const { return disk_.events(); }

 private:
  DiskRecorder disk_;
  testing::RecordedFiles files_;
  testing::CrashVfs vfs_;
  testing::SteppingClock clock_{1700000000000, 1};
  testing::SeededRandom random_;
  ServiceSettings settings_;
};

// What is wrong with a store after a power cut, given the last step that was acknowledged; empty if nothing.
class Judge {
 public:
  explicit Judge(Durability durability) : durability_(durability) {}

  std::string judge(const std::string& directory, int acknowledged) {
    const auto checked = check(directory + "/store", durability_ == Durability::full ? acknowledged : 0);
    return checked.ok() ? "" : checked.error().message();
  }
  int most() const { return most_; }

 private:
  static Error wrong(std::string what) { return Error(ErrorCode::CORRUPT, std::move(what)); }

  Result<void> check(const std::string& store, int acknowledged) {
    if (!std::filesystem::exists(store + "/weir.db")) return acknowledged == 0 ? Result<void>() : wrong("there is no store");
    ServiceSettings settings;
    settings.store_directory = store;
    settings.durability = durability_;
    TRY(const auto service, Service::open(settings, Store::Access::write, {}));
    TRY(const VerifyReport report, verify(service->store(), {}, [](const VerifyProgress&) { return true; }));
    if (!report.findings.empty())
      return wrong("verify: " + report.findings[0].session + " " + report.findings[0].object + " " + report.findings[0].what);
    int count = 0;
    SessionRow session;
    TRY_DO(service->log().read([&](LogReader& reader) -> Result<void> {
      TRY(const auto found, reader.session(SessionId::trusted("s")));
      if (found) session = *found;
      return {};
    }));
    auto read = read_all(*service, SessionId::trusted("s"), [&](const Entry& entry, const EntryId&) -> Result<bool> {
      ++count;
      TRY(const std::string body, resolved_body(*service, session.no, entry));
      if (entry.id.str() != entry_id(count) || body != fmt::format(R"({{"content":"{}","role":"user"}})", content(count)))
        return wrong("bytes of entry " + entry.id.str());
      return true;
    });
    if (!read.ok() && read.error().code() != ErrorCode::NOT_FOUND) return read;
    most_ = std::max(most_, count);
    if (count < acknowledged) return wrong(fmt::format("lost: {} steps were acknowledged, {} are there", acknowledged, count));
    TRY_DO(check_rest(*service, acknowledged, count));
    // It takes what comes next.
    return append_to(*service, "s", entry_id(count + 1), content(count + 1));
  }

  Result<void> check_rest(Service& service, int acknowledged, int count) {
    std::set<std::string> sessions, heads;
    TRY(const auto listed, list_sessions(service));
    for (const SessionSummary& session : listed) {
      sessions.insert(session.id.str());
      if (session.id.str() != "s") continue;
      for (const auto& [name, entry] : session.heads) heads.insert(name.str());
    }
    for (int i = 1; i <= count; ++i) {
      if (forks(i) && i <= acknowledged && !heads.contains(entry_id(i))) return wrong("lost: head " + entry_id(i));
      if (!has_side_session(i)) continue;
      const bool there = sessions.contains(side_session(i));
      if (!there && i <= acknowledged && i + 6 > count) return wrong("lost: session " + side_session(i));
      if (there && i + 6 <= acknowledged) return wrong("not purged: session " + side_session(i));
    }
    return {};
  }

  const Durability durability_;
  int most_ = 0;
};

struct Tally {
  std::size_t points = 0, states = 0, distinct = 0;
};

// Judges every state after every event that changes the disk.
Tally judge_all(const std::vector<DiskEvent>& events, Durability durability, const std::vector<Cut>& cuts, std::size_t first = 0,
                std::size_t stride = 1) {
  Tally tally;
  Judge judge(durability);
  DiskModel model;
  testing::SeededRandom random(kSeed);
  std::set<std::string> seen;
  const Scratch scratch;
  int acknowledged = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool ack = events[i].kind == DiskEvent::Kind::acknowledge;
    if (ack) acknowledged = std::stoi(events[i].path);
    model.apply(events[i]);
    if (i < first || (i % stride != 0 && !ack)) continue;
    ++tally.points;
    for (const Cut cut : cuts) {
      ++tally.states;
      const DiskModel::Image image = model.after(cut, random);
      Sha256 hash;
      hash.update(std::to_string(acknowledged));
      for (const auto& [path, bytes] : image)
        hash.update(path).update(bytes ? fmt::format("={}:", bytes->size()) : "/").update(bytes.value_or(""));
      if (!seen.insert(hash.finish().hex()).second) continue;
      ++tally.distinct;
      scratch.empty();
      DiskModel::write_out(image, scratch.path());
      const std::string violation = judge.judge(scratch.path(), acknowledged);
      EXPECT_EQ(violation, "") << "after event " << i << " of " << events.size() << ", cut " << static_cast<int>(cut) << ", seed " << kSeed;
      if (!violation.empty()) return tally;
    }
  }
  EXPECT_GT(judge.most(), 0);
  return tally;
}

void note(const Tally& tally) {
  ::testing::Test::RecordProperty("points", static_cast<int>(tally.points));
  ::testing::Test::RecordProperty("states", static_cast<int>(tally.states));
  fmt::print("{} points, {} states, {} distinct, seed {}\n", tally.points, tally.states, tally.distinct, kSeed);
}

const std::vector<Cut> kAllCuts = {Cut::synced, Cut::names, Cut::zeros, Cut::torn, Cut::sectors, Cut::nothing};

TEST(PowerCutTest, NothingAcknowledgedIsLostWithFullDurability) {
  const Scratch scratch;
  Machine machine(scratch.path(), Durability::full);
  machine.run(1, 12);
  note(judge_all(machine.events(), Durability::full, kAllCuts, 0, kStride));
}

TEST(PowerCutTest, NormalDurabilityLosesTheEndAtMostAndIsNeverDamaged) {
  const Scratch scratch;
  Machine machine(scratch.path(), Durability::normal);
  machine.run(1, 12);
  note(judge_all(machine.events(), Durability::normal, kAllCuts, 0, kStride));
}

// The WAL begins again at its front once a thousand pages were checkpointed.
TEST(PowerCutTest, NothingIsLostWhereTheLogStartsAgain) {
  const Scratch scratch;
  DiskRecorder disk(scratch.path());
  testing::RecordedFiles files(disk);
  {
    const testing::CrashVfs vfs(disk);
    ServiceSettings settings;
    settings.store_directory = scratch.path() + "/store";
    const auto service = must(Service::open(settings, Store::Access::write, {files}));
    must(append_to(*service, "big", "1", std::string(60000, 'b')));
    for (int i = 2; i <= 70; ++i) must(append_to(*service, "big", std::to_string(i), std::string(60000, 'b')));
    for (int i = 1; i <= 3; ++i) {
      must(step(*service, i));
      disk.acknowledge(std::to_string(i));
    }
  }
  // From just before the first write into the database that the log made.
  std::size_t first = 0;
  for (std::size_t i = 0; i < disk.events().size(); ++i) {
    if (disk.events()[i].kind == DiskEvent::Kind::write && disk.events()[i].path == "store/weir.db" &&
        disk.events()[i].offset > 100 * 4096) {
      first = i;
      break;
    }
  }
  ASSERT_GT(first, 500u);
  note(judge_all(disk.events(), Durability::full, {Cut::synced, Cut::torn, Cut::sectors}, first - 20, 80 * kStride));
}

// A process is killed, which loses nothing; another goes on; then the power fails. What the first one left unsynced is not
// taken for durable by the second.
TEST(PowerCutTest, WhatAKilledProcessLeftUnsyncedIsNotTakenForDurable) {
  const Scratch first_disk;
  Machine machine(first_disk.path(), Durability::full);
  machine.run(1, 5);
  const std::vector<DiskEvent> before = machine.events();
  std::size_t restarts = 0;
  int acknowledged = 0;
  DiskModel model;
  testing::SeededRandom random(kSeed);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].kind == DiskEvent::Kind::acknowledge) acknowledged = std::stoi(before[i].path);
    model.apply(before[i]);
    if (i % (3 * kStride) != 0) continue;
    ++restarts;
    const Scratch scratch, cut;
    DiskModel::write_out(model.after(Cut::nothing, random), scratch.path());
    DiskModel disk(model);
    Machine again(scratch.path(), Durability::full, 8);
    again.run(acknowledged + 1, acknowledged + 2);  // the first of them may be there already, without a sync
    for (const DiskEvent& event : again.events()) {
      disk.apply(event);
      if (event.kind != DiskEvent::Kind::acknowledge) continue;
      cut.empty();
      DiskModel::write_out(disk.after(Cut::synced, random), cut.path());
      ASSERT_EQ(Judge(Durability::full).judge(cut.path(), std::stoi(event.path)), "")
          << "killed after event " << i << ", cut after step " << event.path;
    }
  }
  EXPECT_GT(restarts, 30u / kStride);
}

}  // namespace
}  // namespace weir
