#include "compaction/carry.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/paths.h"
#include "base/utf8.h"
#include "compaction/apply.h"
#include "compaction/snapshot.h"
#include "compaction/tools.h"
#include "session/read_record.h"
#include "session/types.h"

namespace weir::compaction {
namespace {

using json::Value;

constexpr std::string_view kToolError = "tool_error";
constexpr std::size_t kMostTarget = 120;  // code points
constexpr std::string_view kBlank = " \t\r\n";

// A string that may be a blob: its text or its preview, and how long it is.
struct Piece {
  std::string_view text;
  std::uint64_t bytes = 0;
  bool whole = true;
};

std::optional<Piece> piece(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return Piece{value->text(), value->text().size(), true};
  const Value* bytes = value->find("bytes");
  if (value->find("$blob") == nullptr) return std::nullopt;
  return Piece{value->text_or("preview", ""),
               bytes != nullptr && bytes->is_integer() && bytes->integer() > 0 ? static_cast<std::uint64_t>(bytes->integer()) : 0, false};
}

// The texts of a message, in order.
template <typename Visit>
void each_text(const Value* content, Visit&& visit) {
  if (const auto whole = piece(content)) return visit(*content, *whole);
  if (content == nullptr) return;
  for (const Value& block : content->items()) {
    if (block.text_or("type", "") != "text") continue;
    if (const auto part = piece(block.find("text"))) visit(*block.find("text"), *part);
  }
}

// Nothing but blanks, however long.
bool is_blank_message(const Value* content) {
  bool blank = true;
  each_text(content, [&](const Value&, const Piece& part) { blank = blank && is_blank(part.text); });
  return blank;
}

class Carrying {
 public:
  Carrying(RunState& state, const Place& place) : state_(state), carry_(state.carry), place_(place) {}

  void read(const Value& body) {
    if (const auto record = parse_read_record(body)) take_read(*record);
  }

  void label(const Value& body) {
    const auto seq = carry_.messages.find(body.text_or("target", ""));
    if (!seq) return;
    if (body.text_or("label", "") == "pin") {
      carry_.pins.set(std::uint64_t{*seq}, true);
    } else {
      carry_.pins.erase(std::uint64_t{*seq});
    }
  }

  void session_info(const Value& body) {
    if (const Value* cwd = body.find("cwd"); cwd != nullptr && cwd->is_string()) carry_.cwd = cwd->text();
    if (const Value* tools = body.find("tools"); tools != nullptr && tools->is_object()) {
      for (const json::Member& tool : tools->members()) {
        if (const auto kind = tool.value.is_string() ? parse_tool_class(tool.value.text()) : std::nullopt) {
          carry_.tool_classes.set(tool.key, *kind);
        }
      }
    }
  }

  void message(const Entry& entry, const Value& body) {
    state_.message_bytes += entry.body.size();
    if (entry.seq <= std::numeric_limits<std::uint32_t>::max()) carry_.messages.set(entry.id.str(), static_cast<std::uint32_t>(entry.seq));
    const auto role = parse_role(body.text_or("role", ""));
    if (!role) return;
    const Value* content = body.find("content");
    const Value* record_value = body.find("read");
    const auto record = record_value == nullptr ? std::nullopt : parse_read_record(*record_value);
    const Value* error = body.find("is_error");
    const bool is_error = error != nullptr && error->is_boolean() && error->boolean();
    switch (*role) {
      case Role::system:
        system(content);
        break;
      case Role::user:
        user(body, content);
        break;
      case Role::assistant:
        assistant(body, content);
        break;
      case Role::tool:
        if (const Value* id = body.find("tool_call_id"); id != nullptr && id->is_string()) {
          result(id->text(), is_error, content, record, body.text_or("name", ""));
          return;
        }
        break;
    }
    if (record && !is_error) take_read(*record);
  }

 private:
  std::string path_of(std::string_view path) const { return carried_path(carry_.cwd, path); }

  void system(const Value* content) {
    Text text = message_text(content, kMostText);
    const std::string key = text_identity(content);
    if (carry_.system.find(key) != nullptr) return;
    carry_.system.put(key, {place_.pointer, place_.seq, std::move(text)});
  }

  void user(const Value& body, const Value* content) {
    if (content != nullptr) {
      for (const Value& block : content->items()) {
        if (block.text_or("type", "") != "tool_result" || !block.find("tool_use_id")) continue;
        const Value* error = block.find("is_error");
        result(block.text_or("tool_use_id", ""), error != nullptr && error->is_boolean() && error->boolean(), block.find("content"),
               std::nullopt, "");
      }
    }
    const auto there = [&](std::string_view key) {
      const Value* value = body.find(key);
      return value != nullptr && !value->is_null();
    };
    if (there("name") || there("read")) return;
    if (const Value* extra = body.find("extra")) {
      const Value* synthetic = extra->find("synthetic");
      if (synthetic != nullptr && synthetic->is_boolean() && synthetic->boolean()) return;
    }
    if (is_blank_message(content)) return;
    Text text = message_text(content, kMostText);
    if (carry_.latest_request != nullptr) {
      Request before = *carry_.latest_request;
      before.text.opening = whole_prefix(before.text.opening, kOpening);
      carry_.requests.put(request_key(carry_.request_count), std::move(before));
      if (carry_.request_count > kMostListed) carry_.requests.erase(request_key(carry_.request_count - kMostListed));
    }
    carry_.latest_request = std::make_shared<const Request>(Request{place_.pointer, std::move(text)});
    if (carry_.first_request == nullptr) carry_.first_request = carry_.latest_request;
    ++carry_.request_count;
    carry_.answered = false;
  }
  static std::string request_key(std::uint64_t number) { return std::to_string(number); }

  void assistant(const Value& body, const Value* content) {
    if (carry_.latest_request != nullptr) carry_.answered = true;
    if (!is_blank_message(content))
      carry_.last_reply = std::make_shared<const Request>(Request{place_.pointer, message_text(content, kOpening)});
    if (content != nullptr) {
      for (const Value& block : content->items()) {
        if (block.text_or("type", "") == "tool_use") call(block, block, block.find("input"));
      }
    }
    if (const Value* calls = body.find("tool_calls")) {
      for (const Value& item : calls->items()) {
        const Value* function = item.find("function");  // how some providers nest it
        call(item, function == nullptr ? item : *function, (function == nullptr ? item : *function).find("arguments"));
      }
    }
  }

  void call(const Value& item, const Value& named, const Value* arguments) {
    const Value* id = item.find("id");
    if (id == nullptr || !id->is_string() || id->text().empty()) return;
    const std::string_view name = named.text_or("name", "");
    if (name.empty()) return;  // of what failed then, nobody could say where
    Call call = read_call(name, arguments, carry_.tool_classes);
    call.entry = place_.pointer;
    call.request = carry_.request_count;
    carry_.calls.put_last(std::string(id->text()), std::move(call));
  }

  void result(std::string_view id, bool is_error, const Value* content, const std::optional<ReadRecord>& record, std::string_view name) {
    Call call;
    if (const Call* found = carry_.calls.find(id)) {
      call = *found;
      carry_.calls.erase(id);
    } else if (!name.empty()) {
      call.tool = whole_prefix(name, kMostId);
    } else {
      if (record && !is_error) take_read(*record);
      return;
    }
    if (call.kind == ToolClass::command && call.command_opening) ran(call, is_error);
    if (is_error) {
      failed(call, content);
    } else {
      worked(call, record);
    }
  }

  void ran(const Call& call, bool is_error) {
    const Command* there = carry_.commands.find(call.command_key);
    Command command = there != nullptr ? *there : Command{call.tool, *call.command_opening, call.command_bytes};
    ++command.runs;
    command.errors += is_error;
    command.last_entry = place_.pointer;
    carry_.commands.put_last(call.command_key, std::move(command));
  }

  // Where a call failed, or would have.
  std::string where_of(const Call& call) const {
    const std::string target = call.paths.empty() ? call.command_line : path_of(call.paths.front());
    return target.empty() ? call.tool : call.tool + ": " + std::string(utf8_prefix(target, kMostTarget));
  }
  std::string failure_id(const Call& call, std::string_view where) const {
    return derive_failure_id(kToolError, where, "TOOL_ERROR", call.tool);
  }

  void failed(const Call& call, const Value* content) {
    const Text text = message_text(content, kMostText);
    std::string_view line = first_line(text.opening);
    line = utf8_prefix(line, 200);
    const std::string where = where_of(call);
    record_failure(state_, failure_id(call, where), kToolError, where, line.empty() ? "(no text)" : line, state_.step_id, place_.pointer);
  }

  void worked(const Call& call, const std::optional<ReadRecord>& record) {
    if (!state_.failures.empty()) {
      const std::string id = failure_id(call, where_of(call));
      if (const Failure* failure = state_.failures.find(id); failure != nullptr && failure->status == FailureStatus::active)
        state_.failures.update(id, [](Failure& f) { f.status = FailureStatus::resolved; });
    }
    if (record) take_read(*record);
    switch (call.kind) {
      case ToolClass::read:
        if (!record && !call.paths.empty()) touch(path_of(call.paths.front()), [&](File& file) { seen(file); });
        break;
      case ToolClass::write:
      case ToolClass::edit:
        for (const std::string& path : call.paths) {
          touch(path_of(path), [&](File& file) {
            ++file.changes;
            file.last_change = place_.pointer;
            file.sha256 = call.kind == ToolClass::write ? call.sha256 : "";
          });
        }
        break;
      case ToolClass::todo:
        if (call.has_todos) carry_.todos = std::make_shared<const Todos>(Todos{call.entry, call.todos});
        break;
      case ToolClass::command:
      case ToolClass::other:
        break;
    }
  }

  void seen(File& file) const {
    ++file.reads;
    file.last_read = place_.pointer;
  }

  template <typename Change>
  void touch(const std::string& path, Change&& change) {
    const std::string source = "file:" + path;
    if (source.size() > kMostText) return;  // what no snapshot could carry
    const File* there = carry_.files.find(path);
    File file = there != nullptr ? *there : File();
    change(file);
    if (file.reads > 0) state_.source_ids_seen.set(source, true);
    carry_.files.put_last(path, std::move(file));
  }

  void take_read(const ReadRecord& record) {
    const std::string path = path_of(record.path);
    const bool hashed = record.served.size() == 64 && record.served.find_first_not_of("0123456789abcdef") == std::string::npos;
    touch(path, [&](File& file) {
      seen(file);
      file.sha256 = hashed ? record.served : "";
    });
    if (!hashed) return;
    for (const LineRange& lines : record.shown) {
      state_.chunk_ids_seen.set(
          "file:" + path + "#" + std::to_string(lines.first) + "-" + std::to_string(lines.last) + "@" + record.served.substr(0, 12), true);
    }
  }

  RunState& state_;
  Carry& carry_;
  const Place& place_;
};

}  // namespace

bool is_carried(std::string_view type) {
  return type == types::kMessage || type == types::kRead || type == types::kLabel || type == types::kSessionInfo;
}

void carry(RunState& state, const Entry& entry, const Value& body, const Place& place) {
  Carrying carrying(state, place);
  if (entry.type == types::kMessage) return carrying.message(entry, body);
  if (entry.type == types::kRead) return carrying.read(body);
  if (entry.type == types::kLabel) return carrying.label(body);
  carrying.session_info(body);
}

Text message_text(const Value* content, std::size_t most) {
  Text out;
  bool first = true, full = false;  // once something did not fit, nothing that follows may stand in its place
  const auto add = [&](std::string_view text) {
    const std::string_view fits = full ? std::string_view() : whole_prefix(text, most - out.opening.size());
    full = full || fits.size() < text.size();
    out.opening += fits;
  };
  each_text(content, [&](const Value&, const Piece& part) {
    if (!first) add("\n");
    out.bytes += part.bytes + !first;
    first = false;
    add(part.text);
    out.whole = out.whole && part.whole;
  });
  out.whole = out.whole && !full;
  return out;
}

std::string text_identity(const Value* content) {
  bool whole = true;
  each_text(content, [&](const Value&, const Piece& part) { whole = whole && part.whole; });
  Sha256 hash;
  std::string_view between = whole ? "t" : "b";
  each_text(content, [&](const Value& value, const Piece& part) {
    hash.update(std::exchange(between, "\n"));
    // A blob by its name: two that begin alike are not one.
    if (!whole) hash.update(part.whole ? "=" : "");
    hash.update(part.whole ? part.text : value.text_or("$blob", ""));
  });
  return hash.finish().hex();
}

bool is_blank(std::string_view text) { return text.find_first_not_of(kBlank) == std::string_view::npos; }

std::string_view whole_prefix(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!is_blank(line)) return line;
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return {};
}

}  // namespace weir::compaction
