#include "testing/memory_run.h"

#include "json/canonical.h"
#include "research/mirror.h"
#include "testing/results.h"

namespace weir::testing {

using research::RunFile;

namespace {

// `summaries/p1.md` in `summaries/` is p1; nothing if it is something else.
std::string_view id_in(std::string_view path, std::string_view folder) {
  if (!path.starts_with(folder) || !path.ends_with(".md")) return {};
  return path.substr(folder.size(), path.size() - folder.size() - 3);
}

}  // namespace

MemoryRun::MemoryRun(Files given) : files(std::move(given)) {
  json::Parser parser;
  if (const auto manifest = files.find("manifest.json"); manifest != files.end()) {
    const json::Value value = must(parser.parse(manifest->second));
    state.run_id = value.text_or("run_id", "");
    state.manifest = json::canonical(value);
    limits = research::limits_of(value);
  }
  if (const auto document = files.find("perspectives.json"); document != files.end()) {
    perspectives.add(must(perspectives_text_.parse(document->second)), 1);
    state.perspectives[0] = research::PerspectivesFile{{}, research::sha256_name(document->second), document->second.size()};
  }
  const std::string_view lines = files["citations/citations.jsonl"];
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    if (end > begin) {
      const json::Value record = must(parser.parse(lines.substr(begin, end - begin)));
      research::Record kept;
      kept.text = json::canonical(record);
      kept.line = lines.substr(begin, end - begin);
      kept.citation.cid = record.text_or("cid", "");
      kept.citation.status = record.text_or("status", "");
      const auto take = [&](std::string_view key, std::optional<std::string>& into) {
        if (const json::Value* text = record.find(key); text != nullptr && text->is_string()) into = text->text();
      };
      take("evidence_snippet", kept.citation.snippet);
      take("title", kept.citation.title);
      take("publisher", kept.citation.publisher);
      state.records[research::TKey{std::string(record.text_or("normalized_url", ""))}] =
          std::make_shared<const research::Record>(std::move(kept));
    }
    begin = end + 1;
  }
  pool = research::pool_of(state);
}

void MemoryRun::log_outputs() {
  for (const auto& [path, bytes] : files) {
    for (const int wave : {1, 2}) {
      const std::string id(id_in(path, wave == 1 ? "wave-1/" : "wave-2/"));
      if (id.empty()) continue;
      research::Output output{wave, path, research::sha256_name(bytes), bytes.size(), "{}", {}};
      state.outputs[id] = std::make_shared<research::Output>(std::move(output));
    }
  }
}

void MemoryRun::log_summaries() {
  for (const auto& [path, bytes] : files) {
    const std::string id(id_in(path, "summaries/"));
    if (id.empty()) continue;
    research::Summary summary{path, research::sha256_name(bytes), bytes.size(), false, false, {}};
    state.summaries[id] = std::make_shared<research::Summary>(std::move(summary));
  }
}

void MemoryRun::log_pack(const json::Value& pack, std::string_view generated_at) {
  pack_ = json::canonical(pack);
  state.pack = research::PackBuilt{{1, must(parse_time(generated_at))}, research::pack_digest(pack), 0, false};
}

Result<RunFile> MemoryRun::read(const std::string& path) {
  if (const auto found = files.find(path); found != files.end()) return RunFile{RunFile::Kind::file, found->second};
  const auto below = files.lower_bound(path + "/");
  const bool folder = below != files.end() && below->first.starts_with(path + "/");
  return RunFile{folder ? RunFile::Kind::other : RunFile::Kind::absent, ""};
}

Result<json::Value> MemoryRun::member(Seq, std::string_view path, json::Arena& arena) {
  if (path != "pack" || pack_.empty()) return json::Value();
  bool repaired = false;
  return json::parse_exact(arena.copy(pack_), arena, {}, repaired);
}

Result<std::shared_ptr<const research::State>> MemoryRun::state_at(Seq) { return std::make_shared<const research::State>(state); }

MemoryRun::Files case_files(const UpstreamCase& one) {
  MemoryRun::Files files;
  for (const json::Member& file : one.at("files").members()) files.emplace(file.key, file.value.text());
  return files;
}

}  // namespace weir::testing
