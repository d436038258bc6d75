"""Conformance mode (section 2.3): its fixtures, and what only they can show: a missing capability (check 7), headers of
parameters (check 3), log messages on their own stream, and state that cannot be tampered with."""

import base64

import client
from client import CAPABILITY, MISMATCH, NOVEMBER, PREFIX, Http, McpTest, modern, modern_headers, modern_meta, request

TOOLS = """test_simple_text test_image_content test_audio_content test_embedded_resource test_multiple_content_types test_tool_with_logging test_tool_with_progress
test_error_handling test_sampling test_elicitation test_elicitation_sep1034_defaults test_elicitation_sep1330_enums test_reconnection json_schema_2020_12_tool
test_missing_capability test_logging_tool test_streaming_elicitation test_trigger_tool_change test_trigger_prompt_change test_custom_headers""".split()
ROUNDS = ["test_input_required_result_" + name for name in "elicitation sampling list_roots request_state multiple_inputs multi_round tampered_state capabilities".split()]
PROMPTS = "test_simple_prompt test_prompt_with_arguments test_prompt_with_embedded_resource test_prompt_with_image test_input_required_result_prompt".split()


class ConformanceTest(McpTest):
    def setUp(self):
        super().setUp()
        self.served = self.serve("--conformance", roots=[])
        self.served.token = None  # asks for none
        self.peer = Http(self.served, token=None)

    def test_the_fixtures_are_listed(self):
        names = [t["name"] for t in self.peer.ok("tools/list")["tools"]]
        self.assertEqual([n for n in TOOLS + ROUNDS if n not in names], [])
        prompts = [p["name"] for p in self.peer.ok("prompts/list")["prompts"]]
        self.assertEqual([n for n in PROMPTS if n not in prompts], [])
        uris = [r["uri"] for r in self.peer.ok("resources/list")["resources"]]
        for uri in ("test://static-text", "test://static-binary", "test://watched-resource"):
            self.assertIn(uri, uris)
        self.assertIn("test://template/{id}/data", [t["uriTemplate"] for t in self.peer.ok("resources/templates/list")["resourceTemplates"]])
        capabilities = self.peer.ok("server/discover")["capabilities"]
        self.assertIs(capabilities["tools"]["listChanged"], True)
        self.assertIs(capabilities["prompts"]["listChanged"], True)

    def test_it_refuses_a_store_and_another_address_and_keeps_host_and_origin(self):
        for args in (["--store", self.world.path("x")], ["--listen", "0.0.0.0:0"]):
            ran = self.world.run("serve", "--conformance", *(["--listen", "127.0.0.1:0"] if "--listen" not in args else []), *args, timeout=20)
            self.assertNotEqual(ran.code, 0, ran)
        message = modern("server/discover")
        for more in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            self.assertEqual(self.served.send("POST", body=message, headers={**modern_headers(message), **more}, token=None).status, 403)

    def test_check_7_a_capability_the_client_did_not_declare(self):
        message = modern("tools/call", {"name": "test_missing_capability", "arguments": {}})
        got = self.served.send("POST", body=message, headers=modern_headers(message), token=None)
        self.assertEqual(got.status, 400, got)
        error = self.assertError(got.json, CAPABILITY)
        self.assertIsInstance(error["data"]["requiredCapabilities"], dict)
        self.assertIn("sampling", error["data"]["requiredCapabilities"])
        declared = modern("tools/call", {"name": "test_missing_capability", "arguments": {}}, meta=modern_meta(capabilities={"sampling": {}}))
        got = self.served.send("POST", body=declared, headers=modern_headers(declared), token=None)
        self.assertEqual(got.status, 200, got)

    def test_check_3_headers_of_parameters(self):
        tool = next(t for t in self.peer.ok("tools/list")["tools"] if t["name"] == "test_custom_headers")
        marked = {name: p["x-mcp-header"] for name, p in tool["inputSchema"]["properties"].items() if "x-mcp-header" in p}
        self.assertTrue(marked)
        name, header = next(iter(marked.items()))
        message = modern("tools/call", {"name": "test_custom_headers", "arguments": {n: "us-west1" for n in tool["inputSchema"].get("required", [name])} | {name: "us-west1"}})
        usual = {**modern_headers(message), **{f"Mcp-Param-{h}": "us-west1" for n, h in marked.items() if n in message["params"]["arguments"]}}
        encoded = "=?base64?" + base64.b64encode(b"us-west1").decode() + "?="
        for value, status in (("us-west1", 200), (" us-west1 ", 200), (encoded, 200), ("US-WEST1", 400), ("", 400), (encoded[:-4] + "?=", 400), (None, 400)):
            with self.subTest(value=value):
                headers = {**usual, f"Mcp-Param-{header}": value}
                got = self.served.send("POST", body=message, headers=headers, token=None)
                self.assertEqual(got.status, status, got)
                if status == 400:
                    self.assertError(got.json, MISMATCH)

    def test_messages_come_only_with_a_level_and_on_the_requests_own_stream(self):
        for level in (None, "debug"):
            meta = {**modern_meta(), **({PREFIX + "logLevel": level} if level else {})}
            message = modern("tools/call", {"name": "test_logging_tool", "arguments": {}}, meta=meta)
            got = self.served.send("POST", body=message, headers=modern_headers(message), token=None)
            self.assertEqual(got.status, 200, got)
            if level is None:
                self.assertEqual(got.kind, "application/json")
            else:
                self.assertEqual(got.kind, "text/event-stream")
                self.assertEqual(got.headers["X-Accel-Buffering"], "no")
                told = [m for m in got.events if m.get("method") == "notifications/message"]
                self.assertTrue(told)
                self.assertEqual(got.events[-1]["id"], message["id"])
                self.assertFalse([m for m in got.events if "method" in m and "id" in m])

    def test_state_that_was_tampered_with_or_moved_is_refused(self):
        def ask(arguments=None, **more):
            message = modern("tools/call", {"name": "test_input_required_result_request_state", "arguments": arguments or {}, **more}, meta=modern_meta(capabilities={"elicitation": {"form": {}}, "sampling": {}, "roots": {}}))
            return self.served.send("POST", body=message, headers=modern_headers(message), token=None).json

        first = ask()
        self.assertEqual(first["result"]["resultType"], "input_required", first)
        state, asked = first["result"]["requestState"], first["result"]["inputRequests"]
        answers = {key: {"action": "accept", "content": {"ok": True, "confirm": True, "name": "x", "username": "x"}} for key in asked}
        for wrong in (state[:-1] + ("A" if state[-1] != "A" else "B"), "x" + state, "", "x", state[::-1]):
            reply = ask(inputResponses=answers, requestState=wrong)
            self.assertIn("error", reply, reply)
        good = ask(inputResponses=answers, requestState=state)
        self.assertEqual(good["result"]["resultType"], "complete", good)

    def test_over_stdio_too(self):
        peer = self.mcp("--conformance")
        self.assertIn("test_simple_text", [t["name"] for t in peer.ok("tools/list")["tools"]])
        error = peer.error("tools/call", {"name": "test_missing_capability", "arguments": {}}, CAPABILITY)
        self.assertIn("sampling", error["data"]["requiredCapabilities"])
        self.assertEqual(peer.finish(), 0)

    def test_a_legacy_client_has_the_simple_ones(self):
        old = Http(self.served, NOVEMBER, token=None)
        result = old.ok("tools/call", {"name": "test_simple_text", "arguments": {}})
        self.assertEqual(result["content"][0]["type"], "text")
        result = old.ok("tools/call", {"name": "test_error_handling", "arguments": {}})
        self.assertIs(result["isError"], True)
        got = old.post(request("tools/call", {"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "p"}}, 9))
        values = [m["params"]["progress"] for m in got.events or [] if m.get("method") == "notifications/progress"]
        self.assertEqual(values, sorted(set(values)))


if __name__ == "__main__":
    client.main()
