"""What a host that owns its log may rely on, told in pi's terms: the facts that pi-readcache's own suite checks, and those of
reads in flight. The far end is weir_read_suite; a session is kept here, as pi keeps it."""

import hashlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..", "build", "release", "bin", "weir_read_suite")
STAMP = "2026-05-01T08:00:00.000Z"
HOME = os.path.realpath(tempfile.gettempdir()) + "/weir-suite-home"  # nothing need be there


class Thrown(Exception):
    pass


class Server:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="weir-suite-")
        self.process = subprocess.Popen([PROGRAM, self.directory], stdout=subprocess.PIPE, text=True, env={**os.environ, "HOME": HOME})
        self.connection = http.client.HTTPConnection("127.0.0.1", int(self.process.stdout.readline()), timeout=60)

    def call(self, method, *args):
        self.connection.request("POST", "/", json.dumps({"method": method, "args": args}))
        answer = json.loads(self.connection.getresponse().read())
        if "error" in answer:
            raise Thrown(answer["error"]["message"])
        return answer.get("result")

    def close(self):
        self.connection.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.directory)


class Session:
    """A session as pi's manager keeps it: a tree of entries and a leaf."""

    def __init__(self, name="session-1"):
        self.name, self.entries, self.leaf = name, {}, None

    def append(self, **fields):
        identity = f"{self.name}-e{len(self.entries) + 1}"
        self.entries[identity] = {"id": identity, "parentId": self.leaf, "timestamp": STAMP, **fields}
        self.leaf = identity
        return identity

    def user(self, text="go on"):
        return self.append(type="message", message={"role": "user", "content": text})

    def calls(self, *ids):
        blocks = [{"type": "toolCall", "id": i, "name": "read", "arguments": {}} for i in ids]
        return self.append(type="message", message={"role": "assistant", "content": blocks})

    def result(self, answer, call_id="call", error=False):
        message = {"role": "toolResult", "toolCallId": call_id, "toolName": "read", "content": answer["content"], "isError": error}
        if "details" in answer:
            message["details"] = answer["details"]
        return self.append(type="message", message=message)

    def compact(self, kept):
        return self.append(type="compaction", summary="what was", firstKeptEntryId=kept, tokensBefore=100)

    def snapshot(self):
        branch, at = [], self.leaf
        while at is not None:
            branch.append(self.entries[at])
            at = self.entries[at]["parentId"]
        has_children = any(entry["parentId"] == self.leaf for entry in self.entries.values())
        return {"sessionId": self.name, "leafId": self.leaf, "branch": branch[::-1], "leafHasChildren": has_children}

    def fork(self, name):
        copy = Session(name)
        copy.entries = {entry["id"]: entry for entry in self.snapshot()["branch"]}
        copy.leaf = self.leaf
        return copy


class SuiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.cwd = tempfile.mkdtemp(prefix="weir-suite-cwd-")
        self.addCleanup(shutil.rmtree, self.cwd)
        self.state = self.call("state.create")
        self.session = Session()

    def call(self, *args):
        return self.server.call(*args)

    def file(self, text, name="sample.txt"):
        with open(os.path.join(self.cwd, name), "wb") as out:
            out.write(text.encode() if isinstance(text, str) else text)

    def read(self, path="sample.txt", session=None, **params):
        return self.call("read", self.state, self.cwd, {"path": path, **params}, (session or self.session).snapshot())

    def kept(self, path="sample.txt", session=None, **params):
        """Reads, and the host appends the result."""
        answer = self.read(path, session, **params)
        (session or self.session).result(answer, params.get("call_id", "call"))
        return answer

    def refresh(self, *args):
        answer = self.call("refresh", self.cwd, *args)
        self.session.append(type="custom", customType="pi-readcache", data=answer["entry"])
        return answer


def meta(answer):
    return answer["details"]["readcache"]


def mode(answer):
    return meta(answer)["mode"]


def text(answer):
    return answer["content"][0]["text"]


def numbered(count, first=1):
    return [f"line {i}" for i in range(first, first + count)]


class AnswersTest(SuiteTest):
    def test_the_first_read_is_content_and_its_details_say_so(self):
        self.file("a\nb\nc")
        answer = self.read()
        self.assertEqual(text(answer), "a\nb\nc")
        got = meta(answer)
        self.assertEqual((got["v"], got["pathKey"], got["scopeKey"], got["mode"]), (1, os.path.join(self.cwd, "sample.txt"), "full", "full"))
        self.assertEqual((got["totalLines"], got["rangeStart"], got["rangeEnd"], got["bytes"]), (3, 1, 3, 5))
        self.assertEqual(got["debug"], {"reason": "no_base_hash", "scope": "full", "baseHashFound": False, "diffAttempted": False})
        self.assertNotIn("truncation", answer["details"])

    def test_a_range_suffix_is_a_scope(self):
        self.file("1\n2\n3\n4\n5")
        got = meta(self.read("sample.txt:2-4"))
        self.assertEqual((got["scopeKey"], got["rangeStart"], got["rangeEnd"]), ("r:2:4", 2, 4))
        with self.assertRaisesRegex(Thrown, "Invalid range suffix"):
            self.read("sample.txt:3-")

    def test_a_marker_goes_out_even_when_it_is_longer_than_the_file(self):
        self.file("x\n")
        self.kept()
        self.assertEqual(text(self.read()), "[readcache: unchanged, 2 lines]")

    def test_bypass_sends_content_once_and_is_optimised_afterwards(self):
        self.file("one\ntwo\nthree\nfour")
        self.kept()
        self.assertEqual(mode(self.kept(offset=2, limit=2)), "unchanged_range")
        forced = self.kept(offset=2, limit=2, bypass_cache=True)
        self.assertEqual((mode(forced), meta(forced)["scopeKey"], meta(forced)["debug"]["reason"]), ("full", "r:2:3", "bypass_cache"))
        self.assertEqual(mode(self.read(offset=2, limit=2)), "unchanged_range")

    def test_a_changed_file_is_a_diff_where_that_is_useful(self):
        lines = [f"line {i} :: original text payload" for i in range(1, 301)]
        self.file("\n".join(lines))
        self.kept()
        lines[199] = "line 200 :: changed text payload"
        self.file("\n".join(lines))
        answer = self.read()
        self.assertEqual(mode(answer), "diff")
        debug = meta(answer)["debug"]
        self.assertEqual((debug["reason"], debug["baseHashFound"], debug["diffAttempted"], debug["diffChangedLines"]), ("diff_emitted", True, True, 1))
        self.assertEqual(hashlib.sha256(text(answer).encode()).hexdigest(), "deeb7779953840daaf1fdc2ad22003b104e15ef93202770e522e8468c4fd687d")
        self.file("a\nb\nc", "small.txt")
        self.kept("small.txt")
        self.file("a\nB\nc", "small.txt")
        self.assertEqual(mode(self.read("small.txt")), "baseline_fallback")

    def test_an_oversized_line_that_changed_reports_its_size_though_nothing_was_shown(self):
        large = "a" * (2 * 1024 * 1024 + 64) + "\n"
        self.file(large)
        self.kept()
        self.file("b" + large[1:])
        answer = self.read()
        self.assertEqual(mode(answer), "baseline_fallback")
        debug = meta(answer)["debug"]
        self.assertEqual((debug["reason"], debug["baseHashFound"], debug["diffAttempted"]), ("diff_file_too_large_bytes", True, True))
        self.assertEqual(debug["largestBytes"], len(large))

    def test_a_missing_object_ends_in_content(self):
        self.file("one\ntwo\nthree")
        first = self.kept()
        os.unlink(self.call("pure", "objectPathForHash", [self.cwd, meta(first)["servedHash"]]))
        self.file("one\nTWO\nthree")
        answer = self.read()
        self.assertEqual((mode(answer), text(answer)), ("baseline_fallback", "one\nTWO\nthree"))
        self.assertEqual((meta(answer)["debug"]["reason"], meta(answer)["debug"]["baseObjectFound"]), ("base_object_missing", False))

    def test_a_cut_baseline_carries_its_truncation(self):
        self.file("\n".join(numbered(2200)))
        answer = self.read()
        cut = answer["details"]["truncation"]
        self.assertEqual((cut["truncated"], cut["truncatedBy"], cut["outputLines"], cut["totalLines"]), (True, "lines", 2000, 2200))
        self.assertEqual(mode(answer), "full")

    def test_what_leaves_no_trace_has_no_details_and_what_is_no_text_is_the_hosts(self):
        for name in (".env.local", "server.key", ".npmrc", "id_ed25519"):
            self.file("sensitive", name)
            self.assertEqual(self.read(name), {"content": [{"type": "text", "text": "sensitive"}]})
        self.file(b"\xff\xfe\x00\xf8", "binary.bin")
        self.assertEqual(self.read("binary.bin"), {"delegate": "baseline"})
        self.file("a")
        self.assertEqual(self.read(offset=0), {"delegate": "baseline"})

    def test_a_range_is_unchanged_beside_edits_and_content_where_it_changed(self):
        lines = numbered(400)
        self.file("\n".join(lines))
        self.kept()
        self.assertEqual(text(self.kept("sample.txt:160-249")), "[readcache: unchanged in lines 160-249 of 400]")
        lines[299] = "line 300 updated"
        self.file("\n".join(lines))
        beside = self.kept("sample.txt:160-249")
        self.assertEqual(text(beside), "[readcache: unchanged in lines 160-249; changes exist outside this range]")
        self.assertEqual((meta(beside)["debug"]["reason"], meta(beside)["debug"]["outsideRangeChanged"]), ("range_slice_unchanged", True))
        changed = self.read("sample.txt:100-349")
        self.assertEqual((mode(changed), meta(changed)["debug"]["reason"]), ("baseline_fallback", "range_slice_changed"))
        self.assertIn("line 300 updated", text(changed))

    def test_lines_inserted_above_a_range_make_it_changed(self):
        self.file("\n".join(numbered(200)))
        self.kept()
        self.file("\n".join(["inserted", *numbered(200)]))
        answer = self.read("sample.txt:100-120")
        self.assertEqual(mode(answer), "baseline_fallback")
        self.assertTrue(text(answer).startswith("line 99\n"))


class BarriersAndBranchesTest(SuiteTest):
    def test_the_first_read_after_a_compaction_is_content_and_its_window_is_smaller(self):
        self.file("a\nb\nc")
        first = self.kept()
        kept = self.session.leaf
        self.assertEqual(mode(self.kept()), "unchanged")
        self.session.compact(kept)
        self.assertEqual(mode(self.kept()), "full")
        self.assertEqual(mode(self.read()), "unchanged")
        report = self.call("status", self.state, self.cwd, self.session.snapshot())["text"].split("\n")
        self.assertEqual(report[:4], ["[readcache-status]", "tracked scopes: 1 across 1 files", "replay window: 1 entries (start index 3)",
                                      "mode counts: full=1, unchanged=0, unchanged_range=0, diff=0, baseline_fallback=0"])
        self.assertEqual(len(report), 6)
        self.session.leaf = kept
        self.assertEqual(mode(self.read()), "unchanged")
        self.assertEqual(meta(first)["servedHash"], hashlib.sha256(b"a\nb\nc").hexdigest())

    def test_no_version_leaks_from_another_branch(self):
        self.file("alpha\nbeta\ngamma")
        self.kept()
        first = self.session.leaf
        self.file("alpha\nBETA\ngamma")
        self.assertEqual(mode(self.kept()), "baseline_fallback")
        self.session.leaf = first
        answer = self.read()
        self.assertEqual((mode(answer), text(answer)), ("baseline_fallback", "alpha\nBETA\ngamma"))

    def test_a_forked_session_keeps_its_own_path(self):
        self.file("v1")
        self.session.user()
        self.kept()
        fork = self.session.fork("session-2")
        self.file("v2")
        self.assertEqual(mode(self.kept()), "baseline_fallback")
        self.file("v1")
        self.assertNotEqual(mode(self.read()), "unchanged")
        self.assertEqual(mode(self.read(session=fork)), "unchanged")


class RefreshTest(SuiteTest):
    def test_a_refresh_makes_the_next_read_content(self):
        self.file("alpha\nbeta\ngamma")
        self.kept()
        self.assertEqual(mode(self.read()), "unchanged")
        answer = self.refresh("sample.txt")
        self.assertEqual(answer["text"], "[readcache-refresh] invalidated full scope for sample.txt")
        self.assertGreater(answer["entry"].pop("at"), 0)
        self.assertEqual(answer["entry"], {"v": 1, "kind": "invalidate", "pathKey": os.path.join(self.cwd, "sample.txt"), "scopeKey": "full"})
        self.assertEqual(mode(self.kept()), "full")
        self.assertEqual(mode(self.read()), "unchanged")

    def test_a_range_is_withdrawn_from_ranges_and_not_from_full_reads(self):
        self.file("one\ntwo\nthree\nfour")
        self.kept()
        self.assertEqual(mode(self.kept(offset=2, limit=2)), "unchanged_range")
        answer = self.refresh({"path": "sample.txt", "offset": 2, "limit": 2})
        self.assertEqual((answer["text"], answer["entry"]["scopeKey"]), ("[readcache-refresh] invalidated lines 2-3 for sample.txt", "r:2:3"))
        self.assertEqual(mode(self.kept()), "unchanged")
        self.assertEqual(mode(self.kept(offset=2, limit=2)), "full")
        self.assertEqual(mode(self.kept(offset=2, limit=2)), "unchanged_range")
        self.assertEqual(mode(self.read()), "unchanged")

    def test_a_commands_words_are_a_path_and_perhaps_lines(self):
        self.file("1\n2\n3")
        self.file("1\n2\n3", "odd 2-3")
        for words, scope in (("sample.txt 2-3", "r:2:3"), ("sample.txt 2", "r:2:3"), ("sample.txt", "full"), ("'sample.txt' 1-2", "r:1:2"), ("odd 2-3", "full"),
                             ("gone.txt 4-6", "r:4:6"), ("gone.txt", "full"), ("sample.txt:2-2", "r:2:2")):  # fmt: skip
            self.assertEqual(self.call("refresh", self.cwd, words)["entry"]["scopeKey"], scope, words)
        with self.assertRaisesRegex(Thrown, r"^Usage: /readcache-refresh <path> \[start-end\]$"):
            self.call("refresh", self.cwd, "  ")


class InFlightTest(SuiteTest):
    """Section 11: a read counts at once at its leaf, and for good when the host's log brings it back."""

    def setUp(self):
        super().setUp()
        self.file("a\nb\nc")
        self.session.user()

    def pending(self, **fields):
        return self.call("status", self.state, self.cwd, {**self.session.snapshot(), **fields})["status"]["pending"]

    def test_parallel_reads_of_one_turn_are_content_marker_marker(self):
        """Case 26, H20."""
        turn = self.session.calls("c1", "c2", "c3")
        answers = [self.read(turn=turn, call_id=f"c{i}") for i in (1, 2, 3)]
        self.assertEqual([mode(a) for a in answers], ["full", "unchanged", "unchanged"])
        self.session.result(answers[0], "c1")
        # The leaf has moved and the turn is still open: the two others are in flight.
        self.assertEqual(self.pending(), 2)
        self.session.result(answers[1], "c2")
        self.session.result(answers[2], "c3")
        self.assertEqual(self.pending(), 0)
        self.assertEqual(mode(self.read(turn="next")), "baseline_fallback")  # the third marker in a row would be one too many

    def test_a_call_the_host_gave_up_is_no_longer_in_flight(self):
        self.read(turn="t", call_id="c1")
        self.read(turn="t", call_id="c2")
        self.assertEqual((self.pending(), self.pending(aborted=["c1"])), (2, 1))
        # The marker stands on content that never arrived.
        self.assertEqual(mode(self.read(turn="t", call_id="c3")), "full")

    def test_an_aborted_read_shows_nothing_to_the_next_turn(self):
        """Case 26, H10."""
        self.read(turn="t1", call_id="c1")
        self.assertEqual(mode(self.read(turn="t2", call_id="c2")), "full")

    def test_a_result_that_failed_or_lost_its_record_confirms_nothing(self):
        answer = self.read(turn="t1", call_id="c1")
        self.session.result({"content": [{"type": "text", "text": "aborted"}]}, "c1", error=True)
        self.assertEqual(mode(self.read(turn="t1", call_id="c2")), "full")
        self.session.user()
        self.session.result(answer, "c9", error=True)
        self.assertEqual(mode(self.read(turn="t2")), "full")

    def test_a_rewound_leaf_starts_anew_with_children_or_without(self):
        """Case 27, H21."""
        leaf = self.session.leaf
        self.kept()
        self.session.leaf = leaf
        self.assertEqual([mode(self.read()), mode(self.read())], ["full", "unchanged"])

    def test_reads_before_the_host_has_a_log_are_confirmed_by_its_first_entries(self):
        """Case 27, H31."""
        self.session = Session("late")
        first = self.read()
        self.assertEqual([mode(first), mode(self.read())], ["full", "unchanged"])
        self.session.user()
        self.session.result(first)
        self.assertEqual(mode(self.read()), "unchanged")

    def test_a_marker_whose_content_never_arrived_gives_no_trust(self):
        """Case 28."""
        self.read(turn="t")
        marker = self.read(turn="t")
        self.assertEqual(mode(marker), "unchanged")
        self.session.result(marker)
        self.session.user()
        self.assertEqual(mode(self.read(turn="u")), "full")

    def lose_the_middle(self, lost):
        """Lines 9 and 5 changed and sent in one turn, then a marker for 5-9 that stands on both; line 5 does not arrive."""
        lines = numbered(10)
        self.file("\n".join(lines))
        self.kept(turn="t0")
        lines[4], lines[8] = "FIVE", "NINE"
        self.file("\n".join(lines))
        answers = [self.read(turn="t1", call_id=c, offset=o, limit=n) for c, o, n in (("c1", 9, 1), ("c2", 5, 1), ("c3", 5, 5))]
        self.assertEqual([mode(a) for a in answers], ["baseline_fallback", "baseline_fallback", "unchanged_range"])
        self.session.result(answers[0], "c1")
        lost(answers[1])
        self.session.result(answers[2], "c3")
        self.session.user()

    def test_a_marker_falls_with_the_content_it_stood_on_whatever_else_is_held(self):
        """Case 28: the marker's lines are all held without the lost one, in another text."""
        for lost in (lambda answer: None, lambda answer: self.session.result(answer, "c2", error=True),
                     lambda answer: self.session.result({"content": [{"type": "text", "text": "failed"}]}, "c2", error=True)):  # fmt: skip
            self.session, self.state = Session(), self.call("state.create")
            self.lose_the_middle(lost)
            answer = self.read(turn="t2", offset=5, limit=1)
            self.assertIn("FIVE", text(answer))
            self.assertNotEqual(mode(self.read(turn="t3")), "unchanged")

    def test_the_same_marker_counts_if_all_of_it_arrived(self):
        self.lose_the_middle(lambda answer: self.session.result(answer, "c2"))
        self.assertEqual(mode(self.read(turn="t2", offset=5, limit=1)), "unchanged_range")

    def test_a_result_nobody_can_match_ends_what_has_no_name(self):
        self.read(turn="t")
        self.session.result({"content": [{"type": "text", "text": "failed"}]}, "c7", error=True)
        self.assertEqual(mode(self.read(turn="t")), "full")

    def test_thinking_before_a_call_of_read_is_only_a_call(self):
        self.kept(turn="t")
        modes = []
        for i in range(3):
            blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "toolCall", "id": f"c{i}", "name": "read", "arguments": {}}]
            self.session.append(type="message", message={"role": "assistant", "content": blocks})
            modes.append(mode(self.kept(turn=f"t{i}", call_id=f"c{i}")))
        self.assertEqual(modes, ["unchanged", "unchanged", "baseline_fallback"])

    def test_a_turn_that_is_not_named_ends_with_the_leaf(self):
        self.read()
        self.session.user()
        self.assertEqual(mode(self.read()), "full")

    def test_compaction_and_refresh_end_what_is_in_flight(self):
        for end in (lambda: self.session.compact(self.session.leaf), lambda: self.refresh("sample.txt")):
            self.read(turn="t")
            end()
            self.assertEqual(mode(self.read(turn="t")), "full")
            self.session.user()

    def test_a_text_that_was_replaced_is_no_evidence(self):
        answer = self.read()
        answer["content"][0]["text"] = "something else"
        self.session.result(answer)
        self.assertEqual(mode(self.read()), "full")


class ReplayTest(SuiteTest):
    """The state machine as unit tests ask for it: slots only, each covering its own scope."""

    PATH = "/tmp/file.txt"

    def meta(self, how, served, base=None, scope="full", **fields):
        first, last = (1, 10) if scope == "full" else map(int, scope[2:].split(":"))
        out = {"v": 1, "pathKey": self.PATH, "scopeKey": scope, "servedHash": served * 64, "mode": how, "totalLines": 10, "rangeStart": first, "rangeEnd": last, "bytes": 100}
        if base:
            out["baseHash"] = base * 64
        return {**out, **fields}

    def after(self, *records):
        slots = []
        for seq, record in enumerate(records, 1):
            slots = self.call("replay.transition", slots, record, seq)["slots"]
        return {scope: (slot["hash"][0], slot["seq"]) for _, scopes in slots for scope, slot in scopes}

    def test_anchors_set_and_markers_and_diffs_need_a_base(self):
        full = self.meta("full", "a")
        self.assertEqual(self.after(full), {"full": ("a", 1)})
        self.assertEqual(self.after(self.meta("unchanged", "a", "a")), {})
        self.assertEqual(self.after(full, self.meta("unchanged", "a", "a")), {"full": ("a", 2)})
        self.assertEqual(self.after(self.meta("full", "0"), self.meta("diff", "b", "a")), {"full": ("0", 1)})
        self.assertEqual(self.after(full, self.meta("diff", "b", "a")), {"full": ("b", 2)})
        scoped = self.meta("unchanged_range", "b", "a", "r:2:4")
        self.assertEqual(self.after(scoped), {})
        self.assertEqual(self.after(self.meta("full", "a", scope="r:2:4"), scoped), {"r:2:4": ("b", 2)})
        self.assertEqual(self.after(full, scoped), {"full": ("a", 1), "r:2:4": ("b", 2)})
        self.assertEqual(self.after(full, {"v": 1, "mode": "full"}), {"full": ("a", 1)})

    def test_invalidation_takes_all_or_one_scope(self):
        slots = self.call("replay.transition", [], self.meta("full", "a"), 1)["slots"]
        slots = self.call("replay.transition", slots, self.meta("full", "b", scope="r:2:4"), 2)["slots"]
        withdrawn = self.call("pure", "buildInvalidationV1", [self.PATH, "r:2:4", 1234])
        self.assertEqual(self.call("replay.invalidate", slots, withdrawn)["slots"], [[self.PATH, [["full", {"hash": "a" * 64, "seq": 1}]]]])
        withdrawn["scopeKey"] = "full"
        self.assertEqual(self.call("replay.invalidate", slots, withdrawn)["slots"], [])

    def entry(self, record):
        return self.session.result({"content": [{"type": "text", "text": "ok"}], "details": {"readcache": record}})

    def test_a_branch_is_replayed_and_what_is_in_flight_counts_at_its_leaf_only(self):
        self.entry(self.meta("full", "a"))
        snapshot = self.session.snapshot
        known = lambda: {scope: slot["hash"][0] for _, scopes in self.call("replay.knowledge", self.state, snapshot()) for scope, slot in scopes}  # noqa: E731
        self.assertEqual(known(), {"full": "a"})
        self.call("replay.overlaySet", self.state, snapshot(), self.PATH, "full", "b" * 64)
        self.assertEqual(known(), {"full": "b"})
        self.session.leaf = None
        self.assertEqual(known(), {})
        self.session.leaf = next(iter(self.session.entries))
        self.assertEqual(known(), {"full": "a"})
        self.assertEqual(self.call("replay.fromBranch", snapshot()["branch"], 0), [[self.PATH, [["full", {"hash": "a" * 64, "seq": 1}]]]])
        self.assertEqual(self.call("replay.fromBranch", snapshot()["branch"], 1), [])

    def test_a_blocked_range_stays_blocked_until_its_lines_are_shown(self):
        self.entry(self.meta("full", "a"))
        self.session.append(type="custom", customType="pi-readcache", data=self.call("pure", "buildInvalidationV1", [self.PATH, "r:2:4", 1234]))
        blocked = lambda: self.call("replay.blocked", self.state, self.session.snapshot(), self.PATH, "r:2:4")  # noqa: E731
        self.assertTrue(blocked())
        self.call("replay.overlaySet", self.state, self.session.snapshot(), self.PATH, "r:2:4", "b" * 64)
        self.assertFalse(blocked())
        self.entry(self.meta("full", "b", scope="r:2:4"))
        self.assertFalse(blocked())

    def test_replay_starts_behind_the_latest_compaction(self):
        start = lambda: self.call("pure", "findReplayStartIndex", [self.session.snapshot()["branch"]])  # noqa: E731
        self.assertEqual(start(), {"startIndex": 0, "boundaryKey": "root"})
        first = self.entry(self.meta("full", "a"))
        self.assertEqual(start(), {"startIndex": 0, "boundaryKey": "root"})
        compaction = self.session.compact(first)
        self.assertEqual(start(), {"startIndex": 2, "boundaryKey": f"compaction:{compaction}"})
        self.entry(self.meta("full", "c"))
        self.assertEqual(start(), {"startIndex": 2, "boundaryKey": f"compaction:{compaction}"})


class ClientsTest(SuiteTest):
    def test_a_client_that_stays_keeps_nobody_waiting_and_state_is_shared(self):
        port = self.server.connection.port
        others = [http.client.HTTPConnection("127.0.0.1", port, timeout=10) for _ in range(3)]
        for _ in range(2):  # each keeps its connection and asks again
            for other in others:
                self.addCleanup(other.close)
                other.request("POST", "/", json.dumps({"method": "state.create", "args": []}))
                state = json.loads(other.getresponse().read())["result"]
                self.assertNotEqual(state, self.state)
                self.assertNotEqual(state, self.call("state.create"))

    def test_a_client_that_leaves_before_its_answer_harms_nobody(self):
        body = json.dumps({"method": "pure", "args": ["splitLines", ["x\n" * 500_000]]})
        for _ in range(5):
            leaving = http.client.HTTPConnection("127.0.0.1", self.server.connection.port, timeout=10)
            leaving.request("POST", "/", body)
            leaving.close()
        self.assertEqual(self.call("pure", "splitLines", ["a"]), ["a"])

    def test_a_client_that_asks_for_the_end_gets_it(self):
        closing = http.client.HTTPConnection("127.0.0.1", self.server.connection.port, timeout=10)
        self.addCleanup(closing.close)
        closing.request("POST", "/", json.dumps({"method": "state.create", "args": []}), {"Connection": "Close"})
        answer = closing.getresponse()
        self.assertTrue(json.loads(answer.read())["result"].startswith("state-"))
        self.assertEqual(answer.getheader("Connection"), "close")


class PureTest(SuiteTest):
    def pure(self, name, *args):
        return self.call("pure", name, args)

    def test_metadata_is_checked_strictly(self):
        record = {"v": 1, "pathKey": "/tmp/f", "scopeKey": "full", "servedHash": "abc", "mode": "full", "totalLines": 42, "rangeStart": 1, "rangeEnd": 42, "bytes": 512,
                  "debug": {"reason": "no_base_hash", "scope": "full", "baseHashFound": False, "diffAttempted": False}}  # fmt: skip
        self.assertEqual(self.pure("buildReadCacheMetaV1", {k: v for k, v in record.items() if k != "v"}), record)
        self.assertTrue(self.pure("isReadCacheMetaV1", record))
        self.assertTrue(self.pure("isReadCacheMetaV1", {**record, "mode": "baseline_fallback"}))
        self.assertTrue(self.pure("isReadCacheMetaV1", {**record, "mode": "diff", "baseHash": "def"}))
        for wrong in ({"totalLines": 0}, {"scopeKey": "r:9:2"}, {"mode": "unchanged"}, {"debug": {**record["debug"], "reason": "no reason"}}, {"v": 2}, {"mode": "full_fallback"}):
            self.assertFalse(self.pure("isReadCacheMetaV1", {**record, **wrong}), wrong)
        self.session.result({"content": [{"type": "text", "text": "ok"}], "details": {"readcache": record}})
        entry = self.session.entries[self.session.leaf]
        self.assertEqual(self.pure("extractReadMetaFromSessionEntry", entry), record)
        entry["message"]["details"] = {"readcache": {"broken": True}}
        self.assertIsNone(self.pure("extractReadMetaFromSessionEntry", entry))
        withdrawn = self.pure("buildInvalidationV1", "/tmp/f", "r:10:20", 1234)
        self.assertTrue(self.pure("isReadCacheInvalidationV1", withdrawn))
        self.assertFalse(self.pure("isReadCacheInvalidationV1", {**withdrawn, "kind": "other"}))
        custom = {"type": "custom", "customType": "pi-readcache", "data": withdrawn}
        self.assertEqual(self.pure("extractInvalidationFromSessionEntry", custom), withdrawn)
        self.assertIsNone(self.pure("extractInvalidationFromSessionEntry", {**custom, "data": {"nope": True}}))

    def test_diffs(self):
        diff = self.pure("computeUnifiedDiff", "line 1\nline 2\nline 3", "line 1\nline 2 updated\nline 3", "sample.txt")
        self.assertEqual(diff["diffText"].split("\n")[:3], ["--- a/sample.txt", "+++ b/sample.txt", "@@ -1,3 +1,3 @@"])
        self.assertEqual((diff["changedLines"], diff["addedLines"], diff["removedLines"], diff["diffBytes"]), (1, 1, 1, len(diff["diffText"])))
        self.assertIsNone(self.pure("computeUnifiedDiff", "same\ntext", "same\ntext", "sample.txt"))
        limits = {"maxFileBytes": 1024, "maxFileLines": 100, "maxDiffToBaseRatio": 100}
        small = self.pure("computeUnifiedDiff", "a\nb\nc", "a\nB\nc", "s")["diffText"]
        self.assertTrue(self.pure("isDiffUseful", small, "a\nb\nc", "a\nB\nc", limits))
        self.assertFalse(self.pure("isDiffUseful", small, "a\nb\nc", "a\nB\nc"))
        self.assertFalse(self.pure("isDiffUseful", "@@\n" + "x" * 200, "small", "small", {**limits, "maxDiffToBaseRatio": 1}))
        self.assertFalse(self.pure("isDiffUseful", "@@ -1 +1 @@\n-a\n+b", "a\n" * 200, "b\n" * 200, {**limits, "maxFileLines": 50}))

    def test_objects_are_kept_once_and_counted(self):
        name = self.pure("hashText", "hello")
        path = self.pure("objectPathForHash", self.cwd, name)
        self.assertEqual(self.pure("persistObjectIfAbsent", self.cwd, name, "hello"), {"hash": name, "path": path, "written": True})
        self.assertFalse(self.pure("persistObjectIfAbsent", self.cwd, name, "hello")["written"])
        self.assertTrue(os.path.exists(path))
        self.assertEqual(self.pure("loadObject", self.cwd, name), "hello")
        self.assertIsNone(self.pure("loadObject", self.cwd, "0" * 64))
        self.pure("persistObjectIfAbsent", self.cwd, self.pure("hashText", "more"), "more")
        stats = self.pure("getStoreStats", self.cwd)
        self.assertEqual(stats["objects"], 2)
        self.assertGreater(stats["bytes"], 0)
        for name, *more in (("objectPathForHash",), ("loadObject",), ("persistObjectIfAbsent", "text")):
            with self.assertRaisesRegex(Thrown, '^Invalid sha256 hash "../x".$'):
                self.pure(name, self.cwd, "../x", *more)

    def test_objects_go_by_the_age_of_their_files_only_when_told_to(self):
        day, now = 86_400_000, 4_000_000_000_000
        names = {text: self.pure("hashText", text) for text in ("fresh", "stale", "on the edge")}
        for text, age in (("fresh", day - 1000), ("stale", day + 1000), ("on the edge", day)):
            self.pure("persistObjectIfAbsent", self.cwd, names[text], text)
            os.utime(self.pure("objectPathForHash", self.cwd, names[text]), ns=((now - age) * 1_000_000,) * 2)
        self.assertEqual(self.pure("pruneObjectsOlderThan", self.cwd, 2 * day, now), {"scanned": 3, "deleted": 0, "cutoffMs": now - 2 * day})
        self.assertEqual(self.pure("pruneObjectsOlderThan", self.cwd, None, now), {"scanned": 3, "deleted": 2, "cutoffMs": now - day})
        self.assertEqual([self.pure("loadObject", self.cwd, name) for name in names.values()], ["fresh", None, None])
        self.assertEqual(self.pure("pruneObjectsOlderThan", self.cwd, day)["deleted"], 0)  # by the clock these were written in the future
        with self.assertRaisesRegex(Thrown, '^Invalid maxAgeMs "-1".$'):
            self.pure("pruneObjectsOlderThan", self.cwd, -1)

    def test_lines_and_ranges(self):
        self.assertEqual(self.pure("splitLines", "a\nb\n"), ["a", "b", ""])
        self.assertEqual(self.pure("sliceByLineRange", "a\nb\nc", 2, 9), "b\nc")
        self.assertTrue(self.pure("compareSlices", "a\nb\nc", "x\nb\ny", 2, 2))
        self.assertEqual(self.pure("normalizeOffsetLimit", 2, 2, 9), {"start": 2, "end": 3, "totalLines": 9})
        self.assertEqual(self.pure("normalizeOffsetLimit", None, None, 9), {"start": 1, "end": 9, "totalLines": 9})
        self.assertEqual(self.pure("normalizeOffsetLimit", None, None, 0), {"start": 1, "end": 1, "totalLines": 1})
        with self.assertRaisesRegex(Thrown, "Offset 10 is beyond end of file"):
            self.pure("normalizeOffsetLimit", 10, None, 9)
        self.assertEqual([self.pure("scopeKeyForRange", 1, 9, 9), self.pure("scopeKeyForRange", 2, 9, 9)], ["full", "r:2:9"])
        self.file("x")
        absolute = os.path.join(self.cwd, "sample.txt")
        parsed = lambda *args: self.pure("parseTrailingRangeIfNeeded", *args, self.cwd)  # noqa: E731
        self.assertEqual(parsed("sample.txt:3-6", None, None), {"pathInput": "sample.txt", "absolutePath": absolute, "offset": 3, "limit": 4, "parsedFromPath": True})
        self.assertEqual(parsed("sample.txt:3", None, None), {"pathInput": "sample.txt", "absolutePath": absolute, "offset": 3, "parsedFromPath": True})
        self.assertEqual(parsed("sample.txt", None, None), {"pathInput": "sample.txt", "absolutePath": absolute, "parsedFromPath": False})
        self.assertEqual(parsed("sample.txt:3-6", 10, 2),
                         {"pathInput": "sample.txt:3-6", "absolutePath": absolute + ":3-6", "offset": 10, "limit": 2, "parsedFromPath": False})  # fmt: skip
        self.file("x", "report:2024")
        self.assertEqual(parsed("report:2024", None, None), {"pathInput": "report:2024", "absolutePath": os.path.join(self.cwd, "report:2024"), "parsedFromPath": False})
        for words, said in (("sample.txt:3-", "Invalid range suffix"), ("sample.txt:8-2", "end line must be greater than or equal to start line")):
            with self.assertRaisesRegex(Thrown, said):
                parsed(words, None, None)

    def test_a_path_is_found_under_the_spelling_it_was_stored_in(self):
        for stored, words in (("shot 10.00\u202fAM.png", "shot 10.00 AM.png"), ("shot 11.00\u202fpm.png", "@shot 11.00 pm.png"), ("cafe\u0301.txt", "caf\u00e9.txt"),
                              ("it\u2019s.txt", "it's.txt"), ("l\u2019e\u0301t\u00e9".replace("\u00e9", "e\u0301"), "l'\u00e9t\u00e9"), ("a b.txt", "a\u00a0b.txt")):  # fmt: skip
            self.file("x", stored)
            found = os.path.join(self.cwd, stored)
            self.assertEqual(self.pure("resolveReadPath", words, self.cwd), found)
            self.assertEqual(self.pure("parseTrailingRangeIfNeeded", words + ":1", None, None, self.cwd)["absolutePath"], found)
            self.assertEqual(meta(self.read(words))["pathKey"], found)
        self.assertEqual(self.pure("resolveReadPath", "not there.txt", self.cwd), os.path.join(self.cwd, "not there.txt"))
        self.assertEqual(self.pure("resolveReadPath", "x/../sample.txt", self.cwd), os.path.join(self.cwd, "sample.txt"))

    def test_the_home_directory_has_its_shortcuts(self):
        for words, path in (("~", HOME), ("~/notes.txt", HOME + "/notes.txt"), ("@~/a\u00a0b", HOME + "/a b"), ("~other/x", "~other/x"), ("src/x", "src/x")):
            self.assertEqual(self.pure("expandPath", words), path)
        self.assertEqual(self.pure("resolveReadPath", "~/notes.txt", self.cwd), HOME + "/notes.txt")
        self.assertEqual(self.call("refresh", self.cwd, "~/notes.txt")["entry"]["pathKey"], HOME + "/notes.txt")


if __name__ == "__main__":
    unittest.main()
