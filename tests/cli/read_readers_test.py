"""Who reads: sessions, forks and rewound heads are readers of their own; and one who asks again and again."""

import json

import harness
from read_case import ReadCase, numbered


class ReadersTest(ReadCase):
    def test_a_session_is_one_reader(self):
        """Case 48: a sub-agent with a session of its own has seen nothing."""
        self.file("a.txt", "alpha\n")
        self.read("a.txt", session="parent")
        self.assertEqual(self.mode("a.txt", session="parent.agent-1"), "full")
        self.assertEqual(self.mode("a.txt", session="parent"), "unchanged")

    def test_a_fork_keeps_what_its_path_was_shown(self):
        """Case 48."""
        self.file("a.txt", "alpha\n")
        self.read("a.txt")
        self.weir("head", "fork", "other", "--session", "s")
        self.file("b.txt", "beta\n")
        self.read("b.txt")
        self.assertEqual(self.mode("a.txt", "--head", "other"), "unchanged")
        self.assertEqual(self.mode("b.txt", "--head", "other"), "full")

    def test_a_head_that_was_moved_back_gets_again_what_it_was_shown_after(self):
        """The same answer at the same place is the same entry: the head moves onto it, and the content goes out."""
        self.append("a question")
        self.file("a.txt", "alpha\n")
        for expected in (["full", "unchanged"], ["full", "unchanged"]):
            answers = [self.read("a.txt") for _ in expected]
            self.assertEqual([answer["record"]["mode"] for answer in answers], expected)
            self.assertEqual(answers[0]["text"], "alpha\n")
            self.assertEqual(len(self.entries()), 3)
            self.weir("head", "move", "main", "main~2", "--session", "s")

    def test_a_host_that_cannot_tell_of_compactions_gets_content(self):
        """Case 48."""
        self.file("a.txt", "alpha\n")
        self.assertEqual([self.mode("a.txt") for _ in range(2)], ["full", "unchanged"])
        self.add("session_info", {"barrier_feed": False})
        self.assertEqual([self.said("a.txt")[::2] for _ in range(3)], [("full", "not_followed")] * 3)

    def test_nobody_said_that_compactions_reach_the_log(self):
        """A session that only reads, one that was imported, one whose host said so elsewhere: the text, every time."""
        path = self.file("a.txt", "alpha\nbeta\n")
        told = {"type": "session", "version": 3, "id": "p", "timestamp": "2026-05-01T08:00:00.000Z", "cwd": self.world.cwd}
        self.weir("import", "pi", self.world.file("p.jsonl", harness.jsonl([told])))
        self.append("hello", session="talk")
        for session in ("reads", "p", "talk"):
            with self.subTest(session=session):
                answers = [self.answer("read", path, "--session", session) for _ in range(3)]
                self.assertEqual([(a["text"], a["record"]["mode"], a["record"]["reason"]) for a in answers], [("alpha\nbeta\n", "full", "not_followed")] * 3)
                status = self.answer("reads", "--session", session)
                self.assertEqual((status["followed"], status["reason"]), (False, "not_followed"))
                self.assertIn("barrier_feed", status["help"])
                self.assertIn("not_followed", self.weir("reads", "--session", session).text)
        self.follow("talk")
        self.assertEqual([self.mode(path, session="talk") for _ in range(2)], ["full", "unchanged"])
        self.assertIs(self.answer("reads", "--session", "talk")["followed"], True)

    def test_what_an_imported_log_says_of_its_host_does_not_count(self):
        self.file("a.txt", "alpha\n")
        self.read("a.txt")
        exported = self.weir("export", "--session", "s", "--format", "pi").text
        self.weir("import", "pi", self.world.file("copy.jsonl", exported), "--as", "copy")
        for _ in range(2):
            self.assertEqual(self.answer("read", "a.txt", "--session", "copy")["record"]["reason"], "not_followed")


class RepeatTest(ReadCase):
    def modes(self, count, *args):
        return [self.mode("a.txt", *args) for _ in range(count)]

    def test_who_asks_a_third_time_gets_the_content(self):
        """Case 43."""
        self.file("a.txt", "alpha\n" * 20)
        answers = [self.read("a.txt") for _ in range(7)]
        self.assertEqual([a["record"]["mode"] for a in answers], ["full", "unchanged", "unchanged", "full_fallback", "unchanged", "unchanged", "full_fallback"])
        self.assertEqual((answers[3]["record"]["reason"], answers[3]["text"]), ("repeat_escape", "alpha\n" * 20))

    def test_another_entry_in_between_counts_anew(self):
        """Case 43."""
        self.file("a.txt", "alpha\n" * 20)
        self.assertEqual(self.modes(3), ["full", "unchanged", "unchanged"])
        self.append("a question")
        self.assertEqual(self.modes(3), ["unchanged", "unchanged", "full_fallback"])

    def test_labels_and_turns_that_only_read_do_not_count_as_something_else(self):
        self.file("a.txt", "alpha\n" * 20)
        self.assertEqual(self.modes(3), ["full", "unchanged", "unchanged"])
        self.add("label", {"target": self.last()["id"], "label": "x"})
        self.add("message", {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "read", "arguments": json.dumps({"path": "a.txt"})}}]})
        self.assertEqual(self.modes(1), ["full_fallback"])

    def test_no_limit_and_another_limit(self):
        """Case 43."""
        self.file("a.txt", "alpha\n" * 20)
        self.config(marker_repeat=0)
        self.assertEqual(self.modes(6), ["full"] + ["unchanged"] * 5)
        self.config(marker_repeat=1)
        self.assertEqual(self.modes(3), ["full_fallback", "unchanged", "full_fallback"])


class LocatedTest(ReadCase):
    def test_a_marker_names_the_entries_that_showed_the_lines(self):
        """Case 44: entries that showed, newest first, never markers."""
        self.config(markers="located", marker_repeat=0)
        self.file("a.txt", numbered(1, 100))
        ids = []
        for part in ("1-20", "21-40", "41-60", "61-80", "81-100"):
            self.read(f"a.txt:{part}")
            ids.append(self.last()["id"])
        self.assertEqual(self.read("a.txt:1-20")["text"], f"[readcache: unchanged in lines 1-20 of 100; shown at {ids[0]}; bypass_cache=true sends it again]")
        self.assertEqual(self.read("a.txt")["text"], f"[readcache: unchanged, 100 lines; shown at {ids[4]}, {ids[3]}, {ids[2]} and 2 more; bypass_cache=true sends it again]")
        self.append("thinking", role="assistant")
        self.assertIn(f"shown at {ids[0]}, 1 turn ago; ", self.read("a.txt:1-20")["text"])
        self.append("thinking", role="assistant")
        self.assertIn(f"shown at {ids[0]}, 2 turns ago; ", self.read("a.txt:1-20")["text"])

    def test_bypass_shows_anew(self):
        """Case 44."""
        self.config(markers="located")
        self.file("a.txt", "alpha\nbeta\n")
        self.read("a.txt")
        answer = self.read("a.txt", "--bypass")
        again = self.last()["id"]
        self.assertEqual((answer["record"]["mode"], answer["record"]["reason"], answer["text"]), ("full", "bypass_cache", "alpha\nbeta\n"))
        self.assertIn(f"shown at {again}; ", self.read("a.txt")["text"])


if __name__ == "__main__":
    harness.main()
