// Sources, chunks and evidence as callers send them: with the text itself, or with what follows from the log left out. An
// append completes them; the log holds hashes, spans and the names of blobs.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/secrets.h"
#include "compaction/event.h"
#include "compaction/run_state.h"
#include "json/value.h"
#include "store/blobs.h"

namespace weir::compaction {

// Bytes of a registered chunk: its blob, else its span of its source's blob, if they hash to what the chunk says.
Result<std::optional<std::string>> chunk_bytes(const RunState& state, const std::string& chunk_id, Blobs& blobs);

// `text` of a source or chunk becomes its blob, `quote` of evidence its hash; neither stays in the body. Both are hashed as
// given; a text that masking would change is not kept. Strict: QUOTE_MISMATCH, INVALID_FIELD where the body says otherwise.
Result<json::Value> take_texts(Event event, const json::Value& body, const Masker& masker, Blobs& blobs, bool strict, json::Arena& arena);

// What is absent and follows from the state or the settings: a run's thresholds, a chunk's hash, everything of evidence but
// chunk and span. Nothing: there was nothing to add.
Result<std::optional<json::Value>> complete(Event event, const json::Value& body, const RunState& state, const Thresholds& defaults,
                                            Blobs& blobs, json::Arena& arena);
bool is_completed(Event event);  // are there such fields?

// Strict: EVIDENCE_ID_MISMATCH, QUOTE_MISMATCH, INVALID_FIELD for a span beyond its chunk or source.
Result<void> check_evidence(Event event, const json::Value& body, const RunState& state, Blobs& blobs);

// Why what could have been completed was not: an error that says so in place of the fields that are missing, or better words.
Result<void> explain_missing(Event event, const json::Value& body, const RunState& state, std::vector<WrongField>& wrong);

// INVALID_FIELD or LIMIT_EXCEEDED for a wrong field, named as `CLAIM_PROPOSED.statement is missing`. `path` is the body's.
Error wrong_field_error(Event event, const std::vector<WrongField>& wrong, const std::string& path);

}  // namespace weir::compaction
