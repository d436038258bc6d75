"""Who shows no token cannot shut out who does: strangers have a small share of the connections, and the oldest of them goes first."""

import resource
import threading
import time

import server
from harness import entry
from server import HttpTest

MANY = 300
SHARE = 32  # of the connections, as docs/security.md says


class Knocking(threading.Thread):
    """Strangers that come again as soon as they are closed, all the time."""

    def __init__(self, connect, data):
        super().__init__(daemon=True)
        self.connect, self.data, self.stopped, self.made = connect, data, threading.Event(), 0

    def run(self):
        held = []
        while not self.stopped.is_set():
            try:
                sock = self.connect(5)
                sock.sendall(self.data)
                held.append(sock)
                self.made += 1
            except OSError:
                time.sleep(0.001)
            if len(held) > MANY:
                held.pop(0).close()
        for sock in held:
            sock.close()


class StrangersTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()
        self.put_entries("s", [entry("hello", id="m1")])
        self.held = []
        self.addCleanup(lambda: [sock.close() for sock in self.held])

    def crowd(self, data):
        """That many strangers who have sent this and stay. Some are closed again at once; none of them is answered but with a refusal."""
        for _ in range(MANY):
            sock = self.server.connect(10)
            self.held.append(sock)
            try:
                sock.sendall(data)
            except OSError:
                pass  # closed already

    def owner_is_served(self, kept):
        """Requests on connections that were there before, and each on one of its own: every one is answered."""
        statuses, times = [], []
        for i in range(40):
            for client in (kept[i % len(kept)], None):
                asked = client or self.server.client(10)
                began = time.monotonic()
                if i % 4 == 3:
                    answer = asked.ask("POST", "/v1/sessions/s/entries", {"entries": [entry(f"x{i}")]})
                else:
                    answer = asked.ask("GET", "/v1/sessions/s/entries/m1")
                times.append(time.monotonic() - began)
                statuses.append(answer.status)
                if client is None:
                    asked.close()
        self.assertEqual([one for one in statuses if one not in (200, 201)], [])
        self.assertLess(sorted(times)[-1], 2.0)

    def test_silent_half_and_wrong_strangers_never_shut_the_owner_out(self):
        wrong = self.server.head("GET", "/v1/sessions", "Authorization: Bearer wrong-token", token=False)
        crowds = {
            "silent": b"", "half a head": b"GET /v1/sessions HTTP/1.1\r\nHost: local", "wrong token": wrong, "no token": b"GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "half a body, wrong token": wrong.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"),
            "health": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        }  # fmt: skip
        before = self.server.descriptors()
        kept = [self.server.client(10) for _ in range(4)]
        for client in kept:
            self.assertEqual(client.ask("GET", "/v1/sessions").status, 200)
        stream = server.Events(self.server, "/v1/sessions/s/events")
        self.assertEqual(stream.status, 200)
        for name, data in crowds.items():
            with self.subTest(name):
                self.crowd(data)
                self.owner_is_served(kept)
                self.assertLessEqual(self.server.descriptors(), before + len(kept) + 1 + SHARE + 2)
                while self.held:
                    self.held.pop().close()
        self.assertGreater(len(stream.collect(seconds=1)), 10, "who listens is no stranger")
        stream.close()
        for client in kept:
            client.close()

    def test_strangers_that_come_again_and_again_do_not_either(self):
        kept = [self.server.client(10) for _ in range(4)]
        for client in kept:
            self.assertEqual(client.ask("GET", "/v1/sessions").status, 200)
        knocking = [Knocking(self.server.connect, data) for data in (b"", b"GET / HTTP/1.1\r\nHo")]
        for one in knocking:
            one.start()
        self.assertTrue(server.wait_until(lambda: sum(one.made for one in knocking) > MANY, 20))
        self.owner_is_served(kept)
        for one in knocking:
            one.stopped.set()
        for one in knocking:
            one.join()
        self.assertTrue(self.server.alive)

    def test_with_few_descriptors_left_it_is_a_stranger_that_goes(self):
        self.restart(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48)))
        kept = [self.server.client(10)]
        self.assertEqual(kept[0].ask("GET", "/v1/sessions").status, 200)
        self.crowd(b"")
        self.owner_is_served(kept)
        kept[0].close()


if __name__ == "__main__":
    server.main()
