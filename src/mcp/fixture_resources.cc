// Resources that the conformance suite reads by name.
#include "json/canonical.h"
#include "mcp/fixture_data.h"
#include "mcp/fixtures.h"

namespace weir::mcp {
namespace {

using json::Value;

constexpr std::string_view kTemplateBegins = "test://template/", kTemplateEnds = "/data";

struct Fixture {
  std::string_view uri, mime, key, content;
};
constexpr Fixture kFixtures[] = {
    {"test://static-text", "text/plain", "text", "This is the content of the static text resource."},
    {"test://static-binary", "image/png", "blob", kFixturePng},
    {"test://watched-resource", "text/plain", "text", "This resource can be subscribed to."},
};

Value contents(std::string_view uri, std::string_view mime, std::string_view key, std::string_view content, json::Arena& arena) {
  const Value items[] = {json::make_object(arena, {{"uri", arena.copy(uri)}, {"mimeType", mime}, {key, content}})};
  return json::make_object(arena, {{"contents", json::make_array(arena, items)}});
}

}  // namespace

std::vector<std::string_view> fixture_resources() {
  return {
      R"({"uri":"test://static-text","name":"static-text","description":"A text that never changes.","mimeType":"text/plain"})",
      R"({"uri":"test://static-binary","name":"static-binary","description":"A picture of one pixel.","mimeType":"image/png"})",
      R"({"uri":"test://watched-resource","name":"watched-resource","description":"A text that can be subscribed to.","mimeType":"text/plain"})",
  };
}

std::vector<std::string_view> fixture_templates() {
  return {
      R"({"uriTemplate":"test://template/{id}/data","name":"template","description":"Data that names the id it was asked for.","mimeType":"application/json"})"};
}

std::optional<Value> fixture_resource(std::string_view uri, json::Arena& arena) {
  for (const Fixture& fixture : kFixtures)
    if (fixture.uri == uri) return contents(uri, fixture.mime, fixture.key, fixture.content, arena);
  if (!uri.starts_with(kTemplateBegins) || !uri.ends_with(kTemplateEnds) || uri.size() <= kTemplateBegins.size() + kTemplateEnds.size())
    return std::nullopt;
  const std::string_view id = uri.substr(kTemplateBegins.size(), uri.size() - kTemplateBegins.size() - kTemplateEnds.size());
  if (id.find('/') != std::string_view::npos) return std::nullopt;
  const Value data =
      json::make_object(arena, {{"id", id}, {"templateTest", true}, {"data", arena.copy("Data for ID: " + std::string(id))}});
  return contents(uri, "application/json", "text", arena.copy(json::canonical(data)), arena);
}

std::optional<std::vector<std::string>> fixture_completion(std::string_view reference, std::string_view argument) {
  if (reference == "test_prompt_with_arguments" && (argument == "arg1" || argument == "arg2"))
    return std::vector<std::string>{"test one", "test two", "other"};
  if (reference == "test://template/{id}/data" && argument == "id") return std::vector<std::string>{"123", "456"};
  if (reference == "test_prompt_with_embedded_resource" && argument == "resourceUri") {
    std::vector<std::string> uris;
    for (const Fixture& fixture : kFixtures) uris.emplace_back(fixture.uri);
    return uris;
  }
  return std::nullopt;
}

}  // namespace weir::mcp
