"""Both generations of the official TypeScript SDK run an agent's loop (agent_loop.mjs) over stdio and over /mcp."""

import os
import shutil

from weirproc import BIN, CLIENTS, HERE, ClientTest, World, main

LINES = "".join(f"line number {n}\n" for n in range(1, 61))
LONG_ENTRIES, WORDS = 1500, 600


class AgentLoopTest(ClientTest):
    @classmethod
    def setUpClass(cls):
        """A store with a session that takes a while to search, made once."""
        cls.first = World()
        cls.addClassCleanup(cls.first.close)
        body = "some words that fill an entry, so that a search has something to do. " * WORDS
        line = '{"type":"message","body":{"role":"user","content":"%s"}}\n' % body
        cls.first.run("--quiet", "append", "--session", "long", stdin=line * LONG_ENTRIES)

    def setUp(self):
        super().setUp()
        shutil.copytree(self.first.store, self.world.store)
        self.file = self.world.file("notes.txt", LINES)
        self.follow("loop")
        self.append("Please look at notes.txt", session="loop")

    def settings(self, **more):
        return {
            "clients": CLIENTS,
            "session": "loop",
            "long": "long",
            "file": self.file,
            "cli": {"weir": BIN, "env": self.world.env, "cwd": self.world.cwd},
            **more,
        }

    def loop(self, generation, **settings):
        path = self.write_json("settings.json", self.settings(**settings))
        ran = self.run_node(os.path.join(HERE, "agent_loop.mjs"), generation, path)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertRegex(ran.stdout, r"\n1\.\.\d+\n$", ran.stderr)
        self.assertNotIn("not ok", ran.stdout)

    def over_stdio(self, generation):
        self.loop(generation, weir=BIN, mcpArgs=[], env=self.world.env, cwd=self.world.cwd)

    def over_http(self, generation):
        server = self.serve(env={"WEIR_ROOTS": self.world.cwd})
        self.loop(generation, url=server.mcp, tokenFile=server.token_file)
        self.assertEqual(server.stop(), 0, server.said_last)

    def test_case_12_sdk_over_stdio(self):
        self.over_stdio("sdk")

    def test_case_12_sdk_over_http(self):
        self.over_http("sdk")

    def test_case_12_client_over_stdio(self):
        self.over_stdio("client")

    def test_case_12_client_over_http(self):
        self.over_http("client")

    def test_client_finds_the_modern_era_over_stdio(self):
        self.over_stdio("client-auto")

    def test_client_finds_the_modern_era_over_http(self):
        self.over_http("client-auto")

    def test_client_in_legacy_mode_over_http(self):
        self.over_http("client-legacy")


if __name__ == "__main__":
    main()
