// conversation DIR LARGE: one more entry in a conversation of 10,000 and of LARGE entries of 1 KB, what it costs on disk,
// reading a head at that size, and opening a store of 10,000 entries up to its folded state.
#include <sys/stat.h>

#include <cstdlib>

#include "bench/meter.h"
#include "bench/must.h"
#include "json/parse.h"
#include "service/append.h"
#include "service/sessions.h"
#include "session/address.h"

using namespace weir;
using bench::fail;

namespace {

constexpr std::size_t kPayload = 1024, kBatch = 500, kSmall = 10000;

std::string body(std::uint64_t i) {
  std::string text = "entry " + std::to_string(i) + " ";
  while (text.size() < kPayload) text += "the ledger is posted and the test passed; ";
  text.resize(kPayload - 36);
  return "{\"role\":\"assistant\",\"content\":\"" + text + "\"}";
}

std::unique_ptr<Service> open_store(const std::string& directory) {
  ServiceSettings settings;
  settings.store_directory = directory;
  settings.durability = Durability::normal;
  auto service = Service::open(settings, Store::Access::write, Doors{});
  if (!service.ok()) fail(service.error());
  return std::move(service).value();
}

void append(Service& service, std::uint64_t from, std::uint64_t count) {
  json::Parser parser;
  AppendCall call(service, SessionId::trusted("talk"), main_head(), std::nullopt, false);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto parsed = parser.parse(body(from + i));
    if (!parsed.ok()) fail(parsed.error());
    if (auto added = call.add_body("message", *parsed, std::nullopt, std::nullopt, parser.arena()); !added.ok()) fail(added.error());
  }
  if (auto done = call.commit(); !done.ok()) fail(done.error());
}

void grow(Service& service, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t at = from; at < to; at += kBatch) append(service, at, std::min<std::uint64_t>(kBatch, to - at));
}

double one_more_p50(Service& service, std::uint64_t& at) {
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) {
    const double begin = bench::wall_us();
    append(service, at++, 1);
    times.push_back(bench::wall_us() - begin);
  }
  return bench::percentile(times, 0.5);
}

double head_p50(Service& service) {
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) {
    const double begin = bench::wall_us();
    Seq seq = 0;
    auto read = service.log().read([&](LogReader& reader) -> Result<void> {
      TRY(const SessionRow session, need_session(reader, SessionId::trusted("talk")));
      TRY(seq, need_head(reader, session, main_head()));
      TRY(const auto entry, reader.entry(session.no, seq));
      return entry ? Result<void>() : Error(ErrorCode::NOT_FOUND, "gone");
    });
    if (!read.ok()) fail(read.error());
    times.push_back(bench::wall_us() - begin);
  }
  return bench::percentile(times, 0.5);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string directory = argv[1];
  const std::uint64_t large = std::strtoull(argv[2], nullptr, 10);
  std::uint64_t at = 0;
  {
    auto service = open_store(directory);
    grow(*service, 0, kSmall);
    at = kSmall;
  }
  {
    const double begin = bench::wall_us();
    auto service = open_store(directory);
    std::uint64_t entries = 0;
    auto folded = service->log().read([&](LogReader& reader) -> Result<void> {
      TRY(const SessionRow session, need_session(reader, SessionId::trusted("talk")));
      TRY(const Seq seq, need_head(reader, session, main_head()));
      TRY(const auto state, service->stats_fold().at(reader, session.no, seq));
      entries = state->entries;
      return {};
    });
    if (!folded.ok()) fail(folded.error());
    if (entries != kSmall) return 1;
    bench::figure("open_and_fold_ms", (bench::wall_us() - begin) / 1000, "ms");
  }
  auto service = open_store(directory);
  if (!service->store().sqlite()->compact(false).ok()) return 1;
  const double bytes = static_cast<double>(service->store().database_bytes());
  bench::figure("bytes_beyond_payload", bytes / kSmall - kPayload, "B");
  const double small = one_more_p50(*service, at);
  bench::figure("one_more_10k_p50_us", small, "us");
  bench::figure("head_10k_p50_us", head_p50(*service), "us");
  grow(*service, at, large);
  at = std::max(at, large);
  const double later = one_more_p50(*service, at);
  bench::figure("one_more_large_p50_us", later, "us");
  bench::figure("one_more_growth", later / small, "x");
  bench::figure("head_large_p50_us", head_p50(*service), "us");
  return 0;
}
