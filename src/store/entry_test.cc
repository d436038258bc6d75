#include "store/entry.h"

#include <gtest/gtest.h>

#include "store/seal.h"
#include "testing/results.h"
#include "testing/rows.h"

namespace weir {
namespace {

using testing::must;

// The literals were computed with Python's hashlib from docs' sentence:
//   sha256(b'weir.entry.v1\0' + b'{"body":' + body + b',"parent":' + parent + b',"type":' + type + b'}')
constexpr const char* kFirst = "14a5c6e80eaaab735ef460c9aab52a087ec64c8a6d7b8b12123e040a33d8c36e";

TEST(EntryDigestTest, IsTheHashOfDomainBodyParentAndType) {
  const Digest first = entry_digest(std::nullopt, "message", R"({"content":"hello","role":"user"})");
  EXPECT_EQ(first.hex(), kFirst);
  const Digest second = entry_digest(first, "message", R"({"content":"hi there","role":"assistant"})");
  EXPECT_EQ(second.hex(), "6e6995441f38522eba990908ebcc565fbb21d77c2c4a05ca6699a67e72bb5292");
  const Digest third = entry_digest(second, "compaction", R"({"summary":"greeted"})");
  EXPECT_EQ(third.hex(), "e749f3a699be6c04be07f3d0cf716c70d53fead6931e928a207b2517a6ed1141");
  const Digest root = entry_digest(std::nullopt, "custom", "{}");
  EXPECT_EQ(root.hex(), "11bf53bff857d8562417243c74b1a103e6c5a024023ba14fd1f251f5a18663f4");
  EXPECT_EQ(entry_digest(root, "custom", "{\"custom_type\":\"x\",\"data\":{\"n\":1,\"s\":\"\xc3\xa9\xf0\x9f\x98\x80\"}}").hex(),
            "84238d4db4c78a8ee3769c3f26754443a62c8d778fe2d3e0328103b3afe9752a");
}

TEST(EntryDigestTest, BodyHashIsTheSameForEveryParentAndMayBeFinishedTwice) {
  const BodyHash hash(R"({"content":"hello","role":"user"})");
  EXPECT_EQ(hash.finish(std::nullopt, "message").hex(), kFirst);
  EXPECT_EQ(hash.finish(std::nullopt, "message").hex(), kFirst);
  EXPECT_NE(hash.finish(sha256("parent"), "message").hex(), kFirst);
  EXPECT_NE(hash.finish(std::nullopt, "custom").hex(), kFirst);
  EXPECT_EQ(hash.finish(sha256("parent"), "message"), entry_digest(sha256("parent"), "message", R"({"content":"hello","role":"user"})"));
}

TEST(EntryPointerTest, ShowsTheFirstDigitsOfTheDigest) {
  const Digest digest = must(Digest::parse(kFirst));
  EXPECT_EQ(entry_pointer(digest), "e14a5c6e80eaaab73");
  EXPECT_EQ(entry_pointer(digest, 8), "e14a5c6e8");
  EXPECT_EQ(entry_pointer(digest, 64), std::string("e") + kFirst);
}

TEST(EntryPointerTest, DerivedIdIsEAndAtLeastEightOfTheDigestsDigits) {
  const Digest digest = must(Digest::parse(kFirst));
  for (const std::string& good : {std::string("e14a5c6e8"), std::string("e14a5c6e80eaaab73"), std::string("e") + kFirst})
    EXPECT_TRUE(derived_id(good, digest)) << good;
  for (const std::string& bad :
       {std::string(""), std::string("e"), std::string("e14a5c6e"), std::string("e14a5c6e9"), std::string("E14a5c6e8"),
        std::string("e14A5C6E8"), std::string("14a5c6e80"), std::string("e14a5c6e8!"), std::string("e") + kFirst + "0"}) {
    EXPECT_FALSE(derived_id(bad, digest)) << bad;
  }
}

Entry sealed_entry() {
  Entry entry;
  entry.seq = 7;
  entry.parent = 5;
  entry.barrier = 2;
  entry.depth = 4;
  entry.at = TimeMs{1700000000123};
  entry.imported = true;
  entry.id = EntryId::trusted("n7");
  entry.digest = must(Digest::parse(kFirst));
  return entry;
}

// Pinned: a store written today must still be sound tomorrow. From Python's hashlib: the first eight bytes of the hash of
// little-endian 64-bit numbers and length-prefixed texts.
TEST(SealTest, IsPinned) {
  EXPECT_EQ(seal_of(SessionNo{3}, sealed_entry()), -2538275917971864594);
  Entry typed = sealed_entry();
  typed.type = "message";
  EXPECT_EQ(typed_seal_of(SessionNo{3}, typed), -657063116890259617);
  Entry before_1970 = sealed_entry();
  before_1970.at = TimeMs{-1};
  before_1970.imported = false;
  EXPECT_EQ(seal_of(SessionNo{3}, before_1970), 3104968298952319700);
  EXPECT_EQ(seal_of(SessionRow{SessionNo{3}, SessionId::trusted("demo"), TimeMs{1700000000123}, R"({"format":"pi"})"}),
            -3300807261433366600);
  EXPECT_EQ(seal_of(SessionNo{3}, HeadRow{HeadName::trusted("main"), 7}), -1360238826363124032);
}

TEST(SealTest, CoversEveryColumnTheDigestDoesNot) {
  const std::int64_t seal = seal_of(SessionNo{3}, sealed_entry());
  EXPECT_NE(seal_of(SessionNo{4}, sealed_entry()), seal);
  const auto with = [](auto change) {
    Entry entry = sealed_entry();
    change(entry);
    return seal_of(SessionNo{3}, entry);
  };
  EXPECT_NE(with([](Entry& e) { e.seq = 8; }), seal);
  EXPECT_NE(with([](Entry& e) { e.parent = 6; }), seal);
  EXPECT_NE(with([](Entry& e) { e.barrier = 0; }), seal);
  EXPECT_NE(with([](Entry& e) { e.depth = 5; }), seal);
  EXPECT_NE(with([](Entry& e) { e.at.ms ^= 1; }), seal);
  EXPECT_NE(with([](Entry& e) { e.imported = false; }), seal);
  EXPECT_NE(with([](Entry& e) { e.id = EntryId::trusted("n8"); }), seal);
  EXPECT_NE(with([](Entry& e) { e.digest.data()[31] ^= 1; }), seal);
  Entry typed = sealed_entry();
  typed.type = "message";
  const std::int64_t typed_seal = typed_seal_of(SessionNo{3}, typed);
  typed.type = "messagf";
  EXPECT_NE(typed_seal_of(SessionNo{3}, typed), typed_seal);
  const SessionRow session{SessionNo{3}, SessionId::trusted("demo"), TimeMs{1}, "{}"};
  EXPECT_NE(seal_of(SessionRow{SessionNo{2}, session.id, session.created, session.source}), seal_of(session));
  EXPECT_NE(seal_of(SessionRow{session.no, SessionId::trusted("demp"), session.created, session.source}), seal_of(session));
  EXPECT_NE(seal_of(SessionRow{session.no, session.id, TimeMs{2}, session.source}), seal_of(session));
  EXPECT_NE(seal_of(SessionRow{session.no, session.id, session.created, ""}), seal_of(session));
  const std::int64_t head = seal_of(SessionNo{3}, HeadRow{HeadName::trusted("main"), 7});
  EXPECT_NE(seal_of(SessionNo{2}, HeadRow{HeadName::trusted("main"), 7}), head);
  EXPECT_NE(seal_of(SessionNo{3}, HeadRow{HeadName::trusted("maim"), 7}), head);
  EXPECT_NE(seal_of(SessionNo{3}, HeadRow{HeadName::trusted("main"), 6}), head);
}

TEST(SealTest, DoesNotConfuseOneFieldsEndWithTheNextOnesBeginning) {
  EXPECT_NE(Seal("t").text("ab").text("c").value(), Seal("t").text("a").text("bc").value());
  EXPECT_NE(Seal("t").text("").text("a").value(), Seal("t").text("a").text("").value());
  EXPECT_NE(Seal("ta").value(), Seal("t").text("a").value());
}

}  // namespace
}  // namespace weir
