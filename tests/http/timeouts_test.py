"""The times of section 4: headers in 5 s, a body in 30 s, idle 60 s. All clients wait beside each other."""

import time

import server
from server import HttpTest, in_threads
from slow_clients import Drip, closed_by_server


class TimeoutsTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()
        self.sockets = []
        self.addCleanup(lambda: [sock.close() for sock in self.sockets])

    def many(self, count, data=b""):
        made = [self.server.connect(10) for _ in range(count)]
        for sock in made:
            sock.sendall(data)
        self.sockets += made
        return made

    def test_s13_slow_heads_slow_bodies_and_idle_clients_are_closed_in_time(self):
        body = self.server.head("POST", "/v1/sessions/s/entries", "Content-Type: application/json", "Content-Length: 1000")
        chunks = self.server.head("POST", "/v1/sessions/s/entries", "Content-Type: application/json", "Transfer-Encoding: chunked")
        before = self.server.descriptors()
        dripping = self.many(20, body)
        heads = Drip(self.many(20), self.server.head("GET", "/v1/sessions", "X-Long: " + "a" * 1000))
        bodies = Drip(dripping, b" ")
        heads.start()
        bodies.start()
        # What, its clients, not before, not after.
        waits = [
            ("half a head", self.many(10, b"GET /v1/ses"), 3, 9), ("half a body", self.many(10, body + b"{"), 25, 36), ("half of the chunks", self.many(10, chunks + b"2\r\n{"), 25, 36),
            ("idle after an answer", self.many(10, self.server.head("GET", "/healthz")), 50, 68), ("nothing at all", self.many(10), 3, 68),
        ]  # fmt: skip

        def wait(i):
            what, socks, least, most = waits[i]
            began = time.monotonic()
            closed = closed_by_server(socks, most)
            took = time.monotonic() - began
            return None if closed == len(socks) and took >= least else f"{what}: {closed} of {len(socks)} closed after {took:.1f} s, not within {least} to {most} s"

        def served(_):
            until, slowest = time.monotonic() + 40, 0
            while time.monotonic() < until:
                began = time.monotonic()
                self.get("/v1/sessions")
                slowest = max(slowest, time.monotonic() - began)
                time.sleep(0.5)
            return None if slowest < 1 else f"an answer took {slowest:.1f} s"

        wrong = in_threads(len(waits) + 1, lambda i: wait(i) if i < len(waits) else served(i))
        self.assertEqual([one for one in wrong if one], [])
        self.assertEqual((heads.closed, bodies.closed), (20, 20), "at one byte a second")
        for drip in (heads, bodies):
            drip.stopped.set()
            drip.join()
        self.assertTrue(server.wait_until(lambda: self.server.descriptors() <= before, 5))
        self.ask("GET", "/v1/sessions/s", status=404)


if __name__ == "__main__":
    server.main()
