#include "testing/provider_rules.h"

#include <set>
#include <vector>

#include "json/canonical.h"
#include "json/parse.h"

namespace weir::testing {
namespace {

using json::Value;

std::string type_of(const Value& block) { return std::string(block.text_or("type", "")); }

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

bool named(std::string_view text, std::size_t most) {
  if (text.empty() || text.size() > most) return false;
  for (const char c : text) {
    if (std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-").find(c) == std::string_view::npos)
      return false;
  }
  return true;
}

std::string at(std::size_t i, const std::string& what) { return "message " + std::to_string(i) + ": " + what; }

// One block in its role; ids of calls and results go to the sets.
std::string block_fault(const Value& block, bool assistant, std::vector<std::string>& calls, std::vector<std::string>& results,
                        bool& after_results) {
  const std::string type = type_of(block);
  if (type == "text") {
    if (blank(block.text_or("text", ""))) return "blank text";
  } else if (type == "tool_use") {
    if (!assistant) return "a call by the user";
    if (block.find("input") == nullptr || !block.find("input")->is_object()) return "input is no object";
    if (!named(block.text_or("name", ""), 128) || !named(block.text_or("id", ""), 128)) return "bad name or id";
    calls.emplace_back(block.text_or("id", ""));
  } else if (type == "tool_result") {
    if (assistant) return "a result by the assistant";
    if (after_results) return "a result after something else";
    const Value* content = block.find("content");
    if (content == nullptr) return "a result without content";
    const Value* error = block.find("is_error");
    if (error != nullptr && error->boolean() && content->is_string() && blank(content->text())) return "an error that says nothing";
    for (const Value& inner : content->items()) {
      if (type_of(inner) != "text" && type_of(inner) != "image") return "a result holds " + type_of(inner);
      if (type_of(inner) == "text" && blank(inner.text_or("text", ""))) return "blank text in a result";
    }
    results.emplace_back(block.text_or("tool_use_id", ""));
  } else if (type == "thinking" || type == "redacted_thinking") {
    if (!assistant) return "the user thinks";
    if (type == "thinking" && block.text_or("signature", "").empty()) return "a thought without signature";
  } else if (type == "image" || type == "document") {
    if (assistant) return "an assistant's image";
    if (block.find("source") == nullptr) return "an image without source";
  } else {
    return "a block of type " + type;
  }
  if (type != "tool_result") after_results = true;
  return "";
}

}  // namespace

std::string anthropic_fault(const Value& rendered) {
  if (const Value* system = rendered.find("system")) {
    if (system->items().empty()) return "an empty system";
    for (const Value& block : system->items()) {
      if (type_of(block) != "text" || blank(block.text_or("text", ""))) return "system holds " + json::canonical(block);
    }
  }
  const auto messages = rendered.find("messages")->items();
  std::set<std::string> seen;
  std::vector<std::string> waiting;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const bool assistant = messages[i].text_or("role", "") == "assistant";
    if (!assistant && messages[i].text_or("role", "") != "user") return at(i, "role " + std::string(messages[i].text_or("role", "")));
    if (assistant != (i % 2 == 1)) return at(i, "roles do not alternate from the user on");
    const auto blocks = messages[i].find("content")->items();
    if (blocks.empty()) return at(i, "no content");
    std::vector<std::string> calls, results;
    bool after_results = false;
    for (const Value& block : blocks) {
      if (const std::string fault = block_fault(block, assistant, calls, results, after_results); !fault.empty()) return at(i, fault);
    }
    if (assistant && type_of(blocks.back()).ends_with("thinking")) return at(i, "ends in a thought");
    if (results != waiting) return at(i, "results are not those of the calls before, in order");
    for (const std::string& id : calls) {
      if (!seen.insert(id).second) return at(i, "call " + id + " is there twice");
    }
    waiting = calls;
  }
  if (!waiting.empty()) return "the last calls are not answered";
  if (messages.size() % 2 == 0 && !messages.empty()) {
    const Value& last = messages.back().find("content")->items().back();
    const std::string_view text = last.text_or("text", "x");
    if (blank(text.substr(text.size() - 1))) return "the assistant's last word ends in white space";
  }
  return "";
}

std::string openai_fault(const Value& rendered) {
  const auto messages = rendered.find("messages")->items();
  if (rendered.find("system") != nullptr) return "a system beside the messages";
  std::set<std::string> seen, waiting;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string role(messages[i].text_or("role", ""));
    const Value* content = messages[i].find("content");
    const Value* calls = messages[i].find("tool_calls");
    if (content == nullptr) return at(i, "no content");
    if (role == "tool") {
      if (!content->is_string()) return at(i, "a result that is no text");
      if (waiting.erase(std::string(messages[i].text_or("tool_call_id", ""))) == 0) return at(i, "a result of no call that waits");
      continue;
    }
    if (!waiting.empty()) return at(i, "a call waits for " + *waiting.begin());
    if (role != "system" && role != "user" && role != "assistant") return at(i, "role " + role);
    if (content->is_null() && (role != "assistant" || calls == nullptr)) return at(i, "null content");
    if (content->is_string() && blank(content->text())) return at(i, "blank content");
    if (content->is_array() && (content->items().empty() || role != "user")) return at(i, "parts");
    for (const Value& part : content->items()) {
      if (type_of(part) != "text" && type_of(part) != "image_url") return at(i, "a part of type " + type_of(part));
      if (type_of(part) == "text" && blank(part.text_or("text", ""))) return at(i, "a blank part");
    }
    if (calls == nullptr) continue;
    if (role != "assistant" || calls->items().empty()) return at(i, "calls of nobody, or none");
    for (const Value& call : calls->items()) {
      const std::string id(call.text_or("id", ""));
      const Value* function = call.find("function");
      if (type_of(call) != "function" || function == nullptr || !named(function->text_or("name", ""), 64) || !named(id, 40))
        return at(i, "a call " + json::canonical(call));
      json::Parser parser;
      const auto arguments = parser.parse(function->text_or("arguments", ""));
      if (!arguments.ok() || !arguments->is_object()) return at(i, "arguments are no object");
      if (!seen.insert(id).second) return at(i, "call " + id + " is there twice");
      waiting.insert(id);
    }
  }
  return waiting.empty() ? "" : "the last calls are not answered";
}

std::string plain_fault(const Value& rendered) {
  std::vector<std::string> waiting;
  const auto messages = rendered.find("messages")->items();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string role(messages[i].text_or("role", ""));
    if (messages[i].find("text") == nullptr || !messages[i].find("text")->is_string()) return at(i, "no text");
    if (role == "tool") {
      if (waiting.empty() || waiting.front() != messages[i].text_or("call", "")) return at(i, "a result out of turn");
      waiting.erase(waiting.begin());
      continue;
    }
    if (!waiting.empty()) return at(i, "a call waits");
    const Value* calls = messages[i].find("calls");
    if (calls == nullptr && blank(messages[i].text_or("text", ""))) return at(i, "nothing said");
    if (calls == nullptr) continue;
    if (role != "assistant") return at(i, "calls of nobody");
    for (const Value& call : calls->items()) waiting.emplace_back(call.text_or("id", ""));
  }
  return waiting.empty() ? "" : "the last calls are not answered";
}

}  // namespace weir::testing
