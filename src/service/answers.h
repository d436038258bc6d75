// Answers kept for requests that carry a key of their client's, so that one sent twice is done once. They are kept for a day in
// a small database of their own beside the log; of a store in memory, in memory. Keys are kept as digests: a client may use
// anything as one. From any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/sha256.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace weir {

inline constexpr std::string_view kAnswersFile = "answers.db";
inline constexpr std::int64_t kAnswersKeptMs = std::int64_t{24} * 60 * 60 * 1000;
inline constexpr std::size_t kAnswersKeptBytes = 256 << 20;  // of all; the oldest go first

struct KeptAnswer {
  int status = 0;
  std::string type, body;
  bool operator==(const KeptAnswer&) const = default;
};

class Answers {
 public:
  // `in_memory`: nothing is written beside the log.
  static Result<std::unique_ptr<Answers>> open(Store& store, bool in_memory);
  ~Answers();

  // A key's request under way; over when this goes.
  class Turn {
   public:
    Turn(Answers& answers, Digest key, Digest request, std::int64_t purges)
        : answers_(&answers), key_(key), request_(request), purges_(purges) {}
    Turn(Turn&& other) noexcept
        : answers_(std::exchange(other.answers_, nullptr)), key_(other.key_), request_(other.request_), purges_(other.purges_) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn();

    // The answer is durable when this returns. One of the same key that another process was quicker to keep stays; none is kept if
    // something was purged since the request began, because the answer may hold it. STORAGE where the disk is full.
    Result<void> keep(std::string_view session, const KeptAnswer& answer) const;

   private:
    friend class Answers;
    Answers* answers_;
    const Digest key_, request_;
    const std::int64_t purges_;  // when it began
  };

  struct Begun {
    std::optional<KeptAnswer> kept;  // the answer; or
    std::optional<Turn> turn;        // it is the caller's to find
  };
  // IDEMPOTENCY_MISMATCH: the key came with another request. BUSY: the same one is under way.
  Result<Begun> begin(std::string_view key, const Digest& request);

  // Overwrites what is kept of a session, or all, and what was.
  Result<void> forget(const std::optional<SessionId>& session);

 private:
  struct Database;
  Answers(Store& store, std::unique_ptr<Database> database);
  Result<void> keep(const Turn& turn, std::string_view session, const KeptAnswer& answer);
  void end(const Turn& turn);

  Store& store_;
  std::mutex mutex_;
  std::unique_ptr<Database> database_;
  std::map<Digest, Digest> under_way_;  // key to request
};

// The same for whoever has no Answers: if there is a file of them.
Result<void> forget_answers(Store& store, const std::optional<SessionId>& session);

}  // namespace weir
