#include "service/render.h"

#include "base/utf8.h"
#include "json/error_value.h"
#include "json/mask.h"

namespace weir {

using json::Value;

Value text_or_null(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value entry_json(const Entry& entry, const EntryId& parent, json::Arena& arena) {
  return json::make_object(arena, {{"seq", entry.seq},
                                   {"id", entry.id.str()},
                                   {"parent", parent.empty() ? Value() : Value(arena.copy(parent.str()))},
                                   {"type", entry.type},
                                   {"body", Value::raw(entry.body)},
                                   {"at", arena.copy(format_time(entry.at))},
                                   {"digest", arena.copy(entry.digest.hex())}});
}

std::string masked_text(std::string_view text) {
  MaskCounts ignored;
  return message_masker().mask(text, ignored).value_or(std::string(text));
}

Value counts_json(const MaskCounts& counts, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  for (const auto& [family, count] : counts) out.add(arena.copy(family), count);
  return out.build();
}

Value error_json(const Error& error, json::Arena& arena) {
  // A file's name may be quoted, which may be any bytes.
  const auto text = [&](std::string_view said) { return Value(arena.copy(as_utf8(said))); };
  json::ObjectBuilder details(arena);
  for (const auto& [key, value] : error.details()) details.add(key, json::detail_value(value, arena));
  // INVALID_FIELD always lists what is wrong; where no field was named, it is the request as a whole.
  if (!error.fields().empty() || error.code() == ErrorCode::INVALID_FIELD) {
    std::vector<Value> fields;
    if (error.fields().empty()) fields.push_back(json::make_object(arena, {{"path", ""}, {"message", text(error.message())}}));
    for (const FieldError& field : error.fields())
      fields.push_back(json::make_object(arena, {{"path", text(field.path)}, {"message", text(field.message)}}));
    details.add("errors", json::make_array(arena, fields));
  }
  const Value shown =
      json::make_object(arena, {{"code", info(error.code()).name}, {"message", text(error.message())}, {"details", details.build()}});
  MaskCounts ignored;
  return json::mask(shown, message_masker(), arena, ignored);
}

}  // namespace weir
