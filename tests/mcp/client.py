"""What the MCP tests share: `weir mcp` as a child with raw lines and deadlines, `/mcp` of `weir serve` with and without
event streams, the handshake of the four legacy revisions, and modern requests that carry their `_meta`.

WEIR_BIN names the program, WEIR_SOURCE the project's directory:
    WEIR_BIN=build/release/bin/weir python3 tests/mcp/era_test.py -v EraTest.test_name
"""

import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import harness  # noqa: E402
from harness import BIN, CliTest, compact, entry, jsonl, parse_line, wait_until  # noqa: E402, F401

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED_TOOLS = os.path.join(os.path.dirname(harness.SOURCE), "shared", "tools")
OLDEST, MARCH, JUNE, NOVEMBER = LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
PARSE, INVALID, METHOD, PARAMS, MISSING = -32700, -32600, -32601, -32602, -32002
MISMATCH, CAPABILITY, VERSION = -32020, -32021, -32022
SECONDS = float(os.environ.get("WEIR_TEST_SECONDS", "20"))
DAY, HOUR = 86400000, 3600000
UNSET = object()

needs_tools = unittest.skipUnless(os.path.isdir(SHARED_TOOLS), "the shared tools are not beside the project")


def modern_meta(version=MODERN, capabilities=UNSET, info=UNSET, **more):
    """The `_meta` of a modern request; None leaves a key out."""
    meta = {
        PREFIX + "protocolVersion": version,
        PREFIX + "clientCapabilities": {} if capabilities is UNSET else capabilities,
        PREFIX + "clientInfo": {"name": "test", "version": "1"} if info is UNSET else info,
    }
    return {**{key: value for key, value in meta.items() if value is not None}, **more}


def request(method, params=UNSET, id=1):
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not UNSET:
        message["params"] = params
    return message


def modern(method, params=None, id=1, meta=None):
    """A modern request; `meta` replaces the usual one."""
    return request(method, {**(params or {}), "_meta": modern_meta() if meta is None else meta}, id)


def notification(method, params=UNSET):
    message = {"jsonrpc": "2.0", "method": method}
    if params is not UNSET:
        message["params"] = params
    return message


def encode(message):
    return compact(message).encode() + b"\n"


def initialize(revision, id="init", capabilities=None):
    return request("initialize", {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": {"name": "test", "version": "1"}}, id)


def tools_of_the_page():
    """The seven tools of section 2.1, in its order."""
    with open(os.path.join(HERE, "tools.json")) as file:
        return json.load(file)


def breaks(schema, value, path=""):
    """Where a value does not meet a JSON Schema: the few words the page's schemas use."""
    kinds = {
        "object": lambda v: isinstance(v, dict), "array": lambda v: isinstance(v, list), "string": lambda v: isinstance(v, str),
        "integer": lambda v: isinstance(v, int) and not isinstance(v, bool), "boolean": lambda v: isinstance(v, bool),
    }  # fmt: skip
    out = []
    if "type" in schema and not kinds[schema["type"]](value):
        return [f"{path or '/'} is no {schema['type']}"]
    if "enum" in schema and value not in schema["enum"]:
        out.append(f"{path} is {value!r}")
    for name in schema.get("required", []):
        if name not in value:
            out.append(f"{path}/{name} is missing")
    for name, part in schema.get("properties", {}).items():
        if name in value:
            out += breaks(part, value[name], f"{path}/{name}")
    if "items" in schema:
        for i, item in enumerate(value):
            out += breaks(schema["items"], item, f"{path}/{i}")
    return out


class Peer:
    """What both transports have in common: requests in the era of this client, and what their answers must be."""

    revision = None  # of the legacy handshake; None: modern

    def __init__(self, test):
        self.test = test
        self.count = 0

    def next_id(self):
        self.count += 1
        return self.count

    def message(self, method, params=None, id=None, meta=None):
        id = self.next_id() if id is None else id
        if self.revision is None:
            return modern(method, params, id, {**modern_meta(), **(meta or {})})
        if meta:
            params = {**(params or {}), "_meta": meta}
        return request(method, UNSET if params is None else params, id)

    def ask(self, method, params=None, **how):
        raise NotImplementedError

    def ok(self, method, params=None, **how):
        """The result; an error fails the test."""
        reply = self.ask(method, params, **how)
        self.test.assertIn("result", reply, f"{method} {str(params)[:300]}")
        return reply["result"]

    def error(self, method, params=None, code=None, **how):
        """The error; a result fails the test."""
        reply = self.ask(method, params, **how)
        self.test.assertIn("error", reply, f"{method} {str(params)[:300]}: {str(reply)[:300]}")
        if code is not None:
            self.test.assertEqual(reply["error"]["code"], code, reply)
        self.test.assertIsInstance(reply["error"]["message"], str)
        return reply["error"]

    def call(self, tool, **arguments):
        """The whole result of a tool, failed or not."""
        return self.ok("tools/call", {"name": tool, "arguments": arguments})

    def text(self, tool, **arguments):
        """The text of a tool that went well."""
        result = self.call(tool, **arguments)
        self.test.assertFalse(result.get("isError"), result)
        self.test.assertEqual([block["type"] for block in result["content"]], ["text"], result)
        return result["content"][0]["text"]

    def data(self, tool, **arguments):
        """What a data tool answers: its text block as JSON, held against structuredContent where the revision has it."""
        result = self.call(tool, **arguments)
        self.test.assertFalse(result.get("isError"), result)
        self.test.assertEqual([block["type"] for block in result["content"]], ["text"], result)
        value = parse_line(result["content"][0]["text"])
        if self.revision in (OLDEST, MARCH):
            self.test.assertNotIn("structuredContent", result)
        else:
            self.test.assertEqual(result["structuredContent"], value)
            schema = next(t["outputSchema"] for t in tools_of_the_page() if t["name"] == tool)
            self.test.assertEqual(breaks(schema, value), [], value)
        return value

    def failed(self, tool, code=None, **arguments):
        """The error object of a tool that failed: a result, never a JSON-RPC error."""
        result = self.call(tool, **arguments)
        return self.failure_in(result, code)

    def failure_in(self, result, code=None):
        self.test.assertIs(result.get("isError"), True, str(result)[:600])
        self.test.assertEqual([block["type"] for block in result["content"]], ["text"], result)
        self.test.assertNotIn("structuredContent", result)
        error = parse_line(result["content"][0]["text"])
        self.test.assertEqual(sorted(error), ["code", "details", "message"], error)
        self.test.assertIn(error["code"], harness.EXITS, error)
        if code is not None:
            self.test.assertEqual(error["code"], code, error)
        if error["code"] == "INVALID_FIELD":
            self.test.assertTrue(error["details"]["errors"], error)
            for item in error["details"]["errors"]:
                self.test.assertEqual(sorted(item), ["message", "path"], error)
        return error

    def read(self, uri):
        """The one content of a resource."""
        result = self.ok("resources/read", {"uri": uri})
        self.test.assertEqual(len(result["contents"]), 1, result)
        self.test.assertEqual(result["contents"][0]["uri"], uri)
        return result["contents"][0]


class Stdio(Peer):
    """`weir mcp` as a child. Whatever it prints is kept: `raw` as lines, `inbox` as messages nobody has taken yet."""

    def __init__(self, test, args=(), env=None, cwd=None, revision=None, capabilities=None, umask=None):
        super().__init__(test)
        world = test.world
        self.errors_path = world.path(f"stderr-{time.monotonic_ns()}")
        with open(self.errors_path, "wb") as errors:
            self.process = subprocess.Popen(
                [BIN, "mcp", *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0,
                env=world.environment(env), cwd=cwd or world.cwd, preexec_fn=(lambda: os.umask(umask)) if umask is not None else None,
            )  # fmt: skip
        self.raw, self.inbox, self.junk, self.ended = [], [], [], False
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.pump, daemon=True)
        self.reader.start()
        test.addCleanup(self.close)
        if revision is not None:
            self.handshake(revision, capabilities)

    # ---- lines ----

    def pump(self):
        for line in self.process.stdout:
            with self.changed:
                self.raw.append(line)
                try:
                    if not line.endswith(b"\n"):
                        raise ValueError("no newline")
                    message = parse_line(line.decode())
                    if not isinstance(message, (dict, list)):
                        raise ValueError("no object")
                    self.inbox.append(message)
                except (ValueError, RecursionError):
                    self.junk.append(line)
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def send(self, data):
        """Raw bytes; False if nobody reads them any more."""
        try:
            view = memoryview(data)
            while view:
                view = view[self.process.stdin.write(view[: 1 << 16]) :]
            return True
        except OSError:
            return False

    def say(self, message):
        self.test.assertTrue(self.send(encode(message)), self.state())

    def notify(self, method, params=UNSET):
        self.say(notification(method, params))

    def take(self, wanted, seconds=None):
        """The first message that fits, taken out of the inbox; None when the time is over or the output has ended."""
        until = time.monotonic() + (SECONDS if seconds is None else seconds)
        with self.changed:
            while True:
                for i, message in enumerate(self.inbox):
                    if wanted(message):
                        return self.inbox.pop(i)
                left = until - time.monotonic()
                if self.ended or left <= 0:
                    return None
                self.changed.wait(left)

    def reply(self, id, seconds=None):
        found = self.take(lambda m: isinstance(m, dict) and "method" not in m and m.get("id") == id and type(m.get("id")) is type(id), seconds)
        self.test.assertIsNotNone(found, f"no answer to {id!r}: {self.state()}")
        self.test.assertEqual(found["jsonrpc"], "2.0")
        self.test.assertEqual(len(set(found) & {"result", "error"}), 1, found)
        return found

    def told(self, method, seconds=None):
        """The next notification of this name."""
        found = self.take(lambda m: isinstance(m, dict) and m.get("method") == method and "id" not in m, seconds)
        self.test.assertIsNotNone(found, f"no {method}: {self.state()}")
        return found["params"] if "params" in found else {}

    def silent(self, wanted, seconds=0.5):
        """Nothing that fits comes in this time."""
        found = self.take(wanted, seconds)
        self.test.assertIsNone(found)

    def state(self):
        code = self.process.poll()
        with open(self.errors_path, "rb") as file:
            errors = file.read()[-600:]
        return f"exit {code}, {len(self.raw)} lines, inbox {str(self.inbox)[:600]}, junk {self.junk[:3]}, stderr {errors!r}"

    # ---- requests ----

    def handshake(self, revision, capabilities=None):
        self.say(initialize(revision, capabilities=capabilities))
        self.greeting = self.reply("init").get("result")
        self.test.assertIsNotNone(self.greeting, "initialize was refused")
        self.revision = self.greeting["protocolVersion"]
        self.notify("notifications/initialized")
        return self.greeting

    def ask(self, method, params=None, id=None, meta=None, seconds=None):
        message = self.message(method, params, id, meta)
        self.say(message)
        return self.reply(message["id"], seconds)

    def exchange(self, message, seconds=None):
        """One message as it is, and the answer with its id."""
        self.say(message)
        return self.reply(message["id"], seconds)

    def answer_to(self, data, seconds=None):
        """Bytes as they are, and the next message that is no notification."""
        self.test.assertTrue(self.send(data), self.state())
        found = self.take(lambda m: isinstance(m, list) or "method" not in m, seconds)
        self.test.assertIsNotNone(found, f"no answer to {data[:200]!r}: {self.state()}")
        return found

    def alive(self):
        """Answers a ping (legacy) or a discover (modern)."""
        if self.revision is None:
            self.ok("server/discover")
        else:
            self.test.assertEqual(self.ok("ping"), {})

    # ---- the end ----

    def errors(self):
        with open(self.errors_path, "rb") as file:
            return file.read()

    def peak_mb(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))

    def finish(self, seconds=20):
        """Closes its input; exit code, and nothing on stdout but JSON."""
        self.process.stdin.close()
        return self.wait(seconds)

    def terminate(self, seconds=20):
        self.process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds=20):
        code = self.process.wait(timeout=seconds)
        self.reader.join(timeout=seconds)
        self.test.assertEqual(self.junk, [])
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join(timeout=5)
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except OSError:
                pass


class Answer:
    """What one HTTP request got."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def kind(self):
        return (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower()

    @property
    def events(self):
        return [parse_line(data) for data in event_data(self.body.decode())] if self.kind == "text/event-stream" else None

    @property
    def json(self):
        """The answer's message; of an event stream the last one with an id."""
        if self.kind == "text/event-stream":
            found = [m for m in self.events if "method" not in m]
            return found[-1] if found else None
        return parse_line(self.body.decode()) if self.body else None

    def __str__(self):
        return f"{self.status} {dict(self.headers)} {self.body[:600]!r}"


def event_data(text):
    out = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if any(lines):
            out.append("\n".join(lines))
    return out


class Events:
    """An open event stream: messages as they come."""

    def __init__(self, connection, response):
        self.connection, self.response = connection, response
        self.status, self.headers = response.status, response.headers
        self.kind = (response.headers.get("Content-Type") or "").partition(";")[0]
        self.messages, self.comments, self.ended = [], 0, False
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.pump, daemon=True)
        self.reader.start()

    def pump(self):
        data = []
        try:
            while True:
                line = self.response.readline()
                if not line:
                    break
                line = line.decode().rstrip("\r\n")
                with self.changed:
                    if line.startswith("data:"):
                        data.append(line[5:].removeprefix(" "))
                    elif line.startswith(":"):
                        self.comments += 1
                    elif line == "" and any(data):
                        self.messages.append(parse_line("\n".join(data)))
                        data = []
                    elif line == "":
                        data = []
                    self.changed.notify_all()
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def take(self, wanted=lambda m: True, seconds=None):
        until = time.monotonic() + (SECONDS if seconds is None else seconds)
        with self.changed:
            while True:
                for i, message in enumerate(self.messages):
                    if wanted(message):
                        return self.messages.pop(i)
                left = until - time.monotonic()
                if self.ended or left <= 0:
                    return None
                self.changed.wait(left)

    def close(self):
        try:
            if self.connection.sock:
                self.connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.connection.close()
        self.reader.join(timeout=5)


class Served:
    """`weir serve` as a child."""

    def __init__(self, test, args=(), env=None, roots=None, listen="127.0.0.1:0"):
        self.test, world = test, test.world
        self.errors_path = world.path(f"serve-stderr-{time.monotonic_ns()}")
        where = [] if roots == [] else [part for root in roots or [world.cwd] for part in ("--root", root)]
        with open(self.errors_path, "wb") as errors:
            self.process = subprocess.Popen(
                [BIN, "serve", "--json", "--listen", listen, *where, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=errors, bufsize=0, env=world.environment(env), cwd=world.cwd,
            )  # fmt: skip
        test.addCleanup(self.close)
        lines = queue.Queue()
        self.reader = threading.Thread(target=lambda: [lines.put(line) for line in self.process.stdout] + [lines.put(b"")], daemon=True)
        self.reader.start()
        try:
            first = lines.get(timeout=SECONDS)
        except queue.Empty:
            first = b""
        if not first:
            code = self.process.poll()
            raise AssertionError(f"weir serve said nothing: exit {code}, {self.errors()[-600:]!r}")
        self.said = parse_line(first.decode())
        url = urllib.parse.urlsplit(self.said["url"])
        self.host, self.port = url.hostname, url.port
        self.token = None
        if self.said.get("token_file"):
            with open(self.said["token_file"]) as file:
                self.token = file.read().strip()

    def errors(self):
        with open(self.errors_path, "rb") as file:
            return file.read()

    def peak_mb(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))

    def terminate(self, seconds=20):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=seconds)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(timeout=5)
        self.process.stdout.close()

    # ---- requests ----

    def send(self, method, path="/mcp", body=None, headers=None, token=UNSET, seconds=None):
        """One request on a connection of its own."""
        connection, response = self.open(method, path, body, headers, token, seconds)
        try:
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def open(self, method, path="/mcp", body=None, headers=None, token=UNSET, seconds=None):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=SECONDS if seconds is None else seconds)
        token = self.token if token is UNSET else token
        sent = {"Accept": "application/json, text/event-stream"}
        if body is not None:
            sent["Content-Type"] = "application/json"
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        sent.update(headers or {})
        data = encode(body) if isinstance(body, (dict, list)) else body
        connection.request(method, path, body=data, headers={key: value for key, value in sent.items() if value is not None})
        return connection, connection.getresponse()

    def events(self, method, body=None, headers=None, token=UNSET, seconds=60):
        connection, response = self.open(method, "/mcp", body, headers, token, seconds)
        stream = Events(connection, response)
        self.test.addCleanup(stream.close)
        return stream

    def get(self, path, **how):
        return self.send("GET", path, **how)


def modern_headers(message, **more):
    """The headers that go with a modern request; `Name_with_underscores` in `more`, None leaves one out."""
    params = message.get("params") or {}
    out = {"MCP-Protocol-Version": (params.get("_meta") or {}).get(PREFIX + "protocolVersion", MODERN), "Mcp-Method": message["method"]}
    if message["method"] in ("tools/call", "prompts/get") and isinstance(params.get("name"), str):
        out["Mcp-Name"] = params["name"]
    if message["method"] == "resources/read" and isinstance(params.get("uri"), str):
        out["Mcp-Name"] = params["uri"]
    for key, value in more.items():
        name = key.replace("_", "-")
        out = {k: v for k, v in out.items() if k.lower() != name.lower()}
        if value is not None:
            out[name] = value
    return out


class Http(Peer):
    """A client of /mcp. Modern unless a legacy session is begun."""

    session = None

    def __init__(self, served, revision=None, token=UNSET):
        super().__init__(served.test)
        self.served = served
        self.token = served.token if token is UNSET else token
        if revision is not None:
            self.begin(revision)

    def begin(self, revision, capabilities=None):
        got = self.served.send("POST", body=initialize(revision, capabilities=capabilities), token=self.token)
        self.test.assertEqual(got.status, 200, got)
        self.greeting = got.json["result"]
        self.revision = self.greeting["protocolVersion"]
        self.session = got.headers["Mcp-Session-Id"]
        self.test.assertIsNotNone(self.session, got)
        done = self.post(notification("notifications/initialized"))
        self.test.assertEqual(done.status, 202, done)

    def headers(self, message):
        if self.session is not None:
            return {"Mcp-Session-Id": self.session}
        return modern_headers(message)

    def post(self, message, headers=None, **how):
        sent = self.headers(message) if isinstance(message, dict) and headers is None else dict(headers or {})
        return self.served.send("POST", body=message, headers=sent, token=self.token, **how)

    def ask(self, method, params=None, id=None, meta=None, seconds=None):
        message = self.message(method, params, id, meta)
        got = self.post(message, seconds=seconds)
        reply = got.json
        self.test.assertIsInstance(reply, dict, got)
        self.test.assertEqual(reply.get("id"), message["id"], got)
        self.test.assertEqual(len(set(reply) & {"result", "error"}), 1, got)
        self.last = got
        return reply

    def alive(self):
        if self.revision is None:
            self.ok("server/discover")
        else:
            self.test.assertEqual(self.ok("ping"), {})


class McpTest(CliTest):
    def mcp(self, *args, **how):
        """A modern client of `weir mcp`."""
        return Stdio(self, args, **how)

    def legacy(self, revision=NOVEMBER, *args, **how):
        return Stdio(self, args, revision=revision, **how)

    def serve(self, *args, **how):
        return Served(self, args, **how)

    def everywhere(self, *args):
        """Name and client of each era and transport, on one store: the same tests for all of them."""
        served = self.serve()
        return [
            ("modern stdio", self.mcp(*args)), ("2025-11-25 stdio", self.legacy(NOVEMBER, *args)), ("2024-11-05 stdio", self.legacy(OLDEST, *args)),
            ("modern http", Http(served)), ("2025-06-18 http", Http(served, JUNE)),
        ]  # fmt: skip

    def events(self, values, session="s", *args):
        """Appends any entries; answers their ids."""
        return [e["id"] for e in self.answer("append", "--session", session, *args, stdin=jsonl(values))["entries"]]

    def path_types(self, session="s", *args):
        return [line["type"] for line in self.log(session, "--reverse", *args)]

    def assertError(self, reply, code, **data):
        """An error reply with this code."""
        self.assertIn("error", reply, reply)
        self.assertEqual(reply["error"]["code"], code, reply)
        self.assertIsInstance(reply["error"]["message"], str, reply)
        for key, value in data.items():
            self.assertEqual(reply["error"]["data"][key], value, reply)
        return reply["error"]


def big_session(test, session="big", count=50000, words=150):
    """A session whose first search takes a while: nothing has indexed it yet."""
    lorem = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor".split()
    path = test.world.path("big.jsonl")
    with open(path, "w") as out:
        for i in range(count):
            text = " ".join(f"{lorem[(i * 7 + j) % 12]}{(i * 31 + j) % 997}" for j in range(words))
            out.write(compact(entry(f"entry {i} {text}")) + "\n")
    test.weir("append", "--session", session, "--quiet", path)
    os.remove(path)


main = harness.main
