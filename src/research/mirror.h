// Every file of a run as a function of its state: what the directory holds is what the log says, byte for byte.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "research/citations.h"
#include "research/perspectives.h"
#include "research/state.h"

namespace weir::research {

// What a state left in the log.
class Contents {
 public:
  virtual ~Contents() = default;
  // A member of an entry's body, by its path (`extra.meta`), blobs resolved; null if it is absent.
  virtual Result<json::Value> member(Seq entry, std::string_view path, json::Arena& arena) = 0;
  virtual Result<std::shared_ptr<const State>> state_at(Seq entry) = 0;
};

// The perspectives of those documents; their text goes into the arena.
Result<Perspectives> load_perspectives(const std::optional<PerspectivesFile> (&files)[2], Contents& contents, json::Arena& arena);

struct FileSpec {
  enum class Kind {
    perspectives,
    output,
    output_meta,
    citations,
    extracted_urls,
    normalized_urls,
    found_by,
    url_map,
    summary,
    pack,
    pack_meta,
    bundle,
    bundle_index,
    report,
    directives,
    terminal,
    gates,
    manifest,
  };
  std::string path;
  Kind kind;
  std::string key;     // two specs of one path with the same key have the same bytes
  std::string sha256;  // of the bytes, where the state knows it
  Seq entry = 0;
  std::string id;  // of a perspective
  int wave = 0;
};

// All of them; manifest.json comes last, so that a directory with the right one is complete.
std::vector<FileSpec> files_of(const State& state);

Result<std::string> render(const State& state, const FileSpec& spec, Contents& contents, const std::string& root);

// The two that change with every step.
Result<json::Value> manifest_value(const State& state, const std::string& root, json::Arena& arena);
json::Value gates_value(const State& state, json::Arena& arena);
// The pack file's value; without generated_at if `timed` is false.
Result<json::Value> pack_value(const PackBuilt& pack, Contents& contents, bool timed, json::Arena& arena);
json::Value directive_value(const Directive& directive, json::Arena& arena);
Pool pool_of(const State& state);

}  // namespace weir::research
