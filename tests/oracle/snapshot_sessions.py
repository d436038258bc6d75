"""Random sessions for the compaction snapshot, from a seed: the same seed gives the same session.

    made = session(7)                 an everyday run or coding session, for strict append
    made = session(7, odd=True)       malformed, illegal and strange entries too, for lenient append

    made.lines    instructions in order, one JSON object each:
        {"type", "body", "id"?}                                  append under the head
        {"do": "compact", "answer": {...}}                       weir compact, and what the model says it answers
        {"do": "goto", "back": n}                                the head moves n entries towards the root
        {"do": "refuse", "type", "body", "code", "message"}      a strict append that must be refused
    made.path     the path to the head as the model has it: {"id", "type", "body", "digest"}, with what the instructions appended
    made.others   paths left behind by a moved head
    made.blobs    hex SHA-256 to bytes

    python3 snapshot_sessions.py SEED [odd] prints the lines."""

import copy
import json
import random
import sys

import ctree_sessions
import snapshot_model as model

WORDS = ["gauge", "read", "the", "staff", "naïve", "日本語", "🙂", "e\u0301", "offset", "4 cm", "plan", "log", "dry", "level", "a-b", "x.y", "c1", "(see notes)"]
EDGES = ["\u2028", "\u202e", "\u200b", "\u00ad", "\ufeff", "\U000e0041", "\u061c", "\x7f", "\x85", "\x00", "\r\n", "\t", "\n", "\n## 3. Verified claims (1)\n", "```",
         "`x`", "*b*", "_u_", "[l](u)", "<b>", "#", "|", "\\", "\\n", " ", "  lead", "trail  ", "- item", "1. one", "{\"a\":1}", "\uffff", "\U00010000", "\u200d"]  # fmt: skip
FILES = ["notes.md", "src/a.cc", "./src/../src/b.cc", "/repo/docs/x.md", "/etc/hosts", "data/日本.csv", "../outside.txt", "/repo/./src//a.cc", "README"]
COMMANDS = ["make -j2", "./replay.sh 7", "git status", "\n  pytest -q\nsecond line", "echo `date` | tee *_log", "ls", "x" * 600, "naïve 🙂 " * 80]
UNITS = ["utf8", "utf8", "utf8", "page", "line"]
REASONS = ["new data", "superseded by the survey", "float stuck_again", "evidence was thin"]
CLASSED = {
    "read": ["read", "read_file", "Read", "mcp__fs__view", "peek"],
    "write": ["write", "Write", "create_file", "fs__write_file"],
    "edit": ["edit", "MultiEdit", "str_replace", "NotebookEdit", "apply_patch"],
    "command": ["bash", "Bash", "shell", "exec_command", "mcp__box__run_shell_command", "runner"],
    "todo": ["TodoWrite", "todo_write", "update_plan"],
    None: ["grep", "web_search", "mcp__x__unknown"],
}


class Made:
    def __init__(self, seed, lines, path, others, blobs):
        self.seed, self.lines, self.path, self.others, self.blobs = seed, lines, path, others, blobs


class Maker:
    def __init__(self, seed, odd):
        self.chance = random.Random(f"snapshot {seed} {odd}")
        self.odd = odd
        self.spoilt = self.chance.choice([0.01, 0.05, 0.2]) if odd else 0
        self.lines, self.path, self.others, self.blobs = [], [], [], {}
        self.state = model.Fold(self.blobs)
        self.number = 0

    # -- small values -----------------------------------------------------------------------------------------------------

    def often(self, share):
        return self.chance.random() < share

    def pick(self, items, otherwise=None):
        items = list(items)
        return self.chance.choice(items) if items else otherwise

    def text(self, least=1):
        c = self.chance
        words = [c.choice(WORDS) for _ in range(c.randrange(least, 9))]
        if self.often(0.5 if self.odd else 0.15):
            words.insert(c.randrange(len(words) + 1), c.choice(EDGES))
        if self.often(0.04):
            return c.choice(["long é ", "🙂", "0123456789"]) * c.randrange(60, 700)
        if self.odd and self.often(0.05):
            return self.near(c.choice([512, 16384]))
        if self.odd and self.often(0.03):
            return c.choice(["", " ", "\n", "\t "])
        return c.choice([" ", " ", " ", "\n"]).join(words)

    def near(self, limit):
        """A text within a few bytes of a limit, made of characters of any width."""
        unit = self.chance.choice(["a", "é", "語", "🙂"])
        text = unit * (limit // len(unit.encode()))
        return text + "b" * self.chance.randrange(0, 4) if self.often(0.6) else text[: -self.chance.randrange(1, 3)]

    def fresh(self, prefix):
        self.number += 1
        name = f"{prefix}{self.number}"
        if self.odd and self.often(0.1):
            name += self.chance.choice(["`", "*x*", " ", "é", "\u2028", "#1", "|", "/b", "\u202e", "x" * 240])
        return name

    def value(self):
        return self.chance.choice([None, True, False, 0, 1, -1, 1.5, 1e21, 9007199254740993, "", "x", [], ["x"], [1], {}, {"a": 1}, [[]], "x" * 17000])

    # -- appending --------------------------------------------------------------------------------------------------------

    def keep(self, entry):
        """An entry the program will hold too."""
        self.path.append(entry)
        made = model.entries_of(self.path[-1:])[0] if len(self.path) == 1 else model.Entry(len(self.path), entry, self.path[-2]["digest"])
        entry["digest"], entry["sound"] = made.digest, True
        if "id" not in entry:
            entry["id"] = "e" + made.digest[:8]
        made.id = entry["id"]
        self.state.step(made)
        return made

    def send(self, kind, body, named=None):
        """Appends, if a strict append takes it; what it refuses is kept as such an instruction now and then."""
        body = model.normal(body)
        if not self.odd:
            refused = model.legal_after(self.state, kind, body)
            if refused:
                if self.often(0.3):
                    self.lines.append({"do": "refuse", "type": kind, "body": body, "code": refused[0], "message": refused[1]})
                return None
        line = {"type": kind, "body": body}
        if named or self.often(0.3):
            self.number += 1
            line["id"] = f"own-{self.number}"
        self.lines.append(line)
        filled = model.completed(self.state, kind, body, self.blobs)
        entry = {"type": kind, "body": model.normal(ctree_sessions.stored(filled, self.blobs))}
        if "id" in line:
            entry["id"] = line["id"]
        return self.keep(entry)

    def event(self, kind, **body):
        """A run event, perhaps with what any may carry, perhaps spoilt."""
        c = self.chance
        if self.often(0.1):
            body.setdefault("actor", c.choice(["RUNTIME", "PLANNER", "EXECUTOR"]))
        if self.often(0.05):
            body["phase"] = c.choice(model.PHASES)
        if self.often(0.05):
            body["attempt"] = c.randrange(1, 4)
        if self.often(0.1):
            body["note_of_host"] = self.text()
        if self.often(self.spoilt):
            self.spoil(body)
        if not self.odd and self.often(0.05):
            spoilt = copy.deepcopy(body)
            self.spoil(spoilt)
            refused = model.legal_after(self.state, kind, model.normal(spoilt))
            if refused:
                self.lines.append({"do": "refuse", "type": kind, "body": model.normal(spoilt), "code": refused[0], "message": refused[1]})
        return self.send(kind, body)

    def spoil(self, body):
        """One field missing, of another type, too long, or naming nothing."""
        c = self.chance
        fields = [key for key in body if key != "note_of_host"]
        if not fields or self.often(0.1):
            body[c.choice(["step_id", "attempt", "phase", "actor"])] = c.choice([-1, 0, 1.5, True, "x", [], {}, "PLAN", "HUMAN"])
            return
        field = c.choice(fields)
        pick = c.randrange(7)
        if pick == 0:
            del body[field]
        elif pick == 1 and isinstance(body[field], str):
            body[field] = self.near(c.choice([256, 512, 16384]))
        elif pick == 2 and isinstance(body[field], str):
            body[field] = c.choice(["", "nothing", "a\x00b", "A", " x ", "a" * 256, "é" * 128, "é" * 129])
        elif pick == 3 and isinstance(body[field], dict) and body[field]:
            inner = c.choice(list(body[field]))
            body[field] = {**body[field], inner: self.value()}
        elif pick == 4 and isinstance(body[field], list):
            body[field] = body[field] + [self.value()]
        else:
            body[field] = self.value()

    # -- messages -----------------------------------------------------------------------------------------------------------

    def content(self, text=None):
        text = self.text() if text is None else text
        if self.often(0.8):
            return text
        blocks = [{"type": "text", "text": text}]
        if self.often(0.4):
            blocks.append({"type": "text", "text": self.text()})
        if self.often(0.2):
            blocks.insert(0, {"type": "image", "source": {"type": "base64", "data": "aGk="}})
        return blocks

    def user(self):
        body = {"role": "user", "content": self.content()}
        if self.often(0.03):
            body["content"] = self.chance.choice(["word ", "語 "]) * 30000  # to a blob
        elif self.often(0.05):
            body["content"] = self.chance.choice(["request ", "🙂 "]) * 2500
        if self.often(0.05):
            body["name"] = "bob"
        if self.often(0.05):
            body["extra"] = {"synthetic": self.often(0.7)}
        if self.often(0.05):
            body["content"] = self.chance.choice(["", " \n", None, []])
        return self.send("message", body, self.often(0.5))

    def assistant(self):
        return self.send("message", {"role": "assistant", "content": self.content()}, self.often(0.3))

    def system(self):
        return self.send("message", {"role": "system", "content": self.pick(["Never edit the raw logs.", "Be terse.\n- no `rm`", self.text()])}, self.often(0.3))

    def arguments(self, kind, tool):
        c = self.chance
        if kind in ("read", "write", "edit"):
            if tool == "apply_patch":
                paths = [c.choice(FILES) for _ in range(c.randrange(1, 4))]
                lines = [f"*** {c.choice(['Add', 'Update', 'Delete'])} File: {path}\n@@\n+x\n" for path in paths]
                return {c.choice(["input", "patch", "patchText"]): "*** Begin Patch\n" + "".join(lines) + "*** End Patch\n"}
            made = {c.choice(model.PATH_KEYS): c.choice(FILES)}
            if kind == "write":
                made["content"] = c.choice([self.text(), "a\n", "line\n" * 20000 if self.often(0.1) else "b"])
            if kind == "edit":
                made.update(old="a", new="b")
            return made
        if kind == "command":
            given = c.choice(COMMANDS)
            if self.often(0.2):
                given = ["bash", "-lc", given]
            return {c.choice(["command", "cmd"]): given}
        if kind == "todo":
            states = ["pending", "in_progress", "completed"]
            if tool == "update_plan":
                return {"plan": [{"step": self.text(), "status": c.choice(states)} for _ in range(c.randrange(0, 6))]}
            return {"todos": [{"content": self.text(), "status": c.choice(states), "id": str(i)} for i in range(c.randrange(0, 6))]}
        return {"query": self.text()} if self.often(0.7) else {"path": c.choice(FILES), "pattern": "x"}

    def read_record(self, path=None):
        c = self.chance
        if path is None or not path.startswith("/"):
            path = "/repo/" + (path or c.choice(["notes.md", "src/a.cc", "docs/x.md"]))
        path = model.clean_path(path)
        total = c.randrange(1, 60)
        whole = self.often(0.6) or total == 1
        start, end = (1, total) if whole else sorted((c.randrange(1, total + 1), c.randrange(1, total + 1)))
        whole = (start, end) == (1, total)
        served = model.sha256(f"{path}{c.randrange(4)}".encode())
        mode = c.choice(["full", "full", "full_fallback", "unchanged" if whole else "unchanged_range", "diff" if whole else "range_diff"])
        shown = [] if mode.startswith("unchanged") else [[start, end]]
        if mode in ("diff", "range_diff") and end - start > 3:
            shown = [[start, start + 1], [start + 3, end]]
        record = {
            "v": 1, "mode": mode, "path": path, "scope": "full" if whole else f"r:{start}:{end}", "start": start, "end": end, "total_lines": total,
            "bytes": c.randrange(5000), "served": served, "shown": shown, "text_sha256": model.sha256(b"text"), "reason": "no_base_hash",
            "sent": 10, "baseline": 20,
        }  # fmt: skip
        if mode not in ("full", "full_fallback"):
            record["base"] = model.sha256(b"base")
        if self.odd and self.often(0.3):
            record[c.choice(list(record))] = c.choice([None, 0, -1, True, "x", "r:9:2", [], [[1, 2], [2, 3]], [[0, 1]], "relative.txt", "/a/../b"])
        return record

    def tools(self):
        """Calls in one assistant message, then their results: some errors, some late, some never."""
        c = self.chance
        calls = []
        for _ in range(c.choice([1, 1, 1, 2, 3])):
            kind = c.choice(list(CLASSED) + ["command", "read"])
            tool = c.choice(CLASSED[kind])
            self.number += 1
            calls.append((f"t{self.number}", kind, tool, self.arguments(kind, tool)))
        shape = c.choice([0, 0, 0, 1, 2]) if self.odd else 0
        body = {"role": "assistant", "content": self.pick(["", self.text()])}
        if shape == 0:
            body["tool_calls"] = [{"id": i, "name": tool, "arguments": a} for i, _, tool, a in calls]
        elif shape == 1:
            body["tool_calls"] = [{"id": i, "type": "function", "function": {"name": tool, "arguments": model.canonical(a)}} for i, _, tool, a in calls]
        else:
            body["content"] = [{"type": "text", "text": self.text()}] + [{"type": "tool_use", "id": i, "name": tool, "input": a} for i, _, tool, a in calls]
        self.send("message", body, self.often(0.2))
        if self.often(0.2):
            c.shuffle(calls)
        for name, kind, _, arguments in calls:
            if self.often(0.08):
                continue
            failed = self.often(0.25)
            said = c.choice([self.text(), "", "\n \n error: gone\nmore", "ok"])
            if shape == 2:
                self.send("message", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": said, "is_error": failed}]})
                continue
            result = {"role": "tool", "tool_call_id": name, "content": said}
            if failed or self.often(0.3):
                result["is_error"] = failed
            if kind == "read" and self.often(0.5):
                paths = model.argument_paths(arguments)
                result["read"] = self.read_record(self.state.local(paths[0]) if paths else None)
            self.send("message", result, self.often(0.1))
            if self.odd and self.often(0.05):
                self.send("message", {**result, "is_error": not failed})

    def strange(self):
        """Messages at the edges of what is carried."""
        c = self.chance
        self.number += 1
        call, said = f"t{self.number}", self.text()
        failed = self.often(0.5)
        result = {"role": "tool", "tool_call_id": call, "content": said, "is_error": failed}
        pick = c.randrange(14)
        if pick == 0:  # a result without its call, by name
            self.send("message", {**result, "name": c.choice(["bash", "grep", "n" * 300])})
        elif pick == 1:  # calls without a name, an id, arguments
            calls = [{"id": call, **c.choice([{}, {"name": ""}, {"name": 5}, {"function": {}}, {"name": "bash"}])}, {"name": "bash"}, {"id": "", "name": "bash"}, {"id": 5, "name": "x"}]
            self.send("message", {"role": "assistant", "content": "", "tool_calls": calls})
            self.send("message", result)
        elif pick == 2:  # paths and names near the caps
            path = c.choice(["", "/", "/repo/"]) + self.near(c.choice([16384, 16379, 4096])).replace("\n", "")
            self.calls_one(call, c.choice(["read", "write", "edit", "grep"]), {c.choice(model.PATH_KEYS): path, "content": "x"})
            self.send("message", result)
        elif pick == 3:
            self.calls_one(call, c.choice(["x__" * 100 + "bash", "é" * 200, "B" * 256, "b__BASH"]), {"command": c.choice(["ls", "", ["a", 1, None], 5, None]), "cmd": "other"})
            if self.often(0.6):
                self.send("message", result)
        elif pick == 4:  # blank as far as it is carried
            role = c.choice(["user", "assistant", "system"])
            self.send("message", {"role": role, "content": " " * c.choice([511, 512, 600, 16384, 17000]) + c.choice(["", "text"])})
        elif pick == 5:  # one system text in two shapes
            text = c.choice(["one\ntwo", "one", "Be terse.\n- no `rm`"])
            shape = c.choice([text, [{"type": "text", "text": part} for part in text.split("\n")], [{"type": "text", "text": text}]])
            self.send("message", {"role": "system", "content": shape}, True)
        elif pick == 6:  # an id used twice
            self.calls_one(call, "bash", {"command": "first"})
            self.calls_one(call, "bash", {"command": "second"})
            if self.often(0.7):
                self.send("message", result)
        elif pick == 7:  # records where they are not expected
            self.calls_one(call, c.choice(["write", "bash", "peek", "edit"]), {"path": c.choice(FILES), "content": "x", "command": "cat"})
            self.send("message", {**result, "read": self.read_record()})
        elif pick == 8:
            record = self.read_record()
            record.update(form="pi", served=c.choice(["v1", "x" * 20000, record["served"], "A" * 64]))
            self.send("read", record)
        elif pick == 9:
            todos = [{"content": c.choice(["a", self.near(512), 5, None]), "status": c.choice(["pending", "in_progress", "odd" * 300, 5, None])} for _ in range(4)]
            self.calls_one(call, "TodoWrite", c.choice([{"todos": todos}, {"todos": []}, {"todos": "x"}, {"plan": todos}, {"todos": {}, "plan": [{"step": "s"}]}]))
            self.send("message", {**result, "is_error": False})
        elif pick == 10:
            patch = "*** Add File: a\r\n*** Update File: \n*** Delete File: /repo/b c\n *** Add File: no\n*** Add File: a\n"
            self.calls_one(call, "apply_patch", {"path": "", c.choice(["input", "patch"]): c.choice(["", 5, patch]), "patchText": patch})
            self.send("message", result)
        elif pick == 11:  # results in blocks, of user and of tool
            blocks = [{"type": "tool_result", "tool_use_id": call, "content": c.choice([said, [{"type": "text", "text": said}], None]), "is_error": failed}, {"type": "text", "text": said}]
            self.calls_one(call, "bash", {"command": "blocks"})
            self.send("message", {"role": "user", "content": blocks})
        elif pick == 12:
            self.calls_one(call, "bash", c.choice(['{"command":"text"}', "not json", "[1]", '{"command":"a","command":"b"}', 5, None]))
            self.send("message", result)
        elif pick == 13:
            for _ in range(c.choice([3, 210])):
                self.number += 1
                self.send("message", {"role": "user", "content": f"request {self.number}"})
                if self.often(0.5):
                    self.calls_one(f"t{self.number}", "bash", {"command": f"run {self.number}"})
                    self.send("message", {"role": "tool", "tool_call_id": f"t{self.number}", "content": "ok"})

    def calls_one(self, call, tool, arguments):
        self.send("message", {"role": "assistant", "content": "", "tool_calls": [{"id": call, "name": tool, "arguments": arguments}]})

    def bulk(self):
        """Enough that the snapshot goes to a blob, and the narrative is cut."""
        for _ in range(self.chance.choice([20, 90])):
            self.event("CLAIM_PROPOSED", claim_id=self.fresh("c"), statement=self.near(self.chance.choice([512, 16384])))

    def label(self):
        own = [e["id"] for e in self.path if e["type"] == "message" and e["id"].startswith("own-")]
        target = self.pick(own)
        if self.odd and self.often(0.2):
            target = self.pick([e["id"] for e in self.path if e["id"].startswith("own-")], "nowhere")
        if target:
            self.send("label", {"target": target, **self.pick([{"label": "pin"}, {"label": "pin"}, {"label": "star"}, {"label": None}, {}])})

    def info(self):
        body = self.pick([{"cwd": "/repo"}, {"cwd": "/repo", "name": "n"}, {"tools": {"runner": "command", "peek": "read"}}, {"name": "only"}, {"cwd": "/repo/src"}])
        if self.odd and self.often(0.3):
            body = self.pick([{"cwd": "repo"}, {"cwd": 5}, {"tools": {"runner": "nonsense", "grep": 5}}, {"tools": []}, {"cwd": "/"}, {"cwd": "/repo/x/../"}])
        self.send("session_info", body)

    # -- run events -----------------------------------------------------------------------------------------------------------

    def run_started(self):
        c = self.chance
        config = {"event_threshold": c.choice([3, 6, 9, 18]), "n_step_fallback": c.choice([2, 4, 8])}
        if self.often(0.4):
            config["plain_bytes_threshold"] = c.choice([0, 1000])
        if self.often(0.3):
            config["require_manifests"] = False
        body = {
            "objective": self.text() if self.often(0.6) else "Which readings of gauge_7 can be trusted?",
            "done_definition": c.choice(["all judged", {"every_reading_judged": True}, {"n": [1, "é"]}]), "config": config,
        }  # fmt: skip
        if not body["objective"] and not self.odd:
            body["objective"] = "x"
        if self.often(0.7):
            body["provenance_mode"] = c.choice(model.MODES)
        if self.often(0.8):
            body["namespace"] = c.choice([{"index_id": "river@1"}, {"corpus_id": "logs"}, {"index_id": "i", "corpus_id": "c"}])
        if self.often(0.5):
            body["budgets"] = c.choice([{"max_steps": 12}, {}, {"usd": 1.5, "b_2": "two_*", "a": {"x": [1]}}])
        if self.often(0.5):
            body["policy_snapshot_ref"] = c.choice([None, "policy_1"])
        self.event("RUN_STARTED", **body)

    def source(self):
        text = "\n".join(self.text() for _ in range(self.chance.randrange(2, 6)))
        name = self.fresh("log-")
        body = {"source_id": name, "title": self.text(), "uri": self.pick([None, "https://x.example/a"]), "text": text}
        if self.often(0.2):
            body[self.pick(["index_id", "corpus_id"])] = "own-space"
        if self.often(0.3):
            data = text.encode()
            del body["text"]
            body.update(sha256=model.sha256(data), bytes=len(data), blob=None)
        self.event("SOURCE_REGISTERED", **body)

    def chunk(self):
        name = self.pick(self.state.sources)
        if name is None:
            return self.source()
        source = self.state.sources[name]
        size = source["bytes"] if isinstance(source["bytes"], int) else 10
        if size < 2:
            return None
        start = self.chance.randrange(0, size - 1)
        span = {"unit": "utf8", "start": start, "end": self.chance.randrange(start + 1, size + 1)}
        body = {"chunk_id": "later" if self.odd and self.often(0.03) else self.fresh(f"{name}#"), "source_id": name, "span": span, "delivered": self.often(0.8)}
        whole = self.state.blob(source["blob"]) if source["blob"] else None
        if whole is None or self.often(0.3):
            body["text"] = self.text() or "x"
            if self.often(0.3):
                body["span"] = {"unit": "page", "start": 3, "end": 4}
        self.event("CHUNK_REGISTERED", **body)
        return None

    def evidence(self):
        c = self.chance
        files = [name for name in self.state.chunks_seen if name.startswith("file:")]
        checked = self.state.mode() == "quotes_checked" and not self.odd
        if files and self.often(0.02 if checked else 0.2):
            body = {"chunk_id": self.pick(sorted(files)), "span": {"unit": "utf8", "start": 0, "end": 4}, "quote": "abcd"}
            return self.event("EVIDENCE_REGISTERED", **body)
        name = self.pick(self.state.chunks)
        if name is None:
            return self.chunk()
        chunk = self.state.chunks[name]
        size = chunk["bytes"] if isinstance(chunk["bytes"], int) else 10
        if size < 1:
            return None
        start = c.randrange(0, size)
        span = {"unit": c.choice(UNITS), "start": start, "end": c.randrange(start + 1, size + 1)}
        body = {"chunk_id": name, "span": span}
        data = self.state.quote_bytes({"chunk_id": name, "span": span})[1]
        if data is None and checked and self.often(0.95):
            return None
        if data is None:
            body["quote"] = self.text()
        if not (self.state.run or {}).get("namespace") and not any(self.state.sources[chunk["source_id"]][k] for k in ("index_id", "corpus_id")):
            body[c.choice(["index_id", "corpus_id"])] = "river@1"
        if self.odd and self.often(0.1):
            body["evidence_id"] = c.choice(["ev1_" + "0" * 32, "mine"])
            body.setdefault("index_id", "river@1")
        if self.odd and self.often(0.1):
            body.update(quote_sha256="0" * 64, quote_bytes=4)
        if self.odd and self.often(0.05):
            body["source_id"] = "elsewhere"
        if self.odd and self.often(0.05):
            body["span"] = {**span, **c.choice([{"more": 1}, {"unit": "u" * 300}, {"unit": "a\tb"}, {"unit": ""}])}
        if self.odd and self.often(0.05):
            body["chunk_id"] = c.choice(["later", "file:x#1-2@0", "file:plain"])
        return self.event("EVIDENCE_REGISTERED", **body)

    def again(self):
        """A source, chunk or evidence once more, with the same or other content."""
        kind = self.pick(["SOURCE_REGISTERED", "CHUNK_REGISTERED", "EVIDENCE_REGISTERED"])
        known = self.pick([e["body"] for e in self.path if e["type"] == kind])
        if known is None:
            return
        body = {key: copy.deepcopy(value) for key, value in known.items() if key not in ("actor", "phase", "attempt", "note_of_host")}
        if self.often(0.5):
            body.update({"title": "other"} if kind[0] == "S" else {"sha256": "1" * 64} if kind[0] == "C" else {"quote_sha256": "1" * 64})
        self.send(kind, body)

    def reason(self):
        return self.chance.choice([{}, {"reason": None}, {"reason": ""}, *[{"reason": reason} for reason in REASONS]])

    def claim_id(self):
        return self.pick(self.state.claims, "c0") if not (self.odd and self.often(0.08)) else "nothing"

    def evidence_name(self):
        return self.pick(self.state.evidence, "ev1_none") if not (self.odd and self.often(0.08)) else "nothing"

    def ledger(self):
        """One event of the ledger or about what is known."""
        c, state = self.chance, self.state
        pick = c.randrange(22)
        open_claims = [name for name, claim in state.claims.items() if claim["status"] != "retracted"]
        if pick < 2:
            self.chunk()
        elif pick < 5:
            self.evidence()
        elif pick < 7:
            self.event("CLAIM_PROPOSED", claim_id=self.fresh("c") if self.often(0.9) else self.claim_id(), statement=self.text())
        elif pick < 9:
            self.event("EVIDENCE_ATTACHED", claim_id=self.claim_id(), evidence_id=self.evidence_name())
        elif pick < 11:
            ready = [name for name in open_claims if state.active(state.claims[name])]
            name = self.pick(ready) if not self.odd else self.claim_id()
            if name is not None:
                self.event("CLAIM_VERIFIED", claim_id=name)
        elif pick == 11:
            self.event("CLAIM_DOWNGRADED", claim_id=self.claim_id(), **self.reason())
        elif pick == 12 and self.often(0.4):
            self.event("CLAIM_RETRACTED", claim_id=self.claim_id(), **self.reason())
        elif pick == 13:
            pairs = [(name, ref) for name in open_claims for ref in state.claims[name]["refs"]]
            name, ref = self.pick(pairs, ("c0", "ev1_none")) if self.often(0.8) else (self.claim_id(), self.evidence_name())
            self.event("EVIDENCE_DETACHED", claim_id=name, evidence_id=ref)
        elif pick == 14 and self.often(0.5):
            self.event("EVIDENCE_WITHDRAWN", evidence_id=self.evidence_name(), **self.reason())
        elif pick == 15:
            known = list(state.evidence)
            c.shuffle(known)
            if self.odd and self.often(0.4):
                sides = [known[: c.randrange(0, 3)], known[: c.randrange(0, 3)]]
            elif len(known) >= 2:
                half = c.randrange(1, len(known))
                sides = [known[:half][:5], known[half:][:2]]
            else:
                return
            self.event("CONFLICT_RECORDED", conflict_id=self.fresh("k"), description=self.text(), side_a=sides[0], side_b=sides[1])
        elif pick == 16 and state.conflicts:
            name = self.pick(state.conflicts)
            side = c.choice("ab")
            other = state.conflicts[name]["b" if side == "a" else "a"]
            evidence = self.pick([ref for ref in state.evidence if self.odd or ref not in other])
            if evidence is not None:
                self.event("CONFLICT_CITED", conflict_id=name, side=side, evidence_id=evidence)
        elif pick == 17 and state.conflicts:
            self.event("CONFLICT_RESOLVED", conflict_id=self.pick(state.conflicts), **self.pick([{}, {"resolution": None}, *[{"resolution": self.text()}] * 4]))
        elif pick == 18:
            name = self.pick(["q1", "q2", "q3", self.fresh("q")])
            self.event("QUESTION_OPENED", question_id=name, text=self.pick(["Was the staff moved?", self.text()]))
        elif pick == 19:
            how = {"answer_claim_id": self.claim_id()} if state.claims and self.often(0.4) else self.reason()
            self.event("QUESTION_CLOSED", question_id=self.pick(state.questions, "q1"), **how)
        elif pick == 20:
            body = {"category": c.choice(["retrieval", "loop"]), "where": c.choice(["OBSERVE/rerank", "plan_x"]), "why": self.text() or "w"}
            if self.often(0.5):
                body.update(error_code=c.choice(["E1", None]), tool_name=c.choice(["grep", None]))
            self.event("FAILURE_RECORDED", **body)
            if state.failures and self.often(0.4):
                self.event("FAILURE_RESOLVED", failure_id=self.pick(state.failures), status=c.choice(["resolved", "superseded"]))
        elif pick == 21:
            self.event("NEXT_ACTIONS_SET", actions=[self.text() for _ in range(c.randrange(1, 4))])

    def finding(self):
        """A claim with evidence, verified."""
        name = self.fresh("c")
        self.event("CLAIM_PROPOSED", claim_id=name, statement=self.text())
        for _ in range(self.chance.choice([1, 1, 2, 5])):
            self.evidence()
            if self.state.evidence:
                self.event("EVIDENCE_ATTACHED", claim_id=name, evidence_id=self.pick(list(self.state.evidence)[-4:]))
        if name in self.state.claims and self.state.active(self.state.claims[name]):
            self.event("CLAIM_VERIFIED", claim_id=name)

    def manifest(self, step):
        c = self.chance
        known = list(self.state.chunks)
        c.shuffle(known)
        candidates = known[:6] + (["never-registered"] if self.often(0.3) else [])
        selected = candidates[: c.randrange(0, len(candidates) + 1)] if self.often(0.3) else list(candidates)
        manifest = {
            "retrieval_query": c.choice([None, "gauge 7", self.text() or "q"]), "candidate_chunk_ids": candidates, "selected_chunk_ids": selected,
            "selected_source_ids": list(dict.fromkeys(self.state.chunks[x]["source_id"] for x in selected if x in self.state.chunks)),
            "filters": sorted({c.choice(["year:2026", "lang:é", "kind:log"]) for _ in range(c.randrange(3))}), "step_id": step, "snapshot_id": None,
            "thresholds": dict(self.state.thresholds), "n": len(self.path) if self.often(0.8) else 0,
        }  # fmt: skip
        manifest = model.normal(manifest)
        name = model.manifest_id(manifest)
        if self.odd and self.often(0.05):
            name = "man1_" + "0" * 32
        self.event("CONTEXT_MANIFEST_WRITTEN", manifest=manifest, manifest_id=name, step_id=step)

    def one_step(self):
        c = self.chance
        step = self.state.step_id + c.choice([1, 1, 1, 1, 3])
        if self.odd and self.often(0.1):
            step = max(0, self.state.step_id - c.randrange(0, 3))
        carried = {} if self.often(0.2) else {"step_id": step}
        if self.often(0.7) or not carried:
            self.event("STEP_STARTED", step_id=step)
        if self.often(0.97) or self.state.run is None:
            self.manifest(step)
        if self.often(0.9):
            self.event("PLAN_DONE", **carried)
        for _ in range(c.randrange(0, 3)):
            self.extra()
        if self.often(0.15):
            self.event("ACT_FAILED", error_code="E_TIMEOUT", **carried)
        for _ in range(c.choice([1, 1, 1, 2])):
            self.event("ACT_DONE", **carried)
        for _ in range(c.randrange(0, 12)):
            self.ledger()
        if self.often(0.5):
            self.finding()
        if self.often(0.05):
            return  # left open
        if self.often(0.08):
            self.event("STEP_ABORTED", reason="stuck", **carried)
        else:
            self.event("OBSERVE_DONE", **carried)

    def extra(self):
        """Anything that is no run event."""
        c = self.chance
        pick = c.randrange(14)
        if pick < 3:
            self.user()
        elif pick < 5:
            self.assistant()
        elif pick < 9:
            self.tools()
        elif pick == 9:
            self.label()
        elif pick == 10:
            self.info()
        elif pick == 11:
            self.send("read", self.read_record())
        elif pick == 12:
            self.send(c.choice(["CUSTOM_VERBOSE", "TOKEN_STREAM", "custom", "context_edit", "refresh"]), {"step_id": c.randrange(60), "data": self.text()})
        elif pick == 13:
            self.system()
        if self.odd and self.often(0.15):
            self.strange()

    # -- instructions -----------------------------------------------------------------------------------------------------------

    def compact(self):
        answer, added = model.compact(self.path, self.blobs)
        self.lines.append({"do": "compact", "answer": answer})
        for entry in added:
            self.keep(entry)
        if answer.get("code") == "GATE_FAILED" and self.often(0.8):
            faults = [ptr for ptr, _ in self.state.anomalies + self.state.ledger_problems]
            forgive = list(dict.fromkeys(faults)) if self.often(0.7) else [ptr for ptr in faults if self.often(0.8)]
            self.send("RUN_RESUMED", {"actor": "HUMAN", "note": self.text(), "forgive": forgive})

    def host_compaction(self):
        self.send("compaction", {"summary": "c9 is verified. " + self.text(), **self.pick([{}, {"tokens_before": 100}, {"first_kept": None}])})

    def goto(self):
        back = self.chance.randrange(1, min(25, len(self.path)))
        while self.path[-back - 1]["type"] == "COMPACTION_FAILED" and self.path[-back - 1]["body"].get("attempt") == 2:
            back += 1
        self.lines.append({"do": "goto", "back": back})
        self.others.append(self.path)
        self.path = self.path[:-back]
        self.state = model.Fold(self.blobs)
        for given in model.entries_of(self.path):
            self.state.step(given)

    def make(self, plain):
        c = self.chance
        if self.often(0.6):
            self.info()
        if self.often(0.7):
            self.system()
        if plain or self.often(0.8):
            self.user()
        if not plain:
            self.run_started()
            for _ in range(c.randrange(1, 4)):
                self.source()
                self.chunk()
        for _ in range(c.randrange(4, 14)):
            if plain:
                for _ in range(c.randrange(1, 6)):
                    self.extra()
                if self.often(0.1):
                    self.event("THRESHOLDS_SET", plain_bytes_threshold=c.choice([500, 2000]), reason="cost")
                if self.often(0.15):
                    self.ledger()
            else:
                self.one_step()
                if self.often(0.3):
                    self.extra()
                if self.often(0.1):
                    self.event("THRESHOLDS_SET", **self.pick([{"event_threshold": 6, "n_step_fallback": 3}, {"n_step_fallback": 5}]), reason="loop rate")
                if self.often(0.2 if self.odd else 0.08):
                    self.again()
                if self.odd and self.often(0.05):
                    self.run_started()
                if self.often(0.01):
                    self.bulk()
                if self.odd and self.often(0.04):
                    self.event("RUN_RESUMED", actor=c.choice(["HUMAN", "RUNTIME"]), note="go on")
                if self.often(0.03):
                    self.event("RUN_STOPPED", stop_reason=c.choice(model.STOP_REASONS), limit_type="N/A", diagnostic="enough")
                    if self.often(0.7):
                        self.event("RUN_RESUMED", actor="HUMAN", note="go on", forgive=[])
            if self.state.stopped and self.often(0.4):
                self.send("RUN_RESUMED", {"actor": "HUMAN", "note": "on"})
            if self.state.due_trigger() and self.often(0.6) or self.often(0.1):
                self.compact()
            if self.often(0.06):
                self.host_compaction()
            if self.often(0.08) and len(self.path) > 3:
                self.goto()
        if self.often(0.5):
            self.compact()
        return self


def session(seed, odd=False, plain=None):
    maker = Maker(seed, odd)
    maker.make(seed % 3 == 0 if plain is None else plain)
    return Made(seed, maker.lines, maker.path, maker.others, maker.blobs)


def mutated(seed, shown, count=20):
    """Bytes made from a shown snapshot by one to three changes, its id computed anew more often than not, for the validator."""
    chance = random.Random(f"mutated {seed}")
    for _ in range(count):
        made = copy.deepcopy(shown)
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            mutate(made, chance)
        if chance.random() < 0.7:
            made["snapshot_id"] = model.snapshot_id(model.hashed_form(made))
        data = model.canonical_bytes(made)
        if chance.random() < 0.05:
            place = chance.randrange(len(data))
            data = data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]
        yield data


def mutate(made, chance):
    """One change somewhere below an object, mostly one that keeps its type."""
    value = made
    if isinstance(made.get("state"), dict) and made["state"] and chance.random() < 0.7:
        lists = [key for key in ("claims", "conflicts", "failures", "source_coverage") if made["state"].get(key)]
        value = made["state"][chance.choice(lists)] if lists and chance.random() < 0.7 else made["state"]
    while isinstance(value, (dict, list)) and value:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if not isinstance(value[key], (dict, list)) or not value[key] or chance.random() < 0.2:
            break
        value = value[key]
    else:
        return
    inner = value[key]
    if chance.random() < 0.15:
        value[key] = chance.choice([None, True, 0, -1, 1.5, "", "x", [], {}, [1], {"a": []}, [{}], [[]]])
    elif isinstance(value, list):
        change = chance.randrange(4)
        if change == 0:
            del value[key]
        elif change == 1:
            value.append(copy.deepcopy(inner))
        elif change == 2:
            value.reverse()
        else:
            value.clear()
    elif isinstance(inner, list):
        inner.clear() if inner else inner.append(chance.choice(["x", {}]))
    elif model.is_int(inner):
        value[key] = max(0, inner + chance.choice([-1, 1, 4]))
    elif isinstance(inner, str) and key == "status":
        value[key] = chance.choice(["verified", "candidate", "retracted", "open", "resolved", "active"])
    elif isinstance(inner, str) and key == "trigger":
        value[key] = chance.choice(model.TRIGGERS)
    elif isinstance(inner, str):
        value[key] = chance.choice([inner + "x", inner[:-1] or "x", "x", "x" * 20000])
    elif chance.random() < 0.3:
        del value[key]
    else:
        value[chance.choice(["notes", "quote", "text", "é"])] = chance.choice([1, "x", [], None])


if __name__ == "__main__":
    for line in session(int(sys.argv[1]), "odd" in sys.argv[2:]).lines:
        print(json.dumps(line, ensure_ascii=False))
