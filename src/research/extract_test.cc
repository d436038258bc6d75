// The derived files, by the recorded answers.
#include "research/extract.h"

#include <gtest/gtest.h>

#include "json/canonical.h"
#include "testing/results.h"
#include "testing/upstream_cases.h"

namespace weir::research {
namespace {

using testing::upstream_cases;
using testing::UpstreamCase;

std::string canonical_file(const UpstreamCase& one, std::string_view path) {
  json::Parser parser;
  return json::canonical(testing::must(parser.parse(one.at("files_written").text_or(path, "null"))));
}

// Each wave-N/<id>.md of the case, as an accepted output under a contract that names no section.
class CaseOutputs {
 public:
  explicit CaseOutputs(const UpstreamCase& one) {
    for (const json::Member& file : one.at("files").members()) {
      if (!file.key.starts_with("wave-")) continue;
      const std::string_view name = file.key.substr(7, file.key.size() - 10);
      perspectives_.push_back({name, "", "", file.key[5] - '0', {}, std::string(file.key)});
      texts_.emplace_back(file.value.text());
    }
  }
  Extraction extracted() const {
    std::vector<OutputText> outputs;
    for (std::size_t i = 0; i < texts_.size(); ++i) outputs.push_back({&perspectives_[i], texts_[i]});
    return extract(outputs);
  }

 private:
  std::vector<Perspective> perspectives_;
  std::vector<std::string> texts_;
};

TEST(ExtractTest, RecordedCasesGiveTheSameUrlsAndPlaces) {
  int compared = 0;
  for (const UpstreamCase& one : upstream_cases("citations_extract_urls")) {
    SCOPED_TRACE(one.id);
    ++compared;
    const CaseOutputs outputs(one);
    const Extraction got = outputs.extracted();
    EXPECT_TRUE(got.rejected.empty());
    json::Arena arena;
    if (one.same()) {
      EXPECT_EQ(url_lines(got.shown()), one.at("files_written").text_or("citations/extracted-urls.txt", "?"));
      EXPECT_EQ(json::canonical(found_by_value(got, "dr_fx", arena)), canonical_file(one, "citations/found-by.json"));
    } else {
      EXPECT_EQ(one.id, "lowercase_sources_heading_ignored");
      EXPECT_EQ(url_lines(got.shown()), "https://a.com/\n");
    }
  }
  EXPECT_EQ(compared, 3);
}

// The second half takes a list as it stands.
Extraction listed(std::string_view lines, const Perspective& nobody) {
  Extraction out;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    const std::string url(lines.substr(begin, end - begin));
    begin = end + 1;
    auto cited = normalise_url(url);
    if (!cited.ok()) {
      out.rejected.push_back({&nobody, url});
      continue;
    }
    cited->shown = url;
    out.found.push_back({&nobody, *std::move(cited), "", 0});
  }
  return out;
}

TEST(ExtractTest, RecordedListsAreNormalisedAlikeAndOneBadLineStopsNoOther) {
  int compared = 0;
  for (const UpstreamCase& one : upstream_cases("citations_normalize")) {
    SCOPED_TRACE(one.id);
    ++compared;
    const Perspective nobody;
    const Extraction got = listed(one.at("files").text_or("citations/extracted-urls.txt", ""), nobody);
    json::Arena arena;
    if (one.same()) {
      EXPECT_EQ(url_lines(got.normal()), one.at("files_written").text_or("citations/normalized-urls.txt", "?"));
      EXPECT_EQ(json::canonical(url_map_value(got, "dr_fx", arena)), canonical_file(one, "citations/url-map.json"));
    } else {
      EXPECT_EQ(url_lines(got.normal()), "https://a.com/\n");
      ASSERT_EQ(got.rejected.size(), 1u);
      EXPECT_EQ(got.rejected[0].url, "not a url");
    }
  }
  EXPECT_EQ(compared, 2);
}

TEST(ExtractTest, Case15AnUnusableUrlIsRejectedByNameAndTheRestGoOn) {
  const Perspective p1{"p1", "", "", 1, {}, ""};
  const Extraction got = extract({{&p1, "# sources\n- https://\n- http://[bad and https://a.org/b\n- https://x.org:99999/\n"}});
  EXPECT_EQ(got.shown(), std::vector<std::string>{"https://a.org/b"});
  std::string rejected;
  for (const Extraction::Rejected& one : got.rejected) rejected += one.url + " ";
  EXPECT_EQ(rejected, "https:// http:// https://x.org:99999/ ");
}

TEST(ExtractTest, AUrlCountsOnceInABulletHoweverOftenItStandsThere) {
  const Perspective p1{"p1", "", "", 1, {}, ""};
  const Extraction got = extract({{&p1,
                                   "# sources\n- [https://a.org/b](https://a.org/b), https://a.org/b/\n- https://a.org/b\n"
                                   "- https:// and https://\n"}});
  std::string found;
  for (const Extraction::Found& one : got.found) found += one.url.shown + " in " + std::to_string(one.ordinal) + ", ";
  EXPECT_EQ(found, "https://a.org/b in 1, https://a.org/b/ in 1, https://a.org/b in 2, ");
  EXPECT_EQ(got.rejected.size(), 1u);
}

TEST(ExtractTest, Wave1ComesBeforeWave2AndIdsStandInTOrder) {
  const Perspective g{"a", "", "", 2, {}, ""}, p10{"p10", "", "", 1, {}, ""}, p2{"p2", "", "", 1, {}, ""};
  const Extraction got =
      extract({{&g, "# Sources\n- https://x.org/a"}, {&p2, "# Sources\n- https://x.org/b"}, {&p10, "# Sources\n- https://x.org/c"}});
  std::string order;
  for (const Extraction::Found& one : got.found) order.append(one.perspective->id).append(" ");
  EXPECT_EQ(order, "p10 p2 a ");
}

}  // namespace
}  // namespace weir::research
