"""One table of commands: parser, help, man pages, completions and the reference page agree, and its examples run."""

import filecmp
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import unittest

import harness
from harness import CliTest, compact, entry, jsonl

# The commands of the contract page that are built; a new one is added here and to the table.
BUILT = """init doctor demo session append log tree head show read refresh reads compile explain context diff note due compact snapshot stop resume research import sync export verify anchor gc purge backup stats history
serve mcp token config completions help""".split()
# An empty word: the name is a command of its own, too.
WORDS = {"session": ["list", "new", "show"], "head": ["list", "move", "fork", "delete"], "reads": ["", "digest"], "snapshot": ["list", "show", "check", "attach", "narrative"], "research": "status init perspectives ingest cite summarize pack gate bundle check verify".split(), "token": ["show", "rotate"], "config": ["show", "check", "path"]}
COMMON = "store session head at json quiet verbose color config timeout help version".split()
STREAMS = {"log", "tree", "history", "import", "export", "verify"}
DESTRUCTIVE = {"head delete", "purge", "token rotate"}
SERVERS = {"serve"}  # end when they are told to
PROGRESS = {"research ingest", "research summarize", "research verify", "import", "sync", "export", "verify", "gc", "purge", "backup", "history"}


def names():
    return [full for name in BUILT for full in ([f"{name} {word}".strip() for word in WORDS[name]] if name in WORDS else [name])]


def page_of(name):
    with open(os.path.join(harness.SOURCE, "docs", name), encoding="utf-8") as file:
        return file.read()


class WorkedExampleTest(unittest.TestCase):
    def test_every_hash_of_the_pages_can_be_recomputed(self):
        for page, least in (("ctree.md", 4), ("snapshot.md", 1), ("research.md", 1)):
            found = re.findall(r"\$ (printf .* \| sha256sum)\n([0-9a-f]{64})  -", page_of(page))
            self.assertGreaterEqual(len(found), least)
            for command, printed in found:
                told = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
                self.assertEqual(told.split()[0], printed, command)


class SnapshotPageTest(CliTest):
    def test_the_example_of_the_snapshots_page_is_what_the_program_makes(self):
        page = page_of("snapshot.md")
        self.weir("append", "--session", "books", stdin=re.search(r"```jsonl\n(.*?)```", page, re.S).group(1))
        self.answer("compact", "--session", "books")
        shown = self.answer("snapshot", "show", "1", "--session", "books")
        printed = json.loads(re.search(r"```json\n(.*?)\n```", page, re.S).group(1))
        names = [check["name"] for check in shown["validation"]["checks"]]
        self.assertEqual(re.findall(r"^\| \d+ \| `(\w+)` \|", page, re.M), names)
        for document in (shown, printed):
            del document["created_at"], document["validation"]
        self.assertEqual(shown, printed)
        self.assertEqual(self.weir("snapshot", "narrative", "1", "--session", "books").text, re.search(r"````\n(# Snapshot 1\n.*?)````", page, re.S).group(1))


class ResearchPageTest(CliTest):
    """The page's worked run, command by command, as it is printed."""

    HOME = "/home/me/quic"

    def setUp(self):
        super().setUp()
        self.page = page_of("research.md")
        for name in ("perspectives.json", "wave-1/p1.md", "wave-1/p2.md", "summaries/p1.md", "summaries/p2.md"):
            with open(os.path.join(harness.SOURCE, "tests/data/research-cases/example", name), encoding="utf-8") as file:
                self.world.file(name, file.read())
        for name, content in re.findall(r"`([\w-]+\.\w+)`[^`]*:\n\n```\w+\n(.*?)```", self.page, re.S):
            self.world.file(name, content)
        programs = self.world.path("programs")
        os.mkdir(programs)
        os.symlink(harness.BIN, os.path.join(programs, "weir"))
        self.env = self.world.environment({"PATH": programs + ":" + self.world.env["PATH"], "WEIR_RUNS_ROOT": os.path.join(self.world.cwd, "runs")})

    def said(self, command):
        done = subprocess.run(["sh", "-c", command], env=self.env, cwd=self.world.cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
        text = done.stdout.replace(self.world.cwd, self.HOME)
        text = re.sub(r"[\d,]+ bytes in ", "20,238 bytes in ", text)  # as long as the path of the directory
        return re.sub(r'"generated_at": "[^"]*"', '"generated_at": "2026-02-13T12:40:00.000Z"', text)

    def test_the_worked_run_says_what_the_page_says(self):
        steps = [step for block in re.findall(r"```console\n(.*?)```", self.page, re.S) for step in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]
        self.assertGreater(len(steps), 15)
        for command, printed in steps:
            with self.subTest(command=command):
                if command.startswith("export "):
                    self.env.update([command[len("export ") :].split("=", 1)])
                    continue
                said = self.said(command)
                shown, cut, _ = printed.partition("  ...\n")
                self.assertEqual(said[: len(shown)] if cut else said, shown)

    def test_its_figures_are_those_of_the_example(self):
        for figure in (
            "cap_bytes: 5120", "excess_bytes: 1", '"attempt": 1,', '"max_retries": 1,', "1,430 bytes", "3,010 bytes",
            "sha256:18ec573b1fd24e08d1069cf8bf0c8a7b5e2af50bcd1ce53535e11ef63a4f4c3f", "a585eaee17e07170d6f05271da361787fb036d0548c0efde445bff0bd96a9121  ",
        ):  # fmt: skip
            self.assertIn(figure, self.page)


    def test_the_first_blocks_of_page_and_readme_are_whole_runs(self):
        with open(os.path.join(harness.SOURCE, "README.md"), encoding="utf-8") as file:
            readme = file.read()
        blocks = [re.search(r"```\n(.*?)```", self.page, re.S).group(1).replace("$ ", ""), re.search(r"```sh\n(weir research init.*?)```", readme, re.S).group(1)]
        for name in ("p1", "p2"):
            for folder, prefix in (("wave-1", "p"), ("summaries", "s")):
                shutil.copy(os.path.join(self.world.cwd, folder, f"{name}.md"), os.path.join(self.world.cwd, f"{prefix}{name[1:]}.md"))
        perspectives = re.search(r'```json\n(\{"schema_version": "perspectives.v1".*?)```', self.page, re.S).group(1)
        patches = re.findall(r"^\$ (echo .*--patch -)$", self.page, re.M)
        self.assertEqual(len(patches), 4)
        for run, block in zip(("one", "two"), blocks):
            self.world.file("perspectives.json", perspectives.replace('"quic"', f'"{run}"'))
            for command in block.strip().split("\n") + patches:
                done = subprocess.run(["sh", "-ec", command.replace("--run quic", f"--run {run}")], env=self.env, cwd=self.world.cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 0, command + done.stderr)
                if command.startswith("weir research check"):
                    self.assertIn("report: pass", done.stdout)


class TableTest(CliTest):
    def setUp(self):
        super().setUp()
        self.table = {command["name"]: command for command in self.answer("help")["commands"]}

    def test_the_table_holds_what_is_built_and_nothing_else(self):
        self.assertEqual(sorted(self.table), sorted(names()))

    def test_traits_are_those_of_the_contract_page(self):
        self.assertEqual({name for name, command in self.table.items() if command["stream"]}, STREAMS)
        self.assertEqual({name for name, command in self.table.items() if command["destructive"]}, DESTRUCTIVE)
        self.assertEqual({name for name, command in self.table.items() if command["progress"]}, PROGRESS)
        for name, command in self.table.items():
            options = [option["name"] for option in command["options"]]
            self.assertEqual(len(options), len(set(options)), name)
            self.assertEqual(options[-len(COMMON) :], COMMON, name)
            self.assertEqual("dry-run" in options, command["writes"], name)
            self.assertEqual("yes" in options, command["destructive"] or name == "token show", name)
            self.assertEqual("progress" in options and "no-progress" in options, command["progress"], name)

    def test_options_of_the_contract_page_are_there(self):
        for name, wanted in {
            "doctor": "fix", "append": "type id parent expect lenient no-mask", "log": "type since limit reverse follow", "history": "where regex type limit", "tree": "all-types goto",
            "head move": "before expect", "head fork": "at", "show": "raw resolve", "read": "offset limit bypass no-record request-id root", "refresh": "root", "import": "follow strict as no-mask", "sync": "format file no-mask",
            "export": "format path all output", "verify": "quick sample anchor key unsigned", "anchor": "out key unsigned hide-names verifier-key", "purge": "blob vacuum", "config show": "origin", "help": "man",
            "serve": "listen read-only conformance root", "mcp": "root host conformance", "token show": "read yes", "token rotate": "read yes",
        }.items():  # fmt: skip
            options = [option["name"] for option in self.table[name]["options"]]
            self.assertEqual([option for option in wanted.split() if option not in options], [], name)

    def test_help_of_each_command_says_everything_the_table_does(self):
        for name, command in self.table.items():
            with self.subTest(command=name):
                page = self.weir("help", *name.split()).text
                self.assertEqual(page, self.weir(*name.split(), "--help").text)
                self.assertTrue(page.startswith(f"weir {name}: {command['summary']}\n"), page)
                self.assertIn(command["usage"], page)
                flat = " ".join(page.split())
                self.assertIn(" ".join(command["text"].split()), flat)
                for option in command["options"]:
                    if option["name"] not in COMMON:
                        self.assertIn(f"--{option['name']}", page)
                        self.assertIn(option["help"], page)
                for argument in command["arguments"]:
                    self.assertIn(argument["help"], page)
                for example in command["examples"]:
                    self.assertIn(example["command"], page)
                for code in command["exits"]:
                    self.assertIn(f"{code['code']} {code['when']}", page)

    def test_the_overview_names_every_command_and_common_option(self):
        page = self.weir("help").text
        self.assertEqual(page, self.weir().text)
        self.assertEqual(page, self.weir("--help").text)
        for name, command in self.table.items():
            self.assertRegex(page, rf"(?m)^  {name} +{re.escape(command['summary'])}$")
        for option in COMMON:
            self.assertRegex(page, rf"(?m)^  --{option}\b")

    def test_help_of_a_group_shows_all_of_it(self):
        page = self.weir("help", "head").text
        for word in WORDS["head"]:
            self.assertIn(f"weir head {word}: ", page)

    def test_the_parser_takes_every_option_of_the_table_and_no_other(self):
        for name, command in self.table.items():
            with self.subTest(command=name):
                error = self.refused("USAGE", *name.split(), "--no-such-option", unchanged=False)
                self.assertEqual(error["details"]["help"], f"weir help {name}")
                # No abbreviations: the name less its last letter is another name.
                for option in command["options"]:
                    if option["name"] not in COMMON:
                        self.refused("USAGE", *name.split(), f"--{option['name'][:-1]}", unchanged=False)
        for option in COMMON:
            self.refused("USAGE", "log", f"--{option[:-1]}", unchanged=False)

    def test_the_nearest_name_is_proposed(self):
        for typed, wanted in (("verfy", "verify"), ("exprot", "export"), ("inti", "init")):
            self.assertIn(f"did you mean '{wanted}'?", self.refused("USAGE", typed)["message"])
        self.assertIn("did you mean --session?", self.refused("USAGE", "log", "--sesion", "x")["message"])
        self.assertIn("did you mean 'head move'?", self.refused("USAGE", "head", "mvoe", "a", "b")["message"])

    def test_json_of_help_of_one_command_is_its_row(self):
        for typed in (["help", "head", "move"], ["head", "move", "--help"]):
            self.assertEqual(self.answer(*typed), {"commands": [self.table["head move"]]})


class GeneratedFilesTest(CliTest):
    def generated(self):
        target = self.world.path("generated")
        subprocess.run([os.path.join(harness.SOURCE, "tools", "generate-docs"), target], check=True, env={**os.environ, "WEIR_BIN": harness.BIN})
        return target

    def test_committed_pages_are_what_the_table_makes(self):
        target = self.generated()
        made = sorted(os.path.relpath(os.path.join(folder, name), target) for folder, _, found in os.walk(target) for name in found)
        self.assertEqual(made, sorted(["docs/cli.md", "docs/man/weir.1", "completions/_weir", "completions/weir.bash", "completions/weir.fish"] + [f"docs/man/weir-{name.replace(' ', '-')}.1" for name in names()]))
        for name in made:
            committed = os.path.join(harness.SOURCE, name)
            self.assertTrue(os.path.exists(committed), f"{name} is not there: make docs")
            self.assertTrue(filecmp.cmp(os.path.join(target, name), committed, shallow=False), f"{name} is not what the table makes: make docs")
        stale = set(os.listdir(os.path.join(harness.SOURCE, "docs", "man"))) - {os.path.basename(name) for name in made}
        self.assertEqual(stale, set(), "pages of commands that are gone")

    def test_the_reference_page_names_every_command_option_and_error_code(self):
        page = self.weir("help", "--markdown").text
        for command in self.answer("help")["commands"]:
            section = page.split(f"### weir {command['name']}\n")[1].split("\n### ")[0]
            for option in command["options"]:
                if option["name"] not in COMMON:
                    self.assertIn(f"`--{option['name']}", section)
            for example in command["examples"]:
                self.assertIn(example["command"], section)
        for code, exit_code in harness.EXITS.items():
            self.assertRegex(page, rf"(?m)^\| `{code}` \| {exit_code} \| ")

    def test_man_pages_have_every_section_and_no_warnings(self):
        for command in self.answer("help")["commands"]:
            page = self.weir("help", "--man", *command["name"].split()).text
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES"):
                self.assertIn(f".SH {section}\n", page)
            for option in command["options"]:
                self.assertIn(("--" + option["name"]).replace("-", "\\-"), page)
            self.groff(page)

    def groff(self, page):
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=page, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)

    def test_the_man_page_of_weir_itself_names_every_command_and_common_option(self):
        page = self.weir("help", "--man").text
        self.assertTrue(page.startswith(".TH WEIR 1 "), page)
        for name in names():
            page_name = name.replace(" ", "\\-")
            self.assertIn(f".BR weir\\-{page_name} (1)\n", page)
        for option in COMMON:
            self.assertIn(f".B \\-\\-{option}", page)
        self.groff(page)

    def test_completions_know_every_command_and_option(self):
        table = self.answer("help")["commands"]
        for shell in ("bash", "zsh", "fish"):
            script = self.weir("completions", shell).text
            for command in table:
                for word in command["name"].split():
                    self.assertRegex(script, rf"\b{word}\b", shell)
                for option in command["options"]:
                    self.assertIn((f"-l {option['name']}" if shell == "fish" else f"--{option['name']}"), script)
        self.refused("USAGE", "completions", "tcsh")

    def test_bash_completes(self):
        script = self.world.file("weir.bash", self.weir("completions", "bash").out)

        def complete(*words):
            probe = f'source "{script}"; COMP_WORDS=({" ".join(words)} ""); COMP_CWORD={len(words)}; _weir; printf "%s\\n" "${{COMPREPLY[@]}}"'
            done = subprocess.run(["bash", "-c", probe], capture_output=True, text=True, check=True, cwd=self.world.cwd)
            return done.stdout.split()

        self.assertEqual(sorted(complete("weir")), sorted(BUILT))
        self.assertTrue({"list", "move", "fork", "delete", "--session", "--before"} <= set(complete("weir", "head")))
        self.assertTrue({"pi", "--follow", "--strict", "--as"} <= set(complete("weir", "import")))
        self.assertTrue({"bash", "zsh", "fish"} <= set(complete("weir", "completions")))

    @unittest.skipUnless(shutil.which("zsh"), "no zsh here")
    def test_zsh_reads_its_script(self):
        subprocess.run(["zsh", "-n", self.world.file("_weir", self.weir("completions", "zsh").out)], check=True)

    @unittest.skipUnless(shutil.which("fish"), "no fish here")
    def test_fish_reads_its_script(self):
        subprocess.run(["fish", "--no-execute", self.world.file("weir.fish", self.weir("completions", "fish").out)], check=True)


class ExamplesTest(CliTest):
    def research_files(self):
        """A run that has begun, and the files that agents hand in later."""
        contract = {"max_words": 900, "max_sources": 12, "tool_budget": {}, "must_include_sections": ["Findings", "Sources"]}
        one = {"id": "p1", "title": "Overview", "track": "standard", "agent_type": "Researcher", "prompt_contract": contract}
        self.world.file("perspectives.json", compact({"schema_version": "perspectives.v1", "run_id": "quic", "created_at": "2026-01-01T00:00:00Z", "perspectives": [one]}))
        self.world.file("p1.md", "## Findings\n- It was faster.\n\n## Sources\n- https://example.com/study\n")
        cid = "cid_" + hashlib.sha256(b"https://example.com/study").hexdigest()
        self.world.file("p1.summary.md", f"## Findings\n- It was faster [@{cid}]. (confidence: 80)\n")
        self.world.file("report.md", "".join(f"## {name}\nIt was faster [@{cid}].\n\n" for name in ("Summary", "Key Findings", "Evidence", "Caveats")))
        self.weir("research", "init", "--run", "quic", "--query", "Does HTTP/3 shorten page loads?")

    def run_example(self, name, command, env):
        """Exit code and output. A server is told to end once it says that it is there."""
        running = subprocess.Popen(["sh", "-c", f"exec {command}" if name in SERVERS else command], env=env, cwd=self.world.cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = running.stdout.readline() if name in SERVERS else ""
        if first:
            running.send_signal(signal.SIGTERM)
        rest, _ = running.communicate(timeout=60)
        return running.returncode, first + rest

    def test_every_example_runs(self):
        """In the table's order, in a shell, with the files and sessions they name."""
        stamp = "2026-01-01T00:00:00.000Z"
        line = {"type": "message", "id": "aaaa0001", "parentId": None, "timestamp": stamp, "message": {"role": "user", "content": "hi"}}
        shutil.copy(os.path.join(harness.DATA, "pi-v3.jsonl"), os.path.join(self.world.cwd, "session.jsonl"))
        self.world.file("src/main.cc", "".join(f"// line {i}\n" for i in range(40)))
        self.world.file("entries.jsonl", jsonl([entry("from a file"), entry("and another")]))
        self.world.file("sync.json", compact({"format": "pi", "session": "host", "since": None, "entries": [line], "leaf": "aaaa0001"}))
        self.weir("append", "--session", "demo", stdin=jsonl([entry("one"), entry("two", role="assistant"), {"type": "compaction", "body": {"summary": "so far"}}, entry("three")]))
        self.weir("append", "--session", "notes", stdin=jsonl([entry("a note")]))
        self.research_files()
        programs = self.world.path("programs")
        os.mkdir(programs)
        os.symlink(harness.BIN, os.path.join(programs, "weir"))
        env = self.world.environment({"PATH": programs + ":" + self.world.env["PATH"], "WEIR_LISTEN": "127.0.0.1:0"})
        for command in self.answer("help")["commands"]:
            self.assertTrue(command["examples"], f"{command['name']} has no example")
            for example in command["examples"]:
                with self.subTest(example=example["command"]):
                    self.assertRegex(example["command"], rf"\bweir {command['name']}\b")
                    code, said = self.run_example(command["name"], example["command"], env)
                    self.assertEqual(code, 0, f"{example['command']}\n{said}")
        self.sound()


if __name__ == "__main__":
    harness.main()
