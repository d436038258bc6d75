#include "cli/research_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "cli/run.h"

namespace weir::cli {

using json::Value;

namespace {

std::string text(const Value& value, std::string_view key) { return printable(value.text_or(key, "")); }

double number(const Value* value) {
  if (value == nullptr) return 0;
  return value->is_integer() ? static_cast<double>(value->integer()) : value->kind() == json::Kind::real ? value->real() : 0;
}

std::uint64_t count(const Value& value, std::string_view key) { return static_cast<std::uint64_t>(std::max(0.0, number(value.find(key)))); }

std::span<const Value> list(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  return found == nullptr ? std::span<const Value>() : found->items();
}

bool is(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  return found != nullptr && found->is_boolean() && found->boolean();
}

void warn(Run& run, const Value& answer) {
  for (const Value& warning : list(answer, "warnings")) run.note(run.paint()(Style::yellow, "warning: ") + printable(warning.text()));
}

std::string where(Run& run, const Value& answer) {
  return run.paint()(Style::dim, fmt::format("  revision {}, stage {}", count(answer, "revision"), text(answer, "stage")));
}

// How much of a limit is used.
std::string gauge(Run& run, std::string_view label, double part, double whole) {
  const double share = whole <= 0 ? 1 : part / whole;
  const Style style = share > 1 ? Style::red : share > 0.85 ? Style::yellow : Style::green;
  const auto cells = static_cast<std::uint64_t>(std::min(1.0, share) * 1000);
  return fmt::format("  {:<18} {}  {:.2f} of {:g} KB", label, run.paint()(style, share_bar(cells, 1000, 20)), part, whole);
}

std::string mark(Run& run, std::string_view status) {
  if (status == "pass" || status == "PASS") return run.paint()(Style::green, "pass");
  if (status == "fail") return run.paint()(Style::red, "FAIL");
  return run.paint()(Style::dim, status == "not_run" ? "not run" : status);
}

std::string joined(std::span<const Value> values) {
  std::string out;
  for (const Value& value : values) out += (out.empty() ? "" : ", ") + printable(value.text());
  return out;
}

}  // namespace

void draw_begun(Run& run, const Value& answer) {
  run.line(fmt::format("{} {}  {}", is(answer, "created") ? "began run" : "run is there:", run.paint()(Style::cyan, text(answer, "run_id")),
                       text(answer, "root")) +
           where(run, answer));
  warn(run, answer);
  if (is(answer, "created")) run.note(fmt::format("next: weir research perspectives FILE --run {}", text(answer, "run_id")));
}

void draw_patched(Run& run, const Value& answer) {
  run.line(fmt::format("patched, status {}", run.paint()(Style::cyan, text(answer, "status"))) + where(run, answer));
  for (const Value& path : list(answer, "ignored")) run.note("not set: " + printable(path.text()) + " follows from the gates");
}

void draw_adopted(Run& run, const Value& answer) {
  run.line(fmt::format("adopted {}  {}", run.paint()(Style::cyan, text(answer, "run_id")), text(answer, "root")) + where(run, answer));
  if (const Value* adopted = answer.find("adopted")) {
    for (const json::Member& member : adopted->members())
      run.line(fmt::format("  {:<14} {}", member.key, static_cast<std::uint64_t>(number(&member.value))));
  }
  for (const Value& digest : list(answer, "upstream_digests"))
    run.line(
        run.paint()(Style::dim, fmt::format("  {}  {}  {}", text(digest, "file"), text(digest, "inputs_digest"), text(digest, "verdict"))));
  warn(run, answer);
}

void draw_perspectives(Run& run, const Value& answer) {
  run.line(fmt::format("{} {} perspectives of wave {} to {}", is(answer, "changed") ? "wrote" : "unchanged:", count(answer, "count"),
                       count(answer, "wave"), text(answer, "path")) +
           where(run, answer));
  warn(run, answer);
}

void draw_ingested(Run& run, const Value& answer) {
  for (const Value& row : list(answer, "outputs")) {
    run.line(fmt::format("  {} {:<20} {:>6} words {:>4} sources {:>8} bytes{}", run.paint()(Style::green, "ok"),
                         text(row, "perspective_id"), count(row, "words"), count(row, "sources"), grouped(count(row, "bytes")),
                         is(row, "changed") ? "" : "  unchanged"));
    warn(run, row);
  }
  run.line(fmt::format("stored {} of {} outputs", count(answer, "written_count"), count(answer, "validated_count")) + where(run, answer));
}

void draw_extracted(Run& run, const Value& answer) {
  for (const Value& url : list(answer, "urls")) run.line("  " + printable(url.text()));
  for (const Value& row : list(answer, "rejected"))
    run.line(fmt::format("  {} {}  of {}", run.paint()(Style::yellow, "rejected"), text(row, "url"), text(row, "perspective_id")));
  run.line(fmt::format("{} URLs, {} different", count(answer, "total_found"), count(answer, "unique_found")) + where(run, answer));
}

void draw_cited(Run& run, const Value& answer) {
  // Whole: a summary cites by it.
  for (const Value& row : list(answer, "records"))
    run.line(fmt::format("  {:<10} {}  {}", text(row, "status"), run.paint()(Style::cyan, text(row, "cid")), text(row, "url")));
  run.line(fmt::format("recorded {}, of them replaced {}, unchanged {}", count(answer, "recorded"), count(answer, "replaced"),
                       count(answer, "unchanged")) +
           where(run, answer));
}

void draw_citations(Run& run, const Value& answer) {
  for (const Value& row : list(answer, "citations")) {
    run.line(fmt::format("{}  {:<9}  {}", run.paint()(Style::cyan, text(row, "cid")), text(row, "status"), text(row, "title")));
    run.line(run.paint()(Style::dim, "    " + text(row, "url")));
  }
  run.line(fmt::format("{} citations may be cited, each as [@cid]", count(answer, "count")));
}

void draw_summaries(Run& run, const Value& answer) {
  for (const Value& row : list(answer, "summaries")) {
    run.line(fmt::format(
        "  {} {:<20} {:>8} bytes {:>4} claims{}{}", run.paint()(Style::green, "ok"), text(row, "perspective_id"),
        grouped(count(row, "bytes")), count(row, "claims"), is(row, "changed") ? "" : "  unchanged",
        row.find("truncated") != nullptr && row.find("truncated")->is_object() ? run.paint()(Style::yellow, "  truncated") : ""));
    warn(run, row);
  }
  run.line(fmt::format("{} summaries", list(answer, "summaries").size()) + where(run, answer));
}

void draw_pack(Run& run, const Value& answer) {
  run.line(fmt::format("{} {}: {} summaries, {} bytes", is(answer, "built") ? "built" : "unchanged:", text(answer, "path"),
                       count(answer, "summary_count"), grouped(count(answer, "bytes"))) +
           where(run, answer));
  run.line(run.paint()(Style::dim, "  " + text(answer, "digest")));
  warn(run, answer);
}

void draw_gate(Run& run, const Value& answer) {
  run.line(fmt::format("gate {}: {}", text(answer, "gate"), mark(run, answer.text_or("status", ""))) + where(run, answer));
  if (const Value* checks = answer.find("checks")) {
    for (const std::string_view group : {"bounds", "input", "integrity"})
      run.line(fmt::format("  {:<10} {}", group, mark(run, checks->text_or(group, ""))));
  }
  const Value* metrics = answer.find("metrics");
  const Value* inputs = answer.find("inputs");
  const Value* limits = inputs == nullptr ? nullptr : inputs->find("limits");
  if (limits != nullptr && metrics != nullptr) {
    run.line(gauge(run, "largest summary", number(metrics->find("max_summary_kb")), number(limits->find("max_summary_kb"))));
    run.line(gauge(run, "all summaries", number(metrics->find("total_summary_pack_kb")), number(limits->find("max_total_summary_kb"))));
    run.line(gauge(run, "pack", number(metrics->find("pack_json_kb")), number(limits->find("max_pack_json_kb"))));
    run.line(gauge(run, "synthesis input", number(metrics->find("synthesis_input_kb")), number(limits->find("max_synthesis_input_kb"))));
    run.line(
        fmt::format("  {:<18} {} of {} perspectives", "coverage", count(*metrics, "summary_count"), count(*metrics, "expected_count")));
  } else if (metrics != nullptr) {
    for (const json::Member& member : metrics->members()) run.line(fmt::format("  {:<24} {:g}", member.key, number(&member.value)));
  }
  for (const Value& reason : list(answer, "reasons")) run.line("  " + run.paint()(Style::red, printable(reason.text())));
  warn(run, answer);
}

void draw_bundle(Run& run, const Value& answer) {
  run.line(fmt::format("{} {}: {} bytes", is(answer, "changed") ? "wrote" : "unchanged:", text(answer, "path"),
                       grouped(count(answer, "bytes"))) +
           where(run, answer));
  run.line(gauge(run, "synthesis input", static_cast<double>(count(answer, "bytes")) / 1024, number(answer.find("limit_kb"))));
  for (const Value& part : list(answer, "parts"))
    run.line(fmt::format("  {:>3}  {:<24} {:>9}  {}", count(part, "n"), fitted(part.text_or("name", ""), 24), grouped(count(part, "bytes")),
                         run.paint()(Style::dim, text(part, "source"))));
}

void draw_check(Run& run, const Value& answer) {
  run.line(fmt::format("report: {}  try {} of {}", mark(run, answer.text_or("status", "")), count(answer, "iteration"),
                       count(answer, "max_iterations")) +
           where(run, answer));
  for (const Value& finding : list(answer, "findings")) {
    const std::string line = finding.find("line") == nullptr ? "" : fmt::format("line {}: ", count(finding, "line"));
    run.line(fmt::format("  {} {}{}", run.paint()(Style::red, text(finding, "code")), line, text(finding, "message")));
  }
  warn(run, answer);
  if (const Value* rendered = answer.find("rendered")) run.print(printable(rendered->text(), true));
}

void draw_status(Run& run, const Value& answer) {
  run.line(fmt::format("{}  {}  {}", run.paint()(Style::cyan, text(answer, "run_id")), text(answer, "status"),
                       run.paint()(Style::dim, text(answer, "root"))));
  run.line("  " + text(answer, "query"));
  std::string path;
  for (const std::string_view stage : {"init", "wave1", "wave2", "citations", "summaries", "synthesis", "finalize"}) {
    const bool here = answer.text_or("stage", "") == stage;
    if (stage == "wave2" && !here) continue;
    path += (path.empty() ? "  " : run.paint()(Style::dim, " > ")) +
            (here ? run.paint()(Style::bold, "[" + std::string(stage) + "]") : run.paint()(Style::dim, stage));
  }
  run.line(path);
  const Value* gates = answer.find("gates");
  for (const std::string_view id : {"B", "C", "D", "E"}) {
    const Value* gate = gates == nullptr ? nullptr : gates->find(id);
    if (gate == nullptr) continue;
    const bool ran = gate->text_or("status", "") != "not_run";
    std::string more = ran && !is(*gate, "fresh") ? run.paint()(Style::yellow, "  stale: " + joined(list(*gate, "changed"))) : "";
    if (!list(*gate, "reasons").empty()) more += "  " + joined(list(*gate, "reasons"));
    run.line(fmt::format("  gate {}  {}{}", id, mark(run, gate->text_or("status", "")), more));
  }
  for (const Value& one : list(answer, "perspectives")) {
    const auto tick = [&](std::string_view key) {
      return one.find(key)->is_null() ? run.paint()(Style::dim, "-") : run.paint()(Style::green, "x");
    };
    run.line(fmt::format("  {}  wave {}  output {}  summary {}  {}", fitted(one.text_or("id", ""), 20), count(one, "wave"), tick("output"),
                         tick("summary"), run.paint()(Style::dim, fitted(one.text_or("title", ""), 40))));
  }
  for (const Value& one : list(answer, "directives"))
    run.line(fmt::format("  {} {} {}: {}  (try {} of {})", run.paint()(Style::yellow, "retry"), text(one, "gate"), text(one, "artifact"),
                         text(one, "change_note"), count(one, "attempt"), count(one, "max_retries")));
  for (const Value& command : list(answer, "next")) run.line(run.paint()(Style::green, "  next: ") + printable(command.text()));
  warn(run, answer);
}

void draw_verified(Run& run, const Value& answer) {
  for (const Value& finding : list(answer, "findings")) {
    const std::string place = finding.find("path") != nullptr ? text(finding, "path") : "entry " + text(finding, "entry");
    run.line(fmt::format("  {} {}: {}", run.paint()(Style::red, text(finding, "code")), place, text(finding, "message")));
  }
  for (const Value& path : list(answer, "unknown_files")) run.line(run.paint()(Style::dim, "  unknown file " + printable(path.text())));
  const Value* checked = answer.find("checked");
  run.line(fmt::format("{}: {} entries, {} results replayed, {} files",
                       is(answer, "ok") ? run.paint()(Style::green, "the run is what its log says")
                                        : run.paint()(Style::red, fmt::format("{} findings", list(answer, "findings").size())),
                       count(*checked, "entries"), count(*checked, "results"), count(*checked, "files")));
  if (const Value* rebuilt = answer.find("rebuilt"))
    run.line(fmt::format("rebuilt {} files, {} bytes in {}", count(*rebuilt, "files"), grouped(count(*rebuilt, "bytes")),
                         text(*rebuilt, "directory")));
  warn(run, answer);
}

}  // namespace weir::cli
