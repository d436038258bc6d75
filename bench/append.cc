// append DIR COUNT BYTES full|normal [THREADS]: entries of about BYTES bytes through the service, as a face would:
// JSON text in, masked, canonical, hashed, durable.
#include "service/append.h"

#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "bench/meter.h"
#include "json/parse.h"
#include "session/address.h"

using namespace weir;

namespace {

// Messages that look like an agent's: words, code, a path, a number.
std::string message(std::size_t bytes, std::uint32_t seed) {
  static const char* const kWords[] = {"return", "const",       "result", "the",    "ledger",   "entry",    "is",
                                       "posted", "src/main.cc", "42",     "error:", "expected", "function", "and",
                                       "while",  "value",       "{ }",    "=>",     "test",     "passed"};
  std::minstd_rand random(seed);
  std::string text;
  while (text.size() < bytes) text.append(kWords[random() % std::size(kWords)]).append(1, ' ');
  text.resize(bytes);
  return "{\"type\":\"message\",\"body\":{\"role\":\"assistant\",\"content\":\"" + text + "\"}}";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string directory = argv[1];
  const std::size_t count = std::strtoul(argv[2], nullptr, 10), bytes = std::strtoul(argv[3], nullptr, 10);
  const std::size_t threads = argc > 5 ? std::strtoul(argv[5], nullptr, 10) : 1;
  ServiceSettings settings;
  settings.store_directory = directory;
  settings.durability = std::strcmp(argv[4], "full") == 0 ? Durability::full : Durability::normal;
  auto service = Service::open(settings, Store::Access::write, Doors{});
  if (!service.ok()) {
    std::fprintf(stderr, "%s\n", service.error().message().c_str());
    return 1;
  }
  std::vector<std::string> inputs;
  for (std::uint32_t i = 0; i < 256; ++i) inputs.push_back(message(bytes, i));
  std::atomic<bool> failed{false};
  std::vector<std::vector<double>> latencies(threads);
  const double wall = bench::wall_us(), cpu = bench::cpu_us();
  const auto work = [&](std::size_t t) {
    json::Parser parser;
    const SessionId session = SessionId::trusted("s" + std::to_string(t));
    for (std::size_t i = 0; i < count / threads; ++i) {
      const double begin = bench::wall_us();
      AppendCall call(**service, session, main_head(), std::nullopt, false);
      auto entry = parser.parse(inputs[i % inputs.size()]);
      if (!entry.ok() || !call.add(*entry, "", parser.arena()).ok() || !call.commit().ok()) {
        failed = true;
        return;
      }
      latencies[t].push_back(bench::wall_us() - begin);
    }
  };
  std::vector<std::thread> workers;
  for (std::size_t t = 1; t < threads; ++t) workers.emplace_back(work, t);
  work(0);
  for (std::thread& worker : workers) worker.join();
  const double wall_spent = bench::wall_us() - wall, cpu_spent = bench::cpu_us() - cpu;
  if (failed) return 1;
  std::vector<double> all;
  for (auto& list : latencies) all.insert(all.end(), list.begin(), list.end());
  const double n = static_cast<double>(all.size());
  bench::figure("put_ops_s", n / wall_spent * 1e6, "1/s");
  bench::figure("put_p50_us", bench::percentile(all, 0.5), "us");
  bench::figure("put_p99_us", bench::percentile(all, 0.99), "us");
  bench::figure("cpu_us_per_put", cpu_spent / n, "us");
  return 0;
}
