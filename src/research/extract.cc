#include "research/extract.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/utf8.h"
#include "research/t_order.h"
#include "research/wave_output.h"

namespace weir::research {

using json::Value;

namespace {

constexpr std::size_t kMostFoundBy = 20;
constexpr std::size_t kMostLine = 2000;  // code points of a source line that is shown

std::vector<std::string> distinct(std::vector<std::string> urls) {
  std::sort(urls.begin(), urls.end(), TLess());
  urls.erase(std::unique(urls.begin(), urls.end()), urls.end());
  return urls;
}

}  // namespace

std::vector<std::string> Extraction::shown() const {
  std::vector<std::string> urls;
  for (const Found& one : found) urls.push_back(one.url.shown);
  return distinct(std::move(urls));
}

std::vector<std::string> Extraction::normal() const {
  std::vector<std::string> urls;
  for (const Found& one : found) urls.push_back(one.url.normal);
  return distinct(std::move(urls));
}

Extraction extract(const std::vector<OutputText>& outputs) {
  std::vector<const OutputText*> sorted;
  for (const OutputText& output : outputs) sorted.push_back(&output);
  std::stable_sort(sorted.begin(), sorted.end(), [](const OutputText* a, const OutputText* b) {
    if (a->perspective->wave != b->perspective->wave) return a->perspective->wave < b->perspective->wave;
    return compare_t(a->perspective->id, b->perspective->id) < 0;
  });
  Extraction out;
  for (const OutputText* output : sorted) {
    std::set<std::pair<std::int64_t, std::string>> said;  // bullet, URL
    for (const SourceUrl& source : source_urls(output->text, output->perspective->contract)) {
      auto url = normalise_url(source.url);
      if (!said.emplace(source.ordinal, url.ok() ? url->shown : std::string(source.url)).second) continue;
      if (url.ok()) {
        out.found.push_back(
            {output->perspective, std::move(url).value(), std::string(utf8_prefix(source.line, kMostLine)), source.ordinal});
      } else {
        out.rejected.push_back({output->perspective, std::string(source.url)});
      }
    }
  }
  return out;
}

std::string url_lines(const std::vector<std::string>& urls) {
  std::string out;
  for (const std::string& url : urls) (out += url) += '\n';
  return out;
}

Value found_by_value(const Extraction& extraction, std::string_view run_id, json::Arena& arena) {
  std::map<std::string_view, std::vector<const Extraction::Found*>, TLess> by_url;
  for (const Extraction::Found& one : extraction.found) {
    auto& list = by_url[one.url.shown];
    if (list.size() < kMostFoundBy) list.push_back(&one);
  }
  std::vector<Value> items;
  for (const auto& [url, list] : by_url) {
    for (const Extraction::Found* one : list) {
      items.push_back(json::make_object(arena, {{"url_original", url},
                                                {"wave", one->perspective->wave == 2 ? "wave-2" : "wave-1"},
                                                {"perspective_id", one->perspective->id},
                                                {"source_line", one->line},
                                                {"ordinal", one->ordinal}}));
    }
  }
  return json::make_object(arena,
                           {{"schema_version", "found_by.v1"}, {"run_id", arena.copy(run_id)}, {"items", json::make_array(arena, items)}});
}

Value url_map_value(const Extraction& extraction, std::string_view run_id, json::Arena& arena) {
  std::map<std::string_view, const CitedUrl*, TLess> by_url;
  for (const Extraction::Found& one : extraction.found) by_url.emplace(one.url.shown, &one.url);
  std::vector<Value> items;
  for (const auto& [url, cited] : by_url) {
    items.push_back(json::make_object(arena, {{"url_original", url}, {"normalized_url", cited->normal}, {"cid", cited->cid}}));
  }
  return json::make_object(arena,
                           {{"schema_version", "url_map.v1"}, {"run_id", arena.copy(run_id)}, {"items", json::make_array(arena, items)}});
}

}  // namespace weir::research
