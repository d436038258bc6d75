#include "research/bundle.h"

#include "base/sha256.h"
#include "json/canonical.h"

namespace weir::research {

using json::Value;

namespace {

std::string citation_lines(const std::vector<const Citation*>& cited) {
  std::string out;
  json::Arena arena;
  for (const Citation* record : cited) {
    json::ObjectBuilder line(arena);
    line.add("cid", record->cid).add("status", record->status);
    if (record->snippet) line.add("evidence_snippet", *record->snippet);
    if (record->publisher) line.add("publisher", *record->publisher);
    if (record->title) line.add("title", *record->title);
    json::write_canonical(line.build(), out);
    out += '\n';
  }
  return out;
}

// Each once, in the pool's order.
std::vector<const Citation*> mentioned(const std::vector<BundleSummary>& summaries, const Pool& pool) {
  std::vector<bool> cited(pool.records().size());
  for (const BundleSummary& summary : summaries) {
    for (const Mention& mention : mentions_in(summary.text).found) {
      for (const std::string_view id : mention.ids) {
        const Citation* record = pool.find(id);
        if (record != nullptr && record->validated()) cited[static_cast<std::size_t>(record - pool.records().data())] = true;
      }
    }
  }
  std::vector<const Citation*> out;
  for (std::size_t i = 0; i < cited.size(); ++i) {
    if (cited[i]) out.push_back(&pool.records()[i]);
  }
  return out;
}

}  // namespace

Bundle make_bundle(std::string_view query, std::string_view pack_text, const std::vector<BundleSummary>& summaries, const Pool& pool) {
  Bundle out;
  const std::vector<const Citation*> cited = mentioned(summaries, pool);
  for (const Citation* record : cited) out.cids.push_back(record->cid);
  const std::string question = std::string(query) + "\n";
  const std::string citations = citation_lines(cited);
  std::vector<BundlePart> parts = {{"query", "manifest.json", question},
                                   {"pack", "summaries/summary-pack.json", pack_text},
                                   {"citations", "citations/citations.jsonl", citations}};
  for (const BundleSummary& summary : summaries)
    parts.push_back({"summary:" + std::string(summary.id), std::string(summary.path), summary.text});
  std::size_t size = 16;
  for (const BundlePart& part : parts) size += part.bytes.size() + part.name.size() + 128;
  out.stream.reserve(size);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const BundlePart& part = parts[i];
    BundleIndex::Part row{part.name, part.source, "sha256:" + weir::sha256(part.bytes).hex(), 0, part.bytes.size()};
    out.stream += "<<<weir:part " + std::to_string(i + 1) + "/" + std::to_string(parts.size()) + " " + part.name + " " +
                  std::to_string(part.bytes.size()) + " " + row.sha256 + ">>>\n";
    row.offset = out.stream.size();
    out.stream += part.bytes;
    if (!part.bytes.ends_with('\n')) out.stream += '\n';
    out.index.parts.push_back(std::move(row));
  }
  out.stream += "<<<weir:end>>>\n";
  out.sha256 = "sha256:" + weir::sha256(out.stream).hex();
  return out;
}

Value parts_value(const BundleIndex& index, json::Arena& arena) {
  std::vector<Value> items;
  for (std::size_t i = 0; i < index.parts.size(); ++i) {
    const BundleIndex::Part& part = index.parts[i];
    items.push_back(json::make_object(arena, {{"n", i + 1},
                                              {"name", part.name},
                                              {"source", part.source},
                                              {"offset", part.offset},
                                              {"bytes", part.bytes},
                                              {"sha256", part.sha256}}));
  }
  return json::make_array(arena, items);
}

}  // namespace weir::research
