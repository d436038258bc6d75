"""Host methods: weir/<operationId> for every /v1 operation, over stdio with --host and nowhere else."""

import re
import time

import client
from client import LEGACY, METHOD, NOVEMBER, Http, McpTest, entry, modern

STREAM = re.compile(r"/sessions/\{\w+\}/events$")  # a stream of events, which one answer cannot be


class HostTest(McpTest):
    def setUp(self):
        super().setUp()
        self.events([entry("hello", id="h1"), entry("again", id="h2")])
        self.peer = self.mcp("--host")

    def test_the_extension_is_declared(self):
        capabilities = self.peer.ok("server/discover")["capabilities"]
        self.assertIn("dev.weir/host", capabilities["extensions"])
        self.assertEqual({k: v for k, v in capabilities.items() if k != "extensions"}, {"tools": {}, "prompts": {}, "completions": {}, "resources": {"subscribe": True, "listChanged": True}})
        self.assertNotIn("extensions", self.mcp().ok("server/discover")["capabilities"])
        self.assertIn("dev.weir/host", self.legacy(NOVEMBER, "--host").greeting["capabilities"].get("extensions", {}))

    def test_get_session_is_the_summary_in_both_eras(self):
        wanted = self.answer("session", "show", "s")
        got = self.peer.ok("weir/getSession", {"session": "s"})
        self.assertEqual({k: v for k, v in got.items() if k not in ("_meta", "resultType")}, wanted)
        for revision in LEGACY:
            self.assertEqual(self.legacy(revision, "--host").ok("weir/getSession", {"session": "s"}), wanted)

    def test_without_host_and_over_http_they_are_unknown(self):
        served = self.serve()
        for method in ("weir/getSession", "weir/read", "weir/sync", "weir/compact"):
            self.mcp().error(method, {"session": "s"}, METHOD)
            self.legacy().error(method, {"session": "s"}, METHOD)
            message = modern(method, {"session": "s"})
            got = Http(served).post(message)
            self.assertEqual(got.status, 404, got)
            self.assertError(got.json, METHOD)
            Http(served, NOVEMBER).error(method, {"session": "s"}, METHOD)
        self.assertNotEqual(self.world.run("serve", "--host", "--listen", "127.0.0.1:0", timeout=20).code, 0)

    def test_unknown_operations_are_unknown_methods(self):
        for method in ("weir/nope", "weir/", "weir/GetSession", "weir/getsession", "weir"):
            self.peer.error(method, {"session": "s"}, METHOD)

    def operations(self, served):
        document = served.get("/openapi.json").json
        out = {}
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if isinstance(operation, dict) and "operationId" in operation and (path.startswith("/v1/") or any("/v1" in s.get("url", "") for s in document.get("servers", []))):
                    out[operation["operationId"]] = (method.upper(), path, operation)
        return out

    def test_every_v1_operation_is_a_host_method(self):
        served = self.serve()
        operations = self.operations(served)
        self.assertGreater(len(operations), 25)
        skipped = 0
        for id, (_, path, _) in sorted(operations.items()):
            if STREAM.search(path):
                skipped += 1
                continue
            with self.subTest(operation=id):
                reply = self.peer.ask(f"weir/{id}", {"no such parameter": True})
                self.assertNotEqual(reply.get("error", {}).get("code"), METHOD, reply)
                self.assertIn("error", reply)  # an unknown parameter is refused
        self.assertLessEqual(skipped, 1)

    def test_reading_operations_answer_as_http_does(self):
        self.weir("compact", "--session", "s")
        served = self.serve()
        compared = 0
        for id, (method, path, operation) in sorted(self.operations(served).items()):
            if method != "GET" or "{" in path.replace("{session}", "").replace("{s}", "") or STREAM.search(path):
                continue
            if any(p.get("required") for p in operation.get("parameters", []) if p.get("in") == "query"):
                continue
            got = served.get(path.replace("{session}", "s").replace("{s}", "s"))
            if got.status != 200 or got.kind != "application/json":
                continue
            with self.subTest(operation=id):
                params = {"session": "s"} if "{" in path else {}
                result = self.peer.ok(f"weir/{id}", params)
                unstable = ("store", "free", "database_bytes", "uptime")
                strip = lambda v: {k: x for k, x in v.items() if k not in ("_meta", "resultType") and not k.startswith(unstable)}
                self.assertEqual(strip(result), strip(got.json))
                compared += 1
        self.assertGreater(compared, 6)

    def test_the_loop_of_an_embedding_host(self):
        """What the pi extension does: sync, read for the host, sync the result back, dry-run the compaction."""
        path = self.world.file("a.txt", "alpha\nbeta\ngamma\n")
        stamp = "2026-01-01T00:00:00.000Z"
        header = {"type": "session", "version": 3, "id": "pi1", "timestamp": stamp, "cwd": self.world.cwd}
        user = {"type": "message", "id": "u1", "parentId": None, "timestamp": stamp, "message": {"role": "user", "content": "read a.txt"}}
        call = {"type": "message", "id": "a1", "parentId": "u1", "timestamp": stamp, "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "a.txt"}}]}}
        synced = self.peer.ok("weir/sync", {"format": "pi", "session": "pi1", "header": header, "since": None, "entries": [user, call], "leaf": "a1"})
        self.assertEqual((synced["accepted"], synced["leaf"]), (2, "a1"))
        first = self.peer.ok("weir/read", {"path": "a.txt", "session": "pi1", "cwd": self.world.cwd, "record": "host", "call_id": "t1"})
        self.assertEqual((first["text"], first["details"]["readcache"]["mode"]), ("alpha\nbeta\ngamma\n", "full"))
        self.assertEqual(first["details"]["readcache"]["pathKey"], path)
        result = {"type": "message", "id": "r1", "parentId": "a1", "timestamp": stamp, "message": {"role": "toolResult", "toolCallId": "t1", "toolName": "read", "content": [{"type": "text", "text": first["text"]}], "details": first["details"], "isError": False}}
        self.assertEqual(self.peer.ok("weir/sync", {"format": "pi", "session": "pi1", "since": "a1", "entries": [result], "leaf": "r1"})["accepted"], 1)
        again = self.peer.ok("weir/read", {"path": "a.txt", "session": "pi1", "cwd": self.world.cwd, "record": "host", "call_id": "t2"})
        self.assertEqual(again["text"], "[readcache: unchanged, 4 lines]")
        before = self.world.dump()
        verdict = self.peer.ok("weir/compact", {"session": "pi1", "dry_run": True, "first_kept": "r1", "tokens_before": 1000})
        self.assertEqual(verdict["status"], "PASS")
        self.assertIn("read a.txt", verdict["narrative"])
        self.assertEqual(self.world.dump(), before)

    def test_errors_of_a_host_method_carry_code_and_details(self):
        for method, params, code in [
            ("weir/getSession", {"session": "none"}, "NOT_FOUND"), ("weir/getSession", {"session": "a b"}, "INVALID_FIELD"), ("weir/read", {"session": "s", "path": "/etc/passwd"}, "OUTSIDE_ROOTS"),
            ("weir/sync", {"format": "pi", "session": "s9", "since": "nope", "entries": [], "leaf": None}, "NOT_FOUND"),
        ]:  # fmt: skip
            with self.subTest(method=method, params=params):
                error = self.peer.error(method, params)
                self.assertEqual(error["data"]["code"], code, error)
                self.assertIsInstance(error["data"]["details"], dict)

    def test_the_tools_stay_the_same(self):
        self.assertEqual([t["name"] for t in self.peer.ok("tools/list")["tools"]], [t["name"] for t in client.tools_of_the_page()])


class CancelledReadTest(McpTest):
    def test_a_hosts_read_that_was_cancelled_is_not_pending(self):
        """readcache.md 6: CANCELLED, nothing recorded, nothing pending."""
        path = self.world.file("a.txt", "".join(f"line {i}\n" for i in range(40000)))
        stamp = "2026-01-01T00:00:00.000Z"
        peer, unanswered = self.mcp("--host"), 0
        for i in range(60):
            session = f"p{i}"
            line = {"type": "message", "id": "u1", "parentId": None, "timestamp": stamp, "message": {"role": "user", "content": "x"}}
            peer.ok("weir/sync", {"session": session, "format": "pi", "since": None, "entries": [line], "leaf": "u1"})
            read = {"session": session, "path": path, "cwd": self.world.cwd, "record": "host"}
            peer.say(modern("weir/read", {**read, "call_id": "A"}, id=f"A{i}"))
            time.sleep(i % 15 / 5000)
            peer.notify("notifications/cancelled", {"requestId": f"A{i}"})
            again = peer.ok("weir/read", {**read, "call_id": "B"})
            if peer.take(lambda m, i=i: isinstance(m, dict) and m.get("id") == f"A{i}", 0.05) is None:
                unanswered += 1
                self.assertEqual(again["record"]["mode"], "full", i)
        self.assertGreater(unanswered, 0)


if __name__ == "__main__":
    client.main()
