"""gc, purge, backup and verify with versions of files; reads without a session or without the cache; what reaches stdout."""

import os
import time

import harness
from harness import screen
from read_case import ReadCase, numbered, sha


class GcTest(ReadCase):
    def versions(self, count, name="a.txt", session="s"):
        """Reads that many versions of a file; answers them, oldest first."""
        out = []
        for i in range(count):
            self.file(name, [*numbered(1, 200), f"version {i} of {name}"])
            out.append(self.read(name, session=session)["record"]["served"])
            time.sleep(0.002)  # last use is told apart by time
        return out

    def kept(self, versions):
        return [os.path.exists(self.blob(version)) for version in versions]

    def test_versions_stay_while_there_is_room(self):
        """Case 47, H17: age alone removes nothing."""
        versions = self.versions(4)
        for version in versions:
            os.utime(self.blob(version), (0, 0))
        answer = self.answer("gc")
        self.assertEqual((answer["objects"], answer["kept_bytes"]), (0, sum(os.path.getsize(self.blob(version)) for version in versions)))
        self.assertEqual(self.kept(versions), [True] * 4)

    def test_over_the_budget_dead_ones_go_by_last_use_and_live_ones_stay(self):
        """Case 47."""
        versions = self.versions(5)
        self.file("a.txt", [*numbered(1, 200), "version 0 of a.txt"])
        self.compact()
        self.read("a.txt")  # the oldest is in use again, and the last of the five is dead
        sizes = [os.path.getsize(self.blob(version)) for version in versions]
        self.config(blob_budget_bytes=sizes[0] + sizes[3] + sizes[4])
        self.assertEqual(self.answer("gc", "--dry-run")["objects"], 2)
        self.assertEqual(self.kept(versions), [True] * 5)
        answer = self.answer("gc")
        self.assertEqual((answer["objects"], answer["kept_bytes"]), (2, sizes[0] + sizes[3] + sizes[4]))
        self.assertEqual(self.kept(versions), [True, False, False, True, True])
        self.config(blob_budget_bytes=0)
        self.weir("gc")
        self.assertEqual(self.kept(versions), [True, False, False, False, False])
        self.assertIs(self.status()["blobs"]["over_budget"], True)
        self.file("a.txt", [*numbered(1, 200), "something else"])
        self.assertEqual(self.mode("a.txt"), "diff")
        self.sound()

    def test_what_any_head_may_be_asked_about_is_live(self):
        old = self.versions(1)[0]
        self.weir("head", "fork", "other", "--session", "s")
        self.compact()
        new = self.versions(2)[1]
        self.config(blob_budget_bytes=0)
        self.weir("gc")
        self.assertEqual(self.kept([old, new]), [True, True])
        self.file("a.txt", [*numbered(1, 200), "something else"])
        self.assertEqual(self.mode("a.txt", "--head", "other"), "diff")
        self.weir("head", "delete", "other", "--session", "s", "--yes")
        self.weir("gc")
        self.assertEqual(self.kept([old]), [False])

    def test_blobs_of_messages_are_not_counted_and_not_touched(self):
        self.append("k" * 70000)
        message = self.world.objects()
        self.versions(1)
        self.compact()
        self.config(blob_budget_bytes=0)
        self.assertEqual(self.answer("gc")["objects"], 1)
        self.assertEqual(self.world.objects(), message)

    def test_what_people_are_told(self):
        self.versions(1)
        self.assertRegex(self.weir("gc").text, r"^removed 0 objects \(0 B\), 0 temporary files; versions of files that were read keep [\d.]+ k?B\n$")


class PurgeTest(ReadCase):
    def test_versions_only_this_session_read_go_with_it(self):
        self.file("own.txt", "only here MARKER-9d1\n" * 9)
        self.file("shared.txt", numbered(1, 100))
        own = self.read("own.txt", session="a")["record"]["served"]
        shared = self.read("shared.txt", session="a")["record"]["served"]
        self.read("shared.txt", session="b")
        self.assertEqual(self.answer("purge", "--session", "a", "--yes", "--dry-run")["objects"], 1)
        self.assertEqual(self.answer("purge", "--session", "a", "--yes")["objects"], 1)
        self.assertEqual([os.path.exists(self.blob(version)) for version in (own, shared)], [False, True])
        self.file("shared.txt", [*numbered(1, 100), "more"])
        self.assertEqual(self.mode("shared.txt", session="b"), "diff")
        self.assertNotIn("own.txt", "\n".join(self.world.dump()))
        self.sound()

    def test_a_session_of_the_same_name_has_seen_nothing(self):
        self.file("a.txt", "alpha\n")
        self.read("a.txt")
        self.weir("purge", "--session", "s", "--yes")
        self.assertEqual(self.mode("a.txt"), "full")


class BackupTest(ReadCase):
    def test_a_copy_holds_the_versions_and_goes_on(self):
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt")
        copy = self.world.path("copy")
        self.assertEqual(self.answer("backup", copy)["objects"], 1)
        self.sound(copy)
        self.file("a.txt", numbered(1, 101))
        self.assertEqual(self.mode("a.txt", "--store", copy), "diff")

    def test_a_damaged_version_is_named_and_left_out_of_a_copy(self):
        self.file("a.txt", numbered(1, 100))
        version = self.read("a.txt")["record"]["served"]
        with open(self.blob(version), "r+b") as file:
            file.seek(20)
            file.write(b"\xff\xff")
        _, found, _ = self.stream("verify", code=3)
        self.assertEqual(found[0]["object"], "sha256:" + version)
        self.assertEqual(self.answer("backup", self.world.path("copy"))["objects"], 0)
        self.sound(self.world.path("copy"))
        self.file("a.txt", numbered(1, 101))
        self.assertEqual(self.said("a.txt", "--store", self.world.path("copy"))[2], "base_object_missing")

    def test_a_version_that_gc_removed_is_missed_by_nobody(self):
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt")
        self.compact()
        self.config(blob_budget_bytes=0)
        self.weir("gc")
        self.assertEqual(self.world.objects(), [])
        self.sound()
        self.weir("backup", self.world.path("copy"))
        self.sound(self.world.path("copy"))


class PlainTest(ReadCase):
    """Nothing is known and nothing recorded: the text of a plain read."""

    def contents(self):
        return {"short": "alpha\nbeta\n", "long": "\n".join(numbered(1, 2500)), "empty": "", "bytes": "ä\r\n\0" * 20000, "line": "x" * 60000}

    def test_with_the_cache_off_every_answer_is_the_baseline(self):
        """Case 51, byte for byte."""
        for name, content in self.contents().items():
            for args in ([], ["--offset", "1", "--limit", "1"]):
                with self.subTest(name=name, args=args):
                    self.file(name, content)
                    baseline = self.read(name, *args, session=f"{name}-{len(args)}")["text"]
                    self.config(enabled=False)
                    for _ in range(3):
                        self.assertEqual(self.weir("read", name, *args, "--session", "s").out.decode(), baseline)
                    answer = self.answer("read", name, *args, "--session", "s")
                    self.assertEqual((answer["kind"], answer["reason"], answer["text"]), ("uncached", "disabled", baseline))
                    self.config()
        self.refused("NOT_FOUND", "log", "--session", "s")

    def test_without_a_session_or_a_record_nothing_is_stored(self):
        self.file("a.txt", "alpha\n")
        answer = {"kind": "uncached", "reason": "not_recorded", "text": "alpha\n", "warnings": []}
        self.assertEqual(self.answer("read", "a.txt"), answer)
        self.assertEqual(self.answer("read", "a.txt", "--session", "s", "--no-record"), answer)
        self.assertFalse(os.path.exists(self.world.store))
        self.read("a.txt")
        before = self.world.dump()
        self.assertEqual(self.answer("read", "a.txt", "--session", "s", "--no-record"), answer)
        self.assertEqual(self.world.dump(), before)

    def test_the_only_session_is_the_reader_and_of_several_none(self):
        self.file("a.txt", "alpha\n")
        self.read("a.txt")
        self.assertEqual(self.answer("read", "a.txt")["record"]["mode"], "unchanged")
        self.read("a.txt", session="t")
        before = self.world.dump()
        self.assertEqual(self.answer("read", "a.txt")["kind"], "uncached")
        self.assertEqual(self.world.dump(), before)
        self.assertEqual(self.answer("read", "a.txt", env={"WEIR_SESSION": "t"})["record"]["mode"], "unchanged")
        self.refused("INVALID_FIELD", "reads")
        self.refused("INVALID_FIELD", "refresh", "a.txt")

    def test_a_head_that_is_not_there_is_an_error(self):
        self.file("a.txt", "alpha\n")
        self.read("a.txt")
        self.refused("NOT_FOUND", "read", "a.txt", "--session", "s", "--head", "none")
        self.refused("NOT_FOUND", "refresh", "a.txt", "--session", "s", "--head", "none")
        self.refused("USAGE", "read", "a.txt", "--session", "s", "--at", "main")
        self.refused("USAGE", "refresh", "a.txt", "--session", "s", "--at", "main")

    def test_the_limits_of_one_answer_are_the_users(self):
        """Section 7."""
        self.config(max_lines=10, max_bytes=2000)
        self.file("a", numbered(1, 12))
        self.assertEqual(self.read("a")["text"], "\n".join(numbered(1, 10)) + "\n\n[Showing lines 1-10 of 12. Use offset=11 to continue.]")
        self.file("b", ["x" * 700] * 4)
        self.assertEqual(self.read("b")["text"], "\n".join(["x" * 700] * 2) + "\n\n[Showing lines 1-2 of 4 (2.0KB limit). Use offset=3 to continue.]")
        self.config(max_bytes=0)
        self.refused("INVALID_FIELD", "read", "a", "--session", "s")

    def test_two_thousand_lines_and_a_final_line_feed_are_not_cut(self):
        """Section 7, both line_count."""
        text = "".join(f"{i}\n" for i in range(2000))
        self.file("a", text)
        self.assertEqual(self.read("a")["text"], text)
        self.config(line_count="legacy")
        self.assertEqual(self.read("a", session="t")["text"], text[:-1] + "\n\n[Showing lines 1-2000 of 2001. Use offset=2001 to continue.]")
        self.config()
        self.file("b", "x" * 80 + "\n" + ("y" * 79 + "\n") * 639)
        self.assertEqual(os.path.getsize(self.world.path("cwd", "b")), 51201)
        self.assertTrue(self.read("b")["text"].endswith("\n\n[Showing lines 1-640 of 641. Use offset=641 to continue.]"))


class OutputTest(ReadCase):
    def test_a_pipe_gets_the_bytes_and_nothing_more(self):
        self.begin("s")
        for content in ("", "a", "a\n", "a\r\n\0\x1b[31m\u202e\n\n", "\ufeffä\n"):
            self.file("a", content)
            self.assertEqual(self.weir("read", "a", "--session", "s", "--bypass").out, content.encode())
        self.assertEqual(self.weir("read", "a", "--session", "s").out, b"[readcache: unchanged, 2 lines]")

    def test_a_terminal_gets_nothing_it_would_obey(self):
        self.file("a", "\x1b[31mred\x1b]0;title\x07\ttab\rover\n\u202eevil\u200b\n")
        ran = self.world.terminal("read", "a", "--session", "s")
        self.assertEqual(ran.out, b"\\x1b[31mred\\x1b]0;title\\x07\ttab\\x0dover\n\\u{202e}evil\\u{200b}\n")
        self.file("\x1b[31m.txt", "x")
        for args in (["reads", "\x1b[31m.txt"], ["refresh", "\x1b[31m.txt"], ["read", "\x1b[31m.txt"], ["read", "\x1b[31mnone"], ["reads", "digest"]):
            self.assertNotIn(b"\x1b[31m", self.world.terminal(*args, "--session", "s", "--color", "never").out, args)

    def test_json_on_a_terminal_is_harmless_too(self):
        self.file("a", "\u009bx\u202e\n")
        ran = self.world.terminal("--json", "read", "a", "--session", "s")
        self.assertNotIn("\u202e".encode(), ran.out)
        self.assertEqual(harness.parse_line("\n".join(screen(ran.out)))["text"], "\u009bx\u202e\n")

    def test_an_answer_that_could_not_be_written_was_not_shown(self):
        """stdout that takes nothing: the read was recorded before it was answered, and nobody counts on it."""
        self.begin("s")
        self.file("a", numbered(1, 100))
        with open("/dev/full", "wb") as full:
            ran = self.world.finish(self.world.start("read", "a", "--session", "s", stdout=full))
        self.assertEqual(ran.code, 12, ran)
        self.assertEqual(self.status()["undelivered"], 1)
        self.assertEqual(self.read("a")["record"]["mode"], "full")
        self.assertEqual(self.read("a")["record"]["mode"], "unchanged")

    def test_an_answer_that_stays_in_the_pipe_was_not_shown(self):
        self.begin("s")
        self.file("a", numbered(1, 100))
        reader, writer = os.pipe()
        with open(writer, "wb") as pipe:
            self.assertEqual(self.world.finish(self.world.start("read", "a", "--session", "s", stdout=pipe)).code, 0)
        os.close(reader)
        self.assertEqual(self.read("a")["record"]["mode"], "full")
        self.assertEqual(self.read("a")["record"]["mode"], "unchanged")

    def test_a_pipe_that_was_closed_gets_the_file_again(self):
        self.file("a", numbered(1, 30000))
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as closed:
            ran = self.world.finish(self.world.start("read", "a", "--session", "s", stdout=closed))
        self.assertNotEqual(ran.code, 0, ran)
        self.assertEqual(self.read("a")["record"]["mode"], "full")

    def test_the_tour_writes_into_no_directory_of_somebody_else(self):
        self.file("mine/notes.md", "precious\n")
        self.refused("INVALID_FIELD", "demo", "--keep", "mine")
        with open(self.world.path("cwd", "mine", "notes.md"), encoding="utf-8") as kept:
            self.assertEqual(kept.read(), "precious\n")

    def test_nobody_else_says_that_a_text_was_masked(self):
        self.file("a", numbered(1, 5))
        record = self.read("a", session="other")["record"]
        self.add("message", {"role": "tool", "content": "nothing like it", "text_masked": True, "read": record})
        self.assertEqual(self.read("a")["record"]["mode"], "full")

    def test_a_denied_read_asked_again_is_noted_once(self):
        self.file(".env", "A=1\n")
        for _ in range(2):
            self.assertEqual(self.read(".env", "--request-id", "q")["kind"], "uncached")
        self.assertEqual([entry["id"] for entry in self.entries()], ["q"])

    def test_a_denied_name_is_no_path(self):
        for name in ("src/", "src/**", ""):
            self.world.user_config(f'read.deny = ["{name}"]\n')
            self.refused("INVALID_FIELD", "config", "check")
            self.refused("INVALID_FIELD", "read", "a")

    def test_the_log_says_which_file_and_how(self):
        self.file("a", numbered(1, 30))
        self.read("a")
        self.assertIn("read " + self.world.path("cwd", "a") + " full 1-30 of 30 (no_base_hash)", self.weir("log", "--session", "s").text)

    def test_the_version_kept_is_the_file(self):
        content = os.urandom(3000).hex() + "\r\n\0ä\n"
        self.file("a", content)
        record = self.read("a")["record"]
        self.assertEqual(record["served"], sha(content))
        self.assertEqual(self.weir("show", "sha256:" + record["served"]).out, content.encode())


if __name__ == "__main__":
    harness.main()
