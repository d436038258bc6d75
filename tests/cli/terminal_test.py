"""S14: text from data never steers a terminal, nor a log that is read on one."""

import re

import harness
from harness import CliTest, compact, entry, jsonl

# Escape, bidi, zero-width and other sequences that have fooled terminals and readers.
SEQUENCES = [
    "\x1b[2J", "\x1b[31mred", "\x1b[1;1H", "\x1b]0;title\x07", "\x1b]52;c;c2VjcmV0\x07", "\x1b]8;;http://evil.example\x1b\\", "\x1bc", "\x1b[?1049h", "\x1b[6n", "\x1bP+q\x1b\\", "\x1b[5i", "\x1b%G",
    "\x9b2J", "\x9d0;title\x9c", "\x90q\x9c", "\x85next", "\r\x1b[K", "over\rwritten", "back\b\b\b", "bell\x07", "\x0e\x0f", "form\x0cfeed", "vertical\x0btab", "nul\x00byte", "del\x7f",
    "\u202eright to left", "\u202dleft", "\u2066isolate\u2069", "\u2067rli", "\u2068fsi", "\u200emark\u200f", "\u061calm", "\u200bzero\u200cwidth\u200d", "\u2060joiner", "\ufeffbom", "\u00adsoft", "\u2028line\u2029paragraph",
    "\U000e0041tag", "\ufff9anchor\ufffb", "\u180evowel",
]  # fmt: skip
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")


class TerminalTest(CliTest):
    def raw(self, data, ours=True):
        """What of these bytes would steer a terminal, our own colours aside."""
        text = data.decode("utf-8", "surrogateescape")
        if ours:
            text = re.sub(r"\x1b\[(0|1|2|31|32|33|34|35|36)?m", "", text)
        found = FORBIDDEN.findall(text)
        return found + [c for c in text if 0xDC80 <= ord(c) <= 0xDCFF]

    def views(self, session="s"):
        return [["log"], ["log", "--reverse"], ["tree"], ["tree", "--all-types"], ["stats"], ["session", "list"], ["session", "show", session], ["head", "list"], ["export"], ["export", "--format", "pi"], ["verify", "--no-progress"]]

    def nothing_raw(self, session="s", extra=()):
        for args in self.views(session) + list(extra):
            where = [] if args[0] in ("verify",) or args[:2] == ["session", "list"] else ["--session", session] if args[:2] != ["session", "show"] else []
            for env in ({}, {"NO_COLOR": "1"}):
                ran = self.world.terminal(*args, *where, env=env)
                self.assertEqual(ran.code, 0, ran)
                self.assertEqual(self.raw(ran.out, ours=not env), [], (args, ran.out[:2000]))
            piped = self.world.run(*args, *where)
            if args[0] != "export" and "--raw" not in args:
                self.assertEqual(self.raw(piped.out + piped.err), [], (args, piped.out[:2000]))

    def test_the_list_holds_forty_sequences(self):
        self.assertEqual(len(SEQUENCES), 40)
        self.assertEqual([s for s in SEQUENCES if not FORBIDDEN.search(s)], [])

    def test_forty_sequences_in_every_text_of_an_entry(self):
        lines = []
        for i, sequence in enumerate(SEQUENCES):
            lines += [
                entry(f"{sequence} begins", id=f"m{i}"),
                entry("x", role="tool", id=f"t{i}") | {"body": {"role": "tool", "name": sequence, "tool_call_id": sequence, "content": f"ends {sequence}", "is_error": True}},
                {"type": "message", "body": {"role": "assistant", "content": [{"type": "text", "text": sequence}], "tool_calls": [{"name": sequence, "arguments": {sequence: sequence}}]}},
                {"type": "label", "body": {"target": f"m{i}", "label": sequence}},
                {"type": "compaction", "body": {"summary": sequence, "reason": sequence}},
                {"type": "custom", "body": {"custom_type": sequence, "data": {sequence: sequence}}},
                {"type": "session_info", "body": {"name": sequence, "cwd": sequence}},
                {"type": "branch_summary", "body": {"summary": sequence}},
                {"type": "context_edit", "body": {"target": sequence, "replacement": sequence}},
                {"type": "odd", "body": {"any": sequence}},
            ]
        self.weir("append", "--session", "s", stdin=jsonl(lines))
        self.nothing_raw(extra=[["show", "main"], ["show", "main", "--raw"], ["show", "main", "--resolve"], ["show", "m3"], ["show", "main~8"], ["show", "main~5", "--raw"]])
        # It is all there, unharmed, for whoever asks for data.
        stored = [line["body"]["any"] for line in self.log("s", "--reverse", "--type", "odd")]
        self.assertEqual(stored, SEQUENCES)

    def test_all_256_byte_values(self):
        """As code points in JSON, and as bytes of a file that is no UTF-8."""
        self.weir("append", "--session", "s", stdin=jsonl(entry(f"[{chr(i)}] {chr(i)}") for i in range(256)))
        self.nothing_raw()
        self.assertEqual(self.tell(), [f"[{chr(i)}] {chr(i)}" for i in range(256)])
        header = compact({"type": "session", "version": 3, "id": "bytes", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}).encode()
        rows = [b'{"type":"x","text":"' + bytes([i]) + b'"}' for i in range(256) if i != 10]
        ran = self.world.terminal("import", "pi", self.world.file("bytes.jsonl", b"\n".join([header, *rows]) + b"\n"), "--no-progress")
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.raw(ran.out), [], ran.out)
        self.nothing_raw("bytes", extra=[["show", "l3"], ["show", "l200"], ["show", "l250", "--raw"]])

    def test_ids_and_names_of_files(self):
        for i, sequence in enumerate(SEQUENCES):
            identity = f"{i}-" + "".join(c for c in sequence if not c.isspace() and not (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or ord(c) in (0x2028, 0x2029)))
            self.weir("append", "--session", "s", stdin=compact(entry("x", id=identity)))
        self.nothing_raw(extra=[["show", "main"], ["show", "main~12"], ["show", "main~14"]])
        for text in ("\x1b[31mname", "\u202ename", "line\nfeed", "\x9bname", "c1\x85"):
            header = compact({"type": "session", "version": 3, "id": "file", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": text})
            ran = self.world.terminal("import", "pi", self.world.file(f"{text}.jsonl", header + "\n"), "--as", "file", "--no-progress")
            self.assertEqual(ran.code, 0, ran)
            self.assertEqual(self.raw(ran.out), [], ran.out)
            for args in (["session", "list"], ["session", "show", "file"]):
                self.assertEqual(self.raw(self.world.terminal(*args).out), [])
            self.weir("purge", "--session", "file", "--yes")

    def test_blobs_and_their_previews(self):
        text = "".join(SEQUENCES) * 600
        self.append(text)
        blob = self.answer("show", "main", "--session", "s")["body"]["content"]["$blob"]
        self.nothing_raw(extra=[["show", "main", "--resolve"]])
        shown = self.world.terminal("show", blob)
        self.assertEqual(self.raw(shown.out), [])
        self.assertEqual(self.weir("show", blob).out.decode(), text)

    def test_error_messages(self):
        self.append("x")
        every = "".join(s for s in SEQUENCES if "\x00" not in s)
        asked = [
            ["show", every, "--session", "s"], ["log", "--session", every], [every], ["log", f"--{every}"], ["head", "move", every, "x", "--session", "s"], ["import", "pi", every], ["import", every, "x"],
            ["config", "show", every], ["append", every], ["backup", every, every], ["log", "--since", every], ["sync", "--format", every, "--file", every], ["verify", "--sample", every],
            ["log", "--session", "s", "--at", every], ["append", "--session", "s", "--expect", every], ["purge", "--session", every, "--yes"], ["completions", every], ["help", every],
        ]  # fmt: skip
        for args in asked + [["show", sequence, "--session", "s"] for sequence in SEQUENCES if "\x00" not in sequence]:
            for extra in ([], ["--json"]):
                ran = self.world.terminal(*args, *extra, env={"NO_COLOR": "1"}, stdin=False)
                self.assertNotEqual(ran.code, 0, ran)
                self.assertEqual(self.raw(ran.out, ours=False), [], ran)
        for sequence in SEQUENCES:
            bad = {"type": "message", "body": {"role": sequence, sequence: 1}, sequence: sequence, "id": sequence, "at": sequence, "parent": sequence}
            ran = self.world.run("append", "--session", "s", stdin=compact(bad))
            self.assertNotEqual(ran.code, 0)
            self.assertEqual(self.raw(ran.err), [], ran)

    def test_configuration(self):
        for sequence in SEQUENCES:
            self.world.user_config(f"read.deny = [{compact(sequence) if not any(0x7F <= ord(c) < 0xA0 for c in sequence) else chr(34) + 'x' + chr(34)}]\n")
            for args in (["config", "show", "--origin"], ["config", "path"]):
                ran = self.world.terminal(*args)
                if ran.code == 0:
                    self.assertEqual(self.raw(ran.out), [], ran)
        for sequence in SEQUENCES[25:]:
            self.world.user_config("")
            self.world.project_config(f'read.roots = ["/{sequence}"]\n')
            self.assertEqual(self.raw(self.world.terminal("config", "check").out), [])
            self.assertEqual(self.raw(self.world.terminal("doctor").out), [])

    def test_json_output_escapes_what_json_must_and_nothing_else_leaks_to_stderr(self):
        self.weir("append", "--session", "s", stdin=jsonl(entry(s) for s in SEQUENCES))
        ran = self.world.run("log", "--session", "s", "--json")
        self.assertEqual([c for c in ran.out if c < 0x20 and c != 10], [])
        self.assertEqual(ran.err, b"")


if __name__ == "__main__":
    harness.main()
