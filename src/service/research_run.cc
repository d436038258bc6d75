#include "service/research_run.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "json/canonical.h"
#include "json/layout.h"
#include "research/schema.h"
#include "session/address.h"
#include "session/bodies.h"
#include "session/path.h"
#include "session/prepare.h"

namespace weir {

using json::Value;
using research::FileSpec;
using research::GateAnswer;
using research::RunFile;
using research::State;

namespace {

constexpr std::size_t kInlineBytes = 262144;
// Members that leave for a blob when they are large; what is read back as a text is then JSON.
constexpr std::string_view kLarge[] = {"document", "pack", "inputs", "parts", "findings", "meta"};

bool is_large_member(std::string_view key) { return std::find(std::begin(kLarge), std::end(kLarge), key) != std::end(kLarge); }

Error changed_by_hand(const std::string& path) {
  return Error(ErrorCode::ARTIFACT_CHANGED, "'" + path +
                                                "' is not what the log holds: it was changed by hand. Move it away or put it back; `weir "
                                                "research verify` lists all such files")
      .with("path", path);
}

const Value* at_path(const Value& body, std::string_view path) {
  const Value* found = &body;
  while (found != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    found = found->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return found;
}

}  // namespace

Result<Value> RunContents::member(Seq entry, std::string_view path, json::Arena& arena) {
  Value found;
  if (const auto pending = pending_.find(entry); pending != pending_.end()) {
    const Value* value = at_path(pending->second.body, path);
    return value == nullptr ? Value() : *value;
  }
  std::string body;
  TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
    TRY(auto read, reader.entry(session_, entry));
    if (!read) return missing_entry(reader, session_, entry);
    body = std::move(read->body);
    return {};
  }));
  TRY(const Value parsed, json::parse_stored(body, arena));
  const Value* value = at_path(parsed, path);
  if (value == nullptr) return Value();
  TRY(const Value resolved, resolve_blobs(*value, service_.store().blobs(), arena));
  const std::size_t dot = path.rfind('.');
  if (!resolved.is_string() || !is_large_member(dot == std::string_view::npos ? path : path.substr(dot + 1))) return resolved;
  return json::parse_stored(resolved.text(), arena);
}

Result<std::shared_ptr<const State>> RunContents::state_at(Seq entry) {
  if (const auto pending = pending_.find(entry); pending != pending_.end()) return pending->second.state;
  std::shared_ptr<const State> state;
  TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
    TRY(state, service_.research_fold().at(reader, session_, entry));
    return {};
  }));
  return state;
}

LoggedFiles::LoggedFiles(const State& state, research::Contents& contents) : state_(state), contents_(contents) {
  for (FileSpec& spec : research::files_of(state)) {
    std::string path = spec.path;
    specs_.emplace(std::move(path), std::move(spec));
  }
}

Result<RunFile> LoggedFiles::read(const std::string& path) {
  const auto found = specs_.find(path);
  if (found == specs_.end()) return RunFile();
  TRY(std::string bytes, research::render(state_, found->second, contents_, "/"));
  return RunFile{RunFile::Kind::file, std::move(bytes)};
}

ResearchRun::ResearchRun(Service& service, RunCall call)
    : service_(service),
      call_(std::move(call)),
      contents_(service),
      dir_(service.store().doors().files, service.store().doors().random, call_.root) {
  MaskCounts counts;
  if (auto masked = service.masker().mask(call_.reason, counts)) call_.reason = std::move(*masked);
}

Result<std::unique_ptr<ResearchRun>> ResearchRun::open(Service& service, const RunCall& call, bool may_begin) {
  std::unique_ptr<ResearchRun> run(new ResearchRun(service, call));
  TRY_DO(run->load(may_begin));
  return run;
}

namespace {

struct FoundRun {
  SessionNo session;
  HeadName head;
  Seq seq = 0, last = 0;
  std::shared_ptr<const State> state;
};

// At the head that was named; else at main, or wherever the run was begun.
Result<FoundRun> find_run(Service& service, LogReader& reader, const RunCall& call) {
  FoundRun out{{}, call.head.value_or(main_head()), 0, 0, std::make_shared<const State>()};
  TRY(const auto session, reader.session(call.run));
  if (!session) return out;
  out.session = session->no;
  TRY(out.last, reader.last_seq(session->no));
  TRY(const auto at, reader.head(session->no, out.head));
  out.seq = at.value_or(0);
  TRY(out.state, service.research_fold().at(reader, session->no, out.seq));
  if (call.head || out.state->started) return out;
  TRY(const auto heads, reader.heads(session->no));
  for (const HeadRow& head : heads) {
    TRY(const auto state, service.research_fold().at(reader, session->no, head.seq));
    if (!state->started || state->head != head.name.str()) continue;
    out.head = head.name;
    out.seq = head.seq;
    out.state = state;
    break;
  }
  return out;
}

}  // namespace

Result<void> ResearchRun::load(bool may_begin) {
  FoundRun found;
  TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
    TRY(found, find_run(service_, reader, call_));
    if (found.seq == 0) return {};
    TRY(const auto entry, reader.entry(found.session, found.seq, Columns::without_body));
    if (!entry) return Error(ErrorCode::CORRUPT, "the head's entry is missing").with("seq", static_cast<std::int64_t>(found.seq));
    head_id_ = entry->id;
    head_digest_ = entry->digest;
    return {};
  }));
  session_ = found.session;
  head_ = found.head;
  head_seq_ = found.seq;
  last_seq_ = found.last;
  state_ = found.state;
  contents_.read_from(session_);
  if (!state_->started && !may_begin)
    return Error(ErrorCode::NOT_FOUND, "there is no research run '" + call_.run.str() +
                                           "' here; begin one with `weir research init --run " + call_.run.str() + " --query TEXT`")
        .with("run_id", call_.run.str());
  if (state_->started) {
    json::Parser parser;
    TRY(const Value manifest, parser.parse_stored(state_->manifest));
    limits_ = research::limits_of(manifest);
  }
  return {};
}

const research::Pool& ResearchRun::pool() {
  if (!pool_) pool_ = research::pool_of(*state_);
  return *pool_;
}

Result<const research::Perspectives*> ResearchRun::perspectives() {
  if (!perspectives_) {
    TRY(perspectives_, research::load_perspectives(state_->perspectives, contents_, documents_));
  }
  return &*perspectives_;
}

Result<research::GateInputs> ResearchRun::gate_inputs(research::RunFiles& files) {
  TRY(const research::Perspectives* all, perspectives());
  return research::GateInputs{*state_, limits_, *all, pool(), files, contents_};
}

Result<GateAnswer> ResearchRun::evaluate(char gate, research::RunFiles& files, json::Arena& arena, research::Bundle* bundle) {
  TRY(const research::GateInputs in, gate_inputs(files));
  if (gate == 'B') return gate_b(in, arena);
  if (gate == 'C') return gate_c(in, arena);
  return gate_d(in, arena, bundle);
}

Result<void> ResearchRun::check_revision() const {
  if (!call_.expect_revision || *call_.expect_revision == state_->revision) return {};
  return Error(ErrorCode::REVISION_MISMATCH, "expected_revision mismatch")
      .with("expected", static_cast<std::int64_t>(*call_.expect_revision))
      .with("got", static_cast<std::int64_t>(state_->revision));
}

Result<void> ResearchRun::check_open(bool patching) const {
  TRY_DO(check_revision());
  if (!at_home())
    return Error(ErrorCode::INVALID_ARGS,
                 "the run's directory mirrors the head '" + state_->head + "'; leave out --head, or begin another run")
        .with("head", head_.str());
  if (patching || call_.dry_run) return {};
  const std::string status = research::status_of(*state_);
  const auto refuse = [&](ErrorCode code, const std::string& what) {
    return Error(code, "the run is " + status + "; " + what).with("status", status);
  };
  const std::string reopen = "`weir research init --run " + call_.run.str() +
                             " --patch FILE` with {\"status\":\"running\"} opens it again" +
                             (status == "failed" ? ", and a higher limits.max_review_iterations gives it more tries" : "");
  if (status == "paused") return refuse(ErrorCode::PAUSED, reopen);
  if (status == "cancelled") return refuse(ErrorCode::RUN_CANCELLED, reopen);
  if (status == "failed" || status == "completed") return refuse(ErrorCode::INVALID_STATE, reopen);
  return {};
}

std::string ResearchRun::root_in(std::string_view manifest) const {
  json::Parser parser;
  const auto value = parser.parse(manifest);
  const Value* artifacts = value.ok() ? value->find("artifacts") : nullptr;
  const std::string_view root = artifacts == nullptr ? "" : artifacts->text_or("root", "");
  return root.empty() ? call_.root : std::string(root);
}

const std::map<std::string, FileSpec, std::less<>>& ResearchRun::specs() {
  if (!specs_) {
    specs_.emplace();
    for (FileSpec& spec : research::files_of(*state_)) {
      std::string path = spec.path;
      specs_->emplace(std::move(path), std::move(spec));
    }
  }
  return *specs_;
}

Result<std::optional<std::string>> ResearchRun::logged(const std::string& path, const std::string& root) {
  const auto spec = specs().find(path);
  if (spec == specs().end()) return std::optional<std::string>();
  TRY(std::string bytes, research::render(*state_, spec->second, contents_, root));
  return std::optional(std::move(bytes));
}

Result<bool> ResearchRun::ever_held(const std::string& path, std::string_view bytes) {
  const std::string sha256 = research::sha256_name(bytes), root = path == "manifest.json" ? root_in(bytes) : call_.root;
  std::vector<Seq> steps;
  TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
    return reader.scan(session_, 1, last_seq_, Order::forward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
      if (research::is_research_type(entry.type)) steps.push_back(entry.seq);
      return true;
    });
  }));
  std::set<std::string> tried;
  for (const Seq seq : steps) {
    TRY(const auto state, contents_.state_at(seq));
    for (const FileSpec& spec : research::files_of(*state)) {
      if (spec.path != path || !tried.insert(spec.key).second) continue;
      if (!spec.sha256.empty()) {
        if (spec.sha256 == sha256) return true;
        continue;
      }
      TRY(const std::string then, research::render(*state, spec, contents_, root));
      if (then == bytes) return true;
    }
  }
  return false;
}

Result<void> ResearchRun::check_unchanged(const std::string& path) {
  TRY(const RunFile file, dir_.read(path));
  if (file.kind == RunFile::Kind::absent) return {};
  const auto spec = specs().find(path);
  if (file.kind == RunFile::Kind::file && spec != specs().end()) {
    if (!spec->second.sha256.empty() && spec->second.sha256 == research::sha256_name(file.bytes)) return {};
    TRY(const auto here, logged(path, path == "manifest.json" ? root_in(file.bytes) : call_.root));
    if (*here == file.bytes) return {};
    // An older version of it is the log's too, and is brought up to date.
    TRY(const bool known, ever_held(path, file.bytes));
    if (known && call_.dry_run) return {};
    if (known) {
      TRY_DO(dir_.stage({{path, *here}}));
      return follow(head_seq_);
    }
  }
  TRY_DO(check_still());
  return changed_by_hand(path);
}

Result<bool> ResearchRun::is_logged(const std::string& path) {
  const auto spec = specs().find(path);
  auto file = dir_.read(path);
  if (!file.ok()) return false;
  if (spec == specs().end()) return file->kind == RunFile::Kind::absent;
  if (file->kind != RunFile::Kind::file) return false;
  if (!spec->second.sha256.empty()) return spec->second.sha256 == research::sha256_name(file->bytes);
  TRY(const auto here, logged(path, call_.root));
  return *here == file->bytes;
}

Result<void> ResearchRun::check_still() const {
  bool moved = false;
  TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto session, reader.session(call_.run));
    TRY(const auto now, session ? reader.head(session->no, head_) : Result<std::optional<Seq>>(std::optional<Seq>()));
    moved = now.value_or(0) != head_seq_;
    return {};
  }));
  if (!moved) return {};
  return Error(ErrorCode::CONFLICT, "the run went on meanwhile").with("run_id", call_.run.str());
}

Result<void> ResearchRun::restore(const std::vector<std::string>& paths) {
  std::vector<RunDir::NewFile> batch;
  for (const std::string& path : paths) {
    TRY_DO(check_unchanged(path));
    TRY(const RunFile file, dir_.read(path));
    if (file.kind != RunFile::Kind::absent) continue;
    TRY(auto bytes, logged(path, call_.root));
    if (bytes) batch.push_back({path, std::move(*bytes)});
  }
  if (batch.empty() || call_.dry_run) return {};
  TRY_DO(dir_.stage(std::move(batch)));
  return follow(head_seq_);
}

Result<void> ResearchRun::remove_leftovers() {
  TRY(const auto left, dir_.leftovers());
  if (left.empty()) return {};
  return service_.write(
      [&](LogTxn&) -> Result<void> {
        for (const std::string& path : left) TRY_DO(dir_.remove(path));
        return {};
      },
      false, Log::Grouping::alone);
}

// manifest.json is put in place last and changes with every step: a directory that has the right one has all of it.
Result<void> ResearchRun::settle(bool missing_too) {
  // The directory is that of one head; others only look.
  if (call_.dry_run || !state_->started || !at_home()) return {};
  TRY(const bool there, dir_.open());
  if (there) TRY_DO(remove_leftovers());
  TRY(const RunFile manifest, dir_.read("manifest.json"));
  if (manifest.kind == RunFile::Kind::file) {
    TRY(const auto right, logged("manifest.json", root_in(manifest.bytes)));
    if (right && *right == manifest.bytes) return {};
    TRY(const bool known, ever_held("manifest.json", manifest.bytes));
    if (!known) {
      TRY_DO(check_still());
      return changed_by_hand("manifest.json");
    }
  } else if (manifest.kind == RunFile::Kind::other) {
    return changed_by_hand("manifest.json");
  } else if (!missing_too) {
    return {};
  }
  return reconcile();
}

Result<void> ResearchRun::reconcile() {
  std::vector<RunDir::NewFile> batch;
  std::optional<std::string> changed;
  std::set<std::string, std::less<>> wanted;
  TRY_DO(dir_.make());
  for (const FileSpec& spec : research::files_of(*state_)) {
    wanted.insert(spec.path);
    TRY(const RunFile file, dir_.read(spec.path));
    if (file.kind == RunFile::Kind::file && !spec.sha256.empty() && research::sha256_name(file.bytes) == spec.sha256) continue;
    TRY(std::string bytes, research::render(*state_, spec, contents_, call_.root));
    if (file.kind == RunFile::Kind::file && file.bytes == bytes) continue;
    if (file.kind != RunFile::Kind::absent) {
      TRY(const bool known, file.kind == RunFile::Kind::file ? ever_held(spec.path, file.bytes) : Result<bool>(false));
      if (!known) {
        if (!changed) changed = spec.path;
        continue;
      }
    }
    batch.push_back({spec.path, std::move(bytes)});
  }
  TRY(const auto files, dir_.list());
  for (const std::string& path : files) {
    if (wanted.contains(path)) continue;
    auto file = dir_.read(path);
    if (!file.ok() || file->kind != RunFile::Kind::file) continue;
    TRY(const bool known, ever_held(path, file->bytes));
    if (known) removals_.push_back(path);
  }
  // Without the manifest while something is missing: the next step looks again.
  if (changed) std::erase_if(batch, [](const RunDir::NewFile& file) { return file.path == "manifest.json"; });
  TRY_DO(dir_.stage(std::move(batch)));
  TRY_DO(follow(head_seq_));
  if (!changed) return {};
  TRY_DO(check_still());
  return changed_by_hand(*changed);
}

// What the step changes on disk. What is there must be what the log held before it.
Result<std::vector<RunDir::NewFile>> ResearchRun::changes(const State& after) {
  const auto& before = specs();
  std::set<std::string, std::less<>> wanted;
  std::vector<RunDir::NewFile> batch;
  for (const FileSpec& spec : research::files_of(after)) {
    wanted.insert(spec.path);
    const auto old = before.find(spec.path);
    if (old != before.end() && old->second.key == spec.key) continue;
    TRY(std::string bytes, research::render(after, spec, contents_, call_.root));
    TRY(const RunFile file, dir_.read(spec.path));
    if (file.kind == RunFile::Kind::other) return changed_by_hand(spec.path);
    if (file.kind == RunFile::Kind::file) {
      if (file.bytes == bytes) continue;
      bool known = adopting_;
      if (!known && old != before.end()) {
        TRY(const std::string was,
            research::render(*state_, old->second, contents_, spec.path == "manifest.json" ? root_in(file.bytes) : call_.root));
        known = was == file.bytes;
      }
      if (!known) {
        TRY(known, ever_held(spec.path, file.bytes));
      }
      if (!known) {
        TRY_DO(check_still());
        return changed_by_hand(spec.path);
      }
    }
    batch.push_back({spec.path, std::move(bytes)});
  }
  removals_.clear();
  for (const auto& [path, spec] : before) {
    if (wanted.contains(path)) continue;
    TRY_DO(check_unchanged(path));
    removals_.push_back(path);
  }
  return batch;
}

// Large members leave for blobs of their text.
Result<Value> ResearchRun::shorten(const Value& body, AppendCall& append, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  for (const json::Member& member : body.members()) {
    if (member.key == "extra") {
      TRY(const Value extra, shorten(member.value, append, arena));
      out.add("extra", extra);
      continue;
    }
    if (!is_large_member(member.key)) {
      out.add(member.key, member.value);
      continue;
    }
    const std::string_view text = arena.copy(json::canonical(member.value));
    if (text.size() <= kInlineBytes) {
      out.add(member.key, member.value);
      continue;
    }
    TRY_DO(append.keep(text));
    out.add(member.key, json::make_object(arena, {{"$blob", arena.copy(research::sha256_name(text))}, {"bytes", text.size()}}));
  }
  return out.build();
}

namespace {

// Which entries a gate's inputs depend on, and the stage that lasts until it has passed.
struct StageRule {
  char gate;
  std::string_view stage;
  std::initializer_list<std::string_view> types;
};
const StageRule kStages[] = {
    {'B', "wave1", {"PERSPECTIVES_WRITTEN", "WAVE_OUTPUT_INGESTED", "RESEARCH_PATCHED"}},
    {'C', "citations", {"PERSPECTIVES_WRITTEN", "WAVE_OUTPUT_INGESTED", "CITATION_RECORDED"}},
    {'D',
     "summaries",
     {"PERSPECTIVES_WRITTEN", "WAVE_OUTPUT_INGESTED", "CITATION_RECORDED", "SUMMARY_INGESTED", "SUMMARY_PACK_BUILT", "RESEARCH_PATCHED"}},
};

int rank_of(std::string_view stage) {
  constexpr std::string_view kOrder[] = {"init", "wave1", "citations", "summaries", "synthesis", "finalize"};
  if (stage == "wave2") return 1;
  const auto* found = std::find(std::begin(kOrder), std::end(kOrder), stage);
  return static_cast<int>(found - std::begin(kOrder));
}

bool has_type(const std::vector<RunEntry>& entries, std::initializer_list<std::string_view> types) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const RunEntry& entry) { return std::find(types.begin(), types.end(), entry.type) != types.end(); });
}

bool evaluates(const std::vector<RunEntry>& entries, std::string_view gate) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const RunEntry& entry) { return entry.type == "GATE_EVALUATED" && entry.body.text_or("gate", "") == gate; });
}

}  // namespace

// A gate counts if it has passed on what the log holds now. Looked at again only where this step could have changed that.
Result<std::string> ResearchRun::stage_after(const State& after, const std::vector<RunEntry>& entries) {
  if (!after.perspectives[0] && !after.perspectives[1]) return std::string("init");
  json::Parser parser;
  TRY(const Value manifest, parser.parse_stored(after.manifest));
  const research::Limits limits = research::limits_of(manifest);
  LoggedFiles files(after, contents_);
  for (const StageRule& rule : kStages) {
    const auto& result = after.gates[rule.gate - 'A'];
    bool fresh = result && result->status == "pass";
    const bool held = rank_of(state_->stage) > rank_of(rule.stage) && !has_type(entries, rule.types);
    if (fresh && !held && !evaluates(entries, std::string_view(&rule.gate, 1))) {
      json::Arena arena;
      TRY(const research::Perspectives all, research::load_perspectives(after.perspectives, contents_, arena));
      const research::Pool pool = research::pool_of(after);
      const research::GateInputs in{after, limits, all, pool, files, contents_};
      const auto today = rule.gate == 'B' ? gate_b(in, arena) : rule.gate == 'C' ? gate_c(in, arena) : gate_d(in, arena);
      fresh = today.ok() && today->pass && today->inputs_digest == result->inputs_digest;
    }
    if (fresh) continue;
    if (rule.gate != 'B' || !after.perspectives[1]) return std::string(rule.stage);
    // Wave 2 while outputs that it declares are missing.
    json::Arena arena;
    TRY(const research::Perspectives all, research::load_perspectives(after.perspectives, contents_, arena));
    const bool missing = std::any_of(all.all().begin(), all.all().end(),
                                     [&](const auto& one) { return one.wave == 2 && research::accepted_output(after, one) == nullptr; });
    return std::string(missing ? "wave2" : "wave1");
  }
  const auto& checked = after.gates[4];
  const bool done =
      checked && checked->status == "pass" && after.report && after.bundle && checked->place.entry >= after.bundle->place.entry;
  return std::string(done ? "finalize" : "synthesis");
}

ResearchRun::Committed ResearchRun::as_it_is() const {
  return {state_->revision, state_->gates_revision, state_->stage, research::status_of(*state_), {}, state_->updated};
}

Result<ResearchRun::Committed> ResearchRun::commit(const std::vector<RunEntry>& entries, json::Arena& arena) {
  const TimeMs now = service_.now();
  // Twice: first without the stage, which depends on where the entries lead.
  std::string stage;
  for (int pass = 1;; ++pass) {
    AppendCall append(service_, call_.run, head_, Expect{head_id_.str(), false}, call_.dry_run, {.trusted = true});
    auto after = std::make_shared<State>(*state_);
    std::optional<Digest> parent = head_digest_;
    contents_.clear();
    std::vector<Value> bodies;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      json::ObjectBuilder extra(arena), body(arena);
      for (const json::Member& member : entries[i].body.members()) {
        if (member.key != "extra") body.add(member.key, member.value);
      }
      if (const Value* given = entries[i].body.find("extra")) {
        for (const json::Member& member : given->members()) extra.add(member.key, member.value);
      }
      if (i + 1 < entries.size()) extra.add("more", true);
      if (!call_.reason.empty() && entries[i].type != "RESEARCH_PATCHED") extra.add("reason", call_.reason);
      if (i + 1 == entries.size() && pass == 2) extra.add("stage", arena.copy(stage));
      if (!extra.empty()) body.add("extra", extra.build());
      const Value whole = body.build();
      TRY(const Value stored, shorten(whole, append, arena));
      TRY_DO(append.add_own(entries[i].type, stored, arena, now));
      const NewEntry& made = append.entries().back();
      Entry entry;
      entry.seq = last_seq_ + 1 + i;
      entry.type = made.type;
      entry.body = made.body.canonical;
      entry.at = now;
      entry.digest = made.body.hash.finish(parent, made.type);
      parent = entry.digest;
      TRY_DO(research::Fold::step(*after, entry));
      contents_.put(entry.seq, whole, std::make_shared<const State>(*after));
    }
    if (pass == 1) {
      TRY(stage, stage_after(*after, entries));
      if (stage != state_->stage) continue;
    }
    TRY(auto batch, changes(*after));
    Committed out{after->revision, after->gates_revision, after->stage, research::status_of(*after), {}, now};
    if (call_.dry_run) {
      TRY_DO(append.commit());
      contents_.clear();
      return out;
    }
    TRY_DO(dir_.stage(std::move(batch)));
    auto appended = append.commit();
    if (!appended.ok()) {
      dir_.discard();
      contents_.clear();
      return std::move(appended).error();
    }
    bool known = false;
    for (const auto& item : appended->result.entries) {
      out.entries.push_back(item.id);
      known = known || item.known;
    }
    if (known) return found_again();
    TRY_DO(follow(appended->result.entries.back().seq));
    contents_.clear();
    return out;
  }
}

// The head had stood here before: the entries are in the log already, with a time of their own.
Result<ResearchRun::Committed> ResearchRun::found_again() {
  dir_.discard();
  removals_.clear();
  contents_.clear();
  TRY(const auto again, open(service_, call_, false));
  TRY_DO(again->settle());
  return again->as_it_is();
}

void wait_a_little(Service& service, int attempt) {
  const auto most = static_cast<std::uint64_t>(std::min(attempt, 8)) * 8;
  std::this_thread::sleep_for(std::chrono::milliseconds(service.store().doors().random.next() % most));
}

// The directory follows under the store's lock, so that no two steps do at once; whoever comes late finds the head moved on,
// and puts in place what it then says.
Result<void> ResearchRun::follow(Seq head) {
  bool moved = false;
  TRY_DO(service_.write(
      [&](LogTxn& txn) -> Result<void> {
        TRY(const auto session, txn.session(call_.run));
        TRY(const auto now, txn.head(session->no, head_));
        moved = now.value_or(0) != head;
        if (moved) return {};
        for (const std::string& path : removals_) TRY_DO(dir_.remove(path));
        return dir_.publish();
      },
      false, Log::Grouping::alone));
  removals_.clear();
  if (!moved) return {};
  dir_.discard();
  TRY(const auto again, open(service_, call_, false));
  return again->settle();
}

}  // namespace weir
