"""Signals and deadlines: work is stopped at a safe point, nothing half-written stays, and the exit code says so."""

import os
import signal
import sqlite3
import time

import harness
from harness import CliTest, compact, entry, jsonl
from output_test import long_session


class SignalCase(CliTest):
    def setUp(self):
        super().setUp()
        self.append("was there before", session="old")
        self.append("B" * 70000, session="old")
        self.path = self.world.file("long.jsonl", long_session(20000))
        self.before = self.world.dump()

    def interrupted(self, *args, signals=(signal.SIGINT,)):
        """Starts it, waits until it says that it is at work, and sends the signals."""
        running = self.world.start(*args, "--progress", "json")
        first = running.stderr.readline()
        self.assertEqual(harness.parse_line(first)["type"], "progress", first)
        for number in signals:
            running.send_signal(number)
        return self.world.finish(running)

    def cancelled(self, ran):
        return [line for line in ran.errors.splitlines() if '"type":"progress"' not in line]


class ImportSignalTest(SignalCase):
    def test_sigint_during_a_large_import_is_130_and_leaves_the_store_as_it_was(self):
        ran = self.interrupted("import", "pi", self.path)
        self.assertEqual(ran.code, 130, ran)
        self.assertEqual(ran.out, b"")
        self.assertEqual(self.cancelled(ran), ["weir: CANCELLED: the import was interrupted; the store is as it was"])
        self.assertEqual(self.world.dump(), self.before)
        self.sound()

    def test_with_json_the_error_is_one_line(self):
        ran = self.interrupted("import", "pi", self.path, "--json")
        self.assertEqual(ran.code, 130, ran)
        error = harness.parse_line(self.cancelled(ran)[0])["error"]
        self.assertEqual((error["code"], error["details"]), ("CANCELLED", {}))

    def test_sigterm_is_143(self):
        ran = self.interrupted("import", "pi", self.path, signals=(signal.SIGTERM,))
        self.assertEqual(ran.code, 143, ran)
        self.assertEqual(self.world.dump(), self.before)

    def test_twice_is_at_once_and_still_loses_nothing(self):
        ran = self.interrupted("import", "pi", self.path, signals=(signal.SIGINT, signal.SIGINT))
        self.assertEqual(ran.code, 130, ran)
        self.assertEqual(self.world.dump(), self.before)
        self.sound()

    def test_objects_of_an_interrupted_import_go_too(self):
        lines = long_session(20000).splitlines(keepends=True)
        large = compact({"type": "message", "id": "large", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": "L" * 80000}}) + "\n"
        path = self.world.file("large.jsonl", lines[0] + large + "".join(lines[1:]))
        ran = self.interrupted("import", "pi", path)
        self.assertEqual(ran.code, 130, ran)
        self.assertEqual(self.world.dump(), self.before)

    def test_it_can_be_imported_afterwards(self):
        self.interrupted("import", "pi", self.path)
        self.assertEqual(self.answer("import", "pi", self.path)["entries"], 20000)
        self.sound()

    def test_killed_in_the_middle_the_store_is_as_it_was(self):
        for _ in range(3):
            ran = self.interrupted("import", "pi", self.path, signals=(signal.SIGKILL,))
            self.assertEqual(ran.code, -signal.SIGKILL)
            self.sound()
            self.assertEqual([s["id"] for s in self.answer("session", "list")["sessions"]], ["old"])
        self.assertEqual(self.world.dump(), self.before)


class OtherSignalTest(SignalCase):
    def test_sigint_during_verify(self):
        self.weir("import", "pi", self.path)
        ran = self.interrupted("verify", "--json")
        self.assertEqual(ran.code, 130, ran)
        self.assertNotIn('"type":"end"', ran.text)

    def test_sigint_during_a_backup_leaves_nothing_that_looks_like_one(self):
        self.weir("import", "pi", self.path)
        copy = self.world.path("copy")
        ran = self.interrupted("backup", copy)
        self.assertEqual(ran.code, 130, ran)
        self.assertEqual(os.listdir(copy) if os.path.isdir(copy) else [], [])
        self.weir("backup", copy)
        self.sound(copy)

    def test_sigint_while_append_waits_for_input(self):
        running = self.world.start("append", "--session", "s", "--json", stdin=harness.subprocess.PIPE)
        running.stdin.write(compact(entry("half an input")).encode())
        running.stdin.flush()
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(timeout=10), 130)
        running.stdin.close()
        self.assertEqual(harness.parse_line(running.stderr.read())["error"]["code"], "CANCELLED")
        running.stdout.close()
        running.stderr.close()
        self.assertEqual(self.world.dump(), self.before)

    def test_sigint_during_an_export_to_a_file_leaves_the_old_file(self):
        self.weir("import", "pi", self.path)
        target = self.world.file("out.jsonl", "the old one\n")
        ran = self.interrupted("export", "--session", "long", "-o", target)
        self.assertEqual(ran.code, 130, ran)
        with open(target) as file:
            self.assertEqual(file.read(), "the old one\n")
        self.assertEqual([name for name in os.listdir(self.world.cwd) if "tmp" in name], [])


class DeadlineTest(CliTest):
    def locked(self):
        """Another program holds the write lock."""
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"), isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        self.addCleanup(connection.close)
        return connection

    def test_a_locked_store_is_busy_after_the_time_given_and_can_be_read_meanwhile(self):
        self.append("before")
        lock = self.locked()
        started = time.monotonic()
        self.refused("BUSY", "append", "--session", "s", "--timeout", "1", stdin=compact(entry("late")))
        self.assertTrue(0.8 < time.monotonic() - started < 8)
        self.assertEqual(self.tell(), ["before"])
        lock.execute("ROLLBACK")
        self.append("after")
        self.assertEqual(self.tell(), ["before", "after"])

    def test_a_lock_that_goes_in_time_is_waited_for(self):
        self.append("before")
        lock = self.locked()
        writer = self.world.start("append", "--session", "s", "--type", "message", self.world.file("m.json", '{"role":"user","content":"patient"}'))
        time.sleep(0.5)
        lock.execute("ROLLBACK")
        self.assertEqual(self.world.finish(writer).code, 0)
        self.assertEqual(self.tell(), ["before", "patient"])

    def test_a_deadline_during_an_import_is_timeout_and_stores_nothing(self):
        self.append("before", session="old")
        path = self.world.file("long.jsonl", long_session(20000))
        error = self.refused("TIMEOUT", "import", "pi", path, "--timeout", "0")
        self.assertIn("--timeout", error["message"])


if __name__ == "__main__":
    harness.main()
