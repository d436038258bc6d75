"""Records of reads in sessions of pi: what pi-readcache and Weir wrote there counts, and every line is given back."""

import harness
import secrets_made
from harness import compact, jsonl
from read_case import ReadCase, numbered, sha

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
STAMP = "2026-05-01T08:00:00.000Z"


class PiCase(ReadCase):
    def setUp(self):
        super().setUp()
        self.lines_of_pi = []
        self.parent = None

    def line(self, value):
        identity = f"{len(self.lines_of_pi) + 1:08x}"
        self.lines_of_pi.append({**value, "id": identity, "parentId": self.parent, "timestamp": STAMP})
        self.parent = identity
        return identity

    def result(self, text, details, name="read", **fields):
        """A tool result as pi writes it."""
        blocks = text if isinstance(text, list) else [{"type": "text", "text": text}]
        return self.line({"type": "message", "message": {"role": "toolResult", "toolCallId": f"call_{len(self.lines_of_pi)}", "toolName": name, "content": blocks, "details": details, "isError": False, "timestamp": 1777622400000, **fields}})

    def invalidate(self, path, scope="full", **data):
        return self.line({"type": "custom", "customType": "pi-readcache", "data": {"v": 1, "kind": "invalidate", "pathKey": path, "scopeKey": scope, "at": 1777622400000, **data}})

    def theirs(self, path, text, **change):
        """What pi-readcache 0.2.0 writes for a read of the whole file."""
        total = text.count("\n") + 1
        return {"v": 1, "pathKey": path, "scopeKey": "full", "servedHash": sha(text), "mode": "full", "totalLines": total, "rangeStart": 1, "rangeEnd": total, "bytes": len(text.encode()), "debug": {"reason": "no_base_hash", "scope": "full", "baseHashFound": False, "diffAttempted": False}, **change}

    def ours(self, record, **change):
        """What Weir writes for a host: pi-readcache's form and a member of its own."""
        base = {"baseHash": record["base"]} if "base" in record else {}
        weir = {key: record[key] for key in ("path", "shown", "known", "from", "text_sha256", "reason", "sent", "baseline") if key in record}
        return {
            "v": 1, "pathKey": record["path"], "scopeKey": record["scope"], "servedHash": record["served"], **base, "mode": {"full_fallback": "baseline_fallback"}.get(record["mode"], record["mode"]), "totalLines": record["total_lines"],
            "rangeStart": record["start"], "rangeEnd": record["end"], "bytes": record["bytes"], "debug": {"reason": record["reason"], "scope": "full", "baseHashFound": bool(base), "diffAttempted": False}, "weir": weir, **change,
        }  # fmt: skip

    def read(self, path, *args, session="s", **how):
        """In pi's session as its extension asks: the log is handed over, then the file read for the host."""
        if session != "s":
            return super().read(path, *args, session=session, **how)
        call = {"path": path, "session": session, "cwd": self.world.cwd, "record": "host", **{name.removeprefix("--"): int(value) for name, value in zip(args[::2], args[1::2])}}
        synced = {"format": "pi", "session": session, "since": None, "entries": []}
        lines = [{"jsonrpc": "2.0", "id": number, "method": f"weir/{method}", "params": {**params, "_meta": META}} for number, (method, params) in enumerate((("sync", synced), ("read", call)))]
        ran = self.weir("mcp", "--host", stdin=jsonl(lines))
        answers = {answer["id"]: answer for answer in map(harness.parse_line, ran.lines)}
        reply = answers[1]["result"]
        return {**reply, "record": self.native(reply["details"]["readcache"])}

    @staticmethod
    def native(pi):
        """The record, of what pi's form has of it."""
        return {"mode": {"baseline_fallback": "full_fallback"}.get(pi["mode"], pi["mode"]), "scope": pi["scopeKey"], **pi["weir"]}

    def take(self):
        """Imports what was written, wants every line back, and answers the bodies of the path."""
        content = jsonl([{"type": "session", "version": 3, "id": "s", "timestamp": STAMP, "cwd": self.world.cwd}, *self.lines_of_pi])
        self.weir("import", "pi", self.world.file("session.jsonl", content))
        back = [harness.parse_line(line) for line in self.weir("export", "--session", "s", "--format", "pi").lines]
        self.assertEqual(back[1:], self.lines_of_pi)
        self.sound()
        return [entry["body"] for entry in self.log("s", "--reverse") if entry["type"] != "session_info"]


class TheirRecordsTest(PiCase):
    def test_a_read_of_pi_readcache_is_trusted(self):
        text = "\n".join(numbered(1, 100))
        path = self.file("a.txt", text)
        self.result(text, {"readcache": self.theirs(path, text)})
        (body,) = self.take()
        self.assertEqual((body["read"]["path"], body["read"]["shown"], body["read"]["served"]), (path, [[1, 100]], sha(text)))
        self.assertEqual((self.mode("a.txt"), self.mode("a.txt:5-9")), ("unchanged", "unchanged_range"))
        self.assertIs(self.status()["bytes"]["estimated"], True)

    def test_what_was_cut_off_was_not_shown(self):
        """Section 3: `shown` is rebuilt from what pi says of its truncation."""
        text = "\n".join(numbered(1, 5000))
        path = self.file("b", text)
        cut = {"truncated": True, "truncatedBy": "lines", "outputLines": 2000, "firstLineExceedsLimit": False}
        for truncation, shown in ((None, [[1, 5000]]), ({"truncated": False}, [[1, 5000]]), (cut, [[1, 2000]]), ({**cut, "outputLines": 0}, []), ({**cut, "firstLineExceedsLimit": True}, []), ({"truncated": True}, [])):
            self.result(text, {"readcache": self.theirs(path, text), **({"truncation": truncation} if truncation else {})})
            with self.subTest(truncation=truncation):
                self.assertEqual(self.take()[-1]["read"]["shown"], shown)

    def test_a_cut_read_of_pi_readcache_claims_only_its_part(self):
        text = "\n".join(numbered(1, 5000))
        path = self.file("b", text)
        self.result("\n".join(numbered(1, 2000)), {"readcache": self.theirs(path, text), "truncation": {"truncated": True, "outputLines": 2000}})
        self.take()
        self.assertEqual(self.said("b"), ("unchanged_range", "r:1:2000", "hash_match"))
        self.assertEqual(self.mode("b:3000-3010"), "full")

    def test_markers_and_diffs_of_theirs_carry_trust_on(self):
        old, new = "\n".join(numbered(1, 100)), "\n".join(numbered(1, 101))
        path = self.file("a.txt", new)
        self.result(old, {"readcache": self.theirs(path, old)})
        self.result("[readcache: unchanged, 100 lines]", {"readcache": self.theirs(path, old, mode="unchanged", baseHash=sha(old))})
        self.result("[readcache: 1 lines changed of 101]\n...", {"readcache": self.theirs(path, new, mode="diff", baseHash=sha(old))})
        self.take()
        self.assertEqual(self.status()["reads"]["diff"], 1)
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_a_marker_alone_starts_no_trust(self):
        text = "alpha\n"
        path = self.file("a.txt", text)
        self.result("[readcache: unchanged, 2 lines]", {"readcache": self.theirs(path, text, mode="unchanged", baseHash=sha(text))})
        self.take()
        self.assertEqual(self.mode("a.txt"), "full")

    def test_another_file_on_disk_is_no_marker(self):
        path = self.file("a.txt", "as it is now\n")
        self.result("as it was\n", {"readcache": self.theirs(path, "as it was\n")})
        self.take()
        self.assertEqual(self.said("a.txt")[0::2], ("full_fallback", "base_object_missing"))

    def test_a_wrong_debug_is_dropped_and_the_record_counts(self):
        """Case 11."""
        text = "alpha\n"
        path = self.file("a.txt", text)
        self.result(text, {"readcache": self.theirs(path, text, debug={"reason": "from_the_future", "scope": 5})})
        self.take()
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_what_is_no_record_gives_none_and_every_line_comes_back(self):
        text = "alpha\n"
        path = self.file("a.txt", text)
        good = self.theirs(path, text)
        self.result(text, {"readcache": good}, name="bash")
        for change in (
            {"v": 3}, {"v": "1"}, {"pathKey": "a.txt"}, {"pathKey": 5}, {"scopeKey": "r:9:2"}, {"scopeKey": "r:1:1"}, {"servedHash": ""}, {"servedHash": None}, {"mode": "other"}, {"mode": "unchanged"}, {"totalLines": 0}, {"rangeStart": 0}, {"rangeEnd": 0},
            {"rangeEnd": 3}, {"bytes": -1}, {"rangeStart": 1.5}, {"weir": {}}, {"weir": {"path": path}},
        ):  # fmt: skip
            self.result(text, {"readcache": {**good, **change}})
        for details in ({}, {"readcache": None}, {"readcache": []}, {"readcache": "x"}, {"truncation": {"truncated": True}}, None, "text", [1]):
            self.result(text, details)
        self.assertEqual([body for body in self.take() if "read" in body], [])
        self.assertEqual(self.mode("a.txt"), "full")

    def test_an_error_is_no_evidence(self):
        text = "alpha\n"
        path = self.file("a.txt", text)
        self.result(text, {"readcache": self.theirs(path, text)}, isError=True)
        self.take()
        self.assertEqual(self.status()["reads"]["not_evidence"], 1)
        self.assertEqual(self.mode("a.txt"), "full")

    def test_a_compaction_of_pi_is_the_barrier(self):
        text = "alpha\n"
        path = self.file("a.txt", text)
        kept = self.result(text, {"readcache": self.theirs(path, text)})
        barrier = self.line({"type": "compaction", "summary": "so far", "firstKeptEntryId": kept, "tokensBefore": 9})
        self.take()
        self.assertEqual(self.status()["boundary"], f"compaction:{barrier}")
        self.assertEqual(self.mode("a.txt"), "full")


class RefreshOfPiTest(PiCase):
    def test_an_invalidation_becomes_a_refresh(self):
        text = "\n".join(numbered(1, 100))
        path = self.file("a.txt", text)
        self.result(text, {"readcache": self.theirs(path, text)})
        self.invalidate(path, "r:10:20")
        bodies = self.take()
        self.assertEqual({key: bodies[1][key] for key in ("v", "path", "scope")}, {"v": 1, "path": path, "scope": "r:10:20"})
        self.assertEqual(self.log("s", "--limit", 1)[0]["type"], "refresh")
        self.assertEqual(self.status("a.txt")["blocked"], [[10, 20]])
        self.assertEqual((self.mode("a.txt:5-9"), self.said("a.txt:10-12")[2]), ("unchanged_range", "blocked_by_refresh"))

    def test_a_full_invalidation_takes_everything(self):
        path = self.file("a.txt", "alpha\n")
        self.result("alpha\n", {"readcache": self.theirs(path, "alpha\n")})
        self.invalidate(path)
        self.take()
        self.assertEqual(self.mode("a.txt"), "full")

    def test_lines_that_are_no_invalidation_stay_what_they_were(self):
        path = self.file("a.txt", "alpha\n")
        self.result("alpha\n", {"readcache": self.theirs(path, "alpha\n")})
        for change in ({"kind": "other"}, {"v": 2}, {"v": "1"}, {"scopeKey": "r:9:2"}, {"scopeKey": 5}, {"pathKey": "a.txt"}, {"pathKey": None}):
            self.invalidate(path, **change)
        self.line({"type": "custom", "customType": "pi-readcache", "data": "text"})
        self.line({"type": "custom", "customType": "pi-readcache"})
        self.line({"type": "custom", "customType": "other", "data": {"v": 1, "kind": "invalidate", "pathKey": path, "scopeKey": "full", "at": 1}})
        self.take()
        self.assertEqual({entry["type"] for entry in self.log("s", "--limit", 10)}, {"custom"})
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_odd_members_of_an_invalidation_come_back(self):
        path = self.file("a.txt", "alpha\n")
        for data in ({"more": {"deep": [1]}}, {"at": "yesterday"}, {"at": 1.5}, {"pathKey": path.replace("/cwd/", "/cwd/./x/../")}):
            self.invalidate(path, **data)
        self.lines_of_pi[-1]["beside"] = [1]
        self.take()


class OurRecordsTest(PiCase):
    def recorded(self, *reads):
        """Answers of a session of Weir's own, which a host is to carry home."""
        return [self.read(*args, session="elsewhere") for args in reads]

    def test_what_weir_answered_comes_back_as_the_record_it_was(self):
        """Case 11: record, details, record are equal."""
        self.file("b", numbered(1, 5000))
        answers = self.recorded(["b"], ["b"], ["b", "--offset", 2001], ["b", "--offset", 4001], ["b"])
        self.file("b", [*numbered(1, 3999), "changed", *numbered(4001, 5000)])
        answers += self.recorded(["b"], ["b:10-20"])
        self.assertEqual([answer["record"]["mode"] for answer in answers], ["full", "unchanged_range", "full", "full", "unchanged", "diff", "unchanged_range"])
        for answer in answers:
            self.result(answer["text"], {"readcache": self.ours(answer["record"])})
        self.assertEqual([body["read"] for body in self.take()], [answer["record"] for answer in answers])
        held = self.status("b")
        self.assertEqual([part["lines"] for part in held["view"]][0][0], 1)
        self.assertEqual({part["version"] for part in held["view"]}, {answers[-1]["record"]["served"]})
        self.assertEqual(self.mode("b"), "unchanged")

    def test_a_cut_diff_has_the_second_version_and_counts_for_what_it_showed(self):
        lines = [f"{i} " + "text " * 12 for i in range(1, 101)]
        self.file("m", lines)
        answers = self.recorded(["m"])
        self.config(max_bytes=1100)
        self.file("m", ["A " + lines[0], *lines[1:49], "B " + lines[49], *lines[50:99], "C " + lines[99]])
        answers += self.recorded(["m"])
        self.assertEqual((answers[1]["record"]["reason"], answers[1]["record"]["known"]), ("diff_cut", [[1, 99]]))
        for answer, version in zip(answers, (1, 2)):
            self.result(answer["text"], {"readcache": self.ours(answer["record"], v=version)})
        self.assertEqual(self.take()[-1]["read"], answers[-1]["record"])
        self.assertEqual((self.mode("m:1-99"), self.mode("m:99-100")), ("unchanged_range", "full"))

    def test_a_text_that_is_not_what_was_answered_is_no_evidence(self):
        self.file("a.txt", "alpha\n")
        (answer,) = self.recorded(["a.txt"])
        self.result("[output was removed]", {"readcache": self.ours(answer["record"])})
        self.take()
        self.assertEqual((self.status()["reads"]["not_evidence"], self.mode("a.txt")), (1, "full"))

    def test_several_text_blocks_are_one_text(self):
        self.file("a.txt", "alpha\nbeta\n")
        (answer,) = self.recorded(["a.txt"])
        self.result([{"type": "text", "text": "alpha\n"}, {"type": "text", "text": "beta\n"}], {"readcache": self.ours(answer["record"])})
        self.take()
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_a_text_that_became_a_blob_is_compared_by_its_hash(self):
        self.config(max_bytes=200000)
        text = "".join(f"line {i} {'x' * 80}\n" for i in range(1000))
        self.file("a.txt", text)
        (answer,) = self.recorded(["a.txt"])
        self.result(text, {"readcache": self.ours(answer["record"])})
        self.take()
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_a_text_whose_secret_is_masked_on_the_way_counts(self):
        """Case 25."""
        _, text, secret = secrets_made.made(1, seed=3)[0]
        self.file("a.txt", text)
        (answer,) = self.recorded(["a.txt"])
        self.result(text, {"readcache": self.ours(answer["record"])})
        content = jsonl([{"type": "session", "version": 3, "id": "s", "timestamp": STAMP, "cwd": self.world.cwd}, *self.lines_of_pi])
        self.weir("import", "pi", self.world.file("session.jsonl", content))
        self.assertNotIn(secret, "\n".join(self.world.dump()))
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_sync_takes_them_as_import_does(self):
        self.file("a.txt", "alpha\n")
        (answer,) = self.recorded(["a.txt"])
        leaf = self.result(answer["text"], {"readcache": self.ours(answer["record"])})
        self.answer("sync", "--format", "pi", stdin=compact({"format": "pi", "session": "s", "since": None, "entries": self.lines_of_pi, "leaf": leaf}))
        self.assertEqual(self.mode("a.txt"), "unchanged")
        later = self.invalidate(answer["record"]["path"])
        self.answer("sync", "--format", "pi", stdin=compact({"format": "pi", "session": "s", "since": leaf, "entries": self.lines_of_pi[-1:], "leaf": later}))
        self.assertEqual(self.mode("a.txt"), "full")

    def test_reads_and_refreshes_of_weirs_own_log_survive_a_journey_through_pi(self):
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt", session="own")
        self.refresh("a.txt", "10-20", session="own")
        self.read("a.txt:1-5", session="own")
        exported = self.weir("export", "--session", "own", "--format", "pi").out
        self.weir("import", "pi", self.world.file("own.jsonl", exported), "--as", "copy")
        self.assertEqual([(e["type"], e["body"]) for e in self.entries("copy") if e["type"] != "session_info"], [(e["type"], e["body"]) for e in self.entries("own")])
        self.assertEqual(self.status("a.txt", session="copy"), self.status("a.txt", session="own"))


if __name__ == "__main__":
    harness.main()
