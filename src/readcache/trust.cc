#include "readcache/trust.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/paths.h"
#include "base/sha256.h"
#include "session/bodies.h"
#include "session/fold_engine.h"
#include "session/message_text.h"
#include "session/types.h"

namespace weir {
namespace {

using json::Value;

std::shared_ptr<const Showing> shared(Showing showing) { return std::make_shared<const Showing>(std::move(showing)); }

// The lines a marker or diff says something about without showing them.
LineRange stands_on(const ReadRecord& record, const PathTrust& trust) {
  if (record.mode == ReadMode::diff) return {1, std::max(record.total_lines, trust.total_of(record.base))};
  return record.from.value_or(record.range);
}

// In which version each of these lines is held.
using Versions = std::vector<std::pair<LineRange, std::string>>;
Versions versions_of(const View& view, LineRange lines) {
  Versions out;
  for (const auto& held : view.in(lines)) {
    const std::string& version = held.value->version;
    if (!out.empty() && out.back().second == version && out.back().first.last + 1 == held.lines.first) {
      out.back().first.last = held.lines.last;
    } else {
      out.emplace_back(held.lines, version);
    }
  }
  return out;
}

// ---- one record on one path ----

class Transition {
 public:
  Transition(PathTrust& trust, const Evidence& evidence) : trust_(trust), record_(*evidence.record), evidence_(evidence) {}

  // False if it does not count.
  bool apply() {
    if ((is_marker(record_.mode) && evidence_.uprooted) || !guard()) {
      if (is_diff(record_.mode) || record_.from) forget_what_it_told();
      return false;
    }
    if (is_diff(record_.mode)) {
      hold_after_diff();
    } else if (is_marker(record_.mode)) {
      hold_as_claimed();
    }
    trust_.slots.set(record_.scope().text(), Slot{record_.served, evidence_.seq});
    if (trust_.total_of(record_.served) != record_.total_lines) trust_.totals.set(record_.served, record_.total_lines);
    if (!is_marker(record_.mode)) show();
    return true;
  }

 private:
  LineRange whole() const { return {1, record_.total_lines}; }

  bool guard() const {
    if (!record_.held.empty() && record_.held != held_under(trust_, record_)) return false;
    const Slot* full = trust_.full_slot();
    switch (record_.mode) {
      case ReadMode::full:
      case ReadMode::full_fallback:
        return true;
      case ReadMode::unchanged:
        return trust_.view.covers(whole()) &&
               ((full != nullptr && full->version == record_.base && record_.base == record_.served) || in_view(whole()));
      case ReadMode::unchanged_range:
        return record_.from ? held_in_base(*record_.from) : trust_.view.covers(record_.range) && is_base();
      case ReadMode::diff:
        return full != nullptr && full->version == record_.base;
      case ReadMode::range_diff:
        return trust_.view.covers({record_.range.first, std::min(record_.range.last, trust_.total_of(record_.base))}) && is_base();
    }
    return false;
  }

  bool in_view(LineRange lines) const {
    const auto held = trust_.view.in(lines);
    return std::any_of(held.begin(), held.end(), [&](const auto& interval) { return interval.value->version == record_.base; });
  }
  bool is_base() const {
    const Slot* own = trust_.slot(record_.scope());
    const Slot* full = trust_.full_slot();
    return (own != nullptr && own->version == record_.base) || (full != nullptr && full->version == record_.base) || in_view(record_.range);
  }
  bool held_in_base(LineRange lines) const {
    const auto held = trust_.view.in(lines);
    return trust_.view.covers(lines) &&
           std::all_of(held.begin(), held.end(), [&](const auto& interval) { return interval.value->version == record_.base; });
  }

  // Lines whose text did not change are held in the version served, from the entries that showed them.
  void hold_as_claimed() {
    const LineRange source = record_.from.value_or(record_.range);
    const LineNo target = record_.range.first;
    for (const auto& held : trust_.view.in(source)) {
      const LineRange lines{held.lines.first - source.first + target, held.lines.last - source.first + target};
      Showing showing = *held.value;
      showing.version = record_.served;
      showing.seq = evidence_.seq;
      trust_.view.set(lines, shared(std::move(showing)));
    }
  }

  void hold_after_diff() {
    const std::vector<LineRange> known = record_.known.value_or(std::vector<LineRange>{record_.range});
    const LineNo base_total = trust_.total_of(record_.base);
    const bool held =
        !evidence_.uprooted && (record_.mode == ReadMode::range_diff || (base_total > 0 && trust_.view.covers({1, base_total})));
    forget_what_it_told();
    if (!held) return;
    const auto by = showing();
    for (const LineRange lines : known) trust_.view.set(lines, by);
  }

  // A diff put new text before the model, and a shifted marker said which text is there, whether they count or not: what
  // was shown at those lines before is not the last that was said of them.
  void forget_what_it_told() {
    if (record_.mode == ReadMode::diff) {
      trust_.view = View();
      return;
    }
    trust_.view.erase(record_.range);
    if (record_.mode == ReadMode::range_diff) forget_beyond_end();
  }

  void forget_beyond_end() { trust_.view.erase({record_.total_lines + 1, kLastLine}); }

  std::shared_ptr<const Showing> showing() const {
    return shared({record_.served, evidence_.seq, evidence_.entry, evidence_.seq, evidence_.turn, record_.total_lines});
  }

  void show() {
    const auto by = showing();
    for (const LineRange lines : record_.shown) {
      trust_.view.set(lines, by);
      trust_.blocked.erase(lines);
    }
    forget_beyond_end();
  }

  PathTrust& trust_;
  const ReadRecord& record_;
  const Evidence& evidence_;
};

void apply_refresh(PathTrust& trust, const ReadScope& scope) {
  if (scope.full) {
    const auto evidence = trust.evidence;
    trust = PathTrust();
    trust.evidence = evidence;
    return;
  }
  trust.slots.erase(scope.text());
  trust.blocked.set(scope.lines, true);
}

void forget_oldest(View& view, std::size_t most) {
  if (view.size() <= most) return;
  std::vector<std::pair<std::uint64_t, LineRange>> by_age;
  view.each([&](LineRange lines, const auto& showing) { by_age.push_back({showing->seq, lines}); });
  std::stable_sort(by_age.begin(), by_age.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i + most < by_age.size(); ++i) view.erase(by_age[i].second);
}

// False if it does not count.
bool apply(PathTrust& trust, const Evidence& evidence, std::size_t view_intervals) {
  if (evidence.record == nullptr) {
    apply_refresh(trust, evidence.refresh);
    return true;
  }
  // What was shown where nobody tells of compactions is no ground for a claim, and no part of one.
  const bool proves = evidence.record->reason != "not_followed";
  if (proves != trust.proven) apply_refresh(trust, {});
  trust.proven = proves;
  const bool counts = Transition(trust, evidence).apply();
  trust.told = {evidence.record->asked_as(), evidence.record->served, evidence.entry};
  forget_oldest(trust.view, view_intervals);
  return counts;
}

// ---- names ----

constexpr LineRange kAllLines{1, kLastLine};

std::shared_ptr<const Named> nobody_knows(std::uint64_t seq) { return std::make_shared<const Named>(Named{{}, {}, seq}); }

// A name as it was asked for, and as it reads without `..`: behind a link that leads elsewhere than it reads, so the plain spelling may
// be another file's name, or this one's.
std::vector<std::string> spellings(const std::string& name) {
  std::string plain = clean_path(name);
  if (plain == name) return {name};
  return {name, std::move(plain)};
}

// The lines that an answer speaks of.
LineRange told_by(const ReadRecord& record) {
  const bool whole = is_anchor(record.mode) || record.mode == ReadMode::diff || record.mode == ReadMode::unchanged;
  return whole ? LineRange{1, record.total_lines} : record.range;
}

// Of lines that were told as another file's, nobody can say any more what they are held as.
void forget_others(NamedLines& lines, const NamedLines& before, LineRange range, const std::string& path, std::uint64_t seq) {
  for (const auto& other : before.in(range)) {
    if (other.value->path != path) lines.set(other.lines, nobody_knows(seq));
  }
}

// Was any of these lines told as another file's?
bool any_other(const NamedLines& lines, LineRange range, const std::string& path) {
  const auto told = lines.in(range);
  return std::any_of(told.begin(), told.end(), [&](const auto& interval) { return interval.value->path != path; });
}

// An answer under a name. What a marker or diff does not show counts for as much as the file's trust says after it, where the name led
// to the file before: a marker's line by line, a diff's or a shifted marker's if that is so of all that it starts from.
void tell(NamedLines& lines, const ReadRecord& record, const PathTrust& trust, std::uint64_t seq) {
  const LineRange told = told_by(record);
  if (!is_anchor(record.mode)) {
    const NamedLines before = lines;
    lines.set(told, nobody_knows(seq));
    const LineRange start{told.first,
                          record.mode == ReadMode::diff ? trust.total_of(record.base) : std::min(told.last, trust.total_of(record.base))};
    const bool in_place = is_marker(record.mode) && !record.from;
    const bool counts = in_place || !any_other(before, record.from.value_or(start), record.path);
    for (const auto& [held, version] : counts ? versions_of(trust.view, told) : Versions()) {
      lines.set(held, std::make_shared<const Named>(Named{record.path, version, seq}));
    }
    if (in_place) forget_others(lines, before, told, record.path, seq);
  } else if (record.shown == std::vector<LineRange>{told}) {
    lines = {};
  }
  const auto by = std::make_shared<const Named>(Named{record.path, record.served, seq});
  for (const LineRange shown : record.shown) lines.set(shown, by);
}

// The same where the name only reads like the one that was asked for.
void tell_like(NamedLines& lines, const ReadRecord& record, const PathTrust& trust, std::uint64_t seq) {
  const NamedLines before = lines;
  tell(lines, record, trust, seq);
  forget_others(lines, before, kAllLines, record.path, seq);
}

std::size_t bytes_of(const NamedLines& lines) { return lines.size() * 250; }

// ---- without an entry that was taken out of the context ----

// Of these lines, nobody can say what those are held as of which nothing is known.
void leave_gaps_unknown(NamedLines& lines, LineRange told, std::uint64_t seq) {
  const auto known = lines.in(told);
  lines.set(told, nobody_knows(seq));
  for (const auto& interval : known) lines.set(interval.lines, interval.value);
}

using Retold = std::map<std::string, NamedLines, std::less<>>;  // under these names, by what is left

// Whether what the record stands on is the same in both.
bool same_versions(const PathTrust& a, const PathTrust& b, const ReadRecord& record) {
  const LineRange lines = stands_on(record, a);
  return versions_of(a.view, lines) == versions_of(b.view, lines);
}

// What remains of a path's trust. The guards see that lines are held, not in which text: so a marker or diff that was
// answered for other text than is held without that entry does not count any more either.
// `doubted`: nor does what came before it.
PathTrust without(const PathTrust& trust, const std::string& entry, bool doubted, std::size_t view_intervals, std::uint64_t& withdrawn,
                  Retold& retold) {
  PathTrust before, after;
  bool parted = false;  // up to there both are one
  PList<Evidence> evidence;
  const auto forget_told = [&] {
    for (auto& [name, lines] : retold) lines = {};
  };
  const auto tell_again = [&](const Evidence& told, const PathTrust& now) {
    if (told.record == nullptr && told.refresh.full) return forget_told();
    if (told.record == nullptr) return;
    for (const std::string& name : spellings(told.record->asked_as())) {
      const auto put = name == told.record->asked_as() ? tell : tell_like;
      if (const auto it = retold.find(name); it != retold.end()) put(it->second, *told.record, now, told.seq);
    }
  };
  trust.evidence.each([&](const Evidence& each) {
    Evidence left = each;
    if (each.withdrawn) {
      evidence.push_back(std::move(left));
      return;
    }
    if (each.entry.str() == entry) {
      if (!parted) after = before;
      if (doubted) after = PathTrust();
      if (doubted) forget_told();
      // What the lines it covered were before, under its name, is known only as far as this file told them.
      if (each.record != nullptr) {
        for (auto& [name, lines] : retold) leave_gaps_unknown(lines, told_by(*each.record), each.seq);
      }
      parted = true;
      left.withdrawn = true;
      ++withdrawn;
    } else if (parted) {
      const bool derived = each.record != nullptr && !is_anchor(each.record->mode);
      if (derived && !same_versions(before, after, *each.record)) left.uprooted = true;
      apply(after, left, view_intervals);
      tell_again(left, after);
    }
    apply(before, each, view_intervals);
    if (!parted) tell_again(each, before);
    evidence.push_back(std::move(left));
  });
  after.evidence = std::move(evidence);
  return after;
}

// ---- entries ----

constexpr std::uint32_t kBuckets = 4096;

std::uint32_t bucket_of(std::string_view entry) {
  std::uint32_t hash = 2166136261u;
  for (const char c : entry) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash % kBuckets;
}

bool calls_only_read(const MessageBody& message) {
  bool any = false;
  if (message.tool_calls != nullptr) {
    for (const Value& call : message.tool_calls->items()) {
      const Value* function = call.find("function");
      if ((function != nullptr ? function->text_or("name", "") : call.text_or("name", "")) != "read") return false;
      any = true;
    }
  }
  if (message.content == nullptr) return any;
  if (!message.content->is_array()) return any && message.content->is_string() && message.content->text().empty();
  for (const Value& block : message.content->items()) {
    const std::string_view type = block.text_or("type", "");
    // Thinking is for the model itself.
    if (type == "thinking" || type == "redacted_thinking" || (type == "text" && block.text_or("text", "x").empty())) continue;
    if (type != "toolCall" && type != "tool_use" && type != "tool_call") return false;
    if (block.text_or("name", "") != "read") return false;
    any = true;
  }
  return any;
}

// Was the text in the message that which the record speaks of? What is not there cannot contradict.
bool text_matches(const MessageBody& message, const ReadRecord& record) {
  if (record.text_sha256.empty() || message.text_masked || message.content == nullptr) return true;
  return content_sha256(*message.content) == record.text_sha256;
}

class Step {
 public:
  Step(const TrustFold& fold, TrustFold::State& state, const Entry& entry) : fold_(fold), state_(state), entry_(entry) {}

  Result<void> run() {
    if (entry_.type == types::kCompaction) {
      state_ = TrustFold::State();
      state_.boundary = "compaction:" + entry_.id.str();
      return {};
    }
    ++state_.entries;
    if (entry_.type == types::kSessionInfo) return session_info();
    if (entry_.type == types::kLabel || entry_.type == "CONTEXT_MANIFEST_WRITTEN") return {};
    if (entry_.type == types::kCustom) return custom();
    if (!speaks_to_us()) {
      state_.repeat = {};
      return {};
    }
    if (entry_.type == types::kMessage && plain_message()) return {};
    thread_local json::Parser parser;
    TRY(const Value body, stored_body(parser, entry_));
    if (entry_.type == types::kMessage) return message(body);
    if (entry_.type == types::kRead) return read(body);
    if (entry_.type == types::kRefresh) return refresh(body);
    return context_edit(body);
  }

 private:
  bool speaks_to_us() const {
    const std::string_view type = entry_.type;
    return type == types::kMessage || type == types::kRead || type == types::kRefresh || type == types::kContextEdit;
  }

  // Before a host begins to tell of its compactions, and after it has stopped, there may have been some.
  Result<void> session_info() {
    if (entry_.body.find("\"barrier_feed\"") == std::string::npos) return {};
    thread_local json::Parser parser;
    TRY(const Value body, stored_body(parser, entry_));
    const Value* feed = body.find("barrier_feed");
    if (feed == nullptr || !feed->is_boolean()) return {};
    state_.paths = {};
    state_.names = {};
    state_.records = {};
    state_.path_bytes = 0;
    state_.repeat = {};
    return {};
  }

  // A file that is served without a trace was still shown under its name.
  Result<void> custom() {
    state_.repeat = {};
    if (entry_.body.find("\"read_uncached\"") == std::string::npos) return {};
    thread_local json::Parser parser;
    TRY(const Value body, stored_body(parser, entry_));
    const Value* data = body.find("data");
    if (body.text_or("custom_type", "") != "read_uncached" || data == nullptr) return {};
    const std::string path(data->text_or("path", ""));
    // What was shown last is not what is known of it.
    if (const PathTrust* known = state_.paths.find(path)) {
      state_.path_bytes -= known->bytes();
      state_.paths.erase(path);
    }
    for (const std::string& name : spellings(std::string(data->text_or("name", path)))) {
      forget_name(state_, name);
      state_.names[name].last = entry_.id;
    }
    return {};
  }

  // Most messages neither carry a record nor call `read`: that can be seen without parsing them. Their role is at the end of
  // the canonical text, unless something follows it that has parts of its own.
  bool plain_message() {
    const std::string_view body = entry_.body;
    if (body.find("\"read\"") != std::string_view::npos) return false;
    constexpr std::string_view kRole = "\"role\":\"";
    const std::size_t role = body.rfind(kRole);
    if (role == std::string_view::npos || body.find_first_of("{}[]", role) != body.size() - 1) return false;
    state_.turn += body.substr(role + kRole.size()).starts_with("assistant\"");
    state_.repeat = {};
    return true;
  }

  Result<void> message(const Value& body) {
    json::FieldErrors ignored;  // what is wrong in a stored message is no evidence, and nothing more
    const MessageBody message = decode_message(body, "", ignored);
    state_.turn += message.role == Role::assistant;
    if (message.read == nullptr) {
      if (message.role != Role::assistant || !calls_only_read(message)) state_.repeat = {};
      return {};
    }
    record(*message.read, [&](const ReadRecord& record) { return !message.is_error && text_matches(message, record); });
    return {};
  }

  Result<void> read(const Value& body) {
    record(body, [](const ReadRecord&) { return true; });
    return {};
  }

  template <typename IsEvidence>
  void record(const Value& value, IsEvidence&& is_evidence) {
    auto record = parse_read_record(value);
    if (!record) {
      ++state_.malformed;
      state_.repeat = {};
    } else if (!is_evidence(*record)) {
      ++state_.seq;
      ++state_.not_evidence;
      state_.repeat = {};
    } else {
      fold_.take_record(state_, entry_.id, std::move(*record));
    }
  }

  Result<void> refresh(const Value& body) {
    state_.repeat = {};
    if (const auto refresh = parse_refresh(body)) {
      fold_.take_refresh(state_, entry_.id, *refresh);
    } else {
      ++state_.malformed;
    }
    return {};
  }

  Result<void> context_edit(const Value& body) {
    state_.repeat = {};
    fold_.withdraw(state_, body.text_or("target", ""));
    return {};
  }

  const TrustFold& fold_;
  TrustFold::State& state_;
  const Entry& entry_;
};

}  // namespace

std::string held_under(const PathTrust& trust, const ReadRecord& record) {
  std::string text;
  for (const auto& [lines, version] : versions_of(trust.view, stands_on(record, trust))) {
    text += std::to_string(lines.first) + "-" + std::to_string(lines.last) + " " + version + "\n";
  }
  return sha256(text).hex();
}

void RecordsByEntry::add(const EntryId& entry, std::shared_ptr<const ReadRecord> record) {
  buckets_[bucket_of(entry.str())].push_back({entry, std::move(record)});
  ++size_;
}

std::shared_ptr<const ReadRecord> RecordsByEntry::find(std::string_view entry) const {
  std::shared_ptr<const ReadRecord> found;
  if (const auto* bucket = buckets_.find(bucket_of(entry))) {
    bucket->each([&](const Carried& carried) {
      if (carried.entry.str() == entry) found = carried.record;
    });
  }
  return found;
}

const Slot* PathTrust::base(const ReadScope& scope) const {
  const Slot* const full = full_slot();
  if (scope.full) return full;
  const Slot* const own = slot(scope);
  if (own == nullptr || full == nullptr) return own == nullptr ? full : own;
  return full->seq > own->seq ? full : own;
}

LineNo PathTrust::total_of(const std::string& version) const {
  const LineNo* total = totals.find(version);
  return total == nullptr ? 0 : *total;
}

std::size_t PathTrust::bytes() const {
  return slots.size() * 200 + totals.size() * 150 + view.size() * 200 + blocked.bytes() + evidence.size() * 600;
}

bool TrustFold::State::name_moved(const std::string& name, const std::string& path, LineRange lines) const {
  const PathTrust* trust = paths.find(path);
  if (trust == nullptr) return false;
  const auto differs = [&](const NamedLines::Interval& told) {
    const auto held = trust->view.in(told.lines);
    return std::any_of(held.begin(), held.end(),
                       [&](const auto& interval) { return told.value->path != path || interval.value->version != told.value->version; });
  };
  for (const std::string& spelling : spellings(name)) {
    const Name* known = names.find(spelling);
    if (known == nullptr) continue;
    const auto told = known->lines.in(lines);
    if (std::any_of(told.begin(), told.end(), differs)) return true;
  }
  return false;
}

void forget_name(TrustFold::State& state, const std::string& name) {
  TrustFold::State::Name& known = state.names[name];
  state.path_bytes -= bytes_of(known.lines);
  known.lines.set(kAllLines, nobody_knows(state.seq));
  state.path_bytes += bytes_of(known.lines);
}

Result<void> TrustFold::step(State& state, const Entry& entry) const { return Step(*this, state, entry).run(); }

void TrustFold::add(State& state, const std::string& path, Evidence evidence) const {
  PathTrust& trust = state.paths[path];
  const std::size_t before = trust.bytes();
  evidence.uprooted = !apply(trust, evidence, view_intervals);
  trust.evidence.push_back(std::move(evidence));
  state.path_bytes += trust.bytes() - before;
}

void TrustFold::take_record(State& state, const EntryId& entry, ReadRecord taken) const {
  taken.text_sha256.clear();  // it has been compared
  const auto shared_record = std::make_shared<const ReadRecord>(std::move(taken));
  const ReadRecord& record = *shared_record;
  add(state, record.path, {shared_record, {}, entry, ++state.seq, state.turn, false});
  state.records.add(entry, shared_record);
  for (const std::string& name : spellings(record.asked_as())) {
    State::Name& known = state.names[name];
    const std::size_t before = bytes_of(known.lines);
    const auto put = name == record.asked_as() ? tell : tell_like;
    put(known.lines, record, *state.paths.find(record.path), state.seq);
    if (known.lines.size() > view_intervals) known.lines.set(kAllLines, nobody_knows(state.seq));
    known.last = entry;
    state.path_bytes += bytes_of(known.lines) - before;
  }
  if (!is_marker(record.mode)) {
    state.repeat = {};
    return;
  }
  const std::string scope = record.scope().text();
  const bool same = state.repeat.path == record.path && state.repeat.scope == scope && state.repeat.version == record.served;
  state.repeat = {record.path, scope, record.served, same ? state.repeat.count + 1 : 1};
}

void TrustFold::take_refresh(State& state, const EntryId& entry, const RefreshBody& refresh) const {
  add(state, refresh.path, {nullptr, refresh.scope, entry, 0, state.turn, false});
  if (refresh.scope.full) forget_name(state, refresh.asked_as());
}

void TrustFold::withdraw(State& state, std::string_view entry) const { take_out(state, entry, false); }

void TrustFold::doubt(State& state, std::string_view entry) const { take_out(state, entry, true); }

// The path of the touched entry is folded again without it; the numbers stay. Under the name it was told, its file's lines are then what
// the entries that are left told of them. Lines of other files that it covered do not come back: nobody can say what they are now.
void TrustFold::take_out(State& state, std::string_view entry, bool doubted) const {
  const auto record = state.records.find(entry);
  if (record == nullptr) return;
  PathTrust& trust = state.paths[record->path];
  const std::size_t before = trust.bytes();
  std::uint64_t withdrawn = 0;
  Retold retold;
  for (std::string& name : spellings(record->asked_as())) retold.emplace(std::move(name), NamedLines());
  trust = without(trust, std::string(entry), doubted, view_intervals, withdrawn, retold);
  state.not_evidence += withdrawn;
  state.path_bytes += trust.bytes() - before;
  for (const auto& [name, left] : retold) {
    NamedLines& lines = state.names[name].lines;
    state.path_bytes -= bytes_of(lines);
    for (const auto& told : lines.in(kAllLines)) {
      if (told.value->path != record->path) continue;
      lines.set(told.lines, nobody_knows(told.value->seq));
      for (const auto& again : left.in(told.lines)) lines.set(again.lines, again.value);
    }
    state.path_bytes += bytes_of(lines);
  }
}

std::size_t TrustFold::bytes(const State& state) {
  return sizeof(State) + state.records.size() * 100 + state.paths.size() * 400 + state.names.size() * 300 + state.path_bytes;
}

ReplayWindow replay_window(std::size_t entries, std::optional<std::size_t> latest_compaction, std::string_view compaction_id) {
  if (!latest_compaction) return {};
  return {std::min(*latest_compaction + 1, entries), "compaction:" + std::string(compaction_id)};
}

TrustFold::State::State() = default;
TrustFold::State::State(const State&) = default;
TrustFold::State::State(State&&) noexcept = default;
TrustFold::State& TrustFold::State::operator=(const State&) = default;
TrustFold::State& TrustFold::State::operator=(State&&) noexcept = default;
TrustFold::State::~State() = default;

template class FoldEngine<TrustFold>;

}  // namespace weir
