#include "service/append.h"

#include <algorithm>
#include <chrono>

#include "base/limits.h"
#include "base/secrets.h"
#include "compaction/evidence.h"
#include "ctree/kind.h"
#include "json/mask.h"
#include "service/render.h"
#include "session/address.h"
#include "session/bodies.h"
#include "session/types.h"
#include "store/blob_refs.h"

namespace weir {

using json::Value;

AppendCall::AppendCall(Service& service, SessionId session, HeadName head, std::optional<Expect> expect, bool dry_run,
                       RunGate::Options gate)
    : service_(service),
      objects_(service.store().blobs(), CallObjects::Mode::deferred),
      preparer_(service.masker(), &objects_),
      lenient_(gate.lenient),
      gate_(service, objects_, head, gate),
      dry_run_(dry_run) {
  request_.session = std::move(session);
  request_.head = std::move(head);
  request_.expect = std::move(expect);
}

// Names are shown everywhere and never masked, so one that holds a secret is refused.
void AppendCall::check_id(json::ObjectDecoder& in, std::string_view key, std::string_view id) {
  MaskCounts found;
  if (service_.masker().mask(id, found)) in.wrong(key, "looks like a secret (" + found.begin()->first + ")");
}

Result<void> AppendCall::add(const Value& entry, const std::string& path, json::Arena& arena) {
  json::ObjectDecoder in(entry, path, errors_);
  NewEntry out;
  if (const std::string_view type = in.need_text("type");
      !type.empty() || (entry.find("type") != nullptr && entry.find("type")->is_string())) {
    if (const auto parsed = EntryType::parse(type); parsed.ok()) {
      out.type = type;
      check_id(in, "type", type);
    } else {
      in.wrong("type", parsed.error().message());
    }
  }
  out.id = in.name<EntryId>("id");
  if (out.id) check_id(in, "id", out.id->str());
  if (const Value* parent = entry.find("parent"); parent != nullptr && parent->is_null()) out.parent = NewEntry::Parent{true, ""};
  if (const auto parent = in.name<EntryId>("parent")) out.parent = NewEntry::Parent{false, parent->str()};
  if (const auto at = in.text("at")) {
    const auto time = parse_time(*at);
    if (time.ok()) {
      out.at = *time;
    } else {
      in.wrong("at", time.error().message());
    }
  }
  const Value* body = in.need_object("body");
  in.close();
  if (body == nullptr || out.type.empty()) return {};
  return take(std::move(out), *body, path, arena);
}

Result<void> AppendCall::add_body(std::string_view type, const Value& body, std::optional<std::string> id,
                                  std::optional<std::string> parent, json::Arena& arena) {
  json::ObjectBuilder entry(arena);
  entry.add("type", type).add("body", body);
  if (id) entry.add("id", *id);
  if (parent) entry.add("parent", *parent);
  TRY_DO(add(entry.build(), "", arena));
  if (!request_.entries.empty() && request_.entries.back().parent) request_.entries.back().parent->people = true;
  return {};
}

namespace {

// `text_masked` says that the text was compared when it arrived: that is ours to say (session/prepare.cc).
Value without_claims(std::string_view type, const Value& body, json::Arena& arena) {
  if (type != types::kMessage || body.find("text_masked") == nullptr) return body;
  json::ObjectBuilder out(arena);
  for (const json::Member& member : body.members()) {
    if (member.key != "text_masked") out.add(member.key, member.value);
  }
  return out.build();
}

}  // namespace

// What of a run event can be said without the run: its texts become blobs and hashes, its fields have their types. What the
// log may still complete is not missed here.
Result<Value> AppendCall::take_event(compaction::Event event, const Value& body, const std::string& path, json::Arena& arena) {
  TRY(const Value taken, compaction::take_texts(event, body, service_.masker(), objects_, !lenient_, arena));
  if (lenient_) return taken;
  // Masked, two ids could become one.
  for (const json::Member& member : taken.members()) {
    MaskCounts found;
    if (!member.key.ends_with("_id") || !member.value.is_string() || !service_.masker().mask(member.value.text(), found)) continue;
    return compaction::wrong_field_error(event, {{std::string(member.key), "looks like a secret (" + found.begin()->first + ")"}},
                                         json::pointer(path, "body"));
  }
  auto wrong = compaction::wrong_fields(event, taken, false);
  // The message quotes the beginning of a value, in which the beginning of a secret would be none any more.
  MaskCounts masked;
  if (!wrong.empty()) wrong = compaction::wrong_fields(event, json::mask(taken, message_masker(), arena, masked), false);
  if (compaction::is_completed(event)) {
    std::erase_if(wrong, [](const compaction::WrongField& field) { return field.problem == "is missing"; });
  }
  if (!wrong.empty()) return compaction::wrong_field_error(event, wrong, json::pointer(path, "body"));
  return taken;
}

Result<void> AppendCall::add_own(std::string_view type, const Value& body, json::Arena& arena, std::optional<TimeMs> at) {
  Preparer preparer(no_masking(), &objects_);
  own_ = true;
  NewEntry entry;
  entry.type = type;
  entry.at = at;
  TRY(entry.body, preparer.prepare(type, body, arena));
  request_.entries.push_back(std::move(entry));
  return {};
}

Result<void> AppendCall::take(NewEntry entry, const Value& given, const std::string& path, json::Arena& arena) {
  const bool fine = errors_.empty();
  check_body(entry.type, given, json::pointer(path, "body"), errors_);
  Value body = given;
  if (const auto event = compaction::parse_event(entry.type)) {
    auto taken = take_event(*event, given, path, arena);
    if (taken.ok()) {
      body = *taken;
    } else if (taken.error().code() == ErrorCode::INVALID_FIELD && !taken.error().fields().empty()) {
      for (const FieldError& field : taken.error().fields()) errors_.add_named(field.path, field.message);
    } else {
      return std::move(taken).error();
    }
  }
  // Once something is wrong nothing will be stored; the rest is only checked.
  if (!fine || !errors_.empty()) return {};
  if (entry.type == types::kCtreeNode) {
    // As it comes and as it is stored: masking may make it longer.
    MaskCounts found;
    const std::string_view kind = body.text_or("kind", "");
    TRY_DO(ctree::check_kind(kind));
    if (const auto masked = service_.masker().mask(kind, found)) TRY_DO(ctree::check_kind(*masked));
  }
  auto prepared = preparer_.prepare(entry.type, without_claims(entry.type, body, arena), arena);
  if (!prepared.ok() && prepared.error().code() == ErrorCode::INVALID_FIELD) check_blob_names(body, json::pointer(path, "body"), errors_);
  if (!errors_.empty()) return {};
  if (!prepared.ok()) return std::move(prepared).error().with("path", path.empty() ? "/" : path);
  entry.body = std::move(prepared).value();
  request_.entries.push_back(std::move(entry));
  return {};
}

Result<void> AppendCall::keep(std::string_view bytes) {
  TRY_DO(objects_.put(bytes));
  return {};
}

// Objects that the caller named were looked up before the lock was ours; a gc may have come in between.
Result<void> AppendCall::check_objects() {
  for (const NewEntry& entry : request_.entries) {
    if (!entry.body.has_blobs && !names_blobs(entry.type)) continue;
    TRY(const auto refs, blob_references(entry.type, entry.body.canonical));
    for (const Digest& digest : refs) {
      TRY(const bool there, objects_.refer(digest));
      if (!there)
        return Error(ErrorCode::NOT_FOUND, "no blob sha256:" + digest.hex() + " is stored").with("object", "sha256:" + digest.hex());
    }
  }
  return {};
}

// Entries name others by their ids. A pointer is put into words that every fold reads; of a name that nothing has, the caller is told:
// a host that believes it took something out of the context must not be left in that belief.
Result<std::vector<std::string>> AppendCall::name_targets(LogTxn& txn) {
  std::vector<std::string> warnings;
  TRY(const auto session, txn.session(request_.session));
  json::Parser parser;
  for (std::size_t i = 0; i < request_.entries.size(); ++i) {
    NewEntry& entry = request_.entries[i];
    if (entry.type != types::kContextEdit && entry.type != types::kLabel) continue;
    TRY(const Value body, parser.parse_stored(entry.body.canonical));
    const std::string_view target = body.text_or("target", "");
    const auto before = request_.entries.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(request_.entries.begin(), before, [&](const NewEntry& other) { return other.id && other.id->str() == target; }))
      continue;
    const auto found = session ? find_entry(txn, *session, target, Naming::exact) : Result<Entry>(Error(ErrorCode::NOT_FOUND, ""));
    if (!found.ok() && found.error().code() != ErrorCode::NOT_FOUND) return found.error();
    if (!found.ok()) {
      warnings.push_back("the target '" + masked_excerpt(target, 80) + "' is no entry of the session: this " + entry.type +
                         " has no effect");
    } else if (found->id.str() != target) {
      json::Arena arena;
      json::ObjectBuilder named(arena);
      for (const json::Member& member : body.members()) {
        named.add(member.key, member.key == "target" ? Value(found->id.str()) : member.value);
      }
      Preparer preparer(no_masking(), &objects_);
      MaskCounts masked = std::move(entry.body.masked);
      TRY(entry.body, preparer.prepare(entry.type, named.build(), arena));
      entry.body.masked = std::move(masked);
    }
  }
  return warnings;
}

// A name that a caller gives a node stands for one node of a path.
Result<void> AppendCall::check_node_ids(LogTxn& txn, const AppendResult& result) {
  json::Parser parser;
  for (std::size_t i = 0; i < result.entries.size(); ++i) {
    if (result.entries[i].known || request_.entries[i].type != types::kCtreeNode) continue;
    TRY(const Value body, parser.parse_stored(request_.entries[i].body.canonical));
    const std::string_view name = body.text_or("node_id", "");
    if (name.empty()) continue;
    TRY(const SessionRow session, need_session(txn, request_.session));
    TRY(const auto entry, txn.entry(session.no, result.entries[i].seq, Columns::without_body));
    TRY(const auto nodes, service_.nodes_fold().at(txn, session.no, entry->parent));
    const ctree::Ordinal* taken = nodes->given_ids.find(name);
    if (taken == nullptr) continue;
    return Error(ErrorCode::ID_REUSED, "the node id '" + masked_excerpt(name, 80) + "' is taken by node " + nodes->id(*taken))
        .with("node_id", masked_excerpt(name, 80))
        .with("node", nodes->id(*taken));
  }
  return {};
}

// A research run is changed by its own steps alone: nobody sets a gate by hand. Where there is no run such an entry says
// nothing, and is stored like any other.
Result<void> AppendCall::check_research(LogTxn& txn, const SessionRow& session, const NewEntry& entry, Seq parent) {
  if (own_) return {};
  TRY(const auto run, service_.research_fold().at(txn, session.no, parent));
  json::Parser parser;
  TRY(const Value body, parser.parse_stored(entry.body.canonical));
  if (!run->started && !research::begins_run(entry.type, body)) return {};
  const std::string why = "is written by `weir research` alone, not '" + entry.type + "'";
  return Error(ErrorCode::INVALID_FIELD, "/type: " + why).with_fields({{"/type", why}});
}

namespace {

void count_append(Counters& counters, const AppendAnswer& answer, double seconds) {
  std::uint64_t added = 0;
  for (const auto& item : answer.result.entries) added += item.known ? 0 : 1;
  counters.add(Metric::append_entries, {}, added);
  counters.observe(Metric::append_seconds, seconds);
  for (const auto& [rule, count] : answer.masked) counters.add(Metric::masked, rule, count);
}

}  // namespace

Result<AppendAnswer> AppendCall::commit() {
  const auto begun = std::chrono::steady_clock::now();
  TRY_DO(errors_.result());
  TRY_DO(service_.check_name("/session", request_.session.str()));
  TRY_DO(service_.check_name("/head", request_.head.str()));
  TRY_DO(gate_.warm(request_.session, request_.head));
  AppendAnswer answer;
  const TimeMs now = service_.now();
  const auto body = [&](LogTxn& txn) -> Result<void> {
    TRY_DO(check_objects());
    TRY(std::vector<std::string> warnings, name_targets(txn));
    gate_.begin();
    const auto complete = [&](const SessionRow& session, const NewEntry& entry, Seq parent,
                              bool known) -> Result<std::optional<PreparedBody>> {
      if (!research::is_research_type(entry.type)) return gate_.complete(txn, session, entry, parent, known);
      TRY_DO(check_research(txn, session, entry, parent));
      return std::optional<PreparedBody>();
    };
    const auto added = [&](const SessionRow& session, const Entry& entry) { return gate_.added(txn, session, entry); };
    const auto owned = [](std::string_view type) { return RunGate::owned(type) || research::is_research_type(type); };
    const AppendHooks hooks{owned, complete, added};
    TRY(answer.result, append(txn, request_, now, &hooks));
    TRY_DO(check_node_ids(txn, answer.result));
    TRY(const SessionRow session, need_session(txn, request_.session));
    TRY(const Seq head, need_head(txn, session, request_.head));
    TRY(answer.due, gate_.finish(txn, session, head));
    if (placed_) TRY_DO(placed_(txn, session, answer.result));
    answer.warnings = gate_.warnings();
    answer.warnings.insert(answer.warnings.end(), warnings.begin(), warnings.end());
    if (!dry_run_) TRY_DO(objects_.write_out());
    TRY_DO(objects_.settle(txn));
    const bool adds = std::any_of(answer.result.entries.begin(), answer.result.entries.end(), [](const auto& item) { return !item.known; });
    return adds ? service_.check_commit(txn, session.no) : Result<void>();
  };
  const auto whole = [&](LogTxn& txn) -> Result<void> {
    auto done = body(txn);
    if (!done.ok()) objects_.take_back();
    return done;
  };
  const auto written = service_.write(whole, dry_run_);
  gate_.settle(written.ok() && !dry_run_);
  TRY_DO(written);
  answer.masked = preparer_.masked();
  if (!dry_run_) count_append(service_.counters(), answer, std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  return answer;
}

Value AppendAnswer::to_json(json::Arena& arena) const {
  std::vector<Value> items;
  for (const auto& item : result.entries) {
    items.push_back(json::make_object(arena, {{"seq", item.seq}, {"id", item.id.str()}, {"digest", arena.copy(item.digest.hex())}}));
  }
  std::vector<Value> notes(warnings.begin(), warnings.end());
  json::ObjectBuilder out(arena);
  out.add("entries", json::make_array(arena, items))
      .add("head", text_or_null(result.head.str()))
      .add("due", due)
      .add("warnings", json::make_array(arena, notes));
  if (!masked.empty()) out.add("masked", counts_json(masked, arena));
  return out.build();
}

}  // namespace weir
