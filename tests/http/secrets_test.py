"""Case 35 and S7: secrets that come in by bodies, files, imports, errors, headers and URLs are found nowhere: not in the
store, its WAL and objects, not in the log, the metrics or an error."""

import os
import subprocess

import server  # first: it knows the way to tests/cli
import secrets_made
from harness import compact, entry
from server import HttpTest, part

MARK = "***REDACTED***"
STAMP = "2026-01-01T00:00:00.000Z"


class SecretsCase(HttpTest):
    def setUp(self):
        super().setUp()
        self.said = []  # every answer but those of read and refresh, which show the real text and the path
        self.serve(env={"WEIR_LOG": "debug"})

    def ask(self, *args, **how):
        answer = super().ask(*args, **how)
        self.said.append(str(answer.headers).encode() + b"\n" + answer.body)
        return answer

    def look_at_everything(self):
        for session in [one["id"] for one in self.page_through("/v1/sessions")]:
            for path in ("", "/entries?scope=all&limit=500", "/tree", "/heads", "/reads", "/reads/digest", "/ctrees", "/ctrees/tree?include_previews=true&show=all", "/ctrees/events?limit=1000", "/explain", "/due", "/export?format=jsonl", "/export?format=pi", "/history?q=see", "/snapshots"):
                self.ask("GET", f"/v1/sessions/{session}{path}")
            self.ask("POST", f"/v1/sessions/{session}/context", {"dry_run": True})
            self.ask("POST", f"/v1/sessions/{session}/compact", {"dry_run": True})
        for name in self.world.object_names():
            self.ask("GET", "/v1/blobs/" + name.removeprefix("sha256:"))
        self.ask("GET", "/metrics")
        self.ask("POST", "/v1/verify", {})

    def nowhere(self, planted):
        numbers = {secret: f"{i} {family}" for i, (family, _, secret) in enumerate(planted)}
        patterns, said = self.world.path("patterns.txt"), self.world.path("said.txt")
        with open(patterns, "w") as file:
            file.write("\n".join(sorted(numbers)) + "\n")
        with open(said, "wb") as file:
            file.write(b"\n".join(self.said))
        places = {"the store": self.world.path("data"), "the state": self.world.path("state"), "the log": self.server.errors_path, "the answers": said, "temporary files": self.world.path("tmp"), "the cache": self.world.path("cache")}
        found = {}
        for what, where in places.items():
            out = subprocess.run(["grep", "-raohF", "-f", patterns, where], capture_output=True, text=True, errors="replace").stdout
            if out:
                found[what] = sorted({numbers.get(line, line[:6]) for line in out.splitlines()})
        os.remove(patterns)
        self.assertEqual(found, {})


class GluedTest(SecretsCase):
    def test_secrets_behind_everything_that_ends_a_word_are_found_nowhere(self):
        planted = secrets_made.glued(15)
        entries = []
        for i, (_, text, _) in enumerate(planted):
            quoted = secrets_made.quoted(text, i % 5)
            entries.append([entry(quoted), entry(quoted, "tool"), {"type": "message", "body": {"role": "assistant", "content": "", "tool_calls": [{"name": "bash", "arguments": secrets_made.nested(text, 1 + i % 4)}]}}][i % 3])
        for at in range(0, len(entries), 100):
            self.put_entries("bodies", entries[at : at + 100])
        for i, (_, text, _) in enumerate(planted[::40]):
            path = self.world.file(f"f{i}.txt", f"one\n{text}\nthree\n")
            self.assertEqual(self.server.ask("POST", "/v1/sessions/reads/read", {"path": path}).status, 200)
        self.look_at_everything()
        self.nowhere(planted)


class SecretsTest(SecretsCase):
    def test_s07_200_secrets_through_every_channel_are_found_nowhere(self):
        planted = secrets_made.made(200)
        text = lambda i: planted[i][1]  # noqa: E731
        alone = secrets_made.bare(200)
        secret = lambda i: alone[i][2]  # noqa: E731
        # 0 to 69: bodies: content, blocks, arguments, keys, large texts that become blobs.
        entries = []
        for i in range(0, 70, 7):
            entries += [
                entry(text(i)), entry([{"type": "text", "text": text(i + 1)}, {"type": "image", "data": text(i + 2)}]), entry("L" * 40000 + "\n" + text(i + 5) + "\n" + "M" * 40000), entry(text(i + 6), "tool", id=f"r{i}"),
                {"type": "message", "body": {"role": "assistant", "content": "", "tool_calls": [{"name": "bash", "arguments": {"command": text(i + 3), "deep": [[[{"x": text(i + 3)}]]]}}]}},
                {"type": "custom", "body": {"custom_type": "x", "data": {text(i + 4): 1, "also": {text(i + 4): text(i + 4)}}}},
            ]  # fmt: skip
            entries[-3]["body"]["tool_call_id"] = "c"
        self.put_entries("bodies", entries)
        # 70 to 99: files that are read: the text is shown, none of it is kept; then changed, read again.
        for i in range(70, 100):
            path = self.world.file(f"f{i}.txt", f"one\n{text(i)}\nthree\n")
            for _ in range(2):
                answer = self.server.ask("POST", "/v1/sessions/reads/read", {"path": path})
                self.assertEqual(answer.status, 200, answer)
            with open(path, "a") as file:
                file.write("four\n")
            self.assertEqual(self.server.ask("POST", "/v1/sessions/reads/read", {"path": path}).status, 200)
        # 100 to 139: an import.
        rows = [compact({"type": "session", "version": 3, "id": "imported", "timestamp": STAMP, "cwd": text(100), "note": {text(101): text(102)}})]
        for k, i in enumerate(range(103, 139, 6)):
            rows += [
                compact({"type": "message", "id": f"a{k}", "parentId": None, "timestamp": STAMP, "message": {"role": "user", "content": text(i), "extra": text(i)}}),
                compact({"type": "message", "id": f"b{k}", "parentId": f"a{k}", "timestamp": STAMP, "message": {"role": "toolResult", "toolCallId": "c", "toolName": text(i + 1), "content": [{"type": "text", "text": text(i + 2)}], "details": {"out": text(i + 1)}}}),
                compact({"type": "strange", "id": f"c{k}", "parentId": f"b{k}", "timestamp": STAMP, "data": {text(i + 3): text(i + 3)}}), '{"type":"message", ' + compact(text(i + 4)),
                compact({"type": "compaction", "id": f"d{k}", "parentId": f"b{k}", "timestamp": STAMP, "summary": text(i + 5), "firstKeptEntryId": f"b{k}", "tokensBefore": 1}),
            ]  # fmt: skip
        self.ask("POST", "/v1/sessions/imported/import?format=pi", "\n".join(rows) + "\n", headers={"Content-Type": "application/x-ndjson"}, status=(200, 201))
        # 140 to 199 and as many alone: errors, headers, URLs, names.
        for i in range(140, 170):
            one, bare = text(i), secret(i)
            self.ask("POST", "/v1/sessions/e/entries", ('{"entries":[{"type":"message","body":{"role":' + compact(one) + "}}]}").encode())
            self.ask("POST", "/v1/sessions/e/entries", ('{"entries":[{"type":"message","body":{' + compact(one)).encode())
            self.ask("POST", "/v1/sessions/e/entries", {one: 1, "entries": [{"type": one, "body": {one: one}, "id": one, "parent": one}]})
            self.ask("POST", "/v1/sessions/bodies/notes", {"kind": one})
            self.ask("PUT", "/v1/sessions/bodies/heads/main", {"entry": bare})
            self.ask("POST", "/v1/sessions/bodies/read", {"path": os.path.join(self.world.cwd, bare)})
            self.ask("POST", "/v1/sessions/bodies/entries", {"entries": [entry("x")], "expect": bare})
        for i in range(170, 200):
            one, bare = text(i).replace("\n", " "), secret(i)
            self.ask("GET", "/v1/sessions/" + part(bare))
            self.ask("GET", "/v1/sessions/bodies/entries/" + part(one))
            self.ask("GET", f"/v1/sessions/bodies/entries?{part(one)}={part(bare)}")
            self.ask("GET", f"/v1/sessions/bodies/entries?cursor={part(bare)}&head={part(one)}&type={part(bare)}")
            self.ask("GET", f"/v1/sessions/bodies/history?q={part(bare)}")
            self.ask("GET", f"/v1/sessions/bodies/stages/{part(bare)}")
            self.ask("GET", "/" + part(bare))
            self.ask("GET", "/v1/sessions", headers={"User-Agent": one, "traceparent": bare, "X-Other": one, "Referer": "https://example.org/" + bare})
            self.ask("GET", "/v1/sessions", headers={"Authorization": "Bearer " + bare})
            self.ask("GET", "/v1/sessions", headers={"Host": bare})
            self.ask("GET", "/v1/sessions", headers={"Origin": "http://" + bare})
            self.ask("GET", "/v1/sessions", headers={"Accept": bare, "If-None-Match": f'"{bare}"'})
            self.ask("POST", "/v1/sessions/bodies/entries", {"entries": [entry("x")]}, headers={"Idempotency-Key": bare}, status=(201, 422))
            self.ask("GET", "/v1/sessions/bodies/events", headers={"Last-Event-ID": "x" + bare})
            self.server.raw(bare.encode() + b" / HTTP/1.1\r\nConnection: close\r\n\r\n", timeout=3)
        # Names that hold one.
        for i in range(0, 20):
            path = self.world.file(f"d/{secret(i)}.txt", "one\n")
            self.server.ask("POST", "/v1/sessions/names/read", {"path": path})
            self.server.ask("POST", "/v1/sessions/names/refresh", {"path": path})
            self.ask("POST", "/v1/sessions", {"id": secret(i)})
        # Over /mcp, in arguments and names.
        for i in range(20, 40):
            self.server.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": secret(i), "params": {secret(i): text(i)}}, headers={"Accept": "application/json, text/event-stream", "Mcp-Session-Id": secret(i)})
        self.look_at_everything()
        self.assertTrue(self.server.alive, self.server.errors[-2000:])
        self.nowhere(planted + alone)
        self.stopped()
        self.nowhere(planted + alone)
        self.sound()

    def test_s07_the_token_is_nowhere_but_in_its_file(self):
        token = self.server.token
        self.put_entries("s", [entry("x")])
        self.ask("GET", "/v1/sessions", headers={"Authorization": "Bearer " + token + "x"}, status=401)
        self.ask("GET", "/v1/sessions?token=" + token, status=400)
        self.ask("GET", "/v1/sessions?access_token=" + token, token=False, status=401)
        self.server.ask("GET", "/" + token)
        self.ask("GET", "/metrics", status=200)
        with open(f"/proc/{self.server.pid}/cmdline", "rb") as file:
            self.assertNotIn(token.encode(), file.read())
        self.assertNotIn(token, self.server.errors)
        self.assertEqual([said for said in self.said if token.encode() in said], [])
        where = self.server.told["token_file"]
        found = subprocess.run(["grep", "-rlF", "-e", token, self.world.path("data"), self.world.path("state"), self.server.errors_path], capture_output=True, text=True).stdout.split()
        self.assertEqual(found, [where])
        self.assertEqual(os.stat(where).st_mode & 0o777, 0o600)
        self.assertEqual(where, self.world.path("state", "weir", "token"))
        self.assertRegex(token, r"^[A-Za-z0-9_-]{43}=?$")

    def test_case_35_a_secret_in_each_place_is_a_mark_and_nothing_else_is_lost(self):
        secret = secrets_made.bare(3)[1][2]
        password = "Zq7" + "hunterHunter9"
        self.put_entries("s", [entry(f"before {secret} after", id="t1"), entry(f"go to postgres://bob:{password}@db.example/x?y=1#z now", id="t2"), {"type": "custom", "id": "t3", "body": {"data": {"password": password, "user": "bob"}}}])
        self.assertEqual(self.get("/v1/sessions/s/entries/t1")["body"]["content"], f"before {MARK} after")
        self.assertEqual(self.get("/v1/sessions/s/entries/t2")["body"]["content"], f"go to postgres://bob:{MARK}@db.example/x?y=1#z now")
        self.assertEqual(self.get("/v1/sessions/s/entries/t3")["body"]["data"], {"password": MARK, "user": "bob"})
        self.nowhere([("a", "", secret), ("b", "", password)])

    def test_case_35_masking_twice_changes_nothing(self):
        planted = secrets_made.made(60)
        first = self.put_entries("one", [entry(text, id=f"a{i}") for i, (_, text, _) in enumerate(planted)])
        masked = [self.get(f"/v1/sessions/one/entries/a{i}")["body"] for i in range(60)]
        second = self.put_entries("two", [{"type": "message", "id": f"a{i}", "body": body} for i, body in enumerate(masked)])
        self.assertEqual([one["digest"] for one in first["entries"]], [one["digest"] for one in second["entries"]])
        for body in masked:
            self.assertIn(MARK, body["content"])


if __name__ == "__main__":
    server.main()
