// reads DIR ENTRIES: what a read costs in a session of 100 and of ENTRIES entries, 40 % of them reads of 200 files; beside it
// the least it can cost, open, read and SHA-256 of the same file. And the cold trust state, memory, and diffs.
#include "service/reads.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "base/sha256.h"
#include "bench/meter.h"
#include "bench/must.h"
#include "json/parse.h"
#include "readcache/line_diff.h"
#include "service/append.h"
#include "session/address.h"
#include "session/types.h"

using namespace weir;
using bench::must;

namespace {

constexpr std::size_t kFiles = 200, kBatch = 500;

std::string text_of(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; text.size() < bytes; ++i) text += "line " + std::to_string(i) + " of a file that is read again and again\n";
  text.resize(bytes);
  return text;
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::unique_ptr<Service> open_store(const std::string& directory) {
  ServiceSettings settings;
  settings.store_directory = directory;
  settings.durability = Durability::normal;
  return must(Service::open(settings, Store::Access::write, Doors{}));
}

// The i-th entry of a long session: two of five are reads, most of them markers.
ReadRecord record(std::uint64_t i) {
  ReadRecord out;
  out.path = "/repo/src/file" + std::to_string(i * 7919 % kFiles) + ".cc";
  const bool anchor = i / kFiles % 5 == 0;
  out.served = sha256(out.path + std::to_string(i / kFiles / 5)).hex();
  out.mode = anchor ? ReadMode::full : ReadMode::unchanged;
  if (!anchor) out.base = out.served;
  out.total_lines = 400;
  out.range = {1, 400};
  out.bytes = 16000;
  if (anchor) out.shown = {out.range};
  out.text_sha256 = out.served;
  out.reason = anchor ? "no_base_hash" : "hash_match";
  out.sent = anchor ? 16000 : 33;
  out.baseline = 16000;
  return out;
}

// Nothing is claimed in a session whose compactions nobody reports, so its host says that they reach the log.
void follow(Service& service, const SessionId& session) {
  json::Arena arena;
  AppendCall call(service, session, main_head(), std::nullopt, false);
  must(call.add_body(types::kSessionInfo, json::make_object(arena, {{"barrier_feed", true}}), std::nullopt, std::nullopt, arena));
  must(call.commit());
}

void grow(Service& service, const SessionId& session, std::uint64_t count) {
  follow(service, session);
  std::uint64_t reads = 0;
  for (std::uint64_t from = 0; from < count; from += kBatch) {
    json::Arena arena;
    AppendCall call(service, session, main_head(), std::nullopt, false);
    for (std::uint64_t i = from; i < std::min(count, from + kBatch); ++i) {
      if (i % 5 < 2) {
        must(call.add_body(types::kRead, to_json(record(reads++), arena), std::nullopt, std::nullopt, arena));
      } else {
        const json::Value body = json::make_object(
            arena, {{"role", i % 5 == 2 ? "user" : "assistant"}, {"content", arena.copy("entry " + std::to_string(i) + text_of(400))}});
        must(call.add_body(types::kMessage, body, std::nullopt, std::nullopt, arena));
      }
    }
    must(call.commit());
  }
}

double p50(std::size_t times, const std::function<void()>& work) {
  std::vector<double> spent;
  for (std::size_t i = 0; i < times; ++i) {
    const double begin = bench::wall_us();
    work();
    spent.push_back(bench::wall_us() - begin);
  }
  return bench::percentile(spent, 0.5);
}

// Open, read and hash, and nothing else.
void floor_read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  static std::string buffer(256 * 1024, '\0');
  Sha256 hash;
  for (ssize_t n = 0; (n = ::read(fd, buffer.data(), buffer.size())) > 0;) hash.update({buffer.data(), static_cast<std::size_t>(n)});
  ::close(fd);
  static_cast<void>(hash.finish());
}

ReadReply read(Service& service, const ReadSource& source, const SessionId& session, const std::string& path, ReadCall::Record how,
               LineRequest lines = {}) {
  ReadCall call;
  call.session = session;
  call.head = main_head();
  call.path = path;
  call.record = how;
  call.lines = lines;
  call.cwd = "/";
  ReadReply reply = must(read_file(service, source, call, [] { return false; }));
  if (reply.receipt) reply.receipt->received();
  return reply;
}

// Of a marker for a file that was shown, as a host that owns its log asks for it.
double unchanged_p50(Service& service, const ReadSource& source, const SessionId& session, const std::string& path, std::size_t times) {
  return p50(times, [&] {
    const ReadReply reply = read(service, source, session, path, ReadCall::Record::host);
    if (!reply.record || !is_marker(reply.record->mode)) std::exit(3);
    service.pending_reads().drop(session);
  });
}

double resident_mb() {
  std::ifstream status("/proc/self/statm");
  double pages = 0, resident = 0;
  status >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1048576;
}

void cost_by_length(const std::string& directory, const ReadSource& source, std::uint64_t entries) {
  auto service = open_store(directory + "/store");
  const std::string path = directory + "/small.txt";
  write_file(path, text_of(2000));
  std::vector<double> costs;
  for (const std::uint64_t count : {std::uint64_t{100}, entries}) {
    const SessionId session = SessionId::trusted("n" + std::to_string(count));
    grow(*service, session, count);
    read(*service, source, session, path, ReadCall::Record::log);
    costs.push_back(unchanged_p50(*service, source, session, path, 2000));
  }
  bench::figure("read_at_100_p50_us", costs[0], "us");
  bench::figure("read_at_many_p50_us", costs[1], "us");
  bench::figure("read_growth", costs[1] / costs[0], "x");
}

void cold_state(const std::string& directory, std::uint64_t entries) {
  const SessionId session = SessionId::trusted("n" + std::to_string(entries));
  std::vector<double> cold, floor;
  for (int round = 0; round < 5; ++round) {
    auto service = open_store(directory + "/store");
    must(service->log().read([&](LogReader& reader) -> Result<void> {
      TRY(const auto row, reader.session(session));
      TRY(const Seq head, need_head(reader, *row, main_head()));
      // The floor: the same rows read, parsed and hashed.
      double begin = bench::wall_us();
      json::Parser parser;
      TRY_DO(reader.scan(row->no, 1, head, Order::forward, Columns::all, [&](Entry& entry) -> Result<bool> {
        TRY_DO(parser.parse_stored(entry.body));
        static_cast<void>(sha256(entry.body));
        return true;
      }));
      floor.push_back(bench::wall_us() - begin);
      begin = bench::wall_us();
      TRY_DO(service->trust_fold().at(reader, row->no, head));
      cold.push_back(bench::wall_us() - begin);
      return {};
    }));
  }
  bench::figure("cold_trust_ms", bench::percentile(cold, 0.5) / 1000, "ms");
  bench::figure("cold_floor_ms", bench::percentile(floor, 0.5) / 1000, "ms");
}

void cost_by_size(const std::string& directory, const ReadSource& source) {
  auto service = open_store(directory + "/sizes");
  const SessionId session = SessionId::trusted("s");
  follow(*service, session);
  for (const std::size_t kb : {2, 100, 1000}) {
    const std::string path = directory + "/f" + std::to_string(kb);
    write_file(path, text_of(kb * 1000));
    // Shown whole, answer by answer.
    for (std::uint64_t next = 1;;) {
      const ReadReply reply = read(*service, source, session, path, ReadCall::Record::log, {next, std::nullopt});
      if (reply.record->shown.empty() || reply.record->shown.back().last == reply.record->total_lines) break;
      next = reply.record->shown.back().last + 1;
    }
    const std::size_t times = kb == 2 ? 5000 : kb == 100 ? 1000 : 200;
    // In turns, so that a noisy moment hits both.
    std::vector<double> ours, floors;
    for (int round = 0; round < 5; ++round) {
      floors.push_back(p50(times / 5, [&] { floor_read(path); }));
      ours.push_back(unchanged_p50(*service, source, session, path, times / 5));
    }
    const std::string name = "unchanged_" + std::to_string(kb) + "kb";
    bench::figure((name + "_p50_us").c_str(), bench::percentile(ours, 0.5), "us");
    bench::figure((name + "_floor_us").c_str(), bench::percentile(floors, 0.5), "us");
  }
}

void large_file(const std::string& directory, const ReadSource& source) {
  const std::string path = directory + "/large.log";
  {
    std::ofstream out(path, std::ios::binary);
    const std::string part = text_of(1'000'000);
    for (int i = 0; i < 200; ++i) out << part;
  }
  auto service = open_store(directory + "/large");
  const SessionId session = SessionId::trusted("s");
  std::vector<double> ours, floors;
  for (int round = 0; round < 5; ++round) {
    floors.push_back(p50(1, [&] { floor_read(path); }));
    ours.push_back(p50(1, [&] { read(*service, source, session, path, ReadCall::Record::host, {LineRequest{1'000'000, 10}}); }));
  }
  bench::figure("ten_of_200mb_ms", bench::percentile(ours, 0.5) / 1000, "ms");
  bench::figure("ten_of_200mb_floor_ms", bench::percentile(floors, 0.5) / 1000, "ms");
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  ::unlink(path.c_str());
}

// 8,000 reads of 200 files in one process, each remembered.
void memory_of_reads(const std::string& directory, const ReadSource& source) {
  auto service = open_store(directory + "/memory");
  const SessionId session = SessionId::trusted("s");
  follow(*service, session);
  ::mkdir((directory + "/many").c_str(), 0700);
  for (std::size_t i = 0; i < kFiles; ++i) write_file(directory + "/many/" + std::to_string(i), text_of(2000 + i));
  const double before = resident_mb();
  const double begin = bench::wall_us();
  for (std::size_t i = 0; i < 8000; ++i)
    read(*service, source, session, directory + "/many/" + std::to_string(i * 7919 % kFiles), ReadCall::Record::log);
  bench::figure("reads_8000_s", (bench::wall_us() - begin) / 1e6, "s");
  bench::figure("reads_8000_mb", resident_mb() - before, "MB");
}

void diffs() {
  std::string base;
  for (int i = 0; i < 12000; ++i)
    base += "line " + std::to_string(i) + " with some text that makes it about eighty bytes long, as code is, more or less\n";
  std::string scattered = base, rewritten;
  for (int k = 99; k >= 0; --k)
    scattered.insert(scattered.find('\n', static_cast<std::size_t>(k) * (scattered.size() / 100)) + 1,
                     "EDITED " + std::to_string(k) + "\n");
  for (int i = 0; i < 12000; ++i)
    rewritten += "another line " + std::to_string(i * 7919 % 12000) + " that has nothing in common with what was there before\n";
  const auto cost = [&](const std::string& a, const std::string& b) {
    return p50(20, [&] {
      const LineTable old_lines(a), new_lines(b);
      static_cast<void>(diff_lines(old_lines, new_lines, 20'000'000, [] { return false; }));
    });
  };
  bench::figure("diff_100_edits_ms", cost(base, scattered) / 1000, "ms");
  bench::figure("diff_rewrite_ms", cost(base, rewritten) / 1000, "ms");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string directory = argv[1];
  ReadOptions options;
  options.roots = {directory};
  options.marker_repeat = 0;
  const auto source = must(ReadSource::open(options, directory + "/none"));
  const std::uint64_t entries = std::strtoul(argv[2], nullptr, 10);
  memory_of_reads(directory, *source);
  cost_by_length(directory, *source, entries);
  cold_state(directory, entries);
  cost_by_size(directory, *source);
  large_file(directory, *source);
  diffs();
  return 0;
}
