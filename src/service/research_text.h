// What the steps of a research run share: taking texts in, refusing them with a directive, and answers as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "research/wave_output.h"
#include "service/research_run.h"

namespace weir {

// UTF-8 without NUL, at most 1 MiB, secrets masked: INVALID_UTF8, INPUT_TOO_LARGE.
Result<std::string> take_text(const Service& service, std::string_view text, const std::string& what);
// INPUT_TOO_LARGE for a string over 64 KiB: it stays in its entry, which holds none longer.
Result<void> check_short(std::string_view text, const std::string& what);
Result<void> check_strings(const json::Value& value, const std::string& what);
// Only masked: values of secret keys in the queries of URLs by the word that is part of a cid, then whatever else is a secret.
std::string mask_text(const Service& service, std::string_view text);
// A document of JSON: the same, parsed and masked. INVALID_JSON.
Result<json::Value> take_document(const Service& service, std::string_view text, const std::string& what, json::Arena& arena);

// An artifact that was refused.
struct Refused {
  char gate = 'B';
  std::string perspective_id;  // empty: none
  std::string artifact, sha256;
  std::vector<research::Failure> failures;
};
// Records a directive for each that has a retry left and was not refused in these bytes before; answers the error: the first
// failure of the first, with all of them and the directives in its details.
Error refuse(ResearchRun& run, const std::vector<Refused>& refused, json::Arena& arena);
// The entries only, for a step that records more with them; `retry` is what the answer says of it.
std::vector<RunEntry> retry_entries(ResearchRun& run, const std::vector<Refused>& refused, json::Value& retry, json::Arena& arena);

// The step's entries, if nothing was refused and there are any; else refuse().
Result<ResearchRun::Committed> store_all(ResearchRun& run, const std::vector<Refused>& refused, const std::vector<RunEntry>& entries,
                                         json::Arena& arena);

inline Error wrong_argument(const std::string& what) { return Error(ErrorCode::INVALID_ARGS, what); }

json::Value texts_value(const std::vector<std::string>& texts, json::Arena& arena);
// {code, message, ...details}
json::Value finding_value(const Error& error, json::Arena& arena);
json::Value failure_value(const Error& error, json::Arena& arena);  // {code, message, details}

}  // namespace weir
