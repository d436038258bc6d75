#include "store/blob_refs.h"

#include <algorithm>
#include <set>

#include "json/parse.h"

namespace weir {
namespace {

constexpr std::string_view kScheme = "sha256:";

std::optional<Digest> named(const json::Value& value) {
  if (!value.is_string() || !value.text().starts_with(kScheme)) return std::nullopt;
  const auto digest = Digest::parse(value.text().substr(kScheme.size()));
  return digest.ok() ? std::optional(*digest) : std::nullopt;
}

void collect(const json::Value& value, std::set<Digest>& out) {
  for (const json::Value& item : value.items()) collect(item, out);
  for (const json::Member& member : value.members()) {
    if (member.key == "$blob") {
      if (const auto digest = named(member.value)) out.insert(*digest);
    }
    collect(member.value, out);
  }
}

// Members of certain types that name a blob without being a $blob object.
std::string_view blob_member(std::string_view type) {
  if (type == "SOURCE_REGISTERED" || type == "CHUNK_REGISTERED") return "blob";
  if (type == "COMPACTION_FAILED") return "rejected";
  return {};
}

}  // namespace

Result<std::optional<Digest>> blob_reference(const json::Value& value) {
  const json::Value* name = value.find("$blob");
  if (name == nullptr) return std::optional<Digest>();
  const auto digest = named(*name);
  if (!digest) return Error(ErrorCode::INVALID_FIELD, "$blob must be 'sha256:' and 64 lower-case hex digits");
  return digest;
}

bool names_blobs(std::string_view type) { return !blob_member(type).empty(); }

Result<std::vector<Digest>> blob_references(std::string_view type, std::string_view body) {
  const std::string_view member = blob_member(type);
  // Nearly every body has none; looking for the key is a hundred times cheaper than parsing.
  if (member.empty() && body.find("\"$blob\"") == std::string_view::npos) return std::vector<Digest>();
  thread_local json::Parser parser;
  const auto value = parser.parse_stored(body);
  if (!value.ok()) return Error(ErrorCode::CORRUPT, "the body is not JSON: " + value.error().message());
  std::set<Digest> out;
  collect(*value, out);
  if (!member.empty()) {
    const json::Value* name = value->find(member);
    if (name != nullptr) {
      if (const auto digest = named(*name)) out.insert(*digest);
    }
  }
  return std::vector<Digest>(out.begin(), out.end());
}

void check_blob_names(const json::Value& value, const std::string& path, json::FieldErrors& errors) {
  if (auto reference = blob_reference(value); !reference.ok()) errors.add(json::pointer(path, "$blob"), reference.error().message());
  for (std::size_t i = 0; i < value.items().size(); ++i) check_blob_names(value.items()[i], path + "/" + std::to_string(i), errors);
  for (const json::Member& member : value.members()) check_blob_names(member.value, json::pointer(path, member.key), errors);
}

}  // namespace weir
