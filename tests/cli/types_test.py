"""Types of entries as names: a wrong one is an error that says the nearest, and one that reads like a stream's own line is none."""

import harness
from harness import CliTest, compact, entry, jsonl

TOKEN = "gh" + "p_" + "aB3dE5fG7h" * 3 + "aB3dE5"  # joined, so that no file holds one


class TypesTest(CliTest):
    def setUp(self):
        super().setUp()
        self.answer("append", "--session", "s", stdin=jsonl([entry("hello", id="m1"), {"type": "deploy_started", "body": {}, "id": "d1"}]))

    def test_a_type_nobody_knows_is_an_error_with_the_nearest_name(self):
        for args in (["log"], ["log", "--follow"], ["history", "hello"]):
            for wrong, near in (("mesage", "message"), ("MESSAGE", "message"), ("deploy_startd", "deploy_started"), ("claim_verified", "CLAIM_VERIFIED"), ("compactoin", "compaction")):
                error = self.refused("INVALID_FIELD", *args, "--session", "s", "--type", wrong)
                self.assertIn(f"did you mean {near}?", error["message"])
                self.assertEqual([one["path"] for one in error["details"]["errors"]], ["/type"])
        self.assertNotIn("did you mean", self.refused("INVALID_FIELD", "log", "--session", "s", "--type", "qqqqqqqqqqqq")["message"])
        self.refused("INVALID_FIELD", "log", "--session", "s", "--type", "message", "--type", "mesage")

    def test_a_wrong_value_of_a_closed_list_is_refused_with_the_nearest(self):
        for args, near in (
            (["context", "--session", "s", "--format", "antropic"], "anthropic"), (["compile", "--session", "s", "--stage", "raw"], "RAW"),
            (["compile", "--session", "s", "--stage", "SPECK"], "SPEC"), (["compile", "--session", "s", "--profile", "weir1"], "weir-1"),
            (["diff", "s@main", "s@main", "--what", "stage"], "stages"), (["history", "hello", "--session", "s", "--where", "befor"], "before"),
            (["export", "--session", "s", "--format", "jsnl"], "jsonl"), (["compact", "--session", "s", "--reason", "MANUL"], "manual"),
            (["log", "--session", "s", "--color", "alway"], "always"), (["note", "clam", "x", "--session", "s"], "claim"),
            (["note", "claim", "verfy", "c1", "--session", "s"], "verify"), (["note", "claim", "x", "--op", "ad", "--session", "s"], "add"),
            (["completions", "bsh"], "bash"), (["help", "lgo"], "'log'"),
        ):  # fmt: skip
            with self.subTest(args=args):
                ran = self.world.run(*args, "--json")
                self.assertIn(ran.code, (2, 6), ran)
                self.assertIn(f"did you mean {near}?", ran.errors)

    def test_a_piece_of_a_secret_is_never_quoted(self):
        """What is cut is masked first: the beginning of a secret would be none that is known."""
        long = "x " * 10 + TOKEN
        run = {"run_id": "r", "objective": "o", "done_definition": "d", "provenance_mode": "x " * 30 + TOKEN, "namespace": {"kind": "index", "id": "i"}}
        for args, stdin in (
            (["log", "--session", "s", "--type", long], None), (["history", "hello", "--session", "s", "--type", long], None),
            (["history", "--regex", "x" * 170 + " (" + TOKEN, "--session", "s"], None),
            (["context", "--session", "s", "--format", long], None), (["append", "--session", "s", "--type", "RUN_STARTED"], compact(run)),
        ):  # fmt: skip
            with self.subTest(args=args[0]):
                ran = self.world.run(*args, stdin=stdin)
                self.assertEqual(ran.code, 6, ran)
                self.assertNotIn(TOKEN[:8], ran.errors)

    def test_a_known_type_and_one_the_session_has_are_fine(self):
        for name, ids in (("message", ["m1"]), ("deploy_started", ["d1"]), ("label", []), ("CLAIM_VERIFIED", []), ("GATE_EVALUATED", [])):
            _, lines, _ = self.stream("log", "--session", "s", "--type", name)
            self.assertEqual([line["id"] for line in lines], ids, name)
        self.weir("history", "hello", "--session", "s", "--type", "deploy_started", code=1)

    def test_an_entry_of_type_end_or_begin_is_told_from_the_streams_own_lines(self):
        """Only an entry has a seq, and only the end has `complete`: whatever an entry is called and holds."""
        likely = {"type": "end", "count": 1, "complete": True}
        self.answer("append", "--session", "e", stdin=jsonl([{"type": "end", "body": likely, "id": "e1"}, {"type": "begin", "body": likely, "id": "b1"}, {"type": "end", "body": {}, "id": "e2"}]))
        for args in (["log"], ["log", "--reverse"], ["log", "--type", "end"], ["tree", "--all-types"], ["export", "--format", "jsonl"], ["export", "--format", "jsonl", "--all"]):
            begin, lines, end = self.stream(*args, "--session", "e")
            self.assertEqual(sorted(end), ["complete", "count", "type"], args)
            self.assertEqual((end["count"], "seq" in begin), (len(lines), False), args)
            self.assertEqual([line for line in lines if "seq" not in line or "complete" in line], [], args)
            self.assertIn("end", [line["type"] for line in lines], args)


if __name__ == "__main__":
    harness.main()
