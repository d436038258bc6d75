#include "api/openapi.h"

#include <algorithm>
#include <map>
#include <vector>

#include "api/operation.h"
#include "api/shape.h"
#include "base/error_code.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace weir::api {
namespace {

using json::Arena;
using json::Value;

constexpr std::string_view kDescription =
    "The context ledger for AI agents: one append-only, branching, hash-chained log per session. Every error is a problem of "
    "RFC 9457 with a code of one closed list.";

// A route of the server that is no operation.
struct Other {
  std::string_view method, path, id, summary, type, shape;
  std::string_view statuses;  // besides 200, with spaces between
  bool open = false;          // needs no token
  bool takes_json = false;
};
constexpr Other kOthers[] = {
    {"get", "/healthz", "health", "Whether the process lives.", "text/plain", "string", "", true},
    {"get", "/readyz", "ready", "Whether requests are served: 503 while the store cannot be used, the disk is full or the server stops.",
     "application/json", "{reasons:[string], ...}", "503", true},
    {"get", "/metrics", "metrics", "Counts, as Prometheus reads them.", "text/plain", "string", ""},
    {"get", "/openapi.json", "openapi", "This document.", "application/json", "object", ""},
    {"post", "/mcp", "mcp", "One message of the Model Context Protocol.", "application/json", "object", "202 400 404", false, true},
    {"get", "/mcp", "mcpStream", "Notifications of a session of the older revisions.", "text/event-stream", "string", "400 404 405"},
    {"delete", "/mcp", "mcpEnd", "End a session of the older revisions.", "application/json", "object", "204 400 404 405"},
};

struct Header {
  std::string_view name, help;
};
constexpr Header kIdempotency{"Idempotency-Key", "1 to 128 visible characters: the same request again gives the first answer"};
constexpr Header kIfMatch{"If-Match", "in quotes the entry the head is expected to stand at; 412 if it has moved"};
constexpr Header kLastEvent{"Last-Event-ID", "the seq seen last: what followed comes first"};
constexpr Header kRange{"Range", "some of the bytes"};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::vector<std::string_view> words(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

class Document {
 public:
  std::string write(std::string_view version) {
    for (const Operation& operation : operations()) add("/v1" + std::string(operation.path), operation.method, operation_value(operation));
    for (const Alias& alias : aliases()) add(std::string(alias.path), alias.method, alias_value(alias));
    for (const Other& other : kOthers) add(std::string(other.path), other.method, other_value(other));
    json::ObjectBuilder paths(arena_);
    for (auto& [path, methods] : paths_) {
      json::ObjectBuilder item(arena_);
      for (const auto& [method, value] : methods) item.add(method, value);
      paths.add(path, item.build());
    }
    const Value info = object({{"title", "Weir"},
                               {"version", version},
                               {"description", kDescription},
                               {"license", object({{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}})}});
    const Value bearer[] = {object({{"bearer", json::make_array(arena_, {})}})};
    return json::canonical(object({{"openapi", "3.1.0"},
                                   {"info", info},
                                   {"jsonSchemaDialect", "https://json-schema.org/draft/2020-12/schema"},
                                   {"servers", list({object({{"url", "/"}})})},
                                   {"security", json::make_array(arena_, bearer)},
                                   {"paths", paths.build()},
                                   {"components", components()}}));
  }

 private:
  Value object(std::initializer_list<json::Member> members) { return json::make_object(arena_, members); }
  Value list(const std::vector<Value>& items) { return json::make_array(arena_, items); }
  Value schema(std::string_view text) { return *json::parse_stored(arena_.copy(text), arena_); }
  Value of_shape(std::string_view shape) { return schema(schema_of(shape)); }
  Value reference(std::string_view to) { return object({{"$ref", arena_.copy("#/components/" + std::string(to))}}); }

  void add(const std::string& path, std::string_view method, Value value) { paths_[path].emplace(lower(method), value); }

  // ---- what is sent ----

  Value texts_of(const Parameter& parameter) {
    std::vector<Value> out;
    for (const std::string_view choice : words(parameter.choices, '|')) out.emplace_back(choice);
    return list(out);
  }

  Value integer_schema(const Parameter& parameter) {
    json::ObjectBuilder out(arena_);
    out.add("type", "integer").add("minimum", parameter.least);
    if (parameter.most != INT64_MAX) out.add("maximum", parameter.most);
    return out.build();
  }

  Value schema_of_parameter(const Parameter& parameter) {
    if (!parameter.shape.empty()) return of_shape(parameter.shape);
    constexpr std::string_view kName = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$";
    switch (parameter.type) {
      case Type::integer:
        return integer_schema(parameter);
      case Type::flag:
        return of_shape("boolean");
      case Type::choice:
        return object({{"type", "string"}, {"enum", texts_of(parameter)}});
      case Type::texts:
        return of_shape("[string]");
      case Type::object:
        return of_shape("object");
      case Type::list:
        return of_shape("array");
      case Type::any:
        return of_shape("any");
      case Type::session:
      case Type::head:
        return object({{"type", "string"}, {"pattern", kName}});
      case Type::entry:
        return object({{"type", "string"}, {"minLength", 1}, {"maxLength", 256}});
      case Type::time:
        return object({{"type", "string"}, {"format", "date-time"}});
      case Type::digest:
        return object({{"type", "string"}, {"pattern", "^(sha256:)?[0-9a-f]{64}$"}});
      case Type::text:
        return parameter.nullable ? of_shape("string|null") : of_shape("string");
    }
    return Value();
  }

  Value parameter_value(const Parameter& parameter, const Value* example) {
    json::ObjectBuilder out(arena_);
    out.add("name", parameter.name)
        .add("in", parameter.in == In::path ? "path" : "query")
        .add("description", parameter.help)
        .add("schema", schema_of_parameter(parameter));
    if (parameter.required) out.add("required", true);
    if (parameter.type == Type::texts) out.add("style", "form").add("explode", false);
    return out.add_if("example", example).build();
  }

  Value header_value(const Header& header) {
    return object({{"name", header.name}, {"in", "header"}, {"description", header.help}, {"schema", of_shape("string")}});
  }

  // Of path, query and headers.
  Value parameters(const Operation& operation, const Value& example, std::string_view but = {}) {
    std::vector<Value> out;
    for (const Parameter& parameter : operation.parameters) {
      if (parameter.in != In::body && parameter.name != but) out.push_back(parameter_value(parameter, example.find(parameter.name)));
    }
    if (operation.method == "POST") out.push_back(header_value(kIdempotency));
    if (operation.id == "putHead") out.push_back(header_value(kIfMatch));
    if (operation.answers == Answers::events) out.push_back(header_value(kLastEvent));
    if (operation.answers == Answers::bytes) out.push_back(header_value(kRange));
    return list(out);
  }

  Value json_body(const Operation& operation, const Value& example) {
    json::ObjectBuilder properties(arena_), given(arena_);
    std::vector<Value> required;
    for (const Parameter& parameter : operation.parameters) {
      const bool again = parameter.also_in_body;
      if (parameter.in != In::body && !again) continue;
      json::ObjectBuilder described(arena_);
      for (const json::Member& member : schema_of_parameter(parameter).members()) described.add(member.key, member.value);
      properties.add(parameter.name, described.add("description", parameter.help).build());
      if (parameter.required && !again) required.emplace_back(parameter.name);
      if (!again) given.add_if(parameter.name, example.find(parameter.name));
    }
    const Value body =
        object({{"type", "object"}, {"properties", properties.build()}, {"additionalProperties", false}, {"required", list(required)}});
    const Value content = given.empty() ? object({{"schema", body}}) : object({{"schema", body}, {"example", given.build()}});
    return object({{"required", !required.empty()}, {"content", object({{"application/json", content}})}});
  }

  void add_body(const Operation& operation, const Value& example, json::ObjectBuilder& out) {
    const auto& all = operation.parameters;
    const bool has_body = std::any_of(all.begin(), all.end(), [](const Parameter& one) { return one.in == In::body; });
    if (operation.takes == Takes::json && has_body) out.add("requestBody", json_body(operation, example));
    if (operation.takes == Takes::any) out.add("requestBody", whole_body("application/json", "any", example.find("snapshot")));
    if (operation.takes == Takes::lines) out.add("requestBody", whole_body("application/x-ndjson", "string", example.find("text")));
  }
  Value whole_body(std::string_view type, std::string_view shape, const Value* example) {
    json::ObjectBuilder content(arena_);
    content.add("schema", of_shape(shape)).add_if("example", example);
    return object({{"required", true}, {"content", object({{type, content.build()}})}});
  }

  // ---- what is answered ----

  Value content_of(const Operation& operation) {
    switch (operation.answers) {
      case Answers::json:
        return object({{"application/json", object({{"schema", schema(operation.schema)}})}});
      case Answers::lines:
        return object({{"application/x-ndjson", object({{"schema", of_shape("string")}, {"x-line-schema", schema(operation.schema)}})}});
      case Answers::markdown:
        return object({{"text/markdown", object({{"schema", of_shape("string")}})}});
      case Answers::bytes:
        return object({{"application/octet-stream", object({})}});
      case Answers::events:
        return object({{"text/event-stream", object({{"schema", of_shape("string")}})}});
      case Answers::nothing:
        break;
    }
    return Value();
  }

  Value success(const Operation& operation) {
    json::ObjectBuilder out(arena_);
    out.add("description", operation.summary);
    if (operation.answers != Answers::nothing) out.add("content", content_of(operation));
    const Value tag = object({{"description", "its digest"}, {"schema", of_shape("string")}});
    if (operation.immutable) out.add("headers", object({{"ETag", tag}}));
    return out.build();
  }

  Value responses(const Operation& operation) {
    json::ObjectBuilder out(arena_);
    out.add(arena_.copy(std::to_string(operation.status)), success(operation));
    for (const int status : operation.more_statuses) out.add(arena_.copy(std::to_string(status)), success(operation));
    if (operation.answers == Answers::bytes) out.add("206", success(operation));
    if (operation.immutable) out.add("304", object({{"description", "It is what If-None-Match says."}}));
    return out.add("4XX", reference("responses/Refused")).add("5XX", reference("responses/Failed")).build();
  }

  Value operation_value(const Operation& operation) {
    const Value example = operation.example.empty() ? Value() : schema(operation.example);
    json::ObjectBuilder out(arena_);
    out.add("operationId", operation.id)
        .add("summary", operation.summary)
        .add("parameters", parameters(operation, example))
        .add("responses", responses(operation));
    add_body(operation, example, out);
    return out.build();
  }

  Value alias_value(const Alias& alias) {
    const Operation& operation = *find_operation(alias.operation);
    const std::string route = std::string(alias.path).substr(std::string_view("/sessions/{session}/").size());
    std::string id = std::string(operation.id) + "As";
    bool up = true;
    for (const char c : route) {
      const bool letter = c >= 'a' && c <= 'z';
      if (letter) id += up ? static_cast<char>(c - 32) : c;
      up = !letter;
    }
    json::ObjectBuilder out(arena_);
    out.add("operationId", arena_.copy(id))
        .add("summary", arena_.copy("The same as " + std::string(operation.id) + "."))
        .add("parameters", parameters(operation, Value(), alias.fixed_name))
        .add("responses", responses(operation));
    add_body(operation, Value(), out);
    return out.build();
  }

  Value other_value(const Other& other) {
    const Value ok =
        object({{"description", other.summary}, {"content", object({{other.type, object({{"schema", of_shape(other.shape)}})}})}});
    json::ObjectBuilder responses(arena_), out(arena_);
    responses.add("200", ok);
    for (const std::string_view status : words(other.statuses, ' ')) {
      const bool same = status.starts_with('5') || status == "400";
      responses.add(status, same ? ok : object({{"description", "As the protocol says."}}));
    }
    responses.add("4XX", reference("responses/Refused")).add("5XX", reference("responses/Failed"));
    out.add("operationId", other.id).add("summary", other.summary).add("responses", responses.build());
    if (other.open) out.add("security", list({}));
    if (other.takes_json) out.add("requestBody", whole_body("application/json", "object", nullptr));
    return out.build();
  }

  // ---- errors ----

  Value problem(bool client) {
    std::vector<Value> codes;
    for (const ErrorCodeInfo& code : kErrorCodes)
      if ((code.http < 500) == client) codes.emplace_back(code.name);
    const Value text = of_shape("string");
    const Value properties = object({{"type", text},
                                     {"title", text},
                                     {"status", of_shape("integer")},
                                     {"detail", text},
                                     {"instance", text},
                                     {"code", object({{"type", "string"}, {"enum", list(codes)}})},
                                     {"details", of_shape("object")}});
    return object(
        {{"type", "object"}, {"properties", properties}, {"required", list({"type", "title", "status", "detail", "code", "details"})}});
  }

  Value problem_response(std::string_view description, std::string_view name) {
    const Value content = object({{"schema", reference("schemas/" + std::string(name))}});
    return object({{"description", description}, {"content", object({{"application/problem+json", content}})}});
  }

  Value components() {
    const Value bearer = object({{"type", "http"}, {"scheme", "bearer"}, {"description", "the token in the server's token file"}});
    return object({{"securitySchemes", object({{"bearer", bearer}})},
                   {"schemas", object({{"RefusedProblem", problem(true)}, {"FailedProblem", problem(false)}})},
                   {"responses", object({{"Refused", problem_response("What was asked cannot be.", "RefusedProblem")},
                                         {"Failed", problem_response("The server could not do it.", "FailedProblem")}})}});
  }

  Arena arena_;
  std::map<std::string, std::map<std::string, Value>> paths_;
};

}  // namespace

std::string openapi_document(std::string_view version) { return Document().write(version); }

}  // namespace weir::api
