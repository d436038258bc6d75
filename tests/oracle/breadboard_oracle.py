#!/usr/bin/env python3
"""The profile breadboard-0.1 against the model beside this file.

breadboard_oracle.py <breadboard_peer> <folder of the vectors> [seed [rounds]]

First the model against every vector, then random odd texts, record files, sessions, configs and arguments through both.
Ends with 1 on any difference.
"""
import json
import os
import random
import subprocess
import sys
import time

import breadboard_model as model

PEER, VECTORS = sys.argv[1:3]
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 1
dice = random.Random(SEED)
sys.setrecursionlimit(5000)


def fail(*lines):
    print(*lines, sep="\n", file=sys.stderr)
    sys.exit(1)


# ---- the model against the vectors ----
def check(what, got, wanted):
    if model.plain(got) != model.plain(wanted):
        fail(f"the model differs from the vectors: {what}", model.plain(got)[:2000], model.plain(wanted)[:2000])


def check_vector(path):
    with open(path, encoding="utf-8") as file:
        vector = json.load(file)
    expected, session = vector["expected"], model.Session()
    for text in vector["input"]["records_text"]:
        session.record(model.read(text))
    check("nodes", [{"id": n.id, "digest": n.digest, "kind": n.kind, "turn": n.turn} for n in session.nodes], expected["nodes"])
    check("digest_preimage", [n.preimage for n in session.nodes], expected["digest_preimage"])
    check("snapshot", session.snapshot(), expected["snapshot"])
    files = {"events_jsonl": session.events_jsonl(), "snapshot_json": model.indented(session.snapshot())}
    check("persist", files, expected["persist"])
    again, findings = model.read_file(files["events_jsonl"].encode())
    check("findings", findings, [["header", 1, 0]])
    replay = {"snapshot": again.snapshot(), "compile_hashes": model.compile_session(again)["hashes"], "node_ids": [n.id for n in again.nodes]}
    check("replay_from_disk", replay, expected["replay_from_disk"])
    for item in expected["compile"]:
        check("compile", model.compile_session(session, item["config"], item["prompt_summary"]), item["output"])
    for item in expected["collapse_policy"]:
        check("collapse_policy", model.collapse_policy(session, **item["args"]), item["output"])
    check("collapse_ctree", model.collapse_session(session), expected["collapse_ctree"])
    check("hash_summary", model.hash_summary(session), expected["hash_summary"])
    check("context_note", model.note_line(model.hash_summary(session)), expected["context_note"])
    for item in expected["tree"]:
        check("tree", model.tree(session, **item["args"]), item["output"])
    for item in expected.get("context", []):
        selection, compiled = model.context(session, **item["args"])
        check("context", selection, item["selection"])
        check("context hashes", compiled["hashes"], item["compiled_hashes"])
        check("injected text", model.injected_text(selection, compiled), item["system_message"]["content"])


# ---- chance ----
def pick(*choices):
    return dice.choice(choices)


def often(make, *others):
    """Mostly make(), sometimes one of the others."""
    return make() if dice.random() < 0.75 else pick(*others)


CHARACTERS = ["a", "Z", "0", " ", "\t", "\n", "\r", "\r\n", "\x00", "\x1c", "\x1f", "\x7f", "\x85", "\xa0", "\u2028", "\u3000", "\ufeff", "é", "İ", "\u212a", "ſ",
              "日", "\uffff", "\U00010000", "😀", "\ud800", "\udc00", "\udbff", '"', "\\", "/", "\u0660", "１", "_", "-", "+", ".", "e"]


def word():
    return "".join(dice.choice(CHARACTERS) for _ in range(dice.randrange(dice.choice([2, 5, 30]))))


def number():
    return pick(0, 1, -1, 2, 3, 10**18, -10**25, 10**400, 0.0, -0.0, 1.0, 0.5, -2.5, 1e15, 1e16, 1e22, 1e23, 1e300, 1e-4, 1e-5, 5e-324,
                123456789012345678.0, float("inf"), float("-inf"), float("nan"), dice.uniform(-1e3, 1e3), dice.getrandbits(70),
                dice.random() * 10 ** dice.randrange(-30, 30))


KEYS = ["role", "content", "text", "name", "tool_calls", "task_id", "parent_task_id", "tree_path", "subagent_type", "type", "kind", "seq", "timestamp",
        "timestamp_ms", "Seq", "api_key", "API_Key", "api_\u212aey", "Authorization", "openai_api_key", "OPENROUTER_API_KEY", "anthropic_api_key", "apikey",
        "id", "", "\uffff", "\U00010000", "\ud800", "é"]


def value(depth=3):
    kind = dice.randrange(8 if depth else 5)
    if kind == 0:
        return pick(None, True, False)
    if kind < 3:
        return number()
    if kind < 5:
        return word()
    count = dice.randrange(pick(1, 3, 5))
    if kind < 7:
        return {(pick(*KEYS) if dice.random() < 0.7 else word()): value(depth - 1) for _ in range(count)}
    return [value(depth - 1) for _ in range(count)]


def padded(text):
    return pick(text, text, " " + text, text + "\u3000", "\x1c" + text + "\n", text.upper(), text.title())


def content():
    key = "sk-" + "aB3" * pick(5, 6, 7)
    return often(word, None, "", key, "x" + key + "!", "a-----BEGIN RSA\r\nPRIVATE \u212aEY", "-----begin", "l\r\nm\rn" * 60, [{"type": "text", "text": "t", "seq": 1}],
                 7, True, {})


def message():
    payload = {"role": often(lambda: padded(pick("user", "assistant", "system", "tool")), None, 5, 2.0, True, "", " ", float("nan"), [1], {})}
    payload["content"] = content()
    for key, make in {"text": content, "tool_calls": lambda: pick(None, [], [1, 2], [{"id": "c"}], {}, 0), "name": lambda: pick(None, "n", 3, "", False, [])}.items():
        if dice.random() < 0.3:
            payload[key] = make()
    if dice.random() < 0.3:
        del payload[pick("role", "content")]
    if dice.random() < 0.2:
        payload[pick(*KEYS)] = value()
    return payload


def task():
    ids = ["A", "B", " A ", "c", "", "  ", 5, None]
    return {key: pick(*ids) for key in ("task_id", "parent_task_id", "tree_path", "subagent_type", "kind") if dice.random() < 0.6}


def record(same_ids=False):
    kind = often(lambda: pick("message", "message", "message", "task_event", "subagent", "lifecycle", "guardrail", "note"), "", " ", "None", "True", "mässage", "5")
    out = {"kind": kind, "turn": often(lambda: pick(0, 1, 2, 3, None), True, False, -1, 10**30, -10**30, 1.0, "1", [1], {"seq": 1})}
    out["payload"] = message() if kind == "message" else task() if kind in model.TASK_KINDS else value()
    if dice.random() < 0.15:
        out["payload"] = value()
    if kind in ("lifecycle", "guardrail") and dice.random() < 0.7:
        out["payload"] = {"type": pick("start", " end ", "", None, 5, True, [1])}
    if same_ids and dice.random() < 0.8:
        out["node_id"] = pick("x", "y", "z")
    elif dice.random() < 0.25:
        out["node_id"] = pick("x", "y", " z ", "n00000001_0", "", None, 0, 7, True, "\ud800")
    if dice.random() < 0.02:
        out.update(pick({"kind": None}, {"kind": 0}, {"kind": 5}, {"kind": [1]}, {"kind": {}}, {"node_id": [1]}, {"node_id": {}}))
    for key in ("turn", "payload"):
        if dice.random() < 0.03:
            del out[key]
    return out


def limit():
    return often(lambda: pick(0, 1, 2, 3, 5), None, -1, "2", " +3\n", "1_0", "_1", "1__0", "0x2", "", "\u0662", "１", "\x1c2", "\xa02", "- 1", "-0", "007", 2.9, -0.5, 1e300,
                 float("nan"), float("inf"), True, False, [], [1], {}, 10**30, -10**30, "9" * 4300, "9" * 4301, "0" * 4301, word())


def kinds():
    return often(lambda: [pick("message", "note", "task_event", "lifecycle", "") for _ in range(dice.randrange(4))], None, "message", "note", "", " ", 5, {}, [None],
                 [True, 5, "message"], [1.5, " ", "\u3000"], [["message"]], [{}], [float("nan"), "message"])


def flag():
    return pick(True, False, None, 0, 1, "", "x", [], [0], {}, 0.0, float("nan"))


def mode():
    return often(lambda: padded(pick("sanitized_content", "hash_only")), None, "", "bogus", 5, [], True)


def some(makers):
    return {key: make() for key, make in makers.items() if dice.random() < 0.4}


def selection():
    return some({"kind_allowlist": kinds, "max_nodes": limit, "max_turns": limit, "pin_latest_user_assistant": flag, "pin_first_system": flag,
                 "max_message_chars": limit})


def header():
    return some({"mode": mode, "preview_chars": limit, "redact_secret_like": flag})


def config():
    out = some({"selection": lambda: often(selection, None, 5, [], "x"), "header": lambda: often(header, None, 5, [], "x"), "kind_allowlist": kinds, "max_nodes": limit,
                "max_turns": limit, "header_mode": mode, "preview_chars": limit, "redact_secret_like": flag, "pin_first_system": flag, "max_message_chars": limit})
    return out if dice.random() < 0.95 else pick(None, {}, [], 0, "", "x", [1], 5, True)


def stage():
    return often(lambda: padded(pick(*model.STAGES)), None, "", "x", 5, ["RAW"], "\u017fpec", "froze\u0144")


def target():
    return often(lambda: pick(None, 0, 1, 2, 3, 5), -1, True, False, 10**30, -10**30, 2.0, -1.5, 100.5, float("nan"), float("inf"), "2", [], {})


def collapse_mode():
    return often(lambda: padded(pick("none", "all_but_last")), None, "", "bogus", 5, [])


def calls():
    prompt = pick(None, None, {}, {"a": 1.0, "timestamp": 5, "api_key": "k"}, "text", 0, [None])
    yield {"do": "compile", "config": config(), "prompt_summary": prompt}
    yield {"do": "summary", "config": config(), "prompt_summary": prompt, "runner": pick(None, {"enabled": True}, {"branches": [1], "x": 2}, 5), "backfilled": pick(True, False)}
    yield {"do": "collapse", "args": {**some({"mode": collapse_mode, "kind_allowlist": lambda: pick(kinds(), "message", {"message": 1})}), "target": target()}}
    tree = some({"stage": stage, "compiler_config": config, "collapse_mode": collapse_mode, "include_previews": flag})
    yield {"do": "tree", "args": {**tree, "collapse_target": target()}}
    pins = lambda: pick(None, [], ["x"], ["x", "unknown", "", 5, "x", "y"], "xy", {"y": 1}, 5, ["n00000000_"])
    blocks = {"selection_config": lambda: often(selection, None, [], "x"), "header_config": header}
    yield {"do": "context", "args": {**some({**blocks, "collapse_mode": collapse_mode, "stage": stage, "pin_latest": flag, "extra_pin_ids": pins}), "collapse_target": target()}}


# ---- texts ----
def text_of(something):
    return json.dumps(something, ensure_ascii=pick(True, False), indent=pick(None, None, 1)).encode("utf-8", "surrogatepass")


SNIPPETS = [b"NaN", b"-Infinity", b"Infinity", b"-NaN", b"01", b"-0", b"-", b"1.", b".5", b"1e", b"1e+", b"1E5", b"1e400", b"-1e400", b"1e-400", b"0.0e999999999999999999999",
            b"1e99999999999999999999", b"1e-99999999999999999999", b"1" * 4300, b"-" + b"1" * 4300, b"1" * 4301, b"0." + b"0" * 400 + b"1", b"1" + b"0" * 400 + b".0",
            b"1" + b"0" * 400 + b"e-400", b"0." + b"0" * 330 + b"1e330", b'"\\ud800"', b'"\\ud800\\udc00"', b'"\\udc00\\ud800"', b'"\\ud800\\u0041"', b'"\\uD83D\\uDE00"', b'"\\u12"',
            b'"\\u-123"', b'"\\u 123"', b'"\\x"', b'"\t"', b'"\x7f"', b'"\xed\xa0\x80"', b'"\xff"', b"\xef\xbb\xbf1", b"\xc2\xa01", b"\x0c1", b"[1,]", b'{"a":1,}', b"{'a':1}",
            b'{"a":1,"a":2}', b'{"a":1 "b":2}', b"[1 2]", b"//", b"", b" ", b"nul", b"truex", b"[" * 512 + b"]" * 512, b"[" * 513 + b"]" * 513, b'{"a":' * 512 + b"1" + b"}" * 512,
            b"[" * 100000, b'{"a":' * 100000, b"2.2250738585072011e-308", b"4.9e-324", b"2.4703282292062327e-324", b"2.4703282292062328e-324", b"1.7976931348623158e308",
            b"1.7976931348623159e308", b"9007199254740993.0", b"123456789012345678901234567890.5"]


def damaged(raw):
    raw = bytearray(raw)
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(raw) + 1)
        raw[at:at + pick(0, 1, 2)] = pick(b"", b",", b"]", b"}", b'"', b"\\", b"\n", b"\xff", b"0", b"\xe2\x80\xa8", dice.choice(SNIPPETS)[:50])
    return bytes(raw)


def json_text():
    raw = dice.choice(SNIPPETS) if dice.random() < 0.1 else text_of(value(4))
    return damaged(raw) if dice.random() < 0.3 else raw


def record_file():
    ends = [b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"\x0c", b"\xe2\x80\xa8", b"\xc2\x85", b" \n", b"\x1c\n"]
    header_line = b'{"_type":"ctree_eventlog_header","schema_version":"0.1"}'
    out = b""
    for _ in range(dice.randrange(8)):
        line = often(lambda: json.dumps(record(), ensure_ascii=pick(True, True, False)).encode("utf-8", "replace"), header_line, b"", b"[]", b"5", b"{}", b'{"kind":""}', b"{", b"\xc2\xa0{}")
        out += (damaged(line) if dice.random() < 0.1 else line) + dice.choice(ends)
    cut = dice.randrange(len(out) + 1) if dice.random() < 0.3 else len(out)
    return out[:cut] + pick(b"", b"", b"", b"\xf0\x9f", b"\xc3", b"\xff")


# ---- what the model answers ----
def answer(make):
    try:
        return make()
    except model.Refused as refused:
        return refused.code


def run(session, call):
    if call["do"] == "compile":
        return {**model.compile_session(session, call["config"], call["prompt_summary"]), "profile": "breadboard-0.1"}
    if call["do"] == "summary":
        summary = model.hash_summary(session, **{key: value for key, value in call.items() if key != "do"})
        return [summary, model.note_line(summary)]
    if call["do"] == "collapse":
        return model.collapse_policy(session, **call["args"])
    if call["do"] == "tree":
        return model.tree(session, **call["args"])
    selected, compiled = model.context(session, **call["args"])
    return [selected, model.injected_text(selected, compiled)]


def answer_session(request):
    session = model.Session()
    for text in request["records"]:
        session.record(model.read(text))
    files = [session.events_jsonl(), model.indented(session.snapshot()), session.node_hash, model.collapse_session(session)]
    return files + [answer(lambda: run(session, call)) for call in request["calls"]]


def answer_read(raw):
    value = model.read(raw)
    return [model.plain(value), model.canonical(value), model.indented(value)]


def answer_file(raw):
    session, findings = model.read_file(raw)
    return [session.snapshot(), findings]


def compare(name, requests, answers):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([PEER], input=lines.encode("ascii"), capture_output=True, check=False)
    if done.returncode != 0:
        fail(f"{PEER} ended with {done.returncode}", done.stderr.decode())
    got = done.stdout.decode("ascii").split("\n")[:-1]
    if len(got) != len(requests):
        fail(f"{len(requests)} requests, {len(got)} answers")
    refused = 0
    for request, line, make in zip(requests, got, answers):
        wanted = model.plain(answer(make))
        refused += wanted.startswith('"')
        if line != wanted:
            parts = [(a, b) for a, b in zip(json.loads(line), json.loads(wanted)) if model.plain(a) != model.plain(b)] if line[0] == wanted[0] == "[" else []
            more = [f"first difference:\n  got      {model.plain(a)}\n  expected {model.plain(b)}" for a, b in parts[:1]]
            fail(f"{name}: difference with seed {SEED}", f"request  {json.dumps(request)}", f"expected {wanted}", f"got      {line}", *more)
    print(f"{name}: {len(requests)} requests, {refused} refused, no difference")


def main():
    print(f"seed {SEED}")
    vectors = sorted(name for name in os.listdir(VECTORS) if name.endswith(".json"))
    for name in vectors:
        check_vector(os.path.join(VECTORS, name))
    print(f"the model agrees with {len(vectors)} vectors")
    for _ in range(ROUNDS):
        texts = SNIPPETS + [json_text() for _ in range(4000)]
        compare("texts", [{"read": raw.hex()} for raw in texts], [lambda raw=raw: answer_read(raw) for raw in texts])
        files = [record_file() for _ in range(1500)]
        compare("files", [{"file": raw.hex()} for raw in files], [lambda raw=raw: answer_file(raw) for raw in files])
        sessions = []
        for _ in range(1500):
            same_ids = dice.random() < 0.3
            records = [json.dumps(record(same_ids)) for _ in range(dice.randrange(pick(3, 8, 14)))]
            sessions.append({"records": records, "calls": [call for _ in range(2) for call in calls()]})
        compare("sessions", sessions, [lambda request=request: answer_session(request) for request in sessions])


main()
