"""Case 4, the part of MCP: each error code comes through a tool as a result, with the code and the details that the command
line prints with --json."""

import os
import sqlite3

import client
from client import Http, McpTest, compact, entry

import snapshot_case as run  # noqa: E402, of the command line tests


class SameErrorTest(McpTest):
    def setUp(self):
        super().setUp()
        self.events([entry("one", id="aaaa1"), entry("two", id="aaaa2"), entry("b" * 70000, id="blob1")])
        self.weir("session", "new", "empty")
        for name in ("open", "ended", "told"):
            self.append("one", session=name)
        self.events([{"type": "STEP_STARTED", "body": {"step_id": 7}}], "open")
        self.weir("stop", "--session", "ended", "--reason", "NO_EVIDENCE")
        self.events([run.loose(), run.source(corpus_id="lib"), run.chunk()], "run")
        self.world.file("a.txt", "A\nB\n")
        os.mkdir(os.path.join(self.world.cwd, "folder"))
        os.mkfifo(os.path.join(self.world.cwd, "pipe"))
        with open(os.path.join(self.world.cwd, "huge"), "wb") as file:
            file.truncate(3 << 30)

    def pairs(self):
        """Code, command line, tool, arguments."""
        long = "x" * 20000
        span = {"chunk": "s1#1", "start": 0, "end": 5}
        return [
            ("INVALID_FIELD", ["note", "claim", "--op", "close", "--session", "s"], "note", {"kind": "claim", "op": "close", "session": "s"}),
            ("INVALID_FIELD", ["history", "", "--session", "s"], "history", {"query": "", "session": "s"}),
            ("INVALID_FIELD", ["history", "x", "--session", "a b"], "history", {"query": "x", "session": "a b"}),
            ("LIMIT_EXCEEDED", ["note", "claim", long, "--session", "s"], "note", {"kind": "claim", "text": long, "session": "s"}),
            ("NOT_FOUND", ["history", "x", "--session", "nope"], "history", {"query": "x", "session": "nope"}),
            ("NOT_FOUND", ["compact", "--session", "s", "--head", "nope"], "compact", {"session": "s", "head": "nope"}),
            ("NOT_FOUND", ["context", "--session", "s", "--at", "nope"], "context", {"session": "s", "at": "nope"}),
            ("NOT_FOUND", ["read", "nope.txt", "--session", "s"], "read", {"path": "nope.txt", "session": "s"}),
            ("IS_DIRECTORY", ["read", "folder", "--session", "s"], "read", {"path": "folder", "session": "s"}),
            ("NOT_REGULAR", ["read", "pipe", "--session", "s"], "read", {"path": "pipe", "session": "s"}),
            ("TOO_LARGE", ["read", "huge", "--session", "s"], "read", {"path": "huge", "session": "s"}),
            ("OUTSIDE_ROOTS", ["read", "/etc/passwd", "--session", "s"], "read", {"path": "/etc/passwd", "session": "s"}),
            ("OFFSET_BEYOND_END", ["read", "a.txt", "--offset", "9", "--session", "s"], "read", {"path": "a.txt", "offset": 9, "session": "s"}),
            ("BAD_RANGE_SUFFIX", ["read", "a.txt:3-1", "--session", "s"], "read", {"path": "a.txt:3-1", "session": "s"}),
            ("CONTEXT_OVER_BUDGET", ["context", "--session", "s", "--budget", "10"], "context", {"session": "s", "budget_bytes": 10}),
            ("ILLEGAL_TRANSITION", ["note", "claim", "verify", "c9", "--session", "s"], "note", {"kind": "claim", "op": "verify", "id": "c9", "session": "s"}),
            ("EVIDENCE_ID_MISMATCH", ["note", "evidence", "--id", "ev1_0", "--span", "s1#1:0-5", "--text", "alpha", "--session", "run"], "note",
             {"kind": "evidence", "id": "ev1_0", "span": span, "text": "alpha", "session": "run"}),
            ("QUOTE_MISMATCH", ["note", "evidence", "--span", "s1#1:0-5", "--text", "other", "--session", "run"], "note", {"kind": "evidence", "span": span, "text": "other", "session": "run"}),
            ("NOTHING_TO_COMPACT", ["compact", "--session", "empty"], "compact", {"session": "empty"}),
            ("NOT_AT_BOUNDARY", ["compact", "--session", "open"], "compact", {"session": "open"}),
            ("RUN_STOPPED", ["note", "claim", "x", "--session", "ended"], "note", {"kind": "claim", "text": "x", "session": "ended"}),
        ]  # fmt: skip

    def test_case_4_each_code_with_the_details_of_the_command_line(self):
        peers = self.everywhere()[:3]  # over stdio, where the working directory is the command line's
        for code, args, tool, arguments in self.pairs():
            wanted = self.refused(code, *args)
            for name, peer in peers:
                with self.subTest(code=code, peer=name, tool=tool):
                    self.assertEqual(peer.failed(tool, code, **arguments)["details"], wanted["details"])

    def test_case_4_over_http_the_codes_are_the_same(self):
        peer = Http(self.serve())
        for code, args, tool, arguments in self.pairs():
            if tool == "read" and not arguments["path"].startswith("/"):
                arguments = {**arguments, "path": os.path.join(self.world.cwd, arguments["path"])}
            with self.subTest(code=code, tool=tool):
                wanted = self.refused(code, *args)
                got = peer.failed(tool, code, **arguments)
                self.assertEqual(peer.last.status, 200)
                if tool != "read":
                    self.assertEqual(got["details"], wanted["details"])
                else:
                    self.assertEqual({k: v for k, v in got["details"].items() if k not in ("help", "roots", "path")}, {k: v for k, v in wanted["details"].items() if k not in ("help", "roots", "path")})

    def test_case_4_gate_failed(self):
        for session in ("cli", "tool"):
            self.append("hello", session=session)
            self.weir("note", "claim", "x", "--session", session)
            self.weir("append", "--type", "CLAIM_VERIFIED", "--session", session, stdin='{"claim_id":"c1"}')
        wanted = self.refused("GATE_FAILED", "compact", "--session", "cli", unchanged=False)
        got = self.mcp().failed("compact", "GATE_FAILED", session="tool")
        self.assertEqual(got["message"], wanted["message"])
        self.assertEqual(sorted(got["details"]), sorted(wanted["details"]))

    def test_case_4_hard_link_and_access_denied(self):
        self.world.user_config('read.hard_links = "refuse"\n')
        os.link(os.path.join(self.world.cwd, "a.txt"), os.path.join(self.world.cwd, "twin"))
        wanted = self.refused("HARD_LINK", "read", "twin", "--session", "s")
        self.assertEqual(self.mcp().failed("read", "HARD_LINK", path="twin", session="s"), wanted)
        if os.geteuid() != 0:
            os.chmod(self.world.file("closed.txt", "x"), 0)
            wanted = self.refused("ACCESS_DENIED", "read", "closed.txt", "--session", "s")
            self.assertEqual(self.mcp().failed("read", "ACCESS_DENIED", path="closed.txt", session="s"), wanted)

    def test_case_4_denied_by_policy_which_only_programs_meet(self):
        self.world.file(".env", "A=1")
        self.mcp().failed("read", "DENIED_BY_POLICY", path=".env", session="s")

    def test_case_4_busy(self):
        self.world.user_config("")
        peer = self.mcp()
        peer.alive()
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"), isolation_level=None)
        self.addCleanup(connection.close)
        connection.execute("BEGIN IMMEDIATE")
        peer.say(client.modern("tools/call", {"name": "note", "arguments": {"kind": "claim", "text": "x", "session": "s"}}, "busy"))
        peer.ok("server/discover")  # others go on
        reply = peer.reply("busy", 90)
        peer.failure_in(reply["result"], "BUSY")
        connection.execute("ROLLBACK")
        peer.data("note", kind="claim", text="x", session="s")

    def test_case_4_corrupt(self):
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"), isolation_level=None)
        connection.execute("UPDATE entry SET depth = 9 WHERE id = 'blob1'")
        connection.close()
        wanted = self.refused("CORRUPT", "context", "--session", "s", unchanged=False)
        got = self.mcp().failed("context", "CORRUPT", session="s")
        self.assertEqual(got["details"], wanted["details"])

    def test_case_4_store_unusable_ends_the_start_with_10(self):
        path = self.world.file("no-store", "x")
        for command in (["mcp"], ["serve", "--listen", "127.0.0.1:0"]):
            ran = self.world.run(*command, "--store", path, stdin=b"")
            self.assertEqual((ran.code, ran.out), (10, b""), ran)
            self.assertIn("STORE_UNUSABLE", ran.errors)

    def test_case_4_a_full_session_refuses_writes_and_reads_go_on(self):
        self.world.user_config("limits.session_entries = 3\n")
        wanted = self.refused("LIMIT_EXCEEDED", "note", "claim", "x", "--session", "s")
        peer = self.mcp("--session", "s")
        self.assertEqual(peer.failed("note", "LIMIT_EXCEEDED", kind="claim", text="x")["details"], wanted["details"])
        peer.data("status")
        peer.data("history", query="one")

    def test_case_4_the_other_codes_come_through_host_methods(self):
        """CONFLICT, ID_REUSED, INVALID_FIELD: what no tool can ask for, a host can."""
        peer = self.mcp("--host")
        append = self.appending()
        for code, params, args, stdin in [
            ("CONFLICT", {"entries": [entry("x")], "expect": "aaaa1"}, ["append", "--session", "s", "--expect", "aaaa1"], compact(entry("x"))),
            ("ID_REUSED", {"entries": [entry("other", id="aaaa1")]}, ["append", "--session", "s"], compact(entry("other", id="aaaa1"))),
        ]:  # fmt: skip
            wanted = self.refused(code, *args, stdin=stdin)
            error = peer.error(f"weir/{append}", {"session": "s", **params})
            self.assertEqual((error["data"]["code"], error["data"]["details"]), (code, wanted["details"]), error)

    def appending(self):
        """The operationId of POST /sessions/{s}/entries."""
        document = self.serve().get("/openapi.json").json
        return next(methods["post"]["operationId"] for path, methods in document["paths"].items() if path.endswith("/entries") and "post" in methods)

    def test_nothing_of_section_0_leaks_as_a_json_rpc_code(self):
        peer = self.mcp()
        for _, _, tool, arguments in self.pairs():
            reply = peer.ask("tools/call", {"name": tool, "arguments": arguments})
            self.assertIn("result", reply)


if __name__ == "__main__":
    client.main()
