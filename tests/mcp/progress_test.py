"""Cancellation and progress of a long search (case 19). The first search of a session builds its index, which takes a while."""

import shutil
import time

import client
from client import NOVEMBER, OLDEST, Http, McpTest, big_session, modern, modern_headers, modern_meta, notification, request


class LongTest(McpTest):
    """One large session, copied for each test so that no test finds the other's index."""

    @classmethod
    def setUpClass(cls):
        cls.maker = McpTest()
        cls.maker.setUp()
        big_session(cls.maker)

    @classmethod
    def tearDownClass(cls):
        cls.maker.doCleanups()

    def setUp(self):
        super().setUp()
        shutil.copytree(self.maker.world.store, self.world.store)

    def search(self, id, era, token=None):
        meta = {"progressToken": token} if token is not None else {}
        params = {"name": "history", "arguments": {"query": "zebra", "session": "big"}}
        if era == "modern":
            return modern("tools/call", params, id, {**modern_meta(), **meta})
        return request("tools/call", {**params, **({"_meta": meta} if meta else {})}, id)

    def check_progress(self, told, token, seconds):
        """Token echoed, strictly rising, at most ten a second."""
        for params in told:
            self.assertEqual(params["progressToken"], token)
            self.assertIs(type(params["progressToken"]), type(token))
        values = [params["progress"] for params in told]
        self.assertEqual(values, sorted(set(values)))
        totals = {params["total"] for params in told if "total" in params}
        self.assertTrue(all(value <= max(totals) for value in values) if totals else True)
        self.assertLessEqual(len(values), seconds * 10 + 2)

    def test_case_19_progress_rises_and_stops_with_the_result(self):
        for era, token in (("modern", "tok"), ("legacy", 7)):
            with self.subTest(era=era):
                store = self.world.path("copy-" + era)
                shutil.copytree(self.maker.world.store, store)
                peer = self.mcp("--store", store)
                if era == "legacy":
                    peer.handshake(NOVEMBER)
                started = time.monotonic()
                peer.say(self.search("long", era, token))
                reply = peer.reply("long", 60)
                seconds = time.monotonic() - started
                self.assertFalse(reply["result"].get("isError"), reply)
                position = next(i for i, line in enumerate(peer.raw) if b'"id":"long"' in line or b'"id": "long"' in line)
                before = [client.parse_line(line.decode()) for line in peer.raw[:position]]
                told = [m["params"] for m in before if m.get("method") == "notifications/progress"]
                self.check_progress(told, token, seconds)
                if seconds > 0.5:
                    self.assertTrue(told, f"no progress in {seconds:.1f} s")
                peer.ok("tools/list")
                peer.silent(lambda m, at=position: m.get("method") == "notifications/progress" and m["params"] not in told, 0.5)

    def test_without_a_token_there_is_no_progress(self):
        peer = self.legacy()
        peer.say(self.search("long", "legacy"))
        peer.reply("long", 60)
        self.assertEqual([line for line in peer.raw if b"notifications/progress" in line], [])

    def test_case_19_a_cancelled_search_is_never_answered_and_the_next_request_is(self):
        for era in ("modern", "legacy"):
            with self.subTest(era=era):
                store = self.world.path("copy-" + era)
                shutil.copytree(self.maker.world.store, store)
                peer = self.mcp("--store", store)
                if era == "legacy":
                    peer.handshake(OLDEST)
                cancel = notification("notifications/cancelled", {"requestId": "long", "reason": "enough"})
                peer.send(client.encode(self.search("long", era, "tok")) + client.encode(cancel))
                peer.say(peer.message("tools/list", id="after"))
                self.assertIn("result", peer.reply("after", 5))
                begun = len(peer.raw)
                peer.silent(lambda m: m.get("id") == "long", 4)
                late = [line for line in peer.raw[begun:] if b"notifications/progress" in line]
                self.assertEqual(late, [])
                # The id is free again, and the session is as sound as before.
                peer.say(peer.message("tools/call", {"name": "status", "arguments": {"session": "big"}}, id="long"))
                self.assertIn("result", peer.reply("long", 30))
                self.assertEqual(peer.finish(), 0)

    def test_cancelling_the_wrong_or_a_finished_request_changes_nothing(self):
        peer = self.legacy()
        for id in ("nobody", 4711, None, {}, ["x"]):
            peer.notify("notifications/cancelled", {"requestId": id})
        peer.notify("notifications/cancelled", {})
        peer.notify("notifications/cancelled")
        peer.ok("tools/list", id="done")
        peer.notify("notifications/cancelled", {"requestId": "done"})
        peer.alive()
        # A number and a text of the same look are two ids.
        peer.say(self.search(7, "legacy"))
        peer.notify("notifications/cancelled", {"requestId": "7"})
        self.assertIn("result", peer.reply(7, 60))

    def test_other_requests_are_answered_while_it_searches(self):
        peer = self.mcp()
        peer.say(self.search("long", "modern"))
        peer.ok("tools/list")
        peer.ok("server/discover")
        peer.reply("long", 60)
        self.assertIn(b'"long"', peer.raw[-1])  # asked first, answered last

    def test_case_19_over_http_progress_makes_a_stream(self):
        served = self.serve()
        message = self.search("long", "modern", "tok")
        started = time.monotonic()
        stream = served.events("POST", message, modern_headers(message))
        self.assertEqual((stream.status, stream.kind), (200, "text/event-stream"))
        self.assertEqual(stream.headers["X-Accel-Buffering"], "no")
        told = []
        while (got := stream.take(seconds=60)) is not None and "id" not in got:
            self.assertEqual(got["method"], "notifications/progress")
            told.append(got["params"])
        seconds = time.monotonic() - started
        self.assertEqual((got["id"], got["result"]["resultType"]), ("long", "complete"))
        self.check_progress(told, "tok", seconds)
        if seconds > 0.5:
            self.assertTrue(told)
        self.assertTrue(client.wait_until(lambda: stream.ended, 5))
        self.assertEqual(stream.messages, [])

    def test_without_a_token_http_answers_json(self):
        served = self.serve()
        message = self.search("long", "modern")
        got = served.send("POST", body=message, headers=modern_headers(message), seconds=60)
        self.assertEqual((got.status, got.kind), (200, "application/json"))

    def test_a_legacy_session_over_http_has_progress_on_the_requests_own_stream(self):
        peer = Http(self.serve(), NOVEMBER)
        started = time.monotonic()
        got = peer.post(self.search("long", "legacy", 7), seconds=60)
        self.assertEqual((got.status, got.kind), (200, "text/event-stream"))
        self.assertEqual(got.events[-1]["id"], "long")
        told = [m["params"] for m in got.events[:-1]]
        self.assertEqual({m["method"] for m in got.events[:-1]}, {"notifications/progress"})
        self.check_progress(told, 7, time.monotonic() - started)

    def test_case_19_a_legacy_session_over_http_cancels_by_notification(self):
        peer = Http(self.serve(), NOVEMBER)
        stream = peer.served.events("POST", self.search("long", "legacy", 7), peer.headers({}))
        got = peer.post(notification("notifications/cancelled", {"requestId": "long"}))
        self.assertEqual(got.status, 202, got)
        self.assertEqual(peer.ok("ping"), {})
        self.assertIsNone(stream.take(lambda m: m.get("id") == "long", 5))

    def test_the_cancellation_of_another_session_changes_nothing(self):
        served = self.serve()
        peer, other = Http(served, NOVEMBER), Http(served, NOVEMBER)
        stream = served.events("POST", self.search("long", "legacy", 7), peer.headers({}))
        other.post(notification("notifications/cancelled", {"requestId": "long"}))
        self.assertIsNotNone(stream.take(lambda m: m.get("id") == "long", 60))

    def test_closing_the_response_cancels_a_modern_search(self):
        served = self.serve()
        message = self.search("long", "modern", "tok")
        stream = served.events("POST", message, modern_headers(message))
        stream.close()
        started = time.monotonic()
        Http(served).alive()
        self.assertLess(time.monotonic() - started, 10.0)
        self.assertEqual(served.terminate(), 0)

    def test_case_25_stdin_closed_with_a_search_under_way(self):
        for era in ("modern", "legacy"):
            peer = self.mcp()
            if era == "legacy":
                peer.handshake(NOVEMBER)
            peer.say(self.search("long", era, "tok"))
            for i in range(50):
                peer.say(peer.message("tools/list", id=i))
            self.assertEqual(peer.finish(), 0)  # which also holds every line against JSON
        self.sound()

    def test_sigterm_with_a_search_under_way(self):
        peer = self.mcp()
        peer.say(self.search("long", "modern", "tok"))
        time.sleep(0.1)
        self.assertEqual(peer.terminate(), 0)


if __name__ == "__main__":
    client.main()
