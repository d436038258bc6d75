// ctree NODES: what recording a node costs at 1,000 and at NODES nodes, and compiling them whole, through a window of 200,
// and again after one more; beside it the least compiling can cost, hashing as many bytes as the stages have. And the memory
// a node takes.
#include <malloc.h>

#include <cstdlib>

#include "base/sha256.h"
#include "bench/meter.h"
#include "context/prompt.h"
#include "ctree/compile.h"

using namespace weir;
using ctree::NodesFold;

namespace {

// One message of a long conversation, about 600 bytes of payload: a third are tool calls and their results.
Entry entry(std::uint64_t i) {
  Entry out;
  out.seq = i + 1;
  out.id = EntryId::parse("e" + sha256(std::to_string(i)).hex().substr(0, 8)).value();
  out.type = "message";
  const std::string call = "toolu_" + sha256("call" + std::to_string(i / 6)).hex().substr(0, 24);
  std::string text = "step " + std::to_string(i) + ": ";
  while (text.size() < 540) text += "the build went on and the next file was read, then changed; ";
  switch (i % 6) {
    case 2:
      out.body = "{\"content\":\"" + text.substr(0, 400) + "\",\"role\":\"assistant\",\"tool_calls\":[{\"arguments\":{\"path\":\"src/file" +
                 std::to_string(i) + ".cc\"},\"id\":\"" + call + "\",\"name\":\"read\"}]}";
      break;
    case 3:
      out.body = "{\"content\":\"" + text + "\",\"name\":\"read\",\"role\":\"tool\",\"tool_call_id\":\"" + call + "\"}";
      break;
    case 0:
      out.body = "{\"content\":\"" + text + "\",\"role\":\"user\"}";
      break;
    default:
      out.body = "{\"content\":\"" + text + "\",\"role\":\"assistant\"}";
  }
  out.digest = sha256(out.body);
  return out;
}

void step(const NodesFold& fold, NodesFold::State& state, const Entry& e) {
  if (!fold.step(state, e).ok()) std::abort();
}

ctree::Compiled compiled(const NodesFold& fold, const NodesFold::State& state, const ctree::CompileConfig& config,
                         ctree::CompileMemo* memo) {
  auto out = ctree::compile(fold, state, {.config = config, .previews = [](ctree::Ordinal) { return std::nullopt; }, .memo = memo});
  if (!out.ok()) std::abort();
  return std::move(out).value();
}

double seconds() { return bench::wall_us() / 1e6; }

std::size_t heap() { return mallinfo2().uordblks; }

class Entries final : public context::Source {
 public:
  explicit Entries(const std::vector<Entry>& entries) : entries_(entries) {}
  Result<Entry> entry(Seq seq) override { return entries_[seq - 1]; }
  Result<std::string> blob(const Digest&) override { return Error(ErrorCode::NOT_FOUND, "none"); }

 private:
  const std::vector<Entry>& entries_;
};

// The next prompt after a compaction and 200 more messages, in ms.
double prompt_ms(std::uint64_t count) {
  const NodesFold fold;
  NodesFold::State state;
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    entries.push_back(entry(i));
    if (i == count - 201) {
      entries.back().type = "compaction";
      entries.back().body = "{\"summary\":\"What was done so far.\"}";
    }
    step(fold, state, entries.back());
  }
  Entries source(entries);
  const context::ContextConfig config;
  const context::Request request;
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    const double begin = seconds();
    if (!context::make_prompt({.fold = fold, .state = state, .config = config, .request = request, .source = source}).ok()) std::abort();
    best = std::min(best, seconds() - begin);
  }
  return best * 1e3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::uint64_t count = std::strtoull(argv[1], nullptr, 10);
  const NodesFold fold;
  NodesFold::State state;
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < count + 64; ++i) entries.push_back(entry(i));

  const std::size_t before = heap();
  std::uint64_t at = 0;
  const auto record = [&](std::uint64_t to) {
    const double begin = seconds();
    const std::uint64_t from = at;
    for (; at < to; ++at) step(fold, state, entries[at]);
    return static_cast<double>(to - from) / (seconds() - begin);
  };
  bench::figure("record_early_per_s", record(std::min<std::uint64_t>(10000, count / 2)), "/s");
  record(count - 10000);
  bench::figure("record_late_per_s", record(count), "/s");
  bench::figure("bytes_a_node", static_cast<double>(heap() - before) / static_cast<double>(count), "B");

  const ctree::CompileConfig plain;
  ctree::CompileConfig window;
  window.selection.max_nodes = 200;
  std::uint64_t emitted = 0;
  {
    auto full = ctree::compile(fold, state, {.config = plain, .full = true, .previews = [](ctree::Ordinal) { return std::nullopt; }});
    for (const std::string& stage : full->stages) emitted += stage.size();
  }
  bench::figure("emitted_mb", static_cast<double>(emitted) / 1e6, "MB");
  const std::string text(emitted, 'x');
  double best = 1e9, floor = 1e9, narrow = 1e9, again = 1e9, again_narrow = 1e9;
  for (int i = 0; i < 5; ++i) {
    double begin = seconds();
    sha256(text);
    floor = std::min(floor, seconds() - begin);
    begin = seconds();
    compiled(fold, state, plain, nullptr);
    best = std::min(best, seconds() - begin);
    begin = seconds();
    compiled(fold, state, window, nullptr);
    narrow = std::min(narrow, seconds() - begin);
  }
  ctree::CompileMemo memo, narrow_memo;
  compiled(fold, state, plain, &memo);
  compiled(fold, state, window, &narrow_memo);
  for (int i = 0; i < 20; ++i) {
    step(fold, state, entries[at++]);
    double begin = seconds();
    compiled(fold, state, plain, &memo);
    again = std::min(again, seconds() - begin);
    begin = seconds();
    compiled(fold, state, window, &narrow_memo);
    again_narrow = std::min(again_narrow, seconds() - begin);
  }
  bench::figure("compile_ms", best * 1e3, "ms");
  bench::figure("hash_floor_ms", floor * 1e3, "ms");
  bench::figure("window_ms", narrow * 1e3, "ms");
  bench::figure("recompile_ms", again * 1e3, "ms");
  bench::figure("recompile_window_ms", again_narrow * 1e3, "ms");
  bench::figure("prompt_early_ms", prompt_ms(1000), "ms");
  bench::figure("prompt_late_ms", prompt_ms(count), "ms");
  bench::answer("z4", compiled(fold, state, plain, nullptr).z[3].hex());
  return 0;
}
