"""Descriptors and memory that are used up are no damage: whatever limit a command or the server runs into, it answers with BUSY (or is
done), never with CORRUPT and never with a signal, leaves no mark that the store needs to be verified, and nothing half stored."""

import json
import os
import subprocess

import harness
from harness import CliTest, compact, entry, jsonl
from snapshot_case import example

ALLOWED = ("BUSY", "STORAGE", "STORE_UNUSABLE", "LIMIT_EXCEEDED")
MARK = "suspect"  # the store's own file, once a sync has failed


class UsedUpTest(CliTest):
    def setUp(self):
        super().setUp()
        self.answer("append", "--session", "s", stdin=jsonl([entry(f"word{i} " + "x" * (70000 if i % 7 == 0 else 200) + f" tail{i}", id=f"m{i}") for i in range(60)]))
        self.answer("append", "--session", "run", stdin=jsonl(example()))
        self.answer("compact", "--session", "run")
        self.world.file("snapshot.json", compact(self.answer("snapshot", "show", "--session", "run")))
        self.answer("append", "--session", "run", stdin=jsonl([entry("Go on.")]))
        self.world.file("body.json", compact(entry("y" * 900_000, id="large")))
        lines = [{"type": "session", "version": 3, "id": "imp", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/repo"}]
        for i in range(400):
            lines.append({"type": "message", "id": f"p{i}", "parentId": f"p{i - 1}" if i else None, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": "z" * 4000}})
        self.world.file("pi.jsonl", jsonl(lines))

    def limited(self, limit, value, *args):
        """The command under `ulimit`; -> (exit code, error code or None)"""
        script = f'ulimit -c 0; ulimit {limit} {value} || exit 99; exec "$@"'
        done = subprocess.run(["sh", "-c", script, "sh", harness.BIN, "--json", *args], capture_output=True, env=self.world.environment({}), cwd=self.world.cwd, timeout=60, stdin=subprocess.DEVNULL)
        self.assertNotEqual(done.returncode, 99, done.stderr)
        last = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        code = None
        if done.returncode == 3:
            code = done.stdout.decode("utf-8", "replace")
        elif done.returncode != 0:
            try:
                code = json.loads(last)["error"]["code"]
            except ValueError:
                code = last.split(":")[1].strip() if last.startswith("weir: ") else last
        return done.returncode, code

    def commands(self):
        return [
            ["append", "body.json", "--session", "s"], ["context", "--session", "s"], ["import", "pi", "pi.jsonl"], ["log", "--session", "s"],
            ["history", "word3", "--session", "s"], ["history", "tail7", "--session", "s"], ["verify"], ["show", "m0", "--session", "s", "--resolve"], ["export", "--session", "s", "--format", "jsonl"],
            ["snapshot", "check", "snapshot.json"], ["compact", "--session", "run", "--dry-run"], ["doctor"], ["backup", "copy"],
        ]  # fmt: skip

    def unharmed(self):
        self.assertFalse(any(MARK in name for name in os.listdir(self.world.store)), "no sync has failed")
        begin, findings, end = self.stream("verify")
        self.assertEqual([one for one in findings if one["type"] == "finding"], [])

    def sweep(self, limit, values):
        """Each command at each limit. One that is done ends the sweep of its own; every other answer is one of a few."""
        refused = 0
        for args in self.commands():
            passed = False
            for value in values:
                code, error = self.limited(limit, value, *args)
                with self.subTest(args=args[0], limit=value):
                    if code == 0:
                        passed = True
                        break
                    refused += 1
                    self.assertGreaterEqual(code, 0, "ended by a signal")
                    if args == ["doctor"] and code == 3:  # it lists what it could not look at
                        self.assertIn("ulimit", error)
                        continue
                    self.assertNotIn(code, (3, 9, 127), error)
                    self.assertIn(error, ALLOWED)
            with self.subTest(args=args[0]):
                self.assertTrue(passed, "the last limit was enough")
        self.unharmed()
        return refused

    def test_too_few_descriptors_are_no_damage(self):
        self.assertGreater(self.sweep("-n", [4, 5, 6, 7, 8, 9, 10, 12, 16, 64]), 10)

    def test_too_little_memory_is_an_error_and_stores_nothing(self):
        loads = next(kb for kb in range(6_000, 80_000, 1_000) if self.limited("-v", kb, "help")[0] == 0)
        refused = self.sweep("-v", [*range(loads, loads + 24_000, 1_500), loads + 40_000, loads + 400_000])
        self.assertGreater(refused, 3)


if __name__ == "__main__":
    harness.main()
