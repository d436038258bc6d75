#include "research/figures.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/results.h"
#include "testing/upstream_cases.h"

namespace weir::research {
namespace {

using testing::must;
using testing::UpstreamCase;

std::string text(double number) { return json::canonical(json::Value(number)); }

TEST(FiguresTest, RecordedRatesAreRoundedAsUpstreamDoes) {
  for (const UpstreamCase& one : testing::upstream_cases("format_rate")) {
    EXPECT_EQ(text(rounded(one.at("args.value").real())), one.at("result.json").text()) << one.id;
  }
}

TEST(FiguresTest, TiesGoUpAndWhatIsBelowATieGoesDown) {
  EXPECT_EQ(text(rounded(0.0078125)), "0.007813");
  EXPECT_EQ(text(rounded(0.0390625)), "0.039063");
  EXPECT_EQ(text(rounded(0.8999995)), "0.899999");  // the double is a little less than it says
  EXPECT_EQ(text(rounded(std::nextafter(0.0078125, 0))), "0.007812");
  EXPECT_EQ(text(rounded(1.0 / 3)), "0.333333");
  EXPECT_EQ(text(rounded(2.0 / 3)), "0.666667");
  EXPECT_EQ(text(rounded(0.9999995)), "1");  // and this one a little more
  EXPECT_EQ(text(rounded(5e-324)), "0");
  EXPECT_EQ(text(rounded(-0.0078125)), "-0.007812");
  EXPECT_EQ(text(rounded(-1e-9)), "0");
  EXPECT_EQ(text(rounded(1e300)), "1e+300");
}

TEST(FiguresTest, KilobytesAreRoundedFromWholeBytes) {
  EXPECT_EQ(text(kb_figure(8)), "0.007813");
  EXPECT_EQ(text(kb_figure(40)), "0.039063");
  EXPECT_EQ(text(kb_figure(5121)), "5.000977");
  EXPECT_EQ(text(kb_figure(364)), "0.355469");
  EXPECT_EQ(text(kb_figure(527)), "0.514648");
  EXPECT_EQ(text(kb_figure(1430)), "1.396484");
  EXPECT_EQ(text(kb_figure(3010)), "2.939453");
  EXPECT_EQ(text(kb_figure(0)), "0");
  EXPECT_EQ(text(kb_figure(5120)), "5");
  EXPECT_EQ(text(kb_figure(std::uint64_t{1} << 60)), text(std::ldexp(1.0, 50)));
}

TEST(FiguresTest, BytesByHandAndByTheRoundingOfADoubleAreTheSame) {
  for (std::uint64_t bytes = 0; bytes < 20000; ++bytes) {
    const std::uint64_t formula = (bytes * 1000000 + 512) / 1024;
    ASSERT_EQ(kb_figure(bytes), static_cast<double>(formula) / 1e6) << bytes;
    ASSERT_EQ(kb_figure(bytes), rounded(static_cast<double>(bytes) / 1024)) << bytes;
  }
}

// The exact decimal expansion of m x 2^-k in plain integers.
RC_GTEST_PROP(FiguresTest, RoundingIsThatOfTheExactExpansion, ()) {
  const auto mantissa = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 53);
  const auto shift = *rc::gen::inRange(30, 90);
  const double value = std::ldexp(static_cast<double>(mantissa), -shift);
  const unsigned __int128 scaled = static_cast<unsigned __int128>(mantissa) * 1000000;
  const unsigned __int128 half = static_cast<unsigned __int128>(1) << (shift - 1);
  const auto millionths = static_cast<std::uint64_t>((scaled + half) >> shift);
  if (millionths < (std::uint64_t{1} << 52)) RC_ASSERT(rounded(value) == static_cast<double>(millionths) / 1e6);
}

TEST(FiguresTest, RatiosOfNothingAreNothing) {
  EXPECT_EQ(ratio_figure(0, 0), 0);
  EXPECT_EQ(ratio_figure(3, 0), 0);
  EXPECT_EQ(text(ratio_figure(2, 3)), "0.666667");
  EXPECT_EQ(text(ratio_figure(9, 10)), "0.9");
}

TEST(FiguresTest, ACapIsTheMostWholeBytesWithinIt) {
  EXPECT_EQ(cap_bytes(0.5), 512u);
  EXPECT_EQ(cap_bytes(5), 5120u);
  EXPECT_EQ(cap_bytes(1.0 / 1024), 1u);
  EXPECT_EQ(cap_bytes(0.0009), 0u);
  EXPECT_EQ(cap_bytes(5.000976), 5120u);
  EXPECT_EQ(cap_bytes(5.0009765625), 5121u);
  EXPECT_EQ(cap_bytes(0), 0u);
  EXPECT_EQ(cap_bytes(-3), 0u);
  EXPECT_EQ(cap_bytes(1e300), std::uint64_t{1} << 53);
}

TEST(UpstreamDigestTest, RecordedDigestsHoldWhereKeysArePrintableAscii) {
  int compared = 0;
  for (const UpstreamCase& one : testing::upstream_cases("canonical_digest")) {
    if (one.id == "unicode") {
      EXPECT_EQ(upstream_text(one.at("args.value")), R"({"e":2,"z":3,"ß":4,"é":1,"日":5})");
      continue;
    }
    EXPECT_EQ(upstream_text(one.at("args.value")), one.at("result.canonical").text()) << one.id;
    EXPECT_EQ(digest_upstream(one.at("args.value")), one.at("result.digest").text()) << one.id;
    ++compared;
  }
  EXPECT_EQ(compared, 3);
}

TEST(UpstreamDigestTest, KeysThatAreIndexesComeFirstAndRise) {
  json::Parser parser;
  EXPECT_EQ(
      upstream_text(must(parser.parse(R"({"b":{"2":1,"a":0,"10":2},"10":1,"9":2,"01":3,"4294967295":4,"4294967294":5,"-1":6,"_":[]})"))),
      R"({"9":2,"10":1,"4294967294":5,"_":[],"-1":6,"01":3,"4294967295":4,"b":{"2":1,"10":2,"a":0}})");
}

TEST(UpstreamDigestTest, AWholePerspectivesFileHasTheDigestThatUpstreamLogged) {
  int compared = 0;
  for (const UpstreamCase& one : testing::upstream_cases("perspectives")) {
    const json::Value* log = one.at("files_written").find("logs/audit.jsonl");
    if (log == nullptr) continue;
    json::Parser parser;
    const json::Value entry = must(parser.parse(log->text().substr(0, log->text().find('\n'))));
    EXPECT_EQ(digest_upstream(one.at("args.value")), entry.text_or("value_digest", "")) << one.id;
    ++compared;
  }
  EXPECT_EQ(compared, 5);
}

}  // namespace
}  // namespace weir::research
