"""A purge, and what others do at the same time: nobody calls it damage, and damage is still called so."""

import collections
import os
import shutil
import threading

import harness
from harness import CliTest, entry, jsonl

ROUNDS = int(os.environ.get("WEIR_ROUNDS", "25"))  # sessions that each of two writers makes and purges


class BesideTest(CliTest):
    def setUp(self):
        super().setUp()
        self.weir("append", "--session", "kept", stdin=jsonl([entry(f"kept {i} " + "k" * 70000) for i in range(3)]))
        self.seen = collections.Counter()
        self.wrong = []

    def note(self, what, ran, allowed):
        self.seen[what, ran.code] += 1
        if ran.code not in allowed:
            self.wrong.append(str(ran))

    def churn(self, number):
        for i in range(ROUNDS):
            session = f"t{number}-{i}"
            made = self.world.run("append", "--session", session, stdin=jsonl([entry(f"{session} {k} " + "x" * 70000) for k in range(4)] + [entry("short")]))
            self.note("append", made, {0})
            self.note("purge", self.world.run("purge", "--session", session, "--yes"), {0, 11})  # BUSY: others read all the time

    def beside(self, *looks):
        """Each look again and again, until the writers are done."""
        writers = [threading.Thread(target=self.churn, args=(n,)) for n in range(2)]

        def go_on(look):
            while any(writer.is_alive() for writer in writers):
                look()

        threads = writers + [threading.Thread(target=go_on, args=(look,)) for look in looks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def verify(self, *args):
        self.note("verify", self.world.run("verify", *args), {0})

    def backup(self):
        copy = self.world.path(f"copy-{self.seen['backup', 0]}")
        self.note("backup", self.world.run("backup", copy), {0})
        self.note("verify of a copy", self.world.run("verify", "--store", copy), {0})
        shutil.rmtree(copy, ignore_errors=True)

    def test_verify_and_backup_give_no_false_alarm(self):
        self.beside(self.verify, lambda: self.verify("--quick"), self.backup)
        self.assertEqual(self.wrong, [], self.seen)
        self.assertGreater(self.seen["verify", 0], 5, self.seen)
        self.assertGreater(self.seen["backup", 0], 5, self.seen)
        self.sound()

    def test_gc_and_purges_of_blobs_beside_them_give_none_either(self):
        def blobs():
            session = f"b{self.seen['blob', 0]}"
            self.weir("append", "--session", session, stdin=jsonl([entry(session + " z" * 40000)]))
            name = self.answer("show", "main", "--session", session)["body"]["content"]["$blob"]
            self.note("blob", self.world.run("purge", "--blob", name, "--yes"), {0})

        self.beside(self.verify, self.backup, blobs, lambda: self.note("gc", self.world.run("gc"), {0, 11}))
        self.assertEqual(self.wrong, [], self.seen)
        self.assertGreater(self.seen["blob", 0], 2, self.seen)
        self.sound()

    def test_who_reads_a_session_that_goes_hears_that_it_is_not_there(self):
        """Whole, or NOT_FOUND; never CORRUPT."""
        rounds = iter(range(10**6))

        def read():
            session = f"t0-{next(rounds) % ROUNDS}"
            for command in (["export", "--format", "pi"], ["export"], ["log"], ["context", "--dry-run"], ["history", "short"], ["stats"], ["show", "main", "--resolve"], ["verify"]):
                ran = self.world.run(*command, "--session", session)
                self.note(command[0], ran, {0, 4} if command[0] != "history" else {0, 1, 4})

        self.beside(read, read)
        self.assertEqual(self.wrong, [], self.seen)

    def test_damage_is_named_while_others_purge(self):
        victim = self.world.objects()[0]
        os.remove(victim)
        codes = collections.Counter()
        self.beside(lambda: codes.update([self.world.run("verify").code]))
        self.assertEqual(set(codes), {3}, codes)


if __name__ == "__main__":
    harness.main()
