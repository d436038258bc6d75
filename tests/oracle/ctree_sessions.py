"""Random sessions and configs for the compiler and the context, from a seed: the same seed gives the same session.

    made = session(7)              made.entries, made.blobs
    config = compile_config(7, made)
    config = context_config(7, made)

An entry is {"id", "type", "given", "body", "digest"}: `given` is what is appended, `body` what lies in the log (masked, long
strings as blobs), `digest` the entry's. `odd` turns on what the contract says little or nothing about; without it a
session keeps to what hosts write."""

import hashlib
import os
import random
import sys

import ctree_model as ctree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import secrets_made  # noqa: E402  (made-up secrets, put together at run time)

LONG = 64 * 1024
WORDS = ["read", "the", "file", "plan", "naïve", "日本語", "🙂", "👩‍👩‍👧", "e\u0301", "é", "\u2028", "a\nb", "tab\there", "\r\n", "", " ", "x" * 70, "\"quoted\"",
         "{\"a\":1}", "[weir: event x]", "[weir: earlier messages not shown]", "\x00", "\x1b[31m", "\x85", "password: string", "sk-short", "bearer of news",
         "http://localhost:8080/x", "\U00010000", "\uffff"]  # fmt: skip
NUMBERS = [0, 1, -1, 1.5, 1e21, 5e-324, 1e-7, 123456789, 9007199254740993, 1 << 64, -(1 << 70), 0.1, 1e16, 100000000000000000000.0]
KINDS = ["lifecycle", "guardrail", "note", "evidence_note", "状態", "🙂", "a b", "k" * 64, "task", "turn_end", "tool"]
TOOLS = ["ls", "read", "bash", "編集", "n" * 70]
KEYS = ["a", "b", "z", "é", "\U00010000", "\uffff", "timestamp", "ts", "seq", "token", "api-key", "Pass.Word", "token_count", "nested", "cookie", "count"]


class Made:
    """A session: `entries` (a path, root first) and `blobs` (hex SHA-256 to bytes)."""

    def __init__(self, seed, entries, blobs):
        self.seed, self.entries, self.blobs = seed, entries, blobs


def stored(value, blobs):
    """A masked value as it lies in the log: strings over 64 KiB are blobs."""
    if isinstance(value, str):
        data = value.encode("utf-8")
        if len(data) <= LONG:
            return value
        name = hashlib.sha256(data).hexdigest()
        blobs[name] = data
        return {"$blob": f"sha256:{name}", "bytes": len(data), "preview": value[:256]}
    if isinstance(value, list):
        return [stored(item, blobs) for item in value]
    if isinstance(value, dict):
        return {key: stored(member, blobs) for key, member in value.items()}
    return value


class Maker:
    def __init__(self, seed, odd, long_texts):
        self.chance = random.Random(seed)
        self.odd, self.long_texts = odd, long_texts
        self.secrets = secrets_made.made(60, seed)
        self.entries, self.blobs = [], {}
        self.open_calls = []  # ids of calls nobody answered yet
        self.all_calls = []
        self.claims = 0
        self.step = 0
        self.run_started = False
        self.compactions = []

    # -- small values -------------------------------------------------------------------------------------------------

    def often(self, share):
        return self.chance.random() < share

    def text(self):
        c = self.chance
        if self.long_texts and self.often(0.02):
            return c.choice(["long é ", "0123456789abcdef ", "🙂"]) * c.randrange(12000, 20000)
        if self.often(0.05):
            return "middle " * c.randrange(40, 400)
        words = [c.choice(WORDS) for _ in range(c.randrange(0, 8))]
        if self.often(0.12):
            words.insert(c.randrange(len(words) + 1), c.choice(self.secrets)[1])
        return " ".join(words)

    def short(self):
        return self.chance.choice(["a", "b", "done", "ok", "x y", "é", "running"])

    def value(self, depth=0):
        c = self.chance
        pick = c.randrange(8 if depth < 3 else 5)
        if pick == 0:
            return c.choice([None, True, False])
        if pick == 1:
            return c.choice(NUMBERS)
        if pick < 5:
            return self.text()
        if pick == 5:
            return [self.value(depth + 1) for _ in range(c.randrange(4))]
        return {c.choice(KEYS): self.value(depth + 1) for _ in range(c.randrange(5))}

    def object(self):
        made = {}
        for _ in range(self.chance.randrange(1, 6)):
            made[self.chance.choice(KEYS)] = self.value(1)
        if self.often(0.03):
            made.update({f"key{i:03d}": i for i in range(40)})
        if self.often(0.03):
            made["long" * 20] = 1
        return made

    def call_id(self):
        c = self.chance
        if self.all_calls and self.often(0.08):
            return c.choice(self.all_calls)  # a provider that numbers its calls anew
        made = c.choice(["toolu_", "call_", "c"]) + "%08x" % c.randrange(1 << 32)
        self.all_calls.append(made)
        return made

    def entry_id(self):
        return self.chance.choice(["e%08x", "host-%d", "ü%x"]) % self.chance.randrange(1 << 32)

    def some_entry(self):
        return self.chance.choice(self.entries)["id"] if self.entries else "nowhere"

    def message_entry(self):
        found = [entry["id"] for entry in self.entries if entry["type"] == "message"]
        return self.chance.choice(found) if found else "nowhere"

    # -- entries --------------------------------------------------------------------------------------------------------

    def add(self, kind, body):
        entry = {"id": self.entry_id(), "type": kind, "given": body}
        while any(other["id"] == entry["id"] for other in self.entries):
            entry["id"] = self.entry_id()
        entry["body"] = ctree.normal(stored(ctree.mask_values(body), self.blobs))
        entry["digest"] = ctree.entry_digest(entry, self.entries[-1]["digest"] if self.entries else None)
        self.entries.append(entry)
        return entry

    def envelope(self, body):
        """What a host adds to any message body, and what must change nothing."""
        c = self.chance
        if self.often(0.1):
            body["extra"] = {"at": c.randrange(1000), "usage": {"input": c.randrange(1000)}, "note": self.text()}
        if self.often(0.05):
            body["turn"] = c.choice([0, 1, 3, 7, -2, (1 << 53) - 1] if self.odd else [0, 1, 3, 7])
        for member in ("name", "tool_calls", "tool_call_id", "is_error", "content"):
            if member not in body and self.often(0.05):
                body[member] = [] if member == "tool_calls" and self.often(0.5) else None
        return body

    def text_content(self):
        if self.often(0.75):
            return self.text()
        blocks = []
        for _ in range(self.chance.randrange(0, 4)):
            block = {"type": "text", "text": self.text()}
            if self.often(0.2):
                block["textSignature"] = self.short()
            if self.often(0.1):
                block["cache_control"] = {"type": "ephemeral"}
            blocks.append(block)
        if self.often(0.2):
            blocks.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}})
        return blocks

    def add_user(self):
        body = {"role": "user", "content": self.text_content()}
        if self.often(0.1):
            body["name"] = self.chance.choice(["bob", "ü" * 80])
        self.add("message", self.envelope(body))

    def add_system(self):
        self.add("message", self.envelope({"role": "system", "content": self.text_content()}))

    def add_assistant(self):
        """Text, or parallel calls in one of three shapes, perhaps with thinking."""
        c = self.chance
        content = self.text_content()
        if self.often(0.45):
            self.add("message", self.envelope({"role": "assistant", "content": content}))
            return
        ids = list(dict.fromkeys(self.call_id() for _ in range(c.choice([1, 1, 1, 2, 3]))))
        arguments = [self.object() for _ in ids]
        body = {"role": "assistant", "content": "" if self.often(0.4) else content}
        shape = c.randrange(3)
        if shape == 0:
            body["tool_calls"] = [{"id": i, "name": c.choice(TOOLS), "arguments": a} for i, a in zip(ids, arguments)]
        elif shape == 1:
            body["tool_calls"] = [
                {"id": i, "type": "function", "function": {"name": c.choice(TOOLS), "arguments": a if self.often(0.3) else ctree.canonical(a)}}
                for i, a in zip(ids, arguments)
            ]  # fmt: skip
        else:
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
            if self.often(0.3):
                blocks = [{"type": "thinking", "thinking": self.text(), "signature": self.short()}] + blocks
            body["content"] = blocks + [{"type": "tool_use", "id": i, "name": c.choice(TOOLS), "input": a} for i, a in zip(ids, arguments)]
        self.add("message", self.envelope(body))
        self.open_calls += [(i, shape) for i in ids]

    def add_result(self, late=False):
        """Results in call order or not, alone or several in one message, now and then for a call nobody made."""
        c = self.chance
        if not self.open_calls and self.often(0.85):
            self.add_assistant()
            return
        if not self.open_calls or self.often(0.04):
            if self.all_calls and self.often(0.5):
                answered, shape = c.choice(self.all_calls), c.randrange(3)  # a second result
            else:
                answered, shape = self.call_id(), c.randrange(3)  # an orphan
            self.results([answered], shape)
            return
        if self.often(0.15) and not late:
            return  # later, or never
        place = c.randrange(len(self.open_calls)) if self.often(0.3) else 0
        answered, shape = self.open_calls.pop(place)
        ids = [answered]
        if shape == 2 and self.open_calls and self.often(0.6):
            more = [item for item in self.open_calls if item[1] == 2]
            for item in more[: c.randrange(1, 3)]:
                self.open_calls.remove(item)
                ids.append(item[0])
        self.results(list(dict.fromkeys(ids)), shape)

    def results(self, ids, shape):
        c = self.chance
        if shape == 2:
            blocks = []
            for name in ids:
                block = {"type": "tool_result", "tool_use_id": name, "content": self.text() if self.often(0.7) else [{"type": "text", "text": self.text()}]}
                if self.often(0.2):
                    block["is_error"] = self.often(0.5)
                blocks.append(block)
            if self.often(0.15):
                blocks.insert(c.randrange(len(blocks) + 1), {"type": "text", "text": self.text()})
            self.add("message", self.envelope({"role": "user", "content": blocks}))
            return
        for name in ids:
            body = {"role": "tool", "tool_call_id": name, "content": self.text() if self.often(0.85) else [{"type": "text", "text": self.text()}]}
            if self.often(0.5):
                body["name"] = c.choice(TOOLS)
            if self.often(0.2):
                body["is_error"] = self.often(0.5)
            self.add("message", self.envelope(body))

    def add_ctree_node(self):
        c = self.chance
        pick = c.randrange(6)
        if pick == 0:
            payload = {"role": c.choice(["user", "assistant", "system"]), c.choice(["content", "text"]): self.text_content(), "ts": c.randrange(9)}
            kind = "message"
        elif pick == 1:
            kind = c.choice(["task_event", "subagent"])
            names = ["t-%x" % i for i in range(4)] + ["root", "ROOT"]
            if self.odd:
                names += [" t-1 ", "", "  "]
            payload = {"kind": c.choice(["started", "done"]), "task_id": c.choice(names), "depth": c.randrange(3), "priority": None, "status": self.short(), "secret_plan": self.text()}
            if self.often(0.7):
                payload["parent_task_id"] = c.choice(names)
            if self.often(0.6):
                payload["tree_path"] = "/".join(c.choice(names) for _ in range(c.randrange(1, 4)))
            if self.often(0.5):
                payload["subagent_type"] = c.choice(["explore", " plan "])
            if self.often(0.5):
                payload["artifact_path"] = "out/" + c.choice([payload["task_id"], "other"]) + "/log.txt"
        else:
            kind = c.choice(KINDS)
            if self.often(0.03):
                kind = c.choice(secrets_made.bare(20))[2][:64]
            payload = self.object() if self.often(0.7) else self.value()
            if kind in ("lifecycle", "guardrail") and isinstance(payload, dict):
                payload["type"] = c.choice(["start", " stop ", 5])
                payload["timestamp"] = c.randrange(1000)
        if self.odd and self.often(0.1):
            payload = self.value()
        body = {"kind": kind, "payload": payload}
        if self.often(0.5):
            body["turn"] = c.choice([None, 0, 1, 2, 5, -1])
        if self.odd and self.often(0.05):
            del body["payload"]
        if self.often(0.2):
            body["node_id"] = f"given-{len(self.entries)}"
        self.add("ctree_node", body)

    def add_edit(self):
        c = self.chance
        target = self.message_entry()
        if self.odd and self.often(0.4):
            target = self.some_entry()
        if self.often(0.1):
            target = "nowhere"
        replacement = None if self.often(0.4) else self.text_content()
        if not self.odd and replacement is not None and any(e["id"] == target and has_calls_or_results(e["body"]) for e in self.entries):
            replacement = None if self.often(0.3) else self.replaced(target)
        self.add("context_edit", {"target": target, "replacement": replacement})
        if self.often(0.3):
            self.add("context_edit", {"target": target, "replacement": c.choice([None, self.short()]) if self.odd else self.replaced(target)})

    def replaced(self, target):
        """Another content for that entry which keeps its calls and results."""
        body = next((e["body"] for e in self.entries if e["id"] == target), {})
        content = body.get("content")
        if not isinstance(content, list):
            return self.short()
        return [{**b, "text": self.short()} if isinstance(b, dict) and b.get("type") == "text" else b for b in content]

    def add_label(self):
        target = self.some_entry() if self.odd or self.often(0.2) else self.message_entry()
        if self.often(0.05):
            target = "nowhere"
        body = {"target": target}
        if self.often(0.9):
            body["label"] = self.chance.choice(["pin", "pin", "pin", "pin", "star", None])
        self.add("label", body)

    def replacement_list(self):
        c = self.chance
        out = []
        for _ in range(c.randrange(0, 5)):
            pick = c.randrange(4)
            if pick == 0:
                out.append({"role": "user", "content": self.text_content()})
            elif pick == 1:
                out.append({"role": "assistant", "content": self.text(), "tool_calls": []})
            elif pick == 2:
                name = self.call_id()
                out.append({"role": "assistant", "content": "", "tool_calls": [{"id": name, "name": c.choice(TOOLS), "arguments": self.object()}]})
                if self.often(0.8):
                    out.append({"role": "tool", "tool_call_id": name, "content": self.text(), "extra": {"at": 5}})
            else:
                out.append({"role": c.choice(["system", "user"]), "content": self.text(), "name": None})
        return out

    def add_compaction(self):
        c = self.chance
        body = {}
        pick = c.randrange(8)
        if pick < 3:
            body["summary"] = self.text()
        elif pick < 5 and not self.snapshots:
            body["summary"] = self.text()
        elif pick < 5:
            body["narrative"] = "# Snapshot\n" + self.text()
            body["snapshot"] = {"snapshot_id": "snap1_%064x" % c.randrange(1 << 256), "sequence": 1}
        elif pick == 5:
            body["opaque"] = True
        elif pick == 6:
            body.update({"summary": None, "tokens_before": 5, "reason": "manual"})
        else:
            body.update({"summary": self.text(), "narrative": self.text()})
        window = c.randrange(9)
        if window in (0, 1):
            body["replacement"] = self.replacement_list()
        if window in (2, 3) or (window == 0 and self.often(0.3)):
            share = c.random() * 0.6
            body["kept"] = [entry["id"] for entry in self.entries if c.random() < share]
            if self.often(0.2):
                body["kept"].append("nowhere")
            if self.odd and self.often(0.3):
                c.shuffle(body["kept"])
                body["kept"] += body["kept"][:1]
        if window in (4, 5, 6) or (window in (0, 2) and self.often(0.3)):
            body["first_kept"] = c.choice([self.some_entry(), self.some_entry(), self.entries[-1]["id"] if self.entries else None, "nowhere", None])
        own = window == 7 and self.often(0.5)
        entry = self.add("compaction", body)
        if own:  # its own id, which it can name only when the caller chose it
            self.entries.pop()
            name = entry["id"]
            body["first_kept"] = name
            entry = self.add("compaction", body)
            entry["id"] = name
        self.compactions.append(entry)

    def add_attached(self):
        if not self.compactions or not self.snapshots:
            return
        target = self.chance.choice(self.compactions)
        name = target["id"] if self.often(0.5) else "e" + target["digest"][:16]
        self.add("SNAPSHOT_ATTACHED", {
            "narrative": "# Attached\n" + self.text(), "narrative_max_bytes": 4096,
            "snapshot": {"snapshot_id": "snap1_%064x" % self.chance.randrange(1 << 256), "sequence": 1}, "target": name,
        })  # fmt: skip

    def add_event(self):
        c = self.chance
        if not self.run_started and self.often(0.3):
            self.run_started = True
            self.add("RUN_STARTED", {"objective": self.text(), "done_definition": "done", "config": {"event_threshold": c.randrange(1, 30)}})
            return
        self.claims += 1
        pick = c.randrange(7)
        if pick == 0:
            self.step += 1
            self.add("STEP_STARTED", {"step_id": self.step})
        elif pick == 1:
            self.add("PLAN_DONE", {"step_id": self.step, "created_at": "then"})
        elif pick == 2:
            self.add("CLAIM_PROPOSED", {"claim_id": f"c{self.claims}", "statement": self.text()})
        elif pick == 3:
            self.add("QUESTION_OPENED", {"question_id": f"q{self.claims}", "text": self.text()})
        elif pick == 4:
            self.add("FAILURE_RECORDED", {"category": "tool", "where": "act", "why": self.text(), "error_code": "E1", "tool_name": "ls"})
        elif pick == 5:
            self.add("NEXT_ACTIONS_SET", {"actions": [self.short()]})
        else:
            self.add("THRESHOLDS_SET", {"n_step_fallback": c.randrange(1, 9), "reason": "measured"})

    def add_quiet(self):
        """Entries without a node."""
        pick = self.chance.randrange(3)
        if pick == 0:
            self.add("custom", {"custom_type": "note", "data": self.value()})
        elif pick == 1:
            self.add("session_info", {"name": self.short()})
        else:
            self.add("host_event_unknown", {"what": self.text()})

    def add_one(self):
        c = self.chance
        makers = [
            (self.add_user, 18), (self.add_assistant, 24), (self.add_result, 30), (self.add_system, 4), (self.add_ctree_node, 8), (self.add_edit, 4),
            (self.add_label, 5), (self.add_compaction, 3), (self.add_attached, 2), (self.add_event, 5), (self.add_quiet, 5), (self.add_branch_summary, 2),
        ]  # fmt: skip
        c.choices([maker for maker, _ in makers], [weight for _, weight in makers])[0]()

    def add_branch_summary(self):
        self.add("branch_summary", {"summary": self.text(), "from": self.some_entry()} if self.often(0.5) else {"summary": self.text()})


def has_calls_or_results(body):
    return bool(ctree.blocks_of(body.get("content"), "tool_use") or ctree.blocks_of(body.get("content"), "tool_result"))


def session(seed, odd=False, long_texts=True, most=60, snapshots=True):
    """`snapshots`: also made-up ones, which no append would take."""
    maker = Maker(seed, odd, long_texts)
    maker.snapshots = snapshots
    count = maker.chance.choice([0, 1, 3, 10, 15, 25, 40, most])
    if maker.often(0.7) and count:
        maker.add_system()
    while len(maker.entries) < count:
        maker.add_one()
    while maker.open_calls and maker.often(0.5):
        maker.add_result(late=True)
    return Made(seed, maker.entries, maker.blobs)


# ---------------------------------------------------------------------------------------------------------------------
# Configs


def some_limit(chance, top):
    pick = chance.randrange(6)
    if pick < 3:
        return None
    if pick == 3:
        return chance.choice([0, 1, 2])
    return chance.randrange(0, max(1, int(top)) + 2)


def compile_config(seed, made, limits=True):
    """A random config, most members left out. `limits=False` leaves the budgets to the context."""
    chance = random.Random(f"compile {seed}")
    config = {}

    def often(share):
        return chance.random() < share

    if often(0.1):
        config["sanitize"] = {"secret_keys": chance.choice([[], ["count"], ["Nes-Ted"]]), "volatile_keys": chance.choice([[], ["a"], ["b", "é"]])}
    fold = ctree.Fold(made.entries, {"secret_keys": [], "volatile_keys": [], **config.get("sanitize", {})})
    nodes = fold.nodes
    selection = {}
    kinds = sorted(fold.kind_counts) + ["message", "unknown"]
    if often(0.35):
        selection["kind_allowlist"] = chance.choice([["*"], [], ["message"], ["message", "checkpoint", "message"], chance.sample(kinds, min(3, len(kinds)))])
    if limits:
        tops = {
            "max_nodes": len(nodes), "max_turns": fold.turn + 1, "max_message_chars": sum(node.chars for node in nodes),
            "max_bytes": sum(node.bytes for node in nodes), "max_tokens": sum(node.tokens for node in nodes),
        }  # fmt: skip
        for limit, top in tops.items():
            if often(0.5):
                selection[limit] = some_limit(chance, top)
    if often(0.3):
        selection["max_item_bytes"] = chance.choice([None, 256, 257, 300, 1000])
    if often(0.4):
        selection["fill"] = chance.choice(["skip", "stop"])
    for pin in ("pin_first_system", "pin_latest_system", "pin_latest_user_assistant", "pin_labels"):
        if often(0.2):
            selection[pin] = often(0.3)
    if nodes and often(0.3):
        selection["pin_ids"] = [chance.choice(nodes).id for _ in range(chance.randrange(1, 4))]
    if selection:
        config["selection"] = selection
    if often(0.3):
        config["scope"] = chance.choice(["barrier", "path"])
    if often(0.4):
        config["collapse"] = {"target": some_limit(chance, len(nodes)), "mode": chance.choice(["none", "all_but_last", "all_but_last"])}
        if often(0.4):
            config["collapse"]["kind_allowlist"] = chance.choice([None, ["message"], ["*"], [], chance.sample(kinds, min(2, len(kinds)))])
    if often(0.4):
        config["header"] = {"mode": chance.choice(["hash_only", "sanitized_content"]), "preview_chars": chance.choice([0, 1, 8, 160, 4096])}
    if often(0.2):
        config["frozen"] = {"include_previews": often(0.7)}
    if often(0.2):
        config["limits"] = {"max_stage_bytes": chance.choice([None, 256, 600, 2000, 5000])}
    return config


def context_config(seed, made):
    chance = random.Random(f"context {seed}")
    config = {"compile": compile_config(seed, made, limits=chance.random() < 0.3)}
    fold = ctree.Fold(made.entries)
    if chance.random() < 0.8:
        config["format"] = chance.choice(["anthropic", "openai", "plain"])
    if chance.random() < 0.4:
        config["max_bytes"] = some_limit(chance, sum(node.bytes for node in fold.nodes))
        if chance.random() < 0.4:
            config["reserve_bytes"] = chance.choice([0, 10, 300])
    if chance.random() < 0.2:
        config["max_tokens"] = some_limit(chance, sum(node.tokens for node in fold.nodes))
    if chance.random() < 0.3:
        config["max_item_bytes"] = chance.choice([None, 256, 300, 999, 5000])
    if chance.random() < 0.2:
        config["ids"] = chance.choice(["alias", "original"])
    if chance.random() < 0.2:
        config["mask"] = chance.random() < 0.5
    if chance.random() < 0.2:
        config["cache_marks"] = True
    if chance.random() < 0.1:
        config["capture"] = True
    return config


WRONG = [-1, 1.5, "2", True, [], {}, None, "unknown word", [1], [None, "a"]]


def broken_config(seed, defaults=ctree.DEFAULTS):
    """A config with one or more values that may be wrong at random places, unknown keys among them."""
    chance = random.Random(f"broken {seed}")
    config = {}
    for _ in range(chance.randrange(1, 5)):
        block = chance.choice(list(defaults))
        if chance.random() < 0.15:
            config[chance.choice(["unknown", "a/b", "a~b", ""])] = 1
        elif isinstance(defaults[block], dict) and chance.random() < 0.9:
            inner = config.setdefault(block, {})
            if isinstance(inner, dict):
                inner[chance.choice([*defaults[block], "unknown/~"])] = chance.choice(WRONG)
        else:
            config[block] = chance.choice(WRONG)
    return config


def main():
    """ctree_sessions.py SEED [odd]: the session, both configs and what the models answer, as one JSON object."""
    import context_model

    made = session(int(sys.argv[1]), odd="odd" in sys.argv[2:])
    compiling, assembling = compile_config(made.seed, made), context_config(made.seed, made)
    compiled = ctree.Compilation(made.entries, compiling)
    try:
        answer = context_model.Context(made.entries, assembling, made.blobs).answer()
    except context_model.ContextOverBudget as over:
        answer = {"code": "CONTEXT_OVER_BUDGET", "over": over.over}
    shown = {"entries": made.entries, "compile_config": compiling, "compiled": compiled.output(), "explain": compiled.explain(),
             "context_config": assembling, "context": answer}  # fmt: skip
    print(ctree.canonical(shown))


if __name__ == "__main__":
    main()
