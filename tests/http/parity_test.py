"""Section 0: for every use case `weir ... --json` and HTTP carry the same JSON value. What reads is asked of one store; what
writes is done to two sessions that were equal before. Digests know neither session nor time, so the answers are equal to
the last character."""

import os
import urllib.parse

import server
from harness import compact, entry, jsonl
from server import HttpTest, snapshot_case


def without(value, *keys):
    return {key: one for key, one in value.items() if key not in keys}


class ParityTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.fill()
        self.run_session()
        self.file = self.world.file("a.txt", "one\ntwo\nthree\n")
        self.answer("read", self.file, "--session", "s")
        self.serve()

    def twice(self, entries):
        """Two sessions with the same entries: one for the command line, one for HTTP."""
        for name in ("left", "right"):
            self.answer("append", "--session", name, stdin=jsonl(entries))

    def same_path(self):
        left, right = ([without(one, "at") for one in self.log(name, "--reverse")] for name in ("left", "right"))
        self.assertEqual(left, right)

    # ---- reading ----

    def test_sessions(self):
        self.assertEqual(sorted(self.get("/v1/sessions")["items"], key=lambda one: one["id"]), sorted(self.answer("session", "list")["sessions"], key=lambda one: one["id"]))
        for name in ("s", "g"):
            self.assertEqual(self.get("/v1/sessions/" + name), self.answer("session", "show", name))

    def test_entries(self):
        told = self.log("s", "--reverse")
        self.assertEqual(sorted(self.page_through("/v1/sessions/s/entries", limit=2), key=lambda one: one["seq"]), told)
        for one in told:
            self.assertEqual(self.get("/v1/sessions/s/entries/" + one["id"]), self.answer("show", one["id"], "--session", "s"))
        self.assertEqual(sorted(self.page_through("/v1/sessions/s/entries?at=m1"), key=lambda one: one["seq"]), self.log("s", "--reverse", "--at", "m1"))

    def test_tree_and_heads(self):
        begin, nodes, _ = self.stream("tree", "--session", "s", "--all-types")
        value = self.get("/v1/sessions/s/tree")
        self.assertEqual(value["heads"], begin["heads"])
        self.assertEqual([without(node, "preview") for node in value["nodes"]], [without(node, "preview") for node in nodes])
        heads = self.get("/v1/sessions/s/heads")
        self.assertEqual(heads.get("heads", heads.get("items")), self.answer("head", "list", "--session", "s")["heads"])

    def test_reads_and_digest(self):
        self.assertEqual(self.get("/v1/sessions/s/reads"), self.answer("reads", "--session", "s"))
        self.assertEqual(self.get("/v1/sessions/s/reads/digest"), self.answer("reads", "digest", "--session", "s"))
        # Paths are shown from where the reader stands: the command line's directory, over HTTP the session's.
        self.answer("append", "--session", "s", stdin=compact({"type": "session_info", "body": {"cwd": self.world.cwd}}))
        self.answer("compact", "--session", "s")
        told = self.answer("reads", "digest", "--session", "s")
        self.assertEqual(len(told["files"]), 1)
        self.assertEqual(self.get("/v1/sessions/s/reads/digest"), told)
        self.assertEqual(self.get("/v1/sessions/s/reads?at=m1"), self.answer("reads", "--session", "s", "--at", "m1"))

    def test_ctrees_stages_and_tree(self):
        for name in ("s", "g"):
            told = self.answer("compile", "--session", name)
            value = self.get(f"/v1/sessions/{name}/ctrees")
            self.assertEqual(value["compiler"]["stages"], told["stages"])
            self.assertEqual(value["compiler"]["hashes"], told["hashes"])
            self.assertEqual((value["profile"], value["schema_version"]), (told["profile"], told["schema_version"]))
            for more, option in (("", []), ("?show=all", ["--full"]), ("?include_previews=true", ["--previews"]), ("?stage=SPEC", ["--stage", "SPEC"])):
                with self.subTest(session=name, more=more):
                    self.assertEqual(self.get(f"/v1/sessions/{name}/ctrees/tree{more}"), self.answer("compile", "--tree", *option, "--session", name))
            for stage in ("RAW", "SPEC", "HEADER", "FROZEN"):
                value = self.get(f"/v1/sessions/{name}/stages/{stage}")
                told = self.answer("compile", "--stage", stage, "--session", name)
                self.assertIn(value, (told, told["stages"][stage]))

    def test_a_prompt_summary_and_what_a_tree_collapses(self):
        summary = '{"tools":["ls"],"note":"a b&c"}'
        file, query = self.world.file("prompt.json", summary), "prompt_summary=" + urllib.parse.quote(summary)
        for profile in ("weir-1", "breadboard-0.1"):
            own = ["--session", "s", "--profile", profile]
            told = self.answer("compile", *own, "--prompt-summary", file)
            self.assertIs(told["has_prompt_summary"], True)
            self.assertEqual(self.get(f"/v1/sessions/s/ctrees?profile={profile}&{query}")["compiler"], told)
            self.assertEqual(self.get(f"/v1/sessions/s/stages/RAW?profile={profile}&{query}")["stages"], {"RAW": told["stages"]["RAW"]})
            for mode, target in (("none", 1), ("all_but_last", 2), ("none", 0)):
                tree = self.answer("compile", "--tree", *own, "--collapse-mode", mode, "--collapse-target", str(target))
                self.assertEqual(self.get(f"/v1/sessions/s/ctrees/tree?profile={profile}&collapse_mode={mode}&collapse_target={target}"), tree)
                self.assertNotEqual(tree, self.answer("compile", "--tree", *own))
            for wrong in ("ctrees?prompt_summary=%7B", "stages/RAW?prompt_summary=x", "ctrees/tree?collapse_target=-1", "ctrees/tree?collapse_target=x", "ctrees/tree?collapse_mode=all"):
                error = self.problem("INVALID_FIELD", "GET", f"/v1/sessions/s/{wrong}&profile={profile}")
                self.assertEqual(error["details"]["errors"][0]["path"], "/" + wrong.partition("?")[2].partition("=")[0])

    def test_ctrees_events_are_the_nodes(self):
        value = self.get("/v1/sessions/s/ctrees/events?limit=1000")
        nodes = self.answer("explain", "--session", "s")["nodes"]
        self.assertEqual([(one["node_id"], one["kind"], one["turn"]) for one in value["events"]], [(one["node_id"], one["kind"], one["turn"]) for one in nodes])
        self.assertIs(value["has_more"], False)
        first = self.get("/v1/sessions/s/ctrees/events?limit=1")
        second = self.get("/v1/sessions/s/ctrees/events?limit=1&offset=1")
        self.assertEqual((first["has_more"], first["events"] + second["events"]), (True, value["events"][:2]))

    def test_explain(self):
        for name in ("s", "g"):
            self.assertEqual(self.get(f"/v1/sessions/{name}/explain"), self.answer("explain", "--session", name))

    def test_diff(self):
        for what in ("stages", "entries", "context"):
            for b, code in (("m1", 1), ("main", 0), ("side", 1)):
                with self.subTest(what=what, b=b):
                    self.assertEqual(self.get(f"/v1/sessions/s/diff?a=main&b={b}&what={what}"), self.answer("diff", "s@main", "s@" + b, "--what", what, code=code))

    def test_due(self):
        for name in ("s", "g"):
            ran = self.world.run("--json", "due", "--session", name)
            self.assertEqual(self.get(f"/v1/sessions/{name}/due"), server.parse_line(ran.text))

    def test_snapshots_and_narrative(self):
        self.assertEqual(self.get("/v1/sessions/g/snapshots")["items"], self.answer("snapshot", "list", "--session", "g")["snapshots"])
        shown = self.answer("snapshot", "show", "1", "--session", "g")
        self.assertEqual(self.get("/v1/sessions/g/snapshots/1"), shown)
        self.assertEqual(self.ask("GET", "/v1/sessions/g/snapshots/1/narrative", status=200).text, self.answer("snapshot", "narrative", "1", "--session", "g")["narrative"])
        self.assertEqual(self.post("/v1/sessions/g/snapshots/check", shown), self.answer("snapshot", "check", "1", "--session", "g"))
        broken = {**shown, "snapshot_id": "snap1_0"}
        self.assertEqual(self.post("/v1/sessions/g/snapshots/check", broken), self.answer("snapshot", "check", "-", "--session", "g", code=8, stdin=compact(broken)))

    def test_history(self):
        for where in ("all", "before", "after"):
            _, lines, _ = self.stream("history", "gauge", "--session", "g", "--where", where)
            value = self.get(f"/v1/sessions/g/history?q=gauge&where={where}")
            self.assertEqual(value.get("matches", value.get("items")), [line["match"] for line in lines])

    def test_export(self):
        for name in ("s", "g"):
            for form in ("jsonl", "pi"):
                # The file itself, as the command writes it: a frame around it would make it another one.
                answer = self.ask("GET", f"/v1/sessions/{name}/export?format={form}", status=200)
                self.assertEqual(answer.body, self.weir("export", "--format", form, "--session", name).out)
                self.assertEqual(answer.lines, self.stream("export", "--format", form, "--session", name)[1])

    def test_stats(self):
        told = self.answer("stats", "--session", "s")
        value = self.get("/v1/stats?session=s")
        self.assertEqual(without(value, "store"), without(told, "store"))
        self.assertEqual(set(value["store"]), set(told["store"]))

    def test_verify(self):
        told = self.weir("--json", "verify")
        self.assertEqual(self.ask("POST", "/v1/verify", {}, status=200).lines, [server.parse_line(line) for line in told.lines])

    # ---- looking without writing ----

    def test_context_dry_run(self):
        for form in ("anthropic", "openai", "plain"):
            value = self.post("/v1/sessions/s/context", {"dry_run": True, "format": form, "budget_bytes": 300000})
            self.assertEqual(value, self.answer("context", "--session", "s", "--dry-run", "--format", form, "--budget", "300000"))

    def test_compact_dry_run(self):
        for name in ("s", "g"):
            self.assertEqual(self.post(f"/v1/sessions/{name}/compact", {"dry_run": True}), self.answer("compact", "--session", name, "--dry-run"))

    # ---- writing ----

    def test_append(self):
        entries = [entry("one", id="a1"), entry("two", id="a2", at="2026-01-02T03:04:05.000Z"), entry("x", id="a3", parent="a1"), entry("L" * 70000)]
        told = self.answer("append", "--session", "left", stdin=jsonl(entries))
        self.assertEqual(self.put_entries("right", entries), told)
        self.same_path()
        again = self.answer("append", "--session", "left", stdin=jsonl(entries[:3]))
        self.assertEqual(self.put_entries("right", entries[:3], 200), again)
        run = snapshot_case.example()
        self.assertEqual(self.put_entries("right", run), self.answer("append", "--session", "left", stdin=jsonl(run)))
        self.same_path()

    def test_session_new(self):
        self.assertEqual(self.post("/v1/sessions", {"id": "right"}, 201), {**self.answer("session", "new", "left"), "id": "right"})

    def test_heads(self):
        self.twice([entry("one", id="a1"), entry("two", id="a2"), entry("three", id="a3")])
        told = self.answer("head", "move", "main", "a2", "--session", "left")
        self.assertEqual(self.ask("PUT", "/v1/sessions/right/heads/main", {"entry": "a2"}, status=200).json, told)
        told = self.answer("head", "move", "main", "a2", "--before", "--expect", "a2", "--session", "left")
        self.assertEqual(self.ask("PUT", "/v1/sessions/right/heads/main", {"entry": "a2", "before": True, "expect": "a2"}, status=200).json, told)
        self.same_path()

    def test_read_and_refresh(self):
        self.twice([entry("one", id="a1")])
        lines = self.world.file("b.txt", "".join(f"line {i}\n" for i in range(3000)))
        for path, options, more in [
            (self.file, [], {}), (self.file, [], {}), (lines, [], {}), (lines, [], {}), (lines, ["--offset", "2001", "--limit", "100"], {"offset": 2001, "limit": 100}), (self.file, ["--bypass"], {"bypass_cache": True}), (self.file + ":2-3", [], {}),
            (self.world.file("x.png", b"\x89PNG\r\n\x1a\n" + bytes(40)), [], {}), (self.file, ["--request-id", "r1"], {"request_id": "r1"}), (self.file, ["--request-id", "r1"], {"request_id": "r1"}), (self.file, ["--no-record"], {"record": "none"}),
        ]:  # fmt: skip
            with self.subTest(path=os.path.basename(path), more=more):
                told = self.answer("read", path, *options, "--session", "left")
                self.assertEqual(self.post("/v1/sessions/right/read", {"path": path, **more}), told)
        for words, more in (([], {}), (["2-3"], {"start": 2, "end": 3}), (["2"], {"start": 2})):
            told = self.answer("refresh", self.file, *words, "--session", "left")
            value = self.post("/v1/sessions/right/refresh", {"path": self.file, **more}, (200, 201))
            self.assertEqual({key: value.get(key) for key in ("entry", "path", "scope")}, {key: told[key] for key in ("entry", "path", "scope")})
        with open(self.file, "a") as file:
            file.write("four\n")
        self.assertEqual(self.post("/v1/sessions/right/read", {"path": self.file}), self.answer("read", self.file, "--session", "left"))
        self.same_path()
        self.assertEqual(self.get("/v1/sessions/right/reads"), self.answer("reads", "--session", "left"))

    def test_context_with_its_manifest(self):
        self.twice([entry("one", id="a1"), entry("two", "assistant", id="a2")])
        told = self.answer("context", "--session", "left")
        self.assertEqual(without(self.post("/v1/sessions/right/context", {}, (200, 201)), "session"), without(told, "session"))
        self.same_path()

    def test_compact(self):
        self.twice(snapshot_case.example())
        self.assertEqual(self.post("/v1/sessions/right/compact", {}, 201), self.answer("compact", "--session", "left"))
        self.same_path()
        self.twice(snapshot_case.second_part())
        told = self.answer("compact", "--session", "left", "--max-bytes", "4000", "--tokens-before", "99")
        self.assertEqual(self.post("/v1/sessions/right/compact", {"max_bytes": 4000, "tokens_before": 99}, 201), told)

    def test_notes(self):
        self.twice(snapshot_case.example())
        ev1, ev2 = snapshot_case.EV1, snapshot_case.EV2
        for words, body in [
            (["claim", "It drifts"], {"kind": "claim", "text": "It drifts"}), (["claim", "retract", "c3", "wrong"], {"kind": "claim", "op": "retract", "id": "c3", "text": "wrong"}), (["question", "Why?"], {"kind": "question", "text": "Why?"}),
            (["question", "close", "q2", "known"], {"kind": "question", "op": "close", "id": "q2", "text": "known"}), (["claim", "verify", "c2", ev1], {"kind": "claim", "op": "verify", "id": "c2", "refs": [ev1]}),
            (["conflict", "--text", "Both?", "--refs", ev1, "--other", ev2], {"kind": "conflict", "text": "Both?", "refs": [ev1], "other": [ev2]}),
            (["failure", "--category", "retrieval", "--where", "ACT", "--text", "no answer"], {"kind": "failure", "category": "retrieval", "where": "ACT", "text": "no answer"}), (["next", "Ask", "Look"], {"kind": "next", "refs": ["Ask", "Look"]}),
            (["evidence", "--span", "log-2026#1:0-7"], {"kind": "evidence", "span": {"chunk": "log-2026#1", "start": 0, "end": 7}}),
        ]:  # fmt: skip
            with self.subTest(words=words):
                told = self.answer("note", *words, "--session", "left")
                value = self.post("/v1/sessions/right/notes", body, 201)
                self.assertEqual(without(value, "warnings"), without(told, "warnings"))
        self.same_path()

    def test_import(self):
        with open(os.path.join(server.harness.DATA, "pi-v3.jsonl"), "rb") as file:
            data = file.read()
        told = self.answer("import", "pi", self.world.file("in.jsonl", data), "--as", "left")
        value = self.ask("POST", "/v1/sessions/right/import?format=pi", data, headers={"Content-Type": "application/x-ndjson"}, status=(200, 201)).json
        self.assertEqual(without(value, "file", "session"), without(told, "file", "session"))
        self.same_path()

    def test_sync(self):
        line = lambda i: {"type": "message", "id": f"n{i}", "parentId": f"n{i - 1}" if i else None, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": f"n{i}"}}  # noqa: E731
        for body in ({"since": None, "entries": [line(0), line(1)], "leaf": "n1"}, {"since": "n1", "entries": [line(1), line(2)], "leaf": "n2"}, {"since": "n2", "entries": [], "leaf": None}):
            told = self.answer("sync", "--format", "pi", stdin=compact({"session": "left", **body}))
            self.assertEqual(self.post("/v1/sessions/right/sync", {"format": "pi", **body}, (200, 201)), told)
        self.same_path()

    def test_masking_is_the_same(self):
        secret = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuV"
        entries = [entry(f"see {secret} there", id="a1"), {"type": "custom", "id": "a2", "body": {"data": {"password": "hunter2hunter2"}}}]
        self.assertEqual(self.put_entries("right", entries), self.answer("append", "--session", "left", stdin=jsonl(entries)))
        self.same_path()
        self.assertEqual(self.get("/v1/sessions/right/entries/a1")["body"]["content"], "see ***REDACTED*** there")


if __name__ == "__main__":
    server.main()
