"""weir read where something is wrong: damaged and missing versions, a full disk, a store that cannot be written, others
at the same head, lost answers, secrets. The content goes out; a marker never without its record."""

import os
import random
import resource
import signal
import subprocess
import threading

import harness
import secrets_made
from harness import jsonl
from read_case import ReadCase, numbered, sha


def limited(size):
    """No file may grow past this: the disk's answer to every write is an error."""

    def before():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return before


class VersionsTest(ReadCase):
    def setUp(self):
        super().setUp()
        self.lines = numbered(1, 100)
        self.file("a.txt", self.lines)
        self.version = self.read("a.txt")["record"]["served"]

    def change(self):
        self.lines[49] = "changed"
        self.file("a.txt", self.lines)

    def damage(self):
        with open(self.blob(self.version), "r+b") as file:
            content = bytearray(file.read())
            content[len(content) // 2] ^= 0x10
            file.seek(0)
            file.write(content)

    def test_a_version_with_a_flipped_bit_is_never_a_base(self):
        """Case 32, H16."""
        self.damage()
        self.change()
        ran = self.weir("--json", "read", "a.txt", "--session", "s")
        answer = harness.parse_line(ran.text)
        self.assertEqual((answer["record"]["mode"], answer["record"]["reason"]), ("full_fallback", "base_object_damaged"))
        self.assertEqual(answer["text"], "\n".join(self.lines))
        self.assertEqual(len(answer["warnings"]), 1)
        self.assertIn(answer["warnings"][0], ran.errors)
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_a_version_that_is_gone_is_no_base(self):
        """Case 32."""
        os.remove(self.blob(self.version))
        self.change()
        answer = self.read("a.txt")
        self.assertEqual((answer["record"]["mode"], answer["record"]["reason"], answer["text"]), ("full_fallback", "base_object_missing", "\n".join(self.lines)))
        self.assertEqual(self.said("a.txt:1-10"), ("unchanged_range", "r:1:10", "hash_match"))

    def test_a_range_of_a_version_that_is_gone_is_sent_though_it_did_not_change(self):
        os.remove(self.blob(self.version))
        self.change()
        self.assertEqual(self.said("a.txt:1-10"), ("full_fallback", "r:1:10", "base_object_missing"))

    def test_an_unchanged_file_needs_no_version(self):
        os.remove(self.blob(self.version))
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_verify_names_a_damaged_version_and_misses_none_that_is_gone(self):
        self.damage()
        _, found, end = self.stream("verify", code=3)
        self.assertEqual((end["count"], found[0]["object"]), (1, "sha256:" + self.version))
        os.remove(self.blob(self.version))
        self.sound()

    def test_bytes_that_were_purged_are_no_base(self):
        self.weir("purge", "--blob", "sha256:" + self.version, "--yes")
        self.sound()
        self.change()
        self.assertEqual(self.said("a.txt")[2], "base_object_missing")


class StorageTest(ReadCase):
    def test_a_full_disk_gives_content_with_a_warning_and_never_a_marker(self):
        """Case 29."""
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt")
        before = self.world.dump()
        for change in (False, True):
            if change:
                self.file("a.txt", numbered(1, 101))
            ran = self.weir("--json", "read", "a.txt", "--session", "s", before=limited(1))
            answer = harness.parse_line(ran.text)
            self.assertEqual((answer["kind"], answer["reason"], answer["text"]), ("uncached", "not_recorded", "\n".join(numbered(1, 101 if change else 100))))
            self.assertIn("the read is not recorded: ", answer["warnings"][0])
            self.assertIn("weir: the read is not recorded: ", ran.errors)
        self.assertEqual(self.world.dump(), before)
        self.assertEqual(self.mode("a.txt"), "diff")

    def test_a_store_over_its_quota_gives_content_too(self):
        """Case 29."""
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt")
        self.append("x" * 60000)
        for limit in ('limits.store_bytes = "50kb"\n', "limits.session_entries = 2\n"):
            with self.subTest(limit=limit):
                self.world.user_config(limit)
                answer = self.read("a.txt")
                self.assertEqual((answer["kind"], answer["text"]), ("uncached", "\n".join(numbered(1, 100))))
                self.assertIn("limits.", answer["warnings"][0])

    def test_a_version_that_cannot_be_kept_costs_the_later_diff_and_not_the_record(self):
        self.append("x")
        chance = random.Random(5)
        lines = [f"{chance.getrandbits(400):x}" for _ in range(4000)]
        self.file("a.txt", lines)
        answer = self.read("a.txt", before=limited(100000))
        self.assertEqual((answer["kind"], answer["record"]["mode"]), ("text", "full"))
        self.assertIn("content is not kept", answer["warnings"][0])
        self.assertEqual(self.world.objects(), [])
        self.assertEqual(self.said("a.txt:1-20"), ("unchanged_range", "r:1:20", "hash_match"))
        self.sound()

    @harness.needs_root
    def test_a_store_that_is_read_only_gives_content(self):
        self.file("a.txt", "alpha\n")
        self.read("a.txt")
        before = self.world.dump()
        for folder, _, files in os.walk(self.world.store):
            for name in files:
                os.chmod(os.path.join(folder, name), 0o400)
            os.chmod(folder, 0o500)
        drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--reuid=0", "--clear-groups"]
        if subprocess.run([*drop, "true"], capture_output=True).returncode != 0:
            self.skipTest("no setpriv that drops capabilities here")
        done = subprocess.run([*drop, harness.BIN, "--json", "read", "a.txt", "--session", "s"], capture_output=True, text=True, env=self.world.environment({}), cwd=self.world.cwd)
        answer = harness.parse_line(done.stdout)
        self.assertEqual((done.returncode, answer["kind"], answer["text"]), (0, "uncached", "alpha\n"), done)
        self.assertIn("not recorded", answer["warnings"][0])
        self.assertEqual(self.world.dump(), before)

    def test_a_store_that_is_none_gives_content(self):
        self.file("a.txt", "alpha\n")
        os.makedirs(self.world.store)
        with open(os.path.join(self.world.store, "weir.db"), "wb") as file:
            file.write(b"no database " * 1000)
        answer = self.answer("read", "a.txt", "--session", "s")
        self.assertEqual((answer["kind"], answer["text"], len(answer["warnings"])), ("uncached", "alpha\n", 1))

    def test_a_read_or_refresh_that_fails_makes_no_store(self):
        self.refused("NOT_FOUND", "read", "none", "--session", "s")
        self.refused("BAD_RANGE_SUFFIX", "refresh", "none", "0", "--session", "s")
        self.assertFalse(os.path.exists(self.world.store))


class LostAnswerTest(ReadCase):
    def test_a_repeated_request_sends_the_content_again_and_records_nothing(self):
        """Case 29: as if the answer had been lost after it was recorded."""
        self.file("a.txt", numbered(1, 100))
        first = self.read("a.txt", "--request-id", "r1")
        self.assertEqual(self.last()["id"], "r1")
        before = self.world.dump()
        self.assertEqual(self.read("a.txt", "--request-id", "r1"), first)
        self.assertEqual(self.world.dump(), before)

    def test_a_diff_is_not_told_again(self):
        """It speaks of what the reader holds, and that is decided anew."""
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt")
        self.file("a.txt", numbered(1, 101))
        first = self.read("a.txt", "--request-id", "r1")
        self.assertEqual(first["record"]["mode"], "diff")
        again = self.read("a.txt", "--request-id", "r1")
        self.assertEqual((again["record"]["mode"], again["text"]), ("full", "\n".join(numbered(1, 101))))
        self.assertEqual(len(self.entries()), 3)

    def test_a_text_is_not_told_again_once_another_was_shown(self):
        """The file is as it was then: what was shown last is not."""
        first, second = "\n".join(numbered(1, 50)), "\n".join(numbered(2, 51))
        self.file("a.txt", first)
        self.read("a.txt", "--request-id", "r1")
        self.file("a.txt", second)
        self.read("a.txt")
        self.file("a.txt", first)
        self.assertEqual(self.read("a.txt", "--request-id", "r1")["text"], first)
        self.file("a.txt", second)
        self.assertNotIn("unchanged", self.mode("a.txt"))

    def test_a_diff_is_not_told_again_to_a_reader_who_may_not_hold_its_base(self):
        for where in ("another head", "behind a compaction", "edited away"):
            with self.subTest(where=where):
                session = sha(where)[:8]
                self.file("a.txt", numbered(1, 100))
                base = self.answer("append", "--session", session, stdin=jsonl([harness.entry("begin")]))["entries"][0]["id"]
                self.read("a.txt", session=session)
                shown = self.last(session)["id"]
                self.file("a.txt", numbered(1, 101))
                self.assertEqual(self.mode("a.txt", "--request-id", "r1", session=session), "diff")
                head = []
                if where == "another head":
                    self.weir("head", "fork", "other", "--at", base, "--session", session)
                    head = ["--head", "other"]
                elif where == "edited away":
                    self.add("context_edit", {"target": shown, "replacement": None}, session)
                else:
                    self.compact(session)
                self.assertEqual(self.texts("a.txt", "--request-id", "r1", *head, session=session), numbered(1, 101))

    def test_in_place_of_a_lost_marker_the_content_goes_out_under_another_id(self):
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt")
        self.assertEqual(self.mode("a.txt", "--request-id", "r1"), "unchanged")
        answer = self.read("a.txt", "--request-id", "r1")
        self.assertEqual((answer["record"]["mode"], answer["text"]), ("full", "\n".join(numbered(1, 100))))
        self.assertNotEqual(self.last()["id"], "r1")
        self.assertEqual(len(self.entries()), 3)

    def test_a_file_that_changed_in_between_is_sent_as_it_is_now(self):
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt", "--request-id", "r1")
        self.file("a.txt", numbered(1, 101))
        self.assertEqual(self.texts("a.txt", "--request-id", "r1"), numbered(1, 101))
        self.assertEqual(self.mode("a.txt"), "unchanged")

    def test_the_id_of_another_entry_is_refused(self):
        self.file("a.txt", numbered(1, 100))
        self.read("a.txt", "--request-id", "r1")
        self.file("b.txt", "b\n")
        self.append("a message", id="m1")
        for args in (["b.txt", "--request-id", "r1"], ["a.txt:7-9", "--request-id", "r1"], ["a.txt", "--request-id", "m1"]):
            self.refused("ID_REUSED", "read", *args, "--session", "s")
        self.refused("INVALID_FIELD", "read", "a.txt", "--request-id", "two words", "--session", "s")

    def test_an_interrupted_read_records_nothing(self):
        self.append("x")
        with open(self.world.path("cwd", "big"), "wb") as file:
            file.truncate(200 << 20)
        before = self.world.dump()
        process = self.world.start("read", "big", "--session", "s")
        harness.wait_until(lambda: os.path.exists(f"/proc/{process.pid}/fd") and any("big" in os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{process.pid}/fd")), 5)
        process.send_signal(signal.SIGINT)
        ran = self.world.finish(process)
        if ran.code == 130:
            self.assertEqual((ran.out, self.world.dump()), (b"", before))
        else:
            self.assertEqual(ran.code, 0)  # it was faster


class OthersTest(ReadCase):
    def test_many_programs_at_one_head_give_no_marker_without_its_content_before_it(self):
        """Case 28."""
        self.begin("s")
        self.file("a.txt", numbered(1, 50))
        answers = []

        def reader(number):
            for _ in range(4):
                ran = self.world.run("--json", "read", "a.txt", "--session", "s")
                answers.append((number, ran.code, harness.parse_line(ran.text)))

        threads = [threading.Thread(target=reader, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({code for _, code, _ in answers}, {0})
        log = [entry["body"] for entry in self.entries()]
        recorded = [answer["record"] for _, _, answer in answers if answer["kind"] == "text"]
        key = harness.compact
        self.assertEqual(sorted(key(record) for record in recorded), sorted(key(record) for record in log))
        self.assertEqual((log[0]["mode"], log[0]["reason"]), ("full", "no_base_hash"))
        # Who asks while another's answer is on its way gets the text.
        self.assertEqual({record["mode"] for record in log} - {"full", "full_fallback", "unchanged"}, set())
        self.assertEqual(self.mode("a.txt"), "unchanged" if [record["mode"] for record in log[-2:]] != ["unchanged"] * 2 else "full_fallback")
        self.sound()

    def test_a_writer_between_any_two_moments_never_parts_text_and_version(self):
        """Case 35, H19."""
        versions = {letter: "".join(f"{letter} {i}\n" for i in range(1500)) for letter in "ab"}
        path = self.file("a.txt", versions["a"])
        stop = threading.Event()

        def write():
            while not stop.is_set():
                for content in versions.values():
                    with open(path, "r+") as file:
                        file.write(content)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(40):
                answer = self.read("a.txt", "--bypass")
                self.assertEqual(answer["record"]["served"], sha(answer["text"]))
        finally:
            stop.set()
            writer.join()


class SecretsTest(ReadCase):
    def planted(self):
        for family, text, secret in secrets_made.made(12, seed=11):
            yield family, text, secret

    def nowhere(self, secret):
        done = subprocess.run(["grep", "-rlaF", "--", secret, self.world.store], capture_output=True, text=True)
        self.assertEqual(done.stdout, "")

    def test_a_file_with_a_secret_is_trusted_and_not_kept(self):
        """Case 25."""
        for number, (family, text, secret) in enumerate(self.planted()):
            with self.subTest(family=family):
                lines = [*numbered(1, 40), text, *numbered(41, 80)]
                name = f"f{number}.txt"
                self.file(name, lines)
                answer = self.read(name)
                self.assertEqual((answer["record"]["mode"], answer["text"]), ("full", "\n".join(lines)))
                self.assertEqual(self.mode(name), "unchanged")
                self.assertFalse(os.path.exists(self.blob(answer["record"]["served"])))
                self.file(name, ["top", *lines])
                self.assertEqual(self.said(name)[0::2], ("full_fallback", "base_object_missing"))
                self.nowhere(secret)
        self.assertEqual(self.world.objects(), [])

    def test_kept_if_that_is_asked_for(self):
        _, text, _ = next(self.planted())
        self.file("a.txt", [*numbered(1, 40), text])
        record = self.read("a.txt", "--no-mask")["record"]
        self.assertTrue(os.path.exists(self.blob(record["served"])))

    def test_a_path_with_a_secret_leaves_no_record(self):
        """Case 25; served, with a note whose path is masked."""
        _, secret, _ = secrets_made.bare(1)[0]
        self.file(f"{secret}.txt", "text\n")
        for _ in range(2):
            answer = self.read(f"{secret}.txt")
            self.assertEqual((answer["kind"], answer["reason"], answer["text"]), ("uncached", "secret_in_path", "text\n"))
        self.assertEqual(self.last()["body"]["custom_type"], "read_uncached")
        self.assertEqual(self.world.objects(), [])
        self.nowhere(secret)

    def test_a_message_whose_text_was_masked_still_carries_its_record(self):
        """Case 25: compared before masking."""
        _, text, secret = next(self.planted())
        self.file("a.txt", f"{text}\n")
        answer = self.read("a.txt", session="elsewhere")
        self.begin("s")
        self.weir("append", "--session", "s", stdin=jsonl([{"type": "message", "body": {"role": "tool", "name": "read", "content": answer["text"], "read": answer["record"]}}]))
        self.assertIs(self.last()["body"]["text_masked"], True)
        self.assertEqual(self.mode("a.txt"), "unchanged")
        self.nowhere(secret)

    def test_another_text_is_no_evidence_though_it_was_masked(self):
        _, text, _ = next(self.planted())
        self.file("a.txt", f"{text}\n")
        answer = self.read("a.txt", session="elsewhere")
        self.weir("append", "--session", "s", stdin=jsonl([{"type": "message", "body": {"role": "tool", "name": "read", "content": answer["text"] + "more", "read": answer["record"]}}]))
        self.assertNotIn("text_masked", self.last()["body"])
        self.assertEqual(self.mode("a.txt"), "full")


if __name__ == "__main__":
    harness.main()
