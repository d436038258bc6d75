"""Servers that answer over HTTP, for bench/run: Weir's and the TypeScript SDK's, and the bytes of what they are asked."""
import http.client
import json
import subprocess
from urllib.parse import urlsplit

ID = 10000000  # bench_faces puts another number of as many digits in its place
GREETING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class HttpServer:
    """A program that prints where it listens; ended with the block."""

    def __init__(self, command, environment):
        self.child = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.pid = self.child.pid
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"{command[0]} does not listen: {self.child.stderr.read().decode()[-300:]}")
        self.told = json.loads(line)
        self.port = self.told.get("port") or urlsplit(self.told["url"]).port
        self.headers = {"Host": f"127.0.0.1:{self.port}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if "token_file" in self.told:
            with open(self.told["token_file"], encoding="ascii") as file:
                self.headers["Authorization"] = "Bearer " + file.read().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.terminate()
        try:
            self.child.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()
        self.child.stderr.close()

    def ask(self, method, path, body=None, more=None):
        """Status, headers and text of one answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, None if body is None else json.dumps(body), {**self.headers, **(more or {})})
        got = connection.getresponse()
        text = got.read().decode()
        connection.close()
        if got.status >= 400:
            raise RuntimeError(f"{method} {path}: {got.status} {text[:300]}")
        return got.headers, text

    def greet(self):
        """The headers of the MCP session that this begins."""
        headers, _ = self.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": GREETING})
        session = {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": GREETING["protocolVersion"]}
        self.ask("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
        return session

    def request(self, method, path, body=None, more=None):
        """The bytes of a request."""
        content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {**self.headers, **(more or {})}
        if body is not None:
            headers["Content-Length"] = str(len(content))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + content

    def tool_call(self, arguments):
        return self.request("POST", "/mcp", {"jsonrpc": "2.0", "id": ID, "method": "tools/call", "params": {"name": "read", "arguments": arguments}}, self.greet())
