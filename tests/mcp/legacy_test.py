"""The legacy life cycle over stdio: the handshake of four revisions, batches in the two oldest, levels, subscriptions."""

import client
from client import INVALID, LEGACY, MARCH, METHOD, MISSING, NOVEMBER, OLDEST, PARAMS, McpTest, encode, initialize, notification, request


class HandshakeTest(McpTest):
    def test_each_of_the_four_revisions_is_granted(self):
        for revision in LEGACY:
            self.assertEqual(self.legacy(revision).greeting["protocolVersion"], revision)

    def test_any_other_revision_becomes_2025_11_25(self):
        for asked in ("2026-07-28", "2023-01-01", "2099-12-31", "1", "", "latest"):
            with self.subTest(asked=asked):
                self.assertEqual(self.legacy(asked).greeting["protocolVersion"], NOVEMBER)

    def test_a_greeting_without_a_revision_is_refused(self):
        peer = self.mcp()
        for i, params in enumerate(({}, {"protocolVersion": 7, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})):
            self.assertError(peer.exchange(request("initialize", params, i)), PARAMS)
        self.assertEqual(peer.handshake(NOVEMBER)["protocolVersion"], NOVEMBER)

    def test_before_initialize_everything_but_ping_is_32600(self):
        peer = self.mcp()
        for i, method in enumerate((
            "tools/list", "tools/call", "resources/list", "resources/read", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
            "resources/subscribe", "resources/templates/list", "nope",
        )):  # fmt: skip
            with self.subTest(method=method):
                self.assertError(peer.exchange(request(method, {}, i)), INVALID)
        self.assertEqual(peer.exchange(request("ping", {}, "p"))["result"], {})
        self.assertEqual(peer.exchange(request("ping", id="q"))["result"], {})
        peer.handshake(OLDEST)
        peer.ok("tools/list")

    def test_ping_is_answered_with_nothing_in_it(self):
        for revision in LEGACY:
            self.assertEqual(self.legacy(revision).ok("ping"), {})

    def test_requests_work_before_the_initialized_notification_too(self):
        peer = self.mcp()
        peer.say(initialize(NOVEMBER))
        peer.say(request("ping", id="p"))
        self.assertIn("result", peer.reply("init"))
        self.assertEqual(peer.reply("p")["result"], {})

    def test_unknown_methods_and_notifications(self):
        peer = self.legacy()
        for method in ("nope", "roots/list", "sampling/createMessage", "tasks/list", "weir/getSession"):
            peer.error(method, {}, METHOD)
        peer.notify("notifications/nope", {})
        peer.notify("notifications/roots/list_changed")
        peer.alive()

    def test_bad_params_are_32602(self):
        peer = self.legacy()
        for method, params in [
            ("tools/call", {}), ("tools/call", {"name": 7}), ("prompts/get", {"name": "nope"}), ("prompts/get", {"name": "resume-work"}), ("resources/read", {}), ("tools/list", {"cursor": "x"}),
            ("resources/list", {"cursor": "x"}), ("completion/complete", {}), ("resources/subscribe", {}), ("resources/unsubscribe", {}),
        ]:  # fmt: skip
            with self.subTest(method=method, params=params):
                peer.error(method, params, PARAMS)

    def test_an_unknown_tool_is_refused(self):
        for revision in LEGACY:
            peer = self.legacy(revision)
            reply = peer.ask("tools/call", {"name": "nope", "arguments": {}})
            if "error" in reply:
                self.assertError(reply, PARAMS)
            else:
                self.assertIs(reply["result"]["isError"], True)

    def test_a_missing_resource_is_32002(self):
        self.append("x")
        for revision in LEGACY:
            peer = self.legacy(revision)
            for uri in ("weir://session/none", "weir://session/s/entry/none", "weir://session/s/head/none", "weir://session/s/snapshot/9"):
                with self.subTest(revision=revision, uri=uri):
                    peer.error("resources/read", {"uri": uri}, MISSING)


class BatchTest(McpTest):
    def pings(self, count, first=100):
        return [request("ping", id=first + i) for i in range(count)]

    def test_batches_are_answered_in_the_two_oldest_revisions(self):
        for revision in (OLDEST, MARCH):
            with self.subTest(revision=revision):
                peer = self.legacy(revision)
                replies = peer.answer_to(encode(self.pings(3)))
                self.assertIsInstance(replies, list)
                self.assertEqual(sorted(r["id"] for r in replies), [100, 101, 102])
                self.assertEqual([r["result"] for r in replies], [{}, {}, {}])

    def test_batches_are_refused_in_the_others_and_before_initialize(self):
        for revision in LEGACY[2:]:
            peer = self.legacy(revision)
            self.assertError(peer.answer_to(encode(self.pings(3))), INVALID)
            peer.alive()
        peer = self.mcp()
        self.assertError(peer.answer_to(encode(self.pings(3))), INVALID)
        peer.alive()

    def test_a_batch_holds_at_most_100(self):
        peer = self.legacy(OLDEST)
        replies = peer.answer_to(encode(self.pings(100)))
        self.assertEqual(sorted(r["id"] for r in replies), list(range(100, 200)))
        self.assertError(peer.answer_to(encode(self.pings(101))), INVALID)
        peer.silent(lambda m: True, 0.2)
        peer.alive()

    def test_an_empty_batch_is_refused(self):
        peer = self.legacy(OLDEST)
        self.assertError(peer.answer_to(b"[]\n"), INVALID)

    def test_each_part_of_a_batch_has_its_own_answer(self):
        self.append("x")
        peer = self.legacy(MARCH)
        replies = peer.answer_to(encode([
            request("ping", id=1), notification("notifications/nope"), request("nope", {}, 2), 7, request("tools/call", {"name": "status", "arguments": {"session": "s"}}, "three"),
            request("tools/list", {"cursor": "x"}, 4),
        ]))  # fmt: skip
        by_id = {r["id"]: r for r in replies}
        self.assertEqual(len(replies), 5)
        self.assertEqual(by_id[1]["result"], {})
        self.assertError(by_id[2], METHOD)
        self.assertError(by_id[None], INVALID)
        self.assertError(by_id[4], PARAMS)
        self.assertEqual([b["type"] for b in by_id["three"]["result"]["content"]], ["text"])

    def test_a_batch_of_notifications_gets_no_answer(self):
        peer = self.legacy(OLDEST)
        peer.say([notification("notifications/nope"), notification("notifications/cancelled", {"requestId": 9})])
        peer.alive()
        peer.silent(lambda m: True, 0.2)


class LevelsTest(McpTest):
    def test_every_level_can_be_set_and_no_other(self):
        for revision in LEGACY:
            peer = self.legacy(revision)
            for level in ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"):
                self.assertEqual(peer.ok("logging/setLevel", {"level": level}), {})
            for params in ({"level": "loud"}, {"level": 7}, {}, {"level": "DEBUG"}):
                peer.error("logging/setLevel", params, PARAMS)

    def test_messages_are_well_formed_if_there_are_any(self):
        self.append("x")
        peer = self.legacy()
        peer.ok("logging/setLevel", {"level": "debug"})
        peer.call("status", session="s")
        peer.call("read", path="nope.txt")
        peer.alive()
        while message := peer.take(lambda m: m.get("method") == "notifications/message", 0.2):
            self.assertIn(message["params"]["level"], ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"))
            self.assertIn("data", message["params"])


class SubscriptionTest(McpTest):
    def updated(self, peer, seconds=None):
        return peer.told("notifications/resources/updated", seconds)["uri"]

    def test_an_append_elsewhere_updates_head_and_session(self):
        self.append("x")
        for revision in (OLDEST, NOVEMBER):
            with self.subTest(revision=revision):
                peer = self.legacy(revision)
                for uri in ("weir://session/s", "weir://session/s/head/main"):
                    self.assertEqual(peer.ok("resources/subscribe", {"uri": uri}), {})
                self.append("from another process")
                self.assertEqual(sorted([self.updated(peer), self.updated(peer)]), ["weir://session/s", "weir://session/s/head/main"])

    def test_a_write_of_this_process_and_a_moved_head_update_too(self):
        first = self.append("x")
        self.append("y")
        peer = self.legacy()
        peer.ok("resources/subscribe", {"uri": "weir://session/s/head/main"})
        peer.data("note", kind="question", text="why?", session="s")
        self.assertEqual(self.updated(peer), "weir://session/s/head/main")
        self.weir("head", "move", "--session", "s", "main", first)
        self.assertEqual(self.updated(peer), "weir://session/s/head/main")

    def test_only_what_was_asked_for_and_nothing_after_unsubscribe(self):
        for name in ("s", "t"):
            self.append("x", session=name)
        self.weir("head", "fork", "other", "--session", "s")
        peer = self.legacy()
        peer.ok("resources/subscribe", {"uri": "weir://session/s/head/other"})
        self.append("y", session="t")
        self.append("y", session="s")
        peer.silent(lambda m: m.get("method") == "notifications/resources/updated", 1.5)
        self.append("y", session="s", head="other")
        self.assertEqual(self.updated(peer), "weir://session/s/head/other")
        self.assertEqual(peer.ok("resources/unsubscribe", {"uri": "weir://session/s/head/other"}), {})
        self.append("z", session="s", head="other")
        peer.silent(lambda m: m.get("method") == "notifications/resources/updated", 1.5)

    def test_a_new_session_changes_the_list(self):
        self.append("x")
        peer = self.legacy()
        peer.ok("resources/list")
        self.append("x", session="fresh")
        peer.told("notifications/resources/list_changed")
        peer.silent(lambda m: "id" in m, 0.2)  # no request to the client


if __name__ == "__main__":
    client.main()
