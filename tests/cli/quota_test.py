"""S20: quotas of session and store, a full disk, files that may not grow. Writes are refused, reads go on, and nothing
half-written stays."""

import errno
import os
import resource
import shutil
import signal
import subprocess
import unittest

import harness
from harness import CliTest, compact, entry, jsonl

STAMP = "2026-01-01T00:00:00.000Z"


def lines(first, last):
    return [{"type": "message", "id": f"n{i}", "parentId": f"n{i - 1}" if i else None, "timestamp": STAMP, "message": {"role": "user", "content": f"n{i}"}} for i in range(first, last)]


HEADER = {"type": "session", "version": 3, "id": "imp", "timestamp": STAMP, "cwd": "/"}


class QuotaTest(CliTest):
    def reads_go_on(self, session="s"):
        for args in (["log", "--session", session], ["tree", "--session", session], ["verify"], ["export", "--session", session]):
            self.stream(*args)
        for args in (["stats", "--session", session], ["session", "list"], ["show", "main", "--session", session]):
            self.answer(*args)

    def test_entries_of_a_session(self):
        self.world.user_config("limits.session_entries = 3\n")
        self.weir("append", "--session", "s", stdin=jsonl([entry("1"), entry("2")]))
        error = self.refused("LIMIT_EXCEEDED", "append", "--session", "s", stdin=jsonl([entry("3"), entry("4")]))
        self.assertEqual(error["details"], {"name": "limits.session_entries", "limit": 3, "value": 4})
        self.append("3")
        self.refused("LIMIT_EXCEEDED", "append", "--session", "s", stdin=compact(entry("4")))
        self.reads_go_on()
        self.append("another session has its own", session="t")
        # What is there already may be said again.
        self.weir("head", "move", "main", "root", "--session", "s")
        self.weir("append", "--session", "s", stdin=jsonl([entry("1"), entry("2"), entry("3")]))

    def test_entries_of_a_session_hold_for_import_and_sync(self):
        self.world.user_config("limits.session_entries = 3\n")
        self.weir("init")
        path = self.world.file("imp.jsonl", jsonl([HEADER, *lines(0, 5)]))
        self.assertEqual(self.refused("LIMIT_EXCEEDED", "import", "pi", path)["details"]["name"], "limits.session_entries")
        self.refused("LIMIT_EXCEEDED", "sync", "--format", "pi", stdin=compact({"session": "host", "since": None, "entries": lines(0, 5), "leaf": "n4"}))
        short = self.world.file("imp.jsonl", jsonl([HEADER, *lines(0, 3)]))
        self.assertEqual(self.answer("import", "pi", short)["entries"], 3)
        self.assertEqual(self.answer("import", "pi", short)["entries"], 0)

    def test_bytes_of_the_store(self):
        self.append("x" * 60000)
        self.append("y" * 60000)
        self.world.user_config('limits.store_bytes = "100kb"\n')
        error = self.refused("LIMIT_EXCEEDED", "append", "--session", "s", stdin=compact(entry("more")))
        self.assertEqual((error["details"]["name"], error["details"]["limit"]), ("limits.store_bytes", 100000))
        self.assertGreater(error["details"]["value"], 100000)
        self.refused("LIMIT_EXCEEDED", "import", "pi", self.world.file("imp.jsonl", jsonl([HEADER, *lines(0, 2)])))
        self.refused("LIMIT_EXCEEDED", "sync", "--format", "pi", stdin=compact({"session": "host", "since": None, "entries": lines(0, 1), "leaf": "n0"}))
        self.refused("LIMIT_EXCEEDED", "session", "new", "another")
        self.refused("LIMIT_EXCEEDED", "append", "--dry-run", "--session", "s", stdin=compact(entry("more")))
        self.reads_go_on()

    def test_bytes_of_the_store_are_those_of_its_objects_too(self):
        self.append("small")
        self.world.user_config('limits.store_bytes = "1mb"\n')
        before = self.world.dump(), self.world.objects()
        for args, stdin in (
            (["append", "--session", "s"], compact(entry(os.urandom(1000000).hex()))),
            (["append", "--session", "s"], jsonl(entry(f"{i} " + "x" * 2000) for i in range(700))),
            (["import", "pi", self.world.file("imp.jsonl", jsonl([HEADER] + [{**line, "pad": os.urandom(40000).hex()} for line in lines(0, 40)]))], b""),
        ):
            with self.subTest(args=args):
                error = self.refused("LIMIT_EXCEEDED", *args, stdin=stdin)
                self.assertEqual((error["details"]["name"], error["details"]["limit"]), ("limits.store_bytes", 1000000))
                self.assertEqual((self.world.dump(), self.world.objects()), before)
        for _ in range(2):
            self.append(os.urandom(400000).hex())
        self.refused("LIMIT_EXCEEDED", "append", "--session", "s", stdin=compact(entry(os.urandom(400000).hex())))
        self.assertEqual(len(self.world.objects()), 2)
        self.reads_go_on()

    def test_a_store_over_its_limit_can_be_made_smaller(self):
        self.append("x" * 60000, session="large")
        self.append("y" * 60000, session="large")
        self.append("kept")
        self.world.user_config('limits.store_bytes = "100kb"\n')
        self.refused("LIMIT_EXCEEDED", "append", "--session", "s", stdin=compact(entry("more")))
        self.weir("purge", "--session", "large", "--yes", "--vacuum")
        self.weir("gc")
        self.append("there is room again")
        self.assertEqual(self.tell(), ["kept", "there is room again"])


class FileSizeTest(CliTest):
    """No file may grow past a size: the disk's answer to every write is an error."""

    def limited(self, size):
        def before():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        return before

    def test_writes_are_refused_with_storage_and_reads_go_on(self):
        self.append("before")
        self.append("b" * 70000)
        size = os.path.getsize(os.path.join(self.world.store, "weir.db"))
        before = self.world.dump()
        refused = 0
        for args, stdin in (
            (["append", "--session", "s"], jsonl(entry(f"{i} " + "x" * 900) for i in range(400))),
            (["append", "--session", "s"], compact(entry(os.urandom(400000).hex()))),
            (["import", "pi", self.world.file("imp.jsonl", jsonl([HEADER, *lines(0, 3000)]))], b""),
        ):
            with self.subTest(args=args):
                ran = self.world.run("--json", *args, stdin=stdin, before=self.limited(size))
                self.assertEqual(ran.code, 12, ran)
                error = harness.parse_line(ran.errors)["error"]
                self.assertEqual((error["code"], error["details"]["errno"]), ("STORAGE", errno.EFBIG), ran)
                self.assertEqual(self.world.dump(), before)
                refused += 1
                log = self.world.run("log", "--session", "s", "--json", before=self.limited(size))
                self.assertEqual((log.code, len(log.lines)), (0, 4), log)
        self.assertEqual(refused, 3)
        self.sound()
        self.append("after")
        self.assertEqual(len(self.log()), 3)

    def test_a_backup_that_has_no_room_leaves_none(self):
        self.append("x" * 60000)
        copy = self.world.path("copy")
        ran = self.world.run("--json", "backup", copy, before=self.limited(50000))
        self.assertEqual(ran.code, 12, ran)
        self.assertEqual(os.listdir(copy), [])

    def test_a_store_that_cannot_even_begin(self):
        ran = self.world.run("--json", "init", before=self.limited(1000))
        self.assertEqual(ran.code, 12, ran)
        self.weir("init")
        self.sound()

    def test_an_export_that_cannot_be_written_leaves_the_old_file(self):
        self.append("x" * 5000)
        target = self.world.file("out.jsonl", "old\n")
        ran = self.world.run("--json", "export", "--session", "s", "-o", target, before=self.limited(100))
        self.assertEqual(ran.code, 12, ran)
        with open(target) as file:
            self.assertEqual(file.read(), "old\n")
        self.assertEqual(sorted(os.listdir(self.world.cwd)), ["out.jsonl"])

    def test_stdout_that_takes_nothing(self):
        self.append("x")
        with open("/dev/full", "wb") as full:
            for args in (["log", "--session", "s"], ["export", "--session", "s", "--json"], ["help"], ["--version"], ["completions", "bash"]):
                process = self.world.start(*args, stdout=full)
                _, err = process.communicate(timeout=20)
                self.assertEqual(process.returncode, 12, args)
                self.assertIn(b"STORAGE", err)


def can_mount():
    if os.geteuid() != 0 or not shutil.which("mount"):
        return False
    probe = harness.tempfile.mkdtemp()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", probe], capture_output=True)
    if done.returncode == 0:
        subprocess.run(["umount", probe], check=True)
    os.rmdir(probe)
    return done.returncode == 0


@unittest.skipUnless(can_mount(), "no small file system can be mounted here")
class FullDiskTest(CliTest):
    def setUp(self):
        super().setUp()
        self.disk = self.world.path("disk")
        os.mkdir(self.disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", self.disk], check=True)
        self.addCleanup(lambda: subprocess.run(["umount", "-l", self.disk], check=True))
        self.world.store = os.path.join(self.disk, "weir")
        self.world.env["WEIR_STORE"] = self.world.store
        self.append("before")

    def fill(self, percent):
        """Ballast until the disk is that full."""
        usage = os.statvfs(self.disk)
        total, free = usage.f_blocks * usage.f_frsize, usage.f_bavail * usage.f_frsize
        with open(os.path.join(self.disk, "ballast"), "ab") as file:
            file.write(b"\0" * max(0, int(total * percent / 100) - (total - free)))

    def free(self):
        os.remove(os.path.join(self.disk, "ballast"))

    def test_at_95_percent_writes_are_refused_and_reads_go_on(self):
        self.fill(96)
        error = self.refused("STORAGE", "append", "--session", "s", stdin=compact(entry("more")))
        self.assertEqual(error["details"]["errno"], errno.ENOSPC)
        self.assertGreaterEqual(error["details"]["percent"], 95)
        for args in (["import", "pi", self.world.file("imp.jsonl", jsonl([HEADER, *lines(0, 2)]))], ["head", "fork", "x", "--session", "s"], ["session", "new", "x"]):
            self.refused("STORAGE", *args)
            self.refused("STORAGE", *args, "--dry-run")
        self.assertEqual(self.tell(), ["before"])
        self.sound()
        self.assertIn("disk", [check["name"] for check in self.answer("doctor", code=3)["checks"] if not check["ok"]])
        self.free()
        self.append("after")
        self.assertEqual(self.tell(), ["before", "after"])

    def test_a_disk_that_fills_during_a_write_loses_nothing_and_keeps_nothing_of_it(self):
        self.fill(80)
        before = self.world.dump()
        for args, stdin in (
            (["append", "--session", "s"], jsonl(entry(f"{i} " + "x" * 4000) for i in range(600))),
            (["append", "--session", "s"], compact(entry(os.urandom(900000).hex()))),
            (["import", "pi", self.world.file("imp.jsonl", jsonl([HEADER] + [{**line, "pad": "p" * 4000} for line in lines(0, 600)]))], b""),
        ):
            with self.subTest(args=args):
                ran = self.world.run("--json", *args, stdin=stdin)
                self.assertEqual(ran.code, 12, ran)
                self.assertEqual(harness.parse_line(ran.errors)["error"]["details"]["errno"], errno.ENOSPC, ran)
                self.assertEqual(self.world.dump(), before)
                self.assertEqual(self.tell(), ["before"])
                self.sound()
        self.free()
        self.append("after")
        self.assertEqual(self.tell(), ["before", "after"])

    def test_a_full_disk_can_be_made_emptier(self):
        self.append(os.urandom(400000).hex(), session="large")
        self.fill(96)
        self.refused("STORAGE", "append", "--session", "s", stdin=compact(entry("more")))
        self.weir("purge", "--session", "large", "--yes")
        self.assertEqual(self.world.objects(), [])
        self.append("there is room again")


if __name__ == "__main__":
    harness.main()
