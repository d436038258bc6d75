"""Pages and their cursors: opaque, authenticated, of one list and one server (case 20)."""

import string

import client
from client import NOVEMBER, PARAMS, Http, McpTest, entry, jsonl

SESSIONS = 120


class ManySessionsTest(McpTest):
    @classmethod
    def setUpClass(cls):
        """120 sessions, every tenth with a snapshot; all the tests read the same store."""
        cls.maker = McpTest()
        cls.maker.setUp()
        for i in range(SESSIONS):
            cls.maker.append(f"hello {i}", session=f"s{i:03}")
            if i % 10 == 0:
                cls.maker.weir("compact", "--session", f"s{i:03}")

    @classmethod
    def tearDownClass(cls):
        cls.maker.doCleanups()

    def setUp(self):
        super().setUp()
        self.store = ["--store", self.maker.world.store]

    def pages(self, peer):
        out, params = [], {}
        while True:
            result = peer.ok("resources/list", params)
            out.append(result["resources"])
            if "nextCursor" not in result:
                return out
            self.assertLess(len(out), 20)
            params = {"cursor": result["nextCursor"]}

    def check(self, pages):
        uris = [r["uri"] for page in pages for r in page]
        self.assertEqual(len(uris), len(set(uris)))
        sessions = [u for u in uris if u.count("/") == 3]
        self.assertEqual(sessions, [f"weir://session/s{i:03}" for i in reversed(range(SESSIONS))])
        self.assertEqual(sorted(u for u in uris if u not in sessions), [f"weir://session/s{i:03}/narrative/1" for i in range(0, SESSIONS, 10)])
        self.assertGreater(len(pages), 1)
        for page in pages:
            self.assertLessEqual(len([r for r in page if r["uri"].count("/") == 3]), 50)
            for resource in page:
                self.assertTrue(resource["name"])
                self.assertEqual(resource.get("mimeType"), "text/markdown" if "/narrative/" in resource["uri"] else "application/json")

    def test_resources_are_listed_page_by_page_newest_first(self):
        for peer in (self.mcp(*self.store), self.legacy(NOVEMBER, *self.store), self.legacy(client.OLDEST, *self.store), Http(self.serve(*self.store))):
            with self.subTest(revision=peer.revision, peer=type(peer).__name__):
                self.check(self.pages(peer))

    def cursor(self, peer):
        return peer.ok("resources/list")["nextCursor"]

    def test_case_20_a_cursor_of_another_list_is_refused(self):
        for peer in (self.mcp(*self.store), self.legacy(NOVEMBER, *self.store)):
            cursor = self.cursor(peer)
            for method in ("tools/list", "prompts/list", "resources/templates/list"):
                peer.error(method, {"cursor": cursor}, PARAMS)
            error = peer.failed("history", "INVALID_FIELD", query="hello", session="s000", cursor=cursor)
            self.assertEqual([e["path"] for e in error["details"]["errors"]], ["/cursor"])

    def test_case_20_a_cursor_changed_by_one_character_is_refused(self):
        peer = self.mcp(*self.store)
        cursor = self.cursor(peer)
        alphabet = string.ascii_letters + string.digits
        for at, old in enumerate(cursor):
            for new in (alphabet[(alphabet.find(old) + 1) % len(alphabet)], "A" if old != "A" else "B", "="):
                peer.error("resources/list", {"cursor": cursor[:at] + new + cursor[at + 1 :]}, PARAMS)
        for wrong in (cursor + "A", cursor[:-1], cursor + "=", " " + cursor, cursor * 2, cursor.upper(), "", "x", "A" * 10000):
            peer.error("resources/list", {"cursor": wrong}, PARAMS)
        for wrong in (7, None, {}, [cursor], True):
            peer.error("resources/list", {"cursor": wrong}, PARAMS)
        peer.ok("resources/list", {"cursor": cursor})

    def test_case_20_a_cursor_of_another_server_is_refused(self):
        first, second = self.mcp(*self.store), self.mcp()
        for i in range(60):
            self.append("x", session=f"o{i}")
        cursor, other = self.cursor(first), self.cursor(second)
        second.error("resources/list", {"cursor": cursor}, PARAMS)
        first.error("resources/list", {"cursor": other}, PARAMS)
        first.ok("resources/list", {"cursor": cursor})

    def test_case_20_over_http_it_is_32602_and_200(self):
        served = self.serve(*self.store)
        peer = Http(served)
        cursor = self.cursor(peer)
        peer.ok("resources/list", {"cursor": cursor})
        peer.error("resources/list", {"cursor": cursor[:-1] + ("A" if cursor[-1] != "A" else "B")}, PARAMS)
        self.assertEqual(peer.last.status, 200)
        peer.error("prompts/list", {"cursor": cursor}, PARAMS)
        self.assertEqual(peer.last.status, 200)

    def test_a_cursor_says_nothing_of_what_it_points_to(self):
        cursor = self.cursor(self.mcp(*self.store))
        self.assertRegex(cursor, r"^[\x21-\x7e]+$")
        self.assertNotIn("s070", cursor)

    def test_completion_gives_at_most_100_of_120(self):
        for peer in (self.mcp(*self.store), self.legacy(NOVEMBER, *self.store)):
            ask = lambda value: peer.ok("completion/complete", {"ref": {"type": "ref/prompt", "name": "resume-work"}, "argument": {"name": "session", "value": value}})["completion"]
            everything = ask("")
            self.assertEqual(everything["values"], [f"s{i:03}" for i in reversed(range(20, 120))])
            self.assertEqual((everything["total"], everything["hasMore"]), (120, True))
            some = ask("s11")
            self.assertEqual(some["values"], [f"s{i}" for i in reversed(range(110, 120))])
            self.assertEqual((some["total"], some["hasMore"]), (10, False))
            self.assertEqual(ask("nope"), {"values": [], "total": 0, "hasMore": False})

    def test_the_short_lists_have_one_page(self):
        peer = self.mcp(*self.store)
        for method in ("tools/list", "prompts/list", "resources/templates/list"):
            self.assertNotIn("nextCursor", peer.ok(method))


class HistoryCursorTest(McpTest):
    def setUp(self):
        super().setUp()
        self.weir("append", "--session", "s", stdin=jsonl(entry(f"needle number {i}", id=f"n{i:03}") for i in range(60)))

    def walk(self, peer, limit, between=lambda: None, **more):
        out, cursor = [], {}
        while True:
            page = peer.data("history", query="needle", session="s", limit=limit, **more, **cursor)
            self.assertLessEqual(len(page["matches"]), limit)
            out += [m["entry"] for m in page["matches"]]
            if "next" not in page:
                return out
            cursor = {"cursor": page["next"]}
            between()
            self.assertLess(len(out), 500)

    def test_history_pages_hold_each_match_once_newest_first(self):
        wanted = [f"n{i:03}" for i in reversed(range(60))]
        for name, peer in self.everywhere():
            with self.subTest(peer=name):
                self.assertEqual(self.walk(peer, 7), wanted)
        self.assertEqual(self.walk(self.mcp(), 50), wanted)

    def test_appends_between_pages_neither_repeat_nor_hide(self):
        peer = self.mcp()
        self.assertEqual(self.walk(peer, 20, lambda: self.append("another needle")), [f"n{i:03}" for i in reversed(range(60))])

    def test_without_a_limit_there_are_at_most_50(self):
        page = self.mcp().data("history", query="needle", session="s")
        self.assertLessEqual(len(page["matches"]), 50)
        self.assertIn("next", page)

    def test_case_20_a_history_cursor_is_of_its_question(self):
        peer, other = self.mcp(), self.mcp("--store", self.world.path("elsewhere"))
        self.weir("append", "--session", "t", stdin=jsonl(entry(f"needle {i}") for i in range(10)))
        cursor = peer.data("history", query="needle", session="s", limit=5)["next"]
        for arguments in (
            {"query": "other", "session": "s"}, {"query": "needle", "session": "t"}, {"query": "needle", "session": "s", "where": "before"},
        ):  # fmt: skip
            with self.subTest(arguments=arguments):
                error = peer.failed("history", "INVALID_FIELD", limit=5, cursor=cursor, **arguments)
                self.assertEqual([e["path"] for e in error["details"]["errors"]], ["/cursor"])
        for at in range(len(cursor)):
            changed = cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :]
            peer.failed("history", "INVALID_FIELD", query="needle", session="s", limit=5, cursor=changed)
        peer.error("resources/list", {"cursor": cursor}, PARAMS)
        other_answer = other.call("history", query="needle", session="s", limit=5, cursor=cursor)
        self.assertIs(other_answer.get("isError"), True)
        peer.data("history", query="needle", session="s", limit=5, cursor=cursor)


if __name__ == "__main__":
    client.main()
