"""What a person sees, kept in golden/*.txt: command, exit code, stdout and stderr of each, readable. After a wanted
change: UPDATE_GOLDEN=1 python3 tests/cli/golden_test.py, then look at the difference."""

import os
import re
import shutil

import harness
from harness import CliTest, entry, jsonl


class GoldenTest(CliTest):
    def setUp(self):
        super().setUp()
        for name in ("pi-v1", "pi-v2", "pi-v3", "pi-messy"):
            shutil.copy(os.path.join(harness.DATA, f"{name}.jsonl"), self.world.cwd)

    def run_all(self, name, *commands, clock=False, places=False):
        """Runs the commands in order; the file holds all of them. `clock`: times come from now. `places`: a file was read,
        and what is recorded of it depends on where it stands."""
        text = ""
        for command in commands:
            args, stdin = command if isinstance(command, tuple) else (command, b"")
            ran = self.world.run(*args, stdin=stdin)
            shown = " ".join(f"'{a}'" if re.search(r"[ '\"{]", str(a)) else str(a) for a in args)
            text += f"$ weir {shown}\nexit {ran.code}\n--- stdout\n{ran.text}--- stderr\n{ran.errors}\n"
        text = text.replace(self.world.root, "WORLD")
        text = re.sub(r"(compaction:\S+ +pi ).*weir-demo.*", r"\1PATH", text)  # cut to fit, so its end depends on its beginning
        text = re.sub(r"weir-demo-\w+", "weir-demo-XXXXXX", text)
        text = re.sub(r"[\d.]+ [kM]?B database", "SIZE database", text)
        text = re.sub(r"objects with [\d.]+ [kM]?B", "objects with SIZE", text)
        text = re.sub(r"SQLite \d+\.\d+\.\d+", "SQLite VERSION", text)
        text = re.sub(r"\d+ % full", "N % full", text)
        text = re.sub(r"user \d+$", "user UID", text, flags=re.M)
        text = re.sub(r"(sandbox +).*", r"\1WHAT THE KERNEL HAS", text)
        if places:
            text = re.sub(r"( +348  )e[0-9a-f]{8}  [0-9a-f]{64}", r"\1ID  DIGEST", text)
            text = re.sub(r"compaction:e[0-9a-f]{8} ", "compaction:ID ", text)
            text = re.sub(r"(plain reads|sent|saved)( +)[\d.]+ k?B", r"\1\2SIZE", text)
            text = re.sub(r"about \d+ tokens", "about N tokens", text)
            text = re.sub(r"[\d.]+ k?B (read|of them)", r"SIZE \1", text)
        if clock:
            text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}Z)?", "TIME", text)
        self.golden(name, text)

    def test_help_overview(self):
        self.run_all("help_overview", ["help"])

    def test_help_page(self):
        self.run_all("help_append", ["help", "append"], ["help", "head"])

    def test_tree(self):
        for name in ("pi-v1", "pi-v2", "pi-v3", "pi-messy"):
            self.weir("import", "pi", f"{name}.jsonl")
        self.weir("head", "fork", "second-try", "--at", "a0000009", "--session", "pi-v3")
        self.weir("head", "fork", "nowhere-yet", "--session", "pi-v2")
        self.weir("head", "move", "nowhere-yet", "root", "--session", "pi-v2")
        self.run_all("tree", ["tree", "--session", "pi-v3"], ["tree", "--session", "pi-v3", "--all-types"], ["tree", "--session", "pi-v2"], ["tree", "--session", "pi-v1"], ["tree", "--session", "pi-messy"], ["tree", "--session", "pi-v3", "--json"])

    def test_stats(self):
        self.weir("import", "pi", "pi-v3.jsonl")
        self.run_all("stats", ["stats", "--session", "pi-v3"], ["stats", "--session", "pi-v3", "--at", "a000001b"])

    def test_verify(self):
        self.weir("import", "pi", "pi-v3.jsonl")
        self.weir("append", "--session", "pi-v3", stdin=jsonl([entry("B" * 70000, at="2026-01-01T00:00:00Z", id="large")]))
        commands = [["verify"], ["verify", "--quick"], ["verify", "--json"]]
        self.run_all("verify", *commands)
        os.remove(self.world.objects()[0])
        self.run_all("verify_damaged", ["verify"], ["verify", "--json"], ["show", "large", "--session", "pi-v3", "--resolve"])

    def test_import(self):
        self.run_all("import", ["import", "pi", "pi-v3.jsonl"], ["import", "pi", "pi-v3.jsonl"], ["import", "pi", "pi-messy.jsonl"], ["import", "pi", "pi-messy.jsonl", "--as", "strict", "--strict"], ["session", "list"], ["log", "--session", "pi-v3", "--limit", "5"], ["log", "--session", "pi-v3", "--at", "a000001b"])

    def test_show(self):
        self.weir("import", "pi", "pi-v3.jsonl")
        self.run_all("show", ["show", "a0000006", "--session", "pi-v3"], ["show", "a0000019", "--session", "pi-v3"], ["show", "a0000018", "--session", "pi-v3", "--raw"], ["show", "a0000018", "--session", "pi-v3", "--json"])

    def test_errors(self):
        bad = '[{"type":"message","body":{"role":"narrator"}},{"type":5}]'
        self.run_all("errors", ["frobnicate"], ["log"], ["init"], ["log", "--session", "none"], (["append", "--session", "s"], bad), (["append", "--session", "s", "--json"], bad), ["purge", "--session", "s"], ["log", "--limit", "many"])

    def test_doctor(self):
        self.weir("init")
        commands = [["doctor"]]
        self.run_all("doctor", *commands)
        os.chmod(self.world.store, 0o755)
        self.world.project_config("mask.enabled = false\n")
        self.run_all("doctor_findings", ["doctor"], ["config", "check"])

    def test_demo(self):
        self.run_all("demo", ["demo"], clock=True, places=True)


if __name__ == "__main__":
    harness.main()
