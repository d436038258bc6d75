// compile --profile breadboard-0.1: a record file or the records of a path, as BreadBoard compiles them.
#include <fmt/format.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/secrets.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "ctree/stages.h"
#include "service/compile_foreign.h"

namespace weir::cli {
namespace {

using breadboard::Value;

Error invalid(std::string_view option, const std::string& why) {
  return Error(ErrorCode::INVALID_FIELD, "--" + std::string(option) + ": " + why).with_fields({{"/" + std::string(option), why}});
}

Result<breadboard::Store> records_of(Run& run) {
  if (const auto file = run.option("records")) {
    TRY(const std::string text, run.read_input(*file, limits::kGiB));
    TRY(breadboard::RecordFile records, breadboard::read_record_file(text));
    for (const breadboard::Finding& finding : records.findings) {
      if (finding.what == breadboard::LineFinding::header || finding.what == breadboard::LineFinding::blank) continue;
      const std::string other = finding.other_line == 0 ? "" : fmt::format(" (first on line {})", finding.other_line);
      run.note(fmt::format("weir: {}:{}: {}{}{}", printable(*file), finding.line, breadboard::name(finding.what), other,
                           finding.message.empty() ? "" : ": " + masked_excerpt(finding.message, 100)));
    }
    if (records.schema_version && *records.schema_version != breadboard::kSchemaVersion)
      run.note(
          fmt::format("weir: {}: written at schema {}, compiled as 0.1", printable(*file), masked_excerpt(*records.schema_version, 40)));
    return std::move(records.store);
  }
  TRY(const Address address, run.address());
  TRY(Service* const service, run.service(Store::Access::read));
  TRY(ForeignRecords records, foreign_records(*service, address));
  if (!records.masked.empty())
    run.note(fmt::format("weir: {} of {} records were masked when they were stored, so BreadBoard's hashes of them are others (first {})",
                         records.masked.size(), records.store.size(), printable(records.masked.front())));
  return std::move(records.store);
}

Result<Value> json_in(Run& run, const std::string& file, std::uint64_t most) {
  TRY(const std::string text, run.read_input(file, most));
  auto value = breadboard::read_json(text);
  if (!value.ok()) return std::move(value).error().with("file", file);
  return value;
}

Result<Value> config_of(Run& run) {
  Value config;
  if (const auto file = run.option("compile-config")) {
    TRY(config, json_in(run, *file, limits::kConfigBytes));
    if (!config.is_object()) return Error(ErrorCode::CONFIG_INVALID, "/: must be an object").with_fields({{"", "must be an object"}});
  }
  if (!run.flag("previews")) return config;
  const Value header = config.get("header");
  const Value object = config.is_object() ? config : Value::object({});
  return breadboard::with_member(object, "header",
                                 breadboard::with_member(header.is_object() ? header : Value::object({}), "mode", "sanitized_content"));
}

Result<Value> prompt_summary_of(Run& run) {
  if (const auto file = run.option("prompt-summary")) return json_in(run, *file, limits::kConfigBytes);
  return Value();
}

Result<int> show_tree(Run& run, const breadboard::Store& store, const Value& config) {
  breadboard::TreeArgs args;
  if (const auto stage = run.option("stage")) args.stage = *stage;
  args.compiler_config = config;
  if (const auto target = run.number("collapse-target")) args.collapse_target = *target;
  if (const auto mode = run.option("collapse-mode")) args.collapse_mode = *mode;
  args.include_previews = run.flag("previews");
  TRY(const Value view, breadboard::tree_view(store, args));
  const Value tree = breadboard::with_member(view, "profile", breadboard::kProfile);
  run.data(run.json() ? breadboard::plain(tree) : breadboard::indented(tree));
  return 0;
}

std::string text_of(const Value& object, std::string_view key) {
  const Value value = object.get(key);
  return value.is_string() ? value.text() : breadboard::plain(value);
}

Result<int> check_expectation(Run& run, const Value& output, const std::string& file) {
  TRY(const Value kept, json_in(run, file, limits::kGiB));
  const std::string version = text_of(kept, "schema_version"), shown = masked_excerpt(version, 40);
  if (version == "weir-1" || version == "weir-1+hmac") {
    return Error(ErrorCode::PROFILE_MISMATCH, "hashes of " + version + " and breadboard-0.1 cannot be compared")
        .with("a", version)
        .with("b", std::string(breadboard::kProfile))
        .with("file", file);
  }
  if (version != breadboard::kSchemaVersion)
    return Error(ErrorCode::SCHEMA_UNKNOWN, "schema version '" + shown + "' is not known").with("schema_version", shown).with("file", file);
  for (const char* name : {"node_hash", "z1", "z2", "z3"}) {
    if (text_of(kept.get("hashes"), name).size() != 40) return invalid("expect", "/hashes/" + std::string(name) + " must be 40 hex digits");
  }
  const bool met = breadboard::plain(kept.get("hashes")) == breadboard::plain(output.get("hashes"));
  if (run.json()) {
    run.data(breadboard::plain(Value::object({{"expected", kept.get("hashes")}, {"found", output.get("hashes")}, {"match", met}})));
  } else {
    run.line(met ? run.paint()(Style::green, "the same: all hashes agree")
                 : run.paint()(Style::red, "not the same") + " " + breadboard::plain(kept.get("hashes")) + " | " +
                       breadboard::plain(output.get("hashes")));
  }
  return met ? 0 : 1;
}

}  // namespace

Result<int> run_compile_foreign(Run& run, const std::string& profile) {
  if (profile != breadboard::kProfile) return invalid("records", "record files are compiled with --profile breadboard-0.1");
  const auto stage = run.option("stage");
  if (stage && !ctree::parse_stage(*stage))
    return invalid("stage", "must be one of RAW, SPEC, HEADER, FROZEN" + did_you_mean(*stage, "RAW|SPEC|HEADER|FROZEN"));
  for (const std::string_view option : {"collapse-target", "collapse-mode"}) {
    if (run.option(option) && !run.flag("tree")) return invalid(option, "at schema 0.1 only a tree is collapsed; give --tree");
  }
  TRY(const breadboard::Store store, records_of(run));
  TRY(const Value config, config_of(run));
  if (run.flag("tree")) return show_tree(run, store, config);
  TRY(const Value prompt, prompt_summary_of(run));
  TRY(const Value output, breadboard::compile(store, config, prompt));
  if (const auto file = run.option("expect")) return check_expectation(run, output, *file);
  if (run.json()) {
    const Value shown =
        stage ? breadboard::with_member(output, "stages", Value::object({{*stage, output.get("stages").get(*stage)}})) : output;
    run.data(breadboard::plain(shown));
  } else if (stage) {
    run.data(breadboard::indented(output.get("stages").get(*stage)));
  } else {
    TRY(const Value summary, breadboard::hash_summary(store, {.config = config, .prompt_summary = prompt}));
    run.line(run.paint()(Style::bold, "breadboard-0.1") + fmt::format("  {} records", store.size()));
    for (const char* name : {"node_hash", "z1", "z2", "z3"})
      run.line(fmt::format("  {:<10} {}", name, text_of(output.get("hashes"), name)));
    run.line(fmt::format("  {:<10} {}", "selection", text_of(output.get("stages").get("SPEC").get("selection"), "selection_sha256")));
    run.line(fmt::format("  {:<10} {}", "summary", text_of(summary, "summary_sha256")));
  }
  return 0;
}

}  // namespace weir::cli
