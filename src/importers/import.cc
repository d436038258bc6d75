#include "importers/import.h"

#include "json/canonical.h"
#include "json/decode.h"
#include "json/parse.h"

namespace weir {

std::string ImportSource::encode() const {
  json::Arena arena;
  json::ObjectBuilder out(arena);
  out.add("format", format).add("version", version).add("path", path).add("device", device).add("inode", inode).add("offset", offset);
  out.add("lines", lines).add("entries", entries).add("index", index).add("prefix_sha256", prefix_sha256).add("last", last);
  out.add("synced", synced);
  out.add("header", header.empty() ? json::Value() : json::Value::raw(header));
  return json::canonical(out.build());
}

Result<ImportSource> ImportSource::decode(std::string_view text) {
  json::Parser parser;
  TRY(const json::Value value, parser.parse_stored(text));
  json::FieldErrors errors;
  json::ObjectDecoder in(value, "/source", errors);
  constexpr std::int64_t kMost = (std::int64_t{1} << 53) - 1;
  const auto number = [&](std::string_view key) { return static_cast<std::uint64_t>(in.integer(key, 0, kMost).value_or(0)); };
  ImportSource out;
  out.format = in.need_text("format");
  out.version = static_cast<std::int64_t>(number("version"));
  out.path = in.text("path").value_or("");
  out.device = number("device");
  out.inode = number("inode");
  out.offset = number("offset");
  out.lines = number("lines");
  out.entries = number("entries");
  out.index = number("index");
  out.synced = number("synced");
  out.prefix_sha256 = in.text("prefix_sha256").value_or("");
  out.last = in.text("last").value_or("");
  if (const json::Value* header = in.any("header")) out.header = json::canonical(*header);
  if (!errors.empty()) return Error(ErrorCode::CORRUPT, "the record of where the session came from is damaged");
  return out;
}

}  // namespace weir
