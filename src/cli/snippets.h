// How agents are told of Weir's MCP server: what each of them keeps in which file.
#pragma once

#include <string>
#include <vector>

namespace weir::cli {

struct Snippet {
  std::string agent, name;  // for programs, for people
  std::string transport;    // stdio or http
  std::string place;        // the file it goes into, or what else to do with it
  std::string text;
};

// `arguments` follow `weir mcp`. An empty URL: nothing over HTTP.
std::vector<Snippet> snippets(const std::vector<std::string>& arguments, const std::string& mcp_url);

}  // namespace weir::cli
