"""Compaction as a gate: a snapshot that fails is tried once more and then stops the run; crashes and races leave one entry
or none; damage is found (cases 37 to 44 and 63 of the compaction snapshot)."""

import os
import random
import signal
import time

import harness
import snapshot_case as s
from harness import entry, jsonl
from snapshot_case import E1, EV1, RUN, SnapshotCase, attach, claim, event, step, verify

LOST = f"quotes_verify: 3 quotes not verified; first: claim c1 -> {EV1}: no stored bytes for chunk log-2026#1"


class GateCase(SnapshotCase):
    def ready(self):
        """The worked example, not compacted yet."""
        self.template("ready", lambda: self.give(s.example(), RUN))

    def failures(self, session=RUN):
        return [one for one in self.path(session) if one["type"] == "COMPACTION_FAILED"]

    def blob(self, name):
        return self.weir("show", name).out


class RetryTest(GateCase):
    def test_case_37_a_fault_that_passes_between_the_attempts(self):
        """The first attempt reads a damaged blob, the second one reads it mended: the head stands at COMPACTION_FAILED{1},
        as after a crash between the two."""
        self.ready()
        wanted = self.dry(RUN)["snapshot_id"]
        mend = self.damage_source()
        self.gate_fails(RUN)
        self.goto(self.failures()[0]["id"], RUN)
        mend()
        answer = self.compact(RUN)
        self.assertEqual((answer["status"], answer["action"], answer["attempts"], answer["already"]), ("PASS", "RETRY", 2, False))
        self.assertEqual((answer["snapshot_id"], answer["sequence"]), (wanted, 1))
        self.assertEqual(self.kinds(RUN)[23:], ["COMPACTION_FAILED", "compaction"])
        shown = self.shown("1", RUN)
        self.assertEqual((shown["validation"]["status"], shown["validation"]["failure_action_taken"]), ("PASS", "RETRY"))
        self.assertEqual(shown["snapshot_id"], s.snapshot_id(shown))
        self.assertEqual(self.check(shown, code=0), {})
        # The cut is the nearest entry that is not COMPACTION_FAILED.
        self.assertEqual((shown["provenance"]["last_pos"], shown["provenance"]["last_entry"]), (23, "ec3550762f9bca2eb"))
        self.give([s.manifest(2), *step(2)], RUN)
        self.assertEqual(self.compact(RUN)["sequence"], 2)
        self.sound()

    def test_case_38_a_lasting_fault_stops_the_run(self):
        self.ready()
        mend = self.damage_source()
        error = self.gate_fails(RUN)
        diagnostic = "compaction sequence 1 failed validation twice (same candidate both times): " + LOST
        self.assertEqual(error["message"], diagnostic)
        self.assertIn("quotes_verify", str(error["details"]))
        path = self.path(RUN)
        self.assertEqual([one["type"] for one in path[23:]], ["COMPACTION_FAILED", "COMPACTION_FAILED", "RUN_STOPPED"])
        for number, one, action in ((1, path[23], "RETRY"), (2, path[24], "SYSTEM_ERROR")):
            body = one["body"]
            rejected = body.pop("rejected")
            self.assertEqual(body, {"actor": "COMPACTOR", "attempt": number, "cut": "ec3550762f9bca2eb", "failed": [{"name": "quotes_verify", "message": LOST.split(": ", 1)[1]}], "sequence": 1, "trigger": "EVENT_THRESHOLD"})
            candidate = harness.parse_line(self.blob(rejected).decode())
            self.assertEqual(candidate["validation"]["status"], "FAIL")
            self.assertEqual(candidate["validation"]["failure_action_taken"], action)
            self.assertEqual(candidate["snapshot_id"], s.snapshot_id(candidate))
            self.assertNotIn("run_id", candidate)
        self.assertEqual(path[25]["body"], {"actor": "COMPACTOR", "diagnostic": diagnostic, "limit_type": "N/A", "stop_reason": "SYSTEM_ERROR"})
        self.assertNotIn("compaction", self.kinds(RUN))
        self.assertEqual(self.answer("snapshot", "list", "--session", RUN)["snapshots"], [])
        mend()
        self.sound()

    def test_case_38_the_diagnostic_names_every_failed_check(self):
        self.give([*s.with_evidence(), claim("c1"), verify("c1"), s.conflict("k1", [], [E1])])
        self.give([verify("c9")], "s", "--lenient")
        place = self.pointer(self.path()[-1])
        error = self.gate_fails()
        self.assertEqual(
            error["message"],
            "compaction sequence 1 failed validation twice (same candidate both times):"
            f" life_cycle_legal: 1 illegal transitions; first: CLAIM_VERIFIED names unknown claim c9 at {place};"
            " verified_claims_have_evidence: 1 verified claims without evidence; first: c1; conflicts_two_sided: 1 conflicts not two-sided; first: k1 has an empty side",
        )

    def test_case_38_a_flipped_byte_in_the_log_makes_no_snapshot(self):
        for checkpoints in (True, False):
            with self.subTest(checkpoints=checkpoints):
                self.one_snapshot()
                self.give([s.manifest(2), *step(2), claim("c8", "What nobody said")], RUN)
                self.flip(RUN, self.path(RUN)[-1]["id"], b"nobody", b"everyb")
                if not checkpoints:
                    self.forget_checkpoints()
                ran = self.world.run("--json", "compact", "--session", RUN)
                self.assertIn(ran.code, (8, 9), ran)
                connection = self.database()
                kinds = [row[0] for row in connection.execute("SELECT type FROM entry ORDER BY key")]
                connection.close()
                self.assertEqual(kinds.count("compaction"), 1)

    def test_case_39_after_a_stop(self):
        self.ready()
        before = self.counts(RUN)
        mend = self.damage_source()
        self.gate_fails(RUN)
        mend()
        stop = self.pointer(self.path(RUN)[-1])
        self.assertEqual(self.due(RUN)["stopped"], stop)
        self.assertEqual(self.not_taken("RUN_STOPPED", event("PLAN_DONE", step_id=2), RUN), f"run stopped (SYSTEM_ERROR) at {stop}: PLAN_DONE refused until RUN_RESUMED by a human")
        for one in (claim("c9"), event("STEP_STARTED", step_id=2), event("NEXT_ACTIONS_SET", actions=["x"]), s.run_started(), event("THRESHOLDS_SET", event_threshold=9, reason="x"), event("RUN_STOPPED", stop_reason="NO_EVIDENCE", limit_type="N/A")):
            self.not_taken("RUN_STOPPED", one, RUN)
        self.refused("RUN_STOPPED", "compact", "--session", RUN)
        self.refused("RUN_STOPPED", "compact", "--session", RUN, "--dry-run")
        self.refused("RUN_STOPPED", "note", "claim", "more", "--session", RUN)
        self.refused("RUN_STOPPED", "stop", "--session", RUN)
        self.give([entry("still written down"), event("VERBOSE", x=1), {"type": "compaction", "body": {"summary": "the host goes on"}}], RUN)
        self.goto(self.path(RUN)[25]["id"], RUN)
        for actor in ("RUNTIME", "PLANNER", "COMPACTOR"):
            self.assertEqual(self.not_taken("ILLEGAL_TRANSITION", event("RUN_RESUMED", actor=actor, note="go"), RUN), "RUN_RESUMED without a stop or not by a human")
        self.not_taken("ILLEGAL_TRANSITION", event("RUN_RESUMED", note="go"), RUN)
        self.weir("resume", "--session", RUN, "--note", "mended")
        self.assertEqual(self.path(RUN)[-1]["body"], {"actor": "HUMAN", "note": "mended", "forgive": []})
        self.assertEqual(self.counts(RUN), before)
        self.assertIsNone(self.due(RUN)["stopped"])
        self.give([s.manifest(2), event("PLAN_DONE", step_id=2), event("OBSERVE_DONE", step_id=2)], RUN)
        answer = self.compact(RUN)
        self.assertEqual((answer["sequence"], answer["action"], answer["attempts"]), (1, "NONE", 1))
        self.assertEqual(self.shown("1", RUN)["counts"], {"steps_since_last_compaction": 2, "counted_events_since_last_compaction": 5})

    def test_a_read_is_recorded_after_a_stop(self):
        self.give([s.loose()])
        self.weir("stop", "--session", "s")
        self.world.file("a.txt", "one\ntwo\n")
        self.weir("read", "a.txt", "--session", "s")
        self.assertEqual(self.kinds()[-1], "read")

    def test_case_40_verified_without_evidence(self):
        self.give([*s.with_evidence(), claim("c7")])
        self.assertEqual(self.give([verify("c7")])["warnings"], ["claim c7 is verified without evidence: the next compaction will fail"])
        error = self.gate_fails()
        self.assertEqual(error["message"], "compaction sequence 1 failed validation twice (same candidate both times): verified_claims_have_evidence: 1 verified claims without evidence; first: c7")
        self.weir("resume", "--session", "s")
        self.give([attach("c7", E1)])
        answer = self.compact()
        self.assertEqual((answer["status"], answer["sequence"], answer["action"]), ("PASS", 1, "NONE"))
        self.sound()

    def test_case_41_an_anomaly_blocks_and_forgiving_it_lets_the_next_pass(self):
        self.give([*s.with_evidence(), claim("c1")])
        made = self.give([claim("c1", "another"), verify("c9")], "s", "--lenient")
        places = ["e" + one["digest"][:16] for one in made["entries"]]
        self.gate_fails()
        self.weir("resume", "--session", "s", "--forgive", places[0])
        failed = self.dry(code=8)["failed"]
        self.assertEqual(failed, [{"name": "life_cycle_legal", "message": f"1 illegal transitions; first: CLAIM_VERIFIED names unknown claim c9 at {places[1]}"}])
        self.gate_fails()
        self.weir("resume", "--session", "s", "--forgive", places[1])
        self.assertEqual(self.compact()["sequence"], 1)
        self.assertEqual([one["statement"] for one in self.shown()["state"]["claims"]], ["statement of c1"])
        self.sound()

    def test_case_41_a_forgiven_ledger_problem_is_not_counted_either(self):
        self.give(s.with_evidence())
        made = self.give([s.source("s1", "another text")], "s", "--lenient")
        self.gate_fails()
        self.weir("resume", "--session", "s", "--forgive", "e" + made["entries"][0]["digest"][:16])
        self.assertEqual(self.compact()["sequence"], 1)

    def test_case_41_moving_the_head_before_the_anomaly(self):
        self.give([*s.with_evidence(), claim("c1")])
        before = self.path()[-1]["id"]
        self.give([verify("c9"), entry("on we go")], "s", "--lenient")
        self.gate_fails()
        self.goto(before)
        self.assertIsNone(self.due()["stopped"])
        self.assertEqual(self.compact()["sequence"], 1)

    def test_a_stop_belongs_to_its_path(self):
        self.give([s.loose(), entry("here", id="here")])
        self.weir("stop", "--session", "s")
        self.weir("head", "fork", "free", "--at", "here", "--session", "s")
        self.give([claim("c1")], "s", "--head", "free")
        self.refused("RUN_STOPPED", "note", "claim", "x", "--session", "s")

    def test_a_failed_compaction_resets_nothing_and_takes_no_number(self):
        self.one_snapshot()
        self.give([s.manifest(2), *step(2)], RUN)
        before = self.counts(RUN)
        mend = self.damage_source()
        self.assertIn("compaction sequence 2 failed", self.gate_fails(RUN)["message"])
        self.assertEqual(self.counts(RUN), before)
        mend()
        self.weir("resume", "--session", RUN)
        self.assertEqual(self.compact(RUN)["sequence"], 2)


class CrashTest(GateCase):
    def killed(self, delay, *args):
        """Starts it and kills it after so many seconds; answers whether it got to its end."""
        running = self.world.start("--json", *args)
        time.sleep(delay)
        running.send_signal(signal.SIGKILL)
        out, _ = running.communicate(timeout=60)
        return running.returncode != -signal.SIGKILL, out

    def took(self, *args, code=0):
        begun = time.monotonic()
        self.weir("--json", *args, code=code)
        return time.monotonic() - begun

    def test_cases_42_and_43_killed_anywhere_the_log_has_one_compaction_or_none(self):
        self.ready()
        usual = self.took("compact", "--session", RUN)
        wanted = self.shown("1", RUN)["snapshot_id"]
        chance = random.Random(42)
        seen = set()
        for number in range(24):
            self.ready()
            self.killed(usual * 1.3 * number / 24 + chance.random() * 0.001, "compact", "--session", RUN)
            kinds = self.kinds(RUN)
            self.assertEqual(kinds[:23], [one["type"] for one in s.example()])
            self.assertIn(kinds[23:], ([], ["compaction"]))
            answer = self.compact(RUN)
            self.assertEqual((answer["snapshot_id"], answer["sequence"], answer["already"]), (wanted, 1, kinds[23:] != []))
            self.assertEqual(self.kinds(RUN)[23:], ["compaction"])
            seen.add(answer["already"])
        self.sound()
        self.assertIn(False, seen)

    def test_case_42_killed_while_failing_there_is_never_a_third_attempt(self):
        self.ready()
        self.damage_source()
        usual = self.took("compact", "--session", RUN, code=8)
        chance = random.Random(43)
        for number in range(24):
            self.ready()
            mend = self.damage_source()
            self.killed(usual * 1.2 * number / 24 + chance.random() * 0.001, "compact", "--session", RUN)
            left = self.kinds(RUN)[23:]
            self.assertIn(left, ([], ["COMPACTION_FAILED"], ["COMPACTION_FAILED", "COMPACTION_FAILED", "RUN_STOPPED"]))
            ran = self.world.run("--json", "compact", "--session", RUN)
            self.assertEqual(ran.code, 8, ran)
            self.assertIn(b"RUN_STOPPED" if len(left) == 3 else b"GATE_FAILED", ran.err)
            self.assertEqual(self.kinds(RUN)[23:], ["COMPACTION_FAILED", "COMPACTION_FAILED", "RUN_STOPPED"])
            self.assertEqual([one["body"]["attempt"] for one in self.failures()], [1, 2])
        mend()
        self.sound()

    def test_case_42_after_the_first_failure_the_next_call_is_attempt_2(self):
        self.ready()
        mend = self.damage_source()
        self.gate_fails(RUN)
        stopped = self.path(RUN)[-1]["digest"]
        self.goto(self.failures()[0]["id"], RUN)
        error = self.gate_fails(RUN)
        self.assertEqual(error["message"], "compaction sequence 1 failed validation twice (same candidate both times): " + LOST)
        self.assertEqual([one["body"]["attempt"] for one in self.failures()], [1, 2])
        self.assertEqual(self.path(RUN)[-1]["digest"], stopped)
        mend()

    def test_case_42_candidates_that_differ_are_said_to(self):
        """The first attempt was asked for by a host that compacts, the second one because it is due."""
        self.ready()
        mend = self.damage_source()
        self.gate_fails(RUN, "--tokens-before", "9")
        self.goto(self.failures()[0]["id"], RUN)
        error = self.gate_fails(RUN)
        self.assertEqual(error["message"], "compaction sequence 1 failed validation twice (candidates differ): " + LOST)
        mend()

    def test_case_42_a_head_at_the_second_failure_gets_no_third_attempt(self):
        self.ready()
        mend = self.damage_source()
        self.gate_fails(RUN)
        self.goto(self.failures()[1]["id"], RUN)
        mend()
        self.refused("GATE_FAILED", "compact", "--session", RUN)
        self.give([entry("something new")], RUN)
        answer = self.compact(RUN)
        self.assertEqual((answer["sequence"], answer["attempts"], answer["action"]), (1, 1, "NONE"))

    def test_case_43_three_calls_in_a_row_leave_one_compaction(self):
        self.ready()
        answers = [self.compact(RUN) for _ in range(3)]
        self.assertEqual([one["already"] for one in answers], [False, True, True])
        self.assertEqual(len({(one["snapshot_id"], one["entry"], one["narrative"]) for one in answers}), 1)
        self.assertEqual(self.kinds(RUN).count("compaction"), 1)

    def test_case_44_two_compactors_at_once_leave_one_entry(self):
        for _ in range(8):
            self.ready()
            both = [self.world.start("--json", "compact", "--session", RUN) for _ in range(2)]
            ran = [self.world.finish(one) for one in both]
            self.assertEqual([one.code for one in ran], [0, 0], [one.errors for one in ran])
            answers = [harness.parse_line(one.text) for one in ran]
            self.assertEqual(len({(one["snapshot_id"], one["entry"], one["sequence"]) for one in answers}), 1)
            self.assertEqual(sorted(one["already"] for one in answers), [False, True])
            self.assertEqual(self.kinds(RUN).count("compaction"), 1)

    def test_case_44_a_message_appended_meanwhile_is_covered(self):
        for number in range(8):
            self.ready()
            line = self.world.file("line.jsonl", jsonl([entry("meanwhile")]))
            order = [("compact", "--session", RUN), ("append", "--session", RUN, line)]
            both = [self.world.start("--json", *args) for args in (order if number % 2 else order[::-1])]
            for one in both:
                ran = self.world.finish(one)
                self.assertEqual(ran.code, 0, ran)
            path = self.path(RUN)
            self.assertEqual([one["type"] for one in path].count("compaction"), 1)
            place = [one["type"] for one in path].index("compaction")
            shown = self.shown("1", RUN)
            self.assertEqual((shown["provenance"]["last_pos"], shown["provenance"]["log_digest"]), (place, path[place - 1]["digest"]))
            if place == 24:
                self.assertEqual(shown["state"]["carry"]["latest_request"]["verbatim"], "meanwhile")
            self.weir("snapshot", "check", "1", "--session", RUN)

    def test_a_run_of_writers_and_compactors_ends_sound(self):
        self.give([s.loose(event_threshold=3), entry("hi")])
        running = []
        for number in range(10):
            running.append(self.world.start("append", "--session", "s", self.world.file(f"{number}.jsonl", jsonl([entry(f"m{number}"), claim(f"c{number}")]))))
            running.append(self.world.start("compact", "--session", "s"))
        for one in running:
            ran = self.world.finish(one)
            self.assertIn(ran.code, (0, 5), ran)
        kinds = self.kinds()
        self.assertEqual(kinds.count("CLAIM_PROPOSED"), 10)
        rows = self.answer("snapshot", "list", "--session", "s")["snapshots"]
        self.assertEqual([row["sequence"] for row in rows], list(range(1, kinds.count("compaction") + 1)))
        for row in rows:
            self.weir("snapshot", "check", str(row["sequence"]), "--session", "s")
        self.sound()


class DamageTest(GateCase):
    def damage(self):
        _, lines, _ = self.stream("verify", code=3)
        return [line for line in lines if line["type"] == "damage"]

    def large(self):
        """A snapshot over 262,144 bytes."""
        self.template("large", lambda: (self.give([s.loose(), *(claim(f"c{n}", f"{n} " + "x" * 1500) for n in range(200))]), self.compact()))

    def test_case_63_a_large_snapshot_goes_to_a_blob_and_keeps_its_id(self):
        self.large()
        held = self.path()[-1]["body"]["snapshot"]
        self.assertEqual(sorted(held), ["$blob", "bytes", "last_pos", "sequence", "snapshot_id"])
        shown = self.shown()
        self.assertEqual((held["snapshot_id"], held["sequence"], held["last_pos"]), (s.snapshot_id(shown), 1, 201))
        text = s.canonical(s.stored_form(shown)).encode()
        self.assertGreater(len(text), 262144)
        self.assertEqual((held["bytes"], held["$blob"]), (len(text), "sha256:" + s.sha256(text)))
        self.assertEqual(len(shown["state"]["claims"]), 200)
        self.assertEqual(self.check(shown, code=0), {})
        self.assertIs(self.compact()["already"], True)
        self.give([claim("more")])
        answer = self.compact()
        self.assertEqual(answer["sequence"], 2)
        self.assertIn(f"snapshot is {self.path()[-1]['body']['snapshot']['bytes']} bytes", answer["advice"])
        self.assertEqual(self.shown("2")["deltas"]["claims_added"], ["more"])
        self.sound()

    def test_case_63_just_under_the_limit_it_stays_in_the_entry(self):
        self.give([s.loose(), *(claim(f"c{n}", "x" * 1000) for n in range(150))])
        self.compact()
        self.assertNotIn("$blob", self.path()[-1]["body"]["snapshot"])

    def test_case_63_a_flipped_byte_of_a_blob_snapshot_is_named(self):
        self.large()
        last = self.path()[-1]
        self.damage_blob(last["body"]["snapshot"]["$blob"])
        self.assertIn(("s", last["id"]), [(one["session"], one["entry"]) for one in self.damage()])
        self.assertEqual(self.world.run("snapshot", "show", "1", "--session", "s").code, 9)

    def test_case_63_a_flipped_byte_of_a_stored_snapshot_or_narrative_is_named(self):
        for old, new in ((b'"statement":"gauge_7', b'"statement":"gauge_8'), (b"- Objective: Which", b"- Objective: Whose")):
            with self.subTest(old=old):
                self.two_snapshots()
                held = self.path(RUN)[23]
                self.flip(RUN, held["id"], old, new)
                self.assertIn((RUN, held["id"]), [(one["session"], one["entry"]) for one in self.damage()])

    def test_case_63_a_flipped_byte_of_a_rejected_blob_is_named(self):
        self.ready()
        mend = self.damage_source()
        self.gate_fails(RUN)
        mend()
        self.sound()
        for one in self.failures():
            mend = self.damage_blob(one["body"]["rejected"])
            found = self.damage()
            self.assertIn((RUN, one["id"]), [(line["session"], line["entry"]) for line in found])
            self.assertIn(one["body"]["rejected"], [line["object"] for line in found])
            mend()

    def test_case_63_a_flipped_byte_of_a_chunk_is_named(self):
        self.give([s.loose(), s.source("s1", "the source's own text"), s.chunk("s1#1", text="text of a chunk", start=0, end=15)])
        self.sound()
        for text, place in (("the source's own text", 1), ("text of a chunk", 2)):
            mend = self.damage_blob("sha256:" + s.sha256(text))
            self.assertIn(("s", self.path()[place]["id"], "sha256:" + s.sha256(text)), [(one["session"], one["entry"], one["object"]) for one in self.damage()])
            mend()

    def test_verify_holds_every_stored_snapshot_against_the_log(self):
        """Without the blob no quote can be checked any more."""
        self.two_snapshots()
        os.unlink(self.blob_path("sha256:" + s.sha256(s.SOURCE)))
        self.assertTrue(self.damage())

    def test_a_purged_chunk_is_no_damage_but_no_quote_either(self):
        self.two_snapshots()
        self.weir("purge", "--blob", "sha256:" + s.sha256(s.SOURCE), "--yes")
        self.sound()
        found = self.check(self.shown("2", RUN))
        self.assertEqual(list(found), ["quotes_verify"])

    def test_a_crash_leaves_no_damage_and_gc_takes_what_nobody_names(self):
        self.ready()
        mend = self.damage_source()
        self.gate_fails(RUN)
        mend()
        names = {one["body"]["rejected"] for one in self.failures()}
        self.weir("gc")
        self.assertLessEqual(names, set(self.world.object_names()))
        for name in names:
            self.weir("show", name)


if __name__ == "__main__":
    s.main()
