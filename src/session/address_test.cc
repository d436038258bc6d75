#include "session/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory_log.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/session_calls.h"

namespace weir {
namespace {

using testing::code;
using testing::detail;
using testing::message;
using testing::must;
using testing::named;
using testing::root;

class AddressTest : public ::testing::Test {
 protected:
  Result<Entry> find(std::string_view name, Naming naming) {
    const SessionRow row = session_.row();
    return testing::read_from(*log_, [&](LogReader& reader) { return find_entry(reader, row, name, naming, Columns::all); });
  }
  // The id that is meant, or the error's code.
  std::string people(std::string_view name) { return shown(find(name, Naming::people)); }
  std::string exact(std::string_view name) { return shown(find(name, Naming::exact)); }
  static std::string shown(const Result<Entry>& found) { return found.ok() ? found->id.str() : code(found); }

  std::unique_ptr<Log> log_ = make_memory_log();
  testing::SessionCalls session_{*log_};
};

TEST_F(AddressTest, IdAndPointerAreExactNames) {
  session_.grow({"alpha", "beta"});
  const std::string pointer = entry_pointer(session_.at(1).digest);
  ASSERT_EQ(pointer.size(), 17u);
  EXPECT_EQ(exact("alpha"), "alpha");
  EXPECT_EQ(exact(pointer), "alpha");
  EXPECT_EQ(must(find("beta", Naming::exact)).body, R"({"content":"beta","role":"user"})");
  for (const std::string& no : {std::string(), std::string("alph"), std::string("Alpha"), std::string("alpha~0"), std::string("main"),
                                pointer.substr(0, 16), pointer + "0", "E" + pointer.substr(1), std::string(300, 'a')}) {
    EXPECT_EQ(exact(no), "NOT_FOUND") << no;
  }
}

TEST_F(AddressTest, NotFoundNamesSessionAndEntry) {
  session_.grow({"alpha"});
  const auto missing = find("nobody", Naming::people);
  ASSERT_EQ(code(missing), "NOT_FOUND");
  EXPECT_EQ(missing.error().message(), "session 's' has no entry 'nobody'");
  EXPECT_EQ(detail(missing.error(), "session"), "s");
  EXPECT_EQ(detail(missing.error(), "entry"), "nobody");
}

TEST_F(AddressTest, ExactIdWinsOverPointerHeadPrefixAndAncestor) {
  session_.grow({"alpha", "beta"});
  const std::string pointer = entry_pointer(session_.at(1).digest);
  session_.grow({pointer, "main", "alph", "beta~1"});
  EXPECT_EQ(people(pointer), pointer);
  EXPECT_EQ(exact(pointer), pointer);
  EXPECT_EQ(people("main"), "main");
  EXPECT_EQ(people("alph"), "alph");
  EXPECT_EQ(people("beta~1"), "beta~1");
  EXPECT_EQ(people("beta~1~1"), "alph");
}

TEST_F(AddressTest, PointerOfOneDigestMeansItsFirstEntry) {
  must(session_.append({message("same")}));
  must(session_.append({root(named("twin", message("same")))}));
  EXPECT_EQ(session_.at(1).digest, session_.at(2).digest);
  EXPECT_EQ(exact(entry_pointer(session_.at(2).digest)), session_.at(1).id.str());
}

TEST_F(AddressTest, PrefixOfFourCharactersIsEnoughIfItIsUnique) {
  session_.grow({"alpha-one", "alpha-two", "beta", "bet"});
  EXPECT_EQ(people("alpha-o"), "alpha-one");
  EXPECT_EQ(people("alpha-t"), "alpha-two");
  EXPECT_EQ(people("beta"), "beta");
  EXPECT_EQ(people("bet"), "bet");
  EXPECT_EQ(people("alp"), "NOT_FOUND");
  EXPECT_EQ(people("alpha-x"), "NOT_FOUND");
  const auto either = find("alph", Naming::people);
  ASSERT_EQ(code(either), "AMBIGUOUS");
  EXPECT_EQ(either.error().message(), "'alph' could be alpha-one, alpha-two");
  EXPECT_EQ(detail(either.error(), "entry"), "alph");
  EXPECT_EQ(detail(either.error(), "candidates"), "alpha-one, alpha-two");
}

TEST_F(AddressTest, AmbiguousNameShowsEightCandidatesAtMost) {
  for (int i = 1; i <= 9; ++i) session_.grow({"node" + std::to_string(i)});
  EXPECT_EQ(detail(find("node", Naming::people).error(), "candidates"), "node1, node2, node3, node4, node5, node6, node7, node8, ...");
}

TEST_F(AddressTest, TildeCountsAncestorsOnThePathNotInTheLog) {
  session_.grow({"a", "b", "c", "x<a", "d<c"});
  EXPECT_EQ(people("d~0"), "d");
  EXPECT_EQ(people("d~1"), "c");
  EXPECT_EQ(people("d~3"), "a");
  EXPECT_EQ(people("x~1"), "a");
  EXPECT_EQ(people("d~1~1"), "b");
  EXPECT_EQ(people(entry_pointer(session_.at(5).digest) + "~2"), "b");
  const auto above = find("d~4", Naming::people);
  ASSERT_EQ(code(above), "NOT_FOUND");
  EXPECT_EQ(above.error().message(), "'d' has 3 ancestors, not 4");
  for (const char* no : {"d~", "d~x", "d~-1", "d~1x", "~1", "nobody~1", "d~99999999999999999999", "d~18446744073709551615"})
    EXPECT_EQ(people(no), "NOT_FOUND") << no;
}

TEST_F(AddressTest, TildeWorksOnPrefixesHeadsAndIdsThatHoldATilde) {
  session_.grow({"first", "l1~2", "second", "l1~2~2"});
  EXPECT_EQ(people("l1~2"), "l1~2");
  EXPECT_EQ(people("l1~2~1"), "first");
  EXPECT_EQ(people("l1~2~2"), "l1~2~2");
  EXPECT_EQ(people("l1~2~2~1"), "second");
  EXPECT_EQ(people("l1~2~2~3"), "first");
  EXPECT_EQ(people("seco~1"), "l1~2");
  EXPECT_EQ(people("main~1"), "second");
}

TEST_F(AddressTest, HeadsNameMeansWhereItStands) {
  session_.grow({"a", "b"});
  must(session_.fork("side", 1));
  must(session_.fork("start", 0));
  EXPECT_EQ(people("main"), "b");
  EXPECT_EQ(people("side"), "a");
  EXPECT_EQ(people("start"), "NOT_FOUND");
}

TEST_F(AddressTest, EntriesWithoutAHeadMainAreDamageUnderItsName) {
  session_.grow({"a", "b"});
  must(session_.fork("side", 1));
  const auto heads = [&] {
    const SessionRow row = session_.row();
    return testing::read_from(*log_, [&](LogReader& reader) { return need_heads(reader, row); });
  };
  EXPECT_EQ(must(heads()).size(), 2u);
  const SessionNo no = session_.row().no;
  must(testing::write_to(*log_, [&](LogTxn& txn) { return txn.delete_head(no, main_head()); }));
  EXPECT_EQ(people("main"), "CORRUPT");
  EXPECT_EQ(people("main~1"), "CORRUPT");
  EXPECT_EQ(people("side"), "a");
  ASSERT_EQ(code(heads()), "CORRUPT");
  EXPECT_EQ(detail(heads().error(), "session"), "s");
  EXPECT_EQ(detail(heads().error(), "object"), "heads");
}

TEST_F(AddressTest, NameWithoutEndIsNotFound) {
  session_.grow({"a"});
  std::string endless = "a";
  while (endless.size() < 1000000) endless += "~0";
  EXPECT_EQ(people(endless), "NOT_FOUND");
  EXPECT_EQ(people("a" + endless.substr(1, 800)), "a");
}

TEST_F(AddressTest, SessionsAndHeadsThatAreNeededAreNotFoundByName) {
  session_.grow({"a"});
  const auto no_session = testing::read_from(*log_, [](LogReader& reader) { return need_session(reader, SessionId::trusted("t")); });
  ASSERT_EQ(code(no_session), "NOT_FOUND");
  EXPECT_EQ(no_session.error().message(), "no session 't'");
  EXPECT_EQ(detail(no_session.error(), "session"), "t");
  const SessionRow row = session_.row();
  const auto head = [&](std::string_view name) {
    return testing::read_from(*log_, [&](LogReader& reader) { return need_head(reader, row, HeadName::trusted(name)); });
  };
  EXPECT_EQ(must(head("main")), 1u);
  ASSERT_EQ(code(head("side")), "NOT_FOUND");
  EXPECT_EQ(detail(head("side").error(), "head"), "side");
  const auto id = [&](Seq seq) { return testing::read_from(*log_, [&](LogReader& reader) { return id_at(reader, row.no, seq); }); };
  EXPECT_EQ(must(id(0)).str(), "");
  EXPECT_EQ(must(id(1)).str(), "a");
  EXPECT_EQ(code(id(2)), "CORRUPT");
}

TEST_F(AddressTest, MainIsThereFromTheStart) {
  must(session_.append({message("a")}, {.head = "work"}));
  const SessionRow row = session_.row();
  EXPECT_EQ(must(testing::read_from(*log_, [&](LogReader& reader) { return need_head(reader, row, main_head()); })), 0u);
}

}  // namespace
}  // namespace weir
