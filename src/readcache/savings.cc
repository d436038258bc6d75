#include "readcache/savings.h"

#include <algorithm>

#include "readcache/markers.h"

namespace weir {
namespace {

struct Bytes {
  std::uint64_t sent = 0, baseline = 0;
};

// pi-readcache does not record what it sent: content by its share of the file, markers by their text; a diff is taken to have
// saved nothing.
Bytes estimate(const ReadRecord& record, std::uint64_t max_bytes) {
  const std::uint64_t lines = record.range.count();
  const std::uint64_t share = (record.bytes * lines + record.total_lines / 2) / record.total_lines;
  const std::uint64_t baseline = std::min(share, max_bytes);
  if (record.mode == ReadMode::unchanged) return {unchanged_marker(record.total_lines).size(), baseline};
  if (record.mode == ReadMode::unchanged_range) return {unchanged_range_marker(record.range, record.total_lines, true).size(), baseline};
  return {baseline, baseline};
}

// Was all that this record shows shown before, in the same version?
bool showed(const View& view, const ReadRecord& record) {
  return !record.shown.empty() && std::all_of(record.shown.begin(), record.shown.end(), [&](LineRange lines) {
    const auto held = view.in(lines);
    return view.covers(lines) &&
           std::all_of(held.begin(), held.end(), [&](const auto& interval) { return interval.value->version == record.served; });
  });
}

// What is held in the version served after this record. A marker or diff adds what was held before under another name.
void hold(View& view, const ReadRecord& record, const std::shared_ptr<const Showing>& by) {
  if (is_marker(record.mode) && view.covers(record.from.value_or(record.range))) view.set(record.range, by);
  if (is_diff(record.mode)) {
    bool base = false;
    view.each([&](LineRange, const auto& showing) { base = base || showing->version == record.base; });
    for (const LineRange lines : record.known.value_or(std::vector<LineRange>{record.range})) {
      if (base) view.set(lines, by);
    }
  }
  for (const LineRange lines : record.shown) view.set(lines, by);
}

class PathSavings {
 public:
  PathSavings(ReadSavings& out, const PathTrust* before, std::uint64_t max_bytes) : out_(out), max_bytes_(max_bytes) {
    if (before != nullptr) ever_ = before->view;
  }

  void take(const Evidence& evidence) {
    const ReadRecord& record = *evidence.record;
    Bytes bytes{record.sent.value_or(0), record.baseline.value_or(0)};
    if (!record.sent || !record.baseline) {
      bytes = estimate(record, max_bytes_);
      out_.estimated = true;
    }
    ++out_.reads[record.mode];
    out_.sent += bytes.sent;
    out_.baseline += bytes.baseline;
    out_.saved += bytes.baseline - std::min(bytes.baseline, bytes.sent);
    out_.inflated += bytes.sent - std::min(bytes.baseline, bytes.sent);
    if (!is_anchor(record.mode)) out_.saved_by[record.mode] += bytes.baseline - std::min(bytes.baseline, bytes.sent);
    if (is_anchor(record.mode)) resend(record, bytes.sent);
    const auto by = std::make_shared<const Showing>(Showing{record.served, evidence.seq, evidence.entry, evidence.seq, evidence.turn});
    hold(window_, record, by);
    hold(ever_, record, by);
  }

 private:
  void resend(const ReadRecord& record, std::uint64_t sent) {
    if (record.reason == "base_object_missing" || record.reason == "base_object_damaged") {
      out_.resent.blob += sent;
    } else if (record.reason == "repeat_escape") {
      out_.resent.repeat += sent;
    } else if (record.reason == "bypass_cache") {
      if (showed(ever_, record)) out_.resent.bypass += sent;
    } else if (showed(window_, record)) {
      // It was shown in this window and still had to be sent: somebody withdrew it.
      if (record.reason == "blocked_by_refresh" || record.reason == "no_base_hash" || record.reason == "lines_not_shown")
        out_.resent.refresh += sent;
    } else if (showed(ever_, record)) {
      out_.resent.barrier += sent;
    }
  }

  ReadSavings& out_;
  const std::uint64_t max_bytes_;
  View window_, ever_;  // shown since the barrier, and ever; refreshes take nothing from either
};

}  // namespace

std::int64_t ReadSavings::tokens_net() const { return net() >= 0 ? (net() + 3) / 4 : -(-net() / 4); }

ReadSavings read_savings(const TrustFold::State& state, const TrustFold::State& before, std::uint64_t max_bytes) {
  ReadSavings out;
  state.paths.each([&](const std::string& path, const PathTrust& trust) {
    PathSavings one(out, before.paths.find(path), max_bytes);
    trust.evidence.each([&](const Evidence& evidence) {
      if (evidence.record != nullptr && !evidence.withdrawn) one.take(evidence);
    });
  });
  return out;
}

}  // namespace weir
