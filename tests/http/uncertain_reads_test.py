"""Reads of which nobody can say whether the model saw them, or which the log could not be told: none of them makes a claim true."""

import os
import sqlite3
import urllib.parse

import server
from harness import compact, wait_until
from server import HttpTest


class UncertainReadsTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def file(self, name, word="line"):
        return self.world.file(name, "".join(f"{word} {i} of a file that is read again\n" for i in range(40)))

    def read(self, session, path, **more):
        return self.post(f"/v1/sessions/{session}/read", {"path": path, **more})

    def mode(self, session, path, **more):
        return self.read(session, path, **more)["record"]["mode"]

    def point(self, name, to):
        link = os.path.join(self.world.cwd, name)
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(to, link)
        return link

    def lock(self):
        other = sqlite3.connect(os.path.join(self.world.store, "weir.db"), isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        return other

    def sync(self, session):
        header = {"type": "session", "version": 3, "id": session, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": self.world.cwd}
        said = {"type": "message", "id": "aaaa1111", "parentId": None, "timestamp": "2026-01-01T00:00:01.000Z", "message": {"role": "user", "content": "hi"}}
        return self.post(f"/v1/sessions/{session}/sync", {"format": "pi", "header": header, "entries": [said], "leaf": "aaaa1111"})

    def test_what_a_person_read_in_a_terminal_is_not_held_by_the_hosts_model(self):
        path = self.file("a.txt")
        self.sync("talk")
        self.assertEqual(self.answer("read", path, "--session", "talk")["record"]["reason"], "not_followed")
        self.assertEqual(self.mode("talk", path, record="host", turn="aaaa1111", call_id="c1"), "full")
        self.assertEqual(self.mode("talk", path, record="host", turn="aaaa1111", call_id="c2"), "unchanged")

    def test_status_says_whose_reads_are_followed(self):
        path = self.file("a.txt")
        self.sync("talk")
        status = self.get("/v1/sessions/talk/reads")
        self.assertEqual((status["followed"], status["reason"], status["host_followed"]), (False, "not_followed", True))
        self.assertEqual(self.read("talk", path)["record"]["reason"], "not_followed")
        view = self.get(f"/v1/sessions/talk/reads?path={urllib.parse.quote(path)}")
        self.assertEqual((view["view"], view["slots"]), ([], []))
        self.assertEqual(self.get("/v1/sessions/talk/reads")["scopes"], 0)

    def test_what_a_host_was_told_is_not_contradicted_by_the_log(self):
        path = self.file("a.txt", "old")
        self.follow("s")
        self.assertEqual(self.mode("s", path), "full")
        self.file("a.txt", "new")
        self.assertNotEqual(self.mode("s", path, record="host", turn="t1", call_id="c1"), "unchanged")
        self.file("a.txt", "old")
        self.assertEqual(self.mode("s", path), "full")

    def test_a_text_that_could_not_be_recorded_is_the_last_that_was_shown_under_its_name(self):
        self.file("a.txt", "of a")
        self.file("b.txt", "of b")
        link = self.point("current", "a.txt")
        self.follow("s")
        self.assertEqual(self.mode("s", link), "full")
        self.point("current", "b.txt")
        other = self.lock()
        unrecorded = self.read("s", link)
        self.assertEqual((unrecorded["kind"], unrecorded["reason"]), ("uncached", "not_recorded"))
        other.execute("ROLLBACK")
        self.point("current", "a.txt")
        self.assertIn(self.mode("s", link), ("full", "full_fallback"))
        self.assertEqual(self.mode("s", link), "unchanged")
        # The log was told meanwhile that nothing is known, so another process does not claim it either.
        self.assertIn("refresh", [one["type"] for one in self.get("/v1/sessions/s/entries")["items"]])

    def test_a_picture_that_could_not_be_noted_is_the_last_that_was_shown(self):
        path = self.file("a.txt")
        self.follow("s")
        self.assertEqual(self.mode("s", path), "full")
        with open(path, "rb") as text:
            before = text.read()
        self.world.file("a.txt", b"\x89PNG\r\n\x1a\n" + bytes(40))
        other = self.lock()
        answer = self.read("s", path)
        self.assertEqual(answer["kind"], "not_text")
        self.assertIn("not recorded", answer["warnings"][0])
        other.execute("ROLLBACK")
        self.world.file("a.txt", before)
        self.assertEqual(self.mode("s", path), "full")
        self.assertEqual(self.mode("s", path), "unchanged")

    def test_a_read_that_nobody_took_is_held_nowhere(self):
        path = self.file("a.txt")
        self.follow("s")
        body = compact({"path": path}).encode()
        sock = self.server.connect()
        sock.sendall(self.server.head("POST", "/v1/sessions/s/read", "Content-Type: application/json", f"Content-Length: {len(body)}") + body)
        self.assertTrue(sock.recv(10))
        sock.close()
        wait_until(lambda: self.get("/v1/sessions/s/reads")["undelivered"] == 1)
        status = self.get("/v1/sessions/s/reads")
        self.assertEqual((status["scopes"], status["paths"]), (0, 0))
        self.assertEqual(self.get(f"/v1/sessions/s/reads?path={urllib.parse.quote(path)}")["view"], [])
        self.put_entries("s", [{"type": "compaction", "body": {"summary": "so far"}}])
        self.assertEqual(self.get("/v1/sessions/s/reads/digest")["files"], [])


if __name__ == "__main__":
    server.main()
