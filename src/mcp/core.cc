#include "mcp/core.h"

#include <algorithm>
#include <cmath>

#include "base/memory.h"
#include "json/canonical.h"
#include "mcp/batch.h"
#include "mcp/client_roots.h"
#include "mcp/fixtures.h"
#include "mcp/spelling.h"
#include "service/render.h"

namespace weir::mcp {
namespace {

using json::Value;

constexpr std::ptrdiff_t kMostListening = 256;  // of one client
constexpr std::size_t kMostIdleParsers = 16;
constexpr std::string_view kHostMethods = "weir/*", kHostPrefix = "weir/";

Fault bad_request(std::string message) { return {.code = code::kRequest, .message = std::move(message), .http = 400}; }

bool is_id(const Value& value) {
  if (value.kind() == json::Kind::real) return value.real() == std::floor(value.real());
  return value.is_string() || value.is_integer() || value.kind() == json::Kind::big_integer;
}

// What is wrong with an envelope; nothing if it is a request, a notification or an answer.
std::optional<Fault> check_envelope(const Value& message) {
  if (!message.is_object()) return bad_request("a message is an object");
  if (const std::string meant = misspelt_member(message); !meant.empty()) return bad_request("a member is written \"" + meant + "\"");
  if (message.text_or("jsonrpc", "") != "2.0") return bad_request("jsonrpc is \"2.0\"");
  const Value* const id = message.find("id");
  const Value* const method = message.find("method");
  const bool answers = message.find("result") != nullptr || message.find("error") != nullptr;
  // An error about something that could not be read has no id.
  if (method == nullptr && message.find("error") != nullptr && (id == nullptr || id->is_null())) return std::nullopt;
  if (id != nullptr && !is_id(*id)) return bad_request("an id is a string or an integer");
  if (method == nullptr && !(answers && id != nullptr)) return bad_request("a request has a method");
  if (method != nullptr && (answers || !method->is_string())) return bad_request("a method is a string");
  const Value* const params = message.find("params");
  if (params != nullptr && !params->is_object()) return bad_request("params is an object");
  return std::nullopt;
}

// Notifications and answers get none; what is neither is told so.
bool is_answered(const Value& message) {
  return check_envelope(message) || (message.find("id") != nullptr && message.find("method") != nullptr);
}

std::string id_text_of(const Value& message) {
  const Value* const id = message.find("id");
  return id != nullptr && is_id(*id) ? json::canonical(*id) : "null";
}

Value member_or_empty(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found != nullptr && found->is_object() ? *found : Value::object({});
}

std::string_view operation_of(const Task& task) { return task.method.substr(kHostPrefix.size()); }

// The session that a call of a tool or a host method is about; empty: none.
std::string session_named(const Task& task, const Options& options) {
  const Value* const arguments = task.method == "tools/call" ? task.params.find("arguments") : &task.params;
  if (task.method != "tools/call" && !task.method.starts_with(kHostPrefix)) return {};
  const std::string_view named = arguments == nullptr ? "" : arguments->text_or("session", "");
  if (!named.empty()) return std::string(named);
  return options.session ? options.session->str() : "";
}

}  // namespace

Core::Core(api::World& world, api::Lanes& lanes, api::Journal& journal, Options options)
    : world_(world), lanes_(lanes), journal_(journal), options_(std::move(options)), subscriptions_(world) {
  tools_ = own_tools();
  prompts_ = own_prompts();
  if (options_.conformance) {
    for (const ToolSpec& tool : fixture_tools()) tools_.push_back(tool);
    for (const PromptSpec& prompt : fixture_prompts()) prompts_.push_back(prompt);
  }
  write_listings();
}

std::shared_ptr<json::Parser> Core::parser() {
  std::unique_ptr<json::Parser> out;
  {
    const std::lock_guard lock(parsers_->mutex);
    if (!parsers_->idle.empty()) {
      out = std::move(parsers_->idle.back());
      parsers_->idle.pop_back();
    }
  }
  if (out == nullptr) out = std::make_unique<json::Parser>();
  return {out.release(), [parsers = parsers_](json::Parser* used) {
            std::unique_ptr<json::Parser> mine(used);
            const std::lock_guard lock(parsers->mutex);
            if (parsers->idle.size() < kMostIdleParsers) parsers->idle.push_back(std::move(mine));
          }};
}

void Core::take(const std::shared_ptr<json::Parser>& parser, const Value& message, const Arrival& arrival) {
  if (message.is_array()) {
    take_batch(parser, message, arrival);
  } else {
    take_one(parser, message, arrival);
  }
}

void Core::take_batch(const std::shared_ptr<json::Parser>& parser, const Value& messages, const Arrival& arrival) {
  const auto revision = arrival.peer == nullptr ? std::nullopt : arrival.peer->revision();
  std::optional<Fault> fault;
  if (!revision || !has_batches(*revision)) {
    fault = bad_request("this revision has no batches: send one message");
  } else if (messages.items().empty()) {
    fault = bad_request("the batch is empty");
  } else if (messages.items().size() > kMostInBatch) {
    fault = bad_request("a batch has at most " + std::to_string(kMostInBatch) + " messages");
  }
  if (fault) {
    arrival.channel->finish(fault_message("null", *fault), fault->http);
    return;
  }
  const auto introduces = [](const Value& message) { return message.text_or("method", "") == "initialize"; };
  if (std::any_of(messages.items().begin(), messages.items().end(), introduces)) {
    arrival.channel->finish(fault_message("null", bad_request("initialize is no part of a batch")), 400);
    return;
  }
  std::size_t answers = 0;
  for (const Value& message : messages.items()) answers += is_answered(message) ? 1 : 0;
  Arrival each = arrival;
  if (answers == 0) {
    for (const Value& message : messages.items()) take_one(parser, message, each);
    if (arrival.http()) arrival.channel->finish("", 202);
    return;
  }
  const auto whole = std::make_shared<BatchChannel>(arrival.channel, answers);
  for (std::size_t place = 0; place < messages.items().size(); ++place) {
    const Value& message = messages.items()[place];
    each.channel = whole;
    if (!is_answered(message)) {
      Arrival silent = each;
      silent.header = nullptr;
      take_one(parser, message, silent);
      continue;
    }
    if (arrival.exchange != nullptr) {
      if (const auto kept = arrival.exchange->kept_part(place)) {
        whole->finish(*kept, 200);
        continue;
      }
      each.channel = std::make_shared<PartChannel>(whole, arrival.exchange, place);
    }
    take_one(parser, message, each);
  }
}

void Core::take_one(const std::shared_ptr<json::Parser>& parser, const Value& message, const Arrival& arrival) {
  if (const auto fault = check_envelope(message)) {
    arrival.channel->finish(fault_message(message.is_object() ? id_text_of(message) : "null", *fault), fault->http);
    return;
  }
  const Value* const method = message.find("method");
  if (method == nullptr && arrival.http() && is_modern_message(message, arrival)) {
    arrival.channel->finish(fault_message(id_text_of(message), bad_request("a message is a request or a notification")), 400);
    return;
  }
  if (method == nullptr) {
    const Value* const result = message.find("result");
    const Value* const error = message.find("error");
    if (arrival.peer != nullptr)
      arrival.peer->answered(id_text_of(message),
                             {result == nullptr ? "" : json::canonical(*result), error == nullptr ? "" : json::canonical(*error)});
    if (arrival.http()) arrival.channel->finish("", 202);
    return;
  }
  if (message.find("id") == nullptr) {
    notification(message, arrival);
    if (arrival.http()) arrival.channel->finish("", 202);
    return;
  }
  auto task = std::make_shared<Task>();
  task->parser = parser;
  task->id = *message.find("id");
  task->id_text = json::canonical(task->id);
  task->method = method->text();
  task->params = member_or_empty(message, "params");
  task->meta = member_or_empty(task->params, "_meta");
  task->peer = arrival.peer;
  task->channel = arrival.channel;
  task->header = arrival.header;
  task->may_write = arrival.may_write;
  task->revision = is_modern_message(message, arrival) ? kModern : kNewestLegacy;
  request(task, arrival);
}

void Core::notification(const Value& message, const Arrival& arrival) {
  if (arrival.peer == nullptr) return;
  if (message.text_or("method", "") == "notifications/roots/list_changed") arrival.peer->forget_roots();
  if (message.text_or("method", "") != "notifications/cancelled") return;
  const Value* const params = message.find("params");
  const Value* const id = params == nullptr ? nullptr : params->find("requestId");
  if (id == nullptr || !is_id(*id)) return;
  const std::string id_text = json::canonical(*id);
  arrival.peer->cancel(id_text);
  // A stream that listens ends without a result when it is cancelled.
  const std::lock_guard lock(listening_mutex_);
  for (auto it = listening_.begin(); it != listening_.end(); ++it) {
    if (it->first->peer != arrival.peer || it->first->id_text != id_text) continue;
    subscriptions_.remove(it->second);
    listening_.erase(it);
    break;
  }
}

bool Core::quick(const Method& method, const Task& task) const {
  if (method.quick) return true;
  if (method.name != "tools/call" || task.params.text_or("name", "") != "read" || options_.session) return false;
  // A read that is not recorded waits for nothing but the file, once it is known where the client works.
  if (must_ask_roots(task)) return false;
  const Value* const arguments = task.params.find("arguments");
  return arguments == nullptr || arguments->find("session") == nullptr;
}

// Would it wait for the store's lock?
bool Core::may_write(const Method& method, const Task& task) const {
  const Value* const arguments = method.name == "tools/call" ? task.params.find("arguments") : &task.params;
  const Value* const dry_run = arguments == nullptr ? nullptr : arguments->find("dry_run");
  if (dry_run != nullptr && dry_run->is_boolean() && dry_run->boolean()) return false;
  if (arguments != nullptr && (arguments->find("at") != nullptr || arguments->text_or("record", "") == "none")) return false;
  if (method.name == kHostMethods) {
    const api::Operation* const operation = api::find_operation(operation_of(task));
    return operation != nullptr && operation->writes;
  }
  const auto named = [&](const ToolSpec& tool) { return tool.name == task.params.text_or("name", ""); };
  const auto tool = method.name == "tools/call" ? std::find_if(tools_.begin(), tools_.end(), named) : tools_.end();
  return tool != tools_.end() && tool->writes;
}

void Core::request(const std::shared_ptr<Task>& task, const Arrival& arrival) {
  const bool host = options_.host && !arrival.http() && task->method.starts_with(kHostPrefix);
  const auto refuse = [&](const Fault& fault) { end(task, fault, std::nullopt, "unknown"); };
  if (task->peer != nullptr && !task->peer->begin(task)) {
    // The one under way keeps its id; this one is answered without being known.
    task->channel->finish(fault_message(task->id_text, bad_request("a request of this id is under way")), 400);
    return;
  }
  if (const auto fault = task->modern() ? check_modern(*task, arrival) : check_legacy(*task)) return refuse(*fault);
  static const Method kHostMethod{.name = kHostMethods,
                                  .run = [](Core& core, Asked& asked) { return call_operation(core, asked, operation_of(asked.task)); }};
  const Method* const method = host ? &kHostMethod : find_method(task->method);
  if (method == nullptr || (task->modern() ? !method->modern : !method->legacy))
    return refuse({.code = code::kMethod, .message = "there is no method of that name", .http = task->modern() ? 404 : 200});
  json::FieldErrors errors;
  if (!host) check_spelling(task->params, errors);
  if (const auto wrong = errors.result(); !wrong.ok()) return refuse(fault_of(wrong.error()));
  if (stopping_) return refuse({.code = code::kInternal, .message = "the server is stopping", .http = 503});
  if (quick(*method, *task)) return run(task, *method);
  const auto work = [this, task, method] { run(task, *method); };
  // A client that does not wait for answers still finds what it did before. Over HTTP each request stands for itself.
  const std::string session = arrival.http() || task->peer == nullptr ? "" : session_named(*task, options_);
  api::Workers& lane = must_ask_roots(*task) ? lanes_.asking : may_write(*method, *task) ? lanes_.writing : lanes_.slow;
  if (session.empty()) {
    lane.run(work);
  } else {
    task->peer->in_order(session, work, must_ask_roots(*task) ? lane : lanes_.writing);
  }
}

void Core::run(const std::shared_ptr<Task>& task, const Method& method) {
  json::Arena arena;
  Asked asked{*this, world_, *task, arena, method.caching};
  if (task->cancelled()) return end(task, Fault{.code = code::kInternal, .message = "cancelled"}, std::nullopt, method.name);
  const Outcome outcome = [&]() -> Outcome {
    try {
      return method.run(*this, asked);
    } catch (const std::bad_alloc&) {
      return Fault{.code = code::kInternal, .message = out_of_memory().message(), .http = 503};
    }
  }();
  // A stream that listens is answered when it ends.
  if (method.name == "subscriptions/listen" && std::holds_alternative<Value>(outcome)) return;
  end(task, outcome, asked.caching, method.name);
}

void Core::end(const std::shared_ptr<Task>& task, const Outcome& outcome, const std::optional<Caching>& caching, std::string_view counted) {
  const auto* const fault = std::get_if<Fault>(&outcome);
  if (options_.counted) options_.counted(task->modern() ? "modern" : "legacy", counted, fault == nullptr ? "ok" : "error");
  if (task->peer != nullptr) task->peer->end(*task);
  if (fault != nullptr) {
    task->finish(fault_message(task->id_text, *fault), fault->http);
  } else {
    task->finish(result_message(*task, std::get<Value>(outcome), caching), 200);
  }
}

std::string Core::result_message(Task& task, const Value& result, const std::optional<Caching>& caching) {
  json::Arena arena;
  json::ObjectBuilder out(arena);
  if (has(task.revision, Feature::result_type)) {
    if (result.find("resultType") == nullptr) out.add("resultType", "complete");
    if (caching) out.add("ttlMs", caching->ttl_ms).add("cacheScope", caching->shared ? "public" : "private");
    json::ObjectBuilder meta(arena);
    for (const json::Member& member : member_or_empty(result, "_meta").members()) meta.add(member.key, member.value);
    out.add("_meta", meta.add(kMetaServer, server_info(arena)).build());
  }
  for (const json::Member& member : result.members()) out.add(member.key, member.value);
  return json::canonical(json::make_object(arena, {{"jsonrpc", "2.0"}, {"id", Value::raw(task.id_text)}, {"result", out.build()}}));
}

std::string Core::fault_message(std::string_view id_text, const Fault& fault) {
  json::Arena arena;
  json::ObjectBuilder error(arena);
  error.add("code", fault.code).add("message", fault.message);
  if (!fault.data.empty()) error.add("data", Value::raw(fault.data));
  return json::canonical(json::make_object(arena, {{"jsonrpc", "2.0"}, {"id", Value::raw(id_text)}, {"error", error.build()}}));
}

void Core::introduce(const std::shared_ptr<Peer>& peer) {
  const std::lock_guard lock(introduced_mutex_);
  if (introduced_.contains(peer.get())) return;
  const Wanted wanted{.tools = options_.conformance, .prompts = options_.conformance, .resources = true, .uris = {}};
  introduced_[peer.get()] = subscriptions_.add(wanted, [weak = std::weak_ptr(peer)](std::string_view method, std::string_view uri) {
    const auto to = weak.lock();
    if (to == nullptr) return;
    json::Arena arena;
    json::ObjectBuilder out(arena);
    out.add("jsonrpc", "2.0").add("method", method);
    if (!uri.empty()) out.add("params", json::make_object(arena, {{"uri", uri}}));
    to->send(json::canonical(out.build()));
  });
}

void Core::forget(const Peer& peer) {
  const std::lock_guard lock(introduced_mutex_);
  const auto found = introduced_.find(&peer);
  if (found == introduced_.end()) return;
  subscriptions_.remove(found->second);
  introduced_.erase(found);
}

void Core::subscribe(const std::shared_ptr<Peer>& peer, const std::string& uri, bool wanted) {
  peer->subscribe(uri, wanted);
  const std::lock_guard lock(introduced_mutex_);
  const auto found = introduced_.find(peer.get());
  if (found == introduced_.end()) return;
  subscriptions_.change(found->second,
                        {.tools = options_.conformance, .prompts = options_.conformance, .resources = true, .uris = peer->subscribed()});
}

bool Core::keep_listening(const std::shared_ptr<Task>& task, std::uint64_t listener) {
  const std::lock_guard lock(listening_mutex_);
  if (stopping_) return false;
  // Streams whose clients have gone are swept when another comes.
  for (auto it = listening_.begin(); it != listening_.end();) {
    if (it->first->cancelled()) {
      subscriptions_.remove(it->second);
      it = listening_.erase(it);
    } else {
      ++it;
    }
  }
  const auto same = [&](const auto& other) { return other.first->peer == task->peer; };
  if (task->peer != nullptr && std::count_if(listening_.begin(), listening_.end(), same) >= kMostListening) return false;
  task->channel->rest();
  listening_.emplace(task, listener);
  return true;
}

void Core::shut_down() {
  std::map<std::shared_ptr<Task>, std::uint64_t> listening;
  {
    const std::lock_guard lock(listening_mutex_);
    stopping_ = true;
    listening.swap(listening_);
  }
  for (const auto& [task, listener] : listening) {
    subscriptions_.remove(listener);
    end_listening(task);
  }
}

void Core::end_listening(const std::shared_ptr<Task>& task) {
  json::Arena arena;
  const Value meta = json::make_object(arena, {{kMetaSubscription, task->id}});
  end(task, json::make_object(arena, {{"_meta", meta}}), std::nullopt, "subscriptions/listen");
}

void Core::write_listings() {
  for (const ToolSpec& tool : tools_) {
    const auto listing = json::parse_stored(tool.listing, listed_);
    WEIR_CHECK(listing.ok());
    schemas_.push_back(*listing->find("inputSchema"));
  }
  for (int i = 0; i <= static_cast<int>(kModern); ++i) {
    const auto revision = static_cast<Revision>(i);
    json::Arena arena;
    std::vector<Value> items;
    for (const ToolSpec& tool : tools_) {
      const Value listing = *json::parse_stored(tool.listing, listed_);
      json::ObjectBuilder out(arena);
      for (const json::Member& member : listing.members()) {
        if (member.key == "annotations" && !has(revision, Feature::annotations)) continue;
        if ((member.key == "outputSchema" || member.key == "_meta") && !has(revision, Feature::structured)) continue;
        out.add(member.key, member.value);
      }
      items.push_back(out.build());
    }
    listings_.push_back(json::canonical(json::make_array(arena, items)));
  }
}

std::string error_text(const Error& error) {
  json::Arena arena;
  return json::canonical(error_json(error, arena));
}

Fault fault_of(const Error& error) {
  const bool callers = info(error.code()).http < 500;
  return {.code = callers ? code::kParams : code::kInternal, .message = masked_text(error.message()), .data = error_text(error)};
}

}  // namespace weir::mcp
