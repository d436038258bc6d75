// The methods of the protocol, as a table, and what each does.
#include <algorithm>

#include "base/utf8.h"
#include "json/canonical.h"
#include "mcp/client_roots.h"
#include "mcp/completion.h"
#include "mcp/core.h"
#include "mcp/fixtures.h"
#include "mcp/resources.h"
#include "mcp/schema_check.h"
#include "service/render.h"

namespace weir::mcp {
namespace {

using json::Value;

constexpr std::int64_t kHour = 3600000;
constexpr std::size_t kMostSubscribed = 1000;  // resources of one client

Fault bad_params(std::string message) { return {.code = code::kParams, .message = std::move(message)}; }

Outcome initialize(Core& core, Asked& asked) {
  const Value* const version = asked.task.params.find("protocolVersion");
  if (version == nullptr || !version->is_string()) return bad_params("protocolVersion is a string and must be there");
  const auto wanted = parse_revision(version->text());
  const Revision revision = wanted && !is_modern(*wanted) ? *wanted : kNewestLegacy;
  const Value* const capabilities = asked.task.params.find("capabilities");
  const bool named = capabilities != nullptr && capabilities->is_object();
  asked.task.revision = revision;
  asked.task.peer->agree(revision, named ? json::canonical(*capabilities) : "{}");
  core.introduce(asked.task.peer);
  return json::make_object(asked.arena, {{"protocolVersion", revision_name(revision)},
                                         {"capabilities", core.capabilities(revision, asked.arena)},
                                         {"serverInfo", core.server_info(asked.arena)},
                                         {"instructions", asked.arena.copy(core.instructions())}});
}

Outcome ping(Core&, Asked&) { return Value::object({}); }

Outcome discover(Core& core, Asked& asked) {
  const Value supported[] = {Value(revision_name(kModern))};
  return json::make_object(asked.arena, {{"supportedVersions", json::make_array(asked.arena, supported)},
                                         {"capabilities", core.capabilities(kModern, asked.arena)},
                                         {"instructions", asked.arena.copy(core.instructions())}});
}

// Lists that fit on one page of 50: no cursor was ever given out.
std::optional<Fault> check_no_cursor(const Asked& asked) {
  if (asked.task.params.find("cursor") == nullptr) return std::nullopt;
  return bad_params("the cursor is not one of this list");
}

Value listed(std::string_view name, const std::vector<std::string_view>& items, json::Arena& arena) {
  std::vector<Value> out;
  for (const std::string_view item : items) out.push_back(Value::raw(arena.copy(json::canonical(*json::parse_stored(item, arena)))));
  return json::make_object(arena, {{name, json::make_array(arena, out)}});
}

Outcome list_tools(Core& core, Asked& asked) {
  if (auto fault = check_no_cursor(asked)) return *fault;
  return json::make_object(asked.arena, {{"tools", Value::raw(core.tools_listing(asked.task.revision))}});
}

Outcome list_prompts(Core& core, Asked& asked) {
  if (auto fault = check_no_cursor(asked)) return *fault;
  std::vector<std::string_view> items;
  for (const PromptSpec& prompt : core.prompts()) items.push_back(prompt.listing);
  return listed("prompts", items, asked.arena);
}

Outcome list_templates(Core& core, Asked& asked) {
  if (auto fault = check_no_cursor(asked)) return *fault;
  std::vector<std::string_view> items = own_templates();
  if (core.options().conformance)
    for (const std::string_view item : fixture_templates()) items.push_back(item);
  return listed("resourceTemplates", items, asked.arena);
}

Outcome list_own_resources(Core& core, Asked& asked) {
  const Value* const cursor = asked.task.params.find("cursor");
  if (cursor != nullptr && !cursor->is_string()) return bad_params("a cursor is a string");
  auto own = list_resources(asked, cursor == nullptr ? "" : cursor->text());
  if (!own.ok()) return fault_of(own.error());
  if (!core.options().conformance || cursor != nullptr) return *own;
  std::vector<Value> items(own->find("resources")->items().begin(), own->find("resources")->items().end());
  const Value fixtures = listed("resources", fixture_resources(), asked.arena);
  for (const Value& item : fixtures.find("resources")->items()) items.push_back(item);
  json::ObjectBuilder out(asked.arena);
  out.add("resources", json::make_array(asked.arena, items)).add_if("nextCursor", own->find("nextCursor"));
  return out.build();
}

Outcome missing_resource(const Asked& asked, std::string_view uri, std::string message) {
  json::Arena arena;
  return Fault{.code = asked.task.modern() ? code::kParams : code::kResource,
               .message = std::move(message),
               .data = json::canonical(json::make_object(arena, {{"uri", uri}}))};
}

Outcome read_one(Core& core, Asked& asked) {
  const Value* const uri = asked.task.params.find("uri");
  if (uri == nullptr || !uri->is_string()) return bad_params("uri is a string and must be there");
  if (core.options().conformance) {
    if (const auto contents = fixture_resource(uri->text(), asked.arena)) return *contents;
  }
  auto contents = read_resource(asked, uri->text());
  if (contents.ok()) return *contents;
  if (info(contents.error().code()).http >= 500) return fault_of(contents.error());
  return missing_resource(asked, uri->text(), masked_text(contents.error().message()));
}

Outcome change_subscription(Core& core, Asked& asked, bool wanted) {
  const Value* const uri = asked.task.params.find("uri");
  if (uri == nullptr || !uri->is_string()) return bad_params("uri is a string and must be there");
  const bool known = parse_resource(uri->text()) || (core.options().conformance && uri->text().starts_with("test://"));
  if (!known) return missing_resource(asked, uri->text(), "there is no resource of that name");
  if (wanted && asked.task.peer->subscribed().size() >= kMostSubscribed) return bad_params("too many subscriptions of one client");
  core.subscribe(asked.task.peer, std::string(uri->text()), wanted);
  return Value::object({});
}

Outcome subscribe(Core& core, Asked& asked) { return change_subscription(core, asked, true); }
Outcome unsubscribe(Core& core, Asked& asked) { return change_subscription(core, asked, false); }

Outcome set_level(Core&, Asked& asked) {
  const auto level = log_level(asked.task.params.text_or("level", ""));
  if (!level) return bad_params("level is one of debug, info, notice, warning, error, critical, alert, emergency");
  asked.task.peer->set_level(*level);
  return Value::object({});
}

// What is asked for and served. Nothing: the filter is malformed.
std::optional<Wanted> parse_filter(const Core& core, const Value* filter) {
  if (filter == nullptr || !filter->is_object()) return std::nullopt;
  Wanted wanted;
  for (const json::Member& member : filter->members()) {
    if (member.key == "resourceSubscriptions") {
      if (!member.value.is_array()) return std::nullopt;
      for (const Value& uri : member.value.items()) {
        if (!uri.is_string()) return std::nullopt;
        if (parse_resource(uri.text()) || (core.options().conformance && uri.text().starts_with("test://")))
          wanted.uris.emplace(uri.text());
      }
      continue;
    }
    bool* const kind = member.key == "toolsListChanged"       ? &wanted.tools
                       : member.key == "promptsListChanged"   ? &wanted.prompts
                       : member.key == "resourcesListChanged" ? &wanted.resources
                                                              : nullptr;
    if (kind == nullptr) continue;
    if (!member.value.is_boolean()) return std::nullopt;
    *kind = member.value.boolean() && (kind == &wanted.resources || core.options().conformance);
  }
  return wanted;
}

std::string tagged(const Task& task, std::string_view method, std::string_view key, const Value& value) {
  json::Arena arena;
  json::ObjectBuilder params(arena);
  params.add("_meta", json::make_object(arena, {{kMetaSubscription, task.id}}));
  if (!key.empty()) params.add(key, value);
  return json::canonical(json::make_object(arena, {{"jsonrpc", "2.0"}, {"method", method}, {"params", params.build()}}));
}

Outcome listen(Core& core, Asked& asked) {
  const auto wanted = parse_filter(core, asked.task.params.find("notifications"));
  if (!wanted)
    return bad_params(
        "notifications is an object of toolsListChanged, promptsListChanged, resourcesListChanged (true or "
        "false) and resourceSubscriptions (a list of URIs)");
  if (!asked.task.channel->hears()) return Fault{.code = code::kRequest, .message = "a listener accepts text/event-stream", .http = 406};
  json::ObjectBuilder accepted(asked.arena);
  if (wanted->tools) accepted.add("toolsListChanged", true);
  if (wanted->prompts) accepted.add("promptsListChanged", true);
  if (wanted->resources) accepted.add("resourcesListChanged", true);
  if (const Value* const uris = asked.task.params.find("notifications")->find("resourceSubscriptions")) {
    std::vector<Value> kept;
    for (const Value& uri : uris->items())
      if (wanted->uris.contains(std::string(uri.text()))) kept.push_back(uri);
    accepted.add("resourceSubscriptions", json::make_array(asked.arena, kept));
  }
  // The acknowledgement is the first message, whatever happens meanwhile.
  const auto first = std::make_shared<std::mutex>();
  const std::lock_guard lock(*first);
  const auto task = asked.task.shared_from_this();
  const std::uint64_t listener =
      core.subscriptions().add(*wanted, [task = std::weak_ptr(task), first](std::string_view method, std::string_view uri) {
        const auto to = task.lock();
        if (to == nullptr || to->cancelled()) return;
        const std::lock_guard after(*first);
        to->tell(tagged(*to, method, uri.empty() ? "" : "uri", Value(uri)));
      });
  task->tell(tagged(*task, "notifications/subscriptions/acknowledged", "notifications", accepted.build()));
  if (core.keep_listening(task, listener)) return Value::object({});
  core.subscriptions().remove(listener);
  if (!core.stopping()) return Fault{.code = code::kRequest, .message = "too many listeners of one client", .http = 429};
  core.end_listening(task);
  return Value::object({});
}

template <typename Rule>
void check_name(std::string_view name, const Value& arguments, json::FieldErrors& errors) {
  const Value* const given = arguments.find(name);
  if (given != nullptr && given->is_string() && !Rule::valid(given->text()))
    errors.add(json::pointer("", name), std::string(Rule::kWhat) + " is " + std::string(Rule::kForm));
}

// Those that every tool takes in the same form.
void check_names(const Value& arguments, json::FieldErrors& errors) {
  check_name<SessionRule>("session", arguments, errors);
  check_name<HeadRule>("head", arguments, errors);
  check_name<EntryRule>("at", arguments, errors);
}

Outcome call_tool(Core& core, Asked& asked) {
  const Value* const name = asked.task.params.find("name");
  if (name == nullptr || !name->is_string()) return bad_params("name is a string and must be there");
  const auto& tools = core.tools();
  const auto tool = std::find_if(tools.begin(), tools.end(), [&](const ToolSpec& one) { return one.name == name->text(); });
  if (tool == tools.end()) return bad_params("there is no tool of that name");
  const Value* const given = asked.task.params.find("arguments");
  if (given != nullptr && !given->is_object()) return bad_params("arguments is an object");
  const Value arguments = given == nullptr ? Value::object({}) : *given;
  json::FieldErrors errors;
  check_schema(core.input_schema(static_cast<std::size_t>(tool - tools.begin())), arguments, "", errors);
  // Names alone are refused by whoever takes them.
  if (!errors.empty()) check_names(arguments, errors);
  if (const auto wrong = errors.result(); !wrong.ok())
    return error_result(tool->refuse == nullptr ? wrong.error() : tool->refuse(arguments, wrong.error()), asked.arena);
  const ToolOutcome outcome = tool->run(asked, arguments);
  if (const auto* fault = std::get_if<Fault>(&outcome)) return *fault;
  if (const auto* error = std::get_if<Error>(&outcome)) return error_result(*error, asked.arena);
  return std::get<Value>(outcome);
}

Outcome get_prompt(Core& core, Asked& asked) {
  const Value* const name = asked.task.params.find("name");
  if (name == nullptr || !name->is_string()) return bad_params("name is a string and must be there");
  const auto& prompts = core.prompts();
  const auto prompt = std::find_if(prompts.begin(), prompts.end(), [&](const PromptSpec& one) { return one.name == name->text(); });
  if (prompt == prompts.end()) return bad_params("there is no prompt of that name");
  const Value* const given = asked.task.params.find("arguments");
  if (given != nullptr && !given->is_object()) return bad_params("arguments is an object");
  const Value arguments = given == nullptr ? Value::object({}) : *given;
  const Value listing = *json::parse_stored(prompt->listing, asked.arena);
  const Value* const known = listing.find("arguments");
  for (const Value& argument : known == nullptr ? std::span<const Value>() : known->items()) {
    const Value* const value = arguments.find(argument.text_or("name", ""));
    const Value* const required = argument.find("required");
    if (value == nullptr && required != nullptr && required->boolean() && !core.options().session)
      return bad_params("the argument " + std::string(argument.text_or("name", "")) + " is missing");
    if (value != nullptr && !value->is_string()) return bad_params("an argument of a prompt is a string");
  }
  for (const json::Member& member : arguments.members()) {
    const auto is_it = [&](const Value& argument) { return argument.text_or("name", "") == member.key; };
    if (known == nullptr || std::none_of(known->items().begin(), known->items().end(), is_it))
      return bad_params("the prompt has no argument " + printable(masked_excerpt(member.key, 80)));
  }
  const auto outcome = prompt->run(asked, arguments);
  if (const auto* fault = std::get_if<Fault>(&outcome)) return *fault;
  if (const auto* error = std::get_if<Error>(&outcome)) return fault_of(*error);
  return std::get<Value>(outcome);
}

Outcome complete_argument(Core&, Asked& asked) { return complete(asked, asked.task.params); }

constexpr Caching kLong{kHour, true}, kNever{0, false};

const Method kMethods[] = {
    {.name = "initialize", .modern = false, .quick = true, .run = initialize},
    {.name = "ping", .modern = false, .quick = true, .run = ping},
    {.name = "server/discover", .legacy = false, .quick = true, .caching = kLong, .run = discover},
    {.name = "tools/list", .quick = true, .caching = kLong, .run = list_tools},
    {.name = "tools/call", .run = call_tool},
    {.name = "resources/list", .caching = kNever, .run = list_own_resources},
    {.name = "resources/templates/list", .quick = true, .caching = kLong, .run = list_templates},
    {.name = "resources/read", .caching = kNever, .run = read_one},
    {.name = "resources/subscribe", .modern = false, .run = subscribe},
    {.name = "resources/unsubscribe", .modern = false, .run = unsubscribe},
    {.name = "prompts/list", .quick = true, .caching = kLong, .run = list_prompts},
    {.name = "prompts/get", .run = get_prompt},
    {.name = "completion/complete", .run = complete_argument},
    {.name = "logging/setLevel", .modern = false, .quick = true, .run = set_level},
    {.name = "subscriptions/listen", .legacy = false, .run = listen},
};

}  // namespace

const Method* find_method(std::string_view name) {
  const auto found = std::find_if(std::begin(kMethods), std::end(kMethods), [&](const Method& method) { return method.name == name; });
  return found == std::end(kMethods) ? nullptr : found;
}

Outcome call_operation(Core&, Asked& asked, std::string_view operation) {
  const api::Operation* const found = api::find_operation(operation);
  if (found == nullptr) return Fault{.code = code::kMethod, .message = "there is no operation of that name"};
  api::Call call(asked.world, *found, asked.task);
  call.may_write = asked.task.may_write;
  if (found->files) call.within = client_roots(asked);
  json::ObjectBuilder arguments(call.arena);
  for (const json::Member& member : asked.task.params.members())
    if (member.key != "_meta") arguments.add(member.key, member.value);
  if (const auto done = api::call(call, arguments.build()); !done.ok()) return fault_of(done.error());
  asked.task.receipt = std::move(call.reply.receipt);
  if (found->answers == api::Answers::lines) return json::make_object(asked.arena, {{"text", asked.task.lines()}});
  const auto answer = json::parse_stored(asked.arena.copy(api::reply_as_json(*found, call.reply)), asked.arena);
  return answer.ok() ? Outcome(*answer) : Outcome(fault_of(answer.error()));
}

Value Core::server_info(json::Arena& arena) const { return json::make_object(arena, {{"name", "weir"}, {"version", WEIR_VERSION}}); }

Value Core::capabilities(Revision revision, json::Arena& arena) const {
  json::ObjectBuilder out(arena);
  const Value none = Value::object({});
  const Value changing = options_.conformance ? json::make_object(arena, {{"listChanged", true}}) : none;
  out.add("tools", changing).add("prompts", changing);
  out.add("resources", json::make_object(arena, {{"subscribe", true}, {"listChanged", true}}));
  if (has(revision, Feature::completions)) out.add("completions", none);
  if (!is_modern(revision)) out.add("logging", none);
  if (options_.host) out.add("extensions", json::make_object(arena, {{"dev.weir/host", none}}));
  return out.build();
}

// Only what holds in every session: whether reads get shorter depends on what reaches its log.
std::string Core::instructions() const {
  const std::string_view name =
      options_.session ? ""
                       : "No session is set: make up a name that no other conversation has, such as today's date and six random letters, "
                         "and pass it as `session` in every call; one name for two conversations makes both wrong. ";
  return "Weir keeps a log that outlives this context. " + std::string(name) +
         "`read` sends a file's text; less, a short marker or a diff, only in a session whose compactions reach the log (`status` says). "
         "Record claims, evidence and next actions with `note`: they stay in the log through every compaction, and `history` searches "
         "all of it.";
}

}  // namespace weir::mcp
