#include "service/import.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/utf8.h"
#include "compaction/trigger.h"
#include "importers/pi_map.h"
#include "json/canonical.h"
#include "json/decode.h"
#include "json/parse.h"
#include "service/call_objects.h"
#include "service/compact.h"
#include "service/reading.h"
#include "service/render.h"
#include "service/snapshots.h"
#include "service/upkeep.h"
#include "session/address.h"
#include "session/types.h"
#include "store/named_blob.h"

namespace weir {
namespace {

using json::Value;

Result<void> check_format(std::string_view format) {
  if (format == "pi") return {};
  return Error(ErrorCode::UNSUPPORTED_FORMAT, fmt::format("no importer for '{}'; there is one for: pi", format))
      .with("format", std::string(format));
}

Result<void> check_room(Service& service, LogTxn& txn, const SessionId& id) {
  TRY(const SessionRow session, need_session(txn, id));
  return service.check_commit(txn, session.no);
}

Result<void> replace_body(PreparedBody& body, const Value& whole) {
  body.canonical = json::canonical(whole);
  if (body.canonical.size() > limits::kEntryBodyBytes)
    return over_limit("bytes of an entry's body", limits::kEntryBodyBytes, body.canonical.size());
  body.hash = BodyHash(body.canonical);
  body.has_blobs = true;
  return {};
}

// A snapshot that comes with a foreign log proves nothing by being there: it is held to its checks where it goes, and what does
// not hold is kept aside, where nothing reads it as state.
Result<Value> with_checked_snapshot(Service& service, LogTxn& txn, const SessionRow& session, std::string_view type, const Value& body,
                                    Seq parent, Blobs& blobs, json::Arena& arena) {
  TRY(const auto state, service.run_fold().at(txn, session.no, parent));
  auto checked = checked_snapshot_body(service, txn, session, *state, type, body, blobs, arena);
  if (checked.ok()) return checked;
  json::ObjectBuilder out(arena), aside(arena);
  for (const json::Member& member : body.members()) {
    const bool refused = member.key == "snapshot" || member.key == "narrative" || member.key == "narrative_max_bytes";
    (refused ? aside : out).add(member.key, member.value);
  }
  return out.add("snapshot_mismatch", true).add("rejected_snapshot", aside.build()).build();
}

// A host's compaction that names a snapshot of Weir's gets that snapshot, if it can be built again where the entry goes.
Result<void> complete_compaction(Service& service, LogTxn& txn, const SessionRow& session, std::string_view type, PreparedBody& body,
                                 Seq parent, Blobs& blobs) {
  if ((type != types::kCompaction && type != types::kSnapshotAttached) || body.canonical.find("\"snapshot") == std::string::npos) return {};
  json::Parser parser;
  TRY(const Value stored, parser.parse_stored(body.canonical));
  if (const Value* sent = stored.find("snapshot"); sent != nullptr && !sent->is_null()) {
    TRY(const Value whole, with_checked_snapshot(service, txn, session, type, stored, parent, blobs, parser.arena()));
    return replace_body(body, whole);
  }
  const Value* weir = &stored;
  for (const std::string_view key : {"extra", "details", "weir"}) weir = weir == nullptr ? nullptr : weir->find(key);
  const std::string_view id = weir == nullptr ? "" : weir->text_or("snapshot_id", "");
  if (id.empty()) return {};
  TRY(const Value whole, with_host_snapshot(service, txn, session, parent, stored, id, blobs, parser.arena()));
  return replace_body(body, whole);
}

// One transaction of its own; what it put among the objects goes again if it fails.
Result<void> write_with_objects(Service& service, FunctionRef<Result<void>(LogTxn&, const pi::ImportContext&)> body, bool dry_run) {
  CallObjects objects(service.store().blobs(), dry_run ? CallObjects::Mode::dry_run : CallObjects::Mode::direct);
  const pi::ImportContext context{service.masker(), &objects, service.now(),
                                  [&](LogTxn& txn, const SessionRow& session, std::string_view type, PreparedBody& entry, Seq parent) {
                                    return complete_compaction(service, txn, session, type, entry, parent, objects);
                                  }};
  return service.write(
      [&](LogTxn& txn) -> Result<void> {
        auto written = body(txn, context);
        if (written.ok()) written = objects.settle(txn);
        if (!written.ok()) objects.take_back();
        return written;
      },
      dry_run, Log::Grouping::alone);
}

// Something without a place to go back to, in memory.
class TextFile final : public ReadableFile {
 public:
  explicit TextFile(std::string text) : text_(std::move(text)) {}
  Result<std::size_t> read(char* buffer, std::size_t size) override {
    const std::size_t n = text_.copy(buffer, size, at_);
    at_ += n;
    return n;
  }
  Result<void> seek(std::uint64_t offset) override {
    at_ = static_cast<std::size_t>(std::min<std::uint64_t>(offset, text_.size()));
    return {};
  }
  Result<FileStat> stat() override {
    FileStat st;
    st.size = text_.size();
    return st;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

Result<std::unique_ptr<ReadableFile>> open_source(Files& files, const ImportInput& input) {
  if (input.text) return std::unique_ptr<ReadableFile>(std::make_unique<TextFile>(*input.text));
  auto opened = files.open(input.path);
  const bool directory = !opened.ok() && files.stat(input.path + "/.").ok();
  if (directory)
    return Error(ErrorCode::INVALID_FIELD, "'" + input.path + "' is a directory, not a session's file")
        .with_fields({{"/file", "is a directory"}});
  TRY(auto file, std::move(opened));
  TRY(const FileStat st, file->stat());
  if (st.kind == FileStat::Kind::regular) return file;
  TRY(std::string text, files.read(input.path, kMostPipedBytes));
  return std::unique_ptr<ReadableFile>(std::make_unique<TextFile>(std::move(text)));
}

void count_lines(Counters& counters, const ImportReport& report) {
  std::uint64_t unknown = 0;
  for (const auto& [type, count] : report.unknown) unknown += count;
  const std::uint64_t odd = std::min<std::uint64_t>(report.entries, unknown + report.malformed.size());
  const std::uint64_t told = report.entries + report.known + report.torn;
  const std::pair<std::string_view, std::uint64_t> lines[] = {
      {"pi,new", report.entries - odd},          {"pi,known", report.known}, {"pi,unknown", unknown},
      {"pi,malformed", report.malformed.size()}, {"pi,torn", report.torn},   {"pi,header", report.lines - std::min(report.lines, told)}};
  for (const auto& [label, count] : lines)
    if (count > 0) counters.add(Metric::import_lines, label, count);
  for (const auto& [rule, count] : report.masked) counters.add(Metric::masked, rule, count);
}

Result<ImportAnswer> run_import(Service& service, const ImportInput& input, FunctionRef<bool(const ImportProgress&)> progress,
                                std::optional<pi::Position>* position, std::vector<AppendResult::Item>* added) {
  TRY_DO(check_format(input.format));
  TRY(const auto file, open_source(service.store().doors().files, input));
  ImportAnswer answer;
  answer.path = masked_text(input.path);
  if (input.session) TRY_DO(service.check_name("/as", input.session->str()));
  pi::ImportResult result;
  const pi::ImportRequest request{input.path, input.session, input.strict, added != nullptr, position != nullptr};
  const auto read_in = [&](LogTxn& txn, const pi::ImportContext& context) -> Result<void> {
    TRY(result, pi::import_file(txn, *file, request, position == nullptr ? std::nullopt : *position, context, progress));
    answer.refused = input.strict && !result.report.clean();
    // Nothing may stay of a refused file, nor of one that has no whole line yet.
    if (answer.refused || !result.session) return Error(ErrorCode::CANCELLED, "nothing to keep");
    return result.report.entries == 0 ? Result<void>() : check_room(service, txn, *result.session);
  };
  auto done = write_with_objects(service, read_in, input.dry_run);
  const bool nothing_kept =
      answer.refused || (!done.ok() && done.error().code() == ErrorCode::CANCELLED && done.error().message() == "nothing to keep");
  if (!done.ok() && !nothing_kept) return std::move(done).error();
  answer.session = result.session;
  answer.report = std::move(result.report);
  if (!input.dry_run && !nothing_kept) count_lines(service.counters(), answer.report);
  if (position != nullptr && !nothing_kept) *position = std::move(result.position);
  if (added != nullptr && !nothing_kept) *added = std::move(result.added);
  return answer;
}

}  // namespace

Value ImportAnswer::to_json(json::Arena& arena) const {
  json::ObjectBuilder unknown(arena);
  for (const auto& [type, count] : report.unknown) unknown.add(type, count);
  std::vector<Value> malformed;
  for (const auto& item : report.malformed) malformed.push_back(json::make_object(arena, {{"line", item.line}, {"reason", item.reason}}));
  json::ObjectBuilder out(arena);
  out.add("session", session ? Value(session->str()) : Value()).add("file", path).add("refused", refused);
  out.add("lines", report.lines).add("entries", report.entries).add("known", report.known).add("messages", report.messages);
  out.add("side", report.side).add("orphans", report.orphans).add("branches", report.branches).add("compactions", report.compactions);
  out.add("torn", report.torn)
      .add("held", report.held)
      .add("unknown", unknown.build())
      .add("malformed", json::make_array(arena, malformed));
  out.add("requests", json::make_object(arena, {{"resolved", 0}, {"unresolved", 0}}));
  out.add("masked", counts_json(report.masked, arena));
  return out.build();
}

Result<ImportAnswer> import_file(Service& service, const ImportInput& input, FunctionRef<bool(const ImportProgress&)> progress) {
  return run_import(service, input, progress, nullptr, nullptr);
}

Result<std::optional<ImportAnswer>> Follower::poll(FunctionRef<bool(const ImportProgress&)> progress,
                                                   std::vector<AppendResult::Item>* added) {
  const auto st = service_.store().doors().files.stat(input_.path);
  if (!st.ok() && st.error().code() == ErrorCode::NOT_FOUND) return std::optional<ImportAnswer>();
  TRY_DO(st);
  const bool same_file = st->device == seen_device_ && st->inode == seen_inode_;
  if (same_file && st->size == seen_size_) return std::optional<ImportAnswer>();
  // Another file under the name, or one cut short: what was remembered of the old one says nothing about it.
  if (!same_file || st->size < seen_size_) position_.reset();
  auto answer = run_import(service_, input_, progress, &position_, added);
  // Gone between the look and the opening: in the middle of a rotation.
  if (!answer.ok() && answer.error().code() == ErrorCode::NOT_FOUND) return std::optional<ImportAnswer>();
  if (!answer.ok()) return std::move(answer).error();
  seen_size_ = st->size;
  seen_device_ = st->device;
  seen_inode_ = st->inode;
  return std::optional(std::move(answer).value());
}

Value SyncAnswer::to_json(json::Arena& arena) const {
  return json::make_object(arena, {{"accepted", result.accepted},
                                   {"known", result.known},
                                   {"last", text_or_null(result.last)},
                                   {"leaf", text_or_null(result.leaf)},
                                   {"due", due},
                                   {"pending", pending}});
}

Result<SyncAnswer> sync_session(Service& service, const Value& value, const std::optional<SessionId>& session, bool dry_run,
                                json::Arena& arena) {
  json::FieldErrors errors;
  json::ObjectDecoder in(value, "", errors);
  const std::string_view format = in.need_text("format");
  pi::SyncRequest request;
  const auto named = in.name<SessionId>("session");
  if (!named && !session && errors.empty()) in.wrong("session", "is missing");
  request.session = named ? *named : session.value_or(SessionId());
  request.header = in.object("header");
  if (const auto since = in.text("since")) request.since = *since;
  request.entries = in.need_array("entries");
  request.moves_leaf = value.find("leaf") != nullptr;
  if (const auto leaf = in.text("leaf")) request.leaf = *leaf;
  std::vector<std::string> aborted;
  if (const Value* list = in.array("aborted")) {
    for (const Value& call : list->items()) {
      if (call.is_string()) {
        aborted.emplace_back(call.text());
      } else {
        in.wrong("aborted", "must be an array of call ids");
      }
    }
  }
  in.close();
  if (format == "pi" && request.entries != nullptr) pi::check_sync_entries(request.entries->items(), service.masker(), errors);
  TRY_DO(errors.result());
  TRY_DO(check_format(format));
  for (const Value& entry : request.entries->items()) {
    const std::size_t bytes = json::canonical(entry).size();
    if (bytes > limits::kImportLineBytes) return over_limit("bytes of a line", limits::kImportLineBytes, bytes);
  }
  TRY_DO(service.check_name("/session", request.session.str()));
  SyncAnswer answer;
  TRY_DO(write_with_objects(
      service,
      [&](LogTxn& txn, const pi::ImportContext& context) -> Result<void> {
        TRY(answer.result, pi::sync(txn, request, context, arena));
        return answer.result.accepted == 0 ? Result<void>() : check_room(service, txn, request.session);
      },
      dry_run));
  if (!dry_run) {
    ImportReport counted;
    counted.entries = answer.result.accepted;
    counted.known = answer.result.known;
    counted.masked = answer.result.masked;
    count_lines(service.counters(), counted);
    service.pending_reads().begin_sync(request.session);
    service.pending_reads().abort(request.session, aborted);
    TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
      TRY(const SessionRow row, need_session(reader, request.session));
      TRY(const Seq leaf, need_head(reader, row, main_head()));
      TRY(const auto state, service.run_fold().at(reader, row.no, leaf));
      answer.due = compaction::due(*state).has_value();
      return service.pending_reads().follow(reader, row, main_head(), leaf);
    }));
  }
  answer.pending = service.pending_reads().count(request.session);
  return answer;
}

namespace {

class PiExport {
 public:
  PiExport(Service& service, bool only_json, FunctionRef<Result<bool>(std::string_view)> line)
      : service_(service), only_json_(only_json), line_(line) {}

  Result<bool> header(const SessionRow& session, std::string_view cwd) {
    session_ = session.no;
    if (!session.source.empty()) {
      TRY(const ImportSource source, ImportSource::decode(session.source));
      if (!source.header.empty()) {
        TRY(const Value value, parser_.parse_stored(source.header));
        json::ObjectBuilder out(parser_.arena());
        out.add("version", pi::kNewestVersion);
        for (const json::Member& member : value.members()) out.add(member.key, member.value);
        return line_(json::canonical(out.build()));
      }
    }
    json::Arena arena;
    return line_(json::canonical(json::make_object(arena, {{"type", "session"},
                                                           {"version", pi::kNewestVersion},
                                                           {"id", session.id.str()},
                                                           {"timestamp", arena.copy(format_time(session.created))},
                                                           {"cwd", cwd}})));
  }

  Result<bool> entry(const Entry& entry, const EntryId& parent) {
    TRY(const Value stored, parser_.parse_stored(entry.body));
    json::Arena& arena = parser_.arena();
    const auto load = [&](const Digest& digest) -> Result<std::string> {
      std::string bytes;
      TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
        TRY(bytes, named_blob(service_.store(), reader, session_, digest));
        return {};
      }));
      return bytes;
    };
    TRY(const Value body, resolve_blobs(stored, load, arena));
    const pi::Placed placed{entry.id.str(), parent.empty() ? std::nullopt : std::optional<std::string_view>(parent.str()), entry.at};
    if (!entry.imported) return line_(json::canonical(pi::native_line(entry.type, body, placed, arena)));
    const pi::Line line = pi::unmap(entry.type, body, placed, arena);
    if (!line.text) return line_(json::canonical(line.value));
    if (!only_json_) return line_(*line.text);
    const json::Member text =
        valid_utf8(*line.text) ? json::Member{"text", *line.text} : json::Member{"base64", arena.copy(encode_base64(*line.text))};
    return line_(json::canonical(json::make_object(arena, {{"type", "text"}, text})));
  }

 private:
  Service& service_;
  const bool only_json_;
  FunctionRef<Result<bool>(std::string_view)> line_;
  SessionNo session_;
  json::Parser parser_;
};

}  // namespace

Result<std::uint64_t> export_session(Service& service, const ExportInput& input, FunctionRef<Result<bool>(std::string_view)> line) {
  if (input.format != "jsonl") TRY_DO(check_format(input.format));
  std::uint64_t count = 0;
  PiExport pi_export(service, input.only_json, line);
  const bool jsonl = input.format == "jsonl";
  const auto visit = [&](const Entry& entry, const EntryId& parent) -> Result<bool> {
    ++count;
    if (!jsonl) return pi_export.entry(entry, parent);
    json::Arena arena;
    return line(json::canonical(entry_json(entry, parent, arena)));
  };
  if (!jsonl) {
    SessionRow session;
    TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
      TRY(session, need_session(reader, input.address.session));
      return {};
    }));
    TRY(const bool go_on, pi_export.header(session, ""));
    if (!go_on) return count;
  }
  if (input.all) {
    TRY_DO(read_all(service, input.address.session, visit));
  } else {
    LogQuery query;
    query.address = input.address;
    query.oldest_first = true;
    TRY_DO(read_log(service, query, visit));
  }
  return count;
}

}  // namespace weir
