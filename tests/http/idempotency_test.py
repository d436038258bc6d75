"""Case 29: a request with an Idempotency-Key is done once, however often it is sent, across restarts and crashes."""

import http.client
import os
import signal
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
            ("a", "/v1/sessions", {}), ("b", "/v1/sessions/s/refresh", {"path": path}), ("c", "/v1/sessions/s/read", {"path": path}), ("d", "/v1/sessions/s/context", {}), ("e", "/v1/sessions/s/notes", {"kind": "question", "text": "Why?"}),
            ("f", "/v1/sessions/s/compact", {}), ("g", "/sessions/s/readcache-refresh", {"path": path}), ("h", "/v1/sessions/s/snapshots/check", {}),
        ]:  # fmt: skip
            with self.subTest(path=where):
                first = self.ask("POST", where, body, headers={"Idempotency-Key": key}, status=(200, 201))
                before = self.count()
                self.same(first, self.ask("POST", where, body, headers={"Idempotency-Key": key}))
                self.assertEqual(self.count(), before)

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


if __name__ == "__main__":
    server.main()
