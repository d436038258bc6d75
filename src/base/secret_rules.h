// The version of the rules of masking, for what is derived by masking and has to say which rules made it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

struct SecretFamily;

// The rules are the tables of base/secrets.h, what ends a word, and how spans become marks. They decide hashes, so every
// change of what is masked raises this number.
// 1: a word ended only where RE2's \b says so. 2: escapes, percent-encodings and terminal sequences end one too.
inline constexpr std::int64_t kSecretRules = 2;

// What a family is searched by, as RE2 takes it, with the parts put in that its own text only names in braces. A secret is what any of
// them finds.
std::vector<std::string> secret_patterns(const SecretFamily& family);

}  // namespace weir
