#include <fmt/format.h>

#include "importers/pi.h"
#include "importers/pi_map.h"
#include "json/canonical.h"
#include "json/decode.h"
#include "json/mask.h"
#include "session/address.h"
#include "session/prepare.h"

namespace weir::pi {
namespace {

using json::Value;

class Sync {
 public:
  Sync(LogTxn& txn, SessionRow session, const SyncRequest& request, const ImportContext& context, json::Arena& arena)
      : txn_(txn),
        session_(session),
        request_(request),
        context_(context),
        arena_(arena),
        preparer_(context.masker, context.blobs),
        appender_(txn, std::move(session), context.now) {}

  Result<SyncResult> run() {
    TRY_DO(read_source());
    if (request_.since) {
      TRY(const auto found, find(*request_.since));
      if (!found) return not_found("since", *request_.since);
    }
    TRY_DO(take_entries());
    TRY_DO(move_leaf());
    TRY_DO(write_source());
    result_.masked = preparer_.masked();
    if (result_.accepted > 0) TRY_DO(txn_.add_masked(session_.no, result_.masked));
    return std::move(result_);
  }

 private:
  Result<void> read_source() {
    source_.format = kFormat;
    source_.version = kNewestVersion;
    if (!session_.source.empty()) {
      TRY(source_, ImportSource::decode(session_.source));
    }
    result_.last = source_.last;
    return {};
  }

  // The last one that is stored: nothing of this call will be.
  Error not_found(std::string_view what, std::string_view id) const {
    const std::string go_on = source_.last.empty() ? "send everything" : fmt::format("send what follows '{}'", source_.last);
    return Error(ErrorCode::NOT_FOUND, fmt::format("{} '{}' is not known: {}", what, id, go_on))
        .with("last", source_.last.empty() ? DetailValue(nullptr) : DetailValue(source_.last));
  }

  Result<std::optional<Entry>> find(std::string_view name) {
    const auto id = EntryId::parse(name);
    if (!id.ok()) return std::optional<Entry>();
    return txn_.find(session_.no, *id, Columns::without_body);
  }

  Result<void> take_entries() {
    const std::span<const Value> lines = request_.entries == nullptr ? std::span<const Value>() : request_.entries->items();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      auto taken = take(lines[i]);
      if (!taken.ok()) return std::move(taken).error().with("path", fmt::format("/entries/{}", i));
    }
    return {};
  }

  Result<void> take(const Value& line) {
    const Mapped mapped = map_line(line, arena_);
    Seq parent = 0;
    if (mapped.has_parent) {
      TRY(const auto found, find(mapped.parent));
      if (!found) return not_found("parent", mapped.parent);
      parent = found->seq;
    }
    NewEntry entry;
    entry.type = mapped.type;
    entry.id = EntryId::trusted(line.text_or("id", ""));
    entry.at = mapped.at;
    entry.imported = !mapped.native;
    TRY(entry.body, preparer_.prepare(mapped.type, mapped.body, arena_));
    if (context_.complete) TRY_DO(context_.complete(txn_, appender_.session(), entry.type, entry.body, parent));
    TRY(const AppendResult::Item item, appender_.add(entry, parent, true));
    if (item.known) {
      ++result_.known;
    } else {
      ++result_.accepted;
      ++source_.entries;
      if (source_.synced == 0) source_.synced = item.seq;
      result_.last = item.id.str();
    }
    return {};
  }

  Result<void> move_leaf() {
    Seq leaf = 0;
    if (!request_.moves_leaf) {
      TRY(leaf, where_it_stands());
    } else if (request_.leaf) {
      TRY(const auto found, find(*request_.leaf));
      if (!found) return not_found("leaf", *request_.leaf);
      leaf = found->seq;
    }
    TRY(const auto standing, txn_.head(session_.no, main_head()));
    // Without a leaf nothing is said of a session that has no entry yet.
    const bool moves = request_.moves_leaf || leaf != 0;
    if (moves && (!standing || *standing != leaf)) TRY_DO(txn_.set_head(session_.no, main_head(), leaf));
    TRY(const EntryId id, id_at(txn_, session_.no, leaf));
    result_.leaf = id.str();
    return {};
  }

  // Without a leaf main stays. Where all entries are this call's it never stood anywhere: it goes to the last, as an import leaves it.
  Result<Seq> where_it_stands() {
    TRY(const auto standing, txn_.head(session_.no, main_head()));
    TRY(const Seq last, txn_.last_seq(session_.no));
    if (!standing && last == result_.accepted) return last;
    return need_head(txn_, session_, main_head());
  }

  Result<void> write_source() {
    if (request_.header != nullptr) {
      MaskCounts counts;
      source_.header = json::canonical(json::mask(*request_.header, context_.masker, arena_, counts));
    }
    source_.last = result_.last;
    if (result_.accepted > 0) {
      // The host's file may hold what it sent: the next import of it compares from its beginning.
      source_.offset = 0;
      source_.prefix_sha256.clear();
    }
    const std::string encoded = source_.encode();
    return encoded == session_.source ? Result<void>() : txn_.set_source(session_.no, encoded);
  }

  LogTxn& txn_;
  const SessionRow session_;
  const SyncRequest& request_;
  const ImportContext& context_;
  json::Arena& arena_;
  Preparer preparer_;
  Appender appender_;
  ImportSource source_;
  SyncResult result_;
};

void check_line(const Value& line, const std::string& path, const Masker& masker, json::FieldErrors& errors) {
  json::ObjectDecoder in(line, path, errors);
  in.need_text("type");
  const auto id = in.name<EntryId>("id");
  const Value* given = line.find("id");
  if (line.is_object() && (given == nullptr || given->is_null())) in.wrong("id", "is missing");
  MaskCounts secrets;
  if (id && masker.mask(id->str(), secrets)) in.wrong("id", "looks like a secret");
  if (holds_blob_object(line)) errors.add(path, "holds an object with the key $blob, which names blobs of Weir");
}

}  // namespace

void check_sync_entries(std::span<const Value> lines, const Masker& masker, json::FieldErrors& errors) {
  for (std::size_t i = 0; i < lines.size(); ++i) check_line(lines[i], fmt::format("/entries/{}", i), masker, errors);
}

Result<SyncResult> sync(LogTxn& txn, const SyncRequest& request, const ImportContext& context, json::Arena& arena) {
  TRY(SessionRow session, ensure_session(txn, request.session, context.now));
  return Sync(txn, std::move(session), request, context, arena).run();
}

}  // namespace weir::pi
