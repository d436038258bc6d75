"""What reaches stdout and stderr: JSON of every command, colours, progress, quiet, help where it is asked for."""

import base64
import hashlib
import os
import threading
import time

import harness
from harness import CliTest, compact, entry, jsonl, screen

SAMPLE = os.path.join(harness.DATA, "pi-1.5.0-session.jsonl")
STAMP = "2026-01-01T00:00:00.000Z"


def long_session(lines, bytes_each=1000, identity="long"):
    """A session file of pi that takes a while to import, made fast."""
    out = [compact({"type": "session", "version": 3, "id": identity, "timestamp": STAMP, "cwd": "/"})]
    filler = "lorem ipsum dolor sit amet " * (bytes_each // 27 + 1)
    for i in range(lines):
        parent = f'"{i - 1:08x}"' if i else "null"
        out.append(f'{{"type":"message","id":"{i:08x}","parentId":{parent},"timestamp":"{STAMP}","message":{{"role":"user","content":"{i} {filler[:bytes_each]}"}}}}')
    return "\n".join(out) + "\n"


class JsonTest(CliTest):
    """--json of every command of the table: one object, or a stream from begin to end."""

    def commands(self):
        line = {"type": "message", "id": "aaaa0001", "parentId": None, "timestamp": STAMP, "message": {"role": "user", "content": "hi"}}
        request = compact({"format": "pi", "session": "host", "since": None, "entries": [line], "leaf": "aaaa0001"})
        s = ["--session", "s"]
        return [
            ("init", [], b"", 0), ("doctor", [], b"", 0), ("session list", [], b"", 0), ("session new", ["fresh"], b"", 0), ("session show", ["s"], b"", 0),
            ("append", s, jsonl([entry("hello")]), 0), ("log", s, b"", 0), ("tree", s, b"", 0), ("head list", s, b"", 0), ("head fork", ["other", *s], b"", 0),
            ("head move", ["other", "main~1", *s], b"", 0), ("head delete", ["other", "--yes", *s], b"", 0), ("show", ["main", *s], b"", 0),
            ("read", ["notes.txt", *s], b"", 0), ("refresh", ["notes.txt", "1-2", *s], b"", 0), ("reads", s, b"", 0), ("reads digest", s, b"", 0), ("import", ["pi", SAMPLE], b"", 0),
            ("compile", s, b"", 0), ("explain", s, b"", 0), ("context", s, b"", 0), ("diff", ["s", "s@main~1"], b"", 0),
            ("snapshot attach", s, b"", 0), ("due", s, b"", 1), ("note", ["question", "why?", *s], b"", 0), ("compact", s, b"", 0), ("snapshot list", s, b"", 0),
            ("snapshot show", ["1", *s], b"", 0), ("snapshot check", ["1", *s], b"", 0), ("snapshot narrative", ["2", *s], b"", 0), ("stop", s, b"", 0), ("resume", s, b"", 0),
            *self.research(),
            ("sync", ["--format", "pi"], request, 0), ("export", s, b"", 0), ("verify", [], b"", 0), ("anchor", [], b"", 0), ("gc", [], b"", 0), ("stats", s, b"", 0), ("history", ["one", *s], b"", 0), ("backup", [self.world.path("copy")], b"", 0),
            ("purge", ["--session", "fresh", "--yes"], b"", 0), ("config show", [], b"", 0), ("config check", [], b"", 0), ("config path", [], b"", 0), ("completions", ["fish"], b"", 0),
            ("token rotate", ["--yes"], b"", 0), ("token show", ["--yes"], b"", 0), ("help", [], b"", 0), ("demo", [], b"", 0),
        ]  # fmt: skip

    def research(self):
        run = ["--run", "quic"]
        cid = "cid_" + hashlib.sha256(b"https://example.com/study").hexdigest()
        contract = {"max_words": 900, "max_sources": 12, "tool_budget": {}, "must_include_sections": ["Findings", "Sources"]}
        one = {"id": "p1", "title": "Overview", "track": "standard", "agent_type": "Researcher", "prompt_contract": contract}
        document = compact({"schema_version": "perspectives.v1", "run_id": "quic", "created_at": "2026-01-01T00:00:00Z", "perspectives": [one]})
        output = self.world.file("p1.md", "## Findings\n- It was faster.\n\n## Sources\n- https://example.com/study\n")
        summary = self.world.file("p1.summary.md", f"## Findings\n- It was faster [@{cid}]. (confidence: 80)\n")
        report = "".join(f"## {name}\nIt was faster [@{cid}].\n\n" for name in ("Summary", "Key Findings", "Evidence", "Caveats"))
        return [
            ("research init", ["--query", "Is it faster?", *run], b"", 0), ("research perspectives", ["-", *run], document, 0), ("research ingest", ["--wave", "1", f"p1={output}", *run], b"", 0),
            ("research gate", ["B", *run], b"", 0), ("research cite", ["https://example.com/study", "--status", "valid", *run], b"", 0), ("research gate", ["C", *run], b"", 0),
            ("research summarize", [f"p1={summary}", *run], b"", 0), ("research pack", run, b"", 0), ("research gate", ["D", *run], b"", 0), ("research bundle", run, b"", 0),
            ("research check", ["-", *run], report, 0), ("research status", run, b"", 0), ("research verify", run, b"", 0),
        ]  # fmt: skip

    def setUp(self):
        super().setUp()
        self.world.file("notes.txt", "one\ntwo\n")
        self.weir("append", "--session", "s", stdin=jsonl([entry("one"), entry("x" * 70000), {"type": "compaction", "body": {"summary": "so far"}}]))
        self.table = {command["name"]: command for command in self.answer("help")["commands"]}

    def test_every_command_of_the_table_is_asked(self):
        self.assertEqual(sorted({name for name, *_ in self.commands()}), sorted(set(self.table) - {"mcp", "serve"}))  # those: serve_test

    def test_every_answer_is_one_object_or_a_stream_with_an_end(self):
        for name, args, stdin, code in self.commands():
            with self.subTest(command=name):
                ran = self.weir(*name.split(), *args, "--json", stdin=stdin, code=code)
                self.assertEqual(ran.err, b"")
                self.assertNotIn(b"\x1b", ran.out)
                if self.table[name]["stream"] and name != "import":
                    _, lines, end = self.split_stream(ran)
                    entries = [line for line in lines if "seq" in line]
                    if name in ("log", "tree", "export"):
                        self.assertEqual(end["count"], len(entries))
                        self.assertEqual(len(lines), len(entries))
                else:
                    self.assertEqual(ran.out.count(b"\n"), 1, ran)
                    self.assertIsInstance(harness.parse_line(ran.text), dict)

    def test_options_may_stand_before_the_command_and_after_its_arguments(self):
        for args in (["--json", "show", "main", "--session", "s"], ["show", "--session", "s", "--json", "main"], ["--session=s", "show", "main", "--json"]):
            self.assertEqual(harness.parse_line(self.weir(*args).text)["type"], "compaction")

    def test_two_dashes_end_the_options(self):
        self.answer("append", "--session", "s", "--type", "message", "--id=--json", stdin='{"role":"user","content":"an odd id"}')
        shown = self.weir("show", "--session", "s", "--", "--json")
        self.assertIn("an odd id", shown.text)
        self.assertIn("entry    --json\n", shown.text)

    def test_help_and_version_in_json(self):
        self.assertEqual(self.answer("--version"), {"name": "weir", "version": self.weir("--version").text.split()[1]})
        self.assertEqual(len(self.answer()["commands"]), len(self.table))
        self.assertEqual(len(self.answer("--help")["commands"]), len(self.table))
        self.assertIsInstance(self.answer("help", "--markdown"), dict)
        self.assertIsInstance(self.answer("help", "log", "--man"), dict)

    def test_an_error_after_the_begin_of_a_stream_leaves_it_without_an_end(self):
        """A cut stream is seen: here a blob that is gone stops an export as pi."""
        os.remove(self.world.objects()[0])
        ran = self.weir("export", "--session", "s", "--format", "pi", "--json", code=harness.EXITS["CORRUPT"])
        self.assertNotIn('"type":"end"', ran.text)
        self.assertEqual(harness.parse_line(ran.errors)["error"]["code"], "CORRUPT")

    def test_an_export_as_pi_is_a_stream_too_and_every_line_is_json(self):
        messy = os.path.join(harness.DATA, "pi-messy.jsonl")
        self.weir("import", "pi", messy)
        begin, lines, end = self.stream("export", "--session", "pi-messy", "--format", "pi")
        self.assertEqual((begin["format"], end["count"] + 1), ("pi", len(lines)))
        plain = self.weir("export", "--session", "pi-messy", "--format", "pi").out.rstrip(b"\n").split(b"\n")
        for line, text in zip(lines, plain, strict=True):
            if line["type"] == "text":
                self.assertEqual(line["text"].encode() if "text" in line else base64.b64decode(line["base64"]), text)
            else:
                self.assertEqual(line, harness.parse_line(text.decode()))

    def test_json_is_canonical_and_the_same_twice(self):
        for args in (["log", "--session", "s"], ["export", "--session", "s"], ["session", "list"], ["tree", "--session", "s"]):
            once, twice = self.weir(*args, "--json"), self.weir(*args, "--json", env={"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Tokyo", "TERM": "vt100", "COLUMNS": "20"})
            self.assertEqual(once.out, twice.out)
            for line in once.lines:
                value = harness.parse_line(line)
                self.assertEqual(list(value), sorted(value))

    def test_sizes_and_limits_of_options_are_checked(self):
        for args in (
            ["log", "--limit", "many"], ["log", "--limit", "-1"], ["log", "--since", "yesterday"], ["log", "--timeout", "1.5"], ["log", "--color", "pink"], ["verify", "--sample", "0%"],
            ["verify", "--sample", "101%"], ["verify", "--quick", "--sample", "5%"], ["export", "--format", "xml"], ["export", "--path", "--all"], ["export", "--all", "--at", "x"], ["log", "--json=yes"],
            ["log", "extra"], ["show"], ["head", "move", "main"], ["append", "--id", "x"], ["append", "--parent", "x"], ["log", "-x"], ["import", "pi"], ["session", "frobnicate"], ["head", "list", "extra"],
        ):  # fmt: skip
            with self.subTest(args=args):
                self.refused("USAGE", *args, "--session", "s", stdin=b"{}")
        self.assertEqual(self.weir("log", "--session", code=2).errors, "weir: USAGE: --session needs a value\n  help: weir help\n")

    def test_the_longest_timeout_is_long(self):
        self.append("x")
        for seconds in (2**63 - 1, 2**62, 18446744073709552):
            self.weir("log", "--session", "s", "--timeout", seconds)
            self.weir("append", "--session", "s", "--timeout", seconds, stdin=compact(entry("y")))

    def test_limit_is_at_most_that_many(self):
        for limit in (0, 1, 2, 3, 99):
            self.assertEqual(len(self.log("s", "--limit", limit)), min(limit, 3))


class ColourTest(CliTest):
    SHOWING = [["tree"], ["log"], ["history", "one"], ["show", "main"], ["stats"], ["session", "list"], ["session", "show", "s"], ["head", "list"], ["verify"], ["doctor"], ["config", "show", "--origin"], ["help"], ["help", "append"], ["demo"]]

    def setUp(self):
        super().setUp()
        self.weir("append", "--session", "s", stdin=jsonl([entry("one"), {"type": "compaction", "body": {"summary": "so far"}}, entry("two")]))
        self.bad = ["show", "nowhere", "--session", "s"]

    def test_a_terminal_gets_colours(self):
        """Or the tests below would prove nothing."""
        for args in self.SHOWING:
            self.assertIn(b"\x1b[", self.world.terminal(*args).out, args)
        self.assertIn(b"\x1b[31m", self.world.terminal(*self.bad).out)

    def test_a_pipe_gets_none(self):
        for args in self.SHOWING + [self.bad]:
            ran = self.world.run(*args)
            self.assertNotIn(b"\x1b", ran.out + ran.err, args)

    def test_no_colour_variables_and_options_leave_no_ansi_byte_on_a_terminal(self):
        for env, extra in (({"NO_COLOR": "1"}, []), ({"TERM": "dumb"}, []), ({}, ["--color", "never"]), ({}, ["--color=never"])):
            for args in self.SHOWING + [self.bad]:
                with self.subTest(env=env, extra=extra, args=args):
                    self.assertNotIn(b"\x1b", self.world.terminal(*args, *extra, env=env).out)

    def test_an_empty_no_color_is_none(self):
        self.assertIn(b"\x1b[", self.world.terminal("tree", env={"NO_COLOR": ""}).out)

    def test_stdout_and_stderr_are_judged_apart(self):
        ran = self.world.terminal("tree", stdout=False)
        self.assertNotIn(b"\x1b", ran.piped)
        ran = self.world.terminal(*self.bad, stderr=False)
        self.assertNotIn(b"\x1b", ran.err)

    def test_lines_fit_the_terminal(self):
        self.append("word " * 200)
        for columns in (80, 132):
            for args in (["log"], ["tree"]):
                for line in screen(self.world.terminal(*args, columns=columns).out):
                    self.assertLessEqual(len(line), columns, args)


class ProgressTest(CliTest):
    def setUp(self):
        super().setUp()
        self.path = self.world.file("long.jsonl", long_session(10000))

    def test_a_bar_on_a_terminal_leaves_no_trace(self):
        path = self.world.file("longer.jsonl", long_session(60000))  # so long that the bar is drawn more than once
        for env in ({}, {"NO_COLOR": "1"}):
            with self.subTest(env=env):
                ran = self.world.terminal("import", "pi", path, env=env)
                self.assertEqual(ran.code, 0, ran)
                self.assertIn("█".encode(), ran.out)
                self.assertIn(b" left", ran.out)
                shown = screen(ran.out)
                self.assertEqual(len(shown), 2, shown)
                self.assertTrue(shown[0].startswith("imported "), shown)
                self.assertTrue(shown[1].startswith("  lines 60,001"), shown)
                self.assertEqual(b"\x1b" in ran.out, not env)
                self.weir("purge", "--session", "long", "--yes")

    def test_every_long_command_cleans_up_after_its_bar(self):
        self.weir("import", "pi", self.path)
        copy = self.world.path("copy")
        for args, lines in ((["verify"], 1), (["gc"], 1), (["backup", copy], 1), (["export", "--session", "long", "-o", "out.jsonl"], 1), (["import", "pi", self.path], 2), (["purge", "--session", "long", "--yes"], 1)):
            with self.subTest(args=args):
                ran = self.world.terminal(*args, columns=300)
                self.assertEqual(ran.code, 0, ran)
                self.assertEqual(len(screen(ran.out)), lines, screen(ran.out))

    def test_a_bar_never_mixes_with_data_on_the_same_terminal(self):
        self.weir("import", "pi", self.world.file("short.jsonl", long_session(300, identity="short")))
        ran = self.world.terminal("export", "--session", "short", "--format", "pi")
        self.assertEqual([line for line in screen(ran.out) if not line.startswith("{")], [])

    def test_at_most_ten_redraws_a_second(self):
        started = time.monotonic()
        ran = self.world.terminal("import", "pi", self.path)
        seconds = time.monotonic() - started
        self.assertLessEqual(ran.out.count(b" left"), 2 + 10 * seconds)

    def test_nothing_is_drawn_without_a_terminal_on_dumb_ones_or_when_told_not_to(self):
        for how, extra, env in (("pipe", [], {}), ("dumb", [], {"TERM": "dumb"}), ("option", ["--no-progress"], {}), ("quiet", ["--quiet"], {})):
            with self.subTest(how=how):
                if how == "pipe":
                    ran = self.world.run("import", "pi", self.path)
                    self.assertEqual(ran.err, b"")
                else:
                    ran = self.world.terminal("import", "pi", self.path, *extra, env=env)
                    self.assertNotIn(b"\r", ran.out)
                self.assertEqual(ran.code, 0)
                self.weir("purge", "--session", "long", "--yes")

    def test_progress_as_json_anywhere(self):
        for extra, env in ((["--progress", "json"], {}), ([], {"WEIR_PROGRESS": "json"})):
            ran = self.weir("import", "pi", self.path, *extra, "--dry-run", env=env)
            lines = [harness.parse_line(line) for line in ran.errors.splitlines()]
            self.assertTrue(lines)
            for line in lines:
                self.assertEqual((line["type"], line["what"], sorted(line)), ("progress", "import", ["bytes", "done", "rate", "remaining", "total", "type", "what"]))
                self.assertGreaterEqual(line["remaining"], 0)
            self.assertEqual([line["done"] for line in lines], sorted(line["done"] for line in lines))


class QuietTest(CliTest):
    def test_diagnostics_go_to_stderr_and_quiet_silences_them(self):
        secret = "postgres://bob:" + "hunter2" + "@db/x"
        loud = self.weir("append", "--session", "s", "--type", "message", stdin=compact({"role": "user", "content": secret}))
        self.assertEqual(loud.errors, "1 secret masked\n")
        self.assertRegex(loud.text, r"^     1  e[0-9a-f]{8}  [0-9a-f]{64}\n$")
        quiet = self.weir("append", "--session", "s", "--type", "message", "--quiet", stdin=compact({"role": "user", "content": secret + "2"}))
        self.assertEqual(quiet.err, b"")
        self.assertTrue(quiet.out)

    def test_quiet_does_not_silence_errors(self):
        self.weir("init")
        ran = self.weir("log", "--session", "none", "--quiet", code=4)
        self.assertEqual(ran.errors, "weir: NOT_FOUND: no session 'none'\n  session: none\n")

    def test_a_command_without_data_prints_nothing(self):
        self.append("x")
        self.weir("head", "fork", "other", "--session", "s")
        ran = self.weir("head", "delete", "other", "--session", "s", "--yes")
        self.assertEqual((ran.out, ran.err), (b"", b""))

    def test_errors_without_json_have_code_message_and_indented_details(self):
        self.append("x")
        ran = self.weir("append", "--session", "s", "--expect", "root", stdin=jsonl([entry("y")]), code=5)
        self.assertRegex(ran.errors, r"^weir: CONFLICT: head 'main' of session 's' stands at 'e[0-9a-f]{8}', not before the first entry\n  expect: null\n  head: e[0-9a-f]{8}\n$")
        self.assertEqual(ran.out, b"")


class ConfirmTest(CliTest):
    def setUp(self):
        super().setUp()
        self.append("precious")
        self.weir("head", "fork", "other", "--session", "s")

    def test_destroying_needs_yes_where_nobody_can_be_asked(self):
        for args in (["purge", "--session", "s"], ["head", "delete", "other", "--session", "s"]):
            self.assertIn("--yes", self.refused("DENIED", *args)["message"])

    def test_destroying_asks_on_a_terminal(self):
        for answer, code in ((b"n\n", 7), (b"\n", 7), (b"y\n", 0)):
            ran = self.world.terminal("purge", "--session", "s", answer=answer)
            self.assertEqual(ran.code, code, ran)
            self.assertIn(b"remove session s and everything in it for good? [y/N] ", ran.out)
        self.refused("NOT_FOUND", "log", "--session", "s")

    def test_a_dry_run_of_it_neither_asks_nor_destroys(self):
        before = self.world.dump()
        self.assertEqual(self.answer("purge", "--session", "s", "--dry-run"), {"purged": "session s", "entries": 1, "objects": 0, "dry_run": True})
        self.weir("head", "delete", "other", "--session", "s", "--dry-run")
        self.assertEqual(self.world.dump(), before)


class ExportFileTest(CliTest):
    """export -o: what stands under the name is replaced whole, or written to, or left alone."""

    def setUp(self):
        super().setUp()
        self.append("one")
        self.wanted = self.weir("export", "--session", "s").out

    def export(self, target, code=0, **how):
        return self.weir("export", "--session", "s", "-o", target, code=code, **how)

    def content(self, name):
        with open(os.path.join(self.world.cwd, name), "rb") as file:
            return file.read()

    def test_a_file_is_replaced_and_nothing_else_is_left(self):
        self.world.file("out.jsonl", "old")
        self.world.file("out.jsonl.weir-tmp", "somebody's own")
        self.export("out.jsonl")
        self.export("new.jsonl")
        self.assertEqual((self.content("out.jsonl"), self.content("new.jsonl")), (self.wanted, self.wanted))
        self.assertEqual(self.content("out.jsonl.weir-tmp"), b"somebody's own")
        self.assertEqual(sorted(os.listdir(self.world.cwd)), ["new.jsonl", "out.jsonl", "out.jsonl.weir-tmp"])

    def test_a_link_stays_and_its_target_is_written(self):
        os.mkdir(self.world.path("cwd", "there"))
        self.world.file("there/old.jsonl", "old")
        for name, target in (("link", "there/old.jsonl"), ("dangling", "there/new.jsonl"), ("twice", "link")):
            os.symlink(target, self.world.path("cwd", name))
            self.export(name)
            self.assertEqual(os.readlink(self.world.path("cwd", name)), target)
            self.assertEqual(self.content(name), self.wanted)
        self.assertEqual(sorted(os.listdir(self.world.path("cwd", "there"))), ["new.jsonl", "old.jsonl"])

    def stdout_link(self):
        """Standard output by a name of our own: a program that replaces what it should write to must not meet a real device."""
        os.symlink("/proc/self/fd/1", self.world.path("cwd", "stdout"))
        return "stdout"

    def test_what_is_no_regular_file_is_written_to(self):
        fifo = self.world.path("cwd", "fifo")
        os.mkfifo(fifo)
        got = []
        reader = threading.Thread(target=lambda: got.append(self.content("fifo")))
        reader.start()
        self.export("fifo")
        reader.join(20)
        self.assertEqual(got, [self.wanted])
        self.assertEqual(self.export(self.stdout_link()).out, self.wanted)
        self.assertEqual(sorted(os.listdir(self.world.cwd)), ["fifo", "stdout"])

    def test_standard_output_that_is_added_to_a_file_stays_so(self):
        self.world.file("log", "before\n")
        with open(self.world.path("cwd", "log"), "ab") as out:
            self.assertEqual(self.world.finish(self.world.start("export", "--session", "s", "-o", self.stdout_link(), stdout=out)).code, 0)
        self.assertEqual(self.content("log"), b"before\n" + self.wanted)

    def test_a_directory_is_refused_and_a_failure_leaves_nothing(self):
        os.mkdir(self.world.path("cwd", "folder"))
        for name in ("folder", "folder/", "."):
            error = self.refused("INVALID_FIELD", "export", "--session", "s", "-o", name)
            self.assertEqual(error["details"]["errors"], [{"path": "/output", "message": "is a directory"}])
        self.refused("NOT_FOUND", "export", "--session", "s", "-o", "missing/out.jsonl")
        self.assertEqual(os.listdir(self.world.cwd), ["folder"])


if __name__ == "__main__":
    harness.main()
