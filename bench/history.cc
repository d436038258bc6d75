// history DIR ENTRIES: a long session through the service, then searches in it: the first use, which makes the index, two
// words in many ways, and what an entry costs that has to be caught up with.
#include "service/history.h"

#include <cmath>
#include <cstdlib>
#include <random>

#include "base/sha256.h"
#include "bench/meter.h"
#include "json/parse.h"
#include "service/append.h"
#include "session/address.h"

using namespace weir;

namespace {

constexpr std::size_t kVocabulary = 30000, kWordsEach = 40, kBatch = 500;

// Words as rare as in a language: the n-th comes with a chance of 1/n.
class Speech {
 public:
  Speech() {
    for (std::size_t i = 0; i < kVocabulary; ++i) {
      std::string word;
      for (std::size_t n = 3 + random_() % 7; n > 0; --n) word += static_cast<char>('a' + random_() % 26);
      words_.push_back(word);
    }
  }
  const std::string& word(std::size_t rank) const { return words_[rank]; }
  std::size_t rank() {
    const double u = std::generate_canonical<double, 32>(random_);
    return std::min(kVocabulary - 1, static_cast<std::size_t>(std::exp(u * std::log(static_cast<double>(kVocabulary)))) - 1);
  }
  std::string message(std::size_t number) {
    std::string text = number % 2 == 0 ? "evenly" : "oddly";
    for (std::size_t i = 0; i < kWordsEach; ++i) text += " " + word(rank());
    return R"({"role":"assistant","content":")" + text + R"("})";
  }

 private:
  std::minstd_rand random_{7};
  std::vector<std::string> words_;
};

class Bench {
 public:
  Bench(Service& service, Speech& speech) : service_(service), speech_(speech) {}

  // Microseconds of appending alone.
  double append(std::size_t count) {
    double spent = 0;
    json::Parser parser;
    std::vector<std::string> bodies;
    for (std::size_t done = 0; done < count; done += bodies.size()) {
      bodies.clear();
      for (std::size_t i = 0; i < std::min(kBatch, count - done); ++i) bodies.push_back(speech_.message(number_++));
      const double begin = bench::wall_us();
      AppendCall call(service_, session_, main_head(), std::nullopt, false);
      for (const std::string& body : bodies) {
        if (!call.add_body("message", parser.parse(body).value(), std::nullopt, std::nullopt, parser.arena()).ok()) std::abort();
      }
      if (!call.commit().ok()) std::abort();
      spent += bench::wall_us() - begin;
    }
    return spent;
  }

  double search(const std::string& query, bool regex = false) {
    const double begin = bench::wall_us(), cpu = bench::cpu_us();
    const auto answer = search_session(service_, {.address = {session_, main_head(), "", false}, .query = query, .regex = regex},
                                       [](const auto&) { return true; });
    const double spent = bench::wall_us() - begin;
    last_cpu_us_ = bench::cpu_us() - cpu;
    if (!answer.ok()) std::abort();
    for (const HistoryMatch& match : answer->matches) found_.update(std::to_string(match.seq) + match.excerpt.text);
    return spent;
  }
  double last_cpu_us() const { return last_cpu_us_; }
  std::string found() { return found_.finish().hex().substr(0, 16); }

 private:
  Service& service_;
  Speech& speech_;
  const SessionId session_ = SessionId::trusted("s");
  std::size_t number_ = 0;
  double last_cpu_us_ = 0;
  Sha256 found_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  ServiceSettings settings;
  settings.store_directory = argv[1];
  settings.durability = Durability::normal;
  const std::size_t entries = std::strtoul(argv[2], nullptr, 10);
  auto service = Service::open(settings, Store::Access::write, Doors{});
  if (!service.ok()) return 1;
  Speech speech;
  Bench run(**service, speech);
  const double n = static_cast<double>(entries);
  const double append_us = run.append(entries) / n;
  const double build_us = run.search("evenly oddly") / n;
  bench::figure("append_us", append_us, "us");
  bench::figure("history_build_per_s", 1e6 / build_us, "1/s");
  bench::figure("history_build_of_append", build_us / append_us, "x");

  std::vector<double> two, common, common_cpu, rare, phrase;
  std::minstd_rand random(11);
  for (int i = 0; i < 200; ++i) two.push_back(run.search(speech.word(speech.rank()) + " " + speech.word(speech.rank())));
  for (int i = 0; i < 20; ++i) {
    common.push_back(run.search("evenly oddly"));
    common_cpu.push_back(run.last_cpu_us());
    rare.push_back(run.search(speech.word(random() % 10) + " " + speech.word(20000 + random() % 10000)));
    phrase.push_back(run.search("\"" + speech.word(random() % 20) + " " + speech.word(500 + random() % 500) + "\""));
  }
  bench::figure("history_two_words_p50_ms", bench::percentile(two, 0.5) / 1e3, "ms");
  bench::figure("history_two_words_p99_ms", bench::percentile(two, 0.99) / 1e3, "ms");
  bench::figure("history_common_and_rare_ms", bench::percentile(rare, 0.5) / 1e3, "ms");
  bench::figure("history_never_together_ms", bench::percentile(common, 0.5) / 1e3, "ms");
  bench::figure("history_never_together_cpu_ms", bench::percentile(common_cpu, 0.5) / 1e3, "ms");
  bench::figure("history_phrase_ms", bench::percentile(phrase, 0.5) / 1e3, "ms");
  bench::figure("history_regex_ms", run.search("nobody (ever|said) this", true) / 1e3, "ms");

  const std::size_t more = std::max<std::size_t>(entries / 100, 1000);
  const double more_append_us = run.append(more) / static_cast<double>(more);
  const double behind_us = run.search("evenly oddly"), level_us = run.search("evenly oddly");
  const double catch_up_us = (behind_us - level_us) / static_cast<double>(more);
  bench::figure("history_catch_up_us", catch_up_us, "us");
  bench::figure("history_catch_up_of_append", catch_up_us / more_append_us, "x");
  const auto st = (*service)->store().doors().files.stat(settings.store_directory + "/history/1.db");
  bench::figure("history_bytes_per_entry", st.ok() ? static_cast<double>(st->size) / (n + static_cast<double>(more)) : 0, "B");
  bench::answer("history", run.found());
  return 0;
}
