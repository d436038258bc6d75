#!/usr/bin/env python3
"""Writes a session of pi (JSON Lines, version 3), made up but as messy as a real one: branches, compactions, failing
tools, large outputs, aborted answers, labels, edits of the context, types nobody knows. The same arguments give the same
bytes, on every machine.

    make_pi_session.py SIZE [SEED] [--damage] [--id ID] >session.jsonl

SIZE is in bytes, or with k or m; the file ends with the first line that reaches it. --damage also puts in what a
disk, an editor or a bug leaves: lines that are no JSON, ids used twice, parents that are not there.
"""

import argparse
import json
import sys

WORDS = """the ledger rounds each amount half up before it is posted and the report rounds again so totals drift by one cent when
a currency has three decimals read the failing test first then the parser keep the old flag until callers have moved naïve
façade 変更 δ → “quoted” emoji 🙂 path/with/slashes snake_case camelCase 0x1f 3.14159 a.b.c""".split()
FILES = ["src/ledger/round.cc", "src/ledger/post.cc", "src/report/total.py", "tests/ledger_test.cc", "README.md", "docs/currencies.md"]
TOOLS = ["read", "bash", "edit", "write", "grep"]


class Numbers:
    """A small generator of its own (splitmix64): Python promises nothing about random's sequence across versions."""

    def __init__(self, seed):
        self.state = seed & (2**64 - 1)

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & (2**64 - 1)
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
        return z ^ (z >> 31)

    def below(self, n):
        return self.next() % n

    def chance(self, percent):
        return self.below(100) < percent

    def pick(self, items):
        return items[self.below(len(items))]


class Session:
    def __init__(self, seed, damage, out):
        self.numbers = Numbers(seed)
        self.damage = damage
        self.out = out
        self.bytes = 0
        self.clock = 1_790_000_000_000
        self.path = []  # ids from the root to the leaf
        self.all = []
        self.since_compaction = 0
        self.calls = 0

    # ---- pieces ----

    def text(self, words):
        return " ".join(self.numbers.pick(WORDS) for _ in range(words))

    def output(self, size):
        line = "".join(self.numbers.pick(WORDS) + " " for _ in range(12))
        lines = []
        total = 0
        while total < size:
            made = f"{len(lines) + 1:6}\t{line}{self.numbers.next():x}"
            lines.append(made)
            total += len(made) + 1
        return "\n".join(lines)

    def stamp(self):
        self.clock += 20 + self.numbers.below(90_000)
        seconds, ms = divmod(self.clock, 1000)
        days, rest = divmod(seconds, 86_400)
        # Days since 1970 to a date, in the proleptic Gregorian calendar.
        z = days + 719_468
        era, doe = divmod(z, 146_097)
        yoe = (doe - doe // 1460 + doe // 36_524 - doe // 146_096) // 365
        doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
        mp = (5 * doy + 2) // 153
        day, month = doy - (153 * mp + 2) // 5 + 1, mp + 3 if mp < 10 else mp - 9
        year = yoe + era * 400 + (1 if month <= 2 else 0)
        return f"{year:04}-{month:02}-{day:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}.{ms:03}Z"

    # ---- lines ----

    def write(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        self.out.write(data + b"\n")
        self.bytes += len(data) + 1

    def line(self, kind, **fields):
        identity = f"{self.numbers.next() & 0xFFFFFFFF:08x}"
        while identity in self.all[-2000:]:
            identity = f"{self.numbers.next() & 0xFFFFFFFF:08x}"
        parent = self.path[-1] if self.path else None
        if self.damage and self.numbers.below(400) == 0:
            parent = "00000bad"
        if self.damage and self.all and self.numbers.below(400) == 0:
            identity = self.numbers.pick(self.all)
        value = {"type": kind, "id": identity, "parentId": parent, "timestamp": self.stamp(), **fields}
        self.write(json.dumps(value, separators=(",", ":"), ensure_ascii=self.numbers.chance(20)))
        self.path.append(identity)
        self.all.append(identity)
        return identity

    def message(self, role, **fields):
        self.since_compaction += 1
        return self.line("message", message={"role": role, **fields, "timestamp": self.clock})

    def usage(self):
        n = self.numbers.below(4000)
        return {"input": n, "output": n // 7, "cacheRead": n * 31, "cacheWrite": 0, "totalTokens": n * 32 + n // 7, "cost": {"input": n * 3e-6, "output": n * 2.1e-6, "total": n * 5.1e-6}}

    def header(self, identity):
        self.write(json.dumps({"type": "session", "version": 3, "id": identity, "timestamp": self.stamp(), "cwd": "/project/ledger"}, separators=(",", ":")))
        self.line("model_change", provider="example", modelId="example-large")
        self.line("thinking_level_change", thinkingLevel="medium")
        self.message("system", content="", sections={"preamble": self.text(30), "cwd": "<cwd>\n/project/ledger\n</cwd>"})

    def turn(self):
        n = self.numbers
        self.message("user", content=[{"type": "text", "text": self.text(5 + n.below(40))}])
        for _ in range(1 + n.below(6)):
            self.calls += 1
            call, tool = f"call_{self.calls:06}", n.pick(TOOLS)
            arguments = {"path": n.pick(FILES)} if tool != "bash" else {"command": f"grep -n {n.pick(WORDS)} {n.pick(FILES)}", "timeout": n.below(600)}
            content = [{"type": "thinking", "thinking": self.text(20), "thinkingSignature": "c2ln"}] if n.chance(30) else []
            content += [{"type": "text", "text": self.text(3 + n.below(30))}, {"type": "toolCall", "id": call, "name": tool, "arguments": arguments}]
            self.message("assistant", content=content, api="example", provider="example", model="example-large", usage=self.usage(), stopReason="toolUse")
            failed = n.chance(8)
            size = 70_000 + n.below(60_000) if n.chance(2) else n.below(6_000)
            text = f"Error: {n.pick(FILES)}: no such file or directory" if failed else self.output(size)
            details = {"details": {"truncation": {"truncated": False, "totalLines": n.below(9000)}}} if n.chance(20) else {}
            self.message("toolResult", toolCallId=call, toolName=tool, content=[{"type": "text", "text": text}], isError=failed, **details)
        if n.chance(5):
            self.message("assistant", content=[], api="example", provider="example", model="example-large", usage=self.usage(), stopReason="aborted", errorMessage="Request was aborted.")
        else:
            self.message("assistant", content=[{"type": "text", "text": self.text(20 + n.below(120))}], api="example", provider="example", model="example-large", usage=self.usage(), stopReason="stop")

    def event(self):
        """One of the things that happen between turns."""
        n = self.numbers
        if self.damage and n.chance(40):
            self.broken()
            return
        what = n.below(12)
        if what == 0:
            self.line("label", targetId=n.pick(self.path), label=n.pick(["pin", "good state", "before the rewrite"]))
        elif what == 1:
            self.line("context_edit", targetId=n.pick(self.path), replacement=None)
        elif what == 2:
            self.line("context_edit", targetId=n.pick(self.path), replacement={"content": [{"type": "text", "text": self.text(8)}]})
        elif what == 3:
            self.message("bashExecution", command="make test", output=self.output(n.below(900)), exitCode=n.below(3), cancelled=False, truncated=False)
        elif what == 4:
            self.message("bashExecution", command="git status", output="clean", exitCode=0, cancelled=False, truncated=False, excludeFromContext=True)
        elif what == 5:
            self.line("custom_message", customType="reminder", content=self.text(10), display=True)
        elif what == 6:
            self.line("custom", customType="todo", data={"items": [self.text(4), self.text(4)], "ticket": 2**60 + n.below(1000)})
        elif what == 7:
            self.line("usage", usage=self.usage(), source="summarizer")
        elif what == 8:
            self.line("thinking_level_change", thinkingLevel=n.pick(["off", "low", "high"]))
        elif what == 9:
            self.line("session_info", name=self.text(3))
        elif what == 10 and n.chance(30):
            self.line("hologram", payload={"depth": n.below(9)})
        elif what == 11 and len(self.path) > 20:
            # Back to an earlier entry, with or without a summary of what is left behind.
            left = self.path[-1]
            del self.path[len(self.path) - 1 - n.below(18) :]
            if n.chance(60):
                self.line("branch_summary", fromId=left, summary=self.text(40))

    def broken(self):
        what = self.numbers.below(6)
        if what == 0:
            self.write('{"type":"message","id":"cut0ff","parentId":null,"message":{"role":"us')
        elif what == 1:
            self.write(b'{"type":"note","text":"\xff\xfe not UTF-8"}')
        elif what == 2:
            self.write('{"type":"note","text":"a","text":"b"}')
        elif what == 3:
            self.write("[" * 100 + "]" * 100)
        elif what == 4:
            self.write('{"type":"note","id":"%08x","parentId":null,"text":"half a pair \\ud83d"}' % self.numbers.below(2**32))
        else:
            self.write("")

    def compaction(self):
        kept = self.path[max(0, len(self.path) - 1 - self.numbers.below(30))]
        self.line("compaction", summary="# Checkpoint\n\n" + self.text(150), firstKeptEntryId=kept, tokensBefore=100_000 + self.numbers.below(80_000))
        self.since_compaction = 0


def size_of(text):
    units = {"k": 1000, "m": 1_000_000}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def make(size, seed, out, damage=False, identity=None):
    """Writes the session to a binary file; answers how many lines of the tree it has."""
    session = Session(seed, damage, out)
    session.header(identity or f"made-{seed}")
    while session.bytes < size:
        session.turn()
        for _ in range(session.numbers.below(3)):
            session.event()
        if session.since_compaction > 120 and session.numbers.chance(30):
            session.compaction()
    return len(session.all)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=size_of)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--damage", action="store_true")
    parser.add_argument("--id")
    options = parser.parse_args()
    make(options.size, options.seed, sys.stdout.buffer, options.damage, options.id)


if __name__ == "__main__":
    main()
