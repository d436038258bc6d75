// Entries by id and by digest, over indexes that have no seal: what one leads to is held against its row, and that it leads to
// nothing is proven by its items on either side.
#include <algorithm>

#include "store/sqlite_keys.h"
#include "store/sqlite_rows.h"

namespace weir {
namespace {

constexpr int kMostProofs = 64;  // of ids that are not there, in one transaction that writes: each costs as much as six lookups
constexpr std::string_view kIdIndex = "index entry_id", kPointerIndex = "index entry_pointer";

bool looks_derived(std::string_view id) {
  return id.size() >= 9 && id[0] == 'e' && id.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

}  // namespace

Error SqliteRows::damaged_index(std::string_view index, std::uint64_t key) {
  return damaged(session_of(key), index, "seq " + std::to_string(seq_of(key))).with("seq", static_cast<std::int64_t>(seq_of(key)));
}

// `item`: of a WEIR_NEIGHBOUR.
Result<void> SqliteRows::prove_item(sqlite::Statement& item, std::string_view index) {
  if (item.integer(3) == 1) return {};
  const std::uint64_t key = item.natural(0);
  // Its row may be the damaged one of the two.
  TRY(sqlite::Statement* const statement, prepared(kEntryNoBody));
  sqlite::Use use(*statement);
  TRY(const bool there, use->bind(1, key).step());
  Row row;
  if (there) TRY_DO(take_row(*statement, session_of(key), Columns::without_body, row));
  return damaged_index(index, key);
}

Result<std::optional<SqliteRows::IdPlace>> SqliteRows::proven_neighbour(Sql sql, SessionNo session, std::string_view id) {
  TRY(sqlite::Statement* const statement, prepared(sql));
  sqlite::Use use(*statement);
  TRY(const bool there, use->bind(1, session.value).bind(2, id).step());
  if (!there) return std::optional<IdPlace>();
  TRY_DO(prove_item(*statement, kIdIndex));
  return std::optional(IdPlace{SessionNo{use->natural(1)}, std::string(use->text(2))});
}

Result<void> SqliteRows::prove_absent(SessionNo session, std::string_view id) {
  // An import asks for the id of every line. Those of a new session lie in the gap that the first one was looked for in; of one
  // that grows by many lines at once, the first are proven.
  if (remembering_ && gap_) {
    const IdPlace place{session, std::string(id)};
    if ((!gap_->low || *gap_->low < place) && (!gap_->high || place < *gap_->high)) return {};
  }
  if (remembering_ && ++proofs_ > kMostProofs) return {};
  Gap gap;
  TRY(gap.low, proven_neighbour(kIdBelow, session, id));
  TRY(gap.high, proven_neighbour(kIdAbove, session, id));
  gap_ = std::move(gap);
  return {};
}

Result<void> SqliteRows::prove_no_more_pointers(SessionNo session, std::uint64_t prefix64) {
  for (const Sql sql : {kPointerBelow, kPointerAbove}) {
    TRY(sqlite::Statement* const statement, prepared(sql));
    sqlite::Use use(*statement);
    TRY(const bool there, use->bind(1, session.value).bind(2, prefix64).step());
    if (there) TRY_DO(prove_item(*statement, kPointerIndex));
  }
  return {};
}

Result<std::optional<Entry>> SqliteRows::find(SessionNo session, const EntryId& id, Columns columns) {
  TRY(sqlite::Statement* const statement, prepared(columns == Columns::all ? kFind : kFindNoBody));
  sqlite::Use use(*statement);
  use->bind(1, session.value).bind(2, std::string_view(id.str()));
  TRY(auto found, one_entry(*statement, session, columns));
  if (found && found->id != id) return damaged_index(kIdIndex, key_of(session, found->seq));
  // Every append of an entry without an id asks for the one that its digest gives; that one is looked for by digest too.
  if (!found && !looks_derived(id.str())) TRY_DO(prove_absent(session, id.str()));
  return found;
}

Result<std::vector<Seq>> SqliteRows::with_digest(SessionNo session, std::uint64_t prefix64) {
  std::vector<Seq> out;
  {
    TRY(sqlite::Statement* const statement, prepared(kWithDigest));
    sqlite::Use use(*statement);
    use->bind(1, session.value).bind(2, prefix64);
    for (;;) {
      TRY(const bool row, use->step());
      if (!row) break;
      out.push_back(seq_of(use->natural(0)));
    }
  }
  // An index has no seal; the row it leads to has.
  for (const Seq seq : out) {
    TRY(const Digest digest, digest_at(session, seq));
    if (digest.prefix64() != prefix64) return damaged_index(kPointerIndex, key_of(session, seq));
  }
  TRY_DO(prove_no_more_pointers(session, prefix64));
  // Ids made from the digest show its beginning themselves: those that share the first eight digits, few at most.
  Digest wanted;
  for (int i = 0; i < 8; ++i) wanted.data()[i] = static_cast<unsigned char>(prefix64 >> (56 - 8 * i));
  TRY(const auto candidates, with_id_prefix(session, entry_pointer(wanted, 8), limits::kSeq));
  for (const Seq seq : candidates) {
    TRY(const auto found, entry(session, seq, Columns::without_body));
    if (found && found->digest.prefix64() == prefix64 && derived_id(found->id.str(), found->digest)) out.push_back(seq);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<Seq>> SqliteRows::with_id_prefix(SessionNo session, std::string_view prefix, std::size_t most) {
  TRY(sqlite::Statement* const statement, prepared(kWithIdPrefix));
  sqlite::Use use(*statement);
  use->bind(1, session.value).bind(2, prefix).bind(3, static_cast<std::uint64_t>(most));
  std::vector<Seq> out;
  std::string last(prefix);
  for (;;) {
    TRY(const bool row, use->step());
    if (!row || !use->text(1).starts_with(prefix)) break;
    const Seq seq = seq_of(use->natural(0));
    TRY(const auto there, entry(session, seq, Columns::without_body));
    if (!there || there->id.str() != use->text(1)) return damaged_index(kIdIndex, key_of(session, seq));
    out.push_back(seq);
    last = there->id.str();
  }
  TRY_DO(proven_neighbour(kIdBelow, session, prefix));
  if (out.size() < most) TRY_DO(proven_neighbour(kIdAbove, session, last));
  return out;
}

}  // namespace weir
