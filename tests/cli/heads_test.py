"""Navigation: heads, the path a head shows, the tree, and names of entries."""

import harness
from harness import CliTest, compact, entry, jsonl


class HeadsCase(CliTest):
    def setUp(self):
        super().setUp()
        answer = self.answer("append", "--session", "s", stdin=jsonl([entry("a", id="aaaa1"), entry("b", id="bbbb1"), entry("c", id="cccc1"), entry("d", id="dddd1")]))
        self.assertEqual(answer["head"], "dddd1")

    def count(self):
        return len(self.stream("export", "--session", "s")[1])

    def stands(self, name="main"):
        heads = self.answer("head", "list", "--session", "s")["heads"]
        return {head["name"]: head["entry"] for head in heads}[name]


class MoveTest(HeadsCase):
    def test_head_move_changes_the_path_log_shows_and_adds_no_entry(self):
        before = self.stream("export", "--session", "s")[1]
        self.assertEqual(self.answer("head", "move", "main", "bbbb1", "--session", "s"), {"name": "main", "entry": "bbbb1"})
        self.assertEqual(self.tell(), ["a", "b"])
        self.assertEqual(self.stream("export", "--session", "s")[1], before)
        self.append("e")
        self.assertEqual(self.tell(), ["a", "b", "e"])
        self.weir("head", "move", "main", "dddd1", "--session", "s")
        self.assertEqual(self.tell(), ["a", "b", "c", "d"])

    def test_tree_goto_does_the_same(self):
        before = self.stream("export", "--session", "s")[1]
        begin, lines, end = self.stream("tree", "--goto", "bbbb1", "--session", "s")
        self.assertEqual(begin["heads"], [{"name": "main", "entry": "bbbb1"}])
        self.assertEqual((len(lines), end["count"]), (4, 4))
        self.assertEqual(self.tell(), ["a", "b"])
        self.assertEqual(self.stream("export", "--session", "s")[1], before)
        other = self.weir("tree", "--goto", "cccc1", "--session", "s").text
        self.assertIn("cccc1 user: c ◀ main", other)

    def test_tree_goto_moves_the_head_it_is_told(self):
        self.weir("head", "fork", "side", "--session", "s")
        self.weir("tree", "--goto", "aaaa1", "--head", "side", "--session", "s")
        self.assertEqual((self.stands(), self.stands("side")), ("dddd1", "aaaa1"))

    def test_before_goes_to_the_parent(self):
        self.weir("head", "move", "main", "cccc1", "--before", "--session", "s")
        self.assertEqual(self.tell(), ["a", "b"])
        self.weir("head", "move", "main", "aaaa1", "--before", "--session", "s")
        self.assertEqual((self.tell(), self.stands()), ([], None))

    def test_root_is_before_the_first_entry(self):
        self.assertEqual(self.answer("head", "move", "main", "root", "--session", "s"), {"name": "main", "entry": None})
        self.assertEqual(self.tell(), [])
        self.assertEqual(self.weir("head", "list", "--session", "s").text, "main (before the first entry)\n")
        new = self.append("another root")
        self.assertIsNone(self.log()[0]["parent"])
        self.assertEqual(self.stands(), new)

    def test_an_entry_called_root_wins_over_the_word(self):
        self.append("called so", id="root")
        self.weir("head", "move", "main", "aaaa1", "--session", "s")
        self.assertEqual(self.answer("head", "move", "main", "root", "--session", "s")["entry"], "root")
        self.weir("head", "move", "main", "aaaa1", "--expect", "root", "--session", "s")
        self.assertEqual(self.refused("CONFLICT", "head", "move", "main", "bbbb1", "--expect", "root", "--session", "s")["details"]["expect"], "root")
        self.assertEqual(self.stream("tree", "--goto", "root", "--session", "s")[0]["heads"][0]["entry"], "root")
        self.weir("append", "--type", "message", "--parent", "root", "--expect", "root", "--session", "s", stdin=compact({"role": "user", "content": "child"}))
        self.assertEqual(self.log()[0]["parent"], "root")

    def test_expect(self):
        error = self.refused("CONFLICT", "head", "move", "main", "aaaa1", "--expect", "bbbb1", "--session", "s")
        self.assertEqual(error["details"], {"head": "dddd1", "expect": "bbbb1"})
        self.weir("head", "move", "main", "aaaa1", "--expect", "dddd1", "--session", "s")
        self.assertEqual(self.stands(), "aaaa1")

    def test_a_dry_run_moves_nothing(self):
        before = self.world.dump()
        self.assertEqual(self.answer("head", "move", "main", "bbbb1", "--dry-run", "--session", "s"), {"name": "main", "entry": "bbbb1"})
        dry = self.weir("tree", "--goto", "bbbb1", "--dry-run", "--session", "s").text
        self.assertEqual(self.stream("tree", "--goto", "root", "--dry-run", "--session", "s")[0]["heads"], [{"name": "main", "entry": None}])
        self.assertEqual(self.answer("head", "fork", "x", "--dry-run", "--session", "s")["entry"], "dddd1")
        self.assertEqual(self.world.dump(), before)
        self.assertEqual(self.weir("tree", "--goto", "bbbb1", "--session", "s").text, dry)

    def test_what_is_not_there(self):
        for args in (["head", "move", "main", "nowhere"], ["head", "move", "nobody", "aaaa1"], ["tree", "--goto", "nowhere"], ["head", "delete", "nobody", "--yes"], ["log", "--head", "nobody"], ["log", "--at", "nowhere"], ["head", "fork", "x", "--at", "nowhere"]):
            with self.subTest(args=args):
                self.refused("NOT_FOUND", *args, "--session", "s")
        for args in (["head", "list"], ["head", "move", "main", "aaaa1"], ["log"], ["tree"], ["show", "aaaa1"], ["stats"], ["export"]):
            with self.subTest(args=args):
                self.assertEqual(self.refused("NOT_FOUND", *args, "--session", "none")["details"]["session"], "none")


class ForkTest(HeadsCase):
    def test_a_fork_is_a_second_head_and_grows_apart(self):
        self.assertEqual(self.answer("head", "fork", "try-2", "--session", "s"), {"name": "try-2", "entry": "dddd1"})
        self.append("e", head="try-2")
        self.append("f")
        self.assertEqual(self.tell(), ["a", "b", "c", "d", "f"])
        self.assertEqual(self.tell("s", "--head", "try-2"), ["a", "b", "c", "d", "e"])

    def test_a_fork_at_an_entry_and_of_another_head(self):
        self.weir("head", "fork", "old", "--at", "bbbb1", "--session", "s")
        self.weir("head", "fork", "older", "--head", "old", "--session", "s")
        self.assertEqual((self.stands("old"), self.stands("older")), ("bbbb1", "bbbb1"))

    def test_a_taken_name_is_a_conflict(self):
        self.weir("head", "fork", "try-2", "--session", "s")
        error = self.refused("CONFLICT", "head", "fork", "try-2", "--session", "s")
        self.assertEqual((error["details"]["name"], error["details"]["head"]), ("try-2", "dddd1"))
        self.refused("CONFLICT", "head", "fork", "main", "--session", "s")

    def test_delete_takes_the_name_and_leaves_the_entries(self):
        self.weir("head", "fork", "try-2", "--session", "s")
        kept = self.append("only there", head="try-2")
        self.weir("head", "delete", "try-2", "--yes", "--session", "s")
        self.refused("NOT_FOUND", "log", "--head", "try-2", "--session", "s")
        self.assertEqual(self.answer("show", kept, "--session", "s")["body"]["content"], "only there")
        self.sound()

    def test_main_cannot_be_deleted(self):
        self.refused("INVALID_FIELD", "head", "delete", "main", "--yes", "--session", "s")


class NamesTest(HeadsCase):
    def test_id_pointer_prefix_ancestor_and_head_name_an_entry(self):
        digest = self.log()[1]["digest"]
        for name in ("cccc1", "e" + digest[:16], "cccc", "cccc1~0", "dddd1~1", "main~1", "dddd~1", "main~0~1"):
            self.assertEqual(self.answer("show", name, "--session", "s")["id"], "cccc1", name)

    def test_a_prefix_needs_four_characters(self):
        self.refused("NOT_FOUND", "show", "ccc", "--session", "s")

    def test_several_matches_are_ambiguous_and_named(self):
        self.append("x", id="cccc2")
        error = self.refused("AMBIGUOUS", "show", "cccc", "--session", "s")
        self.assertEqual(error["details"]["candidates"], "cccc1, cccc2")
        self.assertEqual(self.answer("show", "cccc1", "--session", "s")["id"], "cccc1")

    def test_an_exact_id_wins(self):
        self.append("x", id="main")
        self.append("y", id="cccc")
        self.append("z", id="cccc1~1")
        self.assertEqual(self.answer("show", "main", "--session", "s")["body"]["content"], "x")
        self.assertEqual(self.answer("show", "cccc", "--session", "s")["body"]["content"], "y")
        self.assertEqual(self.answer("show", "cccc1~1", "--session", "s")["body"]["content"], "z")

    def test_too_many_ancestors(self):
        self.assertEqual(self.answer("show", "dddd1~3", "--session", "s")["id"], "aaaa1")
        self.refused("NOT_FOUND", "show", "dddd1~4", "--session", "s")
        self.refused("NOT_FOUND", "show", "dddd1~99999999999999999999", "--session", "s")

    def test_at_wins_over_head(self):
        self.assertEqual(self.tell("s", "--at", "bbbb1"), ["a", "b"])
        self.assertEqual(self.tell("s", "--at", "bbbb1", "--head", "main"), ["a", "b"])
        self.assertEqual(self.answer("stats", "--at", "bbbb1", "--session", "s")["entries"], 2)


class LogTest(HeadsCase):
    def test_newest_first_and_reverse(self):
        self.assertEqual([line["id"] for line in self.log()], ["dddd1", "cccc1", "bbbb1", "aaaa1"])
        self.assertEqual([line["id"] for line in self.log("s", "--reverse")], ["aaaa1", "bbbb1", "cccc1", "dddd1"])
        self.assertEqual([line["id"] for line in self.log("s", "--limit", 2)], ["dddd1", "cccc1"])
        self.assertEqual([line["id"] for line in self.log("s", "--limit", 2, "--reverse")], ["aaaa1", "bbbb1"])

    def test_an_entry_has_exactly_its_seven_fields(self):
        line = self.log()[0]
        self.assertEqual(sorted(line), ["at", "body", "digest", "id", "parent", "seq", "type"])
        self.assertEqual((line["seq"], line["id"], line["parent"], line["type"], line["body"]), (4, "dddd1", "cccc1", "message", {"role": "user", "content": "d"}))
        self.assertRegex(line["at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(self.answer("show", "dddd1", "--session", "s"), line)

    def test_type_and_since_filter(self):
        self.weir("append", "--session", "s", stdin=jsonl([{"type": "compaction", "body": {"summary": "x"}, "at": "2020-01-01T00:00:00Z"}, {"type": "label", "body": {"target": "aaaa1"}, "at": "2040-01-01T00:00:00Z"}]))
        self.assertEqual([line["type"] for line in self.log("s", "--type", "compaction")], ["compaction"])
        self.assertEqual([line["type"] for line in self.log("s", "--type", "compaction", "--type", "label")], ["label", "compaction"])
        self.assertEqual([line["type"] for line in self.log("s", "--since", "2039-12-31T23:59:59Z")], ["label"])
        self.assertEqual(self.log("s", "--type", "branch_summary"), [])

    def test_follow_goes_on_with_what_is_appended(self):
        running = self.world.start("log", "--session", "s", "--follow", "--limit", "1", "--json")
        begin = harness.parse_line(running.stdout.readline())
        self.assertEqual(begin, {"type": "begin", "session": "s", "head": "main"})
        self.assertEqual(harness.parse_line(running.stdout.readline())["id"], "dddd1")
        for name in ("eeee1", "ffff1"):
            self.append(name, id=name)
            self.assertEqual(harness.parse_line(running.stdout.readline())["id"], name)
        running.send_signal(harness.signal.SIGINT)
        ran = self.world.finish(running)
        self.assertEqual(ran.code, 130)
        self.assertEqual(harness.parse_line(ran.text), {"type": "end", "count": 3, "complete": True})

    def test_a_closed_pipe_ends_quietly(self):
        self.weir("append", "--session", "s", stdin=jsonl(entry(f"{i} " + "x" * 900) for i in range(2000)))
        running = self.world.start("log", "--session", "s", "--json")
        running.stdout.read(10)
        running.stdout.close()
        running.wait(timeout=20)
        self.assertEqual(running.stderr.read(), b"")
        running.stderr.close()
        self.assertIn(running.returncode, (-harness.signal.SIGPIPE, 141))


class SessionsTest(CliTest):
    def test_new_makes_one_and_leaves_one_that_is_there(self):
        self.assertEqual(self.answer("session", "new", "notes"), {"id": "notes", "made": True})
        self.assertEqual(self.answer("session", "new", "notes"), {"id": "notes", "made": False})
        self.assertEqual(self.weir("session", "new", "notes").text, "notes\n")

    def test_without_a_name_it_gets_a_uuid_of_version_7(self):
        names = [self.answer("session", "new")["id"] for _ in range(3)]
        for name in names:
            self.assertRegex(name, r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertEqual(len(set(names)), 3)

    def test_list_and_show(self):
        self.append("x", session="b")
        self.append("y", session="a")
        self.weir("append", "--session", "a", stdin=compact({"type": "compaction", "id": "c", "body": {}}))
        sessions = self.answer("session", "list")["sessions"]
        self.assertEqual(sorted((s["id"], s["entries"], s["barrier"]) for s in sessions), [("a", 2, "compaction:c"), ("b", 1, "root")])
        shown = self.answer("session", "show", "a")
        self.assertEqual(shown, [s for s in sessions if s["id"] == "a"][0])
        self.assertEqual((shown["head"], shown["source"]), ("c", None))
        self.assertEqual(self.answer("session", "show", "--session", "a"), shown)
        self.assertEqual(self.answer("session"), self.answer("session", "list"))


if __name__ == "__main__":
    harness.main()
