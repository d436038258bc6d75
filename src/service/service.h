// What every use case needs: the store, the masker, the settings, the folds. One function per use case, in the headers
// beside this one; a face decodes, calls one of them, and renders its answer.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/limits.h"
#include "base/secrets.h"
#include "compaction/run_fold.h"
#include "ctree/nodes_fold.h"
#include "readcache/trust.h"
#include "research/fold.h"
#include "service/compile_memos.h"
#include "service/counters.h"
#include "service/pending_reads.h"
#include "session/fold.h"
#include "session/info_fold.h"
#include "session/stats_fold.h"
#include "store/store.h"

namespace weir {

class Receipts;

struct ServiceSettings {
  std::string store_directory;  // empty: a store in memory
  Durability durability = Durability::full;
  int busy_timeout_ms = 10000;
  Masker::Options mask;
  std::uint64_t limit_store_bytes = 0;                // 0: none
  std::uint64_t limit_session_entries = 0;            // 0: none
  std::uint64_t version_budget_bytes = limits::kGiB;  // of versions of files that nobody needs
  TrustFold trust;
  compaction::Thresholds thresholds;  // of runs that declare none
  ctree::NodesFold::Options nodes;
  std::optional<Error> nodes_error;  // why these cannot be had, for whoever asks for nodes
};

class Service {
 public:
  // Opening for writing a store whose last user saw a sync fail verifies it first.
  static Result<std::unique_ptr<Service>> open(const ServiceSettings& settings, Store::Access access, Doors doors);
  ~Service();

  Store& store() { return *store_; }
  Log& log() { return store_->log(); }
  const Masker& masker() const { return masker_; }
  const ServiceSettings& settings() const { return settings_; }
  FoldEngine<StatsFold>& stats_fold() { return stats_fold_; }
  FoldEngine<TrustFold>& trust_fold() { return trust_fold_; }
  FoldEngine<InfoFold>& info_fold() { return info_fold_; }
  FoldEngine<ctree::NodesFold>& nodes_fold() { return nodes_fold_; }
  FoldEngine<compaction::RunFold>& run_fold() { return run_fold_; }
  FoldEngine<research::Fold>& research_fold() { return research_fold_; }
  std::shared_ptr<const ctree::NodesFold> nodes_fold_of_store() const { return store_nodes_; }
  CompileMemos& compile_memos() { return compile_memos_; }
  PendingReads& pending_reads() { return pending_reads_; }
  Receipts& receipts() { return *receipts_; }
  Counters& counters() { return counters_; }
  // Is called after every commit of this process, in the thread that wrote; nothing: nobody is.
  void on_commit(std::function<void()> committed);
  // What was folded is forgotten: a session is gone.
  void forget_folds();
  TimeMs now() { return store_->doors().clock.now(); }

  // All writing goes through here: quotas and disk before, durable blobs before the commit, the mark after a failed sync.
  Result<void> write(FunctionRef<Result<void>(LogTxn&)> body, bool dry_run = false, Log::Grouping grouping = Log::Grouping::shared);
  // The same for what makes the store smaller: a full disk or a quota must not stand in its way.
  Result<void> write_less(FunctionRef<Result<void>(LogTxn&)> body, bool dry_run);

  // Names are shown everywhere and never masked: INVALID_FIELD for one that holds a secret. `path` is where it stood.
  Result<void> check_name(std::string_view path, std::string_view name) const;

  // For who has put objects beside the entries, and must take them back if it comes to nothing: the last question before the commit.
  // LIMIT_EXCEEDED if the session would have more entries than it may, or the store more bytes; CANCELLED if nobody waits any more.
  Result<void> check_commit(LogTxn& txn, SessionNo session);

 private:
  Service(ServiceSettings settings, std::unique_ptr<Store> store, Masker masker);
  Result<void> recover();
  Result<void> check_room();
  Result<void> check_store_bytes(std::uint64_t bytes) const;
  Result<void> write_once(FunctionRef<Result<void>(LogTxn&)> body, Log::Grouping grouping);

  ServiceSettings settings_;
  std::unique_ptr<Store> store_;
  Masker masker_;
  FoldEngine<StatsFold> stats_fold_;
  FoldEngine<TrustFold> trust_fold_;
  FoldEngine<InfoFold> info_fold_;
  const std::shared_ptr<const ctree::NodesFold> store_nodes_;
  FoldEngine<ctree::NodesFold> nodes_fold_;
  FoldEngine<compaction::RunFold> run_fold_;
  FoldEngine<research::Fold> research_fold_;
  CompileMemos compile_memos_;
  PendingReads pending_reads_;
  std::unique_ptr<Receipts> receipts_;
  Counters counters_;
  std::mutex committed_mutex_;
  std::function<void()> committed_;
};

// Which state is asked about: a session, and a head or an entry. `at` wins over `head`.
struct Address {
  SessionId session;
  HeadName head;
  std::string at;       // empty: the head
  bool people = false;  // may `at` be a prefix or ID~3?
};
struct Located {
  SessionRow session;
  Seq seq = 0;
};
Result<Located> locate(LogReader& reader, const Address& address);

}  // namespace weir
