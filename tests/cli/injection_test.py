"""S15: whatever stands in a filter, an id or a name is data, never part of a statement or a path."""

import os

import harness
from harness import CliTest, compact, entry, jsonl

STRINGS = [
    "'", "''", '"', "`", ";", "--", "/*", "*/", "' OR '1'='1", "' OR 1=1 --", "'; DROP TABLE entry; --", '"; DROP TABLE session; --', "1; DELETE FROM head", "' UNION SELECT body FROM entry --", "x' AND 1=0 UNION SELECT 1 --",
    "%", "_", "%%%%", "____", "a%", "*", "?", "[a-z]*", "\\", "\\'", "$1", ":1", "@p", "?1", "NULL", "null", "0", "-1", "1e9", "NaN", "' || (SELECT sql FROM sqlite_schema) || '", "ATTACH DATABASE '/tmp/x' AS x",
    "PRAGMA user_version=9", "load_extension('x')", "../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "~", "~1", "main~~1", "main~-1", "main~0x1", "{}", "[]", "${HOME}", "$(id)", "`id`", "|id", "&& id", "<x>", "ｆｕｌｌ", "é", "e\u0301", "ﬁ", "İ",
]  # fmt: skip


class InjectionTest(CliTest):
    def setUp(self):
        super().setUp()
        self.weir("append", "--session", "s", stdin=jsonl([entry("one", id="aaaa1"), entry("two", id="aaaa2"), {"type": "compaction", "id": "cccc1", "body": {"summary": "x"}}]))
        self.append("other", session="t")
        self.before = self.world.dump()

    def test_every_filter_and_name_that_reads(self):
        """Each place gets every third string, each string a third of the places."""
        for i, text in enumerate(STRINGS):
            with self.subTest(text=text):
                for args in [
                    ["show", "--session", "s", "--", text], ["log", "--session", "s", f"--head={text}"], ["log", "--session", "s", f"--at={text}"], ["log", f"--session={text}"], ["session", "show", "--", text],
                    ["tree", f"--session={text}"], ["stats", "--session", "s", f"--at={text}"], ["export", "--session", "s", f"--at={text}"], ["show", "--", "sha256:" + text], ["verify", f"--session={text}"],
                    ["log", "--session", "s", f"--type={text}"],
                ][i % 3 :: 3]:  # fmt: skip
                    ran = self.world.run("--json", *args)
                    self.assertIn(ran.code, (4, 6), ran)
                    self.assertEqual(ran.out, b"", ran)
                if i % 3 == 0:
                    self.refused("USAGE", "log", "--session", "s", f"--since={text}", unchanged=False)
        self.assertEqual(self.world.dump(), self.before)

    def test_every_name_that_writes(self):
        for i, text in enumerate(STRINGS):
            with self.subTest(text=text):
                for args in [
                    ["head", "move", "--session", "s", "main", "--", text], ["head", "move", "--session", "s", "--", text, "aaaa1"], ["tree", "--session", "s", f"--goto={text}"], ["purge", f"--session={text}", "--yes"],
                    ["purge", f"--blob={text}", "--yes"], ["head", "delete", "--session", "s", "--yes", "--", text], ["head", "move", "--session", "s", f"--expect={text}", "main", "aaaa1"],
                    ["append", "--session", "s", "--type", "x", f"--parent={text}"],
                ][i % 3 :: 3]:  # fmt: skip
                    ran = self.world.run("--json", *args, stdin="{}")
                    self.assertIn(ran.code, (4, 5, 6), ran)
                    self.assertEqual(ran.out, b"", ran)
        self.assertEqual(self.world.dump(), self.before)

    def test_ids_that_look_like_statements_are_ids(self):
        usable = [text for text in STRINGS if not any(c.isspace() for c in text)]
        self.weir("append", "--session", "odd", stdin=jsonl(entry(f"content of {text}", id=text) for text in usable))
        for text in usable:
            shown = self.answer("show", "--session", "odd", "--", text)
            self.assertEqual((shown["id"], shown["body"]["content"]), (text, f"content of {text}"))
        self.assertEqual([line["id"] for line in self.log("odd", "--reverse")], usable)
        self.sound()

    def test_content_and_keys_that_look_like_statements_are_content(self):
        self.weir("append", "--session", "odd", stdin=jsonl({"type": "custom", "body": {"custom_type": text, "data": {text: text}}} for text in STRINGS))
        self.assertEqual([line["body"] for line in self.log("odd", "--reverse")], [{"custom_type": text, "data": {text: text}} for text in STRINGS])
        self.weir("stats", "--session", "odd")
        self.sound()

    def test_prefixes_are_no_patterns(self):
        self.append("x", session="p", id="abcd%efgh")
        self.append("y", session="p", id="abcdXefgh")
        self.assertEqual(self.answer("show", "abcd%", "--session", "p")["id"], "abcd%efgh")
        self.refused("NOT_FOUND", "show", "a___", "--session", "p")
        self.refused("NOT_FOUND", "show", "ABCD", "--session", "p")
        self.refused("NOT_FOUND", "show", "[a]bcd", "--session", "p")

    def test_imported_and_synced_names(self):
        stamp = "2026-01-01T00:00:00.000Z"
        header = {"type": "session", "version": 3, "id": "imp", "timestamp": stamp, "cwd": STRINGS[10], "parentSession": "/etc/passwd"}
        lines = [{"type": text, "id": f"{i}{text}", "parentId": None, "timestamp": stamp, "customType": text, text: text} for i, text in enumerate(STRINGS)]
        report = self.answer("import", "pi", self.world.file("odd.jsonl", jsonl([header, *lines])))
        self.assertEqual((report["entries"], report["malformed"]), (len(STRINGS), []))
        self.assertEqual(len(self.stream("export", "--session", "imp")[1]), len(STRINGS))
        usable = [line for line in lines if not any(c.isspace() for c in line["id"])]
        answer = self.answer("sync", "--format", "pi", stdin=compact({"session": "host", "since": None, "entries": usable, "leaf": usable[-1]["id"]}))
        self.assertEqual(answer["accepted"], len(usable))
        for text in STRINGS[::3]:
            self.assertEqual(self.world.run("--json", "sync", "--format", "pi", stdin=compact({"session": "host", "since": text, "entries": [], "leaf": text})).code, 4)
        self.sound()

    def test_the_session_name_never_becomes_a_path(self):
        for name in ("..", "../x", "a/b", "/etc", "a\\b", ".weir", "CON\x00"):
            if "\x00" in name:
                continue
            self.refused("INVALID_FIELD", "session", "new", "--", name)
        self.assertEqual(sorted(n for n in os.listdir(self.world.store) if not n.startswith("weir.db")), ["objects"])


if __name__ == "__main__":
    harness.main()
