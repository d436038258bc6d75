"""What each tool does over every era and transport (cases 22, 23), and where a session comes from."""

import json
import os

import client
from client import NOVEMBER, Http, McpTest, compact, entry

A_TEXT = "alpha\nbeta\ngamma\n"
A_HASH = "4fdbc441ea7b546100e086ac1e4fc5ae6749b7314311c99db05be450eca12996"
DATA_TOOLS, TEXT_TOOLS = ("refresh", "note", "compact", "history", "status"), ("read", "context")


class ReadTest(McpTest):
    def setUp(self):
        super().setUp()
        self.path = self.world.file("a.txt", A_TEXT)

    def test_case_23_without_a_session_it_is_full_every_time_and_stores_nothing(self):
        self.append("x", session="only")  # the store's only session is for the command line alone
        before = self.world.dump()
        for name, peer in self.everywhere():
            with self.subTest(peer=name):
                for _ in range(3):
                    self.assertEqual(peer.text("read", path=self.path), A_TEXT)
        self.assertEqual(self.world.dump(), before)

    def test_case_23_the_second_read_is_the_marker_and_after_compact_it_is_full_again(self):
        for i, (name, peer) in enumerate(self.everywhere()):
            with self.subTest(peer=name):
                session = f"s{i}"
                self.follow(session)
                self.append("please read a.txt", session=session)
                self.assertEqual(peer.text("read", path=self.path, session=session), A_TEXT)
                self.assertEqual(peer.text("read", path=self.path, session=session), "[readcache: unchanged, 4 lines]")
                peer.data("compact", session=session)
                self.assertEqual(peer.text("read", path=self.path, session=session), A_TEXT)
                self.assertEqual(self.path_types(session), ["session_info", "message", "read", "read", "compaction", "read"])

    def test_the_record_of_a_read_stands_in_meta(self):
        for i, (name, peer) in enumerate(self.everywhere()):
            with self.subTest(peer=name):
                self.follow(f"s{i}")
                first = peer.call("read", path=self.path, session=f"s{i}")["_meta"]["dev.weir/read"]
                self.assertEqual(first, {
                    "baseline": 17, "bytes": 17, "end": 4, "mode": "full", "path": self.path, "reason": "no_base_hash", "scope": "full", "sent": 17,
                    "served": A_HASH, "shown": [[1, 4]], "start": 1, "text_sha256": A_HASH, "total_lines": 4, "v": 1,
                })  # fmt: skip
                second = peer.call("read", path=self.path, session=f"s{i}")["_meta"]["dev.weir/read"]
                self.assertEqual((second["mode"], second["base"], second["reason"]), ("unchanged", A_HASH, "hash_match"))
                self.assertEqual(second, self.log(f"s{i}")[0]["body"])

    def test_offset_limit_bypass_and_suffix(self):
        peer = self.mcp()
        self.follow("s")
        self.world.file("n.txt", "\n".join(f"line {i}" for i in range(1, 101)))
        self.assertEqual(peer.text("read", path="n.txt", offset=99, session="s"), "line 99\nline 100")
        self.assertEqual(peer.text("read", path="n.txt", limit=1, session="s"), "line 1\n\n[99 more lines in file. Use offset=2 to continue.]")
        self.assertEqual(peer.text("read", path="n.txt:7-8", session="s").split("\n")[:2], ["line 7", "line 8"])
        peer.text("read", path="a.txt", session="s")
        self.assertEqual(peer.text("read", path="a.txt", session="s", bypass_cache=True), A_TEXT)
        self.assertEqual(peer.text("read", path="a.txt", session="s", bypass_cache=False), "[readcache: unchanged, 4 lines]")

    def test_an_edit_from_outside_is_told_as_a_diff(self):
        peer = self.mcp()
        self.follow("s")
        lines = [f"line {i} :: original text payload" for i in range(1, 301)]
        path = self.world.file("sample.txt", "\n".join(lines))
        peer.text("read", path="sample.txt", session="s")
        lines[199] = "line 200 :: changed text payload"
        self.world.file("sample.txt", "\n".join(lines))
        text = peer.text("read", path="sample.txt", session="s")
        self.assertEqual(len(text.encode()), 368)
        self.assertTrue(text.startswith("[readcache: 1 lines changed of 300]\n--- a/sample.txt\n+++ b/sample.txt\n"))
        os.remove(path)
        peer.failed("read", "NOT_FOUND", path="sample.txt", session="s")

    def test_a_head_reads_for_itself(self):
        self.follow("s")
        self.weir("head", "fork", "other", "--session", "s")
        peer = self.mcp()
        peer.text("read", path="a.txt", session="s")
        self.assertEqual(peer.text("read", path="a.txt", session="s", head="other"), A_TEXT)
        self.assertEqual(peer.text("read", path="a.txt", session="s", head="other"), "[readcache: unchanged, 4 lines]")
        peer.failed("read", "NOT_FOUND", path="a.txt", session="s", head="none")

    def test_the_text_is_sent_once(self):
        """Case 22: no structuredContent, and the text stands in the result once."""
        self.world.file("long.txt", "marker-0123456789\n" + "x" * 20000)
        peer = self.mcp()
        peer.call("read", path="long.txt", session="s")
        line = next(line for line in peer.raw if b"marker-0123456789" in line)
        self.assertEqual(line.count(b"marker-0123456789"), 1)
        self.assertLess(len(line), 22500)


class KindsTest(McpTest):
    def test_case_22_text_tools_carry_no_structured_content_and_no_output_schema(self):
        self.append("hello")
        self.world.file("a.txt", A_TEXT)
        for name, peer in self.everywhere():
            with self.subTest(peer=name):
                tools = {t["name"]: t for t in peer.ok("tools/list")["tools"]}
                for tool, arguments in (("read", {"path": f"{self.world.cwd}/a.txt"}), ("context", {"session": "s"})):
                    result = peer.call(tool, **arguments)
                    self.assertNotIn("structuredContent", result)
                    self.assertNotIn("outputSchema", tools[tool])
                    self.assertEqual(len(result["content"]), 1)
                    self.assertEqual(sorted(result["content"][0]), ["text", "type"])

    def test_case_22_data_tools_say_the_same_in_text_and_structure_and_meet_their_schema(self):
        self.world.file("a.txt", A_TEXT)
        for i, (name, peer) in enumerate(self.everywhere()):
            session = f"s{i}"
            self.append("hello", session=session)
            with self.subTest(peer=name):  # Peer.data holds text, structure and schema against each other
                peer.text("read", path=f"{self.world.cwd}/a.txt", session=session)
                self.assertEqual(peer.data("refresh", path=f"{self.world.cwd}/a.txt", session=session)["scope"], "full")
                self.assertEqual(peer.data("note", kind="claim", text="x", session=session)["id"], "c1")
                self.assertEqual(peer.data("history", query="hello", session=session)["matches"][0]["text"], "hello")
                self.assertEqual(peer.data("status", session=session)["session"], session)
                self.assertEqual(peer.data("compact", session=session, dry_run=True)["status"], "PASS")
                self.assertEqual(peer.data("compact", session=session)["sequence"], 1)
                self.assertEqual(peer.data("status", session=session)["barrier"][:11], "compaction:")

    def test_case_22_failures_are_results_in_every_era(self):
        for name, peer in self.everywhere():
            for tool in (*DATA_TOOLS, *TEXT_TOOLS):
                with self.subTest(peer=name, tool=tool):
                    arguments = {"read": {"path": "nope.txt"}, "refresh": {"path": "x"}, "note": {"kind": "claim"}, "history": {"query": "x"}}.get(tool, {})
                    peer.failed(tool, session="no such session", **arguments)


class SessionTest(McpTest):
    """Argument, then --session, then WEIR_SESSION, else INVALID_FIELD; the store's only session is for the command line."""

    def setUp(self):
        super().setUp()
        for name in ("one", "two", "three"):
            self.append(name, session=name)

    def test_where_the_session_comes_from(self):
        peer = self.mcp("--session", "one", env={"WEIR_SESSION": "two"})
        self.assertEqual(peer.data("status")["session"], "one")
        self.assertEqual(peer.data("status", session="three")["session"], "three")
        peer = self.mcp(env={"WEIR_SESSION": "two"})
        self.assertEqual(peer.data("status")["session"], "two")
        self.assertEqual(peer.data("status", session="three")["session"], "three")
        peer = self.legacy(NOVEMBER, "--session", "one")
        self.assertEqual(peer.data("history", query="one")["matches"][0]["text"], "one")

    def test_without_one_it_is_an_invalid_field(self):
        self.world.file("a.txt", "A")
        for store in ([], ["--store", self.single()]):
            peer = self.mcp(*store)
            for tool, arguments in [
                ("refresh", {"path": "a.txt"}), ("note", {"kind": "claim", "text": "x"}), ("context", {}), ("compact", {}), ("history", {"query": "x"}), ("status", {}),
            ]:  # fmt: skip
                with self.subTest(tool=tool):
                    error = peer.failed(tool, "INVALID_FIELD", **arguments)
                    self.assertEqual([e["path"] for e in error["details"]["errors"]], ["/session"])
            self.assertEqual(peer.text("read", path="a.txt"), "A")

    def single(self):
        store = self.world.path("single")
        self.weir("append", "--session", "only", "--store", store, stdin=compact(entry("x")))
        return store

    def test_a_bad_session_name_is_an_invalid_field(self):
        peer = self.mcp()
        for name in ("", "a b", "../x", "a/b", "x" * 200, "é"):
            error = peer.failed("status", "INVALID_FIELD", session=name)
            self.assertEqual([e["path"] for e in error["details"]["errors"]], ["/session"])

    def test_a_write_makes_the_session_and_reading_what_is_not_there_is_not_found(self):
        peer = self.mcp()
        for tool, arguments in (("status", {}), ("history", {"query": "x"}), ("context", {}), ("compact", {})):
            error = peer.failed(tool, "NOT_FOUND", session="fresh", **arguments)
            self.assertEqual(error["details"]["session"], "fresh")
        peer.data("note", kind="claim", text="x", session="fresh")
        self.assertEqual(peer.data("status", session="fresh")["seq"], 1)
        self.world.file("a.txt", "A")
        peer.text("read", path="a.txt", session="read-makes-it")
        self.assertEqual(peer.data("status", session="read-makes-it")["seq"], 1)

    def test_mcp_makes_a_missing_store(self):
        store = self.world.path("fresh", "store")
        peer = self.mcp("--store", store)
        peer.alive()
        peer.data("note", kind="claim", text="x", session="s")
        self.assertEqual(peer.finish(), 0)
        self.sound(store)

    def test_weir_head_and_the_head_argument(self):
        self.weir("head", "fork", "other", "--session", "one")
        peer = self.mcp("--session", "one", env={"WEIR_HEAD": "other"})
        peer.data("note", kind="question", text="where?")
        self.assertEqual(self.path_types("one", "--head", "other")[-1], "QUESTION_OPENED")
        self.assertEqual(self.path_types("one"), ["message"])
        self.assertEqual(peer.data("status", head="main")["head"], "main")


class ContextTest(McpTest):
    def setUp(self):
        super().setUp()
        self.events([entry("You are terse.", "system"), entry("List the files"), entry("There are none.", "assistant"), entry("Delete b.txt")])

    def test_the_text_is_the_answer_of_the_command_line(self):
        head = self.log()[0]["id"]
        wanted = self.answer("context", "--session", "s", "--at", head)
        before = self.world.dump()
        for name, peer in self.everywhere():
            with self.subTest(peer=name):
                self.assertEqual(json.loads(peer.text("context", session="s", at=head)), wanted)
        self.assertEqual(self.world.dump(), before)  # with `at` no manifest is written

    def test_each_format(self):
        peer = self.mcp()
        head = self.log()[0]["id"]
        for form in ("anthropic", "openai", "plain"):
            wanted = self.answer("context", "--session", "s", "--at", head, "--format", form)
            self.assertEqual(json.loads(peer.text("context", session="s", at=head, format=form)), wanted)

    def test_at_a_head_a_manifest_is_written_and_named(self):
        peer = self.mcp()
        result = peer.call("context", session="s")
        answer = json.loads(result["content"][0]["text"])
        told = result["_meta"]["dev.weir/context"]
        self.assertEqual(sorted(told), ["bytes", "included", "left_out", "manifest"])
        last = self.log()[0]
        self.assertEqual(last["type"], "CONTEXT_MANIFEST_WRITTEN")
        self.assertEqual(last["body"]["manifest_id"], answer["manifest_id"])
        self.assertIn(told["manifest"], (answer["manifest_id"], last["id"]))
        self.assertEqual(told["included"], len(answer["items"]))
        for key in ("bytes", "included", "left_out"):
            self.assertIsInstance(told[key], int)

    def test_a_budget_leaves_out_and_one_too_small_is_refused(self):
        self.events([entry(f"filler {i} " + "x" * 500, "assistant" if i % 2 else "user") for i in range(40)])
        peer = self.mcp()
        result = peer.call("context", session="s", budget_bytes=6000)
        self.assertGreater(result["_meta"]["dev.weir/context"]["left_out"], 0)
        self.assertLessEqual(json.loads(result["content"][0]["text"])["used"]["bytes"], 6000)
        error = peer.failed("context", "CONTEXT_OVER_BUDGET", session="s", budget_bytes=10)
        self.assertEqual(error["details"]["allowed"], 10)

    def test_at_names_an_entry_or_a_pointer(self):
        peer = self.mcp()
        first = self.log("s", "--reverse")[1]
        by_id = json.loads(peer.text("context", session="s", at=first["id"]))
        self.assertEqual(by_id, json.loads(peer.text("context", session="s", at="e" + first["digest"][:16])))
        peer.failed("context", "NOT_FOUND", session="s", at="none")


class CompactTest(McpTest):
    def test_a_dry_run_is_what_the_command_line_says_and_writes_nothing(self):
        self.append("hello")
        wanted = self.answer("compact", "--dry-run", "--session", "s")
        before = self.world.dump()
        for name, peer in self.everywhere():
            with self.subTest(peer=name):
                self.assertEqual(peer.data("compact", session="s", dry_run=True), wanted)
        self.assertEqual(self.world.dump(), before)

    def test_it_writes_the_barrier_and_again_it_is_already_there(self):
        self.append("hello")
        peer = self.mcp()
        answer = peer.data("compact", session="s")
        self.assertEqual((answer["status"], answer["action"], answer["sequence"], answer["failed"]), ("PASS", "NONE", 1, []))
        last = self.log()[0]
        self.assertEqual(last["type"], "compaction")
        self.assertIn(answer["entry"], (last["id"], "e" + last["digest"][:16]))
        self.assertEqual(last["body"]["narrative"], answer["narrative"])
        again = peer.data("compact", session="s")
        self.assertEqual((again["snapshot_id"], again["already"]), (answer["snapshot_id"], True))
        self.assertEqual(len(self.log()), 2)
        self.assertEqual(peer.data("status", session="s")["barrier"], f"compaction:{last['id']}")

    def test_max_bytes_bounds_the_narrative(self):
        self.events([entry(f"request {i} " + "x" * 400) for i in range(100)])
        answer = self.mcp().data("compact", session="s", dry_run=True, max_bytes=9000)
        self.assertLessEqual(len(answer["narrative"].encode()), 9000)
        self.assertEqual(answer, self.answer("compact", "--session", "s", "--dry-run", "--max-bytes", "9000"))

    def test_a_failing_dry_run_is_an_answer_and_a_failing_compaction_an_error(self):
        self.append("hello")
        peer = self.mcp()
        peer.data("note", kind="claim", text="x", session="s")
        self.weir("append", "--type", "CLAIM_VERIFIED", "--session", "s", stdin='{"claim_id":"c1"}')
        answer = peer.data("compact", session="s", dry_run=True)
        self.assertEqual((answer["status"], [f["name"] for f in answer["failed"]]), ("FAIL", ["verified_claims_have_evidence"]))
        error = peer.failed("compact", "GATE_FAILED", session="s")
        self.assertIn("verified_claims_have_evidence", error["message"])
        self.assertEqual(self.path_types()[-3:], ["COMPACTION_FAILED", "COMPACTION_FAILED", "RUN_STOPPED"])
        for tool, arguments in (("note", {"kind": "question", "text": "why?"}), ("compact", {}), ("context", {})):
            self.assertEqual(peer.failed(tool, "RUN_STOPPED", session="s", **arguments)["details"]["help"], "a person reopens it: weir resume --session s")

    def test_an_empty_session_has_nothing_to_compact(self):
        self.weir("session", "new", "s")
        self.mcp().failed("compact", "NOTHING_TO_COMPACT", session="s")


class HistoryTest(McpTest):
    def setUp(self):
        super().setUp()
        self.events([entry("the word marmalade", id="m1"), entry("nothing", id="m2")])
        self.weir("compact", "--session", "s")
        self.events([entry("marmalade again", id="m3")])

    def test_matches_are_those_of_the_command_line(self):
        peer = self.mcp()
        keys = ("entry", "seq", "type", "before_barrier", "text")
        for where in ("all", "before", "after"):
            found = [line["match"] for line in self.stream("history", "marmalade", "--session", "s", "--where", where)[1]]
            self.assertTrue(found)
            for arguments in ({"where": where}, {} if where == "all" else {"where": where}):
                got = peer.data("history", query="marmalade", session="s", **arguments)["matches"]
                self.assertEqual([{k: m[k] for k in keys} for m in got], [{k: m[k] for k in keys} for m in found])

    def test_before_finds_what_lies_before_the_barrier(self):
        peer = self.mcp()
        got = peer.data("history", query="marmalade", where="before", session="s")["matches"]
        self.assertIn("m1", [m["entry"] for m in got])
        self.assertTrue(all(m["before_barrier"] for m in got))
        self.assertEqual([m["entry"] for m in peer.data("history", query="again", session="s")["matches"]], ["m3"])

    def test_nothing_found_is_an_empty_answer_and_nothing_to_look_for_an_error(self):
        peer = self.mcp()
        self.assertEqual(peer.data("history", query="zebra", session="s"), {"matches": []})
        for query in ("", "  "):
            error = peer.failed("history", "INVALID_FIELD", query=query, session="s")
            self.assertEqual([e["path"] for e in error["details"]["errors"]], ["/query"])


class StatusTest(McpTest):
    def test_status_says_where_a_session_stands(self):
        self.world.file("a.txt", A_TEXT)
        self.append("hello")
        peer = self.mcp()
        peer.text("read", path="a.txt", session="s")
        status = peer.data("status", session="s")
        last = self.log()[0]
        self.assertEqual((status["session"], status["head"], status["entry"], status["seq"]), ("s", "main", last["id"], last["seq"]))
        self.assertEqual((status["barrier"], status["due"]), ("root", False))
        self.assertEqual(status["due"], self.answer("due", "--session", "s", code=1)["due"])
        self.assertEqual(status["reads"], self.answer("reads", "--session", "s"))

    def test_due_and_barrier_follow_the_log(self):
        self.events([entry("x")] + [
            {"type": kind, "body": {"step_id": step}} for step in range(1, 7) for kind in ("PLAN_DONE", "ACT_DONE", "OBSERVE_DONE")
        ])  # fmt: skip
        for name, peer in self.everywhere():
            self.assertIs(peer.data("status", session="s")["due"], True, name)

    def test_an_empty_session_has_a_status(self):
        self.weir("session", "new", "s")
        status = self.mcp().data("status", session="s")
        self.assertEqual((status["session"], status["seq"], status["barrier"], status["due"]), ("s", 0, "root", False))


class ReadOnlyTest(McpTest):
    def test_a_read_only_server_reads_and_writes_nothing(self):
        self.events([entry("hello", id="h1")])
        path = self.world.file("a.txt", A_TEXT)
        before = self.world.dump()
        served = self.serve("--read-only")
        for peer in (Http(served), Http(served, NOVEMBER)):
            self.assertEqual(peer.data("status", session="s")["seq"], 1)
            self.assertEqual(peer.data("history", query="hello", session="s")["matches"][0]["entry"], "h1")
            self.assertEqual(peer.data("compact", session="s", dry_run=True)["status"], "PASS")
            self.assertEqual(peer.text("read", path=path), A_TEXT)
            peer.text("context", session="s", at="h1")
            for tool, arguments in (("note", {"kind": "claim", "text": "x"}), ("refresh", {"path": path}), ("compact", {}), ("context", {})):
                with self.subTest(tool=tool):
                    peer.failed(tool, "DENIED", session="s", **arguments)
        self.assertEqual(self.world.dump(), before)


class RefreshTest(McpTest):
    def test_refresh_withdraws_trust(self):
        path = self.world.file("n.txt", "\n".join(f"line {i}" for i in range(1, 51)))
        peer = self.mcp("--session", "s")
        whole = peer.text("read", path="n.txt")
        answer = peer.data("refresh", path="n.txt")
        self.assertEqual((answer["path"], answer["scope"]), (path, "full"))
        self.assertEqual(answer["entry"], self.log()[0]["id"])
        self.assertEqual(peer.text("read", path="n.txt"), whole)
        self.assertEqual(peer.data("refresh", path="n.txt", start=3, end=5)["scope"], "r:3:5")
        self.assertEqual(peer.text("read", path="n.txt", offset=3, limit=2).split("\n")[:2], ["line 3", "line 4"])
        self.assertEqual(peer.data("refresh", path="n.txt", start=48)["scope"], "r:48:50")
        self.assertEqual(self.path_types().count("refresh"), 3)

    def test_the_same_as_on_the_command_line(self):
        self.world.file("a.txt", A_TEXT)
        wanted = self.answer("refresh", "a.txt", "--session", "t")
        got = self.mcp().data("refresh", path="a.txt", session="u")
        self.assertEqual({k: v for k, v in got.items() if k != "entry"}, {k: v for k, v in wanted.items() if k in got and k != "entry"})


if __name__ == "__main__":
    client.main()
