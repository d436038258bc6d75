"""The table of routes (faces.md 3): each route with its status and the shape of its answer, HEAD, and what HTTP itself says
no to."""

import hashlib
import os

import server
from server import FOREVER, HttpTest, entry, part

BLOB = hashlib.sha256(b"L" * 70000).hexdigest()


def reading_routes():
    """Every GET of the table, with members its answer must have (None: not JSON)."""
    s, g = "/v1/sessions/s", "/v1/sessions/g"
    return [
        ("/v1/sessions", {"items"}), (s, {"id", "heads", "barrier", "entries", "source"}), (s + "/entries", {"items"}),
        (s + "/entries/m1", {"seq", "id", "parent", "type", "body", "at", "digest"}), (s + "/tree", {"nodes", "heads"}), (s + "/heads", set()),
        (s + "/reads", {"boundary", "reads", "bytes"}), (s + "/reads/digest", set()),
        (s + "/ctrees", {"profile", "schema_version", "session", "entry", "snapshot", "compiler", "collapse", "runner", "last_node", "hash_summary", "context_engine", "truncated"}),
        (s + "/ctrees/tree", {"profile", "source", "stage", "root_id", "nodes", "selection", "hashes", "truncated"}),
        (s + "/ctrees/events", {"source", "offset", "limit", "has_more", "truncated", "header", "events"}),
        (s + "/stages/RAW", set()), (s + "/stages/SPEC", set()), (s + "/stages/HEADER", set()), (s + "/stages/FROZEN", set()), (s + "/explain", {"nodes", "totals"}),
        (s + "/diff?a=main&b=m1&what=entries", {"equal"}), (s + "/due", {"due", "trigger"}), (g + "/snapshots", {"items"}),
        (g + "/snapshots/1", {"snapshot_id", "state", "validation"}), (g + "/snapshots/1/narrative", None), (s + "/history?q=hello", set()),
        (s + "/export?format=jsonl", None), ("/v1/blobs/" + BLOB, None), ("/v1/stats", set()), ("/healthz", None), ("/readyz", set()), ("/metrics", None),
        ("/openapi.json", {"openapi", "paths"}), ("/sessions/s/ctrees", {"compiler"}), ("/sessions/s/ctrees/tree", {"selection", "hashes"}),
        ("/sessions/s/ctrees/events", {"events"}), ("/sessions/s/readcache-status", {"boundary"}),
    ]  # fmt: skip


class RoutesTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.fill()
        self.run_session()
        self.serve()

    # ---- reading ----

    def test_every_get_answers_200_with_its_members(self):
        for path, members in reading_routes():
            with self.subTest(path=path):
                answer = self.ask("GET", path, status=200)
                if members is None:
                    self.assertTrue(answer.body, answer)
                else:
                    self.assertEqual(answer.header("Content-Type", "").split(";")[0], "application/json", answer)
                    self.assertLessEqual(members, set(answer.json), answer)

    def test_head_works_for_every_get_and_sends_no_body(self):
        for path, _ in reading_routes():
            with self.subTest(path=path):
                got = self.ask("GET", path, status=200)
                head = self.ask("HEAD", path, status=200)
                self.assertEqual(head.body, b"", head)
                for name in ("Content-Type", "ETag", "Cache-Control"):
                    self.assertEqual(head.header(name), got.header(name), f"{name}: {head}\n{got}")
                if head.header("Content-Length") is not None and path not in ("/metrics", "/v1/stats"):
                    self.assertEqual(head.header("Content-Length"), got.header("Content-Length"), head)
        self.assertEqual(self.ask("HEAD", "/v1/sessions/nope", status=404).body, b"")

    def test_sessions_are_listed_with_a_cursor(self):
        for i in range(7):
            self.answer("session", "new", f"n{i}")
        items = self.page_through("/v1/sessions", limit=2)
        self.assertEqual(sorted(item["id"] for item in items), sorted(["s", "g"] + [f"n{i}" for i in range(7)]))

    def test_a_session_has_heads_barrier_counts_and_source(self):
        value = self.get("/v1/sessions/s")
        self.assertEqual((value["id"], value["barrier"], value["source"], value["entries"]), ("s", "root", None, 5))
        self.assertEqual(value["heads"], [{"entry": "lab", "name": "main"}, {"entry": "m2", "name": "side"}])

    def test_entries_of_the_path_or_of_all(self):
        self.put_entries("s", [entry("beside", id="b1")], head="side")
        self.assertEqual({one["id"] for one in self.page_through("/v1/sessions/s/entries")}, {"m0", "m1", "m2", "m3", "lab"})
        self.assertEqual({one["id"] for one in self.page_through("/v1/sessions/s/entries?scope=path&head=side")}, {"m0", "m1", "m2", "b1"})
        self.assertEqual({one["id"] for one in self.page_through("/v1/sessions/s/entries?at=m1")}, {"m0", "m1"})
        self.assertEqual({one["id"] for one in self.page_through("/v1/sessions/s/entries?scope=all", limit=1)}, {"m0", "m1", "m2", "m3", "lab", "b1"})
        self.assertEqual([one["id"] for one in self.page_through("/v1/sessions/s/entries?type=label")], ["lab"])
        self.assertEqual(self.page_through("/v1/sessions/s/entries?since=2999-01-01T00:00:00Z"), [])
        self.assertEqual(len(self.page_through("/v1/sessions/s/entries?since=2001-01-01T00:00:00Z")), 5)
        for one in self.page_through("/v1/sessions/s/entries"):
            self.assertEqual(sorted(one), ["at", "body", "digest", "id", "parent", "seq", "type"])

    def test_limit_is_1_to_500_and_100_by_default(self):
        self.put_entries("many", [entry(f"n{i}") for i in range(520)])
        path = "/v1/sessions/many/entries"
        self.assertEqual(len(self.get(path)["items"]), 100)
        self.assertEqual(len(self.get(path + "?limit=500")["items"]), 500)
        self.assertEqual(len(self.get(path + "?limit=1")["items"]), 1)
        for bad in ("0", "501", "-1", "x", "1.5", ""):
            error = self.problem("INVALID_FIELD", "GET", f"{path}?limit={bad}")
            self.assertEqual([one["path"] for one in error["details"]["errors"]], ["/limit"])

    def test_an_entry_is_named_by_id_or_pointer_exact_only(self):
        whole = self.get("/v1/sessions/s/entries/m1")
        self.assertEqual(self.get("/v1/sessions/s/entries/e" + whole["digest"][:16]), whole)
        self.problem("NOT_FOUND", "GET", "/v1/sessions/s/entries/nothing")
        self.put_entries("p", [entry("x", id="abcdef")])
        self.problem("NOT_FOUND", "GET", "/v1/sessions/p/entries/abcd")
        self.problem("NOT_FOUND", "GET", "/v1/sessions/p/entries/abcdef~0")

    def test_a_blob_stays_a_pointer(self):
        self.assertEqual(self.get("/v1/sessions/s/entries/m3")["body"]["content"]["$blob"], "sha256:" + BLOB)

    def test_a_blob_is_its_bytes_and_takes_a_range(self):
        whole = self.ask("GET", "/v1/blobs/" + BLOB, status=200)
        self.assertEqual(whole.body, b"L" * 70000)
        self.assertEqual(whole.header("Cache-Control"), FOREVER)
        some = self.ask("GET", "/v1/blobs/" + BLOB, headers={"Range": "bytes=10-19"}, status=206)
        self.assertEqual((some.body, some.header("Content-Range")), (b"L" * 10, "bytes 10-19/70000"))
        last = self.ask("GET", "/v1/blobs/" + BLOB, headers={"Range": "bytes=-5"}, status=206)
        self.assertEqual(last.header("Content-Range"), "bytes 69995-69999/70000")
        self.assertEqual(self.ask("GET", "/v1/blobs/" + BLOB, headers={"Range": "bytes=70000-"}, status=416).header("Content-Range"), "bytes */70000")
        self.problem("NOT_FOUND", "GET", "/v1/blobs/" + "0" * 64)
        self.ask("GET", "/v1/blobs/xyz", status=(404, 422))

    def test_a_tree_has_nodes_and_heads(self):
        value = self.get("/v1/sessions/s/tree")
        self.assertEqual(value["heads"], [{"entry": "lab", "name": "main"}, {"entry": "m2", "name": "side"}])
        self.assertEqual([node["id"] for node in value["nodes"]], ["m0", "m1", "m2", "m3", "lab"])
        for node in value["nodes"]:
            self.assertLessEqual({"id", "parent", "seq", "type", "label", "barrier"}, set(node))
        self.assertEqual(value["nodes"][1]["label"], "start")

    def test_export_and_verify_are_lines(self):
        for answer in (self.ask("GET", "/v1/sessions/s/export?format=jsonl", status=200), self.ask("GET", "/v1/sessions/s/export?format=pi", status=200), self.ask("POST", "/v1/verify", {}, status=200)):
            self.assertEqual(answer.header("Content-Type", "").split(";")[0], "application/x-ndjson", answer)
            self.assertTrue(answer.body.endswith(b"\n"))
            self.assertTrue(all(isinstance(line, dict) for line in answer.lines), answer)
        self.assertEqual((answer.lines[-1]["type"], answer.lines[-1]["complete"]), ("end", True))

    def test_a_narrative_is_markdown(self):
        answer = self.ask("GET", "/v1/sessions/g/snapshots/1/narrative", status=200)
        self.assertEqual(answer.header("Content-Type").split(";")[0], "text/markdown")
        self.assertTrue(answer.text.startswith("# Snapshot 1\n"))

    # ---- writing ----

    def test_a_session_is_made_and_purged(self):
        self.assertEqual(self.post("/v1/sessions", {"id": "new"}, 201)["id"], "new")
        made = self.post("/v1/sessions", {}, 201)["id"]
        self.assertTrue(made)
        self.assertEqual(self.get("/v1/sessions/" + made)["entries"], 0)
        self.assertEqual(self.post("/v1/sessions", {"id": "new"}, (200, 201))["id"], "new")
        for path in ("/v1/sessions/new", "/v1/sessions/new?confirm=other", "/v1/sessions/new?confirm="):
            self.ask("DELETE", path, status=(403, 422))
        self.assertEqual(self.ask("DELETE", "/v1/sessions/new?confirm=new", status=204).body, b"")
        self.problem("NOT_FOUND", "GET", "/v1/sessions/new")
        self.problem("NOT_FOUND", "DELETE", "/v1/sessions/new?confirm=new")

    def test_append_answers_201_and_200_if_all_were_known(self):
        entries = [entry("one", id="a1"), entry("two", id="a2", at="2026-01-02T03:04:05.000Z")]
        first = self.put_entries("w", entries, 201)
        self.assertEqual([one["id"] for one in first["entries"]], ["a1", "a2"])
        self.assertEqual((first["head"], first["due"], first["warnings"]), ("a2", False, []))
        again = self.put_entries("w", entries, 200)
        self.assertEqual(again["entries"], first["entries"])
        more = self.put_entries("w", [*entries, entry("three", id="a3", parent="a1")], 201)
        self.assertEqual(more["head"], "a3")
        self.assertEqual(self.get("/v1/sessions/w/entries/a3")["parent"], "a1")
        self.assertEqual(self.get("/v1/sessions/w/entries/a2")["at"], "2026-01-02T03:04:05.000Z")

    def test_append_is_all_or_none(self):
        self.put_entries("w", [entry("one", id="a1")])
        error = self.problem("INVALID_FIELD", "POST", "/v1/sessions/w/entries", {"entries": [entry("two", id="a2"), entry("x", role="bad"), {"type": 7, "body": {}}]})
        self.assertGreaterEqual(len(error["details"]["errors"]), 2)  # all of them
        self.assertEqual(self.get("/v1/sessions/w")["entries"], 1)

    def test_append_takes_lenient_and_expect(self):
        bad = {"type": "CLAIM_VERIFIED", "body": {"claim_id": "c9"}}
        self.problem("ILLEGAL_TRANSITION", "POST", "/v1/sessions/w/entries", {"entries": [bad]})
        self.assertTrue(self.put_entries("w", [bad], lenient=True)["warnings"])
        last = self.put_entries("w", [entry("x", id="x1")])["head"]
        error = self.problem("CONFLICT", "POST", "/v1/sessions/w/entries", {"entries": [entry("y")], "expect": "nope0"})
        self.assertEqual((error["details"]["head"], error["details"]["expect"]), (last, "nope0"))
        self.put_entries("w", [entry("y")], expect="x1")

    def test_heads_are_moved_made_and_deleted(self):
        self.assertEqual(self.ask("PUT", "/v1/sessions/s/heads/side", {"entry": "m1"}, status=200).json, {"entry": "m1", "name": "side"})
        self.assertEqual(self.ask("PUT", "/v1/sessions/s/heads/side", {"entry": "m1", "before": True}, status=200).json, {"entry": "m0", "name": "side"})
        error = self.problem("CONFLICT", "PUT", "/v1/sessions/s/heads/side", {"entry": "m2", "expect": "m1"})
        self.assertEqual((error["details"]["head"], error["details"]["expect"]), ("m0", "m1"))
        self.problem("CONFLICT", "PUT", "/v1/sessions/s/heads/side", {"entry": "m2"}, status=412, headers={"If-Match": '"m1"'})
        self.assertEqual(self.ask("PUT", "/v1/sessions/s/heads/side", {"entry": "m2"}, status=200, headers={"If-Match": '"m0"'}).json["entry"], "m2")
        self.problem("NOT_FOUND", "PUT", "/v1/sessions/s/heads/side", {"entry": "nothing"})
        self.ask("DELETE", "/v1/sessions/s/heads/side", status=(200, 204))
        self.problem("NOT_FOUND", "DELETE", "/v1/sessions/s/heads/side")
        self.assertEqual([one["name"] for one in self.get("/v1/sessions/s")["heads"]], ["main"])
        self.assertEqual(self.get("/v1/sessions/s")["entries"], 5)

    def test_read_refresh_and_status(self):
        path = self.world.file("a.txt", "one\ntwo\nthree\n")
        self.follow("s")
        first = self.post("/v1/sessions/s/read", {"path": path})
        self.assertEqual((first["kind"], first["text"], first["record"]["mode"], first["warnings"]), ("text", "one\ntwo\nthree\n", "full", []))
        self.assertEqual(self.post("/v1/sessions/s/read", {"path": path})["text"], "[readcache: unchanged, 4 lines]")
        self.assertEqual(self.post("/v1/sessions/s/read", {"path": path, "bypass_cache": True})["record"]["reason"], "bypass_cache")
        self.assertEqual(self.post("/v1/sessions/s/read", {"path": "a.txt", "cwd": self.world.cwd, "offset": 2, "limit": 1})["record"]["scope"], "r:2:2")
        self.problem("INVALID_FIELD", "POST", "/v1/sessions/s/read", {"path": "a.txt"})  # no cwd, none in session_info
        gone = self.post("/v1/sessions/s/refresh", {"path": path}, (200, 201))
        self.assertLessEqual({"entry", "path", "scope"}, set(gone))
        self.assertEqual(self.post("/v1/sessions/s/read", {"path": path})["text"], "one\ntwo\nthree\n")
        self.assertEqual(self.post("/v1/sessions/s/refresh", {"path": path, "start": 1, "end": 2}, (200, 201))["scope"], "r:1:2")
        status = self.get("/v1/sessions/s/reads")
        self.assertEqual((status["boundary"], status["reads"]["unchanged"]), ("root", 1))

    def test_context_writes_its_manifest_unless_dry(self):
        before = self.get("/v1/sessions/s")["entries"]
        dry = self.post("/v1/sessions/s/context", {"dry_run": True, "format": "openai"})
        self.assertEqual(dry["format"], "openai")
        self.assertEqual(self.get("/v1/sessions/s")["entries"], before)
        self.post("/v1/sessions/s/context", {"budget_bytes": 200000}, (200, 201))
        self.assertEqual(self.get("/v1/sessions/s")["entries"], before + 1)
        self.problem("CONTEXT_OVER_BUDGET", "POST", "/v1/sessions/s/context", {"budget_bytes": 10})
        self.problem("INVALID_FIELD", "POST", "/v1/sessions/s/context", {"budget_bytes": 0})
        self.problem("INVALID_FIELD", "POST", "/v1/sessions/s/context", {"format": "xml"})

    def test_compact_is_201_written_and_200_dry(self):
        dry = self.post("/v1/sessions/s/compact", {"dry_run": True}, 200)
        self.assertEqual((dry["status"], dry["failed"]), ("PASS", []))
        done = self.post("/v1/sessions/s/compact", {}, 201)
        self.assertEqual((done["status"], done["sequence"], done["snapshot_id"]), ("PASS", 1, dry["snapshot_id"]))
        self.assertEqual(self.get("/v1/sessions/s")["barrier"], "compaction:" + done["entry"])
        self.problem("NOTHING_TO_COMPACT", "POST", "/v1/sessions/" + self.post("/v1/sessions", {}, 201)["id"] + "/compact", {})

    def test_a_snapshot_is_checked(self):
        good = self.get("/v1/sessions/g/snapshots/1")
        verdict = self.post("/v1/sessions/g/snapshots/check", good, 200)
        self.assertEqual((verdict["status"], len(verdict["checks"])), ("PASS", 25))
        for bad in ({}, {**good, "snapshot_id": "snap1_0"}, [1], 7, "x"):
            self.assertEqual(self.post("/v1/sessions/g/snapshots/check", server.compact(bad), 200)["status"], "FAIL")
        self.problem("NOT_FOUND", "GET", "/v1/sessions/g/snapshots/9")

    def test_notes_are_201(self):
        made = self.post("/v1/sessions/g/notes", {"kind": "question", "text": "Why?"}, 201)
        self.assertLessEqual({"entry", "type", "id", "due"}, set(made))
        self.assertEqual(made["type"], "QUESTION_OPENED")
        self.assertEqual(self.post("/v1/sessions/g/notes", {"kind": "next", "refs": ["Ask"]}, 201)["id"], "next")
        self.problem("INVALID_FIELD", "POST", "/v1/sessions/g/notes", {"kind": "rumour"})
        self.problem("INVALID_FIELD", "POST", "/v1/sessions/g/notes", {})

    def test_an_import_is_the_file_as_a_stream(self):
        with open(os.path.join(server.harness.DATA, "pi-v3.jsonl"), "rb") as file:
            data = file.read()
        lines = {"Content-Type": "application/x-ndjson"}
        first = self.ask("POST", "/v1/sessions/pi-v3/import?format=pi", data, headers=lines, status=(200, 201)).json
        self.assertEqual((first["lines"], first["entries"], first["compactions"], first["torn"]), (31, 30, 1, 0))
        again = self.ask("POST", "/v1/sessions/pi-v3/import?format=pi", data, headers=lines, status=200).json
        self.assertEqual((again["entries"], again["known"]), (0, 30))
        self.assertEqual(self.get("/v1/sessions/pi-v3")["entries"], 30)
        self.problem("UNSUPPORTED_FORMAT", "POST", "/v1/sessions/z/import?format=pi", data)  # as application/json
        self.ask("POST", "/v1/sessions/z/import?format=word", data, headers=lines, status=(415, 422))
        self.ask("POST", "/v1/sessions/z/import", data, headers=lines, status=(415, 422))

    def test_an_import_may_be_larger_than_a_body(self):
        head = server.compact({"type": "session", "version": 3, "id": "long", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"})
        rows = [head] + [server.compact({"type": "message", "id": f"n{i}", "parentId": f"n{i - 1}" if i else None, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": "x" * 1000 + str(i)}}) for i in range(6000)]
        done = self.ask("POST", "/v1/sessions/long/import?format=pi", "\n".join(rows) + "\n", headers={"Content-Type": "application/x-ndjson"}, status=(200, 201)).json
        self.assertEqual(done["entries"], 6000)

    def test_sync_takes_entries_and_moves_main(self):
        line = lambda i: {"type": "message", "id": f"n{i}", "parentId": f"n{i - 1}" if i else None, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": f"n{i}"}}  # noqa: E731
        done = self.post("/v1/sessions/host/sync", {"format": "pi", "since": None, "entries": [line(0), line(1)], "leaf": "n1"}, (200, 201))
        self.assertEqual((done["accepted"], done["known"], done["last"], done["leaf"]), (2, 0, "n1", "n1"))
        done = self.post("/v1/sessions/host/sync", {"format": "pi", "since": "n1", "entries": [], "leaf": "n0"}, (200, 201))
        self.assertEqual(done["leaf"], "n0")
        self.assertEqual(self.problem("NOT_FOUND", "POST", "/v1/sessions/host/sync", {"format": "pi", "since": "n9", "entries": [], "leaf": "n0"})["details"]["last"], "n1")

    def test_a_first_sync_may_leave_the_leaf_out(self):
        line = {"type": "message", "id": "n0", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": "n0"}}
        done = self.post("/v1/sessions/host/sync", {"format": "pi", "entries": [line]}, (200, 201))
        self.assertEqual((done["accepted"], done["last"], done["leaf"]), (1, "n0", "n0"))

    def test_research_steps_answer_as_the_command_does(self):
        answer = self.ask("POST", "/v1/sessions/r/research/status", {})
        self.assertIn(answer.status, (404, 409, 422), answer)
        self.is_problem(answer, answer.json["code"])
        self.ask("POST", "/v1/sessions/r/research/nothing", {}, status=(404, 422))

    # ---- what HTTP says no to ----

    def test_a_method_a_route_does_not_have_is_405_with_allow(self):
        for method, path, allowed in [
            ("PUT", "/v1/sessions", {"GET", "HEAD", "POST"}), ("PATCH", "/v1/sessions/s", {"GET", "HEAD", "DELETE"}), ("POST", "/v1/sessions/s", {"GET", "HEAD", "DELETE"}),
            ("DELETE", "/v1/sessions/s/entries", {"GET", "HEAD", "POST"}), ("GET", "/v1/sessions/s/compact", {"POST"}), ("HEAD", "/v1/sessions/s/compact", {"POST"}), ("GET", "/v1/sessions/s/heads/main", {"PUT", "DELETE"}),
            ("POST", "/v1/sessions/s/ctrees", {"GET", "HEAD"}), ("POST", "/healthz", {"GET", "HEAD"}), ("DELETE", "/metrics", {"GET", "HEAD"}), ("GET", "/v1/verify", {"POST"}), ("POST", "/v1/stats", {"GET", "HEAD"}),
        ]:  # fmt: skip
            with self.subTest(method=method, path=path):
                answer = self.ask(method, path, status=405)
                self.assertEqual({word.strip() for word in answer.header("Allow", "").split(",")}, allowed, answer)
                if method != "HEAD":
                    self.assertEqual(answer.header("Content-Type", "").split(";")[0], "application/problem+json", answer)

    def test_no_such_route_is_404(self):
        for path in ("/", "/v1", "/v1/", "/v2/sessions", "/v1/session", "/v1/sessions/s/nothing", "/v1/sessions/s/entries/m1/more", "/sessions", "/sessions/s", "/sessions/s/entries", "/v1/healthz", "//v1/sessions", "/v1/../metrics", "/favicon.ico", "/v1/sessions/s/", "/v1/Sessions"):
            with self.subTest(path=path):
                answer = self.ask("GET", path)
                self.assertEqual(answer.status, 404, answer)
                self.assertEqual(answer.json["code"], "NOT_FOUND", answer)

    def test_an_answer_nobody_accepts_is_406(self):
        for path, good, bad in [
            ("/v1/sessions", "application/json", "text/html"), ("/v1/sessions/g/snapshots/1/narrative", "text/markdown", "application/json"), ("/v1/sessions/s/export?format=jsonl", "application/x-ndjson", "text/plain"),
            ("/v1/sessions", "text/html, application/*;q=0.5", "application/json;q=0"), ("/v1/sessions", "*/*", "image/*"),
        ]:  # fmt: skip
            with self.subTest(path=path, bad=bad):
                self.ask("GET", path, headers={"Accept": good}, status=200)
                self.ask("GET", path, headers={"Accept": bad}, status=406)

    def test_an_unknown_query_parameter_is_usage(self):
        for path, members in reading_routes():
            if path.startswith(("/healthz", "/readyz")):
                continue
            with self.subTest(path=path):
                joint = "&" if "?" in path else "?"
                self.problem("USAGE", "GET", path + joint + "colour=red")
        self.problem("USAGE", "POST", "/v1/sessions?id=x", {})
        self.problem("USAGE", "GET", "/v1/sessions/s/entries?Limit=1")
        self.problem("USAGE", "DELETE", "/v1/sessions/s?confirm=s&colour=red")
        self.assertEqual(self.get("/v1/sessions/s")["entries"], 5)

    def test_a_query_parameter_twice_is_refused(self):
        self.ask("GET", "/v1/sessions/s/entries?limit=1&limit=2", status=(400, 422))

    def test_a_url_over_8_kib_is_414(self):
        self.ask("GET", "/v1/sessions/s/history?q=" + "a" * (8 * 1024), status=414)
        self.ask("GET", "/v1/sessions/" + "a" * 20000, status=414)
        self.assertNotEqual(self.ask("GET", "/v1/sessions/s/history?q=" + "a" * (7 * 1024)).status, 414)

    def test_headers_over_32_kib_or_100_are_431(self):
        self.ask("GET", "/v1/sessions", headers={"X-Long": "a" * (33 * 1024)}, status=431)
        self.ask("GET", "/v1/sessions", headers={f"X-{i}": "a" for i in range(101)}, status=431)
        self.ask("GET", "/v1/sessions", headers={"X-Long": "a" * (30 * 1024)}, status=200)
        self.ask("GET", "/v1/sessions", headers={f"X-{i}": "a" for i in range(90)}, status=200)

    def test_parts_of_a_path_are_percent_decoded_once(self):
        self.put_entries("q", [entry("x", id="a/b"), entry("y", id="a%2Fb"), entry("z", id="é?#")])
        for name in ("a/b", "a%2Fb", "é?#"):
            self.assertEqual(self.get("/v1/sessions/q/entries/" + part(name))["id"], name)
        for bad in ("%", "%2", "%zz", "%ff", "%00"):
            self.ask("GET", "/v1/sessions/q/entries/" + bad, status=(400, 404, 422))

    def test_a_read_only_server_denies_every_write(self):
        self.restart(server.signal.SIGTERM, "--read-only")
        self.get("/v1/sessions/s")
        path = self.world.file("a.txt", "one\n")
        before = self.world.dump()
        for method, where, body in [
            ("POST", "/v1/sessions", {}), ("POST", "/v1/sessions/s/entries", {"entries": [entry("x")]}), ("PUT", "/v1/sessions/s/heads/main", {"entry": "m1"}), ("DELETE", "/v1/sessions/s/heads/side", None), ("DELETE", "/v1/sessions/s?confirm=s", None),
            ("POST", "/v1/sessions/s/refresh", {"path": path}), ("POST", "/v1/sessions/s/compact", {}), ("POST", "/v1/sessions/g/notes", {"kind": "question", "text": "x"}), ("POST", "/sessions/s/tree", {"entry": "m1"}), ("POST", "/sessions/s/readcache-refresh", {"path": path}),
        ]:  # fmt: skip
            with self.subTest(method=method, path=where):
                self.problem("DENIED", method, where, body)
        self.assertEqual(self.world.dump(), before)

    def test_every_changing_answer_says_no_store(self):
        for path, _ in reading_routes():
            with self.subTest(path=path):
                forever = "/entries/" in path or "/blobs/" in path or "/snapshots/1" in path
                self.assertEqual(self.ask("GET", path).header("Cache-Control"), FOREVER if forever else "no-store")


if __name__ == "__main__":
    server.main()
