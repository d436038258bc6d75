#include "cli/snippets.h"

#include <fmt/format.h>

#include "json/canonical.h"

namespace weir::cli {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  json::write_string(text, out);
  return out;
}

// "mcp", "--store", "/a b": the inside of a list in JSON and in TOML.
std::string list(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : std::string(between)) + quoted(word);
  return out;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string out = "weir";
  for (const std::string& word : words) {
    out += ' ';
    if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == std::string::npos) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

}  // namespace

std::vector<Snippet> snippets(const std::vector<std::string>& arguments, const std::string& mcp_url) {
  std::vector<std::string> words = {"mcp"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> hosting = words;
  hosting.insert(hosting.begin() + 1, "--host");
  const std::string args = list(words, ",");
  std::vector<Snippet> out = {
      {"pi", "pi", "stdio", "an extension starts it and speaks lines of JSON-RPC with it", shell_line(hosting)},
      {"claude-code", "Claude Code", "stdio", ".mcp.json",
       fmt::format(R"({{"mcpServers":{{"weir":{{"type":"stdio","command":"weir","args":[{}]}}}}}})", args)},
      {"codex", "Codex", "stdio", "~/.codex/config.toml",
       fmt::format("[mcp_servers.weir]\ncommand = \"weir\"\nargs = [{}]", list(words, ", "))},
      {"opencode", "opencode", "stdio", "opencode.json",
       fmt::format(R"({{"mcp":{{"weir":{{"type":"local","command":["weir",{}],"enabled":true}}}}}})", args)},
      {"gemini", "Gemini", "stdio", "~/.gemini/settings.json",
       fmt::format(R"({{"mcpServers":{{"weir":{{"command":"weir","args":[{}],"timeout":30000}}}}}})", args)},
  };
  if (!mcp_url.empty()) {
    out.push_back(
        {"claude-code", "Claude Code over HTTP", "http", ".mcp.json, and in its environment WEIR_TOKEN=\"$(weir token show --yes)\"",
         fmt::format(R"({{"mcpServers":{{"weir":{{"type":"http","url":{},"headers":{{"Authorization":"Bearer ${{WEIR_TOKEN}}"}}}}}}}})",
                     quoted(mcp_url))});
  }
  return out;
}

}  // namespace weir::cli
