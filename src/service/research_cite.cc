// Steps over citations: the URLs that outputs name, and what the caller found behind them. Weir opens none of them and gives
// none a status.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "json/canonical.h"
#include "json/layout.h"
#include "json/parse.h"
#include "research/extract.h"
#include "research/schema.h"
#include "service/research.h"
#include "service/research_text.h"

namespace weir {

using json::Value;
using research::CitedUrl;
using research::Extraction;
using research::SchemaErrors;

namespace {

constexpr std::size_t kRecordsPerEntry = 500;
constexpr std::size_t kEntryBytes = 240000;  // of records: an entry goes on in a further one before a blob would be needed
constexpr std::size_t kMostFoundBy = 20;
constexpr std::size_t kMostSnippet = 2048;

Result<Extraction> extracted(ResearchRun& run, std::vector<research::OutputText>& texts) {
  TRY(const research::Perspectives* known, run.perspectives());
  TRY(texts, research::output_texts(run.state(), *known, run.dir()));
  return research::extract(texts);
}

// Everything but the URLs themselves, whose secrets are masked by their own rule when they are normalised: a cid depends on it.
Value mask_citations(const Value& value, const Masker& masker, json::Arena& arena) {
  MaskCounts counts;
  if (value.is_array()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(mask_citations(item, masker, arena));
    return json::make_array(arena, items);
  }
  if (!value.is_object()) return value;
  json::ObjectBuilder out(arena);
  for (const json::Member& member : value.members()) {
    const bool text = member.value.is_string();
    const bool url = member.key == "url" || member.key == "url_original" || member.key == "normalized_url";
    if (text && !url) {
      const std::string plain = research::mask_queries(member.value.text());
      out.add(member.key, arena.copy(masker.mask(plain, counts).value_or(plain)));
    } else {
      out.add(member.key, text ? member.value : mask_citations(member.value, masker, arena));
    }
  }
  return out.build();
}

// Statuses by URL: {"<url>": "<status>" or an object} as a list.
Result<std::vector<Value>> items_of(const Value& document, json::Arena& arena) {
  if (document.is_array()) return std::vector<Value>(document.items().begin(), document.items().end());
  if (!document.is_object()) return Error(ErrorCode::INVALID_ARGS, "citations are an array, {\"items\":[...]} or {\"<url>\":\"<status>\"}");
  if (const Value* items = document.find("items"); items != nullptr && items->is_array())
    return std::vector<Value>(items->items().begin(), items->items().end());
  std::vector<Value> out;
  for (const json::Member& member : document.members()) {
    json::ObjectBuilder one(arena);
    if (member.value.is_object()) {
      for (const json::Member& inner : member.value.members()) one.add(inner.key, inner.value);
    } else {
      one.add("status", member.value);
    }
    one.add("url", member.key);
    out.push_back(one.build());
  }
  return out;
}

// One citation as it was given, checked, and as it will be recorded.
class Recorder {
 public:
  Recorder(ResearchRun& run, json::Arena& arena) : run_(run), arena_(arena) {}

  Result<void> prepare() {
    TRY(const research::Perspectives* known, run_.perspectives());
    if (known->all().empty()) return {};
    TRY(const Extraction found, extracted(run_, texts_));
    for (const Extraction::Found& one : found.found) {
      auto& list = found_[one.url.normal];
      if (list.items.empty()) list.shown = one.url.shown;
      list.user_info = list.user_info || one.url.user_info;
      const Place place{one.perspective, one.ordinal};
      if (list.items.size() < kMostFoundBy && list.last != place) list.items.push_back(found_by(one));
      list.last = place;  // another form of the URL in the same bullet is no other place
    }
    return {};
  }

  Result<void> take(const Value& item, std::size_t index) {
    const std::string path = fmt::format("$[{}]", index);
    if (!item.is_object()) {
      errors_.add(path, "citation must be object");
      return {};
    }
    std::string_view url;
    bool named = false;
    for (const std::string_view key : {"url_original", "url", "normalized_url"}) {
      const Value* given = item.find(key);
      if (given == nullptr || given->is_null()) continue;
      if (given->is_string() && !named) url = given->text();
      named = named || given->is_string();
      if (!given->is_string()) errors_.add(path + "." + std::string(key), std::string(key) + " must be a string");
    }
    if (!named) {
      errors_.add(path + ".url", "citation.url missing");
      return {};
    }
    auto cited = research::normalise_url(mask_text(run_.service(), url));
    if (!cited.ok()) return std::move(cited).error().with("path", path).with("index", static_cast<std::int64_t>(index));
    // A normalised URL is taken as it stands: it is not normalised again.
    const Value* normal = item.find("normalized_url");
    const bool has_normal = normal != nullptr && normal->is_string();
    if (!found_.contains(cited->normal) && found_.contains(url)) cited->normal = url;
    if (has_normal && normal->text() != cited->normal) {
      const auto again = research::normalise_url(normal->text());
      if (!again.ok() || again->normal != cited->normal)
        errors_.add(path + ".normalized_url", "normalized_url is not what its URL gives");
      else if (found_.contains(normal->text()))
        cited->normal = normal->text();
    }
    cited->cid = research::cid_of(cited->normal);
    if (const Value* cid = item.find("cid"); cid != nullptr && !cid->is_null() && !(*cid == Value(cited->cid)))
      errors_.add(path + ".cid", "cid is not the hash of its URL", ErrorCode::CID_MISMATCH);
    check_fields(item, path);
    add(item, *cited);
    return {};
  }

  Result<void> result() const {
    TRY_DO(short_);
    return errors_.result();
  }
  // T-order of normalised URL, one each: the last given wins.
  const std::map<std::string, Value, research::TLess>& records() const { return records_; }

 private:
  using Place = std::pair<const research::Perspective*, std::int64_t>;  // and its bullet
  struct Found {
    std::string shown;
    bool user_info = false;
    Place last;
    std::vector<Value> items;
  };

  Value found_by(const Extraction::Found& one) {
    return json::make_object(arena_, {{"wave", one.perspective->wave},
                                      {"perspective_id", one.perspective->id},
                                      {"agent_type", one.perspective->agent_type},
                                      {"artifact_path", arena_.copy(research::output_path(one.perspective->wave, one.perspective->id))},
                                      {"source_line", arena_.copy(one.line)}});
  }

  void check_fields(const Value& item, const std::string& path) {
    constexpr std::string_view kStatuses[] = {"valid", "paywalled", "blocked", "mismatch", "invalid"};
    const Value* status = item.find("status");
    if (status == nullptr || !status->is_string() ||
        std::find(std::begin(kStatuses), std::end(kStatuses), status->text()) == std::end(kStatuses))
      errors_.add(path + ".status", "citation.status invalid");
    for (const std::string_view key : {"notes", "title", "publisher", "evidence_snippet", "checked_by", "checked_at"}) {
      const Value* text = item.find(key);
      if (text == nullptr || text->is_null()) continue;
      if (text->is_string() && short_.ok()) short_ = check_short(text->text(), "the " + std::string(key) + " of a citation");
      if (!text->is_string()) errors_.add(path + "." + std::string(key), "citation." + std::string(key) + " invalid");
    }
    if (const Value* at = item.find("checked_at"); at != nullptr && at->is_string() && !research::utc_time_ok(at->text()))
      errors_.add(path + ".checked_at", "citation.checked_at invalid");
    if (const Value* snippet = item.find("evidence_snippet");
        snippet != nullptr && snippet->is_string() && snippet->text().size() > kMostSnippet)
      errors_.add(path + ".evidence_snippet", "citation.evidence_snippet is over 2048 bytes");
    if (const Value* http = item.find("http_status"); http != nullptr && !http->is_null() && !http->is_integer())
      errors_.add(path + ".http_status", "citation.http_status invalid");
  }

  void add(const Value& item, const CitedUrl& cited) {
    const auto found = found_.find(cited.normal);
    const bool seen = found != found_.end();
    json::ObjectBuilder record(arena_);
    record.add("schema_version", "citation.v1")
        .add("normalized_url", arena_.copy(cited.normal))
        .add("cid", arena_.copy(cited.cid))
        .add("url", arena_.copy(cited.normal))
        .add("url_original", arena_.copy(seen ? found->second.shown : cited.shown))
        .add("found_by", seen ? json::make_array(arena_, found->second.items) : json::make_array(arena_, {}));
    const bool user_info = cited.user_info || (seen && found->second.user_info);
    const Value* status = item.find("status");
    record.add("status", user_info ? Value("invalid") : status == nullptr ? Value() : *status);
    const Value* notes = item.find("notes");
    record.add("notes", notes != nullptr && notes->is_string() ? *notes : Value(""));
    for (const std::string_view key : {"checked_at", "http_status", "title", "publisher", "evidence_snippet", "checked_by"}) {
      const Value* value = item.find(key);
      if (value != nullptr && !value->is_null()) record.add(key, *value);
    }
    records_.insert_or_assign(cited.normal, record.build());
  }

  ResearchRun& run_;
  json::Arena& arena_;
  std::vector<research::OutputText> texts_;
  std::map<std::string, Found, std::less<>> found_;
  SchemaErrors errors_;
  Result<void> short_;  // of all texts: they stay in their entry
  std::map<std::string, Value, research::TLess> records_;
};

Result<ResearchAnswer> record(ResearchRun& run, const Value& document, json::Arena& arena) {
  TRY_DO(run.check_open());
  TRY_DO(run.settle());
  TRY(const std::vector<Value> items, items_of(document, arena));
  Recorder recorder(run, arena);
  TRY_DO(recorder.prepare());
  for (std::size_t i = 0; i < items.size(); ++i) TRY_DO(recorder.take(items[i], i));
  TRY_DO(recorder.result());
  std::vector<Value> fresh, shown;
  std::vector<RunEntry> entries;
  std::size_t replaced = 0, recorded = 0, bytes = 0;
  const auto flush = [&] {
    if (!fresh.empty()) entries.push_back({"CITATION_RECORDED", json::make_object(arena, {{"records", json::make_array(arena, fresh)}})});
    fresh.clear();
    bytes = 0;
  };
  for (const auto& [url, value] : recorder.records()) {
    shown.push_back(value);
    const auto* had = run.state().records.find(std::string_view(url));
    const std::string text = json::canonical(value);
    if (had != nullptr && (*had)->text == text) continue;
    replaced += had == nullptr ? 0 : 1;
    ++recorded;
    if (fresh.size() == kRecordsPerEntry || bytes + text.size() > kEntryBytes) flush();
    fresh.push_back(value);
    bytes += text.size();
  }
  flush();
  auto now = run.as_it_is();
  if (!entries.empty()) {
    TRY(now, run.commit(entries, arena));
  } else {
    TRY_DO(run.restore({"citations/citations.jsonl"}));
  }
  const Value out = json::make_object(arena, {{"ok", true},
                                              {"run_id", run.state().run_id},
                                              {"recorded", recorded},
                                              {"replaced", replaced},
                                              {"unchanged", shown.size() - recorded},
                                              {"records", json::make_array(arena, shown)},
                                              {"revision", now.revision},
                                              {"stage", arena.copy(now.stage)}});
  return ResearchAnswer{json::canonical(out), true};
}

}  // namespace

Result<ResearchAnswer> research_cite(Service& service, const RunCall& call, const std::string& records) {
  json::Arena arena;
  // URLs are masked by their own rule: a cid depends on it.
  json::Parser parser;
  if (records.size() > 64 * limits::kMiB) return over_limit("bytes of citations", 64 * limits::kMiB, records.size());
  TRY(const Value document, parser.parse(records));
  const Value masked = service.masker().enabled() ? mask_citations(document, service.masker(), arena) : document;
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) { return record(run, masked, arena); });
}

Result<ResearchAnswer> research_extract(Service& service, const RunCall& call) {
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) -> Result<ResearchAnswer> {
    TRY_DO(run.check_open());
    TRY_DO(run.settle());
    json::Arena arena;
    std::vector<research::OutputText> texts;
    TRY(const Extraction found, extracted(run, texts));
    bool changed = true;
    if (run.state().extracted) {
      TRY(const auto before, run.logged("citations/found-by.json", call.root));
      TRY(const auto lines, run.logged("citations/normalized-urls.txt", call.root));
      const std::string today = json::write_document(research::found_by_value(found, run.state().run_id, arena),
                                                     research::layout_of(research::Document::found_by));
      changed = !before || *before != today || !lines || *lines != research::url_lines(found.normal());
    }
    auto now = run.as_it_is();
    if (changed) {
      const Value body =
          json::make_object(arena, {{"records", json::make_array(arena, {})}, {"extra", json::make_object(arena, {{"extracted", true}})}});
      TRY(now, run.commit({{"CITATION_RECORDED", body}}, arena));
    } else {
      TRY_DO(run.restore(
          {"citations/extracted-urls.txt", "citations/normalized-urls.txt", "citations/found-by.json", "citations/url-map.json"}));
    }
    std::vector<Value> rejected;
    for (const Extraction::Rejected& one : found.rejected) {
      rejected.push_back(json::make_object(
          arena, {{"url", arena.copy(masked_excerpt(one.url, 500))}, {"perspective_id", one.perspective->id}, {"reason", "INVALID_URL"}}));
    }
    const std::vector<std::string> shown = found.shown(), normal = found.normal();
    const Value out = json::make_object(arena, {{"ok", true},
                                                {"run_id", run.state().run_id},
                                                {"total_found", found.found.size()},
                                                {"unique_found", shown.size()},
                                                {"urls", texts_value(normal, arena)},
                                                {"rejected", json::make_array(arena, rejected)},
                                                {"changed", changed},
                                                {"revision", now.revision},
                                                {"stage", arena.copy(now.stage)}});
    return ResearchAnswer{json::canonical(out), true};
  });
}

Result<ResearchAnswer> research_citations(Service& service, const RunCall& call) {
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) -> Result<ResearchAnswer> {
    json::Arena arena;
    std::vector<Value> list;
    run.state().records.each([&](const research::TKey& url, const std::shared_ptr<const research::Record>& record) {
      const research::Citation& one = record->citation;
      if (!one.validated()) return;
      const Value title = one.title ? Value(*one.title) : Value();
      list.push_back(json::make_object(arena, {{"cid", one.cid}, {"status", one.status}, {"title", title}, {"url", url.text}}));
    });
    const Value out = json::make_object(
        arena, {{"ok", true}, {"run_id", run.state().run_id}, {"count", list.size()}, {"citations", json::make_array(arena, list)}});
    return ResearchAnswer{json::canonical(out), true};
  });
}

}  // namespace weir
