"""A store with something of everything, and every command that reads it: for damage of which no answer may know nothing."""
import json
import os
import re
import subprocess

import kit

SESSION = "ledger"
TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def build(driver):
    """-> (directory of the store, of the files that were read)"""
    store, files = driver.directory(), driver.directory()
    with open(os.path.join(files, "notes.md"), "w") as file:
        file.write("".join(f"{i:02} step {i} costs {i * 10} euro, as it was agreed\n" for i in range(1, 60)))

    def weir(*words, text=None, exits=(0,)):
        done = subprocess.run([driver.program("weir"), *words, "--store", store, "--session", SESSION], input=text, capture_output=True, text=True, cwd=files, timeout=120)
        if done.returncode not in exits:
            raise SystemExit(f"weir {' '.join(words)} ends with {done.returncode}: {done.stderr}")
        return done.stdout

    def talk(first, last, words):
        lines = []
        for i in range(first, last):
            lines.append({"type": "message", "id": f"m{i}", "body": {"role": "user", "content": f"The budget of part {i} is 200 euro. {words}"}})
            lines.append({"type": "message", "body": {"role": "assistant", "content": f"Part {i} is planned with 200 euro.", "tool_calls": [{"id": f"c{i}", "name": "look", "arguments": {"part": i}}]}})
            lines.append({"type": "message", "body": {"role": "tool", "tool_call_id": f"c{i}", "content": f"part {i}: 200 euro, 3 days"}})
        weir("append", text="\n".join(json.dumps(line) for line in lines))

    talk(0, 12, "Nothing more.")
    weir("append", text=json.dumps({"type": "message", "body": {"role": "tool", "tool_call_id": "c11", "content": "the whole list\n" + "200 euro for part 7\n" * 4000}}))
    weir("append", text=json.dumps({"type": "message", "body": {"role": "user", "content": "the key is ghp_" + "a1B2" * 9}}))
    weir("append", text=json.dumps({"type": "label", "body": {"target": "m3", "label": "agreed"}}))
    for words in (["claim", "The budget is 200 euro"], ["question", "Who pays the 200 euro?"], ["failure", "add", "no reply for 200 s", "--category", "network", "--where", "step 3"], ["next", "Ask for 200 euro", "Write the list"]):
        weir("note", *words)
    weir("read", "notes.md")
    weir("read", "notes.md")
    weir("context", "--json")
    weir("compact")
    talk(12, 20, "It was agreed before.")
    weir("note", "claim", "Part 13 costs 200 euro too")
    weir("read", "notes.md:5-20")
    weir("head", "fork", "side")
    weir("append", "--head", "side", text=json.dumps({"type": "message", "body": {"role": "user", "content": "another way for 200 euro"}}))
    weir("append", "--head", "side", text=json.dumps({"type": "branch_summary", "body": {"summary": "the other way costs 200 euro"}}))
    talk(20, 24, "On we go.")
    weir("context", "--json")
    weir("history", "budget")
    subprocess.run([driver.program("weir"), "append", "--store", store, "--session", "other"], input=json.dumps({"type": "message", "body": {"role": "user", "content": "elsewhere"}}), text=True, check=True, capture_output=True, timeout=60)
    # Nobody has it open: everything is in the one file, and the log beside it is gone.
    for name in ("weir.db-wal", "weir.db-shm"):
        if os.path.exists(os.path.join(store, name)) and os.path.getsize(os.path.join(store, name)):
            raise SystemExit(f"{name} is left of a store that nobody has open")
    return store, files


def commands():
    """Every one that only reads, with what it needs. The exit codes of a sound store are whatever they are."""
    here = ["--session", SESSION]
    json_too = [
        ["session", "list"], ["session", "show", *here], ["head", "list", *here], ["log", *here], ["log", "--reverse", *here], ["log", "--type", "message", "--limit", "3", *here],
        ["log", "--head", "side", *here], ["tree", *here], ["tree", "--all-types", *here], ["show", "m3", *here], ["show", "main", *here], ["show", "main~40", *here],
        ["stats", *here], ["history", "budget", *here], ["history", "agreed", "--where", "before", *here], ["history", "another", *here], ["history", "--regex", "costs? [0-9]+", *here],
        ["reads", *here], ["reads", "notes.md", *here], ["reads", "digest", *here], ["compile", *here], ["compile", "--previews", "--full", *here], ["compile", "--tree", *here],
        ["explain", *here], ["context", "--dry-run", *here], ["context", "--dry-run", "--head", "side", *here], ["diff", f"{SESSION}@m13", f"{SESSION}@m20"], ["diff", f"{SESSION}@main", f"{SESSION}@side", "--what", "entries"],
        ["diff", f"{SESSION}@main", f"{SESSION}@side", "--what", "context"], ["due", *here], ["compact", "--dry-run", *here], ["snapshot", "list", *here],
        ["snapshot", "show", *here], ["snapshot", "narrative", *here], ["snapshot", "check", "1", *here],
    ]
    return [[*words, "--json"] for words in json_too] + [["export", "--all", *here], ["export", "--format", "pi", *here], ["context", "--dry-run", *here], ["note", "claim", "--dry-run", "Another 200 euro", *here]]


# What is written over a damaged store must be what is written over a sound one: times and the digests over them aside.
WRITES = [["compact", "--json"], ["snapshot", "show", "--json"], ["snapshot", "narrative"], ["context", "--json"]]


def run_all(driver, store, files):
    """-> [(words, exit, None for a hang or below 0 for a signal, output)]"""
    todo = [*commands(), ["verify", "--json"], *([*words, "--session", SESSION] for words in WRITES)]
    out = []
    while len(out) < len(todo):
        script = os.path.join(driver.scratch, "commands")
        with open(script, "w") as file:
            file.write("".join("\t".join([*words, "--store", store, "--no-progress"][: None if words[0] in ("history", "verify") else -1]) + "\n" for words in todo[len(out):]))
        status, text = kit.run([driver.program("weir_commands"), script], 60, cwd=files)
        while text:
            line, _, text = text.partition(b"\n")
            code, size = map(int, line.split())
            words = todo[len(out)]
            answer, text = text[:size], text[size:]
            if words[0] == "verify":
                answer = b""  # says how much it read
            elif words[:-2] in WRITES or "--dry-run" in words:
                answer = TIME.sub(b"T", answer)
            out.append((words, code, answer))
        # The one after the last that answered did not end; those behind it have their turn.
        if len(out) < len(todo):
            out.append((todo[len(out)], None if status is None else -abs(status) or -1, b""))
    return out


def judge(sound, found):
    """The commands that answered something else as if nothing were wrong, that hung or died. -> [text]"""
    wrong, refused = [], False
    for (words, status, text), (_, status_now, text_now) in zip(sound, found):
        name = " ".join(words)
        # Behind a write that was refused everything is as it was before it.
        if refused and words[:-2] in WRITES:
            status, text = status_now, text_now
        refused = refused or (words[:-2] in WRITES and status_now != status)
        if status_now is None:
            wrong.append(f"HANG: {name}")
        elif status_now < 0 or status_now > 128:
            wrong.append(f"DIES: {name}: {status_now}")
        elif status_now == status and text_now != text:
            wrong.append(f"ANSWERS: {name}: exit {status_now} and another output")
        elif status_now != status and status_now in (0, 1):
            wrong.append(f"ANSWERS: {name}: exit {status_now} in place of {status}")
    return wrong
