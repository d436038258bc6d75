// weir: the command line.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/memory.h"
#include "base/utf8.h"
#include "cli/arguments.h"
#include "cli/run.h"
#include "cli/version.h"
#include "service/render.h"
#include "store/part_lost.h"

namespace weir::cli {
namespace {

// One thing wrong with a text that was handed in.
std::string failure_line(const weir::json::Value& failure) {
  const std::string whose = printable(failure.text_or("perspective_id", ""));
  return fmt::format("{}{}: {}", whose.empty() ? "" : whose + "  ", printable(failure.text_or("code", "")),
                     printable(failure.text_or("message", "")));
}

// What to change before the next try.
std::string retry_lines(const weir::json::Value& retry) {
  std::string text;
  if (retry.text_or("code", "") == "RETRY_EXHAUSTED") text += "  no retry is left; a text that passes is still taken\n";
  const weir::json::Value* directives = retry.find("directives");
  for (const weir::json::Value& one : directives == nullptr ? std::span<const weir::json::Value>() : directives->items()) {
    text +=
        fmt::format("  try again: {}: {}  ({} of {})\n", printable(one.text_or("artifact", "")), printable(one.text_or("change_note", "")),
                    weir::json::canonical(*one.find("attempt")), weir::json::canonical(*one.find("max_retries")));
  }
  return text;
}

// The one place where an error becomes text and an exit code.
int report(const Error& error, bool json, bool color) {
  weir::json::Arena arena;
  const weir::json::Value shown = error_json(error, arena);
  if (json) {
    const std::string line = weir::json::canonical(weir::json::make_object(arena, {{"error", shown}})) + "\n";
    std::fputs((is_terminal(STDERR_FILENO) ? json_for_terminal(line.substr(0, line.size() - 1)) + "\n" : line).c_str(), stderr);
    return info(error.code()).exit;
  }
  const Painter paint(color);
  std::string text =
      fmt::format("{} {}\n", paint(Style::red, fmt::format("weir: {}:", info(error.code()).name)), printable(shown.text_or("message", "")));
  const weir::json::Value* details = shown.find("details");
  for (const weir::json::Member& detail : details->members()) {
    if (detail.key == "errors") {
      for (const weir::json::Value& field : detail.value.items()) {
        // The request as a whole: the message has said it.
        if (field.text_or("path", "").empty()) continue;
        text += fmt::format("  {}: {}\n", printable(field.text_or("path", "")), printable(field.text_or("message", "")));
      }
    } else if (detail.key == "failures" || detail.key == "findings") {
      for (const weir::json::Value& failure : detail.value.items()) text += "  " + failure_line(failure) + "\n";
    } else if (detail.key == "retry") {
      text += retry_lines(detail.value);
    } else if (detail.value.is_string()) {
      text += fmt::format("  {}: {}\n", detail.key, printable(detail.value.text()));
    } else {
      text += fmt::format("  {}: {}\n", detail.key, weir::json::canonical(detail.value));
    }
  }
  std::fputs(text.c_str(), stderr);
  return info(error.code()).exit;
}

int run_program(const std::vector<std::string>& words) {
  const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
  const auto never = [&](const std::string& word) { return word == "never" || word == "--color=never"; };
  const bool color = is_terminal(STDERR_FILENO) && environment("NO_COLOR").empty() && environment("TERM") != "dumb" &&
                     std::none_of(words.begin(), words.end(), never);
  auto arguments = parse_arguments(words);
  if (!arguments.ok()) return report(arguments.error(), json, color);
  Run run(std::move(arguments).value(), Doors{});
  if (run.flag("version")) {
    run.print(json ? fmt::format("{{\"name\":\"weir\",\"version\":\"{}\"}}\n", kVersion) : fmt::format("weir {}\n", kVersion));
    const auto flushed = run.flush();
    return flushed.ok() ? 0 : report(flushed.error(), json, color);
  }
  auto code = within_memory([&] { return or_part_lost([&] { return run.arguments().command->run(run); }); });
  if (auto flushed = run.flush(); !flushed.ok() && code.ok()) code = std::move(flushed).error();
  if (code.ok()) return *code;
  if (code.error().code() == ErrorCode::CANCELLED && pending_signal() != 0) {
    report(code.error(), json, color);
    return 128 + pending_signal();
  }
  if (code.error().code() == ErrorCode::CANCELLED && run.timed_out())
    return report(Error(ErrorCode::TIMEOUT, "the time given by --timeout is over; " + code.error().message()), json, color);
  return report(code.error(), json, color);
}

}  // namespace
}  // namespace weir::cli

int main(int argc, char** argv) {
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write
  weir::cli::install_signal_handlers();
  try {
    return weir::cli::run_program(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::bad_alloc&) {
    // Not even for the words of the error.
    std::fputs("weir: BUSY: there is not enough memory\n", stderr);
    return weir::info(weir::ErrorCode::BUSY).exit;
  }
}
