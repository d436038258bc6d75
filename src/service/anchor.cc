#include "service/anchor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

#include "base/base64.h"
#include "base/limits.h"
#include "base/merkle.h"
#include "json/canonical.h"
#include "json/digest.h"
#include "service/objects.h"
#include "session/address.h"
#include "session/path.h"

namespace weir {

using json::Value;

namespace {

constexpr std::string_view kHidden = "sha256:";
constexpr std::size_t kMostKeyBytes = 4096;

std::string shown(const std::optional<Digest>& digest) { return digest ? digest->hex() : "-"; }
std::string hidden_name(std::string_view name) { return std::string(kHidden) + anchored_name(name).hex(); }

// A name, or its hash, as a hash.
Digest hash_of(std::string_view name) {
  if (name.starts_with(kHidden)) {
    if (const auto digest = Digest::parse(name.substr(kHidden.size())); digest.ok()) return *digest;
  }
  return anchored_name(name);
}

Digest leaf_of(const AnchoredSession& session) {
  json::Arena arena;
  const auto digest = [&](const std::optional<Digest>& of) { return of ? Value(arena.copy(of->hex())) : Value(); };
  const auto name = [&](std::string_view text) { return Value(arena.copy(hash_of(text).hex())); };
  std::vector<Value> heads;
  for (const AnchoredHead& head : session.heads)
    heads.push_back(json::make_object(arena, {{"digest", digest(head.digest)}, {"name", name(head.name)}, {"seq", head.seq}}));
  const Value leaf = json::make_object(arena, {{"entries", session.entries},
                                               {"heads", json::make_array(arena, heads)},
                                               {"last", digest(session.last)},
                                               {"session", name(session.name)}});
  return merkle_leaf(std::string(json::name(json::Domain::anchor_leaf)) + '\0' + json::canonical(leaf));
}

Digest root_of(const std::vector<AnchoredSession>& list) {
  std::vector<Digest> leaves;
  leaves.reserve(list.size());
  for (const AnchoredSession& session : list) leaves.push_back(leaf_of(session));
  return merkle_root(std::move(leaves));
}

Result<std::optional<Digest>> digest_at(LogReader& reader, SessionNo session, Seq seq) {
  if (seq == 0) return std::optional<Digest>();
  TRY(const auto entry, reader.entry(session, seq, Columns::without_body));
  return entry ? std::optional(entry->digest) : std::optional<Digest>();
}

// The same where the entry must be there.
Result<std::optional<Digest>> need_digest(LogReader& reader, SessionNo session, Seq seq) {
  TRY(const auto digest, digest_at(reader, session, seq));
  if (seq != 0 && !digest) return missing_entry(reader, session, seq);
  return digest;
}

Result<AnchoredSession> anchored(LogReader& reader, const SessionRow& row) {
  AnchoredSession out{row.id.str(), 0, std::nullopt, {}};
  TRY(out.entries, reader.last_seq(row.no));
  TRY(out.last, need_digest(reader, row.no, out.entries));
  TRY(const auto heads, need_heads(reader, row));
  for (const HeadRow& head : heads) {
    AnchoredHead one{head.name.str(), head.seq, out.last};
    if (head.seq != out.entries) {
      TRY(one.digest, need_digest(reader, row.no, head.seq));
    }
    out.heads.push_back(std::move(one));
  }
  return out;
}

Result<Anchor> anchor_of(LogReader& reader) {
  Anchor out;
  TRY(const auto rows, reader.sessions());
  for (const SessionRow& row : rows) {
    TRY(AnchoredSession one, anchored(reader, row));
    out.entries += one.entries;
    out.list.push_back(std::move(one));
  }
  out.sessions = out.list.size();
  out.root = root_of(out.list);
  out.listed = true;
  return out;
}

}  // namespace

Digest anchored_name(std::string_view name) { return json::digest(json::Domain::anchor_name, Value(name)); }

std::string Anchor::text() const {
  return fmt::format("{}\n{}\n{}\nentries {}\ntime {}\n", origin, sessions, encode_base64(root.bytes()), entries, format_time(at));
}

std::string Anchor::list_text(bool hidden) const {
  const auto name = [&](const std::string& text) { return hidden ? hidden_name(text) : text; };
  std::string out;
  for (const AnchoredSession& session : list) {
    out += fmt::format("{} {} {}", name(session.name), session.entries, shown(session.last));
    for (const AnchoredHead& head : session.heads) out += fmt::format(" {}={}:{}", name(head.name), head.seq, shown(head.digest));
    out += '\n';
  }
  return out;
}

Result<Anchor> take_anchor(Service& service, std::string origin) {
  TRY_DO(refuse_damaged(service.log(), "no anchor was made"));
  Anchor out;
  const TimeMs at = service.now();  // whatever is purged from here on is purged after it
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(out, anchor_of(reader));
    return {};
  }));
  out.origin = std::move(origin);
  out.at = at;
  return out;
}

// ---- the key ----

static std::string anchor_key_file(Service& service) { return service.store().directory() + "/" + std::string(kAnchorKeyName); }

Result<NoteKey> load_anchor_key(Service& service) {
  Files& files = service.store().doors().files;
  const std::string path = anchor_key_file(service);
  TRY(const auto file, files.open(path));
  TRY(const FileStat st, file->stat());
  if (st.kind != FileStat::Kind::regular || st.uid != ::geteuid() || (st.mode & 077) != 0) {
    return Error(ErrorCode::STORE_UNUSABLE, fmt::format("'{}' must be a file of this user with mode 0600: others may know the key that "
                                                        "anchors are signed with; 'weir doctor --fix' mends modes",
                                                        path))
        .with("path", path);
  }
  TRY(const std::string text, files.read(path, kMostKeyBytes));
  auto key = NoteKey::parse(text);
  if (key.ok() && key->can_sign()) return key;
  return Error(ErrorCode::STORE_UNUSABLE, "'" + path + "' holds no key to sign with: put it back, or move it away for a new one")
      .with("path", path);
}

Result<NoteKey> load_or_make_anchor_key(Service& service) {
  auto there = load_anchor_key(service);
  if (there.ok() || there.error().code() != ErrorCode::NOT_FOUND) return there;
  const Doors& doors = service.store().doors();
  std::string secret(32, '\0');
  for (std::size_t at = 0; at < secret.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t chance = doors.random.next();
    std::memcpy(secret.data() + at, &chance, sizeof chance);
  }
  // Its name is its own: two stores never sign as one another.
  const std::string name = "weir/" + sha256(NoteKey::make("weir", secret).verifier_key()).hex().substr(0, 16);
  const NoteKey key = NoteKey::make(name, secret);
  auto made = doors.files.write_synced(anchor_key_file(service), key.signer_key() + "\n");
  if (!made.ok()) {
    // Another process may have been quicker.
    auto theirs = load_anchor_key(service);
    return theirs.ok() ? std::move(theirs) : Result<NoteKey>(std::move(made).error());
  }
  TRY_DO(doors.files.sync_directory(service.store().directory()));
  return key;
}

// ---- reading one ----

namespace {

Error no_anchor(const std::string& why) {
  return Error(ErrorCode::INVALID_FIELD, "this is no anchor that can be used: " + why).with_fields({{"/anchor", why}});
}

template <typename Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() && (text[0] != '0' || text.size() == 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool parse_digest(std::string_view text, std::optional<Digest>& out) {
  if (text == "-") return true;
  const auto digest = Digest::parse(text);
  if (digest.ok()) out = *digest;
  return digest.ok();
}

bool is_name(std::string_view text) {
  return text.starts_with(kHidden) ? Digest::parse(text.substr(kHidden.size())).ok() : SessionId::parse(std::string(text)).ok();
}

bool parse_session(std::string_view line, AnchoredSession& out) {
  const auto words = split(line, ' ');
  if (words.size() < 3 || !is_name(words[0]) || !parse_number(words[1], out.entries) || !parse_digest(words[2], out.last)) return false;
  out.name = words[0];
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('='), colon = words[i].rfind(':');
    AnchoredHead head;
    if (equals == std::string_view::npos || colon == std::string_view::npos || colon < equals) return false;
    head.name = words[i].substr(0, equals);
    if (!is_name(head.name) || !parse_number(words[i].substr(equals + 1, colon - equals - 1), head.seq) ||
        !parse_digest(words[i].substr(colon + 1), head.digest))
      return false;
    out.heads.push_back(std::move(head));
  }
  return true;
}

Result<void> parse_text(std::string_view text, Anchor& out) {
  const auto lines = split(text, '\n');
  if (lines.size() < 3) return no_anchor("a note has at least three lines: origin, sessions, root");
  out.origin = lines[0];
  const auto root = decode_base64(lines[2]);
  const auto digest = root ? Digest::from_bytes(*root) : Result<Digest>(no_anchor("no base64"));
  if (!parse_number(lines[1], out.sessions)) return no_anchor("its second line is no number of sessions");
  if (!digest.ok()) return no_anchor("its third line is no root: base64 of 32 bytes");
  out.root = *digest;
  for (std::size_t i = 3; i < lines.size(); ++i) {
    // Lines of others are theirs, as the format has it.
    if (lines[i].starts_with("entries ") && !parse_number(lines[i].substr(8), out.entries)) return no_anchor("its entries are no number");
    if (lines[i].starts_with("time ")) {
      const auto at = parse_time(lines[i].substr(5));
      if (!at.ok()) return no_anchor("its time is none");
      out.at = *at;
    }
  }
  return {};
}

Result<void> parse_list(std::string_view text, Anchor& out) {
  std::uint64_t entries = 0;
  for (const std::string_view line : split(text, '\n')) {
    AnchoredSession session;
    if (!parse_session(line, session)) return no_anchor(fmt::format("line {} of its list is no session", out.list.size() + 1));
    entries += session.entries;
    out.list.push_back(std::move(session));
  }
  out.listed = true;
  if (out.list.size() != out.sessions || entries != out.entries || root_of(out.list) != out.root)
    return no_anchor("its list of sessions is not what its root was made of: one of the two was changed");
  return {};
}

}  // namespace

Result<ParsedAnchor> parse_anchor(std::string_view given) {
  ParsedAnchor out;
  std::string lines;  // mail brings them with other ends
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given.substr(i, 2) != "\r\n") lines += given[i];
  }
  std::string_view file = lines;
  // Text, signatures if there are any, list if there is one; an empty line between.
  std::vector<std::string_view> parts;
  while (!file.empty()) {
    const std::size_t end = file.find("\n\n");
    parts.push_back(file.substr(0, end == std::string_view::npos ? file.size() : end + 1));
    file.remove_prefix(end == std::string_view::npos ? file.size() : end + 2);
  }
  if (parts.empty() || !parts.front().ends_with('\n')) return no_anchor("it is empty, or its end is missing");
  out.text = parts.front();
  std::size_t next = 1;
  TRY_DO(parse_text(out.text, out.anchor));
  if (next < parts.size() && parts[next].starts_with("\xE2\x80\x94")) {
    auto signatures = parse_signatures(parts[next++]);
    if (!signatures.ok()) return no_anchor(signatures.error().message());
    out.signatures = std::move(signatures).value();
  }
  if (next < parts.size() || out.anchor.sessions == 0) TRY_DO(parse_list(next < parts.size() ? parts[next++] : "", out.anchor));
  if (next < parts.size()) return no_anchor("something follows its list");
  return out;
}

Result<void> check_signature(const ParsedAnchor& parsed, const NoteKey& key) {
  std::string others;
  for (const NoteSignature& signature : parsed.signatures) {
    if (signature.name == key.name() && signature.key_id == key.id()) {
      if (key.verify(parsed.text, signature.bytes)) return {};
      return no_anchor("its signature by " + key.name() + " does not hold: it was changed after it was signed");
    }
    others += (others.empty() ? "" : ", ") + signature.name + "+" + signature.key_id;
  }
  const std::string ours = key.name() + "+" + key.id();
  return others.empty() ? no_anchor("it is not signed; --unsigned takes it as it is")
                        : no_anchor("it is signed by " + others + ", not by " + ours + "; --key names another verifier key");
}

// ---- comparing ----

std::string_view name(AnchorFinding::Kind kind) {
  constexpr std::string_view kNames[] = {"gone", "shorter", "changed", "fewer", "head_moved", "damaged"};
  return kNames[static_cast<int>(kind)];
}

std::string_view name(AnchorReport::Verdict verdict) {
  constexpr std::string_view kNames[] = {"consistent", "removed", "undecided", "damaged"};
  return kNames[static_cast<int>(verdict)];
}

namespace {

class Comparison {
 public:
  Comparison(LogReader& reader, const Anchor& anchor) : reader_(reader), anchor_(anchor) {}

  Result<AnchorReport> run() {
    TRY(const auto rows, reader_.sessions(&damaged_rows_));
    for (const SessionRow& row : rows) rows_.emplace(anchored_name(row.id.str()), row);
    if (auto purged = reader_.purged_sessions(); purged.ok()) purged_ = std::move(purged).value();
    if (!anchor_.listed) return by_note(rows);
    note_damaged_ids();
    for (const AnchoredSession& session : anchor_.list) TRY_DO(compare(session));
    report_.compared = anchor_.list.size();
    report_.begun_since = rows_.size() - met_;
    const auto any = [&](auto is) { return std::any_of(report_.findings.begin(), report_.findings.end(), is); };
    if (any([](const AnchorFinding& one) { return one.kind == Kind::damaged; })) report_.verdict = AnchorReport::Verdict::damaged;
    if (any([](const AnchorFinding& one) { return one.removal(); })) report_.verdict = AnchorReport::Verdict::removed;
    return std::move(report_);
  }

 private:
  using Kind = AnchorFinding::Kind;

  void found(Kind kind, const AnchoredSession& session, std::string what) {
    report_.findings.push_back({kind, session.name, std::move(what), std::nullopt});
  }

  // A record of a purge of this very session: made when it was anchored already, and what it had at least includes what was
  // anchored. One of the same name that went before says nothing.
  const PurgedSession* purge_of(const AnchoredSession& session) const {
    const Digest hash = hash_of(session.name);
    const auto it = std::find_if(purged_.begin(), purged_.end(), [&](const PurgedSession& row) {
      return row.at >= anchor_.at && row.name == hash && row.entries >= session.entries &&
             (row.entries > session.entries || row.last == session.last.value_or(Digest()));
    });
    return it == purged_.end() ? nullptr : &*it;
  }

  // By the note alone: the store is what it was then, or holds less than it did, or nothing can be said.
  Result<AnchorReport> by_note(const std::vector<SessionRow>& rows) {
    std::uint64_t entries = 0;
    std::vector<Error> unread = damaged_rows_;  // how many entries their sessions have nobody can say
    for (const SessionRow& row : rows) {
      auto last = reader_.last_seq(row.no);
      if (!last.ok() && last.error().code() != ErrorCode::CORRUPT) return std::move(last).error();
      if (last.ok()) {
        entries += *last;
      } else {
        unread.push_back(std::move(last).error());
      }
    }
    const auto now = anchor_of(reader_);
    if (!now.ok() && now.error().code() != ErrorCode::CORRUPT) return now.error();
    if (now.ok() && now->root == anchor_.root && now->sessions == anchor_.sessions) {
      report_.compared = anchor_.sessions;
      return std::move(report_);
    }
    const bool fewer = rows.size() + damaged_rows_.size() < anchor_.sessions || (unread.empty() && entries < anchor_.entries);
    if (!now.ok() && unread.empty()) unread.push_back(now.error());
    report_.verdict = fewer             ? AnchorReport::Verdict::removed
                      : !unread.empty() ? AnchorReport::Verdict::damaged
                                        : AnchorReport::Verdict::undecided;
    if (fewer) {
      const auto purges = std::count_if(purged_.begin(), purged_.end(), [&](const PurgedSession& row) { return row.at >= anchor_.at; });
      report_.findings.push_back(
          {Kind::fewer, "",
           fmt::format("there are {} sessions with {} entries, anchored were {} with {}; {} purges are recorded since; "
                       "the note alone cannot name what is gone",
                       rows.size(), entries, anchor_.sessions, anchor_.entries, purges),
           std::nullopt});
    }
    for (const Error& error : unread) report_.findings.push_back({Kind::damaged, session_of(error), error.message(), std::nullopt});
    return std::move(report_);
  }

  static std::string session_of(const Error& error) {
    for (const auto& [name, value] : error.details()) {
      if (name == "session" && std::holds_alternative<std::string>(value)) return std::get<std::string>(value);
    }
    return "";
  }

  Result<void> compare(const AnchoredSession& session) {
    const auto it = rows_.find(hash_of(session.name));
    met_ += it != rows_.end();
    const std::size_t before = report_.findings.size();
    if (it == rows_.end() && may_be_damaged(session)) {
      found(Kind::damaged, session, fmt::format("no row that can be read has its id, and {} cannot be read", damaged_rows_.size()));
    } else if (it == rows_.end()) {
      found(Kind::gone, session, fmt::format("the session is gone, with {} entries", session.entries));
    } else {
      TRY_DO(compare_entries(session, it->second.no));
    }
    if (report_.findings.size() == before) return compare_heads(session, it->second.no);
    if (const PurgedSession* purge = purge_of(session)) {
      AnchorFinding& first = report_.findings[before];
      first = {Kind::gone, session.name, fmt::format("the session is gone, with {} entries: a purge is recorded", session.entries),
               purge->at};
      if (it != rows_.end()) first.what += "; another of its name was begun since";
      report_.findings.erase(report_.findings.begin() + static_cast<std::ptrdiff_t>(before) + 1, report_.findings.end());
    }
    return {};
  }

  // Of a row that cannot be read the id may be the damaged part: one that was not anchored may be any session that is not there.
  void note_damaged_ids() {
    if (damaged_rows_.empty()) return;
    for (const Error& error : damaged_rows_) damaged_ids_.insert(anchored_name(session_of(error)));
    std::set<Digest> others = damaged_ids_;
    for (const AnchoredSession& session : anchor_.list) others.erase(hash_of(session.name));
    strange_id_ = !others.empty();
  }
  bool may_be_damaged(const AnchoredSession& session) const { return strange_id_ || damaged_ids_.contains(hash_of(session.name)); }

  Result<void> compare_entries(const AnchoredSession& session, SessionNo no) {
    Seq last = 0;
    const auto read = reader_.scan_unproven(no, 1, limits::kSeq, Order::backward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
      last = entry.seq;
      return false;
    });
    if (!read.ok() && read.error().code() != ErrorCode::CORRUPT) return read.error();
    if (read.ok() && last < session.entries) {
      found(Kind::shorter, session, fmt::format("it has {} entries, anchored were {}", last, session.entries));
      return {};
    }
    const bool end_known = read.ok();
    TRY_DO(compare_entry(session, no, session.entries, session.last, end_known));
    for (const AnchoredHead& head : session.heads) {
      if (head.seq != session.entries) TRY_DO(compare_entry(session, no, head.seq, head.digest, end_known));
    }
    return {};
  }

  Result<void> compare_entry(const AnchoredSession& session, SessionNo no, Seq seq, const std::optional<Digest>& digest, bool end_known) {
    const auto now = digest_at(reader_, no, seq);
    if (!now.ok() && now.error().code() != ErrorCode::CORRUPT) return now.error();
    if (!now.ok()) {
      found(Kind::damaged, session, fmt::format("the entry at seq {} cannot be read", seq));
    } else if (*now != digest && !*now && !end_known) {
      // It may be the last row, whose key is not to be trusted.
      found(Kind::damaged, session, fmt::format("the entry at seq {} is not found, and the last one cannot be read", seq));
    } else if (*now != digest) {
      found(Kind::changed, session,
            fmt::format("the entry at seq {} has digest {}, anchored was {}: it, or what it stands on, was changed", seq, shown(*now),
                        shown(digest)));
    }
    return {};
  }

  Result<void> compare_heads(const AnchoredSession& session, SessionNo no) {
    const auto heads = reader_.heads(no);
    if (!heads.ok() && heads.error().code() != ErrorCode::CORRUPT) return heads.error();
    if (!heads.ok()) {
      found(Kind::damaged, session, "its heads cannot be read: " + heads.error().message());
      return {};
    }
    for (const AnchoredHead& anchored : session.heads) {
      const auto head = std::find_if(heads->begin(), heads->end(),
                                     [&](const HeadRow& row) { return anchored_name(row.name.str()) == hash_of(anchored.name); });
      if (head == heads->end()) {
        const bool main = hash_of(anchored.name) == hash_of(main_head().str());
        found(main ? Kind::gone : Kind::head_moved, session,
              fmt::format("head {} is gone{}; the entries are there", anchored.name, main ? ", which no command takes away" : ""));
        continue;
      }
      TRY(const bool behind, leads_over(no, head->seq, anchored.seq));
      if (!behind)
        found(Kind::head_moved, session,
              fmt::format("head {} stood at seq {} and is at seq {}, on another path; the entries are there", anchored.name, anchored.seq,
                          head->seq));
    }
    return {};
  }

  // Does the path to `seq` lead over `wanted`?
  Result<bool> leads_over(SessionNo no, Seq seq, Seq wanted) {
    if (wanted == 0) return true;
    while (seq > wanted) {
      const auto entry = reader_.entry(no, seq, Columns::without_body);
      if (!entry.ok() && entry.error().code() != ErrorCode::CORRUPT) return entry.error();
      if (!entry.ok() || !*entry || (*entry)->parent >= seq) return true;  // damage, which verify names
      seq = (*entry)->parent;
    }
    return seq == wanted;
  }

  LogReader& reader_;
  const Anchor& anchor_;
  AnchorReport report_;
  std::map<Digest, SessionRow> rows_;
  std::vector<Error> damaged_rows_;  // of sessions
  std::set<Digest> damaged_ids_;     // as they say
  bool strange_id_ = false;          // one of them was not anchored
  std::vector<PurgedSession> purged_;
  std::uint64_t met_ = 0;
};

}  // namespace

Result<AnchorReport> compare_with_anchor(Service& service, const Anchor& anchor) {
  AnchorReport out;
  auto compared = service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(out, Comparison(reader, anchor).run());
    return {};
  });
  if (!compared.ok() && compared.error().code() != ErrorCode::CORRUPT) return std::move(compared).error();
  if (!compared.ok()) {
    out.verdict = AnchorReport::Verdict::damaged;
    out.findings = {{AnchorFinding::Kind::damaged, "", compared.error().message(), std::nullopt}};
  }
  return out;
}

}  // namespace weir
