#include "suite/methods.h"

#include <algorithm>

#include "importers/pi_map.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "service/import.h"
#include "service/read_status.h"
#include "service/reads.h"
#include "session/address.h"
#include "session/pi_read.h"
#include "session/types.h"

namespace weir::suite {
namespace {

using json::Value;

constexpr LineNo kEveryLine = 1u << 30;

// What pi-readcache's unit tests give as a state: each slot covers its own scope.
TrustFold::State state_of(const Value& slots, LineNo total) {
  TrustFold::State state;
  for (const Value& path : slots.items()) {
    PathTrust& trust = state.paths[std::string(path.items()[0].text())];
    for (const Value& slot : path.items()[1].items()) {
      const auto scope = ReadScope::parse(slot.items()[0].text());
      const std::string version(slot.items()[1].text_or("hash", ""));
      const auto seq = static_cast<std::uint64_t>(slot.items()[1].find("seq")->integer());
      trust.slots.set(scope->text(), Slot{version, seq});
      trust.totals.set(version, total);
      const auto showing = std::make_shared<const Showing>(Showing{version, seq, EntryId::trusted("slot"), seq, 0});
      trust.view.set(scope->full ? LineRange{1, total} : scope->lines, showing);
    }
  }
  return state;
}

Value with_coverage(const TrustFold::State& state, json::Arena& arena) {
  return json::make_object(arena, {{"slots", slots_json(state, arena)}, {"coverage", nullptr}});
}

Value transition(std::span<const Value> args, json::Arena& arena) {
  const auto record = read_from_pi(json::make_object(arena, {{"readcache", args[1]}}));
  TrustFold::State state = state_of(args[0], record ? record->total_lines : kEveryLine);
  if (record) {
    state.seq = static_cast<std::uint64_t>(args[2].integer()) - 1;
    TrustFold().take_record(state, EntryId::trusted("record"), *record);
  }
  return with_coverage(state, arena);
}

Value invalidate(std::span<const Value> args, json::Arena& arena) {
  TrustFold::State state = state_of(args[0], kEveryLine);
  if (const auto refresh = refresh_from_pi(args[1])) TrustFold().take_refresh(state, EntryId::trusted("refresh"), *refresh);
  return with_coverage(state, arena);
}

Result<Value> from_branch(std::span<const Value> args, json::Arena& arena) {
  TrustFold::State state;
  const auto branch = args[0].items();
  for (std::size_t i = args.size() > 1 ? static_cast<std::size_t>(args[1].integer()) : 0; i < branch.size(); ++i) {
    const pi::Mapped line = pi::map_line(branch[i], arena);
    Entry entry;
    entry.id = EntryId::trusted(line.id.value_or("?"));
    entry.type = line.type;
    entry.body = json::canonical(line.body);
    if (entry.type != types::kCompaction) TRY_DO(TrustFold().step(state, entry));
  }
  return slots_json(state, arena);
}

// A command's words: a path, and perhaps lines behind it.
struct RefreshWords {
  std::string path;
  LineRequest lines;
};

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

std::string unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() && (text.front() == '"' || text.front() == '\'');
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

Result<RefreshWords> parse_words(std::string_view typed, const ReadSource& source, const PathContext& context, const Masker& masker) {
  const std::string_view text = trimmed(typed);
  if (text.empty()) return Error(ErrorCode::INVALID_FIELD, "Usage: /readcache-refresh <path> [start-end]");
  const std::size_t space = text.find_last_of(" \t");
  const bool has_lines = space != std::string_view::npos && text.find_first_not_of("0123456789-", space + 1) == std::string_view::npos;
  if (!has_lines || source.read(unquoted(text), {}, context, masker).ok()) return RefreshWords{unquoted(text), {}};
  TRY(const LineRequest lines, parse_line_range(text.substr(space + 1)));
  return RefreshWords{unquoted(trimmed(text.substr(0, space))), lines};
}

Result<LineRequest> lines_in(const Value& params) {
  LineRequest lines;
  if (const Value* offset = params.find("offset"); offset != nullptr && !offset->is_null()) {
    TRY(lines.offset, parse_offset(json::canonical(*offset)));
  }
  if (const Value* limit = params.find("limit"); limit != nullptr && !limit->is_null()) {
    TRY(lines.limit, parse_limit(json::canonical(*limit)));
  }
  return lines;
}

Value delegate(json::Arena& arena) { return json::make_object(arena, {{"delegate", "baseline"}}); }

}  // namespace

// Arguments by what they are, since some methods are called with more and some with fewer.
struct Methods::Arguments {
  std::span<const Value> all;

  const Value* snapshot() const {
    const auto it = std::find_if(all.begin(), all.end(), [](const Value& arg) { return arg.find("branch") != nullptr; });
    return it == all.end() ? nullptr : &*it;
  }
  std::string state() const {
    const auto it =
        std::find_if(all.begin(), all.end(), [](const Value& arg) { return arg.is_string() && arg.text().starts_with("state-"); });
    return it == all.end() ? "state-0" : std::string(it->text());
  }
  bool leaf_has_children() const {
    const Value* said = snapshot() == nullptr ? nullptr : snapshot()->find("leafHasChildren");
    return said != nullptr && said->is_boolean() && said->boolean();
  }
  // The n-th string that is not the state.
  std::string text(std::size_t n) const {
    for (const Value& arg : all) {
      if (arg.is_string() && !arg.text().starts_with("state-") && n-- == 0) return std::string(arg.text());
    }
    return {};
  }
  const Value* object() const {
    const auto it = std::find_if(all.begin(), all.end(), [](const Value& arg) { return arg.is_object() && arg.find("branch") == nullptr; });
    return it == all.end() ? nullptr : &*it;
  }
};

std::string Host::object_path(const Digest& digest) const {
  const std::string hex = digest.hex();
  return directory + "/objects/" + hex.substr(0, 2) + "/" + hex.substr(2);
}

Value slots_json(const TrustFold::State& state, json::Arena& arena) {
  std::vector<Value> paths;
  state.paths.each([&](const std::string& path, const PathTrust& trust) {
    std::vector<Value> slots;
    trust.slots.each([&](const std::string& scope, const Slot& slot) {
      const Value value = json::make_object(arena, {{"hash", arena.copy(slot.version)}, {"seq", slot.seq}});
      slots.push_back(json::make_array(arena, std::vector<Value>{arena.copy(scope), value}));
    });
    if (!slots.empty()) paths.push_back(json::make_array(arena, std::vector<Value>{arena.copy(path), json::make_array(arena, slots)}));
  });
  return json::make_array(arena, paths);
}

std::string Methods::call(const std::string& request) {
  json::Parser parser;
  const auto parsed = parser.parse(request);
  json::Arena arena;
  const auto failed = [&](std::string_view message) {
    return json::canonical(json::make_object(arena, {{"error", json::make_object(arena, {{"message", message}})}}));
  };
  if (!parsed.ok()) return failed(parsed.error().message());
  const Value* args = parsed->find("args");
  const auto answer = run(parsed->text_or("method", ""), {args == nullptr ? std::span<const Value>() : args->items()}, arena);
  if (!answer.ok()) return failed(answer.error().message());
  return answer->is_null() ? "{}" : json::canonical(json::make_object(arena, {{"result", *answer}}));
}

Result<Value> Methods::run(std::string_view method, const Arguments& args, json::Arena& arena) {
  if (method == "state.create") return Value(arena.copy("state-" + std::to_string(++states_)));
  if (method == "state.clear") {
    for (auto& [cwd, one] : hosts_) {
      std::vector<SessionRow> rows;
      TRY_DO(one.service->log().read([&](LogReader& reader) -> Result<void> {
        TRY(rows, reader.sessions());
        return {};
      }));
      for (const SessionRow& row : rows) {
        if (row.id.str().starts_with(args.state() + ".")) one.service->pending_reads().drop(row.id);
      }
    }
    return Value();
  }
  if (method == "read") return read(args, arena);
  if (method == "refresh") return refresh(args, arena);
  if (method == "status") return status(args, arena);
  if (method == "replay.knowledge") return knowledge(args, arena);
  if (method == "replay.blocked") return blocked(args, arena);
  if (method == "replay.overlaySet") return overlay_set(args, arena);
  if (method == "replay.fromBranch") return from_branch(args.all, arena);
  if (method == "replay.transition") return transition(args.all, arena);
  if (method == "replay.invalidate") return invalidate(args.all, arena);
  if (method == "pure" && args.all.size() == 2) {
    return pure(args.all[0].text(), args.all[1].items(), home_, [&](const std::string& cwd) { return host(cwd); }, arena);
  }
  return Error(ErrorCode::NOT_FOUND, "no method " + std::string(method));
}

Result<Host*> Methods::host(const std::string& cwd) {
  const auto there = hosts_.find(cwd);
  if (there != hosts_.end()) return &there->second;
  Host made;
  made.directory = directory_ + "/" + std::to_string(hosts_.size());
  ServiceSettings settings;
  settings.store_directory = made.directory;
  settings.durability = Durability::normal;
  TRY(made.service, Service::open(settings, Store::Access::write, Doors{}));
  ReadOptions options;
  options.roots = {"/"};
  TRY(made.source, ReadSource::open(std::move(options), made.directory));
  return &hosts_.emplace(cwd, std::move(made)).first->second;
}

Result<SessionId> Methods::bring(Host& host, const Arguments& args, json::Arena& arena) {
  const Value* snapshot = args.snapshot();
  if (snapshot == nullptr) return Error(ErrorCode::INVALID_FIELD, "no snapshot");
  const SessionId session = SessionId::trusted(args.state() + "." + std::string(snapshot->text_or("sessionId", "none")));
  const Value* leaf = snapshot->find("leafId");
  const bool empty = snapshot->find("branch")->items().empty();
  bool there = false;
  TRY_DO(host.service->log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto row, reader.session(session));
    there = row.has_value();
    return {};
  }));
  if (empty && !there) {
    // Nothing to store, and still all that the host has: it syncs.
    host.service->pending_reads().begin_sync(session);
    return session;
  }
  json::ObjectBuilder request(arena);
  request.add("format", "pi").add("session", session.str()).add("since", nullptr).add("entries", *snapshot->find("branch"));
  request.add("leaf", leaf == nullptr ? Value() : *leaf).add_if("aborted", snapshot->find("aborted"));
  TRY_DO(sync_session(*host.service, request.build(), std::nullopt, false, arena));
  return session;
}

Result<TrustFold::State> Methods::trust(Host& host, const SessionId& session, bool has_children) {
  const auto place = host.service->pending_reads().hold(session, main_head());
  TrustFold::State state;
  TRY_DO(host.service->log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto row, reader.session(session));
    Seq leaf = 0;
    if (row) {
      TRY(leaf, need_head(reader, *row, main_head()));
      TRY(const auto folded, host.service->trust_fold().at(reader, row->no, leaf));
      state = *folded;
    }
    return place->arrive(reader, row ? row->no : SessionNo{}, {leaf, "", has_children});
  }));
  place->apply(host.service->settings().trust, state);
  return state;
}

Result<Value> Methods::read(const Arguments& args, json::Arena& arena) {
  const std::string cwd = args.text(0);
  const Value* params = args.object();
  if (params == nullptr) return Error(ErrorCode::INVALID_FIELD, "no parameters");
  TRY(Host* const on, host(cwd));
  ReadCall call;
  TRY(call.session, bring(*on, args, arena));
  call.head = main_head();
  call.record = ReadCall::Record::host;
  call.path = params->text_or("path", "");
  call.cwd = cwd;
  call.home = home_;
  call.turn = params->text_or("turn", "");
  call.call_id = params->text_or("call_id", "");
  call.leaf_has_children = args.leaf_has_children();
  const Value* bypass = params->find("bypass_cache");
  call.bypass = bypass != nullptr && bypass->is_boolean() && bypass->boolean();
  const auto lines = lines_in(*params);
  if (!lines.ok()) return delegate(arena);
  call.lines = *lines;
  TRY(const ReadReply reply, read_file(*on->service, *on->source, call, [] { return false; }));
  if (reply.kind == ReadReply::Kind::not_text) return delegate(arena);
  const Value block = json::make_object(arena, {{"type", "text"}, {"text", arena.copy(reply.text)}});
  json::ObjectBuilder out(arena);
  out.add("content", json::make_array(arena, std::vector<Value>{block}));
  if (reply.details) out.add("details", Value::raw(arena.copy(*reply.details)));
  return out.build();
}

Result<Value> Methods::refresh(const Arguments& args, json::Arena& arena) {
  const std::string cwd = args.text(0);
  TRY(Host* const on, host(cwd));
  const PathContext context{cwd, home_};
  RefreshWords words;
  if (const Value* params = args.object()) {
    words.path = params->text_or("path", "");
    TRY(words.lines, lines_in(*params));
  } else {
    TRY(words, parse_words(args.text(1), *on->source, context, on->service->masker()));
  }
  TRY(const RefreshPlan plan, plan_refresh(*on->source, words.path, words.lines, context, on->service->masker()));
  return json::make_object(arena, {{"entry", refresh_to_pi(plan.body, on->service->now().ms, arena)}, {"text", arena.copy(plan.text)}});
}

Result<Value> Methods::status(const Arguments& args, json::Arena& arena) {
  TRY(Host* const on, host(args.text(0)));
  TRY(const SessionId session, bring(*on, args, arena));
  TRY_DO(on->service->write([&](LogTxn& txn) -> Result<void> {
    TRY_DO(ensure_session(txn, session, on->service->now()));
    return {};
  }));
  TRY(const ReadStatus status, read_status(*on->service, {session, main_head(), "", false}, on->source->options()));
  return json::make_object(arena, {{"text", arena.copy(status.pi_text())}, {"status", status.to_json(arena)}});
}

Result<Value> Methods::knowledge(const Arguments& args, json::Arena& arena) {
  TRY(Host* const on, host("replay"));
  TRY(const SessionId session, bring(*on, args, arena));
  TRY(const TrustFold::State state, trust(*on, session, args.leaf_has_children()));
  return slots_json(state, arena);
}

Result<Value> Methods::blocked(const Arguments& args, json::Arena& arena) {
  TRY(Host* const on, host("replay"));
  TRY(const SessionId session, bring(*on, args, arena));
  TRY(const TrustFold::State state, trust(*on, session, args.leaf_has_children()));
  const auto scope = ReadScope::parse(args.text(1));
  const PathTrust* path = state.paths.find(args.text(0));
  return Value(path != nullptr && scope && !scope->full && path->blocked.touches(scope->lines));
}

Result<Value> Methods::overlay_set(const Arguments& args, json::Arena& arena) {
  TRY(Host* const on, host("replay"));
  TRY(const SessionId session, bring(*on, args, arena));
  TRY_DO(trust(*on, session, args.leaf_has_children()));  // arrives at the leaf
  const auto scope = ReadScope::parse(args.text(1));
  if (!scope) return Error(ErrorCode::INVALID_FIELD, "no scope");
  ReadRecord record;
  if (const Value* meta = args.object()) {
    const auto given = read_from_pi(json::make_object(arena, {{"readcache", *meta}}));
    if (!given) return Error(ErrorCode::INVALID_FIELD, "no record");
    record = *given;
  } else {
    record.path = args.text(0);
    record.full_scope = scope->full;
    record.range = scope->full ? LineRange{1, kEveryLine} : scope->lines;
    record.total_lines = kEveryLine;
    record.served = args.text(2);
    record.shown = {record.range};
    record.reason = "no_base_hash";
  }
  on->service->pending_reads().hold(session, main_head())->add({record, ""});
  return Value();
}

}  // namespace weir::suite
