"""Case 30 and section 3: the event stream of a session is its log, gap-free, however often a client is lost."""

import random
import signal
import socket
import threading
import time

import server
from harness import entry
from server import HttpTest


class EventsTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def events(self, path="/v1/sessions/s/events", last=None, **how):
        stream = self.server.events(path, last, **how)
        self.addCleanup(stream.close)
        return stream

    def follow(self, last="0", session="s", **how):
        stream = self.events(f"/v1/sessions/{session}/events", last, **how)
        self.assertEqual(stream.status, 200)
        return stream

    def last_head(self, stream, entry):
        """What is told of a head until it stands there; where it stood may be told before."""
        moved = stream.collect(1, 5, kinds=("head",))
        while moved and moved[-1]["data"]["entry"] != entry:
            moved = stream.collect(1, 5, kinds=("head",))
        return moved[-1]["data"] if moved else None

    def test_an_event_of_an_entry_has_its_seq_for_an_id(self):
        self.put_entries("s", [entry("one", id="a1"), entry("two", id="a2")])
        stream = self.follow()
        self.assertEqual(stream.headers["content-type"].split(";")[0], "text/event-stream")
        self.assertEqual(stream.headers["cache-control"], "no-store")
        for seq, event in enumerate(stream.collect(2), 1):
            kept = self.get(f"/v1/sessions/s/entries/a{seq}")
            self.assertEqual((event["id"], event["event"]), (str(seq), "entry"))
            self.assertEqual(event["data"], {key: kept[key] for key in ("seq", "id", "parent", "type", "digest")})

    def test_an_append_comes_at_once(self):
        self.put_entries("s", [entry("one", id="a1")])
        stream = self.follow("1")
        for i in range(5):
            began = time.monotonic()
            self.put_entries("s", [entry(f"n{i}", id=f"n{i}")])
            event = stream.collect(1, 5)
            self.assertEqual([one["data"]["id"] for one in event], [f"n{i}"])
            self.assertLess(time.monotonic() - began, 2)

    def test_a_head_that_moves_is_told(self):
        self.put_entries("s", [entry("one", id="a1"), entry("two", id="a2")])
        stream = self.follow("2")
        self.ask("PUT", "/v1/sessions/s/heads/main", {"entry": "a1"}, status=200)
        self.assertEqual(self.last_head(stream, "a1"), {"name": "main", "entry": "a1"})

    def test_case_30_what_another_process_appends_comes_too(self):
        self.append("one", session="s")
        stream = self.follow("0")
        self.assertEqual(len(stream.collect(1, 5)), 1)
        ids = [self.append(f"by hand {i}", session="s") for i in range(10)]
        self.assertEqual([one["data"]["id"] for one in stream.collect(10, 10)], ids)
        self.weir("head", "move", "main", ids[0], "--session", "s")
        self.assertEqual(self.last_head(stream, ids[0]), {"name": "main", "entry": ids[0]})

    def test_case_30_killed_and_resumed_100_times_every_seq_once_and_in_order(self):
        total = 3000
        self.put_entries("s", [entry("first")])
        chance, done = random.Random(30), threading.Event()

        def write():
            client = self.server.client()
            for start in range(1, total, 10):
                client.ask("POST", "/v1/sessions/s/entries", {"entries": [entry(f"n{i}") for i in range(start, min(total, start + 10))]})
            client.close()
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        seen, last, killed = [], "0", 0
        until = time.monotonic() + 50
        while (len(seen) < total or killed < 100) and time.monotonic() < until:
            stream = self.server.events("/v1/sessions/s/events", last)
            self.assertEqual(stream.status, 200)
            left = total - len(seen)
            count = left if killed >= 100 else min(left, chance.randint(1, 2 * max(1, left // max(1, 100 - killed))))
            got = stream.collect(max(1, count), 5 if left else 0.05)
            seen += [int(one["id"]) for one in got]
            self.assertEqual([one["data"]["seq"] for one in got], [int(one["id"]) for one in got])
            last = str(seen[-1]) if seen else "0"
            stream.close(hard=chance.random() < 0.7)
            killed += 1
        writer.join(30)
        self.assertTrue(done.is_set())
        self.assertGreaterEqual(killed, 100)
        self.assertEqual(seen, list(range(1, total + 1)))

    def test_case_30_resumed_across_a_restart(self):
        self.put_entries("s", [entry(f"n{i}") for i in range(50)])
        stream = self.follow("0")
        first = [int(one["id"]) for one in stream.collect(20, 5)]
        stream.close(hard=True)
        self.restart(signal.SIGKILL)
        self.put_entries("s", [entry(f"m{i}") for i in range(10)])
        rest = [int(one["id"]) for one in self.follow(str(first[-1])).collect(40, 5)]
        self.assertEqual(first + rest, list(range(1, 61)))

    def test_entries_of_all_heads_are_told_and_of_no_other_session(self):
        self.put_entries("s", [entry("one", id="a1"), entry("two", id="a2")])
        self.put_entries("other", [entry("no", id="x1")])
        stream = self.follow("0")
        self.put_entries("other", [entry("no", id="x2")])
        self.put_entries("s", [entry("side", id="b1", parent="a1")])
        self.assertEqual([one["data"]["id"] for one in stream.collect(4, 1.5)], ["a1", "a2", "b1"])

    def test_types_choose_what_comes(self):
        self.put_entries("s", [entry("one", id="a1"), entry("two", "assistant", id="a2")])
        stream = self.events("/v1/sessions/s/events?types=ctree_node", "0")
        got = stream.collect(2, 5, kinds=("entry", "head", "ctree_node", "ctree_snapshot"))
        self.assertEqual([one["event"] for one in got], ["ctree_node", "ctree_node"])
        self.assertEqual(set(got[0]["data"]), {"node", "snapshot"})
        self.assertLessEqual({"bytes", "digest", "id", "kind", "payload_hash", "turn"}, set(got[0]["data"]["node"]))
        self.problem("INVALID_FIELD", "GET", "/v1/sessions/s/events?types=rumours")

    def test_a_last_event_id_that_is_none_is_refused(self):
        self.put_entries("s", [entry("one")])
        for bad in ("x", "-1", "1.5", "99999999999999999999999"):
            with self.subTest(last=bad):
                self.problem("INVALID_FIELD", "GET", "/v1/sessions/s/events", headers={"Last-Event-ID": bad})

    def test_bye_at_sigterm(self):
        self.put_entries("s", [entry("one")])
        streams = [self.follow("0") for _ in range(5)]
        for stream in streams:
            self.assertEqual(len(stream.collect(1, 5)), 1)
        began = time.monotonic()
        self.server.process.send_signal(signal.SIGTERM)
        for stream in streams:
            self.assertEqual([one["event"] for one in stream.collect(1, 8, kinds=("bye",))], ["bye"])
            self.assertIsNone(stream.next(5), "it ends after that")
        self.assertEqual(self.server.ended(), 0, self.server.errors[-2000:])
        self.assertLess(time.monotonic() - began, 9, "nobody was waited for")

    def test_a_session_that_is_purged_ends_its_stream(self):
        self.put_entries("s", [entry("one")])
        stream = self.follow("1")
        self.ask("DELETE", "/v1/sessions/s?confirm=s", status=204)
        try:
            events = stream.collect(5, 6, kinds=("entry", "head", "bye"))
        except socket.timeout:
            events = []
        self.assertEqual([one for one in events if one["event"] == "entry"], [])
        self.assertTrue(self.server.alive)

    def test_a_comment_keeps_the_stream_alive(self):
        self.put_entries("s", [entry("one")])
        stream = self.follow("1")
        server.wait_until(lambda: stream.collect(1, 1) is None or stream.comments > 0, 18)
        self.assertGreaterEqual(stream.comments, 1, "every 15 s")

    def test_a_client_more_than_a_mebibyte_behind_is_closed_and_comes_back_by_id(self):
        self.put_entries("s", [entry("one")])
        slow = self.server.connect(5, receive=4096)
        self.addCleanup(slow.close)
        slow.sendall(self.server.head("GET", "/v1/sessions/s/events", "Last-Event-ID: 0"))
        name = "n" * 110
        for start in range(0, 40000, 1000):
            self.put_entries("s", [entry("x", id=f"{name}{i}") for i in range(start, start + 1000)])
        stream = self.follow("40000", timeout=20)
        self.assertEqual([int(one["id"]) for one in stream.collect(1, 5)], [40001])
        data, until = b"", time.monotonic() + 30
        closed = False
        while time.monotonic() < until:
            try:
                got = slow.recv(1 << 20)
            except socket.timeout:
                break
            except ConnectionError:
                closed = True
                break
            if not got:
                closed = True
                break
            data += got
        self.assertTrue(closed, f"still open after {len(data)} bytes")
        self.assertLess(data.count(b"event: entry"), 40001)
        last = max(int(line[3:].strip()) for line in data.split(b"\n")[:-2] if line.startswith(b"id:"))
        rest = self.follow(str(last), timeout=20).collect(40001 - last, 20)
        self.assertEqual([int(one["id"]) for one in rest], list(range(last + 1, 40002)))


if __name__ == "__main__":
    server.main()
