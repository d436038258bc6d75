"""weir reads, weir reads digest: what is trusted, what that saved, and what had been read before the compaction."""

import os

import harness
from harness import needs_root, screen
from read_case import ReadCase, numbered, sha

ZERO = {"full": 0, "full_fallback": 0, "unchanged": 0, "unchanged_range": 0, "diff": 0, "range_diff": 0, "not_evidence": 0, "malformed": 0}
TITLE = "[already read before compaction; content is no longer in context]"


class StatusTest(ReadCase):
    def sums_hold(self, status):
        """Section 12: net = saved - inflated = baseline - sent, tokens = ceil(net / 4)."""
        told = status["bytes"]
        self.assertEqual(told["net"], told["saved"] - told["inflated"])
        self.assertEqual(told["net"], told["baseline"] - told["sent"])
        self.assertEqual(status["tokens_net"], -(-told["net"] // 4))
        self.assertEqual(told["saved"], sum(status["saved_by"].values()))

    def test_the_first_read_of_a_large_file_saves_nothing(self):
        """Case 45, H12."""
        self.file("a.txt", ["x" * 90] * 9999)
        record = self.read("a.txt")["record"]
        status = self.status()
        self.assertGreater(record["bytes"], 909000)
        self.assertEqual(status["bytes"], {"baseline": record["sent"], "sent": record["sent"], "saved": 0, "inflated": 0, "net": 0, "estimated": False})
        self.assertEqual((status["tokens_net"], status["reads"]), (0, {**ZERO, "full": 1}))

    def test_every_count_and_sum_of_a_session(self):
        """Case 45, section 12."""
        lines = numbered(1, 300)
        self.file("a.txt", lines)
        self.file("tiny", "x")
        sent = [self.read(*args)["record"] for args in (["a.txt"], ["a.txt"], ["a.txt:10-250"], ["tiny"], ["tiny"])]
        self.file("a.txt", [*lines[:99], "changed", *lines[100:]])
        sent.append(self.read("a.txt")["record"])
        sent.append(self.read("a.txt", "--bypass")["record"])
        status = self.status()
        self.assertEqual(status["reads"], {**ZERO, "full": 3, "unchanged": 2, "unchanged_range": 1, "diff": 1})
        self.assertEqual((status["boundary"], status["entries"], status["paths"], status["scopes"], status["pending"]), ("root", 8, 2, 3, 0))
        self.assertEqual((status["bytes"]["sent"], status["bytes"]["baseline"]), (sum(r["sent"] for r in sent), sum(r["baseline"] for r in sent)))
        self.assertEqual(status["saved_by"], {"unchanged": sent[1]["baseline"] - sent[1]["sent"], "unchanged_range": sent[2]["baseline"] - sent[2]["sent"], "diff": sent[5]["baseline"] - sent[5]["sent"], "range_diff": 0})
        self.assertEqual(status["bytes"]["inflated"], sent[4]["sent"] - sent[4]["baseline"])
        self.assertEqual(status["resent_by"]["bypass"], sent[6]["sent"])
        self.assertEqual(status["blobs"]["objects"], 3)
        self.sums_hold(status)

    def test_why_content_was_sent_again(self):
        """Case 45: each cause once."""
        self.file("a.txt", numbered(1, 300))
        size = self.read("a.txt")["record"]["sent"]
        none = {"barrier": 0, "refresh": 0, "bypass": 0, "repeat": 0, "blob": 0}
        self.assertEqual(self.status()["resent_by"], none)
        self.refresh("a.txt")
        self.read("a.txt")
        self.assertEqual(self.status()["resent_by"], {**none, "refresh": size})
        for _ in range(3):
            self.read("a.txt")
        self.assertEqual(self.status()["resent_by"], {**none, "refresh": size, "repeat": size})
        self.compact()
        self.assertEqual(self.status()["resent_by"], none)
        version = self.read("a.txt")["record"]["served"]
        self.assertEqual(self.status()["resent_by"], {**none, "barrier": size})
        os.remove(self.blob(version))
        self.file("a.txt", numbered(1, 301))
        again = self.read("a.txt")["record"]["sent"]
        self.assertEqual(self.status()["resent_by"], {**none, "barrier": size, "blob": again})
        self.sums_hold(self.status())

    def test_looking_and_listing_add_nothing_to_the_log(self):
        """Case 45, H27."""
        self.file("a.txt", "alpha\n")
        self.read("a.txt")
        self.compact()
        before = self.world.dump()
        for args in (["reads"], ["reads", "a.txt"], ["reads", "digest"], ["readcache-status"]):
            self.weir(*args, "--session", "s")
        self.weir("read", "a.txt", "--session", "s", "--no-record")
        self.assertEqual(self.world.dump(), before)

    def test_one_file_in_detail(self):
        path = self.file("a.txt", numbered(1, 100))
        first = self.read("a.txt:1-50")["record"]["served"]
        shown = [self.last()["id"]]
        self.file("a.txt", [*numbered(1, 99), "hundred"])
        second = self.read("a.txt:40-60")["record"]["served"]
        shown.append(self.last()["id"])
        self.refresh("a.txt", "45-47")
        self.assertEqual(self.status("./a.txt"), {
            "path": path, "blocked": [[45, 47]], "slots": [{"scope": "r:1:50", "version": first, "seq": 1}, {"scope": "r:40:60", "version": second, "seq": 2}],
            "view": [{"lines": [1, 39], "version": first, "seq": 1, "entry": shown[0]}, {"lines": [40, 60], "version": second, "seq": 2, "entry": shown[1]}],
        })  # fmt: skip
        text = self.weir("reads", "a.txt", "--session", "s").text
        self.assertIn(f"1-39               held in {first[:12]}, by {shown[0]}\n", text)
        self.assertIn("45-47              withdrawn\n", text)
        self.assertEqual(self.status("none.txt")["view"], [])
        self.assertIn("no line is held", self.weir("reads", "none.txt", "--session", "s").text)

    def test_at_an_entry_and_at_a_head(self):
        """Contract page of the faces, 27: a smaller window after a compaction, root again before it."""
        self.file("a.txt", "alpha\n")
        self.read("a.txt")
        before = self.last()["id"]
        barrier = self.compact()
        self.assertEqual((self.status()["entries"], self.status()["boundary"]), (0, f"compaction:{barrier}"))
        self.assertEqual((self.status("--at", before)["entries"], self.status("--at", before)["boundary"]), (2, "root"))
        self.refused("NOT_FOUND", "reads", "--session", "s", "--head", "none")
        self.refused("NOT_FOUND", "reads", "--session", "none")

    def test_what_people_see(self):
        self.file("a.txt", numbered(1, 300))
        self.read("a.txt")
        self.read("a.txt")
        ran = self.world.terminal("reads", "--session", "s")
        shown = "\n".join(screen(ran.out))
        for words in ("3 entries since root", "1 scopes of 1 files", "unchanged", "saved", "about"):
            self.assertIn(words, shown)
        self.assertNotIn("\x1b", self.weir("reads", "--session", "s").text)


class DigestTest(ReadCase):
    def digest(self, *args):
        return self.answer("reads", "digest", "--session", "s", *args)

    def test_a_file_of_many_ranges_does_not_hide_the_others(self):
        self.file("many.txt", numbered(1, 2000))
        self.file("one.txt", numbered(1, 5))
        self.read("one.txt")
        for first in range(1, 200, 3):
            self.read(f"many.txt:{first}-{first}")
        self.compact()
        lines = self.digest()["text"].split("\n")
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[1], r"^many.txt lines 1-1, 4-4, .*, 46-46 and 51 more of 2000, unchanged since")

    def test_lines_of_two_versions_are_not_called_unchanged(self):
        self.file("a.txt", numbered(1, 40))
        self.read("a.txt:1-10")
        self.file("a.txt", ["FIVE" if line == "line 5" else line for line in numbered(1, 40)])
        self.read("a.txt:11-20")
        self.compact()
        self.assertEqual([file["state"] for file in self.digest()["files"]], ["changed since"])

    def test_same_edited_and_deleted_files_are_told_apart_and_nothing_is_trusted(self):
        """Case 46."""
        os.makedirs(self.world.path("cwd", "src"))
        content = {}
        for name, lines in (("src/gone.cc", 3), ("src/b.cc", 5000), ("src/a.cc", 400)):
            self.file(name, numbered(1, lines))
            content[name] = sha("\n".join(numbered(1, lines)))
            self.read(name)
        self.read("src/b.cc", "--offset", 4001)
        self.compact()
        self.file("src/b.cc", numbered(1, 4999))
        os.remove(self.world.path("cwd", "src/gone.cc"))
        wanted = [
            TITLE,
            f"src/b.cc lines 1-2000, 4001-5000 of 5000, changed since ({content['src/b.cc'][:12]})",
            f"src/a.cc lines 1-400 of 400, unchanged since ({content['src/a.cc'][:12]})",
            f"src/gone.cc lines 1-3 of 3, gone ({content['src/gone.cc'][:12]})",
        ]
        self.assertEqual(self.weir("reads", "digest", "--session", "s").lines, wanted)
        answer = self.digest()
        self.assertEqual((answer["text"].split("\n"), answer["more"]), (wanted, 0))
        self.assertEqual(answer["files"][1], {"path": "src/a.cc", "lines": [[1, 400]], "total_lines": 400, "state": "unchanged since", "version": content["src/a.cc"]})
        self.assertEqual(self.mode("src/a.cc"), "full")

    def test_without_a_compaction_there_is_nothing_to_say(self):
        self.file("a.txt", "alpha\n")
        self.read("a.txt")
        ran = self.weir("reads", "digest", "--session", "s")
        self.assertEqual((ran.out, ran.errors), (b"", "no file was held when this path was compacted, or it never was\n"))
        self.assertEqual(self.digest(), {"files": [], "more": 0, "text": ""})

    def test_it_stays_within_4_kib_and_50_files(self):
        """Case 46."""
        for i in range(60):
            self.file(f"folder-with-a-long-name/{i:03d}-{'n' * 30}.txt", "x\n")
            self.read(f"folder-with-a-long-name/{i:03d}-{'n' * 30}.txt")
        self.compact()
        answer = self.digest()
        lines = answer["text"].split("\n")
        self.assertLessEqual(len(answer["text"].encode()), 4096)
        self.assertEqual((len(answer["files"]), answer["more"]), (50, 10))
        self.assertTrue(lines[1].startswith("folder-with-a-long-name/059-"), lines[1])
        self.assertEqual(lines[-1], f"and {60 - (len(lines) - 2)} more")

    def test_what_may_not_be_looked_at_is_not_checked(self):
        os.mkdir(self.world.path("other"))
        with open(self.world.path("other", "x.txt"), "w") as file:
            file.write("x\n")
        self.read(self.world.path("other", "x.txt"), "--root", self.world.path("other"))
        self.file("now-denied.txt", "y\n")
        self.read("now-denied.txt")
        self.file("large.txt", "z\n")
        self.read("large.txt")
        self.compact()
        with open(self.world.path("cwd", "large.txt"), "wb") as file:
            file.truncate(3 << 30)
        self.config(deny=["now-*"])
        self.assertEqual([(file["path"], file["state"]) for file in self.digest()["files"]], [("large.txt", "not checked"), ("now-denied.txt", "not checked"), (self.world.path("other", "x.txt"), "not checked")])

    def test_a_name_with_a_line_feed_is_one_line(self):
        self.file("x\nsrc/evil.cc lines 1-9 of 9, unchanged since (000000000000)", "x\n")
        self.read("x\nsrc/evil.cc lines 1-9 of 9, unchanged since (000000000000)")
        self.compact()
        self.assertEqual(len(self.digest()["text"].split("\n")), 2)
        self.assertEqual(len(self.weir("reads", "digest", "--session", "s").lines), 2)

    def test_the_latest_compaction_counts(self):
        for name in ("first.txt", "second.txt"):
            self.file(name, "x\n")
            self.read(name)
            self.compact()
        self.assertEqual([file["path"] for file in self.digest()["files"]], ["second.txt"])
        self.assertEqual([file["path"] for file in self.digest("--at", "main~1")["files"]], ["first.txt"])


class DenyListTest(ReadCase):
    NAMES = """.env .env.local .envrc prod.env a.pem a.pem.bak a.key a.key.old a.p12 a.pfx a.crt a.cer a.der a.pk8 a.ppk a.jks a.keystore a.kdbx id_work id_rsa id_rsa.pub id_ed25519.old id_ecdsa_sk
    id_dsa .npmrc .netrc _netrc .pypirc .pgpass .my.cnf .git-credentials .htpasswd .dockercfg credentials credentials.json secrets.yml kubeconfig kubeconfig.yml a.tfstate a.tfstate.backup
    .ssh/config .gnupg/x .aws/config .kube/config .docker/config.json""".split()
    HARMLESS = [".env.example", ".env.sample", ".env.template", "environment", "keys.txt", "id_card.txt", "secret.txt", "my.env.txt", "ssh/config"]

    def test_every_name_is_served_without_a_trace(self):
        """Case 37, H6, H35."""
        mark = "the text of a denied file "
        spellings = []
        for name in self.NAMES:
            self.file(name, mark + name)
            spellings += [name, self.other_case(name)]
            self.file(spellings[-1], mark + name)
        for number, name in enumerate(self.NAMES[:6] + [".ssh/config"]):
            os.symlink(name, self.world.path("cwd", f"link-{number}.txt"))
            spellings.append(f"link-{number}.txt")
        os.symlink(".ssh", self.world.path("cwd", "plain"))
        spellings.append("plain/config")
        self.file(".env. . ", mark + ".env")
        spellings.append(".env. . ")
        for spelling in spellings:
            with self.subTest(spelling=spelling):
                answer = self.read(spelling)
                self.assertEqual((answer["kind"], answer["reason"]), ("uncached", "denied_path"))
                self.assertTrue(answer["text"].startswith(mark), answer)
        self.assertEqual({entry["type"] for entry in self.entries()}, {"custom"})
        self.assertEqual({(entry["body"]["custom_type"], entry["body"]["data"]["reason"]) for entry in self.entries()}, {("read_uncached", "denied_path")})
        self.assertEqual(self.world.objects(), [])
        self.assertNotIn(sha(mark + ".env"), "\n".join(self.world.dump()))
        self.assertEqual(self.status()["paths"], 0)

    def other_case(self, name):
        folder, slash, last = name.rpartition("/")
        return folder.upper() + slash + last.upper() if not last.startswith("id_") else folder + slash + last.title()

    def test_names_that_only_look_alike_are_read_as_any_other(self):
        for name in self.HARMLESS:
            self.file(name, name)
            self.assertEqual(self.mode(name), "full", name)

    def test_they_can_be_refused(self):
        self.config(denied="refuse")
        self.file(".env", "A=b\n")
        error = self.refused("DENIED_BY_POLICY", "read", ".env", "--session", "s")
        self.assertIn("deny list", error["message"])

    def test_the_store_itself_is_never_read_into_it(self):
        self.append("x")
        target = os.path.join(self.world.store, "notes.txt")
        with open(target, "w") as file:
            file.write("x\n")
        os.symlink(self.world.store, self.world.path("cwd", "st"))
        for path in (target, "st/notes.txt"):
            self.assertEqual(self.read(path, "--root", "/")["reason"], "denied_path")

    @needs_root
    def test_files_are_their_owners_alone_and_the_project_gets_none(self):
        """Case 37."""
        self.file("a.txt", numbered(1, 10))
        self.weir("read", "a.txt", "--session", "s", umask=0)
        for folder, _, files in os.walk(self.world.store):
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700, folder)
            for name in files:
                self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600, name)
        self.assertEqual(os.listdir(self.world.cwd), ["a.txt"])


if __name__ == "__main__":
    harness.main()
