// import, sync, export: commands that cross to other formats.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/run.h"
#include "json/parse.h"
#include "service/import.h"

namespace weir::cli {
namespace {

using json::Value;

constexpr useconds_t kPollUs = 100000;

void print_report(Run& run, const ImportAnswer& answer) {
  const ImportReport& report = answer.report;
  const auto& paint = run.paint();
  run.line(fmt::format("{} {} → session {}",
                       answer.refused ? paint(Style::red, "refused") : paint(Style::green, run.dry_run() ? "would import" : "imported"),
                       printable(answer.path), answer.session ? paint(Style::cyan, answer.session->str()) : "(none: no whole line yet)"));
  run.line(fmt::format("  lines {}  new entries {}  known {}  messages {}  compactions {}  branches {}", grouped(report.lines),
                       grouped(report.entries), grouped(report.known), grouped(report.messages), report.compactions, report.branches));
  if (report.side + report.orphans + report.torn + report.held > 0)
    run.line(fmt::format("  beside the tree {}  orphans {}  torn {}  held {}", report.side, report.orphans, report.torn, report.held));
  const std::string_view kept = answer.refused ? "" : ": kept", kept_as_text = answer.refused ? "" : ": kept as text";
  for (const auto& [type, count] : report.unknown)
    run.line(paint(Style::yellow, fmt::format("  unknown type {} ({}){}", printable(type), count, kept)));
  for (std::size_t i = 0; i < report.malformed.size() && i < 10; ++i) {
    run.line(paint(Style::yellow, fmt::format("  line {} is malformed: {}{}", report.malformed[i].line,
                                              printable(report.malformed[i].reason), kept_as_text)));
  }
  if (report.malformed.size() > 10)
    run.line(paint(Style::yellow, fmt::format("  and {} more malformed lines", report.malformed.size() - 10)));
  for (const auto& [family, count] : report.masked) run.line(paint(Style::magenta, fmt::format("  masked {} ({})", family, count)));
}

ImportInput input_for(Run& run, const std::string& path) {
  ImportInput input;
  input.format = *run.word(0);
  input.path = path;
  input.strict = run.flag("strict");
  input.dry_run = run.dry_run();
  return input;
}

Result<int> follow(Run& run, Service& service, const std::vector<ImportInput>& inputs) {
  std::vector<Follower> followers;
  for (const ImportInput& input : inputs) followers.emplace_back(service, input);
  if (run.json()) {
    json::Arena arena;
    json::ObjectBuilder members(arena);
    members.add("format", inputs[0].format);
    run.stream_begin(members, arena);
  }
  std::uint64_t count = 0;
  while (run.keep_going()) {
    for (Follower& follower : followers) {
      std::vector<AppendResult::Item> added;
      auto polled = follower.poll([&](const ImportProgress&) { return run.keep_going(); }, &added);
      if (!polled.ok() && polled.error().code() == ErrorCode::CANCELLED) break;
      TRY_DO(polled);
      if (!*polled || ((*polled)->report.entries == 0 && !(*polled)->refused)) continue;
      if (!(*polled)->refused) count += (*polled)->report.entries;
      if (run.json()) {
        json::Arena arena;
        json::ObjectBuilder line(arena);
        for (const json::Member& member : (*polled)->to_json(arena).members()) line.add(member.key, member.value);
        run.object(line.add("type", "burst").build());
      } else {
        print_report(run, **polled);
      }
      if ((*polled)->refused) {
        if (run.json()) run.stream_end(count);
        return 3;
      }
    }
    TRY_DO(run.flush());
    if (run.keep_going()) ::usleep(kPollUs);
  }
  if (run.json()) run.stream_end(count);
  return pending_signal() != 0 ? 128 + pending_signal() : 0;
}

Result<ImportAnswer> import_one(Run& run, Service& service, ImportInput& input) {
  if (input.path == "-") {
    TRY(input.text, run.read_input("-", kMostPipedBytes));
  }
  const auto size = run.doors().files.stat(input.path);
  const auto bar = run.progress("import");
  return import_file(service, input, [&](const ImportProgress& progress) {
    bar->update(progress.bytes, input.text ? input.text->size() : size.ok() ? size->size : 0, progress.bytes);
    return run.keep_going();
  });
}

}  // namespace

Result<int> run_import(Run& run) {
  std::vector<ImportInput> inputs;
  const auto& words = run.arguments().words;
  for (std::size_t i = 1; i < words.size(); ++i) inputs.push_back(input_for(run, words[i]));
  if (const auto as = run.option("as")) {
    if (inputs.size() > 1)
      return Error(ErrorCode::USAGE, "--as names one session, there are several files").with("help", "weir help import");
    TRY(inputs[0].session, SessionId::parse(*as));
  }
  const auto piped = std::count_if(inputs.begin(), inputs.end(), [](const ImportInput& input) { return input.path == "-"; });
  if (piped > 1) return Error(ErrorCode::USAGE, "standard input can be read only once").with("help", "weir help import");
  if (piped > 0 && run.flag("follow"))
    return Error(ErrorCode::USAGE, "--follow needs a file, standard input only ends").with("help", "weir help import");
  TRY(Service* const service, run.service(Store::Access::write));
  if (run.flag("follow")) return follow(run, *service, inputs);
  int code = 0;
  std::vector<ImportAnswer> done;
  Result<void> failed;
  for (ImportInput& input : inputs) {
    auto answer = import_one(run, *service, input);
    if (!answer.ok()) {
      failed = std::move(answer).error();
      break;
    }
    if (answer->refused) code = 3;
    if (!run.json()) print_report(run, *answer);
    done.push_back(std::move(answer).value());
  }
  // Those before one that failed are stored: the caller hears of them too.
  json::Arena arena;
  if (run.json() && inputs.size() == 1 && !done.empty()) {
    run.object(done[0].to_json(arena));
  } else if (run.json() && !done.empty()) {
    std::vector<Value> answers;
    for (const ImportAnswer& answer : done) answers.push_back(answer.to_json(arena));
    run.object(json::make_object(arena, {{"imports", json::make_array(arena, answers)}}));
  }
  TRY_DO(failed);
  return code;
}

Result<int> run_sync(Run& run) {
  TRY(const std::string text, run.read_input(run.option("file").value_or("-"), kMostPipedBytes));
  json::Parser parser;
  TRY(Value request, parser.parse(text));
  if (const auto format = run.option("format"); format && request.is_object() && request.text_or("format", *format) != *format) {
    return Error(ErrorCode::INVALID_FIELD,
                 fmt::format("the request's format is '{}', --format says '{}'", request.text_or("format", ""), *format))
        .with_fields({{"/format", "differs from --format"}});
  } else if (format && request.is_object() && request.find("format") == nullptr) {
    json::ObjectBuilder out(parser.arena());
    for (const json::Member& member : request.members()) out.add(member.key, member.value);
    request = out.add("format", parser.arena().copy(*format)).build();
  }
  TRY(const auto session, run.named_session());
  // WEIR_SESSION is only for a request without one; what was typed must not be passed over.
  if (const auto typed = run.option("session"); typed && request.is_object() && request.text_or("session", *typed) != *typed) {
    return Error(ErrorCode::INVALID_FIELD,
                 fmt::format("the request's session is '{}', --session says '{}'", request.text_or("session", ""), *typed))
        .with_fields({{"/session", "differs from --session"}});
  }
  if (run.store_missing()) {
    TRY(const auto trial, run.trial_service());
    TRY_DO(sync_session(*trial, request, session, true, parser.arena()));
  }
  TRY(Service* const service, run.service(Store::Access::write));
  TRY(const SyncAnswer answer, sync_session(*service, request, session, run.dry_run(), parser.arena()));
  if (run.json()) {
    run.object(answer.to_json(parser.arena()));
  } else {
    const auto shown = [](const std::string& id) { return id.empty() ? std::string("(none)") : printable(id); };
    run.line(fmt::format("accepted {}  known {}  last {}  leaf {}", answer.result.accepted, answer.result.known, shown(answer.result.last),
                         shown(answer.result.leaf)));
  }
  return 0;
}

Result<int> run_export(Run& run) {
  ExportInput input;
  input.format = run.option("format").value_or("jsonl");
  if (run.flag("path") && run.flag("all"))
    return Error(ErrorCode::USAGE, "--path and --all exclude each other").with("help", "weir help export");
  if (run.flag("all") && run.flag("at"))
    return Error(ErrorCode::USAGE, "--all is every branch, --at one path").with("help", "weir help export");
  TRY(input.address, run.address());
  input.all = !run.flag("path") && !run.flag("at");
  TRY(Service* const service, run.service(Store::Access::read));
  std::optional<OutputFile> file;
  const auto target = run.option("output");
  const bool to_file = target && *target != "-";
  if (to_file) TRY_DO(check_output(*target));
  // Not between the lines of what it is about.
  const auto bar = to_file || !is_terminal(STDOUT_FILENO) ? run.progress("export") : nullptr;
  std::uint64_t bytes = 0, lines = 0;
  const auto collect = [&](std::string_view line) -> Result<bool> {
    bytes += line.size() + 1;
    if (bar != nullptr) bar->update(++lines, 0, bytes);
    if (to_file) {
      TRY_DO(file->add(line));
      TRY_DO(file->add("\n"));
    } else {
      run.data(line);
    }
    if (!run.keep_going()) return Error(ErrorCode::CANCELLED, "interrupted");
    return true;
  };
  // A file holds the format and nothing else; printed with --json it is a stream.
  const bool framed = run.json() && !to_file;
  input.only_json = framed;
  // The session is looked up before anything is printed.
  TRY_DO(service->log().read([&](LogReader& reader) -> Result<void> {
    TRY_DO(locate(reader, input.address));
    return {};
  }));
  if (framed) {
    json::Arena arena;
    json::ObjectBuilder begin(arena);
    begin.add("session", input.address.session.str()).add("format", input.format);
    run.stream_begin(begin, arena);
  }
  if (to_file) {
    TRY(auto opened, OutputFile::open(run.doors().files, run.doors().random, *target));
    file.emplace(std::move(opened));
  }
  TRY(const std::uint64_t count, export_session(*service, input, collect));
  if (framed) run.stream_end(count);
  if (!to_file) return 0;
  TRY_DO(file->finish());
  if (run.json()) {
    json::Arena arena;
    json::ObjectBuilder begin(arena);
    begin.add("session", input.address.session.str()).add("file", *target).add("bytes", bytes);
    run.stream_begin(begin, arena);
    run.stream_end(count);
  } else {
    run.note(fmt::format("wrote {} entries, {} to {}", grouped(count), human_bytes(bytes), printable(*target)));
  }
  return 0;
}

}  // namespace weir::cli
