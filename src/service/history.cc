#include "service/history.h"

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/secrets.h"
#include "service/reading.h"
#include "session/path.h"

namespace weir {
namespace {

using json::Value;

Error wrong(const std::string& path, const std::string& why) {
  return Error(ErrorCode::INVALID_FIELD, path + ": " + why).with_fields({{path, why}});
}

// The entries of a path as runs of neighbours. Most paths are one run: an entry as deep as its place has everything
// before it on its path. Else the index knows where a path leaves its neighbour, so that no row has to be read.
class OnPath {
 public:
  static Result<OnPath> make(LogReader& reader, SessionNo session, Seq leaf, HistoryIndex* index) {
    OnPath out;
    Seq indexed = 0, rest = 0;
    if (index != nullptr) {
      TRY(const HistoryIndex::Mark mark, index->mark());
      indexed = mark.seq;
    }
    TRY_DO(walk_back(reader, session, leaf, Columns::without_body, [&](Entry& entry) -> Result<bool> {
      if (entry.depth == entry.seq) {
        out.add(1, entry.seq);
        return false;
      }
      if (entry.seq <= indexed) {
        rest = entry.seq;
        return false;
      }
      out.add(entry.seq, entry.seq);
      return true;
    }));
    if (rest == 0) return out;
    TRY_DO(index->jumps(rest, [&](Seq seq, Seq parent) {
      if (seq > rest) return true;
      out.add(seq, rest);
      rest = parent;
      return rest != 0;
    }));
    if (rest != 0) out.add(1, rest);
    return out;
  }

  bool contains(Seq seq) const {
    const auto run = std::lower_bound(runs_.begin(), runs_.end(), seq, [](const Run& one, Seq wanted) { return one.first > wanted; });
    return run != runs_.end() && seq <= run->last;
  }

 private:
  struct Run {
    Seq first, last;
  };
  void add(Seq first, Seq last) {
    if (!runs_.empty() && runs_.back().first == last + 1) {
      runs_.back().first = first;
    } else {
      runs_.push_back({first, last});
    }
  }
  std::vector<Run> runs_;  // falling
};

Result<void> search_at(Service& service, LogReader& reader, const HistoryRequest& request, HistoryIndex* index, HistoryQuery& query,
                       Seq below, HistoryWatch watch, HistoryAnswer& answer) {
  TRY(const Located located, locate(reader, request.address));
  const SessionNo session = located.session.no;
  TRY(const Seq barrier, barrier_at(reader, session, located.seq));
  TRY(const OnPath path, OnPath::make(reader, session, located.seq, index));
  HistoryScope scope;
  scope.types = request.types;
  TRY(scope.last, reader.last_seq(session));
  if (request.where == HistoryWhere::before) scope.last = barrier == 0 ? 0 : barrier - 1;
  if (request.where == HistoryWhere::after) {
    scope.first = std::max<Seq>(barrier, 1);
    scope.last = located.seq;
  }
  if (below != 0) scope.last = std::min(scope.last, below - 1);
  const auto wanted = [&](Seq seq) { return request.where == HistoryWhere::all || path.contains(seq); };
  return search_history(
      service.store(), reader, session, index, query, scope, wanted, watch, [&](const Entry& entry, Excerpt& excerpt) -> Result<bool> {
        if (answer.matches.size() == request.limit) {
          answer.next = "s" + std::to_string(answer.matches.back().seq);
          return false;
        }
        const bool on_path = path.contains(entry.seq);
        answer.matches.push_back({entry.id, entry.seq, entry.type, on_path && entry.seq < barrier, on_path, std::move(excerpt)});
        return true;
      });
}

Result<Seq> parse_cursor(std::string_view cursor) {
  Seq seq = 0;
  if (cursor.empty()) return seq;
  const auto [end, error] = std::from_chars(cursor.data() + 1, cursor.data() + cursor.size(), seq);
  if (cursor[0] != 's' || error != std::errc() || end != cursor.data() + cursor.size() || seq == 0 || seq > limits::kSeq)
    return wrong("/cursor", "is none that an answer gave: '" + masked_excerpt(cursor, 40) + "'");
  return seq;
}

}  // namespace

Value HistoryMatch::to_json(json::Arena& arena) const {
  return json::make_object(arena, {{"entry", entry.str()},
                                   {"seq", seq},
                                   {"type", type},
                                   {"before_barrier", before_barrier},
                                   {"on_path", on_path},
                                   {"text", excerpt.text}});
}

Value HistoryAnswer::to_json(json::Arena& arena) const {
  std::vector<Value> items;
  items.reserve(matches.size());
  for (const HistoryMatch& match : matches) items.push_back(match.to_json(arena));
  json::ObjectBuilder out(arena);
  out.add("matches", json::make_array(arena, items));
  if (!next.empty()) out.add("next", next);
  return out.build();
}

Result<HistoryWhere> parse_where(std::string_view text) {
  if (text == "all") return HistoryWhere::all;
  if (text == "before") return HistoryWhere::before;
  if (text == "after") return HistoryWhere::after;
  return wrong("/where", "is '" + masked_excerpt(text, 40) + "', not all, before or after" + did_you_mean(text, "all|before|after"));
}

Result<HistoryAnswer> search_session(Service& service, const HistoryRequest& request, HistoryWatch watch) {
  if (request.limit == 0) return wrong("/limit", "is 0, the least is 1");
  if (request.limit > limits::kHistoryMatches) return over_limit("history.matches", limits::kHistoryMatches, request.limit);
  TRY(const Seq below, parse_cursor(request.cursor));
  TRY(HistoryQuery query, request.regex ? HistoryQuery::regex(request.query) : HistoryQuery::words(request.query));
  Located located;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(located, locate(reader, request.address));
    return need_types(reader, located.session.no, request.types);
  }));
  std::unique_ptr<HistoryIndex> index;
  if (!query.expression().empty()) {
    TRY(index, open_history(service.store(), located.session, watch));
  }
  HistoryAnswer answer;
  const auto search = [&]() {
    answer = {};
    return service.log().read(
        [&](LogReader& reader) -> Result<void> { return search_at(service, reader, request, index.get(), query, below, watch, answer); });
  };
  auto done = search();
  if (!done.ok() && index != nullptr && index->failed()) {
    // Damaged, or taken away: the next search makes it again, and this one does without.
    index.reset();
    if (done.error().code() == ErrorCode::CORRUPT) TRY_DO(remove_history(service.store(), located.session.no));
    done = search();
  }
  if (!done.ok() && done.error().code() == ErrorCode::NOT_FOUND) {
    // Whoever purged the session meanwhile may have looked for its index before this call made it.
    bool gone = false;
    TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
      TRY(const auto row, reader.session(located.session.id));
      gone = !row || row->no != located.session.no;
      return {};
    }));
    if (gone) TRY_DO(remove_history(service.store(), located.session.no));
  }
  TRY_DO(done);
  return answer;
}

}  // namespace weir
