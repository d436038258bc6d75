#include "mcp/resources.h"

#include <algorithm>

#include "api/cursor.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "json/canonical.h"
#include "mcp/core.h"
#include "service/sessions.h"
#include "service/snapshots.h"
#include "session/address.h"

namespace weir::mcp {
namespace {

using json::Value;

constexpr std::string_view kScheme = "weir://";
constexpr std::string_view kJson = "application/json", kMarkdown = "text/markdown";
constexpr Caching kForEver{86400000, false};
constexpr std::size_t kPage = 50;

// A kind of resource below a session, and the operation that answers it.
struct Kind {
  std::string_view name;
  std::string_view operation;
  std::string_view argument;  // what the operation calls the last part
  std::string_view mime;
  bool named_by_number;  // or digest: it never changes
};
constexpr Kind kKinds[] = {
    {"session", "getSession", "", kJson, false},
    {"head", "", "", kJson, false},
    {"entry", "getEntry", "entry", kJson, false},
    {"snapshot", "getSnapshot", "n", kJson, true},
    {"narrative", "getSnapshotNarrative", "n", kMarkdown, true},
    {"stage", "getStage", "name", kJson, false},
};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t slash = text.find('/');
    out.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    text.remove_prefix(slash + 1);
  }
}

Error no_resource() { return {ErrorCode::NOT_FOUND, "there is no resource of that name"}; }

Value contents_of(std::string_view uri, std::string_view mime, std::string_view key, std::string_view text, json::Arena& arena) {
  const Value items[] = {json::make_object(arena, {{"uri", uri}, {"mimeType", mime}, {key, text}})};
  return json::make_object(arena, {{"contents", json::make_array(arena, items)}});
}

Result<Value> read_blob(Asked& asked, std::string_view uri, const ResourceName& name) {
  api::Call call(asked.world, *api::find_operation("getBlob"), asked.task);
  TRY_DO(api::call(call, json::make_object(call.arena, {{"sha256", name.part}})));
  asked.caching = kForEver;
  const std::string_view bytes = asked.arena.copy(call.reply.text);
  if (valid_utf8(bytes)) return contents_of(uri, "text/plain", "text", bytes, asked.arena);
  return contents_of(uri, "application/octet-stream", "blob", asked.arena.copy(encode_base64(bytes)), asked.arena);
}

Result<Value> read_head(Asked& asked, std::string_view uri, const ResourceName& name) {
  TRY(const SessionId session, SessionId::parse(name.session));
  TRY(const auto heads, list_heads(asked.world.service, session));
  for (const HeadAnswer& head : heads)
    if (head.name.str() == name.part)
      return contents_of(uri, kJson, "text", asked.arena.copy(json::canonical(head.to_json(asked.arena))), asked.arena);
  return no_resource();
}

struct Used {
  TimeMs at;
  SessionSummary summary;
};

// By when something happened last, newest first.
Result<std::vector<Used>> sessions_by_use(Service& service) {
  TRY(auto sessions, list_sessions(service));
  std::vector<Used> out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    for (SessionSummary& summary : sessions) {
      TimeMs at = summary.created;
      TRY(const auto row, reader.session(summary.id));
      if (!row) continue;
      TRY(const Seq last, reader.last_seq(row->no));
      TRY(const auto entry, reader.entry(row->no, last, Columns::without_body));
      if (entry) at = entry->at;
      out.push_back({at, std::move(summary)});
    }
    return {};
  }));
  std::stable_sort(out.begin(), out.end(),
                   [](const Used& a, const Used& b) { return a.at.ms != b.at.ms ? a.at.ms > b.at.ms : a.summary.id < b.summary.id; });
  return out;
}

void list_session(Asked& asked, const SessionSummary& summary, std::vector<Value>& items) {
  json::Arena& arena = asked.arena;
  const std::string_view id = arena.copy(summary.id.str());
  items.push_back(
      json::make_object(arena, {{"uri", arena.copy(resource_uri(id))},
                                {"name", id},
                                {"description", arena.copy(std::to_string(summary.entries) + " entries, barrier " + summary.barrier)},
                                {"mimeType", kJson}}));
  const auto snapshots = list_snapshots(asked.world.service, {summary.id, main_head(), {}, false});
  if (!snapshots.ok() || snapshots->empty()) return;
  const std::string number = std::to_string(snapshots->back().accepted.sequence);
  items.push_back(json::make_object(arena, {{"uri", arena.copy(resource_uri(id, "narrative", number))},
                                            {"name", arena.copy(std::string(id) + " narrative " + number)},
                                            {"mimeType", kMarkdown}}));
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (!valid_utf8(out) || out.find('\0') != std::string::npos) return std::nullopt;
  return out;
}

std::optional<ResourceName> parse_resource(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  ResourceName out;
  if (const std::size_t query = uri.find('?'); query != std::string_view::npos) {
    const std::string_view given = uri.substr(query + 1);
    uri = uri.substr(0, query);
    const auto at = given.starts_with("at=") ? percent_decoded(given.substr(3)) : std::nullopt;
    if (!at || at->empty()) return std::nullopt;
    out.at = *at;
  }
  std::vector<std::string> parts;
  for (const std::string_view part : parts_of(uri)) {
    const auto decoded = percent_decoded(part);
    if (!decoded || decoded->empty()) return std::nullopt;
    parts.push_back(*decoded);
  }
  if (parts.size() == 2 && parts[0] == "blob") {
    out.kind = "blob";
    out.part = parts[1];
  } else if (parts.size() == 2 && parts[0] == "session") {
    out.kind = "session";
    out.session = parts[1];
  } else if (parts.size() == 4 && parts[0] == "session") {
    out.kind = parts[2];
    out.session = parts[1];
    out.part = parts[3];
    const auto known = [&](const Kind& kind) { return kind.name == out.kind && kind.name != "session"; };
    if (std::none_of(std::begin(kKinds), std::end(kKinds), known)) return std::nullopt;
  } else {
    return std::nullopt;
  }
  if (!out.at.empty() && out.kind != "stage") return std::nullopt;
  if (!out.session.empty() && !SessionId::parse(out.session).ok()) return std::nullopt;
  return out;
}

std::string resource_uri(std::string_view session) { return std::string(kScheme) + "session/" + percent_encoded(session); }

std::string resource_uri(std::string_view session, std::string_view kind, std::string_view part) {
  return resource_uri(session) + "/" + std::string(kind) + "/" + percent_encoded(part);
}

std::vector<std::string_view> own_templates() {
  return {
      R"({"uriTemplate":"weir://session/{id}","name":"session","description":"A session: heads, barrier, counts, source.","mimeType":"application/json"})",
      R"({"uriTemplate":"weir://session/{id}/head/{name}","name":"head","description":"Where a head stands.","mimeType":"application/json"})",
      R"({"uriTemplate":"weir://session/{id}/entry/{eid}","name":"entry","description":"One entry of the log.","mimeType":"application/json"})",
      R"({"uriTemplate":"weir://session/{id}/snapshot/{n}","name":"snapshot","description":"A compaction snapshot.","mimeType":"application/json"})",
      R"({"uriTemplate":"weir://session/{id}/narrative/{n}","name":"narrative","description":"A snapshot as text.","mimeType":"text/markdown"})",
      R"({"uriTemplate":"weir://session/{id}/stage/{name}{?at}","name":"stage","description":"A stage of the context compiler: RAW, SPEC, HEADER, FROZEN.","mimeType":"application/json"})",
      R"({"uriTemplate":"weir://blob/{sha256}","name":"blob","description":"A large string or file version, by its hash."})",
  };
}

namespace {

// A snapshot's id, and the pointer of an entry.
bool names_digest(std::string_view part) {
  constexpr std::size_t kPointerDigits = 16;
  if (part.starts_with("snap1_")) return true;
  return part.starts_with('e') && part.size() == 1 + kPointerDigits &&
         part.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

}  // namespace

Result<Value> read_resource(Asked& asked, std::string_view uri) {
  const auto name = parse_resource(uri);
  if (!name) return no_resource();
  if (name->kind == "blob") return read_blob(asked, uri, *name);
  if (name->kind == "head") return read_head(asked, uri, *name);
  const Kind& kind = *std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& one) { return one.name == name->kind; });
  const api::Operation* const operation = api::find_operation(kind.operation);
  WEIR_CHECK(operation != nullptr);
  api::Call call(asked.world, *operation, asked.task);
  json::ObjectBuilder arguments(call.arena);
  arguments.add("session", name->session);
  if (!kind.argument.empty()) arguments.add(kind.argument, name->part);
  if (!name->at.empty()) arguments.add("at", name->at);
  TRY_DO(api::call(call, arguments.build()));
  const bool number = name->part.find_first_not_of("0123456789") == std::string::npos;
  if ((kind.named_by_number && number) || names_digest(name->part)) asked.caching = kForEver;
  return contents_of(uri, kind.mime, "text", asked.arena.copy(call.reply.text), asked.arena);
}

Result<Value> list_resources(Asked& asked, std::string_view cursor) {
  constexpr std::string_view kList = "mcp.resources";
  TRY(const auto sessions, sessions_by_use(asked.world.service));
  std::size_t first = 0;
  if (!cursor.empty() || asked.task.params.find("cursor") != nullptr) {
    // It goes on behind the session that was last, wherever that stands now.
    TRY(const std::string last, api::read_cursor(kList, cursor, asked.world.cursor_key));
    const std::size_t space = last.find(' ');
    const std::int64_t at = std::atoll(last.substr(0, space).c_str());
    const std::string id = last.substr(std::min(space + 1, last.size()));
    while (first < sessions.size() &&
           (sessions[first].at.ms > at || (sessions[first].at.ms == at && sessions[first].summary.id.str() <= id)))
      ++first;
  }
  std::vector<Value> items;
  const std::size_t end = std::min(first + kPage, sessions.size());
  for (std::size_t i = first; i < end; ++i) list_session(asked, sessions[i].summary, items);
  json::ObjectBuilder out(asked.arena);
  out.add("resources", json::make_array(asked.arena, items));
  if (end < sessions.size()) {
    const Used& last = sessions[end - 1];
    const std::string payload = std::to_string(last.at.ms) + " " + last.summary.id.str();
    out.add("nextCursor", asked.arena.copy(api::make_cursor(kList, payload, asked.world.cursor_key)));
  }
  return out.build();
}

}  // namespace weir::mcp
