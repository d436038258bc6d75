#include "mcp/completion.h"

#include <algorithm>

#include "json/canonical.h"
#include "mcp/core.h"
#include "mcp/fixtures.h"
#include "mcp/resources.h"
#include "service/reading.h"
#include "service/sessions.h"
#include "service/snapshots.h"
#include "session/address.h"

namespace weir::mcp {
namespace {

using json::Value;

constexpr std::size_t kMostValues = 100;

enum class What { sessions, heads, entries, stages, snapshots, nothing };

// Which argument of which template or prompt means what.
struct Known {
  std::string_view reference, argument;
  What what;
  bool is_template() const { return reference.starts_with("weir://"); }
};
constexpr Known kKnown[] = {
    {"resume-work", "session", What::sessions},
    {"check-claims", "session", What::sessions},
    {"explain-context", "session", What::sessions},
    {"explain-context", "at", What::entries},
    {"weir://session/{id}", "id", What::sessions},
    {"weir://session/{id}/head/{name}", "id", What::sessions},
    {"weir://session/{id}/head/{name}", "name", What::heads},
    {"weir://session/{id}/entry/{eid}", "id", What::sessions},
    {"weir://session/{id}/entry/{eid}", "eid", What::entries},
    {"weir://session/{id}/snapshot/{n}", "id", What::sessions},
    {"weir://session/{id}/snapshot/{n}", "n", What::snapshots},
    {"weir://session/{id}/narrative/{n}", "id", What::sessions},
    {"weir://session/{id}/narrative/{n}", "n", What::snapshots},
    {"weir://session/{id}/stage/{name}{?at}", "id", What::sessions},
    {"weir://session/{id}/stage/{name}{?at}", "name", What::stages},
    {"weir://session/{id}/stage/{name}{?at}", "at", What::entries},
    {"weir://blob/{sha256}", "sha256", What::nothing},
};

struct Found {
  std::vector<std::string> values;
  std::size_t total = 0;
  std::string_view prefix;
  void add(const std::string& value) {
    if (!value.starts_with(prefix)) return;
    ++total;
    if (values.size() < kMostValues) values.push_back(value);
  }
};

// By when something happened last, newest first.
Result<void> add_sessions(Service& service, Found& out) {
  std::vector<std::pair<std::int64_t, std::string>> used;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto rows, reader.sessions());
    for (const SessionRow& row : rows) {
      if (!row.id.str().starts_with(out.prefix)) continue;
      TRY(const Seq last, reader.last_seq(row.no));
      TRY(const auto entry, reader.entry(row.no, last, Columns::without_body));
      used.emplace_back(-(entry ? entry->at : row.created).ms, row.id.str());
    }
    return {};
  }));
  std::sort(used.begin(), used.end());
  for (const auto& [at, id] : used) out.add(id);
  return {};
}

Result<void> add_heads(Service& service, const SessionId& session, Found& out) {
  std::vector<HeadRow> heads;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const SessionRow row, need_session(reader, session));
    TRY(heads, reader.heads(row.no));
    return {};
  }));
  std::stable_sort(heads.begin(), heads.end(), [](const HeadRow& a, const HeadRow& b) { return a.seq > b.seq; });
  for (const HeadRow& head : heads) out.add(head.name.str());
  return {};
}

Result<void> add_entries(Service& service, const SessionId& session, Found& out) {
  return service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const SessionRow row, need_session(reader, session));
    TRY(const Seq last, reader.last_seq(row.no));
    return reader.scan(row.no, 1, last, Order::backward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
      out.add(entry.id.str());
      return true;
    });
  });
}

Result<void> add_values(Asked& asked, What what, const std::optional<std::string>& session_name, Found& out) {
  Service& service = asked.world.service;
  if (what == What::sessions) return add_sessions(service, out);
  if (what == What::stages) {
    for (const char* stage : {"RAW", "SPEC", "HEADER", "FROZEN"}) out.add(stage);
    return {};
  }
  // Without a session, or with one that is not there, there is nothing to offer.
  if (!session_name || what == What::nothing) return {};
  const auto session = SessionId::parse(*session_name);
  if (!session.ok()) return {};
  Result<void> added;
  if (what == What::heads) {
    added = add_heads(service, *session, out);
  } else if (what == What::entries) {
    added = add_entries(service, *session, out);
  } else if (const auto rows = list_snapshots(service, {*session, main_head(), {}, false}); rows.ok()) {
    for (auto row = rows->rbegin(); row != rows->rend(); ++row) out.add(std::to_string(row->accepted.sequence));
  } else if (rows.error().code() == ErrorCode::CORRUPT) {
    added = rows.error();
  }
  return added.ok() || added.error().code() != ErrorCode::NOT_FOUND ? added : Result<void>();
}

// The session among the arguments that are filled in already.
std::optional<std::string> session_of(const Asked& asked, const Value& params) {
  const Value* const context = params.find("context");
  const Value* const arguments = context == nullptr ? nullptr : context->find("arguments");
  for (const std::string_view name : {"session", "id"})
    if (arguments != nullptr && !arguments->text_or(name, "").empty()) return std::string(arguments->text_or(name, ""));
  const auto& session = asked.core.options().session;
  return session ? std::optional(session->str()) : std::nullopt;
}

}  // namespace

Outcome complete(Asked& asked, const Value& params) {
  const auto refuse = [](std::string message) { return Fault{.code = code::kParams, .message = std::move(message)}; };
  const Value* const ref = params.find("ref");
  const Value* const argument = params.find("argument");
  if (ref == nullptr || !ref->is_object() || argument == nullptr || !argument->is_object())
    return refuse("ref and argument are objects and must be there");
  const std::string_view type = ref->text_or("type", "");
  if (type != "ref/prompt" && type != "ref/resource") return refuse("ref.type is ref/prompt or ref/resource");
  const std::string_view reference = ref->text_or(type == "ref/prompt" ? "name" : "uri", "");
  const std::string_view name = argument->text_or("name", "");
  const Value* const value = argument->find("value");
  if (reference.empty() || name.empty() || value == nullptr || !value->is_string())
    return refuse("ref names something; argument has name and value");
  Found found{.values = {}, .total = 0, .prefix = value->text()};
  const auto known = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& one) {
    return one.reference == reference && one.argument == name && one.is_template() == (type == "ref/resource");
  });
  const auto fixture = asked.core.options().conformance ? fixture_completion(reference, name) : std::nullopt;
  if (fixture) {
    for (const std::string& one : *fixture) found.add(one);
  } else if (known == std::end(kKnown)) {
    return refuse("there is no such argument");
  } else if (const auto added = add_values(asked, known->what, session_of(asked, params), found); !added.ok()) {
    return fault_of(added.error());
  }
  std::vector<Value> values;
  for (const std::string& one : found.values) values.emplace_back(asked.arena.copy(one));
  const Value completion = json::make_object(
      asked.arena, {{"values", json::make_array(asked.arena, values)}, {"total", found.total}, {"hasMore", found.total > values.size()}});
  return json::make_object(asked.arena, {{"completion", completion}});
}

}  // namespace weir::mcp
