#include "context/request.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "base/utf8.h"
#include "json/canonical.h"
#include "json/decode.h"
#include "json/mask.h"

namespace weir::context {
namespace {

using json::Value;

constexpr std::size_t kMostReason = 64;  // code points, as of a kind

// A string that append would move to a blob would no longer be what the manifest's id was made of.
bool too_long(const Value& value) {
  if (value.is_string()) return value.text().size() > limits::kBlobStringBytes;
  if (std::any_of(value.items().begin(), value.items().end(), too_long)) return true;
  return std::any_of(value.members().begin(), value.members().end(), [](const json::Member& member) { return too_long(member.value); });
}

bool is_word(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    const auto c = decode_utf8(text, at);
    if (!c || is_control(*c)) return false;
  }
  return count > 0 && count <= kMostReason;
}

class Reading {
 public:
  Reading(const Value& value, json::FieldErrors& errors) : errors_(errors), in_(value, "", errors) {
    for (const json::Member& member : value.members()) {
      if (member.key != "tools" && too_long(member.value))
        in_.wrong(member.key, "holds a string over " + std::to_string(limits::kBlobStringBytes) + " bytes");
    }
  }

  void text(std::string_view key, std::optional<std::string>& out) {
    if (const auto given = in_.text(key)) out = std::string(*given);
  }

  void texts(std::string_view key, std::vector<std::string>& out, bool each_once = false) {
    const Value* list = in_.array(key);
    if (list == nullptr) return;
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      const Value& item = list->items()[i];
      if (!item.is_string()) {
        wrong_item(key, i, "must be a string, is " + std::string(json::kind_name(item)));
      } else if (!seen.insert(item.text()).second && each_once) {
        wrong_item(key, i, "is there twice");
      } else {
        out.emplace_back(item.text());
      }
    }
  }

  // What was selected is one of the candidates; what was left out for a reason is one that was not selected.
  void check_chunks(Request& out) {
    const std::set<std::string_view> candidates(out.candidate_chunk_ids.begin(), out.candidate_chunk_ids.end());
    for (std::size_t i = 0; i < out.selected_chunk_ids.size(); ++i) {
      if (!candidates.contains(out.selected_chunk_ids[i])) wrong_item("selected_chunk_ids", i, "is not among candidate_chunk_ids");
    }
    const std::set<std::string_view> selected(out.selected_chunk_ids.begin(), out.selected_chunk_ids.end());
    const Value* reasons = in_.object("excluded_reasons");
    if (reasons == nullptr) return;
    for (const json::Member& member : reasons->members()) {
      const std::string path = json::pointer("/excluded_reasons", member.key);
      if (!candidates.contains(member.key)) {
        errors_.add(path, "is not among candidate_chunk_ids");
      } else if (selected.contains(member.key)) {
        errors_.add(path, "is among selected_chunk_ids");
      } else if (!member.value.is_string() || !is_word(member.value.text())) {
        errors_.add(path, "must be a word of 1 to 64 code points without control characters");
      } else {
        out.excluded_reasons.emplace(member.key, member.value.text());
      }
    }
  }

  json::ObjectDecoder& in() { return in_; }

 private:
  void wrong_item(std::string_view key, std::size_t i, std::string message) {
    errors_.add(json::pointer("", key) + "/" + std::to_string(i), std::move(message));
  }

  json::FieldErrors& errors_;
  json::ObjectDecoder in_;
};

}  // namespace

Result<Request> Request::parse(const Value& value, const Masker& masker) {
  json::Arena arena;
  MaskCounts counts;
  const Value masked = json::mask(value, masker, arena, counts);
  json::FieldErrors errors;
  Request out;
  Reading reading(masked, errors);
  if (const Value* intent = reading.in().object("intent")) out.intent = json::canonical(*intent);
  reading.text("retrieval_query", out.retrieval_query);
  reading.text("reranker_model", out.reranker_model);
  reading.text("reranker_version", out.reranker_version);
  reading.texts("filters", out.filters);
  std::sort(out.filters.begin(), out.filters.end());
  out.filters.erase(std::unique(out.filters.begin(), out.filters.end()), out.filters.end());
  reading.texts("candidate_chunk_ids", out.candidate_chunk_ids, true);
  reading.texts("selected_chunk_ids", out.selected_chunk_ids, true);
  reading.texts("selected_source_ids", out.selected_source_ids);
  reading.check_chunks(out);
  reading.in().any("tools");
  if (const Value* tools = value.find("tools")) out.tools = json::canonical(*tools);
  reading.in().close();
  TRY_DO(errors.result());
  return out;
}

}  // namespace weir::context
