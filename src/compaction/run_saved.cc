// A folded state as bytes and back. It is a cache beside the log: whatever does not fit is computed again.
#include <cstring>
#include <type_traits>

#include "compaction/run_fold.h"
#include "session/fold_engine.h"

namespace weir::compaction {
namespace {

// One list of members for both ways: `io` writes them or reads them.
template <typename Io>
void transfer(Io& io, Pointer& v) {
  io(v.bits);
}
template <typename Io>
void transfer(Io& io, Place& v) {
  io(v.pos, v.pointer, v.seq, v.id);
}
template <typename Io>
void transfer(Io& io, Thresholds& v) {
  io(v.event_threshold, v.n_step_fallback, v.plain_bytes_threshold);
}
template <typename Io>
void transfer(Io& io, Run& v) {
  io(v.entry, v.pos, v.objective, v.done_definition, v.quotes_checked, v.policy_snapshot_ref, v.budgets, v.require_manifests, v.index_id,
     v.corpus_id);
}
template <typename Io>
void transfer(Io& io, Span& v) {
  io(v.unit, v.start, v.end);
}
template <typename Io>
void transfer(Io& io, Source& v) {
  io(v.title, v.uri, v.blob, v.index_id, v.corpus_id, v.sha256, v.bytes);
}
template <typename Io>
void transfer(Io& io, Chunk& v) {
  io(v.source_id, v.span, v.sha256, v.bytes, v.blob, v.delivered);
}
template <typename Io>
void transfer(Io& io, Evidence& v) {
  io(v.index_id, v.corpus_id, v.source_id, v.chunk_id, v.span, v.quote_sha256, v.quote_bytes);
}
template <typename Io>
void transfer(Io& io, Citing& v) {
  io(v.claims, v.conflicts);
}
template <typename Io>
void transfer(Io& io, Claim& v) {
  io(v.status, v.statement, v.status_reason, v.refs, v.withdrawn, v.first_entry, v.verified_entry);
}
template <typename Io>
void transfer(Io& io, Conflict& v) {
  io(v.description, v.side_a, v.side_b, v.resolved, v.resolution, v.first_entry);
}
template <typename Io>
void transfer(Io& io, Question& v) {
  io(v.text, v.entry);
}
template <typename Io>
void transfer(Io& io, Failure& v) {
  io(v.category, v.where, v.why, v.status, v.occurrence_count, v.last_seen_step_id, v.first_entry, v.last_entry);
}
template <typename Io>
void transfer(Io& io, Anomaly& v) {
  io(v.text, v.entry, v.ledger);
}
template <typename Io>
void transfer(Io& io, Manifest& v) {
  io(v.id, v.pos, v.hashes);
}
template <typename Io>
void transfer(Io& io, Retrieval& v) {
  io(v.queries, v.zero_result_queries, v.candidates, v.selected, v.excluded, v.filters, v.ids);
}
template <typename Io>
void transfer(Io& io, StepMark& v) {
  io(v.step_id, v.pos);
}
template <typename Io>
void transfer(Io& io, OpenStep& v) {
  io(v.step_id, v.entry);
}
template <typename Io>
void transfer(Io& io, Accepted& v) {
  io(v.snapshot_id, v.sequence, v.last_pos, v.first, v.last, v.first_after, v.holder);
}
template <typename Io>
void transfer(Io& io, NextActions& v) {
  io(v.entry, v.actions);
}
template <typename Io>
void transfer(Io& io, Stop& v) {
  io(v.stop_reason, v.limit_type, v.diagnostic, v.entry);
}
template <typename Io>
void transfer(Io& io, FailedAttempt& v) {
  io(v.attempt, v.cut);
}
template <typename Io>
void transfer(Io& io, Text& v) {
  io(v.opening, v.bytes, v.whole);
}
template <typename Io>
void transfer(Io& io, Request& v) {
  io(v.entry, v.text);
}
template <typename Io>
void transfer(Io& io, SystemMessage& v) {
  io(v.entry, v.seq, v.text);
}
template <typename Io>
void transfer(Io& io, File& v) {
  io(v.reads, v.changes, v.last_read, v.last_change, v.sha256);
}
template <typename Io>
void transfer(Io& io, Command& v) {
  io(v.tool, v.command, v.bytes, v.runs, v.errors, v.last_entry);
}
template <typename Io>
void transfer(Io& io, Todo& v) {
  io(v.item, v.status);
}
template <typename Io>
void transfer(Io& io, Todos& v) {
  io(v.entry, v.items);
}
template <typename Io>
void transfer(Io& io, Call& v) {
  io(v.entry, v.tool, v.kind, v.paths, v.command_opening, v.command_key, v.command_line, v.command_bytes, v.sha256, v.todos, v.has_todos,
     v.request);
}
template <typename Io>
void transfer(Io& io, Carry& v) {
  io(v.first_request, v.latest_request, v.last_reply, v.answered, v.request_count, v.requests, v.system, v.pins, v.messages, v.files,
     v.commands, v.todos, v.calls, v.cwd, v.tool_classes);
}
template <typename Io>
void transfer(Io& io, RunState& v) {
  io(v.pos, v.first, v.cut, v.run, v.thresholds, v.step_id, v.open_step, v.step_marks, v.steps_with_manifest);
  io(v.counted, v.steps, v.step_types, v.message_bytes, v.counted_entries);
  io(v.barrier, v.bare_barrier, v.barrier_first, v.barrier_last, v.barrier_first_after, v.dirty, v.dirty_since_barrier, v.accepted,
     v.failed, v.first_failed);
  io(v.stop, v.anomalies, v.claims, v.sources, v.chunks, v.evidence, v.citing, v.withdrawn, v.conflicts, v.open_questions, v.question_ids,
     v.failures);
  io(v.next_actions, v.manifests, v.retrieval, v.source_ids_seen, v.chunk_ids_seen, v.carry);
}

template <typename T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <typename Io, typename T>
concept SelfTransferred = requires(Io& io, T& value) { value.transfer(io); };

class Writer {
 public:
  explicit Writer(PartSink* sink) : sink_(sink) {}
  std::string out;

  template <typename... Ts>
  void operator()(Ts&... values) {
    (one(values), ...);
  }

 private:
  template <Plain T>
  void one(const T& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void one(const std::string& text) {
    one(text.size());
    out += text;
  }
  void one(const IdIndex& index) { index.save(out, sink_); }
  template <typename T>
  void one(const std::optional<T>& value) {
    one(value.has_value());
    if (value) one(*value);
  }
  template <typename T>
  void one(const std::shared_ptr<const T>& value) {
    one(value != nullptr);
    if (value != nullptr) one(*value);
  }
  template <typename T>
  void one(const std::vector<T>& list) {
    one(list.size());
    for (const T& item : list) one(item);
  }
  template <typename T, std::size_t N>
  void one(const PVec<T, N>& list) {
    list.save(out, sink_, [](std::string& to, const T& item) {
      Writer writer(nullptr);
      writer(const_cast<T&>(item));
      to += writer.out;
    });
  }
  template <typename K, typename V>
  void one(const PMap<K, V>& map) {
    one(map.size());
    map.each([&](const K& key, const V& value) {
      one(key);
      one(value);
    });
  }
  // The lists of members take what they may also read into; here nothing is changed.
  template <typename T>
    requires SelfTransferred<Writer, T>
  void one(const T& value) {
    const_cast<T&>(value).transfer(*this);
  }
  template <typename T>
  void one(const T& value) {
    transfer(*this, const_cast<T&>(value));
  }

  PartSink* const sink_;
};

class Reader {
 public:
  Reader(std::string_view in, std::shared_ptr<Parts> parts) : in_(in), parts_(std::move(parts)) {}
  bool ok() const { return ok_ && in_.empty(); }
  // What is left behind the values that were read; nothing if they were not there.
  std::optional<std::string_view> rest() const { return ok_ ? std::optional(in_) : std::nullopt; }

  template <typename... Ts>
  void operator()(Ts&... values) {
    (one(values), ...);
  }

 private:
  template <Plain T>
    requires(!std::is_same_v<T, bool>)
  void one(T& value) {
    if (in_.size() < sizeof value) {
      ok_ = false;
      in_ = {};
      return;
    }
    std::memcpy(&value, in_.data(), sizeof value);
    in_.remove_prefix(sizeof value);
  }
  void one(bool& value) {
    unsigned char byte = 0;
    one(byte);
    ok_ = ok_ && byte <= 1;
    value = byte == 1;
  }
  // A count of things, each of which takes at least a byte.
  std::size_t count() {
    std::size_t size = 0;
    one(size);
    if (size > in_.size()) {
      ok_ = false;
      return 0;
    }
    return size;
  }
  void one(std::string& text) {
    const std::size_t size = count();
    text = in_.substr(0, size);
    in_.remove_prefix(size);
  }
  void one(IdIndex& index) { take(index.load(in_, parts_)); }
  template <typename T>
  void one(std::optional<T>& value) {
    bool there = false;
    one(there);
    if (there) one(value.emplace());
  }
  template <typename T>
  void one(std::shared_ptr<const T>& value) {
    bool there = false;
    one(there);
    if (!there) return;
    auto made = std::make_shared<T>();
    one(*made);
    value = std::move(made);
  }
  template <typename T>
  void one(std::vector<T>& list) {
    list.resize(count());
    for (T& item : list) one(item);
  }
  template <typename T, std::size_t N>
  void one(PVec<T, N>& list) {
    take(list.load(in_, parts_, [](std::string_view& in, T& item) {
      Reader reader(in, nullptr);
      reader(item);
      const auto rest = reader.rest();
      if (rest) in = *rest;
      return rest.has_value();
    }));
  }
  template <typename K, typename V>
  void one(PMap<K, V>& map) {
    for (std::size_t left = count(); left > 0 && ok_; --left) {
      K key{};
      one(key);
      one(map[key]);
    }
  }
  template <typename T>
    requires SelfTransferred<Reader, T>
  void one(T& value) {
    value.transfer(*this);
  }
  template <typename T>
  void one(T& value) {
    transfer(*this, value);
  }

  void take(bool there) {
    ok_ = ok_ && there;
    if (!ok_) in_ = {};
  }

  std::string_view in_;
  const std::shared_ptr<Parts> parts_;
  bool ok_ = true;
};

}  // namespace

std::string RunFold::save(const State& state, PartSink* sink) {
  Writer writer(sink);
  transfer(writer, const_cast<State&>(state));
  return std::move(writer.out);
}

Result<RunState> RunFold::load(std::string_view text, std::shared_ptr<Parts> parts) {
  Reader reader(text, std::move(parts));
  State state;
  transfer(reader, state);
  if (!reader.ok()) return Error(ErrorCode::CORRUPT, "a saved run state cannot be read");
  return state;
}

std::size_t RunFold::bytes(const State& state) {
  return root_bytes(state) + state.manifests.size() * sizeof(Manifest) + state.step_marks.size() * sizeof(StepMark) +
         state.accepted.size() * sizeof(Accepted) + state.steps_with_manifest.bytes() + state.retrieval.ids.bytes() +
         state.question_ids.bytes() + state.carry.messages.bytes();
}

std::size_t RunFold::root_bytes(const State& state) {
  constexpr std::size_t kChunk = 128;  // of each list and index, a key for so many
  const Carry& carry = state.carry;
  std::size_t bytes = sizeof(State) + 4 * sizeof(PartKey) * state.pos / kChunk;
  bytes += state.claims.bytes() + state.sources.bytes() + state.chunks.bytes() + state.evidence.bytes() + state.citing.bytes() +
           state.conflicts.bytes() + state.open_questions.bytes() + state.failures.bytes() + state.source_ids_seen.bytes() +
           state.chunk_ids_seen.bytes();
  bytes += carry.requests.bytes() + carry.system.bytes() + carry.files.bytes() + carry.commands.bytes() + carry.calls.bytes();
  for (const auto& request : {carry.first_request, carry.latest_request, carry.last_reply}) {
    if (request != nullptr) bytes += sizeof *request + request->text.opening.size();
  }
  return bytes;
}

}  // namespace weir::compaction

template class weir::FoldEngine<weir::compaction::RunFold>;
