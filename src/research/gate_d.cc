// Gate D: is everything that synthesis reads bounded, complete and tied to the pool? Only bytes and limits decide.
#include <algorithm>
#include <map>
#include <set>

#include "base/utf8.h"
#include "json/digest.h"
#include "json/layout.h"
#include "json/parse.h"
#include "research/figures.h"
#include "research/gates.h"
#include "research/schema.h"
#include "research/white_space.h"

namespace weir::research {

using json::Value;

namespace {

constexpr std::string_view kPackPath = "summaries/summary-pack.json";

// An entry of the pack with what its path holds.
struct Listed {
  std::string id, path;
  RunFile file;
  std::string sha256;
  bool there() const { return file.kind == RunFile::Kind::file; }
};

// The files with those that were read already: nothing is read twice, so everything is judged on the same bytes.
class KeptFiles final : public RunFiles {
 public:
  KeptFiles(RunFiles& files, const std::vector<Listed>& listed) : files_(files) {
    for (const Listed& one : listed) kept_.emplace(one.path, &one.file);
  }
  Result<RunFile> read(const std::string& path) override {
    const auto found = kept_.find(path);
    return found == kept_.end() || is_blank(path) ? files_.read(path) : Result<RunFile>(*found->second);
  }

 private:
  RunFiles& files_;
  std::map<std::string_view, const RunFile*, std::less<>> kept_;
};

class GateD {
 public:
  GateD(const GateInputs& in, json::Arena& arena) : in_(in), arena_(arena) {}

  Result<GateAnswer> run(Bundle* bundle) {
    TRY_DO(read_pack());
    TRY_DO(read_summaries());
    for (const Perspective* one : expected_perspectives(in_.state, in_.perspectives)) expected_.insert(one->id);
    bounds();
    input();
    TRY_DO(integrity());
    GateAnswer out;
    const auto verdict = [&](const std::vector<std::string>& reasons) { return Value(reasons.empty() ? "pass" : "fail"); };
    out.checks = json::make_object(arena_, {{"bounds", verdict(bounds_)}, {"input", verdict(input_)}, {"integrity", verdict(integrity_)}});
    for (const auto* group : {&bounds_, &input_, &integrity_}) out.reasons.insert(out.reasons.end(), group->begin(), group->end());
    out.pass = out.reasons.empty();
    out.warnings = warnings_;
    out.metrics = metrics_;
    out.inputs = inputs();
    out.inputs_digest = "sha256:" + json::digest(json::Domain::gate_d, out.inputs).hex();
    if (bundle != nullptr) *bundle = std::move(bundle_);
    return out;
  }

 private:
  Result<void> read_pack() {
    TRY(pack_file_, in_.files.read(std::string(kPackPath)));
    if (pack_file_.kind != RunFile::Kind::file)
      return Error(ErrorCode::NOT_FOUND, "required file missing: there is no pack; build it with `weir research pack`")
          .with("path", std::string(kPackPath));
    auto parsed = parser_.parse(pack_file_.bytes);
    if (!parsed.ok()) return std::move(parsed).error().with("path", std::string(kPackPath));
    pack_ = *parsed;
    SchemaErrors errors;
    check_pack(pack_, in_.state.run_id, errors);
    TRY_DO(errors.result());
    timeless_ = without_time(pack_, arena_);
    digest_ = pack_digest(timeless_);
    const Value* limits = pack_.find("limits");
    const Value rules = kb_limits_value(in_.limits, arena_);
    for (const json::Member& member : rules.members()) {
      const Value* used = limits->find(member.key);
      if (used != nullptr && !(*used == member.value)) {
        warnings_.emplace_back("PACK_LIMITS_DIFFER");
        break;
      }
    }
    return {};
  }

  Result<void> read_summaries() {
    for (const Value& entry : pack_.find("summaries")->items()) {
      Listed one{std::string(entry.text_or("perspective_id", "")), std::string(entry.text_or("summary_md", "")), {}, ""};
      if (!is_blank(one.path)) {
        TRY(one.file, in_.files.read(one.path));
      }
      if (one.there()) one.sha256 = sha256_name(one.file.bytes);
      listed_.push_back(std::move(one));
    }
    return {};
  }

  void bounds() {
    std::set<std::string_view> covered, used_files;
    std::uint64_t largest = 0, total = 0, missing = 0, unreadable = 0;
    for (const Listed& one : listed_) {
      if (!one.there()) {
        ++(one.file.kind == RunFile::Kind::other ? unreadable : missing);
        continue;
      }
      largest = std::max<std::uint64_t>(largest, one.file.bytes.size());
      total += one.file.bytes.size();
      if (expected_.contains(one.id) && !covered.contains(one.id) && used_files.insert(one.path).second) covered.insert(one.id);
    }
    const std::uint64_t count = covered.size(), expected = expected_.size();
    if (expected == 0 || 10 * count < 9 * expected) bounds_.emplace_back("COVERAGE_BELOW_MIN");
    if (static_cast<double>(largest) / 1024 > in_.limits.max_summary_kb) bounds_.emplace_back("SUMMARY_TOO_LARGE");
    if (static_cast<double>(total) / 1024 > in_.limits.max_total_summary_kb) bounds_.emplace_back("TOTAL_TOO_LARGE");
    if (missing > 0) bounds_.emplace_back("SUMMARY_MISSING");
    if (unreadable > 0) bounds_.emplace_back("SUMMARY_UNREADABLE");
    if (missing + unreadable > 0) warnings_.push_back("MISSING_SUMMARIES:" + std::to_string(missing + unreadable));
    std::vector<BundleSummary> parts;
    for (const Listed& one : listed_) {
      if (one.there()) parts.push_back({one.id, one.path, one.file.bytes});
    }
    json::Parser manifest;
    const auto base = manifest.parse_stored(in_.state.manifest);
    const Value* query = base.ok() ? base->find("query") : nullptr;
    bundle_ = make_bundle(query == nullptr ? "" : query->text_or("text", ""), pack_text(timeless_, "", arena_), parts, in_.pool);
    metrics_ = json::make_object(arena_, {{"summary_count_ratio", ratio_figure(count, expected)},
                                          {"max_summary_kb", kb_figure(largest)},
                                          {"total_summary_pack_kb", kb_figure(total)},
                                          {"summary_count", count},
                                          {"expected_count", expected},
                                          {"pack_json_kb", kb_figure(pack_file_.bytes.size())},
                                          {"synthesis_input_kb", kb_figure(bundle_.stream.size())}});
  }

  void input() {
    if (static_cast<double>(pack_file_.bytes.size()) / 1024 > in_.limits.max_pack_json_kb()) input_.emplace_back("PACK_TOO_LARGE");
    if (static_cast<double>(bundle_.stream.size()) / 1024 > in_.limits.max_synthesis_input_kb())
      input_.emplace_back("SYNTHESIS_INPUT_TOO_LARGE");
  }

  void entries_and_claims() {
    std::set<std::string_view> ids, files;
    bool unknown = false, twice = false, claim_cids = false, any_claim = false;
    for (const Listed& one : listed_) {
      unknown = unknown || in_.perspectives.find(one.id) == nullptr;
      twice = twice || !ids.insert(one.id).second || (!is_blank(one.path) && !files.insert(one.path).second);
    }
    for (const Value& entry : pack_.find("summaries")->items()) {
      for (const Value& claim : entry.find("key_claims")->items()) {
        any_claim = true;
        for (const Value& cid : claim.find("citation_cids")->items()) claim_cids = claim_cids || !in_.pool.validated(cid.text());
      }
    }
    if (unknown) integrity_.emplace_back("UNKNOWN_PERSPECTIVE");
    if (twice) integrity_.emplace_back("DUPLICATE_ENTRY");
    if (claim_cids) integrity_.emplace_back("CLAIM_CID_UNKNOWN");
    no_claims_ = !any_claim;
  }

  // What 5.11 gives today, for the texts of today.
  Result<void> rebuilt(bool& mentions, bool& invalid, bool& stale) {
    const bool allow_missing = in_.state.pack && in_.state.pack->allow_missing;
    json::Arena arena;
    KeptFiles files(in_.files, listed_);
    auto today = build_pack({in_.state, in_.limits, in_.perspectives, in_.pool, files, allow_missing}, arena);
    stale = !today.ok() || !today->refused.empty() || pack_digest(today->value) != digest_;
    std::set<std::string, std::less<>> seen;
    const auto look = [&](const std::vector<Failure>& failures) {
      for (const Failure& failure : failures) {
        const ErrorCode code = failure.error.code();
        mentions = mentions || code == ErrorCode::UNKNOWN_CID;
        invalid = invalid || (code != ErrorCode::UNKNOWN_CID && code != ErrorCode::SIZE_CAP_EXCEEDED);
      }
    };
    if (today.ok()) {
      for (const PackEntry& entry : today->entries) {
        look(entry.check.failures);
        seen.insert(entry.path);
      }
    }
    for (const Listed& one : listed_) {
      if (!one.there() || seen.contains(one.path)) continue;
      if (!valid_utf8(one.file.bytes)) {
        invalid = true;
        continue;
      }
      look(check_summary(one.file.bytes, one.id, in_.pool, in_.limits.max_summary_kb, NumberRule::refuse).failures);
    }
    return {};
  }

  Result<void> integrity() {
    entries_and_claims();
    bool mentions = false, invalid = false, stale = false;
    TRY_DO(rebuilt(mentions, invalid, stale));
    if (mentions) integrity_.emplace_back("MENTION_CID_UNKNOWN");
    if (no_claims_) integrity_.emplace_back("NO_KEY_CLAIMS");
    if (invalid) integrity_.emplace_back("SUMMARY_INVALID");
    // The log's file, if it is the log's pack: its value with the time of its entry.
    const auto& logged = in_.state.pack;
    bool changed = !logged || logged->digest != digest_ || pack_text(timeless_, format_time(logged->place.at), arena_) != pack_file_.bytes;
    for (const Listed& one : listed_) {
      const auto* known = in_.state.summaries.find(one.id);
      changed = changed || (one.there() && (known == nullptr || (*known)->sha256 != one.sha256));
    }
    if (changed) integrity_.emplace_back("ARTIFACT_CHANGED");
    if (stale) integrity_.emplace_back("PACK_STALE");
    return {};
  }

  Value inputs() {
    std::vector<Value> expected, entries;
    for (const Perspective* one : expected_perspectives(in_.state, in_.perspectives)) expected.emplace_back(one->id);
    for (const Listed& one : listed_) {
      entries.push_back(json::make_object(arena_, {{"perspective_id", arena_.copy(one.id)},
                                                   {"summary_md", arena_.copy(one.path)},
                                                   {"bytes", one.there() ? Value(one.file.bytes.size()) : Value()},
                                                   {"sha256", one.there() ? Value(arena_.copy(one.sha256)) : Value()}}));
    }
    const Value pack = json::make_object(arena_, {{"bytes", pack_file_.bytes.size()}, {"digest", arena_.copy(digest_)}});
    const Value stream = json::make_object(arena_, {{"bytes", bundle_.stream.size()}, {"sha256", arena_.copy(bundle_.sha256)}});
    return json::make_object(arena_, {{"run_id", in_.state.run_id},
                                      {"limits", kb_limits_value(in_.limits, arena_)},
                                      {"min_coverage", 0.9},
                                      {"expected", json::make_array(arena_, expected)},
                                      {"entries", json::make_array(arena_, entries)},
                                      {"pack", pack},
                                      {"pool", arena_.copy(pool_digest(in_.pool))},
                                      {"synthesis_input", stream}});
  }

  const GateInputs& in_;
  json::Arena& arena_;
  json::Parser parser_;
  RunFile pack_file_;
  Value pack_, timeless_;  // as it is on disk, and without its time
  std::string digest_;
  std::vector<Listed> listed_;
  std::set<std::string_view> expected_;
  Bundle bundle_;
  Value metrics_;
  bool no_claims_ = false;
  std::vector<std::string> bounds_, input_, integrity_, warnings_;
};

}  // namespace

Result<GateAnswer> gate_d(const GateInputs& in, json::Arena& arena, Bundle* bundle) { return GateD(in, arena).run(bundle); }

}  // namespace weir::research
