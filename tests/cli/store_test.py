"""The store on disk: init, modes, foreign and broken stores, doctor, durability of what was made."""

import os
import shutil
import sqlite3
import stat
import subprocess
import unittest.mock

import harness
from harness import CliTest, entry, jsonl, needs_root


def modes(root):
    """Every path under root with its permission bits."""
    found = {root: stat.S_IMODE(os.lstat(root).st_mode)}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            found[path] = stat.S_IMODE(os.lstat(path).st_mode)
    return found


class InitTest(CliTest):
    def test_init_twice_is_the_same_store_and_exit_0(self):
        first = self.answer("init")
        self.assertEqual(first, {"store": self.world.store, "made": True, "schema": 2})
        self.append("kept")
        before = self.world.dump()
        self.assertEqual(self.answer("init"), {"store": self.world.store, "made": False, "schema": 2})
        self.assertEqual(self.world.dump(), before)
        self.assertEqual(self.weir("init").text, f"store is there already: {self.world.store}\n")

    def test_init_makes_the_directories_above_it(self):
        where = self.world.path("a", "b", "c")
        self.assertEqual(self.weir("init", "--store", where).text, f"made store {where}\n")
        self.assertEqual(sorted(name for name in os.listdir(where) if not name.startswith("weir.db-")), ["objects", "weir.db"])

    def test_a_relative_store_is_relative_to_the_working_directory(self):
        self.weir("init", "--store", "mine")
        self.assertTrue(os.path.exists(os.path.join(self.world.cwd, "mine", "weir.db")))

    def test_the_variable_names_the_store_and_the_option_wins(self):
        by_variable, by_option = self.world.path("v"), self.world.path("o")
        self.assertEqual(self.answer("init", env={"WEIR_STORE": by_variable})["store"], by_variable)
        self.assertEqual(self.answer("init", "--store", by_option, env={"WEIR_STORE": by_variable})["store"], by_option)

    def test_a_link_on_the_way_to_the_store_is_followed(self):
        """Homes and data directories often stand on another disk."""
        os.mkdir(self.world.path("disk"))
        os.symlink(self.world.path("disk"), self.world.path("link"))
        store = self.world.path("link", "store")
        self.weir("init", "--store", store)
        self.weir("append", "--store", store, "--session", "s", stdin=jsonl([entry("there")]))
        self.assertEqual(self.answer("stats", "--store", self.world.path("disk", "store"))["entries"], 1)
        self.sound(store)

    def test_a_writing_command_makes_a_missing_store_and_a_reading_one_does_not(self):
        self.refused("STORE_UNUSABLE", "session", "list")
        self.refused("STORE_UNUSABLE", "log", "--session", "s")
        self.refused("STORE_UNUSABLE", "verify")
        self.refused("STORE_UNUSABLE", "stats", "--session", "s")
        self.refused("STORE_UNUSABLE", "purge", "--session", "s", "--yes")
        self.assertFalse(os.path.exists(self.world.store))
        self.append("hello")
        self.assertTrue(os.path.exists(os.path.join(self.world.store, "weir.db")))

    def test_modes_are_0700_and_0600_whatever_the_umask(self):
        for umask in (0o000, 0o077, 0o777):
            with self.subTest(umask=oct(umask)):
                store = self.world.path(f"store-{umask:o}")
                self.weir("init", "--store", store, umask=umask)
                for path, mode in modes(store).items():
                    self.assertEqual(mode, 0o700 if os.path.isdir(path) else 0o600, path)


    def test_init_takes_an_empty_directory_and_closes_it_to_others(self):
        for mode in (0o755, 0o777):
            store = self.world.path(f"empty-{mode:o}")
            os.mkdir(store)
            os.chmod(store, mode)
            self.weir("init", "--store", store)
            self.assertEqual(stat.S_IMODE(os.stat(store).st_mode), 0o700)
            self.assertTrue(self.answer("doctor", "--store", store)["ok"])

    def test_a_directory_that_holds_something_else_is_refused_and_left_as_it_is(self):
        path = self.world.file("project/notes.txt", "mine")
        folder = os.path.dirname(path)
        os.chmod(folder, 0o755)
        for args in (["init"], ["init", "--dry-run"], ["session", "new", "s"]):
            self.assertIn("notes.txt", self.refused("STORE_UNUSABLE", *args, "--store", folder)["message"])
        self.assertEqual((os.listdir(folder), stat.S_IMODE(os.stat(folder).st_mode)), (["notes.txt"], 0o755))

    def test_a_dry_run_of_init_answers_the_same_and_makes_nothing(self):
        dry = self.answer("init", "--dry-run")
        self.assertFalse(os.path.exists(self.world.store))
        self.assertEqual(self.answer("init"), dry)
        self.assertEqual(self.answer("init", "--dry-run"), self.answer("init"))

    def test_no_dry_run_makes_a_store(self):
        session = os.path.join(harness.DATA, "pi-v3.jsonl")
        for args, stdin in ((["append", "--session", "s"], jsonl([entry("x"), entry("y" * 70000)])), (["session", "new", "s"], b""), (["import", "pi", session], b""), (["gc"], b"")):
            with self.subTest(args=args):
                self.answer(*args, "--dry-run", stdin=stdin)
                self.assertEqual(os.listdir(self.world.path("data")), [])

    def test_a_refused_append_or_sync_makes_no_store(self):
        bad = entry("x", role="narrator")
        for code, args, stdin in (
            ("INVALID_FIELD", ["append", "--session", "s"], jsonl([bad])),
            ("INVALID_JSON", ["append", "--session", "s"], "{"),
            ("INVALID_FIELD", ["append"], jsonl([entry("no session")])),
            ("NOT_FOUND", ["append", "--session", "s"], jsonl([entry("x", parent="nowhere")])),
            ("CONFLICT", ["append", "--session", "s", "--expect", "gone"], jsonl([entry("x")])),
            ("INVALID_FIELD", ["sync", "--format", "pi"], '{"session":"s","entries":[{}]}'),
        ):
            with self.subTest(args=args):
                self.refused(code, *args, stdin=stdin)
                self.assertEqual(os.listdir(self.world.path("data")), [])

    def test_purge_of_a_blob_makes_no_store(self):
        for extra in (["--yes"], ["--dry-run"]):
            self.refused("STORE_UNUSABLE", "purge", "--blob", "sha256:" + "0" * 64, *extra)
        self.assertEqual(os.listdir(self.world.path("data")), [])


class ModesTest(CliTest):
    def test_nothing_is_open_to_others_after_a_whole_day_of_use_under_umask_000(self):
        """S6. Every command that can make a file makes one."""
        big = "x" * 70000
        session = os.path.join(harness.DATA, "pi-v3.jsonl")
        shutil.copy(session, self.world.cwd)
        use = [
            (["init"], b""),
            (["append", "--session", "s"], jsonl([entry("one"), entry(big), entry("three")])),
            (["import", "pi", "pi-v3.jsonl"], b""),
            (["sync", "--format", "pi"], '{"session":"host","since":null,"entries":[{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"hi"}}],"leaf":"a"}'),
            (["session", "new", "empty"], b""),
            (["head", "fork", "other", "--session", "s"], b""),
            (["export", "--session", "s", "-o", self.world.path("data", "out.jsonl")], b""),
            (["backup", self.world.path("data", "copy")], b""),
            (["stats", "--session", "s"], b""),
            (["verify"], b""),
            (["purge", "--session", "host", "--yes", "--vacuum"], b""),
            (["gc"], b""),
            (["demo", "--keep", self.world.path("data", "tour")], b""),
        ]
        os.chmod(self.world.path("data"), 0o700)
        for args, stdin in use:
            self.weir(*args, stdin=stdin, umask=0)
            open_to_others = subprocess.run(["find", self.world.path("data"), "-perm", "/077"], capture_output=True, text=True)
            self.assertEqual(open_to_others.stdout, "", f"after {args}")
        # And while a writer is at work, with its -wal and -shm there.
        running = self.world.start("log", "--session", "s", "--follow", "--json")
        try:
            self.assertTrue(running.stdout.readline())
            self.weir("append", "--session", "s", stdin=jsonl([entry("again")]), umask=0)
            names = os.listdir(self.world.store)
            self.assertIn("weir.db-wal", names)
            self.assertIn("weir.db-shm", names)
            for path, mode in modes(self.world.store).items():
                self.assertEqual(mode & 0o077, 0, path)
        finally:
            running.terminate()
            running.communicate()

    def test_a_store_others_may_write_to_is_refused_and_doctor_mends_it(self):
        self.append("mine")
        for path, mode in ((self.world.store, 0o770), (os.path.join(self.world.store, "weir.db"), 0o606)):
            with self.subTest(path=path):
                right = stat.S_IMODE(os.stat(path).st_mode)
                os.chmod(path, mode)
                error = self.refused("STORE_UNUSABLE", "log", "--session", "s")
                self.assertIn(f"{mode:04o}", error["message"])
                self.assertEqual(error["details"]["path"], path)
                self.refused("STORE_UNUSABLE", "append", "--session", "s", stdin=jsonl([entry("no")]))
                report = self.answer("doctor", code=3)
                self.assertFalse(report["ok"])
                wrong = [check["name"] for check in report["checks"] if not check["ok"]]
                self.assertIn("modes", wrong)
                self.assertTrue(self.answer("doctor", "--fix")["ok"])
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), right)
                self.assertEqual(self.tell(), ["mine"])

    @needs_root
    def test_a_store_of_another_user_is_refused(self):
        self.append("theirs")
        for path in (self.world.store, os.path.join(self.world.store, "weir.db")):
            with self.subTest(path=path):
                os.chown(path, 12345, -1)
                error = self.refused("STORE_UNUSABLE", "log", "--session", "s")
                self.assertIn("12345", error["message"])
                self.refused("STORE_UNUSABLE", "append", "--session", "s", stdin=jsonl([entry("no")]))
                self.refused("STORE_UNUSABLE", "init")
                report = self.answer("doctor", code=3)
                self.assertIn("owner", [check["name"] for check in report["checks"] if not check["ok"]])
                os.chown(path, 0, -1)
        self.assertEqual(self.tell(), ["theirs"])

    @needs_root
    def test_a_user_who_is_not_the_owner_cannot_use_the_store(self):
        """The same from the other side: the program runs as somebody else."""
        self.append("mine")
        os.chmod(self.world.root, 0o711)
        os.chmod(self.world.path("data"), 0o711)
        os.chmod(self.world.cwd, 0o777)
        # The project may lie where nobody else can reach it.
        reachable = self.world.path("weir-for-all")
        shutil.copy(harness.BIN, reachable)
        os.chmod(reachable, 0o755)
        before = self.world.dump()
        with unittest.mock.patch.object(harness, "BIN", reachable):
            self.try_as_somebody_else()
        self.assertEqual(self.world.dump(), before)

    def try_as_somebody_else(self):
        for args in (["log", "--session", "s"], ["append", "--session", "s"], ["verify"], ["init"]):
            ran = self.world.run(*args, "--json", stdin=jsonl([entry("no")]), before=lambda: (os.setgid(12345), os.setuid(12345)))
            self.assertIn(ran.code, (10, 12), ran)
            self.assertEqual(ran.out, b"", ran)


class NoStoreTest(CliTest):
    """What is there is no store: a clear refusal, and not a byte of it changes."""

    def unusable(self, what):
        for args, stdin in ((["log", "--session", "s"], b""), (["append", "--session", "s"], jsonl([entry("no")])), (["init"], b""), (["verify"], b"")):
            with self.subTest(what=what, args=args):
                ran = self.world.run(*args, "--json", stdin=stdin)
                self.assertEqual(ran.code, 10, ran)
                self.assertEqual(harness.parse_line(ran.errors)["error"]["code"], "STORE_UNUSABLE", ran)

    def test_a_file_in_place_of_the_directory(self):
        with open(self.world.store, "w") as file:
            file.write("not a store")
        self.unusable("a file")
        with open(self.world.store) as file:
            self.assertEqual(file.read(), "not a store")

    def with_database(self, content):
        os.makedirs(self.world.store, mode=0o700, exist_ok=True)
        path = os.path.join(self.world.store, "weir.db")
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, 0o600)
        return path

    def test_a_file_that_is_no_database(self):
        content = b"this is a text about weirs, long enough to be a page of a database. " * 200
        path = self.with_database(content)
        self.unusable("a text")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), content)

    def test_a_database_of_somebody_else(self):
        path = self.with_database(b"")
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE recipe(name TEXT)")
        connection.execute("INSERT INTO recipe VALUES('soup')")
        connection.commit()
        connection.close()
        with open(path, "rb") as file:
            content = file.read()
        self.unusable("a foreign database")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), content)

    def test_a_database_that_is_a_link_is_refused(self):
        self.append("real")
        path = os.path.join(self.world.store, "weir.db")
        os.rename(path, self.world.path("moved.db"))
        os.symlink(self.world.path("moved.db"), path)
        self.unusable("a link")

    def test_a_newer_store_is_refused_whole(self):
        self.append("from the future")
        path = os.path.join(self.world.store, "weir.db")
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version=99")
        connection.close()
        error = self.refused("STORE_UNUSABLE", "log", "--session", "s")
        self.assertEqual(error["details"]["schema"], 99)
        self.assertEqual(error["details"]["known"], 2)
        self.refused("STORE_UNUSABLE", "append", "--session", "s", stdin=jsonl([entry("no")]))
        self.refused("STORE_UNUSABLE", "init")

    def test_a_directory_in_place_of_the_database(self):
        os.makedirs(os.path.join(self.world.store, "weir.db"), mode=0o700)
        os.chmod(self.world.store, 0o700)
        self.unusable("a directory")


class DoctorTest(CliTest):
    def test_a_healthy_store_passes_every_check(self):
        self.append("x")
        report = self.answer("doctor")
        self.assertTrue(report["ok"])
        self.assertEqual([check["name"] for check in report["checks"]], ["config", "sqlite", "modes", "owner", "store", "structure", "disk", "token", "sandbox"])
        for check in report["checks"]:
            self.assertEqual((check["ok"], check["fix"]), (True, None), check)

    def test_no_store_is_a_finding_with_what_to_do(self):
        report = self.answer("doctor", code=3)
        store = [check for check in report["checks"] if check["name"] == "store"][0]
        self.assertEqual((store["ok"], store["fix"]), (False, "run 'weir init'"))
        self.assertFalse(os.path.exists(self.world.store))

    def test_fix_leaves_a_directory_that_is_no_store_alone(self):
        path = self.world.file("project/bin/tool", "mine")
        os.chmod(path, 0o755)
        folder = os.path.join(self.world.cwd, "project")
        before = modes(folder)
        self.answer("doctor", "--fix", "--store", folder, code=3)
        self.assertEqual(modes(folder), before)
        connection = sqlite3.connect(os.path.join(folder, "weir.db"))
        connection.execute("CREATE TABLE recipe(name TEXT)")
        connection.commit()
        connection.close()
        before = modes(folder)
        report = self.answer("doctor", "--fix", "--store", folder, code=3)
        self.assertIn("no store of Weir", [check["detail"] for check in report["checks"] if check["name"] == "store"][0])
        self.assertEqual(modes(folder), before)

    def test_fix_touches_only_weirs_own_files(self):
        self.append("x" * 70000)
        stranger = os.path.join(self.world.store, "notes.txt")
        with open(stranger, "w") as file:
            file.write("mine")
        os.chmod(stranger, 0o644)
        objects = os.path.join(self.world.store, "objects")
        for path in (objects, *self.world.objects()):
            os.chmod(path, 0o777)
            wrong = [check for check in self.answer("doctor", code=3)["checks"] if not check["ok"]]
            self.assertEqual(([check["name"] for check in wrong], wrong[0]["detail"]), (["modes"], f"{path} is 0777"))
            self.assertTrue(self.answer("doctor", "--fix")["ok"])
        self.assertEqual(modes(self.world.store)[stranger], 0o644)
        self.assertEqual(modes(self.world.store)[objects], 0o700)

    def test_doctor_without_fix_changes_nothing(self):
        self.append("x")
        os.chmod(self.world.store, 0o750)
        self.answer("doctor", code=3)
        self.assertEqual(stat.S_IMODE(os.stat(self.world.store).st_mode), 0o750)


if __name__ == "__main__":
    harness.main()
