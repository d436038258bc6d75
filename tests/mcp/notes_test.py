"""The tool `note`: each kind and operation is one run event, and the same one the command line writes."""

import threading

import client
from client import OLDEST, Http, McpTest, entry

import snapshot_case as run  # noqa: E402, of the command line tests


class NotesTest(McpTest):
    def setUp(self):
        super().setUp()
        self.events([run.loose(), entry("go"), run.source(corpus_id="lib"), run.chunk("s1#1", end=10, delivered=True), run.chunk("s1#2", start=11, end=22, delivered=True)])
        self.peer = self.mcp("--session", "s")
        self.begun = len(self.log())

    def note(self, type, named=None, /, **arguments):
        """Writes a note; it is the entry at the head, of this type. Answers the body."""
        answer = self.peer.data("note", **arguments)
        self.assertEqual(answer["type"], type)
        if named is not None:
            self.assertEqual(answer["id"], named)
        last = self.log()[0]
        self.assertEqual((answer["entry"], type), (last["id"], last["type"]))
        self.last = answer
        return last["body"]

    def added(self):
        """Types since the last question."""
        types = self.path_types()[self.begun :]
        self.begun += len(types)
        return types

    def evidence(self, chunk="s1#1", start=0, end=5, text="alpha", **more):
        return self.note("EVIDENCE_REGISTERED", kind="evidence", span={"chunk": chunk, "start": start, "end": end}, text=text, **more)["evidence_id"]

    def test_claims(self):
        self.assertEqual(self.note("CLAIM_PROPOSED", "c1", kind="claim", text="it holds"), {"claim_id": "c1", "statement": "it holds"})
        self.assertEqual(self.note("CLAIM_PROPOSED", "c2", kind="claim", op="add", text="that too")["claim_id"], "c2")
        self.assertEqual(self.note("CLAIM_PROPOSED", "mine", kind="claim", id="mine", text="mine")["claim_id"], "mine")
        self.assertEqual(self.note("CLAIM_PROPOSED", "c3", kind="claim", text="third")["claim_id"], "c3")
        first, second = self.evidence(), self.evidence("s1#2", 0, 5, "gamma")
        self.added()
        self.assertEqual(self.note("CLAIM_VERIFIED", "c1", kind="claim", op="verify", id="c1", refs=[first, second])["claim_id"], "c1")
        self.assertEqual(self.added(), ["EVIDENCE_ATTACHED", "EVIDENCE_ATTACHED", "CLAIM_VERIFIED"])
        self.assertEqual(self.note("CLAIM_DOWNGRADED", "c1", kind="claim", op="downgrade", id="c1", text="not sure"), {"claim_id": "c1", "reason": "not sure"})
        self.assertEqual(self.note("CLAIM_RETRACTED", "c1", kind="claim", op="retract", id="c1", text="wrong"), {"claim_id": "c1", "reason": "wrong"})
        error = self.peer.failed("note", "ILLEGAL_TRANSITION", kind="claim", op="verify", id="c1")
        self.assertIn("retracted claim c1", error["message"])

    def test_a_claim_is_not_verified_without_evidence(self):
        self.note("CLAIM_PROPOSED", "c1", kind="claim", text="x")
        error = self.peer.failed("note", "ILLEGAL_TRANSITION", kind="claim", op="verify", id="c1")
        self.assertIn("claim c1 is verified without evidence", error["message"])
        self.assertIn("weir note claim verify CLAIM EVIDENCE", error["details"]["help"])

    def test_evidence(self):
        self.note("CLAIM_PROPOSED", "c1", kind="claim", text="x")
        id = self.evidence()
        self.assertEqual(id, run.evidence_id("s1#1", 0, 5, "lib", "corpus"))
        self.assertEqual(self.last["id"], id)
        self.assertEqual(self.note("EVIDENCE_ATTACHED", kind="evidence", op="attach", id=id, refs=["c1"]), {"claim_id": "c1", "evidence_id": id})
        self.assertEqual(self.note("EVIDENCE_DETACHED", kind="evidence", op="detach", id=id, refs=["c1"]), {"claim_id": "c1", "evidence_id": id})
        self.assertEqual(self.note("EVIDENCE_WITHDRAWN", kind="evidence", op="withdraw", id=id, text="misread"), {"evidence_id": id, "reason": "misread"})
        self.peer.failed("note", "QUOTE_MISMATCH", kind="evidence", span={"chunk": "s1#2", "start": 0, "end": 5}, text="other")

    def test_evidence_attached_to_several_claims(self):
        for id in ("c1", "c2"):
            self.note("CLAIM_PROPOSED", id, kind="claim", text=id)
        id = self.evidence()
        self.added()
        self.note("EVIDENCE_ATTACHED", kind="evidence", op="attach", id=id, refs=["c1", "c2"])
        self.assertEqual(self.added(), ["EVIDENCE_ATTACHED", "EVIDENCE_ATTACHED"])

    def test_conflicts(self):
        first, second = self.evidence(), self.evidence("s1#2", 0, 5, "gamma")
        body = self.note("CONFLICT_RECORDED", "k1", kind="conflict", text="which?", refs=[first], other=[second])
        self.assertEqual(body, {"conflict_id": "k1", "description": "which?", "side_a": [first], "side_b": [second]})
        self.assertEqual(self.note("CONFLICT_RECORDED", "k2", kind="conflict", text="again?", refs=[first], other=[second])["conflict_id"], "k2")
        self.assertEqual(self.note("CONFLICT_RESOLVED", "k1", kind="conflict", op="resolve", id="k1", text="the first"), {"conflict_id": "k1", "resolution": "the first"})

    def test_questions(self):
        self.assertEqual(self.note("QUESTION_OPENED", "q1", kind="question", text="why?"), {"question_id": "q1", "text": "why?"})
        self.assertEqual(self.note("QUESTION_OPENED", "q2", kind="question", text="how?")["question_id"], "q2")
        self.assertEqual(self.note("QUESTION_CLOSED", "q1", kind="question", op="close", id="q1", text="asked"), {"question_id": "q1", "reason": "asked"})

    def test_failures(self):
        body = self.note("FAILURE_RECORDED", run.failure_id("retrieval", "OBSERVE/rerank"), kind="failure", category="retrieval", where="OBSERVE/rerank", text="timed out")
        self.assertEqual((body["category"], body["where"], body["why"]), ("retrieval", "OBSERVE/rerank", "timed out"))
        id = self.last["id"]
        self.assertEqual(self.note("FAILURE_RESOLVED", id, kind="failure", op="resolve", id=id)["failure_id"], id)

    def test_next_actions(self):
        self.assertEqual(self.note("NEXT_ACTIONS_SET", "next", kind="next", refs=["one", "two", "three"]), {"actions": ["one", "two", "three"]})
        self.assertEqual(self.note("NEXT_ACTIONS_SET", "next", kind="next", refs=["only"])["actions"], ["only"])
        for refs in ([], ["a", "b", "c", "d"]):
            self.peer.failed("note", "INVALID_FIELD", kind="next", refs=refs)

    def test_operations_of_other_kinds_are_refused(self):
        allowed = {
            "claim": "add verify downgrade retract", "evidence": "add attach detach withdraw", "conflict": "add resolve", "question": "add close",
            "failure": "add resolve", "next": "add",
        }  # fmt: skip
        before = self.world.dump()
        for kind, ops in allowed.items():
            for op in "add verify downgrade retract attach detach withdraw resolve close".split():
                if op not in ops.split():
                    with self.subTest(kind=kind, op=op):
                        error = self.peer.failed("note", "INVALID_FIELD", kind=kind, op=op, id="x", text="x", refs=["x"])
                        self.assertIn("/op", [e["path"] for e in error["details"]["errors"]])
        self.assertEqual(self.world.dump(), before)

    def test_what_is_missing_is_named(self):
        for arguments, path in [
            ({"kind": "claim"}, "/text"), ({"kind": "claim", "op": "verify"}, "/id"), ({"kind": "evidence"}, "/span"), ({"kind": "question"}, "/text"),
            ({"kind": "failure", "text": "x", "where": "y"}, "/category"), ({"kind": "failure", "text": "x", "category": "y"}, "/where"),
            ({"kind": "question", "op": "close"}, "/id"), ({"kind": "evidence", "op": "attach", "refs": ["c1"]}, "/id"),
        ]:  # fmt: skip
            with self.subTest(arguments=arguments):
                error = self.peer.failed("note", "INVALID_FIELD", **arguments)
                paths = [e["path"] for e in error["details"]["errors"]]
                self.assertTrue(any(p == path or p.startswith("/body") for p in paths), paths)

    def test_the_same_entries_as_on_the_command_line(self):
        self.weir("session", "new", "cli")
        peer = self.mcp("--session", "tool")
        self.weir("session", "new", "tool")
        for words, arguments in [
            (["claim", "it holds"], {"kind": "claim", "text": "it holds"}), (["claim", "retract", "c1", "no"], {"kind": "claim", "op": "retract", "id": "c1", "text": "no"}),
            (["question", "why?"], {"kind": "question", "text": "why?"}),
            (["question", "close", "q1", "asked"], {"kind": "question", "op": "close", "id": "q1", "text": "asked"}), (["next", "a", "b"], {"kind": "next", "refs": ["a", "b"]}),
            (["failure", "--category", "x", "--where", "y", "--text", "z"], {"kind": "failure", "category": "x", "where": "y", "text": "z"}),
        ]:  # fmt: skip
            wanted, got = self.answer("note", *words, "--session", "cli"), peer.data("note", **arguments)
            self.assertEqual(got, wanted)  # entry ids are made of digests, so they are equal too

    def test_due_is_told(self):
        self.events(run.steps(1, 6))
        self.assertIs(self.peer.data("note", kind="question", text="x")["due"], True)

    def test_over_each_transport_and_era(self):
        served = self.serve()
        for i, peer in enumerate((self.legacy(OLDEST), Http(served), Http(served, client.JUNE))):
            answer = peer.data("note", kind="claim", text="x", session="s", id=f"peer{i}")
            self.assertEqual((answer["type"], answer["id"], answer["due"]), ("CLAIM_PROPOSED", f"peer{i}", False))

    def test_notes_survive_a_compaction(self):
        self.note("QUESTION_OPENED", "q1", kind="question", text="does it survive?")
        self.note("NEXT_ACTIONS_SET", "next", kind="next", refs=["look again"])
        narrative = self.peer.data("compact")["narrative"]
        self.assertIn("does it survive?", narrative)
        self.assertIn("look again", narrative)


class ManyNotesTest(McpTest):
    def test_notes_without_an_id_that_come_at_once_each_get_one(self):
        served = self.serve()
        for session in ("fresh", "s"):
            if session == "s":
                self.append("x")
            got = []

            def note(i, session=session, got=got):
                got.append(Http(served).data("note", kind="claim", text=f"n{i}", session=session)["id"])

            threads = [threading.Thread(target=note, args=(i,)) for i in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(got, key=lambda id: int(id[1:])), [f"c{i}" for i in range(1, 21)])

    def test_what_is_wrong_with_a_note_is_told_by_the_notes_own_fields(self):
        peer = self.mcp("--session", "s")
        self.append("x")
        for arguments, paths in (
            ({"kind": "claim"}, ["/text"]), ({"kind": "next", "refs": ["a", "b", "c", "d"]}, ["/refs"]), ({"kind": "failure", "category": "x", "where": "y"}, ["/text"]),
            ({"kind": "question", "op": "verify", "category": "x", "where": "y"}, ["/category", "/op", "/where"]),
        ):  # fmt: skip
            with self.subTest(arguments=arguments):
                error = peer.failed("note", "INVALID_FIELD", **arguments)
                self.assertEqual(sorted(one["path"] for one in error["details"]["errors"]), paths)


if __name__ == "__main__":
    client.main()
