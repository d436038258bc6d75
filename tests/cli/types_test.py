"""Types of entries as names: a wrong one is an error that says the nearest, and one that reads like a stream's own line is none."""

import harness
from harness import CliTest, entry, jsonl


class TypesTest(CliTest):
    def setUp(self):
        super().setUp()
        self.answer("append", "--session", "s", stdin=jsonl([entry("hello", id="m1"), {"type": "deploy_started", "body": {}, "id": "d1"}]))

    def test_a_type_nobody_knows_is_an_error_with_the_nearest_name(self):
        for args in (["log"], ["log", "--follow"], ["history", "hello"]):
            for wrong, near in (("mesage", "message"), ("deploy_startd", "deploy_started"), ("claim_verified", "CLAIM_VERIFIED"), ("compactoin", "compaction")):
                error = self.refused("INVALID_FIELD", *args, "--session", "s", "--type", wrong)
                self.assertIn(f"did you mean {near}?", error["message"])
                self.assertEqual([one["path"] for one in error["details"]["errors"]], ["/type"])
        self.assertNotIn("did you mean", self.refused("INVALID_FIELD", "log", "--session", "s", "--type", "qqqqqqqqqqqq")["message"])
        self.refused("INVALID_FIELD", "log", "--session", "s", "--type", "message", "--type", "mesage")

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
