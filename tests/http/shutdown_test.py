"""Case 33 and the shutdown of section 3: what was acknowledged is there, what is under way is finished, nothing new begins."""

import http.client
import json
import os
import signal
import socket
import threading
import time

import server
from harness import compact, entry
from server import HttpTest


class ShutdownTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def half_sent(self, session="half"):
        """A request whose body is under way; answers the socket and the rest."""
        body = compact({"entries": [entry("under way", id="w1")]}).encode()
        sock = self.server.connect(20)
        self.addCleanup(sock.close)
        sock.sendall(self.server.head("POST", f"/v1/sessions/{session}/entries", "Content-Type: application/json", f"Content-Length: {len(body)}") + body[:10])
        time.sleep(0.2)
        return sock, body[10:]

    def test_case_33_sigterm_under_load_keeps_every_2xx_append(self):
        done, lock, stop = [], threading.Lock(), threading.Event()
        statuses = []

        def work(i):
            client = self.server.client(20)
            n = 0
            while not stop.is_set():
                name = f"t{i}-{n}"
                try:
                    answer = client.ask("POST", f"/v1/sessions/t{i}/entries", {"entries": [entry("x", id=name)]})
                except (OSError, http.client.HTTPException):
                    return
                with lock:
                    statuses.append(answer.status)
                    if answer.status in (200, 201):
                        done.append((f"t{i}", name))
                n += 1
            client.close()

        ready = []

        def watch():
            client = self.server.client(20)
            while not stop.is_set():
                try:
                    answer = client.ask("GET", "/readyz", token=False)
                except (OSError, http.client.HTTPException):
                    ready.append("closed")
                    return
                ready.append(answer.status)
                if answer.status == 503 and "draining" not in answer.text:
                    ready.append(answer.text)
                time.sleep(0.005)
            client.close()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)] + [threading.Thread(target=watch)]
        sock, rest = self.half_sent()
        for thread in threads:
            thread.start()
        server.wait_until(lambda: len(done) > 200, 30)
        self.server.process.send_signal(signal.SIGTERM)
        time.sleep(1)
        sock.sendall(rest)
        got = b""
        while b"}" not in got:
            more = sock.recv(65536)
            if not more:
                break
            got += more
        self.assertTrue(got.startswith(b"HTTP/1.1 201"), got[:300])
        self.assertEqual(self.server.ended(), 0, self.server.errors[-2000:])
        stop.set()
        for thread in threads:
            thread.join(20)
        self.assertIn(200, ready)
        self.assertIn(503, ready, "before the port closed")
        self.assertEqual([one for one in ready if one not in (200, 503, "closed")], [])
        self.assertLessEqual(set(statuses), {200, 201, 503})
        self.serve()
        kept = {}
        for session, name in done:
            if session not in kept:
                kept[session] = {one["id"] for one in self.page_through(f"/v1/sessions/{session}/entries", limit=500)}
            self.assertIn(name, kept[session])
        self.get("/v1/sessions/half/entries/w1")
        self.sound()

    def test_case_33_kill_under_load_keeps_every_2xx_append_too(self):
        done, stop = [], threading.Event()

        def work(i):
            client = self.server.client(20)
            n = 0
            try:
                while not stop.is_set():
                    if client.ask("POST", f"/v1/sessions/t{i}/entries", {"entries": [entry("x", id=f"t{i}-{n}")]}).status == 201:
                        done.append((f"t{i}", f"t{i}-{n}"))
                    n += 1
            except (OSError, http.client.HTTPException):
                return

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        server.wait_until(lambda: len(done) > 200, 30)
        os.kill(self.server.pid, signal.SIGKILL)
        stop.set()
        for thread in threads:
            thread.join(20)
        kept = {session: {one["id"] for one in self.log(session)} for session in {session for session, _ in done}}
        self.assertEqual([one for one in done if one[1] not in kept[one[0]]], [])
        self.sound()

    def test_it_ends_at_once_when_nothing_is_under_way(self):
        idle = [self.server.connect() for _ in range(5)]
        client = self.server.client()
        client.ask("GET", "/healthz")
        began = time.monotonic()
        self.stopped()
        self.assertLess(time.monotonic() - began, 3)
        for sock in idle:
            sock.close()
        client.close()

    def test_sigint_does_the_same(self):
        self.put_entries("s", [entry("x")])
        self.assertEqual(self.server.stop(signal.SIGINT), 0)

    def test_no_new_connection_is_taken_while_it_drains(self):
        sock, rest = self.half_sent()
        self.server.process.send_signal(signal.SIGTERM)

        def refused():
            try:
                other = self.server.connect(1)
                other.sendall(self.server.head("GET", "/v1/sessions", "Connection: close"))
                data = other.recv(100)
                other.close()
                return data == b"" or data.startswith(b"HTTP/1.1 503")
            except OSError:
                return True

        self.assertTrue(server.wait_until(refused, 3))
        self.assertTrue(self.server.alive, "a request is under way")
        sock.sendall(rest)
        self.assertTrue(sock.recv(65536).startswith(b"HTTP/1.1 201"))
        self.assertEqual(self.server.ended(), 0)

    def test_a_request_that_never_ends_gets_10_seconds(self):
        sock, _ = self.half_sent()
        began = time.monotonic()
        self.assertEqual(self.server.stop(wait=20), 0)
        took = time.monotonic() - began
        self.assertGreater(took, 8)
        self.assertLess(took, 14)
        sock.close()

    def test_a_second_signal_ends_at_once(self):
        sock, _ = self.half_sent()
        self.put_entries("s", [entry("x", id="kept")])
        self.server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        self.assertTrue(self.server.alive)
        began = time.monotonic()
        self.server.stop(signal.SIGTERM)
        self.assertLess(time.monotonic() - began, 2)
        self.assertEqual([one["id"] for one in self.log("s")], ["kept"])
        self.sound()

    def test_the_port_is_free_again(self):
        port = self.server.port
        self.stopped()
        self.serve(listen=f"127.0.0.1:{port}")
        self.assertEqual(self.server.port, port)
        self.get("/v1/sessions")

    def test_two_servers_cannot_have_one_port(self):
        ran = self.world.run("--json", "serve", "--listen", f"127.0.0.1:{self.server.port}", timeout=20)
        self.assertEqual(ran.code, 11, ran)
        self.assertEqual(json.loads(ran.errors.splitlines()[-1])["error"]["code"], "BUSY")

    def test_two_servers_share_one_store(self):
        first = self.server
        second = self.serve()
        self.put_entries("s", [entry("by the second", id="a1")])
        self.assertEqual(first.ask("GET", "/v1/sessions/s/entries/a1").status, 200)
        first.ask("POST", "/v1/sessions/s/entries", {"entries": [entry("by the first", id="a2")]})
        self.assertEqual(second.ask("GET", "/v1/sessions/s/entries/a2").json["parent"], "a1")

    def test_it_prints_one_line_and_says_nothing_more_on_stdout(self):
        self.put_entries("s", [entry("x")])
        self.assertLessEqual({"url", "token_file"}, set(self.server.told))
        self.assertNotIn(self.server.token, self.server.printed.decode())
        stdout = self.server.process.stdout
        self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait(15)
        self.assertEqual(stdout.read(), b"")

    def test_a_socket_in_the_file_system_is_0600(self):
        path = self.world.path("weir.sock")
        self.stopped()
        process = self.world.start("serve", "--json", "--listen", "unix:" + path)
        self.addCleanup(process.kill)
        self.assertTrue(server.wait_until(lambda: os.path.exists(path), 10))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(5)
        sock.connect(path)
        sock.sendall(f"GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.server.token}\r\nConnection: close\r\n\r\n".encode())
        self.assertTrue(sock.recv(65536).startswith(b"HTTP/1.1 200"))
        sock.close()
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(5)
        sock.connect(path)
        sock.sendall(b"GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.assertTrue(sock.recv(65536).startswith(b"HTTP/1.1 401"))
        sock.close()
        process.terminate()
        self.assertEqual(process.wait(15), 0)
        process.stdout.close()
        process.stderr.close()
        self.assertFalse(os.path.exists(path), "it is taken away again")


if __name__ == "__main__":
    server.main()
