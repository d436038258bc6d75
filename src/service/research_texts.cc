// Steps that take what agents wrote: wave outputs and summaries. All of a call is stored, or none of it.
#include <algorithm>
#include <map>
#include <set>

#include "json/canonical.h"
#include "json/parse.h"
#include "research/white_space.h"
#include "service/research.h"
#include "service/research_text.h"

namespace weir {

using json::Value;
using research::Failure;

namespace {

// A text of a call, masked, with what its perspective says of it.
struct Taken {
  const HandedIn* given;
  std::string text, sha256, path;
  const research::Perspective* perspective = nullptr;
};

// Was it refused since, and asked for again?
bool is_asked_for(const ResearchRun& run, const std::string& path) {
  const auto& all = run.state().directives;
  return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one->artifact == path && !one->consumed; });
}

bool has_separator(std::string_view id) {
  return id.empty() || id.find('/') != std::string_view::npos || id.find('\\') != std::string_view::npos || id == "." ||
         id.find("..") != std::string_view::npos || id.find('\0') != std::string_view::npos;
}

// What holds for every text handed in; `wave` 0: any.
Result<std::vector<Taken>> take_all(ResearchRun& run, const std::vector<HandedIn>& given, int wave, bool blank_is_wrong) {
  if (given.empty()) return wrong_argument("outputs must include at least one record");
  TRY(const research::Perspectives* known, run.perspectives());
  if (wave == 0 ? known->all().empty() : !known->has_wave(wave))
    return Error(ErrorCode::MISSING_ARTIFACT, "the run has no perspectives" + std::string(wave == 2 ? " of wave 2" : "") +
                                                  " yet; write them with `weir research perspectives`")
        .with("path", research::perspectives_path(wave == 2 ? 2 : 1));
  for (const HandedIn& one : given) {
    if (has_separator(one.perspective_id))
      return Error(ErrorCode::PATH_TRAVERSAL, "'" + masked_excerpt(one.perspective_id, 80) + "' is no id of a perspective")
          .with("perspective_id", masked_excerpt(one.perspective_id, 80));
  }
  std::vector<Taken> out;
  for (const HandedIn& one : given) {
    Taken taken{&one, {}, {}, {}, nullptr};
    TRY(taken.text, take_text(run.service(), one.text, "the text of '" + one.perspective_id + "'"));
    if (blank_is_wrong && research::is_blank(taken.text))
      return wrong_argument("the text of '" + one.perspective_id + "' is blank").with("perspective_id", one.perspective_id);
    taken.sha256 = research::sha256_name(taken.text);
    out.push_back(std::move(taken));
  }
  std::set<std::string_view> seen;
  for (const HandedIn& one : given) {
    if (seen.insert(one.perspective_id).second) continue;
    return Error(ErrorCode::DUPLICATE_PERSPECTIVE_ID, "'" + one.perspective_id + "' is handed in twice")
        .with("perspective_id", one.perspective_id);
  }
  for (Taken& one : out) {
    one.perspective = known->find(one.given->perspective_id);
    if (one.perspective == nullptr || (wave != 0 && one.perspective->wave != wave))
      return Error(ErrorCode::PERSPECTIVE_NOT_FOUND, "perspective_id not found")
          .with("perspective_id", masked_excerpt(one.given->perspective_id, 80));
  }
  return out;
}

// Masked: it is shown with the output.
Value or_null(ResearchRun& run, const std::optional<std::string>& text, json::Arena& arena) {
  if (!text) return {};
  return Value(arena.copy(mask_text(run.service(), *text)));
}

// Numbers stay what they are, whatever their names.
Value mask_usage(ResearchRun& run, const Value& value, json::Arena& arena) {
  if (value.is_string()) return Value(arena.copy(mask_text(run.service(), value.text())));
  if (!value.is_object()) return value;
  json::ObjectBuilder out(arena);
  for (const json::Member& member : value.members())
    out.add(arena.copy(mask_text(run.service(), member.key)), mask_usage(run, member.value, arena));
  return out.build();
}

// What the agent reported; what it reported before if it says nothing now.
Result<Value> tool_usage(ResearchRun& run, const Taken& one, json::Arena& arena) {
  if (one.given->tool_usage) {
    TRY(const Value told, json::parse_stored(*one.given->tool_usage, arena));
    return mask_usage(run, told, arena);
  }
  const auto* had = run.state().outputs.find(one.given->perspective_id);
  if (had == nullptr) return Value();
  TRY(const Value meta, json::parse_stored((*had)->meta, arena));
  const Value* usage = meta.find("tool_usage");
  return usage == nullptr ? Value() : *usage;
}

class Ingest {
 public:
  Ingest(ResearchRun& run, int wave, json::Arena& arena) : run_(run), wave_(wave), arena_(arena) {}

  Result<ResearchAnswer> step(const std::vector<HandedIn>& outputs, ResearchProgress progress) {
    TRY_DO(run_.check_open());
    TRY_DO(run_.settle());
    TRY(auto taken, take_all(run_, outputs, wave_, true));
    TRY_DO(run_.dir().check_directory(wave_ == 2 ? "wave-2" : "wave-1"));
    for (std::size_t i = 0; i < taken.size(); ++i) {
      taken[i].path = research::output_path(wave_, taken[i].perspective->id);
      TRY_DO(check(taken[i]));
      progress(i + 1, taken.size());
    }
    TRY(const auto now, store_all(run_, refused_, entries_, arena_));
    const Value out = json::make_object(arena_, {{"ok", true},
                                                 {"run_id", run_.state().run_id},
                                                 {"wave", wave_},
                                                 {"written_count", entries_.size()},
                                                 {"validated_count", taken.size()},
                                                 {"outputs", json::make_array(arena_, rows_)},
                                                 {"revision", now.revision},
                                                 {"stage", arena_.copy(now.stage)}});
    return ResearchAnswer{json::canonical(out), true};
  }

 private:
  Result<void> check(const Taken& one) {
    TRY(const Value usage, tool_usage(run_, one, arena_));
    const research::OutputCheck check = research::check_output(one.text, one.perspective->contract, usage.is_null() ? nullptr : &usage);
    if (!check.failures.empty()) {
      refused_.push_back({'B', one.given->perspective_id, one.path, one.sha256, check.failures});
      return {};
    }
    const auto* had = run_.state().outputs.find(one.given->perspective_id);
    json::ObjectBuilder meta(arena_);
    meta.add("prompt_digest", or_null(run_, one.given->prompt_digest, arena_))
        .add("agent_run_id", or_null(run_, one.given->agent_run_id, arena_))
        .add("model", or_null(run_, one.given->model, arena_))
        .add("tool_usage", usage);
    const Value told = meta.build();
    const bool changed = had == nullptr || is_asked_for(run_, one.path) || (*had)->wave != wave_ || (*had)->sha256 != one.sha256 ||
                         (*had)->meta != json::canonical(told);
    const Value replaces = had == nullptr || !changed ? Value() : Value((*had)->sha256);
    const Value warnings = texts_value(check.warnings, arena_);
    if (changed) {
      json::ObjectBuilder body(arena_);
      body.add("wave", wave_).add("perspective_id", one.given->perspective_id).add("path", one.path).add("text", one.text);
      body.add("sha256", one.sha256).add("bytes", one.text.size()).add("words", check.words).add("sources", check.sources);
      for (const json::Member& member : told.members()) body.add(member.key, member.value);
      body.add("replaces", replaces).add("warnings", warnings);
      entries_.push_back({"WAVE_OUTPUT_INGESTED", body.build()});
    } else {
      TRY_DO(run_.restore({one.path, research::output_meta_path(wave_, one.perspective->id)}));
    }
    rows_.push_back(json::make_object(arena_, {{"perspective_id", one.given->perspective_id},
                                               {"markdown_path", one.path},
                                               {"sha256", one.sha256},
                                               {"bytes", one.text.size()},
                                               {"words", check.words},
                                               {"sources", check.sources},
                                               {"replaces", replaces},
                                               {"changed", changed},
                                               {"warnings", warnings}}));
    return {};
  }

  ResearchRun& run_;
  const int wave_;
  json::Arena& arena_;
  std::vector<Refused> refused_;
  std::vector<RunEntry> entries_;
  std::vector<Value> rows_;
};

class Summarize {
 public:
  Summarize(ResearchRun& run, const SummaryOptions& options, json::Arena& arena) : run_(run), options_(options), arena_(arena) {}

  Result<ResearchAnswer> step(const std::vector<HandedIn>& summaries, ResearchProgress progress) {
    TRY_DO(run_.check_open());
    TRY_DO(run_.settle());
    TRY(auto taken, take_all(run_, summaries, 0, false));
    TRY_DO(run_.dir().check_directory("summaries"));
    for (const Taken& one : taken) {
      if (research::accepted_output(run_.state(), *one.perspective) != nullptr) continue;
      return Error(ErrorCode::MISSING_ARTIFACT,
                   "'" + one.given->perspective_id + "' has no accepted output to summarise; `weir research ingest` takes it")
          .with("perspective_id", one.given->perspective_id)
          .with("path", research::output_path(one.perspective->wave, one.perspective->id));
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
      taken[i].path = research::summary_path(taken[i].perspective->id);
      TRY_DO(check(taken[i]));
      progress(i + 1, taken.size());
    }
    TRY(const auto now, store_all(run_, refused_, entries_, arena_));
    const Value out = json::make_object(arena_, {{"ok", true},
                                                 {"run_id", run_.state().run_id},
                                                 {"summaries", json::make_array(arena_, rows_)},
                                                 {"revision", now.revision},
                                                 {"stage", arena_.copy(now.stage)}});
    return ResearchAnswer{json::canonical(out), true};
  }

 private:
  Result<void> check(Taken& one) {
    const double cap = run_.limits().max_summary_kb;
    Value truncated;
    const std::string refused_sha256 = one.sha256;
    if (options_.truncate && static_cast<double>(one.text.size()) / 1024 > cap) {
      if (auto cut = research::cut_summary(one.text, cap)) {
        truncated = json::make_object(arena_, {{"kept", cut->kept}, {"of", cut->of}});
        one.text = std::move(cut->text);
        one.sha256 = research::sha256_name(one.text);
      }
    }
    const auto rule = options_.numbers_warn ? research::NumberRule::warn : research::NumberRule::refuse;
    research::SummaryCheck check = research::check_summary(one.text, one.given->perspective_id, run_.pool(), cap, rule);
    if (!check.failures.empty()) {
      refused_.push_back({'D', one.given->perspective_id, one.path, refused_sha256, check.failures});
      return {};
    }
    if (!truncated.is_null()) check.warnings.emplace_back("TRUNCATED");
    const auto* had = run_.state().summaries.find(one.given->perspective_id);
    const bool changed = had == nullptr || is_asked_for(run_, one.path) || (*had)->sha256 != one.sha256 ||
                         (*had)->numbers_warn != options_.numbers_warn || (*had)->truncated == truncated.is_null() ||
                         (*had)->path != one.path;
    const research::Output& source = **run_.state().outputs.find(one.given->perspective_id);
    const Value warnings = texts_value(check.warnings, arena_);
    if (changed) {
      json::ObjectBuilder body(arena_);
      body.add("perspective_id", one.given->perspective_id).add("path", one.path).add("text", one.text).add("sha256", one.sha256);
      body.add("bytes", one.text.size()).add("source_artifact", source.path).add("source_sha256", source.sha256);
      body.add("claims", check.claims.size()).add("truncated", truncated).add("warnings", warnings);
      if (options_.numbers_warn) body.add("extra", json::make_object(arena_, {{"numbers", "warn"}}));
      entries_.push_back({"SUMMARY_INGESTED", body.build()});
    } else {
      TRY_DO(run_.restore({one.path}));
    }
    rows_.push_back(json::make_object(arena_, {{"perspective_id", one.given->perspective_id},
                                               {"path", one.path},
                                               {"sha256", one.sha256},
                                               {"bytes", one.text.size()},
                                               {"claims", check.claims.size()},
                                               {"truncated", truncated},
                                               {"changed", changed},
                                               {"warnings", warnings}}));
    return {};
  }

  ResearchRun& run_;
  const SummaryOptions& options_;
  json::Arena& arena_;
  std::vector<Refused> refused_;
  std::vector<RunEntry> entries_;
  std::vector<Value> rows_;
};

}  // namespace

namespace {

Result<void> check_meta(const std::vector<HandedIn>& given) {
  for (const HandedIn& one : given) {
    TRY_DO(check_short(one.agent_run_id.value_or(""), "agent_run_id"));
    TRY_DO(check_short(one.model.value_or(""), "model"));
    TRY_DO(check_short(one.prompt_digest.value_or(""), "prompt_digest"));
    TRY_DO(check_short(one.tool_usage.value_or(""), "tool_usage"));
  }
  return {};
}

}  // namespace

Result<std::vector<HandedIn>> parse_outputs(const std::string& text) {
  json::Parser parser;
  TRY(const Value document, parser.parse(text));
  const Value* outputs = document.find("outputs");
  if (outputs == nullptr || !outputs->is_array())
    return wrong_argument("the file must be {\"outputs\":[{\"perspective_id\",\"markdown\"}, ...]}");
  std::vector<HandedIn> out;
  for (std::size_t i = 0; i < outputs->items().size(); ++i) {
    const Value& item = outputs->items()[i];
    const std::string at = "outputs[" + std::to_string(i) + "]";
    HandedIn one;
    const auto take = [&](std::string_view key, std::optional<std::string>& into) -> Result<void> {
      const Value* value = item.find(key);
      if (value == nullptr || value->is_null()) return {};
      if (!value->is_string()) return wrong_argument(at + "." + std::string(key) + " must be a string");
      into = value->text();
      return {};
    };
    std::optional<std::string> id, markdown;
    TRY_DO(take("perspective_id", id));
    TRY_DO(take("markdown", markdown));
    TRY_DO(take("agent_run_id", one.agent_run_id));
    TRY_DO(take("model", one.model));
    TRY_DO(take("prompt_digest", one.prompt_digest));
    if (!id || !markdown) return wrong_argument(at + " needs perspective_id and markdown, both strings");
    one.perspective_id = *id;
    one.text = *markdown;
    if (const Value* usage = item.find("tool_usage"); usage != nullptr && !usage->is_null()) one.tool_usage = json::canonical(*usage);
    out.push_back(std::move(one));
  }
  return out;
}

Result<ResearchAnswer> research_ingest(Service& service, const RunCall& call, int wave, const std::vector<HandedIn>& outputs,
                                       ResearchProgress progress) {
  TRY_DO(check_meta(outputs));
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) {
    json::Arena arena;
    return Ingest(run, wave, arena).step(outputs, progress);
  });
}

Result<ResearchAnswer> research_summarize(Service& service, const RunCall& call, const std::vector<HandedIn>& summaries,
                                          const SummaryOptions& options, ResearchProgress progress) {
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) {
    json::Arena arena;
    return Summarize(run, options, arena).step(summaries, progress);
  });
}

}  // namespace weir
