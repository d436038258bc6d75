"""The program against the independent model in snapshot_model.py, on random sessions: after every instruction the entries,
due answers, compactions, stored snapshots, verdicts, narratives and refusals must be the same.

The model is fed with the entries as the program stored them: append fills in fields. What it holds of them is its own.

WEIR_PEER names the program (snapshot_peer), WEIR_SESSIONS how many sessions of each kind, WEIR_SEED where to start."""

import copy
import json
import os
import random
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import snapshot_model as model  # noqa: E402
import snapshot_sessions as sessions  # noqa: E402

PEER = os.environ.get("WEIR_PEER", os.path.join(os.path.dirname(__file__), "..", "..", "build", "release", "bin", "snapshot_peer"))
COUNT = int(os.environ.get("WEIR_SESSIONS", "5"))
SEED = int(os.environ.get("WEIR_SEED", "0"))
SESSION = "run"

# Codes whose messages the contract fixes.
FIXED = ("ILLEGAL_TRANSITION", "RUN_STOPPED", "EVIDENCE_ID_MISMATCH", "QUOTE_MISMATCH", "NOTHING_TO_COMPACT", "NOT_AT_BOUNDARY", "GATE_FAILED", "BUDGET_TOO_SMALL")


class Difference(Exception):
    pass


class Peer:
    def __enter__(self):
        self.process = subprocess.Popen([PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, do, **more):
        self.process.stdin.write(model.canonical_bytes({"do": do, **more}) + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Difference(f"{do}: the program ended with {self.process.wait()}")
        return json.loads(line)


def shortened(value):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else f"{text[:250]} ... {text[-150:]}"


def same(what, ours, theirs):
    """Both are the same value, or it is said where they differ."""
    where = model.first_difference(ours, theirs, what)
    if where is None:
        return
    a, b = ours, theirs
    for key in re.findall(r"\[(\d+)\]|\.([^.\[]+)", where[len(what) :]):
        a, b = (pick(side, int(key[0]) if key[0] else key[1]) for side in (a, b))
    raise Difference(f"{where}: model {shortened(a)} program {shortened(b)}")


def pick(value, key):
    if isinstance(value, list):
        return value[key] if isinstance(key, int) and key < len(value) else "(nothing)"
    return value.get(key, "(nothing)") if isinstance(value, dict) else "(nothing)"


def blob_names(value):
    """Hex names of all blobs that a body names."""
    return set(re.findall(r"\bsha256:([0-9a-f]{64})\b", json.dumps(value)))


class Run:
    """One session at the program, and what the model makes of it."""

    def __init__(self, peer, made, odd, checks):
        self.peer, self.made, self.odd, self.checks = peer, made, odd, checks
        self.chance = random.Random(f"oracle {made.seed}")
        self.path, self.others, self.blobs = [], [], {}
        self.state = model.Fold(self.blobs)
        peer.ask("open", session=SESSION)

    def run(self):
        for number, line in enumerate(self.made.lines):
            try:
                self.instruction(line)
                self.after()
            except Difference as difference:
                raise Difference(f"instruction {number} ({shortened(line)})\n  {difference}") from None
        self.snapshots(9)
        self.folds()

    # -- what the log holds ---------------------------------------------------------------------------------------------------

    def pull(self):
        """The entries that are new on the path, checked and folded."""
        new = self.peer.ask("path", after=len(self.path))["entries"]
        for given in new:
            for name in blob_names(given["body"]) - set(self.blobs):
                blob = self.peer.ask("blob", sha256=name)
                if "hex" in blob:
                    self.blobs[name] = bytes.fromhex(blob["hex"])
            entry = model.Entry(len(self.path) + 1, given, self.path[-1]["digest"] if self.path else None)
            if entry.broken:
                raise Difference(f"the digest of {given['type']} is not the model's")
            given["sound"] = True
            self.path.append(given)
            self.state.step(entry)
        return new

    def go_to(self, back):
        if back >= len(self.path):
            return
        self.peer.ask("goto", entry=self.path[-back - 1]["id"])
        self.others.append(self.path)
        self.path = self.path[:-back]
        self.state = model.fold(self.path, self.blobs)

    # -- instructions ---------------------------------------------------------------------------------------------------------

    def instruction(self, line):
        if "do" not in line:
            self.append(line)
        elif line["do"] == "refuse":
            self.refused({"type": line["type"], "body": line["body"]})
        elif line["do"] == "compact":
            self.compact()
        elif line["do"] == "goto":
            self.go_to(line["back"])
        else:
            raise Difference(f"unknown instruction {line['do']}")

    def refused(self, entry):
        """What a strict append would answer; whether it refuses."""
        expected = model.legal_after(self.state, entry["type"], entry["body"])
        answer = self.peer.ask("append", lenient=False, dry_run=True, entry=entry)
        self.same_refusal(expected, answer, entry["type"])
        return "error" in answer

    @staticmethod
    def same_refusal(expected, answer, kind):
        code, message = expected or (None, None)
        if kind not in model.FIELDS and answer.get("error") == "INVALID_FIELD":
            return  # the shape of messages and the like is not the snapshot's
        if answer.get("error") != code:
            raise Difference(f"strict append: model {shortened([code, message])} program {shortened(answer)}")
        if code is None:
            return
        if kind == "EVIDENCE_REGISTERED" and message.endswith(" is missing"):
            return  # which of those that append could not fill in is named first is not fixed
        told = re.sub(r" \(and \d+ more\)$", "", answer["message"])
        if code in FIXED or (code == "LIMIT_EXCEEDED" and not message.startswith("label")) or message.endswith(" is missing"):
            told = told if told == message else told[told.find(message.split(".", 1)[0]) :]
            if told != message:
                raise Difference(f"{code}: model {shortened(message)} program {shortened(answer['message'])}")
        elif code == "INVALID_FIELD" and message.split(" ", 1)[0] not in told:
            raise Difference(f"{code}: model {shortened(message)} program {shortened(answer['message'])}")

    def append(self, entry):
        stored = {key: entry[key] for key in ("type", "body", "id") if key in entry}
        refused = self.refused({"type": entry["type"], "body": entry["body"]}) if self.odd or self.chance.random() < 0.1 else False
        if refused and not self.odd:
            return
        answer = self.peer.ask("append", lenient=self.odd, entry=stored)
        if not self.odd:
            self.same_refusal(model.legal_after(self.state, entry["type"], entry["body"]), answer, entry["type"])
        if "error" in answer:
            if self.odd and not refused:
                raise Difference(f"lenient append: {shortened(answer)}")
            return
        before = self.path[:]
        self.pull()
        if answer["due"] != (self.state.due_trigger() is not None):
            raise Difference(f"append answers due {answer['due']}")
        self.warnings(before, answer["warnings"])

    def warnings(self, before, told):
        last = self.path[-1]
        if len(before) < len(self.path) and last["type"] in ("CLAIM_VERIFIED", "CONFLICT_RECORDED") and self.chance.random() < 0.2:
            for start in model.warnings(before, last["type"], last["body"], self.blobs):
                if not any(one.startswith(start) for one in told):
                    raise Difference(f"no warning {start!r} among {told}")

    def compact(self, **asked):
        if self.state.bare and self.chance.random() < 0.6:
            self.attach()
        if self.chance.random() < 0.5:
            self.peer.ask("forget")
        if self.chance.random() < 0.1:
            asked = {"max_bytes": self.chance.choice([0, 500, 4096])}
        elif self.chance.random() < 0.1:
            asked = {"reason": "egress"}
        elif self.chance.random() < 0.1:
            asked = {"tokens_before": 1000}
        due = model.fold(self.path[: model.default_cut(self.path)], self.blobs).due_trigger()
        trigger = {"reason": due or "EGRESS", "tokens_before": "HOST_BARRIER"}.get(next(iter(asked), None))
        bound = asked.get("max_bytes", model.NARRATIVE_BOUND)
        more = {"tokens_before": 1000} if "tokens_before" in asked else None
        expected, added = model.compact(self.path, dict(self.blobs), bound, trigger, more)
        if self.chance.random() < 0.3:
            self.dry_run(expected, asked)
        answer = self.peer.ask("compact", **asked)
        new = self.pull()
        if "code" in expected:
            same("refusal", {"error": expected["code"], "message": expected["message"]}, answer)
        else:
            self.same_answer(expected, answer, new)
        same("appended", [self.told(entry) for entry in added], [self.told(entry) for entry in new])

    def told(self, entry):
        body = model.normal(entry["body"])
        if "narrative" in body:
            body["narrative"] = text_of(body["narrative"], self.blobs)  # a long one is in a blob
        return {"type": entry["type"], "body": body}

    def sent(self):
        """Somebody sends a compaction with a snapshot, or attaches one: it is held to the checks at the head, or at the barrier."""
        attached = self.state.bare is not None and self.chance.random() < 0.6
        cut = model.default_cut(self.path[: self.state.bare.pos - 1] if attached else self.path)
        try:
            stored = model.snapshot(self.path[:cut], cut, "HOST_BARRIER" if attached else None, self.blobs)
        except model.NothingToCompact:
            return
        kind, target = ("SNAPSHOT_ATTACHED", {"target": self.state.bare.ptr}) if attached else ("compaction", {})
        shown = model.shown_form(self.path, stored, SESSION)
        for data in [model.canonical_bytes(shown), *sessions.mutated(f"sent {self.made.seed} {len(self.path)}", shown, 2)]:
            try:
                sent = model.parse(data)
            except model.NotJson:
                continue
            body = {"snapshot": sent, **target}
            answer = self.peer.ask("append", dry_run=True, lenient=self.odd, entry={"type": kind, "body": body})
            if self.state.stopped:
                same("sent", "RUN_STOPPED", answer.get("error"))
                continue
            whole = {"run_id": SESSION, "created_at": shown["created_at"], **sent}
            if isinstance(whole.get("provenance"), dict):
                whole["provenance"] = {"located": shown["provenance"]["located"], **whole["provenance"]}
            verdict = model.check(self.path[:cut], self.blobs, model.canonical_bytes(whole), SESSION)
            failed = [one for one in verdict["checks"] if one["status"] == "FAIL"]
            if failed:
                self.gate_failed("sent", failed, answer)
            else:
                same("sent.error", None, answer.get("error"))

    @staticmethod
    def gate_failed(what, failed, answer):
        told = f"snapshot fails {len(failed)} checks; first: {failed[0]['name']}: {failed[0]['message']}"
        same(what, {"error": "GATE_FAILED", "message": told}, answer)

    def same_answer(self, expected, answer, new):
        for key in ("status", "already", "snapshot_id", "sequence", "run"):
            same(f"compact.{key}", expected[key], answer.get(key))
        if expected["already"]:
            same("compact.entry", next(e["id"] for e in self.path if model.pointer(e["digest"]) == expected["entry"]), answer["entry"])
            return
        for key in ("action", "attempts", "failed"):
            same(f"compact.{key}", expected[key], answer[key])
        same("compact.entry", new[-1]["id"], answer["entry"])
        same("compact.narrative", text_of(new[-1]["body"]["narrative"], self.blobs), answer["narrative"])
        same("compact.diagnostic", None, answer["diagnostic"])

    def dry_run(self, expected, asked):
        answer = self.peer.ask("compact", dry_run=True, **asked)
        same("dry run appends", [], self.pull())
        if expected.get("code") == "GATE_FAILED" and "failed" in expected:
            same("dry_run.failed", expected["failed"], answer.get("failed"))
        elif "code" in expected:
            same("dry_run.error", expected["code"], answer.get("error"))
        else:
            same("dry_run.snapshot_id", expected["snapshot_id"], answer.get("snapshot_id"))

    def attach(self):
        """A snapshot for the nearest bare barrier, cut at its parent."""
        cut = model.default_cut(self.path[: self.state.bare.pos - 1])
        bare = self.state.bare.ptr
        answer = self.peer.ask("attach")
        new = self.pull()
        if self.state.stopped:
            same("attach", "RUN_STOPPED", answer.get("error"))
            return
        try:
            stored = model.snapshot(self.path[:cut], cut, "HOST_BARRIER", self.blobs)
        except model.NothingToCompact:
            same("attach", "NOTHING_TO_COMPACT", answer.get("error"))
            return
        if stored["validation"]["status"] == "FAIL":
            self.gate_failed("attach", [one for one in stored["validation"]["checks"] if one["status"] == "FAIL"], answer)
            return
        same("attach.error", None, answer.get("error"))
        body = {**model.compaction_body(stored, blobs={}), "target": bare}
        same("attached", [{"type": "SNAPSHOT_ATTACHED", "body": body}], [self.told(entry) for entry in new])

    # -- after each instruction -----------------------------------------------------------------------------------------------

    def after(self):
        if not self.path:
            return
        same("due", self.due(), self.peer.ask("due"))
        if self.chance.random() < 0.03:
            asked = {"event_threshold": self.chance.randrange(1, 20), "n_step_fallback": self.chance.randrange(1, 9)}
            same("due", model.due(self.path, self.blobs, **asked), self.peer.ask("due", **asked))
        if self.chance.random() < 0.04:
            self.folds()
        if self.chance.random() < 0.04:
            self.snapshots(2)
        if self.chance.random() < 0.02:
            self.sent()

    def due(self):
        state, trigger = self.state, self.state.due_trigger()
        return {
            "due": trigger is not None, "trigger": trigger, "at_boundary": state.open_step is None, **state.counts(),
            "message_bytes_since_last_compaction": state.message_bytes, "thresholds": dict(state.thresholds),
            "barrier": state.barrier.ptr if state.barrier else None, "bare_barrier": state.bare.ptr if state.bare else None,
            "stopped": state.stopped.ptr if state.stopped else None,
        }  # fmt: skip

    def folds(self):
        """The live fold, one read back from what is saved, and a replay from the root are one, with and without saved states."""
        live = self.peer.ask("folds")
        if len(set(live.values())) != 1:
            raise Difference(f"folds differ: {live}")
        if self.chance.random() < 0.5:
            self.peer.ask("forget")
            same("folds", live, self.peer.ask("folds"))

    def snapshots(self, most):
        """The last snapshots of the path: as shown, as narratives, and as the validator judges them and changed ones."""
        self.checked = {}
        for stored, holder in self.state.accepted[-most:]:
            shown = self.peer.ask("show", which=holder.ptr)
            at = shown.pop("created_at", None)
            ours = model.shown_form(self.path, stored, SESSION, at)
            del ours["created_at"]
            same("shown", ours, shown)
            shown["created_at"] = at
            self.check(model.canonical_bytes(shown))
            for data in sessions.mutated(f"{self.made.seed} {stored['snapshot_id']} {len(self.path)}", shown, self.checks):
                self.check(data)
            self.narratives(stored, holder)

    def check(self, data):
        ours = model.check(self.path, self.blobs, data, SESSION, self.others, folds=self.checked)
        theirs = self.peer.ask("check", hex=data.hex())
        if "; first: not JSON: " in ours["checks"][0]["message"]:
            ours["checks"][0]["message"] = re.sub("not JSON: .*", "", ours["checks"][0]["message"], flags=re.DOTALL)
            theirs["checks"][0]["message"] = re.sub("not JSON: .*", "", theirs["checks"][0]["message"], flags=re.DOTALL)
        for a, b in zip(ours["checks"], theirs["checks"]):
            same(f"check {a['name']}", a, b)
        same("verdict", ours, theirs)

    def narratives(self, stored, holder):
        whole = model.size(model.narrative(stored))
        least = model.narrative(stored, 1)[1]
        bounds = [0, 1, least, least - 1, whole, whole - 1, 4096, self.chance.randrange(1, whole), self.chance.randrange(least, whole + 1)]
        for bound in sorted({bound for bound in bounds if bound >= 0}):
            ours = model.narrative(stored, bound)
            theirs = self.peer.ask("narrative", which=holder.ptr, max_bytes=bound)
            if isinstance(ours, tuple):
                same(f"narrative {bound}", {"error": ours[0], "message": f"the narrative needs at least {ours[1]} bytes, --max-bytes is {bound}"}, theirs)
            else:
                same(f"narrative {bound}", ours.split("\n"), theirs.get("text", str(theirs)).split("\n"))
        kept = holder.body["narrative"]
        same("kept narrative", text_of(kept, self.blobs), self.peer.ask("narrative", which=holder.ptr)["text"])


def text_of(value, blobs):
    return value if isinstance(value, str) else blobs[value["$blob"].removeprefix("sha256:")].decode("utf-8")


class OracleTest(unittest.TestCase):
    def run_sessions(self, odd, plain):
        with Peer() as peer:
            for seed in range(SEED, SEED + COUNT):
                made = sessions.session(seed, odd=odd, plain=plain)
                with self.subTest(seed=seed, odd=odd, plain=plain):
                    try:
                        Run(peer, made, odd, 6).run()
                    except Difference as difference:
                        self.fail(f"seed {seed}{' odd' if odd else ''}{' plain' if plain else ''}, {difference}")
                    self.assertEqual(peer.ask("verify"), {"findings": []})

    def test_runs_under_strict_append(self):
        self.run_sessions(odd=False, plain=False)

    def test_plain_sessions_under_strict_append(self):
        self.run_sessions(odd=False, plain=True)

    def test_odd_runs_under_lenient_append(self):
        self.run_sessions(odd=True, plain=False)

    def test_odd_plain_sessions_under_lenient_append(self):
        self.run_sessions(odd=True, plain=True)


def said(role, content, **more):
    return {"type": "message", "body": {"role": role, "content": content, **more}}


def called(call, tool, **arguments):
    named = {} if tool is None else {"name": tool}
    return said("assistant", "", tool_calls=[{"id": call, "arguments": arguments, **named}])


def event(kind, **body):
    return {"type": kind, "body": body}


COMPACT = {"do": "compact"}
SPAN = {"unit": "utf8", "start": 0, "end": 4}
MANIFEST = {"retrieval_query": None, "step_id": 1}
STARTED = event("RUN_STARTED", objective="o", done_definition="d", namespace={"index_id": "i"}, config={"event_threshold": 3, "require_manifests": False})
EVIDENCE = [event("SOURCE_REGISTERED", source_id="s", text="some text"), event("CHUNK_REGISTERED", chunk_id="c", source_id="s", span=SPAN, delivered=True),
            event("EVIDENCE_REGISTERED", chunk_id="c", span=SPAN)]  # fmt: skip

# What was once wrong on either side.
CASES = {
    "evidence detached from an unknown claim": [STARTED, *EVIDENCE, event("EVIDENCE_DETACHED", claim_id="nobody", evidence_id=model.evidence_id("i", None, "c", SPAN)), COMPACT],
    "a failing call without a name": [said("user", "go"), called("t", None, command="x"), said("tool", "no", tool_call_id="t", is_error=True), COMPACT],
    "a path as long as a string may be": [said("user", "go"), called("t", "read", path="p" * 16384), said("tool", "ok", tool_call_id="t"), COMPACT],
    "a path longer than that below the cwd": [{"type": "session_info", "body": {"cwd": "/" + "d" * 300}}, said("user", "go"), called("t", "write", path="../" + "p" * 16370, content="x"),
                                              said("tool", "ok", tool_call_id="t"), COMPACT],  # fmt: skip
    "a pin by the caller's own id after a dry run without it": [{**said("user", "keep this"), "id": "mine"}, event("label", target="mine", label="pin"), COMPACT],
    "texts that begin with blanks": [said("user", " " * 17000 + "go"), said("assistant", " " * 600 + "done"), COMPACT],
    "a system text in blocks": [said("system", "a\nb"), said("system", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), said("user", "go"), COMPACT],
    "a failure and a success by name only": [said("user", "go"), said("tool", "no", tool_call_id="x", name="grep", is_error=True), said("tool", "ok", tool_call_id="y", name="grep"), COMPACT],
    "another manifest under one id": [STARTED, event("CONTEXT_MANIFEST_WRITTEN", manifest=MANIFEST, manifest_id=model.manifest_id(MANIFEST)),
                                      event("CONTEXT_MANIFEST_WRITTEN", manifest={"n": 1}, manifest_id=model.manifest_id(MANIFEST)), COMPACT],  # fmt: skip
    "a word cut within a character": [STARTED, event("RUN_STOPPED", stop_reason="é" * 100), COMPACT],
    "more than is listed": [line for i in range(204) for line in (said("user", f"r{i}"), called(f"t{i}", "bash", command=f"c{i}"), said("tool", "ok", tool_call_id=f"t{i}"))] + [COMPACT],
    "more than an entry holds": [STARTED] + [event("CLAIM_PROPOSED", claim_id=f"c{i}", statement=f"{i} " + "é" * 8000) for i in range(20)] + [COMPACT],
}  # fmt: skip


class CasesTest(unittest.TestCase):
    def test_cases(self):
        with Peer() as peer:
            for name, lines in CASES.items():
                with self.subTest(case=name):
                    try:
                        Run(peer, sessions.Made(name, lines, [], [], {}), True, 2).run()
                    except Difference as difference:
                        self.fail(f"{name}: {difference}")
                    self.assertEqual(peer.ask("verify"), {"findings": []})


if __name__ == "__main__":
    unittest.main()
