#include "store/history_index.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "store/entry_text.h"
#include "store/words.h"

namespace weir {
namespace {

constexpr std::int64_t kHistoryApplicationId = 0x57454948;  // "WEIH"
constexpr std::int64_t kHistoryVersion = 2000 + kEntryTextVersion;

// `detail=full` keeps the places of words: without them the file is 0.4 times as large and made in 0.7 of the time, but
// a rare phrase of common words would have to be looked for in every entry that has them. There is one column, and the
// type is a word of it that no text has, so that a rare type among common words is found as fast as a rare word.
std::string schema() {
  return fmt::format(
      "CREATE VIRTUAL TABLE words USING fts5(text, content='', columnsize=0, detail=full, tokenize='{}');"
      "INSERT INTO words(words, rank) VALUES('hashsize', 16777216);"
      "CREATE TABLE jump(seq INTEGER PRIMARY KEY, parent INTEGER NOT NULL);"
      "CREATE TABLE mark(session TEXT NOT NULL, created INTEGER NOT NULL, seq INTEGER NOT NULL, digest BLOB NOT NULL);"
      "PRAGMA application_id={}; PRAGMA user_version={}",
      kTokenizer, kHistoryApplicationId, kHistoryVersion);
}

// Characters for private use are letters to the tokenizer, so this is one word.
std::string type_word(std::string_view type) {
  std::string out = "\uE000";
  for (const char c : type) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += letter ? std::string(1, c) : "\uE001";
  }
  return out;
}

std::string with_types(const std::string& expression, const std::vector<std::string>& types) {
  if (types.empty()) return expression;
  std::string any;
  for (const std::string& type : types) any += (any.empty() ? "\"" : " OR \"") + type_word(type) + "\"";
  return expression + " AND (" + any + ")";
}

// FTS5 says SQLITE_ERROR (1) of a table whose parts do not fit together: damage, too.
Error as_damage(const Error& error) {
  const bool plain = std::any_of(error.details().begin(), error.details().end(), [](const auto& detail) {
    return detail.first == "sqlite" && detail.second == DetailValue(std::int64_t{1});
  });
  return plain ? Error(ErrorCode::CORRUPT, error.message()) : error;
}

}  // namespace

template <typename T>
Result<T> HistoryIndex::mine(Result<T> result) {
  if (result.ok()) return result;
  failed_ = true;
  return as_damage(result.error());
}

Result<std::unique_ptr<HistoryIndex>> HistoryIndex::open(const std::string& path, const SessionRow& session, Access access,
                                                         int busy_timeout_ms) {
  std::unique_ptr<HistoryIndex> index(new HistoryIndex);
  using Mode = sqlite::Connection::Mode;
  TRY(index->connection_, sqlite::Connection::open(path, access == Access::write ? Mode::create : Mode::read_only, busy_timeout_ms,
                                                   sqlite::Connection::Pages::sealed));
  TRY_DO(index->mine(index->prepare(session, access)));
  return index;
}

Result<void> HistoryIndex::prepare(const SessionRow& session, Access access) {
  sqlite::Connection& db = *connection_;
  TRY_DO(db.execute("PRAGMA cache_size=-32768; PRAGMA synchronous=NORMAL"));
  TRY(const std::int64_t tables, db.integer("SELECT count(*) FROM sqlite_schema"));
  if (tables == 0 && access == Access::read) return Error(ErrorCode::NOT_FOUND, "the index is empty");
  if (tables == 0) {
    TRY_DO(db.execute("BEGIN IMMEDIATE"));
    TRY(const std::int64_t made, db.integer("SELECT count(*) FROM sqlite_schema"));
    if (made == 0) {  // else another process was quicker
      TRY_DO(db.execute(schema().c_str()));
      TRY(sqlite::Statement row, db.prepare("INSERT INTO mark VALUES(?1, ?2, 0, x'')"));
      TRY_DO(row.bind(1, session.id.str()).bind(2, session.created.ms).run());
    }
    TRY_DO(db.execute("COMMIT"));
  }
  TRY_DO(check(session));
  if (access == Access::read) return {};
  TRY(add_words_, db.prepare("INSERT INTO words(rowid, text) VALUES(?1, ?2)"));
  TRY(add_jump_, db.prepare("INSERT OR REPLACE INTO jump VALUES(?1, ?2)"));
  return {};
}

Result<void> HistoryIndex::check(const SessionRow& session) {
  const Error other(ErrorCode::CORRUPT, "no index of this session, or made in another way");
  sqlite::Connection& db = *connection_;
  TRY(const std::int64_t application, db.integer("PRAGMA application_id"));
  TRY(const std::int64_t version, db.integer("PRAGMA user_version"));
  TRY(const std::int64_t whole,
      db.integer(
          "SELECT count(*) = 6 FROM sqlite_schema WHERE name IN ('words', 'words_data', 'words_idx', 'words_config', 'jump', 'mark')"));
  if (application != kHistoryApplicationId || version != kHistoryVersion || whole == 0) return other;
  TRY(sqlite::Statement row, db.prepare("SELECT session, created FROM mark"));
  TRY(const bool there, row.step());
  return there && row.text(0) == session.id.str() && row.integer(1) == session.created.ms ? Result<void>() : other;
}

Result<HistoryIndex::Mark> HistoryIndex::mark() {
  const auto read = [&]() -> Result<Mark> {
    TRY(sqlite::Statement row, connection_->prepare("SELECT seq, digest FROM mark"));
    TRY(const bool there, row.step());
    if (!there) return Error(ErrorCode::CORRUPT, "the index has no mark");
    Mark out{row.natural(0), {}};
    if (out.seq != 0) {
      TRY(out.digest, Digest::from_bytes(row.text(1)));
    }
    return out;
  };
  return mine(read());
}

Result<void> HistoryIndex::Batch::add(const Entry& entry, std::span<const std::string_view> strings) {
  WEIR_CHECK(entry.seq == mark_.seq + 1);
  text_.clear();
  for (const std::string_view one : strings) text_.append(one).append(1, '\n');
  text_.append(type_word(entry.type));
  TRY_DO(index_.mine(index_.add_words_.bind(1, entry.seq).bind(2, std::string_view(text_)).run()));
  if (entry.parent + 1 != entry.seq) TRY_DO(index_.mine(index_.add_jump_.bind(1, entry.seq).bind(2, entry.parent).run()));
  mark_ = {entry.seq, entry.digest};
  return {};
}

Result<void> HistoryIndex::Batch::clear() {
  TRY_DO(index_.mine(index_.connection_->execute("INSERT INTO words(words) VALUES('delete-all'); DELETE FROM jump")));
  mark_ = {};
  return {};
}

Result<void> HistoryIndex::extend(FunctionRef<Result<void>(Batch&)> body) {
  TRY_DO(mine(connection_->execute("BEGIN IMMEDIATE")));
  const auto work = [&]() -> Result<void> {
    TRY(const Mark before, mark());
    Batch batch(*this, before);
    TRY_DO(body(batch));
    const auto finish = [&]() -> Result<void> {
      TRY(sqlite::Statement row, connection_->prepare("UPDATE mark SET seq = ?1, digest = ?2"));
      const std::string_view bytes = batch.mark_.digest.bytes();
      TRY_DO(row.bind(1, batch.mark_.seq).bind_blob(2, batch.mark_.seq == 0 ? std::string_view() : bytes).run());
      return connection_->execute("COMMIT");
    };
    return mine(finish());
  };
  auto done = work();
  if (!done.ok() && connection_->in_transaction()) {
    if (auto undone = connection_->execute("ROLLBACK"); !undone.ok()) failed_ = true;
  }
  return done;
}

Result<void> HistoryIndex::candidates(const std::string& expression, const std::vector<std::string>& types, Seq first, Seq last,
                                      FunctionRef<Result<bool>(Seq)> visit) {
  const std::string whole = with_types(expression, types);
  TRY(sqlite::Statement rows,
      mine(connection_->prepare("SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC")));
  rows.bind(1, std::string_view(whole)).bind(2, first).bind(3, last);
  for (;;) {
    TRY(const bool row, mine(rows.step()));
    if (!row) return {};
    TRY(const bool go_on, visit(rows.natural(0)));
    if (!go_on) return {};
  }
}

Result<void> HistoryIndex::jumps(Seq last, FunctionRef<bool(Seq, Seq)> visit) {
  TRY(sqlite::Statement rows, mine(connection_->prepare("SELECT seq, parent FROM jump WHERE seq <= ?1 ORDER BY seq DESC")));
  rows.bind(1, last);
  for (;;) {
    TRY(const bool row, mine(rows.step()));
    if (!row || !visit(rows.natural(0), rows.natural(1))) return {};
  }
}

}  // namespace weir
