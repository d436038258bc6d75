"""The MCP inspector's command line: its strict listing of the tools is clean in both eras, over stdio and over /mcp."""

import json

from weirproc import BIN, ClientTest, main, package

INSPECTOR = package("@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
TOOLS = ["read", "refresh", "note", "context", "compact", "history", "status"]


class InspectorTest(ClientTest):
    def over_stdio(self):
        """The target; the inspector hands on only the variables it is given."""
        given = [("-e", f"{name}={value}") for name, value in self.world.env.items() if name.startswith("XDG_")]
        return [word for pair in given for word in pair] + [BIN, "mcp"]

    def inspect(self, era, method, *args):
        ran = self.run_node(INSPECTOR, "--cli", "--protocol-era", era, "--method", method, "--format", "json", *args)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(ran.stderr, "", "a finding, or a word of the server")
        return json.loads(ran.stdout)["result"]

    def strict_listing(self, era, *target):
        tools = self.inspect(era, "tools/list", "--strict", *target)["tools"]
        self.assertEqual([tool["name"] for tool in tools], TOOLS)
        return tools

    def test_case_13_strict_over_stdio(self):
        listings = [self.strict_listing(era, *self.over_stdio()) for era in ("legacy", "modern", "auto")]
        self.assertEqual(listings[0], listings[1])
        self.assertEqual(listings[1], listings[2])
        for tool in listings[0]:
            self.assertLess(len(tool["description"]), 200, tool["name"])
        self.assertLessEqual(len(json.dumps(listings[0], separators=(",", ":"), ensure_ascii=False).encode()), 6144)

    def test_strict_over_http(self):
        server = self.serve()
        with open(server.token_file) as file:
            token = file.read().strip()
        for era in ("legacy", "modern"):
            self.strict_listing(era, "--header", f"Authorization: Bearer {token}", "--server-url", server.mcp)
        self.assertEqual(server.stop(), 0, server.said_last)

    def test_other_lists(self):
        self.append("a message", session="s")
        for era in ("legacy", "modern"):
            for method, member in (("resources/list", "resources"), ("resources/templates/list", "resourceTemplates"), ("prompts/list", "prompts")):
                self.assertTrue(self.inspect(era, method, *self.over_stdio())[member], method)


if __name__ == "__main__":
    main()
