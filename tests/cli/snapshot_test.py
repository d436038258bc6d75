"""due, compact, snapshot: what a snapshot holds and depends on, when one is due, and what the commands answer
(cases 1 to 5, 31 to 36, 45, 53, 54 and 55 of the compaction snapshot)."""

import copy
import json
import random
import re

import harness
import snapshot_case as s
from harness import compact as compact_json
from harness import entry, jsonl
from snapshot_case import E1, E2, RUN, SnapshotCase, attach, claim, conflict, event, step, steps, verify

ID = "snap1_42ac2334deb41027728c576a4bfdfd20"
HEX64 = re.compile("[0-9a-f]{64}")
POINTER = re.compile("e[0-9a-f]{16}")
SMALLEST = (
    '{"budgets":{},"counts":{"counted_events_since_last_compaction":0,"steps_since_last_compaction":0},"deltas":{"chunks_cited_added":0,"claims_added":[],'
    '"claims_demoted":[],"claims_newly_verified":[],"claims_retracted":[],"conflicts_added":[],"conflicts_resolved":[],"failures_added":[],"files_changed":[],'
    '"questions_closed":[],"questions_opened":[],"sources_added":0},"done_definition":"not declared","latest_context_manifest_ids":[],"objective":"hi",'
    '"objective_source":{"cut":false,"entry":"e8c6e81485ed90b46","kind":"derived"},"policy_snapshot_ref":null,"previous_snapshot_id":null,'
    '"provenance":{"compactor_version":"weir.snapshot/1","first_entry":"e8c6e81485ed90b46","first_pos":1,"last_entry":"e8c6e81485ed90b46","last_pos":1,'
    '"ledger_digest":"7df61d697bcda2b0155150ddd4baff7adf98af5469c1def5250a7c9acd29f82e","log_digest":"8c6e81485ed90b4610216d70ae4fec8327a3400e2e9c17c9c07a6217c2aa4a21",'
    '"thresholds":{"event_threshold":18,"n_step_fallback":8,"plain_bytes_threshold":0},"trigger":"MANUAL"},"provenance_mode":"audit_only",'
    '"retrieval_diagnostics":{"candidates":0,"excluded":0,"filters":[],"manifest_ids":[],"queries":0,"selected":0,"zero_result_queries":0},"schema_version":1,'
    '"sequence":1,"state":{"carry":{"commands":[],"commands_omitted":0,"files":[],"last_reply":null,"latest_request":{"answered":false,"bytes":2,'
    '"entry":"e8c6e81485ed90b46","verbatim":"hi"},"pending_calls":[],"pinned":[],"requests":[],"requests_omitted":0,"todos":null},"claims":[],"conflicts":[],'
    '"failures":[],"next_actions":[],"next_actions_entry":null,"open_question_refs":[],"open_questions":[],"source_coverage":{"chunk_ids_cited":[],'
    '"chunk_ids_seen":[],"source_ids_seen":[]}}}'
)  # fmt: skip

# Section 5 and 4 as a pattern: types, alternatives as tuples, a list with one item for lists of it, dicts with exactly these keys.
PTR = POINTER
REF = {"evidence_id": str, "chunk_id": str, "span": {"unit": str, "start": int, "end": int}}
FORM = {
    "schema_version": int, "snapshot_id": re.compile("snap1_[0-9a-f]{32}"), "run_id": str, "sequence": int, "created_at": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"),
    "previous_snapshot_id": (str, None), "objective": str, "objective_source": {"kind": str, "entry": PTR, "cut": bool}, "done_definition": (dict, str),
    "provenance_mode": str, "policy_snapshot_ref": (str, None), "budgets": dict, "counts": {"steps_since_last_compaction": int, "counted_events_since_last_compaction": int},
    "latest_context_manifest_ids": [str],
    "state": {
        "claims": [{"claim_id": str, "status": str, "statement": str, "evidence_refs": [REF], "status_reason": str, "withdrawn_refs": [REF], "first_entry": PTR, "verified_entry": (PTR, None)}],
        "conflicts": [{"conflict_id": str, "description": str, "side_a_refs": [REF], "side_b_refs": [REF], "status": str, "resolution": (str, None), "first_entry": PTR}],
        "open_questions": [str], "open_question_refs": [{"question_id": str, "entry": PTR}],
        "failures": [{"failure_id": str, "category": str, "where": str, "why": str, "status": str, "occurrence_count": int, "last_seen_step_id": int, "first_entry": PTR, "last_entry": PTR}],
        "source_coverage": {"source_ids_seen": [str], "chunk_ids_seen": [str], "chunk_ids_cited": [str]}, "next_actions": [str], "next_actions_entry": (PTR, None),
        "carry": {
            "latest_request": ({"entry": PTR, "bytes": int, "verbatim": (str, None), "answered": bool}, None), "requests": [{"entry": PTR, "bytes": int, "opening": str}], "requests_omitted": int,
            "last_reply": ({"entry": PTR, "bytes": int, "opening": str}, None), "pinned": [{"entry": PTR, "role": str, "reason": str, "bytes": int, "verbatim": (str, None)}],
            "files": [{"path": str, "reads": int, "changes": int, "last_read": (PTR, None), "last_change": (PTR, None), "sha256": (HEX64, None)}],
            "commands": [{"tool": str, "command": str, "bytes": int, "runs": int, "errors": int, "last_entry": PTR}], "commands_omitted": int,
            "todos": ({"entry": PTR, "items": [{"item": str, "status": str}]}, None), "pending_calls": [{"entry": PTR, "tool": str, "call_id": str}],
        },
    },
    "retrieval_diagnostics": {"queries": int, "zero_result_queries": int, "candidates": int, "selected": int, "excluded": int, "filters": [str], "manifest_ids": [str]},
    "deltas": {
        "claims_added": [str], "claims_newly_verified": [str], "claims_demoted": [str], "claims_retracted": [str], "conflicts_added": [str], "conflicts_resolved": [str], "failures_added": [str],
        "questions_opened": [str], "questions_closed": [str], "files_changed": [str], "sources_added": int, "chunks_cited_added": int,
    },
    "provenance": {
        "first_pos": int, "last_pos": int, "first_entry": PTR, "last_entry": PTR, "log_digest": HEX64, "ledger_digest": HEX64, "trigger": str,
        "thresholds": {"event_threshold": int, "n_step_fallback": int, "plain_bytes_threshold": int}, "compactor_version": str,
        "located": {"first_seq": int, "first_id": str, "last_seq": int, "last_id": str},
    },
    "validation": {"status": str, "checks": [{"name": str, "status": str, "message": str}], "failure_action_taken": str},
}  # fmt: skip


def mismatch(value, form, path="$"):
    """Where a value does not have the form, or None."""
    if isinstance(form, tuple):
        tried = [mismatch(value, one, path) for one in form]
        return None if None in tried else tried[0]
    if form is None:
        return None if value is None else f"{path} is not null"
    if isinstance(form, re.Pattern):
        return None if isinstance(value, str) and form.fullmatch(value) else f"{path}: {value!r}"
    if isinstance(form, list):
        if not isinstance(value, list):
            return f"{path} is no list"
        return next((found for i, one in enumerate(value) if (found := mismatch(one, form[0], f"{path}[{i}]"))), None)
    if isinstance(form, dict):
        if not isinstance(value, dict) or set(value) != set(form):
            return f"{path} has {sorted(value) if isinstance(value, dict) else value!r}, not {sorted(form)}"
        return next((found for key in form if (found := mismatch(value[key], form[key], f"{path}.{key}"))), None)
    right = type(value) is form if form in (int, bool) else isinstance(value, form)
    return None if right else f"{path} is {value!r}, not {form.__name__}"


class SeedTest(SnapshotCase):
    def test_case_1_every_key_of_its_declared_type(self):
        self.two_snapshots()
        for which in ("1", "2"):
            shown = self.shown(which, RUN)
            self.assertIsNone(mismatch(shown, FORM))
            self.assertEqual((shown["schema_version"], shown["run_id"], str(shown["sequence"])), (1, RUN, which))
            self.assertEqual(shown["snapshot_id"], s.snapshot_id(shown))

    def test_case_1_in_a_plain_session_too(self):
        self.give([entry("hi"), s.calls(("a", "bash", {"command": "ls"}), ("b", "TodoWrite", {"todos": [{"content": "x", "status": "pending"}]})), s.result("a"), s.result("b")])
        self.compact()
        self.assertIsNone(mismatch(self.shown(), FORM))

    def test_case_2_verified_without_pointers_fails_candidate_passes(self):
        self.give([*s.with_evidence(), claim("c1")])
        self.assertEqual(self.dry()["status"], "PASS")
        answer = self.give([verify("c1")])
        self.assertEqual(answer["warnings"], ["claim c1 is verified without evidence: the next compaction will fail"])
        answer = self.dry(code=8)
        self.assertIn({"name": "verified_claims_have_evidence", "message": "1 verified claims without evidence; first: c1"}, answer["failed"])

    def test_case_3_conflicts_need_two_sides(self):
        for name, side_a, side_b, message in (
            ("an empty side", [E1], [], "1 conflicts not two-sided; first: k1 has an empty side"),
            ("two pointers on one side", [E1, E2], [], "1 conflicts not two-sided; first: k1 has an empty side"),
            ("the other empty side", [], [E1], "1 conflicts not two-sided; first: k1 has an empty side"),
            ("one pointer on both sides", [E1], [E1], "1 conflicts not two-sided; first: k1 cites the same evidence on both sides"),
        ):  # fmt: skip
            with self.subTest(name):
                session = name.replace(" ", "-")
                answer = self.give([*s.with_evidence(), conflict("k1", side_a, side_b)], session)
                if side_a != side_b:
                    self.assertEqual(len(answer["warnings"]), 1)
                    self.assertTrue(answer["warnings"][0].startswith("conflict k1 has an empty side: "), answer)
                self.assertEqual(self.dry(session, code=8)["failed"], [{"name": "conflicts_two_sided", "message": message}])
        self.give([*s.with_evidence(), conflict("k1", [E1], [E2])], "fine")
        self.assertEqual(self.dry("fine")["status"], "PASS")

    def test_case_4_reordered_and_respaced_json_renders_the_same_narrative(self):
        self.two_snapshots()
        shown = self.shown("2", RUN)

        def turned(value):
            if isinstance(value, dict):
                return {key: turned(value[key]) for key in reversed(list(value))}
            return [turned(one) for one in value] if isinstance(value, list) else value

        # The same snapshot, sent by somebody else in another spelling, is stored with the narrative that Weir renders of it.
        self.goto(self.path(RUN)[40]["id"], RUN)
        self.give([{"type": "compaction", "body": {"snapshot": turned(s.stored_form(shown))}}], RUN)
        self.assertEqual(self.shown("2", RUN)["snapshot_id"], shown["snapshot_id"])
        mine = self.narrative("2", RUN, "--max-bytes", "0")
        self.two_snapshots()
        self.assertEqual(self.narrative("2", RUN, "--max-bytes", "0"), mine)
        for text in (json.dumps(turned(shown), indent=3), json.dumps(shown, indent=None, sort_keys=True), json.dumps(shown, ensure_ascii=True)):
            self.assertEqual(self.check(text.encode(), code=0), {})

    def test_case_5_unknown_and_verbose_entries_move_nothing(self):
        loud = lambda number: [event(kind, step_id=number * 1000 + i, note="x") for i in range(10) for kind in ("TOKEN", "TOOL_OUTPUT", "PLAN_STARTED", "custom", "THOUGHT")]  # noqa: E731
        quiet, noisy = [s.loose()], [s.loose()]
        for number in range(1, 7):
            quiet += step(number)
            for one in step(number):
                noisy += loud(number)[:17] + [one]
        for session, entries in (("quiet", quiet), ("noisy", noisy)):
            answer = self.give(entries[:-1], session)
            self.assertIs(answer["due"], False)
            self.assertEqual(self.counts(session), (17, 6, None))
            self.assertIs(self.give(entries[-1:], session)["due"], True)
            self.assertEqual(self.counts(session), (18, 6, "EVENT_THRESHOLD"))


class TriggerTest(SnapshotCase):
    """Section 6, figure by figure."""

    def test_six_full_steps_are_due_at_the_18th_counted_entry_and_five_are_not(self):
        entries = [s.loose(), *steps(1, 6)]
        self.give(entries[:16])
        self.assertEqual(self.counts(), (15, 5, None))
        for one in entries[16:18]:
            self.assertIs(self.give([one])["due"], False)
        self.assertIs(self.give(entries[18:])["due"], True)
        answer = self.due()
        self.assertEqual(answer, {
            "due": True, "trigger": "EVENT_THRESHOLD", "at_boundary": True, "counted_events_since_last_compaction": 18, "steps_since_last_compaction": 6,
            "message_bytes_since_last_compaction": 0, "thresholds": {"event_threshold": 18, "n_step_fallback": 8, "plain_bytes_threshold": 0}, "barrier": None,
            "bare_barrier": None, "stopped": None,
        })  # fmt: skip

    def test_the_counts_start_again_at_the_barrier(self):
        self.give([s.loose(), *steps(1, 6)])
        made = self.compact()
        self.assertEqual(self.counts(), (0, 0, None))
        self.assertEqual(self.due()["barrier"], self.pointer(self.path()[-1]))
        self.assertEqual(self.path()[-1]["id"], made["entry"])
        self.give(steps(7, 11))
        self.assertEqual(self.counts(), (15, 5, None))
        self.give(steps(12, 12))
        self.assertEqual(self.counts(), (18, 6, "EVENT_THRESHOLD"))

    def test_eight_steps_with_a_plan_only_are_the_step_fallback_and_seven_are_not(self):
        self.give([s.loose(), *(event("PLAN_DONE", step_id=n) for n in range(1, 8))])
        self.assertEqual(self.counts(), (7, 7, None))
        self.give([event("PLAN_DONE", step_id=8)])
        self.assertEqual(self.counts(), (8, 8, "STEP_FALLBACK"))
        self.assertIs(self.due()["at_boundary"], False)

    def test_step_started_makes_a_step(self):
        self.give([s.loose(), *(event("STEP_STARTED", step_id=n) for n in range(1, 9))])
        self.assertEqual(self.counts(), (0, 8, "STEP_FALLBACK"))

    def test_fifty_unknown_entries_count_nothing(self):
        self.give([s.loose(), *(event("VERBOSE", step_id=n) for n in range(50))])
        self.assertEqual(self.counts(), (0, 0, None))

    def test_twenty_parallel_acts_are_one(self):
        self.give([s.loose(), event("PLAN_DONE", step_id=1), *(event("ACT_DONE", step_id=1) for _ in range(20))])
        self.assertEqual(self.counts(), (2, 1, None))

    def test_an_aborted_sixth_step_is_not_due(self):
        self.give([s.loose(), *steps(1, 5), event("PLAN_DONE", step_id=6), event("ACT_DONE", step_id=6), event("STEP_ABORTED", step_id=6, reason="no")])
        self.assertEqual(self.counts(), (17, 6, None))
        self.assertIs(self.due()["at_boundary"], True)

    def test_case_53_a_retry_is_counted_once(self):
        self.give([s.loose(), event("PLAN_DONE", step_id=1), event("ACT_FAILED", step_id=1, error_code="E"), event("ACT_DONE", step_id=1, attempt=2), event("OBSERVE_DONE", step_id=1)])
        self.assertEqual(self.counts(), (3, 1, None))

    def test_a_step_id_left_out_is_the_current_step(self):
        self.give([s.loose(), event("STEP_STARTED", step_id=4), event("PLAN_DONE"), event("ACT_DONE"), event("OBSERVE_DONE")])
        self.assertEqual(self.counts(), (3, 1, None))
        self.assertIn("PLAN_DONE has step_id 3 after 4", self.not_taken("ILLEGAL_TRANSITION", event("PLAN_DONE", step_id=3)))

    def test_a_later_step_closes_one_left_open(self):
        self.give([s.loose(), event("STEP_STARTED", step_id=1), event("STEP_STARTED", step_id=2), event("OBSERVE_DONE", step_id=2)])
        self.assertIs(self.due()["at_boundary"], True)

    def test_plain_bytes_only_without_run_and_counted_entries(self):
        self.give([entry("hello"), event("THRESHOLDS_SET", plain_bytes_threshold=100, reason="cost")])
        self.assertEqual(self.counts(), (0, 0, None))
        first = len('{"content":"hello","role":"user"}')
        self.assertEqual(self.due()["message_bytes_since_last_compaction"], first)
        left = 100 - first - len('{"content":"","role":"user"}')
        self.assertIs(self.give([entry("x" * (left - 3) + "é")])["due"], False)
        self.assertEqual(self.due()["message_bytes_since_last_compaction"], 99)
        self.goto(self.path()[1]["id"])
        self.assertIs(self.give([entry("x" * (left - 2) + "é")])["due"], True)
        self.assertEqual(self.due()["trigger"], "PLAIN_BYTES")
        self.assertEqual(self.due()["message_bytes_since_last_compaction"], 100)
        self.give([event("PLAN_DONE", step_id=1), event("OBSERVE_DONE", step_id=1)])
        self.assertEqual(self.counts(), (2, 1, None))
        self.give([entry("x" * 200), event("RUN_STARTED", objective="x", done_definition="y", config={"plain_bytes_threshold": 10})], "run")
        self.assertIs(self.due("run")["due"], False)

    def test_the_trigger_goes_into_the_snapshot(self):
        self.give([entry("x" * 200), event("THRESHOLDS_SET", plain_bytes_threshold=100, reason="cost")], "plain")
        self.compact("plain")
        self.assertEqual(self.shown("1", "plain")["provenance"]["trigger"], "PLAIN_BYTES")
        self.give([s.loose(n_step_fallback=2), event("STEP_STARTED", step_id=1), event("STEP_ABORTED", step_id=1, reason="x"), event("STEP_STARTED", step_id=2), event("STEP_ABORTED", step_id=2, reason="x")], "steps")
        self.compact("steps")
        self.assertEqual(self.shown("1", "steps")["provenance"]["trigger"], "STEP_FALLBACK")
        self.give([s.loose(event_threshold=3), *steps(1, 1)], "asked")
        self.compact("asked")
        self.assertEqual(self.shown("1", "asked")["provenance"]["trigger"], "EVENT_THRESHOLD")
        self.give([entry("more")], "asked")
        self.compact("asked")
        self.assertEqual(self.shown("2", "asked")["provenance"]["trigger"], "MANUAL")

    def test_what_is_due_is_the_trigger_whatever_reason_is_given(self):
        self.give([s.loose(event_threshold=3)])
        expected = []
        for number, (reason, undue) in enumerate((("egress", "EGRESS"), ("manual", "MANUAL")), 1):
            self.give(steps(number, number))
            self.compact("s", "--reason", reason)
            self.give([entry("more")])
            self.compact("s", "--reason", reason)
            expected += ["EVENT_THRESHOLD", undue]
        self.give(steps(3, 3))
        self.compact("s", "--reason", "egress", "--tokens-before", "9")  # a host's own, due or not
        triggers = [self.shown(str(sequence))["provenance"]["trigger"] for sequence in range(1, 6)]
        self.assertEqual(triggers, [*expected, "HOST_BARRIER"])

    def test_asking_with_other_thresholds_changes_nothing(self):
        self.give([s.loose(), *steps(1, 2)])
        before = self.world.dump()
        self.assertEqual(self.due("s", "--event-threshold", "6")["trigger"], "EVENT_THRESHOLD")
        self.assertEqual(self.due("s", "--event-threshold", "7", "--n-step-fallback", "2")["trigger"], "STEP_FALLBACK")
        self.assertEqual(self.due("s", "--event-threshold", "7", "--n-step-fallback", "3")["trigger"], None)
        self.assertEqual(self.due("s", "--event-threshold", "7")["thresholds"]["event_threshold"], 7)
        self.assertEqual(self.due()["thresholds"]["event_threshold"], 18)
        self.assertEqual(self.world.dump(), before)

    def test_due_answers_0_and_1_and_more_on_error(self):
        self.give([s.loose(event_threshold=3), *steps(1, 1)])
        self.weir("due", "--session", "s")
        self.weir("due", "--session", "s", "--event-threshold", "4", code=1)
        self.refused("NOT_FOUND", "due", "--session", "nobody")
        self.refused("USAGE", "due", "--session", "s", "--event-threshold", "many")
        self.assertIs(self.due("s", "--at", self.path()[2]["id"])["due"], False)

    def test_thresholds_come_from_the_configuration_when_the_run_names_none(self):
        self.world.user_config("[compaction]\nevent_threshold = 6\nn_step_fallback = 5\n")
        self.give([s.run_started(), *steps(1, 2, manifests=True)])
        self.assertEqual(self.path()[0]["body"]["config"], {"event_threshold": 6, "n_step_fallback": 5, "plain_bytes_threshold": 0})
        self.assertEqual(self.counts(), (6, 2, "EVENT_THRESHOLD"))
        # They live in the log: another configuration changes nothing for this run.
        self.world.user_config("[compaction]\nevent_threshold = 60\n")
        self.assertEqual(self.counts(), (6, 2, "EVENT_THRESHOLD"))

    def test_case_54_new_thresholds_hold_from_their_entry_on(self):
        self.give([s.loose(), *steps(1, 6)])
        self.compact()
        self.give([event("THRESHOLDS_SET", event_threshold=6, n_step_fallback=3, reason="loop rate"), *steps(7, 7)])
        self.assertEqual(self.counts(), (3, 1, None))
        self.assertIs(self.give(steps(8, 8))["due"], True)
        now = {"event_threshold": 6, "n_step_fallback": 3, "plain_bytes_threshold": 0}
        self.compact()
        self.assertEqual(self.shown("2")["provenance"]["thresholds"], now)
        self.assertEqual(self.shown("1")["provenance"]["thresholds"], {"event_threshold": 18, "n_step_fallback": 8, "plain_bytes_threshold": 0})

    def test_case_54_the_next_manifest_shows_the_new_thresholds(self):
        self.give([s.loose(), entry("hi"), *steps(1, 1), event("THRESHOLDS_SET", event_threshold=6, n_step_fallback=3, reason="loop rate")])
        self.weir("context", "--session", "s")
        made = [one for one in self.path() if one["type"] == "CONTEXT_MANIFEST_WRITTEN"][-1]
        self.assertEqual(made["body"]["manifest"]["thresholds"], {"event_threshold": 6, "n_step_fallback": 3, "plain_bytes_threshold": 0})
        self.compact()
        self.assertEqual(self.shown()["latest_context_manifest_ids"], [made["body"]["manifest_id"]])


class InvarianceTest(SnapshotCase):
    def test_case_31_another_created_at_passes(self):
        self.two_snapshots()
        shown = self.shown("2", RUN)
        shown["created_at"] = "1999-12-31T23:59:59Z"
        self.assertEqual(self.check(shown, code=0), {})

    def test_case_31_every_time_rewritten_gives_the_same_id_and_digest(self):
        found = set()
        for number, at in enumerate(("2020-01-01T00:00:00.000Z", "2031-07-01T12:34:56.789Z")):
            session = f"s{number}"
            self.give([{**one, "at": at} for one in s.example()], session)
            self.compact(session)
            self.give([{**one, "at": at} for one in s.second_part()], session)
            self.compact(session)
            found.add((self.shown("2", session)["snapshot_id"], self.path(session)[-1]["digest"]))
        self.assertEqual(len(found), 1)

    def test_case_32_another_session_own_ids_and_an_unrelated_branch(self):
        self.two_snapshots()
        wanted = [self.shown(which, RUN)["snapshot_id"] for which in ("1", "2")]
        named = [{**one, "id": f"mine-{i}"} for i, one in enumerate(s.example())]
        self.give(named[:9], "another")
        self.weir("head", "fork", "aside", "--session", "another")
        self.give([entry("something else"), event("QUESTION_OPENED", question_id="q9", text="Eh?")], "another", "--head", "aside")
        self.give(named[9:], "another")
        made = self.compact("another")
        self.assertEqual(made["snapshot_id"], wanted[0])
        self.give([entry("once more")], "another", "--head", "aside")
        self.give([{**one, "id": f"other-{i}"} for i, one in enumerate(s.second_part())], "another")
        self.assertEqual(self.compact("another")["snapshot_id"], wanted[1])
        located = self.shown("2", "another")["provenance"]["located"]
        self.assertEqual((located["last_id"], located["last_seq"]), ("other-16", 44))

    def test_case_33_folds_agree_with_and_without_checkpoints_on_a_random_tree(self):
        chance = random.Random(33)
        entries = [*s.example(), *s.second_part(), *(one for n in range(3, 8) for one in step(n, manifests=True))]
        ids = [one["id"] for one in self.give(entries[:30], "tree")["entries"]]
        ids += [one["id"] for one in self.give(entries[30:], "tree")["entries"]]
        for branch in range(4):
            place = chance.choice(ids)
            self.weir("head", "fork", f"b{branch}", "--at", place, "--session", "tree")
            number = 100 + branch
            self.give([entry(f"branch {branch}"), claim(f"b{branch}"), s.manifest(number), *step(number)], "tree", "--head", f"b{branch}")
            self.world.run("compact", "--session", "tree", "--head", f"b{branch}")
        ask = lambda: [  # noqa: E731
            (self.due("tree", "--at", place), self.world.run("--json", "snapshot", "list", "--session", "tree", "--at", place).out) for place in ids[::3]
        ] + [self.world.run("--json", "compact", "--dry-run", "--session", "tree", "--head", f"b{branch}").out for branch in range(4)]  # fmt: skip
        before = ask()
        self.forget_checkpoints()
        self.assertEqual(ask(), before)
        for branch in range(4):
            self.weir("snapshot", "check", "last", "--session", "tree", "--head", f"b{branch}")
        self.sound()

    def test_case_34_the_full_example_byte_for_byte(self):
        self.one_snapshot()
        last = self.path(RUN)[-1]
        self.assertEqual(last["digest"], "0b5fb233a6e0c609130284c08b05679d6f194a598c524416412fabf8e230b014")
        self.assertEqual(last["body"]["narrative_max_bytes"], 32768)
        text = last["body"]["narrative"]
        self.assertEqual((len(text.encode()), s.sha256(text)), (2171, "47703c5b9c23feb7f9922433f394157b9eb051a1a5ab9abbbc0ee693b3390de8"))
        self.assertEqual(self.narrative("1", RUN), text)
        self.assertEqual(self.narrative("1", RUN, "--max-bytes", "0"), text)
        shown = self.shown("1", RUN)
        self.assertEqual((shown["snapshot_id"], s.snapshot_id(shown)), (ID, ID))
        self.assertEqual(len(b"weir.snapshot_id.v1\0" + s.canonical(s.hashed_form(shown)).encode()), 3814)
        self.assertEqual(shown["provenance"]["located"], {"first_seq": 1, "first_id": "edc024a95", "last_seq": 23, "last_id": "ec3550762"})
        self.assertEqual(shown["created_at"], last["at"])
        self.assertEqual(last["body"]["snapshot"], s.stored_form(shown))
        self.assertEqual(shown["validation"]["failure_action_taken"], "NONE")

    def test_case_34_the_smallest_snapshot(self):
        self.give([entry("hi")])
        self.compact()
        shown = self.shown()
        self.assertEqual(s.canonical(s.hashed_form(shown)), SMALLEST)
        self.assertEqual(shown["snapshot_id"], "snap1_8d432ca1272f54696a3aac4f06e5ebca")

    def test_case_34_the_printed_ids(self):
        span = lambda start, end, unit="utf8": {"unit": unit, "start": start, "end": end}  # noqa: E731
        for wanted, body in (
            ("ev1_b46110c6c3f88623a53a223716c65e9d", {"chunk_id": "c", "index_id": "i", "span": span(0, 1)}),
            ("ev1_ac5ad3aa1a3e1f0e2ac2a349f41c8d33", {"chunk_id": "c", "index_id": "i", "corpus_id": "i", "span": span(0, 2)}),
            ("ev1_a4a0273d5cb12d9e5926e233270b7e7e", {"chunk_id": "c", "corpus_id": "i", "span": span(0, 1)}),
            ("ev1_689e0bc988bb04a66ca89605c1acf3b9", {"chunk_id": "é", "index_id": "i", "span": span(3, 4, "page")}),
        ):  # fmt: skip
            self.give([event("EVIDENCE_REGISTERED", source_id="s", quote_sha256="0" * 64, quote_bytes=1, **body)])
            self.assertEqual(self.path()[-1]["body"]["evidence_id"], wanted)
        self.give([entry("hi"), event("FAILURE_RECORDED", category="retrieval", where="OBSERVE/rerank", why="no answer")])
        self.compact()
        self.assertEqual(self.shown()["state"]["failures"][0]["failure_id"], "fail1_af03964279c47b975cdaa348440da176")


class ValidatorTest(SnapshotCase):
    def setUp(self):
        super().setUp()
        self.two_snapshots()

    def verdict(self, data):
        ran = self.world.run("--json", "snapshot", "check", "-", "--session", RUN, stdin=data)
        self.assertIn(ran.code, (0, 8), ran)
        self.assertEqual(ran.err, b"", ran)
        return self.failed(harness.parse_line(ran.text), ran.code)

    def test_case_35_bytes_that_are_no_json(self):
        good = s.canonical(self.shown("2", RUN)).encode()
        for name, data in (
            ("nothing", b""), ("a word", b"snapshot"), ("cut", good[:-1]), ("two", good + good), ("invalid UTF-8", good.replace(b"gauge_7", b"gauge\xff7", 1)),
            ("a lone surrogate", good.replace(b"gauge_7", b"gauge\\ud8007", 1)), ("a duplicate key", b'{"sequence":1,' + good[1:]), ("65 levels", b"[" * 65 + b"]" * 65),
            ("65 levels inside", good.replace(b'"budgets":{"max_steps":12}', b'"budgets":{"x":' + b"[" * 65 + b"]" * 65 + b"}", 1)), ("a million levels", b"[" * 1000000), ("zeros", b"\0" * 100),
        ):  # fmt: skip
            with self.subTest(name):
                found = self.verdict(data)
                self.assertEqual(list(found), ["schema_keys_and_types"])
                self.assertTrue(found["schema_keys_and_types"].startswith("1 schema problems; first: not JSON: "), found)
        for name, data in (("null", b"null"), ("a list", b"[]"), ("a number", b"1"), ("an empty object", b"{}")):
            with self.subTest(name):
                self.assertEqual(list(self.verdict(data)), ["schema_keys_and_types"])

    def test_case_35_a_boolean_is_no_integer(self):
        for path in (("sequence",), ("schema_version",), ("counts", "steps_since_last_compaction"), ("provenance", "first_pos"), ("deltas", "sources_added"), ("state", "carry", "requests_omitted")):
            shown = self.shown("2", RUN)
            at = shown
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = True
            self.assertEqual(self.check(shown), {"schema_keys_and_types": f"1 schema problems; first: {'.'.join(path)} is boolean, expected integer"})

    def test_case_35_mutated_snapshots_always_get_a_verdict(self):
        chance = random.Random(35)
        good = self.shown("2", RUN)
        values = [None, True, False, 0, -1, 1.5, 1e300, 10**30, "", "x", "é" * 9000, [], {}, [[]], [{}], {"$blob": "sha256:" + "0" * 64}, "snap1_", "e" * 17]
        passed = 0
        for _ in range(120):
            made = copy.deepcopy(good)
            for _ in range(chance.choice([1, 1, 2, 4])):
                at = made
                while True:
                    key = chance.choice(list(at) if isinstance(at, dict) else range(len(at)))
                    if isinstance(at[key], (dict, list)) and at[key] and chance.random() < 0.8:
                        at = at[key]
                        continue
                    break
                if chance.random() < 0.3:
                    del at[key]
                else:
                    at[key] = chance.choice(values)
                if not made:
                    break
            if chance.random() < 0.5:
                text = json.dumps(made, ensure_ascii=False).encode()
            else:
                made["snapshot_id"] = s.snapshot_id({"x": 1} if any(isinstance(v, float) for v in made.values()) else made)
                text = json.dumps(made).encode()
            if chance.random() < 0.2:
                place = chance.randrange(len(text))
                text = text[:place] + bytes([chance.randrange(256)]) + text[place + 1 :]
            passed += not self.verdict(text)
        self.assertLess(passed, 20)

    def test_case_36_a_compaction_sent_with_a_snapshot_that_fails(self):
        head = self.path(RUN)[40]["id"]
        stored = s.stored_form(self.shown("2", RUN))
        self.goto(head, RUN)
        stored["state"]["claims"][0]["statement"] = "gauge_7 is fine"
        stored["snapshot_id"] = s.snapshot_id(stored)
        error = self.refused("GATE_FAILED", "append", "--session", RUN, stdin=jsonl([{"type": "compaction", "body": {"snapshot": stored}}]))
        self.assertRegex(error["message"], r"^snapshot fails \d+ checks; first: no_new_verified_claims: 1 verified claims without ledger warrant; first: c1 statement differs from the ledger$")
        self.assertEqual(self.kinds(RUN).count("compaction"), 1)

    def test_case_36_not_by_lenient_append_either(self):
        self.goto(self.path(RUN)[40]["id"], RUN)
        stored = s.stored_form(self.shown("1", RUN))
        self.refused("GATE_FAILED", "append", "--lenient", "--session", RUN, stdin=jsonl([{"type": "compaction", "body": {"snapshot": stored}}]))
        self.refused("GATE_FAILED", "append", "--session", RUN, stdin=jsonl([{"type": "compaction", "body": {"snapshot": {}}}]))

    def test_case_36_one_that_passes_is_taken(self):
        stored = s.stored_form(self.shown("2", RUN))
        self.goto(self.path(RUN)[40]["id"], RUN)
        self.give([{"type": "compaction", "body": {"snapshot": stored, "summary": "of a host"}}], RUN)
        self.assertEqual([one["snapshot_id"] for one in self.answer("snapshot", "list", "--session", RUN)["snapshots"]][1], stored["snapshot_id"])
        self.assertEqual(self.counts(RUN), (0, 0, None))
        self.assertIsNone(self.due(RUN)["bare_barrier"])

    def test_case_36_a_snapshot_of_an_unknown_session(self):
        shown = self.shown("2", RUN)
        shown["run_id"] = "nobody"
        found = self.check(shown)
        self.assertEqual(list(found), s.CHECKS[2:24])
        self.assertEqual(set(found.values()), {"not checked: session nobody not found"})

    def test_checking_needs_no_named_session(self):
        self.give([entry("another")], "another")
        self.assertEqual(self.check(self.shown("2", RUN), code=0), {})
        path = self.world.file("snapshot.json", json.dumps(self.shown("1", RUN)))
        self.weir("snapshot", "check", path)
        self.refused("NOT_FOUND", "snapshot", "check", self.world.path("nowhere.json"))


class AnswerTest(SnapshotCase):
    MEMBERS = {"status", "action", "already", "attempts", "snapshot_id", "sequence", "entry", "failed", "narrative", "run", "diagnostic", "advice"}

    def test_what_compact_answers(self):
        self.give(s.example(), RUN)
        answer = self.compact(RUN)
        self.assertEqual(set(answer), self.MEMBERS)
        narrative = answer.pop("narrative")
        self.assertEqual(s.sha256(narrative), "47703c5b9c23feb7f9922433f394157b9eb051a1a5ab9abbbc0ee693b3390de8")
        self.assertEqual(answer, {"status": "PASS", "action": "NONE", "already": False, "attempts": 1, "snapshot_id": ID, "sequence": 1, "entry": "e0b5fb233", "failed": [], "run": True, "diagnostic": None, "advice": []})
        again = self.compact(RUN)
        self.assertEqual(again, {**answer, "already": True, "narrative": narrative})

    def test_already_until_something_changes_run_state(self):
        self.one_snapshot()
        before = self.kinds(RUN)
        self.give([event("VERBOSE", x=1), {"type": "custom", "body": {"custom_type": "x", "data": 1}}], RUN)
        self.assertIs(self.compact(RUN)["already"], True)
        self.assertEqual(self.kinds(RUN), before + ["VERBOSE", "custom"])
        self.give([event("QUESTION_OPENED", question_id="q2", text="Still?")], RUN)
        answer = self.compact(RUN)
        self.assertEqual((answer["already"], answer["sequence"]), (False, 2))
        self.give([entry("and a message")], RUN)
        self.assertEqual(self.compact(RUN)["sequence"], 3)

    def test_in_a_plain_session_run_is_false(self):
        self.give([entry("hi")])
        answer = self.compact()
        self.assertEqual((answer["run"], set(answer)), (False, self.MEMBERS))

    def test_faces_case_8_a_dry_run_twice_prints_equal_bytes_and_adds_no_entry(self):
        self.give(s.example(), RUN)
        before = self.world.dump()
        for args in (("--json",), ()):
            first, second = (self.weir(*args, "compact", "--session", RUN, "--dry-run").out for _ in range(2))
            self.assertEqual(first, second)
        self.assertEqual(self.world.dump(), before)
        answer = self.dry(RUN)
        self.assertNotIn("entry", answer)
        self.assertEqual((answer["status"], answer["snapshot_id"], answer["sequence"], answer["already"]), ("PASS", ID, 1, False))
        self.assertEqual(self.compact(RUN)["snapshot_id"], ID)

    def test_faces_case_8_a_failing_check_gives_8_and_is_named(self):
        self.give([*s.with_evidence(), claim("c1"), verify("c1")])
        before = self.world.dump()
        answer = self.dry(code=8)
        self.assertEqual((answer["status"], answer["failed"]), ("FAIL", [{"name": "verified_claims_have_evidence", "message": "1 verified claims without evidence; first: c1"}]))
        ran = self.weir("compact", "--session", "s", "--dry-run", code=8)
        self.assertIn("verified_claims_have_evidence", ran.text + ran.errors)
        self.assertEqual(self.world.dump(), before)

    def test_if_due(self):
        self.give([s.loose(event_threshold=6), *steps(1, 1)])
        before = self.world.dump()
        answer = self.compact("s", "--if-due")
        self.assertNotIn("snapshot_id", answer)
        self.assertNotIn("entry", answer)
        self.assertEqual(self.world.dump(), before)
        self.give(steps(2, 2))
        self.assertEqual(self.compact("s", "--if-due")["sequence"], 1)

    def test_expect(self):
        self.give([s.loose(), *steps(1, 1)])
        last = self.path()[-1]["id"]
        self.give(steps(2, 2))
        error = self.refused("CONFLICT", "compact", "--session", "s", "--expect", last)
        self.assertEqual(error["details"]["head"], self.path()[-1]["id"])
        self.compact("s", "--expect", self.path()[-1]["id"])

    def test_first_kept_and_tokens_before_make_it_a_hosts_compaction(self):
        self.give([s.loose(), entry("hi", id="kept"), event("STEP_STARTED", step_id=1), event("PLAN_DONE", step_id=1)])
        self.refused("NOT_AT_BOUNDARY", "compact", "--session", "s")
        self.compact("s", "--first-kept", "kept", "--tokens-before", "1234")
        body = self.path()[-1]["body"]
        self.assertEqual((body["first_kept"], body["tokens_before"]), ("kept", 1234))
        shown = self.shown()
        self.assertEqual(shown["provenance"]["trigger"], "HOST_BARRIER")
        self.assertEqual(shown["validation"]["status"], "PASS")
        self.give([event("ACT_DONE", step_id=1)])
        self.compact("s", "--tokens-before", "9")
        self.assertEqual((self.path()[-1]["body"]["tokens_before"], "first_kept" in self.path()[-1]["body"]), (9, False))
        self.refused("NOT_FOUND", "compact", "--session", "s", "--first-kept", "nowhere")

    def test_reason_egress_is_the_last_one_before_the_stop(self):
        self.give([s.loose(), *steps(1, 2)])
        self.compact("s", "--reason", "egress")
        self.weir("stop", "--session", "s", "--reason", "OBJECTIVE_ACHIEVED")
        self.assertEqual(self.shown()["provenance"]["trigger"], "EGRESS")
        self.weir("snapshot", "check", "1", "--session", "s")
        self.refused("USAGE", "compact", "--session", "s", "--reason", "boredom")

    def test_case_45_inside_a_step(self):
        self.give([s.loose(), event("STEP_STARTED", step_id=7), event("PLAN_DONE", step_id=7)])
        place = self.pointer(self.path()[1])
        error = self.refused("NOT_AT_BOUNDARY", "compact", "--session", "s")
        self.assertEqual(error["message"], f"step 7 is open since {place}: compact after OBSERVE_DONE or STEP_ABORTED")
        self.refused("NOT_AT_BOUNDARY", "compact", "--session", "s", "--dry-run")
        self.give([event("STEP_ABORTED", step_id=7, reason="x")])
        self.assertEqual(self.compact()["sequence"], 1)

    def test_case_45_nothing_to_compact(self):
        self.weir("session", "new", "empty")
        named, made = entry("by a name"), entry("by a machine")
        named["body"]["name"] = "bash"
        made["body"]["extra"] = {"synthetic": True}
        self.give([entry("system only", "system"), entry("an answer", "assistant"), entry(" \n\t\r"), named, made], "silent")
        for session in ("empty", "silent"):
            with self.subTest(session):
                error = self.refused("NOTHING_TO_COMPACT", "compact", "--session", session)
                self.assertEqual(error["message"], "no RUN_STARTED and no user message on the path")

    def test_case_55_two_branches_each_get_sequence_2(self):
        self.one_snapshot()
        first = self.shown("1", RUN)["snapshot_id"]
        barrier = self.path(RUN)[-1]["id"]
        self.weir("head", "fork", "b", "--at", barrier, "--session", RUN)
        self.give([s.manifest(2), *step(2)], RUN)
        self.give([s.manifest(3), *step(3)], RUN, "--head", "b")
        one, two = self.compact(RUN), self.compact(RUN, "--head", "b")
        self.assertEqual((one["sequence"], two["sequence"]), (2, 2))
        self.assertNotEqual(one["snapshot_id"], two["snapshot_id"])
        for head in ("main", "b"):
            self.assertEqual(self.shown("2", RUN, "--head", head)["previous_snapshot_id"], first)
            self.weir("snapshot", "check", "2", "--session", RUN, "--head", head)
        self.sound()

    def test_case_55_a_head_before_the_first_barrier_gets_sequence_1_again(self):
        self.two_snapshots()
        self.goto(self.path(RUN)[22]["id"], RUN)
        self.give([entry("another way")], RUN)
        answer = self.compact(RUN)
        self.assertEqual((answer["sequence"], answer["already"]), (1, False))
        self.assertIsNone(self.shown("1", RUN)["previous_snapshot_id"])
        self.sound()

    def test_list_and_show_by_number_id_and_entry(self):
        self.two_snapshots()
        rows = self.answer("snapshot", "list", "--session", RUN)["snapshots"]
        self.assertEqual([row["sequence"] for row in rows], [1, 2])
        for row in rows:
            wanted = self.shown(str(row["sequence"]), RUN)
            for which in (row["snapshot_id"], row["entry"], row["pointer"]):
                self.assertEqual(self.shown(which, RUN), wanted)
        self.refused("NOT_FOUND", "snapshot", "show", "3", "--session", RUN)
        self.refused("NOT_FOUND", "snapshot", "show", "1", "--session", "nobody")
        self.assertEqual(self.shown("1", RUN, "--at", rows[0]["entry"])["sequence"], 1)
        self.refused("NOT_FOUND", "snapshot", "show", "2", "--session", RUN, "--at", rows[0]["entry"])

    def test_advice_names_a_quote_cited_twice(self):
        self.give([*s.with_evidence(), claim("c1"), attach("c1", E1), claim("c4"), attach("c4", E1), claim("c5"), attach("c5", E2)])
        answer = self.compact()
        self.assertEqual(answer["advice"], [f"quote {s.sha256('alpha')[:4]}.. is cited under 2 claims: c1, c4"])

    def test_an_entry_pointer_is_taken_where_an_id_is(self):
        self.one_snapshot()
        for one in self.path(RUN)[::5]:
            self.assertEqual(self.answer("show", self.pointer(one), "--session", RUN)["id"], one["id"])
        self.assertIs(self.due(RUN, "--at", self.pointer(self.path(RUN)[22]))["due"], True)

    def test_compile_and_run_state_go_together(self):
        """After a compaction the next prompt starts from its narrative, and says which snapshot that is."""
        self.one_snapshot()
        self.give([entry("Go on.")], RUN)
        narrative = self.narrative("1", RUN)
        answer = self.answer("context", "--session", RUN, "--format", "plain")
        self.assertIn("Rendered from `" + ID, compact_json(answer["messages"]))
        self.assertIn(narrative.split("\n")[6], compact_json(answer["messages"]).replace("\\\\", "\\"))
        made = [one for one in self.path(RUN) if one["type"] == "CONTEXT_MANIFEST_WRITTEN"][-1]["body"]["manifest"]
        self.assertEqual(made["snapshot_id"], ID)
        compiled = self.answer("compile", "--session", RUN)
        self.assertEqual(compiled["kind"], "ctree_compiler")
        self.goto(self.path(RUN)[22]["id"], RUN)
        self.assertNotIn("Rendered from", compact_json(self.answer("context", "--session", RUN, "--format", "plain", "--dry-run")["messages"]))

    def test_a_session_that_is_not_there_is_not_made(self):
        self.give([entry("hi")])
        for args in (("compact",), ("compact", "--dry-run"), ("due",), ("snapshot", "list"), ("snapshot", "show", "1"), ("snapshot", "narrative", "1"), ("snapshot", "attach")):
            with self.subTest(args):
                self.refused("NOT_FOUND", *args, "--session", "nobody")
        self.refused("NOT_FOUND", "compact", "--session", "s", "--head", "nowhere")
        self.refused("NOT_FOUND", "snapshot", "check", "9", "--session", "s")
        self.refused("USAGE", "snapshot", "narrative", "1", "--max-bytes", "few", "--session", "s")
        self.refused("USAGE", "compact", "--tokens-before", "-1", "--session", "s")

    def test_a_snapshot_of_another_branch_is_checked_where_it_was_cut(self):
        self.two_snapshots()
        shown = self.shown("2", RUN)
        self.goto(self.path(RUN)[5]["id"], RUN)
        self.give([entry("elsewhere")], RUN)
        self.assertEqual(self.check(shown, code=0), {})

    def test_sending_the_same_entries_again_changes_nothing(self):
        named = [{**one, "id": f"n{i}"} for i, one in enumerate([entry("hi"), s.run_started(), *s.with_evidence()[1:4], s.evidence("s1#1", corpus_id="x"), claim("c1"), attach("c1", s.evidence_id("s1#1", 0, 5, "x", "corpus")), verify("c1"), *step(1, manifests=True)])]
        first = self.give(named)
        before = self.world.dump()
        again = self.give(named)
        self.assertEqual([one["id"] for one in again["entries"]], [one["id"] for one in first["entries"]])
        self.assertEqual(self.world.dump(), before)
        # Also when they would not be legal any more.
        self.compact()
        self.weir("stop", "--session", "s")
        entries = self.path()
        self.give(named)
        self.assertEqual([one for one in self.path() if one not in entries], [])

    def test_what_is_legal_depends_on_the_parent(self):
        self.give([s.loose(), entry("fork here", id="fork"), claim("c1", "only on main")])
        self.refused("ILLEGAL_TRANSITION", "append", "--session", "s", "--parent", "fork", "--type", "CLAIM_VERIFIED", stdin='{"claim_id":"c1"}')
        self.weir("head", "fork", "b", "--at", "fork", "--session", "s")
        self.give([claim("c1", "another on b")], "s", "--head", "b")
        self.assertEqual(self.not_taken("ILLEGAL_TRANSITION", claim("c1"), "s", "--head", "b"), "CLAIM_PROPOSED repeats claim c1")
        self.compact("s", "--head", "b")
        self.compact("s")
        self.assertEqual(self.shown("1", "s", "--head", "b")["state"]["claims"][0]["statement"], "another on b")
        self.assertEqual(self.shown("1", "s")["state"]["claims"][0]["statement"], "only on main")

    def test_branches_within_one_batch(self):
        self.give([s.loose(), {**entry("fork"), "id": "f"}, {**claim("c1"), "id": "a1"}, {**claim("c1", "other"), "id": "b1", "parent": "f"}, {**claim("c2"), "id": "b2"}])
        self.assertEqual([one["id"] for one in self.path()[1:]], ["f", "b1", "b2"])
        self.compact()
        self.assertEqual([(one["claim_id"], one["statement"]) for one in self.shown()["state"]["claims"]], [("c1", "other"), ("c2", "statement of c2")])
        self.not_taken("ILLEGAL_TRANSITION", [{**claim("c3"), "id": "d1", "parent": "a1"}, {**verify("c2"), "id": "d2"}])

    def test_an_attached_snapshot_sent_by_hand_is_validated(self):
        self.give([s.loose(), *steps(1, 2), {"type": "compaction", "body": {"summary": "x"}}])
        self.answer("snapshot", "attach", "--session", "s")
        body = self.path()[-1]["body"]
        barrier = self.path()[-2]
        self.goto(barrier["id"])
        bad = copy.deepcopy(body)
        bad["snapshot"]["objective"] = "Another"
        bad["snapshot"]["snapshot_id"] = s.snapshot_id(bad["snapshot"])
        self.not_taken("GATE_FAILED", {"type": "SNAPSHOT_ATTACHED", "body": bad})
        ran = self.world.run("--json", "append", "--session", "s", stdin=jsonl([{"type": "SNAPSHOT_ATTACHED", "body": {**body, "target": "e" + "0" * 16}}]))
        self.assertEqual(ran.code, 6, ran)
        self.give([{"type": "SNAPSHOT_ATTACHED", "body": body}])
        self.assertIsNone(self.due()["bare_barrier"])
        self.sound()

    def test_a_snapshot_that_claims_to_lie_in_a_blob_nobody_has(self):
        self.give([entry("hi")])
        held = {"$blob": "sha256:" + "0" * 64, "bytes": 300000, "last_pos": 1, "sequence": 1, "snapshot_id": "snap1_" + "0" * 32}
        ran = self.world.run("--json", "append", "--session", "s", stdin=jsonl([{"type": "compaction", "body": {"snapshot": held}}]))
        self.assertIn(ran.code, (4, 6, 8, 9), ran)
        self.assertEqual(self.kinds(), ["message"])

    def test_people_see_words(self):
        self.two_snapshots()
        self.assertIn("PASS  snapshot 2", self.weir("compact", "--session", RUN).text)
        self.assertEqual(len(self.weir("snapshot", "check", "2", "--session", RUN).lines), 26)
        self.assertEqual(len(self.weir("snapshot", "list", "--session", RUN).lines), 2)
        self.assertEqual(json.loads(self.weir("snapshot", "show", "2", "--session", RUN).text), self.shown("2", RUN))
        self.assertTrue(self.weir("due", "--session", RUN, code=1).text.startswith("not due\n"))


if __name__ == "__main__":
    s.main()
