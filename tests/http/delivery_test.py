"""What becomes of an answer that nobody hears: a read that was not taken proves nothing, an append that was too late is not stored,
and who waits for the store's lock holds up nobody who only reads."""

import os
import random
import socket
import sqlite3
import threading
import time

import server
from harness import compact, entry, wait_until
from server import HttpTest, in_threads

HELD = "unchanged"
MODERN_META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
MODERN_HEADERS = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "read", "Accept": "application/json, text/event-stream"}


class DeliveryTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.text = "".join(f"line {i} of a file that is read again\n" for i in range(200))
        self.world.file("a.txt", self.text)
        self.serve()
        self.follow("s", "m")

    def read(self, **more):
        return self.post("/v1/sessions/s/read", {"path": os.path.join(self.world.cwd, "a.txt"), **more})

    def send_read(self, *lines):
        body = compact({"path": os.path.join(self.world.cwd, "a.txt")}).encode()
        sock = self.server.connect()
        sock.sendall(self.server.head("POST", "/v1/sessions/s/read", "Content-Type: application/json", f"Content-Length: {len(body)}", *lines) + body)
        return sock

    def entries(self):
        return [one["type"] for one in self.get("/v1/sessions/s/entries")["items"] if one["type"] != "session_info"]

    def test_a_text_that_was_taken_is_held(self):
        self.assertEqual(self.read()["record"]["mode"], "full")
        self.assertEqual(self.read()["record"]["mode"], HELD)
        self.assertEqual(self.entries(), ["read", "read"])

    def test_who_closes_without_reading_holds_nothing(self):
        for lines in ([], ["Connection: close"]):
            with self.subTest(lines=lines):
                sock = self.send_read(*lines)
                wait_until(lambda: sock.recv(1, socket.MSG_PEEK), 10)
                sock.close()
                self.assertEqual(self.read()["record"]["mode"], "full")
                self.assertEqual(self.read()["record"]["mode"], HELD)
                self.post("/v1/sessions/s/refresh", {"path": os.path.join(self.world.cwd, "a.txt")})

    def test_who_reads_half_of_it_and_closes_holds_nothing(self):
        sock = self.send_read()
        self.assertTrue(sock.recv(500))
        sock.close()
        self.assertEqual(self.read()["record"]["mode"], "full")

    def test_who_closes_before_the_answer_holds_nothing(self):
        for _ in range(20):
            self.send_read().close()
        wait_until(lambda: self.get("/v1/sessions").get("items") or True, 5)
        time.sleep(1.5)
        self.assertEqual(self.read()["record"]["mode"], "full")

    def test_who_stops_sending_and_reads_it_all_holds_it(self):
        sock = self.send_read()
        sock.shutdown(socket.SHUT_WR)
        got = b""
        while part := sock.recv(1 << 16):
            got += part
        sock.close()
        self.assertIn(b"line 199", got)
        self.assertEqual(self.read()["record"]["mode"], HELD)

    def test_who_keeps_the_connection_and_ends_it_later_holds_it(self):
        client = self.server.client()
        self.assertEqual(client.ask("POST", "/v1/sessions/s/read", {"path": os.path.join(self.world.cwd, "a.txt")}).status, 200)
        time.sleep(0.3)
        client.close()
        time.sleep(0.3)
        self.assertEqual(self.read()["record"]["mode"], HELD)

    def test_who_asks_for_something_else_and_closes_without_reading_holds_nothing(self):
        sock = self.send_read()
        wait_until(lambda: sock.recv(1, socket.MSG_PEEK), 10)
        time.sleep(0.1)
        sock.sendall(self.server.head("GET", "/healthz"))
        time.sleep(0.2)
        sock.close()
        self.assertEqual(self.read()["record"]["mode"], "full")

    def test_who_goes_on_without_reading_holds_nothing(self):
        """Whatever it sends: the answer lies in the kernel, and no process counts on it."""
        path = os.path.join(self.world.cwd, "a.txt")
        ways = {
            "half closed": lambda sock: sock.shutdown(socket.SHUT_WR), "an empty line": lambda sock: sock.sendall(b"\r\n"),
            "a next request": lambda sock: sock.sendall(self.server.head("GET", "/healthz")), "nothing": lambda sock: None,
        }  # fmt: skip
        for way, go_on in ways.items():
            with self.subTest(way=way):
                sock = self.send_read()
                wait_until(lambda: sock.recv(1, socket.MSG_PEEK), 10)
                go_on(sock)
                time.sleep(0.3)
                self.assertEqual(self.answer("read", path, "--session", "s")["record"]["mode"], "full")
                self.post("/v1/sessions/s/refresh", {"path": path})
                sock.close()
                self.assertEqual(self.read()["record"]["mode"], "full")
                self.post("/v1/sessions/s/refresh", {"path": path})

    def test_a_call_at_mcp_that_was_taken_back_before_its_answer_was_read_proves_nothing(self):
        path = os.path.join(self.world.cwd, "a.txt")
        headers = {"Accept": "application/json, text/event-stream"}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
        session = self.server.ask("POST", "/mcp", hello, headers=headers).headers["mcp-session-id"]
        headers |= {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-06-18"}
        self.server.ask("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
        body = compact({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "read", "arguments": {"path": path, "session": "m"}}}).encode()
        sock = self.server.connect()
        sock.sendall(self.server.head("POST", "/mcp", "Content-Type: application/json", f"Content-Length: {len(body)}", *(f"{k}: {v}" for k, v in headers.items())) + body)
        wait_until(lambda: sock.recv(1, socket.MSG_PEEK), 10)
        self.server.ask("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}, headers=headers)
        sock.recv(1 << 20)
        self.server.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 6, "method": "ping"}, headers=headers)
        time.sleep(0.3)
        self.assertEqual(self.answer("read", path, "--session", "m")["record"]["mode"], "full")
        sock.close()

    def test_an_answer_that_was_lost_counts_for_nobody_though_the_same_read_was_answered_elsewhere(self):
        """The same read at the same place is one entry: at two heads, or after one was moved back."""
        path = os.path.join(self.world.cwd, "a.txt")
        for number in range(10):
            session = f"t{number}"
            self.follow(session)
            body = compact({"path": path}).encode()
            place = self.get(f"/v1/sessions/{session}")["heads"][0]["entry"]
            self.ask("PUT", f"/v1/sessions/{session}/heads/x", {"entry": place})

            def lost():
                sock = self.server.connect()
                sock.sendall(self.server.head("POST", f"/v1/sessions/{session}/read", "Content-Type: application/json", f"Content-Length: {len(body)}") + body)
                wait_until(lambda: sock.recv(1, socket.MSG_PEEK), 10)
                sock.close()

            mode = lambda **more: self.post(f"/v1/sessions/{session}/read", {"path": path, **more})["record"]["mode"]
            lost()
            self.assertEqual(mode(head="x"), "full")
            self.assertEqual(mode(), "full")
            if number % 2:
                time.sleep(0.02)
            self.ask("PUT", f"/v1/sessions/{session}/heads/main", {"entry": place})
            lost()
            self.assertEqual(mode(), "full")

    def test_answers_lost_before_a_compaction_do_not_matter_after_it(self):
        for _ in range(70):
            sock = self.send_read()
            wait_until(lambda: sock.recv(1, socket.MSG_PEEK), 10)
            sock.close()
        self.assertEqual([self.read()["record"]["mode"] for _ in range(2)], ["full", "full"])  # too many to tell apart
        self.post("/v1/sessions/s/entries", {"entries": [{"type": "compaction", "body": {"summary": "so far"}}]}, status=201)
        self.assertEqual([self.read()["record"]["mode"] for _ in range(2)], ["full", HELD])

    def test_a_retry_at_once_is_answered_with_the_text(self):
        """The first answer is still on its way, or lost already."""
        path = os.path.join(self.world.cwd, "a.txt")
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read", "arguments": {"path": path, "session": "m"}, "_meta": MODERN_META}}
        ways = [("/v1/sessions/s/read", {"path": path}, {}, lambda a: a.json["record"]["mode"] == "full"), ("/mcp", call, MODERN_HEADERS, lambda a: "line 199" in a.text)]
        for target, message, headers, is_text in ways:
            body = compact(message).encode()
            for pause in (0, 0.001, 0.003, 0.01):
                for _ in range(15):
                    sock = self.server.connect()
                    lines = [f"{key}: {value}" for key, value in headers.items()]
                    sock.sendall(self.server.head("POST", target, "Content-Type: application/json", f"Content-Length: {len(body)}", *lines) + body)
                    if pause:
                        time.sleep(pause)
                    sock.close()
                    again = self.server.ask("POST", target, message, headers=headers)
                    self.assertTrue(is_text(again), f"{target} after {pause}: {again}")
                    self.post("/v1/sessions/s/refresh", {"path": path})
                    self.post("/v1/sessions/m/refresh", {"path": path})

    def test_no_other_process_counts_on_an_answer_that_nobody_read(self):
        """Neither while it is on its way nor when it is lost, nor after the server was killed."""
        path = os.path.join(self.world.cwd, "a.txt")
        other = lambda: self.answer("read", path, "--session", "s")["record"]["mode"]
        sock = self.send_read()
        wait_until(lambda: sock.recv(1, socket.MSG_PEEK), 10)
        self.assertEqual(other(), "full")
        self.answer("refresh", path, "--session", "s")
        sock.close()
        self.assertEqual(other(), "full")
        self.assertEqual(other(), HELD)
        self.answer("refresh", path, "--session", "s")
        sock = self.send_read()
        wait_until(lambda: sock.recv(1, socket.MSG_PEEK), 10)
        self.server.process.kill()
        self.server.process.wait()
        self.assertEqual(other(), "full")

    def test_what_a_client_goes_on_from_counts_for_every_process(self):
        path = os.path.join(self.world.cwd, "a.txt")
        client = self.server.client()
        self.assertEqual(client.ask("POST", "/v1/sessions/s/read", {"path": path}).json["record"]["mode"], "full")
        self.assertEqual(client.ask("GET", "/healthz").status, 200)
        wait_until(lambda: self.answer("reads", "--session", "s")["undelivered"] == 0, 10)
        self.assertEqual(self.answer("read", path, "--session", "s")["record"]["mode"], HELD)

    def test_a_lost_answer_does_not_bring_back_a_purged_session(self):
        sock = self.send_read()
        wait_until(lambda: sock.recv(1, socket.MSG_PEEK), 10)
        self.ask("DELETE", "/v1/sessions/s?confirm=s", status=204)
        sock.close()
        time.sleep(0.3)
        self.ask("GET", "/v1/sessions/s", status=404)

    def test_a_lost_answer_is_lost_at_every_head_and_whatever_the_quota(self):
        self.stopped()
        self.world.user_config("limits.session_entries = 2\n")
        self.serve()
        sock = self.send_read()
        wait_until(lambda: sock.recv(1, socket.MSG_PEEK), 10)
        entry_id = self.get("/v1/sessions/s/entries")["items"][-1]["id"]
        self.ask("PUT", "/v1/sessions/s/heads/other", {"entry": entry_id}, status=200)
        sock.close()
        self.stopped()
        self.world.user_config("limits.session_entries = 100\n")
        self.serve()
        for head in ("main", "other"):
            self.assertEqual(self.read(head=head)["record"]["mode"], "full", head)

    def test_a_thousand_clients_that_leave_as_they_like_never_hold_what_they_did_not_read(self):
        """Each has a file of its own, and asks again on another connection at once."""
        self.follow(*[f"t{i}" for i in range(8)])

        def work(i):
            chance, wrong = random.Random(i), []
            for n in range(25):
                path = self.world.file(f"f{i}-{n}.txt", f"{i} {n} " + self.text)
                body = compact({"path": path}).encode()
                data = self.server.head("POST", f"/v1/sessions/t{i}/read", "Content-Type: application/json", f"Content-Length: {len(body)}") + body
                sock = self.server.connect()
                sock.sendall(data)
                how = chance.choice(["unread", "half", "all"])
                sock.recv(1, socket.MSG_PEEK)
                if how == "half":
                    sock.recv(1000)
                if how == "all":
                    got = b""
                    while b"line 199" not in got:
                        got += sock.recv(1 << 16)
                sock.close()
                again = self.server.ask("POST", f"/v1/sessions/t{i}/read", {"path": path}).json["record"]["mode"]
                if how != "all" and again != "full":
                    wrong.append((how, again))
            return wrong

        self.assertEqual([one for one in in_threads(8, work) if one], [])
        self.sound()


class LockedTest(HttpTest):
    """Another process holds the store's lock."""

    def hold(self):
        self.other = sqlite3.connect(os.path.join(self.world.store, "weir.db"), isolation_level=None)
        self.other.execute("BEGIN IMMEDIATE")
        self.addCleanup(self.other.close)

    def let_go(self):
        self.other.execute("ROLLBACK")

    def test_appends_that_wait_hold_up_no_reader(self):
        self.serve()
        self.put_entries("s", [entry("a needle", id="a1"), entry("two")])
        self.world.file("a.txt", "text\n")
        self.hold()
        statuses = []

        def append(i):
            statuses.append(self.server.ask("POST", f"/v1/sessions/s{i}/entries", {"entries": [entry("waits")]}).status)

        threads = [threading.Thread(target=append, args=(i,)) for i in range(24)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        slowest = 0
        for path in ("/v1/sessions/s", "/v1/sessions", "/v1/sessions/s/entries", "/v1/sessions/s/history?q=needle", "/sessions/s/ctrees", "/v1/sessions/s/due", "/openapi.json", "/v1/stats"):
            began = time.monotonic()
            self.get(path)
            slowest = max(slowest, time.monotonic() - began)
        self.assertEqual(statuses, [])
        self.assertLess(slowest, 2)
        self.let_go()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [201] * 24)
        self.sound()

    def test_who_only_looks_does_not_wait_either(self):
        self.serve()
        self.put_entries("s", [entry("a question", id="a1")])
        path = self.world.file("a.txt", "text\n")
        self.hold()
        threads = [threading.Thread(target=lambda i=i: self.server.ask("POST", f"/v1/sessions/s{i}/entries", {"entries": [entry("waits")]})) for i in range(16)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        for target, body in (("read", {"path": path, "record": "none"}), ("context", {"dry_run": True})):
            began = time.monotonic()
            self.ask("POST", f"/v1/sessions/s/{target}", body, status=200)
            self.assertLess(time.monotonic() - began, 2, target)
        self.let_go()
        for thread in threads:
            thread.join()

    def test_a_read_that_is_lost_while_the_store_is_locked_proves_nothing(self):
        path = self.world.file("a.txt", "text of a file\n" * 100)
        self.serve()
        self.follow("s")
        body = compact({"path": path}).encode()
        sock = self.server.connect()
        sock.sendall(self.server.head("POST", "/v1/sessions/s/read", "Content-Type: application/json", f"Content-Length: {len(body)}") + body)
        wait_until(lambda: sock.recv(1, socket.MSG_PEEK), 10)
        self.hold()
        sock.close()
        time.sleep(0.5)
        self.let_go()
        self.assertEqual(self.post("/v1/sessions/s/read", {"path": path})["record"]["mode"], "full")

    def test_what_was_busy_is_not_stored(self):
        self.serve()
        self.put_entries("s", [entry("one")])
        self.hold()
        problem = self.problem("BUSY", "POST", "/v1/sessions/s/entries", {"entries": [entry("two " + "x" * 100000)]})
        self.assertTrue(problem["message"] if "message" in problem else problem["detail"])
        self.let_go()
        time.sleep(0.3)
        self.assertEqual(self.get("/v1/sessions/s")["entries"], 1)
        self.assertEqual(self.world.objects(), [])


class PurgeTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def test_s8_a_client_that_leaves_during_its_purge_leaves_nothing_behind(self):
        mark = "marker" * 5
        for pause in (0, 0.002, 0.01, 0.03):
            self.put_entries("s", [entry(f"{mark} {i} " + os.urandom(20000).hex()) for i in range(60)])
            sock = self.server.connect()
            sock.sendall(self.server.head("DELETE", "/v1/sessions/s?confirm=s"))
            time.sleep(pause)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            sock.close()
            time.sleep(0.5)
            if self.ask("GET", "/v1/sessions/s").status == 200:  # it left before anything was done
                self.ask("DELETE", "/v1/sessions/s?confirm=s", status=204)
            for name in os.listdir(self.world.store):
                if os.path.isfile(os.path.join(self.world.store, name)):
                    with open(os.path.join(self.world.store, name), "rb") as file:
                        self.assertNotIn(mark.encode(), file.read(), name)
            self.assertEqual(self.world.objects(), [])

    def test_s8_a_purge_that_could_not_be_finished_is_finished_when_it_is_asked_for_again(self):
        self.put_entries("s", [entry("x" * 100000)], headers={"Idempotency-Key": "k"})
        reader = sqlite3.connect(os.path.join(self.world.store, "answers.db"), isolation_level=None)
        self.addCleanup(reader.close)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM answer").fetchall()
        problem = self.problem("BUSY", "DELETE", "/v1/sessions/s?confirm=s")
        self.assertIn("weir gc", problem["details"]["help"])
        self.assertEqual(self.world.objects(), [])
        reader.execute("ROLLBACK")
        self.ask("DELETE", "/v1/sessions/s?confirm=s", status=204)
        self.ask("DELETE", "/v1/sessions/s?confirm=s", status=404)
        self.sound()

    def test_a_session_that_is_purged_while_it_is_read_is_not_there_or_whole(self):
        stop, wrong = threading.Event(), []

        def read(i):
            client = self.server.client()
            while not stop.is_set():
                for path in ("/sessions/s/ctrees", "/v1/sessions/s/ctrees/tree", "/v1/sessions/s/ctrees/events", "/v1/sessions/s/explain"):
                    answer = client.ask("GET", path)
                    if answer.status not in (200, 404):
                        wrong.append(str(answer)[:300])
            client.close()

        threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(60):
            self.put_entries("s", [entry(f"n{i}") for i in range(30)])
            self.ask("DELETE", "/v1/sessions/s?confirm=s", status=204)
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong[:3], [])


class SilentTest(HttpTest):
    def test_s13_clients_that_announce_imports_and_fall_silent_hold_up_nobody(self):
        self.serve()
        silent = []
        for i in range(6):
            sock = self.server.connect()
            sock.sendall(self.server.head("POST", f"/v1/sessions/i{i}/import?format=pi", "Content-Type: application/x-ndjson", "Content-Length: 200000000"))
            silent.append(sock)
        self.addCleanup(lambda: [sock.close() for sock in silent])
        header = compact({"type": "session", "version": 3, "id": "p", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}) + "\n"
        self.ask("POST", "/v1/sessions/p/import?format=pi", header, headers={"Content-Type": "application/x-ndjson"}, status=200)

    def test_a_line_of_a_sync_has_a_limit(self):
        self.serve()
        message = {"type": "message", "id": "m1", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": "x" * (11 << 20)}}
        problem = self.problem("LIMIT_EXCEEDED", "POST", "/v1/sessions/h/sync", {"format": "pi", "since": None, "entries": [message], "leaf": "m1"})
        self.assertEqual(problem["details"]["limit"], 10 << 20)


if __name__ == "__main__":
    server.main()
