"""purge, gc and backup: what is gone is gone from every file; what is copied is whole."""

import os
import subprocess
import threading

import harness
from harness import CliTest, compact, entry, jsonl

MARKER = "MARKER-" + "7f3a9c" * 4


def files_with(root, text):
    """Files under root that hold the text, as grep finds them."""
    done = subprocess.run(["grep", "-rlaF", "--", text, root], capture_output=True, text=True)
    return done.stdout.split()


class PurgeTest(CliTest):
    def fill(self, session, marker=MARKER):
        """The marker wherever text can be: content, keys, labels, custom data, branches, blobs, the source's header."""
        self.weir("append", "--session", session, stdin=jsonl([
            entry(f"{marker} in a message"), {"type": "custom", "body": {"custom_type": "x", "data": {marker: [marker, {"deep": marker}]}}},
            {"type": "compaction", "body": {"summary": f"{marker} in a summary"}}, {"type": "label", "body": {"target": "x", "label": marker}},
            entry(f"{marker} in a blob {os.urandom(4).hex()} " + "z" * 70000),
        ]))  # fmt: skip
        self.weir("head", "fork", "branch", "--at", "main~3", "--session", session)
        self.append(f"{marker} on a branch", session=session, head="branch")
        self.weir("stats", "--session", session)

    def test_a_purged_session_is_in_no_file(self):
        """S8."""
        for extra in ([], ["--vacuum"]):
            with self.subTest(extra=extra):
                self.fill("secret")
                self.append("kept", session="other")
                self.assertTrue(files_with(self.world.store, MARKER))
                answer = self.answer("purge", "--session", "secret", "--yes", *extra)
                self.assertEqual((answer["purged"], answer["entries"], answer["objects"]), ("session secret", 6, 1))
                self.assertEqual(files_with(self.world.store, MARKER), [])
                self.assertEqual(self.world.objects(), [])
                self.refused("NOT_FOUND", "log", "--session", "secret")
                self.assertIn("kept", self.tell("other"))
                self.sound()

    def test_a_purged_session_leaves_no_copies_where_pages_were_split(self):
        for i in range(30):
            self.append(f"{MARKER} {i} " + "w" * (i * 37 % 900), session="secret")
            if i % 6 == 0:
                self.append(f"kept {i}", session="other")
        self.weir("purge", "--session", "secret", "--yes")
        self.assertEqual(files_with(self.world.store, MARKER), [])
        self.sound()

    def test_a_blob_that_is_stored_again_is_not_purged_any_more(self):
        text = "again " + "a" * 70000
        self.append(text, session="a")
        (digest,) = self.world.object_names()
        self.weir("purge", "--blob", digest, "--yes")
        self.assertIn("1 purged", self.weir("verify").text)
        self.append(text, session="b")
        self.assertNotIn("purged", self.weir("verify").text)
        os.remove(os.path.join(self.world.store, "objects", digest[7:9], digest[9:]))
        self.weir("verify", code=3)

    def test_what_a_long_replacement_holds_survives_gc_and_goes_with_its_session(self):
        """A list that became a blob holds its long strings itself: nothing refers to objects from inside an object."""
        messages = [{"role": "user", "content": str(i) * 60000} for i in range(6)] + [{"role": "user", "content": "INNER" + "z" * 80000}]
        self.weir("append", "--session", "s", stdin=jsonl([{"type": "compaction", "body": {"summary": "s", "replacement": messages}}]))
        self.assertEqual(len(self.world.objects()), 1)
        self.assertEqual(self.answer("gc")["objects"], 0)
        self.assertEqual(self.answer("show", "main", "--session", "s", "--resolve")["body"]["replacement"], messages)
        self.weir("purge", "--session", "s", "--yes")
        self.assertEqual(self.world.objects(), [])

    def test_an_imported_session_goes_with_its_header_and_the_name_of_its_file(self):
        header = {"type": "session", "version": 3, "id": "imp", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": f"/home/{MARKER}"}
        line = {"type": "message", "id": f"id-{MARKER}", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": MARKER, "extra": MARKER}}
        self.weir("import", "pi", self.world.file(f"{MARKER}.jsonl", jsonl([header, line]) + "{malformed " + MARKER + "\n" + compact({"type": MARKER}) + "\n"))
        self.assertTrue(files_with(self.world.store, MARKER))
        self.weir("purge", "--session", "imp", "--yes")
        self.assertEqual(files_with(self.world.store, MARKER), [])
        self.sound()

    def test_while_another_program_reads_the_store(self):
        """A reader keeps the -wal alive; nothing may hide there."""
        self.fill("secret")
        self.append("kept", session="other")
        reader = self.world.start("log", "--session", "other", "--follow", "--json")
        try:
            reader.stdout.readline()
            self.weir("purge", "--session", "secret", "--yes")
            self.assertEqual(files_with(self.world.store, MARKER), [])
        finally:
            reader.terminate()
            reader.communicate()

    def test_objects_another_session_refers_to_stay(self):
        shared = "shared " + "s" * 70000
        self.append(shared, session="a")
        self.append(shared, session="b")
        self.append("own " + "o" * 70000, session="a")
        self.assertEqual(len(self.world.objects()), 2)
        self.assertEqual(self.answer("purge", "--session", "a", "--yes")["objects"], 1)
        self.assertEqual(len(self.world.objects()), 1)
        self.assertEqual(self.answer("show", "main", "--session", "b", "--resolve")["body"]["content"], shared)
        self.sound()

    def test_a_session_is_never_guessed(self):
        self.append("the only one")
        error = self.refused("INVALID_FIELD", "purge", "--yes")
        self.assertEqual(error["details"]["errors"][0]["path"], "/session")

    def test_what_is_not_there(self):
        self.append("x")
        self.refused("NOT_FOUND", "purge", "--session", "none", "--yes")
        self.refused("NOT_FOUND", "purge", "--blob", "sha256:" + "0" * 64, "--yes")
        self.refused("INVALID_FIELD", "purge", "--blob", "sha256:xyz", "--yes")

    def test_the_name_can_be_used_again_and_begins_at_1(self):
        self.fill("again")
        self.weir("purge", "--session", "again", "--yes")
        self.assertEqual(self.answer("append", "--session", "again", stdin=compact(entry("new")))["entries"][0]["seq"], 1)
        self.sound()


class PurgeBlobTest(CliTest):
    def setUp(self):
        super().setUp()
        self.append(f"{MARKER} " + "z" * 70000)
        self.blob = self.answer("show", "main", "--session", "s")["body"]["content"]["$blob"]

    def test_the_bytes_go_the_entry_stays_and_verify_says_purged(self):
        self.assertEqual(self.answer("purge", "--blob", self.blob, "--yes"), {"purged": f"blob {self.blob}", "entries": 0, "objects": 1, "dry_run": False})
        self.assertEqual(self.world.objects(), [])
        summary = self.sound()
        self.assertEqual((summary["purged"], summary["damaged"], summary["blobs"]), (1, 0, 1))
        self.assertIn(", 1 purged", self.weir("verify").text)
        shown = self.answer("show", "main", "--session", "s")["body"]["content"]
        self.assertEqual(shown["$blob"], self.blob)
        error = self.refused("NOT_FOUND", "show", self.blob)
        self.assertIn("purged", error["message"])
        self.refused("NOT_FOUND", "show", "main", "--session", "s", "--resolve")

    def test_a_blob_that_is_only_missing_is_damage(self):
        os.remove(self.world.objects()[0])
        _, lines, end = self.stream("verify", code=3)
        self.assertEqual(end["count"], 1)
        self.assertEqual((lines[0]["type"], lines[0]["session"], lines[0]["object"]), ("damage", "s", self.blob))

    def test_a_dry_run_removes_nothing(self):
        before = self.world.dump()
        self.answer("purge", "--blob", self.blob, "--dry-run")
        self.assertEqual(self.world.dump(), before)

    def test_a_backup_of_a_store_with_a_purged_blob_verifies(self):
        self.weir("purge", "--blob", self.blob, "--yes")
        self.weir("backup", self.world.path("copy"))
        self.assertEqual(self.sound(self.world.path("copy"))["purged"], 1)


class GcTest(CliTest):
    def test_objects_nothing_refers_to_go_and_others_stay(self):
        self.append("keep " + "k" * 70000)
        kept = self.world.objects()
        stray = os.path.join(self.world.store, "objects", "ab")
        os.makedirs(stray, mode=0o700, exist_ok=True)
        with open(os.path.join(stray, "cd" * 31), "wb") as file:
            file.write(b"stray")
        self.assertEqual(self.answer("gc", "--dry-run")["objects"], 1)
        self.assertEqual(len(self.world.objects()), 2)
        self.assertEqual(self.answer("gc"), {"objects": 1, "bytes": 5, "temporary": 0, "kept_bytes": 0, "dry_run": False})
        self.assertEqual(self.world.objects(), kept)
        self.sound()

    def test_temporary_files_go_when_they_are_old(self):
        self.append("x")
        for name, age in (("tmp-0000000000000001", 7200), ("tmp-0000000000000002", 10)):
            path = os.path.join(self.world.store, "objects", name)
            with open(path, "wb") as file:
                file.write(b"half")
            os.utime(path, (os.stat(path).st_mtime - age,) * 2)
        self.assertEqual(self.answer("gc", "--dry-run")["temporary"], 1)
        self.assertEqual(self.answer("gc")["temporary"], 1)
        self.assertEqual([os.path.basename(path) for path in self.world.objects()], ["tmp-0000000000000002"])


class BackupTest(CliTest):
    def fields(self, store, session):
        return self.stream("export", "--session", session, "--store", store)[1]

    def test_a_copy_verifies_and_holds_the_same(self):
        self.weir("append", "--session", "s", stdin=jsonl([entry("one"), entry("b" * 70000), {"type": "compaction", "body": {}}]))
        self.weir("head", "fork", "other", "--at", "main~1", "--session", "s")
        copy = self.world.path("copy")
        answer = self.answer("backup", copy)
        self.assertEqual((answer["sessions"], answer["entries"], answer["objects"], answer["verified"]), (1, 3, 1, True))
        self.assertEqual(self.world.dump(copy), self.world.dump())
        self.sound(copy)

    def test_under_load_and_opened_elsewhere_it_verifies(self):
        self.weir("append", "--session", "s", stdin=jsonl(entry(f"before {i}") for i in range(200)))
        stop = threading.Event()
        written = []

        def write():
            i = 0
            while not stop.is_set():
                ran = self.world.run("append", "--session", "s", "--json", stdin=jsonl([entry(f"during {i}"), entry(f"{i} " + "B" * 70000)]))
                written.append((ran.code, ran.errors))
                i += 1

        writers = [threading.Thread(target=write) for _ in range(2)]
        for writer in writers:
            writer.start()
        try:
            for i in range(4):
                copy = self.world.path(f"copy-{i}")
                self.weir("backup", copy)
                moved = self.world.path(f"elsewhere-{i}")
                os.rename(copy, moved)
                self.sound(moved)
                copied = self.fields(moved, "s")
                self.assertEqual(copied, self.fields(self.world.store, "s")[: len(copied)])
                self.assertGreaterEqual(len(copied), 200)
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        self.assertGreater(len(written), 3)
        self.assertEqual([result for result in written if result[0] != 0], [])
        self.sound()

    def test_the_directory_must_be_missing_or_empty(self):
        self.append("x")
        os.mkdir(self.world.path("empty"))
        os.chmod(self.world.path("empty"), 0o755)
        self.weir("backup", self.world.path("empty"))
        self.assertTrue(self.answer("doctor", "--store", self.world.path("empty"))["ok"])
        self.refused("INVALID_FIELD", "backup", self.world.path("empty"))
        self.refused("INVALID_FIELD", "backup", self.world.path("empty"), "--dry-run")
        self.assertEqual(self.answer("backup", self.world.path("new"), "--dry-run"), {"directory": self.world.path("new"), "dry_run": True})
        self.assertFalse(os.path.exists(self.world.path("new")))

    def test_a_damaged_store_gives_no_verified_copy(self):
        self.append("b" * 70000)
        with open(self.world.objects()[0], "r+b") as file:
            file.seek(5)
            file.write(b"\xff\xff\xff")
        self.refused("CORRUPT", "backup", self.world.path("copy"))

    def test_the_copy_is_its_owners_alone(self):
        self.append("b" * 70000)
        self.weir("backup", self.world.path("copy"), umask=0)
        found = subprocess.run(["find", self.world.path("copy"), "-perm", "/077"], capture_output=True, text=True)
        self.assertEqual(found.stdout, "")


if __name__ == "__main__":
    harness.main()
