"""Random notes: whatever was taken, in whatever order, never stands in the way of the next compaction."""

import collections
import random
import statistics
import time

import server
from harness import jsonl
from server import HttpTest

TEXTS = ["", " ", "why", "two\nlines", "## 3. Verified claims (1)", "x" * 16384, "\u2028"]
CHUNKS = ["log#1", "log#2", "log#3", "gone", "nowhere"]

# kind, op, and what a note of it may say
SHAPES = [
    ("claim", "add", "text"), ("claim", "verify", "claim evidence_refs"), ("claim", "downgrade", "claim text"), ("evidence", "add", "span"), ("evidence", "add", "span quote"),
    ("evidence", "attach", "evidence claim_refs"), ("evidence", "detach", "evidence claim_refs"), ("conflict", "add", "text evidence_refs other"), ("conflict", "resolve", "conflict text"),
    ("question", "add", "text"), ("question", "close", "question text"), ("failure", "add", "text category where"), ("next", "add", "text_refs"),
]  # fmt: skip
FINAL = [("claim", "retract", "claim text"), ("evidence", "withdraw", "evidence text")]


class Notes:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.evidence = ["ev1_" + "0" * 32]

    def note(self):
        chance = self.chance
        kind, op, fields = chance.choice(FINAL if chance.random() < 0.03 else SHAPES)
        makers = {
            "claim": ("id", lambda: chance.choice(["c1", "c2", "c3"])), "conflict": ("id", lambda: chance.choice(["k1", "k2"])), "question": ("id", lambda: chance.choice(["q1", "q2"])),
            "evidence": ("id", lambda: chance.choice(self.evidence)), "evidence_refs": ("refs", self.some), "other": ("other", self.some),
            "claim_refs": ("refs", lambda: [chance.choice(["c1", "c2", "c3"])]), "text_refs": ("refs", lambda: chance.sample(TEXTS[:5], chance.randrange(1, 4))), "quote": ("text", lambda: "quoted"),
            "span": ("span", lambda: {"chunk": chance.choice(CHUNKS), "start": chance.randrange(6), "end": chance.randrange(1, 12)}),
        }  # fmt: skip
        out = {"kind": kind, "op": op}
        for field in fields.split():
            name, make = makers.get(field, (field, lambda: chance.choice(TEXTS)))
            out[name] = make()
        return out

    def some(self):
        return [self.chance.choice(self.evidence) for _ in range(self.chance.randrange(3))]


class NotesPropertyTest(HttpTest):
    def begin(self, session, mode):
        run = {"objective": "o", "done_definition": "d", "provenance_mode": mode, "namespace": {"index_id": "river"}, "config": {"require_manifests": False}}
        chunks = [("log#1", 0, 18, True), ("log#2", 8, 31, True), ("log#3", 18, 31, False)]
        entries = [{"type": "RUN_STARTED", "body": run}] if mode else []
        entries += [{"type": "message", "body": {"role": "user", "content": "go"}}]
        entries += [{"type": "SOURCE_REGISTERED", "body": {"source_id": "log", "title": "Log", "corpus_id": "x", "text": "Gauge 7 reads high on dry days."}}]
        entries += [
            {"type": "CHUNK_REGISTERED", "body": {"chunk_id": name, "source_id": "log", "span": {"unit": "utf8", "start": start, "end": end}, "delivered": delivered}}
            for name, start, end, delivered in chunks
        ]  # fmt: skip
        gone = {"chunk_id": "gone", "source_id": "log", "span": {"unit": "page", "start": 1, "end": 2}, "sha256": "a" * 64, "bytes": 9, "delivered": True}
        self.weir("append", "--session", session, stdin=jsonl([*entries, {"type": "CHUNK_REGISTERED", "body": gone}]))

    def test_no_note_that_is_taken_makes_a_compaction_fail(self):
        modes = {"checked": "quotes_checked", "audit": "audit_only", "plain": None}
        for session, mode in modes.items():
            self.begin(session, mode)
        self.serve()
        taken, refused = collections.Counter(), collections.Counter()
        for seed, session in enumerate(modes):
            notes = Notes(seed)
            for _ in range(300):
                note = notes.note()
                answer = self.ask("POST", f"/v1/sessions/{session}/notes", note)
                if answer.status != 201:
                    if answer.json["detail"].startswith("not noted"):
                        self.assertTrue(answer.json["details"]["help"], answer)
                        refused[answer.json["details"]["help"][:20]] += 1
                    continue
                taken[note["kind"], note["op"]] += 1
                if note["kind"] == "evidence" and note["op"] == "add":
                    notes.evidence.append(answer.json["id"])
                dry = self.ask("POST", f"/v1/sessions/{session}/compact", {"dry_run": True}, status=200)
                self.assertEqual(dry.json["status"], "PASS", f"{note}\n{dry}")
                if notes.chance.random() < 0.03:
                    self.assertLess(self.ask("POST", f"/v1/sessions/{session}/compact", {}).status, 300)
        self.assertEqual({(kind, op) for kind, op, _ in SHAPES + FINAL} - set(taken), set())
        self.assertEqual(len(refused), 4, refused)  # for each of the checks that a note could break

    def test_a_claim_costs_as_much_in_a_long_run_as_in_a_short_one(self):
        took = {}
        for session, claims in (("short", 1), ("long", 3000)):
            self.begin(session, "audit_only")
            self.weir("append", "--session", session, stdin=jsonl([{"type": "CLAIM_PROPOSED", "body": {"claim_id": f"a{i}", "statement": "y" * 100}} for i in range(claims)]))
        self.serve()
        for session in ("short", "long"):
            times = []
            for i in range(30):
                begun = time.monotonic()
                self.ask("POST", f"/v1/sessions/{session}/notes", {"kind": "claim", "op": "add", "id": f"b{i}", "text": f"why {i}"}, status=201)
                times.append(time.monotonic() - begun)
            took[session] = statistics.median(times)
        self.assertLess(took["long"], 4 * took["short"] + 0.01, took)


if __name__ == "__main__":
    server.main()
