// The steps of a research run. A client sends texts and documents, never a path: where runs lie is the operator's to say.
#include <algorithm>

#include "api/call.h"
#include "api/parameters.h"
#include "base/limits.h"
#include "base/paths.h"
#include "base/secrets.h"
#include "research/white_space.h"
#include "service/research.h"

namespace weir::api {
namespace {

using json::Value;

Error wrong_text(const std::string& what) { return Error(ErrorCode::INVALID_ARGS, what); }

Result<std::string> root_of(const World& world, const SessionId& run) {
  std::string root = world.config.text("research.runs_root");
  if (root.empty() && world.home.empty()) return wrong_text("there is no directory for runs: research.runs_root names one");
  if (root.empty()) root = world.home + "/.config/opencode/research-runs";
  if (!root.starts_with('/')) root = world.working_directory + "/" + root;
  return clean_path(root) + "/" + run.str();
}

Result<RunCall> run_call(const Call& call) {
  RunCall out;
  TRY(out.run, call.session());
  if (out.run.str().find("..") != std::string::npos)
    return Error(ErrorCode::PATH_TRAVERSAL, "a run id must not hold '..'").with("run_id", masked_excerpt(out.run.str(), 80));
  if (call.value("head") != nullptr) {
    TRY(out.head, call.head());
  }
  if (const auto reason = call.text("reason")) {
    if (research::is_blank(*reason)) return wrong_text("reason must be non-empty");
    if (reason->size() > limits::kBlobStringBytes)
      return Error(ErrorCode::INPUT_TOO_LARGE, "reason is over 65536 bytes").with("bytes", static_cast<std::int64_t>(reason->size()));
    out.reason = *reason;
  }
  out.expect_revision = call.count("expect_revision");
  out.dry_run = call.flag("dry_run");
  TRY(out.root, root_of(call.world, out.run));
  return out;
}

// A document as the text a file would hold.
Result<std::string> document(const Call& call, std::string_view name) {
  const Value* given = call.value(name);
  if (given == nullptr) return wrong_text(std::string(name) + " is missing");
  return json::canonical(*given);
}

Result<std::vector<HandedIn>> outputs_of(Call& call) {
  const Value* outputs = call.value("outputs");
  if (outputs == nullptr) return wrong_text("outputs is missing");
  return parse_outputs(json::canonical(json::make_object(call.arena, {{"outputs", *outputs}})));
}

auto told(Call& call) {
  return [&call](std::uint64_t done, std::uint64_t total) { call.watch.progress(done, total); };
}

// ---- steps ----

Result<ResearchAnswer> init(Call& call, const RunCall& run) {
  Service& service = call.world.service;
  if (call.value("patch") != nullptr) {
    TRY(const std::string patch, document(call, "patch"));
    return research_patch(service, run, patch);
  }
  if (call.flag("adopt")) return research_adopt(service, run);
  ResearchBegin begin;
  if (call.value("query") == nullptr) return wrong_text("query says what is to be studied");
  begin.query = *call.text("query");
  begin.mode = call.text("mode");
  begin.sensitivity = call.text("sensitivity");
  if (const Value* limits = call.value("limit"))
    for (const json::Member& limit : limits->members()) begin.limits.emplace_back(limit.key, json::canonical(limit.value));
  return research_init(service, run, begin);
}

Result<ResearchAnswer> perspectives(Call& call, const RunCall& run) {
  TRY(const std::string text, document(call, "perspectives"));
  const int wave = static_cast<int>(call.integer("wave").value_or(1));
  return research_perspectives(call.world.service, run, wave, text, call.world.config.texts("research.agents"));
}

Result<ResearchAnswer> ingest(Call& call, const RunCall& run) {
  if (!call.integer("wave")) return wrong_text("wave must be 1 or 2");
  TRY(const auto outputs, outputs_of(call));
  return research_ingest(call.world.service, run, static_cast<int>(*call.integer("wave")), outputs, told(call));
}

Result<std::string> one_citation(Call& call) {
  constexpr std::pair<std::string_view, std::string_view> kMore[] = {
      {"title", "title"},           {"snippet", "evidence_snippet"}, {"publisher", "publisher"},    {"notes", "notes"},
      {"checked_at", "checked_at"}, {"checked_by", "checked_by"},    {"http_status", "http_status"}};
  if (call.value("status") == nullptr)
    return wrong_text("status says what was found behind the URL: valid, paywalled, blocked, mismatch or invalid");
  json::ObjectBuilder record(call.arena);
  record.add("url", *call.value("url")).add("status", *call.value("status"));
  for (const auto& [option, member] : kMore) record.add_if(member, call.value(option));
  const Value one[] = {record.build()};
  return json::canonical(json::make_array(call.arena, one));
}

Result<ResearchAnswer> cite(Call& call, const RunCall& run) {
  Service& service = call.world.service;
  const bool records = call.value("records") != nullptr, url = call.value("url") != nullptr;
  if (call.flag("extract") + call.flag("list") + records + url != 1) return wrong_text("one of extract, list, records, or url with status");
  if (call.flag("list")) return research_citations(service, run);
  if (call.flag("extract")) return research_extract(service, run);
  TRY(const std::string text, records ? document(call, "records") : one_citation(call));
  return research_cite(service, run, text);
}

Result<ResearchAnswer> summarize(Call& call, const RunCall& run) {
  TRY(const auto summaries, outputs_of(call));
  const SummaryOptions options{call.flag("truncate"), call.text("numbers").value_or("refuse") == "warn"};
  return research_summarize(call.world.service, run, summaries, options, told(call));
}

Result<ResearchAnswer> pack(Call& call, const RunCall& run) { return research_pack(call.world.service, run, call.flag("allow_missing")); }

Result<ResearchAnswer> gate(Call& call, const RunCall& run) {
  return research_gate(call.world.service, run, call.text("gate").value_or(""));
}

Result<ResearchAnswer> bundle(Call& call, const RunCall& run) {
  std::string stream;
  TRY(ResearchAnswer answer, research_bundle(call.world.service, run, &stream));
  if (call.value("out") == nullptr) return answer;
  return ResearchAnswer{json::canonical(json::make_object(call.arena, {{"stream", stream}})), answer.holds};
}

Result<ResearchAnswer> check(Call& call, const RunCall& run) {
  if (call.value("report") == nullptr) return wrong_text("report is missing: the text of the report");
  return research_check(call.world.service, run, *call.text("report"), call.flag("render"));
}

Result<ResearchAnswer> status(Call& call, const RunCall& run) { return research_status(call.world.service, run); }

Result<ResearchAnswer> verify(Call& call, const RunCall& run) { return research_verify(call.world.service, run, "", told(call)); }

// What a step takes besides what all of them take.
struct Step {
  std::string_view name, options;  // with a space before and behind each
  Result<ResearchAnswer> (*run)(Call&, const RunCall&);
};
constexpr Step kSteps[] = {
    {"init", " query mode sensitivity limit patch adopt ", init},
    {"perspectives", " perspectives wave ", perspectives},
    {"ingest", " wave outputs ", ingest},
    {"cite", " extract list records url status title snippet publisher notes http_status checked_at checked_by ", cite},
    {"summarize", " outputs truncate numbers ", summarize},
    {"pack", " allow_missing ", pack},
    {"gate", " gate ", gate},
    {"bundle", " out ", bundle},
    {"check", " report render ", check},
    {"status", "", status},
    {"verify", "", verify},
};
constexpr std::string_view kEvery = " session step head reason expect_revision dry_run ";

Result<void> research(Call& call) {
  const std::string name = call.text("step").value_or("");
  const Step* step = std::find_if(std::begin(kSteps), std::end(kSteps), [&](const Step& one) { return one.name == name; });
  json::FieldErrors errors;
  for (const json::Member& member : call.arguments().members()) {
    const std::string word = " " + std::string(member.key) + " ";
    if (!member.value.is_null() && kEvery.find(word) == std::string_view::npos && step->options.find(word) == std::string_view::npos)
      errors.add(json::pointer("", member.key), "is not taken by the step " + name);
  }
  TRY_DO(errors.result());
  TRY(const RunCall run, run_call(call));
  TRY(ResearchAnswer answer, step->run(call, run));
  return call.answer_text(std::move(answer.text));
}

constexpr Parameter said(std::string_view name, Type type, std::string_view help, std::string_view choices_or_shape = {}) {
  Parameter out{.name = name, .in = In::body, .type = type, .help = help};
  (type == Type::choice ? out.choices : out.shape) = choices_or_shape;
  return out;
}

std::vector<Parameter> parameters() {
  Parameter wave = said("wave", Type::integer, "perspectives, ingest: 1 or 2");
  wave.least = 1;
  wave.most = 2;
  return {
      kSession,
      {.name = "step",
       .in = In::path,
       .type = Type::choice,
       .help = "which step",
       .required = true,
       .choices = "init|perspectives|ingest|cite|summarize|pack|gate|bundle|check|status|verify"},
      {.name = "head", .type = Type::head, .help = "the head; the one the run was begun at if none is named", .also_in_body = true},
      said("reason", Type::text, "why, for the log"),
      said("expect_revision", Type::integer, "refuse unless the run is at this revision"),
      said("dry_run", Type::flag, "check everything, store nothing"),
      said("query", Type::text, "init: what is to be studied"),
      said("mode", Type::text, "init: quick, standard or deep"),
      said("sensitivity", Type::text, "init: normal, restricted or no_web"),
      said("limit", Type::object, "init: limits by name", "{*:number|integer}"),
      said("patch", Type::object, "init: merged into the manifest", "object"),
      said("adopt", Type::flag, "init: take over the directory that is there"),
      said("perspectives", Type::object, "perspectives: a perspectives.v1 document", "object"),
      wave,
      said("outputs", Type::list, "ingest, summarize: what agents wrote",
           "[{perspective_id:string, markdown:string, tool_usage?:any, agent_run_id?:string, model?:string, prompt_digest?:string}]"),
      said("extract", Type::flag, "cite: list the URLs of all accepted outputs"),
      said("list", Type::flag, "cite: the validated pool"),
      said("records", Type::any, "cite: an array, {items:[...]} or {url: status}", "array|object"),
      said("url", Type::text, "cite: an address to record"),
      said("status", Type::text, "cite: valid, paywalled, blocked, mismatch or invalid"),
      said("title", Type::text, "cite: of the page"),
      said("snippet", Type::text, "cite: a quote that claims are held to"),
      said("publisher", Type::text, "cite: who publishes it"),
      said("notes", Type::text, "cite: anything else"),
      said("http_status", Type::integer, "cite: what the server said"),
      said("checked_at", Type::text, "cite: when it was looked at"),
      said("checked_by", Type::text, "cite: who or what looked"),
      said("truncate", Type::flag, "summarize: cut one that is too large"),
      said("numbers", Type::choice, "summarize: what to do about a number that is in no quote", "refuse|warn"),
      said("allow_missing", Type::flag, "pack: leave out perspectives without a summary"),
      said("gate", Type::text, "gate: B, C or D"),
      said("out", Type::choice, "bundle: the stream instead of an answer", "-"),
      said("report", Type::text, "check: the report"),
      said("render", Type::flag, "check: with a numbered list of the cited URLs"),
  };
}

}  // namespace

std::vector<Operation> research_operations() {
  return {
      {.id = "research",
       .method = "POST",
       .path = "/sessions/{session}/research/{step}",
       .summary = "A step of a research run. A gate that fails is an answer, not an error.",
       .parameters = parameters(),
       .writes = true,
       .schema = schema_of("{ok:boolean, ...}|{stream:string}"),
       .example = R"({"session":"study","step":"init","query":"Does HTTP/3 shorten page loads?"})",
       .run = research},
  };
}

}  // namespace weir::api
