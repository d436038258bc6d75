#include "api/call.h"

#include <charconv>

#include "api/cursor.h"
#include "base/base64.h"
#include "base/memory.h"
#include "base/time.h"
#include "base/utf8.h"
#include "service/still_wanted.h"
#include "session/address.h"
#include "store/part_lost.h"

namespace weir::api {
namespace {

using json::Value;

constexpr int kMostTries = 4;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = text.find(separator);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

bool among(std::string_view choices, std::string_view text) {
  for (const std::string_view choice : split(choices, '|'))
    if (choice == text) return true;
  return false;
}

std::string one_of(std::string_view choices) {
  std::string out = "is one of ";
  for (const char c : choices) out += c == '|' ? std::string(", ") : std::string(1, c);
  return out;
}

std::string range_text(const Parameter& parameter) {
  return parameter.most == INT64_MAX ? "is an integer from " + std::to_string(parameter.least)
                                     : "is an integer from " + std::to_string(parameter.least) + " to " + std::to_string(parameter.most);
}

bool all_strings(const Value& list) {
  for (const Value& item : list.items())
    if (!item.is_string()) return false;
  return true;
}

template <typename Name>
std::string wrong_name(const Value& value) {
  if (!value.is_string()) return "is a string";
  const auto parsed = Name::parse(value.text());
  return parsed.ok() ? "" : parsed.error().message();
}

Result<Digest> parse_digest(std::string_view text) { return Digest::parse(text.starts_with("sha256:") ? text.substr(7) : text); }

// What is wrong with a text that has a form; empty: nothing.
std::string wrong_form(Type type, const Value& value) {
  switch (type) {
    case Type::session:
      return wrong_name<SessionId>(value);
    case Type::head:
      return wrong_name<HeadName>(value);
    case Type::entry:
      return wrong_name<EntryId>(value);
    case Type::time:
      return value.is_string() && parse_time(value.text()).ok() ? "" : "is a time such as 2026-02-13T09:30:00Z";
    default:
      return value.is_string() && parse_digest(value.text()).ok() ? "" : "is a SHA-256 of 64 hex digits";
  }
}

// What is wrong with a value that was given; empty: nothing.
std::string wrong_with(const Parameter& parameter, const Value& value) {
  switch (parameter.type) {
    case Type::text:
      return value.is_string() ? "" : "is a string";
    case Type::integer:
      return value.is_integer() && value.integer() >= parameter.least && value.integer() <= parameter.most ? "" : range_text(parameter);
    case Type::flag:
      return value.is_boolean() ? "" : "is true or false";
    case Type::choice:
      return value.is_string() && among(parameter.choices, value.text()) ? "" : one_of(parameter.choices);
    case Type::texts:
      return value.is_array() && all_strings(value) ? "" : "is a list of strings";
    case Type::object:
      return value.is_object() ? "" : "is an object";
    case Type::list:
      return value.is_array() ? "" : "is a list";
    case Type::any:
      return "";
    default:
      return wrong_form(parameter.type, value);
  }
}

}  // namespace

Value Call::from_text(const Parameter& parameter, std::string_view text) {
  switch (parameter.type) {
    case Type::integer: {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error == std::errc() && end == text.data() + text.size()) return number;
      return Value(arena.copy(text));  // take says what it should be
    }
    case Type::flag:
      if (text == "true" || text == "1" || text.empty()) return true;
      if (text == "false" || text == "0") return false;
      return Value(arena.copy(text));
    case Type::texts: {
      std::vector<Value> items;
      for (const std::string_view item : split(text, ',')) items.emplace_back(arena.copy(item));
      return json::make_array(arena, items);
    }
    default:
      return Value(arena.copy(text));
  }
}

Result<void> Call::take(const Value& arguments) {
  json::FieldErrors errors;
  if (!arguments.is_object()) {
    errors.add("", "is an object, not " + std::string(json::kind_name(arguments)));
    return errors.result();
  }
  arguments_ = arguments;
  for (const Parameter& parameter : operation.parameters) {
    const Value* given = arguments.find(parameter.name);
    const bool null = given != nullptr && given->is_null();
    const bool there = given != nullptr && (!null || parameter.nullable || parameter.type == Type::any);
    if (!there && parameter.required) errors.add(json::pointer("", parameter.name), "is missing");
    if (!there || (null && parameter.nullable)) continue;
    const std::string wrong = wrong_with(parameter, *given);
    if (!wrong.empty()) errors.add(json::pointer("", parameter.name), wrong);
  }
  for (const json::Member& member : arguments.members()) {
    bool known = false;
    for (const Parameter& parameter : operation.parameters) known = known || parameter.name == member.key;
    if (!known) errors.add(json::pointer("", member.key), "is not known here");
  }
  if (!errors.empty() && operation.look != nullptr) operation.look(*this, errors);
  return errors.result();
}

const Value* Call::value(std::string_view name) const {
  const Value* found = arguments_.find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::optional<std::string> Call::text(std::string_view name) const {
  const Value* found = value(name);
  return found == nullptr ? std::nullopt : std::optional(std::string(found->text()));
}

std::optional<std::int64_t> Call::integer(std::string_view name) const {
  const Value* found = value(name);
  return found == nullptr ? std::nullopt : std::optional(found->integer());
}

bool Call::flag(std::string_view name) const {
  const Value* found = value(name);
  return found != nullptr && found->boolean();
}

std::vector<std::string> Call::texts(std::string_view name) const {
  std::vector<std::string> out;
  if (const Value* found = value(name))
    for (const Value& item : found->items()) out.emplace_back(item.text());
  return out;
}

Result<SessionId> Call::session() const {
  auto id = SessionId::parse(text("session").value_or(""));
  if (!id.ok()) return wrong_argument("session", id.error().message());
  return id;
}

Result<HeadName> Call::head() const {
  const auto name = text("head");
  if (!name) return main_head();
  auto head = HeadName::parse(*name);
  if (!head.ok()) return wrong_argument("head", head.error().message());
  return head;
}

Result<Address> Call::address() const {
  Address out;
  TRY(out.session, session());
  TRY(out.head, head());
  out.at = text("at").value_or("");
  return out;
}

std::optional<Expect> Call::expect() const {
  if (arguments_.find("expect") == nullptr) return std::nullopt;
  return Expect{text("expect").value_or(""), false};
}

std::optional<TimeMs> Call::time(std::string_view name) const {
  const auto given = text(name);
  if (!given) return std::nullopt;
  const auto time = parse_time(*given);
  return time.ok() ? std::optional(*time) : std::nullopt;
}

std::optional<Digest> Call::digest(std::string_view name) const {
  const auto digest = parse_digest(text(name).value_or(""));
  return digest.ok() ? std::optional(*digest) : std::nullopt;
}

std::optional<std::uint64_t> Call::count(std::string_view name) const {
  const auto number = integer(name);
  return number ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
}

bool Call::writes() const {
  const bool only_looks = flag("dry_run") || text("record").value_or("") == "none" || value("at") != nullptr;
  return operation.writes && !only_looks;
}

std::size_t Call::limit() const {
  constexpr std::int64_t kUsual = 100;
  return static_cast<std::size_t>(integer("limit").value_or(kUsual));
}

// Whatever makes one list another.
std::string Call::list_name() const {
  std::string out(operation.id);
  for (const json::Member& member : arguments_.members()) {
    if (member.key == "cursor" || member.key == "limit") continue;
    out += ' ' + std::string(member.key) + '=';
    json::write_canonical(member.value, out);
  }
  return out;
}

Result<std::optional<std::string>> Call::cursor() const {
  const auto given = text("cursor");
  if (!given) return std::optional<std::string>();
  TRY(std::string payload, read_cursor(list_name(), *given, world.cursor_key));
  return std::optional(std::move(payload));
}

std::string Call::next_cursor(std::string_view payload) const { return make_cursor(list_name(), payload, world.cursor_key); }

Result<void> Call::answer_items(std::span<const Value> items, const std::optional<std::string>& next) {
  json::ObjectBuilder out(arena);
  out.add("items", Value::array(items));
  if (next) out.add("next", *next);
  return answer(out.build());
}

Result<void> Call::answer(const Value& value, int status) { return answer_text(json::canonical(value), status); }

Result<void> Call::answer_text(std::string text, int status) {
  reply.text = std::move(text);
  reply.status = status == 0 ? operation.status : status;
  return {};
}

Result<void> Call::cancelled() const { return watch.cancelled() ? Error(ErrorCode::CANCELLED, "cancelled") : Result<void>(); }

Error wrong_argument(std::string_view name, const std::string& why) {
  const std::string path = json::pointer("", name);
  return Error(ErrorCode::INVALID_FIELD, path + ": " + why).with_fields({{path, why}});
}

Error renamed_field(Error error, std::string_view from, std::string_view to) {
  const std::string old_path = json::pointer("", from), path = json::pointer("", to);
  std::vector<FieldError> fields = error.fields();
  bool found = false;
  for (FieldError& field : fields) {
    if (field.path != old_path) continue;
    field.path = path;
    found = true;
  }
  if (!found) return error;
  const std::string message = error.message().starts_with(old_path) ? path + error.message().substr(old_path.size()) : error.message();
  return std::move(error).with_fields(std::move(fields)).with_message(message);
}

std::string reply_as_json(const Operation& operation, const Reply& reply) {
  if (operation.answers == Answers::json) return reply.text;
  if (operation.answers == Answers::nothing) return "{}";
  json::Arena arena;
  const bool text = valid_utf8(reply.text);
  const std::string encoded = text ? "" : encode_base64(reply.text);
  return json::canonical(json::make_object(arena, {text ? json::Member{"text", reply.text} : json::Member{"base64", encoded}}));
}

Result<void> call(Call& call, const Value& arguments) {
  TRY_DO(call.take(arguments));
  if ((call.world.read_only || !call.may_write) && call.writes())
    return Error(ErrorCode::DENIED, call.world.read_only ? "this server only reads" : "this token only reads")
        .with("operation", std::string(call.operation.id));
  TRY_DO(call.cancelled());
  call.reply.status = call.operation.status;
  const StillWanted wanted([&] { return call.watch.commit(); });
  const auto run = [&] { return within_memory([&] { return or_part_lost([&] { return call.operation.run(call); }); }); };
  auto done = run();
  // A session that is purged between two looks seems damaged. Looked at again it is not there, or it is whole.
  const bool may_repeat = !call.operation.writes && call.operation.answers != Answers::lines;
  for (int tries = 1; tries < kMostTries && may_repeat && !done.ok() && done.error().code() == ErrorCode::CORRUPT; ++tries) done = run();
  return done;
}

}  // namespace weir::api
