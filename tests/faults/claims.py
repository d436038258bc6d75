#!/usr/bin/env python3
"""Readers of one store through every face at once (the command line, two `weir mcp`, `weir serve` over HTTP and /mcp), who drop
answers, cancel calls, are killed, move links, edit and restore files, fork, rewind and compact. A slow and obvious model keeps what
each reader really holds: the text it took, under the name it asked for, since its last compaction, on its branch. Every "unchanged"
and every diff must be true of it; in sessions that are not followed there must be none."""
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys

import kit

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
MARKER = re.compile(r"\[readcache: unchanged(?:, (?P<all>\d+) lines| in lines (?P<first>\d+)-(?P<last>\d+))")
WAYS_TO_DROP = (None, "unread", "half", "ended", "blank", "next", "stays")
SESSIONS = ("followed", "other", "plain")  # nobody tells of the compactions of the last


class Model:
    """What one reader holds: by file, the lines it was shown last; by name, the file it led to when it was read last."""

    def __init__(self, files=None, names=None):
        self.files, self.names = files or {}, names or {}

    def copy(self):
        return Model({path: dict(lines) for path, lines in self.files.items()}, dict(self.names))

    def lie(self, name, path, lines, text, first, last):
        """What is wrong with an answer; nothing if it is content, or a claim that holds."""
        if not text.startswith("[readcache:"):
            return None
        if self.names.get(name, path) != path:
            return f"{name} led to {self.names[name]} when it was read last, and leads to {path}: {text[:80]!r}"
        held = self.files.get(path, {})
        marker = MARKER.match(text)
        if marker:
            start = int(marker["first"] or 1)
            end = int(marker["last"] or marker["all"])
            if marker["all"] and int(marker["all"]) != len(lines):
                return f"{text[:80]!r} of a file of {len(lines)} lines"
            wrong = [i for i in range(start, end + 1) if held.get(i) != lines[i - 1]]
            return f"line {wrong[0]} of {path} is not held: {text[:80]!r}" if wrong else None
        return self.wrong_in_diff(held, lines, text, path)

    @staticmethod
    def wrong_in_diff(held, lines, text, path):
        """A diff shows the lines of its hunks. Every other line of the file must be held, where it stands now or where it stood."""
        shown, shift, at = {}, 0, 1

        def check(end):
            for i in range(at, end):
                if lines[i - 1] not in (held.get(i - shift), held.get(i)):
                    return f"line {i} of {path} is neither held nor in the diff: {text[:200]!r}"
            return None

        for line in text.split("\n")[3:]:
            hunk = re.match(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line)
            if hunk:
                old, removed, begin, added = (int(part) for part in hunk.groups())
                wrong = check(begin + (0 if added else 1))
                if wrong:
                    return wrong
                at, shift, i = begin + added + (0 if added else 1), shift + added - removed, begin
            elif line.startswith((" ", "+")):
                shown[i] = line[1:]
                i += 1
        false = [i for i, one in shown.items() if i > len(lines) or lines[i - 1] != one]
        return f"line {false[0]} of {path} is not as the diff shows it: {text[:200]!r}" if false else check(len(lines) + 1)

    def take(self, name, path, lines, text, first, last):
        """The reader has the answer: it knows these lines of the file as they are now. A marker tells it nothing new."""
        self.names[name] = path
        if MARKER.match(text):
            return
        held = {i: text for i, text in self.files.get(path, {}).items() if i <= len(lines)}
        held.update({i: lines[i - 1] for i in range(first, last + 1)})
        self.files[path] = held


class Lines:
    """One `weir mcp`, over pipes or, as some hosts have it, over one socket."""

    def __init__(self, world):
        self.world, self.number = world, 0
        ours, theirs = socket.socketpair() if world.rng.random() < 0.5 else (None, subprocess.PIPE)
        self.process = subprocess.Popen([world.weir, "mcp", "--store", world.store, "--root", world.files], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, cwd=world.files, env=world.env, start_new_session=True)
        self.input, self.output = self.process.stdin, self.process.stdout
        if ours:
            self.input, self.output = ours.makefile("wb"), ours.makefile("rb")
            ours.close()
            theirs.close()

    def send(self, message):
        self.input.write(json.dumps(message).encode() + b"\n")
        self.input.flush()

    def ask(self, **arguments):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": {"name": "read", "arguments": arguments, "_meta": META}})
        return self.number

    def answer(self, number):
        while True:
            line = self.output.readline()
            if not line:
                raise RuntimeError("weir mcp has died")
            message = json.loads(line)
            if message.get("id") == number:
                return message["result"]["content"][0]["text"]

    def read(self, **arguments):
        return self.answer(self.ask(**arguments))

    def cancel(self, **arguments):
        """Asks, and takes it back; what comes all the same is ignored."""
        number = self.ask(**arguments)
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})

    def leave(self, **arguments):
        """Asks, and is gone before it has read the answer."""
        self.ask(**arguments)
        select.select([self.output], [], [], 10)
        self.input.close()
        self.output.close()
        self.process.wait(60)

    def end(self):
        kit.kill_group(self.process)
        self.process.wait()
        self.output.close()
        try:
            self.input.close()
        except BrokenPipeError:
            pass


class Server:
    """One `weir serve`, and one connection to it that is kept."""

    def __init__(self, world):
        self.world = world
        self.process = subprocess.Popen([world.weir, "serve", "--json", "--listen", "127.0.0.1:0", "--store", world.store, "--root", world.files], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=world.files, env=world.env, start_new_session=True)
        told = json.loads(self.process.stdout.readline())
        self.address = told["url"].removeprefix("http://")
        with open(told["token_file"], encoding="ascii") as file:
            self.token = file.read().strip()
        self.kept = None
        self.unread = []  # connections with an answer that nobody reads, some of them with a next request behind it

    def headers(self, more=()):
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream", **dict(more)}

    def ask(self, method, path, body=None, headers=(), keep=False):
        connection = self.kept if keep and self.kept else http.client.HTTPConnection(self.address, timeout=30)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, self.headers(headers))
            response = connection.getresponse()
            text = response.read().decode()
        except (http.client.HTTPException, OSError):
            self.kept = None
            raise
        if keep:
            self.kept = connection
        else:
            connection.close()
        return response.status, text

    def drop(self, path, body, headers, wait):
        """Sends a request and leaves: at once, or without reading the answer that is there, or half of it; after it has ended its own
        side, or sent what looks as if it went on; or it stays and never reads."""
        data = json.dumps(body).encode()
        host, port = self.address.rsplit(":", 1)
        sock = socket.create_connection((host, int(port)), timeout=30)
        lines = [f"POST {path} HTTP/1.1", f"Host: {self.address}", f"Content-Length: {len(data)}", *(f"{key}: {value}" for key, value in self.headers(headers).items())]
        sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        if wait:
            sock.recv(100, 0 if wait == "half" else socket.MSG_PEEK)
        if wait == "ended":
            sock.shutdown(socket.SHUT_WR)
        if wait == "blank":
            sock.sendall(b"\r\n")
        if wait == "next":
            sock.sendall(f"GET /healthz HTTP/1.1\r\nHost: {self.address}\r\n\r\n".encode())
        if wait in ("ended", "blank", "next", "stays"):
            self.unread.append(sock)
        else:
            sock.close()
        while len(self.unread) > 8:
            self.unread.pop(0).close()

    def end(self, number=signal.SIGTERM):
        for sock in self.unread:
            sock.close()
        if self.kept:
            self.kept.close()
        self.process.send_signal(number)
        self.process.communicate(timeout=60)


class World:
    def __init__(self, driver):
        self.driver, self.rng = driver, driver.rng
        root = driver.directory()
        self.weir, self.store, self.files = driver.program("weir"), os.path.join(root, "store"), os.path.join(root, "files")
        self.env = {**os.environ, "HOME": root, "XDG_CONFIG_HOME": root, "XDG_DATA_HOME": root}
        for name in [name for name in self.env if name.startswith("WEIR_")]:
            del self.env[name]
        os.makedirs(os.path.join(self.files, "v1"))
        os.makedirs(os.path.join(self.files, "v2"))
        self.paths = [os.path.join(self.files, name) for name in ("a.conf", "b.conf", "c.txt", "v1/x.conf", "v2/x.conf")]
        self.texts = {}
        for path in self.paths:
            self.write(path, [f"{os.path.relpath(path, self.files)} line {i}" for i in range(1, self.rng.randint(8, 40))])
        picture = os.path.join(self.files, "picture.png")
        with open(picture, "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + bytes(100))
        self.links = {os.path.join(self.files, "current.conf"): [*self.paths[:2], picture], os.path.join(self.files, "now"): [os.path.join(self.files, "v1"), os.path.join(self.files, "v2")]}
        for link, targets in self.links.items():
            os.symlink(targets[0], link)
        self.names = [*self.paths, os.path.join(self.files, "current.conf"), os.path.join(self.files, "now", "x.conf")]
        self.readers = {(session, "main"): Model() for session in SESSIONS}
        self.marks = []  # (session, entry, model): places to go back to
        self.trail = []  # the last acts, for whoever looks into a violation
        self.how = None  # the last answer was dropped
        self.keys = []  # (session, head, name, key) that were used
        self.server, self.agents = None, []
        for session in SESSIONS[:2]:
            self.append(session, "main", "session_info", {"barrier_feed": True})
        self.append(SESSIONS[2], "main", "message", {"role": "user", "content": "begin"})

    # ---- files ----

    def write(self, path, lines):
        self.texts[path] = lines
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(lines))

    def edit(self):
        path = self.rng.choice(self.paths)
        lines = list(self.texts[path])
        at = self.rng.randrange(len(lines))
        how = self.rng.random()
        if how < 0.5:
            lines[at] = f"edited {self.rng.randrange(3)}"  # few texts, so that a file often comes to be as it was
        elif how < 0.75 and len(lines) > 5:
            del lines[at]
        else:
            lines.insert(at, f"new {self.rng.randrange(3)}")
        self.write(path, lines[:60])

    def restore(self):
        """As it was when some reader held it."""
        path = self.rng.choice(self.paths)
        model = self.rng.choice(list(self.readers.values()))
        held = model.files.get(path)
        if held and len(held) == max(held):
            self.write(path, [held[i] for i in range(1, len(held) + 1)])

    def swap(self):
        link = self.rng.choice(list(self.links))
        os.symlink(self.rng.choice(self.links[link]), link + ".new")
        os.rename(link + ".new", link)

    # ---- the log ----

    def cli(self, *args, data=None):
        done = subprocess.run([self.weir, *args, "--store", self.store, "--json"], input=data, capture_output=True, cwd=self.files, env=self.env, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(f"weir {' '.join(args)}: {done.returncode} {done.stderr.decode()}")
        return json.loads(done.stdout)

    def append(self, session, head, kind, body):
        if self.server:
            status, text = self.server.ask("POST", f"/v1/sessions/{session}/entries", {"entries": [{"type": kind, "body": body}], "head": head}, keep=True)
            if status != 201:
                raise RuntimeError(f"append: {status} {text}")
        else:
            self.cli("append", "--session", session, "--head", head, data=json.dumps({"type": kind, "body": body}).encode())

    def compact(self):
        session, head = self.rng.choice(list(self.readers))
        if session == "plain":  # it is compacted, and nobody says so
            self.readers[session, head] = Model()
            return
        self.append(session, head, "compaction", {"summary": f"so far {self.rng.random()}"})
        self.readers[session, head] = Model()

    def mark(self):
        session, head = self.rng.choice(list(self.readers))
        heads = json.loads(self.server.ask("GET", f"/v1/sessions/{session}", keep=True)[1])["heads"]
        entry = next(one["entry"] for one in heads if one["name"] == head)
        if entry:
            self.marks = [*self.marks[-20:], (session, entry, self.readers[session, head].copy())]
            self.trail.append(f"{session}/{head} is known to have been at {entry}")

    def go_back(self):
        """Moves a head to a place where it, or another, has been: what was held there is held again."""
        if not self.marks:
            return
        session, entry, model = self.rng.choice(self.marks)
        head = self.rng.choice(["main", "side"])
        status, text = self.server.ask("PUT", f"/v1/sessions/{session}/heads/{head}", {"entry": entry}, keep=True)
        if status != 200:
            raise RuntimeError(f"head: {status} {text}")
        self.readers[session, head] = model.copy()
        self.trail.append(f"{session}/{head} moved to {entry}")

    # ---- reading ----

    def read(self):
        session, head = self.rng.choice(list(self.readers))
        name = self.rng.choice(self.names)
        path = os.path.realpath(name)
        lines = self.texts.get(path, [])  # none of a picture
        if len(lines) > 4 and self.rng.random() < 0.3:
            first = self.rng.randint(1, len(lines) - 2)
            last = self.rng.randint(first, len(lines))
            arguments = {"path": name, "offset": first, "limit": last - first + 1}
        else:
            first, last, arguments = 1, len(lines), {"path": name}
        face = self.rng.choices(["lines", "http", "mcp", "cli"], [4, 4, 3, 0.4])[0]
        taken = self.rng.random() < 0.7
        text = getattr(self, "read_" + face)(session, head, arguments, taken)
        self.driver.count("reads")
        self.trail = [*self.trail[-400:], f"{session}/{head} {name} {first}-{last} of {len(lines)} by {face}: {f'dropped ({self.how})' if text is None else text[:60]!r}"]
        if text is None:
            self.driver.count("dropped")
            return
        model = self.readers[session, head]
        if path not in self.texts:
            model.names[name] = path
            self.driver.count("pictures")
            return
        lie = model.lie(name, path, lines, text, first, last)
        if session == "plain" and text.startswith("[readcache:"):
            lie = f"a claim in a session that is not followed: {text[:80]!r}"
        if lie:
            about = [line for line in self.trail if line.startswith(session) and (os.path.basename(path) in line or " to " in line)]
            self.driver.violated(f"{face}, session {session}, head {head}", [lie, *about[-12:]], self.store)
        self.driver.count("claims" if text.startswith("[readcache:") else "texts")
        model.take(name, path, lines, text, first, last)

    def read_lines(self, session, head, arguments, taken):
        agent = self.rng.randrange(len(self.agents))
        arguments = {**arguments, "session": session, "head": head}
        if taken:
            return self.agents[agent].read(**arguments)
        how = self.rng.random()
        self.how = "cancel" if how < 0.85 else "leave" if how < 0.92 else "kill"
        if how < 0.85:
            self.agents[agent].cancel(**arguments)
            return None
        if how < 0.92:
            self.agents[agent].leave(**arguments)
        else:  # it is killed before it has answered
            self.agents[agent].ask(**arguments)
            self.agents[agent].end()
        self.agents[agent] = Lines(self)
        return None

    def read_cli(self, session, head, arguments, taken):
        more = ["--offset", str(arguments["offset"]), "--limit", str(arguments["limit"])] if "offset" in arguments else []
        command = ["read", arguments["path"], "--session", session, "--head", head, "--root", self.files, *more]
        if taken:
            return self.cli(*command).get("text", "")
        # Into nothing, or to somebody who is gone.
        ours, theirs = socket.socketpair()
        self.how = out = self.rng.choice([subprocess.DEVNULL, theirs])
        process = subprocess.Popen([self.weir, *command, "--store", self.store], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, cwd=self.files, env=self.env)
        theirs.close()
        if out != subprocess.DEVNULL:
            ours.recv(1, socket.MSG_PEEK)
        ours.close()
        process.wait(60)
        return None

    def read_http(self, session, head, arguments, taken):
        target, headers = f"/v1/sessions/{session}/read", {}
        body = {**arguments, "head": head}
        how = self.rng.random()
        if how < 0.2:
            # A key that was used before for the same request, or a new one.
            used = [key for key in self.keys if key[0] == (session, json.dumps(body, sort_keys=True))]
            key = self.rng.choice(used)[1] if used and self.rng.random() < 0.8 else f"k{self.rng.getrandbits(60)}"
            self.keys = [*self.keys[-200:], ((session, json.dumps(body, sort_keys=True)), key)]
            headers = {"Idempotency-Key": key}
        elif how < 0.3:
            body["request_id"] = f"r{self.rng.getrandbits(60)}"
            self.keys = [*self.keys[-200:], (("request", session, head, json.dumps(arguments, sort_keys=True)), body["request_id"])]
        elif how < 0.4:
            used = [key for key in self.keys if key[0] == ("request", session, head, json.dumps(arguments, sort_keys=True))]
            if used:
                body["request_id"] = self.rng.choice(used)[1]
        if not taken:
            self.how = self.rng.choice(WAYS_TO_DROP)
            self.server.drop(target, body, headers, self.how)
            return None
        status, text = self.server.ask("POST", target, body, headers, keep=self.rng.random() < 0.6)
        if status == 409:  # the same key is under way still, in a request that was dropped
            return None
        if status != 200:
            raise RuntimeError(f"read: {status} {text}")
        return json.loads(text).get("text", "")

    def read_mcp(self, session, head, arguments, taken):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read", "arguments": {**arguments, "session": session, "head": head}, "_meta": META}}
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "read"}
        if not taken:
            self.how = self.rng.choice(WAYS_TO_DROP)
            self.server.drop("/mcp", body, headers, self.how)
            return None
        status, text = self.server.ask("POST", "/mcp", body, headers, keep=self.rng.random() < 0.6)
        if status != 200:
            raise RuntimeError(f"/mcp: {status} {text}")
        data = text if text.startswith("{") else next(line[6:] for line in text.split("\n") if line.startswith("data: "))
        return json.loads(data)["result"]["content"][0]["text"]

    # ---- everything together ----

    def start(self):
        self.server = Server(self)
        self.agents = [Lines(self), Lines(self)]

    def restart(self):
        self.server.end(self.rng.choice([signal.SIGTERM, signal.SIGKILL]))
        self.server = Server(self)

    def say(self):
        session, head = self.rng.choice(list(self.readers))
        self.append(session, head, "message", {"role": "user", "content": f"go on {self.rng.getrandbits(60)}"})

    def refresh(self):
        session, head = self.rng.choice(list(self.readers))
        self.server.ask("POST", f"/v1/sessions/{session}/refresh", {"path": self.rng.choice(self.names), "head": head}, keep=True)

    def step(self):
        self.driver.count("steps")
        acts = [(self.read, 70), (self.edit, 6), (self.restore, 6), (self.swap, 5), (self.say, 4), (self.refresh, 1), (self.mark, 4), (self.go_back, 3), (self.compact, 2), (self.restart, 0.15)]
        self.rng.choices([act for act, _ in acts], [weight for _, weight in acts])[0]()

    def end(self):
        for agent in self.agents:
            agent.end()
        if self.server:
            self.server.end()


def main():
    options = kit.arguments(__doc__, steps=5000)
    with kit.Driver("claims", options) as driver:
        world = World(driver)
        try:
            world.start()
            while driver.counts.get("steps", 0) < options.steps and not driver.time_is_over() and len(driver.violations) < 20:
                world.step()
        finally:
            world.end()
        status, out = kit.run([world.weir, "verify", "--store", world.store], 120, env=world.env)
        if status != 0:
            driver.violated("verify", [out.decode("utf-8", "replace")[:300]], world.store)
        return driver.finish(driver.counts.get("claims", 0) > 0 and driver.counts.get("dropped", 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
