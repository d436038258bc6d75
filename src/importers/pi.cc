#include "importers/pi.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "importers/lines.h"
#include "importers/pi_map.h"
#include "importers/pi_mill.h"
#include "json/canonical.h"
#include "json/mask.h"
#include "json/parse.h"
#include "session/address.h"
#include "session/prepare.h"
#include "session/types.h"

namespace weir::pi {
namespace {

using json::Value;

constexpr std::size_t kHashBytes = std::size_t{1} << 18;
constexpr std::uint64_t kLinesPerProgress = 256;

// `id`, `id~2`, `id~3`, ...
std::string numbered(std::string_view id, int n) { return n == 1 ? std::string(id) : fmt::format("{}~{}", id, n); }

// One import of one file.
class FileImport {
 public:
  FileImport(LogTxn& txn, ReadableFile& file, const ImportRequest& request, const ImportContext& context,
             FunctionRef<bool(const ImportProgress&)> progress)
      : txn_(txn), file_(file), request_(request), context_(context), progress_(progress) {}

  Result<ImportResult> run(const std::optional<Position>& from) {
    TRY(const bool has_header, read_header());
    if (!has_header) return std::move(result_);
    TRY_DO(resume(from));
    TRY_DO(take_lines());
    if (line_no_ < known_lines_) {
      if (!request_.following) return rewritten(line_no_ + 1, fmt::format("is gone: {} lines were imported", known_lines_));
      result_.session.reset();
      return std::move(result_);
    }
    TRY_DO(finish());
    return std::move(result_);
  }

 private:
  ImportReport& report() { return result_.report; }
  const SessionRow& session() const { return appender_->session(); }

  Error rewritten(std::uint64_t line, std::string_view what) const {
    return Error(ErrorCode::SOURCE_REWRITTEN, fmt::format("line {} of '{}' {}", line, request_.path, what))
        .with("path", request_.path)
        .with("line", static_cast<std::int64_t>(line));
  }
  Error unsupported(std::string_view why) const {
    return Error(ErrorCode::UNSUPPORTED_FORMAT, fmt::format("'{}' is no pi session: {}", request_.path, why))
        .with("path", request_.path)
        .with("line", std::int64_t{1});
  }

  // What is kept or told beside the entries, which the preparer masks.
  std::string masked(std::string_view text) const {
    MaskCounts ignored;
    return context_.masker.mask(text, ignored).value_or(std::string(text));
  }

  // ---- the header: which session this is ----

  // False if the file has no whole line yet.
  Result<bool> read_header() {
    LineReader reader(file_, 0, Sha256());
    for (;;) {
      TRY(const auto line, reader.next());
      const std::string_view text = line ? trimmed_line(line->text) : std::string_view();
      if (!line || !line->complete) {
        report().torn = text.empty() ? 0 : 1;
        return false;
      }
      ++line_no_;
      if (!text.empty()) TRY_DO(header(text));
      reader.take();
      if (text.empty()) continue;
      skip_ = reader.offset();
      before_ = reader.hash();
      return true;
    }
  }

  Result<void> header(std::string_view text) {
    const auto parsed = parser_.parse(text, kLine);
    if (!parsed.ok()) return unsupported("its first line is not JSON (" + parsed.error().message() + ")");
    if (parsed->text_or("type", "") != "session") return unsupported("its first line is no session header");
    const Value* version = parsed->find("version");
    source_.format = kFormat;
    source_.version = version == nullptr ? 1 : version->is_integer() ? version->integer() : 0;
    if (source_.version < 1 || source_.version > kNewestVersion) {
      return Error(ErrorCode::UNSUPPORTED_FORMAT,
                   fmt::format("'{}' has version {}, this program knows 1 to {}", request_.path, json::canonical(*version), kNewestVersion))
          .with("path", request_.path);
    }
    mapper_.emplace(context_.masker, context_.blobs, source_.version);
    MaskCounts counts;
    source_.header = json::canonical(json::mask(*parsed, context_.masker, parser_.arena(), counts));
    if (const auto at = parse_time(parsed->text_or("timestamp", "")); at.ok()) last_at_ = *at;
    SessionId id;
    if (request_.session) {
      id = *request_.session;
    } else {
      auto named = SessionId::parse(parsed->text_or("id", ""));
      if (!named.ok()) return std::move(named).error().with_message("the header's id cannot name a session; give one with --as");
      id = std::move(named).value();
      if (masked(id.str()) != id.str()) return Error(ErrorCode::INVALID_FIELD, "the header's id looks like a secret; give one with --as");
    }
    TRY(SessionRow row, ensure_session(txn_, id, context_.now));
    appender_.emplace(txn_, std::move(row), context_.now);
    result_.session = id;
    return {};
  }

  // ---- what was imported earlier ----

  // Leaves `skip_` after what is known; if that part of the file is not the same bytes, its lines are compared again.
  Result<void> resume(const std::optional<Position>& from) {
    TRY(const FileStat st, file_.stat());
    source_.path = masked(request_.path);
    source_.device = st.device;
    source_.inode = st.inode;
    if (session().source.empty()) return {};
    TRY(const ImportSource old, ImportSource::decode(session().source));
    if (old.format != kFormat)
      return Error(ErrorCode::UNSUPPORTED_FORMAT, fmt::format("session '{}' was imported from {}", session().id.str(), old.format));
    if (!old.header.empty() && old.header != source_.header) return rewritten(line_no_, "(the header) differs from what was imported");
    known_lines_ = old.lines;
    source_.synced = old.synced;
    TRY(earlier_, txn_.last_seq(session().no));
    bool same = false;
    if (from && from->session == session().id && from->offset == old.offset) {
      same = st.size >= old.offset;
      if (same) before_ = from->hash;
    } else if (old.offset > 0 && st.size >= old.offset) {
      TRY(same, same_beginning(old));
    }
    again_ = !same;
    if (!same) return {};
    skip_ = old.offset;
    line_no_ = old.lines;
    index_ = old.index;
    report().known = source_.entries = old.entries;
    last_tree_id_ = old.last;
    if (const auto id = EntryId::parse(old.last); id.ok()) {
      TRY(const auto last, txn_.find(session().no, *id, Columns::without_body));
      if (last) last_tree_ = last->seq;
    }
    return {};
  }

  Result<bool> same_beginning(const ImportSource& old) {
    TRY_DO(file_.seek(0));
    Sha256 hash;
    std::string buffer(kHashBytes, '\0');
    std::uint64_t left = old.offset;
    while (left > 0) {
      TRY(const std::size_t n, file_.read(buffer.data(), static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()))));
      if (n == 0) return false;
      hash.update(std::string_view(buffer).substr(0, n));
      left -= n;
    }
    Sha256 copy = hash;
    if (copy.finish().hex() != old.prefix_sha256) return false;
    before_ = hash;
    return true;
  }

  // ---- the lines ----

  Result<void> take_lines() {
    TRY_DO(file_.seek(skip_));
    TRY(const FileStat st, file_.stat());
    const std::uint64_t left = st.size > skip_ ? st.size - skip_ : 0;
    LineMill mill(file_, {skip_, line_no_, before_}, *mapper_, source_.version == 1, left);
    for (;;) {
      TRY(auto line, mill.next());
      if (!line) break;
      line_no_ = line->line_no;
      TRY_DO(take_line(*line));
      if (line_no_ % kLinesPerProgress == 0) TRY_DO(tell(line->offset));
    }
    const LineMill::End& end = mill.end();
    TRY_DO(tell(end.offset));
    report().torn = end.torn;
    report().lines = line_no_ = end.line_no;
    offset_ = end.offset;
    before_ = end.hash;
    return {};
  }

  Result<void> tell(std::uint64_t offset) {
    if (progress_({offset, line_no_, report().entries})) return {};
    return Error(ErrorCode::CANCELLED, "the import was interrupted; the store is as it was");
  }

  Result<void> take_line(Milled& line) {
    if (source_.version == 1) TRY_DO(mapper_->turn(line, LineMapper::Before{&index_, last_tree_id_}, [](Mapped&, json::Arena&) {}));
    bool note_parent = false;
    TRY(const Seq parent, place(line, note_parent));
    if (context_.complete) TRY_DO(context_.complete(txn_, session(), line.type, line.body, parent));
    TRY(const Chosen chosen, choose_id(line, parent));
    const bool note_id = line.id && chosen.id != *line.id;
    // Its text has it all.
    if (line.malformed.empty() && (note_parent || note_id)) {
      TRY_DO(turn_again(line, note_parent, note_id));
      if (context_.complete) TRY_DO(context_.complete(txn_, session(), line.type, line.body, parent));
    }
    if (!line.malformed.empty()) {
      report().malformed.push_back({line_no_, masked(line.malformed)});
    } else if (!line.unknown.empty()) {
      ++report().unknown[masked(line.unknown)];
    }
    if (line.at) last_at_ = *line.at;
    NewEntry entry;
    entry.type = std::move(line.type);
    entry.body = std::move(line.body);
    entry.imported = !line.native;
    entry.id = EntryId::trusted(chosen.id);
    entry.id_is_free = chosen.is_free;
    entry.at = last_at_;
    TRY_DO(store(entry, line, parent));
    if (chosen.by_line && line.id) renamed_[*line.id] = last_tree_;
    return {};
  }

  // With what was decided against the source kept beside the body.
  Result<void> turn_again(Milled& line, bool note_parent, bool note_id) {
    const auto note = [&](Mapped& mapped, json::Arena& arena) {
      if (note_parent) mapped.body = note_in_extra(mapped.body, "parentId", Value(mapped.parent), arena);
      if (note_id) mapped.body = note_in_extra(mapped.body, "id", Value(*mapped.id), arena);
    };
    std::optional<LineMapper::Before> before;
    std::size_t index = index_ - 1;
    if (source_.version == 1) before = LineMapper::Before{&index, last_tree_id_};
    LineMapper mapper(context_.masker, context_.blobs, source_.version);
    return mapper.turn(line, before, note);
  }

  // Under the parent it names, or beside the tree. `note`: that is not what the line says.
  Result<Seq> place(const Milled& line, bool& note) {
    if (line.side || (line.has_parent && line.parent == last_tree_id_)) return last_tree_;
    if (!line.has_parent) return Seq{0};
    TRY(Seq parent, find_renamed(line.parent));
    if (parent != 0) {
      note = true;
      return parent;
    }
    bool renamed = false;
    // Of several entries with the source's id the one met last is meant; later lines may be there already.
    for (int n = last_number(line.parent, 1);; ++n) {
      const auto id = EntryId::parse(numbered(line.parent, n));
      if (!id.ok()) break;
      TRY(const auto found, txn_.find(session().no, *id, Columns::without_body));
      if (!found || (again_ && !met_.contains(id->str()))) break;
      parent = found->seq;
      renamed = n > 1;
    }
    report().orphans += parent == 0;
    note = parent == 0 || renamed;
    return parent;
  }

  // The line before whose source's id could not be an entry's; 0 if there is none.
  Result<Seq> find_renamed(const std::string& id) {
    if (const auto it = renamed_.find(id); it != renamed_.end()) return it->second;
    if (again_ || earlier_ == 0 || usable(id)) return Seq{0};
    TRY_DO(look_back());
    const auto it = renamed_earlier_.find(masked(id));
    return it == renamed_earlier_.end() ? Seq{0} : it->second;
  }

  bool usable(const std::string& id) const {
    MaskCounts secrets;
    return EntryId::parse(id).ok() && !context_.masker.mask(id, secrets);
  }

  struct Chosen {
    std::string id;
    bool is_free = false;
    bool by_line = false;  // named by its place in the file
  };
  // Format 1 names lines `l` and an index, which is not the line's number.
  Chosen by_line() const { return {fmt::format("{}{}", source_.version == 1 ? 'm' : 'l', line_no_), false, true}; }

  // The source's own id if it is free, else numbered. When lines are compared again, the id the line was given then.
  Result<Chosen> choose_id(const Milled& line, Seq parent) {
    Chosen wanted = line.id && usable(*line.id) ? Chosen{*line.id} : by_line();
    for (int n = last_number(wanted.id, 0) + 1;; ++n) {
      std::string id = numbered(wanted.id, n);
      if (!EntryId::parse(id).ok()) {
        // The number made it too long.
        wanted = by_line();
        n = last_number(wanted.id, 0);
        continue;
      }
      TRY(const auto found, txn_.find(session().no, EntryId::trusted(id), Columns::without_body));
      if (found) {
        TRY(const bool this_line, is_this_line(*found, line, parent));
        if (!this_line) continue;
      }
      if (again_ && !found && line_no_ <= known_lines_) return rewritten(line_no_, "was not there when the file was imported");
      if (again_ || found) met_.insert(id);
      if (n > 1) numbers_[wanted.id] = n;
      return Chosen{std::move(id), !found, wanted.by_line};
    }
  }

  // Is it the line's own entry, by an earlier import or a sync, and not one whose id the line only shares?
  Result<bool> is_this_line(const Entry& found, const Milled& line, Seq parent) {
    if (!(found.imported || line.native) || met_.contains(found.id.str())) return false;
    if (again_) return true;  // other content is then a change
    const bool maybe_synced = source_.synced != 0 && found.seq >= source_.synced && found.seq <= earlier_;
    return maybe_synced ? appender_->same(found, line.type, line.body.hash, parent) : Result<bool>(false);
  }

  // The last number this pass gave to an id of the source.
  int last_number(std::string_view id, int none) const {
    const auto it = numbers_.find(id);
    return it == numbers_.end() ? none : it->second;
  }

  Result<void> store(const NewEntry& entry, const Milled& line, Seq parent) {
    auto item = appender_->add(entry, parent, true);
    if (!item.ok() && item.error().code() == ErrorCode::ID_REUSED && again_) {
      return rewritten(line_no_, "differs from what was imported").with("entry", entry.id->str());
    }
    TRY_DO(item);
    TRY(const bool branches, note_child(line, parent, !item->known));
    if (item->known) {
      ++report().known;
    } else {
      report().branches += branches;
      count(entry.type, line);
      if (request_.list_added) result_.added.push_back(*item);
    }
    if (!line.side) {
      last_tree_ = item->seq;
      last_tree_id_ = item->id.str();
    }
    return {};
  }

  void count(std::string_view type, const Milled& line) {
    ++report().entries;
    report().messages += type == types::kMessage;
    report().compactions += type == types::kCompaction;
    report().side += line.side;
    for (const auto& [family, count] : line.masked) report().masked[family] += count;
  }

  // Had the parent a child in the tree before this one?
  Result<bool> note_child(const Milled& line, Seq parent, bool is_new) {
    if (line.side || parent == 0) return false;
    // The line before has none yet.
    if (is_new && !again_ && parent <= earlier_ && parent != last_tree_) TRY_DO(look_back());
    if (has_child_.size() <= parent) has_child_.resize(parent + 1024);
    const bool had = has_child_[parent];
    has_child_[parent] = true;
    return had;
  }

  // What a whole file tells of its earlier lines, for lines that go on from an earlier import. One scan, and only for
  // a line that goes under another entry than the one before it.
  Result<void> look_back() {
    if (looked_back_) return {};
    looked_back_ = true;
    has_child_.resize(earlier_ + 1024);
    std::vector<Seq> by_line;
    TRY_DO(txn_.scan(session().no, 1, earlier_, Order::forward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
      const std::string& id = entry.id.str();
      if (entry.imported && id.size() > 1 && (id[0] == 'l' || id[0] == 'm') && id[1] >= '1' && id[1] <= '9') {
        by_line.push_back(entry.seq);
      } else {
        has_child_[entry.parent] = true;
      }
      return true;
    }));
    json::Parser parser;
    for (const Seq seq : by_line) {
      TRY(const auto entry, txn_.entry(session().no, seq));
      if (!is_side(entry->type, entry->body)) has_child_[entry->parent] = true;
      TRY(const Value body, parser.parse_stored(entry->body));
      const Value* extra = body.find("extra");
      const std::string id(extra == nullptr ? "" : extra->text_or("id", ""));
      if (!id.empty() && id != entry->id.str()) renamed_earlier_[id] = seq;
    }
    return {};
  }

  // ---- the end ----

  Result<void> finish() {
    if (request_.strict && !report().clean()) return {};  // the caller takes everything back
    source_.offset = offset_;
    source_.lines = line_no_;
    source_.index = index_;
    source_.entries = report().known + report().entries;
    Sha256 copy = before_;
    source_.prefix_sha256 = copy.finish().hex();
    source_.last = last_tree_id_;
    TRY(const auto standing, txn_.head(session().no, main_head()));
    if (report().entries > 0 || !standing) TRY_DO(txn_.set_head(session().no, main_head(), last_tree_));
    TRY_DO(txn_.set_source(session().no, source_.encode()));
    if (report().entries > 0) TRY_DO(txn_.add_masked(session().no, report().masked));
    result_.position = Position{session().id, offset_, before_};
    return {};
  }

  LogTxn& txn_;
  ReadableFile& file_;
  const ImportRequest& request_;
  const ImportContext& context_;
  std::optional<LineMapper> mapper_;
  FunctionRef<bool(const ImportProgress&)> progress_;
  json::Parser parser_;

  ImportResult result_;
  ImportSource source_;
  std::optional<Appender> appender_;
  std::uint64_t skip_ = 0, offset_ = 0;  // where the new lines begin, where they end
  Sha256 before_;                        // of everything before that
  std::uint64_t line_no_ = 0;
  std::size_t index_ = 0;  // format 1: the line's place among those that could be read; the header is 0

  bool again_ = false;                               // lines imported earlier are met once more, and compared
  std::uint64_t known_lines_ = 0;                    // how many there were
  std::set<std::string> met_;                        // ids of entries found again in this pass; when comparing, all ids
  std::map<std::string, int, std::less<>> numbers_;  // by the source's id, where it was used more than once
  std::map<std::string, Seq> renamed_;               // by a source's id that no entry can have, its last line of this pass

  Seq earlier_ = 0;  // the last entry before this pass
  bool looked_back_ = false;
  std::map<std::string, Seq> renamed_earlier_;  // as renamed_, by the id as it was stored

  Seq last_tree_ = 0;  // the tree entry before the line at hand
  std::string last_tree_id_;
  TimeMs last_at_;
  std::vector<bool> has_child_;  // by seq: in the tree
};

}  // namespace

bool holds_blob_object(const Value& value) {
  for (const Value& item : value.items()) {
    if (holds_blob_object(item)) return true;
  }
  for (const json::Member& member : value.members()) {
    if (member.key == "$blob" || holds_blob_object(member.value)) return true;
  }
  return false;
}

Result<ImportResult> import_file(LogTxn& txn, ReadableFile& file, const ImportRequest& request, const std::optional<Position>& from,
                                 const ImportContext& context, FunctionRef<bool(const ImportProgress&)> progress) {
  return FileImport(txn, file, request, context, progress).run(from);
}

}  // namespace weir::pi
