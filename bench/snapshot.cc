// snapshot DIRECTORY STEPS CLAIMS: what a run's events cost to fold and to judge as due, and what a compaction of a long run
// costs, validation included, six steps after the one before; beside it a replay of everything from the root.
#include "compaction/snapshot.h"

#include <cstdlib>

#include "base/sha256.h"
#include "bench/meter.h"
#include "compaction/run_fold.h"
#include "compaction/trigger.h"
#include "json/parse.h"
#include "service/append.h"
#include "service/compact.h"
#include "service/replay.h"
#include "session/address.h"

using namespace weir;

namespace {

struct Made {
  std::string type, body;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

// Seven entries a step, and now and then a claim with its evidence.
std::vector<Made> step(int i, int steps, int claims) {
  const std::string id = std::to_string(i), call = "call" + id;
  const std::string manifest = R"({"candidate_chunk_ids":["src#)" + std::to_string(i % 400) + R"("],"retrieval_query":"step )" + id +
                               R"(","selected_chunk_ids":["src#)" + std::to_string(i % 400) +
                               R"("],"selected_source_ids":["src"],"step_id":)" + id + "}";
  json::Parser parser;
  const std::string manifest_id = compaction::derive_manifest_id(parser.parse(manifest).value());
  std::vector<Made> out = {
      {"STEP_STARTED", R"({"step_id":)" + id + "}"},
      {"CONTEXT_MANIFEST_WRITTEN", R"({"manifest":)" + manifest + R"(,"manifest_id":")" + manifest_id + R"(","step_id":)" + id + "}"},
      {"PLAN_DONE", R"({"step_id":)" + id + "}"},
      {"message",
       R"({"content":"Reading the next part of the order parser.","role":"assistant","tool_calls":[{"arguments":{"path":"src/file)" +
           std::to_string(i % 200) + R"(.cc"},"id":")" + call + R"(","name":"read"}]})"},
      {"message",
       R"({"content":"void parse() {\n  // )" + std::string(300, 'x') + R"(\n}","role":"tool","tool_call_id":")" + call + R"("})"},
      {"ACT_DONE", R"({"step_id":)" + id + "}"},
  };
  if (i % std::max(1, steps / claims) == 0 && i / std::max(1, steps / claims) <= claims) {
    const std::string n = std::to_string(i / std::max(1, steps / claims));
    const std::string chunk = "src#" + std::to_string(i % 400);
    compaction::Evidence evidence;
    evidence.index_id = "orders";
    evidence.chunk_id = chunk;
    evidence.span = {"utf8", i, i + 40};
    const std::string ev = compaction::derive_evidence_id(evidence);
    out.push_back({"EVIDENCE_REGISTERED", R"({"chunk_id":")" + chunk + R"(","corpus_id":null,"evidence_id":")" + ev +
                                              R"(","index_id":"orders","quote_bytes":40,"quote_sha256":")" + sha256(ev).hex() +
                                              R"(","source_id":"src","span":{"end":)" + std::to_string(i + 40) + R"(,"start":)" + id +
                                              R"(,"unit":"utf8"}})"});
    out.push_back(
        {"CLAIM_PROPOSED", R"({"claim_id":"c)" + n + R"(","statement":"Rule )" + n + R"( of the order parser rounds half to even"})"});
    out.push_back({"EVIDENCE_ATTACHED", R"({"claim_id":"c)" + n + R"(","evidence_id":")" + ev + R"("})"});
    out.push_back({"CLAIM_VERIFIED", R"({"claim_id":"c)" + n + R"("})"});
  }
  out.push_back({"OBSERVE_DONE", R"({"step_id":)" + id + "}"});
  return out;
}

void append(Service& service, const SessionId& session, const std::vector<Made>& entries) {
  json::Parser parser;
  AppendCall call(service, session, main_head(), std::nullopt, false);
  for (const Made& entry : entries) {
    auto added = call.add_body(entry.type, parser.parse(entry.body).value(), std::nullopt, std::nullopt, parser.arena());
    if (!added.ok()) fail(added.error().message());
  }
  if (auto done = call.commit(); !done.ok()) fail(done.error().message());
}

double compact_ms(Service& service, const SessionId& session) {
  CompactRequest request;
  request.session = session;
  request.head = main_head();
  const double begin = bench::wall_us();
  const auto answer = compact(service, request);
  const double took = bench::wall_us() - begin;
  if (!answer.ok() || !answer->pass || answer->already) fail(answer.ok() ? "nothing was compacted" : answer.error().message());
  return took / 1e3;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "";
  const int steps = argc > 2 ? std::atoi(argv[2]) : 10000, claims = argc > 3 ? std::atoi(argv[3]) : 400;
  ServiceSettings settings;
  settings.store_directory = directory.empty() ? "" : directory + "/store";
  auto service = Service::open(settings, Store::Access::write, Doors{}).value();
  const SessionId session = SessionId::trusted("run");
  append(
      *service, session,
      {{"RUN_STARTED",
        R"({"config":{"event_threshold":18},"done_definition":"done","namespace":{"index_id":"orders"},"objective":"Judge the parser"})"},
       {"message", R"({"content":"Check every rule of the order parser.","role":"user"})"}});
  std::uint64_t bytes = 0, events = 2;
  std::vector<double> all;
  for (int i = 1; i <= steps; ++i) {
    const auto made = step(i, steps, claims);
    append(*service, session, made);
    events += made.size();
    if (i % (steps / 20) == 0) all.push_back(compact_ms(*service, session));
  }
  std::vector<double> last;
  for (int round = 0; round < 10; ++round) {
    for (int i = 1; i <= 6; ++i) append(*service, session, step(steps + round * 6 + i, 1 << 30, 1));
    last.push_back(compact_ms(*service, session));
  }
  bench::figure("compact_p50_ms", bench::percentile(last, 0.5), "ms");
  bench::figure("compact_worst_ms", bench::percentile(last, 1.0), "ms");

  std::vector<Entry> entries;
  auto read = service->log().read([&](LogReader& reader) -> Result<void> {
    TRY(const SessionRow row, need_session(reader, session));
    TRY(const Seq end, reader.last_seq(row.no));
    return reader.scan(row.no, 1, end, Order::forward, Columns::all, [&](Entry& entry) -> Result<bool> {
      bytes += entry.body.size();
      entries.push_back(entry);
      return true;
    });
  });
  if (!read.ok()) fail(read.error().message());
  double fold = 1e18;
  compaction::RunState state;
  for (int round = 0; round < 3; ++round) {
    state = {};
    const double begin = bench::wall_us();
    for (const Entry& entry : entries) {
      if (!compaction::RunFold::step(state, entry).ok()) fail("cannot fold");
    }
    fold = std::min(fold, bench::wall_us() - begin);
  }
  bench::figure("fold_per_s", 1e6 * static_cast<double>(entries.size()) / fold, "1/s");
  bench::figure("fold_mb_s", static_cast<double>(bytes) / fold, "MB/s");
  {
    constexpr int kTimes = 1000000;
    int is_due = 0;
    const double begin = bench::wall_us();
    for (int i = 0; i < kTimes; ++i) {
      state.counted = i & 31;
      is_due += compaction::due(state).has_value();
    }
    bench::figure("trigger_us", (bench::wall_us() - begin) / kTimes, "us");
    bench::answer("due", std::to_string(is_due));
  }
  double root = 1e18;
  for (int round = 0; round < 3; ++round) {
    const double begin = bench::wall_us();
    read = service->log().read([&](LogReader& reader) -> Result<void> {
      TRY(const SessionRow row, need_session(reader, session));
      TRY(const Replay replayed, replay(reader, row.no, entries.back().seq, ReplayFrom::root));
      if (replayed.state == nullptr || !replayed.problems.empty()) fail("the log is damaged");
      return {};
    });
    root = std::min(root, bench::wall_us() - begin);
  }
  bench::figure("replay_mb_s", static_cast<double>(bytes) / root, "MB/s");
  bench::figure("replay_ms", root / 1e3, "ms");
  bench::figure("entries", static_cast<double>(entries.size()), "");
  bench::figure("log_mb", static_cast<double>(bytes) / 1e6, "MB");
  bench::answer("snapshot", entries.back().digest.hex());
  return 0;
}
