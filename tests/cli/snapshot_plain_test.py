"""Sessions without a run, host-made compactions, and undo (cases 56 to 62 of the compaction snapshot), and hosts that
took Weir's dry run for their summary."""

import hashlib

import snapshot_case as s
from harness import compact, entry, jsonl
from snapshot_case import RUN, SnapshotCase, calls, claim, event, result, step, steps

STAMP = "2026-05-01T08:00:00.000Z"


def pin(target):
    return {"type": "label", "body": {"target": target, "label": "pin"}}


def read_record(path, content, **fields):
    data = content.encode()
    lines = content.count("\n") + 1
    digest = hashlib.sha256(data).hexdigest()
    return {
        "v": 1, "mode": "full", "path": path, "scope": "full", "start": 1, "end": lines, "total_lines": lines, "bytes": len(data), "served": digest,
        "shown": [[1, lines]], "text_sha256": digest, "reason": "no_base_hash", "sent": len(data), "baseline": len(data), **fields,
    }  # fmt: skip


class PlainTest(SnapshotCase):
    def carry(self, session="s"):
        return self.state(session)["carry"]

    def files(self, *entries):
        self.give([{"type": "session_info", "body": {"cwd": "/repo"}}, entry("go"), *entries])
        return {one["path"]: one for one in self.carry()["files"]}

    def test_case_57_a_coding_session(self):
        self.give([
            {"type": "session_info", "body": {"cwd": "/repo"}}, entry("Be careful.", "system"), entry("Mend the parser.", id="first"), entry("I will look.", "assistant"),
            calls(("a", "Read", {"file_path": "/repo/src/parse.cc"})), result("a", "text", read=read_record("/repo/src/parse.cc", "int main\n")),
            calls(("b", "Edit", {"file_path": "src/parse.cc", "old_string": "a", "new_string": "b"}), ("c", "Write", {"file_path": "./docs/../notes.md", "content": "# Notes\n"})), result("b"), result("c"),
            calls(("d", "Bash", {"command": "make test\n# all of it"})), result("d", "\n\nerror: 2 tests failed\nmore", True),
            entry("Only the parser, please.", id="second"), pin("second"),
            calls(("e", "TodoWrite", {"todos": [{"content": "mend", "status": "completed"}, {"content": "test", "status": "pending"}, {"content": "write", "status": "in_progress"}]})), result("e"),
            entry("And a test for it.", id="third"), entry("Yes.", "assistant"), calls(("f", "Bash", {"command": "make -j2"}), ("g", "grep", {"pattern": "x"})), result("f", "ok"),
        ])  # fmt: skip
        path = self.path()
        at = {one["id"]: self.pointer(one) for one in path}
        place = [self.pointer(one) for one in path]
        self.assertEqual(self.compact()["run"], False)
        shown = self.shown()
        self.assertEqual(shown["validation"]["status"], "PASS")
        self.assertEqual((shown["objective"], shown["objective_source"]), ("Mend the parser.", {"kind": "derived", "entry": at["first"], "cut": False}))
        self.assertEqual((shown["done_definition"], shown["provenance_mode"], shown["state"]["claims"]), ("not declared", "audit_only", []))
        carry = shown["state"]["carry"]
        self.assertEqual(carry["latest_request"], {"entry": at["third"], "bytes": 18, "verbatim": "And a test for it.", "answered": True})
        self.assertEqual(carry["requests"], [{"entry": at["first"], "bytes": 16, "opening": "Mend the parser."}, {"entry": at["second"], "bytes": 24, "opening": "Only the parser, please."}])
        self.assertEqual(carry["pinned"], [{"entry": place[1], "role": "system", "reason": "system", "bytes": 11, "verbatim": "Be careful."}, {"entry": at["second"], "role": "user", "reason": "pin", "bytes": 24, "verbatim": "Only the parser, please."}])
        self.assertEqual(carry["last_reply"], {"entry": place[-3], "bytes": 4, "opening": "Yes."})
        self.assertEqual(carry["files"], [
            {"path": "src/parse.cc", "reads": 1, "changes": 1, "last_read": place[5], "last_change": place[7], "sha256": None},
            {"path": "notes.md", "reads": 0, "changes": 1, "last_read": None, "last_change": place[8], "sha256": s.sha256("# Notes\n")},
        ])  # fmt: skip
        self.assertEqual(carry["commands"], [
            {"tool": "Bash", "command": "make test\n# all of it", "bytes": 21, "runs": 1, "errors": 1, "last_entry": place[10]},
            {"tool": "Bash", "command": "make -j2", "bytes": 8, "runs": 1, "errors": 0, "last_entry": place[-1]},
        ])  # fmt: skip
        self.assertEqual(carry["todos"]["items"], [{"item": "mend", "status": "completed"}, {"item": "test", "status": "pending"}, {"item": "write", "status": "in_progress"}])
        self.assertEqual(carry["pending_calls"], [{"entry": place[-2], "tool": "grep", "call_id": "g"}])
        self.assertEqual(shown["state"]["next_actions"], ["write", "test"])
        failure = shown["state"]["failures"][0]
        self.assertEqual({key: failure[key] for key in ("failure_id", "category", "where", "why", "status", "occurrence_count")},
                         {"failure_id": s.failure_id("tool_error", "Bash: make test", "TOOL_ERROR", "Bash"), "category": "tool_error", "where": "Bash: make test", "why": "error: 2 tests failed", "status": "active", "occurrence_count": 1})  # fmt: skip
        for found in self.pointers(shown):
            self.assertEqual(self.pointer(self.answer("show", found, "--session", "s")), found)
        self.weir("snapshot", "check", "1", "--session", "s")

    def pointers(self, value, key=""):
        if isinstance(value, dict):
            return {found for name, item in value.items() for found in self.pointers(item, name)}
        if isinstance(value, list):
            return {found for item in value for found in self.pointers(item, key)}
        return {value} if isinstance(value, str) and (key == "entry" or key.endswith("_entry") or key in ("last_read", "last_change")) else set()

    def test_case_57_the_objective_is_cut_at_whole_code_points(self):
        self.give([entry("é" * 10000)])
        self.compact()
        shown = self.shown()
        self.assertEqual((shown["objective"], shown["objective_source"]["cut"]), ("é" * 8192, True))
        self.assertEqual(shown["state"]["carry"]["latest_request"]["verbatim"], None)
        self.assertEqual(shown["state"]["carry"]["latest_request"]["bytes"], 20000)

    def test_case_57_the_text_of_blocks_is_joined(self):
        self.give([entry([{"type": "text", "text": "one"}, {"type": "image", "source": {}}, {"type": "text", "text": "two"}])])
        self.compact()
        self.assertEqual(self.shown()["objective"], "one\ntwo")

    def test_case_57_what_is_no_request(self):
        named, made, read = entry("named"), entry("made"), entry("read")
        named["body"]["name"] = "bash"
        made["body"]["extra"] = {"synthetic": True}
        read["body"]["read"] = read_record("/repo/a", "x\n")
        self.give([entry(" \n"), named, made, read, entry("the real one"), entry("\t")])
        carry = self.carry()
        self.assertEqual((carry["latest_request"]["verbatim"], carry["requests"]), ("the real one", []))

    def test_case_57_lists_are_bounded(self):
        self.give([entry(f"request {n}") for n in range(205)] + [one for n in range(203) for one in (calls((f"t{n}", "bash", {"command": f"run {n}"})), result(f"t{n}"))] + [calls(("x", "bash", {"command": "run 200"})), result("x", "no", True)])
        carry = self.carry()
        self.assertEqual((len(carry["requests"]), carry["requests_omitted"], carry["requests"][0]["opening"]), (200, 4, "request 4"))
        self.assertEqual((len(carry["commands"]), carry["commands_omitted"], carry["commands"][0]["command"]), (200, 3, "run 3"))
        self.assertEqual({key: carry["commands"][-1][key] for key in ("command", "runs", "errors")}, {"command": "run 200", "runs": 2, "errors": 1})
        self.give([entry("on")])
        carry = self.carry()
        self.assertEqual((carry["commands"], carry["commands_omitted"]), ([], 0), "commands count from the barrier")

    def test_case_58_pins_are_verbatim_after_three_compactions(self):
        text = "Keep\n\tthis é exactly.\n```\n"
        self.give([entry("System rules.", "system"), entry(text, id="kept"), pin("kept")])
        for number in range(1, 4):
            self.give([entry(f"work {number}"), entry("done", "assistant")])
            self.compact()
            pinned = self.shown(str(number))["state"]["carry"]["pinned"]
            self.assertEqual([(one["verbatim"], one["reason"]) for one in pinned], [("System rules.", "system"), (text, "pin")])
        self.assertIn("| \tthis é exactly.\n| ```\n", self.narrative("3"))
        self.give([{"type": "label", "body": {"target": "kept", "label": "note"}}])
        self.assertEqual([one["reason"] for one in self.carry()["pinned"]], ["system"])

    def test_case_58_equal_system_messages_once(self):
        self.give([entry("A.", "system"), entry("hi"), entry("B.", "system"), entry("A.", "system")])
        self.assertEqual([one["verbatim"] for one in self.carry()["pinned"]], ["A.", "B."])

    def test_case_58_a_message_too_long_to_carry_cannot_be_pinned(self):
        self.give([entry("x" * 20000, id="long"), entry("y" * 70000, id="blob"), entry("z" * 16384, id="fits")])
        self.not_taken("LIMIT_EXCEEDED", pin("long"))
        self.not_taken("LIMIT_EXCEEDED", pin("blob"))
        self.give([pin("fits")])
        self.assertEqual(len(self.carry()["pinned"]), 1)

    def test_case_59_a_failing_command_that_later_succeeds_is_resolved(self):
        self.give([entry("go"), calls(("a", "bash", {"command": "make"})), result("a", "broken", True), calls(("b", "bash", {"command": "make"})), result("b", "still", True), calls(("c", "bash", {"command": "other"})), result("c", "", True)])
        failures = self.state()["failures"]
        self.assertEqual([(one["where"], one["why"], one["status"], one["occurrence_count"]) for one in failures], [("bash: make", "broken", "active", 2), ("bash: other", "(no text)", "active", 1)])
        self.give([calls(("d", "bash", {"command": "make"})), result("d")])
        self.assertEqual([one["status"] for one in self.state()["failures"]], ["resolved", "active"])

    def test_case_59_write_edit_and_read(self):
        content = "alpha\nbeta\n"
        found = self.files(
            calls(("a", "write", {"path": "w.txt", "content": content}), ("b", "write", {"path": "e.txt", "content": content})), result("a"), result("b"),
            calls(("c", "edit", {"path": "e.txt", "old": "a", "new": "b"})), result("c"),
            calls(("d", "read", {"path": "r.txt"})), result("d", content, read=read_record("/repo/r.txt", content)), calls(("e", "read", {"path": "plain.txt"})), result("e", "text"),
            calls(("f", "write", {"path": "failed.txt", "content": "x"})), result("f", "disk full", True), calls(("g", "write", {"path": "never.txt", "content": "x"})),
        )  # fmt: skip
        self.assertEqual({path: (one["reads"], one["changes"], one["sha256"]) for path, one in found.items()},
                         {"w.txt": (0, 1, s.sha256(content)), "e.txt": (0, 2, None), "r.txt": (1, 0, s.sha256(content)), "plain.txt": (1, 0, None)})  # fmt: skip

    def test_case_59_paths(self):
        patch = "*** Begin Patch\n*** Add File: new.py\n+x\n*** Update File: /repo/old.py\n@@\n*** Delete File: gone.py\n*** End Patch\n"
        found = self.files(
            calls(("a", "mcp__fs__read_file", {"absolute_path": "/etc/hosts"}), ("b", "apply_patch", {"input": patch}), ("c", "NotebookEdit", {"notebook_path": "/repo/./x/../n.ipynb"}), ("d", "view", {"filePath": "../up.txt"})),
            result("a"), result("b"), result("c"), result("d"),
        )  # fmt: skip
        self.assertEqual(sorted(found), ["/etc/hosts", "/up.txt", "gone.py", "n.ipynb", "new.py", "old.py"])

    def test_case_59_tools_named_by_the_session(self):
        found = self.files({"type": "session_info", "body": {"tools": {"scribble": "write"}}}, calls(("a", "scribble", {"path": "a.txt", "content": "x"})), result("a"))
        self.assertEqual(found["a.txt"]["sha256"], s.sha256("x"))

    def test_a_plan_is_a_todo_list(self):
        self.give([entry("go"), calls(("a", "update_plan", {"plan": [{"step": "one", "status": "completed"}, {"step": "two", "status": "pending"}]})), result("a")])
        state = self.state()
        self.assertEqual((state["carry"]["todos"]["items"][1], state["next_actions"]), ({"item": "two", "status": "pending"}, ["two"]))

    def test_case_60_run_started_before_the_first_snapshot_declares_the_objective(self):
        self.give([entry("hi"), s.loose()])
        self.compact()
        shown = self.shown()
        self.assertEqual((shown["objective"], shown["objective_source"]["kind"]), ("Find out", "declared"))
        self.assertIs(self.compact()["run"], True)

    def test_a_plain_session_may_hold_claims(self):
        self.give([entry("hi"), claim("c1"), event("QUESTION_OPENED", question_id="q1", text="Why?")])
        state = self.state()
        self.assertEqual((len(state["claims"]), state["open_questions"]), (1, ["Why?"]))


class UndoTest(SnapshotCase):
    def test_case_56_a_head_before_the_barrier_sees_what_was_before(self):
        self.two_snapshots()
        at = self.path(RUN)
        two = self.shown("2", RUN)
        self.goto(at[22]["id"], RUN)
        self.assertEqual(self.counts(RUN), (3, 1, "EVENT_THRESHOLD"))
        self.assertIsNone(self.due(RUN)["barrier"])
        self.assertEqual(self.answer("snapshot", "list", "--session", RUN)["snapshots"], [])
        self.assertEqual(self.dry(RUN)["snapshot_id"], "snap1_42ac2334deb41027728c576a4bfdfd20")
        # The snapshots stay readable where they are.
        for number in (24, 42):
            found = self.answer("snapshot", "show", "--session", RUN, "--at", at[number - 1]["id"])
            self.assertEqual(found["sequence"], number // 18)
        self.assertEqual(self.answer("snapshot", "show", "2", "--session", RUN, "--at", at[41]["id"]), two)
        self.goto(at[41]["id"], RUN)
        self.assertEqual(self.shown("2", RUN), two)

    def test_case_56_files_and_messages_of_before(self):
        self.give([entry("one"), calls(("a", "write", {"path": "a.txt", "content": "1"})), result("a")])
        before = self.path()[-1]["id"]
        self.give([calls(("b", "write", {"path": "b.txt", "content": "2"})), result("b"), entry("two")])
        self.compact()
        self.assertEqual(len(self.shown()["state"]["carry"]["files"]), 2)
        self.goto(before)
        self.give([entry("another way")])
        self.compact()
        carry = self.shown()["state"]["carry"]
        self.assertEqual(([one["path"] for one in carry["files"]], carry["latest_request"]["verbatim"]), (["a.txt"], "another way"))
        self.assertEqual(self.shown()["sequence"], 1)

    def test_case_56_a_read_is_full_after_a_compaction_and_trusted_again_before_it(self):
        text = "".join(f"line {n}\n" for n in range(50))
        self.world.file("a.txt", text)
        self.give([entry("look")])
        self.follow()
        self.assertIn("line 49", self.weir("read", "a.txt", "--session", "s").text)
        before = self.path()[-1]["id"]
        self.assertNotIn("line 49", self.weir("read", "a.txt", "--session", "s").text)
        self.compact()
        self.assertIn("line 49", self.weir("read", "a.txt", "--session", "s").text)
        self.goto(before)
        self.assertNotIn("line 49", self.weir("read", "a.txt", "--session", "s").text)

    def test_case_56_history_finds_what_lies_behind_the_barrier(self):
        self.give([entry("the zebra crossing", id="old"), entry("ok", "assistant")])
        self.compact()
        self.give([entry("go on")])
        _, found, end = self.stream("history", "zebra", "--where", "before", "--session", "s")
        self.assertEqual(end["count"], 1, found)
        self.assertIn("old", compact(found))

    def test_case_56_reads_are_files_of_the_snapshot(self):
        self.world.file("a.txt", "alpha\n")
        self.give([entry("look")])
        for _ in range(2):
            self.weir("read", "a.txt", "--session", "s")
        self.compact()
        found = self.shown()["state"]["carry"]["files"]
        self.assertEqual([(one["reads"], one["changes"], one["sha256"]) for one in found], [(2, 0, s.sha256("alpha\n"))])
        self.assertTrue(found[0]["path"].endswith("a.txt"))


class HostBarrierTest(SnapshotCase):
    def host(self, **body):
        return {"type": "compaction", "body": {"summary": "c9 is verified", **body}}

    def attach(self, *args):
        return self.answer("snapshot", "attach", *args, "--session", "s")

    def test_case_61_a_summary_makes_no_claim(self):
        self.give([s.loose(), entry("hi"), *steps(1, 5), self.host()])
        barrier = self.pointer(self.path()[-1])
        self.assertEqual(self.counts(), (0, 0, None))
        self.assertEqual((self.due()["barrier"], self.due()["bare_barrier"]), (barrier, barrier))
        self.assertEqual(self.answer("snapshot", "list", "--session", "s")["snapshots"], [])
        answer = self.attach()
        self.assertEqual((answer["status"], answer["sequence"]), ("PASS", 1))
        last = self.path()[-1]
        self.assertEqual((last["type"], last["id"], last["body"]["target"]), ("SNAPSHOT_ATTACHED", answer["entry"], barrier))
        self.assertEqual(sorted(last["body"]), ["narrative", "narrative_max_bytes", "snapshot", "target"])
        shown = self.shown()
        self.assertEqual((shown["provenance"]["trigger"], shown["provenance"]["last_pos"], shown["state"]["claims"]), ("HOST_BARRIER", 17, []))
        self.assertEqual(shown["counts"], {"steps_since_last_compaction": 5, "counted_events_since_last_compaction": 15})
        self.assertEqual((self.due()["barrier"], self.due()["bare_barrier"]), (barrier, None))
        row = self.answer("snapshot", "list", "--session", "s")["snapshots"][0]
        self.assertEqual((row["sequence"], row["attached"], row["entry"]), (1, True, answer["entry"]))
        self.give(steps(6, 6))
        self.assertEqual(self.counts(), (3, 1, None))
        self.assertEqual(self.compact()["sequence"], 2)
        shown = self.shown()
        self.assertEqual((shown["provenance"]["first_pos"], shown["counts"]["steps_since_last_compaction"]), (18, 1))
        self.assertEqual(self.check(shown, code=0), {})
        self.weir("snapshot", "check", "1", "--session", "s")
        self.sound()

    def test_case_61_attach_inside_a_step(self):
        self.give([s.run_started(), s.manifest(1), *step(1), event("STEP_STARTED", step_id=2), event("PLAN_DONE", step_id=2), self.host()])
        answer = self.attach()
        self.assertEqual((answer["status"], answer["sequence"]), ("PASS", 1))
        self.give([s.manifest(2), event("ACT_DONE", step_id=2), event("OBSERVE_DONE", step_id=2)])
        self.assertEqual(self.counts(), (2, 1, None))
        self.assertEqual(self.compact()["sequence"], 2)
        self.sound()

    def test_case_61_later_than_the_barrier(self):
        """The snapshot is cut at the barrier's parent, whatever came since."""
        self.give([s.loose(), claim("c1"), self.host(), claim("c2"), *steps(1, 1)])
        self.attach()
        self.assertEqual([one["claim_id"] for one in self.shown()["state"]["claims"]], ["c1"])
        self.assertEqual(self.counts(), (3, 1, None))
        self.assertEqual(self.compact()["sequence"], 2)
        self.assertEqual(self.shown()["deltas"]["claims_added"], ["c2"])

    def test_case_62_a_dry_run_and_the_later_attach_give_one_id(self):
        self.give([s.loose(), entry("hi", id="kept"), *steps(1, 2), event("STEP_STARTED", step_id=3)])
        told = self.dry("s", "--first-kept", "kept")["snapshot_id"]
        self.give([self.host(first_kept="kept")])
        self.assertEqual(self.attach()["snapshot_id"], told)

    def test_case_62_a_host_barrier_right_behind_weirs_own_is_not_bare(self):
        self.give([s.loose(), *steps(1, 2)])
        self.compact()
        self.give([self.host()])
        found = self.due()
        self.assertEqual((found["barrier"], found["bare_barrier"]), (self.pointer(self.path()[-1]), None))
        self.assertNotEqual(self.world.run("snapshot", "attach", "--session", "s").code, 0)
        self.assertIs(self.compact()["already"], True)

    def test_case_62_a_second_attach_is_refused(self):
        self.give([s.loose(), *steps(1, 2), self.host()])
        barrier = self.path()[-1]["id"]
        self.attach(barrier)
        before = self.world.dump()
        for args in ((), (barrier,)):
            ran = self.world.run("--json", "snapshot", "attach", *args, "--session", "s")
            self.assertIn(ran.code, (4, 6), ran)
        self.assertEqual(self.world.dump(), before)

    def test_case_62_only_the_nearest_bare_barrier_can_be_given_one(self):
        self.give([s.loose(), *steps(1, 1), self.host(), *steps(2, 2), self.host(summary="again")])
        first, second = (one["id"] for one in self.path() if one["type"] == "compaction")
        self.assertEqual(self.world.run("snapshot", "attach", first, "--session", "s").code, 6)
        self.assertEqual(self.attach(second)["sequence"], 1)
        self.sound()

    def test_attach_in_a_dry_run_stores_nothing(self):
        self.give([entry("hi"), self.host()])
        before = self.world.dump()
        told = self.attach("--dry-run")
        self.assertEqual(self.world.dump(), before)
        self.assertEqual(self.attach()["snapshot_id"], told["snapshot_id"])

    def test_attach_that_fails_its_checks_stores_nothing(self):
        self.give([*s.with_evidence(), claim("c1"), s.verify("c1"), self.host()])
        error = self.refused("GATE_FAILED", "snapshot", "attach", "--session", "s")
        self.assertEqual(error["message"].split("; ", 1)[1], "first: verified_claims_have_evidence: 1 verified claims without evidence; first: c1")

    def test_attach_with_nothing_to_attach_to(self):
        self.give([entry("hi")])
        ran = self.world.run("--json", "snapshot", "attach", "--session", "s")
        self.assertIn(ran.code, (4, 6), ran)
        self.give([entry("only the system", "system"), self.host()], "empty")
        self.refused("NOTHING_TO_COMPACT", "snapshot", "attach", "--session", "empty")

    def test_the_bound_of_an_attached_narrative(self):
        self.give([entry("hi"), self.host()])
        self.attach("--max-bytes", "0")
        self.assertEqual(self.path()[-1]["body"]["narrative_max_bytes"], 0)


class ImportedTest(SnapshotCase):
    """pi took Weir's dry run for its summary: `details.weir.snapshot_id` (snapshot.md 10, faces.md 5)."""

    def line(self, identity, parent, content, role="user", **fields):
        return {"type": "message", "id": identity, "parentId": parent, "timestamp": STAMP, "message": {"role": role, "content": content}, **fields}

    def compaction(self, snapshot_id, parent="b0000002", **details):
        return {"type": "compaction", "id": "b0000003", "parentId": parent, "timestamp": STAMP, "summary": "what Weir said", "firstKeptEntryId": "b0000001", "tokensBefore": 900, "details": {"weir": {"snapshot_id": snapshot_id}, **details}, "fromHook": True}

    def lines(self):
        return [self.line("b0000001", None, "Mend the parser."), self.line("b0000002", "b0000001", [{"type": "text", "text": "Done."}], "assistant")]

    def sync(self, entries, since):
        return self.answer("sync", "--format", "pi", stdin=compact({"format": "pi", "session": "pi", "since": since, "entries": entries, "leaf": entries[-1]["id"]}))

    def dry_id(self):
        self.sync(self.lines(), None)
        return self.dry("pi", "--first-kept", "b0000001")["snapshot_id"]

    def kept(self, body, wanted):
        self.assertEqual(sorted(set(body) - {"extra"}), ["first_kept", "narrative", "narrative_max_bytes", "snapshot", "summary", "tokens_before"])
        self.assertEqual((body["summary"], body["first_kept"], body["tokens_before"]), ("what Weir said", "b0000001", 900))
        self.assertEqual(body["snapshot"]["snapshot_id"], wanted)
        self.assertEqual(body["snapshot"]["provenance"]["trigger"], "HOST_BARRIER")
        self.assertTrue(body["narrative"].startswith("# Snapshot 1\n"))
        self.assertIsNone(self.due("pi")["bare_barrier"])
        self.assertEqual([one["snapshot_id"] for one in self.answer("snapshot", "list", "--session", "pi")["snapshots"]], [wanted])
        self.weir("snapshot", "check", "1", "--session", "pi")
        self.sound()

    def test_synced_with_the_same_id_the_snapshot_stands_in_the_entry(self):
        wanted = self.dry_id()
        self.sync([self.compaction(wanted)], "b0000002")
        self.kept(self.path("pi")[-1]["body"], wanted)
        self.sync([self.line("b0000004", "b0000003", "More.")], "b0000003")
        self.assertEqual(self.compact("pi")["sequence"], 2)

    def test_imported_with_the_same_id_the_snapshot_stands_in_the_entry(self):
        wanted = self.dry_id()
        self.weir("purge", "--session", "pi", "--yes")
        header = {"type": "session", "version": 3, "id": "pi", "timestamp": STAMP, "cwd": "/repo"}
        path = self.world.file("session.jsonl", jsonl([header, *self.lines(), self.compaction(wanted)]))
        self.answer("import", "pi", path)
        self.kept(self.path("pi")[-1]["body"], wanted)
        # The same file again adds nothing.
        self.assertEqual(self.answer("import", "pi", path)["entries"], 0)

    def test_another_id_is_a_mismatch_and_the_barrier_is_bare(self):
        self.dry_id()
        self.sync([self.compaction("snap1_" + "0" * 32)], "b0000002")
        body = self.path("pi")[-1]["body"]
        self.assertIs(body["snapshot_mismatch"], True)
        self.assertNotIn("snapshot", body)
        self.assertEqual(self.due("pi")["bare_barrier"], self.pointer(self.path("pi")[-1]))
        self.assertEqual(self.answer("snapshot", "attach", "--session", "pi")["sequence"], 1)

    def test_a_host_that_compacted_later_than_the_dry_run_does_not_match(self):
        wanted = self.dry_id()
        self.sync([self.line("b0000009", "b0000002", "One more thing."), self.compaction(wanted, parent="b0000009")], "b0000002")
        self.assertIs(self.path("pi")[-1]["body"]["snapshot_mismatch"], True)

    def test_without_an_id_nothing_is_rebuilt(self):
        self.sync(self.lines(), None)
        self.sync([{**self.compaction("x"), "details": {"other": 1}}], "b0000002")
        body = self.path("pi")[-1]["body"]
        self.assertNotIn("snapshot", body)
        self.assertNotIn("snapshot_mismatch", body)


if __name__ == "__main__":
    s.main()
