// A path with its blobs in memory, and the prompt it gives, for the tests of context assembly.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "context/prompt.h"
#include "testing/ctree_path.h"

namespace weir::testing {

class ContextCase : public context::Source {
 public:
  ContextCase() = default;
  explicit ContextCase(CtreePath start) : path(std::move(start)) {}

  ContextCase& message(std::string_view body) { return add("message", body); }
  ContextCase& add(std::string_view type, std::string_view body, std::string id = "") {
    path.add(type, body, std::move(id));
    return *this;
  }
  // Keeps the text as a blob; answers the object that names it, as JSON.
  std::string blob_name(std::string text, std::string_view more = "");

  Result<context::Prompt> prompt(std::string_view config = "{}", std::string_view request = "{}", bool allow_over_budget = false);
  // The answer to it, as JSON text.
  std::string answer(std::string_view config = "{}", const context::Prompt* previous = nullptr);

  Result<Entry> entry(Seq seq) override;
  Result<std::string> blob(const Digest& digest) override;

  CtreePath path;
  std::map<Digest, std::string> blobs;
  std::size_t entries_read = 0, blobs_read = 0;
};

// S, a host's compaction, and the next request.
ContextCase worked_context();

// {"messages","system"?} of a prompt, as JSON text.
std::string rendered_text(context::Prompt& prompt);
std::string neutral_text(const context::Prompt& prompt);

}  // namespace weir::testing
