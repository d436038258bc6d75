// context: the next prompt and its manifest.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/secrets.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "json/parse.h"
#include "service/context.h"
#include "service/diff.h"

namespace weir::cli {
namespace {

using json::Value;

Result<context::ContextConfig> context_config(Run& run, Service& service) {
  TRY(const Config* const settings, run.config());
  context::ContextConfig config = context_defaults(service, *settings);
  if (const auto file = run.option("context-config")) {
    TRY(const std::string text, run.read_input(*file, limits::kConfigBytes));
    json::Parser parser;
    TRY(const Value value, parser.parse(text));
    TRY(config, context::ContextConfig::parse(value, config));
  }
  if (const auto budget = run.option("budget")) {
    TRY(const std::int64_t bytes, parse_size(*budget));
    config.max_bytes = static_cast<std::uint64_t>(bytes);
  }
  if (const auto word = run.option("format")) {
    const auto format = context::parse_format(*word);
    if (!format) {
      const std::string why =
          "must be anthropic, openai or plain, is '" + masked_excerpt(*word, 40) + "'" + did_you_mean(*word, "anthropic|openai|plain");
      return Error(ErrorCode::INVALID_FIELD, "--format: " + why).with_fields({{"/format", why}});
    }
    config.format = *format;
  }
  return config;
}

Result<context::Request> request_of(Run& run, Service& service) {
  const auto file = run.option("request");
  if (!file) return context::Request();
  TRY(const std::string text, run.read_input(*file, limits::kAppendEntryBytes));
  json::Parser parser;
  TRY(const Value value, parser.parse(text));
  return context::Request::parse(value, service.masker());
}

constexpr std::size_t kShownItems = 20;  // at each end of a long list

Style style_of(std::string_view section) {
  if (section == "policy") return Style::cyan;
  if (section == "snapshot") return Style::magenta;
  return section == "kept" ? Style::plain : Style::green;
}

std::uint64_t number(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found != nullptr && found->is_integer() && found->integer() >= 0 ? static_cast<std::uint64_t>(found->integer()) : 0;
}

void print_items(Run& run, const Value& answer) {
  const Value& used = *answer.find("used");
  const std::uint64_t all = std::max<std::uint64_t>(number(used, "bytes"), 1);
  const auto items = answer.find("items")->items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items.size() > 2 * kShownItems && i == kShownItems) {
      run.line(run.paint()(Style::dim, fmt::format("  ... {} more; --json has them all", grouped(items.size() - 2 * kShownItems))));
      i = items.size() - kShownItems;
    }
    const Value& item = items[i];
    const std::string_view section = item.text_or("section", "");
    run.line(fmt::format("  {}  {:<10} {:>9}  {}  {}  {}", run.paint()(style_of(section), fmt::format("{:<8}", section)),
                         printable(item.text_or("role", "-")), human_bytes(number(item, "bytes")),
                         run.paint()(Style::blue, share_bar(number(item, "bytes"), all, 12)), item.text_or("item_id", ""),
                         run.paint()(Style::dim, item.text_or("reason", ""))));
  }
}

// By reason: the answer as JSON has them one by one.
void print_left_out(Run& run, const Value& exclusion) {
  std::map<std::string_view, std::uint64_t> reasons;
  for (const Value& out : exclusion.items())
    reasons[out.text_or("excluded_reason", "")] += std::max<std::uint64_t>(number(out, "count"), 1);
  for (const auto& [reason, count] : reasons) {
    run.line(fmt::format("  {}  {:>20}  {}", run.paint()(Style::yellow, "left out"), grouped(count),
                         run.paint()(Style::dim, printable(reason))));
  }
  if (!exclusion.is_array())
    run.line(fmt::format("  {}  {} records", run.paint()(Style::yellow, "left out"), grouped(number(exclusion, "count"))));
}

void print_answer(Run& run, const Value& answer, const ContextAnswer& written) {
  const Value& used = *answer.find("used");
  run.line(
      run.paint()(Style::bold, fmt::format("{} at {}", printable(answer.text_or("session", "")), printable(answer.text_or("entry", "-")))) +
      fmt::format("  {}, {} messages, {}, about {} tokens", answer.text_or("format", ""), answer.find("messages")->items().size(),
                  human_bytes(number(used, "bytes")), grouped(number(used, "tokens"))));
  print_items(run, answer);
  print_left_out(run, *answer.find("exclusion"));
  for (const Value& warning : answer.find("warnings")->items())
    run.line(run.paint()(Style::yellow, "  warning   " + printable(warning.text())));
  const std::string_view changed = answer.text_or("prefix_changed", "");
  run.line(fmt::format("  prefix    {}  {}{}", answer.text_or("prefix_hash", ""), human_bytes(number(answer, "prefix_length")),
                       changed.empty() ? ", as before" : ", " + std::string(changed)));
  run.line(fmt::format("  manifest  {}{}", written.manifest_id,
                       written.entry.str().empty() ? "  (not written)" : "  in entry " + printable(written.entry.str())));
}

}  // namespace

Result<int> run_context(Run& run) {
  TRY(const Address address, run.address());
  const bool dry = run.dry_run() || !address.at.empty();
  // Where there is no store there is nothing to assemble, and none is made.
  TRY(Service* const service, run.service(dry || run.store_missing() ? Store::Access::read : Store::Access::write));
  ContextQuery query{.address = address};
  TRY(query.config, context_config(run, *service));
  TRY(query.request, request_of(run, *service));
  query.allow_over_budget = run.flag("allow-over-budget");
  query.dry_run = dry;
  TRY(const ContextAnswer answer, next_context(*service, query));
  if (run.json()) {
    run.object(Value::raw(answer.text));
    return 0;
  }
  json::Parser parser;
  TRY(const Value shown, parser.parse_stored(answer.text));
  print_answer(run, shown, answer);
  return 0;
}

Result<int> run_diff_contexts(Run& run, const DiffSide& a, const DiffSide& b) {
  if (!a.address || !b.address) return Error(ErrorCode::INVALID_FIELD, "contexts are compared between two places of the log");
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(const Config* const settings, run.config());
  TRY(const ContextDiff answer, diff_contexts(*service, *a.address, *b.address, context_defaults(*service, *settings)));
  if (run.json()) {
    run.object(Value::raw(answer.text));
    return answer.equal ? 0 : 1;
  }
  json::Parser parser;
  TRY(const Value shown, parser.parse_stored(answer.text));
  run.line(answer.equal ? run.paint()(Style::green, "equal") : run.paint()(Style::red, "different"));
  run.line(fmt::format("  {} messages in common; the prefix is {}", number(shown, "common_messages"),
                       shown.find("prefix_equal")->boolean() ? "the same" : "another one"));
  if (const Value* first = shown.find("first_difference"); first->is_object()) {
    for (const std::string_view side : {"a", "b"}) {
      const Value& of = *first->find(side);
      run.line(fmt::format(
          "  message {} of {}: {}", number(*first, "message"), side,
          of.find("role") == nullptr ? "not there" : fmt::format("{}, {}", of.text_or("role", ""), human_bytes(number(of, "len")))));
    }
  }
  return answer.equal ? 0 : 1;
}

}  // namespace weir::cli
