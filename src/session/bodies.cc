#include "session/bodies.h"

#include <algorithm>

#include "base/secrets.h"
#include "session/types.h"

namespace weir {
namespace {

constexpr std::int64_t kMostInteger = (std::int64_t{1} << 53) - 1;
constexpr std::string_view kRoles[] = {"user", "assistant", "tool", "system"};

void check_objects(const json::Value& list, const std::string& path, json::FieldErrors& errors) {
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const json::Value& item = list.items()[i];
    if (!item.is_object()) errors.add(path + "/" + std::to_string(i), "must be an object, is " + std::string(json::kind_name(item)));
  }
}

const json::Value* content_of(json::ObjectDecoder& body, std::string_view key, json::FieldErrors& errors) {
  const json::Value* content = body.any(key);
  if (content == nullptr || content->is_string() || content->find("$blob") != nullptr) return content;
  if (!content->is_array()) {
    body.wrong(key, "must be a string or an array of blocks, is " + std::string(json::kind_name(*content)));
    return nullptr;
  }
  check_objects(*content, json::pointer(body.path(), key), errors);
  return content;
}

}  // namespace

Result<json::Value> stored_body(json::Parser& parser, const Entry& entry) {
  auto body = parser.parse_stored(entry.body);
  if (body.ok()) return body;
  return Error(ErrorCode::CORRUPT, "the body of '" + entry.id.str() + "' is not JSON").with("entry", entry.id.str());
}

std::optional<Role> parse_role(std::string_view text) {
  const auto it = std::find(std::begin(kRoles), std::end(kRoles), text);
  return it == std::end(kRoles) ? std::nullopt : std::optional(static_cast<Role>(it - std::begin(kRoles)));
}

std::string_view role_name(Role role) { return kRoles[static_cast<int>(role)]; }

bool MessageBody::begins_turn() const {
  if (role != Role::user) return false;
  if (content == nullptr || !content->is_array() || content->items().empty()) return true;
  return std::any_of(content->items().begin(), content->items().end(),
                     [](const json::Value& block) { return block.text_or("type", "") != "tool_result"; });
}

MessageBody decode_message(const json::Value& value, const std::string& path, json::FieldErrors& errors) {
  json::ObjectDecoder body(value, path, errors);
  MessageBody message;
  const std::string_view role = body.need_text("role");
  if (const auto parsed = parse_role(role)) {
    message.role = *parsed;
  } else if (!role.empty() || (value.find("role") != nullptr && value.find("role")->is_string())) {
    body.wrong("role", "must be user, assistant, tool or system, is '" + masked_excerpt(role, 40) + "'");
  }
  message.content = content_of(body, "content", errors);
  message.tool_calls = body.array("tool_calls");
  message.tool_call_id = body.text("tool_call_id");
  message.name = body.text("name");
  message.is_error = body.boolean("is_error").value_or(false);
  message.turn = body.integer("turn", -kMostInteger, kMostInteger);
  message.read = body.object("read");
  message.text_masked = body.boolean("text_masked").value_or(false);
  if (message.tool_calls != nullptr) check_objects(*message.tool_calls, json::pointer(path, "tool_calls"), errors);
  return message;
}

CompactionBody decode_compaction(const json::Value& value, const std::string& path, json::FieldErrors& errors) {
  json::ObjectDecoder body(value, path, errors);
  CompactionBody compaction;
  const auto text_or_blob = [&](std::string_view key) -> std::optional<std::string_view> {
    const json::Value* found = body.any(key);
    if (found == nullptr || found->find("$blob") != nullptr) return std::nullopt;
    return body.text(key);
  };
  compaction.summary = text_or_blob("summary");
  compaction.narrative = text_or_blob("narrative");
  compaction.first_kept = body.text("first_kept");
  compaction.reason = body.text("reason");
  compaction.snapshot = body.object("snapshot");
  compaction.replacement = body.any("replacement");
  if (compaction.replacement != nullptr && !compaction.replacement->is_array() && compaction.replacement->find("$blob") == nullptr) {
    body.wrong("replacement", "must be an array of messages");
    compaction.replacement = nullptr;
  }
  if (compaction.replacement != nullptr) {
    for (std::size_t i = 0; i < compaction.replacement->items().size(); ++i) {
      decode_message(compaction.replacement->items()[i], json::pointer(path, "replacement") + "/" + std::to_string(i), errors);
    }
  }
  if (const json::Value* kept = body.array("kept")) {
    compaction.has_kept = true;
    for (std::size_t i = 0; i < kept->items().size(); ++i) {
      const json::Value& id = kept->items()[i];
      if (id.is_string()) {
        compaction.kept.push_back(id.text());
      } else {
        errors.add(json::pointer(path, "kept") + "/" + std::to_string(i), "must be an entry id, is " + std::string(json::kind_name(id)));
      }
    }
  }
  compaction.opaque = body.boolean("opaque").value_or(false);
  compaction.tokens_before = body.integer("tokens_before", 0, kMostInteger);
  return compaction;
}

LabelBody decode_label(const json::Value& value, const std::string& path, json::FieldErrors& errors) {
  json::ObjectDecoder body(value, path, errors);
  return {body.need_text("target"), body.text("label")};
}

ContextEditBody decode_context_edit(const json::Value& value, const std::string& path, json::FieldErrors& errors) {
  json::ObjectDecoder body(value, path, errors);
  ContextEditBody edit{body.need_text("target"), content_of(body, "replacement", errors)};
  // Taking content out is said in so many words: a misspelt replacement must not do it.
  if (value.is_object() && value.find("replacement") == nullptr) body.wrong("replacement", "is missing; null takes the content out");
  return edit;
}

BranchSummaryBody decode_branch_summary(const json::Value& value, const std::string& path, json::FieldErrors& errors) {
  json::ObjectDecoder body(value, path, errors);
  const json::Value* summary = body.any("summary");
  if (summary != nullptr && summary->find("$blob") != nullptr) return {{}, body.text("from")};
  return {body.need_text("summary"), body.text("from")};
}

SessionInfoBody decode_session_info(const json::Value& value, const std::string& path, json::FieldErrors& errors) {
  json::ObjectDecoder body(value, path, errors);
  return {body.text("name"), body.text("cwd"), body.object("tools"), body.boolean("barrier_feed")};
}

CtreeNodeBody decode_ctree_node(const json::Value& value, const std::string& path, json::FieldErrors& errors) {
  json::ObjectDecoder body(value, path, errors);
  CtreeNodeBody node;
  node.kind = body.need_text("kind");
  node.payload = value.find("payload");
  if (value.is_object() && node.payload == nullptr) body.wrong("payload", "is missing; any JSON, null too");
  node.turn = body.integer("turn", -kMostInteger, kMostInteger);
  node.node_id = body.text("node_id");
  if (node.node_id && node.node_id->empty()) body.wrong("node_id", "must not be empty");
  if (const json::Value* raw = body.any("raw"); raw != nullptr && raw->find("$blob") == nullptr) node.raw = body.text("raw");
  return node;
}

void check_body(std::string_view type, const json::Value& body, const std::string& path, json::FieldErrors& errors) {
  if (type == types::kMessage) {
    decode_message(body, path, errors);
  } else if (type == types::kCompaction) {
    decode_compaction(body, path, errors);
  } else if (type == types::kLabel) {
    decode_label(body, path, errors);
  } else if (type == types::kContextEdit) {
    decode_context_edit(body, path, errors);
  } else if (type == types::kBranchSummary) {
    decode_branch_summary(body, path, errors);
  } else if (type == types::kSessionInfo) {
    decode_session_info(body, path, errors);
  } else if (type == types::kCtreeNode) {
    decode_ctree_node(body, path, errors);
  } else if (!body.is_object()) {
    errors.add(path, "must be an object, is " + std::string(json::kind_name(body)));
  }
}

}  // namespace weir
