#include "json/digest.h"

#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"

namespace weir::json {
namespace {

std::string entry_digest(std::string_view text) {
  Parser parser;
  return digest(Domain::entry, parser.parse(text).value()).hex();
}

// Computed apart from this code: SHA-256 of "weir.entry.v1", a zero byte and the canonical text.
constexpr char kHello[] = "14a5c6e80eaaab735ef460c9aab52a087ec64c8a6d7b8b12123e040a33d8c36e";

TEST(DigestTest, OfAnEntryIsPinned) {
  EXPECT_EQ(entry_digest(R"({"type":"message","parent":null,"body":{"role":"user","content":"hello"}})"), kHello);
  EXPECT_EQ(entry_digest("{\"type\":\"message\",\"parent\":\"" + std::string(kHello) +
                         "\",\"body\":{\"role\":\"assistant\",\"content\":\"hi\"}}"),
            "29cc51edb6a1ba3c3d89679b178b45c154fee774437bac2ffe26d9197dc48260");
}

TEST(DigestTest, OfPlainValuesIsPinned) {
  EXPECT_EQ(entry_digest("null"), "042e1987dcb9885a87e6713443e930c9b7c50d0094f912b2e3b27f038aaee34d");
  EXPECT_EQ(entry_digest("-0"), "75dd0fe8fa50096c0e2425dd63354b2ed192b9496cc372a1aee968933791f177");
  EXPECT_EQ(entry_digest("\"caf\\u00e9\""), "e05c7841ed4c7eaf4f2952dd7a88a0afd08ad4c98c16ff5cac3b3c7cf62d67aa");
  EXPECT_EQ(entry_digest("[1,1000000000000000000000000000000]"), "585facc30b3c407aaeae45980fa036766c7aa42bc9afc9501414014a5413e924");
  for (const std::string one : {"[1.0,1e0]", "[1,1]", "[1, 1.00]"})
    EXPECT_EQ(entry_digest(one), "61974dbcefe6d103c6133f3b8d006c8485ffc808dc33d39f15a39941bd88db96");
}

TEST(DigestTest, IsOneWhetherTakenOfTheValueItsTextOrPieces) {
  Parser parser;
  const Value value = *parser.parse(R"({"body":{"content":"hello","role":"user"},"parent":null,"type":"message"})");
  EXPECT_EQ(digest_text(Domain::entry, canonical(value)).hex(), kHello);
  EXPECT_EQ(begin(Domain::entry).update(canonical(value).substr(0, 10)).update(canonical(value).substr(10)).finish().hex(), kHello);
  EXPECT_EQ(sha256("weir.entry.v1" + std::string(1, '\0') + canonical(value)).hex(), kHello);
}

TEST(DigestTest, TheDomainHasItsVersionInItsName) { EXPECT_EQ(name(Domain::entry), "weir.entry.v1"); }

}  // namespace
}  // namespace weir::json
