// What every format is rendered from: a message, and beside its calls what answered them, under ids that are there once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context/config.h"
#include "context/neutral.h"
#include "json/value.h"

namespace weir::context {

struct Answered {
  std::string_view id;              // as the provider takes it, no other call has it
  std::string_view name;            // the same; `plain` has it as recorded
  json::Value input;                // an object
  std::vector<json::Value> blocks;  // of the result
  bool is_error = false;
};

struct Step {
  const Message* message = nullptr;
  std::vector<Answered> calls;
};

// Of messages whose results are paired. The steps point into the messages and the arena.
std::vector<Step> steps_of(const std::vector<Message>& messages, Format format, json::Arena& arena);

// An image in one of the forms that agents record.
struct Image {
  std::string_view media_type, data;  // base64,
  std::string_view url;               // or where it is
};
// Nothing for a block that is no image, or has a form nobody here knows.
std::optional<Image> image_of(const json::Value& block);

}  // namespace weir::context
