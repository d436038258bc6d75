#include "service/service.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "service/place.h"
#include "service/receipts.h"
#include "service/still_wanted.h"
#include "session/address.h"
#include "store/verify.h"

namespace weir {
namespace {

Result<void> check_wanted() {
  const StillWanted* const wanted = StillWanted::of_this_thread();
  if (wanted == nullptr || wanted->ask()) return {};
  return Error(ErrorCode::CANCELLED, "nobody waits for this any more: nothing was stored");
}

}  // namespace

Service::Service(ServiceSettings settings, std::unique_ptr<Store> store, Masker masker)
    : settings_(std::move(settings)),
      store_(std::move(store)),
      masker_(std::move(masker)),
      trust_fold_(settings_.trust),
      store_nodes_(std::make_shared<const ctree::NodesFold>(settings_.nodes)),
      nodes_fold_(*store_nodes_),
      receipts_(std::make_unique<Receipts>(store_->log())) {}

Result<std::unique_ptr<Service>> Service::open(const ServiceSettings& settings, Store::Access access, Doors doors) {
  TRY(Masker masker, Masker::make(settings.mask));
  mask_messages_also(settings.mask.extra);
  std::unique_ptr<Store> store;
  if (settings.store_directory.empty()) {
    store = Store::in_memory(doors);
  } else {
    if (access == Store::Access::write) TRY_DO(take_place(doors.files, settings.store_directory));
    TRY(store, Store::open(settings.store_directory, access, {settings.durability, settings.busy_timeout_ms}, doors));
  }
  std::unique_ptr<Service> service(new Service(settings, std::move(store), std::move(masker)));
  if (service->store_->sqlite() != nullptr) {
    service->nodes_fold_.read_parts_from(service->log());
    service->run_fold_.read_parts_from(service->log());
  }
  if (access == Store::Access::write && service->store_->suspect()) TRY_DO(service->recover());
  return service;
}

// Somebody saw a sync fail here. What the kernel still holds may differ from the disk: write it all out again, read it
// all back, and only then acknowledge anything.
Result<void> Service::recover() {
  TRY_DO(store_->sqlite()->compact(false));
  TRY(const VerifyReport report, verify(*store_, {}, [](const VerifyProgress&) { return true; }));
  if (!report.findings.empty()) {
    const Finding& first = report.findings.front();
    return Error(ErrorCode::CORRUPT, fmt::format("a sync failed earlier and the store is damaged: {} ({} places; 'weir verify' lists them)",
                                                 first.what, report.findings.size()))
        .with("object", first.object)
        .with("session", first.session)
        .with("entry", first.entry);
  }
  return store_->clear_suspect_mark();
}

// A sync may also have failed where nothing was to be acknowledged, such as in a checkpoint.
Service::~Service() {
  receipts_->close();
  if (store_->sqlite() != nullptr && store_->sqlite()->poisoned()) store_->leave_suspect_mark();
}

void Service::on_commit(std::function<void()> committed) {
  const std::lock_guard lock(committed_mutex_);
  committed_ = std::move(committed);
}

Result<void> Service::write(FunctionRef<Result<void>(LogTxn&)> body, bool dry_run, Log::Grouping grouping) {
  TRY_DO(check_room());
  if (dry_run) return log().try_write(body);
  auto written = write_once(body, grouping);
  if (!written.ok() && written.error().code() == ErrorCode::CONFLICT) counters_.add(Metric::conflicts);
  if (!written.ok() && store_->sqlite() != nullptr && store_->sqlite()->poisoned()) store_->leave_suspect_mark();
  return written;
}

Result<void> Service::write_less(FunctionRef<Result<void>(LogTxn&)> body, bool dry_run) {
  if (dry_run) return log().try_write(body);
  auto written = write_once(body, Log::Grouping::alone);
  if (!written.ok() && store_->sqlite() != nullptr && store_->sqlite()->poisoned()) store_->leave_suspect_mark();
  return written;
}

Result<void> Service::check_name(std::string_view path, std::string_view name) const {
  MaskCounts found;
  if (!masker_.mask(name, found)) return {};
  const std::string why = "looks like a secret (" + found.begin()->first + ")";
  return Error(ErrorCode::INVALID_FIELD, std::string(path) + ": " + why).with_fields({{std::string(path), why}});
}

void Service::forget_folds() {
  stats_fold_.forget();
  trust_fold_.forget();
  info_fold_.forget();
  nodes_fold_.forget();
  run_fold_.forget();
  research_fold_.forget();
  compile_memos_.forget();
}

Result<void> Service::check_commit(LogTxn& txn, SessionNo session) {
  TRY_DO(check_wanted());
  if (const std::uint64_t most = settings_.limit_session_entries; most != 0) {
    TRY(const Seq last, txn.last_seq(session));
    if (last > most) return over_limit("limits.session_entries", most, last);
  }
  if (store_->sqlite() == nullptr || settings_.limit_store_bytes == 0) return {};
  TRY(const std::uint64_t rows, txn.bytes());
  TRY(const std::uint64_t objects, store_->blobs().total_bytes());
  return check_store_bytes(rows + objects);
}

Result<void> Service::check_store_bytes(std::uint64_t bytes) const {
  const std::uint64_t most = settings_.limit_store_bytes;
  return bytes > most ? over_limit("limits.store_bytes", most, bytes) : Result<void>();
}

Result<void> Service::check_room() {
  TRY_DO(store_->writable());
  if (store_->sqlite() == nullptr || settings_.limit_store_bytes == 0) return {};
  TRY(const std::uint64_t bytes, store_->bytes());
  return check_store_bytes(bytes);
}

Result<void> Service::write_once(FunctionRef<Result<void>(LogTxn&)> body, Log::Grouping grouping) {
  const StillWanted* const wanted = StillWanted::of_this_thread();
  TRY_DO(log().write(
      [&](LogTxn& txn) -> Result<void> {
        const StillWanted::Borrowed callers(wanted);
        TRY_DO(body(txn));
        TRY_DO(check_wanted());
        // An entry must never be durable before the blobs it names.
        return store_->blobs().flush();
      },
      grouping));
  const std::lock_guard lock(committed_mutex_);
  if (committed_) committed_();
  return {};
}

Result<Located> locate(LogReader& reader, const Address& address) {
  Located out;
  TRY(out.session, need_session(reader, address.session));
  if (address.at.empty()) {
    TRY(out.seq, need_head(reader, out.session, address.head));
  } else {
    TRY(const Entry entry, find_entry(reader, out.session, address.at, address.people ? Naming::people : Naming::exact));
    out.seq = entry.seq;
  }
  return out;
}

}  // namespace weir
