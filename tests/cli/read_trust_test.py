"""What a reader is trusted to hold: which lines, in which version, shown when, and what takes the trust away."""

import os

import harness
from harness import compact, entry, jsonl
from read_case import ReadCase, numbered, sha


class LinesTest(ReadCase):
    def test_the_newer_of_range_and_whole_file_is_the_base(self):
        """Case 7."""
        self.file("a.txt", numbered(1, 10))
        self.read("a.txt:2-4")
        second = self.file("a.txt", numbered(1, 9) + ["ten"])
        self.read("a.txt")
        record = self.read("a.txt:2-4")["record"]
        with open(second) as file:
            self.assertEqual((record["mode"], record["base"], record["reason"]), ("unchanged_range", sha(file.read()), "hash_match"))

    def test_parts_and_unions_of_what_was_shown_are_held(self):
        """Case 16, H13."""
        self.file("a.txt", numbered(1, 300))
        self.assertEqual(self.said("a.txt:1-100"), ("full", "r:1:100", "no_base_hash"))
        self.assertEqual(self.said("a.txt:10-20"), ("unchanged_range", "r:10:20", "hash_match"))
        self.assertEqual(self.mode("a.txt:90-101"), "full")
        self.assertEqual(self.mode("a.txt:101-300"), "full")
        self.assertEqual(self.mode("a.txt:50-250"), "unchanged_range")
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_lines_that_were_shown_otherwise_since_are_sent_though_the_file_is_as_before(self):
        """Case 17."""
        lines = numbered(1, 50)
        self.file("a.txt", lines)
        self.read("a.txt")
        self.file("a.txt", lines[:14] + ["changed"] + lines[15:])
        self.assertIn("changed", self.texts("a.txt:10-20"))
        self.file("a.txt", lines)
        answer = self.read("a.txt")
        self.assertEqual((answer["record"]["mode"], answer["record"]["reason"]), ("full_fallback", "view_differs"))
        self.assertEqual(answer["text"].split("\n"), lines)
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_lines_that_moved_under_the_reader_are_sent(self):
        """Case 18: the shift trap."""
        lines = numbered(1, 5000)
        self.file("a.txt", lines)
        self.read("a.txt")
        self.file("a.txt", ["on top", *lines])
        self.read("a.txt", "--offset", 2001, "--limit", 2000)
        self.read("a.txt", "--offset", 4001, "--limit", 1000)
        answer = self.read("a.txt")
        self.assertNotIn(answer["record"]["mode"], ("diff", "unchanged"))
        self.assertEqual(answer["text"].split("\n")[:3], ["on top", "line 1", "line 2"])
        self.assertIn("line 5000", self.texts("a.txt:5001"))

    def test_a_file_that_lost_its_tail_is_not_unchanged(self):
        """Case 18: the lines that are left are the same, and the file is not."""
        self.file("a.txt", numbered(1, 40))
        self.read("a.txt")
        self.file("a.txt", numbered(1, 30))
        answer = self.read("a.txt")
        self.assertEqual(answer["record"]["mode"], "diff")
        self.assertIn("\n-line 31\n", answer["text"])
        self.assertEqual(self.status("a.txt")["view"][-1]["lines"][1], 30)
        self.file("a.txt", numbered(1, 40))
        self.assertEqual(self.texts("a.txt:31-40"), numbered(31, 40))

    def test_a_line_appended_to_an_open_range_is_sent(self):
        """Case 20, H15."""
        self.file("a.txt", numbered(1, 300))
        self.assertEqual(self.mode("a.txt", "--offset", 100), "full")
        self.file("a.txt", numbered(1, 301))
        self.assertEqual(self.mode("a.txt:100-300"), "unchanged_range")
        answer = self.read("a.txt", "--offset", 100)
        self.assertEqual((answer["record"]["mode"], answer["text"]), ("full", "\n".join(numbered(100, 301))))

    def test_with_range_diff_only_the_appended_line_is_sent(self):
        """Case 20."""
        self.config(range_diff=True)
        self.file("a.txt", numbered(1, 300) + [""])
        self.read("a.txt", "--offset", 100)
        self.file("a.txt", numbered(1, 301) + [""])
        answer = self.read("a.txt", "--offset", 100)
        self.assertEqual(answer["record"]["mode"], "range_diff")
        self.assertEqual(answer["text"].split("\n")[0], "[readcache: 1 lines changed in lines 100-302 of 302]")
        changed = [line for line in answer["text"].split("\n")[3:] if line[0] in "+-"]
        self.assertEqual(changed, ["+line 301"])
        self.assertEqual(self.mode("a.txt", "--offset", 100), "unchanged_range")

    def test_a_changed_range_is_sent_by_default_and_told_as_a_diff_if_wanted(self):
        for wanted, mode in ((False, "full_fallback"), (True, "range_diff")):
            with self.subTest(range_diff=wanted):
                self.config(range_diff=wanted)
                session = f"s-{wanted}"
                lines = numbered(1, 300)
                self.file("a.txt", lines)
                self.read("a.txt", session=session)
                self.file("a.txt", lines[:149] + ["changed"] + lines[150:])
                answer = self.read("a.txt:100-200", session=session)
                self.assertEqual(answer["record"]["mode"], mode)
                self.assertIn("+changed" if wanted else "changed", answer["text"].split("\n"))
                self.assertEqual(self.mode("a.txt:100-200", session=session), "unchanged_range")

    def test_a_range_under_other_numbers_is_sent_by_default_and_named_if_wanted(self):
        """Case 21, H26."""
        for wanted in (False, True):
            self.config(shift_map=wanted)
            session = f"s-{wanted}"
            lines = numbered(1, 300)
            self.file("a.txt", lines)
            self.read("a.txt", session=session)
            self.file("a.txt", ["on top", *lines])
            answer = self.read("a.txt:101-201", session=session)
            if wanted:
                self.assertEqual(answer["text"], "[readcache: unchanged in lines 101-201 of 301; shown before as lines 100-200]")
                self.assertEqual((answer["record"]["mode"], answer["record"]["reason"], answer["record"]["from"]), ("unchanged_range", "shifted", [100, 200]))
            else:
                self.assertEqual(answer["text"].split("\n")[:101], lines[99:200])

    def test_a_marker_longer_than_the_file_gives_way_if_wanted(self):
        """Case 22, H11."""
        self.file("a.txt", "a\n")
        self.assertEqual((self.mode("a.txt"), self.mode("a.txt")), ("full", "unchanged"))
        self.config(never_inflate=True)
        answer = self.read("a.txt")
        self.assertEqual((answer["record"]["mode"], answer["record"]["reason"], answer["text"]), ("full_fallback", "marker_not_smaller", "a\n"))

    def test_a_first_line_that_is_too_long_is_never_claimed(self):
        """Case 13, H2."""
        self.file("a.txt", "x" * 61440 + "\nsecond\n")
        notice = "[Line 1 is 60.0KB, exceeds 50.0KB limit. Use bash: sed -n '1p' a.txt | head -c 51200]"
        for _ in range(2):
            answer = self.read("a.txt")
            self.assertEqual((answer["text"], answer["record"]["shown"]), (notice, []))
        answer = self.read("a.txt:2")
        self.assertEqual((answer["record"]["mode"], answer["text"]), ("full", "second\n"))
        self.file("a.txt", "y" * 61440 + "\nsecond\n")
        self.assertEqual(self.read("a.txt")["text"], notice)

    def test_of_a_range_that_was_cut_only_what_was_delivered_is_claimed(self):
        """Case 13, H33."""
        self.file("a.txt", numbered(1, 9000))
        args = ["a.txt", "--offset", 1000, "--limit", 5000]
        self.assertEqual(self.said(*args), ("full", "r:1000:5999", "no_base_hash"))
        answer = self.read(*args)
        self.assertEqual((answer["record"]["mode"], answer["record"]["scope"]), ("unchanged_range", "r:1000:2999"))
        self.assertEqual(answer["text"].split("\n")[1], "[Lines 3000-5999 are not in this answer. Use offset=3000 to continue.]")
        self.assertEqual(self.mode("a.txt", "--offset", 3000), "full")

    def test_a_file_the_agent_wrote_and_never_read_is_sent(self):
        """Case 48, H25."""
        self.weir("append", "--session", "s", stdin=jsonl([entry("alpha\nbeta\n", role="assistant"), entry("written", role="tool")]))
        self.file("a.txt", "alpha\nbeta\n")
        self.assertEqual(self.mode("a.txt"), "full")


class RefreshTest(ReadCase):
    def test_a_refresh_outlives_the_program(self):
        """Case 8: every run of the program begins from the log."""
        self.file("a.txt", "alpha\nbeta\n")
        self.read("a.txt")
        self.refresh("a.txt")
        self.assertEqual((self.mode("a.txt"), self.mode("a.txt")), ("full", "unchanged"))

    def test_a_range_refresh_takes_its_lines_from_every_range_and_leaves_the_rest(self):
        """Case 19, H14."""
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt")
        self.assertEqual(self.refresh("a.txt", "10-20")["text"], "[readcache-refresh] invalidated lines 10-20 for a.txt")
        self.assertEqual(self.said("a.txt:5-9"), ("unchanged_range", "r:5:9", "hash_match"))
        self.assertEqual(self.mode("a.txt"), "unchanged")
        self.assertEqual(self.status("a.txt")["blocked"], [[10, 20]])
        self.assertEqual(self.said("a.txt:10-21"), ("full", "r:10:21", "blocked_by_refresh"))
        self.refresh("a.txt:10-20")
        self.assertEqual(self.said("a.txt:11-20"), ("full", "r:11:20", "blocked_by_refresh"))
        self.assertEqual(self.status("a.txt")["blocked"], [[10, 10]])

    def test_only_content_lifts_a_block(self):
        """Case 19, H22."""
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt")
        self.refresh("a.txt", "10-20")
        self.assertEqual(self.mode("a.txt"), "unchanged")
        self.assertEqual(self.status("a.txt")["blocked"], [[10, 20]])
        self.assertEqual(self.said("a.txt", "--bypass"), ("full", "full", "bypass_cache"))
        self.assertEqual(self.status("a.txt")["blocked"], [])
        self.assertEqual(self.mode("a.txt:10-20"), "unchanged_range")

    def test_what_a_refresh_answers_and_appends(self):
        path = self.file("a.txt", numbered(1, 100))
        for args, scope, text in (
            (["a.txt"], "full", "full scope for a.txt"), (["./a.txt", "90"], "r:90:100", "lines 90-100 for ./a.txt"), (["a.txt:90-400"], "r:90:100", "lines 90-100 for a.txt"),
            (["a.txt", "1-100"], "full", "full scope for a.txt"), (["a.txt", "7-7"], "r:7:7", "lines 7-7 for a.txt"),
        ):  # fmt: skip
            answer = self.refresh(*args)
            self.assertEqual(answer, {"entry": self.last()["id"], "path": path, "scope": scope, "text": "[readcache-refresh] invalidated " + text})
            self.assertEqual((self.last()["type"], self.last()["body"]), ("refresh", {"v": 1, "path": path, "scope": scope}))
        self.assertEqual(self.weir("refresh", "a.txt", "--session", "s").text, "[readcache-refresh] invalidated full scope for a.txt\n")
        self.assertEqual(self.weir("readcache-refresh", "a.txt", "--session", "s").code, 0)

    def test_a_file_that_cannot_be_read_can_be_refreshed(self):
        gone = self.world.path("cwd", "gone.txt")
        self.assertEqual(self.refresh("gone.txt", "3-9", session="s")["scope"], "r:3:9")
        self.assertEqual(self.refresh("gone.txt", "3"), {**self.refresh("gone.txt"), "entry": self.entries()[1]["id"], "path": gone, "scope": "full"})

    def test_a_refresh_finds_the_name_that_links_lead_to_though_the_file_is_gone(self):
        for number, name in enumerate(("link", "folder/a.txt", "folder/../folder/a.txt")):
            session = f"s{number}"
            path = self.file("real/a.txt", "alpha\n")
            if number == 0:
                os.symlink("real/a.txt", self.world.path("cwd", "link"))
                os.symlink(self.world.path("cwd", "real"), self.world.path("cwd", "folder"))
            self.read(name, session=session)
            os.remove(path)
            self.assertEqual(self.refresh(name, session=session)["path"], path)
            self.file("real/a.txt", "alpha\n")
            self.assertEqual(self.mode(name, session=session), "full", name)

    def test_a_name_that_led_to_a_picture_in_between_is_told_the_content(self):
        self.file("a.conf", "alpha\n" * 40)
        self.file("b.png", b"\x89PNG\r\n\x1a\n" + bytes(40))
        link = self.world.path("cwd", "current")

        def point(to):
            if os.path.lexists(link):
                os.remove(link)
            os.symlink(to, link)

        self.follow("s")
        for to, mode in (("a.conf", "full"), ("a.conf", "unchanged"), ("b.png", None), ("a.conf", "full_fallback"), ("a.conf", "unchanged")):
            point(to)
            answer = self.answer("read", "current", "--session", "s")
            self.assertEqual(answer["kind"] if mode is None else answer["record"]["mode"], mode or "not_text")
        # So is a file that was one itself in between.
        self.file("c.conf", "gamma\n" * 40)
        modes = [self.answer("read", "c.conf", "--session", "s")["record"]["mode"]]
        self.file("c.conf", b"\x89PNG\r\n\x1a\n" + bytes(40))
        self.answer("read", "c.conf", "--session", "s")
        self.file("c.conf", "gamma\n" * 40)
        self.assertEqual([*modes, *(self.answer("read", "c.conf", "--session", "s")["record"]["mode"] for _ in range(2))], ["full", "full", "unchanged"])
        # And a link that was a picture itself in between.
        point("a.conf")
        modes = [self.answer("read", "current", "--session", "s")["record"]["mode"]]
        os.remove(link)
        self.file("current", b"\x89PNG\r\n\x1a\n" + bytes(40))
        self.answer("read", "current", "--session", "s")
        point("a.conf")
        self.assertEqual([*modes, *(self.answer("read", "current", "--session", "s")["record"]["mode"] for _ in range(2))], ["unchanged", "full_fallback", "unchanged"])
        # A picture that was never anything else leaves no trace.
        before = len(self.entries())
        self.answer("read", "b.png", "--session", "s")
        self.assertEqual(len(self.entries()), before)

    def test_nothing_is_held_where_nobody_tells_of_compactions(self):
        self.file("a.txt", "alpha\n" * 40)
        self.answer("read", "a.txt", "--session", "plain")
        self.assertEqual(self.answer("reads", "a.txt", "--session", "plain")["view"], [])
        status = self.status(session="plain")
        self.assertEqual((status["scopes"], status["reads"]["full"], status["reason"]), (0, 1, "not_followed"))
        shown = self.weir("reads", "a.txt", "--session", "plain").out.decode()
        self.assertIn("no line is held", shown)
        self.assertIn("not_followed", shown)

    def test_a_dry_run_withdraws_nothing(self):
        self.file("a.txt", "a\n")
        self.read("a.txt")
        before = self.world.dump()
        self.assertIn("full scope", self.answer("refresh", "a.txt", "--session", "s", "--dry-run")["text"])
        self.assertEqual(self.world.dump(), before)

    def test_a_malformed_range_is_refused(self):
        self.file("a.txt", "a\n")
        for words in (["a.txt", "0"], ["a.txt", "3-"], ["a.txt", "x"], ["a.txt", "5-2"], ["a.txt:3-"]):
            self.refused("BAD_RANGE_SUFFIX", "refresh", *words, "--session", "s")


class EvidenceTest(ReadCase):
    def message(self, text, record, **fields):
        return self.add("message", {"role": "tool", "name": "read", "content": text, "read": record, **fields})

    def shown(self):
        """A message that carries the record of a full read, as a host would write it."""
        self.file("a.txt", "alpha\nbeta\n")
        answer = self.read("a.txt", session="elsewhere")
        return answer["text"], answer["record"]

    def test_a_message_that_carries_its_text_and_record_is_evidence(self):
        self.message(*self.shown())
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_an_error_or_another_text_is_none(self):
        """Case 24, H9."""
        text, record = self.shown()
        self.message(text, record, is_error=True)
        self.assertEqual(self.status()["reads"]["not_evidence"], 1)
        self.message("[tool output removed]", record)
        self.assertEqual(self.status()["reads"]["not_evidence"], 2)
        self.assertEqual(self.mode("a.txt"), "full")

    def test_a_read_that_was_edited_away_is_sent_again_and_only_on_that_branch(self):
        """Case 24, H29."""
        for number, replacement in enumerate((None, [{"type": "text", "text": "[removed]"}], "[removed]")):
            with self.subTest(replacement=replacement):
                session = f"s{number}"
                self.file("a.txt", "alpha\nbeta\n")
                self.read("a.txt", session=session)
                read = self.last(session)["id"]
                self.assertEqual(self.mode("a.txt", session=session), "unchanged")  # derived from it: falls with it
                self.weir("head", "fork", "other", "--session", session)
                self.add("context_edit", {"target": read, "replacement": replacement}, session)
                self.assertEqual(self.status("a.txt", session=session)["view"], [])
                self.assertEqual(self.mode("a.txt", session=session), "full")
                self.assertEqual(self.mode("a.txt", "--head", "other", session=session), "unchanged")

    def test_a_marker_does_not_outlive_the_diff_it_was_answered_after(self):
        """Case 24: the range marker puts the new version into the view; that must not stand in for the diff's lines."""
        lines = numbered(1, 30)
        self.file("a.txt", lines)
        self.read("a.txt")
        lines[21] = "other text"
        self.file("a.txt", lines)
        self.assertEqual([self.mode(path) for path in ("a.txt:6-16", "a.txt")], ["unchanged_range", "diff"])
        diff = self.last()["id"]
        self.assertEqual(self.mode("a.txt"), "unchanged")
        self.add("context_edit", {"target": diff, "replacement": None})
        self.assertIn("other text", self.texts("a.txt:20-25"))

    def link(self, name, target):
        path = os.path.join(self.world.cwd, name)
        if os.path.islink(path):
            os.unlink(path)
        os.symlink(target, path)

    def test_some_lines_under_a_name_that_moved_do_not_stand_for_the_rest(self):
        for name in ("a", "b"):
            self.file(f"{name}.conf", numbered(1, 40, name))
            self.file(f"{name}.dir/f", numbered(1, 40, name))
        self.link("cur", "a.conf")
        self.link("d", "a.dir")
        for name, other in (("cur", "b.conf"), ("d/f", "b.dir/f")):
            with self.subTest(name=name):
                self.assertEqual([self.mode(path) for path in (other, name)], ["full", "full"])
                self.link(name.split("/")[0], other.split("/")[0])
                self.assertEqual(self.said(f"{name}:2-3")[2], "name_moved")
                self.assertEqual([self.said(path)[2] for path in (f"{name}:10-20", name)], ["name_moved", "name_moved"])
                self.assertEqual([self.mode(path) for path in (name, f"{name}:10-20", other)], ["unchanged", "unchanged_range", "unchanged"])

    def test_some_lines_under_a_name_read_before_an_edit_do_not_stand_for_the_rest(self):
        self.file("v", numbered(1, 40))
        self.link("w", "v")
        self.assertEqual([self.mode(path) for path in ("v", "w")], ["full", "unchanged"])
        self.file("v", numbered(1, 39) + ["other"])
        self.assertEqual(self.mode("v"), "diff")
        self.assertEqual([self.said(path)[2] for path in ("w:2-3", "w")], ["name_moved", "name_moved"])
        self.assertEqual(self.mode("w"), "unchanged")

    def test_a_name_that_moved_is_not_mended_by_text_that_was_taken_out(self):
        for name in ("a", "b"):
            self.file(f"{name}.conf", numbered(1, 40, name))
        self.link("cur", "a.conf")
        self.read("b.conf")
        self.read("cur")
        self.link("cur", "b.conf")
        self.assertEqual(self.said("cur")[2], "name_moved")
        mended = self.last()["id"]
        self.assertEqual(self.mode("cur"), "unchanged")
        self.add("context_edit", {"target": mended, "replacement": None})
        self.assertEqual(self.said("cur")[2], "name_moved")

    def test_two_dots_behind_a_link_lead_where_the_kernel_says(self):
        for name in ("a", "b"):
            self.file(f"{name}.conf", numbered(1, 40, name))
        self.file("q/sub/none", "")
        self.link("q/x", "../b.conf")
        self.link("d", "q/sub")
        self.link("x", "a.conf")
        self.assertEqual([self.texts(path)[0] for path in ("x", "d/../x")], ["a 1", "b 1"])
        self.link("x", "b.conf")
        self.assertEqual(self.texts("x")[0], "b 1")
        self.assertEqual(self.mode("x"), "unchanged")

    def test_what_a_prompt_of_ours_leaves_out_is_sent_again(self):
        self.file("a.txt", numbered(1, 400))
        self.add("message", {"role": "user", "content": "look"})
        self.assertEqual([self.mode("a.txt"), self.mode("a.txt")], ["full", "unchanged"])
        prompt = self.answer("context", "--session", "s")
        self.assertNotIn("line 200", compact(prompt))
        self.assertEqual(self.mode("a.txt"), "full")

    def test_what_a_prompt_of_ours_holds_is_not_sent_again_and_what_it_drops_is(self):
        self.file("a.txt", numbered(1, 200))
        self.begin("s")
        self.add("message", {"role": "user", "content": "look"})
        self.add("message", {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "read", "arguments": {"path": "a.txt"}}]})
        read = self.answer("read", "a.txt", "--session", "s", "--no-record")
        record = self.read("a.txt", session="probe")["record"]
        self.add("message", {"role": "tool", "tool_call_id": "c1", "content": read["text"], "read": record})
        self.assertIn("line 100", compact(self.answer("context", "--session", "s")))
        self.assertEqual(self.mode("a.txt"), "unchanged")
        for i in range(6):
            self.add("message", {"role": "assistant", "content": f"so {i}"})
            self.add("message", {"role": "user", "content": f"and {i}"})
        self.assertNotIn("line 100", compact(self.answer("context", "--session", "s", "--budget", "1500")))
        self.assertEqual(self.mode("a.txt"), "full")

    def test_an_edit_may_name_its_target_by_pointer_and_says_if_it_names_none(self):
        self.file("a.txt", numbered(1, 20))
        self.read("a.txt")
        self.assertEqual(self.mode("a.txt"), "unchanged")
        first = [entry for entry in self.log("s") if entry["type"] == "read"][-1]
        answer = self.answer("append", "--session", "s", stdin=compact({"type": "context_edit", "body": {"target": "nosuch", "replacement": None}}))
        self.assertEqual(len(answer["warnings"]), 1)
        self.assertIn("nosuch", answer["warnings"][0])
        self.assertEqual(self.mode("a.txt"), "unchanged")
        self.add("context_edit", {"target": "e" + first["digest"][:16], "replacement": None})
        self.assertEqual(self.last()["body"]["target"], first["id"])
        self.assertEqual(self.mode("a.txt"), "full")

    def test_whether_compactions_reach_the_log_is_true_or_false(self):
        for value in ("false", 0, "yes"):
            self.refused("INVALID_FIELD", "append", "--session", "s", stdin=compact({"type": "session_info", "body": {"barrier_feed": value}}))

    def test_malformed_records_count_for_nothing_and_hurt_nothing(self):
        """Case 10."""
        self.file("a.txt", numbered(1, 20))
        good = self.read("a.txt")["record"]
        before = self.status("a.txt")
        missing = [{key: value for key, value in good.items() if key != left} for left in ("v", "mode", "path", "scope", "start", "end", "total_lines", "bytes", "served", "shown", "text_sha256", "reason")]
        wrong = [{**good, **change} for change in (
            {"scope": "r:9:2"}, {"scope": "r:01:2", "start": 1, "end": 2}, {"scope": "r:1:5"}, {"total_lines": 0}, {"total_lines": 19}, {"mode": "unchanged", "shown": []}, {"mode": "unchanged", "base": good["served"]}, {"mode": "diff"},
            {"mode": "other"}, {"start": "1"}, {"start": 0}, {"start": 1.5}, {"end": 21}, {"bytes": -1}, {"bytes": "17"}, {"served": "x"}, {"served": good["served"].upper()}, {"served": None}, {"base": "x"}, {"path": "a.txt"}, {"path": ""}, {"path": "/a\0b"},
            {"path": "/" + "x" * 4096}, {"path": "/a/../b"}, {"shown": [[1, 21]]}, {"shown": [[5, 9], [1, 2]]}, {"shown": [[1, 4], [5, 9]]}, {"shown": [[1, 9], [5, 12]]}, {"shown": [[3]]}, {"shown": [1, 20]}, {"shown": {}}, {"known": [[1, 20]]},
            {"from": [1, 20]}, {"v": 2}, {"v": "1"}, {"v": True}, {"text_sha256": "x"}, {"text_sha256": None}, {"sent": -1}, {"baseline": "17"}, {"reason": 5},
        )]  # fmt: skip
        broken = missing + wrong
        self.weir("append", "--session", "s", stdin=jsonl({"type": "read", "body": body} for body in broken))
        self.weir("append", "--session", "s", stdin=jsonl({"type": "message", "body": {"role": "tool", "content": "x", "read": body}} for body in broken))
        self.assertEqual(self.status()["reads"]["malformed"], 2 * len(broken))
        self.assertEqual(self.status("a.txt"), before)
        self.assertEqual(self.status()["reads"]["full"], 1)
        self.assertEqual(self.mode("a.txt"), "unchanged")
        self.sound()

    def test_unknown_members_and_reasons_do_not_matter(self):
        """Case 11."""
        self.file("a.txt", "alpha\n")
        record = self.read("a.txt", session="elsewhere")["record"]
        self.add("read", {**record, "reason": "since_2031", "future": {"deep": [1]}, "mode": "baseline_fallback"})
        self.assertEqual(self.mode("a.txt"), "unchanged")
        self.assertEqual(self.status()["reads"]["full_fallback"], 1)

    def test_a_marker_without_the_content_before_it_is_no_evidence(self):
        """Case 28."""
        self.file("a.txt", "alpha\n")
        self.read("a.txt", session="elsewhere")
        marker = self.read("a.txt", session="elsewhere")["record"]
        self.assertEqual(marker["mode"], "unchanged")
        self.add("read", marker)
        self.assertEqual(self.status("a.txt")["view"], [])
        self.assertEqual(self.mode("a.txt"), "full")


if __name__ == "__main__":
    harness.main()
