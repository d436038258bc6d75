// The oracle: is a store what a workload (workload.cc) could have left, and does it hold everything that was
// acknowledged? Opens it as the program would. Exit: 0 yes, 1 no, with one "class: detail" line per violation, 2 usage.
//
//   weir_check DIRECTORY ACKS [--state S] [--durability full|normal]
//
// ACKS is a file with one token a line. With durability normal a power cut (any state but "all") may take the end of
// what was acknowledged, and nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "json/canonical.h"
#include "json/parse.h"
#include "script.h"
#include "service/append.h"
#include "service/import.h"
#include "service/reading.h"
#include "service/sessions.h"
#include "service/upkeep.h"
#include "session/address.h"
#include "session/path.h"
#include "store/verify.h"

namespace weir::faults {
namespace {

constexpr const char* kNextSession = "next";  // the oracle's own

struct Options {
  std::string directory, acks, state = "all";
  Durability durability = Durability::full;
};

class Check {
 public:
  explicit Check(const Options& options) : options_(options) {}

  int run() {
    if (!read_acks()) return 2;
    check_all();
    for (const std::string& line : violations_) std::printf("%s\n", line.c_str());
    if (violations_.empty()) std::printf("sound: %s\n", summary_.c_str());
    return violations_.empty() ? 0 : 1;
  }

 private:
  template <typename... Args>
  void bad(fmt::format_string<Args...> format, Args&&... args) {
    if (violations_.size() < 20) violations_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  bool bad_unless_ok(std::string_view what, const Result<void>& result) {
    if (!result.ok()) bad("{}: {} {}", what, info(result.error().code()).name, result.error().message());
    return result.ok();
  }

  bool read_acks() {
    std::ifstream in(options_.acks);
    if (!in) return false;
    for (std::string line; std::getline(in, line);) {
      if (const auto step = AppendStep::parse(line)) {
        appended_.push_back(*step);
      } else if (const auto token = CycleToken::parse(line)) {
        auto& last = acked_[token->kind];
        last = std::max(last, std::pair(token->cycle, token->step));
      } else {
        bad("lost: nobody knows the token '{}'", line);
      }
    }
    return true;
  }

  bool acks_must_be_there() const { return options_.durability == Durability::full || options_.state == "all"; }
  bool anything_acked() const { return acks_must_be_there() && (!appended_.empty() || !acked_.empty()); }
  // Was step `step` of that cycle, or a later one, acknowledged, and must it have lasted?
  bool acked(char kind, std::uint64_t cycle, std::uint64_t step) const {
    const auto it = acked_.find(kind);
    return acks_must_be_there() && it != acked_.end() && it->second >= std::pair(cycle, step);
  }

  Result<void> open() {
    ServiceSettings settings;
    settings.store_directory = options_.directory;
    settings.durability = options_.durability;
    TRY(service_, Service::open(settings, Store::Access::write, {}));
    return {};
  }

  void check_all() {
    if (!std::filesystem::exists(options_.directory + "/weir.db")) {
      if (anything_acked()) bad("lost: there is no store");
      return;
    }
    if (!bad_unless_ok("does not open", open()) || !bad_unless_ok("verify", check_verify())) return;
    check_files();
    bad_unless_ok("objects", check_objects());
    bad_unless_ok("append", check_appends());
    bad_unless_ok("branch", check_branches());
    bad_unless_ok("import", check_imports());
    bad_unless_ok("upkeep", check_upkeep());
    const std::string first = folds();
    // Somebody else opens it: the same state, and it takes what comes next.
    service_.reset();
    if (!bad_unless_ok("does not open again", open())) return;
    if (const std::string second = folds(); first != second) bad("fold: {} differs from {}", first, second);
    bad_unless_ok("next append", check_next());
  }

  Result<void> check_verify() {
    TRY(const VerifyReport report, verify(service_->store(), {}, [](const VerifyProgress&) { return true; }));
    for (const Finding& finding : report.findings) bad("verify: {} {} {} {}", finding.session, finding.entry, finding.object, finding.what);
    summary_ = fmt::format("{} sessions, {} entries, {} blobs", report.sessions, report.entries, report.blobs);
    return {};
  }

  void check_files() {
    std::error_code error;
    for (const auto& file : std::filesystem::recursive_directory_iterator(options_.directory, error)) {
      const auto mode = static_cast<unsigned>(file.symlink_status().permissions()) & 07777;
      const unsigned right = file.is_directory() ? 0700 : 0600;
      if (mode != right) bad("modes: {} has {:04o}", file.path().filename().string(), mode);
    }
  }

  Result<void> check_objects() {
    TRY(const auto listed, service_->store().blobs().list());
    for (const Digest& digest : listed.objects) {
      const auto bytes = service_->store().blobs().get(digest);
      if (!bytes.ok()) bad("objects: {}", bytes.error().message());
    }
    for (const std::string& path : listed.strangers) bad("objects: {} names no blob", path);
    objects_.insert(listed.objects.begin(), listed.objects.end());
    return {};
  }

  // Every entry of the session with its content; false if there is no such session.
  Result<bool> each(std::string_view session, FunctionRef<void(const Entry&, const EntryId& parent, const json::Value& body)> visit) {
    std::optional<SessionRow> row;
    TRY_DO(service_->log().read([&](LogReader& reader) -> Result<void> {
      TRY(row, reader.session(SessionId::trusted(session)));
      return {};
    }));
    if (!row) return false;
    auto done = read_all(*service_, row->id, [&](const Entry& entry, const EntryId& parent) -> Result<bool> {
      TRY(const std::string text, resolved_body(*service_, row->no, entry));
      json::Parser parser;
      TRY(const json::Value body, parser.parse(text));
      visit(entry, parent, body);
      return true;
    });
    if (done.ok()) return true;
    if (done.error().code() == ErrorCode::NOT_FOUND && done.error().message().find("session") != std::string::npos) return false;
    return std::move(done).error();
  }

  static bool is_message(const Entry& entry, const json::Value& body, std::string_view content) {
    return entry.type == "message" && body.members().size() == 2 && body.text_or("role", "") == "user" &&
           body.text_or("content", "") == content;
  }

  Result<void> check_appends() {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> last;  // writer and thread -> n
    Seq next = 1;
    TRY(const bool there, each(kAppendSession, [&](const Entry& entry, const EntryId&, const json::Value& body) {
          if (entry.seq != next) bad("hole: seq {} follows {}", entry.seq, next - 1);
          next = entry.seq + 1;
          if (entry.parent != entry.seq - 1) bad("hole: entry {} stands under {}", entry.seq, entry.parent);
          const std::string_view content = body.text_or("content", "");
          const auto step = AppendStep::parse(content.substr(0, content.find(' ')));
          if (!step || step->id() != entry.id.str()) return bad("stranger: entry {} of session append", entry.id.str());
          if (!is_message(entry, body, step->content())) return bad("bytes: entry {} differs from what was written", entry.id.str());
          if (step->n != ++last[{step->writer, step->thread}])
            bad("hole: {} is number {} of its thread", entry.id.str(), last[{step->writer, step->thread}]);
        }));
    if (there) TRY_DO(check_head(kAppendSession, "main", next - 1));
    for (const AppendStep& step : appended_) {
      if (acks_must_be_there() && step.n > last[{step.writer, step.thread}]) bad("lost: {}", step.token());
    }
    return {};
  }

  Result<void> check_head(std::string_view session, std::string_view head, Seq seq) {
    return service_->log().read([&](LogReader& reader) -> Result<void> {
      TRY(const SessionRow row, need_session(reader, SessionId::trusted(session)));
      TRY(const auto stands, reader.head(row.no, HeadName::trusted(head)));
      if (stands != std::optional<Seq>(seq)) bad("head: {} of {} stands at {}, not at {}", head, session, stands.value_or(0), seq);
      return {};
    });
  }

  // Heads as they are after a step of a cycle.
  static std::map<std::string, std::string> branch_heads(std::uint64_t c, std::uint64_t step) {
    std::map<std::string, std::string> heads{{"main", branch_id(c, 1)}};
    for (std::uint64_t i = c > 2 ? c - 2 : 1; i < c; ++i) heads[branch_head(i)] = branch_id(i, 2);
    if (step >= 2) heads[branch_head(c)] = branch_id(c, 1);
    if (step >= 3) heads[branch_head(c)] = branch_id(c, 2);
    if (step >= 4 || c > 1) heads["walker"] = branch_id(step >= 4 ? c : c - 1, 2);
    if (step >= 5 && c > 2) heads.erase(branch_head(c - 2));
    return heads;
  }

  Result<void> check_branches() {
    std::uint64_t count = 0;
    TRY(const bool there, each(kBranchSession, [&](const Entry& entry, const EntryId& parent, const json::Value& body) {
          const std::uint64_t cycle = count / 2 + 1;
          const int which = static_cast<int>(count % 2) + 1;
          ++count;
          const std::string id = branch_id(cycle, which), under = which == 2   ? branch_id(cycle, 1)
                                                                  : cycle == 1 ? ""
                                                                               : branch_id(cycle - 1, 1);
          if (entry.seq != count || entry.id.str() != id || parent.str() != under)
            bad("hole: seq {} is {} under {}", entry.seq, entry.id.str(), parent.str());
          if (!is_message(entry, body, filled(id, 300))) bad("bytes: entry {} differs from what was written", entry.id.str());
        }));
    if (!there || count == 0) {
      if (acked('b', 1, 1)) bad("lost: session branch");
      return {};
    }
    TRY(const auto listed, list_heads(*service_, SessionId::trusted(kBranchSession)));
    std::map<std::string, std::string> heads;
    for (const HeadAnswer& head : listed) heads[head.name.str()] = head.entry.str();
    const std::uint64_t cycle = (count + 1) / 2;
    std::uint64_t step = count % 2 == 1 ? 2 : 5;
    const std::uint64_t least = count % 2 == 1 ? 1 : 3;
    while (step >= least && heads != branch_heads(cycle, step)) --step;
    if (step < least) return bad("heads: they are what no step of cycle {} leaves", cycle), Result<void>();
    if (cycle <= 2 && step == 4) step = 5;
    if (acked('b', cycle, step + 1)) bad("lost: b:{}.{}", acked_['b'].first, acked_['b'].second);
    return {};
  }

  Result<void> check_imports() {
    ExportInput input{"pi", {SessionId::trusted(kImportSession), main_head(), "", false}, true};
    std::uint64_t lines = 0;
    auto exported = export_session(*service_, input, [&](std::string_view line) -> Result<bool> {
      const std::string wanted = lines == 0 ? pi_header() : pi_line(lines);
      if (line != wanted) bad("bytes: line {} of the import is {}", lines, line.substr(0, 200));
      ++lines;
      return true;
    });
    if (!exported.ok() && exported.error().code() != ErrorCode::NOT_FOUND) return std::move(exported).error();
    const std::uint64_t entries = lines == 0 ? 0 : lines - 1;
    if (entries % kBurstLines != 0) bad("hole: {} lines are no whole number of bursts", entries);
    if (entries > 0) TRY_DO(check_head(kImportSession, "main", entries));
    if (acked('i', entries / kBurstLines + 1, 1)) bad("lost: i:{}.1, there are {} bursts", acked_['i'].first, entries / kBurstLines);
    return {};
  }

  void check_upkeep_session(std::uint64_t cycle, bool a_may_be_gone, bool a_must_be_gone) {
    const Digest own = sha256(upkeep_blob(cycle, 'A'));
    const bool gone = !objects_.contains(own);
    if (gone && !a_may_be_gone) bad("lost: blob A of {}", upkeep_session(cycle));
    if (!gone && a_must_be_gone) bad("kept: blob A of {} was purged", upkeep_session(cycle));
    std::vector<std::string> wanted;
    json::Arena arena;
    const auto blob = [&](const std::string& bytes) {
      return json::make_object(
          arena,
          {{"$blob", arena.copy("sha256:" + sha256(bytes).hex())}, {"bytes", bytes.size()}, {"preview", arena.copy(bytes.substr(0, 256))}});
    };
    const auto message = [&](json::Value content) {
      return json::canonical(json::make_object(arena, {{"role", "user"}, {"content", content}}));
    };
    const auto block = [&](const std::string& bytes) { return json::make_object(arena, {{"type", "text"}, {"text", blob(bytes)}}); };
    const json::Value both[] = {block(upkeep_blob(cycle, 'A')), block(upkeep_blob(cycle, 'B'))};
    wanted.push_back(message(arena.copy(upkeep_small(cycle))));
    wanted.push_back(message(json::make_array(arena, both)));
    wanted.push_back(message(blob(upkeep_shared())));
    std::size_t count = 0;
    const auto read =
        read_all(*service_, SessionId::trusted(upkeep_session(cycle)), [&](const Entry& entry, const EntryId&) -> Result<bool> {
          if (count >= wanted.size() || entry.body != wanted[count]) bad("bytes: entry {} of {}", entry.seq, upkeep_session(cycle));
          ++count;
          return true;
        });
    if (!read.ok() || count != wanted.size()) bad("hole: session {} has {} of 3 entries", upkeep_session(cycle), count);
  }

  Result<void> check_upkeep() {
    TRY(const auto sessions, list_sessions(*service_));
    std::set<std::uint64_t> cycles;
    for (const SessionSummary& session : sessions) {
      if (const auto cycle = upkeep_cycle(session.id.str())) {
        cycles.insert(*cycle);
      } else if (session.id.str() != kAppendSession && session.id.str() != kBranchSession && session.id.str() != kImportSession &&
                 session.id.str() != kNextSession) {
        bad("stranger: session {}", session.id.str());
      }
    }
    const std::uint64_t last = cycles.empty() ? 0 : *cycles.rbegin();
    if (acked('u', last + 1, 1)) bad("lost: session {}", upkeep_session(last + 1));
    for (const std::uint64_t cycle : cycles) {
      if (cycle + 2 < last || (cycle + 2 == last && acked('u', last, 3))) bad("kept: session {} was purged", upkeep_session(cycle));
      check_upkeep_session(cycle, cycle < last, cycle + 1 < last || (cycle + 1 == last && acked('u', last, 2)));
    }
    if (last > 1 && !cycles.contains(last - 1)) bad("lost: session {}", upkeep_session(last - 1));
    if (cycles.empty() && acked_.contains('u') && acks_must_be_there()) return {};
    // Collected means gone: nothing of sessions purged before the last garbage collection is left.
    for (std::uint64_t cycle = last > 50 ? last - 50 : 1; cycle + 2 <= last; ++cycle) {
      const bool collected = cycle + 2 < last || acked('u', last, 4);
      if (collected && !cycles.contains(cycle) && objects_.contains(sha256(upkeep_blob(cycle, 'B'))))
        bad("kept: blob B of {} was collected", upkeep_session(cycle));
    }
    return {};
  }

  // Every head's fold, as bytes; by the engine, and step by step.
  std::string folds() {
    std::string out;
    const auto fold_all = [&](LogReader& reader) -> Result<void> {
      TRY(const auto sessions, reader.sessions());
      for (const SessionRow& session : sessions) {
        TRY(const auto heads, reader.heads(session.no));
        for (const HeadRow& head : heads) {
          TRY(const auto state, service_->stats_fold().at(reader, session.no, head.seq));
          StatsFold::State plain = StatsFold::initial();
          TRY(const auto path, path_to(reader, session.no, head.seq));
          TRY_DO(walk(reader, session.no, path, Columns::all, [&](Entry& entry) -> Result<bool> {
            TRY_DO(StatsFold::step(plain, entry));
            return true;
          }));
          if (StatsFold::save(plain) != StatsFold::save(*state))
            bad("fold: of {} {} differs from its steps", session.id.str(), head.name.str());
          out += session.id.str() + " " + head.name.str() + " " + StatsFold::save(*state) + "\n";
        }
      }
      return {};
    };
    bad_unless_ok("fold", service_->log().read(fold_all));
    return out;
  }

  Result<void> check_next() {
    json::Arena arena;
    const std::string content = filled("the next one", 70000);
    AppendCall call(*service_, SessionId::trusted(kNextSession), main_head(), std::nullopt, false);
    TRY_DO(call.add_body("message", json::make_object(arena, {{"role", "user"}, {"content", content}}), "next", std::nullopt, arena));
    TRY_DO(call.commit());
    return check_verify();
  }

  const Options& options_;
  std::vector<AppendStep> appended_;
  std::map<char, std::pair<std::uint64_t, std::uint64_t>> acked_;  // kind -> last cycle and step
  std::unique_ptr<Service> service_;
  std::set<Digest> objects_;
  std::vector<std::string> violations_;
  std::string summary_ = "no store";
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--state" && i + 1 < argc) {
      options.state = argv[++i];
    } else if (word == "--durability" && i + 1 < argc) {
      const std::string value = argv[++i];
      if (value != "full" && value != "normal") return false;
      options.durability = value == "normal" ? Durability::normal : Durability::full;
    } else if (word.starts_with("-")) {
      return false;
    } else {
      (options.directory.empty() ? options.directory : options.acks) = word;
    }
  }
  return !options.directory.empty() && !options.acks.empty();
}

}  // namespace
}  // namespace weir::faults

int main(int argc, char** argv) {
  weir::faults::Options options;
  if (!weir::faults::parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: weir_check DIRECTORY ACKS [--state S] [--durability full|normal]\n");
    return 2;
  }
  return weir::faults::Check(options).run();
}
