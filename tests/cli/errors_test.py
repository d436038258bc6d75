"""Every error code the command line can produce so far: its exit code, its line of JSON, its text, and the place."""

import os
import sqlite3

import harness
from harness import CliTest, compact, entry, jsonl
from output_test import long_session

# Codes whose commands are not built yet.
LATER = {
    "IDEMPOTENCY_MISMATCH", "UNAUTHENTICATED",
    "IS_DIRECTORY", "TOO_LARGE", "OFFSET_BEYOND_END", "BAD_RANGE", "BAD_RANGE_SUFFIX", "ACCESS_DENIED", "NOT_REGULAR", "OUTSIDE_ROOTS", "DENIED_BY_POLICY", "HARD_LINK",
}  # fmt: skip
# Those of research runs: the research tests provoke each of them.
RESEARCH = set("""
INVALID_ARGS INVALID_UTF8 INPUT_TOO_LARGE SCHEMA_VALIDATION_FAILED PATH_TRAVERSAL INVALID_WAVE_DIR WAVE_DIR_SYMLINK WRITE_FAILED REVISION_MISMATCH
ALREADY_EXISTS_CONFLICT IMMUTABLE_FIELD INVALID_STATE PAUSED RUN_CANCELLED DUPLICATE_PERSPECTIVE_ID PERSPECTIVE_NOT_FOUND WAVE_CAP_EXCEEDED
MISSING_REQUIRED_SECTION TOO_MANY_WORDS TOO_MANY_SOURCES MALFORMED_SOURCES INVALID_TOOL_BUDGET INVALID_TOOL_USAGE TOOL_BUDGET_EXCEEDED INVALID_URL
CID_MISMATCH EMPTY_SUMMARY RESERVED_LINE INVALID_CONFIDENCE RAW_URL_NOT_ALLOWED UNKNOWN_CID NUMBER_NOT_IN_QUOTE SIZE_CAP_EXCEEDED MISSING_ARTIFACT
UNKNOWN_GATE_ID LIFECYCLE_RULE_VIOLATION GATE_BLOCKED GATE_STALE BUNDLE_STALE ARTIFACT_CHANGED REPLAY_MISMATCH MISSING_CITATIONS UNCITED_NUMBER
REVIEW_CAP_EXCEEDED RETRY_EXHAUSTED
""".split())


class ErrorsTest(CliTest):
    def setUp(self):
        super().setUp()
        self.weir("append", "--session", "s", stdin=jsonl([entry("one", id="aaaa1"), entry("two", id="aaaa2"), entry("b" * 70000, id="blob1")]))
        self.weir("append", "--session", "t", stdin=jsonl([entry("one")]))
        self.weir("session", "new", "empty")
        for name in ("told", "open", "ended"):
            self.weir("append", "--session", name, stdin=jsonl([entry("one")]))
        self.weir("compact", "--session", "told")
        self.weir("append", "--session", "open", stdin='{"type":"STEP_STARTED","body":{"step_id":7}}')
        self.weir("stop", "--session", "ended", "--reason", "NO_EVIDENCE")

    def rewritten(self):
        path = self.world.file("s.jsonl", long_session(3, identity="imp"))
        self.weir("import", "pi", path)
        return ["import", "pi", self.world.file("s.jsonl", long_session(3, identity="imp").replace("1 lorem", "1 LOREM"))]

    def busy(self):
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"), isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        self.addCleanup(connection.close)
        return ["append", "--session", "s", "--timeout", "0"]

    def corrupt(self):
        with open(self.world.objects()[0], "r+b") as file:
            file.seek(8)
            file.write(b"\xff\xff\xff\xff")
        return ["show", self.world.object_names()[0]]

    schema = "17 schema problems; first: schema_version missing"

    def evidence(self, **more):
        return compact({"type": "EVIDENCE_REGISTERED", "body": {"chunk_id": "c", "source_id": "s", "corpus_id": "x", "span": {"unit": "utf8", "start": 0, "end": 1}, "quote": "a", **more}})

    def kept(self, version):
        """An output of the compiler at another schema version."""
        digits = 40 if version == "0.1" else 64
        hashes = {key: "0" * digits for key in ("node_hash", "selection_sha256", "z1", "z2", "z3", "z4")}
        profile = "breadboard-0.1" if version == "0.1" else "weir-1"
        return self.world.file(f"kept-{version}.json", compact({"kind": "ctree_compiler", "profile": profile, "schema_version": version, "hashes": hashes}))

    def cases(self):
        """Code, command (or what prepares it), input, details that must be there."""
        long_file = self.world.file("long.jsonl", long_session(20000))
        message = compact(entry("x"))
        return [
            ("USAGE", ["frobnicate"], b"", {"help": "weir help"}),
            ("INVALID_JSON", ["append", "--session", "s"], "{", {"line": 1}),
            ("INVALID_FIELD", ["append", "--session", "s"], compact(entry("x", role="x")), {"errors": [{"path": "/body/role", "message": "must be user, assistant, tool or system, is 'x'"}]}),
            ("LIMIT_EXCEEDED", ["append", "--session", "s"], '{"type":"x","body":{"n":%s}}' % ("9" * 4097), {"name": "digits of an integer", "limit": 4096, "value": 4097}),
            ("UNSUPPORTED_FORMAT", ["import", "pi", self.world.file("v9.jsonl", '{"type":"session","version":9,"id":"x"}\n')], b"", {"path": self.world.path("cwd", "v9.jsonl")}),
            ("NOT_FOUND", ["show", "nowhere", "--session", "s"], b"", {"session": "s", "entry": "nowhere"}),
            ("AMBIGUOUS", ["show", "aaaa", "--session", "s"], b"", {"entry": "aaaa", "candidates": "aaaa1, aaaa2"}),
            ("CONFLICT", ["append", "--session", "s", "--expect", "aaaa1"], message, {"head": "blob1", "expect": "aaaa1"}),
            ("ID_REUSED", ["append", "--session", "s"], compact(entry("other", id="aaaa1")), {"id": "aaaa1", "seq": 1, "index": 0}),
            ("SOURCE_REWRITTEN", self.rewritten, b"", {"line": 3, "path": self.world.path("cwd", "s.jsonl")}),
            ("CONFIG_INVALID", ["compile", "--session", "s", "--compile-config", self.world.file("wrong.json", '{"scope":1}')], b"", {"errors": [{"path": "/scope", "message": "must be a string, is an integer"}]}),
            ("KIND_INVALID", ["append", "--session", "s"], compact({"type": "ctree_node", "body": {"kind": "root", "payload": 1}}), {"kind": "root"}),
            ("PROFILE_MISMATCH", ["compile", "--session", "s", "--expect", self.kept("0.1")], b"", {}),
            ("SCHEMA_UNKNOWN", ["compile", "--session", "s", "--expect", self.kept("9")], b"", {"schema_version": "9"}),
            ("NOT_REPRODUCIBLE", ["compile", "--profile", "breadboard-0.1", "--records", self.world.file("records.jsonl", '{"kind":[1],"payload":1,"turn":1}\n')], b"", {}),
            ("CONTEXT_OVER_BUDGET", ["context", "--session", "s", "--budget", "10"], b"", {"limit": "max_bytes", "allowed": 10}),
            ("NODE_UNKNOWN", ["explain", "n00000009_00000000", "--session", "s"], b"", {"node": "n00000009_00000000"}),
            ("ILLEGAL_TRANSITION", ["append", "--session", "s"], '{"type":"CLAIM_VERIFIED","body":{"claim_id":"c9"}}', {}),
            ("EVIDENCE_ID_MISMATCH", ["append", "--session", "s"], self.evidence(evidence_id="ev1_0"), {}),
            ("QUOTE_MISMATCH", ["append", "--session", "s"], self.evidence(quote="a", quote_sha256="0" * 64), {}),
            ("NOTHING_TO_COMPACT", ["compact", "--session", "empty"], b"", {}),
            ("NOT_AT_BOUNDARY", ["compact", "--session", "open"], b"", {"step_id": 7}),
            ("BUDGET_TOO_SMALL", ["snapshot", "narrative", "1", "--max-bytes", "100", "--session", "told"], b"", {}),
            ("GATE_FAILED", ["append", "--session", "told"], '{"type":"compaction","body":{"snapshot":{}}}', {"errors": [{"path": "schema_keys_and_types", "message": self.schema}]}),
            ("RUN_STOPPED", ["note", "claim", "x", "--session", "ended"], b"", {"stop_reason": "NO_EVIDENCE"}),
            ("DENIED", ["purge", "--session", "t"], b"", {}),
            ("STORE_UNUSABLE", ["log", "--session", "s", "--store", "nowhere"], b"", {"path": self.world.path("cwd", "nowhere")}),
            ("TIMEOUT", ["import", "pi", long_file, "--timeout", "0"], b"", {}),
            ("STORAGE", ["sync", "--file", "."], b"", {"errno": 21, "path": "."}),
            ("CORRUPT", self.corrupt, b"", {"object": self.world.object_names()[0]}),
            ("BUSY", self.busy, message, {}),  # the last one: the lock stays
        ]  # fmt: skip

    def test_each_code_has_its_exit_code_and_its_line(self):
        cases = self.cases()
        self.assertEqual({code for code, *_ in cases}, set(harness.EXITS) - LATER - RESEARCH - {"CANCELLED"})  # that one: signals_test
        for code, args, stdin, details in cases:
            with self.subTest(code=code):
                args = args() if callable(args) else args
                error = self.refused(code, *args, stdin=stdin)
                for key, value in details.items():
                    self.assertEqual(error["details"].get(key), value, error)
                plain = self.world.run(*args, stdin=stdin)
                self.assertEqual((plain.code, plain.out), (harness.EXITS[code], b""), plain)
                first, *rest = plain.errors.rstrip("\n").split("\n")
                self.assertEqual(first, f"weir: {code}: {error['message']}")
                self.assertEqual([line for line in rest if not line.startswith("  ")], [])

    def test_messages_are_lower_case_and_hold_both_values(self):
        for code, args, stdin, _ in self.cases():
            args = args() if callable(args) else args
            message = self.refused(code, *args, stdin=stdin)["message"]
            self.assertFalse(message[0].isupper() and not message.startswith(("FORMAT", "SQLite", "CLAIM_")), message)
            self.assertFalse(message.endswith("."), message)

    def test_the_reference_page_lists_these_codes_and_no_other(self):
        page = self.weir("help", "--markdown").text
        table = [line.split("|")[1].strip(" `") for line in page.split("## Exit codes")[1].splitlines() if line.startswith("| `")]
        self.assertEqual(table, list(harness.EXITS))


if __name__ == "__main__":
    harness.main()
