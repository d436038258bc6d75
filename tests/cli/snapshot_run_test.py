"""Runs: what each event does to the state, what is refused, notes, stopping and resuming, and a long run end to end
(cases 48, 50 to 52 of the compaction snapshot)."""

import time

import snapshot_case as s
from harness import compact, entry
from snapshot_case import E1, E2, SnapshotCase, attach, chunk, claim, conflict, event, evidence, source, step, steps, verify


def by(items, key):
    return {one[key]: one for one in items}


class LifeCycleTest(SnapshotCase):
    def setUp(self):
        super().setUp()
        self.template("evidence", lambda: self.give(s.with_evidence()))

    def claims(self):
        return by(self.state()["claims"], "claim_id")

    def deltas(self):
        return self.shown()["deltas"]

    def test_case_50_all_evidence_of_a_verified_claim_withdrawn(self):
        self.give([claim("c1"), attach("c1", E1), verify("c1")])
        made = self.claims()["c1"]
        self.assertEqual((made["status"], made["status_reason"], [ref["evidence_id"] for ref in made["evidence_refs"]]), ("verified", "verified", [E1]))
        verified = made["verified_entry"]
        self.give([event("EVIDENCE_WITHDRAWN", evidence_id=E1, reason="retracted paper")])
        made = self.claims()["c1"]
        self.assertEqual((made["status"], made["status_reason"], made["evidence_refs"], [ref["evidence_id"] for ref in made["withdrawn_refs"]]), ("candidate", "evidence_withdrawn", [], [E1]))
        self.assertEqual(made["verified_entry"], verified)
        self.assertEqual(self.deltas()["claims_demoted"], ["c1"])
        self.give([attach("c1", E2), verify("c1")])
        self.assertEqual(self.claims()["c1"]["status"], "verified")
        self.assertEqual((self.deltas()["claims_newly_verified"], self.deltas()["claims_demoted"]), (["c1"], []))
        self.assertEqual(self.shown()["sequence"], 3)

    def test_case_50_one_of_two_withdrawn_leaves_it_verified(self):
        self.give([claim("c1"), attach("c1", E1), attach("c1", E2), verify("c1"), event("EVIDENCE_WITHDRAWN", evidence_id=E1, reason="x")])
        made = self.claims()["c1"]
        self.assertEqual((made["status"], [ref["evidence_id"] for ref in made["evidence_refs"]], [ref["evidence_id"] for ref in made["withdrawn_refs"]]), ("verified", [E2], [E1]))
        self.assertEqual(self.shown()["state"]["source_coverage"]["chunk_ids_cited"], ["s1#2"])

    def test_withdrawn_evidence_stays_withdrawn(self):
        self.give([claim("c1"), attach("c1", E1), verify("c1"), event("EVIDENCE_WITHDRAWN", evidence_id=E1, reason="x"), evidence("s1#1")])
        self.assertEqual(self.claims()["c1"]["status"], "candidate")

    def test_detaching_the_last_evidence_demotes(self):
        self.give([claim("c1"), attach("c1", E1), attach("c1", E2), verify("c1"), event("EVIDENCE_DETACHED", claim_id="c1", evidence_id=E1)])
        self.assertEqual(self.claims()["c1"]["status"], "verified")
        self.give([event("EVIDENCE_DETACHED", claim_id="c1", evidence_id=E2)])
        made = self.claims()["c1"]
        self.assertEqual((made["status"], made["status_reason"], made["evidence_refs"], made["withdrawn_refs"]), ("candidate", "evidence_detached", [], []))
        self.assertEqual(self.deltas()["claims_demoted"], ["c1"])

    def test_a_downgrade_has_its_reason(self):
        self.give([claim("c1"), attach("c1", E1), verify("c1"), event("CLAIM_DOWNGRADED", claim_id="c1", reason="too thin")])
        made = self.claims()["c1"]
        self.assertEqual((made["status"], made["status_reason"], len(made["evidence_refs"])), ("candidate", "too thin", 1))

    def test_case_51_one_side_of_a_conflict_withdrawn_resolves_it(self):
        self.give([conflict("k1", [E1], [E2]), event("EVIDENCE_WITHDRAWN", evidence_id=E1, reason="x")])
        made = self.state()["conflicts"][0]
        self.assertEqual((made["status"], made["resolution"], len(made["side_a_refs"]), len(made["side_b_refs"])), ("resolved", "evidence_withdrawn", 1, 1))

    def test_case_51_half_a_side_withdrawn_leaves_it_open(self):
        self.give([evidence("s1#1", 5, 9), conflict("k1", [E1, s.evidence_id("s1#1", 5, 9, "lib")], [E2]), event("EVIDENCE_WITHDRAWN", evidence_id=E1, reason="x")])
        made = self.state()["conflicts"][0]
        self.assertEqual((made["status"], made["resolution"], len(made["side_a_refs"])), ("open", None, 2))

    def test_case_51_an_empty_side_is_not_all_withdrawn(self):
        self.give([conflict("k1", [], [E2]), event("EVIDENCE_WITHDRAWN", evidence_id=E1, reason="x")])
        failed = self.dry(code=8)["failed"]
        self.assertEqual(failed, [{"name": "conflicts_two_sided", "message": "1 conflicts not two-sided; first: k1 has an empty side"}])
        self.give([event("CONFLICT_CITED", conflict_id="k1", side="a", evidence_id=E1)])
        made = self.state()["conflicts"][0]
        self.assertEqual((len(made["side_a_refs"]), len(made["side_b_refs"])), (1, 1))

    def test_withdrawn_evidence_attached_later_is_no_support(self):
        answer = self.give([event("EVIDENCE_WITHDRAWN", evidence_id=E1, reason="x"), claim("c1"), attach("c1", E1), verify("c1")])
        self.assertEqual(answer["warnings"], ["claim c1 is verified without evidence: the next compaction will fail"])
        self.assertEqual(self.dry(code=8)["failed"], [{"name": "verified_claims_have_evidence", "message": "1 verified claims without evidence; first: c1"}])

    def test_a_conflict_cited_on_its_other_side_too(self):
        self.give([conflict("k1", [E1], [E2]), event("CONFLICT_CITED", conflict_id="k1", side="b", evidence_id=E1)])
        self.assertEqual(self.dry(code=8)["failed"], [{"name": "conflicts_two_sided", "message": "1 conflicts not two-sided; first: k1 cites the same evidence on both sides"}])

    def test_the_same_evidence_attached_twice_is_cited_once(self):
        self.give([claim("c1"), attach("c1", E1), attach("c1", E1), verify("c1")])
        self.assertEqual(len(self.claims()["c1"]["evidence_refs"]), 1)

    def test_a_conflict_resolved_keeps_its_pointers(self):
        self.give([conflict("k1", [E1], [E2])])
        self.compact()
        self.give([event("CONFLICT_RESOLVED", conflict_id="k1", resolution="the second was a typo")])
        made = self.state()["conflicts"][0]
        self.assertEqual((made["status"], made["resolution"], len(made["side_a_refs"])), ("resolved", "the second was a typo", 1))
        self.assertEqual(self.deltas()["conflicts_resolved"], ["k1"])

    def test_case_52_a_retracted_claim_stays_and_refuses_every_event(self):
        self.give([claim("c1"), attach("c1", E1), verify("c1"), event("CLAIM_RETRACTED", claim_id="c1", reason="wrong river")])
        made = self.claims()["c1"]
        self.assertEqual((made["status"], made["status_reason"]), ("retracted", "wrong river"))
        self.assertEqual(self.deltas()["claims_retracted"], ["c1"])
        for one in (verify("c1"), attach("c1", E2), event("EVIDENCE_DETACHED", claim_id="c1", evidence_id=E1), event("CLAIM_DOWNGRADED", claim_id="c1", reason="x"), event("CLAIM_RETRACTED", claim_id="c1", reason="x")):
            self.assertEqual(self.not_taken("ILLEGAL_TRANSITION", one), f"{one['type']} on retracted claim c1")
        self.assertEqual(self.not_taken("ILLEGAL_TRANSITION", claim("c1")), "CLAIM_PROPOSED repeats claim c1")
        for _ in range(2):
            self.give([entry("on")])
            self.assertEqual(self.claims()["c1"]["status"], "retracted")
        self.assertEqual(self.shown()["sequence"], 3)

    def test_questions(self):
        self.give([event("QUESTION_OPENED", question_id="q1", text="Why?"), event("QUESTION_OPENED", question_id="q2", text="When?"), event("QUESTION_OPENED", question_id="q3", text="Why?")])
        state = self.state()
        self.assertEqual((state["open_questions"], [one["question_id"] for one in state["open_question_refs"]]), (["Why?", "When?", "Why?"], ["q1", "q2", "q3"]))
        self.assertEqual(self.deltas()["questions_opened"], ["Why?", "When?", "Why?"])
        self.give([claim("c1"), event("QUESTION_CLOSED", question_id="q1", answer_claim_id="c1")])
        self.assertEqual(self.state()["open_questions"], ["When?", "Why?"])
        self.assertEqual(self.deltas()["questions_closed"], ["Why?"])
        self.give([event("QUESTION_OPENED", question_id="q1", text="Why after all?")])
        self.assertEqual(self.state()["open_questions"], ["When?", "Why?", "Why after all?"])

    def test_failures_are_counted_and_keep_their_first_why(self):
        body = {"category": "tool", "where": "ACT", "error_code": "E1", "tool_name": "grep"}
        self.give([event("STEP_STARTED", step_id=1), event("FAILURE_RECORDED", why="first", **body), event("STEP_STARTED", step_id=2), event("FAILURE_RECORDED", why="second", **body), event("FAILURE_RECORDED", category="tool", where="ACT", why="other"), event("STEP_ABORTED", reason="x")])
        failures = self.state()["failures"]
        self.assertEqual([(one["failure_id"], one["why"], one["occurrence_count"], one["last_seen_step_id"], one["status"]) for one in failures],
                         [(s.failure_id("tool", "ACT", "E1", "grep"), "first", 2, 2, "active"), (s.failure_id("tool", "ACT"), "other", 1, 2, "active")])  # fmt: skip
        self.give([event("FAILURE_RESOLVED", failure_id=failures[0]["failure_id"], status="superseded")])
        self.assertEqual([one["status"] for one in self.state()["failures"]], ["superseded", "active"])
        self.assertEqual(self.deltas()["failures_added"], [])

    def test_next_actions_are_replaced(self):
        self.give([event("NEXT_ACTIONS_SET", actions=["a", "b", "c"])])
        self.assertEqual(self.state()["next_actions"], ["a", "b", "c"])
        self.give([event("NEXT_ACTIONS_SET", actions=["d"])])
        self.assertEqual(self.state()["next_actions"], ["d"])
        self.assertEqual(self.shown()["state"]["next_actions_entry"], self.pointer(self.path()[-2]))

    def test_manifests_give_coverage_and_diagnostics(self):
        self.give([
            s.manifest(1, ["x#1"], ["x"], candidate_chunk_ids=["x#1", "x#2", "x#3"], retrieval_query="q", filters=["b", "a"]),
            s.manifest(1, [], [], retrieval_query="nothing", filters=["a"]), s.manifest(1, ["x#1"], ["x"], candidate_chunk_ids=["x#1"]),
            s.manifest(1, ["x#1"], ["x"], candidate_chunk_ids=["x#1"]),
        ])  # fmt: skip
        ids = list(dict.fromkeys(one["body"]["manifest_id"] for one in self.path() if one["type"] == "CONTEXT_MANIFEST_WRITTEN"))
        self.compact()
        shown = self.shown()
        self.assertEqual(shown["latest_context_manifest_ids"], ids)
        self.assertEqual(shown["retrieval_diagnostics"], {"queries": 2, "zero_result_queries": 1, "candidates": 4, "selected": 2, "excluded": 2, "filters": ["a", "b"], "manifest_ids": ids})
        self.assertEqual(shown["state"]["source_coverage"]["source_ids_seen"], ["s1", "x"])
        self.assertEqual(shown["state"]["source_coverage"]["chunk_ids_seen"], ["s1#1", "s1#2", "x#1"])
        self.give([s.manifest(2)])
        self.compact()
        self.assertEqual(len(self.shown()["latest_context_manifest_ids"]), 1)
        self.assertEqual(len(self.shown()["retrieval_diagnostics"]["manifest_ids"]), 4)

    def test_the_ledger_digest_can_be_computed_by_anyone(self):
        self.give([claim("c1"), attach("c1", E1), verify("c1"), claim("c2"), event("EVIDENCE_WITHDRAWN", evidence_id=E2, reason="x")])
        self.compact()
        kept = [one["body"] for one in self.path() if one["type"] == "EVIDENCE_REGISTERED"]
        fields = ("evidence_id", "index_id", "corpus_id", "source_id", "chunk_id", "span", "quote_sha256", "quote_bytes")
        ledger = {
            "claims": [{"claim_id": "c1", "status": "verified", "statement": "statement of c1", "evidence_ids": [E1]}, {"claim_id": "c2", "status": "candidate", "statement": "statement of c2", "evidence_ids": []}],
            "evidence": [{key: one[key] for key in fields} for one in kept], "withdrawn": [E2],
        }  # fmt: skip
        self.assertEqual(self.shown()["provenance"]["ledger_digest"], s.digest("weir.ledger.v1", ledger))


class FilledInTest(SnapshotCase):
    """Section 3: what append completes."""

    def body(self, one, session="s", place=-1):
        self.give([one], session)
        return self.path(session)[place]["body"]

    def test_a_source_sent_with_text(self):
        text = "Grüße\n"
        body = self.body(source("s1", text))
        self.assertEqual(body, {"source_id": "s1", "title": "s1", "uri": None, "sha256": s.sha256(text), "bytes": 8, "blob": "sha256:" + s.sha256(text)})
        self.assertEqual(self.weir("show", body["blob"]).out, text.encode())

    def test_a_chunk_takes_its_hash_from_its_span_of_the_source(self):
        self.give([source("s1", "abcdefghij")])
        body = self.body(chunk("s1#1", start=2, end=5))
        self.assertEqual((body["sha256"], body["bytes"], body.get("blob")), (s.sha256("cde"), 3, None))

    def test_evidence_is_filled_in_from_the_chunk(self):
        self.give([source("s1", "abcdefghij", index_id="mine"), chunk("s1#1", start=2, end=8)])
        body = self.body(evidence("s1#1", 1, 3))
        self.assertEqual(body, {
            "chunk_id": "s1#1", "span": {"unit": "utf8", "start": 1, "end": 3}, "source_id": "s1", "index_id": "mine", "corpus_id": None,
            "evidence_id": s.evidence_id("s1#1", 1, 3, "mine"), "quote_sha256": s.sha256("de"), "quote_bytes": 2,
        })  # fmt: skip

    def test_the_namespace_of_the_source_wins_over_the_runs(self):
        self.give([s.run_started(namespace={"corpus_id": "runs"}), source("s1", "abcdefghij", corpus_id="own"), source("s2", "abcdefghij"), chunk("s1#1", start=0, end=8), chunk("s2#1", "s2", start=0, end=8)])
        self.assertEqual(self.body(evidence("s1#1"))["evidence_id"], s.evidence_id("s1#1", 0, 5, "own", "corpus"))
        self.assertEqual(self.body(evidence("s2#1"))["evidence_id"], s.evidence_id("s2#1", 0, 5, "runs", "corpus"))

    def test_without_any_namespace_it_is_refused(self):
        self.give([source("s1", "abcdefghij"), chunk("s1#1")])
        error = self.refused("INVALID_FIELD", "append", "--session", "s", stdin=compact(evidence("s1#1")))
        self.assertIn("/body/index_id", [one["path"] for one in error["details"]["errors"]])

    def test_a_quote_is_hashed_and_not_kept(self):
        body = self.body(event("EVIDENCE_REGISTERED", chunk_id="far", source_id="away", corpus_id="x", span={"unit": "utf8", "start": 0, "end": 5}, quote="alpha"))
        self.assertEqual((body["quote_sha256"], body["quote_bytes"], "quote" in body), (s.sha256("alpha"), 5, False))

    def test_a_chunk_with_text_of_its_own(self):
        self.give([event("SOURCE_REGISTERED", source_id="s1", title="t", uri="http://x", sha256="0" * 64, bytes=99, blob=None, index_id="i")])
        body = self.body(chunk("s1#1", start=10, end=15, text="alpha"))
        self.assertEqual((body["blob"], body["bytes"], "text" in body), ("sha256:" + s.sha256("alpha"), 5, False))
        self.assertEqual(self.body(evidence("s1#1", 1, 3))["quote_sha256"], s.sha256("lp"))

    def test_a_text_that_masking_would_change_is_not_kept(self):
        text = "key AKIA" + "ABCDEFGHIJKLMNOP" + " end of it\n"
        body = self.body(source("s1", text))
        self.assertEqual((body["blob"], body["sha256"], body["bytes"]), (None, s.sha256(text), len(text)))

    def test_a_chunk_of_a_file_that_was_read_can_be_cited(self):
        self.world.file("notes.txt", "one\ntwo\nthree\n")
        self.give([entry("look at it")])
        self.weir("read", "notes.txt", "--session", "s")
        self.compact()
        seen = self.shown()["state"]["source_coverage"]
        self.assertEqual((len(seen["chunk_ids_seen"]), len(seen["source_ids_seen"])), (1, 1))
        name = seen["chunk_ids_seen"][0]
        self.assertRegex(name, r"^file:.*notes\.txt#1-\d+@[0-9a-f]{12}$")
        self.assertEqual(name.split("#")[0], seen["source_ids_seen"][0])
        self.assertIn("@" + s.sha256("one\ntwo\nthree\n")[:12], name)
        body = self.body(event("EVIDENCE_REGISTERED", chunk_id=name, span={"unit": "utf8", "start": 0, "end": 3}, quote="one"))
        self.assertEqual((body["corpus_id"], body["index_id"], body["source_id"]), ("files", None, name.split("#")[0]))
        self.assertEqual(body["evidence_id"], s.evidence_id(name, 0, 3, "files", "corpus"))
        self.give([claim("c1"), attach("c1", body["evidence_id"]), verify("c1")])
        self.assertEqual(self.compact()["status"], "PASS")

    def test_the_same_again_is_a_no_op(self):
        self.give(s.with_evidence())
        self.give([source(), chunk("s1#1", start=0, end=10, delivered=True), evidence("s1#1")])
        self.assertEqual(self.compact()["status"], "PASS")
        told = by(self.shown()["validation"]["checks"], "name")["ledger_consistent"]["message"]
        self.assertEqual(told, "2 evidence records, 0 withdrawn")


class BadInputTest(SnapshotCase):
    def setUp(self):
        super().setUp()
        self.template("bad-input", lambda: self.give([*s.with_evidence(provenance_mode="quotes_checked"), claim("c1"), conflict("k1", [E1], [E2]), event("QUESTION_OPENED", question_id="q1", text="Why?"), event("STEP_STARTED", step_id=5)]))

    def test_illegal_steps_and_unknown_ids(self):
        for message, one in (
            ("CLAIM_VERIFIED names unknown claim c9", verify("c9")), ("CLAIM_DOWNGRADED names unknown claim c9", event("CLAIM_DOWNGRADED", claim_id="c9", reason="x")),
            ("CLAIM_RETRACTED names unknown claim c9", event("CLAIM_RETRACTED", claim_id="c9", reason="x")), ("CLAIM_PROPOSED repeats claim c1", claim("c1")),
            ("CLAIM_DOWNGRADED on candidate claim c1", event("CLAIM_DOWNGRADED", claim_id="c1", reason="x")),
            ("EVIDENCE_ATTACHED names unknown claim c9", attach("c9", E1)), ("EVIDENCE_ATTACHED names unknown evidence ev1_x", attach("c1", "ev1_x")),
            ("EVIDENCE_DETACHED names unknown claim c9", event("EVIDENCE_DETACHED", claim_id="c9", evidence_id=E1)), ("EVIDENCE_DETACHED names unknown evidence ev1_x", event("EVIDENCE_DETACHED", claim_id="c1", evidence_id="ev1_x")),
            ("EVIDENCE_DETACHED names evidence not attached to c1", event("EVIDENCE_DETACHED", claim_id="c1", evidence_id=E1)),
            ("EVIDENCE_WITHDRAWN names unknown evidence ev1_x", event("EVIDENCE_WITHDRAWN", evidence_id="ev1_x", reason="x")),
            ("CONFLICT_RECORDED repeats conflict k1", conflict("k1", [E1], [E2])), ("CONFLICT_RECORDED names unknown evidence ev1_x", conflict("k2", [E1], ["ev1_x"])),
            ("CONFLICT_CITED names unknown conflict k9", event("CONFLICT_CITED", conflict_id="k9", side="a", evidence_id=E1)),
            ("CONFLICT_CITED names unknown evidence ev1_x", event("CONFLICT_CITED", conflict_id="k1", side="a", evidence_id="ev1_x")),
            ("CONFLICT_RESOLVED names unknown conflict k9", event("CONFLICT_RESOLVED", conflict_id="k9", resolution="x")),
            ("QUESTION_OPENED repeats open question q1", event("QUESTION_OPENED", question_id="q1", text="Why?")),
            ("QUESTION_CLOSED names no open question q9", event("QUESTION_CLOSED", question_id="q9", reason="x")),
            ("QUESTION_CLOSED names unknown claim c9", event("QUESTION_CLOSED", question_id="q1", answer_claim_id="c9")),
            ("FAILURE_RESOLVED names unknown failure fail1_x", event("FAILURE_RESOLVED", failure_id="fail1_x", status="resolved")),
            ("CHUNK_REGISTERED names unknown source nowhere", chunk("n#1", "nowhere", sha256="0" * 64, bytes=10, blob=None)),
            ("PLAN_DONE has step_id 3 after 5", event("PLAN_DONE", step_id=3)), ("STEP_STARTED has step_id 4 after 5", event("STEP_STARTED", step_id=4)),
            ("second RUN_STARTED", s.run_started("Another objective")), ("second RUN_STARTED", s.run_started(done={"another": 1})),
            ("RUN_RESUMED without a stop or not by a human", event("RUN_RESUMED", actor="HUMAN", note="x")),
            ("source s1 registered twice with different content", source("s1", "another text")),
            ("chunk s1#1 registered twice with different content", chunk("s1#1", start=1, end=10)),
            (f"evidence {E1} registered twice with different content", evidence("s1#1", 0, 5, corpus_id="also", index_id="lib")),
        ):  # fmt: skip
            with self.subTest(message):
                self.assertEqual(self.not_taken("ILLEGAL_TRANSITION", one), message)

    def test_one_bad_event_refuses_the_whole_batch(self):
        self.not_taken("ILLEGAL_TRANSITION", [claim("c2"), verify("c2"), verify("c9")])

    def test_an_event_may_follow_what_the_same_batch_brings(self):
        self.give([claim("c2"), attach("c2", E1), verify("c2")])

    def test_fields_that_are_missing_or_wrong(self):
        for message, one in (
            ("CLAIM_PROPOSED.statement is missing", event("CLAIM_PROPOSED", claim_id="c2")), ("CLAIM_PROPOSED.statement is empty", event("CLAIM_PROPOSED", claim_id="c2", statement="")),
            ("CLAIM_PROPOSED.claim_id is missing", event("CLAIM_PROPOSED", statement="x")), ("CLAIM_PROPOSED.statement is an integer, expected string", event("CLAIM_PROPOSED", claim_id="c2", statement=7)),
            ("RUN_STARTED.objective is missing", event("RUN_STARTED", done_definition="x")), ("RUN_STARTED.done_definition is missing", event("RUN_STARTED", objective="x")),
            ("RUN_STARTED.config.event_threshold ", s.run_started(config={"event_threshold": 0})), ("RUN_STARTED.provenance_mode ", s.run_started(provenance_mode="none")),
            ("NEXT_ACTIONS_SET.actions ", event("NEXT_ACTIONS_SET", actions=[])), ("NEXT_ACTIONS_SET.actions ", event("NEXT_ACTIONS_SET", actions=["a", "b", "c", "d"])),
            ("STEP_STARTED.step_id is missing", event("STEP_STARTED")), ("PLAN_DONE.step_id is a boolean, expected integer", event("PLAN_DONE", step_id=True)),
            ("PLAN_DONE.attempt ", event("PLAN_DONE", step_id=5, attempt=0)), ("PLAN_DONE.phase ", event("PLAN_DONE", step_id=5, phase="LUNCH")), ("PLAN_DONE.actor ", event("PLAN_DONE", step_id=5, actor="GHOST")),
            ("CONFLICT_CITED.side ", event("CONFLICT_CITED", conflict_id="k1", side="c", evidence_id=E1)), ("FAILURE_RESOLVED.status ", event("FAILURE_RESOLVED", failure_id="x", status="gone")),
            ("FAILURE_RECORDED.why is missing", event("FAILURE_RECORDED", category="a", where="b")), ("RUN_STOPPED.stop_reason ", event("RUN_STOPPED", stop_reason="TIRED", limit_type="N/A")),
            ("THRESHOLDS_SET.n_step_fallback ", event("THRESHOLDS_SET", n_step_fallback=0, reason="x")),
            ("CONTEXT_MANIFEST_WRITTEN.manifest.selected_chunk_ids ", event("CONTEXT_MANIFEST_WRITTEN", manifest_id="m", manifest={"selected_chunk_ids": "x"})),
        ):  # fmt: skip
            with self.subTest(message):
                told = self.not_taken("INVALID_FIELD", one)
                self.assertTrue(told.startswith(message), told)

    def test_details_name_every_field_that_is_wrong(self):
        error = self.refused("INVALID_FIELD", "append", "--session", "s", "--type", "FAILURE_RECORDED", stdin='{"category":7}')
        self.assertEqual([one["path"] for one in error["details"]["errors"]], ["/body/category", "/body/where", "/body/why"])

    def test_evidence_with_an_empty_or_inverted_span(self):
        for start, end in ((5, 5), (6, 5), (-1, 5)):
            with self.subTest(start=start, end=end):
                self.assertIn("EVIDENCE_REGISTERED.span", self.not_taken("INVALID_FIELD", evidence("s1#1", start, end)))
        error = self.refused("INVALID_FIELD", "append", "--session", "s", "--type", "EVIDENCE_REGISTERED", stdin='{"chunk_id":"s1#1"}')
        self.assertIn("/body/span", [one["path"] for one in error["details"]["errors"]])
        self.refused("INVALID_FIELD", "note", "evidence", "--span", "s1#1:5-5", "--session", "s")

    def test_a_quote_that_does_not_match_its_chunk(self):
        self.assertEqual(self.not_taken("QUOTE_MISMATCH", evidence("s1#1", 0, 4, quote_sha256="0" * 64, quote_bytes=4)), f"quote hashes to {s.sha256('alph')}, event says {'0' * 64}")
        wrong = s.sha256("beta")
        told = self.not_taken("QUOTE_MISMATCH", evidence("s1#1", 0, 4, quote="beta"))
        self.assertEqual(told, f"quote hashes to {s.sha256('alph')}, event says {wrong}")
        self.not_taken("QUOTE_MISMATCH", evidence("s1#1", 0, 4, quote="beta", quote_sha256=s.sha256("alph")))

    def test_an_evidence_id_that_does_not_follow_the_derivation(self):
        told = self.not_taken("EVIDENCE_ID_MISMATCH", evidence("s1#1", 0, 4, evidence_id="ev1_mine"))
        self.assertEqual(told, f"evidence_id is ev1_mine, derivation gives {s.evidence_id('s1#1', 0, 4, 'lib')}")

    def test_case_48_the_cap_on_strings(self):
        self.give([claim("long", "x" * 16384), event("OBSERVE_DONE", step_id=5)])
        self.assertEqual(self.compact()["status"], "PASS")
        error = self.refused("LIMIT_EXCEEDED", "append", "--session", "s", "--type", "CLAIM_PROPOSED", stdin=s.canonical({"claim_id": "longer", "statement": "x" * 16385}))
        self.assertEqual(error["message"], "CLAIM_PROPOSED.statement is 16385 bytes, at most 16384")
        self.assertEqual((error["details"]["limit"], error["details"]["value"]), (16384, 16385))
        self.assertEqual(self.not_taken("LIMIT_EXCEEDED", claim("longer", "x" * 20000)), "CLAIM_PROPOSED.statement is 20000 bytes, at most 16384")
        self.assertEqual(self.not_taken("LIMIT_EXCEEDED", claim("longer", "é" * 8193)), "CLAIM_PROPOSED.statement is 16386 bytes, at most 16384")
        self.assertEqual(self.not_taken("LIMIT_EXCEEDED", claim("longer", "x" * 100000)), "CLAIM_PROPOSED.statement is 100000 bytes, at most 16384")
        self.give([claim("more", "é" * 8192)])
        self.assertEqual(self.compact()["sequence"], 2)

    def test_the_cap_on_ids_and_definitions(self):
        self.give([claim("i" * 256)])
        self.assertEqual(self.not_taken("LIMIT_EXCEEDED", claim("i" * 257)), "CLAIM_PROPOSED.claim_id is 257 bytes, at most 256")
        for bad in ("", "a\nb", "a\u0000b", "a\u009fb"):
            with self.subTest(bad=bad):
                self.assertIn("CLAIM_PROPOSED.claim_id", self.not_taken("INVALID_FIELD", event("CLAIM_PROPOSED", claim_id=bad, statement="x")))
        self.assertIn("RUN_STARTED.done_definition is ", self.refused("LIMIT_EXCEEDED", "append", "--session", "new", "--type", "RUN_STARTED", stdin=s.canonical({"objective": "x", "done_definition": {"a": "x" * 16380}}))["message"])
        self.give([s.run_started("x" * 16384)], "new")
        self.assertIn("QUESTION_OPENED.text is 16385 bytes", self.not_taken("LIMIT_EXCEEDED", event("QUESTION_OPENED", question_id="q2", text="x" * 16385)))
        self.assertIn("NEXT_ACTIONS_SET.actions[1] is 16385 bytes", self.not_taken("LIMIT_EXCEEDED", event("NEXT_ACTIONS_SET", actions=["x", "x" * 16385])))

    def test_a_manifest_that_does_not_hash_to_its_id(self):
        made = s.manifest(5)
        made["body"]["manifest_id"] = "man1_" + "0" * 32
        self.not_taken("INVALID_FIELD", made)

    def test_case_60_run_started_after_a_snapshot(self):
        self.give([entry("hi")], "plain")
        self.compact("plain")
        self.assertEqual(self.not_taken("ILLEGAL_TRANSITION", s.run_started(), "plain"), "RUN_STARTED after snapshot 1")
        self.give([event("OBSERVE_DONE", step_id=5)])
        self.compact()
        self.assertEqual(self.not_taken("ILLEGAL_TRANSITION", s.run_started()), "second RUN_STARTED")

    def test_bad_events_are_bad_in_dry_runs_too(self):
        self.refused("ILLEGAL_TRANSITION", "append", "--dry-run", "--session", "s", "--type", "CLAIM_VERIFIED", stdin='{"claim_id":"c9"}')
        before = self.world.dump()
        self.weir("append", "--dry-run", "--session", "s", "--type", "CLAIM_RETRACTED", stdin='{"claim_id":"c1","reason":"x"}')
        self.assertEqual(self.world.dump(), before)


class NoteTest(SnapshotCase):
    def setUp(self):
        super().setUp()
        self.template("evidence", lambda: self.give(s.with_evidence()))

    def note(self, *args):
        return self.answer("note", *args, "--session", "s")

    def last(self, count=1):
        return [(one["type"], one["body"]) for one in self.path()[-count:]]

    def test_claims(self):
        made = self.note("claim", "The sky is blue")
        self.assertEqual({key: made[key] for key in ("type", "id", "due")}, {"type": "CLAIM_PROPOSED", "id": "c1", "due": False})
        self.assertEqual(made["entry"], self.path()[-1]["id"])
        self.assertEqual(self.last(), [("CLAIM_PROPOSED", {"claim_id": "c1", "statement": "The sky is blue"})])
        self.assertEqual(self.note("claim", "add", "Grass is green")["id"], "c2")
        self.assertEqual(self.note("claim", "--op", "add", "--id", "own", "--text", "Snow is white")["id"], "own")
        self.assertEqual(self.note("claim", "verify", "c1", E1, E2)["type"], "CLAIM_VERIFIED")
        self.assertEqual(self.last(3), [("EVIDENCE_ATTACHED", {"claim_id": "c1", "evidence_id": E1}), ("EVIDENCE_ATTACHED", {"claim_id": "c1", "evidence_id": E2}), ("CLAIM_VERIFIED", {"claim_id": "c1"})])
        self.note("claim", "downgrade", "c1", "too thin")
        self.assertEqual(self.last(), [("CLAIM_DOWNGRADED", {"claim_id": "c1", "reason": "too thin"})])
        self.note("claim", "retract", "c1", "wrong")
        self.assertEqual(self.last(), [("CLAIM_RETRACTED", {"claim_id": "c1", "reason": "wrong"})])
        self.assertEqual(self.note("claim", "Water is wet")["id"], "c3")
        self.assertEqual(self.compact()["status"], "PASS")

    def test_evidence(self):
        made = self.note("evidence", "--span", "s1#1:2-6", "pha ")
        self.assertEqual((made["type"], made["id"]), ("EVIDENCE_REGISTERED", s.evidence_id("s1#1", 2, 6, "lib")))
        self.assertEqual(self.last()[0][1]["quote_sha256"], s.sha256("pha "))
        self.refused("QUOTE_MISMATCH", "note", "evidence", "--span", "s1#1:2-5", "xyz", "--session", "s")
        self.note("claim", "one")
        self.note("claim", "two")
        self.note("evidence", "attach", made["id"], "c1", "c2")
        self.assertEqual(self.last(2), [("EVIDENCE_ATTACHED", {"claim_id": "c1", "evidence_id": made["id"]}), ("EVIDENCE_ATTACHED", {"claim_id": "c2", "evidence_id": made["id"]})])
        self.note("evidence", "detach", "--id", made["id"], "--refs", "c2")
        self.assertEqual(self.last(), [("EVIDENCE_DETACHED", {"claim_id": "c2", "evidence_id": made["id"]})])
        self.note("evidence", "withdraw", made["id"], "misread")
        self.assertEqual(self.last(), [("EVIDENCE_WITHDRAWN", {"evidence_id": made["id"], "reason": "misread"})])

    def test_conflicts(self):
        self.assertEqual(self.note("conflict", "Which?", "--refs", E1, "--other", E2)["id"], "k1")
        self.assertEqual(self.last(), [("CONFLICT_RECORDED", {"conflict_id": "k1", "description": "Which?", "side_a": [E1], "side_b": [E2]})])
        self.note("conflict", "resolve", "k1", "the first")
        self.assertEqual(self.last(), [("CONFLICT_RESOLVED", {"conflict_id": "k1", "resolution": "the first"})])
        self.assertEqual(self.note("conflict", "Again?", "--refs", E1, "--other", E2)["id"], "k2")

    def test_questions(self):
        self.assertEqual(self.note("question", "Why?")["id"], "q1")
        self.assertEqual(self.last(), [("QUESTION_OPENED", {"question_id": "q1", "text": "Why?"})])
        self.note("question", "close", "q1", "never mind")
        self.assertEqual(self.last(), [("QUESTION_CLOSED", {"question_id": "q1", "reason": "never mind"})])

    def test_a_closed_questions_number_is_not_free(self):
        self.note("question", "Why?")
        self.note("question", "close", "q1", "never mind")
        self.assertEqual(self.note("question", "When?")["id"], "q2")

    def test_failures_and_next(self):
        made = self.note("failure", "--category", "retrieval", "--where", "OBSERVE/rerank", "no answer")
        self.assertEqual((made["type"], made["id"]), ("FAILURE_RECORDED", "fail1_af03964279c47b975cdaa348440da176"))
        self.note("failure", "resolve", made["id"])
        self.assertEqual(self.last(), [("FAILURE_RESOLVED", {"failure_id": made["id"], "status": "resolved"})])
        made = self.note("next", "Read", "Write", "Rest")
        self.assertEqual((made["type"], made["id"]), ("NEXT_ACTIONS_SET", "next"))
        self.assertEqual(self.last(), [("NEXT_ACTIONS_SET", {"actions": ["Read", "Write", "Rest"]})])

    def test_what_is_refused_stores_nothing(self):
        for code, *args in (
            ("INVALID_FIELD", "claim"), ("INVALID_FIELD", "claim", "resolve", "c1"), ("INVALID_FIELD", "question", "verify", "q1"), ("ILLEGAL_TRANSITION", "claim", "verify", "c9"),
            ("ILLEGAL_TRANSITION", "evidence", "attach", "ev1_x", "c9"), ("ILLEGAL_TRANSITION", "conflict", "resolve", "k9", "x"), ("ILLEGAL_TRANSITION", "question", "close", "q9", "x"),
            ("ILLEGAL_TRANSITION", "failure", "resolve", "fail1_x"), ("INVALID_FIELD", "next"), ("INVALID_FIELD", "next", "a", "b", "c", "d"), ("INVALID_FIELD", "claim", "x", "--category", "y"),
            ("INVALID_FIELD", "failure", "why"), ("INVALID_FIELD", "evidence", "quote"), ("INVALID_FIELD", "evidence", "attach", E1), ("LIMIT_EXCEEDED", "claim", "x" * 16385), ("USAGE", "claim", "two", "words"),
        ):  # fmt: skip
            with self.subTest(args=[one[:20] for one in args]):
                self.refused(code, "note", *args, "--session", "s")

    def test_a_dry_run_stores_nothing(self):
        before = self.world.dump()
        self.assertEqual(self.answer("note", "claim", "x", "--dry-run", "--session", "s")["id"], "c1")
        self.assertEqual(self.world.dump(), before)

    def test_a_note_that_no_compaction_could_pass_is_refused(self):
        self.note("claim", "x")
        error = self.refused("ILLEGAL_TRANSITION", "note", "claim", "verify", "c1", "--session", "s")
        self.assertIn("claim c1 is verified without evidence", error["message"])
        self.assertIn("weir note claim verify CLAIM EVIDENCE", error["details"]["help"])
        error = self.refused("ILLEGAL_TRANSITION", "note", "conflict", "x", "--session", "s")
        self.assertIn("has an empty side", error["message"])
        self.give([event("CLAIM_VERIFIED", claim_id="c1")])  # an append of the event is taken, with a warning

    def test_due_is_told(self):
        self.give([event("THRESHOLDS_SET", event_threshold=3, reason="x"), *steps(1, 1)])
        self.assertIs(self.note("claim", "x")["due"], True)

    def test_a_note_makes_its_session(self):
        self.answer("note", "question", "Why?", "--session", "fresh")
        self.assertEqual(self.kinds("fresh"), ["QUESTION_OPENED"])
        self.refused("NOTHING_TO_COMPACT", "compact", "--session", "fresh")


class StopTest(SnapshotCase):
    def test_stop_and_resume(self):
        self.give([s.loose()])
        self.weir("stop", "--session", "s")
        body = self.path()[-1]["body"]
        self.assertEqual((self.kinds()[-1], body["stop_reason"]), ("RUN_STOPPED", "HUMAN_REQUESTED"))
        self.refused("RUN_STOPPED", "stop", "--session", "s")
        self.refused("RUN_STOPPED", "context", "--session", "s")
        self.weir("resume", "--session", "s", "--note", "go on")
        self.assertEqual(self.path()[-1]["body"], {"actor": "HUMAN", "note": "go on", "forgive": []})
        error = self.refused("ILLEGAL_TRANSITION", "resume", "--session", "s")
        self.assertEqual(error["message"], "RUN_RESUMED without a stop or not by a human")
        self.give(steps(1, 1))
        for reason in ("OBJECTIVE_ACHIEVED", "BUDGET_EXCEEDED", "NO_EVIDENCE", "SYSTEM_ERROR"):
            self.weir("stop", "--session", "s", "--reason", reason)
            place = self.pointer(self.path()[-1])
            self.assertEqual(self.not_taken("RUN_STOPPED", claim("c1")), f"run stopped ({reason}) at {place}: CLAIM_PROPOSED refused until RUN_RESUMED by a human")
            self.weir("resume", "--session", "s")
        self.refused("USAGE", "stop", "--session", "s", "--reason", "TIRED")
        self.refused("NOT_FOUND", "stop", "--session", "nobody")
        self.refused("NOT_FOUND", "resume", "--session", "nobody")

    def test_run_events_after_a_system_error_need_a_human(self):
        self.give([s.loose(), event("RUN_STOPPED", actor="COMPACTOR", diagnostic="x", limit_type="N/A", stop_reason="SYSTEM_ERROR")])
        place = self.pointer(self.path()[-1])
        for one in (*steps(1, 1)[:1], claim("c1"), s.manifest(1), source(), event("QUESTION_OPENED", question_id="q1", text="x"), event("FAILURE_RECORDED", category="a", where="b", why="c")):
            self.assertEqual(self.not_taken("RUN_STOPPED", one), f"run stopped (SYSTEM_ERROR) at {place}: {one['type']} refused until RUN_RESUMED by a human")
        self.not_taken("ILLEGAL_TRANSITION", event("RUN_RESUMED", actor="EXECUTOR", note="me"))

    def test_a_dry_stop_stores_nothing(self):
        self.give([s.loose()])
        before = self.world.dump()
        self.weir("stop", "--session", "s", "--dry-run")
        self.assertEqual(self.world.dump(), before)


class LongRunTest(SnapshotCase):
    def test_ten_thousand_steps_and_four_hundred_claims(self):
        begun = time.monotonic()
        self.give(s.with_evidence())
        number = 0
        for batch in range(20):
            events = []
            for at in range(batch * 500 + 1, batch * 500 + 501):
                within = []
                if at % 25 == 0:
                    number += 1
                    name = f"c{number}"
                    within = [claim(name), attach(name, E1 if number % 2 else E2), verify(name)]
                    if number % 10 == 0:
                        within.append(event("CLAIM_RETRACTED", claim_id=name, reason="no"))
                events += step(at, *within)
            answer = self.give(events)
            self.assertIs(answer["due"], True)
            if batch % 4 == 3:
                made = self.compact("s", "--if-due")
                self.assertEqual((made["status"], made["sequence"]), ("PASS", batch // 4 + 1))
        shown = self.shown()
        self.assertEqual(shown["counts"], {"steps_since_last_compaction": 2000, "counted_events_since_last_compaction": 6000})
        status = [one["status"] for one in shown["state"]["claims"]]
        self.assertEqual((len(status), status.count("verified"), status.count("retracted")), (400, 360, 40))
        self.assertEqual(len(shown["deltas"]["claims_added"]), 80)
        self.assertEqual(self.check(shown, code=0), {})
        self.assertLessEqual(len(self.narrative().encode()), 32768)
        self.assertEqual(self.counts(), (0, 0, None))
        one = time.monotonic()
        self.give(steps(10001, 10001))
        self.compact()
        self.assertLess(time.monotonic() - one, 5, "one step and one compaction after a long run")
        self.sound()
        self.assertLess(time.monotonic() - begun, 60)


if __name__ == "__main__":
    s.main()
