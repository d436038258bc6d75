"""What the tests of compaction snapshots share: the worked example of the contract page, ways to make run events, and ways
to look at what a compaction left. Canonical JSON and the ids are said once more here, on their own."""

import atexit
import copy
import hashlib
import json
import os
import shutil
import sqlite3

import harness
from harness import CliTest, World, entry, jsonl

CHECKS = """schema_keys_and_types snapshot_id_deterministic sequence_contiguous run_id_stable objective_unchanged done_definition_unchanged
log_chain_intact event_range_contiguous counts_match_log ledger_consistent life_cycle_legal ids_unique evidence_pointers_well_formed
evidence_pointers_resolve evidence_ids_deterministic quotes_verify verified_claims_have_evidence no_new_verified_claims conflicts_two_sided
no_silent_drop fold_reproduces_state coverage_consistent manifests_complete deltas_match_previous pointers_only""".split()
SOURCE = "Gauge 7 read 4 cm above the staff on all nine dry days.\nOn 3 May gauge 7 and the staff agreed to the millimetre.\n"
EV1, EV2 = "ev1_8b187c06c2e72a790bf7aff6054ffb39", "ev1_7319bd1d99523a4d82f3daa1e00876c8"
RUN = "gauge-7"


# ---- canonical JSON and ids ----


def canonical(value):
    """RFC 8785 for values whose numbers are integers."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(canonical(key) + ":" + canonical(value[key]) for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def sha256(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def digest(domain, value):
    return sha256(domain.encode() + b"\0" + canonical(value).encode())


def short(prefix, domain, value):
    return prefix + digest(domain, value)[:32]


def evidence_id(chunk, start, end, ns="river@1", kind="index", unit="utf8"):
    return short("ev1_", "weir.evidence_id.v1", {"chunk_id": chunk, "ns": {"id": ns, "kind": kind}, "span": {"unit": unit, "start": start, "end": end}})


def failure_id(category, where, error_code=None, tool_name=None):
    return short("fail1_", "weir.failure_id.v1", {"category": category, "where": where, "error_code": error_code, "tool_name": tool_name})


def stored_form(shown):
    """The shown form without what differs between two recordings."""
    out = copy.deepcopy(shown)
    for key in ("run_id", "created_at"):
        out.pop(key, None)
    if isinstance(out.get("provenance"), dict):
        out["provenance"].pop("located", None)
    return out


def hashed_form(shown):
    out = stored_form(shown)
    out.pop("snapshot_id", None)
    out.pop("validation", None)
    return out


def snapshot_id(shown):
    return short("snap1_", "weir.snapshot_id.v1", hashed_form(shown))


# ---- run events ----


def event(type, **body):
    fields = {key: body.pop(key) for key in ("id", "at") if key in body}
    return {"type": type, "body": body, **fields}


def run_started(objective="Find out", done="it is known", **body):
    return event("RUN_STARTED", objective=objective, done_definition=done, **body)


def loose(**config):
    """A run that asks for no manifests."""
    return run_started(config={"require_manifests": False, **config})


def manifest(step, selected=(), sources=(), **fields):
    content = {
        "candidate_chunk_ids": list(selected), "filters": [], "retrieval_query": None, "selected_chunk_ids": list(selected),
        "selected_source_ids": list(sources), "step_id": step, **fields,
    }  # fmt: skip
    return event("CONTEXT_MANIFEST_WRITTEN", manifest=content, manifest_id=short("man1_", "weir.manifest_id.v1", content), step_id=step)


def step(number, *within, manifests=False):
    """One full step: three counted events."""
    head = [manifest(number)] if manifests else []
    return head + [event("PLAN_DONE", step_id=number), event("ACT_DONE", step_id=number), *within, event("OBSERVE_DONE", step_id=number)]


def steps(first, last, **how):
    return [one for number in range(first, last + 1) for one in step(number, **how)]


def source(id="s1", text="alpha beta gamma delta\n", **body):
    return event("SOURCE_REGISTERED", source_id=id, title=id, uri=None, text=text, **body)


def chunk(id="s1#1", source_id="s1", start=0, end=10, **body):
    return event("CHUNK_REGISTERED", chunk_id=id, source_id=source_id, span={"unit": "utf8", "start": start, "end": end}, **body)


def evidence(chunk_id="s1#1", start=0, end=5, **body):
    return event("EVIDENCE_REGISTERED", chunk_id=chunk_id, span={"unit": "utf8", "start": start, "end": end}, **body)


def claim(id, statement=None):
    return event("CLAIM_PROPOSED", claim_id=id, statement=statement or f"statement of {id}")


def attach(claim_id, evidence_id):
    return event("EVIDENCE_ATTACHED", claim_id=claim_id, evidence_id=evidence_id)


def verify(claim_id):
    return event("CLAIM_VERIFIED", claim_id=claim_id)


def conflict(id, side_a, side_b, description="Which one?"):
    return event("CONFLICT_RECORDED", conflict_id=id, description=description, side_a=side_a, side_b=side_b)


def calls(*items, text=""):
    """An assistant message; each call is (id, name, arguments)."""
    made = entry(text, "assistant")
    made["body"]["tool_calls"] = [{"id": id, "name": name, "arguments": arguments} for id, name, arguments in items]
    return made


def result(call, text="ok", error=None, **body):
    made = entry(text, "tool")
    made["body"].update({"tool_call_id": call, **({} if error is None else {"is_error": error}), **body})
    return made


# A small run with two pieces of evidence at hand: E1 and E2, of chunks that were shown.
E1, E2 = evidence_id("s1#1", 0, 5, "lib"), evidence_id("s1#2", 0, 5, "lib")


def with_evidence(**run):
    run.setdefault("config", {"require_manifests": False})
    return [
        run_started(namespace={"index_id": "lib"}, **run), source(), chunk("s1#1", start=0, end=10, delivered=True),
        chunk("s1#2", start=10, end=20, delivered=True), evidence("s1#1"), evidence("s1#2"),
    ]  # fmt: skip


# ---- the worked example of section 13 ----


def example():
    span = lambda end, start=0: {"end": end, "start": start, "unit": "utf8"}  # noqa: E731
    sha1, sha2 = "55805405c78e7fe61616c984048dd6faac363a18eddf09565eaafd398934199f", "bde12de2f9e4ea0c8f4c8049722ba1a6682354b0225c3bd059551251d458d6cf"
    one, two = "log-2026#1", "log-2026#2"
    return [
        entry("Never edit the raw logs.", "system"),
        event("RUN_STARTED", budgets={"max_steps": 12}, config={"event_threshold": 3, "n_step_fallback": 8}, done_definition={"every_reading_judged": True},
              namespace={"index_id": "river@1"}, objective="Which readings of gauge_7 can be trusted?", policy_snapshot_ref=None, provenance_mode="quotes_checked"),
        entry("Check gauge 7 before the flood season.\n## Report only what the logs show."),
        event("STEP_STARTED", step_id=1),
        event("SOURCE_REGISTERED", source_id="log-2026", title="Station log 2026", uri=None, text=SOURCE),
        event("CHUNK_REGISTERED", blob=None, bytes=55, chunk_id=one, delivered=False, sha256=sha1, source_id="log-2026", span=span(55)),
        event("CHUNK_REGISTERED", blob=None, bytes=56, chunk_id=two, delivered=False, sha256=sha2, source_id="log-2026", span=span(112, 56)),
        manifest(1, [one, two], ["log-2026"], candidate_chunk_ids=[one, two, "log-2026#3"], filters=["year:2026"], retrieval_query="gauge 7", snapshot_id=None,
                 thresholds={"event_threshold": 3, "n_step_fallback": 8, "plain_bytes_threshold": 0}),
        event("PLAN_DONE", step_id=1),
        calls(("t1", "bash", {"command": "./replay.sh 7"}), ("t2", "write", {"content": "Gauge 7 reads high.\n", "path": "notes.md"})),
        result("t1", "replay.sh: no such station", True), result("t2", "ok", False),
        event("ACT_DONE", step_id=1),
        event("EVIDENCE_REGISTERED", chunk_id=one, corpus_id=None, evidence_id=EV1, index_id="river@1", quote_bytes=55, quote_sha256=sha1, source_id="log-2026", span=span(55)),
        event("EVIDENCE_REGISTERED", chunk_id=two, corpus_id=None, evidence_id=EV2, index_id="river@1", quote_bytes=56, quote_sha256=sha2, source_id="log-2026", span=span(56)),
        claim("c1", "gauge_7 reads 4 cm high in dry weather"), attach("c1", EV1), verify("c1"), claim("c2", "The error comes from the float"),
        conflict("k1", [EV1], [EV2], "Offset #1: constant or not?"),
        event("QUESTION_OPENED", question_id="q1", text="Was the staff moved on 3 May?"),
        event("NEXT_ACTIONS_SET", actions=["Ask for the maintenance book"]),
        event("OBSERVE_DONE", step_id=1),
    ]  # fmt: skip


def second_part():
    """What follows the first compaction of the example: a retraction, a claim verified and taken back, one more of everything."""
    return [
        event("STEP_STARTED", step_id=2), manifest(2, ["log-2026#2"], ["log-2026"], retrieval_query="staff"), event("PLAN_DONE", step_id=2),
        calls(("t3", "edit", {"path": "notes.md", "old": "high", "new": "low"})), result("t3"), event("ACT_DONE", step_id=2),
        claim("c3", "The staff was not moved"), attach("c3", EV2), verify("c3"),
        claim("c4", "The offset grows"), attach("c4", EV1), verify("c4"), event("CLAIM_DOWNGRADED", claim_id="c4", reason="too few days"),
        event("CLAIM_RETRACTED", claim_id="c2", reason="no float is fitted"),
        event("QUESTION_OPENED", question_id="q2", text="Who read the staff?"),
        event("FAILURE_RECORDED", category="retrieval", where="OBSERVE/rerank", why="no answer"),
        event("OBSERVE_DONE", step_id=2),
    ]  # fmt: skip


class SnapshotCase(CliTest):
    _kept = {}

    def template(self, name, build):
        """A store that `build` makes once for all tests; each test gets a copy of it."""
        kept = SnapshotCase._kept.get(name)
        if kept is None:
            build()
            keeper = World()
            atexit.register(keeper.close)
            kept = SnapshotCase._kept[name] = os.path.join(keeper.root, "kept")
            self.copy_store(self.world.store, kept)
        else:
            self.copy_store(kept, self.world.store)

    def copy_store(self, there, here):
        shutil.rmtree(here, ignore_errors=True)
        os.makedirs(os.path.dirname(here), exist_ok=True)
        shutil.copytree(there, here, symlinks=True)

    def one_snapshot(self):
        def build():
            self.give(example(), RUN)
            self.compact(RUN)

        self.template("one", build)

    def two_snapshots(self):
        def build():
            self.give(example(), RUN)
            self.compact(RUN)
            self.give(second_part(), RUN)
            self.compact(RUN)

        self.template("two", build)

    # ---- doing ----

    def give(self, entries, session="s", *args, **how):
        """Appends the entries in one go; answers append's answer."""
        return self.answer("append", "--session", session, *args, stdin=jsonl(entries), **how)

    def not_taken(self, code, one, session="s", *args):
        """A strict append of one entry is refused with this code, and nothing is stored; answers the message."""
        return self.refused(code, "append", "--session", session, *args, stdin=jsonl([one] if isinstance(one, dict) else one))["message"]

    def compact(self, session="s", *args, **how):
        return self.answer("compact", "--session", session, *args, **how)

    def dry(self, session="s", *args, code=0):
        return self.answer("compact", "--session", session, "--dry-run", *args, code=code)

    def gate_fails(self, session="s", *args):
        """A compaction that fails twice; answers the error."""
        return self.refused("GATE_FAILED", "compact", "--session", session, *args, unchanged=False)

    def due(self, session="s", *args):
        """The answer of due; the exit code must agree with it."""
        ran = self.world.run("--json", "due", "--session", session, *args)
        self.assertIn(ran.code, (0, 1), ran)
        answer = harness.parse_line(ran.text)
        self.assertEqual(ran.code, 0 if answer["due"] else 1, ran)
        return answer

    def counts(self, session="s", *args):
        found = self.due(session, *args)
        return found["counted_events_since_last_compaction"], found["steps_since_last_compaction"], found["trigger"]

    def shown(self, which="last", session="s", *args):
        return self.answer("snapshot", "show", which, "--session", session, *args)

    def state(self, session="s", *args):
        """The state of a compaction made now, without writing it."""
        self.compact(session, *args)
        return self.shown("last", session)["state"]

    def narrative(self, which="last", session="s", *args):
        return self.weir("snapshot", "narrative", which, "--session", session, *args).text

    def goto(self, place, session="s", *args):
        self.weir("head", "move", "main", place, "--session", session, *args)

    def path(self, session="s"):
        """The entries of the path, root first."""
        return self.log(session, "--reverse")

    def kinds(self, session="s"):
        return [one["type"] for one in self.path(session)]

    def pointer(self, one):
        return "e" + one["digest"][:16]

    # ---- checking ----

    def check(self, value, *args, code=8):
        """The verdict on a file, as {name: message} of the failed checks; all 25 are listed, in order."""
        data = value if isinstance(value, bytes) else canonical(value).encode()
        answer = self.answer("snapshot", "check", "-", *args, code=code, stdin=data)
        return self.failed(answer, code)

    def failed(self, verdict, code=8):
        self.assertEqual(sorted(verdict), ["checks", "failure_action_taken", "status"])
        self.assertEqual(verdict["status"], "PASS" if code == 0 else "FAIL")
        names = [one["name"] for one in verdict["checks"]]
        bad = {one["name"]: one["message"] for one in verdict["checks"] if one["status"] != "PASS"}
        self.assertEqual(names, CHECKS[:1] if CHECKS[0] in bad else CHECKS)
        self.assertEqual(bool(bad), code != 0)
        for one in verdict["checks"]:
            self.assertEqual(sorted(one), ["message", "name", "status"])
            self.assertIn(one["status"], ("PASS", "FAIL"))
            self.assertTrue(one["message"])
        return bad

    # ---- damage ----

    def database(self):
        return sqlite3.connect(os.path.join(self.world.store, "weir.db"))

    def flip(self, session, identity, old, new):
        """Changes a stored body in place, same length."""
        self.assertEqual(len(old), len(new))
        connection = self.database()
        key, body = connection.execute("SELECT key, body FROM entry JOIN session ON session.no = entry.session WHERE session.id=? AND entry.id=?", (session, identity)).fetchone()
        data = body.encode() if isinstance(body, str) else bytes(body)
        self.assertIn(old, data)
        changed = data.replace(old, new, 1)
        connection.execute("UPDATE entry SET body=? WHERE key=?", (changed.decode() if isinstance(body, str) else changed, key))
        connection.commit()
        connection.close()

    def forget_checkpoints(self):
        connection = self.database()
        connection.execute("DELETE FROM checkpoint")
        connection.commit()
        connection.close()

    def blob_path(self, name):
        return self.world.objects()[self.world.object_names().index(name)]

    def damage_blob(self, name):
        """One bit of a stored object; answers what mends it."""
        path = self.blob_path(name)
        with open(path, "rb") as file:
            good = file.read()
        os.chmod(path, 0o600)
        with open(path, "wb") as file:
            file.write(bytes([good[0] ^ 1]) + good[1:])

        def mend():
            with open(path, "wb") as file:
                file.write(good)

        return mend

    def damage_source(self):
        return self.damage_blob("sha256:" + sha256(SOURCE))


main = harness.main
