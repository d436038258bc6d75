"""S13 and load: slow, silent and half-open clients cost others nothing and are closed; many sessions at once; an end under
load. Slow waits run beside each other."""

import http.client
import os
import signal
import socket
import sqlite3
import threading
import time

import server
from harness import entry
from server import HttpTest, in_threads
from slow_clients import Drip, closed_by_server


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


class SlowTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()
        self.put_entries("big", [entry("x" * 700000, id=f"b{i}") for i in range(4)])
        self.blob = self.world.object_names()[0].removeprefix("sha256:")
        self.sockets = []
        self.addCleanup(lambda: [sock.close() for sock in self.sockets])

    def many(self, count, data=b"", **how):
        made = []
        for _ in range(count):
            sock = self.server.connect(10, **how)
            if data:
                sock.sendall(data)
            made.append(sock)
        self.sockets += made
        return made

    def serves(self, seconds, fresh=True):
        """A normal client asks for that long, on one connection or on a new one each time; answers how long each took."""
        times, until = [], time.monotonic() + seconds
        kept = None if fresh else self.server.client(20)
        i = 0
        while time.monotonic() < until:
            client = self.server.client(20) if fresh else kept
            began = time.monotonic()
            if i % 5 == 4:
                answer = client.ask("POST", "/v1/sessions/normal/entries", {"entries": [entry("x")]})
            else:
                answer = client.ask("GET", "/v1/sessions/big/entries/b1")
            times.append(time.monotonic() - began)
            self.assertIn(answer.status, (200, 201), answer)
            if fresh:
                client.close()
            i += 1
            time.sleep(0.01)
        if kept:
            kept.close()
        return times

    # 700,000 bytes sixteen times over: more than the kernel takes for a client that reads nothing.
    def test_s13_200_slow_50_that_never_read_a_normal_client_is_served_and_no_descriptor_leaks(self):
        normal = self.server.client(20)
        normal.ask("GET", "/v1/sessions/big/entries/b1")
        before = self.server.descriptors()
        never = self.many(50, self.server.head("GET", "/v1/blobs/" + self.blob) * 16, receive=4096)
        slow = self.many(200)
        drip = Drip(slow, self.server.head("GET", "/v1/sessions", "X-Long: " + "a" * 1000))
        drip.start()
        times = self.serves(5)
        self.assertGreater(len(times), 20)
        self.assertLess(percentile(times, 0.99), 0.25, sorted(times)[-5:])
        # Headers get 5 s in all, not 5 s a byte.
        self.assertTrue(server.wait_until(lambda: drip.closed >= 200, 8), f"{drip.closed} of 200 were closed")
        drip.stopped.set()
        drip.join()
        # 50 half-open ones beside those that never read.
        half = self.many(25) + self.many(25, b"GET /v1/sessions HTTP/1.1\r\nHost: local")
        times = self.serves(3)
        self.assertLess(percentile(times, 0.99), 0.25, sorted(times)[-5:])
        self.assertEqual(closed_by_server(half[25:], 8), 25, "half a head gets 5 s")
        # A write that does not move for 10 s is given up.
        self.assertTrue(server.wait_until(lambda: self.server.descriptors() <= before + 27, 20), f"{self.server.descriptors()} descriptors, {before} before")
        for sock in self.sockets:
            sock.close()
        self.assertTrue(server.wait_until(lambda: self.server.descriptors() <= before + 1, 10), f"{self.server.descriptors()} descriptors, {before} before")
        self.assertEqual(len(never), 50)
        normal.close()

    def test_s13_more_than_256_connections_do_not_end_it(self):
        before = self.server.descriptors()
        kept = self.server.client(20)
        kept.ask("GET", "/healthz")
        idle = []
        for _ in range(400):
            try:
                idle.append(self.server.connect(2))
            except OSError:
                break
        self.sockets += idle
        self.assertLessEqual(self.server.descriptors(), before + 256 + 16, "connections are at most 256")
        self.assertEqual(kept.ask("GET", "/v1/sessions").status, 200, "who is in is served")
        for sock in idle:
            sock.close()

        def served():
            try:
                return self.server.ask("GET", "/v1/sessions", timeout=2).status == 200
            except (OSError, http.client.HTTPException):
                return False

        self.assertTrue(server.wait_until(served, 8))
        kept.close()
        self.assertTrue(server.wait_until(lambda: self.server.descriptors() <= before + 1, 10))

    def test_s13_a_stream_nobody_reads_is_given_up(self):
        time.sleep(0.3)  # the connection of the last request is gone by then
        before = self.server.descriptors()
        self.many(20, self.server.head("GET", "/v1/blobs/" + self.blob) * 16, receive=4096)
        self.assertTrue(server.wait_until(lambda: self.server.descriptors() >= before + 20, 5))
        # Small answers, never read: the queue of one client is bounded.
        flood = self.many(5, receive=4096)
        request = self.server.head("GET", "/v1/sessions/big/entries") * 100
        for sock in flood:
            sock.setblocking(False)
        sent, until = 0, time.monotonic() + 5
        while time.monotonic() < until:
            for sock in flood:
                try:
                    sent += sock.send(request)
                except OSError:
                    pass
            time.sleep(0.01)
        self.assertLess(self.server.memory(), 400 << 20, f"after {sent} bytes of requests")
        self.get("/v1/sessions")
        self.assertTrue(server.wait_until(lambda: self.server.descriptors() <= before + 2, 25), f"{self.server.descriptors()} descriptors, {before} before")

    def test_s13_a_thousand_short_connections_leak_nothing(self):
        before = self.server.descriptors()

        def work(i):
            for n in range(50):
                sock = self.server.connect(10)
                kind = (i + n) % 5
                if kind == 1:
                    sock.sendall(b"GET ")
                elif kind == 2:
                    sock.sendall(self.server.head("GET", "/v1/sessions/big/export?format=jsonl"))
                elif kind == 3:
                    sock.sendall(b"\x00\xff\r\n\r\n")
                elif kind == 4:
                    sock.sendall(self.server.head("GET", "/v1/sessions/big/events", "Last-Event-ID: 0"))
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
                sock.close()

        totals = []  # with the store's own files, of which each worker opens its own when it first needs them
        for _ in range(3):
            in_threads(20, work)
            self.assertTrue(server.wait_until(lambda: self.server.descriptors() <= before, 10), f"{self.server.descriptors()} descriptors, {before} before")
            totals.append(self.server.descriptors(""))
        self.assertLess(max(totals) - totals[0], 100, f"{totals}: with each thousand connections there are more")
        self.get("/v1/sessions")


class LoadTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def test_who_waits_for_the_store_holds_up_nobody_else(self):
        self.put_entries("s", [entry("first", id="first")])
        lock = sqlite3.connect(os.path.join(self.world.store, "weir.db"), isolation_level=None)
        self.addCleanup(lock.close)
        client, quick = self.server.client(60), self.server.client(60)
        for _ in range(3):
            quick.ask("GET", "/v1/sessions/s/entries/first")
            lock.execute("BEGIN IMMEDIATE")
            answers = []
            waiting = threading.Thread(target=lambda: answers.append(client.ask("POST", "/v1/sessions/s/entries", {"entries": [entry("x")]})))
            waiting.start()
            time.sleep(0.05)
            times = []
            for _ in range(50):
                began = time.monotonic()
                self.assertEqual(quick.ask("GET", "/v1/sessions/s/entries/first").status, 200)
                times.append(time.monotonic() - began)
            self.assertEqual(answers, [], "the store is not free yet")
            lock.execute("ROLLBACK")
            waiting.join(60)
            self.assertEqual(answers[0].status, 201)
            self.assertLess(percentile(times, 0.5), 0.05)
        client.close()
        quick.close()

    def test_64_sessions_at_once_each_gets_its_own_chain(self):
        def work(i):
            client = self.server.client(60)
            head = None
            for n in range(20):
                answer = client.ask("POST", f"/v1/sessions/c{i}/entries", {"entries": [entry(f"{i} {n}", id=f"e{n}")], **({"expect": head} if head else {})})
                if answer.status != 201:
                    return str(answer)
                head = answer.json["head"]
            client.close()
            return None

        self.assertEqual([one for one in in_threads(64, work) if one], [])
        for i in range(0, 64, 9):
            self.assertEqual([one["body"]["content"] for one in self.log(f"c{i}", "--reverse")], [f"{i} {n}" for n in range(20)])
        self.sound()

    def test_16_writers_of_one_head_with_expect_lose_nothing(self):
        self.put_entries("s", [entry("first", id="first")])

        def work(i):
            client, n, conflicts = self.server.client(60), 0, 0
            while n < 10:
                head = client.ask("GET", "/v1/sessions/s").json["head"]
                answer = client.ask("POST", "/v1/sessions/s/entries", {"entries": [entry(f"{i} {n}", id=f"w{i}-{n}")], "expect": head})
                if answer.status == 201:
                    n += 1
                elif answer.status == 409:
                    conflicts += 1
                else:
                    raise AssertionError(str(answer))
            client.close()
            return conflicts

        in_threads(16, work)
        path = self.log("s", "--reverse")
        self.assertEqual(sorted(one["id"] for one in path), sorted(["first"] + [f"w{i}-{n}" for i in range(16) for n in range(10)]))

    def test_case_33_sigterm_with_slow_and_busy_clients(self):
        done, stop = [], threading.Event()
        slow = [self.server.connect(10) for _ in range(50)]
        for sock in slow[:25]:
            sock.sendall(b"GET /v1/ses")

        def work(i):
            client, n = self.server.client(20), 0
            try:
                while not stop.is_set():
                    if client.ask("POST", f"/v1/sessions/t{i}/entries", {"entries": [entry("x", id=f"t{i}-{n}")]}).status == 201:
                        done.append((f"t{i}", f"t{i}-{n}"))
                    n += 1
            except (OSError, http.client.HTTPException):
                return

        threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        server.wait_until(lambda: len(done) > 300, 30)
        began = time.monotonic()
        self.assertEqual(self.server.stop(signal.SIGTERM, wait=15), 0, self.server.errors[-2000:])
        self.assertLess(time.monotonic() - began, 11)
        stop.set()
        for thread in threads:
            thread.join(20)
        for sock in slow:
            sock.close()
        kept = {session: {one["id"] for one in self.log(session)} for session in {session for session, _ in done}}
        self.assertEqual([one for one in done if one[1] not in kept[one[0]]], [])
        self.sound()


if __name__ == "__main__":
    server.main()
