#include "importers/pi_mill.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "base/memory.h"
#include "importers/lines.h"
#include "importers/pi.h"
#include "json/sort_members.h"

namespace weir::pi {
namespace {

constexpr std::uint64_t kWorthAThread = limits::kMiB;
constexpr std::size_t kBatchBytes = 256 * limits::kKiB;
constexpr std::size_t kBatchesAhead = 4;

}  // namespace

// ---- one line ----

Result<void> LineMapper::turn(Milled& out, const std::optional<Before>& before, FunctionRef<void(Mapped&, json::Arena&)> revise) {
  Mapped mapped;
  mapped.side = true;
  out.malformed = map(out.text, before, mapped);
  if (out.malformed.empty()) {
    revise(mapped, parser_.arena());
    auto prepared = prepare(mapped, out);
    if (prepared.ok() || prepared.error().code() != ErrorCode::LIMIT_EXCEEDED) return prepared;
    out.malformed = prepared.error().message();
  }
  return prepare(keep_as_text(mapped, out.text, parser_.arena()), out);
}

// A line that Weir wrote is one level deeper than the body in it, which may be as deep as an edge allows. `only_own`:
// it is good for nothing else.
Result<json::Value> LineMapper::parse(std::string_view text, bool& only_own) {
  auto parsed = parser_.parse(text, kLine);
  if (parsed.ok() || text.find("\"weir:") == std::string_view::npos) return parsed;
  json::Parser::Options deeper = kLine;
  deeper.depth = limits::kDepth + 1;
  auto own = parser_.parse(text, deeper);
  only_own = own.ok();
  return only_own ? std::move(own) : std::move(parsed);
}

// Why the line is malformed, if it is; `mapped` then says where it stands, if it can be read so far.
std::string LineMapper::map(std::string_view text, const std::optional<Before>& before, Mapped& mapped) {
  bool only_own = false;
  const auto parsed = parse(text, only_own);
  json::Arena& arena = parser_.arena();
  if (!parsed.ok()) return parsed.error().message();
  if (before) ++*before->index;  // pi counts whatever is JSON
  if (!parsed->is_object()) return "not an object";
  if (parsed->text_or("type", "").empty()) return "no type";
  json::Value line = *parsed;
  if (before) line = upgrade_v1(line, *before->index, before->last_id, arena);
  if (version_ <= 2) line = upgrade_v2(line, arena);
  mapped = map_line(line, arena);
  if (only_own && !mapped.native) return json::too_deep(limits::kDepth).message();
  if (text.find("\"$blob\"") != std::string_view::npos && holds_blob_object(*parsed))
    return "holds an object with the key $blob, which names blobs of Weir";
  if (parser_.repaired()) mapped.body = note_in_extra(mapped.body, "pi_text", json::Value(text), arena);
  return "";
}

Result<void> LineMapper::prepare(const Mapped& mapped, Milled& out) {
  auto body = preparer_.prepare(mapped.type, mapped.body, parser_.arena());
  out.masked = preparer_.take_masked();
  TRY(out.body, std::move(body));
  out.type = mapped.type;
  out.id = mapped.id;
  out.has_parent = mapped.has_parent;
  out.parent = mapped.parent;
  out.side = mapped.side;
  out.native = mapped.native;
  out.at = mapped.at;
  out.unknown = mapped.unknown;
  return {};
}

// ---- the file's lines, one at a time ----

class LineMill::Source {
 public:
  Source(ReadableFile& file, const Start& start, LineMapper& mapper, bool only_read)
      : reader_(file, start.offset, start.before), mapper_(mapper), only_read_(only_read) {
    end_.line_no = start.line_no;
  }

  Result<std::optional<Milled>> next() {
    for (;;) {
      TRY(const auto line, reader_.next());
      const std::string_view text = line ? trimmed_line(line->text) : std::string_view();
      if (!line || !line->complete) return finish(!text.empty());
      Milled milled;
      milled.text = text;
      // A last line that is not JSON yet is left for the next time.
      if (!text.empty() && line->last && !whole(text)) return finish(true);
      if (!text.empty() && !only_read_) TRY_DO(mapper_.turn(milled));
      reader_.take();
      milled.line_no = ++end_.line_no;
      milled.offset = reader_.offset();
      if (!text.empty()) return std::optional(std::move(milled));
    }
  }

  const End& end() const { return end_; }

 private:
  std::optional<Milled> finish(bool torn) {
    end_.torn = torn;
    end_.offset = reader_.offset();
    end_.hash = reader_.hash();
    return std::nullopt;
  }

  static bool whole(std::string_view text) {
    return json::Parser().parse(text, {.repair_surrogates = true, .depth = limits::kStoredDepth}).ok();
  }

  LineReader reader_;
  LineMapper& mapper_;
  const bool only_read_;
  End end_;
};

// ---- ahead of whoever asks ----

class LineMill::Ahead {
 public:
  explicit Ahead(Source& source) : thread_([this, &source] { work(source); }) {}
  ~Ahead() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  Result<std::optional<Milled>> next() {
    if (at_ == batch_.lines.size()) {
      if (batch_.ended) return std::move(batch_.end);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !batches_.empty(); });
      batch_ = std::move(batches_.front());
      batches_.pop_front();
      at_ = 0;
      lock.unlock();
      changed_.notify_all();
      return next();
    }
    return std::optional(std::move(batch_.lines[at_++]));
  }

 private:
  struct Batch {
    std::vector<Milled> lines;
    bool ended = false;
    Result<std::optional<Milled>> end = std::optional<Milled>();  // nothing, or why it ended
  };

  void work(Source& source) {
    for (bool ended = false; !ended;) {
      Batch batch;
      for (std::size_t bytes = 0; bytes < kBatchBytes && !ended;) {
        bool more = false;
        auto end = within_memory([&]() -> Result<std::optional<Milled>> {
          TRY(auto line, source.next());
          more = line.has_value();
          if (more) {
            bytes += line->text.size() + sizeof(Milled);
            batch.lines.push_back(std::move(*line));
          }
          return std::optional<Milled>();
        });
        if (more && end.ok()) continue;
        batch.ended = ended = true;
        batch.end = std::move(end);
      }
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || batches_.size() < kBatchesAhead; });
      if (stopped_) return;
      batches_.push_back(std::move(batch));
      lock.unlock();
      changed_.notify_all();
    }
  }

  Batch batch_;  // the caller's
  std::size_t at_ = 0;

  std::mutex mutex_;  // batches_, stopped_
  std::condition_variable changed_;
  std::deque<Batch> batches_;
  bool stopped_ = false;
  std::thread thread_;  // last: it uses all of the above
};

LineMill::LineMill(ReadableFile& file, Start start, LineMapper& mapper, bool only_read, std::uint64_t bytes_left)
    : source_(std::make_unique<Source>(file, start, mapper, only_read)) {
  if (only_read || bytes_left < kWorthAThread) return;
  try {
    ahead_ = std::make_unique<Ahead>(*source_);
  } catch (const std::system_error&) {
    // The system gives no more threads: it is done in this one.
  }
}
LineMill::~LineMill() = default;

Result<std::optional<Milled>> LineMill::next() { return ahead_ != nullptr ? ahead_->next() : source_->next(); }
const LineMill::End& LineMill::end() const { return source_->end(); }

}  // namespace weir::pi
