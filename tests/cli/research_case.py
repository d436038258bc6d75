"""What the tests of research runs share: the worked example of the contract page, stage by stage, ways to make perspectives,
outputs, summaries and reports, and ways to see what a command left in the log and in the run's directory.

A run's manifest names its directory, so all tests of a process use the same one, emptied before each."""

import atexit
import copy
import hashlib
import json
import os
import re
import shutil
import sqlite3
import stat
import tempfile

import harness
from harness import CliTest, World, compact, parse_line

RUN = "dr_20260213_001"
QUERY = "Does HTTP/3 shorten page loads on mobile networks?"
CASES = os.path.join(harness.DATA, "research-cases")
EXAMPLE = os.path.join(CASES, "example")
URL1, URL2, URL3 = "https://example.com/quic-study", "https://example.org/handshake", "https://example.net/operator-report"
NOW = "2026-02-13T12:00:00.000Z"
GATES = "ABCDEF"

# The codes of the page's section 9, with their exit codes.
EXITS = {"NOT_FOUND": 4, "CORRUPT": 9, "WRITE_FAILED": 12}
EXITS.update(dict.fromkeys(["CONFLICT", "REVISION_MISMATCH", "ALREADY_EXISTS_CONFLICT", "ARTIFACT_CHANGED"], 5))
EXITS.update(dict.fromkeys("GATE_BLOCKED GATE_STALE BUNDLE_STALE REVIEW_CAP_EXCEEDED INVALID_STATE PAUSED RUN_CANCELLED".split(), 8))
EXITS.update(dict.fromkeys("""INVALID_ARGS INVALID_JSON INVALID_UTF8 INPUT_TOO_LARGE SCHEMA_VALIDATION_FAILED PATH_TRAVERSAL INVALID_WAVE_DIR
WAVE_DIR_SYMLINK IMMUTABLE_FIELD DUPLICATE_PERSPECTIVE_ID PERSPECTIVE_NOT_FOUND WAVE_CAP_EXCEEDED MISSING_REQUIRED_SECTION TOO_MANY_WORDS
TOO_MANY_SOURCES MALFORMED_SOURCES INVALID_TOOL_BUDGET INVALID_TOOL_USAGE TOOL_BUDGET_EXCEEDED INVALID_URL CID_MISMATCH EMPTY_SUMMARY
RESERVED_LINE INVALID_CONFIDENCE RAW_URL_NOT_ALLOWED UNKNOWN_CID NUMBER_NOT_IN_QUOTE SIZE_CAP_EXCEEDED MISSING_ARTIFACT UNKNOWN_GATE_ID
LIFECYCLE_RULE_VIOLATION REPLAY_MISMATCH MISSING_CITATIONS UNCITED_NUMBER RETRY_EXHAUSTED""".split(), 6))  # fmt: skip


# ---- values ----


def sha256(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def cid(normal):
    return "cid_" + sha256(normal)


C1, C2, C3 = cid(URL1), cid(URL2), cid(URL3)


def canonical(value):
    """RFC 8785, for values whose numbers are integers."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(canonical(key) + ":" + canonical(value[key]) for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def pretty(value):
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def read(path, mode="rb"):
    with open(path, mode) as file:
        return file.read()


def example(name):
    """A file of the worked example, as bytes."""
    return read(os.path.join(EXAMPLE, name))


def cases(family):
    with open(os.path.join(CASES, family + ".jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def perspective(id="p1", **fields):
    """One that may be written. Members of its contract may be named too."""
    contract = {"max_words": 900, "max_sources": 12, "tool_budget": {"search_calls": 4, "fetch_calls": 6}, "must_include_sections": ["Findings", "Sources", "Gaps"]}
    for key in list(contract):
        if key in fields:
            contract[key] = fields.pop(key)
    return {"id": id, "title": f"Title {id}", "track": "standard", "agent_type": "ClaudeResearcher", "prompt_contract": contract, **fields}


def perspectives(*those, run=RUN, **fields):
    made = [one if isinstance(one, dict) else perspective(one) for one in those]
    return {"schema_version": "perspectives.v1", "run_id": run, "created_at": "2026-02-13T12:05:00Z", "perspectives": made, **fields}


def output(*urls, findings="- A fact.", sources=None, gaps="- (P2) None yet"):
    """An output that keeps the usual contract."""
    lines = "\n".join(f"- {url}" for url in urls or (URL1,)) if sources is None else sources
    return f"## Findings\n{findings}\n\n## Sources\n{lines}\n\n## Gaps\n{gaps}\n"


def summary(*lines):
    return "## Findings\n" + "".join(f"- {line}\n" for line in lines or (f"A fact [@{C1}].",))


def padded(size, text=None):
    """A summary of exactly so many bytes, with one claim."""
    text = text or summary()
    rest = size - len(text.encode()) - 1
    assert rest >= 0
    return text + "x" * rest + "\n"


def report(summary=None, findings=None, evidence=None, caveats=None):
    """A synthesis that passes against the example's bundle, unless a part of it is another."""
    return (
        "# Report 2026\n\n"
        f"## Summary\n{summary or f'Median load time fell by 12% on mobile links [@{C1}].'}\n\n"
        f"## Key Findings\n{findings or f'- Most of the gain comes from connection setup [@{C2}].'}\n\n"
        f"## Evidence\n{evidence or f'- One operator saw no gain below 1% packet loss [@{C3}].'}\n\n"
        f"## Caveats\n{caveats or 'The sample is a single network.'}\n"
    )


def manifest(root, run=RUN, **fields):
    """A manifest as the tool wrote it whose runs Weir takes over."""
    value = copy.deepcopy(next(one for one in cases("manifest") if one["id"] == "valid_minimal")["args"]["value"])
    value.update({"run_id": run, "query": {"text": QUERY, "constraints": {}, "sensitivity": "normal"}, "status": "running"})
    value["artifacts"]["root"] = root
    limits = fields.pop("limits", {})
    value.update(fields)
    value["limits"].update(limits)
    return value


def gates(run=RUN, **fields):
    value = copy.deepcopy(next(one for one in cases("gates") if one["id"] == "valid_minimal")["args"]["value"])
    value.update({"run_id": run, **fields})
    return value


def record(url, status="valid", **fields):
    """A line of citations.jsonl for a URL that is in its normal form."""
    return {
        "schema_version": "citation.v1", "normalized_url": url, "cid": cid(url), "url": url, "url_original": url, "status": status, "checked_at": NOW,
        "found_by": [], "notes": "", **fields,
    }  # fmt: skip


def example_records():
    """What a caller records for the worked example."""
    keep = ("url_original", "status", "checked_at", "title", "evidence_snippet")
    return [{key: one[key] for key in keep if key in one} for one in map(json.loads, example("citations/citations.jsonl").splitlines())]


def tree(root):
    """Everything below a directory: kind, mode and content or target. Times are no part of it."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in folders + names:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            kind = stat.S_IFMT(info.st_mode)
            content = os.readlink(path) if stat.S_ISLNK(kind) else sha256(read(path)) if stat.S_ISREG(kind) else ""
            found[os.path.relpath(path, root)] = (oct(info.st_mode), content)
    return found


def marks(root):
    """Which file each name is, and when it was written: an unchanged file is left alone."""
    return {name: (os.lstat(os.path.join(root, name)).st_ino, os.lstat(os.path.join(root, name)).st_mtime_ns) for name in tree(root)}


class ResearchCase(CliTest):
    _base = None
    _kept = {}
    run_id = RUN
    leftovers = False  # may a test leave names that begin with a dot?

    def setUp(self):
        super().setUp()
        if ResearchCase._base is None:
            ResearchCase._base = tempfile.mkdtemp(prefix="weir-research-", dir=os.path.dirname(self.world.root))
            atexit.register(shutil.rmtree, ResearchCase._base, ignore_errors=True)
        shutil.rmtree(ResearchCase._base)
        os.mkdir(ResearchCase._base)
        self.runs = os.path.join(ResearchCase._base, "runs")
        os.mkdir(self.runs)
        self.outside = os.path.join(ResearchCase._base, "outside")
        os.mkdir(self.outside)
        self.world.env["WEIR_RUNS_ROOT"] = self.runs
        self.addCleanup(self.nothing_hidden)

    def nothing_hidden(self):
        """No lock, no marker, no temporary file stays, and nothing was written beside the runs."""
        if self.leftovers or not os.path.isdir(self.runs):
            return
        hidden = [name for name in tree(self.runs) if os.path.basename(name).startswith(".")]
        self.assertEqual(hidden, [])
        self.assertEqual(sorted(os.listdir(ResearchCase._base)), ["outside", "runs"])

    # ---- where ----

    @property
    def root(self):
        return os.path.join(self.runs, self.run_id)

    def at(self, name):
        return os.path.join(self.root, name)

    def bytes_of(self, name):
        return read(self.at(name))

    def text_of(self, name):
        return self.bytes_of(name).decode()

    def json_of(self, name):
        return json.loads(self.bytes_of(name))

    def put(self, name, content):
        """Writes a file of the run by hand."""
        content = content if isinstance(content, (bytes, str)) else pretty(content)
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        with open(self.at(name), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def tree(self):
        return tree(self.root)

    # ---- commands ----

    def do(self, command, *args, code=0, **how):
        """The answer of `weir research COMMAND`."""
        value = self.answer("research", command, "--run", self.run_id, *args, code=code, **how)
        self.assertIn("ok", value)
        return value

    def error(self, codes, command, *args, **how):
        """Wants one of these errors, in the form every command gives it; answers it."""
        codes = codes.split()
        ran = self.world.run("--json", "research", command, "--run", self.run_id, *args, **how)
        self.assertEqual(ran.out, b"", ran)
        lines = [line for line in ran.errors.splitlines() if '"type":"progress"' not in line]
        self.assertEqual(len(lines), 1, ran)
        line = parse_line(lines[0])
        self.assertEqual(list(line), ["error"], ran)
        error = line["error"]
        self.assertEqual(sorted(error), ["code", "details", "message"], ran)
        self.assertIn(error["code"], codes, ran)
        self.assertEqual(ran.code, {**harness.EXITS, **EXITS}[error["code"]], ran)
        self.assertTrue(error["message"], ran)
        self.assertIsInstance(error["details"], dict, ran)
        return error

    def refuse(self, codes, command, *args, **how):
        """As error, and bad input leaves no trace: log, files and directories are as they were."""
        log, files, marked = self.world.dump(), tree(ResearchCase._base), marks(self.runs)
        error = self.error(codes, command, *args, **how)
        self.assertEqual(self.world.dump(), log, error)
        self.assertEqual(tree(ResearchCase._base), files, error)
        self.assertEqual(marks(self.runs), marked, error)
        return error

    def dry(self, command, *args, **how):
        """The answer of a dry run, which writes nothing."""
        log, files, marked = self.world.dump(), tree(ResearchCase._base), marks(self.runs)
        value = self.do(command, *args, "--dry-run", **how)
        self.assertEqual(self.world.dump(), log)
        self.assertEqual(tree(ResearchCase._base), files)
        self.assertEqual(marks(self.runs), marked)
        return value

    def same(self, command, *args, **how):
        """The answer of a command that changes nothing, because all of it was there."""
        count, files = len(self.kinds()), self.tree()
        value = self.do(command, *args, **how)
        self.assertEqual(len(self.kinds()), count)
        self.assertEqual(self.tree(), files)
        return value

    def sent_back(self, codes, command, *args, **how):
        """An agent's text that breaks its contract: one directive at most is recorded, no artifact changes; answers the error."""
        kinds, files = self.kinds(), self.tree()
        error = self.error(codes, command, *args, **how)
        self.assertIn(self.kinds()[len(kinds) :], ([], ["RETRY_DIRECTED"]), error)
        changed = {name for name, what in self.tree().items() if files.get(name) != what} | {name for name in files if name not in self.tree()}
        self.assertLessEqual(changed, {"manifest.json", "gates.json", "retry", "retry/retry-directives.json"}, error)
        self.assertIn("retry", error["details"], error)
        self.assertEqual(error["details"]["failures"][0]["code"], error["code"], error)
        return error

    def exhausted(self, error, gate, count):
        """No retry is left, and that is said beside the real error."""
        retry = error["details"]["retry"]
        self.assertEqual((retry["code"], retry["gate_id"], retry["retry_count"], retry["max_retries"]), ("RETRY_EXHAUSTED", gate, count, count))
        self.assertFalse(retry.get("directives"))

    def init(self, *args, query=QUERY, **how):
        return self.do("init", "--query", query, *args, **how)

    def patch(self, value, *args, **how):
        return self.do("init", "--patch", self.world.file("patch.json", compact(value)), *args, **how)

    def plan(self, *those, wave=None, **fields):
        """Writes the perspectives."""
        path = self.world.file("perspectives.json", pretty(perspectives(*those, run=self.run_id, **fields)))
        return self.do("perspectives", path, *(["--wave", wave] if wave else []))

    def named(self, texts, folder):
        """ID=FILE for each text."""
        return [f"{id}={self.world.file(f'{folder}/{id}.md', text)}" for id, text in texts.items()]

    def ingest(self, texts, *args, wave=1, **how):
        return self.do("ingest", "--wave", wave, *self.named(texts, "outputs"), *args, **how)

    def outputs_file(self, *outputs):
        return self.world.file("outputs.json", compact({"outputs": list(outputs)}))

    def cite(self, records, *args, **how):
        return self.do("cite", "--from", self.world.file("records.json", compact(records)), *args, **how)

    def summarize(self, texts, *args, **how):
        return self.do("summarize", *self.named(texts, "summaries"), *args, **how)

    def summary_back(self, codes, texts, *args):
        return self.sent_back(codes, "summarize", *self.named(texts, "summaries"), *args)

    def check(self, text, *args, code=0, **how):
        return self.do("check", self.world.file("report.md", text), *args, code=code, **how)

    def findings(self, text):
        """The codes that the synthesis check finds, without recording it."""
        answer = self.check(text, "--dry-run", code=8)
        self.assertEqual(answer["status"], "fail")
        return [one["code"] for one in answer["findings"]]

    def gate(self, name, code=0):
        answer = self.do("gate", name, code=code)
        self.assertEqual(answer["status"], "pass" if code == 0 else "fail")
        return answer

    def status(self):
        return self.do("status")

    def revision(self):
        return self.status()["revision"]

    def verified(self):
        """Nothing to find in the run, by its own verify and by the store's."""
        answer = self.do("verify")
        self.assertEqual((answer["ok"], answer["findings"]), (True, []))
        self.sound()
        return answer

    # ---- the log ----

    def entries(self):
        return self.log(self.run_id, "--reverse")

    def kinds(self):
        return [one["type"] for one in self.entries()]

    def bodies(self, type):
        return [one["body"] for one in self.entries() if one["type"] == type]

    def last(self, type):
        return self.bodies(type)[-1]

    def database(self):
        return sqlite3.connect(os.path.join(self.world.store, "weir.db"))

    # ---- the worked example, stage by stage ----

    def template(self, name, build):
        """Store and runs that `build` makes once; each test gets a copy, in the same place."""
        kept = ResearchCase._kept.get(name)
        if kept is None:
            build()
            keeper = World()
            atexit.register(keeper.close)
            kept = ResearchCase._kept[name] = keeper.path("kept")
            shutil.copytree(self.world.store, os.path.join(kept, "store"), symlinks=True)
            shutil.copytree(self.runs, os.path.join(kept, "runs"), symlinks=True)
        else:
            for there, here in (("store", self.world.store), ("runs", self.runs)):
                shutil.rmtree(here, ignore_errors=True)
                shutil.copytree(os.path.join(kept, there), here, symlinks=True)

    def begun(self):
        self.template("begun", self.init)

    def planned(self):
        def build():
            self.begun()
            self.do("perspectives", os.path.join(EXAMPLE, "perspectives.json"))

        self.template("planned", build)

    def ingested(self):
        def build():
            self.planned()
            self.do("ingest", "--wave", 1, *(f"{id}={EXAMPLE}/wave-1/{id}.md" for id in ("p1", "p2")))

        self.template("ingested", build)

    def cited(self):
        def build():
            self.ingested()
            self.do("cite", "--extract")
            self.cite(example_records())

        self.template("cited", build)

    def summarized(self):
        def build():
            self.cited()
            self.do("summarize", *(f"{id}={EXAMPLE}/summaries/{id}.md" for id in ("p1", "p2")))

        self.template("summarized", build)

    def packed(self):
        def build():
            self.summarized()
            self.do("pack")

        self.template("packed", build)

    def gated(self):
        def build():
            self.packed()
            for name in "BCD":
                self.gate(name)

        self.template("gated", build)

    def bundled(self):
        def build():
            self.gated()
            self.do("bundle")

        self.template("bundled", build)

    def completed(self):
        def build():
            self.bundled()
            self.check(report())

        self.template("completed", build)

    def failed(self):
        """A run whose last allowed report failed."""

        def build():
            self.bundled()
            for number in range(3):
                self.check(f"try {'abc'[number]}\n", code=8)
            self.error("REVIEW_CAP_EXCEEDED", "check", self.world.file("report.md", "try d\n"))

        self.template("failed", build)

    def upstream(self, **how):
        """The directory of a run that Weir did not make. Named files take the place of the usual ones; None leaves one out."""
        files = {
            "manifest.json": manifest(self.root, self.run_id, **how.pop("manifest", {})),
            "gates.json": gates(self.run_id),
            "perspectives.json": example("perspectives.json"),
            "wave-1/p1.md": example("wave-1/p1.md"),
            "wave-1/p2.md": example("wave-1/p2.md"),
            "citations/citations.jsonl": example("citations/citations.jsonl"),
            "summaries/p1.md": example("summaries/p1.md"),
            "summaries/p2.md": example("summaries/p2.md"),
            "summaries/summary-pack.json": example("summaries/summary-pack.json"),
        }
        files.update(how.pop("files", {}))
        assert not how
        for name, content in files.items():
            if content is not None:
                self.put(name, content)

    def adopt(self, *args, **how):
        self.upstream(**how)
        return self.do("init", "--adopt", *args)


def is_time(text):
    return isinstance(text, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text) is not None


main = harness.main
