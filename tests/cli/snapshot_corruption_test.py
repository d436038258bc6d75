"""Cases 6 to 30 of the compaction snapshot: each corruption that a check must catch, on the second snapshot of a run. The id
is computed anew (but for check 2), so that it is the rule that speaks and not the hash."""

import copy
import os

import snapshot_case as s
from snapshot_case import EV1, EV2, RUN, SnapshotCase, attach, claim, event


class CorruptionCase(SnapshotCase):
    def setUp(self):
        super().setUp()
        self.two_snapshots()
        self.good = self.shown("2", RUN)

    def spoil(self, change, good=None, named=True):
        """The failed checks of a changed snapshot with its id computed anew."""
        made = copy.deepcopy(good or self.good)
        change(made)
        made["snapshot_id"] = s.snapshot_id(made)
        return self.check(made, *(("--session", RUN) if named else ()))

    def caught(self, name, message, change, good=None):
        found = self.spoil(change, good)
        self.assertIn(name, found)
        self.assertEqual(found[name], message)
        return found

    def lenient(self, *events):
        return self.give(events, RUN, "--lenient")

    def found_by_compacting(self, name, message):
        """The next compaction would fail this check with this message."""
        answer = self.dry(RUN, code=8)
        self.assertEqual(answer["status"], "FAIL")
        failed = {one["name"]: one["message"] for one in answer["failed"]}
        self.assertIn(name, failed)
        self.assertEqual(failed[name], message)
        return failed


class CorruptionTest(CorruptionCase):
    def test_the_second_snapshot_passes_as_it_is(self):
        self.assertEqual(self.check(self.good, code=0), {})
        verdict = self.answer("snapshot", "check", "2", "--session", RUN)
        self.assertEqual(verdict, self.good["validation"])
        self.assertEqual(self.good["snapshot_id"], s.snapshot_id(self.good))
        told = {one["name"]: one["message"] for one in verdict["checks"]}
        self.assertEqual(told["sequence_contiguous"], "sequence 2 follows 1")
        self.assertEqual(told["objective_unchanged"], "objective identical to RUN_STARTED and snapshot 1")
        self.assertEqual(told["done_definition_unchanged"], "done_definition identical to RUN_STARTED and snapshot 1")
        self.assertEqual(told["event_range_contiguous"], "positions 24..41")
        self.assertEqual(told["log_chain_intact"], "41 entries, chain intact")
        self.assertEqual(told["counts_match_log"], "1 steps, 3 counted events")
        self.assertEqual(told["no_silent_drop"], "every id of snapshot 1 still present, statements unchanged")

    # ---- 6: check 1 ----

    def test_case_6_a_missing_key_is_the_only_check_told(self):
        found = self.caught("schema_keys_and_types", "1 schema problems; first: state.conflicts missing", lambda v: v["state"].pop("conflicts"))
        self.assertEqual(list(found), ["schema_keys_and_types"])

    def test_case_6_types_and_values(self):
        def put(*path):
            def change(made):
                at = made
                for key in path[:-2]:
                    at = at[key]
                at[path[-2]] = path[-1]

            return change

        for change, problem in (
            (put("sequence", True), "sequence is boolean, expected integer"), (put("sequence", "2"), "sequence is string, expected integer"),
            (put("state", "claims", 0, "status", "x"), 'state.claims[0].status is "x", expected verified|candidate|retracted'),
            (put("provenance_mode", "loud"), 'provenance_mode is "loud", expected audit_only|quotes_checked'),
            (put("objective", ""), "objective is empty"), (put("state", "failures", 0, "why", ""), "state.failures[0].why is empty"),
            (put("counts", "steps_since_last_compaction", -1), "counts.steps_since_last_compaction is negative"),
            (put("created_at", "yesterday"), "created_at is not an RFC 3339 time"), (put("created_at", "2026-02-30T00:00:00Z"), "created_at is not an RFC 3339 time"),
            (put("state", "claims", {}), "state.claims is object, expected array"), (put("state", "open_questions", 0, 7), "state.open_questions[0] is integer, expected string"),
            (lambda v: v.pop("schema_version"), "schema_version missing"), (lambda v: v["provenance"].pop("thresholds"), "provenance.thresholds missing"),
            (lambda v: v["state"].pop("carry"), "state.carry missing"), (lambda v: v.pop("validation"), "validation missing"),
        ):  # fmt: skip
            with self.subTest(problem):
                self.assertEqual(self.spoil(change), {"schema_keys_and_types": f"1 schema problems; first: {problem}"})

    # ---- 7: check 2 ----

    def test_case_7_an_edit_that_leaves_the_id_is_seen(self):
        made = copy.deepcopy(self.good)
        made["state"]["next_actions"] = ["Pay the bill"]
        found = self.check(made)
        self.assertEqual(found["snapshot_id_deterministic"], f"snapshot_id is {self.good['snapshot_id']}, content gives {s.snapshot_id(made)}")

    # ---- 8: check 3 ----

    def test_case_8_sequence_and_previous(self):
        self.caught("sequence_contiguous", "sequence 3 after 1", lambda v: v.update(sequence=3))
        first = self.shown("1", RUN)["snapshot_id"]
        self.caught("sequence_contiguous", f'previous_snapshot_id is null, expected "{first}"', lambda v: v.update(previous_snapshot_id=None))
        self.caught("sequence_contiguous", f'previous_snapshot_id is "snap1_0", expected "{first}"', lambda v: v.update(previous_snapshot_id="snap1_0"))

    # ---- 9: check 4 ----

    def test_case_9_another_sessions_run_id(self):
        self.give([s.entry("hello")], "other")
        self.assertEqual(self.spoil(lambda v: v.update(run_id="other")), {"run_id_stable": f"run_id is other, session is {RUN}"})

    # ---- 10, 11: checks 5, 6 ----

    def test_case_10_a_word_of_the_objective_changed(self):
        self.caught("objective_unchanged", "objective differs from RUN_STARTED", lambda v: v.update(objective="Which readings of gauge_8 can be trusted?"))

    def test_case_11_an_empty_done_definition(self):
        self.caught("done_definition_unchanged", "done_definition differs from RUN_STARTED", lambda v: v.update(done_definition={}))

    def test_cases_10_and_11_in_a_plain_session(self):
        self.give([s.entry("Mend the roof."), s.entry("Done.", "assistant")], "plain")
        self.compact("plain")
        good = self.shown("last", "plain")
        for key, message in (("objective", "objective differs from the first user message"), ("done_definition", "done_definition differs from the plain-session default")):
            made = copy.deepcopy(good)
            made[key] = "another"
            made["snapshot_id"] = s.snapshot_id(made)
            self.assertEqual(self.check(made)[key + "_unchanged"], message)

    # ---- 12: check 7 ----

    def test_case_12_a_byte_of_a_stored_body_flipped(self):
        self.flip(RUN, self.path(RUN)[15]["id"], b"4 cm high", b"5 cm high")
        found = self.check(self.good)
        self.assertEqual(found["log_chain_intact"], "1 log problems; first: digest broken at position 16")

    def test_case_12_also_behind_the_checkpoint_and_in_every_kind_of_entry(self):
        for place, old, new in ((2, b"flood", b"blood"), (8, b"1", b"2"), (10, b"station", b"starion"), (40, b"2", b"3")):
            with self.subTest(place=place):
                self.two_snapshots()
                self.flip(RUN, self.path(RUN)[place]["id"], old, new)
                self.assertEqual(self.check(self.good)["log_chain_intact"], f"1 log problems; first: digest broken at position {place + 1}")

    # ---- 13: check 8 ----

    def test_case_13_the_range(self):
        self.caught("event_range_contiguous", "first_pos 1, expected 24", lambda v: v["provenance"].update(first_pos=1))
        self.caught("event_range_contiguous", "last_pos 9, log_digest is at position 41", lambda v: v["provenance"].update(last_pos=9))
        nowhere = "0" * 64
        self.caught("event_range_contiguous", f"log_digest {nowhere} is not an entry of this session", lambda v: v["provenance"].update(log_digest=nowhere))

    def test_case_13_a_cut_inside_a_step(self):
        inside = self.path(RUN)[26]
        self.assertEqual(inside["type"], "PLAN_DONE")

        def change(made):
            made["provenance"].update(log_digest=inside["digest"], last_entry=self.pointer(inside), last_pos=27, trigger="MANUAL")

        self.caught("event_range_contiguous", "position 27 (PLAN_DONE) is inside step 2", change)

    # ---- 14: check 9 ----

    def test_case_14_counts_and_trigger(self):
        said = '{"counted_events_since_last_compaction":7,"steps_since_last_compaction":1}'
        gives = '{"counted_events_since_last_compaction":3,"steps_since_last_compaction":1}'
        self.caught("counts_match_log", f"counts say {said}, log gives {gives}", lambda v: v["counts"].update(counted_events_since_last_compaction=7))

    def test_case_14_a_trigger_the_log_does_not_give(self):
        self.caught("counts_match_log", "trigger is STEP_FALLBACK, log gives EVENT_THRESHOLD", lambda v: v["provenance"].update(trigger="STEP_FALLBACK"))
        self.give([s.loose(), *s.steps(1, 2)], "below")
        self.compact("below")
        self.give(s.steps(3, 4), "below")
        self.compact("below")
        made = self.shown("2", "below")
        self.assertEqual(made["provenance"]["trigger"], "MANUAL")
        made["provenance"]["trigger"] = "EVENT_THRESHOLD"
        made["snapshot_id"] = s.snapshot_id(made)
        self.assertEqual(self.check(made)["counts_match_log"], "trigger is EVENT_THRESHOLD, log gives none")

    # ---- 15: check 10 ----

    def test_case_15_evidence_registered_again_with_another_quote_hash(self):
        again = next(one for one in s.example() if one["type"] == "EVIDENCE_REGISTERED")
        again["body"]["quote_sha256"] = "0" * 64
        self.lenient(again)
        self.found_by_compacting("ledger_consistent", f"1 ledger problems; first: evidence {EV1} registered twice with different content")

    def test_case_15_source_and_chunk_registered_again(self):
        self.lenient(s.source("log-2026", "another text"))
        self.found_by_compacting("ledger_consistent", "1 ledger problems; first: source log-2026 registered twice with different content")
        again = next(one for one in s.example() if one["type"] == "CHUNK_REGISTERED")
        again["body"]["bytes"] = 54
        self.lenient(again)
        self.found_by_compacting("ledger_consistent", "2 ledger problems; first: source log-2026 registered twice with different content")

    def test_case_15_evidence_of_another_source_than_its_chunk(self):
        self.lenient(s.source("other", "another text"), s.evidence("log-2026#1", 0, 9, source_id="other", index_id="river@1"))
        found = s.evidence_id("log-2026#1", 0, 9)
        self.found_by_compacting("ledger_consistent", f"1 ledger problems; first: evidence {found} names source other, chunk log-2026#1 is of log-2026")

    def test_case_15_a_ledger_digest_that_is_not_the_logs(self):
        right = self.good["provenance"]["ledger_digest"]
        self.caught("ledger_consistent", f"ledger_digest is {'1' * 64}, log gives {right}", lambda v: v["provenance"].update(ledger_digest="1" * 64))

    # ---- 16: check 11 ----

    def test_case_16_a_retracted_claim_verified(self):
        made = self.lenient(s.verify("c2"))
        place = "e" + made["entries"][0]["digest"][:16]
        self.found_by_compacting("life_cycle_legal", f"1 illegal transitions; first: CLAIM_VERIFIED on retracted claim c2 at {place}")

    def test_case_16_every_anomaly_has_its_words(self):
        head = self.path(RUN)[-1]["id"]
        for what, one in (
            ("CLAIM_VERIFIED names unknown claim c9", s.verify("c9")), ("CLAIM_PROPOSED repeats claim c1", claim("c1", "another")),
            ("EVIDENCE_ATTACHED names unknown evidence ev1_0", attach("c1", "ev1_0")), ("CONFLICT_RESOLVED names unknown conflict k9", event("CONFLICT_RESOLVED", conflict_id="k9", resolution="x")),
            ("CHUNK_REGISTERED names unknown source nowhere", s.chunk("n#1", "nowhere", sha256="0" * 64, bytes=10, blob=None)),
            ("FAILURE_RESOLVED names unknown failure fail1_0", event("FAILURE_RESOLVED", failure_id="fail1_0", status="resolved")),
            ("EVIDENCE_ATTACHED on retracted claim c2", attach("c2", EV1)), ("CONFLICT_RECORDED repeats conflict k1", s.conflict("k1", [EV1], [EV2])),
            ("QUESTION_OPENED repeats open question q1", event("QUESTION_OPENED", question_id="q1", text="again")),
            ("QUESTION_CLOSED names no open question q9", event("QUESTION_CLOSED", question_id="q9", reason="x")),
            ("CLAIM_DOWNGRADED on candidate claim c4", event("CLAIM_DOWNGRADED", claim_id="c4", reason="x")),
            ("EVIDENCE_DETACHED names unknown claim c9", event("EVIDENCE_DETACHED", claim_id="c9", evidence_id=EV1)),
            ("EVIDENCE_DETACHED names evidence not attached to c1", event("EVIDENCE_DETACHED", claim_id="c1", evidence_id=EV2)),
            ("PLAN_DONE has step_id 1 after 2", event("PLAN_DONE", step_id=1)), ("second RUN_STARTED", s.run_started()),
            ("RUN_RESUMED without a stop or not by a human", event("RUN_RESUMED", actor="HUMAN", note="x")),
            ("CLAIM_PROPOSED malformed: statement", event("CLAIM_PROPOSED", claim_id="c9")),
            ("NEXT_ACTIONS_SET malformed: actions", event("NEXT_ACTIONS_SET", actions=[])),
        ):  # fmt: skip
            with self.subTest(what):
                self.goto(head, RUN)
                made = self.lenient(one, event("QUESTION_OPENED", question_id="q7", text="Why?"))
                place = "e" + made["entries"][0]["digest"][:16]
                self.found_by_compacting("life_cycle_legal", f"1 illegal transitions; first: {what} at {place}")

    def test_case_16_events_after_a_stop_are_anomalies(self):
        self.weir("stop", "--session", RUN)
        made = self.lenient(s.event("PLAN_DONE", step_id=3))
        self.weir("resume", "--session", RUN)
        place = "e" + made["entries"][0]["digest"][:16]
        self.found_by_compacting("life_cycle_legal", f"1 illegal transitions; first: PLAN_DONE after RUN_STOPPED at {place}")

    def test_case_16_run_started_after_a_plain_snapshot(self):
        self.give([s.entry("hi")], "plain")
        self.compact("plain")
        made = self.give([s.run_started()], "plain", "--lenient")
        answer = self.dry("plain", code=8)
        failed = {one["name"]: one["message"] for one in answer["failed"]}
        self.assertEqual(failed["life_cycle_legal"], f"1 illegal transitions; first: RUN_STARTED after snapshot 1 at e{made['entries'][0]['digest'][:16]}")

    # ---- 17: check 12 ----

    def test_case_17_a_claim_listed_twice(self):
        self.caught("ids_unique", "1 duplicate ids; first: c1", lambda v: v["state"]["claims"].append(copy.deepcopy(v["state"]["claims"][0])))

    def test_case_17_over_claims_conflicts_and_failures_together(self):
        self.caught("ids_unique", "1 duplicate ids; first: c1", lambda v: v["state"]["conflicts"][0].update(conflict_id="c1"))

    # ---- 18: check 13 ----

    def test_case_18_malformed_pointers(self):
        self.caught("evidence_pointers_well_formed", "1 malformed pointers; first: claim c1", lambda v: v["state"]["claims"][0]["evidence_refs"][0].pop("span"))
        for span in ({"unit": "utf8", "start": 55, "end": 55}, {"unit": "utf8", "start": 9, "end": 1}, {"unit": "utf8", "start": -1, "end": 5}, {"unit": "utf8", "start": False, "end": 55}, {"start": 0, "end": 55}, None, "0-55"):
            with self.subTest(span=span):
                self.caught("evidence_pointers_well_formed", "1 malformed pointers; first: claim c1", lambda v, span=span: v["state"]["claims"][0]["evidence_refs"][0].update(span=span))
        self.caught("evidence_pointers_well_formed", "1 malformed pointers; first: conflict k1/a", lambda v: v["state"]["conflicts"][0]["side_a_refs"][0].pop("chunk_id"))
        self.caught("evidence_pointers_well_formed", "1 malformed pointers; first: conflict k1/b", lambda v: v["state"]["conflicts"][0]["side_b_refs"][0].update(evidence_id=7))

    def test_case_18_a_pointer_has_nothing_more(self):
        self.caught("evidence_pointers_well_formed", "1 malformed pointers; first: claim c1", lambda v: v["state"]["claims"][0]["evidence_refs"][0].update(note="x"))

    # ---- 19: check 14 ----

    def test_case_19_pointers_that_do_not_resolve(self):
        self.caught("evidence_pointers_resolve", f"1 pointers not in the ledger as written; first: claim c1 -> {EV1}", lambda v: v["state"]["claims"][0]["evidence_refs"][0]["span"].update(end=54))
        self.caught("evidence_pointers_resolve", "1 pointers not in the ledger as written; first: claim c1 -> ev1_0", lambda v: v["state"]["claims"][0]["evidence_refs"][0].update(evidence_id="ev1_0"))

    # ---- 20: check 15 ----

    def test_case_20_evidence_under_an_underived_id(self):
        made = next(one for one in s.example() if one["type"] == "EVIDENCE_REGISTERED")
        made["body"].update(evidence_id="ev1_mine", span={"unit": "utf8", "start": 0, "end": 7}, quote_bytes=7, quote_sha256=s.sha256("Gauge 7"))
        self.lenient(made, attach("c1", "ev1_mine"))
        self.found_by_compacting("evidence_ids_deterministic", "1 evidence ids do not follow the derivation; first: ev1_mine")

    # ---- 21: check 16 ----

    def test_case_21_the_blob_is_damaged(self):
        self.damage_source()
        found = self.check(self.good)
        self.assertEqual(found, {"quotes_verify": f"5 quotes not verified; first: claim c1 -> {EV1}: no stored bytes for chunk log-2026#1"})

    def test_case_21_the_blob_is_missing(self):
        os.unlink(self.blob_path("sha256:" + s.sha256(s.SOURCE)))
        found = self.check(self.good)
        self.assertEqual(found, {"quotes_verify": f"5 quotes not verified; first: claim c1 -> {EV1}: no stored bytes for chunk log-2026#1"})

    def test_case_21_a_wrong_quote_hash(self):
        made = next(one for one in s.example() if one["type"] == "EVIDENCE_REGISTERED")
        mine = s.evidence_id("log-2026#1", 0, 7)
        made["body"].update(evidence_id=mine, span={"unit": "utf8", "start": 0, "end": 7}, quote_bytes=7, quote_sha256="0" * 64)
        self.lenient(made, attach("c1", mine))
        self.found_by_compacting("quotes_verify", f"1 quotes not verified; first: claim c1 -> {mine}: bytes do not hash to quote_sha256")

    def test_case_21_a_unit_other_than_utf8_can_never_be_checked(self):
        mine = s.evidence_id("log-2026#1", 3, 4, unit="page")
        self.give([event("EVIDENCE_REGISTERED", chunk_id="log-2026#1", span={"unit": "page", "start": 3, "end": 4}, quote_sha256="0" * 64, quote_bytes=9), attach("c1", mine)], RUN)
        failed = self.dry(RUN, code=8)["failed"]
        self.assertEqual([one["name"] for one in failed], ["quotes_verify"])
        self.assertEqual(failed[0]["message"], f"1 quotes not verified; first: claim c1 -> {mine}: bytes do not hash to quote_sha256")

    # ---- 22: check 17 ----

    def test_case_22_a_verified_claims_pointers_removed(self):
        self.caught("verified_claims_have_evidence", "1 verified claims without evidence; first: c1", lambda v: v["state"]["claims"][0].update(evidence_refs=[]))

    # ---- 23: check 18 ----

    def test_case_23_a_candidate_promoted(self):
        made = copy.deepcopy(self.good)
        candidate = made["state"]["claims"][3]
        self.assertEqual((candidate["claim_id"], candidate["status"]), ("c4", "candidate"))
        self.caught("no_new_verified_claims", "1 verified claims without ledger warrant; first: c4 is not verified in the ledger", lambda v: v["state"]["claims"][3].update(status="verified"))

    def test_case_23_a_candidate_that_was_never_verified_promoted(self):
        self.goto(self.path(RUN)[23]["id"], RUN)
        first = self.shown("1", RUN)
        pointer = first["state"]["claims"][0]["evidence_refs"]
        self.caught("no_new_verified_claims", "1 verified claims without ledger warrant; first: c2 has no CLAIM_VERIFIED entry", lambda v: v["state"]["claims"][1].update(status="verified", evidence_refs=pointer), good=first)

    def test_case_23_a_verified_claim_invented(self):
        def change(made):
            invented = copy.deepcopy(made["state"]["claims"][0])
            invented.update(claim_id="c9", statement="The river is dry")
            made["state"]["claims"].append(invented)

        self.caught("no_new_verified_claims", "1 verified claims without ledger warrant; first: c9 has no CLAIM_VERIFIED entry", change)

    def test_case_23_a_statement_reworded(self):
        self.caught("no_new_verified_claims", "1 verified claims without ledger warrant; first: c1 statement differs from the ledger", lambda v: v["state"]["claims"][0].update(statement="gauge_7 reads 5 cm high in dry weather"))

    def test_case_23_evidence_the_ledger_does_not_link(self):
        def change(made):
            made["state"]["claims"][0]["evidence_refs"] = made["state"]["claims"][2]["evidence_refs"]

        self.caught("no_new_verified_claims", "1 verified claims without ledger warrant; first: c1 cites evidence the ledger does not link", change)

    def test_case_23_a_demotion_is_allowed_by_this_check(self):
        found = self.spoil(lambda v: v["state"]["claims"][0].update(status="candidate"))
        self.assertNotIn("no_new_verified_claims", found)
        self.assertIn("fold_reproduces_state", found)

    # ---- 24: check 19 ----

    def test_case_24_conflicts_that_are_not_two_sided(self):
        self.caught("conflicts_two_sided", "1 conflicts not two-sided; first: k1 has an empty side", lambda v: v["state"]["conflicts"][0].update(side_b_refs=[]))

        def both(made):
            made["state"]["conflicts"][0]["side_b_refs"] = made["state"]["conflicts"][0]["side_a_refs"]

        self.caught("conflicts_two_sided", "1 conflicts not two-sided; first: k1 cites the same evidence on both sides", both)

    # ---- 25: check 20 ----

    def test_case_25_what_the_previous_snapshot_had_is_gone(self):
        self.caught("no_silent_drop", "1 ids of the previous snapshot are gone; first: c2", lambda v: v["state"]["claims"].pop(1))
        gone = self.good["state"]["failures"][0]["failure_id"]
        self.caught("no_silent_drop", f"1 ids of the previous snapshot are gone; first: {gone}", lambda v: v["state"]["failures"].pop(0))
        self.caught("no_silent_drop", "1 ids of the previous snapshot are gone; first: k1", lambda v: v["state"]["conflicts"].clear())
        self.caught("no_silent_drop", "1 claim statements reworded; first: c2", lambda v: v["state"]["claims"][1].update(statement="another"))

    def test_case_25_what_came_later_may_be_missing_for_this_check(self):
        self.assertNotIn("no_silent_drop", self.spoil(lambda v: v["state"]["claims"].pop(2)))

    # ---- 26: check 21 ----

    def test_case_26_the_first_difference_to_a_replay(self):
        say = "differs from a replay of the log; first: "
        found = self.spoil(lambda v: v["state"]["open_questions"].pop(0))
        self.assertTrue(found["fold_reproduces_state"].startswith(say + "state.open_questions"), found)
        self.caught("fold_reproduces_state", say + "notes", lambda v: v.update(notes="mine"))
        self.caught("fold_reproduces_state", say + "state.claims[0].claim_id", lambda v: v["state"]["claims"].reverse())
        self.caught("fold_reproduces_state", say + "state.claims[3].status", lambda v: v["state"]["claims"][3].update(status="retracted"))

    def test_case_26_an_unknown_key_fails_this_check_alone(self):
        self.assertEqual(list(self.spoil(lambda v: v.update(notes="mine"))), ["fold_reproduces_state"])
        self.assertEqual(list(self.spoil(lambda v: v["state"]["carry"].update(mood="good"))), ["fold_reproduces_state"])

    # ---- 27: check 22 ----

    def test_case_27_coverage(self):
        self.caught("coverage_consistent", "chunk_ids_seen is not a sorted set", lambda v: v["state"]["source_coverage"]["chunk_ids_seen"].reverse())
        self.caught("coverage_consistent", "chunk_ids_cited is not the set of cited chunks", lambda v: v["state"]["source_coverage"]["chunk_ids_cited"].pop())
        self.caught("coverage_consistent", "1 chunks cited but never seen; first: log-2026#2", lambda v: v["state"]["source_coverage"]["chunk_ids_seen"].pop())

    def test_case_27_a_cited_chunk_that_was_never_selected(self):
        mine = s.evidence_id("log-2026#3", 0, 5)
        answer = self.give([s.chunk("log-2026#3", "log-2026", 0, 9), s.evidence("log-2026#3"), attach("c1", mine)], RUN)
        self.assertEqual(len(answer["warnings"]), 1)
        self.assertTrue(answer["warnings"][0].startswith("chunk log-2026#3 is cited but was never seen: "), answer)
        self.found_by_compacting("coverage_consistent", "1 chunks cited but never seen; first: log-2026#3")

    # ---- 28: check 23 ----

    def test_case_28_a_step_without_a_manifest(self):
        self.give(s.step(3), RUN)
        self.found_by_compacting("manifests_complete", "1 manifest problems; first: step 3 has no manifest")

    def test_case_28_an_id_left_out_of_the_list(self):
        self.caught("manifests_complete", "1 manifest problems; first: latest_context_manifest_ids does not list the manifests of this range", lambda v: v["latest_context_manifest_ids"].clear())

    def test_case_28_a_manifest_that_does_not_hash_to_its_id(self):
        made = s.manifest(3)
        made["body"]["manifest_id"] = "man1_" + "0" * 32
        self.lenient(made, *s.step(3))
        self.found_by_compacting("manifests_complete", f"1 manifest problems; first: manifest man1_{'0' * 32} does not hash to its id")

    # ---- 29: check 24 ----

    def test_case_29_a_retraction_hidden(self):
        self.caught("deltas_match_previous", "deltas are not the difference to the previous snapshot; first: deltas.claims_retracted[0]", lambda v: v["deltas"]["claims_retracted"].clear())

    # ---- 30: check 25 ----

    def test_case_30_inlined_blobs(self):
        for key in "quote text content raw blob html prompt tool_output".split():
            with self.subTest(key=key):
                self.caught("pointers_only", f"1 inlined blobs; first: state.claims[3].{key} is a raw-content key", lambda v, key=key: v["state"]["claims"][3].update({key: "x"}))
        self.caught("pointers_only", "1 inlined blobs; first: state.open_questions[1] is 20000 bytes", lambda v: v["state"]["open_questions"].__setitem__(1, "x" * 20000))
        self.caught("pointers_only", "1 inlined blobs; first: objective is 20000 bytes", lambda v: v.update(objective="x" * 20000))

    def test_case_30_the_limit_itself_is_no_blob(self):
        self.assertNotIn("pointers_only", self.spoil(lambda v: v["state"]["open_questions"].__setitem__(1, "x" * 16384)))
        self.assertIn("pointers_only", self.spoil(lambda v: v["state"]["open_questions"].__setitem__(1, "x" * 16385)))


if __name__ == "__main__":
    s.main()
