#include "service/read_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/paths.h"
#include "base/utf8.h"
#include "service/reads.h"
#include "service/receipts.h"
#include "service/render.h"
#include "service/undelivered.h"
#include "session/address.h"
#include "session/path.h"

namespace weir {
namespace {

using json::Value;

std::string pi_size(std::int64_t bytes) {
  const std::int64_t size = bytes < 0 ? -bytes : bytes;
  if (size < 1024) return fmt::format("{} B", bytes);
  if (size < 1024 * 1024) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

Value range_json(LineRange lines, json::Arena& arena) { return json::make_array(arena, std::vector<Value>{lines.first, lines.last}); }

// The entry before the barrier that holds at `seq`, and how deep it lies; 0 if there is no barrier.
struct BeforeBarrier {
  Seq seq = 0;
  std::uint64_t barrier_depth = 0;
};
Result<BeforeBarrier> before_barrier(LogReader& reader, SessionNo session, Seq seq) {
  TRY(const Seq barrier, barrier_at(reader, session, seq));
  if (barrier == 0) return BeforeBarrier{};
  TRY(const auto entry, reader.entry(session, barrier, Columns::without_body));
  return entry ? BeforeBarrier{entry->parent, entry->depth} : BeforeBarrier{};
}

std::string shown_path(const std::string& path, const std::string& directory) {
  const auto below = directory.empty() ? std::nullopt : path_below(path, directory);
  return below && !below->empty() ? std::string(*below) : path;
}

constexpr std::size_t kRangesNamed = 16;

std::string line_of(const AlreadyRead& file) {
  std::string lines;
  for (std::size_t i = 0; i < std::min(file.lines.size(), kRangesNamed); ++i)
    lines += fmt::format("{}{}-{}", lines.empty() ? "" : ", ", file.lines[i].first, file.lines[i].last);
  if (file.lines.size() > kRangesNamed) lines += fmt::format(" and {} more", file.lines.size() - kRangesNamed);
  // Printable: a name with a line feed must not pass for lines of ours.
  return fmt::format("{} lines {} of {}, {} ({})", printable(file.path), lines, file.total, file.state, file.version.substr(0, 12));
}

constexpr std::string_view kDigestTitle = "[already read before compaction; content is no longer in context]";

}  // namespace

void live_versions(const TrustFold::State& state, std::set<Digest>& out) {
  const auto add = [&](const std::string& version) {
    if (const auto digest = Digest::parse(version); digest.ok()) out.insert(*digest);
  };
  state.paths.each([&](const std::string&, const PathTrust& trust) {
    trust.slots.each([&](const std::string&, const Slot& slot) { add(slot.version); });
    trust.view.each([&](LineRange, const std::shared_ptr<const Showing>& showing) { add(showing->version); });
  });
}

Result<ReadStatus> read_status(Service& service, const Address& address, const ReadOptions& options) {
  ReadStatus out;
  TrustFold::State before;
  std::set<Digest> live;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located located, locate(reader, address));
    const SessionNo session = located.session.no;
    out.session = located.session.id;
    TRY(const auto state, service.trust_fold().at(reader, session, located.seq));
    out.trust = *state;
    TRY_DO(leave_out_undelivered(service, reader, session, located.seq, out.trust));
    TRY(out.followed, is_followed(service, reader, located.session, located.seq));
    TRY(const auto info, service.info_fold().at(reader, session, located.seq));
    out.host_followed = info->feed != InfoFold::Feed::no && address.head == main_head() && service.pending_reads().is_synced(out.session);
    TRY(out.undelivered, service.receipts().count_undelivered(reader, session));
    TRY(const BeforeBarrier barrier, before_barrier(reader, session, located.seq));
    out.start_index = barrier.barrier_depth;
    TRY(const auto then, service.trust_fold().at(reader, session, barrier.seq));
    before = *then;
    TRY(const auto heads, reader.heads(session));
    for (const HeadRow& head : heads) {
      TRY(const auto at_head, service.trust_fold().at(reader, session, head.seq));
      live_versions(*at_head, live);
    }
    return {};
  }));
  out.trust.paths.each([&](const std::string&, const PathTrust& trust) {
    if (!trust.proven) return;
    out.paths += !trust.slots.empty();
    out.scopes += trust.slots.size();
    out.blocked_ranges += trust.blocked.size();
  });
  out.pending = service.pending_reads().count(out.session);
  out.savings = read_savings(out.trust, before, options.answer.max_bytes);
  Blobs& blobs = service.store().blobs();
  TRY(const auto listed, blobs.list());
  out.objects = listed.objects.size();
  for (const Digest& digest : listed.objects) {
    const std::uint64_t bytes = blobs.stored_bytes(digest);
    out.object_bytes += bytes;
    if (live.contains(digest)) out.live_bytes += bytes;
  }
  out.over_budget = out.object_bytes > options.blob_budget_bytes;
  return out;
}

Value ReadStatus::to_json(json::Arena& arena) const {
  json::ObjectBuilder reads(arena), saved_by(arena);
  for (const ReadMode mode :
       {ReadMode::full, ReadMode::full_fallback, ReadMode::unchanged, ReadMode::unchanged_range, ReadMode::diff, ReadMode::range_diff}) {
    const auto count = savings.reads.find(mode);
    reads.add(mode_name(mode), count == savings.reads.end() ? 0 : count->second);
    const auto saved = savings.saved_by.find(mode);
    if (!is_anchor(mode)) saved_by.add(mode_name(mode), saved == savings.saved_by.end() ? 0 : saved->second);
  }
  reads.add("not_evidence", trust.not_evidence).add("malformed", trust.malformed);
  json::ObjectBuilder blobs(arena);
  blobs.add("objects", objects).add("bytes", object_bytes).add("live_bytes", live_bytes);
  if (over_budget) blobs.add("over_budget", true);
  json::ObjectBuilder out(arena);
  out.add("followed", followed);
  if (!followed) out.add("reason", "not_followed").add("help", kNotFollowed);
  if (host_followed) out.add("host_followed", true);
  const Value counts = json::make_object(arena, {{"boundary", arena.copy(trust.boundary)},
                                                 {"entries", trust.entries},
                                                 {"paths", paths},
                                                 {"scopes", scopes},
                                                 {"blocked_ranges", blocked_ranges},
                                                 {"pending", pending},
                                                 {"undelivered", undelivered},
                                                 {"reads", reads.build()},
                                                 {"bytes", json::make_object(arena, {{"baseline", savings.baseline},
                                                                                     {"sent", savings.sent},
                                                                                     {"saved", savings.saved},
                                                                                     {"inflated", savings.inflated},
                                                                                     {"net", savings.net()},
                                                                                     {"estimated", savings.estimated}})},
                                                 {"saved_by", saved_by.build()},
                                                 {"resent_by", json::make_object(arena, {{"barrier", savings.resent.barrier},
                                                                                         {"refresh", savings.resent.refresh},
                                                                                         {"bypass", savings.resent.bypass},
                                                                                         {"repeat", savings.resent.repeat},
                                                                                         {"blob", savings.resent.blob}})},
                                                 {"tokens_net", savings.tokens_net()},
                                                 {"blobs", blobs.build()}});
  for (const json::Member& member : counts.members()) out.add(member.key, member.value);
  return out.build();
}

std::string ReadStatus::pi_text() const {
  const auto count = [&](ReadMode mode) {
    const auto it = savings.reads.find(mode);
    return it == savings.reads.end() ? 0 : it->second;
  };
  return fmt::format(
      "[readcache-status]\n"
      "tracked scopes: {} across {} files\n"
      "replay window: {} entries (start index {})\n"
      "mode counts: full={}, unchanged={}, unchanged_range={}, diff={}, baseline_fallback={}\n"
      "estimated savings: ~{} tokens ({})\n"
      "object store: {} objects, {}",
      scopes, paths, trust.entries, start_index, count(ReadMode::full), count(ReadMode::unchanged), count(ReadMode::unchanged_range),
      count(ReadMode::diff), count(ReadMode::full_fallback), savings.tokens_net(), pi_size(savings.net()), objects,
      pi_size(static_cast<std::int64_t>(object_bytes)));
}

Value path_json(const std::string& path, const PathTrust& trust, json::Arena& arena) {
  std::vector<Value> slots, view, blocked;
  if (!trust.proven) return path_json(path, PathTrust(), arena);  // what was sent where nobody tells of compactions is not held
  trust.slots.each([&](const std::string& scope, const Slot& slot) {
    slots.push_back(json::make_object(arena, {{"scope", arena.copy(scope)}, {"version", arena.copy(slot.version)}, {"seq", slot.seq}}));
  });
  trust.view.each([&](LineRange lines, const std::shared_ptr<const Showing>& showing) {
    view.push_back(json::make_object(arena, {{"lines", range_json(lines, arena)},
                                             {"version", arena.copy(showing->version)},
                                             {"seq", showing->seq},
                                             {"entry", arena.copy(showing->entry.str())}}));
  });
  trust.blocked.each([&](LineRange lines, bool) { blocked.push_back(range_json(lines, arena)); });
  return json::make_object(arena, {{"path", arena.copy(path)},
                                   {"slots", json::make_array(arena, slots)},
                                   {"view", json::make_array(arena, view)},
                                   {"blocked", json::make_array(arena, blocked)}});
}

Result<ReadDigest> read_digest(Service& service, const Address& address, const ReadSource& source, const std::string& cwd,
                               const std::vector<std::string>* within) {
  TrustFold::State held;
  std::string directory = cwd;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located located, locate(reader, address));
    TRY(const BeforeBarrier barrier, before_barrier(reader, located.session.no, located.seq));
    TRY(const auto then, service.trust_fold().at(reader, located.session.no, barrier.seq));
    held = *then;
    TRY_DO(leave_out_undelivered(service, reader, located.session.no, barrier.seq, held));
    TRY(const auto info, service.info_fold().at(reader, located.session.no, located.seq));
    if (!info->cwd.empty()) directory = info->cwd;
    return {};
  }));
  std::vector<std::pair<std::uint64_t, AlreadyRead>> found;
  held.paths.each([&](const std::string& path, const PathTrust& trust) {
    AlreadyRead file;
    file.path = path;
    std::uint64_t newest = 0;
    trust.view.each([&](LineRange lines, const std::shared_ptr<const Showing>& showing) {
      append_range(file.lines, lines);
      file.mixed |= !file.version.empty() && file.version != showing->version;
      if (showing->seq < newest) return;
      newest = showing->seq;
      file.version = showing->version;
    });
    file.total = trust.total_of(file.version);
    if (!file.lines.empty()) found.emplace_back(newest, std::move(file));
  });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  ReadDigest out;
  out.more = found.size() - std::min(found.size(), kDigestPaths);
  found.resize(found.size() - out.more);
  for (auto& [seq, file] : found) {
    const auto now = source.version_of(file.path, within);
    file.state = now.ok() ? (now->hex() == file.version && !file.mixed ? "unchanged since" : "changed since")
                 : now.error().code() == ErrorCode::NOT_FOUND ? "gone"
                                                              : "not checked";
    file.path = shown_path(file.path, directory);
    out.files.push_back(std::move(file));
  }
  return out;
}

std::string ReadDigest::text() const {
  if (files.empty()) return {};
  // Room for the last line is kept, whatever number it has to name.
  constexpr std::size_t kMoreLine = sizeof("\nand 18446744073709551615 more");
  std::string out(kDigestTitle);
  std::uint64_t left = more;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string line = "\n" + line_of(files[i]);
    if (out.size() + line.size() + kMoreLine > kDigestBytes) {
      ++left;
      continue;
    }
    out += line;
  }
  if (left > 0) out += fmt::format("\nand {} more", left);
  return out;
}

Value ReadDigest::to_json(json::Arena& arena) const {
  std::vector<Value> items;
  for (const AlreadyRead& file : files) {
    std::vector<Value> lines;
    for (const LineRange range : file.lines) lines.push_back(range_json(range, arena));
    items.push_back(json::make_object(arena, {{"path", file.path},
                                              {"lines", json::make_array(arena, lines)},
                                              {"total_lines", file.total},
                                              {"state", file.state},
                                              {"version", file.version}}));
  }
  return json::make_object(arena, {{"files", json::make_array(arena, items)}, {"more", more}, {"text", arena.copy(text())}});
}

}  // namespace weir
