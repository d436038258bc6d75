#include "service/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/nearest.h"
#include "base/secrets.h"
#include "base/utf8.h"
#include "importers/pi_map.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "service/compile.h"
#include "service/config.h"
#include "service/render.h"
#include "session/address.h"
#include "session/bodies.h"
#include "session/path.h"
#include "session/prepare.h"
#include "session/read_record.h"
#include "session/types.h"
#include "store/named_blob.h"

namespace weir {
namespace {

using json::Value;

Error missing(const SessionRow& session, Seq seq) {
  return Error(ErrorCode::CORRUPT, "the entry at seq " + std::to_string(seq) + " is missing")
      .with("session", session.id.str())
      .with("seq", static_cast<std::int64_t>(seq));
}

// Answers whose child an entry is, asking the log only for parents not just seen.
class Parents {
 public:
  Parents(LogReader& reader, const SessionRow& session) : reader_(reader), session_(session) {}

  // The id of the entry's parent; empty for a root. CORRUPT if the parent is missing.
  Result<EntryId> of(const Entry& entry) {
    Link parent;
    if (entry.parent != 0 && entry.parent == last_.seq) {
      parent = last_;
    } else if (entry.parent != 0) {
      TRY(const auto above, reader_.entry(session_.no, entry.parent, Columns::without_body));
      if (!above) return missing(session_, entry.parent);
      parent = {above->seq, above->id};
    }
    last_ = {entry.seq, entry.id};
    return parent.id;
  }

 private:
  struct Link {
    Seq seq = 0;
    EntryId id;
  };
  LogReader& reader_;
  const SessionRow& session_;
  Link last_;
};

// Every entry of the session in append order, none left out.
Result<void> scan_all(LogReader& reader, const SessionRow& session, FunctionRef<Result<bool>(const Entry&, const EntryId&)> visit) {
  TRY(const Seq last, reader.last_seq(session.no));
  TRY(const auto heads, need_heads(reader, session));
  for (const HeadRow& head : heads) {
    if (head.seq > last) return missing(session, head.seq);
  }
  Parents parents(reader, session);
  Seq next = 1;
  bool go_on = true;
  TRY_DO(reader.scan(session.no, 1, last, Order::forward, Columns::all, [&](Entry& entry) -> Result<bool> {
    if (entry.seq != next) return missing(session, next);
    ++next;
    TRY(const EntryId parent, parents.of(entry));
    TRY(go_on, visit(entry, parent));
    return go_on;
  }));
  if (go_on && next <= last) return missing(session, next);
  return {};
}

bool wanted(const auto& query, const Entry& entry) {
  if (!query.types.empty() && std::find(query.types.begin(), query.types.end(), entry.type) == query.types.end()) return false;
  return !query.since || entry.at >= *query.since;
}

// The first words of a message's content, whatever shape it has.
std::string_view content_text(const Value* content) {
  if (content == nullptr) return {};
  if (content->is_string()) return content->text();
  if (const std::string_view preview = content->text_or("preview", ""); !preview.empty()) return preview;
  for (const Value& block : content->items()) {
    if (const Value* text = block.find("text")) {
      if (const std::string_view inner = content_text(text); !inner.empty()) return inner;
    }
  }
  return {};
}

std::string calls_text(const Value* calls) {
  std::string out;
  for (const Value& call : calls == nullptr ? std::span<const Value>() : calls->items()) {
    const Value* function = call.find("function");
    const std::string_view name = call.text_or("name", function == nullptr ? "?" : function->text_or("name", "?"));
    const Value* arguments = call.find("arguments");
    out += (out.empty() ? "" : " ") + std::string(name) + "(";
    if (arguments != nullptr && arguments->is_object()) {
      for (const json::Member& argument : arguments->members()) {
        if (argument.value.is_string()) {
          out += std::string(utf8_prefix(argument.value.text(), 40));
          break;
        }
      }
    }
    out += ")";
  }
  return out;
}

std::string one_line(std::string_view text, std::size_t most) {
  std::string out;
  bool space = false;
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size() && count < most;) {
    const std::size_t start = at;
    const auto c = decode_utf8(text, at);
    if (c && is_space(*c)) {
      space = !out.empty();
      continue;
    }
    if (space) {
      out += ' ';
      ++count;
      space = false;
    }
    out.append(text.substr(start, at - start));
    ++count;
  }
  return out;
}

}  // namespace

namespace {

std::string read_text(const Value& body) {
  const auto record = parse_read_record(body);
  if (!record) return "(malformed)";
  return fmt::format("{} {} {}-{} of {} ({})", record->path, mode_name(record->mode), record->range.first, record->range.last,
                     record->total_lines, record->reason);
}

}  // namespace

std::string preview_of(const Entry& entry, std::size_t most) {
  thread_local json::Parser parser;
  const auto parsed = parser.parse_stored(entry.body);
  if (!parsed.ok()) return "(damaged)";
  const Value& body = *parsed;
  const auto text = [&](std::string_view key) { return content_text(body.find(key)); };
  std::string out;
  if (entry.type == types::kMessage) {
    out = std::string(body.text_or("role", "?"));
    if (const std::string_view name = body.text_or("name", ""); !name.empty()) out += " " + std::string(name);
    out += ": " + one_line(utf8_prefix(text("content"), 4 * most), most);
    if (const std::string calls = calls_text(body.find("tool_calls")); !calls.empty())
      out += (out.ends_with(": ") ? "" : " ") + std::string("-> ") + calls;
  } else if (entry.type == types::kCompaction) {
    out = std::string(text("narrative").empty() ? text("summary") : text("narrative"));
  } else if (entry.type == types::kBranchSummary) {
    out = std::string(text("summary"));
  } else if (entry.type == types::kLabel) {
    out = std::string(body.text_or("label", "(none)")) + " on " + std::string(body.text_or("target", "?"));
  } else if (entry.type == types::kContextEdit) {
    out = std::string(body.find("replacement") == nullptr || body.find("replacement")->is_null() ? "takes out " : "replaces ") +
          std::string(body.text_or("target", "?"));
  } else if (entry.type == types::kSessionInfo) {
    out = std::string(body.text_or("name", body.text_or("cwd", "")));
  } else if (entry.type == types::kCustom) {
    out = std::string(body.text_or("custom_type", "?"));
  } else if (entry.type == types::kRead) {
    out = read_text(body);
  } else if (entry.type == types::kRefresh) {
    out = std::string(body.text_or("path", "?")) + " " + std::string(body.text_or("scope", "?"));
  } else {
    out = entry.body;
  }
  return one_line(out, most);
}

Result<void> read_all(Service& service, const SessionId& session, FunctionRef<Result<bool>(const Entry&, const EntryId&)> visit) {
  return service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const SessionRow row, need_session(reader, session));
    return scan_all(reader, row, visit);
  });
}

namespace {

using Run = PagePlace::Run;
constexpr std::size_t kMostRuns = 32;  // that a place carries

// The path to `leaf` behind `after`, as runs of neighbours. An entry as deep as its place has everything before it on its path.
Result<std::vector<Run>> path_runs(LogReader& reader, SessionNo session, Seq leaf, Seq after) {
  std::vector<Run> out;  // falling
  TRY_DO(walk_back(reader, session, leaf, Columns::without_body, [&](Entry& entry) -> Result<bool> {
    if (entry.seq <= after) return false;
    const bool whole = entry.depth == entry.seq;
    const Seq first = whole ? after + 1 : entry.seq;
    if (!out.empty() && out.back().first == entry.seq + 1) {
      out.back().first = first;
    } else {
      out.push_back({first, entry.seq});
    }
    return !whole;
  }));
  std::reverse(out.begin(), out.end());
  return out;
}

Result<PagePlace> begin_page(LogReader& reader, const PageQuery& query) {
  PagePlace place;
  TRY(const Located located, locate(reader, query.address));
  place.session = located.session.no;
  if (!query.all) {
    place.leaf = located.seq;
    return place;
  }
  TRY(const Seq last, reader.last_seq(place.session));
  place.runs = {{1, last}};
  return place;
}

// What is left of the runs behind the entry shown last.
PagePlace behind(const PagePlace& before, const std::vector<Run>& runs, Seq shown) {
  PagePlace out = before;
  out.after = shown;
  out.runs.clear();
  for (const Run& run : runs)
    if (run.last > shown) out.runs.push_back({std::max(run.first, shown + 1), run.last});
  if (out.leaf != 0 && out.runs.size() > kMostRuns) out.runs.clear();
  return out;
}

}  // namespace

std::string PagePlace::encode() const {
  std::string out = fmt::format("{} {} {}", session.value, after, leaf);
  for (const Run& run : runs) out += fmt::format(" {} {}", run.first, run.last);
  return out;
}

std::optional<PagePlace> PagePlace::decode(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  while (!text.empty()) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  }
  if (numbers.size() < 3 || numbers.size() % 2 == 0) return std::nullopt;
  PagePlace out{{numbers[0]}, numbers[1], numbers[2], {}};
  for (std::size_t i = 3; i < numbers.size(); i += 2) out.runs.push_back({numbers[i], numbers[i + 1]});
  return out;
}

namespace {

using Visit = FunctionRef<Result<bool>(const Entry&, const EntryId&)>;

// Shows a page of the runs; the seq shown last if there is more behind it.
Result<std::optional<Seq>> show_page(LogReader& reader, const SessionRow& session, const std::vector<Run>& runs, const PageQuery& query,
                                     Visit visit) {
  // Most lists leave nothing out; then a body is read with its row.
  const bool some = !query.types.empty() || query.since;
  Parents parents(reader, session);
  std::size_t shown = 0;
  Seq last = 0;
  bool more = false, full = false;
  for (const Run& run : runs) {
    Seq expected = run.first;
    const auto show = [&](Entry& entry) -> Result<bool> {
      if (entry.seq != expected) return missing(session, expected);
      ++expected;
      if (!wanted(query, entry)) return true;
      more = full || shown == query.limit;
      if (more) return false;
      if (some) {
        TRY(auto whole, reader.entry(session.no, entry.seq));
        if (!whole) return missing(session, entry.seq);
        entry = std::move(*whole);
      }
      TRY(const EntryId parent, parents.of(entry));
      TRY(const bool room, visit(entry, parent));
      full = !room;
      ++shown;
      last = entry.seq;
      return true;
    };
    TRY_DO(reader.scan(session.no, run.first, run.last, Order::forward, some ? Columns::without_body : Columns::all, show));
    if (more) return std::optional(last);
    if (expected <= run.last) return missing(session, expected);
  }
  return std::optional<Seq>();
}

}  // namespace

Result<void> need_types(LogReader& reader, SessionNo session, const std::vector<std::string>& types) {
  std::vector<std::string_view> names = {types::kMessage,       types::kRead,  types::kRefresh,     types::kContextEdit, types::kCompaction,
                                         types::kBranchSummary, types::kLabel, types::kSessionInfo, types::kCustom,      types::kCtreeNode};
  names.insert(names.end(), std::begin(types::kRunEvents), std::end(types::kRunEvents));
  names.insert(names.end(), std::begin(types::kResearchEvents), std::end(types::kResearchEvents));
  std::set<std::string, std::less<>> unknown;
  for (const std::string& type : types)
    if (std::find(names.begin(), names.end(), type) == names.end()) unknown.insert(type);
  if (unknown.empty()) return {};
  std::set<std::string, std::less<>> others;  // the session's own
  TRY(const Seq last, reader.last_seq(session));
  TRY_DO(reader.scan(session, 1, last, Order::backward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
    unknown.erase(entry.type);
    others.insert(entry.type);
    return !unknown.empty();
  }));
  if (unknown.empty()) return {};
  names.insert(names.end(), others.begin(), others.end());
  const std::string& first = *unknown.begin();
  const std::string why = "no entry of this session has the type '" + masked_excerpt(first, 40) + "'" + did_you_mean(first, names);
  return Error(ErrorCode::INVALID_FIELD, "/type: " + why).with_fields({{"/type", why}});
}

Result<Located> read_log(Service& service, const LogQuery& query, FunctionRef<Result<bool>(const Entry&, const EntryId&)> visit) {
  Located located;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(located, locate(reader, query.address));
    const SessionNo session = located.session.no;
    std::uint64_t left = query.limit == 0 ? UINT64_MAX : query.limit;
    if (query.oldest_first) {
      TRY(const std::vector<Run> runs, path_runs(reader, session, located.seq, query.after));
      TRY_DO(show_page(reader, located.session, runs, {.types = query.types, .since = query.since, .limit = left}, visit));
      return {};
    }
    // Newest first: an entry is shown when the next one back, its parent, is at hand.
    std::optional<Entry> held;
    const auto show = [&](const EntryId& parent) -> Result<bool> {
      if (!wanted(query, *held)) return true;
      TRY(const bool go_on, visit(*held, parent));
      return go_on && --left > 0;
    };
    bool go_on = true;
    TRY_DO(walk_back(reader, session, located.seq, Columns::all, [&](Entry& entry) -> Result<bool> {
      if (held) {
        TRY(go_on, show(entry.id));
      }
      if (entry.seq <= query.after) {
        held.reset();
        return false;
      }
      held = std::move(entry);
      return go_on;
    }));
    if (go_on && held) {
      TRY(const EntryId parent, Parents(reader, located.session).of(*held));
      TRY_DO(show(parent));
    }
    return {};
  }));
  return located;
}

Result<std::optional<PagePlace>> read_page(Service& service, const PageQuery& query, Visit visit) {
  std::optional<PagePlace> next;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const SessionRow session, need_session(reader, query.address.session));
    PagePlace place;
    if (query.from) {
      place = *query.from;
    } else {
      TRY_DO(need_types(reader, session.no, query.types));
      TRY(place, begin_page(reader, query));
    }
    if (place.session != session.no)
      return Error(ErrorCode::NOT_FOUND, "the session of that list is gone").with("session", session.id.str());
    std::vector<Run> runs = place.runs;
    if (runs.empty() && place.leaf != 0) {
      TRY(runs, path_runs(reader, place.session, place.leaf, place.after));
    }
    TRY(const auto last, show_page(reader, session, runs, query, visit));
    if (last) next = behind(place, runs, *last);
    return {};
  }));
  return next;
}

Result<Tree> read_tree(Service& service, const SessionId& session) {
  Tree tree;
  std::map<std::string, std::string> labels;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(tree.session, need_session(reader, session));
    TRY(const auto heads, reader.heads(tree.session.no));
    for (const HeadRow& head : heads) tree.heads.emplace_back(head.name, head.seq);
    return scan_all(reader, tree.session, [&](const Entry& entry, const EntryId&) -> Result<bool> {
      TreeNode node{entry.seq, entry.parent, entry.id, entry.type, "", preview_of(entry, 120), entry.type == types::kCompaction};
      if (entry.type == types::kLabel) {
        json::Parser parser;
        if (const auto body = parser.parse_stored(entry.body); body.ok())
          labels[std::string(body->text_or("target", ""))] = body->text_or("label", "");
      }
      node.error = entry.type == types::kMessage && entry.body.find("\"is_error\":true") != std::string::npos;
      node.side = entry.imported && pi::is_side(entry.type, entry.body);
      tree.nodes.push_back(std::move(node));
      return true;
    });
  }));
  for (TreeNode& node : tree.nodes) {
    if (const auto it = labels.find(node.id.str()); it != labels.end()) node.label = it->second;
  }
  return tree;
}

Value node_json(const TreeNode& node, const EntryId& parent, json::Arena& arena) {
  return json::make_object(arena, {{"id", node.id.str()},
                                   {"parent", parent.empty() ? Value() : Value(arena.copy(parent.str()))},
                                   {"seq", node.seq},
                                   {"type", node.type},
                                   {"label", text_or_null(node.label)},
                                   {"barrier", node.barrier},
                                   {"preview", node.preview}});
}

namespace {

// Prompts and manifests name nodes; what is asked for then is the entry a node was made of.
Result<Entry> find_entry_or_node(Service& service, LogReader& reader, const SessionRow& session, const Address& address,
                                 std::string_view name) {
  auto found = find_entry(reader, session, name, address.people ? Naming::people : Naming::exact, Columns::all);
  if (found.ok() || found.error().code() != ErrorCode::NOT_FOUND || !ctree::is_node_id(name)) return found;
  TRY(const Located at, locate(reader, address));
  const auto nodes = nodes_at(service, reader, at, compile_defaults(service));
  const auto node = nodes.ok() ? nodes->state->find(name) : std::nullopt;
  if (!node) return found;
  TRY(auto entry, reader.entry(session.no, nodes->state->nodes[*node].seq, Columns::all));
  return entry ? Result<Entry>(std::move(*entry)) : std::move(found);
}

}  // namespace

Result<Shown> show_entry(Service& service, const Address& address, std::string_view name) {
  Shown out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const SessionRow session, need_session(reader, address.session));
    out.session = session.no;
    TRY(out.entry, find_entry_or_node(service, reader, session, address, name));
    TRY(out.parent, Parents(reader, session).of(out.entry));
    return {};
  }));
  return out;
}

Result<std::string> resolved_body(Service& service, SessionNo session, const Entry& entry) {
  json::Parser parser;
  TRY(const Value body, parser.parse_stored(entry.body));
  std::string out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    const auto load = [&](const Digest& digest) { return named_blob(service.store(), reader, session, digest); };
    TRY(const Value resolved, resolve_blobs(body, load, parser.arena()));
    out = json::canonical(resolved);
    return {};
  }));
  return out;
}

Result<std::string> show_blob(Service& service, const Digest& digest) {
  auto bytes = service.store().blobs().get(digest);
  if (bytes.ok() || bytes.error().code() != ErrorCode::NOT_FOUND) return bytes;
  // Whether anybody names it is not known here, so that it is not there is no damage; but that it was purged is worth saying.
  TRY_DO(service.log().read([&](LogReader& reader) { return not_purged(reader, digest); }));
  return bytes;
}

}  // namespace weir
