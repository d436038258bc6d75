#include "http/keyed.h"

#include <algorithm>
#include <vector>

#include "json/decode.h"
#include "json/mask.h"
#include "json/parse.h"

namespace weir::http {
namespace {

constexpr std::size_t kMostKey = 128;
constexpr std::size_t kNameDigits = 24;

// Parts that cannot run into each other.
void add_part(Sha256& hash, std::string_view part) { hash.update(std::to_string(part.size())).update(":").update(part); }

}  // namespace

Result<void> check_key(std::string_view key) {
  const bool visible = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (visible && !key.empty() && key.size() <= kMostKey) return {};
  json::FieldErrors errors;
  errors.add("/Idempotency-Key", "is 1 to 128 visible characters of ASCII");
  return errors.result();
}

Digest request_digest(const Exchange& exchange) {
  Sha256 hash;
  add_part(hash, exchange.method());
  add_part(hash, exchange.request().target);
  add_part(hash, exchange.header("authorization"));
  add_part(hash, exchange.body());
  return hash.finish();
}

json::Value name_work(std::string_view operation, const json::Value& arguments, std::string_view key, const Digest& request,
                      json::Arena& arena) {
  const auto name = [&](std::size_t place) {
    Sha256 hash;
    add_part(hash, key);
    add_part(hash, request.bytes());
    add_part(hash, std::to_string(place));
    return json::Value(arena.copy("k" + hash.finish().hex().substr(0, kNameDigits)));
  };
  const std::string_view single = operation == "createSession" ? "id" : operation == "read" ? "request_id" : "";
  if (!single.empty()) {
    json::ObjectBuilder out(arena);
    for (const json::Member& member : arguments.members()) out.add(member.key, member.value);
    return out.add(single, name(0)).build();
  }
  const json::Value* entries = arguments.find("entries");
  if (operation != "appendEntries" || entries == nullptr || !entries->is_array()) return arguments;
  std::vector<json::Value> named;
  for (const json::Value& entry : entries->items()) {
    if (!entry.is_object() || entry.find("id") != nullptr) {
      named.push_back(entry);
      continue;
    }
    json::ObjectBuilder out(arena);
    out.add("id", name(named.size()));
    for (const json::Member& member : entry.members()) out.add(member.key, member.value);
    named.push_back(out.build());
  }
  json::ObjectBuilder out(arena);
  out.add("entries", json::make_array(arena, named));
  for (const json::Member& member : arguments.members()) out.add(member.key, member.value);
  return out.build();
}

bool holds_secret(std::string_view text, const Masker& masker) {
  MaskCounts found;
  json::Parser parser;
  if (const auto value = parser.parse_stored(text); value.ok()) {
    json::mask(*value, masker, parser.arena(), found);
    return !found.empty();
  }
  return masker.mask(text, found).has_value();
}

}  // namespace weir::http
