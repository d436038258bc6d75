#include "session/address.h"

#include <algorithm>
#include <charconv>

#include "base/hex.h"
#include "base/secrets.h"
#include "session/path.h"

namespace weir {
namespace {

constexpr std::size_t kPointerLength = 17;
constexpr std::size_t kLeastPrefix = 4;
constexpr std::size_t kMostShown = 8;
constexpr std::size_t kMostName = 1024;  // an id and some ~3: each ~ is one more level of recursion

Error not_found(const SessionRow& session, std::string_view name) {
  return Error(ErrorCode::NOT_FOUND, "session '" + session.id.str() + "' has no entry '" + masked_excerpt(name, 80) + "'")
      .with("session", session.id.str())
      .with("entry", std::string(name.substr(0, 300)));
}

Result<Entry> ambiguous(LogReader& reader, const SessionRow& session, std::string_view name, const std::vector<Seq>& seqs) {
  std::string ids;
  for (std::size_t i = 0; i < seqs.size() && i < kMostShown; ++i) {
    TRY(const EntryId id, id_at(reader, session.no, seqs[i]));
    ids += (ids.empty() ? "" : ", ") + id.str();
  }
  if (seqs.size() > kMostShown) ids += ", ...";
  return Error(ErrorCode::AMBIGUOUS, "'" + std::string(name) + "' could be " + ids)
      .with("entry", std::string(name))
      .with("candidates", ids);
}

Result<std::optional<Entry>> by_pointer(LogReader& reader, const SessionRow& session, std::string_view name, Columns columns) {
  unsigned char bytes[8];
  if (name.size() != kPointerLength || name[0] != 'e' || !decode_hex(name.substr(1), bytes)) return std::optional<Entry>();
  std::uint64_t prefix = 0;
  for (const unsigned char byte : bytes) prefix = prefix << 8 | byte;
  TRY(const auto seqs, reader.with_digest(session.no, prefix));
  if (seqs.empty()) return std::optional<Entry>();
  // Entries with one digest have one path, one type and one body: any of them is the one that is meant.
  return reader.entry(session.no, seqs[0], columns);
}

// It stands at the root until something is appended. A session with entries has one: nothing takes it away.
Result<void> miss_main(LogReader& reader, const SessionRow& session) {
  TRY(const Seq last, reader.last_seq(session.no));
  if (last == 0) return {};
  return Error(ErrorCode::CORRUPT, "session '" + session.id.str() + "' has entries and no head 'main': run 'weir verify'")
      .with("session", session.id.str())
      .with("object", "heads");
}

}  // namespace

const HeadName& main_head() {
  static const HeadName name = HeadName::trusted("main");
  return name;
}

Result<Entry> find_entry(LogReader& reader, const SessionRow& session, std::string_view name, Naming naming, Columns columns) {
  if (const auto id = EntryId::parse(name); id.ok()) {
    TRY(auto found, reader.find(session.no, *id, columns));
    if (found) return std::move(*found);
    TRY(found, by_pointer(reader, session, name, columns));
    if (found) return std::move(*found);
  }
  if (name.size() > kMostName) return not_found(session, name);
  if (naming == Naming::exact) {
    // An id that looks derived is believed not to be there when it is asked for alone; a prefix never is.
    TRY_DO(reader.with_id_prefix(session.no, name, 1));
    return not_found(session, name);
  }

  if (const auto head_name = HeadName::parse(name); head_name.ok()) {
    const auto stands = need_head(reader, session, *head_name);
    if (!stands.ok() && stands.error().code() != ErrorCode::NOT_FOUND) return stands.error();
    if (stands.ok() && *stands != 0) {
      TRY(auto found, reader.entry(session.no, *stands, columns));
      if (!found) return missing_entry(reader, session.no, *stands);
      return std::move(*found);
    }
  }
  if (const std::size_t tilde = name.rfind('~'); tilde != std::string_view::npos && tilde > 0) {
    std::uint64_t up = 0;
    const std::string_view digits = name.substr(tilde + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), up);
    if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty()) {
      TRY(Entry entry, find_entry(reader, session, name.substr(0, tilde), naming, columns));
      if (up >= entry.depth) {
        return Error(ErrorCode::NOT_FOUND,
                     "'" + entry.id.str() + "' has " + std::to_string(entry.depth - 1) + " ancestors, not " + std::to_string(up))
            .with("entry", std::string(name));
      }
      for (; up > 0; --up) {
        TRY(auto parent, reader.entry(session.no, entry.parent, columns));
        if (!parent) return missing_entry(reader, session.no, entry.parent);
        entry = std::move(*parent);
      }
      return entry;
    }
  }
  if (name.size() >= kLeastPrefix) {
    TRY(const auto seqs, reader.with_id_prefix(session.no, name, kMostShown + 1));
    if (seqs.size() > 1) return ambiguous(reader, session, name, seqs);
    if (seqs.size() == 1) {
      TRY(auto found, reader.entry(session.no, seqs[0], columns));
      if (found) return std::move(*found);
    }
  }
  return not_found(session, name);
}

Result<Entry> find_place(LogReader& reader, const SessionRow& session, std::string_view name, Naming naming) {
  if (name.empty()) return Entry{};
  if (naming == Naming::people && name == "root") {
    TRY(auto found, reader.find(session.no, EntryId::trusted("root"), Columns::without_body));
    return found ? std::move(*found) : Entry{};
  }
  return find_entry(reader, session, name, naming);
}

Result<SessionRow> need_session(LogReader& reader, const SessionId& id) {
  TRY(auto row, reader.session(id));
  if (!row) return Error(ErrorCode::NOT_FOUND, "no session '" + id.str() + "'").with("session", id.str());
  return std::move(*row);
}

Result<Seq> need_head(LogReader& reader, const SessionRow& session, const HeadName& name) {
  TRY(const auto seq, reader.head(session.no, name));
  if (seq) return *seq;
  if (name == main_head()) {
    TRY_DO(miss_main(reader, session));
    return Seq{0};
  }
  return Error(ErrorCode::NOT_FOUND, "session '" + session.id.str() + "' has no head '" + name.str() + "'")
      .with("session", session.id.str())
      .with("head", name.str());
}

Result<std::vector<HeadRow>> need_heads(LogReader& reader, const SessionRow& session) {
  TRY(auto heads, reader.heads(session.no));
  const auto is_main = [](const HeadRow& head) { return head.name == main_head(); };
  if (std::none_of(heads.begin(), heads.end(), is_main)) TRY_DO(miss_main(reader, session));
  return heads;
}

Result<EntryId> id_at(LogReader& reader, SessionNo session, Seq seq) {
  if (seq == 0) return EntryId();
  TRY(const auto entry, reader.entry(session, seq, Columns::without_body));
  if (!entry) return missing_entry(reader, session, seq);
  return entry->id;
}

}  // namespace weir
