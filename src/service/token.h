// The bearer tokens of the HTTP server: 32 random bytes as base64url, alone in a file that only its owner may read. The
// token itself never appears in a message.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/doors.h"
#include "base/files.h"
#include "base/result.h"
#include "service/upkeep.h"

namespace weir {

// The file beside it that may grant reading only.
std::string read_token_file(const std::string& token_file);

std::string new_token(Random& random);

// NOT_FOUND: there is none. STORE_UNUSABLE: somebody else's, open to others, or no token; with what to do about it.
Result<std::string> load_token(Files& files, const std::string& path);
// The same; one that is not there is nothing.
Result<std::optional<std::string>> load_token_if_there(Files& files, const std::string& path);
// The same; one that is not there is made.
Result<std::string> load_or_make_token(Files& files, Random& random, const std::string& path);

// Puts a new one into its place, whatever stood there: whole or not at all, and durable.
Result<std::string> rotate_token(Files& files, Random& random, const std::string& path);

// For doctor. With `fix`, a file that is open to others is closed.
std::vector<DoctorCheck> examine_tokens(Files& files, const std::string& path, bool fix);

}  // namespace weir
