#include "testing/api_world.h"

#include <stdexcept>

#include "api/cursor.h"
#include "cli/arguments.h"
#include "cli/run.h"
#include "json/parse.h"
#include "service/read_settings.h"
#include "testing/results.h"

namespace weir::testing {

ApiWorld::ApiWorld() {
  write_file(files_ / "notes.txt", "one\ntwo\nthree\n");
  write_file(files_ / "long.txt", "a cache\nof lines\n");
  Config::Sources sources;
  sources.flags = {{"read.roots", "[\"" + files_.path() + "\"]"}, {"research.runs_root", files_ / "runs"}};
  sources.home = sources.data_home = sources.working_directory = files_.path();
  Doors doors;
  config_ = std::make_unique<Config>(must(Config::load(doors.files, sources)));
  ServiceSettings settings;
  settings.store_directory = store_ / "store";
  settings.durability = Durability::normal;
  service_ = must(Service::open(settings, Store::Access::write, doors));
  source_ = must(ReadSource::open(must(read_options(*config_, true)), settings.store_directory));
  feed_ = std::make_unique<Feed>(*service_);
  world_.reset(new api::World{.service = *service_,
                              .config = *config_,
                              .source = *source_,
                              .feed = *feed_,
                              .home = files_.path(),
                              .working_directory = files_.path(),
                              .cursor_key = api::new_cursor_key(system_random())});
}

ApiWorld::~ApiWorld() = default;

void ApiWorld::fill() {
  answer("appendEntries", R"({"session":"demo","entries":[
    {"id":"s1","type":"message","body":{"role":"system","content":"You are terse."}},
    {"id":"u1","type":"message","body":{"role":"user","content":"Is the cache warm?"}},
    {"id":"a1","type":"message","body":{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"c1","name":"look","arguments":{"at":"cache"}}]}},
    {"id":"t1","type":"message","body":{"role":"tool","tool_call_id":"c1","name":"look","content":"warm"}},
    {"id":"l1","type":"label","body":{"target":"u1","label":"question"}}]})");
  answer("read", R"({"session":"demo","path":"long.txt"})");
  answer("putHead", R"({"session":"demo","head":"side","entry":"t1"})");
  answer("note", R"({"session":"demo","kind":"claim","text":"The cache is warm."})");
  answer("note", R"({"session":"demo","kind":"next","refs":["Measure it."]})");
  answer("compact", R"({"session":"demo"})");
  answer("appendEntries",
         R"({"session":"demo","entries":[{"id":"u2","type":"message","body":{"role":"user","content":"And the disk cache?"}}]})");
  answer("compact", R"({"session":"demo"})");
  answer("appendEntries", R"({"session":"demo","entries":[{"id":"u3","type":"message","body":{"role":"user","content":"Go on."}}]})");
  answer("createSession", R"({"id":"spare"})");
}

Answered ApiWorld::ask(std::string_view operation, std::string_view arguments, std::string_view body) {
  const api::Operation* found = api::find_operation(operation);
  if (found == nullptr) throw std::runtime_error("no operation " + std::string(operation));
  KeptLines watch;
  watch.stop = cancelled;
  api::Call call(*world_, *found, watch);
  call.may_write = may_write;
  call.body = body;
  json::Parser parser;
  const json::Value value = must(parser.parse(arguments));
  auto result = api::call(call, value);
  return {std::move(result), std::move(call.reply), std::move(watch.lines)};
}

std::string ApiWorld::answer(std::string_view operation, std::string_view arguments) {
  Answered answered = ask(operation, arguments);
  must(std::move(answered.result));
  if (answered.reply.receipt) answered.reply.receipt->received();
  return std::move(answered.reply.text);
}

std::string ApiWorld::code(std::string_view operation, std::string_view arguments) {
  return testing::code(ask(operation, arguments).result);
}

std::string ApiWorld::command(std::vector<std::string> words) {
  words.insert(words.end(), {"--store", store_ / "store", "--json"});
  auto arguments = cli::parse_arguments(words);
  if (!arguments.ok()) return std::string(info(arguments.error().code()).name);
  cli::Run run(std::move(arguments).value(), Doors{});
  run.capture(0);
  const auto done = run.arguments().command->run(run);
  if (!done.ok()) return std::string(info(done.error().code()).name);
  std::string out = run.captured();
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

std::string ApiWorld::wrong(std::string_view operation, std::string_view arguments) {
  const Answered answered = ask(operation, arguments);
  std::string out;
  if (!answered.result.ok())
    for (const FieldError& field : answered.result.error().fields()) out += (out.empty() ? "" : " ") + field.path;
  return out;
}

}  // namespace weir::testing
