#include "mcp/fixture_input.h"

#include "api/cursor.h"
#include "json/canonical.h"
#include "mcp/peer.h"

namespace weir::mcp {
namespace {

using json::Value;

constexpr std::chrono::seconds kPatience(20);      // with a client that was asked
constexpr std::int64_t kStateMs = 10 * 60 * 1000;  // how long a state is good

std::string_view capability_of(std::string_view method) { return method.substr(0, method.find('/')); }

Fault bad_params(std::string message) { return {.code = code::kParams, .message = std::move(message)}; }

bool is_declared(const Asked& asked, std::string_view method) {
  const Value* const found = asked.task.capabilities.find(capability_of(method));
  return found != nullptr && found->is_object();
}

// Is it an answer to such a request?
bool answers(std::string_view method, const Value& value) {
  if (method == "roots/list") {
    const Value* const roots = value.find("roots");
    return roots != nullptr && roots->is_array();
  }
  if (method == "sampling/createMessage") return value.find("content") != nullptr && !value.text_or("role", "").empty();
  const std::string_view action = value.text_or("action", "");
  return action == "accept" || action == "decline" || action == "cancel";
}

// Values may point into the text they were parsed from.
Value params_of(const Wish& wish, json::Arena& arena) { return *json::parse_stored(arena.copy(wish.params), arena); }

ToolOutcome failed(const Asked& asked, std::string_view why) {
  const Value blocks[] = {json::make_object(asked.arena, {{"type", "text"}, {"text", asked.arena.copy(why)}})};
  return json::make_object(asked.arena, {{"content", json::make_array(asked.arena, blocks)}, {"isError", true}});
}

// ---- legacy: one request to the client after the other ----

std::variant<Gathered, ToolOutcome> ask_in_turn(Asked& asked, const Form& form) {
  json::ObjectBuilder out(asked.arena);
  for (const auto& round : form.rounds) {
    for (const Wish& wish : round) {
      if (!is_declared(asked, wish.method)) {
        if (form.only_declared) continue;
        return failed(asked, "the client does not declare " + std::string(capability_of(wish.method)));
      }
      const auto answer = asked.task.peer->ask(asked.task, wish.method, params_of(wish, asked.arena), kPatience);
      if (!answer || answer->result.empty()) return failed(asked, "the client did not answer " + std::string(wish.method));
      const auto given = json::parse_stored(asked.arena.copy(answer->result), asked.arena);
      if (!given.ok() || !answers(wish.method, *given)) return failed(asked, "that is no answer to " + std::string(wish.method));
      out.add(wish.key, *given);
    }
  }
  return Gathered{out.build()};
}

// ---- modern: the state of a call that is to be made again ----

struct State {
  std::size_t round = 0;
  Value answers = Value::object({});  // of the rounds before
};

// A state is only good for the call that it was given for.
std::string state_kind(const Asked& asked, const Value& arguments) {
  return "mcp.state\n" + std::string(asked.task.method) + "\n" + std::string(asked.task.params.text_or("name", "")) + "\n" +
         json::canonical(arguments);
}

std::string write_state(const Asked& asked, const Value& arguments, const State& state) {
  const Value value = json::make_object(
      asked.arena, {{"round", state.round}, {"answers", state.answers}, {"until", asked.world.service.now().ms + kStateMs}});
  return api::make_cursor(state_kind(asked, arguments), json::canonical(value), asked.world.cursor_key);
}

std::variant<State, Fault> read_state(const Asked& asked, const Value& arguments, const Form& form) {
  const Value* const given = asked.task.params.find("requestState");
  if (given == nullptr) return State{};
  if (!given->is_string()) return bad_params("requestState is a string");
  const auto payload = api::read_cursor(state_kind(asked, arguments), given->text(), asked.world.cursor_key);
  if (!payload.ok()) return bad_params("requestState is none that was given for this call");
  const auto value = json::parse_stored(asked.arena.copy(*payload), asked.arena);
  if (!value.ok() || value->find("until")->integer() < asked.world.service.now().ms) return bad_params("requestState is too old");
  const auto round = static_cast<std::size_t>(value->find("round")->integer());
  if (round >= form.rounds.size()) return bad_params("requestState is none of this form");
  return State{round, *value->find("answers")};
}

ToolOutcome input_required(Asked& asked, const Value& arguments, const Form& form, const State& state) {
  json::ObjectBuilder requests(asked.arena);
  for (const Wish& wish : form.rounds[state.round]) {
    if (!is_declared(asked, wish.method)) {
      if (form.only_declared) continue;
      return *check_capability(asked, wish.method);
    }
    requests.add(wish.key, json::make_object(asked.arena, {{"method", wish.method}, {"params", params_of(wish, asked.arena)}}));
  }
  json::ObjectBuilder out(asked.arena);
  out.add("resultType", "input_required").add("inputRequests", requests.build());
  if (form.state) out.add("requestState", asked.arena.copy(write_state(asked, arguments, state)));
  return out.build();
}

std::variant<Gathered, ToolOutcome> take_round(Asked& asked, const Value& arguments, const Form& form) {
  const auto read = read_state(asked, arguments, form);
  if (const auto* const fault = std::get_if<Fault>(&read)) return ToolOutcome(*fault);
  State state = std::get<State>(read);
  const Value* const given = asked.task.params.find("inputResponses");
  if (given != nullptr && !given->is_object()) return ToolOutcome(bad_params("inputResponses is an object"));
  // Without its state an answer belongs to no round.
  const bool lost = form.state && asked.task.params.find("requestState") == nullptr;
  if (given == nullptr || lost) return input_required(asked, arguments, form, state);
  json::ObjectBuilder all(asked.arena);
  for (const json::Member& member : state.answers.members()) all.add(member.key, member.value);
  for (const Wish& wish : form.rounds[state.round]) {
    const Value* const answer = given->find(wish.key);
    if (answer == nullptr && form.only_declared && !is_declared(asked, wish.method)) continue;
    if (answer == nullptr) return input_required(asked, arguments, form, state);
    if (!answers(wish.method, *answer))
      return ToolOutcome(bad_params("inputResponses." + std::string(wish.key) + " is no answer to " + std::string(wish.method)));
    all.add(wish.key, *answer);
  }
  state = {state.round + 1, all.build()};
  if (state.round == form.rounds.size()) return Gathered{state.answers};
  return input_required(asked, arguments, form, state);
}

}  // namespace

std::optional<Fault> check_capability(const Asked& asked, std::string_view method) {
  if (is_declared(asked, method)) return std::nullopt;
  const std::string_view needed = capability_of(method);
  const Value missing = json::make_object(asked.arena, {{needed, Value::object({})}});
  const Value data = json::make_object(asked.arena, {{"requiredCapabilities", missing}});
  return Fault{
      .code = code::kCapability, .message = "the client must declare " + std::string(needed), .data = json::canonical(data), .http = 400};
}

std::variant<Gathered, ToolOutcome> gather(Asked& asked, const Value& arguments, const Form& form) {
  return asked.task.modern() ? take_round(asked, arguments, form) : ask_in_turn(asked, form);
}

}  // namespace weir::mcp
