"""What the command line tests share: a world of its own for each test (home, configuration, working directory and
store under one temporary directory), and ways to run the program in it.

WEIR_BIN names the program, WEIR_SOURCE the project's directory; both have defaults for a run by hand:
    python3 tests/cli/append_test.py -v AppendTest.test_name
"""

import fcntl
import hashlib
import json
import os
import pty
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

SOURCE = os.path.abspath(os.environ.get("WEIR_SOURCE", os.path.join(os.path.dirname(__file__), "..", "..")))
BIN = os.path.abspath(os.environ.get("WEIR_BIN", os.path.join(SOURCE, "build", "release", "bin", "weir")))
GOLDEN = os.path.join(SOURCE, "tests", "cli", "golden")
DATA = os.path.join(SOURCE, "tests", "data")
# Real sessions beside the project, used where they are and never copied.
SHARED = os.path.join(os.path.dirname(SOURCE), "shared", "data", "agent-sessions")

# Every error code that exists so far, with its exit code.
EXITS = {
    "USAGE": 2, "INVALID_JSON": 6, "INVALID_FIELD": 6, "LIMIT_EXCEEDED": 6, "UNSUPPORTED_FORMAT": 6, "NOT_FOUND": 4,
    "AMBIGUOUS": 4, "CONFLICT": 5, "ID_REUSED": 5, "SOURCE_REWRITTEN": 5, "IDEMPOTENCY_MISMATCH": 5, "IS_DIRECTORY": 6,
    "TOO_LARGE": 6, "OFFSET_BEYOND_END": 6, "BAD_RANGE": 6, "BAD_RANGE_SUFFIX": 6, "DENIED": 7, "ACCESS_DENIED": 7,
    "NOT_REGULAR": 7, "OUTSIDE_ROOTS": 7, "DENIED_BY_POLICY": 7, "HARD_LINK": 7, "UNAUTHENTICATED": 7, "CONFIG_INVALID": 6, "KIND_INVALID": 6,
    "PROFILE_MISMATCH": 6, "SCHEMA_UNKNOWN": 6, "NOT_REPRODUCIBLE": 6, "CONTEXT_OVER_BUDGET": 6, "NODE_UNKNOWN": 4,
    "ILLEGAL_TRANSITION": 6, "EVIDENCE_ID_MISMATCH": 6, "QUOTE_MISMATCH": 6, "BUDGET_TOO_SMALL": 6, "NOTHING_TO_COMPACT": 6,
    "NOT_AT_BOUNDARY": 5, "GATE_FAILED": 8,
    "RUN_STOPPED": 8,
    "INVALID_ARGS": 6, "INVALID_UTF8": 6, "INPUT_TOO_LARGE": 6, "SCHEMA_VALIDATION_FAILED": 6, "PATH_TRAVERSAL": 6, "INVALID_WAVE_DIR": 6,
    "WAVE_DIR_SYMLINK": 6, "WRITE_FAILED": 12, "REVISION_MISMATCH": 5, "ALREADY_EXISTS_CONFLICT": 5, "IMMUTABLE_FIELD": 6, "INVALID_STATE": 8,
    "PAUSED": 8, "RUN_CANCELLED": 8, "DUPLICATE_PERSPECTIVE_ID": 6, "PERSPECTIVE_NOT_FOUND": 6, "WAVE_CAP_EXCEEDED": 6, "MISSING_REQUIRED_SECTION": 6,
    "TOO_MANY_WORDS": 6, "TOO_MANY_SOURCES": 6, "MALFORMED_SOURCES": 6, "INVALID_TOOL_BUDGET": 6, "INVALID_TOOL_USAGE": 6, "TOOL_BUDGET_EXCEEDED": 6,
    "INVALID_URL": 6, "CID_MISMATCH": 6, "EMPTY_SUMMARY": 6, "RESERVED_LINE": 6, "INVALID_CONFIDENCE": 6, "RAW_URL_NOT_ALLOWED": 6, "UNKNOWN_CID": 6,
    "NUMBER_NOT_IN_QUOTE": 6, "SIZE_CAP_EXCEEDED": 6, "MISSING_ARTIFACT": 6, "UNKNOWN_GATE_ID": 6, "LIFECYCLE_RULE_VIOLATION": 6, "GATE_BLOCKED": 8,
    "GATE_STALE": 8, "BUNDLE_STALE": 8, "ARTIFACT_CHANGED": 5, "REPLAY_MISMATCH": 6, "MISSING_CITATIONS": 6, "UNCITED_NUMBER": 6,
    "REVIEW_CAP_EXCEEDED": 8, "RETRY_EXHAUSTED": 6,
    "CORRUPT": 9, "STORE_UNUSABLE": 10, "BUSY": 11, "TIMEOUT": 11, "STORAGE": 12, "CANCELLED": 130,
}  # fmt: skip

needs_shared = unittest.skipUnless(os.path.isdir(SHARED), "the sample sessions are not beside the project")
needs_root = unittest.skipUnless(os.geteuid() == 0, "only root can do this")


class Ran:
    """What a run left: exit code, stdout and stderr as bytes and as text."""

    def __init__(self, args, code, out, err):
        self.args, self.code, self.out, self.err = args, code, out, err

    @property
    def text(self):
        return self.out.decode("utf-8", "backslashreplace")

    @property
    def errors(self):
        return self.err.decode("utf-8", "backslashreplace")

    @property
    def lines(self):
        return self.text.removesuffix("\n").split("\n") if self.text else []

    def __str__(self):
        shown = " ".join(str(a) for a in self.args)
        return f"weir {shown[:300]}\nexit {self.code}\nstdout:\n{self.text[:3000]}\nstderr:\n{self.errors[:3000]}"


def unique_object(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key twice in {keys}")
    return dict(pairs)


def parse_line(line):
    """One line of JSON; duplicate keys are an error."""
    return json.loads(line, object_pairs_hook=unique_object)


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def jsonl(values):
    return "".join(compact(value) + "\n" for value in values)


def entry(content, role="user", **fields):
    return {"type": "message", "body": {"role": role, "content": content}, **fields}


def screen(data):
    """What stands on a terminal after these bytes: its lines, trailing spaces and empty last lines cut."""
    lines, row, column = [[]], 0, 0
    text = data.decode("utf-8", "replace")
    at = 0
    sequence = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")
    while at < len(text):
        control = sequence.match(text, at) if text[at] == "\x1b" else None
        if control:
            if control.group(2) == "K":
                del lines[row][column:]
            elif control.group(2) != "m":
                raise ValueError(f"a control sequence nobody expects: {control.group(0)!r}")
            at = control.end()
            continue
        c = text[at]
        at += 1
        if c == "\r":
            column = 0
        elif c == "\n":
            row, column = row + 1, 0
            while len(lines) <= row:
                lines.append([])
        else:
            line = lines[row]
            line.extend(" " * (column + 1 - len(line)))
            line[column] = c
            column += 1
    shown = ["".join(line).rstrip() for line in lines]
    while shown and not shown[-1]:
        shown.pop()
    return shown


class World:
    def __init__(self):
        # In memory where that is possible: these tests are about answers, and a disk's syncs would be most of their time.
        fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 1 << 30 else None
        self.root = tempfile.mkdtemp(prefix="weir-cli-", dir=fast)
        self.home = self.path("home")
        self.cwd = self.path("cwd")
        self.store = self.path("data", "weir")
        for name in ("home", "cwd", "config", "data", "state", "cache", "tmp"):
            os.mkdir(self.path(name))
        self.env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": self.home,
            "XDG_CONFIG_HOME": self.path("config"),
            "XDG_DATA_HOME": self.path("data"),
            "XDG_STATE_HOME": self.path("state"),
            "XDG_CACHE_HOME": self.path("cache"),
            "TMPDIR": self.path("tmp"),
            "TERM": "xterm-256color",
            "LC_ALL": "C",
        }
        self.runs = []  # every Ran, for tests that look at all that was ever printed

    def path(self, *names):
        return os.path.join(self.root, *names)

    def file(self, name, content):
        """A file in the working directory; answers its path."""
        path = os.path.join(self.cwd, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
        return path

    def user_config(self, text):
        os.makedirs(self.path("config", "weir"), exist_ok=True)
        path = self.path("config", "weir", "config.toml")
        with open(path, "w") as out:
            out.write(text)
        return path

    def project_config(self, text):
        return self.file(".weir/config.toml", text)

    def environment(self, env):
        return {**self.env, **{key: str(value) for key, value in (env or {}).items()}}

    def run(self, *args, stdin=b"", env=None, cwd=None, umask=None, timeout=120, before=None):
        def prepare():
            if umask is not None:
                os.umask(umask)
            if before is not None:
                before()

        done = subprocess.run(
            [BIN, *(a if isinstance(a, bytes) else str(a) for a in args)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env=self.environment(env),
            cwd=cwd or self.cwd,
            timeout=timeout,
            preexec_fn=prepare if umask is not None or before is not None else None,
        )
        return self.keep(Ran(args, done.returncode, done.stdout, done.stderr))

    def keep(self, ran):
        self.runs.append(ran)
        return ran

    def start(self, *args, env=None, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL):
        return subprocess.Popen([BIN, *map(str, args)], stdin=stdin, stdout=stdout, stderr=stderr, env=self.environment(env), cwd=self.cwd)

    def finish(self, process, timeout=60):
        out, err = process.communicate(timeout=timeout)
        return self.keep(Ran(process.args[1:], process.returncode, out, err))

    def terminal(self, *args, answer=b"", env=None, columns=100, stdout=True, stderr=True, stdin=True, timeout=120):
        """Runs on a pseudo-terminal. What is not on it (stdout=False, ...) is a pipe. `out` of the result is what the
        terminal got, in order."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        modes = termios.tcgetattr(slave)
        modes[1] &= ~termios.OPOST  # what the program writes, not what the driver makes of it
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        process = subprocess.Popen(
            [BIN, *map(str, args)],
            stdin=slave if stdin else subprocess.DEVNULL,
            stdout=slave if stdout else subprocess.PIPE,
            stderr=slave if stderr else subprocess.PIPE,
            env=self.environment(env),
            cwd=self.cwd,
            start_new_session=True,
        )
        os.close(slave)
        if answer:
            os.write(master, answer)
        rest = {"terminal": b"", "out": b"", "err": b""}
        streams = {master: "terminal"}
        if process.stdout:
            streams[process.stdout.fileno()] = "out"
        if process.stderr:
            streams[process.stderr.fileno()] = "err"
        until = time.monotonic() + timeout
        while streams:
            ready, _, _ = select.select(list(streams), [], [], max(0, until - time.monotonic()))
            if not ready:
                process.kill()
                raise TimeoutError(f"weir {args} did not end")
            for fd in ready:
                try:
                    got = os.read(fd, 1 << 16)
                except OSError:  # the other side of a terminal is closed
                    got = b""
                if got:
                    rest[streams[fd]] += got
                else:
                    del streams[fd]
        os.close(master)
        process.wait(timeout=timeout)
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
        ran = Ran(args, process.returncode, rest["terminal"] + rest["out"], rest["err"])
        ran.terminal = rest["terminal"]
        ran.piped = rest["out"]
        return self.keep(ran)

    # ---- the store from outside ----

    def dump(self, store=None):
        """Everything the store holds, as text lines: rows of all tables but caches, and the objects by content."""
        store = store or self.store
        lines = []
        database = os.path.join(store, "weir.db")
        if os.path.exists(database) and os.path.getsize(database) > 0:
            connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
            connection.text_factory = bytes
            tables = [row[0].decode() for row in connection.execute("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name")]
            for table in tables:
                if table in ("checkpoint", "sqlite_sequence"):
                    continue
                rows = connection.execute(f"SELECT * FROM {table}").fetchall()
                lines += sorted(f"{table} {row!r}" for row in rows)
            connection.close()
        for path in self.objects(store):
            with open(path, "rb") as file:
                lines.append(f"object {os.path.relpath(path, store)} {hashlib.sha256(file.read()).hexdigest()}")
        return lines

    def objects(self, store=None):
        found = []
        for folder, _, names in os.walk(os.path.join(store or self.store, "objects")):
            found += [os.path.join(folder, name) for name in names]
        return sorted(found)

    def object_names(self, store=None):
        return ["sha256:" + os.path.basename(os.path.dirname(path)) + os.path.basename(path) for path in self.objects(store)]

    def close(self):
        for folder, names, _ in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.islink(path):  # what it leads to is not ours
                    continue
                try:
                    os.chmod(path, 0o700)
                except OSError:
                    pass
        shutil.rmtree(self.root, ignore_errors=True)


class CliTest(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    # ---- runs that must go well ----

    def weir(self, *args, code=0, **how):
        """Runs and wants this exit code; on success nothing but data may be printed, so stderr is the test's to ask."""
        ran = self.world.run(*args, **how)
        self.assertEqual(ran.code, code, ran)
        return ran

    def answer(self, *args, code=0, **how):
        """The one object of --json."""
        ran = self.weir("--json", *args, code=code, **how)
        self.assertEqual(ran.out.count(b"\n"), 1, ran)
        self.assertTrue(ran.out.endswith(b"\n"), ran)
        value = parse_line(ran.text)
        self.assertIsInstance(value, dict, ran)
        return value

    def stream(self, *args, code=0, **how):
        """Begin, lines and end of a stream of --json."""
        return self.split_stream(self.weir("--json", *args, code=code, **how))

    def split_stream(self, ran):
        values = [parse_line(line) for line in ran.lines]
        self.assertGreaterEqual(len(values), 2, ran)
        self.assertEqual(values[0]["type"], "begin", ran)
        self.assertEqual(values[-1]["type"], "end", ran)
        self.assertIs(values[-1]["complete"], True, ran)
        self.assertNotIn("seq", values[-1], "only an entry has one, also one of type end")
        return values[0], values[1:-1], values[-1]

    def append(self, content, session="s", **fields):
        """Appends one message; answers its id."""
        head = fields.pop("head", "main")
        value = entry(content, **fields)
        return self.answer("append", "--session", session, "--head", head, stdin=compact(value))["entries"][0]["id"]

    def follow(self, *sessions, head="main"):
        """Says as the host that appends the conversation that its compactions reach the log: without that no read is shortened."""
        for session in sessions or ("s",):
            self.answer("append", "--session", session, "--head", head, stdin=compact({"type": "session_info", "body": {"barrier_feed": True}}))

    def log(self, session="s", *args, **how):
        return [line for line in self.stream("log", "--session", session, *args, **how)[1]]

    def tell(self, session="s", *args):
        """The contents of the path's messages, oldest first."""
        return [line["body"].get("content") for line in self.log(session, "--reverse", *args)]

    # ---- runs that must be refused ----

    def refused(self, name, *args, unchanged=True, **how):
        """Runs with --json and wants this error: exit code, empty stdout, one error line, and a store as it was.
        Answers the error."""
        before = self.world.dump() if unchanged else None
        ran = self.world.run("--json", *args, **how)
        self.assertEqual(ran.code, EXITS[name], ran)
        self.assertEqual(ran.out, b"", ran)
        self.assertEqual(ran.err.count(b"\n"), 1, ran)
        line = parse_line(ran.errors)
        self.assertEqual(list(line), ["error"], ran)
        self.assertEqual(sorted(line["error"]), ["code", "details", "message"], ran)
        self.assertEqual(line["error"]["code"], name, ran)
        self.assertTrue(line["error"]["message"], ran)
        self.assertIsInstance(line["error"]["details"], dict, ran)
        if name == "INVALID_FIELD":
            self.assertTrue(line["error"]["details"]["errors"], ran)
            for item in line["error"]["details"]["errors"]:
                self.assertEqual(sorted(item), ["message", "path"], ran)
        if unchanged:
            self.assertEqual(self.world.dump(), before, ran)
        return line["error"]

    def golden(self, name, text):
        """The text is what golden/NAME.txt holds; UPDATE_GOLDEN=1 writes it there instead."""
        path = os.path.join(GOLDEN, name + ".txt")
        if os.environ.get("UPDATE_GOLDEN") == "1":
            with open(path, "w") as file:
                file.write(text)
        with open(path) as file:
            self.assertEqual(file.read(), text, f"{path}: UPDATE_GOLDEN=1 writes what came out")

    def sound(self, store=None):
        """verify finds nothing."""
        where = ["--store", store] if store else []
        _, lines, end = self.stream("verify", *where)
        self.assertEqual(end["count"], 0, lines)
        return lines[-1]


def wait_until(what, seconds=20):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.02)
    return False


def main():
    if not os.access(BIN, os.X_OK):
        sys.exit(f"no program at {BIN}: build it, or name it with WEIR_BIN")
    unittest.main()
