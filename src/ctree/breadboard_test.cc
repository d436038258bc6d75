// The rules of the profile breadboard-0.1 one by one, where its makers' vectors do not show them.
#include "ctree/breadboard.h"

#include <gtest/gtest.h>

#include "testing/results.h"

namespace weir::breadboard {
namespace {

using testing::code;
using testing::must;

Value json(std::string_view text) { return must(read_json(text)); }

Store store_of(std::initializer_list<std::string_view> records) {
  Store store;
  for (const std::string_view record : records) store.record(must(record_of(json(record))));
  return store;
}

// user, assistant, note, user, assistant; ids a to e, turns 1, 1, 1, 2, 2.
Store five() {
  return store_of({R"({"kind":"message","payload":{"role":"user","content":"one"},"turn":1,"node_id":"a"})",
                   R"({"kind":"message","payload":{"role":"assistant","content":"two"},"turn":1,"node_id":"b"})",
                   R"({"kind":"note","payload":{"seq":1},"turn":1,"node_id":"c"})",
                   R"({"kind":"message","payload":{"role":"user","content":"three"},"turn":2,"node_id":"d"})",
                   R"({"kind":"message","payload":{"role":"assistant","content":"four"},"turn":2,"node_id":"e"})"});
}

// The ids of a list as one text.
std::string joined(const Value& ids) {
  std::string out;
  for (const Value& id : ids.items()) out += id.text();
  return out;
}

Value selection(const Store& store, std::string_view config) {
  return must(compile(store, json(config))).get("stages").get("SPEC").get("selection");
}

std::string selected(const Store& store, std::string_view config) { return joined(selection(store, config).get("selected_ids")); }

TEST(BreadboardTest, TheWorkedExampleOfTheContract) {
  const Store store = store_of({R"({"kind":"message","payload":{"role":"user","content":"hello"},"turn":1})"});
  EXPECT_EQ(store[0].digest, "2be4d47ba4960db1b9f63fb1e697e3d2912694ab");
  EXPECT_EQ(store[0].id, "n00000000_2be4d47b");
  const Value hashes = must(compile(store)).get("hashes");
  EXPECT_EQ(hashes.get("node_hash").text(), "5f9ecf70b669045ae584d85a81b7409cfed00e1b");
  EXPECT_EQ(hashes.get("z1").text(), "3400077c7c7b6a49440e2f031ff47c5f30d0e9f4");
  EXPECT_EQ(hashes.get("z2").text(), "d239bc61ea73c1e16efe2c986a45f636584ece64");
  EXPECT_EQ(hashes.get("z3").text(), "3dd4f04964059a648149c5d44f605fe1789cee20");
  EXPECT_EQ(selection(store, "{}").get("selection_sha256").text(), "0f718acb268c84a3c37ba456a292dd5d6f1befb9");
  const Value previews = must(compile(store, json(R"({"header_mode":"sanitized_content"})")));
  EXPECT_EQ(previews.get("hashes").get("z3").text(), "97b6dc44aec3f9eeea62671c1d248afe4abead52");
}

TEST(BreadboardTest, FaultsAreKept) {
  const Store store = five();
  EXPECT_EQ(selected(store, R"({"max_nodes":0})"), "abde");
  EXPECT_EQ(selected(store, R"({"selection":{"max_nodes":1}})"), "de");
  EXPECT_EQ(selected(store, R"({"selection":{"kind_allowlist":["none","message"],"max_turns":0}})"), "abde");
  const Value spec = must(compile(store, json(R"({"kind_allowlist":"note"})"))).get("stages").get("SPEC");
  EXPECT_EQ(plain(spec.get("selected").items()[0].get("payload_shape")), R"(["seq"])");
}

TEST(BreadboardTest, TurnsCountInTheOrderTheyAreFirstSeen) {
  const Store store =
      store_of({R"({"kind":"n","turn":2,"node_id":"a"})", R"({"kind":"n","turn":true,"node_id":"b"})",
                R"({"kind":"n","turn":2,"node_id":"c"})", R"({"kind":"n","turn":1,"node_id":"d"})", R"({"kind":"n","node_id":"e"})",
                R"({"kind":"n","turn":"1","node_id":"f"})", R"({"kind":"n","turn":1.0,"node_id":"g"})"});
  EXPECT_EQ(selected(store, R"({"kind_allowlist":["n"],"max_turns":1})"), "bde");
  EXPECT_EQ(selected(store, R"({"kind_allowlist":["n"],"max_turns":2})"), "abcde");
  EXPECT_EQ(selected(store, R"({"kind_allowlist":["n"],"max_turns":1e300})"), "abcde");
  EXPECT_EQ(selected(store, R"({"kind_allowlist":["n"]})"), "abcdefg");
}

TEST(BreadboardTest, TheCharacterBudgetSparesPinsAndOtherKinds) {
  const Store store = five();
  EXPECT_EQ(selected(store, R"({"selection":{"max_message_chars":9}})"), "de");
  EXPECT_EQ(selected(store, R"({"selection":{"max_message_chars":12}})"), "bde");
  EXPECT_EQ(selected(store, R"({"selection":{"max_message_chars":1,"kind_allowlist":["message","note"]}})"), "cde");
  EXPECT_EQ(selected(store, R"({"selection":{"max_message_chars":1,"pin_latest_user_assistant":false}})"), "e");
  EXPECT_EQ(selected(store, R"({"max_message_chars":1})"), "abde");  // on the top level it is not read
}

TEST(BreadboardTest, OfEqualIdsTheFirstGivesThePlaceAndTheLastThePayload) {
  const Store store = store_of({R"({"kind":"n","payload":1,"node_id":"a"})", R"({"kind":"n","payload":2,"node_id":"b"})",
                                R"({"kind":"n","payload":[3],"node_id":"a"})"});
  const Value spec = must(compile(store, json(R"({"kind_allowlist":["n"]})"))).get("stages").get("SPEC");
  EXPECT_EQ(joined(spec.get("selection").get("selected_ids")), "ab");
  EXPECT_EQ(plain(spec.get("selected").items()[0].get("payload_shape")), "[1]");
  const Value policy = must(collapse_policy(store, {.target = 2}));
  EXPECT_EQ(joined(policy.get("drop")), "a");
  EXPECT_EQ(joined(policy.get("collapse")), "");
  EXPECT_EQ(plain(policy.get("node_count")), "3");
}

TEST(BreadboardTest, OddSettingsFallBack) {
  const Store store = five();
  EXPECT_EQ(selected(store, R"({"selection":5,"header":[],"max_nodes":"x"})"), "abde");
  EXPECT_EQ(selected(store, R"({"selection":{"max_nodes":null,"pin_latest_user_assistant":0},"max_nodes":1})"), "abde");
  EXPECT_EQ(selected(store, R"({"selection":{"max_nodes":" 1_0 "}})"), "abde");
  EXPECT_EQ(plain(selection(store, R"({"max_nodes":1e22})").get("max_nodes")), "10000000000000000000000");
  EXPECT_EQ(plain(selection(store, R"({"kind_allowlist":[null,true," ","\u3000",1.0,"a "]})").get("kind_allowlist")),
            R"(["None","True","1.0","a "])");
  for (const char* config : {"null", "[]", "0", "\"\"", "false"}) EXPECT_EQ(selected(store, config), "abde");
}

TEST(BreadboardTest, WhatCannotBeReproducedIsRefused) {
  const Store store = five();
  EXPECT_EQ(code(compile(store, json(R"({"kind_allowlist":[["message"]]})"))), "NOT_REPRODUCIBLE");
  EXPECT_EQ(code(compile(store, json("[1]"))), "CONFIG_INVALID");
  const Store odd =
      store_of({R"({"kind":"message","payload":{"role":["user"]}})", R"({"kind":"message","payload":{"role":"user","name":{}}})"});
  EXPECT_EQ(code(compile(odd)), "NOT_REPRODUCIBLE");
  EXPECT_EQ(code(compile(odd, json(R"({"kind_allowlist":["note"]})"))), "OK");
  EXPECT_EQ(code(tree_view(odd, {.compiler_config = json(R"({"selection":{"kind_allowlist":["note"]}})")})), "NOT_REPRODUCIBLE");
  EXPECT_EQ(code(collapse_policy(store, {.target = "2"})), "INVALID_FIELD");
  EXPECT_EQ(code(collapse_policy(store, {.target = 2.5})), "INVALID_FIELD");
  EXPECT_EQ(code(collapse_policy(store, {.target = 5.5})), "OK");
  EXPECT_EQ(code(tree_args(json(R"({"stages":1})"))), "INVALID_FIELD");
}

TEST(BreadboardTest, ThePromptSummaryChangesZ1Only) {
  const Store store = five();
  const Value without = must(compile(store)).get("hashes"), with = must(compile(store, {}, json(R"({"timestamp":1})"))).get("hashes");
  EXPECT_NE(plain(without.get("z1")), plain(with.get("z1")));
  EXPECT_EQ(plain(without.get("z2")), plain(with.get("z2")));
  EXPECT_EQ(plain(without.get("z3")), plain(with.get("z3")));
  EXPECT_EQ(plain(must(compile(store, {}, Value::object({}))).get("hashes")), plain(without));
}

TEST(BreadboardTest, PreviewsHideWhatLooksSecret) {
  const auto preview = [](const std::string& content) {
    Store store;
    store.record({"message", Value::object({{"content", content}}), {}, {}});
    const Value messages = must(compile(store, json(R"({"header":{"mode":" Sanitized_Content","preview_chars":24}})")))
                               .get("stages")
                               .get("HEADER")
                               .get("messages");
    return messages.items()[0].get("content_preview").text();
  };
  const std::string word(20, 'x');
  EXPECT_EQ(preview("a\r\nb\rc"), "a\nb\nc");
  EXPECT_EQ(preview("sk-" + word), "***REDACTED***");
  EXPECT_EQ(preview("sk-sk-" + word), "***REDACTED***");
  EXPECT_EQ(preview("sk-" + word.substr(1)), "sk-" + word.substr(1));
  EXPECT_EQ(preview("-----BEGIN RSA PRIVATE "
                    "KEY"),
            "***REDACTED***");
  EXPECT_EQ(preview(std::string(30, 'y')), std::string(24, 'y'));
}

TEST(BreadboardTest, ExtraPinsAreKeptAndUnknownOnesCounted) {
  const Store store = five();
  const Context context =
      must(select_context(store, {.collapse_target = 1, .stage = "frozen", .extra_pin_ids = json(R"(["a","c","nobody","",5,"a"])")}));
  EXPECT_EQ(joined(context.selection.get("kept_ids")), "acde");
  EXPECT_EQ(joined(context.selection.get("dropped_ids")), "b");
  EXPECT_EQ(joined(context.selection.get("pinned_ids")), "acde");
  EXPECT_EQ(plain(context.selection.get("pinned_count")), "5");
  EXPECT_EQ(context.stage, "FROZEN");
  EXPECT_EQ(must(select_context(store, {.stage = "bogus"})).stage, "SPEC");
}

TEST(BreadboardTest, TrueAndOneAreOneTurnOfTheTree) {
  const Store store = store_of({R"({"kind":"","turn":true,"node_id":"a"})", R"({"kind":"n","turn":1,"node_id":"b"})",
                                R"({"kind":"n","turn":-100000000000000000000})", R"({"kind":"n","turn":1.0,"node_id":"c"})"});
  const Value tree = must(tree_view(store, {})), nodes = tree.get("nodes");
  const auto member = [&](std::size_t i, const char* key) { return plain(nodes.items()[i].get(key)); };
  EXPECT_EQ(member(1, "id"), "\"ctrees:turn:-100000000000000000000\"");
  EXPECT_EQ(member(2, "id"), "\"ctrees:turn:True\"");
  EXPECT_EQ(member(3, "kind") + member(3, "label") + member(3, "parent_id"), R"("node""node""ctrees:turn:True")");
  EXPECT_EQ(member(4, "turn") + member(4, "parent_id"), R"(1"ctrees:turn:True")");
  EXPECT_EQ(member(6, "turn") + member(6, "parent_id"), R"(null"ctrees:root")");
}

TEST(BreadboardTest, CollapsedMessagesWithoutATurnComeLast) {
  const Store store = store_of({R"({"kind":"message","turn":"x","node_id":"a"})", R"({"kind":"message","turn":2,"node_id":"b"})",
                                R"({"kind":"message","turn":1,"node_id":"c"})", R"({"kind":"message","turn":1,"node_id":"d"})"});
  const Value tree = must(tree_view(store, {.stage = " header "}));
  std::string ids;
  const Value nodes = tree.get("nodes");
  for (const Value& node : nodes.items()) ids += node.get("id").text() + " ";
  EXPECT_EQ(ids, "ctrees:root ctrees:turn:1 ctrees:turn:2 ctrees:node:d ctrees:collapsed:1 ctrees:collapsed:2 ctrees:collapsed:unknown ");
}

TEST(BreadboardTest, TheSummaryOfABackfilledSnapshotHasNoNodeHash) {
  const Value summary = must(hash_summary(five(), {.runner = json(R"({"enabled":true,"x":1})"), .backfilled = true}));
  EXPECT_EQ(plain(summary.get("snapshot").get("node_hash")), "null");
  EXPECT_EQ(plain(summary.get("runner")), R"({"branches":null,"enabled":true})");
  EXPECT_EQ(note_line(summary).find("node_hash"), std::string::npos);
}

// Anything quadratic would take minutes here.
TEST(BreadboardTest, AThousandTurnsOfFiftyMessagesCompile) {
  Store store;
  for (int i = 0; i < 50000; ++i) {
    const char* role = i % 2 == 0 ? "user" : "assistant";
    store.record({i % 5 == 0 ? "task_event" : "message",
                  Value::object({{"role", role}, {"content", "text"}, {"task_id", std::to_string(i)}}),
                  i / 50,
                  {}});
  }
  const Value tree = must(tree_view(
      store, {.compiler_config = json(R"({"selection":{"max_turns":900,"max_message_chars":100000}})"), .collapse_target = 20000}));
  EXPECT_GT(tree.get("nodes").items().size(), 30000u);
  EXPECT_EQ(plain(tree.get("selection").get("dropped_count")), "5000");
}

}  // namespace
}  // namespace weir::breadboard
