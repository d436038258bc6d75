#include "store/words.h"

#include <sqlite3.h>

#include <algorithm>

namespace weir {
namespace {

constexpr int kMostWordBytes = 32768;  // FTS5 cuts longer ones, in texts and in queries

using Visit = FunctionRef<bool(std::string_view, std::size_t, std::size_t)>;

int visit_word(void* visit, int, const char* word, int bytes, int first, int last) {
  const bool go_on = (*static_cast<Visit*>(visit))(std::string_view(word, static_cast<std::size_t>(std::min(bytes, kMostWordBytes))),
                                                   static_cast<std::size_t>(first), static_cast<std::size_t>(last));
  return go_on ? SQLITE_OK : SQLITE_DONE;
}

Error failed(int code) { return Error(ErrorCode::STORAGE, std::string("SQLite: no tokenizer: ") + sqlite3_errstr(code)); }

}  // namespace

struct WordBreaker::Tokenizer {
  sqlite3* db = nullptr;
  fts5_tokenizer methods{};
  Fts5Tokenizer* instance = nullptr;

  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  ~Tokenizer() {
    if (instance != nullptr) methods.xDelete(instance);
    sqlite3_close_v2(db);
  }

  Result<void> open() {
    int code = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    if (code != SQLITE_OK) return failed(code);
    // The way FTS5 documents to its own interface: a pointer passed through a function of SQL.
    fts5_api* api = nullptr;
    sqlite3_stmt* statement = nullptr;
    code = sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &statement, nullptr);
    if (code == SQLITE_OK) {
      sqlite3_bind_pointer(statement, 1, static_cast<void*>(&api), "fts5_api_ptr", nullptr);
      sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
    if (api == nullptr) return failed(code);
    void* context = nullptr;
    code = api->xFindTokenizer(api, "unicode61", &context, &methods);
    if (code != SQLITE_OK) return failed(code);
    const char* arguments[] = {"remove_diacritics", "2"};
    code = methods.xCreate(context, arguments, 2, &instance);
    return code == SQLITE_OK ? Result<void>() : failed(code);
  }
};

WordBreaker::WordBreaker(std::unique_ptr<Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}
WordBreaker::~WordBreaker() = default;
WordBreaker::WordBreaker(WordBreaker&&) noexcept = default;
WordBreaker& WordBreaker::operator=(WordBreaker&&) noexcept = default;

Result<WordBreaker> WordBreaker::make() {
  auto tokenizer = std::make_unique<Tokenizer>();
  TRY_DO(tokenizer->open());
  return WordBreaker(std::move(tokenizer));
}

Result<void> WordBreaker::each(std::string_view text, Visit visit) {
  const int code = tokenizer_->methods.xTokenize(tokenizer_->instance, &visit, FTS5_TOKENIZE_DOCUMENT, text.data(),
                                                 static_cast<int>(text.size()), visit_word);
  return code == SQLITE_OK || code == SQLITE_DONE ? Result<void>() : failed(code);
}

}  // namespace weir
