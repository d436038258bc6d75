"""weir research and its directory: the log first, the files after it. Many writers, crashes, disks that refuse, files that
people edit, links that lead away, and a directory made again from the log alone."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

import harness
import research_case as r
from harness import compact
from research_case import ResearchCase, output, report, summary, tree

needs_strace = unittest.skipUnless(shutil.which("strace"), "strace is not here")


class FilesCase(ResearchCase):
    def without_times(self, root=None):
        """The tree with every clock time blanked: two runs of the same steps."""
        root = root or self.root
        found = {}
        for name in tree(root):
            path = os.path.join(root, name)
            if os.path.isfile(path):
                found[name] = r.re.sub(rb"20\d\d-\d\d-\d\dT[0-9:.]+Z", b"<time>", r.read(path))
        for name, key in (("manifest.json", "inputs_digest"),):
            if name in found:
                found[name] = r.re.sub(rb'"%s": "[^"]*"' % key.encode(), b"", found[name])
        return found


class WritersTest(FilesCase):
    """Case 36."""

    def race(self, count, *args):
        running = [self.world.start("--json", "research", *args, "--run", r.RUN) for _ in range(count)]
        return [self.world.finish(one) for one in running]

    def test_case_36_of_twenty_with_one_expected_revision_one_wins(self):
        self.begun()
        path = self.world.file("p.json", '{"note":1}')
        ran = self.race(20, "init", "--patch", path, "--expect-revision", "1")
        self.assertEqual(sorted(one.code for one in ran), [0] + [5] * 19)
        for one in ran:
            if one.code:
                self.assertEqual(json.loads(one.errors)["error"]["code"], "REVISION_MISMATCH", one)
        self.assertEqual((self.revision(), self.kinds()), (2, ["RESEARCH_STARTED", "RESEARCH_PATCHED"]))
        self.verified()

    def test_case_36_twenty_without_one_are_all_in_the_log(self):
        self.begun()
        paths = [self.world.file(f"p{n}.json", compact({f"note{n}": n})) for n in range(20)]
        running = [self.world.start("--json", "research", "init", "--patch", path, "--run", r.RUN) for path in paths]
        ran = [self.world.finish(one) for one in running]
        self.assertEqual([one.code for one in ran], [0] * 20, [str(one) for one in ran if one.code])
        self.assertEqual(self.revision(), 21)
        made = self.json_of("manifest.json")
        self.assertEqual(([made.get(f"note{n}") for n in range(20)], made["revision"]), (list(range(20)), 21))
        self.assertEqual(sorted(json.loads(one.text)["new_revision"] for one in ran), list(range(2, 22)))
        self.verified()

    def test_case_36_twenty_different_commands_at_once(self):
        self.summarized()
        commands = [["cite", f"https://e.example/{n}", "--status", "valid"] for n in range(8)]
        commands += [["pack"]] * 3 + [["gate", "B"]] * 3 + [["cite", "--extract"]] * 3
        commands += [["summarize", f"p1={self.world.file(f's{n}.md', summary(f'Fact {chr(97 + n)} [@{r.C1}].'))}"] for n in range(3)]
        running = [self.world.start("--json", "research", *args, "--run", r.RUN) for args in commands]
        ran = [self.world.finish(one) for one in running]
        self.assertEqual([one.code for one in ran], [0] * 20, [str(one) for one in ran if one.code])
        pool = [json.loads(line)["normalized_url"] for line in self.text_of("citations/citations.jsonl").splitlines()]
        self.assertEqual(len(pool), 11)
        self.verified()

    def test_twenty_inits_make_one_run(self):
        ran = self.race(20, "init", "--query", r.QUERY)
        self.assertEqual([one.code for one in ran], [0] * 20, [str(one) for one in ran if one.code])
        self.assertEqual(sum(json.loads(one.text)["created"] for one in ran), 1)
        self.assertEqual(self.kinds(), ["RESEARCH_STARTED"])
        self.verified()


class CrashTest(FilesCase):
    """Case 37."""

    steps = {
        "perspectives": ("begun", lambda self: ["perspectives", os.path.join(r.EXAMPLE, "perspectives.json")]),
        "ingest": ("planned", lambda self: ["ingest", "--wave", "1", *(f"{id}={r.EXAMPLE}/wave-1/{id}.md" for id in ("p1", "p2"))]),
        "cite": ("ingested", lambda self: ["cite", "--from", self.world.file("records.json", compact(r.example_records()))]),
        "extract": ("ingested", lambda self: ["cite", "--extract"]),
        "summarize": ("cited", lambda self: ["summarize", *(f"{id}={r.EXAMPLE}/summaries/{id}.md" for id in ("p1", "p2"))]),
        "pack": ("summarized", lambda self: ["pack"]),
        "gate": ("packed", lambda self: ["gate", "D"]),
        "bundle": ("gated", lambda self: ["bundle"]),
        "check": ("bundled", lambda self: ["check", self.world.file("report.md", report())]),
        "patch": ("bundled", lambda self: ["init", "--patch", self.world.file("patch.json", '{"note":1}'), "--expect-revision", str(self.revision())]),
    }  # fmt: skip

    def whole(self, step):
        """What the step leaves when nothing happens to it."""
        build, args = self.steps[step]
        getattr(self, build)()
        before = len(self.kinds())
        args = args(self)
        self.do(*args)
        return before, self.kinds(), self.without_times()

    def after(self, step, before, kinds, files, why):
        """Before or after, never a third; the next command needs no help."""
        seen = self.kinds()
        self.assertIn(seen, (kinds[:before], kinds), why)
        status = self.world.run("--json", "research", "status", "--run", r.RUN)
        self.assertEqual(status.code, 0, (why, str(status)))
        if seen == kinds[:before]:
            again = self.world.run("--json", "research", *self.steps[step][1](self), "--run", r.RUN)
            self.assertEqual(again.code, 0, (why, str(again)))
        else:
            self.patch({})
        hidden = [name for name in self.tree() if os.path.basename(name).startswith(".")]
        self.assertEqual(hidden, [], why)
        verified = self.world.run("--json", "research", "verify", "--run", r.RUN)
        self.assertEqual(verified.code, 0, (why, str(verified)))
        if self.kinds() == kinds:
            self.assertEqual(self.without_times(), files, why)

    def killed(self, step, calls, most=60):
        """Kills the step at each of these system calls in turn."""
        before, kinds, files = self.whole(step)
        build, args = self.steps[step]
        count = 0
        for number in range(1, most):
            getattr(self, build)()
            command = [str(a) for a in args(self)]
            done = subprocess.run(
                ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:signal=KILL:when={number}", harness.BIN, "--json", "research", *command, "--run", r.RUN],
                capture_output=True, env=self.world.environment(None), cwd=self.world.cwd, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            if done.returncode == 0:
                break
            self.assertIn(done.returncode, (-signal.SIGKILL, 128 + signal.SIGKILL), done.stderr)
            count += 1
            self.after(step, before, kinds, files, f"{step} killed at {calls} {number}")
        self.assertGreater(count, 0, "nothing was killed")

    def refused_by_the_disk(self, step, calls, error, most=60):
        before, kinds, files = self.whole(step)
        build, args = self.steps[step]
        for number in range(1, most):
            getattr(self, build)()
            command = [str(a) for a in args(self)]
            done = subprocess.run(
                ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:error={error}:when={number}", harness.BIN, "--json", "research", *command, "--run", r.RUN],
                capture_output=True, env=self.world.environment(None), cwd=self.world.cwd, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            if done.returncode == 0 and number > 1 and not done.stderr:
                break
            if done.returncode != 0:
                code = json.loads(done.stderr.decode().splitlines()[-1])["error"]["code"]
                self.assertIn(code, ("WRITE_FAILED", "STORAGE", "STORE_UNUSABLE", "CORRUPT"), done.stderr)
            self.after(step, before, kinds, files, f"{step}: {error} at {calls} {number}")

    @needs_strace
    def test_case_37_killed_at_each_rename(self):
        for step in self.steps:
            with self.subTest(step=step):
                self.killed(step, "rename,renameat,renameat2")

    @needs_strace
    def test_case_37_whatever_command_is_next_needs_no_help(self):
        """Summaries that replace others, killed at each rename: the next command may be any."""
        texts = {id: summary(f"Another fact of {id} [@{r.C1}].") for id in ("p1", "p2")}
        for number in range(1, 12):
            done = None
            for following in (("pack",), ("gate", "D"), ("gate", "B"), ("verify",), ("status",), ("bundle",), ("cite", "https://new.example/", "--status", "valid"), ("summarize", *self.named({"p1": summary()}, "others"))):
                with self.subTest(number=number, following=following[0]):
                    self.gated()
                    done = subprocess.run(
                        ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=rename,renameat,renameat2", "-e", f"inject=rename,renameat,renameat2:signal=KILL:when={number}", harness.BIN, "--json", "research", "summarize", *self.named(texts, "texts"), "--run", r.RUN],
                        capture_output=True, env=self.world.environment(None), cwd=self.world.cwd, stdin=subprocess.DEVNULL,
                    )  # fmt: skip
                    ran = self.world.run("--json", "research", *following, "--run", r.RUN)
                    self.assertIn(ran.code, (0, 8), ran)
                    self.assertNotIn("ARTIFACT_CHANGED", ran.text + ran.errors, ran)
                    self.verified()
            if done.returncode == 0:
                break

    @needs_strace
    def test_case_37_killed_at_each_sync(self):
        for step in ("ingest", "cite", "summarize", "bundle", "check"):
            with self.subTest(step=step):
                self.killed(step, "fsync,fdatasync")

    @needs_strace
    def test_case_37_killed_at_each_write(self):
        for step in ("ingest", "summarize", "pack"):
            with self.subTest(step=step):
                self.killed(step, "write,pwrite64,writev,pwritev")

    @needs_strace
    def test_case_37_killed_at_each_unlink_and_mkdir(self):
        for step in ("ingest", "extract", "pack", "bundle", "check"):
            with self.subTest(step=step):
                try:
                    self.killed(step, "unlink,unlinkat,mkdir,mkdirat")
                except AssertionError as error:
                    if "nothing was killed" not in str(error):
                        raise

    @needs_strace
    def test_case_37_a_rename_that_the_disk_refuses(self):
        for step in ("ingest", "summarize", "pack"):
            with self.subTest(step=step):
                self.refused_by_the_disk(step, "rename,renameat,renameat2", "EIO")

    def test_case_37_killed_at_any_time(self):
        chance = random.Random(37)
        self.begun()
        spans = {}
        for step in self.steps:
            before, kinds, files = self.whole(step)
            build, args = self.steps[step]
            getattr(self, build)()
            begun = time.monotonic()
            self.do(*args(self))
            spans[step] = time.monotonic() - begun
            for _ in range(6):
                getattr(self, build)()
                running = self.world.start("--json", "research", *args(self), "--run", r.RUN)
                time.sleep(chance.random() * spans[step])
                running.kill()
                self.world.finish(running)
                self.after(step, before, kinds, files, f"{step} killed")

    def test_case_37_killed_between_the_steps_a_run_goes_on(self):
        for step in ("perspectives", "ingest", "extract", "cite", "summarize", "pack"):
            if step == "perspectives":
                self.begun()
            running = self.world.start("--json", "research", *self.steps[step][1](self), "--run", r.RUN)
            self.world.finish(running)
            running = self.world.start("--json", "research", "status", "--run", r.RUN)
            running.kill()
            self.world.finish(running)
        for name in "BCD":
            self.gate(name)
        self.assertEqual(self.do("bundle")["bytes"], 3010)

    def test_case_37_an_interrupted_init(self):
        chance = random.Random(3)
        for _ in range(20):
            running = self.world.start("--json", "research", "init", "--query", r.QUERY, "--run", r.RUN)
            time.sleep(chance.random() * 0.03)
            running.kill()
            self.world.finish(running)
            self.init()
            self.assertEqual(self.kinds(), ["RESEARCH_STARTED"])
            self.verified()
            self.setUp()


class LeftoverTest(FilesCase):
    def test_what_a_crash_staged_is_removed(self):
        self.cited()
        self.leftovers = True
        for folder in ("summaries", "wave-1", "citations", "."):
            self.put(f"{folder}/.weir-0123456789abcdef", "half of some")
        self.assertEqual(self.do("verify")["findings"], [])
        self.summarize({"p1": summary(), "p2": summary()})
        self.assertEqual([name for name in self.tree() if ".weir-" in name], [])

    def test_other_hidden_files_are_left_alone_and_never_artifacts(self):
        self.leftovers = True
        self.packed()
        for name in (".DS_Store", "summaries/.p1.md.swp", "wave-1/.hidden.md"):
            self.put(name, "x")
        for name in "BCD":
            self.gate(name)
        self.assertEqual(self.do("verify")["findings"], [])
        for name in (".DS_Store", "summaries/.p1.md.swp", "wave-1/.hidden.md"):
            self.assertEqual(self.text_of(name), "x")

    def test_unknown_files_are_listed_and_no_error(self):
        self.packed()
        self.put("notes.txt", "mine")
        self.put("summaries/extra.md", "mine too")
        answer = self.do("verify")
        self.assertEqual((answer["findings"], sorted(answer["unknown_files"])), ([], ["notes.txt", "summaries/extra.md"]))
        self.gate("B")
        self.assertEqual(self.text_of("notes.txt"), "mine")

    def test_no_lock_or_marker_is_ever_there(self):
        self.completed()
        known = {
            "manifest.json", "gates.json", "perspectives.json", "wave-1", "wave-2", "citations", "summaries", "synthesis", "retry", "review", "logs", "wave-1/p1.md", "wave-1/p2.md", "wave-1/p1.meta.json",
            "wave-1/p2.meta.json", "citations/citations.jsonl", "citations/extracted-urls.txt", "citations/normalized-urls.txt", "citations/found-by.json", "citations/url-map.json", "summaries/p1.md", "summaries/p2.md",
            "summaries/summary-pack.json", "summaries/summary-pack.meta.json", "synthesis/input-bundle.txt", "synthesis/input-bundle.json", "synthesis/final-synthesis.md", "retry/retry-directives.json",
        }  # fmt: skip
        self.assertLessEqual(set(self.tree()), known)


class ChangedTest(FilesCase):
    """Hand-edited files: never overwritten, always told."""

    def edited(self, name, *command):
        """A file with one more line feed; what would write it refuses and leaves it."""
        self.put(name, self.bytes_of(name) + b"\n")
        error = self.refuse("ARTIFACT_CHANGED", *command)
        self.assertIn(name, error["message"] + json.dumps(error["details"]))

    def test_an_edited_file_is_never_overwritten(self):
        other = lambda name, text: self.world.file(name, text)  # noqa: E731
        for build, name, command in (
            ("planned", "perspectives.json", ("perspectives", other("p.json", r.pretty(r.perspectives("q1"))))),
            ("ingested", "wave-1/p1.md", ("ingest", "--wave", 1, f"p1={other('o.md', output())}")),
            ("ingested", "wave-1/p1.meta.json", ("ingest", "--wave", 1, f"p1={other('o.md', output())}")),
            ("cited", "citations/citations.jsonl", ("cite", "https://new.example/", "--status", "valid")),
            ("summarized", "summaries/p1.md", ("summarize", f"p1={other('s.md', summary())}")),
            ("packed", "gates.json", ("gate", "B")),
            ("packed", "manifest.json", ("gate", "B")),
            ("packed", "manifest.json", ("init", "--patch", other("patch.json", "{}"))),
        ):  # fmt: skip
            with self.subTest(name=name, command=command[0]):
                getattr(self, build)()
                self.edited(name, *command)

    def test_an_edited_pack_is_not_overwritten(self):
        self.packed()
        self.summarize({"p1": summary()})
        self.edited("summaries/summary-pack.json", "pack")

    def test_an_edited_bundle_is_not_overwritten(self):
        self.bundled()
        self.summarize({"p1": summary()})
        self.do("pack")
        self.gate("D")
        self.edited("synthesis/input-bundle.txt", "bundle")

    def test_a_file_in_the_way_that_the_log_never_held(self):
        self.cited()
        self.put("summaries/p1.md", "mine")
        self.refuse("ARTIFACT_CHANGED", "summarize", *self.named({"p1": summary()}, "summaries"))
        self.assertEqual(self.text_of("summaries/p1.md"), "mine")

    def test_an_edit_elsewhere_does_not_stop_other_files(self):
        self.cited()
        self.put("wave-1/p1.md", self.bytes_of("wave-1/p1.md") + b"\n")
        self.summarize({"p2": summary()})

    def test_an_older_version_of_a_file_is_never_taken_for_the_newest(self):
        self.summarized()
        old = self.bytes_of("summaries/p1.md")
        self.summarize({"p1": summary()})
        self.put("summaries/p1.md", old)
        self.assertEqual([(one["code"], one["path"]) for one in self.do("verify", code=3)["findings"]], [("ARTIFACT_CHANGED", "summaries/p1.md")])
        self.summarize({"p1": summary("Another one [@%s]." % r.C1)})
        self.do("pack")
        self.verified()

    def test_gate_b_reads_the_log_and_says_when_the_file_is_another(self):
        self.ingested()
        self.put("wave-1/p1.md", "no heading\n")
        ran = self.world.run("--json", "research", "gate", "B", "--run", r.RUN)
        self.assertIn(ran.code, (0, 5, 8), ran)
        codes = [(one["code"], one["path"]) for one in self.do("verify", code=3)["findings"]]
        self.assertIn(("ARTIFACT_CHANGED", "wave-1/p1.md"), codes)


class GoneTest(FilesCase):
    """A file that was deleted by hand is no dead end: what it held is in the log."""

    def gone(self, name, *again):
        self.bundled()
        good = self.bytes_of(name)
        os.remove(self.at(name))
        self.do(*again)
        self.assertEqual(self.bytes_of(name), good)
        self.verified()

    def test_a_summary_comes_back_when_it_is_handed_in_again(self):
        self.gone("summaries/p1.md", "summarize", f"p1={r.EXAMPLE}/summaries/p1.md")

    def test_an_output_comes_back_when_it_is_handed_in_again(self):
        self.gone("wave-1/p1.md", "ingest", "--wave", 1, f"p1={r.EXAMPLE}/wave-1/p1.md")

    def test_records_come_back_when_they_are_handed_in_again(self):
        self.gone("citations/citations.jsonl", "cite", "--from", self.world.file("records.json", compact(r.example_records())))

    def test_perspectives_come_back_when_they_are_handed_in_again(self):
        self.gone("perspectives.json", "perspectives", os.path.join(r.EXAMPLE, "perspectives.json"))

    def test_a_pack_comes_back_when_it_is_built_again(self):
        self.gone("summaries/summary-pack.json", "pack")

    def test_a_bundle_comes_back_when_it_is_written_again(self):
        self.gone("synthesis/input-bundle.txt", "bundle")


class LinkTest(FilesCase):
    """Case 3: links, and paths that lead away."""

    def setUp(self):
        super().setUp()
        self.cited()

    def away(self, name):
        """Puts a link to the outside in the place of a directory or file of the run."""
        path = self.at(name)
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(self.outside, "there"))
            shutil.rmtree(path)
        elif os.path.exists(path):
            shutil.copy(path, os.path.join(self.outside, "there"))
            os.remove(path)
        else:
            os.mkdir(os.path.join(self.outside, "there"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(os.path.join(self.outside, "there"), path)
        return tree(self.outside)

    def test_case_3_a_directory_that_is_a_link_to_the_outside(self):
        for name, command in (("summaries", ("summarize", *self.named({"p1": summary()}, "summaries"))), ("citations", ("cite", "https://new.example/", "--status", "valid"))):
            with self.subTest(name=name):
                self.setUp()
                there = self.away(name)
                self.refuse("PATH_TRAVERSAL", *command)
                self.assertEqual(tree(self.outside), there)

    def test_case_3_a_file_that_is_a_link_to_the_outside(self):
        self.packed()
        there = self.away("summaries/p1.md")
        self.error("PATH_TRAVERSAL ARTIFACT_CHANGED", "summarize", *self.named({"p1": summary()}, "summaries"))
        self.assertEqual(tree(self.outside), there)
        self.refuse("PATH_TRAVERSAL", "gate", "D")

    def test_case_3_a_link_to_the_outside_is_not_read(self):
        self.packed()
        secret = os.path.join(self.outside, "secret.txt")
        with open(secret, "w") as file:
            file.write("the secret of the house [@%s].\n" % r.C1)
        os.symlink(secret, self.at("summaries/x.md"))
        pack = self.json_of("summaries/summary-pack.json")
        pack["summaries"][0]["summary_md"] = "summaries/x.md"
        self.put("summaries/summary-pack.json", pack)
        self.refuse("PATH_TRAVERSAL", "gate", "D")
        self.assertFalse(any("secret of the house" in ran.text + ran.errors for ran in self.world.runs))

    def test_case_3_the_manifest_as_a_link(self):
        there = self.away("manifest.json")
        self.error("PATH_TRAVERSAL ARTIFACT_CHANGED", "init", "--patch", self.world.file("p.json", "{}"))
        self.assertEqual(tree(self.outside), there)

    def test_case_3_an_adopted_manifest_whose_paths_climb(self):
        for path in ("../../outside", "/etc", "a//b", "./x", "a\\b", ".."):
            with self.subTest(path=path):
                self.setUp()
                self.run_id = "dr_climbs"
                value = r.manifest(self.root, self.run_id)
                value["artifacts"]["paths"]["summaries_dir"] = path
                self.put("manifest.json", value)
                self.put("gates.json", r.gates(self.run_id))
                files = tree(r.ResearchCase._base)
                ran = self.world.run("--json", "research", "init", "--adopt", "--run", self.run_id)
                self.assertEqual((ran.code, json.loads(ran.errors)["error"]["code"] if ran.code else None), (6, "PATH_TRAVERSAL"), ran)
                self.assertEqual(tree(r.ResearchCase._base), files)

    def test_a_directory_where_a_file_belongs(self):
        os.makedirs(self.at("summaries/p1.md/x"))
        self.error("ARTIFACT_CHANGED WRITE_FAILED PATH_TRAVERSAL", "summarize", *self.named({"p1": summary()}, "summaries"))
        self.assertTrue(os.path.isdir(self.at("summaries/p1.md/x")))

    def test_a_file_where_a_directory_belongs(self):
        if os.path.isdir(self.at("summaries")):
            shutil.rmtree(self.at("summaries"))
        self.put("summaries", "x")
        self.refuse("WRITE_FAILED", "summarize", *self.named({"p1": summary()}, "summaries"))

    def test_a_fifo_where_a_file_belongs_does_not_hang(self):
        self.packed()
        os.remove(self.at("summaries/p1.md"))
        os.mkfifo(self.at("summaries/p1.md"))
        ran = self.world.run("--json", "research", "gate", "D", "--run", r.RUN, timeout=20)
        self.assertIn(ran.code, (5, 6, 8), ran)
        os.remove(self.at("summaries/p1.md"))


class VerifyTest(FilesCase):
    """Cases 40 and 41."""

    def found(self, code=3):
        return self.do("verify", code=code)["findings"]

    def test_case_40_one_changed_byte_of_any_file_is_named(self):
        self.completed()
        names = [name for name in self.tree() if os.path.isfile(self.at(name))]
        self.assertGreater(len(names), 15)
        for name in names:
            with self.subTest(name=name):
                good = self.bytes_of(name)
                at = len(good) // 2
                self.put(name, good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
                self.assertEqual([(one["code"], one["path"]) for one in self.found()], [("ARTIFACT_CHANGED", name)])
                self.put(name, good)
        self.verified()

    def test_case_40_a_file_that_is_gone_is_named(self):
        self.completed()
        for name in ("manifest.json", "citations/citations.jsonl", "summaries/p2.md", "summaries/summary-pack.json", "synthesis/input-bundle.txt"):
            with self.subTest(name=name):
                good = self.bytes_of(name)
                os.remove(self.at(name))
                self.assertIn(name, [one["path"] for one in self.found()])
                self.put(name, good)

    def test_case_40_a_changed_entry_is_named(self):
        self.gated()
        target = next(one for one in self.entries() if one["type"] == "SUMMARY_INGESTED")
        connection = self.database()
        connection.execute("UPDATE entry SET body=replace(body, 'Median load', 'Medium load') WHERE id=?", (target["id"],))
        connection.commit()
        connection.close()
        ran = self.world.run("--json", "research", "verify", "--run", r.RUN)
        self.assertIn(ran.code, (3, 9), ran)
        self.assertIn(target["id"], ran.text + ran.errors)
        self.assertEqual(ran.code, 3, ran)

    def test_case_40_several_findings_are_all_listed(self):
        self.completed()
        for name in ("summaries/p1.md", "wave-1/p2.md", "gates.json"):
            self.put(name, self.bytes_of(name) + b" ")
        self.assertEqual(sorted(one["path"] for one in self.found()), ["gates.json", "summaries/p1.md", "wave-1/p2.md"])

    def test_verify_changes_nothing(self):
        self.completed()
        self.put("summaries/p1.md", "x")
        before, log = self.tree(), self.world.dump()
        self.found()
        self.assertEqual((self.tree(), self.world.dump()), (before, log))

    def test_every_stage_verifies(self):
        for build in (self.begun, self.planned, self.ingested, self.cited, self.summarized, self.packed, self.gated, self.bundled, self.completed, self.failed):
            build()
            self.verified()

    def test_verify_after_every_kind_of_change(self):
        self.bundled()
        self.plan("p1", "p2", "p3")
        self.ingest({"p3": output("https://third.example/")})
        self.error("UNKNOWN_CID", "summarize", *self.named({"p3": summary("x [@cid_x].")}, "summaries"))
        self.cite({"https://third.example/": "valid"})
        self.summarize({"p3": summary()})
        self.do("cite", "--extract")
        self.do("pack")
        for name in "BCD":
            self.gate(name)
        self.do("bundle")
        self.check("bad\n", code=8)
        self.patch({"limits": {"max_summary_kb": 7}})
        self.verified()

    def rebuilt(self):
        there = os.path.join(self.outside, "again")
        answer = self.do("verify", "--rebuild", there)
        self.assertEqual(answer["rebuilt"]["files"], len([name for name in tree(there) if os.path.isfile(os.path.join(there, name))]))
        return there

    def same_files(self, one, other):
        """Two directories, byte for byte, but for the place they name."""
        first, second = ({name: r.read(os.path.join(root, name)).replace(root.encode(), b"<root>") for name in tree(root) if os.path.isfile(os.path.join(root, name))} for root in (one, other))
        self.assertEqual(sorted(first), sorted(second))
        for name in first:
            self.assertEqual(first[name].replace(other.encode(), b"<root>"), second[name].replace(one.encode(), b"<root>"), name)

    def test_case_41_the_directory_is_rebuilt_from_the_log_alone(self):
        for build in (self.planned, self.cited, self.completed, self.failed):
            with self.subTest(build=build.__name__):
                build()
                shutil.rmtree(os.path.join(self.outside, "again"), ignore_errors=True)
                self.same_files(self.root, self.rebuilt())

    def test_case_41_also_when_the_directory_is_gone(self):
        self.completed()
        kept = os.path.join(self.outside, "kept")
        shutil.copytree(self.root, kept)
        shutil.rmtree(self.root)
        there = os.path.join(self.outside, "again")
        ran = self.world.run("--json", "research", "verify", "--rebuild", there, "--run", r.RUN)
        self.assertIn(ran.code, (0, 3), ran)
        first = {name: r.read(os.path.join(kept, name)) for name in tree(kept) if os.path.isfile(os.path.join(kept, name))}
        second = {name: r.read(os.path.join(there, name)) for name in tree(there) if os.path.isfile(os.path.join(there, name))}
        self.assertEqual(sorted(first), sorted(second))
        first["manifest.json"], second["manifest.json"] = (json.loads(one["manifest.json"]) for one in (first, second))
        for one in (first, second):
            one["manifest.json"]["artifacts"].pop("root")
        self.assertEqual(first, second)

    def test_case_41_rebuilt_in_its_own_place_it_is_what_it_was_and_nothing_is_missing(self):
        self.completed()
        kept = {name: r.read(os.path.join(self.root, name)) for name in tree(self.root) if os.path.isfile(os.path.join(self.root, name))}
        shutil.rmtree(self.root)
        self.assertEqual(self.do("verify", code=3)["findings"][0]["code"], "MISSING_ARTIFACT")
        for empty in (False, True):
            if empty:
                os.mkdir(self.root)
            answer = self.do("verify", "--rebuild", self.root)
            self.assertEqual((answer["ok"], answer["findings"], answer["unknown_files"]), (True, [], []))
            self.assertEqual((answer["checked"]["files"], answer["rebuilt"]["files"]), (len(kept), len(kept)))
            self.assertEqual({name: r.read(os.path.join(self.root, name)) for name in kept}, kept)
            self.assertIn("the run is what its log says", self.weir("research", "verify", "--run", r.RUN).text)
            shutil.rmtree(self.root)

    def test_case_41_rebuilt_elsewhere_what_is_missing_in_its_own_place_is_still_told(self):
        self.completed()
        shutil.rmtree(self.root)
        answer = self.do("verify", "--rebuild", os.path.join(self.outside, "again"), code=3)
        self.assertEqual({one["code"] for one in answer["findings"]}, {"MISSING_ARTIFACT"})

    def test_case_41_a_rebuilt_directory_can_be_worked_in(self):
        self.gated()
        there = self.rebuilt()
        self.assertEqual(self.answer("research", "bundle", "--run", r.RUN, "--run-root", there)["bytes"], 3010)

    def test_case_41_rebuild_wants_an_empty_place(self):
        self.gated()
        full = os.path.join(self.outside, "full")
        os.mkdir(full)
        with open(os.path.join(full, "mine"), "w") as file:
            file.write("x")
        before = tree(self.outside)
        self.refuse("INVALID_ARGS ALREADY_EXISTS_CONFLICT", "verify", "--rebuild", full)
        self.assertEqual(tree(self.outside), before)
        os.mkdir(os.path.join(self.outside, "empty"))
        self.do("verify", "--rebuild", os.path.join(self.outside, "empty"))

    def test_case_41_a_moved_run_verifies_with_a_warning_only(self):
        self.completed()
        moved = os.path.join(self.runs, "moved")
        os.rename(self.root, moved)
        answer = self.answer("research", "verify", "--run", r.RUN, "--run-root", moved)
        self.assertEqual((answer["findings"], answer["ok"]), ([], True))
        self.assertTrue(any("ROOT_MOVED" in str(one) for one in answer["warnings"]), answer)

    def test_case_41_a_moved_run_can_be_worked_in(self):
        self.gated()
        moved = os.path.join(self.runs, "moved")
        os.rename(self.root, moved)
        self.assertEqual(self.answer("research", "bundle", "--run", r.RUN, "--run-root", moved)["bytes"], 3010)
        self.assertFalse(os.path.exists(self.root))

    def test_case_41_every_step_is_an_entry(self):
        self.completed()
        kinds = self.kinds()
        for kind in ("RESEARCH_STARTED", "PERSPECTIVES_WRITTEN", "WAVE_OUTPUT_INGESTED", "CITATION_RECORDED", "SUMMARY_INGESTED", "SUMMARY_PACK_BUILT", "GATE_EVALUATED", "BUNDLE_WRITTEN", "SYNTHESIS_CHECKED"):
            self.assertIn(kind, kinds)
        self.assertEqual(self.json_of("manifest.json")["revision"], self.revision())

    def test_no_body_holds_a_time_of_the_clock(self):
        self.completed()
        year = self.entries()[0]["at"][:10]
        for one in self.entries():
            self.assertNotIn(year, json.dumps(one["body"]), one["type"])

    def test_a_large_output_is_a_blob_and_comes_back(self):
        self.planned()
        text = output() + "x" * 100000 + "\n"
        self.ingest({"p1": text})
        self.assertEqual(self.text_of("wave-1/p1.md"), text)
        self.assertNotIn("x" * 1000, json.dumps(self.last("WAVE_OUTPUT_INGESTED")))
        self.same_files(self.root, self.rebuilt())
        self.verified()

    def test_a_damaged_blob_is_corrupt(self):
        self.planned()
        self.ingest({"p1": output() + "x" * 100000 + "\n"})
        [path] = self.world.objects()
        os.chmod(path, 0o600)
        data = r.read(path)
        with open(path, "wb") as file:
            file.write(bytes([data[0] ^ 1]) + data[1:])
        self.error("CORRUPT", "verify", "--rebuild", os.path.join(self.outside, "again"))
        ran = self.world.run("--json", "research", "verify", "--run", r.RUN)
        self.assertIn(ran.code, (3, 9), ran)


class DryTest(FilesCase):
    """Case 44."""

    def test_case_44_dry_runs_write_neither_entry_nor_file(self):
        for build, *command in (
            ("begun", "perspectives", os.path.join(r.EXAMPLE, "perspectives.json")), ("planned", "ingest", "--wave", 1, f"p1={r.EXAMPLE}/wave-1/p1.md"), ("ingested", "cite", "--extract"),
            ("ingested", "cite", r.URL1, "--status", "valid"), ("cited", "summarize", f"p1={r.EXAMPLE}/summaries/p1.md"), ("summarized", "pack"), ("packed", "gate", "B"), ("packed", "gate", "C"),
            ("packed", "gate", "D"), ("gated", "bundle"), ("bundled", "check", self.world.file("r.md", report())), ("bundled", "init", "--patch", self.world.file("p.json", '{"status":"paused"}')),
        ):  # fmt: skip
            with self.subTest(command=command):
                getattr(self, build)()
                dry = self.dry(*command)
                done = self.do(*command)
                self.assertEqual(sorted(dry), sorted(done))

    def test_case_44_the_same_again_adds_nothing(self):
        self.bundled()
        for command in (
            ("perspectives", os.path.join(r.EXAMPLE, "perspectives.json")), ("ingest", "--wave", 1, *(f"{id}={r.EXAMPLE}/wave-1/{id}.md" for id in ("p1", "p2"))), ("cite", "--extract"),
            ("cite", "--from", self.world.file("records.json", compact(r.example_records()))), ("summarize", *(f"{id}={r.EXAMPLE}/summaries/{id}.md" for id in ("p1", "p2"))), ("pack",), ("bundle",),
            ("init", "--query", r.QUERY),
        ):  # fmt: skip
            with self.subTest(command=command[0]):
                marked = r.marks(self.root)
                self.same(*command)
                self.assertEqual(r.marks(self.root), marked)

    def test_an_unchanged_file_is_left_alone(self):
        self.packed()
        before = r.marks(self.root)
        self.gate("B")
        after = r.marks(self.root)
        self.assertEqual({name for name in before if before[name] != after[name]} - {"."}, {"manifest.json", "gates.json"})

    def test_files_are_private(self):
        self.completed()
        for name, (mode, _) in self.tree().items():
            self.assertEqual(int(mode, 8) & 0o077, 0, name)


if __name__ == "__main__":
    r.main()
