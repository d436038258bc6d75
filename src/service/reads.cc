#include "service/reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/paths.h"
#include "base/utf8.h"
#include "importers/import.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "service/append.h"
#include "service/call_objects.h"
#include "service/receipts.h"
#include "service/undelivered.h"
#include "session/address.h"
#include "session/path.h"
#include "session/types.h"

namespace weir {
namespace {

using json::Value;

constexpr int kMostLooks = 3;   // because receipts were written meanwhile
constexpr int kMostRounds = 8;  // of deciding again because somebody else appended

// Is it the caller who is wrong? All else that fails on the side of the cache ends in the plain read.
bool is_callers(const Error& error) {
  switch (error.code()) {
    case ErrorCode::INVALID_FIELD:
    case ErrorCode::ID_REUSED:
    case ErrorCode::NOT_FOUND:
    case ErrorCode::AMBIGUOUS:
    case ErrorCode::CANCELLED:
      return true;
    default:
      return false;
  }
}

Error aborted() { return Error(ErrorCode::CANCELLED, "Operation aborted"); }

ReadReply uncached(ReadText& file, std::string_view reason) {
  ReadReply reply;
  reply.kind = ReadReply::Kind::uncached;
  reply.text = std::move(file.baseline.text);
  reply.path = file.path;
  reply.reason = reason;
  return reply;
}

ReadReply not_text(const ReadOther& file) {
  ReadReply reply;
  reply.kind = ReadReply::Kind::not_text;
  reply.path = file.path;
  reply.mime = file.mime;
  reply.bytes = file.bytes;
  return reply;
}

// Of a read in a host's log: it counts at its place until the host says what became of it, or it is known to be lost.
class HostReceipt final : public Receipt {
 public:
  HostReceipt(Service& service, SessionId session, std::uint64_t number)
      : service_(service), session_(std::move(session)), number_(number) {}
  void received() override {}
  void lost() override { service_.pending_reads().forget(session_, number_); }

 private:
  Service& service_;
  const SessionId session_;
  const std::uint64_t number_;
};

// Where the reader stands.
struct Standing {
  std::optional<SessionRow> session;  // none: it is made by the first append
  Seq leaf = 0;
  EntryId entry;  // at the leaf
  bool followed = false;
  std::uint64_t walked = 0;  // entries, to know that
};

class Reading {
 public:
  Reading(Service& service, const ReadSource& source, const ReadCall& call, FunctionRef<bool()> cancelled)
      : service_(service), source_(source), options_(source.options()), call_(call), cancelled_(cancelled), bypass_(call.bypass) {}

  Result<ReadReply> run() {
    PathContext context{call_.cwd, call_.home};
    if (context.cwd.empty()) {
      TRY(context.cwd, directory());
    }
    if (cancelled_()) return aborted();
    TRY(ReadFile file, source_.read(call_.path, call_.lines, context, service_.masker(), call_.narrowed()));
    if (const auto* other = std::get_if<ReadOther>(&file)) {
      // It leaves no trace, unless something was shown before under its name, or a link leads to it: then the latest thing counts.
      if (!call_.session || call_.record != ReadCall::Record::log || !options_.enabled) return not_text(*other);
      const auto known = is_known(*other);
      if (!known.ok() && is_callers(known.error())) return known.error();
      return known.ok() && *known ? untraced(not_text(*other), other->name, "not_text") : not_text(*other);
    }
    file_ = std::move(std::get<ReadText>(file));
    if (!call_.session || call_.record == ReadCall::Record::none) return uncached(file_, "not_recorded");
    if (!options_.enabled) return uncached(file_, "disabled");
    if (!file_.untraced_reason.empty()) return untraced(uncached(file_, file_.untraced_reason), file_.name, file_.untraced_reason);
    auto answered = call_.record == ReadCall::Record::host ? answer_host() : answer_log();
    if (answered.ok()) {
      for (std::string& warning : warnings_) answered->warnings.push_back(std::move(warning));
      return answered;
    }
    if (is_callers(answered.error())) return answered;
    return plain_with_warning(answered.error().message());
  }

 private:
  // ---- the reader's state ----

  Result<Standing> stand(LogReader& reader) {
    Standing out;
    TRY(out.session, reader.session(*call_.session));
    const bool synced =
        call_.record == ReadCall::Record::host && call_.head == main_head() && service_.pending_reads().is_synced(*call_.session);
    if (!out.session) {
      out.followed = synced;
      return out;
    }
    TRY(out.leaf, need_head(reader, *out.session, call_.head));
    TRY(out.entry, id_at(reader, out.session->no, out.leaf));
    const std::uint64_t steps = service_.info_fold().steps();
    TRY(out.followed, is_followed(service_, reader, *out.session, out.leaf));
    out.walked = service_.info_fold().steps() - steps;
    if (synced && !out.followed) {
      TRY(const auto info, service_.info_fold().at(reader, out.session->no, out.leaf));
      out.followed = info->feed != InfoFold::Feed::no;
    }
    return out;
  }

  Result<TrustFold::State> trust_at(LogReader& reader, const Standing& standing) {
    if (!standing.session || !standing.followed) return TrustFold::initial();
    TRY(const auto state, service_.trust_fold().at(reader, standing.session->no, standing.leaf));
    return *state;
  }

  Result<bool> is_known(const ReadOther& file) {
    if (file.name != file.path) return true;
    bool known = false;
    TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
      TRY(const Standing standing, stand(reader));
      TRY(const TrustFold::State state, trust_at(reader, standing));
      known = state.paths.find(file.path) != nullptr || state.names.find(file.name) != nullptr;
      return {};
    }));
    return known;
  }

  // Without what may not have reached the reader: answers that are on their way, reads of the host's that its log does not have yet (a
  // host's own call knows them), and what was sent when nothing could be recorded.
  Result<void> leave_out_uncertain(LogReader& reader, const Standing& standing, TrustFold::State& state) {
    if (!standing.session) return {};
    const bool in_flight =
        call_.record == ReadCall::Record::log && service_.pending_reads().speaks_of(*call_.session, file_.path, file_.name);
    if (in_flight || was_sent_unrecorded()) {
      state.paths.erase(file_.path);
      forget_name(state, file_.name);
      return {};
    }
    if (state.paths.find(file_.path) == nullptr) return {};
    bool of_now = true;
    TrustFold::State whole = state;
    TRY_DO(leave_out_undelivered(service_, reader, standing.session->no, standing.leaf, file_.path, moment_, of_now, state));
    if (!of_now) stale_ = std::move(whole);
    return {};
  }

  bool was_sent_unrecorded() const {
    return service_.receipts().was_sent_unrecorded(*call_.session, file_.path) ||
           service_.receipts().was_sent_unrecorded(*call_.session, file_.name);
  }

  // Receipts were written while the log was read: what has just been received may have been left out.
  Result<void> look_again(const Standing& standing, TrustFold::State& state) {
    for (int looks = 0; stale_ && looks < kMostLooks; ++looks) {
      state = *std::exchange(stale_, std::nullopt);
      moment_ = service_.receipts().moment();
      TRY_DO(service_.log().read([&](LogReader& reader) { return leave_out_uncertain(reader, standing, state); }));
    }
    stale_.reset();
    return {};
  }

  Result<std::string> directory() {
    std::string cwd;
    // The log is asked for a head that may not be there, or for a place that is needed.
    const bool absolute = call_.path.starts_with('/') || call_.path.starts_with("@/");
    if (call_.session && !(absolute && call_.head == main_head())) {
      TRY(cwd, session_directory(service_, *call_.session, call_.head));
    }
    if (!cwd.empty()) return cwd;
    // A path that is not relative needs none.
    const std::string_view path = call_.path.starts_with('@') ? std::string_view(call_.path).substr(1) : std::string_view(call_.path);
    if (path.starts_with('/') || path.starts_with('~')) return std::string("/");
    return Error(ErrorCode::INVALID_FIELD, "/path: " + kNoDirectory).with_fields({{"/path", kNoDirectory}});
  }

  // ---- deciding ----

  ReadAnswer decide(const TrustFold::State& state, bool followed) {
    const std::int64_t deadline = service_.now().ms + static_cast<std::int64_t>(options_.diff_deadline_ms);
    const auto load = [&](const std::string& version) -> LoadedVersion {
      const auto digest = Digest::parse(version);
      if (!digest.ok()) return {};
      auto bytes = service_.store().blobs().get(*digest);
      if (bytes.ok()) return {std::make_shared<const VersionText>(std::move(bytes).value()), false};
      const bool damaged = bytes.error().code() != ErrorCode::NOT_FOUND;
      if (damaged) warnings_.push_back("an earlier version of the file is damaged: " + bytes.error().message());
      return {nullptr, damaged};
    };
    return decide_read(state, file_.current(), {file_.lines, bypass_, followed}, options_, load,
                       [&] { return cancelled_() || service_.now().ms > deadline; });
  }

  // May the bytes be kept, so that a later answer can be told against them? For a version that was told before that has been
  // settled then.
  bool wants_blob(const ReadRecord& record) {
    if (file_.text == nullptr || (is_marker(record.mode) && record.base == record.served)) return false;
    if (const auto there = service_.store().blobs().has(file_.version); there.ok() && *there) return false;
    MaskCounts found;
    return !service_.masker().mask(file_.text->bytes, found);
  }

  ReadReply reply_with(ReadAnswer answer, ReceiptPtr receipt) {
    ReadReply reply;
    reply.receipt = std::move(receipt);
    reply.text = std::move(answer.text);
    reply.path = file_.path;
    reply.record = std::move(answer.record);
    reply.entry = entry_;
    return reply;
  }

  ReadReply plain_with_warning(const std::string& why) {
    service_.receipts().sent_unrecorded(*call_.session, file_.path, file_.name);
    ReadReply reply = uncached(file_, "not_recorded");
    reply.warnings.push_back("the read is not recorded: " + why);
    return reply;
  }

  // ---- a log of our own ----

  Result<ReadReply> answer_log() {
    for (int round = 0; round < kMostRounds; ++round) {
      if (cancelled_()) return aborted();
      Standing standing;
      TrustFold::State state;
      std::optional<ReadReply> again;
      moment_ = service_.receipts().moment();
      TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
        TRY(standing, stand(reader));
        TRY(again, answered_before(reader, standing));
        if (again) return {};
        TRY(state, trust_at(reader, standing));
        return leave_out_uncertain(reader, standing, state);
      }));
      if (again) return std::move(*again);
      TRY_DO(look_again(standing, state));
      warnings_.clear();
      ReadAnswer answer = decide(state, standing.followed);
      if (cancelled_()) return aborted();
      auto recorded = append(answer.record, standing);
      if (recorded.ok() && *recorded) {
        save_info(standing);
        return reply_with(std::move(answer), service_.receipts().receipt(read_));
      }
      if (!recorded.ok() && recorded.error().code() != ErrorCode::CONFLICT) return std::move(recorded).error();
    }
    return plain_with_warning("others keep appending to the session");
  }

  // False if the same call was recorded in between. A record can do without the bytes it speaks of.
  Result<bool> append(const ReadRecord& record, const Standing& standing) {
    if (!wants_blob(record)) return append(record, standing, false);
    auto recorded = append(record, standing, true);
    if (recorded.ok() || (recorded.error().code() != ErrorCode::STORAGE && recorded.error().code() != ErrorCode::LIMIT_EXCEEDED))
      return recorded;
    auto without = append(record, standing, false);
    if (without.ok()) warnings_.push_back("the file's content is not kept: " + recorded.error().message());
    return without;
  }

  Result<bool> append(const ReadRecord& record, const Standing& standing, bool with_blob) {
    AppendCall call(service_, *call_.session, call_.head, Expect{standing.entry.str(), false}, false);
    json::Arena arena;
    const auto id = request_id_ ? std::optional(request_id_->str()) : std::nullopt;
    // What the log could not be told then it is told now.
    const bool unrecorded = was_sent_unrecorded();
    if (unrecorded) {
      const RefreshBody unknown{file_.path, {}, file_.name == file_.path ? "" : file_.name};
      TRY_DO(call.add_body(types::kRefresh, to_json(unknown, arena), std::nullopt, std::nullopt, arena));
    }
    TRY_DO(call.add_body(types::kRead, to_json(record, arena), id, std::nullopt, arena));
    if (with_blob) TRY_DO(call.keep(file_.text->bytes));
    // On its way from this commit on, for every process.
    call.when_placed([this](LogTxn& txn, const SessionRow& session, const AppendResult& placed) -> Result<void> {
      const AppendResult::Item& item = placed.entries.back();
      if (item.known && request_id_) return {};
      read_ = {session.no, Receipts::hash_of(file_.path), item.seq};
      return txn.add_undelivered(read_.session, read_.path, read_.seq);
    });
    TRY(const AppendAnswer done, call.commit());
    entry_ = done.result.entries.back().id;
    if (unrecorded) service_.receipts().told_unrecorded(*call_.session, file_.path, file_.name);
    // Known without a name of its own: the head was moved back, and the same record stands there already. It has moved onto
    // it now, and the answer is what that record says.
    return !done.result.entries.back().known || !request_id_;
  }

  // A call that was recorded, whose answer may be lost. Its text is sent again, and nothing recorded, where that is what the record
  // says: the file is as it was, and nothing has been said of it since. Else the content goes out anew. Never a marker or a diff:
  // in place of a lost answer they would claim what nobody saw.
  Result<std::optional<ReadReply>> answered_before(LogReader& reader, const Standing& standing) {
    if (!request_id_ || !standing.session) return std::optional<ReadReply>();
    TRY(const auto entry, reader.find(standing.session->no, *request_id_, Columns::all));
    if (!entry) return std::optional<ReadReply>();
    json::Parser parser;
    TRY(const Value body, parser.parse_stored(entry->body));
    const auto record = entry->type == types::kRead ? parse_read_record(body) : std::nullopt;
    if (!record || record->asked_as() != file_.name || record->range.first != file_.lines.first) {
      return Error(ErrorCode::ID_REUSED, "the request id '" + request_id_->str() + "' belongs to another entry")
          .with("entry", request_id_->str());
    }
    const EntryId id = *std::exchange(request_id_, std::nullopt);
    bypass_ = true;
    if (!is_anchor(record->mode)) return std::optional<ReadReply>();
    TRY(const auto trust, service_.trust_fold().at(reader, standing.session->no, standing.leaf));
    const PathTrust* path = trust->paths.find(file_.path);
    const auto* name = trust->names.find(file_.name);
    if (path == nullptr || path->told.entry != id || name == nullptr || name->last != id) return std::optional<ReadReply>();
    // If the first answer was lost, others may have gone on from there without it: then the record cannot become true for all.
    TRY(const auto undelivered, reader.undelivered(standing.session->no, Receipts::hash_of(file_.path)));
    TRY(const Seq last, reader.last_seq(standing.session->no));
    if (std::binary_search(undelivered.begin(), undelivered.end(), entry->seq) && last != entry->seq) return std::optional<ReadReply>();
    ReadAnswer answer = decide(TrustFold::initial(), standing.followed);
    if (answer.record.text_sha256 != record->text_sha256 || answer.record.served != record->served) return std::optional<ReadReply>();
    answer.record = *record;
    entry_ = id;
    const Receipts::Read read{standing.session->no, Receipts::hash_of(file_.path), entry->seq};
    return std::optional(reply_with(std::move(answer), service_.receipts().receipt(read)));
  }

  // What the session says of itself is kept beside a long log now and then, so that the next process need not walk back for it.
  void save_info(const Standing& standing) {
    if (standing.walked < kInfoStride) return;
    const auto saved = service_.write([&](LogTxn& txn) { return service_.info_fold().save(txn, standing.session->no, standing.leaf); });
    if (!saved.ok()) warnings_.push_back("a checkpoint was not saved: " + saved.error().message());
  }

  // ---- a log of the host's ----

  Result<ReadReply> answer_host() {
    const auto place = service_.pending_reads().hold(*call_.session, call_.head);
    TrustFold::State state;
    Standing standing;
    moment_ = service_.receipts().moment();
    TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
      TRY(standing, stand(reader));
      TRY_DO(place->arrive(reader, standing.session ? standing.session->no : SessionNo{},
                           {standing.leaf, call_.turn, call_.leaf_has_children}));
      TRY(state, trust_at(reader, standing));
      if (standing.followed) place->apply(service_.settings().trust, state);
      return leave_out_uncertain(reader, standing, state);
    }));
    TRY_DO(look_again(standing, state));
    ReadAnswer answer = decide(state, standing.followed);
    if (cancelled_()) return aborted();
    // What is in flight may not arrive: then the claim must not count either, however much else is held.
    const PathTrust* held = state.paths.find(answer.record.path);
    if (place->speaks_of(answer.record.path) && !is_anchor(answer.record.mode) && held != nullptr)
      answer.record.held = held_under(*held, answer.record);
    if (wants_blob(answer.record)) keep_blob();
    const std::uint64_t number = place->add({answer.record, call_.call_id});
    json::Arena arena;
    const std::string details = json::canonical(host_details(answer, arena));
    ReadReply reply = reply_with(std::move(answer), nullptr);
    reply.receipt = std::make_shared<HostReceipt>(service_, *call_.session, number);
    reply.details = details;
    return reply;
  }

  Value host_details(const ReadAnswer& answer, json::Arena& arena) const {
    json::ObjectBuilder details(arena);
    details.add("readcache", read_to_pi(answer.record, clean_path(file_.request.absolute), answer.debug, arena));
    if (is_anchor(answer.record.mode) && file_.baseline.truncation) {
      const BaselineLimits& limits = options_.answer;
      details.add("truncation",
                  truncation_to_pi(*file_.baseline.truncation, file_.baseline.content(), limits.max_lines, limits.max_bytes, arena));
    }
    return details.build();
  }

  void keep_blob() {
    CallObjects objects(service_.store().blobs(), CallObjects::Mode::direct);
    auto kept = service_.write([&](LogTxn& txn) -> Result<void> {
      TRY_DO(objects.put(file_.text->bytes));
      return objects.settle(txn);
    });
    if (!kept.ok()) warnings_.push_back("the file's content is not kept: " + kept.error().message());
  }

  // ---- no trace ----

  Result<ReadReply> untraced(ReadReply reply, const std::string& name, std::string_view reason) {
    if (call_.record != ReadCall::Record::log) return reply;
    AppendCall call(service_, *call_.session, call_.head, std::nullopt, false);
    json::Arena arena;
    json::ObjectBuilder data(arena);
    data.add("path", reply.path).add("reason", reason);
    if (name != reply.path) data.add("name", name);
    const auto id = request_id_ ? std::optional(request_id_->str()) : std::nullopt;
    auto noted = call.add_body(types::kCustom, json::make_object(arena, {{"custom_type", "read_uncached"}, {"data", data.build()}}), id,
                               std::nullopt, arena);
    if (noted.ok()) {
      auto done = call.commit();
      if (!done.ok()) noted = std::move(done).error();
    }
    if (!noted.ok() && is_callers(noted.error())) return std::move(noted).error();
    if (!noted.ok()) {
      service_.receipts().sent_unrecorded(*call_.session, reply.path, name);
      reply.warnings.push_back("the read is not recorded: " + noted.error().message());
    }
    return reply;
  }

  Service& service_;
  const ReadSource& source_;
  const ReadOptions& options_;
  const ReadCall& call_;
  FunctionRef<bool()> cancelled_;
  bool bypass_;
  std::optional<EntryId> request_id_ = call_.request_id;
  ReadText file_;
  std::uint64_t moment_ = 0;               // of the receipts
  std::optional<TrustFold::State> stale_;  // they changed while the log was read
  EntryId entry_;                          // of the record, once it is appended or found
  Receipts::Read read_;                    // the same, for its receipt
  std::vector<std::string> warnings_;
};

}  // namespace

Value ReadReply::to_json(json::Arena& arena) const {
  static constexpr std::string_view kKinds[] = {"text", "uncached", "not_text"};
  json::ObjectBuilder out(arena);
  out.add("kind", kKinds[static_cast<int>(kind)]);
  if (kind == Kind::not_text) {
    out.add("mime", mime).add("bytes", bytes).add("path", path);
  } else {
    out.add("text", text);
  }
  if (kind == Kind::uncached) out.add("reason", reason);
  if (record) out.add("record", weir::to_json(*record, arena));
  if (details) out.add("details", Value::raw(*details));
  std::vector<Value> notes;
  for (const std::string& warning : warnings) notes.push_back(arena.copy(as_utf8(warning)));
  if (kind != Kind::not_text || !notes.empty()) out.add("warnings", json::make_array(arena, notes));
  return out.build();
}

namespace {

void count_read(Counters& counters, const ReadReply& reply) {
  const std::string_view kind = reply.kind == ReadReply::Kind::not_text ? "not_text" : "uncached";
  counters.add(Metric::reads, reply.record ? mode_name(reply.record->mode) : kind);
  counters.add(Metric::read_bytes, "answered", reply.text.size());
  if (!reply.record) return;
  counters.add(Metric::read_bytes, "file", reply.record->bytes);
  const std::uint64_t plain = reply.record->baseline.value_or(0), sent = reply.record->sent.value_or(plain);
  if (plain > sent) counters.add(Metric::read_bytes, "saved", plain - sent);
}

}  // namespace

Result<ReadReply> read_file(Service& service, const ReadSource& source, const ReadCall& call, FunctionRef<bool()> cancelled) {
  TRY(ReadReply reply, Reading(service, source, call, cancelled).run());
  count_read(service.counters(), reply);
  return reply;
}

Result<bool> is_followed(Service& service, LogReader& reader, const SessionRow& session, Seq leaf) {
  TRY(const auto info, service.info_fold().at(reader, session.no, leaf));
  if (info->feed != InfoFold::Feed::yes) return false;
  if (session.source.empty()) return true;
  // An imported log may hold what its host said of itself; that host is not here.
  TRY(const ImportSource source, ImportSource::decode(session.source));
  const auto last = EntryId::parse(source.last);
  if (!last.ok()) return true;
  TRY(const auto imported, reader.find(session.no, *last, Columns::without_body));
  return !imported || info->feed_said_at > imported->seq;
}

Result<std::string> session_directory(Service& service, const SessionId& session, const HeadName& head) {
  std::string cwd;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto row, reader.session(session));
    if (!row) return {};
    TRY(const Seq leaf, need_head(reader, *row, head));
    TRY(const auto info, service.info_fold().at(reader, row->no, leaf));
    if (info->cwd.starts_with('/')) cwd = info->cwd;
    return {};
  }));
  return cwd;
}

Result<ReadReply> read_plain(const ReadSource& source, const ReadCall& call, const Masker& masker) {
  TRY(ReadFile file, source.read(call.path, call.lines, {call.cwd, call.home}, masker, call.narrowed()));
  if (const auto* other = std::get_if<ReadOther>(&file)) return not_text(*other);
  return uncached(std::get<ReadText>(file), "not_recorded");
}

Result<RefreshPlan> plan_refresh(const ReadSource& source, std::string_view path, const LineRequest& lines, const PathContext& context,
                                 const Masker& masker, const std::vector<std::string>* within) {
  if (!valid_utf8(path)) {
    return Error(ErrorCode::INVALID_FIELD, "/path: is not UTF-8: nothing is trusted under such a name")
        .with_fields({{"/path", "is not UTF-8"}});
  }
  RefreshPlan plan;
  plan.body.path = clean_path(absolute_path(path, context));
  std::string given(path);
  LineRequest wanted = lines;
  auto read = source.read(path, lines, context, masker, within);
  if (!read.ok()) {
    const ErrorCode code = read.error().code();
    if (code == ErrorCode::BAD_RANGE || code == ErrorCode::BAD_RANGE_SUFFIX || code == ErrorCode::INVALID_FIELD)
      return std::move(read).error();
    plan.body.path = as_utf8(source.place_of(absolute_path(path, context), within));
  } else if (const auto* text = std::get_if<ReadText>(&*read)) {
    plan.body.path = text->path;
    if (text->name != text->path) plan.body.name = text->name;
    given = text->request.given;
    wanted = text->request.lines;
    if (wanted.offset || wanted.limit) plan.body.scope = {text->lines == LineRange{1, text->total}, text->lines};
  } else {
    plan.body.path = std::get<ReadOther>(*read).path;
  }
  const auto most = std::uint64_t{std::numeric_limits<LineNo>::max() - 1};
  if (!read.ok() && wanted.offset && wanted.limit && *wanted.offset <= most && *wanted.limit <= most - *wanted.offset) {
    plan.body.scope = {false, {static_cast<LineNo>(*wanted.offset), static_cast<LineNo>(*wanted.offset + *wanted.limit - 1)}};
  }
  if (plan.body.scope.full) plan.body.scope.lines = {};
  plan.text = plan.body.scope.full ? fmt::format("[readcache-refresh] invalidated full scope for {}", given)
                                   : fmt::format("[readcache-refresh] invalidated lines {}-{} for {}", plan.body.scope.lines.first,
                                                 plan.body.scope.lines.last, given);
  return plan;
}

Result<RefreshReply> refresh_file(Service& service, const ReadSource& source, const RefreshCall& call) {
  const std::vector<std::string>* const within = call.within ? &*call.within : nullptr;
  TRY(RefreshPlan plan, plan_refresh(source, call.path, call.lines, {call.cwd, call.home}, service.masker(), within));
  AppendCall append(service, call.session, call.head, std::nullopt, call.dry_run);
  json::Arena arena;
  TRY_DO(append.add_body(types::kRefresh, to_json(plan.body, arena), std::nullopt, std::nullopt, arena));
  TRY(const AppendAnswer done, append.commit());
  if (!call.dry_run) service.pending_reads().drop(call.session);
  return RefreshReply{done.result.entries.front().id, std::move(plan.body), std::move(plan.text)};
}

Value RefreshReply::to_json(json::Arena& arena) const {
  return json::make_object(
      arena, {{"entry", entry.str()}, {"path", arena.copy(refresh.path)}, {"scope", arena.copy(refresh.scope.text())}, {"text", text}});
}

}  // namespace weir
