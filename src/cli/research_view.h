// Answers of research steps for people.
#pragma once

#include "json/value.h"

namespace weir::cli {

class Run;

void draw_begun(Run& run, const json::Value& answer);
void draw_patched(Run& run, const json::Value& answer);
void draw_adopted(Run& run, const json::Value& answer);
void draw_perspectives(Run& run, const json::Value& answer);
void draw_ingested(Run& run, const json::Value& answer);
void draw_extracted(Run& run, const json::Value& answer);
void draw_cited(Run& run, const json::Value& answer);
void draw_citations(Run& run, const json::Value& answer);
void draw_summaries(Run& run, const json::Value& answer);
void draw_pack(Run& run, const json::Value& answer);
void draw_gate(Run& run, const json::Value& answer);
void draw_bundle(Run& run, const json::Value& answer);
void draw_check(Run& run, const json::Value& answer);
void draw_status(Run& run, const json::Value& answer);
void draw_verified(Run& run, const json::Value& answer);

}  // namespace weir::cli
