"""Wrong arguments of a tool: a result with isError and INVALID_FIELD that names all of them with their pointers."""

import client
from client import PARAMS, McpTest

CASES = [
    ("read", {}, ["/path"]),
    ("read", {"path": 7}, ["/path"]),
    ("read", {"path": None, "offset": "1", "limit": 1.5, "bypass_cache": "yes", "session": 7, "head": [], "nope": 1},
     ["/bypass_cache", "/head", "/limit", "/nope", "/offset", "/path", "/session"]),
    ("read", {"path": "a.txt", "Path": "a.txt"}, ["/Path"]),
    ("read", {"path": "a.txt", "a/b~c": 1}, ["/a~1b~0c"]),
    ("refresh", {"start": 0, "end": "x"}, ["/end", "/path", "/start"]),
    ("note", {}, ["/kind"]),
    ("note", {"kind": "nope", "op": "nope", "refs": ["a", 7, None], "other": "x", "text": 7, "id": {}, "category": 1, "where": 2},
     ["/category", "/id", "/kind", "/op", "/other", "/refs/1", "/refs/2", "/text", "/where"]),
    ("note", {"kind": "evidence", "span": {"chunk": 7, "start": -1, "x": 1}}, ["/span/chunk", "/span/end", "/span/start", "/span/x"]),
    ("note", {"kind": "evidence", "span": {"chunk": "c", "start": 0, "end": 0}}, ["/span/end"]),
    ("note", {"kind": "evidence", "span": []}, ["/span"]),
    ("context", {"budget_bytes": 0, "format": "html", "at": 7, "tools": []}, ["/at", "/budget_bytes", "/format", "/tools"]),
    ("compact", {"dry_run": 1, "max_bytes": -1, "reason": "x"}, ["/dry_run", "/max_bytes", "/reason"]),
    ("history", {"where": "never", "limit": 51, "cursor": 7, "regex": True}, ["/cursor", "/limit", "/query", "/regex", "/where"]),
    ("history", {"query": "x", "limit": 0}, ["/limit"]),
    ("history", {"query": ["x"]}, ["/query"]),
    ("status", {"session": True, "head": 1, "x": None}, ["/head", "/session", "/x"]),
    ("status", {"session": "no name!", "head": "nor this!", "x": 1}, ["/head", "/session", "/x"]),
    ("read", {"session": "no name!", "head": "nor this!"}, ["/head", "/path", "/session"]),
    ("context", {"session": "no name!", "at": "white space", "budget_bytes": 0}, ["/at", "/budget_bytes", "/session"]),
    ("note", {"kind": "question", "op": "close", "refs": ["a"], "where": "x", "category": "y"}, ["/category", "/id", "/refs", "/where"]),
]  # fmt: skip


class ArgumentsTest(McpTest):
    def setUp(self):
        super().setUp()
        self.append("x")
        self.before = self.world.dump()

    def wrong(self, peer, tool, arguments):
        session = {} if "session" in arguments else {"session": "s"}
        error = peer.failed(tool, "INVALID_FIELD", **session, **arguments)
        for item in error["details"]["errors"]:
            self.assertTrue(item["message"])
        return sorted({item["path"] for item in error["details"]["errors"]})

    def test_all_errors_are_named_with_their_pointers(self):
        for name, peer in self.everywhere():
            for tool, arguments, paths in CASES:
                with self.subTest(peer=name, tool=tool, arguments=arguments):
                    self.assertEqual(self.wrong(peer, tool, arguments), sorted(paths))
        self.assertEqual(self.world.dump(), self.before)

    def test_integers_are_integers(self):
        peer = self.mcp()
        self.world.file("a.txt", "A\nB\n")
        for value in (1.5, "1", True, 10**30, -(10**30), 1e300):
            with self.subTest(value=value):
                self.assertEqual(self.wrong(peer, "history", {"query": "x", "limit": value}), ["/limit"])

    def test_lines_that_are_no_numbers_have_a_code_of_their_own_on_every_face(self):
        self.world.file("a.txt", "A\nB\n")
        peer = self.mcp()
        for name in ("offset", "limit"):
            wanted = self.refused("BAD_RANGE", "read", "a.txt", f"--{name}", "0")
            self.assertEqual(peer.failed("read", path="a.txt", **{name: 0}), wanted)
            for value in (-1, 1.5, "1", True, [1], -(10**30)):
                with self.subTest(name=name, value=value):
                    peer.failed("read", "BAD_RANGE", path="a.txt", **{name: value})
        self.assertEqual(self.wrong(peer, "read", {"path": 7, "offset": 0}), ["/offset", "/path"])
        self.assertEqual(peer.text("read", path="a.txt", limit=10**30), "A\nB\n")
        peer.failed("read", "OFFSET_BEYOND_END", path="a.txt", offset=10**30)
        self.assertEqual(self.wrong(peer, "compact", {"max_bytes": 10**30}), ["/max_bytes"])

    def test_no_arguments_are_an_empty_object_and_what_is_no_object_is_refused(self):
        peer = self.mcp("--session", "s")
        self.assertFalse(peer.ok("tools/call", {"name": "status"}).get("isError"))
        for arguments in ("x", 7, [], [1], True):
            with self.subTest(arguments=arguments):
                reply = peer.ask("tools/call", {"name": "status", "arguments": arguments})
                if "error" in reply:
                    self.assertError(reply, PARAMS)
                else:
                    peer.failure_in(reply["result"], "INVALID_FIELD")

    def test_a_deep_or_odd_argument_is_one_error_and_the_server_goes_on(self):
        peer = self.mcp("--session", "s")
        deep = 7
        for _ in range(50):
            deep = {"a": deep}
        self.assertEqual(self.wrong(peer, "status", {"x": deep, "session": "s"}), ["/x"])
        self.assertEqual(self.wrong(peer, "status", {"\u0000": 1, "session": "s"}), ["/\u0000"])
        peer.alive()


if __name__ == "__main__":
    client.main()
