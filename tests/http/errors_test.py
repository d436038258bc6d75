"""Case 4: each error code has one meaning. The same wrong thing, asked of the command line and over HTTP, gives the same code
and details, its exit code and its status."""

import errno
import os
import resource
import signal
import sqlite3

import server
from harness import EXITS, compact, entry, jsonl
from server import STATUS, HttpTest

# Details that name how it was asked, not what is wrong.
OF_A_FACE = {"help", "line", "column", "file", "parameter"}


def evidence(**more):
    return {"type": "EVIDENCE_REGISTERED", "body": {"chunk_id": "c", "source_id": "s", "corpus_id": "x", "span": {"unit": "utf8", "start": 0, "end": 1}, "quote": "a", **more}}


class ErrorsTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.weir("append", "--session", "s", stdin=jsonl([entry("one", id="aaaa1"), entry("two", id="aaaa2"), entry("b" * 70000, id="blob1")]))
        for name in ("told", "open", "ended"):
            self.weir("append", "--session", name, stdin=jsonl([entry("one")]))
        self.weir("session", "new", "empty")
        self.weir("compact", "--session", "told")
        self.weir("append", "--session", "open", stdin='{"type":"STEP_STARTED","body":{"step_id":7}}')
        self.weir("stop", "--session", "ended", "--reason", "NO_EVIDENCE")
        self.serve()

    def same(self, code, args, method, path, body=None, stdin=b"", details=None, **how):
        """Asks both; wants this code of both, and equal details but for those that belong to a face."""
        error = self.refused(code, *args, stdin=stdin, unchanged=False)
        problem = self.problem(code, method, path, body, **how)
        told = {key: value for key, value in error["details"].items() if key not in OF_A_FACE}
        also = {key: value for key, value in problem["details"].items() if key not in OF_A_FACE}
        if code == "INVALID_FIELD":  # where it stands in what was sent differs; what is wrong does not
            told = [one["message"] for one in told["errors"]]
            also = [one["message"] for one in also["errors"]]
        if code == "LIMIT_EXCEEDED":
            told.pop("path", None), also.pop("path", None)
        if details is None:
            self.assertEqual(also, told, f"{error}\n{problem}")
        for key, value in (details or {}).items():
            self.assertEqual((error["details"].get(key), problem["details"].get(key)), (value, value), f"{error}\n{problem}")
        self.assertEqual((EXITS[code], STATUS[code]), (EXITS[code], problem["status"]))
        return error, problem

    def put(self, code, one, **how):
        """The same entry, appended by both."""
        return self.same(code, ["append", "--session", "s"], "POST", "/v1/sessions/s/entries", {"entries": [one]}, stdin=compact(one), **how)

    def test_a_stopped_run_says_what_a_person_types_and_a_host_can_do_it(self):
        help = "a person reopens it: weir resume --session ended"
        step = {"entries": [{"type": "PLAN_DONE", "body": {}}]}
        note = {"kind": "question", "text": "Why?"}
        for path, body in (("context", {}), ("compact", {}), ("entries", step), ("notes", note), ("stop", {})):
            with self.subTest(path=path):
                problem = self.problem("RUN_STOPPED", "POST", f"/v1/sessions/ended/{path}", body)
                self.assertEqual(problem["details"]["help"], help)
        self.assertEqual(self.ask("POST", "/v1/sessions/ended/resume", {"note": "mended"}).status, 201)
        self.assertEqual(self.ask("POST", "/v1/sessions/ended/notes", note).status, 201)
        self.problem("ILLEGAL_TRANSITION", "POST", "/v1/sessions/ended/resume", {})
        self.assertEqual(self.ask("POST", "/v1/sessions/ended/stop", {"reason": "NO_EVIDENCE"}).status, 201)
        self.problem("INVALID_FIELD", "POST", "/v1/sessions/ended/stop", {"reason": "TIRED"})
        self.problem("NOT_FOUND", "POST", "/v1/sessions/nobody/resume", {})

    def test_a_note_that_no_compaction_could_pass_is_refused(self):
        self.weir("note", "claim", "x", "--session", "s")
        problem = self.problem("ILLEGAL_TRANSITION", "POST", "/v1/sessions/s/notes", {"kind": "claim", "op": "verify", "id": "c1"})
        self.assertIn("weir note claim verify CLAIM EVIDENCE", problem["details"]["help"])

    def test_case_04_usage(self):
        self.same("USAGE", ["log", "--session", "s", "--colour", "red"], "GET", "/v1/sessions/s/entries?colour=red")

    def test_case_04_invalid_json(self):
        for text in ("{", '{"entries":[{"type":"message","body":{"a":1,"a":2}}]}', '{"entries":[{"type":"message","body":{"a":"\\ud800"}}]}', '{"entries":' + "[" * 70 + "]" * 70 + "}", "nul", "{} {}", "{'a':1}"):
            with self.subTest(text=text[:40]):
                self.problem("INVALID_JSON", "POST", "/v1/sessions/s/entries", text.encode())
        self.problem("INVALID_JSON", "POST", "/v1/sessions/s/entries", b'{"entries":[{"type":"message","body":{"a":"\xff"}}]}')
        self.same("INVALID_JSON", ["append", "--session", "s"], "POST", "/v1/sessions/s/entries", b"{", stdin=b"{")

    def test_case_04_invalid_field(self):
        self.put("INVALID_FIELD", entry("x", role="x"))
        error, problem = self.put("INVALID_FIELD", {"type": "message", "body": {"role": 7, "content": 8}})
        self.assertEqual([one["path"] for one in error["details"]["errors"]], [one["path"].removeprefix("/entries/0") for one in problem["details"]["errors"]])
        self.same("INVALID_FIELD", ["session", "show", "../x"], "GET", "/v1/sessions/" + server.part("../x"))
        self.same("INVALID_FIELD", ["history", "", "--session", "s"], "GET", "/v1/sessions/s/history?q=")

    def test_case_04_limit_exceeded(self):
        self.same("LIMIT_EXCEEDED", ["append", "--session", "s"], "POST", "/v1/sessions/s/entries", b'{"entries":[{"type":"x","body":{"n":%s}}]}' % (b"9" * 4097), stdin='{"type":"x","body":{"n":%s}}' % ("9" * 4097), details={"name": "digits of an integer", "limit": 4096, "value": 4097})
        problem = self.problem("LIMIT_EXCEEDED", "POST", "/v1/sessions/s/entries", {"entries": [entry(str(i)) for i in range(1001)]})
        self.assertEqual((problem["details"]["limit"], problem["details"]["value"]), (1000, 1001))
        self.put_entries("many", [entry(str(i)) for i in range(1000)])
        problem = self.problem("LIMIT_EXCEEDED", "POST", "/v1/sessions/s/entries", b'{"entries":["' + b"a" * (4 << 20) + b'"]}')
        self.assertEqual(problem["details"]["limit"], 4 << 20)
        self.put("LIMIT_EXCEEDED", {"type": "custom", "body": {"data": ["x" * 1000] * 1100}})  # over 1 MiB, and no string of it a blob

    def test_case_04_unsupported_format(self):
        self.ask("GET", "/v1/sessions/s/export?format=x", status=(415, 422))
        path = self.world.file("v9.jsonl", '{"type":"session","version":9,"id":"x"}\n')
        self.refused("UNSUPPORTED_FORMAT", "import", "pi", path)
        self.problem("UNSUPPORTED_FORMAT", "POST", "/v1/sessions/x/import?format=pi", b'{"type":"session","version":9,"id":"x"}\n', headers={"Content-Type": "application/x-ndjson"})
        self.problem("UNSUPPORTED_FORMAT", "POST", "/v1/sessions", b"{}", headers={"Content-Type": "text/plain"})

    def test_case_04_not_found(self):
        self.same("NOT_FOUND", ["show", "nowhere", "--session", "s"], "GET", "/v1/sessions/s/entries/nowhere")
        self.same("NOT_FOUND", ["session", "show", "nope"], "GET", "/v1/sessions/nope")
        self.same("NOT_FOUND", ["log", "--session", "s", "--head", "nope"], "GET", "/v1/sessions/s/entries?head=nope")
        self.same("NOT_FOUND", ["log", "--session", "s", "--at", "nope0"], "GET", "/v1/sessions/s/entries?at=nope0")
        self.same("NOT_FOUND", ["show", "sha256:" + "0" * 64], "GET", "/v1/blobs/" + "0" * 64)
        self.same("NOT_FOUND", ["snapshot", "show", "9", "--session", "told"], "GET", "/v1/sessions/told/snapshots/9")
        missing = os.path.join(self.world.cwd, "missing.txt")
        self.same("NOT_FOUND", ["read", missing, "--session", "s"], "POST", "/v1/sessions/s/read", {"path": missing})
        self.same("NOT_FOUND", ["head", "move", "main", "nope0", "--session", "s"], "PUT", "/v1/sessions/s/heads/main", {"entry": "nope0"})
        for path in ("tree", "heads", "reads", "reads/digest", "ctrees", "ctrees/tree", "ctrees/events", "stages/RAW", "explain", "due", "snapshots", "history?q=x", "export?format=jsonl", "events"):
            with self.subTest(path=path):
                self.problem("NOT_FOUND", "GET", "/v1/sessions/nope/" + path)
        self.assertEqual(self.ask("GET", "/v1/sessions/nope").status, 404)  # asking made none

    def test_case_04_ambiguous(self):
        # A prefix may stand for an entry on the command line alone, so over HTTP it names nothing.
        self.refused("AMBIGUOUS", "show", "aaaa", "--session", "s")
        self.problem("NOT_FOUND", "GET", "/v1/sessions/s/entries/aaaa")

    def test_case_04_conflict_and_id_reused(self):
        self.same("CONFLICT", ["append", "--session", "s", "--expect", "aaaa1"], "POST", "/v1/sessions/s/entries", {"entries": [entry("x")], "expect": "aaaa1"}, stdin=compact(entry("x")), details={"head": "blob1", "expect": "aaaa1"})
        self.same("CONFLICT", ["head", "move", "main", "aaaa1", "--expect", "aaaa2", "--session", "s"], "PUT", "/v1/sessions/s/heads/main", {"entry": "aaaa1", "expect": "aaaa2"})
        self.put("ID_REUSED", entry("other", id="aaaa1"))

    def test_case_04_source_rewritten(self):
        head = compact({"type": "session", "version": 3, "id": "imp", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"})
        row = lambda word: compact({"type": "message", "id": "n0", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": word}})  # noqa: E731
        lines = {"Content-Type": "application/x-ndjson"}
        self.ask("POST", "/v1/sessions/imp/import?format=pi", f"{head}\n{row('one')}\n", headers=lines, status=(200, 201))
        problem = self.problem("SOURCE_REWRITTEN", "POST", "/v1/sessions/imp/import?format=pi", f"{head}\n{row('two')}\n", headers=lines)
        self.assertEqual(problem["details"]["line"], 2)

    def test_case_04_idempotency_mismatch(self):
        key = {"Idempotency-Key": "k1"}
        self.ask("POST", "/v1/sessions", {"id": "k"}, headers=key, status=201)
        self.problem("IDEMPOTENCY_MISMATCH", "POST", "/v1/sessions", {"id": "other"}, headers=key)

    def test_case_04_denied_and_unauthenticated(self):
        self.problem("DENIED", "GET", "/v1/sessions", headers={"Host": "evil.example"})
        self.problem("DENIED", "GET", "/v1/sessions", headers={"Origin": "http://evil.example"})
        self.problem("UNAUTHENTICATED", "GET", "/v1/sessions", token=False)
        self.problem("UNAUTHENTICATED", "GET", "/v1/sessions", headers={"Authorization": "Bearer x"})

    def test_case_04_codes_of_reading(self):
        folder = os.path.join(self.world.cwd, "folder")
        os.mkdir(folder)
        path = self.world.file("a.txt", "one\ntwo\n")
        fifo = os.path.join(self.world.cwd, "fifo")
        os.mkfifo(fifo)
        large = os.path.join(self.world.cwd, "large")
        with open(large, "wb") as file:
            file.truncate(1 << 40)
        read = "/v1/sessions/s/read"
        for code, where, more in [
            ("IS_DIRECTORY", folder, {}), ("OFFSET_BEYOND_END", path, {"offset": 9}), ("NOT_REGULAR", fifo, {}), ("TOO_LARGE", large, {}), ("OUTSIDE_ROOTS", "/etc/hostname", {}), ("BAD_RANGE_SUFFIX", path + ":3-", {}),
            ("BAD_RANGE_SUFFIX", path + ":3-1", {}),
        ]:  # fmt: skip
            with self.subTest(code=code):
                options = [part for key, value in more.items() for part in (f"--{key}", value)]
                self.same(code, ["read", where, "--session", "s", *options], "POST", read, {"path": where, **more})
        self.problem("DENIED_BY_POLICY", "POST", read, {"path": self.world.file(".env", "A=1\n")})
        for bad in ({"offset": 0}, {"limit": 0}, {"offset": -1}):
            self.ask("POST", read, {"path": path, **bad}, status=422)
        self.assertEqual(self.get("/v1/sessions/s")["entries"], 3)

    def test_case_04_hard_link(self):
        path = self.world.file("a.txt", "one\n")
        os.link(path, path + ".2")
        self.world.user_config('read.hard_links = "refuse"\n')
        self.restart()
        self.same("HARD_LINK", ["read", path, "--session", "s"], "POST", "/v1/sessions/s/read", {"path": path})

    @server.unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_case_04_access_denied(self):
        path = self.world.file("closed.txt", "one\n")
        os.chmod(path, 0)
        self.same("ACCESS_DENIED", ["read", path, "--session", "s"], "POST", "/v1/sessions/s/read", {"path": path})

    def test_case_04_codes_of_the_compiler(self):
        self.put("KIND_INVALID", {"type": "ctree_node", "body": {"kind": "root", "payload": 1}})
        self.same("CONTEXT_OVER_BUDGET", ["context", "--session", "s", "--budget", "10"], "POST", "/v1/sessions/s/context", {"budget_bytes": 10})
        config = self.world.file("wrong.json", '{"scope":1}')
        self.refused("CONFIG_INVALID", "compile", "--session", "s", "--compile-config", config)
        self.problem("CONFIG_INVALID", "POST", "/v1/sessions/s/context", {"config": {"compile": {"scope": 1}}, "dry_run": True})
        for bad in ("ctrees?profile=x", "ctrees/tree?stage=x", "ctrees/tree?show=x", "stages/x", "ctrees/events?limit=1001", "ctrees/events?offset=-1", "diff?a=main&b=main&what=x", "history?q=x&where=x", "entries?scope=x"):
            with self.subTest(path=bad):
                answer = self.ask("GET", "/v1/sessions/s/" + bad)
                self.is_problem(answer, "INVALID_FIELD")

    def test_case_04_codes_of_snapshots(self):
        self.put("ILLEGAL_TRANSITION", {"type": "CLAIM_VERIFIED", "body": {"claim_id": "c9"}})
        self.put("EVIDENCE_ID_MISMATCH", evidence(evidence_id="ev1_0"))
        self.put("QUOTE_MISMATCH", evidence(quote="a", quote_sha256="0" * 64))
        self.same("NOTHING_TO_COMPACT", ["compact", "--session", "empty"], "POST", "/v1/sessions/empty/compact", {})
        self.same("NOT_AT_BOUNDARY", ["compact", "--session", "open"], "POST", "/v1/sessions/open/compact", {})
        self.same("RUN_STOPPED", ["note", "claim", "x", "--session", "ended"], "POST", "/v1/sessions/ended/notes", {"kind": "claim", "text": "x"})
        one = {"type": "compaction", "body": {"snapshot": {}}}
        self.same("GATE_FAILED", ["append", "--session", "told"], "POST", "/v1/sessions/told/entries", {"entries": [one]}, stdin=compact(one))

    def test_case_04_corrupt(self):
        name = self.world.object_names()[0]
        with open(self.world.objects()[0], "r+b") as file:
            file.seek(8)
            file.write(b"\xff\xff\xff\xff")
        self.same("CORRUPT", ["show", name], "GET", "/v1/blobs/" + name.removeprefix("sha256:"))
        self.get("/v1/sessions/s")

    def test_case_04_busy_says_when_to_come_again(self):
        lock = sqlite3.connect(os.path.join(self.world.store, "weir.db"), isolation_level=None)
        self.addCleanup(lock.close)
        lock.execute("BEGIN IMMEDIATE")
        answer = self.ask("POST", "/v1/sessions/s/entries", {"entries": [entry("x")]}, timeout=70)
        self.assertIn(answer.status, (503, 504), answer)
        self.is_problem(answer, answer.json["code"])
        self.assertIn(answer.json["code"], ("BUSY", "TIMEOUT"))
        self.get("/v1/sessions/s/entries/aaaa1")  # reads go on
        lock.execute("ROLLBACK")
        self.put_entries("s", [entry("x")])

    def test_case_04_storage_and_reads_go_on(self):
        size = os.path.getsize(os.path.join(self.world.store, "weir.db"))

        def limited():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        self.server.stop()
        before = self.world.dump()
        os.remove(self.server.errors_path)
        self.serve(before=limited)
        problem = self.problem("STORAGE", "POST", "/v1/sessions/s/entries", {"entries": [entry(os.urandom(400000).hex())]})
        self.assertEqual(problem["details"]["errno"], errno.EFBIG)
        self.get("/v1/sessions/s/entries/aaaa1")
        self.get("/v1/sessions/s/tree")
        self.assertTrue(self.server.alive)
        self.assertEqual(self.world.dump(), before)

    def test_case_04_codes_of_http_are_problems_too(self):
        for status, method, path, headers in [
            (404, "GET", "/nothing", {}), (405, "PUT", "/v1/sessions", {}), (406, "GET", "/v1/sessions", {"Accept": "text/html"}), (414, "GET", "/v1/sessions/" + "a" * 9000, {}), (431, "GET", "/v1/sessions", {"X": "a" * 40000}),
        ]:  # fmt: skip
            with self.subTest(status=status):
                answer = self.ask(method, path, headers=headers, status=status)
                self.assertEqual(answer.header("Content-Type", "").split(";")[0], "application/problem+json", answer)
                problem = answer.json
                self.assertEqual((problem["status"], problem["type"]), (status, "urn:weir:error:" + problem["code"]))
                self.assertIn(problem["code"], EXITS)

    def test_the_instance_names_the_request_and_the_trace_goes_into_the_log(self):
        self.restart(server.signal.SIGTERM, env={"WEIR_LOG": "info"})
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        problem = self.problem("NOT_FOUND", "GET", "/v1/sessions/nope", headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
        self.assertTrue(problem["instance"])
        self.assertTrue(server.wait_until(lambda: trace in self.server.errors, 5), self.server.errors[-2000:])


class AllAtOnceTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def wrong(self, path, body):
        return sorted({one["path"] for one in self.problem("INVALID_FIELD", "POST", path, body)["details"]["errors"]})

    def test_wrong_fields_are_named_at_once_however_deep_they_are(self):
        cases = [
            ("/v1/sessions/s/entries", {"head": "no name!", "lenient": 1, "x": 1, "entries": [{"type": 7, "body": {}}, {"type": "message", "body": {"role": "nobody"}, "id": "white space", "y": 1}]},
             ["/entries/0/type", "/entries/1/body/role", "/entries/1/id", "/entries/1/y", "/head", "/lenient", "/x"]),
            ("/v1/sessions/no%20name/entries", {"entries": [{"body": 7}]}, ["/entries/0/body", "/entries/0/type", "/session"]),
            ("/v1/sessions/s/notes", {"kind": "nothing", "head": 7, "span": {"chunk": 7, "start": -1, "z": 0}}, ["/head", "/kind", "/span/chunk", "/span/end", "/span/start", "/span/z"]),
            ("/v1/sessions/s/notes", {"kind": "question", "op": "close", "refs": ["a"], "where": "x"}, ["/id", "/refs", "/where"]),
            ("/v1/sessions/s/context", {"format": "html", "budget_bytes": -1, "config": {"nope": 1, "max_bytes": "x"}, "request": {"bad": 1}}, None),
            ("/v1/sessions/s/sync", {"format": 7, "entries": [{"type": 7}, "x"], "aborted": [7]}, None),
        ]  # fmt: skip
        for path, body, paths in cases:
            with self.subTest(path=path, body=body):
                found = self.wrong(path, body)
                if paths is not None:
                    self.assertEqual(found, paths)
                elif "context" in path:
                    self.assertTrue({"/format", "/budget_bytes", "/config/nope", "/request/bad"} <= set(found), found)
                else:
                    self.assertTrue({"/aborted", "/format"} <= set(found) and any(one.startswith("/entries/0") for one in found) and "/entries/1" in found, found)
        self.assertEqual(self.get("/v1/sessions")["items"], [])


if __name__ == "__main__":
    server.main()
