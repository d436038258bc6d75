#include "importers/pi_map.h"

#include <algorithm>

#include "base/base64.h"
#include "base/ids.h"
#include "base/utf8.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "session/bodies.h"
#include "session/pi_read.h"
#include "session/types.h"

namespace weir::pi {
namespace {

using json::Arena;
using json::Member;
using json::ObjectBuilder;
using json::Value;

// Members of `body.extra` that are the importer's own notes.
constexpr std::string_view kExtraId = "id";            // the source's id, where the entry has another
constexpr std::string_view kExtraParent = "parentId";  // the parent the source named, where it is not there
constexpr std::string_view kExtraLine = "line";        // fields beside `message` in the line
constexpr std::string_view kExtraWhole = "pi_line";    // the whole line, where nothing less gives it back
constexpr std::string_view kExtraText = "pi_text";     // its text, where a lone surrogate had to be repaired
constexpr std::string_view kExtraSide = "side";        // the line had no id
constexpr std::string_view kCustomPrefix = "pi:", kWeirPrefix = "weir:", kMalformed = "pi:malformed";

constexpr std::string_view kLineFields[] = {"type", "id", "parentId", "timestamp"};
// Types that are state of the host, not conversation.
constexpr std::string_view kCustomTypes[] = {"model_change", "thinking_level_change", "usage"};

template <std::size_t N>
bool in(const std::string_view (&list)[N], std::string_view key) {
  return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

// A source field that becomes a body member of another name. Both ways.
struct Move {
  std::string_view from, to;
};
constexpr Move kToolResult[] = {{"toolCallId", "tool_call_id"}, {"toolName", "name"}, {"isError", "is_error"}, {"content", "content"}};
constexpr Move kMessage[] = {{"content", "content"}};
constexpr Move kCustomMessage[] = {{"content", "content"}, {"customType", "name"}};
constexpr Move kCompaction[] = {{"summary", "summary"}, {"firstKeptEntryId", "first_kept"}, {"tokensBefore", "tokens_before"}};
constexpr Move kBranchSummary[] = {{"summary", "summary"}, {"fromId", "from"}};
constexpr Move kLabel[] = {{"targetId", "target"}, {"label", "label"}};
constexpr Move kSessionInfo[] = {{"name", "name"}};
constexpr Move kCustom[] = {{"customType", "custom_type"}, {"data", "data"}};

struct Rule {
  std::string_view line_type;
  std::span<const Move> moves;
};
// Lines whose own fields are the body's, under other names.
constexpr Rule kRules[] = {
    {"compaction", kCompaction}, {"branch_summary", kBranchSummary}, {"label", kLabel}, {"session_info", kSessionInfo}, {"custom", kCustom},
};

const Rule* rule_for(std::string_view type) {
  const auto it = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& rule) { return rule.line_type == type; });
  return it == std::end(kRules) ? nullptr : it;
}

std::span<const Move> moves_for_role(std::string_view role) {
  if (role == "toolResult") return kToolResult;
  if (role == "custom" || role == "hookMessage") return kCustomMessage;
  if (role == "bashExecution") return {};
  return kMessage;
}

bool content_like(const Value& value) {
  return value.is_string() ||
         (value.is_array() && std::all_of(value.items().begin(), value.items().end(), [](const Value& v) { return v.is_object(); }));
}

// May this value stand under this body member? What may not stays in `extra`.
bool fits(std::string_view to, const Value& value) {
  if (to == "content") return content_like(value);
  if (to == "is_error") return value.is_boolean();
  if (to == "tokens_before") return value.is_integer() && value.integer() >= 0;
  if (to == "data") return true;
  return value.is_string();
}

// Splits an object's fields between a body (moved) and its `extra` (the rest).
void split(const Value& object, std::span<const Move> moves, std::span<const std::string_view> skip, ObjectBuilder& body,
           ObjectBuilder& extra) {
  for (const Member& field : object.members()) {
    if (std::find(skip.begin(), skip.end(), field.key) != skip.end()) continue;
    const auto move = std::find_if(moves.begin(), moves.end(), [&](const Move& m) { return m.from == field.key; });
    if (move != moves.end() && fits(move->to, field.value)) {
      body.add(move->to, field.value);
    } else {
      extra.add(field.key, field.value);
    }
  }
}

Value without(const Value& object, std::span<const std::string_view> skip, Arena& arena) {
  ObjectBuilder out(arena);
  for (const Member& field : object.members()) {
    if (std::find(skip.begin(), skip.end(), field.key) == skip.end()) out.add(field.key, field.value);
  }
  return out.build();
}

Value finish(ObjectBuilder& body, ObjectBuilder& extra) {
  if (!extra.empty()) body.add("extra", extra.build());
  return body.build();
}

Value tool_calls(const Value& content, Arena& arena) {
  std::vector<Value> calls;
  for (const Value& block : content.items()) {
    if (block.text_or("type", "") != "toolCall") continue;
    ObjectBuilder call(arena);
    for (const std::string_view key : {"id", "name", "arguments"}) call.add_if(key, block.find(key));
    calls.push_back(call.build());
  }
  return json::make_array(arena, calls);
}

// What pi shows the model of a command the user ran.
std::string bash_text(const Value& message) {
  std::string text = "Ran `" + std::string(message.text_or("command", "")) + "`\n";
  const std::string_view output = message.text_or("output", "");
  text += output.empty() ? "(no output)" : "```\n" + std::string(output) + "\n```";
  const auto is_true = [&](std::string_view key) {
    const Value* value = message.find(key);
    return value != nullptr && value->is_boolean() && value->boolean();
  };
  const Value* exit_code = message.find("exitCode");
  if (is_true("cancelled")) {
    text += "\n\n(command cancelled)";
  } else if (exit_code != nullptr && exit_code->is_integer() && exit_code->integer() != 0) {
    text += "\n\nCommand exited with code " + std::to_string(exit_code->integer());
  }
  const std::string_view path = message.text_or("fullOutputPath", "");
  if (is_true("truncated") && !path.empty()) text += "\n\n[Output truncated. Full output: " + std::string(path) + "]";
  return text;
}

struct Body {
  std::string_view type;
  Value value;
  bool unknown = false;
};

Body custom(std::string_view type, Value data, Arena& arena) {
  return {types::kCustom,
          json::make_object(arena, {{"custom_type", arena.copy(std::string(kCustomPrefix) + std::string(type))}, {"data", data}}), false};
}

Body unknown(const Value& line, std::string_view type, Arena& arena) {
  Body out = custom(type, without(line, kLineFields, arena), arena);
  out.unknown = true;
  return out;
}

Body message(const Value& line, Arena& arena) {
  const Value* source = line.find("message");
  const std::string_view role = source == nullptr ? "" : source->text_or("role", "");
  static constexpr std::string_view kSame[] = {"user", "assistant", "system"},
                                    kOwn[] = {"toolResult", "bashExecution", "custom", "hookMessage"};
  static constexpr std::string_view kRole[] = {"role"}, kBeside[] = {"type", "id", "parentId", "timestamp", "message"};
  if (!in(kSame, role) && !in(kOwn, role)) return unknown(line, "message", arena);
  const Value* excluded = source->find("excludeFromContext");
  if (role == "bashExecution" && excluded != nullptr && excluded->is_boolean() && excluded->boolean()) {
    Body out = custom("bashExecution", without(line, kLineFields, arena), arena);
    return out;
  }
  ObjectBuilder body(arena), extra(arena);
  split(*source, moves_for_role(role), kRole, body, extra);
  if (role == "toolResult") {
    body.add("role", "tool");
    const Value* details = source->find("details");
    const auto record = details == nullptr || source->text_or("toolName", "") != "read" ? std::nullopt : read_from_pi(*details);
    if (record) body.add("read", to_json(*record, arena));  // the details stay in `extra`, as they were
  } else if (in(kSame, role)) {
    body.add("role", role);
    const Value* content = source->find("content");
    if (role == "assistant" && content != nullptr && content_like(*content)) {
      const Value calls = tool_calls(*content, arena);
      if (!calls.items().empty()) body.add("tool_calls", calls);
    }
  } else {
    body.add("role", "user");
    extra.add("role", role);
    if (role == "bashExecution") body.add("name", role).add("content", arena.copy(bash_text(*source)));
  }
  const Value beside = without(line, kBeside, arena);
  if (!beside.members().empty()) extra.add(kExtraLine, beside);
  return {types::kMessage, finish(body, extra)};
}

Body custom_message(const Value& line, Arena& arena) {
  ObjectBuilder body(arena), extra(arena);
  split(line, kCustomMessage, kLineFields, body, extra);
  body.add("role", "user");
  extra.add("type", "custom_message");
  return {types::kMessage, finish(body, extra)};
}

Body context_edit(const Value& line, Arena& arena) {
  const Value* target = line.find("targetId");
  const Value* replacement = line.find("replacement");
  const Value* content = replacement == nullptr ? nullptr : replacement->find("content");
  const bool removed = replacement != nullptr && replacement->is_null();
  if (target == nullptr || !target->is_string() || (!removed && (content == nullptr || !content_like(*content))))
    return unknown(line, "context_edit", arena);
  static constexpr std::string_view kTaken[] = {"type", "id", "parentId", "timestamp", "targetId", "replacement"};
  ObjectBuilder body(arena), extra(arena);
  body.add("target", *target).add("replacement", removed ? Value() : *content);
  split(line, {}, kTaken, body, extra);
  return {types::kContextEdit, finish(body, extra)};
}

// Trust that pi-readcache withdrew.
std::optional<Body> refresh(const Value& line, Arena& arena) {
  const Value* data = line.find("data");
  const auto refresh = data == nullptr || line.text_or("customType", "") != kPiReadcache ? std::nullopt : refresh_from_pi(*data);
  if (!refresh) return std::nullopt;
  static constexpr std::string_view kTaken[] = {"type", "id", "parentId", "timestamp", "customType", "data"};
  ObjectBuilder body(arena), extra(arena);
  for (const Member& member : to_json(*refresh, arena).members()) body.add(member.key, member.value);
  extra.add_if("at", data->find("at"));
  split(line, {}, kTaken, body, extra);
  return Body{types::kRefresh, finish(body, extra)};
}

// A body that Weir itself wrote into pi's log comes back as what it was.
std::optional<Body> weir_entry(const Value& line) {
  const std::string_view custom_type = line.text_or("customType", "");
  const Value* data = line.find("data");
  if (!custom_type.starts_with(kWeirPrefix) || data == nullptr) return std::nullopt;
  const std::string_view type = custom_type.substr(kWeirPrefix.size());
  json::FieldErrors errors;
  check_body(type, *data, "", errors);
  if (!errors.empty() || !EntryType::parse(type).ok()) return std::nullopt;
  return Body{type, *data};
}

bool required_members_there(std::string_view type, const Value& body) {
  if (type == types::kLabel) return body.find("target") != nullptr;
  if (type == types::kBranchSummary) return body.find("summary") != nullptr;
  return true;
}

Body map_body(const Value& line, std::string_view type, Arena& arena) {
  if (type == "message") return message(line, arena);
  if (type == "custom_message") return custom_message(line, arena);
  if (type == "context_edit") return context_edit(line, arena);
  if (in(kCustomTypes, type)) return custom(type, without(line, kLineFields, arena), arena);
  if (type == "custom") {
    // A custom type that looks like one of the importer's own would come back as something else.
    if (line.text_or("customType", kCustomPrefix).starts_with(kCustomPrefix)) return unknown(line, type, arena);
    if (const auto withdrawn = refresh(line, arena)) return *withdrawn;
  }
  if (const Rule* rule = rule_for(type)) {
    ObjectBuilder body(arena), extra(arena);
    split(line, rule->moves, kLineFields, body, extra);
    const Value value = finish(body, extra);
    if (required_members_there(type, value)) return {type, value};
  }
  return unknown(line, type, arena);
}

// ---- back ----

void put_back(const Value& body, std::span<const Move> moves, ObjectBuilder& out) {
  for (const Move& move : moves) {
    if (const Value* value = body.find(move.to)) out.add(move.from, *value);
  }
}

void put_extra(const Value* extra, std::span<const std::string_view> skip, ObjectBuilder& out) {
  if (extra == nullptr) return;
  for (const Member& field : extra->members()) {
    if (std::find(skip.begin(), skip.end(), field.key) == skip.end()) out.add(field.key, field.value);
  }
}

// The notes the importer left in `extra`; a source field of that name is kept by kExtraWhole instead.
constexpr std::string_view kNotes[] = {kExtraId, kExtraParent, kExtraLine, kExtraSide};
constexpr std::string_view kMessageNotes[] = {kExtraId, kExtraParent, kExtraLine, kExtraSide, "role", "type"};

void unmap_message(const Value& body, const Value* extra, ObjectBuilder& line, Arena& arena) {
  if (extra != nullptr && extra->text_or("type", "") == "custom_message") {
    line.add("type", "custom_message");
    put_back(body, kCustomMessage, line);
    put_extra(extra, kMessageNotes, line);
    return;
  }
  const std::string_view role = body.text_or("role", "");
  const std::string_view source_role = extra == nullptr ? "" : extra->text_or("role", "");
  const std::string_view pi_role = !source_role.empty() ? source_role : role == "tool" ? "toolResult" : role;
  ObjectBuilder inner(arena);
  inner.add("role", pi_role);
  put_back(body, moves_for_role(pi_role), inner);
  put_extra(extra, kMessageNotes, inner);
  line.add("type", "message").add("message", inner.build());
  if (extra != nullptr) {
    if (const Value* beside = extra->find(kExtraLine)) put_extra(beside, {}, line);
  }
}

// Is it a line the importer made `custom` of, and of which type?
std::optional<std::string_view> imported_custom(std::string_view type, const Value& body) {
  if (type != types::kCustom) return std::nullopt;
  const std::string_view custom_type = body.text_or("custom_type", "");
  const Value* data = body.find("data");
  if (!custom_type.starts_with(kCustomPrefix) || data == nullptr || !data->is_object()) return std::nullopt;
  return custom_type.substr(kCustomPrefix.size());
}

void unmap_fields(std::string_view type, const Value& body, const Value* extra, ObjectBuilder& line, Arena& arena) {
  if (type == types::kMessage) {
    unmap_message(body, extra, line, arena);
  } else if (const auto source_type = imported_custom(type, body)) {
    line.add("type", *source_type == "bashExecution" ? "message" : *source_type);
    put_extra(body.find("data"), {}, line);
  } else if (type == types::kContextEdit) {
    line.add("type", type).add_if("targetId", body.find("target"));
    const Value* replacement = body.find("replacement");
    line.add("replacement",
             replacement == nullptr || replacement->is_null() ? Value() : json::make_object(arena, {{"content", *replacement}}));
    put_extra(extra, kNotes, line);
  } else if (type == types::kRefresh) {
    static constexpr std::string_view kRefreshNotes[] = {kExtraId, kExtraParent, kExtraLine, kExtraSide, "at"};
    ObjectBuilder data(arena);
    data.add("v", 1).add("kind", "invalidate").add_if("pathKey", body.find("path")).add_if("scopeKey", body.find("scope"));
    if (extra != nullptr) data.add_if("at", extra->find("at"));
    line.add("type", "custom").add("customType", kPiReadcache).add("data", data.build());
    put_extra(extra, kRefreshNotes, line);
  } else if (const Rule* rule = rule_for(type)) {
    line.add("type", type);
    put_back(body, rule->moves, line);
    put_extra(extra, kNotes, line);
  }
}

bool is_true(const Value* extra, std::string_view key) {
  const Value* value = extra == nullptr ? nullptr : extra->find(key);
  return value != nullptr && value->is_boolean() && value->boolean();
}

}  // namespace

Value upgrade_v1(const Value& line, std::size_t index, std::string_view previous_id, Arena& arena) {
  ObjectBuilder out(arena);
  for (const Member& field : line.members()) {
    if (field.key != "id" && field.key != "parentId") out.add(field.key, field.value);
  }
  out.add("id", arena.copy("l" + std::to_string(index)));
  out.add("parentId", previous_id.empty() ? Value() : Value(previous_id));
  const Value* kept = line.find("firstKeptEntryIndex");
  if (line.text_or("type", "") == "compaction" && kept != nullptr && kept->is_integer() && kept->integer() > 0 &&
      line.find("firstKeptEntryId") == nullptr) {
    out.add("firstKeptEntryId", arena.copy("l" + std::to_string(kept->integer())));
  }
  return out.build();
}

Value upgrade_v2(const Value& line, Arena& arena) {
  const Value* message = line.find("message");
  if (line.text_or("type", "") != "message" || message == nullptr || message->text_or("role", "") != "hookMessage") return line;
  static constexpr std::string_view kRole[] = {"role"}, kOnlyMessage[] = {"message"};
  ObjectBuilder inner(arena), out(arena);
  put_extra(message, kRole, inner);
  put_extra(&line, kOnlyMessage, out);
  return out.add("message", inner.add("role", "custom").build()).build();
}

Mapped map_line(const Value& line, Arena& arena) {
  Mapped out;
  const std::string_view type = line.text_or("type", "");
  const Value* id = line.find("id");
  const Value* parent = line.find("parentId");
  const Value* timestamp = line.find("timestamp");
  out.side = id == nullptr || !id->is_string() || type == "session";
  if (!out.side) out.id = id->text();
  if (!out.side && parent != nullptr && parent->is_string()) {
    out.has_parent = true;
    out.parent = parent->text();
  }
  if (timestamp != nullptr && timestamp->is_string()) {
    if (const auto at = parse_time(timestamp->text()); at.ok()) out.at = *at;
  }
  const Placed placed{out.id.value_or(""), out.has_parent ? std::optional(out.parent) : std::nullopt, out.at.value_or(TimeMs{})};
  if (const auto own = weir_entry(line);
      own && type == "custom" && !out.side && native_line(own->type, own->value, placed, arena) == line) {
    out.native = true;
    out.type = own->type;
    out.body = own->value;
    return out;
  }
  Body body = map_body(line, type, arena);
  if (body.unknown) out.unknown = type;
  if (out.side) body = unknown(line, type, arena);
  out.type = body.type;
  out.body = body.value;
  if (out.side) out.body = note_in_extra(out.body, kExtraSide, true, arena);

  // Does it come back as it was? If not, keep all of it. A field of its own that looks like the note of a repaired
  // text must not be taken for one.
  const Line back = unmap(out.type, out.body, placed, arena);
  if (back.text) out.body = note_in_extra(out.body, kExtraText, Value(), arena);
  if (back.text || !(back.value == line)) out.body = note_in_extra(out.body, kExtraWhole, line, arena);
  return out;
}

Mapped map_malformed(std::string_view text, Arena& arena) {
  Mapped out;
  out.type = types::kCustom;
  out.side = true;
  const Value data = valid_utf8(text) ? Value(text) : json::make_object(arena, {{"base64", arena.copy(encode_base64(text))}});
  out.body = json::make_object(arena, {{"custom_type", kMalformed}, {"data", data}});
  return out;
}

Mapped keep_as_text(const Mapped& line, std::string_view text, Arena& arena) {
  const Mapped kept = map_malformed(text, arena);
  if (line.side) return kept;
  Mapped out = line;
  out.type = kept.type;
  // The id also tells it from what stands beside the tree.
  out.body = note_in_extra(kept.body, kExtraId, Value(*line.id), arena);
  out.native = false;
  return out;
}

bool is_side(std::string_view type, std::string_view body) {
  if (type != types::kCustom) return false;
  if (body.find("\"side\":true") == std::string_view::npos && body.find("\"pi:malformed\"") == std::string_view::npos) return false;
  json::Parser parser;
  const auto value = parser.parse_stored(body);
  if (!value.ok()) return false;
  const Value* extra = value->find("extra");
  if (value->text_or("custom_type", "") == kMalformed) return extra == nullptr || extra->find(kExtraId) == nullptr;
  return is_true(extra, kExtraSide);
}

Value note_in_extra(const Value& body, std::string_view key, Value value, Arena& arena) {
  ObjectBuilder out(arena), extra(arena);
  for (const Member& member : body.members()) {
    if (member.key != "extra") out.add(member.key, member.value);
  }
  if (const Value* had = body.find("extra")) {
    for (const Member& member : had->members()) {
      if (member.key != key) extra.add(member.key, member.value);
    }
  }
  extra.add(key, value);
  return out.add("extra", extra.build()).build();
}

Value native_line(std::string_view type, const Value& body, const Placed& placed, Arena& arena) {
  return json::make_object(arena, {{"type", "custom"},
                                   {"customType", arena.copy(std::string(kWeirPrefix) + std::string(type))},
                                   {"data", body},
                                   {"id", placed.id},
                                   {"parentId", placed.parent ? Value(*placed.parent) : Value()},
                                   {"timestamp", arena.copy(format_time(placed.at))}});
}

Line unmap(std::string_view type, const Value& body, const Placed& placed, Arena& arena) {
  if (type == types::kCustom && body.text_or("custom_type", "") == kMalformed) {
    const Value* data = body.find("data");
    if (data != nullptr && data->is_string()) return {Value(), std::string(data->text())};
    if (data != nullptr && data->find("base64") != nullptr) {
      if (auto bytes = decode_base64(data->text_or("base64", ""))) return {Value(), std::move(*bytes)};
    }
  }
  const Value* extra = body.find("extra");
  if (extra != nullptr && !extra->is_object()) extra = nullptr;
  if (const Value* text = extra == nullptr ? nullptr : extra->find(kExtraText); text != nullptr && text->is_string())
    return {Value(), std::string(text->text())};
  if (const Value* whole = extra == nullptr ? nullptr : extra->find(kExtraWhole)) return {*whole, std::nullopt};
  ObjectBuilder line(arena);
  const bool side = is_true(extra, kExtraSide);
  unmap_fields(type, body, extra, line, arena);
  Value fields = line.build();
  ObjectBuilder out(arena);
  static constexpr std::string_view kPlace[] = {"id", "parentId", "timestamp"};
  for (const Member& member : fields.members()) {
    if (!in(kPlace, member.key) || side) out.add(member.key, member.value);
  }
  if (!side) {
    const Value* source_id = extra == nullptr ? nullptr : extra->find(kExtraId);
    const Value* source_parent = extra == nullptr ? nullptr : extra->find(kExtraParent);
    out.add("id", source_id != nullptr ? *source_id : Value(placed.id));
    out.add("parentId", source_parent != nullptr ? *source_parent : placed.parent ? Value(*placed.parent) : Value());
    out.add("timestamp", arena.copy(format_time(placed.at)));
  }
  return {out.build(), std::nullopt};
}

}  // namespace weir::pi
