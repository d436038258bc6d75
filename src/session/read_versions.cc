#include "session/read_versions.h"

#include "json/parse.h"
#include "session/read_record.h"
#include "session/types.h"

namespace weir {

std::optional<Digest> version_read(const Entry& entry) {
  const bool message = entry.type == types::kMessage && entry.body.find("\"read\":{") != std::string::npos;
  if (!message && entry.type != types::kRead) return std::nullopt;
  thread_local json::Parser parser;
  const auto body = parser.parse_stored(entry.body);
  if (!body.ok()) return std::nullopt;
  const json::Value* read = message ? body->find("read") : &*body;
  const auto record = read == nullptr ? std::nullopt : parse_read_record(*read);
  const auto digest = record ? Digest::parse(record->served) : Result<Digest>(Digest());
  return record && digest.ok() ? std::optional(*digest) : std::nullopt;
}

}  // namespace weir
