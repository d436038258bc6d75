// Notes of answers on their way.
#include "store/seal.h"
#include "store/sqlite_keys.h"
#include "store/sqlite_rows.h"

namespace weir {
namespace {

std::int64_t seal_of(const UndeliveredRow& row) {
  return Seal("undelivered").number(row.session.value).number(row.path).number(row.seq).number(row.times).value();
}

}  // namespace

// The table is small: answers in flight, and those that were lost for good.
Result<std::vector<UndeliveredRow>> SqliteRows::all_undelivered(std::vector<Error>* damaged) {
  TRY(sqlite::Statement* const statement, prepared(kUndelivered));
  sqlite::Use use(*statement);
  std::vector<UndeliveredRow> out;
  for (;;) {
    TRY(const bool there, use->step());
    if (!there) return out;
    const UndeliveredRow row{SessionNo{use->natural(0)}, use->natural(1), use->natural(2), use->natural(3)};
    if (row.times > 0 && use->integer(4) == seal_of(row)) {
      out.push_back(row);
      continue;
    }
    Error error = this->damaged(row.session, "undelivered", "seq " + std::to_string(row.seq));
    if (damaged == nullptr) return error;
    damaged->push_back(std::move(error));
  }
}

Result<void> SqliteRows::change_undelivered(SessionNo session, std::uint64_t path, Seq seq, int by) {
  TRY(const auto rows, all_undelivered(nullptr));
  UndeliveredRow note{session, path, seq, 0};
  for (const UndeliveredRow& row : rows) {
    if (row.session == session && row.path == path && row.seq == seq) note.times = row.times;
  }
  if (note.times == 0 && by < 0) return {};
  wrote_ = true;
  note.times += static_cast<std::uint64_t>(by);
  TRY(sqlite::Statement* const statement, prepared(note.times == 0 ? kDropUndelivered : kSetUndelivered));
  sqlite::Use use(*statement);
  use->bind(1, session.value).bind(2, path).bind(3, seq);
  if (note.times > 0) use->bind(4, note.times).bind(5, seal_of(note));
  return use->run();
}

Result<void> SqliteRows::add_undelivered(SessionNo session, std::uint64_t path, Seq seq) {
  return change_undelivered(session, path, seq, 1);
}

Result<void> SqliteRows::drop_undelivered(SessionNo session, std::uint64_t path, Seq seq) {
  return change_undelivered(session, path, seq, -1);
}

}  // namespace weir
