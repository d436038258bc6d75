"""What tests of servers share: one that runs, requests to it over HTTP, and an agent's side of MCP over lines."""

import http.client
import json
import os
import signal
import socket
import subprocess

import harness
from harness import CliTest

MODERN = "2026-07-28"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return harness.parse_line(self.body.decode())

    def __str__(self):
        return f"{self.status} {self.headers} {self.body[:2000]!r}"


class Serving:
    """`weir serve --json` on a free port, and what it said when it was there."""

    def __init__(self, world, *args, listen="127.0.0.1:0", env=None):
        where = ["--listen", listen] if listen else []
        self.world = world
        self.process = world.start("serve", "--json", *where, *args, env=env)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"no server: {world.finish(self.process)}")
        self.told = harness.parse_line(line.decode())
        self.token = None
        if self.told["token_file"]:
            with open(self.told["token_file"], encoding="ascii") as file:
                self.token = file.read().strip()

    def connection(self, timeout=30):
        url = self.told["url"]
        if url.startswith("unix:"):
            return UnixConnection(url.removeprefix("unix:"), timeout)
        return http.client.HTTPConnection(url.removeprefix("http://"), timeout=timeout)

    def ask(self, method, path, body=None, token=True, headers=None):
        """token: True for the server's, False for none, or a text."""
        wanted = dict(headers or {})
        if token and (self.token or token is not True):
            wanted["Authorization"] = f"Bearer {self.token if token is True else token}"
        if body is not None:
            wanted.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, (str, bytes)) else json.dumps(body)
        connection = self.connection()
        try:
            connection.request(method, path, body=body, headers=wanted)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def mcp(self, method, params=None, **how):
        """One modern request to /mcp; its result."""
        answer = self.ask("POST", "/mcp", modern(method, params), headers={"MCP-Protocol-Version": MODERN, "Mcp-Method": method, "Accept": "application/json, text/event-stream", **named(method, params)}, **how)
        return answer.json["result"]

    def threads(self):
        return status_of_threads(self.process.pid)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.world.finish(self.process)


def named(method, params):
    name = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(method)
    return {"Mcp-Name": params[name]} if name else {}


def modern(method, params=None, number=1):
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {**(params or {}), "_meta": meta}}


def status_of_threads(pid):
    """What the kernel says of each thread, by field."""
    out = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="ascii") as file:
            out.append(dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line))
    return out


class Agent:
    """The other side of `weir mcp`."""

    def __init__(self, world, *args, env=None):
        self.world = world
        self.process = world.start("mcp", *args, env=env, stdin=subprocess.PIPE)
        self.number = 0

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params=None):
        """The result or error of one modern request."""
        self.number += 1
        self.send(modern(method, params, self.number))
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"no answer to {method}: {self.world.finish(self.process)}")
        answer = harness.parse_line(line.decode())
        assert answer["id"] == self.number, answer
        return answer.get("result", answer.get("error"))

    def tool(self, name, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def text(self, name, **arguments):
        result = self.tool(name, **arguments)
        assert not result.get("isError"), result
        return result["content"][0]["text"]

    def refused(self, name, **arguments):
        result = self.tool(name, **arguments)
        assert result.get("isError"), result
        return json.loads(result["content"][0]["text"])

    def end(self, number=None):
        if number is not None:
            self.process.send_signal(number)
        return self.world.finish(self.process)


class ServerCase(CliTest):
    def serve(self, *args, **how):
        serving = Serving(self.world, *args, **how)
        self.addCleanup(self.stop, serving.process)
        return serving

    def agent(self, *args, **how):
        agent = Agent(self.world, *args, **how)
        self.addCleanup(self.stop, agent.process)
        return agent

    def stop(self, process):
        if process.poll() is None:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()
