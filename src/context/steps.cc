#include "context/steps.h"

#include <algorithm>
#include <set>

namespace weir::context {
namespace {

using json::Arena;
using json::Value;

constexpr std::size_t kMostName = 64, kMostId = 40;  // OpenAI's limits, the narrower ones

// Letters, digits, `_` and `-`: all that providers take in a name or id.
std::string plain_name(std::string_view text, std::string_view other, std::size_t most) {
  std::string out(text.substr(0, most));
  for (char& c : out) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!fine) c = '_';
  }
  return out.empty() ? std::string(other) : out;
}

class CallNames {
 public:
  CallNames(Format format, Arena& arena) : format_(format), arena_(arena) {}

  std::string_view id(std::string_view recorded) {
    const std::string base = format_ == Format::plain && !recorded.empty() ? std::string(recorded) : plain_name(recorded, "call", kMostId);
    std::string out = base;
    for (int again = 2; !used_.insert(out).second; ++again) {
      const std::string suffix = "_" + std::to_string(again);
      out = (format_ == Format::plain ? base : base.substr(0, kMostId - suffix.size())) + suffix;
    }
    return arena_.copy(out);
  }
  std::string_view name(std::string_view recorded) {
    return format_ == Format::plain ? recorded : arena_.copy(plain_name(recorded, "tool", kMostName));
  }

 private:
  const Format format_;
  Arena& arena_;
  std::set<std::string> used_;
};

// Recorders give a result as a block and once more as a message: what says the same of one call is shown once.
bool is_repeated(const Message& result, const std::vector<const Message*>& before) {
  return std::any_of(before.begin(), before.end(),
                     [&](const Message* other) { return other->call == result.call && text_of(other->blocks) == text_of(result.blocks); });
}

}  // namespace

std::vector<Step> steps_of(const std::vector<Message>& messages, Format format, Arena& arena) {
  std::vector<Step> out;
  CallNames names(format, arena);
  std::vector<const Message*> results;  // of the last step
  for (const Message& message : messages) {
    if (message.role == Role::tool) {
      WEIR_CHECK(!out.empty() && message.call < out.back().calls.size());
      Answered& call = out.back().calls[message.call];
      call.is_error |= message.is_error;
      if (!is_repeated(message, results)) call.blocks.insert(call.blocks.end(), message.blocks.begin(), message.blocks.end());
      results.push_back(&message);
      continue;
    }
    results.clear();
    Step& step = out.emplace_back();
    step.message = &message;
    for (const Call& call : message.calls) {
      step.calls.push_back({names.id(call.id), names.name(call.name), input_of(call.arguments, arena), {}, false});
    }
  }
  return out;
}

std::optional<Image> image_of(const Value& block) {
  const std::string_view type = block.text_or("type", "");
  if (type == "image") {
    const Value* source = block.find("source");
    if (source == nullptr) {
      const Image own{block.text_or("mimeType", ""), block.text_or("data", ""), {}};
      return own.media_type.empty() || own.data.empty() ? std::nullopt : std::optional(own);
    }
    if (source->text_or("type", "") == "base64") {
      const Image held{source->text_or("media_type", ""), source->text_or("data", ""), {}};
      return held.media_type.empty() || held.data.empty() ? std::nullopt : std::optional(held);
    }
    const std::string_view url = source->text_or("url", "");
    return url.empty() ? std::nullopt : std::optional(Image{{}, {}, url});
  }
  if (type != "image_url") return std::nullopt;
  const Value* inner = block.find("image_url");
  const std::string_view url = inner == nullptr ? "" : inner->is_string() ? inner->text() : inner->text_or("url", "");
  constexpr std::string_view kScheme = "data:", kBase64 = ";base64,";
  const std::size_t comma = url.find(kBase64);
  if (url.starts_with(kScheme) && comma != std::string_view::npos) {
    return Image{url.substr(kScheme.size(), comma - kScheme.size()), url.substr(comma + kBase64.size()), {}};
  }
  return url.empty() ? std::nullopt : std::optional(Image{{}, {}, url});
}

}  // namespace weir::context
