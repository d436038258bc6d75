"""Case 29: a request with an Idempotency-Key is done once, however often it is sent, across restarts and crashes."""

import http.client
import os
import signal
import sqlite3
import threading

import server
from harness import entry
from server import HttpTest, in_threads


class IdempotencyTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def put(self, key, text="one", session="s", client=None, **more):
        return (client or self.server).ask("POST", f"/v1/sessions/{session}/entries", {"entries": [entry(text)], **more}, headers={"Idempotency-Key": key})

    def same(self, first, again):
        self.assertEqual((again.status, again.body), (first.status, first.body), f"{first}\n{again}")
        self.assertEqual(again.header("Idempotency-Replayed"), "true", again)

    def count(self, session="s"):
        return self.get("/v1/sessions/" + session)["entries"]

    def test_case_29_the_same_request_gives_the_first_answer_and_one_entry(self):
        first = self.put("k1")
        self.assertEqual(first.status, 201, first)
        self.assertIsNone(first.header("Idempotency-Replayed"))
        self.put("k2", "between")
        for _ in range(3):
            self.same(first, self.put("k1"))
        self.assertEqual(self.count(), 2)

    def test_case_29_without_a_key_it_is_done_again(self):
        for _ in range(2):
            self.put_entries("s", [entry("one")])
        self.assertEqual(self.count(), 2)

    def test_case_29_across_a_restart(self):
        first = self.put("k1")
        self.stopped()
        self.serve()
        self.same(first, self.put("k1"))
        self.assertEqual(self.count(), 1)
        self.is_problem(self.put("k1", "other"), "IDEMPOTENCY_MISMATCH")

    def test_case_29_across_a_kill(self):
        firsts = {f"k{i}": self.put(f"k{i}", f"n{i}") for i in range(20)}
        self.restart(signal.SIGKILL)
        for i in range(20):
            self.same(firsts[f"k{i}"], self.put(f"k{i}", f"n{i}"))
        self.assertEqual(self.count(), 20)

    def test_case_29_killed_under_load_and_all_sent_again_each_is_there_once(self):
        done, lock, stop = set(), threading.Lock(), threading.Event()

        def work(i):
            client = self.server.client()
            try:
                for n in range(400):
                    if stop.is_set():
                        return
                    if self.put(f"w{i}-{n}", f"text {i} {n}", f"t{i}", client).status == 201:
                        with lock:
                            done.add((i, n))
            except (OSError, http.client.HTTPException):
                return
            finally:
                client.close()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        server.wait_until(lambda: len(done) > 60, 30)
        os.kill(self.server.pid, signal.SIGKILL)
        stop.set()
        for thread in threads:
            thread.join(30)
        acknowledged = sorted(done)
        self.assertTrue(acknowledged)
        self.restart(signal.SIGKILL)
        last = {i: max([n for j, n in acknowledged if j == i], default=-1) for i in range(4)}
        for i in range(4):
            for n in range(last[i] + 2):  # the last one may or may not have been done
                again = self.put(f"w{i}-{n}", f"text {i} {n}", f"t{i}")
                if (i, n) in done:
                    self.assertEqual((again.status, again.header("Idempotency-Replayed")), (201, "true"), f"{i} {n} of {last[i]}: {again}")
                else:
                    self.assertIn(again.status, (200, 201), again)
            texts = [one["body"]["content"] for one in self.log(f"t{i}", "--reverse")]
            self.assertEqual(texts, [f"text {i} {n}" for n in range(last[i] + 2)])
        self.sound()

    def test_case_29_with_another_body_path_or_query_422(self):
        self.put("k1")
        self.is_problem(self.put("k1", "two"), "IDEMPOTENCY_MISMATCH")
        self.is_problem(self.put("k1", session="other"), "IDEMPOTENCY_MISMATCH")
        self.problem("IDEMPOTENCY_MISMATCH", "POST", "/v1/sessions", {}, headers={"Idempotency-Key": "k1"})
        self.assertEqual(self.count(), 1)
        self.problem("NOT_FOUND", "GET", "/v1/sessions/other")

    def test_case_29_every_post_takes_a_key(self):
        path = self.world.file("a.txt", "one\n")
        self.put("k0")
        for key, where, body in [
            ("a", "/v1/sessions", {}), ("b", "/v1/sessions/s/refresh", {"path": path}), ("d", "/v1/sessions/s/context", {}), ("e", "/v1/sessions/s/notes", {"kind": "question", "text": "Why?"}),
            ("f", "/v1/sessions/s/compact", {}), ("g", "/sessions/s/readcache-refresh", {"path": path}), ("h", "/v1/sessions/s/snapshots/check", {}),
        ]:  # fmt: skip
            with self.subTest(path=where):
                first = self.ask("POST", where, body, headers={"Idempotency-Key": key}, status=(200, 201))
                before = self.count()
                self.same(first, self.ask("POST", where, body, headers={"Idempotency-Key": key}))
                self.assertEqual(self.count(), before)

    def test_a_read_is_never_replayed(self):
        """Its text is sent again while nothing else was said of the file; a marker or a diff is decided anew."""
        self.follow("s")
        path = self.world.file("a.txt", "one\n")
        read = lambda key: self.ask("POST", "/v1/sessions/s/read", {"path": path}, headers={"Idempotency-Key": key}, status=200)
        first = read("c")
        before = self.count()
        again = read("c")
        self.assertEqual((again.json["text"], again.json["record"], again.headers.get("Idempotency-Replayed")), ("one\n", first.json["record"], None))
        self.assertEqual(self.count(), before)
        self.assertEqual(read("d").json["record"]["mode"], "unchanged")
        self.post("/v1/sessions/s/entries", {"entries": [{"type": "compaction", "body": {"summary": "so far"}}]}, 201)
        self.assertEqual(read("d").json["text"], "one\n")
        # A kept text would be shown last and not be known: then "unchanged" would be said of another one.
        self.world.file("a.txt", "two\n")
        self.post("/v1/sessions/s/read", {"path": path})
        read("c")
        self.assertEqual(read("e").json["record"]["mode"], "unchanged")
        self.world.file("a.txt", "one\n")
        self.assertEqual(read("c").json["text"], "one\n")
        self.world.file("a.txt", "two\n")
        self.assertNotEqual(self.post("/v1/sessions/s/read", {"path": path})["record"]["mode"], "unchanged")

    def test_case_29_a_key_of_a_read_is_not_taken_for_another_request(self):
        self.follow("s")
        one, two = (self.world.file(name, name + "\n") for name in ("one.txt", "two.txt"))
        ask = lambda path, body: self.ask("POST", path, body, headers={"Idempotency-Key": "k"})
        self.assertEqual(ask("/v1/sessions/s/read", {"path": one}).status, 200)
        entries = self.count()
        for _ in range(2):
            self.is_problem(ask("/v1/sessions/s/read", {"path": two}), "IDEMPOTENCY_MISMATCH", 422)
            self.is_problem(ask("/v1/sessions/s/notes", {"kind": "question", "text": "Why?"}), "IDEMPOTENCY_MISMATCH", 422)
            self.assertEqual(ask("/v1/sessions/s/read", {"path": one}).status, 200)
            self.assertEqual(self.count(), entries)
            self.restart()

    def test_case_29_a_read_that_failed_leaves_its_key_free(self):
        read = lambda name: self.ask("POST", "/v1/sessions/s/read", {"path": os.path.join(self.world.cwd, name)}, headers={"Idempotency-Key": "k"})
        self.world.file("there.txt", "one\n")
        self.is_problem(read("none.txt"), "NOT_FOUND")
        self.assertEqual(read("there.txt").status, 200)
        self.is_problem(read("none.txt"), "IDEMPOTENCY_MISMATCH")

    def test_case_29_a_key_is_1_to_128_visible_characters(self):
        self.assertEqual(self.put("k" * 128).status, 201)
        self.assertEqual(self.put("!~\"'%,;").status, 201)
        for bad in ("k" * 129, "a b", "caf\xe9", "a\tb", ""):
            with self.subTest(key=bad[:20]):
                self.assertIn(self.put(bad).status, (400, 422))
        self.assertEqual(self.count(), 2)

    def test_case_29_many_at_once_with_one_key_give_one_entry(self):
        answers = in_threads(16, lambda i: self.put("k1"))
        self.assertLessEqual({answer.status for answer in answers}, {201, 503}, [str(one) for one in answers])
        for answer in answers:
            if answer.status == 503:
                self.is_problem(answer, "BUSY")
        bodies = {answer.body for answer in answers if answer.status == 201}
        self.assertEqual(len(bodies), 1)
        self.assertEqual(self.count(), 1)
        self.same(next(answer for answer in answers if answer.status == 201), self.put("k1"))

    def test_case_29_a_key_in_other_case_is_another_key(self):
        self.put("Key")
        self.put("key")
        self.assertEqual(self.count(), 2)

    def test_case_29_the_command_line_and_the_key_do_not_disturb_each_other(self):
        first = self.put("k1")
        self.append("by hand", session="s")
        self.same(first, self.put("k1"))
        self.assertEqual(self.tell("s"), ["one", "by hand"])

    def test_case_29_a_busy_key_is_free_again_after_its_request_failed(self):
        self.is_problem(self.ask("POST", "/v1/sessions/s/entries", {"entries": [entry("x", role="bad")]}, headers={"Idempotency-Key": "k1"}), "INVALID_FIELD")
        again = self.ask("POST", "/v1/sessions/s/entries", {"entries": [entry("x", role="bad")]}, headers={"Idempotency-Key": "k1"})
        self.assertEqual(again.status, 422, again)


class PurgedAnswersTest(HttpTest):
    """S8: what a purge removes is in no kept answer either."""

    def setUp(self):
        super().setUp()
        self.mark = "purple-" + "marker" * 3
        self.path = self.world.file("a.txt", "".join(f"{self.mark} {i}\n" for i in range(100)))
        self.serve()

    def read(self, key, session="s"):
        return self.ask("POST", f"/v1/sessions/{session}/read", {"path": self.path}, headers={"Idempotency-Key": key}, status=200)

    def nowhere(self):
        for folder, _, names in os.walk(self.world.store):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(self.mark.encode(), file.read(), name)

    def test_s8_a_blob_that_is_purged_is_in_no_kept_answer(self):
        self.assertIn(self.mark, self.read("k1").text)
        self.put_entries("t", [entry("stays")], headers={"Idempotency-Key": "k2"})
        blob = self.world.object_names()[0]
        self.weir("purge", "--blob", blob, "--yes")
        self.nowhere()
        self.put_entries("t", [entry("stays")], 200, headers={"Idempotency-Key": "k2"})
        self.assertEqual(self.get("/v1/sessions/t")["entries"], 1)

    def test_s8_a_purge_beside_keyed_requests_leaves_nothing_of_them(self):
        for round_ in range(8):
            session = f"p{round_}"
            self.put_entries(session, [entry(f"{self.mark} {i} " + "x" * 3000) for i in range(100)])
            begun = threading.Event()

            def work(i, session=session, begun=begun):
                for n in range(200):
                    answer = self.server.ask("POST", f"/v1/sessions/{session}/context", {"dry_run": True}, headers={"Idempotency-Key": f"{session}-{i}-{n}"})
                    begun.set()
                    if answer.status == 404:
                        return

            threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
            for thread in threads:
                thread.start()
            begun.wait(20)
            self.ask("DELETE", f"/v1/sessions/{session}?confirm={session}", status=204)
            for thread in threads:
                thread.join()
            self.nowhere()


class McpKeyTest(HttpTest):
    """A key counts for calls of tools, too."""

    def setUp(self):
        super().setUp()
        self.serve()
        self.put_entries("s", [entry("a question")])

    def call(self, key, tool="note", id=1, accept="application/json, text/event-stream", meta=None, **arguments):
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}, **(meta or {})}
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {"session": "s", **arguments}, "_meta": meta}}
        headers = {"Idempotency-Key": key, "Accept": accept, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
        return self.ask("POST", "/mcp", message, headers=headers)

    def count(self):
        return self.get("/v1/sessions/s")["entries"]

    def test_case_29_a_tool_called_again_with_its_key_is_called_once(self):
        first = self.call("k", kind="claim", text="the sky is blue")
        self.assertEqual(first.status, 200, first)
        entries = self.count()
        again = self.call("k", kind="claim", text="the sky is blue")
        self.assertEqual((again.status, again.body, again.header("Idempotency-Replayed")), (200, first.body, "true"), again)
        self.assertEqual(self.count(), entries)
        self.is_problem(self.call("k", kind="claim", text="the sky is green"), "IDEMPOTENCY_MISMATCH")
        self.restart()
        self.assertEqual(self.call("k", kind="claim", text="the sky is blue").header("Idempotency-Replayed"), "true")
        self.assertEqual(self.count(), entries)
        self.is_problem(self.call("bad key", kind="claim", text="x"), "INVALID_FIELD")

    def test_case_29_an_answer_that_was_a_stream_is_the_same_stream_again(self):
        first = self.call("k", "history", query="question", meta={"progressToken": "p"})
        again = self.call("k", "history", query="question", meta={"progressToken": "p"})
        self.assertEqual((again.body, again.header("Content-Type").split(";")[0]), (first.body, first.header("Content-Type").split(";")[0]))
        self.assertEqual(again.header("Idempotency-Replayed"), "true")

    def test_case_29_what_failed_may_be_asked_again(self):
        failed = self.call("k", "read", path="none.txt")
        self.assertTrue(failed.json["result"]["isError"], failed)
        self.world.file("none.txt", "now it is there\n")
        self.assertIsNone(self.call("k", "read", path="none.txt").header("Idempotency-Replayed"))

    def test_case_29_a_key_of_a_read_is_not_taken_for_another_call(self):
        path, other = self.world.file("a.txt", "one\n"), self.world.file("b.txt", "two\n")
        self.assertNotIn("isError", self.call("k", "read", path=path).json["result"])
        entries = self.count()
        self.is_problem(self.call("k", "read", path=other), "IDEMPOTENCY_MISMATCH", 422)
        self.is_problem(self.call("k", kind="claim", text="the sky is blue"), "IDEMPOTENCY_MISMATCH", 422)
        self.assertEqual(self.count(), entries)
        self.assertIsNone(self.call("k", "read", path=path).header("Idempotency-Replayed"))

    def batch(self, key, *calls, peer=None):
        """Calls of tools, and a ping behind them, as one message."""
        if peer is None:
            hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
            peer = self.ask("POST", "/mcp", hello, status=200).header("Mcp-Session-Id")
        messages = [{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": name, "arguments": {"session": "s", **arguments}}} for i, (name, arguments) in enumerate(calls)]
        messages.append({"jsonrpc": "2.0", "id": len(messages), "method": "ping"})
        return self.ask("POST", "/mcp", messages, headers={"Idempotency-Key": key, "Accept": "application/json", "Mcp-Session-Id": peer})

    def results(self, answer):
        self.assertEqual(answer.status, 200, answer)
        return {one["id"]: one["result"] for one in answer.json}

    def test_case_29_a_batch_of_a_note_and_a_read_notes_once_and_reads_anew(self):
        self.follow("s")
        path = self.world.file("a.txt", "".join(f"line {i}\n" for i in range(100)))
        note, read = ("note", {"kind": "claim", "text": "the sky is blue"}), ("read", {"path": path})
        first = self.results(self.batch("k", note, read))
        entries = self.count()
        for restarts in (False, True):
            if restarts:
                self.restart()
            answer = self.batch("k", note, read)
            again = self.results(answer)
            self.assertEqual(again[0], first[0])
            self.assertEqual(again[2], {})
            self.assertIn(again[1]["content"][0]["text"], (first[1]["content"][0]["text"], "[readcache: unchanged, 101 lines]"))
            self.assertIsNone(answer.header("Idempotency-Replayed"))
        self.assertEqual([one["body"]["statement"] for one in self.log("s", "--reverse") if one["type"] == "CLAIM_PROPOSED"], ["the sky is blue"])
        self.assertEqual(self.count() - entries, len([one for one in self.log("s") if one["type"] == "read"]) - 1)
        self.is_problem(self.batch("k", note), "IDEMPOTENCY_MISMATCH", 422)
        self.is_problem(self.call("k", kind="claim", text="the sky is blue"), "IDEMPOTENCY_MISMATCH", 422)

    def test_case_29_of_a_batch_what_failed_may_be_asked_again_and_the_rest_is_not_done_twice(self):
        good, bad = ("note", {"kind": "claim", "text": "the sky is blue"}), ("note", {"kind": "question", "op": "close", "id": "q1", "text": "so"})
        first = self.results(self.batch("k", good, bad))
        self.assertTrue(first[1]["isError"], first)
        self.call("other", kind="question", text="Why?")
        again = self.results(self.batch("k", good, bad))
        self.assertEqual(again[0], first[0])
        self.assertNotIn("isError", again[1])
        entries, answer = self.count(), self.batch("k", good, bad)
        self.assertEqual(self.results(answer), again)
        self.assertEqual(answer.header("Idempotency-Replayed"), "true")
        self.assertEqual(self.count(), entries)

    def test_case_29_requests_that_change_nothing_have_no_key(self):
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
        made = {self.ask("POST", "/mcp", message, headers={"Idempotency-Key": "k"}, status=200).header("Mcp-Session-Id") for _ in range(2)}
        self.assertEqual(len(made), 2)


if __name__ == "__main__":
    server.main()
