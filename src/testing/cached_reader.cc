#include "testing/cached_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "readcache/baseline.h"
#include "readcache/line_window.h"
#include "testing/held_oracle.h"
#include "testing/results.h"
#include "testing/rows.h"

namespace weir::testing {

ReadAnswer CachedReader::decide(const std::string& name, const Ask& ask) {
  const std::string path = links.contains(name) ? links.at(name) : name;
  const std::string& bytes = files.at(path);
  LineWindow window({ask.offset, ask.limit}, options.answer.max_bytes + 1);
  window.add(bytes);
  const Selection selection = must(window.finish());
  const Baseline baseline = make_baseline(selection, options.answer, name);
  const VersionText text(bytes);
  CurrentFile file{path, name, name, sha256(bytes).hex(), bytes.size(), text.lines().count(), &text, baseline.text, baseline.window};
  if (bytes.size() > options.store_max_bytes) file.text = nullptr;
  const auto load = [&](const std::string& version) -> LoadedVersion {
    if (damaged.contains(version)) return {nullptr, true};
    const auto it = versions.find(version);
    if (it == versions.end()) return {};
    return {std::make_shared<const VersionText>(it->second), false};
  };
  const LineRange lines{static_cast<LineNo>(selection.start), static_cast<LineNo>(selection.end)};
  return decide_read(state(), file, {lines, ask.bypass}, options, load, [] { return false; });
}

void CachedReader::store_version(const std::string& name) {
  const std::string& bytes = files.at(links.contains(name) ? links.at(name) : name);
  versions[sha256(bytes).hex()] = bytes;
}

ReadAnswer CachedReader::read(const std::string& path, const Ask& ask) {
  ReadAnswer answer = decide(path, ask);
  if (keep_versions) store_version(path);
  append_record(answer.record);
  return answer;
}

ReadAnswer CachedReader::read_by_message(const std::string& path, const Ask& ask, std::string_view changes) {
  ReadAnswer answer = decide(path, ask);
  if (keep_versions) store_version(path);
  json::Arena arena;
  json::Parser parser;
  json::ObjectBuilder body(arena);
  const json::Value over = must(parser.parse(changes));
  for (const json::Member& member : over.members()) body.add(member.key, member.value);
  body.add("role", "tool").add("name", "read").add("content", answer.text).add("read", to_json(answer.record, arena));
  append("message", json::canonical(body.build()));
  return answer;
}

const Entry& CachedReader::append(std::string_view type, std::string_view body) {
  const Seq seq = entries_.size() + 1;
  entries_.push_back(make_row(seq, head == 0 ? nullptr : &entries_[head - 1], type, body, "e" + std::to_string(seq)));
  TrustFold::State next = states_[head];
  TrustFold fold;
  fold.view_intervals = options.view_intervals;
  must(fold.step(next, entries_.back()));
  states_.push_back(std::move(next));
  head = seq;
  return entries_.back();
}

const Entry& CachedReader::append_record(const ReadRecord& record) {
  json::Arena arena;
  return append("read", json::canonical(to_json(record, arena)));
}

const Entry& CachedReader::refresh(const std::string& path, std::string_view scope) {
  return append("refresh", fmt::format(R"({{"path":"{}","scope":"{}","v":1}})", path, scope));
}

const Entry& CachedReader::edit_context(const EntryId& target, bool removal) {
  return append("context_edit", fmt::format(R"({{"replacement":{},"target":"{}"}})", removal ? "null" : "\"(shortened)\"", target.str()));
}

std::vector<Seq> CachedReader::path() const {
  std::vector<Seq> seqs;
  for (Seq seq = head; seq != 0; seq = entries_[seq - 1].parent) seqs.push_back(seq);
  std::reverse(seqs.begin(), seqs.end());
  return seqs;
}

CachedReader reader_of(std::string bytes, ReadOptions options) {
  CachedReader reader(std::move(options));
  reader.files[kFile] = std::move(bytes);
  return reader;
}

std::string brief(const ReadAnswer& answer) {
  return fmt::format("{} {} {}", mode_name(answer.record.mode), answer.record.scope().text(), answer.record.reason);
}

std::string numbered(int count, std::string_view format) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += (i == 1 ? "" : "\n") + fmt::format(fmt::runtime(format), i);
  return text;
}

std::string with_line(std::string_view text, std::size_t line, std::string_view by) {
  Texts lines = split_lines(text);
  lines.at(line - 1) = by;
  return join_lines(lines);
}

std::string show_view(const View& view, const std::map<std::string, std::string>& names) {
  std::string out;
  view.each([&](LineRange lines, const std::shared_ptr<const Showing>& showing) {
    const auto name = names.find(showing->version);
    out += fmt::format("{}{}-{} {} by {}", out.empty() ? "" : "; ", lines.first, lines.last,
                       name == names.end() ? showing->version.substr(0, 6) : name->second, showing->entry.str());
  });
  return out;
}

std::string show_ranges(const std::vector<LineRange>& ranges) {
  std::string out;
  for (const LineRange range : ranges) out += fmt::format("{}{}-{}", out.empty() ? "" : " ", range.first, range.last);
  return out;
}

}  // namespace weir::testing
