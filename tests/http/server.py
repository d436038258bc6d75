"""What the HTTP tests share: a server of the program in a world of its own (tests/cli/harness.py), and clients that ask
it: whole requests, bytes as they are, and event streams.

    python3 tests/http/routes_test.py -v RoutesTest.test_name
"""

import http.client
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest
from urllib.parse import quote, urlsplit

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

import harness  # noqa: E402
import snapshot_case  # noqa: E402
from harness import BIN, CliTest, compact, entry, jsonl, parse_line, wait_until  # noqa: E402,F401

# What each code of section 0 and of the pages it names answers over HTTP.
STATUS = {
    "USAGE": 400, "INVALID_JSON": 400, "INVALID_FIELD": 422, "LIMIT_EXCEEDED": 413, "UNSUPPORTED_FORMAT": 415, "NOT_FOUND": 404, "AMBIGUOUS": 400,
    "CONFLICT": 409, "ID_REUSED": 409, "SOURCE_REWRITTEN": 409, "IDEMPOTENCY_MISMATCH": 422, "DENIED": 403, "UNAUTHENTICATED": 401, "GATE_FAILED": 409,
    "RUN_STOPPED": 409, "CORRUPT": 500, "STORE_UNUSABLE": 503, "BUSY": 503, "TIMEOUT": 504, "STORAGE": 507,
    "IS_DIRECTORY": 422, "TOO_LARGE": 413, "OFFSET_BEYOND_END": 422, "BAD_RANGE": 422, "BAD_RANGE_SUFFIX": 422, "ACCESS_DENIED": 403, "NOT_REGULAR": 403,
    "OUTSIDE_ROOTS": 403, "DENIED_BY_POLICY": 403, "HARD_LINK": 403, "CONFIG_INVALID": 422, "KIND_INVALID": 422, "PROFILE_MISMATCH": 422,
    "SCHEMA_UNKNOWN": 422, "NOT_REPRODUCIBLE": 422, "CONTEXT_OVER_BUDGET": 422, "NODE_UNKNOWN": 404, "ILLEGAL_TRANSITION": 422,
    "EVIDENCE_ID_MISMATCH": 422, "QUOTE_MISMATCH": 422, "BUDGET_TOO_SMALL": 422, "NOTHING_TO_COMPACT": 422, "NOT_AT_BOUNDARY": 409,
    "MISSING_ARTIFACT": 422, "INVALID_ARGS": 422,
}  # fmt: skip
FOREVER = "private, max-age=31536000, immutable"
JSON = {"Content-Type": "application/json"}


def part(text):
    """One part of a path."""
    return quote(text, safe="")


class Answer:
    """What came back: status, headers (any case), body."""

    def __init__(self, asked, status, headers, body):
        self.asked, self.status, self.headers, self.body = asked, status, headers, body

    def header(self, name, other=None):
        return self.headers.get(name, other)

    @property
    def text(self):
        return self.body.decode("utf-8")

    @property
    def json(self):
        return parse_line(self.text)

    @property
    def lines(self):
        return [parse_line(line) for line in self.text.splitlines()]

    def __str__(self):
        shown = "\n".join(f"{key}: {value}" for key, value in self.headers.items())
        return f"{self.asked}\n{self.status}\n{shown}\n\n{self.body[:2000].decode('utf-8', 'backslashreplace')}"


class Server:
    """The program as `weir serve`; ended by its process id, whatever happens."""

    def __init__(self, world, *args, roots=None, env=None, umask=None, listen="127.0.0.1:0", before=None, wait=20):
        self.world = world
        self.errors_path = world.path("serve-stderr.txt")
        roots = [world.cwd] if roots is None else roots
        command = [BIN, "serve", "--json", "--listen", listen]
        for root in roots:
            command += ["--root", root]
        command += [str(arg) for arg in args]

        def prepare():
            if umask is not None:
                os.umask(umask)
            if before is not None:
                before()

        with open(self.errors_path, "ab") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=world.environment(env), cwd=world.cwd,
                preexec_fn=prepare,
            )  # fmt: skip
        self.pid = self.process.pid
        self.printed = self.first_line(wait)
        if not self.printed:
            self.stop(signal.SIGKILL)
            raise RuntimeError(f"weir serve did not begin, exit {self.process.returncode}:\n{self.errors[-3000:]}")
        self.told = parse_line(self.printed.decode())
        at = urlsplit(self.told["url"])
        self.host, self.port = at.hostname, at.port
        with open(self.told["token_file"]) as file:
            self.token = file.read().strip()

    def first_line(self, wait):
        out, until = b"", time.monotonic() + wait
        while not out.endswith(b"\n") and time.monotonic() < until:
            ready, _, _ = select.select([self.process.stdout], [], [], 0.2)
            if ready:
                got = os.read(self.process.stdout.fileno(), 1 << 16)
                if not got:
                    return b""
                out += got
            elif self.process.poll() is not None:
                return b""
        return out if out.endswith(b"\n") else b""

    @property
    def errors(self):
        with open(self.errors_path, "rb") as file:
            return file.read().decode("utf-8", "backslashreplace")

    @property
    def alive(self):
        return self.process.poll() is None

    def stop(self, number=signal.SIGTERM, wait=20):
        """Ends it; answers the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(timeout=wait)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"weir serve did not end within {wait} s of signal {number}")
        if self.process.stdout:
            self.process.stdout.close()
            self.process.stdout = None
        return self.process.returncode

    def ended(self, wait=15):
        """Waits for the end of what was told to end already; answers the exit code."""
        try:
            return self.process.wait(timeout=wait)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"weir serve did not end within {wait} s") from None

    def descriptors(self, kind="socket:"):
        """How many of a kind are open; "" for all, among them the store's, of which each worker may have its own."""
        found = 0
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                found += os.readlink(f"/proc/{self.pid}/fd/{name}").startswith(kind)
            except OSError:
                pass  # closed meanwhile
        return found

    def memory(self, what="VmRSS"):
        """Bytes."""
        with open(f"/proc/{self.pid}/status") as file:
            for line in file:
                if line.startswith(what + ":"):
                    return int(line.split()[1]) * 1024
        return 0

    # ---- whole requests ----

    @property
    def bearer(self):
        return {"Authorization": "Bearer " + self.token}

    def client(self, timeout=30):
        """A connection that stays."""
        return Client(self, timeout)

    def ask(self, method, path, body=None, headers=None, token=True, timeout=60):
        """One request on a connection of its own."""
        client = Client(self, timeout)
        try:
            return client.ask(method, path, body, headers, token)
        finally:
            client.close()

    # ---- bytes ----

    def connect(self, timeout=10, receive=None):
        """A plain connection; `receive`: a receive buffer so small that the other side soon has to wait."""
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        sock.settimeout(timeout)
        sock.connect((self.host, self.port))
        return sock

    def head(self, method, path, *lines, token=True, host=None):
        """The bytes of a request up to its body."""
        out = [f"{method} {path} HTTP/1.1", f"Host: {host or f'127.0.0.1:{self.port}'}"]
        if token:
            out.append("Authorization: Bearer " + self.token)
        return ("\r\n".join([*out, *lines]) + "\r\n\r\n").encode("utf-8", "surrogateescape")

    def raw(self, data, timeout=10, shut=False):
        """Sends bytes, reads until the server closes or falls silent; answers what came and whether it closed."""
        sock = self.connect(timeout)
        out, closed = b"", False
        try:
            try:
                sock.sendall(data)
                if shut:
                    sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it may have said no already
            while True:
                got = sock.recv(1 << 16)
                if not got:
                    closed = True
                    break
                out += got
        except socket.timeout:
            pass
        except OSError:
            closed = True
        finally:
            sock.close()
        return out, closed

    def raw_answers(self, data, timeout=10, shut=False):
        out, closed = self.raw(data, timeout, shut)
        return parse_answers(out), closed

    def events(self, path, last=None, headers=None, timeout=20):
        return Events(self, path, last, headers, timeout)


class Client:
    def __init__(self, server, timeout):
        self.server = server
        self.connection = http.client.HTTPConnection(server.host, server.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, token=True):
        """A body that is no bytes or text is sent as JSON. A header None is left out."""
        sent = dict(self.server.bearer) if token else {}
        if body is not None:
            sent.update(JSON)
            if not isinstance(body, (bytes, str)):
                body = compact(body)
            if isinstance(body, str):
                body = body.encode()
        elif method in ("POST", "PUT"):
            sent.update(JSON)
            body = b"{}"
        for key, value in (headers or {}).items():
            for known in [name for name in sent if name.lower() == key.lower()]:
                del sent[known]
            if value is not None:
                sent[key] = value
        self.connection.request(method, path, body=body, headers=sent)
        got = self.connection.getresponse()
        return Answer(f"{method} {path}", got.status, got.headers, got.read())

    def close(self):
        self.connection.close()


def parse_answers(data):
    """The answers in these bytes, as (status, {header in lower case: value}, body); a rest that is none is an error."""
    out = []
    while data:
        head, mark, rest = data.partition(b"\r\n\r\n")
        if not mark or not head.startswith(b"HTTP/1."):
            raise ValueError(f"no answer of HTTP/1.1: {data[:300]!r}")
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split(" ")[1])
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if status == 100:
            data = rest
            continue
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body, data = dechunk(rest)
        elif status in (204, 304):
            body, data = b"", rest
        else:
            size = int(headers.get("content-length", len(rest)))
            body, data = rest[:size], rest[size:]
        out.append((status, headers, body))
    return out


def dechunk(data):
    body = b""
    while True:
        line, mark, data = data.partition(b"\r\n")
        if not mark:
            return body, b""
        size = int(line.split(b";")[0], 16)
        if size == 0:
            return body, data.partition(b"\r\n")[2]
        body, data = body + data[:size], data[size + 2 :]


class Events:
    """An event stream. Iterating gives {"id","event","data"}; comments are counted."""

    def __init__(self, server, path, last=None, headers=None, timeout=20):
        self.sock = server.connect(timeout)
        lines = ["Accept: text/event-stream"]
        if last is not None:
            lines.append(f"Last-Event-ID: {last}")
        lines += [f"{key}: {value}" for key, value in (headers or {}).items()]
        self.buffer, self.text, self.comments, self.ended = b"", b"", 0, False
        self.sock.sendall(server.head("GET", path, *lines))
        while b"\r\n\r\n" not in self.buffer:
            got = self.sock.recv(1 << 16)
            if not got:
                break
            self.buffer += got
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split(" ")[1]) if first else 0
        self.headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines}
        self.chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        self.left = 0  # of the chunk under way

    def more(self):
        """Takes what has come over into the text; False at the end of the stream."""
        if not self.chunked:
            self.text, self.buffer = self.text + self.buffer, b""
            return True
        while self.buffer:
            if self.left > 2:
                taken = self.buffer[: self.left - 2]
                self.text += taken
                self.left -= len(taken)
                self.buffer = self.buffer[len(taken) :]
                if self.left > 2:
                    break
            if self.left:
                taken = min(self.left, len(self.buffer))
                self.left -= taken
                self.buffer = self.buffer[taken:]
                if self.left:
                    break
            line, mark, rest = self.buffer.partition(b"\r\n")
            if not mark:
                break
            size, self.buffer = int(line.split(b";")[0], 16), rest
            if size == 0:
                return False
            self.left = size + 2
        return True

    def next(self, timeout=None):
        """The next event, or None at the end of the stream. TimeoutError if nothing comes."""
        if timeout is not None:
            self.sock.settimeout(timeout)
        while True:
            if not self.ended and not self.more():
                self.ended = True
            block, mark, rest = self.text.partition(b"\n\n")
            if mark:
                self.text = rest
                event = self.parse(block)
                if event is not None:
                    return event
                continue
            if self.ended:
                return None
            try:
                got = self.sock.recv(1 << 16)
            except ConnectionError:
                got = b""
            if not got:
                self.ended = True
            self.buffer += got

    def parse(self, block):
        event, data = {"id": None, "event": "message"}, []
        seen = False
        for line in block.decode("utf-8").split("\n"):
            if line.startswith(":"):
                self.comments += 1
                continue
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "data":
                data.append(value)
                seen = True
            elif name in ("id", "event"):
                event[name] = value
                seen = True
        if not seen:
            return None
        event["data"] = json.loads("\n".join(data)) if data else None
        return event

    def collect(self, count=None, seconds=10, kinds=("entry",)):
        """Events of these kinds until there are `count`, the stream ends, or the time is over."""
        out, until = [], time.monotonic() + seconds
        while (count is None or len(out) < count) and time.monotonic() < until:
            try:
                event = self.next(max(0.05, until - time.monotonic()))
            except (socket.timeout, TimeoutError):
                break
            if event is None:
                break
            if event["event"] in kinds:
                out.append(event)
        return out

    def close(self, hard=False):
        if hard:  # a reset, as from a client that was killed
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


class HttpTest(CliTest):
    """A world with the command line (self.weir, self.answer, ...) and a server on the same store."""

    def serve(self, *args, **how):
        self.server = Server(self.world, *args, **how)
        self.addCleanup(self.server.stop, signal.SIGKILL)
        return self.server

    def restart(self, number=signal.SIGTERM, *args, **how):
        self.server.stop(number)
        return self.serve(*args, **how)

    def stopped(self, code=0):
        self.assertEqual(self.server.stop(), code, self.server.errors[-2000:])

    # ---- asking ----

    def ask(self, method, path, body=None, status=None, **how):
        answer = self.server.ask(method, path, body, **how)
        if status is not None:
            wanted = status if isinstance(status, tuple) else (status,)
            self.assertIn(answer.status, wanted, answer)
        self.assertEqual([key for key in answer.headers if key.lower().startswith("access-control-")], [], answer)
        return answer

    def get(self, path, status=200, **how):
        """The JSON of a GET."""
        answer = self.ask("GET", path, status=status, **how)
        self.assertEqual(answer.header("Content-Type", "").split(";")[0], "application/json", answer)
        return answer.json

    def post(self, path, body=None, status=200, **how):
        answer = self.ask("POST", path, {} if body is None else body, status=status, **how)
        self.assertEqual(answer.header("Content-Type", "").split(";")[0], "application/json", answer)
        return answer.json

    def problem(self, code, method, path, body=None, status=None, **how):
        """A refusal with this code: all of application/problem+json; answers it."""
        answer = self.ask(method, path, body, **how)
        self.is_problem(answer, code, status)
        return answer.json

    def is_problem(self, answer, code, status=None):
        self.assertEqual(answer.status, status or STATUS[code], answer)
        self.assertEqual(answer.header("Content-Type", "").split(";")[0], "application/problem+json", answer)
        self.assertEqual(answer.header("Cache-Control"), "no-store", answer)
        problem = answer.json
        self.assertEqual(problem["code"], code, answer)
        self.assertEqual(problem["type"], "urn:weir:error:" + code, answer)
        self.assertEqual(problem["status"], answer.status, answer)
        for key in ("title", "detail", "instance"):
            self.assertIsInstance(problem[key], str, answer)
            self.assertTrue(problem[key], answer)
        self.assertIsInstance(problem["details"], dict, answer)
        self.assertEqual(sorted(problem), ["code", "detail", "details", "instance", "status", "title", "type"], answer)
        if code == "INVALID_FIELD":
            self.assertTrue(problem["details"]["errors"], answer)
            for one in problem["details"]["errors"]:
                self.assertEqual(sorted(one), ["message", "path"], answer)
        if code == "UNAUTHENTICATED":
            self.assertEqual(answer.header("WWW-Authenticate", "").split(" ")[0], "Bearer", answer)
        if code in ("BUSY", "TIMEOUT"):
            self.assertRegex(answer.header("Retry-After", ""), r"^\d+$", answer)
        return problem

    def put_entries(self, session, entries, status=201, **more):
        """Appends over HTTP; answers the answer."""
        how = {key: more.pop(key) for key in ("headers",) if key in more}
        return self.post(f"/v1/sessions/{part(session)}/entries", {"entries": entries, **more}, status, **how)

    def page_through(self, path, limit=None, between=None):
        """All items of a list, page by page."""
        items, cursor, pages = [], None, 0
        while True:
            more = [f"limit={limit}"] if limit else []
            more += [f"cursor={part(cursor)}"] if cursor else []
            joint = "&" if "?" in path else "?"
            value = self.get(path + (joint + "&".join(more) if more else ""))
            self.assertIsInstance(value["items"], list)
            items += value["items"]
            pages += 1
            cursor = value.get("next")
            if not cursor:
                return items
            self.assertIsInstance(cursor, str)
            self.assertLess(pages, 1000, "the pages do not end")
            if between:
                between(pages)

    def fill(self, session="s"):
        """A small session by the command line: a system message, a question with an answer, a fork, a label, a large text."""
        lines = [
            entry("Be terse.", "system", id="m0"), entry("hello", id="m1"), entry("world", "assistant", id="m2"), entry("L" * 70000, id="m3"),
            {"type": "label", "id": "lab", "body": {"target": "m1", "label": "start"}},
        ]  # fmt: skip
        self.answer("append", "--session", session, stdin=jsonl(lines))
        self.answer("head", "fork", "side", "--session", session, "--at", "m2")

    def run_session(self, session="g"):
        """The worked run of the snapshot page, compacted once, and a message after that."""
        self.answer("append", "--session", session, stdin=jsonl(snapshot_case.example()))
        done = self.answer("compact", "--session", session)
        self.answer("append", "--session", session, stdin=jsonl([entry("after it", id="after")]))
        return done


def in_threads(count, work, timeout=120):
    """work(i) in that many threads; answers what each returned, raises what any raised."""
    import threading

    results, errors = [None] * count, []

    def one(i):
        try:
            results[i] = work(i)
        except BaseException as error:  # told to the test below
            errors.append(error)

    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + timeout
    for thread in threads:
        thread.join(max(0.1, until - time.monotonic()))
    if errors:
        raise errors[0]
    if any(thread.is_alive() for thread in threads):
        raise TimeoutError("threads did not end")
    return results


def main():
    if not os.access(BIN, os.X_OK):
        sys.exit(f"no program at {BIN}: build it, or name it with WEIR_BIN")
    unittest.main()
