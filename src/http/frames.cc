#include "http/frames.h"

#include <array>
#include <charconv>
#include <utility>

#include "http/text.h"
#include "json/decode.h"

namespace weir::http {
namespace {

constexpr std::pair<std::string_view, bool Wanted::*> kTypes[] = {
    {"entry", &Wanted::entry},
    {"head", &Wanted::head},
    {"ctree_node", &Wanted::node},
    {"ctree_snapshot", &Wanted::snapshot},
};

Error wrong(std::string path, std::string message) {
  json::FieldErrors errors;
  errors.add(std::move(path), std::move(message));
  return errors.result().error();
}

}  // namespace

std::string sse_frame(std::string_view event, std::optional<Seq> id, std::string_view data) {
  std::string out;
  if (id) out += "id: " + std::to_string(*id) + "\n";
  out += "event: " + std::string(event) + "\n";
  for (const std::string_view line : split(data, '\n')) out += "data: " + std::string(line) + "\n";
  return out + "\n";
}

Result<Wanted> parse_wanted(std::optional<std::string_view> types, std::optional<std::string_view> payload) {
  Wanted out;
  if (types && !types->empty()) {
    out.entry = out.head = false;
    for (const std::string_view name : split(*types, ',')) {
      bool known = name == "bye";  // which everybody gets
      for (const auto& [type, member] : kTypes) {
        if (name != type) continue;
        out.*member = true;
        known = true;
      }
      if (!known) return wrong("/types", "is a list of entry, head, ctree_node, ctree_snapshot and bye, with commas between");
    }
  }
  if (payload == "raw") return Error(ErrorCode::DENIED, "payloads are shown sanitised here").with("payload", std::string(*payload));
  if (payload && *payload != "sanitised" && *payload != "hash") return wrong("/payload", "is one of sanitised, hash");
  out.hash_only = payload == "hash";
  return out;
}

Result<Seq> parse_last_event_id(std::string_view header) {
  if (header.empty()) return Seq{0};
  Seq out = 0;
  const auto [end, error] = std::from_chars(header.data(), header.data() + header.size(), out);
  if (error == std::errc() && end == header.data() + header.size()) return out;
  return wrong("/Last-Event-ID", "is the id of an event, a number from 0");
}

std::string frames_of(const std::vector<Happened>& all, Seq first, const Wanted& wanted) {
  std::string out;
  for (const Happened& one : all) {
    if (one.seq < first) continue;
    const std::array<std::pair<std::string_view, std::string_view>, 3> events = {
        std::pair<std::string_view, std::string_view>{"ctree_node", !wanted.node       ? std::string_view()
                                                                    : wanted.hash_only ? std::string_view(one.node_hash)
                                                                                       : std::string_view(one.node)},
        {"ctree_snapshot", wanted.snapshot ? std::string_view(one.snapshot) : std::string_view()},
        {"entry", wanted.entry ? std::string_view(one.entry) : std::string_view()},
    };
    std::size_t last = events.size();
    for (std::size_t i = 0; i < events.size(); ++i)
      if (!events[i].second.empty()) last = i;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const auto& [name, data] = events[i];
      if (!data.empty()) out += sse_frame(name, i == last ? std::optional(one.seq) : std::nullopt, data);
    }
  }
  return out;
}

}  // namespace weir::http
