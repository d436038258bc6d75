"""Legacy sessions over HTTP (case 18), and answers by connection and id (S11)."""

import http.client
import re
import threading

import client
from client import JUNE, LEGACY, MARCH, MODERN, NOVEMBER, OLDEST, Http, McpTest, encode, initialize, modern, modern_headers, notification, request


class SessionTest(McpTest):
    def setUp(self):
        super().setUp()
        self.served = self.serve()

    def post(self, message, **headers):
        return self.served.send("POST", body=message, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def test_case_18_each_revision_gets_a_session_of_128_random_bits(self):
        ids = []
        for revision in LEGACY * 3:
            got = self.post(initialize(revision))
            self.assertEqual(got.status, 200, got)
            self.assertEqual(got.json["result"]["protocolVersion"], revision)
            ids.append(got.headers["Mcp-Session-Id"])
        self.assertEqual(len(set(ids)), len(ids))
        for id in ids:
            self.assertRegex(id, r"^[\x21-\x7e]{22,}$")
            if re.fullmatch(r"[0-9a-f-]+", id):
                self.assertGreaterEqual(len(id.replace("-", "")), 32)

    def test_case_18_missing_400_unknown_404_ended_404(self):
        ping = request("ping", id=1)
        self.assertEqual(self.post(request("tools/list", {}, 1)).status, 400)
        for id in ("nobody", "0" * 32, "x" * 500):
            self.assertEqual(self.post(ping, Mcp_Session_Id=id).status, 404)
        peer = Http(self.served, NOVEMBER)
        self.assertEqual(peer.ok("ping"), {})
        got = self.served.send("DELETE", headers={"Mcp-Session-Id": peer.session})
        self.assertIn(got.status, (200, 204), got)
        self.assertEqual(self.post(ping, Mcp_Session_Id=peer.session).status, 404)
        self.assertIn(self.served.send("DELETE", headers={"Mcp-Session-Id": peer.session}).status, (404, 405))
        self.assertIn(self.served.send("GET", headers={"Mcp-Session-Id": peer.session}).status, (404, 405))

    def test_one_end_does_not_end_another(self):
        first, second = Http(self.served, JUNE), Http(self.served, JUNE)
        self.served.send("DELETE", headers={"Mcp-Session-Id": first.session})
        self.assertEqual(second.ok("ping"), {})

    def test_no_version_header_means_the_negotiated_one(self):
        for revision in LEGACY:
            peer = Http(self.served, revision)
            tools = peer.ok("tools/list")["tools"]
            self.assertEqual("annotations" in tools[0], revision != OLDEST)
            self.assertEqual("outputSchema" in tools[1], revision not in (OLDEST, MARCH))
            message = request("tools/list", {}, 1)
            got = self.post(message, Mcp_Session_Id=peer.session, MCP_Protocol_Version=revision)
            self.assertEqual((got.status, got.json["result"]["tools"]), (200, tools))

    def test_an_unknown_version_header_is_400(self):
        peer = Http(self.served, NOVEMBER)
        for version in ("1999-01-01", "x", MODERN):
            got = self.post(request("ping", id=1), Mcp_Session_Id=peer.session, MCP_Protocol_Version=version)
            self.assertEqual(got.status, 400, got)
        self.assertEqual(peer.ok("ping"), {})

    def test_a_notification_is_202_and_an_answer_nobody_waits_for_too(self):
        peer = Http(self.served, NOVEMBER)
        for message in (notification("notifications/nope"), notification("notifications/cancelled", {"requestId": 5})):
            got = self.post(message, Mcp_Session_Id=peer.session)
            self.assertEqual((got.status, got.body), (202, b""), got)

    def test_batches_over_http_only_in_the_two_oldest(self):
        pings = [request("ping", id=i) for i in (1, 2, 3)]
        for revision in LEGACY:
            peer = Http(self.served, revision)
            got = self.post(pings, Mcp_Session_Id=peer.session)
            if revision in (OLDEST, MARCH):
                self.assertEqual(got.status, 200, got)
                replies = got.json if isinstance(got.json, list) else got.events
                replies = [one for r in replies for one in (r if isinstance(r, list) else [r])]
                self.assertEqual(sorted(r["id"] for r in replies), [1, 2, 3])
            else:
                self.assertEqual(got.status, 400, got)
                self.assertError(got.json, client.INVALID)

    def test_get_opens_the_notification_stream(self):
        self.append("x")
        peer = Http(self.served, NOVEMBER)
        stream = self.served.events("GET", headers={"Mcp-Session-Id": peer.session, "Accept": "text/event-stream"})
        self.assertEqual((stream.status, stream.kind), (200, "text/event-stream"))
        peer.ok("resources/subscribe", {"uri": "weir://session/s"})
        other = Http(self.served, NOVEMBER)
        self.assertEqual(other.ok("ping"), {})
        self.append("y")
        found = stream.take(lambda m: m.get("method") == "notifications/resources/updated")
        self.assertIsNotNone(found)
        self.assertEqual(found["params"]["uri"], "weir://session/s")
        self.append("z", session="fresh")
        self.assertIsNotNone(stream.take(lambda m: m.get("method") == "notifications/resources/list_changed"))
        # The end of the session is the end of its stream.
        self.served.send("DELETE", headers={"Mcp-Session-Id": peer.session})
        self.assertTrue(client.wait_until(lambda: stream.ended, 10))

    def test_a_subscription_belongs_to_its_session(self):
        self.append("x")
        first, second = Http(self.served, NOVEMBER), Http(self.served, NOVEMBER)
        streams = [self.served.events("GET", headers={"Mcp-Session-Id": peer.session, "Accept": "text/event-stream"}) for peer in (first, second)]
        first.ok("resources/subscribe", {"uri": "weir://session/s"})
        self.append("y")
        self.assertIsNotNone(streams[0].take(lambda m: m.get("method") == "notifications/resources/updated"))
        self.assertIsNone(streams[1].take(lambda m: m.get("method") == "notifications/resources/updated", 1))

    def test_a_dropped_connection_is_no_cancellation(self):
        self.append("x")
        peer = Http(self.served, NOVEMBER)
        message = request("tools/call", {"name": "note", "arguments": {"kind": "claim", "text": "kept", "session": "s"}}, 1)
        connection = http.client.HTTPConnection(self.served.host, self.served.port, timeout=10)
        headers = {"Authorization": f"Bearer {self.served.token}", "Mcp-Session-Id": peer.session, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        connection.request("POST", "/mcp", body=encode(message), headers=headers)
        connection.close()
        self.assertTrue(client.wait_until(lambda: "CLAIM_PROPOSED" in self.path_types(), 10))

    def test_a_session_is_bound_to_its_token(self):
        """A session id shown with another valid token, the reading one, is no session of that token."""
        self.weir("token", "rotate", "--read", "--yes")
        served = self.serve()
        with open(served.said["read_token_file"]) as file:
            token = file.read().strip()
        self.assertNotEqual(token, served.token)
        peer = Http(served, NOVEMBER)
        ping = request("ping", id=1)
        got = served.send("POST", body=ping, headers={"Mcp-Session-Id": peer.session}, token=token)
        self.assertEqual(got.status, 404, got)
        self.assertEqual(served.send("DELETE", headers={"Mcp-Session-Id": peer.session}, token=token).status // 100, 4)
        self.assertEqual(peer.ok("ping"), {})
        own = Http(served, NOVEMBER, token=token)
        self.assertEqual(own.ok("ping"), {})
        # It only reads.
        self.append("x")
        own.data("status", session="s")
        own.failed("note", "DENIED", kind="claim", text="x", session="s")

    def test_the_token_is_asked_for_every_time(self):
        peer = Http(self.served, NOVEMBER)
        for token in (None, "", "wrong", self.served.token[:-1]):
            got = self.served.send("POST", body=request("ping", id=1), headers={"Mcp-Session-Id": peer.session}, token=token)
            self.assertEqual(got.status, 401, got)
            self.assertIn("Bearer", got.headers["WWW-Authenticate"])
        message = modern("server/discover")
        self.assertEqual(self.served.send("POST", body=message, headers=modern_headers(message), token=None).status, 401)


class CrossingTest(McpTest):
    """S11: answers go by connection and id, never by id alone."""

    def setUp(self):
        super().setUp()
        self.served = self.serve()

    def crowd(self, count, work):
        """Runs work(i) on many threads at once; answers what went wrong."""
        wrong, gate = [], threading.Barrier(count)

        def one(i):
            try:
                gate.wait(60)
                work(i)
            except Exception as error:  # noqa: BLE001
                wrong.append(f"{i}: {type(error).__name__} {str(error)[:300]}")

        threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return wrong

    def test_case_18_s11_fifty_sessions_with_equal_ids_see_only_their_own_answers(self):
        for i in range(50):
            self.world.file(f"f{i}.txt", f"content of {i} " + "x" * (i * 97 % 3000))
        peers = [Http(self.served, LEGACY[i % 4]) for i in range(50)]

        def work(i):
            for id in range(1, 16):
                result = peers[i].ok("tools/call", {"name": "read", "arguments": {"path": f"{self.world.cwd}/f{i}.txt"}}, id=id)
                self.assertTrue(result["content"][0]["text"].startswith(f"content of {i} "), f"{i} {id}: {str(result)[:80]}")

        self.assertEqual(self.crowd(50, work), [])

    def test_s11_fifty_modern_clients_with_equal_ids(self):
        for i in range(50):
            self.append(f"only {i}", session=f"s{i}")
        peers = [Http(self.served) for _ in range(50)]

        def work(i):
            for id in ("a", "a", 1, 1, "a"):
                value = peers[i].ok("resources/read", {"uri": f"weir://session/s{i}"}, id=id)["contents"][0]
                self.assertIn(f'"s{i}"', value["text"].replace(" ", ""))

        self.assertEqual(self.crowd(50, work), [])

    def test_s11_many_requests_of_one_stdio_client_at_once(self):
        for i in range(60):
            self.world.file(f"f{i}.txt", f"content of {i} " + "x" * (i * 97 % 3000))
        peer = self.mcp()
        for i in range(60):
            peer.say(modern("tools/call", {"name": "read", "arguments": {"path": f"f{i}.txt"}}, f"r{i}"))
            peer.say(modern("tools/call", {"name": "read", "arguments": {"path": f"f{i}.txt"}}, i))
        for i in range(60):
            for id in (f"r{i}", i):
                self.assertTrue(peer.reply(id)["result"]["content"][0]["text"].startswith(f"content of {i} "))


if __name__ == "__main__":
    client.main()
