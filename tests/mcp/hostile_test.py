"""Hostile data over MCP: nothing but JSON on stdout and no raw control in the log (S14), names that look like statements
(S15), and secrets that must not be kept or told (S7, case 35)."""

import subprocess

import client
import injection_test as cli_injection  # of the command line tests: its strings
import secrets_made
from client import NOVEMBER, Http, McpTest, modern

SEQUENCES = [
    "\x1b[2J", "\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "\x1bP1$r0m\x1b\\", "\x1b_Gx\x1b\\", "\x1b^x\x1b\\", "\x1bX\x1b\\", "\x9b31m", "\x9d0;x\x9c", "\x90x\x9c", "\x07", "\x08\x08\x08", "\x7f", "\r", "\r\n",
    "\n", "\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\u202e", "\u202a\u202b\u202c\u202d", "\u2066\u2067\u2068\u2069", "\u200b", "\u200e\u200f", "\u2060", "\ufeff", "\u00ad", "\u061c", "\u180e", "\x00",
    "\x1a", "\x04", "\x1b[?1049h", "\x1b[6n", "\x1bc", "\U000e0041", "\x1b[200~", "\x0e\x0f",
]  # fmt: skip
RAW = {*range(0x00, 0x0A), *range(0x0B, 0x20), 0x7F, *range(0x80, 0xA0), 0xAD, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, *range(0xE0000, 0xE0080)}


class ControlsTest(McpTest):
    def hostile(self):
        return [f"a{chr(i)}b" for i in range(256)] + [f"a{s}b" for s in SEQUENCES]

    def log_is_clean(self, data):
        text = data.decode("utf-8")
        found = sorted({f"{ord(c):x}" for c in text if ord(c) in RAW})
        self.assertEqual(found, [])

    def use(self, peer, text):
        """The text in every place a client can put it."""
        peer.call("note", kind="question", text=text, session="s")
        peer.call("note", kind="claim", text="x", id=text, session="s")
        peer.call("history", query=text, session="s")
        for arguments in ({"path": text}, {"path": f"nope/{text}"}, {"path": "a.txt", "session": text}, {"path": "a.txt", "session": "s", "head": text}, {"path": "a.txt", text: 1}):
            peer.call("read", **arguments)
        peer.call("context", session="s", at=text)
        peer.ask("tools/call", {"name": text, "arguments": {}})
        peer.ask("resources/read", {"uri": "weir://session/" + text})
        peer.ask("prompts/get", {"name": text, "arguments": {"session": text}})
        peer.ask("completion/complete", {"ref": {"type": "ref/prompt", "name": "resume-work"}, "argument": {"name": "session", "value": text}})

    def test_s14_every_line_of_stdout_is_json_and_the_log_has_no_raw_control(self):
        self.assertGreaterEqual(len(SEQUENCES), 40)
        self.append("x")
        self.world.file("a.txt", "A")
        for args, revision in ((["--verbose"], None), ([], NOVEMBER)):
            peer = self.mcp(*args, env={"WEIR_LOG": "debug"})
            if revision:
                peer.handshake(revision)
            for i, text in enumerate(self.hostile()):
                if revision is None or i % 8 == 0 or i >= 256:
                    self.use(peer, text)
                    peer.ask(f"method {text}", {})
            self.assertEqual(peer.finish(), 0)
            self.assertEqual(peer.junk, [])
            for line in peer.raw:
                self.assertFalse(set(line[:-1]) & set(range(0x20)), line[:200])
            self.log_is_clean(peer.errors())

    def test_s14_file_contents_come_through_as_they_are(self):
        peer = self.mcp()
        for i, text in enumerate(SEQUENCES):
            self.world.file("x.txt", text)
            self.assertEqual(peer.text("read", path="x.txt"), text, i)
        self.assertEqual(peer.finish(), 0)

    def test_s14_the_log_of_serve_has_no_raw_control(self):
        self.append("x")
        served = self.serve("--verbose", env={"WEIR_LOG": "debug"})
        peer = Http(served)
        for text in SEQUENCES:
            message = modern("tools/call", {"name": "read", "arguments": {"path": f"/nope/{text}"}})
            peer.post(message)
            message = modern("tools/call", {"name": "note", "arguments": {"kind": "claim", "text": text, "session": "s"}})
            peer.post(message)
        peer.alive()
        self.assertEqual(served.terminate(), 0)
        self.log_is_clean(served.errors())


class StatementsTest(McpTest):
    def test_s15_strings_that_look_like_statements_are_data(self):
        self.append("one", session="s")
        self.append("two", session="t")
        before = self.world.dump()
        peer = self.mcp()
        for text in cli_injection.STRINGS:
            with self.subTest(text=text):
                for tool, arguments in [
                    ("status", {"session": text}), ("status", {"session": "s", "head": text}), ("context", {"session": "s", "at": text}), ("compact", {"session": "s", "head": text}),
                ]:  # fmt: skip
                    self.assertIn(peer.failed(tool, **arguments)["code"], ("INVALID_FIELD", "NOT_FOUND"))
                result = peer.call("history", query=text, session="s")
                if result.get("isError"):
                    peer.failure_in(result, "INVALID_FIELD")
                peer.failed("history", "INVALID_FIELD", query="x", session="s", cursor=text)
                for method, params in (("resources/read", {"uri": f"weir://session/{text}"}), ("resources/list", {"cursor": text}), ("prompts/get", {"name": "resume-work", "arguments": {"session": text}})):
                    peer.error(method, params, client.PARAMS)
                values = peer.ok("completion/complete", {"ref": {"type": "ref/prompt", "name": "resume-work"}, "argument": {"name": "session", "value": text}})["completion"]["values"]
                self.assertEqual(values, [])
        self.assertEqual(self.world.dump(), before)
        self.sound()

    def test_s15_claims_with_such_ids_and_texts_are_kept_as_they_are(self):
        peer = self.mcp("--session", "s")
        for i, text in enumerate(cli_injection.STRINGS):
            peer.data("note", kind="claim", text=text, id=f"{i}{text}")
        bodies = [e["body"] for e in self.log("s", "--reverse", "--limit", "500")]
        self.assertEqual([(b["claim_id"], b["statement"]) for b in bodies], [(f"{i}{t}", t) for i, t in enumerate(cli_injection.STRINGS)])
        self.sound()


class SecretsTest(McpTest):
    def nowhere(self, secrets, *more):
        patterns = self.world.path("patterns.txt")
        with open(patterns, "w") as file:
            file.write("\n".join(secrets) + "\n")
        found = subprocess.run(["grep", "-raoF", "-f", patterns, self.world.path("data"), self.world.path("state")], capture_output=True, text=True)
        self.assertEqual(len(found.stdout.splitlines()), 0, "in the store's files")
        for name, data in more:
            text = data.decode("utf-8", "replace")
            self.assertEqual([i for i, secret in enumerate(secrets) if secret in text], [], name)

    def test_s7_secrets_through_every_argument_are_nowhere_afterwards(self):
        planted = secrets_made.bare(60)
        secrets = [secret for _, _, secret in planted]
        self.append("x")
        served = self.serve("--verbose", env={"WEIR_LOG": "debug"})
        peers = [self.mcp("--verbose", env={"WEIR_LOG": "debug"}), self.legacy(NOVEMBER), Http(served)]
        for i, secret in enumerate(secrets):
            peer = peers[i % 3]
            peer.call("note", kind="claim", text=f"the key is {secret}", session="s")
            peer.call("note", kind="question", text=secret, id=f"q {secret}", session="s")
            peer.call("note", kind="failure", category="x", where=f"at {secret}", text=f"why {secret}", session="s")
            peer.call("note", kind="next", refs=[f"use {secret}"], session="s")
            peer.call("history", query=f'"{secret}"', session="s")
            peer.call("read", path=f"{self.world.cwd}/nope-{secret}", session="s")
            peer.call("read", path="x", session=f"s{secret}"[:100], nope=secret, **{secret: 1})
            peer.call("context", session="s", at=secret)
            peer.ask("tools/call", {"name": secret, "arguments": {}})
            peer.ask("prompts/get", {"name": secret})
            if not isinstance(peer, Http):
                peer.ask(f"weir/{secret}", {})
        answers = [("stdout", b"".join(peers[0].raw + peers[1].raw)), ("stderr", peers[0].errors() + peers[1].errors())]
        for peer in peers[:2]:
            self.assertEqual(peer.finish(), 0)
        metrics = served.get("/metrics", headers={"Accept": "*/*"})
        self.assertEqual(metrics.status, 200, metrics)
        self.assertEqual(served.terminate(), 0)
        self.nowhere(secrets, *answers, ("metrics", metrics.body), ("log of serve", served.errors()))

    def test_s7_a_file_with_a_secret_is_shown_and_not_kept(self):
        secret = secrets_made.bare(1)[0][2]
        text = f"key = {secret}\nother = 1\n"
        self.world.file("settings.txt", text)
        self.follow("s")
        peer = self.mcp("--session", "s")
        self.assertEqual(peer.text("read", path="settings.txt"), text)  # what the model is shown is the real text
        self.assertEqual(peer.text("read", path="settings.txt"), "[readcache: unchanged, 3 lines]")
        self.world.file("settings.txt", text.replace("other = 1", "other = 2"))
        self.assertEqual(peer.text("read", path="settings.txt"), text.replace("other = 1", "other = 2"))  # never a base for a diff
        self.assertEqual(peer.finish(), 0)
        self.nowhere([secret], ("stderr", peer.errors()))

    def test_s7_a_secret_behind_what_ends_a_word_is_nowhere_afterwards(self):
        planted = secrets_made.glued(16, ["\n", "\\n", "\\u000a", "\x1b[32m", "%0A", "_"])
        peer = self.mcp("--session", "s")
        for i, (_, text, _) in enumerate(planted):
            quoted = secrets_made.quoted(text, i % 5)
            [lambda: peer.call("note", kind="claim", text=quoted), lambda: peer.call("note", kind="failure", category="x", where="y", text=quoted), lambda: peer.call("note", kind="next", refs=[quoted])][i % 3]()  # noqa: B023
        self.assertEqual(peer.finish(), 0)
        self.assertGreater(len(self.log()), len(planted) // 2)
        self.nowhere([secret for _, _, secret in planted], ("stdout", b"".join(peer.raw)), ("stderr", peer.errors()))

    def test_s7_a_secret_in_a_claim_is_replaced_by_the_mark(self):
        secret = secrets_made.bare(1)[0][2]
        peer = self.mcp("--session", "s")
        peer.data("note", kind="claim", text=f"before {secret} after")
        self.assertEqual(self.log()[0]["body"]["statement"], "before ***REDACTED*** after")


if __name__ == "__main__":
    client.main()
