#include "ctree/breadboard_records.h"

#include <algorithm>

#include "base/secrets.h"
#include "base/utf8.h"
#include "ctree/breadboard_python.h"
#include "ctree/breadboard_read.h"

namespace weir::breadboard {
namespace {

// One piece of a file as Python's splitlines cuts it. Lines are counted as an editor does, so two pieces may stand on one.
struct Piece {
  std::string_view text;
  std::size_t line;
  bool ended;  // by a line end, not by the end of the file
};

// Bytes of the separator at `at`, 0 if there is none.
std::size_t separator_length(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '\r') return text.substr(at, 2) == "\r\n" ? 2 : 1;
  if ((c >= '\n' && c <= '\f') || (c >= 0x1C && c <= 0x1E)) return 1;
  if (text.substr(at, 2) == "\xC2\x85") return 2;
  const std::string_view three = text.substr(at, 3);
  return three == "\xE2\x80\xA8" || three == "\xE2\x80\xA9" ? 3 : 0;
}

std::optional<Piece> next_piece(std::string_view text, std::size_t& at, std::size_t& line) {
  if (at == text.size()) return std::nullopt;
  const std::size_t start = at;
  std::size_t length = 0;
  while (at < text.size() && (length = separator_length(text, at)) == 0) ++at;
  const Piece piece{text.substr(start, at - start), line, length != 0};
  if (length != 0 && (text[at] == '\n' || text[at] == '\r')) ++line;
  at += length;
  return piece;
}

// The text without a last character that was cut in writing it.
std::string_view without_cut_character(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return length > back ? text.substr(0, text.size() - back) : text;
  }
  return text;
}

Error not_utf8(std::string_view text) {
  std::size_t at = 0;
  while (decode_utf8(text, at)) {
  }
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return Error(ErrorCode::INVALID_JSON, "the record file is not UTF-8, at line " + std::to_string(line)).with("line", std::int64_t{line});
}

class FileReader {
 public:
  Result<RecordFile> read(std::string_view given) {
    const std::string_view text = without_cut_character(given);
    cut_ = text.size() < given.size();
    if (!valid_utf8(text)) return not_utf8(text);
    std::size_t at = 0, line = 1;
    bool ended = true;
    while (const auto piece = next_piece(text, at, line)) {
      ended = piece->ended;
      TRY_DO(take(*piece));
    }
    if (ended && cut_) TRY_DO(take({"", line, false}));  // the cut character was all there was of the line
    return std::move(file_);
  }

 private:
  void find(LineFinding what, const Piece& piece, std::string message = {}) {
    file_.findings.push_back({what, piece.line, 0, std::move(message)});
  }

  Result<void> take(const Piece& piece) {
    const std::string_view text = strip(piece.text);
    const bool torn = !piece.ended && cut_;
    if (text.empty() && !torn) return find(LineFinding::blank, piece), Result<void>();
    const auto value = read_json(text);
    if (!value.ok() || torn) {
      const std::string why = value.ok() ? "its last character is cut" : value.error().message();
      return find(piece.ended ? LineFinding::unparsable : LineFinding::torn, piece, why), Result<void>();
    }
    if (!value->is_object()) return find(LineFinding::not_object, piece), Result<void>();
    if (const Value type = value->get("_type"); type.is_string() && type.text() == "ctree_eventlog_header") return header(*value, piece);
    if (!is_true(value->get("kind"))) return find(LineFinding::no_kind, piece), Result<void>();
    return record(*value, piece);
  }

  Result<void> header(const Value& value, const Piece& piece) {
    const Value version = value.get("schema_version");
    if (version.is_string() && !file_.schema_version) file_.schema_version = version.text();
    find(LineFinding::header, piece);
    return {};
  }

  Result<void> record(const Value& value, const Piece& piece) {
    auto record = record_of(value);
    if (!record.ok()) {
      const std::string message = record.error().message() + ", at line " + std::to_string(piece.line);
      return std::move(record).error().with_message(message).with("line", static_cast<std::int64_t>(piece.line));
    }
    const Node& node = file_.store.record(std::move(*record));
    lines_.push_back(piece.line);
    if (node.first + 1 < lines_.size()) {
      file_.findings.push_back({LineFinding::duplicate_id, piece.line, lines_[node.first], masked_excerpt(node.id, 80)});
    }
    return {};
  }

  RecordFile file_;
  std::vector<std::size_t> lines_;  // of the nodes
  bool cut_ = false;
};

}  // namespace

std::string_view name(LineFinding finding) {
  static constexpr std::string_view kNames[] = {"header", "blank", "unparsable", "torn", "not_object", "no_kind", "duplicate_id"};
  return kNames[static_cast<std::size_t>(finding)];
}

Result<Record> record_of(const Value& value) {
  const Value kind = value.get("kind"), id = value.get("node_id");
  if (!value.is_object()) return Error(ErrorCode::INVALID_FIELD, "a record is no object");
  if (!kind.is_string() && !is_true(kind)) return Error(ErrorCode::INVALID_FIELD, "a record has no kind");
  Record out;
  TRY(out.kind, to_str(kind, "a record's kind"));
  out.payload = value.get("payload");
  out.turn = value.get("turn");
  if (is_true(id)) {
    TRY(out.node_id, to_str(id, "a record's node_id"));
  }
  return out;
}

Result<Record> record_of_ctree_node(std::string_view body) {
  TRY(const Value value, read_json(body));
  const Value raw = value.get("raw");
  if (!raw.is_string()) return record_of(value);
  TRY(const Value inside, read_json(raw.text()));
  return record_of(inside);
}

Result<Record> record_of_message(std::string_view body, Value turn) {
  TRY(const Value value, read_json(body));
  if (!value.is_object()) return Error(ErrorCode::INVALID_FIELD, "a message's body is no object");
  std::vector<Member> payload;
  for (const char* key : {"role", "content", "tool_calls", "name"}) payload.push_back({key, value.get(key)});
  return Record{"message", Value::object(std::move(payload)), std::move(turn), {}};
}

Result<RecordFile> read_record_file(std::string_view text) { return FileReader().read(text); }

}  // namespace weir::breadboard
