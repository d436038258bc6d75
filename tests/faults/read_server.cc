// The read door behind the least MCP that tools/race asks for: `read` with a path, over stdio.
//   read_server ROOT [--by-component]
#include <iostream>
#include <string>

#include "json/canonical.h"
#include "json/parse.h"
#include "readcache/baseline.h"
#include "readcache/file_content.h"
#include "readcache/open_request.h"

using namespace weir;

namespace {

Result<std::string> read(const ReadDoor& door, const std::string& root, std::string_view path) {
  TRY(OpenedRequest opened, open_request(door, path, {}, {root, ""}));
  TRY(const FileContent content, read_content(*opened.file.file, opened.file.stat.size, opened.request.lines, {}));
  if (const auto* text = std::get_if<TextContent>(&content)) return make_baseline(text->selection, {}, path).text;
  return std::string(std::get<NotText>(content).mime);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string root = argv[1];
  const auto door = ReadDoor::make({root}, {.by_component = argc > 2 && argv[2] == std::string("--by-component")});
  if (!door.ok()) return 2;
  json::Parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = parser.parse(line);
    const json::Value* id = request.ok() ? request->find("id") : nullptr;
    if (id == nullptr) continue;
    json::Arena& arena = parser.arena();
    json::Value result = json::make_object(arena, {{"protocolVersion", "2025-06-18"}, {"capabilities", json::make_object(arena, {})}});
    std::string text;
    const json::Value* params = request->find("params");
    if (const json::Value* arguments = params == nullptr ? nullptr : params->find("arguments")) {
      auto done = read(*door, root, arguments->text_or("path", ""));
      const bool ok = done.ok();
      text = ok ? *std::move(done) : done.error().message();
      const json::Value block[] = {json::make_object(arena, {{"type", "text"}, {"text", text}})};
      result = json::make_object(arena, {{"content", json::make_array(arena, block)}, {"isError", !ok}});
    }
    std::cout << json::canonical(json::make_object(arena, {{"jsonrpc", "2.0"}, {"id", *id}, {"result", result}})) << std::endl;
  }
  return 0;
}
