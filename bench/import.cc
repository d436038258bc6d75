// import DIR FILE: a pi session file into a fresh store, then verify. Prints MB/s of each and the memory it took.
#include "service/import.h"

#include <cstdlib>

#include "bench/meter.h"
#include "store/verify.h"

using namespace weir;

namespace {

double peak_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  ServiceSettings settings;
  settings.store_directory = argv[1];
  auto service = Service::open(settings, Store::Access::write, Doors{});
  const auto size = system_files().stat(argv[2]);
  if (!service.ok() || !size.ok()) return 1;
  const double megabytes = static_cast<double>(size->size) / 1e6;
  double begin = bench::wall_us(), cpu = bench::cpu_us();
  ImportInput input;
  input.format = "pi";
  input.path = argv[2];
  const auto imported = import_file(**service, input, [](const ImportProgress&) { return true; });
  if (!imported.ok()) {
    std::fprintf(stderr, "%s\n", imported.error().message().c_str());
    return 1;
  }
  bench::figure("import_mb_s", megabytes / (bench::wall_us() - begin) * 1e6, "MB/s");
  bench::figure("import_cpu_mb_s", megabytes / (bench::cpu_us() - cpu) * 1e6, "MB/s");
  bench::figure("import_entries", static_cast<double>(imported->report.entries), "entries");
  bench::figure("import_peak_mb", peak_mb(), "MB");
  begin = bench::wall_us();
  cpu = bench::cpu_us();
  const auto report = verify((*service)->store(), {}, [](const VerifyProgress&) { return true; });
  if (!report.ok() || !report->findings.empty()) return 1;
  bench::figure("verify_mb_s", static_cast<double>(report->bytes) / (bench::wall_us() - begin), "MB/s");
  bench::figure("verify_cpu_mb_s", static_cast<double>(report->bytes) / (bench::cpu_us() - cpu), "MB/s");
  return 0;
}
