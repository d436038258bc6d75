"""weir read: what is answered, with content, a marker or a diff. Numbers are those of the contract's acceptance cases."""

import harness
from read_case import OF_A, UNCHANGED_4, ReadCase, numbered, sha


class WorkedExamplesTest(ReadCase):
    def test_the_first_record_is_the_contracts_and_so_is_the_second(self):
        """Section 2, byte for byte."""
        path = self.file("a.txt", "alpha\nbeta\ngamma\n")
        first = {
            "baseline": 17, "bytes": 17, "end": 4, "mode": "full", "path": path, "reason": "no_base_hash", "scope": "full", "sent": 17,
            "served": OF_A, "shown": [[1, 4]], "start": 1, "text_sha256": OF_A, "total_lines": 4, "v": 1,
        }  # fmt: skip
        second = {**first, "mode": "unchanged", "base": OF_A, "shown": [], "sent": 31, "reason": "hash_match", "text_sha256": UNCHANGED_4}
        self.assertEqual(self.read("a.txt"), {"kind": "text", "text": "alpha\nbeta\ngamma\n", "record": first, "warnings": []})
        self.assertEqual(self.read("a.txt"), {"kind": "text", "text": "[readcache: unchanged, 4 lines]", "record": second, "warnings": []})
        self.assertEqual([(entry["type"], entry["body"]) for entry in self.entries()], [("read", first), ("read", second)])

    def test_a_file_longer_than_one_answer_is_trusted_as_far_as_it_was_delivered(self):
        """Section 8, case 12: every row, and what is held after it."""
        self.file("b", numbered(1, 5000))
        lines = numbered(1, 5000)

        def row(args, mode, scope, text, held):
            answer = self.read(*args)
            self.assertEqual((answer["record"]["mode"], answer["record"]["scope"]), (mode, scope))
            self.assertEqual(answer["text"], text)
            self.assertEqual([part["lines"] for part in self.status("b")["view"]], held)
            return answer["record"]

        row(["b"], "full", "full", "\n".join(lines[:2000]) + "\n\n[Showing lines 1-2000 of 5000. Use offset=2001 to continue.]", [[1, 2000]])
        row(["b"], "unchanged_range", "r:1:2000", "[readcache: unchanged in lines 1-2000 of 5000]\n[Lines 2001-5000 are not in this answer. Use offset=2001 to continue.]", [[1, 2000]])
        row(["b", "--offset", 2001], "full", "r:2001:5000", "\n".join(lines[2000:4000]) + "\n\n[Showing lines 2001-4000 of 5000. Use offset=4001 to continue.]", [[1, 2000], [2001, 4000]])
        row(["b", "--offset", 4001], "full", "r:4001:5000", "\n".join(lines[4000:]), [[1, 2000], [2001, 4000], [4001, 5000]])
        row(["b"], "unchanged", "full", "[readcache: unchanged, 5000 lines]", [[1, 2000], [2001, 4000], [4001, 5000]])
        lines[3999] = "line four thousand"
        self.file("b", lines)
        diff = "[readcache: 1 lines changed of 5000]\n--- a/b\n+++ b/b\n@@ -3997,7 +3997,7 @@\n line 3997\n line 3998\n line 3999\n-line 4000\n+line four thousand\n line 4001\n line 4002\n line 4003"
        record = row(["b"], "diff", "full", diff, [[1, 3996], [3997, 4003], [4004, 5000]])
        self.assertEqual(record["shown"], [[3997, 4003]])
        self.assertEqual({part["version"] for part in self.status("b")["view"]}, {sha("\n".join(lines))})

    def test_an_edit_beyond_the_window_is_told_and_its_lines_are_sent(self):
        """Case 12, H34."""
        lines = numbered(1, 5000)
        self.file("b", lines)
        self.read("b")
        lines[3999] = "other"
        self.file("b", lines)
        self.assertEqual(self.texts("b"), ["[readcache: unchanged in lines 1-2000; changes exist outside this range]", "[Lines 2001-5000 are not in this answer. Use offset=2001 to continue.]"])
        answer = self.read("b:3990-4010")
        self.assertEqual((answer["record"]["mode"], answer["text"]), ("full_fallback", "\n".join(lines[3989:4010]) + "\n\n[990 more lines in file. Use offset=4011 to continue.]"))

    def test_the_small_diff_has_the_contracts_bytes(self):
        """Section 9, example 1."""
        lines = [f"line {i} :: original text payload" for i in range(1, 301)]
        self.file("sample.txt", lines)
        first = self.read("sample.txt")["record"]
        lines[199] = "line 200 :: changed text payload"
        self.file("sample.txt", lines)
        answer = self.read("sample.txt")
        record = answer["record"]
        self.assertEqual((first["bytes"], first["served"][:12], record["served"][:12]), (10091, "2d84bc521b5c", "b0accfdc76c9"))
        self.assertEqual((record["mode"], record["reason"], record["base"]), ("diff", "diff_emitted", first["served"]))
        self.assertEqual((record["sent"], len(answer["text"]), record["shown"]), (368, 368, [[197, 203]]))
        self.assertEqual(sha(answer["text"]), "deeb7779953840daaf1fdc2ad22003b104e15ef93202770e522e8468c4fd687d")
        self.assertEqual(record["text_sha256"], sha(answer["text"]))
        self.assertEqual(self.mode("sample.txt"), "unchanged")


class CutDiffTest(ReadCase):
    def setUp(self):
        super().setUp()
        self.lines = [f"line {i:06d} lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor" for i in range(1, 11991)]
        self.file("m.txt", self.lines)

    def edit(self):
        for k in range(100):
            at = (2 * k + 1) * 11990 // 200
            self.lines[at] = f"EDITED {k} " + self.lines[at]
        self.file("m.txt", self.lines)

    def read_all(self):
        offset = 1
        while offset <= 11990:
            offset = self.read("m.txt", "--offset", offset)["record"]["shown"][0][1] + 1

    def test_a_diff_that_is_too_long_is_cut_after_whole_hunks_and_names_the_rest(self):
        """Case 15, section 9, example 2."""
        self.read_all()
        self.edit()
        answer = self.read("m.txt")
        record = answer["record"]
        self.assertEqual((record["mode"], record["reason"]), ("diff", "diff_cut"))
        self.assertEqual((record["sent"], answer["text"].count("\n@@ "), len(record["shown"])), (50725, 67, 67))
        self.assertEqual(sha(answer["text"]), "f4a5a95c4de91b91935144a3baea5a90260759c9ac78dc7fc79e422818dfa8a9")
        trailer = answer["text"].split("\n")[-1]
        self.assertTrue(trailer.startswith("[readcache: 67 of 100 hunks shown; also changed: lines 8094, 8214, "), trailer)
        self.assertTrue(trailer.endswith(", 11931. Use offset and limit to read them.]"), trailer)
        # Between two hunks that were not sent nothing changed; inside one it did.
        self.assertEqual(self.read("m.txt:8100-8200")["text"], "[readcache: unchanged in lines 8100-8200 of 11990]")
        sent = self.read("m.txt:8090-8100")
        self.assertEqual((sent["record"]["mode"], sent["record"]["reason"]), ("full", "lines_not_shown"))
        self.assertEqual(sent["text"].split("\n")[:11], self.lines[8089:8100])

    def test_a_base_of_which_only_a_part_was_shown_gives_no_diff(self):
        """Case 14, H23."""
        self.read("m.txt")
        self.edit()
        answer = self.read("m.txt")
        self.assertEqual((answer["record"]["mode"], answer["record"]["reason"]), ("full_fallback", "base_not_shown"))
        self.assertEqual(answer["text"].split("\n")[:500], self.lines[:500])
        self.assertEqual(self.texts("m.txt:6000-6200")[:201], self.lines[5999:6200])


class CompactionTest(ReadCase):
    """The seed's scenarios: what was shown before a compaction is not in front of the model any more."""

    def test_first_read_after_compaction_is_baseline_even_if_precompaction_anchor_exists(self):
        """Case 1."""
        self.file("a.txt", "alpha\nbeta\n")
        self.assertEqual((self.mode("a.txt"), self.mode("a.txt")), ("full", "unchanged"))
        self.compact()
        answer = self.read("a.txt")
        self.assertIn(answer["record"]["mode"], ("full", "full_fallback"))
        self.assertEqual(answer["text"], "alpha\nbeta\n")

    def test_latest_compaction_wins_when_multiple_compactions_exist(self):
        """Case 2."""
        self.file("a.txt", "alpha\nbeta\n")
        self.read("a.txt")
        self.compact()
        self.assertEqual((self.mode("a.txt"), self.mode("a.txt")), ("full", "unchanged"))
        self.compact()
        self.assertEqual((self.mode("a.txt"), self.mode("a.txt")), ("full", "unchanged"))

    def test_tree_navigation_pre_compaction_restores_precompaction_visibility(self):
        """Case 3."""
        self.file("a.txt", "alpha\nbeta\n")
        self.read("a.txt")
        before = self.last()["id"]
        self.compact()
        self.assertEqual(self.mode("a.txt"), "full")
        self.weir("head", "move", "main", before, "--session", "s")
        self.assertEqual(self.mode("a.txt"), "unchanged")
        self.weir("head", "move", "main", before, "--session", "s")
        self.file("a.txt", "alpha\nother\n")
        self.assertNotEqual(self.mode("a.txt"), "unchanged")

    def test_post_compaction_first_range_read_is_baseline_range(self):
        """Case 4."""
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt")
        self.assertEqual((self.mode("a.txt:10-20"), self.mode("a.txt:10-20")), ("unchanged_range", "unchanged_range"))
        self.compact()
        answer = self.read("a.txt:10-20")
        self.assertEqual((answer["record"]["mode"], answer["record"]["shown"]), ("full", [[10, 20]]))
        self.assertEqual(answer["text"].split("\n")[:11], numbered(10, 20))

    def test_nothing_reaches_behind_the_barrier_whatever_is_kept_and_set(self):
        """Case 23, H30."""
        settings = [{}, {"range_diff": True}, {"never_inflate": True}, {"shift_map": True}, {"markers": "located"}, {"marker_repeat": 0}, {"line_count": "legacy"}]
        for number, setting in enumerate(settings):
            for how in ("first_kept", "itself", "kept", "replacement"):
                with self.subTest(setting=setting, how=how):
                    self.config(**setting)
                    session = f"s{number}-{how}"
                    self.file("a.txt", numbered(1, 30))
                    self.read("a.txt", session=session)
                    shown = self.last(session)["id"]
                    body = {"first_kept": {"first_kept": shown}, "itself": {"first_kept": "c1"}, "kept": {"kept": [shown]}, "replacement": {"replacement": [{"role": "user", "content": "\n".join(numbered(1, 30))}]}}[how]
                    self.weir("append", "--session", session, "--id", "c1", "--type", "compaction", stdin=harness.compact({"summary": "s", **body}))
                    self.assertEqual(self.mode("a.txt:3-9", session=session), "full")
                    self.assertEqual(self.mode("a.txt", session=session), "full")

    def test_the_window_begins_after_the_latest_compaction_of_each_branch(self):
        """Case 5."""
        self.file("a.txt", "a\n")
        self.read("a.txt")
        first = self.last()["id"]
        self.read("a.txt")
        self.assertEqual((self.status()["boundary"], self.status()["entries"]), ("root", 3))
        barrier = self.compact(first_kept=first)
        self.assertEqual((self.status()["boundary"], self.status()["entries"]), (f"compaction:{barrier}", 0))
        self.read("a.txt")
        self.assertEqual((self.status()["boundary"], self.status()["entries"]), (f"compaction:{barrier}", 1))
        self.weir("head", "fork", "other", "--at", first, "--session", "s")
        self.assertEqual((self.status("--head", "other")["boundary"], self.status("--head", "other")["entries"]), ("root", 2))
        second = self.compact(head="other")
        self.assertEqual(self.status("--head", "other")["boundary"], f"compaction:{second}")
        self.assertEqual(self.status()["boundary"], f"compaction:{barrier}")
        self.assertEqual(self.status("--at", first)["boundary"], "root")


if __name__ == "__main__":
    harness.main()
