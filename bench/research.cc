// research DIRECTORY PERSPECTIVES ROUNDS: what a pack and its gate D cost at the size of the largest runs, beside reading and writing
// the same files and nothing else, and at a tenth and a third of the size; what normalising ten URLs for each costs.
#include "service/research.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/sha256.h"
#include "bench/meter.h"
#include "research/url.h"

using namespace weir;

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

template <typename T>
T need(Result<T> result) {
  if (!result.ok()) fail(std::string(info(result.error().code()).name) + ": " + result.error().message());
  return std::move(*result);
}

// Counts what becomes durable.
class CountedFiles final : public Files {
 public:
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override { return real_.open(path); }
  Result<FileStat> stat(const std::string& path) override { return real_.stat(path); }
  Result<std::vector<std::string>> list(const std::string& directory) override { return real_.list(directory); }
  Result<void> write_synced(const std::string& path, std::string_view bytes) override {
    ++written;
    ++syncs;
    return real_.write_synced(path, bytes);
  }
  Result<void> write_new(const std::string& path, std::string_view bytes) override {
    ++written;
    return real_.write_new(path, bytes);
  }
  Result<void> sync_file_system(const std::string& path) override {
    ++syncs;
    return real_.sync_file_system(path);
  }
  Result<void> rename(const std::string& from, const std::string& to) override { return real_.rename(from, to); }
  Result<void> sync_directory(const std::string& path) override {
    ++syncs;
    return real_.sync_directory(path);
  }
  Result<void> make_directory(const std::string& path) override { return real_.make_directory(path); }
  Result<void> remove(const std::string& path) override { return real_.remove(path); }
  Result<void> change_mode(const std::string& path, unsigned mode) override { return real_.change_mode(path, mode); }
  Result<int> percent_full(const std::string& path) override { return real_.percent_full(path); }

  int written = 0, syncs = 0;

 private:
  Files& real_ = system_files();
};

std::string id_of(int i) { return "p" + std::to_string(i); }
std::string url_of(int i) {
  return "https://Research" + std::to_string(i % 97) + ".example.org/studies/mobile/" + std::to_string(i) +
         "/?utm_source=feed&page=" + std::to_string(i % 40) + "&id=" + std::to_string(i) + "#results";
}

constexpr int kClaims = 10;  // of each perspective, each with a citation of its own

std::string perspectives(int count) {
  std::string out = R"({"schema_version":"perspectives.v1","run_id":"run","created_at":"2026-02-13T12:05:00Z","perspectives":[)";
  for (int i = 0; i < count; ++i) {
    out += (i == 0 ? "" : ",") + std::string(R"({"id":")") + id_of(i) + R"(","title":"Question )" + std::to_string(i) +
           R"(","track":"standard","agent_type":"Researcher","prompt_contract":{"max_words":900,"max_sources":12,"tool_budget":{},)"
           R"("must_include_sections":["Findings","Sources"]}})";
  }
  return out + "]}";
}

std::string output(int i) {
  std::string out = "## Findings\n- Load times fell in most of the trials.\n\n## Sources\n";
  for (int n = 0; n < kClaims; ++n) out += "- " + url_of(i * kClaims + n) + "\n";
  return out;
}

std::string citations(int from, int to) {
  std::string out = "[";
  for (int i = from; i < to; ++i) {
    out += (i == from ? "" : ",") + std::string(R"({"url":")") + url_of(i) + R"(","status":"valid","title":"Study )" + std::to_string(i) +
           R"(","evidence_snippet":"In trial )" + std::to_string(i) + " the median time fell by " + std::to_string(i % 90 + 1) +
           R"(% on links with loss.","checked_at":"2026-02-13T12:30:00.000Z"})";
  }
  return out + "]";
}

// About 4 kB.
std::string summary(int i) {
  std::string out = "## Findings\n";
  for (int n = 0; n < kClaims; ++n) {
    const int k = i * kClaims + n;
    const std::string cid = need(research::normalise_url(url_of(k))).cid;
    out += "- In trial " + std::to_string(k) + " the median load time of the pages fell by " + std::to_string(k % 90 + 1) +
           "% once the new transport was on, measured over a week on mobile links with some loss and compared with the same pages, the"
           " same devices and the same hours of the week before it; readers with older devices gained as much as the others, and no page"
           " became slower than it had been [@" +
           cid + "]. (confidence: " + std::to_string(50 + n * 3) + ")\n";
  }
  return out;
}

// Plain system calls, as a program would make them that does nothing else.
std::string read_plain(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st = {};
  if (fd < 0 || ::fstat(fd, &st) != 0) fail("cannot read " + path);
  std::string out(static_cast<std::size_t>(st.st_size), '\0');
  if (::read(fd, out.data(), out.size()) != static_cast<ssize_t>(out.size())) fail("cannot read " + path);
  ::close(fd);
  return out;
}

void write_plain(const std::string& path, const std::string& bytes) {
  const std::string temporary = path + ".new";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) || ::fsync(fd) != 0)
    fail("cannot write " + path);
  ::close(fd);
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail("cannot rename " + path);
}

struct Took {
  double wall = 0, cpu = 0;  // ms
};

template <typename Work>
Took timed(Work&& work) {
  const double wall = bench::wall_us(), cpu = bench::cpu_us();
  work();
  return {(bench::wall_us() - wall) / 1e3, (bench::cpu_us() - cpu) / 1e3};
}

// A run with gates B and C passed and no pack yet, kept to be taken up again and again.
class Bench {
 public:
  Bench(const std::string& directory, int count)
      : directory_(directory + "/" + std::to_string(count)), made_(directory_ + ".made"), count_(count) {
    settings_.store_directory = directory_ + "/store";
    call_.run = SessionId::trusted("run");
    call_.root = directory_ + "/runs/run";
    open();
    make();
    service_.reset();
    std::filesystem::rename(directory_, made_);
  }

  // As it was made; nothing of it is in memory.
  void take_up() {
    service_.reset();
    std::filesystem::remove_all(directory_);
    std::filesystem::copy(made_, directory_, std::filesystem::copy_options::recursive);
  }
  void open() { service_ = need(Service::open(settings_, Store::Access::write, Doors{.files = files_})); }
  void look() { need(research_citations(*service_, call_)); }

  void pack(bool allow_missing = false) { need(research_pack(*service_, call_, allow_missing)); }
  void gate(const std::string& gate = "D") {
    const ResearchAnswer answer = need(research_gate(*service_, call_, gate));
    if (!answer.holds) fail("gate " + gate + " fails: " + answer.text.substr(0, 400));
  }
  std::string bundle() {
    std::string stream;
    need(research_bundle(*service_, call_, &stream));
    return sha256(stream).hex();
  }
  // Every file the two steps need, read once, and every file they leave, written once and synced.
  Took floor() {
    const std::string summaries = call_.root + "/summaries/", copy = directory_ + "/copy-";
    const std::string pack = read_plain(summaries + "summary-pack.json"), meta = read_plain(summaries + "summary-pack.meta.json"),
                      gates = read_plain(call_.root + "/gates.json"), manifest = read_plain(call_.root + "/manifest.json");
    std::size_t bytes = 0;
    const Took took = timed([&] {
      bytes += read_plain(call_.root + "/perspectives.json").size() + read_plain(call_.root + "/citations/citations.jsonl").size();
      for (int i = 0; i < count_; ++i) bytes += read_plain(summaries + id_of(i) + ".md").size();
      write_plain(copy + "pack", pack);
      write_plain(copy + "meta", meta);
      write_plain(copy + "gates", gates);
      write_plain(copy + "manifest", manifest);
    });
    if (bytes == 0) fail("nothing was read");
    return took;
  }

  const CountedFiles& files() const { return files_; }

 private:
  void make() {
    ResearchBegin begin;
    begin.query = "How much faster do pages load?";
    begin.limits = {{"max_wave1_agents", "1000"}, {"max_summary_kb", "5"}, {"max_total_summary_kb", "10000"}};
    need(research_init(*service_, call_, begin));
    need(research_perspectives(*service_, call_, 1, perspectives(count_), {}));
    std::vector<HandedIn> outputs, summaries;
    for (int i = 0; i < count_; ++i) {
      outputs.push_back({id_of(i), output(i), {}, {}, {}, {}});
      summaries.push_back({id_of(i), summary(i), {}, {}, {}, {}});
    }
    const auto nothing = [](std::uint64_t, std::uint64_t) {};
    if (!need(research_ingest(*service_, call_, 1, outputs, nothing)).holds) fail("outputs are refused");
    gate("B");
    for (int i = 0; i < count_ * kClaims; i += 2000)
      need(research_cite(*service_, call_, citations(i, std::min(count_ * kClaims, i + 2000))));
    gate("C");
    if (!need(research_summarize(*service_, call_, summaries, {}, nothing)).holds) fail("summaries are refused");
  }

  const std::string directory_, made_;
  const int count_;
  CountedFiles files_;
  ServiceSettings settings_;
  RunCall call_;
  std::unique_ptr<Service> service_;
};

// Medians of wall and CPU times, printed under one name.
class Times {
 public:
  void add(const Took& took) {
    wall_.push_back(took.wall);
    cpu_.push_back(took.cpu);
  }
  void print(const std::string& name) {
    bench::figure((name + "_ms").c_str(), wall(), "ms");
    bench::figure((name + "_cpu_ms").c_str(), bench::percentile(cpu_, 0.5), "ms");
  }
  double wall() { return bench::percentile(wall_, 0.5); }

 private:
  std::vector<double> wall_, cpu_;
};

void measure(const std::string& directory, int count, int rounds) {
  Bench run(directory, count);
  const std::string at = "_" + std::to_string(count);
  Times floor, pack, gate, both, cold, again, rebuilt;
  std::string bundle;
  int files = 0, syncs = 0;
  for (int i = 0; i < rounds; ++i) {
    run.take_up();
    cold.add(timed([&] {
      run.open();
      run.pack();
      run.gate();
    }));
    floor.add(run.floor());
    run.take_up();
    run.open();
    run.look();
    const Took packed = timed([&] { run.pack(); }), judged = timed([&] { run.gate(); });
    pack.add(packed);
    gate.add(judged);
    both.add({packed.wall + judged.wall, packed.cpu + judged.cpu});
    floor.add(run.floor());
    files -= run.files().written;
    syncs -= run.files().syncs;
    again.add(timed([&] { run.pack(); }));
    files += run.files().written;
    syncs += run.files().syncs;
    rebuilt.add(timed([&] { run.pack(true); }));
    run.gate();
    bundle = run.bundle();
  }
  floor.print("floor" + at);
  pack.print("pack" + at);
  gate.print("gate_d" + at);
  both.print("pack_and_gate" + at);
  bench::figure(("pack_and_gate" + at + "_of_floor").c_str(), both.wall() / floor.wall(), "x");
  cold.print("cold_pack_and_gate" + at);
  again.print("pack_again" + at);
  bench::figure(("pack_again" + at + "_files").c_str(), files, "files");
  bench::figure(("pack_again" + at + "_syncs").c_str(), syncs, "syncs");
  rebuilt.print("pack_after_gate" + at);
  bench::answer(("bundle" + at).c_str(), bundle);
}

// A batch of URLs; nothing of one is kept for the next.
void urls(const char* name, const std::vector<std::string>& all) {
  double best = 1e18;
  std::string last;
  for (int round = 0; round < 7; ++round) {
    const double begin = bench::cpu_us();
    for (const std::string& url : all) last = need(research::normalise_url(url)).cid;
    best = std::min(best, bench::cpu_us() - begin);
  }
  bench::figure(name, best / 1e3, "ms");
  bench::answer(name, last);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("usage: bench_research DIRECTORY [PERSPECTIVES [ROUNDS]]");
  const int count = argc > 2 ? std::atoi(argv[2]) : 1000;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  std::vector<std::string> raw, plain;
  for (int i = 0; i < count * kClaims; ++i) {
    raw.push_back(url_of(i));
    plain.push_back(need(research::normalise_url(raw.back())).normal);
  }
  urls("normalise_urls_cpu_ms", raw);
  urls("normalise_plain_urls_cpu_ms", plain);
  for (const int size : {count / 10, count * 3 / 10, count}) measure(argv[1], size, rounds);
  return 0;
}
