"""The era of a request, and the modern checks in their order, over stdio and HTTP (cases 14 to 17)."""

import base64
import itertools

import client
from client import (
    INVALID, LEGACY, METHOD, MISMATCH, MODERN, NOVEMBER, PARAMS, PARSE, PREFIX, VERSION, Http, McpTest, encode, initialize, modern, modern_headers,
    modern_meta, notification, request,
)  # fmt: skip

LEGACY_ONLY = ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe")


class EraTest(McpTest):
    def test_each_of_the_three_meta_keys_alone_makes_a_request_modern(self):
        peer = self.mcp()
        for name, value in (("protocolVersion", MODERN), ("clientInfo", {"name": "x", "version": "1"}), ("clientCapabilities", {})):
            with self.subTest(key=name):
                reply = peer.exchange(request("ping", {"_meta": {PREFIX + name: value}}, f"only {name}"))
                self.assertError(reply, PARAMS)  # check 2 stands before check 5
        # A key that is none of the three makes nothing modern: legacy, and ping needs no handshake there.
        for key in (PREFIX + "logLevel", "progressToken", "protocolVersion", "example.org/protocolVersion"):
            reply = peer.exchange(request("ping", {"_meta": {key: "debug"}}, f"legacy {key}"))
            self.assertEqual(reply.get("result"), {}, reply)

    def test_server_discover_is_modern_by_its_name_alone(self):
        peer = self.mcp()
        self.assertError(peer.exchange(request("server/discover", {}, 1)), PARAMS)
        self.assertError(peer.exchange(request("server/discover", id=2)), PARAMS)
        self.assertError(peer.exchange(request("server/discover", {"_meta": {}}, 3)), PARAMS)

    def test_any_other_request_without_the_keys_is_legacy(self):
        peer = self.mcp()
        for i, method in enumerate(("tools/list", "subscriptions/listen", "nope", "resources/read")):
            self.assertError(peer.exchange(request(method, {}, i)), INVALID)  # before initialize
        self.assertEqual(peer.exchange(request("ping", id="p"))["result"], {})

    def test_case_14_discover_is_answered_before_and_after_a_legacy_initialize(self):
        peer = self.mcp()
        before = peer.ok("server/discover")
        peer.say(initialize(NOVEMBER))
        self.assertEqual(peer.reply("init")["result"]["protocolVersion"], NOVEMBER)
        peer.notify("notifications/initialized")
        self.assertEqual(peer.ok("server/discover"), before)
        # And both eras side by side from then on.
        old = peer.exchange(request("tools/list", {}, "old"))["result"]
        self.assertNotIn("resultType", old)
        self.assertEqual(peer.ok("tools/list")["resultType"], "complete")

    def test_case_16_legacy_methods_with_modern_meta_are_unknown_over_stdio(self):
        peer = self.mcp()
        for method in LEGACY_ONLY:
            peer.error(method, {"uri": "weir://session/s", "level": "info"}, METHOD)
        peer.handshake(NOVEMBER)
        for method in LEGACY_ONLY:
            self.assertError(peer.exchange(modern(method, {"uri": "weir://session/s", "level": "info"}, f"m {method}")), METHOD)
        self.weir("session", "new", "s")
        self.assertEqual(peer.ok("ping"), {})
        peer.ok("logging/setLevel", {"level": "info"})
        peer.ok("resources/subscribe", {"uri": "weir://session/s"})
        peer.ok("resources/unsubscribe", {"uri": "weir://session/s"})

    def test_modern_only_methods_are_unknown_to_a_legacy_client(self):
        peer = self.legacy()
        peer.error("subscriptions/listen", {"notifications": {}}, METHOD)
        peer.error("nope", {}, METHOD)
        peer.error("TOOLS/LIST", {}, METHOD)


class StdioChecksTest(McpTest):
    def setUp(self):
        super().setUp()
        self.peer = self.mcp()

    def test_check_1_json_and_shape(self):
        unreadable = [
            (b"hello\n", PARSE), (b'{"jsonrpc":"2.0","id":1,"method":"server/discover"\n', PARSE), (b'{"a":1,"a":2}\n', PARSE), (b"[]\n", INVALID),
            (encode([modern("tools/list")]), INVALID), (b"7\n", INVALID), (b'"x"\n', INVALID), (b"null\n", INVALID), (b"{}\n", INVALID),
        ]  # fmt: skip
        for data, code in unreadable:
            with self.subTest(data=data):
                reply = self.peer.answer_to(data)
                self.assertIsNone(reply["id"], reply)
                self.assertIn(reply["error"]["code"], (PARSE, INVALID) if data == b'{"a":1,"a":2}\n' else (code,), reply)
        for id in (None, 1.5, True, {}, [], [1]):
            with self.subTest(id=id):
                reply = self.peer.answer_to(encode(modern("tools/list", id=id)))
                self.assertIn(reply["id"], (None, id), reply)
                self.assertError(reply, INVALID)
        for change in ({"jsonrpc": "1.0"}, {"jsonrpc": None}, {"method": 7}, {"params": "x"}, {"params": [1]}):
            with self.subTest(change=change):
                message = {key: value for key, value in {**modern("tools/list", id="shape"), **change}.items() if value is not None}
                reply = self.peer.answer_to(encode(message))
                self.assertIn(reply["id"], ("shape", None))
                self.assertIn(reply["error"]["code"], (INVALID, PARAMS) if "params" in change else (INVALID,), reply)
        self.peer.alive()

    def test_ids_come_back_as_they_were_sent(self):
        for id in (0, -1, 7, 2**53 - 1, -(2**53) + 1, "", "7", "a" * 200, "\u0000\u202e\u001b[2J", "é", "😀", "\\\""):
            with self.subTest(id=id):
                reply = self.peer.exchange(modern("tools/list", id=id))
                self.assertIn("result", reply)
                self.assertIs(type(reply["id"]), type(id))

    def test_check_1_an_id_in_flight_is_refused_over_stdio(self):
        self.weir("session", "new", "s")
        listen = modern("subscriptions/listen", {"notifications": {"resourcesListChanged": True}}, "busy")
        self.peer.say(listen)
        self.peer.told("notifications/subscriptions/acknowledged")
        self.assertError(self.peer.exchange(modern("tools/list", id="busy")), INVALID)
        # The first one lives on, and another id of the same look is another id.
        self.weir("session", "new", "t")
        self.peer.told("notifications/resources/list_changed")
        self.assertIn("result", self.peer.exchange(modern("tools/list", id="other")))

    def test_check_2_meta_must_have_version_and_capabilities(self):
        for name, meta in [
            ("no version", modern_meta(version=None)), ("no capabilities", modern_meta(capabilities=None)),
            ("version a number", modern_meta(version=7)), ("capabilities a list", modern_meta(capabilities=[])),
            ("log level unknown", {**modern_meta(), PREFIX + "logLevel": "loud"}), ("log level a number", {**modern_meta(), PREFIX + "logLevel": 7}),
        ]:  # fmt: skip
            for method in ("tools/list", "server/discover", "nope", "initialize"):
                with self.subTest(name=name, method=method):
                    self.assertError(self.peer.exchange(modern(method, id=f"{name} {method}", meta=meta)), PARAMS)
        without_info = modern("tools/list", id="optional", meta=modern_meta(info=None))
        self.assertIn("result", self.peer.exchange(without_info))
        for level in ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"):
            reply = self.peer.exchange(modern("tools/list", id=level, meta={**modern_meta(), PREFIX + "logLevel": level}))
            self.assertIn("result", reply)

    def test_check_4_an_unknown_version_names_both(self):
        for version in (*LEGACY, "2026-07-29", "2099-01-01", "", "x"):
            with self.subTest(version=version):
                for method in ("tools/list", "server/discover", "nope"):
                    reply = self.peer.exchange(modern(method, id=f"{version} {method}", meta=modern_meta(version=version)))
                    error = self.assertError(reply, VERSION)
                    self.assertEqual(error["data"], {"supported": [MODERN], "requested": version})

    def test_check_5_stands_before_check_6(self):
        for method in ("nope", "tools", "tools/List", "weir/getSession", "notifications/initialized"):
            self.assertError(self.peer.exchange(modern(method, {"cursor": 7, "name": 7}, f"unknown {method}")), METHOD)

    def test_check_6_params(self):
        for method, params in [
            ("tools/call", {}), ("tools/call", {"name": 7}), ("tools/call", {"name": "nope", "arguments": {}}), ("tools/call", {"name": "READ"}),
            ("tools/call", {"name": "handover", "arguments": {}}), ("tools/list", {"cursor": "nope"}), ("tools/list", {"cursor": 7}),
            ("prompts/list", {"cursor": "x"}), ("resources/list", {"cursor": "x"}), ("resources/templates/list", {"cursor": "x"}),
            ("prompts/get", {}), ("prompts/get", {"name": "nope"}), ("prompts/get", {"name": "resume-work"}), ("prompts/get", {"name": "resume-work", "arguments": {"session": 7}}),
            ("resources/read", {}), ("resources/read", {"uri": 7}), ("completion/complete", {}),
            ("completion/complete", {"ref": {"type": "ref/nope"}, "argument": {"name": "session", "value": ""}}),
            ("completion/complete", {"ref": {"type": "ref/prompt", "name": "nope"}, "argument": {"name": "session", "value": ""}}),
            ("subscriptions/listen", {}), ("subscriptions/listen", {"notifications": 7}),
        ]:  # fmt: skip
            with self.subTest(method=method, params=params):
                self.peer.error(method, params, PARAMS)

    def test_a_notification_is_never_answered(self):
        for message in (
            notification("notifications/nope", {"_meta": modern_meta()}), notification("notifications/cancelled", {"requestId": "x"}),
            notification("tools/list", {"_meta": modern_meta()}), notification("notifications/initialized"), notification("nope"),
            notification("notifications/progress", {"progressToken": 1, "progress": 1}),
        ):  # fmt: skip
            self.peer.say(message)
        self.peer.alive()
        self.peer.silent(lambda m: True, 0.3)


class HttpChecksTest(McpTest):
    """Each check with its code and its status."""

    def setUp(self):
        super().setUp()
        self.served = self.serve()
        self.peer = Http(self.served)

    def wants(self, status, code, message, headers=None, **data):
        got = self.served.send("POST", body=message, headers=modern_headers(message) if headers is None else headers)
        self.assertEqual(got.status, status, got)
        self.assertEqual(got.kind, "application/json", got)
        self.assertEqual(got.json["jsonrpc"], "2.0")
        if isinstance(message, dict) and isinstance(message.get("id"), (str, int)):
            self.assertEqual(got.json["id"], message["id"], got)
        return self.assertError(got.json, code, **data)

    def test_check_1_is_400(self):
        usual = modern_headers(modern("tools/list"))
        for body, code in [
            (b"hello", PARSE), (b'{"jsonrpc":"2.0"', PARSE), (b"[]", INVALID), (encode([modern("tools/list")]), INVALID), (b"{}", INVALID),
            (encode(modern("tools/list", id=None)), INVALID), (encode(modern("tools/list", id=1.5)), INVALID), (encode(modern("tools/list", id={})), INVALID),
            (encode({**modern("tools/list"), "jsonrpc": "1.0"}), INVALID),
        ]:  # fmt: skip
            with self.subTest(body=body):
                got = self.served.send("POST", body=body, headers=usual)
                self.assertEqual(got.status, 400, got)
                self.assertError(got.json, code)

    def test_case_15_a_modern_header_without_meta_keys_is_32602_and_400(self):
        plain = request("tools/list", {}, 15)
        for headers in (
            {"MCP-Protocol-Version": MODERN}, {"Mcp-Method": "tools/list"}, {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"},
            {"MCP-Protocol-Version": "1999-01-01"}, {"MCP-Protocol-Version": "x"}, {"mcp-method": "nope"},
        ):  # fmt: skip
            with self.subTest(headers=headers):
                self.wants(400, PARAMS, plain, headers)
        self.wants(400, PARAMS, request("server/discover", {}, 16), {})

    def test_check_2_is_400_and_stands_before_the_headers(self):
        for meta in (modern_meta(version=None), modern_meta(capabilities=None), {**modern_meta(), PREFIX + "logLevel": "loud"}):
            message = modern("tools/list", meta=meta)
            self.wants(400, PARAMS, message)
            self.wants(400, PARAMS, message, {"MCP-Protocol-Version": "2099-01-01", "Mcp-Method": "nope"})

    def test_case_15_header_and_body_version_differ_is_32020(self):
        message = modern("tools/list")
        for version in ("2099-01-01", NOVEMBER, "", MODERN + "x", "2026-07-2"):
            with self.subTest(version=version):
                self.wants(400, MISMATCH, message, modern_headers(message, MCP_Protocol_Version=version))
        unknown = modern("tools/list", meta=modern_meta(version="2099-01-01"))
        self.wants(400, MISMATCH, unknown, modern_headers(unknown, MCP_Protocol_Version=MODERN))

    def test_check_3_each_header_missing_or_different_is_32020(self):
        self.weir("session", "new", "s")
        for message in (
            modern("tools/call", {"name": "status", "arguments": {"session": "s"}}), modern("prompts/get", {"name": "resume-work", "arguments": {"session": "s"}}),
            modern("resources/read", {"uri": "weir://session/s"}), modern("tools/list"), modern("server/discover"),
        ):  # fmt: skip
            headers = modern_headers(message)
            self.assertEqual(self.served.send("POST", body=message, headers=headers).status, 200, message)
            for name in headers:
                with self.subTest(method=message["method"], name=name):
                    self.wants(400, MISMATCH, message, {k: v for k, v in headers.items() if k != name})
                    self.wants(400, MISMATCH, message, {**headers, name: "nope"})
                    self.wants(400, MISMATCH, message, {**headers, name: headers[name].upper() if headers[name] != headers[name].upper() else "x"})

    def test_header_names_are_read_in_any_case_and_values_trimmed(self):
        message = modern("tools/call", {"name": "read", "arguments": {"path": self.world.file("a.txt", "A")}})
        headers = modern_headers(message)
        for change in (str.lower, str.upper):
            got = self.served.send("POST", body=message, headers={change(k): v for k, v in headers.items()})
            self.assertEqual(got.status, 200, got)
        got = self.served.send("POST", body=message, headers={k: f"  {v} \t" for k, v in headers.items()})
        self.assertEqual(got.status, 200, got)

    def test_check_3_stands_before_4_and_5(self):
        message = modern("nope", meta=modern_meta(version="2099-01-01"))
        self.wants(400, MISMATCH, message, modern_headers(message, Mcp_Method="other"))
        self.wants(400, VERSION, message)
        known = modern("nope")
        self.wants(400, MISMATCH, known, modern_headers(known, Mcp_Method="tools/list"))
        self.wants(404, METHOD, known)

    def test_case_15_both_unknown_is_32022_with_supported_and_requested(self):
        for version in ("2099-01-01", "1999-01-01", *LEGACY):
            with self.subTest(version=version):
                error = self.wants(400, VERSION, modern("tools/list", meta=modern_meta(version=version)))
                self.assertEqual(error["data"], {"supported": [MODERN], "requested": version})

    def test_case_16_legacy_methods_with_modern_meta_are_404(self):
        for method in (*LEGACY_ONLY, "nope", "weir/getSession", "weir/read"):
            with self.subTest(method=method):
                self.wants(404, METHOD, modern(method, {"uri": "weir://session/s", "protocolVersion": NOVEMBER}))
        # Without: served as legacy.
        old = Http(self.served, NOVEMBER)
        self.assertEqual(old.ok("ping"), {})
        self.weir("session", "new", "s")
        old.ok("resources/subscribe", {"uri": "weir://session/s"})

    def test_check_6_is_200(self):
        for method, params in [
            ("tools/call", {"name": "nope", "arguments": {}}), ("prompts/get", {"name": "nope"}), ("prompts/get", {"name": "resume-work"}), ("tools/list", {"cursor": "x"}),
            ("resources/list", {"cursor": "x"}), ("resources/templates/list", {"cursor": "x"}), ("prompts/list", {"cursor": "x"}), ("completion/complete", {}),
        ]:  # fmt: skip
            with self.subTest(method=method, params=params):
                self.wants(200, PARAMS, modern(method, params))
        error = self.wants(200, PARAMS, modern("resources/read", {"uri": "weir://session/none"}))
        self.assertEqual(error["data"]["uri"], "weir://session/none")

    def test_a_modern_notification_is_202_without_a_body(self):
        for method in ("notifications/cancelled", "notifications/nope"):
            message = notification(method, {"requestId": "x", "_meta": modern_meta()})
            got = self.served.send("POST", body=message, headers=modern_headers(message))
            self.assertEqual((got.status, got.body), (202, b""), got)

    def test_an_array_is_refused_and_ids_of_sessions_are_ignored(self):
        message = modern("tools/list")
        got = self.served.send("POST", body=[message], headers=modern_headers(message))
        self.assertEqual(got.status, 400)
        self.assertError(got.json, INVALID)
        got = self.served.send("POST", body=message, headers={**modern_headers(message), "Mcp-Session-Id": "nobody", "Last-Event-ID": "7"})
        self.assertEqual(got.status, 200, got)
        self.assertNotIn("Mcp-Session-Id", got.headers)

    def test_get_and_delete_without_a_live_legacy_session_are_405(self):
        for method, headers in itertools.product(("GET", "DELETE"), ({}, {"MCP-Protocol-Version": MODERN})):
            got = self.served.send(method, headers=headers)
            self.assertEqual(got.status, 405, got)
            self.assertIn("POST", got.headers["Allow"])
        for method in ("PUT", "PATCH", "OPTIONS"):
            self.assertEqual(self.served.send(method, body=b"{}").status, 405)

    def test_json_is_the_answer_where_a_stream_is_of_no_use(self):
        for accept in ("application/json, text/event-stream", "text/event-stream, application/json", "*/*", "application/json"):
            message = modern("tools/list")
            got = self.served.send("POST", body=message, headers={**modern_headers(message), "Accept": accept})
            self.assertEqual((got.status, got.kind), (200, "application/json"), got)


class NameHeaderTest(McpTest):
    """Case 17."""

    def setUp(self):
        super().setUp()
        self.served = self.serve()
        self.message = modern("tools/call", {"name": "read", "arguments": {"path": self.world.file("a.txt", "A")}})

    def sent(self, name, message=None):
        message = message or self.message
        return self.served.send("POST", body=message, headers=modern_headers(message, Mcp_Name=name))

    def sentinel(self, text):
        return "=?base64?" + base64.b64encode(text.encode()).decode() + "?="

    def test_case_17_the_base64_sentinel_and_spaces_around_are_accepted(self):
        for name in ("read", " read ", "\tread", self.sentinel("read"), "  " + self.sentinel("read") + "  "):
            got = self.sent(name)
            self.assertEqual(got.status, 200, (name, got))
            self.assertEqual(got.json["result"]["content"][0]["text"], "A")

    def test_case_17_bad_padding_alphabet_or_case_is_refused(self):
        good = base64.b64encode(b"read").decode()  # cmVhZA==
        for name in (
            "=?base64?" + good.rstrip("=") + "?=", "=?base64?" + good[:-1] + "?=", "=?base64?" + good + "=?=", "=?base64?cmVh*A==?=",
            "=?base64?" + good, "=?BASE64?" + good + "?=", "=?base64?" + good.upper() + "?=", "=?base64??=", "=?base64?cm VhZA==?=",
            "READ", "Read", "rea", "readx", good, '"read"', self.sentinel("READ"), self.sentinel("read "), self.sentinel(""), "=?utf-8?B?" + good + "?=",
        ):  # fmt: skip
            with self.subTest(name=name):
                got = self.sent(name)
                self.assertEqual(got.status, 400, got)
                self.assertError(got.json, MISMATCH)

    def test_case_17_a_name_that_is_no_header_text_needs_the_sentinel(self):
        self.weir("append", "--session", "s", stdin=client.compact(client.entry("x", id="é1234")))
        message = modern("resources/read", {"uri": "weir://session/s/entry/é1234"})
        got = self.sent(self.sentinel("weir://session/s/entry/é1234"), message)
        self.assertEqual(got.status, 200, got)
        self.assertIn("result", got.json)
        got = self.sent(self.sentinel("weir://session/s/entry/e1234"), message)
        self.assertError(got.json, MISMATCH)


class ResponseTest(McpTest):
    def test_a_modern_message_over_http_is_a_request_or_a_notification(self):
        served = self.serve()
        for message in ({"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}):
            answer = served.send("POST", body=message, headers={"MCP-Protocol-Version": MODERN})
            self.assertEqual((answer.status, client.parse_line(answer.body.decode())["error"]["code"]), (400, INVALID))


if __name__ == "__main__":
    client.main()
