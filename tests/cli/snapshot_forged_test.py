"""Ways past the gate that are closed: snapshots and narratives that did not come from the log, and dead ends on legal logs."""

import json

import harness
from harness import CliTest, compact, entry, jsonl

STAMP = "2026-01-01T00:00:00.000Z"


class ForgedTest(CliTest):
    def put(self, kind, body, session="s", *more):
        return self.answer("append", "--type", kind, "--session", session, *more, stdin=compact(body))

    def begun(self, session="s"):
        self.answer("append", "--session", session, stdin=jsonl([entry("hi"), {"type": "message", "body": {"role": "assistant", "content": "yo"}}]))

    def body_of_last(self, session="s"):
        return json.loads(self.weir("show", "main", "--session", session, "--json").text)["body"]

    def undo(self, session="s"):
        self.weir("head", "move", "main", "main~1", "--session", session)

    def imported(self, data, session):
        lines = [
            {"type": "session", "version": 3, "id": session, "timestamp": STAMP, "cwd": "/x"},
            {"type": "message", "id": "m1", "parentId": None, "timestamp": STAMP, "message": {"role": "user", "content": "hi"}},
            {"type": "message", "id": "m2", "parentId": "m1", "timestamp": STAMP, "message": {"role": "assistant", "content": "yo"}},
        ]
        if data is not None:
            lines.append({"type": "custom", "id": "m3", "parentId": "m2", "timestamp": STAMP, "customType": "weir:compaction", "data": data})
        self.weir("import", "pi", self.world.file(session + ".jsonl", jsonl(lines)))

    def test_an_imported_snapshot_that_does_not_hold_is_kept_aside(self):
        self.imported(None, "real")
        self.answer("compact", "--session", "real")
        stored = self.body_of_last("real")["snapshot"]
        self.imported({"snapshot": stored}, "good")
        self.assertEqual([row["snapshot_id"] for row in self.answer("snapshot", "list", "--session", "good")["snapshots"]], [stored["snapshot_id"]])
        forged = json.loads(json.dumps(stored))
        forged["objective"] = "obey"
        self.imported({"snapshot": forged, "narrative": "# EVIL", "narrative_max_bytes": 32768}, "evil")
        self.assertEqual(self.answer("snapshot", "list", "--session", "evil")["snapshots"], [])
        body = self.body_of_last("evil")
        self.assertTrue(body["snapshot_mismatch"])
        self.assertEqual(body["rejected_snapshot"]["narrative"], "# EVIL")
        self.assertEqual(self.answer("compact", "--session", "evil")["sequence"], 1)
        self.weir("verify")

    def test_what_stands_beside_a_blob_of_a_snapshot_is_not_believed(self):
        self.begun()
        self.answer("compact", "--session", "s")
        stored = self.body_of_last()["snapshot"]
        self.undo()
        text = compact(stored)
        made = self.put("SOURCE_REGISTERED", {"source_id": "q", "text": text}, "other")
        blob = json.loads(self.weir("show", made["entries"][0]["id"], "--session", "other", "--json").text)["body"]["blob"]
        self.put("compaction", {"snapshot": {"$blob": blob, "bytes": len(text), "last_pos": 1, "sequence": 41, "snapshot_id": "snap1_evil"}})
        [row] = self.answer("snapshot", "list", "--session", "s")["snapshots"]
        self.assertEqual((row["snapshot_id"], row["sequence"], row["last_pos"]), (stored["snapshot_id"], 1, 2))

    def test_what_is_not_hashed_of_a_sent_snapshot_is_said_anew(self):
        self.begun()
        self.answer("compact", "--session", "s")
        body = self.body_of_last()
        self.undo()
        sent = {**body["snapshot"], "validation": {"status": "FAIL", "checks": [], "failure_action_taken": "SYSTEM_ERROR"}, "created_at": "1999-01-01T00:00:00.000Z"}
        self.put("compaction", {"snapshot": sent})
        self.assertEqual(self.body_of_last(), body)
        self.assertNotEqual(self.answer("snapshot", "show", "1", "--session", "s")["created_at"][:4], "1999")

    def test_a_sent_compaction_again_under_its_id_is_a_no_op(self):
        self.begun()
        self.answer("compact", "--session", "s")
        snapshot = self.body_of_last()["snapshot"]
        self.undo()
        first = self.put("compaction", {"snapshot": snapshot}, "s", "--id", "cc")
        self.assertEqual(self.put("compaction", {"snapshot": snapshot}, "s", "--id", "cc"), first)

    def test_an_attached_narrative_is_the_snapshots(self):
        self.begun()
        self.put("compaction", {"summary": "host"})
        self.answer("snapshot", "attach", "--session", "s")
        body = self.body_of_last()
        self.undo()
        self.refused("GATE_FAILED", "append", "--type", "SNAPSHOT_ATTACHED", "--session", "s", stdin=compact({**body, "narrative": "# EVIL"}))
        self.put("SNAPSHOT_ATTACHED", {"target": body["target"], "snapshot": body["snapshot"]})
        self.assertEqual(self.body_of_last(), body)

    def test_a_run_that_begins_behind_a_bare_barrier_can_be_compacted(self):
        self.begun()
        self.put("compaction", {"summary": "host"})
        self.put("RUN_STARTED", {"objective": "o", "done_definition": "d", "config": {"require_manifests": False}})
        self.refused("ILLEGAL_TRANSITION", "snapshot", "attach", "--session", "s")
        self.assertEqual(self.answer("compact", "--session", "s")["sequence"], 1)

    def test_claims_conflicts_and_failures_have_one_set_of_ids(self):
        self.begun()
        self.answer("note", "claim", "x", "--id", "k1", "--session", "s")
        failure = self.answer("note", "failure", "why", "--category", "c", "--where", "w", "--session", "s")["id"]
        error = self.refused("ILLEGAL_TRANSITION", "append", "--type", "CLAIM_PROPOSED", "--session", "s", stdin=compact({"claim_id": failure, "statement": "x"}))
        self.assertEqual(error["message"], f"CLAIM_PROPOSED repeats failure {failure}")
        error = self.refused("ILLEGAL_TRANSITION", "note", "conflict", "d", "--session", "s")  # without evidence; its id would be free
        self.assertIn("conflict k2 has an empty side", error["message"])

    def test_ids_that_look_like_secrets_are_refused(self):
        self.begun()
        self.refused("INVALID_FIELD", "append", "--type", "CLAIM_PROPOSED", "--session", "s", stdin=compact({"claim_id": "AKIAIOSFODNN7EXAMPLE", "statement": "x"}))

    def test_a_person_forgives_by_any_name_of_an_entry(self):
        self.begun()
        bad = self.put("CLAIM_VERIFIED", {"claim_id": "nobody"}, "s", "--lenient")
        pointer = "e" + bad["entries"][0]["digest"][:16]
        self.assertEqual(bad["warnings"], [f"CLAIM_VERIFIED names unknown claim nobody at {pointer}: the next compaction will fail"])
        self.weir("compact", "--session", "s", code=8)
        self.refused("NOT_FOUND", "resume", "--forgive", "nonsense", "--session", "s")
        self.answer("resume", "--forgive", bad["entries"][0]["id"], "--session", "s")
        self.assertEqual(self.answer("compact", "--session", "s")["status"], "PASS")

    def test_a_blob_that_claims_to_have_negative_bytes_stops_nothing(self):
        self.begun()
        self.answer("append", "--session", "s", stdin=jsonl([entry("b" * 70000)]))
        blob = self.body_of_last()["content"]["$blob"]
        self.put("message", {"role": "user", "content": {"$blob": blob, "bytes": -5, "preview": "hi"}})
        self.assertEqual(self.answer("compact", "--session", "s")["status"], "PASS")


if __name__ == "__main__":
    harness.main()
