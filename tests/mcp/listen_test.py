"""subscriptions/listen over stdio and HTTP (case 21)."""

import client
from client import INVALID, PREFIX, Http, McpTest, modern, modern_headers, modern_meta, notification

TAG = PREFIX + "subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED, LIST_CHANGED = "notifications/resources/updated", "notifications/resources/list_changed"


def listen(id, **kinds):
    return modern("subscriptions/listen", {"notifications": kinds}, id)


def tagged(id):
    return lambda m: isinstance(m, dict) and m.get("params", {}).get("_meta", {}).get(TAG, client.UNSET) == id


class StdioListenTest(McpTest):
    def setUp(self):
        super().setUp()
        for name in ("s", "t"):
            self.append("x", session=name)
        self.peer = self.mcp()

    def begin(self, id, **kinds):
        self.peer.say(listen(id, **kinds))
        first = self.peer.take(lambda m: tagged(id)(m) or m.get("id") == id)
        self.assertIsNotNone(first, self.peer.state())
        self.assertEqual(first.get("method"), ACKNOWLEDGED, first)
        self.assertNotIn("id", first)
        return first["params"]["notifications"]

    def test_case_21_acknowledged_comes_first_with_the_accepted_subset(self):
        uri = "weir://session/s"
        accepted = self.begin("a", resourcesListChanged=True, resourceSubscriptions=[uri], toolsListChanged=True, promptsListChanged=True)
        self.assertIs(accepted["resourcesListChanged"], True)
        self.assertEqual(accepted["resourceSubscriptions"], [uri])
        self.assertFalse(accepted.get("toolsListChanged", False))  # not served: the capabilities say no listChanged for tools
        self.assertFalse(accepted.get("promptsListChanged", False))
        self.assertEqual(self.begin("b"), {})
        only = self.begin("c", resourcesListChanged=True)
        self.assertEqual(only, {"resourcesListChanged": True})
        self.assertFalse(self.begin("d", resourcesListChanged=False).get("resourcesListChanged", False))

    def test_case_21_only_asked_for_kinds_come_each_tagged_with_its_request(self):
        self.begin(7, resourceSubscriptions=["weir://session/s", "weir://session/s/head/main"])
        self.begin("7", resourcesListChanged=True)
        self.begin("quiet")
        self.append("y", session="t")
        self.append("y", session="s")
        uris = [self.peer.take(lambda m: m.get("method") == UPDATED) for _ in range(2)]
        self.assertNotIn(None, uris, self.peer.state())
        self.assertEqual(sorted(m["params"]["uri"] for m in uris), ["weir://session/s", "weir://session/s/head/main"])
        for message in uris:
            self.assertEqual(message["params"]["_meta"][TAG], 7)
            self.assertIs(type(message["params"]["_meta"][TAG]), int)
        self.append("y", session="fresh")
        changed = self.peer.take(lambda m: m.get("method") == LIST_CHANGED)
        self.assertIsNotNone(changed, self.peer.state())
        self.assertEqual(changed["params"]["_meta"][TAG], "7")
        self.peer.silent(lambda m: True, 1.5)  # nothing for "quiet", nothing of t, no request to the client

    def test_a_write_of_this_process_is_told_too(self):
        self.begin("a", resourceSubscriptions=["weir://session/s/head/main"])
        self.peer.data("note", kind="question", text="why?", session="s")
        self.assertEqual(self.peer.told(UPDATED)["uri"], "weir://session/s/head/main")

    def test_case_21_sigterm_ends_each_with_a_result(self):
        self.begin("a", resourcesListChanged=True)
        self.begin(1)
        self.assertEqual(self.peer.terminate(), 0)
        for id in ("a", 1):
            reply = self.peer.reply(id)
            self.assertEqual((reply["result"]["resultType"], reply["result"]["_meta"][TAG]), ("complete", id), reply)

    def test_eof_ends_the_process_well(self):
        self.begin("a", resourcesListChanged=True)
        self.assertEqual(self.peer.finish(), 0)

    def test_the_end_may_come_right_after_the_acknowledgement(self):
        for i in range(30):
            peer = self.mcp()
            peer.say(listen("a", resourcesListChanged=True))
            peer.told(ACKNOWLEDGED)
            self.assertEqual(peer.finish() if i % 2 else peer.terminate(), 0, i)

    def test_cancelled_nothing_more_is_sent_for_it(self):
        self.begin("a", resourcesListChanged=True, resourceSubscriptions=["weir://session/s"])
        self.begin("b", resourcesListChanged=True)
        self.peer.say(notification("notifications/cancelled", {"requestId": "a", "_meta": modern_meta()}))
        self.peer.alive()
        self.append("y", session="fresh")
        changed = self.peer.take(lambda m: m.get("method") == LIST_CHANGED)
        self.assertEqual(changed["params"]["_meta"][TAG], "b")
        self.append("y", session="s")
        self.peer.silent(lambda m: tagged("a")(m) or m.get("id") == "a", 1.5)
        # Its id is free again.
        self.begin("a", resourcesListChanged=True)

    def test_a_legacy_cancellation_form_works_as_well(self):
        self.begin("a", resourcesListChanged=True)
        self.peer.notify("notifications/cancelled", {"requestId": "a"})
        self.peer.alive()
        self.append("y", session="fresh")
        self.peer.silent(tagged("a"), 1.5)

    def test_listening_stands_in_no_ones_way(self):
        for i in range(20):
            self.begin(f"l{i}", resourcesListChanged=True)
        self.peer.alive()
        self.peer.data("status", session="s")
        self.assertError(self.peer.exchange(modern("tools/list", id="l3")), INVALID)

    def test_300_listeners_do_not_stop_the_server(self):
        """Each is acknowledged or refused, and what comes after them is answered."""
        for i in range(300):
            self.peer.say(listen(f"l{i}", resourcesListChanged=True))
        self.peer.say(modern("tools/list", id="after"))
        self.assertIn("result", self.peer.reply("after"))
        self.assertEqual(self.peer.finish(), 0)

    def test_wrong_filters_are_refused(self):
        for kinds in ({"resourceSubscriptions": "weir://session/s"}, {"resourceSubscriptions": [7]}, {"resourcesListChanged": "yes"}):
            with self.subTest(kinds=kinds):
                self.peer.error("subscriptions/listen", {"notifications": kinds}, client.PARAMS)


class HttpListenTest(McpTest):
    def setUp(self):
        super().setUp()
        for name in ("s", "t"):
            self.append("x", session=name)
        self.served = self.serve()

    def begin(self, id, **kinds):
        message = listen(id, **kinds)
        stream = self.served.events("POST", message, modern_headers(message))
        self.assertEqual((stream.status, stream.kind), (200, "text/event-stream"))
        self.assertEqual(stream.headers["X-Accel-Buffering"], "no")
        first = stream.take()
        self.assertEqual(first["method"], ACKNOWLEDGED, first)
        self.assertEqual(first["params"]["_meta"][TAG], id)
        return stream, first["params"]["notifications"]

    def test_case_21_over_http_acknowledged_kinds_and_tags(self):
        stream, accepted = self.begin("a", resourceSubscriptions=["weir://session/s"], toolsListChanged=True)
        self.assertEqual(accepted["resourceSubscriptions"], ["weir://session/s"])
        self.assertFalse(accepted.get("toolsListChanged", False))
        other, _ = self.begin("a", resourcesListChanged=True)  # equal ids on two connections are two
        self.append("y", session="t")
        self.append("y", session="s")
        message = stream.take()
        self.assertEqual((message["method"], message["params"]["uri"], message["params"]["_meta"][TAG]), (UPDATED, "weir://session/s", "a"))
        self.append("y", session="fresh")
        message = other.take()
        self.assertEqual((message["method"], message["params"]["_meta"][TAG]), (LIST_CHANGED, "a"))
        self.assertIsNone(stream.take(seconds=1))
        self.assertIsNone(other.take(seconds=0.2))

    def test_case_21_over_http_sigterm_ends_it_with_a_result(self):
        stream, _ = self.begin("a", resourcesListChanged=True)
        self.assertEqual(self.served.terminate(), 0)
        message = stream.take()
        self.assertEqual((message["id"], message["result"]["resultType"]), ("a", "complete"))
        self.assertTrue(client.wait_until(lambda: stream.ended, 5))

    def test_a_quiet_stream_is_kept_alive_by_comments(self):
        stream, _ = self.begin("a", resourcesListChanged=True)
        self.assertTrue(client.wait_until(lambda: stream.comments > 0, 35))
        self.assertEqual(stream.messages, [])

    def test_closing_the_response_is_the_cancellation(self):
        stream, _ = self.begin("a", resourcesListChanged=True)
        stream.close()
        Http(self.served).alive()
        self.append("y", session="fresh")
        Http(self.served).alive()
        self.begin("a", resourcesListChanged=True)


if __name__ == "__main__":
    client.main()
