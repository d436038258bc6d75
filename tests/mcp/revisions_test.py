"""What each revision is told: the list of tools, fields that only some revisions define, discover, and how long an answer
may be kept (case 13)."""

import json
import os

import client
from client import DAY, HOUR, JUNE, LEGACY, MARCH, MODERN, OLDEST, PREFIX, Http, McpTest, modern, request

ALL = (*LEGACY, None)
FIXTURES = "test_simple_text test_tool_with_logging test_missing_capability test_custom_headers json_schema_2020_12_tool".split()


def of_revision(tool, revision):
    """The page's tool as a revision may see it."""
    out = dict(tool)
    if revision == OLDEST:
        out.pop("annotations", None)
    if revision in (OLDEST, MARCH):
        out.pop("outputSchema", None)
        out.pop("_meta", None)  # Tool._meta is of 2025-06-18
    return out


class ListingTest(McpTest):
    def peer(self, revision, *args, **how):
        return self.mcp(*args, **how) if revision is None else self.legacy(revision, *args, **how)

    def line(self, peer):
        """The line of one tools/list, as bytes."""
        peer.say(modern("tools/list", id="L") if peer.revision is None else request("tools/list", {}, "L"))
        peer.reply("L")
        return next(line for line in reversed(peer.raw) if b'"L"' in line)

    def test_the_seven_tools_are_those_of_the_page_in_its_order(self):
        for revision in ALL:
            with self.subTest(revision=revision):
                tools = self.peer(revision).ok("tools/list")["tools"]
                self.assertEqual([t["name"] for t in tools], ["read", "refresh", "note", "context", "compact", "history", "status"])
                for got, page in zip(tools, client.tools_of_the_page()):
                    for key in ("name", "description", "inputSchema", "outputSchema", "annotations"):
                        self.assertEqual(got.get(key), of_revision(page, revision).get(key), (page["name"], key))

    def test_the_tools_have_no_members_but_those_of_the_page_and_the_revision(self):
        for revision in ALL:
            with self.subTest(revision=revision):
                tools = self.peer(revision).ok("tools/list")["tools"]
                self.assertEqual(tools, [of_revision(t, revision) for t in client.tools_of_the_page()])

    def test_the_copy_of_the_page_is_the_page(self):
        page = os.path.join(os.path.dirname(client.SHARED_TOOLS), "contracts", "faces.md")
        if not os.path.exists(page):
            self.skipTest("the page is not beside the project")
        with open(page) as file:
            block = file.read().split("### 2.1 Tools")[1].split("```json\n")[1].split("```")[0]
        page = [t for t in json.loads(block) if t["name"] != "handover"]
        # A later page corrects it: the description of read says when text is sent again, and when it never is left out.
        for tools in (page, copy := client.tools_of_the_page()):
            next(t for t in tools if t["name"] == "read").pop("description")
        self.assertEqual(copy, page)

    def test_case_13_the_listing_is_byte_equal_between_processes_and_fits_6_kb(self):
        for revision in ALL:
            with self.subTest(revision=revision):
                first, second = self.peer(revision), self.peer(revision, "--session", "other", env={"WEIR_SESSION": "x"})
                line = self.line(first)
                self.assertEqual(line, self.line(second))
                self.assertEqual(line, self.line(first))
                self.assertLessEqual(len(line), 6000)

    def test_case_13_another_store_and_the_host_option_change_no_byte(self):
        line = self.line(self.mcp())
        self.append("x")
        self.assertEqual(self.line(self.mcp("--store", self.world.path("other"))), line)
        self.assertEqual(self.line(self.mcp("--host")), line)

    def test_case_13_http_lists_the_same_bytes_for_every_session(self):
        served = self.serve()
        message = modern("tools/list", id="L")
        bodies = {Http(served).post(message).body for _ in range(3)}
        self.assertEqual(len(bodies), 1)
        self.assertEqual(bodies.pop().rstrip(b"\n"), self.line(self.mcp()).rstrip(b"\n"))
        old = [Http(served, JUNE) for _ in range(2)]
        bodies = {peer.post(request("tools/list", {}, "L")).json["result"]["tools"].__repr__() for peer in old}
        self.assertEqual(len(bodies), 1)

    def test_case_13_descriptions_are_under_200_characters(self):
        peer = self.mcp()
        for tool in peer.ok("tools/list")["tools"]:
            self.assertLess(len(tool["description"]), 200)
        for key, method in (("prompts", "prompts/list"), ("resourceTemplates", "resources/templates/list")):
            for item in peer.ok(method)[key]:
                self.assertLess(len(item.get("description", "")), 200)

    def test_the_real_server_lists_no_fixture(self):
        peer = self.mcp()
        names = [t["name"] for t in peer.ok("tools/list")["tools"]] + [p["name"] for p in peer.ok("prompts/list")["prompts"]]
        self.assertEqual([n for n in names if n.startswith("test_") or n in FIXTURES], [])
        templates = [t["uriTemplate"] for t in peer.ok("resources/templates/list")["resourceTemplates"]]
        self.assertEqual([t for t in templates if not t.startswith("weir://")], [])
        for name in FIXTURES:
            peer.error("tools/call", {"name": name, "arguments": {}}, client.PARAMS)


class FieldsTest(McpTest):
    def setUp(self):
        super().setUp()
        self.append("hello")
        self.world.file("a.txt", "A\n")

    def every_result(self, peer):
        """One result of each method that both eras have."""
        ask = {
            "tools/list": {}, "prompts/list": {}, "resources/list": {}, "resources/templates/list": {}, "resources/read": {"uri": "weir://session/s"},
            "tools/call": {"name": "status", "arguments": {"session": "s"}}, "prompts/get": {"name": "resume-work", "arguments": {"session": "s"}},
            "completion/complete": {"ref": {"type": "ref/prompt", "name": "resume-work"}, "argument": {"name": "session", "value": ""}},
        }  # fmt: skip
        out = {method: peer.ok(method, params) for method, params in ask.items()}
        out["text tool"] = peer.ok("tools/call", {"name": "read", "arguments": {"path": "a.txt", "session": "s"}})
        out["failed tool"] = peer.ok("tools/call", {"name": "read", "arguments": {"path": "nope.txt"}})
        return out

    def test_modern_fields_stand_in_no_legacy_result(self):
        for revision in LEGACY:
            with self.subTest(revision=revision):
                peer = self.legacy(revision)
                for method, result in {**self.every_result(peer), "initialize": peer.greeting}.items():
                    for key in ("resultType", "ttlMs", "cacheScope", "supportedVersions"):
                        self.assertNotIn(key, result, method)
                    self.assertNotIn(PREFIX + "serverInfo", result.get("_meta", {}), method)

    def test_every_modern_result_is_complete_and_says_who_answers(self):
        served = self.serve()
        for peer in (self.mcp(), Http(served)):
            for method, result in {**self.every_result(peer), "discover": peer.ok("server/discover")}.items():
                with self.subTest(method=method, peer=type(peer).__name__):
                    self.assertEqual(result["resultType"], "complete")
                    info = result["_meta"][PREFIX + "serverInfo"]
                    self.assertEqual(info["name"], "weir")
                    self.assertTrue(info["version"])

    def test_structured_content_is_sent_from_2025_06_18_on(self):
        for revision in ALL:
            with self.subTest(revision=revision):
                peer = self.mcp() if revision is None else self.legacy(revision)
                result = peer.call("status", session="s")
                self.assertEqual("structuredContent" in result, revision not in (OLDEST, MARCH))
                self.assertEqual(json.loads(result["content"][0]["text"])["session"], "s")

    def test_completions_are_announced_from_2025_03_26_on(self):
        for revision in LEGACY:
            with self.subTest(revision=revision):
                self.assertEqual("completions" in self.legacy(revision).greeting["capabilities"], revision != OLDEST)


class DiscoverTest(McpTest):
    def test_discover_says_exactly_what_is_served(self):
        served = self.serve()
        for peer in (self.mcp(), Http(served)):
            with self.subTest(peer=type(peer).__name__):
                result = peer.ok("server/discover")
                self.assertEqual(result["supportedVersions"], [MODERN])
                self.assertEqual(result["capabilities"], {"tools": {}, "prompts": {}, "completions": {}, "resources": {"subscribe": True, "listChanged": True}})
                self.assertTrue(result["instructions"])
                self.assertEqual((result["ttlMs"], result["cacheScope"]), (HOUR, "public"))
                self.assertEqual(sorted(result), ["_meta", "cacheScope", "capabilities", "instructions", "resultType", "supportedVersions", "ttlMs"])

    def test_the_instructions_promise_no_shorter_read_where_no_compaction_reaches_the_log(self):
        for args in ((), ("--session", "s")):
            told = [self.mcp(*args).ok("server/discover")["instructions"], self.legacy(JUNE, *args).greeting["instructions"]]
            self.assertEqual(told[0], told[1])
            self.assertIn("`read` sends a file's text; less, a short marker or a diff, only in a session whose compactions reach the log", told[0])
            self.assertIn("they stay in the log", told[0])
            self.assertEqual("No session is set" in told[0], not args)
            self.assertLess(len(told[0]), 800)

    def test_a_legacy_greeting_names_the_same_capabilities(self):
        for revision in LEGACY:
            with self.subTest(revision=revision):
                greeting = self.legacy(revision).greeting
                self.assertEqual(greeting["serverInfo"]["name"], "weir")
                self.assertTrue(greeting["serverInfo"]["version"])
                capabilities = greeting["capabilities"]
                self.assertEqual(capabilities["resources"], {"subscribe": True, "listChanged": True})
                for key in ("tools", "prompts"):
                    self.assertEqual(capabilities[key], {})
                self.assertLessEqual(set(capabilities), {"tools", "prompts", "resources", "completions", "logging"})

    def test_each_list_says_how_long_it_may_be_kept(self):
        self.append("x")
        for peer in (self.mcp(), Http(self.serve())):
            for method, wanted in [
                ("tools/list", (HOUR, "public")), ("prompts/list", (HOUR, "public")), ("resources/templates/list", (HOUR, "public")), ("resources/list", (0, "private")),
            ]:  # fmt: skip
                result = peer.ok(method)
                self.assertEqual((result["ttlMs"], result["cacheScope"]), wanted, method)

    def test_each_kind_of_resource_says_how_long_it_may_be_kept(self):
        self.append("hello")
        big = self.append("b" * 70000)
        self.weir("compact", "--session", "s")
        blob = self.world.object_names()[0].removeprefix("sha256:")
        peer = self.mcp()
        for uri, wanted in [
            ("weir://session/s", (0, "private")), ("weir://session/s/head/main", (0, "private")), ("weir://session/s/stage/FROZEN", (0, "private")),
            ("weir://session/s/snapshot/1", (DAY, "private")), ("weir://session/s/narrative/1", (DAY, "private")), (f"weir://blob/{blob}", (DAY, "private")),
        ]:  # fmt: skip
            with self.subTest(uri=uri):
                result = peer.ok("resources/read", {"uri": uri})
                self.assertEqual((result["ttlMs"], result["cacheScope"]), wanted)
        entry_result = peer.ok("resources/read", {"uri": f"weir://session/s/entry/{big}"})
        self.assertEqual(entry_result["cacheScope"], "private")
        self.assertIn(entry_result["ttlMs"], (0, DAY))  # an id is no digest, but what it names never changes

    def test_calls_prompts_and_completions_say_nothing_of_keeping(self):
        self.append("x")
        peer = self.mcp()
        for method, params in [
            ("tools/call", {"name": "status", "arguments": {"session": "s"}}), ("prompts/get", {"name": "resume-work", "arguments": {"session": "s"}}),
            ("completion/complete", {"ref": {"type": "ref/prompt", "name": "resume-work"}, "argument": {"name": "session", "value": ""}}),
        ]:  # fmt: skip
            result = peer.ok(method, params)
            self.assertNotIn("ttlMs", result)
            self.assertNotIn("cacheScope", result)


if __name__ == "__main__":
    client.main()
