// What a path is made of: entries and bytes per type, messages per role, turns, compactions. The fold behind
// `weir stats`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "session/pmap.h"
#include "store/entry.h"

namespace weir {

struct StatsFold {
  static constexpr std::string_view kName = "stats.v1";

  struct Count {
    std::uint64_t entries = 0, bytes = 0;
  };
  struct State {
    std::uint64_t entries = 0;
    std::uint64_t body_bytes = 0;  // of the bodies as stored
    std::uint64_t blob_bytes = 0;  // of the strings that are blobs, as the model saw them
    std::uint64_t turns = 0;       // messages in which a person speaks
    std::uint64_t tool_calls = 0, tool_errors = 0;
    std::uint64_t compactions = 0;
    std::uint64_t bytes_since_barrier = 0;  // messages' bodies and blobs
    PMap<std::string, Count> types;
    PMap<std::string, Count> roles;
  };

  static State initial() { return {}; }
  static Result<void> step(State& state, const Entry& entry);
  static std::size_t bytes(const State& state);
  static std::string save(const State& state);
  static Result<State> load(std::string_view text);
};

// A rough guess, and always said to be one: a token is about four bytes.
constexpr std::uint64_t estimated_tokens(std::uint64_t bytes) { return (bytes + 3) / 4; }

}  // namespace weir
