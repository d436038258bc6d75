#include "testing/ctree_path.h"

#include "json/canonical.h"
#include "json/parse.h"

namespace weir::testing {

CtreePath& CtreePath::add(std::string_view type, std::string_view body, std::string id) {
  json::Parser parser;
  auto parsed = parser.parse(body);
  WEIR_CHECK(parsed.ok());
  Entry entry;
  entry.seq = entries.size() + 1;
  entry.parent = entries.size();
  entry.id = EntryId::parse(id.empty() ? "x" + std::to_string(entry.seq) : id).value();
  entry.type = type;
  entry.body = json::canonical(*parsed);
  entry.digest = entry_digest(entries.empty() ? std::nullopt : std::optional(entries.back().digest), entry.type, entry.body);
  WEIR_CHECK(fold.step(state, entry).ok());
  entries.push_back(std::move(entry));
  return *this;
}

CtreePath worked_example() {
  CtreePath path;
  path.message(R"({"role":"system","content":"You are terse."})");
  path.message(R"({"role":"user","content":"List the files."})");
  path.message(R"({"role":"assistant","content":"","tool_calls":[{"id":"toolu_x","name":"ls","arguments":{"path":"."}}]})");
  path.message(R"({"role":"tool","tool_call_id":"toolu_x","name":"ls","content":"a.txt\nb.txt"})");
  path.message(R"({"role":"assistant","content":"Two files: a.txt, b.txt."})");
  path.message(R"({"role":"user","content":"Thanks."})");
  return path;
}

}  // namespace weir::testing
