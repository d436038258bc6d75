// The context compiler: stages and hashes, why each node is in or out, differences, the next prompt.
#include "api/call.h"
#include "api/parameters.h"
#include "ctree/stages.h"
#include "service/compile.h"
#include "service/compile_foreign.h"
#include "service/context.h"
#include "service/diff.h"
#include "session/address.h"

namespace weir::api {
namespace {

using json::Value;

constexpr Parameter kProfile{.name = "profile",
                             .type = Type::choice,
                             .help = "whose rules and hashes; as compile.profile says if nothing is said",
                             .choices = "weir-1|breadboard-0.1"};
constexpr Parameter kFull{.name = "full", .type = Type::flag, .help = "leave nothing out of long lists"};
constexpr Parameter kPromptSummary{.name = "prompt_summary", .help = "what is known of the prompt, as JSON; RAW has its hash"};
constexpr std::string_view kOutputShape =
    "{kind:\"ctree_compiler\", profile:string, schema_version:string, compiler_version:string, node_count:integer, event_count:integer, "
    "has_prompt_summary:boolean, config:object, config_sha256:string, hashes:{*:string}, collapse:object|null, stages:object, "
    "warnings:[string]}";

constexpr std::string_view kForeignShape =
    "{kind:\"ctree_compiler\", profile:\"breadboard-0.1\", schema_version:string, compiler_version:string, node_count:integer, "
    "event_count:integer, has_prompt_summary:boolean, hashes:{*:string}, stages:object}";

// Is BreadBoard's profile asked for?
bool is_foreign(const Call& call) {
  return call.text("profile").value_or(call.world.config.text("compile.profile")) == breadboard::kProfile;
}

// An error about a document, as one about the argument that holds it.
Error under(std::string_view name, const Error& error) {
  const std::string path = json::pointer("", name);
  std::vector<FieldError> fields = error.fields();
  if (fields.empty()) return error;
  for (FieldError& field : fields) field.path = path + field.path;
  Error out = Error(error.code(), path + error.message()).with_fields(std::move(fields));
  for (const auto& [key, value] : error.details()) out = std::move(out).with(key, value);
  return out;
}

Error no_prompt_summary(const Error& error) {
  const std::string why = "is no JSON: " + error.message();
  return Error(ErrorCode::INVALID_FIELD, "/prompt_summary: " + why).with_fields({{"/prompt_summary", why}});
}

Result<breadboard::Value> foreign_prompt_summary(const Call& call) {
  const auto text = call.text("prompt_summary");
  if (!text) return breadboard::Value();
  auto parsed = breadboard::read_json(*text);
  if (!parsed.ok()) return no_prompt_summary(parsed.error());
  return parsed;
}

Result<Compilation> compiled(Call& call, bool previews = false) {
  CompileQuery query;
  json::Parser prompts;
  const auto prompt = call.text("prompt_summary");
  if (prompt) {
    auto parsed = prompts.parse(*prompt);
    if (!parsed.ok()) return no_prompt_summary(parsed.error());
    query.prompt_summary = *parsed;
  }
  TRY(query.address, call.address());
  query.config = compile_defaults(call.world.service);
  query.config.previews = previews;
  if (const auto target = call.count("collapse_target")) query.config.collapse.target = *target;
  if (const auto mode = call.text("collapse_mode")) query.config.collapse.all_but_last = *mode == "all_but_last";
  query.full = call.flag("full");
  TRY(Compilation at, compile_at(call.world.service, query));
  TRY_DO(call.cancelled());
  return at;
}

Result<void> get_ctrees(Call& call) {
  if (is_foreign(call)) {
    TRY(const Address address, call.address());
    TRY(const breadboard::Value prompt, foreign_prompt_summary(call));
    TRY(std::string text, foreign_ctrees(call.world.service, address, prompt));
    return call.answer_text(std::move(text));
  }
  TRY(const Compilation at, compiled(call));
  TRY(const Value shown, ctrees_json(call.world.service, at, call.arena));
  return call.answer(shown);
}

Result<void> get_ctrees_tree(Call& call) {
  const std::string stage = call.text("stage").value_or("FROZEN"), show = call.text("show").value_or("selected");
  if (is_foreign(call)) {
    TRY(const Address address, call.address());
    breadboard::TreeArgs args;
    args.stage = stage;
    args.include_previews = call.flag("include_previews");
    if (const auto target = call.count("collapse_target")) args.collapse_target = *target;
    if (const auto mode = call.text("collapse_mode")) args.collapse_mode = *mode;
    TRY(std::string text, foreign_tree(call.world.service, address, std::move(args)));
    return call.answer_text(std::move(text));
  }
  TRY(const Compilation at, compiled(call, call.flag("include_previews")));
  TRY(const Value shown, ctrees_tree(call.world.service, at, stage, show, call.arena));
  return call.answer(shown);
}

Result<void> get_ctrees_events(Call& call) {
  TRY(const Compilation at, compiled(call));
  TRY(const Value shown, ctrees_events(call.world.service, at, call.count("offset").value_or(0), call.limit(), call.arena));
  return call.answer(shown);
}

Result<void> get_stage(Call& call) {
  if (is_foreign(call)) {
    TRY(const Address address, call.address());
    TRY(const breadboard::Value prompt, foreign_prompt_summary(call));
    TRY(std::string text,
        foreign_stage(call.world.service, address, call.text("name").value_or(""), call.flag("include_previews"), prompt));
    return call.answer_text(std::move(text));
  }
  const auto stage = ctree::parse_stage(call.text("name").value_or(""));
  TRY(const Compilation at, compiled(call, call.flag("include_previews")));
  return call.answer(stage_json(at, *stage, call.arena));
}

Result<void> explain(Call& call) {
  TRY(const Compilation at, compiled(call));
  std::string text;
  TRY_DO(explain_text(call.world.service, at, call.texts("nodes"), [&](std::string_view piece) -> Result<void> {
    text += piece;
    return call.cancelled();
  }));
  return call.answer_text(std::move(text));
}

// An entry or a head of the session; SESSION@ENTRY and SESSION@HEAD name those of another.
Result<Address> place_of(Call& call, std::string_view parameter) {
  Address out;
  TRY(out.session, call.session());
  out.head = main_head();
  std::string name = call.text(parameter).value_or("");
  if (const std::size_t at = name.find('@'); at != std::string::npos) {
    if (at > 0) {
      auto session = SessionId::parse(name.substr(0, at));
      if (!session.ok()) return wrong_argument(parameter, session.error().message());
      out.session = std::move(session).value();
    }
    name = name.substr(at + 1);
  }
  TRY_DO(call.world.service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const SessionRow session, need_session(reader, out.session));
    auto entry = find_entry(reader, session, name, Naming::exact);
    if (entry.ok()) {
      out.at = name;
      return {};
    }
    const auto head = HeadName::parse(name);
    if (entry.error().code() != ErrorCode::NOT_FOUND || !head.ok()) return std::move(entry).error();
    TRY(const auto stands, reader.head(session.no, *head));
    if (!stands && *head != main_head()) return std::move(entry).error();
    out.head = *head;
    return {};
  }));
  return out;
}

Result<void> diff(Call& call) {
  TRY(const Address a, place_of(call, "a"));
  TRY(const Address b, place_of(call, "b"));
  Service& service = call.world.service;
  const std::string what = call.text("what").value_or("stages");
  if (what == "context") {
    TRY(ContextDiff answer, diff_contexts(service, a, b, context_defaults(service, call.world.config)));
    return call.answer_text(std::move(answer.text));
  }
  DiffQuery query;
  query.a.address = a;
  query.b.address = b;
  query.what = what == "entries" ? DiffWhat::entries : DiffWhat::stages;
  query.config = compile_defaults(service);
  query.texts = call.flag("previews");
  TRY(Difference answer, weir::diff(&service, query));
  return call.answer_text(std::move(answer.text));
}

void look_at_context(Call& call, json::FieldErrors& errors) {
  const auto add = [&](std::string_view name, const auto& parsed) {
    if (parsed.ok()) return;
    for (const FieldError& field : parsed.error().fields()) errors.add(json::pointer("", name) + field.path, field.message);
  };
  Service& service = call.world.service;
  if (const Value* config = call.value("config"); config != nullptr && config->is_object())
    add("config", context::ContextConfig::parse(*config, context_defaults(service, call.world.config)));
  if (const Value* request = call.value("request"); request != nullptr && request->is_object())
    add("request", context::Request::parse(*request, service.masker()));
}

Result<void> context(Call& call) {
  Service& service = call.world.service;
  ContextQuery query;
  TRY(query.address, call.address());
  query.config = context_defaults(service, call.world.config);
  if (const Value* config = call.value("config")) {
    auto parsed = context::ContextConfig::parse(*config, query.config);
    if (!parsed.ok()) return under("config", parsed.error());
    query.config = std::move(parsed).value();
  }
  if (const auto budget = call.count("budget_bytes")) query.config.max_bytes = *budget;
  if (const auto format = context::parse_format(call.text("format").value_or(""))) query.config.format = *format;
  if (const Value* request = call.value("request")) {
    auto parsed = context::Request::parse(*request, service.masker());
    if (!parsed.ok()) return under("request", parsed.error());
    query.request = std::move(parsed).value();
  }
  query.allow_over_budget = call.flag("allow_over_budget");
  query.dry_run = call.flag("dry_run") || !query.address.at.empty();
  TRY(ContextAnswer answer, next_context(service, query));
  return call.answer_text(std::move(answer.text));
}

std::vector<Operation> of_trees() {
  return {
      {.id = "getCtrees",
       .method = "GET",
       .path = "/sessions/{session}/ctrees",
       .summary = "What the compiler makes of a path: stages, hashes, selection.",
       .parameters = of_state({kProfile, kFull, kPromptSummary}),
       .schema = schema_of("{profile:string, schema_version:string, session:string, entry:string|null, snapshot:object, compiler:" +
                           std::string(kOutputShape) + "|" + std::string(kForeignShape) +
                           ", collapse:object|null, runner:null, last_node:object|null, hash_summary:object, context_engine:null, "
                           "truncated:boolean}"),
       .example = R"({"session":"demo"})",
       .run = get_ctrees},
      {.id = "getCtreesTree",
       .method = "GET",
       .path = "/sessions/{session}/ctrees/tree",
       .summary = "The nodes of a stage as a tree.",
       .parameters = of_state(
           {kProfile,
            {.name = "stage", .type = Type::choice, .help = "FROZEN if nothing is said", .choices = "RAW|SPEC|HEADER|FROZEN"},
            {.name = "include_previews", .type = Type::flag, .help = "with the beginning of what nodes say, sanitised"},
            {.name = "collapse_target", .type = Type::integer, .help = "keep at most so many nodes, the oldest are dropped"},
            {.name = "collapse_mode", .type = Type::choice, .help = "what of them is collapsed", .choices = "none|all_but_last"},
            {.name = "show", .type = Type::choice, .help = "those selected (as if nothing is said), or all", .choices = "selected|all"}}),
       .schema =
           schema_of("{profile:string, source?:\"log\", stage:string, root_id:string, nodes:[{id:string, kind:string, label:string|null, "
                     "meta:object, parent_id:string|null, turn:integer|null}], selection:object, hashes:object, "
                     "truncated?:boolean}"),
       .example = R"({"session":"demo"})",
       .run = get_ctrees_tree},
      {.id = "getCtreesEvents",
       .method = "GET",
       .path = "/sessions/{session}/ctrees/events",
       .summary = "The nodes of a path in order, payloads sanitised.",
       .parameters = of_state(
           {kProfile,
            {.name = "offset", .type = Type::integer, .help = "how many to pass over"},
            {.name = "limit", .type = Type::integer, .help = "how many at most; 100 if nothing is said", .least = 1, .most = 1000}}),
       .schema = schema_of(
           "{source:\"log\", offset:integer, limit:integer, has_more:boolean, truncated:boolean, "
           "header:{profile:string, schema_version:string}, events:[{kind:string, node_id:string, payload:any, turn:integer|null}]}"),
       .example = R"({"session":"demo","limit":2})",
       .run = get_ctrees_events},
      {.id = "getStage",
       .method = "GET",
       .path = "/sessions/{session}/stages/{name}",
       .summary = "The compiler's output with one of its stages.",
       .parameters = {kSession,
                      {.name = "name",
                       .in = In::path,
                       .type = Type::choice,
                       .help = "which stage",
                       .required = true,
                       .choices = "RAW|SPEC|HEADER|FROZEN"},
                      kHead,
                      kAt,
                      kProfile,
                      kFull,
                      kPromptSummary,
                      {.name = "include_previews", .type = Type::flag, .help = "with the beginning of what nodes say, sanitised"}},
       .schema = schema_of(std::string(kOutputShape) + "|" + std::string(kForeignShape)),
       .example = R"({"session":"demo","name":"SPEC"})",
       .run = get_stage},
  };
}

std::vector<Operation> of_reasons() {
  return {
      {.id = "explain",
       .method = "GET",
       .path = "/sessions/{session}/explain",
       .summary = "The rule that kept, dropped, pinned or collapsed each node.",
       .parameters = of_state({{.name = "nodes", .type = Type::texts, .help = "only these, by node id or entry"}}),
       .schema = schema_of("{profile:string, session:string, entry:string|null, nodes:[{ordinal:integer, node_id:string, entry_id:string, "
                           "kind:string, role:string|null, turn:integer|null, unit:integer, bytes:integer, tokens:integer, fate:string, "
                           "pinned:boolean, reason:string}], totals:{fates:{*:integer}, reasons:{*:integer}}}"),
       .example = R"({"session":"demo"})",
       .run = explain},
      {.id = "diff",
       .method = "GET",
       .path = "/sessions/{session}/diff",
       .summary = "The first difference of two places, and its cause.",
       .parameters = {kSession,
                      {.name = "a", .help = "an entry or a head; SESSION@ENTRY or SESSION@HEAD of another session", .required = true},
                      {.name = "b", .help = "the other place", .required = true},
                      {.name = "what",
                       .type = Type::choice,
                       .help = "what is compared; stages if nothing is said",
                       .choices = "stages|context|entries"},
                      {.name = "previews", .type = Type::flag, .help = "show the beginning of what differs, masked"}},
       .schema = schema_of("{equal:boolean, common_nodes:integer|null, first_divergence:object|null, config:[object], selection:object, "
                           "stages:{*:boolean}}|{equal:boolean, common_entries:integer, first_divergence:object|null}|"
                           "{equal:boolean, context_sha256:object, prefix_equal:boolean, common_messages:integer, "
                           "first_difference:object|null}"),
       .example = R"({"session":"demo","a":"u1","b":"main"})",
       .run = diff},
      {.id = "context",
       .method = "POST",
       .path = "/sessions/{session}/context",
       .summary =
           "The messages of the next prompt within a budget, and why each is there; writes a manifest unless `at` or dry_run is given.",
       .parameters = of_state(
           {{.name = "budget_bytes", .in = In::body, .type = Type::integer, .help = "how large the prompt may be", .least = 1},
            {.name = "format", .in = In::body, .type = Type::choice, .help = "whose messages", .choices = "anthropic|openai|plain"},
            {.name = "config", .in = In::body, .type = Type::object, .help = "a context configuration", .shape = "object"},
            {.name = "request",
             .in = In::body,
             .type = Type::object,
             .help = "why, what was searched for and chosen, the tools",
             .shape = "object"},
            {.name = "allow_over_budget", .in = In::body, .type = Type::flag, .help = "answer even if pins alone are too large"},
            {.name = "dry_run", .in = In::body, .type = Type::flag, .help = "write no manifest"}}),
       .writes = true,
       .schema = schema_of(
           "{profile:string, session:string, entry:string|null, format:string, system?:array, messages:[{...}], items:[{bytes:integer, "
           "item_id:string, reason:string, role:string|null, section:string, tokens:integer}], exclusion:array|object, "
           "prefix_hash:string, prefix_length:integer, prefix_changed:string|null, breakpoints:[integer], "
           "context_sha256:string, reused_messages:integer, used:{bytes:integer, tokens:integer}, manifest_id:string, "
           "warnings:[string]}"),
       .example = R"({"session":"demo","format":"plain","dry_run":true})",
       .look = look_at_context,
       .run = context},
  };
}

}  // namespace

std::vector<Operation> context_operations() {
  std::vector<Operation> all = of_trees();
  const std::vector<Operation> more = of_reasons();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace weir::api
