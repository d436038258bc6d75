// context DIR COUNT: a session of COUNT entries with a compaction at its end, made in DIR; then what one more message and its
// prompt cost in a process that stays, again and again. bench/run asks the program itself for the prompt of one that has just begun.
#include "service/context.h"

#include <cstdlib>

#include "bench/meter.h"
#include "bench/must.h"
#include "json/parse.h"
#include "service/append.h"
#include "service/compact.h"
#include "service/compile.h"
#include "session/address.h"

using namespace weir;
using bench::fail, bench::must;

namespace {

constexpr std::size_t kBatch = 1000, kRounds = 200;

// A third are calls and a third their results, of some hundred files.
std::string body(std::uint64_t i) {
  const std::string n = std::to_string(i / 3), id = "toolu_" + n;
  std::string text = "step " + n + ": ";
  while (text.size() < 300) text += "the build went on and the next file was read, then changed; ";
  switch (i % 3) {
    case 0:
      return R"({"role":"user","content":")" + text + "\"}";
    case 1:
      return R"({"role":"assistant","content":"reading","tool_calls":[{"id":")" + id + R"(","name":"read","arguments":{"path":"src/)" +
             std::to_string(i / 3 % 300) + R"(.cc"}}]})";
    default:
      return R"({"role":"tool","tool_call_id":")" + id + R"(","name":"read","content":")" + text + "\"}";
  }
}

void append(Service& service, std::uint64_t from, std::uint64_t count) {
  AppendCall call(service, SessionId::trusted("talk"), main_head(), std::nullopt, false);
  json::Parser parser;
  for (std::uint64_t i = from; i < from + count; ++i) {
    const json::Value value = must(parser.parse(body(i)));
    if (auto added = call.add_body("message", value, std::nullopt, std::nullopt, parser.arena()); !added.ok()) fail(added.error());
  }
  must(call.commit());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  ServiceSettings settings;
  settings.store_directory = argv[1];
  settings.durability = Durability::normal;
  const auto service = must(Service::open(settings, Store::Access::write, Doors{}));
  for (std::uint64_t at = 0; at < count; at += kBatch) append(*service, at, std::min<std::uint64_t>(kBatch, count - at));
  CompactRequest request;
  request.session = SessionId::trusted("talk");
  request.head = main_head();
  if (!must(compact(*service, request)).pass) return 1;

  ContextQuery query{.address = {SessionId::trusted("talk"), main_head(), "", false}, .config = {}, .request = {}};
  query.config.compile = compile_defaults(*service);
  query.config.max_bytes = 200'000;
  std::vector<double> times;
  std::uint64_t at = count;
  const std::uint64_t steps = service->nodes_fold().steps() + service->run_fold().steps();
  for (std::size_t i = 0; i < kRounds; ++i) {
    append(*service, at++, 1);
    const double begin = bench::cpu_us();
    must(next_context(*service, query));
    times.push_back((bench::cpu_us() - begin) / 1000);
  }
  bench::figure("warm_p50_ms", bench::percentile(times, 0.5), "ms");
  bench::figure("warm_p99_ms", bench::percentile(times, 0.99), "ms");
  bench::figure("warm_steps", static_cast<double>(service->nodes_fold().steps() + service->run_fold().steps() - steps) / kRounds,
                "a prompt");
  return 0;
}
