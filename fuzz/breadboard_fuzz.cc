// Any bytes as a config and a record file of the profile breadboard-0.1: an error or an answer, and what is written reads
// back as the same.
#include <string>

#include "ctree/breadboard.h"
#include "fuzz.h"

namespace weir::breadboard {
namespace {

std::string read_back(const std::string& text) {
  const auto value = read_json(text);
  return value.ok() ? plain(*value) : value.error().message();
}

void check_texts(const Value& value) {
  const std::string written = plain(value), clean = canonical(value);
  fuzz::expect_equal("plain text read back", written, read_back(written));
  fuzz::expect_equal("indented text read back", written, read_back(indented(value)));
  fuzz::expect_equal("canonical text read back", clean, read_back(clean));
}

void check_answers(const Store& store, const Value& config) {
  const auto output = compile(store, config, config);
  if (output.ok()) check_texts(*output);
  const TreeArgs tree_arguments{config.get("stage"), config, config.get("collapse_target"), config.get("collapse_mode"), true};
  if (const auto tree = tree_view(store, tree_arguments); tree.ok()) check_texts(*tree);
  const ContextArgs arguments{
      config, config, config.get("collapse_target"), config.get("mode"), config.get("stage"), true, config.get("extra_pin_ids")};
  if (const auto context = select_context(store, arguments); context.ok()) check_texts(injected_text(store, *context));
  if (const auto policy = collapse_policy(store, {config.get("collapse_target"), config.get("mode"), config.get("kind_allowlist")});
      policy.ok()) {
    check_texts(*policy);
  }
}

void check_file(std::string_view text, const Value& config) {
  const auto file = read_record_file(text);
  if (!file.ok()) return;
  check_answers(file->store, config);
  const std::string written = events_jsonl(file->store);
  const auto again = read_record_file(written);
  fuzz::expect_equal("a written file", written, again.ok() ? events_jsonl(again->store) : again.error().message());
  fuzz::expect_equal("a written file's hash", file->store.node_hash(), again->store.node_hash());
}

}  // namespace
}  // namespace weir::breadboard

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = weir::fuzz::text_of(data, size), line = text.substr(0, text.find('\n'));
  const auto config = weir::breadboard::read_json(line);
  if (config.ok()) weir::breadboard::check_texts(*config);
  weir::breadboard::check_file(text.substr(line.size()), config.ok() ? *config : weir::breadboard::Value());
  return 0;
}
